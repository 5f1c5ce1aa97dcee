package wire

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// patternRules are those of the pages about patterns, with the rules of the schema,
// which must leave to them what is theirs.
var patternRules = slices.DeleteFunc(
	ofPages("patterns.", "mrtr.", "subscriptions.", bySubscriptions, "sampling.", "elicitation.", "base.schema.", "base.dialects."),
	func(rule rules.Rule) bool { return rule.Requirements[0] == "elicitation.request.members" }, // of 2025-06-18 alone
)

var (
	statelessStdio = rules.Leg{Role: protocol.ServerRole, Revision: "2026-07-28", Transport: protocol.Stdio}
)

// meta is what a request says of itself, of a client that declares capabilities.
func meta(capabilities string) string {
	return `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":` + capabilities + `}`
}

const everything = `{"roots":{},"sampling":{},"elicitation":{"form":{},"url":{}}}`

// asksOnce is a call of a tool of a client with capabilities, and the result.
func asksOnce(capabilities, result string) string {
	return `c {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"n","arguments":{},` + meta(capabilities) + `}}` + "\n" +
		`s {"jsonrpc":"2.0","id":2,"result":` + result + "}\n"
}

// needs is a result that asks for input.
func needs(requests string) string {
	return `{"resultType":"input_required","inputRequests":{` + requests + `}}`
}

const (
	whoAreYou = `"who":{"method":"elicitation/create","params":{"message":"Who?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}}}}}`
	sayHello  = `"say":{"method":"sampling/createMessage","params":{"maxTokens":9,"messages":[]}}`
	getRoots  = `"where":{"method":"roots/list"}`
)

// discovered is what a server declares.
func discovered(capabilities string) string {
	return `c {"jsonrpc":"2.0","id":90,"method":"server/discover","params":{` + meta(everything) + `}}` + "\n" +
		`s {"jsonrpc":"2.0","id":90,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"ttlMs":0,"cacheScope":"private","capabilities":` + capabilities + "}}\n"
}

// listens opens a subscription; told says something on it.
func listens(id, filter string) string {
	return `c {"jsonrpc":"2.0","id":` + id + `,"method":"subscriptions/listen","params":{"notifications":` + filter + `,` + meta(everything) + `}}` + "\n"
}

func told(id, method, params string) string {
	return `s {"jsonrpc":"2.0","method":"notifications/` + method + `","params":{` + params + `"_meta":{"io.modelcontextprotocol/subscriptionId":` + id + `}}}` + "\n"
}

func agrees(id, filter string) string {
	return told(id, "subscriptions/acknowledged", `"notifications":`+filter+`,`)
}

const (
	toTools = `{"toolsListChanged":true}`
	ended   = `s {"jsonrpc":"2.0","id":5,"result":{"resultType":"complete","_meta":{"io.modelcontextprotocol/subscriptionId":5}}}` + "\n"
)

var subscribed = listens("5", toTools) + agrees("5", toTools)

func TestRulesOfPatternsFindWhatIsBroken(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		script string
		broken []string
	}{
		{"request of the server", `s {"jsonrpc":"2.0","id":1,"method":"roots/list"}`, []string{"patterns.requests.none"}},
		{"input for a list", `
			c {"jsonrpc":"2.0","id":2,"method":"tools/list","params":{` + meta(everything) + `}}
			s {"jsonrpc":"2.0","id":2,"result":` + needs(whoAreYou) + `}`, []string{"mrtr.result.supported"}},
		{"neither requests nor state", asksOnce(everything, `{"resultType":"input_required"}`), []string{"mrtr.result.members"}},
		{"a key twice", asksOnce(everything, needs(whoAreYou+","+whoAreYou)), []string{"mrtr.requests.keys"}},
		{"a ping for input", asksOnce(everything, needs(`"a":{"method":"ping"}`)), []string{"mrtr.requests.kinds"}},
		{"input without a method", asksOnce(everything, needs(`"a":{"params":{}}`)), []string{"mrtr.requests.kinds"}},
		{"input that is a text", asksOnce(everything, needs(`"a":"elicitation/create"`)), []string{"mrtr.requests.kinds"}},
		{"requests in a list", asksOnce(everything, `{"resultType":"input_required","inputRequests":[]}`), []string{"mrtr.requests.form"}},
		{"sampling without maxTokens", asksOnce(everything, needs(strings.Replace(sayHello, `"maxTokens":9,`, "", 1))), []string{"mrtr.requests.form"}},
		{"roots with params that are a list", asksOnce(everything, needs(`"a":{"method":"roots/list","params":[]}`)), []string{"mrtr.requests.form"}},
		{"elicitation without a message", asksOnce(everything, needs(strings.Replace(whoAreYou, `"message":"Who?",`, "", 1))),
			[]string{"elicitation.request.parameters"}},
		{"nested form", asksOnce(everything, needs(strings.Replace(whoAreYou, `"name":{"type":"string"}`, `"name":{"type":"object"}`, 1))),
			[]string{"elicitation.form.schema"}},
		{"visit without a url", asksOnce(everything, needs(`"a":{"method":"elicitation/create","params":{"mode":"url","message":"Go"}}`)),
			[]string{"elicitation.url.parameters"}},
		{"visit to anywhere", asksOnce(everything, needs(`"a":{"method":"elicitation/create","params":{"mode":"url","message":"Go","url":"anywhere"}}`)),
			[]string{"elicitation.url.valid"}},
		{"priority in percent", asksOnce(everything, needs(strings.Replace(sayHello, `"maxTokens"`, `"modelPreferences":{"costPriority":80},"maxTokens"`, 1))),
			[]string{"sampling.request.priorities"}},
		{"tools that were not declared", asksOnce(everything, needs(strings.Replace(sayHello, `"maxTokens"`, `"tools":[],"maxTokens"`, 1))),
			[]string{"sampling.request.tools"}},
		{"elicitation undeclared", asksOnce(`{"roots":{}}`, needs(whoAreYou)), []string{"mrtr.requests.declared"}},
		{"declared earlier only", asksOnce(everything, needs(sayHello)) + strings.ReplaceAll(asksOnce(`{}`, needs(sayHello)), `"id":2`, `"id":3`),
			[]string{"mrtr.requests.declared"}},
		{"visit for a client of forms", asksOnce(`{"elicitation":{}}`, needs(`"a":{"method":"elicitation/create","params":{"mode":"url","message":"Go","url":"https://example.com/"}}`)),
			[]string{"elicitation.request.mode"}},

		{"no acknowledgement", listens("5", toTools) + ended, []string{"subscriptions.acknowledged.sent"}},
		{"news before the acknowledgement", listens("5", toTools) + told("5", "tools/list_changed", "") + agrees("5", toTools),
			[]string{"subscriptions.acknowledged.first"}},
		{"acknowledges more", discovered(`{"tools":{"listChanged":true},"prompts":{"listChanged":true}}`) + listens("5", toTools) + agrees("5", `{"toolsListChanged":true,"promptsListChanged":true}`),
			[]string{"subscriptions.acknowledged.requested"}},
		{"acknowledges another resource", listens("5", `{"resourceSubscriptions":["a:b"]}`) + agrees("5", `{"resourceSubscriptions":["a:c"]}`),
			[]string{"subscriptions.acknowledged.requested"}},
		{"acknowledges what it lacks", discovered(`{"tools":{}}`) + subscribed, []string{"subscriptions.acknowledged.supported"}},
		{"acknowledges resources that it lacks", discovered(`{"resources":{}}`) + listens("5", `{"resourceSubscriptions":["a:b"]}`) + agrees("5", `{"resourceSubscriptions":["a:b"]}`),
			[]string{"subscriptions.acknowledged.supported"}},
		{"other news", subscribed + told("5", "prompts/list_changed", ""), []string{"subscriptions.filter.honored"}},
		{"updates that nobody wanted", subscribed + told("5", "resources/updated", `"uri":"a:b",`), []string{"subscriptions.filter.honored"}},
		{"update of another resource", listens("5", `{"resourceSubscriptions":["a:b"]}`) + agrees("5", `{"resourceSubscriptions":["a:b"]}`) + told("5", "resources/updated", `"uri":"a:c",`),
			[]string{"subscriptions.filter.honored"}},
		{"progress on a subscription", subscribed + told("5", "progress", `"progressToken":1,"progress":1,`), []string{"subscriptions.filter.honored"}},
		{"news without any subscription", `s {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`, []string{"subscriptions.filter.honored"}},
		{"news without an id", subscribed + `s {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`, []string{"subscriptions.id.carried"}},
		{"id as a text", subscribed + told(`"5"`, "tools/list_changed", ""), []string{"subscriptions.id.carried"}},
		{"end without an id", subscribed + `s {"jsonrpc":"2.0","id":5,"result":{"resultType":"complete"}}`, []string{"subscriptions.closed.id"}},
		{"end with another id", subscribed + strings.Replace(ended, `Id":5`, `Id":6`, 1), []string{"subscriptions.closed.id"}},
		{"cancels a call", asksOnce(everything, needs(whoAreYou)) + cancels("2"), []string{"cancellation.by-server.subscriptions"}},
		{"cancels what is not", subscribed + cancels("6"), []string{"cancellation.by-server.subscriptions"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			broken, _ := brokenAndSeen(patternRules, converse(t, statelessStdio, test.script))
			if difference := cmp.Diff(test.broken, broken); difference != "" {
				t.Errorf("broken requirements (-wanted +found):\n%s", difference)
			}
		})
	}
}

func TestRulesOfPatternsLeaveFree(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, script string }{
		{"all kinds of input at once", asksOnce(everything, needs(whoAreYou+","+sayHello+","+getRoots))},
		{"state alone", asksOnce(everything, `{"resultType":"input_required","requestState":"x"}`)},
		{"no input requests in particular", asksOnce(everything, `{"resultType":"input_required","inputRequests":{},"requestState":"x"}`)},
		{"input for a resource", strings.ReplaceAll(asksOnce(everything, needs(whoAreYou)), `"tools/call","params":{"name":"n","arguments":{}`, `"resources/read","params":{"uri":"a:b"`)},
		{"the same key in another result", asksOnce(everything, needs(whoAreYou)) + strings.ReplaceAll(asksOnce(everything, needs(whoAreYou)), `"id":2`, `"id":3`)},
		{"an empty capability for forms", asksOnce(`{"elicitation":{}}`, needs(whoAreYou))},
		{"subscription", discovered(`{"tools":{"listChanged":true}}`) + subscribed + told("5", "tools/list_changed", "") + ended},
		{"subscription that is a text", strings.ReplaceAll(subscribed, "5", `"five"`) + told(`"five"`, "tools/list_changed", "")},
		{"less than was asked for", listens("5", `{"toolsListChanged":true,"resourceSubscriptions":["a:b"]}`) + agrees("5", `{}`)},
		{"several subscriptions", listens("5", toTools) + listens("6", toTools) + agrees("6", toTools) + told("6", "tools/list_changed", "") + agrees("5", toTools)},
		{"part of a resource", listens("5", `{"resourceSubscriptions":["a:b"]}`) + agrees("5", `{"resourceSubscriptions":["a:b"]}`) + told("5", "resources/updated", `"uri":"a:b/c",`)},
		{"subscription that the server cancels", subscribed + cancels("5")},
		{"subscription that ends in both ways", subscribed + ended + cancels("5")},
		{"subscription that is refused", listens("5", toTools) + `s {"jsonrpc":"2.0","id":5,"error":{"code":-32601,"message":"no"}}`},
		{"news of an extension", listens("5", `{"taskIds":["t"]}`) + agrees("5", `{"taskIds":["t"]}`) + told("5", "tasks", `"taskId":"t",`)},
		{"a request after a handshake", `
			c {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"roots":{}},"clientInfo":{"name":"c","version":"1"}}}
			s {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"s","version":"1"}}}
			s {"jsonrpc":"2.0","id":1,"method":"roots/list"}
			s {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}
			s {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`},
		{"progress of another request", subscribed + `s {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if broken, _ := brokenAndSeen(patternRules, converse(t, statelessStdio, test.script)); len(broken) > 0 {
				t.Errorf("found broken: %s", strings.Join(broken, ", "))
			}
		})
	}
}

// streamed puts a script of messages on one event stream over HTTP.
func streamed(stream, script string) string {
	var text strings.Builder
	for line := range strings.Lines(script) {
		line = strings.TrimSpace(line)
		if said, byClient := strings.CutPrefix(line, "c "); byClient {
			text.WriteString("> " + stream + " POST\nc " + stream + " " + said + "\n< " + stream + " 200 Content-Type:text/event-stream\n")
		} else if said, byServer := strings.CutPrefix(line, "s "); byServer {
			text.WriteString("e " + stream + " " + said + "\n")
		}
	}
	return text.String()
}

func TestSubscriptionsOverHTTP(t *testing.T) {
	t.Parallel()
	news := `s {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`
	for name, test := range map[string]struct {
		script string
		broken []string
	}{
		"a subscription":                  {streamed("post-1", subscribed+told("5", "tools/list_changed", "")), nil},
		"one that the client ends":        {streamed("post-1", subscribed) + "x post-1", nil},
		"one that the server ends":        {streamed("post-1", subscribed+ended) + ". post-1", nil},
		"one that the server cancels":     {streamed("post-1", subscribed+cancels("5")) + ". post-1", nil},
		"one that ends without a word":    {streamed("post-1", subscribed) + ". post-1", []string{"subscriptions.closed.announced"}},
		"news without an id":              {streamed("post-1", subscribed+news), []string{"subscriptions.id.carried"}},
		"news with the id of another one": {streamed("post-1", subscribed+told("6", "tools/list_changed", "")), []string{"subscriptions.id.carried"}},
		"news on another stream": {streamed("post-1", asksOnce(everything, `{"resultType":"complete","content":[]}`)+news),
			[]string{"subscriptions.filter.honored"}},
		"progress of the request itself": {streamed("post-1", subscribed+progress("1", "1")), nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			broken, _ := brokenAndSeen(patternRules, carry(t, "2026-07-28", test.script))
			if difference := cmp.Diff(test.broken, broken); difference != "" {
				t.Errorf("broken requirements (-wanted +found):\n%s", difference)
			}
		})
	}
}

// Whatever a target says, rules come to an end and break nothing but a sentence.
func FuzzPatternRules(f *testing.F) {
	for _, said := range []string{
		`{"jsonrpc":"2.0","id":2,"result":` + needs(whoAreYou+","+sayHello+","+getRoots) + `}`,
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
		events := converse(t, statelessStdio, subscribed+asksOnce(everything, needs(whoAreYou))).Events
		for range 2 {
			events = append(events, transcript.Event{
				Kind: transcript.Message, From: protocol.Server, Stream: "stdio", Raw: said, Sequence: len(events), At: began,
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
