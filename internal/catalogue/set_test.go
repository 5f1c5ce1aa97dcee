package catalogue

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpconform/mcpconform/internal/protocol"
)

func everything(string, string, string) bool { return true }

// frozen is the set of a small catalogue at 2025-11-25, and the catalogue.
func frozen(t *testing.T) (*Set, *Catalogue) {
	t.Helper()
	catalogue, err := load(t, map[string]string{"a/requirements.yaml": good, "b/requirements.yaml": stated})
	if err != nil {
		t.Fatal(err)
	}
	return Freeze(catalogue, everything, "2025-11-25", 1), catalogue
}

// A set is read as it was written.
func TestSetIsReadAsWritten(t *testing.T) {
	t.Parallel()
	set, catalogue := frozen(t)
	if len(set.Requirements) != 3 || set.Count(protocol.ServerRole) != 2 {
		t.Fatalf("%d requirements, %d of servers: %s", len(set.Requirements), set.Count(protocol.ServerRole), set.Text())
	}
	sets, err := LoadSets(fstest.MapFS{set.File(): {Data: []byte(set.Text())}, "README.md": {}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]*Set{set}, sets); diff != "" {
		t.Errorf("(-written +read):\n%s", diff)
	}
	if lines := set.Differences(catalogue, everything); len(lines) > 0 {
		t.Errorf("what was just frozen differs: %q", lines)
	}
}

// Only what has a check is frozen, and for the role that has it.
func TestFreezeTakesWhatIsChecked(t *testing.T) {
	t.Parallel()
	_, catalogue := frozen(t)
	set := Freeze(catalogue, func(id, _, role string) bool {
		return id == "ping.answered" && role == protocol.ClientRole
	}, "2025-11-25", 2)
	if len(set.Requirements) != 1 || !set.Holds("ping.answered", protocol.ClientRole) ||
		set.Holds("ping.answered", protocol.ServerRole) {
		t.Errorf("%s", set.Text())
	}
}

// Each way in which a catalogue departs from a set is told.
func TestDifferences(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*Frozen){
		"ping.gone is gone":                                  func(one *Frozen) { one.ID = "ping.gone" },
		"ping.answered is a MUST, and was a SHOULD":          func(one *Frozen) { one.Level = Should },
		"ping.answered no longer states the sentence 0123":   func(one *Frozen) { one.Covers = []string{"0123"} },
		`ping.answered rests on "", and did on "an example"`: func(one *Frozen) { one.RestsOn = "an example" },
		"ping.answered does not oblige a target of the role authorization-server": func(one *Frozen) {
			one.Roles = []string{protocol.AuthorizationServerRole}
		},
	} {
		set, catalogue := frozen(t)
		change(&set.Requirements[0])
		lines := set.Differences(catalogue, everything)
		if diff := cmp.Diff([]string{"2025-11-25@1: " + want}, lines); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	set, catalogue := frozen(t)
	unchecked := func(id, _, _ string) bool { return id != "tools.schema" }
	if diff := cmp.Diff([]string{"2025-11-25@1: tools.schema has no check for the role server"}, set.Differences(catalogue, unchecked)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A requirement that is not in the set obliges no target, in a worker as well.
func TestOnly(t *testing.T) {
	t.Parallel()
	set, catalogue := frozen(t)
	set.Requirements = set.Requirements[:1]
	only := catalogue.Only(set, protocol.ServerRole)
	text, err := only.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	read := &Catalogue{}
	if err := read.UnmarshalJSON(text); err != nil {
		t.Fatal(err)
	}
	for name, one := range map[string]*Catalogue{"kept": only, "read": read} {
		applies := one.Applies("2025-11-25", "", protocol.ServerRole)
		if len(applies) != 1 || applies[0].ID != "ping.answered" {
			t.Errorf("%s: %d apply", name, len(applies))
		}
		if _, known := one.Get("tools.schema"); !known {
			t.Errorf("%s: what is left out is unknown", name)
		}
	}
	if len(catalogue.Applies("2025-11-25", "", protocol.ServerRole)) != 2 {
		t.Error("the catalogue itself has changed")
	}
}

func TestLoadSetsTellsWhatIsWrong(t *testing.T) {
	t.Parallel()
	const head = "revision: 2025-11-25\nnumber: 1\nrequirements:\n"
	for want, text := range map[string]string{
		"the file of the set 2025-06-18@1 is called 2025-06-18@1.yaml": "revision: 2025-06-18\nnumber: 1\n",
		"field level-of-all not found":                                 head + "level-of-all: MUST\n",
		`"a" stands in it twice`:                                       head + strings.Repeat("  - {id: a, level: MUST, roles: [server]}\n", 2),
		`"a" is for no role`:                                           head + "  - {id: a, level: MUST}\n",
		`"a" is for the role "host"`:                                   head + "  - {id: a, level: MUST, roles: [host]}\n",
		`"a" has the level "MAY"`:                                      head + "  - {id: a, level: MAY, roles: [server]}\n",
	} {
		_, err := LoadSets(fstest.MapFS{"2025-11-25@1.yaml": {Data: []byte(text)}})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "2025-11-25@1.yaml: ") {
			t.Errorf("the error is %v, wanted %q", err, want)
		}
	}
}
