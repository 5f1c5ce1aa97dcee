package tasks

import (
	"testing"
)

func TestIDsThatFollow(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		earlier, later string
		follows        bool
	}{
		{"task-1", "task-2", true},
		{"task-9", "task-10", true},
		{"2026-01-01-0001", "2026-01-01-0004", true},
		{"task-2", "task-1", false},
		{"task-1", "task-5000000", false},
		{"task-1", "job-2", false},
		{"1-1", "2-2", false},
		{"a", "a", false},
		{"", "1", false},
	} {
		if got := follows(test.earlier, test.later); got != test.follows {
			t.Errorf("%q after %q: %t", test.later, test.earlier, got)
		}
	}
}
