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
	longWait    = 3 * time.Second        // after which a check is said to take its time
	leastDone   = 10                     // checks from which the time of the others is estimated
	leastSpent  = 2 * time.Second        // so does the time that these took
	barWidth    = 10
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
// that is redrawn, elsewhere as one line for each cell. It is safe for
// concurrent use. Errors of its writer are ignored: a closed terminal does not
// fail a run.
type Progress struct {
	w       io.Writer
	options ProgressOptions
	now     func() time.Time
	stop    chan struct{}
	stopped sync.WaitGroup

	mu      sync.Mutex
	prefix  string // of each line
	started time.Time
	closed  bool
	cells   []*cellProgress
	phase   string         // what is done while no check is under way
	checks  time.Time      // when the first cell was announced
	running []runningCheck // oldest first
	drawn   string         // what stands on the line now
}

type runningCheck struct {
	text  string
	since time.Time
}

// Plan is what a cell has to do.
type Plan struct {
	Checks int // each of which is to begin and to be done
	Rules  int // that are judged when all checks are done
	Told   int // of both, those that the report has: other checks are there to provoke
}

type cellProgress struct {
	name      string
	plan      Plan
	counts    Counts
	announced bool
	ended     bool
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

// Prefix puts a text before each line: which of several runs it is.
func (p *Progress) Prefix(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.prefix = text + "  "
}

// Phase says what is done while no check is under way: "connecting to the server".
func (p *Progress) Phase(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.phase = text
	p.draw()
}

// Cell announces a cell by its name (see [Cell.Name]) and what it has to do. Said again, it
// corrects that.
func (p *Progress) Cell(name string, plan Plan) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.checks.IsZero() {
		p.checks = p.now()
	}
	cell := p.cell(name)
	cell.plan = plan
	if cell.announced {
		return
	}
	cell.announced = true
	counted := checksAndRules(plan.Told)
	if p.options.Noun != "" {
		counted = plural(plan.Told, p.options.Noun)
	}
	p.log("%s: %s", oneLine(name), counted)
}

// cell finds or makes the cell of a name.
func (p *Progress) cell(name string) *cellProgress {
	for _, cell := range p.cells {
		if cell.name == name {
			return cell
		}
	}
	cell := &cellProgress{name: name}
	p.cells = append(p.cells, cell)
	return cell
}

// Begin tells that a check, named by its text, is under way.
func (p *Progress) Begin(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running = append(p.running, runningCheck{text, p.now()})
}

// Done counts a result of a cell, whether or not it was said to begin.
func (p *Progress) Done(name, text string, v Verdict) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if at := slices.IndexFunc(p.running, func(one runningCheck) bool { return one.text == text }); at >= 0 {
		p.running = slices.Delete(p.running, at, at+1)
	}
	p.cell(name).counts.Add(v)
}

// End tells what came of a cell when all is judged: rules, which look at everything
// that was done, and what several results tell of one defect.
func (p *Progress) End(name string, counts Counts) {
	p.mu.Lock()
	defer p.mu.Unlock()
	cell := p.cell(name)
	cell.ended, cell.counts = true, counts
	p.draw()
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
	_, _ = fmt.Fprintf(p.w, p.prefix+format+"\n", values...)
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
// for how long, how much longer, and what is waited for.
func (p *Progress) line() string {
	width := defaultWidth
	if p.options.Width != nil {
		width = cmp.Or(max(0, p.options.Width()), defaultWidth)
	}
	var counts Counts
	total := 0
	for _, cell := range p.cells {
		planned := cell.plan.Checks + cell.plan.Rules
		if cell.ended {
			planned = 0 // as many as there are
		}
		total += max(planned, cell.counts.Total())
		counts = counts.Plus(cell.counts)
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
	put(dim, p.prefix)
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
	put(dim, "  "+inSeconds(p.now().Sub(p.started))+p.left())
	put(plainStyle, "  "+p.waitsFor())
	return s.String()
}

// left estimates how much longer the checks take, by those that are done; "" while too
// little is known, or all depends on one that takes longer than others.
func (p *Progress) left() string {
	done, planned := 0, 0
	for _, cell := range p.cells {
		if !cell.ended {
			done += cell.counts.Total()
			planned += cell.plan.Checks
		}
	}
	spent := p.now().Sub(p.checks)
	if done < leastDone || done >= planned || spent < leastSpent {
		return ""
	}
	left := spent * time.Duration(planned-done) / time.Duration(done)
	if len(p.running) > 0 && p.now().Sub(p.running[0].since) > left {
		return ""
	}
	return ", ~" + inSeconds(left) + " left"
}

// waitsFor is the check that is under way for the longest time, or else the phase.
func (p *Progress) waitsFor() string {
	if len(p.running) == 0 {
		return oneLine(p.phase)
	}
	oldest := p.running[0]
	text := oneLine(oldest.text)
	if waited := p.now().Sub(oldest.since); waited >= longWait {
		text = "for " + inSeconds(waited) + ": " + text
	}
	return text
}

// inSeconds writes a length of time that goes on: "59 s", "2 min 5 s".
func inSeconds(d time.Duration) string {
	seconds := int(d.Seconds())
	if seconds < 60 {
		return fmt.Sprintf("%d s", seconds)
	}
	return fmt.Sprintf("%d min %d s", seconds/60, seconds%60)
}
