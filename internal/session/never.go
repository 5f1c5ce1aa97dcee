package session

import (
	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/protocol"
)

// never says why a check is about something that the server never
// does; "" when it is not.
func (e *Environment) never(declared *Declaration) string {
	if e.Role != protocol.ServerRole {
		return ""
	}
	if ids := e.Applicable(declared.Requirements); len(ids) > 0 {
		if name := e.NeverAsks(ids[:1]); name != "" {
			return e.Never.Reason(name)
		}
	}
	for _, kind := range declared.Provocations {
		if name := e.Never.Rules(kind); name != "" {
			return e.Never.Reason(name)
		}
	}
	return ""
}

// NeverAsks names what the server never asks for and requirements are about; "" for
// nothing.
func (e *Environment) NeverAsks(ids []string) string {
	for _, id := range ids {
		if requirement, known := e.Catalogue.Get(id); known && e.Role == protocol.ServerRole {
			if name := e.Never.About(requirement.Page(e.Revision), true); name != "" {
				return name
			}
		}
	}
	return ""
}

// NeverShown says why a rule that saw nothing is about something that the server never
// does; "" when it is not.
func (e *Environment) NeverShown(ids []string) string {
	if e.Role != protocol.ServerRole {
		return ""
	}
	for _, id := range ids {
		if requirement, known := e.Catalogue.Get(id); known {
			if name := e.Never.About(requirement.Page(e.Revision), false); name != "" {
				return e.Never.Reason(name)
			}
		}
	}
	return ""
}
