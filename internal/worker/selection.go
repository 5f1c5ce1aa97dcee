package worker

import (
	"github.com/onsi/ginkgo/v2/types"

	"github.com/mcpconform/mcpconform/internal/check"
)

// Selection is which of the checks that a filter chooses a worker runs.
type Selection string

const (
	// All are all of them.
	All Selection = ""
	// Beside are those that run beside others; of them one lane runs those that run in turn.
	Beside Selection = "beside"
	// Alone are those that run when no other does.
	Alone Selection = "alone"
)

// Has tells whether a check is one of them.
func (s Selection) Has(declared *check.Declaration) bool {
	return s == All || declared.Alone == (s == Alone)
}

// Matching tells whether a filter ("" for everything) chooses what has some labels, which are
// only made where there is one.
func Matching(filter string) func(labels func() []string) bool {
	if filter == "" {
		return func(func() []string) bool { return true }
	}
	matches := types.MustParseLabelFilter(filter)
	return func(labels func() []string) bool { return matches(labels()) }
}
