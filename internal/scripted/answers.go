package scripted

import (
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/mcp"
	"github.com/mcpconform/mcpconform/schema"
)

// Answering makes an answer to requests of the server from their params. The
// answer to a request that belongs to a task belongs to that task, too.
func Answering(result func(params Object) Object) Answer {
	return func(request Received) []byte {
		params, _ := request.Params().(map[string]any)
		answer := result(params)
		asked, _ := params["_meta"].(map[string]any)
		if related, belongs := asked[mcp.RelatedTask]; belongs {
			answer["_meta"] = Object{mcp.RelatedTask: related}
		}
		return jsonrpc.NewResult(request.ID, answer)
	}
}

// Roots is a result of roots/list with one root.
func Roots(Object) Object {
	return Object{"roots": []any{Object{"uri": "file:///home/user/project", "name": "project"}}}
}

// Generation is a result of sampling/createMessage: a text.
func Generation(Object) Object {
	return Object{
		"role": "assistant", "model": "scripted", "stopReason": "endTurn",
		"content": Object{"type": "text", "text": "An answer of the scripted client."},
	}
}

// Acceptance is a result of elicitation/create that accepts, with content that
// the schema in the params allows.
func Acceptance(params Object) Object {
	answer := Object{"action": "accept"}
	if asked, isForm := params["requestedSchema"]; isForm {
		content, err := schema.Example(asked, 0)
		if err != nil {
			content = Object{}
		}
		answer["content"] = content
	}
	return answer
}

// AnswerAll makes the client answer what a server may ask of it.
func (c *Client) AnswerAll() {
	c.Answer("ping", Empty)
	c.Answer("roots/list", Answering(Roots))
	c.Answer("sampling/createMessage", Answering(Generation))
	c.Answer("elicitation/create", Answering(Acceptance))
}
