// Package runner plans a run, starts workers that check the target side by
// side, and merges what they found into a reports.Run.
package runner

import (
	"net/http"
	"time"

	"github.com/mcpconform/mcpconform/internal/catalogue"
	"github.com/mcpconform/mcpconform/internal/conform"
	"github.com/mcpconform/mcpconform/internal/explore"
	"github.com/mcpconform/mcpconform/internal/provoke"
	"github.com/mcpconform/mcpconform/internal/scenario"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/internal/survey"
	"github.com/mcpconform/mcpconform/internal/target"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/internal/transport"
	"github.com/mcpconform/mcpconform/suites"
)

// plan is what a worker needs to know, as JSON on its standard input.
type plan struct {
	Legs    []leg
	Filter  string // Ginkgo label expression over the checks to run; "" for all
	Only    which  // of those
	Name    string // what the names of the worker's connections begin with
	Workers int    // how many work at the same time
	provoke.Policy
	Events    bool   // send whole transcripts, too
	Exchanges bool   // send those of checks that pass, too
	Network   bool   // whatever host the target names may be contacted
	Apart     bool   // no check uses a session on which another one left something
	Sockets   string // directory of those that a client's servers come to
	Catalogue *catalogue.Catalogue
	Explore   *explore.Plan       // draws to make, in the place of checks; nil for none
	Suspects  [][]explore.Finding // by leg: those to be explained, in the place of making any
}

// leg is one revision over one transport, with what the survey found.
type leg struct {
	conform.Leg
	Command    target.Command
	URL        string
	Header     http.Header
	Reply      time.Duration
	Start      time.Duration
	Work       time.Duration `json:",omitempty"`
	MaxMessage int
	Survey     *survey.Survey
	Provoked   map[string]provoke.Provocation `json:",omitempty"` // found when the tools were tried
	Answering  []string                       `json:",omitempty"` // tools that answered when they were tried
	Access     *conform.Access                `json:",omitempty"`
	// Registration is for the client of a target authorization server.
	Registration conform.Registration
	ShortWait    bool // a client that is known for not ending by itself
	// Recordings are what came of scenarios, by name, where they were recorded and
	// there is no client to start; else nil.
	Recordings map[string]*scenario.Recording
}

// launch starts the client of a leg; nil when there is none to start.
func (l leg) launch(process *conform.Process) scenario.Launch {
	if l.Recordings != nil {
		return nil
	}
	return scenario.ByCommand(process.Patience(), l.Command)
}

func (l leg) target() scripted.Target {
	return scripted.Target{
		Transport: l.Transport, Command: l.Command, URL: l.URL, Peer: l.Party(), Header: l.Header,
		Reply: l.Reply, Start: l.Start, Work: l.Work, Limits: transport.Limits{Message: l.MaxMessage},
	}
}

// environments makes what the checks of each leg see, with room for all of them
// together.
func (p plan) environments(
	process *conform.Process,
	budget *transcript.MemoryBudget,
	record func(legIndex int, connection conform.Connection),
) []*conform.Environment {
	judging, issuer, pace := suites.Rules(), &conform.IssuerState{}, &transport.Pace{}
	environments := make([]*conform.Environment, len(p.Legs))
	for index, leg := range p.Legs {
		to := leg.target()
		to.Limits.Message, to.Pace = min(to.Limits.Message, longestMessage(p.Workers)), pace
		environments[index] = &conform.Environment{
			Leg: leg.Leg, Process: process, Target: to, Survey: leg.Survey, Catalogue: p.Catalogue,
			Access: leg.Access, Registration: leg.Registration, Issuer: issuer, Network: p.Network,
			Policy: p.Policy, Provoked: leg.Provoked, Answering: leg.Answering, Rules: judging,
			Budget: budget, Company: p.Workers > 1, Apart: p.Apart,
			Record: func(connection conform.Connection) { record(index, connection) },
			Launch: leg.launch(process), Sockets: p.Sockets, ShortWait: leg.ShortWait, Recordings: leg.Recordings,
		}
	}
	return environments
}
