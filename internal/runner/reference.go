package runner

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcpconform/mcpconform/internal/program"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/references"
	"github.com/mcpconform/mcpconform/internal/target"
)

// reference is an embedded reference, started over HTTP.
type reference struct{ process *target.Process }

// referenceTimeout bounds the start of our own server.
const referenceTimeout = 20 * time.Second

// itself is the command that starts this binary with other arguments.
func (r *run) itself(arguments ...string) target.Command {
	return target.Command{
		Args: slices.Concat(r.options.Executable, arguments),
		Env:  []string{"GOGC=" + strconv.Itoa(program.Garbage)}, // much of a short life is spent before main
	}
}

// startReference starts this binary as a reference that listens on the loopback
// interface, and returns the URL of its first line.
func (r *run) startReference(ctx context.Context, arguments ...string) (string, error) {
	command := r.itself(slices.Concat([]string{"reference"}, arguments, []string{"--" + references.AttachedFlag})...)
	command.Orderly = true
	process, err := target.Start(command)
	if err != nil {
		return "", fmt.Errorf("starting the reference: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, referenceTimeout)
	defer cancel()
	first := make(chan string, 1)
	go func() {
		reader := bufio.NewReader(process.Stdout)
		line, _ := reader.ReadString('\n')
		first <- line
		_, _ = io.Copy(io.Discard, reader) // ends with the process
	}()
	select {
	case line := <-first:
		if _, url, found := strings.Cut(strings.TrimSpace(line), "http://"); found {
			r.reference = &reference{process}
			return "http://" + url, nil
		}
		err = fmt.Errorf("the reference did not say where it listens, but %q", line)
	case <-ctx.Done():
		err = fmt.Errorf("the reference did not start: %w", context.Cause(ctx))
	}
	_ = process.Close()
	return "", err
}

// stopReference ends the embedded reference, if there is one: at once when
// the context has ended.
func (r *run) stopReference(ctx context.Context) {
	if r.reference == nil {
		return
	}
	_, _ = r.reference.process.Shutdown(ctx, target.DefaultGrace) // our own: how it ended is not reported
	_ = r.reference.process.Close()
}

// ReferenceDocuments is the URL under which the embedded reference finds the client id
// metadata documents of the harness: no request leaves this machine for it.
const ReferenceDocuments = "https://client.mcpconform.example"

// DocumentsFlag tells a reference authorization server where it finds them in fact.
const DocumentsFlag = "documents-from"

// startIssuer starts the embedded reference, which finds documents where the harness will
// serve them.
func (r *run) startIssuer(ctx context.Context) (string, error) {
	address, err := FreeAddress(ctx)
	if err != nil {
		return "", err
	}
	r.options.Registration.Documents, r.options.Registration.DocumentsListen = ReferenceDocuments, address
	return r.startReference(ctx, "authorization-server", "--listen", "127.0.0.1:0", "--"+DocumentsFlag, address)
}

// Ports of FreeAddress: above those of services, below those that systems hand out to
// connections and listeners without a port, which could take it meanwhile.
const (
	firstPort = 20000
	lastPort  = 32767
	portTries = 100
)

// FreeAddress is one on this machine at which nothing listens yet.
func FreeAddress(ctx context.Context) (string, error) {
	var problem error
	for range portTries {
		port := firstPort + rand.IntN(lastPort-firstPort+1) //nolint:gosec // nobody has to guess it
		listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err == nil {
			return listener.Addr().String(), listener.Close()
		}
		problem = err
	}
	return "", problem
}

// startServer starts the embedded reference server, which serves all transports over HTTP.
func (r *run) startServer(ctx context.Context, transportName string) (string, error) {
	arguments := []string{"server", "--listen", "127.0.0.1:0"}
	if r.options.Trusted != "" {
		arguments = append(arguments, "--auth", r.options.Trusted)
	}
	endpoint, err := r.startReference(ctx, arguments...)
	if transportName == protocol.SSE {
		endpoint = strings.TrimSuffix(endpoint, "/mcp") + referenceStream
	}
	return endpoint, err
}

// referenceStream is the path of the stream of HTTP with SSE.
const referenceStream = "/sse"

// referenceClient is the command that starts the embedded reference client.
func (r *run) referenceClient(transportName string) target.Command {
	command := r.itself("reference", "client")
	if transportName == protocol.Stdio {
		command.Args = append(command.Args, "--")
	}
	return command
}
