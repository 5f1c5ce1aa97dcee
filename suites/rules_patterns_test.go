package suites_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
	. "github.com/mcpconform/mcpconform/internal/rules/rulestest"
)

// patternRules are those of the pages about patterns, with the rules of the schema,
// which must leave to them what is theirs.
var patternRules = slices.DeleteFunc(
	ofPages("patterns.", "mrtr.", "subscriptions.", bySubscriptions, "sampling.", "elicitation.", "base.schema.", "base.dialects."),
	func(rule rules.Rule) bool { return rule.Verifies.IDs[0] == "elicitation.request.members" }, // of 2025-06-18 alone
)

var statelessStdio = rules.Cell{Role: protocol.ServerRole, Revision: "2026-07-28", Transport: protocol.Stdio}

const (
	sayHello = `"say":{"method":"sampling/createMessage","params":{"maxTokens":9,"messages":[]}}`
	getRoots = `"where":{"method":"roots/list"}`
)

// discovered is what a server declares.
func discovered(capabilities string) string {
	return `c {"jsonrpc":"2.0","id":90,"method":"server/discover","params":{` + Meta(Everything) + `}}` + "\n" +
		`s {"jsonrpc":"2.0","id":90,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"ttlMs":0,"cacheScope":"private","capabilities":` + capabilities + "}}\n"
}

func TestRulesOfPatternsFindWhatIsBroken(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		script string
		broken []string
	}{
		{"request of the server", `s {"jsonrpc":"2.0","id":1,"method":"roots/list"}`, []string{"patterns.requests.none"}},
		{"input for a list", `
			c {"jsonrpc":"2.0","id":2,"method":"tools/list","params":{` + Meta(Everything) + `}}
			s {"jsonrpc":"2.0","id":2,"result":` + Needs(WhoAreYou) + `}`, []string{"mrtr.result.supported"}},
		{"neither requests nor state", AsksOnce(Everything, `{"resultType":"input_required"}`), []string{"mrtr.result.members"}},
		{"a key twice", AsksOnce(Everything, Needs(WhoAreYou+","+WhoAreYou)), []string{"mrtr.requests.keys"}},
		{"a ping for input", AsksOnce(Everything, Needs(`"a":{"method":"ping"}`)), []string{"mrtr.requests.kinds"}},
		{"input without a method", AsksOnce(Everything, Needs(`"a":{"params":{}}`)), []string{"mrtr.requests.kinds"}},
		{"input that is a text", AsksOnce(Everything, Needs(`"a":"elicitation/create"`)), []string{"mrtr.requests.kinds"}},
		{"requests in a list", AsksOnce(Everything, `{"resultType":"input_required","inputRequests":[]}`), []string{"mrtr.requests.form"}},
		{"sampling without maxTokens", AsksOnce(Everything, Needs(strings.Replace(sayHello, `"maxTokens":9,`, "", 1))), []string{"mrtr.requests.form"}},
		{"roots with params that are a list", AsksOnce(Everything, Needs(`"a":{"method":"roots/list","params":[]}`)), []string{"mrtr.requests.form"}},
		{"elicitation without a message", AsksOnce(Everything, Needs(strings.Replace(WhoAreYou, `"message":"Who?",`, "", 1))),
			[]string{"elicitation.request.parameters"}},
		{"nested form", AsksOnce(Everything, Needs(strings.Replace(WhoAreYou, `"name":{"type":"string"}`, `"name":{"type":"object"}`, 1))),
			[]string{"elicitation.form.schema"}},
		{"visit without a url", AsksOnce(Everything, Needs(`"a":{"method":"elicitation/create","params":{"mode":"url","message":"Go"}}`)),
			[]string{"elicitation.url.parameters"}},
		{"visit to anywhere", AsksOnce(Everything, Needs(`"a":{"method":"elicitation/create","params":{"mode":"url","message":"Go","url":"anywhere"}}`)),
			[]string{"elicitation.url.valid"}},
		{"priority in percent", AsksOnce(Everything, Needs(strings.Replace(sayHello, `"maxTokens"`, `"modelPreferences":{"costPriority":80},"maxTokens"`, 1))),
			[]string{"sampling.request.priorities"}},
		{"tools that were not declared", AsksOnce(Everything, Needs(strings.Replace(sayHello, `"maxTokens"`, `"tools":[],"maxTokens"`, 1))),
			[]string{"sampling.request.tools"}},
		{"elicitation undeclared", AsksOnce(`{"roots":{}}`, Needs(WhoAreYou)), []string{"mrtr.requests.declared"}},
		{"declared earlier only", AsksOnce(Everything, Needs(sayHello)) + strings.ReplaceAll(AsksOnce(`{}`, Needs(sayHello)), `"id":2`, `"id":3`),
			[]string{"mrtr.requests.declared"}},
		{"visit for a client of forms", AsksOnce(`{"elicitation":{}}`, Needs(`"a":{"method":"elicitation/create","params":{"mode":"url","message":"Go","url":"https://example.com/"}}`)),
			[]string{"elicitation.request.mode"}},

		{"no acknowledgement", Listens("5", ToTools) + Ended, []string{"subscriptions.acknowledged.sent"}},
		{"news before the acknowledgement", Listens("5", ToTools) + Told("5", "tools/list_changed", "") + Agrees("5", ToTools),
			[]string{"subscriptions.acknowledged.first"}},
		{"acknowledges more", discovered(`{"tools":{"listChanged":true},"prompts":{"listChanged":true}}`) + Listens("5", ToTools) + Agrees("5", `{"toolsListChanged":true,"promptsListChanged":true}`),
			[]string{"subscriptions.acknowledged.requested"}},
		{"acknowledges another resource", Listens("5", `{"resourceSubscriptions":["a:b"]}`) + Agrees("5", `{"resourceSubscriptions":["a:c"]}`),
			[]string{"subscriptions.acknowledged.requested"}},
		{"acknowledges what it lacks", discovered(`{"tools":{}}`) + Subscribed, []string{"subscriptions.acknowledged.supported"}},
		{"acknowledges resources that it lacks", discovered(`{"resources":{}}`) + Listens("5", `{"resourceSubscriptions":["a:b"]}`) + Agrees("5", `{"resourceSubscriptions":["a:b"]}`),
			[]string{"subscriptions.acknowledged.supported"}},
		{"other news", Subscribed + Told("5", "prompts/list_changed", ""), []string{"subscriptions.filter.honored"}},
		{"updates that nobody wanted", Subscribed + Told("5", "resources/updated", `"uri":"a:b",`), []string{"subscriptions.filter.honored"}},
		{"update of another resource", Listens("5", `{"resourceSubscriptions":["a:b"]}`) + Agrees("5", `{"resourceSubscriptions":["a:b"]}`) + Told("5", "resources/updated", `"uri":"a:c",`),
			[]string{"subscriptions.filter.honored"}},
		{"progress on a subscription", Subscribed + Told("5", "progress", `"progressToken":1,"progress":1,`), []string{"subscriptions.filter.honored"}},
		{"news without any subscription", `s {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`, []string{"subscriptions.filter.honored"}},
		{"news without an id", Subscribed + `s {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`, []string{"subscriptions.id.carried"}},
		{"id as a text", Subscribed + Told(`"5"`, "tools/list_changed", ""), []string{"subscriptions.id.carried"}},
		{"end without an id", Subscribed + `s {"jsonrpc":"2.0","id":5,"result":{"resultType":"complete"}}`, []string{"subscriptions.closed.id"}},
		{"end with another id", Subscribed + strings.Replace(Ended, `Id":5`, `Id":6`, 1), []string{"subscriptions.closed.id"}},
		{"cancels a call", AsksOnce(Everything, Needs(WhoAreYou)) + Cancels("2"), []string{"cancellation.by-server.subscriptions"}},
		{"cancels what is not", Subscribed + Cancels("6"), []string{"cancellation.by-server.subscriptions"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			broken, _ := BrokenAndSeen(patternRules, Converse(t, statelessStdio, test.script))
			if difference := cmp.Diff(test.broken, broken); difference != "" {
				t.Errorf("broken requirements (-wanted +found):\n%s", difference)
			}
		})
	}
}

func TestRulesOfPatternsLeaveFree(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, script string }{
		{"all kinds of input at once", AsksOnce(Everything, Needs(WhoAreYou+","+sayHello+","+getRoots))},
		{"state alone", AsksOnce(Everything, `{"resultType":"input_required","requestState":"x"}`)},
		{"no input requests in particular", AsksOnce(Everything, `{"resultType":"input_required","inputRequests":{},"requestState":"x"}`)},
		{"input for a resource", strings.ReplaceAll(AsksOnce(Everything, Needs(WhoAreYou)), `"tools/call","params":{"name":"n","arguments":{}`, `"resources/read","params":{"uri":"a:b"`)},
		{"the same key in another result", AsksOnce(Everything, Needs(WhoAreYou)) + strings.ReplaceAll(AsksOnce(Everything, Needs(WhoAreYou)), `"id":2`, `"id":3`)},
		{"an empty capability for forms", AsksOnce(`{"elicitation":{}}`, Needs(WhoAreYou))},
		{"subscription", discovered(`{"tools":{"listChanged":true}}`) + Subscribed + Told("5", "tools/list_changed", "") + Ended},
		{"subscription that is a text", strings.ReplaceAll(Subscribed, "5", `"five"`) + Told(`"five"`, "tools/list_changed", "")},
		{"less than was asked for", Listens("5", `{"toolsListChanged":true,"resourceSubscriptions":["a:b"]}`) + Agrees("5", `{}`)},
		{"several subscriptions", Listens("5", ToTools) + Listens("6", ToTools) + Agrees("6", ToTools) + Told("6", "tools/list_changed", "") + Agrees("5", ToTools)},
		{"part of a resource", Listens("5", `{"resourceSubscriptions":["a:b"]}`) + Agrees("5", `{"resourceSubscriptions":["a:b"]}`) + Told("5", "resources/updated", `"uri":"a:b/c",`)},
		{"subscription that the server cancels", Subscribed + Cancels("5")},
		{"subscription that ends in both ways", Subscribed + Ended + Cancels("5")},
		{"subscription that is refused", Listens("5", ToTools) + `s {"jsonrpc":"2.0","id":5,"error":{"code":-32601,"message":"no"}}`},
		{"news of an extension", Listens("5", `{"taskIds":["t"]}`) + Agrees("5", `{"taskIds":["t"]}`) + Told("5", "tasks", `"taskId":"t",`)},
		{"a request after a handshake", `
			c {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"roots":{}},"clientInfo":{"name":"c","version":"1"}}}
			s {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"s","version":"1"}}}
			s {"jsonrpc":"2.0","id":1,"method":"roots/list"}
			s {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}
			s {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`},
		{"progress of another request", Subscribed + `s {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if broken, _ := BrokenAndSeen(patternRules, Converse(t, statelessStdio, test.script)); len(broken) > 0 {
				t.Errorf("found broken: %s", strings.Join(broken, ", "))
			}
		})
	}
}

// The rules terminate on any message of a target, and each mismatch has Wanted and Found.
func FuzzPatternRules(f *testing.F) {
	for _, text := range []string{
		`{"jsonrpc":"2.0","id":2,"result":` + Needs(WhoAreYou+","+sayHello+","+getRoots) + `}`,
		`{"jsonrpc":"2.0","id":2,"result":{"resultType":"input_required","inputRequests":{"":7,"/":{"method":[]},"a":{"method":"roots/list","params":null}}}}`,
		`{"jsonrpc":"2.0","id":2,"result":{"resultType":"input_required","requestState":{}}}`,
		`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{"toolsListChanged":1,"resourceSubscriptions":[null]},"_meta":{"io.modelcontextprotocol/subscriptionId":5}}}`,
		`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":{},"_meta":{"io.modelcontextprotocol/subscriptionId":{}}}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":[]}`,
		`{"jsonrpc":"2.0","id":5,"result":{"_meta":[]}}`,
		`{"jsonrpc":"2.0","id":5,"method":"roots/list"}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		events := Converse(t, statelessStdio, Subscribed+AsksOnce(Everything, Needs(WhoAreYou))).Events
		saysEnough(t, patternRules, rules.NewConversation(statelessStdio, saidTwice(events, "stdio", raw), true))
	})
}
