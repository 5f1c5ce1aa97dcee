package runner

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/reports"
)

// Live judges connections between two peers while they live, and after. Connections are
// judged by one goroutine; all else is safe for concurrent use.
type Live struct {
	mu     sync.Mutex
	roles  map[string]*judgement
	known  map[string]bool // what was told
	opened map[string]ongoing
}

// ongoing is a connection that is not over, as it was seen last.
type ongoing struct {
	events int
	found  map[string]examined // by role
}

// Breach is something that a peer broke, told when it is first seen.
type Breach struct {
	Role, Connection string
	Requirement      string
	Verdict          reports.Verdict
	Text             string
	Mismatch         rules.Mismatch
}

// NewLive makes one for both roles. The error is a *plan.FilterError.
func NewLive(options Options) (*Live, error) {
	l := &Live{roles: map[string]*judgement{}, known: map[string]bool{}, opened: map[string]ongoing{}}
	for _, role := range peers() {
		options.Role = role
		judging, err := newJudgement(options, 0)
		if err != nil {
			return nil, err
		}
		l.roles[role] = judging
	}
	return l, nil
}

// peers are the roles of both sides of a connection.
func peers() []string { return []string{protocol.ServerRole, protocol.ClientRole} }

// Look judges a connection that goes on, and returns what it breaks and was not returned before.
func (l *Live) Look(header transcript.Header, events []transcript.Event, name string) []Breach {
	l.mu.Lock()
	before, there := l.opened[name]
	l.mu.Unlock()
	if there && before.events == len(events) {
		return nil
	}
	found := l.examine(header, events, name)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.opened[name] = ongoing{len(events), found}
	return l.news(found)
}

// Take judges a connection that is over, and returns what it breaks and was not returned before.
func (l *Live) Take(header transcript.Header, events []transcript.Event, name string) []Breach {
	found := l.examine(header, events, name)
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.opened, name)
	for role, judging := range l.roles {
		judging.report.Recorded.All++
		judging.count(found[role], 1)
	}
	return l.news(found)
}

// examine judges both peers of a connection. It does not hold the lock, so reports need not wait.
func (l *Live) examine(header transcript.Header, events []transcript.Event, name string) map[string]examined {
	found := make(map[string]examined, len(l.roles))
	for role, judging := range l.roles {
		found[role] = judging.examineSafely(header, slices.Clone(events), name) // which marks them
	}
	return found
}

// examineSafely keeps a defect of a rule from what passes.
func (j *judgement) examineSafely(
	header transcript.Header,
	events []transcript.Event,
	name string,
) (found examined) {
	defer func() {
		if cause := recover(); cause != nil {
			found = examined{defect: fmt.Sprintf(
				"the connection %s could not be judged: %v; this is a defect of mcpconform: report it, with its recording",
				name,
				cause,
			)}
		}
	}()
	return j.examine(header, events, name)
}

// news are the breaches that were not told yet.
func (l *Live) news(found map[string]examined) (told []Breach) {
	for _, role := range peers() {
		one, judging := found[role], l.roles[role].fresh()
		if !one.judged {
			continue
		}
		state := judging.cell(one)
		for _, finding := range one.Findings {
			at := slices.IndexFunc(state.rules, func(rule rules.Rule) bool { return rule.ID() == finding.Rule })
			if len(finding.Breaks) == 0 || !judging.chooses(state, state.rules[at]) {
				continue
			}
			rule := state.rules[at]
			ids := state.environment.Applicable(rule.Verifies.IDs)
			for _, breach := range finding.Breaks {
				key := role + " " + state.report.Name() + " " + rule.ID() + " " + breach.Cause
				if l.known[key] {
					continue
				}
				l.known[key] = true
				mismatch := breach.Mismatch
				mismatch.Wanted, mismatch.Found = judging.redact(mismatch.Wanted), judging.redact(mismatch.Found)
				told = append(told, Breach{
					Role: role, Connection: one.Name, Requirement: ids[0],
					Verdict: judging.severity(state, ids), Text: rule.Text, Mismatch: mismatch,
				})
			}
		}
	}
	return told
}

// Reports are those of both peers by now, with the connections that go on as they were judged
// last. There is none of a peer of which nothing can be judged yet.
func (l *Live) Reports() (found []*reports.Run) {
	for _, role := range peers() {
		if run, err := l.now(role).conclude(); err == nil {
			found = append(found, run)
		}
	}
	return found
}

// now is what is known of a peer, with the connections that go on.
func (l *Live) now(role string) *judgement {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.roles[role].copied()
	for _, name := range slices.Sorted(maps.Keys(l.opened)) {
		now.report.Recorded.All++
		now.count(l.opened[name].found[role], 1)
	}
	return now
}

// fresh is a judgement by the same options that has seen nothing.
func (j *judgement) fresh() *judgement {
	report := *j.report
	report.Cells, report.Errors, report.Recorded = nil, slices.Clone(report.Errors), &reports.Recorded{}
	return &judgement{
		collector: collector{options: j.options, chosen: j.chosen, catalogue: j.catalogue, report: &report},
		started:   time.Now(), rules: j.rules,
	}
}

// copied is a judgement that has seen the same; what either sees from now on it sees alone.
func (j *judgement) copied() *judgement {
	other := j.fresh()
	other.started, other.joined, other.altered, other.cut = j.started, j.joined, j.altered, j.cut
	*other.report.Recorded = *j.report.Recorded
	for _, state := range j.cells {
		one := *state
		one.lacking = maps.Clone(state.lacking)
		one.findings = make(map[string]*found, len(state.findings))
		for rule, seen := range state.findings {
			one.findings[rule] = &found{
				saw: seen.saw, breaches: slices.Clone(seen.breaches), connections: slices.Clone(seen.connections),
			}
		}
		other.cells = append(other.cells, &one)
	}
	return other
}
