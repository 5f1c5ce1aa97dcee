package conform

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/internal/transport"
)

// Launch starts a target client and waits until it has ended. When the context
// ends it ends the client, with everything that this has started. An error says
// that the client could not be started.
type Launch func(ctx context.Context, invocation Invocation) (Departure, error)

// Invocation is how a target client is started for one scenario.
type Invocation struct {
	Scenario string
	URL      string // of the server; "" over stdio
	Socket   string // over stdio: where the server that the client spawns comes to
	Steps    []byte // MCPCONFORM_STEPS
	Official string // of the official suite, and what belongs to it
	Context  []byte
	Revision string
	// Left is called when the client itself has exited, and before what it has
	// started is ended: what it said last is still on its way.
	Left func()
}

// Departure is how a target client has ended.
type Departure struct {
	Exit   string // in words: "exited with status 0"; "" when there was no process
	Failed bool   // it ended otherwise than with status 0, by itself
	Ended  bool   // the harness had to end it
	Output []byte // the end of standard output
	Stderr []byte // the end of standard error
}

// Well tells whether the process ended by itself, in good order. Of one that was not
// started by the harness nobody knows.
func (d Departure) Well() bool { return d.Exit != "" && !d.Failed && !d.Ended }

// Performance is what came of one scenario. It can be kept and judged later.
type Performance struct {
	Scenario    string
	Connections []Recorded
	Departure   Departure
	OverBudget  bool // there was no room for all that the client sent
}

// Recorded is the record of one connection of a target client.
type Recorded struct {
	Name     string
	Events   []transcript.Event
	Complete bool
}

// Came tells whether the client connected at all.
func (p *Performance) Came() bool { return len(p.Connections) > 0 }

// StepOutcome is how a step went, as the driver of the client tells.
type StepOutcome struct {
	Step    int    `json:"step"`
	Outcome string `json:"outcome"` // done or failed
	Result  any    `json:"result"`
	Error   string `json:"error"`

	order int // among all that was told
}

// Failed tells whether the client did not do the step, or not to its end.
func (o StepOutcome) Failed() bool { return o.Outcome == "failed" }

// outcomes reads what the driver tells on standard output; whatever else stands
// there is nobody's business.
func (p *Performance) outcomes() map[int]StepOutcome {
	told := map[int]StepOutcome{}
	order := 0
	for line := range bytes.Lines(p.Departure.Output) {
		one := StepOutcome{Step: -1}
		reader := json.NewDecoder(bytes.NewReader(line))
		reader.UseNumber()
		if reader.Decode(&one) == nil && !reader.More() && one.Step >= 0 && (one.Outcome == "done" || one.Failed()) {
			one.order = order
			order++
			told[one.Step] = one
		}
	}
	return told
}

// performing is a scenario while it is played.
type performing struct {
	environment *Environment
	scenario    *Scenario
	server      *scripted.Server
	budget      *transcript.MemoryBudget

	mu   sync.Mutex
	logs []*transcript.Log
}

const (
	// startReplies is how many times longer than others the first sign of a client
	// may take at least, which must start.
	startReplies = 4
	// hastiness is how many times shorter the harness waits for a client that is
	// known for not ending by itself.
	hastiness = 5
	// settling bounds the wait for the end of what a client that has ended had open.
	settling = 500 * time.Millisecond
)

// Perform lets the client play a scenario. The error says that it could not be
// started.
func (e *Environment) Perform(ctx context.Context, scenario *Scenario) (*Performance, []*transcript.Log, error) {
	p := e.prepare(scenario, e.Budget)
	if err := p.server.Unready(); err != nil {
		p.server.Close()
		return nil, nil, err
	}
	invocation := Invocation{
		Scenario: scenario.Name, Steps: scenario.Steps.JSON(), Official: scenario.official(), Revision: e.Revision, Left: p.left,
	}
	if scenario.Unnamed || scenario.Named != "" {
		invocation.Revision = scenario.Named
	}
	if scenario.Context != nil {
		invocation.Context, _ = json.Marshal(scenario.Context) // objects of strings
	}
	stop, err := p.open(ctx, &invocation)
	if err != nil {
		p.server.Close()
		return nil, nil, err
	}
	departure, err := p.launch(ctx, invocation)
	p.left()
	p.server.Close()
	stop()
	if err != nil {
		return nil, nil, err
	}
	return p.performance(departure), p.logs, nil
}

// prepare makes the scripted server of a scenario, whose records take room.
func (e *Environment) prepare(scenario *Scenario, budget *transcript.MemoryBudget) *performing {
	p := &performing{environment: e, scenario: scenario, budget: budget}
	p.server = scripted.NewServer(scripted.ServerOptions{
		Revision: scenario.leg(e.Leg).Revision, Reply: e.Target.Reply, Limits: e.Target.Limits, Log: p.log,
	})
	if scenario.Server != nil {
		scenario.Server(p.server)
	}
	return p
}

// left waits for the end of what a client that has ended had open.
func (p *performing) left() {
	p.server.Settle(settling)
	p.server.Detach()
}

func (p *performing) log() *transcript.Log {
	name := fmt.Sprintf("%s%s-%d", connectionPrefix, p.scenario.Name, connections.Add(1))
	log := transcript.NewLogIn(p.budget, name)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.logs = append(p.logs, log)
	return log
}

// open lets the client in.
func (p *performing) open(ctx context.Context, invocation *Invocation) (stop func(), err error) {
	if p.environment.Transport == protocol.Stdio {
		return p.openStdio(ctx, invocation)
	}
	return p.openHTTP(ctx, invocation)
}

// headerTime bounds the wait for a request that has begun.
const headerTime = 10 * time.Second

func (p *performing) openHTTP(ctx context.Context, invocation *Invocation) (stop func(), err error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	server := &http.Server{Handler: p.server, ReadHeaderTimeout: headerTime}
	go func() { _ = server.Serve(listener) }() // until it is closed
	invocation.URL = "http://" + listener.Addr().String() + "/mcp"
	return func() { _ = server.Close() }, nil // what is open is broken
}

func (p *performing) openStdio(ctx context.Context, invocation *Invocation) (stop func(), err error) {
	relays, err := transport.ListenRelays(ctx, p.environment.Sockets)
	if err != nil {
		return nil, err
	}
	invocation.Socket = relays.Socket()
	var serving sync.WaitGroup
	accepting := make(chan struct{})
	go func() {
		defer close(accepting)
		for {
			conn, err := relays.Accept()
			if err != nil {
				return // it is closed
			}
			serving.Go(func() { p.server.ServeSpawned(conn) })
		}
	}()
	return func() {
		_ = relays.Close()
		<-accepting
		serving.Wait()
	}, nil
}

// launch starts the client and ends it when it is still there and nothing comes
// any more.
func (p *performing) launch(ctx context.Context, invocation Invocation) (Departure, error) {
	reply := p.environment.Target.Reply
	start := max(startReplies*reply, p.environment.Target.Start)
	whole, cancel := context.WithTimeout(ctx, start+p.environment.CheckTimeout())
	defer cancel()
	playing, end := context.WithCancel(whole)
	defer end()
	var departure Departure
	var err error
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		departure, err = p.environment.Launch(playing, invocation)
		end()
	}()
	patience := reply
	if p.environment.Hasty {
		patience = reply / hastiness
	}
	p.server.Quiet(playing, start, patience)
	end()
	<-gone
	return departure, err
}

func (p *performing) performance(departure Departure) *Performance {
	p.mu.Lock()
	defer p.mu.Unlock()
	done := &Performance{Scenario: p.scenario.Name, Departure: departure}
	for _, log := range p.logs {
		done.OverBudget = done.OverBudget || log.OverBudget()
		done.Connections = append(done.Connections, Recorded{
			Name: log.Connection(), Events: log.Events(), Complete: log.Dropped() == 0,
		})
	}
	return done
}
