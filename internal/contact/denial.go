package contact

import (
	"errors"
	"slices"

	"github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/scope"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// Denial is what shows that a target does not speak a revision that the user named, or
// that it means to speak.
type Denial struct {
	ID            string // of the requirement that is broken
	Keeps         bool   // or is not: another revision was asked for, or answered with, as it may be
	Text          string // what a good target does; "" for that it speaks the revision
	Wanted, Found string
	Events        []transcript.Event // of the opening
	Output        string             // the end of the standard error
}

// supporting are the requirements that a target breaks which is said to support a
// revision and does not speak it: by role, and whether the revision has a handshake.
var supporting = map[string]map[bool]string{
	protocol.ServerRole: {true: "lifecycle.version.echoed", false: "discover.implemented"},
	protocol.ClientRole: {true: "lifecycle.initialize.version", false: "base.fields.sent"},
}

// denied is the denial of a visit, with what was found; nil where the answer may only be late.
func (v *visit) denied(reason string, pace scope.Pace, o Options) *Denial {
	if late, is := errors.AsType[*scripted.LateError](v.err); is &&
		!pace.Shows(check.Late{For: scope.Starting, Waited: late.Waited, Behind: late.Behind}) {
		return nil
	}
	found := &Denial{
		ID:     supporting[protocol.ServerRole][protocol.Has(v.asked, protocol.Handshake)],
		Wanted: ask(v.asked) + " answered with " + v.asked, Found: reason,
		Keeps: v.err == nil && protocol.Has(v.asked, protocol.Handshake) && v.broken == "" &&
			slices.Contains(protocol.Released(), v.handshake.Revision),
	}
	if v.connection != nil {
		found.Events = o.shown(asFarAsAnswered(v.connection.Log().Events()))
	}
	return found
}

// denied is the denial of a client, with what was found.
func (m *meeting) denied(reason string) *Denial {
	found := &Denial{
		ID:     supporting[protocol.ClientRole][protocol.Has(m.revision, protocol.Handshake)],
		Found:  reason,
		Events: m.opening,
		Keeps:  m.another,
	}
	switch {
	case m.granted:
		found.ID, found.Wanted = "lifecycle.initialized.sent", "notifications/initialized after the answer to initialize"
	case protocol.Has(m.revision, protocol.PerRequestMeta):
		found.Wanted = "requests that name " + m.revision + " in their _meta"
	default:
		found.Wanted = "initialize with the protocolVersion " + m.revision + ", and the session that follows"
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
