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
	"github.com/mcpconform/mcpconform/internal/transcript"
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
			Needs:    []transcript.Lack{transcript.Whole},
			Judge:    saidBeforeInitialization,
		},
		{
			Text:     "sends initialize alone, not in a batch",
			Verifies: rules.Verifies("lifecycle.initialize.alone"),
			Judge:    rules.OfClient(rules.Every(isInitialize, batched)),
		},
		{
			Text:     "sends no requests other than ping before notifications/initialized",
			Verifies: rules.Verifies("lifecycle.requests.before-initialized"),
			Needs:    []transcript.Lack{transcript.Whole},
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
			Judge:    introductions(func(params places.Place) rules.Mismatch { return places.WantedText(params, "protocolVersion") }),
		},
		{
			Text:     "sends its capabilities in initialize",
			Verifies: rules.Verifies("lifecycle.initialize.capabilities"),
			Judge:    introductions(func(params places.Place) rules.Mismatch { return places.WantedObject(params, "capabilities") }),
		},
		{
			Text:     "sends clientInfo in initialize",
			Verifies: rules.Verifies("lifecycle.initialize.client-info"),
			Judge: introductions(func(params places.Place) rules.Mismatch {
				info, _ := params.Member("clientInfo")
				return cmp.Or(places.WantedObject(params, "clientInfo"), places.WantedText(info, "name"), places.WantedText(info, "version"))
			}),
		},
		{
			Text:     "sends no requests other than ping before initialize is answered",
			Verifies: rules.Verifies("lifecycle.requests.before-answer"),
			Needs:    []transcript.Lack{transcript.Whole},
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
	return rules.Every(func(message *rules.Message) bool { return rules.IsRequest(message) && message.Method == "initialize" },
		func(message *rules.Message) rules.Mismatch { return wrong(places.ParamsOf(message)) })
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
	for _, message := range conversation.ByTarget() {
		begun := initialize != nil && initialize.Index <= message.Index
		if !rules.IsCall(message) || message.Index > answered || facts.Probes(message) {
			continue
		}
		reporter.Observe()
		switch {
		case begun && rules.IsRequest(message), message.Method == "ping", slices.Contains(early, message.Method):
		case begun:
			reporter.Violation(message, rules.Mismatch{Wanted: "only pings before initialize is answered", Found: message.Method})
		default:
			reporter.Violation(message, rules.Mismatch{Wanted: "initialize before anything else", Found: message.Method})
		}
	}
}

func askedBeforeAnswer(conversation *rules.Conversation, reporter *rules.Reporter) {
	initialize, answered := openings(conversation)
	if initialize == nil {
		return
	}
	for _, message := range conversation.ByTarget() {
		if !rules.IsRequest(message) || message.Index < initialize.Index || message.Method == "ping" || facts.Probes(message) {
			continue
		}
		reporter.Observe()
		if initialize.Index < message.Index && message.Index < answered && message.Method != "initialize" {
			reporter.Violation(message, rules.Mismatch{Wanted: "no request but pings before initialize is answered", Found: message.Method})
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
	for _, message := range conversation.ByTarget() {
		if rules.IsRequest(message) && message.Index > handshake.Index && message.Method != "ping" &&
			message.Method != "initialize" &&
			!facts.Probes(message) &&
			conversation.Complete {
			reporter.Violation(message, rules.Mismatch{
				Wanted: "notifications/initialized after the answer to initialize",
				Found:  message.Method + ", and never that",
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
	answered := slices.IndexFunc(conversation.Messages, func(message *rules.Message) bool {
		return rules.IsResponse(message) && message.Request != nil && message.Request.Method == "initialize"
	})
	if answered < 0 {
		answered = len(conversation.Messages)
	} else {
		reporter.Observe()
	}
	for _, message := range conversation.Messages[:answered] {
		if !message.FromTarget(conversation.Cell) || message.Kind != jsonrpc.Notification ||
			slices.Contains(early, message.Method) {
			continue
		}
		reporter.Violation(message, rules.Mismatch{Wanted: "only pings and log messages before initialize is answered", Found: message.Method})
	}
}

// askedBeforeInitialized looks at the requests of a server.
func askedBeforeInitialized(conversation *rules.Conversation, reporter *rules.Reporter) {
	if conversation.Role != protocol.ServerRole {
		return
	}
	initialized := false
	for _, message := range conversation.Messages {
		switch {
		case !message.FromTarget(conversation.Cell):
			initialized = initialized || message.Method == "notifications/initialized"
		case rules.IsRequest(message) && message.Method != "ping":
			reporter.Observe()
			if !initialized {
				reporter.Violation(message, rules.Mismatch{Wanted: "no request but pings before notifications/initialized", Found: message.Method})
			}
		}
	}
}

// foreignMethods finds methods that only another revision with a handshake has.
// Those of the other era need none and may pass on the same connection; those
// that no revision has are the target's own.
func foreignMethods(conversation *rules.Conversation, reporter *rules.Reporter) {
	judging := facts.Schemas(conversation)
	for _, message := range conversation.ByTarget() {
		known := judging[message.Index]
		if !rules.IsCall(message) || known == nil {
			continue
		}
		if _, here := known.Method(message.Method); here {
			reporter.Observe()
			continue
		}
		if others := revisionsWith(message.Method); len(others) > 0 {
			reporter.Observe()
			reporter.Violation(message, rules.Mismatch{
				Wanted: "a method of revision " + known.Revision(),
				Found:  fmt.Sprintf("%s, which is one of %s", message.Method, strings.Join(others, ", ")),
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
		for _, message := range conversation.ByTarget() {
			if message.Method == "notifications/message" {
				continue // the page about logging has a rule of its own
			}
			if known := judging[message.Index]; rules.IsCall(message) && known != nil && message.Index > handshake.Index {
				method, _ := known.Method(message.Method)
				needed := []schema.Capability{method.Capability}
				if tasks.AskedFor(message) && message.Method != "tools/call" { // the page about tasks has a sentence
					needed = append(needed, method.TaskCapability)
				}
				for _, capability := range needed {
					if capability.Path == "" || capability.Of != declarer || !method.SentBy(target) {
						continue
					}
					reporter.Observe()
					if !capability.DeclaredIn(facts.DeclaredBy(conversation, capability.Declarer(target))) {
						reporter.Violation(message, rules.Mismatch{
							Wanted: fmt.Sprintf("%s only if the %s declares %s", message.Method, capability.Declarer(target), capability.Path),
							Found:  message.Method + " without that",
						})
					}
				}
			}
		}
	}
}

func isInitialize(message *rules.Message) bool {
	return rules.IsRequest(message) && message.Method == "initialize"
}

func batched(message *rules.Message) rules.Mismatch {
	if message.Batch == nil {
		return rules.Mismatch{}
	}
	return rules.Mismatch{Wanted: "initialize outside of batches", Found: "a batch with initialize"}
}
