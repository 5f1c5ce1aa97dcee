// Package docs holds the documentation; its tests run what it shows.
package docs

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/mcpconform/mcpconform/internal/slowtest"
	"github.com/mcpconform/mcpconform/reports"
)

const clientsPage = "clients.md"

// blocks are the texts between fences of a language on a page.
func blocks(t *testing.T, page, language string) []string {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, found := range regexp.MustCompile("(?ms)^```"+language+"\n(.*?)^```$").FindAllStringSubmatch(string(text), -1) {
		all = append(all, found[1])
	}
	if len(all) == 0 {
		t.Fatalf("%s shows no %s", page, language)
	}
	return all
}

// The steps that the page shows are valid, and the outcomes are JSON lines.
func TestExamplesOfSteps(t *testing.T) {
	t.Parallel()
	schema, err := jsonschema.NewCompiler().Compile("steps.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	shown := blocks(t, clientsPage, "json")
	steps, err := jsonschema.UnmarshalJSON(strings.NewReader(shown[0]))
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(steps); err != nil {
		t.Error(err)
	}
	for line := range strings.Lines(shown[1]) {
		var outcome struct {
			Step    any // its id or its number
			Outcome string
		}
		if err := json.Unmarshal([]byte(line), &outcome); err != nil || outcome.Step == nil || outcome.Outcome == "" {
			t.Errorf("%q: %v", line, err)
		}
	}
}

var (
	row  = regexp.MustCompile("(?m)^\\| (`[a-z`, -]+`) \\|([^|]*)\\|")
	word = regexp.MustCompile("`([a-z-]+)`")
)

func words(text string) []string {
	var all []string
	for _, found := range word.FindAllStringSubmatch(text, -1) {
		all = append(all, found[1])
	}
	return all
}

// The table of the page has all verbs, with their members.
func TestTableOfVerbs(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("steps.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Defs map[string]struct{ Properties map[string]any } `json:"$defs"`
	}
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(clientsPage)
	if err != nil {
		t.Fatal(err)
	}
	_, steps, _ := strings.Cut(string(page), "## The steps")
	steps, _, _ = strings.Cut(steps, "\n## ")
	shown := map[string][]string{}
	for _, found := range row.FindAllStringSubmatch(steps, -1) {
		for _, verb := range words(found[1]) {
			shown[verb] = append([]string{"do"}, words(found[2])...)
		}
	}
	for verb, definition := range schema.Defs {
		members := slices.DeleteFunc(slices.Sorted(maps.Keys(definition.Properties)), func(name string) bool { return name == "as" || name == "id" })
		if found := slices.Sorted(slices.Values(shown[verb])); !slices.Equal(found, members) {
			t.Errorf("%s has the members %v, and on the page %v", verb, members, found)
		}
		delete(shown, verb)
	}
	if len(shown) > 0 {
		t.Errorf("there are no steps %v", slices.Sorted(maps.Keys(shown)))
	}
}

// builtIn is where the programs are, if a test has needed them.
var builtIn string

// built are the programs that the tests run, by name.
var built = sync.OnceValues(func() (map[string]string, error) {
	directory, err := os.MkdirTemp("", "mcpconform-docs-*")
	if err != nil {
		return nil, err
	}
	builtIn = directory
	programs := map[string]string{"driver": filepath.Join(directory, "driver"), "mcpconform": filepath.Join(directory, "mcpconform")}
	overlay := filepath.Join(directory, "overlay.json")
	for _, arguments := range [][]string{
		{"-overlay", overlay, "-o", programs["driver"], "./testdata/driver"},
		{"-o", programs["mcpconform"], "../cmd/mcpconform"},
	} {
		if arguments[0] == "-overlay" {
			if err := overlayDriver(overlay); err != nil {
				return programs, err
			}
		}
		if output, err := exec.Command("go", append([]string{"build"}, arguments...)...).CombinedOutput(); err != nil {
			return programs, &buildError{err, output}
		}
	}
	return programs, nil
})

type buildError struct {
	err    error
	output []byte
}

func (e *buildError) Error() string { return e.err.Error() + "\n" + string(e.output) }

// overlayDriver puts the driver of the page beside the library that stands in for one.
func overlayDriver(overlay string) error {
	page, err := os.ReadFile(clientsPage)
	if err != nil {
		return err
	}
	_, code, _ := strings.Cut(string(page), "\n```go\n")
	code, _, _ = strings.Cut(code, "\n```\n")
	source := filepath.Join(filepath.Dir(overlay), "driver.go")
	place, err := filepath.Abs("testdata/driver/driver.go")
	if err != nil {
		return err
	}
	text, err := json.Marshal(map[string]any{"Replace": map[string]string{place: source}})
	if err != nil {
		return err
	}
	if err := os.WriteFile(source, []byte(code), 0o600); err != nil {
		return err
	}
	return os.WriteFile(overlay, text, 0o600)
}

func TestMain(m *testing.M) {
	status := m.Run()
	if builtIn != "" {
		_ = os.RemoveAll(builtIn)
	}
	os.Exit(status)
}

func program(t *testing.T, name string) string {
	t.Helper()
	programs, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return programs[name]
}

// drive has the driver of the page do steps with the reference server, and returns what
// it tells of each.
func drive(t *testing.T, steps string, server ...string) (told map[int]string, err error) {
	t.Helper()
	driving := exec.CommandContext(t.Context(), program(t, "driver"), server...)
	driving.Env = append(os.Environ(), "MCPCONFORM_STEPS="+steps, "MCP_CONFORMANCE_PROTOCOL_VERSION=2025-06-18")
	output, err := driving.Output()
	told = map[int]string{}
	for line := range bytes.Lines(output) {
		var outcome struct{ Step int }
		if err := json.Unmarshal(line, &outcome); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		told[outcome.Step] = string(line)
	}
	return told, err
}

// The driver of the page does each verb, and tells of it as the page says.
func TestDriverOfThePage(t *testing.T) {
	t.Parallel()
	told, err := drive(t, `[
		{"do":"answer-with","method":"sampling/createMessage","result":{"role":"assistant","model":"m","content":{"type":"text","text":"first"}}},
		{"do":"answer-with","method":"sampling/createMessage","capability":{"tools":{}},"result":{"role":"assistant","model":"m","content":{"type":"text","text":"second"}}},
		{"do":"answer-with","method":"roots/list","capability":{"listChanged":true},"result":{"roots":[{"uri":"file:///one"}]}},
		{"do":"answer-with","method":"elicitation/create","error":{"code":-1,"message":"not now"}},
		{"do":"connect","revision":"2025-11-25"},
		{"do":"list","of":"tools"},
		{"do":"list","of":"tasks"},
		{"do":"call","tool":"test_sampling","arguments":{"prompt":"hello"}},
		{"do":"call","tool":"test_sampling","arguments":{"prompt":"hello"}},
		{"do":"call","tool":"test_list_roots"},
		{"do":"change-roots","roots":[{"uri":"file:///another"}]},
		{"do":"call","tool":"test_list_roots"},
		{"do":"call","tool":"test_elicitation","arguments":{"message":"hello"}},
		{"do":"read","uri":"test://static-text"},
		{"do":"read","template":"test://template/{id}/data","arguments":{"id":"7"}},
		{"do":"get","prompt":"test_prompt_with_arguments","arguments":{"arg1":"one","arg2":"two"}},
		{"do":"complete","ref":{"type":"ref/prompt","name":"test_prompt_with_arguments"},"argument":{"name":"arg1","value":"a"}},
		{"do":"subscribe","uri":"test://watched-resource"},
		{"do":"call","tool":"test_touch_resource"},
		{"do":"wait-for","method":"notifications/resources/updated"},
		{"do":"unsubscribe","uri":"test://watched-resource"},
		{"do":"set-level","level":"warning"},
		{"do":"ping"},
		{"do":"call","tool":"test_tool_with_progress","progress":true},
		{"do":"wait-for","method":"notifications/progress"},
		{"do":"call","tool":"test_slow","arguments":{"seconds":10},"as":"slow"},
		{"do":"cancel","what":"slow"},
		{"do":"await","what":"slow"},
		{"do":"call","tool":"test_slow","arguments":{"seconds":10},"timeout":20},
		{"do":"call","tool":"test_simple_text","task":{}},
		{"do":"get-task","task":"t"},
		{"do":"listen","to":{"toolsListChanged":true}},
		{"do":"close"}]`, program(t, "mcpconform"), "reference", "server", "--stdio")
	if err != nil {
		t.Error(err)
	}
	for step, want := range map[int]string{
		0: "done", 3: "done", 4: `"revision":"2025-11-25"`, 5: "test_simple_text", 6: "lists no tasks", 7: "first", 8: "second", 9: "file:///one",
		10: "done", 11: "file:///another", 12: "not now", 13: "contents", 14: "test://template/7/data", 15: "arg1='one'", 16: "completion",
		17: "done", 18: "content", 19: "done", 20: "done", 21: "done", 22: "done", 23: "content", 24: "done",
		25: "failed", 26: "done", 27: "done", 28: "failed", 29: "has no tasks", 30: "has no tasks", 31: "failed", 32: "done",
	} {
		if !strings.Contains(told[step], want) {
			t.Errorf("of step %d it tells %q, and not %q", step, told[step], want)
		}
	}
}

// The variable says which revision to ask for where the step does not, and nothing is
// done without a connection.
func TestDriverOfThePageConnects(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	told, err := drive(t, `[{"do":"connect"},{"do":"close"}]`, program(t, "mcpconform"), "reference", "server", "--stdio")
	if err != nil || !strings.Contains(told[0], `"revision":"2025-06-18"`) {
		t.Errorf("%q, %v", told[0], err)
	}
	told, err = drive(t, `[{"do":"connect"},{"do":"ping"}]`, program(t, "mcpconform"), "reference", "nothing")
	if err == nil || len(told) != 1 || !strings.Contains(told[0], "failed") {
		t.Errorf("%v, %v", told, err)
	}
}

// With the driver of the page checks see what they are there to see.
func TestDriverOfThePageIsChecked(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	const filter = "pagination || completion || roots || sampling || ping || progress || elicitation.capability.declared || resources.templates.expanded || tools.structured.validated"
	report := filepath.Join(t.TempDir(), "run.json")
	checking := exec.CommandContext(t.Context(), program(t, "mcpconform"), "client", "--revision", "2025-11-25", "--transport", "stdio",
		"-q", "--filter", filter, "--json", report, "--", program(t, "driver"))
	output, err := checking.CombinedOutput()
	file, openErr := os.Open(report)
	if openErr != nil {
		t.Fatalf("%v, %v\n%s", err, openErr, output)
	}
	defer func() { _ = file.Close() }()
	run, err := reports.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	passed := 0
	for _, result := range run.Cells[0].Results {
		switch {
		case result.Verdict == reports.Passed:
			passed++
		case result.Verdict == reports.Skipped:
		case result.ID == "tools.structured.validated" || strings.HasPrefix(result.ID, "sampling."): // the library is a simple one
		default:
			t.Errorf("%s: %s %q: %s %+v", result.ID, result.Verdict, result.Text, result.Reason, result.Failures)
		}
	}
	if passed < 30 {
		t.Errorf("%d passed\n%s", passed, output)
	}
}
