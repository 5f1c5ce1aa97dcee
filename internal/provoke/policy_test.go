package provoke_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/provoke"
)

func TestCall(t *testing.T) {
	t.Parallel()
	arguments := map[string]any{"a": 1}
	want := map[string]any{"name": "say", "arguments": arguments, "_meta": map[string]any{"progressToken": "p"}}
	if difference := cmp.Diff(want, (provoke.Provocation{Tool: "say", Arguments: arguments}).Reporting("p")); difference != "" {
		t.Error(difference)
	}
	want = map[string]any{"name": "say", "arguments": map[string]any{}}
	if difference := cmp.Diff(want, (provoke.Provocation{Tool: "say"}).Call()); difference != "" {
		t.Error(difference)
	}
}

// The config's comes first, then what fits the revision, in the order of the files.
func TestFind(t *testing.T) {
	t.Parallel()
	given := map[string]provoke.Provocation{"text": {Tool: "say"}}
	never := provoke.Never{Names: []string{"text"}}
	for name, test := range map[string]struct {
		policy   provoke.Policy
		kind     string
		revision string
		lists    string
		tool     string
	}{
		"a known tool":                {provoke.Policy{Calls: provoke.CallReadOnly}, "text", "2025-11-25", "echo", "echo"},
		"the first of two":            {provoke.Policy{Calls: provoke.CallReadOnly}, "text", "2025-11-25", "echo test_simple_text", "test_simple_text"},
		"none that is listed":         {provoke.Policy{Calls: provoke.CallReadOnly}, "text", "2025-11-25", "speak", ""},
		"the config's":                {provoke.Policy{Calls: provoke.CallReadOnly, Provocations: given}, "text", "2025-11-25", "echo", "say"},
		"the config's, when listed":   {provoke.Policy{Calls: provoke.CallListed, Provocations: given}, "text", "2025-11-25", "echo", "say"},
		"no known one, when listed":   {provoke.Policy{Calls: provoke.CallListed}, "text", "2025-11-25", "echo", ""},
		"no call at all":              {provoke.Policy{Calls: provoke.CallNone, Provocations: given}, "text", "2025-11-25", "echo", ""},
		"what it never does":          {provoke.Policy{Calls: provoke.CallAll, Provocations: given, Never: never}, "text", "2025-11-25", "echo", ""},
		"a tool that needs a feature": {provoke.Policy{Calls: provoke.CallAll}, "roots", "2026-07-28", "test_list_roots test_input_required_result_list_roots", "test_input_required_result_list_roots"},
		"a revision without it":       {provoke.Policy{Calls: provoke.CallAll}, "roots", "2025-11-25", "test_list_roots test_input_required_result_list_roots", "test_list_roots"},
	} {
		has := func(feature protocol.Feature) bool { return protocol.Has(test.revision, feature) }
		lists := func(tool string, _ map[string]any) bool { return slices.Contains(strings.Fields(test.lists), tool) }
		found, there := test.policy.Find(test.kind, has, lists)
		if found.Tool != test.tool || there != (test.tool != "") {
			t.Errorf("%s: found %q, %t; wanted %q", name, found.Tool, there, test.tool)
		}
	}
}

// namesake is a tool that has no more than its name of a known one.
var namesake = map[string]any{"name": "echo", "inputSchema": map[string]any{
	"type": "object", "required": []any{"text"}, "properties": map[string]any{"text": map[string]any{"type": "string"}},
}}

func TestMayCall(t *testing.T) {
	t.Parallel()
	tools := []map[string]any{
		{"name": "own"}, namesake, {"name": "reader", "annotations": map[string]any{"readOnlyHint": true}}, {"name": "test_simple_text"},
		{"name": "argued"}, {"name": "provoking"}, {"name": "writer", "annotations": map[string]any{"readOnlyHint": false}},
	}
	for calls, want := range map[provoke.Calls]string{
		provoke.CallNone:     "",
		provoke.CallListed:   "argued provoking",
		provoke.CallReadOnly: "reader test_simple_text argued provoking",
		provoke.CallAll:      "own echo reader test_simple_text argued provoking writer",
	} {
		policy := provoke.Policy{
			Calls: calls, Arguments: map[string]map[string]any{"argued": {}},
			Provocations: map[string]provoke.Provocation{"text": {Tool: "provoking"}},
		}
		var may []string
		for _, tool := range tools {
			if policy.MayCall(tool) {
				may = append(may, tool["name"].(string))
			}
		}
		if strings.Join(may, " ") != want {
			t.Errorf("%s may call %q, wanted %q", calls, may, want)
		}
	}
}

func TestArgumentsOf(t *testing.T) {
	t.Parallel()
	policy := provoke.Policy{Arguments: map[string]map[string]any{"given": {"a": 1}, "test_slow": {}}}
	if _, given := policy.ArgumentsOf(namesake); given {
		t.Error("a namesake of a known tool is given its arguments")
	}
	for tool, want := range map[string]string{
		"given":            `{"a":1} true`,
		"test_slow":        `{} true`,
		"echo":             `{"message":"hello"} true`,
		"test_simple_text": `null false`,
		"unknown":          `null false`,
	} {
		arguments, given := policy.ArgumentsOf(map[string]any{"name": tool})
		text, err := json.Marshal(arguments)
		if found := string(text) + map[bool]string{true: " true", false: " false"}[given]; err != nil || found != want {
			t.Errorf("%s: %s, wanted %s, %v", tool, found, want, err)
		}
	}
}
