package main

import (
	"os"
	"strings"
	"testing"

	"github.com/mcpconform/mcpconform/internal/scenario"
)

// runReferenceClient lets the reference client do steps.
func runReferenceClient(t *testing.T, steps string, arguments ...string) outcome {
	t.Helper()
	environment := []string{scenario.StepsVariable + "=" + steps, scenario.RevisionVariable + "="}
	return begin(t, t.TempDir(), environment, append([]string{"reference", "client"}, arguments...)...).wait()
}

func TestReferenceClient(t *testing.T) {
	t.Parallel()
	found := runReferenceClient(t, `[{"do":"connect"},{"do":"call","tool":"test_simple_text"},{"do":"close"}]`,
		"--revision", "2025-06-18", "--", os.Args[0], "reference", "server", "--stdio")
	found.demand(t, exitConforms, `"revision":"2025-06-18"`, `{"step":2,"outcome":"done"}`)
	if strings.Count(found.stdout, `"outcome":"done"`) != 3 || found.stderr != "" {
		t.Errorf("found %s", found)
	}
}

func TestReferenceClientIsUsedWrongly(t *testing.T) {
	t.Parallel()
	const nobody = "http://127.0.0.1:1/"
	for name, one := range map[string]struct {
		steps     string
		arguments []string
		says      string
	}{
		"no server":   {"", nil, "needs the URL of a server"},
		"no URL":      {"", []string{"ftp://example.com/"}, "must begin with http"},
		"steps":       {`[{"do":"conect"}]`, []string{nobody}, "MCPCONFORM_STEPS: step 0"},
		"revision":    {"", []string{"--revision", "2025-11-52", nobody}, `did you mean "2025-11-25"`},
		"fault":       {"", []string{"--fault", "never-wait", nobody}, `did you mean "never-waits"`},
		"recorded":    {"", []string{"--fault", "client-pages-first-only", nobody}, "mcpconform selftest --role client --filter client-pages-first-only"},
		"of a server": {"", []string{"--fault", "version-not-echoed", nobody}, "one of a server"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found := runReferenceClient(t, one.steps, one.arguments...)
			found.demand(t, exitUsage, one.says)
			found.oneLine(t)
		})
	}
	runReferenceClient(t, "", "--fault", "never-waits", nobody).demand(t, exitDoesNot, "cannot connect", `"outcome":"failed"`)
}
