//go:build linux

package main

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/mcpconform/mcpconform/fixtures"
	"github.com/mcpconform/mcpconform/internal/fault"
	"github.com/mcpconform/mcpconform/internal/scenario"
)

// faultFile writes a file with one fault and returns what --fault calls it.
func faultFile(t *testing.T, change string) string {
	t.Helper()
	return writeFile(t, t.TempDir(), "own.yaml", "- id: own\n  says: x\n"+change) + "#own"
}

// piped begins the command line with pipes.
func piped(t *testing.T, arguments ...string) (one *execution, in io.WriteCloser, out *bufio.Reader) {
	t.Helper()
	one = prepare(t, t.TempDir(), nil, arguments...)
	one.command.Stdout = nil
	in, err := one.command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := one.command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	one.start()
	t.Cleanup(func() { _ = in.Close() }) // also keeps it reachable: a file that is not gets closed
	return one, in, bufio.NewReader(stdout)
}

func line(t *testing.T, from *bufio.Reader, wanted string) {
	t.Helper()
	found, err := from.ReadString('\n')
	if err != nil || !strings.Contains(found, wanted) {
		t.Fatalf("wanted a line with %q, found %q, %v", wanted, found, err)
	}
}

const somePing = `{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n"

func TestMiddlemanPassesTheExitOn(t *testing.T) {
	t.Parallel()
	found := mcpconform(t, args("middleman", bad(t, "missing", "at-once"))...)
	if found.status != 3 || found.stdout != "" || found.stderr != "cannot find module 'left-pad'\n" {
		t.Error(found)
	}
}

func TestMiddlemanPassesMessagesOn(t *testing.T) {
	t.Parallel()
	one, in, out := piped(t, args("middleman", bad(t, "none"))...)
	if _, err := io.WriteString(in, somePing); err != nil {
		t.Fatal(err)
	}
	line(t, out, `"result"`)
	if err := in.Close(); err != nil {
		t.Error(err)
	}
	if found := one.wait(); found.status != 0 || found.stderr != "" {
		t.Error(found)
	}
}

func TestMiddlemanDiesBySignalsAsTheServer(t *testing.T) {
	t.Parallel()
	one, _, out := piped(t, args("middleman", bad(t, "noise", "at-once"))...)
	line(t, out, "have a nice day")
	if err := one.command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	exit, _ := errors.AsType[*exec.ExitError](one.command.Wait())
	if exit == nil {
		t.Fatal("it exited in good order")
	}
	if status, _ := exit.Sys().(syscall.WaitStatus); !status.Signaled() || status.Signal() != syscall.SIGTERM {
		t.Errorf("it ended by %v", exit)
	}
}

func TestMiddlemanLaysAFault(t *testing.T) {
	t.Parallel()
	name := faultFile(t, `  changes:
    - {when: {process: terminate}, do: [{write: "not now\n"}, {ignore: true}]}
    - {when: {process: input-closed}, do: [{exit: 7}]}`)
	one, in, out := piped(t, args("middleman", "--fault", name, bad(t, "none"))...)
	if _, err := io.WriteString(in, somePing); err != nil {
		t.Fatal(err)
	}
	line(t, out, `"result"`)
	if err := one.command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	line(t, out, "not now")
	if err := in.Close(); err != nil {
		t.Error(err)
	}
	if found := one.wait(); found.status != 7 || found.stderr != "" {
		t.Error(found)
	}
}

func TestMiddlemanNeedsACommand(t *testing.T) {
	t.Parallel()
	for _, arguments := range [][]string{{"middleman"}, {"middleman", "x"}, {"middleman", "--"}} {
		found := mcpconform(t, arguments...)
		found.demand(t, exitUsage, "middleman needs -- and the command")
		found.oneLine(t)
	}
	mcpconform(t, "middleman", "--", "/does/not/exist").demand(t, exitUnreachable, "/does/not/exist")
}

func TestFaultsThatAreNotThere(t *testing.T) {
	t.Parallel()
	all, err := fault.Load(fixtures.Wire)
	if err != nil {
		t.Fatal(err)
	}
	file := strings.TrimSuffix(faultFile(t, "  when: {method: ping}\n  do: [{drop: true}]"), "own")
	for name, says := range map[string]string{
		all[0].ID + "x":                       `did you mean "` + all[0].ID + `"?`,
		file + "ow":                           `did you mean "own"?`,
		"nowhere.yaml#x":                      "nowhere.yaml",
		faultFile(t, "  when: {metod: ping}"): `own.yaml:3: unknown key "metod", did you mean "method"?`,
	} {
		found := mcpconform(t, "reference", "server", "--stdio", "--fault", name)
		found.demand(t, exitUsage, says)
		found.oneLine(t)
	}
}

func TestReferenceKnowsTheFixtures(t *testing.T) {
	t.Parallel()
	for _, folder := range []string{fixtures.Faults, fixtures.Variations} {
		files, err := fs.Sub(fixtures.Wire, folder)
		if err != nil {
			t.Fatal(err)
		}
		faults, err := fault.Load(files)
		if err != nil {
			t.Fatal(err)
		}
		at := slices.IndexFunc(faults, func(one *fault.Fault) bool { return one.Role == "" })
		if found := mcpconform(t, "reference", "server", "--stdio", "--fault", faults[at].ID); found.status != 0 {
			t.Error(found)
		}
	}
}

func TestReferenceWithAFaultOverStdio(t *testing.T) {
	t.Parallel()
	one, in, out := piped(t, "reference", "server", "--stdio", "--fault",
		faultFile(t, "  changes:\n    - {when: {direction: in, method: ping}, do: [{refuse: {code: 5}}]}\n    - {when: {process: input-closed}, do: [{exit: 9}]}"))
	if _, err := io.WriteString(in, somePing); err != nil {
		t.Fatal(err)
	}
	line(t, out, `"code":5`)
	if err := in.Close(); err != nil {
		t.Error(err)
	}
	if found := one.wait(); found.status != 9 || found.stderr != "" {
		t.Error(found)
	}
}

func TestReferenceWithAFaultOverHTTP(t *testing.T) {
	t.Parallel()
	one, _, out := piped(t, "reference", "server", "--listen", "127.0.0.1:0", "--fault",
		faultFile(t, "  changes:\n    - {when: {direction: in, http: {method: PUT}}, do: [{respond: {status: 418}}]}\n    - {when: {direction: in, method: ping}, do: [{exit: 9}]}"))
	text, err := out.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	url := strings.TrimSpace(strings.TrimPrefix(text, "listening on "))
	send := func(method, body string) (status int) {
		request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return 0
		}
		_ = response.Body.Close()
		return response.StatusCode
	}
	if status := send(http.MethodPut, ""); status != http.StatusTeapot {
		t.Errorf("status %d", status)
	}
	if status := send(http.MethodPost, somePing); status != 0 {
		t.Errorf("it answers with status %d instead of exiting", status)
	}
	if found := one.wait(); found.status != 9 || found.stderr != "" {
		t.Error(found)
	}
}

// A client into whose traffic something is injected asks for what it does not mean, over
// both transports.
func TestReferenceClientWithAFault(t *testing.T) {
	t.Parallel()
	_, _, out := piped(t, "reference", "server", "--listen", "127.0.0.1:0", "--attached")
	text, err := out.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	url := strings.TrimSpace(strings.TrimPrefix(text, "listening on "))
	lost := faultFile(t, "  role: client\n  when: {method: prompts/list}\n  do: [{replace: /method, with: prompts/lost}]")
	for name, server := range map[string][]string{"http": {url}, "stdio": {"--", os.Args[0], "reference", "server", "--stdio"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			steps := scenario.StepsVariable + `=[{"do":"connect"},{"do":"list","of":"prompts"},{"do":"list","of":"resources"},{"do":"close"}]`
			found := begin(t, t.TempDir(), []string{steps}, args("reference", "client", "--fault", lost, server)...).wait()
			found.demand(t, 0, `"step":1,"outcome":"failed"`, `"step":2,"outcome":"done"`, `"step":3,"outcome":"done"`)
			good := begin(t, t.TempDir(), []string{steps}, args("reference", "client", server)...).wait()
			good.demand(t, 0, `"step":1,"outcome":"done"`)
		})
	}
}
