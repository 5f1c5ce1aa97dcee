package wire

import (
	"slices"

	"github.com/mcpconform/mcpconform/internal/conform"
	"github.com/mcpconform/mcpconform/internal/scripted"
)

// standalone tells whether a request stands for itself: it names its revision, one
// of the stateless era, in its _meta.
func standalone(request *conform.Said) bool {
	meta, _ := request.ParamsObject()["_meta"].(map[string]any)
	revision, _ := meta[scripted.MetaVersion].(string)
	return isRequest(request) && scripted.Stateless(revision)
}

// standaloneResults returns the target's results for requests of the stateless era.
// A server of both eras also gives others.
func standaloneResults(conversation *conform.Conversation) []*conform.Said {
	return slices.DeleteFunc(conversation.ByTarget(), func(said *conform.Said) bool {
		return !isResponse(said) || isRefusal(said) || said.ResultObject() == nil ||
			said.Request == nil || !standalone(said.Request)
	})
}

// standaloneErrors returns the target's errors in the stateless era: those to its
// requests and to what is no request at all. What answers a handshake, or comes
// after one that succeeded, is of the other era.
func standaloneErrors(conversation *conform.Conversation) []*conform.Said {
	spoken := negotiations(conversation)
	return slices.DeleteFunc(conversation.ByTarget(), func(said *conform.Said) bool {
		switch {
		case !isRefusal(said) || !isWhole(said):
			return true
		case said.Request != nil && standalone(said.Request):
			return false
		case said.Request != nil && said.Request.Method == "initialize":
			return true
		}
		return !scripted.Stateless(spoken[said.Index])
	})
}

// asksForInput tells whether a result is an interim one.
func asksForInput(result *conform.Said) bool {
	return result.ResultObject()["resultType"] == inputRequired
}

// The values of resultType that the core protocol defines (basic/index#resulttype).
const (
	complete      = "complete"
	inputRequired = "input_required"
)
