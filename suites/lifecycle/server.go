// Package lifecycle checks the page basic/lifecycle.
package lifecycle

import (
	"slices"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/mcp"
	"github.com/mcpconform/mcpconform/internal/protocol"
	. "github.com/mcpconform/mcpconform/internal/refusal"
	"github.com/mcpconform/mcpconform/internal/scripted"
	. "github.com/mcpconform/mcpconform/internal/session"
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
func otherHandshake(t *T) string {
	var other string
	for _, revision := range protocol.Released() {
		if protocol.Has(revision, protocol.Handshake) && revision != t.Revision() {
			other = revision
		}
	}
	return other
}

func initialization() {
	It("answers initialize with capabilities and serverInfo", Verifies("lifecycle.initialize.answered"), func(t *T) {
		server := Connect(t)

		result := server.Call("initialize", Hello(t, t.Revision())).Must().Result()

		t.Expect(result).To(HaveMember("capabilities", anObject))
		t.Expect(result).To(HaveMember("serverInfo", anObject))
		t.Expect(result["serverInfo"]).To(HaveMember("name", aString))
		t.Expect(result["serverInfo"]).To(HaveMember("version", aString))
	})

	It("answers initialize under an id that is a string", Verifies("lifecycle.initialize.answered"), func(t *T) {
		Session(t) // or else nothing shows what it stumbles over
		server := Connect(t)

		id := jsonrpc.StringID("mcpconform-initialize")
		request := server.Call("initialize", Hello(t, t.Revision()), WithID(id))

		t.Expect(request.Must(BeAnswered)).To(BeResult())
	})

	It("answers initialize with unknown capabilities", Verifies("lifecycle.initialize.answered"), func(t *T) {
		Session(t) // or else nothing shows what it stumbles over
		unknown := Object{"setting": []any{1, "two"}}
		capabilities := scripted.Nothing().
			With("roots", Object{"listChanged": true, "mcpconformUnknown": unknown}).
			With("elicitation", Object{"form": Object{"mcpconformUnknown": true}, "mcpconformUnknown": Object{}}).
			With("experimental", Object{"com.example/mcpconform": unknown}).
			With("mcpconformUnknown", unknown)

		reply := Connect(t).Call("initialize", scripted.Hello(t.Revision(), capabilities)).Must(BeAnswered)

		t.Expect(reply).To(BeResult())
	})

	It("answers initialize with capabilities that are empty objects", Verifies("lifecycle.initialize.answered"), func(t *T) {
		Session(t) // or else nothing shows what it stumbles over
		capabilities := scripted.Nothing()
		for _, name := range []string{"roots", "sampling", "elicitation", "experimental"} {
			capabilities = capabilities.With(name, Object{})
		}

		reply := Connect(t).Call("initialize", scripted.Hello(t.Revision(), capabilities)).Must(BeAnswered)

		t.Expect(reply).To(BeResult())
	})

	furtherOpenings()
}

func furtherOpenings() {
	It("answers initialize with all optional members of clientInfo", Verifies("lifecycle.initialize.answered"), func(t *T) {
		Session(t) // or else nothing shows what it stumbles over
		hello := Hello(t, t.Revision())
		hello["_meta"] = Object{"com.example/trace": Object{"id": 7}}
		info := scripted.ClientInfo(t.Revision())
		if t.Has(protocol.Icons) {
			info["description"] = "A client that tells all that there is to be told."
			info["websiteUrl"] = "https://example.com"
			info["icons"] = []any{
				Object{"src": "https://example.com/icon.png"},
				Object{"src": "https://example.com/icon.svg", "mimeType": "image/svg+xml", "sizes": []any{"any"}},
			}
		}
		hello["clientInfo"] = info

		reply := Connect(t).Call("initialize", hello).Must(BeAnswered)

		t.Expect(reply).To(BeResult())
	})

	It("answers initialize of another revision with all capabilities of that revision", Verifies("lifecycle.initialize.answered"), func(t *T) {
		Session(t) // or else nothing shows what it stumbles over
		other := otherHandshake(t)

		reply := Connect(t).Call("initialize", scripted.Hello(other, scripted.Everything(other))).Must(BeAnswered)

		t.Expect(reply).To(BeResult())
	})

	It("answers initialize with an MCP-Protocol-Version header",
		Verifies("lifecycle.initialize.answered"), NeedsTransport(protocol.HTTP), func(t *T) {
			server := Connect(t)
			server.SetVersion(t.Revision()) // it is wanted of later requests, and forbidden in none

			result := server.Call("initialize", Hello(t, t.Revision())).Must().Result()

			t.Expect(result).To(HaveMember("serverInfo", anObject))
		})

	It("sends no requests other than ping between initialize and notifications/initialized",
		Verifies("lifecycle.requests.before-initialized"), func(t *T) {
			server := Connect(t)

			result := server.Call("initialize", Hello(t, t.Revision())).Need().Result()

			server.Adopt(result)
			_, _ = server.Listen(t) // where there is such a stream, requests would come there
			server.BarrierOnAllStreams()
			early := server.Sent(server.Began(), isRequestButPing)
			t.DemandNone("no request but pings before notifications/initialized", early)
		})
}

// unknownRevision is before the first revision.
const unknownRevision = "1900-01-01"

func versionNegotiation() {
	It("answers with the requested protocolVersion if it supports it", Verifies("lifecycle.version.echoed"), func(t *T) {
		server := Connect(t)

		result := server.Call("initialize", Hello(t, t.Revision())).Need().Result()

		t.Expect(result).To(HaveMember("protocolVersion", t.Revision()))
	})

	It("answers an unknown protocolVersion with one that it supports",
		Verifies("lifecycle.version.countered"), Together("unknown version"), func(t *T) {
			unknown := []string{unknownRevision}
			if t.Transport().Exchanges() { // where another connection costs no process
				unknown = append(unknown, "2999-12-31", "1.0.0", "")
			}

			answered := false
			for _, version := range unknown {
				reply := Opened(t, Hello(t, version)).Must(BeAnswered)

				if refusal, refused := reply.Error(); refused && refusal.Code == jsonrpc.InvalidParams {
					continue // as the example under the heading Error Handling does
				}
				answered = true
				t.Expect(reply).To(HaveMember("protocolVersion", BeARevision()))
			}
			if !answered {
				t.NotApplicable("the server rejects the handshake, as in the example under Error Handling")
			}
		})

	versionsInstead()
}

func versionsInstead() {
	It("answers a protocolVersion that has no initialize with one that has it", Verifies("lifecycle.version.countered"), func(t *T) {
		server := Connect(t)

		reply := server.Call("initialize", Hello(t, protocol.Newest())).Must(BeAnswered)

		if refusal, refused := reply.Error(); refused &&
			(refusal.Code == jsonrpc.InvalidParams || refusal.Code == jsonrpc.UnsupportedRevision) {
			t.NotApplicable("the server rejects the handshake, as in the example under Error Handling")
		}
		answered := mcp.Text(reply.Object(), "protocolVersion")
		t.DemandOf(
			reply,
			slices.Contains(protocol.Released(), answered) && protocol.Has(answered, protocol.Handshake),
			"a protocolVersion that has initialize",
		)
	})

	It("answers an unknown protocolVersion with the latest that it supports",
		Verifies("lifecycle.version.countered-with-latest"), Together("unknown version"), func(t *T) {
			reply := Opened(t, Hello(t, unknownRevision)).Need()
			answered := mcp.Text(reply.Object(), "protocolVersion")
			if !slices.Contains(protocol.Released(), answered) {
				t.Inconclusive("the server answered an unknown revision with "+Show(answered), "see the result of lifecycle.version.countered")
			}

			t.Observe() // of the latest of all there is no later one to ask for
			for _, later := range protocol.Released() {
				if later > answered && later <= protocol.Last(protocol.Handshake) {
					asked := Connect(t).Call("initialize", Hello(t, later)).Need().Result()["protocolVersion"]
					t.Judging(reply)
					t.Demand(asked != later, "the latest revision that it supports, "+later, answered)
				}
			}
		})
}

func capabilityNegotiation() {
	lists := func(capability string) {
		It("implements "+capability+"/list if it declares "+capability, Row(),
			Verifies("lifecycle.capabilities.offered", "discover.capabilities.kept"), NeedsCapability(capability), func(t *T) {
				server := Session(t)

				judgeKnown(t, server, Request{Method: capability + "/list"})
			})
	}
	lists("tools")
	lists("prompts")
	lists("resources")

	It(
		"implements resources/templates/list if it declares resources",
		Verifies("lifecycle.capabilities.offered"),
		AtRevisionsWith(protocol.Handshake),
		NeedsCapability("resources"),
		func(t *T) {
			server := Session(t)

			judgeKnown(t, server, Request{Method: "resources/templates/list"})
		},
	)

	It("implements resources/subscribe if it declares resources.subscribe",
		Verifies("lifecycle.capabilities.offered"), NeedsCapability("resources.subscribe"), func(t *T) {
			server := FreshSession(t)

			judgeKnown(t, server, Request{Method: "resources/subscribe", Params: Object{"uri": unknownURI}, Name: unknownURI})
		})

	declaredUtilities()
}

func declaredUtilities() {
	It("implements completion/complete if it declares completions", AtRevisionsWith(protocol.Completions),
		Verifies("lifecycle.capabilities.offered", "discover.capabilities.kept"), NeedsCapability("completions"), func(t *T) {
			server := Session(t)

			judgeKnown(t, server, Request{Method: "completion/complete", Params: Object{
				"ref":      Object{"type": "ref/prompt", "name": unknownPrompt},
				"argument": Object{"name": "any", "value": ""},
			}, Name: unknownPrompt})
		})

	It("implements logging/setLevel if it declares logging", Verifies("lifecycle.capabilities.offered"), NeedsCapability("logging"), func(t *T) {
		server := FreshSession(t)

		judgeKnown(t, server, Request{Method: "logging/setLevel", Params: Object{"level": "info"}})
	})

	It("implements tasks/get if it declares tasks", AtRevisionsWith(protocol.Tasks), Verifies("lifecycle.capabilities.offered"), NeedsCapability("tasks"), func(t *T) {
		server := Session(t)

		judgeKnown(t, server, Request{Method: "tasks/get", Params: Object{"taskId": unknownTask}, Name: unknownTask})
	})
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
func judgeKnown(t *T, server *Server, asked Request) {
	unknown := server.Call(unknownMethod, nil).May()
	reply := server.Call(asked.Method, asked.Params).May() // last: a report shows the last answer

	refusal, refused := reply.Error()
	unknownRefusal, _ := unknown.Error()
	alike := !reply.Answered() && !unknown.Answered() || Alike(reply, asked.Name, unknown, unknownMethod)
	if alike && refusal.Code == unknownRefusal.Code && refusal.Code != jsonrpc.MethodNotFound {
		t.Inconclusive("the server rejects "+asked.Method+" as it does an unknown method: "+reply.Describe(),
			"make sure that the server can serve "+asked.Method)
	}
	t.DemandOf(reply, reply.Answered() && (!refused || refusal.Code != jsonrpc.MethodNotFound), "the method "+asked.Method+" to be known")

}

func errorHandling() {
	It("continues after an initialize with an unknown protocolVersion",
		Verifies("lifecycle.errors.version"), Together("unknown version"), func(t *T) {
			server := Connect(t)

			asked := server.Call("initialize", Hello(t, unknownRevision))
			Connect(t).Call("initialize", Hello(t, t.Revision())).Need().Result()
			reply := asked.Must(BeAnswered)
			if _, refused := reply.Error(); !refused {
				server.Adopt(reply.Object())
				// Who serves nothing before it has not failed here.
				server.Notify("notifications/initialized", nil).May()
				server.StaysUsable()
			}
		})

	It("handles a client that declares no capabilities", Verifies("lifecycle.errors.capabilities"), Together("declaring nothing"), func(t *T) {
		server := Connect(t)

		reply := server.Call("initialize", scripted.Hello(t.Revision(), scripted.Nothing())).Must(BeAnswered)

		if _, refused := reply.Error(); refused {
			Session(t)  // of a client that declares everything
			t.Observe() // it needs more, and says so
			return
		}
		server.Adopt(reply.Object())
		server.Notify("notifications/initialized", nil).Must()
		server.StaysUsable()
	})

	It("continues while its sampling/createMessage request is not answered",
		Verifies("lifecycle.errors.timeouts"), NeedsProvocation("sampling"), func(t *T) {
			server := FreshSession(t)
			server.Answer("sampling/createMessage", scripted.Silence)

			question := asking.Provoke(t, server, "sampling", "sampling/createMessage")

			server.StaysUsable()
			question.GiveUp(t)
		})
}

func isRequestButPing(received scripted.Received) bool {
	return received.Kind == jsonrpc.Request && received.Method != "ping"
}
