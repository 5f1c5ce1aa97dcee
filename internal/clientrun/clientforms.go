package clientrun

import (
	"fmt"
	"slices"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/excerpt"
	"github.com/mcpconform/mcpconform/internal/forms"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/scenario"
	"github.com/mcpconform/mcpconform/internal/scripted"
)

// usualSteps are what a client is told to do when its server writes in other forms: a little
// of everything that any client does.
var usualSteps = scenario.Steps{
	scenario.ToConnect(),
	scenario.ToList("tools"),
	scenario.ToCall(scripted.AddNumbers, Object{"a": 5, "b": 3}),
	scenario.ToList("resources"),
	scenario.ToRead(scripted.ResourceURI),
	scenario.ToCall(scripted.AddNumbers, Object{"a": 1, "b": 2}),
	scenario.ToClose(),
}

// UsualSteps is the scenario in which a client does them with a server that writes in some
// forms.
func UsualSteps(name string, in []forms.ServerForm) *scenario.Scenario {
	return &scenario.Scenario{
		Name: name, Says: "The server writes messages in other legal forms: a server " + forms.ServerNames(in) + ".",
		Steps:  usualSteps,
		Server: func(server *scripted.Server) { server.Style = forms.Style(in, server.Revision()) },
	}
}

// Actions are what a client has done in the usual steps: what it has asked for, in words,
// which steps succeeded, and how it ended. The results that it returned do not count.
func (c *Client) Actions() []string {
	var did []string
	times := map[string]int{}
	for _, message := range c.Requests() {
		if message.Method == "ping" {
			continue
		}
		deed := "asks for " + message.Method
		if times[message.Method]++; times[message.Method] > 1 {
			deed += fmt.Sprintf(", number %d", times[message.Method])
		}
		did = append(did, deed)
	}
	for id, step := range c.scenario.Steps.All() {
		if outcome, there := c.outcomes[id]; there && !outcome.Failed() {
			did = append(did, "does the step "+step.Text())
		}
	}
	if c.answersPings() {
		did = append(did, "answers each ping")
	}
	if c.Exit.Well() {
		did = append(did, "exits by itself, without an error")
	}
	return did
}

// HowItEnded says what a client did that did not do all of the usual steps.
func (c *Client) HowItEnded() string {
	for id, step := range c.scenario.Steps.All() {
		if outcome, there := c.outcomes[id]; there && outcome.Failed() {
			return "it failed in the step " + step.Text() + ": " + excerpt.OneLine(outcome.Error)
		}
	}
	last := "nothing"
	for _, message := range c.Requests() {
		last = message.Method
	}
	switch {
	case c.Exit.Ended:
		return "nothing more after " + last + ", and it had to be terminated"
	case c.Exit.Status != "":
		return "it " + c.Exit.Status + " after " + last
	}
	return "nothing more after " + last
}

// ContinuesInEachForm demands that the client does with a server that writes in some forms
// what it does with one that writes plainly. Where it does not, each form is tried alone,
// so that all are judged and those that fail are named.
func (c *Client) ContinuesInEachForm(all []forms.ServerForm) {
	if c.t.Observed(c.didUsualSteps()) {
		return
	}
	plain := AlsoRun(c.t, UsualSteps("errands", nil))
	if plain == nil || len(plain.Requests("tools/call")) == 0 {
		c.undecided("the client did not do all steps with a server of the usual form either", c.hint("tools/call"))
	}
	wanted := plain.Actions()
	if c.t.Observed(undone(wanted, c.Actions()) == "") {
		return
	}
	c.needStreams()
	var mismatches []Mismatch
	for _, form := range all {
		alone := AlsoRun(c.t, UsualSteps("steps with a server "+form.Name, []forms.ServerForm{form}))
		if alone == nil {
			continue
		}
		if deed := undone(wanted, alone.Actions()); deed != "" {
			mismatches = append(mismatches, Mismatch{
				Wanted: "a client that " + deed + " with a server " + form.Name, Found: alone.HowItEnded(),
			})
		}
	}
	if mismatches == nil {
		mismatches = []Mismatch{{
			Wanted: "a client that " + undone(wanted, c.Actions()) + " with a server " + forms.ServerNames(all),
			Found:  c.HowItEnded(),
		}}
	}
	c.tooLate()
	c.t.Observe()
	c.t.Judge(mismatches...)
}

// didUsualSteps tells that a client did the usual steps to a good end.
func (c *Client) didUsualSteps() bool {
	for _, outcome := range c.outcomes {
		if outcome.Failed() {
			return false
		}
	}
	return c.Exit.Well() && c.answersPings() && len(c.Requests("tools/call")) > 0
}

// answersPings tells that no ping of the server is unanswered, for whose answer it waits.
func (c *Client) answersPings() bool {
	return !slices.ContainsFunc(c.FromServer("ping"), func(message *Message) bool {
		return message.Kind == jsonrpc.Request && len(message.Answers) == 0
	})
}

// undone is the first of the wanted deeds that is not done; "" when all are.
func undone(wanted, done []string) string {
	at := slices.IndexFunc(wanted, func(deed string) bool { return !slices.Contains(done, deed) })
	if at < 0 {
		return ""
	}
	return wanted[at]
}
