// Package progress checks the page about progress: basic/utilities/progress, and from
// 2026-07-28 on basic/patterns/progress.
package progress

import (
	"fmt"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/mcp"
	. "github.com/mcpconform/mcpconform/internal/offer"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/scripted"
	. "github.com/mcpconform/mcpconform/internal/session"
)

// ofAnother is the token of a call of another client.
const ofAnother = "mcpconform-of-another-client"

// ServerChecks registers the checks of a target server. What they provoke is
// judged by the rules about progress, too.
func ServerChecks() {
	Describe("Progress", func() {

		It("returns a string progressToken unchanged in notifications/progress",
			Verifies("progress.token.provided"), NeedsProvocation("progress"), func(t *T) {
				server := Session(t)

				for _, token := range []string{"mcpconform-progress", digits} {
					for _, report := range reportsOf(t, server, token) {
						t.Expect(report.Params()).To(HaveMember("progressToken", token))
					}
				}
			})

		It("returns an integer progressToken unchanged in notifications/progress",
			Verifies("progress.token.provided"), NeedsProvocation("progress"), func(t *T) {
				server := Session(t)

				reports := reportsOf(t, server, integerToken)

				for _, report := range reports {
					t.Expect(report.Params()).To(HaveMember("progressToken", integerToken))
				}
			})

		It("sends no notifications/progress for a request without a progressToken",
			Verifies("progress.token.provided"), NeedsProvocation("progress"), func(t *T) {
				server := Session(t)
				const earlier = "mcpconform-asked-for"
				reportsOf(t, server, earlier) // it could report some
				mark := server.Mark()

				server.Call("tools/call", Provoking(t, "progress").Call()).Need().Result()

				server.BarrierOnAllStreams()
				t.DemandNone("no progress of a request without a progressToken", server.Sent(mark, progressBut(earlier)))
			})

		progressOfOthers()
	})
}

func progressOfOthers() {
	It("sends notifications/progress of a call to no other client",
		Verifies("progress.token.provided"), NeedsProvocation("progress"), NeedsTransport(protocol.HTTP, protocol.SSE), func(t *T) {
			other := UnusedSession(t)
			other.ListenForChanges()
			mark := other.Mark()

			reportsOf(t, Session(t), ofAnother)

			id := jsonrpc.StringID("mcpconform-beside-progress")
			other.Call(BarrierMethod(t), nil, WithID(id)).Must()
			other.BarrierOnAllStreams()
			t.DemandNone("no progress of the call of another client", other.Sent(mark, ProgressOf(ofAnother)))
		})

	It("sends the progress of a task with the progressToken of the tools/call", Verifies("progress.tasks.token"),
		NeedsCapability("tasks.requests.tools.call"), NeedsProvocation("task-progress"),
		func(t *T) {
			server := FreshSession(t)
			_, _ = server.Listen(t) // where there is no such stream, progress comes beside the result
			mark := server.Mark()

			runTask(t, server, Provoking(t, "task-progress"), "mcpconform-task-progress")

			server.NeedMessage(
				mark,
				Notification("notifications/progress"), // it may come on another stream
				"the task reported no progress",
				"name one that does in mcpconform.yaml: provocations: {task-progress: {tool: NAME}}",
			)
			for _, report := range server.Sent(mark, Notification("notifications/progress")) {
				t.Expect(report.Params()).To(HaveMember("progressToken", "mcpconform-task-progress"))
			}
		})
}

// Tokens that no other request of the session has.
const (
	integerToken = 424242
	digits       = "424243" // a string that reads like a number
)

// reportsOf calls the tool that reports progress and returns its reports.
func reportsOf(t *T, server *Server, token any) []scripted.Received {
	call := Provoking(t, "progress").Reporting(token)
	mark := server.Mark()
	server.Call("tools/call", call).Need().Result()
	server.Barrier()
	reports := server.Sent(mark, Notification("notifications/progress"))
	if len(reports) < 2 {
		t.Inconclusive(fmt.Sprintf("the tool for progress reported it %d times", len(reports)),
			"name one that reports it twice or more in mcpconform.yaml: provocations: {progress: {tool: NAME}}")
	}
	return reports
}

// progressBut matches progress, but not that of an earlier request, which may come late
// where it comes on another stream.
func progressBut(earlier string) func(scripted.Received) bool {
	isProgress, isEarlier := Notification("notifications/progress"), ProgressOf(earlier)
	return func(received scripted.Received) bool { return isProgress(received) && !isEarlier(received) }
}

// runTask calls a tool as a task and waits until it is done.
func runTask(t *T, server *Server, provocation Provocation, token any) {
	call := provocation.Reporting(token)
	call["task"] = Object{}
	created := mcp.Object(server.Call("tools/call", call).Need().Result(), "task")
	if created["taskId"] == nil {
		t.Inconclusive("the tool was not run as a task", "fix the failures under tasks first")
	}
	server.Call("tasks/result", Object{"taskId": created["taskId"]}).Need().Result()
	server.Barrier()
}
