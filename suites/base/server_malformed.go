package base

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/onsi/gomega/types"

	. "github.com/mcpconform/mcpconform/internal/check"
	. "github.com/mcpconform/mcpconform/internal/conform"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/scripted"
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
	It("sends no response to a message without an id, whatever its method", Verifies("base.notifications.unanswered"),
		func(ctx SpecContext) {
			server := FreshSession(ctx)

			InEachMethod(ctx, beUnanswered(), func(request Harmless) any {
				return answerWithoutID(ctx, server, request)
			})
			server.NeedUsable(ctx, surviving)
		})

	It("answers a JSON-RPC batch with single messages, if at all", Verifies("base.messages.single"), ByBarrier(),
		func(ctx SpecContext) {
			server := FreshSession(ctx)
			mark := server.Mark()

			first, second := barrierUnder(server, "mcpconform-first"), barrierUnder(server, "mcpconform-second")
			say(ctx, server, "["+first+","+second+"]", "a batch of two requests")
			say(ctx, server, "[]", "an empty batch")

			server.NeedUsable(ctx, surviving)
			DemandNone("single messages", server.Sent(mark, func(received scripted.Received) bool {
				return received.Kind == jsonrpc.Batch
			}))
		})

	It("serves no request that is almost JSON", Verifies("base.json.refused"), ByBarrier(),
		func(ctx SpecContext) {
			server := FreshSession(ctx)
			mark := server.Mark()

			for _, almost := range almostJSON {
				request := barrierUnder(server, ofAlmostJSON+almost.what)
				say(ctx, server, strings.Replace(request, `"@"`, almost.value, 1), "has "+almost.what)
			}

			server.NeedUsable(ctx, surviving)
			DemandNone("no result for text that is not JSON", server.Sent(mark, func(received scripted.Received) bool {
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
func barrierUnder(server *Server, id string) string {
	params := server.WithMeta(Object{"mcpconform": "@"})
	return string(jsonrpc.NewRequest(jsonrpc.StringID(id), BarrierMethod(), params))
}

// answerWithoutID sends the message of a request without its id, and returns the response
// to it, nil for none. Over HTTP a refusal may have an error without an id in its body, and
// wherever it is read an error -32600 says that it was taken for a broken request.
func answerWithoutID(ctx context.Context, server *Server, request Harmless) any {
	mark := server.Mark()
	raw := jsonrpc.NewNotification(request.Method, server.WithMeta(request.With(nil)))
	delivery := server.Say(ctx, string(raw), "has no id")
	select {
	case <-delivery.Done():
	case <-wait.After(ctx, server.ReplyTime()): // what came until then is judged
	case <-ctx.Done():
	}
	came := server.Sent(mark, isResponse)
	if Transport() == protocol.Stdio {
		came = responsesBut(server, mark, server.NeedUsable(ctx, surviving))
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
		Verifies("base.requests.answered"), NeedsTransport(protocol.Stdio), ByBarrier(),
		func(ctx SpecContext) {
			server := FreshSession(ctx)

			for _, malformed := range malformedForms {
				before := server.Start(ctx, BarrierMethod(), nil)
				say(ctx, server, malformed.raw, malformed.reason)
				after := server.Start(ctx, BarrierMethod(), nil)

				demandNoCrash(ctx, server, before, "before "+malformed.reason)
				demandNoCrash(ctx, server, after, "after "+malformed.reason)
			}
		})

	It("answers ping before initialize, and initialize after earlier requests", Opens(),
		Verifies("base.requests.answered"), AtRevisionsWith(protocol.Handshake), NeedsTransport(protocol.Stdio),
		func(ctx SpecContext) {
			Session(ctx).Need(ctx, "ping", nil) // or else nothing shows what it stumbles over
			server := Connect(ctx)

			demandNoCrash(ctx, server, server.Start(ctx, "ping", nil), "before initialize")
			for _, method := range []string{"tools/list", unknownMethod} {
				id := jsonrpc.StringID("mcpconform-early-" + method)
				early := scripted.Outgoing{Deliberate: beforeInitialize}
				server.StartRaw(ctx, id, method, early, nil)
			}
			hello := server.Start(ctx, "initialize", Hello(Revision()))

			demandNoCrash(ctx, server, hello, "after earlier requests")
		})
}

// refusedByStatus checks that valid requests are answered by JSON-RPC, whether the answer
// would be one JSON object or an event stream.
func refusedByStatus() {
	It("answers valid requests with JSON-RPC responses, not with an HTTP server error alone",
		Verifies("base.requests.answered"), NeedsTransport(protocol.HTTP),
		func(ctx SpecContext) {
			server := Session(ctx)

			requests := HarmlessRequests()
			for _, kind := range []string{"progress", "logging"} { // of which servers tell on a stream
				if told, there := Provocable(kind); there {
					call := told.Reporting("mcpconform-" + kind)
					requests = append(requests, Harmless{Method: "tools/call", Params: call})
				}
			}
			for _, request := range requests {
				status, failed := failsByStatus(ctx, server, request)
				if failed { // which may be for a moment
					status, failed = failsByStatus(ctx, server, request)
				}
				Observe()
				if failed {
					Judging(status)
					DemandOf(status, false, "a JSON-RPC response to "+request.Method)
				}
			}
		})
}

// failsByStatus tells whether a request brings a status of the server's failure and no
// response.
func failsByStatus(ctx context.Context, server *Server, request Harmless) (status Status, failed bool) {
	_, _, err := server.Attempt(ctx, request.Method, request.With(nil), "")
	refusal, refused := errors.AsType[*scripted.StatusError](err)
	if !refused || refusal.Status < http.StatusInternalServerError {
		return Status{}, false
	}
	return Status{Response: refusal}, true
}

// demandNoCrash wants a request to be answered by a server whose process would otherwise
// have crashed. One that exits in good order, or says nothing, is for other checks.
func demandNoCrash(ctx context.Context, server *Server, request *scripted.Pending, when string) {
	_, err := request.Wait(ctx)
	if err == nil {
		Observe()
		return
	}
	process := server.Stdio.Pipe.Process()
	if !server.Alive() {
		select {
		case <-process.Done():
		case <-wait.After(ctx, server.ReplyTime()): // it has closed its standard output alone
		case <-ctx.Done():
		}
	}
	exit := process.Exit()
	if exit.Code == 0 {
		Inconclusive(request.Method+" "+when+" was not answered: "+err.Error(), surviving)
	}
	Judge(Mismatch{Wanted: "a response to " + request.Method + " " + when, Found: "none: the process " + exit.Past()})
}
