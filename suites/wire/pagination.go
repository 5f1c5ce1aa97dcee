package wire

import (
	"crypto/sha256"
	"slices"

	"github.com/mcpconform/mcpconform/internal/excerpt"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/mcp"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
)

// PaginationRules are the rules of the page server/utilities/pagination.
func PaginationRules() []rules.Rule {
	return []rules.Rule{
		{
			Text:         "returns nextCursor as a string",
			Requirements: []string{"pagination.cursor.string"},
			Judge:        strangeCursors,
		},
		{
			Text:         "returns nextCursor only if more results exist",
			Requirements: []string{"pagination.page"},
			Judge:        emptyPages,
		},
		{
			Text:         "accepts each nextCursor that it returned as cursor",
			Requirements: []string{"pagination.continued"},
			Judge:        refusedCursors,
		},
		{
			Text:         "sends back each nextCursor unchanged as cursor",
			Requirements: []string{"pagination.cursor.unchanged"},
			Judge:        ofClient(inventedCursors(paged...)),
		},
	}
}

// paged are the methods whose results come in pages.
var paged = []string{"resources/list", "resources/templates/list", "prompts/list", "tools/list"}

// nextCursor returns the cursor in a result, if it has one.
func nextCursor(said *rules.Message) (place, bool) { return resultOf(said).member("nextCursor") }

func strangeCursors(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, method := range paged {
		for _, page := range conversation.Results(method) {
			cursor, there := nextCursor(page)
			if !there {
				continue
			}
			reporter.Observe()
			if _, isText := cursor.value.(string); !isText {
				reporter.Violation(page, rules.Mismatch{Wanted: "a string", Found: rules.Show(cursor.value), Where: cursor.pointer})
			}
		}
	}
}

// continuation is the answer to a request with a cursor, and the page that gave
// the cursor.
type continuation struct{ page, giver *rules.Message }

// continuations returns the answers to requests with a cursor that the target
// gave out before, for the same list.
func continuations(conversation *rules.Conversation) []continuation {
	type cursor struct{ method, text string }
	given := map[cursor]*rules.Message{}
	var all []continuation
	for _, said := range conversation.ByTarget() {
		if !isResponse(said) || said.Request == nil || !slices.Contains(paged, said.Request.Method) {
			continue
		}
		asked, isText := said.Request.ParamsObject()["cursor"].(string)
		giver := given[cursor{said.Request.Method, asked}]
		if isText && giver != nil && said.Request.Event.Deliberate == "" {
			all = append(all, continuation{said, giver})
		}
		if next, there := nextCursor(said); there {
			if text, isText := next.value.(string); isText {
				given[cursor{said.Request.Method, text}] = said
			}
		}
	}
	return all
}

func emptyPages(conversation *rules.Conversation, reporter *rules.Reporter) {
	before := earlierPages{pages: map[*rules.Message][sha256.Size]byte{}, givers: map[*rules.Message]*rules.Message{}}
	for _, one := range continuations(conversation) {
		page := one.page
		if isRefusal(page) {
			continue
		}
		reporter.Observe()
		asked := page.Request.ParamsObject()["cursor"]
		items := listOf(page)
		next, more := nextCursor(page)
		switch {
		case more && next.value == asked:
			reporter.Violation(page, rules.Mismatch{
				Wanted: "an end of the list, or a cursor to a further page", Found: "the same cursor again: " + rules.Show(asked), Where: next.pointer,
			})
		case len(items) == 0 && more: // what further results there are may come later
		case len(items) == 0:
			reporter.Violation(page, rules.Mismatch{
				Wanted: "further results where a cursor was given", Found: excerpt.Short(page.Raw),
			})
		case before.has(one):
			reporter.Violation(page, rules.Mismatch{
				Wanted: "further results where a cursor was given", Found: "a page again that led to the cursor: " + excerpt.Short(page.Raw),
			})
		}
		before.givers[page] = one.giver
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
func (e earlierPages) has(one continuation) bool {
	sum := e.fingerprint(one.page)
	for giver, back := one.giver, 0; giver != nil && back < mostPages; giver, back = e.givers[giver], back+1 {
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
			object, _ := item.(map[string]any)
			names = append(names, jsonrpc.IDOf([]any{object["name"], object["uri"], object["uriTemplate"]}).String())
		}
		sum = fingerprint(names)
		e.pages[page] = sum
	}
	return sum
}

// listOf returns the items of a page.
func listOf(page *rules.Message) []any {
	list, _ := resultOf(page).member(mcp.ListMember(page.Request.Method))
	items, _ := list.value.([]any)
	return items
}

func refusedCursors(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, one := range continuations(conversation) {
		page := one.page
		reporter.Observe()
		if refusal, refused := page.Error(); page.Kind == jsonrpc.Response && refused {
			reporter.Violation(page, rules.Mismatch{
				Wanted: "a page for a cursor that it gave", Found: "the error " + rules.Show(refusal.Message), Where: "/error",
			})
		}
	}
}

// inventedCursors judges the cursors of requests for further pages of lists: the
// server gave each of them, for the same list. Without sessions, one that is asked for
// before any was given may be of an earlier process.
func inventedCursors(lists ...string) judge {
	return func(conversation *rules.Conversation, reporter *rules.Reporter) {
		type cursor struct{ method, text string }
		given := map[cursor]bool{}
		some := map[string]bool{} // by method: whether a cursor was given
		restarts := conversation.Has(protocol.Statelessness) && conversation.Transport == protocol.Stdio
		for _, said := range conversation.Messages {
			fromTarget := said.FromTarget(conversation.Leg)
			switch {
			case !fromTarget && isResponse(said) && said.Request != nil:
				if next, isText := said.ResultObject()["nextCursor"].(string); isText {
					given[cursor{said.Request.Method, next}], some[said.Request.Method] = true, true
				}
			case fromTarget && isRequest(said) && slices.Contains(lists, said.Method):
				text, isText := said.ParamsObject()["cursor"].(string)
				if !isText || !conversation.Complete || restarts && !some[said.Method] {
					continue
				}
				reporter.Observe()
				if !given[cursor{said.Method, text}] {
					reporter.Violation(said, rules.Mismatch{Wanted: "a cursor that the list gave", Found: rules.Show(text), Where: "/params/cursor"})
				}
			}
		}
	}
}
