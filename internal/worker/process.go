package worker

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/memory"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/scope"
	"github.com/mcpconform/mcpconform/internal/session"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/schema"
)

// Command is the hidden subcommand that makes this binary a worker.
const Command = "worker"

// KillTimeout is how long a worker may take that does not stop by itself.
const KillTimeout = 2 * time.Second

// Work is the life of a worker process: it reads one plan after another from in, claims
// checks, and writes what it finds to out. When in ends before the work does,
// it stops its targets and returns.
func Work(in io.Reader, out io.Writer) error {
	pipe := &pipe{
		plans:  make(chan Plan),
		gone:   make(chan struct{}),
		writer: json.NewEncoder(out),
		told:   map[breach]bool{},
	}
	go pipe.hear(in)
	defer pipe.removeSockets()
	var before *Plan
	for work := range pipe.plans {
		if before != nil { // what does not change is told once
			work.Catalogue, work.Draft = before.Catalogue, nil
		}
		if err := pipe.do(work); err != nil {
			return err
		}
		before = &work
	}
	if before == nil {
		return fmt.Errorf("reading the plan: %w", pipe.failure)
	}
	return nil
}

// do does what a plan says.
func (p *pipe) do(work Plan) error {
	if work.Draft != nil {
		draft, err := schema.ReadDraft(bytes.NewReader(work.Draft))
		if err != nil {
			return fmt.Errorf("reading the schema of the draft: %w", err)
		}
		draft.Use()
	}
	p.events, p.exchanges = work.Events, work.Exchanges
	memory.Confine(min(memory.Alone, memory.Share(work.Workers)))
	var lanes [][]*session.Environment
	for _, process := range p.begin(work) {
		budget := transcript.NewMemoryBudget(memory.Budget(work.Workers, work.lanes()))
		lanes = append(lanes, work.Environments(process, budget, p.closed))
	}
	if work.Explore != nil {
		p.explore(lanes[0], *work.Explore, work.Suspects)
	} else {
		matches := Matching(work.Filter)
		Perform(lanes, p, func(environment *session.Environment, one *check.Declaration) bool {
			return matches(func() []string { return environment.Labels(one) })
		}, work.Only, work.Keys)
	}
	p.mu.Lock()
	p.busy = false
	p.mu.Unlock()
	p.write(Note{Finished: true})
	return nil
}

// pipe speaks to the parent over standard input and output.
type pipe struct {
	events    bool
	exchanges Shown
	plans     chan Plan     // closed when the parent is gone, or wants an end
	gone      chan struct{} // closed then, too
	failure   error         // why nothing more is read
	writing   sync.Mutex    // guards the following
	writer    *json.Encoder
	told      map[breach]bool // whose exchange the parent has

	mu        sync.Mutex // guards the following
	busy      bool       // with a plan
	alone     bool       // the parent is gone, or wants an end
	sockets   string     // directory of those that a client's servers come to
	processes []*scope.Process
	allowed   []chan Permission // by lane
}

// begin makes what the lanes of a plan share, each for itself.
func (p *pipe) begin(work Plan) []*scope.Process {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sockets, p.processes, p.allowed = work.Sockets, nil, nil
	for _, name := range work.Names {
		process := scope.NewProcess(name)
		if p.alone {
			process.Hurry()
		}
		p.processes = append(p.processes, process)
		p.allowed = append(p.allowed, make(chan Permission, 1)) // to one question
	}
	return p.processes
}

// hear passes on what the parent says, and ends the work with it.
func (p *pipe) hear(in io.Reader) {
	defer close(p.plans)
	defer close(p.gone)
	reader := json.NewDecoder(in)
	reader.UseNumber() // what the target listed is kept as it came
	for {
		var told Order
		if p.failure = reader.Decode(&told); p.failure != nil {
			p.orphaned()
			return
		}
		if told.Plan != nil {
			p.mu.Lock()
			p.busy = true
			p.mu.Unlock()
			p.plans <- *told.Plan
			continue
		}
		p.mu.Lock()
		to := p.allowed[told.Lane]
		p.mu.Unlock()
		to <- *told.Permission
	}
}

// orphaned ends the work, if there is any, because the parent wants an end, or is gone: then
// nothing else can kill a worker that does not come to one.
func (p *pipe) orphaned() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.alone = true; !p.busy {
		return
	}
	time.AfterFunc(KillTimeout, func() {
		p.removeSockets()
		os.Exit(1) //nolint:forbidigo // a worker is a process of its own, and hangs
	})
	for _, process := range p.processes {
		process.Hurry()
	}
	Interrupt()
}

// removeSockets does what the parent cannot do any more.
func (p *pipe) removeSockets() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.sockets != "" && p.alone {
		_ = os.RemoveAll(p.sockets) // others do the same
	}
}

// Interrupt makes Ginkgo end what is running and skip the rest.
// Where a process cannot signal itself, the checks run to their end.
func Interrupt() {
	if self, err := os.FindProcess(os.Getpid()); err == nil {
		_ = self.Signal(syscall.SIGTERM)
	}
}

func (p *pipe) Claim(lane, cell int, asked Claim) Permission {
	p.mu.Lock()
	answer := p.allowed[lane]
	p.mu.Unlock()
	p.write(Note{Lane: lane, Cell: cell, Claim: &asked})
	select {
	case allowed := <-answer:
		return allowed
	case <-p.gone:
		return Permission{}
	}
}

func (p *pipe) Checked(lane int, found Checked) {
	found.Shorten(p.exchanges)
	p.write(Note{Lane: lane, Checked: &found})
}

func (p *pipe) closed(cellIndex int, connection scope.Connection) {
	ended := ExitOf(connection.Cell.Role, connection.Events)
	if !p.events {
		connection.Events, connection.Facts = nil, rules.Facts{}
	}
	p.write(Note{Cell: cellIndex, Connection: &connection, Exit: ended})
}

// write sends a line. When the parent is gone, it is lost.
func (p *pipe) write(line Note) {
	p.writing.Lock()
	defer p.writing.Unlock()
	if line.Connection != nil {
		line.Connection.Findings = p.untold(*line.Connection)
	}
	_ = p.writer.Encode(line)
}

// maxTold bounds the breaches that are remembered: a target may break something in a new way each
// time.
const maxTold = 4096

// breach is one that the parent counts, and shows by the first that it is told.
type breach struct {
	cell        check.Cell
	rule, cause string
}

// untold are the findings of a connection, without the exchanges of breaches that the parent has
// one of.
func (p *pipe) untold(connection scope.Connection) []rules.Finding {
	findings := slices.Clone(connection.Findings)
	for i, finding := range findings {
		findings[i].Breaks = slices.Clone(finding.Breaks)
		for j, one := range finding.Breaks {
			key := breach{connection.Cell, finding.Rule, one.Cause}
			if p.told[key] {
				findings[i].Breaks[j].Exchange = nil
			}
			if len(p.told) < maxTold {
				p.told[key] = true
			}
		}
	}
	return findings
}
