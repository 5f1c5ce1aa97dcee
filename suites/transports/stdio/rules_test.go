package stdio

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
	. "github.com/mcpconform/mcpconform/internal/rules/rulestest"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// TestDirections judges what messages have to do with at 2026-07-28, over stdio.
func TestDirections(t *testing.T) {
	t.Parallel()
	const (
		loose = "sends notifications only while a request or a subscription is open"
	)
	tests := map[string]struct {
		texts  []string
		broken []string
	}{
		"an answer":                        {[]string{`>{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, `<{"jsonrpc":"2.0","id":1,"result":{}}`}, nil},
		"progress of a request":            {[]string{`>{"jsonrpc":"2.0","id":1,"method":"tools/call"}`, `<` + ProgressOf("a"), `<{"jsonrpc":"2.0","id":1,"result":{}}`}, nil},
		"progress of a cancelled request":  {[]string{`>{"jsonrpc":"2.0","id":1,"method":"tools/call"}`, `>{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, `<` + ProgressOf("a")}, nil},
		"a change for a subscription":      {[]string{`>` + ListensOn2, `<` + ChangedOf2}, nil},
		"the end of a subscription":        {[]string{`>` + ListensOn2, `<{"jsonrpc":"2.0","id":2,"result":{}}`, `<{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`}, nil},
		"a change that nobody asked for":   {[]string{`>{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, `<{"jsonrpc":"2.0","id":1,"result":{}}`, `<` + ChangedOf2}, []string{loose}},
		"a log before any request":         {[]string{`<{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"hello"}}`}, []string{loose}},
		"a change in the handshake era":    {append(Handshake("{}"), `<{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`), nil},
		"an answer where there is no call": {[]string{`<{"jsonrpc":"2.0","id":1,"result":{}}`}, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.broken, BrokenTexts(notificationRules(), Talk("2026-07-28", test.texts...))); diff != "" {
				t.Errorf("broken (-wanted +found):\n%s", diff)
			}
		})
	}
}

func TestLinesOfStandardOutput(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		lines  []string
		broken []string
	}{
		{"messages", []string{Ponged, Ponged}, []string{}},
		{"a message before a carriage return", []string{strings.TrimSpace(Ponged) + "\r"}, []string{}},
		{"a greeting", []string{"s Listening on stdio", Ponged}, []string{"stdio.stdout"}},
		{"an empty line", []string{"s ", Ponged}, []string{"stdio.stdout"}},
		{"a message on three lines", []string{`s {"jsonrpc":"2.0",`, `s  "id":2,`, `s  "result":{}}`, Ponged}, []string{"stdio.newlines"}},
		{"a newline inside a text", []string{`s {"jsonrpc":"2.0","method":"m","params":{"text":"one`, `s two"}}`, Ponged}, []string{"stdio.newlines"}},
		{"a newline inside a number", []string{`s {"jsonrpc":"2.0","id":2,"result":{"n":12`, `s 34}}`, Ponged}, []string{"stdio.newlines"}},
		{"a warning in brackets", []string{"s [WARN] late", "s [2026-11-21 10:00] late", Ponged}, []string{"stdio.stdout"}},
		{"two messages on one line", []string{"s " + `{"jsonrpc":"2.0","method":"m"}` + `{"jsonrpc":"2.0","method":"m"}`, Ponged}, []string{"stdio.newlines"}},
		{"a message, and something else behind it", []string{"s " + `{"jsonrpc":"2.0","method":"m"}}`, Ponged}, []string{}},
		{"a log that is JSON", []string{`s {"level":30,"time":1763719200123,"msg":"tool called"}`, "s {}", Ponged}, []string{"stdio.stdout"}},
		{"a broken message", []string{`s {"jsonrpc":"2.0","id":2,"result":{}`, Ponged}, []string{}},
		{"a message, and a broken one after it", []string{Ponged, `s {"jsonrpc"`}, []string{}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var events []transcript.Event
			for _, line := range test.lines {
				raw := strings.TrimSuffix(strings.TrimPrefix(line, "s "), "\n")
				events = append(events, transcript.Event{
					Kind: transcript.Message, From: protocol.Server, Stream: "stdio", Sequence: len(events), Raw: []byte(raw),
				})
			}
			broken, _ := Judged(Rules(), rules.NewConversation(Stdio, events, true))
			if difference := cmp.Diff(test.broken, broken); difference != "" {
				t.Errorf("broken requirements (-wanted +found):\n%s", difference)
			}
		})
	}
}
