package check

import (
	"context"
	"iter"

	"github.com/mcpconform/mcpconform/internal/excerpt"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// T is one check that runs: its context, what it has found out, and how it ends. It belongs
// to one goroutine. Functions that end a check do not return.
type T struct {
	context.Context // ends when the time of the check is over

	Cell     rules.Cell
	Declared *Declaration
	Outcome  Outcome

	values map[any]any
}

// New makes one for a check at a revision, over a transport.
func New(ctx context.Context, cell rules.Cell, declared *Declaration) *T {
	return &T{Context: ctx, Cell: cell, Declared: declared, values: map[any]any{}}
}

// Value returns what was kept under a key, or what its context has.
func (t *T) Value(key any) any {
	if value, kept := t.values[key]; kept {
		return value
	}
	return t.Context.Value(key)
}

// Keep keeps a value for the time of the check: what packages share that speak to the target.
func (t *T) Keep(key, value any) { t.values[key] = value }

// ended is what a check panics with that ends before its last line.
type ended struct{}

// End ends the check as its outcome says.
func (t *T) End() { panic(ended{}) }

// Run runs what may end the check, and returns when it is over. Other panics go on.
func (t *T) Run(body func()) {
	defer func() {
		if cause := recover(); cause != nil {
			if _, is := cause.(ended); !is {
				panic(cause)
			}
		}
	}()
	body()
}

// Revision is the revision under test.
func (t *T) Revision() string { return t.Cell.Revision }

// Transport is the transport under test.
func (t *T) Transport() protocol.Transport { return protocol.Over(t.Cell.Transport) }

// Has tells whether the revision under test has a feature.
func (t *T) Has(feature protocol.Feature) bool { return t.Cell.Has(feature) }

// A check passes only if it observed something that could have broken its requirement.
// Matchers observe what they match; who judges otherwise says here what was observed:
// each of several things, that something wanted was there, or that something unwanted
// was not, where it could have been. Preconditions, which begin with Need, observe
// nothing.

// Observe counts something that the target sent or did and that could have broken
// what the check verifies. Expect and Demand observe by themselves; who goes through a
// list and judges what is wrong with it observes each element.
func (t *T) Observe() { t.Outcome.Observed++ }

// Observed tells whether what a requirement wants was there, and observes that it was.
// That it was not is no observation: it may not have been provoked.
func (t *T) Observed(wanted bool) bool {
	if wanted {
		t.Observe()
	}
	return wanted
}

// ObserveEach yields what a check judges one by one: each is an observation.
func ObserveEach[One any](t *T, all []One) iter.Seq[One] {
	return func(yield func(One) bool) {
		for _, one := range all {
			t.Observe()
			if !yield(one) {
				return
			}
		}
	}
}

// Evidence is what the target sent, and can be told in words.
type Evidence interface {
	Describe() string
	Place() transcript.Place
}

// Judging says what a check is about from now on: the report marks it when the check fails.
// Expect, DemandOf and the functions that take a reply from a server call it themselves.
func (t *T) Judging(evidence Evidence) { t.Outcome.Judged = evidence.Place() }

// JudgingNothing says that a check is about nothing that the target sent.
func (t *T) JudgingNothing() { t.Outcome.Judged = transcript.Place{} }

// Judge fails the check when there is a mismatch, with all of them. It is no
// observation: that there is no mismatch may mean that there was nothing to look at.
func (t *T) Judge(mismatches ...Mismatch) {
	if len(mismatches) == 0 {
		return
	}
	if of := mismatches[0].Of; of != (transcript.Place{}) {
		t.Outcome.Judged = of
	}
	t.Outcome.Ending = Failed
	for _, mismatch := range mismatches[:min(len(mismatches), maxMismatches)] {
		t.Outcome.Mismatches = append(t.Outcome.Mismatches, mismatch.Short())
	}
	t.End()
}

// maxMismatches bounds how many a check tells of at once.
const maxMismatches = 32

// Wrong is what is wrong with something that the target sent, for a check that judges
// several things in one go.
func Wrong(evidence Evidence, wanted string) Mismatch {
	return Mismatch{Wanted: wanted, Found: evidence.Describe(), Of: evidence.Place()}
}

// Demand fails the check unless a condition holds.
func (t *T) Demand(holds bool, wanted, found string) {
	t.Observe()
	if !holds {
		t.Judge(Mismatch{Wanted: wanted, Found: found})
	}
}

// DemandOf does so for something that the target sent, which the report marks.
func (t *T) DemandOf(evidence Evidence, holds bool, wanted string) {
	t.Judging(evidence)
	t.Demand(holds, wanted, evidence.Describe())
}

// DemandNone fails the check if something came that must not. That nothing did is an
// observation only where it could have: the check sees to that first.
func (t *T) DemandNone(wanted string, came []scripted.Received) {
	t.Observe()
	if len(came) > 0 {
		t.Outcome.Judged = came[0].At
		t.Judge(Mismatch{Wanted: wanted, Found: excerpt.Short(came[0].Raw)})
	}
}

// Inconclusive ends a check that the target gave no way to conclude. The hint
// says what to do about it.
func (t *T) Inconclusive(reason, hint string) {
	t.Outcome = Outcome{
		Ending:   Inconclusion,
		Reason:   excerpt.OneLine(reason),
		Hint:     excerpt.OneLine(hint),
		Doubtful: t.Outcome.Doubtful,
		Awaited:  t.Outcome.Awaited,
		Late:     t.Outcome.Late,
	}
	t.End()
}

// TooLate ends a check of which a request came after what it was to come before, so that it is
// repeated alone: this machine may have been too busy for it.
func (t *T) TooLate(reason, hint string) {
	t.Outcome.Doubtful = true
	t.Inconclusive(reason, hint)
}

// NotApplicable ends a check whose requirement does not apply to the target.
func (t *T) NotApplicable(reason string) {
	t.Outcome = Outcome{Ending: Skipped, Reason: excerpt.OneLine(reason)}
	t.End()
}
