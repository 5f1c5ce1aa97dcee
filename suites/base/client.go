package base

import (
	"slices"
	"strings"

	. "github.com/mcpconform/mcpconform/internal/check"
	. "github.com/mcpconform/mcpconform/internal/clientrun"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/mcp"
	"github.com/mcpconform/mcpconform/internal/protocol"
	. "github.com/mcpconform/mcpconform/internal/scenario"
	"github.com/mcpconform/mcpconform/internal/scripted"
)

// ClientChecks registers the checks of a target client.
func ClientChecks() {
	Describe("Base protocol", func() {
		opening()
		asked()
		batchesOfServer()
		garbled()
		strangeMetadata()
		resultTypes()
		famousServer()
		takingOpenings()
		takingAnswers()
		ofServer()
	})
	Describe("Requests", validRequests)
	Describe("JSON Schema", readingSchemas)
}

// numbers are arguments of the tool that every scripted server has.
var numbers = Object{"a": 5, "b": 3}

func opening() {
	It("continues with requests or notifications/initialized once its first request is answered",
		Verifies("base.components.required"), In(Meeting), func(t *T) {
			client := RunScenario(t)

			requests := client.Requests()
			if len(requests) == 0 || AnswerTo(requests[0]) == nil {
				client.Inconclusive("the client did not wait for an answer", "initialize")
			}
			opened := AnswerTo(requests[0])
			goesOn := func(request *Message) bool { // perhaps on another connection, after a look
				return AnswerTo(request) != nil && len(client.RequestsAfter(AnswerTo(request))) > 0
			}
			if t.Observed(slices.ContainsFunc(requests, goesOn) || len(client.Notifications("notifications/initialized")) > 0) {
				return
			}
			broken := client.ConnectFailure()
			if broken == "" {
				client.Inconclusive("the client disconnected after its first request was answered", "tools/list")
			}
			client.Missing(opened, Mismatch{Wanted: "that the client continues after its " + requests[0].Method + " is answered", Found: broken})
		})
}

// Ids of what the server asks amid a call.
var (
	pingIDs = []jsonrpc.ID{
		jsonrpc.IntID(1), jsonrpc.StringID("two"), jsonrpc.IntID(3), jsonrpc.IntID(0), jsonrpc.IntID(-7),
		jsonrpc.StringID(""), jsonrpc.StringID("1"), jsonrpc.StringID("größer 和 🙂"), jsonrpc.IntID(1<<53 - 1),
		jsonrpc.StringID(strings.Repeat("long", 64)),
	}
	extraID   = jsonrpc.StringID("with-more-members")
	unknownID = jsonrpc.StringID("unknown-method")
)

const strangeMethod = "mcpconform/unknown"

// inquisitive is a server that asks a client several things at once.
var inquisitive = &Scenario{
	Name:  "base-inquisitive-server",
	Until: "2025-11-25",
	Says:  "During a call the server sends notifications/tools/list_changed, ten pings at once with ids of all kinds, one with the id of the call, a ping with unknown members, and a request with an unknown method.",
	Steps: Steps{ToConnect(), ToList("tools"), ToCall(scripted.AddNumbers, numbers), ToList("tools"), ToClose()},
	Server: func(server *scripted.Server) {
		server.On("tools/call", func(call *scripted.Call) {
			call.Notify("notifications/tools/list_changed", nil)
			for _, id := range pingIDs {
				call.Say(jsonrpc.NewRequest(id, "ping", nil), "")
			}
			call.Say(jsonrpc.NewRequest(extraID, "ping", Object{"mcpconform/unknown": 1, "_meta": Object{"example.com/unknown": true}}), "")
			own := call.Message.ID
			if !slices.Contains(pingIDs, own) {
				call.Say(jsonrpc.NewRequest(own, "ping", nil), "") // ids of the two sides have nothing in common
			}
			call.Say(jsonrpc.NewRequest(unknownID, strangeMethod, Object{}), "the method does not exist")
			for _, id := range append(slices.Clip(pingIDs), own, extraID, unknownID) {
				if !call.Await(scripted.AnswerTo(id)) {
					break // the others had as much time
				}
			}
			call.Good()
		})
	},
}

// theAsked returns a request of the inquisitive server, and the answer of the client;
// nil when there is none.
func theAsked(client *Client, id jsonrpc.ID) (request, answer *Message) {
	call := client.NeedCalls(scripted.AddNumbers)[0]
	for _, message := range client.All() {
		if message.Event.From == protocol.Server && message.Kind == jsonrpc.Request && message.ID == id {
			request = message
			break
		}
	}
	if request == nil {
		client.Inconclusive("the client did not call the tool, so nothing was sent to it", "tools/call")
	}
	if answer = AnswerTo(request); answer == nil && !gaveUp(client, request) {
		client.NeedRequestAfter(AnswerTo(call)) // which came when the server had waited for the answer
	}
	return request, answer
}

// gaveUp tells whether the client takes the call for failed, and has gone on, although the
// server still waits for its answer to a request.
func gaveUp(client *Client, request *Message) bool {
	outcome, there := client.Outcome(client.CallOf(scripted.AddNumbers))
	return there && outcome.Failed() && len(client.RequestsAfter(request)) > 0
}

func asked() {
	It("answers each of several concurrent ping requests", Verifies("base.requests.answered"), In(inquisitive), func(t *T) {
		client := RunScenario(t)

		for _, id := range pingIDs {
			request, answer := theAsked(client, id)
			if !t.Observed(answer != nil) {
				client.Missing(request, Mismatch{Wanted: "an answer to each of ten pings", Found: "no answer to the ping with the id " + id.String()})
			}
		}
	})

	It("answers a ping that has the id of a request of its own", Verifies("base.requests.answered"), In(inquisitive), func(t *T) {
		client := RunScenario(t)

		own := client.NeedCalls(scripted.AddNumbers)[0].ID
		request, answer := theAsked(client, own)
		if !t.Observed(answer != nil) {
			client.Missing(request, Mismatch{
				Wanted: "an answer to the ping with the id " + own.String() + ", the id of an open call of the client",
				Found:  "none",
			})
		}
	})

	It("continues after notifications/tools/list_changed during a call", Verifies("base.notifications.accepted"), In(inquisitive), func(t *T) {
		client := RunScenario(t)

		const what = "notifications/tools/list_changed during a call"
		client.NeedCalls(scripted.AddNumbers)
		announced := client.FromServer("notifications/tools/list_changed")
		if len(announced) == 0 {
			client.Inconclusive("the client disconnected before the notification", "tools/call")
		}
		client.DemandStep(client.CallOf(scripted.AddNumbers), "list-tools", what)
		client.StaysUsable(announced[0], what)
	})

	It("accepts params with unknown members", Verifies("base.requests.extra-members"), In(inquisitive), func(t *T) {
		client := RunScenario(t)

		request, answer := theAsked(client, extraID)
		needPinging(client)
		if answer == nil {
			client.Missing(request, Mismatch{Wanted: "a result", Found: "no answer"})
		}
		t.Expect(client.Judging(answer)).To(BeResult())
	})

	rejectingUnknownMethods()
}

func rejectingUnknownMethods() {
	It("rejects a server request with an unknown method", Verifies("base.errors.unknown-method"), In(inquisitive), func(t *T) {
		client := RunScenario(t)

		request, answer := theAsked(client, unknownID)
		needPinging(client)
		if answer == nil {
			client.Missing(request, Mismatch{Wanted: "an error", Found: "no answer"})
		}
		t.Expect(client.Judging(answer)).To(BeJSONRPCError())
	})

	It("rejects a server request with an unknown method with -32601", Verifies("base.errors.method-not-found"), In(inquisitive), func(t *T) {
		client := RunScenario(t)

		_, answer := theAsked(client, unknownID)
		if answer == nil {
			client.Inconclusive("the client does not answer requests with an unknown method", "tools/call")
		}
		if _, refused := answer.Error(); !refused {
			client.Inconclusive("the client does not reject requests with an unknown method", "tools/call")
		}
		t.Expect(client.Judging(answer)).To(BeJSONRPCError(jsonrpc.MethodNotFound))
	})
}

// needPinging makes the check inconclusive unless the client answers ordinary pings by
// results: what it refuses of others shows nothing where it refuses all.
func needPinging(client *Client) {
	for _, id := range pingIDs {
		if _, answer := theAsked(client, id); answer != nil && answer.ResultObject() != nil {
			return
		}
	}
	client.Inconclusive("the client answers no ping with a result", "tools/call")
}

// What the garbling server says that is no message, and why.
const (
	brokenText   = `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info",`
	isNotJSON    = "it is not JSON"
	nothingKnown = `{"jsonrpc":"2.0","id":"mcpconform-no-message","foo":1}`
	isNoMessage  = "it is not a JSON-RPC message"
	textParams   = `{"jsonrpc":"2.0","method":"notifications/message","params":"text"}`
	notParams    = "params are never a string"
	badLetters   = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"info\",\"data\":\"\xff\xfe\"}}"
	notUTF8      = "it is not UTF-8"
	stray        = `{"jsonrpc":"2.0","id":"mcpconform-never-asked","result":{}}`
	strayReason  = "it answers no request"
)

// badLettersBefore is the number of the tools/list before whose answer they come.
const badLettersBefore = 3

// garbling is a server that says things that are no messages, or not of use.
var garbling = &Scenario{
	Name: "base-garbling-server",
	Says: "Before its answers to tools/list, tools/call and tools/list again, the server sends text that is not JSON, JSON that is not a message, invalid messages, from 2026-07-28 on also a request, and bytes that are not UTF-8.",
	Steps: Steps{
		ToConnect(),
		ToList("tools"),
		ToCall(scripted.AddNumbers, numbers),
		ToList("tools"),
		ToList("tools"),
		ToList("prompts"),
		ToClose(),
	},
	Server: func(server *scripted.Server) {
		server.Instructions = "This server also sends malformed messages."
		server.On("tools/list", func(call *scripted.Call) {
			switch call.Nth {
			case 1:
				call.Say([]byte(brokenText), isNotJSON)
			case badLettersBefore:
				call.Say([]byte(badLetters), notUTF8)
			default:
				call.Say([]byte(textParams), notParams)
				call.Say([]byte(stray), strayReason)
				if !call.Has(protocol.ServerRequests) {
					call.Say(jsonrpc.NewRequest(jsonrpc.StringID("mcpconform-request"), "ping", nil), "servers send no requests at this revision")
				}
			}
			call.Good()
		})
		server.On("tools/call", func(call *scripted.Call) {
			call.Say([]byte(nothingKnown), isNoMessage)
			call.Good()
		})
	},
}

// answered returns the scripted server's answer to the nth request of a method, or the
// request when the client left before the answer. Without a request the check is
// inconclusive.
func answered(client *Client, method string, nth int) *Message {
	requests := client.NeedRequests(method)
	if len(requests) < nth {
		client.Inconclusive("the client did not reach this step", method)
	}
	if answer := AnswerTo(requests[nth-1]); answer != nil {
		return answer
	}
	return requests[nth-1]
}

func garbled() {
	continues := func(after, method string, nth int, what string) {
		It("continues after "+after, Row(), Verifies("base.errors.survived"), In(garbling), func(t *T) {
			client := RunScenario(t)

			client.Continues(answered(client, method, nth), what)
		})
	}
	continues("text from the server that is not JSON", "tools/list", 1, "text that is not JSON")
	continues("text from the server that is not UTF-8", "tools/list", badLettersBefore, "text that is not UTF-8")
	continues("JSON that is not a JSON-RPC message", "tools/call", 1, "JSON that is not a message")
	continues("a notification with malformed params and a response with an unknown id", "tools/list", 2, "a notification with a string as params and a response to no request")

	It("answers text from the server that is not JSON with -32700, if at all", Verifies("base.errors.parse-error"), In(garbling), func(t *T) {
		client := RunScenario(t)

		answered(client, "tools/list", 1)
		for _, message := range client.All() {
			if message.Event.Deliberate == isNoMessage {
				break // what comes now may be about that
			}
			if _, refused := message.Error(); refused && fromClient(message) && message.Request == nil {
				t.Expect(client.Judging(message)).To(BeJSONRPCError(jsonrpc.ParseError))
				return
			}
		}
		t.NotApplicable("the client does not answer text that is not JSON")
	})

	It("answers JSON from the server that is not a JSON-RPC message with -32600, if at all",
		Verifies("base.errors.invalid-request"), In(garbling), func(t *T) {
			client := RunScenario(t)

			answered(client, "tools/call", 1)
			for _, message := range client.Sent() {
				if _, refused := message.Error(); refused && message.ID == jsonrpc.StringID("mcpconform-no-message") {
					t.Expect(client.Judging(message)).To(BeJSONRPCError(jsonrpc.InvalidRequest))
					return
				}
			}
			t.NotApplicable("the client does not answer JSON that is not a message")
		})
}

func fromClient(message *Message) bool { return message.Event.From == protocol.Client }

// reserved is a server with metadata at keys that are reserved but not defined.
var reserved = &Scenario{
	Name:  "base-reserved-metadata",
	Says:  "The results of the server have unknown values at reserved _meta keys.",
	Steps: Steps{ToConnect(), ToList("tools"), ToCall(scripted.AddNumbers, numbers), ToList("tools"), ToClose()},
	Server: func(server *scripted.Server) {
		server.OnResult(func(call *scripted.Call, result Object) {
			if call.Message.Method == "tools/list" || call.Message.Method == "tools/call" {
				result["_meta"] = Object{
					"modelcontextprotocol.io/unknown": []any{1},
					"io.modelcontextprotocol/unknown": nil,
					"tools.mcp.com/unknown":           Object{},
				}
			}
		})
	},
}

// traced is a server that tells of traces.
var traced = &Scenario{
	Name: "base-trace-context", Since: "2026-07-28",
	Says:  "The server has only tools, and its results have traceparent, tracestate and baggage in _meta.",
	Steps: Steps{ToConnect(), ToList("tools"), ToCall(scripted.AddNumbers, numbers), ToList("tools"), ToClose()},
	Server: func(server *scripted.Server) {
		server.Capabilities = Object{"tools": Object{}}
		server.OnResult(func(call *scripted.Call, result Object) {
			if call.Message.Method == "tools/list" || call.Message.Method == "tools/call" {
				result["_meta"] = Object{
					"traceparent": "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01",
					"tracestate":  "vendor=00f067aa0ba902b7", "baggage": "user=alice,region=eu",
				}
			}
		})
	},
}

func strangeMetadata() {
	It("accepts results with unknown values at reserved _meta keys", Verifies("base.meta.reserved-values"), In(reserved), func(t *T) {
		client := RunScenario(t)

		client.Continues(answered(client, "tools/list", 1), "unknown values at reserved keys of _meta")
	})

	It("accepts results with traceparent, tracestate and baggage in _meta", Verifies("base.meta.trace-context-taken"), In(traced), func(t *T) {
		client := RunScenario(t)

		client.Continues(answered(client, "tools/list", 1), "traceparent, tracestate and baggage in _meta")
	})
}

// unknownType is a type of results that no extension of the client defines.
const unknownType = "com.example/unknown"

// strange is a server whose second call ends in a result of an unknown type.
var strange = &Scenario{
	Name: "base-unknown-result-type", Since: "2026-07-28",
	Says: "The server answers the first call normally, and all others with an unknown resultType.",
	Steps: Steps{
		ToConnect(),
		ToList("tools"),
		ToCall(scripted.AddNumbers, numbers).ID("usual-call"),
		ToCall(scripted.AddNumbers, numbers).ID("strange-call"),
		ToList("prompts"),
		ToClose(),
	},
	Server: func(server *scripted.Server) {
		server.OnResult(func(call *scripted.Call, result Object) {
			if call.Message.Method == "tools/call" && call.Nth > 1 {
				result["resultType"] = unknownType
			}
		})
	},
}

// untyped is a server that gives its results no type, as earlier ones did.
var untyped = &Scenario{
	Name: "base-no-result-type", Since: "2026-07-28",
	Says:  "The server answers tools/list and tools/call without a resultType.",
	Steps: Steps{ToConnect(), ToList("tools"), ToCall(scripted.AddNumbers, numbers), ToList("tools"), ToClose()},
	Server: func(server *scripted.Server) {
		server.OnResult(func(call *scripted.Call, result Object) {
			if call.Message.Method == "tools/list" || call.Message.Method == "tools/call" {
				delete(result, "resultType")
			}
		})
	},
}

func resultTypes() {
	It("rejects a result with an unknown resultType", Verifies("base.result-type.unrecognized"), In(strange), func(t *T) {
		client := RunScenario(t)

		calls := client.NeedCalls(scripted.AddNumbers)
		if client.NeedOutcome("usual-call").Failed() || len(calls) < 2 {
			client.Inconclusive("the client did not call the tool a second time", "tools/call")
		}
		if outcome := client.NeedOutcome("strange-call"); !t.Observed(outcome.Failed()) {
			client.NeedResult("strange-call")
			client.Fail(AnswerTo(calls[1]), Mismatch{
				Wanted: "that the call fails, since the resultType is unknown",
				Found:  ShowOutcome(outcome),
				Where:  "/result/resultType",
			})
		}
	})

	It("treats a result without resultType as complete", Verifies("base.result-type.absent"), In(untyped), func(t *T) {
		client := RunScenario(t)

		client.Continues(answered(client, "tools/list", 1), "a result without a resultType")
	})
}

// famous is a server that says it is one that many know.
var famous = &Scenario{
	Name: "base-famous-server", Since: "2026-07-28",
	Says:  "As in the scenario meeting, but the serverInfo names a well-known server.",
	Steps: Meeting.Steps,
	Server: func(server *scripted.Server) {
		server.OnResult(func(call *scripted.Call, result Object) {
			if call.Message.Method == "server/discover" {
				result["_meta"] = Object{mcp.MetaServerInfo: Object{"name": "github-mcp-server", "version": "0.20.2", "title": "GitHub MCP Server"}}
			}
		})
	},
}

func famousServer() {
	It("sends the same requests regardless of serverInfo", Verifies("base.fields.info-unused"), In(famous), func(t *T) {
		client := RunScenario(t)

		client.NeedRequests("server/discover") // which tells what the server is
		client.NeedRequests("tools/list")      // what it asks then
		ordinary := AlsoRun(t, Meeting)
		if ordinary == nil || !sameEnd(ordinary, client) {
			client.Inconclusive("the client did not end in the same way with both servers", "tools/list")
		}
		for request := range ObserveEach(t, client.Requests()) {
			if len(ordinary.Requests(request.Method)) == 0 {
				client.Fail(request, Mismatch{
					Wanted: "the requests that it sends to a server of another name",
					Found:  request.Method + ", which it does not send there",
				})
			}
		}
		for _, request := range ordinary.Requests() {
			if len(client.Requests(request.Method)) == 0 {
				client.Missing(AnswerTo(client.Requests("server/discover")[0]), Mismatch{
					Wanted: request.Method + ", as it sends to a server of another name", Found: "no such request",
				})
			}
		}
	})
}

// sameEnd tells whether a client ended by itself in two scenarios of the same steps, and
// tells the same of each step.
func sameEnd(one, other *Client) bool {
	for _, client := range []*Client{one, other} {
		if client.Exit.Failed || client.Exit.Ended {
			return false
		}
	}
	for id := range Meeting.Steps.All() {
		here, reported := one.Outcome(id)
		there, too := other.Outcome(id)
		if reported != too || here.Failed() != there.Failed() {
			return false
		}
	}
	return true
}
