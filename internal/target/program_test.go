package target_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"testing"

	"github.com/mcpconform/mcpconform/internal/target"
)

// within starts a program within this process.
func within(t *testing.T, program target.Program) *target.Process {
	t.Helper()
	return startCommand(t, target.Command{Args: []string{"name"}, Program: program})
}

// end ends a process, and demands how.
func end(t *testing.T, process *target.Process, grace target.Grace, step target.Step, exit target.Exit) {
	t.Helper()
	ending, err := process.Shutdown(t.Context(), grace)
	if err != nil || ending.Step != step || ending.Exit != exit || ending.Strays != 0 {
		t.Errorf("ended otherwise: %+v, %v", ending, err)
	}
	if rest, err := io.ReadAll(process.Stdout); err != nil || len(rest) > 0 {
		t.Errorf("standard output ended with %q, %v", rest, err)
	}
}

func TestProgramEndsWithItsInput(t *testing.T) {
	process := within(t, func(_ context.Context, in io.Reader, out, errors io.Writer, _ <-chan os.Signal) int {
		line, _ := bufio.NewReader(in).ReadString('\n')
		_, _ = fmt.Fprint(out, line)
		_, _ = fmt.Fprintln(errors, "heard it")
		_, _ = io.Copy(io.Discard, in)
		return 7
	})
	if _, err := io.WriteString(process.Stdin, "hello\n"); err != nil {
		t.Fatal(err)
	}
	if line := firstLine(t, process); line != "hello" {
		t.Errorf("read %q", line)
	}
	end(t, process, target.Grace{Input: patient}, target.InputClosed, target.Exit{Code: 7})
	if said, _ := process.Stderr(); string(said) != "heard it\n" {
		t.Errorf("standard error was %q", said)
	}
	if process.String() != "name" || process.PID() != os.Getpid() {
		t.Errorf("it is %s, %d", process, process.PID())
	}
}

func TestProgramIsToldOfSignals(t *testing.T) {
	process := within(t, func(_ context.Context, _ io.Reader, _, _ io.Writer, signals <-chan os.Signal) int {
		if <-signals != syscall.SIGTERM {
			return 1
		}
		return 3
	})
	end(t, process, target.Grace{Input: soon, Terminate: patient}, target.Terminated, target.Exit{Code: 3})
	if err := process.Signal(syscall.SIGTERM); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("a signal afterwards: %v", err)
	}
}

func TestProgramIsKilled(t *testing.T) {
	ended := make(chan error, 1)
	process := within(t, func(ctx context.Context, in io.Reader, _, _ io.Writer, _ <-chan os.Signal) int {
		<-ctx.Done()
		_, err := in.Read(make([]byte, 1))
		ended <- err
		return 0
	})
	end(t, process, target.Grace{Input: soon, Terminate: soon}, target.Killed, target.Exit{Code: -1, Signal: "SIGKILL"})
	if err := <-ended; !errors.Is(err, os.ErrClosed) {
		t.Errorf("its standard input is not closed: %v", err)
	}
}
