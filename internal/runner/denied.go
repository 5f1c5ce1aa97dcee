package runner

import (
	"slices"
	"strings"

	"github.com/mcpconform/mcpconform/internal/conform"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/reports"
)

// denial is what shows that a target does not speak a revision that the user named.
type denial struct {
	wanted, found string
	events        []transcript.Event // of the opening
}

// supporting are the requirements that a target breaks which is said to support a
// revision and does not speak it: by role, and whether the revision is stateless.
var supporting = map[string]map[bool]string{
	conform.ServerRole: {false: "lifecycle.version.echoed", true: "discover.implemented"},
	conform.ClientRole: {false: "lifecycle.initialize.version", true: "base.fields.sent"},
}

// notSpoken is what the note of a revision begins with that a target does not speak.
const notSpoken = "not spoken: "

// denied is the denial of a visit.
func (v *visit) denied() *denial {
	found := &denial{wanted: opening(v.asked) + " answered with " + v.asked, found: strings.TrimPrefix(unspoken(v), notSpoken)}
	if v.connection != nil {
		found.events = cut(asFarAsAnswered(v.connection.Log().Events()))
	}
	return found
}

// denied is the denial of a client.
func (m *meeting) denied() *denial {
	wanted := "initialize with the protocolVersion " + m.revision + ", and the session that follows"
	if scripted.Stateless(m.revision) {
		wanted = "requests that name " + m.revision + " in their _meta"
	}
	return &denial{wanted: wanted, found: strings.TrimPrefix(m.note, notSpoken), events: m.opening}
}

// asFarAsAnswered leaves out what came after the first message of a server.
func asFarAsAnswered(events []transcript.Event) []transcript.Event {
	first := slices.IndexFunc(events, func(event transcript.Event) bool {
		return event.From == transcript.Server && event.Kind == transcript.Message
	})
	if first < 0 {
		return events
	}
	return events[:first+1]
}

// denied makes the result of a revision that the user named and that the target does
// not speak. It stands whatever the filter.
func (r *run) denied(state *legState) reports.Result {
	revision, role := state.report.Revision, state.report.Role
	ids := []string{supporting[role][scripted.Stateless(revision)]}
	events := state.denied.events
	return reports.Result{
		ID: ids[0], Kind: reports.KindCheck, Group: []string{"First contact"}, Text: "speaks " + revision,
		Requirements: r.requirements(state, ids), Page: r.page(state, ids[0]), Verdict: reports.Failed,
		Failures: []reports.Failure{{
			Wanted: r.redact(state.denied.wanted), Found: r.redact(state.denied.found),
			Hint: "a " + role + " that does not support " + revision + " is checked without it in --revision",
		}},
		Exchange: r.steps(events, judgedIn(events, nil, role)),
		Again:    r.again(state, ids[0]),
	}
}

// cut leaves of events what a report shows.
func cut(events []transcript.Event) []transcript.Event {
	return shorten([][]transcript.Event{events})[0]
}
