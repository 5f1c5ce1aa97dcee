//go:build linux

package main

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpconform/mcpconform/fixtures"
	"github.com/mcpconform/mcpconform/internal/catalogue"
	"github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/fault"
	"github.com/mcpconform/mcpconform/internal/plan"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/references"
	"github.com/mcpconform/mcpconform/internal/scenario"
	"github.com/mcpconform/mcpconform/internal/slowtest"
	"github.com/mcpconform/mcpconform/reports"
)

// openings are the messages by which an implementation of either role is opened, by
// whether the revision is of the stateless era.
var openings = map[bool][]string{
	false: {"initialize", "notifications/initialized"},
	true:  {"server/discover"},
}

// ofBothEras are faults that only a target of both eras can have, and why.
var ofBothEras = map[string]string{
	"version-not-echoed":                "a server that does not support a revision answers so; that it does, server/discover tells",
	"initialize-accepted-at-2026-07-28": "a server without a handshake refuses initialize",
	"client-wants-its-own-version":      "a server that speaks what it asks for answers with no other",
}

// metAs are faults that first contact tells by another requirement than they break: the
// middleman keeps from the server what the client sends, so that nothing comes.
var metAs = map[string]string{"client-http-waits-for-the-body-of-202": "lifecycle.initialized.sent"}

// opened is a fault of the opening, and the cell that it is injected into.
type opened struct {
	fault *fault.Fault
	cell  check.Cell
	fails bool // what it breaks fails a run
}

// brokenOpenings are all faults that change or match a message of the opening, at the
// newest revision of each era at which all that they break stands.
func brokenOpenings(t *testing.T) []opened {
	t.Helper()
	all, err := fault.Load(fixtures.Wire)
	if err != nil {
		t.Fatal(err)
	}
	var found []opened
	for _, role := range protocol.Roles() {
		checks, requirements, err := plan.All(role, protocol.Released())
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range all {
			if cmp.Or(one.Role, protocol.ServerRole) != role || len(one.Breaks) == 0 || one.Into != "" {
				continue
			}
			eras := map[bool]bool{}
			for _, revision := range slices.Backward(protocol.Released()) {
				era := !protocol.Has(revision, protocol.Handshake)
				if eras[era] || one.Revision != "" && one.Revision != revision || !verified(one.Breaks, checks[revision]) {
					continue
				}
				if eras[era] = true; one.Revision == "" && !opens(one, openings[era]) || !opens(one, slices.Concat(openings[true], openings[false])) {
					continue
				}
				found = append(found, opened{
					fault: one, cell: check.Cell{Role: role, Revision: revision, Transport: transportOf(one, requirements)},
					fails: slices.ContainsFunc(one.Breaks, func(id string) bool {
						requirement, _ := requirements.Get(id)
						return requirement.Level(revision).Failing()
					}),
				})
			}
		}
	}
	return found
}

// openingMessages is more than an opening has of messages that match.
const openingMessages = 8

// opens tells whether a fault matches one of some methods, or the answer to one, without a
// condition on what came before.
func opens(one *fault.Fault, methods []string) bool {
	return slices.ContainsFunc(one.AllChanges(), func(change fault.Change) bool {
		return change.When != nil && change.When.After == nil && change.When.Nth < openingMessages && slices.ContainsFunc(methods, func(method string) bool {
			return slices.Contains(change.When.Method, method) || slices.Contains(change.When.ResponseTo, method)
		})
	})
}

// verified tells whether checks or rules at a revision are there for all of some
// requirements.
func verified(ids []string, checks []plan.Declared) bool {
	return !slices.ContainsFunc(ids, func(id string) bool {
		return !slices.ContainsFunc(checks, func(check plan.Declared) bool {
			return slices.Contains(check.Requirements, id)
		})
	})
}

func transportOf(one *fault.Fault, requirements *catalogue.Catalogue) string {
	onStdio := slices.ContainsFunc(one.Breaks, func(id string) bool {
		requirement, _ := requirements.Get(id)
		return slices.Equal(requirement.Transports, []string{protocol.Stdio})
	})
	if onStdio {
		return protocol.Stdio
	}
	return cmp.Or(slices.Concat(one.Transport, []string{protocol.HTTP})...)
}

// Every fault of the opening ends in a result that names what it breaks, and a failing
// one in a run that fails: when the revision is named, and, where the opening shows it,
// when none is and the target speaks no other era.
func TestBrokenOpeningsAreTold(t *testing.T) {
	t.Parallel()
	wholePrograms(t)
	all := brokenOpenings(t)
	if len(all) < 80 {
		t.Fatalf("only %d faults concern the opening", len(all))
	}
	for i, one := range all {
		if !chosen(i, oneOpeningOf) || slowtest.All() && i%oneOpeningOfAll != 0 {
			continue
		}
		t.Run(one.fault.ID+" at "+one.cell.Revision, func(t *testing.T) {
			t.Parallel()
			inOpening := one.run(t, "", "--revision", one.cell.Revision)
			if inOpening && ofBothEras[one.fault.ID] == "" {
				one.run(t, one.era())
			}
		})
	}
}

// era are the revisions that a target of the era of the cell alone speaks; a client
// opens with one.
func (o opened) era() string {
	if o.cell.Role == protocol.ClientRole {
		return o.cell.Revision
	}
	return strings.Join(slices.DeleteFunc(protocol.Released(), func(revision string) bool {
		return protocol.Has(revision, protocol.Handshake) != protocol.Has(o.cell.Revision, protocol.Handshake)
	}), ",")
}

// run checks the reference with the fault, which speaks some revisions, and demands
// that the report names what is broken: by the checks of the opening and of what is
// broken, or, where that takes others to be seen, by all. It tells whether the first will
// do: or else the fault is one of what follows.
func (o opened) run(t *testing.T, speaks string, flags ...string) (inOpening bool) {
	t.Helper()
	filter := strings.Join(append(slices.Clone(o.fault.Breaks), openingPage[protocol.Has(o.cell.Revision, protocol.Handshake)]), " || ")
	var ended outcome
	for round, how := range [][]string{{"--filter", filter}, nil} {
		file := filepath.Join(t.TempDir(), "run.json")
		ended = mcpconform(t, slices.Concat([]string{o.cell.Role, "-q", "--timeout", "2s", "--json", file}, how, flags, o.target(t, speaks))...)
		if !o.namedIn(t, file) {
			continue
		}
		if o.fails && ended.status != exitDoesNot {
			t.Errorf("%s: the run does not fail\n%s", flags, ended)
		}
		return round == 0
	}
	t.Errorf("%s: no result names %q\n%s", flags, o.fault.Breaks, ended)
	return false
}

// openingPage is the label of the page about the opening, by whether the revision
// has a handshake.
var openingPage = map[bool]string{true: "lifecycle", false: "versioning"}

// namedIn tells whether a result that failed, or warned, names something that is broken.
func (o opened) namedIn(t *testing.T, file string) bool {
	t.Helper()
	if _, err := os.Stat(file); err != nil {
		return false // the filter matches nothing there is
	}
	for _, cell := range readRun(t, file).Cells {
		for _, result := range cell.Results {
			broken := result.Verdict == reports.Failed || result.Verdict == reports.Warned
			if broken && slices.ContainsFunc(result.Requirements, func(one reports.Requirement) bool {
				return slices.Contains(o.fault.Breaks, one.ID) || one.ID == metAs[o.fault.ID]
			}) {
				return true
			}
		}
	}
	return false
}

// target are the arguments that name the reference with the fault.
func (o opened) target(t *testing.T, speaks string) []string {
	t.Helper()
	reference := []string{os.Args[0], "reference", o.cell.Role}
	if speaks != "" {
		reference = append(reference, "--revision", speaks)
	}
	reference = append(reference, "--fault", o.fault.ID)
	switch {
	case o.cell.Role == protocol.ClientRole && o.cell.Transport == protocol.Stdio:
		return slices.Concat([]string{"--"}, reference, []string{"--", scenario.ServerPlace})
	case o.cell.Role == protocol.ClientRole:
		return slices.Concat([]string{"--"}, reference)
	}
	if o.cell.Transport == protocol.Stdio {
		return slices.Concat([]string{"--"}, reference, []string{"--stdio"})
	}
	return []string{"--url", listening(t, reference[1:]...)}
}

// A revision that --revision names and the target does not speak is a failure in every
// report, regardless of the filter. With --revision all it is not.
func TestNamedRevisionsMustBeSpoken(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]struct {
		role, revision string
		target         []string
		id             string
	}{
		"a server of the handshake era": {"server", "2026-07-28", []string{"server", "--stdio", "--revision", "2025-11-25"}, "discover.implemented"},
		"a server of the stateless era": {"server", "2025-11-25", []string{"server", "--stdio", "--revision", "2026-07-28"}, "lifecycle.version.echoed"},
		"a server of another revision":  {"server", "2025-11-25", []string{"server", "--stdio", "--revision", "2025-06-18"}, "revision"},
		"a client of the handshake era": {"client", "2026-07-28", []string{"client", "--revision", "2025-11-25"}, "base.fields.sent"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			directory := t.TempDir()
			reference := slices.Concat([]string{"--", os.Args[0], "reference"}, one.target)
			found := mcpconformIn(t, directory, slices.Concat([]string{one.role, "--revision", one.revision, "--filter", "MUST",
				"--json", "run.json", "--junit", "run.xml"}, reference)...)
			found.demand(t, exitDoesNot, "FAILED", "speaks "+one.revision, one.id, "Does not speak "+one.revision)
			// That a released revision is not spoken breaks no requirement.
			if one.id != "revision" && !(opened{fault: &fault.Fault{Breaks: []string{one.id}}}).namedIn(t, filepath.Join(directory, "run.json")) {
				t.Errorf("the run does not name %s", one.id)
			}
			junit, err := os.ReadFile(filepath.Join(directory, "run.xml"))
			if err != nil || !strings.Contains(string(junit), `failures="1"`) || !strings.Contains(string(junit), "<failure") {
				t.Errorf("%v\n%s", err, junit)
			}
		})
	}
	t.Run("all", func(t *testing.T) {
		t.Parallel()
		found := mcpconform(t, "server", "-q", "--revision", "all", "--filter", "lifecycle.version.echoed || discover.versions",
			"--", os.Args[0], "reference", "server", "--stdio", "--revision", "2025-11-25")
		found.demand(t, 0, "No failure found in 1 of ")
	})
}

// By default a broken opening beside a good one is told, with a line at the top of its
// cell, and the good one is checked.
func TestABrokenOpeningBesideAGoodOne(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	file := filepath.Join(t.TempDir(), "run.json")
	found := mcpconform(t, "server", "--json", file, "--filter", "lifecycle || versioning",
		"--", os.Args[0], "reference", "server", "--stdio", "--fault", "version-not-echoed")
	found.demand(t, exitDoesNot, "Does not conform to 2025-11-25; no failure found in ", "lifecycle.version.echoed")
	for _, cell := range readRun(t, file).Cells {
		if isBroken := cell.Revision == "2025-11-25"; isBroken != slices.ContainsFunc(cell.Notices, func(line string) bool { return strings.Contains(line, "the opening at 2025-11-25 fails") }) {
			t.Errorf("%s notices %q", cell.Name(), cell.Notices)
		}
	}
}

// listening starts a reference server over HTTP, and returns its URL.
func listening(t *testing.T, arguments ...string) string {
	t.Helper()
	_, _, out := piped(t, slices.Concat(arguments, []string{"--listen", "127.0.0.1:0", "--" + references.AttachedFlag})...)
	text, err := out.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(strings.TrimPrefix(text, "listening on "))
}
