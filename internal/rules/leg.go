package rules

import "github.com/mcpconform/mcpconform/internal/protocol"

// Leg is one part of a run: a role at a revision over a transport.
type Leg struct {
	Role      string `json:"role"`
	Revision  string `json:"revision"`
	Transport string `json:"transport"`
	// Protected tells of a selftest that the target asks for authorization.
	Protected bool `json:"protected,omitempty"`
}

// Name is the leg as people read it.
func (l Leg) Name() string {
	name := l.Role + " " + l.Revision + " " + l.Transport
	if l.Protected {
		name += " protected"
	}
	return name
}

// Has tells whether the leg's revision has a feature.
func (l Leg) Has(feature protocol.Feature) bool { return protocol.Has(l.Revision, feature) }

// Party is the target, as a schema knows it.
func (l Leg) Party() protocol.Party {
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
