package pagination

import (
	"fmt"
	"slices"
	"sync/atomic"

	. "github.com/mcpconform/mcpconform/internal/check"
	. "github.com/mcpconform/mcpconform/internal/clientrun"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/scripted"
)

// book is a list in pages, as a scripted server gives it.
type book struct {
	method, member string
	item           func(server *scripted.Server, number int) Object
	pages          []page
}

// page is so many items of a list.
type page struct {
	cursor string // by which it is asked for; the first needs none
	items  int
}

// leaf answers a request for a page.
func (b book) leaf(call *scripted.Call) {
	at := 0
	if cursor, given := call.Params()["cursor"]; given {
		at = slices.IndexFunc(b.pages[1:], func(one page) bool { return one.cursor == cursor }) + 1
		if at == 0 {
			call.Refuse(jsonrpc.InvalidParams, "Invalid cursor", nil)
			return
		}
	}
	first := 0
	for _, before := range b.pages[:at] {
		first += before.items
	}
	items := []any{}
	for number := range b.pages[at].items {
		items = append(items, b.item(call.Session.Server, first+number))
	}
	result := Object{b.member: items}
	if at+1 < len(b.pages) {
		result["nextCursor"] = b.pages[at+1].cursor
	}
	call.AnswerFresh(result, 0)
}

// bind lets a server give the list.
func (b book) bind(server *scripted.Server) { server.On(b.method, b.leaf) }

// bindSlowly lets a server give the list, and the page of a cursor only when it is asked for a
// second time: the first time it gives no items, and leads to the same cursor.
func (b book) bindSlowly(server *scripted.Server, cursor string) {
	var asked atomic.Bool
	server.On(b.method, func(call *scripted.Call) {
		if call.Params()["cursor"] == cursor && !asked.Swap(true) {
			call.AnswerFresh(Object{b.member: []any{}, "nextCursor": cursor}, 0)
			return
		}
		b.leaf(call)
	})
}

// turned returns the client's request for a page, by its position; nil when it did
// not ask for it.
func (b book) turned(client *Client, position int) *Message {
	for _, request := range client.Requests(b.method) {
		cursor, given := request.ParamsObject()["cursor"]
		if given == (position > 0) && (!given || cursor == b.pages[position].cursor) {
			return request
		}
	}
	return nil
}

// follows demands that a client that has asked for a page, and got it, asks for the
// next one.
func (b book) follows(t *T, client *Client, position int, wanted string) {
	before := b.turned(client, position)
	if before == nil || AnswerTo(before) == nil {
		client.Inconclusive(fmt.Sprintf("the client did not reach page %d of %s", position+1, b.method), b.method)
	}
	if !t.Observed(b.turned(client, position+1) != nil) {
		step := client.StepOf(b.method)
		if _, reported := client.Outcome(step); position == 0 && !reported {
			client.Inconclusive("the client requested the first page of "+b.method+" only, and it is unknown whether it wanted all pages", b.method)
		}
		client.NeedFinished(step, AnswerTo(before))
		client.Missing(AnswerTo(before), Mismatch{
			Wanted: wanted + ": " + b.method + " with the cursor " + Show(b.pages[position+1].cursor),
			Found:  "no such request", Where: "/result/nextCursor",
		})
	}
}

// toolsOn pages are what tools/list returns. A tool that clients know to call is the last item:
// they need all pages to find it.
func toolsOn(pages ...page) book {
	last := -1
	for _, one := range pages {
		last += one.items
	}
	return book{"tools/list", "tools", func(server *scripted.Server, number int) Object {
		if number == last {
			return server.Tools[0].Definition
		}
		return Object{"name": fmt.Sprintf("tool_%d", number), "inputSchema": Object{"type": "object", "properties": Object{}}}
	}, pages}
}

// resourcesOn pages are what resources/list gives.
func resourcesOn(pages ...page) book {
	return book{"resources/list", "resources", func(_ *scripted.Server, number int) Object {
		return Object{"name": fmt.Sprintf("resource-%d", number), "uri": fmt.Sprintf("test://resource/%d", number)}
	}, pages}
}

// templatesOn pages are what resources/templates/list gives.
func templatesOn(pages ...page) book {
	return book{templates, "resourceTemplates", func(_ *scripted.Server, number int) Object {
		return Object{"name": fmt.Sprintf("template-%d", number), "uriTemplate": fmt.Sprintf("test://template/%d/{id}", number)}
	}, pages}
}

// promptsOn pages are what prompts/list gives.
func promptsOn(pages ...page) book {
	return book{"prompts/list", "prompts", func(_ *scripted.Server, number int) Object {
		return Object{"name": fmt.Sprintf("prompt-%d", number)}
	}, pages}
}
