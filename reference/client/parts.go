// The seams of the client in authorization, where a deliberate mistake takes the place of what is
// right. Read c.auth.NAME as the function that goodAuthParts names below, and go on.

package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/mcpconform/mcpconform/internal/oauth"
)

// authParts are the places in authorization where a deliberate mistake can stand, each named
// after what happens there. A good client has what goodAuthParts says in each.
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
