package proxy

import "syscall"

// alone gives the server a process group of its own.
func alone() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

func keepThread() (release func()) { return func() {} }
