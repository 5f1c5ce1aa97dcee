package reports

import (
	"bytes"
	"strings"
	"testing"
)

// What was not looked at, and what an SDK is known for, stand at the end.
func TestAdvice(t *testing.T) {
	t.Parallel()
	const mend = ", so nothing that they return was checked: annotate read-only tools"
	for want, run := range map[string]*Run{
		"":                                      {Cells: []Cell{{Tools: &Tools{Listed: 3}}}},
		"the only tool was not called" + mend:   {Cells: []Cell{{}, {Tools: &Tools{Listed: 1, Uncalled: 1}}}},
		"neither tool was called" + mend:        {Cells: []Cell{{Tools: &Tools{Listed: 2, Uncalled: 2}}}},
		"none of the 3 tools was called" + mend: {Cells: []Cell{{Tools: &Tools{Listed: 3, Uncalled: 3}}}},
		"2 of 3 tools were not called" + mend:   {Cells: []Cell{{Tools: &Tools{Listed: 3, Uncalled: 2}}}},
		"sdk:x@1 names a, b, c, d and 1 more as known: if the target": {SDKs: []SDK{{Name: "sdk:x@1", Requirements: []string{"a", "b", "c", "d", "e"}}}},
	} {
		if got := strings.Join(run.Advice(), "; "); !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("%q, wanted %q", got, want)
		}
	}
	filtered := &Run{Filter: "ping", Cells: []Cell{{Tools: &Tools{Listed: 3, Uncalled: 3}}}}
	if got := filtered.Advice(); got != nil {
		t.Errorf("of a part of the checks: %q", got)
	}

	run := &Run{Cells: []Cell{{Revision: "2025-11-25", Transport: "stdio", Spoken: true, Tools: &Tools{Listed: 3, Uncalled: 3}}}}
	var text bytes.Buffer
	if err := run.Terminal(&text, TerminalOptions{}); err != nil {
		t.Fatal(err)
	}
	notice, end := strings.Index(text.String(), "none of the 3 tools"), strings.Index(text.String(), run.Conclusion())
	if notice < 0 || end < notice {
		t.Errorf("it does not stand before the conclusion:\n%s", text.String())
	}
}
