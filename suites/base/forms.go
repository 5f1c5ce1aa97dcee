package base

import (
	"slices"

	. "github.com/mcpconform/mcpconform/internal/check"
	. "github.com/mcpconform/mcpconform/internal/clientrun"
	"github.com/mcpconform/mcpconform/internal/forms"
	. "github.com/mcpconform/mcpconform/internal/offer"
	"github.com/mcpconform/mcpconform/internal/protocol"
	. "github.com/mcpconform/mcpconform/internal/requests"
	. "github.com/mcpconform/mcpconform/internal/scenario"
)

// inForms are checks of requests that look otherwise than in all other checks, and say
// the same.
func inForms() {
	It("returns the id of a request unchanged, any string or integer",
		Verifies("base.responses.id", "base.requests.answered"), ByBarrier(), func(t *T) {
			ids := slices.DeleteFunc(FormsOf(t, forms.ID), func(form forms.Form) bool { return form.Name == usedElsewhere })

			InEachForm(t, Harmless{Method: BarrierMethod(t)}, ids)
		})
}

// usedElsewhere is the form with an id that another check uses on the same session, where
// an id is used once.
const usedElsewhere = "with the id 0"

// How the server of these scenarios writes depends on neither revision nor transport.
var (
	writesOtherwise  = UsualSteps("other-forms", forms.Usual(false))
	streamsOtherwise = over(protocol.HTTP, UsualSteps("other-event-streams", forms.Usual(true)))
)

func over(transport string, one *Scenario) *Scenario {
	one.Over = transport
	return one
}

// ofServer are checks of answers that look otherwise than in all other scenarios, and say
// the same.
func ofServer() {
	It("continues with a server that writes messages in other legal forms",
		Verifies("base.results.accepted"), In(writesOtherwise), func(t *T) { RunScenario(t).ContinuesInEachForm(forms.Usual(false)) })

	It("continues with a server that writes event streams in other legal forms",
		Verifies("transports.http.request.both-answers"),
		In(streamsOtherwise),
		func(t *T) { RunScenario(t).ContinuesInEachForm(forms.Usual(true)) })
}
