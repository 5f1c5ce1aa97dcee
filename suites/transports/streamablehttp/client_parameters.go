package streamablehttp

import (
	"net/http"
	"slices"
	"sync/atomic"

	. "github.com/mcpconform/mcpconform/internal/check"
	. "github.com/mcpconform/mcpconform/internal/clientrun"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/mcp"
	"github.com/mcpconform/mcpconform/internal/protocol"
	. "github.com/mcpconform/mcpconform/internal/scenario"
	"github.com/mcpconform/mcpconform/internal/scripted"
)

// designated is the schema of a parameter that goes into a header.
func designated(kind, header string) Object { return Object{"type": kind, "x-mcp-header": header} }

func schemaOf(properties Object) Object { return Object{"type": "object", "properties": properties} }

// routeTool has parameters of all kinds that can go into headers.
const routeTool = "route"

// routeCalls are its arguments, call by call.
var routeCalls = []Object{
	{
		"region": "us-west1", "priority": 42, "urgent": true, "via": Object{"city": "Hello, 世界"}, "query": "SELECT 1",
		"note": "us west 1", "method": "test-method",
	},
	{"region": "=?base64?literal?=", "priority": -7, "urgent": false, "via": Object{"city": " padded "}, "note": "", "method": " us-west1"},
	{"region": "line1\nline2", "priority": 9007199254740991, "note": "us-west1 ", "method": "\tindented"},
	{"region": nil, "via": Object{}, "note": "line1\r\nline2", "priority": 0},
}

// Resources whose URIs must be compared as text, without decoding.
const (
	spacedURI = "file:///path/to/file%20name.txt"
	queryURI  = "https://example.com/resource?id=123"
)

// Prompts whose names no header can carry as they are.
const (
	promptOfLetters = "Grüße"
	promptOfMarks   = "=?base64?R3LDvMOfZQ==?="
)

// routes is a server with such a tool and such prompts.
var routes = &Scenario{
	Name: "parameters-in-headers", Official: "http-custom-headers", Since: "2026-07-28", Over: protocol.HTTP,
	Says: "The server has a tool with x-mcp-header on its parameters, and values of all kinds.",
	Context: Object{"toolCalls": []any{
		Object{"name": routeTool, "arguments": routeCalls[0]}, Object{"name": routeTool, "arguments": routeCalls[1]},
		Object{"name": routeTool, "arguments": routeCalls[2]}, Object{"name": routeTool, "arguments": routeCalls[3]},
	}},
	Steps: Steps{
		ToConnect(),
		ToList("tools"),
		ToCall(routeTool, routeCalls[0]),
		ToCall(routeTool, routeCalls[1]),
		ToCall(routeTool, routeCalls[2]),
		ToCall(routeTool, routeCalls[3]),
		ToRead(scripted.ResourceURI),
		ToRead(spacedURI),
		ToRead(queryURI),
		ToGet(promptOfLetters, Object{}),
		ToGet(promptOfMarks, Object{}),
		ToClose(),
	},
	Server: func(server *scripted.Server) {
		server.AddTool(routeTool, schemaOf(Object{
			"region":   designated("string", "Region"),
			"priority": designated("integer", "Priority"),
			"urgent":   designated("boolean", "Urgent"),
			"via":      schemaOf(Object{"city": designated("string", "City")}),
			"note":     designated("string", "Note"),
			"method":   designated("string", "Method"), // for Mcp-Param-Method, beside Mcp-Method
			"query":    Object{"type": "string"},
		}), func(call *scripted.Call) { call.Answer(scripted.Text("on its way")) })
		server.Prompts = append(server.Prompts, Object{"name": promptOfLetters}, Object{"name": promptOfMarks})
		server.Resources = append(server.Resources, Object{"uri": spacedURI, "name": "file name.txt"}, Object{"uri": queryURI, "name": "resource"})
	},
}

// Tools with a parameter for a header: one that is right, and some that are wrong.
const (
	rightTool  = "right_header"
	deepTool   = "right_header_of_a_nested_property"
	emptyTool  = "empty_header"
	spacedTool = "header_with_a_space"
	numberTool = "header_of_a_number"
	objectTool = "header_of_an_object"
	doubleTool = "two_headers_of_one_name"
	itemsTool  = "header_of_an_item"
	listTool   = "header_of_a_list"
	nullTool   = "header_of_null"
	noneTool   = "header_that_is_null"
	twinTool   = "two_headers_alike"
	colonTool  = "header_with_a_colon"
	accentTool = "header_with_an_accent"
	tabTool    = "header_with_a_tab"
)

var wrongTools = []string{
	emptyTool, spacedTool, numberTool, objectTool, doubleTool, itemsTool,
	listTool, nullTool, noneTool, twinTool, colonTool, accentTool, tabTool,
}

// wrong is a server with tools that clients have to leave out.
var wrong = &Scenario{
	Name: "tools-that-are-left-out", Official: "http-invalid-tool-headers", Since: "2026-07-28", Over: protocol.HTTP,
	Says:  "The server has tools with invalid x-mcp-header annotations, and two with valid ones.",
	Steps: Steps{ToConnect(), ToList("tools"), ToCall(rightTool, Object{"region": "us-west1"}), ToClose()},
	Server: func(server *scripted.Server) {
		region := Object{"type": "string"}
		for _, tool := range []struct {
			name       string
			properties Object
		}{
			{rightTool, Object{"region": designated("string", "Region")}},
			{deepTool, Object{"via": schemaOf(Object{"city": designated("string", "City")})}},
			{emptyTool, Object{"region": designated("string", "")}},
			{spacedTool, Object{"region": designated("string", "My Region")}},
			{numberTool, Object{"region": region, "share": designated("number", "Share")}},
			{objectTool, Object{"region": region, "place": designated("object", "Place")}},
			{doubleTool, Object{"region": designated("string", "Region"), "other": designated("string", "REGION")}},
			{itemsTool, Object{"region": region, "list": Object{"type": "array", "items": designated("string", "Item")}}},
			{listTool, Object{"region": region, "list": designated("array", "List")}},
			{nullTool, Object{"region": region, "nothing": designated("null", "Nothing")}},
			{noneTool, Object{"region": region, "note": Object{"type": "string", "x-mcp-header": nil}}},
			{twinTool, Object{"region": designated("string", "Region"), "other": designated("string", "Region")}},
			{colonTool, Object{"region": designated("string", "Region:Primary")}},
			{accentTool, Object{"region": designated("string", "Région")}},
			{tabTool, Object{"region": designated("string", "Region\t1")}},
		} {
			server.AddTool(tool.name, schemaOf(tool.properties), func(call *scripted.Call) { call.Answer(scripted.Text("done")) })
		}
	},
}

// headerMismatch is the code of the error for headers that do not fit the body.
const headerMismatch = -32020

// moved is a server that gives a header of a tool another name when the tool is
// called first.
var moved = &Scenario{
	Name:  "parameter-that-moves",
	Since: "2026-07-28",
	Over:  protocol.HTTP,
	Says:  "The server requires an argument of add_numbers in another header than its tools/list named: it rejects the call with -32020.",
	Steps: Steps{ToConnect(), ToList("tools"), addNumbers(1), ToClose()},
	Server: func(server *scripted.Server) {
		var called atomic.Bool
		server.On("tools/list", func(call *scripted.Call) {
			header := "Left"
			if called.Load() {
				header = "Right"
			}
			call.AnswerFresh(Object{"tools": []any{
				Object{
					"name":        scripted.AddNumbers,
					"inputSchema": schemaOf(Object{"a": designated("integer", header), "b": Object{"type": "number"}}),
				},
			}}, 0)
		})
		server.On("tools/call", func(call *scripted.Call) {
			if called.Swap(true) && rightHeader(call.Exchange.Request.Header) != "" {
				call.Good()
				return
			}
			call.Exchange.Answer(http.StatusBadRequest, nil, jsonrpc.NewErrorWith(call.Message.ID, headerMismatch,
				"Header mismatch: Mcp-Param-Right is missing", nil), "")
		})
	},
}

func rightHeader(header http.Header) string { return header.Get("Mcp-Param-Right") }

// namesIn are the names of the tools that a client tells.
func namesIn(told any) []string {
	items := mcp.List(told)
	names := make([]string, len(items))
	for i, item := range items {
		names[i], _ = mcp.Object(item)["name"].(string)
	}
	return names
}

func designatedParameters() {
	It("sends the value of an x-mcp-header argument in its Mcp-Param-{Name} header", Verifies("transports.http.params.sent"), In(routes), func(t *T) {
		client := RunScenario(t)

		for _, call := range client.NeedCalls(routeTool) {
			arguments := mcp.Object(call.ParamsObject(), "arguments")
			head, there := client.HeadOf(call)
			if arguments["region"] != "us-west1" || !there {
				continue
			}
			if found := head.HTTP.Header.Get("Mcp-Param-Region"); !t.Observed(found == "us-west1") {
				client.FailEvent(head, Mismatch{Wanted: `"us-west1"`, Found: Show(found), Where: "header Mcp-Param-Region"})
			}
			return
		}
		client.InconclusiveWithout("tools/call")
	})

	It("excludes tools with an invalid x-mcp-header",
		Verifies("transports.http.params.invalid.excluded", "tools.header.rejected"), In(wrong), func(t *T) {
			client := RunScenario(t)

			list := client.NeedRequests("tools/list")[0]
			for _, call := range client.Requests("tools/call") { // no step calls such a tool
				if name, _ := call.ParamsObject()["name"].(string); slices.Contains(wrongTools, name) {
					client.Fail(call, Mismatch{Wanted: "no call of an excluded tool", Found: Show(name), Where: "/params/name"})
				}
			}
			outcome, there := client.Outcome("list-tools")
			if t.Observed(len(client.Calls(scripted.AddNumbers)) > 0 && len(client.Calls(rightTool)) > 0) {
				return // it calls all tools that it has found
			}
			if !there || outcome.Failed() {
				client.Inconclusive("the client does not report which tools it found", "tools/list")
			}
			names := namesIn(outcome.Result)
			if !t.Observed(slices.Contains(names, rightTool)) {
				client.Inconclusive("the client does not report that it found the valid tool", "tools/list")
			}
			for _, name := range names {
				if slices.Contains(wrongTools, name) {
					client.Fail(AnswerTo(list), Mismatch{
						Wanted: "a tool list in the client without " + name,
						Found:  "one with it",
						Where:  "/result/tools",
					})
				}
			}
		})

	revisingParameters()
}

func revisingParameters() {
	It("keeps a tool whose x-mcp-header is on a nested property", Verifies("base.results.accepted"), In(wrong), func(t *T) {
		client := RunScenario(t)

		list := client.NeedRequests("tools/list")[0]
		if t.Observed(len(client.Calls(deepTool)) > 0) {
			return // without a step for it: it calls all tools that it has found
		}
		outcome, there := client.Outcome("list-tools")
		if !there || outcome.Failed() {
			client.Inconclusive("the client does not report which tools it found", "tools/list")
		}
		names := namesIn(outcome.Result)
		if !slices.Contains(names, rightTool) {
			client.Inconclusive("the client does not report that it found the valid tool", "tools/list")
		}
		if !t.Observed(slices.Contains(names, deepTool)) {
			client.Fail(AnswerTo(list), Mismatch{
				Wanted: "a tool list in the client with " + deepTool,
				Found:  "one without it",
				Where:  "/result/tools",
			})
		}
	})

	It("sends tools/list and retries the tools/call after -32020 for a Mcp-Param-{Name} header",
		Verifies("transports.http.params.retried"), In(moved), func(t *T) {
			client := RunScenario(t)

			refusal := AnswerTo(client.NeedCalls(scripted.AddNumbers)[0])
			if refusal == nil {
				client.InconclusiveWithout("tools/call")
			}
			after := func(requests []*Message) []*Message {
				return slices.DeleteFunc(requests, func(request *Message) bool { return !request.Event.At.After(refusal.Event.At) })
			}
			if len(after(client.Requests("tools/list"))) == 0 {
				client.NeedFinished(client.CallOf(scripted.AddNumbers), refusal)
				client.Missing(refusal, Mismatch{Wanted: "a tools/list after this refusal", Found: "no such request"})
			}
			calls := after(client.Calls(scripted.AddNumbers))
			if len(calls) == 0 {
				client.NeedFinished(client.CallOf(scripted.AddNumbers), refusal)
				client.Missing(refusal, Mismatch{Wanted: "the call once more, after a new tools/list", Found: "no call"})
			}
			last := calls[len(calls)-1]
			if head, there := client.HeadOf(last); there && !t.Observed(rightHeader(head.HTTP.Header) != "") {
				client.Fail(last, Mismatch{
					Wanted: "the argument in the header that the new list names",
					Found:  "no such header",
					Where:  "header Mcp-Param-Right",
				})
			}
		})
}
