package runner

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/onsi/ginkgo/v2/types"

	"github.com/mcpconform/mcpconform/internal/catalogue"
	"github.com/mcpconform/mcpconform/internal/conform"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/reports"
)

// found is what one rule found over all connections of a leg.
type found struct {
	saw         int
	breaches    []conform.Breach
	connections []int // by breach
}

// maxBreaches bounds the causes that are reported of one rule.
const maxBreaches = 12

func (f *found) add(finding conform.Finding) {
	f.saw += finding.Saw
	for _, breach := range finding.Breaks {
		at := slices.IndexFunc(f.breaches, func(known conform.Breach) bool { return known.Cause == breach.Cause })
		switch {
		case at >= 0:
			f.breaches[at].Count += breach.Count
			f.connections[at]++
		case len(f.breaches) < maxBreaches:
			f.breaches = append(f.breaches, breach)
			f.connections = append(f.connections, 1)
		}
	}
}

// merge makes the results of rules and puts all legs into the report.
func (r *run) merge() {
	var matches types.LabelFilter
	if r.options.Filter != "" {
		matches = types.MustParseLabelFilter(r.options.Filter)
	}
	for _, state := range r.legs {
		if state.environment != nil {
			r.addRules(state, matches)
			oneCauseOneFailure(state.report.Results)
			if r.plan.Filter == "" && matches != nil {
				// The filter names rules only; checks ran to provoke.
				state.report.Results = slices.DeleteFunc(state.report.Results, func(result reports.Result) bool {
					return result.Kind == reports.KindCheck
				})
			}
		}
		r.deny(state)
		state.report.Pages = catalogue.Pages
		r.report.Legs = append(r.report.Legs, state.report)
	}
	for _, leg := range r.report.Legs {
		if leg.Spoken {
			r.report.Target.Identity = leg.Target
		}
	}
	r.report.Sort()
}

// oneCauseOneFailure gathers what several checks and rules found broken of the
// same requirement into one result: that of the rule, which has seen and counted
// it in every connection, or else of the first check. The others say where it
// is told.
func oneCauseOneFailure(results []reports.Result) {
	telling := map[string]*reports.Result{} // by requirement and verdict
	broken := func(result *reports.Result) bool {
		return result.Verdict == reports.Failed || result.Verdict == reports.Warned
	}
	cause := func(result *reports.Result) string { return result.ID + " " + string(result.Verdict) }
	slices.SortStableFunc(results, func(a, b reports.Result) int {
		return cmp.Or(cmp.Compare(b.Kind, a.Kind), cmp.Compare(a.ID, b.ID), cmp.Compare(a.Text, b.Text)) // rules first
	})
	for i := range results {
		result := &results[i]
		if !broken(result) {
			continue
		}
		first, told := telling[cause(result)]
		if !told {
			telling[cause(result)] = result
			continue
		}
		first.Occurrences = max(1, first.Occurrences) + max(1, result.Occurrences)
		for _, failure := range result.Failures {
			if !slices.Contains(first.Failures, failure) && len(first.Failures) < maxBreaches {
				first.Failures = append(first.Failures, failure)
			}
		}
		result.Verdict, result.Reason = reports.Skipped, fmt.Sprintf("%q reports the same", first.Text)
		result.Failures, result.Exchange, result.Again, result.Output, result.Occurrences = nil, nil, "", "", 0
	}
}

func (r *run) addRules(state *legState, matches types.LabelFilter) {
	for _, rule := range state.environment.Rules {
		labels := state.environment.RuleLabels(rule)
		if !conform.Stands(labels) || matches != nil && !matches(labels) {
			continue
		}
		state.report.Results = append(state.report.Results, r.ruleResult(state, rule))
	}
}

func (r *run) ruleResult(state *legState, rule conform.Rule) reports.Result {
	ids := state.environment.Standing(rule.Requirements)
	result := reports.Result{
		ID: ids[0], Kind: reports.KindRule, Group: []string{"Rules"}, Text: rule.Text,
		Requirements: r.requirements(state, ids), Page: r.page(state, ids[0]), Verdict: reports.Passed,
	}
	if reason, isElsewhere := state.elsewhere[rule.Text]; isElsewhere {
		result.Verdict, result.Reason = reports.Skipped, reason
		return result
	}
	// Findings count among the rules that stand.
	standing := slices.IndexFunc(state.rules, func(one conform.Rule) bool { return one.Text == rule.Text })
	seen := state.findings[standing]
	switch {
	case seen == nil:
		result.Verdict, result.Reason = reports.Skipped, "nothing came over the wire that it could judge"
	case len(seen.breaches) > 0:
		result.Verdict = r.severity(state, ids)
		r.describeBreaches(state, &result, seen)
	}
	return result
}

func (r *run) describeBreaches(state *legState, result *reports.Result, seen *found) {
	for i, breach := range seen.breaches {
		failure := r.failure(breach.Mismatch)
		if len(seen.breaches) > 1 && breach.Count > 1 {
			failure.Found += fmt.Sprintf(" (%d times)", breach.Count)
		}
		result.Failures = append(result.Failures, failure)
		result.Occurrences += breach.Count
		result.Connections = max(result.Connections, seen.connections[i])
	}
	first := seen.breaches[0]
	judged := slices.IndexFunc(first.Exchange, func(event transcript.Event) bool { return event.Sequence == first.Judged })
	result.Exchange = r.steps(first.Exchange, judged)
	result.Again = r.again(state, result.ID)
}

// result makes a report of what a check found.
func (r *run) result(state *legState, done checked) reports.Result {
	result := reports.Result{
		ID: done.Requirements[0], Kind: reports.KindCheck, Group: done.Group, Text: done.Text,
		Requirements: r.requirements(state, done.Requirements), Page: r.page(state, done.Requirements[0]),
		Duration: reports.Seconds(done.Seconds),
	}
	result.Verdict, result.Reason, result.Hint = r.verdict(state, done)
	switch result.Verdict {
	case reports.Failed, reports.Warned:
		for _, mismatch := range done.Outcome.Mismatches {
			result.Failures = append(result.Failures, r.failure(mismatch))
		}
		events := eventsOf(done.Exchanges)
		result.Exchange = r.steps(events, judgedIn(events, done.Outcome.Judged, state.report.Role))
		result.Output = r.redact(stderrOf(events))
		result.Again = r.again(state, result.ID)
	case reports.Inconclusive:
		result.Exchange = r.steps(eventsOf(done.Exchanges), -1)
		result.Again = r.again(state, result.ID)
	}
	return result
}

func (r *run) verdict(state *legState, done checked) (verdict reports.Verdict, reason, hint string) {
	switch {
	case done.Panic != "":
		return reports.Inconclusive, "the check itself failed; this is a defect of the harness", "report it, with the errors at the end of this run"
	case done.Outcome.Ending == conform.Skipped:
		return reports.Skipped, r.redact(done.Outcome.Reason), ""
	case done.Outcome.Ending == conform.Inconclusion:
		return reports.Inconclusive, r.redact(done.Outcome.Reason), r.redact(done.Outcome.Hint)
	case done.Outcome.Ending == conform.Failed:
		return r.severity(state, done.Requirements), "", ""
	case done.State.Is(types.SpecStatePassed) && done.Evidence:
		return reports.Passed, "", ""
	case done.State.Is(types.SpecStatePassed):
		return reports.Inconclusive, "the target sent nothing that shows it", "see whether the target answers at all"
	}
	return reports.Inconclusive, "the check did not end in time", "give the target longer with --timeout"
}

// severity is the verdict of a broken requirement: by its level at the
// revision.
func (r *run) severity(state *legState, ids []string) reports.Verdict {
	for _, id := range ids {
		requirement, known := r.catalogue.Get(id)
		if known && requirement.StandsAt(state.report.Revision) && requirement.Level(state.report.Revision).Failing() {
			return reports.Failed
		}
	}
	return reports.Warned
}

func (r *run) requirements(state *legState, ids []string) []reports.Requirement {
	revision := state.report.Revision
	named := make([]reports.Requirement, 0, len(ids))
	for _, id := range ids {
		requirement, known := r.catalogue.Get(id)
		if !known {
			continue
		}
		named = append(named, reports.Requirement{
			ID: id, Level: string(requirement.Level(revision)), Says: requirement.Says,
			At: requirement.At(revision), Link: requirement.Link(revision),
		})
	}
	return named
}

func (r *run) page(state *legState, id string) string {
	requirement, known := r.catalogue.Get(id)
	if !known {
		return ""
	}
	return requirement.Page(state.report.Revision)
}

func (r *run) failure(mismatch conform.Mismatch) reports.Failure {
	return reports.Failure{
		Wanted: r.redact(mismatch.Wanted), Found: r.redact(mismatch.Found), Where: r.redact(mismatch.Where),
	}
}

func (r *run) again(state *legState, id string) string {
	if r.options.Again == nil {
		return ""
	}
	return r.options.Again(conform.Leg{
		Role: state.report.Role, Revision: state.report.Revision, Transport: state.report.Transport,
	}, id)
}

func (r *run) redact(text string) string {
	if r.options.Redactor == nil {
		return text
	}
	return r.options.Redactor.Redact(text)
}

const (
	// maxSteps bounds an exchange in a report; transcripts have all of it.
	maxSteps = 60
	// maxStepText bounds one message in a report.
	maxStepText = 2000
)

// steps turns events into an exchange; the one at the judged position is
// marked.
func (r *run) steps(events []transcript.Event, judged int) []reports.Step {
	steps := make([]reports.Step, 0, min(maxSteps, len(events)))
	for position, event := range events {
		if len(events) > maxSteps && position >= maxSteps/3 && position < len(events)-maxSteps*2/3 {
			continue // the middle of a long exchange
		}
		from, to := ends(event)
		steps = append(steps, reports.Step{
			At:   reports.SecondsOf(event.At.Sub(events[0].At)),
			From: from, To: to,
			Kind: stepKind(event), Text: r.redact(stepText(event)),
			Deliberate: event.Deliberate != "", Marked: position == judged,
		})
	}
	return steps
}

// ends says between whom an event took place; what neither of them sent, such
// as a failure of the transport, the harness tells.
func ends(event transcript.Event) (from, to string) {
	if event.From == "" {
		return reports.Harness, ""
	}
	return string(event.From), string(event.From.Other())
}

var stepKinds = map[transcript.Kind]string{
	transcript.Message: reports.StepMessage, transcript.Block: reports.StepEvent,
	transcript.End: reports.StepClose, transcript.Close: reports.StepClose, transcript.Open: reports.StepOpen,
	transcript.Stderr: reports.StepStderr, transcript.Exit: reports.StepExit,
	transcript.Signal: reports.StepNote, transcript.Remark: reports.StepNote, transcript.Failure: reports.StepNote,
}

func stepKind(event transcript.Event) string {
	if event.Kind != transcript.Head {
		return stepKinds[event.Kind]
	}
	if event.HTTP != nil && event.HTTP.Status != 0 {
		return reports.StepResponse
	}
	return reports.StepRequest
}

func stepText(event transcript.Event) string {
	text := event.Note
	switch {
	case event.HTTP != nil && event.HTTP.Status != 0:
		text = fmt.Sprintf("HTTP %d%s", event.HTTP.Status, headerText(event.HTTP.Header, responseHeaders))
	case event.HTTP != nil:
		text = event.HTTP.Method + " " + event.HTTP.URL + headerText(event.HTTP.Header, requestHeaders)
	case len(event.Raw) > 0:
		text = string(event.Raw)
	}
	if len(text) > maxStepText {
		text = fmt.Sprintf("%s… (%d bytes)", strings.ToValidUTF8(text[:maxStepText], ""), max(event.Size, len(text)))
	}
	if event.Deliberate != "" {
		text += " [deliberately illegal: " + event.Deliberate + "]"
	}
	return text
}

// Headers that say something about the protocol; a report need not show more.
var (
	requestHeaders  = []string{"Accept", "Content-Type", "Origin", "Mcp-Session-Id", "Mcp-Protocol-Version", "Last-Event-Id", "Authorization"}
	responseHeaders = []string{"Content-Type", "Mcp-Session-Id", "Location", "Www-Authenticate", "Allow", "Retry-After"}
)

func headerText(header map[string][]string, shown []string) string {
	var text strings.Builder
	for _, name := range shown {
		for _, value := range header[name] {
			fmt.Fprintf(&text, ", %s: %s", name, value)
		}
	}
	return text.String()
}

// judgedIn returns the position of what a check judged: when it does not say, the
// last message or head of the target, which it is in most cases; -1 when there is
// none.
func judgedIn(events []transcript.Event, judged *transcript.Event, role string) int {
	if judged != nil {
		return slices.IndexFunc(events, func(event transcript.Event) bool {
			return event.Connection == judged.Connection && event.Sequence == judged.Sequence
		})
	}
	for position, event := range slices.Backward(events) {
		if string(event.From) == role && (event.Kind == transcript.Message || event.Kind == transcript.Head) {
			return position
		}
	}
	return -1
}

// stderrOf returns what the target wrote to standard error meanwhile.
func stderrOf(events []transcript.Event) string {
	var lines []string
	for _, event := range events {
		if event.Kind == transcript.Stderr {
			lines = append(lines, strings.TrimRight(string(event.Raw), "\n"))
		}
	}
	return lastLines(strings.Join(lines, "\n"))
}

func identity(info map[string]any) reports.Identity {
	name, _ := info["name"].(string)
	title, _ := info["title"].(string)
	version, _ := info["version"].(string)
	return reports.Identity{Name: name, Title: title, Version: version}
}

func rawJSON(value any) json.RawMessage {
	if value == nil {
		return nil
	}
	text, err := json.Marshal(value)
	if err != nil {
		return nil
	}
	return text
}

// keep writes a connection's transcript, secrets redacted.
func (r *run) keep(state *legState, connection conform.Connection) error {
	folder := filepath.Join(r.options.Transcripts, state.report.Revision+"-"+state.report.Transport)
	if err := os.MkdirAll(folder, 0o750); err != nil {
		return fmt.Errorf("--transcripts: %w", err)
	}
	name := filepath.Join(folder, connection.Name+".jsonl")
	events := make([]transcript.Event, len(connection.Events))
	for i, event := range connection.Events {
		event.Raw = []byte(r.redact(string(event.Raw)))
		event.Note = r.redact(event.Note)
		if event.HTTP != nil {
			head := *event.HTTP
			head.URL = r.redact(head.URL)
			head.Header = r.redactHeader(head.Header)
			event.HTTP = &head
		}
		events[i] = event
	}
	return reports.WriteFile(name, func(w io.Writer) error { return transcript.Write(w, events) })
}

func (r *run) redactHeader(header map[string][]string) map[string][]string {
	redacted := make(map[string][]string, len(header))
	for name, values := range header {
		for _, value := range values {
			// Some are known for a secret by their name alone.
			hidden := strings.TrimPrefix(r.redact(name+": "+value), name+": ")
			redacted[name] = append(redacted[name], hidden)
		}
	}
	return redacted
}
