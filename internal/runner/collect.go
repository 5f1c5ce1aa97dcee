package runner

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/mcpconform/mcpconform/internal/catalogue"
	"github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/contact"
	"github.com/mcpconform/mcpconform/internal/filter"
	"github.com/mcpconform/mcpconform/internal/plan"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/scope"
	"github.com/mcpconform/mcpconform/internal/session"
	"github.com/mcpconform/mcpconform/internal/worker"
	"github.com/mcpconform/mcpconform/reports"
)

// collector makes a report of what checks and rules find: in a run, in recordings, or in
// an examination.
type collector struct {
	options   Options
	chosen    *filter.Filter // nil for everything
	catalogue *catalogue.Catalogue
	declared  []plan.Declared // checks that are planned; none where only rules judge

	mu        sync.Mutex   // of what is found
	abandoned bool         // nothing more is taken
	cells     []*cellState // one for each cell of the report
	report    *reports.Run
}

// cellState collects what is found on one cell.
type cellState struct {
	report         reports.Cell
	planned        int // index in the plan; -1 when the revision is not spoken
	environment    *session.Environment
	rules          []rules.Rule      // that apply to this cell
	otherTransport map[string]string // why others do not apply to the transport
	lacking        map[string]string // why others do not apply to a recording, by rule
	findings       map[string]*found // by rule
	total          int               // checks that are planned
	all            int               // checks and rules, regardless of the filter
	silent         int               // checks in a row that the target left unanswered
	unresponsive   string            // why it is no use to ask it anything
	gaveUp         string            // why it was given up, if it was; unresponsive says so, too
	astray         bool              // that is since another client gets the answers
	underWay       []string          // requests that were, when the target went away
	denied         *contact.Denial   // that it speaks the revision; nil for none
	explored       explored
	exits          exits
	ofDraft        int        // transcripts of a run by a draft that are judged without
	pace           scope.Pace // of the target, as far as it is known
}

func (c *collector) state(planned int) *cellState {
	at := slices.IndexFunc(c.cells, func(state *cellState) bool { return state.planned == planned })
	return c.cells[at]
}

// stateOf is the cell in which a connection counts, that of the revision which it has
// negotiated; nil when the run has none.
func (c *collector) stateOf(cell check.Cell) *cellState {
	at := slices.IndexFunc(c.cells, func(state *cellState) bool {
		return state.planned >= 0 && state.report.Role == cell.Role && state.report.Revision == cell.Revision &&
			state.report.Transport == cell.Transport
	})
	if at < 0 {
		return nil
	}
	return c.cells[at]
}

// closed takes what the rules found in a connection, and keeps its transcript. That
// takes its time and is not done under the lock: the end of a run needs the lock.
func (c *collector) closed(planned int, connection scope.Connection) {
	state := c.found(planned, connection)
	if state == nil || c.options.Transcripts == "" {
		return
	}
	if err := c.keep(state, connection); err != nil {
		c.Failed(err)
	}
}

// found takes what the rules found in a connection, and returns its cell; nil when nothing is
// taken any more.
func (c *collector) found(planned int, connection scope.Connection) *cellState {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.abandoned {
		return nil
	}
	state := c.state(planned)
	if state.pace == nil {
		state.pace = scope.Pace{}
	}
	state.pace.Add(connection.Pace)
	if counted := c.stateOf(connection.Cell); counted != nil {
		for _, finding := range connection.Findings {
			one := counted.findings[finding.Rule]
			if one == nil {
				one = &found{}
				counted.findings[finding.Rule] = one
			}
			one.add(finding)
		}
	}
	return state
}

// Begin shows that a check is under way, by its sentence.
func (c *collector) Begin(sentence string) {
	if c.options.Progress != nil {
		c.options.Progress.Begin(sentence)
	}
}

// Failed takes an error of the harness.
func (c *collector) Failed(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.abandoned {
		c.report.Errors = append(c.report.Errors, err.Error())
	}
}

// Connection takes one of a worker, which is closed and judged, and how the process ended that it
// had; nil where it had none.
func (c *collector) Connection(planned int, connection scope.Connection, ended *worker.Exit) {
	if ended != nil {
		c.mu.Lock()
		c.state(planned).exits.add(*ended)
		c.mu.Unlock()
	}
	c.closed(planned, connection)
}

// Pace is how long the target has taken on a cell.
func (c *collector) Pace(planned int) scope.Pace {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.state(planned).pace)
}

// Failing names a check of a cell that has failed for a requirement; "" for none.
func (c *collector) Failing(planned int, requirement string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	results := c.state(planned).report.Results
	at := slices.IndexFunc(results, func(one reports.Result) bool {
		return one.Verdict == reports.Failed && one.ID == requirement
	})
	if at < 0 {
		return ""
	}
	return results[at].Text
}

// Notice puts a line at the top of what is said of each cell.
func (c *collector) Notice(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, state := range c.cells {
		state.report.Notices = append(state.report.Notices, text)
	}
}

// Checked takes what a check found. What takes its time is not done under the lock: the
// end of a run needs the lock.
func (c *collector) Checked(found worker.Checked) {
	state := c.settled(&found)
	if state == nil {
		return
	}
	result := c.result(state, found)
	if !c.take(state, found, result) {
		return
	}
	if c.options.Progress != nil {
		c.options.Progress.Done(state.report.Name(), result.Text, result.Verdict)
	}
	if c.options.Found != nil {
		c.options.Found(&state.report, &result)
	}
}

// settled says what is left of what a check found in the light of all others, and returns its
// cell; nil when nothing is taken any more.
func (c *collector) settled(found *worker.Checked) *cellState {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.abandoned {
		return nil
	}
	state := c.state(found.Cell)
	switch outcome := &found.Outcome; {
	case outcome.Quit != nil:
		*outcome = check.Outcome{Ending: check.Inconclusion, Reason: state.unresponsive}
	case outcome.Gone != "":
		*outcome = check.Outcome{Ending: check.Inconclusion, Reason: state.unresponsive, NoReply: outcome.NoReply}
	}
	c.unanswered(state, *found)
	return state
}

// take adds the result of a check, and reports whether it did.
func (c *collector) take(state *cellState, found worker.Checked, result reports.Result) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.abandoned {
		return false
	}
	if found.Panic != "" {
		c.report.Errors = append(c.report.Errors, fmt.Sprintf("%s: %s", found.Text, found.Panic))
	}
	state.listen(found)
	state.report.Results = append(state.report.Results, result)
	state.report.Duration += result.Duration
	return true
}
