package starter_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

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

// What a config says is what was seen, whatever the target calls things.
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
				"elicitation ", "asks the client for a form", server.Secrets[0] + " was given",
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

func TestPipelines(t *testing.T) {
	t.Parallel()
	for _, ci := range starter.Systems() {
		for _, url := range []bool{true, false} {
			text, err := starter.Pipeline(ci, url)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(text), "mcpconform server --junit mcpconform.xml") ||
				strings.Contains(string(text), "and start it") != url {
				t.Errorf("%s: %s", ci.Name, text)
			}
		}
	}
}
