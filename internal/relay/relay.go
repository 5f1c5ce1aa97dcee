// Package relay is the server that a client under test spawns over stdio: a process of its own
// that has nothing to say. What it hears it passes to the harness over a socket, and it says and
// does what it is told there.
package relay

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
)

// Command is the subcommand that a client spawns as its server over stdio.
const Command = "relay"

// A Frame is what a relay and the harness tell each other, as a JSON value.
type Frame struct {
	Do     string `json:"do"`
	Data   []byte `json:"data,omitempty"`
	Status int    `json:"status,omitempty"` // of exit
	Text   string `json:"text,omitempty"`   // of signal: its name
}

// What a Frame is there for. The first three come from the relay, the others go to it.
const (
	Input       = "input"        // standard input brought bytes
	InputEnd    = "input-end"    // standard input is closed
	Signal      = "signal"       // a signal came
	Output      = "output"       // write to standard output
	Stderr      = "stderr"       // write to standard error
	CloseOutput = "close-output" // close standard output
	Exit        = "exit"         // exit with a status
)

// readSize is how many bytes are read at once.
const readSize = 16 << 10

// Run is the life of a spawned server: it passes on what in brings, and signals, to the harness
// that listens at a socket, and does what it is told, until it is told to exit, with a status,
// or the harness is gone, which is an error. The reader is left to its owner.
func Run(
	ctx context.Context,
	socket string,
	in io.Reader,
	out io.WriteCloser,
	stderr io.Writer,
	signals <-chan os.Signal,
) (status int, err error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", socket)
	if err != nil {
		return 0, fmt.Errorf("the harness that started this client is gone: %w", err)
	}
	defer func() { _ = conn.Close() }() // everything is said by then
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	defer func() { _ = out.Close() }() // a client that waits for more ends now, and with it what it writes
	frames := &writer{encoder: json.NewEncoder(conn)}
	go func() {
		buffer := make([]byte, readSize)
		for {
			n, err := in.Read(buffer)
			if n > 0 && frames.write(Frame{Do: Input, Data: buffer[:n]}) != nil {
				return
			}
			if err != nil {
				_ = frames.write(Frame{Do: InputEnd}) // or the harness is gone
				return
			}
		}
	}()
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		for {
			select {
			case signal := <-signals:
				_ = frames.write(Frame{Do: Signal, Text: signal.String()})
			case <-ended:
				return
			}
		}
	}()
	told := json.NewDecoder(conn)
	for {
		var next Frame
		if err := told.Decode(&next); err != nil {
			return 0, fmt.Errorf("the harness is gone: %w", err)
		}
		switch next.Do {
		case Output:
			_, _ = out.Write(next.Data) // who does not read does not get it
		case Stderr:
			_, _ = stderr.Write(next.Data)
		case CloseOutput:
			_ = out.Close()
		case Exit:
			return next.Status, nil
		}
	}
}

// writer writes frames, one at a time.
type writer struct {
	mu      sync.Mutex
	encoder *json.Encoder
}

func (w *writer) write(next Frame) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.encoder.Encode(next)
}
