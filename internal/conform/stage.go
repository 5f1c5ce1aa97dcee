package conform

import (
	"context"
	"sync"

	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// stage keeps the scenarios that a target client has played, for the checks that
// look at them.
type stage struct {
	mu     sync.Mutex
	played map[string]*played
}

type played struct {
	client *Client
	logs   []*transcript.Log
	err    error
}

// played lets the client play a scenario, or returns what came of it when it was
// played before.
func (e *Environment) played(ctx context.Context, scenario *Scenario) (*Client, error) {
	e.stage.mu.Lock()
	defer e.stage.mu.Unlock()
	if known := e.stage.played[scenario.Name]; known != nil {
		return known.client, known.err
	}
	one := e.stage.play(ctx, e, scenario)
	if e.stage.played == nil {
		e.stage.played = map[string]*played{}
	}
	e.stage.played[scenario.Name] = one
	return one.client, one.err
}

func (s *stage) play(ctx context.Context, e *Environment, scenario *Scenario) *played {
	if e.recorded() {
		return e.recall(scenario, e.Performances[scenario.Name])
	}
	performance, logs, err := e.Perform(ctx, scenario)
	if err != nil {
		return &played{err: err}
	}
	return &played{client: newClient(e, scenario, performance, logs), logs: logs}
}

// recorded tells that there is no client to start: all that there is are records of
// what others have played.
func (e *Environment) recorded() bool { return e.Launch == nil }

// recall takes up what came of a scenario; nil for nothing.
func (e *Environment) recall(scenario *Scenario, kept *Performance) *played {
	if kept == nil {
		kept = &Performance{Scenario: scenario.Name}
	}
	var logs []*transcript.Log
	for _, connection := range kept.Connections {
		logs = append(logs, transcript.NewLogIn(e.Budget, connection.Name))
	}
	return &played{client: newClient(e, scenario, kept, logs), logs: logs}
}

// recallAll takes up the records at which no check has looked.
func (e *Environment) recallAll() {
	for name, kept := range e.Performances {
		if e.stage.played[name] == nil {
			one := e.recall(&Scenario{Name: name}, kept)
			e.judgeClient(one.client, one.logs)
		}
	}
}

// Meet makes first contact with a client: it plays the meeting. The error says that
// it could not be started. What came of it is for read, and forgotten afterwards.
func (e *Environment) Meet(ctx context.Context, read func(*Client)) error {
	performance, logs, err := e.Perform(ctx, Meeting)
	if err != nil {
		return err
	}
	read(newClient(e, Meeting, performance, logs))
	for _, log := range logs {
		log.Release()
	}
	return nil
}

// leave ends with what was played: the rules judge it.
func (e *Environment) leave() {
	e.stage.mu.Lock()
	defer e.stage.mu.Unlock()
	if e.recorded() {
		e.recallAll()
	}
	for _, one := range e.stage.played {
		if one.client != nil {
			e.judgeClient(one.client, one.logs)
		}
	}
	e.stage.played = nil
}

// judgeClient applies the rules to all connections of a scenario and hands them on. Where
// the server speaks another revision than that of the leg, a client is judged by that
// if it has agreed to it, and else not at all.
func (e *Environment) judgeClient(client *Client, logs []*transcript.Log) {
	for i, conversation := range client.Conversations {
		if e.Record != nil && (!e.Company || !client.OverBudget) {
			var judging []rules.Rule
			spoken := client.scenario.leg(e.Leg)
			agreed := spoken == e.Leg || conversation.Negotiated && conversation.Leg == spoken
			if agreed {
				judging = e.rulesAt(conversation.Leg)
			}
			e.Record(Connection{
				Leg: conversation.Leg, Name: client.Connections[i].Name, Events: conversation.Events, Facts: conversation.Facts(), Unjudged: !agreed,
				Findings: rules.Apply(judging, conversation),
			})
		}
	}
	for _, log := range logs {
		log.Release()
	}
}
