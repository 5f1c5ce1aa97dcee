package caching

import (
	"slices"

	. "github.com/mcpconform/mcpconform/internal/check"
	. "github.com/mcpconform/mcpconform/internal/clientrun"
	. "github.com/mcpconform/mcpconform/internal/scenario"
	"github.com/mcpconform/mcpconform/internal/scripted"
)

// A changing list has two pages, and the server says that it has changed when the second one
// is asked for: by then the client knows the first one, and is amid the list.
type changing struct{ of, method, announcement string }

// changings are the lists that can change, in the order in which they are listed.
var changings = []changing{
	{"tools", "tools/list", "notifications/tools/list_changed"},
	{"prompts", "prompts/list", "notifications/prompts/list_changed"},
	{"resources", "resources/list", "notifications/resources/list_changed"},
}

// updated is what the server says of a resource that the client has read.
const updated = "notifications/resources/updated"

// changes is a server whose lists and resource change while the client knows them.
var changes = &Scenario{
	Name:  "results-that-change-meanwhile",
	Since: since,
	Says:  "The server sends every result with a ttlMs of ten minutes. Between the two pages of each list it sends list_changed, and during a call resources/updated for a resource that the client has read.",
	Steps: Steps{
		ToConnect(),
		ToListen(Object{
			"toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true,
			"resourceSubscriptions": []any{scripted.ResourceURI},
		}),
		ToList("tools"), ToWaitFor(changings[0].announcement).ID("tools-awaited"), ToList("tools").ID("tools-again"),
		ToList("prompts"), ToWaitFor(changings[1].announcement).ID("prompts-awaited"), ToList("prompts").ID("prompts-again"),
		ToList("resources"), ToWaitFor(changings[2].announcement).ID("resources-awaited"), ToList("resources").ID("resources-again"),
		ToRead(scripted.ResourceURI), ToCall(scripted.AddNumbers, Object{"a": 5, "b": 3}), ToWaitFor(updated).ID("update-awaited"),
		ToRead(scripted.ResourceURI).ID("read-again"),
		ToClose(),
	},
	Server: func(server *scripted.Server) {
		server.Fresh = long
		for _, one := range changings {
			said := make(chan struct{}, 1)
			said <- struct{}{}
			server.On(one.method, func(call *scripted.Call) {
				items := map[string][]any{"tools": {server.Tools[0].Definition}, "prompts": {server.Prompts[0]}, "resources": {server.Resources[0]}}
				if call.Text("cursor") != secondPage {
					call.AnswerFresh(Object{one.of: items[one.of], "nextCursor": secondPage}, long)
					return
				}
				select {
				case <-said:
					call.Session.Notify(one.announcement, nil)
				default:
				}
				call.AnswerFresh(Object{one.of: []any{}}, long)
			})
		}
		server.On("tools/call", func(call *scripted.Call) {
			call.Session.Notify(updated, Object{"uri": scripted.ResourceURI})
			call.Good()
		})
	},
}

func changedResults() {
	for _, one := range changings {
		It("sends "+one.method+" again after "+one.announcement+" between its pages",
			Verifies("caching.notifications.stale"), In(changes), func(t *T) {
				fetchesChanged(t, RunScenario(t), one.method, one.announcement, one.of+"-awaited", one.of+"-again")
			})
	}

	It("sends resources/read again after "+updated, Verifies("caching.notifications.stale"), In(changes), func(t *T) {
		fetchesChanged(t, RunScenario(t), "resources/read", updated, "update-awaited", "read-again")
	})
}

// fetchesChanged wants a client to ask from the beginning for what has changed since it knew it.
// It waits for the announcement in one step, and wants the same again in another.
func fetchesChanged(t *T, client *Client, method, announcement, awaited, wanted string) {
	client.NeedRequests(method)
	announced := client.FromServer(announcement)
	if len(announced) == 0 {
		client.Inconclusive("the client opened no subscription for changes, or did not reach the second page", "subscriptions/listen")
	}
	again := func(request *Message) bool { return isFirst(request) && request.Event.At.After(announced[0].Event.At) }
	if t.Observed(slices.ContainsFunc(client.Requests(method), again)) {
		return
	}
	if waited := client.NeedOutcome(awaited); waited.Failed() {
		client.Inconclusive("the client did not receive the notification: "+waited.Error, "subscriptions/listen")
	}
	client.NeedResult(wanted)
	client.Missing(announced[0], Mismatch{
		Wanted: "a new " + method + ", from the first page, when the client next needs it",
		Found:  "no such request: the old result is used again",
	})
}
