package offer

import (
	"fmt"
	"slices"
	"strings"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/mcp"
	"github.com/mcpconform/mcpconform/internal/protocol"
)

// PassGates ends a check whose gates are closed.
func PassGates(t *T) {
	switch outcome := of(t).gate(t.Declared); outcome.Ending {
	case Skipped:
		t.NotApplicable(outcome.Reason)
	case Inconclusion:
		if outcome.Provocation != "" {
			Unprovoked(t, outcome.Provocation)
		}
		t.Inconclusive(outcome.Reason, outcome.Hint)
	}
}

// gate returns why a check does not apply or cannot be shown; its ending is "" when it can
// run.
func (o *Offer) gate(declared *Declaration) (outcome Outcome) {
	if reason := o.OtherTransport(o.Applicable(declared.Requirements)); reason != "" {
		return Outcome{Ending: Skipped, Reason: reason}
	}
	if wanted := declared.Transports; len(wanted) > 0 && !slices.Contains(wanted, o.Transport) {
		return Outcome{Ending: Skipped, Reason: "applies to the " + strings.Join(wanted, " and ") + " transport only"}
	}
	if outcome := o.admits(declared); outcome.Ending != "" {
		return outcome
	}
	for _, path := range declared.Capabilities {
		switch {
		case o.declares(path):
		case path == "completions" && !o.Has(protocol.Completions):
			return Outcome{Ending: Skipped, Reason: "the server completes no argument of its prompts"}
		default:
			return Outcome{Ending: Skipped, Reason: fmt.Sprintf("the server does not declare the capability %q", path)}
		}
	}
	for _, name := range declared.Extensions {
		if identifier := mcp.OfficialExtensions + name; !o.declares("extensions." + identifier) {
			return Outcome{
				Ending: Skipped,
				Reason: fmt.Sprintf("the server does not declare the extension %q", identifier),
			}
		}
	}
	if reason := o.never(declared); reason != "" {
		return Outcome{Ending: Skipped, Reason: reason}
	}
	if o.Survey != nil && o.Survey.Closed != "" {
		return Outcome{} // nothing can be asked, which the check finds out
	}
	if declared.Barrier && o.NoBarrier() != "" {
		return Outcome{Ending: Inconclusion, Reason: o.noBarrierReason(), Hint: o.barrierHint()}
	}
	for _, kind := range declared.Provocations {
		if _, found := o.provocation(kind); !found {
			return Outcome{
				Ending:      Inconclusion,
				Reason:      o.unprovoked(kind),
				Hint:        ProvocationHint(kind),
				Provocation: kind,
			}
		}
	}
	return Outcome{}
}

// never says why a check is about something that the server never
// does; "" when it is not.
func (o *Offer) never(declared *Declaration) string {
	if o.Role != protocol.ServerRole {
		return ""
	}
	if ids := o.Applicable(declared.Requirements); len(ids) > 0 {
		if name := o.NeverAsks(ids[:1]); name != "" {
			return o.Never.Reason(name)
		}
	}
	for _, kind := range declared.Provocations {
		if name := o.Never.Rules(kind); name != "" {
			return o.Never.Reason(name)
		}
	}
	return ""
}

// NeverAsks names what the server never asks for and requirements are about; "" for
// nothing.
func (o *Offer) NeverAsks(ids []string) string {
	for _, id := range ids {
		if requirement, known := o.Catalogue.Get(id); known && o.Role == protocol.ServerRole {
			if name := o.Never.About(requirement.Page(o.Revision), true); name != "" {
				return name
			}
		}
	}
	return ""
}

// NeverShown says why a rule that saw nothing is about something that the server never
// does; "" when it is not.
func (o *Offer) NeverShown(ids []string) string {
	if o.Role != protocol.ServerRole {
		return ""
	}
	for _, id := range ids {
		if requirement, known := o.Catalogue.Get(id); known {
			if name := o.Never.About(requirement.Page(o.Revision), false); name != "" {
				return o.Never.Reason(name)
			}
		}
	}
	return ""
}
