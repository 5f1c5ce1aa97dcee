package cancellation

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	. "github.com/mcpconform/mcpconform/internal/check"
	. "github.com/mcpconform/mcpconform/internal/clientrun"
	"github.com/mcpconform/mcpconform/internal/excerpt"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/mcp"
	"github.com/mcpconform/mcpconform/internal/protocol"
	. "github.com/mcpconform/mcpconform/internal/scenario"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/suites/client/asking"
)

// ClientChecks registers the checks of a target client.
func ClientChecks() {
	Describe("Cancellation", func() {
		cancelling()
		cancellingOthers()
		expiring()
		cancelled()
		invalidForClients()
	})
}

const progress = "notifications/progress"

// tooLate is the answer to a call that was cancelled before.
const tooLate = "too late"

// cancels is a client that cancels a call which is answered too late, and one that is
// answered at once.
var cancels = &Scenario{
	Name: "cancelled-calls", Says: "The client cancels two calls: one is answered afterwards, the other at the same time.",
	Steps: Steps{
		ToConnect(), ToList("tools"),
		ToCall("slow", nil).WithProgress().As("slow"), ToWaitFor(progress), ToCancel("slow"),
		ToList("tools"), ToCall(scripted.AddNumbers, asking.Numbers),
		ToCall("quick", nil).WithProgress().As("quick"), ToWaitFor(progress), ToCancel("quick"),
		ToList("tools"), ToCall(scripted.AddNumbers, asking.Numbers), ToClose(),
	},
	Server: func(server *scripted.Server) {
		var answering sync.RWMutex // held for reading until a call is answered
		server.AddTool("quick", nil, func(call *scripted.Call) {
			answering.RLock()
			defer answering.RUnlock()
			call.Progress(1, 2)
			if call.Has(protocol.Ping) {
				crossPing(call)
			}
			call.Answer(scripted.Text("done"))
		})
		server.AddTool("slow", nil, func(call *scripted.Call) {
			answering.RLock()
			defer answering.RUnlock()
			call.Leave()
			mark := call.Session.Mark()
			call.Progress(1, 2)
			if call.Has(protocol.ClosingCancels) && call.Transport().Exchanges() {
				return // nothing can come on the stream that the client closes
			}
			cancels := func(received scripted.Received) bool { return cancelsCall(received, call) }
			if !call.Await(func(received scripted.Received) bool { return cancels(received) || received.Method == "tools/list" }) {
				return
			}
			call.Session.Within(overtaking, mark, cancels) // what was sent later may have come first
			switch {
			case call.Transport().Exchanges() && call.Sees(call.Done(), overtaking): // the client left it
			case !call.Transport().Exchanges() && call.Has(protocol.Handshake): // elsewhere by a result
				call.Refuse(jsonrpc.InternalError, tooLate, nil)
			default:
				call.Answer(scripted.Text(tooLate))
			}
		})
		server.On("tools/list", func(call *scripted.Call) {
			answering.Lock() // so that the client gets the answers in order
			defer answering.Unlock()
			call.Good()
		})
	},
}

// overtaking is how much later than what was sent afterwards a message, or the end of a
// stream, may come over HTTP.
const overtaking = 200 * time.Millisecond

func cancelsCall(received scripted.Received, call *scripted.Call) bool {
	return received.Method == method && jsonrpc.IDOf(mcp.Value(received.Params(), "requestId")) == call.Message.ID
}

// crossPing sends a ping and cancels it at once, so that its answer crosses the
// cancellation.
func crossPing(call *scripted.Call) {
	id := call.Session.NextID()
	call.Say(jsonrpc.NewRequest(id, "ping", nil), "")
	call.Notify(method, Object{"requestId": id})
}

func cancelling() {
	It("sends notifications/cancelled with the id of the request that it cancels", Verifies("cancellation.sent.stdio"), In(cancels), func(t *T) {
		client := RunScenario(t)

		call := client.NeedCalls("slow")[0]
		if t.Observed(client.CancellationOf(call) != nil) {
			return
		}
		client.NeedCancelled("slow", "cancel-slow")
		client.Missing(call, Mismatch{Wanted: method + " for the call that the client cancelled, as it reports", Found: "none"})
	})

	It(
		"sends notifications/cancelled only with the requestId of a request that it has sent",
		Verifies("cancellation.own-requests"),
		In(cancels),
		NeedsTransport(protocol.HTTP),
		AtRevisionsWithout(protocol.ClosingCancels),
		func(t *T) {
			client := RunScenario(t)

			call := client.NeedCalls("slow")[0]
			if t.Observed(client.CancellationOf(call) != nil) {
				return
			}
			cancellations := client.Notifications(method)
			if len(cancellations) == 0 {
				client.InconclusiveWithout(method)
			}
			for _, cancellation := range cancellations { // the request that it was told to cancel had come before
				if !namesRequest(client, cancellation) {
					client.Fail(cancellation, Mismatch{
						Wanted: "the id of a request that the client has sent, such as " + call.ID.String(),
						Found:  Show(cancellation.ParamsObject()["requestId"]), Where: "/params/requestId",
					})
				}
			}
			client.Inconclusive("the client cancelled another request than its steps ask for", method)
		},
	)

	crossing()
}

func crossing() {
	It("ignores the response to a request that it has cancelled", Verifies("cancellation.late-response.client"), In(cancels), func(t *T) {
		client := RunScenario(t)

		if t.Has(protocol.ClosingCancels) && t.Transport().Exchanges() {
			t.NotApplicable("over HTTP a request is cancelled by closing its stream, so nothing can follow")
		}
		call := client.NeedCalls("slow")[0]
		cancellation := client.CancellationOf(call)
		if cancellation == nil {
			client.InconclusiveWithout(method)
		}
		answer := AnswerTo(call)
		if answer == nil {
			t.NotApplicable("the client closed the stream of the cancelled request, so nothing could follow")
		}
		if answer.Event.Sequence < cancellation.Event.Sequence {
			client.Inconclusive("the client cancelled the call only after it was answered", method)
		}
		if outcome, there := client.Outcome("slow"); there && !outcome.Failed() &&
			strings.Contains(ShowOutcome(outcome), tooLate) {
			client.Fail(answer, Mismatch{Wanted: "a call that ends without its late answer", Found: ShowOutcome(outcome)})
		}
		client.StaysUsable(answer, "the response to a request that it had cancelled")
	})

	It("continues after its notifications/cancelled crossed a response", Verifies("cancellation.races"), In(cancels), func(t *T) {
		client := RunScenario(t)

		crossed := false
		for _, tool := range []string{"slow", "quick"} {
			after := client.NeedCalls(tool)[0]
			if !isCancelled(t, client, after) {
				continue // the answer to the quick one may be there first
			}
			crossed = true
			if answer := AnswerTo(after); answer != nil {
				after = answer // or else the client had closed the stream
			}
			client.StaysUsable(after, "the response to a request that it cancelled meanwhile")
		}
		if !crossed {
			client.InconclusiveWithout(method)
		}
	})
}

// isCancelled tells whether the client cancelled a request: by a notification or, over
// HTTP in the stateless era, by closing its stream.
func isCancelled(t *T, client *Client, request *Message) bool {
	return client.CancellationOf(request) != nil ||
		t.Has(protocol.ClosingCancels) && t.Transport().Exchanges() && endOf(client, request) != nil
}

// namesRequest tells whether a cancellation of the client names one of its requests.
func namesRequest(client *Client, cancellation *Message) bool {
	id := jsonrpc.IDOf(cancellation.ParamsObject()["requestId"])
	return slices.ContainsFunc(client.Requests(), func(request *Message) bool { return request.ID == id })
}

// expires is a client that waits for an answer for a limited time.
var expires = &Scenario{
	Name: "call-timed-out", Says: "The server never answers a call, which the client times out.",
	Since: "2026-07-28", Reported: true,
	Steps: Steps{ToConnect(), ToList("tools"), ToCall("never", nil).Within(100), ToList("tools"), ToClose()},
	Server: func(server *scripted.Server) {
		var open atomic.Pointer[scripted.Exchange] // of the call
		server.AddTool("never", nil, func(call *scripted.Call) {
			call.Leave()
			open.Store(call.Streaming().Exchange)
		})
		server.On("tools/list", func(call *scripted.Call) {
			if exchange := open.Load(); exchange != nil {
				call.Sees(exchange.Done(), leavingTime)
			}
			call.Good()
		})
	},
}

// leavingTime is how long it may take until the server sees that a client has closed a
// stream.
const leavingTime = time.Second

func expiring() {
	It("cancels a request that is not answered in time", Verifies("cancellation.timeouts.cancelled"), In(expires), func(t *T) {
		client := RunScenario(t)

		call := client.NeedCalls("never")[0]
		if outcome := client.NeedOutcome(client.CallOf("never")); !outcome.Failed() {
			client.Inconclusive("the client did not cancel the call that is never answered", "tools/call")
		}
		after := client.RequestsAfter(call)
		if len(after) == 0 {
			client.Inconclusive("the client sent no further request after the call that timed out", "tools/list")
		}
		if !t.Transport().Exchanges() {
			if !t.Observed(client.CancellationOf(call) != nil) {
				client.Missing(call, Mismatch{Wanted: method + " for the call that timed out", Found: "none"})
			}
			return
		}
		end := endOf(client, call)
		answer := AnswerTo(after[0])
		if answer == nil {
			client.Inconclusive("the client disconnected before its next request was answered", "tools/list")
		}
		if !t.Observed(end != nil && !end.At.After(answer.Event.At)) {
			client.Missing(call, Mismatch{Wanted: "the end of the stream of the call that timed out", Found: "a stream that stays open"})
		}
	})
}

// endOf returns the event by which the client left the exchange of a message; nil for
// none.
func endOf(client *Client, message *Message) *transcript.Event {
	for _, event := range client.Events() {
		if event.Kind == transcript.End && event.From == protocol.Client &&
			event.Connection == message.Event.Connection && event.Stream == message.Event.Stream {
			return &event
		}
	}
	return nil
}

// questions are what the server may ask, and cancels.
var questions = []scripted.ServerRequest{
	{Method: "sampling/createMessage", Params: Object{
		"messages":  []any{Object{"role": "user", "content": Object{"type": "text", "text": "Say hello."}}},
		"maxTokens": 100,
	}},
	{Method: "elicitation/create", Params: Object{
		"message":         "Are you sure?",
		"requestedSchema": Object{"type": "object", "properties": Object{"sure": Object{"type": "boolean"}}},
	}},
}

// asked is a client whose server cancels what it has asked for.
var asked = &Scenario{
	Name: "cancelled-question", Says: "During a call the server sends the client a request, and cancels it.",
	Until: "2025-11-25",
	Steps: Steps{
		ToIgnore("sampling/createMessage").ID("ignore-sampling"), ToIgnore("elicitation/create"),
		ToConnect(), ToList("tools"), ToCall(scripted.AddNumbers, asking.Numbers), ToList("tools"), ToClose(),
	},
	Server: func(server *scripted.Server) {
		server.On("tools/call", func(call *scripted.Call) {
			for _, question := range questions {
				if call.MayAsk(question) {
					cancelQuestion(call, question)
					break
				}
			}
			call.Good()
		})
	},
}

// chances is how many pings a client answers after a cancellation, before the call ends
// in which it was asked: an answer that it sends all the same may take it some steps.
const chances = 5

// cancelQuestion asks, cancels that, and sees by pings that the client has read both.
func cancelQuestion(call *scripted.Call, question scripted.ServerRequest) {
	id := call.Session.NextID()
	call.Say(jsonrpc.NewRequest(id, question.Method, question.Params), "")
	call.Ask("ping", nil)
	call.Notify(method, Object{"requestId": id, "reason": "the server has changed its mind"})
	for range chances {
		call.Ask("ping", nil)
	}
}

// namesake is a server whose ping has the id of the call during which it comes, as it may:
// ids of the two sides have nothing in common. It cancels that ping.
var namesake = &Scenario{
	Name:  "cancelled-namesake",
	Says:  "During its second call the server pings the client under the id of that call, and cancels the ping.",
	Until: protocol.Last(protocol.Ping),
	Steps: Steps{
		ToConnect(), ToList("tools"), ToCall(scripted.AddNumbers, asking.Numbers).ID("plain-call"),
		ToCall(scripted.AddNumbers, asking.Numbers).ID("namesake-call"), ToList("tools"), ToClose(),
	},
	Server: func(server *scripted.Server) {
		server.On("tools/call", func(call *scripted.Call) {
			if call.Nth == 2 {
				own := call.Message.ID
				call.Say(jsonrpc.NewRequest(own, "ping", nil), "")
				call.Notify(method, Object{"requestId": own, "reason": "no request waits for it"})
				call.Ask("ping", nil) // by its answer the client has read both
			}
			call.Good()
		})
	},
}

func cancelled() {
	It("continues its own request if the server cancels one of its own that has the same id",
		Verifies("base.responses.matched"), In(namesake), func(t *T) {
			client := RunScenario(t)

			cancellations := client.FromServer(method)
			if len(cancellations) == 0 {
				client.Inconclusive("the client did not make the call during which the server cancels", "tools/call")
			}
			const what = "the cancellation of a ping that had the id of the call"
			client.DemandStep("namesake-call", "plain-call", what)
			client.Continues(cancellations[0], what)
		})

	It("stops processing a cancelled request and sends no response to it",
		Verifies("cancellation.unanswered", "cancellation.stops"), In(asked), func(t *T) {
			client := RunScenario(t)

			client.NeedRequests("tools/call")
			cancellations := client.FromServer(method)
			if len(cancellations) == 0 {
				client.Inconclusive(
					"the client received no request that could be cancelled, as it declares neither sampling nor elicitation",
					"sampling/createMessage",
				)
			}
			cancellation := cancellations[0]
			read := answerAfter(cancellation, client.FromServer("ping"))
			if !t.Observed(client.Continued(cancellation)) {
				client.Inconclusive("the client sent nothing more after the cancellation", "tools/list")
			}
			for _, response := range append(client.Responses("sampling/createMessage"), client.Responses("elicitation/create")...) {
				if response.ID != jsonrpc.IDOf(cancellation.ParamsObject()["requestId"]) {
					continue
				}
				outcome, there := client.Outcome("ignore-sampling")
				silent := there && !outcome.Failed()
				switch {
				case response.Event.Sequence < cancellation.Event.Sequence:
					client.Inconclusive("the client answered before the server could cancel", response.Request.Method)
				case silent, read != nil && response.Event.Sequence > read.Event.Sequence:
					client.Fail(response, Mismatch{Wanted: "no response to the cancelled request", Found: excerpt.Short(response.Raw)})
				default:
					client.Inconclusive("the answer of the client may have crossed the cancellation", response.Request.Method)
				}
			}
		})
}

// answerAfter returns the answer to the first request that was sent after something; nil
// when there is none.
func answerAfter(message *Message, requests []*Message) *Message {
	for _, request := range requests {
		if request.Event.Sequence > message.Event.Sequence {
			return AnswerTo(request)
		}
	}
	return nil
}

// What is wrong with the cancellations of a server.
const (
	unknownRequest   = "cancels a request that was never sent"
	completedRequest = "cancels a request that was answered"
	noRequest        = "cancels a request without naming it"
	objectRequest    = "cancels a request by an object"
)

// confused is a server that sends cancellations which are none.
func confused(name, says string, confuse func(call *scripted.Call)) *Scenario {
	return &Scenario{
		Name: name, Says: says,
		Steps: Steps{ToConnect(), ToList("tools"), ToCall(scripted.AddNumbers, asking.Numbers), ToList("tools"), ToList("tools"), ToClose()},
		Server: func(server *scripted.Server) {
			server.On("tools/call", func(call *scripted.Call) {
				confuse(call)
				call.Good()
			})
		},
	}
}

// confusing sends a cancellation that is invalid for a reason.
func confusing(call *scripted.Call, params Object, reason string) {
	call.Say(jsonrpc.NewNotification(method, params), reason)
}

// unrelatedMethod is that of a notification that no revision defines.
const unrelatedMethod = "notifications/mcpconform/unknown"

// Scenarios of such servers.
var (
	unknown = confused("cancellation-of-unknown", "The server cancels a request that it never sent.", func(call *scripted.Call) {
		confusing(call, Object{"requestId": "mcpconform-never-sent", "reason": "a check"}, unknownRequest)
	})
	complete = confused("cancellation-of-answered", "The server cancels a request that was already answered.", func(call *scripted.Call) {
		var answered scripted.Received
		if !call.Has(protocol.Ping) {
			answered, _ = call.Session.Until(0, func(received scripted.Received) bool { return received.Method != "" })
		} else {
			answered, _ = call.Ask("ping", nil)
		}
		confusing(call, Object{"requestId": answered.ID, "reason": "a check"}, completedRequest)
	})
	nameless = confused("cancellation-of-nothing", "The server sends notifications/cancelled without a requestId.", func(call *scripted.Call) {
		confusing(call, Object{}, noRequest)
	})
	unrelated = confused(
		"notification-before-answer",
		"The server sends a notification right before a response.",
		func(call *scripted.Call) { call.Notify(unrelatedMethod, nil) },
	)
	strange = confused("cancellation-of-object", "The server sends notifications/cancelled whose requestId is an object.", func(call *scripted.Call) {
		confusing(call, Object{"requestId": Object{"id": 1}}, objectRequest)
	})
)

func invalidForClients() {
	It("ignores notifications/cancelled with an unknown requestId", Verifies("cancellation.invalid.unknown"), In(unknown), func(t *T) {
		ignores(t, RunScenario(t), unknownRequest)
	})

	It("ignores notifications/cancelled for a request that was already answered",
		Verifies("cancellation.invalid.completed"), In(complete), func(t *T) { ignores(t, RunScenario(t), completedRequest) })

	It("ignores notifications/cancelled without a requestId", Verifies("cancellation.invalid.malformed"), In(nameless), func(t *T) {
		ignores(t, RunScenario(t), noRequest)
	})

	It("ignores notifications/cancelled whose requestId is an object", Verifies("cancellation.invalid.malformed"), In(strange), func(t *T) {
		ignores(t, RunScenario(t), objectRequest)
	})
}

// ignores judges that the client goes on after a cancellation that is invalid for a
// reason, and says nothing to it.
func ignores(t *T, client *Client, reason string) {
	for _, message := range client.FromServer(method) {
		if message.Event.Deliberate != reason {
			continue
		}
		client.DemandNoResponse(message)
		if !client.Continued(message) && stopsAtAny(t) {
			client.Inconclusive("the client stops at any notification right before a response", "tools/call")
		}
		client.StaysUsable(message, "a notification that "+reason)
		return
	}
	client.Inconclusive("the client did not make the request during which the server "+reason, "tools/call")
}

// stopsAtAny tells whether the client stops also at a notification that cancels nothing, in
// the place of one that cancels.
func stopsAtAny(t *T) bool {
	plain := AlsoRun(t, unrelated)
	if plain == nil {
		return false
	}
	came := plain.FromServer(unrelatedMethod)
	return len(came) > 0 && !plain.Continued(came[0])
}
