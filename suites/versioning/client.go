package versioning

import (
	"net/http"
	"sync/atomic"

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
	Describe("Versioning", func() {
		agreeing()
		probing()
	})
}

// strangers is a server that speaks only what is yet to come.
var strangers = &Scenario{
	Name: "versioning-nothing-in-common", Since: protocol.First(protocol.Discovery), Speaks: distant,
	Says:  "The server rejects every request, since it supports no released revision.",
	Steps: Meeting.Steps,
}

// older is a server that refuses requests without a handshake, and says so.
var older = &Scenario{
	Name:    "versioning-older-in-common",
	Since:   protocol.First(protocol.Discovery),
	Speaks:  protocol.Last(protocol.Handshake),
	Unnamed: true,
	Says:    "The server lists only the revision 2025-11-25 as supported, and accepts initialize.",
	Steps:   Meeting.Steps,
	Server: func(server *scripted.Server) {
		server.On("server/discover", func(call *scripted.Call) {
			requested := mcp.Text(call.Meta(), mcp.MetaVersion)
			call.RefuseVersion(requested, protocol.Last(protocol.Handshake))
		})
	},
}

// Handshaking is a server of the handshake era: it knows no method but those of then.
var Handshaking = &Scenario{
	Name:    "versioning-handshake-server",
	Since:   protocol.First(protocol.Discovery),
	Speaks:  protocol.Last(protocol.Handshake),
	Unnamed: true,
	Says:    "The server does not implement server/discover, and accepts initialize.",
	Steps:   Meeting.Steps,
	Server:  func(server *scripted.Server) { refuseDiscovery(server, jsonrpc.MethodNotFound, "Method not found") },
}

// forgetful is one whose session is over before the client has done with it.
var forgetful = &Scenario{
	Name:    "versioning-forgetful-server",
	Since:   protocol.First(protocol.Discovery),
	Speaks:  protocol.Last(protocol.Handshake),
	Unnamed: true,
	Over:    protocol.HTTP,
	Says:    "The server rejects requests without a session with HTTP 400 and an error whose id is null, accepts initialize, and ends its first session after tools/list.",
	Steps:   Steps{ToConnect(), ToList("tools"), ToList("tools"), ToCall(scripted.AddNumbers, Object{"a": 5, "b": 3}), ToClose()},
	Server: func(server *scripted.Server) {
		server.On("server/discover", func(call *scripted.Call) {
			refusal := jsonrpc.NewError(jsonrpc.NullID, notInitialized, "Bad Request: Server not initialized")
			call.Exchange.Answer(http.StatusBadRequest, nil, refusal, "")
		})
		var ended atomic.Bool
		server.On("tools/list", func(call *scripted.Call) {
			if !ended.Swap(true) {
				call.Session.Expire()
			}
			call.Good()
		})
	},
}

// refusedSession is the session id of a refusal, which is that of no session.
const refusedSession = "session-of-a-refusal"

// muttering is a server that refuses by an error which is about no request, and gives the
// refusal a session id. Servers that begin a session before they look at a request do so.
var muttering = &Scenario{
	Name:    "versioning-server-in-its-own-words",
	Since:   protocol.First(protocol.Discovery),
	Speaks:  protocol.Last(protocol.Handshake),
	Unnamed: true,
	Over:    protocol.HTTP,
	Says:    "The server rejects requests without a session with HTTP 400, an error with an unknown id, and an Mcp-Session-Id that it does not accept afterwards, and accepts initialize.",
	Steps:   Meeting.Steps,
	Server: func(server *scripted.Server) {
		server.On("server/discover", func(call *scripted.Call) {
			refusal := jsonrpc.NewError(jsonrpc.StringID("server-error"), jsonrpc.InvalidRequest, "Bad Request: Missing session ID")
			header := map[string]string{scripted.SessionHeader: refusedSession}
			call.Exchange.Answer(http.StatusBadRequest, header, refusal, "the error has the id of no request")
		})
		server.OnExchange(func(exchange *scripted.Exchange) bool {
			if exchange.Request.Header.Get(scripted.SessionHeader) != refusedSession {
				return false
			}
			exchange.Answer(http.StatusNotFound, nil, nil, "")
			return true
		})
	},
}

// wordless is a server that refuses without a word.
var wordless = &Scenario{
	Name:    "versioning-server-without-words",
	Since:   protocol.First(protocol.Discovery),
	Speaks:  protocol.Last(protocol.Handshake),
	Unnamed: true,
	Over:    protocol.HTTP,
	Says:    "The server rejects requests without a session with HTTP 400 and an empty body, and accepts initialize.",
	Steps:   Meeting.Steps,
	Server: func(server *scripted.Server) {
		server.On("server/discover", func(call *scripted.Call) { call.Exchange.Answer(http.StatusBadRequest, nil, nil, "") })
	},
}

// polite is one that takes requests without a session, and answers all that it does not know
// by a status that refuses nothing.
var polite = &Scenario{
	Name:    "versioning-polite-server",
	Since:   protocol.First(protocol.Discovery),
	Speaks:  protocol.Last(protocol.Handshake),
	Unnamed: true,
	Over:    protocol.HTTP,
	Says:    "The server answers server/discover with HTTP 200 and the error -32601, and accepts initialize.",
	Steps:   Meeting.Steps,
	Server: func(server *scripted.Server) {
		server.On("server/discover", func(call *scripted.Call) {
			refusal := jsonrpc.NewError(call.Message.ID, jsonrpc.MethodNotFound, "Method not found")
			call.Exchange.Answer(http.StatusOK, nil, refusal, "")
		})
	},
}

// handshaken is a client that is told to begin with a handshake.
var handshaken = &Scenario{
	Name:   "versioning-handshake-client",
	Since:  protocol.First(protocol.Discovery),
	Speaks: protocol.Last(protocol.Handshake),
	Named:  protocol.Last(protocol.Handshake),
	Says:   "The server supports only the revision 2025-11-25, and the steps ask the client to request it.",
	Steps:  Meeting.Steps,
}

// Balking is one that refuses what comes before initialize by a code of its own.
var Balking = &Scenario{
	Name:    "versioning-Balking-server",
	Since:   protocol.First(protocol.Discovery),
	Speaks:  protocol.Last(protocol.Handshake),
	Unnamed: true,
	Says:    "The server rejects requests before initialize with the error -32000, over HTTP with the status 400.",
	Steps:   Meeting.Steps,
	Server:  func(server *scripted.Server) { refuseDiscovery(server, notInitialized, "Server not initialized") },
}

// notInitialized is a code that servers of the handshake era have for it.
const notInitialized = -32000

// refuseDiscovery makes a server refuse server/discover as those of the handshake era
// do: over HTTP, for want of a session, with the status 400.
func refuseDiscovery(server *scripted.Server, code int64, message string) {
	server.On("server/discover", func(call *scripted.Call) {
		call.RefuseWith(http.StatusBadRequest, code, message, nil)
	})
}

// refused returns the first answer of the server that refuses a request.
func refused(client *Client) *Message {
	for _, request := range client.Requests() {
		if answer := AnswerTo(request); answer != nil {
			if _, isError := answer.Error(); isError {
				return answer
			}
		}
	}
	client.Inconclusive("the client sent no request that the server could reject", "server/discover")
	return nil
}

// FallsBack tells whether a client makes a handshake with a server that knows nothing
// else. The client is nil when it did not come.
func FallsBack(client *Client) bool {
	return client != nil && len(client.Requests("initialize")) > 0
}

// Probe returns the first request of a client, which asks as clients of this revision do.
func Probe(client *Client) *Message {
	requests := client.Requests()
	if len(requests) == 0 || requests[0].Method == "initialize" {
		client.Inconclusive("the client sent no request of this revision", "server/discover")
	}
	return requests[0]
}

// DemandFallback wants a client to make a handshake, as it does with a server that says
// plainly that it knows nothing else, or wants a handshake first; otherwise tells what is
// missing after a message.
func DemandFallback(t *T, client *Client, after *Message, otherwise Mismatch) {
	switch {
	case t.Observed(FallsBack(client)):
	case FallsBack(AlsoRun(t, Handshaking)), FallsBack(AlsoRun(t, Balking)):
		client.Missing(after, otherwise)
	default:
		t.NotApplicable("the client speaks no revision with a handshake")
	}
}

func agreeing() {
	It("reports an error if it supports no protocol version in data.supported of -32022",
		Verifies("versioning.unsupported.retried"), In(strangers), func(t *T) {
			client := RunScenario(t)

			refusal := refused(client)
			// Who may invoke anything inline has told its user, and asks what it is told to ask next.
			reported := refusal.Request.Method != "server/discover" && client.Breakdown() != ""
			for _, request := range client.RequestsAfter(refusal) {
				if version := request.Meta()[mcp.MetaVersion]; !reported && version == protocol.First(protocol.Discovery) &&
					request.Method != "server/discover" {
					client.Fail(request, Mismatch{
						Wanted: "nothing more at " + protocol.First(protocol.Discovery) + ", which the server rejected",
						Found:  request.Method,
					})
				}
			}
			if client.Exit.Ended {
				client.Inconclusive("the client had to be terminated", "server/discover")
			}
			if t.Observed(client.Breakdown() != "") {
				return // which its user sees
			}
			client.NeedResult("connect")
			client.Fail(refusal, Mismatch{Wanted: "that the client reports an error", Found: "a connection, as it reports"})
		})

	It("falls back to an older protocol version in data.supported of -32022", Verifies("versioning.unsupported.retried"), In(older), func(t *T) {
		client := RunScenario(t)

		refusal := refused(client)
		switch {
		case t.Observed(FallsBack(client)):
		case FallsBack(AlsoRun(t, Handshaking)), FallsBack(AlsoRun(t, handshaken)):
			if client.ConnectFailure() == "" {
				client.NeedResult("connect")
			}
			client.Missing(refusal, Mismatch{
				Wanted: "initialize, since the server supports " + protocol.Last(protocol.Handshake) + " and the client, too",
				Found:  "no such request",
				Where:  "/error/data/supported",
			})
		default:
			t.NotApplicable("the client speaks no revision with a handshake")
		}
	})
}

func probing() {
	discoveringFirst()

	// fallsBack is a check of a refusal that is like another one, after which clients fall back.
	fallsBack := func(after, requirement string, scenario *Scenario, like string) {
		It("falls back to initialize after "+after, Verifies(requirement), In(scenario), func(t *T) {
			client := RunScenario(t)

			DemandFallback(t, client, Probe(client), Mismatch{Wanted: "initialize, as after " + like, Found: "no such request"})
		})
	}
	const inspected, noneOfOurs = "transports.http.older.inspected",
		"an error with the id of the request: neither is of this revision"
	for _, one := range refusals {
		It("falls back to initialize after "+one.words,
			Verifies("transports.stdio.probe.any-error"), In(one.scenario), NeedsTransport(protocol.Stdio), func(t *T) {
				client := RunScenario(t)

				DemandFallback(t, client, refused(client), Mismatch{
					Wanted: "initialize, as after any other error", Found: "no such request", Where: "/error",
				})
			})
		It("falls back to initialize after HTTP 400 with "+one.words,
			Verifies(inspected), In(one.scenario), NeedsTransport(protocol.HTTP), func(t *T) {
				client := RunScenario(t)

				DemandFallback(t, client, Probe(client), Mismatch{Wanted: "initialize: this error is not of this revision", Found: "no such request"})
			})
	}
	It("falls back to initialize after HTTP 400 with the error -32601",
		Verifies(inspected), In(Handshaking), NeedsTransport(protocol.HTTP), func(t *T) {
			client := RunScenario(t)

			DemandFallback(t, client, Probe(client), Mismatch{Wanted: "initialize, as after other errors", Found: "no such request"})
		})
	for _, one := range otherStatuses {
		fallsBack(one.words, "versioning.eras.others", one.scenario, "HTTP 400")
	}
	fallsBack("HTTP 400 with an error whose id is null", inspected, forgetful, noneOfOurs)
	fallsBack("HTTP 400 with an error whose id is that of no request", inspected, muttering, noneOfOurs)
	fallsBack("HTTP 400 with an empty body", inspected, wordless, "an error in the body")
	fallsBack("the error -32601 with HTTP 200", "versioning.eras.others", polite, "the same error with HTTP 400")

	rememberingEras()
}

func rememberingEras() {
	It("falls back to initialize without the Mcp-Session-Id of an HTTP 400", Verifies("transports.http.older.inspected"), In(muttering), func(t *T) {
		client := RunScenario(t)

		handshakes := client.Requests("initialize")
		if len(handshakes) == 0 {
			t.NotApplicable("the client does not fall back to initialize")
		}
		var attached *Message
		for _, initialize := range handshakes {
			head, there := client.HeadOf(initialize)
			if there && t.Observed(head.HTTP.Header.Get(scripted.SessionHeader) == "") {
				return
			}
			attached = initialize
		}
		client.Fail(attached, Mismatch{
			Wanted: "initialize without a session id: a session begins with the answer to it",
			Found:  Show(refusedSession) + ", from the response to server/discover",
			Where:  "header Mcp-Session-Id",
		})
	})

	It("sends no server/discover to a server that is known to need initialize", Verifies("versioning.eras.remembered"), In(forgetful), func(t *T) {
		client := RunScenario(t)

		handshakes := client.Requests("initialize")
		if len(handshakes) == 0 {
			t.NotApplicable("the client speaks no revision with a handshake")
		}
		if len(handshakes) < 2 {
			client.Inconclusive("the client began no new session after the server ended the first", "tools/list")
		}
		if len(handshakes) > 2 || client.ByHand() {
			client.Inconclusive("it is unknown whether one client began all sessions", "initialize")
		}
		client.Judging(handshakes[1])
		for _, probe := range client.Requests("server/discover") {
			if probe.Event.At.After(handshakes[0].Event.At) {
				client.Fail(probe, Mismatch{Wanted: "initialize at once, since the client knows that the server needs it", Found: probe.Method})
			}
		}
	})
}

func discoveringFirst() {
	It(
		"sends server/discover as its first request",
		Verifies("transports.stdio.probe.anyway", "versioning.eras.probed"),
		In(Meeting),
		NeedsTransport(protocol.Stdio),
		func(t *T) { demandProbe(RunScenario(t)) },
	)

	It("sends server/discover first if it supports initialize, too",
		Verifies("transports.stdio.probe.first", "discover.probe"), In(Handshaking), NeedsTransport(protocol.Stdio), func(t *T) {
			client := RunScenario(t)

			if !FallsBack(client) {
				t.NotApplicable("the client speaks no revision with a handshake")
			}
			demandProbe(client)
		})

	It("falls back to initialize after any error code for server/discover",
		Verifies("transports.stdio.probe.any-error"), In(Balking), NeedsTransport(protocol.Stdio), func(t *T) {
			client := RunScenario(t)

			refusal := refused(client)
			control := AlsoRun(t, Handshaking)
			switch {
			case !FallsBack(client) && !FallsBack(control):
				t.NotApplicable("the client speaks no revision with a handshake")
			case !t.Observed(FallsBack(client)):
				client.Missing(refusal, Mismatch{
					Wanted: "initialize, as after the code " + Show(jsonrpc.MethodNotFound),
					Found:  "no such request",
					Where:  "/error/code",
				})
			case control != nil && !FallsBack(control):
				client.Missing(refusal, Mismatch{
					Wanted: "that the client falls back after every code",
					Found:  "fallback after this one, and not after " + Show(jsonrpc.MethodNotFound),
				})
			}
		})
}

// demandProbe demands that a client asks first what the server speaks, at the revision
// that it prefers.
func demandProbe(client *Client) {
	requests := client.Requests()
	if len(requests) == 0 {
		client.InconclusiveWithout("server/discover")
	}
	first := requests[0]
	client.Judging(first)
	if version, _ := first.Meta()[mcp.MetaVersion].(string); first.Method != "server/discover" ||
		version != protocol.First(protocol.Discovery) {
		client.Fail(first, Mismatch{
			Wanted: "server/discover at " + protocol.First(protocol.Discovery),
			Found:  first.Method + " at " + Show(first.Meta()[mcp.MetaVersion]),
		})
	}
}
