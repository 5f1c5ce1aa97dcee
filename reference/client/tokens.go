// Page basic/authorization, "Authorization Flow Steps": the authorization code grant with
// PKCE and resource indicators, and refresh.

package client

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/oauth2"
)

// authorize lets the user grant access, and redeems the code.
func (a *carrier) authorize(ctx context.Context, from *source, as *registration, scopes []string) (*token, error) {
	auth := a.client.auth
	verifier, state := oauth2.GenerateVerifier(), oauth2.GenerateVerifier()
	query := a.aboutAccess(from, scopes)
	query.Set("response_type", "code")
	query.Set("client_id", as.ID)
	query.Set("redirect_uri", a.redirectURI())
	query.Set("state", state)
	auth.challenges(query, verifier, from)
	before := "?"
	if strings.Contains(from.metadata.Authorize, "?") {
		before = "&" // RFC 6749, section 3.1: the query of the endpoint stays
	}
	page := auth.authorizationURL(from.metadata.Authorize + before + query.Encode())
	if err := auth.checksURL(page); err != nil {
		return nil, err
	}
	answer, err := a.visit(ctx, page)
	if err != nil {
		return nil, err
	}
	if err := a.validate(answer, from, state); err != nil {
		return nil, err
	}
	form := a.aboutAccess(from, nil)
	form.Set("grant_type", "authorization_code")
	form.Set("code", answer.Get("code"))
	form.Set("code_verifier", verifier)
	form.Set("redirect_uri", a.redirectURI())
	issued, err := a.request(ctx, from, as, form, a.presents(form, from, as))
	switch {
	case err != nil:
		return nil, fmt.Errorf("the code was not redeemed: %w", err)
	case a.client.has("needs-refresh-token") && issued.Refresh == "":
		return nil, errors.New("the answer has no refresh token")
	case a.client.has("needs-expiry") && issued.ExpiresIn == nil:
		return nil, errors.New("the answer has no expires_in")
	}
	return issued, nil
}

// challengeS256 adds the challenge of PKCE to an authorization URL.
func challengeS256(query url.Values, verifier string, _ *source) {
	query.Set("code_challenge", oauth2.S256ChallengeFromVerifier(verifier))
	query.Set("code_challenge_method", "S256")
}

// aboutAccess are the parameters that say to what access is asked for.
func (a *carrier) aboutAccess(from *source, scopes []string) url.Values {
	all := url.Values{}
	resource := from.resource
	if a.client.has("resource-is-the-origin") {
		resource, _ = baseURL(resource)
	}
	if resource != "" {
		all.Set("resource", resource)
	}
	if len(scopes) > 0 {
		all.Set("scope", strings.Join(scopes, " "))
	}
	return all
}

// presents says who the client is: in the header, if it returns true, or in the form. It goes
// by how the client was registered or, if that does not say, by the metadata, of which the
// header is the default (RFC 7591, section 3.2.1; RFC 8414, section 2).
func (a *carrier) presents(form url.Values, from *source, as *registration) (basic bool) {
	const header = "client_secret_basic"
	methods := from.metadata.AuthMethods
	inHeader := as.Method == header || as.Method == "" && (len(methods) == 0 || slices.Contains(methods, header))
	if as.Secret != "" && inHeader || a.client.has("secret-always-in-header") {
		return true
	}
	form.Set("client_id", as.ID)
	if as.Secret != "" {
		form.Set("client_secret", as.Secret)
	}
	return false
}

// validate wants an answer of the authorization server that was asked, to what was asked.
func (a *carrier) validate(answer url.Values, from *source, state string) error {
	var refused error
	if code := answer.Get("error"); code != "" {
		refused = fmt.Errorf("the authorization server refused: %s: %s", code, answer.Get("error_description"))
	}
	if refused != nil && a.client.has("shows-wrong-errors") {
		return refused
	}
	knowsIss := a.client.opens() != Revision20250326
	if err := a.client.auth.fitsIss(answer["iss"], from); err != nil && knowsIss {
		return err // nothing else of the answer counts
	}
	switch {
	case answer.Get("state") != state && !a.client.has("state-unchecked"):
		return errors.New("the answer of the authorization server has another state than the request")
	case refused == nil && answer.Get("code") == "":
		return errors.New("the answer of the authorization server has no code")
	}
	return refused
}

// fitsIss compares the iss of an answer with the issuer that was asked, as RFC 9207,
// section 2.4 has it.
func fitsIss(given []string, from *source) error {
	switch {
	case len(given) == 0 && !from.metadata.NamesItself:
		return nil
	case len(given) == 0:
		return errors.New("the answer has no iss, which the authorization server said it sends")
	case len(given) > 1 || given[0] != from.issuer:
		return errors.New("the answer is of another issuer")
	}
	return nil
}

// bearerType tells whether the client knows how to use tokens of a type.
func bearerType(kind string) bool { return strings.EqualFold(kind, "Bearer") }

// refresh gets a token by the refresh token of another.
func (a *carrier) refresh(ctx context.Context, used *token, from *source) (*token, error) {
	form := a.aboutAccess(from, nil)
	form.Set("grant_type", "refresh_token")
	form.Set("refresh_token", used.Refresh)
	renewed, err := a.request(ctx, from, used.as, form, a.presents(form, from, used.as))
	if err == nil && (renewed.Refresh == "" || a.client.has("keeps-old-refresh-token")) {
		renewed.Refresh = used.Refresh
	}
	return renewed, err
}

// redirectURI is where the authorization server sends its answer.
func (a *carrier) redirectURI() string {
	switch given := a.client.options.Authorization; {
	case a.redirect != "":
	case given.Open != nil:
		a.callback, a.callbackErr = newCallback()
		if a.callback != nil {
			a.redirect = a.callback.address
		}
	case given.Redirect != "":
		a.redirect = given.Redirect
	default:
		a.redirect = defaultRedirect
	}
	return a.redirect
}

// visit lets the user go to an authorization URL, and returns the answer.
func (a *carrier) visit(ctx context.Context, address string) (url.Values, error) {
	if a.client.options.Authorization.Open != nil {
		return a.visitByBrowser(ctx, address)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	response, err := a.base.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	back, err := response.Location()
	if err != nil {
		return nil, fmt.Errorf("the authorization server does not redirect, but answers %s", response.Status)
	}
	return back.Query(), nil
}

func (a *carrier) visitByBrowser(ctx context.Context, address string) (url.Values, error) {
	if a.callbackErr != nil {
		return nil, a.callbackErr
	}
	if a.client.has("opens-by-shell") {
		readByShell(ctx, address)
	}
	if err := a.client.options.Authorization.Open(ctx, address); err != nil {
		return nil, err
	}
	timeout := time.NewTimer(a.client.options.Timeouts.Request)
	defer timeout.Stop()
	select {
	case answer := <-a.callback.answers:
		return answer, nil
	case <-timeout.C:
		return nil, errors.New("nobody came back from the authorization server")
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// A callback listens for answers of authorization servers that a browser brings.
type callback struct {
	address string
	answers chan url.Values
}

// headerTime bounds the wait for a request that has begun.
const headerTime = 10 * time.Second

// newCallback listens for as long as the process lives.
func newCallback() (*callback, error) {
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	c := &callback{address: "http://" + listener.Addr().String() + "/callback", answers: make(chan url.Values, 1)}
	server := &http.Server{ReadHeaderTimeout: headerTime, Handler: http.HandlerFunc(
		func(w http.ResponseWriter, r *http.Request) {
			select {
			case c.answers <- r.URL.Query():
			default: // one was brought already
			}
			_, _ = w.Write([]byte("You may close this page."))
		},
	)}
	go func() { _ = server.Serve(listener) }()
	return c, nil
}
