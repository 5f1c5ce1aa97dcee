//go:build linux

package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// A death of Go's runtime is no wrong usage, which status 2 is.
func TestADeathIsNoWrongUsage(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]struct {
		status int
		signal syscall.Signal
	}{
		"panics":           {status: exitHarness},
		"panics elsewhere": {status: -1, signal: syscall.SIGABRT},
	} {
		command := exec.Command(os.Args[0])
		command.Dir = t.TempDir() // for a core, where the system writes any
		command.Env = append(os.Environ(), asProgram+"="+name)
		var stderr bytes.Buffer
		command.Stderr = &stderr
		err := command.Run()
		if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) {
			t.Fatalf("%s: %v", name, err)
		}
		waited, _ := command.ProcessState.Sys().(syscall.WaitStatus)
		if command.ProcessState.ExitCode() != one.status || waited.Signaled() && waited.Signal() != one.signal {
			t.Errorf("%s: %v, wanted status %d or %v\n%s", name, err, one.status, one.signal, &stderr)
		}
		if !strings.Contains(stderr.String(), "out of luck") {
			t.Errorf("%s: does not say why\n%s", name, &stderr)
		}
		outcome{stderr: stderr.String()}.commandsNothing(t)
	}
}
