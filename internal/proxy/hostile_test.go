package proxy_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpconform/mcpconform/internal/proxy"
	"github.com/mcpconform/mcpconform/internal/slowtest"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// pair are the two ends of a connection that goes through a relay, and what it recorded.
type pair struct {
	t              *testing.T
	client, server *net.TCPConn
	stop           func() []recording
}

func paired(t *testing.T) *pair {
	t.Helper()
	came := make(chan *net.TCPConn, 1)
	relayed := relay(t, proxy.RelayOptions{}, rawServer(t, func(conn *net.TCPConn) { came <- conn }))
	client, err := net.Dial("tcp", relayed.address)
	if err != nil {
		t.Fatal(err)
	}
	p := &pair{t, client.(*net.TCPConn), <-came, relayed.stop}
	t.Cleanup(func() { _ = p.client.Close(); _ = p.server.Close() })
	return p
}

// send writes, and take reads exactly a text.
func (p *pair) send(to io.Writer, text string) {
	p.t.Helper()
	if _, err := io.WriteString(to, text); err != nil {
		p.t.Fatal(err)
	}
}

func (p *pair) take(from io.Reader, text string) {
	p.t.Helper()
	came := make([]byte, len(text))
	if n, err := io.ReadFull(from, came); err != nil || string(came) != text {
		p.t.Fatalf("came %.300q, %v, wanted %.300q", came[:n], err, text)
	}
}

// pass lets a text pass whole.
func (p *pair) pass(from, to *net.TCPConn, text string) {
	p.t.Helper()
	go func() { _, _ = io.WriteString(from, text) }() // it may be more than fits in between
	p.take(to, text)
}

// recorded ends both sides, and returns what was recorded, in short.
func (p *pair) recorded() (all []transcript.Event, told string) {
	p.t.Helper()
	_, _ = p.client.CloseWrite(), p.server.CloseWrite()
	_, _ = io.Copy(io.Discard, p.client)
	for _, one := range p.stop() {
		all = append(all, one.events...)
	}
	return all, strings.Join(story(all), "\n")
}

// flood writes until nothing more is taken for a moment, and returns how much was.
func flood(t *testing.T, to interface {
	io.Writer
	SetWriteDeadline(time.Time) error
}) (count int64) {
	t.Helper()
	const most = 256 << 20
	piece := bytes.Repeat([]byte("x"), 1<<20)
	_ = to.SetWriteDeadline(time.Now().Add(time.Second))
	for count < most {
		n, err := to.Write(piece)
		count += int64(n)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return count
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Errorf("%d bytes are taken while nobody reads them", count)
	return count
}

const (
	posted   = "POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n"
	answered = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
	streamed = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
)

// sides runs a test for what either side sends to the other.
func sides(t *testing.T, test func(t *testing.T, p *pair, from, to *net.TCPConn, head string)) {
	t.Helper()
	t.Run("client", func(t *testing.T) {
		t.Parallel()
		p := paired(t)
		test(t, p, p.client, p.server, posted)
	})
	t.Run("server", func(t *testing.T) {
		t.Parallel()
		p := paired(t)
		p.pass(p.client, p.server, fmt.Sprintf(posted, 2)+"{}")
		test(t, p, p.server, p.client, answered)
	})
}

// What either peer of the proxy may do to it.
func TestHostilePeers(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]func(*testing.T){
		// A peer that does not read holds up the one that writes, as without the relay.
		"P01 slow reader": func(t *testing.T) {
			sides(t, func(t *testing.T, _ *pair, from, to *net.TCPConn, _ string) {
				sent := flood(t, from)
				_ = from.CloseWrite()
				if came, err := io.Copy(io.Discard, to); err != nil || came != sent {
					t.Errorf("%d bytes came, %v, of %d", came, err, sent)
				}
			})
		},
		// A byte that waits for more would keep who answers it from doing so.
		"P02 slow writer, byte by byte": func(t *testing.T) {
			sides(t, func(_ *testing.T, p *pair, from, to *net.TCPConn, head string) {
				const body = `{"jsonrpc":"2.0","method":"x"}`
				p.pass(from, to, fmt.Sprintf(head, len(body)))
				for _, char := range []byte(body) {
					p.send(from, string(char))
					p.take(to, string(char))
				}
			})
		},
		"P03 body of 1 GiB": func(t *testing.T) {
			size := int64(10 << 20)
			if slowtest.All() {
				size = 1 << 30
			}
			sides(t, func(t *testing.T, p *pair, from, to *net.TCPConn, head string) {
				p.pass(from, to, fmt.Sprintf(head, size))
				sent, came := sha256.New(), sha256.New()
				go func() {
					piece := []byte(strings.Repeat("0123456789abcdef", 4096))
					for left := size; left > 0; left -= int64(len(piece)) {
						piece = piece[:min(int64(len(piece)), left)]
						_, _ = sent.Write(piece)
						if _, err := from.Write(piece); err != nil {
							return // the other side tells
						}
					}
				}()
				if n, err := io.CopyN(came, to, size); err != nil || !bytes.Equal(sent.Sum(nil), came.Sum(nil)) {
					t.Errorf("%d bytes came, %v", n, err)
				}
				events, told := p.recorded()
				if !slices.ContainsFunc(events, func(one transcript.Event) bool {
					return one.Size == int(size) && len(one.Raw) < 1<<20 || one.Kind == transcript.Gap
				}) {
					t.Errorf("recorded %.1000s", told)
				}
			})
		},
		// What is kept of it is bounded, and not what passes.
		"P04 a head without end": func(t *testing.T) {
			sides(t, func(t *testing.T, p *pair, from, to *net.TCPConn, head string) {
				first, _, _ := strings.Cut(head, "\r\n")
				p.pass(from, to, first+"\r\nX: "+strings.Repeat("x", 8<<20))
				events, told := p.recorded()
				if len(told) > 10_000 || !slices.ContainsFunc(events, func(one transcript.Event) bool { return strings.HasSuffix(one.Note, "a head that is too long") }) {
					t.Errorf("recorded %.1000s", told)
				}
			})
		},
		"P09 pipelined requests": func(t *testing.T) {
			p := paired(t)
			p.pass(p.client, p.server, fmt.Sprintf(posted, 2)+"{}"+fmt.Sprintf(posted, 3)+"[1]")
			p.pass(p.server, p.client, "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n"+fmt.Sprintf(answered, 4)+"null")
			if _, told := p.recorded(); !strings.Contains(told, "post-1 202\npost-1 end complete\npost-2 200\npost-2 server null") {
				t.Errorf("recorded %s", told)
			}
		},
		"P10 early answer, then close": func(t *testing.T) {
			p := paired(t)
			p.pass(p.client, p.server, fmt.Sprintf(posted, 100)+"half")
			const refusal = "HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n"
			p.send(p.server, refusal)
			_ = p.server.CloseWrite()
			rest, err := io.ReadAll(p.client)
			if err != nil || string(rest) != refusal {
				t.Errorf("came %q, %v", rest, err)
			}
			p.pass(p.client, p.server, "more") // the other way is open still
			if _, told := p.recorded(); !strings.Contains(told, "413") || strings.Contains(told, "client half") {
				t.Errorf("recorded %s", told)
			}
		},
		"P11 100-continue withheld": func(t *testing.T) {
			p := paired(t)
			p.pass(p.client, p.server, "POST /mcp HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n")
			p.pass(p.server, p.client, "HTTP/1.1 417 No\r\nContent-Length: 0\r\n\r\n") // and nothing comes before it
		},
		"P13 RST in the middle of a stream": func(t *testing.T) {
			sides(t, func(t *testing.T, p *pair, from, to *net.TCPConn, head string) {
				p.pass(from, to, fmt.Sprintf(head, 100)+"half")
				_ = from.SetLinger(0)
				_ = from.Close()
				if rest, err := io.ReadAll(to); err == nil {
					t.Errorf("it ends well, with %q", rest)
				}
				if _, told := p.recorded(); strings.Contains(told, "end complete") {
					t.Errorf("recorded %s", told)
				}
			})
		},
		"P16 gzip": func(t *testing.T) {
			const message = `{"jsonrpc":"2.0","id":1,"result":{}}`
			sides(t, func(t *testing.T, p *pair, from, to *net.TCPConn, head string) {
				body := zipped(t, message)
				p.pass(from, to, strings.Replace(fmt.Sprintf(head, len(body)), "\r\n", "\r\nContent-Encoding: gzip\r\n", 1)+body)
				if events, told := p.recorded(); !slices.ContainsFunc(events, func(one transcript.Event) bool { return string(one.Raw) == message }) {
					t.Errorf("recorded %s", told)
				}
			})
		},
		// What comes after it is read.
		"P16 no gzip": func(t *testing.T) {
			for name, body := range map[string]string{"from the first byte": "{}", "later": zipped(t, strings.Repeat("x", 1000))[:25]} {
				t.Run(name, func(t *testing.T) {
					p := paired(t)
					coded := strings.Replace(fmt.Sprintf(posted, len(body)), "\r\n", "\r\nContent-Encoding: gzip\r\n", 1)
					p.pass(p.client, p.server, coded+body+fmt.Sprintf(posted, 7)+`{"a":1}`)
					p.pass(p.server, p.client, strings.Repeat("HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n", 2))
					if _, told := p.recorded(); !strings.Contains(told, `post-2 client {"a":1}`) || !strings.Contains(told, "gap") || strings.Contains(told, "post-1 client") {
						t.Errorf("recorded %s", told)
					}
				})
			}
		},
		// Little comes, and much is meant.
		"P16 gzip that unpacks to much": func(t *testing.T) {
			sides(t, func(t *testing.T, p *pair, from, to *net.TCPConn, head string) {
				body := zipped(t, strings.Repeat("x", 16<<20))
				p.pass(from, to, strings.Replace(fmt.Sprintf(head, len(body)), "\r\n", "\r\nContent-Encoding: gzip\r\n", 1)+body)
				events, told := p.recorded()
				if !slices.ContainsFunc(events, func(one transcript.Event) bool { return one.Size > 8<<20 && len(one.Raw) < 1<<20 }) {
					t.Errorf("recorded %.1000s", told)
				}
			})
		},
		"P17 event of 100 MiB without end": func(t *testing.T) {
			size := 10 << 20
			if slowtest.All() {
				size = 100 << 20
			}
			p := paired(t)
			p.pass(p.client, p.server, "GET /mcp HTTP/1.1\r\nHost: x\r\n\r\n")
			p.pass(p.server, p.client, streamed+"data: "+strings.Repeat("x", size))
			if events, told := p.recorded(); !slices.ContainsFunc(events, func(one transcript.Event) bool { return one.Kind == transcript.Gap }) {
				t.Errorf("recorded %.1000s", told)
			}
		},
		"P18 CR, CRLF split between reads": func(t *testing.T) {
			p := paired(t)
			p.pass(p.client, p.server, "GET /mcp HTTP/1.1\r\nHost: x\r\n\r")
			p.pass(p.client, p.server, "\n")
			p.send(p.server, streamed[:len(streamed)-1])
			p.send(p.server, "\n")
			p.take(p.client, streamed)
			for _, piece := range []string{"data: {\"a\":\r", "\ndata:1}\r", "\r", "data: {\"b\":2}\r\n\r", "\n", "data:{}\n", "\n"} {
				p.pass(p.server, p.client, piece)
			}
			if _, told := p.recorded(); !strings.Contains(told, "server {\"a\":\n1}\nget-1 server {\"b\":2}\nget-1 server {}\nget-1 end") {
				t.Errorf("recorded %s", told)
			}
		},
		"P19 NUL, invalid UTF-8": func(t *testing.T) {
			const odd = "{\"\x00\xff\xfe\xc0\x80\":\xed\xa0\x80}"
			sides(t, func(t *testing.T, p *pair, from, to *net.TCPConn, head string) {
				p.pass(from, to, fmt.Sprintf(head, len(odd))+odd)
				if events, told := p.recorded(); !slices.ContainsFunc(events, func(one transcript.Event) bool { return string(one.Raw) == odd }) {
					t.Errorf("recorded %s", told)
				}
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t)
		})
	}
}

func zipped(t *testing.T, text string) string {
	t.Helper()
	var packed bytes.Buffer
	writer := gzip.NewWriter(&packed)
	if _, err := io.WriteString(writer, text); err != nil {
		t.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	return packed.String()
}

// P28: sessions that are begun and left take no more than a bound allows, and each is recorded.
func TestSessionsThatAreLeft(t *testing.T) {
	t.Parallel()
	all, number := 500, 0
	if slowtest.All() {
		all = 5000
	}
	server := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		number++ // by one connection, one after the other
		w.Header().Set("Mcp-Session-Id", fmt.Sprint("s", number))
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{}}}`)
	})
	ended := make(chan *proxy.Connection, 2*all)
	relayed := relay(t, proxy.RelayOptions{Ended: func(one *proxy.Connection) { ended <- one }}, serve(t, server))
	talk(t, relayed.address, slices.Repeat([]string{post(`{"id":1,"method":"initialize","params":{"capabilities":{}}}`)}, all)...)
	if recorded := relayed.stop(); len(recorded) != all || len(ended) != all {
		for _, one := range recorded {
			if told := strings.Join(story(one.events), " "); strings.Count(told, "initialize") != 1 || !strings.Contains(told, "end complete") {
				t.Errorf("recorded %+v %s", one.header, told)
			}
		}
		t.Errorf("recorded %d sessions, and told of %d", len(recorded), len(ended))
	}
}
