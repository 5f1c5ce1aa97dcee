package conform

import (
	"strings"

	"github.com/onsi/ginkgo/v2"

	"github.com/mcpconform/mcpconform/internal/excerpt"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// Outcome is how a check ended, before its level makes a verdict of it.
type Outcome struct {
	Ending     Ending
	Reason     string // why it was skipped or is inconclusive: one line
	Hint       string // what would make it conclusive: one line
	Mismatches []Mismatch
	// Observed counts what the check looked at that could have broken its requirement:
	// a check that observed nothing does not pass.
	Observed int
	// NoReply is the message without a reply that ended the check; nil for none.
	NoReply *NoReply
	// Doubtful tells that the outcome rests on a wait that was over or on a connection
	// that was lost, as either may be where a machine is loaded: it counts when the
	// check was repeated alone.
	Doubtful bool
	// Awaited is what a doubtful outcome has waited for: others that have waited for the
	// same need not be repeated, too. "" where nothing else does.
	Awaited string
	// Late is the wait on which a doubtful outcome rests; nil where none was over.
	Late *Late
	// Disturbed tells that what earlier checks left on a session may be the reason why the
	// check did not pass: it counts when it was repeated on one of its own.
	Disturbed bool
	// Gone says what was not answered on a fresh connection either, after a doubtful outcome;
	// "" when the target answers.
	Gone string
	// GoneLate is the wait after which nothing had come there; nil where none was over.
	GoneLate *Late
	// Quit says how the server ends that is asked nothing; nil for one that goes on: nothing
	// that it left unanswered shows anything.
	Quit *Quit
	// Provocation is the kind of which no tool is known, where that is the reason.
	Provocation string
	// Idle tells of a target client that it did nothing in the scenario but connect, and
	// had to be ended.
	Idle   bool
	Judged transcript.Place // of what breaks the requirement; zero where nothing does
}

// unproven tells whether a check came to no good end.
func (o Outcome) unproven() bool { return o.Ending == Failed || o.Ending == Inconclusion }

// Ending is how a check ended, whatever the level of what it verifies.
type Ending string

// The endings of a check.
const (
	Passed       Ending = ""
	Failed       Ending = "failed"
	Skipped      Ending = "skipped"
	Inconclusion Ending = "inconclusive"
	Deferred     Ending = "deferred" // there was no room for what the target sent
)

// Observe counts something that the target sent or did and that could have broken
// what the check verifies. Expect and Demand observe by themselves; who goes through a
// list and judges what is wrong with it observes each element.
func Observe() { current.outcome.Observed++ }

// Judge fails the check when there is a mismatch, with all of them. It is no
// observation: that there is no mismatch may mean that there was nothing to look at.
func Judge(mismatches ...Mismatch) {
	if len(mismatches) == 0 {
		return
	}
	if of := mismatches[0].Of; of != (transcript.Place{}) {
		current.outcome.Judged = of
	}
	current.outcome.Ending = Failed
	mismatches = mismatches[:min(len(mismatches), maxMismatches)]
	texts := make([]string, len(mismatches))
	for i, mismatch := range mismatches {
		mismatch = mismatch.Short()
		current.outcome.Mismatches = append(current.outcome.Mismatches, mismatch)
		texts[i] = mismatch.String()
	}
	ginkgo.Fail(strings.Join(texts, "\n"), 1)
}

// maxMismatches bounds how many a check tells of at once.
const maxMismatches = 32

// Wrong is what is wrong with something that the target sent, for a check that judges
// several things in one go.
func Wrong(evidence Evidence, wanted string) Mismatch {
	return Mismatch{Wanted: wanted, Found: evidence.Describe(), Of: evidence.Place()}
}

// Demand fails the check unless a condition holds.
func Demand(holds bool, wanted, found string) {
	Observe()
	if !holds {
		Judge(Mismatch{Wanted: wanted, Found: found})
	}
}

// DemandOf does so for something that the target sent, which the report marks.
func DemandOf(evidence Evidence, holds bool, wanted string) {
	Judging(evidence)
	Demand(holds, wanted, evidence.Describe())
}

// DemandNone fails the check if something came that must not. That nothing did is an
// observation only where it could have: the check sees to that first.
func DemandNone(wanted string, came []scripted.Received) {
	Observe()
	if len(came) > 0 {
		current.outcome.Judged = came[0].At
		Judge(Mismatch{Wanted: wanted, Found: excerpt.Short(came[0].Raw)})
	}
}

// Inconclusive ends a check that the target gave no way to conclude. The hint
// says what to do about it.
func Inconclusive(reason, hint string) {
	current.outcome = Outcome{
		Ending:   Inconclusion,
		Reason:   oneLine(reason),
		Hint:     oneLine(hint),
		Doubtful: current.outcome.Doubtful,
		Awaited:  current.outcome.Awaited,
		Late:     current.outcome.Late,
	}
	ginkgo.Skip(current.outcome.Reason, 1)
}

// NotApplicable ends a check whose requirement does not apply to the target.
func NotApplicable(reason string) {
	current.outcome = Outcome{Ending: Skipped, Reason: oneLine(reason)}
	ginkgo.Skip(current.outcome.Reason, 1)
}

func oneLine(text string) string { return strings.Join(strings.Fields(excerpt.Text(text)), " ") }
