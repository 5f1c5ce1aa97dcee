// Pages basic/authorization: finding the authorization server (discovery.go), a client id
// (registration.go), tokens (tokens.go), and the requests that carry them.

package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/mcpconform/mcpconform/internal/oauth"
)

// Credentials are those of a client that an authorization server knows already.
type Credentials struct {
	ID     string `json:"client_id"`
	Secret string `json:"client_secret"`
	Issuer string `json:"issuer"` // that gave them; "" if unknown

	// What they are for: its beginning tells of client credentials.
	Name string `json:"name"`
	// Key in PKCS #8, and the algorithm that it signs by, instead of a secret.
	Key       string `json:"private_key_pem"`
	Algorithm string `json:"signing_algorithm"`
	// What an identity provider said of the user, and where it issues grants for that.
	IdentityToken string `json:"idp_id_token"`
	Exchange      string `json:"idp_token_endpoint"`
	IdentityID    string `json:"idp_client_id"`
}

// Authorization says how the client authorizes.
type Authorization struct {
	// Credentials of the client, where it was registered beforehand.
	Credentials Credentials
	// Document is the URL of the client id metadata document. Empty: none.
	Document string
	// Redirect is the redirect URI. Empty: where nothing needs to listen, since the
	// answer is read where the authorization server redirects.
	Redirect string
	// Open lets the user go to an authorization URL. Where it is nil, the client goes
	// there by itself, and reads where it is redirected.
	Open func(ctx context.Context, address string) error
}

// defaultRedirect is where clients of the conformance suites are redirected to.
const defaultRedirect = "http://localhost:3000/callback"

// maxRefusals bounds how often one request is sent again with another token.
const maxRefusals = 3

// A carrier carries requests to the server with a token, once the server asks for one.
type carrier struct {
	client *client
	base   http.RoundTripper
	plain  *http.Client // for all but requests to the server

	mu          sync.Mutex // of a flow: one at a time
	known       map[string]*registration
	token       *token
	granted     []string       // scopes, of this authorization server
	raised      map[string]int // how often more scopes were asked for, by operation
	callback    *callback
	callbackErr error
	redirect    string
}

// A token is what the client was given.
type token struct {
	access, refresh string
	from            *source
	as              *registration
}

func newCarrier(c *client, base http.RoundTripper) *carrier {
	a := &carrier{client: c, base: base, known: map[string]*registration{}, raised: map[string]int{}}
	a.plain = &http.Client{Transport: c.part.auth.roundTripper(base), CheckRedirect: sameOrigin}
	return a
}

// RoundTrip sends a request with the token that there is. When the server refuses it, the
// client authorizes, and sends it again.
func (a *carrier) RoundTrip(r *http.Request) (*http.Response, error) {
	for attempt := 0; ; attempt++ {
		used := a.current()
		sent := r.Clone(r.Context())
		if attempt > 0 && r.GetBody != nil {
			sent.Body, _ = r.GetBody() // of bytes
		}
		if used != nil {
			a.client.part.auth.carries(sent, used.access)
		}
		response, err := a.base.RoundTrip(sent)
		if err != nil {
			return response, err
		}
		challenge, asks := a.asks(response)
		if !asks || !a.client.part.auth.retriesRefused(attempt) {
			return response, nil
		}
		if response.StatusCode == http.StatusForbidden && !a.mayRaise(operation(r)) {
			return response, nil
		}
		_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, maxRefusal))
		_ = response.Body.Close()
		if err := a.obtain(r.Context(), used, challenge, response.StatusCode == http.StatusForbidden); err != nil {
			return nil, fmt.Errorf("the server answers with HTTP status %d, and the client is not authorized: %w",
				response.StatusCode, err)
		}
	}
}

// CloseIdleConnections closes what is open and not in use.
func (a *carrier) CloseIdleConnections() { a.plain.CloseIdleConnections() }

func (a *carrier) current() *token {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.token
}

// asks tells whether a response asks for authorization, and how.
func (a *carrier) asks(response *http.Response) (oauth.Challenge, bool) {
	challenge, found := a.client.part.auth.challenge(response.Header)
	switch response.StatusCode {
	case http.StatusUnauthorized:
		return challenge, true
	case http.StatusForbidden:
		reason, _ := challenge.Get("error")
		return challenge, found && reason == "insufficient_scope"
	}
	return challenge, false
}

// bearer finds the challenge that the client can answer.
func bearer(header http.Header) (oauth.Challenge, bool) {
	challenge, found, _ := oauth.Bearer(header)
	return challenge, found
}

// operation is what a request does, as far as scopes are concerned.
func operation(r *http.Request) string {
	return r.Method + " " + r.Header.Get("Mcp-Method") + r.Header.Get("Mcp-Name") + bodyOf(r)
}

// bodyOf is a message without its id, in which a retry differs.
func bodyOf(r *http.Request) string {
	if r.GetBody == nil {
		return ""
	}
	body, err := r.GetBody()
	if err != nil {
		return ""
	}
	text, _ := io.ReadAll(body)
	_, params, _ := strings.Cut(string(text), `"method"`)
	return params
}

// maxRaised is how often more scopes are asked for, for one operation.
const maxRaised = 2

// mayRaise tells whether more scopes may be asked for once more, and counts that.
func (a *carrier) mayRaise(operation string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.raised[operation]++
	return a.client.part.auth.stepsUp(a.raised[operation])
}

// obtain gets a token in place of one that was refused.
func (a *carrier) obtain(ctx context.Context, used *token, challenge oauth.Challenge, scopes bool) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.token != used {
		return nil // another request has replaced it meanwhile
	}
	from, err := a.discover(ctx, challenge)
	if err != nil {
		return err
	}
	old := used
	if used != nil && used.from.issuer != from.issuer {
		used = a.client.part.auth.tokenForNewIssuer(used, from)
		a.granted = nil
	}
	if used != nil && used.refresh != "" && (!scopes || a.client.part.auth.stepsUpByRefresh) {
		renewed, err := a.refresh(ctx, used, from)
		if a.client.part.auth.refreshesTwice {
			if again, err := a.refresh(ctx, used, from); err == nil {
				renewed = again
			}
		}
		if err == nil {
			a.token = renewed
			return nil
		}
		a.client.log.Printf("the token cannot be refreshed: %v", err)
		switch {
		case a.client.part.auth.reusesRefusedRefreshToken:
			return err
		case a.client.part.auth.reportsRefusedRefreshToken:
			a.token = nil
			return err
		}
	}
	a.token = nil
	as, err := a.registered(ctx, from)
	if err != nil {
		return err
	}
	wanted := a.client.part.auth.scopes(challenge, from, a.granted)
	issued, err := a.client.part.auth.grant(a)(ctx, from, as, wanted)
	if err != nil {
		return err
	}
	a.token = a.client.part.auth.tokenIssued(old, issued)
	a.granted = union(a.granted, wanted)
	return nil
}

// scopesFor are those of the challenge, or else all that the server lists, beside those
// that were granted.
func scopesFor(challenge oauth.Challenge, from *source, granted []string) []string {
	scope, there := challenge.Get("scope")
	if there {
		return union(granted, oauth.Scopes(scope))
	}
	return union(granted, from.scopes)
}

func union(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}

// carry puts a token where it belongs.
func carry(r *http.Request, access string) { r.Header.Set("Authorization", "Bearer "+access) }

// errRedirect is why a redirect was not followed.
var errRedirect = errors.New("a redirect to another origin is not followed")

// maxRedirects bounds the redirects of metadata.
const maxRedirects = 3

// sameOrigin follows redirects within an origin, and few of them.
func sameOrigin(next *http.Request, before []*http.Request) error {
	if len(before) > maxRedirects || !oauth.SameOrigin(next.URL.String(), before[0].URL.String()) {
		return errRedirect
	}
	return nil
}

// bodyLimit bounds documents and answers about authorization.
const bodyLimit = 1 << 20
