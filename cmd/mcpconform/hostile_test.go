//go:build linux

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpconform/mcpconform/reports"
)

// What a reply may take in these tests: ample, where the target does something
// that ends the wait, however loaded the machine; brief, where it answers most of
// what it is asked; hasty, where all that it can do is not to answer in time, of
// which the start of a target may take several.
const (
	ample = "30s"
	brief = "1s"
	hasty = "200ms"
)

func TestTargetsThatCannotBeSpokenTo(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]struct {
		timeout string
		command []string
		says    []string
	}{
		"does not exist":       {ample, []string{"--", "no-such-command-at-all"}, []string{`command "no-such-command-at-all" not found in PATH`}},
		"exits at once":        {ample, bad("exits"), []string{"exited with status 3", "cannot find module 'left-pad'"}},
		"noise":                {hasty, bad("noise"), []string{"Server listening, have a nice day!", "only JSON-RPC messages may stand"}},
		"never answers":        {hasty, bad("silent"), []string{"initialize was not answered within", "--timeout"}},
		"does not even end":    {hasty, bad("deaf"), []string{"initialize was not answered within"}},
		"line of 100 MB":       {ample, bad("long-line"), []string{"a line is longer than the limit of 16 MiB", "--max-message"}},
		"line without an end":  {ample, bad("endless"), []string{"a line is longer than the limit of 16 MiB"}},
		"flood":                {ample, bad("flood"), []string{"sent more than the harness keeps"}},
		"flood of blank lines": {ample, bad("blank-flood"), []string{"sent more than the harness keeps"}},
		"invalid UTF-8":        {ample, bad("invalid-utf8"), []string{"without a protocolVersion"}},
		"errors":               {ample, bad("errors"), []string{"refused with error -32603", "nothing works today"}},
		"other ids":            {hasty, bad("others-ids"), []string{"initialize was not answered", "of somebody else"}},
		"empty object":         {hasty, bad("empty-object"), []string{"initialize was not answered", "{}"}},
		"empty result":         {ample, bad("empty-result"), []string{"without a protocolVersion"}},
		"stateless":            {ample, bad("stateless"), []string{"no revision that begins with initialize", "-32004", "2026-07-28"}},
		"older revision":       {ample, bad("older-only"), []string{"speaks 2024-11-05; what can be checked is"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found := mcpconform(t, args("server", "--timeout", one.timeout, one.command)...)
			found.demand(t, exitUnreachable, one.says...)
			if found.stdout != "" {
				t.Errorf("nothing was checked, and yet\n%s", found)
			}
		})
	}
}

func TestARevisionThatIsAskedForAndNotSpoken(t *testing.T) {
	t.Parallel()
	for how, says := range map[string]string{"older-only": "also speaks 2024-11-05", "stateless": "refused with error -32004"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			mcpconform(t, args("server", "--revision", "2025-11-25", "--timeout", brief, bad(how))...).
				demand(t, exitDoesNot, "does not speak 2025-11-25", says)
		})
	}
}

func TestAServerThatRefusesTheNewestRevisionIsAskedForOthers(t *testing.T) {
	t.Parallel()
	mcpconform(t, args("server", "--filter", "ping", bad("refuses-newest"))...).
		demand(t, exitConforms, "Conforms to 2025-06-18")
}

func TestAddressesThatAreNoServer(t *testing.T) {
	t.Parallel()
	answer := func(status int, header, value, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set(header, value)
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}
	}
	endless := func(kind, piece string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			for {
				if _, err := io.WriteString(w, piece); err != nil {
					return
				}
			}
		}
	}
	for name, one := range map[string]struct {
		timeout string
		serve   http.HandlerFunc
		says    []string
	}{
		"HTML":         {ample, answer(200, "Content-Type", "text/html", "<html>Welcome</html>"), []string{"text/html", "<html>Welcome</html>", "often ends in /mcp"}},
		"not found":    {ample, answer(404, "Content-Type", "text/html", "nope"), []string{"HTTP 404", "often ends in /mcp"}},
		"redirect":     {ample, answer(307, "Location", "/elsewhere", ""), []string{"redirects (HTTP 307) to /elsewhere"}},
		"login":        {ample, answer(401, "WWW-Authenticate", `Bearer resource_metadata="https://x/y"`, ""), []string{"needs a login (HTTP 401)", `Bearer resource_metadata="https://x/y"`, "--header"}},
		"broken":       {ample, answer(500, "Content-Type", "text/plain", "oh no"), []string{"HTTP 500", "oh no"}},
		"refusal":      {ample, answer(400, "Content-Type", "application/json", `{"jsonrpc":"2.0","id":null,"error":{"code":-32022,"message":"no","data":{"supported":["2026-07-28"]}}}`), []string{"-32022", "supports 2026-07-28"}},
		"endless body": {ample, endless("application/json", strings.Repeat(" ", 1<<16)), []string{"longer than the limit of 16 MiB"}},
		"endless flood of events": {ample, endless("text/event-stream", "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{}}\n\n"),
			[]string{"sent more than the harness keeps"}},
		"endless event": {ample, endless("text/event-stream", "data: "+strings.Repeat("x", 1<<16)+"\n"), []string{"longer than the limit of 16 MiB"}},
		"silence":       {hasty, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, []string{"was not answered within"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(drain(one.serve))
			t.Cleanup(server.Close)
			found := mcpconform(t, "server", "--timeout", one.timeout, "--url", server.URL)
			found.demand(t, exitUnreachable, append(one.says, server.URL)...)
			found.oneLine(t)
		})
	}
}

// drain reads a request before it is answered, so that its end is noticed.
func drain(serve http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		serve(w, r)
	}
}

func TestAddressesThatAreNoHTTP(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = bufio.NewReader(connection).ReadString('\n')
			_, _ = io.WriteString(connection, "220 mail.example ESMTP\r\n")
			_ = connection.Close()
		}
	}()
	mcpconform(t, "server", "--timeout", brief, "--url", "http://"+listener.Addr().String()).
		demand(t, exitUnreachable, "the answer is not HTTP", "is this the port of an HTTP server?")

	refusing, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = refusing.Close()
	mcpconform(t, "server", "--timeout", brief, "--url", "http://"+refusing.Addr().String()).
		demand(t, exitUnreachable, "connection refused", "is the server running")
}

// A target that is dead, silent or broken after the handshake passes nothing
// that it would have to answer for.
func TestBrokenTargetsPassNothingThatTheyDoNotAnswer(t *testing.T) {
	t.Parallel()
	for _, how := range []string{
		"errors-later", "others-ids-later", "empty-object-later", "invalid-utf8-later", "dies-after-initialize",
		"hangs-after-initialize", "hangs-later", "long-line-later", "flood-later",
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			directory := t.TempDir()
			found := mcpconformIn(t, directory, args("server", "--timeout", "500ms", "--filter", "ping || tools && MUST", "--json", "run.json", bad(how))...)
			if found.status != exitDoesNot {
				t.Errorf("want status %d\n%s", exitDoesNot, found)
			}
			for _, result := range results(t, directory) {
				if result.Verdict == reports.Passed && result.Kind == reports.KindCheck && !answeredByAnError(how, result) {
					t.Errorf("passes: %s", result.Text)
				}
			}
		})
	}
}

// answeredByAnError tells whether a check passes because the target refuses
// what is to be refused.
func answeredByAnError(how string, result reports.Result) bool {
	return (how == "errors-later" || how == "invalid-utf8-later") && strings.Contains(result.Text, "error")
}

func TestAServerThatDiesOnOneRequestIsJudgedOnTheRest(t *testing.T) {
	t.Parallel()
	mcpconform(t, args("server", "--timeout", brief, "--filter", "ping || tools", "-v", bad("dies-on-tools"))...).
		demand(t, exitDoesNot, "answers ping", "exited with status 7")
}

func results(t *testing.T, directory string) []reports.Result {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(directory, "run.json"))
	if err != nil {
		t.Fatal(err)
	}
	var run reports.Run
	if err := json.Unmarshal(text, &run); err != nil {
		t.Fatal(err)
	}
	var all []reports.Result
	for _, leg := range run.Legs {
		all = append(all, leg.Results...)
	}
	if len(all) == 0 {
		t.Fatal("there are no results")
	}
	return all
}

// memoryBound is what all processes of a run may take together, in KiB.
const memoryBound = 256 << 10

func TestMemoryStaysBounded(t *testing.T) {
	t.Parallel()
	if raceDetector {
		t.Skip("the race detector takes memory of its own")
	}
	if _, err := os.Stat("/proc/self/smaps_rollup"); err != nil {
		t.Skip("memory is measured by /proc/PID/smaps_rollup, which this system does not have")
	}
	for _, how := range []string{"long-line-on-tools", "floods-on-tools"} {
		t.Run(how, func(t *testing.T) {
			one := beginMarked(t, t.TempDir(), args("server", "--workers", "4", "--timeout", brief, "--filter", "tools", bad(how))...)
			most := make(chan int)
			stop := make(chan struct{})
			go one.watchMemory(stop, most)
			ended := one.finish()
			close(stop)
			found := <-most
			if ended.status != exitDoesNot || found > memoryBound || found == 0 {
				t.Errorf("at most %d MiB were taken\n%s", found>>10, ended)
			}
		})
	}
}

// watchMemory sends the most that the processes of the harness took at one
// time, in KiB; pages that they share count once.
func (m *marked) watchMemory(stop <-chan struct{}, most chan<- int) {
	highest := 0
	for {
		together := 0
		for pid, line := range processes(m.mark) {
			if strings.HasPrefix(line, os.Args[0]+" "+badServer) {
				continue
			}
			together += proportional(pid)
		}
		highest = max(highest, together)
		select {
		case <-stop:
			most <- highest
			return
		default:
		}
	}
}

// proportional is the memory of a process, in KiB, its share of common pages
// included.
func proportional(pid int) (kilobytes int) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text), "\nPss:")
	_, _ = fmt.Sscan(rest, &kilobytes)
	return kilobytes
}
