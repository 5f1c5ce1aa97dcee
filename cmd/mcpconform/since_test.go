package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// twoRevisions is a checkout in which a sentence of a page became stronger, and another came.
func twoRevisions(t *testing.T) string {
	t.Helper()
	directory := t.TempDir()
	for name, text := range map[string]string{
		"2025-11-25/basic/utilities/ping.mdx": "The receiver MUST respond promptly with an empty response:\n\nPings SHOULD be sent rarely.\n",
		"2026-07-28/basic/utilities/ping.mdx": "The receiver MUST respond promptly with an empty response:\n\nPings MUST be sent rarely.\n\nA ping MUST <b>not</b> bark.\n",
	} {
		file := filepath.Join(directory, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte("# Ping\n\n"+text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return directory
}

// TestTraceSince tells what is new, in each format, and demands that it is catalogued.
func TestTraceSince(t *testing.T) {
	t.Parallel()
	directory := twoRevisions(t)
	trace := func(flags ...string) outcome {
		return mcpconform(t, append([]string{"trace", "--spec", directory, "--since", "2025-11-25", "--to", "2026-07-28"}, flags...)...)
	}
	trace().demand(t, exitConforms, "basic/utilities/ping\n  changed  SHOULD before, now MUST, 80 % of the words the same\n    was  Pings SHOULD be sent rarely.\n",
		"  new      MUST\n    is   A ping MUST not bark.\n", "    not catalogued\n",
		"Normative sentences from 2025-11-25 to 2026-07-28: 1 new, 1 changed, 0 moved, 0 gone; 2 not catalogued\n")
	trace("--format", "markdown").demand(t, exitConforms, "# From 2025-11-25 to 2026-07-28\n\n", "## basic/utilities/ping\n\n- **changed**, SHOULD before, now MUST",
		"  - is (basic/utilities/ping#ping, line 5): Pings MUST be sent rarely.\n")
	trace("--check").demand(t, exitDoesNot, "2 not catalogued")
	mcpconform(t, "trace", "--spec", directory, "--since", "2025-11-25", "--to", "2025-11-25", "--check").demand(t, exitConforms, "0 not catalogued")
	var told changesSince
	if err := json.Unmarshal([]byte(trace("--format", "json").stdout), &told); err != nil || len(told.Changes) != 2 ||
		told.Changes[1].Is.Text != "A ping MUST not bark." || !told.Changes[1].Uncatalogued || told.Changes[0].Was == nil {
		t.Errorf("%+v, %v", told, err)
	}
}

// A requirement has the variations that are about what its faults change, and the peers that
// break it.
func TestSinceKnowsFixtures(t *testing.T) {
	t.Parallel()
	known, err := readFixtures()
	if err != nil {
		t.Fatal(err)
	}
	version, invalid := known.about("lifecycle.version.echoed"), known.about("base.errors.invalid-request")
	if !slices.Contains(version.Faults, "version-not-echoed") || !slices.Equal(version.Variations, []string{"version-that-is-none-refused"}) {
		t.Errorf("%+v", version)
	}
	if !slices.Contains(invalid.Peers, "mcp-go") || strings.Contains(strings.Join(invalid.Peers, " "), "server-memory") {
		t.Errorf("%+v", invalid)
	}
	if text := (aboutASentence{Variations: []string{"a"}, Peers: []string{"b", "c"}}).hangs(); text != "checks: 0, faults: 0, variations: 1, peers: b c" {
		t.Error(text)
	}
}

// TestTraceSinceTellsWhatIsOurs names what hangs on a sentence that changes.
func TestTraceSinceTellsWhatIsOurs(t *testing.T) {
	t.Parallel()
	specification := os.Getenv("MCP_SPEC_DIR")
	if specification == "" {
		t.Skip("MCP_SPEC_DIR names no checkout of the specification")
	}
	found := mcpconform(t, "trace", "--spec", specification, "--since", "2025-11-25", "--to", "2026-07-28", "--check")
	found.demand(t, exitConforms, "    pagination.cursor.opaque (checks: ", "basic/versioning\n", "; 0 not catalogued\n")
	mcpconform(t, "trace", "--spec", specification, "--since", "2026-07-28", "--check").
		demand(t, exitConforms, "from 2026-07-28 to draft: 0 new, 0 changed, 0 moved, 0 gone; 0 not catalogued\n")
}

// A lead-in that has changed is told once, with the items of its list, each of which is a sentence to catalogue.
func TestTraceSinceOfALeadIn(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	for revision, level := range map[string]string{"2025-11-25": "MUST", "2026-07-28": "SHOULD"} {
		folder := filepath.Join(directory, revision, "server")
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		writeFile(t, folder, "tools.mdx", "# Tools\n\nA tool "+level+":\n\n- sleep at night\n- wake at *dawn*\n")
	}
	trace := func(format string) outcome {
		return mcpconform(t, "trace", "--spec", directory, "--since", "2025-11-25", "--to", "2026-07-28", "--format", format)
	}
	trace("text").demand(t, exitConforms, "  changed  MUST before, now SHOULD, for items of its list: 2\n    was  A tool MUST:\n         server/tools#tools, line 3\n",
		"    is   A tool SHOULD:\n         server/tools#tools, line 3\n         - line 5: sleep at night\n         - line 6: wake at dawn\n",
		"0 new, 2 changed, 0 moved, 0 gone; 2 not catalogued\n")
	trace("markdown").demand(t, exitConforms, "  - is (server/tools#tools, line 3): A tool SHOULD:\n    - line 5: sleep at night\n    - line 6: wake at dawn\n")
	var told changesSince
	if err := json.Unmarshal([]byte(trace("json").stdout), &told); err != nil || len(told.Changes) != 1 || len(told.Changes[0].Items) != 2 ||
		told.Changes[0].Items[1].Is.Text != "A tool SHOULD: wake at dawn" || told.Changes[0].Items[1].Is.Fingerprint == "" {
		t.Errorf("%+v, %v", told, err)
	}
}

func TestTraceSinceOfNothing(t *testing.T) {
	t.Parallel()
	directory := twoRevisions(t)
	for name, one := range map[string]struct{ flags, says []string }{
		"no such revision": {[]string{"--since", "2025-11-26"}, []string{"there is no folder 2025-11-26"}},
		"no draft":         {[]string{"--since", "2025-11-25"}, []string{"there is no folder draft"}},
		"format":           {[]string{"--since", "2025-11-25", "--format", "mrkdown"}, []string{`--format "mrkdown" is unknown, did you mean "markdown"?`}},
	} {
		found := mcpconform(t, append([]string{"trace", "--spec", directory}, one.flags...)...)
		found.demand(t, exitUsage, one.says...)
		if t.Failed() {
			t.Log(name)
		}
	}
}
