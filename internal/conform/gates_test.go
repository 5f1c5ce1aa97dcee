package conform

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/types"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/provoke"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/scripted"
)

func TestGates(t *testing.T) {
	t.Parallel()
	const stands = "ping.answered"
	for name, test := range map[string]struct {
		labels []string
		over   string
		want   Outcome
	}{
		"none":                    {[]string{stands}, protocol.Stdio, Outcome{}},
		"one of two stands":       {[]string{"ping.gone", stands}, protocol.Stdio, Outcome{}},
		"a requirement of HTTP":   {[]string{"ping.status"}, protocol.Stdio, Outcome{Ending: Skipped, Reason: "applies to the http and sse transport only"}},
		"over HTTP":               {[]string{"ping.status"}, protocol.HTTP, Outcome{}},
		"another transport":       {[]string{stands, "over:http"}, protocol.Stdio, Outcome{Ending: Skipped, Reason: "applies to the http transport only"}},
		"the transport":           {[]string{stands, "over:stdio"}, protocol.Stdio, Outcome{}},
		"declared":                {[]string{stands, "needs:tools", "needs:tools.listChanged"}, protocol.Stdio, Outcome{}},
		"not declared":            {[]string{stands, "needs:tools", "needs:resources.subscribe"}, protocol.Stdio, Outcome{Ending: Skipped, Reason: `the server does not declare the capability "resources.subscribe"`}},
		"not extended":            {[]string{stands, "extended-by:tasks"}, protocol.Stdio, Outcome{Ending: Skipped, Reason: `the server does not declare the extension "io.modelcontextprotocol/tasks"`}},
		"provoked":                {[]string{stands, "provoked-by:text"}, protocol.Stdio, Outcome{}},
		"not provoked":            {[]string{stands, "provoked-by:error"}, protocol.Stdio, Outcome{Ending: Inconclusion, Reason: "no known tool ends with isError", Hint: "name one in mcpconform.yaml: provocations: {error: {tool: NAME, arguments: {…}}}", Provocation: "error"}},
		"skipped before unproven": {[]string{stands, "provoked-by:error", "needs:logging"}, protocol.Stdio, Outcome{Ending: Skipped, Reason: `the server does not declare the capability "logging"`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			environment := environment(t, test.over)
			environment.Provocations = map[string]Provocation{"text": {Tool: "say"}}
			if difference := cmp.Diff(test.want, environment.gate(test.labels)); difference != "" {
				t.Error(difference)
			}
		})
	}
}

func TestVerifies(t *testing.T) {
	environment := environment(t, protocol.Stdio)
	Build(environment, func() {
		got := Verifies("ping.later", "ping.answered")
		want := ginkgo.Labels{
			"ping.later", "ping.answered", "basic", "basic∕utilities", "basic∕utilities∕ping", "ping", "SHOULD", "2025-06-18", "stdio", "MUST",
		}
		if difference := cmp.Diff(want, got); difference != "" {
			t.Error(difference)
		}
		if difference := cmp.Diff([]string{"ping.later", "ping.answered"}, environment.Requirements(got)); difference != "" {
			t.Error(difference)
		}
		defer func() {
			if text, _ := recover().(string); text != `a check verifies "ping.answred", which no requirements.yaml has; the nearest is "ping.answered"` {
				t.Errorf("panicked with %q", text)
			}
		}()
		Verifies("ping.answred")
		t.Error("an unknown requirement was verified")
	})
	if building != nil {
		t.Error("the tree is still being built")
	}
	if labels := environment.RuleLabels(rules.Rule{Requirements: []string{"ping.status"}}); !cmp.Equal(labels, []string{
		"ping.status", "basic", "basic∕utilities", "basic∕utilities∕ping", "ping", "MUST", "MUST NOT", "2025-06-18", "stdio",
	}) {
		t.Errorf("a rule has the labels %q", labels)
	}
}

func TestPageLabels(t *testing.T) {
	t.Parallel()
	for page, want := range map[string]string{
		"basic/index": "base", "extensions/tasks": "tasks-extension", "basic/utilities/ping": "ping", "server/tools": "tools", "basic/patterns/index": "patterns",
		"basic/transports/index": "transports", "basic/transports/streamable-http": "transports",
	} {
		if label := pageLabel(page); label != want {
			t.Errorf("%s has the label %q, wanted %q", page, label, want)
		}
	}
}

// Filters mean what they say, also when they contain an or.
func TestAloneFilters(t *testing.T) {
	t.Parallel()
	for filter, test := range map[string]struct{ together, alone []string }{
		"":             {[]string{"a", "b"}, []string{"c", "d"}},
		"MUST":         {[]string{"a"}, []string{"c"}},
		"MUST || ping": {[]string{"a", "b"}, []string{"c", "d"}},
		"!MUST":        {[]string{"b"}, []string{"d"}},
	} {
		checks := map[string][]string{"a": {"MUST"}, "b": {"ping"}, "c": append(Alone(), "MUST"), "d": append(Alone(), "ping")}
		together, alone := AloneFilters(filter)
		for text, want := range map[string][]string{together: test.together, alone: test.alone} {
			matches, err := types.ParseLabelFilter(text)
			if err != nil {
				t.Fatalf("%q: %v", text, err)
			}
			var got []string
			for _, name := range []string{"a", "b", "c", "d"} {
				if matches(checks[name]) {
					got = append(got, name)
				}
			}
			if !cmp.Equal(want, got) {
				t.Errorf("%q chooses %q, wanted %q", text, got, want)
			}
		}
	}
	if !IsAlone(Alone()) || IsAlone(NeedsTransport("alone")) {
		t.Error("what runs alone is not known")
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
