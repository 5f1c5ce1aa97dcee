// Package tools checks the page server/tools.
package tools

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"unicode"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/mcp"
	. "github.com/mcpconform/mcpconform/internal/offer"
	"github.com/mcpconform/mcpconform/internal/protocol"
	. "github.com/mcpconform/mcpconform/internal/refusal"
	"github.com/mcpconform/mcpconform/internal/scripted"
	. "github.com/mcpconform/mcpconform/internal/session"
	"github.com/mcpconform/mcpconform/schema"
	"github.com/mcpconform/mcpconform/suites/server/lists"
)

// unknownTool is a name that no server gives a tool.
const unknownTool = "mcpconform_tool_that_does_not_exist"

const (
	// maxTools bounds the tools that are called with wrong arguments: some show
	// as much as all.
	maxTools = 5
	// maxAttempts bounds the calls that are tried for one that succeeds.
	maxAttempts = 10
	// maxLate bounds the tools that may take longer than a reply is waited for.
	maxLate = 3
)

// urlElicitationRequired is the error of 2025-11-25 by which a server asks for
// something else before it carries out a request
// (client/elicitation#url-elicitation-required-errors).
const urlElicitationRequired = -32042

// ServerChecks registers the checks of a target server.
func ServerChecks() {
	listingTools()

	callingTools()

	arguing()

	linkingResources()
}

func listingTools() {
	Describe("Tools", func() {
		inForms()

		It("declares tools if tools/list returns any",
			Verifies("tools.capability.declared"), func(t *T) { lists.JudgeDeclaration(t, "tools", "name") })

		It("declares tools to a client that declares no capabilities, too, if tools/list returns any to it",
			Verifies("tools.capability.declared"), func(t *T) { lists.JudgeDeclarationToAll(t, "tools", "name") })

		It("returns its tools from tools/list", Verifies("tools.list.answered"), NeedsCapability("tools"), func(t *T) {
			server := Session(t)

			reply := server.Call("tools/list", nil).Must()

			t.Expect(reply).To(BeResult())
			t.Expect(reply).To(HaveMember("tools", BeAList()))
			t.Expect(server.Call("tools/list", Object{}).Must()).To(BeResult())
		})

		It("returns the tools from tools/list in the same order each time", Verifies("tools.list.ordered"), NeedsCapability("tools"), func(t *T) {
			first, second := Session(t), FreshSession(t)

			listings := [][]any{lists.Keys(first, "tools/list"), lists.Keys(first, "tools/list"), lists.Keys(second, "tools/list")}

			if len(listings[0]) < 2 {
				t.NotApplicable("the server lists fewer than two tools")
			}
			for _, again := range listings[1:] {
				if !lists.SameItems(listings[0], again) {
					t.Inconclusive("the list of tools changed in between", "check a server whose tools stay the same")
				}
				t.Demand(reflect.DeepEqual(listings[0], again), "the tools in the order "+Show(listings[0]), Show(again))
			}
		})

		It(
			"returns the same tools from tools/list on each connection",
			Verifies("tools.list.stateless"),
			NeedsCapability("tools"),
			func(t *T) { lists.StayTheSame(t, "tools/list", harmless(t)...) },
		)

		It("sends notifications/tools/list_changed when its list of tools changes", Verifies("tools.list-changed.sent"),
			NeedsCapability("tools.listChanged"), NeedsProvocation("tools-changed"), Alone(),
			func(t *T) { lists.AnnounceChanges(t, "tools") })
	})
}

func callingTools() {
	Describe("Calling tools", func() {

		It("returns a tool result from tools/call of its listed tools", Verifies("tools.call.answered"), NeedsCapability("tools"), func(t *T) {
			calls := callable(t)
			server := FreshSession(t) // a tool may leave something behind
			server.All("tools/list")  // so that rules know the tools' schemas

			var wrong []Mismatch
			judged, late := 0, 0
			for token, call := range calls {
				reply, inTime := attempt(t, server, call, token)
				if !inTime {
					late++
				}
				if late == maxLate {
					break
				}
				if !inTime || mayRefuse(t, reply) {
					continue
				}
				_, refused := reply.Error()
				_, hasContent := reply.Object()["content"].([]any)
				switch {
				case refused:
					wrong = append(wrong, Wrong(reply, "a tool result of "+call.Tool))
				case !hasContent:
					continue // the schema says what lacks
				}
				judged++
				t.Observe()
			}

			if judged == 0 {
				t.Inconclusive(
					"no tool accepted its generated arguments: "+tried(calls),
					"give arguments for a tool in mcpconform.yaml: arguments: {NAME: {…}}",
				)
			}
			t.Judge(wrong...)
		})

		callingPlainly()

		withTasks()

		unknownTools()

		malformedCalls()
	})
}

func callingPlainly() {
	It("answers tools/call without arguments for a tool that needs none", Verifies("tools.call.answered"), NeedsCapability("tools"), func(t *T) {
		server := Session(t)
		call := withoutNeeds(t, server)

		reply := server.Call("tools/call", Object{"name": call.Tool}).Must()

		t.DemandOf(reply, succeeded(reply), "the success of "+call.Tool+", as with empty arguments")
	})

	It("returns a tool result from tools/call with text of many scripts in its arguments",
		Verifies("tools.call.answered"), NeedsCapability("tools"), func(t *T) {
			server := Session(t)
			call := withText(t, server)

			reply := server.Call("tools/call", call.Call()).Must(BeAnswered)

			_, refused := reply.Error()
			t.DemandOf(reply, !refused || mayRefuse(t, reply), "a tool result of "+call.Tool)
		})
}

func withTasks() {
	It(
		"returns a tool result from tools/call without task to a client that declares tasks",
		Verifies("tools.call.answered"),
		Together("tasks"),
		NeedsCapability("tools"),
		AtRevisionsWith(protocol.Handshake),
		func(t *T) {
			call := promptly(t)
			takesTasks := Object{"requests": Object{"sampling": Object{"createMessage": Object{}}}}
			server := DeclaringSession(t, scripted.Everything(t.Revision()).With("tasks", takesTasks))

			reply := server.Call("tools/call", call.Call()).Must(BeAnswered)

			_, isTask := reply.Object()["task"]
			_, isResult := reply.Object()["content"].([]any)
			if !isTask && !isResult {
				t.Inconclusive(call.Tool+" returned no tool result: "+reply.Describe(), "fix the failures of tools/call first")
			}
			t.DemandOf(reply, !isTask, "the result of "+call.Tool+", as no task was requested")
		},
	)
}

func unknownTools() {
	It("returns a result from tools/call after it rejected an unknown tool",
		Verifies("tools.call.answered"), NeedsCapability("tools"), func(t *T) {
			plain := inOrder(callable(t))

			StillServes(t, inOrder([]Provocation{{Tool: unknownTool}})[0], plain[0], Brings("content"))
		})

	It("returns tools from tools/list after it rejected an unknown tool", Verifies("tools.list.answered"), NeedsCapability("tools"), func(t *T) {
		unknown := inOrder([]Provocation{{Tool: unknownTool}})[0]
		StillServes(t, unknown, Request{Method: "tools/list"}, Brings("tools"))
	})

	It("rejects a call of an unknown tool with a JSON-RPC error", Verifies("tools.unknown.refused"), NeedsCapability("tools"), func(t *T) {
		server := Session(t)

		reply := CallWrong(t, server, inOrder([]Provocation{{Tool: unknownTool}})[0], inOrder(harmless(t))...)

		t.Expect(reply).To(BeJSONRPCError())
	})

	It("uses -32602 when it rejects a call of an unknown tool", Verifies("tools.unknown.code"), NeedsCapability("tools"), func(t *T) {
		server := Session(t)

		reply := CallWrong(t, server, inOrder([]Provocation{{Tool: unknownTool}})[0], inOrder(harmless(t))...)

		if _, refused := reply.Error(); !refused {
			t.Inconclusive("the call of an unknown tool was not rejected with an error", "see the result of tools.unknown.refused")
		}
		t.Expect(reply).To(BeJSONRPCError(jsonrpc.InvalidParams))
	})
}

func malformedCalls() {
	It("rejects tools/call without name with a JSON-RPC error", Verifies("tools.malformed.refused"), NeedsCapability("tools"), func(t *T) {
		server := Session(t)

		reply := CallWrong(t, server, Request{Method: "tools/call", Params: Object{"arguments": Object{}}, Name: "name"}, inOrder(harmless(t))...)

		t.Expect(reply).To(BeJSONRPCError())
	})

	It("rejects tools/call with arguments that are an array or a string with a JSON-RPC error",
		Verifies("tools.malformed.refused"), NeedsCapability("tools"), func(t *T) {
			calls := harmless(t)
			if len(calls) == 0 {
				t.NotApplicable("the server has no callable tool")
			}
			server := FreshSession(t)

			for _, wrong := range []any{[]any{}, "mcpconform"} {
				reply := CallWrong(t, server,
					Request{
						Method:     "tools/call",
						Params:     Object{"name": calls[0].Tool, "arguments": wrong},
						Name:       "arguments",
						Deliberate: "has arguments that are not an object",
					},
					inOrder(calls)...)

				t.Expect(reply).To(BeJSONRPCError())
			}
		})

	It("treats tool names as case-sensitive", Verifies("tools.name.case-sensitive"), NeedsCapability("tools"), func(t *T) {
		server := Session(t)
		call := renamed(t, server)

		reply := server.Call("tools/call", call.Call()).Must()

		t.DemandOf(reply, !succeeded(reply), "no tool to be found by the name "+call.Tool)
	})
}

func arguing() {
	Describe("Arguments of tools", func() {

		It("rejects a tool call without a required argument", Verifies("tools.inputs.validated"), NeedsCapability("tools"), func(t *T) {
			calls := some(t, withoutRequired(t), "no callable tool has a required argument")

			judgeWrong(t, calls, func(call spoiledCall, reply Reply) (wanted string, broken, shown bool) {
				return "an error: " + call.Tool + " was called without a required argument", succeeded(reply), true
			})
		})

		It("rejects a tool call with an argument of the wrong type", Verifies("tools.inputs.validated"), NeedsCapability("tools"), func(t *T) {
			calls := some(t, withWrongType(t), "no callable tool has a string, number or boolean as argument")

			judgeWrong(t, calls, func(call spoiledCall, reply Reply) (wanted string, broken, shown bool) {
				return "an error: " + call.Tool + " was called with an argument of the wrong type", succeeded(reply), true
			})
		})

		It("rejects a tool call without arguments if it requires some", Verifies("tools.inputs.validated"), NeedsCapability("tools"), func(t *T) {
			calls := some(t, withoutRequired(t), "no callable tool has a required argument")
			server := Session(t)

			judged := false
			for _, call := range calls {
				reply := server.Call("tools/call", Object{"name": call.Tool}).May(BeLate)
				refuses := reply.Refuses() &&
					Contrasts(server, reply, call.wrong, inOrder([]Provocation{call.inOrder})...)
				if reply.Late || !succeeded(reply) && !refuses {
					continue
				}
				judged = true

				t.DemandOf(reply, !succeeded(reply), "an error: "+call.Tool+" was called without arguments, and requires "+call.wrong)
			}
			if !judged {
				noneServed(t, calls)
			}
		})

		It("rejects a tool call with a number with a fraction for an integer",
			Verifies("tools.inputs.validated"), NeedsCapability("tools"), func(t *T) {
				calls := some(t, withFraction(t), "no callable tool has an integer as argument")

				judgeWrong(t, calls, func(call spoiledCall, reply Reply) (wanted string, broken, shown bool) {
					return fmt.Sprintf("an error: %s was called with %g for an integer", call.Tool, fraction), succeeded(reply), true
				})
			})

		reportingErrors()
	})
}

func reportingErrors() {
	It(
		"accepts whole numbers with a fraction of zero for integers",
		Verifies("tools.call.answered"),
		NeedsCapability("tools"),
		AtRevisionsWith(protocol.SchemaDialect), // draft 04 had it otherwise
		func(t *T) {
			server := Session(t)
			call, plain := withWholeNumber(t, server)

			request := server.Call("tools/call", call.Call(), WithID(jsonrpc.StringID("mcpconform-whole-number")))
			reply := request.Must(BeAnswered)

			t.DemandOf(reply, succeeded(reply), "the result of the same call without the fraction: "+plain.Describe())
		},
	)

	It("reports invalid tool arguments in the result with isError, not as a JSON-RPC error",
		Verifies("tools.error.invalid-input"), NeedsCapability("tools"), func(t *T) {
			calls := some(t, slices.Concat(withoutRequired(t), withWrongType(t)), "no callable tool has an argument that could be wrong")

			judgeWrong(t, calls, func(call spoiledCall, reply Reply) (wanted string, broken, shown bool) {
				_, refused := reply.Error()
				return "a tool result of " + call.Tool + " with isError", refused, !succeeded(reply)
			})
		})

	It("reports an error of a tool in the result with isError",
		Verifies("tools.error.in-result"), NeedsCapability("tools"), NeedsProvocation("error"), func(t *T) {
			server := Session(t)

			reply := server.Call("tools/call", Provoking(t, "error").Call()).Need()

			if controls := inOrder(harmless(t)); len(controls) > 0 {
				NeedContrast(t, server, reply, "", controls...)
			}
			t.Expect(reply).To(BeResult())
			t.Expect(reply).To(HaveMember("isError", true))
		})
}

func linkingResources() {
	Describe("Resource links", func() {

		It("answers resources/read of a resource_link that a tool returned", Verifies("tools.resource-link.readable"),
			NeedsCapability("resources"), NeedsProvocation("resource-link"),
			func(t *T) {
				server := Session(t)

				result := server.Call("tools/call", Provoking(t, "resource-link").Call()).Need().Result()
				links := readableLinks(result)
				if len(links) == 0 {
					t.Inconclusive(
						"the tool returned no resource_link to a resource of the server",
						"make sure that the tool for resource-link returns one",
					)
				}

				for _, uri := range links {
					t.Expect(server.Call("resources/read", Object{"uri": uri}).Must()).To(HaveMember("contents", BeAList()))
				}
			})
	})
}

// apart are the kinds of provocations whose tools are called by their own
// checks only: they disturb other checks, take time and show nothing more, or
// fail on purpose.
var apart = []string{
	"tools-changed", "resources-changed", "prompts-changed", "resource-updated",
	"slow", "task-slow", "stream-closed", "error",
}

// harmless returns the calls that the policy allows and that no check of their own
// needs. Tools that can be called only as tasks belong to the checks of that page.
func harmless(t *T) []Provocation {
	calls, _ := CallableTools(t)
	kinds := apart
	if t.Has(protocol.Extensions) {
		kinds = append(slices.Clip(kinds), "task-refused", "task-required") // of the tasks extension
	}
	excluded := map[string]bool{}
	for _, kind := range kinds {
		if known, there := Named(t, kind); there {
			excluded[known.Tool] = true
		}
	}
	return slices.DeleteFunc(calls, func(call Provocation) bool {
		return excluded[call.Tool] || mcp.Text(ListedTool(t, call.Tool), "execution", "taskSupport") == "required"
	})
}

// withoutNeeds returns a call that succeeds with empty arguments.
func withoutNeeds(t *T, server *Server) Provocation {
	tried := 0
	for _, call := range harmless(t) {
		if len(call.Arguments) > 0 || tried == maxTools {
			continue
		}
		tried++
		if reply := server.Call("tools/call", call.Call()).May(BeLate); !reply.Late && succeeded(reply) {
			return call
		}
	}
	if tried == 0 {
		t.NotApplicable("each callable tool needs arguments")
	}
	t.NotApplicable("no tool succeeds when called with empty arguments")
	return Provocation{}
}

// inOrder are calls beside which the refusal of another one shows what it is about.
func inOrder(calls []Provocation) []Request {
	requests := make([]Request, len(calls))
	for index, call := range calls {
		requests[index] = Request{Method: "tools/call", Params: call.Call(), Name: call.Tool}
	}
	return requests
}

// callable returns the harmless calls; a check without any ends.
func callable(t *T) []Provocation {
	calls := harmless(t)
	_, reason := CallableTools(t)
	switch {
	case len(calls) > 0:
		return calls
	case len(ListedTools(t)) == 0:
		NoneListed(t, "tools/list", "the server lists no tool")
	case reason == "":
		t.Inconclusive("all callable tools are tested by other checks", "annotate further tools with readOnlyHint, or name them in mcpconform.yaml")
	}
	t.Inconclusive(reason, "annotate tools with readOnlyHint, name them in mcpconform.yaml, or allow all with --call-tools=all")
	return nil
}

// attempt calls a tool, with a progress token, and asking for log messages where
// each request does so. One that takes too long is cancelled.
func attempt(t *T, server *Server, call Provocation, token int) (reply Reply, inTime bool) {
	params := call.Reporting(token)
	if t.Has(protocol.LogLevelInMeta) {
		params["_meta"] = Object{"progressToken": token, mcp.MetaLogLevel: "debug"}
	}
	request := server.Call("tools/call", params)
	if err := request.Wait(); IsTimeout(err) || errors.Is(err, scripted.ErrNoAnswer) {
		server.Cancel(request)
		return reply, false
	}
	return request.Must(), true
}

// promptly returns a call to which a client without tasks gets the result in time: a tool may
// take as long as it takes, and that shows nothing.
func promptly(t *T) Provocation {
	server := Session(t)
	calls := callable(t)
	for _, call := range calls[:min(len(calls), maxLate)] {
		reply := server.Call("tools/call", call.Call()).May(BeLate)
		if _, hasContent := reply.Object()["content"].([]any); !reply.Late && hasContent {
			return call
		}
	}
	t.Inconclusive(
		"no tool returned a result in time to a client without tasks: "+tried(calls),
		"name a tool that does, with its arguments, in mcpconform.yaml: arguments: {NAME: {…}}",
	)
	return Provocation{}
}

// withWholeNumber returns a call with a whole number for an integer, written with a
// fraction of zero, and the reply to the same call without that.
func withWholeNumber(t *T, server *Server) (call Provocation, plain Reply) {
	call, name, plain := withArgument(t, server, "has an integer as argument", func(input, property Object, given any) (value any, fits bool) {
		_, saysDialect := input["$schema"]
		_, inHeader := property["x-mcp-header"]
		number := json.Number(fmt.Sprint(cmp.Or(given, property["minimum"], any(1))))
		_, err := number.Int64()
		return number, !saysDialect && !inHeader && property["type"] == "integer" && err == nil
	})
	number, _ := call.Arguments[name].(json.Number)
	call.Arguments[name] = number + ".0"
	return call, plain
}

// manyScripts is a text of which each letter takes another number of bytes.
const manyScripts = "naïve 漢字 कि 🙂"

// withText returns a call of a tool that succeeds with plain text in an argument of which
// the input schema says nothing but that it is text; it has letters of many scripts there.
func withText(t *T, server *Server) Provocation {
	call, name, _ := withArgument(t, server, "takes any text as argument", func(_, property Object, given any) (value any, fits bool) {
		plain, isText := given.(string)
		if !isText {
			plain = "mcpconform"
		}
		return plain, anyText(property)
	})
	call.Arguments[name] = manyScripts
	return call
}

// withArgument returns a call that succeeds with a value for one of its arguments, the name
// of that argument, and the reply. fits says what value an argument is to have, if any, by
// the input schema, its own, and what it is given otherwise. A check without one ends.
func withArgument(
	t *T, server *Server, kind string,
	fits func(input, property Object, given any) (value any, fits bool),
) (call Provocation, name string, reply Reply) {
	var attempts []Provocation
	for _, call := range callable(t) {
		input := mcp.Object(ListedTool(t, call.Tool), "inputSchema")
		properties := mcp.Object(input, "properties")
		for _, name := range slices.Sorted(maps.Keys(properties)) {
			value, fitting := fits(input, mcp.Object(properties, name), call.Arguments[name])
			if !fitting || len(attempts) == maxAttempts {
				continue
			}
			attempt := call
			attempt.Arguments = Object{}
			maps.Copy(attempt.Arguments, call.Arguments)
			attempt.Arguments[name] = value
			attempts = append(attempts, attempt)
			if reply := server.Call("tools/call", attempt.Call()).May(BeLate); !reply.Late && succeeded(reply) {
				return attempt, name, reply
			}
		}
	}
	if len(attempts) == 0 {
		t.NotApplicable("no callable tool " + kind)
	}
	t.Inconclusive("no tool that "+kind+" serves a call: "+tried(attempts), needing)
	return call, name, reply
}

// anyText tells whether a schema says of a value that it is text, and no more than that.
func anyText(schema map[string]any) bool {
	for name := range schema {
		if !slices.Contains([]string{"type", "title", "description", "default", "examples", "minLength"}, name) {
			return false
		}
	}
	return schema["type"] == "string"
}

// mayRefuse tells whether an error may be right although the arguments are
// those that the input schema asks for.
func mayRefuse(t *T, reply Reply) bool {
	refusal, refused := reply.Error()
	switch {
	case !t.Has(protocol.InputErrorsInResults):
		// Invalid arguments of any kind are protocol errors there.
		return refused && refusal.Code == jsonrpc.InvalidParams
	case t.Has(protocol.Extensions):
		return reply.WantsCapability(t)
	}
	return refused && refusal.Code == urlElicitationRequired
}

// succeeded tells whether a call ended well: with the content of a result that is no
// error.
func succeeded(reply Reply) bool {
	_, hasContent := reply.Object()["content"].([]any)
	return hasContent && !reply.Refuses()
}

// A spoiledCall is one with arguments that the tool's input schema does not allow.
type spoiledCall struct {
	Provocation
	wrong   string      // the name of the argument
	inOrder Provocation // the same call with nothing wrong
}

// judgeWrong makes calls with wrong arguments, and judges those whose reply is about the
// arguments: a tool that refuses good ones in the same way, or never replies in time,
// shows nothing. The judge says what was wanted of a call, and whether its reply breaks
// that, or shows nothing of it.
func judgeWrong(t *T, calls []spoiledCall, judge func(spoiledCall, Reply) (wanted string, broken, shown bool)) {
	server := Session(t)
	var all []Mismatch
	judged := 0
	for _, call := range calls {
		reply := server.Call("tools/call", call.Call()).May(BeLate)
		takes := succeeded(reply)
		refuses := reply.Refuses() && Contrasts(server, reply, call.wrong, inOrder([]Provocation{call.inOrder})...)
		wanted, broken, shown := judge(call, reply)
		if reply.Late || !takes && !refuses || !shown {
			continue
		}
		judged++
		t.Observe()
		if broken {
			all = append(all, Wrong(reply, wanted))
		}
	}
	if judged == 0 {
		noneServed(t, calls)
	}
	t.Judge(all...)
}

// needing is the advice where tools refuse what their schemas ask for.
const needing = "make sure that the tools can be served, or name valid arguments in mcpconform.yaml: arguments: {NAME: {…}}"

// noneServed ends a check whose calls show nothing of what the tools make of arguments.
func noneServed(t *T, calls []spoiledCall) {
	t.Inconclusive("no tool accepted valid and rejected invalid arguments: "+tried(unspoiled(calls)), needing)
}

// unspoiled are the calls with nothing wrong.
func unspoiled(calls []spoiledCall) []Provocation {
	all := make([]Provocation, len(calls))
	for index, call := range calls {
		all[index] = call.inOrder
	}
	return all
}

// tried names the tools of some calls, and what they were called with.
func tried(calls []Provocation) string {
	var texts []string
	for _, call := range calls[:min(len(calls), maxTools)] {
		if text := call.Tool + " with " + Show(call.Arguments); !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, ", ")
}

// withoutRequired returns calls that lack a required argument.
func withoutRequired(t *T) []spoiledCall {
	return spoiled(t, func(input Object, arguments Object) (wrong string) {
		for _, element := range mcp.List(input, "required") {
			name := mcp.Text(element)
			if _, given := arguments[name]; given {
				delete(arguments, name)
				return name
			}
		}
		return ""
	})
}

// wrongValue is of a type that no scalar argument has, and that none is made
// of by a lenient server.
var wrongValue = Object{"not": "what was asked for"}

// withWrongType returns calls with an object where the schema wants a scalar.
func withWrongType(t *T) []spoiledCall {
	return spoiled(t, func(input Object, arguments Object) (wrong string) {
		properties := mcp.Object(input, "properties")
		for _, name := range slices.Sorted(maps.Keys(properties)) {
			property := mcp.Object(properties, name)
			_, inHeader := property["x-mcp-header"] // then it is the header that a server misses
			if !inHeader && slices.Contains([]any{"string", "number", "integer", "boolean"}, property["type"]) {
				arguments[name] = wrongValue
				return name
			}
		}
		return ""
	})
}

// fraction is a number that is no integer.
const fraction = 1.5

// withFraction returns calls with a number with a fraction where the schema wants an
// integer.
func withFraction(t *T) []spoiledCall {
	return spoiled(t, func(input Object, arguments Object) (wrong string) {
		properties := mcp.Object(input, "properties")
		for _, name := range slices.Sorted(maps.Keys(properties)) {
			property := mcp.Object(properties, name)
			if _, inHeader := property["x-mcp-header"]; !inHeader && property["type"] == "integer" {
				arguments[name] = fraction
				return name
			}
		}
		return ""
	})
}

// spoiled returns the allowed calls that spoil can make wrong, with the arguments that
// are then against the input schema. spoil returns the name of the argument, or "".
func spoiled(t *T, spoil func(input, arguments Object) (wrong string)) []spoiledCall {
	var all []spoiledCall
	for _, call := range callable(t) {
		input := mcp.Object(ListedTool(t, call.Tool), "inputSchema")
		arguments := maps.Clone(call.Arguments)
		if arguments == nil {
			arguments = Object{}
		}
		if len(all) == maxTools {
			break
		}
		if wrong := spoil(input, arguments); wrong != "" && schema.Forbids(input, arguments) {
			all = append(all, spoiledCall{Provocation{Tool: call.Tool, Arguments: arguments}, wrong, call})
		}
	}
	return all
}

// some returns the calls; a check without any ends.
func some(t *T, calls []spoiledCall, none string) []spoiledCall {
	if len(calls) == 0 {
		t.NotApplicable(none)
	}
	return calls
}

// renamed returns an allowed call by a name in another case that no tool has. By its
// own name it succeeds, or else nothing shows what it is refused for.
func renamed(t *T, server *Server) Provocation {
	found := false
	for _, call := range callable(t) {
		name := strings.Map(swapCase, call.Tool)
		if ListedTool(t, name) != nil || name == call.Tool {
			continue
		}
		found = true
		if reply := server.Call("tools/call", call.Call()).May(BeLate); succeeded(reply) {
			call.Tool = name
			return call
		}
	}
	if found {
		t.Inconclusive(
			"no callable tool succeeds with arguments generated from its schema",
			"give arguments for one in mcpconform.yaml: arguments: {NAME: {…}}",
		)
	}
	t.NotApplicable("no callable tool has a name with letters")
	return Provocation{}
}

func swapCase(letter rune) rune {
	if unicode.IsUpper(letter) {
		return unicode.ToLower(letter)
	}
	return unicode.ToUpper(letter)
}

// readableLinks returns the URIs of a result's resource links, save those that
// a client can follow by itself.
func readableLinks(result Object) []string {
	content := mcp.List(result, "content")
	var uris []string
	for _, element := range content {
		block := mcp.Object(element)
		uri := mcp.Text(block, "uri")
		onTheWeb := strings.HasPrefix(uri, "https:") || strings.HasPrefix(uri, "http:")
		if block["type"] == "resource_link" && uri != "" && !onTheWeb {
			uris = append(uris, uri)
		}
	}
	return uris
}
