package transport_test

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/internal/transport"
)

// visited serves one kind of exchange, and records it.
func visited(t *testing.T, limits transport.Limits, serve func(*transport.Incoming)) (url string, log *transcript.Log, over <-chan struct{}) {
	t.Helper()
	log = transcript.NewLog("one")
	done := make(chan struct{}, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() { done <- struct{}{} }()
		incoming, err := transport.NewIncoming(w, r, limits)
		if err != nil {
			t.Error(err)
			return
		}
		incoming.Record(log, "post-1")
		serve(incoming)
		incoming.Serve()
	}))
	t.Cleanup(server.Close)
	return server.URL, log, done
}

// told writes the events of a log in one line each.
func told(log *transcript.Log) string {
	var text strings.Builder
	for _, event := range log.Events() {
		text.WriteString(string(event.From) + " " + string(event.Kind) + " " + strings.ReplaceAll(string(event.Raw), "\n", "|"))
		if event.HTTP != nil {
			text.WriteString(event.HTTP.Method)
			text.WriteString(http.StatusText(event.HTTP.Status))
		}
		text.WriteString(event.Note + "\n")
	}
	return text.String()
}

// answered is a response, and how the body of it ended.
type answered struct {
	*http.Response
	text string
	err  error
}

func send(t *testing.T, url, body string) answered {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	return answered{response, string(text), err}
}

func TestIncomingIsAnsweredAsOneBody(t *testing.T) {
	t.Parallel()
	url, log, over := visited(t, transport.Limits{}, func(incoming *transport.Incoming) {
		incoming.Answer(http.StatusTeapot, map[string]string{"x-odd": "yes"}, []byte(`{"a":1}`), "")
		incoming.Answer(http.StatusOK, nil, []byte("twice"), "")
	})
	response := send(t, url, `{"b":2}`)
	if response.err != nil || response.StatusCode != http.StatusTeapot || response.Header.Get("X-Odd") != "yes" ||
		response.Header.Get("Content-Type") != "application/json" || response.text != `{"a":1}` {
		t.Errorf("%d %v %s %v", response.StatusCode, response.Header, response.text, response.err)
	}
	<-over
	want := "client head POST\nclient message {\"b\":2}\nserver head I'm a teapot\nserver body {\"a\":1}\nserver end complete\n"
	if got := told(log); got != want {
		t.Errorf("recorded\n%s, wanted\n%s", got, want)
	}
}

func TestIncomingKeepsTheLettersOfHeaders(t *testing.T) {
	t.Parallel()
	recorder := httptest.NewRecorder()
	request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader("{}"))
	incoming, err := transport.NewIncoming(recorder, request, transport.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	log := transcript.NewLog("c")
	incoming.Record(log, "post-1")

	incoming.Answer(http.StatusOK, map[string]string{"cOnTeNt-TyPe": "application/json"}, []byte("{}"), "")

	var written bytes.Buffer
	if err := recorder.Header().Write(&written); err != nil || written.String() != "cOnTeNt-TyPe: application/json\r\n" {
		t.Errorf("written %q, %v", written.String(), err)
	}
	for _, event := range log.Events() {
		if event.HTTP != nil && event.HTTP.Status == http.StatusOK && event.HTTP.Header.Get("Content-Type") != "application/json" {
			t.Errorf("recorded %v", event.HTTP.Header)
		}
	}
}

func TestIncomingIsAnsweredByEvents(t *testing.T) {
	t.Parallel()
	url, log, over := visited(t, transport.Limits{}, func(incoming *transport.Incoming) {
		id := "e1"
		if !incoming.Write(transport.EventText(&id, "", []byte("1\n2")), "") || !incoming.Streaming() {
			t.Error("nothing could be written")
		}
		incoming.Write([]byte(": still here\n\nretry: 5\n\n"), "")
		incoming.Finish()
		if incoming.Write([]byte("data: late\n\n"), "") {
			t.Error("written after the end")
		}
	})
	response := send(t, url, "{}")
	if want := "id: e1\ndata: 1\ndata: 2\n\n: still here\n\nretry: 5\n\n"; response.text != want {
		t.Errorf("%q", response.text)
	}
	<-over
	want := "client head POST\nclient message {}\nserver head OK\nserver message 1|2\n" +
		"server block : still here\nserver block retry: 5\nserver end complete\n"
	if got := told(log); got != want {
		t.Errorf("recorded\n%s, wanted\n%s", got, want)
	}
}

func TestIncomingWithoutAnswerIsAccepted(t *testing.T) {
	t.Parallel()
	url, _, _ := visited(t, transport.Limits{}, (*transport.Incoming).Finish)
	if response := send(t, url, "{}"); response.StatusCode != http.StatusAccepted {
		t.Errorf("status %d", response.StatusCode)
	}
}

func TestIncomingIsCut(t *testing.T) {
	t.Parallel()
	url, log, over := visited(t, transport.Limits{}, func(incoming *transport.Incoming) {
		incoming.Write([]byte("data: half"), "")
		incoming.Cut()
	})
	if send(t, url, "{}").err == nil {
		t.Error("a good end")
	}
	<-over
	if got := told(log); !strings.HasSuffix(got, "server end the server cut the connection\n") {
		t.Errorf("recorded\n%s", got)
	}
}

// A write to a client that does not read is no reason to wait for ever.
func TestIncomingIsCutInTheMiddleOfAWrite(t *testing.T) {
	t.Parallel()
	begun := make(chan struct{})
	url, log, over := visited(t, transport.Limits{}, func(incoming *transport.Incoming) {
		go func() {
			<-begun
			incoming.Cut()
		}()
		if incoming.Write([]byte("data: "+strings.Repeat("x", 32<<20)+"\n\n"), "") { // more than the system takes
			t.Error("it was written")
		}
	})
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	if _, err := bufio.NewReader(response.Body).ReadByte(); err != nil {
		t.Error(err)
	}
	close(begun)
	<-over
	if got := told(log); !strings.HasSuffix(got, "server end the server cut the connection\n") {
		t.Error("recorded without its end")
	}
}

func TestIncomingThatTheClientLeaves(t *testing.T) {
	t.Parallel()
	ctx, leave := context.WithCancel(t.Context())
	url, log, over := visited(t, transport.Limits{}, func(incoming *transport.Incoming) {
		incoming.Write([]byte("data: 1\n\n"), "")
	})
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	if line, _ := bufio.NewReader(response.Body).ReadString('\n'); line != "data: 1\n" {
		t.Errorf("%q", line)
	}
	leave()
	<-over
	if got := told(log); !strings.HasSuffix(got, "client end the client left\n") {
		t.Errorf("recorded\n%s", got)
	}
}

func TestIncomingThatIsTooLong(t *testing.T) {
	t.Parallel()
	url, log, over := visited(t, transport.Limits{Message: 4}, func(incoming *transport.Incoming) {
		if !incoming.TooLong {
			t.Error("not too long")
		}
		incoming.Answer(http.StatusRequestEntityTooLarge, nil, nil, "")
	})
	if response := send(t, url, "123456"); response.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("status %d", response.StatusCode)
	}
	<-over
	if events := log.Events(); events[1].Size == 0 || string(events[1].Raw) != "1234" {
		t.Errorf("recorded\n%s", told(log))
	}
}
