package docs

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpconform/mcpconform/docs/drivers"
)

const pythonDriver = "drivers/driver.py"

// The driver in Python knows every step.
func TestPythonDriverKnowsAllSteps(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("steps.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	driver, err := os.ReadFile(pythonDriver)
	if err != nil {
		t.Fatal(err)
	}
	verbs := map[string]bool{}
	for _, found := range regexp.MustCompile(`"do": *\{[^}]*"const": *"([a-z-]+)"`).FindAllStringSubmatch(string(text), -1) {
		verbs[found[1]] = true
	}
	if len(verbs) < 10 {
		t.Fatalf("the schema of steps names the verbs %v alone", slices.Sorted(maps.Keys(verbs)))
	}
	for verb := range verbs {
		if !strings.Contains(string(driver), `"`+verb+`": `) {
			t.Errorf("%s lacks %q", pythonDriver, verb)
		}
	}
}

// The driver in Python does what the page says, with a stand-in for the SDK.
func TestPythonDriver(t *testing.T) {
	t.Parallel()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no python3")
	}
	command := exec.CommandContext(t.Context(), python, pythonDriver, "http://127.0.0.1:1/mcp")
	command.Env = append(os.Environ(), "PYTHONPATH=testdata/python", "PYTHONDONTWRITEBYTECODE=1",
		"MCP_CONFORMANCE_PROTOCOL_VERSION=2025-11-25", `MCPCONFORM_STEPS=[
			{"do":"answer-with","method":"elicitation/create","capability":{"form":{}},"result":{"action":"accept"}},
			{"do":"connect"},
			{"do":"list","of":"tools"},
			{"do":"call","tool":"slow","as":"open"},
			{"do":"call","tool":"echo","arguments":{"x":1},"progress":true},
			{"do":"call","tool":"slow","timeout":1},
			{"do":"cancel","what":"open"},
			{"do":"await","what":"open"},
			{"do":"read","template":"test://{id}","arguments":{"id":"7"}},
			{"do":"wait-for","method":"notifications/message"},
			{"do":"get-task","task":"t"},
			{"do":"close"}]`)
	output, err := command.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	outcomes := map[int]string{}
	for line := range strings.Lines(string(output)) {
		var one struct {
			Step    int
			Outcome string
			Result  json.RawMessage
			Error   string
		}
		if err := json.Unmarshal([]byte(line), &one); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		outcomes[one.Step] = one.Outcome + " " + string(one.Result) + one.Error
	}
	want := map[int]string{
		0:  "done null",
		1:  `done {"revision": "legacy", "serverInfo": {"name": "stand-in", "version": "1"}}`,
		2:  `done [{"name": "first"}, {"name": "second"}]`,
		3:  "failed CancelledError",
		4:  `done {"name": "echo", "arguments": {"x": 1}, "asked": {"action": "accept"}, "progress": true}`,
		5:  "failed no answer in time",
		6:  "done null",
		7:  "done null",
		8:  `done {"uri": "test://7"}`,
		9:  "done null",
		10: "failed no tasks",
		11: "done null",
	}
	if diff := cmp.Diff(want, outcomes); diff != "" {
		t.Errorf("wanted - found +\n%s", diff)
	}
}

// Each driver knows every step, or says that it does not.
func TestDriversKnowAllSteps(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("steps.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Defs map[string]any `json:"$defs"`
	}
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	for _, driver := range drivers.All() {
		source, err := driver.Text()
		if err != nil {
			t.Fatal(err)
		}
		refuses := regexp.MustCompile(`this driver does not know the step`).Match(source)
		for verb := range schema.Defs {
			if !refuses && !regexp.MustCompile(`["'\s]`+regexp.QuoteMeta(verb)+`["']?[:,]`).Match(source) {
				t.Errorf("%s lacks %q", driver.Name, verb)
			}
		}
	}
}
