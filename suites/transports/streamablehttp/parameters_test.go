package streamablehttp

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpconform/mcpconform/internal/transport"
)

// tool has parameters that headers repeat: at the root, inside an object, and one that
// no header can have.
func tool(t *testing.T) map[string]any {
	t.Helper()
	var read map[string]any
	text := `{"name":"a","inputSchema":{"type":"object","properties":{
		"region":{"type":"string","minLength":1,"x-mcp-header":"Region"},
		"flag":{"const":true,"x-mcp-header":"Flag"},
		"place":{"type":"object","required":["floor"],"properties":{"floor":{"type":"integer","minimum":3,"maximum":3,"x-mcp-header":"Floor"}}},
		"list":{"type":"array","x-mcp-header":"List"},
		"plain":{"type":"string"}}}}`
	if err := json.Unmarshal([]byte(text), &read); err != nil {
		t.Fatal(err)
	}
	return read
}

func TestMirroredBy(t *testing.T) {
	t.Parallel()
	type found struct{ Header, Kind, Text, Other string }
	var all []found
	for _, one := range mirroredBy(tool(t), map[string]any{"region": "us-west1"}) {
		all = append(all, found{one.header, one.kind, one.text, one.other()})
	}
	want := []found{
		{"Mcp-Param-Flag", "boolean", "true", "false"},
		{"Mcp-Param-Floor", "integer", "3", "31"},
		{"Mcp-Param-Region", "string", "us-west1", "us-west1-other"},
	}
	if diff := cmp.Diff(want, all); diff != "" {
		t.Errorf("mirrored (-wanted +found):\n%s", diff)
	}
	if all := mirroredBy(map[string]any{"name": "none", "inputSchema": map[string]any{"type": "string"}}, nil); len(all) > 0 {
		t.Errorf("a tool without parameters has %v", all)
	}
}

func TestChangedArguments(t *testing.T) {
	t.Parallel()
	floor := mirroredBy(tool(t), nil)[1]

	higher, none := floor.with(json.Number("4")), floor.without()

	if text := toText(t, floor.value()); text != "3" {
		t.Errorf("the value is %s now", text)
	}
	if text := toText(t, higher.value()); text != "4" {
		t.Errorf("the other value is %s", text)
	}
	if value := none.value(); value != nil {
		t.Errorf("what was taken out is %v", value)
	}
	if !floor.allowed() || higher.allowed() || none.allowed() {
		t.Error("what the schema allows is not what is allowed")
	}
}

func toText(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestEncoded(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Hello, 世界":          "=?base64?SGVsbG8sIOS4lueVjA==?=",
		" padded ":           "=?base64?IHBhZGRlZCA=?=",
		"=?base64?literal?=": "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=",
		"line1\nline2":       "=?base64?bGluZTEKbGluZTI=?=",
	} {
		if found := transport.EncodedHeaderValue(text); found != want {
			t.Errorf("%q is encoded as %q, wanted %q", text, found, want)
		}
	}
}
