package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpconform/mcpconform/internal/catalogue"
	"github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/scenario"
	"github.com/mcpconform/mcpconform/suites"
)

// crossings are the requirements, or the beginnings of several, on peers that speak different
// revisions or transports.
var crossings = []string{
	"lifecycle.version.", "lifecycle.errors.version", "discover.probe", "transports.http.older", "transports.stdio.probe.",
	"versioning.eras.", "versioning.unsupported.", "versioning.requests.",
}

func isCrossing(id string) bool {
	return slices.ContainsFunc(crossings, func(one string) bool { return strings.HasPrefix(id, one) })
}

// TestDocsCrossing holds the tables of docs/crossing.md to what is checked: each scenario and
// check that is about crossing has its row, with the sentence that decides.
func TestDocsCrossing(t *testing.T) {
	t.Parallel()
	page := filepath.Join(repository, "docs", "crossing.md")
	source, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	known, err := suites.Catalogue()
	if err != nil {
		t.Fatal(err)
	}
	found := string(source)
	for heading, table := range map[string]string{
		"## Clients":   crossingOfClients(known),
		"## Servers":   crossingOfServers(known),
		"## Sentences": crossingSentences(known),
	} {
		before, section, there := strings.Cut(found, heading+"\n")
		section, after, more := strings.Cut(section, "\n## ")
		text, _, hasTable := strings.Cut(section, "\n| ")
		if !there || !hasTable {
			t.Fatalf("%s has no heading %q with a table", page, heading)
		}
		if found = before + heading + "\n" + text + "\n" + table; more {
			found += "\n## " + after
		}
	}
	switch {
	case found == string(source):
	case *update:
		if err := os.WriteFile(page, []byte(found), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("docs/crossing.md does not have the rows\n%s\n(go test ./cmd/mcpconform -run TestDocs -update writes them)", found)
	}
}

// crossingOf returns the ids among those that a check verifies which are about crossing.
func crossingOf(one *check.Declaration) []string {
	return slices.DeleteFunc(slices.Clone(one.Requirements), func(id string) bool { return !isCrossing(id) })
}

func crossingOfClients(known *catalogue.Catalogue) string {
	var order []string
	says, does, spans := map[string]string{}, map[string][]string{}, map[string]string{}
	for _, one := range suites.Checks(protocol.ClientRole) {
		ids := crossingOf(one)
		if len(ids) == 0 || one.Scenario == nil {
			continue
		}
		name := one.Scenario.Name
		if says[name] == "" {
			order = append(order, name)
			says[name] = one.Scenario.Says
			spans[name] = crossingSpan(one.Scenario.Since, one.Scenario.Until, crossingOver(one.Scenario))
		}
		over := strings.Join(one.Transports, ", ")
		if over != "" && over != one.Scenario.Over {
			over = " (" + over + ")"
		} else {
			over = ""
		}
		does[name] = append(does[name], one.Text+over+": "+crossingIDs(known, ids))
	}
	var table strings.Builder
	table.WriteString("| scenario | where | what happens | what the client does |\n| --- | --- | --- | --- |\n")
	for _, name := range order {
		fmt.Fprintf(&table, "| `%s` | %s | %s | %s |\n", name, spans[name], says[name], strings.Join(does[name], "; "))
	}
	return table.String()
}

// crossingOver lists the transports over which a scenario can be played.
func crossingOver(one *scenario.Scenario) string {
	if one.Over != "" {
		return one.Over
	}
	return strings.Join(slices.DeleteFunc(protocol.Transports(), func(transport string) bool {
		return one.Since != "" && !protocol.Carries(transport, one.Since)
	}), ", ")
}

func crossingOfServers(known *catalogue.Catalogue) string {
	var table strings.Builder
	table.WriteString("| what the server does | requirement |\n| --- | --- |\n")
	for _, one := range suites.Checks(protocol.ServerRole) {
		if ids := crossingOf(one); len(ids) > 0 {
			fmt.Fprintf(&table, "| %s | %s |\n", one.Text, crossingIDs(known, ids))
		}
	}
	return table.String()
}

// crossingSentences says of each requirement where it stands, and since when.
func crossingSentences(known *catalogue.Catalogue) string {
	checked := map[string]bool{}
	for _, role := range []string{protocol.ClientRole, protocol.ServerRole} {
		for _, one := range suites.Checks(role) {
			for _, id := range crossingOf(one) {
				checked[id] = true
			}
		}
	}
	var table strings.Builder
	table.WriteString("| requirement | where | says |\n| --- | --- | --- |\n")
	for _, one := range known.All() {
		if checked[one.ID] {
			last := cmp.Or(one.Until, protocol.Newest())
			fmt.Fprintf(&table, "| `%s` | %s, [%s](%s) | %s |\n",
				one.ID, crossingSpan(one.Since, one.Until, ""), one.At(last), one.Link(last), one.Says)
		}
	}
	return table.String()
}

func crossingIDs(known *catalogue.Catalogue, ids []string) string {
	var all []string
	for _, id := range ids {
		one, _ := known.Get(id)
		all = append(all, fmt.Sprintf("`%s` %s", id, one.Level(cmp.Or(one.Until, protocol.Newest()))))
	}
	return strings.Join(all, ", ")
}

// crossingSpan says between which revisions something is, and over what.
func crossingSpan(since, until, over string) string {
	var all []string
	if since != "" && since != protocol.Released()[0] {
		all = append(all, "from "+since)
	}
	if until != "" {
		all = append(all, "until "+until)
	}
	text := cmp.Or(strings.Join(all, " "), "all revisions")
	if over != "" {
		text += ", " + over
	}
	return text
}
