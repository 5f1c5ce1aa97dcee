package catalogue

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpconform/mcpconform/internal/protocol"
)

func TestApplies(t *testing.T) {
	t.Parallel()
	catalogue, err := load(t, map[string]string{"a/requirements.yaml": good, "b/requirements.yaml": stated})
	if err != nil {
		t.Fatal(err)
	}
	const answered, interval, schema = "ping.answered", "ping.interval-configurable", "tools.schema"
	for _, test := range []struct {
		revision, transport, role string
		want                      []string
	}{
		{"", "", "", []string{answered, interval, schema}},
		{"2025-06-18", protocol.HTTP, protocol.ClientRole, []string{answered, interval}},
		{"2025-06-18", protocol.Stdio, protocol.ClientRole, []string{answered}},
		{"2025-11-25", protocol.HTTP, protocol.ServerRole, []string{answered, schema}},
		{"2024-11-05", "", "", []string{answered}},
		{"2025-11-25", protocol.SSE, protocol.ClientRole, []string{answered, interval}},
		{"2026-07-28", protocol.SSE, protocol.ClientRole, nil},
		{"2025-07-01", "", "", nil}, // no such revision
	} {
		var got []string
		for _, requirement := range catalogue.Applies(test.revision, test.transport, test.role) {
			got = append(got, requirement.ID)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("applies at %q, %q, %q (-want +got):\n%s", test.revision, test.transport, test.role, diff)
		}
	}
}

func TestPerRevision(t *testing.T) {
	t.Parallel()
	catalogue, err := load(t, map[string]string{"a/requirements.yaml": good})
	if err != nil {
		t.Fatal(err)
	}
	interval, _ := catalogue.Get("ping.interval-configurable")
	for revision, want := range map[string][3]string{
		"2024-11-05": {"SHOULD", "basic/utilities/ping", "https://modelcontextprotocol.io/specification/2024-11-05/basic/utilities/ping"},
		"2025-06-18": {"SHOULD", "basic/utilities/ping", "https://modelcontextprotocol.io/specification/2025-06-18/basic/utilities/ping"},
		"2025-11-25": {"MUST", "basic/utilities/ping", "https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/ping"},
		"2026-07-28": {"MUST", "basic/patterns/ping#interval", "https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/ping#interval"},
	} {
		got := [3]string{string(interval.Level(revision)), interval.At(revision), interval.Link(revision)}
		if got != want {
			t.Errorf("at %s: %q, expected %q", revision, got, want)
		}
	}
}

func TestLinkOfIndex(t *testing.T) {
	t.Parallel()
	base := &Requirement{places: perRevision[place]{{"2025-06-18", place{"basic/index", "meta"}}}}
	want := "https://modelcontextprotocol.io/specification/2025-11-25/basic#meta"
	if got := base.Link("2025-11-25"); got != want {
		t.Errorf("link is %s, expected %s", got, want)
	}
}

func TestObliges(t *testing.T) {
	t.Parallel()
	moved := &Requirement{
		Since:   "2025-06-18",
		obliges: perRevision[string]{{"2025-06-18", Both}, {"2026-07-28", protocol.ClientRole}},
	}
	for _, test := range []struct {
		revision string
		server   bool
	}{{"2025-11-25", true}, {"2026-07-28", false}, {"", true}} {
		if got := moved.Applies(test.revision, "", protocol.ServerRole); got != test.server {
			t.Errorf("at %q it obliges servers: %v, expected %v", test.revision, got, test.server)
		}
		if !moved.Applies(test.revision, "", protocol.ClientRole) {
			t.Errorf("at %q it does not oblige clients", test.revision)
		}
	}
}

func TestLevel(t *testing.T) {
	t.Parallel()
	for level, want := range map[Level][2]bool{
		Must: {true, false}, MustNot: {true, false}, Should: {false, true}, ShouldNot: {false, true}, May: {false, false},
	} {
		if got := [2]bool{level.Failing(), level.Warning()}; got != want {
			t.Errorf("%s: failing, warning are %v, expected %v", level, got, want)
		}
	}
}

func TestNearest(t *testing.T) {
	t.Parallel()
	catalogue, err := load(t, map[string]string{"a/requirements.yaml": good})
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]string{
		"ping.anwsered":         "ping.answered",
		"PING.ANSWERED":         "ping.answered",
		"ping.interval-config":  "ping.interval-configurable",
		"something.else.at-all": "",
		"":                      "",
	} {
		if got := catalogue.Nearest(id); got != want {
			t.Errorf("nearest to %q is %q, expected %q", id, got, want)
		}
	}
}

func TestPageName(t *testing.T) {
	t.Parallel()
	for page, want := range map[string]string{
		"basic/index": "base", "server/index": "server", "server/tools": "tools",
		"basic/transports/index": "transports", "basic/transports/streamable-http": "transports",
		"basic/patterns/index": "patterns",
		"basic/utilities/ping": "ping", "basic/security_best_practices": "security-best-practices",
	} {
		if got := pageName(page); got != want {
			t.Errorf("name of %s is %q, expected %q", page, got, want)
		}
	}
}
