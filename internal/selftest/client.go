package selftest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/mcpconform/mcpconform/internal/browser"
	"github.com/mcpconform/mcpconform/internal/fault"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/record"
	"github.com/mcpconform/mcpconform/internal/relay"
	"github.com/mcpconform/mcpconform/internal/scenario"
	"github.com/mcpconform/mcpconform/reference/client"
)

// clientTimeouts are shorter than those that the reference client has by itself: no user
// has to decide anything, and no server has to be loaded. An answer that does not come
// is waited for until the harness ends the client.
var clientTimeouts = client.Timeouts{Exit: time.Second, Reconnect: 100 * time.Millisecond}

// launch has the reference client play a scenario within this process, with something
// injected into its traffic.
func launch(ctx context.Context, invocation scenario.Invocation, injection fault.Injection) (scenario.Exit, error) {
	var told bytes.Buffer
	options := client.Options{
		URL:           invocation.URL,
		SSE:           invocation.Transport == protocol.SSE,
		Steps:         invocation.Steps,
		Revision:      invocation.Revision,
		Report:        &told,
		Timeouts:      clientTimeouts,
		Authorization: AuthorizationOf(invocation.Context, invocation.Browser),
	}
	var spawned relays
	defer spawned.leave()
	if invocation.Socket != "" {
		options.Dial = func(context.Context) (client.Process, error) { return spawned.begin(invocation.Socket), nil }
	}
	options, stop, err := Spoil(options, injection)
	if err != nil {
		return scenario.Exit{}, err
	}
	defer stop()
	err = client.Run(ctx, options)
	exit := scenario.Exit{Status: "exited with status 0", Ended: ctx.Err() != nil, Output: told.Bytes()}
	if err != nil && !exit.Ended {
		exit.Status, exit.Failed, exit.Stderr = "exited with status 1", true, []byte(err.Error())
	}
	return exit, nil
}

// document is where the client id metadata document of clients of the conformance suites
// would stand; it is never fetched.
const document = "https://conformance-test.local/client-metadata.json"

// AuthorizationOf says how the reference client authorizes: with the credentials of the
// context, if it has any, and by the browser of the harness, where there is one.
func AuthorizationOf(given []byte, tell string) client.Authorization {
	authorization := client.Authorization{Document: document}
	_ = json.Unmarshal(given, &authorization.Credentials) // or it has none
	if tell != "" {
		authorization.Open = func(ctx context.Context, address string) error {
			return browser.Open(ctx, tell, []string{address})
		}
	}
	return authorization
}

// alter injects into what was recorded of a client.
func alter(recording *scenario.Recording, injection fault.Injection) {
	injection = injection.In(recording.Scenario)
	if injection.None() {
		return
	}
	for i := range recording.Connections {
		recording.Connections[i].Events = injection.Recorded(recording.Connections[i].Events)
	}
	if told := recording.Authorization; told != nil {
		told.Events = injection.Recorded(told.Events)
	}
	recording.Exit.Output = injection.Outcomes(recording.Exit.Output)
}

// Spoil makes a reference client that is good a bad one: it injects faults into its
// wire, and gives it the defect that one of them may name. stop ends what stands
// between.
func Spoil(options client.Options, injection fault.Injection) (spoilt client.Options, stop func(), err error) {
	stop = func() {}
	for _, one := range injection.Faults {
		if one.Switch != "" {
			options.Defect = one.Switch
		}
	}
	switch {
	case injection.None():
	case options.URL != "":
		options.URL, stop, err = record.Front(options.URL, record.HTTPOptions{Changes: injection.Changes()})
	default:
		var all middlemen
		options.Dial, stop = all.before(starter(options), injection), all.stop
		options.Command = nil
	}
	return options, stop, err
}

// starter starts a server in the way that the options say.
func starter(options client.Options) func(context.Context) (client.Process, error) {
	if len(options.Command) == 0 {
		return options.Dial
	}
	return func(context.Context) (client.Process, error) {
		return client.StartCommand(options.Command, cmp.Or(options.Log, io.Discard))
	}
}

// middlemen stand before the servers that a client starts, one after the other.
type middlemen struct {
	mu    sync.Mutex
	stops []func()
}

func (m *middlemen) before(
	start func(context.Context) (client.Process, error),
	injection fault.Injection,
) func(context.Context) (client.Process, error) {
	return func(ctx context.Context) (client.Process, error) {
		process, err := start(ctx)
		if err != nil {
			return nil, err
		}
		pipes, stop := record.Through(
			record.Pipes{In: process, Out: output{process}},
			record.StdioOptions{Changes: injection.Changes()},
		)
		m.mu.Lock()
		defer m.mu.Unlock()
		m.stops = append(m.stops, stop)
		return &spoilt{Process: process, pipes: pipes, stop: stop}, nil
	}
}

func (m *middlemen) stop() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, stop := range m.stops {
		stop()
	}
}

// spoilt is a server into whose standard input and output something is injected.
type spoilt struct {
	client.Process
	pipes record.Pipes
	stop  func()
}

func (s *spoilt) Read(into []byte) (int, error)     { return s.pipes.Out.Read(into) }
func (s *spoilt) Write(message []byte) (int, error) { return s.pipes.In.Write(message) }
func (s *spoilt) Close() error                      { return s.pipes.In.Close() }

func (s *spoilt) Kill() error {
	defer s.stop()
	return s.Process.Kill()
}

// output is the standard output of a server. Closing it leaves the server alone: it
// gets to know when it is killed.
type output struct{ io.Reader }

func (output) Close() error { return nil }

// child is a server that the reference client starts within this process: it says
// and does what the harness has it.
type child struct {
	*io.PipeReader // its standard output
	input          *io.PipeWriter
	signals        chan os.Signal
	kill           context.CancelFunc
	exited         chan struct{}
	err            error
}

func spawn(socket string) *child {
	hears, input := io.Pipe()
	output, says := io.Pipe()
	ctx, kill := context.WithCancel(context.Background())
	r := &child{
		PipeReader: output,
		input:      input,
		signals:    make(chan os.Signal, 1),
		kill:       kill,
		exited:     make(chan struct{}),
	}
	go func() {
		defer close(r.exited)
		defer kill()
		_, r.err = relay.Run(ctx, socket, hears, says, io.Discard, r.signals)
		_ = hears.Close() // as the end of a process does
		_ = says.Close()
	}()
	return r
}

func (r *child) Write(message []byte) (int, error) { return r.input.Write(message) }
func (r *child) Close() error                      { return r.input.Close() }

func (r *child) Terminate() error {
	select {
	case r.signals <- syscall.SIGTERM:
	default: // it was asked to already
	}
	return nil
}

func (r *child) Kill() error {
	r.kill()
	err := r.PipeReader.Close()
	<-r.exited // a process that is killed hears nothing any more
	return err
}

func (r *child) Wait() error {
	<-r.exited
	return r.err
}

// relays are those that one client has started.
type relays struct {
	mu  sync.Mutex
	all []*child
}

func (r *relays) begin(socket string) *child {
	one := spawn(socket)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, one)
	return one
}

// leave closes all pipes, as the end of the client's process does.
func (r *relays) leave() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, one := range r.all {
		_ = errors.Join(one.input.Close(), one.PipeReader.Close()) // they may be closed
	}
}
