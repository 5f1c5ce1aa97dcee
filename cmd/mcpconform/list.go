package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpconform/mcpconform/internal/catalogue"
	"github.com/mcpconform/mcpconform/internal/filter"
	"github.com/mcpconform/mcpconform/internal/nearest"
	"github.com/mcpconform/mcpconform/internal/plan"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/scenario"
)

// newest is the word for the newest revision that has what is wanted.
const newest = "auto"

func newList() *cobra.Command {
	var revision, expression, profile, role string
	var asJSON, byReports bool
	command := &cobra.Command{
		Use:   "list",
		Short: "List the checks and rules, with what they verify",
		Args:  noArguments,
		Long: `List shows the checks and rules by role, with what they verify: at the newest revision
where the filter matches, or at those of --revision.`,
		RunE: func(command *cobra.Command, _ []string) error {
			revisions, err := chosenRevisions(revision)
			if err != nil {
				return err
			}
			chosen, err := chosenRoles(role)
			if err != nil {
				return err
			}
			matches, err := matching(expression, profile, chosen)
			if err != nil {
				return err
			}
			declared, requirements, err := declaredOf(chosen, revisions)
			if err != nil {
				return err
			}
			if byReports {
				return writeReported(command.OutOrStdout(), requirements)
			}
			all := checksIn(declared, chosen, revisions, matches)
			if revision == newest {
				all = newestOf(all)
			}
			if asJSON {
				return writeListJSON(command.OutOrStdout(), all, requirements)
			}
			if err := writeList(command.OutOrStdout(), all, requirements); err != nil || revision != newest {
				return err
			}
			_, err = fmt.Fprintln(
				command.OutOrStdout(),
				"At the newest revision that has any; --revision all lists every one.",
			)
			return err
		},
	}
	command.Flags().
		StringVar(&revision, "revision", newest, "`R`[,R] of the specification, auto (the newest that has any) or all")
	command.Flags().
		StringVar(&role, "role", "all", "only the checks of targets of a `ROLE`: server, client, authorization-server, or all")
	command.Flags().StringVar(&expression, "filter", "", "list only what matches `EXPR`: "+filterHelp)
	command.Flags().StringVar(&profile, "profile", "", profileHelp("list"))
	command.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	command.Flags().
		BoolVar(&byReports, "reported", false, "list the requirements that real servers and clients were reported to break, the most frequent first")
	command.MarkFlagsMutuallyExclusive("reported", "json")
	command.MarkFlagsMutuallyExclusive("reported", "filter")
	command.MarkFlagsMutuallyExclusive("reported", "profile")
	completes(command, map[string]values{
		"revision": revisionValues,
		"role":     oneOf(append(protocol.Roles(), "all")...),
		"filter":   expressions(protocol.Roles()...),
		"profile":  oneOf(profileNames()...),
	})
	return command
}

// matching reads a filter and a profile for the checks of some roles. Without them
// everything matches.
func matching(expression, profile string, roles []string) (func(plan.Declared) bool, error) {
	if err := knownProfile(profile); err != nil {
		return nil, err
	}
	filtered, err := matchingFilter(expression, roles)
	if err != nil {
		return nil, err
	}
	text, err := plan.ProfileFilter(profile, roles...)
	if err != nil || text == "" {
		return filtered, err
	}
	kept, err := filter.Parse(text)
	return func(one plan.Declared) bool { return filtered(one) && one.Matches(kept) }, err
}

// matchingFilter reads a filter, which need choose something of one of the roles only.
func matchingFilter(expression string, roles []string) (func(plan.Declared) bool, error) {
	if expression == "" {
		return func(plan.Declared) bool { return true }, nil
	}
	var wrong error
	var first *filter.Filter
	of := map[string]*filter.Filter{} // a text is that of other requirements in each
	for _, role := range roles {
		chosen, _, err := plan.ParseFilter(role, expression)
		if err != nil {
			wrong = cmp.Or(wrong, err)
			continue
		}
		of[role], first = chosen, cmp.Or(first, chosen)
	}
	if first == nil {
		return nil, wrong
	}
	return func(one plan.Declared) bool { return one.Matches(cmp.Or(of[one.Role], first)) }, nil
}

func chosenRevisions(list string) ([]string, error) {
	if list == "all" || list == newest {
		return protocol.Released(), nil
	}
	revisions := strings.Split(list, ",")
	for _, revision := range revisions {
		if !slices.Contains(protocol.Released(), revision) {
			return nil, usageError(
				"--revision %q %s",
				revision,
				filter.UnknownRevision(revision, append(protocol.Released(), "auto", "all")),
			)
		}
	}
	return revisions, nil
}

func chosenRoles(role string) ([]string, error) {
	switch {
	case role == "all":
		return protocol.Roles(), nil
	case slices.Contains(protocol.Roles(), role):
		return []string{role}, nil
	}
	return nil, usageError("--role %q is unknown%s", role, nearest.Hint(role, append(protocol.Roles(), "all")))
}

// declaredOf returns what is checked, by role and revision, and the catalogue.
func declaredOf(roles, revisions []string) (map[string]map[string][]plan.Declared, *catalogue.Catalogue, error) {
	var requirements *catalogue.Catalogue
	declared := map[string]map[string][]plan.Declared{}
	for _, role := range roles {
		var err error
		if declared[role], requirements, err = plan.All(role, revisions); err != nil {
			return nil, nil, err
		}
	}
	return declared, requirements, nil
}

// checksAt are the checks of one role at one revision.
type checksAt struct {
	role, revision, transport string // "" for all transports
	checks                    []plan.Declared
}

// checksIn puts what matches into the order of the list.
func checksIn(
	declared map[string]map[string][]plan.Declared,
	roles, revisions []string,
	matches func(plan.Declared) bool,
) []checksAt {
	var all []checksAt
	for _, role := range roles {
		for _, revision := range revisions {
			matching := slices.DeleteFunc(
				declared[role][revision],
				func(check plan.Declared) bool { return !matches(check) },
			)
			all = append(all, checksAt{role, revision, "", matching})
		}
	}
	return all
}

// newestOf leaves of each role the newest revision at which anything is chosen.
func newestOf(all []checksAt) []checksAt {
	return slices.DeleteFunc(slices.Clone(all), func(at checksAt) bool {
		return len(at.checks) == 0 || slices.ContainsFunc(all, func(other checksAt) bool {
			return other.role == at.role && other.revision > at.revision && len(other.checks) > 0
		})
	})
}

func writeList(w io.Writer, all []checksAt, requirements *catalogue.Catalogue) error {
	var text strings.Builder
	for _, at := range all {
		rules := 0
		page := ""
		name := at.revision
		if at.transport != "" {
			name += " · " + at.transport
		}
		fmt.Fprintf(&text, "%s %s\n", at.role, name)
		for _, check := range byPage(at.checks, requirements, at.revision) {
			requirement, _ := requirements.Get(check.Requirements[0])
			if named := requirement.Page(at.revision); named != page {
				page = named
				fmt.Fprintf(&text, "\n  %s\n", page)
			}
			kind := "check"
			if check.Rule {
				kind = "rule "
				rules++
			}
			level := strings.TrimSuffix(
				string(requirement.Level(at.revision)),
				" NOT",
			) // the sentence says what is good
			fmt.Fprintf(&text, "    %s %-6s  %s\n%18s%s\n", kind, level, check.Text,
				"", strings.Join(check.Requirements, ", "))
			if check.Scenario != nil {
				fmt.Fprintf(&text, "%18sin the scenario %s\n", "", check.Scenario.Name)
			}
		}
		fmt.Fprintf(
			&text,
			"\n%d checks and %d rules of the %s at %s\n\n",
			len(at.checks)-rules,
			rules,
			at.role,
			name,
		)
	}
	_, err := io.WriteString(w, text.String())
	return err
}

// byPage sorts checks by the order of the specification's pages, then by id.
func byPage(checks []plan.Declared, requirements *catalogue.Catalogue, revision string) []plan.Declared {
	place := func(check plan.Declared) int {
		requirement, _ := requirements.Get(check.Requirements[0])
		return slices.Index(catalogue.Pages, requirement.Page(revision))
	}
	return slices.SortedStableFunc(slices.Values(checks), func(a, b plan.Declared) int {
		if order := place(a) - place(b); order != 0 {
			return order
		}
		return strings.Compare(a.Requirements[0], b.Requirements[0])
	})
}

// listed is one line of list --json.
type listed struct {
	Role         string   `json:"role"`
	Revision     string   `json:"revision"`
	Page         string   `json:"page"`
	Kind         string   `json:"kind"`
	Text         string   `json:"text"`
	Level        string   `json:"level"`
	Requirements []string `json:"requirements"`
	Labels       []string `json:"labels"`
	Transports   []string `json:"transports"`
	Scenario     *told    `json:"scenario,omitempty"`
}

// told is the scenario in which a check of a client looks.
type told struct {
	Name  string         `json:"name"`
	Says  string         `json:"says"`
	Steps scenario.Steps `json:"steps"`
}

func writeListJSON(w io.Writer, all []checksAt, requirements *catalogue.Catalogue) error {
	lines := []listed{}
	for _, at := range all {
		for _, check := range byPage(at.checks, requirements, at.revision) {
			requirement, _ := requirements.Get(check.Requirements[0])
			labels := make([]string, len(check.Labels))
			for i, label := range check.Labels {
				labels[i] = filter.Word(label)
			}
			line := listed{
				Role:     at.role,
				Revision: at.revision,
				Page:     requirement.Page(at.revision),
				Kind:     "check",
				Text:     check.Text,
				Level: string(
					requirement.Level(at.revision),
				),
				Requirements: check.Requirements,
				Labels:       labels,
				Transports:   check.Transports,
			}
			if check.Rule {
				line.Kind = "rule"
			}
			if check.Scenario != nil {
				line.Scenario = &told{check.Scenario.Name, check.Scenario.Says, check.Scenario.Steps}
			}
			lines = append(lines, line)
		}
	}
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(lines)
}
