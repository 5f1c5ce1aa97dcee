// Package ping checks the page basic/utilities/ping.
package ping

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	. "github.com/mcpconform/mcpconform/internal/check"
	. "github.com/mcpconform/mcpconform/internal/conform"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/suites/client/asking"
)

// ServerChecks registers the checks of a target server.
func ServerChecks() {
	Describe("Ping", func() {
		inForms()

		It("answers ping with an empty result", Verifies("ping.answered"),
			func(ctx SpecContext) {
				server := Session(ctx)

				reply := server.MustAsk(ctx, "ping", nil)

				Expect(reply).To(BeResult())
				Expect(reply).To(BeEmptyObject())
			})

		It("answers ping with _meta in its params", Verifies("ping.answered"),
			func(ctx SpecContext) {
				server := Session(ctx)

				reply := server.MustAsk(ctx, "ping", Object{"_meta": Object{"com.example/trace": "7f"}})

				Expect(reply).To(BeResult())
			})

		It("answers ping during a call", Verifies("ping.answered"), NeedsProvocation("slow"),
			func(ctx SpecContext) {
				server := FreshSession(ctx)
				call := server.Start(ctx, "tools/call", Provoking("slow").Call())
				began := time.Now()

				reply := server.MustAsk(ctx, "ping", nil)

				Expect(reply).To(BeResult())
				judgePromptness(ctx, server, call, reply, time.Since(began))
				server.Abandon(ctx, call)
			})

		It("answers ping while its own request to the client is unanswered", Verifies("ping.answered"),
			func(ctx SpecContext) {
				kind := question()
				server := FreshSession(ctx)
				server.Answer(questions[kind], scripted.Silence)
				asked := asking.Provoke(ctx, server, kind, questions[kind])

				reply := server.MustAsk(ctx, "ping", nil)

				Expect(reply).To(BeResult())
				asked.GiveUp(ctx)
			})
	})
}

// longestPing is how long a ping may take that is answered after a call during which it was
// sent: behind one that is shorter it may come by chance.
const longestPing = time.Second

// judgePromptness judges that a ping was not held up until the call was over during which it
// was sent.
func judgePromptness(ctx context.Context, server *Server, call *scripted.Pending, pong Reply, took time.Duration) {
	isOver := func(received scripted.Received) bool {
		return received.Kind == jsonrpc.Response && received.ID == call.ID && received.Index < pong.Index
	}
	if took < longestPing || len(server.Sent(call.Mark, isOver)) == 0 {
		return
	}
	began := time.Now()
	if server.Barrier(ctx); FarFaster*time.Since(began) > took {
		Inconclusive(
			"a ping is not answered much faster when no call is under way",
			"run again on a less busy machine",
		)
	}
	Missing("a response to ping before the response to the call during which it was sent",
		fmt.Errorf("it came after the response to %s, %s after it was sent", call.Method, took.Round(time.Millisecond)))
}

// questions are the methods of servers that wait for what a person or a model says, by the
// kind of tool that makes them ask.
var questions = map[string]string{"elicitation": "elicitation/create", "sampling": "sampling/createMessage"}

// question is a kind of tool that is known. None ends the check.
func question() string {
	kinds := slices.Sorted(maps.Keys(questions))
	for _, kind := range kinds {
		if _, known := Provocable(kind); known {
			return kind
		}
	}
	Unprovoked(kinds...)
	return ""
}
