package runner

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"

	"github.com/mcpconform/mcpconform/internal/conform"
	"github.com/mcpconform/mcpconform/internal/oauth"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/internal/survey"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/internal/transport"
	"github.com/mcpconform/mcpconform/internal/wait"
	"github.com/mcpconform/mcpconform/reports"
)

// meetIssuer makes first contact with a target authorization server: it answers, whatever
// with. It speaks no revision of MCP, and is checked at those that the user wants.
func (r *run) meetIssuer(ctx context.Context) error {
	to := scripted.Target{
		Transport: protocol.HTTP, URL: r.options.URL, Peer: protocol.AuthorizationServer,
		Header: r.options.Header, Reply: r.options.Timeout, Limits: r.limits(),
	}
	if to.URL == "" {
		var err error
		if to.URL, err = r.startIssuer(ctx); err != nil {
			return err
		}
	}
	if err := r.answers(ctx, to); err != nil {
		return err
	}
	for _, revision := range r.options.Revisions.choose(protocol.Checked(), nil) {
		state := &legState{planned: len(r.plan.Legs), findings: map[string]*found{}}
		state.report = reports.Leg{
			Role: r.options.Role, Revision: revision, Transport: protocol.HTTP, Spoken: true,
		}
		r.legs = append(r.legs, state)
		r.plan.Legs = append(r.plan.Legs, leg{
			Leg: conform.Leg{Role: r.options.Role, Revision: revision, Transport: protocol.HTTP},
			URL: to.URL, Header: to.Header, Reply: to.Reply, MaxMessage: to.Limits.Message,
			Survey: &survey.Survey{Revision: revision}, Registration: r.options.Registration,
		})
	}
	return nil
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
// whoever connects or listens without naming one, which could take it meanwhile.
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

// answers makes sure that something answers HTTP at the first place of metadata. The error
// is a *TargetError.
func (r *run) answers(ctx context.Context, to scripted.Target) error {
	places, err := oauth.IssuerPlaces(to.URL)
	if err != nil {
		return &TargetError{Reason: to.URL + " " + err.Error()}
	}
	connection, err := scripted.Dial(to, transcript.NewLogIn(r.budget, "contact"))
	if err != nil {
		return &TargetError{Reason: err.Error()}
	}
	defer closeAll(ctx, &visit{connection: connection})
	ctx, cancel := wait.WithTimeout(ctx, to.Reply)
	defer cancel()
	delivery := connection.HTTP.Exchange(transport.Request{Method: "GET", URL: places[0]})
	select {
	case <-delivery.Done():
		err = delivery.Err
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if delivery.Status == 0 {
		if late := context.Cause(ctx); late != nil && errors.Is(err, late) {
			return &TargetError{Reason: fmt.Sprintf("%s did not answer GET %s within %s", to.URL, places[0], to.Reply)}
		}
		return &TargetError{Reason: fmt.Sprintf("cannot connect to %s: %s", to.URL, err)}
	}
	return nil
}
