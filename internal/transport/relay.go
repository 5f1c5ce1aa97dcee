package transport

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/mcpconform/mcpconform/internal/relay"

	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// dismissal bounds how long a relay may take to hear that it is not wanted.
const dismissal = time.Second

// Dismiss has a relay exit at once, with status 1: there are enough of them. It closes the
// connection.
func Dismiss(conn net.Conn) {
	_ = conn.SetDeadline(time.Now().Add(dismissal))
	if json.NewEncoder(conn).Encode(relay.Frame{Do: relay.Exit, Status: 1}) == nil {
		_, _ = io.Copy(io.Discard, conn) // until it has heard it
	}
	_ = conn.Close()
}

// Relays is where relays come to.
type Relays struct {
	listener  net.Listener
	directory string // that Close removes; "" for one of the caller
}

// SocketDirectory makes a directory for sockets that only this user can reach.
func SocketDirectory() (string, error) { return os.MkdirTemp("", "mcpconform-") }

// ListenRelays opens a socket in a directory, "" for one of its own. Close must be
// called.
func ListenRelays(ctx context.Context, directory string) (*Relays, error) {
	r := &Relays{}
	if directory == "" {
		var err error
		if directory, err = SocketDirectory(); err != nil {
			return nil, err
		}
		r.directory = directory
	}
	var err error
	r.listener, err = (&net.ListenConfig{}).Listen(ctx, "unix", filepath.Join(directory, rand.Text()[:shortName]))
	if err != nil {
		return nil, errors.Join(err, r.remove())
	}
	return r, nil
}

// shortName is how many letters tell one socket from others: a path of a socket has a
// hundred bytes on some systems.
const shortName = 8

func (r *Relays) remove() error {
	if r.directory == "" {
		return nil
	}
	return os.RemoveAll(r.directory)
}

// Socket is what a relay must be told.
func (r *Relays) Socket() string { return r.listener.Addr().String() }

// Close ends the wait for relays.
func (r *Relays) Close() error { return errors.Join(r.listener.Close(), r.remove()) }

// Accept waits for the next server that the client spawns.
func (r *Relays) Accept() (net.Conn, error) { return r.listener.Accept() }

// Spawned is the harness's end of a server that a client spawned. One goroutine
// may write while another reads.
type Spawned struct {
	Piece int // of how many bytes the pieces are in which messages are written; 0: whole

	conn   net.Conn
	log    *transcript.Log
	limits Limits
	told   *json.Encoder
	frames *json.Decoder

	rest    []byte // of standard input, behind the last newline
	lines   [][]byte
	exiting bool
	mu      sync.Mutex
	writing sync.Mutex // held for a line
	telling sync.Mutex // held for a frame
}

// NewSpawned takes over a relay's connection. Close must be called.
func NewSpawned(conn net.Conn, log *transcript.Log, limits Limits) *Spawned {
	log.Append(
		transcript.Event{
			Kind:   transcript.Open,
			Stream: stdioStream,
			From:   protocol.Client,
			Note:   "the client started the server",
		},
	)
	return &Spawned{
		conn: conn, log: log, limits: limits.orDefault(),
		told: json.NewEncoder(conn), frames: json.NewDecoder(conn),
	}
}

// How a wait for the next line ends without one.
var (
	// ErrInputEnd says that the client has closed standard input. Signals may come
	// after it.
	ErrInputEnd = errors.New("the client closed the standard input of the server")
	// ErrGone says that the server is gone: it has exited, or was killed.
	ErrGone = errors.New("the server that the client started has exited")
)

// SignalError says that the client has sent the server a signal.
type SignalError struct{ Name string }

func (e *SignalError) Error() string { return "the client sent the server the signal " + e.Name }

// Read returns the next line of standard input, without its newline. The error is
// a *SignalError or ErrInputEnd, after which Read may be called again; ErrTooLarge,
// or ErrGone.
func (s *Spawned) Read() ([]byte, error) {
	for len(s.lines) == 0 {
		var next relay.Frame
		if err := s.frames.Decode(&next); err != nil {
			s.lost()
			return nil, ErrGone
		}
		switch next.Do {
		case relay.Input:
			if err := s.take(next.Data); err != nil {
				return nil, err
			}
		case relay.InputEnd:
			s.unended()
			s.append(
				transcript.Event{
					Kind: transcript.End,
					From: protocol.Client,
					Note: "closed the standard input of the server",
				},
			)
			return nil, ErrInputEnd
		case relay.Signal:
			s.append(transcript.Event{Kind: transcript.Signal, From: protocol.Client, Note: next.Text})
			return nil, &SignalError{Name: next.Text}
		}
	}
	line := s.lines[0]
	s.lines = s.lines[1:]
	s.log.Keep(transcript.Event{Kind: transcript.Message, Stream: stdioStream, From: protocol.Client, Raw: line})
	return line, nil
}

func (s *Spawned) take(data []byte) error {
	s.rest = append(s.rest, data...)
	for {
		line, rest, whole := bytes.Cut(s.rest, []byte("\n"))
		if len(line) > s.limits.Message {
			s.append(
				transcript.Event{Kind: transcript.Message, From: protocol.Client, Raw: line[:shown], Size: len(line)},
			)
			s.log.Crowd()
			return tooLarge("reading what the client says", "a line", s.limits.Message)
		}
		if !whole {
			return nil
		}
		s.lines = append(s.lines, slices.Clip(line))
		s.rest = rest
	}
}

// unended records what stands behind the last newline.
func (s *Spawned) unended() {
	if len(s.rest) > 0 {
		s.append(transcript.Event{Kind: transcript.Message, From: protocol.Client, Raw: s.rest,
			Note: "the input ended without a newline"})
		s.rest = nil
	}
}

func (s *Spawned) lost() {
	s.unended()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.exiting {
		s.exiting = true
		s.append(transcript.Event{
			Kind: transcript.Signal, From: protocol.Client, Note: "killed", Incident: transcript.ServerKilled,
		})
	}
}

// Detach notes that the client has ended; that the server ends then is no longer its
// doing. It is recorded when the server still runs.
func (s *Spawned) Detach() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.exiting {
		s.exiting = true
		s.append(transcript.Event{
			Kind: transcript.Remark, Note: "the client has exited, and left its server running",
			Incident: transcript.ServerLeftRunning,
		})
	}
}

func (s *Spawned) append(event transcript.Event) {
	event.Stream = stdioStream
	s.log.Append(event)
}

// writeTimeout bounds the wait for a client that does not read: what a pipe and a
// socket hold is much.
const writeTimeout = 5 * time.Second

// Write writes a message and a newline to the client.
func (s *Spawned) Write(message []byte, deliberate string) error {
	s.append(transcript.Event{Kind: transcript.Message, From: protocol.Server, Raw: message, Deliberate: deliberate})
	line := append(slices.Clip(message), '\n')
	piece := s.Piece
	if piece == 0 {
		piece = len(line)
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	for part := range slices.Chunk(line, piece) {
		if err := s.send(relay.Frame{Do: relay.Output, Data: part}); err != nil {
			return err
		}
	}
	return nil
}

// WriteTogether writes several messages, each with its newline, in one piece.
func (s *Spawned) WriteTogether(messages ...[]byte) error {
	var lines []byte
	for _, message := range messages {
		s.append(transcript.Event{Kind: transcript.Message, From: protocol.Server, Raw: message})
		lines = append(append(lines, message...), '\n')
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	return s.send(relay.Frame{Do: relay.Output, Data: lines})
}

// WriteText writes bytes to the client as they are.
func (s *Spawned) WriteText(text []byte, deliberate string) error {
	s.append(transcript.Event{Kind: transcript.Block, From: protocol.Server, Raw: text, Deliberate: deliberate})
	return s.send(relay.Frame{Do: relay.Output, Data: text})
}

// WriteStderr writes to the standard error of the server.
func (s *Spawned) WriteStderr(text string) error {
	s.append(transcript.Event{Kind: transcript.Stderr, From: protocol.Server, Raw: []byte(text)})
	return s.send(relay.Frame{Do: relay.Stderr, Data: []byte(text)})
}

// CloseOutput closes the standard output of the server.
func (s *Spawned) CloseOutput() error {
	s.append(transcript.Event{Kind: transcript.End, From: protocol.Server, Note: "closed its standard output"})
	return s.send(relay.Frame{Do: relay.CloseOutput})
}

// Exit makes the server exit.
func (s *Spawned) Exit(status int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.exiting {
		return nil
	}
	s.exiting = true
	s.append(
		transcript.Event{
			Kind: transcript.Exit,
			From: protocol.Server,
			Note: fmt.Sprintf("exited with status %d", status),
		},
	)
	return s.send(relay.Frame{Do: relay.Exit, Status: status})
}

func (s *Spawned) send(next relay.Frame) error {
	s.telling.Lock()
	defer s.telling.Unlock()
	_ = s.conn.SetWriteDeadline(time.Now().Add(writeTimeout)) // fails when it is closed, as the write does
	err := s.told.Encode(next)
	if err != nil {
		_ = s.conn.Close() // a part of a frame may be written
	}
	return err
}

// Close ends the connection: a relay that still runs ends, too.
func (s *Spawned) Close() error { return s.conn.Close() }
