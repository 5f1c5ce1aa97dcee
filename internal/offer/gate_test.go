package offer

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/provoke"
	"github.com/mcpconform/mcpconform/internal/scope/scopetest"
)

// offered is what a target offers in a cell with a catalogue of its own.
func offered(t *testing.T, transport string) *Offer {
	t.Helper()
	return &Offer{Scope: scopetest.Server(t, transport), Policy: provoke.Policy{Calls: provoke.CallReadOnly}}
}

func object(text string) Object {
	value, _ := jsonrpc.Decode([]byte(text))
	read, _ := value.(map[string]any)
	return read
}

func TestGates(t *testing.T) {
	t.Parallel()
	const stands = "ping.answered"
	for name, test := range map[string]struct {
		needs Declaration
		over  string
		want  Outcome
	}{
		"none":                    {Declaration{}, protocol.Stdio, Outcome{}},
		"one of two stands":       {Declaration{Requirements: []string{"ping.gone", stands}}, protocol.Stdio, Outcome{}},
		"a requirement of HTTP":   {Declaration{Requirements: []string{"ping.status"}}, protocol.Stdio, Outcome{Ending: Skipped, Reason: "applies to the http and sse transport only"}},
		"over HTTP":               {Declaration{Requirements: []string{"ping.status"}}, protocol.HTTP, Outcome{}},
		"another transport":       {Declaration{Transports: []string{protocol.HTTP}}, protocol.Stdio, Outcome{Ending: Skipped, Reason: "applies to the http transport only"}},
		"the transport":           {Declaration{Transports: []string{protocol.Stdio}}, protocol.Stdio, Outcome{}},
		"declared":                {Declaration{Capabilities: []string{"tools", "tools.listChanged"}}, protocol.Stdio, Outcome{}},
		"not declared":            {Declaration{Capabilities: []string{"tools", "resources.subscribe"}}, protocol.Stdio, Outcome{Ending: Skipped, Reason: `the server does not declare the capability "resources.subscribe"`}},
		"not extended":            {Declaration{Extensions: []string{"tasks"}}, protocol.Stdio, Outcome{Ending: Skipped, Reason: `the server does not declare the extension "io.modelcontextprotocol/tasks"`}},
		"provoked":                {Declaration{Provocations: []string{"text"}}, protocol.Stdio, Outcome{}},
		"not provoked":            {Declaration{Provocations: []string{"error"}}, protocol.Stdio, Outcome{Ending: Inconclusion, Reason: "no known tool ends with isError", Hint: "name one in mcpconform.yaml: provocations: {error: {tool: NAME, arguments: {…}}}", Provocation: "error"}},
		"skipped before unproven": {Declaration{Provocations: []string{"error"}, Capabilities: []string{"logging"}}, protocol.Stdio, Outcome{Ending: Skipped, Reason: `the server does not declare the capability "logging"`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := offered(t, test.over)
			all.Provocations = map[string]Provocation{"text": {Tool: "say"}}
			if test.needs.Requirements == nil {
				test.needs.Requirements = []string{stands}
			}
			if difference := cmp.Diff(test.want, all.gate(&test.needs)); difference != "" {
				t.Error(difference)
			}
		})
	}
}

func TestProvocations(t *testing.T) {
	t.Parallel()
	listed := []map[string]any{{"name": "test_simple_text"}}
	given := map[string]Provocation{"text": {Tool: "say"}}
	for name, test := range map[string]struct {
		calls provoke.Calls
		given map[string]Provocation
		tool  string
	}{
		"a fixture":                 {provoke.CallReadOnly, nil, "test_simple_text"},
		"the config's":              {provoke.CallReadOnly, given, "say"},
		"the config's, when listed": {provoke.CallListed, given, "say"},
		"no fixture, when listed":   {provoke.CallListed, nil, ""},
		"none":                      {provoke.CallNone, given, ""},
		"a fixture among all":       {provoke.CallAll, nil, "test_simple_text"},
	} {
		all := offered(t, protocol.Stdio)
		all.Survey.Tools, all.Calls, all.Provocations = listed, test.calls, test.given
		found, there := all.provocation("text")
		if found.Tool != test.tool || there != (test.tool != "") {
			t.Errorf("%s: found %q, %t", name, found.Tool, there)
		}
	}
}

func TestArguments(t *testing.T) {
	t.Parallel()
	all := offered(t, protocol.Stdio)
	all.Arguments = map[string]map[string]any{"given": {"a": 1}}
	for tool, want := range map[string]string{
		`{"name":"given","inputSchema":{"type":"object","required":["b"]}}`:                                      `{"a":1}`,
		`{"name":"made","inputSchema":{"type":"object","properties":{"b":{"type":"boolean"}},"required":["b"]}}`: `{"b":`,
		`{"name":"test_sampling","inputSchema":{"type":"object"}}`:                                               `{"prompt":"Say hello."}`,
	} {
		made, err := all.arguments(object(tool))
		if err != nil || !strings.HasPrefix(jsonrpc.Text(made), want) {
			t.Errorf("%s is called with %s, %v", tool, jsonrpc.Text(made), err)
		}
	}
	_, err := all.arguments(Object{"name": "odd", "inputSchema": Object{"type": "string"}})
	if err == nil || err.Error() != "the input schema of odd does not describe an object" {
		t.Errorf("told %v", err)
	}
}

// Every kind that is ruled out gates: no tool is called for it, and the reason says
// who ruled it out.
func TestNeverGates(t *testing.T) {
	t.Parallel()
	all := offered(t, protocol.Stdio)
	all.Provocations = map[string]Provocation{}
	needs := func(kind string) *Declaration {
		return &Declaration{Requirements: []string{"ping.answered"}, Provocations: []string{kind}}
	}
	for _, kind := range provoke.Kinds() {
		all.Provocations[kind] = Provocation{Tool: "say"}
		all.Never = provoke.Never{}
		if outcome := all.gate(needs(kind)); outcome.Ending == Skipped && strings.Contains(outcome.Reason, "never") {
			t.Errorf("%s: %+v", kind, outcome)
		}
		all.Never = provoke.Never{Names: []string{kind}, By: "mcpconform.yaml"}
		outcome := all.gate(needs(kind))
		if _, there := all.provocation(kind); there || outcome.Ending != Skipped || outcome.Reason != "never "+kind+", by mcpconform.yaml" {
			t.Errorf("%s: %v, %+v", kind, there, outcome)
		}
		all.Role = protocol.ClientRole
		if word := all.never(needs(kind)); word != "" {
			t.Errorf("of a client: %s", word)
		}
		all.Role = protocol.ServerRole
	}
}
