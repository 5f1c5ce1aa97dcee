package jsonrpc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// A message to send. Members that are nil are left out, so that anything but
// an id null can be written; that, and everything illegal, is sent as bytes.
type outgoing struct {
	Version string `json:"jsonrpc"`
	ID      *ID    `json:"id,omitempty"`
	Method  string `json:"method,omitempty"`
	Params  any    `json:"params,omitempty"`
	Result  any    `json:"result,omitempty"`
	Error   any    `json:"error,omitempty"`
}

// NewRequest writes a request; params may be nil.
func NewRequest(id ID, method string, params any) []byte {
	return write(outgoing{ID: &id, Method: method, Params: params})
}

// NewNotification writes a notification; params may be nil.
func NewNotification(method string, params any) []byte {
	return write(outgoing{Method: method, Params: params})
}

// NewResult writes the answer to a request; a nil result is an empty one.
func NewResult(id ID, result any) []byte {
	if result == nil {
		result = struct{}{}
	}
	return write(outgoing{ID: &id, Result: result})
}

// NewError writes the refusal of a request.
func NewError(id ID, code int64, message string) []byte { return NewErrorWith(id, code, message, nil) }

// NewErrorWith writes the refusal of a request with data, unless they are nil.
func NewErrorWith(id ID, code int64, message string, data any) []byte {
	refusal := map[string]any{"code": code, "message": message}
	if data != nil {
		refusal["data"] = data
	}
	return write(outgoing{ID: &id, Error: refusal})
}

// write writes a message in one line.
func write(message outgoing) []byte {
	message.Version = "2.0"
	return encode(message)
}

// encode writes a value without HTML escapes. What checks send is made of
// maps, slices and scalars, which always encode; a value that does not is a
// programming error of the check.
func encode(value any) []byte {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		panic("jsonrpc: " + err.Error())
	}
	return bytes.TrimRight(text.Bytes(), "\n")
}

// Text writes a value as JSON on one line, for people; what is no JSON as Go prints it.
func Text(value any) string {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return fmt.Sprint(value)
	}
	return strings.TrimRight(text.String(), "\n")
}
