package rules

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
)

func HasFlaw(said *Message, kind jsonrpc.FlawKind) bool {
	return slices.ContainsFunc(said.Flaws, func(found jsonrpc.Flaw) bool { return found.Kind == kind })
}

func IsRefusal(said *Message) bool {
	_, refused := said.Error()
	return IsResponse(said) && refused
}

func IncompleteError(said *Message) Mismatch {
	refusal, isObject := said.Object["error"].(map[string]any)
	if !isObject {
		return Mismatch{Wanted: "an object with code and message", Found: ShowMember(said.Object, "error"), Where: "/error"}
	}
	for _, name := range []string{"code", "message"} {
		if _, there := refusal[name]; !there {
			return Mismatch{Wanted: fmt.Sprintf("a member %q", name), Found: Show(refusal), Where: "/error"}
		}
	}
	return Mismatch{}
}

func FractionalCode(said *Message) Mismatch {
	code := said.Object["error"].(map[string]any)["code"]
	if _, isNumber := code.(json.Number); isNumber && jsonrpc.IDOf(code).IsInteger() {
		return Mismatch{}
	}
	return Mismatch{Wanted: "an integer", Found: Show(code), Where: "/error/code"}
}

// IsWholeError tells whether a response has an error with all that each must have.
func IsWholeError(refusal *Message) bool {
	nothing := Mismatch{}
	return IncompleteError(refusal) == nothing && FractionalCode(refusal) == nothing
}

func IsRequest(said *Message) bool { return said.Kind == jsonrpc.Request }

func IsResponse(said *Message) bool { return said.Kind == jsonrpc.Response }

func IsCall(said *Message) bool {
	return said.Kind == jsonrpc.Request || said.Kind == jsonrpc.Notification
}

// IsMessage leaves out what is none; rules about messages judge what is.
func IsMessage(said *Message) bool { return IsCall(said) || IsResponse(said) }

// ShowMember shows a member of an object, or says that it is not there.
func ShowMember(object map[string]any, name string) string {
	value, there := object[name]
	if !there {
		return fmt.Sprintf("no member %q", name)
	}
	return Show(value)
}

// ProgressToken returns the progress token in the params of a request, if one
// is there.
func ProgressToken(said *Message) (token any, there bool) {
	token, there = said.Meta()["progressToken"]
	return token, there
}
