// Package login has a command log in at an authorization server in the place of a person,
// and listens where the browser of that command is redirected to. It judges nothing.
package login

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/mcpconform/mcpconform/internal/excerpt"
	"github.com/mcpconform/mcpconform/internal/oauth"
	"github.com/mcpconform/mcpconform/internal/target"
)

// URLPlace is where the authorization URL stands in a login command.
const URLPlace = "{url}"

// Callback listens where browsers are redirected to.
type Callback struct {
	Address string // HOST:PORT
	server  *http.Server
	came    chan *url.URL
}

const callbackTimeout = 10 * time.Second // to read the request

// Listen waits for redirects to a path at an address on this machine. Close must be called.
func Listen(address, path string) (*Callback, error) {
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", address)
	if err != nil {
		return nil, err
	}
	c := &Callback{Address: listener.Addr().String(), came: make(chan *url.URL, 1)}
	c.server = &http.Server{ReadHeaderTimeout: callbackTimeout, Handler: http.HandlerFunc(
		func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodGet || r.URL.Path != path {
				http.NotFound(w, r)
				return
			}
			came := *r.URL
			came.Scheme, came.Host = "http", r.Host
			select {
			case c.came <- &came:
			default: // one is enough
			}
			_, _ = io.WriteString(w, "mcpconform has the authorization response. This page can be closed.\n")
		},
	)}
	go func() { _ = c.server.Serve(listener) }() // until close
	return c, nil
}

// Close ends it.
func (c *Callback) Close() { _ = c.server.Close() }

// TimeoutError says that a command led no browser to the redirect URI in time.
type TimeoutError struct{ reason string }

func (e *TimeoutError) Error() string { return e.reason }

// Run starts a command with an authorization URL, where URLPlace stands or behind its
// arguments, and waits until it has led a browser to the redirect URI, or has printed where
// it was redirected to as a line. Without a callback one listens for that time, where the
// redirect URI is on this machine. The error reads on behind "the login command".
func Run(ctx context.Context, command []string, address, redirectURI string, listening *Callback) (*url.URL, error) {
	if listening == nil {
		parsed, err := url.Parse(redirectURI)
		if err != nil || !oauth.Loopback(parsed.Hostname()) || parsed.Scheme != "http" {
			listening = &Callback{} // the command prints where it was led
		} else if listening, err = Listen(parsed.Host, parsed.Path); err != nil {
			return nil, fmt.Errorf("cannot lead to %s: %w", redirectURI, err)
		} else {
			defer listening.Close()
		}
	}
	select {
	case <-listening.came: // of a login that was given up
	default:
	}
	process, err := target.Start(target.Command{Args: arguments(command, address)})
	if err != nil {
		return nil, fmt.Errorf("cannot be started: %w", err)
	}
	defer func() { _ = process.Close() }() // it is not needed any more
	printed := make(chan *url.URL, 1)
	go readRedirect(process.Stdout, redirectURI, printed)
	done := process.Done()
	for {
		select {
		case came := <-listening.came:
			return came, nil
		case came := <-printed:
			return came, nil
		case <-done:
			if exit := process.Exit(); exit != (target.Exit{}) {
				stderr, _ := process.Stderr()
				return nil, fmt.Errorf("%s: %s", exit.Past(), excerpt.Short(stderr))
			}
			done = nil // it may have opened a browser
		case <-ctx.Done():
			return nil, &TimeoutError{"led nobody to " + redirectURI + " in time"}
		}
	}
}

// arguments puts the URL where it belongs.
func arguments(command []string, address string) []string {
	words, placed := make([]string, len(command)), false
	for at, one := range command {
		words[at] = strings.ReplaceAll(one, URLPlace, address)
		placed = placed || words[at] != one
	}
	if !placed {
		words = append(words, address)
	}
	return words
}

// readRedirect looks for the redirect URI in what a command prints, to its end.
func readRedirect(output io.Reader, redirectURI string, found chan<- *url.URL) {
	reader := bufio.NewReader(output)
	for {
		line, err := reader.ReadString('\n')
		if line = strings.TrimSpace(line); strings.HasPrefix(line, redirectURI+"?") {
			if parsed, flaw := url.Parse(line); flaw == nil {
				select {
				case found <- parsed:
				default:
				}
			}
		}
		if err != nil {
			return
		}
	}
}
