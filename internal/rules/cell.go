package rules

import "github.com/mcpconform/mcpconform/internal/protocol"

// Cell is one part of a run: a role at a revision over a transport.
type Cell struct {
	Role      string `json:"role"`
	Revision  string `json:"revision"`
	Transport string `json:"transport"`
	// Protected tells of a selftest that the target asks for authorization.
	Protected bool `json:"protected,omitempty"`
}

// Name is the cell as people read it.
func (c Cell) Name() string {
	name := c.Role + " " + c.Revision + " " + c.Transport
	if c.Protected {
		name += " protected"
	}
	return name
}

// Has tells whether the cell's revision has a feature.
func (c Cell) Has(feature protocol.Feature) bool { return protocol.Has(c.Revision, feature) }

// Party is the target, as a schema knows it.
func (c Cell) Party() protocol.Party {
	switch c.Role {
	case protocol.ClientRole:
		return protocol.Client
	case protocol.AuthorizationServerRole:
		return protocol.AuthorizationServer
	}
	return protocol.Server
}

// Object is a JSON object.
type Object = map[string]any
