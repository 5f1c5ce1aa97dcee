// Page basic/transports, "stdio": the server as a process of this client.

package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// A Process is a server at the other end of two pipes.
type Process interface {
	io.Reader         // its standard output, up to io.EOF
	io.Writer         // its standard input
	Close() error     // ends its standard input, and nothing else
	Terminate() error // asks it to exit
	Kill() error      // ends it, and Read too
	Wait() error      // returns when it has exited; it is called once
}

// A command is a server that was started by a command.
type command struct {
	*exec.Cmd
	input  io.WriteCloser
	output *os.File
}

// drain is how long standard error may go on when the server has exited: what
// it has started may hold on to it.
const drain = time.Second

// StartCommand starts a server. What it writes to standard error is for the log.
func StartCommand(words []string, log io.Writer) (Process, error) {
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer func() { _ = write.Close() }() // the server has its own
	//nolint:noctx // it is ended in good order, and not at once with a context
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Stdout, cmd.WaitDelay = write, drain
	if log != io.Discard {
		cmd.Stderr = log
	}
	input, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("cannot start the server: %w", err), read.Close())
	}
	return &command{Cmd: cmd, input: input, output: read}, nil
}

func (p *command) Read(into []byte) (int, error)     { return p.output.Read(into) }
func (p *command) Write(message []byte) (int, error) { return p.input.Write(message) }
func (p *command) Close() error                      { return p.input.Close() }
func (p *command) Terminate() error                  { return p.Process.Signal(syscall.SIGTERM) }
func (p *command) Kill() error                       { return errors.Join(p.Process.Kill(), p.output.Close()) }

// start starts the server in the way that the options say.
func (c *client) start(ctx context.Context) (Process, error) {
	if len(c.options.Command) > 0 {
		return StartCommand(c.options.Command, c.options.Log)
	}
	return c.options.Dial(ctx)
}
