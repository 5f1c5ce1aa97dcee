package runner

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/onsi/ginkgo/v2/types"

	"github.com/mcpconform/mcpconform/internal/conform"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/reports"
)

func TestOneCauseOneFailure(t *testing.T) {
	t.Parallel()
	broken := func(kind, id, text string, verdict reports.Verdict, wanted string) reports.Result {
		return reports.Result{ID: id, Kind: kind, Text: text, Verdict: verdict, Failures: []reports.Failure{{Wanted: wanted}}, Again: "again"}
	}
	results := []reports.Result{
		broken(reports.KindCheck, "origin", "refuses requests", reports.Failed, "a refusal"),
		broken(reports.KindCheck, "origin", "refuses a handshake", reports.Failed, "a refusal"),
		broken(reports.KindCheck, "token", "reports no progress", reports.Failed, "no progress"),
		broken(reports.KindRule, "token", "knows its tokens", reports.Failed, "a known token"),
		broken(reports.KindCheck, "cursor", "refuses a cursor", reports.Warned, "an error"),
		{ID: "origin", Kind: reports.KindCheck, Text: "serves its own site", Verdict: reports.Passed},
	}
	oneCauseOneFailure(results)

	verdicts := map[string]reports.Result{}
	for _, result := range results {
		verdicts[result.Text] = result
	}
	for text, verdict := range map[string]reports.Verdict{
		"refuses a handshake": reports.Failed, "refuses requests": reports.Skipped,
		"knows its tokens": reports.Failed, "reports no progress": reports.Skipped,
		"refuses a cursor": reports.Warned, "serves its own site": reports.Passed,
	} {
		if verdicts[text].Verdict != verdict {
			t.Errorf("%q is %s, not %s", text, verdicts[text].Verdict, verdict)
		}
	}
	if told := verdicts["refuses requests"]; told.Reason != `"refuses a handshake" reports the same` || told.Failures != nil || told.Again != "" {
		t.Errorf("%+v", told)
	}
	if rule := verdicts["knows its tokens"]; len(rule.Failures) != 2 || rule.Occurrences != 2 {
		t.Errorf("the rule does not tell what the check found: %+v", rule)
	}
	if same := verdicts["refuses a handshake"]; len(same.Failures) != 1 {
		t.Errorf("the same mismatch is told twice: %+v", same)
	}
}

func TestStepsOfALongExchange(t *testing.T) {
	t.Parallel()
	begun := time.Now()
	var events []transcript.Event
	for i := range 3 * maxSteps {
		events = append(events, transcript.Event{
			Kind: transcript.Message, From: transcript.Server, Sequence: i, At: begun.Add(time.Duration(i) * time.Second), Raw: []byte("{}"),
		})
	}
	steps := (&run{}).steps(events, len(events)-1)
	if len(steps) != maxSteps {
		t.Errorf("%d steps", len(steps))
	}
	marked := slices.IndexFunc(steps, func(step reports.Step) bool { return step.Marked })
	if marked != len(steps)-1 {
		t.Errorf("step %d is marked", marked)
	}
	if last := steps[len(steps)-1].At; last != reports.Seconds(len(events)-1) {
		t.Errorf("the last step is at %v s", last)
	}
}

func TestWhatNobodySentIsToldByTheHarness(t *testing.T) {
	t.Parallel()
	steps := (&run{}).steps([]transcript.Event{{Kind: transcript.Failure, Note: "the server has closed it"}, {Kind: transcript.Message, From: transcript.Server}}, -1)
	if steps[0].From != reports.Harness || steps[0].To != "" {
		t.Errorf("a failure of the transport is from %q to %q", steps[0].From, steps[0].To)
	}
	if steps[1].From != reports.Server || steps[1].To != reports.Client {
		t.Errorf("a message is from %q to %q", steps[1].From, steps[1].To)
	}
}

func TestStepText(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		event transcript.Event
		want  string
	}{
		{transcript.Event{Kind: transcript.Head, HTTP: &transcript.HTTP{
			Method: "POST", URL: "http://host/mcp", Header: map[string][]string{"Accept": {"text/event-stream"}, "X-Other": {"1"}},
		}}, "POST http://host/mcp, Accept: text/event-stream"},
		{transcript.Event{Kind: transcript.Head, HTTP: &transcript.HTTP{
			Status: 404, Header: map[string][]string{"Content-Type": {"text/plain"}},
		}}, "HTTP 404, Content-Type: text/plain"},
		{transcript.Event{Kind: transcript.Message, Raw: []byte("not JSON"), Deliberate: "is not JSON"}, "not JSON [deliberately illegal: is not JSON]"},
		{transcript.Event{Kind: transcript.Exit, Note: "exited with status 1"}, "exited with status 1"},
	} {
		if text := stepText(test.event); text != test.want {
			t.Errorf("%q, not %q", text, test.want)
		}
	}
	long := stepText(transcript.Event{Kind: transcript.Message, Raw: []byte(strings.Repeat("é", maxStepText))})
	if !strings.HasSuffix(long, "… (4000 bytes)") || len(long) > maxStepText+20 {
		t.Errorf("%d bytes, ending in %q", len(long), long[len(long)-20:])
	}
}

func TestNothingPassesWithoutEvidence(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		done checked
		want reports.Verdict
	}{
		{checked{State: types.SpecStatePassed, Evidence: true}, reports.Passed},
		{checked{State: types.SpecStatePassed}, reports.Inconclusive},
		{checked{State: types.SpecStatePassed, Evidence: true, Panic: "boom"}, reports.Inconclusive},
		{checked{Outcome: conform.Outcome{Ending: conform.Skipped, Reason: "not declared"}}, reports.Skipped},
		{checked{Outcome: conform.Outcome{Ending: conform.Inconclusion, Reason: "unprovoked"}}, reports.Inconclusive},
	} {
		if verdict, _, _ := (&run{}).verdict(&legState{}, test.done); verdict != test.want {
			t.Errorf("%+v: %s, not %s", test.done, verdict, test.want)
		}
	}
}

func TestEvidence(t *testing.T) {
	t.Parallel()
	sent := transcript.Event{Kind: transcript.Message, From: transcript.Client}
	came := transcript.Event{Kind: transcript.Message, From: transcript.Server}
	if evidence([][]transcript.Event{{sent}}, conform.ServerRole) {
		t.Error("what the harness sent is no evidence")
	}
	if !evidence([][]transcript.Event{{sent}, {sent, came}}, conform.ServerRole) {
		t.Error("what the target sent is evidence")
	}
	if !evidence([][]transcript.Event{{sent}}, conform.ClientRole) {
		t.Error("what a target client sent is evidence")
	}
}

// A run may be interrupted when it has met the target and planned nothing yet.
func TestMergeBeforeThePlan(t *testing.T) {
	r := &run{report: &reports.Run{}, legs: []*legState{{report: reports.Leg{Revision: "2025-11-25", Spoken: true}}}}

	r.merge()

	if legs := r.report.Legs; len(legs) != 1 || legs[0].Revision != "2025-11-25" || len(legs[0].Results) != 0 {
		t.Errorf("%+v", legs)
	}
}

// What rules find in a connection counts in the leg of the revision that it negotiated,
// and nowhere when the run has none.
func TestFindingsCountWhereTheyBelong(t *testing.T) {
	t.Parallel()
	leg := func(revision string) conform.Leg {
		return conform.Leg{Role: conform.ServerRole, Revision: revision, Transport: conform.HTTP}
	}
	r := &run{}
	for planned, revision := range []string{"2025-06-18", "2025-11-25"} {
		r.legs = append(r.legs, &legState{
			planned: planned, findings: map[int]*found{},
			report: reports.Leg{Role: conform.ServerRole, Revision: revision, Transport: conform.HTTP},
		})
	}
	for _, revision := range []string{"2025-06-18", "2025-11-25", "2025-11-25", "2024-11-05"} {
		r.closed(0, conform.Connection{Leg: leg(revision), Findings: []conform.Finding{{Rule: 7, Saw: 1}}})
	}
	for planned, wanted := range []int{1, 2} {
		if one := r.state(planned).findings[7]; one == nil || one.saw != wanted {
			t.Errorf("leg %d has %+v", planned, one)
		}
	}
}
