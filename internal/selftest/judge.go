package selftest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mcpconform/mcpconform/internal/plan"
	"github.com/mcpconform/mcpconform/reports"
)

// judgement is what trials are judged by.
type judgement struct {
	verified map[side]map[string][]string // by check or rule: the requirements
	peer     bool                         // the target may differ from the reference
}

func newJudgement(declared map[side][]plan.Declared, peer bool) judgement {
	j := judgement{verified: map[side]map[string][]string{}, peer: peer}
	for here, checks := range declared {
		j.verified[here] = map[string][]string{}
		for _, check := range checks {
			j.verified[here][plan.CheckName(check.Group, check.Text)] = check.Requirements
		}
	}
	return j
}

// outcome is what all parts of a trial found together.
type outcome struct {
	found   map[string]finding
	matched map[string]bool // by layer
	seconds float64
	errors  []string
}

func (o *outcome) take(part done) {
	if o.found == nil {
		o.found, o.matched = map[string]finding{}, map[string]bool{}
	}
	merge(o.found, part.Findings)
	for _, id := range part.Matched {
		o.matched[id] = true
	}
	o.seconds += part.Seconds
	o.errors = append(o.errors, part.Errors...)
}

// judge says what became of a trial.
func (j judgement) judge(t trial, found outcome) reports.Trial {
	result := reports.Trial{
		ID: t.ID, Kind: t.kind, Says: t.Says, Seen: t.Seen, Place: t.place(), Breaks: t.Breaks,
		Role: t.cell.Role, Revision: t.cell.Revision, Transport: t.cell.Transport, Touched: t.touched,
		Matched:  found.matched[t.ID] || t.Switch != "" && !j.peer,
		Duration: reports.Seconds(found.seconds), Rerun: "mcpconform selftest --filter " + t.ID + " -v",
	}
	for _, one := range found.found {
		if one.Kind == reports.KindCheck {
			result.Ran++
		}
	}
	reasons := beside(t.Fault)
	for _, id := range t.also {
		result.AlsoBreaks = append(result.AlsoBreaks, reports.AlsoBroken{ID: id, Reason: reasons[id]})
	}
	for _, text := range found.errors {
		result.Problems = append(result.Problems, reports.Problem{Kind: reports.Crashed, Says: text})
	}
	if len(found.errors) > 0 {
		return result
	}
	if !result.Matched {
		if !j.peer {
			result.Problems = append(result.Problems, reports.Problem{Kind: reports.Unmatched,
				Says: "nothing that passed on " + t.cell.Name() + " matched it"})
		}
		return result
	}
	if t.kind == reports.KindSilence {
		j.silent(t, found.found, &result)
		return result
	}
	j.effects(t, found.found, &result)
	if t.kind == reports.KindVariation {
		j.unchanged(t, found.found, &result)
	} else {
		j.exactly(t, found.found, &result)
	}
	return result
}

// silent demands that no check passes on a target that shows nothing, save what it is
// said to show. Rules judge what there is.
func (j judgement) silent(t trial, found map[string]finding, one *reports.Trial) {
	passed := map[string]bool{}
	for _, check := range slices.Sorted(maps.Keys(found)) {
		if found[check].Kind != reports.KindCheck || found[check].Verdict != reports.Passed {
			continue
		}
		allowed := false
		for _, id := range j.verified[sideOf(t.cell)][check] {
			allowed = allowed || t.Passes[id] != ""
			passed[id] = true
		}
		if !allowed {
			one.Problems = append(one.Problems, reports.Problem{
				Kind: reports.Vacuous,
				Says: fmt.Sprintf(
					"%q passed; it verifies %s",
					check,
					strings.Join(j.verified[sideOf(t.cell)][check], ", "),
				),
			})
		}
	}
	for _, id := range slices.Sorted(maps.Keys(t.Passes)) {
		if !passed[id] && !t.shared && !j.peer {
			one.Problems = append(
				one.Problems,
				reports.Problem{Kind: reports.Stale, Says: id + " did not pass: take it out of what passes"},
			)
		}
	}
}

// effects collects the verdicts that differ from those without the layer. Of a
// fault those that are red are told, and the others counted.
func (j judgement) effects(t trial, found map[string]finding, one *reports.Trial) {
	for _, check := range slices.Sorted(maps.Keys(found)) {
		now, was := found[check], t.base.found[check].Verdict
		switch {
		case now.Verdict == was, now.red() && j.peer && t.base.found[check].red():
			continue
		case now.Kind == reports.KindRule && !now.red():
			continue // it has seen less, since less was run
		case now.Verdict == reports.Passed && t.kind == reports.KindFault:
			continue
		case !now.red() && t.kind == reports.KindFault:
			one.Silenced++
			continue
		}
		effect := reports.Effect{
			Check: check, Kind: now.Kind, Requirements: j.verified[sideOf(t.cell)][check], Was: was,
			Verdict: now.Verdict, Reason: now.Reason, Failures: now.Failures, Exchange: now.Exchange,
		}
		switch {
		case verifies(effect.Requirements, t.Breaks):
			effect.Allowed = reports.ByBreaks
			one.Caught = true
		case verifies(effect.Requirements, t.also):
			effect.Allowed = reports.ByAlsoBreaks
		}
		one.Effects = append(one.Effects, effect)
	}
}

// unchanged demands that a variation changes no verdict. What is not there may
// leave nothing to judge: then a check may be skipped, and be inconclusive where
// the variation says that it takes something away, for a reason that it names.
func (j judgement) unchanged(t trial, found map[string]finding, one *reports.Trial) {
	for _, effect := range one.Effects {
		complain := func(format string, values ...any) {
			one.Problems = append(one.Problems,
				reports.Problem{Kind: reports.Changed, Says: fmt.Sprintf(format, values...)})
		}
		switch {
		case effect.Red() || effect.Verdict == reports.Inconclusive && !t.Silences:
			complain("%q is %s, not %s", effect.Check, effect.Verdict, cmp.Or(effect.Was, "run"))
		case found[effect.Check].Unexplained:
			complain("%q does not say why nothing shows it", effect.Check)
		}
	}
	silent := slices.ContainsFunc(
		one.Effects,
		func(effect reports.Effect) bool { return effect.Verdict == reports.Inconclusive },
	)
	if t.Silences && !silent && !j.peer {
		one.Problems = append(
			one.Problems,
			reports.Problem{Kind: reports.Stale, Says: "it silences nothing: take silences out"},
		)
	}
}

// exactly demands that a fault makes fail what verifies the requirements that it
// breaks, and nothing else.
func (j judgement) exactly(t trial, found map[string]finding, one *reports.Trial) {
	complain := func(kind, format string, values ...any) {
		one.Problems = append(one.Problems, reports.Problem{Kind: kind, Says: fmt.Sprintf(format, values...)})
	}
	if !one.Caught {
		complain(reports.NotCaught, "%s", j.missed(t, found))
	}
	for _, effect := range one.Effects {
		if effect.Allowed == "" {
			complain(
				reports.Accused,
				"%q is %s; it verifies %s",
				effect.Check,
				effect.Verdict,
				strings.Join(effect.Requirements, ", "),
			)
		}
	}
	for _, id := range t.also {
		needed := slices.ContainsFunc(one.Effects, func(effect reports.Effect) bool {
			return effect.Allowed == reports.ByAlsoBreaks && slices.Contains(effect.Requirements, id)
		})
		if _, always := t.AlsoBreaks[id]; always && !needed && !j.peer {
			complain(reports.Stale, "%s did not fail: take it out of also-breaks", id)
		}
	}
}

// missed says what became of the checks that should have caught a fault.
func (j judgement) missed(t trial, found map[string]finding) string {
	var texts []string
	for check, requirements := range j.verified[sideOf(t.cell)] {
		if !verifies(requirements, t.Breaks) {
			continue
		}
		switch now, ran := found[check]; {
		case !ran:
			texts = append(texts, fmt.Sprintf("%q did not run", check))
		case now.Reason != "":
			texts = append(texts, fmt.Sprintf("%q is %s: %s", check, now.Verdict, now.Reason))
		default:
			texts = append(texts, fmt.Sprintf("%q is %s", check, now.Verdict))
		}
	}
	slices.Sort(texts)
	return strings.Join(texts, "; ")
}

// fewAccused is how many checks a slow machine may make fail: what makes more
// of them fail is the fault's doing.
const fewAccused = 3

// doubtful tells whether a trial is to be tried again with more patience. What a check
// has missed may have come too late for it, on another stream, and what it has waited for
// in vain may come yet. What it has seen without a wait does not depend on the machine:
// when it is not there again, it has drifted, which is told.
func doubtful(result reports.Trial, found outcome, reply float64) (again bool, drifts []reports.Problem) {
	missed, seen := 0, 0
	for _, one := range result.Problems {
		switch one.Kind {
		case reports.NotCaught, reports.Unmatched, reports.Stale:
			missed++
		case reports.Accused, reports.Changed:
			seen++
			drifts = append(drifts, one)
		}
	}
	waited := slices.ContainsFunc(
		slices.Collect(maps.Values(found.found)),
		func(one finding) bool { return one.Seconds >= reply },
	)
	if waited {
		drifts = nil
	}
	return seen <= fewAccused && seen+missed > 0, drifts
}
