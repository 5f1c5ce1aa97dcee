package main

import (
	"cmp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpconform/mcpconform/fixtures"
	"github.com/mcpconform/mcpconform/internal/catalogue"
	"github.com/mcpconform/mcpconform/internal/fault"
	"github.com/mcpconform/mcpconform/internal/plan"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/provoke"
	"github.com/mcpconform/mcpconform/reports"
	"github.com/mcpconform/mcpconform/suites"
)

// values are what a flag may be given, for a shell that completes it.
type values struct {
	of     func(given string) []string
	goesOn bool // a value may be part of a longer one
}

// completes makes the values of flags known to shells. What a command has no flag
// for is passed over.
func completes(command *cobra.Command, flags map[string]values) {
	for name, known := range flags {
		if command.Flags().Lookup(name) == nil {
			continue
		}
		directive := cobra.ShellCompDirectiveNoFileComp
		if known.goesOn {
			directive |= cobra.ShellCompDirectiveNoSpace
		}
		_ = command.RegisterFlagCompletionFunc(
			name,
			func(_ *cobra.Command, _ []string, given string) ([]string, cobra.ShellCompDirective) {
				return beginning(known.of(given), given), directive
			},
		) // fails for a flag that is unknown, or has one already
	}
}

// beginning leaves of some values those that begin with what is given.
func beginning(all []string, given string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(one string) bool { return !strings.HasPrefix(one, given) })
}

func oneOf(all ...string) values { return values{of: func(string) []string { return all }} }

// lists are several of the values with a comma between, each once, or one of the
// others alone.
func lists(all []string, alone ...string) values {
	possible := func(given string) []string {
		at := strings.LastIndexByte(given, ',') + 1
		before := strings.Split(given[:at], ",")
		var found []string
		for _, one := range all {
			if !slices.Contains(before, one) {
				found = append(found, given[:at]+one)
			}
		}
		if at == 0 {
			found = append(found, alone...)
		}
		return found
	}
	return values{possible, true}
}

// expressions are filters for the checks of some roles: what is given, with the last
// word completed.
func expressions(roles ...string) values {
	possible := func(given string) []string {
		words, err := plan.Words(roles...)
		if err != nil {
			return nil
		}
		at := strings.LastIndexAny(given, "&|!,() ") + 1
		// Gates are for those who know them; there are enough words without.
		words = slices.DeleteFunc(words, func(word string) bool { return strings.Contains(word, ":") })
		for i, word := range words {
			words[i] = given[:at] + word
		}
		return words
	}
	return values{possible, true}
}

// faultIDs are those of the faults and variations that can be injected into the traffic of
// the reference that plays a role.
func faultIDs(role string) values {
	return values{of: func(string) []string {
		all, err := fault.Load(fixtures.Wire)
		if err != nil {
			return nil
		}
		var ids []string
		for _, one := range all {
			if cmp.Or(one.Role, protocol.ServerRole) == role && one.Into == "" {
				ids = append(ids, one.ID)
			}
		}
		slices.Sort(ids)
		return ids
	}}
}

var (
	revisionValues  = lists(protocol.Released(), "auto", "all")
	transportValues = oneOf(protocol.Transports()...)
	callValues      = oneOf(provoke.CallValues()...)
	warningValues   = oneOf(reports.JUnitWarnings()...)
)

// completesRun makes the values of the flags of a run known.
func (s *settings) completesRun(command *cobra.Command) {
	revisions := revisionValues
	if command.Flags().Lookup("spec") != nil {
		revisions = lists(protocol.Released(), "auto", "all", catalogue.Draft)
	}
	completes(command, map[string]values{
		"revision": revisions, "transport": transportValues, "filter": expressions(s.role),
		"profile":      oneOf(profileNames()...),
		"requirements": {of: func(string) []string { return setNames(publishedSets()) }},
		"call-tools":   callValues, "junit-warnings": warningValues,
	})
}

// requirementIDs completes the id of a requirement.
func requirementIDs(_ *cobra.Command, arguments []string, given string) ([]string, cobra.ShellCompDirective) {
	if len(arguments) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	requirements, err := suites.Catalogue()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	var ids []string
	for _, requirement := range requirements.All() {
		ids = append(ids, requirement.ID)
	}
	return beginning(ids, given), cobra.ShellCompDirectiveNoFileComp
}
