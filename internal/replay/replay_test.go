package replay

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/internal/transport"
	"github.com/mcpconform/mcpconform/reports"
)

// recording makes events of lines: "> " begins what the client said, "< " what the server did.
func recording(lines string) []transcript.Event {
	events := []transcript.Event{{Kind: transcript.Open, From: protocol.Client, Stream: "stdio"}}
	for line := range strings.SplitSeq(strings.TrimSpace(lines), "\n") {
		line = strings.TrimSpace(line)
		event := transcript.Event{Kind: transcript.Message, From: protocol.Client, Stream: "stdio", Raw: []byte(line[2:])}
		if line[0] == '<' {
			event.From = protocol.Server
		}
		events = append(events, event)
	}
	for position := range events {
		events[position].Sequence = position
		events[position].At = time.Unix(1, 0).Add(time.Duration(position) * time.Millisecond)
	}
	return events
}

func tape(t *testing.T, lines string) *Tape {
	t.Helper()
	made, err := Open("a.jsonl", transcript.Header{Transport: protocol.Stdio, Grade: transcript.Bytes}, recording(lines))
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// hello is a handshake.
const hello = `
	> {"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}
	< {"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}
	> {"jsonrpc":"2.0","method":"notifications/initialized"}
`

func call(id int, tool, arguments string) string {
	return fmt.Sprintf(`> {"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`+"\n", id, tool, arguments)
}

func result(id int, result string) string {
	return fmt.Sprintf(`< {"jsonrpc":"2.0","id":%d,"result":%s}`+"\n", id, result)
}

// playedTo plays a tape to the mock of another recording.
func playedTo(t *testing.T, from, to *Tape, change func(*Options)) *Played {
	t.Helper()
	var told []string
	mock := NewMock([]*Tape{to}, func(text string) { told = append(told, text) })
	server := httptest.NewServer(mock.Handler(false))
	t.Cleanup(server.Close)
	options := Options{
		Target: scripted.Target{
			Transport: protocol.HTTP, URL: server.URL, Reply: 20 * time.Second, Limits: transport.DefaultLimits,
		},
		Begin: transcript.NewLog,
	}
	if change != nil {
		change(&options)
	}
	played, err := Play(t.Context(), []*Tape{from}, options)
	if err != nil {
		t.Fatal(err)
	}
	return played
}

func told(played *Played) (all []string) {
	for _, one := range played.Changes {
		all = append(all, strings.TrimSpace(fmt.Sprintf("%s %s %s: %s", one.Impact, one.Item, one.Where, one.Says)))
	}
	return all
}

// Each difference of an answer has its impact.
func TestDifferences(t *testing.T) {
	t.Parallel()
	const text = `{"content":[{"type":"text","text":"a"}]}`
	for name, test := range map[string]struct {
		method         string
		recorded, live string
		rules          string
		exact          bool
		want           string
	}{
		"the same":         {"tools/call", text, text, "", false, ""},
		"another value":    {"tools/call", text, `{"content":[{"type":"text","text":"b"}]}`, "", false, "told 2 tools/call t /result/content/0/text: the value is another"},
		"exact":            {"tools/call", text, `{"content":[{"type":"text","text":"b"}]}`, "", true, "failed 2 tools/call t /result/content/0/text: the value is another"},
		"exact by a rule":  {"tools/call", text, `{"content":[{"type":"text","text":"b"}]}`, "- method: tools/call\n  of: t\n  pointer: /content/*/text\n  compare: exact\n", false, "failed 2 tools/call t /result/content/0/text: the value is another"},
		"another tool's":   {"tools/call", text, `{"content":[{"type":"text","text":"b"}]}`, "- method: tools/call\n  of: other*\n  compare: exact\n", false, "told 2 tools/call t /result/content/0/text: the value is another"},
		"ignored":          {"tools/call", text, `{"content":[{"type":"text","text":"b"}]}`, "- method: tools/call\n  pointer: /content\n  compare: ignore\n", true, ""},
		"shape":            {"tools/call", text, `{"content":[{"type":"text","text":"b"}]}`, "- method: tools/call\n  compare: shape\n", true, ""},
		"other blocks":     {"tools/call", text, `{"content":[]}`, "", false, "warned 2 tools/call t /result/content: the content has other blocks"},
		"another type":     {"resources/read", `{"contents":[{"uri":"a:b","size":1}]}`, `{"contents":[{"uri":"a:b","size":"1"}]}`, "", false, "warned 2 resources/read /result/contents/0/size: the value is of another type"},
		"a member gone":    {"resources/read", `{"contents":[{"uri":"a:b","text":"x"}]}`, `{"contents":[{"uri":"a:b"}]}`, "", false, `warned 2 resources/read /result/contents/0: the member "text" is gone`},
		"a member new":     {"resources/read", `{"contents":[{"uri":"a:b"}]}`, `{"contents":[{"uri":"a:b","text":"x"}]}`, "", false, `told 2 resources/read /result/contents/0: the member "text" is new`},
		"more":             {"resources/read", `{"contents":[]}`, `{"contents":[{"uri":"a:b"}]}`, "", false, "told 2 resources/read /result/contents: the array has another length"},
		"meta":             {"tools/call", `{"_meta":{"a":1},"content":[]}`, `{"_meta":{"a":2},"content":[]}`, "", true, ""},
		"an error":         {"tools/call", text, `!{"code":-32603,"message":"x"}`, "", false, "failed 2 tools/call t : the request comes to something else"},
		"a tool's error":   {"tools/call", text, `{"isError":true,"content":[{"type":"text","text":"a"}]}`, "", false, "failed 2 tools/call t : the request comes to something else"},
		"told otherwise":   {"tools/call", `{"isError":true,"content":[]}`, `!{"code":-32602,"message":"x"}`, "", false, "told 2 tools/call t : the error is told in the other way"},
		"another code":     {"tools/call", `!{"code":-32601,"message":"x"}`, `!{"code":-32603,"message":"x"}`, "", false, "failed 2 tools/call t /error/code: the error has another code"},
		"another message":  {"tools/call", `!{"code":-32601,"message":"x"}`, `!{"code":-32601,"message":"y"}`, "", true, ""},
		"a page of a list": {"tools/list", `{"tools":[]}`, `{"tools":[],"nextCursor":"a"}`, "", true, "told 2 tools/list /result/nextCursor: the list has pages of another size"},
		"how far a task":   {"tasks/get", `{"taskId":"a","status":"working"}`, `{"taskId":"a","status":"completed","pollInterval":1}`, "", true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			built := func(answer string) *Tape {
				lines := hello + call(1, "t", "{}")
				if test.method != "tools/call" {
					lines = hello + fmt.Sprintf(`> {"jsonrpc":"2.0","id":1,"method":%q}`, test.method) + "\n"
				}
				if refusal, refuses := strings.CutPrefix(answer, "!"); refuses {
					return tape(t, lines+`< {"jsonrpc":"2.0","id":1,"error":`+refusal+"}")
				}
				return tape(t, lines+result(1, answer))
			}
			played := playedTo(t, built(test.recorded), built(test.live), func(options *Options) {
				options.Exact = test.exact
				rules, err := ReadRules("rules.yaml", []byte(test.rules))
				if err != nil {
					t.Fatal(err)
				}
				options.Rules = rules
			})
			if got := strings.Join(told(played), "\n"); got != test.want {
				t.Errorf("found %q, not %q", got, test.want)
			}
			if len(played.Steps) != 2 {
				t.Errorf("%d steps", len(played.Steps))
			}
		})
	}
}

// What a server chooses anew goes back to it as it chose it, wherever it came from.
func TestValueFlow(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		recorded, live string // the result that brings a handle
		took, takes    string // the arguments that take it back
		noFlow         bool
	}{
		"structured":    {`{"content":[],"structuredContent":{"id":"ticket-123"}}`, `{"content":[],"structuredContent":{"id":"ticket-987"}}`, `{"id":"ticket-123"}`, `{"id":"ticket-987"}`, false},
		"JSON in text":  {`{"content":[{"type":"text","text":"{\"id\":\"abcdef\"}"}]}`, `{"content":[{"type":"text","text":"{\"id\":\"uvwxyz\"}"}]}`, `{"id":"abcdef"}`, `{"id":"uvwxyz"}`, false},
		"in a sentence": {`{"content":[{"type":"text","text":"Made ticket T-12345."}]}`, `{"content":[{"type":"text","text":"Made ticket T-98765."}]}`, `{"id":"T-12345"}`, `{"id":"T-98765"}`, false},
		"in a URI":      {`{"content":[{"type":"text","text":"T-12345"}]}`, `{"content":[{"type":"text","text":"T-98765"}]}`, `{"uri":"see T-12345 there"}`, `{"uri":"see T-98765 there"}`, false},
		"a word":        {`{"content":[{"type":"text","text":"it was scripted so"}]}`, `{"content":[{"type":"text","text":"it was another so"}]}`, `{"id":"scripted"}`, `{"id":"scripted"}`, false},
		"too short":     {`{"content":[],"structuredContent":{"id":"a1"}}`, `{"content":[],"structuredContent":{"id":"b2"}}`, `{"id":"a1"}`, `{"id":"a1"}`, false},
		"still there":   {`{"content":[],"structuredContent":{"ids":["one-11","two-22"]}}`, `{"content":[],"structuredContent":{"ids":["two-22","one-11"]}}`, `{"id":"one-11"}`, `{"id":"one-11"}`, false},
		"switched off":  {`{"content":[],"structuredContent":{"id":"ticket-123"}}`, `{"content":[],"structuredContent":{"id":"ticket-987"}}`, `{"id":"ticket-123"}`, `{"id":"ticket-123"}`, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			built := func(brings, takes string) *Tape {
				return tape(t, hello+call(1, "make", "{}")+result(1, brings)+call(2, "use", takes)+result(2, `{"content":[]}`))
			}
			played := playedTo(t, built(test.recorded, test.took), built(test.live, test.takes), func(options *Options) { options.NoFlow = test.noFlow })
			if played.Steps[2].Live != "result" {
				t.Errorf("the live server is asked for another value: %v", told(played))
			}
			if carried := len(played.Carried); (carried == 1) != (test.took != test.takes) {
				t.Errorf("told are %v", played.Carried)
			}
		})
	}
}

// What a client said itself is not taken for the server's, nor what the specification has taken
// back as it is for a word.
func TestOwnWordsAndCursors(t *testing.T) {
	t.Parallel()
	built := func(echoed, cursor string) *Tape {
		return tape(t, hello+call(1, "echo", `{"text":"hello-1"}`)+result(1, `{"content":[{"type":"text","text":"`+echoed+`"}]}`)+
			call(2, "echo", `{"text":"hello-1"}`)+result(2, `{"content":[]}`)+
			`> {"jsonrpc":"2.0","id":3,"method":"tools/list"}`+"\n"+result(3, `{"tools":[],"nextCursor":"`+cursor+`"}`)+
			`> {"jsonrpc":"2.0","id":4,"method":"tools/list","params":{"cursor":"`+cursor+`"}}`+"\n"+result(4, `{"tools":[]}`))
	}
	played := playedTo(t, built("hello-1", "p2"), built("hello-2", "q7"), nil)
	for _, one := range played.Steps {
		if one.Live != one.Recorded {
			t.Errorf("%+v", one)
		}
	}
}

// What cannot be played is told before.
func TestNotes(t *testing.T) {
	t.Parallel()
	one := tape(t, hello+call(1, "t", `{"when":"2026-11-28"}`)+
		`< {"jsonrpc":"2.0","id":"s","method":"elicitation/create","params":{}}`+"\n"+
		`> {"jsonrpc":"2.0","id":"s","result":{"action":"accept"}}`+"\n"+result(1, `{"content":[]}`)+
		call(2, "login", `{"password":"***"}`))
	notes := strings.Join(one.Notes(), "\n")
	for _, want := range []string{
		"tools/call t has the date 2026-11-28", "elicitation/create of the server is answered as it was recorded",
		"tools/call login is not played: a secret is hidden in it",
	} {
		if !strings.Contains(notes, want) {
			t.Errorf("lacks %q:\n%s", want, notes)
		}
	}
	never := func(map[string]any) bool { return false }
	if names := one.Forbidden(never); !slices.Equal(names, []string{"t"}) {
		t.Errorf("forbidden are %v", names)
	}
	one.reveal()
	if names := one.Forbidden(never); !slices.Equal(names, []string{"t", "login"}) {
		t.Errorf("forbidden are %v", names)
	}
}

// A recording of which a part is unknown is not played.
func TestUnfit(t *testing.T) {
	t.Parallel()
	whole := recording(hello)
	gap := slices.Insert(slices.Clone(whole), 2, transcript.Event{Kind: transcript.Gap})
	changed := slices.Clone(whole)
	changed[1].Made = "injected"
	for want, test := range map[string]struct {
		header transcript.Header
		events []transcript.Event
	}{
		"had begun before":      {transcript.Header{Joined: true}, whole},
		"lacks a part":          {transcript.Header{}, gap},
		"a part of the conn":    {transcript.Header{Dropped: true}, whole},
		"has changed messages":  {transcript.Header{}, changed},
		"the client says nothi": {transcript.Header{}, whole[:1]},
	} {
		test.header.Transport = protocol.Stdio
		if _, err := Open("a", test.header, test.events); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// What a client sends over several connections, where there are no sessions, is played from the
// recording of each.
func TestElsewhere(t *testing.T) {
	t.Parallel()
	events := slices.Insert(recording(hello), 2, transcript.Event{Kind: transcript.Gap, Note: transcript.Elsewhere})
	if _, err := Open("a", transcript.Header{Transport: protocol.HTTP}, events); err != nil {
		t.Error(err)
	}
}

// A subscription that ends because the client leaves its stream has no answer.
func TestSubscriptionThatIsLeft(t *testing.T) {
	t.Parallel()
	for note, want := range map[string]int{transcript.ClientLeft: 0, transcript.Complete: 1} {
		events := recording(`
			> {"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{}}}
			< {"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{}}
			< {"jsonrpc":"2.0","id":1,"result":{}}`)
		events = append(events, transcript.Event{Sequence: len(events), Kind: transcript.End, From: protocol.Server, Note: note})
		for position := range events[1:] {
			events[1+position].Stream = "post-1"
		}
		made, err := Open("a", transcript.Header{Transport: protocol.HTTP, Agreement: transcript.Agreement{Revision: "2026-07-28"}}, events)
		if err != nil {
			t.Fatal(err)
		}
		turns := turnsOf(made)
		if got := len(made.talk.Messages[0].Answers); got != want || len(turns) != 1 || (turns[0].answer != nil) != (want == 1) {
			t.Errorf("%s: %d answers, %+v", note, got, turns)
		}
	}
}

// What comes of a request that the client cancels is a race, and only told.
func TestCancelled(t *testing.T) {
	t.Parallel()
	cancelled := hello + call(1, "t", "{}") +
		`> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}` + "\n"
	for answer, want := range map[string]string{
		result(1, `{"content":[]}`):                                  "",
		`< {"jsonrpc":"2.0","id":1,"error":{"code":0,"message":""}}`: "told 2 tools/call t : the request, which the client cancels, comes to something else",
	} {
		played := playedTo(t, tape(t, cancelled+answer), tape(t, cancelled+result(1, `{"content":[]}`)), nil)
		if got := strings.Join(told(played), "\n"); got != want {
			t.Errorf("%s: %q, not %q", answer, got, want)
		}
	}
}

// A request that is open when the client ends the session may be refused or not.
func TestSessionThatEndsMeanwhile(t *testing.T) {
	t.Parallel()
	head := func(from protocol.Party, stream, method string, status int) transcript.Event {
		return transcript.Event{Kind: transcript.Head, From: from, Stream: stream, HTTP: &transcript.HTTP{Method: method, Status: status}}
	}
	says := recording(`> {"jsonrpc":"2.0","id":1,"method":"ping"}`)[1]
	says.Stream = "post-1"
	begins := []transcript.Event{head(protocol.Client, "post-1", http.MethodPost, 0), says}
	answered := head(protocol.Server, "post-1", "", http.StatusOK)
	ends := func(status int) (asked, answered transcript.Event) {
		return head(protocol.Client, "delete-1", http.MethodDelete, 0), head(protocol.Server, "delete-1", "", status)
	}
	asked, let := ends(http.StatusNoContent)
	_, kept := ends(http.StatusMethodNotAllowed)
	brings := recording(`< {"jsonrpc":"2.0","id":1,"result":{}}`)[1]
	brings.Stream = "post-1"
	for name, test := range map[string]struct {
		rest   []transcript.Event
		status reports.Impact // of another HTTP status
		result reports.Impact // of an error for the result
	}{
		"answered before":          {[]transcript.Event{answered, brings, asked, let}, reports.Failing, reports.Failing},
		"answered on a stream":     {[]transcript.Event{answered, asked, brings, let}, reports.Failing, reports.Telling},
		"answered after":           {[]transcript.Event{asked, answered, brings, let}, reports.Telling, reports.Telling},
		"the session does not end": {[]transcript.Event{asked, answered, brings, kept}, reports.Failing, reports.Failing},
	} {
		events := slices.Concat(begins, test.rest)
		for position := range events {
			events[position].Sequence = position
		}
		made, err := Open("a", transcript.Header{Transport: protocol.HTTP}, events)
		if err != nil {
			t.Fatal(err)
		}
		p := &player{Played: &Played{}, tape: made, options: Options{Target: scripted.Target{Transport: protocol.HTTP}}}
		p.compareStatus("ping", "post-1", http.StatusNotFound)
		request := &begun{Message: made.talk.Messages[0], name: "ping"}
		p.compare(request, outcomeOf(request.Message), outcome{kind: refused, code: jsonrpc.InvalidRequest})
		if len(p.Changes) != 2 || p.Changes[0].Impact != test.status || p.Changes[1].Impact != test.result {
			t.Errorf("%s: %+v", name, p.Changes)
		}
	}
}

func TestRules(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"- method: tools/call\n  compare: exactly\n":                          `rules.yaml:1: compare is "exactly"`,
		"- method: tools/call\n  compare: exact\n  pointer: content\n":        `the pointer "content" must begin with /`,
		"- method: tools/call\n  compar: exact\n":                             "rules.yaml:2",
		"- method: tools/call\n  compare: exact\n  of: '['\n":                 "no pattern",
		"method: tools/call\n":                                                "expected a list of rules",
		"- method: tools/call\n  compare: exact\n- method: x\n  compare: 1\n": "rules.yaml:3",
	} {
		if _, err := ReadRules("rules.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, not %s", text, err, want)
		}
	}
}

// The mock answers what it has, in order, with the ids and tokens of the client, and nothing else.
func TestMock(t *testing.T) {
	t.Parallel()
	recorded := tape(t, hello+
		`> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{"a":1},"_meta":{"progressToken":"old"}}}
		< {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"old","progress":1}}
		< {"jsonrpc":"2.0","id":7,"method":"roots/list"}
		> {"jsonrpc":"2.0","id":7,"result":{"roots":[]}}
		< {"jsonrpc":"2.0","id":1,"result":{"content":[],"structuredContent":{"n":1}}}
		< {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}
		> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"t","arguments":{"a":1}}}
		< {"jsonrpc":"2.0","id":2,"result":{"content":[],"structuredContent":{"n":2}}}`)
	var texts []string
	mock := NewMock([]*Tape{recorded}, func(text string) { texts = append(texts, text) })
	in, client := io.Pipe()
	server, out := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- mock.OverStdio(t.Context(), in, out) }()
	lines := json.NewDecoder(server)
	say := func(text string) { _, _ = io.WriteString(client, text+"\n") }
	expect := func(parts ...string) {
		t.Helper()
		var line json.RawMessage
		if err := lines.Decode(&line); err != nil {
			t.Fatal(err)
		}
		for _, part := range parts {
			if !strings.Contains(string(line), part) {
				t.Errorf("%s lacks %s", line, part)
			}
		}
	}
	say(`{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2024-11-05","capabilities":{"a":1},"clientInfo":{"name":"d"}}}`)
	expect(`"id":"i"`, `"protocolVersion":"2025-06-18"`)
	say(`{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"arguments":{"a":1.0},"name":"t","_meta":{"progressToken":5}}}`)
	expect(`"progressToken":5`)
	expect(`"roots/list"`, `"id":"replay-1"`)
	say(`{"jsonrpc":"2.0","id":"replay-1","error":{"code":-32601,"message":"no"}}`)
	expect(`"id":9`, `"n":1`)
	expect("list_changed")
	say(`{"jsonrpc":"2.0","id":10,"method":"ping"}`)
	expect(`"id":10`, `"result":{}`)
	for _, n := range []string{`"n":2`, `"n":2`} { // and then the last again
		say(`{"jsonrpc":"2.0","id":11,"method":"tools/call","params":{"name":"t","arguments":{"a":1}}}`)
		expect(`"id":11`, n)
	}
	say(`{"jsonrpc":"2.0","id":12,"method":"tools/call","params":{"name":"t","arguments":{"a":2}}}`)
	expect(`"id":12`, "-32603", "differs at /params/arguments/a")
	say(`[]`)
	say(`nothing`)
	expect("-32700")
	_ = client.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	all := strings.Join(texts, "\n")
	for _, want := range []string{
		"asks for the revision 2024-11-05, and was recorded with 2025-06-18", "answers roots/list with an error, and was recorded with a result",
		"tools/call t came once more than recorded", "the recording has no tools/call",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("lacks %q:\n%s", want, all)
		}
	}
	if played, missing := mock.Played(); played != 3 || len(missing) != 0 || len(mock.Unmatched()) != 1 {
		t.Errorf("%d played, missing %v, unmatched %v", played, missing, mock.Unmatched())
	}
}

// All but ids is said as it was recorded: with its members in their order, and its spelling.
func TestMockKeepsBytes(t *testing.T) {
	t.Parallel()
	recorded := tape(t, hello+call(1, "t", "{}")+
		`< {"method":"roots/list","id":7,"jsonrpc":"2.0"}`+"\n"+
		`< {"result":{"z":1.0,"content":[],"a":"<\u0041"},"id":1,"jsonrpc":"2.0"}`)
	for _, message := range recorded.talk.Messages { // as a body over HTTP may be
		message.Raw = bytes.ReplaceAll(message.Raw, []byte(`,"jsonrpc"`), []byte(",\r\n\"jsonrpc\""))
	}
	mock := NewMock([]*Tape{recorded}, func(string) {})
	var out bytes.Buffer
	err := mock.OverStdio(t.Context(), strings.NewReader(`{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"t","arguments":{}}}`), &out)
	const want = `{"method":"roots/list","id":"replay-1",  "jsonrpc":"2.0"}` + "\n" +
		`{"result":{"z":1.0,"content":[],"a":"<\u0041"},"id":"x",  "jsonrpc":"2.0"}` + "\n"
	if err != nil || out.String() != want {
		t.Errorf("%v: %s\nnot\n%s", err, out.String(), want)
	}
}

// A client that connects again has what was recorded of the next connection, and then of the
// first again.
func TestMockOfSeveralConnections(t *testing.T) {
	t.Parallel()
	var tapes []*Tape
	for n := range 2 {
		text := func(at string) string { return fmt.Sprintf(`{"content":[],"n":"%d%s"}`, n, at) }
		tapes = append(tapes, tape(t, hello+call(1, "t", "{}")+result(1, text("a"))+call(2, "t", "{}")+result(2, text("b"))))
	}
	mock := NewMock(tapes, func(string) {})
	var got []string
	for range 3 {
		client := mock.visit()
		for _, line := range []string{
			`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}`, call(1, "t", "{}")[2:], call(2, "t", "{}")[2:],
		} {
			client.say(t.Context(), client.take(jsonrpc.Parse([]byte(line))), func(raw []byte) {
				if _, after, has := strings.Cut(string(raw), `"n":`); has {
					got = append(got, after[1:3])
				}
			})
		}
		if played, missing := mock.Played(); played != min(6, len(got)*3/2) || len(missing) != 6-played {
			t.Errorf("%d played, missing %v", played, missing)
		}
	}
	if want := []string{"0a", "0b", "1a", "1b", "0a", "0b"}; !slices.Equal(got, want) {
		t.Errorf("had %v, not %v", got, want)
	}
}

// Pages of this machine are clients like others, and those of other machines are not.
func TestMockForPages(t *testing.T) {
	t.Parallel()
	handler := NewMock([]*Tape{tape(t, hello)}, func(string) {}).Handler(false)
	for origin, status := range map[string]int{"http://localhost:1": http.StatusNoContent, "https://example.com": http.StatusForbidden} {
		request := httptest.NewRequest(http.MethodOptions, "http://127.0.0.1/mcp", nil)
		request.Header.Set("Origin", origin)
		request.Header.Set("Access-Control-Request-Method", http.MethodPost)
		request.Header.Set("Access-Control-Request-Headers", "content-type")
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, request)
		header := answer.Header()
		allows := header.Get("Access-Control-Allow-Origin") == origin && header.Get("Access-Control-Allow-Headers") == "content-type"
		if answer.Code != status || allows != (status == http.StatusNoContent) {
			t.Errorf("%s: %d, %v", origin, answer.Code, header)
		}
	}
}

// A request that came again with a token is answered at once, since a mock asks for no token; one
// that did not is turned away as it was.
func TestMockOfProtectedServer(t *testing.T) {
	t.Parallel()
	var tapes []*Tape
	for _, status := range []int{http.StatusUnauthorized, http.StatusOK} {
		events := recording(hello)
		for position := range events[1:] {
			events[1+position].Stream = fmt.Sprint("post-", position/2)
		}
		if status != http.StatusOK {
			events = events[:2]
		}
		head := transcript.Event{Kind: transcript.Head, From: protocol.Client, Stream: "post-0", HTTP: &transcript.HTTP{
			Method: http.MethodPost, Header: http.Header{"Authorization": {"Bearer ***"}},
		}}
		answer := transcript.Event{Kind: transcript.Head, From: protocol.Server, Stream: "post-0", HTTP: &transcript.HTTP{Status: status}}
		events = slices.Insert(slices.Insert(events, 2, answer), 1, head)
		for position := range events {
			events[position].Sequence = position
		}
		made, err := Open("a", transcript.Header{Transport: protocol.HTTP}, events)
		if err != nil {
			t.Fatal(err)
		}
		tapes = append(tapes, made)
	}
	if notes := tapes[1].Notes(); len(notes) != 1 || !strings.Contains(notes[0], "--header") {
		t.Errorf("the notes are %q", notes)
	}
	for want, of := range map[int][]*Tape{http.StatusOK: tapes, http.StatusUnauthorized: tapes[:1]} {
		answer := httptest.NewRecorder()
		request := httptest.NewRequest(http.MethodPost, "http://127.0.0.1/mcp", strings.NewReader(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}`))
		NewMock(of, func(string) {}).Handler(false).ServeHTTP(answer, request)
		if answer.Code != want {
			t.Errorf("of %d recordings: %d, not %d", len(of), answer.Code, want)
		}
	}
}

// A client may try Streamable HTTP before it turns to HTTP with SSE: that is not played, and the
// mock refuses it.
func TestFallback(t *testing.T) {
	t.Parallel()
	whole, tried := tape(t, hello), tape(t, strings.SplitAfter(strings.TrimSpace(hello), "\n")[0])
	whole.Transport, tried.Transport = protocol.SSE, protocol.HTTP
	if left := Spoken([]*Tape{tried, whole}); len(left) != 1 || left[0] != whole {
		t.Errorf("left are %v", left)
	}
	if left := Spoken([]*Tape{tried}); len(left) != 1 {
		t.Errorf("left are %v", left)
	}
	answer := httptest.NewRecorder()
	request := httptest.NewRequest(http.MethodPost, "http://127.0.0.1/sse", strings.NewReader(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}`))
	NewMock([]*Tape{whole}, func(string) {}).Handler(true).ServeHTTP(answer, request)
	if answer.Code != http.StatusMethodNotAllowed {
		t.Errorf("the mock answers %d", answer.Code)
	}
}

// Over another transport than the recorded one a stream is open for what the server says unasked.
func TestOtherTransport(t *testing.T) {
	t.Parallel()
	recorded := tape(t, hello+call(1, "t", "{}")+result(1, `{"content":[]}`)+
		`< {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`+"\n"+call(2, "t", "{}")+result(2, `{"content":[]}`))
	if changes := told(playedTo(t, recorded, recorded, nil)); len(changes) > 0 {
		t.Errorf("told are %q", changes)
	}
}

// What the server asked when the client had closed its input is not missed.
func TestAskedAtTheEnd(t *testing.T) {
	t.Parallel()
	for _, at := range []int{0, 1} { // the signal before the request, and behind it
		events := append(recording(hello), transcript.Event{Kind: transcript.Signal, From: protocol.Client, Stream: "stdio"},
			transcript.Event{Kind: transcript.Message, From: protocol.Server, Stream: "stdio", Raw: []byte(`{"jsonrpc":"2.0","id":"r","method":"roots/list"}`)})
		if at == 1 {
			slices.Reverse(events[len(events)-2:])
		}
		for position := range events {
			events[position].Sequence = position
		}
		asked, err := Open("a", transcript.Header{Transport: protocol.Stdio}, events)
		if err != nil {
			t.Fatal(err)
		}
		changes := told(playedTo(t, asked, tape(t, hello), func(options *Options) { options.Target.Reply = time.Second }))
		if len(changes) != at {
			t.Errorf("told are %q", changes)
		}
	}
}

// What stands in a request of the stateless era under keys that the server chose, matches by
// method and order.
func TestInputRequests(t *testing.T) {
	t.Parallel()
	known := newValues(Options{})
	recorded, _ := jsonrpc.Decode([]byte(`{"inputRequests":{"a":{"method":"roots/list"},"b":{"method":"elicitation/create"}},"requestState":"s1"}`))
	live, _ := jsonrpc.Decode([]byte(`{"inputRequests":{"x":{"method":"elicitation/create"},"y":{"method":"roots/list"}},"requestState":"t2"}`))
	known.learn("1 tools/call t", recorded, live)
	retry, _ := jsonrpc.Decode([]byte(`{"id":2,"method":"tools/call","params":{"requestState":"s1","inputResponses":{"a":{"roots":[]},"b":{"action":"decline"}}}}`))
	raw, changed := known.apply("tools/call t", nil, retry)
	const want = `{"id":2,"method":"tools/call","params":{"inputResponses":{"x":{"action":"decline"},"y":{"roots":[]}},"requestState":"t2"}}`
	if !changed || string(raw) != want {
		t.Errorf("found %s", raw)
	}
}
