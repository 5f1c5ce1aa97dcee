package wire

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcpconform/mcpconform/internal/conform"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/schema"
)

// LifecycleRules are the rules of the page basic/lifecycle.
func LifecycleRules() []conform.Rule {
	return []conform.Rule{
		{
			Text:         "begins with initialization",
			Requirements: []string{"lifecycle.initialization.first"},
			Judge:        saidBeforeInitialization,
		},
		{
			Text:         "sends no request but pings before the initialized notification",
			Requirements: []string{"lifecycle.requests.before-initialized"},
			Judge:        askedBeforeInitialized,
		},
		{
			Text:         "speaks the negotiated revision only",
			Requirements: []string{"lifecycle.version.respected"},
			Judge:        foreignMethods,
		},
		{
			Text:         "sends nothing of capabilities that it has not declared",
			Requirements: []string{"lifecycle.capabilities.own"},
			Judge:        undeclared(schema.Sender),
		},
		{
			Text:         "asks for nothing of capabilities that its peer has not declared",
			Requirements: []string{"lifecycle.capabilities.of-peer"},
			Judge:        undeclared(schema.Receiver),
		},
	}
}

// early are the notifications that may pass during initialization: logging is
// allowed, and the others belong to the initialize request or to a ping.
var early = []string{"notifications/message", "notifications/progress", "notifications/cancelled"}

// saidBeforeInitialization judges notifications before the answer to
// initialize; requests have a rule of their own.
func saidBeforeInitialization(conversation *conform.Conversation, sight *conform.Sight) {
	answered := slices.IndexFunc(conversation.Messages, func(said *conform.Said) bool {
		return isResponse(said) && said.Request != nil && said.Request.Method == "initialize"
	})
	if answered < 0 {
		answered = len(conversation.Messages)
	} else {
		sight.Saw()
	}
	for _, said := range conversation.Messages[:answered] {
		if !said.FromTarget(conversation.Leg) || said.Kind != jsonrpc.Notification || slices.Contains(early, said.Method) {
			continue
		}
		sight.Break(said, conform.Mismatch{
			Wanted: "nothing but pings and log messages before initialize is answered", Found: said.Method,
		})
	}
}

// askedBeforeInitialized looks at the requests of a server.
func askedBeforeInitialized(conversation *conform.Conversation, sight *conform.Sight) {
	if conversation.Role != conform.ServerRole {
		return
	}
	initialized := false
	for _, said := range conversation.Messages {
		switch {
		case !said.FromTarget(conversation.Leg):
			initialized = initialized || said.Method == "notifications/initialized"
		case isRequest(said) && said.Method != "ping":
			sight.Saw()
			if !initialized {
				sight.Break(said, conform.Mismatch{Wanted: "no request but pings before notifications/initialized", Found: said.Method})
			}
		}
	}
}

// foreignMethods finds methods that only another revision with a handshake has.
// Those of the other era need none and may pass on the same connection; those
// that no revision has are the target's own.
func foreignMethods(conversation *conform.Conversation, sight *conform.Sight) {
	judging := schemas(conversation)
	for _, said := range conversation.ByTarget() {
		known := judging[said.Index]
		if !isCall(said) || known == nil {
			continue
		}
		if _, here := known.Method(said.Method); here {
			sight.Saw()
			continue
		}
		if others := revisionsWith(said.Method); len(others) > 0 {
			sight.Saw()
			sight.Break(said, conform.Mismatch{
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
	return func(conversation *conform.Conversation, sight *conform.Sight) {
		target := party(conversation.Leg)
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
				if asksForTask(said) {
					needed = append(needed, method.TaskCapability)
				}
				for _, capability := range needed {
					if capability.Path == "" || capability.Of != declarer || !method.SentBy(target) {
						continue
					}
					sight.Saw()
					if !capability.DeclaredIn(declaredBy(conversation, capability.Declarer(target))) {
						sight.Break(said, conform.Mismatch{
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
func handshakeOf(conversation *conform.Conversation) *conform.Said {
	for _, said := range conversation.Messages {
		if isResponse(said) && said.Request != nil && said.Request.Method == "initialize" && said.ResultObject() != nil {
			return said
		}
	}
	return nil
}

func declaredBy(conversation *conform.Conversation, declarer schema.Party) any {
	if declarer == schema.Client {
		return conversation.ClientCapabilities
	}
	return conversation.ServerCapabilities
}
