//go:build linux

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/slowtest"
	"github.com/mcpconform/mcpconform/reports"
)

// resultsOf are the verdicts of a run by text.
func resultsOf(t *testing.T, path string) map[string]reports.Verdict {
	t.Helper()
	all := map[string]reports.Verdict{}
	for _, cell := range readRun(t, path).Cells {
		for _, result := range cell.Results {
			all[cell.Name()+" "+result.Text] = result.Verdict
		}
	}
	return all
}

// Through the proxy a run over stdio has the verdicts that it has without; and what was
// recorded blames the server for nothing that the harness provoked.
func TestProxyOverStdio(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, revision, filter, fault, broken string }{
		{"a good server", "2025-11-25", "lifecycle || tools || transports", "", ""},
		{"without sessions", "2026-07-28", "subscriptions || base.errors.survived", "", ""},
		{"a server that breaks", "2025-06-18", "progress", "progress-falls", "progress.increases"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			directory := t.TempDir()
			server := []string{os.Args[0], "reference", "server", "--stdio"}
			if test.fault != "" {
				server = append(server, "--fault", test.fault)
			}
			through := args(os.Args[0], "proxy", "--record", filepath.Join(directory, "recorded"), "--", server)
			here := []string{"server", "-q", "--revision", test.revision, "--filter", test.filter}
			mcpconformIn(t, directory, args(here[0], here[1:], "--json", "direct.json", "--", server)...)
			found := mcpconformIn(t, directory, args(here[0], here[1:], "--json", "through.json", "--", through)...)
			direct, proxied := resultsOf(t, filepath.Join(directory, "direct.json")), resultsOf(t, filepath.Join(directory, "through.json"))
			for text, verdict := range direct {
				if proxied[text] != verdict {
					t.Errorf("%s is %s, and through the proxy %q\n%s", text, verdict, proxied[text], found)
				}
			}
			checked := mcpconformIn(t, directory, "check", "--role", "server", "--json", "check.json", "recorded")
			broken, _ := verdictsOf(t, filepath.Join(directory, "check.json"))
			if test.broken == "" && len(broken) > 0 || test.broken != "" && !slices.Contains(broken, test.broken) {
				t.Errorf("broken is %v, wanted %q\n%s", broken, test.broken, checked)
			}
		})
	}
}

// A command that cannot be started ends the proxy as it ends a shell, and nothing is said
// where the server would speak.
func TestProxyStartsNothing(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	writeFile(t, directory, "text", "no program")
	for command, status := range map[string]int{
		"no-such-command-here": 127, "./missing": 127, "./missing/server": 127, "./text": 126, "./": 126, "./text/server": 126,
	} {
		for _, more := range [][]string{nil, {"--inject", "progress-falls"}} {
			ended := mcpconformIn(t, directory, args("proxy", "--record", "recorded", more, "--", command, "--flag")...)
			ended.demand(t, status, "mcpconform: cannot start "+command+": ")
			ended.oneLine(t)
		}
	}
	mcpconformIn(t, directory, "server", "-q", "--revision", "2025-06-18", "--", os.Args[0], "proxy", "--record", "recorded", "--", "./missing").
		demand(t, exitUnreachable, "cannot start ./missing")
}

var relayedAt = regexp.MustCompile(`http://127\.0\.0\.1:[0-9]+/mcp`)

// Over HTTP the proxy tells who breaks what as it sees it, and ends with a report of each.
func TestProxyOverHTTP(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	server := listening(t, "reference", "server", "--fault", "progress-falls")
	one := watch(t, directory, "proxy", "--record", "recorded", "--json", "{role}.json", "--html", "{role}.html", "--url", server)
	line, err := one.said.ReadString('\n')
	if err != nil || !strings.Contains(line, "grade bytes") {
		t.Fatalf("%q: %v", line, err)
	}
	mcpconformIn(t, directory, "server", "-q", "--revision", "2025-06-18", "--filter", "progress", "--url", relayedAt.FindString(line)).
		demand(t, exitDoesNot)
	if err := one.command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	ended := one.finish()
	ended.demand(t, exitDoesNot, "server FAILED progress.increases: ", "server in ", "client in ", "Does not conform to 2025-06-18")
	if strings.Contains(ended.stderr, "client FAILED progress") {
		t.Errorf("the client is blamed for the server:\n%s", ended)
	}
	onlyFiles(t, directory, "client.html", "client.json", "recorded", "server.html", "server.json")
	live, _ := verdictsOf(t, filepath.Join(directory, "server.json"))
	mcpconformIn(t, directory, "check", "--role", "server", "--json", "later.json", "recorded").demand(t, exitDoesNot)
	later, _ := verdictsOf(t, filepath.Join(directory, "later.json"))
	if !slices.Equal(live, later) {
		t.Errorf("live %v is broken, and later %v", live, later)
	}
}

// The whole suite has the same verdicts through the proxy, over each transport.
func TestProxyChangesNoVerdict(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	for _, test := range []struct{ revision, transport string }{
		{"2025-11-25", protocol.Stdio}, {"2026-07-28", protocol.Stdio}, {"2025-03-26", protocol.HTTP},
		{"2025-11-25", protocol.HTTP}, {"2026-07-28", protocol.HTTP}, {"2024-11-05", protocol.SSE},
	} {
		t.Run(test.revision+" "+test.transport, func(t *testing.T) {
			directory := t.TempDir()
			server := func(file string, target ...string) {
				found := mcpconformIn(t, directory, args("server", "-q", "--revision", test.revision, "--transport", test.transport, "--json", file, target)...)
				found.demand(t, exitConforms)
			}
			var stop func()
			if test.transport == protocol.Stdio {
				target := []string{os.Args[0], "reference", "server", "--stdio"}
				server("direct.json", args("--", target)...)
				server("through.json", args("--", os.Args[0], "proxy", "--record", filepath.Join(directory, "recorded"), "--", target)...)
				stop = func() {}
			} else {
				url := listening(t, "reference", "server")
				if test.transport == protocol.SSE {
					url = strings.TrimSuffix(url, "/mcp") + "/sse"
				}
				one := watch(t, directory, "proxy", "-q", "--record", "recorded", "--url", url)
				line, err := one.said.ReadString('\n')
				if err != nil {
					t.Fatal(err)
				}
				server("direct.json", "--url", url)
				server("through.json", "--url", strings.Fields(line)[2])
				stop = func() {
					_ = one.command.Process.Signal(syscall.SIGTERM)
					one.finish()
				}
			}
			stop()
			direct, proxied := resultsOf(t, filepath.Join(directory, "direct.json")), resultsOf(t, filepath.Join(directory, "through.json"))
			for text, verdict := range direct {
				if proxied[text] != verdict {
					t.Errorf("%s is %s, and through the proxy %q", text, verdict, proxied[text])
				}
			}
			// What the harness provoked is not held against the server.
			checked := mcpconformIn(t, directory, "check", "-q", "--role", "server", "--json", "check.json", "recorded")
			if broken, _ := verdictsOf(t, filepath.Join(directory, "check.json")); len(broken) > 0 {
				t.Errorf("broken is %v\n%s", broken, checked)
			}
		})
	}
}

// Faults that the proxy injects reach the peer, are told, and are held against nobody.
func TestProxyInjects(t *testing.T) {
	t.Parallel()
	filter := []string{"server", "-q", "--revision", "2025-06-18", "--filter", "progress"}
	t.Run("stdio", func(t *testing.T) {
		t.Parallel()
		directory := t.TempDir()
		through := args(os.Args[0], "proxy", "--inject", "progress-falls", "--record", filepath.Join(directory, "recorded"), "--", os.Args[0], "reference", "server", "--stdio")
		mcpconformIn(t, directory, args(filter[0], filter[1:], "--", through)...).demand(t, exitDoesNot, "1 failed")
		mcpconformIn(t, directory, "check", "--role", "server", "recorded").demand(t, exitConforms, "into which faults were injected", "0 failed")
	})
	for rate, status := range map[string]int{"1": exitDoesNot, "0": exitConforms} {
		t.Run("http at "+rate, func(t *testing.T) {
			t.Parallel()
			directory := t.TempDir()
			one := watch(t, directory, "proxy", "--inject", "progress-falls", "--rate", rate, "--seed", "7", "--url", listening(t, "reference", "server"))
			line, err := one.said.ReadString('\n')
			if err != nil || !strings.Contains(line, "grade message") {
				t.Fatalf("%q: %v", line, err)
			}
			mcpconformIn(t, directory, args(filter[0], filter[1:], "--url", strings.Fields(line)[2])...).demand(t, status)
			if err := one.command.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			ended := one.finish()
			ended.demand(t, exitConforms, "Injected, with --seed 7: progress-falls ", "server in ", "0 failed")
			if never := strings.Contains(ended.stderr, "progress-falls 0 times"); never != (rate == "0") || strings.Contains(ended.stdout, "into which faults were injected") == never {
				t.Errorf("at the rate %s: %s", rate, ended)
			}
		})
	}
}
