package main

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpconform/mcpconform/internal/slowtest"
	"github.com/mcpconform/mcpconform/reports"
)

// verdictsOf are the rules of a run by what it found, those told with another failure
// among the broken.
func verdictsOf(t *testing.T, path string) (broken []string, all map[string]reports.Verdict) {
	t.Helper()
	run := readRun(t, path)
	all = map[string]reports.Verdict{}
	known := map[string]bool{}
	for _, cell := range run.Cells {
		for _, result := range cell.Results {
			if result.Kind == reports.KindRule {
				all[result.ID] = result.Verdict
				known[result.ID] = known[result.ID] || result.Verdict == reports.Failed || result.Verdict == reports.Warned
			}
		}
	}
	for _, cell := range run.Cells {
		for _, result := range cell.Results {
			for _, id := range result.Follows {
				if _, isRule := all[id]; isRule {
					known[id] = true
				}
			}
		}
	}
	maps.DeleteFunc(known, func(_ string, is bool) bool { return !is })
	return slices.Sorted(maps.Keys(known)), all
}

// What a run found by its rules, its transcripts show again: no more, and no less.
func TestCheckFindsWhatTheRunFound(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	for place, test := range []struct {
		name, role, revision string
		faults               []string
		broken               []string
	}{
		{"a server", "server", "2025-11-25", []string{"progress-falls", "tools-two-of-one-name"}, []string{"progress.increases", "tools.name.unique"}},
		{"a server without a session", "server", "2026-07-28", []string{"progress-falls"}, []string{"progress.increases"}},
		{"a client", "client", "2025-11-25", []string{"client-request-id-with-fraction"}, []string{"base.requests.id"}},
	} {
		if !chosen(place, oneCheckOf) {
			continue
		}
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			directory := t.TempDir()
			target := []string{os.Args[0], "reference", test.role}
			if test.role == "server" {
				target = append(target, "--stdio")
			}
			for _, id := range test.faults {
				target = append(target, "--fault", id)
			}
			mcpconformIn(t, directory, args(test.role, "--revision", test.revision, "-q", "--json", "run.json", "--transcripts", "transcripts", "--", target)...)
			wanted, before := verdictsOf(t, filepath.Join(directory, "run.json"))
			for _, id := range test.broken {
				if !slices.Contains(wanted, id) {
					t.Fatalf("the run does not find %s broken: %v", id, wanted)
				}
			}
			only := []string{"transcripts/" + test.revision + "-stdio"}
			if test.role == "client" {
				only = []string{"transcripts/" + test.revision + "-http"}
			}

			checked := mcpconformIn(t, directory, args("check", "--json", "check.json", "--junit", "check.xml", "--filter", test.revision, only)...)

			checked.demand(t, exitDoesNot, "by rules alone, in ", test.role+" in ")
			broken, after := verdictsOf(t, filepath.Join(directory, "check.json"))
			if !slices.Equal(broken, wanted) {
				t.Errorf("broken are %v, and in the run %v", broken, wanted)
			}
			for id, verdict := range before {
				if (verdict == reports.Passed) != (after[id] == reports.Passed) && !slices.Contains(wanted, id) {
					t.Errorf("%s is %s, and in the run %s", id, after[id], verdict)
				}
			}
			junit, err := os.ReadFile(filepath.Join(directory, "check.xml"))
			if err != nil || !strings.Contains(string(junit), "<failure") {
				t.Errorf("the JUnit report tells otherwise, %v", err)
			}
		})
	}
}

// head is the header of a transcript.
const head = `{"format":"mcpconform-transcript","version":1,"role":"server","revision":"2025-11-25","transport":"stdio","capabilities":{}`

// event is an event of a transcript.
func event(sequence int, from, raw string) string {
	text, _ := json.Marshal(map[string]any{"connection": "c", "sequence": sequence, "at": "2026-01-02T03:04:05Z", "stream": "stdio", "from": from, "kind": "message", "raw": raw})
	return string(text) + "\n"
}

// What is no transcript ends with one line that names the file, and the line.
func TestCheckRefusesWhatIsNoTranscript(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	write := func(name, text string) { writeFile(t, directory, name, text) }
	good := head + "}\n" + event(0, "client", `{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	write("good.jsonl", good)
	write("empty.jsonl", "")
	write("headless.jsonl", event(0, "client", "{}"))
	write("foreign.jsonl", `{"format":"har","version":1}`+"\n")
	write("later.jsonl", `{"format":"mcpconform-transcript","version":3}`+"\n")
	write("cut.jsonl", good[:len(good)-20])
	write("short.jsonl", head+`,"events":2}`+"\n"+event(0, "client", "{}"))
	write("binary.jsonl", "\x7fELF\x02\x01\x00\xff\xfe")
	write("role.jsonl", strings.Replace(good, `"server"`, `"proxy"`, 1))
	write("transport.jsonl", strings.Replace(good, `"transport":"stdio"`, `"transport":"carrier pigeon\u001b"`, 1))
	write("revision.jsonl", strings.Replace(good, "2025-11-25", "1999-01-01", 1))
	write("client.jsonl", strings.Replace(good, `"server"`, `"client"`, 1))
	write("unjudged.jsonl", head+`,"unjudged":true}`+"\n")
	for _, name := range []string{"none", "locked"} {
		if err := os.Mkdir(filepath.Join(directory, name), 0o750); err != nil {
			t.Fatal(err)
		}
	}
	write("none/run.json", "{}")
	long, err := os.Create(filepath.Join(directory, "long.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if err := long.Truncate(1 << 30); err != nil { // a hole: one line of 1 GiB
		t.Fatal(err)
	}
	if err := long.Close(); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		paths []string
		text  string
	}{
		"nothing":                  {nil, "check needs transcripts, files or directories: mcpconform check transcripts"},
		"no such file":             {[]string{"missing.jsonl"}, "missing.jsonl cannot be read: no such file or directory"},
		"an empty file":            {[]string{"empty.jsonl"}, "empty.jsonl:1: no transcript: the file is empty; record one with --transcripts"},
		"no header":                {[]string{"headless.jsonl"}, "headless.jsonl:1: an event where the header belongs; record one with --transcripts"},
		"a foreign header":         {[]string{"foreign.jsonl"}, `foreign.jsonl:1: the format is "har", not "mcpconform-transcript"; record one`},
		"a later version":          {[]string{"later.jsonl"}, "later.jsonl:1: version 3 of the format is unknown, only 1 and 2 are read"},
		"a cut file":               {[]string{"good.jsonl", "cut.jsonl"}, "cut.jsonl:2: not an event of a transcript: unexpected end of JSON input; record one"},
		"a file cut at a line":     {[]string{"short.jsonl"}, "short.jsonl:3: the transcript ends after 1 of 2 events; record one"},
		"a binary file":            {[]string{"binary.jsonl"}, "binary.jsonl:1: no message of MCP was found; looked for a transcript, HAR 1.2, "},
		"a line of 1 GiB":          {[]string{"long.jsonl"}, "long.jsonl:1: no message of MCP was found; looked for a transcript, HAR 1.2, "},
		"an unknown role":          {[]string{"role.jsonl"}, `role.jsonl:1: the role in the header is "proxy", not one of server, client`},
		"an unknown transport":     {[]string{"transport.jsonl"}, `transport.jsonl:1: the transport in the header is "carrier pigeon\x1b", not one of stdio, http`},
		"an unknown revision":      {[]string{"revision.jsonl"}, `revision.jsonl:1: the revision in the header is "1999-01-01", not one of 2024-11-05, `},
		"both roles":               {[]string{"good.jsonl", "client.jsonl"}, "good.jsonl is of a server, and client.jsonl of a client; check the transcripts of each role by themselves"},
		"nothing to judge":         {[]string{"unjudged.jsonl"}, "none of these transcripts can be judged: the target agreed to none of the revisions "},
		"a directory without any":  {[]string{"none"}, "none: no file in this directory ends with .jsonl, .ndjson, .har; record transcripts with --transcripts none"},
		"a filter of checks alone": {[]string{"--filter", "tools.inputs.validated", "good.jsonl"}, `--filter "tools.inputs.validated" matches no rule at 2025-11-25`},
		"a filter of nothing":      {[]string{"--filter", "server/tolls", "good.jsonl"}, `--filter: "server/tolls" is unknown, did you mean "server/tools"?`},
		"a filter that is none":    {[]string{"--filter", "(", "good.jsonl"}, `--filter "(" cannot be read`},
		"an unknown flag":          {[]string{"--revisoin", "x", "good.jsonl"}, "unknown flag --revisoin"},
		"a revision":               {[]string{"--revision", "2025-06-18", "good.jsonl"}, "--revision of check is draft alone: each connection is judged by the revision that it negotiated"},
		"a draft of nothing":       {[]string{"--revision", "draft", "good.jsonl"}, "--revision draft needs --spec DIR, a checkout of the specification, and --schema FILE"},
		"a schema of no draft":     {[]string{"--schema", "schema.json", "good.jsonl"}, "--spec and --schema need --revision draft"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found := mcpconformIn(t, directory, append([]string{"check"}, test.paths...)...)
			found.oneLine(t)
			if found.status != exitUsage || found.stdout != "" || !strings.HasPrefix(found.stderr, "mcpconform: "+test.text) {
				t.Errorf("%v\nwanted %s", found, test.text)
			}
		})
	}
}

// Hostile transcripts are judged like others: what they hold breaks nothing of the harness.
func TestCheckOfOddTranscripts(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	var odd bytes.Buffer
	odd.WriteString(head + `,"tools":[{"name":7},{"name":"a","outputSchema":[]}]}` + "\n")
	for number, raw := range []string{
		"", "null", "[]", "[1]", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":[]}`, `{"id":1,"result":{"protocolVersion":7,"capabilities":[]}}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"a"}}`, `{"id":2,"result":{"structuredContent":{}}}`, "\xff\x00", strings.Repeat("[", 5000),
	} {
		odd.WriteString(event(number, []string{"client", "server"}[number%2], raw))
	}
	odd.WriteString(`{"connection":"c","sequence":99,"kind":"head","from":"nobody","http":{"status":-7}}` + "\n" + `{"connection":"c","sequence":100,"kind":"later"}` + "\n")
	writeFile(t, directory, "odd.jsonl", odd.String())
	found := mcpconformIn(t, directory, "check", "odd.jsonl", "./odd.jsonl", filepath.Join(directory, "odd.jsonl"))
	found.demand(t, exitDoesNot, "server in 1 transcript\n", "Does not conform to 2025-11-25")
}
