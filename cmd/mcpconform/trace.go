package main

import (
	"io"
	"maps"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/mcpconform/mcpconform/internal/catalogue"
	"github.com/mcpconform/mcpconform/internal/nearest"
	"github.com/mcpconform/mcpconform/internal/plan"
	"github.com/mcpconform/mcpconform/internal/protocol"
)

func newTrace() *cobra.Command {
	var directory, page, since, to, format string
	var demand bool
	command := &cobra.Command{
		Use:   "trace --spec DIR",
		Short: "Compare the catalogue with a checkout of the specification",
		Long: `Trace counts, for each revision and page of a checkout of the specification,
the normative sentences and those that are catalogued; then, for servers and for
clients, how many are checked of those that a target can be seen to break. It
names every sentence that is not catalogued, and every entry whose sentence is
gone. Its exit status is 1 when a sentence is not catalogued or an entry is
wrong.

With --since it tells instead what became of each normative sentence from that
revision to another: new, changed, moved or gone, with the requirements that
state it, how many checks, faults and variations hang on them, and which known
peers break them.`,
		Example: `  mcpconform trace --spec specification
  mcpconform trace --spec specification --since 2026-07-28 --to draft --check`,
		Args: noArguments,
		RunE: func(command *cobra.Command, _ []string) error {
			if directory == "" {
				return usageError("trace needs --spec DIR: a folder with the pages of the specification, by revision")
			}
			specification, err := catalogue.ReadSpecification(os.DirFS(directory))
			if err != nil {
				return usageError("--spec %s: %s", directory, err)
			}
			if since != "" {
				return traceSince(command.OutOrStdout(), specification, since, to, format, demand)
			}
			if page != "" {
				if !slices.Contains(catalogue.Pages, page) {
					return usageError("--sentences %q is not a page%s", page, nearest.Hint(page, catalogue.Pages))
				}
				return specification.WriteSentences(command.OutOrStdout(), page, protocol.Released())
			}
			requirements, checked, err := declaredByRole()
			if err != nil {
				return err
			}
			coverage := specification.Trace(requirements, checked)
			if err := coverage.WriteText(command.OutOrStdout()); err != nil {
				return err
			}
			if !coverage.Complete() {
				return &exitError{Status: exitDoesNot}
			}
			return nil
		},
	}
	command.Flags().StringVar(&directory, "spec", "", "the `DIR`ectory with the pages of the specification")
	command.Flags().StringVar(&since, "since", "", "tell what has changed since a `REVISION` instead")
	command.Flags().StringVar(&to, "to", catalogue.Draft, "with --since, up to a `REVISION`, or draft")
	command.Flags().StringVar(&format, "format", "text", "with --since, write text, markdown or json")
	command.Flags().
		BoolVar(&demand, "check", false, "with --since, exit with status 1 when a new sentence is not catalogued")
	command.Flags().StringVar(&page, "sentences", "", "list the sentences of a `PAGE` with their fingerprints instead")
	return command
}

// traceSince tells what became of the sentences of a revision.
func traceSince(w io.Writer, specification *catalogue.Specification, since, to, format string, demand bool) error {
	write, known := sinceFormats[format]
	if !known {
		formats := slices.Sorted(maps.Keys(sinceFormats))
		return usageError("--format %q is unknown%s", format, nearest.Hint(format, formats))
	}
	changes, err := sinceIn(specification, since, to)
	if err != nil {
		return usageError("--spec: %s", err)
	}
	if err := write(changes, w); err != nil {
		return err
	}
	if demand && changes.uncatalogued() {
		return &exitError{Status: exitDoesNot}
	}
	return nil
}

// declaredByRole returns the catalogue, and what of it is checked.
func declaredByRole() (*catalogue.Catalogue, catalogue.Checked, error) {
	declared, requirements, err := declaredOf(protocol.Roles(), protocol.Released())
	if err != nil {
		return nil, nil, err
	}
	return requirements, func(id, revision, role string) bool {
		return slices.ContainsFunc(declared[role][revision], func(check plan.Declared) bool {
			return slices.Contains(check.Requirements, id)
		})
	}, nil
}
