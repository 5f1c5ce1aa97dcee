package base

import (
	"bytes"

	. "github.com/mcpconform/mcpconform/internal/check"
	. "github.com/mcpconform/mcpconform/internal/clientrun"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/protocol"
	. "github.com/mcpconform/mcpconform/internal/scenario"
	"github.com/mcpconform/mcpconform/internal/scripted"
)

// Ids of the pings in batches.
var (
	batchedPings = []jsonrpc.ID{jsonrpc.StringID("first-of-batch"), jsonrpc.StringID("second-of-batch")}
	lonePing     = jsonrpc.StringID("alone-in-batch")
)

// batching is a server that sends batches.
var batching = &Scenario{
	Name:  "base-batches",
	Since: protocol.First(protocol.Batches), Until: protocol.Last(protocol.Batches),
	Says:  "During a call the server sends a batch of a notification and two pings, a batch of one ping, and then its response in a batch.",
	Steps: Steps{ToConnect(), ToList("tools"), ToCall(scripted.AddNumbers, numbers), ToList("tools"), ToClose()},
	Server: func(server *scripted.Server) {
		server.On("tools/call", func(call *scripted.Call) {
			ping := func(id jsonrpc.ID) []byte { return jsonrpc.NewRequest(id, "ping", nil) }
			changed := jsonrpc.NewNotification("notifications/tools/list_changed", nil)
			call.Say(batchOf(changed, ping(batchedPings[0]), ping(batchedPings[1])), "")
			call.Say(batchOf(ping(lonePing)), "")
			for _, id := range append(batchedPings, lonePing) {
				if !call.Await(scripted.AnswerTo(id)) {
					break // the others had as much time
				}
			}
			if call.Session.Spawned() != nil { // over HTTP a response to a single request is no batch
				call.Finally(batchOf(call.Result(scripted.Text("in a batch"))), "")
				return
			}
			call.Good()
		})
	},
}

func batchOf(messages ...[]byte) []byte {
	return append(append([]byte("["), bytes.Join(messages, []byte(","))...), ']')
}

func batchesOfServer() {
	It("answers each of two pings in a batch with a notification", Verifies("base.batches.received"), In(batching), func(t *T) {
		client := RunScenario(t)

		for _, id := range batchedPings {
			demandAnswer(t, client, id)
		}
	})

	It("answers the ping in a batch of one", Verifies("base.batches.received"), In(batching), func(t *T) {
		demandAnswer(t, RunScenario(t), lonePing)
	})

	It("receives the response to its request in a batch", Verifies("base.batches.received"), In(batching), NeedsTransport(protocol.Stdio), func(t *T) {
		client := RunScenario(t)

		called := client.NeedCalls(scripted.AddNumbers)[0]
		answer := AnswerTo(called)
		if answer == nil {
			client.Inconclusive("the server did not answer the call", "tools/call")
		}
		client.Continues(answer, "a response in a batch")
	})
}

func demandAnswer(t *T, client *Client, id jsonrpc.ID) {
	request, answer := theAsked(client, id)
	if !t.Observed(answer != nil) {
		client.Missing(request, Mismatch{Wanted: "an answer to the ping " + id.String() + " in a batch", Found: "no answer"})
	}
}
