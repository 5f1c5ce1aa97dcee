package proxy

import (
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/mcpconform/mcpconform/internal/fault"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/record"
	"github.com/mcpconform/mcpconform/internal/target"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// injectedInto notes in the record of a connection what is injected into it.
func injectedInto(injection fault.Injection, log *transcript.Log) record.Changes {
	told := injection.Matched
	injection.Matched = func(one *fault.Fault) {
		log.Append(transcript.Event{Kind: transcript.Remark, Note: one.Says, Made: one.ID})
		if told != nil {
			told(one)
		}
	}
	return fault.NewWire(injection)
}

// StdioWithFaults is Stdio with faults in what passes, of the grade message: what either peer
// said is recorded as it came.
func StdioWithFaults(
	command []string,
	signals <-chan os.Signal,
	recorder *Recorder,
	injection fault.Injection,
) (target.Exit, *Connection, error) {
	track := recorder.begin(transcript.Header{Transport: protocol.Stdio, Grade: transcript.Messages}, nil)
	exit, err := record.ServeCommand(
		target.Command{Args: command},
		record.StandardStreams(),
		signals,
		record.StdioOptions{
			Log:     track.log,
			Changes: func() record.Changes { return injectedInto(injection, track.log) },
		},
	)
	track.close()
	return exit, track.connection(), err
}

// Injector stands before a server over HTTP as Relay does, with faults in what passes: it
// reads the messages and writes them again, so that its grade is message.
type Injector struct {
	front *record.HTTP
	http  *http.Server

	mu     sync.Mutex
	tracks []*track
}

// NewInjector returns one before the server at a URL. Close must be called.
func NewInjector(
	upstream string,
	recorder *Recorder,
	budget *transcript.MemoryBudget,
	injection fault.Injection,
) (*Injector, error) {
	i := &Injector{}
	begin := func() *track {
		one := recorder.begin(transcript.Header{Transport: protocol.HTTP, Grade: transcript.Messages}, budget)
		i.mu.Lock()
		defer i.mu.Unlock()
		i.tracks = append(i.tracks, one)
		return one
	}
	next := make(chan *track, 1) // both are asked about each connection, one after the other
	front, err := record.NewHTTP(upstream, record.HTTPOptions{
		Changes: func() record.Changes {
			one := begin()
			next <- one
			return injectedInto(injection, one.log)
		},
		Log: func(string) *transcript.Log { return (<-next).log },
	})
	if err != nil {
		return nil, err
	}
	i.front = front
	i.http = &http.Server{Handler: front, ReadHeaderTimeout: time.Minute}
	return i, nil
}

// Serve serves the clients that come to a listener until Close.
func (i *Injector) Serve(listener net.Listener) error { return i.http.Serve(listener) }

// Close breaks what is open, and returns the connections that there were.
func (i *Injector) Close() []*Connection {
	_ = i.http.Close()
	i.front.Close()
	i.mu.Lock()
	defer i.mu.Unlock()
	all := make([]*Connection, len(i.tracks))
	for position, one := range i.tracks {
		one.close()
		all[position] = one.connection()
	}
	return all
}
