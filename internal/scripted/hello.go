package scripted

import (
	"maps"

	"github.com/mcpconform/mcpconform/internal/protocol"
)

// ClientInfo is what the harness says of itself as a client at a revision.
func ClientInfo(revision string) map[string]any {
	info := map[string]any{"name": "mcpconform", "version": "1.0.0"}
	if protocol.Has(revision, protocol.Titles) {
		info["title"] = "MCP conformance harness"
	}
	return info
}

// Capabilities are what a scripted client declares.
type Capabilities map[string]any

// Everything is the declaration of a client that offers each feature that a
// server can ask for at a revision, in its simplest form. Extras of a feature
// (tools in sampling, tasks) are declared by the checks that are about them.
func Everything(revision string) Capabilities {
	everything := Capabilities{
		"roots":    map[string]any{"listChanged": true},
		"sampling": map[string]any{},
	}
	if protocol.Has(revision, protocol.Elicitation) {
		everything["elicitation"] = map[string]any{}
	}
	if protocol.Has(revision, protocol.URLElicitation) {
		everything["elicitation"] = map[string]any{"form": map[string]any{}, "url": map[string]any{}}
	}
	if !protocol.Has(revision, protocol.RootsListChanged) {
		everything["roots"] = map[string]any{}
	}
	return everything
}

// Nothing is the declaration of a client that offers no feature.
func Nothing() Capabilities { return Capabilities{} }

// Without returns the declaration less one capability.
func (c Capabilities) Without(name string) Capabilities {
	fewer := maps.Clone(c)
	delete(fewer, name)
	return fewer
}

// With returns the declaration with one capability more, or changed.
func (c Capabilities) With(name string, value any) Capabilities {
	more := maps.Clone(c)
	more[name] = value
	return more
}

// Hello returns the params of an initialize request.
func Hello(revision string, capabilities Capabilities) map[string]any {
	return map[string]any{
		"protocolVersion": revision,
		"capabilities":    capabilities,
		"clientInfo":      ClientInfo(revision),
	}
}
