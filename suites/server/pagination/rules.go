package pagination

import (
	"crypto/sha256"

	"github.com/mcpconform/mcpconform/internal/excerpt"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/mcp"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/rules/facts"
	"github.com/mcpconform/mcpconform/internal/rules/places"
)

// Rules are the rules of the page server/utilities/pagination.
func Rules() []rules.Rule {
	return []rules.Rule{
		{Text: "returns nextCursor as a string", Verifies: rules.Verifies("pagination.cursor.string"), Judge: strangeCursors},
		{Text: "returns nextCursor only if more results exist", Verifies: rules.Verifies("pagination.page"), Judge: emptyPages},
		{Text: "accepts each nextCursor that it returned as cursor", Verifies: rules.Verifies("pagination.continued"), Judge: refusedCursors},
		{
			Text:     "sends back each nextCursor unchanged as cursor",
			Verifies: rules.Verifies("pagination.cursor.unchanged"),
			Judge:    rules.OfClient(facts.InventedCursors(facts.Paged...)),
		},
	}
}

func strangeCursors(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, method := range facts.Paged {
		for _, page := range conversation.Results(method) {
			cursor, there := facts.NextCursor(page)
			if !there {
				continue
			}
			reporter.Observe()
			if _, isText := cursor.Value.(string); !isText {
				reporter.Violation(page, rules.Mismatch{Wanted: "a string", Found: rules.Show(cursor.Value), Where: cursor.Pointer})
			}
		}
	}
}

func emptyPages(conversation *rules.Conversation, reporter *rules.Reporter) {
	before := earlierPages{pages: map[*rules.Message][sha256.Size]byte{}, givers: map[*rules.Message]*rules.Message{}}
	for _, one := range facts.Continuations(conversation) {
		page := one.Page
		if rules.IsRefusal(page) {
			continue
		}
		reporter.Observe()
		asked := page.Request.ParamsObject()["cursor"]
		items := listOf(page)
		next, more := facts.NextCursor(page)
		switch {
		case more && next.Value == asked:
			reporter.Violation(page, rules.Mismatch{
				Wanted: "no nextCursor, or the cursor of a further page",
				Found:  "the same cursor again: " + rules.Show(asked),
				Where:  next.Pointer,
			})
		case len(items) == 0 && more: // what further results there are may come later
		case len(items) == 0:
			reporter.Violation(page, rules.Mismatch{Wanted: "further results after a nextCursor", Found: excerpt.Short(page.Raw)})
		case before.has(one):
			reporter.Violation(page, rules.Mismatch{
				Wanted: "further results after a nextCursor",
				Found:  "an earlier page again, for the cursor " + excerpt.Short(page.Raw),
			})
		}
		before.givers[page] = one.Giver
	}
}

// earlierPages knows the pages of lists by what their items are called, and which led to
// which.
type earlierPages struct {
	pages  map[*rules.Message][sha256.Size]byte
	givers map[*rules.Message]*rules.Message
}

// mostPages is how far back a page is looked for.
const mostPages = 1000

// has tells whether a page is one of those that led to it.
func (e earlierPages) has(one facts.Continuation) bool {
	sum := e.fingerprint(one.Page)
	for giver, back := one.Giver, 0; giver != nil && back < mostPages; giver, back = e.givers[giver], back+1 {
		if e.fingerprint(giver) == sum {
			return true
		}
	}
	return false
}

func (e earlierPages) fingerprint(page *rules.Message) [sha256.Size]byte {
	sum, known := e.pages[page]
	if !known {
		var names []string
		for _, item := range listOf(page) {
			object := mcp.Object(item)
			names = append(names, jsonrpc.IDOf([]any{object["name"], object["uri"], object["uriTemplate"]}).String())
		}
		sum = places.Fingerprint(names)
		e.pages[page] = sum
	}
	return sum
}

// listOf returns the items of a page.
func listOf(page *rules.Message) []any {
	list, _ := places.ResultOf(page).Member(mcp.ListMember(page.Request.Method))
	return mcp.List(list.Value)
}

func refusedCursors(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, one := range facts.Continuations(conversation) {
		page := one.Page
		reporter.Observe()
		if refusal, refused := page.Error(); page.Kind == jsonrpc.Response && refused {
			reporter.Violation(page, rules.Mismatch{
				Wanted: "a page for a cursor that it issued",
				Found:  "the error " + rules.Show(refusal.Message),
				Where:  "/error",
			})
		}
	}
}
