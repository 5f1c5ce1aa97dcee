// Page basic/lifecycle, up to 2025-11-25: the handshake that begins a session.

package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// reach prepares the way to the server.
func (c *client) reach(ctx context.Context) error {
	c.mu.Lock()
	c.closing = make(chan struct{})
	c.background = &sync.WaitGroup{}
	c.sessions++
	c.mu.Unlock()
	c.forgetServer()
	opened, err := c.way(ctx)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.transport = opened
	return nil
}

// way is the transport by which the server is reached.
func (c *client) way(ctx context.Context) (transport, error) {
	switch {
	case c.options.URL == "":
		return newStdio(ctx, c)
	case c.options.SSE && c.part.knowsHTTPSSE():
		return newHTTPSSE(c)
	}
	return newStreamableHTTP(c), nil
}

// forgetServer drops what was learned of a server in an earlier connection.
func (c *client) forgetServer() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.revision, c.peer, c.tools, c.logLevel = "", peer{}, nil, ""
	clear(c.listed)
	if c.knownEra < Revision20260728 {
		clear(c.cache)
	}
}

// initialize makes the handshake. A client that does not speak what the server
// answers leaves.
func (c *client) initialize(ctx context.Context, revision string) error {
	c.mu.Lock()
	capabilities := c.capabilities(revision)
	c.opening = revision
	c.mu.Unlock()
	hello := object{"protocolVersion": revision, "capabilities": capabilities, "clientInfo": clientInfo()}
	result, err := c.request(ctx, question{method: "initialize", params: hello})
	if err != nil {
		return err
	}
	version, isText := result["protocolVersion"].(string)
	if !isText {
		return errors.New("the server's answer to initialize has no protocolVersion")
	}
	if version >= Revision20260728 || !slices.Contains(c.revisions(), version) {
		return fmt.Errorf("the server speaks %q, and this client only %s", version, strings.Join(c.revisions(), ", "))
	}
	server, _ := result["capabilities"].(object)
	transport, err := c.adopt(version, peer{Capabilities: server, Info: result["serverInfo"]})
	if err != nil {
		return err
	}
	if err := c.initialized(ctx); err != nil {
		return err
	}
	transport.hear()
	return nil
}

// adopt keeps what the server has told of itself, and the revision that is spoken with it
// from now on, on the connection that it returns.
func (c *client) adopt(revision string, server peer) (transport, error) {
	c.mu.Lock()
	c.revision = revision
	c.peer = server
	connection := c.transport
	c.mu.Unlock()
	if connection == nil {
		return nil, errNotConnected
	}
	connection.agreed(revision)
	return connection, nil
}

// initialized says that the session can begin.
func (c *client) initialized(ctx context.Context) error {
	return c.notify(ctx, "notifications/initialized", nil)
}
