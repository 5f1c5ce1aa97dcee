//go:build unix

package main

import (
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcpconform/mcpconform/internal/program"
)

// passedOn are the signals that a proxy passes on to the server that it stands before.
func passedOn() []os.Signal {
	return append(program.Ending(), unix.SIGQUIT, unix.SIGUSR1, unix.SIGUSR2, unix.SIGWINCH, unix.SIGCONT)
}

// signalTime is how long a signal that this process sends itself may take.
const signalTime = time.Second

// dieBy ends this process by a signal, if it is one that programs die by in good
// order. It returns when it is not.
func dieBy(name string) {
	number := unix.SignalNum(name)
	switch number {
	case unix.SIGHUP, unix.SIGINT, unix.SIGTERM, unix.SIGKILL:
		signal.Reset(number)
		_ = syscall.Kill(syscall.Getpid(), number) // itself: it may
		<-time.After(signalTime)
	}
}
