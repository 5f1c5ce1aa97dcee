package proxy

import (
	"runtime"
	"syscall"
)

// alone gives the server a process group of its own, and lets it die when this process is
// killed, as it would without it.
func alone() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// keepThread keeps the thread that starts the server: the system takes its end for that of
// the process.
func keepThread() (release func()) {
	runtime.LockOSThread()
	return runtime.UnlockOSThread
}
