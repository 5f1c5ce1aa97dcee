// Page basic/transports, "Resumability and Redelivery": event streams that
// outlive the connections over which they are read.

package server

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Bounds of one event stream: what it remembers for clients that come back.
const (
	maxEvents     = 256
	maxEventBytes = 1 << 20
)

// keepAlive is how often a quiet stream says something that means nothing, lest
// a proxy takes it for dead.
const keepAlive = 15 * time.Second

// writeTimeout is how long one write to a client may take.
const writeTimeout = 30 * time.Second

// An eventStream is a sequence of messages to the client: either for one
// request, or for what belongs to none. It remembers its events, and is read
// over one connection at a time. The id of an event is that of its stream, a
// dash, and its number in the stream, so that it says where to go on.
type eventStream struct {
	id     string
	retire func() // called when the stream is closed

	listens bool // a GET has opened it; guarded by the session

	mu         sync.Mutex
	events     []event
	size       int           // of events, in bytes
	last       int           // number of the last event; the first one has 1
	closed     bool          // no more events will come
	changed    chan struct{} // closed, and replaced, when there is news
	connection int           // number of the connection that may read
}

// An event is a message or, without one, the wish of the server that the
// client reconnects after a while.
type event struct {
	name    string // "" for none
	message []byte
	retry   time.Duration
}

func newEventStream(id string, retire func()) *eventStream {
	return &eventStream{id: id, retire: retire, changed: make(chan struct{})}
}

func (e *eventStream) send(message []byte) bool { return e.add(event{message: message}) }

// disconnect ends the connection once all so far is written, but not the
// stream: the client is told to come back after a while.
func (e *eventStream) disconnect(retry time.Duration) { e.add(event{retry: retry}) }

func (e *eventStream) add(added event) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return false
	}
	e.events = append(e.events, added)
	e.size += len(added.message)
	e.last++
	for len(e.events) > maxEvents || len(e.events) > 1 && e.size > maxEventBytes {
		e.size -= len(e.events[0].message)
		e.events = e.events[1:]
	}
	e.news()
	return true
}

func (e *eventStream) close() {
	e.mu.Lock()
	already := e.closed
	e.closed = true
	e.news()
	e.mu.Unlock()
	if !already {
		e.retire()
	}
}

// news wakes the readers of the stream. The caller holds e.mu.
func (e *eventStream) news() {
	close(e.changed)
	e.changed = make(chan struct{})
}

// onlyMessage returns the message of a stream that is closed and had no other:
// an answer that can be given without a stream.
func (e *eventStream) onlyMessage() ([]byte, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.closed || e.last != 1 || len(e.events) != 1 || e.events[0].message == nil {
		return nil, false
	}
	return e.events[0].message, true
}

// remembers tells whether all events after the given one are still there.
func (e *eventStream) remembers(after int) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return after >= e.last-len(e.events) && after <= e.last
}

// next returns the events after the given one that a connection is to write
// now. It is over when no more will come for this connection. Otherwise, when
// there is nothing yet, changed tells when to ask again.
func (e *eventStream) next(connection, after int) (events []event, over bool, changed <-chan struct{}) {
	e.mu.Lock()
	defer e.mu.Unlock()
	first := e.last - len(e.events) + 1
	if connection != e.connection || after+1 < first {
		return nil, true, nil // another one reads, or this one is too slow to keep up
	}
	return slices.Clone(e.events[after+1-first:]), e.closed, e.changed
}

// takeDisconnect tells whether an event is the wish to disconnect, which
// counts but once. When the client is back it is not sent away again.
func (e *eventStream) takeDisconnect(number int) time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	index := number - (e.last - len(e.events) + 1)
	if index < 0 {
		return 0
	}
	retry := e.events[index].retry
	e.events[index].retry = 0
	return retry
}

// serve writes the events after the given one, and those to come, until the
// stream or the connection ends. With prime it begins, as from 2025-11-25,
// with an event that holds no message but tells the client an id to resume at.
// It reports whether a newer connection has taken over.
func (e *eventStream) serve(ctx context.Context, w http.ResponseWriter, after int, prime bool) (replaced bool) {
	e.mu.Lock()
	e.connection++
	connection := e.connection
	e.news() // the one that has read so far ends
	e.mu.Unlock()
	e.write(ctx, w, connection, after, prime)
	e.mu.Lock()
	defer e.mu.Unlock()
	return connection != e.connection
}

func (e *eventStream) write(ctx context.Context, w http.ResponseWriter, connection, after int, prime bool) {
	control := http.NewResponseController(w)
	w.Header().Set("Content-Type", eventStreamMedia)
	w.Header().Set("Cache-Control", "no-cache")
	w.Header().Set("X-Accel-Buffering", "no") // a proxy that collects events would delay them
	w.WriteHeader(http.StatusOK)
	put := func(format string, args ...any) bool {
		// Not every writer has deadlines.
		_ = control.SetWriteDeadline(time.Now().Add(writeTimeout))
		_, err := fmt.Fprintf(w, format, args...)
		return err == nil
	}

	if prime && !put("id: %s\ndata: \n\n", e.eventID(after)) {
		return
	}
	quiet := time.NewTicker(keepAlive)
	defer quiet.Stop()
	for {
		events, over, changed := e.next(connection, after)
		for _, sent := range events {
			after++
			if sent.message != nil {
				if !put("%sdata: %s\n\n", e.head(sent, after), sent.message) {
					return
				}
			} else if retry := e.takeDisconnect(after); retry > 0 {
				put("id: %s\nretry: %d\ndata: \n\n", e.eventID(after), retry.Milliseconds())
				return
			}
		}
		if err := control.Flush(); err != nil || over {
			return
		}
		select {
		case <-changed:
		case <-quiet.C:
			if !put(":\n\n") { // a comment
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// head is the lines of an event before its message. A stream without an id cannot be taken
// up again, as from 2026-07-28.
func (e *eventStream) head(sent event, number int) (lines string) {
	if e.id != "" {
		lines = "id: " + e.eventID(number) + "\n"
	}
	if sent.name != "" {
		lines += "event: " + sent.name + "\n"
	}
	return lines
}

func (e *eventStream) eventID(number int) string { return e.id + "-" + strconv.Itoa(number) }

// readEventID takes an event id apart.
func readEventID(id string) (stream string, number int, ok bool) {
	stream, text, _ := strings.Cut(id, "-")
	number, err := strconv.Atoi(text)
	return stream, number, err == nil && number >= 0
}
