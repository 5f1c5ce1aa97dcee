package check

import (
	"github.com/mcpconform/mcpconform/internal/oauth"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/scenario"
)

// Verifies names the requirements that a check verifies. Level, page, link and revisions
// come from the catalogue.
func Verifies(requirements ...string) Option {
	return func(d *Declaration) { d.Requirements = append(d.Requirements, requirements...) }
}

// In says in which scenario a check looks. What the check needs of the revision and of the
// transport, the scenario has.
func In(scenario *scenario.Scenario) Option {
	return func(d *Declaration) {
		if d.Scenario != nil && scenario != d.Scenario {
			d.mistakes = append(d.mistakes, "it looks in two scenarios")
		}
		d.Scenario = scenario
		if scenario.Over != "" {
			d.Transports = []string{scenario.Over}
		}
		if scenario.Protected != nil {
			d.InTurn = true // clients listen for the answer on a port that is always the same
		}
	}
}

// AtRevisionsWith keeps a check to the revisions that have a feature, where what it
// verifies stands at others, too.
func AtRevisionsWith(feature protocol.Feature) Option {
	return func(d *Declaration) { d.Features = append(d.Features, feature) }
}

// AtRevisionsWithout keeps a check to the revisions that do not have a feature.
func AtRevisionsWithout(feature protocol.Feature) Option {
	return func(d *Declaration) { d.Lacks = append(d.Lacks, feature) }
}

// NeedsCapability skips a check unless the target declared all of the capabilities, given
// as paths such as "resources.subscribe".
func NeedsCapability(paths ...string) Option {
	return func(d *Declaration) { d.Capabilities = append(d.Capabilities, paths...) }
}

// NeedsExtension skips a check unless the target declared one of the extensions of the
// protocol's own (extensions/overview), such as "tasks".
func NeedsExtension(name string) Option {
	return func(d *Declaration) { d.Extensions = append(d.Extensions, name) }
}

// NeedsTransport skips a check on other transports.
func NeedsTransport(transports ...string) Option {
	return func(d *Declaration) { d.Transports = transports }
}

// NeedsProvocation makes a check inconclusive unless the target has a known way to provoke a
// behaviour, such as "progress": a tool of a well-known server, or one that the config names.
func NeedsProvocation(kinds ...string) Option {
	return func(d *Declaration) { d.Provocations = append(d.Provocations, kinds...) }
}

// NeedsToken makes a check inconclusive unless the harness has tokens of all kinds; it is
// about authorization, as Guarded says.
func NeedsToken(kinds ...oauth.Kind) Option {
	return func(d *Declaration) { d.Guarded, d.Tokens = true, append(d.Tokens, kinds...) }
}

// Guarded is said of a check of authorization: it is skipped where the server does not ask
// for any. It runs without a token, too.
func Guarded() Option { return func(d *Declaration) { d.Guarded = true } }

// ByBarrier marks a check of something else that needs the answer to a request that every
// server must answer (ping; server/discover): without that answer it is inconclusive.
func ByBarrier() Option { return func(d *Declaration) { d.Barrier = true } }

// Alone runs a check when no other runs: what it provokes reaches every session of a shared
// target.
func Alone() Option { return func(d *Declaration) { d.Alone = true } }

// Together has checks over stdio run by one worker, as they share connections of which
// others make no use: of clients that declare something else, and those on which tasks are
// left.
func Together(group string) Option { return func(d *Declaration) { d.Together = group } }

// Opens marks a check that opens connections in its own way: over stdio others inherit
// those, so that it begins first.
func Opens() Option { return func(d *Declaration) { d.First = true } }
