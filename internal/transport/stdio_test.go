package transport_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/target"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/internal/transport"
)

func overStdio(t *testing.T, name string, limits transport.Limits) (*transport.Stdio, *transcript.Log) {
	t.Helper()
	leavesNothing(t)
	log := transcript.NewLog("c1")
	stdio := transport.NewStdio(start(t, name), log, limits)
	t.Cleanup(func() {
		if err := stdio.Close(); err != nil {
			t.Error(err)
		}
	})
	return stdio, log
}

func read(t *testing.T, stdio *transport.Stdio) string {
	t.Helper()
	line, err := stdio.Read(within(t, patient))
	if err != nil {
		t.Fatal(err)
	}
	return string(line.Raw)
}

func TestStdioTellsItsScenario(t *testing.T) {
	stdio, log := overStdio(t, "echo", transport.Limits{})
	ctx := within(t, patient)
	for _, piece := range []string{`{"a"`, ":1}\r\n\n", `{"b":2}`} {
		if err := stdio.WriteDeliberate(ctx, []byte(piece), "in pieces"); err != nil {
			t.Fatal(err)
		}
	}
	first, second := read(t, stdio), read(t, stdio)
	if first != "{\"a\":1}\r" || second != "" {
		t.Errorf("read %q and %q", first, second)
	}
	ending, err := stdio.Shutdown(ctx, target.Grace{Input: patient})
	if err != nil || ending.Step != target.InputClosed {
		t.Errorf("ended %+v, %v", ending, err)
	}
	rest, err := stdio.Read(ctx)
	if err != nil || string(rest.Raw) != `{"b":2}` || rest.Terminated {
		t.Errorf("the rest is %+v, %v", rest, err)
	}
	if _, err := stdio.Read(ctx); !errors.Is(err, io.EOF) {
		t.Errorf("then came %v", err)
	}

	events := log.Events()
	if events[0].Kind != transcript.Open || events[len(events)-1].Kind != transcript.Close {
		t.Errorf("the log begins and ends otherwise:\n%s", scenario(log))
	}
	if last := events[rest.Sequence]; string(last.Raw) != `{"b":2}` || last.From != protocol.Server {
		t.Errorf("the line is not at its sequence number: %+v", last)
	}
	for _, part := range []string{
		`stdio client message "{\"a\":1}\r"`,
		`stdio client message "{\"b\":2}" (not ended by a newline)`,
		`stdio server message "{\"b\":2}" (not ended by a newline)`,
		`stdio client signal (closed its standard input)`,
		`stdio server stderr "I am ready"`,
		`stdio server end (standard output ended)`,
		`stdio server exit (exited with status 0)`,
	} {
		if !strings.Contains(scenario(log), part) {
			t.Errorf("the log lacks %s:\n%s", part, scenario(log))
		}
	}
	if events[1].Kind == transcript.Message && events[1].Deliberate != "in pieces" {
		t.Errorf("the reason is lost: %+v", events[1])
	}
}

func TestStdioServerThatDoesNotRead(t *testing.T) {
	stdio, log := overStdio(t, "deaf", transport.Limits{})
	read(t, stdio)
	big := []byte(strings.Repeat("x", 1<<20) + "\n")
	err := stdio.Write(within(t, soon), big)
	for err != nil && strings.Contains(err.Error(), "took 0 of") { // time ran out before it began
		err = stdio.Write(within(t, soon), big)
	}
	wantKind(t, err, transport.ErrTimeout, "of 1048577 bytes and then stopped reading")
	wantKind(t, stdio.Write(t.Context(), []byte("{}\n")), transport.ErrTimeout, "stopped reading")

	ending, err := stdio.Shutdown(t.Context(), target.Grace{Input: soon, Terminate: soon})
	if err != nil || ending.Step != target.Killed {
		t.Errorf("ended %+v, %v", ending, err)
	}
	for _, part := range []string{"client signal (sent SIGTERM)", "client signal (sent SIGKILL)",
		"server exit (killed by SIGKILL)", "failure (writing to the server's standard input"} {
		if !strings.Contains(scenario(log), part) {
			t.Errorf("the log lacks %q:\n%s", part, scenario(log))
		}
	}
}

func TestStdioServerThatClosesItsInput(t *testing.T) {
	stdio, _ := overStdio(t, "closes-input", transport.Limits{})
	read(t, stdio)
	err := stdio.Write(within(t, patient), []byte("{}\n"))
	wantKind(t, err, transport.ErrClosed, "the server has closed it")
}

func TestStdioFloodIsHeldUp(t *testing.T) {
	stdio, log := overStdio(t, "flood", transport.Limits{Buffer: 64 << 10})
	for range 100 {
		read(t, stdio)
	}
	// What was read beyond what was taken fits in the buffer.
	if ahead := log.Len() - 100; ahead > 64 {
		t.Errorf("%d lines were read ahead", ahead)
	}
	if err := stdio.Close(); err != nil {
		t.Error(err)
	}
	if _, err := stdio.Read(t.Context()); err != nil {
		wantKind(t, err, transport.ErrClosed, "")
	}
}

func TestStdioFloodOfStandardErrorIsBoundedInTheLog(t *testing.T) {
	stdio, log := overStdio(t, "flood-stderr", transport.Limits{})
	if _, err := stdio.Shutdown(t.Context(), target.Grace{Input: patient}); err != nil {
		t.Fatal(err)
	}
	lines, last := 0, transcript.Event{}
	for _, event := range log.Events() {
		if event.Kind == transcript.Stderr {
			lines, last = lines+1, event
		}
	}
	if lines > 1100 || last.Note != "no more of standard error is recorded" {
		t.Errorf("%d lines in the log, the last with the note %q", lines, last.Note)
	}
	if _, total := stdio.Process().Stderr(); total != 3_000_000 {
		t.Errorf("counted %d bytes", total)
	}
}

func TestStdioLineThatIsTooLong(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	stdio, log := overStdio(t, "long-line", transport.Limits{Message: 1 << 20})
	_, err := stdio.Read(within(t, patient))
	wantKind(t, err, transport.ErrTooLarge, "longer than the limit of 1 MiB; raise --max-message")
	runtime.ReadMemStats(&after)
	if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 8<<20 {
		t.Errorf("%d bytes were allocated for it", allocated)
	}
	if !strings.Contains(scenario(log), "the beginning of a line that is too long") {
		t.Errorf("the log tells\n%s", scenario(log))
	}
}

func TestStdioServerThatExitsAtOnce(t *testing.T) {
	stdio, log := overStdio(t, "exits", transport.Limits{})
	if _, err := stdio.Read(within(t, patient)); !errors.Is(err, io.EOF) {
		t.Errorf("read %v", err)
	}
	<-stdio.Process().Done()
	if !strings.Contains(scenario(log), "stdio server exit (exited with status 3)") ||
		!strings.Contains(scenario(log), `stderr "no configuration"`) {
		t.Errorf("the log tells\n%s", scenario(log))
	}
}

func TestStdioShutdownReadsWhatStillComes(t *testing.T) {
	stdio, log := overStdio(t, "late", transport.Limits{Buffer: 64 << 10})
	ending, err := stdio.Shutdown(t.Context(), target.Grace{Input: patient})
	if err != nil || ending.Step != target.InputClosed {
		t.Errorf("ended %+v, %v", ending, err)
	}
	count := 0
	for {
		line, err := stdio.Read(within(t, patient))
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil || !strings.HasPrefix(string(line.Raw), fmt.Sprintf("late %d ", count)) {
			t.Fatalf("line %d is %.20q, %v", count, line.Raw, err)
		}
		count++
	}
	if count == 0 || count > 64 {
		t.Errorf("%d lines were kept", count)
	}
	if !strings.Contains(scenario(log), "came during the shutdown and did not fit") {
		t.Error("nothing tells that lines were dropped")
	}
}

// pipes returns a client's end and the server's ends of two pipes.
func pipes(log *transcript.Log, limits transport.Limits) (*transport.Stdio, *io.PipeReader, *io.PipeWriter) {
	fromClient, toServer := io.Pipe()
	fromServer, toClient := io.Pipe()
	return transport.NewStdioPipes(toServer, fromServer, log, limits), fromClient, toClient
}

func TestStdioLines(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		output string
		lines  []string
		rest   string
	}{
		"nothing":         {"", nil, ""},
		"one":             {"{}\n", []string{"{}"}, ""},
		"carriage return": {"{}\r\n", []string{"{}\r"}, ""},
		"empty ones":      {"\n\n", []string{"", ""}, ""},
		"no newline":      {"{}\n{", []string{"{}"}, "{"},
		"longer than the reader's buffer": {strings.Repeat("x", 200_000) + "\ny\n",
			[]string{strings.Repeat("x", 200_000), "y"}, ""},
		"exactly the buffer": {strings.Repeat("x", 64<<10) + "\n", []string{strings.Repeat("x", 64<<10)}, ""},
	} {
		for _, step := range []int{1, 3, 1021, 1 << 20} {
			if len(test.output)/step > 1<<10 {
				continue // each write waits for the reader
			}
			t.Run(fmt.Sprintf("%s by %d", name, step), func(t *testing.T) {
				t.Parallel()
				stdio, _, output := pipes(transcript.NewLog("c1"), transport.Limits{Buffer: 4 << 20})
				defer func() { _ = stdio.Close() }()
				go func() {
					for text := test.output; text != ""; {
						n := min(step, len(text))
						_, _ = io.WriteString(output, text[:n])
						text = text[n:]
					}
					_ = output.Close()
				}()
				for number, want := range test.lines {
					line, err := stdio.Read(within(t, patient))
					if err != nil || string(line.Raw) != want || !line.Terminated {
						t.Fatalf("line %d is %.40q, %t, %v", number, line.Raw, line.Terminated, err)
					}
				}
				line, err := stdio.Read(within(t, patient))
				if test.rest != "" {
					if err != nil || string(line.Raw) != test.rest || line.Terminated {
						t.Fatalf("the rest is %.40q, %t, %v", line.Raw, line.Terminated, err)
					}
					_, err = stdio.Read(within(t, patient))
				}
				if !errors.Is(err, io.EOF) {
					t.Errorf("it ended with %v", err)
				}
			})
		}
	}
}

func TestStdioWaitsEndWithTheContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := transcript.NewLog("c1")
		stdio, _, output := pipes(log, transport.Limits{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := stdio.Read(ctx)
		wantKind(t, err, transport.ErrTimeout, "reading the server's standard output: timed out")

		go func() { _, _ = io.WriteString(output, "late\n") }()
		line, err := stdio.Read(t.Context())
		if err != nil || string(line.Raw) != "late" {
			t.Errorf("after a timeout came %q, %v", line.Raw, err)
		}

		ctx, cancel = context.WithCancel(t.Context())
		time.AfterFunc(time.Minute, cancel)
		wantKind(t, stdio.Write(ctx, []byte("nobody reads\n")), transport.ErrCanceled, "0 of 13 bytes")
		wantKind(t, stdio.Write(t.Context(), []byte("{}\n")), transport.ErrCanceled, "")

		ending, err := stdio.Shutdown(t.Context(), target.Grace{Input: time.Minute})
		if err != nil || ending.Step != target.Killed {
			t.Errorf("ended %+v, %v", ending, err)
		}
		wantScenario(t, log, `
			stdio client open (over pipes)
			stdio server message "late"
			stdio client message "nobody reads"
			stdio failure (writing to the server's standard input: the server took 0 of 13 bytes and then stopped reading)
			stdio client signal (closed its standard input)
			stdio server end (standard output was closed by the harness)
			stdio client close`)
	})
}

func TestStdioPipesShutDown(t *testing.T) {
	t.Parallel()
	log := transcript.NewLog("c1")
	stdio, input, output := pipes(log, transport.Limits{})
	go func() {
		_, _ = io.Copy(output, input)
		_ = output.Close()
	}()
	if err := stdio.Write(within(t, patient), []byte("{}\n")); err != nil {
		t.Fatal(err)
	}
	ending, err := stdio.Shutdown(within(t, patient), target.Grace{Input: patient})
	if err != nil || ending.Step != target.InputClosed {
		t.Errorf("ended %+v, %v", ending, err)
	}
	if line := read(t, stdio); line != "{}" {
		t.Errorf("read %q", line)
	}
}

// Of a line that has not ended is told how it begins.
func TestStdioTellsAnUnfinishedLine(t *testing.T) {
	t.Parallel()
	stdio, _, output := pipes(transcript.NewLog("c1"), transport.Limits{})
	defer func() { _ = stdio.Close() }()
	_, _ = io.WriteString(output, "{}\n")
	if _, err := stdio.Read(within(t, patient)); err != nil || stdio.Unfinished() != "" {
		t.Errorf("of a line that ended is told %q, %v", stdio.Unfinished(), err)
	}
	_, _ = io.WriteString(output, `{"half`)
	_, _ = io.WriteString(output, "") // taken when what came before is noted
	if text := stdio.Unfinished(); text != `what came is 6 bytes of a line that has not ended ("{\"half")` {
		t.Errorf("told %q", text)
	}
}
