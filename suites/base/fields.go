package base

import (
	"net/http"
	"slices"

	"github.com/onsi/gomega/types"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/mcp"
	. "github.com/mcpconform/mcpconform/internal/offer"
	. "github.com/mcpconform/mcpconform/internal/requests"
	"github.com/mcpconform/mcpconform/internal/scripted"
	. "github.com/mcpconform/mcpconform/internal/session"
)

// fields checks what requests of the stateless era carry in _meta.
func fields() {
	It("rejects a request without clientCapabilities in _meta with -32602", Verifies("base.fields.missing"), func(t *T) {
		needMethod(t)
		server := Connect(t) // where no earlier request can stand in

		InEachMethod(t, BeJSONRPCError(jsonrpc.InvalidParams), func(request Harmless) any {
			return server.Call(request.Method, request.With(Object{mcp.MetaCapabilities: scripted.Omitted}), ToBeRefused("no clientCapabilities")).May().OrStatus()
		})
	})

	It("rejects a request without protocolVersion in _meta", Verifies("base.fields.missing"), func(t *T) {
		needMethod(t)
		exceptBesideHandshake(t)
		server := Connect(t)

		InEachMethod(t, beRefusalOfFields(t), func(request Harmless) any {
			return server.Call(request.Method, request.With(Object{mcp.MetaVersion: scripted.Omitted}), ToBeRefused("no protocolVersion")).May().OrStatus()
		})
	})

	It("rejects a request without _meta", Verifies("base.fields.missing"), func(t *T) {
		needMethod(t)
		exceptBesideHandshake(t)
		server := Connect(t)

		InEachMethod(t, beRefusalOfFields(t), func(request Harmless) any {
			return server.Call(request.Method, request.With(scripted.Omitted), ToBeRefused("no _meta")).May().OrStatus()
		})
	})

	misshapenFields()

	optionalFields()
}

func misshapenFields() {
	It("rejects a request without clientCapabilities in _meta with HTTP 400", Verifies("base.fields.missing-status"), func(t *T) {
		needMethod(t)
		server := Connect(t)

		judged := 0
		InEachMethod(t, beBadRequest(), func(request Harmless) any {
			reply := server.Call(
				request.Method,
				request.With(Object{mcp.MetaCapabilities: scripted.Omitted}),
				ToBeRefused("no clientCapabilities"),
			).May()
			if _, refused := reply.Error(); reply.Answered() && !refused {
				return http.StatusBadRequest // nothing is wrong with how it refuses
			}
			judged++
			return reply.Status
		})
		if judged == 0 {
			t.NotApplicable("the request is not refused: reported by another check")
		}
	})

	It("rejects a request whose clientCapabilities in _meta is not an object with -32602", Verifies("base.fields.malformed"), func(t *T) {
		needMethod(t)
		server := Session(t)

		InEachMethod(t, BeJSONRPCError(jsonrpc.InvalidParams), func(request Harmless) any {
			wrong := Object{mcp.MetaCapabilities: "sampling"}
			return server.Call(request.Method, request.With(wrong), ToBeRefused("clientCapabilities are a string")).May().OrStatus()
		})
	})

	It("rejects a request whose protocolVersion in _meta is not a string", Verifies("base.fields.malformed"), func(t *T) {
		needMethod(t)
		exceptBesideHandshake(t)
		server := Connect(t)

		InEachMethod(t, beRefusalOfFields(t), func(request Harmless) any {
			wrong := Object{mcp.MetaVersion: 20260728}
			return server.Call(request.Method, request.With(wrong), ToBeRefused("protocolVersion is a number")).May().OrStatus()
		})
	})
}

func optionalFields() {
	It("accepts a request without clientInfo in _meta", Verifies("base.fields.optional"), func(t *T) {
		needMethod(t)
		server := Session(t)

		AcceptInEachMethod(t, func(request Harmless) any {
			return server.Call(request.Method, request.With(Object{mcp.MetaClientInfo: scripted.Omitted}), ToBeRefused("")).May().OrStatus()
		})
	})

	It("accepts requests with traceparent, tracestate and baggage in _meta", Verifies("base.meta.trace-context-taken"), func(t *T) {
		server := Session(t)

		AcceptInEachMethod(t, func(request Harmless) any {
			return server.Call(request.Method, request.With(Object{
				"traceparent": "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01",
				"tracestate":  "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE",
				"baggage":     "userId=alice,serverNode=DF%2028;ttl=30",
			}), ToBeRefused("")).May().OrStatus()
		})
	})

	It("returns the same lists regardless of clientInfo", Verifies("base.fields.info-unused"), func(t *T) {
		server := Session(t)

		listed := false
		for _, method := range lists(t) {
			usual, unserved := namesFor(server, method, usualClient)
			if unserved {
				continue // that it is answered, another check judges
			}
			for _, client := range otherClients {
				names, refused := namesFor(server, method, client)
				listed = listed || len(usual)+len(names) > 0
				if slices.Equal(usual, names) || refused && client == scripted.Omitted {
					continue // another check judges whether it is needed
				}
				if again, _ := namesFor(server, method, usualClient); !slices.Equal(usual, again) {
					break // the list changes even for the same client
				}
				t.Judge(Mismatch{
					Wanted: "from " + method + " the same list for every client, " + Show(usual),
					Found:  Show(names) + ", for a client with " + described(client),
				})
			}
		}
		if !listed {
			t.Inconclusive("the lists of the server are empty", "check a server that lists something")
		}
		t.Observe()
	})
}

// usualClient and the others are what a client may say of itself.
var (
	usualClient  any = Object{"name": "mcpconform", "version": "1.0.0"}
	otherClients     = []any{
		Object{"name": "mcpconform-under-another-name", "version": "1.0.0"},
		Object{"name": "Größe 日本 (beta)", "version": "next"},
		scripted.Omitted,
	}
)

func described(client any) string {
	if client == scripted.Omitted {
		return "no clientInfo"
	}
	return "the clientInfo " + Show(client)
}

// lists are the methods of the lists that the server has. None ends the check.
func lists(t *T) []string {
	var all []string
	for _, feature := range []string{"tools", "prompts", "resources"} {
		if Declares(t, feature) {
			all = append(all, feature+"/list")
		}
	}
	if len(ListedTemplates(t)) > 0 {
		all = append(all, "resources/templates/list")
	}
	if len(all) == 0 {
		t.NotApplicable("the server declares no list")
	}
	return all
}

// needMethod makes sure that a request is served when nothing is wrong with it: or
// else nothing shows what it is refused for.
func needMethod(t *T) { Session(t).Call(aMethod(t), nil).Need().Result() }

func beBadRequest() types.GomegaMatcher {
	return Be("HTTP 400", func(status any) bool { return status == http.StatusBadRequest })
}

// meta are params with one field of _meta changed.
func meta(key string, value any) Object { return Object{"_meta": Object{key: value}} }

// beRefusalOfFields matches -32602. Over HTTP the version header may be looked at
// first, which then has nothing in the body that it matches.
func beRefusalOfFields(t *T) types.GomegaMatcher {
	if t.Transport().Mirrors() {
		return BeJSONRPCError(jsonrpc.InvalidParams, jsonrpc.HeaderMismatch)
	}
	return BeJSONRPCError(jsonrpc.InvalidParams)
}

// exceptBesideHandshake ends a check of requests that name no revision when nothing
// else tells that they are of this one: over stdio, to a server that makes handshakes
// as well.
func exceptBesideHandshake(t *T) {
	if agreed := Handshakes(t); !t.Transport().Mirrors() && len(agreed) > 0 {
		t.NotApplicable("the server also serves " + agreed[len(agreed)-1] + ", at which this request is valid")
	}
}

// namesFor returns the names that a list has for a client, none where it refuses. Of a list
// with several pages they are those of the first that has some.
func namesFor(server *Server, method string, client any) (names []string, refused bool) {
	items := FirstPage(mcp.ListMember(method), func(cursor any) Object {
		params := meta(mcp.MetaClientInfo, client)
		if cursor != nil {
			params["cursor"] = cursor
		}
		reply := server.Call(method, params).May()
		refused = refused || reply.Object() == nil
		return reply.Object()
	})
	for _, item := range items {
		names = append(names, mcp.Text(item, "name"))
	}
	return names, refused
}
