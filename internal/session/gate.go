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
