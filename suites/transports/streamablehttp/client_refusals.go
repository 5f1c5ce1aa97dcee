package streamablehttp

import (
	"fmt"
	"net/http"
	"sync"
	"time"

	. "github.com/mcpconform/mcpconform/internal/check"
	. "github.com/mcpconform/mcpconform/internal/clientrun"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/protocol"
	. "github.com/mcpconform/mcpconform/internal/scenario"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/suites/client/forms"
)

// visible is a session id of all kinds of characters that may stand in one.
const visible = "!#$%&'*+-./09:;<=>?@AZ[]^_`az{|}~"

// noticing is how long a client has to send its GET, and to see that it is refused, before
// the server answers what it asks next.
const noticing = 50 * time.Millisecond

// typed is a server that says of each 202 that it is text.
var typed = &Scenario{
	Name:  "acceptance-with-a-content-type",
	Over:  protocol.HTTP,
	Until: protocol.Last(protocol.Handshake),
	Says:  "The server accepts notifications and responses by a 202 with a Content-Type.",
	Steps: Meeting.Steps,
	Server: func(server *scripted.Server) {
		server.OnExchange(func(exchange *scripted.Exchange) bool {
			kind := jsonrpc.Parse(exchange.Body).Kind
			if exchange.Request.Method == http.MethodPost &&
				(kind == jsonrpc.Notification || kind == jsonrpc.Response) {
				exchange.Head(http.StatusAccepted, map[string]string{"Content-Type": "text/plain; charset=utf-8"}, "")
			}
			return false
		})
	},
}

// refusing is a server that offers nothing but what it must.
var refusing = &Scenario{
	Name:  "streams-and-deletion-refused",
	Over:  protocol.HTTP,
	Until: protocol.Last(protocol.GETStream),
	Says:  "The server refuses GET and DELETE with 405, assigns a session id of special characters, and accepts the answer to a ping by a 202 with a Content-Type.",
	Steps: Steps{ToConnect(), ToList("tools"), addNumbers(5), ToList("tools"), ToClose()},
	Server: func(server *scripted.Server) {
		server.Stream = false
		asked := make(chan struct{})
		refused := sync.OnceFunc(func() { close(asked) })
		server.OnExchange(func(exchange *scripted.Exchange) bool {
			switch {
			case exchange.Request.Method == http.MethodGet:
				exchange.Answer(http.StatusMethodNotAllowed, map[string]string{"Allow": http.MethodPost}, nil, "")
				refused()
				return true
			case exchange.Request.Method == http.MethodDelete:
				exchange.Answer(http.StatusMethodNotAllowed, map[string]string{"Allow": http.MethodPost}, nil, "")
				return true
			case exchange.Request.Method == http.MethodPost && jsonrpc.Parse(exchange.Body).Kind == jsonrpc.Response:
				exchange.Head(http.StatusAccepted, map[string]string{"Content-Type": "text/plain; charset=utf-8"}, "")
			}
			return false
		})
		server.On("initialize", func(call *scripted.Call) {
			call.Session.Assign(visible)
			call.Answer(server.Welcome(server.Revision()))
		})
		server.On("tools/list", func(call *scripted.Call) {
			if call.Sees(asked, noticing) { // the refusal comes first, if there is one
				call.Pause(noticing)
			}
			call.Good()
		})
		server.On("tools/call", func(call *scripted.Call) {
			call.Ask("ping", nil)
			call.Pause(noticing) // for the 202 to come before the result
			call.Good()
		})
	},
}

func takingRefusals() {
	It("accepts a session id of any visible ASCII characters",
		Verifies("transports.http.session.sent"), In(refusing), func(t *T) { forms.Opens(t, "the session id "+visible) })

	takingBareAnswers()

	for _, one := range []struct {
		status int
		in     *Scenario
	}{
		{http.StatusMethodNotAllowed, refusing},
		{http.StatusNotFound, brokenAgain},
	} {
		It(fmt.Sprintf("exits without an error if DELETE is refused with %d", one.status),
			Verifies("transports.http.statuses.accepted"), In(one.in), func(t *T) {
				client := RunScenario(t)

				refused := refusalOf(t, client, http.MethodDelete)
				met := AlsoRun(t, Meeting)
				if met == nil || met.Exit.Failed || met.Exit.Ended {
					client.Inconclusive("the client does not exit without an error even if nothing is refused", "")
				}
				usual, closes := met.Outcome("close")
				if closes && usual.Failed() {
					client.Inconclusive("the client does not close the connection even if nothing is refused", "")
				}
				outcome, there := client.Outcome("close")
				if there && outcome.Failed() {
					client.FailEvent(refused, Mismatch{Wanted: "that the client closes the connection", Found: ShowOutcome(outcome)})
				}
				if !t.Observed(client.Exit.Well()) {
					client.FailEvent(refused, Mismatch{Wanted: "the exit status 0", Found: "the client " + client.Exit.Status})
				}
			})
	}
}

func takingBareAnswers() {
	It("continues after GET is refused with 405", Verifies("transports.http.statuses.accepted"), In(refusing), func(t *T) {
		client := RunScenario(t)

		refused := refusalOf(t, client, http.MethodGet)
		if t.Observed(len(client.Calls(scripted.AddNumbers)) > 0) {
			return
		}
		failed := client.Breakdown()
		if failed == "" {
			failed = client.ConnectFailure()
		}
		met := AlsoRun(t, Meeting)
		if failed == "" || met == nil || met.ConnectFailure() != "" {
			client.Inconclusive("the client sent no request after its GET", "tools/list")
		}
		client.MissingAfter(refused, Mismatch{Wanted: "that the client continues without the stream", Found: failed})
	})

	It("accepts a 202 that has no Content-Type", Verifies("transports.http.statuses.accepted"), In(Meeting),
		NeedsTransport(protocol.HTTP), AtRevisionsWith(protocol.Handshake),
		func(t *T) {
			client := RunScenario(t)

			ready := client.Notifications("notifications/initialized")
			if len(ready) == 0 {
				client.Inconclusive("the client sent nothing that is answered with 202", "tools/list")
			}
			if t.Observed(len(client.RequestsAfter(ready[0])) > 0) {
				return
			}
			other := AlsoRun(t, typed)
			if other == nil || len(other.Requests("tools/list")) == 0 {
				client.Inconclusive("the client sent no request after its notifications/initialized", "tools/list")
			}
			client.Missing(ready[0], Mismatch{
				Wanted: "that the client continues after a 202 without a Content-Type, as after one that has it",
				Found:  "no further request",
			})
		})

	It("accepts a 202 that has a Content-Type", Verifies("transports.http.statuses.accepted"), In(refusing), func(t *T) {
		client := RunScenario(t)

		call := client.NeedCalls(scripted.AddNumbers)[0]
		if len(client.Responses("ping")) == 0 {
			client.Inconclusive("the client answered no ping, so there was nothing to accept", "tools/call")
		}
		client.DemandStep(client.CallOf(scripted.AddNumbers), "list-tools", "a 202 with a Content-Type for its answer to a ping")
		client.Continues(AnswerTo(call), "a 202 with a Content-Type for its answer to a ping")
	})
}

// refusalOf returns the head of the response that refuses a request of an HTTP method. A
// client without such a request has nothing that could be refused.
func refusalOf(t *T, client *Client, method string) transcript.Event {
	for _, head := range client.Heads(method) {
		for _, event := range client.Events() {
			if event.IsResponseHead() && event.Stream == head.Stream &&
				event.Connection == head.Connection {
				return event
			}
		}
	}
	t.NotApplicable("the client sends no " + method)
	return transcript.Event{}
}
