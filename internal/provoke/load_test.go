package provoke_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/provoke"
)

const some = `# A server.
- tool: say
  arguments: {words: [a, {b: 1}], "on": true}
  provokes: [text, logging]
- tool: touch
  resource: test://one
  provokes: [resource-updated]
  needs: input requests
- tool: harmless
`

func TestParse(t *testing.T) {
	t.Parallel()
	read, err := provoke.Parse("f", []byte(some))
	if err != nil {
		t.Fatal(err)
	}
	want := []provoke.Tool{
		{
			Provocation: provoke.Provocation{Tool: "say", Arguments: map[string]any{"words": []any{"a", map[string]any{"b": 1}}, "on": true}},
			Provokes:    []string{"text", "logging"}, Line: 2,
		},
		{Provocation: provoke.Provocation{Tool: "touch", Resource: "test://one"}, Provokes: []string{"resource-updated"}, Needs: protocol.InputRequests, Line: 5},
		{Provocation: provoke.Provocation{Tool: "harmless"}, Line: 9},
	}
	if difference := cmp.Diff(want, read); difference != "" {
		t.Error(difference)
	}
	if read, err := provoke.Parse("f", []byte("# nothing\n")); read != nil || err != nil {
		t.Errorf("nothing says %v, %v", read, err)
	}
}

func TestParseTellsWhatIsWrong(t *testing.T) {
	t.Parallel()
	for text, reported := range map[string]string{
		"\xff":                                                 "f:1: not UTF-8",
		"- tool: [\n":                                          "f:1: did not find expected node content",
		"tool: say\n":                                          `f:1: expected a list of tools, each beginning with "- tool:"`,
		"- say\n":                                              "f:1: a tool: expected a map",
		"- tool: say\n---\n- tool: say\n":                      "f:2: more than one document; what follows --- would be ignored",
		"- tool: say\n  tool: say\n":                           `f:2: key "tool" is given twice, the first time on line 1`,
		"- tool: say\n  provoke: [text]\n":                     `f:2: unknown key "provoke", did you mean "provokes"?`,
		"- tool: say\n  arguments: 1\n":                        `f:2: "1" stands where a mapping belongs`,
		"- tool: say\n  arguments: {a: .inf}\n":                "f:1: arguments: json: unsupported value: +Inf",
		"- tool: &a say\n  resource: *a\n":                     "f:1: aliases of YAML are not for tools: write it out",
		"- provokes: [text]\n":                                 "f:1: names no tool",
		"- tool: say\n  provokes:\n  - text\n  - txt\n":        `f:4: provokes: unknown kind "txt", did you mean "text"?`,
		"- tool: say\n  provokes:\n  - text\n  - text\n":       "f:4: provokes: text is given twice",
		"- tool: say\n  provokes: text\n":                      `f:2: "text" stands where a list belongs`,
		"- tool: say\n  needs: input\n":                        `f:1: needs: unknown feature "input"`,
		"- tool: say\n  resource: a:b\n":                       "f:1: resource is for resource-updated, and only for that",
		"- tool: say\n  provokes: [resource-updated]\n":        "f:1: resource is for resource-updated, and only for that",
		"- tool: a\n  needs: b\n- tool: c\n  provokes: [zz]\n": "f:1: needs: unknown feature \"b\"\nf:4: provokes: unknown kind \"zz\"",
	} {
		_, err := provoke.Parse("f", []byte(text))
		if err == nil || !strings.HasPrefix(err.Error(), reported) {
			t.Errorf("%q: told %v\nwanted %s", text, err, reported)
		}
	}
}

func TestLoad(t *testing.T) {
	t.Parallel()
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	const say = "- tool: say\n  arguments: {a: 1, b: 2}\n"
	for name, test := range map[string]struct {
		files fstest.MapFS
		text  string
	}{
		"different arguments": {fstest.MapFS{"a.yaml": file(say + "  provokes: [text]\n- tool: say\n  provokes: [text]\n")}, ""},
		"different kinds":     {fstest.MapFS{"a.yaml": file(say + "  provokes: [text]\n"), "b.yaml": file(say + "  provokes: [image]\n")}, ""},
		"twice in a file": {fstest.MapFS{"a.yaml": file(say + "  provokes: [text]\n- tool: say\n  arguments: {b: 2, a: 1}\n  provokes: [image]\n")},
			"a.yaml:4: say stands with the same arguments at a.yaml:1"},
		"for one kind in two": {fstest.MapFS{"a.yaml": file(say + "  provokes: [text]\n"), "b.yaml": file("\n" + say + "  provokes: [image, text]\n")},
			"b.yaml:2: say stands with the same arguments at a.yaml:1"},
		"for nothing": {fstest.MapFS{"a.yaml": file(say + "  provokes: [text]\n"), "b.yaml": file(say)},
			"b.yaml:1: say stands with the same arguments at a.yaml:1"},
		"all files": {fstest.MapFS{"a.yaml": file("- tol: a\n"), "b.yaml": file("- tol: b\n")},
			"a.yaml:1: unknown key \"tol\", did you mean \"tool\"?\nb.yaml:1: unknown key \"tol\", did you mean \"tool\"?"},
	} {
		servers, err := provoke.Load(test.files)
		text := ""
		if err != nil {
			text = err.Error()
		}
		if text != test.text || err == nil && len(servers) != len(test.files) {
			t.Errorf("%s: %d servers, told %q\nwanted %q", name, len(servers), text, test.text)
		}
	}
}

// Where several known servers have a tool for a kind, or one has several, the first that
// the target lists is called.
func TestPreference(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]string{
		"text":        "test_simple_text test_multiple_content_types echo",
		"elicitation": "test_input_required_result_elicitation test_elicitation test_elicitation_sep1034_defaults trigger-elicitation-request",
		"roots":       "test_input_required_result_list_roots test_list_roots get-roots-list",
		"slow":        "test_slow trigger-long-running-operation",
		"task":        "slow_compute test_tool_with_progress simulate-research-query",
		"task-slow":   "slow_compute test_slow simulate-research-query",
		"task-input":  "confirm_delete test_elicitation simulate-research-query",
	} {
		if known := strings.Join(provoke.Known(kind), " "); known != want {
			t.Errorf("%s: %s\nwanted %s", kind, known, want)
		}
	}
}

// A kind for which no server is known cannot be proven by any run.
func TestEveryKindIsKnownSomewhere(t *testing.T) {
	t.Parallel()
	for _, kind := range provoke.Kinds() {
		if len(provoke.Known(kind)) == 0 || provoke.Does(kind) == "" {
			t.Errorf("%s: no known server has a tool that %q", kind, provoke.Does(kind))
		}
	}
}
