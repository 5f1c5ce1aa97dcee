// Package base checks the page basic/index.
package base

import (
	"maps"
	"net/http"
	"slices"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/mcp"
	. "github.com/mcpconform/mcpconform/internal/offer"
	"github.com/mcpconform/mcpconform/internal/protocol"
	. "github.com/mcpconform/mcpconform/internal/requests"
	"github.com/mcpconform/mcpconform/internal/scripted"
	. "github.com/mcpconform/mcpconform/internal/session"
	"github.com/mcpconform/mcpconform/internal/wait"
)

// ServerChecks registers the checks of a target server.
func ServerChecks() {
	Describe("Base protocol", func() {
		requests()
		malformed()
		misread()
		batches()
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
	answering()

	returns := func(text string, id jsonrpc.ID, wanted string) {
		It(text, Row(), Verifies("base.responses.id"), ByBarrier(), func(t *T) {
			answered := answeredID(t, Session(t), id)

			t.Demand(answered == id, wanted, answered.String())
		})
	}
	returns("returns an id that is a string unchanged", jsonrpc.StringID("mcpconform: a string, ünïcödé"), "the same id")
	returns("returns an id that is a string of digits as a string", jsonrpc.StringID("0042"), `the id "0042"`)
	returns("returns the id 0 unchanged", jsonrpc.IntID(0), "the id 0")
	returns("returns an id of more than 32 bits unchanged", jsonrpc.IntID(largeID), "the same id")

	It("answers requests of each method whose id is a string", Verifies("base.requests.answered"), func(t *T) {
		server := Session(t)

		AcceptInEachMethod(t, func(request Harmless) any {
			id := jsonrpc.StringID("mcpconform: a string for " + request.Method)
			asked := server.Call(request.Method, request.With(nil), WithID(id))
			return asked.Must(BeAnswered)
		})
	})

	It("answers requests with progress tokens of each kind", Verifies("base.requests.answered"), func(t *T) {
		server := Session(t)
		server.Call(aMethod(t), nil).Need().Result() // or else nothing shows what it stumbles over

		for _, token := range []any{0, "", "mcpconform", lastExactInteger} {
			reply := server.Call(aMethod(t), Object{"_meta": Object{"progressToken": token}}).Must(BeAnswered)

			t.Expect(reply).To(BeResult())
		}
		AcceptInEachMethod(t, func(request Harmless) any {
			token := Object{"progressToken": "mcpconform-" + request.Method}
			return server.Call(request.Method, request.With(token)).Must(BeAnswered)
		})
	})

	otherTimes()

	unknownMembers()
}

func answering() {
	It("answers requests of a client that opens the connection as the revision specifies",
		Opens(), Verifies("base.components.required"), ByBarrier(), func(t *T) {
			server := Connect(t)

			if t.Has(protocol.PerRequestMeta) {
				server.Speak(t.Revision(), scripted.Nothing())
			} else {
				_, err := server.Handshake(Hello(t, t.Revision()))
				t.Demand(err == nil, "a handshake that succeeds", text(err))
			}

			t.Expect(server.Call(BarrierMethod(t), nil).Must()).To(BeResult())
		})

	It("answers each of many concurrent requests", Verifies("base.requests.answered"), ByBarrier(), func(t *T) {
		server := Session(t)

		var open []*Answer
		for position := range openAtOnce {
			id := jsonrpc.IntID(firstOfMany + int64(position))
			open = append(open, server.Call(BarrierMethod(t), nil, WithID(id)))
		}

		for _, request := range open {
			request.Must(BeAnswered)
		}
	})
}

func otherTimes() {
	It("answers a request that comes before notifications/initialized, and continues",
		Opens(), Verifies("base.requests.answered"), AtRevisionsWith(protocol.Handshake), func(t *T) {
			server := Connect(t)
			server.Adopt(server.Call("initialize", Hello(t, t.Revision())).Need().Result())

			server.Call(aMethod(t), nil).Must(BeAnswered)

			t.Observe() // with a result or an error, as it likes
			server.Notify("notifications/initialized", nil).Must()
			server.StaysUsable()
		})

	It(
		"continues after a request that comes before initialize",
		Opens(),
		Verifies("base.errors.survived"),
		AtRevisionsWith(protocol.Handshake),
		NeedsTransport(protocol.Stdio),
		func(t *T) {
			Session(t) // or else nothing shows what it stumbles over
			server := Connect(t)
			id := jsonrpc.StringID("mcpconform-before-initialize")
			early := jsonrpc.NewRequest(id, unknownMethod, nil)
			server.Call(unknownMethod, nil, WithID(id), Raw(early, beforeInitialize))

			t.Expect(server.Call("initialize", Hello(t, t.Revision())).Must(BeAnswered)).To(BeResult())
		},
	)

	It("answers requests after notifications/initialized with _meta",
		Opens(), Verifies("base.requests.answered"), AtRevisionsWith(protocol.Handshake), func(t *T) {
			Session(t).Call(aMethod(t), nil).Need().Result() // or else nothing shows what it stumbles over
			server := Connect(t)
			server.Adopt(server.Call("initialize", Hello(t, t.Revision())).Need().Result())

			server.Notify("notifications/initialized", Object{"_meta": Object{"com.example/trace": Object{"id": 7}}}).Must()

			t.Expect(server.Call(aMethod(t), nil).Must(BeAnswered)).To(BeResult())
		})

	It("answers requests, and those of other clients, after a client disconnects during a call",
		Verifies("base.requests.answered"), NeedsTransport(protocol.HTTP), NeedsProvocation("slow"), ByBarrier(), func(t *T) {
			server, other := FreshSession(t), UnusedSession(t)
			slow := Provoking(t, "slow").Call()
			call := server.Call("tools/call", slow)
			beside := jsonrpc.StringID("mcpconform-beside-disconnection")
			ofAnother := other.Call("tools/call", slow, WithID(beside))
			server.Barrier() // the calls are under way

			call.Delivery.Cut()

			id := jsonrpc.StringID("mcpconform-after-disconnection")
			t.Expect(server.Call(BarrierMethod(t), nil, WithID(id)).Must(BeAnswered)).To(BeResult())
			ofAnother.Must(BeAnswered)
		})
}

func unknownMembers() {
	It("answers or rejects initialize whose clientInfo has no version",
		Verifies("base.errors.survived"), AtRevisionsWith(protocol.Handshake), NeedsTransport(protocol.HTTP), func(t *T) {
			Session(t) // or else nothing shows what it stumbles over
			hello := Hello(t, t.Revision())
			hello["clientInfo"] = Object{"name": "mcpconform"}

			reply := Connect(t).Call("initialize", hello, ToBeRefused("clientInfo without a version")).May()

			var found string
			if !reply.Answered() {
				t.Judging(Status{Response: reply.Instead})
				found = reply.Instead.Error()
			}
			refused := reply.Answered() || reply.Status < http.StatusInternalServerError
			t.Demand(refused, "a JSON-RPC response, or an HTTP client error", found)
		})

	It("accepts params with unknown members", Verifies("base.requests.extra-members"), func(t *T) {
		acceptsParams(t, "mcpconformUnknown", Object{"nested": true})
	})

	It("accepts requests with unknown members in clientCapabilities",
		Verifies("base.requests.extra-members"), AtRevisionsWith(protocol.PerRequestMeta), func(t *T) {
			server := Session(t)

			AcceptInEachMethod(t, func(request Harmless) any {
				return server.Call(request.Method, request.With(Object{mcp.MetaCapabilities: unknownName(t)}), ToBeRefused("")).May().OrStatus()
			})
		})

	It("accepts requests with unexpected values at reserved _meta keys", Verifies("base.meta.reserved-values"), func(t *T) {
		acceptsParams(t, "_meta", Object{ // the prefix is reserved by the words of both revisions
			"dev.mcp.conformance/null":   nil,
			"dev.mcp.conformance/list":   []any{1, "two", Object{}},
			"dev.mcp.conformance/number": 0.5,
		})
	})
}

// unheardOf are capabilities with what no schema names: they are no closed set, and each
// is an open object.
func unknownName(t *T) Object {
	capabilities := Object{"mcpconformUnknown": Object{}}
	for name, declared := range scripted.Everything(t.Revision()) {
		more := maps.Clone(mcp.Object(declared))
		more["mcpconformUnknown"] = Object{"nested": true}
		capabilities[name] = more
	}
	return capabilities
}

// acceptsParams demands that a further member of the params changes nothing.
func acceptsParams(t *T, member string, value any) {
	server := Session(t)
	AcceptInEachMethod(t, func(request Harmless) any {
		params := Object{member: value}
		maps.Copy(params, request.Params)
		return server.Call(request.Method, params).Must(BeAnswered)
	})
}

// lastExactInteger is the last of the integers that a double tells from the next.
const lastExactInteger = 1<<53 - 1

// largeID needs more than 32 bits, and less than the 53 that a double holds.
const largeID = 1 << 40

func malformed() {
	It("rejects a request with an unknown method", Verifies("base.errors.unknown-method"), ByBarrier(), func(t *T) {
		server := Session(t)

		reply := server.Call(unknownMethod, nil).Must(BeAnswered)

		t.Expect(reply).To(BeJSONRPCError())
	})

	It("rejects a request with an unknown method under an id that is a string", Verifies("base.errors.unknown-method"), ByBarrier(), func(t *T) {
		server := Session(t)

		request := server.Call(unknownMethod, nil, WithID(jsonrpc.StringID("mcpconform-unknown")))

		t.Expect(request.Must(BeAnswered)).To(BeJSONRPCError())
	})

	It("rejects a request with an unknown method with -32601", Verifies("base.errors.method-not-found"), ByBarrier(), func(t *T) {
		server := Session(t)

		reply := server.Call(unknownMethod, nil).May()

		if _, refused := reply.Error(); !refused {
			t.NotApplicable("the server does not answer it with an error")
		}
		t.Expect(reply).To(BeJSONRPCError(jsonrpc.MethodNotFound))
	})

	It("answers a request that has the method of a notification with an error or an object, if at all",
		Verifies("base.schema.results"), AtRevisionsWith(protocol.Handshake), func(t *T) {
			server := FreshSession(t)

			replies := refusalsOf(t, server, notifying, "has the method of a notification")

			for _, reply := range replies {
				_, refused := reply.Error()
				result, _ := reply.Received.Result()
				_, isObject := result.(map[string]any)
				t.DemandOf(reply, refused || isObject, "an error, or a result that is an object")
			}
		})

	unreadable()

	continuing()
}

func unreadable() {
	It("answers text that is not JSON with -32700, if at all", Verifies("base.errors.parse-error"), func(t *T) {
		server := FreshSession(t)

		refusals := refusalsOf(t, server, notJSON, "not JSON")

		for _, refusal := range refusals {
			t.Expect(refusal).To(BeJSONRPCError(jsonrpc.ParseError))
		}
	})

	It("answers text that is not JSON without an invented id, if at all", Verifies("base.responses.id"), func(t *T) {
		server := FreshSession(t)

		refusals := refusalsOf(t, server, notJSON, "not JSON")

		judgeKnownIDs(t, refusals, jsonrpc.StringID("mcpconform-cut"))
	})

	It("answers a JSON-RPC batch without requests under no id, if at all", Verifies("base.responses.id"), func(t *T) {
		server := FreshSession(t)

		refusals := refusalsOf(t, server, aBatch, "a batch")

		judgeKnownIDs(t, refusals)
	})

	It("answers JSON that is not a JSON-RPC message with -32600, if at all", Verifies("base.errors.invalid-request"), func(t *T) {
		server := FreshSession(t)

		refusals := refusalsOf(t, server, noMessage, "a method that is not a string")

		for _, refusal := range refusals {
			t.Expect(refusal).To(BeJSONRPCError(jsonrpc.InvalidRequest))
		}
	})
}

func continuing() {
	continues := func(after, raw, reason string) {
		It("continues after "+after, Row(), Verifies("base.errors.survived"), func(t *T) {
			server := FreshSession(t)

			say(t, server, raw, reason)

			server.StaysUsable()
		})
	}
	continues("text that is not JSON", notJSON, "not JSON")
	continues("JSON that is not a JSON-RPC message", noMessage, "a method that is not a string")
	continues("a message that is not a JSON object", `"mcpconform"`, "a string where a message belongs")
	continues("a JSON-RPC batch", aBatch, "a batch")
	continues("text that is not UTF-8", brokenLetters, "bytes that are not UTF-8")

	It("continues after tools/call with arguments that are a string", Verifies("base.errors.survived"), NeedsCapability("tools"), func(t *T) {
		server := FreshSession(t)

		server.Survives(server.Call("tools/call", Object{"name": aTool(t), "arguments": "mcpconform"}, Illegal("arguments that are a string")))
	})

	continues("a response with an unknown id", `{"jsonrpc":"2.0","id":"mcpconform-never-asked","result":{}}`, "a response to no request")
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
	It("sends no response to known or unknown notifications", Verifies("base.notifications.unanswered"), func(t *T) {
		server := Session(t)
		mark := server.Mark()

		known := reasons(server, knownNotification(t), Object{"requestId": "mcpconform-never-asked"})
		unknown := reasons(server, "notifications/mcpconform-unknown", nil)
		if known != nil && unknown != nil {
			t.NotApplicable("the transport rejects notifications")
		}

		barrier := server.Call(BarrierMethod(t), nil).Must()

		t.DemandNone("no response to a notification", slices.DeleteFunc(responsesBut(server, mark, barrier),
			func(response scripted.Received) bool { return known[response.Index] || unknown[response.Index] }))
	})
}

// reasons sends a notification and returns by which messages without an id the server says
// why it refuses that, as the body of an HTTP error may; nil when it does not refuse it.
func reasons(server *Server, method string, params any) map[int]bool {
	mark := server.Mark()
	if server.Notify(method, params).May() {
		return nil
	}
	said := map[int]bool{}
	for _, response := range server.Sent(mark, isResponse) {
		said[response.Index] = response.ID == jsonrpc.NoID || response.ID == jsonrpc.NullID
	}
	return said
}

// knownNotification is one that clients may send at any time.
func knownNotification(t *T) string {
	if !t.Has(protocol.RootsListChanged) {
		return "notifications/cancelled"
	}
	return "notifications/roots/list_changed"
}

// aMethod is one that the server answers without any effect: a list that it
// declares, or what every server answers.
func aMethod(t *T) string {
	for _, feature := range []string{"tools", "prompts", "resources"} {
		if Declares(t, feature) {
			return feature + "/list"
		}
	}
	return BarrierMethod(t)
}

// aTool is the name of a tool, if the server lists any.
func aTool(t *T) string {
	for _, tool := range ListedTools(t) {
		if name, isText := tool["name"].(string); isText {
			return name
		}
	}
	return "mcpconform"
}

func isResponse(received scripted.Received) bool { return received.Kind == jsonrpc.Response }

// answeredID sends a request with an id and returns the id of the next response, which
// belongs to it even with another id: no other request is open.
func answeredID(t *T, server *Server, id jsonrpc.ID) jsonrpc.ID {
	request := server.Call(BarrierMethod(t), nil, WithID(id))
	return request.OrUntil(isResponse).Must().ID
}

// say sends something illegal; whether the transport takes it is all the same to most.
func say(t *T, server *Server, raw, reason string) *scripted.Delivery {
	message := scripted.Outgoing{Raw: []byte(raw), Deliberate: reason}
	switch kind := jsonrpc.Parse(message.Raw).Kind; {
	case !server.Transport().Mirrors():
	case kind == jsonrpc.Invalid || kind == jsonrpc.Batch:
		message.Header = completed(t, server)
	}
	delivery := server.Deliver(t, message)
	select {
	case <-delivery.Done():
	case <-wait.After(t, server.ReplyTime()): // what follows will tell
	case <-t.Done():
	}
	return delivery
}

// completed gives a body that headers cannot repeat those of a request that every server
// answers, so that nothing is wrong but the body.
func completed(t *T, server *Server) func(http.Header) {
	whole := server.HTTP.HeaderOf(http.MethodPost, []byte(barrierUnder(t, server, "mcpconform")))
	return func(header http.Header) {
		for name, values := range whole {
			if header.Get(name) == "" {
				header[name] = values
			}
		}
	}
}

// judgeKnownIDs judges that responses to illegal messages have no id, or that of a request.
func judgeKnownIDs(t *T, refusals []Reply, sent ...jsonrpc.ID) {
	for _, refusal := range refusals {
		isKnown := slices.Contains(sent, refusal.ID) || refusal.ID == jsonrpc.NoID || refusal.ID == jsonrpc.NullID
		t.DemandOf(refusal, isKnown, "no id, or the id of a request")
	}
}

// responsesBut returns the responses that came since a mark, without that to a request
// which followed what may have provoked them.
func responsesBut(server *Server, mark int, barrier Reply) []scripted.Received {
	return server.Sent(mark, func(received scripted.Received) bool { return isResponse(received) && received.ID != barrier.ID })
}

// refusalsOf sends something illegal and returns the responses to it, without those
// that find fault with the headers, which a server over HTTP may read first.
func refusalsOf(t *T, server *Server, raw, reason string) []Reply {
	mark := server.Mark()
	say(t, server, raw, reason)
	var barriers []jsonrpc.ID
	for range 2 { // a server that works on several messages at once may answer this one later
		barriers = append(barriers, server.NeedUsable("see the results of base.errors.survived").ID)
		var refusals []Reply
		for _, response := range server.Sent(mark, isResponse) {
			refusal, _ := response.Error()
			if !slices.Contains(barriers, response.ID) && (!server.Transport().Mirrors() || refusal.Code != jsonrpc.HeaderMismatch) {
				refusals = append(refusals, Reply{Received: response})
			}
		}
		if len(refusals) > 0 {
			return refusals
		}
	}
	t.NotApplicable("the server does not answer malformed messages")
	return nil
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
