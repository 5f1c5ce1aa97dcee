// Package caching checks the page server/utilities/caching.
package caching

import (
	"slices"
	"sync/atomic"
	"time"

	. "github.com/mcpconform/mcpconform/internal/check"
	. "github.com/mcpconform/mcpconform/internal/clientrun"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	. "github.com/mcpconform/mcpconform/internal/scenario"
	"github.com/mcpconform/mcpconform/internal/scripted"
)

// ClientChecks registers the checks of a target client. A client without a cache passes
// them: caching is optional.
func ClientChecks() {
	Describe("Fresh results", freshResults)
	Describe("Changed results", changedResults)
	Describe("Stale results", staleResults)
	Describe("Pages", pages)
}

// since is the revision that brought caching.
const since = "2026-07-28"

// long is a time to live that no scenario outlives, in milliseconds.
const long = 600_000

// Resources of the server whose results stay fresh.
const (
	oneURI     = "test://one"
	anotherURI = "test://another"
	privateURI = "test://private" // for which it needs to know more
)

// fresh is a server whose results stay fresh longer than the scenario takes.
var fresh = &Scenario{
	Name:  "results-that-stay-fresh",
	Since: since,
	Says:  "The server sends every result with a ttlMs of ten minutes, has a prompt beside its tools, and sends notifications/tools/list_changed during a call.",
	Steps: Steps{
		ToAnswer("elicitation/create", Object{"action": "accept", "content": Object{"name": "Ada"}}),
		ToConnect(),
		ToList("tools"),
		ToList("tools"),
		ToRead(oneURI),
		ToRead(anotherURI).ID("read-another"),
		ToList("prompts"),
		ToRead(privateURI).ID("read-private"),
		ToRead(privateURI).ID("read-private-again"),
		ToListen(Object{"toolsListChanged": true}),
		ToCall(scripted.AddNumbers, Object{"a": 5, "b": 3}),
		ToWaitFor("notifications/tools/list_changed").ID("change-awaited"),
		ToList("tools").ID("list-changed-tools"),
		ToRead(scripted.ResourceURI),
		ToClose(),
	},
	Server: func(server *scripted.Server) {
		server.Fresh = long
		for _, uri := range []string{oneURI, anotherURI, privateURI} {
			server.Resources = append(server.Resources, Object{"uri": uri, "name": uri})
		}
		server.On("tools/call", func(call *scripted.Call) {
			call.Session.Notify("notifications/tools/list_changed", nil)
			call.Good()
		})
		server.OnResult(func(call *scripted.Call, result Object) {
			if call.Message.Method == "tools/list" { // what is taken for the prompts shows
				result["prompts"] = []any{Object{"name": "not_a_prompt"}}
			}
		})
		server.On("resources/read", func(call *scripted.Call) {
			if call.Text("uri") == privateURI && call.Responses() == nil && call.Declares("elicitation") {
				call.Need(Object{"who": Object{"method": "elicitation/create", "params": Object{
					"message": "Whose is it?", "requestedSchema": Object{
						"type":       "object",
						"properties": Object{"name": Object{"type": "string"}},
						"required":   []any{"name"},
					},
				}}}, "")
				return
			}
			call.Good()
		})
	},
}

func freshResults() {
	It("sends tools/list again after notifications/tools/list_changed", Verifies("caching.notifications.stale"), In(fresh), func(t *T) {
		client := RunScenario(t)

		client.NeedRequests("tools/list")
		announced := client.FromServer("notifications/tools/list_changed")
		if len(announced) == 0 {
			client.Inconclusive("the client opened no subscription for changes, or made no call", "subscriptions/listen")
		}
		if t.Observed(asksAfter(client, announced[0], "tools/list")) {
			return
		}
		if waited := client.NeedOutcome("change-awaited"); waited.Failed() {
			client.Inconclusive("the client did not receive the notification: "+waited.Error, "subscriptions/listen")
		}
		client.NeedResult("list-changed-tools")
		client.Missing(announced[0], Mismatch{
			Wanted: "a new tools/list when the client next needs the tools",
			Found:  "no such request: the old list is used again",
		})
	})

	It("sends resources/read although it has cached another resource", Verifies("caching.key.respected"), In(fresh), func(t *T) {
		client := RunScenario(t)

		known := readsOf(client, oneURI)
		if len(known) == 0 {
			client.InconclusiveWithout("resources/read")
		}
		if !t.Observed(len(readsOf(client, anotherURI)) > 0) {
			client.NeedResult("read-another")
			client.Missing(known[0], Mismatch{
				Wanted: "a resources/read for " + anotherURI + ", too",
				Found:  "none: the contents of " + oneURI + " are used for it",
			})
		}
	})

	cachingApart()
}

func cachingApart() {
	It("sends prompts/list although it has cached tools/list", Verifies("caching.key.respected"), In(fresh), func(t *T) {
		client := RunScenario(t)

		known := client.NeedRequests("tools/list")
		if !t.Observed(len(client.Requests("prompts/list")) > 0) {
			client.NeedResult("list-prompts")
			client.Missing(known[0], Mismatch{Wanted: "a prompts/list, too", Found: "none: the result of tools/list is used for it"})
		}
	})

	It("does not cache the result of resources/read with inputResponses", Verifies("caching.key.no-retries"), In(fresh), func(t *T) {
		client := RunScenario(t)

		retry := slices.IndexFunc(readsOf(client, privateURI), func(read *Message) bool { return read.ParamsObject()["inputResponses"] != nil })
		if retry < 0 {
			client.Inconclusive("the client sent no input for resources/read", "elicitation/create")
		}
		if reads := readsOf(client, privateURI); !t.Observed(retry < len(reads)-1) {
			client.NeedResult("read-private")
			client.NeedResult("read-private-again")
			client.Missing(reads[retry], Mismatch{
				Wanted: "another resources/read when the client needs the resource again",
				Found:  "none: the result of the retry is used again",
			})
		}
	})
}

// readsOf returns the client's reads of a resource.
func readsOf(client *Client, uri string) []*Message {
	return slices.DeleteFunc(client.Requests("resources/read"), func(read *Message) bool { return read.ParamsObject()["uri"] != uri })
}

// asksAfter tells whether the client sent a request of a method after a message.
func asksAfter(client *Client, message *Message, method string) bool {
	return slices.ContainsFunc(client.Requests(method), func(request *Message) bool { return request.Event.At.After(message.Event.At) })
}

const (
	// short is a time to live that is over soon, in milliseconds.
	short = 10
	// working is how long the call takes in whose time lists grow stale: many times
	// that.
	working = 400 * time.Millisecond
	// watching is how much longer it takes where the client polls, moment by moment,
	// to see whether it slows down.
	watching = 60
	moment   = 10 * time.Millisecond
	// fewPolls may have another reason.
	fewPolls = 2
	// manyPolls cannot come in the time of the call, watched and all, when each wait is
	// longer than the one before by a fifth.
	manyPolls = 18
)

// stale is a server whose results are soon out of date.
var stale = &Scenario{
	Name:  "results-that-go-stale",
	Waits: true,
	Since: since,
	Says:  "The server sends lists and resources with a ttlMs of 10, and the first prompts with a negative one; a call takes longer.",
	Steps: Steps{
		ToConnect(),
		ToList("tools"),
		ToList("prompts").ID("list-negative-prompts"),
		ToList("prompts").ID("list-negative-prompts-again"),
		ToList("prompts"),
		ToList("templates"),
		ToRead(scripted.ResourceURI),
		ToCall(scripted.AddNumbers, Object{"a": 5, "b": 3}),
		ToList("tools").ID("list-tools-later"),
		ToList("prompts").ID("list-prompts-later"),
		ToList("templates").ID("list-templates-later"),
		ToRead(scripted.ResourceURI).ID("read-later"),
		ToClose(),
	},
	Server: func(server *scripted.Server) {
		server.Fresh = short
		server.On("prompts/list", func(call *scripted.Call) {
			if call.Nth > 1 {
				call.Good()
				return
			}
			call.Finally(jsonrpc.NewResult(call.Message.ID, Object{
				"resultType": "complete", "prompts": []any{server.Prompts[0]}, "ttlMs": -1, "cacheScope": "private",
			}), "the ttlMs is negative")
		})
		var lists atomic.Int64
		server.On("tools/list", func(call *scripted.Call) {
			lists.Add(1)
			call.Good()
		})
		server.On("tools/call", func(call *scripted.Call) {
			before := lists.Load()
			polls := func() int64 { return lists.Load() - before }
			call.Pause(working)
			for range watching {
				if polls() > fewPolls && polls() <= manyPolls {
					call.Pause(moment)
				}
			}
			call.Good()
		})
	},
}

func staleResults() {
	It("sends prompts/list again after a result with a negative ttlMs", Verifies("caching.ttl.negative"), In(stale), func(t *T) {
		client := RunScenario(t)

		lists := client.NeedRequests("prompts/list")
		if !t.Observed(len(lists) > 1) {
			client.NeedResult("list-negative-prompts")
			client.NeedResult("list-negative-prompts-again")
			client.Missing(lists[0], Mismatch{
				Wanted: "another prompts/list when the client needs the prompts again",
				Found:  "none: a result with ttlMs -1 is used again",
			})
		}
	})

	It("sends tools/list again after its ttlMs has expired", Verifies("caching.stale.fetched"), In(stale), func(t *T) {
		client := RunScenario(t)

		known, call := grownStale(client)
		if !t.Observed(asksAfter(client, call, "tools/list")) {
			client.NeedResult("list-tools")
			client.NeedResult("list-tools-later")
			client.Missing(known, Mismatch{
				Wanted: "another tools/list when the client needs the tools again after 400 ms",
				Found:  "none: a result with ttlMs 10 is used again",
			})
		}
	})

	for _, wanted := range []struct {
		method, first, last string
	}{
		{"prompts/list", "list-prompts", "list-prompts-later"},
		{"resources/templates/list", "list-templates", "list-templates-later"},
		{"resources/read", "read", "read-later"},
	} {
		It("sends "+wanted.method+" again after its ttlMs has expired", Verifies("caching.stale.fetched"), In(stale), func(t *T) {
			client := RunScenario(t)

			known, call := lastBefore(client, wanted.method)
			if prompts := client.Requests("prompts/list"); len(prompts) > 0 && known == prompts[0] {
				client.Inconclusive("the client caches prompts with a negative ttlMs: reported by another check", wanted.method)
			}
			if !t.Observed(asksAfter(client, call, wanted.method)) {
				client.NeedResult(wanted.first)
				client.NeedResult(wanted.last)
				client.Missing(known, Mismatch{
					Wanted: "another " + wanted.method + " when the client needs the same again after 400 ms",
					Found:  "none: a result with ttlMs 10 is used again",
				})
			}
		})
	}

	pollingLists()
}

func pollingLists() {
	It("does not poll tools/list in the background each time its ttlMs expires", Verifies("caching.stale.not-polled"), In(stale), func(t *T) {
		client := RunScenario(t)

		polls, answer := pollsOf(client)
		if len(polls) > fewPolls {
			client.Fail(polls[fewPolls], Mismatch{
				Wanted: "no tools/list while a call is open and the tools are not needed",
				Found:  Show(len(polls)) + " of them, with a ttlMs of 10",
			})
		}
		client.Refrained(answer, client.CallOf(scripted.AddNumbers))
	})

	It("increases its intervals if it polls tools/list in the background", Verifies("caching.stale.polled-gently"), In(stale), func(t *T) {
		client := RunScenario(t)

		polls, _ := pollsOf(client)
		if len(polls) <= fewPolls {
			t.NotApplicable("the client does not poll")
		}
		t.Observe()
		if len(polls) >= manyPolls {
			client.Fail(polls[manyPolls-1], Mismatch{
				Wanted: "longer intervals from poll to poll",
				Found:  Show(len(polls)) + " tools/list in less than a second, with a ttlMs of 10",
			})
		}
	})
}

// grownStale returns the last request for a list of tools before the long call, during
// which the list grows stale, and the call. Of a client that knew no list nothing is
// shown.
func grownStale(client *Client) (known, call *Message) { return lastBefore(client, "tools/list") }

// lastBefore does the same with requests of another method.
func lastBefore(client *Client, method string) (known, call *Message) {
	requests := client.NeedRequests(method)
	call = client.NeedCalls(scripted.AddNumbers)[0]
	for _, request := range requests {
		if answer := AnswerTo(request); answer != nil && answer.Event.At.Before(call.Event.At) {
			known = request
		}
	}
	if known == nil {
		client.Inconclusive("the client had no result of "+method+" that could expire during the call", method)
	}
	return known, call
}

// pollsOf returns the lists of tools that the client asked for during the long call, and
// the answer of that.
func pollsOf(client *Client) (polls []*Message, answer *Message) {
	_, call := grownStale(client)
	answer = AnswerTo(call)
	if answer == nil {
		client.Inconclusive("the client did not wait for the answer of the call", "tools/call")
	}
	polls = slices.DeleteFunc(client.Requests("tools/list"), func(list *Message) bool {
		return list.Event.At.Before(call.Event.At) || list.Event.At.After(answer.Event.At)
	})
	return polls, answer
}

// secondPage is the cursor of the pages that are out of date at once.
const secondPage = "page-2"

// stalePages is a server whose second pages are out of date at once; that of the
// prompts is gone when it is asked for again.
var stalePages = &Scenario{
	Name:  "pages-that-go-stale",
	Since: since,
	Says:  "The server lists tools and prompts on two pages each, the first with a long ttlMs and the second with 0; the second page of prompts is served only once.",
	Steps: Steps{
		ToConnect(),
		ToList("tools"),
		ToList("tools").ID("list-tools-again"),
		ToList("prompts"),
		ToList("prompts").ID("list-prompts-again"),
		ToRead(scripted.ResourceURI),
		ToClose(),
	},
	Server: func(server *scripted.Server) {
		server.On("tools/list", func(call *scripted.Call) {
			if call.Text("cursor") == secondPage {
				call.AnswerFresh(Object{"tools": []any{}}, 0)
				return
			}
			call.AnswerFresh(Object{"tools": []any{server.Tools[0].Definition}, "nextCursor": secondPage}, long)
		})
		given := make(chan struct{}, 1) // the second page of prompts, once
		given <- struct{}{}
		server.On("prompts/list", func(call *scripted.Call) {
			if call.Text("cursor") != secondPage {
				call.AnswerFresh(Object{"prompts": []any{server.Prompts[0]}, "nextCursor": secondPage}, long)
				return
			}
			select {
			case <-given:
				call.AnswerFresh(Object{"prompts": []any{}}, 0)
			default:
				call.Refuse(jsonrpc.InvalidParams, "Invalid cursor", nil)
			}
		})
	},
}

func pages() {
	It("fetches a stale page of tools/list again by its cursor", Verifies("caching.pages.fetched"), In(stalePages), func(t *T) {
		client := RunScenario(t)

		seconds := slices.DeleteFunc(client.NeedRequests("tools/list"), isFirst)
		if len(seconds) == 0 {
			client.Inconclusive("the client did not reach the second page", "tools/list")
		}
		if !t.Observed(len(seconds) > 1) {
			client.NeedResult("list-tools")
			client.NeedResult("list-tools-again")
			client.Missing(seconds[0], Mismatch{
				Wanted: "another tools/list with the cursor " + Show(secondPage) + " when the client needs the tools again",
				Found:  "none: a page with ttlMs 0 is used again, or left out",
			})
		}
	})

	It("fetches prompts/list from the first page after its cursor was rejected",
		Verifies("caching.pages.invalid-cursor"), In(stalePages), func(t *T) {
			client := RunScenario(t)

			lists := client.NeedRequests("prompts/list")
			refused := slices.IndexFunc(lists, func(list *Message) bool {
				answer := AnswerTo(list)
				return answer != nil && answer.ResultObject() == nil
			})
			if refused < 0 {
				client.Inconclusive("the client did not reach the second page of prompts a second time", "prompts/list")
			}
			if firsts := slices.DeleteFunc(slices.Clone(lists[:refused]), func(list *Message) bool { return !isFirst(list) }); len(firsts) > 1 {
				t.NotApplicable("the client caches no pages: it had just restarted from the first page")
			}
			if t.Observed(slices.ContainsFunc(lists[refused:], isFirst)) {
				return
			}
			if _, over := client.Outcome("list-prompts-again"); !over { // the step in which the client was refused
				client.NeedMore(AnswerTo(lists[refused]), "prompts/")
			}
			client.Missing(AnswerTo(lists[refused]), Mismatch{Wanted: "a prompts/list without a cursor after this refusal", Found: "no such request"})
		})
}

// isFirst tells whether a request is for the first page of a list.
func isFirst(list *Message) bool {
	_, given := list.ParamsObject()["cursor"]
	return !given
}
