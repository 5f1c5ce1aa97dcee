package lifecycle

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/rules/facts"
	"github.com/mcpconform/mcpconform/internal/rules/places"
	"github.com/mcpconform/mcpconform/internal/rules/tasks"
	"github.com/mcpconform/mcpconform/schema"
)

// Rules are the rules of the page basic/lifecycle.
func Rules() []rules.Rule {
	return slices.Concat(lifecycleRules(), openingRules())
}

func lifecycleRules() []rules.Rule {
	return []rules.Rule{
		{
			Text:     "sends no other messages before initialize is answered",
			Verifies: rules.Verifies("lifecycle.initialization.first"),
			Judge:    saidBeforeInitialization,
		},
		{
			Text:     "sends no requests other than ping before notifications/initialized",
			Verifies: rules.Verifies("lifecycle.requests.before-initialized"),
			Judge:    askedBeforeInitialized,
		},
		{
			Text:     "sends only methods of the negotiated protocolVersion",
			Verifies: rules.Verifies("lifecycle.version.respected"),
			Judge:    foreignMethods,
		},
		{
			Text:     "sends no requests or notifications of capabilities that it has not declared",
			Verifies: rules.Verifies("lifecycle.capabilities.own"),
			Judge:    undeclaredMessages(schema.Sender),
		},
		{
			Text:     "sends no requests or notifications of capabilities that its peer has not declared",
			Verifies: rules.Verifies("lifecycle.capabilities.of-peer"),
			Judge:    undeclaredMessages(schema.Receiver),
		},
	}
}

// openingRules are about how a client opens a session.
func openingRules() []rules.Rule {
	return []rules.Rule{
		{
			Text:     "sends protocolVersion in initialize",
			Verifies: rules.Verifies("lifecycle.initialize.version"),
			Judge: introductions(func(params places.Place) rules.Mismatch {
				return places.WantedText(params, "protocolVersion")
			}),
		},
		{
			Text:     "sends its capabilities in initialize",
			Verifies: rules.Verifies("lifecycle.initialize.capabilities"),
			Judge: introductions(func(params places.Place) rules.Mismatch {
				return places.WantedObject(params, "capabilities")
			}),
		},
		{
			Text:     "sends clientInfo in initialize",
			Verifies: rules.Verifies("lifecycle.initialize.client-info"),
			Judge: introductions(func(params places.Place) rules.Mismatch {
				info, _ := params.Member("clientInfo")
				return cmp.Or(
					places.WantedObject(params, "clientInfo"),
					places.WantedText(info, "name"),
					places.WantedText(info, "version"),
				)
			}),
		},
		{
			Text:     "sends no requests other than ping before initialize is answered",
			Verifies: rules.Verifies("lifecycle.requests.before-answer"),
			Judge:    rules.OfClient(askedBeforeAnswer),
		},
		{
			Text:     "sends notifications/initialized after a successful initialize",
			Verifies: rules.Verifies("lifecycle.initialized.sent"),
			Judge:    rules.OfClient(neverInitialized),
		},
	}
}

// introductions judges the params of every initialize.
func introductions(wrong func(params places.Place) rules.Mismatch) rules.Judge {
	return rules.Every(func(said *rules.Message) bool { return rules.IsRequest(said) && said.Method == "initialize" },
		func(said *rules.Message) rules.Mismatch { return wrong(places.ParamsOf(said)) })
}

// openings returns the first initialize of a client and the position of its answer,
// that of the end when there is none.
func openings(conversation *rules.Conversation) (initialize *rules.Message, answered int) {
	answered = len(conversation.Messages)
	all := conversation.Requests("initialize")
	if len(all) == 0 {
		return nil, answered
	}
	if answers := all[0].Answers; len(answers) > 0 {
		answered = answers[0].Index
	}
	return all[0], answered
}

// saidBeforeInitialize judges what a client says before it asks for initialization,
// and what it announces before the answer; requests until then have a rule of their
// own.
func saidBeforeInitialize(conversation *rules.Conversation, reporter *rules.Reporter) {
	initialize, answered := openings(conversation)
	for _, said := range conversation.ByTarget() {
		begun := initialize != nil && initialize.Index <= said.Index
		if !rules.IsCall(said) || said.Index > answered || facts.Probes(said) {
			continue
		}
		reporter.Observe()
		switch {
		case begun && rules.IsRequest(said), said.Method == "ping", slices.Contains(early, said.Method):
		case begun:
			reporter.Violation(said, rules.Mismatch{Wanted: "only pings before initialize is answered", Found: said.Method})
		default:
			reporter.Violation(said, rules.Mismatch{Wanted: "initialize before anything else", Found: said.Method})
		}
	}
}

func askedBeforeAnswer(conversation *rules.Conversation, reporter *rules.Reporter) {
	initialize, answered := openings(conversation)
	if initialize == nil {
		return
	}
	for _, said := range conversation.ByTarget() {
		if !rules.IsRequest(said) || said.Index < initialize.Index || said.Method == "ping" || facts.Probes(said) {
			continue
		}
		reporter.Observe()
		if initialize.Index < said.Index && said.Index < answered && said.Method != "initialize" {
			reporter.Violation(
				said,
				rules.Mismatch{Wanted: "no request but pings before initialize is answered", Found: said.Method},
			)
		}
	}
}

// neverInitialized judges a client that works with the server: one that does not may
// have found that it cannot.
func neverInitialized(conversation *rules.Conversation, reporter *rules.Reporter) {
	handshake := facts.HandshakeOf(conversation)
	if handshake == nil {
		return
	}
	if len(conversation.Notifications("notifications/initialized")) > 0 {
		reporter.Observe()
		return
	}
	for _, said := range conversation.ByTarget() {
		if rules.IsRequest(said) && said.Index > handshake.Index && said.Method != "ping" &&
			said.Method != "initialize" &&
			!facts.Probes(said) &&
			conversation.Complete {
			reporter.Violation(said, rules.Mismatch{
				Wanted: "notifications/initialized after the answer to initialize",
				Found:  said.Method + ", and never that",
			})
			return
		}
	}
}

// early are the notifications that may pass during initialization: logging is
// allowed, and the others belong to the initialize request or to a ping.
var early = []string{"notifications/message", "notifications/progress", "notifications/cancelled"}

// saidBeforeInitialization judges notifications before the answer to
// initialize; requests have a rule of their own.
func saidBeforeInitialization(conversation *rules.Conversation, reporter *rules.Reporter) {
	if conversation.Role == protocol.ClientRole {
		saidBeforeInitialize(conversation, reporter)
		return
	}
	answered := slices.IndexFunc(conversation.Messages, func(said *rules.Message) bool {
		return rules.IsResponse(said) && said.Request != nil && said.Request.Method == "initialize"
	})
	if answered < 0 {
		answered = len(conversation.Messages)
	} else {
		reporter.Observe()
	}
	for _, said := range conversation.Messages[:answered] {
		if !said.FromTarget(conversation.Leg) || said.Kind != jsonrpc.Notification ||
			slices.Contains(early, said.Method) {
			continue
		}
		reporter.Violation(said, rules.Mismatch{
			Wanted: "only pings and log messages before initialize is answered", Found: said.Method,
		})
	}
}

// askedBeforeInitialized looks at the requests of a server.
func askedBeforeInitialized(conversation *rules.Conversation, reporter *rules.Reporter) {
	if conversation.Role != protocol.ServerRole {
		return
	}
	initialized := false
	for _, said := range conversation.Messages {
		switch {
		case !said.FromTarget(conversation.Leg):
			initialized = initialized || said.Method == "notifications/initialized"
		case rules.IsRequest(said) && said.Method != "ping":
			reporter.Observe()
			if !initialized {
				reporter.Violation(
					said,
					rules.Mismatch{Wanted: "no request but pings before notifications/initialized", Found: said.Method},
				)
			}
		}
	}
}

// foreignMethods finds methods that only another revision with a handshake has.
// Those of the other era need none and may pass on the same connection; those
// that no revision has are the target's own.
func foreignMethods(conversation *rules.Conversation, reporter *rules.Reporter) {
	judging := facts.Schemas(conversation)
	for _, said := range conversation.ByTarget() {
		known := judging[said.Index]
		if !rules.IsCall(said) || known == nil {
			continue
		}
		if _, here := known.Method(said.Method); here {
			reporter.Observe()
			continue
		}
		if others := revisionsWith(said.Method); len(others) > 0 {
			reporter.Observe()
			reporter.Violation(said, rules.Mismatch{
				Wanted: "a method of revision " + known.Revision(),
				Found:  fmt.Sprintf("%s, which is one of %s", said.Method, strings.Join(others, ", ")),
				Where:  "/method",
			})
		}
	}
}

func revisionsWith(method string) []string {
	var having []string
	for _, revision := range schema.Revisions() {
		known, err := schema.For(revision)
		if err != nil || !facts.HasHandshake(known) {
			continue
		}
		if _, here := known.Method(method); here {
			having = append(having, revision)
		}
	}
	return having
}

// undeclaredMessages finds messages for which the sender or the receiver would have
// had to declare a capability. Before the handshake nothing is declared; other
// rules judge what comes then.
func undeclaredMessages(declarer schema.Side) rules.Judge {
	return func(conversation *rules.Conversation, reporter *rules.Reporter) {
		target := conversation.Party()
		judging := facts.Schemas(conversation)
		handshake := facts.HandshakeOf(conversation)
		if handshake == nil {
			return
		}
		for _, said := range conversation.ByTarget() {
			if said.Method == "notifications/message" {
				continue // the page about logging has a rule of its own
			}
			if known := judging[said.Index]; rules.IsCall(said) && known != nil && said.Index > handshake.Index {
				method, _ := known.Method(said.Method)
				needed := []schema.Capability{method.Capability}
				if tasks.AskedFor(said) && said.Method != "tools/call" { // the page about tasks has a sentence
					needed = append(needed, method.TaskCapability)
				}
				for _, capability := range needed {
					if capability.Path == "" || capability.Of != declarer || !method.SentBy(target) {
						continue
					}
					reporter.Observe()
					if !capability.DeclaredIn(facts.DeclaredBy(conversation, capability.Declarer(target))) {
						reporter.Violation(said, rules.Mismatch{
							Wanted: fmt.Sprintf(
								"%s only if the %s declares %s",
								said.Method,
								capability.Declarer(target),
								capability.Path,
							),
							Found: said.Method + " without that",
						})
					}
				}
			}
		}
	}
}
