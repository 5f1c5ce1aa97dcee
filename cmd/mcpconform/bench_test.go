//go:build linux

package main

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// BenchmarkInTurns runs mcpconform as a whole process, with the arguments in RUN, and the
// command in BESIDE in turns with it, and tells the medians of both: of the time by the clock,
// and of the processor time with that of all that they start and wait for. A further run is
// recorded, and tells of how many processes, connections and messages it was.
func BenchmarkInTurns(b *testing.B) {
	words, beside := strings.Fields(os.Getenv("RUN")), os.Getenv("BESIDE")
	if len(words) == 0 {
		words = []string{protocol.ServerRole}
	}
	binary := buildProgram(b)
	var ours, others costs
	for b.Loop() {
		ours.add(b, exec.Command(binary, words...))
		if beside != "" {
			others.add(b, exec.Command("sh", "-c", beside))
		}
	}
	ours.report(b, "")
	if beside != "" {
		others.report(b, "beside-")
	}
	if slices.Contains(protocol.Roles(), words[0]) {
		recorded := b.TempDir()
		var watched costs
		watched.watch(b, exec.Command(binary, slices.Insert(words, 1, "--transcripts", recorded)...))
		b.ReportMetric(float64(watched.processes), "processes")
		countTranscripts(b, recorded)
	}
}

// buildProgram builds mcpconform as users have it.
func buildProgram(b *testing.B) string {
	b.Helper()
	binary := filepath.Join(b.TempDir(), "mcpconform")
	if output, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		b.Fatalf("building: %v\n%s", err, output)
	}
	return binary
}

// costs are what runs of one command took.
type costs struct {
	clock, processor []time.Duration
	memory           int // KiB of all its processes together, when it was most
	processes        int // that were seen
}

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

// watch adds a run of which the processes are followed.
func (c *costs) watch(b *testing.B, command *exec.Cmd) {
	b.Helper()
	follower := &gauge{program: command.Path, mark: markOf + "=" + rand.Text(), ours: map[int]bool{}}
	command.Env = append(os.Environ(), follower.mark)
	stop, done := make(chan struct{}), make(chan struct{})
	go follower.follow(stop, done)
	c.add(b, command)
	close(stop)
	<-done
	c.memory = max(c.memory, follower.most)
	c.processes = 0
	for _, ours := range follower.ours {
		if ours {
			c.processes++
		}
	}
}

func (c *costs) report(b *testing.B, whose string) {
	b.ReportMetric(median(c.clock).Seconds(), whose+"s")
	b.ReportMetric(median(c.processor).Seconds(), whose+"processor-s")
}

func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}

// countTranscripts tells of how many connections there are transcripts, over HTTP with many
// requests, and of how many messages on these.
func countTranscripts(b *testing.B, folder string) {
	b.Helper()
	var connections, requests, messages float64
	err := filepath.WalkDir(folder, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		file, err := os.Open(filepath.Clean(name))
		if err != nil {
			return err
		}
		defer func() { _ = file.Close() }() // it was only read
		_, events, err := transcript.Read(file)
		connections++
		for _, event := range events {
			switch {
			case event.Kind == transcript.Message:
				messages++
			case event.IsRequestHead():
				requests++
			}
		}
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(connections, "connections")
	b.ReportMetric(requests, "HTTP-requests")
	b.ReportMetric(messages, "messages")
}
