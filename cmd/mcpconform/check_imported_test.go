package main

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpconform/mcpconform/internal/slowtest"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/reports"
)

// samples are recordings of other programs: in each the server lists a tool without
// inputSchema, and the client calls one without a name.
const samples = "../../internal/importer/testdata"

// Recordings of other programs are judged for both peers. Rules that need what a recording lacks
// are skipped.
func TestCheckReadsOtherRecordings(t *testing.T) {
	t.Parallel()
	for name, lacking := range map[string]map[string]string{ // rules that are skipped, and why
		"browser.har": {"transports.utf8": "text in the place of bytes"},
		"inspector.json": {
			"base.json.well-formed": "no bytes", "base.requests.answered-once": "no heads", "transports.stdio.stdout": "no bytes",
		},
		"lines.jsonl":            {"ping.not-excessive": "does not say when", "base.json.names-unique": "no bytes"},
		"mcp-server-weather.log": {"base.json.names-unique": "no bytes", "transports.stdio.newlines": "no bytes"},
		"mcpsnoop.jsonl":         {"base.json.names-unique": "no bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			directory := t.TempDir()
			text, err := os.ReadFile(filepath.Join(samples, name))
			if err != nil {
				t.Fatal(err)
			}
			writeFile(t, directory, "recorded", string(text)) // whose name says nothing
			mcpconformIn(t, directory, "check", "--json", "{role}.json", "recorded").demand(t, exitDoesNot, "server in 1 transcript", "client in 1 transcript")
			for role, want := range map[string]string{"server": "base.schema.results", "client": "base.schema.requests"} {
				run := readRun(t, filepath.Join(directory, role+".json"))
				for _, result := range run.Cells[0].Results {
					if broken := result.Verdict == reports.Failed || result.Verdict == reports.Warned; broken != (result.ID == want) {
						t.Errorf("%s: %s is %s: %v", role, result.ID, result.Verdict, result.Failures)
					}
					if why := lacking[result.ID]; why != "" && (result.Verdict != reports.Skipped || !strings.Contains(result.Reason, why)) {
						t.Errorf("%s: %s is %s, as %s", role, result.ID, result.Verdict, result.Reason)
					}
				}
				if name == "lines.jsonl" && !strings.Contains(strings.Join(run.Cells[0].Notices, "\n"), "recorded: 1 line, the first at line 1, is not judged") {
					t.Errorf("%s: what could not be placed is not told: %q", role, run.Cells[0].Notices)
				}
			}
		})
	}
}

// Directories, files and standard input.
func TestCheckTakesAnything(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	for _, name := range []string{"browser.har", "lines.jsonl", "mcp-server-weather.log", "inspector.json"} {
		text, err := os.ReadFile(filepath.Join(samples, name))
		if err != nil {
			t.Fatal(err)
		}
		writeFile(t, directory, name, string(text))
	}
	mcpconformIn(t, directory, "check", "--role", "server", ".").demand(t, exitDoesNot, "in 3 transcripts") // .json may be anything
	writeFile(t, directory, "words", "one\ntwo\n")
	mcpconformIn(t, directory, "check", "browser.har", "words").demand(t, exitUsage, "", "words:1: no message of MCP was found; looked for a transcript, HAR 1.2")
	input, err := os.Open(filepath.Join(samples, "mcpsnoop.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = input.Close() }()
	mcpconformReading(t, directory, input, "check", "--role", "client", "-").demand(t, exitDoesNot, "base.schema.requests")
	mcpconformReading(t, directory, strings.NewReader(said(transcript.Header{}, 0, opening...)), "check", "--role", "client", "-").demand(t, exitConforms, "in 1 transcript")
	mcpconformReading(t, directory, strings.NewReader("{"), "check", "-").demand(t, exitUsage, "", "standard input:1: no message of MCP was found")
}

// What went over HTTP and was written as a HAR is judged as before.
func TestCheckWritesHAR(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	directory := t.TempDir()
	mcpconformIn(t, directory, "client", "--revision", "2025-11-25", "-q", "--filter", "base || transports.http", "--transcripts", "recorded",
		"--", os.Args[0], "reference", "client", "--fault", "client-request-id-with-fraction")
	mcpconformIn(t, directory, "check", "--json", "before.json", "--har", "recorded.har", "recorded/2025-11-25-http").demand(t, exitDoesNot, "base.requests.id")

	mcpconformIn(t, directory, "check", "--json", "after.json", "recorded.har").demand(t, exitDoesNot, "base.requests.id")

	before, after := readRun(t, filepath.Join(directory, "before.json")), readRun(t, filepath.Join(directory, "after.json"))
	if len(before.Cells) != 1 || len(after.Cells) != 1 || before.Recorded.Judged != after.Recorded.Judged {
		t.Fatalf("judged %d cells and %+v, before %d and %+v", len(after.Cells), after.Recorded, len(before.Cells), before.Recorded)
	}
	for position, one := range before.Cells[0].Results {
		other := after.Cells[0].Results[position]
		if one.ID != other.ID || one.Verdict != other.Verdict || one.Reason != other.Reason || one.Occurrences != other.Occurrences || len(one.Failures) != len(other.Failures) {
			t.Errorf("%s is %s (%s) in %d places, and of the HAR %s is %s (%s) in %d", one.ID, one.Verdict, one.Reason, one.Occurrences, other.ID, other.Verdict, other.Reason, other.Occurrences)
		}
	}
	text, err := os.ReadFile(filepath.Join(directory, "recorded.har"))
	if err != nil {
		t.Fatal(err)
	}
	var har struct {
		Log struct {
			Version string
			Entries []map[string]any
		}
	}
	if err := json.Unmarshal(text, &har); err != nil || har.Log.Version != "1.2" || len(har.Log.Entries) == 0 {
		t.Fatalf("%+v, %v", har.Log.Version, err)
	}
	for _, entry := range har.Log.Entries {
		for _, name := range []string{"startedDateTime", "time", "request", "response", "cache", "timings"} {
			if entry[name] == nil {
				t.Errorf("an entry without %s: %v", name, entry)
			}
		}
	}
	writeFile(t, directory, "stdio.jsonl", said(transcript.Header{}, 0, opening...))
	mcpconformIn(t, directory, "check", "-q", "--har", "none.har", "stdio.jsonl").demand(t, exitUsage, "", "nothing of these recordings went over HTTP")
	mcpconformIn(t, directory, "check", "-q", "--har", "no/such/place.har", "stdio.jsonl").demand(t, exitUsage, "", "there is no directory no/such")
}

// mcpconformReading runs the command line with something on standard input.
func mcpconformReading(t *testing.T, directory string, input io.Reader, arguments ...string) outcome {
	t.Helper()
	one := prepare(t, directory, nil, arguments...)
	one.command.Stdin = input
	one.start()
	return one.wait()
}
