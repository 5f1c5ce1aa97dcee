package runner

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/contact"
	"github.com/mcpconform/mcpconform/internal/mcp"
	"github.com/mcpconform/mcpconform/internal/memory"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/internal/survey"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/internal/worker"
)

// Declared is what a server declares and lists at one revision.
type Declared struct {
	check.Cell
	Speaks []string // revisions, oldest first: of a recording, those that were seen
	Survey *survey.Survey
}

// DeclaredBy meets a server, and reads what it declares and lists at the newest of the revisions
// that the options choose. It calls no tool. The error is a *contact.TargetError when the server
// could not be started, reached or spoken to at such a revision.
func DeclaredBy(ctx context.Context, options Options) (*Declared, error) {
	if err := options.defaults(); err != nil {
		return nil, err
	}
	var found *Declared
	err := withinDeadline(ctx, options, func(ctx context.Context) (err error) {
		found, err = newRun(options, time.Now()).declares(ctx)
		return err
	})
	return found, err
}

// Reach says how a server is reached over a transport, with the patience of a run.
func Reach(options Options, over string) (scripted.Target, error) {
	if err := options.defaults(); err != nil {
		return scripted.Target{}, err
	}
	to, err := newRun(options, time.Now()).reach(context.Background(), over)
	to.Work = repliesToStart * to.Reply
	return to, err
}

// withinDeadline does some work that ends with the deadline of the options.
func withinDeadline(ctx context.Context, options Options, work func(context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(
		ctx,
		options.Deadline,
		fmt.Errorf("deadline of %s reached", options.Deadline),
	)
	defer cancel()
	ended, err := inTime(ctx, endTimeout, func() error { return work(ctx) })
	if !ended || ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

func (r *run) declares(ctx context.Context) (*Declared, error) {
	r.budget = transcript.NewMemoryBudget(memory.BudgetAlone)
	r.plan = worker.Plan{Workers: 1}
	err := r.meet(ctx)
	for _, one := range r.opened {
		r.closing.Go(func() { one.connection.Close(ctx) })
	}
	defer r.closing.Wait()
	if err != nil {
		return nil, err
	}
	reason, unspoken := "no revision was found that could be surveyed", len(r.cells) > 0
	for _, state := range slices.Backward(r.cells) {
		if state.planned < 0 || !state.report.Spoken {
			reason = cmp.Or(state.report.Note, reason)
			unspoken = unspoken && state.report.Ended == nil
			continue
		}
		unspoken = false
		planned := r.plan.Cells[state.planned]
		if refused := cmp.Or(planned.Survey.Locked, planned.Survey.Closed, state.unresponsive); refused != "" {
			reason = refused
			continue
		}
		speaks := append([]string{planned.Revision}, state.report.AlsoSpeaks...)
		slices.Sort(speaks)
		return &Declared{planned.Cell, slices.Compact(speaks), planned.Survey}, nil
	}
	return nil, &contact.TargetError{Reason: reason, Unspoken: unspoken}
}

// Recorded is a connection that was recorded.
type Recorded struct {
	Name   string
	Header transcript.Header
	Events []transcript.Event
}

// Declared reads what the recorded server declared and listed at the newest revision at which it
// was recorded: of each list what came last. What was not listed, or not to its end, is Failed.
func (r *Recordings) Declared() (*Declared, error) {
	if !slices.Contains(r.Roles, protocol.ServerRole) {
		return nil, &RecordingError{
			"these transcripts are of a client: they have nothing that the server under test offers",
		}
	}
	found := &Declared{}
	err := r.Each(func(one Recorded) error {
		found.read(one)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return found.whole()
}

// DeclaredIn does so for connections that are in memory.
func DeclaredIn(connections []Recorded) (*Declared, error) {
	found := &Declared{}
	for _, one := range connections {
		found.read(one)
	}
	return found.whole()
}

// read adds what a recorded connection shows, if it is of the newest revision so far.
func (d *Declared) read(one Recorded) {
	one.Header.Role = protocol.ServerRole
	conversation := recall(one.Header, one.Events, one.Name)
	if one.Header.Unjudged || conversation.ServerCapabilities == nil ||
		!slices.Contains(protocol.Released(), conversation.Revision) {
		return
	}
	d.Speaks = append(d.Speaks, conversation.Revision)
	if d.Survey == nil || conversation.Revision > d.Revision {
		d.Cell = conversation.Cell
		d.Survey = &survey.Survey{Revision: conversation.Revision, Failed: map[string]string{}}
	}
	if conversation.Revision == d.Revision {
		d.hear(conversation)
	}
}

// whole is all of it when all was read.
func (d *Declared) whole() (*Declared, error) {
	if d.Survey == nil {
		return nil, &RecordingError{
			"none of these transcripts shows what a server offers: record one from its first message on",
		}
	}
	for _, list := range d.Survey.Listed() {
		_, known := d.Survey.Failed[list.Method]
		switch {
		case !d.Survey.Declares(list.Capability):
			delete(d.Survey.Failed, list.Method)
		case known && d.Survey.Failed[list.Method] == "":
			delete(d.Survey.Failed, list.Method) // it was recorded to its end
		case !known:
			d.Survey.Failed[list.Method] = list.Method + " failed: it was not recorded"
		}
	}
	slices.Sort(d.Speaks)
	d.Speaks = slices.Compact(d.Speaks)
	return d, nil
}

// hear adds what a recorded connection shows.
func (d *Declared) hear(conversation *rules.Conversation) {
	heard := d.Survey
	heard.Capabilities = conversation.ServerCapabilities
	if info := introduction(conversation); info != nil {
		heard.ServerInfo = info
	}
	for _, list := range heard.Listed() {
		var items []map[string]any
		begun := false
		for _, answer := range conversation.Results(list.Method) {
			if _, goesOn := answer.Request.ParamsObject()["cursor"]; !goesOn {
				items, begun = nil, true
			}
			items = append(items, mcp.Objects(answer.ResultObject(), list.Member)...)
			reason, known := heard.Failed[list.Method]
			switch _, more := answer.ResultObject()["nextCursor"].(string); {
			case begun && !more:
				*list.Into, heard.Failed[list.Method], begun = items, "", false
			case !known || reason != "":
				*list.Into, heard.Failed[list.Method] = items, list.Method+" failed: it was not recorded to its end"
			}
		}
	}
}
