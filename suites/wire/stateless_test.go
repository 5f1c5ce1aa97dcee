package wire

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
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

var statelessLeg = rules.Leg{Role: protocol.ServerRole, Revision: "2026-07-28", Transport: protocol.Stdio}

// asks is a request of the stateless era, by a client with capabilities.
func asksWith(capabilities, id, method, params string) string {
	if params != "" {
		params = "," + params
	}
	return fmt.Sprintf(`c {"jsonrpc":"2.0","id":%s,"method":%q,"params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",`+
		`"io.modelcontextprotocol/clientCapabilities":%s}%s}}`, id, method, capabilities, params) + "\n"
}

func asksPlain(id, method, params string) string { return asksWith("{}", id, method, params) }

// gives is a result with all that a good one has, less its closing brace.
func gives(id, more string) string {
	return fmt.Sprintf(`s {"jsonrpc":"2.0","id":%s,"result":{"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s","version":"1"}}%s}}`, id, more) + "\n"
}

const (
	final  = `,"resultType":"complete"`
	hinted = final + `,"ttlMs":0,"cacheScope":"private"`
)

func refuses(id, code, data string) string {
	if data != "" {
		data = `,"data":` + data
	}
	return fmt.Sprintf(`s {"jsonrpc":"2.0","id":%s,"error":{"code":%s,"message":"m"%s}}`, id, code, data) + "\n"
}

// discovers is how a server with capabilities answers server/discover.
func discovers(capabilities string) string {
	return asksPlain("0", "server/discover", "") + gives("0", hinted+`,"supportedVersions":["2026-07-28"],"capabilities":`+capabilities)
}

const (
	withTasks   = `{"extensions":{"io.modelcontextprotocol/tasks":{}}}`
	withUnknown = `{"extensions":{"com.example/unknown":{}}}`
	legacyOpens = `
		c {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}
		s {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}
	`
)

func TestStatelessRules(t *testing.T) {
	t.Parallel()
	call := asksPlain("1", "tools/call", `"name":"n"`)
	list := asksPlain("1", "tools/list", "")
	tests := []struct {
		name   string
		script string
		broken []string
	}{
		{"all good", discovers("{}") + call + gives("1", final), nil},
		{"no type", call + gives("1", ""), []string{"base.result-type.given"}},
		{"a type that is no string", call + gives("1", `,"resultType":1`), []string{"base.result-type.given"}},
		{"a type that nobody declares", discovers("{}") + call + gives("1", `,"resultType":"task"`), []string{"base.result-type.known"}},
		{"a type while nothing is known of the server", call + gives("1", `,"resultType":"task"`), nil},
		{"a type of an extension that cannot be judged", discovers(withUnknown) + asksWith(withUnknown, "1", "tools/call", "") + gives("1", `,"resultType":"strange"`), nil},
		{"a type of an extension that both declare", discovers(withTasks) + asksWith(withTasks, "1", "tools/call", "") + gives("1", `,"resultType":"task"`), nil},
		{"a type of an extension that the client lacks", discovers(withTasks) + call + gives("1", `,"resultType":"task"`), []string{"versioning.extensions.fallback"}},
		{"some type while the client lacks an extension", discovers(withUnknown) + call + gives("1", `,"resultType":"strange"`), []string{"versioning.extensions.fallback"}},
		{"another type than the extension's", discovers(withTasks) + asksWith(withTasks, "1", "tools/call", "") + gives("1", `,"resultType":"job"`), []string{"base.result-type.known"}},
		{"no server info", call + `s {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete"}}`, []string{"base.fields.server-info"}},
		{"results of the other era", legacyOpens + `
			c {"jsonrpc":"2.0","id":2,"method":"tools/list"}
			s {"jsonrpc":"2.0","id":2,"result":{"tools":[]}}
		`, nil},
		{"results of another revision", strings.ReplaceAll(list, "2026-07-28", "DRAFT-2027-v1") + `s {"jsonrpc":"2.0","id":1,"result":{}}`, nil},
		{"errors of the other era", legacyOpens + `c {"jsonrpc":"2.0","id":2,"method":"resources/read","params":{"uri":"a:b"}}` + "\n" + refuses("2", "-32002", ""), nil},

		{"the code of a resource that is not there", call + refuses("1", "-32002", ""), []string{"base.errors.retired-codes"}},
		{"the code of a URL to visit", call + refuses("1", "-32042", ""), []string{"base.errors.retired-codes"}},
		{"the first legacy code", call + refuses("1", "-32000", ""), []string{"base.errors.legacy-codes"}},
		{"the last legacy code", call + refuses("1", "-32019", ""), []string{"base.errors.legacy-codes"}},
		{"a legacy code without an id", `s {"jsonrpc":"2.0","error":{"code":-32000,"message":"m"}}`, []string{"base.errors.legacy-codes"}},
		{"the last reserved code", call + refuses("1", "-32099", ""), []string{"base.errors.reserved-codes"}},
		{"a reserved code", call + refuses("1", "-32023", ""), []string{"base.errors.reserved-codes"}},
		{"a code that JSON-RPC reserves", call + refuses("1", "-32100", ""), []string{"base.errors.own-codes"}},
		{"the last code that JSON-RPC reserves", call + refuses("1", "-32768", ""), []string{"base.errors.own-codes"}},
		{"the codes of JSON-RPC", call + refuses("1", "-32700", "") + call + refuses("1", "-32603", ""), nil},
		{"codes outside", call + refuses("1", "-31999", "") + call + refuses("1", "-32769", "") + call + refuses("1", "404", ""), nil},

		{"headers over stdio", call + refuses("1", "-32020", ""), []string{"base.errors.defined-meaning"}},
		{"a capability that is missing", call + refuses("1", "-32021", `{"requiredCapabilities":{"sampling":{}}}`), nil},
		{"no capability that is missing", call + refuses("1", "-32021", ""), []string{"base.capabilities.required"}},
		{"names of missing capabilities", call + refuses("1", "-32021", `{"requiredCapabilities":["sampling"]}`), []string{"base.capabilities.required"}},
		{"a missing capability that is no object", call + refuses("1", "-32021", `{"requiredCapabilities":{"sampling":true}}`), []string{"base.capabilities.required"}},
		{
			"a capability that was declared",
			asksWith(`{"sampling":{"tools":{}}}`, "1", "tools/call", "") + refuses("1", "-32021", `{"requiredCapabilities":{"sampling":{}}}`),
			[]string{"base.errors.defined-meaning"},
		},
		{"a part of a capability", asksWith(`{"sampling":{}}`, "1", "tools/call", "") + refuses("1", "-32021", `{"requiredCapabilities":{"sampling":{"tools":{}}}}`), nil},
		{"no revision is supported", call + refuses("1", "-32022", `{"supported":[],"requested":"2026-07-28"}`), []string{"versioning.unsupported.listed"}},
		{"no revision was requested", call + refuses("1", "-32022", `{"supported":["2027-01-01"]}`), []string{"versioning.unsupported.listed"}},
		{"another revision was requested", call + refuses("1", "-32022", `{"supported":["2027-01-01"],"requested":"2025-11-25"}`), []string{"base.errors.defined-meaning"}},
		{"the revision is supported", call + refuses("1", "-32022", `{"supported":["2026-07-28"],"requested":"2026-07-28"}`), []string{"base.errors.defined-meaning"}},
		{
			"the revision is supported in the other era",
			strings.ReplaceAll(list, "2026-07-28", "2025-11-25") + refuses("1", "-32022", `{"supported":["2026-07-28","2025-11-25"],"requested":"2025-11-25"}`),
			nil,
		},
		{"another revision is supported", call + refuses("1", "-32022", `{"supported":["2027-01-01"],"requested":"2026-07-28"}`), nil},

		{"an extension without a prefix", discovers(`{"extensions":{"tasks":{}}}`), []string{"versioning.extensions.identifiers"}},
		{"an extension without a name that begins well", discovers(`{"extensions":{"com.example/-x":{}}}`), []string{"versioning.extensions.identifiers"}},
		{"an extension with a label of digits", discovers(`{"extensions":{"com.1/x":{}}}`), []string{"versioning.extensions.identifiers"}},

		{"trace context", call + `s {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{},"traceparent":"00-1"}}}`, []string{"base.meta.trace-context"}},

		{"hints", list + gives("1", hinted+`,"tools":[]`), nil},
		{"no hints", list + gives("1", final+`,"tools":[]`), []string{"caching.hints.given"}},
		{"no scope", list + gives("1", final+`,"ttlMs":1,"tools":[]`), []string{"caching.hints.given"}},
		{"a time below zero", list + gives("1", final+`,"ttlMs":-1,"cacheScope":"public"`), []string{"caching.ttl.not-negative"}},
		{"a time with a fraction", list + gives("1", final+`,"ttlMs":0.5,"cacheScope":"public"`), []string{"caching.ttl.integer"}},
		{"a time that is text", list + gives("1", final+`,"ttlMs":"60000","cacheScope":"public"`), []string{"caching.ttl.integer"}},
		{"another scope", list + gives("1", final+`,"ttlMs":1,"cacheScope":"shared"`), []string{"caching.scope.values"}},
		{"hints beside a question", call + gives("1", `,"resultType":"input_required","requestState":"a","ttlMs":0`), []string{"caching.hints.interim"}},
		{
			"pages of two scopes",
			list + gives("1", hinted+`,"nextCursor":"b","tools":[]`) +
				asksPlain("2", "tools/list", `"cursor":"b"`) + gives("2", final+`,"ttlMs":1,"cacheScope":"public","tools":[]`),
			[]string{"caching.pages.scope"},
		},
		{
			"pages of one scope and two times",
			list + gives("1", hinted+`,"nextCursor":"b","tools":[]`) +
				asksPlain("2", "tools/list", `"cursor":"b"`) + gives("2", final+`,"ttlMs":1,"cacheScope":"private","tools":[]`),
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
			found, _ := brokenAndSeen(statelessRules, converse(t, statelessLeg, test.script))
			if difference := cmp.Diff(append([]string{}, test.broken...), append([]string{}, found...)); difference != "" {
				t.Errorf("broken requirements (-wanted +found):\n%s", difference)
			}
		})
	}
	for _, rule := range statelessRules {
		if !tested[rule.Requirements[0]] {
			t.Errorf("no test breaks the rule %q (%s)", rule.Text, rule.Requirements[0])
		}
	}
}

func TestTheSchemaLeavesTheirPlacesToStatelessRules(t *testing.T) {
	t.Parallel()
	list := asksPlain("1", "tools/list", "")
	for name, script := range map[string]string{
		"no type and no hints": list + gives("1", `,"tools":[]`),
		"wrong hints":          list + gives("1", final+`,"ttlMs":"1","cacheScope":1,"tools":[]`),
		"data of an error":     list + refuses("1", "-32021", ""),
		"data of another":      list + refuses("1", "-32022", `{"supported":"2026-07-28"}`),
		"another revision":     strings.ReplaceAll(list, "2026-07-28", "DRAFT-2027-v1") + `s {"jsonrpc":"2.0","id":1,"result":{}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if found, _ := brokenAndSeen(schemaRules(), converse(t, statelessLeg, script)); len(found) > 0 {
				t.Errorf("the schema finds %v as well", found)
			}
		})
	}
}

func TestTraceContextFormats(t *testing.T) {
	t.Parallel()
	const ids = "0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7"
	for _, test := range []struct {
		holds func(string) bool
		text  string
		good  bool
	}{
		{isTraceParent, "00-" + ids + "-01", true},
		{isTraceParent, "cc-" + ids + "-01-what-comes-later", true},
		{isTraceParent, "00-" + ids + "-01-more", false},
		{isTraceParent, "ff-" + ids + "-01", false},
		{isTraceParent, "00-" + ids, false},
		{isTraceParent, "00-0AF7651916CD43DD8448EB211C80319C-00f067aa0ba902b7-01", false},
		{isTraceParent, "00-00000000000000000000000000000000-00f067aa0ba902b7-01", false},
		{isTraceParent, "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01", false},
		{isTraceState, "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE", true},
		{isTraceState, "fw529a3039@dt=FfP_j20=", false},
		{isTraceState, "a=1, ,b=2,", true},
		{isTraceState, "a=1,a=2", false},
		{isTraceState, "A=1", false},
		{isTraceState, "a", false},
		{isBaggage, "userId=alice,serverNode=DF%2028,isProduction=false", true},
		{isBaggage, "key1=value1;property1;property2, key2 = value2, key3=value3; propertyKey=propertyValue", true},
		{isBaggage, "k=", true},
		{isBaggage, "", false},
		{isBaggage, "userId", false},
		{isBaggage, "user id=alice", false},
		{isBaggage, `k="quoted"`, false},
	} {
		if test.holds(test.text) != test.good {
			t.Errorf("%q: taken for good: %v", test.text, !test.good)
		}
	}
}
