package lifecycle

import (
	"strings"

	. "github.com/mcpconform/mcpconform/internal/check"
	. "github.com/mcpconform/mcpconform/internal/offer"
	. "github.com/mcpconform/mcpconform/internal/session"
	"github.com/mcpconform/mcpconform/suites/server/lists"
)

// unannounced checks that a server is silent about changes for which it has declared
// nothing, although they happen.
func unannounced() {
	for _, feature := range []string{"tools", "prompts", "resources"} {
		announcement := "notifications/" + feature + "/list_changed"

		It("sends notifications/"+feature+"/list_changed only if it declares "+feature+".listChanged",
			Verifies("lifecycle.capabilities.own"), Alone(), func(t *T) {
				trigger := unlessDeclared(t, feature+".listChanged", feature+"-changed")
				server := FreshSession(t)
				server.ListenForChanges()
				before := server.All(feature + "/list")
				mark := server.Mark()

				changed := server.Call("tools/call", trigger.Call()).Need().Result()

				if changed["isError"] == true || lists.Unchanged(before, server.All(feature+"/list")) {
					t.Inconclusive("the list of "+feature+" did not change", "make sure that the tool for "+feature+"-changed changes it")
				}
				server.BarrierOnAllStreams()
				t.DemandNone(
					"no "+announcement+" of a server that does not declare "+feature+".listChanged",
					server.Sent(mark, Notification(announcement)),
				)
			})
	}

	It("sends notifications/resources/updated only if it declares resources.subscribe", Verifies("lifecycle.capabilities.own"), Alone(), func(t *T) {
		trigger := unlessDeclared(t, "resources.subscribe", "resource-updated")
		server := FreshSession(t)
		server.ListenForChanges()
		subscribeAnyway(server, trigger.Resource)
		mark := server.Mark()

		if server.Call("tools/call", trigger.Call()).Need().Result()["isError"] == true {
			t.Inconclusive("the tool "+trigger.Tool+" did not change the resource", "make sure that the tool for resource-updated changes it")
		}

		server.BarrierOnAllStreams()
		t.DemandNone("no notifications/resources/updated of a server that does not declare resources.subscribe",
			server.Sent(mark, Notification("notifications/resources/updated")))
	})
}

// unlessDeclared returns the tool that makes a change happen. A server that declares to
// tell of it, or has no such tool, has nothing to be silent about.
func unlessDeclared(t *T, capability, kind string) Provocation {
	if Declares(t, capability) {
		t.NotApplicable("the server declares " + capability)
	}
	if feature, _, _ := strings.Cut(capability, "."); !Declares(t, feature) {
		t.NotApplicable("the server does not declare " + feature)
	}
	trigger, known := Provocable(t, kind)
	if !known {
		t.NotApplicable("no known tool makes this change")
	}
	return trigger
}

// subscribeAnyway subscribes to a resource although the server has declared nothing of
// the kind; whether it accepts that is its own affair.
func subscribeAnyway(server *Server, uri string) {
	server.Call("resources/subscribe", Object{"uri": uri}, ToBeRefused("the server does not declare resources.subscribe")).May()
}
