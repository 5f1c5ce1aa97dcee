package session

import (
	"fmt"
	"slices"
	"strings"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/mcp"
	"github.com/mcpconform/mcpconform/internal/protocol"
)

// gate returns why a check does not apply or cannot be shown; its ending is "" when it can
// run.
func (e *Environment) gate(declared *Declaration) (outcome Outcome) {
	if reason := e.OtherTransport(e.Applicable(declared.Requirements)); reason != "" {
		return Outcome{Ending: Skipped, Reason: reason}
	}
	if wanted := declared.Transports; len(wanted) > 0 && !slices.Contains(wanted, e.Transport) {
		return Outcome{Ending: Skipped, Reason: "applies to the " + strings.Join(wanted, " and ") + " transport only"}
	}
	if outcome := e.admits(declared); outcome.Ending != "" {
		return outcome
	}
	for _, path := range declared.Capabilities {
		switch {
		case e.declares(path):
		case path == "completions" && !e.Has(protocol.Completions):
			return Outcome{Ending: Skipped, Reason: "the server completes no argument of its prompts"}
		default:
			return Outcome{Ending: Skipped, Reason: fmt.Sprintf("the server does not declare the capability %q", path)}
		}
	}
	for _, name := range declared.Extensions {
		if identifier := mcp.OfficialExtensions + name; !e.declares("extensions." + identifier) {
			return Outcome{
				Ending: Skipped,
				Reason: fmt.Sprintf("the server does not declare the extension %q", identifier),
			}
		}
	}
	if reason := e.never(declared); reason != "" {
		return Outcome{Ending: Skipped, Reason: reason}
	}
	if e.Survey != nil && e.Survey.Closed != "" {
		return Outcome{} // nothing can be asked, which the check finds out
	}
	if declared.Barrier && e.noBarrier() != "" {
		return Outcome{Ending: Inconclusion, Reason: e.noBarrierReason(), Hint: e.barrierHint()}
	}
	for _, kind := range declared.Provocations {
		if _, found := e.provocation(kind); !found {
			return Outcome{
				Ending:      Inconclusion,
				Reason:      e.unprovoked(kind),
				Hint:        provocationHint(kind),
				Provocation: kind,
			}
		}
	}
	return Outcome{}
}

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
