package suites_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
	. "github.com/mcpconform/mcpconform/internal/rules/rulestest"
	"github.com/mcpconform/mcpconform/internal/session"
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

// saidTwice are events after which a server says something, and says it once more.
func saidTwice(events []transcript.Event, stream string, raw []byte) []transcript.Event {
	for range 2 {
		events = append(events, transcript.Event{
			Kind: transcript.Message, From: protocol.Server, Stream: stream, Raw: raw, Sequence: len(events), At: Began,
		})
	}
	return events
}

// saysEnough demands that each breach tells what was wanted and what was found.
func saysEnough(t *testing.T, judging []rules.Rule, conversation *rules.Conversation) {
	t.Helper()
	for _, finding := range rules.Apply(judging, conversation) {
		for _, breach := range finding.Breaks {
			if breach.Mismatch.Wanted == "" || breach.Mismatch.Found == "" {
				t.Errorf("%q: says too little: %+v", finding.Rule, breach.Mismatch)
			}
		}
	}
}

// done answers the call of a tool.
const done = `s {"jsonrpc":"2.0","id":2,"result":{"content":[]}}` + "\n"

// taskWorking calls a tool as a task and begins it.
const taskWorking = `
	c {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"n","task":{},"_meta":{"progressToken":"t"}}}
	s {"jsonrpc":"2.0","id":2,"result":{"task":{"taskId":"a","status":"working","createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z","ttl":null}}}
`

const taskDone = `
	s {"jsonrpc":"2.0","method":"notifications/tasks/status","params":{"taskId":"a","status":"completed","createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z","ttl":null}}
`

func sampled(id string) string {
	return `c {"jsonrpc":"2.0","id":` + id + `,"result":{"role":"assistant","model":"m","content":{"type":"text","text":"x"}}}` + "\n"
}

func TestRulesFindWhatIsBroken(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		script string
		broken []string
	}{
		{"syntax", Opening + Pinged + Ponged + `s {"jsonrpc":`, []string{"base.json.well-formed"}},
		{"trailing", Opening + Pinged + `s {"jsonrpc":"2.0","id":2,"result":{}}}`, []string{"base.json.well-formed"}},
		{"mark", Opening + Pinged + "s \uFEFF" + `{"jsonrpc":"2.0","id":2,"result":{}}`, []string{"base.json.no-mark"}},
		{"duplicate member", Opening + Pinged + `s {"jsonrpc":"2.0","id":3,"id":2,"result":{}}`, []string{"base.json.names-unique"}},
		{"scalar, which a rule of stdio judges", Opening + "s true", []string{}},
		{"nothing in it", Opening + `s {"jsonrpc":"2.0"}`, []string{"base.messages.kinds"}},
		{"method and result", Opening + `s {"jsonrpc":"2.0","id":9,"method":"ping","result":{}}`, []string{"base.messages.kinds"}},
		{"batch", Opening + `s [{"jsonrpc":"2.0","id":9,"method":"ping"}]`, []string{"base.messages.single"}},
		{"empty batch", batched + `s []`, []string{"base.batches.filled"}},
		{"a batch answered one by one", batched + `
			c [{"jsonrpc":"2.0","id":50,"method":"ping"},{"jsonrpc":"2.0","id":51,"method":"ping"}]
			s {"jsonrpc":"2.0","id":50,"result":{}}
			s {"jsonrpc":"2.0","id":51,"result":{}}`, []string{"base.batches.together"}},
		{"an id twice in a batch", batched + `s [{"jsonrpc":"2.0","id":9,"method":"ping"},{"jsonrpc":"2.0","id":9,"method":"ping"}]`, []string{"base.requests.id-unused"}},
		{"version in a batch", batched + `s [{"jsonrpc":"1.0","id":9,"method":"ping"}]`, []string{"base.messages.version"}},
		{"no message in a batch", batched + `s [{"jsonrpc":"2.0"}]`, []string{"base.messages.kinds"}},
		{"version", Opening + Pinged + `s {"jsonrpc":"1.0","id":2,"result":{}}`, []string{"base.messages.version"}},
		{"no version", Opening + Pinged + `s {"id":2,"result":{}}`, []string{"base.messages.version"}},
		{"fractional id", Opening + `s {"jsonrpc":"2.0","id":1.5,"method":"ping"}`, []string{"base.requests.id"}},
		{"no id", Opening + `s {"jsonrpc":"2.0","method":"ping"}`, []string{"base.requests.id"}},
		{"null id", Opening + `s {"jsonrpc":"2.0","id":null,"method":"ping"}`, []string{"base.requests.id-not-null"}},
		{"null id twice", Opening + strings.Repeat(`s {"jsonrpc":"2.0","id":null,"method":"ping"}`+"\n", 2), []string{"base.requests.id-not-null"}},
		{"id used twice", Opening + Pings(1) + Pings(1), []string{"base.requests.id-unused"}},
		{"answered twice", Opening + Pinged + Ponged + Ponged, []string{"base.requests.answered-once"}},
		{"other id", Opening + Pinged + `s {"jsonrpc":"2.0","id":7,"result":{}}`, []string{"base.responses.id"}},
		{"other type of id", Opening + Pinged + `s {"jsonrpc":"2.0","id":"2","result":{}}`, []string{"base.responses.id"}},
		{"null as id", Opening + Pinged + `s {"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"?"}}`, []string{"base.responses.id"}},
		{"no outcome", Opening + Pinged + `s {"jsonrpc":"2.0","id":2}`, []string{"base.responses.outcome"}},
		{"two outcomes", Opening + Pinged + `s {"jsonrpc":"2.0","id":2,"result":{},"error":{"code":1,"message":"?"}}`,
			[]string{"base.responses.one-outcome", "ping.answered"}},
		{"no code", Opening + Working + `s {"jsonrpc":"2.0","id":2,"error":{"message":"?"}}`,
			[]string{"base.errors.members"}},
		{"fractional code", Opening + Working + `s {"jsonrpc":"2.0","id":2,"error":{"code":1.5,"message":"?"}}`,
			[]string{"base.errors.integer-code"}},
		{"answer to a notification", Opening + `s {"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"?"}}`,
			[]string{"base.notifications.unanswered"}},
		{"notifications with null as id", Opening + strings.Repeat(`s {"jsonrpc":"2.0","id":null,"method":"notifications/message","params":{"level":"info","data":1}}`+"\n", 2),
			[]string{"base.notifications.no-id"}},
		{"result and no error", Opening + Pinged + `s {"jsonrpc":"2.0","id":2,"result":{},"error":null}`, []string{"base.responses.one-outcome"}},
		{"notification with id", Opening + `s {"jsonrpc":"2.0","id":5,"method":"notifications/message","params":{"level":"info","data":1}}`,
			[]string{"base.notifications.no-id"}},
		{"invalid request", Opening + `s {"jsonrpc":"2.0","id":5,"method":"sampling/createMessage","params":{"messages":[]}}`,
			[]string{"base.schema.requests"}},
		{"invalid notification", Opening + `s {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info"}}`,
			[]string{"base.schema.notifications"}},
		{"invalid result", Opening + Working + `s {"jsonrpc":"2.0","id":2,"result":{"content":{}}}`, []string{"base.schema.results"}},
		{"result of no task", Opening + `
			c {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"n","task":{}}}
			s {"jsonrpc":"2.0","id":2,"result":{"task":{"taskId":"a"}}}`, []string{"base.schema.results"}},
		{"invalid error", Opening + Working + `s {"jsonrpc":"2.0","id":2,"error":{"code":1,"message":2}}`, []string{"base.schema.errors"}},
		{"other dialect", Opening + `
			c {"jsonrpc":"2.0","id":2,"method":"tools/list"}
			s {"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"n","inputSchema":{"$schema":"http://json-schema.org/draft-07/schema#","type":"object"}}]}}`,
			[]string{"base.dialects.recommended"}},
		{"invalid schema", Opening + Sampling("9", `,"tools":[{"name":"n","inputSchema":{"type":"object","properties":{"a":{"type":"text"}}}}]`),
			[]string{"base.dialects.valid"}},
		{"empty label", Opening + Pinged + `s {"jsonrpc":"2.0","id":2,"result":{"_meta":{"com..example/a":1}}}`, []string{"base.meta.prefix"}},
		{"label with digits first", Opening + Pinged + `s {"jsonrpc":"2.0","id":2,"result":{"_meta":{"com.1example/a":1}}}`, []string{"base.meta.labels"}},
		{"name with hyphen last", Opening + Pinged + `s {"jsonrpc":"2.0","id":2,"result":{"_meta":{"a-":1}}}`, []string{"base.meta.name"}},
		{"name with space", Opening + Pinged + `s {"jsonrpc":"2.0","id":2,"result":{"_meta":{"a b":1}}}`, []string{"base.meta.characters"}},
		{"icon from a file", Opening + icon(`{"src":"file:///tmp/icon.png"}`), []string{"base.icons.source"}},
		{"icon of a strange size", Opening + icon(`{"src":"https://example.com/i.png","sizes":["big"]}`), []string{"base.icons.sizes"}},

		{"notification first", `s {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}` + Opening, []string{"lifecycle.initialization.first"}},
		{"request before initialized", strings.Replace(Opening, "	c {\"jsonrpc\":\"2.0\",\"method\"", Sampling("9", "")+"	c {\"jsonrpc\":\"2.0\",\"method\"", 1),
			[]string{"lifecycle.requests.before-initialized"}},
		{"undeclared by the server", Opening + `s {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`, []string{"lifecycle.capabilities.own"}},
		{"undeclared by the client", Opening + `s {"jsonrpc":"2.0","id":5,"method":"roots/list"}`, []string{"lifecycle.capabilities.of-peer"}},
		{"task not declared by the client", Opening + Sampling("5", `,"task":{}`), []string{"lifecycle.capabilities.of-peer"}},
		{"method of another revision", strings.ReplaceAll(Opening, "2025-11-25", "2025-06-18") + `s {"jsonrpc":"2.0","id":5,"method":"tasks/list"}`,
			[]string{"lifecycle.version.respected"}},

		{"pong with content", Opening + Pinged + `s {"jsonrpc":"2.0","id":2,"result":{"pong":true}}`, []string{"ping.answered"}},
		{"ping with parameters", Opening + `s {"jsonrpc":"2.0","id":2,"method":"ping","params":{"a":1}}`, []string{"ping.no-parameters"}},

		{"strange token", Opening + Sampling("9", `,"_meta":{"progressToken":1.5}`), []string{"progress.token.type"}},
		{"shared token", Opening + Sampling("8", `,"_meta":{"progressToken":"x"}`) + Sampling("9", `,"_meta":{"progressToken":"x"}`) + sampled("8"),
			[]string{"progress.token.unique"}},
		{"unknown token", Opening + Working + Progress(`"u"`, "1") + done, []string{"progress.token.provided"}},
		{"null as token", Opening + Progress(`null`, "1"), []string{"progress.token.provided"}},
		{"progress after the answer", Opening + Working + Progress(`"t"`, "1") + done + Progress(`"t"`, "2"), []string{"progress.token.in-progress"}},
		{"no progress", Opening + Working + Progress(`"t"`, "1") + Progress(`"t"`, "1.0") + done, []string{"progress.increases"}},
		{"backwards", Opening + Working + Progress(`"t"`, "9007199254740993") + Progress(`"t"`, "9007199254740992") + done, []string{"progress.increases"}},
		{"other token of a task", Opening + taskWorking +
			`s {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"u","progress":1,"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"a"}}}}`,
			[]string{"progress.tasks.token"}},
		{"token of a task that was given none", Opening + strings.Replace(taskWorking, `,"_meta":{"progressToken":"t"}`, "", 1) +
			`s {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"a","progress":1,"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"a"}}}}`,
			[]string{"progress.token.provided"}},
		{"progress of a task that ended", Opening + taskWorking + taskDone + Progress(`"t"`, "1"), []string{"progress.tasks.stops"}},

		{"cancels what it never asked", Opening + Cancels(`"x"`), []string{"cancellation.own-requests"}},
		{"cancels what was answered", Opening + Sampling("9", "") + sampled("9") + Pinged + Ponged +
			strings.ReplaceAll(Pinged+Ponged, `"id":2`, `"id":3`) + Cancels("9"), []string{"cancellation.in-progress"}},
		{"cancels what is answered beside a ping", Opening + Sampling("9", "") + sampled("9") + Pinged + Ponged + Cancels("9"), []string{}},

		{"cursor that is a number", Opening + list("", `"nextCursor":1`),
			[]string{"pagination.cursor.string"}},
		{"the same cursor for ever", Opening + list("", `"nextCursor":"a"`) + list(`"cursor":"a"`, `"nextCursor":"a"`), []string{"pagination.page"}},
		{"the same page for ever", Opening + list("", `"nextCursor":"a"`) + list(`"cursor":"a"`, `"nextCursor":"b"`), []string{"pagination.page"}},
		{"the first page again after the last", Opening + list("", `"nextCursor":"a"`) + strings.ReplaceAll(list(`"cursor":"a"`, `"nextCursor":""`), anyTool, otherTool) +
			list(`"cursor":""`, `"nextCursor":"a"`), []string{"pagination.page"}},
		{"empty last page", Opening + list("", `"nextCursor":"a"`) + strings.ReplaceAll(list(`"cursor":"a"`, ``), anyTool, ""), []string{"pagination.page"}},
		{"cursor refused", Opening + list("", `"nextCursor":"a"`) + `
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
			if difference := cmp.Diff(test.broken, broken(Converse(t, Stdio, test.script))); difference != "" {
				t.Errorf("broken requirements (-wanted +found):\n%s", difference)
			}
		})
	}
	elsewhere := []string{
		"cancellation.not-tasks", "progress.not-flooding", "ping.not-excessive", // have tests of their own below
		session.AnsweredRequirement, // is broken where a reply is waited for
	}
	for _, rule := range commonRules {
		if id := rule.Verifies.IDs[0]; !covered[id] && !brokenByClients[id] && !slices.Contains(elsewhere, id) {
			t.Errorf("no test breaks the rule %q (%s)", rule.Text, id)
		}
	}
}

const (
	anyTool   = `{"name":"n","inputSchema":{"type":"object"}}`
	otherTool = `{"name":"o","inputSchema":{"type":"object"}}`
)

// batched is a handshake at the revision with batches.
var batched = strings.ReplaceAll(Opening, "2025-11-25", "2025-03-26")

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
		{"a plain session", Opening + Pinged + Ponged},
		{"a log message first", `s {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"hello"}}` + Opening},
		{"output that is no message", "s Server is running\n" + Opening},
		{"_meta in a pong", Opening + Pinged + `s {"jsonrpc":"2.0","id":2,"result":{"_meta":{"com.example/a.b_c-d":1,"":2,"io.x/":3}}}`},
		{"a ping that was cancelled", Opening + Pinged + `
			c {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}
			s {"jsonrpc":"2.0","id":2,"error":{"code":0,"message":"cancelled"}}`},
		{"an id that is written differently", Opening + Pinged + `s {"jsonrpc":"2.0","id":2.0,"result":{}}`},
		{"further members", Opening + Working + `s {"jsonrpc":"2.0","id":2,"result":{"content":[],"x":1},"y":2}`},
		{"an error without id after what cannot be read", Opening + `
			c! {"jsonrpc":"2.0",
			s {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"?"}}`},
		{"batches", batched + `
			c [{"jsonrpc":"2.0","id":50,"method":"ping"},{"jsonrpc":"2.0","method":"notifications/roots/list_changed"},{"jsonrpc":"2.0","id":51,"method":"ping"}]
			s [{"jsonrpc":"2.0","id":51,"result":{}},{"jsonrpc":"2.0","id":50,"result":{}}]
			s [{"jsonrpc":"2.0","id":7,"method":"ping"},{"jsonrpc":"2.0","id":8,"method":"ping"}]
			c [{"jsonrpc":"2.0","id":7,"result":{}}]
			c {"jsonrpc":"2.0","id":8,"result":{}}`},
		{"answers to a batch", Opening + `
			c! [{"jsonrpc":"2.0","id":50,"method":"ping"}]
			s {"jsonrpc":"2.0","id":50,"result":{}}`},
		{"two answers to an id that was used twice", Opening + Pinged + `
			c! {"jsonrpc":"2.0","id":2,"method":"ping"}
		` + Ponged + Ponged},
		{"a second opening", Opening + Pings(1) + strings.ReplaceAll(Opening, `"id":1`, `"id":"again"`) + Pings(1)},
		{"progress as it should be", Opening + Working + Progress(`"t"`, "0") + Progress(`"t"`, "0.5") + Progress(`"t"`, "1e1") + done},
		{"progress of two requests with one token, one after the other", Opening + Working + Progress(`"t"`, "5") + done +
			strings.ReplaceAll(Working, `"id":2`, `"id":3`) + Progress(`"t"`, "1")},
		{"progress that is too large to compare", Opening + Working + Progress(`"t"`, "1e999999999") + Progress(`"t"`, "1") + done},
		{"progress of a task after its creation", Opening + taskWorking + Progress(`"t"`, "1") + taskDone},
		{"a cancellation that crosses the answer", Opening + Sampling("9", "") + sampled("9") + Cancels("9")},
		{"an empty page before the last", Opening + list("", `"nextCursor":""`) + strings.ReplaceAll(list(`"cursor":""`, `"nextCursor":"b"`), anyTool, "") + strings.ReplaceAll(list(`"cursor":"b"`, ""), anyTool, otherTool)},
		{"pages", Opening + list("", `"nextCursor":"a"`) + strings.ReplaceAll(list(`"cursor":"a"`, ""), anyTool, otherTool)},
		{"an invalid cursor that is refused", Opening + `
			c! {"jsonrpc":"2.0","id":77,"method":"tools/list","params":{"cursor":"never given"}}
			s {"jsonrpc":"2.0","id":77,"error":{"code":-32602,"message":"?"}}`},
		{"an exit in time", Opening + "signal closed its standard input\nexit"},
		{"an exit of its own, then a late signal", Opening + "signal sent SIGTERM\nexit"},
		{"icons", Opening + icon(`{"src":"data:image/png;base64,iVBORw0KGgo=","sizes":["48x48","any"]}`)},
		{"a method of its own", Opening + `s {"jsonrpc":"2.0","method":"notifications/example.com/own"}`},
		{"a method of the era without handshakes", Opening + `
			s {"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{}}}`},
		{"a handshake that names the era without one", strings.ReplaceAll(Opening, `{"protocolVersion":"2025-11-25","capabilities":{"tools"`,
			`{"protocolVersion":"2026-07-28","capabilities":{"tools"`) + Working + done},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if found := broken(Converse(t, Stdio, test.script)); len(found) > 0 {
				t.Errorf("found broken: %s", strings.Join(found, ", "))
			}
		})
	}
}

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
		{"the cancellation of what no stream was open for", `
			resume @get-1
			s @get-1 {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":0}}`, []string{}},
		{"the cancellation of nothing", `
			c @post-1 {"jsonrpc":"2.0","id":2,"method":"ping"}
			s @post-1 {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":0}}
			s @post-1 {"jsonrpc":"2.0","id":2,"result":{}}`, []string{"cancellation.own-requests"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if difference := cmp.Diff(test.broken, broken(Converse(t, OverHTTP, test.script))); difference != "" {
				t.Errorf("broken requirements (-wanted +found):\n%s", difference)
			}
		})
	}
}

// The rules terminate on any message of a target, and each mismatch has Wanted and Found.
func FuzzCommonRules(f *testing.F) {
	for _, text := range []string{
		`{"jsonrpc":"2.0","id":2,"result":{"content":[]}}`,
		`{"jsonrpc":"2.0","id":2,"error":{"code":1.5,"message":"?"}}`,
		`{"jsonrpc":"2.0","id":2,"error":7}`,
		`{"jsonrpc":"2.0","id":{},"method":"sampling/createMessage","params":{"task":{},"_meta":{"progressToken":[]}}}`,
		`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":1e99999}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":null}}`,
		`{"jsonrpc":"2.0","id":2,"result":{"task":{"taskId":1},"icons":[{"src":7,"sizes":[0]}],"_meta":{"/":null}}}`,
		`[]`, `{}`, `null`, `{"id":`, "\uFEFF{}", "{} {}",
	} {
		f.Add([]byte(text), true)
		f.Add([]byte(text), false)
	}
	f.Fuzz(func(t *testing.T, raw []byte, http bool) {
		cell, stream := Stdio, "stdio"
		if http {
			cell, stream = OverHTTP, "post-1"
		}
		events := Converse(t, cell, Opening+Working).Events
		saysEnough(t, commonRules, rules.NewConversation(cell, saidTwice(events, stream, raw), true))
	})
}
