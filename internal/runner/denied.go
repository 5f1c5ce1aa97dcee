package runner

import (
	"cmp"
	"errors"
	"slices"

	"github.com/mcpconform/mcpconform/internal/conform"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/reports"
)

// denial is what shows that a target does not speak a revision that the user named, or
// that it means to speak.
type denial struct {
	id            string // of the requirement that is broken
	keeps         bool   // or is not: another revision was asked for, or answered with, as it may be
	text          string // what a good target does; "" for that it speaks the revision
	wanted, found string
	events        []transcript.Event // of the opening
	output        string             // the end of the standard error
}

// supporting are the requirements that a target breaks which is said to support a
// revision and does not speak it: by role, and whether the revision has a handshake.
var supporting = map[string]map[bool]string{
	protocol.ServerRole: {true: "lifecycle.version.echoed", false: "discover.implemented"},
	protocol.ClientRole: {true: "lifecycle.initialize.version", false: "base.fields.sent"},
}

// revisionAsked is the id of a result by which no requirement is broken: it is the user who
// named a revision that the target does not speak.
const revisionAsked = "revision"

// notSpoken is what the note of a revision begins with that a target does not speak.
const notSpoken = "not spoken: "

// denied is the denial of a visit, with what was found; nil where the answer may only be late.
func (v *visit) denied(reason string, pace conform.Pace) *denial {
	if late, is := errors.AsType[*scripted.LateError](v.err); is &&
		!pace.Shows(conform.Late{For: conform.Starting, Waited: late.Waited, Behind: late.Behind}) {
		return nil
	}
	found := &denial{
		id:     supporting[protocol.ServerRole][protocol.Has(v.asked, protocol.Handshake)],
		wanted: opening(v.asked) + " answered with " + v.asked, found: reason,
		keeps: v.err == nil && protocol.Has(v.asked, protocol.Handshake) && v.broken == "" &&
			slices.Contains(protocol.Released(), v.handshake.Revision),
	}
	if v.connection != nil {
		found.events = cut(asFarAsAnswered(v.connection.Log().Events()))
	}
	return found
}

// denied is the denial of a client, with what was found.
func (m *meeting) denied(reason string) *denial {
	found := &denial{
		id:     supporting[protocol.ClientRole][protocol.Has(m.revision, protocol.Handshake)],
		found:  reason,
		events: m.opening,
		keeps:  m.another,
	}
	switch {
	case m.granted:
		found.id, found.wanted = "lifecycle.initialized.sent", "notifications/initialized after the answer to initialize"
	case protocol.Has(m.revision, protocol.PerRequestMeta):
		found.wanted = "requests that name " + m.revision + " in their _meta"
	default:
		found.wanted = "initialize with the protocolVersion " + m.revision + ", and the session that follows"
	}
	return found
}

// asFarAsAnswered leaves out what came after the first message of a server.
func asFarAsAnswered(events []transcript.Event) []transcript.Event {
	first := slices.IndexFunc(events, func(event transcript.Event) bool {
		return event.From == protocol.Server && event.IsContent()
	})
	if first < 0 {
		return events
	}
	return events[:first+1]
}

// deny adds the result of a revision that the target does not speak, unless others say
// what fails. It stands whatever the filter.
func (c *collector) deny(state *legState) {
	failed := slices.ContainsFunc(
		state.report.Results,
		func(result reports.Result) bool { return result.Verdict == reports.Failed },
	)
	if state.denied != nil && !failed && c.catalogue != nil {
		state.report.Results = append(state.report.Results, c.denied(state))
	}
}

// denied makes that result.
func (c *collector) denied(state *legState) reports.Result {
	revision, role := state.report.Revision, state.report.Role
	ids := []string{state.denied.id}
	name, events, hint := ids[0], state.denied.events, ""
	if state.denied.keeps {
		name, ids = revisionAsked, nil
	}
	if state.denied.text == "" && c.options.Revisions.named() {
		hint = "a " + role + " that does not support " + revision + " can be checked with other revisions in --revision"
	}
	return reports.Result{
		ID:           name,
		Kind:         reports.KindCheck,
		Group:        []string{"First contact"},
		Text:         cmp.Or(state.denied.text, "speaks "+revision),
		Requirements: c.requirements(state, ids),
		Page:         c.page(state, state.denied.id),
		Verdict:      reports.Failed,
		Failures: []reports.Failure{{
			Wanted: c.redact(state.denied.wanted), Found: c.redact(state.denied.found),
			Hint: hint,
		}},
		Exchange: c.steps(events, lastOf(events, role)),
		Output:   c.redact(state.denied.output),
		Rerun:    c.rerun(state, state.denied.id),
	}
}

// cut leaves of events what a report shows.
func cut(events []transcript.Event) []transcript.Event {
	return shorten([][]transcript.Event{events}, conform.Outcome{})[0]
}

// lastOf returns the position of the last message or head of a party; -1 for none.
func lastOf(events []transcript.Event, party string) int {
	for position, event := range slices.Backward(events) {
		if string(event.From) == party && (event.IsContent() || event.Kind == transcript.Head) {
			return position
		}
	}
	return -1
}
