//go:build !unix

package target

import (
	"errors"
	"os"
	"syscall"
)

func ownGroup() *syscall.SysProcAttr { return nil }

// signalGroup can only kill, and only the process itself.
func signalGroup(leader *os.Process, signal syscall.Signal) error {
	if signal != syscall.SIGKILL {
		return errors.ErrUnsupported
	}
	return leader.Kill()
}

func killGroup(int) error { return errors.ErrUnsupported }

func signalName(signal syscall.Signal) string { return signal.String() }

func endingSignal(*os.ProcessState) string { return "" }
