package wire

import (
	"github.com/mcpconform/mcpconform/internal/conform"
)

// PatternRules are the rules of the page basic/patterns/index.
func PatternRules() []conform.Rule {
	return []conform.Rule{
		{
			Text:         "sends no requests of its own",
			Requirements: []string{"patterns.requests.none"},
			Judge: every(isMessage, func(said *conform.Said) conform.Mismatch {
				if !isRequest(said) {
					return conform.Mismatch{}
				}
				return conform.Mismatch{
					Wanted: "responses and notifications only; what is asked of the client is in inputRequests",
					Found:  "a request of " + conform.Show(said.Method), Where: "/method",
				}
			}),
		},
	}
}
