// Package subscriptions checks the page basic/patterns/subscriptions.
package subscriptions

import (
	"context"
	"maps"
	"slices"

	. "github.com/mcpconform/mcpconform/internal/check"
	. "github.com/mcpconform/mcpconform/internal/conform"
	"github.com/mcpconform/mcpconform/internal/excerpt"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/mcp"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/scripted"
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
func everything() Object {
	filter := Object{}
	for wish := range listChanges {
		filter[wish] = true
	}
	if resources := ListedResources(); Declares("resources.subscribe") && len(resources) > 0 {
		filter["resourceSubscriptions"] = []any{resources[0]["uri"]}
	}
	return filter
}

func acknowledgements() {
	It(
		"acknowledges subscriptions/listen with notifications/subscriptions/acknowledged",
		Verifies("subscriptions.acknowledged.sent"),
		func(ctx SpecContext) {
			needsSubscriptions()
			server := FreshSession(ctx)

			answer := listen(ctx, server, server.NextID(), everything())

			judgeAcknowledged(answer)
		},
	)

	It(
		"acknowledges a second subscriptions/listen while the first is open",
		Verifies("subscriptions.several.served"),
		func(ctx SpecContext) {
			needsSubscriptions()
			server := FreshSession(ctx)
			server.Subscribe(ctx, everything()) // or else the second one is not refused for the first

			answer := listen(ctx, server, server.NextID(), everything())

			judgeAcknowledged(answer)
		},
	)

	It("acknowledges subscriptions/listen with a string as request id", Verifies("subscriptions.acknowledged.sent"),
		func(ctx SpecContext) {
			needsSubscriptions()
			server := FreshSession(ctx)

			answer := listen(ctx, server, jsonrpc.StringID("mcpconform-subscription"), everything())

			judgeAcknowledged(answer)
		})

	It("acknowledges subscriptions/listen without clientInfo in _meta", Verifies("base.fields.optional"),
		func(ctx SpecContext) {
			needsSubscriptions()
			server := FreshSession(ctx)
			filter := Object{"notifications": everything(), "_meta": Object{mcp.MetaClientInfo: scripted.Omitted}}

			answer := listenWith(ctx, server, server.NextID(), filter)

			if answer.Method != acknowledged {
				FreshSession(ctx).Subscribe(ctx, everything()) // or else it is not refused for that
			}
			judgeAcknowledged(answer)
		})

	It("acknowledges subscriptions/listen that requests nothing", Verifies("subscriptions.acknowledged.sent"),
		func(ctx SpecContext) {
			needsSubscriptions()
			server := FreshSession(ctx)

			answer := listen(ctx, server, server.NextID(), Object{})

			if answer.Method != acknowledged {
				FreshSession(ctx).Subscribe(ctx, everything()) // or else it is not refused for that
			}
			judgeAcknowledged(answer)
		})

	It(
		"acknowledges no list changes if subscriptions/listen requests none",
		Verifies("subscriptions.acknowledged.requested"),
		func(ctx SpecContext) {
			needsSubscriptions()
			server := FreshSession(ctx)

			refused := Object{}
			for wish := range listChanges {
				refused[wish] = false
			}

			for _, filter := range []Object{{}, refused} {
				subscription := server.Subscribe(ctx, filter)

				for _, wish := range slices.Sorted(maps.Keys(listChanges)) {
					Expect(subscription.Acknowledged).NotTo(HaveMember(wish, true))
				}
			}
		},
	)
}

// resourcesUndeclared checks that a server agrees to nothing that it cannot do.
func resourcesUndeclared() {
	It(
		"acknowledges resourceSubscriptions only if it declares resources.subscribe",
		Verifies("subscriptions.acknowledged.supported"),
		func(ctx SpecContext) {
			needsSubscriptions()
			resources := ListedResources()
			switch {
			case Declares("resources.subscribe"):
				NotApplicable("the server declares resources.subscribe")
			case len(resources) == 0:
				NotApplicable("the server lists no resource")
			}
			filter := everything()
			filter["resourceSubscriptions"] = []any{resources[0]["uri"]}

			subscription := FreshSession(ctx).Subscribe(ctx, filter)

			agreed, _ := subscription.Acknowledged["resourceSubscriptions"].([]any)
			Demand(
				len(agreed) == 0,
				"no resourceSubscriptions, as the server does not declare resources.subscribe",
				Show(agreed),
			)
		},
	)
}

// needsSubscriptions skips the check when there is nothing to subscribe to: such a
// server need not know of subscriptions.
func needsSubscriptions() {
	for _, capability := range listChanges {
		if Declares(capability) {
			return
		}
	}
	if !Declares("resources.subscribe") {
		NotApplicable("the server declares neither listChanged nor resources.subscribe")
	}
}

// listen asks for a subscription and returns its acknowledgement, or else the answer
// to the request.
func listen(ctx context.Context, server *Server, id jsonrpc.ID, filter Object) scripted.Received {
	return listenWith(ctx, server, id, Object{"notifications": filter})
}

func listenWith(ctx context.Context, server *Server, id jsonrpc.ID, params Object) scripted.Received {
	request := server.StartRaw(ctx, id, method, scripted.Outgoing{}, params)
	received, err := request.WaitOr(ctx, func(received scripted.Received) bool {
		return received.Method == acknowledged && SubscriptionOf(received) == id
	})
	if err != nil {
		Missing(acknowledged+" with the id "+id.String(), err)
	}
	return received
}

func judgeAcknowledged(answer scripted.Received) {
	Judging(Reply{Received: answer})
	Demand(answer.Method == acknowledged, acknowledged+" first", excerpt.Short(answer.Raw))
}

func announcements() {
	It(
		"sends notifications/tools/list_changed on a subscription with toolsListChanged",
		Verifies("subscriptions.filter.delivered"),
		NeedsCapability("tools.listChanged"),
		NeedsProvocation("tools-changed"),
		Alone(),
		func(ctx SpecContext) {
			server := FreshSession(ctx)
			subscription := server.Subscribe(ctx, Object{"toolsListChanged": true})

			server.Need(ctx, "tools/call", Provoking("tools-changed").Call())

			subscription.Until(ctx, toolsChanged)
		},
	)

	It(
		"sends notifications/resources/updated on a subscription to the resource",
		Verifies("subscriptions.filter.delivered"),
		NeedsCapability("resources.subscribe"),
		NeedsProvocation("resource-updated"),
		Alone(),
		func(ctx SpecContext) {
			server := FreshSession(ctx)
			subscription := server.Subscribe(
				ctx,
				Object{"resourceSubscriptions": []any{Provoking("resource-updated").Resource}},
			)

			server.Need(ctx, "tools/call", Provoking("resource-updated").Call())

			subscription.Until(ctx, updated)
		},
	)

	It(
		"sends notifications/tools/list_changed on each of two subscriptions with toolsListChanged",
		Verifies("subscriptions.several.served"),
		NeedsCapability("tools.listChanged"),
		NeedsProvocation("tools-changed"),
		Alone(),
		func(ctx SpecContext) {
			server := FreshSession(ctx)
			first := server.Subscribe(ctx, Object{"toolsListChanged": true})
			second := server.Subscribe(ctx, everything())

			server.Need(ctx, "tools/call", Provoking("tools-changed").Call())

			first.Until(ctx, toolsChanged)
			second.Until(ctx, toolsChanged)
		},
	)

	It(
		"sends no notifications/tools/list_changed on a subscription without toolsListChanged",
		Verifies("subscriptions.filter.honored"),
		NeedsCapability("tools.listChanged"),
		NeedsProvocation("tools-changed"),
		Alone(),
		func(ctx SpecContext) {
			server := FreshSession(ctx)
			other := server.Subscribe(ctx, Object{"promptsListChanged": true, "resourcesListChanged": true})
			subscription := server.Subscribe(ctx, Object{"toolsListChanged": true})

			change(ctx, server, subscription)

			DemandNone("no "+toolsChanged+" on a subscription that did not request it", told(other, toolsChanged))
		},
	)

	It(
		"sends no notifications/resources/updated on a subscription without the resource",
		Verifies("subscriptions.filter.honored"),
		NeedsCapability("resources.subscribe"),
		NeedsProvocation("resource-updated"),
		Alone(),
		func(ctx SpecContext) {
			server := FreshSession(ctx)
			other := server.Subscribe(ctx, Object{
				"resourceSubscriptions": []any{},
				"toolsListChanged":      true, "promptsListChanged": true, "resourcesListChanged": true,
			})
			subscription := server.Subscribe(
				ctx,
				Object{"resourceSubscriptions": []any{Provoking("resource-updated").Resource}},
			)

			server.Need(ctx, "tools/call", Provoking("resource-updated").Call())
			await(ctx, server, subscription, updated)

			DemandNone("no "+updated+" on a subscription that did not request it", told(other, updated))
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
		func(ctx SpecContext) {
			needsSubscriptions()
			server := FreshSession(ctx)
			subscription := server.Subscribe(ctx, everything())

			for _, kind := range []string{"logging", "progress"} {
				if tool, known := Provocable(kind); known {
					call := tool.Call()
					call["_meta"] = Object{"progressToken": "mcpconform-beside-" + kind, mcp.MetaLogLevel: "debug"}
					server.Need(ctx, "tools/call", call)
				}
			}
			server.BarrierOnAllStreams(ctx)

			if len(server.Sent(subscription.Mark, Notification("notifications/message"))) == 0 {
				Inconclusive("the tool for logging logged nothing", "make sure that it logs")
			}
			strays := func(received scripted.Received) bool {
				ofRequest := received.Method == "notifications/progress" || received.Method == "notifications/message"
				return ofRequest && received.Stream == subscription.Delivery.Stream
			}
			DemandNone("no message of the call on the stream of the subscription", server.Sent(subscription.Mark, strays))
		},
	)
}

func endings() {
	It("sends no notifications on a cancelled subscription", Verifies("subscriptions.cancelled"),
		NeedsCapability("tools.listChanged"), NeedsProvocation("tools-changed"), Alone(),
		func(ctx SpecContext) {
			server := FreshSession(ctx)
			cancelled := server.Subscribe(ctx, Object{"toolsListChanged": true})
			other := server.Subscribe(ctx, Object{"toolsListChanged": true})

			cancelled.Cancel(ctx)
			server.Barrier(ctx)
			mark := server.Mark()
			change(ctx, server, other)

			announced := func(received scripted.Received) bool { return SubscriptionOf(received) == cancelled.ID }
			DemandNone("nothing on the subscription that was cancelled", server.Sent(mark, announced))
		})

	It("keeps a subscription open when another one is cancelled", Verifies("subscriptions.several.served"),
		NeedsCapability("tools.listChanged"), NeedsProvocation("tools-changed"), Alone(),
		func(ctx SpecContext) {
			server := FreshSession(ctx)
			cancelled := server.Subscribe(ctx, Object{"toolsListChanged": true})
			kept := server.Subscribe(ctx, Object{"toolsListChanged": true})

			cancelled.Cancel(ctx)
			server.Barrier(ctx)
			server.Need(ctx, "tools/call", Provoking("tools-changed").Call())

			kept.Until(ctx, toolsChanged)
		})
}

// change makes the server change its tools, and waits until it has told a
// subscription.
func change(ctx context.Context, server *Server, subscription *Subscription) {
	server.Need(ctx, "tools/call", Provoking("tools-changed").Call())
	await(ctx, server, subscription, toolsChanged)
}

// await waits for an announcement that the check needs and is not about.
func await(ctx context.Context, server *Server, subscription *Subscription, method string) {
	server.NeedMessage(ctx, subscription.Mark, func(received scripted.Received) bool {
		return received.Method == method && SubscriptionOf(received) == subscription.ID
	}, "the server did not send the notification to the subscription that requested it", "fix the failures of subscriptions.filter.delivered first")
	server.BarrierOnAllStreams(ctx)
}

// told are the notifications of a method on a subscription.
func told(subscription *Subscription, method string) []scripted.Received {
	return slices.DeleteFunc(
		subscription.Notifications(),
		func(received scripted.Received) bool { return received.Method != method },
	)
}
