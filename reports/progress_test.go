package reports

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// screen shows what a terminal would: it knows carriage return and "erase line",
// and nothing else may come.
func screen(t *testing.T, output string) string {
	t.Helper()
	var lines []string
	for line := range strings.SplitSeq(output, "\n") {
		for part := range strings.SplitSeq(line, eraseLine) {
			line = part // each begins on an empty line
		}
		if strings.ContainsAny(line, "\r\x1b") {
			t.Errorf("a control sequence other than erasing the line: %q", line)
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// clock is a time that stands still until it is set on.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

func TestProgressLive(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	c := &clock{}
	p := newProgress(&out, ProgressOptions{Live: true, Width: func() int { return 72 }}, c.now)
	p.Leg("2025-11-25 · http", 120)
	p.Begin("answers ping with an \x1b[2J empty\nresult, however long the sentence that says so may be")
	for i := range 60 {
		p.Done("2025-11-25 · http", strconv.Itoa(i), []Verdict{Passed, Passed, Failed}[i%3])
	}
	c.at = c.at.Add(3900 * time.Millisecond)
	p.redraw()
	if got, want := screen(t, out.String()), `━━━━━━━━━━──────────  60/120  20 failed  3 s  answers ping with an \x1…`; got != want {
		t.Errorf("shows\n%s\nwanted\n%s", got, want)
	}
	if width := columns.StringWidth(screen(t, out.String())); width > 71 {
		t.Errorf("%d columns of 72", width)
	}

	before := out.Len()
	p.redraw()
	if out.Len() != before {
		t.Errorf("draws a line that has not changed: %q", out.String()[before:])
	}

	if err := p.Print(func(w io.Writer) error { _, err := io.WriteString(w, "a failure\n"); return err }); err != nil {
		t.Fatal(err)
	}
	if got := screen(t, out.String()); !strings.HasPrefix(got, "a failure\n━━━") {
		t.Errorf("after a print: %q", got)
	}
	p.Close()
	p.Close()
	p.redraw()
	if got := screen(t, out.String()); got != "a failure\n" {
		t.Errorf("left behind: %q", got)
	}
}

func TestProgressPlain(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	c := &clock{}
	p := newProgress(&out, ProgressOptions{}, c.now)
	p.Leg("2025-11-25 · stdio", 60)
	for i := range 60 {
		p.Begin("text")
		c.at = c.at.Add(100 * time.Millisecond)
		p.Done("2025-11-25 · stdio", "text", []Verdict{Passed, Passed, Skipped}[i%3])
	}
	// A leg without rules is done with its last check; one with rules when they are judged.
	p.End("2025-11-25 · stdio", Counts{Passed: 40, Skipped: 20})
	p.Leg("2025-11-25 · http", 3)
	p.Done("2025-11-25 · http", "text", Failed)
	p.Done("2025-11-25 · http", "text", Failed)
	p.End("2025-11-25 · http", Counts{Failed: 1, Skipped: 2})
	p.Close()
	want := "2025-11-25 · stdio: 60 checks and rules\n" +
		"2025-11-25 · stdio: 50 of 60, 34 passed, 16 skipped\n" +
		"2025-11-25 · stdio: done in 6.0 s, 40 passed, 20 skipped\n" +
		"2025-11-25 · http: 3 checks and rules\n" +
		"2025-11-25 · http: done in 0.0 s, 1 failed, 2 skipped\n"
	if got := out.String(); got != want {
		t.Errorf("shows\n%s\nwanted\n%s", got, want)
	}
}

func TestProgressQuiet(t *testing.T) {
	t.Parallel()
	for _, live := range []bool{false, true} {
		var out bytes.Buffer
		p := NewProgress(&out, ProgressOptions{Live: live, Quiet: true})
		p.Leg("leg", 1)
		p.Done("leg", "text", Failed)
		p.redraw()
		p.Close()
		if out.Len() > 0 {
			t.Errorf("shows %q", out.String())
		}
	}
}

func TestProgressIsSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	p := NewProgress(&out, ProgressOptions{Live: true, Color: false})
	var workers sync.WaitGroup
	for worker := range 8 {
		workers.Go(func() {
			leg := fmt.Sprint("leg ", worker%2)
			p.Leg(leg, 400)
			for i := range 100 {
				text := fmt.Sprint(worker, " ", i)
				p.Begin(text)
				p.redraw()
				p.Done(leg, text, Passed)
			}
			_ = p.Print(func(w io.Writer) error { _, err := fmt.Fprintln(w, "worker", worker); return err })
		})
	}
	workers.Wait()
	p.Close()
	shown := screen(t, out.String())
	if strings.Count(shown, "worker ") != 8 || !strings.HasSuffix(shown, "\n") || strings.Contains(shown, "━") {
		t.Errorf("left behind:\n%s", shown)
	}
	if len(p.running) != 0 {
		t.Errorf("still under way: %v", p.running)
	}
}
