package rules

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
)

// HasFlaw tells whether the text of a message has a flaw of a kind.
func HasFlaw(said *Message, kind jsonrpc.FlawKind) bool {
	return slices.ContainsFunc(said.Flaws, func(found jsonrpc.Flaw) bool { return found.Kind == kind })
}

// IsRefusal tells whether a message is a response with an error.
func IsRefusal(said *Message) bool {
	_, refused := said.Error()
	return IsResponse(said) && refused
}

// IncompleteError says what a refusal lacks of the members that each error has.
func IncompleteError(said *Message) Mismatch {
	refusal, isObject := said.Object["error"].(map[string]any)
	if !isObject {
		return Mismatch{
			Wanted: "an object with code and message",
			Found:  ShowMember(said.Object, "error"),
			Where:  "/error",
		}
	}
	for _, name := range []string{"code", "message"} {
		if _, there := refusal[name]; !there {
			return Mismatch{Wanted: fmt.Sprintf("a member %q", name), Found: Show(refusal), Where: "/error"}
		}
	}
	return Mismatch{}
}

// FractionalCode says what is wrong with the code of a refusal that is not an integer.
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

// IsRequest tells whether a message is a request.
func IsRequest(said *Message) bool { return said.Kind == jsonrpc.Request }

// IsResponse tells whether a message is a response, with a result or an error.
func IsResponse(said *Message) bool { return said.Kind == jsonrpc.Response }

// IsCall tells whether a message is a request or a notification.
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
