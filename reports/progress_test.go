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
	p := newProgress(&out, ProgressOptions{Live: true, Width: func() int { return 96 }}, c.now)
	p.Cell("2025-11-25 · http", Plan{Checks: 100, Rules: 20, Told: 120})
	p.Begin("answers ping with an \x1b[2J empty\nresult, however long the sentence that says so may be")
	for i := range 60 {
		p.Done("2025-11-25 · http", strconv.Itoa(i), []Verdict{Passed, Passed, Failed}[i%3])
	}
	c.at = c.at.Add(3900 * time.Millisecond)
	p.redraw()
	if got, want := screen(t, out.String()), `━━━━━─────  60/120  20 failed  3 s  for 3 s: answers ping with an \x1b[2J empty result, howeve…`; got != want {
		t.Errorf("shows\n%s\nwanted\n%s", got, want)
	}
	if width := columns.StringWidth(screen(t, out.String())); width > 95 {
		t.Errorf("%d columns of 96", width)
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

// From its first moment the line says what is done; then how much is to do, how long that
// will take, and what is waited for.
func TestProgressTellsWhatIsDone(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	c := &clock{}
	p := newProgress(&out, ProgressOptions{Live: true, Width: func() int { return 100 }}, c.now)
	shows := func(want string) {
		t.Helper()
		p.redraw()
		if got := screen(t, out.String()); got != want {
			t.Errorf("shows\n%s\nwanted\n%s", got, want)
		}
	}
	p.Phase("connecting to the server")
	if got, want := screen(t, out.String()), "  0 s  connecting to the server"; got != want {
		t.Errorf("shows %q before it is drawn again, wanted %q", got, want)
	}
	c.at = c.at.Add(4 * time.Second)
	p.Cell("2025-11-25 · http", Plan{Checks: 80, Rules: 20, Told: 100})
	p.Phase("starting workers")
	shows("──────────   0/100  4 s  starting workers")
	for i := range 9 {
		p.Done("2025-11-25 · http", strconv.Itoa(i), Passed)
	}
	p.Begin("answers ping")
	c.at = c.at.Add(2 * time.Second)
	shows("──────────   9/100  6 s  answers ping") // too few to say how long
	p.Done("2025-11-25 · http", "another", Warned)
	shows("━─────────  10/100  1 warned  6 s, ~14 s left  answers ping")
	c.at = c.at.Add(73 * time.Second)
	shows("━─────────  10/100  1 warned  1 min 19 s, ~8 min 45 s left  for 1 min 15 s: answers ping")
	for i := range 69 {
		p.Done("2025-11-25 · http", strconv.Itoa(i), Passed)
	}
	shows("━━━━━━━───  79/100  1 warned  1 min 19 s  for 1 min 15 s: answers ping") // it may take as long as it likes
	p.Done("2025-11-25 · http", "answers ping", Passed)
	p.Phase("judging by rules")
	shows("━━━━━━━━──  80/100  1 warned  1 min 19 s  judging by rules")
	p.End("2025-11-25 · http", Counts{Passed: 94, Failed: 1})
	shows("━━━━━━━━━━ 95/95  1 failed  1 min 19 s  judging by rules")
	p.Close()
}

// A log has one line for each cell.
func TestProgressPlain(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	c := &clock{}
	p := newProgress(&out, ProgressOptions{}, c.now)
	p.Phase("connecting to the server")
	p.Cell("2025-11-25 · stdio", Plan{Checks: 60, Told: 60})
	p.Cell("2025-11-25 · stdio", Plan{Checks: 61, Told: 61})
	for i := range 60 {
		p.Begin("text")
		c.at = c.at.Add(100 * time.Millisecond)
		p.Done("2025-11-25 · stdio", "text", []Verdict{Passed, Passed, Skipped}[i%3])
	}
	p.End("2025-11-25 · stdio", Counts{Passed: 40, Skipped: 20})
	p.Prefix("run 2 of 2")
	p.Cell("2025-11-25 · http", Plan{Checks: 300, Rules: 40, Told: 3})
	p.End("2025-11-25 · http", Counts{Failed: 1, Skipped: 2})
	p.Close()
	want := "2025-11-25 · stdio: 60 checks and rules\n" +
		"run 2 of 2  2025-11-25 · http: 3 checks and rules\n"
	if got := out.String(); got != want {
		t.Errorf("shows\n%s\nwanted\n%s", got, want)
	}
}

func TestProgressQuiet(t *testing.T) {
	t.Parallel()
	for _, live := range []bool{false, true} {
		var out bytes.Buffer
		p := NewProgress(&out, ProgressOptions{Live: live, Quiet: true})
		p.Cell("cell", Plan{Checks: 1, Told: 1})
		p.Done("cell", "text", Failed)
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
			cell := fmt.Sprint("cell ", worker%2)
			p.Cell(cell, Plan{Checks: 400, Told: 400})
			for i := range 100 {
				text := fmt.Sprint(worker, " ", i)
				p.Begin(text)
				p.redraw()
				p.Done(cell, text, Passed)
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
