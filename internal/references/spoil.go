package references

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"sync"

	"github.com/mcpconform/mcpconform/internal/browser"
	"github.com/mcpconform/mcpconform/internal/fault"
	"github.com/mcpconform/mcpconform/internal/record"
	"github.com/mcpconform/mcpconform/reference/client"
)

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
