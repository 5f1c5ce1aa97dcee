package stdio

import (
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	. "github.com/mcpconform/mcpconform/internal/check"
	. "github.com/mcpconform/mcpconform/internal/clientrun"
	"github.com/mcpconform/mcpconform/internal/mcp"
	"github.com/mcpconform/mcpconform/internal/protocol"
	. "github.com/mcpconform/mcpconform/internal/scenario"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// ClientChecks registers the checks of a target client.
func ClientChecks() {
	Describe("stdio", func() {
		noise()
		givingUp()
		leaving()
		restarting()
	})
}

// numbers are arguments of the tool that every scripted server has.
var numbers = Object{"a": 5, "b": 3}

// flood is how much the server writes to its standard error at once, in bytes: more than the
// buffer of a pipe.
const flood = 100 << 10

// noisy is a server that writes to its standard error at its start and before each answer.
var noisy = &Scenario{
	Name:  "stdio-noisy-server",
	Since: "2025-11-25",
	Over:  protocol.Stdio,
	Says:  "The server writes to its standard error when it starts, and before each answer; before the answer to a call it writes 100 KiB.",
	Steps: Steps{ToConnect(), ToList("tools"), ToCall(scripted.AddNumbers, numbers), ToList("tools"), ToClose()},
	Server: func(server *scripted.Server) {
		server.Instructions = "This server writes much to its standard error."
		write := func(session *scripted.Session) {
			_ = session.Spawned().
				WriteStderr("ERROR: something failed\nfatal: nothing works\n")
			// or the client is gone
		}
		server.OnStart(write)
		server.On("tools/call", func(call *scripted.Call) {
			_ = call.Session.Spawned().WriteStderr(strings.Repeat("ERROR: nothing works\n", flood/20))
			call.Answer(scripted.Text("flooded"))
		})
		server.OnResult(func(call *scripted.Call, _ Object) { write(call.Session) })
	},
}

func noise() {
	It("continues when the server writes 100 KiB to its standard error", Verifies("transports.stdio.stderr.harmless"), In(noisy), func(t *T) {
		client := RunScenario(t)

		call := client.NeedCalls(scripted.AddNumbers)[0]
		client.Continues(AnswerTo(call), "100 KiB on the standard error of the server")
	})

	It("continues when the server writes to its standard error", Verifies("transports.stdio.stderr.harmless"), In(noisy), func(t *T) {
		client := RunScenario(t)

		requests := client.Requests()
		if len(requests) == 0 {
			client.InconclusiveWithout("tools/list")
		}
		for _, request := range requests { // the first ones may be of a process that was only looked at
			if answer := AnswerTo(request); answer != nil && t.Observed(len(client.RequestsAfter(answer)) > 0) {
				return
			}
		}
		last := requests[len(requests)-1]
		if answer := AnswerTo(last); answer != nil {
			last = answer
		}
		client.Continues(last, "lines on the standard error of the server")
	})
}

// abandoned is a call that the client gives up.
var abandoned = &Scenario{
	Name: "stdio-call-given-up", Since: "2026-07-28", Over: protocol.Stdio,
	Says: "The server does not answer a call, and the client cancels it.",
	Steps: Steps{
		ToConnect(),
		ToList("tools"),
		ToCall(scripted.AddNumbers, numbers).As("call"),
		ToList("prompts"),
		ToCancel("call"),
		ToList("tools"),
		ToClose(),
	},
	Server: func(server *scripted.Server) {
		server.On("tools/call", func(call *scripted.Call) { call.Leave() })
		server.On("prompts/list", func(call *scripted.Call) {
			call.Session.Until(0, func(received scripted.Received) bool { return received.Method == "tools/call" }) // or it is called late
			call.Good()
		})
	},
}

func givingUp() {
	It("sends notifications/cancelled for a request that it gives up",
		Verifies("transports.stdio.cancel.sent", "cancellation.sent.stdio"), In(abandoned), func(t *T) {
			client := RunScenario(t)

			call := client.NeedCalls(scripted.AddNumbers)[0]
			if t.Observed(client.CancellationOf(call) != nil) {
				return
			}
			client.NeedCancelled("call", "cancel-call")
			client.NeedRequestAfter(call)
			client.Missing(call, Mismatch{Wanted: "notifications/cancelled with the id " + call.ID.String(), Found: "none"})
		})
}

// leavingTime is how long a server takes to exit when its input ends: longer than a
// client that does not wait.
const leavingTime = 100 * time.Millisecond

// parting is a server that takes a moment to exit.
var parting = &Scenario{
	Name: "stdio-parting-server", Over: protocol.Stdio,
	Says:  "The server takes 100 ms to exit after its input ends or a signal arrives.",
	Steps: Meeting.Steps,
	Server: func(server *scripted.Server) {
		exit := func(session *scripted.Session) {
			time.AfterFunc(leavingTime, func() { _ = session.Spawned().Exit(0) }) // or it is gone
		}
		server.OnInputEnd(exit)
		server.OnSignal(exit)
	},
}

// patience is how long a client may take to end a server that does not exit by itself.
const patience = 15 * time.Second

// stubborn is a server that has to be killed.
var stubborn = &Scenario{
	Name: "stdio-stubborn-server", Over: protocol.Stdio,
	Waits: true,
	Says:  "The server does not exit when its input ends, nor after a signal to terminate.",
	Steps: Meeting.Steps,
	Server: func(server *scripted.Server) {
		server.OnInputEnd(func(session *scripted.Session) { session.Linger(patience) })
		server.OnSignal(func(*scripted.Session) {})
	},
}

// ending is how a client parts with the server that it asked last.
type ending struct {
	inputEnd *transcript.Event
	signals  []transcript.Event // that come before the server has exited
	orphaned *transcript.Event  // the client ended, and the server still ran
}

func endingOf(client *Client) ending {
	asked := client.Requests()
	if len(asked) == 0 {
		client.InconclusiveWithout("tools/list")
	}
	var d ending
	for _, event := range client.Events() {
		if event.Connection != asked[len(asked)-1].Event.Connection {
			continue
		}
		switch {
		case event.Kind == transcript.End && event.From == protocol.Client && d.inputEnd == nil:
			d.inputEnd = &event
		case event.Kind == transcript.Signal:
			d.signals = append(d.signals, event)
		case event.Incident == transcript.ServerLeftRunning:
			d.orphaned = &event
		}
	}
	switch _, reported := client.Outcome("close"); {
	case client.Exit.Ended && len(d.signals) == 0:
		client.Inconclusive("the client itself had to be terminated", "tools/list")
	case client.Reports() && !reported && len(d.signals) == 0:
		client.Inconclusive("the client does not report that it closed the connection", "")
	}
	return d
}

// overtaking is how much earlier than the end of the input, which came before, a signal
// may be noticed.
const overtaking = 50 * time.Millisecond

func leaving() {
	It("closes the server's standard input before it terminates the server in any other way",
		Verifies("lifecycle.shutdown.closes-input", "transports.stdio.shutdown.initiated"), In(parting), func(t *T) {
			client := RunScenario(t)

			parted := endingOf(client)
			if len(parted.signals) > 0 &&
				(parted.inputEnd == nil || parted.inputEnd.At.Sub(parted.signals[0].At) > overtaking) {
				client.MissingAfter(parted.signals[0], Mismatch{ // both may be noticed late
					Wanted: "the end of the server's input first", Found: "a signal: " + parted.signals[0].Note,
				})
			}
			if !t.Observed(parted.inputEnd != nil) {
				client.Inconclusive("the client did nothing to terminate its server", "tools/list")
			}
		})

	It("waits for the server to exit after closing its standard input",
		Verifies("lifecycle.shutdown.waits", "transports.stdio.shutdown.initiated"), In(parting), func(t *T) {
			client := RunScenario(t)

			parted := endingOf(client)
			if len(parted.signals) > 0 {
				client.FailEvent(parted.signals[0], Mismatch{
					Wanted: "some time to exit, more than " + leavingTime.String(),
					Found:  "a signal at once: " + parted.signals[0].Note,
				})
			}
			if !t.Observed(parted.inputEnd != nil) {
				client.Inconclusive("the client did nothing to terminate its server", "tools/list")
			}
		})

	endingByForce()
}

func endingByForce() {
	It("terminates a server that does not exit after its standard input is closed",
		Verifies("lifecycle.shutdown.waits", "transports.stdio.shutdown.initiated"), In(stubborn), func(t *T) {
			client := RunScenario(t)

			parted := endingOf(client)
			if len(parted.signals) == 0 && parted.orphaned != nil {
				client.FailEvent(*parted.orphaned, Mismatch{Wanted: "a signal to the server, which does not exit", Found: parted.orphaned.Note})
			}
			if !t.Observed(len(parted.signals) > 0) {
				client.Inconclusive("the client did nothing to terminate its server", "tools/list")
			}
		})

	It("kills a server that does not exit after a request to terminate",
		Verifies("lifecycle.shutdown.kills", "transports.stdio.shutdown.initiated"), In(stubborn), func(t *T) {
			client := RunScenario(t)

			parted := endingOf(client)
			if t.Observed(len(parted.signals) > 0 && parted.signals[len(parted.signals)-1].Incident == transcript.ServerKilled && !client.Exit.Ended) {
				return
			}
			if parted.orphaned == nil {
				client.Inconclusive("the client itself had to be terminated", "tools/list")
			}
			client.FailEvent(
				*parted.orphaned,
				Mismatch{Wanted: "that the server is killed, since it does not exit otherwise", Found: parted.orphaned.Note},
			)
		})
}

// crashing is a server that exits after its first call.
var crashing = &Scenario{
	Name: "stdio-crashing-server", Since: "2026-07-28", Over: protocol.Stdio,
	Says: "The server exits with status 1 after it answered the first call.",
	Steps: Steps{
		ToConnect(), ToList("tools"),
		ToListen(Object{"toolsListChanged": true, "resourceSubscriptions": []any{scripted.ResourceURI}}),
		ToCall(scripted.AddNumbers, numbers),
		ToList("tools").ID(afterCrash[0]), ToList("tools").ID(afterCrash[1]), ToList("tools"), ToClose(),
	},
	Server: func(server *scripted.Server) {
		var crashed atomic.Pointer[scripted.Session]
		server.On("tools/call", func(call *scripted.Call) {
			if call.Nth > 1 {
				call.Good()
				return
			}
			crashed.Store(call.Session)
			call.Good()
			_ = call.Session.Spawned().Exit(1) // or it is gone
		})
		server.On("tools/list", func(call *scripted.Call) {
			gone := crashed.Load()
			if gone == call.Session {
				return // it is about to exit
			}
			if gone != nil { // who subscribes anew has time for it
				call.Session.Until(0, func(received scripted.Received) bool { return received.Method == "subscriptions/listen" })
			}
			call.Good()
		})
	},
}

// afterCrash are the steps behind the crash.
var afterCrash = []string{"first-after-crash", "second-after-crash"}

// restarted returns the first request to the process that takes the place of the one
// that crashed; nil when there is none.
func restarted(client *Client) *Message {
	call := client.NeedCalls(scripted.AddNumbers)[0]
	for _, request := range client.Requests() {
		if request.Event.Connection != call.Event.Connection && request.Event.At.After(call.Event.At) {
			return request
		}
	}
	return nil
}

func restarting() {
	It("restarts a server that exits unexpectedly", Verifies("transports.stdio.restarted"), In(crashing), func(t *T) {
		client := RunScenario(t)

		if t.Observed(restarted(client) != nil) {
			return
		}
		for _, step := range afterCrash {
			if client.FailureOf(step) == "" {
				client.Inconclusive("the client sent no request after the server exited", "tools/list")
			}
		}
		client.Missing(client.Calls(scripted.AddNumbers)[0], Mismatch{
			Wanted: "that the server is restarted for the requests after the call",
			Found:  "no new process, and failing requests",
		})
	})

	It("sends subscriptions/listen again after it has restarted the server", Verifies("subscriptions.renewed"), In(crashing), func(t *T) {
		client := RunScenario(t)

		listens := client.NeedRequests("subscriptions/listen")
		again := restarted(client)
		if again == nil {
			client.Inconclusive("the client did not start the server again", "tools/list")
		}
		before, after := Object{}, Object{}
		for _, listen := range listens {
			filter := mcp.Object(listen.ParamsObject(), "notifications")
			if listen.Event.Connection == again.Event.Connection {
				again = listen
				maps.Copy(after, filter)
			} else {
				maps.Copy(before, filter)
			}
		}
		if t.Observed(len(after) > 0) {
			for _, wish := range slices.Sorted(maps.Keys(before)) {
				if _, renewed := after[wish]; !renewed {
					client.Fail(again, Mismatch{
						Wanted: "a subscription with " + wish + ", as to the process before",
						Found:  Show(after),
						Where:  "/params/notifications",
					})
				}
			}
			return
		}
		for _, list := range client.Requests("tools/list") {
			if list.Event.Connection == again.Event.Connection {
				again = list
				break
			}
		}
		client.NeedRequestAfter(AnswerTo(again)) // for which the server has waited
		client.Missing(again, Mismatch{Wanted: "subscriptions/listen to the new process, too", Found: "none"})
	})
}
