// Package base checks the page basic/index.
package base

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"

	. "github.com/mcpconform/mcpconform/internal/check"
	. "github.com/mcpconform/mcpconform/internal/conform"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/mcp"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/internal/wait"
)

// ServerChecks registers the checks of a target server.
func ServerChecks() {
	Describe("Base protocol", func() {
		requests()
		malformed()
		misread()
		crashing()
		refusedByStatus()
		notifications()
		fields()
		statelessness()
		clientCapabilities()
		inForms()
	})
}

// openAtOnce is how many requests a client of any kind may have open: an agent
// asks for several lists, resources and tools together.
const openAtOnce = 20

// firstOfMany is the id of the first of those, beyond what other requests have.
const firstOfMany = 7001

func requests() {
	It(
		"answers requests of a client that opens the connection as the revision specifies",
		Opens(),
		Verifies("base.components.required"),
		ByBarrier(),
		func(ctx SpecContext) {
			server := Connect(ctx)

			if RevisionHas(protocol.PerRequestMeta) {
				server.Speak(Revision(), scripted.Nothing())
			} else {
				_, err := server.Handshake(ctx, Hello(Revision()))
				Demand(err == nil, "a handshake that succeeds", text(err))
			}

			Expect(server.Ask(ctx, BarrierMethod(), nil)).To(BeResult())
		},
	)

	It("answers each of many concurrent requests", Verifies("base.requests.answered"), ByBarrier(),
		func(ctx SpecContext) {
			server := Session(ctx)

			var open []*scripted.Pending
			for position := range openAtOnce {
				id := jsonrpc.IntID(firstOfMany + int64(position))
				open = append(open, server.StartRaw(ctx, id, BarrierMethod(), scripted.Outgoing{}, nil))
			}

			for _, request := range open {
				server.MustAwait(ctx, request)
			}
		})

	It("returns an id that is a string unchanged", Verifies("base.responses.id"), ByBarrier(),
		func(ctx SpecContext) {
			server := Session(ctx)

			answered := answeredID(ctx, server, jsonrpc.StringID("mcpconform: a string, ünïcödé"))

			Demand(answered == jsonrpc.StringID("mcpconform: a string, ünïcödé"), "the same id", answered.String())
		})

	It("returns an id that is a string of digits as a string", Verifies("base.responses.id"), ByBarrier(),
		func(ctx SpecContext) {
			server := Session(ctx)

			answered := answeredID(ctx, server, jsonrpc.StringID("0042"))

			Demand(answered == jsonrpc.StringID("0042"), `the id "0042"`, answered.String())
		})

	It("returns the id 0 unchanged", Verifies("base.responses.id"), ByBarrier(),
		func(ctx SpecContext) {
			server := Session(ctx)

			answered := answeredID(ctx, server, jsonrpc.IntID(0))

			Demand(answered == jsonrpc.IntID(0), "the id 0", answered.String())
		})

	It("returns an id of more than 32 bits unchanged", Verifies("base.responses.id"), ByBarrier(),
		func(ctx SpecContext) {
			server := Session(ctx)

			answered := answeredID(ctx, server, jsonrpc.IntID(largeID))

			Demand(answered == jsonrpc.IntID(largeID), "the same id", answered.String())
		})

	It("answers requests of each method whose id is a string", Verifies("base.requests.answered"),
		func(ctx SpecContext) {
			server := Session(ctx)

			AcceptInEachMethod(ctx, func(request Harmless) any {
				id := jsonrpc.StringID("mcpconform: a string for " + request.Method)
				asked := server.StartRaw(ctx, id, request.Method, scripted.Outgoing{}, request.With(nil))
				return server.MustAwait(ctx, asked)
			})
		})

	It("answers requests with progress tokens of each kind", Verifies("base.requests.answered"),
		func(ctx SpecContext) {
			server := Session(ctx)
			server.Need(ctx, aMethod(), nil) // or else nothing shows what it stumbles over

			for _, token := range []any{0, "", "mcpconform", lastExactInteger} {
				reply := server.MustAsk(ctx, aMethod(), Object{"_meta": Object{"progressToken": token}})

				Expect(reply).To(BeResult())
			}
			AcceptInEachMethod(ctx, func(request Harmless) any {
				token := Object{"progressToken": "mcpconform-" + request.Method}
				return server.MustAsk(ctx, request.Method, request.With(token))
			})
		})

	It(
		"answers a request that comes before notifications/initialized, and continues",
		Opens(),
		Verifies("base.requests.answered"),
		AtRevisionsWith(protocol.Handshake),
		func(ctx SpecContext) {
			server := Connect(ctx)
			adopt(server, server.Need(ctx, "initialize", Hello(Revision())))

			server.MustAsk(ctx, aMethod(), nil)

			Observe() // with a result or an error, as it likes
			server.Tell(ctx, "notifications/initialized", nil)
			server.StaysUsable(ctx)
		},
	)

	It(
		"continues after a request that comes before initialize",
		Opens(),
		Verifies("base.errors.survived"),
		AtRevisionsWith(protocol.Handshake),
		NeedsTransport(protocol.Stdio),
		func(ctx SpecContext) {
			Session(ctx) // or else nothing shows what it stumbles over
			server := Connect(ctx)
			id := jsonrpc.StringID("mcpconform-before-initialize")
			early := jsonrpc.NewRequest(id, unknownMethod, nil)
			server.StartRaw(
				ctx,
				id,
				unknownMethod,
				scripted.Outgoing{Raw: early, Deliberate: beforeInitialize},
				nil,
			)

			Expect(server.MustAsk(ctx, "initialize", Hello(Revision()))).To(BeResult())
		},
	)

	It(
		"answers requests after notifications/initialized with _meta",
		Opens(),
		Verifies("base.requests.answered"),
		AtRevisionsWith(protocol.Handshake),
		func(ctx SpecContext) {
			Session(ctx).Need(ctx, aMethod(), nil) // or else nothing shows what it stumbles over
			server := Connect(ctx)
			adopt(server, server.Need(ctx, "initialize", Hello(Revision())))

			server.Tell(ctx, "notifications/initialized", Object{"_meta": Object{"com.example/trace": Object{"id": 7}}})

			Expect(server.MustAsk(ctx, aMethod(), nil)).To(BeResult())
		},
	)

	It(
		"answers requests, and those of other clients, after a client disconnects during a call",
		Verifies("base.requests.answered"),
		NeedsTransport(protocol.HTTP),
		NeedsProvocation("slow"),
		ByBarrier(),
		func(ctx SpecContext) {
			server, other := FreshSession(ctx), UnusedSession(ctx)
			slow := Provoking("slow").Call()
			call := server.Start(ctx, "tools/call", slow)
			beside := jsonrpc.StringID("mcpconform-beside-disconnection")
			ofAnother := other.StartRaw(ctx, beside, "tools/call", scripted.Outgoing{}, slow)
			server.Barrier(ctx) // the calls are under way

			call.Delivery.Cut()

			id := jsonrpc.StringID("mcpconform-after-disconnection")
			Expect(
				server.MustAwait(ctx, server.StartRaw(ctx, id, BarrierMethod(), scripted.Outgoing{}, nil)),
			).To(BeResult())
			other.MustAwait(ctx, ofAnother)
		},
	)

	It(
		"answers initialize of a client that does not say its version, or refuses it",
		Verifies("base.errors.survived"),
		AtRevisionsWith(protocol.Handshake),
		NeedsTransport(protocol.HTTP),
		func(ctx SpecContext) {
			Session(ctx) // or else nothing shows what it stumbles over
			hello := Hello(Revision())
			hello["clientInfo"] = Object{"name": "mcpconform"}

			_, status, err := Connect(ctx).Attempt(ctx, "initialize", hello, "clientInfo without a version")

			if refusal, refused := errors.AsType[*scripted.StatusError](err); refused {
				Judging(Status{Response: refusal})
			}
			refused := err == nil || status < http.StatusInternalServerError
			Demand(refused, "a JSON-RPC response, or an HTTP client error", text(err))
		},
	)

	It("accepts params with unknown members", Verifies("base.requests.extra-members"),
		func(ctx SpecContext) {
			acceptsParams(ctx, "mcpconformUnknown", Object{"nested": true})
		})

	It(
		"accepts requests with unknown members in clientCapabilities",
		Verifies("base.requests.extra-members"),
		AtRevisionsWith(protocol.PerRequestMeta),
		func(ctx SpecContext) {
			server := Session(ctx)

			AcceptInEachMethod(ctx, func(request Harmless) any {
				return server.AttemptWith(ctx, request, Object{mcp.MetaCapabilities: unheardOf()}, "")
			})
		},
	)

	It("accepts requests with unexpected values at reserved _meta keys", Verifies("base.meta.reserved-values"),
		func(ctx SpecContext) {
			acceptsParams(ctx, "_meta", Object{ // the prefix is reserved by the words of both revisions
				"dev.mcp.conformance/null":   nil,
				"dev.mcp.conformance/list":   []any{1, "two", Object{}},
				"dev.mcp.conformance/number": 0.5,
			})
		})
}

// unheardOf are capabilities with what no schema names: they are no closed set, and each
// is an open object.
func unheardOf() Object {
	capabilities := Object{"mcpconformUnknown": Object{}}
	for name, declared := range scripted.Everything(Revision()) {
		known, _ := declared.(map[string]any)
		more := maps.Clone(known)
		more["mcpconformUnknown"] = Object{"nested": true}
		capabilities[name] = more
	}
	return capabilities
}

// acceptsParams demands that a further member of the params changes nothing.
func acceptsParams(ctx context.Context, member string, value any) {
	server := Session(ctx)
	AcceptInEachMethod(ctx, func(request Harmless) any {
		params := Object{member: value}
		maps.Copy(params, request.Params)
		return server.MustAsk(ctx, request.Method, params)
	})
}

// lastExactInteger is the last of the integers that a double tells from the next.
const lastExactInteger = 1<<53 - 1

// adopt goes on with the revision that the server has answered with.
func adopt(server *Server, result Object) {
	if answered, isText := result["protocolVersion"].(string); isText && server.HTTP != nil {
		server.HTTP.SetVersion(answered)
	}
}

// largeID needs more than 32 bits, and less than the 53 that a double holds.
const largeID = 1 << 40

func malformed() {
	It("rejects a request with an unknown method", Verifies("base.errors.unknown-method"), ByBarrier(),
		func(ctx SpecContext) {
			server := Session(ctx)

			reply := server.MustAsk(ctx, unknownMethod, nil)

			Expect(reply).To(BeJSONRPCError())
		})

	It(
		"rejects a request with an unknown method under an id that is a string",
		Verifies("base.errors.unknown-method"),
		ByBarrier(),
		func(ctx SpecContext) {
			server := Session(ctx)

			request := server.StartRaw(
				ctx, jsonrpc.StringID("mcpconform-unknown"), unknownMethod, scripted.Outgoing{}, nil,
			)

			Expect(server.MustAwait(ctx, request)).To(BeJSONRPCError())
		},
	)

	It("rejects a request with an unknown method with -32601", Verifies("base.errors.method-not-found"), ByBarrier(),
		func(ctx SpecContext) {
			server := Session(ctx)

			reply, _ := server.Try(ctx, unknownMethod, nil)

			if _, refused := reply.Error(); !refused {
				NotApplicable("the server does not answer it with an error")
			}
			Expect(reply).To(BeJSONRPCError(jsonrpc.MethodNotFound))
		})

	It("answers a request that has the method of a notification with an error or an object, if at all",
		Verifies("base.schema.results"), AtRevisionsWith(protocol.Handshake),
		func(ctx SpecContext) {
			server := FreshSession(ctx)

			replies := refusalsOf(ctx, server, notifying, "has the method of a notification")

			for _, reply := range replies {
				_, refused := reply.Error()
				result, _ := reply.Result()
				_, isObject := result.(map[string]any)
				DemandOf(reply, refused || isObject, "an error, or a result that is an object")
			}
		})

	It("answers text that is not JSON with -32700, if at all", Verifies("base.errors.parse-error"),
		func(ctx SpecContext) {
			server := FreshSession(ctx)

			refusals := refusalsOf(ctx, server, notJSON, "not JSON")

			for _, refusal := range refusals {
				Expect(refusal).To(BeJSONRPCError(jsonrpc.ParseError))
			}
		})

	It("answers text that is not JSON without an id that it does not have, if at all", Verifies("base.responses.id"),
		func(ctx SpecContext) {
			server := FreshSession(ctx)

			refusals := refusalsOf(ctx, server, notJSON, "not JSON")

			judgeKnownIDs(refusals, jsonrpc.StringID("mcpconform-cut"))
		})

	It("answers a JSON-RPC batch without requests under no id, if at all", Verifies("base.responses.id"),
		func(ctx SpecContext) {
			server := FreshSession(ctx)

			refusals := refusalsOf(ctx, server, aBatch, "a batch")

			judgeKnownIDs(refusals)
		})

	It("answers JSON that is not a JSON-RPC message with -32600, if at all", Verifies("base.errors.invalid-request"),
		func(ctx SpecContext) {
			server := FreshSession(ctx)

			refusals := refusalsOf(ctx, server, noMessage, "a method that is not a string")

			for _, refusal := range refusals {
				Expect(refusal).To(BeJSONRPCError(jsonrpc.InvalidRequest))
			}
		})

	It("continues after text that is not JSON", Verifies("base.errors.survived"),
		func(ctx SpecContext) {
			server := FreshSession(ctx)

			say(ctx, server, notJSON, "not JSON")

			server.StaysUsable(ctx)
		})

	It("continues after JSON that is not a JSON-RPC message", Verifies("base.errors.survived"),
		func(ctx SpecContext) {
			server := FreshSession(ctx)

			say(ctx, server, noMessage, "a method that is not a string")

			server.StaysUsable(ctx)
		})

	It("continues after a message that is not a JSON object", Verifies("base.errors.survived"),
		func(ctx SpecContext) {
			server := FreshSession(ctx)

			say(ctx, server, `"mcpconform"`, "a string where a message belongs")

			server.StaysUsable(ctx)
		})

	It("continues after a JSON-RPC batch", Verifies("base.errors.survived"),
		func(ctx SpecContext) {
			server := FreshSession(ctx)

			say(ctx, server, aBatch, "a batch")

			server.StaysUsable(ctx)
		})

	It("continues after text that is not UTF-8", Verifies("base.errors.survived"),
		func(ctx SpecContext) {
			server := FreshSession(ctx)

			say(ctx, server, brokenLetters, "bytes that are not UTF-8")

			server.StaysUsable(ctx)
		})

	It("continues after tools/call with arguments that are a string", Verifies("base.errors.survived"),
		NeedsCapability("tools"),
		func(ctx SpecContext) {
			server := FreshSession(ctx)

			server.Survives(
				ctx,
				"tools/call",
				Object{"name": aTool(), "arguments": "mcpconform"},
				"arguments that are a string",
			)
		})

	It("continues after a response with an unknown id", Verifies("base.errors.survived"),
		func(ctx SpecContext) {
			server := FreshSession(ctx)

			say(ctx, server, `{"jsonrpc":"2.0","id":"mcpconform-never-asked","result":{}}`, "a response to no request")

			server.StaysUsable(ctx)
		})
}

const (
	unknownMethod = "mcpconform/unknown"
	notifying     = `{"jsonrpc":"2.0","id":"mcpconform-notifying","method":"notifications/cancelled","params":{"requestId":"mcpconform-none"}}`
	aBatch        = `[{"jsonrpc":"2.0","method":"notifications/mcpconform"}]`
	notJSON       = `{"jsonrpc":"2.0","id":"mcpconform-cut","method":`
	noMessage     = `{"jsonrpc":"2.0","id":"mcpconform-strange","method":7}`
	brokenLetters = `{"jsonrpc":"2.0","id":"mcpconform-not-utf-8","method":"ping","params":{"text":"` + "\xff\xfe" + `"}}`
)

func notifications() {
	It("sends no response to known or unknown notifications", Verifies("base.notifications.unanswered"),
		func(ctx SpecContext) {
			server := Session(ctx)
			mark := server.Mark()

			known := reasons(ctx, server, knownNotification(), Object{"requestId": "mcpconform-never-asked"})
			unknown := reasons(ctx, server, "notifications/mcpconform-unknown", nil)
			if known != nil && unknown != nil {
				NotApplicable("the transport rejects notifications")
			}

			barrier := server.Ask(ctx, BarrierMethod(), nil)

			DemandNone("no response to a notification", slices.DeleteFunc(responsesBut(server, mark, barrier),
				func(response scripted.Received) bool { return known[response.Index] || unknown[response.Index] }))
		})
}

// reasons sends a notification and returns by which messages without an id the server says
// why it refuses that, as the body of an HTTP error may; nil when it does not refuse it.
func reasons(ctx context.Context, server *Server, method string, params any) map[int]bool {
	mark := server.Mark()
	if server.Accepts(ctx, method, params) {
		return nil
	}
	said := map[int]bool{}
	for _, response := range server.Sent(mark, isResponse) {
		said[response.Index] = response.ID == jsonrpc.NoID || response.ID == jsonrpc.NullID
	}
	return said
}

// knownNotification is one that clients may send at any time.
func knownNotification() string {
	if !RevisionHas(protocol.RootsListChanged) {
		return "notifications/cancelled"
	}
	return "notifications/roots/list_changed"
}

// aMethod is one that the server answers without any effect: a list that it
// declares, or what every server answers.
func aMethod() string {
	for _, feature := range []string{"tools", "prompts", "resources"} {
		if Declares(feature) {
			return feature + "/list"
		}
	}
	return BarrierMethod()
}

// aTool is the name of a tool, if the server lists any.
func aTool() string {
	for _, tool := range ListedTools() {
		if name, isText := tool["name"].(string); isText {
			return name
		}
	}
	return "mcpconform"
}

func isResponse(received scripted.Received) bool { return received.Kind == jsonrpc.Response }

// answeredID sends a request with an id and returns the id of the response: whatever
// response comes is meant for it, as nothing else was asked for.
func answeredID(ctx context.Context, server *Server, id jsonrpc.ID) jsonrpc.ID {
	request := server.StartRaw(ctx, id, BarrierMethod(), scripted.Outgoing{}, nil)
	received, err := request.WaitOr(ctx, isResponse)
	return server.Answered(request, received, err).ID
}

// say sends something illegal; whether the transport takes it is all the same.
func say(ctx context.Context, server *Server, raw, reason string) {
	message := scripted.Outgoing{Raw: []byte(raw), Deliberate: reason}
	switch kind := jsonrpc.Parse(message.Raw).Kind; {
	case server.HTTP == nil:
	case kind == jsonrpc.Invalid || kind == jsonrpc.Batch:
		message.Header = completed(server)
	}
	delivery := server.Deliver(ctx, message)
	select {
	case <-delivery.Done():
	case <-wait.After(ctx, server.ReplyTime()): // what follows will tell
	case <-ctx.Done():
	}
}

// completed gives a body that headers cannot repeat those of a request that every server
// answers, so that nothing is wrong but the body.
func completed(server *Server) func(http.Header) {
	whole := server.HTTP.HeaderOf(http.MethodPost, []byte(barrierUnder(server, "mcpconform")))
	return func(header http.Header) {
		for name, values := range whole {
			if header.Get(name) == "" {
				header[name] = values
			}
		}
	}
}

// judgeKnownIDs judges that responses to what is illegal have no id that nobody sent.
func judgeKnownIDs(refusals []Reply, sent ...jsonrpc.ID) {
	for _, refusal := range refusals {
		isKnown := slices.Contains(sent, refusal.ID) || refusal.ID == jsonrpc.NoID || refusal.ID == jsonrpc.NullID
		DemandOf(refusal, isKnown, "no id, or the id of a request")
	}
}

// responsesBut returns the responses that came since a mark, without that to a request
// which followed what may have provoked them.
func responsesBut(server *Server, mark int, barrier Reply) []scripted.Received {
	return server.Sent(mark, func(received scripted.Received) bool {
		return isResponse(received) && received.ID != barrier.ID
	})
}

// refusalsOf sends something illegal and returns the responses to it, without those
// that find fault with the headers, which a server over HTTP may read first.
func refusalsOf(ctx context.Context, server *Server, raw, reason string) []Reply {
	mark := server.Mark()
	say(ctx, server, raw, reason)
	barrier := server.NeedUsable(ctx, "see the results of base.errors.survived")
	var refusals []Reply
	for _, response := range responsesBut(server, mark, barrier) {
		if refusal, _ := response.Error(); server.HTTP == nil || refusal.Code != jsonrpc.HeaderMismatch {
			refusals = append(refusals, Reply{Received: response})
		}
	}
	if len(refusals) == 0 {
		NotApplicable("the server does not answer malformed messages")
	}
	return refusals
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
