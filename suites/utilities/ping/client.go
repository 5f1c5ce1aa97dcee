package ping

import (
	"sync/atomic"

	. "github.com/mcpconform/mcpconform/internal/check"
	. "github.com/mcpconform/mcpconform/internal/clientrun"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	. "github.com/mcpconform/mcpconform/internal/scenario"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/suites/client/asking"
)

// ClientChecks registers the checks of a target client.
func ClientChecks() {
	Describe("Pings", func() {

		It("responds to every ping", Verifies("ping.answered"), In(pinged), func(t *T) {
			client := RunScenario(t)

			waited := AnswerTo(client.NeedCalls(scripted.AddNumbers)[0]) // which comes when the server has waited for all answers
			pings := client.FromServer("ping")
			if len(pings) == 0 {
				client.Inconclusive("the server had no stream to ping the client on", "tools/call")
			}
			for _, ping := range pings {
				if len(ping.Answers) > 0 {
					t.Observed(AnswerTo(ping).ResultObject() != nil)
					continue // the rules read it
				}
				client.NeedRequestAfter(waited)
				client.Missing(ping, Mismatch{Wanted: "an answer", Found: "none, though the client continues"})
			}
		})
	})
}

// pinged is a client that pings the server, and is pinged by it: between requests, where
// there is a way, and during a call.
var pinged = &Scenario{
	Name: "pings", Says: "The client pings the server, which pings the client between its requests and during a call.",
	Until: "2025-11-25",
	Steps: Steps{
		ToConnect(),
		ToPing(),
		ToList("tools"),
		ToCall(scripted.AddNumbers, asking.Numbers),
		ToPing(),
		ToList("tools"),
		ToClose(),
	},
	Server: func(server *scripted.Server) {
		var idle atomic.Pointer[jsonrpc.ID] // of the ping between requests
		server.On("tools/list", func(call *scripted.Call) {
			call.Good()
			if id := call.Session.NextID(); call.Nth == 1 && call.Session.Hears() {
				idle.Store(&id)
				call.Session.Say(jsonrpc.NewRequest(id, "ping", nil), "")
			}
		})
		server.On("tools/call", func(call *scripted.Call) {
			call.Ask("ping", nil)
			mark, number := call.Session.Mark(), jsonrpc.IntID(4711)
			call.Say(jsonrpc.NewRequest(number, "ping", nil), "")
			call.Session.AwaitAnswer(scripted.ServerRequest{Method: "ping"}, number, mark)
			id := idle.Load()
			if id == nil {
				call.Session.Stream() // there was none before
			}
			if late := call.Session.NextID(); id == nil && call.Session.Hears() {
				id = &late
				call.Session.Say(jsonrpc.NewRequest(late, "ping", nil), "")
			}
			if id != nil {
				call.Session.AwaitAnswer(scripted.ServerRequest{Method: "ping"}, *id, 0)
			}
			call.Good()
		})
	},
}
