package fault_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/mcpconform/mcpconform/internal/conform"
	"github.com/mcpconform/mcpconform/internal/fault"
	"github.com/mcpconform/mcpconform/internal/runner"
	"github.com/mcpconform/mcpconform/reference/server"
	"github.com/mcpconform/mcpconform/reports"
)

// TestMain lets this test binary take the place of mcpconform.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == runner.WorkerCommand {
		if err := runner.Work(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// reference serves the reference server over HTTP.
func reference(t *testing.T) string {
	t.Helper()
	reference, err := server.New(server.Options{})
	if err != nil {
		t.Fatal(err)
	}
	served := httptest.NewServer(reference.Handler())
	t.Cleanup(served.Close)
	t.Cleanup(reference.Close)
	return served.URL + "/mcp"
}

// watching is a laying that changes nothing and reads everything.
func watching(t *testing.T) fault.Laying {
	t.Helper()
	faults, err := fault.Parse("watched.yaml", []byte(`
- id: watched
  says: Is only looked for.
  when: {kind: request}
  do: [{drop: true}]
`))
	if err != nil {
		t.Fatal(err)
	}
	return fault.Laying{Watched: faults}
}

// verdicts are those of a whole run.
func verdicts(t *testing.T, options runner.Options) []string {
	t.Helper()
	options.Revisions = runner.Revise{Auto: true}
	options.Tool = reports.Tool{Name: "test", Version: "1"}
	run, err := runner.Run(context.Background(), options)
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range run.Errors {
		t.Error(problem)
	}
	var all []string
	for _, leg := range run.Legs {
		for _, result := range leg.Results {
			all = append(all, fmt.Sprintln(leg.Name(), result.ID, result.Text, result.Verdict))
		}
	}
	return all
}

// same fails the test unless two runs found the same.
func same(t *testing.T, direct, through []string) {
	t.Helper()
	if len(direct) < 100 || !strings.Contains(strings.Join(direct, ""), string(reports.Passed)) {
		t.Fatalf("the run without a middleman is no measure: %v", direct)
	}
	for _, line := range through {
		if !slices.Contains(direct, line) {
			t.Errorf("only through the middleman: %s", line)
		}
	}
	for _, line := range direct {
		if !slices.Contains(through, line) {
			t.Errorf("only without the middleman: %s", line)
		}
	}
}

// Ginkgo takes no two suites of one process at the same time: these tests are not
// parallel.
func TestSameVerdictsThroughHTTP(t *testing.T) {
	direct := verdicts(t, runner.Options{URL: reference(t), Transports: []string{conform.HTTP}})
	for name, laying := range map[string]fault.Laying{"unread": {}, "read": watching(t)} {
		t.Run(name, func(t *testing.T) {
			middleman, err := fault.NewHTTP(reference(t), fault.HTTPOptions{Laying: laying})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(middleman.Close)
			served := httptest.NewServer(middleman)
			t.Cleanup(served.Close)
			same(t, direct, verdicts(t, runner.Options{URL: served.URL + "/mcp", Transports: []string{conform.HTTP}}))
		})
	}
}
