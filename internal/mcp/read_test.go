package mcp

import "testing"

func TestRead(t *testing.T) {
	t.Parallel()
	result := map[string]any{
		"tools": []any{map[string]any{"name": "a", "execution": map[string]any{"taskSupport": "optional"}}, "b", nil},
		"text":  "x",
	}
	tools := Objects(result, "tools")
	if len(tools) != 3 || Text(tools[0], "name") != "a" || tools[1] != nil || tools[2] != nil {
		t.Errorf("reads the tools %v", tools)
	}
	if Text(tools[0], "execution", "taskSupport") != "optional" || Object(result)["text"] != "x" || Value(result, "text") != "x" {
		t.Error("reads another value than there is")
	}
	for _, of := range []any{nil, "x", 3, []any{}, map[string]any{"a": "b"}, map[string]any{"a": nil}} {
		if Object(of, "a") != nil || List(of, "a") != nil || len(Objects(of, "a")) != 0 || Text(of, "a", "b") != "" || Value(of, "a", "b") != nil {
			t.Errorf("reads something of %v", of)
		}
	}
}
