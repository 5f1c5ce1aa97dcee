package session

import (
	"testing"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/offer"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/scope"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

func TestReadsHowAConnectionWasOpened(t *testing.T) {
	t.Parallel()
	hello := scripted.Hello("2025-11-25", scripted.Nothing())
	says := func(raw []byte) transcript.Event {
		return transcript.Event{From: protocol.Client, Kind: transcript.Message, Raw: raw}
	}
	ofID := func(id jsonrpc.ID) transcript.Event { return says(jsonrpc.NewRequest(id, "initialize", hello)) }
	initialize := ofID(jsonrpc.IntID(1))
	initialized := says([]byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`))
	withMeta := says([]byte(`{"jsonrpc":"2.0","method":"notifications/initialized","params":{"_meta":{}}}`))
	list := says([]byte(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`))
	for name, test := range map[string]struct {
		events             []transcript.Event
		plain, initialized bool
	}{
		"a handshake":                {[]transcript.Event{initialize, initialized}, true, true},
		"a handshake, and a request": {[]transcript.Event{initialize, initialized, list}, true, true},
		"half of it":                 {[]transcript.Event{initialize}, true, false},
		"a request between":          {[]transcript.Event{initialize, list, initialized}, false, true},
		"a request before":           {[]transcript.Event{list, initialize, initialized}, false, true},
		"an id that is a string":     {[]transcript.Event{ofID(jsonrpc.StringID("1")), initialized}, false, true},
		"a notification with params": {[]transcript.Event{initialize, withMeta}, false, true},
	} {
		got := readOpening(test.events)
		if got.plain != test.plain || got.initialized != test.initialized {
			t.Errorf("%s: plain %t, initialized %t", name, got.plain, got.initialized)
		}
		if got.hello != jsonrpc.Text(hello) || got.capabilities != "{}" {
			t.Errorf("%s: the hello %s with the capabilities %s", name, got.hello, got.capabilities)
		}
	}
}

func TestChecksShareProcessesOverStdioAlone(t *testing.T) {
	t.Parallel()
	declared := &Declaration{Together: "tasks"}
	for name, test := range map[string]struct {
		environment *Environment
		with        string
	}{
		"stdio":            {&Environment{Offer: offer.Offer{Scope: &scope.Scope{Cell: Cell{Transport: protocol.Stdio}}}}, "tasks"},
		"HTTP":             {&Environment{Offer: offer.Offer{Scope: &scope.Scope{Cell: Cell{Transport: protocol.HTTP}}}}, ""},
		"each one alone":   {&Environment{Offer: offer.Offer{Scope: &scope.Scope{Cell: Cell{Transport: protocol.Stdio}}}, Fresh: true}, ""},
		"what is repeated": {&Environment{Offer: offer.Offer{Scope: &scope.Scope{Cell: Cell{Transport: protocol.Stdio}}}, Apart: true}, ""},
	} {
		if got := test.environment.TogetherWith(declared); got != test.with {
			t.Errorf("%s: together with %q", name, got)
		}
	}
}
