package runner

import (
	"context"
	"errors"
	"slices"

	"github.com/mcpconform/mcpconform/internal/contact"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/internal/survey"
	"github.com/mcpconform/mcpconform/internal/target"
	"github.com/mcpconform/mcpconform/internal/transport"
)

// opened is a connection of the first contact that belongs to a cell.
type opened struct {
	cell       int // in the plan
	connection *scripted.Connection
}

// repliesToStart is how many times longer than others an answer may take as long as
// nothing has come from the target (by default a minute): a package runner may be
// downloading it, a virtual machine warming up.
const repliesToStart = 12

// meeting says what first contact does.
func (r *run) meeting() string {
	what := "the " + r.options.Role
	switch {
	case r.options.URL != "":
		return "connecting to " + what
	case len(r.options.Command.Args) == 0:
		what = "the reference"
	}
	return "starting " + what
}

// meet makes first contact over each transport, and adds the cells that are to be reported on.
func (r *run) meet(ctx context.Context) error {
	meetOver := map[string]func(context.Context, scripted.Target) (speaks []string, err error){
		protocol.ServerRole: r.meetServer, protocol.ClientRole: r.meetClient,
		protocol.AuthorizationServerRole: r.meetIssuer,
	}[r.options.Role]
	transports := r.options.Transports
	if r.options.Role == protocol.AuthorizationServerRole {
		transports = []string{protocol.HTTP} // it has no other
	}
	for _, transport := range transports {
		to, err := r.reach(ctx, transport)
		if err != nil {
			return err
		}
		speaks, err := meetOver(ctx, to)
		if err != nil {
			return err
		}
		if len(r.cells) == 0 && r.chosen != nil {
			return r.unchosen(speaks)
		}
	}
	return nil
}

func (r *run) meetServer(ctx context.Context, to scripted.Target) ([]string, error) {
	access, err := r.gainAccess(ctx, &to)
	if err != nil {
		return nil, err
	}
	found, err := contact.Server(ctx, to, r.contact(to.Transport))
	if r.fallsBack(ctx, to, err) {
		to.Transport, r.options.Transports, r.options.falls = protocol.SSE, []string{protocol.SSE}, false
		return r.meetServer(ctx, to)
	}
	if refused, is := errors.AsType[*contact.TargetError](err); is && refused.Unauthorized && r.options.Mint != nil {
		to.Header = nil // all that shows is what it says to those without a token
		found, err = contact.Server(ctx, to, r.contact(to.Transport))
	}
	if err != nil {
		return nil, err
	}
	if found.Crash != nil {
		r.addCrash(to.Transport, found.Crash)
	}
	r.addCells(ctx, to, found, access)
	return found.Speaks, nil
}

func (r *run) meetClient(ctx context.Context, to scripted.Target) ([]string, error) {
	found, err := contact.Client(ctx, to, r.contact(to.Transport))
	if err != nil {
		return nil, err
	}
	r.addCells(ctx, to, found, nil)
	return found.Speaks, nil
}

// meetIssuer makes first contact with an authorization server. It is checked at those
// revisions that the user wants.
func (r *run) meetIssuer(ctx context.Context, to scripted.Target) ([]string, error) {
	if err := contact.Issuer(ctx, to, r.budget); err != nil {
		return nil, err
	}
	for _, revision := range r.revisions() {
		one := &contact.Opening{Revision: revision, Spoken: true, Survey: &survey.Survey{Revision: revision}}
		planned := cellFor(r.options.Role, to, one)
		planned.Registration = r.options.Registration
		r.addCell(one, planned, "")
	}
	return nil, nil
}

// fallsBack tells whether a URL that is no endpoint of Streamable HTTP is the stream of HTTP with
// SSE, as clients are to find out (2025-03-26, basic/transports#backwards-compatibility).
func (r *run) fallsBack(ctx context.Context, to scripted.Target, err error) bool {
	refused, is := errors.AsType[*contact.TargetError](err)
	return is && r.options.falls && !refused.Unauthorized && r.options.Revisions.Over(protocol.SSE).Any() &&
		contact.Streams(ctx, to, r.budget)
}

// revisions are those at which a target that was not asked is to be checked: an authorization
// server only where there is authorization, unless the user names another.
func (r *run) revisions() []string {
	chosen := r.options.Revisions.Choose(protocol.Released(), nil)
	if r.options.Revisions.Named() || r.options.Role != protocol.AuthorizationServerRole {
		return chosen
	}
	return slices.DeleteFunc(
		chosen,
		func(revision string) bool { return !protocol.Has(revision, protocol.Authorization) },
	)
}

// contact says what first contact is for.
func (r *run) contact(transport string) contact.Options {
	return contact.Options{
		Revisions: r.options.Revisions.Over(transport), Budget: r.budget, Flaw: r.flawIn, Shown: cut,
		Served: r.options.Served, Process: r.process, Sockets: r.plan.Sockets,
	}
}

// reach says how the target is reached over a transport, and starts the embedded reference
// where there is no other target.
func (r *run) reach(ctx context.Context, transportName string) (to scripted.Target, err error) {
	to = scripted.Target{
		Transport: transportName, Command: r.options.Command, URL: r.options.URL,
		Header: r.options.Header, Reply: r.options.Timeout, Limits: transport.Limits{Message: r.options.MaxMessage},
	}
	switch r.options.Role {
	case protocol.AuthorizationServerRole:
		to.Peer, to.Command = protocol.AuthorizationServer, target.Command{}
		if to.URL == "" {
			to.URL, err = r.startIssuer(ctx)
		}
	case protocol.ClientRole:
		to.URL, to.Header, to.Start = "", nil, repliesToStart*to.Reply
		if transportName == protocol.Stdio {
			r.plan.Sockets, err = transport.SocketDirectory()
		}
		if len(to.Command.Args) == 0 {
			to.Command = r.referenceClient(transportName)
		}
	default:
		to.Start, to.Pace = repliesToStart*to.Reply, &transport.Pace{}
		switch {
		case to.URL != "" || len(to.Command.Args) > 0:
		case transportName == protocol.Stdio:
			to.Command = r.itself("reference", "server", "--stdio")
		default:
			to.URL, err = r.startServer(ctx, transportName)
		}
	}
	return to, err
}
