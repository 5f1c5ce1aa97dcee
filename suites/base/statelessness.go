package base

import (
	"iter"
	"slices"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/mcp"
	. "github.com/mcpconform/mcpconform/internal/offer"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/scripted"
	. "github.com/mcpconform/mcpconform/internal/session"
	serverlists "github.com/mcpconform/mcpconform/suites/server/lists"
)

// statelessness checks that each request stands for itself.
func statelessness() {
	It("accepts a first request other than server/discover, and lists the same in any order", Verifies("base.stateless.context"), func(t *T) {
		methods := lists(t)
		greeted := Connect(t)
		greeted.Call("server/discover", nil).Need().Result()
		onward := listed(greeted, slices.All(methods)) // or else nothing shows what it is refused for
		server := Connect(t)

		back := map[string][]any{}
		for _, method := range slices.Backward(methods) {
			t.Expect(server.Call(method, nil).Must()).To(BeResult())
			back[method] = serverlists.Keys(server, method)
		}
		for _, method := range methods {
			if serverlists.SameItems(onward[method], back[method]) {
				continue
			}
			judgeOrder(t, methods, method, onward[method], back[method])
		}
	})

	It("serves requests after a notification as before it", Verifies("base.stateless.context"), NeedsTransport(protocol.Stdio), func(t *T) {
		other := Connect(t)
		other.Call("server/discover", nil).Need().Result()
		greeted := other.Call(aMethod(t), nil).Need().Result()
		server := Connect(t)

		crossed := server.Call("server/discover", nil)
		server.Cancel(crossed)
		reply := server.Call(aMethod(t), nil).Must()

		t.Expect(reply).To(BeResult())
		_, before := greeted["resultType"] // results of the handshake era have none
		_, after := reply.Object()["resultType"]
		t.Demand(after || !before, "a result with a resultType, as before the notification", "one without")
	})

	earlierCapabilities()

	sharedConnections()

	otherConnections()
}

func earlierCapabilities() {
	It("rejects a request without clientCapabilities even if an earlier request had them", Verifies("base.stateless.context"), func(t *T) {
		server := FreshSession(t)

		server.Call(aMethod(t), nil).Need().Result()
		reply := server.Call(aMethod(t), meta(mcp.MetaCapabilities, scripted.Omitted), ToBeRefused("no clientCapabilities")).Must()

		t.Expect(reply).To(BeJSONRPCError())
	})

	It("ignores capabilities that only an earlier request declared", Verifies("base.stateless.context"), func(t *T) {
		asking, capability := askingTool(t, Session(t))
		if alone := UnusedSession(t).Call("tools/call", callBy(asking, Object{}), Once).Need(); alone.Object()["resultType"] == inputRequired {
			t.NotApplicable("the server requests " + capability + " of every client, whatever it declares")
		}
		server := FreshSession(t)
		if asked := server.Call("tools/call", asking.Call(), Once).Need(); asked.Object()["resultType"] != inputRequired {
			t.Inconclusive(
				"the tool "+asking.Tool+" did not ask the client for input: "+asked.Describe(),
				"name a tool that always requests input in mcpconform.yaml",
			)
		}

		reply := server.Call("tools/call", callBy(asking, Object{}), Once).Must()

		t.DemandOf(
			reply,
			reply.Object()["resultType"] != inputRequired,
			"no request for input from a client that does not declare "+capability+" in this request",
		)
	})

	It("accepts a declared capability that an earlier request did not declare", Verifies("base.stateless.context"), func(t *T) {
		asking, capability := askingTool(t, Session(t))
		server := FreshSession(t)

		server.Call("tools/call", callBy(asking, Object{}), Once).Need()
		reply := server.Call("tools/call", asking.Call(), Once).Must()

		t.DemandOf(reply, !lacks(reply), "the capability "+capability+" to be accepted, as this request declares it")
	})
}

func sharedConnections() {
	It("ignores the logLevel of an earlier request", Verifies("base.stateless.context"), NeedsProvocation("logging"), func(t *T) {
		server := FreshSession(t)
		loud, quiet := Provoking(t, "logging").Call(), Provoking(t, "logging").Call()
		loud["_meta"] = Object{mcp.MetaLogLevel: "debug"}
		before := server.Mark()
		server.Call("tools/call", loud).Need().Result()
		if len(server.Sent(before, Notification("notifications/message"))) == 0 {
			t.NotApplicable("the server logs nothing for a request with the logLevel debug")
		}

		mark := server.Mark()
		server.Call("tools/call", quiet).Need().Result()
		server.BarrierOnAllStreams()

		logged := server.Sent(mark, Notification("notifications/message"))
		t.DemandNone("no log messages for a request without logLevel", logged)
	})

	It("answers interleaved requests of two clients on one connection", Verifies("base.stateless.interleaved"), func(t *T) {
		server := Session(t)
		server.Call(aMethod(t), nil).Need().Result() // or else nothing shows what it stumbles over

		var open []*Answer
		for turn := range openAtOnce {
			open = append(open, server.Call(aMethod(t), clientOfTurn(turn)))
		}

		for _, request := range open {
			t.Expect(request.Must()).To(BeResult())
		}
	})

	It("answers requests of two clients with the same id each with its own result",
		Verifies("base.stateless.interleaved"), NeedsTransport(protocol.HTTP), func(t *T) {
			needMethod(t)
			if aMethod(t) == "server/discover" {
				t.NotApplicable("the server declares no list to compare with server/discover")
			}
			if _, reported := Connect(t).Call("server/discover", nil).Need().Result()["supportedVersions"]; !reported {
				t.Inconclusive(
					"the answer to server/discover cannot be identified: it has no supportedVersions",
					"fix the failures of server/discover first",
				)
			}
			one, other := Connect(t), Connect(t)

			first := one.Call(aMethod(t), nil, WithID(jsonrpc.StringID("mcpconform-shared")))
			second := other.Call("server/discover", secondClient(), WithID(jsonrpc.StringID("mcpconform-shared")))

			t.Expect(first.Must()).To(HaveMember(mcp.ListMember(aMethod(t))))
			t.Expect(second.Must()).To(HaveMember("supportedVersions"))
		})
}

func otherConnections() {
	It("answers a request that reuses the id of an answered request", Verifies("base.requests.id-again"), func(t *T) {
		server := Session(t)

		for range 2 {
			reply := server.Call(BarrierMethod(t), nil, WithID(jsonrpc.StringID("mcpconform-again"))).Must()
			t.Expect(reply).To(BeResult())
		}
	})

	It("accepts a nextCursor from another connection", Verifies("base.stateless.connection"), func(t *T) {
		method, cursor := furtherPage(t, Session(t))
		other := Connect(t)

		reply := other.Call(method, Object{"cursor": cursor}).Must()

		t.Expect(reply).To(BeResult())
	})

	It("accepts resources/read or prompts/get of a listed item on another connection", Verifies("base.stateless.connection"), func(t *T) {
		method, params := somethingListed(t)
		Session(t).Call(method, params).Need().Result()
		other := Connect(t)

		params["_meta"] = Object{mcp.MetaClientInfo: Object{"name": "mcpconform-elsewhere", "version": "1.0.0"}}
		reply := other.Call(method, params).Must()

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
		if next, more := server.Call(list+"/list", nil).Need().Result()["nextCursor"]; more {
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
func listed(server *Server, methods iter.Seq2[int, string]) map[string][]any {
	found := map[string][]any{}
	for _, method := range methods {
		found[method] = serverlists.Keys(server, method)
	}
	return found
}

// judgeOrder judges a list that was another one when the lists were asked for in the other
// order. One that changes with time is not the same again on connections of the same kind.
func judgeOrder(t *T, methods []string, method string, onward, back []any) {
	again := listed(Connect(t), slices.All(methods))[method]
	backAgain := listed(Connect(t), slices.Backward(methods))[method]
	if !serverlists.SameItems(onward, again) || !serverlists.SameItems(back, backAgain) {
		t.Inconclusive("what "+method+" lists changes over time", "check a server whose lists stay the same")
	}
	t.Judge(Mismatch{
		Wanted: "the same from " + method + " in whatever order the lists are requested: " + Show(onward),
		Found:  "requested in the other order: " + Show(back),
	})
}
