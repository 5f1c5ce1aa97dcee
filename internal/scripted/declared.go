package scripted

import (
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/mcp"
	"github.com/mcpconform/mcpconform/internal/protocol"
)

// learn keeps what the client declares in the handshake.
func (s *Session) learn(message jsonrpc.Message) {
	if message.Method != "initialize" {
		return
	}
	params, _ := message.Params().(Object)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.declared, _ = params["capabilities"].(Object)
}

// Declared are the capabilities that the client declares: in the handshake or, in
// the stateless era, with this very request; nil for none.
func (c *Call) Declared() Object {
	if c.Has(protocol.PerRequestMeta) {
		declared, _ := c.Meta()[mcp.MetaCapabilities].(Object)
		return declared
	}
	c.Session.mu.Lock()
	defer c.Session.mu.Unlock()
	return c.Session.declared
}

// Declares tells whether a capability is among them, such as "sampling", "tools".
func (c *Call) Declares(path ...string) bool {
	var member any = c.Declared()
	for _, name := range path {
		object, _ := member.(Object)
		member = object[name]
	}
	return member != nil && member != false
}
