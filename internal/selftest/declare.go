package selftest

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/mcpconform/mcpconform/fixtures"
	"github.com/mcpconform/mcpconform/internal/catalogue"
	"github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/fault"
	"github.com/mcpconform/mcpconform/internal/nearest"
	"github.com/mcpconform/mcpconform/internal/plan"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/scope"
	"github.com/mcpconform/mcpconform/reference/authserver"
	"github.com/mcpconform/mcpconform/reference/client"
	"github.com/mcpconform/mcpconform/reference/server"
	"github.com/mcpconform/mcpconform/reports"
)

// layer is a fault or variation, and the cell that it is injected into.
type layer struct {
	*fault.Fault
	kind     string // of trial
	cell     check.Cell
	also     []string // that stands on the cell, sorted
	shared   bool     // it is injected into another cell, too
	labels   []string // that a filter sees
	problems []error  // with what it says of itself
}

// place is where it is written, as seen from the root of the repository.
func (l layer) place() string { return fmt.Sprintf("%s:%d", path.Join("fixtures", l.File), l.Line) }

// role of the target that it is injected into.
func (l layer) role() string { return cmp.Or(l.Role, protocol.ServerRole) }

// side is a role at a revision: what the checks of a target depend on.
type side struct{ role, revision string }

func sideOf(cell check.Cell) side { return side{cell.Role, cell.Revision} }

// declarations are what the faults and variations are held against.
type declarations struct {
	requirements *catalogue.Catalogue
	checks       map[side][]plan.Declared // of the roles and revisions below
	roles        []string                 // of targets
	revisions    []string                 // that can be run, oldest first
	switches     map[string][]string      // that the reference has, by role
	only         string                   // transport of a peer; "" for the reference
}

// declarationsOf are those of all checks for some roles.
func declarationsOf(roles []string) (declarations, error) {
	d := declarations{
		checks: map[side][]plan.Declared{}, roles: roles, revisions: server.Revisions(),
		switches: map[string][]string{
			protocol.ServerRole: server.Defects(), protocol.ClientRole: client.Defects(),
			protocol.AuthorizationServerRole: authserver.Defects(),
		},
	}
	for _, role := range roles {
		checks, requirements, err := plan.All(role, d.revisions)
		if err != nil {
			return d, err
		}
		d.requirements = requirements
		for revision, all := range checks {
			d.checks[side{role, revision}] = all
		}
	}
	return d, nil
}

// sides are all of them, in a fixed order.
func (d declarations) sides() []side {
	var all []side
	for _, role := range d.roles {
		for _, revision := range d.revisions {
			all = append(all, side{role, revision})
		}
	}
	return all
}

// lineStart is where the place of a problem stands.
var lineStart = regexp.MustCompile(`(?m)^`)

// readLayers reads all faults and variations.
func readLayers(files fs.FS) ([]layer, error) {
	all, err := fault.Load(files)
	if err != nil {
		return nil, errors.New(lineStart.ReplaceAllString(err.Error(), "fixtures/"))
	}
	layers := make([]layer, len(all))
	for i, one := range all {
		layers[i] = layer{Fault: one, kind: reports.KindFault}
		switch path.Dir(one.File) {
		case fixtures.Variations:
			layers[i].kind = reports.KindVariation
		case fixtures.Silences:
			layers[i].kind = reports.KindSilence
		}
	}
	return layers, nil
}

// declare finds out where each is injected, and whether what it says of requirements
// holds: what does not is kept with it. One that holds in both eras is injected twice.
func (d declarations) declare(layers []layer) []layer {
	var injected []layer
	for _, one := range layers {
		wrong := func(format string, values ...any) {
			one.problems = append(
				one.problems,
				fmt.Errorf("%s: %s: %s", one.place(), one.ID, fmt.Sprintf(format, values...)),
			)
		}
		for _, step := range []func(*layer, complaint){d.consistent, d.known} {
			if step(&one, wrong); len(one.problems) > 0 {
				break
			}
		}
		var cells []check.Cell
		if len(one.problems) == 0 {
			cells = d.choose(&one, wrong)
		}
		if len(cells) == 0 {
			one.labels = d.labels(&one)
			injected = append(injected, one)
		}
		for _, cell := range cells {
			here := one
			here.cell, here.shared = cell, len(cells) > 1
			d.verified(&here, func(format string, values ...any) {
				here.problems = append(
					here.problems,
					fmt.Errorf("%s: %s: %s", here.place(), here.ID, fmt.Sprintf(format, values...)),
				)
			})
			here.labels = d.labels(&here)
			injected = append(injected, here)
		}
	}
	return injected
}

// problems joins all that is wrong.
func problems(layers []layer) error {
	var all []error
	for _, one := range layers {
		all = append(all, one.problems...)
	}
	return errors.Join(all...)
}

type complaint func(format string, values ...any)

// consistent makes sure that a layer is what it says it is.
func (d declarations) consistent(one *layer, wrong complaint) {
	if switches := d.switches[one.role()]; one.Switch != "" && !slices.Contains(switches, one.Switch) {
		wrong("the reference %s has no switch %q%s", one.role(), one.Switch, nearest.Hint(one.Switch, switches))
	}
	for _, name := range one.Scenarios {
		if known := d.scenarios(one.role()); one.Switch == "" && one.Into == "" || !slices.Contains(known, name) {
			wrong(
				"scenarios is for switches and recordings of clients, and there is no scenario %q%s",
				name,
				nearest.Hint(name, known),
			)
		}
	}
	switch {
	case one.kind == reports.KindFault && len(one.Breaks) == 0:
		wrong(
			"a fault breaks something: name it with breaks; what is legal belongs into fixtures/%s",
			fixtures.Variations,
		)
	case one.kind != reports.KindSilence && len(one.Passes) > 0:
		wrong("passes is for what stands in fixtures/%s", fixtures.Silences)
	case one.kind == reports.KindSilence && len(one.Breaks)+len(beside(one.Fault)) > 0:
		wrong("a silence breaks nothing: name with passes what may pass under it")
	case one.kind == reports.KindFault && one.Silences:
		wrong("silences is for variations: what a fault silences is counted")
	case one.kind == reports.KindFault && one.Alone:
		wrong("alone is for variations: every fault is injected alone")
	case one.kind == reports.KindVariation && len(one.Breaks)+len(beside(one.Fault)) > 0:
		wrong("a variation breaks nothing; what does belongs into fixtures/%s", fixtures.Faults)
	}
}

// scenarios are those in which checks of a role look.
func (d declarations) scenarios(role string) []string {
	var all []string
	for side, checks := range d.checks {
		for _, check := range checks {
			if check.Scenario != nil && side.role == role {
				all = append(all, check.Scenario.Name)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// known makes sure that the catalogue has what is broken.
func (d declarations) known(one *layer, wrong complaint) {
	for i, id := range one.Breaks {
		d.knownOne(one, "breaks", id, wrong)
		if slices.Contains(one.Breaks[:i], id) {
			wrong("breaks %s twice", id)
		}
	}
	for _, id := range alsoBrokenBy(one.Fault) {
		d.knownOne(one, "has beside what it breaks", id, wrong)
	}
	for id := range one.Passes {
		d.knownOne(one, "lets pass", id, wrong)
	}
}

func (d declarations) knownOne(one *layer, does, id string, wrong complaint) {
	requirement, known := d.requirements.Get(id)
	switch {
	case !known && d.requirements.Nearest(id) != "":
		wrong("%s %q, which no requirements.yaml has, did you mean %q?", does, id, d.requirements.Nearest(id))
	case !known:
		wrong("%s %q, which no requirements.yaml has", does, id)
	case !requirement.Applies("", "", one.role()):
		wrong("%s %s, which does not oblige a %s", does, id, one.role())
	}
}

// choose finds the cells: the newest revision of each era at which all that is broken
// stands and something would notice, or the one that is named; over HTTP unless it
// concerns stdio alone.
func (d declarations) choose(one *layer, wrong complaint) []check.Cell {
	cell := check.Cell{
		Role:      one.role(),
		Revision:  one.Revision,
		Transport: cmp.Or(one.Transport, d.transport(one)),
		Protected: one.Protected,
	}
	switch {
	case one.Revision != "" && !slices.Contains(d.revisions, one.Revision):
		wrong("revision %s cannot be run%s", one.Revision, nearest.Hint(one.Revision, d.revisions))
		return nil
	case one.Revision != "":
		return []check.Cell{cell}
	}
	if one.kind == reports.KindSilence {
		return d.everywhere(one)
	}
	var cells []check.Cell
	for _, noticed := range []bool{true, false} { // what nothing would notice is told
		eras := map[bool]bool{}
		for _, revision := range slices.Backward(d.revisions) {
			era := protocol.Has(revision, protocol.Handshake)
			here := side{one.role(), revision}
			if !eras[era] && protocol.Carries(cell.Transport, revision) && d.allStand(one.Breaks, here) &&
				(!noticed || d.noticed(one.Breaks, here)) {
				eras[era] = true
				cell.Revision = revision
				cells = append(cells, cell)
			}
		}
		if len(cells) > 0 {
			return cells
		}
	}
	wrong("at no revision that can be run all stand that it breaks: split it")
	return nil
}

// everywhere are the cells of the newest revision of each era, over both transports,
// or the one that is named.
func (d declarations) everywhere(one *layer) []check.Cell {
	var cells []check.Cell
	eras := map[bool]bool{}
	for _, revision := range slices.Backward(d.revisions) {
		if era := protocol.Has(revision, protocol.Handshake); eras[era] {
			continue
		}
		eras[protocol.Has(revision, protocol.Handshake)] = true
		for _, transport := range protocol.Transports() {
			if !protocol.Reaches(transport, one.role()) || !protocol.Carries(transport, revision) {
				continue
			}
			if one.Protected && transport != protocol.HTTP {
				continue // where there is no authorization
			}
			if one.Transport == "" || one.Transport == transport {
				cells = append(
					cells,
					check.Cell{Role: one.role(), Revision: revision, Transport: transport, Protected: one.Protected},
				)
			}
		}
	}
	return cells
}

// noticed tells whether there are checks or rules for all that is broken.
func (d declarations) noticed(ids []string, here side) bool {
	return !slices.ContainsFunc(ids, func(id string) bool {
		requirement, _ := d.requirements.Get(id)
		level := requirement.Level(here.revision)
		return !level.Failing() && !level.Warning() || !d.isVerified(id, here)
	})
}

// transport is HTTP unless that is not possible: what is broken concerns stdio
// alone, or the target of the selftest is reached over nothing else.
func (d declarations) transport(one *layer) string {
	concerns := func(transport string) bool {
		return slices.ContainsFunc(one.Breaks, func(id string) bool {
			requirement, _ := d.requirements.Get(id)
			return slices.Equal(requirement.Transports, []string{transport})
		})
	}
	overHTTP := concerns(protocol.HTTP) ||
		slices.ContainsFunc(
			one.AllChanges(),
			func(change fault.Change) bool { return change.When != nil && change.When.HTTP != nil },
		)
	if concerns(protocol.SSE) {
		return protocol.SSE
	}
	if concerns(protocol.Stdio) || d.only == protocol.Stdio && !overHTTP {
		return protocol.Stdio
	}
	return protocol.HTTP
}

func (d declarations) allStand(ids []string, here side) bool {
	return !slices.ContainsFunc(ids, func(id string) bool {
		requirement, _ := d.requirements.Get(id)
		return !requirement.Applies(here.revision, "", here.role)
	})
}

// verified makes sure that something can notice what is broken. What stands in
// another era alone is not also broken in this one.
func (d declarations) verified(one *layer, wrong complaint) {
	for _, id := range alsoBrokenBy(one.Fault) {
		if requirement, _ := d.requirements.Get(
			id,
		); !one.shared ||
			requirement.Applies(one.cell.Revision, one.cell.Transport, one.role()) {
			one.also = append(one.also, id)
		}
	}
	held := one.Breaks
	if d.only == "" { // elsewhere less may be broken besides
		held = slices.Concat(held, one.also)
	}
	for _, id := range held {
		requirement, _ := d.requirements.Get(id)
		level := requirement.Level(one.cell.Revision)
		switch {
		case !requirement.Applies(one.cell.Revision, one.cell.Transport, one.role()):
			wrong("%s does not stand at %s over %s", id, one.cell.Revision, one.cell.Transport)
		case !level.Failing() && !level.Warning():
			wrong("%s is a %s at %s: nothing can break it", id, level, one.cell.Revision)
		case !d.isVerified(id, sideOf(one.cell)):
			wrong("no check or rule of a %s verifies %s at %s", one.role(), id, one.cell.Revision)
		}
	}
}

func (d declarations) isVerified(id string, here side) bool {
	return slices.ContainsFunc(
		d.checks[here],
		func(check plan.Declared) bool { return slices.Contains(check.Requirements, id) },
	)
}

// alsoBrokenBy returns what a fault breaks beside, or may break, sorted.
func alsoBrokenBy(one *fault.Fault) []string {
	return slices.Sorted(maps.Keys(beside(one)))
}

// beside are the reasons for that, by id.
func beside(one *fault.Fault) map[string]string {
	reasons := maps.Clone(one.MayBreak)
	if reasons == nil {
		return one.AlsoBreaks
	}
	maps.Copy(reasons, one.AlsoBreaks)
	return reasons
}

// labels are those that a filter sees: its id, what it breaks with levels and
// pages, the name of its file, and what it is.
func (d declarations) labels(one *layer) []string {
	there := scope.Scope{Cell: one.cell, Catalogue: d.requirements}
	labels := []string{one.ID, one.kind, strings.TrimSuffix(path.Base(one.File), path.Ext(one.File))}
	for _, id := range one.Breaks {
		if _, known := d.requirements.Get(id); known {
			labels = append(labels, there.RuleLabels(rules.Rule{Verifies: rules.Verifies(id)})...)
		}
	}
	slices.Sort(labels)
	return slices.Compact(labels)
}
