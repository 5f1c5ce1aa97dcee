package runner

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/onsi/ginkgo/v2/types"

	"github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/scope"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/reports"
	"github.com/mcpconform/mcpconform/suites"
)

// Wherever the judged step stands, it is shown, and what is left out is told.
func TestStepsOfALongExchange(t *testing.T) {
	t.Parallel()
	begun := time.Now()
	var events []transcript.Event
	for i := range 3 * maxSteps {
		events = append(events, transcript.Event{
			Kind: transcript.Message, From: protocol.Server, Sequence: i, At: begun.Add(time.Duration(i) * time.Second), Raw: []byte("{}"),
		})
	}
	for _, judged := range []int{0, 1, maxSteps / 3, maxSteps, 2 * maxSteps, len(events) - 2, len(events) - 1} {
		steps := (&collector{}).steps(events, judged)
		if len(steps) > maxSteps {
			t.Errorf("%d: %d steps", judged, len(steps))
		}
		marked := slices.IndexFunc(steps, func(step reports.Step) bool { return step.Marked })
		if marked < 0 || steps[marked].At != reports.Seconds(judged) {
			t.Errorf("%d: step %d is marked", judged, marked)
		}
		if last := steps[len(steps)-1].At; last != reports.Seconds(len(events)-1) {
			t.Errorf("%d: the last step is at %v s", judged, last)
		}
		left, messages := 0, 0
		for _, step := range steps {
			if step.Kind == reports.StepMessage {
				messages++
				continue
			}
			var count int
			if _, err := fmt.Sscanf(step.Text, "%d events are left out here", &count); err != nil || step.Kind != reports.StepNote {
				t.Errorf("%d: %+v", judged, step)
			}
			left += count
		}
		if left+messages != len(events) {
			t.Errorf("%d: %d are shown and %d left out, of %d", judged, messages, left, len(events))
		}
	}
}

func TestWhatNobodySentIsToldByTheHarness(t *testing.T) {
	t.Parallel()
	steps := (&collector{}).steps([]transcript.Event{{Kind: transcript.Failure, Note: "the server has closed it"}, {Kind: transcript.Message, From: protocol.Server}}, -1)
	if steps[0].From != reports.Harness || steps[0].To != "" {
		t.Errorf("a failure of the transport is from %q to %q", steps[0].From, steps[0].To)
	}
	if steps[1].From != string(protocol.Server) || steps[1].To != string(protocol.Client) {
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
		{transcript.Event{Kind: transcript.Message, Raw: []byte("not JSON"), Deliberate: "is not JSON"}, "not JSON (illegal on purpose: is not JSON)"},
		{transcript.Event{Kind: transcript.Exit, Note: "exited with status 1"}, "exited with status 1"},
	} {
		if text := stepText(test.event, nil); text != test.want {
			t.Errorf("%q, not %q", text, test.want)
		}
	}
	long := stepText(transcript.Event{Kind: transcript.Message, Raw: []byte(strings.Repeat("é", maxStepText))}, nil)
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
		{checked{State: types.SpecStatePassed, Evidence: true, Outcome: check.Outcome{Observed: 1}}, reports.Passed},
		{checked{State: types.SpecStatePassed, Evidence: true}, reports.Inconclusive},
		{checked{State: types.SpecStatePassed, Outcome: check.Outcome{Observed: 1}}, reports.Inconclusive},
		{checked{State: types.SpecStatePassed}, reports.Inconclusive},
		{checked{State: types.SpecStatePassed, Evidence: true, Outcome: check.Outcome{Observed: 1}, Panic: "boom"}, reports.Inconclusive},
		{checked{Outcome: check.Outcome{Ending: check.Skipped, Reason: "not declared"}}, reports.Skipped},
		{checked{Outcome: check.Outcome{Ending: check.Inconclusion, Reason: "unprovoked"}}, reports.Inconclusive},
	} {
		if verdict, _, _ := (&collector{}).verdict(&cellState{}, test.done); verdict != test.want {
			t.Errorf("%+v: %s, not %s", test.done, verdict, test.want)
		}
	}
}

func TestEvidence(t *testing.T) {
	t.Parallel()
	sent := transcript.Event{Kind: transcript.Message, From: protocol.Client}
	came := transcript.Event{Kind: transcript.Message, From: protocol.Server}
	if evidence([][]transcript.Event{{sent}}, protocol.ServerRole) {
		t.Error("what the harness sent is no evidence")
	}
	if !evidence([][]transcript.Event{{sent}, {sent, came}}, protocol.ServerRole) {
		t.Error("what the target sent is evidence")
	}
	if !evidence([][]transcript.Event{{sent}}, protocol.ClientRole) {
		t.Error("what a target client sent is evidence")
	}
}

// A run may be interrupted when it has met the target and planned nothing yet.
func TestMergeBeforeThePlan(t *testing.T) {
	r := &collector{report: &reports.Run{}, cells: []*cellState{{report: reports.Cell{Revision: "2025-11-25", Spoken: true}}}}

	r.merge()

	if cells := r.report.Cells; len(cells) != 1 || cells[0].Revision != "2025-11-25" || len(cells[0].Results) != 0 {
		t.Errorf("%+v", cells)
	}
}

// What rules find in a connection counts in the cell of the revision that it negotiated,
// and nowhere when the run has none.
func TestFindingsCountWhereTheyBelong(t *testing.T) {
	t.Parallel()
	cell := func(revision string) check.Cell {
		return check.Cell{Role: protocol.ServerRole, Revision: revision, Transport: protocol.HTTP}
	}
	r := &collector{}
	for planned, revision := range []string{"2025-06-18", "2025-11-25"} {
		r.cells = append(r.cells, &cellState{
			planned: planned, findings: map[string]*found{},
			report: reports.Cell{Role: protocol.ServerRole, Revision: revision, Transport: protocol.HTTP},
		})
	}
	for _, revision := range []string{"2025-06-18", "2025-11-25", "2025-11-25", "2024-11-05"} {
		r.closed(0, scope.Connection{Cell: cell(revision), Findings: []rules.Finding{{Rule: "7", Observed: 1}}})
	}
	for planned, wanted := range []int{1, 2} {
		if one := r.state(planned).findings["7"]; one == nil || one.saw != wanted {
			t.Errorf("cell %d has %+v", planned, one)
		}
	}
}

// A result names those of its requirements that stand for the transport.
func TestRequirementsOfTheTransport(t *testing.T) {
	t.Parallel()
	known, err := suites.Catalogue()
	if err != nil {
		t.Fatal(err)
	}
	c := &collector{catalogue: known}
	for transport, wanted := range map[string][]string{
		protocol.HTTP:  {"patterns.responses.none", "transports.http.post.body"},
		protocol.Stdio: {"patterns.responses.none", "transports.stdio.no-responses"},
	} {
		cell := &cellState{report: reports.Cell{Revision: "2026-07-28", Transport: transport, Role: protocol.ClientRole}}
		var named []string
		for _, one := range c.requirements(cell, []string{
			"patterns.responses.none", "transports.stdio.no-responses", "transports.http.post.body",
		}) {
			named = append(named, one.ID)
		}
		if !slices.Equal(named, wanted) {
			t.Errorf("over %s: %q, wanted %q", transport, named, wanted)
		}
	}
}
