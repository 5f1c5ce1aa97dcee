package progress

import (
	"time"

	. "github.com/onsi/ginkgo/v2"

	. "github.com/mcpconform/mcpconform/internal/conform"
	. "github.com/mcpconform/mcpconform/internal/scenario"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/suites/client/asking"
)

// ClientChecks registers the checks of a target client.
func ClientChecks() {
	Describe("Progress", func() {

		It(
			"sends a different progressToken in each of two concurrent calls",
			Verifies("progress.token.unique"),
			In(counted),
			func(ctx SpecContext) {
				client := RunScenario(ctx)

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
						client.NeverBut("the client made its calls one after the other", "tools/call")
					}
					client.Judging(call)
					if Same(before.Meta()["progressToken"], token) {
						client.Blame(
							call,
							Mismatch{
								Wanted: "a token that no other request has",
								Found:  Show(token) + " again",
								Where:  "/params/_meta/progressToken",
							},
						)
					}
					return
				}
				client.NeverBut("the client did not make two calls that ask for progress", "tools/call")
			},
		)

		It(
			"sends notifications/progress with the token of the request and an increasing progress",
			Verifies("progress.increases", "progress.token.provided"),
			In(reported),
			func(ctx SpecContext) {
				client := RunScenario(ctx)

				requests := client.NeedServerRequests("sampling/createMessage")
				reports := client.Notifications("notifications/progress")
				if len(reports) == 0 {
					NotApplicable("the client reports no progress, which it need not")
				}
				latest := map[*Message]float64{} // by the request whose progress is reported
				for _, report := range reports {
					token := report.ParamsObject()["progressToken"]
					if token != reportedBy {
						client.Blame(
							report,
							Mismatch{
								Wanted: "the token of the request, " + Show(reportedBy),
								Found:  Show(token),
								Where:  "/params/progressToken",
							},
						)
					}
					value, isNumber := report.ParamsObject()["progress"].(interface{ Float64() (float64, error) })
					if !isNumber {
						continue // the schema has it
					}
					now, _ := value.Float64()
					question := lastBefore(report, requests)
					if earlier, known := latest[question]; Observed(known) && now <= earlier {
						client.Blame(
							report,
							Mismatch{
								Wanted: "more than before",
								Found:  Show(report.ParamsObject()["progress"]),
								Where:  "/params/progress",
							},
						)
					}
					latest[question] = now
				}
			},
		)
	})
}

// lastBefore returns the last question that came before a message on its connection; nil
// for none.
func lastBefore(said *Message, requests []AnsweredRequest) (question *Message) {
	for _, request := range requests {
		asked := request.Message.Event
		if asked.Connection == said.Event.Connection && asked.Sequence < said.Event.Sequence {
			question = request.Message
		}
	}
	return question
}

// counted is a client that asks for the progress of two calls at once.
var counted = &Scenario{
	Name: "calls-with-progress", Says: "The client asks for the progress of two calls that are made at the same time.",
	Steps: Steps{
		ToConnect(),
		ToList("tools"),
		ToCall(
			"count",
			Object{"to": 3},
		).WithProgress().
			As("one"),
		ToCall("count", Object{"to": 3}).WithProgress().As("other"),
		ToAwait("one"),
		ToAwait("other"),
		ToList("tools"),
		ToClose(),
	},
	Server: func(server *scripted.Server) {
		server.AddTool(
			"count",
			Object{"type": "object", "properties": Object{"to": Object{"type": "integer"}}},
			func(call *scripted.Call) {
				call.Progress(1, 3)
				call.Session.Within(besideTime, 0, func(received scripted.Received) bool {
					return received.Method == "tools/call" && received.ID != call.Message.ID
				})
				call.Progress(2, 3)
				call.Progress(3, 3)
				call.Answer(scripted.Text("done"))
			},
		)
	},
}

// besideTime is how long the server waits for the other of two calls at once.
const besideTime = 300 * time.Millisecond

// reportedBy is the progress token of a request of the server.
const reportedBy = "mcpconform-sampling"

// reported is a client that is asked for the progress of what the server wants.
var reported = &Scenario{
	Name: "progress-of-sampling", Says: "During a call the server asks for sampling, and for its progress.",
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
