package lifecycle

import (
	"slices"
	"time"

	. "github.com/mcpconform/mcpconform/internal/check"
	. "github.com/mcpconform/mcpconform/internal/clientrun"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/mcp"
	"github.com/mcpconform/mcpconform/internal/protocol"
	. "github.com/mcpconform/mcpconform/internal/scenario"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/suites/server/features"
)

// ClientChecks registers the checks of a target client.
func ClientChecks() {
	Describe("Handshake", func() {
		shaking()
		missing()
		undeclared()
		waiting()
	})
	Describe("Shutdown", closing)
	Describe("Ended streams", reopening)
}

// ending is a server whose first stream ends in the middle of a call, and that takes new ones.
// The page says that a session over HTTP is over when its connection is closed: what a client
// says on another stream begins with initialize again. That it opens one is its own choice.
var ending = &Scenario{
	Name: "stream-that-ends-in-a-call", Over: protocol.SSE, Waits: true,
	Says: "The server ends the stream in the place of an answer to the first call. Each GET opens another stream, with an endpoint of its own.",
	Steps: Steps{
		ToConnect(), ToList("tools"), ToCall(scripted.AddNumbers, Object{"a": 5, "b": 3}).Within(waitingTime),
		ToList("tools"), ToCall(scripted.AddNumbers, Object{"a": 6, "b": 3}), ToClose(),
	},
	Server: func(server *scripted.Server) {
		server.On("tools/call", func(call *scripted.Call) {
			if stream := call.Session.Stream(); call.Nth == 1 && stream != nil {
				stream.Write([]byte(soonAgain), "")
				stream.Cut()
				return
			}
			call.Good()
		})
	},
}

// waitingTime is how long a client is told to wait for an answer that does not come, in milliseconds.
const waitingTime = 1000

// soonAgain tells a client how soon it may open an event stream again. What waits for the usual
// seconds would be done before.
const soonAgain = "retry: 10\n\n"

func reopening() {
	It("sends initialize first on a stream that it opens after the server ended one", Verifies("lifecycle.initialization.first"), In(ending), func(t *T) {
		client := RunScenario(t)

		ended := client.NeedCalls(scripted.AddNumbers)[0]
		first := slices.IndexFunc(client.Sent(), func(message *Message) bool {
			return message.Event.Connection != ended.Event.Connection && message.Method != "ping"
		})
		switch {
		case first >= 0:
			if message := client.Sent()[first]; !t.Observed(message.Method == "initialize") {
				client.Fail(message, Mismatch{Wanted: "initialize as the first message on a new stream", Found: Show(message.Method)})
			}
		case client.Exit.Ended:
			client.Inconclusive("the client had to be terminated: it waits, and no sentence says for how long", "tools/call")
		default:
			t.NotApplicable("the client sends nothing on another stream, and no sentence says that it reconnects")
		}
	})
}

// reconnecting is a server to which a client comes back that has closed its connection.
var reconnecting = &Scenario{
	Name: "lifecycle-connection-closed", Over: protocol.SSE,
	Says:  "The client closes its connection, and opens another one, whose initialize the server answers when the first is closed, or after a second.",
	Steps: Steps{ToConnect(), ToList("tools"), ToClose(), ToConnect(), ToList("tools"), ToClose()},
	Server: func(server *scripted.Server) {
		server.On("initialize", func(call *scripted.Call) {
			if first := server.Sessions()[0]; first != call.Session {
				first.Leaves(closingTime)
			}
			call.Good()
		})
	},
}

// closingTime is how long it may take until the server sees that a client has closed a
// connection.
const closingTime = time.Second

func closing() {
	It("closes the HTTP connection of a session that it is done with", Verifies("lifecycle.shutdown.closes-connection"), In(reconnecting), func(t *T) {
		client := RunScenario(t)

		answered := client.NeedRequests("initialize")
		first := answered[0].Event.Connection
		again := slices.IndexFunc(answered, func(asked *Message) bool { return asked.Event.Connection != first && AnswerTo(asked) != nil })
		if again < 0 {
			client.Inconclusive("the client did not connect a second time", "initialize")
		}
		back := AnswerTo(answered[again])
		closed := slices.ContainsFunc(client.Events(), func(event transcript.Event) bool {
			return event.Kind == transcript.End && event.From == protocol.Client && event.Connection == first &&
				!event.At.After(back.Event.At)
		})
		if !t.Observed(closed) {
			client.Missing(answered[again], Mismatch{
				Wanted: "the end of the stream of the first connection, before or soon after the client opens a second one",
				Found:  "a stream that stays open",
			})
		}
	})
}

// moment is how long the granting server takes to answer initialize.
const moment = 50 * time.Millisecond

// granting is a server that accepts each revision that is requested.
var granting = &Scenario{
	Name:  "lifecycle-granting-server",
	Until: "2025-11-25",
	Says:  "The server answers late, with the revision that the client requests, even if it is not a released one.",
	Steps: append(Steps{ToAnswer("roots/list", Object{"roots": []any{Object{"uri": "file:///home/user/project"}}})}, Meeting.Steps...),
	Server: func(server *scripted.Server) {
		server.On("initialize", func(call *scripted.Call) {
			call.Pause(moment) // a client that does not wait for the answer has said more meanwhile
			if asked := call.Text("protocolVersion"); asked != "" && !slices.Contains(protocol.Released(), asked) {
				call.Answer(server.Welcome(asked))
			} else {
				call.Good()
			}
		})
	},
}

// unnamed is a scenario whose steps do not name the revision to request.
var unnamed = &Scenario{
	Name: "lifecycle-unnamed-revision", Until: "2025-11-25", Unnamed: true,
	Says:  "The client begins with a revision of its own choice.",
	Steps: Meeting.Steps,
}

// strangeRevision is an unknown revision: an old one over stdio and a future one over HTTP,
// as some clients compare it with their own.
func strangeRevision(transport protocol.Transport) string {
	if transport.Exchanges() {
		return "2099-12-31"
	}
	return "1900-01-01"
}

// outdated is a server that supports only an unknown revision.
var outdated = &Scenario{
	Name: "lifecycle-outdated-server", Until: "2025-11-25",
	Says:  "The server answers initialize with an unknown revision.",
	Steps: Meeting.Steps,
	Server: func(server *scripted.Server) {
		server.On("initialize", func(call *scripted.Call) { call.Answer(server.Welcome(strangeRevision(call.Transport()))) })
	},
}

// hello is the client's first initialize and the answer to it.
func hello(client *Client) (asked, answer *Message) {
	asked = client.NeedRequests("initialize")[0]
	if answer = AnswerTo(asked); answer == nil {
		client.Inconclusive("the client did not wait for the answer to initialize", "initialize")
	}
	return asked, answer
}

// wentOn tells whether the client took up the session after the answer to initialize.
func wentOn(client *Client, answer *Message) bool {
	return len(client.RequestsAfter(answer)) > 0 || len(client.Notifications("notifications/initialized")) > 0
}

// speaks tells whether a client went on with a server that answered with a revision.
func speaks(client *Client, revision any) bool {
	return slices.ContainsFunc(client.Requests("initialize"), func(asked *Message) bool {
		answer := AnswerTo(asked)
		return answer != nil && answer.ResultObject()["protocolVersion"] == revision && wentOn(client, answer)
	})
}

func shaking() {
	It("supports the protocolVersion that it requests", Verifies("lifecycle.version.supported"), In(granting), func(t *T) {
		client := RunScenario(t)

		asked, answer := hello(client)
		granted, version := answer.ResultObject()["protocolVersion"], asked.ParamsObject()["protocolVersion"]
		if granted != version {
			t.NotApplicable("the client requests " + Show(version) + ", and is checked at that revision")
		}
		if t.Observed(wentOn(client, answer)) {
			return
		}
		if broken := client.ConnectFailure(); broken != "" {
			client.Missing(asked, Mismatch{
				Wanted: "a revision that the client supports when the server agrees to it",
				Found:  Show(version) + ", and then " + broken,
				Where:  "/params/protocolVersion",
			})
		}
		client.Inconclusive("the client sent nothing more after the server agreed to its revision", "initialize")
	})

	It("requests the latest protocolVersion that it supports", Verifies("lifecycle.version.latest"), In(unnamed), func(t *T) {
		client := RunScenario(t)

		asked, answer := hello(client)
		version := mcp.Text(asked.ParamsObject(), "protocolVersion")
		switch isOlder := version < t.Revision(); {
		case !slices.Contains(protocol.Released(), version):
			client.Inconclusive("the client asks for "+Show(version)+", which is not a revision", "initialize")
		case isOlder && !wentOn(client, answer):
			client.Inconclusive("the client disconnected when the server answered with a later revision", "initialize")
		case isOlder:
			client.Fail(asked, Mismatch{
				Wanted: t.Revision() + ", with which the client continues when the server answers with it", Found: version,
				Where: "/params/protocolVersion",
			})
		}
		client.Judging(asked)
	})

	disagreeing()
}

func disagreeing() {
	It("continues at another protocolVersion that the server answers with and it supports",
		Verifies("lifecycle.version.accepted"), In(unnamed), func(t *T) {
			client := RunScenario(t)

			asked, answer := hello(client)
			version, answered := asked.ParamsObject()["protocolVersion"], answer.ResultObject()["protocolVersion"]
			if version == answered {
				t.NotApplicable("the client requests " + Show(version) + ", with which the server answers")
			}
			if t.Observed(wentOn(client, answer)) {
				return
			}
			broken, met := client.ConnectFailure(), AlsoRun(t, Meeting)
			if broken == "" || met == nil || met.ConnectFailure() != "" || !speaks(met, answered) {
				client.Inconclusive("it is unknown whether the client supports "+Show(answered), "initialize")
			}
			client.Missing(answer, Mismatch{
				Wanted: "that the client continues at " + Show(answered) + ", which it supports when asked to",
				Found:  broken,
				Where:  "/result/protocolVersion",
			})
		})

	It("disconnects from a server that answers with an unsupported protocolVersion",
		Verifies("lifecycle.version.disconnected"), In(outdated), func(t *T) {
			client := RunScenario(t)

			_, answer := hello(client)
			for _, message := range client.Sent() {
				after := message.Event.Connection == answer.Event.Connection && message.Event.Sequence > answer.Event.Sequence
				isReady := message.Kind == jsonrpc.Notification && message.Method == "notifications/initialized"
				isWork := message.Kind == jsonrpc.Request && message.Method != "ping" && message.Method != "initialize"
				if after && (isReady || isWork) {
					client.Fail(message, Mismatch{
						Wanted: "that the client disconnects from a server that answers with " + strangeRevision(t.Transport()),
						Found:  message.Method,
					})
				}
			}
			if client.Exit.Ended {
				client.Inconclusive("the client had to be terminated", "initialize")
			}
			needTakingUp(t, client)
			client.Judging(answer)
		})

	It("handles an initialize result with an unsupported protocolVersion", Verifies("lifecycle.errors.version"), In(outdated), func(t *T) {
		client := RunScenario(t)

		_, answer := hello(client)
		demandCoping(t, client, answer, "a server that supports none of its revisions")
	})
}

// needTakingUp makes the check inconclusive unless the client takes up the session with a
// good server.
func needTakingUp(t *T, client *Client) {
	if met := AlsoRun(t, Meeting); met != nil && len(met.Requests("initialize")) > 0 {
		if _, answer := hello(met); wentOn(met, answer) {
			return
		}
	}
	client.Inconclusive("the client does not continue with a valid server either", "")
}

// demandCoping demands that the client comes to an end by itself, and does not crash,
// as it does with a good server, of which it asks something.
func demandCoping(t *T, client *Client, after *Message, with string) {
	if client.ByHand() {
		client.Inconclusive("it is unknown how the client ended", "")
	}
	met := AlsoRun(t, Meeting)
	if met == nil || !met.Exit.Well() {
		client.Inconclusive("the client does not exit without an error with a valid server either", "")
	}
	if len(met.Requests()) == len(met.Requests("initialize")) {
		client.Inconclusive("the client sends no request to a valid server either", "tools/list")
	}
	found := ""
	switch {
	case client.Exit.Ended:
		found = "the client did not exit, and had to be terminated"
	case client.Exit.Signal != "":
		found = "the client " + client.Exit.Status
	}
	if found != "" {
		client.Missing(after, Mismatch{Wanted: "that the client handles " + with, Found: found})
	}
	client.Judging(after)
}

// bare is a server that has tools and nothing else.
var bare = &Scenario{
	Name: "lifecycle-bare-server", Until: "2025-11-25",
	Says:  "The server declares tools, and no other capabilities.",
	Steps: Meeting.Steps,
	Server: func(server *scripted.Server) {
		server.Capabilities = Object{"tools": Object{}}
		for _, method := range []string{"prompts/list", "resources/list", "resources/templates/list", "logging/setLevel", "completion/complete"} {
			server.On(method, func(call *scripted.Call) { call.Refuse(jsonrpc.MethodNotFound, "Method not found: "+method, nil) })
		}
	},
}

// undeclared registers the checks of what a client does with a server that does not
// declare what it is told to use.
func undeclared() {
	It("sends resources/list, resources/templates/list, resources/read only if the server declares resources",
		Verifies("lifecycle.capabilities.of-peer"), In(features.ToolsAlone), func(t *T) {
			features.DemandRestraint(t,
				RunScenario(t),
				AlsoRun(t, features.All),
				"resources",
				"resources/list",
				"resources/templates/list",
				"resources/read",
			)
		})

	It("sends resources/subscribe and resources/unsubscribe only if the server declares resources.subscribe",
		Verifies("lifecycle.capabilities.of-peer"), In(features.Unsubscribable), func(t *T) {
			features.DemandRestraint(t,
				RunScenario(t),
				AlsoRun(t, features.All),
				"resources.subscribe",
				"resources/subscribe",
				"resources/unsubscribe",
			)
		})

	It("sends prompts/list and prompts/get only if the server declares prompts",
		Verifies("lifecycle.capabilities.of-peer"), In(features.ToolsAlone), func(t *T) {
			features.DemandRestraint(t, RunScenario(t), AlsoRun(t, features.All), "prompts", "prompts/list", "prompts/get")
		})

	It("sends tools/list and tools/call only if the server declares tools",
		Verifies("lifecycle.capabilities.of-peer"), In(features.PromptsAlone), func(t *T) {
			client := RunScenario(t)

			for _, request := range client.Requests("tools/list", "tools/call") {
				client.Fail(request, Mismatch{
					Wanted: request.Method + " only if the server declares tools",
					Found:  request.Method + " without that", // as the rules say it
				})
			}
			client.NeedRequests("prompts/list")
			t.Observe()
		})

	It("sends completion/complete only if the server declares completions", AtRevisionsWith(protocol.Completions),
		Verifies("lifecycle.capabilities.of-peer"), In(features.ToolsAlone), func(t *T) {
			features.DemandRestraint(t, RunScenario(t), AlsoRun(t, features.All), "completions", "completion/complete")
		})

	It("sends logging/setLevel only if the server declares logging", Verifies("lifecycle.capabilities.of-peer"), In(features.ToolsAlone), func(t *T) {
		features.DemandRestraint(t, RunScenario(t), AlsoRun(t, features.All), "logging", "logging/setLevel")
	})
}

func missing() {
	It("handles a server that declares only tools", Verifies("lifecycle.errors.capabilities"), In(bare), func(t *T) {
		client := RunScenario(t)

		_, answer := hello(client)
		demandCoping(t, client, answer, "a server that declares only tools")
	})
}

// silent is a server that never answers a call.
var silent = &Scenario{
	Name: "lifecycle-silent-server", Until: "2025-11-25",
	Waits: true, Reported: true,
	Says:  "The server never answers a tools/call, which the client times out after half a second.",
	Steps: Steps{ToConnect(), ToList("tools"), ToCall(scripted.AddNumbers, Object{"a": 5, "b": 3}).Within(500), ToList("tools").ID("list-after"), ToClose()},
	Server: func(server *scripted.Server) {
		server.On("tools/call", func(call *scripted.Call) { call.Leave() })
	},
}

// givenUp returns the call that the client has given up, as it tells.
func givenUp(t *T, client *Client) *Message {
	call := client.NeedCalls(scripted.AddNumbers)[0]
	if outcome, there := client.Outcome(client.CallOf(scripted.AddNumbers)); !there || !outcome.Failed() {
		t.Inconclusive(
			"the client does not report that a call timed out",
			`let the client cancel the call after its "timeout" in milliseconds, and write {"step":2,"outcome":"failed"} to standard output`,
		)
	}
	return call
}

func waiting() {
	It("continues after a request that is not answered in time", Verifies("lifecycle.errors.timeouts"), In(silent), func(t *T) {
		client := RunScenario(t)

		call := givenUp(t, client)
		after, there := client.Outcome("list-after")
		if before, reported := client.Outcome("list-tools"); there && after.Failed() && reported && !before.Failed() {
			client.Fail(call, Mismatch{
				Wanted: "that the client continues after this request timed out",
				Found:  "its next request failed: " + after.Error,
			})
		}
		if !t.Observed(len(client.RequestsAfter(call)) > 0) {
			client.Inconclusive("the client sent no further request after the timeout", "tools/list")
		}
	})

	It("cancels a request that is not answered in time", Verifies("lifecycle.timeouts.cancelled-by-clients"), In(silent), func(t *T) {
		client := RunScenario(t)

		call := givenUp(t, client)
		if t.Observed(client.CancellationOf(call) != nil) {
			return
		}
		client.NeedRequestAfter(call)
		client.Missing(call, Mismatch{Wanted: "notifications/cancelled with the id " + call.ID.String() + " when it timed out", Found: "none"})
	})
}
