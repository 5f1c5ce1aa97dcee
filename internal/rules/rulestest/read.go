// Package rulestest writes conversations for tests of rules as short scripts, and tells
// which rules find them broken. Only tests use it.
package rulestest

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// Talk makes a conversation of lines: ">" is said by the client, "<" by the
// server, which is the target. A stream may stand in front, as in "post-2<". A handshake
// ends at the revision, if that has one.
func Talk(revision string, lines ...string) *rules.Conversation {
	transport := protocol.Stdio
	negotiated := revision
	if !protocol.Has(revision, protocol.Handshake) {
		negotiated = protocol.Last(protocol.Handshake)
	}
	var events []transcript.Event
	for i, line := range lines {
		at := strings.IndexAny(line, "<>")
		from, stream := protocol.Client, "stdio"
		if line[at] == '<' {
			from = protocol.Server
		}
		if at > 0 {
			transport, stream = protocol.HTTP, line[:at]
		}
		events = append(events, transcript.Event{
			Sequence: i,
			Kind:     transcript.Message,
			From:     from,
			Stream:   stream,
			Raw: []byte(
				strings.ReplaceAll(line[at+1:], `"protocolVersion":"2025-11-25"`, `"protocolVersion":"`+negotiated+`"`),
			),
		})
	}
	cell := rules.Cell{Role: protocol.ServerRole, Revision: revision, Transport: transport}
	return rules.NewConversation(cell, events, true)
}

// Began is when all transcripts of tests begin; their events follow each other
// by a tenth of a second.
var Began = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// Converse reads a conversation. Each line is who speaks (c for the client, s for
// the server), a mark ! where the harness lies on purpose, a stream after @,
// and the message. Other lines are "head @stream STATUS", "resume @stream",
// "signal NOTE", "exit" and "now" (what follows comes at once).
func Converse(t *testing.T, cell rules.Cell, script string) *rules.Conversation {
	t.Helper()
	var events []transcript.Event
	at, pace := Began, 100*time.Millisecond
	for line := range strings.Lines(script) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		who, rest, _ := strings.Cut(line, " ")
		event := transcript.Event{Kind: transcript.Message, Stream: "stdio", At: at, Sequence: len(events)}
		if strings.HasPrefix(rest, "@") {
			event.Stream, rest, _ = strings.Cut(rest[1:], " ")
		}
		switch who {
		case "c":
			event.From, event.Raw = protocol.Client, []byte(rest)
		case "c!":
			event.From, event.Raw, event.Deliberate = protocol.Client, []byte(rest), "a test"
		case "s":
			event.From, event.Raw = protocol.Server, []byte(rest)
		case "s!":
			event.From, event.Raw, event.Deliberate = protocol.Server, []byte(rest), "a test"
		case "head":
			var status int
			if _, err := fmt.Sscan(rest, &status); err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			event.Kind, event.From, event.HTTP = transcript.Head, protocol.Server, &transcript.HTTP{Status: status}
		case "resume":
			event.Kind, event.From = transcript.Head, protocol.Client
			event.HTTP = &transcript.HTTP{Method: http.MethodGet, Header: http.Header{"Last-Event-Id": {"1"}}}
		case "signal":
			event.Kind, event.From, event.Note = transcript.Signal, protocol.Client, rest
		case "exit":
			event.Kind, event.From = transcript.Exit, protocol.Server
		case "now":
			pace = time.Millisecond
			continue
		default:
			t.Fatalf("cannot read %q", line)
		}
		events = append(events, event)
		at = at.Add(pace)
	}
	return rules.NewConversation(cell, events, true)
}
