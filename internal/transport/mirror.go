package transport

import (
	"encoding/base64"
	"net/http"
	"strings"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/mcp"
)

// Headers that mirror the body of a POST since 2026-07-28
// (basic/transports/streamable-http#request-metadata).
const (
	VersionHeader = "Mcp-Protocol-Version" // in every revision since 2025-06-18
	MethodHeader  = "Mcp-Method"
	NameHeader    = "Mcp-Name"
)

// named are the methods whose requests name something in a header, and the member
// of their params that does.
var named = map[string]string{
	"tools/call": "name", "prompts/get": "name", "resources/read": "uri",
	"tasks/get": "taskId", "tasks/update": "taskId", "tasks/cancel": "taskId", // the tasks extension
}

// Mirrored returns the standard headers that repeat what a message says; those that
// it has nothing for are not there.
func Mirrored(message jsonrpc.Message) http.Header {
	header := http.Header{}
	params, _ := message.Params().(map[string]any)
	meta, _ := params["_meta"].(map[string]any)
	if version, given := meta[mcp.MetaVersion].(string); given {
		header.Set(VersionHeader, HeaderValue(version))
	}
	if message.Method != "" {
		header.Set(MethodHeader, HeaderValue(message.Method))
	}
	if name, isText := params[named[message.Method]].(string); isText {
		header.Set(NameHeader, HeaderValue(name))
	}
	return header
}

// The markers around a value that is encoded in Base64.
const (
	EncodedPrefix = "=?base64?"
	EncodedSuffix = "?="
)

// HeaderValue writes a text as the value of a header that mirrors a body
// (basic/transports/streamable-http#value-encoding).
func HeaderValue(text string) string {
	encoded := strings.HasPrefix(text, EncodedPrefix) && strings.HasSuffix(text, EncodedSuffix)
	safe := text == strings.TrimSpace(text) && !encoded
	for _, char := range []byte(text) {
		safe = safe && (' ' <= char && char <= '~' || char == '\t')
	}
	if safe {
		return text
	}
	return EncodedHeaderValue(text)
}

// DecodedHeaderValue reads a text that a header has in encoded form; there is false
// when it is none.
func DecodedHeaderValue(value string) (text string, encoded bool) {
	inner, begins := strings.CutPrefix(value, EncodedPrefix)
	inner, ends := strings.CutSuffix(inner, EncodedSuffix)
	decoded, err := base64.StdEncoding.DecodeString(inner)
	return string(decoded), begins && ends && err == nil
}

// EncodedHeaderValue writes a text in the form that any value can have, also one that
// could stand as it is.
func EncodedHeaderValue(text string) string {
	return EncodedPrefix + base64.StdEncoding.EncodeToString([]byte(text)) + EncodedSuffix
}
