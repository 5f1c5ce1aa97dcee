package runner

import (
	"fmt"
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
		c.failed(err)
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

// failed takes an error of the harness.
func (c *collector) failed(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.abandoned {
		c.report.Errors = append(c.report.Errors, err.Error())
	}
}

// exited takes how the process ended that a connection had; nil where it had none.
func (c *collector) exited(planned int, one *process) {
	if one == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.state(planned).exits.add(*one)
}

// checked takes what a check found. What takes its time is not done under the lock: the
// end of a run needs the lock.
func (c *collector) checked(found checked) {
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
func (c *collector) settled(found *checked) *cellState {
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
func (c *collector) take(state *cellState, found checked, result reports.Result) bool {
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
