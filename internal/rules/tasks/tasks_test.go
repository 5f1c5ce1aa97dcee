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

func TestIDsOfOneClock(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		earlier, later string
		ofOneClock     bool
	}{
		{"f81d4fae-7dec-11d0-a765-00a0c91e6bf6", "F81D6215-7DEC-11D0-A765-00A0C91E6BF6", true},
		{"1d07decf-81d4-6fae-a765-00a0c91e6bf6", "1d07decf-81d4-6faf-a765-00a0c91e6bf6", true},
		{"f81d4fae-7dec-11d0-a765-00a0c91e6bf6", "f81d6215-7dec-11d0-a765-00a0c91e6bf7", false},
		{"f81d4fae-7dec-41d0-a765-00a0c91e6bf6", "f81d6215-7dec-41d0-a765-00a0c91e6bf6", false},
		{"f81d4fae-7dec-11d0-a765-00a0c91e6bf6", "f81d4fae-7dec-11d0-a765-00a0c91e6bf6", false},
		{"", "f81d4fae-7dec-11d0-a765-00a0c91e6bf6", false},
	} {
		if got := ofOneClock(test.earlier, test.later); got != test.ofOneClock {
			t.Errorf("%q after %q: %t", test.later, test.earlier, got)
		}
	}
}
