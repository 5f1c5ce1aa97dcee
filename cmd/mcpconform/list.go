package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/onsi/ginkgo/v2/types"
	"github.com/spf13/cobra"

	"github.com/mcpconform/mcpconform/internal/catalogue"
	"github.com/mcpconform/mcpconform/internal/conform"
	"github.com/mcpconform/mcpconform/internal/nearest"
	"github.com/mcpconform/mcpconform/internal/runner"
)

func newList() *cobra.Command {
	var revision, filter string
	var asJSON bool
	command := &cobra.Command{
		Use:   "list",
		Short: "List the checks and rules, with what they verify",
		Args:  noArguments,
		RunE: func(command *cobra.Command, _ []string) error {
			revisions, err := chosenRevisions(revision)
			if err != nil {
				return err
			}
			matches := types.LabelFilter(func([]string) bool { return true })
			if filter != "" {
				if matches, err = types.ParseLabelFilter(filter); err != nil {
					return usageError("--filter %q cannot be read: %s", filter, strings.Join(strings.Fields(err.Error()), " "))
				}
			}
			declared, requirements, err := runner.All(conform.ServerRole, revisions)
			if err != nil {
				return err
			}
			for one, all := range declared {
				declared[one] = slices.DeleteFunc(all, func(check runner.Declared) bool { return !matches(check.Labels) })
			}
			if asJSON {
				return writeListJSON(command.OutOrStdout(), revisions, declared, requirements)
			}
			return writeList(command.OutOrStdout(), revisions, declared, requirements)
		},
	}
	command.Flags().StringVar(&revision, "revision", "all", "`R`[,R] of the specification, or all")
	command.Flags().StringVar(&filter, "filter", "", "list only what matches a label `EXPR`ession over MUST, page and requirement id")
	command.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	return command
}

func chosenRevisions(list string) ([]string, error) {
	if list == "all" || list == "auto" {
		return runner.Revisions, nil
	}
	revisions := strings.Split(list, ",")
	for _, revision := range revisions {
		if !slices.Contains(runner.Revisions, revision) {
			return nil, usageError("--revision %q is unknown%s", revision, nearest.Hint(revision, append(slices.Clone(runner.Revisions), "all")))
		}
	}
	return revisions, nil
}

func writeList(w io.Writer, revisions []string, declared map[string][]runner.Declared, requirements *catalogue.Catalogue) error {
	var text strings.Builder
	for _, revision := range revisions {
		checks := declared[revision]
		rules := 0
		page := ""
		fmt.Fprintf(&text, "%s\n", revision)
		for _, check := range byPage(checks, requirements, revision) {
			requirement, _ := requirements.Get(check.Requirements[0])
			if at := requirement.Page(revision); at != page {
				page = at
				fmt.Fprintf(&text, "\n  %s\n", page)
			}
			kind := "check"
			if check.Rule {
				kind = "rule "
				rules++
			}
			fmt.Fprintf(&text, "    %s %-10s  %s\n                      %s\n", kind, requirement.Level(revision), check.Text, strings.Join(check.Requirements, ", "))
		}
		fmt.Fprintf(&text, "\n%d checks and %d rules at %s\n\n", len(checks)-rules, rules, revision)
	}
	_, err := io.WriteString(w, text.String())
	return err
}

// byPage sorts checks by the order of the specification's pages, then by id.
func byPage(checks []runner.Declared, requirements *catalogue.Catalogue, revision string) []runner.Declared {
	place := func(check runner.Declared) int {
		requirement, _ := requirements.Get(check.Requirements[0])
		return slices.Index(catalogue.Pages, requirement.Page(revision))
	}
	return slices.SortedStableFunc(slices.Values(checks), func(a, b runner.Declared) int {
		if order := place(a) - place(b); order != 0 {
			return order
		}
		return strings.Compare(a.Requirements[0], b.Requirements[0])
	})
}

// listed is one line of list --json.
type listed struct {
	Revision     string   `json:"revision"`
	Page         string   `json:"page"`
	Kind         string   `json:"kind"`
	Text         string   `json:"text"`
	Level        string   `json:"level"`
	Requirements []string `json:"requirements"`
	Labels       []string `json:"labels"`
}

func writeListJSON(w io.Writer, revisions []string, declared map[string][]runner.Declared, requirements *catalogue.Catalogue) error {
	all := []listed{}
	for _, revision := range revisions {
		for _, check := range byPage(declared[revision], requirements, revision) {
			requirement, _ := requirements.Get(check.Requirements[0])
			kind := "check"
			if check.Rule {
				kind = "rule"
			}
			all = append(all, listed{
				Revision: revision, Page: requirement.Page(revision), Kind: kind, Text: check.Text,
				Level: string(requirement.Level(revision)), Requirements: check.Requirements, Labels: check.Labels,
			})
		}
	}
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(all)
}
