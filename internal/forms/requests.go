package forms

import (
	"maps"
	"math"
	"net/http"
	"strings"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/protocol"
)

// maxInteger is the largest of which a double knows the neighbours (RFC 8259, section 6).
const maxInteger = 1<<53 - 1

// longText is longer than what a column of a database usually takes.
var longText = strings.Repeat("0123456789abcdef", 32)

// Requests are the forms of requests, the likeliest to be met first.
var Requests = []Form{
	// An id is a string or an integer, and not null (basic/index#requests).
	{Name: "with the id 0", Class: ID, Change: id(jsonrpc.IntID(0))},
	{Name: "with the id -1", Class: ID, Change: id(jsonrpc.IntID(-1))},
	{Name: "with the id 2^53-1", Class: ID, Change: id(jsonrpc.IntID(maxInteger))},
	{Name: "with the id 2^31", Class: ID, Change: id(jsonrpc.IntID(math.MaxInt32 + 1))},
	{Name: "with an empty string for an id", Class: ID, Change: id(jsonrpc.StringID(""))},
	{Name: "with a string of digits for an id", Class: ID, Change: id(jsonrpc.StringID("007"))},
	{Name: `with the id "null"`, Class: ID, Change: id(jsonrpc.StringID("null"))},
	{Name: "with a UUID for an id", Class: ID, Change: id(jsonrpc.StringID("6f1c9b7e-5a3d-4c2b-8e1f-0a9b8c7d6e5f"))},
	{Name: "with an id of 512 characters", Class: ID, Change: id(jsonrpc.StringID(longText))},
	{Name: "with an id of many scripts", Class: ID, Change: id(jsonrpc.StringID("ünï-код-識別-🙂\u2028"))},
	{Name: "with an id of quotes and backslashes", Class: ID, Change: id(jsonrpc.StringID(`"a\b" /c <d>`))},

	// A progress token is a string or an integer, too (basic/utilities/progress).
	{Name: "with the progressToken 0", Class: Token, Change: token(0)},
	{Name: "with an empty progressToken", Class: Token, Change: token("")},
	{Name: "with the progressToken -1", Class: Token, Change: token(-1)},
	{Name: "with the progressToken 2^53-1", Class: Token, Change: token(maxInteger)},
	{Name: "with a string for a progressToken", Class: Token, Change: token("token-1/ü 🙂")},
	{Name: "with a string of digits for a progressToken", Class: Token, Change: token("42")},

	// Metadata are an open object whose keys are names with an optional prefix
	// (basic/index#meta).
	{Name: "with an empty _meta", Class: Meta, Alone: true, Where: having(protocol.Handshake),
		Change: func(m *Message) { member(&m.Params, "_meta") }},
	{Name: "with unknown keys in _meta", Class: Meta, Change: func(m *Message) {
		meta := member(&m.Params, "_meta")
		meta["com.example/mcpconform"] = Object{"nested": []any{1, nil, Object{}}}
		meta["unknown_key.1"] = false
	}},

	// What the schema does not require may be absent; what it does not know may be there.
	{
		Name:  "with empty params",
		Class: Params,
		Alone: true,
		Where: having(protocol.Handshake),
		Change: func(m *Message) {
			if m.Params == nil {
				m.Params = Object{}
			}
		},
	},
	{Name: "without the empty arguments", Class: Params, Change: func(m *Message) {
		if given, isObject := m.Params["arguments"].(Object); isObject && len(given) == 0 {
			delete(m.Params, "arguments")
		}
	}},

	// RFC 8259: the order of members, white space and escapes mean nothing.
	{Name: "with the members of objects in the other order", Class: Spelling, Change: spelled("reverse-members")},
	{Name: "with spaces between all tokens", Class: Spelling, Change: spelled("spaces")},
	{Name: "with tabs between all tokens", Class: Spelling, Change: spelled("tabs")},
	{Name: "with each character of strings escaped", Class: Spelling, Change: spelled("escape-all")},
	{Name: "with escaped slashes", Class: Spelling, Change: spelled("escape-slashes")},
	{Name: "with U+2028 and U+2029 as they are in a string", Class: Spelling, Change: func(m *Message) {
		member(&m.Params, "_meta")["com.example/mcpconform"] = "one\u2028two\u2029three"
		spelled("separators")(m)
	}},
	{Name: "with JSON on several lines", Class: Spelling, Where: over(protocol.HTTP), Change: spelled("lines")},
	{Name: "with spaces around the JSON", Class: Spelling, Change: func(m *Message) {
		m.spell = func(raw []byte) []byte { return append(append([]byte(" \t"), raw...), "\t "...) }
	}},

	// RFC 9110: names of fields in any case (5.1), lists without spaces (5.6.1), unknown
	// fields. Media types and chunks have checks of their own.
	{Name: "with header names in lower case", Class: Head, Where: over(protocol.HTTP), Change: headed(lowerNames)},
	{Name: "with header names in upper case", Class: Head, Where: over(protocol.HTTP), Change: headed(upperNames)},
	{Name: "without a space in Accept", Class: Head, Where: over(protocol.HTTP),
		Change: replaced("Accept", "application/json,text/event-stream")},
	{Name: "with headers without meaning here", Class: Head, Where: over(protocol.HTTP),
		Change: headed(func(header http.Header) {
			header["Accept-Language"] = []string{"de-DE,de;q=0.9"}
			header["Cache-Control"] = []string{"no-cache"}
			header["X-Request-Id"] = []string{"7f3a"}
		})},

	// RFC 9112, section 7.1, and any pipe: where bytes are divided means nothing.
	{
		Name:   "in writes of 7 bytes",
		Class:  Framing,
		Where:  over(protocol.Stdio),
		Change: func(m *Message) { m.piece = 7 },
	},
	{Name: "in one write with a notification before it", Class: Framing, Where: over(protocol.Stdio),
		Change: func(m *Message) { m.before = append(jsonrpc.NewNotification(unknownNotification, nil), '\n') }},
	{Name: "on a line that ends with CR and LF", Class: Framing, Where: over(protocol.Stdio),
		Change: func(m *Message) { m.end = "\r" }},
}

// unknownNotification is a method that no specification defines.
const unknownNotification = "notifications/mcpconform/unknown"

// Hello are the forms of what a client says of itself, in initialize or in the _meta of
// its requests. Capabilities are no closed set, by the words of the schema.
var Hello = []Form{
	{Name: "of a client with an experimental capability", Class: Experimental,
		Change: declaring("experimental", Object{"com.example/feature": Object{"level": 2}})},
	{Name: "of a client with empty experimental capabilities", Class: Experimental,
		Change: declaring("experimental", Object{})},
	{Name: "of a client without known capabilities", Class: Experimental,
		Change: func(m *Message) { m.Params["capabilities"] = Object{} }},
	{Name: "of a client with an unknown capability", Class: Capability,
		Change: declaring("mcpconformUnknown", Object{"nested": true})},
	{
		Name:  "of a client that declares all of sampling and elicitation",
		Class: Extras,
		Where: having(protocol.URLElicitation),
		Change: offering(map[string]Object{
			"sampling":    {"tools": Object{}, "context": Object{}},
			"elicitation": {"form": Object{}, "url": Object{}},
		}),
	},
	{Name: "of a client whose capabilities have unknown members", Class: Extras, Change: offering(map[string]Object{
		"sampling":    {"mcpconformUnknown": Object{}},
		"elicitation": {"mcpconformUnknown": Object{}},
		"roots":       {"mcpconformUnknown": Object{}},
	})},
	{Name: "of a client with unknown members in clientInfo", Class: Info,
		Change: introducing("mcpconformUnknown", Object{"nested": true})},
	{
		Name:   "of a client without a title",
		Class:  Title,
		Where:  having(protocol.Titles),
		Change: introducing("title", nil),
	},
	{Name: "of a client with websiteUrl and icons", Class: Icons, Where: having(protocol.Icons),
		Change: func(m *Message) {
			introducing("websiteUrl", "https://example.com/")(m)
			introducing("icons", []any{Object{"src": "https://example.com/icon.png", "mimeType": "image/png"}})(m)
		}},
	{Name: "of a client with empty metadata", Class: Meta, Where: having(protocol.Handshake),
		Change: func(m *Message) { member(&m.Params, "_meta") }},
	{Name: "of a client whose version is not a number", Class: Version, Change: introducing("version", "next (🙂)")},
}

func id(value jsonrpc.ID) func(*Message) { return func(m *Message) { m.ID = value } }

func token(value any) func(*Message) {
	return func(m *Message) { member(&m.Params, "_meta")["progressToken"] = value }
}

func declaring(name string, value any) func(*Message) {
	return func(m *Message) { member(&m.Params, "capabilities")[name] = value }
}

// offering adds members to capabilities that are declared.
func offering(more map[string]Object) func(*Message) {
	return func(m *Message) {
		declared := member(&m.Params, "capabilities")
		for name, members := range more {
			if known, declares := declared[name].(Object); declares {
				all := maps.Clone(known)
				maps.Copy(all, members)
				declared[name] = all
			}
		}
	}
}

// introducing sets a member of clientInfo; nil leaves it out.
func introducing(name string, value any) func(*Message) {
	return func(m *Message) {
		info := member(&m.Params, "clientInfo")
		if value == nil {
			delete(info, name)
			return
		}
		info[name] = value
	}
}

func lowerNames(header http.Header) { renamed(header, strings.ToLower) }

func upperNames(header http.Header) { renamed(header, strings.ToUpper) }

func renamed(header http.Header, by func(string) string) {
	for name, values := range header.Clone() {
		delete(header, name)
		header[by(name)] = values
	}
}
