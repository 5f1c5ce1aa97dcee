package wire

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/schema"
)

// LifecycleRules are the rules of the page basic/lifecycle.
func LifecycleRules() []rules.Rule {
	return slices.Concat(lifecycleRules(), openingRules())
}

func lifecycleRules() []rules.Rule {
	return []rules.Rule{
		{
			Text:         "sends no other messages before initialize is answered",
			Requirements: []string{"lifecycle.initialization.first"},
			Judge:        saidBeforeInitialization,
		},
		{
			Text:         "sends no requests other than ping before notifications/initialized",
			Requirements: []string{"lifecycle.requests.before-initialized"},
			Judge:        askedBeforeInitialized,
		},
		{
			Text:         "sends only methods of the negotiated protocolVersion",
			Requirements: []string{"lifecycle.version.respected"},
			Judge:        foreignMethods,
		},
		{
			Text:         "sends no requests or notifications of capabilities that it has not declared",
			Requirements: []string{"lifecycle.capabilities.own"},
			Judge:        undeclared(schema.Sender),
		},
		{
			Text:         "sends no requests or notifications of capabilities that its peer has not declared",
			Requirements: []string{"lifecycle.capabilities.of-peer"},
			Judge:        undeclared(schema.Receiver),
		},
	}
}

// openingRules are about how a client opens a session.
func openingRules() []rules.Rule {
	return []rules.Rule{
		{
			Text:         "sends protocolVersion in initialize",
			Requirements: []string{"lifecycle.initialize.version"},
			Judge: introductions(func(params place) rules.Mismatch {
				return wantedText(params, "protocolVersion")
			}),
		},
		{
			Text:         "sends its capabilities in initialize",
			Requirements: []string{"lifecycle.initialize.capabilities"},
			Judge: introductions(func(params place) rules.Mismatch {
				return wantedObject(params, "capabilities")
			}),
		},
		{
			Text:         "sends clientInfo in initialize",
			Requirements: []string{"lifecycle.initialize.client-info"},
			Judge: introductions(func(params place) rules.Mismatch {
				info, _ := params.member("clientInfo")
				return cmp.Or(wantedObject(params, "clientInfo"), wantedText(info, "name"), wantedText(info, "version"))
			}),
		},
		{
			Text:         "sends no requests other than ping before initialize is answered",
			Requirements: []string{"lifecycle.requests.before-answer"},
			Judge:        ofClient(askedBeforeAnswer),
		},
		{
			Text:         "sends notifications/initialized after a successful initialize",
			Requirements: []string{"lifecycle.initialized.sent"},
			Judge:        ofClient(neverInitialized),
		},
	}
}

// introduced are the places of initialize that rules of their own judge.
var introduced = regexp.MustCompile(`^/params(?:/(?:protocolVersion|capabilities|clientInfo(?:/(?:name|version))?))?$`)

// introductions judges the params of every initialize.
func introductions(wrong func(params place) rules.Mismatch) judge {
	return every(func(said *rules.Message) bool { return isRequest(said) && said.Method == "initialize" },
		func(said *rules.Message) rules.Mismatch { return wrong(paramsOf(said)) })
}

// wantedText says what is wrong with a member that has to be a string.
func wantedText(object place, name string) rules.Mismatch {
	if member, _ := object.member(name); isText(member.value) {
		return rules.Mismatch{}
	}
	return rules.Mismatch{Wanted: fmt.Sprintf("a member %q that is a string", name), Found: shown(object.object(), name), Where: object.pointer}
}

func isText(value any) bool {
	_, text := value.(string)
	return text
}

// wantedObject says what is wrong with a member that has to be an object.
func wantedObject(object place, name string) rules.Mismatch {
	if member, _ := object.member(name); member.object() != nil {
		return rules.Mismatch{}
	}
	return rules.Mismatch{Wanted: fmt.Sprintf("a member %q that is an object", name), Found: shown(object.object(), name), Where: object.pointer}
}

// probes tells whether a client asks for the other era, which needs no handshake.
func probes(said *rules.Message) bool {
	revision, named := revisionOf(said)
	return isRequest(said) && (said.Method == "server/discover" || named && protocol.Has(revision, protocol.PerRequestMeta))
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
		if !isCall(said) || said.Index > answered || probes(said) {
			continue
		}
		reporter.Observe()
		switch {
		case begun && isRequest(said), said.Method == "ping", slices.Contains(early, said.Method):
		case begun:
			reporter.Violation(said, rules.Mismatch{Wanted: "nothing but pings before initialize is answered", Found: said.Method})
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
		if !isRequest(said) || said.Index < initialize.Index || said.Method == "ping" || probes(said) {
			continue
		}
		reporter.Observe()
		if initialize.Index < said.Index && said.Index < answered && said.Method != "initialize" {
			reporter.Violation(said, rules.Mismatch{Wanted: "no request but pings before initialize is answered", Found: said.Method})
		}
	}
}

// neverInitialized judges a client that works with the server: one that does not may
// have found that it cannot.
func neverInitialized(conversation *rules.Conversation, reporter *rules.Reporter) {
	handshake := handshakeOf(conversation)
	if handshake == nil {
		return
	}
	if len(conversation.Notifications("notifications/initialized")) > 0 {
		reporter.Observe()
		return
	}
	for _, said := range conversation.ByTarget() {
		if isRequest(said) && said.Index > handshake.Index && said.Method != "ping" && said.Method != "initialize" && !probes(said) && conversation.Complete {
			reporter.Violation(said, rules.Mismatch{Wanted: "notifications/initialized after the answer to initialize", Found: said.Method + ", and never that"})
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
		return isResponse(said) && said.Request != nil && said.Request.Method == "initialize"
	})
	if answered < 0 {
		answered = len(conversation.Messages)
	} else {
		reporter.Observe()
	}
	for _, said := range conversation.Messages[:answered] {
		if !said.FromTarget(conversation.Leg) || said.Kind != jsonrpc.Notification || slices.Contains(early, said.Method) {
			continue
		}
		reporter.Violation(said, rules.Mismatch{
			Wanted: "nothing but pings and log messages before initialize is answered", Found: said.Method,
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
		case isRequest(said) && said.Method != "ping":
			reporter.Observe()
			if !initialized {
				reporter.Violation(said, rules.Mismatch{Wanted: "no request but pings before notifications/initialized", Found: said.Method})
			}
		}
	}
}

// foreignMethods finds methods that only another revision with a handshake has.
// Those of the other era need none and may pass on the same connection; those
// that no revision has are the target's own.
func foreignMethods(conversation *rules.Conversation, reporter *rules.Reporter) {
	judging := schemas(conversation)
	for _, said := range conversation.ByTarget() {
		known := judging[said.Index]
		if !isCall(said) || known == nil {
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
		if err != nil || !hasHandshake(known) {
			continue
		}
		if _, here := known.Method(method); here {
			having = append(having, revision)
		}
	}
	return having
}

// undeclared finds messages for which the sender or the receiver would have
// had to declare a capability. Before the handshake nothing is declared; other
// rules judge what comes then.
func undeclared(declarer schema.Side) judge {
	return func(conversation *rules.Conversation, reporter *rules.Reporter) {
		target := conversation.Party()
		judging := schemas(conversation)
		handshake := handshakeOf(conversation)
		if handshake == nil {
			return
		}
		for _, said := range conversation.ByTarget() {
			if said.Method == "notifications/message" {
				continue // the page about logging has a rule of its own
			}
			if known := judging[said.Index]; isCall(said) && known != nil && said.Index > handshake.Index {
				method, _ := known.Method(said.Method)
				needed := []schema.Capability{method.Capability}
				if asksForTask(said) && said.Method != "tools/call" { // the page about tasks has a sentence
					needed = append(needed, method.TaskCapability)
				}
				for _, capability := range needed {
					if capability.Path == "" || capability.Of != declarer || !method.SentBy(target) {
						continue
					}
					reporter.Observe()
					if !capability.DeclaredIn(declaredBy(conversation, capability.Declarer(target))) {
						reporter.Violation(said, rules.Mismatch{
							Wanted: fmt.Sprintf("%s only if the %s declares %s", said.Method, capability.Declarer(target), capability.Path),
							Found:  said.Method + " without that",
						})
					}
				}
			}
		}
	}
}

// handshakeOf returns the successful answer to initialize, or nil.
func handshakeOf(conversation *rules.Conversation) *rules.Message {
	for _, said := range conversation.Messages {
		if isResponse(said) && said.Request != nil && said.Request.Method == "initialize" && said.ResultObject() != nil {
			return said
		}
	}
	return nil
}

func declaredBy(conversation *rules.Conversation, declarer protocol.Party) any {
	if declarer == protocol.Client {
		return conversation.ClientCapabilities
	}
	return conversation.ServerCapabilities
}
