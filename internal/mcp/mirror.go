package mcp

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// ParameterHeader is what the headers that mirror arguments of a tool begin with; the
// tool's schema gives the rest
// (basic/transports/streamable-http#custom-headers-from-tool-parameters).
const ParameterHeader = "Mcp-Param-"

// Mirror is an argument of a tool that a header repeats.
type Mirror struct {
	Path   []string // of members, from the arguments on
	Header string   // behind ParameterHeader
}

// maxMirrorDepth bounds the objects in one another that are looked through.
const maxMirrorDepth = 32

// Mirrors finds the arguments that are to be repeated in headers, by the input schema
// of a tool: those that are reached by properties alone.
func Mirrors(schema any) []Mirror { return mirrors(nil, schema) }

func mirrors(path []string, schema any) []Mirror {
	object, _ := schema.(map[string]any)
	properties, _ := object["properties"].(map[string]any)
	if len(path) > maxMirrorDepth {
		return nil
	}
	var found []Mirror
	for name, property := range properties {
		own, _ := property.(map[string]any)
		here := slices.Concat(path, []string{name})
		if header, annotated := own["x-mcp-header"].(string); annotated && isToken(header) {
			found = append(found, Mirror{here, header})
		}
		found = append(found, mirrors(here, property)...)
	}
	return found
}

// isToken tells whether a text can be part of a header's name (RFC 9110, 5.6.2).
func isToken(text string) bool {
	for _, char := range []byte(text) {
		switch {
		case '0' <= char && char <= '9', 'a' <= char && char <= 'z', 'A' <= char && char <= 'Z',
			strings.IndexByte("!#$%&'*+-.^_`|~", char) >= 0:
		default:
			return false
		}
	}
	return text != ""
}

// ValueIn returns the argument as a header has it, if it is given and of a type
// that a header can have.
func (m Mirror) ValueIn(arguments any) (text string, there bool) {
	value := arguments
	for _, name := range m.Path {
		object, _ := value.(map[string]any)
		value = object[name]
	}
	switch value := value.(type) {
	case string:
		return value, true
	case bool:
		return strconv.FormatBool(value), true
	case json.Number:
		if whole, err := value.Int64(); err == nil {
			return strconv.FormatInt(whole, 10), true
		}
		return value.String(), true
	}
	return "", false
}
