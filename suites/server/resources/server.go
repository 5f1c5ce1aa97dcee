// Package resources checks the page server/resources.
package resources

import (
	"strings"

	"github.com/yosida95/uritemplate/v3"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/mcp"
	. "github.com/mcpconform/mcpconform/internal/offer"
	"github.com/mcpconform/mcpconform/internal/protocol"
	. "github.com/mcpconform/mcpconform/internal/refusal"
	. "github.com/mcpconform/mcpconform/internal/session"
	"github.com/mcpconform/mcpconform/suites/server/arguments"
	"github.com/mcpconform/mcpconform/suites/server/lists"
)

const (
	// unknownURI is one that no server has a resource for.
	unknownURI = "mcpconform://resource/that-does-not-exist"
	// noURI breaks RFC 3986: it has no scheme, but spaces and a stray percent sign.
	noURI = "this is no URI: 100%"

	updated = "notifications/resources/updated"

	// maxRead bounds the resources that are read: a server may list millions.
	maxRead = 20
	// maxControls bounds those that are read beside one that is refused.
	maxControls = 2
	// maxTemplates bounds the templates that are expanded and read.
	maxTemplates = 5
	// maxSubscribed bounds the resources that are tried for a subscription:
	// some may be fixed.
	maxSubscribed = 5
	// maxAgreed bounds those that are asked for at once.
	maxAgreed = 100
)

// ServerChecks registers the checks of a target server.
func ServerChecks() {
	listingResources()

	readingResources()

	subscribing()
}

func listingResources() {
	Describe("Resources", func() {
		inForms()

		It("declares resources if resources/list returns any",
			Verifies("resources.capability.declared"), func(t *T) { lists.JudgeDeclaration(t, "resources", "uri") })

		It("declares resources to a client that declares no capabilities, too, if resources/list returns any to it",
			Verifies("resources.capability.declared"), func(t *T) { lists.JudgeDeclarationToAll(t, "resources", "uri") })

		It("returns its resources from resources/list", Verifies("resources.list.answered"), NeedsCapability("resources"), func(t *T) {
			server := Session(t)

			reply := server.Call("resources/list", nil).Must()

			t.Expect(reply).To(BeResult())
			t.Expect(reply).To(HaveMember("resources", BeAList()))
			t.Expect(server.Call("resources/list", Object{}).Must()).To(BeResult())
		})

		It(
			"returns the same resources from resources/list on each connection",
			Verifies("resources.list.stateless"),
			NeedsCapability("resources"),
			func(t *T) { lists.StayTheSame(t, "resources/list") },
		)

		It(
			"sends notifications/resources/list_changed when its list of resources changes",
			Verifies("resources.list-changed.sent"),
			NeedsCapability("resources.listChanged"),
			NeedsProvocation("resources-changed"),
			Alone(),
			func(t *T) { lists.AnnounceChanges(t, "resources") },
		)
	})
}

func readingResources() {
	Describe("Reading resources", func() {

		It("answers resources/read of its listed resources", Verifies("resources.read.answered"), NeedsCapability("resources"), func(t *T) {
			uris := listed(t, maxRead)
			server := Session(t)

			judgeReadable(t, server, uris)
		})

		It("answers resources/read of a uriTemplate that is filled with its own completions",
			Verifies("resources.templates.readable"), NeedsCapability("resources", "completions"), func(t *T) {
				server := Session(t)
				uris := expanded(t, server)
				if len(uris) == 0 {
					t.NotApplicable("the server has no resource template with completions for its variables")
				}

				judgeReadable(t, server, uris)
			})

		It("returns contents from resources/read after it rejected an unknown resource",
			Verifies("resources.read.answered"), NeedsCapability("resources"), func(t *T) {
				plain := inOrder(t)
				if len(plain) == 0 {
					t.NotApplicable("the server lists no resources")
				}

				StillServes(t, reading(unknownURI), plain[0], Brings("contents"))
			})

		It("returns resources from resources/list after it rejected an unknown resource",
			Verifies("resources.list.answered"), NeedsCapability("resources"), func(t *T) {
				StillServes(t, reading(unknownURI), Request{Method: "resources/list"}, Brings("resources"))
				if len(ListedTemplates(t)) > 0 {
					templates := Request{Method: "resources/templates/list"}
					StillServes(t, reading(unknownURI), templates, Brings("resourceTemplates"))
				}
			})

		unknownResources()
	})
}

func unknownResources() {
	It("rejects resources/read of an unknown resource with -32002, from 2026-07-28 on with -32602",
		Verifies("resources.unknown.code"), NeedsCapability("resources"), func(t *T) {
			if isOffered(t, unknownURI) {
				t.NotApplicable("a resource template of the server matches any URI")
			}
			server := Session(t)

			reply := CallWrong(t, server, reading(unknownURI), inOrder(t)...)

			t.Expect(reply).To(BeJSONRPCError(notFound(t)))
		})

	It("does not answer resources/read of an unknown resource with empty contents",
		Verifies("resources.unknown.not-empty"), NeedsCapability("resources"), func(t *T) {
			if isOffered(t, unknownURI) {
				t.NotApplicable("a resource template of the server matches any URI")
			}
			server := Session(t)

			server.Call("resources/read", Object{"uri": unknownURI}).May() // it may remember that there is none
			reply := server.Call("resources/read", Object{"uri": unknownURI}).May()

			if !reply.Answered() {
				t.NotApplicable("the server rejects it with an HTTP status: reported by another check")
			}
			NeedContrast(t, server, reply, unknownURI, inOrder(t)...)
			contents, isList := reply.Object()["contents"].([]any)
			if !isList && !reply.Refuses() {
				t.Inconclusive(
					"resources/read was answered with neither contents nor an error: "+reply.Describe(),
					"fix the schema violation of the result first",
				)
			}
			t.DemandOf(reply, !isList || len(contents) > 0, "an error that says that the resource does not exist")
		})

	It("rejects resources/read of a uri that is not a URI", Verifies("resources.uri.validated"), NeedsCapability("resources"), func(t *T) {
		server := Session(t)

		reply := CallWrong(t, server, reading(noURI), inOrder(t)...)

		if len(mcp.List(reply.Object(), "contents")) == 0 && !reply.Refuses() {
			t.Inconclusive(
				"resources/read returned no contents and no error: "+reply.Describe(),
				"fix the answer to resources/read of an unknown resource first",
			)
		}
		t.Expect(reply).To(BeJSONRPCError())
	})
}

func subscribing() {
	Describe("Subscriptions", func() {

		It("accepts resources/subscribe to a listed resource",
			Verifies("resources.subscribe.answered"), NeedsCapability("resources.subscribe"), func(t *T) {
				server := FreshSession(t)

				uri, reply := subscribed(t, server, func(answer *Answer) Reply { return answer.Must() })

				t.DemandOf(reply, uri != "", "a result of resources/subscribe for a resource that is listed")
			})

		It("acknowledges subscriptions/listen with some of the requested resourceSubscriptions",
			Verifies("resources.subscribe.agreed"), NeedsCapability("resources.subscribe"), func(t *T) {
				server := FreshSession(t)

				subscription := server.Subscribe(Object{"resourceSubscriptions": listed(t, maxAgreed)})

				t.Demand(
					len(mcp.List(subscription.Acknowledged, "resourceSubscriptions")) > 0,
					"resourceSubscriptions in the acknowledgement, with some of the resources that are listed",
					Show(subscription.Acknowledged),
				)
			})

		It("accepts resources/unsubscribe after resources/subscribe",
			Verifies("resources.unsubscribe.answered"), NeedsCapability("resources.subscribe"), func(t *T) {
				server := FreshSession(t)
				uri, _ := subscribed(t, server, (*Answer).Need)
				if uri == "" {
					t.Inconclusive("resources/subscribe failed", "see the result of resources.subscribe.answered")
				}

				reply := server.Call("resources/unsubscribe", Object{"uri": uri}).Must()

				t.Expect(reply).To(BeResult())
			})

		updating()

		othersSubscriptions()
	})
}

// updates declares a check of what a change of a resource brings to those that subscribed to
// it, or did not.
func updates(text, requirement string, arguments ...any) {
	It(text, append(arguments, Row(), Verifies(requirement), NeedsCapability("resources.subscribe"), NeedsProvocation("resource-updated"), Alone())...)
}

func updating() {
	updates("sends notifications/resources/updated when a subscribed resource changes", "resources.updated.sent", func(t *T) {
		server := FreshSession(t)
		change := changing(t)
		server.SubscribeToResource(change.Resource)
		mark := server.Mark()

		change.provoke(t, server)

		server.Until(mark, updated, Notification(updated))
		again := "a second time"
		if t.Has(protocol.Handshake) {
			again = "after unsubscribing and subscribing anew"
			server.Call("resources/unsubscribe", Object{"uri": change.Resource}).Need().Result()
			server.Call("resources/subscribe", Object{"uri": change.Resource}).Need().Result()
		}
		server.BarrierOnAllStreams()
		before := change.contents(server)
		mark = server.Mark()

		change.provoke(t, server)

		if Same(before, change.contents(server)) {
			return // a second call changes nothing
		}
		server.Until(mark, updated+" "+again, Notification(updated))
	})
}

func othersSubscriptions() {
	updates("sends notifications/resources/updated to a client after another has unsubscribed", "resources.updated.sent", func(t *T) {
		server, other := FreshSession(t), UnusedSession(t)
		change := changing(t)
		server.ListenForChanges()
		subscription := server.Call("resources/subscribe", Object{"uri": change.Resource}, WithID(jsonrpc.StringID("mcpconform-beside-another")))
		subscription.Need()
		other.Call("resources/subscribe", Object{"uri": change.Resource}).Need().Result()
		other.Call("resources/unsubscribe", Object{"uri": change.Resource}).Need().Result()
		mark := server.Mark()

		change.provoke(t, server)

		server.Until(mark, updated, Notification(updated))
	}, NeedsTransport(protocol.HTTP, protocol.SSE), AtRevisionsWith(protocol.Handshake))

	updates("sends notifications/resources/updated only to the client that subscribed", "resources.updated.subscribed", func(t *T) {
		server, other := FreshSession(t), UnusedSession(t)
		change := changing(t)
		other.ListenForChanges()
		server.SubscribeToResource(change.Resource)
		mark := other.Mark()

		change.needTold(t, server)
		other.BarrierOnAllStreams()

		t.DemandNone("no update in the session of another client that did not subscribe", other.Sent(mark, Notification(updated)))
	}, NeedsTransport(protocol.HTTP, protocol.SSE), AtRevisionsWith(protocol.Handshake))

	endedSubscriptions()
}

func endedSubscriptions() {
	updates("sends no notifications/resources/updated after resources/unsubscribe", "resources.updated.subscribed", func(t *T) {
		server := FreshSession(t)
		change := changing(t)
		server.SubscribeToResource(change.Resource)
		change.needTold(t, server)
		server.Call("resources/unsubscribe", Object{"uri": change.Resource}).Need().Result()
		server.BarrierOnAllStreams() // one change may be told more than once
		mark := server.Mark()

		change.provoke(t, server)
		server.BarrierOnAllStreams()

		t.DemandNone("no update after resources/unsubscribe", server.Sent(mark, Notification(updated)))
	})
}

// judgeReadable reads resources that the target offers.
func judgeReadable(t *T, server *Server, uris []string) {
	var wrong []Mismatch
	var failing []string
	for _, uri := range uris {
		reply := server.Call("resources/read", Object{"uri": uri}).Must()

		refusal, refused := reply.Error()
		if _, hasContents := reply.Object()["contents"].([]any); !refused && !hasContents {
			continue // the schema says what lacks
		}
		if refusal.Code == jsonrpc.InternalError {
			failing = append(failing, uri)
			continue // what the contents come from may be out of reach, and the page has this code for it
		}
		if reply.WantsCapability(t) {
			continue
		}
		t.Observe()
		if refused {
			wrong = append(wrong, Wrong(reply, "the contents of "+uri))
		}
	}
	if len(failing) == len(uris) {
		t.Inconclusive(
			"resources/read of "+strings.Join(failing, ", ")+" ended in the error -32603 (Internal error)",
			"make sure that the server can read its resources",
		)
	}
	t.Judge(wrong...)
}

// inOrder reads some of the resources that are listed: beside that shows what a refusal
// is about.
func inOrder(t *T) []Request {
	var requests []Request
	for _, resource := range ListedResources(t) {
		if uri, isText := resource["uri"].(string); isText && len(requests) < maxControls {
			requests = append(requests, reading(uri))
		}
	}
	return requests
}

func reading(uri string) Request {
	return Request{Method: "resources/read", Params: Object{"uri": uri}, Name: uri}
}

// notFound is the code of the error for a resource that does not exist.
func notFound(t *T) int64 {
	if !t.Has(protocol.ResourceNotFoundCode) {
		return jsonrpc.InvalidParams
	}
	return jsonrpc.ResourceNotFound
}

// listed returns the URIs of some of the resources that the target lists; a
// check without any ends.
func listed(t *T, most int) []string {
	var uris []string
	for _, resource := range ListedResources(t) {
		if uri, isString := resource["uri"].(string); isString && len(uris) < most {
			uris = append(uris, uri)
		}
	}
	if len(uris) == 0 {
		NoneListed(t, "resources/list", "the server lists no resource")
	}
	return uris
}

// expanded returns URIs that templates make of values that the server
// completes their variables with.
func expanded(t *T, server *Server) []string {
	var uris []string
	for _, template := range ListedTemplates(t) {
		variables := arguments.OfTemplate(template)
		if len(variables) == 0 || len(uris) == maxTemplates {
			continue
		}
		values, complete := arguments.Completed(t, server, variables)
		if uri, made := arguments.Expand(template, values); complete && made {
			uris = append(uris, uri)
		}
	}
	return uris
}

// isOffered tells whether a template of the target makes a URI.
func isOffered(t *T, uri string) bool {
	for _, template := range ListedTemplates(t) {
		if parsed, err := uritemplate.New(mcp.Text(template, "uriTemplate")); err == nil && parsed.Match(uri) != nil {
			return true
		}
	}
	return false
}

// subscribed subscribes to the first resource that the server takes a
// subscription for. The URI is "" when it takes none; the reply is the last.
func subscribed(t *T, server *Server, judge func(*Answer) Reply) (string, Reply) {
	var reply Reply
	for _, uri := range listed(t, maxSubscribed) {
		reply = judge(server.Call("resources/subscribe", Object{"uri": uri}))
		if _, refused := reply.Error(); !refused {
			return uri, reply
		}
	}
	return "", reply
}

// change is a known way to change a resource.
type change struct{ Provocation }

func changing(t *T) change {
	known := Provoking(t, "resource-updated")
	if known.Resource == "" {
		t.Inconclusive("it is unknown which resource the tool "+known.Tool+" changes",
			"name it in mcpconform.yaml: provocations: {resource-updated: {tool: …, resource: URI}}")
	}
	return change{known}
}

func (c change) provoke(t *T, server *Server) {
	if server.Call("tools/call", c.Call()).Need().Result()["isError"] == true {
		t.Inconclusive("the tool "+c.Tool+" did not change the resource", "make sure that the tool for resource-updated changes it")
	}
}

// contents reads the resource; nil when that fails.
func (c change) contents(server *Server) any {
	reply := server.Call("resources/read", Object{"uri": c.Resource}).May()
	return reply.Object()["contents"]
}

// needTold changes the resource, of which the server has to tell a client that subscribed.
func (c change) needTold(t *T, server *Server) {
	mark := server.Mark()
	c.provoke(t, server)
	server.NeedMessage(
		mark,
		Notification(updated),
		"the server sent no notifications/resources/updated to the subscribed client",
		"see the result of resources.updated.sent",
	)
}
