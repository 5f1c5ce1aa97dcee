package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/mcpconform/mcpconform/internal/nearest"
	"github.com/mcpconform/mcpconform/internal/plan"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/runner"
	"github.com/mcpconform/mcpconform/reports"
	"github.com/mcpconform/mcpconform/suites"
)

// completeLastFailed makes the filter choose what failed or warned in another run too,
// and the revisions those at which it did, unless the user named some.
func (s *settings) completeLastFailed(revisionGiven bool) error {
	if s.lastFailed == "" {
		return nil
	}
	run, err := readRunFile(s.lastFailed)
	switch {
	case err != nil:
		return err
	case run.Target.Role != s.role:
		return usageError("--last-failed: %s is the run of a %s, not of a %s", s.lastFailed, run.Target.Role, s.role)
	}
	ids, revisions := brokenIn(run)
	if len(ids) == 0 {
		return usageError("--last-failed: nothing failed or warned in %s", s.lastFailed)
	}
	s.Filter = plan.Both(s.Filter, strings.Join(ids, " || "))
	if !revisionGiven {
		s.Revision = strings.Join(revisions, ",")
	}
	return nil
}

// brokenIn are the ids of what failed or warned in a run, and the revisions at which it
// did, both sorted.
func brokenIn(run *reports.Run) (ids, revisions []string) {
	for i := range run.Cells {
		cell := &run.Cells[i]
		for j := range cell.Results {
			result := &cell.Results[j]
			if result.Verdict != reports.Failed && result.Verdict != reports.Warned || len(result.Requirements) == 0 {
				continue
			}
			ids, revisions = append(ids, result.ID), append(revisions, cell.Revision)
		}
	}
	slices.Sort(ids)
	slices.Sort(revisions)
	return slices.Compact(ids), slices.Compact(revisions)
}

// profileHelp says what the profiles are.
func profileHelp(verb string) string {
	names, says := plan.Profiles()
	for i := range names {
		names[i] += ": " + says[i]
	}
	return verb + " a `PROFILE` only; " + strings.Join(names, "; ")
}

func profileNames() []string {
	names, _ := plan.Profiles()
	return names
}

// knownProfile makes sure that there is a profile of the name; "" is none.
func knownProfile(name string) error {
	if known := profileNames(); name != "" && !slices.Contains(known, name) {
		return usageError("--profile %q is unknown%s", name, nearest.Hint(name, known))
	}
	return nil
}

// listPlanned lists what a run would check, in the place of checking it.
func (s *settings) listPlanned(w io.Writer) error {
	planned, err := runner.Planned(s.options(nil))
	if err != nil {
		return err
	}
	requirements, err := suites.Catalogue()
	if err != nil {
		return err
	}
	all := make([]checksAt, len(planned))
	for i, one := range planned {
		all[i] = checksAt{one.Role, one.Revision, one.Transport, one.Checks}
	}
	known := !s.revise.Auto || s.role == protocol.AuthorizationServerRole
	if err := writeList(w, all, requirements); err != nil || known {
		return err
	}
	_, revisions, err := plan.ParseChoice(s.role, s.profile, s.Filter)
	if err != nil {
		return err
	}
	if revisions == nil {
		revisions = protocol.Released()
	}
	_, err = fmt.Fprintf(w, "A run checks the newest revision that the %s speaks, of %s.\n",
		s.role, strings.Join(revisions, ", "))
	return err
}

// untilFailed returns a context that ends with the first check that makes the run fail,
// where the user wants that; found is told of each.
func (s *settings) untilFailed(
	ctx context.Context,
) (_ context.Context, found func(*reports.Cell, *reports.Result)) {
	if !s.failFast {
		return ctx, nil
	}
	ctx, cancel := context.WithCancelCause(ctx)
	return ctx, func(cell *reports.Cell, result *reports.Result) {
		broken := result.Verdict == reports.Failed || s.Strict && result.Verdict == reports.Warned
		if broken && !s.knows(cell, result) {
			cancel(errors.New("--fail-fast: a check failed"))
		}
	}
}

// knows tells whether the baseline names a result of a cell.
func (s *settings) knows(cell *reports.Cell, result *reports.Result) bool {
	return slices.ContainsFunc(s.known, func(entry reports.Deviation) bool {
		return entry.Covers(cell) && entry.Names(result)
	})
}
