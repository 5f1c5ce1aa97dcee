package suites_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
	. "github.com/mcpconform/mcpconform/internal/rules/rulestest"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

func FuzzTransportRules(f *testing.F) {
	f.Add("{\n\"a\":1}\n{}", "text/event-stream; charset=x", "1")
	f.Add("\xff\n\n{", "", "")
	f.Add(`{"id":1,"result":{"tools":[{"inputSchema":{"items":[{"x-mcp-header":1}],"properties":{"a":{"x-mcp-header":""}}}}]}}`, "text/event-stream", "")
	judging := ofPages("transports.", "tools.header.")
	f.Fuzz(func(t *testing.T, output, contentType, id string) {
		var events []transcript.Event
		for line := range strings.SplitSeq(output, "\n") {
			events = append(events, transcript.Event{Kind: transcript.Message, From: protocol.Server, Stream: "stdio", Sequence: len(events), Raw: []byte(line)})
		}
		Judged(judging, rules.NewConversation(Stdio, events, true))
		Judged(judging, rules.NewConversation(rules.Cell{Role: protocol.ServerRole, Revision: "2026-07-28", Transport: protocol.Stdio}, events, true))

		events = []transcript.Event{
			{Kind: transcript.Head, From: protocol.Client, Stream: "post-1", HTTP: &transcript.HTTP{Method: "POST"}},
			{Kind: transcript.Message, From: protocol.Client, Stream: "post-1", Sequence: 1, Raw: []byte(output)},
			{Kind: transcript.Head, From: protocol.Server, Stream: "post-1", Sequence: 2, HTTP: &transcript.HTTP{Status: 200, Header: http.Header{"Content-Type": {contentType}}}},
			{Kind: transcript.Message, From: protocol.Server, Stream: "post-1", Sequence: 3, Raw: []byte(output), SSE: &transcript.SSE{ID: &id}},
			{Kind: transcript.End, From: protocol.Server, Stream: "post-1", Sequence: 4, Note: transcript.Complete},
		}
		for _, revision := range []string{OverHTTP.Revision, "2026-07-28"} {
			cell := rules.Cell{Role: protocol.ServerRole, Revision: revision, Transport: protocol.HTTP}
			broken, seen := Judged(judging, rules.NewConversation(cell, events, true))
			for _, name := range broken {
				if !slices.Contains(seen, name) {
					t.Errorf("%s: %s is broken, but was not seen", revision, name)
				}
			}
		}
	})
}
