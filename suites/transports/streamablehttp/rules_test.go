package streamablehttp

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpconform/mcpconform/internal/rules"
	. "github.com/mcpconform/mcpconform/internal/rules/rulestest"
)

// TestStreamsOfTheStatelessEra judges event streams at 2026-07-28.
func TestStreamsOfTheStatelessEra(t *testing.T) {
	t.Parallel()
	const (
		related    = "sends notifications of a subscription only on the SSE stream of that subscription"
		unbuffered = "sends the header X-Accel-Buffering: no with event streams"
		answered   = "eventually sends the response on the SSE stream of its request"
		flows      = "< post-1 200 Content-Type:text/event-stream X-Accel-Buffering:no\n"
		listens    = "> post-1 POST\nc post-1 " + ListensOn2 + "\n"
	)
	tests := map[string]struct {
		script string
		broken []string
	}{
		"a stream with the response":          {Post("post-1", "1") + flows + "e post-1 " + Result("1") + ". post-1", nil},
		"a stream without the header":         {Post("post-1", "1") + Opened("post-1") + "e post-1 " + Result("1") + ". post-1", []string{unbuffered}},
		"a stream that proxies may keep back": {Post("post-1", "1") + "< post-1 200 Content-Type:text/event-stream X-Accel-Buffering:yes\n" + "e post-1 " + Result("1") + ". post-1", []string{unbuffered}},
		"JSON":                                {Post("post-1", "1") + "< post-1 200 Content-Type:application/json\ns post-1 " + Result("1") + ". post-1", nil},
		"a stream that ends early":            {Post("post-1", "1") + flows + ". post-1", []string{answered}},
		"one with an id that ends early":      {Post("post-1", "1") + flows + "e post-1 #a1 data\n. post-1", []string{answered}},
		"a subscription":                      {listens + flows + "e post-1 " + ChangedOf2 + "\n", nil},
		"a subscription that the server ends": {listens + flows + ". post-1", nil},
		"a change of another subscription":    {Post("post-1", "1") + flows + "e post-1 " + ChangedOf2 + "\ne post-1 " + Result("1") + ". post-1", []string{related}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			judging := slices.DeleteFunc(streamRules(), func(rule rules.Rule) bool {
				return !slices.Contains([]string{related, unbuffered, answered}, rule.Text)
			})
			if diff := cmp.Diff(test.broken, BrokenTexts(judging, Carry(t, "2026-07-28", test.script))); diff != "" {
				t.Errorf("broken (-wanted +found):\n%s", diff)
			}
		})
	}
}

func TestTransportRules(t *testing.T) {
	t.Parallel()
	const old, present = "2025-06-18", "2025-11-25"
	primed := Post("post-1", "1") + Opened("post-1") + "e post-1 #a1 data\n"
	opens := func(revision string) string {
		return fmt.Sprintf(`> post-1 POST
			c post-1 {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":%q}}
			%se post-1 #a1 {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25"}}
			. post-1`, revision, Opened("post-1"))
	}
	tests := []struct {
		name     string
		revision string
		script   string
		broken   []string // requirements without their page
		seen     string   // one that must have been seen
	}{
		{"202 without a body", present, Notified + "< post-1 202\n. post-1", nil, "http.notification.accepted"},
		{"200 for a notification", present, Notified + "< post-1 200\n. post-1", []string{"http.notification.accepted"}, ""},
		{"204 for a notification", present, Notified + "< post-1 204\n. post-1", []string{"http.notification.accepted"}, ""},
		{"202 with a body", present, Notified + "< post-1 202 Content-Type:text/plain\ns post-1 ok\n. post-1", []string{"http.notification.accepted"}, ""},
		{"400 for a notification", present, Notified + "< post-1 400\n. post-1", nil, "http.notification.refused"},
		{"an error with 200 for a notification", present,
			Notified + "< post-1 200 Content-Type:application/json\ns post-1 {\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32600,\"message\":\"no\"}}\n. post-1",
			[]string{"http.notification.refused"}, ""},
		{"an error with 200 for a method that is not a string", present,
			"> post-1 POST\nc post-1 {\"jsonrpc\":\"2.0\",\"method\":42}\n< post-1 200 Content-Type:application/json\ns post-1 {\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32600,\"message\":\"no\"}}\n. post-1",
			nil, ""},

		{"JSON for a request", present, Post("post-1", "1") + "< post-1 200 Content-Type:application/json;charset=utf-8\ns post-1 " + Result("1") + ". post-1",
			nil, "http.request.content-type"},
		{"no content type for a request", present, Post("post-1", "1") + "< post-1 200\ns post-1 " + Result("1") + ". post-1",
			[]string{"http.request.content-type"}, ""},
		{"202 for a request", present, Post("post-1", "1") + "< post-1 202\n. post-1", []string{"http.request.content-type"}, ""},
		{"a list for a request", present, Post("post-1", "1") + "< post-1 200 Content-Type:application/json\ns post-1 [" + strings.TrimSpace(Result("1")) + "]\n. post-1",
			[]string{"http.request.content-type"}, ""},
		{"no body for a request", present, Post("post-1", "1") + "< post-1 200 Content-Type:application/json\n. post-1",
			[]string{"http.request.content-type"}, ""},
		{"JSON that is called an event stream", present, Post("post-1", "1") + Opened("post-1") + "b post-1 " + Result("1") + ". post-1",
			[]string{"http.request.content-type", "http.stream.response"}, ""},
		{"plain text that refuses a request", present, Post("post-1", "1") + "< post-1 503 Content-Type:text/plain\ns post-1 busy\n. post-1", nil, ""},

		{"a stream with the response", present, primed + "e post-1 #a2 " + Result("1") + ". post-1", nil, "http.stream.primed"},
		{"a stream that begins with a message", present, Post("post-1", "1") + Opened("post-1") + "e post-1 #a2 " + Result("1") + ". post-1",
			[]string{"http.stream.primed"}, ""},
		{"a stream that begins with an id alone", present, Post("post-1", "1") + Opened("post-1") + "e post-1 #a1\ne post-1 #a2 " + Result("1") + ". post-1",
			[]string{"http.stream.primed"}, ""},
		{"a stream that begins with a comment", present, Post("post-1", "1") + Opened("post-1") + "e post-1\ne post-1 #a1 data\ne post-1 #a2 " + Result("1") + ". post-1",
			nil, "http.stream.primed"},
		{"a handshake that begins with a message", present, opens("2025-11-25"), []string{"http.stream.primed"}, ""},
		{"a handshake for another revision that begins with a message", present, opens("1900-01-01"), nil, ""},
		{"a stream without ids", present, Post("post-1", "1") + Opened("post-1") + "e post-1 " + Result("1") + ". post-1", nil, "http.stream.response"},

		{"a stream that ends without the response", present, Post("post-1", "1") + Opened("post-1") + ". post-1",
			[]string{"http.stream.response"}, ""},
		{"a stream that ends without the response, before", old, Post("post-1", "1") + Opened("post-1") + ". post-1",
			[]string{"http.stream.response", "http.stream.kept"}, ""},
		{"a stream that the client ends", present, Post("post-1", "1") + Opened("post-1") + "x post-1", nil, ""},
		{"a stream that ends with the session", present, Post("post-1", "1") + Opened("post-1") + "> delete-1 DELETE\n< delete-1 200\n. post-1", nil, ""},
		{"a stream of a cancelled request", present, Post("post-1", "1") + Opened("post-1") +
			"> post-2 POST\nc post-2 {\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":1}}\n< post-2 202\n. post-1", nil, ""},
		{"a stream that nobody comes back to", present, primed + "e post-1 #a2 ~10 data\n. post-1", nil, "http.stream.retry.sent"},
		{"a stream that closes without retry", present, primed + ". post-1", []string{"http.stream.retry.sent"}, ""},
		{"a stream that is come back to", present, primed + "e post-1 #a2 ~10 data\n. post-1\n" + Resume("get-1", "a2") + "e get-1 #a3 " + Result("1") + ". get-1",
			nil, "http.stream.response"},
		{"a stream that is come back to in vain", present, primed + "e post-1 #a2 ~10 data\n. post-1\n" + Resume("get-1", "a2") + ". get-1",
			[]string{"http.stream.response"}, ""},
		{"a stream that cannot be come back to", present, primed + "e post-1 #a2 ~10 data\n. post-1\n> get-1 GET Last-Event-Id:a2\n< get-1 405\n. get-1",
			[]string{"http.stream.response"}, ""},
		{"a listener that closes without retry and goes on", present, Get("get-1") + "e get-1 #a1 data\n. get-1\n" +
			Resume("get-2", "a1") + "e get-2 #a2 " + ProgressOf("t") + "x get-2", []string{"http.stream.retry.sent"}, ""},

		{"progress on its stream", present, Call("post-1", "1", "t") + Opened("post-1") + "e post-1 " + ProgressOf("t") + "e post-1 " + Result("1") + ". post-1",
			nil, "http.stream.related"},
		{"progress on the stream of another", present, Call("post-1", "1", "t") + Opened("post-1") + Call("post-2", "2", "u") + Opened("post-2") +
			"e post-2 " + ProgressOf("t") + "e post-2 " + Result("2") + ". post-2\ne post-1 " + Result("1") + ". post-1",
			[]string{"http.stream.related"}, ""},
		{"progress on the listener", present, Get("get-1") + Call("post-1", "1", "t") + Opened("post-1") + "e get-1 " + ProgressOf("t") +
			"e post-1 " + Result("1") + ". post-1", []string{"http.get.unrelated"}, ""},
		{"progress on the listener, as there is no other stream", present, Get("get-1") + Call("post-1", "1", "t") + "e get-1 " + ProgressOf("t") +
			"< post-1 200 Content-Type:application/json\ns post-1 " + Result("1") + ". post-1", nil, ""},
		{"a response on the listener", present, Get("get-1") + Post("post-1", "1") + Opened("post-1") + "e get-1 " + Result("1") + "x post-1",
			[]string{"http.get.no-response"}, ""},
		{"a response beside the listener", present, Get("get-1") + Post("post-1", "1") + "< post-1 200 Content-Type:application/json\ns post-1 " + Result("1") + ". post-1",
			nil, "http.get.no-response"},
		{"a rejection of the listener", present, "> get-1 GET\n< get-1 405 Content-Type:application/json\ns get-1 {\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32000,\"message\":\"no\"}}\n. get-1",
			nil, "http.get.answered"},
		{"a request on two streams", present, Get("get-1") + Post("post-1", "1") + Opened("post-1") +
			"e get-1 {\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"roots/list\"}\ne post-1 {\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"roots/list\"}\ne post-1 " + Result("1") + ". post-1",
			[]string{"http.streams.once"}, ""},
		{"two requests without an id", present, Get("get-1") + Post("post-1", "1") + Opened("post-1") +
			"e get-1 {\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}\ne post-1 {\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}\ne post-1 " + Result("1") + ". post-1",
			nil, ""},
		{"an id that is used again after its answer", present, Get("get-1") + Post("post-1", "1") + Opened("post-1") +
			"e get-1 {\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"ping\"}\n> post-2 POST " + InSession + "\nc post-2 {\"jsonrpc\":\"2.0\",\"id\":9,\"result\":{}}\n< post-2 202\n. post-2\n" +
			"e post-1 {\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"ping\"}\ne post-1 " + Result("1") + ". post-1",
			nil, ""},
		{"progress of two requests with the same token", present, Call("post-1", "1", "t") + Opened("post-1") + "e post-1 " + ProgressOf("t") + "e post-1 " + Result("1") +
			Call("post-2", "2", "t") + Opened("post-2") + "e post-2 " + ProgressOf("t") + ". post-1\ne post-2 " + Result("2") + ". post-2", nil, ""},
		{"the same notification twice", present, Get("get-1") + Get("get-2") +
			"e get-1 {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\ne get-2 {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}", nil, ""},

		{"404 for GET", present, "> get-1 GET\n< get-1 404\n. get-1", []string{"http.get.answered"}, ""},
		{"404 for GET in a session that is over", present, "> get-1 GET Mcp-Session-Id:s\n< get-1 404\n. get-1", nil, ""},
		{"404 for GET that the end of its session has overtaken", present, "> get-1 GET Mcp-Session-Id:s\n> post-1 POST Mcp-Session-Id:s\n< post-1 202\n. post-1\n> delete-1 DELETE Mcp-Session-Id:s\n< get-1 404\n. get-1\n< delete-1 204\n. delete-1", nil, ""},
		{"404 for GET in a session that goes on", present, "> get-1 GET Mcp-Session-Id:s\n< get-1 404\n. get-1\n> post-1 POST Mcp-Session-Id:s\n< post-1 202\n. post-1",
			[]string{"http.get.answered"}, ""},
		{"400 for GET out of the session", present, "> get-1 GET\n< get-1 400\n. get-1", nil, ""},
		{"400 for GET at another version", present, "> get-1 GET Mcp-Session-Id:s Mcp-Protocol-Version:1900-01-01\n< get-1 400\n. get-1", nil, ""},
		{"400 for GET in the session", present, "> get-1 GET Mcp-Session-Id:s\n< get-1 400\n. get-1", []string{"http.get.answered"}, ""},
		{"401 for GET", present, "> get-1 GET Mcp-Session-Id:s\n< get-1 401\n. get-1", nil, ""},
		{"403 for GET", present, "> get-1 GET Mcp-Session-Id:s\n< get-1 403\n. get-1", nil, ""},
		{"JSON for GET", present, "> get-1 GET\n< get-1 200 Content-Type:application/json\n. get-1", []string{"http.get.answered"}, ""},
		{"a second listener refused", present, Get("get-1") + "> get-2 GET\n< get-2 409\n. get-2", nil, "http.get.answered"},
		{"the only listener refused", present, "> get-2 GET\n< get-2 409\n. get-2", []string{"http.get.answered"}, ""},

		{"an id on two streams", present, primed + "e post-1 #a2 " + Result("1") + ". post-1\n" + Get("get-1") + "e get-1 #a2 " + ProgressOf("t"),
			[]string{"http.events.unique"}, ""},
		{"an id on two streams of two sessions", present, "> get-1 GET Mcp-Session-Id:s\n" + Opened("get-1") + "e get-1 #1 data\n> get-2 GET Mcp-Session-Id:t\n" + Opened("get-2") + "e get-2 #1 data",
			nil, "http.events.unique"},
		{"an id of two messages", present, Get("get-1") + "e get-1 #1 " + ProgressOf("t") + "e get-1 #1 " + ProgressOf("u"), []string{"http.events.unique"}, ""},
		{"an id repeated by a heartbeat", present, Get("get-1") + "e get-1 #1 " + ProgressOf("t") + "e get-1 #1 data", nil, "http.events.unique"},
		{"an id that is replayed", present, primed + "e post-1 #a2 " + Result("1") + ". post-1\n" + Resume("get-1", "a1") + "e get-1 #a2 " + Result("1") + ". get-1",
			nil, "http.resume.own-stream"},
		{"a response of another stream replayed", present, primed + "e post-1 #a2 " + Result("1") + ". post-1\n" +
			Post("post-2", "2") + Opened("post-2") + "e post-2 #b1 data\ne post-2 #b2 " + Result("2") + ". post-2\n" +
			Resume("get-1", "a1") + "e get-1 #a2 " + Result("1") + "e get-1 #b2 " + Result("2") + ". get-1",
			[]string{"http.resume.own-stream"}, ""},
		{"a notification of another stream replayed", present, Get("get-1") + "e get-1 #c1 " + ProgressOf("x") + primed + "x post-1\n" +
			Resume("get-2", "a1") + "e get-2 #c1 " + ProgressOf("x") + "e get-2 #a2 " + Result("1") + ". get-2",
			[]string{"http.resume.own-stream"}, ""},

		{"progress of another stream replayed", present, Call("post-1", "1", "t") + Opened("post-1") + "e post-1 #a1 data\ne post-1 #a2 " + Result("1") + ". post-1\n" +
			Call("post-2", "2", "u") + Opened("post-2") + "e post-2 #b1 data\ne post-2 #b2 " + ProgressOf("u") + "e post-2 #b3 " + Result("2") + ". post-2\n" +
			Resume("get-1", "a1") + "e get-1 #b2 " + ProgressOf("u") + "e get-1 #a2 " + Result("1") + ". get-1",
			[]string{"http.resume.own-stream"}, ""},

		{"a visible session id", present, "> post-1 POST\n< post-1 200 Mcp-Session-Id:abc~!\n", nil, "http.session.characters"},
		{"a session id with a letter of another alphabet", present, "> post-1 POST\n< post-1 200 Mcp-Session-Id:sé\n", []string{"http.session.characters"}, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			broken, seen := Judged(Rules(), Carry(t, test.revision, test.script))
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
