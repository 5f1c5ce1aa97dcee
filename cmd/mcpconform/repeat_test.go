//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpconform/mcpconform/internal/slowtest"
	"github.com/mcpconform/mcpconform/internal/transport/transporttest"
	"github.com/mcpconform/mcpconform/reports"
)

// A server that breaks something at every second start is flaky, and does not conform.
func TestRepeat(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	address := transporttest.Unused(t)
	directory := t.TempDir()
	script := writeFile(t, directory, "start.sh", fmt.Sprintf(`
if [ -e started ]; then rm started; set -- --fault ping-unknown; else touch started; set --; fi
exec %s reference server --listen %s "$@"
`, os.Args[0], address))
	found := mcpconformIn(t, directory, "server", "--url", "http://"+address+"/mcp", "--start", "sh "+script,
		"--revision", "2025-11-25", "--filter", "ping || pagination.cursor.invalid-refused", "--repeat", "3",
		"--json", "run.json", "--transcripts", "transcripts")
	found.demand(t, exitDoesNot, "flaky   failed in 1 of 3 runs, passed in 2", "flaky in 3 runs")
	run := readRun(t, filepath.Join(directory, "run.json"))
	if run.Repeats != 3 {
		t.Errorf("tells of %d runs", run.Repeats)
	}
	for _, result := range run.Cells[0].Results {
		switch flaky := result.Flaky != nil; {
		case flaky && result.ID == "pagination.cursor.invalid-refused",
			!flaky && result.ID == "ping.answered" && result.Verdict == reports.Failed:
			t.Errorf("%s has %s, and %v", result.ID, result.Verdict, result.Flaky)
		}
	}
	for _, name := range []string{"run-1", "run-2", "run-3"} {
		if entries, err := os.ReadDir(filepath.Join(directory, "transcripts", name)); err != nil || len(entries) == 0 {
			t.Errorf("%s has no transcripts: %v", name, err)
		}
	}
	if !strings.Contains(found.stderr, "run 2 of 3  2025-11-25 · http: ") {
		t.Errorf("the progress does not tell of the second run: %s", found)
	}
}

func TestRepeatUsage(t *testing.T) {
	t.Parallel()
	mcpconform(t, "server", "--repeat", "0").demand(t, exitUsage, "--repeat 0 must be positive")
	mcpconform(t, "server", "--repeat", "2", "--shard", "1/2").demand(t, exitUsage, "--repeat and --shard exclude each other")
	mcpconform(t, "server", "--repeat", "2", "--url", "http://127.0.0.1:1/mcp").demand(t, exitUnreachable, "run 1 of 2: cannot connect to http://127.0.0.1:1/mcp")
}
