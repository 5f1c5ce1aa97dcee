package transport

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"syscall"
)

// errRawHead is what net/http says when it reads a head that is too long.
var errRawHead = errors.New("server response headers exceeded the limit")

// unreadable marks an answer that began and could not be understood.
type unreadable struct{ err error }

func (u *unreadable) Error() string { return u.err.Error() }
func (u *unreadable) Unwrap() error { return u.err }

// classify turns a failure before the body into words and a kind. What came on
// the wire until then is nil when it is not known.
func classify(ctx context.Context, doing string, err error, wire *came) *Error {
	if ctx.Err() != nil {
		return interrupted(ctx, doing)
	}
	failure := &Error{Doing: doing, Detail: plain(err), Err: err}
	var lookup *net.DNSError
	var timeout net.Error
	var garbled *unreadable
	switch {
	case errors.As(err, &lookup):
		failure.Kind = ErrDNS
		failure.Detail = fmt.Sprintf("host name %q cannot be resolved (%s)", lookup.Name, lookup.Err)
		failure.Mend = "check the spelling of the host in the URL"
	case strings.Contains(err.Error(), "net/http: invalid "):
		failure.Kind, failure.Mend = ErrNotSendable, "illegal requests are sent as raw bytes"
	case explainTLS(failure, err):
	case errors.Is(err, syscall.ECONNREFUSED):
		failure.Kind, failure.Detail = ErrRefused, "connection refused"
		failure.Mend = "is the server running, on this host and port?"
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		failure.Kind, failure.Mend = ErrUnreachable, "check the network and the host in the URL"
	case strings.Contains(err.Error(), "server response headers exceeded"),
		strings.Contains(err.Error(), "header list larger than"):
		failure.Kind = ErrTooLarge
		failure.Detail = "the head of the response is longer than the limit of " + bytesText(MaxHeaderBytes)
	case errors.As(err, &timeout) && timeout.Timeout():
		failure.Kind, failure.Detail = ErrTimeout, "connecting timed out"
		failure.Mend = "is the host reachable, and not behind a firewall?"
	case errors.As(err, &garbled) && (isDisconnect(err) || wire != nil && wire.cutOff()):
		failure.Kind, failure.Detail = ErrCut, "the connection ended in the middle of the response's head"
		if wire != nil {
			failure.Detail += ", after " + wire.of("it")
		}
	case errors.As(err, &garbled), strings.Contains(err.Error(), "malformed HTTP"):
		explainNotHTTP(failure, err)
	case isDisconnect(err):
		failure.Kind, failure.Detail = ErrClosed, "the server closed the connection without an answer"
	default:
		failure.Kind = ErrClosed
	}
	return failure
}

func explainTLS(failure *Error, err error) bool {
	var record tls.RecordHeaderError
	var alert tls.AlertError
	var verification *tls.CertificateVerificationError
	var authority x509.UnknownAuthorityError
	var hostname x509.HostnameError
	var invalid x509.CertificateInvalidError
	switch {
	case errors.As(err, &record), strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		failure.Detail = "the server does not speak TLS on this port"
		failure.Mend = "should the URL begin with http://?"
	case errors.As(err, &authority):
		failure.Mend = "add the authority's certificate to the system, or name its file in SSL_CERT_FILE"
	case errors.As(err, &hostname):
		failure.Mend = "use a host name that the certificate is for"
	case errors.As(err, &invalid), errors.As(err, &verification), errors.As(err, &alert),
		strings.Contains(err.Error(), "tls: "):
	default:
		return false
	}
	failure.Kind = ErrTLS
	return true
}

func explainNotHTTP(failure *Error, err error) {
	failure.Kind = ErrNotHTTP
	failure.Detail = "the answer is not HTTP: " + plain(err)
	switch {
	case strings.Contains(err.Error(), `HTTP response "\x15\x03`): // a TLS alert
		failure.Mend = "the server speaks TLS: should the URL begin with https://?"
	case strings.Contains(err.Error(), "malformed HTTP"):
		failure.Mend = "is this the port of an HTTP server?"
	}
}

// plain is the last part of an error that says something by itself.
func plain(err error) string {
	var operation *net.OpError
	if errors.As(err, &operation) && operation.Err != nil {
		return operation.Err.Error()
	}
	text := strings.TrimPrefix(err.Error(), "net/http: ")
	return strings.TrimPrefix(text, "HTTP/1.x transport connection broken: ")
}

// isDisconnect reports that the other end went away.
func isDisconnect(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) ||
		errors.Is(err, net.ErrClosed) ||
		strings.Contains(err.Error(), "server closed idle connection") ||
		strings.Contains(err.Error(), "http2: client connection lost")
}

// bodyError says how the body of a response failed, and after what.
func bodyError(doing string, err error, after string) *Error {
	failure := &Error{Kind: ErrCut, Doing: doing, Err: err,
		Detail: fmt.Sprintf("the connection ended in the middle, after %s (%s)", after, plain(err))}
	switch text := err.Error(); {
	case errors.Is(err, errCoding):
		failure.Kind, failure.Detail = ErrNotHTTP, "the body is "+text
	case slices.ContainsFunc(misframed, func(part string) bool { return strings.Contains(text, part) }):
		failure.Kind = ErrNotHTTP
		failure.Detail = fmt.Sprintf("the body has invalid HTTP framing, after %s (%s)", after, text)
	}
	return failure
}

// misframed are parts of what net/http says of a body that it cannot follow.
var misframed = []string{"chunk", "malformed", "trailer", "header line too long"}
