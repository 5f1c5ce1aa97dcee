package conform

import (
	"context"

	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// StandingRules returns the rules whose requirements stand at the revision and apply
// to the transport, and for those that do not apply to it the reason, by id.
func (e *Environment) StandingRules() (standing []rules.Rule, elsewhere map[string]string) {
	elsewhere = map[string]string{}
	for _, rule := range e.Rules {
		if !e.stands(rule.Verifies.IDs) || !rule.For(e.Role) {
			continue
		}
		if reason := e.elsewhere(rule.Verifies.IDs); reason != "" {
			elsewhere[rule.ID()] = reason
		} else {
			standing = append(standing, rule)
		}
	}
	return standing, elsewhere
}

// judge applies the rules to a connection that is closed and hands both on. A
// record that is incomplete for lack of room is not judged in company: the check
// is run again.
func (e *Environment) judge(log *transcript.Log) {
	defer log.Release()
	if e.Record == nil || e.Company && log.OverBudget() {
		return
	}
	e.Record(e.Judged(log))
}

// Judged applies the rules to a connection that is closed.
func (e *Environment) Judged(log *transcript.Log) Connection {
	events := log.Events()
	conversation := rules.ReadConversation(e.Leg, e.judged.LeaveOut(events), log.Dropped() == 0, log)
	defer e.judged.Add(conversation)
	if conversation.ServerCapabilities == nil && conversation.Leg == e.Leg && e.Has(protocol.Discovery) &&
		e.Survey.Declared() {
		conversation.ServerCapabilities = e.Survey.Capabilities
	}
	if conversation.Leg == e.Leg && e.Survey != nil {
		conversation.Tools = e.Survey.Tools
	}
	return Connection{
		Leg: conversation.Leg, Name: log.Connection(), Events: events, Facts: conversation.Facts(),
		Findings: rules.Apply(e.rulesAt(conversation.Leg), conversation), Pace: paceOf(conversation),
	}
}

// rulesAt are the rules that stand on a leg, which may be another one than that of the
// environment.
func (e *Environment) rulesAt(leg Leg) []rules.Rule {
	there := e
	if leg != e.Leg {
		there = &Environment{Leg: leg, Catalogue: e.Catalogue, Rules: e.Rules}
	}
	standing, _ := there.StandingRules()
	return standing
}

// recordOnly hands on what was fetched beside the protocol, which no rule judges.
func (e *Environment) recordOnly(log *transcript.Log) {
	defer log.Release()
	if e.Record != nil {
		e.Record(Connection{Leg: e.Leg, Name: log.Connection(), Events: log.Events(), Unjudged: true})
	}
}

// JudgeConnection closes a connection that no check used, such as the one that
// the survey was taken on, and judges it like all others.
func (e *Environment) JudgeConnection(ctx context.Context, connection *scripted.Connection) {
	connection.Close(ctx)
	connection.Forget()
	e.judge(connection.Log())
}
