package target

import (
	"context"
	"crypto/rand"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// leader is what a [Process] runs.
type leader interface {
	// pid is its process id, which is also that of its group.
	pid() int
	// await waits until it has exited, and leaves it to be reaped where the system can do that.
	await()
	// reap kills its group, and tells how it exited.
	reap() Exit
	// killStrays kills the descendants that left the group, and tells how many there were.
	killStrays() int
	// signal sends a signal to it and its group; it is not called after reap.
	signal(number syscall.Signal) error
}

// streams are the ends of the pipes that are the leader's.
type streams struct{ in, out, err *os.File }

func (s streams) close() {
	for _, file := range []*os.File{s.in, s.out, s.err} {
		_ = file.Close() // nothing is lost: what was written is in the pipe
	}
}

// lead starts what a command says, which takes over the streams.
func lead(command Command, streams streams) (leader, error) {
	if command.Program != nil {
		return within(command.Program, streams), nil
	}
	return execute(command, streams)
}

// child is a leader that is a process of the system.
type child struct {
	*exec.Cmd

	mark    string
	started time.Time
	waited  bool // it has exited, and is not reaped
	err     error
}

func execute(command Command, streams streams) (leader, error) {
	cmd, err := prepare(command)
	if err != nil {
		return nil, err
	}
	mark := Mark + "=" + os.Getenv(Mark) + "/" + rand.Text()
	cmd.Env = append(append(inherited(os.Environ()), command.Env...), mark)
	cmd.SysProcAttr = ownGroup()
	if !command.Orderly {
		endWithParent(cmd.SysProcAttr)
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = streams.in, streams.out, streams.err
	if err := cmd.Start(); err != nil {
		return nil, explain(cmd, err)
	}
	streams.close() // the process has its own copy
	return &child{Cmd: cmd, mark: mark, started: time.Now()}, nil
}

func (c *child) pid() int { return c.Process.Pid }

func (c *child) await() {
	if c.waited = awaitExit(c.Process.Pid); !c.waited {
		c.err = c.Wait()
	}
}

// reap kills the group before the leader is reaped, where that is possible: until then its id
// cannot be given to another group.
func (c *child) reap() Exit {
	_ = killGroup(c.Process.Pid) // fails when the group is empty
	if c.waited {
		c.err = c.Wait()
	}
	return ExitOf(c.ProcessState, c.err)
}

func (c *child) killStrays() int { return killStrays(c.Process.Pid, c.mark, c.started) }

func (c *child) signal(number syscall.Signal) error { return signalGroup(c.Process, number) }

// Program is what a process does, within this one: it speaks over its standard streams, is told
// of signals but for SIGKILL, and returns its exit status. SIGKILL ends its context and closes the
// streams; it must return then, and is not waited for.
type Program func(ctx context.Context, in io.Reader, out, err io.Writer, signals <-chan os.Signal) (status int)

// routine is a leader within this process. It has no group, and leaves nothing behind.
type routine struct {
	signals chan os.Signal
	kill    context.CancelFunc
	end     func(exit Exit) // once
	exited  chan struct{}
	exit    Exit // when exited is closed
}

// signalsKept are so many signals as a program may be behind; a process of the system has fewer.
const signalsKept = 8

func within(program Program, streams streams) leader {
	ctx, kill := context.WithCancel(context.Background())
	r := &routine{signals: make(chan os.Signal, signalsKept), kill: kill, exited: make(chan struct{})}
	var once sync.Once
	r.end = func(exit Exit) {
		once.Do(func() {
			r.exit = exit
			streams.close()
			close(r.exited)
		})
	}
	go func() {
		defer kill()
		r.end(Exit{Code: program(ctx, streams.in, streams.out, streams.err, r.signals)})
	}()
	return r
}

func (r *routine) pid() int { return os.Getpid() }

func (r *routine) await() { <-r.exited }

func (r *routine) reap() Exit { return r.exit }

func (r *routine) killStrays() int { return 0 }

func (r *routine) signal(number syscall.Signal) error {
	if number == syscall.SIGKILL {
		r.end(Exit{Code: -1, Signal: signalName(number)})
		r.kill()
		return nil
	}
	select {
	case r.signals <- number:
	default: // it has not looked at so many
	}
	return nil
}
