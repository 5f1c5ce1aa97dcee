// Page basic: the messages, which are JSON-RPC 2.0; for batches see batches.go.

package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// maxMessage bounds one message of the client, in bytes, on every transport:
// ample for base64 content, small enough that a hundred do no harm.
const maxMessage = 4 << 20

// Error codes: of JSON-RPC, and those that pages of the specification add.
const (
	codeParseError             = -32700
	codeInvalidRequest         = -32600
	codeMethodNotFound         = -32601
	codeInvalidParams          = -32602
	codeInternalError          = -32603
	codeResourceNotFound       = -32002 // server/resources, until 2025-11-25
	codeURLElicitationRequired = -32042 // client/elicitation, at 2025-11-25

	codeHeaderMismatch     = -32020 // basic/transports/streamable-http, from 2026-07-28
	codeMissingCapability  = -32021 // basic, from 2026-07-28
	codeUnsupportedVersion = -32022 // basic/versioning, from 2026-07-28
)

// object is a JSON object to be sent.
type object = map[string]any

// An rpcError is the error of an error response.
type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`

	status     int  // of the HTTP response, from 2026-07-28; 0 for OK
	incomplete bool // a request lacks what each must have
}

func (e *rpcError) Error() string { return fmt.Sprintf("%s (%d)", e.Message, e.Code) }

func invalidRequest(format string, args ...any) *rpcError {
	return &rpcError{Code: codeInvalidRequest, Message: "Invalid request: " + fmt.Sprintf(format, args...)}
}

func methodNotFound(format string, args ...any) *rpcError {
	return &rpcError{Code: codeMethodNotFound, Message: "Method not found: " + fmt.Sprintf(format, args...)}
}

func invalidParams(format string, args ...any) *rpcError {
	return &rpcError{Code: codeInvalidParams, Message: "Invalid params: " + fmt.Sprintf(format, args...)}
}

func internalError(format string, args ...any) *rpcError {
	return &rpcError{Code: codeInternalError, Message: "Internal error: " + fmt.Sprintf(format, args...)}
}

// A requestID is the id of a request as JSON text, exactly as the client wrote
// it: 1 stays 1, "1" stays "1", and no digit of a large number is lost.
type requestID string

// key is equal for equal ids, however they are written.
func (id requestID) key() string {
	var text string
	if json.Unmarshal([]byte(id), &text) == nil {
		return `"` + text
	}
	whole, _, _ := strings.Cut(string(id), ".")
	return whole
}

// valid tells whether the id is a string or an integer. Null is neither.
func (id requestID) valid() bool {
	return strings.HasPrefix(string(id), `"`) || isInteger(string(id))
}

// isInteger tells whether a JSON value is an integer, which 1.0 is as well.
func isInteger(value string) bool {
	whole, fraction, _ := strings.Cut(strings.TrimPrefix(value, "-"), ".")
	return whole != "" && strings.Trim(whole, "0123456789") == "" && strings.Trim(fraction, "0") == ""
}

type messageKind int

const (
	request messageKind = iota
	notification
	response
)

// A message is what the client sent, read but not yet understood.
type message struct {
	kind   messageKind
	id     requestID       // of a request or response; "" when there is none that can be read
	method string          // of a request or notification
	params json.RawMessage // of a request or notification; nil when absent
	result json.RawMessage // of a successful response
	err    *rpcError       // of an error response
}

// parseMessage reads one message. When it is malformed, the error is the one
// to answer with, and the message holds as much as could be read: its kind,
// since a response is never answered, and its id.
func parseMessage(raw []byte) (message, *rpcError) {
	members, refusal := membersOf(raw)
	if refusal != nil {
		return message{}, refusal
	}
	m := message{params: members["params"], result: members["result"]}
	rawID, hasID := members["id"]
	if id := requestID(rawID); id.valid() {
		m.id = id
	}
	method, methodIsText := textIn(members["method"])
	version, _ := textIn(members["jsonrpc"])
	hasMethod, hasError := members["method"] != nil, members["error"] != nil
	hasResult := m.result != nil
	switch {
	case methodIsText && !hasID:
		m.kind = notification
	case hasMethod:
		m.kind = request
	case hasResult || hasError:
		m.kind = response
	}

	switch {
	case version != "2.0":
		return m, invalidRequest(`the member jsonrpc must be "2.0"`)
	case (hasID || m.kind == response) && m.id == "":
		return m, invalidRequest("the member id must be a string or an integer")
	case m.kind == response && hasResult == hasError:
		return m, invalidRequest("a response must have either result or error")
	case m.kind == response && hasError:
		if err := decode(members["error"], &m.err, "error"); err != nil || m.err == nil {
			return m, invalidRequest("the member error must be an object with code and message")
		}
	case m.kind == response:
	case !methodIsText:
		return m, invalidRequest("the member method must be a string")
	case hasResult || hasError:
		return m, invalidRequest("a message with a method must have neither result nor error")
	case m.kind == notification && m.params != nil && !bytes.HasPrefix(m.params, []byte("{")):
		return m, invalidRequest("the params of a notification must be an object")
	}
	m.method = method
	return m, nil
}

// membersOf reads the members of a message.
func membersOf(raw []byte) (members map[string]json.RawMessage, refusal *rpcError) {
	switch {
	case !utf8.Valid(raw):
		return nil, &rpcError{Code: codeParseError, Message: "Parse error: the message is not UTF-8"}
	case !json.Valid(raw):
		return nil, &rpcError{Code: codeParseError, Message: "Parse error: the message is not JSON"}
	case isBatch(raw):
		return nil, invalidRequest("batches are not part of this protocol: send one message at a time")
	}
	if json.Unmarshal(raw, &members) != nil || members == nil {
		return nil, invalidRequest("a message must be a JSON object")
	}
	return members, nil
}

// textIn reads a JSON value that is to be a string.
func textIn(raw json.RawMessage) (text string, isText bool) {
	isText = bytes.HasPrefix(raw, []byte(`"`)) && json.Unmarshal(raw, &text) == nil
	return text, isText
}

// encode writes a value as JSON on one line.
func encode(value any) []byte {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false) // ids and texts go back as they came
	if err := encoder.Encode(value); err != nil {
		panic(fmt.Sprintf("reference/server: cannot encode %T: %v", value, err)) // only fixed types are sent
	}
	return bytes.TrimSuffix(buffer.Bytes(), []byte("\n"))
}

// An envelope is a message as it is sent.
type envelope struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  object          `json:"params,omitempty"`
	Result  any             `json:"result,omitempty"`
	Error   *rpcError       `json:"error,omitempty"`
}

func encodeRequest(id int64, method string, params object) []byte {
	return encode(envelope{Version: "2.0", ID: encode(id), Method: method, Params: params})
}

func encodeNotification(method string, params object) []byte {
	return encode(envelope{Version: "2.0", Method: method, Params: params})
}

func encodeResult(id requestID, result any) []byte {
	return encode(envelope{Version: "2.0", ID: json.RawMessage(id), Result: result})
}

// encodeError writes an error response. When the id of the request could not
// be read, JSON-RPC wants null in its place; from 2025-11-25 the schema has
// the member left out.
func encodeError(revision string, id requestID, err *rpcError) []byte {
	if id == "" && revision < Revision20251125 {
		id = "null"
	}
	return encode(envelope{Version: "2.0", ID: json.RawMessage(id), Error: err})
}
