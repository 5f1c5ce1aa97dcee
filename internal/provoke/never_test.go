package provoke

import (
	"slices"
	"testing"

	"github.com/mcpconform/mcpconform/internal/catalogue"
)

// Rules names the word that rules a kind out, for a kind itself and for the
// features that it needs.
func TestNeverRulesOut(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		never []string
		kind  string
		by    string
	}{
		"a kind":                     {[]string{"progress"}, "progress", "progress"},
		"another kind":               {[]string{"text"}, "progress", ""},
		"a kind of a feature":        {[]string{"elicitation"}, "elicitation-url", "elicitation"},
		"only one kind of it":        {[]string{"elicitation-url"}, "elicitation", ""},
		"one of two features":        {[]string{"sampling"}, "client-task", ""},
		"both of two features":       {[]string{"sampling", "elicitation"}, "client-task", "sampling, elicitation"},
		"two of three features":      {[]string{"sampling", "elicitation"}, "input-state", ""},
		"all of three features":      {[]string{"roots", "sampling", "elicitation"}, "input-state", "sampling, elicitation, roots"},
		"a kind of either feature":   {[]string{"tasks"}, "task-input", "tasks"},
		"a kind of the other, too":   {[]string{"elicitation"}, "task-input", "elicitation"},
		"what progress is part of":   {[]string{"progress"}, "slow", "progress"},
		"what it is no part of":      {[]string{"slow"}, "progress", ""},
		"nothing":                    {nil, "sampling", ""},
		"all that a client is asked": {[]string{"sampling"}, "sampling-tools", "sampling"},
	} {
		if by := (Never{Names: test.never}).Rules(test.kind); by != test.by {
			t.Errorf("%s: %q, wanted %q", name, by, test.by)
		}
	}
}

// Features name kinds and pages that there are.
func TestFeaturesAreKnown(t *testing.T) {
	t.Parallel()
	for name, one := range features {
		for _, kind := range one.kinds {
			if !slices.Contains(Kinds(), kind) {
				t.Errorf("%s: there is no kind %q", name, kind)
			}
		}
		for _, page := range one.pages {
			if !slices.Contains(catalogue.Pages, page) {
				t.Errorf("%s: there is no page %q", name, page)
			}
		}
		if !slices.Contains(NeverNames(), name) {
			t.Errorf("%s cannot be named", name)
		}
	}
	for _, one := range eitherOf {
		for _, name := range one.features {
			if _, known := features[name]; !known {
				t.Errorf("there is no feature %q", name)
			}
		}
	}
	if !slices.IsSorted(NeverNames()) || len(slices.Compact(NeverNames())) != len(NeverNames()) {
		t.Errorf("%q", NeverNames())
	}
}
