// Page basic/versioning, from 2026-07-28: which revision a server speaks, and of
// which era.

package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
)

// Keys of what a request says of itself.
const (
	metaVersion      = "io.modelcontextprotocol/protocolVersion"
	metaClient       = "io.modelcontextprotocol/clientInfo"
	metaCapabilities = "io.modelcontextprotocol/clientCapabilities"
	metaLogLevel     = "io.modelcontextprotocol/logLevel"
	metaServer       = "io.modelcontextprotocol/serverInfo"
	metaSubscription = "io.modelcontextprotocol/subscriptionId"
)

// clientInfo is what this client says that it is.
func clientInfo() object {
	return object{"name": "mcpconform-reference-client", "version": "1.0.0", "title": "mcpconform reference client"}
}

// introduce adds to the metadata of a request what every request says. The
// caller holds c.mu.
func (c *client) introduce(meta object) {
	revision := max(c.revision, Revision20260728) // which the probe is of
	meta[metaVersion] = revision
	meta[metaClient] = clientInfo()
	meta[metaCapabilities] = c.capabilities(revision)
	if c.logLevel != "" {
		meta[metaLogLevel] = c.logLevel
	}
}

// connect reaches the server and agrees with it on a revision.
func (c *client) connect(ctx context.Context, s step) (any, error) {
	if c.connection() != nil {
		return nil, errors.New("there is a connection already: close it first")
	}
	if err := c.part.beforeConnecting(ctx, c); err != nil {
		return nil, err
	}
	if err := c.reach(ctx); err != nil {
		return nil, err
	}
	wanted := cmp.Or(c.options.Only, s.Revision, c.options.Revision)
	if err := c.agree(ctx, wanted); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.part.remembersEras() {
		c.knownEra = c.revision
	}
	return object{"revision": c.revision, "serverInfo": c.peer.Info}, nil
}

// agree begins in the era of the revision that is wanted or, without one, in
// that which the server was found to be of, or in the newest.
func (c *client) agree(ctx context.Context, wanted string) error {
	c.mu.Lock()
	if wanted == "" {
		wanted = c.knownEra
	}
	c.mu.Unlock()
	if wanted != "" && wanted < Revision20260728 {
		return c.initialize(ctx, wanted)
	}
	supported, modern, err := c.part.discovers(ctx, c)
	switch {
	case err != nil && slices.Contains(c.revisions(), Revision20251125) && c.part.fallsBack(err, modern):
		c.log.Printf("the server does not answer server/discover, and is taken for one with a handshake: %v", err)
		return c.initialize(ctx, Revision20251125)
	case err != nil:
		return err
	case slices.Contains(supported, Revision20260728):
		return nil
	}
	return c.agreeOn(ctx, supported)
}

// agreeOn takes the newest revision of those that a server says it speaks.
func (c *client) agreeOn(ctx context.Context, supported []string) error {
	for _, revision := range slices.Backward(c.revisions()) {
		if revision < Revision20260728 && slices.Contains(supported, revision) {
			return c.initialize(ctx, revision)
		}
	}
	return fmt.Errorf("the server speaks %s, and this client only %s",
		strings.Join(supported, ", "), strings.Join(c.revisions(), ", "))
}

// discover asks what the server speaks. With an error it tells whether that is
// one by which servers of the stateless era are known.
func (c *client) discover(ctx context.Context) (supported []string, modern bool, err error) {
	timeout := c.options.Timeouts.Request
	if c.options.URL == "" {
		timeout = c.options.Timeouts.Probe
	}
	result, err := c.request(ctx, question{method: "server/discover", timeout: timeout})
	if refused, isRefused := asRPCError(err); isRefused {
		switch refused.Code {
		case jsonrpc.UnsupportedRevision:
			data, _ := refused.Data.(object)
			supported := texts(data["supported"])
			if slices.Contains(supported, Revision20260728) {
				return nil, true, fmt.Errorf("the server says that it speaks %s, and refuses it: %w",
					Revision20260728, err)
			}
			return supported, true, nil
		case jsonrpc.HeaderMismatch, jsonrpc.MissingCapability:
			return nil, true, err
		}
	}
	if err != nil {
		return nil, false, err
	}
	if kind := resultType(result); kind != complete {
		return nil, true, fmt.Errorf("the result of server/discover is of the type %q", kind)
	}
	supported = texts(result["supportedVersions"])
	if slices.Contains(supported, Revision20260728) {
		meta, _ := result["_meta"].(object)
		capabilities, _ := result["capabilities"].(object)
		_, err = c.adopt(Revision20260728, peer{Capabilities: capabilities, Info: meta[metaServer]})
	}
	return supported, true, err
}

func texts(value any) []string {
	list, _ := value.([]any)
	var all []string
	for _, one := range list {
		if text, isText := one.(string); isText {
			all = append(all, text)
		}
	}
	return all
}

// fallsBack tells whether server/discover ended as a server of the handshake era may end it:
// with an error, a 4xx status, a timeout, or its exit.
func fallsBack(err error, modern bool) bool {
	_, refused := asRPCError(err)
	_, silent := errors.AsType[*timeoutError](err)
	status, isStatus := errors.AsType[*statusError](err)
	exited := errors.Is(err, errRestarting)
	return !modern &&
		(refused || silent || exited || isStatus && status.code >= http.StatusBadRequest && status.code < http.StatusInternalServerError)
}
