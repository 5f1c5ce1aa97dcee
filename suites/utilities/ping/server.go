// Package ping checks the page basic/utilities/ping.
package ping

import (
	"fmt"
	"maps"
	"slices"
	"time"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	. "github.com/mcpconform/mcpconform/internal/offer"
	"github.com/mcpconform/mcpconform/internal/scope"
	"github.com/mcpconform/mcpconform/internal/scripted"
	. "github.com/mcpconform/mcpconform/internal/session"
	"github.com/mcpconform/mcpconform/suites/client/asking"
)

// ServerChecks registers the checks of a target server.
func ServerChecks() {
	Describe("Ping", func() {
		inForms()

		It("answers ping with an empty result", Verifies("ping.answered"), func(t *T) {
			server := Session(t)

			reply := server.Call("ping", nil).Must(BeAnswered)

			t.Expect(reply).To(BeResult())
			t.Expect(reply).To(BeEmptyObject())
		})

		It("answers ping with _meta in its params", Verifies("ping.answered"), func(t *T) {
			server := Session(t)

			reply := server.Call("ping", Object{"_meta": Object{"com.example/trace": "7f"}}).Must(BeAnswered)

			t.Expect(reply).To(BeResult())
		})

		It("answers ping during a call", Verifies("ping.answered"), NeedsProvocation("slow"), func(t *T) {
			server := FreshSession(t)
			call := server.Call("tools/call", Provoking(t, "slow").Call())
			began := time.Now()

			reply := server.Call("ping", nil).Must(BeAnswered)

			t.Expect(reply).To(BeResult())
			judgePromptness(t, server, call, reply, time.Since(began))
			server.Cancel(call)
		})

		It("answers ping while its own request to the client is unanswered", Verifies("ping.answered"), func(t *T) {
			kind := question(t)
			server := FreshSession(t)
			server.Answer(questions[kind], scripted.Silence)
			asked := asking.Provoke(t, server, kind, questions[kind])

			reply := server.Call("ping", nil).Must(BeAnswered)

			t.Expect(reply).To(BeResult())
			asked.GiveUp(t)
		})
	})
}

// longestPing is how long a ping may take that is answered after a call during which it was
// sent: behind one that is shorter it may come by chance.
const longestPing = time.Second

// judgePromptness judges that a ping was not held up until the call was over during which it
// was sent.
func judgePromptness(t *T, server *Server, call *Answer, pong Reply, took time.Duration) {
	isOver := func(received scripted.Received) bool {
		return received.Kind == jsonrpc.Response && received.ID == call.ID && received.Index < pong.Index
	}
	if took < longestPing || len(server.Sent(call.Mark, isOver)) == 0 {
		return
	}
	began := time.Now()
	if server.Barrier(); scope.FarFaster*time.Since(began) > took {
		t.Inconclusive("a ping is not answered much faster when no call is under way", "run again on a less busy machine")
	}
	Missing(t, "a response to ping before the response to the call during which it was sent",
		fmt.Errorf("it came after the response to %s, %s after it was sent", call.Method, took.Round(time.Millisecond)))
}

// questions are the methods of servers that wait for what a person or a model says, by the
// kind of tool that makes them ask.
var questions = map[string]string{"elicitation": "elicitation/create", "sampling": "sampling/createMessage"}

// question is a kind of tool that is known. None ends the check.
func question(t *T) string {
	kinds := slices.Sorted(maps.Keys(questions))
	for _, kind := range kinds {
		if _, known := Provocable(t, kind); known {
			return kind
		}
	}
	Unprovoked(t, kinds...)
	return ""
}
