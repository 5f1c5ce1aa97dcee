package scenario

import (
	"context"
	"encoding/json"
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
type Launch func(ctx context.Context, invocation Invocation) (Exit, error)

// Invocation is how a target client is started for one scenario.
type Invocation struct {
	Scenario string
	URL      string // of the server; "" over stdio
	Socket   string // over stdio: where the server that the client spawns comes to
	Steps    []byte // MCPCONFORM_STEPS
	Official string // of the official suite, and what belongs to it
	Context  []byte
	Revision string
	// Exited is called when the client itself has exited, and before what it has
	// started is ended: what it said last is still on its way.
	Exited func()
}

// Driver runs a target client through scenarios, at one revision over one transport.
type Driver struct {
	Revision, Transport string
	Launch              Launch           // nil for Open only
	Sockets             string           // over stdio: the directory of those that its servers come to
	Reply               time.Duration    // how long one answer may take
	Start               time.Duration    // how long the client may take to connect, if longer than it would be given
	Whole               time.Duration    // how long a scenario may take, once the client has connected
	ShortWait           bool             // the client is known for not ending by itself
	Limits              transport.Limits // of what the client sends
	Budget              *transcript.MemoryBudget
	Name                func(scenario string) string // names a connection; each has a name of its own
}

// run is a scenario that is being played.
type run struct {
	driver   Driver
	scenario *Scenario
	server   *scripted.Server

	mu   sync.Mutex
	logs []*transcript.Log
}

const (
	// startReplies is how many times longer than others the first sign of a client
	// may take at least, which must start.
	startReplies = 4
	// shortWait is how many times shorter the harness waits for a client that is
	// known for not ending by itself.
	shortWait = 5
	// settling bounds the wait for the end of what a client that has ended had open.
	settling = 500 * time.Millisecond
)

// Run starts the client for a scenario, and returns what was recorded, with the logs that
// hold its memory. The error says that it could not be started.
func (d Driver) Run(ctx context.Context, scenario *Scenario) (*Recording, []*transcript.Log, error) {
	r := d.begin(scenario)
	if err := r.server.Unready(); err != nil {
		r.server.Close()
		return nil, nil, err
	}
	invocation := Invocation{
		Scenario: scenario.Name,
		Steps:    scenario.Steps.JSON(),
		Official: scenario.official(),
		Revision: d.Revision,
		Exited:   r.exited,
	}
	if scenario.Unnamed || scenario.Named != "" {
		invocation.Revision = scenario.Named
	}
	if scenario.Context != nil {
		invocation.Context, _ = json.Marshal(scenario.Context) // objects of strings
	}
	stop, err := r.open(ctx, &invocation)
	if err != nil {
		r.server.Close()
		return nil, nil, err
	}
	exit, err := r.launch(ctx, invocation)
	r.exited()
	r.server.Close()
	stop()
	if err != nil {
		return nil, nil, err
	}
	return r.recording(exit), r.logs, nil
}

// begin makes the scripted server of a scenario.
func (d Driver) begin(scenario *Scenario) *run {
	r := &run{driver: d, scenario: scenario}
	r.server = scripted.NewServer(scripted.ServerOptions{
		Revision: scenario.RevisionOf(d.Revision), Reply: d.Reply, Limits: d.Limits, Log: r.log,
	})
	if scenario.Server != nil {
		scenario.Server(r.server)
	}
	return r
}

// exited waits for the end of what a client that has ended had open.
func (r *run) exited() {
	r.server.Settle(settling)
	r.server.Detach()
}

func (r *run) log() *transcript.Log {
	log := transcript.NewLogIn(r.driver.Budget, r.driver.Name(r.scenario.Name))
	r.mu.Lock()
	defer r.mu.Unlock()
	r.logs = append(r.logs, log)
	return log
}

// open lets the client in.
func (r *run) open(ctx context.Context, invocation *Invocation) (stop func(), err error) {
	if r.driver.Transport == protocol.Stdio {
		return r.openStdio(ctx, invocation)
	}
	return r.openHTTP(ctx, invocation)
}

// headerTime bounds the wait for a request that has begun.
const headerTime = 10 * time.Second

func (r *run) openHTTP(ctx context.Context, invocation *Invocation) (stop func(), err error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	server := &http.Server{Handler: r.server, ReadHeaderTimeout: headerTime}
	go func() { _ = server.Serve(listener) }() // until it is closed
	invocation.URL = "http://" + listener.Addr().String() + "/mcp"
	return func() { _ = server.Close() }, nil // what is open is broken
}

func (r *run) openStdio(ctx context.Context, invocation *Invocation) (stop func(), err error) {
	relays, err := transport.ListenRelays(ctx, r.driver.Sockets)
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
			serving.Go(func() { r.server.ServeSpawned(conn) })
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
func (r *run) launch(ctx context.Context, invocation Invocation) (Exit, error) {
	reply := r.driver.Reply
	start := max(startReplies*reply, r.driver.Start)
	whole, cancel := context.WithTimeout(ctx, start+r.driver.Whole)
	defer cancel()
	playing, end := context.WithCancel(whole)
	defer end()
	var exit Exit
	var err error
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		exit, err = r.driver.Launch(playing, invocation)
		end()
	}()
	patience := reply
	if r.driver.ShortWait {
		patience = reply / shortWait
	}
	r.server.Quiet(playing, start, patience)
	end()
	<-gone
	return exit, err
}

func (r *run) recording(exit Exit) *Recording {
	r.mu.Lock()
	defer r.mu.Unlock()
	done := &Recording{Scenario: r.scenario.Name, Exit: exit}
	for _, log := range r.logs {
		done.OverBudget = done.OverBudget || log.OverBudget()
		done.Connections = append(done.Connections, Recorded{
			Name: log.Connection(), Events: log.Events(), Complete: log.Dropped() == 0,
		})
	}
	return done
}
