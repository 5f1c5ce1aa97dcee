package cancellation

import (
	"sync"
	"time"

	. "github.com/mcpconform/mcpconform/internal/check"
	. "github.com/mcpconform/mcpconform/internal/clientrun"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/protocol"
	. "github.com/mcpconform/mcpconform/internal/scenario"
	"github.com/mcpconform/mcpconform/internal/scripted"
)

// cancelsOthers is a client that cancels requests that are no calls.
var cancelsOthers = &Scenario{
	Name: "cancelled-requests",
	Says: "The client cancels resources/read and prompts/get, which are never answered.",
	Steps: Steps{
		ToConnect(),
		ToList("tools"),
		ToRead(scripted.ResourceURI).As("read"),
		ToGet(scripted.PromptName, Object{"name": "Ada"}).As("prompt"),
		ToList("tools"),
		ToCancel("read"),
		ToCancel("prompt"),
		ToList("tools"),
		ToClose(),
	},
	Server: func(server *scripted.Server) {
		others := []string{"resources/read", "prompts/get"}
		for _, method := range others {
			server.On(method, func(call *scripted.Call) { call.Leave() })
		}
		server.On("tools/list", func(call *scripted.Call) {
			if call.Nth >= 2 { // what the client does next is to cancel both
				for _, method := range others {
					call.Session.Within(comingTime, 0, func(received scripted.Received) bool { return received.Method == method })
				}
			}
			call.Good()
		})
	},
}

// cancelsRetry is a client that cancels a call when it has given the input that was asked
// for: then another request is open than the first.
var cancelsRetry = &Scenario{
	Name:  "cancelled-retry",
	Says:  "The client retries a call with the requested input, and cancels the retry, which is never answered.",
	Since: protocol.First(protocol.InputRequests),
	Steps: Steps{
		ToAnswer("elicitation/create", Object{"action": "accept", "content": Object{}}), ToConnect(), ToList("tools"),
		ToCall("asking", nil).As("call"), ToList("tools"), ToCancel("call"), ToList("tools"), ToClose(),
	},
	Server: func(server *scripted.Server) {
		retried := make(chan struct{})
		retry := sync.OnceFunc(func() { close(retried) })
		server.AddTool("asking", nil, func(call *scripted.Call) {
			if call.Responses() == nil {
				call.Need(Object{"who": form()}, "")
				return
			}
			call.Leave()
			retry()
		})
		server.On("tools/list", func(call *scripted.Call) {
			if call.Nth >= 2 { // what the client does next is to cancel the call
				call.Sees(retried, comingTime)
			}
			call.Good()
		})
	},
}

// comingTime is how long a call may take to come that was sent before what waits for it.
const comingTime = 3 * time.Second

// cancelsAsked is a client that cancels a call whose server waits for its user.
var cancelsAsked = &Scenario{
	Name:  "cancelled-call-that-asks",
	Says:  "During a call the server sends an elicitation, which the user does not answer, and the client cancels the call.",
	Since: "2025-06-18",
	Until: protocol.Last(protocol.ServerRequests),
	Steps: Steps{
		ToIgnore("elicitation/create"), ToConnect(), ToList("tools"),
		ToCall("asking", nil).As("call"), ToList("tools"), ToCancel("call"), ToList("tools"), ToClose(),
	},
	Server: func(server *scripted.Server) {
		asked := make(chan struct{})
		ask := sync.OnceFunc(func() { close(asked) })
		server.AddTool("asking", nil, func(call *scripted.Call) {
			call.Say(jsonrpc.NewRequest(call.Session.NextID(), "elicitation/create", Object{
				"message": "Go on?", "requestedSchema": Object{"type": "object", "properties": Object{}},
			}), "")
			ask()
			call.Leave()
		})
		server.On("tools/list", func(call *scripted.Call) {
			if call.Nth >= 2 { // what the client does next is to cancel the call
				call.Sees(asked, comingTime)
			}
			call.Good()
		})
	},
}

// form is a request for input that has no fields.
func form() Object {
	return Object{"method": "elicitation/create", "params": Object{
		"mode": "form", "message": "Go on?", "requestedSchema": Object{"type": "object", "properties": Object{}},
	}}
}

func cancellingOthers() {
	cancels := func(what, requirement, method, step string) {
		It(what, Verifies(requirement), In(cancelsOthers), func(t *T) {
			client := RunScenario(t)

			demandCancellation(t, client, client.NeedRequests(method)[0], step)
		})
	}
	const overStdio, overHTTP = "cancellation.sent.stdio", "transports.http.disconnect.cancelled"
	cancels("cancels resources/read by notifications/cancelled over stdio", overStdio, "resources/read", "read")
	cancels("cancels prompts/get by notifications/cancelled over stdio", overStdio, "prompts/get", "prompt")
	cancels("cancels resources/read by notifications/cancelled over HTTP", overHTTP, "resources/read", "read")
	cancels("cancels prompts/get by notifications/cancelled over HTTP", overHTTP, "prompts/get", "prompt")

	It("cancels a call by notifications/cancelled while an elicitation waits for its user", Verifies(overHTTP), In(cancelsAsked), func(t *T) {
		client := RunScenario(t)

		call := client.NeedCalls("asking")[0]
		client.NeedServerRequests("elicitation/create")
		demandCancellation(t, client, call, "call")
	})

	It("cancels the retry of a call that has asked for input", Verifies(overStdio), In(cancelsRetry), func(t *T) {
		client := RunScenario(t)

		calls := client.NeedCalls("asking")
		if len(calls) < 2 {
			client.Inconclusive("the client did not retry the call with the input", "tools/call")
		}
		demandCancellation(t, client, calls[len(calls)-1], "call")
	})
}

// demandCancellation wants a request cancelled that the client was told to cancel.
func demandCancellation(t *T, client *Client, request *Message, step string) {
	if t.Observed(client.CancellationOf(request) != nil) {
		return
	}
	client.NeedCancelled(step, "cancel-"+step)
	client.Missing(request, Mismatch{
		Wanted: method + " with the requestId " + request.ID.String() + ", which the client cancelled, as it reports",
		Found:  "none",
	})
}
