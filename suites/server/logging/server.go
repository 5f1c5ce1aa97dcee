// Package logging checks the page server/utilities/logging.
package logging

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/mcp"
	. "github.com/mcpconform/mcpconform/internal/offer"
	"github.com/mcpconform/mcpconform/internal/protocol"
	. "github.com/mcpconform/mcpconform/internal/refusal"
	"github.com/mcpconform/mcpconform/internal/scripted"
	. "github.com/mcpconform/mcpconform/internal/session"
)

// levels are those of RFC 5424, the least severe first.
var levels = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

const (
	logMessage = "notifications/message"
	// noLevel is one that does not exist.
	noLevel = "loudest"
)

// ServerChecks registers the checks of a target server.
func ServerChecks() {
	Describe("Logging", func() {
		undeclared()
		settingLevels()
		askingForMessages()
		concurrentLevels()
		unknownLevels()
	})
}

// undeclared checks that a server without logging logs nothing to its client, although
// that asks for all messages.
func undeclared() {
	It("sends no notifications/message, even at level debug, unless it declares logging", Verifies("logging.capability.declared"), func(t *T) {
		logging, known := Provocable(t, "logging")
		switch {
		case Declares(t, "logging"):
			t.NotApplicable("the server declares logging")
		case !known:
			t.NotApplicable("no known tool logs messages")
		}
		NeedDeclarations(t)
		server := FreshSession(t)
		server.ListenForChanges()
		call := logging.Call()
		if t.Has(protocol.LogLevelInMeta) {
			call = atLevel("debug", call)
		} else {
			server.Call("logging/setLevel", Object{"level": "debug"}, ToBeRefused("the server does not declare logging")).May()
		}
		mark := server.Mark()

		server.Call("tools/call", call).Need()
		for _, request := range HarmlessRequests(t) { // others judge the answers
			params := request.Params
			if t.Has(protocol.LogLevelInMeta) {
				params = atLevel("debug", params)
			}
			server.Call(request.Method, params).May()
		}

		server.BarrierOnAllStreams()
		t.DemandNone("no log messages from a server that does not declare logging", server.Sent(mark, Notification(logMessage)))
	})
}

// settingLevels checks what the handshake era has: one level for a session.
func settingLevels() {
	It("accepts logging/setLevel with each of the eight levels", Verifies("logging.set-level.answered"), NeedsCapability("logging"), func(t *T) {
		server := FreshSession(t)

		for _, level := range levels {
			reply := server.Call("logging/setLevel", Object{"level": level}).Must()

			t.Expect(reply).To(BeResult())
		}
	})

	// The rule about log messages below the level judges the call.
	It("keeps the level that logging/setLevel sets for one session from others", Verifies("logging.level.respected"),
		NeedsCapability("logging"), NeedsProvocation("logging"), AtRevisionsWith(protocol.Handshake),
		func(t *T) {
			server, other := FreshSession(t), UnusedSession(t)
			server.ListenForChanges()
			server.Call("logging/setLevel", Object{"level": "emergency"}).Need().Result()
			other.Call("logging/setLevel", Object{"level": "debug"}).Need().Result()
			mark := server.Mark()

			id := jsonrpc.StringID("mcpconform-beside-another-level")
			call := server.Call("tools/call", Provoking(t, "logging").Call(), WithID(id))
			call.Need()

			server.BarrierOnAllStreams()
			for _, received := range server.Sent(mark, Notification(logMessage)) {
				params := mcp.Object(received.Params())
				t.Demand(params["level"] == "emergency", "no log message below the level of the session", Show(params))
			}
			before := other.Mark()
			other.ListenForChanges()
			provoke(t, other, "debug")
			if len(other.Sent(before, Notification(logMessage))) == 0 {
				t.NotApplicable("the tool logs nothing at any level")
			}
			t.Observe()
		})

	eachLevel()

	levelsOfStreams()

	levelsAfterwards()
}

func eachLevel() {
	It("sends no notifications/message below any of the eight levels", Verifies("logging.level.respected"),
		NeedsCapability("logging"), NeedsProvocation("logging"), AtRevisionsWith(protocol.Handshake), noneBelowAnyLevel)
}

// levelsAtOnce is how many levels are tried side by side where it shows to which a message
// belongs: a tool that logs takes its time.
const levelsAtOnce = 4

func noneBelowAnyLevel(t *T) {
	logged, first := 0, FreshSession(t)
	first.ListenForChanges() // messages might go astray there
	switch {
	case !t.Transport().Exchanges():
		logged = belowLevels(t, first)
	case t.Has(protocol.Handshake): // each session has a level
		servers := []*Server{first}
		for len(servers) < levelsAtOnce {
			servers = append(servers, FreshSession(t))
			servers[len(servers)-1].ListenForChanges()
		}
		logged = belowLevels(t, servers...)
	default: // each call has a stream
		for least := 0; least < len(levels); least += levelsAtOnce {
			logged += belowLevelsOfCalls(t, first, least)
		}
	}
	if logged == 0 {
		t.NotApplicable("the tool logs nothing at any level")
	}
}

// belowLevels tries all levels, as many at once as there are sessions, and returns how much
// was logged.
func belowLevels(t *T, servers ...*Server) (logged int) {
	for first := 0; first < len(levels); first += len(servers) {
		marks, calls := make([]int, len(servers)), make([]*Answer, len(servers))
		for at, server := range servers {
			call := Provoking(t, "logging").Call()
			if t.Has(protocol.LogLevelInMeta) {
				call = atLevel(levels[first+at], call)
			} else {
				server.Call("logging/setLevel", Object{"level": levels[first+at]}).Need().Result()
				server.BarrierOnAllStreams() // what was logged before has come
			}
			marks[at], calls[at] = server.Mark(), server.Call("tools/call", call)
		}
		for at, server := range servers {
			needLogged(t, calls[at])
			server.BarrierOnAllStreams()
			for _, received := range server.Sent(marks[at], Notification(logMessage)) {
				demandNotBelow(t, received, first+at)
				logged++
			}
		}
	}
	return logged
}

// belowLevelsOfCalls tries some levels, from one on, in calls at once. What comes on no stream
// of them must not be below the least.
func belowLevelsOfCalls(t *T, server *Server, least int) (logged int) {
	mark := server.Mark()
	levelOf, calls := map[string]int{}, make([]*Answer, levelsAtOnce)
	for at := range calls {
		calls[at] = server.Call("tools/call", atLevel(levels[least+at], Provoking(t, "logging").Call()))
	}
	for at, call := range calls {
		needLogged(t, call)
		levelOf[call.Delivery.Stream] = least + at
	}
	server.BarrierOnAllStreams()
	for _, received := range server.Sent(mark, Notification(logMessage)) {
		level, isOfCall := levelOf[received.Stream]
		if !isOfCall {
			level = least
		}
		demandNotBelow(t, received, level)
		logged++
	}
	return logged
}

func levelsOfStreams() {
	It(
		"keeps the level that logging/setLevel sets on a stream that is opened later",
		Verifies("logging.level.respected"),
		NeedsCapability("logging"),
		NeedsTransport(protocol.HTTP),
		AtRevisionsWith(protocol.Handshake),
		func(t *T) {
			server := FreshSession(t)
			server.Call("logging/setLevel", Object{"level": "emergency"}).Need().Result()
			mark := server.Mark()

			if _, err := server.Listen(t); err != nil {
				t.NotApplicable("the server offers no stream: " + err.Error())
			}

			server.BarrierOnAllStreams()
			for _, received := range server.Sent(mark, Notification(logMessage)) {
				params := mcp.Object(received.Params())
				t.Demand(params["level"] == "emergency", "no log message below the level of the session", Show(params))
			}
			t.Observe()
		},
	)
}

func levelsAfterwards() {
	It("keeps the level of the session after it rejected an unknown one", Verifies("logging.level.respected"),
		NeedsCapability("logging"), NeedsProvocation("logging"), AtRevisionsWith(protocol.Handshake),
		func(t *T) {
			server := FreshSession(t)
			server.ListenForChanges()
			before := server.Mark()
			provoke(t, server, levels[0])
			server.BarrierOnAllStreams()
			if len(server.Sent(before, Notification(logMessage))) == 0 {
				t.NotApplicable("the tool logs nothing at any level")
			}
			server.Call("logging/setLevel", Object{"level": "emergency"}).Need().Result()
			reply := server.Call("logging/setLevel", Object{"level": noLevel}, Illegal("sets an unknown level")).Must()
			if !reply.Refuses() {
				t.NotApplicable("the server accepts an unknown level")
			}
			server.BarrierOnAllStreams()
			mark := server.Mark()

			server.Call("tools/call", Provoking(t, "logging").Call()).Need()

			server.BarrierOnAllStreams()
			for _, received := range server.Sent(mark, Notification(logMessage)) {
				params := mcp.Object(received.Params())
				t.Demand(params["level"] == "emergency", "no log message below emergency", Show(params))
			}
			t.Observe()
		})

	// The rule about log messages below the level judges both calls.
	It("sends notifications/message once logging/setLevel allows its level",
		Verifies("logging.message.sent"), NeedsCapability("logging"), NeedsProvocation("logging"), func(t *T) {
			server := FreshSession(t)
			server.ListenForChanges()
			provoke(t, server, "emergency")
			mark := server.Mark()

			provoke(t, server, "info")

			server.Until(mark, logMessage, Notification(logMessage))
		})
}

// askingForMessages checks what the stateless era has: a level for a request.
func askingForMessages() {
	It("accepts requests with each of the eight levels in io.modelcontextprotocol/logLevel",
		Verifies("logging.level.accepted"), NeedsCapability("logging"), func(t *T) {
			server := Session(t)

			for _, level := range levels {
				reply := server.Call(BarrierMethod(t), atLevel(level, nil)).Must()

				t.Expect(reply).To(BeResult())
			}
		})

	It("sends no notifications/message below any of the eight levels in io.modelcontextprotocol/logLevel", Verifies("logging.level.respected"),
		NeedsCapability("logging"), NeedsProvocation("logging"), AtRevisionsWith(protocol.LogLevelInMeta), noneBelowAnyLevel)

	// The rule about log messages below the level judges the first two calls.
	It("sends no notifications/message for a tools/call without io.modelcontextprotocol/logLevel",
		Verifies("logging.message.requested"), NeedsCapability("logging"), NeedsProvocation("logging"), func(t *T) {
			server := FreshSession(t)
			server.ListenForChanges() // messages might go astray there
			provoke(t, server, "emergency")
			before := server.Mark()
			provoke(t, server, "debug") // this is for one request
			server.BarrierOnAllStreams()
			if len(server.Sent(before, Notification(logMessage))) == 0 {
				t.Inconclusive("the tool for logging logs nothing for a request with the logLevel debug",
					"name one that does in mcpconform.yaml: provocations: {logging: {tool: NAME}}")
			}
			mark := server.Mark()

			provoke(t, server, "")
			server.BarrierOnAllStreams()

			t.DemandNone("no log message for a request without "+mcp.MetaLogLevel, server.Sent(mark, Notification(logMessage)))
		})
}

// callsAtOnce is how many calls are under way at once, of which every other one is quiet.
const callsAtOnce = 8

// concurrentLevels checks that each request has a level of its own while others are under
// way. Over stdio nothing tells to which of them a log message belongs.
func concurrentLevels() {
	It(
		"sends no notifications/message for a tools/call without io.modelcontextprotocol/logLevel beside others with it",
		Verifies("logging.message.requested"),
		NeedsCapability("logging"),
		NeedsProvocation("logging"),
		NeedsTransport(protocol.HTTP),
		func(t *T) {
			server := FreshSession(t)
			levelOf := map[*Answer]string{}
			for turn := range callsAtOnce {
				level := []string{"debug", "", "emergency", ""}[turn%4]
				id := jsonrpc.StringID(fmt.Sprintf("mcpconform-level-%d", turn))
				call := server.Call("tools/call", atLevel(level, Provoking(t, "logging").Call()), WithID(id))
				levelOf[call] = level
			}
			for call := range levelOf {
				call.Need()
			}

			logged := false
			for call, level := range levelOf {
				said := server.Sent(call.Mark, func(received scripted.Received) bool {
					return Notification(logMessage)(received) && received.Stream == call.Delivery.Stream
				})
				logged = logged || len(said) > 0
				if level == "" {
					t.DemandNone("no log message for a request without "+mcp.MetaLogLevel, said)
				} // the rule about log messages below the level judges the others
			}
			if !logged {
				t.Inconclusive("no call had log messages on its stream",
					"name a tool that logs in mcpconform.yaml: provocations: {logging: {tool: NAME}}")
			}
		},
	)
}

// unknownLevels checks what both eras have.
func unknownLevels() {
	It("rejects an unknown log level with -32602", Verifies("logging.invalid-level.code"), NeedsCapability("logging"), func(t *T) {
		server := FreshSession(t)
		asking := func(level string) Request {
			if t.Has(protocol.LogLevelInMeta) {
				return Request{Method: BarrierMethod(t), Params: atLevel(level, nil), Name: level}
			}
			return Request{Method: "logging/setLevel", Params: Object{"level": level}, Name: level}
		}

		for _, level := range []string{noLevel, strings.ToUpper(levels[1])} {
			reply := CallWrong(t, server, asking(level), asking(levels[0]))

			t.Expect(reply).To(BeJSONRPCError(jsonrpc.InvalidParams))
		}
	})
}

// atLevel returns the params of a request that asks for log messages of a level
// and above; of one that asks for none, when it is "".
func atLevel(level string, params Object) Object {
	if level == "" {
		return params
	}
	asking := Object{"_meta": Object{mcp.MetaLogLevel: level}}
	maps.Copy(asking, params)
	return asking
}

// provoke calls the tool that logs, with a level asked for in the way of the era.
func provoke(t *T, server *Server, level string) {
	call := Provoking(t, "logging").Call()
	if t.Has(protocol.LogLevelInMeta) {
		call = atLevel(level, call)
	} else {
		server.Call("logging/setLevel", Object{"level": level}).Need().Result()
	}
	needLogged(t, server.Call("tools/call", call))
}

// needLogged waits for the end of the tool that logs, which is no error.
func needLogged(t *T, call *Answer) {
	if call.Need().Result()["isError"] == true {
		t.Inconclusive("the tool for logging ended in an error", "make sure that it logs a message at level info or above")
	}
}

// demandNotBelow wants a log message that is not below the level of a place in the list.
func demandNotBelow(t *T, received scripted.Received, least int) {
	params := mcp.Object(received.Params())
	found := mcp.Text(params, "level")
	t.Demand(!slices.Contains(levels[:least], found), "no log message below "+levels[least], Show(params))
}
