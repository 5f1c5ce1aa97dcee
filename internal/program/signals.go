package program

import (
	"os"
	"os/signal"
	"syscall"
)

// Ending are the signals that end a process.
func Ending() []os.Signal { return []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} }

// TakeSignals takes over some signals, which then end no context of [Run].
func TakeSignals(taken []os.Signal) <-chan os.Signal {
	signals := make(chan os.Signal, len(taken))
	signal.Reset(taken...)
	signal.Notify(signals, taken...)
	return signals
}
