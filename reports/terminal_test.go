package reports

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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
	broken.Legs = broken.Legs[1:]
	broken.Legs[0].Ended = &Ended{
		Reason: "a new connection brings nothing: connection refused", After: "tools/call search", Exit: "exited with status 1",
		Output: "listening\npanic: no\n", Hint: "see what the target logs about the request, then run again",
	}
	broken.Interrupted = "deadline of 5m reached"
	broken.Errors = []string{"worker 3 died on lifecycle.version.echoed: signal: killed\nits last words: \x1b[0mpanic"}
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
