package session

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/oauth"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/provoke"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/scenario"
	"github.com/mcpconform/mcpconform/internal/scripted"
)

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
			environment := environment(t, test.over)
			environment.Provocations = map[string]Provocation{"text": {Tool: "say"}}
			if test.needs.Requirements == nil {
				test.needs.Requirements = []string{stands}
			}
			if difference := cmp.Diff(test.want, environment.gate(&test.needs)); difference != "" {
				t.Error(difference)
			}
		})
	}
}

func TestLabels(t *testing.T) {
	t.Parallel()
	environment := environment(t, protocol.Stdio)
	for name, test := range map[string]struct {
		got, want []string
	}{
		"what it verifies": {
			environment.Labels(&Declaration{Requirements: []string{"ping.later", "ping.answered"}}),
			[]string{"ping.later", "ping.answered", "basic", "basic∕utilities", "basic∕utilities∕ping", "ping", "SHOULD", "2025-06-18", "stdio", "MUST"},
		},
		"what it needs": {
			environment.Labels(&Declaration{
				Capabilities: []string{"tools"}, Extensions: []string{"tasks"}, Provocations: []string{"slow"}, Tokens: []oauth.Kind{oauth.Good},
				Transports: []string{protocol.Stdio}, Scenario: &scenario.Scenario{Name: "plain"}, Together: "tasks", Alone: true,
			}),
			[]string{"needs:tools", "extended-by:tasks", "provoked-by:slow", "token:" + string(oauth.Good), "over:stdio", "in:plain", "together:tasks", "alone"},
		},
		"a rule": {
			environment.RuleLabels(rules.Rule{Verifies: rules.Verifies("ping.status")}),
			[]string{"ping.status", "basic", "basic∕utilities", "basic∕utilities∕ping", "ping", "MUST", "MUST NOT", "2025-06-18", "stdio"},
		},
	} {
		if difference := cmp.Diff(test.want, test.got); difference != "" {
			t.Errorf("%s: %s", name, difference)
		}
	}
}

func TestProvocations(t *testing.T) {
	t.Parallel()
	offered := []map[string]any{{"name": "test_simple_text"}}
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
		environment := environment(t, protocol.Stdio)
		environment.Survey.Tools, environment.Calls, environment.Provocations = offered, test.calls, test.given
		found, there := environment.provocation("text")
		if found.Tool != test.tool || there != (test.tool != "") {
			t.Errorf("%s: found %q, %t", name, found.Tool, there)
		}
	}
}

func TestArguments(t *testing.T) {
	t.Parallel()
	environment := environment(t, protocol.Stdio)
	environment.Arguments = map[string]map[string]any{"given": {"a": 1}}
	for tool, want := range map[string]string{
		`{"name":"given","inputSchema":{"type":"object","required":["b"]}}`:                                      `{"a":1}`,
		`{"name":"made","inputSchema":{"type":"object","properties":{"b":{"type":"boolean"}},"required":["b"]}}`: `{"b":`,
		`{"name":"test_sampling","inputSchema":{"type":"object"}}`:                                               `{"prompt":"Say hello."}`,
	} {
		made, err := environment.arguments(reply(`{"result":` + tool + `}`).Object())
		if err != nil || !strings.HasPrefix(jsonrpc.Text(made), want) {
			t.Errorf("%s is called with %s, %v", tool, jsonrpc.Text(made), err)
		}
	}
	_, err := environment.arguments(Object{"name": "odd", "inputSchema": Object{"type": "string"}})
	if err == nil || err.Error() != "the input schema of odd does not describe an object" {
		t.Errorf("told %v", err)
	}
}

func TestMessagePredicates(t *testing.T) {
	t.Parallel()
	request, notification := reply(`{"id":1,"method":"m"}`).Received, reply(`{"method":"m"}`).Received
	if !RequestOf("m")(request) || RequestOf("m")(notification) || RequestOf("n")(request) {
		t.Error("requests are taken for others")
	}
	if !Notification("m")(notification) || Notification("m")(request) || Notification("n")(notification) {
		t.Error("notifications are taken for others")
	}
	if !IsTimeout(scripted.ErrTimeout) || IsTimeout(scripted.ErrNoAnswer) {
		t.Error("timeouts are taken for others")
	}
}

// Every kind that is ruled out gates: no tool is called for it, and the reason says
// who ruled it out.
func TestNeverGates(t *testing.T) {
	t.Parallel()
	environment := environment(t, protocol.Stdio)
	environment.Provocations = map[string]Provocation{}
	needs := func(kind string) *Declaration {
		return &Declaration{Requirements: []string{"ping.answered"}, Provocations: []string{kind}}
	}
	for _, kind := range provoke.Kinds() {
		environment.Provocations[kind] = Provocation{Tool: "say"}
		environment.Never = provoke.Never{}
		if outcome := environment.gate(needs(kind)); outcome.Ending == Skipped && strings.Contains(outcome.Reason, "never") {
			t.Errorf("%s: %+v", kind, outcome)
		}
		environment.Never = provoke.Never{Names: []string{kind}, By: "mcpconform.yaml"}
		outcome := environment.gate(needs(kind))
		if _, there := environment.provocation(kind); there || outcome.Ending != Skipped || outcome.Reason != "never "+kind+", by mcpconform.yaml" {
			t.Errorf("%s: %v, %+v", kind, there, outcome)
		}
		environment.Role = protocol.ClientRole
		if word := environment.never(needs(kind)); word != "" {
			t.Errorf("of a client: %s", word)
		}
		environment.Role = protocol.ServerRole
	}
}
