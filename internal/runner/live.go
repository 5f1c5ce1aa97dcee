package runner

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/reports"
)

// Live judges connections between two peers while they live, and after. It is safe for
// concurrent use.
type Live struct {
	mu     sync.Mutex
	roles  map[string]*judgement
	known  map[string]bool // what was told
	opened map[string]ongoing
}

// ongoing is a connection that is not over, as it was seen last.
type ongoing struct {
	header transcript.Header
	events []transcript.Event
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

// Look judges a connection that goes on, and returns what it breaks that nobody was told.
func (l *Live) Look(header transcript.Header, events []transcript.Event, name string) []Breach {
	l.mu.Lock()
	defer l.mu.Unlock()
	if before, there := l.opened[name]; there && len(before.events) == len(events) {
		return nil
	}
	l.opened[name] = ongoing{header, events}
	var told []Breach
	for _, role := range peers() {
		one := l.roles[role].fresh()
		one.judge(header, slices.Clone(events), name, 1)
		told = append(told, l.news(one, name)...)
	}
	return told
}

// Take judges a connection that is over.
func (l *Live) Take(header transcript.Header, events []transcript.Event, name string) []Breach {
	told := l.Look(header, events, name)
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.opened, name)
	for _, role := range peers() {
		l.roles[role].report.Recorded.All++
		l.roles[role].judge(header, slices.Clone(events), name, 1)
	}
	return told
}

// news are the breaches that were not told yet.
func (l *Live) news(one *judgement, name string) []Breach {
	var told []Breach
	for _, state := range one.cells {
		for _, rule := range state.rules {
			seen := state.findings[rule.ID()]
			if seen == nil || len(seen.breaches) == 0 || !one.chooses(state, rule) {
				continue
			}
			ids := state.environment.Applicable(rule.Verifies.IDs)
			for _, breach := range seen.breaches {
				key := one.options.Role + " " + state.report.Name() + " " + rule.ID() + " " + breach.Cause
				if l.known[key] {
					continue
				}
				l.known[key] = true
				told = append(told, Breach{
					Role: one.options.Role, Connection: name, Requirement: ids[0],
					Verdict: one.severity(state, ids), Text: rule.Text,
					Mismatch: rules.Mismatch{
						Wanted: one.redact(
							breach.Mismatch.Wanted,
						),
						Found: one.redact(breach.Mismatch.Found),
						Where: breach.Mismatch.Where,
					},
				})
			}
		}
	}
	return told
}

// Reports are those of both peers by now, with the connections that go on. There is none of
// a peer of which nothing can be judged yet.
func (l *Live) Reports() (found []*reports.Run) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, role := range peers() {
		now := l.roles[role].copied()
		for _, name := range slices.Sorted(maps.Keys(l.opened)) {
			now.report.Recorded.All++
			now.judge(l.opened[name].header, slices.Clone(l.opened[name].events), name, 1)
		}
		if run, err := now.conclude(); err == nil {
			found = append(found, run)
		}
	}
	return found
}

// fresh is a judgement by the same options that has seen nothing.
func (j *judgement) fresh() *judgement {
	report := *j.report
	report.Cells, report.Recorded = nil, &reports.Recorded{}
	return &judgement{
		collector: collector{options: j.options, chosen: j.chosen, catalogue: j.catalogue, report: &report},
		started:   time.Now(), rules: j.rules,
	}
}

// copied is a judgement that has seen the same; what either sees from now on it sees alone.
func (j *judgement) copied() *judgement {
	other := j.fresh()
	other.started, other.joined, other.altered = j.started, j.joined, j.altered
	*other.report.Recorded = *j.report.Recorded
	for _, state := range j.cells {
		one := *state
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
