package base

import (
	"github.com/mcpconform/mcpconform/internal/excerpt"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
)

// batchRules are about batches, which 2025-03-26 alone has (basic/index#batching).
func batchRules() []rules.Rule {
	return []rules.Rule{
		{
			Text:     "sends no empty batch",
			Verifies: rules.Verifies("base.batches.filled"),
			Judge: rules.Every(isBatch, func(batch *rules.Message) rules.Mismatch {
				if len(jsonrpc.Elements(batch.Raw, 1)) > 0 {
					return rules.Mismatch{}
				}
				return rules.Mismatch{Wanted: "one message or more", Found: "an empty batch: " + excerpt.Short(batch.Raw)}
			}),
		},
		{Text: "answers the requests of a batch in one batch", Verifies: rules.Verifies("base.batches.together"), Role: protocol.ServerRole, Judge: answeredTogether},
	}
}

func isBatch(message *rules.Message) bool { return message.Kind == jsonrpc.Batch }

// answeredTogether leaves out event streams, on which responses may come one by one.
func answeredTogether(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, response := range conversation.ByTarget() {
		ofBatch := response.Kind == jsonrpc.Response && response.Request != nil && response.Request.Batch != nil
		if !ofBatch || response.Event.SSE != nil {
			continue
		}
		reporter.Observe()
		if response.Batch == nil {
			reporter.Violation(response, rules.Mismatch{
				Wanted: "a batch with the responses to the batch", Found: "a response of its own: " + excerpt.Short(response.Raw),
			})
		}
	}
}
