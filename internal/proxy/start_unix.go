//go:build unix && !linux

package proxy

import "syscall"

// alone gives the server a process group of its own.
func alone() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func keepThread() (release func()) { return func() {} }
