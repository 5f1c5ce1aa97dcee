//go:build !linux

package target

import (
	"syscall"
	"time"
)

func endWithParent(*syscall.SysProcAttr) {}

// awaitExit leaves the waiting to the reaping.
func awaitExit(int) bool { return false }

// killStrays finds nothing: without /proc descendants cannot be told.
func killStrays(int, string, time.Time) int { return 0 }
