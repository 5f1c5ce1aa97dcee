package explore

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/mcpconform/mcpconform/internal/clientrun"
	"github.com/mcpconform/mcpconform/internal/forms"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/session"
)

// client explores a target client: each draw is a scenario whose server writes in some
// forms.
type client struct {
	ctx     context.Context
	env     *session.Environment
	plain   []string // what the client does when the server writes in the plain form
	causes  map[string]bool
	forms   []forms.ServerForm
	slowest time.Duration
}

// leastClientPatience is the least time without anything to come until a client counts as
// one that does no more: it is a process that starts.
const leastClientPatience = time.Second

// newClient plays the scenario in the plain form twice: what differs shows nothing.
func newClient(ctx context.Context, environment *session.Environment) (*client, error) {
	c := &client{
		ctx: ctx, env: environment, causes: map[string]bool{},
		forms: forms.AnswersAt(environment.Revision, environment.Transport),
	}
	began := time.Now()
	first, err := c.play(nil, environment.Target.Reply)
	if err != nil {
		return nil, err
	}
	c.slowest = time.Since(began)
	second, err := c.play(nil, environment.Target.Reply)
	if err != nil {
		return nil, err
	}
	noteBreaches(first.findings, c.causes)
	noteBreaches(second.findings, c.causes)
	for _, did := range first.did {
		if slices.Contains(second.did, did) {
			c.plain = append(c.plain, did)
		}
	}
	if len(c.plain) == 0 {
		return nil, errUnready
	}
	return c, nil
}

func (c *client) patience() (shortWait, whole time.Duration) {
	whole = c.env.Target.Reply
	return min(whole, max(leastClientPatience, plainTimes*c.slowest)), whole
}

// gone is never told: each draw starts the client anew.
func (c *client) gone(*Finding) string { return "" }

func (c *client) draw(t *rapid.T) (parts []string, try trial) {
	class := func(one forms.ServerForm) forms.Class { return one.Class }
	drawn := drawOfClasses(t, c.forms, class, 1, maxForms+1, "forms")
	for _, one := range drawn {
		parts = append(parts, one.Name)
	}
	return parts, func(patience time.Duration) *Finding { return c.try(drawn, parts, patience) }
}

// performance is what came of a scenario.
type performance struct {
	client   *clientrun.Client
	findings []rules.Finding
	did      []string
	release  func()
}

// play lets the client play the scenario with a server that writes in some forms.
func (c *client) play(drawn []forms.ServerForm, patience time.Duration) (*performance, error) {
	by := c.env.Client.Driver()
	by.Reply = patience
	client, findings, logs, err := c.env.Client.Perform(c.ctx, by, clientrun.UsualSteps("exploration", drawn))
	if err != nil {
		return nil, fmt.Errorf("the client could not be started: %w", err)
	}
	done := &performance{client: client, findings: findings, did: client.Actions()}
	done.release = func() {
		for _, log := range logs {
			log.Release()
		}
	}
	return done, nil
}

// try plays a draw and returns what is wrong with it first.
func (c *client) try(drawn []forms.ServerForm, parts []string, patience time.Duration) *Finding {
	done, err := c.play(drawn, patience)
	if err != nil {
		return nil // it was started before, and is again: nothing is said of its peer
	}
	defer done.release()
	server := "a server " + strings.Join(parts, ", ")
	if rule, breach, there := newBreach(done.findings, c.causes); there {
		at := slices.IndexFunc(c.env.Rules, func(one rules.Rule) bool { return one.ID() == rule })
		return &Finding{
			Requirement: c.env.Applicable(c.env.Rules[at].Verifies.IDs)[0],
			Text:        c.env.Rules[at].Text + ", with " + server,
			Mismatch:    breach.Mismatch, Judged: breach.Place(), Events: breach.Exchange,
		}
	}
	for _, deed := range c.plain {
		if slices.Contains(done.did, deed) {
			continue
		}
		last := drawn[len(drawn)-1]
		return &Finding{
			Requirement: last.Breaks(c.env.Transport), kind: "deeds",
			Text: "continues with " + server,
			Mismatch: rules.Mismatch{
				Wanted: "a client that " + deed + ", as with a server of the usual form",
				Found:  done.client.HowItEnded(),
			},
			Events: done.client.Events(),
		}
	}
	return nil
}
