package record_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/mcpconform/mcpconform/internal/fault"
	"github.com/mcpconform/mcpconform/internal/record"
)

// serving lets a handler listen.
func serving(t *testing.T, handler http.HandlerFunc) (address string) {
	t.Helper()
	served := httptest.NewServer(handler)
	t.Cleanup(served.CloseClientConnections)
	return served.Listener.Addr().String()
}

func TestHTTPPassesRequestsAsTheyCame(t *testing.T) {
	t.Parallel()
	address := serving(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		_, _ = fmt.Fprintln(w, r.Method, r.RequestURI, r.Proto, r.Host, r.Header, r.ContentLength, r.TransferEncoding, r.Close, string(body), err)
	})
	for name, request := range map[string]string{
		"POST":       post(ping, "User-Agent: me", "Mcp-Session-Id: 7", "X-One: b", "X-One: a", "Accept: application/json, text/event-stream"),
		"chunked":    "POST /mcp HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n" + chunked("{", "}") + "0\r\n\r\n",
		"empty":      "POST /mcp HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n",
		"GET":        "GET /mcp?a=1;b=%20&c HTTP/1.1\r\nHost: attacker.invalid:99\r\nOrigin: https://attacker.invalid\r\nLast-Event-ID: 3\r\n\r\n",
		"path":       "GET /a%2Fb//c/../d?%zz HTTP/1.1\r\nHost: h\r\nConnection: close\r\nAccept-Encoding: br\r\n\r\n",
		"DELETE":     "DELETE / HTTP/1.1\r\nHost: h\r\nmcp-session-id: x\r\n\r\n",
		"odd method": "PURGE /mcp HTTP/1.1\r\nHost: h\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			direct := ask(t, address, request)
			if direct.Status != http.StatusOK || direct.Body == "" {
				t.Fatalf("without a middleman: %+v", direct)
			}
			for _, injection := range []fault.Injection{{}, watching(t)} {
				through := ask(t, before(t, address, record.HTTPOptions{Changes: injection.Changes()}), request)
				if direct.Body != through.Body {
					t.Errorf("unread %t: direct\n%sthrough\n%s", injection.None(), direct.Body, through.Body)
				}
			}
		})
	}
}

// inBothWays runs a test with a middleman that reads nothing and one that reads
// everything.
func inBothWays(t *testing.T, test func(t *testing.T, options record.HTTPOptions)) {
	t.Helper()
	for name, injection := range map[string]fault.Injection{"unread": {}, "read": watching(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, record.HTTPOptions{Changes: injection.Changes()})
		})
	}
}

// open sends a request and returns the body of the response, which is still coming.
func open(ctx context.Context, t *testing.T, method, address, body string, header ...string) io.Reader {
	t.Helper()
	request, err := http.NewRequestWithContext(ctx, method, "http://"+address+"/mcp", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = response.Body.Close() })
	return response.Body
}

// piece reads exactly what is wanted, and nothing more.
func piece(t *testing.T, from io.Reader, wanted string) {
	t.Helper()
	found := make([]byte, len(wanted))
	if _, err := io.ReadFull(from, found); err != nil || string(found) != wanted {
		t.Fatalf("wanted %q, found %q, %v", wanted, found, err)
	}
}

// inEitherOrder reads two pieces of which either may come first.
func inEitherOrder(t *testing.T, from io.Reader, one, other string) {
	t.Helper()
	found := make([]byte, len(one)+len(other))
	if _, err := io.ReadFull(from, found); err != nil || string(found) != one+other && string(found) != other+one {
		t.Fatalf("wanted %q and %q, found %q, %v", one, other, found, err)
	}
}

func TestHTTPPassesEachPieceAtOnce(t *testing.T) {
	t.Parallel()
	inBothWays(t, func(t *testing.T, options record.HTTPOptions) {
		next := make(chan struct{}) // the client has what there is
		address := serving(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_ = http.NewResponseController(w).Flush()
			for i := range 3 {
				<-next
				_, _ = fmt.Fprintf(w, "data: %d\n\n", i)
				_ = http.NewResponseController(w).Flush()
			}
			<-next
		})
		response := open(t.Context(), t, http.MethodPost, before(t, address, options), ping)
		for i := range 3 {
			next <- struct{}{}
			piece(t, response, fmt.Sprintf("data: %d\n\n", i))
		}
		close(next)
		if rest, err := io.ReadAll(response); err != nil || len(rest) > 0 {
			t.Errorf("the end: %q, %v", rest, err)
		}
	})
}

func TestHTTPPassesPartsOfBodiesAtOnce(t *testing.T) {
	t.Parallel()
	next := make(chan struct{})
	address := serving(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"jsonrpc":`)
		_ = http.NewResponseController(w).Flush()
		<-next
		_, _ = io.WriteString(w, `"2.0"}`)
	})
	response := open(t.Context(), t, http.MethodPost, before(t, address, record.HTTPOptions{}), ping)
	piece(t, response, `{"jsonrpc":`)
	close(next)
	piece(t, response, `"2.0"}`)
}

func TestHTTPLeavesWithTheClient(t *testing.T) {
	t.Parallel()
	for _, begun := range []bool{false, true} {
		t.Run(fmt.Sprint("begun ", begun), func(t *testing.T) {
			t.Parallel()
			inBothWays(t, func(t *testing.T, options record.HTTPOptions) {
				arrived, left := make(chan struct{}), make(chan struct{})
				address := serving(t, func(w http.ResponseWriter, r *http.Request) {
					_, _ = io.Copy(io.Discard, r.Body) // else the end of the connection goes unnoticed
					if begun {
						w.Header().Set("Content-Type", "text/event-stream")
						_, _ = io.WriteString(w, "data: {}\n\n")
						_ = http.NewResponseController(w).Flush()
					}
					close(arrived)
					<-r.Context().Done()
					close(left)
				})
				ctx, leave := context.WithCancel(t.Context())
				through := before(t, address, options)
				if begun {
					piece(t, open(ctx, t, http.MethodPost, through, ping), "data: {}\n\n")
				} else {
					request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+through, strings.NewReader(ping))
					if err != nil {
						t.Fatal(err)
					}
					go func() {
						if response, err := http.DefaultClient.Do(request); err == nil {
							_ = response.Body.Close()
						}
					}()
				}
				<-arrived
				leave()
				<-left
			})
		})
	}
}

func TestHTTPBreaksWithTheTarget(t *testing.T) {
	t.Parallel()
	inBothWays(t, func(t *testing.T, options record.HTTPOptions) {
		next := make(chan struct{})
		address := serving(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "data: {}\n\n")
			_ = http.NewResponseController(w).Flush()
			<-next
			panic(http.ErrAbortHandler)
		})
		response := open(t.Context(), t, http.MethodPost, before(t, address, options), ping)
		piece(t, response, "data: {}\n\n")
		close(next)
		if rest, err := io.ReadAll(response); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("found %q, %v", rest, err)
		}
	})
}

func TestHTTPCannotReachTheTarget(t *testing.T) {
	t.Parallel()
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	if found := ask(t, before(t, gone.Listener.Addr().String(), record.HTTPOptions{}), post(ping)); !found.Silent {
		t.Errorf("found %+v", found)
	}
}

// A body beyond the limit passes unread, in either direction.
func TestHTTPPassesWhatIsTooLong(t *testing.T) {
	t.Parallel()
	const size = 3 << 20
	address := serving(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(body)
	})
	options := record.HTTPOptions{Changes: watching(t).Changes()}
	options.Limits.Message = 1 << 20
	message := `{"jsonrpc":"2.0","id":1,"result":"` + strings.Repeat("x", size) + `"}`
	response := open(t.Context(), t, http.MethodPost, before(t, address, options), message)
	if found, err := io.ReadAll(response); err != nil || !bytes.Equal(found, []byte(message)) {
		t.Errorf("%d bytes became %d, %v", len(message), len(found), err)
	}
}

func TestHTTPNeedsAnAddress(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"", "127.0.0.1:80/mcp", "ftp://127.0.0.1/", "http://"} {
		if _, err := record.NewHTTP(address, record.HTTPOptions{}); err == nil {
			t.Errorf("%q is taken", address)
		}
	}
}

// ordered writes down when something passes.
type ordered struct {
	*httptest.ResponseRecorder
	order *[]string
}

func (o ordered) Write(piece []byte) (int, error) {
	*o.order = append(*o.order, "passed")
	return o.ResponseRecorder.Write(piece)
}

// Who gets a message may answer at once: what it was is known by then.
func TestHTTPLooksBeforeItPasses(t *testing.T) {
	t.Parallel()
	for media, body := range map[string]string{"application/json": answer, "text/event-stream": "data: " + answer + "\n\n"} {
		address := serving(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", media)
			_, _ = io.WriteString(w, body)
		})
		var order []string
		faults, err := fault.Parse("watched.yaml", []byte("- id: pings\n  says: Looks.\n  breaks: [ping.answered]\n  when: {response-to: ping}\n  do: [{drop: true}]\n"))
		if err != nil {
			t.Fatal(err)
		}
		middleman, err := record.NewHTTP("http://"+address, record.HTTPOptions{Changes: fault.Injection{
			Watched: faults, Matched: func(*fault.Fault) { order = append(order, "matched") },
		}.Changes()})
		if err != nil {
			t.Fatal(err)
		}
		request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/mcp", strings.NewReader(ping))
		middleman.ServeHTTP(ordered{httptest.NewRecorder(), &order}, request)
		middleman.Close()
		if want := []string{"matched", "passed"}; !slices.Equal(order, want) {
			t.Errorf("%s: %q, wanted %q", media, order, want)
		}
	}
}
