package replay

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"

	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// FuzzRules shows that nothing makes ReadRules panic, and that its errors are one line that
// begins with the file.
func FuzzRules(f *testing.F) {
	f.Add([]byte("- method: tools/call\n  of: get_*\n  pointer: /content/*/text\n  compare: exact\n"))
	f.Add([]byte("- method: [\n"))
	f.Add([]byte("- &a {compare: *a}\n"))
	f.Add([]byte("a: 1\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		rules, err := ReadRules("rules.yaml", text)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "rules.yaml") || strings.Contains(err.Error(), "\n") {
				t.Errorf("found %q", err)
			}
			return
		}
		of := &comparing{player: &player{options: Options{Rules: rules}}, method: "tools/call", subject: "t"}
		of.rule([]string{"content", "0", "text"})
	})
}

// FuzzTape shows that no recording makes what reads, tells or plays it panic, and that a
// request is answered on its own connection alone.
func FuzzTape(f *testing.F) {
	f.Add([]byte(hello+call(1, "t", `{"a":"***"}`)+result(1, `{"nextCursor":"2"}`)), []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}}`))
	f.Add([]byte("< {\"id\":1,\"result\":[]}\n> [{\"id\":1,\"method\":\"a\"},[],1]\n< [{\"id\":1,\"error\":1}]\n"), []byte("[]\n[1]\n{\"id\":1,\"method\":\"a\"}"))
	f.Add([]byte("> {\"id\":null,\"method\":1}\n> {\"id\":1.50,\"method\":\"initialize\",\"params\":[]}\n"), []byte("nothing"))
	f.Fuzz(func(t *testing.T, lines, said []byte) {
		events := []transcript.Event{}
		for line := range bytes.Lines(lines) {
			event := transcript.Event{
				Kind: transcript.Message, From: protocol.Client, Stream: protocol.Stdio, Sequence: len(events),
				Raw: bytes.TrimLeft(line, "<> \t"),
			}
			if line[0] == '<' {
				event.From = protocol.Server
			}
			events = append(events, event)
		}
		one, err := Open("a.jsonl", transcript.Header{Transport: protocol.Stdio, Grade: transcript.Bytes}, events)
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("found %q", err)
			}
			return
		}
		one.Notes()
		one.Forbidden(func(map[string]any) bool { return false })
		known := newValues(Options{Replace: [][2]string{{"a", "b"}}})
		known.expect(one.talk.Messages)
		for _, message := range one.talk.Messages {
			known.ungiven(message)
			if message.Request != nil {
				known.learn("1", message.ResultObject(), message.ParamsObject())
				known.learnPage("1", message.Request.Method, message.ResultObject(), message.Request.ParamsObject())
			}
			known.apply(step(message), message.Raw, message.Object)
			known.sent(message.ParamsObject())
		}
		mock := NewMock([]*Tape{one}, func(string) {})
		if err := mock.OverStdio(context.Background(), bytes.NewReader(said), io.Discard); err != nil {
			t.Error(err)
		}
		mock.Played()
		mock.Steps()
	})
}
