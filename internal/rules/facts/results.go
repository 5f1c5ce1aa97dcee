package facts

import (
	"maps"
	"slices"

	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
)

// IsCoreType tells whether the core protocol defines a resultType.
func IsCoreType(kind string) bool { return kind == Complete || kind == InputRequired }

// ResultTypes are the types of results that known extensions add to those of the
// core protocol.
var ResultTypes = map[string][]string{
	"io.modelcontextprotocol/tasks": {"task"},
	"io.modelcontextprotocol/ui":    nil,
}

// UnknownExtension tells whether it is not known which types of results an extension adds.
func UnknownExtension(name string) bool {
	_, known := ResultTypes[name]
	return !known
}

// Extensions returns the identifiers of the extensions that capabilities declare.
func Extensions(capabilities rules.Object) []string {
	declared, _ := capabilities["extensions"].(map[string]any)
	return slices.Sorted(maps.Keys(declared))
}

// StandaloneResults returns the target's results for requests that name the revision
// under test. Of others, and of those of the other era, other revisions tell.
func StandaloneResults(conversation *rules.Conversation) []*rules.Message {
	return rules.Shared(conversation, "standaloneResults", readStandaloneResults)
}

func readStandaloneResults(conversation *rules.Conversation) []*rules.Message {
	return slices.DeleteFunc(slices.Clone(conversation.ByTarget()), func(message *rules.Message) bool {
		if !rules.IsResponse(message) || rules.IsRefusal(message) || message.ResultObject() == nil ||
			message.Request == nil {
			return true
		}
		revision, _ := RevisionOf(message.Request)
		return revision != conversation.Revision
	})
}

// StandaloneErrors returns the target's errors in the stateless era: those to its
// requests, of any revision, and to what is no request at all. What answers a handshake,
// or comes after one that succeeded, is of the other era.
func StandaloneErrors(conversation *rules.Conversation) []*rules.Message {
	return rules.Shared(conversation, "standaloneErrors", readStandaloneErrors)
}

func readStandaloneErrors(conversation *rules.Conversation) []*rules.Message {
	spoken := Negotiations(conversation)
	return slices.DeleteFunc(slices.Clone(conversation.ByTarget()), func(message *rules.Message) bool {
		if !rules.IsRefusal(message) || !rules.IsWholeError(message) {
			return true
		}
		if message.Request != nil {
			if _, named := RevisionOf(message.Request); named {
				return false
			}
			if message.Request.Method == "initialize" {
				return true
			}
		}
		return !protocol.Has(spoken[message.Index], protocol.PerRequestMeta)
	})
}

// AsksForInput tells whether a result is an interim one.
func AsksForInput(result *rules.Message) bool {
	return result.ResultObject()["resultType"] == InputRequired
}

// The values of resultType that the core protocol defines (basic/index#resulttype).
const (
	Complete      = "complete"
	InputRequired = "input_required"
)
