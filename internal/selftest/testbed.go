package selftest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/mcpconform/mcpconform/internal/fault"
	"github.com/mcpconform/mcpconform/internal/issuer"
	"github.com/mcpconform/mcpconform/internal/oauth"
	"github.com/mcpconform/mcpconform/internal/offer"
	"github.com/mcpconform/mcpconform/internal/program"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/record"
	"github.com/mcpconform/mcpconform/internal/references"
	"github.com/mcpconform/mcpconform/internal/runner"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/internal/target"
	"github.com/mcpconform/mcpconform/internal/tokens"
	"github.com/mcpconform/mcpconform/reference/authserver"
	"github.com/mcpconform/mcpconform/reference/server"
)

// testbed is a target with something injected into its traffic.
type testbed struct {
	revision     string // at which the target is checked
	target       scripted.Target
	registration issuer.Registration // for the client of an authorization server
	access       *offer.Access       // of a server that asks for authorization
	matched      string              // file in which its processes tell what matched; "" for none
	injection    fault.Injection
	stops        []func()
}

func (s *testbed) close() {
	for _, stop := range slices.Backward(s.stops) {
		stop()
	}
}

// injection is what a job injects into the traffic.
func (w *worker) injection(next job, watch *watch) (fault.Injection, error) {
	injection := fault.Injection{Matched: watch.matched}
	for _, id := range next.Inject {
		one, known := w.layers[id]
		if !known {
			return injection, fmt.Errorf("there is no fault or variation %q", id)
		}
		injection.Faults = append(injection.Faults, one)
	}
	for _, id := range next.Watch {
		injection.Watched = append(injection.Watched, w.layers[id])
	}
	return injection, nil
}

// testbed makes ready what a job runs against.
func (w *worker) testbed(next job, watch *watch) (*testbed, error) {
	injection, err := w.injection(next, watch)
	if err != nil {
		return nil, err
	}
	s := &testbed{
		revision:  next.Cell.Revision,
		target:    scripted.Target{Transport: next.Cell.Transport, Reply: next.Reply},
		injection: injection,
	}
	switch {
	case next.Cell.Role == protocol.ClientRole: // is launched for each scenario
	case next.Cell.Role == protocol.AuthorizationServerRole:
		err = s.issuer(injection)
	case next.Cell.Transport == protocol.Stdio:
		err = s.process(w.setup, next.Number, injection)
	case w.Peer.URL != "":
		var stop func()
		options := record.HTTPOptions{Changes: injection.Changes()}
		if s.target.URL, stop, err = record.Front(w.Peer.URL, options); err == nil {
			s.stops = append(s.stops, stop)
		}
	default:
		err = s.reference(injection, next.Cell.Protected)
	}
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// spokenAt are the revisions that the reference speaks which is checked at one: in the stateless
// era without the oldest, since what a server does not speak it is to refuse there.
func spokenAt(revision string) []string {
	return slices.DeleteFunc(protocol.Released(), func(one string) bool {
		return protocol.Has(revision, protocol.Statelessness) && !protocol.Has(one, protocol.VersionHeader)
	})
}

// options are those of the reference server.
func (s *testbed) options(injection fault.Injection) server.Options {
	options := server.Options{Revisions: spokenAt(s.revision)}
	for _, one := range injection.Faults {
		options.Defect = one.Switch
	}
	return options
}

// reference starts a reference server over HTTP.
func (s *testbed) reference(injection fault.Injection, protected bool) error {
	options := s.options(injection)
	var authority *authserver.Server
	if protected {
		var err error
		if authority, err = s.authority(); err != nil {
			return err
		}
		options.Authorization = server.Scoped(authority.Issuer())
	}
	reference, err := server.New(options)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	listener, err := reference.Listen(ctx, "127.0.0.1:0")
	if err != nil {
		cancel()
		return err
	}
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		cancel()
		return err
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = record.ServeHTTP(ctx, listener, reference.Serve, injection.Changes()) // that it ends is all that matters
	}()
	s.stops = append(s.stops, func() {
		cancel()
		<-served
	})
	path := "/mcp"
	if s.target.Transport == protocol.SSE {
		path = server.SSEPath
	}
	s.target.URL = "http://127.0.0.1:" + port + path
	if protected {
		return s.enter(authority)
	}
	return nil
}

// issuer starts a reference authorization server, with what is injected into its traffic.
func (s *testbed) issuer(injection fault.Injection) error {
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	documents, err := runner.FreeAddress(context.Background())
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	s.registration = issuer.Registration{Documents: runner.ReferenceDocuments, DocumentsListen: documents}
	options := authserver.Options{
		Issuer: "http://" + listener.Addr().String(),
		Fetch:  authserver.FetchFrom(runner.ReferenceDocuments, documents),
	}
	for _, one := range injection.Faults {
		options.Defect = cmp.Or(options.Defect, one.Switch)
	}
	authority, err := authserver.New(options)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = record.ServeHTTP(ctx, listener, authority.Serve, injection.Changes()) // that it ends is all that matters
	}()
	s.stops = append(s.stops, func() {
		cancel()
		<-served
	})
	s.target.URL, s.target.Peer = authority.Issuer(), protocol.AuthorizationServer
	return nil
}

// authority starts the authorization server that a protected reference trusts.
func (s *testbed) authority() (*authserver.Server, error) {
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	authority, err := authserver.New(authserver.Options{Issuer: "http://" + listener.Addr().String(), Scopes: scopes})
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = authority.Serve(ctx, listener) // that it ends is all that matters
	}()
	s.stops = append(s.stops, func() {
		cancel()
		<-served
	})
	return authority, nil
}

var scopes = []string{server.ReadScope, server.WriteScope, server.DeleteScope, server.AdminScope}

// enter gives the checks tokens of all kinds.
func (s *testbed) enter(authority *authserver.Server) error {
	needs := []string{server.WriteScope, server.DeleteScope}
	minted, err := tokens.Mint(authority, tokens.Order{
		Resource: s.target.URL, Scopes: scopes, Limited: []string{server.ReadScope},
		Needs: append([]string{server.ReadScope}, needs...), Broader: []string{server.ReadScope, server.AdminScope},
	})
	s.access = &offer.Access{Tokens: minted, Scoped: []offer.ScopedTool{{Tool: server.ScopedTool, Needs: needs}}}
	s.target.Header = http.Header{"Authorization": {oauth.Bearing(minted[oauth.Good])}}
	return err
}

// startReplies is how many times longer than others the first answer of a process
// may take, which must start first.
const startReplies = 10

// silentStart is what it may take where hardly anything answers.
const silentStart = 3 * silentReply

// process is the target as a process, with what is injected into its standard input
// and output: a reference within this process, which is much cheaper, or a peer.
func (s *testbed) process(setup setup, number int, injection fault.Injection) error {
	var err error
	if peer := setup.Peer.Command.Args; len(peer) > 0 {
		err = s.peer(setup, number, injection)
	} else {
		s.target.Command, err = s.program(injection)
	}
	if err != nil {
		return err
	}
	s.target.Start = startReplies * s.target.Reply
	if s.target.Reply <= silentReply {
		s.target.Start = silentStart
	}
	return nil
}

// peer starts a middleman before a server that another wrote. It tells in a file what matched.
func (s *testbed) peer(setup setup, number int, injection fault.Injection) error {
	name := strconv.Itoa(number)
	s.matched = filepath.Join(setup.Directory, name+".matched")
	command := append(slices.Clone(setup.Executable), "middleman", "--"+MatchedFlag, s.matched)
	for _, one := range injection.Faults {
		file, err := writeFaults(setup.Directory, name+".yaml", injection.Faults)
		if err != nil {
			return err
		}
		command = append(command, "--fault", file+"#"+one.ID)
	}
	if len(injection.Watched) > 0 {
		file, err := writeFaults(setup.Directory, name+".watched.yaml", injection.Watched)
		if err != nil {
			return err
		}
		command = append(command, "--"+WatchFlag, file)
	}
	command = slices.Concat(command, []string{"--"}, setup.Peer.Command.Args)
	s.target.Command = target.Command{Args: command, Env: []string{"GOGC=" + strconv.Itoa(program.Garbage)}}
	return nil
}

// program is the reference server over stdio. Each process is one server.
func (s *testbed) program(injection fault.Injection) (target.Command, error) {
	options := s.options(injection)
	if _, err := server.New(options); err != nil {
		return target.Command{}, err
	}
	run := func(ctx context.Context, in io.Reader, out, log io.Writer, signals <-chan os.Signal) int {
		reference, _ := server.New(options) // as above
		peer := record.Peer{In: in, Out: out, Err: log}
		if err := references.ServeStdio(ctx, reference, injection, peer, signals); err != nil {
			return program.Status(err)
		}
		return program.Conforms
	}
	return target.Command{Args: []string{"mcpconform", "reference", "server", "--stdio"}, Program: run}, nil
}
