package forms

import (
	"bytes"
	"math"
	"net/http"
	"slices"
	"strings"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/internal/spelling"
)

// ServerForm is one legal variation of what a server sends.
type ServerForm struct {
	// Name completes "a server …": "whose results have an empty _meta".
	Name  string
	Class Class
	// Requirement is what a client breaks that does not take the form as the plain one; over
	// HTTP+SSE, what Breaks tells.
	Requirement string
	// Where tells at which revisions and over which transports the form is legal; nil
	// for everywhere.
	Where func(revision, transport string) bool
	// Change makes the plain style this one.
	Change func(*scripted.Style)
}

// At tells whether the form is legal on a cell.
func (f ServerForm) At(revision, transport string) bool {
	return f.Where == nil || f.Where(revision, transport)
}

// The classes of forms of what a server sends.
const (
	Result    Class = "results"
	Welcome   Class = "what a server says of itself"
	Listed    Class = "items of lists"
	Unasked   Class = "messages before an answer"
	RequestID Class = "ids of the server's requests"
	Response  Class = "how an answer is carried"
	Events    Class = "events"
	Beginning Class = "the beginning of event streams"
	Endpoint  Class = "the endpoint of HTTP+SSE"
	Opening   Class = "the event that names the endpoint"
	Accepted  Class = "how what is posted is accepted"
)

// Requirements of clients.
const (
	// understood: all implementations support the base protocol (basic/index).
	understood = "base.components.required"
	// bothAnswers: a client supports JSON and event streams (basic/transports).
	bothAnswers = "transports.http.request.both-answers"
	// answerForms: HTTP gives heads and bodies several forms (RFC 9110 and 9112).
	answerForms = "transports.http.request.answer-forms"
	answered    = "base.requests.answered"
	// streamForms: URIs and event streams have several forms (RFC 3986, the WHATWG standard).
	streamForms = "transports.sse.forms"
)

// Breaks is the requirement that a client breaks over a transport that does not take the form
// as the plain one.
func (f ServerForm) Breaks(transport string) string {
	if transport == protocol.SSE && (f.Requirement == bothAnswers || f.Requirement == answerForms) {
		return streamForms
	}
	return f.Requirement
}

// AnswersAt returns the forms of what a server sends that are legal on a cell.
func AnswersAt(revision, transport string) []ServerForm {
	var found []ServerForm
	for _, form := range Answers {
		if form.At(revision, transport) {
			found = append(found, form)
		}
	}
	return found
}

// Answers are the forms of what a server sends, the likeliest to be met first.
var Answers = []ServerForm{
	// A result is an open object, and so is its _meta (basic/index#responses, #meta).
	{Name: "whose results have unknown members", Class: Result, Requirement: understood,
		Change: adding(func(_ string, result Object) {
			result["mcpconformUnknown"] = Object{"nested": []any{1, nil}}
			result["x-vendor"] = nil
		})},
	{Name: "whose results have an empty _meta", Class: Meta, Requirement: understood,
		Change: adding(func(_ string, result Object) {
			if result["_meta"] == nil {
				result["_meta"] = Object{}
			}
		})},
	{Name: "whose results have unknown keys in _meta", Class: Meta, Requirement: understood,
		Change: adding(func(_ string, result Object) {
			meta := member(&result, "_meta")
			meta["com.example/mcpconform"] = Object{"nested": []any{1, nil, Object{}}}
			meta["unknown_key.1"] = false
		})},
	{Name: "whose texts have U+2028, U+2029, U+0085 and an emoji", Class: Listed, Requirement: understood,
		Change: adding(func(method string, result Object) {
			eachItem(method, result, func(item Object) { item["description"] = "a\u2028b\u2029c\u0085d 🙂 \u00a0" })
		})},
	{Name: "whose tools have empty annotations and a title", Class: Listed, Requirement: understood,
		Change: adding(func(method string, result Object) {
			if method == "tools/list" {
				eachItem(method, result, func(item Object) {
					item["annotations"] = Object{}
					item["title"] = ""
				})
			}
		})},
	{Name: "whose items have no description", Class: Listed, Requirement: understood,
		Change: adding(func(method string, result Object) {
			eachItem(method, result, func(item Object) { delete(item, "description") })
		})},
	{Name: "that sends isError false in results", Class: Result, Requirement: understood,
		Change: adding(func(method string, result Object) {
			if method == "tools/call" {
				result["isError"] = false
			}
		})},

	// Capabilities are no closed set; instructions and a title are optional.
	{Name: "with unknown and experimental capabilities", Class: Welcome, Requirement: understood,
		Change: adding(func(method string, result Object) {
			if method == "initialize" || method == "server/discover" {
				declared := clone(asObject(result["capabilities"]))
				declared["mcpconformUnknown"] = Object{"nested": true}
				declared["experimental"] = Object{"com.example/feature": Object{}}
				result["capabilities"] = declared
			}
		})},
	{Name: "with empty instructions", Class: Welcome, Requirement: understood,
		Change: adding(func(method string, result Object) {
			if method == "initialize" || method == "server/discover" {
				result["instructions"] = ""
			}
		})},
	{Name: "with unknown members in serverInfo", Class: Welcome, Requirement: understood,
		Where: having(protocol.Handshake),
		Change: adding(func(method string, result Object) {
			if method == "initialize" {
				info := clone(asObject(result["serverInfo"]))
				info["mcpconformUnknown"] = []any{}
				result["serverInfo"] = info
			}
		})},

	// RFC 8259: the order of members, white space and escapes mean nothing.
	{Name: "that writes the members of objects in the other order", Class: Spelling, Requirement: understood,
		Change: spelt("reverse-members")},
	{Name: "that writes spaces between all tokens", Class: Spelling, Requirement: understood, Change: spelt("spaces")},
	{Name: "that writes tabs between all tokens", Class: Spelling, Requirement: understood, Change: spelt("tabs")},
	{Name: "that escapes each character of strings", Class: Spelling, Requirement: understood,
		Change: spelt("escape-all")},
	{Name: "that escapes slashes", Class: Spelling, Requirement: understood, Change: spelt("escape-slashes")},
	{Name: "that writes JSON on several lines", Class: Spelling, Requirement: understood,
		Where: over(protocol.HTTP, protocol.SSE), Change: spelt("lines")},

	// A server may ping, and log, before it answers (basic/lifecycle#operation); an id is
	// a string or an integer.
	{
		Name:        "that pings before it answers a call",
		Class:       Unasked,
		Requirement: answered,
		Where: having(
			protocol.Ping,
		),
		Change: before("tools/call", func(call *scripted.Call) { call.Ask("ping", nil) }),
	},
	{Name: "that logs before it answers a call", Class: Unasked, Requirement: understood,
		Where: having(protocol.Handshake), Change: before("tools/call", func(call *scripted.Call) {
			call.Notify("notifications/message", Object{"level": "info", "data": Object{"text": "at work"}})
		})},
	{Name: "whose ids are 0, 1, 2", Class: RequestID, Requirement: answered, Where: having(protocol.ServerRequests),
		Change: numbering(func(n int64) jsonrpc.ID { return jsonrpc.IntID(n - 1) })},
	{Name: "whose ids are negative", Class: RequestID, Requirement: answered, Where: having(protocol.ServerRequests),
		Change: numbering(func(n int64) jsonrpc.ID { return jsonrpc.IntID(-n) })},
	{Name: "whose ids are as large as possible", Class: RequestID, Requirement: answered,
		Where:  having(protocol.ServerRequests),
		Change: numbering(func(n int64) jsonrpc.ID { return jsonrpc.IntID(maxInteger - n) })},
	{Name: "whose ids are strings of digits", Class: RequestID, Requirement: answered,
		Where:  having(protocol.ServerRequests),
		Change: numbering(func(n int64) jsonrpc.ID { return jsonrpc.StringID("00" + string(rune('0'+n%10))) })},
	{Name: "whose ids are those of the client's requests", Class: RequestID, Requirement: answered,
		Where:  having(protocol.ServerRequests),
		Change: numbering(jsonrpc.IntID)},

	// An answer is one JSON body or an event stream (basic/transports); RFC 9110 on heads.
	{Name: "that answers by event streams", Class: Response, Requirement: bothAnswers, Where: over(protocol.HTTP),
		Change: func(style *scripted.Style) { style.Stream = true }},
	{Name: "that ends the stream of a call, and sends the response on the resumed one", Class: Response,
		Requirement: "transports.http.stream.polled",
		Where: func(revision, transport string) bool {
			return protocol.Over(transport).Exchanges() && protocol.Has(revision, protocol.Polling)
		},
		Change: func(style *scripted.Style) { style.Resumed, style.Stream = true, true }},
	{Name: "with header names in lower case", Class: Head, Requirement: answerForms, Where: over(protocol.HTTP),
		Change: heading(map[string]string{"content-type": "application/json", "x-request-id": "7f3a"})},
	{Name: "with charset=utf-8 in Content-Type", Class: Head, Requirement: answerForms, Where: over(protocol.HTTP),
		Change: heading(map[string]string{"Content-Type": "application/json; charset=utf-8"})},
	{Name: "with media types in another case", Class: Head, Requirement: answerForms, Where: over(protocol.HTTP),
		Change: heading(map[string]string{"Content-Type": "Application/JSON"})},

	// The WHATWG standard on event streams, section 9.2.
	{Name: "that writes comments, retry times and no spaces, and ends lines with CR and LF", Class: Events,
		Requirement: bothAnswers, Where: over(protocol.HTTP, protocol.SSE),
		Change: writing(func(data []byte) []byte {
			text := bytes.TrimSuffix(lines("\r\n", "data:", data), []byte("\r\n"))
			return append(text, ": a comment\r\nevent:message\r\nretry:10\r\n\r\n: keep-alive\r\n\r\n"...)
		})},
	{
		Name:        "that sends events of another name before messages, and ids",
		Class:       Events,
		Requirement: streamForms,
		Where:       over(protocol.SSE),
		Change: writing(func(data []byte) []byte {
			return append([]byte("event: ping\ndata: 2024-11-05T00:00:00Z\n\nid: 7\n"), lines("\n", "data: ", data)...)
		}),
	},
	{
		Name:        "that spreads a message over several data lines",
		Class:       Events,
		Requirement: bothAnswers,
		Where:       over(protocol.HTTP, protocol.SSE),
		Change: writing(
			func(data []byte) []byte { return lines("\n", "data: ", spelling.Rewrite("lines", data)) },
		),
	},
	{
		Name:        "that ends the lines of events with CR and LF",
		Class:       Events,
		Requirement: bothAnswers,
		Where:       over(protocol.HTTP, protocol.SSE),
		Change:      writing(func(data []byte) []byte { return lines("\r\n", "data: ", data) }),
	},
	{
		Name:        "that ends the lines of events with CR",
		Class:       Events,
		Requirement: bothAnswers,
		Where:       over(protocol.HTTP, protocol.SSE),
		Change:      writing(func(data []byte) []byte { return lines("\r", "data: ", data) }),
	},
	{
		Name:        "that writes no space after the colon",
		Class:       Events,
		Requirement: bothAnswers,
		Where:       over(protocol.HTTP, protocol.SSE),
		Change:      writing(func(data []byte) []byte { return lines("\n", "data:", data) }),
	},
	{
		Name:        "that writes comments before events",
		Class:       Events,
		Requirement: bothAnswers,
		Where:       over(protocol.HTTP, protocol.SSE),
		Change: writing(func(data []byte) []byte {
			return append([]byte(":\n: keep-alive\n\n: a comment\n"), lines("\n", "data: ", data)...)
		}),
	},
	{
		Name:        "that names its events message",
		Class:       Events,
		Requirement: bothAnswers,
		Where:       over(protocol.HTTP, protocol.SSE),
		Change: writing(
			func(data []byte) []byte { return append([]byte("event: message\n"), lines("\n", "data: ", data)...) },
		),
	},
	{
		Name:        "that sends a retry time and unknown fields",
		Class:       Events,
		Requirement: bothAnswers,
		Where:       over(protocol.HTTP, protocol.SSE),
		Change: writing(func(data []byte) []byte {
			return append([]byte("retry: 10\nx-field: 1\nbare\n"), lines("\n", "data: ", data)...)
		}),
	},
	{
		Name:        "that writes the data before the name of an event",
		Class:       Events,
		Requirement: bothAnswers,
		Where:       over(protocol.HTTP, protocol.SSE),
		Change: writing(func(data []byte) []byte {
			return append(
				append([]byte("data: "), bytes.ReplaceAll(data, []byte("\n"), []byte("\ndata: "))...),
				"\nevent: message\n\n"...)
		}),
	},
	{
		Name:        "whose streams begin with a byte order mark",
		Class:       Beginning,
		Requirement: answerForms,
		Where:       over(protocol.HTTP, protocol.SSE),
		Change:      func(style *scripted.Style) { style.Begin, style.Stream = []byte("\ufeff"), true },
	},
	{Name: "whose streams begin with an id and empty data", Class: Beginning, Requirement: bothAnswers,
		Where: func(revision, transport string) bool {
			return protocol.Over(transport).Exchanges() && protocol.Has(revision, protocol.Polling)
		},
		Change: func(style *scripted.Style) {
			style.Begin, style.Stream = []byte("id: begin\ndata:\n\n"), true
		}},

	// The transport HTTP+SSE says "a URI", and nothing of the status of a POST.
	{Name: "whose endpoint is an absolute URI", Class: Endpoint, Requirement: streamForms, Where: over(protocol.SSE),
		Change: naming("{origin}" + scripted.PlainEndpoint)},
	{
		Name:        "whose endpoint is relative to the stream",
		Class:       Endpoint,
		Requirement: streamForms,
		Where:       over(protocol.SSE),
		Change:      naming("messages?session={session}"),
	},
	{Name: "whose endpoint has escapes and several members in its query", Class: Endpoint, Requirement: streamForms,
		Where: over(protocol.SSE), Change: naming("{folder}a%20b/messages?a=%2F%3D&session={session}&b")},
	{Name: "whose endpoint is the URL of the stream with a query", Class: Endpoint, Requirement: streamForms,
		Where: over(protocol.SSE), Change: naming("?session={session}")},
	{Name: "that ends the lines of the endpoint event with CR and LF", Class: Opening, Requirement: streamForms,
		Where: over(protocol.SSE), Change: opening(func(reference string) []byte {
			return []byte("event: endpoint\r\ndata: " + reference + "\r\n\r\n")
		})},
	{Name: "that sends comments, a retry time, an id and another event before the endpoint", Class: Opening,
		Requirement: streamForms, Where: over(protocol.SSE), Change: opening(func(reference string) []byte {
			return []byte(": a comment\n\nretry: 10\n\nevent: ping\ndata: 2024-11-05T00:00:00Z\n\n" +
				"id: 1\nevent: endpoint\ndata: " + reference + "\n\n")
		})},
	{Name: "that writes the endpoint before the name of its event", Class: Opening, Requirement: streamForms,
		Where: over(protocol.SSE), Change: opening(func(reference string) []byte {
			return []byte("data:" + reference + "\nevent:endpoint\n\n")
		})},
	{Name: "that accepts what is posted with 200 and a text", Class: Accepted, Requirement: streamForms,
		Where: over(protocol.SSE), Change: accepting(http.StatusOK, "Accepted")},
	{Name: "that accepts what is posted with 204", Class: Accepted, Requirement: streamForms,
		Where: over(protocol.SSE), Change: accepting(http.StatusNoContent, "")},
	{Name: "that accepts what is posted with 202 and a text", Class: Accepted, Requirement: streamForms,
		Where: over(protocol.SSE), Change: accepting(http.StatusAccepted, "Accepted")},

	// Where bytes are divided means nothing.
	{Name: "that writes byte by byte", Class: Framing, Requirement: understood, Change: pieces(1)},
	{Name: "that writes pieces of 7 bytes", Class: Framing, Requirement: understood, Change: pieces(7)},
	{Name: "that does not send Content-Length", Class: Framing, Requirement: answerForms,
		Where: over(protocol.HTTP), Change: pieces(math.MaxInt32)},
}

// ServerNames are the names of some forms, as one text.
func ServerNames(of []ServerForm) string {
	names := make([]string, len(of))
	for i, form := range of {
		names[i] = form.Name
	}
	return strings.Join(names, ", ")
}

// Usual returns the forms of a default run: those of which real servers make use most,
// that go together and are legal over each transport; in JSON, or in event streams, of which
// only those that the page obliges clients to take, as a client fails that takes them not.
func Usual(streams bool) []ServerForm {
	var usual []ServerForm
	taken := map[Class]bool{}
	for _, form := range Answers {
		ofStreams := slices.Contains([]Class{Response, Events, Beginning}, form.Class)
		ofJSON := slices.Contains(
			[]Class{Head, Result, Meta, Welcome, Unasked, RequestID, Listed, Spelling, Framing},
			form.Class,
		)
		if taken[form.Class] || streams && !ofStreams || !streams && !ofJSON {
			continue
		}
		if streams && form.Requirement != bothAnswers {
			continue
		}
		taken[form.Class] = true
		usual = append(usual, form)
	}
	return usual
}

// OverSSE returns forms of a default run over HTTP+SSE: a list for each that the endpoint has, with
// one of each other class of how the stream is written and messages are accepted.
func OverSSE() [][]ServerForm {
	var all [][]ServerForm
	taken := map[Class]int{}
	for _, form := range Answers {
		if !form.At(protocol.Last(protocol.HTTPSSE), protocol.SSE) || form.Breaks(protocol.SSE) != streamForms {
			continue
		}
		nth := taken[form.Class]
		taken[form.Class]++
		if nth == len(all) {
			all = append(all, nil)
		}
		all[nth] = append(all[nth], form)
	}
	return all[:taken[Endpoint]]
}

// Style makes a style of some forms, as far as they are legal at a revision. Those that
// are for another transport make no difference.
func Style(of []ServerForm, revision string) scripted.Style {
	var style scripted.Style
	for _, form := range of {
		if form.At(revision, protocol.HTTP) || form.At(revision, protocol.SSE) {
			form.Change(&style)
		}
	}
	return style
}

func adding(add func(method string, result Object)) func(*scripted.Style) {
	return func(style *scripted.Style) {
		before := style.Result
		style.Result = func(method string, result Object) {
			if before != nil {
				before(method, result)
			}
			if method != "ping" { // whose result is empty
				add(method, result)
			}
		}
	}
}

func before(method string, do func(*scripted.Call)) func(*scripted.Style) {
	return func(style *scripted.Style) {
		style.Before = func(call *scripted.Call) {
			if call.Message.Method == method {
				do(call)
			}
		}
	}
}

func numbering(id func(int64) jsonrpc.ID) func(*scripted.Style) {
	return func(style *scripted.Style) { style.ID = id }
}

func spelt(name string) func(*scripted.Style) {
	return func(style *scripted.Style) {
		style.Spell = func(message []byte) []byte { return spelling.Rewrite(name, message) }
	}
}

func heading(header map[string]string) func(*scripted.Style) {
	return func(style *scripted.Style) { style.Header = header }
}

func writing(event func([]byte) []byte) func(*scripted.Style) {
	return func(style *scripted.Style) { style.Event, style.Stream = event, true }
}

func naming(endpoint string) func(*scripted.Style) {
	return func(style *scripted.Style) { style.Endpoint = endpoint }
}

func opening(event func(reference string) []byte) func(*scripted.Style) {
	return func(style *scripted.Style) { style.EndpointEvent = event }
}

func accepting(status int, text string) func(*scripted.Style) {
	return func(style *scripted.Style) {
		style.Accept = func(exchange *scripted.Exchange) {
			if text == "" {
				exchange.Answer(status, nil, nil, "")
				return
			}
			exchange.Answer(status, map[string]string{"Content-Type": "text/plain"}, []byte(text), "")
		}
	}
}

func pieces(size int) func(*scripted.Style) {
	return func(style *scripted.Style) { style.Piece = size }
}

// lines writes an event, with a field for each line of its data.
func lines(end, field string, data []byte) []byte {
	var text bytes.Buffer
	for line := range bytes.SplitSeq(data, []byte("\n")) {
		text.WriteString(field)
		text.Write(line)
		text.WriteString(end)
	}
	text.WriteString(end)
	return text.Bytes()
}

// eachItem goes through the items of a list. They are those of the server, for others,
// too: they are copied first.
func eachItem(method string, result Object, change func(Object)) {
	name := map[string]string{
		"tools/list": "tools", "prompts/list": "prompts", "resources/list": "resources",
		"resources/templates/list": "resourceTemplates",
	}[method]
	items, _ := result[name].([]any)
	changed := make([]any, len(items))
	for i, item := range items {
		copied := clone(asObject(item))
		change(copied)
		changed[i] = copied
	}
	if len(items) > 0 {
		result[name] = changed
	}
}

func asObject(value any) Object {
	object, _ := value.(Object)
	if object == nil {
		return Object{}
	}
	return object
}
