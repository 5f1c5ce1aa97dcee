package main

import (
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/mcpconform/mcpconform/internal/catalogue"
	"github.com/mcpconform/mcpconform/internal/conform"
	"github.com/mcpconform/mcpconform/internal/nearest"
	"github.com/mcpconform/mcpconform/internal/runner"
)

func newTrace() *cobra.Command {
	var directory, page string
	command := &cobra.Command{
		Use:   "trace --spec DIR",
		Short: "Compare the catalogue with a checkout of the specification",
		Long: `Trace counts, for each revision and page of a checkout of the specification,
the normative sentences, those that are catalogued, and those that are checked;
it names every sentence that is in neither, and every entry whose sentence is
gone. Its exit status is 1 when a sentence is not catalogued or an entry is
wrong.`,
		Args: noArguments,
		RunE: func(command *cobra.Command, _ []string) error {
			if directory == "" {
				return usageError("trace needs --spec DIR: a folder with the pages of the specification, by revision")
			}
			specification, err := catalogue.ReadSpecification(os.DirFS(directory))
			if err != nil {
				return usageError("--spec %s: %s", directory, err)
			}
			if page != "" {
				if !slices.Contains(catalogue.Pages, page) {
					return usageError("--sentences %q is no page%s", page, nearest.Hint(page, catalogue.Pages))
				}
				return specification.WriteSentences(command.OutOrStdout(), page, runner.Revisions)
			}
			declared, requirements, err := runner.All(conform.ServerRole, runner.Revisions)
			if err != nil {
				return err
			}
			coverage := specification.Trace(requirements, func(id, revision string) bool {
				return slices.ContainsFunc(declared[revision], func(check runner.Declared) bool {
					return slices.Contains(check.Requirements, id)
				})
			})
			if err := coverage.WriteText(command.OutOrStdout()); err != nil {
				return err
			}
			if !coverage.Complete() {
				return &exitError{status: exitDoesNot}
			}
			return nil
		},
	}
	command.Flags().StringVar(&directory, "spec", "", "the `DIR`ectory with the pages of the specification")
	command.Flags().StringVar(&page, "sentences", "", "list the sentences of a `PAGE` with their fingerprints instead")
	return command
}
