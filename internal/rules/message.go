package rules

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
)

// HasFlaw tells whether the text of a message has a flaw of a kind.
func HasFlaw(message *Message, kind jsonrpc.FlawKind) bool {
	return slices.ContainsFunc(message.Flaws, func(found jsonrpc.Flaw) bool { return found.Kind == kind })
}

// IsRefusal tells whether a message is a response with an error.
func IsRefusal(message *Message) bool {
	_, refused := message.Error()
	return IsResponse(message) && refused
}

// IncompleteError says what a refusal lacks of the members that each error has.
func IncompleteError(message *Message) Mismatch {
	refusal, isObject := message.Object["error"].(map[string]any)
	if !isObject {
		return Mismatch{
			Wanted: "an object with code and message",
			Found:  ShowMember(message.Object, "error"),
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
func FractionalCode(message *Message) Mismatch {
	code := message.Object["error"].(map[string]any)["code"]
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
func IsRequest(message *Message) bool { return message.Kind == jsonrpc.Request }

// IsResponse tells whether a message is a response, with a result or an error.
func IsResponse(message *Message) bool { return message.Kind == jsonrpc.Response }

// IsCall tells whether a message is a request or a notification.
func IsCall(message *Message) bool {
	return message.Kind == jsonrpc.Request || message.Kind == jsonrpc.Notification
}

// IsMessage leaves out what is none; rules about messages judge what is.
func IsMessage(message *Message) bool { return IsCall(message) || IsResponse(message) }

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
func ProgressToken(message *Message) (token any, there bool) {
	token, there = message.Meta()["progressToken"]
	return token, there
}
