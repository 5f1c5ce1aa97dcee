//go:build linux

package main

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/mcpconform/mcpconform/internal/scenario"
	"github.com/mcpconform/mcpconform/internal/slowtest"
)

var servedPage = regexp.MustCompile(`http://127\.0\.0\.1:[0-9]+/`)

// serving starts serve on a free port and returns where its page is.
func serving(t *testing.T, directory string, arguments ...string) (*watched, string) {
	t.Helper()
	one := watch(t, directory, args("serve", "--listen", "127.0.0.1:0", "--filter", "base.components.required||lifecycle.initialized.sent", arguments)...)
	line, err := one.said.ReadString('\n')
	page := servedPage.FindString(line)
	if err != nil || page == "" {
		t.Fatalf("%q: %v", line, err)
	}
	return one, page
}

func TestServeReportsOnClientsThatComeByThemselves(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	one, page := serving(t, directory, "--revision", "2025-11-25", "--json", "run.json", "--junit", "run.xml", "--transcripts", "wires")
	steps := scenario.StepsVariable + `=[{"do":"connect"},{"do":"list","of":"tools"},{"do":"close"}]`
	client := begin(t, t.TempDir(), []string{steps}, "reference", "client", page+"mcp")
	client.wait().demand(t, 0)

	if err := one.command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}

	one.finish().demand(t, exitConforms, "No failure found in ", "0 failed")
	onlyFiles(t, directory, "run.json", "run.xml", "wires")
	for _, report := range []string{"run.json", "run.xml"} {
		text, err := os.ReadFile(filepath.Join(directory, report))
		if err != nil || !bytes.Contains(text, []byte("lifecycle.initialized.sent")) {
			t.Errorf("%s: %v\n%s", report, err, text)
		}
	}
}

// A signal ends serve while clients have requests unfinished and streams open.
func TestServeEndsWhateverClientsHaveOpen(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	directory := t.TempDir()
	one, page := serving(t, directory, "--revision", "2025-11-25", "--json", "run.json")
	at, err := url.Parse(page)
	if err != nil {
		t.Fatal(err)
	}
	const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`
	head := " /mcp HTTP/1.1\r\nHost: " + at.Host + "\r\nAccept: application/json, text/event-stream\r\nContent-Type: application/json\r\n"
	for _, open := range []string{
		"POST" + head[:20],
		"POST" + head + "Content-Length: 1000\r\n\r\n{",
		"POST" + head + "Expect: 100-continue\r\nContent-Length: 1000\r\n\r\n",
		"POST" + head + "Transfer-Encoding: chunked\r\n\r\n5\r\n{",
		"GET" + head + "\r\n",
		fmt.Sprintf("POST%sContent-Length: %d\r\n\r\n%s", head, len(hello), hello),
	} {
		conn, err := net.Dial("tcp", at.Host)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }() // the other end is gone
		if _, err := io.WriteString(conn, open); err != nil {
			t.Fatal(err)
		}
	}
	if line, err := one.said.ReadString('\n'); err != nil || !strings.HasPrefix(line, "meeting: ") { // it is judged
		t.Fatalf("%q: %v", line, err)
	}
	if err := one.command.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	one.finish().demand(t, exitDoesNot)
	onlyFiles(t, directory, "run.json")
}

func TestServeToNobody(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	one, _ := serving(t, directory, "--revision", "2025-11-25", "--json", "run.json", "--junit", "run.xml")
	if err := one.command.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	one.finish().demand(t, exitUnreachable, "no client connected to any scenario")
	onlyFiles(t, directory, "run.json", "run.xml")
}

func TestServeWhereSomebodyListens(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	address := listener.Addr().String()
	refused := mcpconform(t, "serve", "--listen", address)
	refused.demand(t, exitUsage, "--listen "+address, "address already in use")
	refused.oneLine(t)
}

func TestServeTakesWhatIsForClientsFromTheConfig(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	writeFile(t, directory, "mcpconform.yaml", "command: [./server]\nclient: [./client]\nrevision: 2025-06-18\n")
	one, _ := serving(t, directory)
	if err := one.command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	one.finish().demand(t, exitUnreachable, "at 2025-06-18")
}

func TestTheConfigNamesAServerAndAClient(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	writeFile(t, directory, "mcpconform.yaml",
		"command: [./no-such-server]\nclient: ["+os.Args[0]+", reference, client]\ntransport: http\nfilter: base.components.required\n")
	mcpconformIn(t, directory, "client", "--revision", "2025-11-25").demand(t, exitConforms, "No failure found in ", "reference client")

	mcpconformIn(t, directory, "server", "--transport", "stdio").demand(t, exitUnreachable, "no-such-server")
}

func TestListAndExplainKnowBothRoles(t *testing.T) {
	t.Parallel()
	mcpconform(t, "list", "--revision", "2025-11-25", "--filter", "base.components.required").demand(t, 0,
		"in the scenario meeting", "of the server at 2025-11-25", "1 checks and 0 rules of the client at 2025-11-25")
	mcpconform(t, "list", "--role", "server", "--revision", "2025-11-25", "--filter", "lifecycle.version.echoed", "--json").demand(t, 0,
		`"role": "server"`)
	mcpconform(t, "list", "--role", "client", "--revision", "2025-11-25", "--filter", "base.components.required", "--json").demand(t, 0,
		`"role": "client"`, `"name": "meeting"`, `"do": "connect"`)
	mcpconform(t, "explain", "base.components.required").demand(t, 0,
		"in the scenario meeting: ", " 1. connect", "mcpconform client --filter base.components.required -v")
	mcpconform(t, "explain", "lifecycle.version.echoed").demand(t, 0, "mcpconform server --filter lifecycle.version.echoed -v")
}
