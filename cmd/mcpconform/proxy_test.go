//go:build linux

package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/slowtest"
	"github.com/mcpconform/mcpconform/reference/client"
	"github.com/mcpconform/mcpconform/reference/server"
	"github.com/mcpconform/mcpconform/reports"
)

// resultsOf are the results of a run by cell and text.
func resultsOf(t *testing.T, path string) map[string]reports.Result {
	t.Helper()
	all := map[string]reports.Result{}
	for _, cell := range readRun(t, path).Cells {
		for _, result := range cell.Results {
			all[cell.Name()+" "+result.Text] = result
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
			mcpconformIn(t, directory, args(here[0], here[1:], "--json", "through.json", "--", through)...)
			sameThrough(t, directory)
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

// guarded is a server that wants tokens, over TLS or not, and the certificate by which it is
// believed.
func guarded(t *testing.T, secure bool) (url, certificate string) {
	t.Helper()
	reference, err := server.New(server.Options{Authorization: server.Scoped(listening(t, "reference", "authorization-server"))})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	listener, err := reference.Listen(ctx, "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	url = "http://" + listener.Addr().String() + "/mcp"
	if secure {
		example := httptest.NewTLSServer(nil) // has a certificate for this address
		example.Close()
		config := &tls.Config{Certificates: example.TLS.Certificates, MinVersion: tls.VersionTLS12}
		listener, url = tls.NewListener(listener, config), strings.Replace(url, "http", "https", 1)
		certificate = writeFile(t, t.TempDir(), "server.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: example.Certificate().Raw})))
	}
	served := make(chan error, 1)
	go func() { served <- reference.Serve(ctx, listener) }()
	t.Cleanup(func() {
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return url, certificate
}

// environmentTold is what a forward proxy tells the client to have in its environment.
func environmentTold(t *testing.T, said *bufio.Reader, last string) map[string]string {
	t.Helper()
	told := map[string]string{}
	for {
		line, err := said.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		name, value, found := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "export "), "=")
		if found {
			told[name] = strings.Trim(value, "'")
		}
		if name == last {
			return told
		}
	}
}

// Through a forward proxy, a client that checks the resource in the metadata gets its tokens. The
// recording does not have them, and neither peer fails. Behind a proxy with a URL of its own, the
// client gives up.
func TestProxyForward(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		revision string
		secure   bool
	}{{"2025-06-18", true}, {"2026-07-28", true}, {"2025-11-25", false}} {
		t.Run(fmt.Sprintf("%s %t", test.revision, test.secure), func(t *testing.T) {
			t.Parallel()
			at, certificate := guarded(t, test.secure)
			directory := t.TempDir()
			options := client.Options{URL: at, Revision: test.revision}
			carrier := &http.Transport{DisableCompression: true}
			one := watchLater(t, directory, "proxy", "--forward", "--record", "recorded", "--json", "{role}.json", "--url", at)
			last := "NODE_USE_ENV_PROXY"
			if test.secure {
				one.command.Env = append(one.command.Env, trustFile+"="+certificate)
				last = "NODE_EXTRA_CA_CERTS"
			}
			one.begin()
			told := environmentTold(t, one.said, last)
			proxyURL, err := url.Parse(told["HTTPS_PROXY"])
			if err != nil || told["HTTP_PROXY"] != told["HTTPS_PROXY"] || told["http_proxy"] != told["HTTP_PROXY"] || told["NO_PROXY"] != "" {
				t.Fatalf("%v: %v", told, err)
			}
			carrier.Proxy = http.ProxyURL(proxyURL)
			if test.secure {
				trusted := x509.NewCertPool()
				bundle, err := os.ReadFile(told[trustFile])
				if err != nil || !trusted.AppendCertsFromPEM(bundle) || told["REQUESTS_CA_BUNDLE"] != told[trustFile] {
					t.Fatalf("%v: %v", told, err)
				}
				carrier.TLSClientConfig = &tls.Config{RootCAs: trusted, MinVersion: tls.VersionTLS12}
			}
			options.Transport = carrier
			if err := client.Run(t.Context(), options); err != nil {
				t.Error(err)
			}
			carrier.CloseIdleConnections()
			if err := one.command.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			ended := one.finish()
			ended.demand(t, exitConforms, "grade head", "server in ", "client in ", "0 failed")
			for _, role := range protocol.Roles()[:2] {
				if broken, all := verdictsOf(t, filepath.Join(directory, role+".json")); len(broken) > 0 || len(all) == 0 {
					t.Errorf("the %s is blamed for %v\n%s", role, broken, ended)
				}
			}
			holdsNoToken(t, filepath.Join(directory, "recorded"), at)
			if test.secure {
				return
			}
			behind := watch(t, directory, "proxy", "-q", "--server-host", "--url", at)
			line, err := behind.said.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			err = client.Run(t.Context(), client.Options{URL: relayedAt.FindString(line), Revision: test.revision})
			if err == nil || !strings.Contains(err.Error(), "resource") {
				t.Errorf("before another URL the client ends with %v", err)
			}
			_ = behind.command.Process.Signal(syscall.SIGTERM)
			behind.finish()
		})
	}
}

// Behind a proxy with a URL of its own, a client gets a token if the proxy rewrites the metadata.
// Only a server that accepts tokens for any audience accepts it. Otherwise the client gives up.
func TestProxyRewritesMetadata(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		flag, fault, ends string
	}{
		{"--rewrite-metadata", "takes-any-audience", ""},
		{"--rewrite-metadata", "", "not for this server"},
		{"--server-host", "takes-any-audience", "resource"},
	} {
		t.Run(test.flag+" "+test.fault, func(t *testing.T) {
			t.Parallel()
			directory := t.TempDir()
			arguments := []string{"reference", "server", "--auth", listening(t, "reference", "authorization-server")}
			if test.fault != "" {
				arguments = append(arguments, "--fault", test.fault)
			}
			at := listening(t, arguments...)
			one := watch(t, directory, "proxy", "-q", "--record", "recorded", "--server-host", test.flag, "--url", at)
			line, err := one.said.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			carrier := &http.Transport{DisableCompression: true}
			err = client.Run(t.Context(), client.Options{URL: relayedAt.FindString(line), Revision: "2025-11-25", Transport: carrier})
			carrier.CloseIdleConnections()
			if (err == nil) != (test.ends == "") || err != nil && !strings.Contains(err.Error(), test.ends) {
				t.Errorf("the client ends with %v, wanted %q", err, test.ends)
			}
			_ = one.command.Process.Signal(syscall.SIGTERM)
			ended := one.finish()
			if test.ends == "" {
				ended.demand(t, exitConforms, "No failure found", " 0 failed")
				holdsNoToken(t, filepath.Join(directory, "recorded"), at)
			}
		})
	}
	for _, more := range [][]string{{"--", "./server"}, {"--url", "http://127.0.0.1:1/mcp", "--inject", "progress-falls"}} {
		mcpconform(t, args("proxy", "--record", filepath.Join(t.TempDir(), "recorded"), "--rewrite-metadata", more)...).
			demand(t, exitUsage, "--rewrite-metadata is for a server at a --url, without --inject")
	}
}

// A server that speaks HTTP/2 has the verdicts through the proxy that it has over HTTP/1.1.
func TestProxyHTTP2(t *testing.T) {
	t.Parallel()
	at := listening(t, "reference", "server")
	behind, err := url.Parse(strings.TrimSuffix(at, "/mcp"))
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewUnstartedServer(&httputil.ReverseProxy{
		FlushInterval: -1, ErrorLog: log.New(io.Discard, "", 0),
		Rewrite: func(request *httputil.ProxyRequest) {
			request.SetURL(behind)
			request.Out.Host = request.In.Host
			if request.In.ProtoMajor != 2 {
				t.Errorf("the server got a request of %s", request.In.Proto)
			}
		},
	})
	front.EnableHTTP2 = true
	front.StartTLS()
	t.Cleanup(front.Close)
	directory := t.TempDir()
	certificate := writeFile(t, directory, "server.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: front.Certificate().Raw})))
	one := watchLater(t, directory, "proxy", "--http2", "--record", "recorded", "--json", "{role}.json", "--url", front.URL+"/mcp")
	one.command.Env = append(one.command.Env, trustFile+"="+certificate)
	one.begin()
	line, err := one.said.ReadString('\n')
	if err != nil || !strings.Contains(line, "grade message") {
		t.Fatalf("%q: %v", line, err)
	}
	for _, run := range []struct{ file, at string }{{"direct.json", at}, {"through.json", relayedAt.FindString(line)}} {
		mcpconformIn(t, directory, "server", "-q", "--revision", "2025-11-25", "--filter", "lifecycle || tools || transports", "--json", run.file, "--url", run.at).
			demand(t, exitConforms)
	}
	sameThrough(t, directory)
	_ = one.command.Process.Signal(syscall.SIGTERM)
	ended := one.finish()
	if broken, all := verdictsOf(t, filepath.Join(directory, "server.json")); len(broken) > 0 || len(all) == 0 {
		t.Errorf("broken is %v\n%s", broken, ended)
	}
	for _, more := range [][]string{{"--", "./server"}, {"--url", at}, {"--url", front.URL, "--inject", "progress-falls"}} {
		mcpconformIn(t, directory, args("proxy", "--record", "recorded", "--http2", more)...).
			demand(t, exitUsage, "--http2 is for a server at a --url that begins with https://, without --inject")
	}
}

// holdsNoToken fails the test if recordings have a token, or do not have what is asked with one.
func holdsNoToken(t *testing.T, directory, at string) {
	t.Helper()
	paths, _ := filepath.Glob(filepath.Join(directory, "*.jsonl"))
	var all strings.Builder
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	if strings.Contains(all.String(), "eyJ") || !strings.Contains(all.String(), `"Authorization":["Bearer ***"]`) {
		t.Errorf("of tokens, the recording has %q", regexp.MustCompile(`.{50}(eyJ|Authorization).{50}`).FindString(all.String()))
	}
	if metadata := strings.TrimSuffix(at, "/mcp") + "/.well-known/oauth-protected-resource"; !strings.Contains(all.String(), metadata) {
		t.Errorf("%s is not recorded", metadata)
	}
}

// A forward proxy runs a client, and stops with it: with its status, unless what it saw is worse.
func TestProxyForwardRunsClient(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		script string
		status int
		says   []string
	}{
		"good":    {`test "$HTTP_PROXY" = "$https_proxy" && test -z "$NO_PROXY" && grep -q CERTIFICATE "$SSL_CERT_FILE" "$NODE_EXTRA_CA_CERTS" && read word && echo "got $word"`, exitConforms, []string{"got input", "No connection was seen"}},
		"bad":     {"exit 7", 7, []string{"mcpconform: the client exited with status 7"}},
		"killed":  {"kill -9 $$", exitDoesNot, []string{"mcpconform: the client was killed"}},
		"missing": {"", 127, []string{"cannot start ./missing"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			words := []string{"sh", "-c", test.script}
			if test.script == "" {
				words = []string{"./missing"}
			}
			one := watchLater(t, t.TempDir(), args("proxy", "--forward", "--url", "https://127.0.0.1:1/mcp", "--", words)...)
			one.command.Stdin = strings.NewReader("input\n")
			one.begin()
			one.finish().demand(t, test.status, test.says...)
		})
	}
	t.Run("interrupted", func(t *testing.T) {
		t.Parallel()
		one := watch(t, t.TempDir(), "proxy", "--forward", "--url", "https://127.0.0.1:1/mcp", "--", "sh", "-c", "echo begun >&2; exec sleep 1000")
		for line := ""; line != "begun\n"; {
			var err error
			if line, err = one.said.ReadString('\n'); err != nil {
				t.Fatal(err)
			}
		}
		_ = one.command.Process.Signal(syscall.SIGTERM)
		one.finish().demand(t, exitConforms)
	})
}

// The flags of a forward proxy that do not fit are told.
func TestProxyForwardUsage(t *testing.T) {
	t.Parallel()
	at := []string{"--url", "https://127.0.0.1:1/mcp"}
	for says, flags := range map[string][]string{
		"--forward needs --url URL":                         {"--", "./client"},
		"--server-host has no use with --forward":           args(at, "--server-host"),
		"--rewrite-metadata has no use with --forward":      args(at, "--rewrite-metadata"),
		"--inject does not work with --forward":             args(at, "--inject", "progress-falls"),
		"--listen 0.0.0.0:0 is reached from other machines": args(at, "--listen", "0.0.0.0:0"),
		"--listen :0 is reached from other machines":        args(at, "--listen", ":0"),
		`proxy takes no argument "client"`:                  args(at, "client"),
	} {
		ended := mcpconform(t, args("proxy", "--forward", flags)...)
		ended.demand(t, exitUsage, says)
		ended.oneLine(t)
	}
}

var shownAt = regexp.MustCompile(`http://127\.0\.0\.1:[0-9]+/[A-Z2-7]+/`)

// The page shows what passes while it does, and who broke what, without secrets.
func TestProxyPage(t *testing.T) {
	t.Parallel()
	// shows asks the page until what it shows has all parts.
	shows := func(t *testing.T, page, path string, parts ...string) (text string) {
		t.Helper()
		for deadline := time.Now().Add(time.Minute); ; {
			answer, err := http.Get(page + path)
			if err != nil {
				t.Fatal(err)
			}
			body, _ := io.ReadAll(answer.Body)
			_ = answer.Body.Close()
			text = string(body)
			missing := slices.DeleteFunc(slices.Clone(parts), func(part string) bool { return strings.Contains(text, part) })
			switch {
			case len(missing) == 0:
				return text
			case time.Now().After(deadline):
				t.Fatalf("%q is not in %s", missing, text)
			}
			runtime.Gosched()
		}
	}
	name := regexp.MustCompile(`"name":"([^"]+)"`)
	t.Run("http", func(t *testing.T) {
		t.Parallel()
		one := watch(t, t.TempDir(), "proxy", "--page", "127.0.0.1:0", "--url", listening(t, "reference", "server", "--fault", "progress-falls"))
		first, _ := one.said.ReadString('\n')
		second, err := one.said.ReadString('\n')
		page := shownAt.FindString(second)
		if err != nil || page == "" {
			t.Fatalf("%q %q: %v", first, second, err)
		}
		shows(t, page, "", "Who breaks what")
		mcpconformIn(t, t.TempDir(), "server", "-q", "--revision", "2025-06-18", "--filter", "progress", "--header", "Authorization: Bearer verysecretvalue",
			"--url", relayedAt.FindString(first)).demand(t, exitDoesNot)
		text := shows(t, page, "now", `"over":true`, "mcpconform-reference-server", `"requirement":"progress.increases MUST"`)
		shows(t, page, "now?of="+name.FindStringSubmatch(text)[1], `"title":"initialize"`, `"title":"answer to initialize"`)
		if strings.Contains(text, "verysecretvalue") {
			t.Errorf("the page has a secret: %s", text)
		}
		if err := one.command.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		one.finish().demand(t, exitDoesNot)
		if answer, err := http.Get(page); err == nil {
			_ = answer.Body.Close()
			t.Error("the page is there when the proxy has ended")
		}
	})
	t.Run("stdio", func(t *testing.T) {
		t.Parallel()
		one := watchLater(t, t.TempDir(), "proxy", "--page", "127.0.0.1:0", "--", os.Args[0], "reference", "server", "--stdio")
		in, err := one.command.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		one.begin()
		line, err := one.said.ReadString('\n')
		page := shownAt.FindString(line)
		if err != nil || page == "" {
			t.Fatalf("%q: %v", line, err)
		}
		_, _ = io.WriteString(in, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"a-client","version":"7"}}}`+"\n")
		text := shows(t, page, "now", "a-client 7", "mcpconform-reference-server", `"over":false`)
		shows(t, page, "text?number=1&of="+name.FindStringSubmatch(text)[1], "clientInfo")
		_ = in.Close()
		one.finish().demand(t, 0)
	})
	for _, address := range []string{"here", "127.0.0.1:99999"} {
		mcpconform(t, "proxy", "--page", address, "--url", "http://127.0.0.1:1/mcp").demand(t, exitUsage, "--page ", address)
	}
}

// A proxy that is killed leaves no server behind, and its client sees the end.
func TestProxyThatIsKilled(t *testing.T) {
	t.Parallel()
	one, in, out := piped(t, "proxy", "--record", t.TempDir(), "--", "/bin/sh", "-c", "echo $$; while read x; do echo $x; done; sleep 60")
	text, err := out.ReadString('\n')
	server, wrong := strconv.Atoi(strings.TrimSpace(text))
	if err != nil || wrong != nil {
		t.Fatalf("%q: %v, %v", text, err, wrong)
	}
	if err := one.command.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(out); err != nil || len(rest) > 0 {
		t.Errorf("came %q, %v", rest, err)
	}
	_ = one.command.Wait()
	for deadline := time.Now().Add(time.Minute); syscall.Kill(server, 0) == nil; runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatal("the server is there still")
		}
	}
	_ = in.Close()
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
			sameThrough(t, directory)
			// What the harness provoked is not held against the server.
			checked := mcpconformIn(t, directory, "check", "-q", "--role", "server", "--json", "check.json", "recorded")
			checked.demand(t, exitConforms)
			if broken, _ := verdictsOf(t, filepath.Join(directory, "check.json")); len(broken) > 0 {
				t.Errorf("broken is %v\n%s", broken, checked)
			}
		})
	}
}

// throughProxy is a client that comes to the URL of its server by way of a proxy.
const throughProxy = `#!/bin/sh
# PROGRAM RECORDINGS URL
said=$(mktemp -u) && mkfifo "$said" || exit 70
"$1" proxy -q --record "$2" --url "$3" 2>"$said" >/dev/null &
exec 4<"$said"
rm "$said"
read -r _ _ url _ <&4
"$1" reference client "$url"
status=$?
kill -TERM $!
wait $!
exit $status
`

// A client has the same verdicts through the proxy, over each transport, and nothing that the
// harness provoked is held against it.
func TestProxyChangesNoVerdictOfAClient(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ revision, transport, filter string }{
		{"2025-11-25", protocol.Stdio, "in:lists-in-pages || in:roots-change"}, {"2026-07-28", protocol.HTTP, "in:input-required || in:cancelled-calls"}, {"2024-11-05", protocol.SSE, "in:meeting || in:calls-with-progress"},
		{"2025-11-25", protocol.Stdio, ""}, {"2026-07-28", protocol.Stdio, ""}, {"2025-11-25", protocol.HTTP, ""},
		{"2026-07-28", protocol.HTTP, ""}, {"2024-11-05", protocol.SSE, ""},
	} {
		t.Run(test.revision+" "+test.transport+" "+test.filter, func(t *testing.T) {
			if test.filter == "" {
				slowtest.Skip(t)
			}
			directory := t.TempDir()
			recorded := filepath.Join(directory, "recorded")
			direct := []string{os.Args[0], "reference", "client"}
			through := args(direct[0], direct[1:], os.Args[0], "proxy", "--record", recorded, "--", "{server}")
			if test.transport != protocol.Stdio {
				writeFile(t, directory, "through", throughProxy)
				through = []string{"/bin/sh", filepath.Join(directory, "through"), os.Args[0], recorded}
			}
			for file, client := range map[string][]string{"direct.json": direct, "through.json": through} {
				mcpconformIn(t, directory, args("client", "-q", "--revision", test.revision, "--transport", test.transport, "--filter", test.filter, "--json", file, "--", client)...).
					demand(t, exitConforms)
			}
			sameThrough(t, directory)
			checked := mcpconformIn(t, directory, "check", "-q", "--role", "client", "--json", "check.json", "recorded")
			if broken, judged := verdictsOf(t, filepath.Join(directory, "check.json")); len(broken) > 0 || len(judged) == 0 {
				t.Errorf("broken is %v of %v\n%s", broken, judged, checked)
			}
		})
	}
}

// sameThrough demands that each verdict of a direct run is that of the one through the proxy.
func sameThrough(t *testing.T, directory string) {
	t.Helper()
	direct, proxied := resultsOf(t, filepath.Join(directory, "direct.json")), resultsOf(t, filepath.Join(directory, "through.json"))
	for text, result := range direct {
		if through := proxied[text]; through.Verdict != result.Verdict {
			t.Errorf("%s is %s, and through the proxy %q: %s", text, result.Verdict, through.Verdict, through.Reason)
		}
	}
	if len(direct) == 0 || len(proxied) != len(direct) {
		t.Errorf("%d results, and through the proxy %d", len(direct), len(proxied))
	}
}

// Faults that the proxy injects reach the peer and are reported, and no failure is counted for
// them.
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
