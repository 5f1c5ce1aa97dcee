package starter_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/mcpconform/mcpconform/internal/config"
	"github.com/mcpconform/mcpconform/internal/provoke"
	"github.com/mcpconform/mcpconform/internal/runner"
	"github.com/mcpconform/mcpconform/internal/starter"
	"github.com/mcpconform/mcpconform/internal/tryout"
)

// odd is what a target may call itself, and say.
const odd = "a: {b} # \"c\"\n- d\u2028\u0085\ufeff\x7f\x00é ']"

func tool(name string, outcome tryout.Outcome, says string, kinds ...string) tryout.Tool {
	return tryout.Tool{
		Provocation: provoke.Provocation{Tool: name, Arguments: map[string]any{"query": odd}},
		Outcome:     outcome, Says: says, Kinds: kinds,
	}
}

// What a config says is what was seen, with all names that a target can give.
func TestConfig(t *testing.T) {
	t.Parallel()
	slow := tool("slow "+odd, tryout.Answered, "", "progress")
	slow.Slow, slow.Took = true, 3*time.Second
	changes := tool("changes", tryout.Answered, "", "resource-updated")
	changes.Resource = "file:///" + odd
	look := &runner.Look{
		Tried: tryout.Found{Tools: []tryout.Tool{
			slow, changes, tool(odd, tryout.Refused, odd), tool("fails", tryout.Failed, ""),
		}},
		Unmade: []string{odd}, Uncalled: []string{"drop", odd}, Missing: []string{"elicitation"},
	}
	for name, server := range map[string]starter.Server{
		"command": {Command: []string{"./my server", odd}, Calls: provoke.CallReadOnly, Secrets: []string{"--env"}},
		"URL":     {URL: "http://127.0.0.1:3000/mcp", Start: []string{"./serve", "--port=3000"}, Calls: provoke.CallAll, Secrets: []string{"--header"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, err := starter.Config(server, look)
			if err != nil {
				t.Fatal(err)
			}
			read, err := config.Parse("mcpconform.yaml", text)
			if err != nil {
				t.Fatal(err)
			}
			arguments := map[string]any{"query": odd}
			want := config.File{
				URL: server.URL, Command: server.Command, Start: server.Start, CallTools: string(server.Calls),
				Arguments: map[string]map[string]any{"slow " + odd: arguments, "changes": arguments},
				Provocations: map[string]provoke.Provocation{
					"progress":         {Tool: "slow " + odd, Arguments: arguments},
					"resource-updated": {Tool: "changes", Arguments: arguments, Resource: "file:///" + odd},
				},
				Never: []string{},
			}
			if diff := cmp.Diff(want, read); diff != "" {
				t.Errorf("wanted - found +\n%s\n%s", diff, text)
			}
			for _, says := range []string{
				"# slow: ", "takes 3s and reports progress", "refused: a: {b}", "Not called: drop a: {b}",
				"elicitation ", "sends a form elicitation", server.Secrets[0] + " was given",
			} {
				if !strings.Contains(string(text), says) {
					t.Errorf("it does not say %q\n%s", says, text)
				}
			}
		})
	}
}

func TestConfigOfAServerWithoutTools(t *testing.T) {
	t.Parallel()
	text, err := starter.Config(starter.Server{Command: []string{"x"}, Calls: provoke.CallReadOnly}, &runner.Look{})
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "\narguments:") || strings.Contains(string(text), "Not called") {
		t.Errorf("it speaks of tools\n%s", text)
	}
}

// pipelines is the text for each system.
func pipelines(t *testing.T, use starter.Use) map[string]string {
	t.Helper()
	texts := map[string]string{}
	for _, ci := range starter.Systems() {
		text, err := starter.Pipeline(ci, use)
		if err != nil {
			t.Fatal(err)
		}
		texts[ci.Name] = string(text)
	}
	return texts
}

func TestPipelines(t *testing.T) {
	t.Parallel()
	for _, url := range []bool{true, false} {
		for name, text := range pipelines(t, starter.Use{URL: url, Config: " --config other.yaml"}) {
			if !strings.Contains(text, "mcpconform server --config other.yaml --junit") ||
				strings.Contains(text, "and start it") != url {
				t.Errorf("%s: %s", name, text)
			}
		}
	}
	for name, text := range pipelines(t, starter.Use{SDK: "sdk:typescript@1.32"}) {
		if !strings.Contains(text, "include sdk:typescript@1.32 there") {
			t.Errorf("%s: %s", name, text)
		}
	}
}

// A pipeline installs the release that wrote it; of another build, none could be had.
func TestPipelinesPin(t *testing.T) {
	t.Parallel()
	for version, installed := range map[string]string{
		"v1.2.3": "v1.2.3", "v2.0.0-rc.1": "v2.0.0-rc.1",
		"(devel)": "latest", "unknown": "latest", "v1.2.3+dirty": "latest", "v1.2.3$(x)": "latest",
		"v0.0.0-20261126114215-1efa977abcde": "latest", "v1.2.4-0.20261126114215-1efa977abcde": "latest",
	} {
		for name, text := range pipelines(t, starter.Use{Version: version}) {
			if !strings.Contains(text, "/cmd/mcpconform@"+installed+"\n") ||
				strings.Contains(text, "in place of latest") != (installed == "latest") {
				t.Errorf("%s of %s: %s", name, version, text)
			}
		}
	}
}

// What a pipeline runs has the baseline, if there is one, and writes what is kept.
func TestPipelinesRun(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("it has no sh")
	}
	echo := t.TempDir()
	if err := os.WriteFile(filepath.Join(echo, "mcpconform"), []byte("#!/bin/sh\nprintf '%s\\n' \"$*\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range pipelines(t, starter.Use{Version: "v1.2.3"}) {
		script := text
		if name != "shell" {
			script = scriptOf(t, text)
		}
		for _, known := range []bool{false, true} {
			directory := t.TempDir()
			want := "server --junit mcpconform.xml --json mcpconform.json --html mcpconform.html"
			if known {
				want += " --baseline mcpconform-baseline.yaml"
				if err := os.WriteFile(filepath.Join(directory, "mcpconform-baseline.yaml"), nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.WriteFile(filepath.Join(directory, "run"), []byte(script), 0o600); err != nil {
				t.Fatal(err)
			}
			command := exec.CommandContext(t.Context(), "sh", "-eu", "run")
			command.Dir, command.Env = directory, []string{"PATH=" + echo + ":" + os.Getenv("PATH")}
			output, err := command.CombinedOutput()
			if diff := cmp.Diff(want+"\n", string(output)); err != nil || diff != "" {
				t.Errorf("%s: %v, wanted - found +\n%s", name, err, diff)
			}
		}
		for _, file := range []string{"mcpconform.xml", "mcpconform.json", "mcpconform.html"} {
			if name != "shell" && strings.Count(text, file) != 2 {
				t.Errorf("%s writes %s and does not keep it: %s", name, file, text)
			}
		}
	}
}

// scriptOf is the last one that a workflow or a pipeline has.
func scriptOf(t *testing.T, text string) string {
	t.Helper()
	var read struct {
		Mcpconform struct{ Script []string }
		Jobs       map[string]struct{ Steps []struct{ Run string } }
	}
	if err := yaml.Unmarshal([]byte(text), &read); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	scripts := read.Mcpconform.Script
	for _, job := range read.Jobs {
		for _, step := range job.Steps {
			if step.Run != "" {
				scripts = append(scripts, step.Run)
			}
		}
	}
	if len(scripts) < 2 {
		t.Fatalf("it has no script: %s", text)
	}
	return scripts[len(scripts)-1]
}
