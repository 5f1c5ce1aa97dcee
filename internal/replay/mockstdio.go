package replay

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
)

// maxMessage bounds a message of a client, in bytes.
const maxMessage = 16 << 20

// maxAnswering bounds how many messages of a client are answered at once.
const maxAnswering = 1000

// OverStdio answers a client on its standard streams, until in ends or the context does. What
// the client said before in ended is answered; it is asked no more.
func (m *Mock) OverStdio(ctx context.Context, in io.Reader, out io.Writer) error {
	to, v := &lineStream{out: out}, m.visit()
	var answering sync.WaitGroup
	defer answering.Wait()
	defer close(v.left)
	room := make(chan struct{}, maxAnswering)
	lines := bufio.NewReaderSize(in, 64<<10)
	for {
		line, err := readLine(lines)
		if len(bytes.TrimSpace(line)) > 0 {
			message := jsonrpc.Parse(line)
			elements := []jsonrpc.Message{message}
			if message.Kind == jsonrpc.Batch {
				elements = m.elementsOf(message)
			}
			for _, element := range elements {
				if one := v.take(element); one != nil {
					room <- struct{}{}
					answering.Go(func() {
						defer func() { <-room }()
						v.say(ctx, one, to.send)
						v.follow(ctx, one, to.send)
					})
				}
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case ctx.Err() != nil:
			return context.Cause(ctx)
		}
	}
}

// readLine reads a line of bounded length.
func readLine(from *bufio.Reader) (line []byte, err error) {
	for {
		piece, err := from.ReadSlice('\n')
		line = append(line, piece...)
		if len(line) > maxMessage {
			return nil, fmt.Errorf("the client sent a message of more than %d MiB", maxMessage>>20)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return bytes.TrimRight(line, "\r\n"), err
		}
	}
}

// elementsOf are the messages of a batch.
func (m *Mock) elementsOf(batch jsonrpc.Message) (all []jsonrpc.Message) {
	const most = 1000
	for _, raw := range jsonrpc.Elements(batch.Raw, most) {
		all = append(all, jsonrpc.Parse(raw))
	}
	if len(all) == most {
		m.say("of a batch the first %d messages are answered", most)
	}
	return all
}

// lineStream writes messages as lines.
type lineStream struct {
	mu  sync.Mutex
	out io.Writer
}

func (s *lineStream) send(raw []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	line := bytes.Clone(raw)
	for position, one := range line {
		if one == '\n' || one == '\r' { // over HTTP they may stand between values
			line[position] = ' '
		}
	}
	_, _ = s.out.Write(append(line, '\n')) // the client has left, if it fails
}
