package conform

import (
	"context"

	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/scenario"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// ran is what came of a scenario.
type ran struct {
	client *Client
	logs   []*transcript.Log
	err    error
}

// Driver runs the target client through scenarios.
func (e *Environment) Driver() scenario.Driver {
	return scenario.Driver{
		Revision: e.Revision, Transport: e.Transport, Launch: e.Launch, Sockets: e.Sockets,
		Reply: e.Target.Reply, Start: e.Target.Start, Whole: e.CheckTimeout(), ShortWait: e.ShortWait,
		Limits: e.Target.Limits, Budget: e.Budget, Name: e.Process.name, Alter: e.Alter,
	}
}

// run runs the client through a scenario, or returns what came of it when it was run
// before.
func (e *Environment) run(ctx context.Context, one *scenario.Scenario) (*Client, error) {
	told := e.ran.Get(one.Name, func() ran { return e.runAnew(ctx, one) })
	return told.client, told.err
}

func (e *Environment) runAnew(ctx context.Context, one *scenario.Scenario) ran {
	if e.recorded() {
		return e.recall(one, e.Recordings[one.Name])
	}
	recording, logs, err := e.Driver().Run(ctx, one)
	if err != nil {
		return ran{err: err}
	}
	return ran{client: newClient(e, one, recording, logs), logs: logs}
}

// recorded tells that there is no client to start: all that there is are records of
// scenarios that others have run.
func (e *Environment) recorded() bool { return e.Launch == nil }

// recall takes up what came of a scenario; nil for nothing.
func (e *Environment) recall(one *scenario.Scenario, kept *scenario.Recording) ran {
	if kept == nil {
		kept = &scenario.Recording{Scenario: one.Name}
	}
	var logs []*transcript.Log
	for _, connection := range kept.Connections {
		logs = append(logs, transcript.NewLogIn(e.Budget, connection.Name))
	}
	return ran{client: newClient(e, one, kept, logs), logs: logs}
}

// Perform runs a client through a scenario of which nobody else knows, by a driver of its
// own. The logs hold the memory of what was recorded; the findings are those of the rules.
func (e *Environment) Perform(
	ctx context.Context,
	by scenario.Driver,
	one *scenario.Scenario,
) (client *Client, findings []rules.Finding, logs []*transcript.Log, err error) {
	recording, logs, err := by.Run(ctx, one)
	if err != nil {
		return nil, nil, nil, err
	}
	client = newClient(e, one, recording, logs)
	for _, conversation := range client.Conversations {
		findings = append(findings, rules.Apply(e.rulesAt(conversation.Leg), conversation)...)
	}
	return client, findings, logs, nil
}

// Meet makes first contact with a client: it runs the meeting. The error says that
// it could not be started. What came of it is for read, and forgotten afterwards.
func (e *Environment) Meet(ctx context.Context, read func(*Client)) error {
	recording, logs, err := e.Driver().Run(ctx, scenario.Meeting)
	if err != nil {
		return err
	}
	read(newClient(e, scenario.Meeting, recording, logs))
	for _, log := range logs {
		log.Release()
	}
	return nil
}

// leave ends with what was run: the rules judge it, and the records at which no check
// has looked.
func (e *Environment) leave() {
	e.issuer().leave()
	told := e.ran.Drain()
	if e.recorded() {
		for name, kept := range e.Recordings {
			if _, there := told[name]; !there {
				one := e.recall(&scenario.Scenario{Name: name}, kept)
				e.judgeClient(one.client, one.logs)
			}
		}
	}
	for _, one := range told {
		if one.client != nil {
			e.judgeClient(one.client, one.logs)
		}
	}
}

// judgeClient applies the rules to all connections of a scenario and hands them on. Where
// the server speaks another revision than that of the leg, a client is judged by that
// if it has agreed to it, and else not at all.
func (e *Environment) judgeClient(client *Client, logs []*transcript.Log) {
	for i, conversation := range client.Conversations {
		if e.Record != nil && (!e.Company || !client.OverBudget) {
			var judging []rules.Rule
			spoken := legIn(client.scenario, e.Leg)
			agreed := spoken == e.Leg || conversation.Negotiated && conversation.Leg == spoken
			if agreed {
				judging = e.rulesAt(conversation.Leg)
			}
			e.Record(Connection{
				Leg:      conversation.Leg,
				Name:     client.Connections[i].Name,
				Events:   conversation.Events,
				Facts:    conversation.Facts(),
				Unjudged: !agreed,
				Findings: rules.Apply(judging, conversation),
				Pace:     paceOf(conversation),
			})
		}
	}
	if told := client.Authorization; told != nil && e.Record != nil && (!e.Company || !client.OverBudget) {
		e.Record(Connection{Leg: legIn(client.scenario, e.Leg), Name: told.Name, Events: told.Events, Unjudged: true})
	}
	for _, log := range logs {
		log.Release()
	}
}
