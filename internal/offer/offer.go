// Package offer is what a target server offers to the checks of one cell: what it declares and
// lists, the tools that may be called, with which arguments, what they provoke, and the tokens
// that it takes. It tells by that whether a check can run. It sends nothing.
package offer

import (
	"sync"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/provoke"
	"github.com/mcpconform/mcpconform/internal/scope"
	"github.com/mcpconform/mcpconform/internal/survey"
)

// Offer is what is known of the target of a cell before a check speaks to it.
type Offer struct {
	*scope.Scope
	provoke.Policy
	// Provoked are the provocations found when the tools were tried, by kind.
	Provoked map[string]Provocation
	// Answering are the tools that answered when they were tried.
	Answering []string
	Access    *Access // of a server that asks for authorization; nil for none
	// Asked is told what a check wants to know of the survey; nil where that is not recorded.
	Asked func(survey.Question)

	index  sync.Once
	byName map[string]Object // the listed tools

	made   sync.Once
	calls  []Provocation // what Callable returns
	unmade []string
}

type offerKey struct{}

// Begin lets a check ask.
func (o *Offer) Begin(t *T) { t.Keep(offerKey{}, o) }

func of(t *T) *Offer {
	offered, _ := t.Value(offerKey{}).(*Offer)
	return offered
}
