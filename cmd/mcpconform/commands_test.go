//go:build linux

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/provoke"
	"github.com/mcpconform/mcpconform/internal/slowtest"
)

// command matches what a CI system takes for a command: GitHub "::" behind white space where a
// line begins, and "##[" anywhere; Azure Pipelines "##vso["; TeamCity "##teamcity[".
var command = regexp.MustCompile(`(?m)(?:^|\r)[\pZ\pC]*::.*|##\w*\[.*`)

// annotation is a command that the harness itself writes.
var annotation = regexp.MustCompile(`^::(error|warning) (file=[^,:]+,line=\d+,)?title=[^,:]+::`)

// commandsNothing fails the test when a CI system would take anything that was printed for a
// command, save the annotations.
func (o outcome) commandsNothing(t *testing.T) {
	t.Helper()
	for _, text := range []string{o.stdout, o.stderr} {
		for _, line := range command.FindAllString(text, -1) {
			if !annotation.MatchString(line) {
				t.Errorf("a CI system takes this for a command: %q\n%s", line, o)
			}
		}
	}
}

// No text of a target that any subcommand prints is taken for a command by a CI system.
func TestWhatATargetSaysCommandsNothing(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	words := "\n \t::error::of the target\n##[error]of the target\r::add-mask::e ##vso[task.complete]of the target\n::debug::"
	directory := t.TempDir()
	dying := []string{"sh", "-c", `cat "$0" >&2; exit 3`, writeFile(t, directory, "words", words)}
	speaking := bad(t, "commands")
	twice := append([]string{"--", "sh", "-c", `cat "$0" >&2; exec "$1" stdio commands`, filepath.Join(directory, "words")}, hostile(t))
	// The runs that others read.
	record := mcpconformIn(t, directory, args("server", "--timeout", ample, "--filter", "ping || tools", "-v", "--json", "run.json", "--transcripts", "wires", speaking)...)
	record.commandsNothing(t)
	matrix := writeFile(t, directory, "targets.yaml", "- target: dying\n  command: [sh, -c, 'echo \"::error::##[x]\" >&2']\n")
	for name, one := range map[string]struct {
		arguments []string
		says      string // that the words came this way
	}{
		"server":         {args("server", "--timeout", ample, "--filter", "tools", "-v", speaking), "of the target"},
		"http":           {args("server", "--timeout", ample, "--filter", "tools", "-v", badURL(t, "http", "commands")), "of the target"},
		"standard error": {args("server", "--timeout", ample, "--filter", "tools", "-v", twice), "of the target"},
		"exit 3":         {args("server", "--timeout", ample, "--", dying), "of the target"},
		"start":          {args("server", "--url", "http://127.0.0.1:1/", "--start", strings.Join([]string{"cat", "/no/such/##[error]", "::error::of the target"}, " ")), "of the target"},
		"init":           {args("init", "--timeout", ample, speaking), "of the target"},
		"init, exit 3":   {args("init", "--timeout", ample, "--", dying), "of the target"},
		"client":         {args("client", "--timeout", ample, "--filter", "pagination.operations", "-v", "--", dying), "of the target"},
		"check":          {args("check", "-v", "wires"), "of the target"},
		"report":         {args("report", "-v", "run.json"), "of the target"},
		"diff":           {args("diff", "-v", "run.json", "run.json"), "0 regressions"},
		"matrix":         {args("matrix", "--out", "site", matrix), "error::##"},
		"to the output":  {args("server", "--timeout", ample, "--filter", "tools", "-q", "--json", "/dev/stdout", "--markdown", "/dev/stderr", speaking), "of the target"},
		"wrong usage":    {args("server", "--filter", "\n::error::of the target"), "of the target"},
		"a wrong word":   {args("\n::error::of the target"), "of the target"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			where := t.TempDir()
			if slices.Contains([]string{"check", "report", "diff"}, name) {
				where = directory
			}
			running := prepare(t, where, []string{"GITHUB_ACTIONS=true"}, one.arguments...)
			running.start()
			ended := running.wait()
			ended.demand(t, ended.status, one.says)
			ended.commandsNothing(t)
		})
	}
}

// Nothing is printed but by the one writer. What speaks a protocol to the process that started it
// is no log, and nor is the width of a terminal, nor what a client says for which the proxy stands.
func TestNobodyPrintsElsewhere(t *testing.T) {
	t.Parallel()
	stream := regexp.MustCompile(`os\.Std(?:out|err)\b`)
	other := regexp.MustCompile(`(?:\.Work|ServeStdio|OverStdio|terminalWidth|NoCommands|\.Annotations)\(.*os\.Std|record\.Peer\{|client\.Stdin, |\.Fd\(\)`)
	sources, err := filepath.Glob("*.go")
	if err != nil || len(sources) == 0 {
		t.Fatal(err)
	}
	for _, source := range sources {
		if strings.HasSuffix(source, "_test.go") {
			continue
		}
		text, err := os.ReadFile(source)
		if err != nil {
			t.Fatal(err)
		}
		for number, line := range strings.Split(string(text), "\n") {
			if stream.MatchString(line) && !other.MatchString(line) {
				t.Errorf("%s:%d: print by stdout() or stderr()\n%s", source, number+1, line)
			}
		}
	}
}

// A server behind one URL may be reached over two transports: what repeats a check over HTTP
// with SSE names it.
func TestRerunNamesHTTPWithSSE(t *testing.T) {
	t.Parallel()
	here := &settings{role: protocol.ServerRole}
	here.URL, here.CallTools = "http://127.0.0.1:3000/sse", string(provoke.CallReadOnly)
	for transport, want := range map[string]string{
		protocol.SSE:  "mcpconform server --revision 2025-03-26 --filter ping.answered -v --transport sse --url http://127.0.0.1:3000/sse",
		protocol.HTTP: "mcpconform server --revision 2025-03-26 --filter ping.answered -v --url http://127.0.0.1:3000/sse",
	} {
		cell := check.Cell{Role: protocol.ServerRole, Revision: "2025-03-26", Transport: transport}
		if got := here.rerun(cell, "ping.answered"); got != want {
			t.Errorf("%s: %s, wanted %s", transport, got, want)
		}
	}
}
