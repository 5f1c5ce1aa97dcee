package base

import (
	"context"
	"iter"
	"slices"

	. "github.com/mcpconform/mcpconform/internal/check"
	. "github.com/mcpconform/mcpconform/internal/conform"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/mcp"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/scripted"
	serverlists "github.com/mcpconform/mcpconform/suites/server/lists"
)

// statelessness checks that each request stands for itself.
func statelessness() {
	It("accepts a first request other than server/discover, and lists the same in any order",
		Verifies("base.stateless.context"), func(t *T) {
			methods := lists(t)
			greeted := Connect(t)
			greeted.Need(t, "server/discover", nil)
			onward := listed(t, greeted, slices.All(methods)) // or else nothing shows what it is refused for
			server := Connect(t)

			back := map[string][]any{}
			for _, method := range slices.Backward(methods) {
				t.Expect(server.Ask(t, method, nil)).To(BeResult())
				back[method] = serverlists.Keys(t, server, method)
			}
			for _, method := range methods {
				if serverlists.SameItems(onward[method], back[method]) {
					continue
				}
				judgeOrder(t, methods, method, onward[method], back[method])
			}
		})

	It("serves requests after a notification as before it",
		Verifies("base.stateless.context"), NeedsTransport(protocol.Stdio), func(t *T) {
			other := Connect(t)
			other.Need(t, "server/discover", nil)
			greeted := other.Need(t, aMethod(t), nil)
			server := Connect(t)

			crossed := server.Start(t, "server/discover", nil)
			server.Abandon(t, crossed)
			reply := server.Ask(t, aMethod(t), nil)

			t.Expect(reply).To(BeResult())
			_, before := greeted["resultType"] // results of the handshake era have none
			_, after := reply.Object()["resultType"]
			t.Demand(after || !before, "a result with a resultType, as before the notification", "one without")
		})

	It("rejects a request without clientCapabilities even if an earlier request had them",
		Verifies("base.stateless.context"), func(t *T) {
			server := FreshSession(t)

			server.Need(t, aMethod(t), nil)
			reply, _ := server.Provoke(t, aMethod(t), meta(mcp.MetaCapabilities, scripted.Omitted), "no clientCapabilities")

			t.Expect(reply).To(BeJSONRPCError())
		})

	It("ignores capabilities that only an earlier request declared", Verifies("base.stateless.context"), func(t *T) {
		asking, capability := askingTool(t, Session(t))
		if alone := UnusedSession(
			t,
		).NeedOnce(t, "tools/call", callBy(asking, Object{})); alone.Object()["resultType"] == inputRequired {
			t.NotApplicable("the server requests " + capability + " of every client, whatever it declares")
		}
		server := FreshSession(t)
		if asked := server.NeedOnce(t, "tools/call", asking.Call()); asked.Object()["resultType"] != inputRequired {
			t.Inconclusive(
				"the tool "+asking.Tool+" did not ask the client for input: "+asked.Describe(),
				"name a tool that always requests input in mcpconform.yaml",
			)
		}

		reply := server.Once(t, "tools/call", callBy(asking, Object{}))

		t.DemandOf(
			reply,
			reply.Object()["resultType"] != inputRequired,
			"no request for input from a client that does not declare "+capability+" in this request",
		)
	})

	It("accepts a declared capability that an earlier request did not declare", Verifies("base.stateless.context"), func(t *T) {
		asking, capability := askingTool(t, Session(t))
		server := FreshSession(t)

		server.NeedOnce(t, "tools/call", callBy(asking, Object{}))
		reply := server.Once(t, "tools/call", asking.Call())

		t.DemandOf(reply, !lacks(reply), "the capability "+capability+" to be accepted, as this request declares it")
	})

	It("ignores the logLevel of an earlier request", Verifies("base.stateless.context"), NeedsProvocation("logging"), func(t *T) {
		server := FreshSession(t)
		loud, quiet := Provoking(t, "logging").Call(), Provoking(t, "logging").Call()
		loud["_meta"] = Object{mcp.MetaLogLevel: "debug"}
		before := server.Mark()
		server.Need(t, "tools/call", loud)
		if len(server.Sent(before, Notification("notifications/message"))) == 0 {
			t.NotApplicable("the server logs nothing for a request with the logLevel debug")
		}

		mark := server.Mark()
		server.Need(t, "tools/call", quiet)
		server.BarrierOnAllStreams(t)

		logged := server.Sent(mark, Notification("notifications/message"))
		t.DemandNone("no log messages for a request without logLevel", logged)
	})

	It("answers interleaved requests of two clients on one connection", Verifies("base.stateless.interleaved"), func(t *T) {
		server := Session(t)
		server.Need(t, aMethod(t), nil) // or else nothing shows what it stumbles over

		var open []*scripted.Pending
		for turn := range openAtOnce {
			open = append(open, server.Start(t, aMethod(t), clientOfTurn(turn)))
		}

		for _, request := range open {
			t.Expect(server.Await(t, request)).To(BeResult())
		}
	})

	It("answers requests of two clients with the same id each with its own result",
		Verifies("base.stateless.interleaved"), NeedsTransport(protocol.HTTP), func(t *T) {
			needMethod(t)
			if aMethod(t) == "server/discover" {
				t.NotApplicable("the server declares no list to compare with server/discover")
			}
			if _, told := Connect(t).Need(t, "server/discover", nil)["supportedVersions"]; !told {
				t.Inconclusive(
					"the answer to server/discover cannot be identified: it has no supportedVersions",
					"fix the failures of server/discover first",
				)
			}
			one, other := Connect(t), Connect(t)

			first := one.StartRaw(t, jsonrpc.StringID("mcpconform-shared"), aMethod(t), scripted.Outgoing{}, nil)
			second := other.StartRaw(
				t,
				jsonrpc.StringID("mcpconform-shared"),
				"server/discover",
				scripted.Outgoing{},
				secondClient(),
			)

			t.Expect(one.Await(t, first)).To(HaveMember(mcp.ListMember(aMethod(t))))
			t.Expect(other.Await(t, second)).To(HaveMember("supportedVersions"))
		})

	It("answers a request that reuses the id of an answered request", Verifies("base.requests.id-again"), func(t *T) {
		server := Session(t)

		for range 2 {
			reply := server.Await(
				t,
				server.StartRaw(t, jsonrpc.StringID("mcpconform-again"), BarrierMethod(t), scripted.Outgoing{}, nil),
			)
			t.Expect(reply).To(BeResult())
		}
	})

	It("accepts a nextCursor from another connection", Verifies("base.stateless.connection"), func(t *T) {
		method, cursor := furtherPage(t, Session(t))
		other := Connect(t)

		reply := other.Ask(t, method, Object{"cursor": cursor})

		t.Expect(reply).To(BeResult())
	})

	It("accepts resources/read or prompts/get of a listed item on another connection",
		Verifies("base.stateless.connection"), func(t *T) {
			method, params := somethingListed(t)
			Session(t).Need(t, method, params)
			other := Connect(t)

			params["_meta"] = Object{mcp.MetaClientInfo: Object{"name": "mcpconform-elsewhere", "version": "1.0.0"}}
			reply := other.Ask(t, method, params)

			t.Expect(reply).To(BeResult())
		})
}

// clientOfTurn makes every other request one of a second client, which offers
// nothing.
func clientOfTurn(turn int) Object {
	if turn%2 == 0 {
		return Object{}
	}
	second := secondClient()
	second["_meta"].(Object)[mcp.MetaCapabilities] = Object{}
	return second
}

// secondClient makes a request one of a second client.
func secondClient() Object {
	return meta(mcp.MetaClientInfo, Object{"name": "mcpconform-second", "version": "1.0.0"})
}

// furtherPage returns the first list that has a further page, and its cursor.
func furtherPage(t *T, server *Server) (method string, cursor any) {
	for _, list := range []string{"tools", "prompts", "resources"} {
		if !Declares(t, list) {
			continue
		}
		if next, more := server.Need(t, list+"/list", nil)["nextCursor"]; more {
			return list + "/list", next
		}
	}
	t.NotApplicable("no list of the server has a second page")
	return "", nil
}

// somethingListed returns a request for something that the server lists and that
// has no effect: a resource, or a prompt without arguments.
func somethingListed(t *T) (method string, params Object) {
	for _, resource := range ListedResources(t) {
		if uri, isText := resource["uri"].(string); isText {
			return "resources/read", Object{"uri": uri}
		}
	}
	for _, prompt := range ListedPrompts(t) {
		if arguments, _ := prompt["arguments"].([]any); len(arguments) == 0 {
			return "prompts/get", Object{"name": prompt["name"]}
		}
	}
	t.NotApplicable("the server lists neither resources nor prompts without arguments")
	return "", nil
}

// inputRequired is the type of a result that asks for input.
const inputRequired = "input_required"

// lacks tells whether a reply says that the client did not declare what is needed.
func lacks(reply Reply) bool {
	refusal, refused := reply.Error()
	return refused && refusal.Code == jsonrpc.MissingCapability
}

// listed asks for lists in an order, and returns what each has.
func listed(ctx context.Context, server *Server, methods iter.Seq2[int, string]) map[string][]any {
	found := map[string][]any{}
	for _, method := range methods {
		found[method] = serverlists.Keys(ctx, server, method)
	}
	return found
}

// judgeOrder judges a list that was another one when the lists were asked for in the other
// order. One that changes with time is not the same again on connections of the same kind.
func judgeOrder(t *T, methods []string, method string, onward, back []any) {
	again := listed(t, Connect(t), slices.All(methods))[method]
	backAgain := listed(t, Connect(t), slices.Backward(methods))[method]
	if !serverlists.SameItems(onward, again) || !serverlists.SameItems(back, backAgain) {
		t.Inconclusive("what "+method+" lists changes over time", "check a server whose lists stay the same")
	}
	t.Judge(Mismatch{
		Wanted: "the same from " + method + " in whatever order the lists are requested: " + Show(onward),
		Found:  "requested in the other order: " + Show(back),
	})
}
