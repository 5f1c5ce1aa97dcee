package runner

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"github.com/onsi/ginkgo/v2/types"

	"github.com/mcpconform/mcpconform/internal/catalogue"
	"github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/evidence"
	"github.com/mcpconform/mcpconform/internal/excerpt"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/scope"
	"github.com/mcpconform/mcpconform/internal/survey"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/internal/verdict"
	"github.com/mcpconform/mcpconform/internal/worker"
	"github.com/mcpconform/mcpconform/reports"
)

// found is what one rule found over all connections of a cell.
type found struct {
	saw         int
	breaches    []rules.Breach
	connections []int // by breach
}

func (f *found) add(finding rules.Finding) {
	f.saw += finding.Observed
	for _, breach := range finding.Breaks {
		at := slices.IndexFunc(f.breaches, func(known rules.Breach) bool { return known.Cause == breach.Cause })
		switch {
		case at >= 0:
			f.breaches[at].Count += breach.Count
			f.connections[at]++
		case len(f.breaches) < verdict.MaxBreaches:
			f.breaches = append(f.breaches, breach)
			f.connections = append(f.connections, 1)
		}
	}
}

// merge makes the results of rules and puts all cells into the report.
func (c *collector) merge() {
	for _, state := range c.cells {
		if state.environment != nil {
			c.addRules(state)
			if !c.filterResults(state) && c.report.Shard == nil {
				continue
			}
			c.notice(state)
			if c.report.Shard == nil {
				verdict.TellOnce(state.report.Results, c.catalogue)
			}
		}
		c.deny(state)
		state.report.Pages, state.report.Declared = catalogue.Pages, state.all
		c.report.Cells = append(c.report.Cells, state.report)
		if c.options.Progress != nil && state.planned >= 0 {
			c.options.Progress.End(state.report.Name(), state.report.Counts())
		}
	}
	for _, cell := range c.report.Cells {
		if cell.Spoken {
			c.report.Target.Identity = cell.Target
		}
	}
	c.report.Sort()
}

func (c *collector) addRules(state *cellState) {
	for _, rule := range state.environment.Rules {
		if !state.environment.AppliesRule(rule) || !c.chooses(state, rule) {
			continue
		}
		state.report.Results = append(state.report.Results, c.ruleResult(state, rule))
	}
}

func (c *collector) ruleResult(state *cellState, rule rules.Rule) reports.Result {
	ids := state.environment.Applicable(rule.Verifies.IDs)
	result := reports.Result{
		ID: ids[0], Kind: reports.KindRule, Group: []string{"Rules"}, Text: rule.Text,
		Requirements: c.requirements(state, ids), Page: c.page(state, ids[0]), Verdict: reports.Passed,
	}
	if reason, is := state.otherTransport[rule.ID()]; is {
		result.Verdict, result.Reason = reports.Skipped, reason
		return result
	}
	seen := state.findings[rule.ID()]
	switch {
	case seen == nil:
		result.Verdict, result.Reason = reports.Skipped, cmp.Or(
			state.lacking[rule.ID()],
			state.environment.NeverShown(ids),
			"the target sent no message of this kind",
		)
	case len(seen.breaches) > 0:
		result.Verdict = c.severity(state, ids)
		c.describeBreaches(state, &result, seen)
	}
	return result
}

func (c *collector) describeBreaches(state *cellState, result *reports.Result, seen *found) {
	for i, breach := range seen.breaches {
		if at := judgedOf(breach); at >= 0 {
			breach.Mismatch.Code = evidence.Code(breach.Exchange[at])
		}
		failure := c.failure(breach.Mismatch, breach.About)
		failure.Cause, failure.Occurrences, failure.Connections = breach.Cause, breach.Count, seen.connections[i]
		result.Failures = append(result.Failures, failure)
	}
	first := seen.breaches[0]
	judged := judgedOf(first)
	result.Exchange = evidence.Steps(first.Exchange, judged, c.redact, first.Mismatch.Where)
	result.Transcript = c.transcript(state, first.Exchange, judged)
	result.Rerun = c.rerun(state, result.ID)
}

// judgedOf is the position of what was judged in the exchange of a breach; -1 for none.
func judgedOf(breach rules.Breach) int {
	return slices.IndexFunc(
		breach.Exchange,
		func(event transcript.Event) bool { return event.Sequence == breach.Judged },
	)
}

// result makes a report of what a check found.
func (c *collector) result(state *cellState, done worker.Checked) reports.Result {
	result := reports.Result{
		ID: done.Requirements[0], Kind: reports.KindCheck, Group: done.Group, Text: done.Text,
		Requirements: c.requirements(state, done.Requirements), Page: c.page(state, done.Requirements[0]),
		Duration: reports.Seconds(done.Seconds),
	}
	result.Verdict, result.Reason, result.Hint = c.verdict(state, done)
	if result.Verdict == reports.Inconclusive {
		result.Provocation = done.Outcome.Provocation
	}
	switch result.Verdict {
	case reports.Failed, reports.Warned:
		events := evidence.Events(done.Exchanges)
		judged := evidence.IndexOf(events, done.Outcome.Judged)
		for _, mismatch := range done.Outcome.Mismatches {
			result.Failures = append(result.Failures, c.failure(mismatch, mismatch.About))
		}
		result.Exchange = evidence.Steps(events, judged, c.redact, evidence.Places(done.Outcome)...)
		result.Transcript = c.transcript(state, events, judged)
		result.Output = c.redact(evidence.Stderr(events))
		result.Rerun = c.rerun(state, result.ID)
	case reports.Passed:
		result.Exchange = evidence.Steps(evidence.Events(done.Exchanges), -1, c.redact)
	case reports.Inconclusive:
		result.Exchange = evidence.Steps(evidence.Events(done.Exchanges), -1, c.redact)
		result.Rerun = c.rerun(state, result.ID)
	}
	return result
}

func (c *collector) verdict(state *cellState, done worker.Checked) (verdict reports.Verdict, reason, hint string) {
	switch {
	case done.Panic != "":
		return reports.Inconclusive, "the check itself failed; this is a defect of the harness", "report it, with the errors at the end of this run"
	case done.Outcome.Ending == check.Skipped:
		return reports.Skipped, c.redact(done.Outcome.Reason), ""
	case done.Outcome.Ending == check.Inconclusion:
		return reports.Inconclusive, c.redact(done.Outcome.Reason), c.redact(done.Outcome.Hint)
	case done.Outcome.Ending == check.Failed:
		return c.severity(state, done.Requirements), "", ""
	case done.Unexplained():
		return reports.Inconclusive, "the target sent nothing that shows it", "see what it sent with -v"
	case done.State.Is(types.SpecStatePassed):
		return reports.Passed, "", ""
	}
	return reports.Inconclusive, "the check timed out", "give the target more time with --timeout"
}

// severity is the verdict of a broken requirement: by its level at the
// revision.
func (c *collector) severity(state *cellState, ids []string) reports.Verdict {
	for _, id := range ids {
		requirement, known := c.catalogue.Get(id)
		if !known {
			continue
		}
		text := requirement.Text(state.report.Revision)
		if requirement.StandsAt(text) && requirement.Level(text).Failing() {
			return reports.Failed
		}
	}
	return reports.Warned
}

// requirements describes those of some requirements that stand for the transport, if any do.
func (c *collector) requirements(state *cellState, ids []string) []reports.Requirement {
	revision := state.report.Revision
	stands := func(id string) bool {
		requirement, known := c.catalogue.Get(id)
		return known && requirement.Applies(revision, state.report.Transport, state.report.Role)
	}
	if slices.ContainsFunc(ids, stands) {
		ids = slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return !stands(id) })
	}
	named := make([]reports.Requirement, 0, len(ids))
	for _, id := range ids {
		requirement, known := c.catalogue.Get(id)
		if !known {
			continue
		}
		text := requirement.Text(revision)
		one := reports.Requirement{
			ID: id, Level: string(requirement.Level(text)), Says: requirement.Says, RestsOn: requirement.RestsOn,
			At: requirement.At(text), Link: requirement.Link(text),
		}
		if text != revision {
			one.Revision = text
		}
		named = append(named, one)
	}
	return named
}

func (c *collector) page(state *cellState, id string) string {
	requirement, known := c.catalogue.Get(id)
	if !known {
		return ""
	}
	return requirement.Page(state.report.Revision)
}

func (c *collector) failure(mismatch rules.Mismatch, about rules.Subject) reports.Failure {
	return reports.Failure{
		Wanted: c.redact(mismatch.Wanted), Found: c.redact(mismatch.Found), Where: c.redact(mismatch.Where),
		Method: c.redact(about.Method), Item: c.redact(about.Item), About: c.redact(about.Name), Form: mismatch.Form,
		Code: mismatch.Code,
	}
}

func (c *collector) rerun(state *cellState, id string) string {
	if c.options.Rerun == nil {
		return ""
	}
	return c.options.Rerun(check.Cell{
		Role: state.report.Role, Revision: state.report.Revision, Transport: state.report.Transport,
	}, id)
}

// redact shortens a text and hides secrets in it: also what was cut in two.
func (c *collector) redact(text string) string {
	text = excerpt.Text(text)
	if c.options.Redactor == nil {
		return text
	}
	return c.options.Redactor.Redact(text)
}

func identity(info map[string]any) reports.Identity {
	name, _ := info["name"].(string)
	title, _ := info["title"].(string)
	version, _ := info["version"].(string)
	return reports.Identity{
		Name: excerpt.Short([]byte(name)), Title: excerpt.Short([]byte(title)), Version: excerpt.Short([]byte(version)),
	}
}

func rawJSON(value any) json.RawMessage {
	if value == nil {
		return nil
	}
	if object, is := value.(map[string]any); is {
		value = survey.Light(object)
	}
	text, err := json.Marshal(value)
	if err != nil {
		return nil
	}
	return text
}

// keep writes a connection's transcript, secrets redacted.
func (c *collector) keep(state *cellState, connection scope.Connection) error {
	folder := c.options.folder
	if folder == nil {
		var err error
		if folder, err = openFolder(c.options.Transcripts); err != nil {
			return err
		}
		defer func() { _ = folder.Close() }() // it only led there
	}
	name, err := filepath.Rel(c.options.Transcripts, c.transcriptOf(state, connection.Name))
	if err != nil {
		return fmt.Errorf("--transcripts: %w", err)
	}
	header := reports.RedactAll(c.options.Redactor, c.header(connection))
	events := reports.RedactAll(c.options.Redactor, connection.Events)
	return reports.WriteIn(folder, name, func(w io.Writer) error { return transcript.Write(w, header, events) })
}

// header says what the connection is to be judged by.
func (c *collector) header(connection scope.Connection) transcript.Header {
	facts, draft := connection.Facts, c.options.Draft
	return transcript.Header{
		Draft:   draft != nil && draft.As == connection.Cell.Revision,
		Harness: transcript.Harness{Name: c.options.Tool.Name, Version: c.options.Tool.Version},
		Role:    connection.Cell.Role, Transport: connection.Cell.Transport,
		Agreement: transcript.Agreement{
			Revision:     connection.Cell.Revision,
			Capabilities: transcript.Capabilities{Client: facts.ClientCapabilities, Server: facts.ServerCapabilities},
			Tools:        facts.Tools,
		},
		Dropped: facts.Incomplete, Unjudged: connection.Unjudged,
	}
}

// transcript names the file with the connection on which something was judged; ""
// when none is written.
func (c *collector) transcript(state *cellState, events []transcript.Event, judged int) string {
	switch {
	case len(events) == 0:
		return ""
	case c.report.Recorded != nil:
		return events[max(judged, 0)].Connection
	case c.options.Transcripts == "":
		return ""
	}
	return c.transcriptOf(state, events[max(judged, 0)].Connection)
}

func (c *collector) transcriptOf(state *cellState, connection string) string {
	return filepath.Join(c.options.Transcripts, state.report.Revision+"-"+state.report.Transport, connection+".jsonl")
}
