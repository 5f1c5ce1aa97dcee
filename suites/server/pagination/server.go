// Package pagination checks the page server/utilities/pagination.
package pagination

import (
	"fmt"
	"maps"
	"slices"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/mcp"
	. "github.com/mcpconform/mcpconform/internal/offer"
	. "github.com/mcpconform/mcpconform/internal/refusal"
	. "github.com/mcpconform/mcpconform/internal/session"
)

// ServerChecks registers the checks of a target server. The cursors that a
// server gives are followed by the survey and judged by rules.
func ServerChecks() {
	Describe("Pagination", func() {
		stableCursors()
		cursorsOfChangedLists()
		invalidCursors()
		afterInvalidCursors()
	})
}

func stableCursors() {
	It("returns the same page when a cursor is used again", Verifies("pagination.cursor.stable"), func(t *T) {
		server := UnusedSession(t) // no cursor was used on it

		used := 0
		var found []Mismatch
		for _, method := range lists(t) {
			cursor, paged := server.Call(method, nil).Must().Object()["nextCursor"].(string)
			if !paged {
				continue
			}
			used++
			page, items := Object{"cursor": cursor}, mcp.ListMember(method)
			first := server.Call(method, page).Need().Result()[items]
			if page, isList := first.([]any); !isList || len(page) == 0 {
				continue // nothing that could be another
			}

			again := server.Call(method, page).Must()

			t.Observe()
			if !samePage(first, again.Object()[items]) {
				found = append(found, Wrong(again, "the same page of "+method+" as before: "+Show(first)))
			}
		}

		if used == 0 {
			t.NotApplicable("every list has only one page")
		}
		t.Judge(found...)
	})
}

// changing are the kinds of tools that change a list.
var changing = map[string]string{"tools/list": "tools-changed", "prompts/list": "prompts-changed", "resources/list": "resources-changed"}

// cursorsOfChangedLists checks that a cursor leads to the same position when the list has
// changed since, and thus past no item. A server that has given the cursor up says so.
func cursorsOfChangedLists() {
	It("returns the items after a cursor even if the list has changed", Verifies("pagination.cursor.stable"), Alone(), func(t *T) {
		judged := false
		for _, method := range slices.Sorted(maps.Keys(changing)) {
			if change, known := Provocable(t, changing[method]); known {
				judged = judgeChangedList(t, method, change) || judged
			}
		}
		if !judged {
			t.NotApplicable("no list that a known tool changes has several pages")
		}
	})
}

// judgeChangedList follows a cursor before a list changes, and after, and tells whether it
// has one.
func judgeChangedList(t *T, method string, change Provocation) bool {
	server := FreshSession(t)
	for range 2 { // what the tool adds, it may take away again
		cursor, paged := server.Call(method, nil).Must().Object()["nextCursor"].(string)
		if !paged {
			return false
		}
		before, _ := following(server, method, Object{"cursor": cursor})
		server.Call("tools/call", change.Call()).Need().Result()

		after, reply := following(server, method, Object{"cursor": cursor})

		t.Observe()
		if refusal, refused := reply.Error(); refused {
			t.DemandOf(reply, refusal.Code == jsonrpc.InvalidParams, "the next page, or error -32602 (Invalid params)")
			continue
		}
		remaining, _ := following(server, method, nil)
		lost := slices.DeleteFunc(before, func(key jsonrpc.ID) bool { return slices.Contains(after, key) || !slices.Contains(remaining, key) })
		t.DemandOf(reply, len(lost) == 0, fmt.Sprintf("the items after the cursor that are still listed: %v", lost))
	}
	return true
}

// following are the items of a list from a page on, and the last reply.
func following(server *Server, method string, params any) (keys []jsonrpc.ID, reply Reply) {
	const mostPages = 50
	for range mostPages {
		reply = server.Call(method, params).Must()
		page := reply.Object()
		keys = append(keys, keysOf(page[mcp.ListMember(method)])...)
		cursor, more := page["nextCursor"].(string)
		if !more {
			break
		}
		params = Object{"cursor": cursor}
	}
	return keys, reply
}

func invalidCursors() {
	It("rejects a cursor it never issued with -32602", Verifies("pagination.cursor.invalid-refused"), func(t *T) {
		server := Session(t)

		var found []Mismatch
		for _, method := range lists(t) {
			reply := askWithInvalidCursor(server, method)
			if reply.Refuses() && !Contrasts(server, reply, invalidCursor, Request{Method: method}) {
				continue // it refuses the list as well
			}
			t.Observe()
			if refusal, refused := reply.Error(); !refused ||
				refusal.Code != jsonrpc.InvalidParams && !isUnknown(method, refusal) {
				found = append(found, Wrong(reply, "error -32602 (Invalid params) to "+method))
			}
		}

		t.Judge(found...)
	})

	It("continues after a cursor it never issued", Verifies("pagination.cursor.invalid-handled"), func(t *T) {
		server := FreshSession(t)

		server.Survives(server.Call(lists(t)[0], Object{"cursor": invalidCursor}, Illegal(invalidReason)))
	})
}

// afterInvalidCursors checks what becomes of lists once a cursor was refused.
func afterInvalidCursors() {
	It("returns items from its lists after a cursor it never issued", Verifies("pagination.cursor.invalid-handled"), func(t *T) {
		filled := false
		server, used := Session(t), FreshSession(t)
		for _, method := range lists(t) {
			items := func(reply Reply) []any { return mcp.List(reply.Object(), mcp.ListMember(method)) }
			if len(items(server.Call(method, nil).Must())) == 0 {
				continue
			}
			filled = true
			wrong := Request{Method: method, Params: Object{"cursor": invalidCursor}, Name: "that cursor", Deliberate: invalidReason}

			StillServesOn(t, used, wrong, Request{Method: method}, func(reply Reply) bool { return len(items(reply)) > 0 })
		}
		if !filled {
			t.NotApplicable("the server lists nothing")
		}
	})
}

// samePage tells whether two pages have the same items in the same order: what tells
// them apart is their name or URI.
func samePage(one, other any) bool {
	return slices.Equal(keysOf(one), keysOf(other))
}

func keysOf(page any) []jsonrpc.ID {
	items := mcp.List(page)
	keys := make([]jsonrpc.ID, len(items))
	for index, item := range items {
		object := mcp.Object(item)
		keys[index] = jsonrpc.IDOf([]any{object["name"], object["uri"], object["uriTemplate"]})
	}
	return keys
}

// lists are the methods of the lists that the server declares.
func lists(t *T) []string {
	var methods []string
	for _, feature := range []string{"tools", "prompts", "resources"} {
		if Declares(t, feature) {
			methods = append(methods, feature+"/list")
		}
	}
	if Declares(t, "resources") {
		methods = append(methods, templates)
	}
	if len(methods) == 0 {
		t.NotApplicable("the server declares no list")
	}
	return methods
}

// templates is the one list that a server may do without although it declares
// the capability.
const templates = "resources/templates/list"

func isUnknown(method string, refusal jsonrpc.Error) bool {
	return method == templates && refusal.Code == jsonrpc.MethodNotFound
}

const (
	invalidCursor = "mcpconform: no such cursor"
	invalidReason = "the cursor was never issued"
)

// askWithInvalidCursor sends a cursor that no server gives out.
func askWithInvalidCursor(server *Server, method string) Reply {
	request := server.Call(method, Object{"cursor": invalidCursor}, Illegal(invalidReason))
	return request.Must()
}
