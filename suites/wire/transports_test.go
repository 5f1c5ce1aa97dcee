package wire

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// carry reads what went over HTTP. Each line is a sign, a stream, and the rest:
//
//	>  a request: method, and headers as Name:value; Path: is that of its URL
//	<  a response: status, and headers
//	c  the body of the request, c! one that is illegal on purpose
//	s  the body of the response
//	e  an event: #id, ~retry, =name, and a message, or data for an empty data field
//	b  a block of an event stream, as text without any field that is known
//	.  the server ends the response; x the client does
func carry(t *testing.T, revision, script string) *rules.Conversation {
	t.Helper()
	return carryFor(t, rules.Leg{Role: protocol.ServerRole, Revision: revision, Transport: protocol.HTTP}, script)
}

func carryFor(t *testing.T, leg rules.Leg, script string) *rules.Conversation {
	t.Helper()
	var events []transcript.Event
	for line := range strings.Lines(script) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		sign, rest, _ := strings.Cut(line, " ")
		stream, rest, _ := strings.Cut(rest, " ")
		event := transcript.Event{Sequence: len(events), Stream: stream, From: protocol.Server}
		switch sign {
		case ">":
			method, headers, _ := strings.Cut(rest, " ")
			event.Kind, event.From = transcript.Head, protocol.Client
			event.HTTP = &transcript.HTTP{Method: method, Header: headersOf(headers)}
			event.HTTP.URL = "http://localhost/" + event.HTTP.Header.Get("Path")
		case "<":
			status, headers, _ := strings.Cut(rest, " ")
			number, err := strconv.Atoi(status)
			if err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			event.Kind, event.HTTP = transcript.Head, &transcript.HTTP{Status: number, Header: headersOf(headers)}
		case "c":
			event.Kind, event.From, event.Raw = transcript.Message, protocol.Client, []byte(rest)
		case "c!":
			event.Kind, event.From, event.Raw, event.Deliberate = transcript.Message, protocol.Client, []byte(rest), "a test"
		case "s":
			event.Kind, event.Raw = transcript.Message, []byte(rest)
		case "b":
			event.Kind, event.Raw, event.SSE = transcript.Block, []byte(rest), &transcript.SSE{}
		case "e":
			event.Kind, event.Raw, event.SSE = eventOf(t, rest)
		case ".":
			event.Kind, event.Note = transcript.End, transcript.Complete
		case "x":
			event.Kind, event.Note = transcript.End, "closed by the harness"
		default:
			t.Fatalf("cannot read %q", line)
		}
		events = append(events, event)
	}
	return rules.NewConversation(leg, events, true)
}

func headersOf(text string) http.Header {
	header := http.Header{}
	for field := range strings.FieldsSeq(text) {
		name, value, _ := strings.Cut(field, ":")
		header.Add(name, value)
	}
	return header
}

func eventOf(t *testing.T, text string) (transcript.Kind, []byte, *transcript.SSE) {
	t.Helper()
	found := &transcript.SSE{}
	for text != "" {
		field, rest, _ := strings.Cut(text, " ")
		switch {
		case strings.HasPrefix(field, "#"):
			id := field[1:]
			found.ID = &id
		case strings.HasPrefix(field, "~"):
			retry, err := strconv.Atoi(field[1:])
			if err != nil {
				t.Fatalf("%q: %v", text, err)
			}
			found.Retry = &retry
		case strings.HasPrefix(field, "="):
			found.Name = field[1:]
		case field == "data":
			found.HasData = true
		default:
			found.HasData = true
			return transcript.Message, []byte(text), found
		}
		text = rest
	}
	return transcript.Block, nil, found
}

// judged returns the requirements of the transports that a conversation broke,
// and those for which it had something to see.
func judged(judging []rules.Rule, conversation *rules.Conversation) (broken, seen []string) {
	broken, seen = []string{}, []string{}
	for _, finding := range rules.Apply(judging, conversation) {
		name := strings.TrimPrefix(finding.Rule, "transports.")
		seen = append(seen, name)
		if len(finding.Breaks) > 0 {
			broken = append(broken, name)
		}
	}
	return broken, seen
}

// Parts of scripts: a POST of a ping, a GET, and the head of an event stream.
func post(stream, id string) string {
	return fmt.Sprintf("> %s POST\nc %s {\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"ping\"}\n", stream, stream, id)
}

func call(stream, id, token string) string {
	return fmt.Sprintf("> %s POST\nc %s {\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"tools/call\",\"params\":{\"name\":\"n\",\"_meta\":{\"progressToken\":%q}}}\n",
		stream, stream, id, token)
}

func get(stream string) string { return "> " + stream + " GET\n" + opened(stream) }

func resume(stream, after string) string {
	return "> " + stream + " GET Last-Event-Id:" + after + "\n" + opened(stream)
}

func opened(stream string) string { return "< " + stream + " 200 Content-Type:text/event-stream\n" }

func result(id string) string { return `{"jsonrpc":"2.0","id":` + id + `,"result":{}}` + "\n" }

func progressOf(token string) string {
	return `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"` + token + `","progress":1}}` + "\n"
}

const notified = "> post-1 POST\nc post-1 {\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n"

func TestTransportRules(t *testing.T) {
	t.Parallel()
	const old, present = "2025-06-18", "2025-11-25"
	primed := post("post-1", "1") + opened("post-1") + "e post-1 #a1 data\n"
	tests := []struct {
		name     string
		revision string
		script   string
		broken   []string // requirements without their page
		seen     string   // one that must have been seen
	}{
		{"202 without a body", present, notified + "< post-1 202\n. post-1", nil, "http.notification.accepted"},
		{"200 for a notification", present, notified + "< post-1 200\n. post-1", []string{"http.notification.accepted"}, ""},
		{"204 for a notification", present, notified + "< post-1 204\n. post-1", []string{"http.notification.accepted"}, ""},
		{"202 with a body", present, notified + "< post-1 202 Content-Type:text/plain\ns post-1 ok\n. post-1", []string{"http.notification.accepted"}, ""},
		{"400 for a notification", present, notified + "< post-1 400\n. post-1", nil, "http.notification.refused"},
		{"an error with 200 for a notification", present,
			notified + "< post-1 200 Content-Type:application/json\ns post-1 {\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32600,\"message\":\"no\"}}\n. post-1",
			[]string{"http.notification.refused"}, ""},

		{"JSON for a request", present, post("post-1", "1") + "< post-1 200 Content-Type:application/json;charset=utf-8\ns post-1 " + result("1") + ". post-1",
			nil, "http.request.content-type"},
		{"no content type for a request", present, post("post-1", "1") + "< post-1 200\ns post-1 " + result("1") + ". post-1",
			[]string{"http.request.content-type"}, ""},
		{"202 for a request", present, post("post-1", "1") + "< post-1 202\n. post-1", []string{"http.request.content-type"}, ""},
		{"a list for a request", present, post("post-1", "1") + "< post-1 200 Content-Type:application/json\ns post-1 [" + strings.TrimSpace(result("1")) + "]\n. post-1",
			[]string{"http.request.content-type"}, ""},
		{"no body for a request", present, post("post-1", "1") + "< post-1 200 Content-Type:application/json\n. post-1",
			[]string{"http.request.content-type"}, ""},
		{"JSON that is called an event stream", present, post("post-1", "1") + opened("post-1") + "b post-1 " + result("1") + ". post-1",
			[]string{"http.request.content-type", "http.stream.response"}, ""},
		{"plain text that refuses a request", present, post("post-1", "1") + "< post-1 503 Content-Type:text/plain\ns post-1 busy\n. post-1", nil, ""},

		{"a stream with the response", present, primed + "e post-1 #a2 " + result("1") + ". post-1", nil, "http.stream.primed"},
		{"a stream that begins with a message", present, post("post-1", "1") + opened("post-1") + "e post-1 #a2 " + result("1") + ". post-1",
			[]string{"http.stream.primed"}, ""},
		{"a stream that begins with an id alone", present, post("post-1", "1") + opened("post-1") + "e post-1 #a1\ne post-1 #a2 " + result("1") + ". post-1",
			[]string{"http.stream.primed"}, ""},
		{"a stream that begins with a comment", present, post("post-1", "1") + opened("post-1") + "e post-1\ne post-1 #a1 data\ne post-1 #a2 " + result("1") + ". post-1",
			nil, "http.stream.primed"},
		{"a stream without ids", present, post("post-1", "1") + opened("post-1") + "e post-1 " + result("1") + ". post-1", nil, "http.stream.response"},

		{"a stream that ends without the response", present, post("post-1", "1") + opened("post-1") + ". post-1",
			[]string{"http.stream.response"}, ""},
		{"a stream that ends without the response, before", old, post("post-1", "1") + opened("post-1") + ". post-1",
			[]string{"http.stream.response", "http.stream.kept"}, ""},
		{"a stream that the client ends", present, post("post-1", "1") + opened("post-1") + "x post-1", nil, ""},
		{"a stream that ends with the session", present, post("post-1", "1") + opened("post-1") + "> delete-1 DELETE\n< delete-1 200\n. post-1", nil, ""},
		{"a stream of a cancelled request", present, post("post-1", "1") + opened("post-1") +
			"> post-2 POST\nc post-2 {\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":1}}\n< post-2 202\n. post-1", nil, ""},
		{"a stream that nobody comes back to", present, primed + "e post-1 #a2 ~10 data\n. post-1", nil, "http.stream.retry.sent"},
		{"a stream that closes without retry", present, primed + ". post-1", []string{"http.stream.retry.sent"}, ""},
		{"a stream that is come back to", present, primed + "e post-1 #a2 ~10 data\n. post-1\n" + resume("get-1", "a2") + "e get-1 #a3 " + result("1") + ". get-1",
			nil, "http.stream.response"},
		{"a stream that is come back to in vain", present, primed + "e post-1 #a2 ~10 data\n. post-1\n" + resume("get-1", "a2") + ". get-1",
			[]string{"http.stream.response"}, ""},
		{"a stream that cannot be come back to", present, primed + "e post-1 #a2 ~10 data\n. post-1\n> get-1 GET Last-Event-Id:a2\n< get-1 405\n. get-1",
			[]string{"http.stream.response"}, ""},
		{"a listener that closes without retry and goes on", present, get("get-1") + "e get-1 #a1 data\n. get-1\n" +
			resume("get-2", "a1") + "e get-2 #a2 " + progressOf("t") + "x get-2", []string{"http.stream.retry.sent"}, ""},

		{"progress on its stream", present, call("post-1", "1", "t") + opened("post-1") + "e post-1 " + progressOf("t") + "e post-1 " + result("1") + ". post-1",
			nil, "http.stream.related"},
		{"progress on the stream of another", present, call("post-1", "1", "t") + opened("post-1") + call("post-2", "2", "u") + opened("post-2") +
			"e post-2 " + progressOf("t") + "e post-2 " + result("2") + ". post-2\ne post-1 " + result("1") + ". post-1",
			[]string{"http.stream.related"}, ""},
		{"progress on the listener", present, get("get-1") + call("post-1", "1", "t") + opened("post-1") + "e get-1 " + progressOf("t") +
			"e post-1 " + result("1") + ". post-1", []string{"http.get.unrelated"}, ""},
		{"progress on the listener, as there is no other stream", present, get("get-1") + call("post-1", "1", "t") + "e get-1 " + progressOf("t") +
			"< post-1 200 Content-Type:application/json\ns post-1 " + result("1") + ". post-1", nil, ""},
		{"a response on the listener", present, get("get-1") + post("post-1", "1") + opened("post-1") + "e get-1 " + result("1") + "x post-1",
			[]string{"http.get.no-response"}, ""},
		{"a response beside the listener", present, get("get-1") + post("post-1", "1") + "< post-1 200 Content-Type:application/json\ns post-1 " + result("1") + ". post-1",
			nil, "http.get.no-response"},
		{"a refusal of the listener", present, "> get-1 GET\n< get-1 405 Content-Type:application/json\ns get-1 {\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32000,\"message\":\"no\"}}\n. get-1",
			nil, "http.get.answered"},
		{"a request on two streams", present, get("get-1") + post("post-1", "1") + opened("post-1") +
			"e get-1 {\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"roots/list\"}\ne post-1 {\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"roots/list\"}\ne post-1 " + result("1") + ". post-1",
			[]string{"http.streams.once"}, ""},
		{"two requests without an id", present, get("get-1") + post("post-1", "1") + opened("post-1") +
			"e get-1 {\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}\ne post-1 {\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}\ne post-1 " + result("1") + ". post-1",
			nil, ""},
		{"an id that is used again after its answer", present, get("get-1") + post("post-1", "1") + opened("post-1") +
			"e get-1 {\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"ping\"}\n> post-2 POST " + inSession + "\nc post-2 {\"jsonrpc\":\"2.0\",\"id\":9,\"result\":{}}\n< post-2 202\n. post-2\n" +
			"e post-1 {\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"ping\"}\ne post-1 " + result("1") + ". post-1",
			nil, ""},
		{"progress of two requests with the same token", present, call("post-1", "1", "t") + opened("post-1") + "e post-1 " + progressOf("t") + "e post-1 " + result("1") +
			call("post-2", "2", "t") + opened("post-2") + "e post-2 " + progressOf("t") + ". post-1\ne post-2 " + result("2") + ". post-2", nil, ""},
		{"the same notification twice", present, get("get-1") + get("get-2") +
			"e get-1 {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\ne get-2 {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}", nil, ""},

		{"404 for GET", present, "> get-1 GET\n< get-1 404\n. get-1", []string{"http.get.answered"}, ""},
		{"404 for GET in a session that is over", present, "> get-1 GET Mcp-Session-Id:s\n< get-1 404\n. get-1", nil, ""},
		{"404 for GET that the end of its session has overtaken", present, "> get-1 GET Mcp-Session-Id:s\n> post-1 POST Mcp-Session-Id:s\n< post-1 202\n. post-1\n> delete-1 DELETE Mcp-Session-Id:s\n< get-1 404\n. get-1\n< delete-1 204\n. delete-1", nil, ""},
		{"404 for GET in a session that goes on", present, "> get-1 GET Mcp-Session-Id:s\n< get-1 404\n. get-1\n> post-1 POST Mcp-Session-Id:s\n< post-1 202\n. post-1",
			[]string{"http.get.answered"}, ""},
		{"JSON for GET", present, "> get-1 GET\n< get-1 200 Content-Type:application/json\n. get-1", []string{"http.get.answered"}, ""},
		{"a second listener refused", present, get("get-1") + "> get-2 GET\n< get-2 409\n. get-2", nil, "http.get.answered"},
		{"the only listener refused", present, "> get-2 GET\n< get-2 409\n. get-2", []string{"http.get.answered"}, ""},

		{"an id on two streams", present, primed + "e post-1 #a2 " + result("1") + ". post-1\n" + get("get-1") + "e get-1 #a2 " + progressOf("t"),
			[]string{"http.events.unique"}, ""},
		{"an id on two streams of two sessions", present, "> get-1 GET Mcp-Session-Id:s\n" + opened("get-1") + "e get-1 #1 data\n> get-2 GET Mcp-Session-Id:t\n" + opened("get-2") + "e get-2 #1 data",
			nil, "http.events.unique"},
		{"an id of two messages", present, get("get-1") + "e get-1 #1 " + progressOf("t") + "e get-1 #1 " + progressOf("u"), []string{"http.events.unique"}, ""},
		{"an id repeated by a heartbeat", present, get("get-1") + "e get-1 #1 " + progressOf("t") + "e get-1 #1 data", nil, "http.events.unique"},
		{"an id that is replayed", present, primed + "e post-1 #a2 " + result("1") + ". post-1\n" + resume("get-1", "a1") + "e get-1 #a2 " + result("1") + ". get-1",
			nil, "http.resume.own-stream"},
		{"a response of another stream replayed", present, primed + "e post-1 #a2 " + result("1") + ". post-1\n" +
			post("post-2", "2") + opened("post-2") + "e post-2 #b1 data\ne post-2 #b2 " + result("2") + ". post-2\n" +
			resume("get-1", "a1") + "e get-1 #a2 " + result("1") + "e get-1 #b2 " + result("2") + ". get-1",
			[]string{"http.resume.own-stream"}, ""},
		{"a notification of another stream replayed", present, get("get-1") + "e get-1 #c1 " + progressOf("x") + primed + "x post-1\n" +
			resume("get-2", "a1") + "e get-2 #c1 " + progressOf("x") + "e get-2 #a2 " + result("1") + ". get-2",
			[]string{"http.resume.own-stream"}, ""},

		{"progress of another stream replayed", present, call("post-1", "1", "t") + opened("post-1") + "e post-1 #a1 data\ne post-1 #a2 " + result("1") + ". post-1\n" +
			call("post-2", "2", "u") + opened("post-2") + "e post-2 #b1 data\ne post-2 #b2 " + progressOf("u") + "e post-2 #b3 " + result("2") + ". post-2\n" +
			resume("get-1", "a1") + "e get-1 #b2 " + progressOf("u") + "e get-1 #a2 " + result("1") + ". get-1",
			[]string{"http.resume.own-stream"}, ""},

		{"a visible session id", present, "> post-1 POST\n< post-1 200 Mcp-Session-Id:abc~!\n", nil, "http.session.characters"},
		{"a session id with a letter of another alphabet", present, "> post-1 POST\n< post-1 200 Mcp-Session-Id:sé\n", []string{"http.session.characters"}, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			broken, seen := judged(TransportRules(), carry(t, test.revision, test.script))
			applying := slices.DeleteFunc(broken, func(name string) bool {
				return test.revision == old && (name == "http.stream.primed" || name == "http.stream.retry.sent") ||
					test.revision == present && name == "http.stream.kept"
			})
			if difference := cmp.Diff(append([]string{}, test.broken...), applying); difference != "" {
				t.Errorf("broken requirements (-wanted +found):\n%s", difference)
			}
			if test.seen != "" && !slices.Contains(seen, test.seen) {
				t.Errorf("%s was not seen, only %q", test.seen, seen)
			}
		})
	}
}

func TestEncoding(t *testing.T) {
	t.Parallel()
	for text, wanted := range map[string][]string{"é": {}, "\xff": {"utf8"}} {
		script := post("post-1", "1") + "< post-1 200 Content-Type:application/json\ns post-1 {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"a\":\"" + text + "\"}}\n. post-1"
		broken, seen := judged(encoding(), carry(t, "2025-11-25", script))
		if difference := cmp.Diff(wanted, broken); difference != "" || len(seen) == 0 {
			t.Errorf("%q: broken requirements (-wanted +found):\n%s", text, difference)
		}
	}
}

func TestLinesOfStandardOutput(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		lines  []string
		broken []string
	}{
		{"messages", []string{ponged, ponged}, []string{}},
		{"a message before a carriage return", []string{strings.TrimSpace(ponged) + "\r"}, []string{}},
		{"a greeting", []string{"s Listening on stdio", ponged}, []string{"stdio.stdout"}},
		{"an empty line", []string{"s ", ponged}, []string{"stdio.stdout"}},
		{"a message on three lines", []string{`s {"jsonrpc":"2.0",`, `s  "id":2,`, `s  "result":{}}`, ponged}, []string{"stdio.newlines"}},
		{"a newline inside a text", []string{`s {"jsonrpc":"2.0","method":"m","params":{"text":"one`, `s two"}}`, ponged}, []string{"stdio.newlines"}},
		{"a newline inside a number", []string{`s {"jsonrpc":"2.0","id":2,"result":{"n":12`, `s 34}}`, ponged}, []string{"stdio.newlines"}},
		{"a warning in brackets", []string{"s [WARN] late", "s [2026-11-21 10:00] late", ponged}, []string{"stdio.stdout"}},
		{"two messages on one line", []string{"s " + `{"jsonrpc":"2.0","method":"m"}` + `{"jsonrpc":"2.0","method":"m"}`, ponged}, []string{"stdio.newlines"}},
		{"a message, and something else behind it", []string{"s " + `{"jsonrpc":"2.0","method":"m"}}`, ponged}, []string{}},
		{"a log that is JSON", []string{`s {"level":30,"time":1763719200123,"msg":"tool called"}`, "s {}", ponged}, []string{"stdio.stdout"}},
		{"a broken message", []string{`s {"jsonrpc":"2.0","id":2,"result":{}`, ponged}, []string{}},
		{"a message, and a broken one after it", []string{ponged, `s {"jsonrpc"`}, []string{}},
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
			broken, _ := judged(StdioRules(), rules.NewConversation(stdio, events, true))
			if difference := cmp.Diff(test.broken, broken); difference != "" {
				t.Errorf("broken requirements (-wanted +found):\n%s", difference)
			}
		})
	}
}

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
		judged(judging, rules.NewConversation(stdio, events, true))
		judged(judging, rules.NewConversation(rules.Leg{Role: protocol.ServerRole, Revision: "2026-07-28", Transport: protocol.Stdio}, events, true))

		events = []transcript.Event{
			{Kind: transcript.Head, From: protocol.Client, Stream: "post-1", HTTP: &transcript.HTTP{Method: "POST"}},
			{Kind: transcript.Message, From: protocol.Client, Stream: "post-1", Sequence: 1, Raw: []byte(output)},
			{Kind: transcript.Head, From: protocol.Server, Stream: "post-1", Sequence: 2, HTTP: &transcript.HTTP{Status: 200, Header: http.Header{"Content-Type": {contentType}}}},
			{Kind: transcript.Message, From: protocol.Server, Stream: "post-1", Sequence: 3, Raw: []byte(output), SSE: &transcript.SSE{ID: &id}},
			{Kind: transcript.End, From: protocol.Server, Stream: "post-1", Sequence: 4, Note: transcript.Complete},
		}
		for _, revision := range []string{overHTTP.Revision, "2026-07-28"} {
			leg := rules.Leg{Role: protocol.ServerRole, Revision: revision, Transport: protocol.HTTP}
			broken, seen := judged(judging, rules.NewConversation(leg, events, true))
			for _, name := range broken {
				if !slices.Contains(seen, name) {
					t.Errorf("%s: %s is broken, but was not seen", revision, name)
				}
			}
		}
	})
}
