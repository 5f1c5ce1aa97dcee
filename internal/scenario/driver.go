package scenario

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/internal/transport"
	"github.com/mcpconform/mcpconform/internal/wait"
)

// Launch starts a target client and waits until it has ended. When the context
// ends it ends the client, with everything that this has started. An error says
// that the client could not be started.
type Launch func(ctx context.Context, invocation Invocation) (Exit, error)

// Invocation is how a target client is started for one scenario.
type Invocation struct {
	Scenario  string
	Transport string // MCPCONFORM_TRANSPORT
	URL       string // of the server; "" over stdio
	Socket    string // over stdio: where the server that the client spawns comes to
	Steps     []byte // MCPCONFORM_STEPS
	Official  string // of the official suite, and what belongs to it
	Context   []byte
	Revision  string
	// Browser is where a browser of ours tells what it was told to open; "" where no
	// client has a reason to open one.
	Browser string
	// Exited is called when the client itself has exited, and before what it has
	// started is ended: what it said last is still on its way.
	Exited func()
}

// Habits are what first contact with a client has shown of its driver.
type Habits struct {
	ShortWait bool `json:",omitempty"` // it does not end by itself
	Untold    bool `json:",omitempty"` // it does not tell how steps go
}

// Driver runs a target client through scenarios, at one revision over one transport.
type Driver struct {
	Revision, Transport string
	Launch              Launch               // nil for Open only
	Sockets             string               // over stdio: the directory of those that its servers come to
	Reply               time.Duration        // how long one answer may take
	Unanswered          *scripted.Unanswered // of the client, in all scenarios; nil for none
	Start               time.Duration        // how long the client may take to connect, if longer than it would be given
	Whole               time.Duration        // how long a scenario may take, once the client has connected
	Habits              Habits               // of the client
	Limits              transport.Limits     // of what the client sends
	Budget              *transcript.MemoryBudget
	Alter               func(*Recording)             // changes what was recorded; nil for nothing
	Name                func(scenario string) string // names a connection; each has a name of its own
}

// run is a scenario that is being played.
type run struct {
	driver   Driver
	scenario *Scenario
	server   *scripted.Server

	settled       sync.Once
	mu            sync.Mutex
	logs          []*transcript.Log
	authorization *transcript.Log // nil when nothing was said about it
}

const (
	// startReplies is how many times longer than others the first sign of a client
	// may take at least, which must start.
	startReplies = 4
	// shortWait is how many times shorter the harness waits for a client that is known for
	// not ending by itself.
	shortWait = 5
	// untoldWait is how many times shorter where it shows nothing.
	untoldWait = 10
	// leastWait is how long at least: what such a client is told to wait for itself is half a second.
	leastWait = 750 * time.Millisecond
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
		Scenario:  scenario.Name,
		Transport: d.Transport,
		Steps:     scenario.Steps.JSON(),
		Official:  scenario.official(),
		Revision:  d.Revision,
		Exited:    r.exited,
	}
	if scenario.Unnamed || scenario.Named != "" {
		invocation.Revision = scenario.Named
	}
	invocation.Context = r.context()
	stop, err := r.open(ctx, &invocation)
	if err != nil {
		r.server.Close()
		return nil, nil, err
	}
	exit, err := r.launch(ctx, invocation)
	r.exited()
	if guard := r.server.Guard(); guard != nil {
		guard.End()
	}
	r.server.Close()
	stop()
	if err != nil {
		return nil, nil, err
	}
	return r.recording(exit), r.allLogs(), nil
}

// allLogs are those of the connections, and what is said about authorization after them.
func (r *run) allLogs() []*transcript.Log {
	r.mu.Lock()
	defer r.mu.Unlock()
	logs := slices.Clone(r.logs)
	if r.authorization != nil {
		logs = append(logs, r.authorization)
	}
	return logs
}

// begin makes the scripted server of a scenario.
func (d Driver) begin(scenario *Scenario) *run {
	r := &run{driver: d, scenario: scenario}
	r.server = scripted.NewServer(scripted.ServerOptions{
		Revision: scenario.RevisionOf(
			d.Revision,
		),
		Reply:         d.Reply,
		Unanswered:    d.Unanswered,
		Limits:        d.Limits,
		Log:           r.log,
		Authorization: r.logAuthorization,
	})
	if d.Transport == protocol.SSE {
		r.server.OverHTTPSSE()
	}
	if scenario.Protected != nil {
		scenario.Protected(r.server.Protect())
	}
	if scenario.Server != nil {
		scenario.Server(r.server)
	}
	return r
}

// context is what the client is given beside the scenario; nil for nothing. Clients of the
// official suite tell by its name what it is.
func (r *run) context() []byte {
	given := r.scenario.Context
	if guard := r.server.Guard(); guard != nil && guard.Context != nil {
		given = guard.Context
	}
	if given == nil {
		return nil
	}
	named := object{"name": r.scenario.official()}
	maps.Copy(named, given)
	text, _ := json.Marshal(named) // objects of strings
	return text
}

// exited waits for the end of what a client that has ended had open: once, when the client
// itself has ended, or else when all is gone.
func (r *run) exited() {
	r.settled.Do(func() {
		r.server.Settle(settling)
		r.server.Detach()
	})
}

func (r *run) log() *transcript.Log {
	log := transcript.NewLogIn(r.driver.Budget, r.driver.Name(r.scenario.Name))
	r.mu.Lock()
	defer r.mu.Unlock()
	r.logs = append(r.logs, log)
	return log
}

// logAuthorization begins the record of what is said about authorization.
func (r *run) logAuthorization() *transcript.Log {
	log := transcript.NewLogIn(r.driver.Budget, r.driver.Name(r.scenario.Name+"-authorization"))
	r.mu.Lock()
	defer r.mu.Unlock()
	r.authorization = log
	return log
}

// open lets the client in.
func (r *run) open(ctx context.Context, invocation *Invocation) (stop func(), err error) {
	switch {
	case r.driver.Transport == protocol.Stdio:
		return r.openStdio(ctx, invocation)
	case r.scenario.Protected != nil:
		return r.openProtected(ctx, invocation)
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
	invocation.URL = "http://" + listener.Addr().String() + r.path()
	return func() { _ = server.Close() }, nil // what is open is broken
}

// olderFolder is above the stream of HTTP+SSE, so that what is relative to the stream, and what
// is to its origin, differ.
const olderFolder = "/older"

// path is that of the URL that the client is given.
func (r *run) path() string {
	over := protocol.Over(r.driver.Transport)
	if over.SharesStream() {
		return olderFolder + scripted.PathOver(over)
	}
	return scripted.PathOver(over)
}

// openProtected lets clients in at localhost, where they may do without TLS, and takes what
// a browser was told to open.
func (r *run) openProtected(ctx context.Context, invocation *Invocation) (stop func(), err error) {
	listeners, err := scripted.ListenLocal(ctx)
	if err != nil {
		return nil, err
	}
	server := &http.Server{Handler: r.server, ReadHeaderTimeout: headerTime}
	for _, listener := range listeners {
		go func() { _ = server.Serve(listener) }() // until it is closed
	}
	invocation.URL = scripted.LocalURL(listeners) + scripted.Endpoint
	if r.server.Guard().Capitals {
		invocation.URL = strings.Replace(invocation.URL, "localhost", "LOCALHOST", 1)
	}
	browsing, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		_ = server.Close()
		return nil, err
	}
	browser := &http.Server{Handler: http.HandlerFunc(r.opened), ReadHeaderTimeout: headerTime}
	go func() { _ = browser.Serve(browsing) }() // until it is closed
	invocation.Browser = "http://" + browsing.Addr().String()
	return func() {
		_ = server.Close()
		_ = browser.Close()
	}, nil
}

// maxArguments bounds what a browser tells of its arguments.
const maxArguments = 1 << 20

// opened takes the arguments of a browser.
func (r *run) opened(w http.ResponseWriter, request *http.Request) {
	var arguments []string
	if json.NewDecoder(io.LimitReader(request.Body, maxArguments)).Decode(&arguments) == nil {
		r.server.Guard().Opened(arguments)
	}
	w.WriteHeader(http.StatusNoContent)
}

// maxSpawned is how many servers a client may have at once: it has started one again, and
// the one before is still there. Each is a process of the harness, which takes memory.
const maxSpawned = 4

func (r *run) openStdio(ctx context.Context, invocation *Invocation) (stop func(), err error) {
	relays, err := transport.ListenRelays(ctx, r.driver.Sockets)
	if err != nil {
		return nil, err
	}
	invocation.Socket = relays.Socket()
	var serving sync.WaitGroup
	room := make(chan struct{}, maxSpawned)
	accepting := make(chan struct{})
	go func() {
		defer close(accepting)
		for {
			conn, err := relays.Accept()
			if err != nil {
				return // it is closed
			}
			select {
			case room <- struct{}{}:
				serving.Go(func() {
					r.server.ServeSpawned(conn)
					<-room
				})
			default:
				serving.Go(func() { transport.Dismiss(conn) })
			}
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
	whole, cancel := wait.WithTimeout(ctx, start+r.driver.Whole)
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
	switch {
	case r.driver.Habits.ShortWait:
		patience = reply / shortWait
	case r.driver.Habits.Untold && r.scenario.Reported:
		patience = min(reply, max(reply/untoldWait, leastWait))
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
	if log := r.authorization; log != nil {
		done.OverBudget = done.OverBudget || log.OverBudget()
		done.Authorization = &Recorded{
			Name: log.Connection(), Events: log.Events(), Complete: log.Dropped() == 0,
		}
	}
	if r.driver.Alter != nil {
		r.driver.Alter(done)
	}
	return done
}
