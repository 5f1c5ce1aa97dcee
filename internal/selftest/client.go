package selftest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/mcpconform/mcpconform/internal/fault"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/references"
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
		Authorization: references.AuthorizationOf(invocation.Context, invocation.Browser),
	}
	var spawned relays
	defer spawned.leave()
	if invocation.Socket != "" {
		options.Dial = func(context.Context) (client.Process, error) { return spawned.begin(invocation.Socket), nil }
	}
	options, stop, err := references.Spoil(options, injection)
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
