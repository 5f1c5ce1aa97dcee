// Package verdict says what the results of checks and rules come to together: what has one
// cause is told once, and what shards have found becomes one run. It asks no target anything.
package verdict

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpconform/mcpconform/internal/catalogue"
	"github.com/mcpconform/mcpconform/reports"
)

// MaxBreaches bounds the causes that are reported of one rule.
const MaxBreaches = 12

// Exploration is the heading of what draws have shown.
const Exploration = "Exploration"

// TellOnce makes what was found the results of a run: what has one cause is told once.
func TellOnce(results []reports.Result, requirements *catalogue.Catalogue) {
	for i := range results {
		count(&results[i])
	}
	oneCauseOneFailure(results, requirements)
}

// count tells of a rule how often it was broken, and in how many connections.
func count(result *reports.Result) {
	if result.Kind != reports.KindRule {
		return
	}
	result.Failures = slices.Clone(result.Failures)
	for i := range result.Failures {
		failure := &result.Failures[i]
		if len(result.Failures) > 1 && failure.Occurrences > 1 {
			failure.Found += fmt.Sprintf(" (%d times)", failure.Occurrences)
		}
		result.Occurrences += failure.Occurrences
		result.Connections = max(result.Connections, failure.Connections)
		failure.Cause, failure.Occurrences, failure.Connections = "", 0, 0
	}
}

// oneCauseOneFailure leaves of each cause one failure. What several checks and rules
// found broken of the same requirement is told by the rule, which has seen and counted
// it in every connection, or else by the most general check. What follows from the defect
// that another result tells of, by the catalogue, is told there. The others are skipped,
// and say where it is told.
func oneCauseOneFailure(results []reports.Result, requirements *catalogue.Catalogue) {
	slices.SortStableFunc(results, func(a, b reports.Result) int {
		return cmp.Or(
			cmp.Compare(b.Kind, a.Kind), // rules first
			cmp.Compare(a.ID, b.ID),
			cmp.Compare(conditions(&a), conditions(&b)),
			cmp.Compare(len(b.Failures), len(a.Failures)),
			cmp.Compare(a.Text, b.Text),
		)
	})
	gatherSame(results)
	gatherFollowing(results, requirements)
	gatherForms(results)
	for i := range results {
		forgetAbout(&results[i])
	}
}

// conditions measures how special a check is, by the words of its text: of checks of one
// requirement, the shortest is about the plain case.
func conditions(result *reports.Result) int { return len(strings.Fields(result.Text)) }

// IsDrawn tells whether a draw has shown the result: each stands for an input of its own.
func IsDrawn(result *reports.Result) bool { return slices.Equal(result.Group, []string{Exploration}) }

func isBroken(result *reports.Result) bool {
	return result.Verdict == reports.Failed || result.Verdict == reports.Warned
}

// toldElsewhere skips a result of which another one tells.
func toldElsewhere(result *reports.Result, reason string) {
	*result = reports.Result{
		ID: result.ID, Kind: result.Kind, Page: result.Page, Group: result.Group, Text: result.Text,
		Requirements: result.Requirements, Duration: result.Duration, Verdict: reports.Skipped, Reason: reason,
	}
}

// gatherSame gathers what was found broken of the same requirement.
func gatherSame(results []reports.Result) {
	telling := map[string]*reports.Result{} // by requirement and verdict
	for i := range results {
		result := &results[i]
		if !isBroken(result) {
			continue
		}
		cause := result.ID + " " + string(result.Verdict)
		if IsDrawn(result) {
			cause += " " + result.Text
		}
		first, reported := telling[cause]
		if !reported {
			telling[cause] = result
			continue
		}
		first.Occurrences = max(1, first.Occurrences) + max(1, result.Occurrences)
		for _, failure := range result.Failures {
			if !slices.ContainsFunc(
				first.Failures,
				func(one reports.Failure) bool { return sameFailure(one, failure) },
			) &&
				len(first.Failures) < MaxBreaches {
				first.Failures = append(first.Failures, failure)
			}
		}
		toldElsewhere(result, SameAs(first.Text))
	}
}

// SameAs is the reason of what another check or rule reports, by its text.
func SameAs(text string) string { return fmt.Sprintf("%q reports the same", text) }

// sameFailure tells whether two mismatches are one, even if they belong to different
// requests.
func sameFailure(a, b reports.Failure) bool {
	a.About, b.About = "", ""
	a.Method, b.Method = "", ""
	a.Item, b.Item = "", ""
	return a == b
}

// gatherFollowing puts what follows from a defect to the result that tells of it: the
// first, where one follows from another. A failure does not follow from a warning, nor
// what is broken at other places of a message from what is broken there.
func gatherFollowing(results []reports.Result, requirements *catalogue.Catalogue) {
	var from func(result *reports.Result) *reports.Result
	from = func(result *reports.Result) *reports.Result {
		requirement, known := requirements.Get(result.ID)
		if !known {
			return nil
		}
		for i := range results {
			other := &results[i]
			severe := other.Verdict == reports.Failed || other.Verdict == result.Verdict
			if isBroken(other) && severe && slices.Contains(requirement.Follows, other.ID) && explains(other, result) {
				return cmp.Or(from(other), other) // the catalogue has no circles
			}
		}
		return nil
	}
	causes := make([]*reports.Result, len(results)) // before any is changed
	for i := range results {
		if isBroken(&results[i]) && !IsDrawn(&results[i]) {
			causes[i] = from(&results[i])
		}
	}
	for i, cause := range causes {
		if cause == nil {
			continue
		}
		follow(&results[i], cause)
	}
}

func follow(result, cause *reports.Result) {
	for _, id := range append([]string{result.ID}, result.Follows...) {
		if id != cause.ID && !slices.Contains(cause.Follows, id) {
			cause.Follows = append(cause.Follows, id)
		}
	}
	toldElsewhere(result, "follows from "+cause.ID)
}

// gatherForms puts the methods that fail in some legal forms of a request to the one that
// fails in most, and in these too: what reads requests reads those of all methods.
func gatherForms(results []reports.Result) {
	var failing []*reports.Result
	for i := range results {
		if isBroken(&results[i]) && !IsDrawn(&results[i]) && len(formsOf(&results[i])) > 0 {
			failing = append(failing, &results[i])
		}
	}
	slices.SortStableFunc(failing, func(a, b *reports.Result) int { return len(formsOf(b)) - len(formsOf(a)) })
	for i, result := range failing {
		forms := formsOf(result)
		if len(forms) < len(result.Failures) {
			continue // which fails otherwise, too
		}
		at := slices.IndexFunc(failing[:i], func(other *reports.Result) bool {
			known := formsOf(other)
			return other.Verdict == result.Verdict &&
				!slices.ContainsFunc(forms, func(form string) bool { return !slices.Contains(known, form) })
		})
		if at >= 0 {
			follow(result, failing[at])
		}
	}
}

// formsOf are the legal forms of requests in which a result is broken.
func formsOf(result *reports.Result) []string {
	var forms []string
	for _, failure := range result.Failures {
		if failure.Form != "" {
			forms = append(forms, failure.Form)
		}
	}
	return forms
}

// explains tells whether each mismatch of a result may come from those of another: in an
// answer to the same method, and, where both are at places in messages, at, in or around
// the place of the other.
func explains(cause, result *reports.Result) bool {
	for _, failure := range result.Failures {
		if !slices.ContainsFunc(cause.Failures, func(one reports.Failure) bool { return near(one, failure) }) {
			return false
		}
	}
	return true
}

// near tells whether nothing shows that two mismatches are about different things.
func near(a, b reports.Failure) bool {
	if a.Method != "" && b.Method != "" && a.Method != b.Method {
		return false
	}
	if !isPlace(a.Where) || !isPlace(b.Where) {
		return true
	}
	one, other := place(a.Where), place(b.Where)
	return strings.HasPrefix(one, other) || strings.HasPrefix(other, one)
}

func isPlace(where string) bool { return strings.HasPrefix(where, "/") }

// place is a JSON pointer with a * for each element of a list, to be compared.
func place(pointer string) string {
	tokens := strings.Split(pointer, "/")
	for i, token := range tokens {
		if _, err := strconv.Atoi(token); err == nil {
			tokens[i] = "*"
		}
	}
	return strings.Join(tokens, "/") + "/"
}

// forgetAbout leaves to say which request a mismatch belongs to where there are
// several.
func forgetAbout(result *reports.Result) {
	for _, failure := range result.Failures {
		if failure.About != result.Failures[0].About {
			return
		}
	}
	for i := range result.Failures {
		result.Failures[i].About = ""
	}
}
