// Package clientrun is the vocabulary that checks of a target client are written in: it runs
// the client through scenarios, each once, and tells what it sent and did there. It judges
// nothing by itself.
package clientrun

import (
	"context"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/scenario"
	"github.com/mcpconform/mcpconform/internal/scope"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// Runner is how a target client is run, and what came of scenarios that were run before.
type Runner struct {
	*scope.Scope
	Launch     scenario.Launch           // nil where there are recordings only
	Alter      func(*scenario.Recording) // changes what was recorded; nil for nothing
	Sockets    string                    // directory of those that its servers come to; "" for one of their own
	Habits     scenario.Habits
	Recordings map[string]*scenario.Recording

	scenarios  map[string]*scenario.Scenario
	ran        scenario.Cache[ran]
	unanswered scripted.Unanswered
}

// looking is what a check that runs has to do with clients.
type looking struct {
	runner       *Runner
	client       *Client     // at which it has looked; nil for none
	overBudget   bool        // there was no room for all that a client sent, there or in a scenario to compare
	tokenless    bool        // one that was to log in, there or in a scenario to compare, asked for no token
	unanswered   bool        // such a one had asked for a login
	readsStreams func() bool // whether the client does; nil where that makes no difference
}

type lookingKey struct{}

func lookingOf(t *T) *looking {
	of, _ := t.Value(lookingKey{}).(*looking)
	return of
}

func runnerOf(t *T) *Runner { return lookingOf(t).runner }

// Begin lets a check look at clients.
func (r *Runner) Begin(t *T) { t.Keep(lookingKey{}, &looking{runner: r}) }

// LookedAt is the client at which a check has looked; nil for none.
func LookedAt(t *T) *Client {
	if looking := lookingOf(t); looking != nil {
		return looking.client
	}
	return nil
}

// OverBudget tells whether there was no room for all of what a check has looked at.
func OverBudget(t *T) bool {
	looking := lookingOf(t)
	return looking != nil && looking.overBudget
}

// Disturbed tells whether clients beside those at which a check has looked may be why it ended as
// it did, since one came to no token: many listen for the answer to a login on a port that is
// always the same. A check passes for that reason only where a login was asked for.
func Disturbed(t *T, passed bool) bool {
	looking := lookingOf(t)
	if looking == nil || !looking.runner.Concurrent || looking.runner.recorded() {
		return false
	}
	return looking.tokenless && !passed || looking.unanswered
}

// looks takes down what matters of each client at which a check looks.
func (l *looking) looks(client *Client, at *scenario.Scenario) {
	l.overBudget = l.overBudget || client.OverBudget
	if at.Protected != nil && len(client.At(scripted.AtToken)) == 0 {
		l.tokenless = true
		l.unanswered = l.unanswered || len(client.At(scripted.AtAuthorize)) > 0
	}
}

// scenarioOf is the name of that in which the check looks; "" for none.
func scenarioOf(t *T) string {
	if t.Declared.Scenario == nil {
		return ""
	}
	return t.Declared.Scenario.Name
}

// ran is what came of a scenario.
type ran struct {
	client *Client
	logs   []*transcript.Log
	err    error
}

// Driver runs the target client through scenarios.
func (r *Runner) Driver() scenario.Driver {
	return scenario.Driver{
		Revision:   r.Revision,
		Transport:  r.Transport,
		Launch:     r.Launch,
		Sockets:    r.Sockets,
		Reply:      r.Target.Reply,
		Unanswered: &r.unanswered,
		Start:      r.Target.Start,
		Whole:      r.CheckTimeout(),
		Habits:     r.Habits,
		Limits:     r.Target.Limits,
		Budget:     r.Budget,
		Name:       r.Process.Name,
		Alter:      r.Alter,
	}
}

// run runs the client through a scenario, or returns what came of it when it was run
// before.
func (r *Runner) run(ctx context.Context, one *scenario.Scenario) (*Client, error) {
	told := r.ran.Get(one.Name, func() ran { return r.runAnew(ctx, one) })
	return told.client, told.err
}

func (r *Runner) runAnew(ctx context.Context, one *scenario.Scenario) ran {
	if r.recorded() {
		return r.recall(one, r.Recordings[one.Name])
	}
	recording, logs, err := r.Driver().Run(ctx, one)
	if err != nil {
		return ran{err: err}
	}
	return ran{client: newClient(r, one, recording, logs), logs: logs}
}

// recorded tells that there is no client to start: all that there is are records of
// scenarios that others have run.
func (r *Runner) recorded() bool { return r.Launch == nil }

// recall takes up what came of a scenario; nil for nothing.
func (r *Runner) recall(one *scenario.Scenario, kept *scenario.Recording) ran {
	if kept == nil {
		kept = &scenario.Recording{Scenario: one.Name}
	}
	var logs []*transcript.Log
	for _, connection := range kept.Connections {
		logs = append(logs, transcript.NewLogIn(r.Budget, connection.Name))
	}
	return ran{client: newClient(r, one, kept, logs), logs: logs}
}

// Perform runs a client through a scenario that is not kept for other checks, by a driver of
// its own. The logs hold the memory of what was recorded; the findings are those of the rules.
func (r *Runner) Perform(
	ctx context.Context,
	by scenario.Driver,
	one *scenario.Scenario,
) (client *Client, findings []rules.Finding, logs []*transcript.Log, err error) {
	recording, logs, err := by.Run(ctx, one)
	if err != nil {
		return nil, nil, nil, err
	}
	client = newClient(r, one, recording, logs)
	for _, conversation := range client.Conversations {
		findings = append(findings, rules.Apply(r.RulesAt(conversation.Cell), conversation)...)
	}
	return client, findings, logs, nil
}

// Meet makes first contact with a client: it runs the meeting. The error says that
// it could not be started. What came of it is for read, and forgotten afterwards.
func (r *Runner) Meet(ctx context.Context, read func(*Client)) error {
	recording, logs, err := r.Driver().Run(ctx, scenario.Meeting)
	if err != nil {
		return err
	}
	read(newClient(r, scenario.Meeting, recording, logs))
	for _, log := range logs {
		log.Release()
	}
	return nil
}

// Leave ends with what was run: the rules judge it, and the records at which no check
// has looked.
func (r *Runner) Leave() {
	told := r.ran.Drain()
	if r.recorded() {
		for name, kept := range r.Recordings {
			if _, there := told[name]; !there {
				one := r.recall(&scenario.Scenario{Name: name}, kept)
				r.judgeClient(one.client, one.logs)
			}
		}
	}
	for _, one := range told {
		if one.client != nil {
			r.judgeClient(one.client, one.logs)
		}
	}
}

// judgeClient applies the rules to all connections of a scenario and hands them on. Where
// the server speaks another revision than that of the cell, a client is judged by that
// if it has agreed to it, and else not at all.
func (r *Runner) judgeClient(client *Client, logs []*transcript.Log) {
	for i, conversation := range client.Conversations {
		if r.Record != nil && (!r.Concurrent || !client.OverBudget) {
			var judging []rules.Rule
			spoken := cellIn(client.scenario, r.Cell)
			agreed := spoken == r.Cell || conversation.Negotiated && conversation.Cell == spoken
			if agreed {
				judging = r.RulesAt(conversation.Cell)
			}
			r.Record(scope.Connection{
				Cell:     conversation.Cell,
				Name:     client.Connections[i].Name,
				Events:   conversation.Events,
				Facts:    conversation.Facts(),
				Unjudged: !agreed,
				Findings: rules.Apply(judging, conversation),
				Pace:     scope.PaceOf(conversation),
			})
		}
	}
	if told := client.Authorization; told != nil && r.Record != nil && (!r.Concurrent || !client.OverBudget) {
		r.Record(
			scope.Connection{
				Cell:     cellIn(client.scenario, r.Cell),
				Name:     told.Name,
				Events:   told.Events,
				Unjudged: true,
			},
		)
	}
	for _, log := range logs {
		log.Release()
	}
}
