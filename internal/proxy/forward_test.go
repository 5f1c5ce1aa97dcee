package proxy_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/mcpconform/mcpconform/internal/proxy"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// heard are the lines that a relay tells.
type heard struct {
	mu    sync.Mutex
	lines []string
}

func (h *heard) tell(line string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lines = append(h.lines, line)
}

func (h *heard) all() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return strings.Join(h.lines, "\n")
}

// forwarding is a forward proxy for clients of a server, and one of them.
func forwarding(t *testing.T, upstream string, roots *x509.CertPool) (relayed, *heard, *http.Client) {
	t.Helper()
	told := &heard{}
	one := relay(t, proxy.RelayOptions{Forward: true, Roots: roots, Tell: told.tell}, upstream)
	trusted := roots.Clone() // of other servers
	trusted.AppendCertsFromPEM(one.authority)
	transport := &http.Transport{
		Proxy:           http.ProxyURL(&url.URL{Scheme: "http", Host: one.address}),
		TLSClientConfig: &tls.Config{RootCAs: trusted, MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: true,
	}
	t.Cleanup(transport.CloseIdleConnections)
	return one, told, &http.Client{Transport: transport}
}

// told is what a server makes known of a request.
func toldBack(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Mcp-Session-Id", "one")
	_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":1,"result":{"host":%q,"target":%q,"read":%d,"proto":%q}}`, r.Host, r.RequestURI, len(body), r.Proto)
}

func pool(servers ...*httptest.Server) *x509.CertPool {
	all := x509.NewCertPool()
	for _, one := range servers {
		if one.TLS != nil {
			all.AddCert(one.Certificate())
		}
	}
	return all
}

func ask(t *testing.T, client *http.Client, method, address, body string) (text string, over tls.ConnectionState) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Proxy-Authorization", "Basic c2VjcmV0")
	answer, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	read, err := io.ReadAll(answer.Body)
	_ = answer.Body.Close()
	if err != nil {
		t.Fatal(err)
	}
	if answer.TLS != nil {
		over = *answer.TLS
	}
	return string(read), over
}

// A client of a forward proxy knows the server by its own URL; what is for the server is
// recorded, and what is for others reaches them, and is not.
func TestForward(t *testing.T) {
	t.Parallel()
	const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`
	for _, secure := range []bool{true, false} {
		t.Run(map[bool]string{true: "https", false: "http"}[secure], func(t *testing.T) {
			t.Parallel()
			begin := func(secure bool) *httptest.Server {
				server := httptest.NewUnstartedServer(http.HandlerFunc(toldBack))
				if server.EnableHTTP2 = true; secure {
					server.StartTLS()
				} else {
					server.Start()
				}
				t.Cleanup(server.Close)
				return server
			}
			server, other, plain := begin(secure), begin(true), begin(false)
			one, told, client := forwarding(t, server.URL+"/mcp", pool(server, other))
			host := strings.SplitN(server.URL, "//", 2)[1]
			for range 2 {
				text, _ := ask(t, client, http.MethodPost, server.URL+"/mcp?a=%2F&", initialize)
				if want := fmt.Sprintf(`{"host":%q,"target":"/mcp?a=%%2F&","read":58,"proto":"HTTP/1.1"}`, host); !strings.Contains(text, want) {
					t.Errorf("the server says %s, wanted %s", text, want)
				}
				if text, _ := ask(t, client, http.MethodPost, plain.URL+"/mcp", initialize); !strings.Contains(text, `"/mcp"`) {
					t.Errorf("another server says %s", text)
				}
				text, over := ask(t, client, http.MethodPost, other.URL+"/mcp", initialize)
				if !strings.Contains(text, `"/mcp"`) || over.NegotiatedProtocol != "h2" || !over.PeerCertificates[0].Equal(other.Certificate()) {
					t.Errorf("another server over TLS says %s over %s, with the certificate of %s", text, over.NegotiatedProtocol, over.PeerCertificates[0].Issuer)
				}
			}
			client.CloseIdleConnections()
			recorded := one.stop()
			if len(recorded) != 2 {
				t.Fatalf("recorded %d connections", len(recorded))
			}
			got := strings.Join(story(recorded[0].events), "\n")
			if !strings.HasPrefix(got, "open\npost-1 POST\npost-1 client "+initialize+"\npost-1 200\npost-1 server {") || !strings.Contains(got, "post-1 end complete") {
				t.Errorf("recorded\n%s", got)
			}
			head := recorded[0].events[1].HTTP
			if recorded[0].header.Grade != transcript.Heads || head.URL != server.URL+"/mcp?a=%2F&" || head.Header.Get("Host") != host {
				t.Errorf("grade %s, head %+v", recorded[0].header.Grade, head)
			}
			if proxied := head.Header["Proxy-Authorization"]; proxied != nil && !secure || told.all() != "" {
				t.Errorf("the server got %v; told %q", proxied, told.all())
			}
		})
	}
}

// What a client sends to a server comes there as it was, but for what is the proxy's.
func TestForwardedHeads(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ sent, comes string }{
		"odd spelling": {
			"POST http://SERVER/mcp?a=%2F&& HTTP/1.1\r\nhOsT:  SERVER\r\nproxy-connection: keep-alive\r\nX:\r\nX: 2\r\nContent-Length: 2\r\n\r\n{}",
			"POST /mcp?a=%2F&& HTTP/1.1\r\nhOsT:  SERVER\r\nX:\r\nX: 2\r\nContent-Length: 2\r\n\r\n{}",
		},
		"a folded field": {
			"GET http://SERVER HTTP/1.1\r\nHost: SERVER\r\nProxy-Authorization: a\r\n b\r\nX: a\r\n b\r\n\r\n",
			"GET / HTTP/1.1\r\nHost: SERVER\r\nX: a\r\n b\r\n\r\n",
		},
		"another host in the field": {"GET http://u:p@SERVER?x HTTP/1.1\r\nHost: other\r\n\r\n", "GET /?x HTTP/1.1\r\nHost: SERVER\r\n\r\n"},
		"all of the server":         {"OPTIONS http://SERVER HTTP/1.1\r\nHost: SERVER\r\n\r\n", "OPTIONS * HTTP/1.1\r\nHost: SERVER\r\n\r\n"},
		"chunks": {
			"POST http://SERVER/ HTTP/1.1\r\nHost: SERVER\r\nTransfer-Encoding: chunked\r\n\r\n2;a\r\n{}\r\n0\r\nProxy-X: 1\r\n\r\n",
			"POST / HTTP/1.1\r\nHost: SERVER\r\nTransfer-Encoding: chunked\r\n\r\n2;a\r\n{}\r\n0\r\nProxy-X: 1\r\n\r\n",
		},
		"a tunnel": {"CONNECT SERVER HTTP/1.1\r\nHost: SERVER\r\n\r\nGET /mcp HTTP/1.1\r\nProxy-X: 1\r\n\r\n", "GET /mcp HTTP/1.1\r\nProxy-X: 1\r\n\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			came := make(chan string, 1)
			upstream := rawServer(t, func(conn *net.TCPConn) {
				request, _ := io.ReadAll(conn)
				came <- string(request)
				_, _ = io.WriteString(conn, "HTTP/1.1 200  Odd\r\nx: 1\r\n\r\n")
				_ = conn.Close()
			})
			at, _ := url.Parse(upstream)
			one, _, _ := forwarding(t, upstream, x509.NewCertPool())
			answer := converse(t, one.address, strings.ReplaceAll(test.sent, "SERVER", at.Host))
			if !strings.HasSuffix(answer, "HTTP/1.1 200  Odd\r\nx: 1\r\n\r\n") {
				t.Errorf("answered %q", answer)
			}
			if got, want := <-came, strings.ReplaceAll(test.comes, "SERVER", at.Host); got != want {
				t.Errorf("came as %q, wanted %q", got, want)
			}
		})
	}
}

// converse sends a text byte by byte, half-closes, and reads what comes; nothing from who breaks
// the connection at once.
func converse(t *testing.T, address, sent string) string {
	t.Helper()
	client, err := net.Dial("tcp", address)
	if errors.Is(err, syscall.ECONNRESET) {
		return ""
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	for _, char := range []byte(sent) {
		_, _ = client.Write([]byte{char})
	}
	_ = client.(*net.TCPConn).CloseWrite()
	answer, _ := io.ReadAll(client)
	return string(answer)
}

// A request that a proxy cannot serve is answered with a line, and disturbs no other client.
func TestForwardRefuses(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(http.HandlerFunc(toldBack))
	t.Cleanup(server.Close)
	one, _, client := forwarding(t, server.URL+"/mcp", pool(server))
	for sent, answer := range map[string]string{
		"":                                "",
		"GET":                             "",
		"GET / HTTP/1.1\r\n\r\n":          "400 Bad Request",
		"POST /mcp HTTP/1.1\r\n\r\n":      "not the server",
		"\x16\x03\x01 not a head\r\n\r\n": "400",
		"GET https://x/ HTTP/1.1\r\n\r\n": "reached by CONNECT",
		"GET http:///x HTTP/1.1\r\n\r\n":  "400",
		"GET http://127.0.0.1:1/ HTTP/1.1\r\n\r\n":                                    "502 Bad Gateway",
		"GET http://" + one.address + "/ HTTP/1.1\r\n\r\n":                            "400 Bad Request",
		"CONNECT 127.0.0.1:1 HTTP/1.1\r\n\r\n":                                        "127.0.0.1:1 cannot be reached",
		"CONNECT 127.0.0.1 HTTP/1.1\r\n\r\n":                                          "must name HOST:PORT",
		"CONNECT :1 HTTP/1.1\r\n\r\n":                                                 "must name HOST:PORT",
		"CONNECT 127.0.0.1:1\r\n\r\n":                                                 "400",
		"CONNECT 127.0.0.1:1 HTTP/1.1\r\nX: 1":                                        "the head has no end",
		"CONNECT x:1 HTTP/1.1\r\nX: " + strings.Repeat("x", 4500) + "\r\nbad\r\n\r\n": "400",
	} {
		if got := converse(t, one.address, sent); !strings.Contains(got, answer) || answer == "" && got != "" {
			t.Errorf("%.60q is answered %q, wanted %q", sent, got, answer)
		}
	}
	for host := range 1000 { // nothing is kept of them
		if got := converse(t, one.address, fmt.Sprintf("CONNECT 127.9.%d.%d:1 HTTP/1.1\r\n\r\n", host/250, host%250+1)); !strings.Contains(got, "502") {
			t.Fatalf("answered %q", got)
		}
	}
	long, err := net.Dial("tcp", one.address)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(long, "CONNECT x:1 HTTP/1.1\r\nX: "+strings.Repeat("x", 2<<20))
	_ = long.Close()
	if text, _ := ask(t, client, http.MethodPost, server.URL+"/mcp", "{}"); !strings.Contains(text, `"read":2`) {
		t.Errorf("the server says %s", text)
	}
	if recorded := one.stop(); len(recorded) != 1 {
		t.Errorf("recorded %d connections", len(recorded))
	}
}

// tunnelled opens a tunnel to a server.
func tunnelled(t *testing.T, address, to string) net.Conn {
	t.Helper()
	client, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	_, _ = fmt.Fprintf(client, "CONNECT %s HTTP/1.1\r\n\r\n", to)
	const opened = "HTTP/1.1 200 Connection established\r\n\r\n"
	answer := make([]byte, len(opened))
	if _, err := io.ReadFull(client, answer); err != nil || string(answer) != opened {
		t.Fatalf("%q: %v", answer, err)
	}
	return client
}

// What keeps a client from the server over TLS is told in a line, and recorded.
func TestForwardTellsWhatFails(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(http.HandlerFunc(toldBack))
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // of what clients do here
	server.StartTLS()
	t.Cleanup(server.Close)
	host := strings.TrimPrefix(server.URL, "https://")
	shake := func(config *tls.Config) func(net.Conn) {
		return func(conn net.Conn) {
			config.MinVersion = tls.VersionTLS12
			_ = tls.Client(conn, config).HandshakeContext(context.Background())
		}
	}
	for name, test := range map[string]struct {
		roots *x509.CertPool
		does  func(net.Conn)
		told  string
	}{
		"a client that does not trust": {pool(server), shake(&tls.Config{ServerName: "127.0.0.1", RootCAs: x509.NewCertPool()}), "A client does not trust the certificate of this proxy"},
		"a client that leaves": {pool(server), func(conn net.Conn) {
			shake(&tls.Config{InsecureSkipVerify: true, VerifyConnection: func(tls.ConnectionState) error {
				return conn.(*net.TCPConn).CloseWrite()
			}})(conn)
		}, "A client does not trust the certificate of this proxy, whose authority it must be given: EOF"},
		"a part of a handshake":       {pool(server), func(conn net.Conn) { _, _ = conn.Write([]byte{0x16, 3, 1}) }, "The TLS handshake with a client failed: unexpected EOF"},
		"a client of HTTP/2 alone":    {pool(server), shake(&tls.Config{ServerName: "127.0.0.1", NextProtos: []string{"h2"}}), "The TLS handshake with a client failed: tls: client requested unsupported application protocols"},
		"garbage":                     {pool(server), func(conn net.Conn) { _, _ = io.WriteString(conn, "\x16garbage, and more of it") }, "The TLS handshake with a client failed: tls: first record does not look like a TLS handshake"},
		"no TLS":                      {pool(server), func(conn net.Conn) { _, _ = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n") }, "A client speaks other than HTTPS with the server: that passes unrecorded"},
		"a server that nobody trusts": {x509.NewCertPool(), shake(&tls.Config{ServerName: "127.0.0.1"}), "The server cannot be reached over TLS: tls: failed to verify certificate: x509: certificate signed by unknown authority"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			one, told, _ := forwarding(t, server.URL+"/mcp", test.roots)
			conn := tunnelled(t, one.address, host)
			test.does(conn)
			_ = conn.(*net.TCPConn).CloseWrite()
			_, _ = io.Copy(io.Discard, conn)
			recorded := one.stop()
			if !strings.HasPrefix(told.all(), test.told) || strings.Contains(told.all(), "\n") {
				t.Errorf("told %q, wanted %q", told.all(), test.told)
			}
			failed := len(recorded) == 1 && recorded[0].header.Unjudged &&
				slices.ContainsFunc(recorded[0].events, func(e transcript.Event) bool { return e.Kind == transcript.Failure })
			if name != "no TLS" && !failed || name == "no TLS" && len(recorded) > 0 {
				t.Errorf("recorded %+v", recorded)
			}
		})
	}
}

// A client that names no server in its handshake, or another, gets the certificate of the
// host to which it has a tunnel. The authority speaks for no other, and its key is nowhere.
func TestForwardCertificate(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(http.HandlerFunc(toldBack))
	t.Cleanup(server.Close)
	one, _, _ := forwarding(t, server.URL+"/mcp", pool(server))
	block, rest := pem.Decode(one.authority)
	if block == nil || block.Type != "CERTIFICATE" || len(rest) > 0 {
		t.Fatalf("the authority is %q", one.authority)
	}
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(one.authority)
	for _, name := range []string{"", "another.example"} {
		conn := tls.Client(tunnelled(t, one.address, strings.TrimPrefix(server.URL, "https://")), &tls.Config{
			ServerName: name, InsecureSkipVerify: true, MinVersion: tls.VersionTLS12, // it is verified below
		})
		if err := conn.HandshakeContext(t.Context()); err != nil {
			t.Fatalf("%q: %v", name, err)
		}
		if _, err := conn.ConnectionState().PeerCertificates[0].Verify(x509.VerifyOptions{Roots: trusted, DNSName: "127.0.0.1"}); err != nil {
			t.Errorf("%q: %v", name, err)
		}
		_ = conn.Close()
	}
}
