package base

import (
	"cmp"
	"slices"

	"github.com/mcpconform/mcpconform/internal/lazy"
	"github.com/mcpconform/mcpconform/internal/mcp"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/rules/claims"
	"github.com/mcpconform/mcpconform/internal/rules/facts"
	"github.com/mcpconform/mcpconform/internal/rules/places"
	"github.com/mcpconform/mcpconform/schema"
)

// fieldRules are about what each request of the stateless era says of itself
// (2026-07-28, basic/index#meta).
func fieldRules() []rules.Rule {
	return []rules.Rule{
		{
			Text:     "sends protocolVersion and clientCapabilities in the _meta of each request",
			Verifies: rules.Verifies("base.fields.sent"),
			Judge: requestFields(func(meta places.Place) rules.Mismatch {
				return cmp.Or(places.WantedText(meta, mcp.MetaVersion), places.WantedObject(meta, mcp.MetaCapabilities))
			}),
		},
		{
			Text:     "sends clientInfo in the _meta of each request",
			Verifies: rules.Verifies("base.fields.client-info"),
			Judge:    requestFields(func(meta places.Place) rules.Mismatch { return places.WantedObject(meta, mcp.MetaClientInfo) }),
		},
	}
}

// requestFields judges the _meta of every request in the stateless era.
func requestFields(wrong func(meta places.Place) rules.Mismatch) rules.Judge {
	return rules.OfClient(func(conversation *rules.Conversation, reporter *rules.Reporter) {
		for _, message := range standaloneRequests(conversation) {
			reporter.Observe()
			meta, _ := places.ParamsOf(message).Member("_meta")
			if mismatch := wrong(meta); mismatch != (rules.Mismatch{}) {
				reporter.Violation(message, mismatch)
			}
		}
	})
}

// standaloneRequests returns the target's requests that belong to the stateless era:
// all but a handshake and what follows one that succeeded.
func standaloneRequests(conversation *rules.Conversation) []*rules.Message {
	spoken := facts.Negotiations(conversation)
	return slices.DeleteFunc(slices.Clone(conversation.ByTarget()), func(message *rules.Message) bool {
		return !rules.IsRequest(message) || message.Method == "initialize" ||
			!protocol.Has(spoken[message.Index], protocol.PerRequestMeta)
	})
}

// ofFields tells whether what the schema says of a request is judged by these rules:
// what it lacks of the fieldPlaces that each has.
func ofFields(violation schema.Violation) bool {
	return fieldPlaces.MatchString(claims.MemberPlace("", violation))
}

var fieldPlaces = lazy.MustCompile(`^/params(?:/_meta(?:/io\.modelcontextprotocol~1(?:protocolVersion|clientCapabilities))?)?$`)
