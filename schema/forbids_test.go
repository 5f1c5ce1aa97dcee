package schema_test

import (
	"testing"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/schema"
)

func TestForbids(t *testing.T) {
	t.Parallel()
	const input = `{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`
	wrong := map[string]any{"not": "a number"}
	for _, test := range []struct {
		schema    string
		arguments map[string]any
		forbidden bool
	}{
		{input, map[string]any{"n": 1}, false},
		{input, map[string]any{}, true},
		{input, nil, true},
		{input, map[string]any{"n": wrong}, true},
		{`{"type":"object"}`, nil, false},
		{`{"type":"object"}`, map[string]any{"n": wrong}, false},
		{`{"type":"object","properties":{"n":{"type":["integer","object"]}}}`, map[string]any{"n": wrong}, false},
		{`{"type":"object","$schema":"https://example.com/own","required":["n"]}`, nil, false}, // who knows
		{`{"type":"object","required":7}`, nil, false},                                         // no schema at all
	} {
		document, _ := jsonrpc.Decode([]byte(test.schema))
		if got := schema.Forbids(document, test.arguments); got != test.forbidden {
			t.Errorf("%s forbids %v: %t", test.schema, test.arguments, got)
		}
	}
}
