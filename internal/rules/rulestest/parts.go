package rulestest

import (
	"fmt"
	"strings"
)

// Good is what a task has beside id and status.
const Good = `"createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00.5+01:00","ttl":60000`

// AsksAsTask calls a tool as a task; Made is the answer.
func AsksAsTask(id string) string {
	return `c {"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"n","task":{},"_meta":{"progressToken":"t"}}}` + "\n"
}

// Made is the announcement of a task.
func Made(id, task, more string) string {
	return `s {"jsonrpc":"2.0","id":` + id + `,"result":{"task":{"taskId":"` + task + `","status":"working",` + Good + `}` + more + "}}\n"
}

// RandomID is a task id that cannot be guessed.
const RandomID = "WBAWGOLLOXKRJVJJTFFAF2H2WJ"

// About asks with a method about the task and answers with the result.
func About(id, method, result string) string {
	return `c {"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `","params":{"taskId":"` + RandomID + `"}}` + "\n" +
		`s {"jsonrpc":"2.0","id":` + id + `,"result":` + result + "}\n"
}

// State is the task in a status.
func State(status, more string) string {
	return `{"taskId":"` + RandomID + `","status":"` + status + `",` + Good + more + `}`
}

// OneTask is a session with one task.
var OneTask = Opening + AsksAsTask("2") + Made("2", RandomID, "")

// Headers of a good POST: both media types, and what a session has agreed on.
const (
	ListsBoth = "Accept:application/json,text/event-stream"
	AgreedOn  = "Mcp-Protocol-Version:2025-11-25 Mcp-Session-Id:s1"
)

// Asked makes a request and its result of each pair of method (with params
// after a space, if any) and result.
func Asked(pairs ...string) []string {
	lines := Handshake(`{"tools":{},"logging":{}}`)
	for i := 0; i < len(pairs); i += 2 {
		method, params, some := strings.Cut(pairs[i], " ")
		if !some {
			params = "{}"
		}
		lines = append(lines,
			fmt.Sprintf(`>{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, i, method, params),
			fmt.Sprintf(`<{"jsonrpc":"2.0","id":%d,"result":%s}`, i, pairs[i+1]))
	}
	return lines
}

// Handshake is that of a server with capabilities, for Talk.
func Handshake(capabilities string) []string {
	return []string{
		`>{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"capabilities":{}}}`,
		`<{"jsonrpc":"2.0","id":"init","result":{"protocolVersion":"2025-11-25","capabilities":` + capabilities + `,"serverInfo":{"name":"a","version":"1"}}}`,
	}
}

// Weather is a tool with an outputSchema.
const Weather = `{"name":"weather","inputSchema":{"type":"object"},"outputSchema":{"type":"object","properties":{"t":{"type":"number"}},"required":["t"]}}`

// Tools is a result of tools/list.
func Tools(definitions ...string) string { return `{"tools":[` + strings.Join(definitions, ",") + `]}` }

// Tool is a tool without parameters.
func Tool(name string) string {
	return fmt.Sprintf(`{"name":%q,"inputSchema":{"type":"object"}}`, name)
}

// Meta is what a request says of itself, of a client that declares capabilities.
func Meta(capabilities string) string {
	return `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":` + capabilities + `}`
}

// Everything is what a client of the stateless era can declare.
const Everything = `{"roots":{},"sampling":{},"elicitation":{"form":{},"url":{}}}`

// AsksOnce is a call of a tool of a client with capabilities, and the result.
func AsksOnce(capabilities, result string) string {
	return `c {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"n","arguments":{},` + Meta(
		capabilities,
	) + `}}` + "\n" +
		`s {"jsonrpc":"2.0","id":2,"result":` + result + "}\n"
}

// Needs is a result that asks for input.
func Needs(requests string) string {
	return `{"resultType":"input_required","inputRequests":{` + requests + `}}`
}

// WhoAreYou is an input request for a form.
const WhoAreYou = `"who":{"method":"elicitation/create","params":{"message":"Who?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}}}}}`

// Listens opens a subscription.
func Listens(id, filter string) string {
	return `c {"jsonrpc":"2.0","id":` + id + `,"method":"subscriptions/listen","params":{"notifications":` + filter + `,` + Meta(
		Everything,
	) + `}}` + "\n"
}

// Told is a notification on a subscription.
func Told(id, method, params string) string {
	return `s {"jsonrpc":"2.0","method":"notifications/` + method + `","params":{` + params + `"_meta":{"io.modelcontextprotocol/subscriptionId":` + id + `}}}` + "\n"
}

// Agrees acknowledges a subscription.
func Agrees(id, filter string) string {
	return Told(id, "subscriptions/acknowledged", `"notifications":`+filter+`,`)
}

// ToTools is the filter of a subscription, Ended the result that ends it.
const (
	ToTools = `{"toolsListChanged":true}`
	Ended   = `s {"jsonrpc":"2.0","id":5,"result":{"resultType":"complete","_meta":{"io.modelcontextprotocol/subscriptionId":5}}}` + "\n"
)

// Subscribed is a subscription to changes of tools that was acknowledged.
var Subscribed = Listens("5", ToTools) + Agrees("5", ToTools)

// Streamed puts a script of messages on one event stream over HTTP.
func Streamed(stream, script string) string {
	var text strings.Builder
	for line := range strings.Lines(script) {
		line = strings.TrimSpace(line)
		if words, byClient := strings.CutPrefix(line, "c "); byClient {
			text.WriteString(
				"> " + stream + " POST\nc " + stream + " " + words + "\n< " + stream + " 200 Content-Type:text/event-stream\n",
			)
		} else if words, byServer := strings.CutPrefix(line, "s "); byServer {
			text.WriteString("e " + stream + " " + words + "\n")
		}
	}
	return text.String()
}

// Opening is a handshake of 2025-11-25 over stdio, for Converse.
const Opening = `
	c {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"sampling":{}},"clientInfo":{"name":"c","version":"1"}}}
	s {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"tasks":{"requests":{"tools":{"call":{}}}},"logging":{}},"serverInfo":{"name":"s","version":"1"}}}
	c {"jsonrpc":"2.0","method":"notifications/initialized"}
`

// A ping of the client and its answer.
const (
	Pinged = `c {"jsonrpc":"2.0","id":2,"method":"ping"}` + "\n"
	Ponged = `s {"jsonrpc":"2.0","id":2,"result":{}}` + "\n"
)

// Working calls a tool with the progress token "t".
const Working = `c {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"n","_meta":{"progressToken":"t"}}}` + "\n"

// Progress is a report of progress of the server.
func Progress(token, value string) string {
	return `s {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":` + token + `,"progress":` + value + `}}` + "\n"
}

// Sampling is a request of the server.
func Sampling(id, more string) string {
	return `s {"jsonrpc":"2.0","id":` + id + `,"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1` + more + `}}` + "\n"
}

// Cancels is a cancellation by the server.
func Cancels(id string) string {
	return `s {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `}}` + "\n"
}

// AsksWith is a request of the stateless era, by a client with capabilities.
func AsksWith(capabilities, id, method, params string) string {
	if params != "" {
		params = "," + params
	}
	return fmt.Sprintf(
		`c {"jsonrpc":"2.0","id":%s,"method":%q,"params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",`+
			`"io.modelcontextprotocol/clientCapabilities":%s}%s}}`,
		id,
		method,
		capabilities,
		params,
	) + "\n"
}

// AsksPlain is a request of a client without capabilities.
func AsksPlain(id, method, params string) string { return AsksWith("{}", id, method, params) }

// Gives is a result with all that a good one has, less its closing brace.
func Gives(id, more string) string {
	return fmt.Sprintf(
		`s {"jsonrpc":"2.0","id":%s,"result":{"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s","version":"1"}}%s}}`,
		id,
		more,
	) + "\n"
}

// Final is the type of a result that is complete, Hinted adds the hints for caches.
const (
	Final  = `,"resultType":"complete"`
	Hinted = Final + `,"ttlMs":0,"cacheScope":"private"`
)

// Refuses is an error with data of the server.
func Refuses(id, code, data string) string {
	if data != "" {
		data = `,"data":` + data
	}
	return fmt.Sprintf(`s {"jsonrpc":"2.0","id":%s,"error":{"code":%s,"message":"m"%s}}`, id, code, data) + "\n"
}

// Discovers is how a server with capabilities answers server/discover.
func Discovers(capabilities string) string {
	return AsksPlain(
		"0",
		"server/discover",
		"",
	) + Gives(
		"0",
		Hinted+`,"supportedVersions":["2026-07-28"],"capabilities":`+capabilities,
	)
}

// WithTasks are capabilities with the tasks extension.
const WithTasks = `{"extensions":{"io.modelcontextprotocol/tasks":{}}}`

// A subscription to changes of tools with the id 2, and a change for it.
const (
	ListensOn2 = `{"jsonrpc":"2.0","id":2,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true}}}`
	ChangedOf2 = `{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":2}}}`
)

// Pings are so many pings of the server.
func Pings(count int) string {
	var script strings.Builder
	for id := range count {
		fmt.Fprintf(&script, "s {\"jsonrpc\":\"2.0\",\"id\":\"p%d\",\"method\":\"ping\"}\n", id)
	}
	return script.String()
}
