package asking

import (
	"github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/internal/session"
)

// Answered declares a check of a server that goes on when the client gives an answer to what
// it asks by a method; nil for the answer that it gives by itself.
func Answered(text, requirement, kind, method string, answer scripted.Answer) {
	check.It(text, check.Row(), check.Verifies(requirement), check.NeedsProvocation(kind), func(t *check.T) {
		server := session.Session(t)
		if answer != nil {
			server.Answer(method, answer)
		}

		Provoke(t, server, kind, method).MustEnd()

		server.StaysUsable()
	})
}

// Unanswered declares a check of a server that goes on while the client does not answer.
func Unanswered(text, requirement, kind, method string) {
	check.It(text, check.Row(), check.Verifies(requirement), check.NeedsProvocation(kind), func(t *check.T) {
		server := session.FreshSession(t)
		server.Answer(method, scripted.Silence)

		question := Provoke(t, server, kind, method)

		server.StaysUsable()
		question.GiveUp(t)
	})
}
