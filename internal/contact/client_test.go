package contact

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/scenario"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// metWith is a meeting at a revision with a client: what it sends begins with >, what it
// is answered with <, and a header that it names with #.
func metWith(revision string, lines ...string) *meeting {
	var events []transcript.Event
	for sequence, line := range lines {
		event := transcript.Event{Sequence: sequence, Kind: transcript.Message, From: protocol.Client, Stream: "stdio", Raw: []byte(line[1:])}
		switch line[0] {
		case '<':
			event.From = protocol.Server
		case '#':
			event.Kind, event.Raw = transcript.Head, nil
			event.HTTP = &transcript.HTTP{Method: "POST", Header: map[string][]string{"Mcp-Protocol-Version": {line[1:]}}}
		}
		events = append(events, event)
	}
	met := &meeting{revision: revision}
	cell := check.Cell{Role: protocol.ClientRole, Revision: revision, Transport: protocol.Stdio}
	met.read([]*rules.Conversation{rules.NewConversation(cell, events, true)}, Options{})
	return met
}

// A driver that cannot connect may report why on standard output: the error quotes it.
func TestAbsentSaysWhatTheDriverTells(t *testing.T) {
	t.Parallel()
	const failed = `{"step":0,"outcome":"failed","error":"no such module"}` + "\n"
	for output, want := range map[string]string{
		"listening\n" + failed: "exited with status 1; its driver reports that step 0 failed: no such module; make sure that",
		"":                     "exited with status 1; make sure that",
	} {
		err := absent(scenario.Exit{Status: "exited with status 1", Failed: true, Output: []byte(output)})
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not hold %q", err, want)
		}
	}
}

// A client that asks for a revision because its driver was told to, and does not have it,
// does not speak it; one that leaves for another reason gets the opening wrong.
func TestRevisionsThatOnlyTheDriverAsksFor(t *testing.T) {
	t.Parallel()
	const (
		hello   = `>{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}`
		welcome = `<{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}`
	)
	for words, broken := range map[string]bool{
		`unsupported protocol version: \"2025-11-25\"`:                           false,
		`unsupported protocol version: 2025-11-25, of 2024-11-05 and 2025-03-26`: false,
		`the server speaks 1900-01-01, and this client 2025-11-25`:               true,
		"cannot read the capabilities":                                           true,
	} {
		met := metWith("2025-11-25", hello, welcome)

		met.disown(scenario.Exit{Output: []byte(`{"step":0,"outcome":"failed","error":"` + words + `"}` + "\n")})

		if met.checkable() != broken || !broken && !strings.Contains(met.note, "unsupported protocol version") {
			t.Errorf("%s: broken %q, note %q", words, met.broken, met.note)
		}
	}
}

// What a client sends shows which era it means, even if its opening is wrong.
func TestSignsOfClients(t *testing.T) {
	t.Parallel()
	const (
		welcome  = `<{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}`
		ready    = `>{"jsonrpc":"2.0","method":"notifications/initialized"}`
		modern   = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}`
		refusal  = `<{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"_meta"}}`
		discover = `>{"jsonrpc":"2.0","id":1,"method":"server/discover"}`
	)
	hello := func(version string) string {
		return `>{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":` + version + `,"capabilities":{}}}`
	}
	for name, one := range map[string]struct {
		revision string
		lines    []string
		shows    string // spoken, broken, odd, or nothing
		says     string
	}{
		"a handshake":                   {"2025-11-25", []string{hello(`"2025-11-25"`), welcome, ready}, "spoken", ""},
		"one that is granted, and left": {"2025-11-25", []string{hello(`"2025-11-25"`), welcome}, "broken", `requested "2025-11-25", and sent nothing more`},
		"one of another revision":       {"2025-11-25", []string{hello(`"2025-06-18"`), welcome}, "", ""},
		"one of no revision":            {"2025-11-25", []string{hello(`"1.0"`), welcome}, "broken", `requested "1.0"`},
		"one of a number":               {"2025-11-25", []string{hello(`20251125`), welcome}, "broken", `requested 20251125`},
		"one in a batch":                {"2025-11-25", []string{">[" + hello(`"2025-11-25"`)[1:] + "]", refusal}, "broken", "the client began with [{"},
		"one over several lines":        {"2025-11-25", []string{`>{`, `>  "method": "initialize"`, `>}`}, "broken", `the client began with   "method": "initialize"`},
		"requests without a handshake":  {"2025-11-25", []string{`>{"jsonrpc":"2.0","id":1,"method":"tools/list"}`}, "odd", "the client began with"},
		"frames":                        {"2025-11-25", []string{">Content-Length: 80\r", ">\r"}, "odd", "Content-Length: 80"},
		"the other era":                 {"2025-11-25", []string{`>{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + modern + `}}`}, "", ""},
		"its probe, in vain":            {"2025-11-25", []string{discover, refusal}, "", ""},
		"nothing":                       {"2025-11-25", nil, "", ""},

		"a request with its fields":     {"2026-07-28", []string{`>{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + modern + `}}`}, "spoken", ""},
		"a discovery without them":      {"2026-07-28", []string{discover, refusal}, "broken", "the client began with"},
		"a revision in the header":      {"2026-07-28", []string{"#2026-07-28", `>{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, refusal}, "broken", "in the header Mcp-Protocol-Version"},
		"capabilities alone":            {"2026-07-28", []string{`>{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/clientCapabilities":{}}}}`}, "broken", "the client began with"},
		"another revision in its field": {"2026-07-28", []string{`>{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{` + strings.Replace(modern, "2026", "2027", 1) + `}}`}, "", ""},
		"a discovery in a batch":        {"2026-07-28", []string{">[" + discover[1:] + "]"}, "broken", "the client began with [{"},
		"a handshake in its place":      {"2026-07-28", []string{hello(`"2025-11-25"`), refusal}, "", ""},
		"a handshake of that revision":  {"2026-07-28", []string{hello(`"2026-07-28"`), refusal}, "", ""},
		"words":                         {"2026-07-28", []string{">hello"}, "odd", "the client began with hello"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			met := metWith(one.revision, one.lines...)
			shows := map[int]string{3: "spoken", 2: "broken", 1: "odd"}[met.tells()]
			if words := met.broken + met.odd; shows != one.shows || !strings.Contains(words, one.says) {
				t.Errorf("shows %q: %s; %s", shows, words, met.note)
			}
			if !met.spoken && met.note == "" {
				t.Error("there is no note")
			}
		})
	}
}

// A client that asks for an older revision and leaves when it gets another one breaks
// nothing: it does not speak what the user has named, and is told so of no requirement.
func TestRevisionsThatAreNotSpoken(t *testing.T) {
	t.Parallel()
	const (
		welcome = `<{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}`
		asking  = `>{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":%s,"capabilities":{}}}`
	)
	for asked, broken := range map[string]string{
		`"2025-06-18"`: "", `"2024-11-05"`: "", `"2025-11-25"`: "lifecycle.initialized.sent", `"soon"`: "lifecycle.initialize.version", `7`: "lifecycle.initialize.version",
	} {
		met := metWith("2025-11-25", fmt.Sprintf(asking, asked), welcome)
		found := met.denied(met.note)
		if met.spoken || found.Keeps != (broken == "") || !found.Keeps && found.ID != broken {
			t.Errorf("asked for %s: not %q is broken, but %+v", asked, broken, found)
		}
	}
}
