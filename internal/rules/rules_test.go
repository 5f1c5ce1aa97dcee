package rules

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// answered writes who answers what: "1>0" when message 1 answers message 0.
func answered(c *Conversation) string {
	var pairs []string
	for _, message := range c.Messages {
		if message.Request != nil {
			pairs = append(pairs, fmt.Sprintf("%d>%d", message.Index, message.Request.Index))
		}
	}
	return strings.Join(pairs, " ")
}

func TestCorrelation(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		messages []string
		pairs    string
	}{
		"one":                          {[]string{`>{"id":1,"method":"a"}`, `<{"id":1,"result":{}}`}, "1>0"},
		"out of order":                 {[]string{`>{"id":1,"method":"a"}`, `>{"id":2,"method":"b"}`, `<{"id":2,"result":{}}`, `<{"id":1,"error":{}}`}, "2>1 3>0"},
		"the same id of both sides":    {[]string{`>{"id":1,"method":"a"}`, `<{"id":1,"method":"b"}`, `>{"id":1,"result":{}}`, `<{"id":1,"result":{}}`}, "2>1 3>0"},
		"an id that is used again":     {[]string{`>{"id":1,"method":"a"}`, `<{"id":1,"result":{}}`, `>{"id":1,"method":"b"}`, `<{"id":1,"result":{}}`}, "1>0 3>2"},
		"an answer to itself":          {[]string{`>{"id":1,"method":"a"}`, `>{"id":1,"result":{}}`}, ""},
		"an answer before":             {[]string{`<{"id":1,"result":{}}`, `>{"id":1,"method":"a"}`}, ""},
		"two answers":                  {[]string{`>{"id":1,"method":"a"}`, `<{"id":1,"result":{}}`, `<{"id":1,"error":{}}`}, "1>0 2>0"},
		"an equal number":              {[]string{`>{"id":1,"method":"a"}`, `<{"id":1.0,"result":{}}`}, "1>0"},
		"a string for a number":        {[]string{`>{"id":1,"method":"a"}`, `<{"id":"1","result":{}}`}, ""},
		"an error without an id":       {[]string{`>{"id":1,"method":"a"}`, `<{"id":null,"error":{}}`, `<{"error":{}}`}, ""},
		"a notification has no answer": {[]string{`>{"method":"a"}`, `<{"result":{}}`}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := conversation(test.messages...)
			if got := answered(c); got != test.pairs {
				t.Errorf("pairs %q, wanted %q", got, test.pairs)
			}
			for _, message := range c.Messages {
				for _, answer := range message.Answers {
					if answer.Request != message {
						t.Errorf("message %d is answered by one that answers another", message.Index)
					}
				}
			}
		})
	}
}

func TestConversationReads(t *testing.T) {
	t.Parallel()
	c := conversation(
		`>{"id":1,"method":"initialize","params":{"capabilities":{"roots":{}}}}`,
		`<{"id":1,"result":{"capabilities":{"tools":{}}}}`,
		`>{"method":"notifications/initialized"}`,
		`>{"id":2,"method":"tools/list"}`,
		`<{"id":2,"result":{"tools":[]}}`,
		`<{"method":"n","params":{"a":1}}`,
		`<{"id":1,"method":"ping"}`,
		`>{"id":1,"result":{}}`,
		`>{"id":3,"method":"tools/list"}`,
		`<{"id":3,"error":{}}`,
		`<hello`,
		`>{"method":"n"}`,
		`>{"id":4,"method":"initialize","params":{"capabilities":{}}}`,
		`<{"id":4,"result":{"capabilities":{}}}`,
	)
	for name, test := range map[string]struct {
		got  []*Message
		want []int
	}{
		"by the target":    {c.ByTarget(), []int{1, 4, 5, 6, 9, 10, 13}},
		"results":          {c.Results("tools/list"), []int{4}},
		"no results":       {c.Results("ping"), []int{}},
		"notifications":    {c.Notifications("n"), []int{5}},
		"requests":         {c.Requests("ping"), []int{6}},
		"not the client's": {c.Requests("tools/list"), []int{}},
	} {
		if difference := cmp.Diff(test.want, indexes(test.got)); difference != "" {
			t.Errorf("%s:\n%s", name, difference)
		}
	}
	if c.ClientCapabilities["roots"] == nil || c.ServerCapabilities["tools"] == nil {
		t.Errorf("declared are %v and %v", c.ClientCapabilities, c.ServerCapabilities)
	}
	if c.Messages[5].ParamsObject()["a"] == nil || c.Messages[4].ResultObject()["tools"] == nil || c.Messages[10].ResultObject() != nil {
		t.Error("params or results are read otherwise")
	}
	if c.Schema == nil || !c.Complete {
		t.Error("the schema is missing, or something of the conversation")
	}
	client := NewConversation(Cell{Role: protocol.ClientRole, Revision: "2025-06-18"}, c.Events, true)
	if difference := cmp.Diff([]int{3, 8}, indexes(client.Requests("tools/list"))); difference != "" {
		t.Error(difference)
	}
}

func TestConversationWithoutHandshake(t *testing.T) {
	t.Parallel()
	for name, messages := range map[string][]string{
		"none":    {`>{"id":1,"method":"ping"}`},
		"refused": {`>{"id":1,"method":"initialize","params":{"capabilities":{"roots":{}}}}`, `<{"id":1,"error":{}}`},
		"odd":     {`>{"id":1,"method":"initialize"}`, `<{"id":1,"result":[]}`},
	} {
		if c := conversation(messages...); c.ClientCapabilities != nil || c.ServerCapabilities != nil {
			t.Errorf("%s: declared are %v and %v", name, c.ClientCapabilities, c.ServerCapabilities)
		}
	}
}

// Requests of one id at the same time, over HTTP: each answer belongs to the request of
// its own exchange.
func TestCorrelationByExchange(t *testing.T) {
	t.Parallel()
	var events []transcript.Event
	say := func(stream string, from protocol.Party, text string) {
		events = append(events, transcript.Event{
			Kind: transcript.Message, Stream: stream, From: from, Raw: []byte(text), Sequence: len(events),
		})
	}
	say("post-1", protocol.Client, `{"jsonrpc":"2.0","id":1,"method":"a"}`)
	say("post-2", protocol.Client, `{"jsonrpc":"2.0","id":1,"method":"b"}`)
	say("post-1", protocol.Server, `{"jsonrpc":"2.0","id":1,"result":{}}`)
	say("post-2", protocol.Server, `{"jsonrpc":"2.0","id":1,"result":{}}`)
	messages := NewConversation(Cell{}, events, true).Messages
	if first, second := messages[2].Request.Method, messages[3].Request.Method; first != "a" || second != "b" {
		t.Errorf("they answer %s and %s", first, second)
	}
}

// The beginning of a message that was too much to keep is no message, and what
// is not there shows nothing.
func TestConversationThatIsIncomplete(t *testing.T) {
	t.Parallel()
	events := said(`>{"id":1,"method":"a"}`, `<{"id":1,"resu`, `<{"method":"n"}`)
	events[1].Size = 100 << 20
	events = append(events, transcript.Event{Kind: transcript.Stderr, Raw: []byte("{}")})
	c := NewConversation(Cell{Role: protocol.ServerRole, Revision: "2025-06-18"}, events, true)
	if c.Complete || len(c.Messages) != 2 || c.Messages[1].Method != "n" || c.Messages[1].Event.Sequence != 2 || len(c.Events) != 4 {
		t.Errorf("complete: %t, with %d messages of %d events", c.Complete, len(c.Messages), len(c.Events))
	}
	if NewConversation(c.Cell, nil, false).Complete {
		t.Error("a transcript that lost events is complete")
	}
	if NewConversation(Cell{Revision: "1900-01-01"}, nil, true).Schema != nil {
		t.Error("an unknown revision has a schema")
	}
}

func TestFindingsAreGrouped(t *testing.T) {
	t.Parallel()
	c := conversation(
		`>{"id":1,"method":"tools/list"}`, `<{"id":1,"result":{"tools":[{},{}]}}`,
		`>{"id":2,"method":"tools/list"}`, `<{"id":2,"result":{"tools":[{}]}}`,
		`>{"id":3,"method":"prompts/list"}`, `<{"id":3,"result":{}}`,
		`<{"method":"n"}`,
	)
	rule := Rule{Verifies: Verifies("named"), Judge: func(c *Conversation, reporter *Reporter) {
		for _, message := range c.ByTarget() {
			reporter.Observe()
			for position := range 2 {
				reporter.Violation(message, Mismatch{Wanted: "a name", Found: strconv.Itoa(message.Index), Where: fmt.Sprintf("/tools/%d/name", position)})
			}
		}
		reporter.ViolationAt(c.Events[6], Mismatch{Wanted: "silence", Found: "n"}, c.Events[5])
	}}
	quiet := Rule{Verifies: Verifies("quiet"), Judge: func(*Conversation, *Reporter) {}}
	seeing := Rule{Name: "seeing", Verifies: Verifies("named"), Judge: func(_ *Conversation, reporter *Reporter) { reporter.Observe() }}
	findings := Apply([]Rule{quiet, rule, seeing}, c)

	events := c.Events
	want := []Finding{
		{Rule: "named", Observed: 4, Breaks: []Breach{
			{Cause: "tools/list a name /tools/*/name", Mismatch: Mismatch{Wanted: "a name", Found: "1", Where: "/tools/0/name"}, Count: 4, Exchange: events[0:2], Judged: 1, About: Subject{"tools/list", "", "tools/list with id 1"}},
			{Cause: "prompts/list a name /tools/*/name", Mismatch: Mismatch{Wanted: "a name", Found: "5", Where: "/tools/0/name"}, Count: 2, Exchange: events[4:6], Judged: 5, About: Subject{"prompts/list", "", "prompts/list with id 3"}},
			{Cause: "n a name /tools/*/name", Mismatch: Mismatch{Wanted: "a name", Found: "6", Where: "/tools/0/name"}, Count: 2, Exchange: events[2:7], Judged: 6, About: Subject{"n", "", "n"}},
			{Cause: "message silence ", Mismatch: Mismatch{Wanted: "silence", Found: "n"}, Count: 1, Exchange: events[5:7], Judged: 6},
		}, Broken: []int{1, 3, 5, 6}},
		{Rule: "seeing", Observed: 1},
	}
	if difference := cmp.Diff(want, findings); difference != "" {
		t.Error(difference)
	}
}

func TestCausesAreBounded(t *testing.T) {
	t.Parallel()
	c := conversation(`<{"method":"n"}`)
	findings := Apply([]Rule{{Judge: func(c *Conversation, reporter *Reporter) {
		for round := range 3 {
			for cause := range 100 {
				reporter.Violation(c.Messages[0], Mismatch{Wanted: fmt.Sprint("cause ", cause), Found: strconv.Itoa(round)})
			}
		}
	}}}, c)
	if len(findings) != 1 || len(findings[0].Breaks) != maxBreaches {
		t.Fatalf("found %v", findings)
	}
	for _, breach := range findings[0].Breaks {
		if breach.Count != 3 || breach.Mismatch.Found != "0" {
			t.Errorf("%s is counted %d times and shows %s", breach.Cause, breach.Count, breach.Mismatch.Found)
		}
	}
}

// A conversation belongs to the revision at which its handshake has ended.
func TestConversationsBelongToWhatTheyNegotiated(t *testing.T) {
	t.Parallel()
	const hello = `>{"id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}`
	welcome := func(version string) string { return `<{"id":1,"result":{"protocolVersion":` + version + `}}` }
	const (
		named  = `>{"id":2,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`
		served = `<{"id":2,"result":{}}`
		denied = `<{"id":2,"error":{"code":-32601,"message":"no"}}`
	)
	for name, test := range map[string]struct {
		cell     string
		messages []string
		revision string
	}{
		"the one asked for":             {"2025-06-18", []string{hello, welcome(`"2025-06-18"`)}, "2025-06-18"},
		"another one":                   {"2025-06-18", []string{hello, welcome(`"2025-11-25"`)}, "2025-11-25"},
		"one that is older":             {"2025-11-25", []string{hello, welcome(`"2024-11-05"`)}, "2024-11-05"},
		"none that was released":        {"2025-11-25", []string{hello, welcome(`"1.0.0"`)}, "2025-11-25"},
		"none of the handshake era":     {"2025-11-25", []string{hello, welcome(`"2026-07-28"`)}, "2025-11-25"},
		"no text":                       {"2025-11-25", []string{hello, welcome(`20250618`)}, "2025-11-25"},
		"two":                           {"2025-11-25", []string{hello, welcome(`"2025-06-18"`), hello, welcome(`"2024-11-05"`)}, "2025-11-25"},
		"a refusal":                     {"2025-11-25", []string{hello, `<{"id":1,"error":{"code":-32602,"message":"no"}}`}, "2025-11-25"},
		"a handshake of the other era":  {"2026-07-28", []string{hello, welcome(`"2025-06-18"`)}, "2025-06-18"},
		"behind a probe that is denied": {"2026-07-28", []string{named, denied, hello, welcome(`"2025-11-25"`)}, "2025-11-25"},
		"both eras on one connection":   {"2026-07-28", []string{named, served, hello, welcome(`"2025-11-25"`)}, "2026-07-28"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := NewConversation(Cell{Role: protocol.ServerRole, Revision: test.cell, Transport: protocol.Stdio}, said(test.messages...), true)
			if c.Revision != test.revision || c.Revision >= "2025-06-18" && c.Schema.Revision() != test.revision {
				t.Errorf("belongs to %s", c.Revision)
			}
		})
	}
}

func said(messages ...string) []transcript.Event {
	var events []transcript.Event
	for number, message := range messages {
		from := protocol.Client
		if message[0] == '<' {
			from = protocol.Server
		}
		events = append(events, transcript.Event{Sequence: number, Kind: transcript.Message, From: from, Raw: []byte(message[1:])})
	}
	return events
}

func conversation(messages ...string) *Conversation {
	return NewConversation(Cell{Role: protocol.ServerRole, Revision: "2025-06-18", Transport: protocol.Stdio}, said(messages...), true)
}

// indexes are the positions of messages in their conversation.
func indexes(messages []*Message) []int {
	all := []int{}
	for _, message := range messages {
		all = append(all, message.Index)
	}
	return slices.Clip(all)
}
