package suites_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/rules/rulestest"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// patternRules are those of the pages about patterns, with the rules of the schema,
// which must leave to them what is theirs.
var patternRules = slices.DeleteFunc(
	ofPages("patterns.", "mrtr.", "subscriptions.", bySubscriptions, "sampling.", "elicitation.", "base.schema.", "base.dialects."),
	func(rule rules.Rule) bool { return rule.Requirements[0] == "elicitation.request.members" }, // of 2025-06-18 alone
)

var statelessStdio = rules.Leg{Role: protocol.ServerRole, Revision: "2026-07-28", Transport: protocol.Stdio}

const (
	sayHello = `"say":{"method":"sampling/createMessage","params":{"maxTokens":9,"messages":[]}}`
	getRoots = `"where":{"method":"roots/list"}`
)

// discovered is what a server declares.
func discovered(capabilities string) string {
	return `c {"jsonrpc":"2.0","id":90,"method":"server/discover","params":{` + rulestest.Meta(rulestest.Everything) + `}}` + "\n" +
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
			c {"jsonrpc":"2.0","id":2,"method":"tools/list","params":{` + rulestest.Meta(rulestest.Everything) + `}}
			s {"jsonrpc":"2.0","id":2,"result":` + rulestest.Needs(rulestest.WhoAreYou) + `}`, []string{"mrtr.result.supported"}},
		{"neither requests nor state", rulestest.AsksOnce(rulestest.Everything, `{"resultType":"input_required"}`), []string{"mrtr.result.members"}},
		{"a key twice", rulestest.AsksOnce(rulestest.Everything, rulestest.Needs(rulestest.WhoAreYou+","+rulestest.WhoAreYou)), []string{"mrtr.requests.keys"}},
		{"a ping for input", rulestest.AsksOnce(rulestest.Everything, rulestest.Needs(`"a":{"method":"ping"}`)), []string{"mrtr.requests.kinds"}},
		{"input without a method", rulestest.AsksOnce(rulestest.Everything, rulestest.Needs(`"a":{"params":{}}`)), []string{"mrtr.requests.kinds"}},
		{"input that is a text", rulestest.AsksOnce(rulestest.Everything, rulestest.Needs(`"a":"elicitation/create"`)), []string{"mrtr.requests.kinds"}},
		{"requests in a list", rulestest.AsksOnce(rulestest.Everything, `{"resultType":"input_required","inputRequests":[]}`), []string{"mrtr.requests.form"}},
		{"sampling without maxTokens", rulestest.AsksOnce(rulestest.Everything, rulestest.Needs(strings.Replace(sayHello, `"maxTokens":9,`, "", 1))), []string{"mrtr.requests.form"}},
		{"roots with params that are a list", rulestest.AsksOnce(rulestest.Everything, rulestest.Needs(`"a":{"method":"roots/list","params":[]}`)), []string{"mrtr.requests.form"}},
		{"elicitation without a message", rulestest.AsksOnce(rulestest.Everything, rulestest.Needs(strings.Replace(rulestest.WhoAreYou, `"message":"Who?",`, "", 1))),
			[]string{"elicitation.request.parameters"}},
		{"nested form", rulestest.AsksOnce(rulestest.Everything, rulestest.Needs(strings.Replace(rulestest.WhoAreYou, `"name":{"type":"string"}`, `"name":{"type":"object"}`, 1))),
			[]string{"elicitation.form.schema"}},
		{"visit without a url", rulestest.AsksOnce(rulestest.Everything, rulestest.Needs(`"a":{"method":"elicitation/create","params":{"mode":"url","message":"Go"}}`)),
			[]string{"elicitation.url.parameters"}},
		{"visit to anywhere", rulestest.AsksOnce(rulestest.Everything, rulestest.Needs(`"a":{"method":"elicitation/create","params":{"mode":"url","message":"Go","url":"anywhere"}}`)),
			[]string{"elicitation.url.valid"}},
		{"priority in percent", rulestest.AsksOnce(rulestest.Everything, rulestest.Needs(strings.Replace(sayHello, `"maxTokens"`, `"modelPreferences":{"costPriority":80},"maxTokens"`, 1))),
			[]string{"sampling.request.priorities"}},
		{"tools that were not declared", rulestest.AsksOnce(rulestest.Everything, rulestest.Needs(strings.Replace(sayHello, `"maxTokens"`, `"tools":[],"maxTokens"`, 1))),
			[]string{"sampling.request.tools"}},
		{"elicitation undeclared", rulestest.AsksOnce(`{"roots":{}}`, rulestest.Needs(rulestest.WhoAreYou)), []string{"mrtr.requests.declared"}},
		{"declared earlier only", rulestest.AsksOnce(rulestest.Everything, rulestest.Needs(sayHello)) + strings.ReplaceAll(rulestest.AsksOnce(`{}`, rulestest.Needs(sayHello)), `"id":2`, `"id":3`),
			[]string{"mrtr.requests.declared"}},
		{"visit for a client of forms", rulestest.AsksOnce(`{"elicitation":{}}`, rulestest.Needs(`"a":{"method":"elicitation/create","params":{"mode":"url","message":"Go","url":"https://example.com/"}}`)),
			[]string{"elicitation.request.mode"}},

		{"no acknowledgement", rulestest.Listens("5", rulestest.ToTools) + rulestest.Ended, []string{"subscriptions.acknowledged.sent"}},
		{"news before the acknowledgement", rulestest.Listens("5", rulestest.ToTools) + rulestest.Told("5", "tools/list_changed", "") + rulestest.Agrees("5", rulestest.ToTools),
			[]string{"subscriptions.acknowledged.first"}},
		{"acknowledges more", discovered(`{"tools":{"listChanged":true},"prompts":{"listChanged":true}}`) + rulestest.Listens("5", rulestest.ToTools) + rulestest.Agrees("5", `{"toolsListChanged":true,"promptsListChanged":true}`),
			[]string{"subscriptions.acknowledged.requested"}},
		{"acknowledges another resource", rulestest.Listens("5", `{"resourceSubscriptions":["a:b"]}`) + rulestest.Agrees("5", `{"resourceSubscriptions":["a:c"]}`),
			[]string{"subscriptions.acknowledged.requested"}},
		{"acknowledges what it lacks", discovered(`{"tools":{}}`) + rulestest.Subscribed, []string{"subscriptions.acknowledged.supported"}},
		{"acknowledges resources that it lacks", discovered(`{"resources":{}}`) + rulestest.Listens("5", `{"resourceSubscriptions":["a:b"]}`) + rulestest.Agrees("5", `{"resourceSubscriptions":["a:b"]}`),
			[]string{"subscriptions.acknowledged.supported"}},
		{"other news", rulestest.Subscribed + rulestest.Told("5", "prompts/list_changed", ""), []string{"subscriptions.filter.honored"}},
		{"updates that nobody wanted", rulestest.Subscribed + rulestest.Told("5", "resources/updated", `"uri":"a:b",`), []string{"subscriptions.filter.honored"}},
		{"update of another resource", rulestest.Listens("5", `{"resourceSubscriptions":["a:b"]}`) + rulestest.Agrees("5", `{"resourceSubscriptions":["a:b"]}`) + rulestest.Told("5", "resources/updated", `"uri":"a:c",`),
			[]string{"subscriptions.filter.honored"}},
		{"progress on a subscription", rulestest.Subscribed + rulestest.Told("5", "progress", `"progressToken":1,"progress":1,`), []string{"subscriptions.filter.honored"}},
		{"news without any subscription", `s {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`, []string{"subscriptions.filter.honored"}},
		{"news without an id", rulestest.Subscribed + `s {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`, []string{"subscriptions.id.carried"}},
		{"id as a text", rulestest.Subscribed + rulestest.Told(`"5"`, "tools/list_changed", ""), []string{"subscriptions.id.carried"}},
		{"end without an id", rulestest.Subscribed + `s {"jsonrpc":"2.0","id":5,"result":{"resultType":"complete"}}`, []string{"subscriptions.closed.id"}},
		{"end with another id", rulestest.Subscribed + strings.Replace(rulestest.Ended, `Id":5`, `Id":6`, 1), []string{"subscriptions.closed.id"}},
		{"cancels a call", rulestest.AsksOnce(rulestest.Everything, rulestest.Needs(rulestest.WhoAreYou)) + rulestest.Cancels("2"), []string{"cancellation.by-server.subscriptions"}},
		{"cancels what is not", rulestest.Subscribed + rulestest.Cancels("6"), []string{"cancellation.by-server.subscriptions"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			broken, _ := rulestest.BrokenAndSeen(patternRules, rulestest.Converse(t, statelessStdio, test.script))
			if difference := cmp.Diff(test.broken, broken); difference != "" {
				t.Errorf("broken requirements (-wanted +found):\n%s", difference)
			}
		})
	}
}

func TestRulesOfPatternsLeaveFree(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, script string }{
		{"all kinds of input at once", rulestest.AsksOnce(rulestest.Everything, rulestest.Needs(rulestest.WhoAreYou+","+sayHello+","+getRoots))},
		{"state alone", rulestest.AsksOnce(rulestest.Everything, `{"resultType":"input_required","requestState":"x"}`)},
		{"no input requests in particular", rulestest.AsksOnce(rulestest.Everything, `{"resultType":"input_required","inputRequests":{},"requestState":"x"}`)},
		{"input for a resource", strings.ReplaceAll(rulestest.AsksOnce(rulestest.Everything, rulestest.Needs(rulestest.WhoAreYou)), `"tools/call","params":{"name":"n","arguments":{}`, `"resources/read","params":{"uri":"a:b"`)},
		{"the same key in another result", rulestest.AsksOnce(rulestest.Everything, rulestest.Needs(rulestest.WhoAreYou)) + strings.ReplaceAll(rulestest.AsksOnce(rulestest.Everything, rulestest.Needs(rulestest.WhoAreYou)), `"id":2`, `"id":3`)},
		{"an empty capability for forms", rulestest.AsksOnce(`{"elicitation":{}}`, rulestest.Needs(rulestest.WhoAreYou))},
		{"subscription", discovered(`{"tools":{"listChanged":true}}`) + rulestest.Subscribed + rulestest.Told("5", "tools/list_changed", "") + rulestest.Ended},
		{"subscription that is a text", strings.ReplaceAll(rulestest.Subscribed, "5", `"five"`) + rulestest.Told(`"five"`, "tools/list_changed", "")},
		{"less than was asked for", rulestest.Listens("5", `{"toolsListChanged":true,"resourceSubscriptions":["a:b"]}`) + rulestest.Agrees("5", `{}`)},
		{"several subscriptions", rulestest.Listens("5", rulestest.ToTools) + rulestest.Listens("6", rulestest.ToTools) + rulestest.Agrees("6", rulestest.ToTools) + rulestest.Told("6", "tools/list_changed", "") + rulestest.Agrees("5", rulestest.ToTools)},
		{"part of a resource", rulestest.Listens("5", `{"resourceSubscriptions":["a:b"]}`) + rulestest.Agrees("5", `{"resourceSubscriptions":["a:b"]}`) + rulestest.Told("5", "resources/updated", `"uri":"a:b/c",`)},
		{"subscription that the server cancels", rulestest.Subscribed + rulestest.Cancels("5")},
		{"subscription that ends in both ways", rulestest.Subscribed + rulestest.Ended + rulestest.Cancels("5")},
		{"subscription that is refused", rulestest.Listens("5", rulestest.ToTools) + `s {"jsonrpc":"2.0","id":5,"error":{"code":-32601,"message":"no"}}`},
		{"news of an extension", rulestest.Listens("5", `{"taskIds":["t"]}`) + rulestest.Agrees("5", `{"taskIds":["t"]}`) + rulestest.Told("5", "tasks", `"taskId":"t",`)},
		{"a request after a handshake", `
			c {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"roots":{}},"clientInfo":{"name":"c","version":"1"}}}
			s {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"s","version":"1"}}}
			s {"jsonrpc":"2.0","id":1,"method":"roots/list"}
			s {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}
			s {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`},
		{"progress of another request", rulestest.Subscribed + `s {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if broken, _ := rulestest.BrokenAndSeen(patternRules, rulestest.Converse(t, statelessStdio, test.script)); len(broken) > 0 {
				t.Errorf("found broken: %s", strings.Join(broken, ", "))
			}
		})
	}
}

// Whatever a target says, rules come to an end and break nothing but a sentence.
func FuzzPatternRules(f *testing.F) {
	for _, said := range []string{
		`{"jsonrpc":"2.0","id":2,"result":` + rulestest.Needs(rulestest.WhoAreYou+","+sayHello+","+getRoots) + `}`,
		`{"jsonrpc":"2.0","id":2,"result":{"resultType":"input_required","inputRequests":{"":7,"/":{"method":[]},"a":{"method":"roots/list","params":null}}}}`,
		`{"jsonrpc":"2.0","id":2,"result":{"resultType":"input_required","requestState":{}}}`,
		`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{"toolsListChanged":1,"resourceSubscriptions":[null]},"_meta":{"io.modelcontextprotocol/subscriptionId":5}}}`,
		`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":{},"_meta":{"io.modelcontextprotocol/subscriptionId":{}}}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":[]}`,
		`{"jsonrpc":"2.0","id":5,"result":{"_meta":[]}}`,
		`{"jsonrpc":"2.0","id":5,"method":"roots/list"}`,
	} {
		f.Add([]byte(said))
	}
	f.Fuzz(func(t *testing.T, said []byte) {
		events := rulestest.Converse(t, statelessStdio, rulestest.Subscribed+rulestest.AsksOnce(rulestest.Everything, rulestest.Needs(rulestest.WhoAreYou))).Events
		for range 2 {
			events = append(events, transcript.Event{
				Kind: transcript.Message, From: protocol.Server, Stream: "stdio", Raw: said, Sequence: len(events), At: rulestest.Began,
			})
		}
		for _, finding := range rules.Apply(patternRules, rules.NewConversation(statelessStdio, events, true)) {
			for _, breach := range finding.Breaks {
				if breach.Mismatch.Wanted == "" || breach.Mismatch.Found == "" {
					t.Errorf("%q: says too little: %+v", finding.Rule, breach.Mismatch)
				}
			}
		}
	})
}
