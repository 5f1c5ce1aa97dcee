package check

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/onsi/gomega"
	"github.com/onsi/gomega/types"

	"github.com/mcpconform/mcpconform/internal/rules"
)

// Matchers that Gomega makes of ours end in the same words: what was wanted, and what was found.
func TestMatchersOfGomegaTellLikeOurs(t *testing.T) {
	t.Parallel()
	short := Be("a short text", func(value any) bool { text, is := value.(string); return is && len(text) < 3 })
	lower := Be("a text in lower case", func(value any) bool { return value == "ab" || value == "abcd" })
	length := func(list []any) int { return len(list) }
	for name, test := range map[string]struct {
		actual any
		wanted types.GomegaMatcher
		not    bool
		want   Mismatch
	}{
		"one of ours":    {"abcd", short, false, Mismatch{Wanted: "a short text", Found: `"abcd"`}},
		"not one":        {"ab", short, true, Mismatch{Wanted: "anything but a short text", Found: `"ab"`}},
		"and":            {"abcd", gomega.And(lower, short), false, Mismatch{Wanted: "a text in lower case and a short text", Found: `"abcd"`}},
		"or":             {"XYZ", gomega.Or(lower, short), false, Mismatch{Wanted: "a text in lower case or a short text", Found: `"XYZ"`}},
		"not":            {"ab", gomega.Not(short), false, Mismatch{Wanted: "anything but a short text", Found: `"ab"`}},
		"an element":     {[]any{"abcd"}, gomega.ContainElement(short), false, Mismatch{Wanted: "an element that is a short text", Found: `["abcd"]`}},
		"a length":       {[]any{"a"}, gomega.HaveLen(2), false, Mismatch{Wanted: "2 elements", Found: `["a"]`}},
		"equal":          {"a", gomega.Equal("b"), false, Mismatch{Wanted: `"b"`, Found: `"a"`}},
		"a transform":    {[]any{"a"}, gomega.WithTransform(length, gomega.Equal(2)), false, Mismatch{Wanted: "2", Found: `["a"]`}},
		"what it passes": {"ab", gomega.And(lower, short), false, Mismatch{}},
	} {
		running := New(t.Context(), rules.Cell{}, &Declaration{})
		running.Run(func() {
			if expected := running.Expect(test.actual); test.not {
				expected.NotTo(test.wanted)
			} else {
				expected.To(test.wanted)
			}
		})
		var want []Mismatch
		if test.want != (Mismatch{}) {
			want = []Mismatch{test.want}
		}
		if difference := cmp.Diff(want, running.Outcome.Mismatches); difference != "" || running.Outcome.Observed != 1 {
			t.Errorf("%s: observed %d times: %s", name, running.Outcome.Observed, difference)
		}
	}
}

// A check ends where it is judged, and what is kept for it goes with it.
func TestChecksEnd(t *testing.T) {
	t.Parallel()
	type key struct{}
	running := New(context.WithValue(t.Context(), key{}, "outer"), rules.Cell{}, &Declaration{})
	if running.Value(key{}) != "outer" {
		t.Error("the context of a check is not asked")
	}
	running.Keep(key{}, "inner")
	reached := false
	running.Run(func() {
		running.Demand(running.Value(key{}) == "inner", "what was kept", "another value")
		running.Inconclusive("no\n reason", "no hint")
		reached = true
	})
	if reached || running.Outcome.Ending != Inconclusion || running.Outcome.Reason != "no reason" {
		t.Errorf("reached %t: %+v", reached, running.Outcome)
	}
	defer func() {
		if recover() == nil {
			t.Error("a panic of another kind is lost")
		}
	}()
	running.Run(func() { panic("broken") })
}

// A matcher may be one for all checks, which run at the same time: it keeps nothing of a value.
func TestMatchersAreShared(t *testing.T) {
	t.Parallel()
	shared := Be("nothing", func(any) bool { return false })
	var working sync.WaitGroup
	for _, value := range []string{"a", "b"} {
		working.Go(func() {
			matched, err := shared.Match(value)
			if found := shared.FailureMessage(value); matched || err != nil || !strings.Contains(found, strconv.Quote(value)) {
				t.Errorf("of %q it tells %s (%v)", value, found, err)
			}
		})
	}
	working.Wait()
}
