package streamablehttp

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	. "github.com/mcpconform/mcpconform/internal/check"
	. "github.com/mcpconform/mcpconform/internal/clientrun"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/protocol"
	. "github.com/mcpconform/mcpconform/internal/scenario"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/internal/transport"
	"github.com/mcpconform/mcpconform/suites/client/forms"
)

// ClientChecks registers the checks of a target client.
func ClientChecks() {
	Describe("Taking answers", takingAnswers)
	Describe("Framings of responses", takingFramings)
	Describe("Giving up", givingUp)
	Describe("Resuming", resumingStreams)
	Describe("Sessions", keepingSessions)
	Describe("Ended sessions", losingSessions)
	Describe("Refusals", takingRefusals)
	Describe("Older servers", olderServers)
	Describe("Headers from parameters", designatedParameters)
}

// Steps of bothForms.
const (
	streamedCall    = StreamedCall
	plainCall       = PlainCall
	oddPlainCall    = "odd-plain-call"
	oddStreamedCall = "odd-streamed-call"
)

// inTurn are its calls, in order.
var inTurn = []string{streamedCall, plainCall, oddPlainCall, oddStreamedCall}

// pageIn is the cursor of the page of tools that follows the one in the form of a call:
// who asks for it has read that one.
func pageIn(nth int) string { return "page-" + strconv.Itoa(nth+1) }

// bothForms is a server that answers by event streams and by JSON in turn.
var bothForms = &Scenario{
	Name: StreamedAndPlain,
	Over: protocol.HTTP,
	Says: "The server answers calls by an event stream, by JSON, and by both with Content-Type in mixed case; likewise the pages of its tools.",
	Steps: Steps{
		ToConnect(),
		addNumbers(11).WithProgress().ID(streamedCall),
		addNumbers(12).WithProgress().ID(plainCall),
		addNumbers(13).ID(oddPlainCall),
		addNumbers(14).ID(oddStreamedCall),
		ToList("tools"),
		ToClose(),
	},
	Server: func(server *scripted.Server) {
		server.On("tools/call", func(call *scripted.Call) { answerIn(call, call.Nth, scripted.Text("8")) })
		server.On("tools/list", func(call *scripted.Call) {
			for nth := range len(inTurn) + 1 {
				if call.Text("cursor") != pageIn(nth) && (nth > 0 || call.Text("cursor") != "") {
					continue
				}
				page := call.Fresh(Object{"tools": []any{}}, 0)
				if nth < len(inTurn) {
					page["nextCursor"] = pageIn(nth + 1)
				} else {
					page["tools"] = []any{server.Tools[0].Definition}
				}
				answerIn(call, nth+1, page)
				return
			}
			call.Refuse(jsonrpc.InvalidParams, "Invalid cursor", nil)
		})
	},
}

// answerIn answers a request in the form of a call, by its number.
func answerIn(call *scripted.Call, nth int, result Object) {
	answer := call.Result(result)
	if nth > len(inTurn) {
		call.Finally(answer, "")
		return
	}
	switch inTurn[nth-1] {
	case streamedCall:
		speakBefore(call)
		call.Finally(answer, "")
	case oddPlainCall:
		call.Exchange.Answer(http.StatusOK, map[string]string{"cOnTeNt-TyPe": "application/json"}, answer, "")
	case oddStreamedCall:
		call.Exchange.Head(http.StatusOK, map[string]string{"CONTENT-TYPE": "text/event-stream"}, "")
		call.Finally(answer, "")
	default:
		call.Finally(answer, "")
	}
}

func addNumbers(a int) Step { return ToCall(scripted.AddNumbers, Object{"a": a, "b": 3}) }

// speakBefore opens an event stream for the answer of a call, on which there is more
// than messages.
func speakBefore(call *scripted.Call) {
	call.Streaming()
	call.Exchange.Write([]byte(": a comment\n\n"), "")
	call.Progress(1, 2)
	if call.Has(protocol.ServerRequests) {
		call.Say(jsonrpc.NewRequest(call.Session.NextID(), "ping", nil), "")
		call.Say(jsonrpc.NewRequest(call.Session.NextID(), "ping", nil), "")
	}
	call.Progress(2, 2)
}

// streamedOpening is a server that answers everything by event streams, from the first
// request on.
var streamedOpening = &Scenario{
	Name:  "opening-answered-by-a-stream",
	Over:  protocol.HTTP,
	Says:  "The server answers every request by an event stream; the first begins with an event without a message.",
	Steps: Meeting.Steps,
	Server: func(server *scripted.Server) {
		server.Instructions = "I answer in streams."
		server.Features.Sessions = false
		for _, method := range []string{"initialize", "server/discover", "tools/list", "tools/call"} {
			server.On(method, func(call *scripted.Call) {
				if call.Message.Method == "initialize" {
					call.Session.Assign("session-" + strconv.Itoa(call.Session.Number)) // before the head goes out
				}
				prime(call)
				call.Good()
			})
		}
	},
}

func takingAnswers() {
	It("accepts text/event-stream as the answer to a request", Verifies("transports.http.request.both-answers"), In(bothForms), func(t *T) {
		takes(t, streamedCall, plainCall, "an answer by an event stream")
	})

	It("accepts application/json as the answer to a request", Verifies("transports.http.request.both-answers"), In(bothForms), func(t *T) {
		takes(t, plainCall, streamedCall, "an answer by a JSON object")
	})

	It("accepts an event stream as the answer to its first request",
		Verifies("transports.http.request.both-answers"), In(streamedOpening), func(t *T) {
			forms.Opens(t, "an event stream that answers its first request")
		})

	It("accepts a JSON response whatever the case of the Content-Type header name",
		Verifies("transports.http.headers.names"), In(bothForms), func(t *T) { takes(t, oddPlainCall, plainCall, "a header cOnTeNt-TyPe") })

	It("accepts an event stream whatever the case of the Content-Type header name",
		Verifies("transports.http.headers.names"), In(bothForms), func(t *T) { takes(t, oddStreamedCall, streamedCall, "a header CONTENT-TYPE") })
}

// takes demands that the client takes the answer to one of its calls as it takes
// that to another.
func takes(t *T, step, like, what string) {
	client := RunScenario(t)

	calls := client.NeedCalls(scripted.AddNumbers)
	nth := slices.Index(inTurn, step) + 1
	if len(calls) < nth {
		client.Inconclusive("the client made no more calls", "tools/call")
	}
	client.DemandStep(step, like, what)
	client.Continues(AnswerTo(calls[nth-1]), what)
	if client.ResultOf(step) == nil && !asksForPage(client, pageIn(nth)) {
		client.Inconclusive("the driver reports no result of the step with "+what, "tools/call")
	}
}

// asksForPage tells whether the client asked for a page of tools: it has read the cursor
// in the page before.
func asksForPage(client *Client, cursor string) bool {
	return slices.ContainsFunc(client.Requests("tools/list"), func(list *Message) bool { return list.ParamsObject()["cursor"] == cursor })
}

// slowTool is one that gives no answer.
const slowTool = "slow"

// givenUp is a server whose tool never answers.
var givenUp = &Scenario{
	Name:  "call-over-http-that-is-given-up",
	Until: protocol.Last(protocol.Resumption),
	Over:  protocol.HTTP,
	Says:  "The server does not answer a tool call, and the client cancels it.",
	Steps: Steps{
		ToConnect(),
		ToCall(slowTool, nil).As("slow"),
		ToList("tools"),
		ToList("tools"), // which shows that the call came
		ToCancel("slow"),
		ToList("tools"),
		ToClose(),
	},
	Server: func(server *scripted.Server) {
		var listed atomic.Bool
		server.On("tools/list", func(call *scripted.Call) {
			if listed.Swap(true) { // the first may be asked for before the call
				call.Session.Until(0, func(received scripted.Received) bool { return received.Method == "tools/call" })
			}
			call.Good()
		})
		server.AddTool(slowTool, nil, func(call *scripted.Call) {
			call.Streaming()
			call.Leave()
		})
	},
}

func givingUp() {
	It("sends notifications/cancelled when it cancels a call", Verifies("transports.http.disconnect.cancelled"), In(givenUp), func(t *T) {
		client := RunScenario(t)

		call := client.NeedCalls(slowTool)[0]
		if t.Observed(client.CancellationOf(call) != nil) {
			return
		}
		wanted := "notifications/cancelled with the requestId " + call.ID.String()
		if left := endOf(client, call, protocol.Client); left != nil && asksAfter(client, *left) {
			client.MissingAfter(*left, Mismatch{Wanted: wanted, Found: "that the client closed the stream of the call, and nothing else"})
		}
		client.NeedCancelled("slow", "cancel-slow")
		client.Missing(call, Mismatch{Wanted: wanted, Found: "nothing, although the client reports that it cancelled the call"})
	})
}

// endOf returns the end of the stream of a message, by the side that ended it; nil
// when it did not.
func endOf(client *Client, message *Message, by protocol.Party) *transcript.Event {
	for _, event := range client.Events() {
		if event.Kind == transcript.End && event.From == by &&
			event.Connection == message.Event.Connection && event.Stream == message.Event.Stream {
			return &event
		}
	}
	return nil
}

// asksAfter tells whether the client asked for anything after an event.
func asksAfter(client *Client, event transcript.Event) bool {
	return slices.ContainsFunc(client.Requests(), func(request *Message) bool { return request.Event.At.After(event.At) })
}

// brokenTool is one whose stream ends before the answer; the official suite knows it
// by this name.
const brokenTool = "test_reconnection"

const (
	// waitBeforeResuming is how many milliseconds the server wants clients to wait.
	waitBeforeResuming = 500
	// comingBack is how long a client may take to come back.
	comingBack = 4 * waitBeforeResuming * time.Millisecond
	// least is what is taken for as long: clocks of two processes differ a little.
	least = waitBeforeResuming * 8 / 10 * time.Millisecond
	// lastEvent is the id of the last event before the stream ends.
	lastEvent = "event-2"
)

// broken is a server that ends the stream of a call before the response, which it sends when
// the client resumes the stream.
var broken = &Scenario{
	Name:     "stream-that-is-resumed",
	Waits:    true,
	Official: "sse-retry",
	Until:    protocol.Last(protocol.Resumption),
	Over:     protocol.HTTP,
	Says:     "The server ends the stream of a call before the answer, and sends the response when the client resumes with Last-Event-ID.",
	Steps:    Steps{ToConnect(), ToCall(brokenTool, nil), ToList("tools"), ToClose()},
	Server:   func(server *scripted.Server) { server.OnExchange(breakOff(server, 500, 0)) },
}

// brokenAgain is a server whose stream ends a second time before anything has come on it.
var brokenAgain = &Scenario{
	Name:  "stream-that-is-resumed-twice",
	Waits: true,
	Until: protocol.Last(protocol.Resumption),
	Over:  protocol.HTTP,
	Says: "The server ends the stream of a call before the response, ends the resumed stream without an event, " +
		"and sends the response when the client resumes again. At the end it no longer knows the session.",
	Steps: broken.Steps,
	Server: func(server *scripted.Server) {
		resumes := breakOff(server, 50, 1)
		server.OnExchange(func(exchange *scripted.Exchange) bool {
			if exchange.Request.Method == http.MethodDelete {
				exchange.Answer(http.StatusNotFound, nil, nil, "")
				return true
			}
			return resumes(exchange)
		})
	},
}

// breakOff has the streams of calls end before the answer, and then so many times more
// without an event. The client is to wait for some milliseconds each time. What it returns
// answers those who come back.
func breakOff(server *scripted.Server, retry, again int) func(*scripted.Exchange) bool {
	var mu sync.Mutex
	waiting := map[string]jsonrpc.ID{} // calls whose answer is to come, by the id of the last event
	ended := map[string]int{}          // how often their streams did, without an event
	server.AddTool(brokenTool, nil, func(call *scripted.Call) {
		call.Streaming()
		mu.Lock()
		nth := len(waiting) + 1
		last := eventID(lastEvent, nth)
		waiting[last] = call.Message.ID
		mu.Unlock()
		first := eventID("event-1", nth)
		if server.Has(protocol.Polling) {
			call.Exchange.Write([]byte("id: "+first+fmt.Sprintf("\nretry: %d\ndata:\n\n", retry)), "")
		} else {
			call.Exchange.Write([]byte("id: "+first+"\nretry: 50\n\n"), "")
		}
		call.Exchange.Write(transport.EventText(&last, "", jsonrpc.NewNotification("notifications/message",
			Object{"level": "info", "data": "to be continued"})), "")
		call.Exchange.Finish()
		call.Pause(comingBack) // a client that waits, as it should, is not ended
	})
	return func(exchange *scripted.Exchange) bool {
		last := exchange.LastEventID()
		mu.Lock()
		id, waits := waiting[last]
		resumes := exchange.Request.Method == http.MethodGet && waits
		empty := resumes && ended[last] < again
		if empty {
			ended[last]++
		}
		mu.Unlock()
		if !resumes {
			return false
		}
		if empty {
			exchange.Write([]byte(": nothing yet\n\n"), "")
			exchange.Finish()
			return true
		}
		exchange.Event(new(strings.Replace(last, lastEvent, "event-3", 1)), jsonrpc.NewResult(id, scripted.Text("resumed")), "")
		exchange.Finish()
		return true
	}
}

// eventID is the id of an event on the stream of the nth call: no two of a session are
// the same.
func eventID(name string, nth int) string {
	if nth == 1 {
		return name
	}
	return fmt.Sprintf("%s-of-call-%d", name, nth)
}

func resumingStreams() {
	It("resumes a stream whose connection the server closed", Verifies("transports.http.stream.polled"), In(broken), func(t *T) {
		client := RunScenario(t)

		end := brokenOff(client)
		if !t.Observed(len(resumptions(client, end)) > 0) {
			client.NeedFinished(client.CallOf(brokenTool), client.Calls(brokenTool)[0])
			client.MissingAfter(end, Mismatch{Wanted: "a GET with the header Last-Event-ID: " + lastEvent, Found: "no request with such a header"})
		}
	})

	It("resumes a stream again that ended before another event", Verifies("transports.http.stream.polled"), In(brokenAgain), func(t *T) {
		client := RunScenario(t)

		end := brokenOff(client)
		again := slices.DeleteFunc(resumptions(client, end), func(head transcript.Event) bool {
			return !strings.HasPrefix(head.HTTP.Header.Get(scripted.LastEventID), lastEvent)
		})
		switch {
		case len(again) == 0:
			client.Inconclusive("the client did not resume the stream after its last event", "tools/call")
		case !t.Observed(len(again) > 1):
			client.NeedFinished(client.CallOf(brokenTool), client.Calls(brokenTool)[0])
			client.MissingAfter(again[0], Mismatch{
				Wanted: "another GET with the header Last-Event-ID: " + lastEvent,
				Found:  "no further request with such a header",
			})
		}
	})

	reconnecting()
}

func reconnecting() {
	It("waits for the SSE retry time before it reconnects with Last-Event-ID",
		Verifies("transports.http.stream.retry.respected"), In(broken), func(t *T) {
			client := RunScenario(t)

			end := brokenOff(client)
			again := resumptions(client, end)
			if len(again) == 0 {
				client.Inconclusive("the client did not resume the stream", "tools/call")
			}
			if waited := again[0].At.Sub(end.At); !t.Observed(waited >= least) {
				client.FailEvent(again[0], Mismatch{
					Wanted: "no GET with Last-Event-ID until 500 ms after the end of the stream, as its retry field says",
					Found:  "one after " + waited.Round(time.Millisecond).String(),
				})
			}
		})

	It("resumes a stream by GET with Last-Event-ID", Verifies("transports.http.resume.requested"), In(broken), func(t *T) {
		client := RunScenario(t)

		again := resumptions(client, brokenOff(client))
		if len(again) == 0 {
			client.Inconclusive("the client did not resume the stream", "tools/call")
		}
		if method := again[0].HTTP.Method; method != http.MethodGet {
			client.FailEvent(again[0], Mismatch{Wanted: "a GET with the header Last-Event-ID", Found: "a " + method + " with it", Where: "method"})
		}
		if last := again[0].HTTP.Header.Get(scripted.LastEventID); !t.Observed(last == lastEvent || strings.HasPrefix(last, lastEvent+"-of-call-")) {
			client.FailEvent(again[0], Mismatch{
				Wanted: Show(lastEvent) + ", the last id that the client received",
				Found:  Show(last),
				Where:  "header Last-Event-ID",
			})
		}
	})
}

// brokenOff returns the end of the stream of the call that is not answered on it.
func brokenOff(client *Client) transcript.Event {
	end := endOf(client, client.NeedCalls(brokenTool)[0], protocol.Server)
	if end == nil {
		client.Inconclusive("the client disconnected before the server ended the stream", "tools/call")
	}
	return *end
}

// resumptions returns the heads of requests with any method that resume a stream
// after an event.
func resumptions(client *Client, after transcript.Event) []transcript.Event {
	return slices.DeleteFunc(client.Heads(""), func(head transcript.Event) bool {
		return !head.At.After(after.At) || head.HTTP.Header.Get(scripted.LastEventID) == ""
	})
}
