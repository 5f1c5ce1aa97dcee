package runner

import (
	"fmt"
	"os"
	"slices"

	"github.com/mcpconform/mcpconform/internal/provoke"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/session"
	"github.com/mcpconform/mcpconform/reports"
)

// notice puts at the top of a cell what a reader has to know before its results.
func (c *collector) notice(state *cellState) {
	add := func(text string) { state.report.Notices = append(state.report.Notices, text) }
	state.report.Tools = toolsOf(state.environment)
	if text := c.exploredNotice(state); text != "" {
		add(text)
	}
	if text := state.exits.notice(); text != "" {
		add(c.redact(text))
	}
	for _, name := range state.environment.Never.Names {
		shown := slices.ContainsFunc(state.rules, func(rule rules.Rule) bool {
			return state.environment.NeverAsks(rule.Verifies.IDs) == name && state.saw(rule)
		})
		if shown {
			add(
				fmt.Sprintf(
					"the server requested %s, which %s lists under never: remove it there",
					name,
					state.environment.Never.By,
				),
			)
		}
	}
}

// saw tells whether a rule saw anything on the cell.
func (s *cellState) saw(rule rules.Rule) bool {
	seen := s.findings[rule.ID()]
	return seen != nil && seen.saw > 0
}

// toolsOf counts the tools of a server, and those of them that may not be called; nil
// where there are none, and where the user wants it so.
func toolsOf(environment *session.Environment) *reports.Tools {
	if environment.Survey == nil || len(environment.Survey.Tools) == 0 || environment.Calls == provoke.CallNone {
		return nil
	}
	tools := &reports.Tools{Listed: len(environment.Survey.Tools), Uncalled: len(uncallable(environment))}
	if environment.Calls == provoke.CallListed && tools.Uncalled < tools.Listed {
		tools.Uncalled = 0 // the user has chosen
	}
	return tools
}

// hostname is the name of this machine; "" when it has none.
func hostname() string {
	name, err := os.Hostname()
	if err != nil {
		return ""
	}
	return name
}
