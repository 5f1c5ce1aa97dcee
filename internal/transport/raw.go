package transport

import (
	"bufio"
	"context"
	"crypto/tls"
	"io"
	"math"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// RawRequest is a request that net/http would refuse to send.
type RawRequest struct {
	Bytes            []byte // all of it: request line, headers, body
	Note, Deliberate string // as in Request
}

// Raw sends exact bytes over a fresh connection to the endpoint's host (never
// through a proxy) and returns when the head of a response is there. It
// otherwise behaves as Do; the exchange is called raw-1 and so on.
func (h *HTTP) Raw(ctx context.Context, request RawRequest) (*Exchange, error) {
	stream, err := h.name("raw")
	if err != nil {
		return nil, err
	}
	method, _, _ := strings.Cut(string(request.Bytes[:min(len(request.Bytes), len("OPTIONS "))]), " ")
	doing := "raw request to " + h.base.Redacted()
	h.log.Append(transcript.Event{Kind: transcript.Head, Stream: stream, From: protocol.Client, Raw: request.Bytes,
		HTTP: &transcript.HTTP{URL: h.base.Redacted()}, Note: request.Note, Deliberate: request.Deliberate})

	ctx, leave := h.whileOpen(ctx)
	defer leave()
	response, conn, wire, err := h.rawRoundTrip(ctx, method, request.Bytes)
	if err != nil {
		failure := classify(ctx, doing, err, wire)
		h.fail(stream, failure)
		return nil, failure
	}
	return h.begin(stream, doing, response, nil, func(error) { _ = conn.Close() }), nil
}

func (h *HTTP) rawRoundTrip(
	ctx context.Context,
	method string,
	request []byte,
) (*http.Response, net.Conn, *came, error) {
	conn, err := h.dial(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	wire := tap(conn)
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	response, err := rawExchange(conn, method, request)
	if !stop() && err == nil {
		err = context.Cause(ctx) // it ended with the head
	}
	if err != nil {
		_ = conn.Close() // the failure is told already
		return nil, nil, wire, err
	}
	return response, conn, wire, nil
}

func rawExchange(conn net.Conn, method string, request []byte) (*http.Response, error) {
	// A server may answer and close before it has read everything, so that a
	// failure to write counts only when there is no answer.
	written := make(chan error, 1) // room for one, so that the writer never waits for its reader
	go func() {
		_, err := conn.Write(request)
		written <- err
	}()
	endWrite := func() error {
		_ = conn.Close()
		return <-written
	}
	limited := &io.LimitedReader{R: conn, N: MaxHeaderBytes}
	reader := bufio.NewReader(limited)
	if _, err := reader.Peek(1); err != nil {
		if failed := endWrite(); failed != nil && isDisconnect(failed) {
			return nil, failed
		}
		return nil, err
	}
	for {
		response, err := http.ReadResponse(reader, &http.Request{Method: method})
		switch {
		case err != nil && limited.N <= 0:
			err = errRawHead
		case err != nil:
			err = &unreadable{err}
		case response.StatusCode < http.StatusOK && response.StatusCode != http.StatusSwitchingProtocols:
			continue // an interim response
		default:
			limited.N = math.MaxInt64 // the body has a limit of its own
			return response, nil
		}
		_ = endWrite() // the failure to read is told
		return nil, err
	}
}

func (h *HTTP) dial(ctx context.Context) (net.Conn, error) {
	dialer := &net.Dialer{Timeout: h.connect}
	address := net.JoinHostPort(h.base.Hostname(), portOf(h.base))
	if h.base.Scheme == "http" {
		return tapping(dialer)(ctx, "tcp", address)
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if h.transport.TLSClientConfig != nil {
		config = h.transport.TLSClientConfig.Clone()
	}
	config.NextProtos = []string{"http/1.1"}
	return (&tls.Dialer{NetDialer: dialer, Config: config}).DialContext(ctx, "tcp", address)
}

func portOf(endpoint *url.URL) string {
	switch {
	case endpoint.Port() != "":
		return endpoint.Port()
	case endpoint.Scheme == "https":
		return "443"
	}
	return "80"
}
