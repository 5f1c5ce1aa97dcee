// Package clientrun is the vocabulary that checks of a target client are written in: it runs
// the client through scenarios, each once, and tells what it sent and did there. It judges
// nothing by itself.
package clientrun

import (
	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/scenario"
	"github.com/mcpconform/mcpconform/internal/scope"
)

// Runner is how a target client is run, and what came of scenarios that were run before.
type Runner struct {
	*scope.Scope
	Launch     scenario.Launch           // nil where there are recordings only
	Alter      func(*scenario.Recording) // changes what was recorded; nil for nothing
	Sockets    string                    // directory of those that its servers come to; "" for one of their own
	ShortWait  bool                      // it is known for not ending by itself
	Recordings map[string]*scenario.Recording

	scenarios map[string]*scenario.Scenario
	ran       scenario.Cache[ran]
}

// looking is what a check that runs has to do with clients.
type looking struct {
	runner       *Runner
	client       *Client     // at which it has looked; nil for none
	readsStreams func() bool // whether the client does; nil where that makes no difference
}

type lookingKey struct{}

func lookingOf(t *T) *looking {
	of, _ := t.Value(lookingKey{}).(*looking)
	return of
}

func runnerOf(t *T) *Runner { return lookingOf(t).runner }

// Begin lets a check look at clients.
func (r *Runner) Begin(t *T) { t.Keep(lookingKey{}, &looking{runner: r}) }

// LookedAt is the client at which a check has looked; nil for none.
func LookedAt(t *T) *Client {
	if looking := lookingOf(t); looking != nil {
		return looking.client
	}
	return nil
}

// scenarioOf is the name of that in which the check looks; "" for none.
func scenarioOf(t *T) string {
	if t.Declared.Scenario == nil {
		return ""
	}
	return t.Declared.Scenario.Name
}
