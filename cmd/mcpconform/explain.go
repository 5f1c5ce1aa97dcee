package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpconform/mcpconform/internal/catalogue"
	"github.com/mcpconform/mcpconform/internal/conform"
	"github.com/mcpconform/mcpconform/internal/runner"
)

func newExplain() *cobra.Command {
	return &cobra.Command{
		Use:     "explain ID",
		Short:   "Explain a requirement: what it says, where, and what checks it",
		Example: "  mcpconform explain lifecycle.version.echoed",
		Args: func(_ *cobra.Command, arguments []string) error {
			if len(arguments) != 1 {
				return usageError("explain takes one requirement id; mcpconform list shows them")
			}
			return nil
		},
		RunE: func(command *cobra.Command, arguments []string) error {
			declared, requirements, err := runner.All(conform.ServerRole, runner.Revisions)
			if err != nil {
				return err
			}
			requirement, known := requirements.Get(arguments[0])
			if !known {
				mend := "; mcpconform list shows what there is"
				if meant := requirements.Nearest(arguments[0]); meant != "" {
					mend = fmt.Sprintf(", did you mean %q?", meant)
				}
				return usageError("no requirement has the id %q%s", arguments[0], mend)
			}
			return explain(command.OutOrStdout(), requirement, declared)
		},
	}
}

// obliged tells whom the requirement obliges, and since when another one.
func obliged(requirement *catalogue.Requirement) string {
	who := requirement.Obliges(requirement.Since)
	all := []string{who}
	for _, revision := range catalogue.Revisions {
		if next := requirement.Obliges(revision); requirement.StandsAt(revision) && next != who {
			who = next
			all = append(all, "from "+revision+" on "+who)
		}
	}
	return strings.Join(all, ", ")
}

func explain(w io.Writer, requirement *catalogue.Requirement, declared map[string][]runner.Declared) error {
	var text strings.Builder
	fmt.Fprintf(&text, "%s\n\n  %s\n\n", requirement.ID, requirement.Says)
	fmt.Fprintf(&text, "  obliges   %s\n", obliged(requirement))
	for _, revision := range runner.Revisions {
		if requirement.StandsAt(revision) {
			fmt.Fprintf(&text, "  %s  %-10s  %s\n", revision, requirement.Level(revision), requirement.Link(revision))
		}
	}
	if len(requirement.Transports) > 0 {
		fmt.Fprintf(&text, "  only over %s\n", strings.Join(requirement.Transports, ", "))
	}
	if requirement.Why != "" {
		fmt.Fprintf(&text, "  note      %s\n", requirement.Why)
	}
	text.WriteString("\n")
	checks := verifying(requirement.ID, declared)
	switch {
	case len(checks) > 0:
		for _, check := range checks {
			fmt.Fprintf(&text, "  %s\n", check)
		}
		fmt.Fprintf(&text, "\n  mcpconform server --filter %s -v [--url URL | -- COMMAND ARG...]\n", requirement.ID)
	case !requirement.Visible():
		text.WriteString("  No peer can see it, so nothing checks it.\n")
	default:
		text.WriteString("  Nothing checks it yet.\n")
	}
	_, err := io.WriteString(w, text.String())
	return err
}

// verifying describes the checks and rules that verify a requirement.
func verifying(id string, declared map[string][]runner.Declared) []string {
	var found []string
	for _, revision := range runner.Revisions {
		for _, check := range declared[revision] {
			kind := "checked"
			if check.Rule {
				kind = "a rule"
			}
			line := fmt.Sprintf("%-8s  %s", kind, check.Text)
			if slices.Contains(check.Requirements, id) && !slices.Contains(found, line) {
				found = append(found, line)
			}
		}
	}
	return found
}
