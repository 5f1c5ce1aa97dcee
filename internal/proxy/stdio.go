package proxy

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/tap"
	"github.com/mcpconform/mcpconform/internal/target"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// Stdio starts a server and stands between it and the streams of a client,
// until the server has exited. Its process group is its own, so that a signal of a terminal
// reaches it once; signals that come are passed on to it. It returns how the server exited.
//
// What a process that the server started writes to standard output is passed on for a
// second after the server itself has exited.
func Stdio(
	command []string,
	streams Streams,
	signals <-chan os.Signal,
	recorder *Recorder,
) (exit target.Exit, recorded *Connection, err error) {
	server := exec.CommandContext(context.Background(), command[0], command[1:]...)
	server.SysProcAttr = alone()
	pipes, err := pipesOf(server, streams.Err)
	if err != nil {
		return exit, nil, err
	}
	defer pipes.close()
	track := recorder.begin(transcript.Header{Transport: protocol.Stdio, Grade: transcript.Bytes}, nil)
	started := make(chan error)
	exited := make(chan target.Exit, 1)
	go func() {
		defer keepThread()() // whose death the server would die of
		err := server.Start()
		started <- err
		if err == nil {
			err = server.Wait()
			exited <- target.ExitOf(server.ProcessState, err)
		}
	}()
	if err := <-started; err != nil {
		return exit, nil, err
	}
	pipes.started()

	queue := newQueue()
	note := func(event transcript.Event) {
		event.Stream = onStdio
		event.At = time.Now()
		queue.put(-perChunk, func() { track.log.Append(event) })
	}
	note(transcript.Event{Kind: transcript.Open, From: protocol.Client, Note: "started " + strings.Join(command, " ")})
	lines := func(from protocol.Party) *side { return lineSide(queue, track, from) }
	go func() { // a read of standard input that is under way at the end is left to the system
		err := copyThrough(pipes.in, streams.In, lines(protocol.Client))
		note(transcript.Event{Kind: transcript.Signal, From: protocol.Client, Note: transcript.InputClosed})
		_ = pipes.in.Close()
		if errors.Is(err, errUnwanted) {
			_ = streams.In.Close()
		}
	}()
	output := make(chan struct{})
	go func() {
		defer close(output)
		_ = copyThrough(streams.Out, pipes.out, lines(protocol.Server))
		note(transcript.Event{Kind: transcript.End, From: protocol.Server, Note: "standard output ended"})
		_ = streams.Out.Close()
		_ = pipes.out.Close()
	}()
	complaints := make(chan struct{})
	go func() {
		defer close(complaints)
		if pipes.err != nil {
			_ = copyThrough(streams.Err, pipes.err, stderrSide(queue, track))
		}
	}()
	for waiting := true; waiting; {
		select {
		case signal := <-signals:
			note(transcript.Event{Kind: transcript.Signal, From: protocol.Client, Note: "sent " + signal.String()})
			_ = server.Process.Signal(signal) // it may have exited
		case exit = <-exited:
			waiting = false
		}
	}
	late := time.NewTimer(lastOutput)
	defer late.Stop()
	for _, end := range []<-chan struct{}{output, complaints} {
		select {
		case <-end:
		case <-late.C:
			late.Reset(0)
		}
	}
	note(transcript.Event{Kind: transcript.Exit, From: protocol.Server, Note: exit.String()})
	queue.put(-perChunk, track.close)
	queue.close()
	return exit, track.connection(), nil
}

// Streams are those of a client that has started this process in the place of a server.
type Streams struct{ In, Out, Err *os.File }

// StandardStreams are those of this process.
func StandardStreams() Streams { return Streams{os.Stdin, os.Stdout, os.Stderr} }

// lastOutput bounds the wait for output that others hold open.
const lastOutput = time.Second

const onStdio = "stdio"

// serverPipes lead to the server. Standard error has none where it is a terminal: the
// server may want to know.
type serverPipes struct {
	in, out, err *os.File
	theirs       []*os.File
}

func pipesOf(server *exec.Cmd, stderr *os.File) (pipes serverPipes, err error) {
	pipe := func(theirs func(r, w *os.File) (mine, its *os.File)) (mine, its *os.File) {
		r, w, failed := os.Pipe()
		if failed != nil {
			err = failed
			return nil, nil
		}
		mine, its = theirs(r, w)
		pipes.theirs = append(pipes.theirs, its)
		return mine, its
	}
	reads := func(r, w *os.File) (*os.File, *os.File) { return w, r }
	writes := func(r, w *os.File) (*os.File, *os.File) { return r, w }
	var stdin, stdout *os.File
	pipes.in, stdin = pipe(reads)
	pipes.out, stdout = pipe(writes)
	server.Stdin, server.Stdout, server.Stderr = stdin, stdout, stderr
	if info, failed := stderr.Stat(); failed == nil && info.Mode()&os.ModeCharDevice == 0 {
		pipes.err, server.Stderr = pipeFile(pipe(writes))
	}
	if err != nil {
		pipes.close()
	}
	return pipes, err
}

func pipeFile(mine, its *os.File) (*os.File, io.Writer) { return mine, its }

// started closes what the server alone holds now.
func (p *serverPipes) started() {
	for _, one := range p.theirs {
		_ = one.Close()
	}
	p.theirs = nil
}

func (p *serverPipes) close() {
	p.started()
	for _, one := range []*os.File{p.in, p.out, p.err} {
		if one != nil {
			_ = one.Close()
		}
	}
}

// errUnwanted says that the receiver of what would be passed on no longer reads.
var errUnwanted = errors.New("the receiver takes no more")

// copySize is that of one read: as much as a pipe holds.
const copySize = 64 << 10

// copyThrough passes on bytes as they come, until the end.
func copyThrough(to io.Writer, from io.Reader, copied *side) error {
	buffer := make([]byte, copySize)
	for {
		n, err := from.Read(buffer)
		copied.pass(buffer[:n])
		if n > 0 {
			if _, failed := to.Write(buffer[:n]); failed != nil {
				copied.over(failed)
				return errors.Join(errUnwanted, failed)
			}
		}
		if err != nil {
			if errors.Is(err, io.EOF) {
				copied.over(nil)
			} else {
				copied.over(err)
			}
			return err
		}
	}
}

// lineSide reads lines, each as one message.
func lineSide(queue *queue, track *track, from protocol.Party) *side {
	reader := &tap.Lines{From: from, Limit: longestLine, Tell: func(event transcript.Event) { track.log.Append(event) }}
	return &side{
		queue: queue, take: reader.Take, end: reader.End,
		lose: func(bytes int) {
			track.log.Append(gap(bytes, whyLost(bytes)))
			reader.Skip()
		},
	}
}

// stderrSide reads what a process says for people.
func stderrSide(queue *queue, track *track) *side {
	return &side{
		queue: queue, end: func(error) {},
		take: func(chunk []byte) {
			event := transcript.Event{Kind: transcript.Stderr, Stream: onStdio, From: protocol.Server, Raw: chunk}
			track.log.Append(event)
		},
		lose: func(bytes int) { track.log.Append(gap(bytes, whyLost(bytes))) },
	}
}

// longestLine bounds what is kept of one; of a longer one the beginning is.
const longestLine = 8 << 20
