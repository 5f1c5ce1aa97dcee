package record_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/mcpconform/mcpconform/internal/contact"
	"github.com/mcpconform/mcpconform/internal/fault"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/record"
	"github.com/mcpconform/mcpconform/internal/runner"
	"github.com/mcpconform/mcpconform/internal/slowtest"
	"github.com/mcpconform/mcpconform/internal/target"
	"github.com/mcpconform/mcpconform/internal/worker"
	"github.com/mcpconform/mcpconform/reference/server"
	"github.com/mcpconform/mcpconform/reports"
)

// What this test binary is when its first argument says so.
const (
	asReference = "reference" // the reference server over stdio
	asMiddleman = "middleman" // a process that starts the one behind --
	asBoth      = "both"      // a middleman and the reference in one process
	reading     = "reading"   // the last argument: everything is read
)

// TestMain lets this test binary take the place of mcpconform.
func TestMain(m *testing.M) {
	if len(os.Args) < 2 {
		os.Exit(m.Run())
	}
	var err error
	switch os.Args[1] {
	case worker.Command:
		err = worker.Work(os.Stdin, os.Stdout)
	case asReference:
		err = newReference().ServeStdio(context.Background(), os.Stdin, os.Stdout)
	case asMiddleman:
		command := target.Command{Args: []string{os.Args[0], asReference}}
		_, err = record.ServeCommand(command, record.StandardStreams(), nil, ownOptions())
	case asBoth:
		err = record.ServeStdio(context.Background(), newReference().ServeStdio, record.StandardStreams(), nil, ownOptions())
	default:
		os.Exit(m.Run())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func newReference() *server.Server {
	reference, err := server.New(server.Options{})
	if err != nil {
		panic(err)
	}
	return reference
}

func ownOptions() record.StdioOptions {
	if os.Args[len(os.Args)-1] != reading {
		return record.StdioOptions{}
	}
	faults, err := fault.Parse("watched.yaml", []byte(watched))
	if err != nil {
		panic(err)
	}
	return record.StdioOptions{Changes: fault.Injection{Watched: faults}.Changes()}
}

// reference serves the reference server over HTTP, and returns its origin.
func reference(t *testing.T) string {
	t.Helper()
	reference := newReference()
	served := httptest.NewServer(reference.Handler())
	t.Cleanup(served.Close)
	t.Cleanup(reference.Close)
	return served.URL
}

const watched = `
- id: watched
  says: Is only looked for.
  when: {kind: request}
  do: [{drop: true}]
`

// watching is an injection that changes nothing and reads everything.
func watching(t *testing.T) fault.Injection {
	t.Helper()
	faults, err := fault.Parse("watched.yaml", []byte(watched))
	if err != nil {
		t.Fatal(err)
	}
	return fault.Injection{Watched: faults}
}

// verdicts are those of a run: of all pages, or of those that are most about what goes over
// the wire.
func verdicts(t *testing.T, options runner.Options) []string {
	t.Helper()
	options.Revisions = contact.Revise{Auto: true}
	options.Tool = reports.Tool{Name: "test", Version: "1"}
	if !slowtest.All() {
		options.Filter = "transports || cancellation || subscriptions"
	}
	run, err := runner.Run(context.Background(), options)
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range run.Errors {
		t.Error(problem)
	}
	var all []string
	for _, cell := range run.Cells {
		for _, result := range cell.Results {
			all = append(all, fmt.Sprintln(cell.Name(), result.ID, result.Text, result.Verdict))
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
	if testing.Short() {
		t.Skip("whole runs are for tests that are not short")
	}
	for transport, path := range map[string]string{protocol.HTTP: "/mcp", protocol.SSE: server.SSEPath} {
		through := func(origin string) []string {
			return verdicts(t, runner.Options{URL: origin + path, Transports: []string{transport}})
		}
		direct := through(reference(t))
		for name, injection := range map[string]fault.Injection{"unread": {}, "read": watching(t)} {
			t.Run(transport+", "+name, func(t *testing.T) {
				middleman, err := record.NewHTTP(reference(t), record.HTTPOptions{Changes: injection.Changes()})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(middleman.Close)
				served := httptest.NewServer(middleman)
				t.Cleanup(served.Close)
				same(t, direct, through(served.URL))
			})
		}
	}
}

func TestSameVerdictsThroughStdio(t *testing.T) {
	if testing.Short() {
		t.Skip("whole runs are for tests that are not short")
	}
	run := func(arguments ...string) []string {
		return verdicts(t, runner.Options{
			Command: target.Command{Args: append([]string{os.Args[0]}, arguments...)}, Transports: []string{protocol.Stdio},
		})
	}
	direct := run(asReference)
	for name, arguments := range map[string][]string{
		"unread, two processes": {asMiddleman}, "read, one process": {asBoth, reading},
	} {
		t.Run(name, func(t *testing.T) { same(t, direct, run(arguments...)) })
	}
}
