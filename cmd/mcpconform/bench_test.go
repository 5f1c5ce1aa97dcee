package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// BenchmarkInTurns runs mcpconform as a whole process, with the arguments in RUN, and the
// command in BESIDE in turns with it, and tells the medians of both: of the time by the clock,
// and of the processor time with that of all that they start and wait for.
func BenchmarkInTurns(b *testing.B) {
	run, beside := strings.Fields(os.Getenv("RUN")), os.Getenv("BESIDE")
	if len(run) == 0 {
		run = []string{"server"}
	}
	binary := filepath.Join(b.TempDir(), "mcpconform")
	if output, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		b.Fatalf("building: %v\n%s", err, output)
	}
	var ours, others costs
	for b.Loop() {
		ours.add(b, exec.Command(binary, run...))
		if beside != "" {
			others.add(b, exec.Command("sh", "-c", beside))
		}
	}
	ours.report(b, "")
	if beside != "" {
		others.report(b, "beside-")
	}
}

// costs are what runs of one command took.
type costs struct{ clock, processor []time.Duration }

func (c *costs) add(b *testing.B, command *exec.Cmd) {
	b.Helper()
	began := time.Now()
	output, err := command.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != exitDoesNot) {
		b.Fatalf("%s: %v\n%s", command, err, output)
	}
	c.clock = append(c.clock, time.Since(began))
	c.processor = append(c.processor, command.ProcessState.UserTime()+command.ProcessState.SystemTime())
}

func (c *costs) report(b *testing.B, whose string) {
	b.ReportMetric(median(c.clock).Seconds(), whose+"s")
	b.ReportMetric(median(c.processor).Seconds(), whose+"processor-s")
}

func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}
