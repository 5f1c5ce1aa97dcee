// Page basic/transports/streamable-http, "Request Metadata", from 2026-07-28:
// headers that repeat what the body says.

package server

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// Headers that repeat the body.
const (
	methodHeader = "Mcp-Method"
	nameHeader   = "Mcp-Name"
	paramHeader  = "Mcp-Param-" // and what the schema of the tool says
)

// checkHeaders compares the headers of a request with its body.
func (n *connection) checkHeaders(r *http.Request, m message) *rpcError {
	version, sent := header(r, versionHeader)
	if !sent {
		return headerMismatch("the header MCP-Protocol-Version is missing: this server speaks %s",
			strings.Join(n.server.supported(), ", "))
	}
	if m.method == "initialize" && len(n.server.handshake) == 0 {
		return n.server.noHandshake()
	}
	meta, malformed := n.readMeta(n, m.params)
	if malformed != nil {
		return malformed
	}
	if version != meta.Version {
		return headerMismatch("the header MCP-Protocol-Version is %q, but params._meta says %q", version, meta.Version)
	}
	if method, sent := header(r, methodHeader); !sent || method != m.method {
		return headerMismatch("the header Mcp-Method is %q, but the method is %q", method, m.method)
	}
	if err := checkName(r, m); err != nil {
		return err
	}
	return n.checkParameters(r, m)
}

func headerMismatch(format string, args ...any) *rpcError {
	return &rpcError{
		Code:    codeHeaderMismatch,
		Message: "Header mismatch: " + fmt.Sprintf(format, args...),
		status:  http.StatusBadRequest,
	}
}

// checkName compares the header Mcp-Name with what the request is about. The
// extension for tasks has its clients send it too, but not servers insist.
func checkName(r *http.Request, m message) *rpcError {
	var member string
	needed := true
	switch m.method {
	case "tools/call", "prompts/get":
		member = "name"
	case "resources/read":
		member = "uri"
	case "tasks/get", "tasks/update", "tasks/cancel":
		member, needed = "taskId", false
	default:
		return nil
	}
	if _, sent := header(r, nameHeader); !sent && !needed {
		return nil
	}
	var params object
	_ = json.Unmarshal(m.params, &params)
	about, isText := params[member].(string)
	if !isText {
		return nil // which the handler will say
	}
	return mirrors(r, nameHeader, about)
}

// Marks of a value that is encoded, since a header could not hold it as it is.
const (
	encodedFrom = "=?base64?"
	encodedTo   = "?="
)

// decodeHeader reads a value as clients have to write it.
func decodeHeader(value string) (string, error) {
	for _, c := range []byte(value) {
		if c != '\t' && (c < ' ' || c > '~') {
			return "", fmt.Errorf("has the character %q, which must be encoded", c)
		}
	}
	encoded, marked := strings.CutPrefix(value, encodedFrom)
	if encoded, closed := strings.CutSuffix(encoded, encodedTo); marked && closed {
		decoded, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil {
			return "", fmt.Errorf("is not base64: %w", err)
		}
		return string(decoded), nil
	}
	return value, nil
}

// checkParameters compares the headers that a tool wants of its parameters with
// the arguments.
func (e *stateless) checkParameters(r *http.Request, m message) *rpcError {
	if m.method != "tools/call" {
		return nil
	}
	var params callToolParams
	_ = decode(m.params, &params, "params") // what is wrong with them, the handler will say
	t, _ := e.features.tools.find(params.Name)
	if t == nil {
		return nil
	}
	var schema, arguments object
	_ = json.Unmarshal(t.InputSchema, &schema)
	_ = json.Unmarshal(params.Arguments, &arguments)
	return checkMirrored(r, schema, arguments)
}

// checkMirrored goes through the properties of a schema, and theirs.
func checkMirrored(r *http.Request, schema, arguments object) *rpcError {
	properties, _ := schema["properties"].(object)
	for name, property := range properties {
		property, _ := property.(object)
		value := arguments[name]
		if title, mirrored := property["x-mcp-header"].(string); mirrored {
			if err := checkParameter(r, title, value); err != nil {
				return err
			}
		}
		inner, _ := value.(object)
		if err := checkMirrored(r, property, inner); err != nil {
			return err
		}
	}
	return nil
}

func checkParameter(r *http.Request, title string, value any) *rpcError {
	name := http.CanonicalHeaderKey(paramHeader + title)
	if value != nil {
		return mirrors(r, name, value)
	}
	if _, sent := header(r, name); sent {
		return headerMismatch("the header %s stands for an argument that is not given", name)
	}
	return nil
}

// mirrors compares a header with the value of the body that it repeats.
func mirrors(r *http.Request, name string, value any) *rpcError {
	raw, sent := header(r, name)
	if !sent {
		return headerMismatch("the header %s is missing", name)
	}
	words, err := decodeHeader(raw)
	if err != nil {
		return headerMismatch("the header %s %v", name, err)
	}
	if !says(words, value) {
		return headerMismatch("the header %s is %q, but the body says %v", name, words, value)
	}
	return nil
}

// says tells whether a header stands for a value. Numbers are compared as such:
// 42.0 is 42.
func says(header string, value any) bool {
	switch value := value.(type) {
	case string:
		return header == value
	case bool:
		return header == strconv.FormatBool(value)
	case float64:
		var number float64
		return json.Unmarshal([]byte(header), &number) == nil && number == value
	default:
		return true // no value that a header could hold, as the schema will say
	}
}
