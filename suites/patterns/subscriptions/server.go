// Package subscriptions checks the page basic/patterns/subscriptions.
package subscriptions

import (
	"maps"
	"slices"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/excerpt"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/mcp"
	. "github.com/mcpconform/mcpconform/internal/offer"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/scripted"
	. "github.com/mcpconform/mcpconform/internal/session"
)

const (
	method       = "subscriptions/listen"
	acknowledged = "notifications/subscriptions/acknowledged"
	toolsChanged = "notifications/tools/list_changed"
	updated      = "notifications/resources/updated"
)

// listChanges are the members of a filter that ask for changes of a list, with the
// capability of servers that announce them.
var listChanges = map[string]string{
	"toolsListChanged":     "tools.listChanged",
	"promptsListChanged":   "prompts.listChanged",
	"resourcesListChanged": "resources.listChanged",
}

// ServerChecks registers the checks of a target server. What they provoke is
// judged by the rules about subscriptions, too.
func ServerChecks() {
	Describe("Subscriptions", func() {
		acknowledgements()
		resourcesUndeclared()
		announcements()
		ofRequests()
		endings()
	})
}

// everything is a filter that asks for all changes of lists, and for updates of a
// resource where the server has them.
func everything(t *T) Object {
	filter := Object{}
	for wish := range listChanges {
		filter[wish] = true
	}
	if resources := ListedResources(t); Declares(t, "resources.subscribe") && len(resources) > 0 {
		filter["resourceSubscriptions"] = []any{resources[0]["uri"]}
	}
	return filter
}

func acknowledgements() {
	It("acknowledges subscriptions/listen with notifications/subscriptions/acknowledged", Verifies("subscriptions.acknowledged.sent"), func(t *T) {
		needsSubscriptions(t)
		server := FreshSession(t)

		answer := listen(t, server, server.NextID(), everything(t))

		judgeAcknowledged(t, answer)
	})

	It("acknowledges a second subscriptions/listen while the first is open", Verifies("subscriptions.several.served"), func(t *T) {
		needsSubscriptions(t)
		server := FreshSession(t)
		server.Subscribe(everything(t)) // or else the second one is not refused for the first

		answer := listen(t, server, server.NextID(), everything(t))

		judgeAcknowledged(t, answer)
	})

	It("acknowledges subscriptions/listen with a string as request id", Verifies("subscriptions.acknowledged.sent"), func(t *T) {
		needsSubscriptions(t)
		server := FreshSession(t)

		answer := listen(t, server, jsonrpc.StringID("mcpconform-subscription"), everything(t))

		judgeAcknowledged(t, answer)
	})

	It("acknowledges subscriptions/listen without clientInfo in _meta", Verifies("base.fields.optional"), func(t *T) {
		needsSubscriptions(t)
		server := FreshSession(t)
		filter := Object{"notifications": everything(t), "_meta": Object{mcp.MetaClientInfo: scripted.Omitted}}

		answer := listenWith(t, server, server.NextID(), filter)

		if answer.Method != acknowledged {
			FreshSession(t).Subscribe(everything(t)) // or else it is not refused for that
		}
		judgeAcknowledged(t, answer)
	})

	emptyFilters()
}

func emptyFilters() {
	It("acknowledges subscriptions/listen that requests nothing", Verifies("subscriptions.acknowledged.sent"), func(t *T) {
		needsSubscriptions(t)
		server := FreshSession(t)

		answer := listen(t, server, server.NextID(), Object{})

		if answer.Method != acknowledged {
			FreshSession(t).Subscribe(everything(t)) // or else it is not refused for that
		}
		judgeAcknowledged(t, answer)
	})

	It("acknowledges no list changes if subscriptions/listen requests none", Verifies("subscriptions.acknowledged.requested"), func(t *T) {
		needsSubscriptions(t)
		server := FreshSession(t)

		refused := Object{}
		for wish := range listChanges {
			refused[wish] = false
		}

		for _, filter := range []Object{{}, refused} {
			subscription := server.Subscribe(filter)

			for _, wish := range slices.Sorted(maps.Keys(listChanges)) {
				t.Expect(subscription.Acknowledged).NotTo(HaveMember(wish, true))
			}
		}
	})
}

// resourcesUndeclared checks that a server agrees to nothing that it cannot do.
func resourcesUndeclared() {
	It("acknowledges resourceSubscriptions only if it declares resources.subscribe", Verifies("subscriptions.acknowledged.supported"), func(t *T) {
		needsSubscriptions(t)
		resources := ListedResources(t)
		switch {
		case Declares(t, "resources.subscribe"):
			t.NotApplicable("the server declares resources.subscribe")
		case len(resources) == 0:
			t.NotApplicable("the server lists no resource")
		}
		filter := everything(t)
		filter["resourceSubscriptions"] = []any{resources[0]["uri"]}

		subscription := FreshSession(t).Subscribe(filter)

		agreed := mcp.List(subscription.Acknowledged, "resourceSubscriptions")
		t.Demand(len(agreed) == 0, "no resourceSubscriptions, as the server does not declare resources.subscribe", Show(agreed))
	})
}

// needsSubscriptions skips the check when there is nothing to subscribe to: such a
// server need not know of subscriptions.
func needsSubscriptions(t *T) {
	for _, capability := range listChanges {
		if Declares(t, capability) {
			return
		}
	}
	if !Declares(t, "resources.subscribe") {
		t.NotApplicable("the server declares neither listChanged nor resources.subscribe")
	}
}

// listen asks for a subscription and returns its acknowledgement, or else the answer
// to the request.
func listen(t *T, server *Server, id jsonrpc.ID, filter Object) scripted.Received {
	return listenWith(t, server, id, Object{"notifications": filter})
}

func listenWith(t *T, server *Server, id jsonrpc.ID, params Object) scripted.Received {
	request := server.Call(method, params, WithID(id))
	received, err := request.WaitOr(t, func(received scripted.Received) bool {
		return received.Method == acknowledged && SubscriptionOf(received) == id
	})
	if err != nil {
		Missing(t, acknowledged+" with the id "+id.String(), err)
	}
	return received
}

func judgeAcknowledged(t *T, answer scripted.Received) {
	t.Judging(Reply{Received: answer})
	t.Demand(answer.Method == acknowledged, acknowledged+" first", excerpt.Short(answer.Raw))
}

func announcements() {
	It(
		"sends notifications/tools/list_changed on a subscription with toolsListChanged",
		Verifies("subscriptions.filter.delivered"),
		NeedsCapability("tools.listChanged"),
		NeedsProvocation("tools-changed"),
		Alone(),
		func(t *T) {
			server := FreshSession(t)
			subscription := server.Subscribe(Object{"toolsListChanged": true})

			server.Call("tools/call", Provoking(t, "tools-changed").Call()).Need().Result()

			subscription.Until(toolsChanged)
		},
	)

	It(
		"sends notifications/resources/updated on a subscription to the resource",
		Verifies("subscriptions.filter.delivered"),
		NeedsCapability("resources.subscribe"),
		NeedsProvocation("resource-updated"),
		Alone(),
		func(t *T) {
			server := FreshSession(t)
			subscription := server.Subscribe(Object{"resourceSubscriptions": []any{Provoking(t, "resource-updated").Resource}})

			server.Call("tools/call", Provoking(t, "resource-updated").Call()).Need().Result()

			subscription.Until(updated)
		},
	)

	It(
		"sends notifications/tools/list_changed on each of two subscriptions with toolsListChanged",
		Verifies("subscriptions.several.served"),
		NeedsCapability("tools.listChanged"),
		NeedsProvocation("tools-changed"),
		Alone(),
		func(t *T) {
			server := FreshSession(t)
			first := server.Subscribe(Object{"toolsListChanged": true})
			second := server.Subscribe(everything(t))

			server.Call("tools/call", Provoking(t, "tools-changed").Call()).Need().Result()

			first.Until(toolsChanged)
			second.Until(toolsChanged)
		},
	)

	unwantedAnnouncements()
}

func unwantedAnnouncements() {
	It(
		"sends no notifications/tools/list_changed on a subscription without toolsListChanged",
		Verifies("subscriptions.filter.honored"),
		NeedsCapability("tools.listChanged"),
		NeedsProvocation("tools-changed"),
		Alone(),
		func(t *T) {
			server := FreshSession(t)
			other := server.Subscribe(Object{"promptsListChanged": true, "resourcesListChanged": true})
			subscription := server.Subscribe(Object{"toolsListChanged": true})

			change(t, server, subscription)

			t.DemandNone("no "+toolsChanged+" on a subscription that did not request it", told(other, toolsChanged))
		},
	)

	It(
		"sends no notifications/resources/updated on a subscription without the resource",
		Verifies("subscriptions.filter.honored"),
		NeedsCapability("resources.subscribe"),
		NeedsProvocation("resource-updated"),
		Alone(),
		func(t *T) {
			server := FreshSession(t)
			other := server.Subscribe(Object{
				"resourceSubscriptions": []any{},
				"toolsListChanged":      true, "promptsListChanged": true, "resourcesListChanged": true,
			})
			subscription := server.Subscribe(Object{"resourceSubscriptions": []any{Provoking(t, "resource-updated").Resource}})

			server.Call("tools/call", Provoking(t, "resource-updated").Call()).Need().Result()
			await(server, subscription, updated)

			t.DemandNone("no "+updated+" on a subscription that did not request it", told(other, updated))
		},
	)
}

// ofRequests checks that what belongs to a request comes with it alone.
func ofRequests() {
	It(
		"sends no progress and no log messages of a call on the SSE stream of a subscription",
		Verifies("transports.http.stream.of-subscription"),
		NeedsProvocation("logging"),
		NeedsTransport(protocol.HTTP),
		func(t *T) {
			needsSubscriptions(t)
			server := FreshSession(t)
			subscription := server.Subscribe(everything(t))

			for _, kind := range []string{"logging", "progress"} {
				if tool, known := Provocable(t, kind); known {
					call := tool.Call()
					call["_meta"] = Object{"progressToken": "mcpconform-beside-" + kind, mcp.MetaLogLevel: "debug"}
					server.Call("tools/call", call).Need().Result()
				}
			}
			server.BarrierOnAllStreams()

			if len(server.Sent(subscription.Mark, Notification("notifications/message"))) == 0 {
				t.Inconclusive("the tool for logging logged nothing", "make sure that it logs")
			}
			strays := func(received scripted.Received) bool {
				ofRequest := received.Method == "notifications/progress" || received.Method == "notifications/message"
				return ofRequest && received.Stream == subscription.Delivery.Stream
			}
			t.DemandNone("no message of the call on the stream of the subscription", server.Sent(subscription.Mark, strays))
		},
	)
}

func endings() {
	It("sends no notifications on a cancelled subscription", Verifies("subscriptions.cancelled"),
		NeedsCapability("tools.listChanged"), NeedsProvocation("tools-changed"), Alone(),
		func(t *T) {
			server := FreshSession(t)
			cancelled := server.Subscribe(Object{"toolsListChanged": true})
			other := server.Subscribe(Object{"toolsListChanged": true})

			cancelled.Cancel()
			server.Barrier()
			mark := server.Mark()
			change(t, server, other)

			announced := func(received scripted.Received) bool { return SubscriptionOf(received) == cancelled.ID }
			t.DemandNone("nothing on the subscription that was cancelled", server.Sent(mark, announced))
		})

	It("keeps a subscription open when another one is cancelled", Verifies("subscriptions.several.served"),
		NeedsCapability("tools.listChanged"), NeedsProvocation("tools-changed"), Alone(),
		func(t *T) {
			server := FreshSession(t)
			cancelled := server.Subscribe(Object{"toolsListChanged": true})
			kept := server.Subscribe(Object{"toolsListChanged": true})

			cancelled.Cancel()
			server.Barrier()
			server.Call("tools/call", Provoking(t, "tools-changed").Call()).Need().Result()

			kept.Until(toolsChanged)
		})
}

// change makes the server change its tools, and waits until it has told a
// subscription.
func change(t *T, server *Server, subscription *Subscription) {
	server.Call("tools/call", Provoking(t, "tools-changed").Call()).Need().Result()
	await(server, subscription, toolsChanged)
}

// await waits for an announcement that the check needs and is not about.
func await(server *Server, subscription *Subscription, method string) {
	server.NeedMessage(subscription.Mark, func(received scripted.Received) bool {
		return received.Method == method && SubscriptionOf(received) == subscription.ID
	}, "the server did not send the notification to the subscription that requested it", "fix the failures of subscriptions.filter.delivered first")
	server.BarrierOnAllStreams()
}

// told are the notifications of a method on a subscription.
func told(subscription *Subscription, method string) []scripted.Received {
	return slices.DeleteFunc(subscription.Notifications(), func(received scripted.Received) bool { return received.Method != method })
}
