package main

import (
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpconform/mcpconform/internal/catalogue"
	"github.com/mcpconform/mcpconform/internal/plan"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/provoke"
	"github.com/mcpconform/mcpconform/internal/scenario"
)

func newExplain() *cobra.Command {
	return &cobra.Command{
		Use:   "explain ID",
		Short: "Explain a requirement: what it says, where, and what checks it",
		Long: `Explain shows what a requirement says, where it is written and what checks it. With a
prefix of ids, up to a dot, or a page of the specification it lists those requirements.`,
		Example: `  mcpconform explain lifecycle.version.echoed
  mcpconform explain tools.structured`,
		ValidArgsFunction: requirementIDs,
		Args: func(_ *cobra.Command, arguments []string) error {
			if len(arguments) != 1 {
				return usageError("explain takes one requirement id; mcpconform list shows them")
			}
			return nil
		},
		RunE: func(command *cobra.Command, arguments []string) error {
			declared, requirements, err := declaredOf(protocol.Roles(), protocol.Released())
			if err != nil {
				return err
			}
			if requirement, known := requirements.Get(arguments[0]); known {
				return explain(command.OutOrStdout(), requirement, declared)
			}
			switch below := named(requirements, arguments[0]); len(below) {
			case 0:
				return usageError("no requirement has the id %q%s", arguments[0], idMeant(requirements, arguments[0]))
			case 1:
				return explain(command.OutOrStdout(), below[0], declared)
			default:
				return explainBriefly(command.OutOrStdout(), arguments[0], below)
			}
		},
	}
}

// idMeant is the end of an error about an unknown id.
func idMeant(requirements *catalogue.Catalogue, id string) string {
	if meant := requirements.Nearest(id); meant != "" {
		return fmt.Sprintf(", did you mean %q?", meant)
	}
	return "; mcpconform list shows what there is"
}

// named are the requirements that a word of --filter chooses by their ids or pages.
func named(requirements *catalogue.Catalogue, word string) []*catalogue.Requirement {
	var all []*catalogue.Requirement
	for _, one := range requirements.All() {
		if strings.HasPrefix(one.ID, word+".") || slices.ContainsFunc(protocol.Released(), func(revision string) bool {
			page := one.Page(revision)
			return one.StandsAt(revision) &&
				(page == word || strings.HasPrefix(page, word+"/") || path.Base(page) == word)
		}) {
			all = append(all, one)
		}
	}
	return all
}

// explainBriefly says of several requirements what each says.
func explainBriefly(w io.Writer, word string, all []*catalogue.Requirement) error {
	var text strings.Builder
	for _, one := range all {
		fmt.Fprintf(&text, "%s\n  %s\n", one.ID, one.Says)
	}
	fmt.Fprintf(&text, "\n%d requirements of %s; mcpconform explain ID shows one in full.\n", len(all), word)
	_, err := io.WriteString(w, text.String())
	return err
}

// obliged tells whom the requirement obliges, and since when another one.
func obliged(requirement *catalogue.Requirement) string {
	who := requirement.Obliges(requirement.Since)
	all := []string{who}
	for _, revision := range protocol.Released() {
		if next := requirement.Obliges(revision); requirement.StandsAt(revision) && next != who {
			who = next
			all = append(all, "from "+revision+" on "+who)
		}
	}
	return strings.Join(all, ", ")
}

func explain(w io.Writer, requirement *catalogue.Requirement, declared map[string]map[string][]plan.Declared) error {
	var text strings.Builder
	fmt.Fprintf(&text, "%s\n\n  %s\n\n", requirement.ID, requirement.Says)
	fmt.Fprintf(&text, "  obliges   %s\n", obliged(requirement))
	for _, revision := range protocol.Released() {
		if requirement.StandsAt(revision) {
			fmt.Fprintf(&text, "  %s  %-10s  %s\n", revision, requirement.Level(revision), requirement.Link(revision))
		}
	}
	if len(requirement.Transports) > 0 {
		fmt.Fprintf(&text, "  only over %s\n", strings.Join(requirement.Transports, ", "))
	}
	if requirement.RestsOn != "" {
		fmt.Fprintf(&text, "  rests     on %s, so it never fails a run\n", requirement.RestsOn)
	}
	if requirement.Why != "" {
		fmt.Fprintf(&text, "  note      %s\n", requirement.Why)
	}
	if len(requirement.Follows) > 0 {
		fmt.Fprintf(
			&text,
			"  follows   where one of these is broken, too, by the same defect: %s\n",
			strings.Join(requirement.Follows, ", "),
		)
	}
	text.WriteString("\n")
	checked := false
	for _, role := range protocol.Roles() {
		if checks := verifying(requirement.ID, declared[role]); len(checks) > 0 {
			checked = true
			text.WriteString(strings.Join(checks, ""))
			if role == protocol.ServerRole {
				text.WriteString(provoking(requirement, declared[role]))
			}
			fmt.Fprintf(&text, "\n  mcpconform %s --filter %s -v %s\n\n", role, requirement.ID, reaching[role])
		}
	}
	switch {
	case checked:
	case !requirement.Visible():
		text.WriteString("  No peer can see it, so nothing checks it.\n")
	default:
		text.WriteString("  Nothing checks it yet.\n")
	}
	words, err := inTheWild(requirement.ID)
	if err != nil {
		return err
	}
	text.WriteString(words)
	_, err = io.WriteString(w, strings.TrimRight(text.String(), "\n")+"\n")
	return err
}

// inTheWild tells which real servers and clients were reported to break a requirement; ""
// for none.
func inTheWild(id string) (string, error) {
	reports, err := reported()
	if err != nil || len(reports[id]) == 0 {
		return "", err
	}
	var text strings.Builder
	noun := "reports"
	if len(reports[id]) == 1 {
		noun = "report"
	}
	fmt.Fprintf(&text, "  broken in the wild: %d %s\n", len(reports[id]), noun)
	for _, report := range reports[id] {
		fmt.Fprintf(&text, "    %s (%s): %s\n", report.Report, report.Role, report.Saw)
	}
	return text.String(), nil
}

// reaching is how a command says where the target is.
var reaching = map[string]string{
	protocol.ServerRole:              "[--url URL | -- COMMAND ARG...]",
	protocol.ClientRole:              "[-- COMMAND ARG...]",
	protocol.AuthorizationServerRole: "[--url ISSUER]",
}

// verifying describes the checks and rules of one role that verify a requirement,
// with the scenarios in which they look.
func verifying(id string, declared map[string][]plan.Declared) []string {
	var found []string
	for _, revision := range protocol.Released() {
		for _, check := range declared[revision] {
			kind := "checked"
			if check.Rule {
				kind = "a rule"
			}
			text := fmt.Sprintf("  %-8s  %s\n", kind, check.Text) + toldIn(check.Scenario)
			if slices.Contains(check.Requirements, id) && !slices.Contains(found, text) {
				found = append(found, text)
			}
		}
	}
	return found
}

// provoking tells what a server must be made to do for the checks of a requirement, and
// how a config names the tool that does it; "" for nothing. Rules judge what the checks
// about the same feature provoke.
func provoking(requirement *catalogue.Requirement, declared map[string][]plan.Declared) string {
	var kinds []string
	add := func(all ...string) {
		for _, kind := range all {
			if !slices.Contains(kinds, kind) {
				kinds = append(kinds, kind)
			}
		}
	}
	for _, revision := range protocol.Released() {
		for _, check := range declared[revision] {
			switch {
			case !slices.Contains(check.Requirements, requirement.ID):
			case check.Rule:
				add(provoke.KindsAbout(requirement.Page(revision))...)
			default:
				add(check.Check.Provocations...)
			}
		}
	}
	if len(kinds) == 0 {
		return ""
	}
	var text strings.Builder
	text.WriteString("\n  provoked by a tool of the server that\n")
	for _, kind := range kinds {
		fmt.Fprintf(&text, "    %s  (%s)\n", provoke.Does(kind), kind)
		if known := provoke.Known(kind); len(known) > 0 {
			fmt.Fprintf(&text, "      known: %s\n", strings.Join(known, ", "))
		}
	}
	fmt.Fprintf(
		&text,
		"  Name one in mcpconform.yaml, as in\n    provocations: {%s: {tool: NAME, arguments: {…}}}\n",
		kinds[0],
	)
	fmt.Fprintf(&text, "  or, where the server will never do it,\n    never: [%s]\n", kinds[0])
	return text.String()
}

// toldIn tells a scenario; "" when there is none.
func toldIn(scenario *scenario.Scenario) string {
	if scenario == nil {
		return ""
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%12sin the scenario %s: %s\n", "", scenario.Name, scenario.Says)
	for number, step := range scenario.Steps {
		fmt.Fprintf(&text, "%12s%2d. %s\n", "", number+1, step.Describe())
	}
	return text.String()
}
