package check

import (
	"fmt"
	"strings"

	"github.com/onsi/gomega/matchers"
	"github.com/onsi/gomega/types"

	"github.com/mcpconform/mcpconform/internal/excerpt"
	"github.com/mcpconform/mcpconform/internal/rules"
)

// Expectation is a value of the target that a check is about.
type Expectation struct {
	t      *T
	actual any
}

// Expect observes a value; To and NotTo judge it, by matchers of this project and of Gomega.
func (t *T) Expect(actual any) Expectation {
	t.Observe()
	if evidence, is := actual.(Evidence); is {
		t.Judging(evidence)
	}
	return Expectation{t, actual}
}

// To fails the check unless the value matches.
func (e Expectation) To(wanted types.GomegaMatcher) { e.judge(wanted, true) }

// NotTo fails the check if the value matches.
func (e Expectation) NotTo(wanted types.GomegaMatcher) { e.judge(wanted, false) }

func (e Expectation) judge(wanted types.GomegaMatcher, match bool) {
	matched, err := wanted.Match(e.actual)
	if err == nil && matched == match {
		return
	}
	ours, isOurs := wanted.(*matcher)
	switch {
	case err != nil:
		e.t.Judge(Mismatch{Wanted: "a value that can be judged", Found: excerpt.OneLine(err.Error())})
	case isOurs && match:
		e.t.Judge(ours.mismatch(e.actual))
	case match:
		e.t.Judge(Mismatch{Wanted: Words(wanted), Found: shown(e.actual)})
	default:
		e.t.Judge(Mismatch{Wanted: "anything but " + Words(wanted), Found: shown(e.actual)})
	}
}

// shown is a value in words, where it has some.
func shown(value any) string {
	if evidence, is := value.(Evidence); is {
		return evidence.Describe()
	}
	return rules.Show(value)
}

// matcher is a Gomega matcher that says what it wants and what it found.
type matcher struct {
	wanted string
	// judge returns what was found instead, and where; "" when it matches.
	judge func(actual any) (found, where string)
}

// NewMatcher makes a matcher that says what it wants. The function returns what it found
// instead, and where; "" when the value matches.
func NewMatcher(wanted string, judge func(actual any) (found, where string)) types.GomegaMatcher {
	return &matcher{wanted: wanted, judge: judge}
}

// Be makes a matcher of a predicate, described in words: "a non-empty string".
func Be(description string, holds func(value any) bool) types.GomegaMatcher {
	return NewMatcher(description, func(actual any) (string, string) {
		if holds(actual) {
			return "", ""
		}
		return rules.Show(actual), ""
	})
}

// Match judges. It keeps nothing: checks that run at the same time share matchers.
func (m *matcher) Match(actual any) (bool, error) {
	found, _ := m.judge(actual)
	return found == "", nil
}

func (m *matcher) mismatch(actual any) Mismatch {
	found, where := m.judge(actual)
	return Mismatch{Wanted: m.wanted, Found: found, Where: where}
}

// FailureMessage says what was wanted and what was found.
func (m *matcher) FailureMessage(actual any) string { return m.mismatch(actual).String() }

// NegatedFailureMessage says that what was found should not have been.
func (m *matcher) NegatedFailureMessage(actual any) string {
	return Mismatch{Wanted: "anything but " + m.wanted, Found: rules.Show(actual)}.String()
}

// Words say what a matcher wants, also one that Gomega makes of others; a value that is no
// matcher is shown.
func Words(wanted any) string {
	switch wanted := wanted.(type) {
	case *matcher:
		return wanted.wanted
	case *matchers.AndMatcher:
		return joined(wanted.Matchers, " and ")
	case *matchers.OrMatcher:
		return joined(wanted.Matchers, " or ")
	case *matchers.NotMatcher:
		return "anything but " + Words(wanted.Matcher)
	case *matchers.ContainElementMatcher:
		return "an element that is " + Words(wanted.Element)
	case *matchers.HaveLenMatcher:
		return fmt.Sprintf("%d elements", wanted.Count)
	case *matchers.WithTransformMatcher:
		return Words(wanted.Matcher)
	case *matchers.EqualMatcher:
		return rules.Show(wanted.Expected)
	case types.GomegaMatcher:
		return fmt.Sprintf("what %T wants", wanted)
	}
	return rules.Show(wanted)
}

func joined(all []types.GomegaMatcher, by string) string {
	words := make([]string, len(all))
	for i, one := range all {
		words[i] = Words(one)
	}
	return strings.Join(words, by)
}
