// Package worker is the process that runs checks: what it is told, how it runs them in lanes,
// and what it tells of them. It decides nothing about what becomes of that.
package worker

import (
	"net/http"
	"time"

	"github.com/mcpconform/mcpconform/internal/catalogue"
	"github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/clientrun"
	"github.com/mcpconform/mcpconform/internal/explore"
	"github.com/mcpconform/mcpconform/internal/issuer"
	"github.com/mcpconform/mcpconform/internal/memory"
	"github.com/mcpconform/mcpconform/internal/offer"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/provoke"
	"github.com/mcpconform/mcpconform/internal/scenario"
	"github.com/mcpconform/mcpconform/internal/scope"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/internal/session"
	"github.com/mcpconform/mcpconform/internal/survey"
	"github.com/mcpconform/mcpconform/internal/target"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/internal/transport"
	"github.com/mcpconform/mcpconform/suites"
)

// Plan is what a worker needs to know, as JSON on its standard input.
type Plan struct {
	Cells   []Cell
	Filter  string    // Ginkgo label expression over the checks to run; "" for all
	Only    Selection // of those
	Keys    []string  `json:",omitempty"` // of those; nil for all
	Names   []string  // of the lanes, in each of which one check runs at a time: their connections' names begin so
	Workers int       // how many there are at the same time
	provoke.Policy
	Events    bool   // send whole transcripts, too
	Exchanges Shown  // which are sent
	Network   bool   // all hosts that the target names may be contacted
	Apart     bool   // no check uses a session on which another one left something
	Repeated  bool   // what is late is repeated alone: waits are as short as the target is fast
	Sockets   string // directory of those that a client's servers come to
	Catalogue *catalogue.Catalogue
	Draft     []byte              `json:",omitempty"` // [schema.Draft] to judge by; nil for none
	Explore   *explore.Plan       // draws to make, in the place of checks; nil for none
	Suspects  [][]explore.Finding // by cell: those to be explained, in the place of making any
}

// lanes is how many the worker has; of the parent, which runs no check, one.
func (p Plan) lanes() int { return max(1, len(p.Names)) }

// Cell is one revision over one transport, with what the survey found.
type Cell struct {
	check.Cell
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
	Access     *offer.Access                  `json:",omitempty"`
	// Registration is for the client of a target authorization server.
	Registration issuer.Registration
	Habits       scenario.Habits
	// Recordings are what came of scenarios, by name, where they were recorded and
	// there is no client to start; else nil.
	Recordings map[string]*scenario.Recording
}

// Starts tells whether its checks start processes of the target.
func (l Cell) Starts() bool {
	return l.Role == protocol.ClientRole || protocol.Over(l.Transport).Processes()
}

// launch starts the client of a cell; nil when there is none to start.
func (l Cell) launch(process *scope.Process) scenario.Launch {
	if l.Recordings != nil {
		return nil
	}
	return scenario.ByCommand(process.Patience(), l.Command)
}

func (l Cell) target() scripted.Target {
	return scripted.Target{
		Transport: l.Transport, Command: l.Command, URL: l.URL, Peer: l.Party(), Header: l.Header,
		Reply: l.Reply, Start: l.Start, Work: l.Work, Limits: transport.Limits{Message: l.MaxMessage},
	}
}

// Environments makes what the checks of each cell see, with room for all of them
// together.
func (p Plan) Environments(
	process *scope.Process,
	budget *transcript.MemoryBudget,
	record func(cellIndex int, connection scope.Connection),
) []*session.Environment {
	judging, registered, pace := suites.Rules(), &issuer.State{}, &transport.Pace{}
	environments := make([]*session.Environment, len(p.Cells))
	for index, cell := range p.Cells {
		to := cell.target()
		to.Limits.Message, to.Pace = min(to.Limits.Message, memory.LongestMessage(p.Workers, p.lanes())), pace
		if p.Repeated {
			to.Tempo = &scripted.Tempo{}
		}
		shared := &scope.Scope{
			Cell: cell.Cell, Process: process, Target: to, Survey: cell.Survey, Catalogue: p.Catalogue,
			Network: p.Network, Rules: judging, Budget: budget, Concurrent: p.Workers*p.lanes() > 1,
			Record: func(connection scope.Connection) { record(index, connection) },
		}
		environments[index] = &session.Environment{
			Offer: offer.Offer{
				Scope:     shared,
				Access:    cell.Access,
				Policy:    p.Policy,
				Provoked:  cell.Provoked,
				Answering: cell.Answering,
			},
			Issuer: &issuer.Harness{Registration: cell.Registration, State: registered},
			Apart:  p.Apart,
		}
		if cell.Role == protocol.ClientRole {
			environments[index].Client = &clientrun.Runner{
				Scope: shared, Launch: cell.launch(process), Sockets: p.Sockets, Habits: cell.Habits,
				Recordings: cell.Recordings,
			}
		}
	}
	return environments
}
