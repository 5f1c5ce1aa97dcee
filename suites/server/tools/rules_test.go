package tools

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/rules"
	. "github.com/mcpconform/mcpconform/internal/rules/rulestest"
)

// TestHeadersOfParameters judges annotations x-mcp-header by the constraints of
// basic/transports/streamable-http#schema-extension.
func TestHeadersOfParameters(t *testing.T) {
	t.Parallel()
	const (
		named     = "sets no empty x-mcp-header"
		token     = "sets x-mcp-header to a token that is valid as a header name"
		control   = "sets x-mcp-header without control characters"
		unique    = "sets a different x-mcp-header on each parameter of a tool, whatever its case"
		primitive = "sets x-mcp-header only on integer, string and boolean parameters"
		reachable = "sets x-mcp-header only on parameters reached through properties alone"
		barred    = "sets no x-mcp-header inside an array, composition, condition or reference of inputSchema"
	)
	tests := map[string]struct {
		schema string
		broken []string
	}{
		"a good one":            {`{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"Region"}}}`, nil},
		"all good types":        {`{"properties":{"a":{"type":"integer","x-mcp-header":"A"},"b":{"type":"boolean","x-mcp-header":"B"}}}`, nil},
		"nullable":              {`{"properties":{"a":{"type":["string","null"],"x-mcp-header":"A"}}}`, nil},
		"without a type":        {`{"properties":{"a":{"enum":["x"],"x-mcp-header":"A"}}}`, nil},
		"nested":                {`{"properties":{"a":{"type":"object","properties":{"items":{"type":"string","x-mcp-header":"A"}}}}}`, nil},
		"a parameter of a name": {`{"properties":{"x-mcp-header":{"type":"string"}}}`, nil},
		"only data":             {`{"properties":{"a":{"default":{"x-mcp-header":""},"const":{"x-mcp-header":1}}}}`, nil},
		"empty":                 {`{"properties":{"a":{"type":"string","x-mcp-header":""}}}`, []string{named}},
		"with a space":          {`{"properties":{"a":{"type":"string","x-mcp-header":"My Region"}}}`, []string{token}},
		"with a colon":          {`{"properties":{"a":{"type":"string","x-mcp-header":"Region:"}}}`, []string{token}},
		"beyond ASCII":          {`{"properties":{"a":{"type":"string","x-mcp-header":"Région"}}}`, []string{token}},
		"no text":               {`{"properties":{"a":{"type":"string","x-mcp-header":true}}}`, []string{token}},
		"a line break":          {`{"properties":{"a":{"type":"string","x-mcp-header":"A\r\nB"}}}`, []string{control}},
		"the same":              {`{"properties":{"a":{"type":"string","x-mcp-header":"A"},"b":{"type":"string","x-mcp-header":"a"}}}`, []string{unique}},
		"a number":              {`{"properties":{"a":{"type":"number","x-mcp-header":"A"}}}`, []string{primitive}},
		"an object":             {`{"properties":{"a":{"type":"object","x-mcp-header":"A"}}}`, []string{primitive}},
		"a list with numbers":   {`{"properties":{"a":{"type":["string","number"],"x-mcp-header":"A"}}}`, []string{primitive}},
		"in items":              {`{"properties":{"a":{"type":"array","items":{"type":"string","x-mcp-header":"A"}}}}`, []string{barred}},
		"in a composition":      {`{"oneOf":[{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}]}`, []string{barred}},
		"in a condition":        {`{"if":{},"then":{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}}`, []string{barred}},
		"in a definition":       {`{"$defs":{"properties":{"type":"string","x-mcp-header":"A"}}}`, []string{barred}},
		"in other properties":   {`{"additionalProperties":{"type":"string","x-mcp-header":"A"}}`, []string{reachable}},
		"by a pattern":          {`{"patternProperties":{"^a":{"type":"string","x-mcp-header":"A"}}}`, []string{reachable}},
		"at the root":           {`{"type":"object","x-mcp-header":"A"}`, []string{primitive, reachable}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conversation := Talk("2026-07-28", Asked("tools/list", `{"tools":[{"name":"a","inputSchema":`+test.schema+`}]}`)...)
			found := BrokenTexts(headerRules(), conversation)
			if diff := cmp.Diff(test.broken, found); diff != "" {
				t.Errorf("broken (-wanted +found):\n%s", diff)
			}
		})
	}
}

func TestSchemaWithoutDialect(t *testing.T) {
	t.Parallel()
	// The array form of items is of drafts before 2020-12.
	older := Asked("tools/list", Tools(`{"name":"a","inputSchema":{"type":"object","properties":{"x":{"type":"array","items":[{"type":"string"}]}}}}`))
	for revision, broken := range map[string]int{"2025-06-18": 0, "2025-11-25": 1} {
		if got := Findings(Rules(), Talk(revision, older...))["tools.input-schema.valid"]; got != broken {
			t.Errorf("at %s it was broken %d times, wanted %d", revision, got, broken)
		}
	}
}

func TestSchemaThatIsNoObject(t *testing.T) {
	t.Parallel()
	listing := Asked("tools/list", Tools(`{"name":"a","inputSchema":null,"outputSchema":true}`))
	for revision, wanted := range map[string]map[string]int{
		"2025-06-18": {"tools.name.length": 0, "tools.name.characters": 0},
		"2025-11-25": {
			"tools.name.length": 0, "tools.name.characters": 0,
			"tools.input-schema.valid": 1, "tools.output-schema.valid": 1,
		},
	} {
		if got := Findings(Rules(), Talk(revision, listing...)); fmt.Sprint(got) != fmt.Sprint(wanted) {
			t.Errorf("at %s found  %v\nwanted %v", revision, got, wanted)
		}
	}
}

// Which connection a call shares with a list is chance: the list at first contact will do
// where there is no other, until the server says that it has changed.
func TestStructureByTheListOfFirstContact(t *testing.T) {
	t.Parallel()
	listed, _ := jsonrpc.Decode([]byte(Weather))
	call := Asked(`tools/call {"name":"weather"}`, `{"content":[],"structuredContent":{}}`)
	change := `<{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`
	none := Asked("tools/list", Tools(Tool("weather")))
	for name, one := range map[string]struct {
		lines []string
		want  int
	}{
		"no list":        {call, 1},
		"another list":   {slices.Concat(none, call), -1},
		"a changed list": {slices.Concat([]string{change}, call), -1},
	} {
		conversation := Talk("2025-11-25", one.lines...)
		conversation.Tools = []rules.Object{listed.(rules.Object)}
		broken, seen := Findings(Rules(), conversation)["tools.structured.conforms"]
		if !seen {
			broken = -1
		}
		if broken != one.want {
			t.Errorf("%s: broken %d times, wanted %d", name, broken, one.want)
		}
	}
}
