package selftest

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpconform/mcpconform/fixtures"
	"github.com/mcpconform/mcpconform/internal/fault"
)

// What is looked up before each run is what the faults break when they are read in full.
func TestBrokenIsWhatFaultsBreak(t *testing.T) {
	t.Parallel()
	all, err := fault.Load(fixtures.Wire)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{}
	for _, one := range all {
		for _, id := range one.Breaks {
			want[id] = true
		}
	}
	if difference := cmp.Diff(want, fault.Broken(fixtures.Wire)); difference != "" {
		t.Error(difference)
	}
}
