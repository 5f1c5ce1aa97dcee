package worker

import (
	"os"
	"os/signal"
	"syscall"

	"github.com/mcpconform/mcpconform/internal/explore"
	"github.com/mcpconform/mcpconform/internal/session"
)

// drawing tells the parent what comes of the draws on a cell.
type drawing struct {
	*pipe
	cell int
}

func (d drawing) Suspect(finding explore.Finding) {
	d.write(Note{Cell: d.cell, Drawn: &Drawn{Suspect: &finding}})
}

func (d drawing) Found(finding explore.Finding) {
	d.write(Note{Cell: d.cell, Drawn: &Drawn{Finding: &finding}})
}

// explore makes the draws of a plan on each cell, until the parent wants an end.
func (p *pipe) explore(environments []*session.Environment, plan explore.Plan, suspects [][]explore.Finding) {
	// An interrupt, which ends checks, is no more than the end of patience here.
	ignored := make(chan os.Signal, 1)
	signal.Notify(ignored, syscall.SIGTERM)
	defer signal.Stop(ignored)
	for cell, environment := range environments {
		host := drawing{p, cell}
		switch {
		case suspects == nil:
			made := explore.Explore(environment.Process.Patience(), environment, plan, host)
			p.write(Note{Cell: cell, Drawn: &Drawn{Made: made}})
		case len(suspects[cell]) > 0:
			explore.Explain(environment.Process.Patience(), environment, suspects[cell], host)
		}
	}
}
