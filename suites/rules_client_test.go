package suites_test

import (
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpconform/mcpconform/internal/catalogue"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
	. "github.com/mcpconform/mcpconform/internal/rules/rulestest"
	"github.com/mcpconform/mcpconform/internal/scope"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/suites"
)

// A clientTest is a conversation of a target client, judged by every rule that stands
// for clients.
type clientTest struct {
	name   string
	script string
	broken []string // requirements, in their order
	seen   string   // one that had something to judge
}

var (
	clientStdio     = rules.Cell{Role: protocol.ClientRole, Revision: "2025-11-25", Transport: protocol.Stdio}
	clientHTTP      = rules.Cell{Role: protocol.ClientRole, Revision: "2025-11-25", Transport: protocol.HTTP}
	statelessClient = rules.Cell{Role: protocol.ClientRole, Revision: "2026-07-28", Transport: protocol.Stdio}
	statelessHTTP   = rules.Cell{Role: protocol.ClientRole, Revision: "2026-07-28", Transport: protocol.HTTP}
)

// everyRule returns the rules of all pages.
func everyRule() []rules.Rule { return suites.Rules() }

// clientRules are the rules that stand for a client of a cell.
func clientRules(t testing.TB, cell rules.Cell) []rules.Rule {
	t.Helper()
	requirements, err := catalogue.Load(os.DirFS("."))
	if err != nil {
		t.Fatal(err)
	}
	there := scope.Scope{Cell: cell, Catalogue: requirements, Rules: everyRule()}
	applicable, _ := there.ApplicableRules()
	return applicable
}

// testClients judges conversations over one transport.
func testClients(
	t *testing.T, cell rules.Cell, tests []clientTest, read func(*testing.T, rules.Cell, string) *rules.Conversation,
) {
	t.Helper()
	judging := clientRules(t, cell)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			broken, seen := BrokenAndSeen(judging, read(t, cell, test.script))
			if difference := cmp.Diff(append([]string{}, test.broken...), append([]string{}, broken...)); difference != "" {
				t.Errorf("broken requirements (-wanted +found):\n%s", difference)
			}
			if test.seen != "" && !slices.Contains(seen, test.seen) {
				t.Errorf("the rule of %s saw nothing", test.seen)
			}
		})
	}
}

// batchingClientTests are conversations at the revision that has batches.
var batchingClientTests = []clientTest{
	{"initialize in a batch", `
		c [{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}]
		s [{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-03-26","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}]
		c {"jsonrpc":"2.0","method":"notifications/initialized"}`, []string{"lifecycle.initialize.alone"}, ""},
	{"an empty batch", strings.ReplaceAll(hello("{}", "{}"), "2025-11-25", "2025-03-26") + "c []", []string{"base.batches.filled"}, ""},
	{"a batch", strings.ReplaceAll(hello("{}", "{}"), "2025-11-25", "2025-03-26") + `
		c [{"jsonrpc":"2.0","id":2,"method":"ping"},{"jsonrpc":"2.0","id":3,"method":"ping"}]
		s [{"jsonrpc":"2.0","id":3,"result":{}},{"jsonrpc":"2.0","id":2,"result":{}}]`, nil, "base.batches.filled"},
}

// TestBatchingClients judges clients that send batches.
func TestBatchingClients(t *testing.T) {
	t.Parallel()
	cell := rules.Cell{Role: protocol.ClientRole, Revision: "2025-03-26", Transport: protocol.Stdio}
	testClients(t, cell, batchingClientTests, Converse)
}

// brokenByClients are the requirements that the tests of clients break.
var brokenByClients = func() map[string]bool {
	broken := map[string]bool{}
	for _, test := range slices.Concat(clientStdioTests, batchingClientTests, clientHTTPTests, statelessClientTests, statelessHTTPTests) {
		for _, requirement := range test.broken {
			broken[requirement] = true
		}
	}
	return broken
}()

// Of a client with capabilities: the handshake over stdio.
func hello(capabilities, served string) string {
	return `
	c {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":` + capabilities + `,"clientInfo":{"name":"c","version":"1"}}}
	s {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":` + served + `,"serverInfo":{"name":"s","version":"1"}}}
	c {"jsonrpc":"2.0","method":"notifications/initialized"}
`
}

// serves is what the server of these tests declares.
const serves = `{"tools":{},"prompts":{},"resources":{},"logging":{},"tasks":{"requests":{"tools":{"call":{}}}}}`

// askedOfClient is a request of the server.
func askedOfClient(id, method, params string) string {
	return fmt.Sprintf(`s {"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, id, method, params) + "\n"
}

func answersWith(id, result string) string {
	return fmt.Sprintf(`c {"jsonrpc":"2.0","id":%s,"result":%s}`, id, result) + "\n"
}

func refusesWith(id, code string) string {
	return fmt.Sprintf(`c {"jsonrpc":"2.0","id":%s,"error":{"code":%s,"message":"no"}}`, id, code) + "\n"
}

// pagesOf asks for a page of tools by a cursor, "" for the first; the answer has another.
func pagesOf(id, cursor, next string) string {
	params := "{}"
	if cursor != "" {
		params = `{"cursor":"` + cursor + `"}`
	}
	return fmt.Sprintf(`
	c {"jsonrpc":"2.0","id":%s,"method":"tools/list","params":%s}
	s {"jsonrpc":"2.0","id":%s,"result":{"tools":[],"nextCursor":"%s"}}
`, id, params, id, next)
}

const (
	withSampling = `{"sampling":{}}`
	hi           = `{"role":"assistant","model":"m","content":{"type":"text","text":"hi"}}`
	usesIt       = `{"role":"assistant","model":"m","stopReason":"toolUse","content":[{"type":"tool_use","id":"u","name":"n","input":{}}]}`
	prompt       = `{"messages":[],"maxTokens":9}`
	file         = `{"roots":[{"uri":"file:///a"},{"uri":"file:///b"}]}`
	whoForm      = `{"message":"Who?","requestedSchema":{"type":"object","properties":{"age":{"type":"integer"}},"required":["age"]}}`
	goVisit      = `{"mode":"url","message":"Go","elicitationId":"e","url":"https://example.com/"}`
)

func withToolChoice(mode string) string {
	return `{"messages":[],"maxTokens":9,"tools":[{"name":"n","inputSchema":{"type":"object"}}],"toolChoice":{"mode":"` + mode + `"}}`
}

func taskTool(support string) string {
	return `
	c {"jsonrpc":"2.0","id":2,"method":"tools/list"}
	s {"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"n","inputSchema":{"type":"object"}` + support + `}]}}
`
}

const (
	plainCall = `c {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"n"}}` + "\n"
	callTask  = `c {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"n","task":{}}}` + "\n"
)

var clientStdioTests = []clientTest{
	{"a plain session", hello("{}", serves) + pagesOf("2", "", "a") + pagesOf("3", "a", "b") + askedOfClient(`"p"`, "ping", "{}") + answersWith(`"p"`, "{}"), nil, "ping.answered"},
	{"a ping before the answer", `c {"jsonrpc":"2.0","id":0,"method":"ping"}` + hello("{}", serves), nil, "lifecycle.initialization.first"},
	{"a probe of the other era", AsksPlain("0", "server/discover", "") + `s {"jsonrpc":"2.0","id":0,"error":{"code":-32601,"message":"?"}}` + hello("{}", serves), nil, "lifecycle.initialization.first"},
	{"a list before the handshake", pagesOf("9", "", "a") + hello("{}", serves), []string{"lifecycle.initialization.first"}, ""},
	{"no handshake at all", pagesOf("9", "", "a"), []string{"lifecycle.initialization.first"}, ""},
	{"initialized too early", strings.Replace(hello("{}", serves), "	s {", "	c {\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n	s {", 1), []string{"lifecycle.initialization.first"}, ""},
	{"a list before the answer", strings.Replace(hello("{}", serves), "	s {", "	c {\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/list\"}\n	s {", 1),
		[]string{"lifecycle.requests.before-answer"}, ""},
	{"never initialized", strings.Split(hello("{}", serves), "	c {\"jsonrpc\":\"2.0\",\"method\"")[0] + pagesOf("2", "", "a"), []string{"lifecycle.initialized.sent"}, ""},
	{"a client that goes away", strings.Split(hello("{}", serves), "	c {\"jsonrpc\":\"2.0\",\"method\"")[0], nil, "lifecycle.initialize.version"},
	{"no version", strings.Replace(hello("{}", serves), `"protocolVersion":"2025-11-25",`, "", 1), []string{"lifecycle.initialize.version"}, ""},
	{"no capabilities", strings.Replace(hello("{}", serves), `"capabilities":{},`, "", 1), []string{"lifecycle.initialize.capabilities"}, ""},
	{"no version of the client", strings.Replace(hello("{}", serves), `"name":"c","version":"1"`, `"name":"c"`, 1), []string{"lifecycle.initialize.client-info"}, ""},
	{"an icon from a file", strings.Replace(hello("{}", serves), `"name":"c",`, `"name":"c","icons":[{"src":"file:///i.png"}],`, 1), []string{"base.icons.source"}, ""},
	{"a version that nobody knows", strings.Replace(hello("{}", serves), `"protocolVersion":"2025-11-25"`, `"protocolVersion":"2099-01-01"`, 1), nil, "lifecycle.initialize.version"},

	{"an id again", hello("{}", serves) + pagesOf("2", "", "a") + pagesOf("2", "", "a"), []string{"base.requests.id-unused"}, ""},
	{"no id", hello("{}", serves) + `c {"jsonrpc":"2.0","method":"tools/list"}`, []string{"base.requests.id"}, ""},
	{"a batch", hello("{}", serves) + `c [{"jsonrpc":"2.0","id":9,"method":"ping"}]`, []string{"base.messages.single"}, ""},
	{"words", hello("{}", serves) + "c hello\n", []string{"transports.stdio.stdout"}, ""},
	{"two lines", hello("{}", serves) + "c {\"jsonrpc\":\"2.0\",\nc \"id\":9,\"method\":\"ping\"}\n", []string{"transports.stdio.newlines"}, ""},
	{"a method of another revision", strings.ReplaceAll(hello("{}", serves), "2025-11-25", "2025-06-18") + `c {"jsonrpc":"2.0","id":5,"method":"tasks/list"}`, []string{"lifecycle.version.respected"}, ""},
	{"what the server does not offer", hello("{}", "{}") + pagesOf("2", "", "a"), []string{"lifecycle.capabilities.of-peer"}, ""},
	{"changes of roots undeclared", hello(`{"roots":{}}`, serves) + `c {"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`, []string{"lifecycle.capabilities.own"}, ""},
	{"another cursor", hello("{}", serves) + pagesOf("2", "", "a") + pagesOf("3", "A", "b"), []string{"pagination.cursor.unchanged"}, ""},
	{"the cursor of another list", hello("{}", serves) + pagesOf("2", "", "a") + strings.NewReplacer("tools/list", "prompts/list", `"tools"`, `"prompts"`).Replace(pagesOf("3", "", "b")+pagesOf("4", "a", "c")), []string{"pagination.cursor.unchanged"}, ""},
	{"an invalid request", hello("{}", serves) + `c {"jsonrpc":"2.0","id":5,"method":"tools/call","params":{}}`, []string{"base.schema.requests"}, ""},
	{"an answer to nothing", hello("{}", serves) + answersWith("77", "{}"), []string{"base.responses.id"}, ""},
	{"an answer to a notification", hello("{}", serves) + `
		s {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}
		c {"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"?"}}`, []string{"base.notifications.unanswered"}, ""},
	{"two answers", hello("{}", serves) + askedOfClient("7", "ping", "{}") + answersWith("7", "{}") + answersWith("7", "{}"), []string{"base.requests.answered-once"}, ""},
	{"a ping with parameters", hello("{}", serves) + `c {"jsonrpc":"2.0","id":5,"method":"ping","params":{"a":1}}`, []string{"ping.no-parameters"}, ""},
	{"an answer to words", hello("{}", serves) + "s! hello\n" + `c {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"?"}}`, nil, "base.responses.id"},

	{"the cancellation of initialize", strings.Replace(hello("{}", serves), "	s {", "	c {\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":1}}\n	s {", 1),
		[]string{"cancellation.not-initialize"}, ""},
	{"the cancellation of nothing", hello("{}", serves) + `c {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`, []string{"cancellation.own-requests"}, ""},
	{"the cancellation of what was read", hello("{}", serves) + pagesOf("2", "", "a") + pagesOf("3", "a", "b") +
		`c {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`, nil, "cancellation.in-progress"},
	{"the cancellation of what was read before", hello("{}", serves) + pagesOf("2", "", "a") + pagesOf("3", "a", "b") + pagesOf("4", "b", "c") +
		`c {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`, []string{"cancellation.in-progress"}, ""},
	{"the cancellation of a task", hello("{}", serves) + taskWorking +
		`c {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`, []string{"cancellation.not-tasks"}, ""},

	{"progress after the answer", hello(withSampling, serves) + askedOfClient("7", "sampling/createMessage", `{"messages":[],"maxTokens":9,"_meta":{"progressToken":"t"}}`) +
		`c {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":1}}` + "\n" + answersWith("7", hi) +
		`c {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":2}}`, []string{"progress.token.in-progress"}, ""},
	{"no progress", hello(withSampling, serves) + askedOfClient("7", "sampling/createMessage", `{"messages":[],"maxTokens":9,"_meta":{"progressToken":"t"}}`) +
		strings.Repeat(`c {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":1}}`+"\n", 2) + answersWith("7", hi), []string{"progress.increases"}, ""},

	{"roots", hello(`{"roots":{}}`, serves) + askedOfClient("7", "roots/list", "{}") + answersWith("7", file), nil, "roots.uri.file"},
	{"roots that nobody declared", hello("{}", serves) + askedOfClient("7", "roots/list", "{}") + answersWith("7", file), []string{"roots.capability.declared"}, ""},
	{"no roots that nobody declared", hello("{}", serves) + askedOfClient("7", "roots/list", "{}") + answersWith("7", `{"roots":[]}`), nil, ""},
	{"roots with a loud scheme", hello(`{"roots":{}}`, serves) + askedOfClient("7", "roots/list", "{}") + answersWith("7", `{"roots":[{"uri":"FILE:///a"}]}`), nil, "roots.uri.file"},
	{"roots on the web", hello(`{"roots":{}}`, serves) + askedOfClient("7", "roots/list", "{}") + answersWith("7", `{"roots":[{"uri":"https://example.com/"}]}`), []string{"roots.uri.file"}, ""},
	{"a root without a scheme", hello(`{"roots":{}}`, serves) + askedOfClient("7", "roots/list", "{}") + answersWith("7", `{"roots":[{"uri":"/tmp"}]}`), []string{"roots.uri.file"}, ""},
	{"a root twice", hello(`{"roots":{}}`, serves) + askedOfClient("7", "roots/list", "{}") + answersWith("7", `{"roots":[{"uri":"file:///a"},{"uri":"file:///a"}]}`), []string{"roots.uri.unique"}, ""},
	{"roots refused", hello("{}", serves) + askedOfClient("7", "roots/list", "{}") + refusesWith("7", "-32601"), nil, "roots.error.unsupported"},
	{"roots refused otherwise", hello("{}", serves) + askedOfClient("7", "roots/list", "{}") + refusesWith("7", "-32603"), []string{"roots.error.unsupported"}, ""},

	{"a sample", hello(withSampling, serves) + askedOfClient("7", "sampling/createMessage", prompt) + answersWith("7", hi), nil, "sampling.capability.declared"},
	{"a sample that nobody declared", hello("{}", serves) + askedOfClient("7", "sampling/createMessage", prompt) + answersWith("7", hi), []string{"sampling.capability.declared"}, ""},
	{"a sample with tools", hello(`{"sampling":{"tools":{}}}`, serves) + askedOfClient("7", "sampling/createMessage", withToolChoice("required")) + answersWith("7", usesIt), nil, "sampling.tool-choice.required"},
	{"a sample with tools undeclared", hello(withSampling, serves) + askedOfClient("7", "sampling/createMessage", withToolChoice("auto")) + answersWith("7", hi), []string{"sampling.tools.declared"}, ""},
	{"a sample without the tool", hello(`{"sampling":{"tools":{}}}`, serves) + askedOfClient("7", "sampling/createMessage", withToolChoice("required")) + answersWith("7", hi), []string{"sampling.tool-choice.required"}, ""},
	{"a sample with a tool", hello(`{"sampling":{"tools":{}}}`, serves) + askedOfClient("7", "sampling/createMessage", withToolChoice("none")) + answersWith("7", usesIt), []string{"sampling.tool-choice.none"}, ""},
	{"a sample for nobody in particular", hello(withSampling, serves) + askedOfClient("7", "sampling/createMessage", prompt) +
		answersWith("7", `{"role":"assistant","model":"m","content":{"type":"text","text":"hi","annotations":{"audience":["all"]}}}`), []string{"resources.annotations.audience"}, ""},

	{"a form", hello(onlyForm, serves) + askedOfClient("7", "elicitation/create", whoForm) + answersWith("7", `{"action":"accept","content":{"age":7}}`), nil, "elicitation.content.matches"},
	{"a form declined by a client without any", hello("{}", serves) + askedOfClient("7", "elicitation/create", whoForm) + answersWith("7", `{"action":"decline"}`), nil, ""},
	{"a form that nobody declared", hello("{}", serves) + askedOfClient("7", "elicitation/create", whoForm) + answersWith("7", `{"action":"accept","content":{"age":7}}`), []string{"elicitation.capability.declared"}, ""},
	{"words for a number", hello(onlyForm, serves) + askedOfClient("7", "elicitation/create", whoForm) + answersWith("7", `{"action":"accept","content":{"age":"old"}}`), []string{"elicitation.content.matches"}, ""},
	{"nothing for a number", hello(onlyForm, serves) + askedOfClient("7", "elicitation/create", whoForm) + answersWith("7", `{"action":"accept"}`), []string{"elicitation.content.matches"}, ""},
	{"an action that nobody knows", hello(onlyForm, serves) + askedOfClient("7", "elicitation/create", whoForm) + answersWith("7", `{"action":"maybe"}`), []string{"base.schema.results"}, ""},
	{"a mode beside what nobody knows", hello(`{"elicitation":{"form":{},"x-vendor":true,"_meta":{"a":1}}}`, serves), nil, "elicitation.capability.mode"},
	{"no mode beside what nobody knows", hello(`{"elicitation":{"x-vendor":null,"_meta":{"a":1}}}`, serves) + askedOfClient("7", "elicitation/create", whoForm) + answersWith("7", `{"action":"accept","content":{"age":7}}`), nil, "elicitation.capability.mode"},
	{"a visit declined beside what nobody knows", hello(`{"elicitation":{"x-vendor":1}}`, serves) + askedOfClient("7", "elicitation/create", goVisit) + answersWith("7", `{"action":"decline"}`), []string{"elicitation.mode.refused"}, ""},
	{"a strange mode", hello(`{"elicitation":{"voice":{}}}`, serves), []string{"elicitation.capability.mode"}, ""},
	{"a visit", hello(visiting, serves) + askedOfClient("7", "elicitation/create", goVisit) + answersWith("7", `{"action":"accept"}`), nil, "elicitation.content.url-mode"},
	{"a visit with content", hello(visiting, serves) + askedOfClient("7", "elicitation/create", goVisit) + answersWith("7", `{"action":"accept","content":{"a":1}}`), []string{"elicitation.content.url-mode"}, ""},
	{"a visit refused", hello(onlyForm, serves) + askedOfClient("7", "elicitation/create", goVisit) + refusesWith("7", "-32602"), nil, "elicitation.mode.refused"},
	{"a visit refused otherwise", hello(onlyForm, serves) + askedOfClient("7", "elicitation/create", goVisit) + refusesWith("7", "-32603"), []string{"elicitation.mode.refused"}, ""},
	{"a visit declined that nobody declared", hello(onlyForm, serves) + askedOfClient("7", "elicitation/create", goVisit) + answersWith("7", `{"action":"decline"}`), []string{"elicitation.mode.refused"}, ""},
	{"a form for who visits only", hello(onlyURL, serves) + askedOfClient("7", "elicitation/create", whoForm) + answersWith("7", `{"action":"decline"}`), []string{"elicitation.mode.refused"}, ""},

	{"a task", hello("{}", serves) + taskTool(`,"execution":{"taskSupport":"required"}`) + callTask, nil, "tasks.tool.required"},
	{"no task", hello("{}", serves) + taskTool(`,"execution":{"taskSupport":"required"}`) + plainCall, []string{"tasks.tool.required"}, ""},
	{"a task of a tool that allows none", hello("{}", serves) + taskTool("") + callTask, []string{"tasks.tool.forbidden"}, ""},
	{"a call of a tool that allows no task", hello("{}", serves) + taskTool("") + plainCall, nil, "tasks.tool.forbidden"},
	{"a task of a server without", hello("{}", `{"tools":{}}`) + taskTool(`,"execution":{"taskSupport":"optional"}`) + callTask, []string{"tasks.tool.undeclared"}, ""},
	{"a call of a server without tasks", hello("{}", `{"tools":{}}`) + taskTool(`,"execution":{"taskSupport":"required"}`) + plainCall, nil, "tasks.tool.undeclared"},
}

// TestClients judges clients of the handshake era over stdio.
func TestClients(t *testing.T) {
	t.Parallel()
	testClients(t, clientStdio, clientStdioTests, Converse)
}

// The rules terminate on any messages and headers of a client, and each mismatch has Wanted and
// Found.
func FuzzClientRules(f *testing.F) {
	for _, text := range []string{
		asksList, saysHi, noAnswer, `[]`, `{"id":`, "{} {}",
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{"elicitation":{"a":1}},"clientInfo":[]}}`,
		`{"jsonrpc":"2.0","id":8,"result":{"roots":[{"uri":1},7],"content":[{"type":"tool_use"}],"action":"accept"}}`,
		`{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"n","arguments":{"region":[],"count":1e99},"inputResponses":{"r":0},"requestState":{}}}`,
		`{"jsonrpc":"2.0","id":9,"method":"tasks/update","params":{"taskId":"t","inputResponses":{"r":{"content":{"age":1e99}}}}}`,
	} {
		f.Add(text, "Mcp-Name", "=?BASE64?ä?=", 200)
		f.Add(text, "Accept", ";;,text/event-stream;q", 400)
	}
	cells := map[rules.Cell]string{
		clientStdio: hello(withSampling, serves) + askedOfClient("8", "elicitation/create", whoForm), statelessClient: roundTrip(asksRoots, givesRoots),
		clientHTTP: handshaken, statelessHTTP: designates("{}", ""),
	}
	standing := map[rules.Cell][]rules.Rule{}
	for cell := range cells {
		standing[cell] = clientRules(f, cell)
	}
	f.Fuzz(func(t *testing.T, text, name, value string, status int) {
		for cell, script := range cells {
			read, stream := Converse, "stdio"
			if cell.Transport == protocol.HTTP {
				read, stream = CarryFor, "post-9"
			}
			events := read(t, cell, script).Events
			for _, event := range []transcript.Event{
				{Kind: transcript.Head, From: protocol.Client, HTTP: &transcript.HTTP{Method: "POST", URL: value, Header: http.Header{name: {value}}}},
				{Kind: transcript.Message, From: protocol.Client, Raw: []byte(text)},
				{Kind: transcript.Head, From: protocol.Server, HTTP: &transcript.HTTP{Status: status}},
				{Kind: transcript.Message, From: protocol.Server, Raw: []byte(text)},
				{Kind: transcript.Message, From: protocol.Client, Raw: []byte(text)},
			} {
				event.Sequence, event.Stream = len(events), stream
				events = append(events, event)
			}
			saysEnough(t, standing[cell], rules.NewConversation(cell, events, true))
		}
	})
}
