package runner

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpconform/mcpconform/internal/contact"
	"github.com/mcpconform/mcpconform/internal/plan"
	"github.com/mcpconform/mcpconform/internal/scenario"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/reports"
)

// judging makes one at a revision of the handshake era.
func judging(t *testing.T, options Options) *Judging {
	t.Helper()
	options.Tool = reports.Tool{Name: "test", Version: "1"}
	made, err := NewJudging(options, "2025-11-25")
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// play opens a scenario, sends it messages of a client, and returns what came.
func play(t *testing.T, judging *Judging, scenario *scenario.Scenario, messages ...string) *scenario.Recording {
	t.Helper()
	playing := judging.Open(scenario)
	defer playing.Forget()
	defer playing.Close()
	server := httptest.NewServer(playing)
	defer server.Close()
	session := ""
	for _, message := range messages {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+"/mcp", bytes.NewReader([]byte(message)))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Accept", "application/json, text/event-stream")
		if session != "" {
			request.Header.Set("Mcp-Session-Id", session)
			request.Header.Set("Mcp-Protocol-Version", judging.Revision())
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, response.Body)
		_ = response.Body.Close()
		if assigned := response.Header.Get("Mcp-Session-Id"); assigned != "" {
			session = assigned
		}
	}
	return playing.Recording()
}

// What an ordinary client says.
const (
	saysInitialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",` +
		`"capabilities":{},"clientInfo":{"name":"a-client","version":"7"}}}`
	saysInitialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	saysPing        = `{"jsonrpc":"2.0","id":3,"method":"ping"}`
	saysList        = `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`
)

// verdictOf returns the verdict of the check or rule that stands first under an id.
func verdictOf(t *testing.T, found *reports.Run, id string) reports.Result {
	t.Helper()
	for _, result := range found.Cells[0].Results {
		if result.ID == id {
			return result
		}
	}
	t.Fatalf("no result of %s", id)
	return reports.Result{}
}

func TestRecordingsAreJudged(t *testing.T) {
	to := judging(t, Options{})
	good := play(t, to, scenario.Meeting, saysInitialize, saysInitialized, saysList)

	found, err := to.Judge(t.Context(), good)
	if err != nil {
		t.Fatal(err)
	}

	if result := verdictOf(t, found, "lifecycle.initialized.sent"); result.Verdict != reports.Passed {
		t.Errorf("%+v", result)
	}
	if name := found.Cells[0].Target.Name; name != "a-client" {
		t.Errorf("the client is named %q", name)
	}
	if !found.Conforms(false) {
		t.Errorf("%+v", found)
	}
	// One scenario of many shows that much, and not that the client conforms.
	counts := found.Counts()
	want := fmt.Sprintf("No failure found in %d of %d checks and rules at 2025-11-25 (1 of %d scenarios played)",
		counts.Passed, counts.Total(), len(to.Scenes()))
	if got := found.Conclusion(); got != want || counts.Inconclusive == 0 {
		t.Errorf("%s, wanted %s", got, want)
	}

	brief := play(t, to, scenario.Meeting, saysInitialize, saysList)
	found, err = to.Judge(t.Context(), brief)
	if err != nil {
		t.Fatal(err)
	}
	if result := verdictOf(t, found, "lifecycle.initialized.sent"); result.Verdict != reports.Failed {
		t.Errorf("%+v", result)
	}
}

func TestRulesJudgeRecordingsAtWhichNoCheckLooks(t *testing.T) {
	to := judging(t, Options{Filter: "base.components.required"})
	other := play(t, to, &scenario.Scenario{Name: "unseen"}, saysInitialize, saysInitialized, `{"jsonrpc":"2.0","id":null,"method":"ping"}`)

	all, err := judging(t, Options{}).Judge(t.Context(), other)
	if err != nil {
		t.Fatal(err)
	}

	broken := slices.ContainsFunc(all.Cells[0].Results, func(result reports.Result) bool {
		return result.Kind == reports.KindRule && result.Verdict == reports.Failed
	})
	if !broken {
		t.Error("no rule has seen a null id")
	}
}

func TestAScenarioThatWasNotPlayedIsInconclusive(t *testing.T) {
	to := judging(t, Options{})
	found, err := to.Judge(t.Context(), play(t, to, scenario.Meeting, saysInitialize, saysInitialized, saysList))
	if err != nil {
		t.Fatal(err)
	}
	looking := map[string]bool{}
	for _, scene := range to.Scenes()[1:] {
		for _, check := range scene.Checks {
			looking[plan.CheckName(check.Group, check.Text)] = true
		}
	}
	for _, result := range found.Cells[0].Results {
		if !looking[plan.CheckName(result.Group, result.Text)] {
			continue
		}
		if result.Verdict != reports.Inconclusive && result.Verdict != reports.Skipped || result.Verdict == reports.Inconclusive && result.Hint == "" {
			t.Errorf("%q: %s %s", result.Text, result.Verdict, result.Reason)
		}
	}
	if len(looking) == 0 {
		t.Error("no check looks in another scenario")
	}
}

func TestAClientOfAnotherEraIsNotJudged(t *testing.T) {
	made, err := NewJudging(Options{Tool: reports.Tool{Name: "test", Version: "1"}}, "2026-07-28")
	if err != nil {
		t.Fatal(err)
	}
	found, err := made.Judge(t.Context(), play(t, made, scenario.Meeting, saysInitialize, saysInitialized))
	if err != nil {
		t.Fatal(err)
	}
	if cell := found.Cells[0]; cell.Spoken || cell.Note == "" || len(cell.Results) > 0 {
		t.Errorf("%+v", cell)
	}
}

func TestNobodyCame(t *testing.T) {
	to := judging(t, Options{})
	if _, err := to.Conclude(t.Context(), play(t, to, scenario.Meeting)); err == nil {
		t.Error("nobody came, and that is no error")
	} else if _, expected := errors.AsType[*contact.TargetError](err); !expected {
		t.Errorf("%T %v", err, err)
	}
}

func TestJudgingKnowsItsFilter(t *testing.T) {
	_, err := NewJudging(Options{Filter: "no-such-thing"}, "2025-11-25")
	if _, expected := errors.AsType[*plan.FilterError](err); !expected {
		t.Errorf("%T %v", err, err)
	}
	one := judging(t, Options{Filter: "base.components.required"})
	if scenes := one.Scenes(); len(scenes) != 1 || scenes[0].Scenario != scenario.Meeting || len(scenes[0].Checks) != 1 {
		t.Errorf("%+v", scenes)
	}
}

func TestTranscriptsOfWhatWasPlayedAreKeptAtTheEnd(t *testing.T) {
	directory := t.TempDir()
	to := judging(t, Options{Transcripts: directory})
	recording := play(t, to, scenario.Meeting, saysInitialize, saysInitialized, saysList)
	kept := func() []string {
		files, err := filepath.Glob(filepath.Join(directory, "*", "*.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		return files
	}
	if _, err := to.Judge(t.Context(), recording); err != nil {
		t.Fatal(err)
	}
	if early := kept(); len(early) > 0 {
		t.Errorf("%v", early)
	}

	if _, err := to.Conclude(t.Context(), recording); err != nil {
		t.Fatal(err)
	}

	files := kept()
	if len(files) != 1 {
		t.Fatalf("%v", files)
	}
	file, err := os.Open(files[0])
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	_, events, err := transcript.Read(file)
	if err != nil || len(events) != len(recording.Connections[0].Events) {
		t.Errorf("%d events, %v", len(events), err)
	}
}

// TestPeopleAreToldWhatToDo lets a client that does little come to every scenario: who
// lets it do things by hand writes no steps and no standard output.
func TestPeopleAreToldWhatToDo(t *testing.T) {
	to := judging(t, Options{})
	var recordings []*scenario.Recording
	for _, scene := range to.Scenes() {
		recordings = append(recordings, play(t, to, scene.Scenario, saysInitialize, saysInitialized, saysPing))
	}
	found, err := to.Judge(t.Context(), recordings...)
	if err != nil {
		t.Fatal(err)
	}
	inconclusive := 0
	for _, result := range found.Cells[0].Results {
		if result.Verdict != reports.Inconclusive {
			continue
		}
		inconclusive++
		for _, foreign := range []string{`"do"`, scenario.StepsVariable, "standard output", scenario.URLPlace} {
			if strings.Contains(result.Hint+result.Reason, foreign) {
				t.Errorf("%q speaks of %s: %s: %s", result.Text, foreign, result.Reason, result.Hint)
			}
		}
		if result.Hint == "" {
			t.Errorf("%q has no hint: %s", result.Text, result.Reason)
		}
	}
	if inconclusive == 0 {
		t.Error("nothing is inconclusive")
	}
}
