// Package lifecycle checks the page basic/lifecycle.
package lifecycle

import (
	"context"
	"slices"

	. "github.com/mcpconform/mcpconform/internal/check"
	. "github.com/mcpconform/mcpconform/internal/conform"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/suites/client/asking"
)

// ServerChecks registers the checks of a target server. That its process exits
// when it should is judged by a rule, at the end of every connection.
func ServerChecks() {
	Describe("Initialization", Opens(), func() {
		initialization()
		inForms()
	})
	Describe("Version negotiation", Opens(), versionNegotiation)
	Describe("Capability negotiation", func() {
		capabilityNegotiation()
		unannounced()
	})
	Describe("Error handling", Opens(), errorHandling)
}

var anObject = Be("an object", func(value any) bool {
	_, isObject := value.(map[string]any)
	return isObject
})

var aString = Be("a string", func(value any) bool {
	_, isText := value.(string)
	return isText
})

// otherHandshake is the newest revision with a handshake beside the one under test.
func otherHandshake() string {
	var other string
	for _, revision := range protocol.Released() {
		if protocol.Has(revision, protocol.Handshake) && revision != Revision() {
			other = revision
		}
	}
	return other
}

func initialization() {
	It("answers initialize with capabilities and serverInfo", Verifies("lifecycle.initialize.answered"),
		func(ctx SpecContext) {
			server := Connect(ctx)

			result := server.Call(ctx, "initialize", Hello(Revision()))

			Expect(result).To(HaveMember("capabilities", anObject))
			Expect(result).To(HaveMember("serverInfo", anObject))
			Expect(result["serverInfo"]).To(HaveMember("name", aString))
			Expect(result["serverInfo"]).To(HaveMember("version", aString))
		})

	It("answers initialize under an id that is a string", Verifies("lifecycle.initialize.answered"),
		func(ctx SpecContext) {
			Session(ctx) // or else nothing shows what it stumbles over
			server := Connect(ctx)

			id := jsonrpc.StringID("mcpconform-initialize")
			request := server.StartRaw(ctx, id, "initialize", scripted.Outgoing{}, Hello(Revision()))

			Expect(server.MustAwait(ctx, request)).To(BeResult())
		})

	It(
		"answers initialize of a client with capabilities that it does not know",
		Verifies("lifecycle.initialize.answered"),
		func(ctx SpecContext) {
			Session(ctx) // or else nothing shows what it stumbles over
			unknown := Object{"setting": []any{1, "two"}}
			capabilities := scripted.Nothing().
				With("roots", Object{"listChanged": true, "mcpconformUnknown": unknown}).
				With("elicitation", Object{"form": Object{"mcpconformUnknown": true}, "mcpconformUnknown": Object{}}).
				With("experimental", Object{"com.example/mcpconform": unknown}).
				With("mcpconformUnknown", unknown)

			reply := Connect(ctx).MustAsk(ctx, "initialize", scripted.Hello(Revision(), capabilities))

			Expect(reply).To(BeResult())
		},
	)

	It(
		"answers initialize of a client with capabilities that have no members",
		Verifies("lifecycle.initialize.answered"),
		func(ctx SpecContext) {
			Session(ctx) // or else nothing shows what it stumbles over
			capabilities := scripted.Nothing()
			for _, name := range []string{"roots", "sampling", "elicitation", "experimental"} {
				capabilities = capabilities.With(name, Object{})
			}

			reply := Connect(ctx).MustAsk(ctx, "initialize", scripted.Hello(Revision(), capabilities))

			Expect(reply).To(BeResult())
		},
	)

	It("answers initialize of a client that tells more of itself", Verifies("lifecycle.initialize.answered"),
		func(ctx SpecContext) {
			Session(ctx) // or else nothing shows what it stumbles over
			hello := Hello(Revision())
			hello["_meta"] = Object{"com.example/trace": Object{"id": 7}}
			info := Object{"name": "mcpconform", "title": "MCP conformance harness", "version": "1.0.0"}
			if RevisionHas(protocol.Icons) {
				info["description"] = "A client that tells all that there is to be told."
				info["websiteUrl"] = "https://example.com"
				info["icons"] = []any{
					Object{"src": "https://example.com/icon.png"},
					Object{"src": "https://example.com/icon.svg", "mimeType": "image/svg+xml", "sizes": []any{"any"}},
				}
			}
			hello["clientInfo"] = info

			reply := Connect(ctx).MustAsk(ctx, "initialize", hello)

			Expect(reply).To(BeResult())
		})

	It("answers initialize of a client of another revision, which declares what that has",
		Verifies("lifecycle.initialize.answered"),
		func(ctx SpecContext) {
			Session(ctx) // or else nothing shows what it stumbles over
			other := otherHandshake()

			reply := Connect(ctx).MustAsk(ctx, "initialize", scripted.Hello(other, scripted.Everything(other)))

			Expect(reply).To(BeResult())
		})

	It(
		"answers initialize that has MCP-Protocol-Version",
		Verifies("lifecycle.initialize.answered"),
		NeedsTransport(protocol.HTTP),
		func(ctx SpecContext) {
			server := Connect(ctx)
			server.HTTP.SetVersion(Revision()) // it is wanted of later requests, and forbidden in none

			result := server.Call(ctx, "initialize", Hello(Revision()))

			Expect(result).To(HaveMember("serverInfo", anObject))
		},
	)

	It(
		"sends no requests other than ping between initialize and notifications/initialized",
		Verifies("lifecycle.requests.before-initialized"),
		func(ctx SpecContext) {
			server := Connect(ctx)

			result := server.Need(ctx, "initialize", Hello(Revision()))

			adopt(server, result)
			_, _ = server.Listen(ctx) // where there is such a stream, requests would come there
			server.BarrierOnAllStreams(ctx)
			early := server.Sent(server.Began(), isRequestButPing)
			DemandNone("no request but pings before notifications/initialized", early)
		},
	)
}

// unknownRevision is one that nobody speaks.
const unknownRevision = "1900-01-01"

func versionNegotiation() {
	It("answers with the requested protocolVersion if it supports it", Verifies("lifecycle.version.echoed"),
		func(ctx SpecContext) {
			server := Connect(ctx)

			result := server.Need(ctx, "initialize", Hello(Revision()))

			Expect(result).To(HaveMember("protocolVersion", Revision()))
		})

	It("answers an unknown protocolVersion with one that it supports", Verifies("lifecycle.version.countered"),
		Together("unknown version"),
		func(ctx SpecContext) {
			unknown := []string{unknownRevision}
			if Transport() == protocol.HTTP { // where another connection costs no process
				unknown = append(unknown, "2999-12-31", "")
			}

			answered := false
			for _, version := range unknown {
				reply := Opened(ctx, (*Server).MustAsk, Hello(version))

				if refusal, refused := reply.Error(); refused && refusal.Code == jsonrpc.InvalidParams {
					continue // as the example under the heading Error Handling does
				}
				answered = true
				Expect(reply).To(HaveMember("protocolVersion", BeARevision()))
			}
			if !answered {
				NotApplicable("the server rejects the handshake, as in the example under Error Handling")
			}
		})

	It("answers a protocolVersion that has no initialize with one that has it",
		Verifies("lifecycle.version.countered"),
		func(ctx SpecContext) {
			server := Connect(ctx)

			reply := server.MustAsk(ctx, "initialize", Hello(protocol.Newest()))

			if refusal, refused := reply.Error(); refused &&
				(refusal.Code == jsonrpc.InvalidParams || refusal.Code == jsonrpc.UnsupportedRevision) {
				NotApplicable("the server rejects the handshake, as in the example under Error Handling")
			}
			answered, _ := reply.Object()["protocolVersion"].(string)
			DemandOf(
				reply,
				slices.Contains(protocol.Released(), answered) && protocol.Has(answered, protocol.Handshake),
				"a protocolVersion that has initialize",
			)
		})

	It(
		"answers an unknown protocolVersion with the latest that it supports",
		Verifies("lifecycle.version.countered-with-latest"),
		Together("unknown version"),
		func(ctx SpecContext) {
			reply := Opened(ctx, (*Server).NeedReply, Hello(unknownRevision))
			answered, _ := reply.Object()["protocolVersion"].(string)
			if !slices.Contains(protocol.Released(), answered) {
				Inconclusive(
					"the server answered an unknown revision with "+Show(answered),
					"see the result of lifecycle.version.countered",
				)
			}

			Observe() // of the latest of all there is no later one to ask for
			for _, later := range protocol.Released() {
				if later > answered && later <= protocol.Last(protocol.Handshake) {
					asked := Connect(ctx).Need(ctx, "initialize", Hello(later))["protocolVersion"]
					Judging(reply)
					Demand(asked != later, "the latest revision that it supports, "+later, answered)
				}
			}
		},
	)
}

func capabilityNegotiation() {
	It(
		"implements tools/list if it declares tools",
		Verifies("lifecycle.capabilities.offered", "discover.capabilities.kept"),
		NeedsCapability("tools"),
		func(ctx SpecContext) {
			server := Session(ctx)

			judgeKnown(ctx, server, Request{Method: "tools/list"})
		},
	)

	It(
		"implements prompts/list if it declares prompts",
		Verifies("lifecycle.capabilities.offered", "discover.capabilities.kept"),
		NeedsCapability("prompts"),
		func(ctx SpecContext) {
			server := Session(ctx)

			judgeKnown(ctx, server, Request{Method: "prompts/list"})
		},
	)

	It(
		"implements resources/list if it declares resources",
		Verifies("lifecycle.capabilities.offered", "discover.capabilities.kept"),
		NeedsCapability("resources"),
		func(ctx SpecContext) {
			server := Session(ctx)

			judgeKnown(ctx, server, Request{Method: "resources/list"})
		},
	)

	It(
		"implements resources/templates/list if it declares resources",
		Verifies("lifecycle.capabilities.offered"),
		AtRevisionsWith(protocol.Handshake),
		NeedsCapability("resources"),
		func(ctx SpecContext) {
			server := Session(ctx)

			judgeKnown(ctx, server, Request{Method: "resources/templates/list"})
		},
	)

	It(
		"implements resources/subscribe if it declares resources.subscribe",
		Verifies("lifecycle.capabilities.offered"),
		NeedsCapability("resources.subscribe"),
		func(ctx SpecContext) {
			server := FreshSession(ctx)

			judgeKnown(
				ctx,
				server,
				Request{Method: "resources/subscribe", Params: Object{"uri": unknownURI}, Name: unknownURI},
			)
		},
	)

	It(
		"implements completion/complete if it declares completions",
		Verifies("lifecycle.capabilities.offered", "discover.capabilities.kept"),
		NeedsCapability("completions"),
		func(ctx SpecContext) {
			server := Session(ctx)

			judgeKnown(ctx, server, Request{Method: "completion/complete", Params: Object{
				"ref":      Object{"type": "ref/prompt", "name": unknownPrompt},
				"argument": Object{"name": "any", "value": ""},
			}, Name: unknownPrompt})
		},
	)

	It(
		"implements logging/setLevel if it declares logging",
		Verifies("lifecycle.capabilities.offered"),
		NeedsCapability("logging"),
		func(ctx SpecContext) {
			server := FreshSession(ctx)

			judgeKnown(ctx, server, Request{Method: "logging/setLevel", Params: Object{"level": "info"}})
		},
	)

	It(
		"implements tasks/get if it declares tasks",
		Verifies("lifecycle.capabilities.offered"),
		NeedsCapability("tasks"),
		func(ctx SpecContext) {
			server := Session(ctx)

			judgeKnown(
				ctx,
				server,
				Request{Method: "tasks/get", Params: Object{"taskId": unknownTask}, Name: unknownTask},
			)
		},
	)
}

// What no server has.
const (
	unknownMethod = "mcpconform/unknown"
	unknownURI    = "mcpconform://no-such-resource"
	unknownPrompt = "mcpconform-no-such-prompt"
	unknownTask   = "mcpconform-no-such-task"
)

// judgeKnown judges that a method is not refused as unknown; whether the answer is
// right is for the checks of its page. An error shows that the method is known when it
// names what was wrong, or is another one, or of another code, than that for a method that
// is not.
func judgeKnown(ctx context.Context, server *Server, asked Request) {
	unknown, respondedToUnknown := server.Try(ctx, unknownMethod, nil)
	reply, responded := server.Try(ctx, asked.Method, asked.Params) // last: a report shows the last answer

	refusal, refused := reply.Error()
	unknownRefusal, _ := unknown.Error()
	alike := !responded && !respondedToUnknown || reply.Alike(asked.Name, unknown, unknownMethod)
	if alike && refusal.Code == unknownRefusal.Code && refusal.Code != jsonrpc.MethodNotFound {
		Inconclusive("the server rejects "+asked.Method+" as it does an unknown method: "+reply.Describe(),
			"make sure that the server can serve "+asked.Method)
	}
	DemandOf(
		reply,
		responded && (!refused || refusal.Code != jsonrpc.MethodNotFound),
		"the method "+asked.Method+" to be known",
	)

}

func errorHandling() {
	It("continues after an initialize with an unknown protocolVersion", Verifies("lifecycle.errors.version"),
		Together("unknown version"),
		func(ctx SpecContext) {
			server := Connect(ctx)

			asked := server.Start(ctx, "initialize", Hello(unknownRevision))
			Connect(ctx).Need(ctx, "initialize", Hello(Revision()))
			reply := server.MustAwait(ctx, asked)
			if _, refused := reply.Error(); !refused {
				adopt(server, reply.Object())
				// Who serves nothing before it has not failed here.
				server.Accepts(ctx, "notifications/initialized", nil)
				server.StaysUsable(ctx)
			}
		})

	It("handles a client that declares no capabilities", Verifies("lifecycle.errors.capabilities"),
		Together("declaring nothing"),
		func(ctx SpecContext) {
			server := Connect(ctx)

			reply := server.MustAsk(ctx, "initialize", scripted.Hello(Revision(), scripted.Nothing()))

			if _, refused := reply.Error(); refused {
				Session(ctx) // of a client that declares everything
				Observe()    // it needs more, and says so
				return
			}
			adopt(server, reply.Object())
			server.Tell(ctx, "notifications/initialized", nil)
			server.StaysUsable(ctx)
		})

	It(
		"continues while its sampling/createMessage request is not answered",
		Verifies("lifecycle.errors.timeouts"),
		NeedsProvocation("sampling"),
		func(ctx SpecContext) {
			server := FreshSession(ctx)
			server.Answer("sampling/createMessage", scripted.Silence)

			question := asking.Provoke(ctx, server, "sampling", "sampling/createMessage")

			server.StaysUsable(ctx)
			question.GiveUp(ctx)
		},
	)
}

func isRequestButPing(received scripted.Received) bool {
	return received.Kind == jsonrpc.Request && received.Method != "ping"
}

// adopt goes on with the revision that the server has answered with.
func adopt(server *Server, result Object) {
	if answered, isText := result["protocolVersion"].(string); isText && server.HTTP != nil {
		server.HTTP.SetVersion(answered)
	}
}
