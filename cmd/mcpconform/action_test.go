//go:build linux

package main

import (
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
)

// action is the file that makes this repository an action of GitHub.
type action struct {
	Inputs map[string]struct{ Description, Default string }
	Runs   struct {
		Steps []struct {
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

// The script gives the command line what the inputs say, each value whole.
func TestTheScriptOfTheAction(t *testing.T) {
	t.Parallel()
	script, err := filepath.Abs("../../.ci/action")
	if err != nil {
		t.Fatal(err)
	}
	programs := t.TempDir()
	echo := "#!/bin/sh\nprintf '%s\\n' \"$@\"\n"
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
			output, err := command.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, output)
			}
			if diff := cmp.Diff(one.wanted, strings.Split(strings.TrimSuffix(string(output), "\n"), "\n")); diff != "" {
				t.Errorf("wanted - found +\n%s", diff)
			}
		})
	}
}
