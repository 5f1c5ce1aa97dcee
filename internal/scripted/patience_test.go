package scripted_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/internal/transport"
)

// starting is a connection to a target that has all the time to start, and none for
// anything else.
func starting(t *testing.T) *scripted.Connection {
	t.Helper()
	return startingWith(t, "")
}

// startingWith is one to a target that sends a message beside, and answers nothing then.
func startingWith(t *testing.T, beside string) *scripted.Connection {
	t.Helper()
	return dialled(t, beside, time.Nanosecond)
}

func dialled(t *testing.T, beside string, reply time.Duration) *scripted.Connection {
	t.Helper()
	gone := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		sent := message(request)
		switch {
		case request.Method == http.MethodGet:
			asStream(w)(data(jsonrpc.NewNotification("unasked", nil)))
			<-gone
		case beside != "":
			asStream(w)(data([]byte(beside)))
			<-gone
		case sent.Kind == jsonrpc.Request:
			asJSON(w, jsonrpc.NewResult(sent.ID, nil))
		default:
			w.WriteHeader(http.StatusAccepted)
		}
	}))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(gone) })
	to := scripted.Target{Transport: protocol.HTTP, URL: server.URL, Reply: reply, Start: patient}
	connection, err := scripted.Dial(to, transcript.NewLog("c1"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { connection.Close(t.Context()) })
	return connection
}

// The first wait may take as long as a start, for each kind of wait.
func TestFirstWaitsHaveTheTimeOfAStart(t *testing.T) {
	t.Parallel()
	for name, wait := range map[string]func(*scripted.Connection) error{
		"for an answer": func(c *scripted.Connection) error { return second(c.Once(t.Context(), "m", nil)) },
		"for a message to be taken": func(c *scripted.Connection) error {
			return c.Notify(t.Context(), "n", nil)
		},
		"for a stream": func(c *scripted.Connection) error { return second(c.Listen(t.Context())) },
		"for a notification": func(c *scripted.Connection) error {
			delivery := c.HTTP.Exchange(transport.Request{Method: http.MethodGet, Header: c.HTTP.Header(http.MethodGet)})
			defer delivery.Cut()
			return second(c.Await(t.Context(), 0, func(received scripted.Received) bool { return received.Method == "unasked" }))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			connection := starting(t)
			if err := wait(connection); err != nil {
				t.Error(err)
			}
		})
	}
}

// Once something has come, the target is there.
func TestLaterWaitsHaveTheTimeOfAnAnswer(t *testing.T) {
	t.Parallel()
	connection := starting(t)
	if _, err := connection.Once(t.Context(), "m", nil); err != nil {
		t.Fatal(err)
	}
	if patience := connection.Patience(); patience != time.Nanosecond {
		t.Errorf("waits %s", patience)
	}
	never := func(scripted.Received) bool { return false }
	stream := connection.HTTP.Exchange(transport.Request{Method: http.MethodGet, Header: connection.HTTP.Header(http.MethodGet)})
	defer stream.Cut()
	if _, err := connection.Await(t.Context(), 0, never); !errors.Is(err, scripted.ErrTimeout) {
		t.Error(err)
	}
}

// What can come on no stream any more is not waited for.
func TestNothingIsAwaitedWithoutAStream(t *testing.T) {
	t.Parallel()
	connection := dialled(t, "", patient)
	if _, err := connection.Once(t.Context(), "m", nil); err != nil {
		t.Fatal(err)
	}
	answers := func(received scripted.Received) bool { return received.Kind == jsonrpc.Response }
	if _, err := connection.Await(t.Context(), 0, answers); err != nil {
		t.Error(err)
	}
	if _, err := connection.Await(t.Context(), connection.Mark(), answers); !errors.Is(err, scripted.ErrNoStream) {
		t.Error(err)
	}
}

// A target that answers in a way of its own has started: it is not waited for any more.
func TestWhatResemblesAnAnswerEndsTheStart(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]struct {
		says     string
		resemble bool
	}{
		"another id":             {`{"jsonrpc":"2.0","id":"1","result":{}}`, true},
		"no id":                  {`{"jsonrpc":"2.0","result":{}}`, true},
		"a list":                 {`[{"jsonrpc":"2.0","id":1,"result":{}}]`, true},
		"a line of several":      {`  "result": {`, true},
		"an error of no request": {`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"?"}}`, true},
		"a banner":               {`server is starting`, false},
		"a log":                  {`{"level":"info","msg":"starting"}`, false},
		"a notification":         {`{"jsonrpc":"2.0","method":"notifications/message","params":{"result":1}}`, false},
	} {
		received := scripted.Received{Message: jsonrpc.Parse([]byte(one.says))}
		if received.Resembles() != one.resemble {
			t.Errorf("%s: %t", name, received.Resembles())
		}
	}
	connection := startingWith(t, `{"jsonrpc":"2.0","id":"1","result":{}}`)
	if _, err := connection.Once(t.Context(), "m", nil); !errors.Is(err, scripted.ErrTimeout) {
		t.Error(err)
	}
}
