package reports

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	redrawEvery = 100 * time.Millisecond // seldom enough for a slow remote terminal, often enough to look alive
	plainEvery  = 50                     // checks between two lines of a log
	barWidth    = 20
	eraseLine   = "\r\x1b[2K"
)

// ProgressOptions choose how progress is shown.
type ProgressOptions struct {
	Live  bool       // redraw one line in place: for a terminal. Otherwise plain lines, for a log
	Quiet bool       // show nothing
	Color bool       // use the colours of ANSI terminals
	Width func() int // columns of the terminal at this moment; nil means 80
	Noun  string     // what is counted, one of them; checks and rules when empty
}

// Progress shows how far a run is while it goes on: on a terminal as one line
// that is redrawn, elsewhere as a few lines for each leg. It is safe for
// concurrent use. Errors of its writer are ignored: a run does not fail because
// nobody watches it.
type Progress struct {
	w       io.Writer
	options ProgressOptions
	now     func() time.Time
	stop    chan struct{}
	stopped sync.WaitGroup

	mu      sync.Mutex
	started time.Time
	closed  bool
	legs    []*legProgress
	running []string // texts of the checks under way, oldest first
	drawn   string   // what stands on the line now
}

type legProgress struct {
	name    string
	total   int
	counts  Counts
	started time.Time
	ended   bool
}

// NewProgress returns a Progress that writes to w until it is closed.
func NewProgress(w io.Writer, o ProgressOptions) *Progress {
	p := newProgress(w, o, time.Now)
	if o.Live && !o.Quiet {
		p.stopped.Go(func() {
			ticker := time.NewTicker(redrawEvery)
			defer ticker.Stop()
			for {
				select {
				case <-ticker.C:
					p.redraw()
				case <-p.stop:
					return
				}
			}
		})
	}
	return p
}

// newProgress makes a Progress that nothing redraws by itself.
func newProgress(w io.Writer, o ProgressOptions, now func() time.Time) *Progress {
	return &Progress{w: w, options: o, now: now, stop: make(chan struct{}), started: now()}
}

// Leg announces a leg by its name (see [Leg.Name]) and the number of results
// that it will have. Said again, it corrects the number.
func (p *Progress) Leg(name string, total int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	leg := p.leg(name)
	leg.total = total
	counted := checksAndRules(total)
	if p.options.Noun != "" {
		counted = plural(total, p.options.Noun)
	}
	p.log("%s: %s", oneLine(name), counted)
}

// leg finds or makes the leg of a name.
func (p *Progress) leg(name string) *legProgress {
	for _, leg := range p.legs {
		if leg.name == name {
			return leg
		}
	}
	leg := &legProgress{name: name, started: p.now()}
	p.legs = append(p.legs, leg)
	return leg
}

// Begin tells that a check, named by its text, is under way.
func (p *Progress) Begin(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running = append(p.running, text)
}

// Done counts a result of a leg, whether or not it was said to begin.
func (p *Progress) Done(name, text string, v Verdict) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if at := slices.Index(p.running, text); at >= 0 {
		p.running = slices.Delete(p.running, at, at+1)
	}
	leg := p.leg(name)
	leg.counts.Add(v)
	switch done := leg.counts.Total(); {
	case done == leg.total:
		p.end(leg)
	case done%plainEvery == 0:
		p.log("%s: %d of %d, %s", oneLine(name), done, max(done, leg.total), tally(leg.counts))
	}
}

// End tells what came of a leg when all is judged: rules, which look at everything
// that was done, and what several results tell of one defect.
func (p *Progress) End(name string, counts Counts) {
	p.mu.Lock()
	defer p.mu.Unlock()
	leg := p.leg(name)
	same := leg.counts == counts
	leg.counts, leg.total = counts, counts.Total()
	if !leg.ended || !same {
		p.end(leg)
	}
}

func (p *Progress) end(leg *legProgress) {
	leg.ended = true
	p.log("%s: done in %s, %s", oneLine(leg.name), duration(SecondsOf(p.now().Sub(leg.started))), tally(leg.counts))
}

// tally writes the counts that are not zero.
func tally(c Counts) string {
	var words []string
	for _, v := range Verdicts() {
		if n := c.Of(v); n > 0 {
			words = append(words, fmt.Sprintf("%d %s", n, v))
		}
	}
	return strings.Join(words, ", ")
}

// log writes a line where there is no line to redraw.
func (p *Progress) log(format string, values ...any) {
	if p.options.Live || p.options.Quiet || p.closed {
		return
	}
	_, _ = fmt.Fprintf(p.w, format+"\n", values...)
}

// Print clears the line, lets show write to the same place, and draws the line
// again. What show writes should end with a line feed. Its error is returned.
func (p *Progress) Print(show func(io.Writer) error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.erase()
	err := show(p.w)
	p.draw()
	return err
}

// Close clears the line and ends the redrawing. It may be called more than once.
func (p *Progress) Close() {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return
	}
	p.erase()
	p.closed = true
	close(p.stop)
	p.mu.Unlock()
	p.stopped.Wait()
}

func (p *Progress) redraw() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.draw()
}

func (p *Progress) erase() {
	if p.drawn != "" {
		_, _ = io.WriteString(p.w, eraseLine)
		p.drawn = ""
	}
}

// draw writes the line if it has changed.
func (p *Progress) draw() {
	if !p.options.Live || p.options.Quiet || p.closed {
		return
	}
	if line := p.line(); line != p.drawn {
		_, _ = io.WriteString(p.w, eraseLine+line)
		p.drawn = line
	}
}

// line is what stands on the terminal: how many of how many, what went wrong,
// for how long, and the check that is under way for the longest time.
func (p *Progress) line() string {
	width := defaultWidth
	if p.options.Width != nil {
		width = cmp.Or(max(0, p.options.Width()), defaultWidth)
	}
	var counts Counts
	total := 0
	for _, leg := range p.legs {
		total += max(leg.total, leg.counts.Total())
		counts = counts.Plus(leg.counts)
	}
	// The last column stays free: some terminals begin a new line when it is
	// written to.
	s := sheet{width: width - 1, color: p.options.Color}
	used := 0
	put := func(how style, text string) {
		text = clip(text, s.width-used)
		used += columns.StringWidth(text)
		_, _ = s.WriteString(s.paint(how, text)) // never fails
	}
	if total > 0 {
		filled := barWidth * counts.Total() / total
		put(green, strings.Repeat("━", filled))
		put(dim, strings.Repeat("─", barWidth-filled))
		put(plainStyle, fmt.Sprintf(" %*d/%d", len(strconv.Itoa(total)), counts.Total(), total))
	}
	for _, v := range []Verdict{Failed, Warned} {
		if n := counts.Of(v); n > 0 {
			put(verdictStyle(v), fmt.Sprintf("  %d %s", n, v))
		}
	}
	put(dim, fmt.Sprintf("  %d s", int(p.now().Sub(p.started).Seconds())))
	if len(p.running) > 0 {
		put(plainStyle, "  "+oneLine(p.running[0]))
	}
	return s.String()
}
