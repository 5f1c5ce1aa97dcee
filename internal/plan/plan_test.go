package plan

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/mcpconform/mcpconform/internal/catalogue"
	"github.com/mcpconform/mcpconform/internal/protocol"
)

// TestDeclarations makes sure of all checks and rules at once, as each run does.
func TestDeclarations(t *testing.T) {
	declared, requirements, err := All(protocol.ServerRole, protocol.Released())
	if err != nil {
		t.Fatal(err)
	}
	for _, revision := range protocol.Released() {
		for _, check := range declared[revision] {
			for _, id := range check.Requirements {
				requirement, _ := requirements.Get(id)
				if !requirement.Visible() {
					t.Errorf("%q verifies %s, which no peer can see", check.Text, id)
				}
				if !requirement.Applies("", "", protocol.ServerRole) {
					t.Errorf("%q verifies %s, which obliges clients", check.Text, id)
				}
			}
		}
	}
}

// A check that verifies more than a set has is judged by the set alone.
func TestSetNarrowsChecks(t *testing.T) {
	t.Parallel()
	const revision = "2025-11-25"
	all, requirements, err := All(protocol.ServerRole, []string{revision})
	if err != nil {
		t.Fatal(err)
	}
	narrowed := 0
	for _, check := range all[revision] {
		if len(check.Requirements) < 2 {
			continue
		}
		last := check.Requirements[len(check.Requirements)-1]
		set := &catalogue.Set{Revision: revision, Number: 1, Requirements: []catalogue.Frozen{
			{ID: last, Roles: []string{protocol.ServerRole}},
		}}
		kept, err := AllOf(protocol.ServerRole, []string{revision}, requirements.Only(set, protocol.ServerRole))
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range kept[revision] {
			if !slices.Equal(one.Requirements, []string{last}) {
				t.Fatalf("%q verifies %q in a set of %s", one.Text, one.Requirements, last)
			}
		}
		if !slices.ContainsFunc(kept[revision], func(one Declared) bool { return one.Text == check.Text }) {
			t.Errorf("%q is left out of a set of %s", check.Text, last)
		}
		if narrowed++; narrowed == 3 { // each builds the tree of checks
			return
		}
	}
	t.Fatal("no three checks verify several requirements")
}

func TestUnknownWordsOfFilters(t *testing.T) {
	for text, want := range map[string]string{
		"server/tols":                      `"server/tols" is unknown, did you mean "server/tools"?`,
		"server/tools && tools.list.vaild": `"tools.list.vaild" is unknown, did you mean`,
		"tools.header.rejected":            `is unknown among the checks of a server; a client has it: mcpconform client`,
		"calling tools":                    `is unknown: it is a heading; its page is server/tools`,
		"nothing like it":                  `is unknown; mcpconform list shows what there is`,
		"server/tools && client/roots":     `matches no check or rule of a server`,
		"server/tools &&":                  `cannot be read: Unexpected EOF.`,
	} {
		_, _, err := ParseFilter(protocol.ServerRole, text)
		if wrong, ok := errors.AsType[*FilterError](err); !ok || !strings.Contains(wrong.Reason, want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestFiltersByText(t *testing.T) {
	for text, want := range map[string]string{
		"answers PING with an empty result":                   "ping.answered",
		`"with an empty result" && ping`:                      "ping.answered",
		`2025-11-25 && "PING with an empty result" && !stdio`: "ping.answered",
	} {
		chosen, _, err := ParseFilter(protocol.ServerRole, text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		all, _, err := All(protocol.ServerRole, []string{"2025-11-25"})
		if err != nil {
			t.Fatal(err)
		}
		found := 0
		for _, one := range all["2025-11-25"] {
			if matches := one.Matches(chosen); matches {
				found++
				if !slices.Contains(one.Requirements, want) {
					t.Errorf("%s: %s of %v", text, one.Text, one.Requirements)
				}
			}
		}
		if found == 0 {
			t.Errorf("%s: nothing", text)
		}
	}
	for text, want := range map[string]string{
		`"no check says this"`: `--filter: "no check says this" is unknown`,
		`"mpty result"`:        `is unknown`,
		`"open`:                `cannot be read: the closing " is missing`,
		`""`:                   `cannot be read: nothing stands between the quotation marks`,
	} {
		_, _, err := ParseFilter(protocol.ServerRole, text)
		if wrong, ok := errors.AsType[*FilterError](err); !ok || !strings.Contains(wrong.Reason, want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
