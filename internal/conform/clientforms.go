package conform

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

// errands are what a client is told to do when its server writes in other forms: a little
// of everything that any client does.
var errands = scenario.Steps{
	scenario.ToConnect(),
	scenario.ToList("tools"),
	scenario.ToCall(scripted.AddNumbers, Object{"a": 5, "b": 3}),
	scenario.ToList("resources"),
	scenario.ToRead(scripted.ResourceURI),
	scenario.ToCall(scripted.AddNumbers, Object{"a": 1, "b": 2}),
	scenario.ToClose(),
}

// Errands is the scenario in which a client does them with a server that writes in some
// forms.
func Errands(name string, in []forms.ServerForm) *scenario.Scenario {
	return &scenario.Scenario{
		Name: name, Says: "The server writes messages in other legal forms: a server " + forms.ServerNames(in) + ".",
		Steps:  errands,
		Server: func(server *scripted.Server) { server.Style = forms.Style(in, server.Revision()) },
	}
}

// Deeds are what a client has done in its errands, whatever it made of what it got: what
// it has asked for, in words, how its steps went, and how it ended.
func (c *Client) Deeds() []string {
	var did []string
	times := map[string]int{}
	for _, said := range c.Requests() {
		if said.Method == "ping" {
			continue
		}
		deed := "asks for " + said.Method
		if times[said.Method]++; times[said.Method] > 1 {
			deed += fmt.Sprintf(", number %d", times[said.Method])
		}
		did = append(did, deed)
	}
	for position, step := range c.scenario.Steps {
		if told, there := c.told[position]; there && !told.Failed() {
			did = append(did, "does the step "+jsonrpc.Text(step))
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

// Instead says what a client did that did not do all of its errands.
func (c *Client) Instead() string {
	for position, step := range c.scenario.Steps {
		if told, there := c.told[position]; there && told.Failed() {
			return "it failed in the step " + jsonrpc.Text(step) + ": " + excerpt.OneLine(told.Error)
		}
	}
	last := "nothing"
	for _, said := range c.Requests() {
		last = said.Method
	}
	switch {
	case c.Exit.Ended:
		return "nothing more after " + last + ", and it had to be terminated"
	case c.Exit.Status != "":
		return "it " + c.Exit.Status + " after " + last
	}
	return "nothing more after " + last
}

// GoesOnInEachForm demands that the client does with a server that writes in some forms
// what it does with one that writes plainly. Where it does not, each form is tried alone,
// so that all are judged and those that fail are named.
func (c *Client) GoesOnInEachForm(all []forms.ServerForm) {
	if c.t.Observed(c.ranErrands()) {
		return
	}
	plain := Beside(c.t, Errands("errands", nil))
	if plain == nil || len(plain.Requests("tools/call")) == 0 {
		c.inconclusive("the client did not do all steps with a server of the usual form either", c.hint("tools/call"))
	}
	wanted := plain.Deeds()
	if c.t.Observed(undone(wanted, c.Deeds()) == "") {
		return
	}
	c.needStreams()
	var mismatches []Mismatch
	for _, form := range all {
		alone := Beside(c.t, Errands("steps with a server "+form.Name, []forms.ServerForm{form}))
		if alone == nil {
			continue
		}
		if deed := undone(wanted, alone.Deeds()); deed != "" {
			mismatches = append(mismatches, Mismatch{
				Wanted: "a client that " + deed + " with a server " + form.Name, Found: alone.Instead(),
			})
		}
	}
	if mismatches == nil {
		mismatches = []Mismatch{{
			Wanted: "a client that " + undone(wanted, c.Deeds()) + " with a server " + forms.ServerNames(all),
			Found:  c.Instead(),
		}}
	}
	c.tooLate()
	c.t.Observe()
	c.t.Judge(mismatches...)
}

// ranErrands tells that a client did its errands to a good end.
func (c *Client) ranErrands() bool {
	for _, outcome := range c.told {
		if outcome.Failed() {
			return false
		}
	}
	return c.Exit.Well() && c.answersPings() && len(c.Requests("tools/call")) > 0
}

// answersPings tells that no ping of the server is unanswered, for whose answer it waits.
func (c *Client) answersPings() bool {
	return !slices.ContainsFunc(c.FromServer("ping"), func(said *Message) bool {
		return said.Kind == jsonrpc.Request && len(said.Answers) == 0
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
