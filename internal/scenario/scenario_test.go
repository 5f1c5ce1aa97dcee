package scenario_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/scenario"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// driver runs a client over HTTP that is a function.
func driver(launch scenario.Launch) scenario.Driver {
	var named atomic.Int64
	return scenario.Driver{
		Revision: "2025-11-25", Transport: protocol.HTTP, Launch: launch, Reply: 20 * time.Second, Whole: time.Minute,
		Name: func(of string) string { return fmt.Sprintf("%s-%d", of, named.Add(1)) },
	}
}

// post sends one message, as a client does that knows nothing else.
func post(ctx context.Context, url, message string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(message))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, text/event-stream")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	return response.Body.Close()
}

const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`

func TestRun(t *testing.T) {
	t.Parallel()
	one := &scenario.Scenario{
		Name: "greeting", Steps: scenario.Steps{scenario.ToConnect(), scenario.ToCall(scripted.AddNumbers, nil)},
		Context: map[string]any{"key": "value"}, Named: "2025-06-18",
	}
	var invoked scenario.Invocation
	recording, logs, err := driver(func(ctx context.Context, invocation scenario.Invocation) (scenario.Exit, error) {
		invoked = invocation
		return scenario.Exit{Status: "exited with status 0"}, post(ctx, invocation.URL, hello)
	}).Run(t.Context(), one)
	if err != nil {
		t.Fatal(err)
	}
	invoked.URL, invoked.Exited = "", nil
	want := scenario.Invocation{
		Scenario: "greeting", Transport: "http", Official: "tools_call", Revision: "2025-06-18", Context: []byte(`{"key":"value","name":"tools_call"}`),
		Steps: []byte(fmt.Sprintf(`[{"do":"connect","id":"connect"},{"arguments":{},"do":"call","id":"call-add-numbers","tool":%q}]`, scripted.AddNumbers)),
	}
	if difference := cmp.Diff(want, invoked); difference != "" {
		t.Error(difference)
	}
	if !recording.Connected() || recording.Messages() != 1 || !recording.Exit.Well() || recording.Connections[0].Name != "greeting-1" {
		t.Errorf("recorded %+v", recording)
	}
	if len(logs) != len(recording.Connections) || !recording.Connections[0].Complete {
		t.Errorf("%d logs of %d connections", len(logs), len(recording.Connections))
	}
}

func TestRunOfAClientThatCannotBeStarted(t *testing.T) {
	t.Parallel()
	broken := errors.New("no such file")
	_, _, err := driver(func(context.Context, scenario.Invocation) (scenario.Exit, error) {
		return scenario.Exit{}, broken
	}).Run(t.Context(), scenario.Meeting)
	if !errors.Is(err, broken) {
		t.Errorf("told %v", err)
	}
}

// A client that sends nothing any more is ended, and no client is the same as one that
// never came.
func TestRunEndsAClientThatHangs(t *testing.T) {
	t.Parallel()
	hanging := driver(func(ctx context.Context, _ scenario.Invocation) (scenario.Exit, error) {
		<-ctx.Done()
		return scenario.Exit{Ended: true}, nil
	})
	hanging.Reply, hanging.Whole = time.Millisecond, time.Millisecond
	recording, _, err := hanging.Run(t.Context(), scenario.Meeting)
	if err != nil || recording.Connected() || !recording.Exit.Ended || recording.Exit.Well() {
		t.Errorf("recorded %+v, %v", recording, err)
	}
}

func TestOutcomes(t *testing.T) {
	t.Parallel()
	output := `listening
{"step":1,"outcome":"failed","error":"no"}
{"step":0,"outcome":"done","result":{"n":12345678901234567890}}
{"step":"again","outcome":"done"}
{"step":2,"outcome":"perhaps"}
{"step":"list-tools-3","outcome":"done"}
{"step":4,"outcome":"done"}
{"step":-1,"outcome":"done"}
{"step":[],"outcome":"done"}
{"step":null,"outcome":"done"}
{"outcome":"done"}
{"step":3,"outcome":"done"} and more
`
	recording := scenario.Recording{Exit: scenario.Exit{Output: []byte(output)}}
	steps := scenario.Steps{
		scenario.ToConnect(), scenario.ToList("tools"), scenario.ToList("tools"), scenario.ToList("tools").ID("again"),
	}
	want := map[string]scenario.StepOutcome{
		"connect":    {Step: 0, Outcome: "done", Result: map[string]any{"n": json.Number("12345678901234567890")}, Order: 1},
		"list-tools": {Step: 1, Outcome: "failed", Error: "no", Order: 0},
		"again":      {Step: 3, Outcome: "done", Order: 2},
	}
	if difference := cmp.Diff(want, recording.Outcomes(steps)); difference != "" {
		t.Error(difference)
	}
	if !want["list-tools"].Failed() || want["connect"].Failed() {
		t.Error("what failed is taken for what was done")
	}
}

func TestCache(t *testing.T) {
	t.Parallel()
	var cache scenario.Cache[int]
	runs := 0
	run := func() int { runs++; return runs }
	if first, again, other := cache.Get("a", run), cache.Get("a", run), cache.Get("b", run); first != 1 || again != 1 || other != 2 {
		t.Errorf("%d, %d, %d", first, again, other)
	}
	if told := cache.Drain(); !cmp.Equal(told, map[string]int{"a": 1, "b": 2}) {
		t.Errorf("drained %v", told)
	}
	if anew := cache.Get("a", run); anew != 3 {
		t.Errorf("an empty cache has %d", anew)
	}
}

func TestWhereAScenarioCanBePlayed(t *testing.T) {
	t.Parallel()
	one := scenario.Scenario{Since: "2025-06-18", Until: "2025-11-25", Speaks: "2024-11-05"}
	for revision, can := range map[string]bool{"2025-03-26": false, "2025-06-18": true, "2025-11-25": true, "2026-07-28": false} {
		if one.At(revision) != can || one.RevisionOf(revision) != "2024-11-05" {
			t.Errorf("%s: %t, speaking %s", revision, one.At(revision), one.RevisionOf(revision))
		}
	}
	if free := (&scenario.Scenario{}); !free.At("2026-07-28") || free.RevisionOf("2026-07-28") != "2026-07-28" {
		t.Error("a scenario that says nothing is for every revision")
	}
}

func TestSteps(t *testing.T) {
	t.Parallel()
	steps := scenario.Steps{
		scenario.ToAnswer("roots/list", map[string]any{"roots": []any{}}).Late(5), scenario.ToConnect(), scenario.ToList("prompts"),
		scenario.ToList("tools"), scenario.ToCall("add", nil).AsTask(9).As("x"), scenario.ToCancel("x"), scenario.ToClose(),
	}
	for method, id := range map[string]string{
		"tools/list": "list-tools", "prompts/list": "list-prompts", "resources/list": "", "tools/call": "x", "initialize": "connect",
		"roots/list": "answer-with-roots-list", "notifications/cancelled": "cancel-x", "elicitation/create": "",
	} {
		if found := steps.Bringing(method); found != id {
			t.Errorf("%s: step %q, wanted %q", method, found, id)
		}
	}
	for tool, id := range map[string]string{"add": "x", "x": ""} {
		if found := steps.Calling(tool); found != id {
			t.Errorf("a call of %s: step %q, wanted %q", tool, found, id)
		}
	}
	var texts []string
	for _, one := range steps {
		texts = append(texts, one.Describe()+" | "+one.Method()+" | "+one.Kind())
	}
	want := []string{
		`answer roots/list with {"roots":[]}, after 5 ms |  | answer-with `,
		"connect |  | connect ",
		"list the prompts, to the end | prompts/list | list prompts",
		"list the tools, to the end | tools/list | list tools",
		`call the tool add with {} (in the background, as "x") | tools/call | call  as a task`,
		`cancel "x" |  | cancel `,
		"end the session |  | close ",
	}
	if difference := cmp.Diff(want, texts); difference != "" {
		t.Error(difference)
	}
}

// Each step has an id: its own, or one of what it does that no other has.
func TestIDs(t *testing.T) {
	t.Parallel()
	steps := scenario.Steps{
		scenario.ToConnect(), scenario.ToCall("add_numbers", nil), scenario.ToCall("add_numbers", nil), scenario.ToCall("slow", nil).As("it"),
		scenario.ToCancel("it"), scenario.ToList("tools"), scenario.ToPing().ID("list-tools"), scenario.ToRead("test://one").ID("one"),
	}
	want := []string{"connect", "call-add-numbers", "call-add-numbers-2", "it", "cancel-it", "list-tools-2", "list-tools", "one"}
	if difference := cmp.Diff(want, steps.IDs()); difference != "" {
		t.Error(difference)
	}
	if at, none := steps.Position("list-tools"), steps.Position("two"); at != 6 || none != -1 {
		t.Errorf("found at %d and %d", at, none)
	}
	if text := steps[7].Text(); text != `{"do":"read","uri":"test://one"}` {
		t.Errorf("told as %s", text)
	}
}

// An open scenario records what a client sends that the harness did not start.
func TestOpen(t *testing.T) {
	t.Parallel()
	open := driver(nil)
	open.Budget = transcript.NewMemoryBudget(64 << 20)
	playing := open.Open(scenario.Meeting)
	listening := httptest.NewServer(playing)
	t.Cleanup(listening.Close)
	if err := post(t.Context(), listening.URL+scripted.Endpoint, hello); err != nil {
		t.Fatal(err)
	}
	recording := playing.Recording()
	if !recording.Connected() || recording.Messages() != 1 || !recording.Exit.Ended || recording.Scenario != "meeting" {
		t.Errorf("recorded %+v", recording)
	}
	playing.Close()
	playing.Forget()
	if left := open.Budget.Left(); left != 64<<20 {
		t.Errorf("%d bytes are left", left)
	}
}
