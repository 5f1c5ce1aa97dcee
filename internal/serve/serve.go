// Package serve plays scripted servers on a port to clients that no command can
// start: an editor, a chat application. A page says what to do in each scenario, and
// what was found so far. Another page shows what passes between two real peers.
package serve

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"golang.org/x/net/netutil"

	"github.com/mcpconform/mcpconform/internal/runner"
	"github.com/mcpconform/mcpconform/internal/scenario"
	"github.com/mcpconform/mcpconform/reports"
)

// Options say what is served.
type Options struct {
	Judging  *runner.Judging
	Listener net.Listener // is closed at the end
	Host     string       // a name by which the page may be reached, beside addresses; "" for none
	// Tell is called with a line on what was found in a scenario, each time that it is
	// judged. It may be nil.
	Tell func(scenario, found string)
}

const (
	// quiet is how long nothing may come before a scenario is judged: a client that is at
	// work seldom pauses for so long.
	quiet = 300 * time.Millisecond
	// judgingTime bounds one judgement.
	judgingTime = time.Minute
	// endTime bounds the last one when a signal has asked for the end. It takes a
	// fraction of a second, and this on a machine that is very busy: a user who has
	// played every scenario by hand wants all of the report.
	endTime = 20 * time.Second
	// headerTime bounds the wait for a request that has begun.
	headerTime = 10 * time.Second
	// idleTime is how long a connection may be kept on which nothing is asked.
	idleTime = 2 * time.Minute
	// maxHeader bounds the head of a request, in bytes.
	maxHeader = 64 << 10
	// maxConnections bounds how many there are at a time: some for each scenario.
	maxConnections = 512
)

// Serve plays the scenarios until the context ends or the user asks for the end on the
// page, and returns what was found in all of them; when the context ends, what is
// judged a few seconds later. The error is a *contact.TargetError when no client came.
func Serve(asked context.Context, options Options) (*reports.Run, error) {
	ctx, finish := context.WithCancel(asked)
	defer finish()
	s := newStage(options, finish)
	server := newServer(s.handler())
	served := make(chan error, 1)
	go func() { served <- server.Serve(netutil.LimitListener(options.Listener, maxConnections)) }()
	var watching sync.WaitGroup
	for _, one := range s.scenes {
		watching.Go(func() { s.watch(ctx, one) })
	}
	var err error
	most := judgingTime
	select {
	case <-ctx.Done():
		if asked.Err() != nil {
			most = endTime
		}
	case err = <-served:
		finish()
	}
	concluding, cancel := context.WithTimeoutCause(
		context.WithoutCancel(ctx),
		most,
		fmt.Errorf("not done within %s", most),
	)
	defer cancel()
	watching.Wait()
	recordings := make([]*scenario.Recording, len(s.scenes))
	for i, one := range s.scenes {
		recordings[i] = one.end()
	}
	_ = server.Close() // what is open is broken
	if err != nil && !errors.Is(err, http.ErrServerClosed) {
		return nil, fmt.Errorf("serving: %w", err)
	}
	return options.Judging.Conclude(concluding, recordings...)
}

func newServer(handler http.Handler) *http.Server {
	return &http.Server{
		Handler: handler, ReadHeaderTimeout: headerTime, IdleTimeout: idleTime, MaxHeaderBytes: maxHeader,
	}
}

// stage is what is played, and to whom.
type stage struct {
	door
	options Options
	finish  func()
	scenes  []*scene // the first is the meeting
	groups  []*group // of the scenes
	bodies  *bodies
}

func newStage(options Options, finish func()) *stage {
	if options.Tell == nil {
		options.Tell = func(string, string) {}
	}
	s := &stage{door: door{options.Host}, options: options, finish: finish, bodies: &bodies{}}
	s.bodies.left.Store(maxBodies)
	for _, one := range options.Judging.Scenes() {
		s.scenes = append(s.scenes, newScene(options.Judging, one))
	}
	s.groups = grouped(s.scenes)
	return s
}

// watch judges a scene whenever it is quiet.
func (s *stage) watch(ctx context.Context, one *scene) {
	for {
		playing, recording, more := one.next(ctx)
		if !more {
			return
		}
		if !recording.Connected() {
			continue
		}
		judging, cancel := context.WithTimeout(ctx, judgingTime)
		found, err := s.options.Judging.Judge(judging, recording)
		cancel()
		if ctx.Err() != nil {
			return
		}
		if err == nil && found.Interrupted != "" {
			err = errors.New(found.Interrupted)
		}
		if line := one.judged(playing, recording, found, err); line != "" {
			s.options.Tell(one.Scenario.Name, line)
		}
	}
}
