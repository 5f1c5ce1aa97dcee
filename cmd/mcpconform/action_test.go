//go:build linux

package main

import (
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/mcpconform/mcpconform/reports"
)

// action is the file that makes this repository an action of GitHub.
type action struct {
	Inputs  map[string]struct{ Description, Default string }
	Outputs map[string]struct{ Description, Value string }
	Runs    struct {
		Steps []struct {
			ID  string
			Run string
			Env map[string]string
		}
	}
}

func readAction(t *testing.T) action {
	t.Helper()
	text, err := os.ReadFile("../../action.yml")
	if err != nil {
		t.Fatal(err)
	}
	var read action
	if err := yaml.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	return read
}

// variableOf is the one in which an input comes to the script.
func variableOf(input string) string {
	if slices.Contains([]string{"role", "command", "arguments", "strict"}, input) {
		return strings.ToUpper(input)
	}
	return "FLAG_" + strings.ToUpper(strings.ReplaceAll(input, "-", "_"))
}

// Each input is said what it is for, reaches the script, and is a flag.
func TestInputsOfTheAction(t *testing.T) {
	t.Parallel()
	read := readAction(t)
	env := map[string]string{}
	for _, step := range read.Runs.Steps {
		maps.Copy(env, step.Env)
	}
	for input, said := range read.Inputs {
		if said.Description == "" {
			t.Errorf("%s is not described", input)
		}
		name := variableOf(input)
		if want := "${{ inputs." + input + " }}"; env[name] != want {
			t.Errorf("%s is %q, wanted %q", name, env[name], want)
		}
		if flag := newServer().Flags().Lookup(input); strings.HasPrefix(name, "FLAG_") && flag == nil {
			t.Errorf("mcpconform server has no flag --%s", input)
		}
		delete(env, name)
	}
	if len(env) > 0 {
		t.Errorf("no input fills %v", env)
	}
}

// Every flag that an input gives reaches the command line.
func TestEachInputIsAFlag(t *testing.T) {
	t.Parallel()
	script, err := os.ReadFile("../../.ci/action")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(script), "for name in ")
	list, _, _ = strings.Cut(list, ";")
	for input := range readAction(t).Inputs {
		if is := strings.HasPrefix(variableOf(input), "FLAG_"); is != slices.Contains(strings.Fields(list), input) {
			t.Errorf("%s: a flag %v, in .ci/action %q", input, is, list)
		}
	}
}

// What others have written runs at a commit that was looked at, in our own workflows, in those that
// init and matrix write, and in the action: a tag can be moved.
func TestActionsArePinned(t *testing.T) {
	t.Parallel()
	uses := regexp.MustCompile(`uses: *(\S+)(.*)`)
	pinned := regexp.MustCompile(`^[\w./-]+@[0-9a-f]{40}$`)
	files, err := filepath.Glob("../../.github/workflows/*.yml")
	if err != nil {
		t.Fatal(err)
	}
	commits := map[string]string{}
	for _, file := range append(files, "../../action.yml", "../../internal/starter/templates/github.yml", "../../internal/matrix/engines/github.yaml") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		found := uses.FindAllStringSubmatch(string(text), -1)
		if len(found) == 0 {
			t.Errorf("%s uses nothing", file)
		}
		for _, one := range found {
			name, commit, _ := strings.Cut(one[1], "@")
			if !pinned.MatchString(one[1]) || !strings.HasPrefix(one[2], " # v") {
				t.Errorf("%s: %s: name its commit, and its version behind it", file, one[0])
			}
			if other := commits[name]; other != "" && other != commit+one[2] {
				t.Errorf("%s: %s%s is at %s elsewhere", file, one[1], one[2], other)
			}
			commits[name] = commit + one[2]
		}
	}
}

// Each output is described, and one that the step writes.
func TestOutputsOfTheAction(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	settings := &settings{}
	settings.JSON, settings.JUnit, settings.HTML = "run.json", "run.xml", "run.html"
	if err := writeStepOutputs(&text, settings.outputs(), &reports.Run{}); err != nil {
		t.Fatal(err)
	}
	written := stepOutputs(t, text.String())
	written["status"] = "0" // by the script
	read := readAction(t)
	for name, said := range read.Outputs {
		if _, there := written[name]; !there || said.Description == "" || said.Value != "${{ steps.run.outputs."+name+" }}" {
			t.Errorf("%s: %+v, written: %v", name, said, there)
		}
		delete(written, name)
	}
	if steps := read.Runs.Steps; len(written) > 0 || steps[len(steps)-1].ID != "run" {
		t.Errorf("no output is %v, of the step %q", written, steps[len(steps)-1].ID)
	}
}

// The outputs of a step are the conclusion, the counts and the paths of the reports. No value
// can add another output.
func TestStepOutputs(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	const odd = "page\nstatus=0\nx<<y\n.html"
	one := prepare(t, directory, []string{"GITHUB_OUTPUT=" + filepath.Join(directory, "outputs")}, slices.Concat(
		[]string{"server", "--revision", "2025-11-25", "--filter", "resources.uri.validated", "--json", "run.json", "--html", odd},
		faulty())...)
	one.start()
	found := one.wait()
	found.demand(t, exitDoesNot)
	text, err := os.ReadFile(filepath.Join(directory, "outputs"))
	if err != nil {
		t.Fatal(err)
	}
	wanted := map[string]string{
		"conclusion": "Does not conform to 2025-11-25 (--filter resources.uri.validated)",
		"passed":     "0", "failed": "1", "known": "0", "warned": "0", "skipped": "0", "inconclusive": "0",
		"json": "run.json", "html": odd,
	}
	if diff := cmp.Diff(wanted, stepOutputs(t, string(text))); diff != "" {
		t.Errorf("wanted - found +\n%s", diff)
	}
}

// stepOutputs reads the file of GITHUB_OUTPUT as the runner does.
func stepOutputs(t *testing.T, text string) map[string]string {
	t.Helper()
	outputs := map[string]string{}
	for text != "" {
		line, rest, _ := strings.Cut(text, "\n")
		name, end, heredoc := strings.Cut(line, "<<")
		value, rest, ended := strings.Cut(rest, "\n"+end+"\n")
		if !heredoc || !ended || len(end) < 20 {
			t.Fatalf("%q is no output: %s", line, text)
		}
		outputs[name], text = value, rest
	}
	return outputs
}

// The script gives the command line what the inputs say, each value whole.
func TestTheScriptOfTheAction(t *testing.T) {
	t.Parallel()
	script, err := filepath.Abs("../../.ci/action")
	if err != nil {
		t.Fatal(err)
	}
	programs := t.TempDir()
	echo := "#!/bin/sh\nprintf '%s\\n' \"$@\"\nexit 3\n"
	if err := os.WriteFile(filepath.Join(programs, "mcpconform"), []byte(echo), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, one := range map[string]struct {
		inputs map[string]string
		wanted []string
	}{
		"nothing": {nil, []string{"server"}},
		"a command": {
			map[string]string{"command": "node  server.js --all *", "filter": "server/tools && MUST", "strict": "true"},
			[]string{"server", "--filter", "server/tools && MUST", "--strict", "--", "node", "server.js", "--all", "*"},
		},
		"a URL": {
			map[string]string{"role": "authorization-server", "url": "http://127.0.0.1:1/$(x)", "call-tools": "none", "arguments": "-v --timeout 9s", "strict": "false"},
			[]string{"authorization-server", "--url", "http://127.0.0.1:1/$(x)", "--call-tools", "none", "-v", "--timeout", "9s"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			command := exec.CommandContext(t.Context(), "bash", script)
			command.Env = []string{"PATH=" + programs + ":" + os.Getenv("PATH"), "FLAG_NETWORK=true", "FLAG_HEADER=X-Other: x"}
			for input := range readAction(t).Inputs {
				command.Env = append(command.Env, variableOf(input)+"="+one.inputs[input])
			}
			outputs := filepath.Join(t.TempDir(), "outputs")
			command.Env = append(command.Env, "GITHUB_OUTPUT="+outputs)
			output, err := command.CombinedOutput()
			if exit, is := errors.AsType[*exec.ExitError](err); !is || exit.ExitCode() != 3 {
				t.Fatalf("%v\n%s", err, output)
			}
			if text, err := os.ReadFile(outputs); err != nil || string(text) != "status=3\n" {
				t.Errorf("%v, outputs: %s", err, text)
			}
			if diff := cmp.Diff(one.wanted, strings.Split(strings.TrimSuffix(string(output), "\n"), "\n")); diff != "" {
				t.Errorf("wanted - found +\n%s", diff)
			}
		})
	}
}
