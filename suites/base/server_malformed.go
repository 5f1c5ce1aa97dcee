package base

import (
	"net/http"
	"strings"

	"github.com/onsi/gomega/types"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	. "github.com/mcpconform/mcpconform/internal/offer"
	"github.com/mcpconform/mcpconform/internal/protocol"
	. "github.com/mcpconform/mcpconform/internal/requests"
	"github.com/mcpconform/mcpconform/internal/scripted"
	. "github.com/mcpconform/mcpconform/internal/session"
	"github.com/mcpconform/mcpconform/internal/wait"
)

// malformedForms are messages that a receiver cannot take for one, by the reason.
var malformedForms = []struct{ raw, reason string }{
	{notJSON, "not JSON"},
	{noMessage, "a method that is not a string"},
	{`"mcpconform"`, "a string where a message belongs"},
	{aBatch, "a batch"},
	{brokenLetters, "bytes that are not UTF-8"},
}

// almostJSON are texts in the place of a value that lenient parsers accept, and that are
// not JSON (RFC 8259, sections 3, 5 and 7).
var almostJSON = []struct{ what, value string }{
	{"the number NaN", `NaN`},
	{"the number -Infinity", `-Infinity`},
	{"an extra comma", `[1,]`},
	{"a comment", `1 /* one */`},
	{"single quotes", `'one'`},
	{"a name without quotes", `{one: 1}`},
}

const beforeInitialize = "no initialize before"

// misread checks what a server makes of messages that it could take for others.
func misread() {
	It("sends no response to a message without an id, whatever its method", Verifies("base.notifications.unanswered"), func(t *T) {
		server := FreshSession(t)

		InEachMethod(t, beUnanswered(), func(request Harmless) any { return answerWithoutID(t, server, request) })
		server.NeedUsable(surviving)
	})

	It("answers a JSON-RPC batch with single messages, if at all", Verifies("base.messages.single"), ByBarrier(), func(t *T) {
		server := FreshSession(t)
		mark := server.Mark()

		first, second := barrierUnder(t, server, "mcpconform-first"), barrierUnder(t, server, "mcpconform-second")
		say(t, server, "["+first+","+second+"]", "a batch of two requests")
		say(t, server, "[]", "an empty batch")

		server.NeedUsable(surviving)
		t.DemandNone("single messages", server.Sent(mark, func(received scripted.Received) bool { return received.Kind == jsonrpc.Batch }))
	})

	It("serves no request that is not strictly valid JSON", Verifies("base.json.refused"), ByBarrier(), func(t *T) {
		server := FreshSession(t)
		mark := server.Mark()

		for _, almost := range almostJSON {
			request := barrierUnder(t, server, ofAlmostJSON+almost.what)
			say(t, server, strings.Replace(request, `"@"`, almost.value, 1), "has "+almost.what)
		}

		server.NeedUsable(surviving)
		t.DemandNone("no result for text that is not JSON", server.Sent(mark, func(received scripted.Received) bool {
			_, served := received.Result()
			return served && strings.HasPrefix(received.ID.String(), `"`+ofAlmostJSON)
		}))
	})
}

// surviving is where to look when a server is gone after what is malformed.
const surviving = "see the results of base.errors.survived"

// ofAlmostJSON begins the ids of requests that are almost JSON.
const ofAlmostJSON = "mcpconform: "

// barrierUnder writes a request that every server answers, with a member "@" in its
// params whose value is "@".
func barrierUnder(t *T, server *Server, id string) string {
	params := server.WithMeta(Object{"mcpconform": "@"})
	return string(jsonrpc.NewRequest(jsonrpc.StringID(id), BarrierMethod(t), params))
}

// answerWithoutID sends the message of a request without its id, and returns the response
// to it, nil for none. Over HTTP a refusal may have an error without an id in its body, and
// wherever it is read an error -32600 says that it was taken for a broken request.
func answerWithoutID(t *T, server *Server, request Harmless) any {
	mark := server.Mark()
	raw := jsonrpc.NewNotification(request.Method, server.WithMeta(request.With(nil)))
	delivery := server.Say(string(raw), "has no id")
	select {
	case <-delivery.Done():
	case <-wait.After(t, server.ReplyTime()): // what came until then is judged
	case <-t.Done():
	}
	came := server.Sent(mark, isResponse)
	if t.Transport().InOrder() {
		came = responsesBut(server, mark, server.NeedUsable(surviving))
	}
	for _, response := range came {
		refusal, refused := response.Error()
		anonymous := response.ID == jsonrpc.NoID || response.ID == jsonrpc.NullID
		reads := refused && (refusal.Code == jsonrpc.InvalidRequest || delivery.Status >= http.StatusBadRequest)
		if !anonymous || !reads {
			return Reply{Received: response}
		}
	}
	return nil
}

func beUnanswered() types.GomegaMatcher {
	return Be("no response to a message without an id", func(came any) bool { return came == nil })
}

// crashing checks that no message ends the process of a server, so that requests beside
// it are not answered.
func crashing() {
	It("answers requests that come together with malformed messages",
		Verifies("base.requests.answered"), NeedsTransport(protocol.Stdio), ByBarrier(), func(t *T) {
			server := FreshSession(t)

			for _, malformed := range malformedForms {
				before := server.Call(BarrierMethod(t), nil)
				say(t, server, malformed.raw, malformed.reason)
				after := server.Call(BarrierMethod(t), nil)

				demandNoCrash(t, server, before, "before "+malformed.reason)
				demandNoCrash(t, server, after, "after "+malformed.reason)
			}
		})

	It("answers ping before initialize, and initialize after earlier requests", Opens(),
		Verifies("base.requests.answered"), AtRevisionsWith(protocol.Handshake), NeedsTransport(protocol.Stdio),
		func(t *T) {
			Session(t).Call("ping", nil).Need().Result() // or else nothing shows what it stumbles over
			server := Connect(t)

			demandNoCrash(t, server, server.Call("ping", nil), "before initialize")
			for _, method := range []string{"tools/list", unknownMethod} {
				id := jsonrpc.StringID("mcpconform-early-" + method)
				server.Call(method, nil, WithID(id), Illegal(beforeInitialize))
			}
			hello := server.Call("initialize", Hello(t, t.Revision()))

			demandNoCrash(t, server, hello, "after earlier requests")
		})
}

// refusedByStatus checks that valid requests are answered by JSON-RPC, whether the answer
// would be one JSON object or an event stream.
func refusedByStatus() {
	It("answers valid requests with JSON-RPC responses, not with an HTTP server error alone",
		Verifies("base.requests.answered"), NeedsTransport(protocol.HTTP), func(t *T) {
			server := Session(t)

			requests := HarmlessRequests(t)
			for _, kind := range []string{"progress", "logging"} { // of which servers tell on a stream
				if told, there := Provocable(t, kind); there {
					call := told.Reporting("mcpconform-" + kind)
					requests = append(requests, Harmless{Method: "tools/call", Params: call})
				}
			}
			for _, request := range requests {
				status, failed := failsByStatus(server, request)
				if failed { // which may be for a moment
					status, failed = failsByStatus(server, request)
				}
				t.Observe()
				if failed {
					t.Judging(status)
					t.DemandOf(status, false, "a JSON-RPC response to "+request.Method)
				}
			}
		})
}

// failsByStatus tells whether a request brings a status of the server's failure and no
// response.
func failsByStatus(server *Server, request Harmless) (status Status, failed bool) {
	reply := server.Call(request.Method, request.With(nil), ToBeRefused("")).May()
	if reply.Answered() || reply.Status < http.StatusInternalServerError {
		return Status{}, false
	}
	return Status{Response: reply.Instead}, true
}

// demandNoCrash wants a request to be answered by a server whose process would otherwise
// have crashed. One that exits in good order, or says nothing, is for other checks.
func demandNoCrash(t *T, server *Server, request *Answer, when string) {
	err := request.Wait()
	if err == nil {
		t.Observe()
		return
	}
	process := server.Stdio.Pipe.Process()
	if !server.Alive() {
		select {
		case <-process.Done():
		case <-wait.After(t, server.ReplyTime()): // it has closed its standard output alone
		case <-t.Done():
		}
	}
	exit := process.Exit()
	if exit.Code == 0 {
		t.Inconclusive(request.Method+" "+when+" was not answered: "+err.Error(), surviving)
	}
	t.Judge(Mismatch{Wanted: "a response to " + request.Method + " " + when, Found: "none: the process " + exit.Past()})
}
