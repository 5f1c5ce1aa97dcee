package runner

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpconform/mcpconform/internal/catalogue"
	"github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/contact"
	"github.com/mcpconform/mcpconform/internal/offer"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/scope"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/internal/session"
	"github.com/mcpconform/mcpconform/internal/worker"
	"github.com/mcpconform/mcpconform/reports"
	"github.com/mcpconform/mcpconform/suites"
)

// cellFor makes the cell of a run from what came of an opening.
func cellFor(role string, to scripted.Target, one *contact.Opening) worker.Cell {
	return worker.Cell{
		Cell:    check.Cell{Role: role, Revision: one.Revision, Transport: to.Transport},
		Command: to.Command, URL: to.URL, Header: to.Header, Reply: to.Reply, Start: one.Start,
		MaxMessage: to.Limits.Message, Survey: one.Survey, Habits: one.Habits,
	}
}

// addCells adds the cells of one transport: one for each revision to report on.
func (r *run) addCells(ctx context.Context, to scripted.Target, found *contact.Found, access *offer.Access) {
	for _, one := range found.Openings {
		planned := cellFor(r.options.Role, to, one)
		planned.Access = access
		r.addCell(one, planned, r.older(one.Revision, found.Speaks))
	}
	r.closing.Go(func() { found.Close(ctx) })
}

// addCell adds a cell, which is checked when the target speaks its revision, or means to, with
// what is to be said of it first.
func (r *run) addCell(one *contact.Opening, planned worker.Cell, note string) {
	state := &cellState{planned: -1, findings: map[string]*found{}, denied: one.Denial}
	state.report = reports.Cell{
		Role: planned.Role, Revision: planned.Revision, Transport: planned.Transport, AlsoSpeaks: one.AlsoSpeaks,
	}
	r.cells = append(r.cells, state)
	if !one.Checkable() {
		state.report.Note = notSpoken + one.Unspoken
		return
	}
	state.report.Spoken = true
	if note != "" {
		state.report.Notices = append(state.report.Notices, note)
	}
	if one.Broken != "" {
		state.report.Notices = append(state.report.Notices, notice(one.Revision, one.Broken))
	}
	if one.Quit == nil && !one.Astray {
		state.report.Notices = append(state.report.Notices, one.Survey.Notices()...)
	}
	state.report.Target = identity(one.Info)
	state.report.Capabilities = rawJSON(one.Capabilities)
	state.planned, state.unresponsive, state.astray = len(r.plan.Cells), one.Unresponsive, one.Astray
	if one.Quit != nil {
		state.quit(one.Quit, r.redact)
	}
	r.plan.Cells = append(r.plan.Cells, planned)
	if one.Connection != nil {
		r.opened = append(r.opened, opened{cell: state.planned, connection: one.Connection})
	}
}

// notSpoken is what the note of a cell begins with whose revision the target does not speak.
const notSpoken = "not spoken: "

// addCrash adds the cell of a server that crashed at the first request.
func (r *run) addCrash(transport string, crash *contact.CrashError) {
	state := &cellState{planned: -1, findings: map[string]*found{}, denied: crash.Denial()}
	state.report = reports.Cell{
		Role: protocol.ServerRole, Revision: crash.Revision, Transport: transport, Note: notSpoken + crash.Error(),
		Ended: &reports.Ended{
			Reason: crash.Error(), After: crash.Method, Exit: crash.Exit, Output: r.redact(crash.Stderr),
			Hint: "find out how the server handles " + crash.Method + ", which may be the first request of any client",
		},
	}
	if requirements, err := r.load(); err == nil && applies(requirements, session.AnsweredRequirement, state.report) {
		state.denied.ID = session.AnsweredRequirement
	}
	r.cells = append(r.cells, state)
}

func applies(requirements *catalogue.Catalogue, id string, cell reports.Cell) bool {
	requirement, known := requirements.Get(id)
	return known && requirement.Applies(cell.Revision, cell.Transport, cell.Role)
}

// flawIn says what a conversation breaks, as far as an event, of the rules that fail a
// run.
func (r *run) flawIn(conversation *rules.Conversation, last int) string {
	requirements, err := r.load()
	if err != nil {
		return "" // which the plan is told
	}
	there := &scope.Scope{Cell: conversation.Cell, Catalogue: requirements, Rules: suites.Rules()}
	applicable, _ := there.ApplicableRules()
	required := map[string][]string{}
	for _, rule := range applicable {
		required[rule.ID()] = there.Applicable(rule.Verifies.IDs)
	}
	for _, finding := range rules.Apply(applicable, conversation) {
		failing := slices.ContainsFunc(required[finding.Rule], func(id string) bool {
			requirement, known := requirements.Get(id)
			return known && requirement.Level(conversation.Revision).Failing()
		})
		for _, breach := range finding.Breaks {
			if failing && breach.Judged <= last {
				return fmt.Sprintf("wanted %s, found %s", breach.Mismatch.Wanted, breach.Mismatch.Found)
			}
		}
	}
	return ""
}

// notice tells at the top of a report that an opening is broken.
func notice(revision, broken string) string {
	return "the opening at " + revision + " fails; the rest is checked as far as possible: " + strings.TrimSpace(
		broken,
	)
}
