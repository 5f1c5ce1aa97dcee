package rules

import "github.com/mcpconform/mcpconform/internal/protocol"

// Leg is one part of a run: a role at a revision over a transport.
type Leg struct {
	Role      string `json:"role"`
	Revision  string `json:"revision"`
	Transport string `json:"transport"`
}

// Name is the leg as people read it.
func (l Leg) Name() string { return l.Role + " " + l.Revision + " " + l.Transport }

// Has tells whether the leg's revision has a feature.
func (l Leg) Has(feature protocol.Feature) bool { return protocol.Has(l.Revision, feature) }

// Party is the target, as a schema knows it.
func (l Leg) Party() protocol.Party {
	if l.Role == protocol.ClientRole {
		return protocol.Client
	}
	return protocol.Server
}

// Object is a JSON object.
type Object = map[string]any
