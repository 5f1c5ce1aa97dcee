package facts

import (
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/mcp"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/rules/places"
)

// Probes tells whether a client asks for the other era, which needs no handshake.
func Probes(message *rules.Message) bool {
	revision, named := RevisionOf(message)
	return rules.IsRequest(message) &&
		(message.Method == "server/discover" || named && protocol.Has(revision, protocol.PerRequestMeta))
}

// HandshakeOf returns the successful answer to initialize, or nil.
func HandshakeOf(conversation *rules.Conversation) *rules.Message {
	for _, message := range conversation.Messages {
		if rules.IsResponse(message) && message.Request != nil && message.Request.Method == "initialize" &&
			message.ResultObject() != nil {
			return message
		}
	}
	return nil
}

// DeclaredBy returns the capabilities that one side declared in the handshake.
func DeclaredBy(conversation *rules.Conversation, declarer protocol.Party) any {
	if declarer == protocol.Client {
		return conversation.ClientCapabilities
	}
	return conversation.ServerCapabilities
}

// Declarations are the capabilities that the target of the stateless era declares: a
// server in answer to server/discover, a client with each request.
func Declarations(conversation *rules.Conversation) []places.Found {
	all := places.Within(places.Results(conversation, "server/discover"), "capabilities")
	for _, message := range conversation.ByTarget() {
		meta, _ := places.ParamsOf(message).Member("_meta")
		if declared, there := meta.Object()[mcp.MetaCapabilities]; there && rules.IsRequest(message) {
			all = append(
				all,
				places.Found{
					Place: places.Place{Pointer: meta.Pointer + jsonrpc.Pointer(mcp.MetaCapabilities), Value: declared},
					Said:  message,
				},
			)
		}
	}
	return all
}
