package streamablehttp

import (
	"net/http"
	"slices"
	"strings"

	. "github.com/mcpconform/mcpconform/internal/check"
	. "github.com/mcpconform/mcpconform/internal/clientrun"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/mcp"
	"github.com/mcpconform/mcpconform/internal/protocol"
	. "github.com/mcpconform/mcpconform/internal/scenario"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/suites/client/forms"
	"github.com/mcpconform/mcpconform/suites/server/pagination"
	"github.com/mcpconform/mcpconform/suites/versioning"
)

// forgotten is a server that ends its first two sessions when it has listed its tools.
var forgotten = &Scenario{
	Name:  "session-that-is-forgotten",
	Until: protocol.Last(protocol.Sessions),
	Over:  protocol.HTTP,
	Says:  "The server ends the first session, and the second, after tools/list: from then on it answers their ids with 404.",
	Steps: Steps{
		ToConnect(),
		ToList("tools"),
		addNumbers(1),
		addNumbers(2).ID("second-call"),
		ToList("tools"),
		addNumbers(3),
		addNumbers(4).ID("fourth-call"),
		ToClose(),
	},
	Server: func(server *scripted.Server) {
		server.On("tools/list", func(call *scripted.Call) {
			if call.Session.Number <= 2 {
				call.Session.Expire()
			}
			call.Good()
		})
	},
}

// sessionless is a server that assigns no session id.
var sessionless = &Scenario{
	Name:   "server-without-sessions",
	Until:  protocol.Last(protocol.Sessions),
	Over:   protocol.HTTP,
	Says:   "The server assigns no session id.",
	Steps:  Meeting.Steps,
	Server: func(server *scripted.Server) { server.Features.Sessions = false },
}

func keepingSessions() {
	It(
		"continues with a server that assigns no Mcp-Session-Id",
		Verifies("transports.http.session.optional"),
		In(sessionless),
		func(t *T) { forms.Opens(t, "an answer to initialize without Mcp-Session-Id") },
	)

	It("sends initialize without Mcp-Session-Id after HTTP 404 for its session",
		Verifies("transports.http.session.renewed"), In(forgotten), func(t *T) { renewsSession(t, "second-call") })

	It("sends initialize without Mcp-Session-Id after HTTP 404 for its session, whatever the error in the body",
		Verifies("transports.http.session.renewed"), In(pagination.LostPages), func(t *T) { renewsSession(t, pagination.SecondList) })

	renewingSessions()

	It("sends DELETE with Mcp-Session-Id when it no longer needs the session", Verifies("transports.http.session.deleted"), In(Meeting), func(t *T) {
		client := RunScenario(t)

		initialize := client.NeedRequests("initialize")[0]
		if t.Observed(slices.ContainsFunc(client.Heads(http.MethodDelete), func(head transcript.Event) bool { return sessionOf(head) != "" })) {
			return
		}
		if client.Exit.Failed || client.Exit.Ended {
			client.Inconclusive("the client did not exit by itself without an error", "tools/list")
		}
		if AnswerTo(initialize) == nil {
			client.InconclusiveWithout("initialize")
		}
		if _, reported := client.Outcome("close"); client.Reports() && !reported {
			client.Inconclusive("the client does not report that it closed the session", "")
		}
		client.Missing(AnswerTo(initialize), Mismatch{
			Wanted: "a DELETE with the session id of this response, before the client ends",
			Found:  "no such DELETE",
		})
	})
}

func renewingSessions() {
	It("sends initialize without Mcp-Session-Id after HTTP 404 for its second session, too",
		Verifies("transports.http.session.renewed"), In(forgotten), func(t *T) {
			client := RunScenario(t)

			lost := lostSessions(client)
			if len(lost) < 2 {
				client.Inconclusive("the client sent no request in the second session after the server ended it", "tools/call")
			}
			renewsAfter(t, client, lost[1], "fourth-call")
		})

	It("requests no older protocolVersion for a new session than for the last one", Verifies("lifecycle.version.latest"), In(forgotten), func(t *T) {
		client := RunScenario(t)

		hellos := client.NeedRequests("initialize")
		if len(hellos) < 2 {
			client.Inconclusive("the client began no second session", "tools/call")
		}
		agreed := mcp.Text(ResultTo(hellos[0]), "protocolVersion")
		for hello := range ObserveEach(t, hellos[1:]) {
			if again, _ := hello.ParamsObject()["protocolVersion"].(string); again < agreed {
				client.Fail(hello, Mismatch{
					Wanted: "the latest revision that the client supports, as it does " + agreed,
					Found:  Show(again),
					Where:  "/params/protocolVersion",
				})
			}
		}
	})

	It("uses the Mcp-Session-Id of its new session", Verifies("transports.http.session.sent"), In(forgotten), func(t *T) {
		client := RunScenario(t)

		lost := lostSession(client)
		given := begun(client)
		for _, initialized := range client.Notifications("notifications/initialized") {
			if !initialized.Event.At.After(lost.At) {
				continue
			}
			head, there := client.HeadOf(initialized)
			if there && !t.Observed(len(given) < 2 || sessionOf(head) != given[0]) {
				client.FailEvent(head, Mismatch{
					Wanted: "the id of the new session, " + Show(given[1]),
					Found:  Show(sessionOf(head)) + ", the id of the earlier session",
					Where:  "header Mcp-Session-Id",
				})
			}
			return
		}
		client.Inconclusive("the client did not begin a new session", "tools/call")
	})
}

// renewsSession demands that a client whose session is over begins a new one. It asks for more
// in a step.
func renewsSession(t *T, later string) {
	client := RunScenario(t)

	renewsAfter(t, client, lostSession(client), later)
}

// renewsAfter demands the same after the answer that tells of it.
func renewsAfter(t *T, client *Client, lost transcript.Event, later string) {
	for _, initialize := range client.Requests("initialize") {
		if !initialize.Event.At.After(lost.At) {
			continue
		}
		if head, there := client.HeadOf(initialize); there && !t.Observed(sessionOf(head) == "") {
			client.FailEvent(head, Mismatch{
				Wanted: "an initialize without a session id",
				Found:  Show(sessionOf(head)),
				Where:  "header Mcp-Session-Id",
			})
		}
		return
	}
	if !asksInSession(client, lost) && client.FailureOf(later) == "" && !client.Hangs() {
		client.Inconclusive("the client sent no further request after the server no longer knew its session", "tools/call")
	}
	client.MissingAfter(lost, Mismatch{Wanted: "a new initialize, without a session id, after this", Found: "no initialize"})
}

// begun are the ids that the server gave to sessions, in order.
func begun(client *Client) (ids []string) {
	for _, event := range client.Events() {
		if event.IsResponseHead() && sessionOf(event) != "" && !slices.Contains(ids, sessionOf(event)) {
			ids = append(ids, sessionOf(event))
		}
	}
	return ids
}

func sessionOf(head transcript.Event) string {
	return head.HTTP.Header.Get(scripted.SessionHeader)
}

// lostSession returns the head of the first 404 to a request with a session id.
func lostSession(client *Client) transcript.Event { return lostSessions(client)[0] }

// lostSessions returns the first for each session; there is one at least.
func lostSessions(client *Client) (lost []transcript.Event) {
	type exchange struct{ connection, stream string }
	asked := map[exchange]string{} // the session id
	reported := map[string]bool{"": true}
	for _, event := range client.Events() {
		at := exchange{event.Connection, event.Stream}
		switch {
		case event.IsRequestHead() && event.HTTP.Method != http.MethodDelete:
			asked[at] = sessionOf(event)
		case event.IsResponseHead() && event.HTTP.Status == http.StatusNotFound && !reported[asked[at]]:
			reported[asked[at]] = true
			lost = append(lost, event)
		}
	}
	if len(lost) == 0 {
		client.Inconclusive("the client sent no request in the session that the server had ended", "tools/call")
	}
	return lost
}

// asksInSession tells whether the client sent anything in a session after an event,
// but its end.
func asksInSession(client *Client, after transcript.Event) bool {
	return slices.ContainsFunc(client.Heads(http.MethodPost), func(head transcript.Event) bool {
		return head.At.After(after.At) && sessionOf(head) != ""
	})
}

// older is a server of that transport.
var older = &Scenario{
	Name:   "server-of-http-and-sse",
	Over:   protocol.HTTP,
	Speaks: protocol.Last(protocol.HTTPSSE),
	Says:   "The server speaks HTTP+SSE: it refuses a POST with 405, and answers a GET with a stream whose first event names its endpoint.",
	Steps:  Steps{ToConnect(), ToList("tools"), ToClose()},
	Server: overHTTPSSE,
}

// overHTTPSSE lets a server speak that transport, and every revision over it.
func overHTTPSSE(server *scripted.Server) {
	server.OverHTTPSSE()
	server.On("initialize", func(call *scripted.Call) {
		if asked := call.Text("protocolVersion"); slices.Contains(protocol.Released(), asked) {
			call.Answer(server.Welcome(asked))
		} else {
			call.Good()
		}
	})
}

// laterOnly is the name of a revision that no client knows.
const laterOnly = "2099-01-01"

// later is a server that speaks a later revision and nothing else.
var later = &Scenario{
	Name: "server-of-a-later-revision", Since: "2026-07-28", Over: protocol.HTTP,
	Says:  "The server rejects everything with 400 and the error -32022, since it speaks a later revision.",
	Steps: Steps{ToConnect(), ToList("tools"), ToClose()},
	Server: func(server *scripted.Server) {
		server.OnExchange(func(exchange *scripted.Exchange) bool {
			request := jsonrpc.Parse(exchange.Body)
			if request.Kind != jsonrpc.Request {
				return false
			}
			exchange.Answer(http.StatusBadRequest, nil, jsonrpc.NewErrorWith(request.ID, jsonrpc.UnsupportedRevision,
				"Unsupported protocol version", Object{"supported": []any{laterOnly}, "requested": "2026-07-28"}), "")
			return true
		})
	},
}

func olderServers() {
	It("finds the endpoint of an HTTP+SSE server by GET and its endpoint event", Verifies("transports.http.older-servers"), In(older), func(t *T) {
		client := RunScenario(t)

		first := client.Heads(http.MethodPost)
		if len(first) == 0 {
			client.InconclusiveWithout("initialize")
		}
		gets := slices.DeleteFunc(client.Heads(http.MethodGet), func(get transcript.Event) bool { return !get.At.After(first[0].At) })
		if len(gets) == 0 {
			client.Inconclusive("the client does not support HTTP+SSE, which is optional", "initialize")
		}
		if accept := strings.Join(gets[0].HTTP.Header.Values("Accept"), ", "); !strings.Contains(accept, "text/event-stream") {
			client.FailEvent(gets[0], Mismatch{Wanted: "text/event-stream", Found: Show(accept), Where: "header Accept"})
		}
		for _, post := range first {
			if !post.At.After(gets[0].At) {
				continue
			}
			if !t.Observed(scripted.IsOlderEndpoint(post.HTTP.URL)) {
				client.FailEvent(post, Mismatch{
					Wanted: "a POST to the endpoint that the first event of the stream names",
					Found:  "one to " + post.HTTP.URL,
					Where:  "URL",
				})
			}
			return
		}
		client.Inconclusive("the client sent nothing after it had opened the stream", "initialize")
	})

	movingToSSE()

	findingSSE()

	fallingBack()
}

func movingToSSE() {
	It("continues over HTTP+SSE when its initialize is accepted with 202 and answered on the stream",
		Verifies("transports.http.older-servers"), In(older), func(t *T) {
			client := RunScenario(t)

			posts := slices.DeleteFunc(client.Heads(http.MethodPost), func(post transcript.Event) bool {
				return !scripted.IsOlderEndpoint(post.HTTP.URL)
			})
			if len(posts) == 0 {
				client.Inconclusive("the client sent nothing to the endpoint of the stream", "initialize")
			}
			goesOn := slices.ContainsFunc(client.Sent(), func(message *Message) bool {
				post, there := client.HeadOf(message)
				isRepeated := message.Method == "initialize"
				return there && scripted.IsOlderEndpoint(post.HTTP.URL) && !isRepeated
			})
			if !t.Observed(goesOn) {
				failed := client.FailureOf("connect")
				for _, asked := range client.Requests("initialize") {
					if !slices.Contains(protocol.Released(), mcp.Text(asked.ParamsObject(), "protocolVersion")) {
						client.Inconclusive("the client requests an unknown revision", "initialize")
					}
				}
				if failed == "" {
					client.Inconclusive("the client does not report that it failed here, and connects in other scenarios", "initialize")
				}
				client.MissingAfter(posts[0], Mismatch{
					Wanted: "another message to the endpoint, when initialize is answered", Found: "none: " + failed,
				})
			}
		})
}

func fallingBack() {
	It("falls back to initialize after HTTP 400 with the error -32000",
		Verifies("transports.http.older.inspected"), In(versioning.Balking), NeedsTransport(protocol.HTTP), func(t *T) {
			client := RunScenario(t)

			versioning.DemandFallback(t, client, AnswerTo(versioning.Probe(client)), Mismatch{
				Wanted: "initialize, as after the error -32601: this revision has no such error",
				Found:  "no such request",
				Where:  "/error/code",
			})
		})

	It("sends no initialize after HTTP 400 with the error -32022", Verifies("transports.http.older.inspected"), In(later), func(t *T) {
		client := RunScenario(t)

		probe := versioning.Probe(client)
		for _, initialize := range client.Requests("initialize") {
			client.Fail(initialize, Mismatch{
				Wanted: "no initialize after the error -32022, which only servers without a handshake send",
				Found:  "initialize",
				Where:  "/method",
			})
		}
		if !versioning.FallsBack(AlsoRun(t, versioning.Handshaking)) {
			t.NotApplicable("the client speaks no revision with a handshake")
		}
		client.Refrained(AnswerTo(probe), "connect")
	})
}
