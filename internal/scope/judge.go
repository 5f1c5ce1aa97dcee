package scope

import (
	"context"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// ApplicableRules returns the rules whose requirements oblige the target at the revision and apply
// to the transport, and for those that do not apply to it the reason, by id.
func (s *Scope) ApplicableRules() (applicable []rules.Rule, otherTransport map[string]string) {
	otherTransport = map[string]string{}
	for _, rule := range s.Rules {
		if !s.obliges(rule.Verifies.IDs) || !rule.For(s.Role) {
			continue
		}
		if reason := s.OtherTransport(rule.Verifies.IDs); reason != "" {
			otherTransport[rule.ID()] = reason
		} else {
			applicable = append(applicable, rule)
		}
	}
	return applicable, otherTransport
}

// Judge applies the rules to a connection that is closed and hands both on. A
// record that is incomplete for lack of room is not judged where others run: the check
// is run again.
func (s *Scope) Judge(log *transcript.Log) {
	defer log.Release()
	if s.Record == nil || s.Concurrent && log.OverBudget() {
		return
	}
	s.Record(s.Judged(log))
}

// Judged applies the rules to a connection that is closed.
func (s *Scope) Judged(log *transcript.Log) Connection {
	events := log.Events()
	conversation := rules.ReadConversation(s.Cell, s.judged.LeaveOut(events), log.Dropped() == 0, log)
	defer s.judged.Add(conversation)
	if conversation.ServerCapabilities == nil && conversation.Cell == s.Cell && s.Has(protocol.Discovery) &&
		s.Survey.Declared() {
		conversation.ServerCapabilities = s.Survey.Capabilities
	}
	if conversation.Cell == s.Cell && s.Survey != nil {
		conversation.Tools = s.Survey.Tools
	}
	return Connection{
		Cell: conversation.Cell, Name: log.Connection(), Events: events, Facts: conversation.Facts(),
		Findings: rules.Apply(s.RulesAt(conversation.Cell), conversation), Pace: PaceOf(conversation),
	}
}

// RulesAt are the rules that stand on a cell, which may be another one than that of the
// scope.
func (s *Scope) RulesAt(cell Cell) []rules.Rule {
	standing, known := s.standing.Load(cell)
	if !known {
		there := &Scope{Cell: cell, Catalogue: s.Catalogue, Rules: s.Rules}
		applicable, _ := there.ApplicableRules()
		standing, _ = s.standing.LoadOrStore(cell, applicable)
	}
	return standing.([]rules.Rule) //nolint:forcetypeassert // nothing else is stored
}

// RecordOnly hands on what was fetched beside the protocol, which no rule judges.
func (s *Scope) RecordOnly(log *transcript.Log) {
	defer log.Release()
	if s.Record != nil {
		s.Record(Connection{Cell: s.Cell, Name: log.Connection(), Events: log.Events(), Unjudged: true})
	}
}

// JudgeConnection closes a connection that no check used, such as the one that
// the survey was taken on, and judges it like all others.
func (s *Scope) JudgeConnection(ctx context.Context, connection *scripted.Connection) {
	connection.Close(ctx)
	connection.Forget()
	s.Judge(connection.Log())
}
