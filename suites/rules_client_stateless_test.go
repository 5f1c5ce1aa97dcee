package suites_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	. "github.com/mcpconform/mcpconform/internal/rules/rulestest"
	"github.com/mcpconform/mcpconform/internal/transport"
)

// asksAs is a request of a client of the stateless era, in order.
func asksAs(capabilities, id, method, params string) string {
	if params != "" {
		params = "," + params
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",`+
		`"io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":%s}%s}}`,
		id, method, capabilities, params)
}

func says(id, method, params string) string { return "c " + asksAs("{}", id, method, params) + "\n" }

func saysAs(capabilities, id, method, params string) string {
	return "c " + asksAs(capabilities, id, method, params) + "\n"
}

// offers is what a server declares.
func offers(capabilities string) string {
	return says("0", "server/discover", "") + Gives("0", Hinted+`,"supportedVersions":["2026-07-28"],"capabilities":`+capabilities)
}

// needing answers a request with one for input.
func needing(id, more string) string {
	return Gives(id, `,"resultType":"input_required"`+more)
}

const (
	callN      = `"name":"n","arguments":{"a":1}`
	asksRoots  = `,"inputRequests":{"r":{"method":"roots/list"}}`
	givesRoots = `,"inputResponses":{"r":` + file + `}`
	stateA     = `,"requestState":"A"`
	hasRoots   = `{"roots":{}}`
	cancel1    = `c {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}` + "\n"
)

// roundTrip calls a tool that asks for input, and calls it again.
func roundTrip(asked, given string) string {
	return saysAs(hasRoots, "1", "tools/call", callN) + needing("1", asked) + saysAs(hasRoots, "2", "tools/call", callN+given)
}

// elicited is a round trip about a form.
func elicited(capabilities, params, response string) string {
	return saysAs(capabilities, "1", "tools/call", callN) + needing("1", `,"inputRequests":{"f":{"method":"elicitation/create","params":`+params+`}}`) +
		saysAs(capabilities, "2", "tools/call", callN+`,"inputResponses":{"f":`+response+`}`)
}

func runsTask(id, more string) string {
	return Gives(id, asTaskType+someTask+`,"status":"working"`+timely+more)
}

func polls(id, more string) string {
	return saysAs(WithTasks, id, "tasks/get", someTask) + Gives(id, Final+`,`+someTask+`,"status":"working"`+timely+more)
}

func updates(id string) string {
	return saysAs(WithTasks, id, "tasks/update", someTask+`,"inputResponses":{"f":{"action":"decline"}}`) + Gives(id, Final)
}

var statelessClientTests = []clientTest{
	{"a plain run", offers("{}") + says("1", "tools/call", callN) + Gives("1", Final), nil, "base.fields.sent"},
	{"an id again when it was answered", says("1", "tools/call", callN) + Gives("1", Final) + says("1", "tools/list", ""), nil, "base.requests.id-open"},
	{"an id again when it was cancelled", says("1", "tools/call", callN) + cancel1 + says("1", "tools/list", ""), nil, "base.requests.id-open"},
	{"an id that is open", says("1", "tools/call", callN) + says("1", "tools/list", ""), []string{"base.requests.id-open"}, ""},
	{"no _meta", `c {"jsonrpc":"2.0","id":1,"method":"tools/list"}`, []string{"base.fields.client-info", "base.fields.sent"}, ""},
	{"no capabilities", strings.Replace(says("1", "tools/list", ""), `,"io.modelcontextprotocol/clientCapabilities":{}`, "", 1), []string{"base.fields.sent"}, ""},
	{"no client", AsksPlain("1", "tools/list", ""), []string{"base.fields.client-info"}, ""},
	{"an icon from a file", strings.Replace(says("1", "tools/list", ""), `"name":"c",`, `"name":"c","icons":[{"src":"file:///i.png"}],`, 1), []string{"base.icons.source"}, ""},
	{"a strange extension", saysAs(`{"extensions":{"mine":{}}}`, "1", "tools/list", ""), []string{"versioning.extensions.identifiers"}, ""},
	{"trace context", strings.Replace(says("1", "tools/list", ""), `"_meta":{`, `"_meta":{"traceparent":"x",`, 1), []string{"base.meta.trace-context"}, ""},
	{"a response", says("1", "tools/list", "") + `s! {"jsonrpc":"2.0","id":9,"method":"ping"}` + "\n" + answersWith("9", "{}"), []string{"patterns.responses.none"}, ""},
	{"the refusal of what cannot be read", says("1", "tools/list", "") + `s! {"jsonrpc":"2.0",` + "\n" + `c {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}` + "\n", nil, "patterns.responses.none"},
	{"an answer to a notification", says("1", "tools/list", "") + Gives("1", Final) + Told("1", "notifications/tools/list_changed", "") + "c " + noAnswer, []string{"base.notifications.unanswered"}, ""},
	{"an error for what nobody can read", says("1", "tools/list", "") + `s! {"jsonrpc":"2.0","method":` + "\n" + "c " + noAnswer + "\n", nil, ""},
	{"an error for that, and then a notification", says("1", "tools/list", "") + `s! {"jsonrpc":"2.0","method":` + "\n" + "c " + noAnswer + "\n" +
		Told("1", "notifications/tools/list_changed", ""), nil, ""},
	{"a handshake", `c ` + askedToInitialize + "\n" + `s {"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"no"}}`, nil, ""},
	{"prompts of a server without", offers("{}") + says("1", "prompts/list", ""), []string{"prompts.capability.respected"}, ""},
	{"prompts of a server that was not asked", says("1", "prompts/list", ""), nil, ""},
	{"tasks of a server without", offers("{}") + polls("3", ""), []string{"versioning.extensions.fallback"}, ""},
	{"another cursor", says("1", "tools/list", "") + Gives("1", Hinted+`,"tools":[],"nextCursor":"a"`) + says("2", "tools/list", `"cursor":"b"`), []string{"pagination.cursor.unchanged"}, ""},
	{"the cursor of an answer that is read", says("1", "tools/list", "") + Gives("1", Hinted+`,"tools":[],"nextCursor":""`) + says("2", "tools/list", `"cursor":""`), nil, "pagination.cursor.unchanged"},

	{"input", roundTrip(asksRoots+stateA, givesRoots+stateA), nil, "mrtr.client.state.echoed"},
	{"a state alone", roundTrip(stateA, stateA), nil, "mrtr.client.inputs"},
	{"the same id", strings.Replace(roundTrip(asksRoots, givesRoots), `"id":2`, `"id":1`, 1), []string{"mrtr.client.id"}, ""},
	{"another state", roundTrip(asksRoots+stateA, givesRoots+`,"requestState":"a"`), []string{"mrtr.client.state.echoed"}, ""},
	{"no state", roundTrip(asksRoots+stateA, givesRoots), []string{"mrtr.client.state.echoed"}, ""},
	{"a state that nobody gave", roundTrip(asksRoots, givesRoots+stateA), []string{"mrtr.client.state.none"}, ""},
	{"no input", roundTrip(asksRoots+stateA, stateA), []string{"mrtr.client.inputs"}, ""},
	{"input under another key", roundTrip(asksRoots, strings.Replace(givesRoots, `"r"`, `"R"`, 1)), []string{"mrtr.client.inputs"}, ""},
	{"input of another kind", roundTrip(asksRoots, `,"inputResponses":{"r":{"action":"decline"}}`), []string{"mrtr.client.inputs"}, ""},
	{"input for another request", saysAs(hasRoots, "1", "tools/call", callN) + needing("1", asksRoots) + saysAs(hasRoots, "2", "tools/call", `"name":"o"`+givesRoots), []string{"mrtr.client.only-retry"}, ""},
	{"input that another process asked for", saysAs(hasRoots, "2", "tools/call", callN+givesRoots+stateA), nil, ""},
	{"a cursor of another process", says("2", "tools/list", `"cursor":"b"`), nil, ""},
	{"two at once", saysAs(hasRoots, "1", "tools/call", callN) + saysAs(hasRoots, "2", "tools/call", callN) + needing("2", `,"requestState":"B"`) + needing("1", stateA) +
		saysAs(hasRoots, "3", "tools/call", callN+`,"requestState":"B"`) + saysAs(hasRoots, "4", "tools/call", callN+stateA), nil, "mrtr.client.state.echoed"},
	{"two rounds", roundTrip(asksRoots+stateA, givesRoots+stateA) + needing("2", `,"requestState":"B"`) + saysAs(hasRoots, "3", "tools/call", callN+`,"requestState":"B"`), nil, "mrtr.client.state.none"},
	{"roots that nobody declared", strings.ReplaceAll(roundTrip(asksRoots, givesRoots), hasRoots, "{}"), []string{"roots.capability.declared"}, ""},
	{"roots on the web", strings.ReplaceAll(roundTrip(asksRoots, givesRoots), "file:///a", "https://a"), []string{"roots.uri.file"}, ""},
	{"a form", elicited(onlyForm, whoForm, `{"action":"accept","content":{"age":7}}`), nil, "elicitation.content.matches"},
	{"a form with words", elicited(onlyForm, whoForm, `{"action":"accept","content":{"age":"old"}}`), []string{"elicitation.content.matches"}, ""},

	{"a task", offers(WithTasks) + saysAs(WithTasks, "1", "tools/call", callN) + runsTask("1", "") + polls("2", `,"pollIntervalMs":100`) + polls("3", ""), nil, "tasks-extension.poll.interval-respected"},
	{"a look at what is over", saysAs(WithTasks, "1", "tools/call", callN) + runsTask("1", "") +
		strings.Replace(polls("2", `,"pollIntervalMs":1000`), `"working"`, `"cancelled"`, 1) + polls("3", ""), nil, ""},
	{"a hasty poll", saysAs(WithTasks, "1", "tools/call", callN) + runsTask("1", "") + polls("2", `,"pollIntervalMs":1000`) + polls("3", ""), []string{"tasks-extension.poll.interval-respected"}, ""},
	{"input twice", updates("1") + updates("2"), []string{"tasks-extension.input.answered-once"}, ""},
	{"the cancellation of a task", saysAs(WithTasks, "1", "tools/call", callN) + runsTask("1", "") + polls("2", "") + cancel1, []string{"tasks-extension.cancel.by-request"}, ""},
	{"the cancellation of a task that crossed it", saysAs(WithTasks, "1", "tools/call", callN) + runsTask("1", "") + cancel1, nil, ""},
}

// TestStatelessClients judges clients of the stateless era over stdio.
func TestStatelessClients(t *testing.T) {
	t.Parallel()
	testClients(t, statelessClient, statelessClientTests, Converse)
}

// mirrored is a POST with the headers that its method asks for, and others.
func mirrored(id, method, params, headers string) string {
	return posted("post-"+id, ListsBoth+" Mcp-Protocol-Version:2026-07-28 Mcp-Method:"+method+headers, asksAs("{}", id, method, params),
		fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete"}}`, id))
}

// designates lists a tool with headers for its parameters, and calls it.
func designates(arguments, headers string) string {
	const tools = `{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","tools":[{"name":"n","inputSchema":{"type":"object","properties":{` +
		`"region":{"type":"string","x-mcp-header":"Region"},"count":{"type":"integer","x-mcp-header":"Count"},"dry":{"type":"boolean","x-mcp-header":"Dry"}}}}]}}`
	return posted("post-1", ListsBoth+" Mcp-Protocol-Version:2026-07-28 Mcp-Method:tools/list", asksAs("{}", "1", "tools/list", ""), tools) +
		mirrored("2", "tools/call", `"name":"n","arguments":`+arguments, " Mcp-Name:n"+headers)
}

func gets(name, sent string) string {
	text, _ := json.Marshal(name)
	return mirrored("1", "prompts/get", `"name":`+string(text), " Mcp-Name:"+sent)
}

var (
	encodedUmlaut = transport.EncodedHeaderValue("grüß")
	literal       = "=?base64?literal?="
)

var statelessHTTPTests = []clientTest{
	{"a call", mirrored("1", "tools/call", callN, " Mcp-Name:n"), nil, "transports.http.headers.sent"},
	{"no version", posted("post-1", ListsBoth+" Mcp-Method:tools/list", asksAs("{}", "1", "tools/list", ""), emptyList), []string{"transports.http.version.each"}, ""},
	{"another version", posted("post-1", ListsBoth+" Mcp-Protocol-Version:2025-11-25 Mcp-Method:tools/list", asksAs("{}", "1", "tools/list", ""), emptyList), []string{"transports.http.version.same"}, ""},
	{"no method", posted("post-1", ListsBoth+" Mcp-Protocol-Version:2026-07-28", asksAs("{}", "1", "tools/list", ""), emptyList), []string{"transports.http.headers.sent"}, ""},
	{"no name", mirrored("1", "tools/call", callN, ""), []string{"transports.http.headers.sent"}, ""},
	{"another name", mirrored("1", "tools/call", callN, " Mcp-Name:o"), []string{"transports.http.headers.sent"}, ""},
	{"JSON alone", strings.Replace(mirrored("1", "tools/call", callN, " Mcp-Name:n"), ListsBoth, "Accept:application/json", 1), []string{"transports.http.post.accept"}, ""},
	{"a response", mirrored("1", "tools/call", callN, " Mcp-Name:n") + posted("post-2", ListsBoth, saysHi, ""), []string{"patterns.responses.none"}, ""},
	{"an encoded name", gets("grüß", encodedUmlaut), nil, "transports.http.encoding.values"},
	{"a name that is encoded without need", gets("plain", transport.EncodedHeaderValue("plain")), nil, "transports.http.headers.sent"},
	{"a name as it is", gets("grüß", "grüß"), []string{"transports.http.encoding.values"}, ""},
	{"a name encoded otherwise", gets("grüß", "gr%C3%BC%C3%9F"), []string{"transports.http.encoding.values"}, ""},
	{"markers in upper case", gets("grüß", strings.Replace(encodedUmlaut, "base64", "BASE64", 1)), []string{"transports.http.encoding.markers-by-clients"}, ""},
	{"an ambiguous name", gets(literal, transport.EncodedHeaderValue(literal)), nil, "transports.http.encoding.ambiguous"},
	{"an ambiguous name as it is", gets(literal, literal), []string{"transports.http.encoding.ambiguous"}, ""},

	{"arguments", designates(`{"region":"eu","count":42,"dry":false}`, " Mcp-Param-Region:eu Mcp-Param-Count:42 Mcp-Param-Dry:false"), nil, "transports.http.params.sent"},
	{"no arguments", designates(`{"region":null}`, ""), nil, "transports.http.params.omitted"},
	{"an argument without its header", designates(`{"region":"eu"}`, ""), []string{"transports.http.params.sent"}, ""},
	{"another value", designates(`{"count":42}`, " Mcp-Param-Count:43"), []string{"transports.http.params.sent"}, ""},
	{"a header without its argument", designates(`{}`, " Mcp-Param-Region:"), []string{"transports.http.params.omitted"}, ""},
	{"a header for null", designates(`{"region":null}`, " Mcp-Param-Region:null"), []string{"transports.http.params.omitted"}, ""},
	{"a large integer", designates(`{"count":9007199254740993}`, " Mcp-Param-Count:9007199254740993"), []string{"transports.http.params.safe-integers"}, ""},
	{"the largest integer", designates(`{"count":-9007199254740991}`, " Mcp-Param-Count:-9007199254740991"), nil, "transports.http.params.safe-integers"},
	{"a tool that was not listed", mirrored("1", "tools/call", `"name":"n","arguments":{"region":"eu"}`, " Mcp-Name:n"), nil, ""},
	{"a task", posted("post-1", ListsBoth+" Mcp-Protocol-Version:2026-07-28 Mcp-Method:tasks/get Mcp-Name:x", asksAs(WithTasks, "1", "tasks/get", `"taskId":"x"`), emptyList), nil, "tasks-extension.routing.name"},
	{"another task", posted("post-1", ListsBoth+" Mcp-Protocol-Version:2026-07-28 Mcp-Method:tasks/get Mcp-Name:y", asksAs(WithTasks, "1", "tasks/get", `"taskId":"x"`), emptyList), []string{"tasks-extension.routing.name"}, ""},
}

// TestStatelessHTTPClients judges clients of the stateless era over HTTP.
func TestStatelessHTTPClients(t *testing.T) {
	t.Parallel()
	testClients(t, statelessHTTP, statelessHTTPTests, CarryFor)
}
