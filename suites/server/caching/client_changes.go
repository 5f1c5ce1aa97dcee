package caching

import (
	"slices"

	. "github.com/mcpconform/mcpconform/internal/check"
	. "github.com/mcpconform/mcpconform/internal/conform"
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

// Positions in the steps of changes: each list takes three.
const (
	firstListed = 2
	stepsOfList = 3
)

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
		ToList("tools"), ToWaitFor(changings[0].announcement), ToList("tools"),
		ToList("prompts"), ToWaitFor(changings[1].announcement), ToList("prompts"),
		ToList("resources"), ToWaitFor(changings[2].announcement), ToList("resources"),
		ToRead(scripted.ResourceURI), ToCall(scripted.AddNumbers, Object{"a": 5, "b": 3}), ToWaitFor(updated),
		ToRead(scripted.ResourceURI),
		ToClose(),
	},
	Server: func(server *scripted.Server) {
		server.Fresh = long
		for _, one := range changings {
			said := make(chan struct{}, 1)
			said <- struct{}{}
			server.On(one.method, func(call *scripted.Call) {
				items := map[string][]any{
					"tools":   {server.Tools[0].Definition},
					"prompts": {server.Prompts[0]}, "resources": {server.Resources[0]},
				}
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
	for at, one := range changings {
		listed := firstListed + stepsOfList*at
		It("sends "+one.method+" again after "+one.announcement+" between its pages",
			Verifies("caching.notifications.stale"), In(changes), func(t *T) {
				fetchesChanged(t, RunScenario(t), one.method, one.announcement, listed+1, listed+2)
			})
	}

	It("sends resources/read again after "+updated, Verifies("caching.notifications.stale"), In(changes), func(t *T) {
		awaited := firstListed + stepsOfList*len(changings) + 2
		fetchesChanged(t, RunScenario(t), "resources/read", updated, awaited, awaited+1)
	})
}

// fetchesChanged wants a client to ask from the beginning for what has changed since it knew it.
// It waits for the announcement in one step, and wants the same again in another.
func fetchesChanged(t *T, client *Client, method, announcement string, awaited, wanted int) {
	client.NeedRequests(method)
	announced := client.FromServer(announcement)
	if len(announced) == 0 {
		client.NeverBut("the client opened no subscription for changes, or did not reach the second page", "subscriptions/listen")
	}
	again := func(request *Message) bool {
		return isFirst(request) && request.Event.At.After(announced[0].Event.At)
	}
	if t.Observed(slices.ContainsFunc(client.Requests(method), again)) {
		return
	}
	if waited := client.OutcomeOf(awaited); waited.Failed() {
		client.NeverBut("the client did not receive the notification: "+waited.Error, "subscriptions/listen")
	}
	client.NeedGiven(wanted)
	client.Missing(announced[0], Mismatch{
		Wanted: "a new " + method + ", from the first page, when the client next needs it",
		Found:  "no such request: the old result is used again",
	})
}
