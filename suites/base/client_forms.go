package base

import (
	"slices"
	"strings"
	"sync/atomic"

	. "github.com/mcpconform/mcpconform/internal/check"
	. "github.com/mcpconform/mcpconform/internal/clientrun"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/mcp"
	"github.com/mcpconform/mcpconform/internal/protocol"
	. "github.com/mcpconform/mcpconform/internal/scenario"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/suites/client/forms"
)

// Tools of the server that answers in many forms.
const (
	// promising is a tool with an outputSchema that refers to its own definitions.
	promising = "promise"
	// promisingList is one whose structured content is an array, where that may be.
	promisingList = "promise_list"
	// promisingFailure is one that promises a result, and tells of an error of its own.
	promisingFailure = "promise_in_vain"
)

// Contents of every kind.
var (
	words    = Object{"type": "text", "text": "words"}
	image    = Object{"type": "image", "data": "aW1hZ2U=", "mimeType": "image/png"}
	audio    = Object{"type": "audio", "data": "c291bmQ=", "mimeType": "audio/wav"}
	link     = Object{"type": "resource_link", "uri": "file:///report.txt", "name": "report"}
	embedded = Object{"type": "resource", "resource": Object{"uri": "test://text", "text": "a text"}}
	binary   = Object{"type": "resource", "resource": Object{"uri": "test://blob", "blob": "AAEC/w=="}}
	halfway  = Object{"type": "text", "text": "halfway", "annotations": Object{"priority": 0.5}}
	noted    = Object{
		"type":        "text",
		"text":        "noted",
		"_meta":       Object{"example.com/n": 1},
		"annotations": Object{"audience": []any{"user", "assistant"}, "priority": 0, "lastModified": "2025-01-12T15:00:58Z"},
	}
)

// Results of tools.
var (
	plain     = &forms.Form{Has: "a text"}
	anImage   = content("an image in the result", image)
	aSound    = content("an audio block in the result", audio)
	aLink     = content("a resource_link in the result", link)
	aResource = content("an embedded text resource in the result", embedded)
	aBlob     = content("an embedded blob in the result", binary)
	nothing   = content("a result without content blocks")
	silence   = content("an empty text in the result", Object{"type": "text", "text": ""})
	several   = content("several content blocks of different types", words, image, link, noted)
	annotated = content("annotations and _meta of content blocks", noted, halfway)

	unpromised = &forms.Form{
		Has:    "structuredContent of a tool without an outputSchema",
		Answer: structured(protocol.StructuredContent, "words", Object{"total": 8, "parts": []any{5, 3}, "note": nil}),
	}
	promised = &forms.Form{
		Has: "structuredContent of an outputSchema with $defs and $ref", Step: ToCall(promising, nil),
		Answer: structured(protocol.StructuredContent, `{"parts":[{"n":5}]}`, Object{"parts": []any{Object{"n": 5}}}),
	}
	promisedList = &forms.Form{
		Has: "structuredContent that is an array, as the outputSchema says", Step: ToCall(promisingList, nil),
		Answer: structured(protocol.StructuredValues, "[5,3]", []any{5, 3}),
	}
	brokenPromise = &forms.Form{
		Has:     "isError without the structuredContent that the outputSchema wants",
		Step:    ToCall(promisingFailure, nil),
		Answer:  forms.Result(Object{"content": []any{Object{"type": "text", "text": forms.Told}}, "isError": true}),
		Reports: true,
	}
	notBroken   = &forms.Form{Has: "isError that is false", Answer: forms.Result(Object{"content": []any{words}, "isError": false})}
	moreMembers = &forms.Form{
		Has: "unknown members of a result and of a content block",
		Answer: func(call *scripted.Call) {
			result := Object{
				"content":   []any{Object{"type": "text", "text": "words", "x-unknown": []any{}}},
				"x-unknown": Object{"y": 1},
				"_meta":     Object{},
			}
			if !call.Has(protocol.ResultTypes) { // where it is a member like any other
				result["resultType"] = "x-unknown"
			}
			call.Answer(result)
		},
	}
	long = &forms.Form{Has: "a text of 80 KiB", Answer: forms.Result(Object{
		"content": []any{Object{"type": "text", "text": strings.Repeat("0123456789abcdef", 80<<10/16)}},
	})}
	letters = &forms.Form{
		Has: "letters of several bytes, control characters and quotes in a text", Shows: odd,
		Answer: forms.Result(Object{"content": []any{Object{"type": "text", "text": odd}}}),
	}
	separators = &forms.Form{
		Has:   "U+2028, U+2029 and U+0085 in a text",
		Shows: separated,
		Answer: func(call *scripted.Call) {
			raw := string(call.Result(scripted.Text(separated)))
			raw = strings.NewReplacer(`\u2028`, "\u2028", `\u2029`, "\u2029").Replace(raw)
			call.Finally([]byte(raw), "")
		},
	}
)

// odd has what has to be escaped, and what need not.
const odd = "größer – 和 🙂 \"quoted\" \\ \t \u0001 \u007f"

// separated has what some take for the end of a line.
const separated = "one\u2028two\u2029three\u0085four"

func content(what string, blocks ...any) *forms.Form {
	if blocks == nil {
		blocks = []any{}
	}
	return &forms.Form{Has: what, Answer: func(call *scripted.Call) { call.Answer(Object{"content": known(call, blocks)}) }}
}

// known leaves out content of types that the revision does not have.
func known(call *scripted.Call, blocks []any) []any {
	lacks := map[any]bool{
		"audio":         !call.Has(protocol.AudioContent),
		"resource_link": !call.Has(protocol.ResourceLinks),
	}
	return slices.DeleteFunc(slices.Clone(blocks), func(block any) bool { return lacks[block.(Object)["type"]] })
}

// Errors.
var (
	errorWithText   = failing("an error whose data is a string", jsonrpc.InternalError, "no reason")
	errorWithList   = failing("an error whose data is an array", jsonrpc.InvalidParams, []any{1, nil, Object{}})
	errorWithObject = failing("an error whose data is an object", jsonrpc.InternalError, Object{"why": Object{"deep": true}})
	errorOfItsOwn   = failing("an error with a positive code", 42, nil)
	errorNearby     = failing("an error with the code -32000", -32000, nil)
)

func failing(what string, code int64, data any) *forms.Form {
	return &forms.Form{Has: what, Fails: true, Answer: forms.Error(code, data)}
}

// Contents of resources, and messages of prompts.
var (
	oneContent  = &forms.Form{Has: "one text", Step: ToRead(scripted.ResourceURI)}
	someContent = read("several contents of resources/read", "test://directory",
		Object{"uri": "test://directory/a", "mimeType": "text/plain", "text": "a"},
		Object{"uri": "test://directory/b", "blob": "AAEC/w=="})
	typeless    = read("a text without mimeType in resources/read", "test://untyped", Object{"uri": "test://untyped", "text": "a"})
	blobUntyped = read("a blob without mimeType in resources/read", "test://blob", Object{"uri": "test://blob", "blob": "/w=="})
	noContent   = read("no contents of resources/read", "test://empty")

	onePrompt  = &forms.Form{Has: "one message", Step: ToGet(scripted.PromptName, Object{"name": "Ada"})}
	allPrompts = prompt("messages with content of each type in prompts/get", "everything", words, image, audio, embedded, binary)
	noPrompt   = prompt("no messages in prompts/get", "nothing")
)

func read(what, uri string, contents ...any) *forms.Form {
	if contents == nil {
		contents = []any{}
	}
	return &forms.Form{Has: what, Step: ToRead(uri), Answer: forms.Result(Object{"contents": contents})}
}

func prompt(what, name string, contents ...any) *forms.Form {
	return &forms.Form{Has: what, Step: ToGet(name, Object{}), Answer: func(call *scripted.Call) {
		messages := []any{}
		for i, one := range known(call, contents) {
			messages = append(messages, Object{"role": []any{"user", "assistant"}[i%2], "content": one})
		}
		call.Answer(Object{"messages": messages})
	}}
}

// written is an answer of which the server writes all bytes at once, as it does over stdio
// alone: elsewhere it is what carries them that writes.
func written(what string, lines func(*scripted.Call) [][]byte) *forms.Form {
	return &forms.Form{
		Has: what,
		Answer: func(call *scripted.Call) {
			if call.Session.Spawned() == nil {
				call.Good()
				return
			}
			_ = call.Session.Spawned().WriteTogether(lines(call)...) // the client may have gone
			call.Leave()
		},
	}
}

// Notifications before the answer.
var (
	inOnePiece = written("a notification that is written in one piece with it", func(call *scripted.Call) [][]byte {
		return [][]byte{jsonrpc.NewNotification("notifications/mcpconform/unknown", nil), call.Result(scripted.Text("together"))}
	})
	unknownNotification = notified("a notification of an unknown method", "notifications/mcpconform/unknown", Object{"x": 1})
	// On Windows many a server ends its lines so.
	inWindowsLine = written("a CR before the newline behind the answer", func(call *scripted.Call) [][]byte {
		return [][]byte{append(call.Result(scripted.Text("on Windows")), '\r')}
	})
	bareNotification = notified("a notification of an unknown method without params", "notifications/mcpconform/bare", nil)
	metaNotification = notified("a notification with _meta alone", "notifications/mcpconform/meta", Object{"_meta": Object{"example.com/n": 1}})
	progressing      = &forms.Form{
		Has:      "progress in fractions, without a total, and with a message",
		Progress: true,
		Before:   "notifications/progress",
		Answer: forms.After(func(call *scripted.Call) {
			token, asked := call.Meta()["progressToken"]
			if !asked {
				return
			}
			for _, more := range []Object{
				{"progress": 0}, {"progress": 0.25, "total": 1.5}, {"progress": 1, "message": "on the way"},
				{"progress": 1.5, "total": 1.5, "message": "", "_meta": Object{}},
			} {
				more["progressToken"] = token
				call.Notify("notifications/progress", more)
			}
		}),
	}
	manyNotifications = &forms.Form{
		Has: "100 notifications before the answer",
		Answer: forms.After(func(call *scripted.Call) {
			for n := range 100 {
				call.Notify("notifications/mcpconform/many", Object{"n": n})
			}
		}),
	}
)

// Log messages before the answer.
var (
	loggedText    = logged("a log message without a logger", Object{"level": "info", "data": "words"})
	loggedObject  = logged("a log message whose data is an object", Object{"level": "info", "data": Object{"deep": Object{"n": nil}}})
	loggedList    = logged("a log message whose data is an array", Object{"level": "info", "data": []any{1, "a", nil}})
	loggedNothing = logged("a log message whose data is null", Object{"level": "info", "data": nil, "logger": ""})

	loggedAtAllLevels = logged("log messages at all levels", levels()...)
)

// structured answers a call with a text, and beside it with structuredContent where a feature is.
func structured(feature protocol.Feature, text string, content any) func(*scripted.Call) {
	return func(call *scripted.Call) {
		result := Object{"content": []any{Object{"type": "text", "text": text}}}
		if call.Has(feature) {
			result["structuredContent"] = content
		}
		call.Answer(result)
	}
}

func levels() []Object {
	var all []Object
	for _, level := range logLevels {
		all = append(all, Object{"level": level, "logger": "scripted", "data": level})
	}
	return all
}

// logged says log messages, which a client of the stateless era asks for with the request.
func logged(what string, all ...Object) *forms.Form {
	const method = "notifications/message"
	return &forms.Form{Has: what, Before: method, Answer: forms.After(func(call *scripted.Call) {
		if _, asked := call.Meta()[mcp.MetaLogLevel]; !asked && call.Has(protocol.LogLevelInMeta) {
			return
		}
		for _, params := range all {
			call.Notify(method, params)
		}
	})}
}

func notified(what, method string, params Object) *forms.Form {
	return &forms.Form{Has: what, Answer: forms.After(func(call *scripted.Call) { call.Notify(method, params) })}
}

// answers are all of them.
var answers = forms.NewTable(
	200,
	plain,
	anImage,
	aSound,
	aLink,
	aResource,
	aBlob,
	nothing,
	silence,
	several,
	annotated,
	unpromised,
	promised,
	promisedList,
	brokenPromise,
	notBroken,
	moreMembers,
	long,
	letters,
	separators,
	errorWithText,
	errorWithList,
	errorWithObject,
	errorOfItsOwn,
	errorNearby,
	oneContent,
	someContent,
	typeless,
	blobUntyped,
	noContent,
	onePrompt,
	allPrompts,
	noPrompt,
	unknownNotification,
	bareNotification,
	metaNotification,
	progressing,
	manyNotifications,
	loggedText,
	loggedObject,
	loggedList,
	loggedNothing,
	loggedAtAllLevels,
	inOnePiece,
	inWindowsLine,
)

// Steps that list after the forms.
const (
	oddTools      = "odd-tools"
	oddResources  = "odd-resources"
	noTemplates   = "no-templates"
	oddTemplates  = "odd-templates"
	oddPrompts    = "odd-prompts"
	refusedList   = "refused-list"
	listedPrompts = "prompts-afterwards"
)

// manyForms is a server that answers everything in another form.
var manyForms = &Scenario{
	Name: "base-legal-answers",
	Says: "The server answers each call, read and list in another form that the schema allows, and sends notifications before some responses.",
	Steps: append(append(
		Steps{ToConnect(), ToSetLevel("debug"), ToList("tools"), ToList("prompts"), ToList("resources"), ToList("templates")}, answers.Steps()...),
		ToList("tools").ID(oddTools), ToList("resources").ID(oddResources), ToList("templates").ID(noTemplates),
		ToList("templates").ID(oddTemplates), ToList("prompts").ID(oddPrompts),
		ToList("resources").ID(refusedList), ToList("prompts").ID(listedPrompts), ToClose(),
	),
	Refused: append(answers.Refused(), refusedList), // of resources
	Server: func(server *scripted.Server) {
		isThrough := answers.Bind(server)
		server.AddTool(promising, nil, nil)["outputSchema"] = promise()
		server.AddTool(promisingFailure, nil, nil)["outputSchema"] = promise()
		if list := server.AddTool(promisingList, nil, nil); server.Has(protocol.StructuredValues) {
			list["outputSchema"] = Object{"type": "array", "items": Object{"type": "integer"}}
		}
		list := func(member string, items []any) func(*scripted.Call) {
			for _, item := range items {
				withoutLater(server, mcp.Object(item))
			}
			return func(call *scripted.Call) { call.AnswerFresh(Object{member: items}, 0) }
		}
		// inTurn answers lists one after the other, and all that follow as the last one. Those
		// before, of which a client may ask for more than it is told to, are good.
		inTurn := func(method string, answers ...func(*scripted.Call)) {
			var turns atomic.Int32
			server.On(method, func(call *scripted.Call) {
				if !isThrough() {
					call.Good()
					return
				}
				answers[min(int(turns.Add(1)), len(answers))-1](call)
			})
		}
		inTurn("tools/list", list("tools", legalTools()))
		inTurn("resources/list", list("resources", legalResources()), forms.Error(jsonrpc.InternalError, nil))
		inTurn("resources/templates/list", list("resourceTemplates", []any{}), list("resourceTemplates", legalTemplates()))
		inTurn("prompts/list", list("prompts", legalPrompts()), func(call *scripted.Call) { call.Good() })
	},
}

// promise is a schema of structured content that refers to its own definitions.
func promise() Object {
	return Object{
		"type": "object", "required": []any{"parts"},
		"properties": Object{"parts": Object{"type": "array", "items": Object{"$ref": "#/$defs/part"}}},
		"$defs":      Object{"part": Object{"type": "object", "properties": Object{"n": Object{"type": "integer"}}}},
	}
}

// dialect is what schemas are written in by default.
const dialect = "https://json-schema.org/draft/2020-12/schema"

// legalTools have as little as a tool must have, and as much as it may.
func legalTools() []any {
	word := Object{"type": "string"}
	return []any{
		Object{"name": "least", "inputSchema": Object{"type": "object"}},
		Object{"name": "no_properties", "inputSchema": Object{"type": "object", "properties": Object{}, "required": []any{}}},
		Object{"name": "any_value", "inputSchema": Object{"type": "object", "properties": Object{"value": Object{}}}},
		Object{"name": "several_types", "inputSchema": Object{
			"type": "object", "properties": Object{"value": Object{"type": []any{"null", "string"}}},
		}},
		Object{"name": "either", "inputSchema": Object{"type": "object", "properties": Object{
			"value": Object{"anyOf": []any{word, Object{"type": "integer"}}},
			"kind":  Object{"enum": []any{"a", 1, nil}},
			"one":   Object{"const": "x"},
		}}},
		Object{"name": "refers", "inputSchema": Object{
			"type":       "object",
			"properties": Object{"value": Object{"$ref": "#/$defs/node"}},
			"$defs":      Object{"node": Object{"type": "object", "properties": Object{"next": Object{"$ref": "#/$defs/node"}}}},
		}},
		Object{"name": "any_items", "inputSchema": Object{"type": "object", "properties": Object{"list": Object{"type": "array"}}}},
		Object{"name": "open", "inputSchema": Object{"type": "object", "additionalProperties": word, "x-unknown": 1}},
		Object{"name": "UPPER-case.dotted_2", "title": "Größe", "description": "", "inputSchema": Object{"type": "object"}},
		Object{"name": strings.Repeat("n", 128), "inputSchema": Object{"type": "object"}},
		Object{
			"name": "annotated", "inputSchema": Object{"type": "object"}, "annotations": Object{}, "_meta": Object{},
			"x-unknown": Object{"y": nil},
		},
		Object{
			"name": "fully_annotated", "inputSchema": Object{"type": "object"}, "annotations": Object{
				"title": "T", "readOnlyHint": true, "destructiveHint": false, "idempotentHint": true, "openWorldHint": false, "x": 1,
			},
		},
		Object{"name": "nested", "inputSchema": Object{"type": "object", "properties": Object{
			"list": Object{"type": "array", "items": Object{
				"type": "object", "properties": Object{"kind": Object{"type": "string", "enum": []any{"a", "b"}}},
			}},
			"choices": Object{"type": "array", "items": Object{"type": "string", "enum": []any{"a", "b"}}, "default": []any{}},
		}}},
		Object{"name": "described", "inputSchema": Object{
			"$schema": dialect, "$comment": "of many keywords", "type": "object", "minProperties": 0,
			"properties":        Object{"value": Object{"type": "string", "format": "x-unknown", "default": nil, "examples": []any{""}, "deprecated": true}},
			"dependentRequired": Object{"value": []any{}}, "unevaluatedProperties": false,
		}},
		Object{"name": "promising", "inputSchema": Object{"type": "object"}, "outputSchema": Object{
			"$schema": dialect, "type": "object", "x-unknown": 1, "unevaluatedProperties": false,
			"properties": Object{
				"when":  Object{"type": "string", "format": "x-unknown"},
				"parts": Object{"type": "array", "items": Object{"$ref": "#/$defs/part"}},
			},
			"$defs": Object{"part": Object{"type": []any{"object", "null"}}},
		}},
		Object{"name": "illustrated", "inputSchema": Object{"type": "object"}, "icons": []any{
			Object{"src": "data:image/png;base64,aQ==", "mimeType": "image/png", "sizes": []any{"48x48", "any"}},
		}},
	}
}

// withoutLater removes what only later revisions know from what a server offers.
func withoutLater(server *scripted.Server, offered Object) {
	for member, feature := range map[string]protocol.Feature{
		"title": protocol.Titles, "outputSchema": protocol.StructuredContent, "icons": protocol.Icons,
	} {
		if !server.Has(feature) {
			delete(offered, member)
		}
	}
	if _, isTool := offered["inputSchema"]; isTool && !server.Has(protocol.ToolAnnotations) {
		delete(offered, "annotations")
	}
	for _, argument := range mcp.List(offered, "arguments") {
		withoutLater(server, mcp.Object(argument))
	}
}

// legalPrompts have as little as a prompt must have, and as much as it may.
func legalPrompts() []any {
	return []any{
		Object{"name": "least"},
		Object{"name": "no_arguments", "arguments": []any{}},
		Object{"name": "bare_argument", "arguments": []any{Object{"name": "subject"}}},
		Object{
			"name":        "größer/as it likes",
			"title":       "",
			"description": "",
			"arguments": []any{
				Object{"name": "a", "title": "A", "description": "", "required": false, "x-unknown": 1},
				Object{"name": "b", "required": true},
			},
			"_meta":     Object{},
			"x-unknown": nil,
		},
	}
}

// legalTemplates have as little as a resource template must have, and as much as it may.
func legalTemplates() []any {
	return []any{
		Object{"uriTemplate": "test://{least}", "name": "least"},
		Object{
			"uriTemplate": "test://{+path}{?query,page*}", "name": "größer", "title": "", "description": "",
			"mimeType": "text/plain; charset=utf-8", "annotations": Object{"priority": 0.25}, "_meta": Object{},
			"x-unknown": nil,
		},
	}
}

// legalResources have as little as a resource must have, and as much as it may.
func legalResources() []any {
	return []any{
		Object{"uri": "test://least", "name": "least"},
		Object{
			"uri":         "custom+scheme:opaque?q=1#f",
			"name":        "größer",
			"title":       "",
			"description": "",
			"mimeType":    "text/plain; charset=utf-8",
			"size":        0,
			"annotations": Object{},
			"_meta":       Object{},
			"x-unknown":   nil,
		},
		Object{"uri": "file:///C:/a%20b.txt", "name": "windows", "size": 9007199254740991, "annotations": Object{"priority": 1}},
	}
}

// richOpening is a server that sends all optional members in its first result, and unknown ones.
var richOpening = &Scenario{
	Name:  "base-legal-opening",
	Says:  "The server answers its first request with unknown capabilities and all optional members.",
	Steps: Meeting.Steps,
	Server: func(server *scripted.Server) {
		server.OnResult(func(call *scripted.Call, result Object) {
			info := Object{"name": "größer", "version": "0", "title": "", "x-unknown": 1}
			if server.Has(protocol.Icons) {
				info["websiteUrl"] = "https://example.com/"
				info["icons"] = []any{Object{"src": "data:image/png;base64,aQ==", "sizes": []any{"any"}}}
			}
			withoutLater(server, info)
			switch call.Message.Method {
			case "initialize":
				result["serverInfo"] = info
			case "server/discover":
				result["supportedVersions"] = []any{"2999-12-31", server.Revision()}
				result["_meta"] = Object{mcp.MetaServerInfo: info, "example.com/unknown": nil}
			default:
				return
			}
			result["capabilities"] = Object{
				"tools": Object{"x-unknown": Object{}}, "prompts": Object{"listChanged": false}, "resources": Object{},
				"logging": Object{"x-unknown": 1}, "completions": Object{}, "x-unknown": Object{"y": []any{}},
				"experimental": Object{"com.example/unknown": Object{"enabled": true}},
			}
			result["instructions"], result["x-unknown"] = "", Object{"y": nil}
		})
	},
}

// earlyWords is a server that pings and logs before it answers initialize, as it may.
var earlyWords = &Scenario{
	Name:  "base-early-server-messages",
	Until: protocol.Last(protocol.Handshake),
	Says:  "The server sends ping and notifications/message before it answers initialize.",
	Steps: Meeting.Steps,
	Server: func(server *scripted.Server) {
		server.On("initialize", func(call *scripted.Call) {
			call.AssignSession()
			call.Notify("notifications/message", Object{"level": "info", "data": Object{"starting": true}})
			call.Say(jsonrpc.NewRequest(earlyPing, "ping", nil), "")
			call.Answer(server.Welcome(server.Revision()))
		})
	},
}

// earlyPing is the id of the ping before the answer to initialize.
var earlyPing = jsonrpc.StringID("early")

func takingOpenings() {
	It("continues after a first response with unknown capabilities and all optional members",
		Verifies("base.results.accepted"), In(richOpening), func(t *T) { forms.Opens(t, "unknown capabilities and optional members in the result") })

	It("continues after a ping and a log message before the answer to initialize",
		Verifies("base.notifications.accepted"), In(earlyWords), func(t *T) {
			forms.Opens(t, "a ping and a log message before the answer to initialize")
		})
}

func takingAnswers() {
	accepts("accepts a tool result with an image", resultsAccepted, anImage, plain)
	accepts("accepts a tool result with audio", resultsAccepted, aSound, plain, AtRevisionsWith(protocol.AudioContent))
	accepts("accepts a tool result with a resource_link", resultsAccepted, aLink, plain, AtRevisionsWith(protocol.ResourceLinks))
	accepts("accepts a tool result with an embedded text resource", resultsAccepted, aResource, plain)
	accepts("accepts a tool result with an embedded blob", resultsAccepted, aBlob, plain)
	accepts("accepts a tool result with an empty content array", resultsAccepted, nothing, plain)
	accepts("accepts a tool result with an empty text", resultsAccepted, silence, plain)
	accepts("accepts a tool result with content blocks of different types", resultsAccepted, several, plain)
	accepts("accepts a content block with annotations and _meta", resultsAccepted, annotated, plain)
	accepts("accepts structuredContent of a tool without outputSchema", resultsAccepted, unpromised, plain, AtRevisionsWith(protocol.StructuredContent))
	accepts("accepts structuredContent that conforms to an outputSchema with $ref", resultsAccepted, promised, plain, AtRevisionsWith(protocol.StructuredContent))
	accepts("accepts isError without structuredContent from a tool with outputSchema", resultsAccepted, brokenPromise, plain, AtRevisionsWith(protocol.StructuredContent))
	accepts("accepts a tool result with isError false", resultsAccepted, notBroken, plain)
	accepts("accepts unknown members of results and content blocks", resultsAccepted, moreMembers, plain)
	accepts("accepts a tool result of 80 KiB", resultsAccepted, long, plain)
	accepts("accepts a text with multi-byte characters and control characters", resultsAccepted, letters, plain)
	accepts("accepts a text with U+2028, U+2029 and U+0085", resultsAccepted, separators, letters)
	accepts("accepts several contents of a resource", resultsAccepted, someContent, oneContent)
	accepts("accepts a text without mimeType from resources/read", resultsAccepted, typeless, oneContent)
	accepts("accepts a blob without mimeType from resources/read", resultsAccepted, blobUntyped, oneContent)
	accepts("accepts an empty contents array from resources/read", resultsAccepted, noContent, oneContent)
	accepts("accepts prompt messages with content of each type", resultsAccepted, allPrompts, onePrompt)
	accepts("accepts an empty messages array from prompts/get", resultsAccepted, noPrompt, onePrompt)

	takingNotices()
	takingLists()
}

func takingNotices() {
	accepts("continues after a notification with an unknown method", notificationsAccepted, unknownNotification, plain)
	accepts("continues after a notification without params", notificationsAccepted, bareNotification, plain)
	accepts("continues after a notification with _meta alone", notificationsAccepted, metaNotification, plain)
	accepts("continues after progress in fractions, without total, and with message", notificationsAccepted, progressing, plain)
	accepts("continues after 100 notifications before an answer", notificationsAccepted, manyNotifications, plain)

	It("reads each of several messages that the server writes at once", Verifies(resultsAccepted),
		In(manyForms), NeedsTransport(protocol.Stdio),
		func(t *T) { answers.Accepts(t, inOnePiece, plain) })

	It("accepts a message that ends with CR and LF, of which the first is white space of JSON",
		Verifies(resultsAccepted), In(manyForms), NeedsTransport(protocol.Stdio),
		func(t *T) { answers.Accepts(t, inWindowsLine, plain) })

	It("accepts structuredContent that is an array, as the outputSchema of its tool says",
		Verifies(resultsAccepted), In(manyForms), AtRevisionsWith(protocol.StructuredValues),
		func(t *T) { answers.Accepts(t, promisedList, plain) })

	accepts("continues after a log message without a logger", notificationsAccepted, loggedText, plain)
	accepts("continues after a log message whose data is an object", notificationsAccepted, loggedObject, plain)
	accepts("continues after a log message whose data is an array", notificationsAccepted, loggedList, plain)
	accepts("continues after a log message whose data is null", notificationsAccepted, loggedNothing, plain)
	accepts("continues after log messages at all levels", notificationsAccepted, loggedAtAllLevels, plain)

	accepts("reports an error whose data is a string", errorsReported, errorWithText, plain)
	accepts("reports an error whose data is an array", errorsReported, errorWithList, plain)
	accepts("reports an error whose data is an object", errorsReported, errorWithObject, plain)
	accepts("reports an error with a positive code", errorsReported, errorOfItsOwn, plain)
	accepts("reports an error with the code -32000", errorsReported, errorNearby, plain)
}

func takingLists() {
	acceptsList("accepts tools with as little or as much as the schema allows", "tools/list",
		"tools with as little, and as much, as the schema allows", oddTools, "list-tools", 1)
	acceptsList("accepts resources with as little or as much as the schema allows", "resources/list",
		"resources with as little, and as much, as the schema allows", oddResources, "list-resources", 1)
	acceptsList("accepts an empty list of resource templates", "resources/templates/list",
		"an empty list of resource templates", noTemplates, "list-templates", 1)
	acceptsList("accepts prompts with as little or as much as the schema allows", "prompts/list",
		"prompts with as little, and as much, as the schema allows", oddPrompts, "list-prompts", 1)
	acceptsList("accepts resource templates with as little or as much as the schema allows", "resources/templates/list",
		"resource templates with as little, and as much, as the schema allows", oddTemplates, "list-templates", 2)

	It("continues after an error for resources/list", Verifies(errorsReported), In(manyForms), func(t *T) {
		client := RunScenario(t)

		requests := answers.Afterwards(client, "resources/list")
		if len(requests) < 2 {
			client.Inconclusive("the client did not request the resources a third time", "resources/list")
		}
		needOwnOutcome(client, "prompts/list", listedPrompts)
		client.DemandStep(listedPrompts, "list-prompts", "an error for resources/list")
		client.Continues(AnswerTo(requests[1]), "an error for resources/list")
	})
}

// What checks of many forms verify.
const (
	resultsAccepted       = "base.results.accepted"
	notificationsAccepted = "base.notifications.accepted"
	errorsReported        = "base.responses.errors"
)

func accepts(what, requirement string, form, like *forms.Form, at ...Option) {
	options := []any{Row(), Verifies(requirement), In(manyForms), func(t *T) { answers.Accepts(t, form, like) }}
	for _, one := range at {
		options = append(options, one)
	}
	It(what, options...)
}

func acceptsList(what, method, has, step, like string, nth int) {
	It(what, Row(), Verifies(resultsAccepted), In(manyForms), func(t *T) {
		client := RunScenario(t)

		requests := answers.Afterwards(client, method)
		if len(requests) < nth {
			client.Inconclusive("the client did not reach "+has, method)
		}
		needOwnOutcome(client, method, step)
		client.DemandStep(step, like, has)
		client.Continues(AnswerTo(requests[nth-1]), has)
	})
}

// needOwnOutcome makes the check inconclusive when a list fails by the error that answers
// another one: such a client asks for several at once, and its user gets all or none.
func needOwnOutcome(client *Client, method, step string) {
	outcome, there := client.Outcome(step)
	if there && outcome.Failed() && strings.Contains(outcome.Error, forms.Told) {
		client.Inconclusive("the client tells of "+method+" the error of another list", method)
	}
}
