// Package progress checks the page about progress: basic/utilities/progress, and from
// 2026-07-28 on basic/patterns/progress.
package progress

import (
	"context"
	"fmt"

	. "github.com/mcpconform/mcpconform/internal/check"
	. "github.com/mcpconform/mcpconform/internal/conform"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/scripted"
)

// ofAnother is the token of a call of another client.
const ofAnother = "mcpconform-of-another-client"

// ServerChecks registers the checks of a target server. What they provoke is
// judged by the rules about progress, too.
func ServerChecks() {
	Describe("Progress", func() {

		It("returns a string progressToken unchanged in notifications/progress", Verifies("progress.token.provided"),
			NeedsProvocation("progress"),
			func(ctx SpecContext) {
				server := Session(ctx)

				for _, token := range []string{"mcpconform-progress", digits} {
					for _, report := range reportsOf(ctx, server, token) {
						Expect(report.Params()).To(HaveMember("progressToken", token))
					}
				}
			})

		It("returns an integer progressToken unchanged in notifications/progress", Verifies("progress.token.provided"),
			NeedsProvocation("progress"),
			func(ctx SpecContext) {
				server := Session(ctx)

				reports := reportsOf(ctx, server, integerToken)

				for _, report := range reports {
					Expect(report.Params()).To(HaveMember("progressToken", integerToken))
				}
			})

		It("sends no notifications/progress for a request without a progressToken", Verifies("progress.token.provided"),
			NeedsProvocation("progress"),
			func(ctx SpecContext) {
				server := Session(ctx)
				const earlier = "mcpconform-asked-for"
				reportsOf(ctx, server, earlier) // it could report some
				mark := server.Mark()

				server.Need(ctx, "tools/call", Provoking("progress").Call())

				server.BarrierOnAllStreams(ctx)
				DemandNone("no progress of a request without a progressToken", server.Sent(mark, progressBut(earlier)))
			})

		It("sends notifications/progress of a call to no other client", Verifies("progress.token.provided"),
			NeedsProvocation("progress"), NeedsTransport(protocol.HTTP),
			func(ctx SpecContext) {
				other := UnusedSession(ctx)
				other.Hear(ctx)
				mark := other.Mark()

				reportsOf(ctx, Session(ctx), ofAnother)

				id := jsonrpc.StringID("mcpconform-beside-progress")
				other.Await(ctx, other.StartRaw(ctx, id, BarrierMethod(), scripted.Outgoing{}, nil))
				other.BarrierOnAllStreams(ctx)
				DemandNone("no progress of the call of another client", other.Sent(mark, ProgressOf(ofAnother)))
			})

		It("sends the progress of a task with the progressToken of the tools/call", Verifies("progress.tasks.token"),
			NeedsCapability("tasks.requests.tools.call"), NeedsProvocation("task-progress"),
			func(ctx SpecContext) {
				server := FreshSession(ctx)
				_, _ = server.Listen(ctx) // where there is no such stream, progress comes beside the result
				mark := server.Mark()

				runTask(ctx, server, Provoking("task-progress"), "mcpconform-task-progress")

				server.NeedMessage(
					ctx,
					mark,
					Notification("notifications/progress"), // it may come on another stream
					"the task reported no progress",
					"name one that does in mcpconform.yaml: provocations: {task-progress: {tool: NAME}}",
				)
				for _, report := range server.Sent(mark, Notification("notifications/progress")) {
					Expect(report.Params()).To(HaveMember("progressToken", "mcpconform-task-progress"))
				}
			})
	})
}

// Tokens that no other request of the session has.
const (
	integerToken = 424242
	digits       = "424243" // a string that reads like a number
)

// reportsOf calls the tool that reports progress and returns its reports.
func reportsOf(ctx context.Context, server *Server, token any) []scripted.Received {
	call := Provoking("progress").Reporting(token)
	mark := server.Mark()
	server.Need(ctx, "tools/call", call)
	server.Barrier(ctx)
	reports := server.Sent(mark, Notification("notifications/progress"))
	if len(reports) < 2 {
		Inconclusive(fmt.Sprintf("the tool for progress reported it %d times", len(reports)),
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
func runTask(ctx context.Context, server *Server, provocation Provocation, token any) {
	call := provocation.Reporting(token)
	call["task"] = Object{}
	created, _ := server.Need(ctx, "tools/call", call)["task"].(map[string]any)
	if created["taskId"] == nil {
		Inconclusive("the tool was not run as a task", "fix the failures under tasks first")
	}
	server.Need(ctx, "tasks/result", Object{"taskId": created["taskId"]})
	server.Barrier(ctx)
}
