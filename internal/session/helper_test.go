package session

import (
	"testing"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/offer"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/provoke"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/scope/scopetest"
	"github.com/mcpconform/mcpconform/internal/scripted"
)

// environment is one of a cell, with a catalogue of its own.
func environment(t *testing.T, transport string) *Environment {
	t.Helper()
	return &Environment{Offer: offer.Offer{Scope: scopetest.Server(t, transport), Policy: provoke.Policy{Calls: provoke.CallReadOnly}}}
}

// reply reads an answer as it stands on the wire.
func reply(raw string) Reply {
	return Reply{Received: scripted.Received{Message: jsonrpc.Parse([]byte(raw))}}
}

func conversation(messages ...string) *Conversation {
	return rules.NewConversation(Cell{Role: protocol.ServerRole, Revision: "2025-06-18", Transport: protocol.Stdio}, scopetest.Said(messages...), true)
}
