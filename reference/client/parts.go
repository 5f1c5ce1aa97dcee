// The seams of the client: where one of the deliberate mistakes of defects*.go takes the place
// of what is right. Read c.part.NAME as the function that goodParts names below, c.has(NAME) as
// false, and go on.

package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/oauth"
)

// parts are the places where a deliberate mistake can stand, each named after what happens
// there. A good client has what goodParts says in each.
type parts struct {
	newID      func(c *client, q question) jsonrpc.ID // the caller holds c.mu
	nextCursor func(page object) (string, bool)
	listGiven  func(of string) error   // to its caller
	address    func(url string) string // of a POST
	inputs     func(ctx context.Context, c *client, requests any) (object, error)
	auth       authParts
}

func goodParts() parts {
	return parts{
		newID:      nextID,
		nextCursor: nextCursor,
		listGiven:  func(string) error { return nil },
		address:    func(url string) string { return url },
		inputs:     inputs,
		auth:       goodAuthParts(),
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
