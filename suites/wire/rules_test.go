package wire

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpconform/mcpconform/internal/conform"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// commonRules are those that this file tests: of pages that are the same in both eras.
var commonRules = slices.DeleteFunc(
	ofPages("base.", "lifecycle.", "ping.", "progress.", "cancellation.", "pagination."),
	func(rule rules.Rule) bool {
		id := rule.ID()
		return isStateless(id) || strings.HasPrefix(id, "base.fields.") || id == bySubscriptions
	},
)

// bySubscriptions is the id of the rule about what servers of the stateless era cancel.
const bySubscriptions = "cancellation.by-server.subscriptions"

// ofPages are the rules whose ids begin with one of the prefixes.
func ofPages(prefixes ...string) []rules.Rule {
	return slices.DeleteFunc(everyRule(), func(rule rules.Rule) bool {
		return !slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(rule.ID(), prefix) })
	})
}

// began is when all transcripts of tests begin; their events follow each other
// by a tenth of a second.
var began = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// converse reads a conversation. Each line is who speaks (c for the client, s for
// the server), a mark ! where the harness lies on purpose, a stream after @,
// and the message. Other lines are "head @stream STATUS", "resume @stream",
// "signal NOTE", "exit" and "now" (what follows comes at once).
func converse(t *testing.T, leg rules.Leg, script string) *rules.Conversation {
	t.Helper()
	var events []transcript.Event
	at, pace := began, 100*time.Millisecond
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
	return rules.NewConversation(leg, events, true)
}

// broken returns the requirements that the rules find broken, sorted.
func broken(conversation *rules.Conversation) []string {
	found := []string{}
	for _, finding := range rules.Apply(commonRules, conversation) {
		if len(finding.Breaks) > 0 {
			found = append(found, finding.Rule)
		}
	}
	slices.Sort(found)
	return found
}

const opening = `
	c {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"sampling":{}},"clientInfo":{"name":"c","version":"1"}}}
	s {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"tasks":{"requests":{"tools":{"call":{}}}},"logging":{}},"serverInfo":{"name":"s","version":"1"}}}
	c {"jsonrpc":"2.0","method":"notifications/initialized"}
`

const (
	pinged = `c {"jsonrpc":"2.0","id":2,"method":"ping"}` + "\n"
	ponged = `s {"jsonrpc":"2.0","id":2,"result":{}}` + "\n"
)

// working calls a tool with the progress token "t"; done answers the call.
const (
	working = `c {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"n","_meta":{"progressToken":"t"}}}` + "\n"
	done    = `s {"jsonrpc":"2.0","id":2,"result":{"content":[]}}` + "\n"
)

// taskWorking calls a tool as a task and begins it.
const taskWorking = `
	c {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"n","task":{},"_meta":{"progressToken":"t"}}}
	s {"jsonrpc":"2.0","id":2,"result":{"task":{"taskId":"a","status":"working","createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z","ttl":null}}}
`

const taskDone = `
	s {"jsonrpc":"2.0","method":"notifications/tasks/status","params":{"taskId":"a","status":"completed","createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z","ttl":null}}
`

func progress(token, value string) string {
	return `s {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":` + token + `,"progress":` + value + `}}` + "\n"
}

// sampling is a request of the server; sampled answers it.
func sampling(id, more string) string {
	return `s {"jsonrpc":"2.0","id":` + id + `,"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1` + more + `}}` + "\n"
}

func sampled(id string) string {
	return `c {"jsonrpc":"2.0","id":` + id + `,"result":{"role":"assistant","model":"m","content":{"type":"text","text":"x"}}}` + "\n"
}

func cancels(id string) string {
	return `s {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `}}` + "\n"
}

func pings(count int) string {
	var script strings.Builder
	for id := range count {
		fmt.Fprintf(&script, "s {\"jsonrpc\":\"2.0\",\"id\":\"p%d\",\"method\":\"ping\"}\n", id)
	}
	return script.String()
}

var stdio = rules.Leg{Role: protocol.ServerRole, Revision: "2025-11-25", Transport: protocol.Stdio}

func TestRulesFindWhatIsBroken(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		script string
		broken []string
	}{
		{"syntax", opening + pinged + ponged + `s {"jsonrpc":`, []string{"base.json.well-formed"}},
		{"trailing", opening + pinged + `s {"jsonrpc":"2.0","id":2,"result":{}}}`, []string{"base.json.well-formed"}},
		{"mark", opening + pinged + "s \uFEFF" + `{"jsonrpc":"2.0","id":2,"result":{}}`, []string{"base.json.no-mark"}},
		{"duplicate member", opening + pinged + `s {"jsonrpc":"2.0","id":3,"id":2,"result":{}}`, []string{"base.json.names-unique"}},
		{"scalar, which a rule of stdio judges", opening + "s true", []string{}},
		{"nothing in it", opening + `s {"jsonrpc":"2.0"}`, []string{"base.messages.kinds"}},
		{"method and result", opening + `s {"jsonrpc":"2.0","id":9,"method":"ping","result":{}}`, []string{"base.messages.kinds"}},
		{"batch", opening + `s [{"jsonrpc":"2.0","id":9,"method":"ping"}]`, []string{"base.messages.single"}},
		{"version", opening + pinged + `s {"jsonrpc":"1.0","id":2,"result":{}}`, []string{"base.messages.version"}},
		{"no version", opening + pinged + `s {"id":2,"result":{}}`, []string{"base.messages.version"}},
		{"fractional id", opening + `s {"jsonrpc":"2.0","id":1.5,"method":"ping"}`, []string{"base.requests.id"}},
		{"no id", opening + `s {"jsonrpc":"2.0","method":"ping"}`, []string{"base.requests.id"}},
		{"null id", opening + `s {"jsonrpc":"2.0","id":null,"method":"ping"}`, []string{"base.requests.id-not-null"}},
		{"null id twice", opening + strings.Repeat(`s {"jsonrpc":"2.0","id":null,"method":"ping"}`+"\n", 2), []string{"base.requests.id-not-null"}},
		{"id used twice", opening + pings(1) + pings(1), []string{"base.requests.id-unused"}},
		{"answered twice", opening + pinged + ponged + ponged, []string{"base.requests.answered-once"}},
		{"other id", opening + pinged + `s {"jsonrpc":"2.0","id":7,"result":{}}`, []string{"base.responses.id"}},
		{"other type of id", opening + pinged + `s {"jsonrpc":"2.0","id":"2","result":{}}`, []string{"base.responses.id"}},
		{"null as id", opening + pinged + `s {"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"?"}}`, []string{"base.responses.id"}},
		{"no outcome", opening + pinged + `s {"jsonrpc":"2.0","id":2}`, []string{"base.responses.outcome"}},
		{"two outcomes", opening + pinged + `s {"jsonrpc":"2.0","id":2,"result":{},"error":{"code":1,"message":"?"}}`,
			[]string{"base.responses.one-outcome", "ping.answered"}},
		{"no code", opening + working + `s {"jsonrpc":"2.0","id":2,"error":{"message":"?"}}`,
			[]string{"base.errors.members"}},
		{"fractional code", opening + working + `s {"jsonrpc":"2.0","id":2,"error":{"code":1.5,"message":"?"}}`,
			[]string{"base.errors.integer-code"}},
		{"answer to a notification", opening + `s {"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"?"}}`,
			[]string{"base.notifications.unanswered"}},
		{"notifications with null as id", opening + strings.Repeat(`s {"jsonrpc":"2.0","id":null,"method":"notifications/message","params":{"level":"info","data":1}}`+"\n", 2),
			[]string{"base.notifications.no-id"}},
		{"result and no error", opening + pinged + `s {"jsonrpc":"2.0","id":2,"result":{},"error":null}`, []string{"base.responses.one-outcome"}},
		{"notification with id", opening + `s {"jsonrpc":"2.0","id":5,"method":"notifications/message","params":{"level":"info","data":1}}`,
			[]string{"base.notifications.no-id"}},
		{"invalid request", opening + `s {"jsonrpc":"2.0","id":5,"method":"sampling/createMessage","params":{"messages":[]}}`,
			[]string{"base.schema.requests"}},
		{"invalid notification", opening + `s {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info"}}`,
			[]string{"base.schema.notifications"}},
		{"invalid result", opening + working + `s {"jsonrpc":"2.0","id":2,"result":{"content":{}}}`, []string{"base.schema.results"}},
		{"result of no task", opening + `
			c {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"n","task":{}}}
			s {"jsonrpc":"2.0","id":2,"result":{"task":{"taskId":"a"}}}`, []string{"base.schema.results"}},
		{"invalid error", opening + working + `s {"jsonrpc":"2.0","id":2,"error":{"code":1,"message":2}}`, []string{"base.schema.errors"}},
		{"other dialect", opening + `
			c {"jsonrpc":"2.0","id":2,"method":"tools/list"}
			s {"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"n","inputSchema":{"$schema":"http://json-schema.org/draft-07/schema#","type":"object"}}]}}`,
			[]string{"base.dialects.recommended"}},
		{"invalid schema", opening + sampling("9", `,"tools":[{"name":"n","inputSchema":{"type":"object","properties":{"a":{"type":"text"}}}}]`),
			[]string{"base.dialects.valid"}},
		{"empty label", opening + pinged + `s {"jsonrpc":"2.0","id":2,"result":{"_meta":{"com..example/a":1}}}`, []string{"base.meta.prefix"}},
		{"label with digits first", opening + pinged + `s {"jsonrpc":"2.0","id":2,"result":{"_meta":{"com.1example/a":1}}}`, []string{"base.meta.labels"}},
		{"name with hyphen last", opening + pinged + `s {"jsonrpc":"2.0","id":2,"result":{"_meta":{"a-":1}}}`, []string{"base.meta.name"}},
		{"name with space", opening + pinged + `s {"jsonrpc":"2.0","id":2,"result":{"_meta":{"a b":1}}}`, []string{"base.meta.characters"}},
		{"icon from a file", opening + icon(`{"src":"file:///tmp/icon.png"}`), []string{"base.icons.source"}},
		{"icon of a strange size", opening + icon(`{"src":"https://example.com/i.png","sizes":["big"]}`), []string{"base.icons.sizes"}},

		{"notification first", `s {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}` + opening, []string{"lifecycle.initialization.first"}},
		{"request before initialized", strings.Replace(opening, "	c {\"jsonrpc\":\"2.0\",\"method\"", sampling("9", "")+"	c {\"jsonrpc\":\"2.0\",\"method\"", 1),
			[]string{"lifecycle.requests.before-initialized"}},
		{"undeclared by the server", opening + `s {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`, []string{"lifecycle.capabilities.own"}},
		{"undeclared by the client", opening + `s {"jsonrpc":"2.0","id":5,"method":"roots/list"}`, []string{"lifecycle.capabilities.of-peer"}},
		{"task not declared by the client", opening + sampling("5", `,"task":{}`), []string{"lifecycle.capabilities.of-peer"}},
		{"method of another revision", strings.ReplaceAll(opening, "2025-11-25", "2025-06-18") + `s {"jsonrpc":"2.0","id":5,"method":"tasks/list"}`,
			[]string{"lifecycle.version.respected"}},

		{"pong with content", opening + pinged + `s {"jsonrpc":"2.0","id":2,"result":{"pong":true}}`, []string{"ping.answered"}},
		{"ping with parameters", opening + `s {"jsonrpc":"2.0","id":2,"method":"ping","params":{"a":1}}`, []string{"ping.no-parameters"}},

		{"strange token", opening + sampling("9", `,"_meta":{"progressToken":1.5}`), []string{"progress.token.type"}},
		{"shared token", opening + sampling("8", `,"_meta":{"progressToken":"x"}`) + sampling("9", `,"_meta":{"progressToken":"x"}`) + sampled("8"),
			[]string{"progress.token.unique"}},
		{"unknown token", opening + working + progress(`"u"`, "1") + done, []string{"progress.token.provided"}},
		{"null as token", opening + progress(`null`, "1"), []string{"progress.token.provided"}},
		{"progress after the answer", opening + working + progress(`"t"`, "1") + done + progress(`"t"`, "2"), []string{"progress.token.in-progress"}},
		{"no progress", opening + working + progress(`"t"`, "1") + progress(`"t"`, "1.0") + done, []string{"progress.increases"}},
		{"backwards", opening + working + progress(`"t"`, "9007199254740993") + progress(`"t"`, "9007199254740992") + done, []string{"progress.increases"}},
		{"other token of a task", opening + taskWorking +
			`s {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"u","progress":1,"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"a"}}}}`,
			[]string{"progress.tasks.token"}},
		{"token of a task that was given none", opening + strings.Replace(taskWorking, `,"_meta":{"progressToken":"t"}`, "", 1) +
			`s {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"a","progress":1,"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"a"}}}}`,
			[]string{"progress.token.provided"}},
		{"progress of a task that ended", opening + taskWorking + taskDone + progress(`"t"`, "1"), []string{"progress.tasks.stops"}},

		{"cancels what it never asked", opening + cancels(`"x"`), []string{"cancellation.own-requests"}},
		{"cancels what was answered", opening + sampling("9", "") + sampled("9") + pinged + ponged + cancels("9"), []string{"cancellation.in-progress"}},

		{"cursor that is a number", opening + list("", `"nextCursor":1`),
			[]string{"pagination.cursor.string"}},
		{"the same cursor for ever", opening + list("", `"nextCursor":"a"`) + list(`"cursor":"a"`, `"nextCursor":"a"`), []string{"pagination.page"}},
		{"the same page for ever", opening + list("", `"nextCursor":"a"`) + list(`"cursor":"a"`, `"nextCursor":"b"`), []string{"pagination.page"}},
		{"the first page again after the last", opening + list("", `"nextCursor":"a"`) + strings.ReplaceAll(list(`"cursor":"a"`, `"nextCursor":""`), anyTool, otherTool) +
			list(`"cursor":""`, `"nextCursor":"a"`), []string{"pagination.page"}},
		{"empty last page", opening + list("", `"nextCursor":"a"`) + strings.ReplaceAll(list(`"cursor":"a"`, ``), anyTool, ""), []string{"pagination.page"}},
		{"cursor refused", opening + list("", `"nextCursor":"a"`) + `
			c {"jsonrpc":"2.0","id":77,"method":"tools/list","params":{"cursor":"a"}}
			s {"jsonrpc":"2.0","id":77,"error":{"code":-32602,"message":"?"}}`, []string{"pagination.continued"}},
	}
	covered := map[string]bool{}
	for _, test := range tests {
		for _, requirement := range test.broken {
			covered[requirement] = true
		}
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if difference := cmp.Diff(test.broken, broken(converse(t, stdio, test.script))); difference != "" {
				t.Errorf("broken requirements (-wanted +found):\n%s", difference)
			}
		})
	}
	elsewhere := []string{
		"cancellation.not-tasks", "progress.not-flooding", "ping.not-excessive", // have tests of their own below
		conform.AnsweredRequirement, // is broken where a reply is waited for
	}
	for _, rule := range commonRules {
		if id := rule.Requirements[0]; !covered[id] && !brokenByClients[id] && !slices.Contains(elsewhere, id) {
			t.Errorf("no test breaks the rule %q (%s)", rule.Text, id)
		}
	}
}

const (
	anyTool   = `{"name":"n","inputSchema":{"type":"object"}}`
	otherTool = `{"name":"o","inputSchema":{"type":"object"}}`
)

var lists int

// list asks for tools and answers with one; every call uses another id.
func list(params, more string) string {
	lists++
	id := 100 + lists
	return fmt.Sprintf("c {\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/list\",\"params\":{%s}}\ns {\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":{%s}}\n",
		id, params, id, strings.Trim(`"tools":[`+anyTool+`],`+more, ","))
}

func icon(icon string) string {
	return `
		c {"jsonrpc":"2.0","id":2,"method":"tools/list"}
		s {"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"n","inputSchema":{"type":"object"},"icons":[` + icon + `]}]}}`
}

func TestRulesTolerateWhatIsFree(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		script string
	}{
		{"a plain session", opening + pinged + ponged},
		{"a log message first", `s {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"hello"}}` + opening},
		{"output that is no message", "s Server is running\n" + opening},
		{"_meta in a pong", opening + pinged + `s {"jsonrpc":"2.0","id":2,"result":{"_meta":{"com.example/a.b_c-d":1,"":2,"io.x/":3}}}`},
		{"a ping that was cancelled", opening + pinged + `
			c {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}
			s {"jsonrpc":"2.0","id":2,"error":{"code":0,"message":"cancelled"}}`},
		{"an id that is written differently", opening + pinged + `s {"jsonrpc":"2.0","id":2.0,"result":{}}`},
		{"further members", opening + working + `s {"jsonrpc":"2.0","id":2,"result":{"content":[],"x":1},"y":2}`},
		{"an error without id after what cannot be read", opening + `
			c! {"jsonrpc":"2.0",
			s {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"?"}}`},
		{"answers to a batch", opening + `
			c! [{"jsonrpc":"2.0","id":50,"method":"ping"}]
			s {"jsonrpc":"2.0","id":50,"result":{}}`},
		{"two answers to an id that was used twice", opening + pinged + `
			c! {"jsonrpc":"2.0","id":2,"method":"ping"}
		` + ponged + ponged},
		{"a second opening", opening + pings(1) + strings.ReplaceAll(opening, `"id":1`, `"id":"again"`) + pings(1)},
		{"progress as it should be", opening + working + progress(`"t"`, "0") + progress(`"t"`, "0.5") + progress(`"t"`, "1e1") + done},
		{"progress of two requests with one token, one after the other", opening + working + progress(`"t"`, "5") + done +
			strings.ReplaceAll(working, `"id":2`, `"id":3`) + progress(`"t"`, "1")},
		{"progress that is too large to compare", opening + working + progress(`"t"`, "1e999999999") + progress(`"t"`, "1") + done},
		{"progress of a task after its creation", opening + taskWorking + progress(`"t"`, "1") + taskDone},
		{"a cancellation that crosses the answer", opening + sampling("9", "") + sampled("9") + cancels("9")},
		{"an empty page before the last", opening + list("", `"nextCursor":""`) + strings.ReplaceAll(list(`"cursor":""`, `"nextCursor":"b"`), anyTool, "") + strings.ReplaceAll(list(`"cursor":"b"`, ""), anyTool, otherTool)},
		{"pages", opening + list("", `"nextCursor":"a"`) + strings.ReplaceAll(list(`"cursor":"a"`, ""), anyTool, otherTool)},
		{"an invalid cursor that is refused", opening + `
			c! {"jsonrpc":"2.0","id":77,"method":"tools/list","params":{"cursor":"never given"}}
			s {"jsonrpc":"2.0","id":77,"error":{"code":-32602,"message":"?"}}`},
		{"an exit in time", opening + "signal closed its standard input\nexit"},
		{"an exit of its own, then a late signal", opening + "signal sent SIGTERM\nexit"},
		{"icons", opening + icon(`{"src":"data:image/png;base64,iVBORw0KGgo=","sizes":["48x48","any"]}`)},
		{"a method of its own", opening + `s {"jsonrpc":"2.0","method":"notifications/example.com/own"}`},
		{"a method of the era without handshakes", opening + `
			s {"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{}}}`},
		{"a handshake that names the era without one", strings.ReplaceAll(opening, `{"protocolVersion":"2025-11-25","capabilities":{"tools"`,
			`{"protocolVersion":"2026-07-28","capabilities":{"tools"`) + working + done},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if found := broken(converse(t, stdio, test.script)); len(found) > 0 {
				t.Errorf("found broken: %s", strings.Join(found, ", "))
			}
		})
	}
}

var overHTTP = rules.Leg{Role: protocol.ServerRole, Revision: "2025-11-25", Transport: protocol.HTTP}

func TestRulesOverHTTP(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		script string
		broken []string
	}{
		{"an error without id in a refusal", `
			c @post-1 {"jsonrpc":"2.0","id":2,"method":"ping"}
			head @post-1 404
			s @post-1 {"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"?"}}`, []string{}},
		{"an error without id in the answer to a request", `
			c @post-1 {"jsonrpc":"2.0","id":2,"method":"ping"}
			head @post-1 200
			s @post-1 {"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"?"}}`, []string{"base.responses.id"}},
		{"a response to a notification", `
			c @post-1 {"jsonrpc":"2.0","method":"notifications/initialized"}
			head @post-1 200
			s @post-1 {"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"?"}}`, []string{"base.notifications.unanswered"}},
		{"a response delivered again", `
			c @post-1 {"jsonrpc":"2.0","id":2,"method":"ping"}
			s @post-1 {"jsonrpc":"2.0","id":9,"method":"ping"}
			s @post-1 {"jsonrpc":"2.0","id":2,"result":{}}
			resume @get-1
			s @get-1 {"jsonrpc":"2.0","id":9,"method":"ping"}
			s @get-1 {"jsonrpc":"2.0","id":2,"result":{}}`, []string{}},
		{"a response on two streams", `
			c @post-1 {"jsonrpc":"2.0","id":2,"method":"ping"}
			s @post-1 {"jsonrpc":"2.0","id":2,"result":{}}
			s @get-1 {"jsonrpc":"2.0","id":2,"result":{}}`, []string{"base.requests.answered-once"}},
		{"progress that arrives late on another stream", `
			c @post-1 {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"n","_meta":{"progressToken":"t"}}}
			s @post-1 {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":2}}
			s @post-1 {"jsonrpc":"2.0","id":2,"result":{"content":[]}}
			s @get-1 {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":1}}`, []string{}},
		{"a cancellation on another stream", `
			s @get-1 {"jsonrpc":"2.0","id":9,"method":"ping"}
			c @post-1 {"jsonrpc":"2.0","id":9,"result":{}}
			c @post-2 {"jsonrpc":"2.0","id":2,"method":"ping"}
			s @post-2 {"jsonrpc":"2.0","id":2,"result":{}}
			s @get-1 {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9}}`, []string{}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if difference := cmp.Diff(test.broken, broken(converse(t, overHTTP, test.script))); difference != "" {
				t.Errorf("broken requirements (-wanted +found):\n%s", difference)
			}
		})
	}
}

func TestFloodOfProgress(t *testing.T) {
	t.Parallel()
	var script strings.Builder
	script.WriteString(opening + working + "now\n")
	for value := range mostReports + 1 {
		script.WriteString(progress(`"t"`, strconv.Itoa(value)))
	}
	if difference := cmp.Diff([]string{"progress.not-flooding"}, broken(converse(t, stdio, script.String()))); difference != "" {
		t.Errorf("broken requirements (-wanted +found):\n%s", difference)
	}
}

func TestFloodOfPings(t *testing.T) {
	t.Parallel()
	for script, wanted := range map[string][]string{
		opening + "now\n" + pings(mostPings+1): {"ping.not-excessive"},
		opening + pings(2*mostPings):           nil, // in their time
	} {
		broken, seen := brokenAndSeen(PingRules(), converse(t, stdio, script))
		if difference := cmp.Diff(wanted, broken); difference != "" || len(seen) == 0 {
			t.Errorf("broken requirements (-wanted +found):\n%s", difference)
		}
	}
}

func TestTasksOfTheServerAreCancelledAsTasks(t *testing.T) {
	t.Parallel()
	declared := strings.Replace(opening, `"sampling":{}`, `"sampling":{},"tasks":{"requests":{"sampling":{"createMessage":{}}}}`, 1)
	script := declared + sampling("9", `,"task":{}`) + `
		c {"jsonrpc":"2.0","id":9,"result":{"task":{"taskId":"a","status":"working","createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z","ttl":null}}}
	` + cancels("9")
	if difference := cmp.Diff([]string{"cancellation.not-tasks"}, broken(converse(t, stdio, script))); difference != "" {
		t.Errorf("broken requirements (-wanted +found):\n%s", difference)
	}
}

func TestMetaKeys(t *testing.T) {
	t.Parallel()
	good := []string{"", "a", "a.b_c-d", "com.example/a", "com.example/", "c0m.ex-ample/9", "A/b"}
	for _, key := range good {
		if hasPrefix(key) && !prefixIsSeries(key) || hasLabels(key) && !labelsAreValid(key) || !nameIsEnclosed(key) || !nameIsPlain(key) {
			t.Errorf("%q is a valid key", key)
		}
	}
	bad := map[string]func(string) bool{
		"/a": prefixIsSeries, "a//b": prefixIsSeries, "a/b/c": prefixIsSeries, ".a/b": prefixIsSeries,
		"-a/b": labelsAreValid, "a-/b": labelsAreValid, "9a/b": labelsAreValid, "a_b/c": labelsAreValid, "ä/b": labelsAreValid,
		"-a": nameIsEnclosed, "a.": nameIsEnclosed, "x/_a": nameIsEnclosed, "ä": nameIsEnclosed,
		"a$b": nameIsPlain, "a:b": nameIsPlain,
	}
	for key, holds := range bad {
		if holds(key) {
			t.Errorf("%q is not a valid key", key)
		}
	}
}

func TestIconSources(t *testing.T) {
	t.Parallel()
	good := []string{
		"https://example.com/icon.png", "HTTP://example.com/icon.svg", "data:image/png;base64,iVBORw0KGgo=",
		"data:image/png;base64,iVBORw0KGgo", "data:;base64,iVBORw0KGgo%3D",
	}
	for _, source := range good {
		if !isIconSource(source) {
			t.Errorf("%q is a source for an icon", source)
		}
	}
	bad := []string{"", "icon.png", "https:///icon.png", "file:///icon.png", "javascript:alert(1)", "data:image/svg+xml,<svg/>", "data:image/png;base64,***"}
	for _, source := range bad {
		if isIconSource(source) {
			t.Errorf("%q is no source for an icon", source)
		}
	}
}

// Whatever a target says, rules come to an end and break nothing but a sentence.
func FuzzCommonRules(f *testing.F) {
	for _, said := range []string{
		`{"jsonrpc":"2.0","id":2,"result":{"content":[]}}`,
		`{"jsonrpc":"2.0","id":2,"error":{"code":1.5,"message":"?"}}`,
		`{"jsonrpc":"2.0","id":2,"error":7}`,
		`{"jsonrpc":"2.0","id":{},"method":"sampling/createMessage","params":{"task":{},"_meta":{"progressToken":[]}}}`,
		`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":1e99999}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":null}}`,
		`{"jsonrpc":"2.0","id":2,"result":{"task":{"taskId":1},"icons":[{"src":7,"sizes":[0]}],"_meta":{"/":null}}}`,
		`[]`, `{}`, `null`, `{"id":`, "\uFEFF{}", "{} {}",
	} {
		f.Add([]byte(said), true)
		f.Add([]byte(said), false)
	}
	f.Fuzz(func(t *testing.T, said []byte, http bool) {
		leg, stream := stdio, "stdio"
		if http {
			leg, stream = overHTTP, "post-1"
		}
		events := converse(t, leg, opening+working).Events
		for range 2 {
			events = append(events, transcript.Event{
				Kind: transcript.Message, From: protocol.Server, Stream: stream, Raw: said, Sequence: len(events), At: began,
			})
		}
		for _, finding := range rules.Apply(commonRules, rules.NewConversation(leg, events, true)) {
			for _, breach := range finding.Breaks {
				if breach.Mismatch.Wanted == "" || breach.Mismatch.Found == "" {
					t.Errorf("%q: says too little: %+v", finding.Rule, breach.Mismatch)
				}
			}
		}
	})
}
