package runner

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/mcpconform/mcpconform/internal/contact"
	"github.com/mcpconform/mcpconform/internal/plan"
	"github.com/mcpconform/mcpconform/internal/program"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/relay"
	"github.com/mcpconform/mcpconform/internal/scenario"
	"github.com/mcpconform/mcpconform/internal/slowtest"
	"github.com/mcpconform/mcpconform/internal/target"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/internal/worker"
	"github.com/mcpconform/mcpconform/reference/client"
	"github.com/mcpconform/mcpconform/reference/server"
	"github.com/mcpconform/mcpconform/reports"
)

// TestMain lets this test binary take the place of mcpconform: a run starts
// its workers and the embedded reference by these words.
func TestMain(m *testing.M) {
	if len(os.Args) < 2 {
		os.Exit(m.Run())
	}
	switch os.Args[1] {
	case worker.Command:
		end(worker.Work(os.Stdin, os.Stdout))
	case "reference":
		if os.Args[2] == protocol.ClientRole {
			end(runReferenceClient(os.Args[3:]))
		}
		end(runReference(os.Args[2:]))
	case slowly:
		end(runSlowClient(os.Args[2], os.Args[3:]))
	case relay.Command:
		_, err := relay.Run(context.Background(), os.Args[2], os.Stdin, os.Stdout, os.Stderr, nil)
		end(err)
	}
	os.Exit(m.Run())
}

func end(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func runReference(arguments []string) error {
	options := server.Options{}
	if at := slices.Index(arguments, "--defect"); at >= 0 {
		options.Defect = arguments[at+1]
	}
	reference, err := server.New(options)
	if err != nil {
		return err
	}
	if slices.Contains(arguments, "--stdio") {
		return reference.ServeStdio(context.Background(), os.Stdin, os.Stdout)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Printf("listening on http://%s/mcp\n", listener.Addr())
	ctx, end := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // it is attached: it ends with its input
		end()
	}()
	return reference.Serve(ctx, listener)
}

func runReferenceClient(arguments []string) error {
	options := client.Options{Steps: []byte(os.Getenv(scenario.StepsVariable)), Report: os.Stdout}
	if arguments = slices.DeleteFunc(arguments, func(word string) bool { return word == "--" }); len(arguments) == 1 {
		options.URL = arguments[0]
	} else {
		options.Command = arguments
	}
	return client.Run(context.Background(), options)
}

// slowly is the word that makes this test binary a client that takes its time: at each
// revision but the newest it says nothing of it until it is started again. It never ends by
// itself.
const slowly = "slow-client"

func runSlowClient(directory string, arguments []string) error {
	revision := os.Getenv(scenario.RevisionVariable)
	err := os.Mkdir(filepath.Join(directory, revision), 0o700)
	if revision == protocol.Released()[len(protocol.Released())-1] || errors.Is(err, fs.ErrExist) {
		err = runReferenceClient(arguments)
	} else if err == nil {
		var response *http.Response
		if response, err = http.Get(arguments[0]); err == nil {
			err = response.Body.Close()
		}
	}
	if err != nil {
		return err
	}
	told := make(chan os.Signal, 1)
	signal.Notify(told, syscall.SIGTERM)
	<-told
	return nil
}

// onReference are the options of a run on the embedded reference.
func onReference(transports ...string) Options {
	return Options{Transports: transports, Revisions: contact.Revise{Auto: true}, Tool: reports.Tool{Name: "test", Version: "1"}}
}

func mustRun(t testing.TB, options Options) *reports.Run {
	t.Helper()
	found, err := Run(context.Background(), options)
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range found.Errors {
		t.Error(problem)
	}
	return found
}

func TestReferenceConforms(t *testing.T) {
	if testing.Short() {
		t.Skip("whole runs are for tests that are not short")
	}
	options := onReference()
	revisions := protocol.Released()
	if !slowtest.All() {
		revisions = revisions[:1] // the README's command checks the newest, and CI all of them
	}
	options.Revisions = contact.Revise{Listed: revisions}
	found := mustRun(t, options)
	if len(found.Cells) != len(revisions)*2 {
		t.Errorf("%d cells", len(found.Cells))
	}
	for _, cell := range found.Cells {
		if len(cell.Notices) > 0 {
			t.Errorf("%s: %q", cell.Name(), cell.Notices)
		}
		for _, result := range cell.Results {
			if result.Verdict != reports.Passed && result.Verdict != reports.Skipped {
				t.Errorf("%s: %s %q: %s %+v", cell.Name(), result.Verdict, result.Text, result.Reason, result.Failures)
			}
		}
	}
}

func TestReportIsValid(t *testing.T) {
	found := mustRun(t, onReference(protocol.HTTP))
	var written bytes.Buffer
	if err := found.Write(&written); err != nil {
		t.Fatal(err)
	}
	if _, err := reports.Read(&written); err != nil {
		t.Error(err)
	}
}

func TestSameVerdictsWithAnyNumberOfWorkers(t *testing.T) {
	slowtest.Skip(t)
	verdicts := func(workers int) []string {
		options := onReference(protocol.HTTP)
		options.Workers = workers
		var all []string
		for _, result := range mustRun(t, options).Cells[0].Results {
			all = append(all, fmt.Sprintln(result.ID, result.Text, result.Verdict, result.Reason))
		}
		return all
	}
	if one, many := verdicts(1), verdicts(6); !slices.Equal(one, many) {
		t.Errorf("one worker: %v\nsix workers: %v", one, many)
	}
}

func TestFilter(t *testing.T) {
	options := onReference(protocol.HTTP)
	options.Filter = "tools.list.answered"
	results := mustRun(t, options).Cells[0].Results
	if len(results) == 0 {
		t.Fatal("nothing ran")
	}
	for _, result := range results {
		if !slices.ContainsFunc(result.Requirements, func(one reports.Requirement) bool { return one.ID == "tools.list.answered" }) {
			t.Errorf("%q ran, too", result.Text)
		}
	}
}

func TestFilterThatMatchesNothing(t *testing.T) {
	options := onReference(protocol.HTTP)
	options.Filter = "ping.answred"
	_, err := Run(context.Background(), options)
	wrong, ok := errors.AsType[*plan.FilterError](err)
	if !ok || !strings.Contains(wrong.Reason, `did you mean "ping.answered"?`) {
		t.Errorf("got %v", err)
	}
}

// A filter without a revision means the newest at which it chooses something.
func TestFilterOfAnOlderRevision(t *testing.T) {
	if testing.Short() {
		t.Skip("whole runs are for tests that are not short")
	}
	options := onReference(protocol.HTTP)
	options.Filter = "ping.answered"
	found := mustRun(t, options)
	cell := found.Cells[0]
	if len(found.Cells) != 1 || cell.Revision != "2025-11-25" || len(cell.Results) == 0 || found.Filter != "ping.answered" {
		t.Errorf("%d cells, %s, %d results", len(found.Cells), cell.Revision, len(cell.Results))
	}
	if want := []string{"2025-11-25 is checked: the filter matches nothing at 2026-07-28, which the server speaks, too"}; !slices.Equal(cell.Notices, want) {
		t.Errorf("%q, wanted %q", cell.Notices, want)
	}
	if cell.Declared <= 10*len(cell.Results) {
		t.Errorf("%d of %d are reported", len(cell.Results), cell.Declared)
	}
}

func TestFilterOfAnotherRevision(t *testing.T) {
	options := onReference(protocol.HTTP)
	options.Filter, options.Revisions = "ping.answered", contact.Revise{Listed: []string{"2026-07-28"}}
	_, err := Run(context.Background(), options)
	wrong, ok := errors.AsType[*plan.FilterError](err)
	if !ok || wrong.Reason != `--filter "ping.answered" matches nothing at 2026-07-28; it does at 2024-11-05, 2025-03-26, 2025-06-18 and 2025-11-25, which --revision names` {
		t.Errorf("got %v", err)
	}
}

func TestFilterOfAnotherTransport(t *testing.T) {
	options := onReference(protocol.HTTP)
	options.Filter = "basic/transports/stdio && stdio"
	_, err := Run(context.Background(), options)
	wrong, ok := errors.AsType[*plan.FilterError](err)
	if !ok || !strings.HasSuffix(wrong.Reason, "matches nothing over http") {
		t.Errorf("got %v", err)
	}
}

// The words of a filter are those of the reports.
func TestFiltersByWhatReportsPrint(t *testing.T) {
	options := onReference(protocol.Stdio)
	options.Revisions = contact.Revise{Listed: []string{"2025-11-25"}}
	options.Filter = "basic/utilities/ping || logging.set-level && MUST"
	for _, result := range mustRun(t, options).Cells[0].Results {
		if result.Page != "basic/utilities/ping" && !strings.HasPrefix(result.ID, "logging.set-level") {
			t.Errorf("%s on %s", result.ID, result.Page)
		}
	}
}

// A rule judges what all checks provoke, also where a check has the same requirement.
func TestFilterOfARule(t *testing.T) {
	if testing.Short() {
		t.Skip("whole runs are for tests that are not short")
	}
	all, requirements, err := plan.All(protocol.ServerRole, protocol.Released())
	if err != nil {
		t.Fatal(err)
	}
	const id = "base.requests.answered-once"
	if _, known := requirements.Get(id); !known || !slices.ContainsFunc(all["2026-07-28"], func(one plan.Declared) bool { return one.Rule && one.Requirements[0] == id }) {
		t.Fatalf("%s is no requirement of a rule", id)
	}
	options := onReference(protocol.HTTP)
	options.Filter = id
	results := mustRun(t, options).Cells[0].Results
	if len(results) == 0 {
		t.Fatal("nothing is reported")
	}
	for _, result := range results {
		if result.ID != id || result.Verdict != reports.Passed {
			t.Errorf("%s %s %s", result.ID, result.Verdict, result.Reason)
		}
	}
}

func TestTranscripts(t *testing.T) {
	options := onReference(protocol.Stdio)
	options.Filter = "progress"
	options.Transcripts = t.TempDir()
	mustRun(t, options)
	files, err := filepath.Glob(filepath.Join(options.Transcripts, protocol.Newest()+"-stdio", "*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	for _, name := range files {
		file, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		_, events, err := transcript.Read(file)
		if err != nil || len(events) == 0 {
			t.Errorf("%s: %d events, %v", name, len(events), err)
		}
		if err := file.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A run keeps the exchanges of checks that passed where they are asked for.
func TestExchangesOfWhatPassed(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	for _, shown := range []worker.Shown{worker.OfFailures, worker.OfUnproven, worker.OfAll} {
		options := onReference(protocol.HTTP)
		options.Filter, options.Exchanges = "ping.answered", shown
		for _, cell := range mustRun(t, options).Cells {
			for _, result := range cell.Results {
				if has := len(result.Exchange) > 0; result.Kind == reports.KindCheck && result.Verdict == reports.Passed && has != (shown == worker.OfAll) {
					t.Errorf("shown are %d: %d steps of %s", shown, len(result.Exchange), result.Text)
				}
			}
		}
	}
}

func TestRevisionThatIsNotSpoken(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	found := mustRun(t, Options{
		Executable: []string{self}, Command: target.Command{Args: []string{self, "reference", "--stdio"}},
		Revisions: contact.Revise{Listed: []string{"2025-06-18"}}, Filter: "ping",
	})
	others := slices.DeleteFunc(protocol.Released(), func(one string) bool { return one == "2025-06-18" })
	if cell := found.Cells[0]; !cell.Spoken || !slices.Equal(cell.AlsoSpeaks, others) {
		t.Errorf("%+v", cell)
	}
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(program.ErrInterrupted)
	found, err := Run(ctx, onReference(protocol.HTTP))
	if found == nil && err == nil {
		t.Error("neither a report nor an error")
	}
	if found != nil && found.Interrupted == "" {
		t.Error("the report does not say that the run was interrupted")
	}
}

func BenchmarkReference(b *testing.B) {
	for _, role := range protocol.Roles() {
		for _, transport := range []string{protocol.HTTP, protocol.Stdio} {
			b.Run(role+"/"+transport, func(b *testing.B) {
				for b.Loop() {
					options := onReference(transport)
					options.Role = role
					mustRun(b, options)
				}
			})
		}
	}
}
