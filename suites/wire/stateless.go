package wire

import (
	"slices"

	"github.com/mcpconform/mcpconform/internal/mcp"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
)

// revisionOf returns the revision that a request names in its _meta, as each of the
// stateless era does.
func revisionOf(request *rules.Message) (revision string, named bool) {
	revision, named = request.Meta()[mcp.MetaVersion].(string)
	return revision, named && isRequest(request)
}

// standaloneResults returns the target's results for requests that name the revision
// under test. Of others, and of those of the other era, other revisions tell.
func standaloneResults(conversation *rules.Conversation) []*rules.Message {
	return rules.Shared(conversation, "standaloneResults", readStandaloneResults)
}

func readStandaloneResults(conversation *rules.Conversation) []*rules.Message {
	return slices.DeleteFunc(slices.Clone(conversation.ByTarget()), func(said *rules.Message) bool {
		if !isResponse(said) || isRefusal(said) || said.ResultObject() == nil || said.Request == nil {
			return true
		}
		revision, _ := revisionOf(said.Request)
		return revision != conversation.Revision
	})
}

// standaloneErrors returns the target's errors in the stateless era: those to its
// requests, of whatever revision, and to what is no request at all. What answers a
// handshake, or comes after one that succeeded, is of the other era.
func standaloneErrors(conversation *rules.Conversation) []*rules.Message {
	return rules.Shared(conversation, "standaloneErrors", readStandaloneErrors)
}

func readStandaloneErrors(conversation *rules.Conversation) []*rules.Message {
	spoken := negotiations(conversation)
	return slices.DeleteFunc(slices.Clone(conversation.ByTarget()), func(said *rules.Message) bool {
		if !isRefusal(said) || !isWhole(said) {
			return true
		}
		if said.Request != nil {
			if _, named := revisionOf(said.Request); named {
				return false
			}
			if said.Request.Method == "initialize" {
				return true
			}
		}
		return !protocol.Has(spoken[said.Index], protocol.PerRequestMeta)
	})
}

// asksForInput tells whether a result is an interim one.
func asksForInput(result *rules.Message) bool {
	return result.ResultObject()["resultType"] == inputRequired
}

// The values of resultType that the core protocol defines (basic/index#resulttype).
const (
	complete      = "complete"
	inputRequired = "input_required"
)
