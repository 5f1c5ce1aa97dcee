package suites_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpconform/mcpconform/internal/rules"
	. "github.com/mcpconform/mcpconform/internal/rules/rulestest"
)

// statelessRules are those that this file tests.
var statelessRules = slices.DeleteFunc(everyRule(), func(rule rules.Rule) bool { return !isStateless(rule.ID()) })

// isStateless tells the rules, by id, that are about the stateless era alone.
func isStateless(id string) bool {
	switch {
	case strings.HasPrefix(id, "base.errors."):
		return id != "base.errors.members" && id != "base.errors.integer-code"
	case id == "base.capabilities.required", id == "base.fields.server-info", id == "base.meta.trace-context":
		return true
	}
	return strings.HasPrefix(id, "base.result-type.") || strings.HasPrefix(id, "versioning.") || strings.HasPrefix(id, "caching.")
}

const (
	withUnknown = `{"extensions":{"com.example/unknown":{}}}`
	legacyOpens = `
		c {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}
		s {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}
	`
)

func TestStatelessRules(t *testing.T) {
	t.Parallel()
	call := AsksPlain("1", "tools/call", `"name":"n"`)
	list := AsksPlain("1", "tools/list", "")
	tests := []struct {
		name   string
		script string
		broken []string
	}{
		{"all good", Discovers("{}") + call + Gives("1", Final), nil},
		{"no type", call + Gives("1", ""), []string{"base.result-type.given"}},
		{"a type that is no string", call + Gives("1", `,"resultType":1`), []string{"base.result-type.given"}},
		{"a type that nobody declares", Discovers("{}") + call + Gives("1", `,"resultType":"task"`), []string{"base.result-type.known"}},
		{"a type while nothing is known of the server", call + Gives("1", `,"resultType":"task"`), nil},
		{"a type of an extension that cannot be judged", Discovers(withUnknown) + AsksWith(withUnknown, "1", "tools/call", "") + Gives("1", `,"resultType":"strange"`), nil},
		{"a type of an extension that both declare", Discovers(WithTasks) + AsksWith(WithTasks, "1", "tools/call", "") + Gives("1", `,"resultType":"task"`), nil},
		{"a type of an extension that the client lacks", Discovers(WithTasks) + call + Gives("1", `,"resultType":"task"`), []string{"versioning.extensions.fallback"}},
		{"some type while the client lacks an extension", Discovers(withUnknown) + call + Gives("1", `,"resultType":"strange"`), []string{"versioning.extensions.fallback"}},
		{"another type than the extension's", Discovers(WithTasks) + AsksWith(WithTasks, "1", "tools/call", "") + Gives("1", `,"resultType":"job"`), []string{"base.result-type.known"}},
		{"no server info", call + `s {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete"}}`, []string{"base.fields.server-info"}},
		{"results of the other era", legacyOpens + `
			c {"jsonrpc":"2.0","id":2,"method":"tools/list"}
			s {"jsonrpc":"2.0","id":2,"result":{"tools":[]}}
		`, nil},
		{"results of another revision", strings.ReplaceAll(list, "2026-07-28", "DRAFT-2027-v1") + `s {"jsonrpc":"2.0","id":1,"result":{}}`, nil},
		{"errors of the other era", legacyOpens + `c {"jsonrpc":"2.0","id":2,"method":"resources/read","params":{"uri":"a:b"}}` + "\n" + Refuses("2", "-32002", ""), nil},

		{"the code of a resource that is not there", call + Refuses("1", "-32002", ""), []string{"base.errors.retired-codes"}},
		{"the code of a URL to visit", call + Refuses("1", "-32042", ""), []string{"base.errors.retired-codes"}},
		{"the first legacy code", call + Refuses("1", "-32000", ""), []string{"base.errors.legacy-codes"}},
		{"the last legacy code", call + Refuses("1", "-32019", ""), []string{"base.errors.legacy-codes"}},
		{"a legacy code without an id", `s {"jsonrpc":"2.0","error":{"code":-32000,"message":"m"}}`, nil},
		{"the last reserved code", call + Refuses("1", "-32099", ""), []string{"base.errors.reserved-codes"}},
		{"a reserved code", call + Refuses("1", "-32023", ""), []string{"base.errors.reserved-codes"}},
		{"a reserved code for which a task failed", tellsTask("1", someTask+`,"status":"failed","error":{"code":-32050,"message":"m"}`+timely), []string{"base.errors.reserved-codes"}},
		{"a retired code for which a task is told to have failed", onIt("notifications/tasks", someTask+`,"status":"failed","error":{"code":-32042,"message":"m"}`+timely), []string{"base.errors.retired-codes"}},
		{"a task that failed without a code", tellsTask("1", someTask+`,"status":"failed","error":{}`+timely), nil},
		{"a code that JSON-RPC reserves", call + Refuses("1", "-32100", ""), []string{"base.errors.own-codes"}},
		{"the last code that JSON-RPC reserves", call + Refuses("1", "-32768", ""), []string{"base.errors.own-codes"}},
		{"the codes of JSON-RPC", call + Refuses("1", "-32700", "") + call + Refuses("1", "-32603", ""), nil},
		{"codes outside", call + Refuses("1", "-31999", "") + call + Refuses("1", "-32769", "") + call + Refuses("1", "404", ""), nil},

		{"headers over stdio", call + Refuses("1", "-32020", ""), []string{"base.errors.defined-meaning"}},
		{"a capability that is missing", call + Refuses("1", "-32021", `{"requiredCapabilities":{"sampling":{}}}`), nil},
		{"no capability that is missing", call + Refuses("1", "-32021", ""), []string{"base.capabilities.required"}},
		{"names of missing capabilities", call + Refuses("1", "-32021", `{"requiredCapabilities":["sampling"]}`), []string{"base.capabilities.required"}},
		{"a missing capability that is no object", call + Refuses("1", "-32021", `{"requiredCapabilities":{"sampling":true}}`), []string{"base.capabilities.required"}},
		{
			"a capability that was declared",
			AsksWith(`{"sampling":{"tools":{}}}`, "1", "tools/call", "") + Refuses("1", "-32021", `{"requiredCapabilities":{"sampling":{}}}`),
			[]string{"base.errors.defined-meaning"},
		},
		{"a part of a capability", AsksWith(`{"sampling":{}}`, "1", "tools/call", "") + Refuses("1", "-32021", `{"requiredCapabilities":{"sampling":{"tools":{}}}}`), nil},
		{"no revision is supported", call + Refuses("1", "-32022", `{"supported":[],"requested":"2026-07-28"}`), []string{"versioning.unsupported.listed"}},
		{"no revision was requested", call + Refuses("1", "-32022", `{"supported":["2027-01-01"]}`), []string{"versioning.unsupported.listed"}},
		{"another revision was requested", call + Refuses("1", "-32022", `{"supported":["2027-01-01"],"requested":"2025-11-25"}`), []string{"base.errors.defined-meaning"}},
		{"the revision is supported", call + Refuses("1", "-32022", `{"supported":["2026-07-28"],"requested":"2026-07-28"}`), []string{"base.errors.defined-meaning"}},
		{
			"the revision is supported in the other era",
			strings.ReplaceAll(list, "2026-07-28", "2025-11-25") + Refuses("1", "-32022", `{"supported":["2026-07-28","2025-11-25"],"requested":"2025-11-25"}`),
			nil,
		},
		{"another revision is supported", call + Refuses("1", "-32022", `{"supported":["2027-01-01"],"requested":"2026-07-28"}`), nil},

		{"an extension without a prefix", Discovers(`{"extensions":{"tasks":{}}}`), []string{"versioning.extensions.identifiers"}},
		{"an extension without a name that begins well", Discovers(`{"extensions":{"com.example/-x":{}}}`), []string{"versioning.extensions.identifiers"}},
		{"an extension with a label of digits", Discovers(`{"extensions":{"com.1/x":{}}}`), []string{"versioning.extensions.identifiers"}},

		{"trace context", call + `s {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{},"traceparent":"00-1"}}}`, []string{"base.meta.trace-context"}},

		{"hints", list + Gives("1", Hinted+`,"tools":[]`), nil},
		{"no hints", list + Gives("1", Final+`,"tools":[]`), []string{"caching.hints.given"}},
		{"no scope", list + Gives("1", Final+`,"ttlMs":1,"tools":[]`), []string{"caching.hints.given"}},
		{"a time below zero", list + Gives("1", Final+`,"ttlMs":-1,"cacheScope":"public"`), []string{"caching.ttl.not-negative"}},
		{"a time with a fraction", list + Gives("1", Final+`,"ttlMs":0.5,"cacheScope":"public"`), []string{"caching.ttl.integer"}},
		{"a time that is text", list + Gives("1", Final+`,"ttlMs":"60000","cacheScope":"public"`), []string{"caching.ttl.integer"}},
		{"another scope", list + Gives("1", Final+`,"ttlMs":1,"cacheScope":"shared"`), []string{"caching.scope.values"}},
		{"hints beside a question", call + Gives("1", `,"resultType":"input_required","requestState":"a","ttlMs":0`), []string{"caching.hints.interim"}},
		{
			"pages of two scopes",
			list + Gives("1", Hinted+`,"nextCursor":"b","tools":[]`) +
				AsksPlain("2", "tools/list", `"cursor":"b"`) + Gives("2", Final+`,"ttlMs":1,"cacheScope":"public","tools":[]`),
			[]string{"caching.pages.scope"},
		},
		{
			"pages of one scope and two times",
			list + Gives("1", Hinted+`,"nextCursor":"b","tools":[]`) +
				AsksPlain("2", "tools/list", `"cursor":"b"`) + Gives("2", Final+`,"ttlMs":1,"cacheScope":"private","tools":[]`),
			nil,
		},
	}
	tested := map[string]bool{}
	for _, test := range tests {
		for _, one := range test.broken {
			tested[one] = true
		}
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			found, _ := BrokenAndSeen(statelessRules, Converse(t, StatelessCell, test.script))
			if difference := cmp.Diff(append([]string{}, test.broken...), append([]string{}, found...)); difference != "" {
				t.Errorf("broken requirements (-wanted +found):\n%s", difference)
			}
		})
	}
	for _, rule := range statelessRules {
		if !tested[rule.Verifies.IDs[0]] {
			t.Errorf("no test breaks the rule %q (%s)", rule.Text, rule.Verifies.IDs[0])
		}
	}
}
