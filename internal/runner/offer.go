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
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/survey"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// Offer is what a server offers at one revision.
type Offer struct {
	check.Cell
	Speaks []string // revisions, oldest first: of a recording, those that were seen
	Survey *survey.Survey
}

// OfferOf meets a server, and reads what it declares and lists at the newest of the revisions
// that the options choose. It calls no tool. The error is a *contact.TargetError when the server
// could not be started, reached or spoken to at such a revision.
func OfferOf(ctx context.Context, options Options) (*Offer, error) {
	if err := options.defaults(); err != nil {
		return nil, err
	}
	var found *Offer
	err := withinDeadline(ctx, options, func(ctx context.Context) (err error) {
		found, err = newRun(options, time.Now()).offer(ctx)
		return err
	})
	return found, err
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

func (r *run) offer(ctx context.Context) (*Offer, error) {
	r.budget = transcript.NewMemoryBudget(budgetAlone)
	r.plan = workerPlan{Workers: 1}
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
		return &Offer{planned.Cell, slices.Compact(speaks), planned.Survey}, nil
	}
	return nil, &contact.TargetError{Reason: reason, Unspoken: unspoken}
}

// Offer reads what the recorded server declared and listed at the newest revision at which it
// was recorded: of each list what came last. What was not listed, or not to its end, is Failed.
func (r *Recordings) Offer() (*Offer, error) {
	if !slices.Contains(r.Roles, protocol.ServerRole) {
		return nil, &RecordingError{
			"these transcripts are of a client: they have nothing that the server under test offers",
		}
	}
	var found *Offer
	for _, one := range r.sittings {
		header, events, err := one.read()
		if err != nil {
			return nil, err
		}
		header.Role = protocol.ServerRole
		conversation := recall(header, events, one[0].path)
		if header.Unjudged || conversation.ServerCapabilities == nil ||
			!slices.Contains(protocol.Released(), conversation.Revision) {
			continue
		}
		if found == nil {
			found = &Offer{}
		}
		found.Speaks = append(found.Speaks, conversation.Revision)
		if found.Survey == nil || conversation.Revision > found.Revision {
			found.Cell = conversation.Cell
			found.Survey = &survey.Survey{Revision: conversation.Revision, Failed: map[string]string{}}
		}
		if conversation.Revision == found.Revision {
			found.hear(conversation)
		}
	}
	if found == nil {
		return nil, &RecordingError{
			"none of these transcripts shows what a server offers: record one from its first message on",
		}
	}
	for _, list := range found.Survey.Listed() {
		_, known := found.Survey.Failed[list.Method]
		switch {
		case !found.Survey.Declares(list.Capability):
			delete(found.Survey.Failed, list.Method)
		case known && found.Survey.Failed[list.Method] == "":
			delete(found.Survey.Failed, list.Method) // it was recorded to its end
		case !known:
			found.Survey.Failed[list.Method] = "it was not recorded"
		}
	}
	slices.Sort(found.Speaks)
	found.Speaks = slices.Compact(found.Speaks)
	return found, nil
}

// hear adds what a recorded connection shows.
func (o *Offer) hear(conversation *rules.Conversation) {
	heard := o.Survey
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
				*list.Into, heard.Failed[list.Method] = items, "it was not recorded to its end"
			}
		}
	}
}
