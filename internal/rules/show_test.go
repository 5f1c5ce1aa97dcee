package rules_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/mcpconform/mcpconform/internal/rules"
)

func TestShow(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 1<<20)
	for name, test := range map[string]struct {
		value       any
		begins, end string
	}{
		"a text":           {"a<b>\n", `"a<b>\n"`, `"`},
		"an object":        {map[string]any{"b": json.Number("1.50"), "a": []any{nil, true}}, `{"a":[null,true],"b":1.50}`, "}"},
		"a long text":      {strings.Repeat("a", 400), `"aaa`, "a… (402 bytes)"},
		"many numbers":     {slices.Repeat([]any{json.Number("7")}, 5000), `[7,7`, "(10001 bytes)"},
		"a huge text":      {long, `"aaa`, "a… (some 1024 KiB)"},
		"a huge number":    {json.Number(strings.Repeat("9", 1<<20)), `"999`, "9… (some 1024 KiB)"},
		"a huge name":      {map[string]any{long: true}, `{"aaa`, "a… (some 1024 KiB)"},
		"a huge member":    {map[string]any{"a": json.Number("7"), "b": long, "c": true}, `{"a":7,"b":"aaa`, "a… (some 1024 KiB)"},
		"many elements":    {[]any{long[:200_000], long, long}, `["aaa`, "a… (some 2243 KiB)"},
		"a list of itself": {[]any{[]any{[]any{long}}}, `[[["aaa`, "a… (some 1024 KiB)"},
	} {
		shown := rules.Show(test.value)
		if !strings.HasPrefix(shown, test.begins) || !strings.HasSuffix(shown, test.end) || len(shown) > 400 {
			t.Errorf("%s is shown as %s", name, shown)
		}
	}
}
