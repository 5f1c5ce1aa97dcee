package facts

import (
	"slices"

	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/rules/places"
)

// Paged are the methods whose results come in pages.
var Paged = []string{"resources/list", "resources/templates/list", "prompts/list", "tools/list"}

// NextCursor returns the cursor in a result, if it has one.
func NextCursor(message *rules.Message) (places.Place, bool) {
	return places.ResultOf(message).Member("nextCursor")
}

// Continuation is the answer to a request with a cursor, and the page that gave
// the cursor.
type Continuation struct{ Page, Giver *rules.Message }

// Continuations returns the answers to requests with a cursor that the target
// gave out before, for the same list.
func Continuations(conversation *rules.Conversation) []Continuation {
	type cursor struct{ method, text string }
	given := map[cursor]*rules.Message{}
	var all []Continuation
	for _, message := range conversation.ByTarget() {
		if !rules.IsResponse(message) || message.Request == nil || !slices.Contains(Paged, message.Request.Method) {
			continue
		}
		asked, isText := message.Request.ParamsObject()["cursor"].(string)
		giver := given[cursor{message.Request.Method, asked}]
		if isText && giver != nil && !message.Request.Event.IsIllegal() {
			all = append(all, Continuation{message, giver})
		}
		if next, there := NextCursor(message); there {
			if text, isText := next.Value.(string); isText {
				given[cursor{message.Request.Method, text}] = message
			}
		}
	}
	return all
}

// InventedCursors judges the cursors of requests for further pages of lists: the
// server gave each of them, for the same list. Without sessions, one that is asked for
// before any was given may be of an earlier process.
func InventedCursors(lists ...string) rules.Judge {
	return func(conversation *rules.Conversation, reporter *rules.Reporter) {
		type cursor struct{ method, text string }
		given := map[cursor]bool{}
		some := map[string]bool{} // by method: whether a cursor was given
		restarts := conversation.Has(protocol.Statelessness) && protocol.Over(conversation.Transport).Processes()
		for _, message := range conversation.Messages {
			fromTarget := message.FromTarget(conversation.Cell)
			switch {
			case !fromTarget && rules.IsResponse(message) && message.Request != nil:
				if next, isText := message.ResultObject()["nextCursor"].(string); isText {
					given[cursor{message.Request.Method, next}], some[message.Request.Method] = true, true
				}
			case fromTarget && rules.IsRequest(message) && slices.Contains(lists, message.Method):
				text, isText := message.ParamsObject()["cursor"].(string)
				if !isText || !conversation.Complete || restarts && !some[message.Method] {
					continue
				}
				reporter.Observe()
				if !given[cursor{message.Method, text}] {
					reporter.Violation(
						message,
						rules.Mismatch{
							Wanted: "a cursor that the list returned",
							Found:  rules.Show(text),
							Where:  "/params/cursor",
						},
					)
				}
			}
		}
	}
}
