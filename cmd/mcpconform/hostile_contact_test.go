//go:build linux

package main

import (
	"testing"

	"github.com/mcpconform/mcpconform/internal/transport/transporttest"
)

// withoutHandshake are servers over stdio that do not complete the handshake: one line
// reports what came instead.
var withoutHandshake = []encounter{
	// They end.
	{"stdio nothing at-once", "", ample, exitUnreachable, []string{"the server's process exited with status 0"}, nil},
	{"stdio nothing initialize", "", ample, exitUnreachable, []string{"the server's process exited with status 0"}, nil},
	{"stdio missing at-once", "", ample, exitUnreachable, []string{"exited with status 3", "cannot find module 'left-pad'"}, nil},
	{"stdio panics initialize", "", ample, exitDoesNot, []string{"exited at its first request (initialize)", "exited with status 7", "panic: out of luck", "base.requests.answered"}, none},
	{"stdio killed initialize", "", ample, exitDoesNot, []string{"exited at its first request (initialize)", "killed by SIGKILL"}, none},
	{"stdio cut initialize", "", ample, exitDoesNot, []string{"the opening at 2025-11-25 fails", "what came is no answer to initialize"}, nil},
	{"stdio forks-dies at-once", "", ample, exitUnreachable, []string{"the server's process exited with status 0"}, nil},

	// They do not answer.
	{"stdio hangs at-once", "", shortWait, exitUnreachable, []string{"initialize was not answered within", "--timeout"}, nil},
	{"stdio silent initialize", "", shortWait, exitUnreachable, []string{"initialize was not answered within", "--timeout"}, nil},
	{"stdio deaf at-once", "", shortWait, exitUnreachable, []string{"initialize was not answered within"}, nil},
	{"stdio forks-deaf initialize", "", shortWait, exitUnreachable, []string{"initialize was not answered within"}, nil},
	{"stdio half initialize", "", shortWait, exitUnreachable, []string{"initialize was not answered within", "70 bytes of a line that has not ended"}, nil},
	{"stdio drips initialize", "", shortWait, exitUnreachable, []string{"initialize was not answered within", "of a line that has not ended"}, nil},
	{"stdio restarts initialize", "", shortWait, exitUnreachable, []string{"initialize was not answered within"}, nil},
	{"stdio asks initialize", "", shortWait, exitUnreachable, []string{"initialize was not answered within", `it sent {"jsonrpc":"2.0","id":"ask-0"`}, nil},
	{"stdio chatty at-once", "", shortWait, exitUnreachable, []string{"initialize was not answered within", "something may have happened"}, nil},

	// They close.
	{"stdio closes-output initialize", "", ample, exitUnreachable, []string{"the server closed its standard output"}, nil},
	{"stdio closes-both at-once", "", ample, exitUnreachable, []string{"the connection ended"}, nil},

	// They say something else.
	{"stdio noise at-once", "", shortWait, exitUnreachable, []string{"Server listening, have a nice day!", "only JSON-RPC messages are allowed"}, nil},
	{"stdio binary initialize", "--max-message " + small, shortWait, exitUnreachable, []string{`on standard output it wrote "\x00\x01`, "only JSON-RPC messages are allowed"}, nil},
	{"stdio others-ids", "", shortWait, exitDoesNot, []string{"in place of the answer", "of somebody else"}, nil},
	{"stdio empty-object", "", shortWait, exitUnreachable, []string{"initialize was not answered", "{}"}, nil},
	{"stdio empty-result", "", ample, exitDoesNot, []string{"without a protocolVersion"}, nil},
	{"stdio garbled", "", ample, exitDoesNot, []string{"without a protocolVersion"}, nil},
	{"stdio nul initialize", "", shortWait, exitDoesNot, []string{"initialize was not answered", `invalid character '\x00' in string`}, nil},
	{"stdio deep initialize", "", ample, exitUnreachable, []string{"nested more than 5000 deep"}, nil},
	{"stdio errors", "", ample, exitUnreachable, []string{"failed: error -32603", "nothing works today"}, nil},
	{"stdio stateless", "", ample, exitUnreachable, []string{"speaks no known revision", "-32004", "2026-07-28"}, nil},

	// They say too much.
	{"stdio gigabyte initialize", "", ample, exitUnreachable, []string{"a line is longer than the limit of 16 MiB", "--max-message"}, nil},
	{"stdio endless-line at-once", "", ample, exitUnreachable, []string{"a line is longer than the limit of 16 MiB"}, nil},
	{"stdio flood at-once", "", ample, exitUnreachable, []string{"sent more than the harness keeps"}, nil},
	{"stdio blank-lines at-once", "", ample, exitUnreachable, []string{"sent more than the harness keeps"}, nil},
	{"stdio binary-flood at-once", "", ample, exitUnreachable, []string{"sent more than the harness keeps"}, nil},
}

func TestTargetsThatCannotBeSpokenTo(t *testing.T) {
	t.Parallel()
	meetAll(t, withoutHandshake)
	t.Run("does not exist", func(t *testing.T) {
		t.Parallel()
		found := mcpconform(t, "server", "--timeout", ample, "--", "no-such-command-at-all")
		found.demand(t, exitUnreachable, `command "no-such-command-at-all" not found in PATH`)
		found.oneLine(t)
	})
}

// withoutHTTP are addresses that are no MCP server, or no HTTP server at all.
var withoutHTTP = []encounter{
	// They answer with a status, or with something else.
	{"http html", "", ample, exitUnreachable, []string{"text/html", "<html>Welcome</html>", "often ends in /mcp"}, nil},
	{"http not-found", "", ample, exitUnreachable, []string{"HTTP 404", "often ends in /mcp"}, nil},
	{"http redirects", "", ample, exitUnreachable, []string{"redirects (HTTP 307) to /elsewhere"}, nil},
	{"http circle", "", ample, exitUnreachable, []string{"redirects (HTTP 308) to /mcp"}, nil},
	{"http login", "", ample, exitDoesNot, []string{"asks for authorization (HTTP 401)", "--header"}, nil},
	{"http login-echoes", "", ample, exitDoesNot, []string{"asks for authorization (HTTP 401)"}, nil},
	{"http echoes-errors", "", ample, exitUnreachable, []string{"failed: error -32603", "I was told"}, nil},
	{"http broken", "", ample, exitUnreachable, []string{"HTTP 500", "oh no"}, nil},
	{"http broken-large", "", ample, exitUnreachable, []string{"HTTP 500", "aaa… (1048576 bytes)"}, nil},
	{"http modern", "", ample, exitDoesNot, []string{"-32022", "discover.implemented"}, nil},
	{"http errors", "", ample, exitUnreachable, []string{"failed: error -32603", "nothing works today"}, nil},
	{"http stateless", "", ample, exitUnreachable, []string{"speaks no known revision", "-32004"}, nil},
	{"http empty-object", "", ample, exitUnreachable, []string{"ended without the answer", "{}"}, nil},
	{"http empty-result", "", ample, exitDoesNot, []string{"without a protocolVersion"}, nil},
	{"http others-ids", "", ample, exitDoesNot, []string{"ended without the answer", "of somebody else"}, nil},
	{"http nul initialize", "", ample, exitDoesNot, []string{"ended without the answer", `"odd":"a\x00b"`}, nil},
	{"http deep initialize", "", ample, exitUnreachable, []string{"nested more than 5000 deep"}, nil},

	// They crash at the first request.
	{"http dies", "", ample, exitDoesNot, []string{"exited at its first request (server/discover)", "it now refuses connections", "base.requests.answered"}, none},
	{"http dies initialize", "", ample, exitDoesNot, []string{"exited at its first request (initialize)", "base.requests.answered"}, none},

	// They go over to another protocol.
	{"http upgrades", "", ample, exitUnreachable, []string{"HTTP 101"}, nil},
	{"http upgrades-closes", "", ample, exitUnreachable, []string{"HTTP 101"}, nil},
	{"http upgrades-floods", "", ample, exitUnreachable, []string{"HTTP 101"}, nil},

	// They do not answer.
	{"http interim-drips", "", shortWait, exitUnreachable, []string{"initialize was not answered within", "103 Early Hints"}, nil},
	{"http hangs at-once", "", shortWait, exitUnreachable, []string{"initialize was not answered within", "nothing of a response's head"}, nil},
	{"http silent", "", shortWait, exitUnreachable, []string{"initialize was not answered within", "nothing of a response's head"}, nil},
	{"http half-head", "", shortWait, exitUnreachable, []string{"initialize was not answered within", `27 bytes of a response's head ("HTTP/1.1 200 OK\r\nContent-Ty")`}, nil},
	{"http drips-head", "", shortWait, exitUnreachable, []string{"initialize was not answered within", "of a response's head (\"HT"}, nil},
	{"http half-body", "", shortWait, exitUnreachable, []string{"initialize was not answered within", `HTTP 200 came, and 70 bytes of its body ("{\"jsonrpc\"`}, nil},
	{"http drips", "", shortWait, exitUnreachable, []string{"initialize was not answered within", "HTTP 200 came, and", "of its body"}, nil},
	{"http chunk-huge", "", shortWait, exitUnreachable, []string{"HTTP 200 came, and"}, nil},
	{"http stream-hangs", "", shortWait, exitUnreachable, []string{"HTTP 200 came, and nothing of its body"}, nil},
	{"http stream-drips", "", shortWait, exitUnreachable, []string{"HTTP 200 came, and", `"data: {`}, nil},
	{"http comments", "", shortWait, exitUnreachable, []string{"initialize was not answered within", `": still here\n\n`}, nil},

	// They close.
	{"http closes at-once", "", ample, exitUnreachable, []string{"the server closed the connection without an answer"}, nil},
	{"http closes", "", ample, exitUnreachable, []string{"the server closed the connection without an answer"}, nil},
	{"http resets", "", ample, exitUnreachable, []string{"the server closed the connection without an answer"}, nil},
	{"http half-closes", "", ample, exitUnreachable, []string{"the server closed the connection without an answer"}, nil},
	{"http cut-head", "", ample, exitUnreachable, []string{"in the middle of the response's head, after 27 bytes"}, nil},
	{"http cut-body", "", ample, exitDoesNot, []string{"the connection ended in the middle, after 70 bytes of the body"}, nil},
	{"http stream-cut", "", ample, exitUnreachable, []string{"the connection ended in the middle, after 76 bytes of the event stream"}, nil},
	{"http no-blank-line", "", ample, exitUnreachable, []string{"ended without the answer", `of its body ("data: {`}, nil},
	{"http stream-empty", "", ample, exitUnreachable, []string{"ended without the answer", "text/event-stream"}, nil},
	{"http polls", "", ample, exitUnreachable, []string{"ended without the answer"}, nil},
	{"http polls-never", "", shortWait, exitUnreachable, []string{"answer"}, nil},

	// They break the rules of HTTP.
	{"http no-http", "", ample, exitUnreachable, []string{"the answer is not HTTP", "is this the port of an HTTP server?"}, nil},
	{"http binary", "", ample, exitUnreachable, []string{"the answer is not HTTP"}, nil},
	{"http length-over", "", ample, exitDoesNot, []string{"the connection ended in the middle, after 140 bytes of the body"}, nil},
	{"http length-under", "", ample, exitDoesNot, []string{"ended without the answer", `{"jsonrpc":"2.0"`}, nil},
	{"http length-absurd", "", ample, exitDoesNot, []string{"the connection ended in the middle, after 140 bytes of the body"}, nil},
	{"http lengths", "", ample, exitUnreachable, []string{"the answer is not HTTP", "multiple Content-Length headers"}, nil},
	{"http chunk-short", "", ample, exitUnreachable, []string{"the connection ended in the middle, after 20 bytes of the body"}, nil},
	{"http chunk-none", "", ample, exitDoesNot, []string{"the connection ended in the middle, after 140 bytes of the body"}, nil},
	{"http chunk-long", "", ample, exitUnreachable, []string{"the body has invalid HTTP framing, after 5 bytes of the body"}, nil},
	{"http chunk-size", "", ample, exitUnreachable, []string{"the body has invalid HTTP framing"}, nil},
	{"http chunk-extended", "", ample, exitUnreachable, []string{"the body has invalid HTTP framing"}, nil},
	{"http trailers", "", ample, exitDoesNot, []string{"the body has invalid HTTP framing, after 140 bytes of the body"}, nil},
	{"http gzip-cut", "", ample, exitUnreachable, []string{"the connection ended in the middle"}, nil},
	{"http gzip-none", "", ample, exitUnreachable, []string{"Content-Encoding is gzip"}, nil},
	{"http brotli", "", ample, exitUnreachable, []string{`the content coding "br"`}, nil},

	// They say too much.
	{"http gzip-bomb", "", ample, exitUnreachable, []string{"the body is longer than the limit of 16 MiB", "--max-message"}, nil},
	{"http gigabyte initialize", "", ample, exitUnreachable, []string{"the body is longer than the limit of 16 MiB"}, nil},
	{"sse gigabyte initialize", "", ample, exitUnreachable, []string{"an event is longer than the limit of 16 MiB"}, nil},
	{"http endless-body", "", ample, exitUnreachable, []string{"the body is longer than the limit of 16 MiB"}, nil},
	{"http event-endless", "", ample, exitUnreachable, []string{"an event is longer than the limit of 16 MiB"}, nil},
	{"http field-data", "", ample, exitUnreachable, []string{"an event is longer than the limit of 16 MiB"}, nil},
	{"http field-id", "", ample, exitUnreachable, []string{"an event is longer than the limit of 16 MiB"}, nil},
	{"http field-comment", "", ample, exitUnreachable, []string{"an event is longer than the limit of 16 MiB"}, nil},
	{"http field-unknown", "", ample, exitUnreachable, []string{"an event is longer than the limit of 16 MiB"}, nil},
	{"http event-flood", "", ample, exitUnreachable, []string{"sent more than the harness keeps"}, nil},
	{"http many-ids", "", shortWait, exitUnreachable, []string{"initialize was not answered within"}, nil},
	{"http flood", "", ample, exitUnreachable, []string{"sent more than the harness keeps"}, nil},
	{"http asks initialize", "", ample, exitUnreachable, []string{"sent more than the harness keeps"}, nil},
	{"http asks", "", shortWait, exitUnreachable, []string{"initialize was not answered within"}, nil},
	{"http headers-1m", "", ample, exitUnreachable, []string{"the head of the response is longer than the limit of 1 MiB"}, nil},
	{"http headers-endless", "", ample, exitUnreachable, []string{"the head of the response is longer than the limit of 1 MiB"}, nil},
	{"http interim", "", ample, exitUnreachable, []string{"the head of the response is longer than the limit of 1 MiB"}, nil},

	// They have no stream of HTTP with SSE.
	{"http+sse html GET", "", ample, exitUnreachable, []string{"text/html", "<html>Welcome</html>", "give the URL of the stream"}, nil},
	{"http+sse redirects GET", "", ample, exitUnreachable, []string{"redirects (HTTP 307) to /elsewhere"}, nil},
	{"http+sse circle GET", "", ample, exitUnreachable, []string{"redirects (HTTP 308) to /sse"}, nil},
	{"http+sse login GET", "", ample, exitDoesNot, []string{"asks for authorization (HTTP 401)"}, none},
	{"http+sse broken-large GET", "", ample, exitUnreachable, []string{"GET brought HTTP 500", "aaa… (1048576 bytes)"}, nil},
	{"http+sse dies GET", "", ample, exitDoesNot, []string{"exited at its first request", "base.requests.answered"}, none},
	{"http+sse restarts GET", "", ample, exitUnreachable, []string{"GET brought HTTP 404", "no such session"}, nil},
	{"http+sse upgrades-floods GET", "", ample, exitUnreachable, []string{"HTTP 101"}, nil},
	{"http+sse hangs GET", "", shortWait, exitUnreachable, []string{"the stream named no endpoint within", "nothing of a response's head"}, nil},
	{"http+sse half-head GET", "", shortWait, exitUnreachable, []string{"the stream named no endpoint within", "27 bytes of a response's head"}, nil},
	{"http+sse half-body GET", "", shortWait, exitUnreachable, []string{`the content type "application/json"`}, nil},
	{"http+sse closes GET", "", ample, exitUnreachable, []string{"the server closed the connection without an answer"}, nil},
	{"http+sse resets GET", "", ample, exitUnreachable, []string{"the server closed the connection without an answer"}, nil},
	{"http+sse cut-head GET", "", ample, exitUnreachable, []string{"in the middle of the response's head, after 27 bytes"}, nil},
	{"http+sse no-http GET", "", ample, exitUnreachable, []string{"the answer is not HTTP"}, nil},
	{"http+sse chunk-size GET", "", ample, exitUnreachable, []string{"the body has invalid HTTP framing"}, nil},
	{"http+sse brotli GET", "", ample, exitUnreachable, []string{`the content coding "br"`}, nil},
	{"http+sse gzip-bomb GET", "", ample, exitUnreachable, []string{"the body is longer than the limit of 16 MiB"}, nil},
	{"http+sse endless-body GET", "", ample, exitUnreachable, []string{"the body is longer than the limit of 16 MiB"}, nil},
	{"http+sse headers-endless GET", "", ample, exitUnreachable, []string{"the head of the response is longer than the limit of 1 MiB"}, nil},
	{"http+sse event-endless GET", "", ample, exitUnreachable, []string{"an event is longer than the limit of 16 MiB"}, nil},
	{"http+sse field-id GET", "", ample, exitUnreachable, []string{"an event is longer than the limit of 16 MiB"}, nil},
	{"http+sse field-comment GET", "", ample, exitUnreachable, []string{"an event is longer than the limit of 16 MiB"}, nil},
	{"http+sse event-flood GET", "", ample, exitUnreachable, []string{"sent more than the harness keeps"}, nil},
	{"http+sse stream-empty GET", "--filter transports.sse", ample, exitDoesNot, []string{"transports.sse.endpoint-event", "ended the stream without an endpoint event"}, nil},
	{"http+sse stream-hangs GET", "--filter transports.sse.endpoint-event", shortWait, exitDoesNot, []string{"transports.sse.endpoint-event", "a stream without an endpoint event"}, none},
	{"http+sse comments GET", "--filter transports.sse.endpoint-event", shortWait, exitDoesNot, []string{"transports.sse.endpoint-event", "a stream without an endpoint event"}, none},

	// They have one, and do not answer on it.
	{"http+sse hangs initialize", "", shortWait, exitUnreachable, []string{"initialize was not answered within", "nothing of a response's head"}, nil},
	{"http+sse silent initialize", "", shortWait, exitUnreachable, []string{"initialize was not answered within"}, nil},
	{"http+sse stream-drips initialize", "", shortWait, exitUnreachable, []string{"initialize was not answered within"}, nil},
	{"http+sse closes initialize", "--filter base.requests.answered", ample, exitDoesNot, []string{"base.requests.answered", "the server closed the connection without an answer"}, none},
	{"http+sse broken initialize", "--filter transports.sse.endpoint", ample, exitDoesNot, []string{"transports.sse.endpoint", "HTTP 500", "oh no"}, none},
	{"http+sse errors", "--filter lifecycle.initialize.answered", ample, exitDoesNot, []string{"lifecycle.initialize.answered", "nothing works today"}, none},
	{"http+sse gigabyte initialize", "", ample, exitUnreachable, []string{"an event is longer than the limit of 16 MiB"}, nil},
	{"http+sse flood initialize", "", ample, exitUnreachable, []string{"sent more than the harness keeps"}, nil},
}

func TestAddressesThatAreNoServer(t *testing.T) {
	t.Parallel()
	meetAll(t, withoutHTTP)
	t.Run("nobody listens", func(t *testing.T) {
		t.Parallel()
		found := mcpconform(t, "server", "--timeout", ample, "--url", "http://"+transporttest.Unused(t))
		found.demand(t, exitUnreachable, "cannot connect to http://", ": connection refused; is the server running")
		found.oneLine(t)
	})
}
