package progress

import (
	"fmt"
	"strings"
	"sync"
	"time"

	. "github.com/mcpconform/mcpconform/internal/check"
	. "github.com/mcpconform/mcpconform/internal/clientrun"
	. "github.com/mcpconform/mcpconform/internal/scenario"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/suites/client/asking"
)

// ClientChecks registers the checks of a target client.
func ClientChecks() {
	Describe("Progress", func() {

		It("sends a different progressToken in each of two concurrent calls", Verifies("progress.token.unique"), In(counted), func(t *T) {
			client := RunScenario(t)

			var before *Message // the call with a token that came last
			for _, call := range client.NeedCalls("count") {
				token, asks := call.Meta()["progressToken"]
				if !asks {
					continue
				}
				if before == nil {
					before = call
					continue
				}
				if answer := AnswerTo(before); answer != nil && answer.Event.Sequence < call.Event.Sequence {
					client.Inconclusive("the client did not make its calls concurrently", "tools/call")
				}
				client.Judging(call)
				if Same(before.Meta()["progressToken"], token) {
					client.Fail(call, Mismatch{
						Wanted: "a token that no other request has",
						Found:  Show(token) + " again",
						Where:  "/params/_meta/progressToken",
					})
				}
				return
			}
			client.Inconclusive("the client did not make two calls that ask for progress", "tools/call")
		})

		It("matches answers to its requests by their ids", Verifies("base.responses.matched"), In(counted), func(t *T) {
			client := RunScenario(t)

			calls := client.NeedCalls("count")
			if len(calls) < 2 {
				client.Inconclusive("the client did not make two calls", "tools/call")
			}
			first, second := AnswerTo(calls[0]), AnswerTo(calls[1])
			if first == nil || second == nil || second.Event.Sequence > first.Event.Sequence {
				client.Inconclusive("the client did not make its calls concurrently", "tools/call")
			}
			for step, to := range oneTo {
				client.NeedResult(step)
				if given := Show(client.ResultOf(step)); strings.Contains(given, counts(7-to)) {
					client.Fail(second, Mismatch{Wanted: Show(counts(to)) + " as the result of the call", Found: given})
				}
			}
			t.Observe()
		})

		sendingProgress()
	})
}

func sendingProgress() {
	It("sends notifications/progress with the token of the request and an increasing progress",
		Verifies("progress.increases", "progress.token.provided"), In(reported), func(t *T) {
			client := RunScenario(t)

			requests := client.NeedServerRequests("sampling/createMessage")
			reports := client.Notifications("notifications/progress")
			if len(reports) == 0 {
				t.NotApplicable("the client reports no progress, which is optional")
			}
			latest := map[*Message]float64{} // by the request whose progress is reported
			for _, report := range reports {
				token := report.ParamsObject()["progressToken"]
				if token != reportedBy {
					client.Fail(report, Mismatch{
						Wanted: "the token of the request, " + Show(reportedBy),
						Found:  Show(token),
						Where:  "/params/progressToken",
					})
				}
				value, isNumber := report.ParamsObject()["progress"].(interface{ Float64() (float64, error) })
				if !isNumber {
					continue // the schema has it
				}
				now, _ := value.Float64()
				question := lastBefore(report, requests)
				if earlier, known := latest[question]; t.Observed(known) && now <= earlier {
					client.Fail(report, Mismatch{
						Wanted: "more than before",
						Found:  Show(report.ParamsObject()["progress"]),
						Where:  "/params/progress",
					})
				}
				latest[question] = now
			}
		})
}

// lastBefore returns the last question that came before a message on its connection; nil
// for none.
func lastBefore(message *Message, requests []AnsweredRequest) (question *Message) {
	for _, request := range requests {
		asked := request.Message.Event
		if asked.Connection == message.Event.Connection && asked.Sequence < message.Event.Sequence {
			question = request.Message
		}
	}
	return question
}

// oneTo is how far the two calls of counted count.
var oneTo = map[string]int{"one": 3, "other": 4}

// counts is what a tool gives that has counted.
func counts(to int) string { return fmt.Sprintf("counted to %d", to) }

// counted is a client that asks for the progress of two calls at once, of which the second
// is answered first.
var counted = &Scenario{
	Name: "calls-with-progress",
	Says: "The client requests the progress of two concurrent calls; the second is answered first.",
	Steps: Steps{
		ToConnect(),
		ToList("tools"),
		ToCall("count", Object{"to": oneTo["one"]}).WithProgress().As("one"),
		ToCall("count", Object{"to": oneTo["other"]}).WithProgress().As("other"),
		ToAwait("one"),
		ToAwait("other"),
		ToList("tools"),
		ToClose(),
	},
	Server: func(server *scripted.Server) {
		answered := make(chan struct{})
		over := sync.OnceFunc(func() { close(answered) })
		server.AddTool("count", Object{"type": "object", "properties": Object{"to": Object{"type": "integer"}}}, func(call *scripted.Call) {
			call.Progress(1, 3)
			isOther := func(received scripted.Received) bool {
				return received.Method == "tools/call" && received.ID != call.Message.ID
			}
			_, both := call.Session.Within(besideTime, 0, isOther)
			call.Progress(2, 3)
			call.Progress(3, 3)
			if both && call.Nth == 1 { // in whichever order the client sends them
				call.Sees(answered, besideTime) // or else the other call is another one
			}
			call.Answer(scripted.Text("counted to " + Show(call.Arguments()["to"])))
			over()
		})
	},
}

// besideTime is how long the server waits for the other of two calls at once.
const besideTime = 1500 * time.Millisecond

// reportedBy is the progress token of a request of the server.
const reportedBy = "mcpconform-sampling"

// reported is a client that is asked for the progress of what the server wants.
var reported = &Scenario{
	Name: "progress-of-sampling", Says: "During a call the server requests sampling, with a progressToken.",
	Until: "2025-11-25",
	Steps: Steps{
		ToAnswer("sampling/createMessage", Object{
			"role":       "assistant",
			"content":    Object{"type": "text", "text": "Hello."},
			"model":      "a-model",
			"stopReason": "endTurn",
		}),
		ToConnect(), ToList("tools"), ToCall(scripted.AddNumbers, asking.Numbers), ToList("tools"), ToClose(),
	},
	Server: func(server *scripted.Server) {
		asking.DuringCalls(server, scripted.ServerRequest{Method: "sampling/createMessage", Params: Object{
			"_meta":     Object{"progressToken": reportedBy},
			"messages":  []any{Object{"role": "user", "content": Object{"type": "text", "text": "Say hello."}}},
			"maxTokens": 100,
		}})
	},
}
