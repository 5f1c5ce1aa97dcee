// Page basic/transports/streamable-http, "Request Metadata", from 2026-07-28:
// headers that repeat what the body says.

package client

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// Headers that repeat the body.
const (
	methodHeader = "Mcp-Method"
	nameHeader   = "Mcp-Name"
	paramHeader  = "Mcp-Param-"
)

// headerMismatch is the code of the error when headers and body differ.
const headerMismatch = -32020

// mirrorsParameters tells whether parameters of tools go into headers.
func (c *client) mirrorsParameters() bool {
	return c.stateless() && c.options.URL != ""
}

// standardHeaders say what a request is and what it is about.
func standardHeaders(r *request) http.Header {
	headers := http.Header{}
	headers.Set(methodHeader, r.method)
	member := map[string]string{
		"tools/call": "name", "prompts/get": "name", "resources/read": "uri",
		"tasks/get": "taskId", "tasks/update": "taskId", "tasks/cancel": "taskId",
	}[r.method]
	if about, isText := r.params[member].(string); isText {
		headers.Set(nameHeader, encodeHeader(about))
	}
	return headers
}

// Marks of a value that is encoded.
const (
	encodedFrom = "=?base64?"
	encodedTo   = "?="
)

// encodeHeader returns a value as header text: in Base64 if it has characters that a header
// cannot carry, has space at its ends, or looks encoded already.
func encodeHeader(value string) string {
	plain := !strings.ContainsFunc(value, func(r rune) bool { return r != '\t' && (r < ' ' || r > '~') })
	looksEncoded := strings.HasPrefix(value, encodedFrom) && strings.HasSuffix(value, encodedTo)
	if plain && !looksEncoded && strings.Trim(value, " \t") == value {
		return value
	}
	return encodedFrom + base64.StdEncoding.EncodeToString([]byte(value)) + encodedTo
}

// A mirrored parameter goes into a header.
type mirrored struct {
	header string
	path   []string // of property names
}

const annotation = "x-mcp-header"

// maxSchemaDepth bounds how deep the schema of a tool is looked into.
const maxSchemaDepth = 64

// mirroredOf finds the parameters of a tool that go into headers. The error says
// what makes the definition of the tool invalid.
func mirroredOf(schema any) ([]mirrored, error) {
	found := annotations{names: map[string]bool{}}
	err := found.collect(schema, nil, true, 0)
	return found.all, err
}

type annotations struct {
	all   []mirrored
	names map[string]bool // in lower case
}

// collect goes through a schema. It is reached when nothing but properties lead
// to it.
func (a *annotations) collect(schema any, path []string, reached bool, depth int) error {
	members, isObject := schema.(object)
	if !isObject {
		return nil
	}
	if depth > maxSchemaDepth {
		return errors.New("its inputSchema is too deep")
	}
	if title, annotated := members[annotation]; annotated {
		if err := a.add(title, members["type"], path, reached); err != nil {
			return err
		}
	}
	for _, keyword := range slices.Sorted(maps.Keys(members)) {
		for name, inner := range subschemas(keyword, members[keyword]) {
			below := append(slices.Clone(path), name)
			if err := a.collect(inner, below, reached && keyword == "properties", depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// subschemas are the schemas below a keyword, by name or number.
func subschemas(keyword string, value any) map[string]any {
	switch keyword {
	case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas":
		named, _ := value.(object)
		return named
	case "allOf", "anyOf", "oneOf", "prefixItems":
		listed, _ := value.([]any)
		numbered := map[string]any{}
		for i, inner := range listed {
			numbered[strconv.Itoa(i)] = inner
		}
		return numbered
	case "items", "contains", "additionalProperties", "unevaluatedItems", "unevaluatedProperties", "propertyNames",
		"not", "if", "then", "else":
		return map[string]any{"": value}
	}
	return nil
}

func (a *annotations) add(title, kind any, path []string, reached bool) error {
	name, isText := title.(string)
	place := strings.Join(path, ".")
	switch {
	case !isText || !isToken(name):
		return fmt.Errorf("the %s %s of %q is no name for a header", annotation, encode(title), place)
	case !reached || len(path) == 0:
		return fmt.Errorf("the %s %q stands where no parameter is sure to be", annotation, name)
	case kind != "string" && kind != "integer" && kind != "boolean":
		return fmt.Errorf("the %s %q belongs to %q, which is neither a string nor an integer nor a boolean",
			annotation, name, place)
	case a.names[strings.ToLower(name)]:
		return fmt.Errorf("the %s %q is there twice", annotation, name)
	}
	a.names[strings.ToLower(name)] = true
	a.all = append(a.all, mirrored{paramHeader + name, path})
	return nil
}

// isToken tells whether a text can be part of the name of a header.
func isToken(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(r rune) bool {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		digit := r >= '0' && r <= '9'
		return !letter && !digit && !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
	})
}

// mirror makes headers of the arguments of a call.
func (c *client) mirror(t *tool, arguments object) (http.Header, error) {
	headers := http.Header{}
	for _, m := range t.mirrored {
		var value any = arguments
		for _, name := range m.path {
			members, _ := value.(object)
			value = members[name]
		}
		if value == nil {
			continue
		}
		text, err := headerText(value)
		if err != nil {
			return nil, fmt.Errorf("the argument %q cannot go into the header %s: %w",
				strings.Join(m.path, "."), m.header, err)
		}
		headers.Set(m.header, encodeHeader(text))
	}
	return headers, nil
}

// headerText writes an argument as text.
func headerText(value any) (string, error) {
	switch value := value.(type) {
	case string:
		return value, nil
	case bool:
		return strconv.FormatBool(value), nil
	case json.Number:
		number, err := value.Float64()
		if whole := int64(number); err == nil && float64(whole) == number && whole > -maxSafe && whole < maxSafe {
			return strconv.FormatInt(whole, 10), nil
		}
		return "", fmt.Errorf("%s is no integer between -2^53 and 2^53", value)
	default:
		return "", errors.New("it is neither text nor a number nor true or false")
	}
}

// maxSafe is the first integer that is too large: a double holds it, but not
// only it.
const maxSafe = 1 << 53
