package scripted_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// record keeps what a server was asked, one line a request.
type record struct {
	mu    sync.Mutex
	lines []string
}

func (r *record) add(request *http.Request, method string) {
	line := []string{request.Method}
	for _, name := range []string{"Content-Type", "Accept", scripted.SessionHeader, scripted.VersionHeader, scripted.LastEventID} {
		if value := request.Header.Get(name); value != "" {
			line = append(line, name+"="+value)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, strings.TrimSpace(strings.Join(append(line, method), " ")))
}

func (r *record) all() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.lines)
}

func TestHTTPKeepsSessionAndVersion(t *testing.T) {
	t.Parallel()
	asked := &record{}
	server := overHTTP(t, patient, func(w http.ResponseWriter, request *http.Request) {
		sent := message(request)
		asked.add(request, sent.Method)
		switch {
		case request.Method == http.MethodDelete:
			w.WriteHeader(http.StatusMethodNotAllowed)
		case sent.Method == "initialize":
			w.Header().Set(scripted.SessionHeader, "s-1")
			asJSON(w, jsonrpc.NewResult(sent.ID, map[string]any{"protocolVersion": "2025-06-18", "capabilities": map[string]any{"tools": map[string]any{}}, "serverInfo": map[string]any{"name": "s"}, "instructions": "Be kind."}))
		case sent.Kind == jsonrpc.Notification:
			w.WriteHeader(http.StatusAccepted)
		default:
			w.Header().Set(scripted.SessionHeader, "another") // only that of initialize counts
			asJSON(w, echo(sent))
		}
	})
	handshake, err := server.Initialize(t.Context(), scripted.Hello("2025-11-25", scripted.Nothing()))
	if err != nil {
		t.Fatal(err)
	}
	if handshake.Revision != "2025-06-18" || handshake.Instructions != "Be kind." || handshake.ServerInfo["name"] != "s" || handshake.Capabilities["tools"] == nil {
		t.Errorf("the handshake is %+v", handshake)
	}
	if _, err := server.Call(t.Context(), "ping", nil); err != nil {
		t.Error(err)
	}
	server.HTTP.SetVersion("")
	server.HTTP.SetSession("s-2")
	if _, err := server.Call(t.Context(), "ping", nil); err != nil {
		t.Error(err)
	}
	server.Close(t.Context())
	server.Close(t.Context()) // does nothing more
	const post = "POST Content-Type=application/json Accept=application/json, text/event-stream"
	want := []string{
		post + " initialize",
		post + " Mcp-Session-Id=s-1 Mcp-Protocol-Version=2025-06-18 notifications/initialized",
		post + " Mcp-Session-Id=s-1 Mcp-Protocol-Version=2025-06-18 ping",
		post + " Mcp-Session-Id=s-2 ping",
		"DELETE Mcp-Session-Id=s-2",
	}
	if difference := cmp.Diff(want, asked.all()); difference != "" {
		t.Error(difference)
	}
	if server.Alive() {
		t.Error("a closed connection is alive")
	}
	if _, err := server.Call(t.Context(), "ping", nil); err == nil {
		t.Error("a closed connection brought an answer")
	}
}

func TestHTTPWithoutSessionSendsNoDelete(t *testing.T) {
	t.Parallel()
	asked := &record{}
	server := overHTTP(t, patient, func(w http.ResponseWriter, request *http.Request) {
		sent := message(request)
		asked.add(request, sent.Method)
		asJSON(w, echo(sent))
	})
	if _, err := server.Call(t.Context(), "ping", nil); err != nil {
		t.Fatal(err)
	}
	server.Close(t.Context())
	if len(asked.all()) != 1 {
		t.Errorf("the server was asked %q", asked.all())
	}
}

func TestHTTPAnswers(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		respond func(w http.ResponseWriter, request jsonrpc.Message)
		answer  string // what the answer is, or
		text    string // why there is none
		before  int    // messages received before it
	}{
		"a result in JSON": {func(w http.ResponseWriter, request jsonrpc.Message) {
			asJSON(w, echo(request))
		}, `{"jsonrpc":"2.0","id":1,"result":{"method":"m","params":null}}`, "", 0},
		"an error in JSON, with a status": {func(w http.ResponseWriter, request jsonrpc.Message) {
			w.Header().Set("Content-Type", "Application/JSON; charset=utf-8")
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write(jsonrpc.NewError(request.ID, -32602, "no"))
		}, `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"no"}}`, "", 0},
		"a result in a stream": {func(w http.ResponseWriter, request jsonrpc.Message) {
			asStream(w)(": hello", "id: 1\ndata:", data(jsonrpc.NewNotification("n", nil)), data(jsonrpc.NewResult(jsonrpc.IntID(9), nil)), data(echo(request)))
		}, `{"jsonrpc":"2.0","id":1,"result":{"method":"m","params":null}}`, "", 2},
		"an equal id": {func(w http.ResponseWriter, _ jsonrpc.Message) {
			asJSON(w, []byte(`{"id":1.0,"result":{}}`))
		}, `{"id":1.0,"result":{}}`, "", 0},
		"another id": {func(w http.ResponseWriter, _ jsonrpc.Message) {
			asJSON(w, []byte(`{"id":"1","result":{}}`))
		}, "", `the exchange ended without the answer: HTTP 200 with content type "application/json" and the body {"id":"1","result":{}}`, 1},
		"a stream without it": {func(w http.ResponseWriter, _ jsonrpc.Message) {
			asStream(w)(data(jsonrpc.NewNotification("n", nil)))
		}, "", `the exchange ended without the answer: HTTP 200 came, and 38 bytes of its body ("data: {\"jsonrpc\":\"2.0\",\"method\":\"n\"}\n\n"), of the content type "text/event-stream"`, 1},
		"a stream that ends within a block": {func(w http.ResponseWriter, request jsonrpc.Message) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = fmt.Fprintf(w, "data: %s\n", echo(request))
		}, "", "the exchange ended without the answer", 0},
		"an empty body": {func(w http.ResponseWriter, _ jsonrpc.Message) {
			w.Header().Set("Content-Type", "application/json")
		}, "", `the exchange ended without the answer: HTTP 200 came, and nothing of its body, of the content type "application/json"`, 0},
		"accepted": {func(w http.ResponseWriter, _ jsonrpc.Message) {
			w.WriteHeader(http.StatusAccepted)
		}, "", `the exchange ended without the answer: HTTP 202 came, and nothing of its body, of the content type ""`, 0},
		"a page": {func(w http.ResponseWriter, _ jsonrpc.Message) {
			w.Header().Set("Content-Type", "text/html")
			_, _ = fmt.Fprint(w, "<h1>Welcome</h1>")
		}, "", `the exchange ended without the answer: HTTP 200 with content type "text/html" and the body <h1>Welcome</h1>`, 0},
		"unauthorized": {func(w http.ResponseWriter, _ jsonrpc.Message) {
			w.WriteHeader(http.StatusUnauthorized)
		}, "", "HTTP 401 without a body", 0},
		"not found": {func(w http.ResponseWriter, request jsonrpc.Message) {
			http.NotFound(w, &http.Request{URL: nil, Method: request.Method})
		}, "", "HTTP 404 with the body 404 page not found", 0},
		"a redirect": {func(w http.ResponseWriter, _ jsonrpc.Message) {
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(http.StatusTemporaryRedirect)
		}, "", "HTTP 307 without a body", 0},
		"cut off": {func(w http.ResponseWriter, _ jsonrpc.Message) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", "1000")
			_, _ = fmt.Fprint(w, `{"id":1`)
		}, "", "reading the answer to POST ", 0},
		"no HTTP": {func(w http.ResponseWriter, _ jsonrpc.Message) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err == nil {
				_ = conn.Close()
			}
		}, "", "POST ", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := overHTTP(t, patient, func(w http.ResponseWriter, request *http.Request) {
				test.respond(w, message(request))
			})
			answer, err := server.Call(t.Context(), "m", nil)
			if string(answer.Raw) != test.answer {
				t.Errorf("answered %s\nwanted   %s", answer.Raw, test.answer)
			}
			if (err == nil) != (test.text == "") || err != nil && !strings.HasPrefix(err.Error(), test.text) {
				t.Errorf("told   %v\nwanted %s", err, test.text)
			}
			if received := len(server.Received(0)); err == nil && received != test.before+1 || err != nil && received != test.before {
				t.Errorf("%d messages were received", received)
			}
			if server.Idle() != (err == nil) {
				t.Errorf("idle: %t", server.Idle())
			}
		})
	}
}

func TestHTTPStatusIsToldWithAllOfIt(t *testing.T) {
	t.Parallel()
	server := overHTTP(t, patient, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("WWW-Authenticate", "Bearer")
		http.Error(w, "who are you?", http.StatusUnauthorized)
	})
	for name, err := range map[string]error{
		"a call":         second(server.Call(t.Context(), "m", nil)),
		"a notification": server.Notify(t.Context(), "n", nil),
		"a stream":       second(server.Listen(t.Context())),
	} {
		refusal, isStatus := errors.AsType[*scripted.StatusError](err)
		if !isStatus || refusal.Status != http.StatusUnauthorized || string(refusal.Body) != "who are you?\n" ||
			http.Header(refusal.Header).Get("WWW-Authenticate") != "Bearer" {
			t.Errorf("%s is told %v", name, err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func TestHTTPTimeouts(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	server := overHTTP(t, soon, func(w http.ResponseWriter, request *http.Request) {
		if message(request).Method == "stream" {
			asStream(w)(": nothing comes")
		}
		<-release
	})
	defer func() {
		server.Close(context.Background()) // first: nothing is answered any more
		close(release)
	}()
	for name, err := range map[string]error{
		"no answer was given to m within":      second(server.Call(t.Context(), "m", nil)),
		"nor in a stream":                      second(server.Call(t.Context(), "stream", nil)),
		"a notification is not accepted":       server.Notify(t.Context(), "n", nil),
		"GET is not answered":                  second(server.Listen(t.Context())),
		"nothing of the kind came":             second(server.Await(t.Context(), 0, func(scripted.Received) bool { return false })),
		"the connection brought no initialize": second(server.Initialize(t.Context(), nil)),
	} {
		if !errors.Is(err, scripted.ErrTimeout) {
			t.Errorf("%s: told %v", name, err)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := server.Call(ended, "m", nil); !errors.Is(err, context.Canceled) {
		t.Errorf("a canceled call told %v", err)
	}
}

func TestHTTPConcurrentCalls(t *testing.T) {
	t.Parallel()
	const calls = 40
	var together sync.WaitGroup // all are there before the first is answered
	together.Add(calls)
	server := overHTTP(t, patient, func(w http.ResponseWriter, request *http.Request) {
		sent := message(request)
		together.Done()
		together.Wait()
		asJSON(w, echo(sent))
	})
	var all sync.WaitGroup
	for number := range calls {
		all.Go(func() {
			answer, err := server.Call(t.Context(), "m", number)
			result, _ := answer.Result()
			object, _ := result.(map[string]any)
			if err != nil || object["params"] != json.Number(strconv.Itoa(number)) {
				t.Errorf("call %d brought %s, %v", number, answer.Raw, err)
			}
		})
	}
	all.Wait()
	if !server.Idle() || server.Mark() != calls {
		t.Errorf("idle: %t, %d messages", server.Idle(), server.Mark())
	}
}

// A server of 2025-11-25 may end a stream early and let the client poll.
func TestHTTPComesBackForTheRest(t *testing.T) {
	t.Parallel()
	asked := &record{}
	var gets atomic.Int64
	var id atomic.Value
	server := overHTTP(t, patient, func(w http.ResponseWriter, request *http.Request) {
		sent := message(request)
		asked.add(request, sent.Method)
		write := asStream(w)
		if request.Method == http.MethodPost {
			id.Store(sent.ID)
			write("id: a\nretry: 1\ndata:")
			return
		}
		switch gets.Add(1) {
		case 1: // nothing yet, and no id: the place stays
		case 2:
			write("id: b\n"+data(jsonrpc.NewNotification("n", nil)), "retry: 0")
		case 3:
			write("id: c\n" + data(jsonrpc.NewResult(id.Load().(jsonrpc.ID), nil)))
		}
	})
	pending := server.Start(t.Context(), "m", nil)
	answer, err := pending.Wait(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if answer.Stream != "get-3" || *answer.Event.ID != "c" || answer.Index != 1 {
		t.Errorf("the answer came as %s, %v, %d", answer.Stream, answer.Event, answer.Index)
	}
	<-pending.Delivery.Done()
	if pending.Delivery.Stream != "post-1" || pending.Delivery.Status != http.StatusOK || pending.Delivery.Refused() != nil {
		t.Errorf("the delivery is %+v", pending.Delivery)
	}
	want := []string{
		"POST Content-Type=application/json Accept=application/json, text/event-stream m",
		"GET Accept=text/event-stream Last-Event-Id=a",
		"GET Accept=text/event-stream Last-Event-Id=a",
		"GET Accept=text/event-stream Last-Event-Id=b",
	}
	if difference := cmp.Diff(want, asked.all()); difference != "" {
		t.Error(difference)
	}
}

func TestHTTPComesBackInVain(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		first string
		get   func(w http.ResponseWriter)
		text  string
		asked int64
	}{
		"refused": {"id: a\ndata:", func(w http.ResponseWriter) { http.Error(w, "no GET", http.StatusMethodNotAllowed) },
			`its stream ended, and the GET for the rest of it, after the event "a", brought HTTP 405 with the body no GET`, 2},
		"for ever":         {"id: a\nretry: 0\ndata:", func(w http.ResponseWriter) { asStream(w)("id: a\ndata:") }, "the exchange ended without the answer", 21},
		"no id":            {": hello", func(http.ResponseWriter) {}, "the exchange ended without the answer", 1},
		"an id taken back": {"id: a\ndata:\n\nid:\ndata:", func(http.ResponseWriter) {}, "the exchange ended without the answer", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int64
			server := overHTTP(t, patient, func(w http.ResponseWriter, request *http.Request) {
				asked.Add(1)
				if request.Method == http.MethodGet {
					test.get(w)
					return
				}
				asStream(w)(test.first)
			})
			_, err := server.Call(t.Context(), "m", nil)
			if !errors.Is(err, scripted.ErrNoAnswer) || !strings.Contains(err.Error(), test.text) {
				t.Errorf("told %v", err)
			}
			if asked.Load() != test.asked {
				t.Errorf("the server was asked %d times, wanted %d", asked.Load(), test.asked)
			}
		})
	}
}

func TestHTTPResume(t *testing.T) {
	t.Parallel()
	server := overHTTP(t, patient, func(w http.ResponseWriter, request *http.Request) {
		asStream(w)(data(jsonrpc.NewNotification("after-"+request.Header.Get(scripted.LastEventID), nil)))
	})
	delivery := server.HTTP.Resume("7")
	<-delivery.Done()
	if received := server.Received(0); len(received) != 1 || received[0].Method != "after-7" {
		t.Errorf("received %v", received)
	}
}

func TestHTTPAnswersTheServer(t *testing.T) {
	t.Parallel()
	answers := make(chan jsonrpc.Message, 10)
	server := overHTTP(t, patient, func(w http.ResponseWriter, request *http.Request) {
		sent := message(request)
		if sent.Kind == jsonrpc.Response {
			answers <- sent
			w.WriteHeader(http.StatusAccepted)
			return
		}
		write := asStream(w)
		write(data(jsonrpc.NewRequest(jsonrpc.NullID, "ping", nil)), // has no answer
			data(jsonrpc.NewRequest(jsonrpc.IntID(4), "silent", nil)),
			data(jsonrpc.NewNotification("ping", nil)))
		for number, method := range []string{"ping", "roots/list", "unknown", "refused"} {
			write(data(jsonrpc.NewRequest(jsonrpc.IntID(int64(number)), method, nil)))
			_, _ = fmt.Fprintf(w, "data: %s\n\n", jsonrpc.NewNotification("answered", map[string]any{"with": json.RawMessage((<-answers).Raw)}))
		}
		write(data(echo(sent)))
	})
	server.Answer("roots/list", scripted.Result(map[string]any{"roots": []any{}}))
	server.Answer("refused", scripted.Refusal(-1, "not now"))
	server.Answer("silent", scripted.Silence)
	if _, err := server.Call(t.Context(), "m", nil); err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, received := range server.Received(0) {
		if received.Method == "answered" {
			texts = append(texts, string(received.Raw[len(`{"jsonrpc":"2.0","method":"answered","params":{"with":`):len(received.Raw)-2]))
		}
	}
	want := []string{
		`{"jsonrpc":"2.0","id":0,"result":{}}`,
		`{"jsonrpc":"2.0","id":1,"result":{"roots":[]}}`,
		`{"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"this client does not offer unknown"}}`,
		`{"jsonrpc":"2.0","id":3,"error":{"code":-1,"message":"not now"}}`,
	}
	if difference := cmp.Diff(want, texts); difference != "" {
		t.Error(difference)
	}
}

// A server that asks without end and takes no answer does not make the client
// open exchanges without end.
func TestHTTPFloodOfRequestsIsHeldUp(t *testing.T) {
	t.Parallel()
	const requests, most = 150, 64
	var open, highest atomic.Int64
	var counting sync.Mutex
	released := make(chan struct{})
	release := sync.OnceFunc(func() { close(released) }) // so many may be open again later
	server := overHTTP(t, patient, func(w http.ResponseWriter, request *http.Request) {
		sent := message(request)
		if sent.Kind != jsonrpc.Response {
			write := asStream(w)
			for number := range requests {
				write(data(jsonrpc.NewRequest(jsonrpc.IntID(int64(number)), "ping", nil)))
			}
			write(data(echo(sent)))
			return
		}
		counting.Lock()
		now := open.Add(1)
		highest.Store(max(highest.Load(), now))
		counting.Unlock()
		defer open.Add(-1)
		if now == most {
			release()
		}
		<-released
		w.WriteHeader(http.StatusAccepted)
	})
	if _, err := server.Call(t.Context(), "m", nil); err != nil {
		t.Fatal(err)
	}
	if highest.Load() > most {
		t.Errorf("%d answers were under way at once", highest.Load())
	}
	if received := len(server.Received(0)); received != requests+1 {
		t.Errorf("%d messages were received", received)
	}
	// Every answer is taken, and none is cut off by the end of the test.
	for ended, deadline := 0, time.Now().Add(patient); ended < requests+1; runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatalf("%d exchanges ended, wanted %d", ended, requests+1)
		}
		ended = 0
		for _, event := range server.Log().Events() {
			if event.Kind == transcript.End {
				ended++
			}
		}
	}
}

func TestHTTPListensAndCuts(t *testing.T) {
	t.Parallel()
	gone := make(chan struct{})
	server := overHTTP(t, patient, func(w http.ResponseWriter, request *http.Request) {
		asStream(w)(data(jsonrpc.NewNotification("unasked", nil)))
		<-request.Context().Done()
		close(gone)
	})
	stream, err := server.Listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := server.Await(t.Context(), 0, func(received scripted.Received) bool { return received.Method == "unasked" }); err != nil {
		t.Error(err)
	}
	stream.Cut()
	stream.Cut() // does nothing more
	<-gone
	if !server.Alive() {
		t.Error("the connection ended with one of its streams")
	}
}

func TestHTTPCloseLeavesNothing(t *testing.T) {
	leavesNothing(t)
	arrived := make(chan struct{}, 10)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		sent := message(request)
		switch {
		case sent.Method == "initialize":
			w.Header().Set(scripted.SessionHeader, "s")
			asJSON(w, jsonrpc.NewResult(sent.ID, map[string]any{"protocolVersion": "2025-06-18"}))
			return
		case sent.Kind == jsonrpc.Notification:
			w.WriteHeader(http.StatusAccepted)
			return
		case request.Method == http.MethodGet || sent.Method == "stream":
			asStream(w)(data(jsonrpc.NewRequest(jsonrpc.IntID(1), "ping", nil)))
		}
		arrived <- struct{}{}
		<-request.Context().Done() // DELETE included
	}))
	connection, err := scripted.Dial(scripted.Target{Transport: protocol.HTTP, URL: server.URL, Reply: patient}, transcript.NewLog("c1"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := connection.Initialize(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := connection.Listen(t.Context()); err != nil {
		t.Fatal(err)
	}
	hanging := connection.Start(t.Context(), "m", nil)
	connection.Start(t.Context(), "stream", nil)
	for range 5 { // the stream, the two requests, the answers to two pings
		<-arrived
	}
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	connection.Close(ctx)
	if _, err := hanging.Wait(t.Context()); err == nil {
		t.Error("a hanging call was answered")
	}
	server.Close()
}

func TestErrorInBody(t *testing.T) {
	t.Parallel()
	for body, about := range map[string]bool{
		`{"jsonrpc":"2.0","id":7,"error":{"code":-32602,"message":"no"}}`:    true,
		`{"jsonrpc":"2.0","id":null,"error":{"code":-32602,"message":"no"}}`: true,
		`{"jsonrpc":"2.0","error":{"code":-32602,"message":"no"}}`:           true,
		`{"jsonrpc":"2.0","id":8,"error":{"code":-32602,"message":"no"}}`:    false,
		`{"jsonrpc":"2.0","id":7,"result":{}}`:                               false,
		`Bad Request`:                                                        false,
		`{"statusCode":400,"error":"Bad Request","message":"not JSON"}`:      false,
	} {
		if _, there := scripted.ErrorInBody(&scripted.StatusError{Status: 400, Body: []byte(body)}, jsonrpc.IntID(7)); there != about {
			t.Errorf("%s: %t", body, there)
		}
	}
}
