package pagination

import (
	"fmt"

	. "github.com/onsi/ginkgo/v2"

	. "github.com/mcpconform/mcpconform/internal/conform"
	"github.com/mcpconform/mcpconform/internal/scripted"
)

// ClientChecks registers the checks of a target client.
func ClientChecks() {
	Describe("Following lists", followingLists)
}

// pages is a server whose tools take three pages.
var pages = &Story{
	Name: "tools-in-pages", Says: "The server lists its tools on three pages.",
	Told: Steps{ToConnect(), ToList("tools"), ToClose()},
	Server: func(server *scripted.Server) {
		server.PageSize = 2
		for number := range 4 {
			server.AddTool(fmt.Sprintf("tool_%d", number), nil, func(call *scripted.Call) { call.Answer(scripted.Text("done")) })
		}
	},
}

func followingLists() {
	It("asks for no more after the last page", Verifies("pagination.end"), In(pages),
		func(ctx SpecContext) {
			client := Played(ctx)

			lists := client.NeedRequests("tools/list")
			last := -1
			for position, list := range lists {
				if answer := resultOf(list); answer != nil && answer["nextCursor"] == nil {
					last = position
				}
			}
			if last < 0 {
				client.NeverBut("the client did not come to the last page", "tools/list")
			}
			for _, list := range lists[last+1:] {
				if cursor, there := list.ParamsObject()["cursor"]; there {
					client.Blame(list, Mismatch{
						Wanted: "no request for a page behind the last one", Found: "the cursor " + Show(cursor), Where: "/params/cursor",
					})
				}
			}
		})
}

// resultOf is what the server answered to a request; nil for nothing.
func resultOf(request *Said) Object {
	for _, answer := range request.Answers {
		return answer.ResultObject()
	}
	return nil
}
