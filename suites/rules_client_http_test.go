package suites_test

import (
	"fmt"
	"strings"
	"testing"

	. "github.com/mcpconform/mcpconform/internal/rules/rulestest"
)

const jsonAnswer = "Content-Type:application/json"

// posted is a POST with its answer: "" for 202.
func posted(stream, headers, body, answer string) string {
	script := fmt.Sprintf("> %s POST %s\nc %s %s\n", stream, headers, stream, body)
	if answer == "" {
		return script + "< " + stream + " 202\n. " + stream + "\n"
	}
	return script + "< " + stream + " 200 " + jsonAnswer + "\ns " + stream + " " + answer + "\n. " + stream + "\n"
}

const askedToInitialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"sampling":{}},"clientInfo":{"name":"c","version":"1"}}}`

// handshaken is a handshake over HTTP.
const handshaken = answered + initialized

const answered = "> post-1 POST " + ListsBoth + "\nc post-1 " + askedToInitialize + "\n" +
	"< post-1 200 Mcp-Session-Id:s1 " + jsonAnswer + "\n" +
	`s post-1 {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}` + "\n. post-1\n"

const initialized = "> post-2 POST " + InSession + "\n" + `c post-2 {"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n< post-2 202\n. post-2\n"

const (
	asksList   = `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`
	emptyList  = `{"jsonrpc":"2.0","id":2,"result":{"tools":[]}}`
	getStream  = "> get-1 GET Accept:text/event-stream " + AgreedOn + "\n" + "< get-1 200 Content-Type:text/event-stream\n"
	wantsHi    = `e get-1 {"jsonrpc":"2.0","id":7,"method":"sampling/createMessage","params":{"messages":[],"maxTokens":9,"_meta":{"progressToken":"t"}}}` + "\n"
	saysHi     = `{"jsonrpc":"2.0","id":7,"result":` + hi + `}`
	firstStep  = `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":1}}`
	secondStep = `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":2}}`
	noAnswer   = `{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"?"}}`
)

// pinged is the beginning of a handshake in which the server pings before it answers.
var pinged = strings.Replace(
	answered, jsonAnswer+"\ns post-1", "Content-Type:text/event-stream\n"+`e post-1 {"jsonrpc":"2.0","id":7,"method":"ping"}`+"\ne post-1", 1,
)

// pong is the answer to that ping.
const pong = `{"jsonrpc":"2.0","id":7,"result":{}}`

// strayPong is it under the id of no request.
const strayPong = `{"jsonrpc":"2.0","id":"7","result":{}}`

// unfinished is a POST that is not answered yet.
func unfinished(stream, body string) string {
	return fmt.Sprintf("> %s POST %s\nc %s %s\n", stream, InSession, stream, body)
}

var clientHTTPTests = []clientTest{
	{"a session", handshaken + getStream + posted("post-3", InSession, asksList, emptyList) + "> delete-1 DELETE " + AgreedOn + "\n< delete-1 200\n", nil, "transports.http.session.sent"},
	{"a list of authorization servers", "> get-0 GET Path:.well-known/oauth\n< get-0 404\n" + handshaken + "> get-1 GET Path:.well-known/oauth\n< get-1 404\n", nil, "transports.http.version.sent"},
	{"a browser that asks before", handshaken + "> options-1 OPTIONS\n< options-1 204\n" + posted("post-3", InSession, asksList, emptyList), nil, "transports.http.version.sent"},
	{"no version", handshaken + posted("post-3", ListsBoth+" Mcp-Session-Id:s1", asksList, emptyList), []string{"transports.http.version.sent"}, ""},
	{"a list before it is initialized", strings.Replace(handshaken, "> post-2", posted("post-0", ListsBoth, asksList, emptyList)+"> post-2", 1), nil, "transports.http.version.sent"},
	{"the answer to a ping before that to initialize", pinged + initialized + posted("post-3", ListsBoth, pong, ""), nil, ""},
	{"its answer under another id", pinged + initialized + posted("post-3", ListsBoth, strayPong, ""), []string{"base.responses.id"}, ""},
	{"its answer, and one under another id", pinged + initialized + posted("post-3", ListsBoth, pong, "") + posted("post-4", ListsBoth, strayPong, ""), []string{"base.responses.id", "transports.http.session.sent", "transports.http.version.sent"}, ""},
	{"a client that leaves after such a ping", pinged + posted("post-2", InSession, pong, "") + "> delete-1 DELETE Mcp-Session-Id:s1\n< delete-1 200\n", nil, ""},
	{"a client that goes on after such a ping", pinged + posted("post-2", InSession, pong, "") + posted("post-3", ListsBoth+" Mcp-Session-Id:s1", asksList, emptyList), []string{"lifecycle.initialized.sent", "transports.http.version.sent"}, ""},
	{"no version in a GET", handshaken + "> get-1 GET Accept:text/event-stream Mcp-Session-Id:s1\n< get-1 405\n", []string{"transports.http.version.sent"}, ""},
	{"another version", handshaken + posted("post-3", ListsBoth+" Mcp-Session-Id:s1 Mcp-Protocol-Version:2025-06-18", asksList, emptyList), []string{"transports.http.version.negotiated"}, ""},
	{"no session", handshaken + posted("post-3", ListsBoth+" Mcp-Protocol-Version:2025-11-25", asksList, emptyList), []string{"transports.http.session.sent"}, ""},
	{"another session", handshaken + posted("post-3", ListsBoth+" Mcp-Protocol-Version:2025-11-25 Mcp-Session-Id:s2", asksList, emptyList), []string{"transports.http.session.sent"}, ""},
	{"a server without sessions", strings.ReplaceAll(handshaken, " Mcp-Session-Id:s1", "") + posted("post-3", ListsBoth+" Mcp-Protocol-Version:2025-11-25", asksList, emptyList), nil, "transports.http.version.sent"},
	{"JSON alone", handshaken + posted("post-3", "Accept:application/json "+AgreedOn, asksList, emptyList), []string{"transports.http.post.accept"}, ""},
	{"types with parameters", handshaken + posted("post-3", "Accept:application/json;q=0.9,text/event-stream;q=0.8,*/* "+AgreedOn, asksList, emptyList), nil, "transports.http.post.accept"},
	{"anything", handshaken + posted("post-3", "Accept:*/* "+AgreedOn, asksList, emptyList), []string{"transports.http.post.accept"}, ""},
	{"JSON from a GET", handshaken + "> get-1 GET Accept:application/json " + AgreedOn + "\n< get-1 405\n", []string{"transports.http.get.accept"}, ""},
	{"a message by PUT", handshaken + "> put-1 PUT " + InSession + "\nc put-1 " + asksList + "\n< put-1 405\n", []string{"transports.http.post.each"}, ""},
	{"a message to another address", handshaken + posted("post-3", "Path:messages "+InSession, asksList, emptyList), []string{"transports.http.post.each"}, ""},
	{"two addresses of an older server", "> post-0 POST " + ListsBoth + "\nc post-0 " + askedToInitialize + "\n< post-0 405\n. post-0\n" +
		"> get-0 GET Accept:text/event-stream\n< get-0 200 Content-Type:text/event-stream\ne get-0 =endpoint data\n" + posted("post-1", "Path:messages", askedToInitialize, ""), nil, "transports.http.post.each"},

	{"an answer to a notification", handshaken + getStream + `e get-1 {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}` + "\n" + posted("post-3", InSession, noAnswer, ""), []string{"base.notifications.unanswered"}, ""},
	{"a request again that HTTP refused", handshaken + "> post-3 POST " + InSession + "\nc post-3 " + asksList + "\n< post-3 503\n. post-3\n" + posted("post-4", InSession, asksList, emptyList), nil, "base.requests.id-unused"},
	{"an answer again that HTTP refused", handshaken + getStream + wantsHi + "> post-3 POST " + InSession + "\nc post-3 " + saysHi + "\n< post-3 503\n. post-3\n" + posted("post-4", InSession, saysHi, ""), nil, "base.requests.answered-once"},
	{"progress", handshaken + getStream + wantsHi + posted("post-3", InSession, firstStep, "") + posted("post-4", InSession, secondStep, "") + posted("post-5", InSession, saysHi, ""), nil, "progress.increases"},
	{"progress after the answer", handshaken + getStream + wantsHi + posted("post-3", InSession, saysHi, "") + posted("post-4", InSession, firstStep, ""), []string{"progress.token.in-progress"}, ""},
	{"progress that the answer overtook", handshaken + getStream + wantsHi + unfinished("post-3", saysHi) + unfinished("post-4", firstStep), nil, "progress.token.in-progress"},
	{"a cancellation that overtook its request", handshaken + unfinished("post-3", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`) + unfinished("post-4", asksList), nil, "cancellation.own-requests"},
	{"progress backwards", handshaken + getStream + wantsHi + posted("post-3", InSession, secondStep, "") + posted("post-4", InSession, firstStep, "") + posted("post-5", InSession, saysHi, ""), []string{"progress.increases"}, ""},
	{"progress that overtook another", handshaken + getStream + wantsHi + unfinished("post-3", secondStep) + unfinished("post-4", firstStep), nil, ""},
}

// TestHTTPClients judges clients of the handshake era over HTTP.
func TestHTTPClients(t *testing.T) {
	t.Parallel()
	testClients(t, clientHTTP, clientHTTPTests, CarryFor)
}
