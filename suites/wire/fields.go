package wire

import (
	"cmp"
	"regexp"
	"slices"

	"github.com/mcpconform/mcpconform/internal/mcp"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/schema"
)

// fieldRules are about what each request of the stateless era says of itself
// (2026-07-28, basic/index#meta).
func fieldRules() []rules.Rule {
	return []rules.Rule{
		{
			Text:         "sends protocolVersion and clientCapabilities in the _meta of each request",
			Requirements: []string{"base.fields.sent"},
			Judge: requestFields(func(meta place) rules.Mismatch {
				return cmp.Or(wantedText(meta, mcp.MetaVersion), wantedObject(meta, mcp.MetaCapabilities))
			}),
		},
		{
			Text:         "sends clientInfo in the _meta of each request",
			Requirements: []string{"base.fields.client-info"},
			Judge: requestFields(func(meta place) rules.Mismatch {
				return wantedObject(meta, mcp.MetaClientInfo)
			}),
		},
	}
}

// requestFields judges the _meta of every request in the stateless era.
func requestFields(wrong func(meta place) rules.Mismatch) judge {
	return ofClient(func(conversation *rules.Conversation, reporter *rules.Reporter) {
		for _, said := range standaloneRequests(conversation) {
			reporter.Observe()
			meta, _ := paramsOf(said).member("_meta")
			if mismatch := wrong(meta); mismatch != (rules.Mismatch{}) {
				reporter.Violation(said, mismatch)
			}
		}
	})
}

// standaloneRequests returns the target's requests that belong to the stateless era:
// all but a handshake and what follows one that succeeded.
func standaloneRequests(conversation *rules.Conversation) []*rules.Message {
	spoken := negotiations(conversation)
	return slices.DeleteFunc(slices.Clone(conversation.ByTarget()), func(said *rules.Message) bool {
		return !isRequest(said) || said.Method == "initialize" || !protocol.Has(spoken[said.Index], protocol.PerRequestMeta)
	})
}

// ofFields tells whether what the schema says of a request is judged by these rules:
// what it lacks of the fields that each has.
func ofFields(violation schema.Violation) bool { return fields.MatchString(memberPlace("", violation)) }

var fields = regexp.MustCompile(`^/params(?:/_meta(?:/io\.modelcontextprotocol~1(?:protocolVersion|clientCapabilities))?)?$`)
