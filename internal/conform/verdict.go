package conform

import (
	"strings"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega/format"

	"github.com/mcpconform/mcpconform/internal/transcript"
)

// Outcome is how a check ended, before its level makes a verdict of it.
type Outcome struct {
	Ending     Ending
	Reason     string // why it was skipped or is inconclusive: one line
	Hint       string // what would make it conclusive: one line
	Mismatches []Mismatch
	// Provocation is the kind of which no tool is known, where that is the reason.
	Provocation string
	// Idle tells of a target client that it did nothing in the story but connect, and
	// had to be ended.
	Idle   bool
	Judged *transcript.Event // that breaks the requirement; nil when the check does not say
	About  Subject           // that it belongs to; zero when it belongs to none
}

// Ending is how a check ended, whatever the level of what it verifies.
type Ending string

// The endings of a check.
const (
	Passed       Ending = ""
	Failed       Ending = "failed"
	Skipped      Ending = "skipped"
	Inconclusion Ending = "inconclusive"
	PutOff       Ending = "put off" // there was no room for what the target sent
)

// Mismatch is one difference between what a requirement wants and what the
// target did.
type Mismatch struct {
	Wanted string
	Found  string
	Where  string // JSON pointer, header name, … or ""
}

// Judge fails the check when there is a mismatch, with all of them.
func Judge(mismatches ...Mismatch) {
	if len(mismatches) == 0 {
		return
	}
	current.outcome.Ending = Failed
	current.outcome.Mismatches = append(current.outcome.Mismatches, mismatches...)
	texts := make([]string, len(mismatches))
	for i, mismatch := range mismatches {
		texts[i] = mismatch.String()
	}
	ginkgo.Fail(strings.Join(texts, "\n"), 1)
}

// Demand fails the check unless a condition holds.
func Demand(holds bool, wanted, found string) {
	if !holds {
		Judge(Mismatch{Wanted: wanted, Found: found})
	}
}

// Inconclusive ends a check that the target gave no way to conclude. The hint
// says what to do about it.
func Inconclusive(reason, hint string) {
	current.outcome = Outcome{Ending: Inconclusion, Reason: oneLine(reason), Hint: oneLine(hint)}
	ginkgo.Skip(reason, 1)
}

// NotApplicable ends a check whose requirement does not apply to the target.
func NotApplicable(reason string) {
	current.outcome = Outcome{Ending: Skipped, Reason: oneLine(reason)}
	ginkgo.Skip(reason, 1)
}

// Marks that a matcher's message has between its parts; see mismatchOf.
const (
	wantedMark = "wanted "
	foundMark  = "\nfound  "
	whereMark  = "\nat     "
)

func (m Mismatch) String() string {
	text := wantedMark + m.Wanted + foundMark + m.Found
	if m.Where != "" {
		text += whereMark + m.Where
	}
	return text
}

// mismatchOf reads a matcher's message back. A message of a matcher that is
// not ours is found, as it is.
func mismatchOf(message string) Mismatch {
	rest, ours := strings.CutPrefix(message, wantedMark)
	wanted, found, split := strings.Cut(rest, foundMark)
	if !ours || !split {
		return Mismatch{Wanted: "what the requirement says", Found: oneLine(message)}
	}
	found, where, _ := strings.Cut(found, whereMark)
	return Mismatch{Wanted: wanted, Found: found, Where: where}
}

// FailHandler is Gomega's fail handler: it keeps what a matcher said.
func FailHandler(message string, callerSkip ...int) {
	skip := 0
	if len(callerSkip) > 0 {
		skip = callerSkip[0]
	}
	current.outcome.Ending = Failed
	current.outcome.Mismatches = append(current.outcome.Mismatches, mismatchOf(message))
	ginkgo.Fail(message, skip+1)
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

func init() { format.MaxLength = 0 } // what a matcher says is shortened by the reports
