package runner

import (
	"fmt"
	"os"
	"slices"

	"github.com/mcpconform/mcpconform/internal/conform"
	"github.com/mcpconform/mcpconform/internal/provoke"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/reports"
)

// notice puts at the top of a leg what a reader has to know before its results.
func (c *collector) notice(state *legState) {
	add := func(text string) { state.report.Notices = append(state.report.Notices, text) }
	if text := uncalled(state.environment, state.report.Results); text != "" {
		add(text)
	}
	if text := c.exploredNotice(state); text != "" {
		add(text)
	}
	if text := state.exits.notice(); text != "" {
		add(c.redact(text))
	}
	for _, name := range state.environment.Never.Names {
		shown := slices.ContainsFunc(state.rules, func(rule rules.Rule) bool {
			return state.environment.NeverAsks(rule.Requirements) == name && state.saw(rule)
		})
		if shown {
			add(
				fmt.Sprintf(
					"the server asked for %s, although %s says that it never does: take it out of never",
					name,
					state.environment.Never.By,
				),
			)
		}
	}
}

// saw tells whether a rule saw anything on the leg.
func (s *legState) saw(rule rules.Rule) bool {
	seen := s.findings[rule.ID()]
	return seen != nil && seen.saw > 0
}

// uncalled tells that no tool was called, where something could not be tested for that;
// "" otherwise, and where the user wants it so.
func uncalled(environment *conform.Environment, results []reports.Result) string {
	missed := slices.ContainsFunc(results, func(result reports.Result) bool {
		return result.Verdict == reports.Inconclusive &&
			(result.Reason == conform.NoCallable || result.Provocation != "")
	})
	listed := environment.Uncallable()
	if !missed || listed == 0 || environment.Calls == provoke.CallNone {
		return ""
	}
	tools := fmt.Sprintf("none of the %d tools was called", listed)
	if listed == 1 {
		tools = "the only tool was not called"
	}
	if environment.Calls == provoke.CallListed {
		return tools + ": name what may be called in mcpconform.yaml, or use --call-tools all"
	}
	return tools + ": annotate what only reads with readOnlyHint, name what may be called in mcpconform.yaml, or use --call-tools all"
}

// hostname is the name of this machine; "" when it has none.
func hostname() string {
	name, err := os.Hostname()
	if err != nil {
		return ""
	}
	return name
}
