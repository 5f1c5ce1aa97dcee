// The seams of the client: where one of the deliberate mistakes of defects*.go takes the place
// of what is right. Read c.part.NAME as the function that goodParts names below, c.has(NAME) as
// false, and go on.

package client

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/oauth"
)

// parts are the places where a deliberate mistake can stand, each named after what happens
// there. A good client has what goodParts says in each.
type parts struct {
	newID               func(c *client, q question) jsonrpc.ID // the caller holds c.mu
	fallsBack           func(err error, modern bool) bool
	beforeConnecting    func(ctx context.Context, c *client) error
	discovers           func(ctx context.Context, c *client) (supported []string, modern bool, err error)
	reopens             func(ctx context.Context, h *streamableHTTP, revision string) error // a session that is over
	neverCancelled      func(method string) bool
	stopAnswering       func(c *client, id jsonrpc.ID, stop context.CancelFunc)
	refuses             func(c *client, method string, params, capability object) *rpcError
	nextCursor          func(page object) (string, bool)
	expand              func(template string, arguments object) (string, error)
	listGiven           func(of string) error // to its caller
	hasAPI              func(s step) error
	cacheKey            func(method string, params object) cacheKey
	resultCached        func(c *client, key cacheKey, ttl time.Duration)
	endpoint            func(stream, reference string) string // that an old server names
	dropsChangedLists   func() bool                           // when they have changed; the caller holds c.mu
	address             func(url string) string               // of a POST
	redirected          func(next *http.Request, before []*http.Request) error
	inputs              func(ctx context.Context, c *client, requests any) (object, error)
	unknownNotification func(c *client, notification string)
	checkOutput         func(t *tool, result object) error
	mirroredOf          func(schema any) ([]mirrored, error)
	shutDown            func(s *stdio, p *pipes)
	staysOnHTTPSSE      func(older *httpSSE) bool // for the next request
	auth                authParts
}

func goodParts() parts {
	return parts{
		newID:               nextID,
		resultCached:        func(*client, cacheKey, time.Duration) {},
		endpoint:            func(_, reference string) string { return reference },
		fallsBack:           fallsBack,
		neverCancelled:      neverCancelled,
		stopAnswering:       func(_ *client, _ jsonrpc.ID, stop context.CancelFunc) { stop() },
		refuses:             refusal,
		nextCursor:          nextCursor,
		expand:              expand,
		listGiven:           func(string) error { return nil },
		hasAPI:              func(step) error { return nil },
		beforeConnecting:    func(context.Context, *client) error { return nil },
		discovers:           func(ctx context.Context, c *client) ([]string, bool, error) { return c.discover(ctx) },
		reopens:             reopens,
		cacheKey:            keyOf,
		dropsChangedLists:   func() bool { return true },
		address:             func(url string) string { return url },
		redirected:          stays,
		inputs:              inputs,
		unknownNotification: func(*client, string) {},
		checkOutput:         checkOutput,
		mirroredOf:          mirroredOf,
		shutDown:            (*stdio).end,
		staysOnHTTPSSE:      hasStream,
		auth:                goodAuthParts(),
	}
}

// authParts are the same in authorization.
type authParts struct {
	discoversOwn     func(ctx context.Context, a *carrier) (*source, error) // at 2025-03-26
	ownEndpoints     func(base string) (serverMetadata, error)
	endpoints        func(ctx context.Context, a *carrier, from *source, said *resourceMetadata)
	challenge        func(http.Header) (oauth.Challenge, bool)
	resourcePlaces   func(server string, challenge oauth.Challenge) ([]string, error)
	serverPlaces     func(issuer string) ([]string, error)
	fitsResource     func(resource, server string) bool
	fitsIssuer       func(text, issuer string) bool
	provesPKCE       func(*serverMetadata) error
	checksURL        func(address string) error
	register         func(context.Context, *carrier, *source) (*registration, error)
	bindsTo          func(issuer string) string
	challenges       func(query url.Values, verifier string, from *source)
	fitsIss          func(given []string, from *source) error
	scopes           func(challenge oauth.Challenge, from *source, granted []string) []string
	authorizationURL func(address string) string // of an authorization URL
	knowsTokenType   func(tokenType string) bool
	roundTripper     func(http.RoundTripper) http.RoundTripper // all but requests to the server
	asserts          func(*assertion)
}

func goodAuthParts() authParts {
	return authParts{
		discoversOwn:     discoverOwn,
		ownEndpoints:     ownEndpoints,
		endpoints:        func(context.Context, *carrier, *source, *resourceMetadata) {},
		challenge:        bearer,
		resourcePlaces:   resourcePlaces,
		serverPlaces:     oauth.IssuerPlaces,
		fitsResource:     fitsResource,
		fitsIssuer:       func(text, issuer string) bool { return text == issuer },
		provesPKCE:       provesPKCE,
		checksURL:        opens,
		register:         register,
		bindsTo:          func(issuer string) string { return issuer },
		challenges:       challengeS256,
		fitsIss:          fitsIss,
		scopes:           scopesFor,
		authorizationURL: func(address string) string { return address },
		knowsTokenType:   bearerType,
		roundTripper:     func(base http.RoundTripper) http.RoundTripper { return base },
		asserts:          func(*assertion) {},
	}
}
