package reports

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpconform/mcpconform/internal/protocol"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares with a file in testdata, or writes it with -update.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s differs (-want +got), go test -update writes it anew:\n%s", path, diff)
	}
}

func terminalText(t *testing.T, run *Run, o TerminalOptions) string {
	t.Helper()
	var out bytes.Buffer
	if err := run.Terminal(&out, o); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestTerminalGolden(t *testing.T) {
	t.Parallel()
	strict := sampleRun()
	strict.Strict = true
	broken := sampleRun()
	broken.Cells = broken.Cells[1:]
	broken.Cells[0].Ended = &Ended{
		Reason: "the server no longer answers initialize: connection refused", After: "tools/call search", Exit: "exited with status 1",
		Output: "listening\npanic: no\n", Hint: "see what the target logs about the request, then run again",
	}
	broken.Interrupted = "deadline of 5m reached"
	broken.Errors = []string{"worker 3 died on lifecycle.version.echoed: signal: killed\nits last output: \x1b[0mpanic"}
	for name, c := range map[string]struct {
		run     *Run
		options TerminalOptions
	}{
		"terminal.txt":            {sampleRun(), TerminalOptions{}},
		"terminal.verbose.txt":    {sampleRun(), TerminalOptions{Verbose: true}},
		"terminal.color.txt":      {sampleRun(), TerminalOptions{Color: true}},
		"terminal.quiet.txt":      {sampleRun(), TerminalOptions{Quiet: true}},
		"terminal.wide.txt":       {sampleRun(), TerminalOptions{Width: 132}},
		"terminal.narrow.txt":     {sampleRun(), TerminalOptions{Width: 48}},
		"terminal.strict.txt":     {strict, TerminalOptions{}},
		"terminal.conforming.txt": {conformingRun(), TerminalOptions{}},
		"terminal.broken.txt":     {broken, TerminalOptions{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			golden(t, name, []byte(terminalText(t, c.run, c.options)))
		})
	}
}

// What is meant to be copied may be longer than a line; nothing else.
func TestTerminalKeepsTheWidth(t *testing.T) {
	t.Parallel()
	for _, width := range []int{60, 72, 80, 100, 160} {
		for _, verbose := range []bool{false, true} {
			for line := range strings.Lines(terminalText(t, sampleRun(), TerminalOptions{Width: width, Verbose: verbose})) {
				line = strings.TrimSuffix(line, "\n")
				field := strings.TrimSpace(line)
				if strings.HasPrefix(field, "rerun ") || strings.HasPrefix(field, "link ") || strings.HasPrefix(field, "at ") || strings.HasPrefix(field, "file ") {
					continue
				}
				if got := columns.StringWidth(line); got > width {
					t.Errorf("width %d: %d columns: %s", width, got, line)
				}
				if strings.HasSuffix(line, " ") {
					t.Errorf("white space at the end of %q", line)
				}
			}
		}
	}
}

// The judged member and the id of its message are shown on a narrow terminal and of a large
// message, too: a failure can be read without the transcript.
func TestTheJudgedMemberIsSeen(t *testing.T) {
	t.Parallel()
	const revision = "2025-11-25"
	for place, want := range map[string]string{
		"/result/tools/0/name": `"tool_0"`, "/result/tools/37/inputSchema/$schema": `draft-07/schema#"`,
		"/result/tools/399/inputSchema/type": `"type":"object"`, "/result/tools/200/inputSchema/properties": `"inputSchema":{`,
	} {
		for _, verdict := range []Verdict{Failed, Warned} {
			result := passed(revision, "tools.list.valid", "server/tools", "lists valid tools")
			result.Verdict, result.Failures = verdict, []Failure{{Wanted: "another", Where: place}}
			result.Exchange = []Step{
				{From: string(protocol.Client), To: string(protocol.Server), Kind: StepMessage, Text: `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`},
				{From: string(protocol.Server), To: string(protocol.Client), Kind: StepMessage, Text: longList(400), Marked: true},
			}
			run := &Run{Cells: []Cell{{Revision: revision, Transport: "http", Spoken: true, Results: []Result{result}}}}
			for _, width := range []int{60, 80, 120} {
				for _, verbose := range []bool{false, true} {
					text := terminalText(t, run, TerminalOptions{Width: width, Verbose: verbose})
					_, marked, _ := strings.Cut(text, "▸")
					marked = strings.Join(strings.Fields(marked), "")
					if !strings.Contains(marked, strings.ReplaceAll(want, " ", "")) || !strings.Contains(marked, `"id":2`) {
						t.Errorf("%s at %d columns, %s: %s is not seen in\n%s", place, width, verdict, want, text)
					}
				}
			}
		}
	}
}

// What the log of a build is searched for stands at its end: what is broken, a line
// each, and the counts.
func TestTheEndIsWhatIsReadFirst(t *testing.T) {
	t.Parallel()
	const revision = "2025-11-25"
	run := sampleRun()
	run.Baseline = nil // what of it no longer holds stands below
	for i := range brokenShown + 3 {
		result := passed(revision, fmt.Sprintf("tools.fault.number-%d", i), "server/tools", "is the result "+strings.Repeat("of many ", i))
		result.Verdict, result.Failures = Warned, []Failure{{Wanted: "this"}}
		run.Cells[0].Results = append(run.Cells[0].Results, result)
	}
	for _, width := range []int{60, 80, 120} {
		text := terminalText(t, run, TerminalOptions{Width: width})
		sections := strings.Split(strings.TrimSpace(text), "\n\n")
		lines := strings.Split(sections[len(sections)-2], "\n")
		if len(lines) != brokenShown+1 || !strings.Contains(lines[brokenShown], "and 7 more") {
			t.Errorf("%d lines, the last is %q", len(lines), lines[len(lines)-1])
		}
		if !strings.HasPrefix(lines[0], "FAILED  base.ids.answered") || !strings.HasPrefix(lines[2], "WARNED  tools.") {
			t.Errorf("begins with\n%s", strings.Join(lines[:3], "\n"))
		}
		if last := sections[len(sections)-1]; !strings.HasPrefix(last, "Does not conform") || !strings.Contains(last, "warned") {
			t.Errorf("ends with %s", last)
		}
	}
}

// Forty results that nothing provokes are one cause, and take a few lines.
func TestInconclusiveIsFolded(t *testing.T) {
	t.Parallel()
	cell := Cell{Revision: "2025-11-25", Transport: "stdio", Spoken: true}
	for i := range 40 {
		result := passed("2025-11-25", fmt.Sprintf("a.b%d", i), "client/sampling", fmt.Sprintf("is the result %d", i))
		kind := []string{"sampling", "elicitation", "roots"}[i%3]
		result.Verdict, result.Provocation = Inconclusive, kind
		result.Reason, result.Hint = "no known tool asks for "+kind, "name one for "+kind
		cell.Results = append(cell.Results, result)
	}
	for i := range 9 {
		result := passed("2025-11-25", fmt.Sprintf("c.d%d", i), "server/tools", fmt.Sprintf("is another %d", i))
		result.Verdict, result.Reason = Inconclusive, fmt.Sprintf("because of %d", i)
		cell.Results = append(cell.Results, result)
	}
	run := &Run{Cells: []Cell{cell}}
	_, folded, _ := strings.Cut(terminalText(t, run, TerminalOptions{}), "INCONCLUSIVE")
	folded, _, _ = strings.Cut(folded, "\n\nNothing")
	if lines := strings.Count(folded, "\n"); lines > 16 {
		t.Errorf("takes %d lines:\n%s", lines, folded)
	}
	for _, want := range []string{"  40  no known tool triggers these: sampling 14,", "never: [sampling]", "   5  for 5 other reasons", "-v lists them"} {
		if !strings.Contains(folded, want) {
			t.Errorf("%q is not in\n%s", want, folded)
		}
	}
	listed := terminalText(t, run, TerminalOptions{Verbose: true})
	for _, result := range cell.Results {
		if !strings.Contains(listed, "? "+result.Text+"\n") {
			t.Errorf("-v does not list %q", result.Text)
		}
	}
}

// The same requests have other ids on another cell, where the same is found.
func TestTheSameOnAnotherCellIsShownOnce(t *testing.T) {
	t.Parallel()
	cell := func(revision string, failures ...Failure) Cell {
		result := passed(revision, "a.b", "server/tools", "refuses each")
		result.Verdict = Failed
		for _, failure := range failures {
			failure.Wanted, failure.Found = "an error", "a result"
			result.Failures = append(result.Failures, failure)
		}
		return Cell{Revision: revision, Transport: "stdio", Spoken: true, Results: []Result{result}}
	}
	ping, pingAgain := Failure{Method: "ping", About: "ping with id 2"}, Failure{Method: "ping", About: "ping with id 7"}
	callOf := func(tool string, id int) Failure {
		return Failure{Method: "tools/call", Item: tool, About: fmt.Sprintf("tools/call of %s with id %d", tool, id)}
	}
	getOf := func(prompt string, id int) Failure {
		return Failure{Method: "prompts/get", Item: prompt, About: fmt.Sprintf("prompts/get of %s with id %d", prompt, id)}
	}
	for text, one := range map[string]struct {
		run  *Run
		want int
	}{
		"other ids":     {&Run{Cells: []Cell{cell("2025-06-18", ping, callOf("x", 3)), cell("2025-11-25", pingAgain, callOf("x", 9))}}, 1},
		"other methods": {&Run{Cells: []Cell{cell("2025-06-18", ping, callOf("x", 3)), cell("2025-11-25", ping, getOf("x", 3))}}, 2},
		"other tools":   {&Run{Cells: []Cell{cell("2025-06-18", ping, callOf("x", 3)), cell("2025-11-25", ping, callOf("y", 3))}}, 2},
	} {
		if got := strings.Count(terminalText(t, one.run, TerminalOptions{}), "wanted  an error") / 2; got != one.want {
			t.Errorf("%s: shown %d times, not %d", text, got, one.want)
		}
	}
}
