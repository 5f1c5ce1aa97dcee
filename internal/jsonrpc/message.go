// Package jsonrpc reads JSON-RPC 2.0 messages without repairing them: the raw bytes stay
// beside the parsed form, and what a lenient parser would hide (duplicate members, invalid
// UTF-8, odd number forms) is kept as a flaw.
package jsonrpc

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// Kind tells what a message is by the members that it carries.
type Kind string

// The kinds of a message. A batch (a JSON array) and anything that is not a
// message at all have kinds of their own, so that a check can judge them.
const (
	Request      Kind = "request"
	Notification Kind = "notification"
	Response     Kind = "response" // a result, an error, or (wrongly) both
	Batch        Kind = "batch"
	Invalid      Kind = "invalid"
)

// Message is one JSON-RPC message as it stood on the wire.
type Message struct {
	Raw    []byte         // the bytes, untouched
	Kind   Kind           // by its members; Invalid when it is no JSON object
	ID     ID             // zero when there is no id member
	Method string         // of a request or notification, when it is a string
	Object map[string]any // the decoded object; numbers are json.Number
	Flaws  []Flaw         // what is wrong with the bytes as JSON
	Weight int            // the memory in bytes that all of this takes, about
}

// Parse reads one message. It never fails: what is wrong is told by Kind and
// Flaws. Raw is kept, not copied.
func Parse(raw []byte) Message { return ParseWithin(raw, math.MaxInt) }

// ParseWithin reads a message if its decoded form takes at most so many bytes, or that
// of the heaviest message of a batch, of which none is kept.
func ParseWithin(raw []byte, most int) Message {
	message := Message{Raw: raw, Kind: Invalid}
	if heaviest, flaws, isBatch := readBatch(raw, min(most, budget(raw))); isBatch {
		message.Kind, message.Flaws, message.Weight = Batch, flaws, len(raw)+heaviest
		return message
	}
	value, weight, flaws := decode(raw, min(most, budget(raw)))
	message.Flaws = flaws
	message.Weight = len(raw) + weight

	switch value := value.(type) {
	case []any:
		message.Kind = Batch
	case map[string]any:
		if Weight(value["id"]) > maxID {
			message.Flaws = append(message.Flaws, Flaw{Kind: TooComplex, Pointer: "/id",
				Detail: fmt.Sprintf("has an id of more than %d KiB", maxID>>10)})
			message.Weight = len(raw)
			break
		}
		message.Object = value
		message.classify()
	}
	return message
}

// Elements returns the texts of the messages of a batch, of the first so many; nil when the
// text is no array.
func Elements(raw []byte, most int) []json.RawMessage {
	var text jsontext.Decoder
	text.Reset(bytes.NewBuffer(raw), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if opening, err := text.ReadToken(); err != nil || opening.Kind() != '[' {
		return nil
	}
	elements := []json.RawMessage{}
	for len(elements) < most && text.PeekKind() != ']' {
		element, err := text.ReadValue()
		if err != nil {
			break
		}
		elements = append(elements, bytes.Clone(element))
	}
	return elements
}

// MethodOf returns the method that a message names; "" when it names none, or is none.
// It keeps no more of it than that.
func MethodOf(raw []byte) string {
	method := ""
	whole := members(raw, func(name string, value jsontext.Value, _ int64) {
		if name != "method" {
			return
		}
		method = "" // of several the last one counts, as in Parse
		if text, err := jsontext.AppendUnquote(nil, value); err == nil {
			method = string(text)
		}
	})
	if !whole {
		return ""
	}
	return method
}

// Fingerprint is the same for messages that differ in their ids alone.
func Fingerprint(raw []byte) [sha256.Size]byte {
	sum, done := sha256.New(), int64(0)
	members(raw, func(name string, value jsontext.Value, end int64) {
		if name == "id" {
			_, _ = sum.Write(raw[done : end-int64(len(value))]) // never fails
			done = end
		}
	})
	_, _ = sum.Write(raw[done:])
	return [sha256.Size]byte(sum.Sum(nil))
}

// Replace returns a message in which the value at a path of members is another. All else keeps
// its bytes.
func Replace(raw, value []byte, path ...string) []byte {
	if len(path) == 0 {
		return value
	}
	var changed []byte
	done := int64(0)
	members(raw, func(name string, member jsontext.Value, end int64) {
		if name == path[0] {
			changed = append(changed, raw[done:end-int64(len(member))]...)
			changed = append(changed, Replace(member, value, path[1:]...)...)
			done = end
		}
	})
	return append(changed, raw[done:]...)
}

// members shows the members of a message one after the other, with the position
// behind each. It reports false when the bytes are no object.
func members(raw []byte, show func(name string, value jsontext.Value, end int64)) (whole bool) {
	text := raw
	before := int64(0)
	if marked, there := bytes.CutPrefix(raw, byteOrderMark); there {
		text, before = marked, int64(len(byteOrderMark))
	}
	var reader jsontext.Decoder
	reader.Reset(bytes.NewBuffer(text), // which is read in place
		jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if opening, err := reader.ReadToken(); err != nil || opening.Kind() != '{' {
		return false
	}
	for reader.PeekKind() == '"' {
		token, err := reader.ReadToken()
		if err != nil {
			return false
		}
		name := token.String()
		value, err := reader.ReadValue()
		if err != nil {
			return false
		}
		show(name, value, before+reader.InputOffset())
	}
	_, err := reader.ReadToken()
	return err == nil
}

func (m *Message) classify() {
	id, hasID := m.Object["id"]
	if hasID {
		m.ID = IDOf(id)
		m.Weight += len(m.ID.key)
	}
	method, hasMethod := m.Object["method"]
	m.Method, _ = method.(string)
	_, hasResult := m.Object["result"]
	_, hasError := m.Object["error"]

	switch {
	case hasMethod && hasID:
		m.Kind = Request
	case hasMethod:
		m.Kind = Notification
	case hasResult || hasError:
		m.Kind = Response
	}
}

// Params returns the params member, or nil.
func (m Message) Params() any { return m.Object["params"] }

// Result returns the result member and whether there is one.
func (m Message) Result() (any, bool) {
	result, ok := m.Object["result"]
	return result, ok
}

// Error returns the error member and whether there is one: a null beside a
// result says that there is none. Members of the wrong type are left at their
// zero value; the schema judges them.
func (m Message) Error() (Error, bool) {
	member, ok := m.Object["error"]
	if _, answered := m.Result(); !ok || member == nil && answered {
		return Error{}, false
	}
	object, _ := member.(map[string]any)
	var found Error
	if number, isNumber := object["code"].(json.Number); isNumber {
		found.Code, _ = json.Number(canonicalNumber(number)).Int64() // -32601.0 is an integer too
	}
	found.Message, _ = object["message"].(string)
	found.Data = object["data"]
	return found, true
}

// Broken reports a flaw that makes the bytes no JSON text at all.
func (m Message) Broken() (Flaw, bool) { return m.flaw(Syntax) }

// Beyond reports that the message was not read to its end, because that takes
// too much: nothing can be said of what it holds.
func (m Message) Beyond() (Flaw, bool) { return m.flaw(TooComplex) }

func (m Message) flaw(kind FlawKind) (Flaw, bool) {
	index := slices.IndexFunc(m.Flaws, func(flaw Flaw) bool { return flaw.Kind == kind })
	if index < 0 {
		return Flaw{}, false
	}
	return m.Flaws[index], true
}

// Error is the error member of a response.
type Error struct {
	Code    int64
	Message string
	Data    any
}

// Error codes that JSON-RPC 2.0 and MCP define.
const (
	ParseError       = -32700
	InvalidRequest   = -32600
	MethodNotFound   = -32601
	InvalidParams    = -32602
	InternalError    = -32603
	ResourceNotFound = -32002 // MCP until 2025-11-25, server/resources

	HeaderMismatch      = -32020 // MCP since 2026-07-28, basic/index#error-codes
	MissingCapability   = -32021 // the client did not declare what the request needs
	UnsupportedRevision = -32022
)
