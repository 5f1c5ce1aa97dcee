package provoke

import (
	"slices"

	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/schema"
)

// Calls says which of a target's own tools the harness may call.
type Calls string

// The values of --call-tools.
const (
	CallNone     Calls = "none"     // no tool at all
	CallListed   Calls = "listed"   // those that the config names
	CallReadOnly Calls = "readonly" // and those annotated read-only, and tools of known servers
	CallAll      Calls = "all"      // every tool
)

// CallValues lists the values of Calls, the strictest first.
func CallValues() []string {
	return []string{string(CallNone), string(CallListed), string(CallReadOnly), string(CallAll)}
}

// Policy is what the user says of a target's tools: which may be called, and with what.
type Policy struct {
	Calls        Calls
	Arguments    map[string]map[string]any // by tool: arguments that the config gives
	Provocations map[string]Provocation    // by kind: those that the config gives
	Never        Never                     // what the target never does
}

// Find returns a way to provoke a kind: the config's, or a tool of a known server that
// the target lists with a schema that allows the arguments, and whose feature its revision
// has.
func (p Policy) Find(
	kind string,
	has func(protocol.Feature) bool,
	lists func(tool string, arguments map[string]any) bool,
) (Provocation, bool) {
	if p.Calls == CallNone || p.Never.Rules(kind) != "" {
		return Provocation{}, false
	}
	if given, configured := p.Provocations[kind]; configured {
		return given, true
	}
	if p.Calls == CallListed {
		return Provocation{}, false
	}
	for known := range tools {
		if slices.Contains(known.Provokes, kind) && (known.Needs == "" || has(known.Needs)) &&
			lists(known.Tool, known.Arguments) {
			return known.Provocation, true
		}
	}
	return Provocation{}, false
}

// MayCall tells whether a tool may be called, as the target lists it.
func (p Policy) MayCall(tool map[string]any) bool {
	name, _ := tool["name"].(string)
	switch p.Calls {
	case CallNone:
		return false
	case CallAll:
		return true
	}
	if p.configures(name) {
		return true
	}
	if p.Calls == CallListed {
		return false
	}
	annotations, _ := tool["annotations"].(map[string]any)
	return annotations["readOnlyHint"] == true || isKnown(tool)
}

// configures tells whether the config names a tool.
func (p Policy) configures(name string) bool {
	if _, given := p.Arguments[name]; given {
		return true
	}
	for _, provocation := range p.Provocations {
		if provocation.Tool == name {
			return true
		}
	}
	return false
}

// Names tells whether it is said already what a tool provokes, as the target lists it: by the
// config, or because it is one of a known server.
func (p Policy) Names(tool map[string]any) bool {
	for _, provocation := range p.Provocations {
		if provocation.Tool == tool["name"] {
			return true
		}
	}
	return isKnown(tool)
}

// isKnown tells whether a tool is one of a known server: one that has no more than the name
// of it is another one.
func isKnown(tool map[string]any) bool {
	for known := range tools {
		if known.is(tool) {
			return true
		}
	}
	return false
}

// is tells whether a tool that a target lists has the name, and takes the arguments.
func (t Tool) is(listed map[string]any) bool {
	return t.Tool == listed["name"] && !schema.Forbids(listed["inputSchema"], t.Arguments)
}

// ArgumentsOf returns the arguments that the config gives for a tool, or else those of a
// known one, if the target lists it as that.
func (p Policy) ArgumentsOf(tool map[string]any) (arguments map[string]any, given bool) {
	name, _ := tool["name"].(string)
	if arguments, given = p.Arguments[name]; given {
		return arguments, true
	}
	for known := range tools {
		if known.Arguments != nil && known.is(tool) {
			return known.Arguments, true
		}
	}
	return nil, false
}
