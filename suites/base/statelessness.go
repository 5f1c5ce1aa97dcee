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
	It("accepts a first request other than server/discover, and lists the same whatever it listed first",
		Verifies("base.stateless.context"),
		func(ctx SpecContext) {
			methods := lists()
			greeted := Connect(ctx)
			greeted.Need(ctx, "server/discover", nil)
			onward := listed(ctx, greeted, slices.All(methods)) // or else nothing shows what it is refused for
			server := Connect(ctx)

			back := map[string][]any{}
			for _, method := range slices.Backward(methods) {
				Expect(server.Ask(ctx, method, nil)).To(BeResult())
				back[method] = serverlists.Keys(ctx, server, method)
			}
			for _, method := range methods {
				if serverlists.SameItems(onward[method], back[method]) {
					continue
				}
				judgeOrder(ctx, methods, method, onward[method], back[method])
			}
		})

	It(
		"serves a request after a notification as it does before",
		Verifies("base.stateless.context"),
		NeedsTransport(protocol.Stdio),
		func(ctx SpecContext) {
			other := Connect(ctx)
			other.Need(ctx, "server/discover", nil)
			greeted := other.Need(ctx, aMethod(), nil)
			server := Connect(ctx)

			crossed := server.Start(ctx, "server/discover", nil)
			server.Abandon(ctx, crossed)
			reply := server.Ask(ctx, aMethod(), nil)

			Expect(reply).To(BeResult())
			_, before := greeted["resultType"] // results of the handshake era have none
			_, after := reply.Object()["resultType"]
			Demand(after || !before, "a result with a resultType, as before the notification", "one without")
		},
	)

	It(
		"rejects a request without clientCapabilities even if an earlier request had them",
		Verifies("base.stateless.context"),
		func(ctx SpecContext) {
			server := FreshSession(ctx)

			server.Need(ctx, aMethod(), nil)
			reply, _ := server.Provoke(
				ctx,
				aMethod(),
				meta(mcp.MetaCapabilities, scripted.Omitted),
				"no clientCapabilities",
			)

			Expect(reply).To(BeJSONRPCError())
		},
	)

	It("ignores capabilities that only an earlier request declared", Verifies("base.stateless.context"),
		func(ctx SpecContext) {
			asking, capability := askingTool(ctx, Session(ctx))
			if alone := UnusedSession(
				ctx,
			).NeedOnce(ctx, "tools/call", callBy(asking, Object{})); alone.Object()["resultType"] == inputRequired {
				NotApplicable("the server requests " + capability + " of every client, whatever it declares")
			}
			server := FreshSession(ctx)
			if asked := server.NeedOnce(
				ctx,
				"tools/call",
				asking.Call(),
			); asked.Object()["resultType"] != inputRequired {
				Inconclusive(
					"the tool "+asking.Tool+" did not ask the client for input: "+asked.Describe(),
					"name a tool that always requests input in mcpconform.yaml",
				)
			}

			reply := server.Once(ctx, "tools/call", callBy(asking, Object{}))

			DemandOf(
				reply,
				reply.Object()["resultType"] != inputRequired,
				"no request for input from a client that does not declare "+capability+" in this request",
			)
		})

	It("accepts a declared capability that an earlier request did not declare", Verifies("base.stateless.context"),
		func(ctx SpecContext) {
			asking, capability := askingTool(ctx, Session(ctx))
			server := FreshSession(ctx)

			server.NeedOnce(ctx, "tools/call", callBy(asking, Object{}))
			reply := server.Once(ctx, "tools/call", asking.Call())

			DemandOf(reply, !lacks(reply), "the capability "+capability+" to be accepted, as this request declares it")
		})

	It("ignores the logLevel of an earlier request", Verifies("base.stateless.context"), NeedsProvocation("logging"),
		func(ctx SpecContext) {
			server := FreshSession(ctx)
			loud, quiet := Provoking("logging").Call(), Provoking("logging").Call()
			loud["_meta"] = Object{mcp.MetaLogLevel: "debug"}
			before := server.Mark()
			server.Need(ctx, "tools/call", loud)
			if len(server.Sent(before, Notification("notifications/message"))) == 0 {
				NotApplicable("the server logs nothing for a request with the logLevel debug")
			}

			mark := server.Mark()
			server.Need(ctx, "tools/call", quiet)
			server.BarrierOnAllStreams(ctx)

			logged := server.Sent(mark, Notification("notifications/message"))
			DemandNone("no log messages for a request without logLevel", logged)
		})

	It("answers interleaved requests of two clients on one connection", Verifies("base.stateless.interleaved"),
		func(ctx SpecContext) {
			server := Session(ctx)
			server.Need(ctx, aMethod(), nil) // or else nothing shows what it stumbles over

			var open []*scripted.Pending
			for turn := range openAtOnce {
				open = append(open, server.Start(ctx, aMethod(), clientOfTurn(turn)))
			}

			for _, request := range open {
				Expect(server.Await(ctx, request)).To(BeResult())
			}
		})

	It(
		"answers requests of two clients with the same id each with its own result",
		Verifies("base.stateless.interleaved"),
		NeedsTransport(protocol.HTTP),
		func(ctx SpecContext) {
			needMethod(ctx)
			if aMethod() == "server/discover" {
				NotApplicable("the server declares no list to compare with server/discover")
			}
			if _, told := Connect(ctx).Need(ctx, "server/discover", nil)["supportedVersions"]; !told {
				Inconclusive(
					"the answer to server/discover cannot be identified: it has no supportedVersions",
					"fix the failures of server/discover first",
				)
			}
			one, other := Connect(ctx), Connect(ctx)

			first := one.StartRaw(ctx, jsonrpc.StringID("mcpconform-shared"), aMethod(), scripted.Outgoing{}, nil)
			second := other.StartRaw(
				ctx,
				jsonrpc.StringID("mcpconform-shared"),
				"server/discover",
				scripted.Outgoing{},
				secondClient(),
			)

			Expect(one.Await(ctx, first)).To(HaveMember(mcp.ListMember(aMethod())))
			Expect(other.Await(ctx, second)).To(HaveMember("supportedVersions"))
		},
	)

	It("answers a request that reuses the id of an answered request", Verifies("base.requests.id-again"),
		func(ctx SpecContext) {
			server := Session(ctx)

			for range 2 {
				reply := server.Await(
					ctx,
					server.StartRaw(
						ctx,
						jsonrpc.StringID("mcpconform-again"),
						BarrierMethod(),
						scripted.Outgoing{},
						nil,
					),
				)
				Expect(reply).To(BeResult())
			}
		})

	It("accepts a nextCursor from another connection", Verifies("base.stateless.connection"),
		func(ctx SpecContext) {
			method, cursor := furtherPage(ctx, Session(ctx))
			other := Connect(ctx)

			reply := other.Ask(ctx, method, Object{"cursor": cursor})

			Expect(reply).To(BeResult())
		})

	It(
		"accepts resources/read or prompts/get of a listed item on another connection",
		Verifies("base.stateless.connection"),
		func(ctx SpecContext) {
			method, params := somethingListed()
			Session(ctx).Need(ctx, method, params)
			other := Connect(ctx)

			params["_meta"] = Object{mcp.MetaClientInfo: Object{"name": "mcpconform-elsewhere", "version": "1.0.0"}}
			reply := other.Ask(ctx, method, params)

			Expect(reply).To(BeResult())
		},
	)
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
func furtherPage(ctx SpecContext, server *Server) (method string, cursor any) {
	for _, list := range []string{"tools", "prompts", "resources"} {
		if !Declares(list) {
			continue
		}
		if next, more := server.Need(ctx, list+"/list", nil)["nextCursor"]; more {
			return list + "/list", next
		}
	}
	NotApplicable("no list of the server has a second page")
	return "", nil
}

// somethingListed returns a request for something that the server lists and that
// has no effect: a resource, or a prompt without arguments.
func somethingListed() (method string, params Object) {
	for _, resource := range ListedResources() {
		if uri, isText := resource["uri"].(string); isText {
			return "resources/read", Object{"uri": uri}
		}
	}
	for _, prompt := range ListedPrompts() {
		if arguments, _ := prompt["arguments"].([]any); len(arguments) == 0 {
			return "prompts/get", Object{"name": prompt["name"]}
		}
	}
	NotApplicable("the server lists neither resources nor prompts without arguments")
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
func judgeOrder(ctx context.Context, methods []string, method string, onward, back []any) {
	again := listed(ctx, Connect(ctx), slices.All(methods))[method]
	backAgain := listed(ctx, Connect(ctx), slices.Backward(methods))[method]
	if !serverlists.SameItems(onward, again) || !serverlists.SameItems(back, backAgain) {
		Inconclusive("what "+method+" lists changes over time", "check a server whose lists stay the same")
	}
	Judge(Mismatch{
		Wanted: "the same from " + method + " in whatever order the lists are requested: " + Show(onward),
		Found:  "requested in the other order: " + Show(back),
	})
}
