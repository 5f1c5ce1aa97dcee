package jsonrpc

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Equal tells whether two decoded values are the same JSON value: members in any order,
// numbers by what they are worth, so that 1 and 1.0 are equal.
func Equal(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, isObject := b.(map[string]any)
		return isObject && maps.EqualFunc(a, b, Equal)
	case []any:
		b, isArray := b.([]any)
		return isArray && slices.EqualFunc(a, b, Equal)
	case json.Number:
		b, isNumber := b.(json.Number)
		return isNumber && (a == b || IDOf(a) == IDOf(b))
	}
	switch b.(type) {
	case map[string]any, []any: // which Go cannot compare
		return false
	}
	return a == b
}

// Pointer writes the JSON pointer (RFC 6901) to what stands at a path.
func Pointer(path ...string) string {
	var pointer jsontext.Pointer
	for _, token := range path {
		pointer = pointer.AppendToken(token)
	}
	return string(pointer)
}

// Path returns the tokens of a JSON pointer (RFC 6901); none for that to all of a value.
func Path(pointer string) []string {
	if pointer != "" && !strings.HasPrefix(pointer, "/") {
		pointer = "/" + pointer
	}
	return slices.Collect(jsontext.Pointer(pointer).Tokens())
}
