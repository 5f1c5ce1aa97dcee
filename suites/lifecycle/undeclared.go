package lifecycle

import (
	"context"
	"strings"

	. "github.com/mcpconform/mcpconform/internal/check"
	. "github.com/mcpconform/mcpconform/internal/conform"
	"github.com/mcpconform/mcpconform/suites/server/lists"
)

// unannounced checks that a server is silent about changes for which it has declared
// nothing, although they happen.
func unannounced() {
	for _, feature := range []string{"tools", "prompts", "resources"} {
		announcement := "notifications/" + feature + "/list_changed"

		It(
			"sends notifications/"+feature+"/list_changed only if it declares "+feature+".listChanged",
			Verifies("lifecycle.capabilities.own"),
			Alone(),
			func(ctx SpecContext) {
				trigger := unlessDeclared(feature+".listChanged", feature+"-changed")
				server := FreshSession(ctx)
				server.Hear(ctx)
				before := server.All(ctx, feature+"/list")
				mark := server.Mark()

				changed := server.Need(ctx, "tools/call", trigger.Call())

				if changed["isError"] == true || lists.Unchanged(before, server.All(ctx, feature+"/list")) {
					Inconclusive(
						"the list of "+feature+" did not change",
						"make sure that the tool for "+feature+"-changed changes it",
					)
				}
				server.BarrierOnAllStreams(ctx)
				DemandNone(
					"no "+announcement+" of a server that does not declare "+feature+".listChanged",
					server.Sent(mark, Notification(announcement)),
				)
			},
		)
	}

	It(
		"sends notifications/resources/updated only if it declares resources.subscribe",
		Verifies("lifecycle.capabilities.own"),
		Alone(),
		func(ctx SpecContext) {
			trigger := unlessDeclared("resources.subscribe", "resource-updated")
			server := FreshSession(ctx)
			server.Hear(ctx)
			subscribeAnyway(ctx, server, trigger.Resource)
			mark := server.Mark()

			if server.Need(ctx, "tools/call", trigger.Call())["isError"] == true {
				Inconclusive(
					"the tool "+trigger.Tool+" did not change the resource",
					"make sure that the tool for resource-updated changes it",
				)
			}

			server.BarrierOnAllStreams(ctx)
			DemandNone("no notifications/resources/updated of a server that does not declare resources.subscribe",
				server.Sent(mark, Notification("notifications/resources/updated")))
		},
	)
}

// unlessDeclared returns the tool that makes a change happen. A server that declares to
// tell of it, or has no such tool, has nothing to be silent about.
func unlessDeclared(capability, kind string) Provocation {
	if Declares(capability) {
		NotApplicable("the server declares " + capability)
	}
	if feature, _, _ := strings.Cut(capability, "."); !Declares(feature) {
		NotApplicable("the server does not declare " + feature)
	}
	trigger, known := Provocable(kind)
	if !known {
		NotApplicable("no known tool makes this change")
	}
	return trigger
}

// subscribeAnyway subscribes to a resource although the server has declared nothing of
// the kind; whether it accepts that is its own affair.
func subscribeAnyway(ctx context.Context, server *Server, uri string) {
	_, _, _ = server.Attempt(
		ctx,
		"resources/subscribe",
		Object{"uri": uri},
		"the server does not declare resources.subscribe",
	)
}
