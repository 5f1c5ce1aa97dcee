package contact

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/mcpconform/mcpconform/internal/excerpt"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/internal/target"
	"github.com/mcpconform/mcpconform/internal/transport"
)

// targetError says in one line why the target could not be spoken to, with
// what it said on the way and what to do.
func targetError(ctx context.Context, to scripted.Target, visit *visit) error {
	if ctx.Err() != nil {
		visit.err = fmt.Errorf("initialize was not answered; %w", context.Cause(ctx))
	}
	if visit.connection == nil {
		return &TargetError{Reason: visit.err.Error()}
	}
	if to.Transport != protocol.Stdio {
		return &TargetError{Reason: httpReason(to.URL, visit), Unauthorized: isUnauthorized(visit.err)}
	}
	reason := fmt.Sprintf("%s does not speak MCP over stdio: %s", commandLine(to.Command), visit.err)
	received := visit.connection.Received(0)
	if noise := firstNoise(received); noise != "" {
		reason += "; on standard output it wrote " + noise + ", where only JSON-RPC messages are allowed"
	} else if len(received) > 0 && errors.Is(visit.err, scripted.ErrTimeout) {
		reason += fmt.Sprintf("; it sent %s, which does not answer it", excerpt.Short(received[0].Raw))
	}
	if errors.Is(visit.err, scripted.ErrTimeout) {
		reason += "; if it is slow to start, raise --timeout"
	}
	if stderr, _ := visit.connection.Stdio.Pipe.Process().Stderr(); len(stderr) > 0 {
		reason += "\nits standard error ended with:\n" + indent(excerpt.Stderr(string(stderr)))
	}
	return &TargetError{Reason: reason}
}

func commandLine(command target.Command) string { return strings.Join(command.Args, " ") }

// firstNoise returns the first line that is no JSON-RPC message.
func firstNoise(received []scripted.Received) string {
	for _, one := range received {
		if flaw, broken := one.Broken(); broken {
			return fmt.Sprintf("%q (%s)", excerpt.Short(one.Raw), flaw)
		}
	}
	return ""
}

func indent(text string) string { return "    " + strings.ReplaceAll(text, "\n", "\n    ") }

func httpReason(url string, visit *visit) string {
	if failed, is := errors.AsType[*transport.Error](visit.err); is && failed.Unconnected() {
		return fmt.Sprintf("cannot connect to %s: %s", url, failed.Reason())
	}
	if unposted, is := errors.AsType[*scripted.UnpostedError](visit.err); is {
		if status, is := errors.AsType[*scripted.StatusError](visit.err); is {
			if elsewhere := redirected(url, status); elsewhere != "" {
				return elsewhere
			}
		}
		return fmt.Sprintf(
			"%s does not speak HTTP with SSE: %s; give the URL of the stream, which often ends in /sse",
			url,
			unposted,
		)
	}
	var status *scripted.StatusError
	if !errors.As(visit.err, &status) || errors.Is(visit.err, scripted.ErrNoAnswer) {
		reason := fmt.Sprintf("%s does not speak MCP: %s", url, visit.err)
		if errors.Is(visit.err, scripted.ErrNoAnswer) {
			reason += "; give the URL of the MCP endpoint itself, which often ends in /mcp"
		}
		return reason
	}
	if elsewhere := redirected(url, status); elsewhere != "" {
		return elsewhere
	}
	header := http.Header(status.Header)
	switch {
	case status.Status == http.StatusUnauthorized: // in spite of a token
		return url + " refuses the access token (HTTP 401): " + refusedToken(header)
	case status.Status >= 300 && status.Status <= 399:
		return fmt.Sprintf("%s answers initialize with HTTP %d and names no other place in Location; "+
			"give the URL of the MCP endpoint itself, which often ends in /mcp", url, status.Status)
	case status.Status == http.StatusNotFound:
		return url + " answers HTTP 404; give the URL of the MCP endpoint itself, which often ends in /mcp"
	}
	return fmt.Sprintf("%s refuses initialize: %s", url, status)
}

// redirected says where a URL redirects to, which is not followed; "" where it does not.
func redirected(url string, by *scripted.StatusError) string {
	location := http.Header(by.Header).Get("Location")
	if by.Status < 300 || by.Status > 399 || location == "" {
		return ""
	}
	return fmt.Sprintf(
		"%s redirects (HTTP %d) to %s; give that URL, if it is the MCP endpoint",
		url,
		by.Status,
		excerpt.Short([]byte(location)),
	)
}
