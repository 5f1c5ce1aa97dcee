package base

import (
	"fmt"
	"net/http"
	"strings"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	. "github.com/mcpconform/mcpconform/internal/offer"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/scripted"
	. "github.com/mcpconform/mcpconform/internal/session"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/suites/client/asking"
)

// manyInBatch is how many requests a large batch has.
const manyInBatch = 100

// batches checks batches, which 2025-03-26 alone has (basic/index#batching).
func batches() {
	answers := func(text string, requests int, beside ...string) {
		It(text, Row(), Verifies("base.batches.received"), ByBarrier(), func(t *T) {
			server := FreshSession(t)
			needBatches(t, server)

			mustAnswer(t, server, requests, beside...)
		})
	}
	It("answers each of two requests in a batch", Verifies("base.batches.received"), ByBarrier(), func(t *T) {
		mustAnswer(t, FreshSession(t), 2)
	})
	answers("answers a batch of one request", 1)
	answers("answers the request in a batch with notifications", 1, declaredNotification, declaredNotification)
	answers(fmt.Sprintf("answers each of %d requests in a batch", manyInBatch), manyInBatch)

	It("answers the request of an unknown method in a batch, and the others", Verifies("base.batches.received"), ByBarrier(), func(t *T) {
		server := FreshSession(t)
		needBatches(t, server)
		unknown := jsonrpc.StringID("mcpconform-unknown-of-batch")

		mark := mustAnswer(t, server, 1, string(jsonrpc.NewRequest(unknown, unknownMethod, Object{})))

		refusal := server.Until(mark, "a response to the request of an unknown method in the batch", scripted.AnswerTo(unknown))
		t.Expect(Reply{Received: refusal}).To(BeJSONRPCError())
	})

	unansweredBatches()

	batchesAmidCalls()

	brokenBatches()
}

func unansweredBatches() {
	It("sends no response to a batch of notifications", Verifies("base.notifications.unanswered"), AtRevisionsWith(protocol.Batches), ByBarrier(), func(t *T) {
		server := FreshSession(t)
		needBatches(t, server)
		mark := server.Mark()

		say(t, server, "["+declaredNotification+","+declaredNotification+"]", "")

		barrier := server.NeedUsable(surviving)
		t.DemandNone("no response, as nothing was requested", responsesBut(server, mark, barrier))
	})

	It("accepts a batch of notifications with HTTP 202 and no body",
		Verifies("transports.http.notification.accepted"), AtRevisionsWith(protocol.Batches), ByBarrier(), func(t *T) {
			server := FreshSession(t)
			needBatches(t, server)

			response := server.Post([]byte("["+declaredNotification+","+declaredNotification+"]"), "")

			if response.Status >= http.StatusBadRequest {
				t.NotApplicable("the server does not accept a batch of notifications alone, and need not: " + response.Describe())
			}
			t.Expect(response).To(HaveStatus(http.StatusAccepted))
			t.Demand(len(response.Body) == 0, "no body", response.Describe())
		})

	It("accepts the response to its own request in a batch",
		Verifies("base.batches.received"), NeedsProvocation("sampling"), func(t *T) {
			server := FreshSession(t)
			needBatches(t, server)
			inBatch := scripted.Answering(scripted.Generation)
			server.Answer("sampling/createMessage", func(request scripted.Received) []byte {
				return []byte("[" + string(inBatch(request)) + "]")
			})

			asking.Provoke(t, server, "sampling", "sampling/createMessage").MustEnd()
		})
}

func batchesAmidCalls() {
	It("answers a tool call in a batch that makes it request something of the client",
		Verifies("base.batches.received"), NeedsProvocation("sampling"), func(t *T) {
			server := FreshSession(t)
			needBatches(t, server)
			server.KeepListening()
			id := jsonrpc.StringID("mcpconform-asking-of-batch")

			mark := mustAnswer(t, server, 1, callIn(server, id, Provoking(t, "sampling").Call()))

			server.Until(mark, "a response to the tool call in the batch", scripted.AnswerTo(id))
		})

	It("sends notifications/progress of a request in a batch with its progressToken",
		Verifies("progress.token.provided"), AtRevisionsWith(protocol.Batches), NeedsProvocation("progress"), func(t *T) {
			server := FreshSession(t)
			needBatches(t, server)
			id := jsonrpc.StringID("mcpconform-progress-of-batch")

			mark := mustAnswer(t, server, 1, callIn(server, id, Provoking(t, "progress").Reporting("of-batch")))

			server.Until(mark, "a response to the tool call in the batch", scripted.AnswerTo(id))
			t.Demand(len(server.Sent(mark, ProgressOf("of-batch"))) > 0, "progress with the token of the request",
				fmt.Sprintf("%d notifications/progress with other tokens", len(server.Sent(mark, Notification("notifications/progress")))))
		})

	It("answers the other requests of a batch after one was cancelled",
		Verifies("base.batches.received"), NeedsProvocation("slow"), func(t *T) {
			server := FreshSession(t)
			needBatches(t, server)
			id := jsonrpc.StringID("mcpconform-cancelled-of-batch")
			cancelled := jsonrpc.NewNotification("notifications/cancelled", Object{"requestId": id})

			mustAnswer(t, server, 1, callIn(server, id, Provoking(t, "slow").Call()), string(cancelled))
		})
}

func brokenBatches() {
	broken := func(text, raw string) {
		It(text, Row(), Verifies("base.errors.survived"), AtRevisionsWith(protocol.Batches), func(t *T) {
			server := FreshSession(t)

			say(t, server, raw, "a broken batch")

			server.StaysUsable()
		})
	}
	broken("continues after an empty batch", `[]`)
	broken("continues after a batch of what are no messages", `[1,null,"mcpconform",{}]`)
	broken("continues after a batch that is cut", `[`+declaredNotification+`,{"jsonrpc":"2.0",`)
	broken("continues after a batch in a batch", `[[`+declaredNotification+`]]`)
	broken("continues after a batch with initialize",
		`[{"jsonrpc":"2.0","id":"mcpconform-initialize-of-batch","method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"mcpconform","version":"1"}}}]`)
	broken("continues after a batch with two requests of the same id",
		`[{"jsonrpc":"2.0","id":"mcpconform-twice","method":"ping"},{"jsonrpc":"2.0","id":"mcpconform-twice","method":"ping"}]`)
	broken("continues after a batch with a request and a response",
		`[{"jsonrpc":"2.0","id":"mcpconform-beside-response","method":"ping"},{"jsonrpc":"2.0","id":"mcpconform-none","result":{}}]`)

	It("answers the request beside what is no message in a batch, unless it rejects the batch",
		Verifies("base.errors.survived"), AtRevisionsWith(protocol.Batches), ByBarrier(), func(t *T) {
			server := FreshSession(t)
			needBatches(t, server)
			id, mark := "mcpconform-beside-no-message", server.Mark()

			delivery := say(t, server, "[1,"+barrierUnder(t, server, id)+"]", "a batch with what is no message")

			if delivery.Status >= http.StatusBadRequest {
				t.NotApplicable("the server rejects a batch with what is no message")
			}
			server.Until(mark, "a response to the request of the batch, or one that rejects the whole batch", answersOrRejects(jsonrpc.StringID(id)))
		})

	It("answers an empty batch with a single response, if at all", Verifies("base.batches.empty-refused"), func(t *T) {
		server := FreshSession(t)
		mark := server.Mark()

		refusalsOf(t, server, "[]", "an empty batch")

		t.DemandNone("no response in a batch", server.Sent(mark, func(received scripted.Received) bool { return received.Kind == jsonrpc.Batch }))
	})

	It("answers an empty batch with -32600, if at all", Verifies("base.errors.invalid-request"), AtRevisionsWith(protocol.Batches), func(t *T) {
		server := FreshSession(t)

		for _, refusal := range refusalsOf(t, server, "[]", "an empty batch") {
			t.Expect(refusal).To(BeJSONRPCError(jsonrpc.InvalidRequest))
		}
	})
}

// declaredNotification is one that the client has declared. One of an unknown method may be
// refused over HTTP, and the batch with it.
const declaredNotification = `{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`

// answersOrRejects matches the response to a request of a batch, and an error that rejects the
// whole batch: one that stands in no batch itself.
func answersOrRejects(id jsonrpc.ID) func(scripted.Received) bool {
	isAnswer, inBatch := scripted.AnswerTo(id), transcript.Place{}
	return func(received scripted.Received) bool {
		if received.Kind == jsonrpc.Batch { // what it has comes next
			inBatch = received.At
		}
		_, refused := received.Error()
		rejects := refused && received.At != inBatch && (received.ID == jsonrpc.NoID || received.ID == jsonrpc.NullID)
		return rejects || isAnswer(received)
	}
}

// callIn is a tool call that stands in a batch.
func callIn(server *Server, id jsonrpc.ID, call Object) string {
	return string(jsonrpc.NewRequest(id, "tools/call", server.WithMeta(call)))
}

// mustAnswer sends a batch of requests that every server answers, beside others, and waits for
// the responses to the former. It returns the mark of what has come since.
func mustAnswer(t *T, server *Server, requests int, beside ...string) (mark int) {
	ids := make([]jsonrpc.ID, requests)
	messages := beside
	for i := range ids {
		text := fmt.Sprintf("mcpconform-%d-of-batch", i+1)
		ids[i] = jsonrpc.StringID(text)
		messages = append(messages, barrierUnder(t, server, text))
	}
	mark = server.Mark()
	batch := "[" + strings.Join(messages, ",") + "]"
	switch {
	case server.Transport().Exchanges():
		t.Expect(server.Response(server.Say(batch, ""))).To(HaveStatus(http.StatusOK))
	case server.Transport().SharesStream(): // where the POST is refused, nothing comes on the stream
		server.Call(BarrierMethod(t), nil, WithID(ids[0]), Raw([]byte(batch), "")).Must(BeAnswered)
	default:
		server.Say(batch, "")
	}
	for _, id := range ids {
		server.Until(mark, "a response to the request "+id.String()+" of the batch", scripted.AnswerTo(id))
	}
	return mark
}

// needBatches leaves the check out at a server that does not answer the simplest batch, which
// another check tells.
func needBatches(t *T, server *Server) {
	first, second, mark := "mcpconform-plain-of-batch", "mcpconform-other-of-batch", server.Mark()
	say(t, server, "["+barrierUnder(t, server, first)+","+barrierUnder(t, server, second)+"]", "")
	server.NeedUsable(surviving)
	if len(server.Sent(mark, scripted.AnswerTo(jsonrpc.StringID(first)))) == 0 {
		t.NotApplicable("the server does not answer batches, see the results of base.batches.received")
	}
}
