package scripted_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"
	"time"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/internal/transport"
)

const (
	// patient bounds a wait that a test means to succeed.
	patient = time.Minute
	// soon is a wait that a test means to run out.
	soon = 20 * time.Millisecond
)

// overHTTP returns a client of a server made of a handler.
func overHTTP(t *testing.T, reply time.Duration, handler http.HandlerFunc) *scripted.Connection {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	connection, err := scripted.Dial(scripted.Target{Transport: protocol.HTTP, URL: server.URL + scripted.Endpoint, Reply: reply}, transcript.NewLog("c1"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { connection.Close(context.Background()) })
	return connection
}

// message reads the body of a request.
func message(request *http.Request) jsonrpc.Message {
	body, _ := io.ReadAll(request.Body) // a body that is cut off is no message
	return jsonrpc.Parse(body)
}

// asJSON answers with a JSON body.
func asJSON(w http.ResponseWriter, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(body)
}

// asStream begins an event stream; what it returns writes blocks to it.
func asStream(w http.ResponseWriter) func(blocks ...string) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	flush := func() { _ = http.NewResponseController(w).Flush() }
	flush()
	return func(blocks ...string) {
		for _, block := range blocks {
			_, _ = io.WriteString(w, block+"\n\n")
		}
		flush()
	}
}

func data(raw []byte) string { return "data: " + string(raw) }

// overPipes returns a client, and the server's ends of its pipes.
func overPipes(t *testing.T, reply time.Duration) (*scripted.Stdio, *bufio.Scanner, io.WriteCloser, io.Closer) {
	t.Helper()
	fromClient, toServer := io.Pipe()
	fromServer, toClient := io.Pipe()
	log := transcript.NewLog("c1")
	client := scripted.OverStdio(transport.NewStdioPipes(toServer, fromServer, log, transport.Limits{}), log, reply)
	t.Cleanup(func() { client.Close(context.Background()) })
	t.Cleanup(func() { _ = toClient.Close(); _ = fromClient.Close() })
	return client, bufio.NewScanner(fromClient), toClient, fromClient
}

// overStdio returns a client of a server that answers each message with the
// lines that a function makes of it, until its input ends.
func overStdio(t *testing.T, reply time.Duration, answer func(jsonrpc.Message) []string) *scripted.Stdio {
	t.Helper()
	client, input, output, _ := overPipes(t, reply)
	go func() {
		for input.Scan() {
			for _, line := range answer(jsonrpc.Parse([]byte(input.Text()))) {
				_, _ = fmt.Fprintln(output, line)
			}
		}
		_ = output.Close()
	}()
	return client
}

// echo answers each request with its method and params.
func echo(request jsonrpc.Message) []byte {
	return jsonrpc.NewResult(request.ID, map[string]any{"method": request.Method, "params": request.Params()})
}

// leavesNothing checks at the end of a test that no goroutine was left. Such a
// test does not run in parallel.
func leavesNothing(t *testing.T) {
	t.Helper()
	before := runtime.NumGoroutine()
	t.Cleanup(func() {
		for deadline := time.Now().Add(patient); time.Now().Before(deadline); {
			if runtime.NumGoroutine() <= before {
				return
			}
			runtime.Gosched() // what is done takes a moment to go
		}
		stacks := make([]byte, 1<<16)
		t.Errorf("%d goroutines run, %d did\n%s", runtime.NumGoroutine(), before, stacks[:runtime.Stack(stacks, true)])
	})
}
