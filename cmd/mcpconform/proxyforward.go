package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/mcpconform/mcpconform/internal/oauth"
	"github.com/mcpconform/mcpconform/internal/target"
	"github.com/mcpconform/mcpconform/reports"
)

// completeForward reads what goes with --forward.
func (p *proxying) completeForward(starts bool, arguments []string) error {
	host, _, err := net.SplitHostPort(p.listen)
	switch {
	case p.URL == "":
		return usageError("--forward needs --url URL, of the server whose traffic is recorded and judged")
	case p.serverHost:
		return usageError("--server-host has no use with --forward: clients name the server themselves")
	case p.rewrite:
		return usageError("--rewrite-metadata has no use with --forward: clients name the server themselves")
	case len(p.inject) > 0:
		return usageError("--inject does not work with --forward")
	case err == nil && !oauth.Loopback(host):
		return usageError(
			"--listen %s is reached from other machines: who reaches a forward proxy reaches what this machine reaches",
			p.listen,
		)
	}
	if starts {
		p.client = arguments
	} else if len(arguments) > 0 {
		return usageError("proxy takes no argument %q; the client follows --", arguments[0])
	}
	return nil
}

// telling tells each line once, and of very many different ones the first.
type telling struct {
	quiet bool

	mu   sync.Mutex
	told map[string]bool
}

// maxTold bounds the lines of which it is known that they were told.
const maxTold = 100

func (t *telling) tell(line string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.quiet || t.told[line] || len(t.told) == maxTold {
		return
	}
	if t.told == nil {
		t.told = map[string]bool{}
	}
	t.told[line] = true
	_, _ = fmt.Fprintf(stderr(), "%s %s\n", time.Now().Format(time.TimeOnly), reports.Visible(line))
}

// toldOf lets a client know of a forward proxy: the one that is run, or one that a person
// starts. wait returns how the client failed once it has ended, with which the proxy stops;
// forget removes what the client was told by.
func (p *proxying) toldOf(
	ctx context.Context,
	address string,
	authority []byte,
	stop context.CancelCauseFunc,
) (wait func() error, forget func(), err error) {
	directory, err := os.MkdirTemp("", "mcpconform-proxy-")
	if err != nil {
		return nil, nil, err
	}
	forget = func() { _ = os.RemoveAll(directory) } // nothing in it is secret
	environment, err := clientEnvironment(directory, address, authority)
	if err == nil && len(p.client) == 0 {
		_, _ = fmt.Fprintln(stderr(), "Start the client in an environment with")
		for _, one := range environment {
			_, _ = fmt.Fprintln(stderr(), "  export", shellWords([]string{one}))
		}
		return func() error { return nil }, forget, nil
	}
	if err == nil {
		wait, err = runClient(ctx, p.client, environment, stop)
	}
	if err != nil {
		forget()
	}
	return wait, forget, err
}

// clientGrace is how long a client has to end when it was asked to.
const clientGrace = 2 * time.Second

// runClient runs a client in the foreground of the terminal, if there is one: the proxy stops
// with it, and it with the proxy.
func runClient(
	ctx context.Context,
	words, environment []string,
	stop context.CancelCauseFunc,
) (wait func() error, err error) {
	client := exec.CommandContext(ctx, words[0], words[1:]...)
	client.Env = append(os.Environ(), environment...)
	client.Stdin, client.Stdout, client.Stderr = os.Stdin, os.Stdout, os.Stderr
	client.Cancel = func() error { return client.Process.Signal(syscall.SIGTERM) }
	client.WaitDelay = clientGrace
	if err := client.Start(); err != nil {
		return nil, notStarted(words[0], err)
	}
	ended := make(chan error, 1)
	go func() {
		failed := client.Wait()
		exit := target.ExitOf(client.ProcessState, failed)
		switch {
		case ctx.Err() != nil, exit.Signal == "" && exit.Code == 0:
			ended <- nil
		case exit.Signal != "":
			ended <- &exitError{Status: exitDoesNot, Message: "the client was " + exit.String()}
		default:
			ended <- &exitError{Status: exit.Code, Message: "the client " + exit.String()}
		}
		stop(nil)
	}()
	return func() error { return <-ended }, nil
}

// clientEnvironment is what makes clients use a proxy, and trust its authority, if it has
// one. What they trust otherwise they go on trusting: they reach other hosts through it.
func clientEnvironment(directory, address string, authority []byte) ([]string, error) {
	var all []string
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"} {
		all = append(all, name+"=http://"+address)
	}
	all = append(all, "NO_PROXY=", "no_proxy=", "NODE_USE_ENV_PROXY=1")
	if authority == nil {
		return all, nil
	}
	alone, together := filepath.Join(directory, "authority.pem"), filepath.Join(directory, "authorities.pem")
	if err := os.WriteFile(alone, authority, 0o600); err != nil {
		return nil, err
	}
	if err := os.WriteFile(together, append(trustedHere(), authority...), 0o600); err != nil {
		return nil, err
	}
	for _, name := range []string{trustFile, "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"} {
		all = append(all, name+"="+together)
	}
	return append(all, "NODE_EXTRA_CA_CERTS="+alone), nil
}

// trustFile names the file of the authorities that are trusted.
const trustFile = "SSL_CERT_FILE"

// maxTrusted bounds what is read of them, in bytes.
const maxTrusted = 16 << 20

// trustedHere are the authorities that this machine trusts, in PEM; none where no file has them.
func trustedHere() []byte {
	for _, path := range []string{
		os.Getenv(trustFile),
		"/etc/ssl/certs/ca-certificates.crt",                // Debian
		"/etc/pki/tls/certs/ca-bundle.crt",                  // Fedora
		"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", // CentOS
		"/etc/ssl/ca-bundle.pem",                            // openSUSE
		"/etc/ssl/cert.pem",                                 // Alpine, macOS, the BSDs
	} {
		if path == "" {
			continue
		}
		file, err := os.Open(filepath.Clean(path)) //nolint:gosec // the user names it
		if err != nil {
			continue
		}
		text, err := io.ReadAll(io.LimitReader(file, maxTrusted))
		_ = file.Close() // it was read
		if err == nil {
			return append(bytes.TrimRight(text, "\n"), '\n')
		}
	}
	return nil
}
