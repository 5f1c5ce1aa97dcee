//go:build unix

package target

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func signalGroup(leader *os.Process, signal syscall.Signal) error {
	return syscall.Kill(-leader.Pid, signal)
}

func killGroup(leader int) error { return syscall.Kill(-leader, syscall.SIGKILL) }

func signalName(signal syscall.Signal) string {
	if name := unix.SignalName(signal); name != "" {
		return name
	}
	return signal.String()
}

func endingSignal(state *os.ProcessState) string {
	status, ok := state.Sys().(syscall.WaitStatus)
	if !ok || !status.Signaled() {
		return ""
	}
	return signalName(status.Signal())
}
