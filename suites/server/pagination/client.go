package pagination

import (
	"net/http"
	"slices"
	"strings"

	. "github.com/mcpconform/mcpconform/internal/check"
	. "github.com/mcpconform/mcpconform/internal/clientrun"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/protocol"
	. "github.com/mcpconform/mcpconform/internal/scenario"
	"github.com/mcpconform/mcpconform/internal/scripted"
)

// ClientChecks registers the checks of a target client.
func ClientChecks() {
	Describe("Following lists", followingLists)
	Describe("Reading cursors", readingCursors)
}

// Lists of several pages. Those of the tools have different lengths, and the fourth
// is empty, as is one of each other list; these have cursors with characters that mean
// something elsewhere.
var (
	someTools     = toolsOn(page{"", 3}, page{"tools-2", 1}, page{"tools-3", 7}, page{"tools-4", 0}, page{"tools-5", 2})
	someResources = resourcesOn(page{"", 2}, page{"cmVzb3VyY2VzLTI=", 2}, page{"resources-3", 0}, page{"resources-4", 1})
	someTemplates = templatesOn(page{"", 2}, page{"dGVtcGxhdGVzLTI+/w==", 2}, page{aroundCursor, 0}, page{"templates-4", 1})
	somePrompts   = promptsOn(page{"", 2}, page{"cHJvbXB0cy0y%3D&+", 2}, page{"prompts-3", 0}, page{"prompts-4", 1})
)

// The other lists with one more page, behind an empty cursor.
var (
	resourcesToEmpty = resourcesOn(append(slices.Clip(someResources.pages), page{againCursor, 1}, page{"resources-6", 1}, page{emptyCursor, 1})...)
	templatesToEmpty = templatesOn(append(slices.Clip(someTemplates.pages), page{emptyCursor, 1})...)
	promptsToEmpty   = promptsOn(append(slices.Clip(somePrompts.pages), page{emptyCursor, 1})...)
)

// emptyPage is the position of the page of tools without any, and emptyOther that of the
// other lists.
const (
	emptyPage  = 3
	emptyOther = 2
)

// aroundCursor has spaces at both ends.
const aroundCursor = " templates-3 "

// againCursor is that of a page of resources which is not there yet when it is asked for first:
// the server gives none, and the same cursor once more.
const againCursor = "resources-5"

// pages is a server whose lists take several pages.
var pages = &Scenario{
	Name: "lists-in-pages",
	Says: "The server returns each list on several pages; those of the tools have different lengths, and one of each list is empty. At revisions that allow it, one page of the resources has its own cursor as nextCursor.",
	Steps: Steps{
		ToConnect(), ToList("tools"), ToList("resources"), ToList("templates"), ToList("prompts"),
		ToCall(scripted.AddNumbers, Object{"a": 5, "b": 3}), ToClose(),
	},
	Server: func(server *scripted.Server) {
		someTools.bind(server)
		others := []book{someResources, someTemplates, somePrompts}
		if server.Has(protocol.EmptyCursors) {
			others = []book{resourcesToEmpty, templatesToEmpty, promptsToEmpty}
		}
		for _, list := range others {
			list.bind(server)
		}
		if server.Has(protocol.EmptyCursors) {
			resourcesToEmpty.bindSlowly(server, againCursor)
		}
	},
}

// turns declares that the client requests the page behind one of a list.
func turns(text string, verifies Option, where *Scenario, list book, behind int, page string) {
	It(text, Row(), verifies, In(where), func(t *T) { list.follows(t, RunScenario(t), behind, page) })
}

func followingLists() {
	turns("follows the pages of tools/list", Verifies("pagination.operations"), pages, someTools, 0, "the second page")
	turns("follows the pages of resources/list", Verifies("pagination.operations"), pages, someResources, 0, "the second page")
	turns("follows the pages of resources/templates/list", Verifies("pagination.operations"), pages, someTemplates, 0, "the second page")
	turns("follows the pages of prompts/list", Verifies("pagination.operations", "prompts.list.paginated"), pages, somePrompts, 0, "the second page")
	turns("requests the next page after a shorter page", Verifies("pagination.page-size"), pages, someTools, 1, "the page after one that is shorter than the first")
	turns("requests the next page after a longer page", Verifies("pagination.page-size"), pages, someTools, 2, "the page after one that is longer than the first")
	turns("requests the next page after an empty one with nextCursor", Verifies("pagination.end"), pages, someTools, emptyPage, "the page after an empty one with nextCursor")

	for _, list := range []book{someResources, someTemplates, somePrompts} {
		It("requests every page of "+list.method+", also after an empty one", Verifies("pagination.end"), In(pages), func(t *T) {
			client := RunScenario(t)

			for position := 1; position <= emptyOther; position++ {
				list.follows(t, client, position, "the next page")
			}
		})
	}

	endingLists()
}

func endingLists() {
	It("requests no further page after one without nextCursor", Verifies("pagination.end"), In(pages), func(t *T) {
		client := RunScenario(t)

		last := someTools.turned(client, len(someTools.pages)-1)
		if last == nil || AnswerTo(last) == nil {
			client.Inconclusive("the client did not reach the last page of tools/list", "tools/list")
		}
		for _, more := range client.RequestsAfter(AnswerTo(last)) {
			if more.Method != "tools/list" {
				continue
			}
			cursor, given := more.ParamsObject()["cursor"]
			if !given {
				break // it begins the list anew
			}
			client.Fail(more, Mismatch{Wanted: "no request after the last page", Found: "the cursor " + Show(cursor), Where: "/params/cursor"})
		}
		step := client.StepOf("tools/list")
		if outcome, there := client.Outcome(step); there && outcome.Failed() {
			client.Inconclusive("the client reports that it could not list the tools: "+outcome.Error, "tools/list")
		}
		client.Refrained(AnswerTo(last), step)
	})

	It("continues after a list on one page and after a list on several pages", Verifies("pagination.both-flows"), In(cursors), func(t *T) {
		client := RunScenario(t)

		inOne := client.NeedRequests("prompts/list")[0]
		inSeveral := client.NeedRequests("tools/list")[0]
		client.DemandStep("list-prompts", "list-tools", "a list of one page, without a cursor")
		client.Continues(AnswerTo(inOne), "a list on one page")
		someCursors.follows(t, client, 0, "the second page of a list on several pages")
		client.Continues(AnswerTo(inSeveral), "a list on several pages")
	})

	newSessions()
}

func newSessions() {
	It("sends tools/list in a new session without a cursor of an earlier session",
		Verifies("pagination.cursor.within-session"), In(LostPages), func(t *T) {
			client := RunScenario(t)

			if !slices.ContainsFunc(client.NeedRequests("tools/list"), leadsOnByLostCursor) {
				client.Inconclusive("the client received no cursor in the session that the server ended", "tools/list")
			}
			if len(client.Conversations) < 2 {
				client.Inconclusive("the client began no new session after the server had ended the first", "tools/list")
			}
			lists := 0
			for _, conversation := range client.Conversations[1:] {
				for list := range ObserveEach(t, conversation.Requests("tools/list")) {
					lists++
					if list.ParamsObject()["cursor"] == lostCursor {
						client.Fail(list, Mismatch{
							Wanted: "no cursor of the earlier session",
							Found:  "the cursor " + Show(lostCursor),
							Where:  "/params/cursor",
						})
					}
				}
			}
			if lists == 0 {
				client.Inconclusive("the client did not request the list again in the new session", "tools/list")
			}
		})
}

// Cursors in which nothing can be read.
const (
	plainCursor = "bmV4dA"
	markedUp    = "%2F%3D é\"\\ +&?#"
	likeNumber  = "00"
	likeSpace   = " "
	likeJSON    = `{"page":5,"of":null}`
	emptyCursor = ""
)

// longCursor is longer than what fits into most columns.
var longCursor = strings.Repeat("0123456789abcdef", 128)

// Tools behind such cursors; the empty one leads to the last page.
var (
	someCursors = toolsOn(page{"", 1}, page{plainCursor, 1}, page{markedUp, 1}, page{likeNumber, 1}, page{likeSpace, 1},
		page{likeJSON, 1}, page{longCursor, 1})
	withEmptyCursor = toolsOn(append(slices.Clip(someCursors.pages), page{emptyCursor, 1})...)
)

// cursors is a server whose cursors look like anything; its other lists have one
// page.
var cursors = &Scenario{
	Name:  "cursors-of-any-form",
	Says:  "The server returns cursors that look like markup, numbers, space and JSON, and prompts on one page.",
	Steps: Steps{ToConnect(), ToList("tools"), ToList("prompts"), ToCall(scripted.AddNumbers, Object{"a": 5, "b": 3}), ToClose()},
	Server: func(server *scripted.Server) {
		book := someCursors
		if server.Has(protocol.EmptyCursors) {
			book = withEmptyCursor
		}
		book.bind(server)
	},
}

// lostCursor is of a session that ends.
const lostCursor = "session-1-page-2"

// leadsOnByLostCursor tells whether the answer to a request has that cursor.
func leadsOnByLostCursor(list *Message) bool { return ResultTo(list)["nextCursor"] == lostCursor }

// SecondList is the step of LostPages that follows the end of the session.
const SecondList = "second-list"

// LostPages is a server that ends the session in the middle of a list. It says so in its
// own words, as the status alone counts.
var LostPages = &Scenario{
	Name:  "pages-of-a-lost-session",
	Says:  "The server ends the session when the second page of tools/list is requested. It answers the id of that session with 404 and its own error.",
	Until: "2025-11-25",
	Over:  protocol.HTTP,
	Steps: Steps{ToConnect(), ToList("tools"), ToList("tools").ID(SecondList), ToClose()},
	Server: func(server *scripted.Server) {
		first, second := toolsOn(page{"", 1}, page{lostCursor, 1}), toolsOn(page{"", 1}, page{"session-2-page-2", 1})
		server.On("tools/list", func(call *scripted.Call) {
			if call.Session.Number > 1 {
				second.leaf(call)
				return
			}
			call.Session.Expire() // from now on the session is unknown
			first.leaf(call)
		})
		server.OnExchange(func(exchange *scripted.Exchange) bool {
			asked := exchange.Request.Header.Get(scripted.SessionHeader)
			if asked == "" || asked != exchange.Session.ID() || !exchange.Session.Expired() {
				return false
			}
			unknown := jsonrpc.NewError(jsonrpc.NullID, jsonrpc.InvalidRequest, "Not Found: unknown Mcp-Session-Id")
			exchange.Answer(http.StatusNotFound, nil, unknown, "")
			return true
		})
	},
}

func readingCursors() {
	turns("follows a nextCursor with quotes, percent signs and other special characters", Verifies("pagination.cursor.any-format"), cursors, someCursors, 1, "the page of the cursor")
	turns("follows a nextCursor that looks like a number", Verifies("pagination.cursor.any-format"), cursors, someCursors, 2, "the page of the cursor")
	turns("follows a nextCursor that is a space", Verifies("pagination.cursor.any-format"), cursors, someCursors, 3, "the page of the cursor")
	turns("follows a nextCursor with spaces at both ends", Verifies("pagination.cursor.any-format"), pages, someTemplates, emptyOther-1, "the page of the cursor")
	turns("follows a nextCursor that looks like JSON", Verifies("pagination.cursor.any-format"), cursors, someCursors, 4, "the page of the cursor")
	turns("follows a nextCursor of 2048 characters", Verifies("pagination.cursor.any-format"), cursors, someCursors, 5, "the page of the cursor")
	turns("follows a nextCursor that is an empty string", Verifies("pagination.cursor.opaque"), cursors, withEmptyCursor, len(someCursors.pages)-1, "the page of an empty cursor")

	It("follows a nextCursor that equals the cursor of the request", Verifies("pagination.cursor.opaque"), In(pages), func(t *T) {
		client := RunScenario(t)

		list := resourcesToEmpty
		asked := slices.DeleteFunc(client.Requests(list.method), func(request *Message) bool {
			return request.ParamsObject()["cursor"] != againCursor
		})
		if len(asked) == 0 || AnswerTo(asked[0]) == nil {
			client.Inconclusive("the client did not reach the page whose nextCursor is its own cursor", list.method)
		}
		if !t.Observed(len(asked) > 1) {
			client.NeedFinished(client.StepOf(list.method), AnswerTo(asked[0]))
			client.Missing(AnswerTo(asked[0]), Mismatch{
				Wanted: list.method + " once more with " + Show(againCursor) + ", whose value has no meaning to the client",
				Found:  "no such request", Where: "/result/nextCursor",
			})
		}
	})

	for _, list := range []book{resourcesToEmpty, templatesToEmpty, promptsToEmpty} {
		It("follows an empty nextCursor of "+list.method, Verifies("pagination.cursor.opaque"), In(pages), func(t *T) {
			list.follows(t, RunScenario(t), len(list.pages)-2, "the page of an empty cursor")
		})
	}
}
