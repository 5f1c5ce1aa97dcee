package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpconform/mcpconform/internal/baseline"
	"github.com/mcpconform/mcpconform/internal/catalogue"
	"github.com/mcpconform/mcpconform/internal/files"
	"github.com/mcpconform/mcpconform/internal/plan"
	"github.com/mcpconform/mcpconform/reports"
	"github.com/mcpconform/mcpconform/suites"
)

func newBaseline() *cobra.Command {
	command := &cobra.Command{
		Use:   "baseline",
		Short: "Keep the list of known deviations",
		Long: `A baseline names what a target is known to break: a requirement, the reason, and, if
need be, revisions, transports and a date. With --baseline FILE these deviations fail no
run; an entry that passes now, matches nothing, or is past its date, does.`,
		Args: noArguments,
		RunE: func(command *cobra.Command, _ []string) error { return command.Help() },
	}
	command.AddCommand(newBaselineUpdate())
	return command
}

func newBaselineUpdate() *cobra.Command {
	var file string
	command := &cobra.Command{
		Use:   "update --baseline FILE RUN.json",
		Short: "Bring a baseline up to a run",
		Long: `Update adds to a baseline what makes a run fail, and removes what passes now or
matches nothing. Reasons, comments and what the run does not show are kept. A new entry
has no reason: give it one before the next run, which asks for it.`,
		Example: `  mcpconform server --json run.json -- ./my-server
  mcpconform baseline update --baseline baseline.yaml run.json`,
		RunE: func(_ *cobra.Command, paths []string) error { return updateBaseline(stdout(), file, paths) },
	}
	command.Flags().StringVar(&file, "baseline", "", "the baseline, a `FILE` that may be new")
	return command
}

func updateBaseline(w io.Writer, file string, paths []string) error {
	switch {
	case file == "":
		return usageError("baseline update needs the file to update: --baseline baseline.yaml")
	case strings.HasPrefix(file, baseline.SDKPrefix):
		return usageError("--baseline %s is built in; include it in a file of your own", file)
	case len(paths) != 1:
		return usageError(
			"baseline update needs one run, as --json writes it: mcpconform baseline update --baseline %s run.json",
			file,
		)
	}
	run, err := readRunFile(paths[0])
	if err != nil {
		return err
	}
	if run.Shard != nil {
		return usageError("%s is shard %s of a run; mcpconform merge makes one run of all", paths[0], run.Shard)
	}
	if err := writable("--baseline", file); err != nil {
		return err
	}
	updated, err := baseline.Updated(file, run, newDeclared())
	if err != nil {
		return usageError("%s", err)
	}
	place, err := reports.Locate(file)
	if err != nil {
		return err
	}
	if err := place.Write(func(out io.Writer) error {
		_, err := out.Write(updated.Text)
		return err
	}); err != nil {
		return err
	}
	return tellUpdate(w, file, updated)
}

// tellUpdate says what has changed, and what is left to do.
func tellUpdate(w io.Writer, file string, updated *baseline.Update) error {
	var text strings.Builder
	fmt.Fprintf(
		&text,
		"%s: %d added, %d removed, %d kept\n",
		file,
		len(updated.Added),
		len(updated.Removed),
		updated.Kept,
	)
	for _, one := range updated.Removed {
		fmt.Fprintf(&text, "  removed  %s\n", one.Name())
	}
	for _, one := range updated.Expired {
		fmt.Fprintf(&text, "  expired  %s:%d  %s was known until %s\n", file, one.Line, one.Name(), one.Until)
	}
	places, err := baseline.Unexplained(file)
	if err != nil {
		return err
	}
	for i, place := range places {
		if i == 0 {
			text.WriteString("Give each of these a reason:\n")
		}
		fmt.Fprintf(&text, "  %s\n", place)
	}
	_, err = io.WriteString(w, reports.Visible(text.String()))
	return err
}

// readRunFile reads a run, which no selftest is.
func readRunFile(name string) (*reports.Run, error) {
	run, _, err := readAny(name)
	switch {
	case err != nil:
		return nil, usageError("%s: %s", name, files.Reason(err))
	case run == nil:
		return nil, usageError("%s is a selftest, not a run", name)
	}
	return run, nil
}

// completeBaseline reads the baseline before anything runs.
func (s *settings) completeBaseline() error {
	if s.Baseline == "" {
		return nil
	}
	known, err := baseline.Load(s.Baseline)
	if err != nil {
		return usageError("%s", err)
	}
	s.known = known
	return knownIDs(known)
}

// knownIDs makes sure that there are the requirements that a baseline names, before a run
// is made in vain.
func knownIDs(entries []reports.Deviation) error {
	requirements, err := suites.Catalogue()
	if err != nil {
		return err
	}
	for _, one := range entries {
		if _, there := requirements.Get(one.Requirement); there || one.Requirement == "" {
			continue
		}
		return usageError(
			"%s:%d: no requirement has the id %q%s",
			one.File,
			one.Line,
			one.Requirement,
			idMeant(requirements, one.Requirement),
		)
	}
	return nil
}

// applyBaseline tells a run what is known of its target.
func (s *settings) applyBaseline(found *reports.Run) error {
	baseline.Suggest(found, s.known)
	if s.Baseline == "" && s.known == nil {
		return nil
	}
	declared := newDeclared()
	baseline.Apply(found, s.known, declared)
	_, err := declared.load()
	return err
}

// declared knows the checks and rules that there are; they are loaded when they are
// asked for.
type declared struct {
	load func() (*catalogue.Catalogue, error)
	all  func(role, revision string) []plan.Declared
}

func newDeclared() declared {
	all := map[string][]plan.Declared{}
	return declared{
		load: suites.Catalogue,
		all: func(role, revision string) []plan.Declared {
			key := role + " " + revision
			if _, known := all[key]; !known {
				of, _, err := plan.All(role, []string{revision})
				if err != nil {
					return nil // the run has said so
				}
				all[key] = of[revision]
			}
			return all[key]
		},
	}
}

func (d declared) Requirement(id string) bool {
	requirements, err := d.load()
	if err != nil {
		return true // which is told once
	}
	_, known := requirements.Get(id)
	return known
}

func (d declared) Count(entry *reports.Deviation, cell *reports.Cell) int {
	count := 0
	for _, one := range d.all(cell.Role, cell.Revision) {
		if (entry.Check == "" || entry.Check == one.Text) &&
			(entry.Requirement == "" || slices.Contains(one.Requirements, entry.Requirement)) &&
			(one.Transports == nil || slices.Contains(one.Transports, cell.Transport)) {
			count++
		}
	}
	return count
}
