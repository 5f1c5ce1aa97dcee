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
func (l Cell) Name() string {
	name := l.Role + " " + l.Revision + " " + l.Transport
	if l.Protected {
		name += " protected"
	}
	return name
}

// Has tells whether the cell's revision has a feature.
func (l Cell) Has(feature protocol.Feature) bool { return protocol.Has(l.Revision, feature) }

// Party is the target, as a schema knows it.
func (l Cell) Party() protocol.Party {
	switch l.Role {
	case protocol.ClientRole:
		return protocol.Client
	case protocol.AuthorizationServerRole:
		return protocol.AuthorizationServer
	}
	return protocol.Server
}

// Object is a JSON object.
type Object = map[string]any
