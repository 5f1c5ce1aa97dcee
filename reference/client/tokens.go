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

// Requests that carry a resource.
const (
	atAuthorize = "authorize"
	atToken     = "token"
	atRefresh   = "refresh"
)

// authorize lets the user grant access, and redeems the code.
func (a *carrier) authorize(ctx context.Context, from *source, as *registration, scopes []string) (*token, error) {
	auth := a.client.part.auth
	config := a.config(from, as)
	config.Scopes = scopes
	verifier, state := oauth2.GenerateVerifier(), oauth2.GenerateVerifier()
	options := auth.challengeOf(verifier, from)
	if resource := auth.resource(atAuthorize, from); resource != "" {
		options = append(options, oauth2.SetAuthURLParam("resource", resource))
	}
	address := auth.authorizationURL(config.AuthCodeURL(state, options...))
	if err := auth.checksURL(address); err != nil {
		return nil, err
	}
	answer, err := a.visit(ctx, address)
	if err != nil {
		return nil, err
	}
	if err := a.validate(answer, from, state); err != nil {
		return nil, err
	}
	redeeming := []oauth2.AuthCodeOption{oauth2.VerifierOption(verifier)}
	if resource := auth.resource(atToken, from); resource != "" {
		redeeming = append(redeeming, oauth2.SetAuthURLParam("resource", resource))
	}
	issued, err := config.Exchange(context.WithValue(ctx, oauth2.HTTPClient, a.plain), answer.Get("code"), redeeming...)
	if err != nil {
		return nil, fmt.Errorf("the code was not redeemed: %w", plainly(err))
	}
	if !auth.knowsTokenType(issued.TokenType) {
		return nil, fmt.Errorf("the token has the unknown type %q", issued.TokenType)
	}
	if auth.needsRefresh && issued.RefreshToken == "" {
		return nil, errors.New("the answer has no refresh token")
	}
	if auth.needsExpiry && issued.Expiry.IsZero() {
		return nil, errors.New("the answer has no expires_in")
	}
	return &token{access: issued.AccessToken, refresh: issued.RefreshToken, from: from, as: as}, nil
}

// plainly tells what an authorization server said, without what it was sent.
func plainly(err error) error {
	if refused, is := errors.AsType[*oauth2.RetrieveError](err); is {
		return &refusalError{
			Code:        refused.ErrorCode,
			Description: refused.ErrorDescription,
			Status:      refused.Response.StatusCode,
		}
	}
	return err
}

func (a *carrier) config(from *source, as *registration) *oauth2.Config {
	return &oauth2.Config{
		ClientID: as.ID, ClientSecret: as.Secret, RedirectURL: a.redirectURI(),
		Endpoint: oauth2.Endpoint{
			AuthURL:   from.metadata.Authorize,
			TokenURL:  from.metadata.Token,
			AuthStyle: a.client.part.auth.style(from, as),
		},
	}
}

// styleOf tells where the secret goes: as the client was registered, or, if that does not
// say, as the metadata does, of which the header is the default (RFC 7591, section 3.2.1;
// RFC 8414, section 2).
func styleOf(from *source, as *registration) oauth2.AuthStyle {
	const basic = "client_secret_basic"
	methods := from.metadata.AuthMethods
	inHeader := as.Method == basic || as.Method == "" && (len(methods) == 0 || slices.Contains(methods, basic))
	if as.Secret != "" && inHeader {
		return oauth2.AuthStyleInHeader
	}
	return oauth2.AuthStyleInParams
}

// validate wants an answer of the authorization server that was asked, to what was asked.
func (a *carrier) validate(answer url.Values, from *source, state string) error {
	auth := a.client.part.auth
	if code := answer.Get("error"); code != "" && auth.readsErrorsFirst {
		return fmt.Errorf("the authorization server refused: %s: %s", code, answer.Get("error_description"))
	}
	knowsIss := a.client.opens() != Revision20250326
	if err := auth.fitsIss(answer["iss"], from); err != nil && knowsIss {
		return err // nothing else of the answer counts
	}
	if !auth.fitsState(answer.Get("state"), state) {
		return errors.New("the answer of the authorization server has another state than the request")
	}
	if code := answer.Get("error"); code != "" {
		return fmt.Errorf("the authorization server refused: %s: %s", code, answer.Get("error_description"))
	}
	if answer.Get("code") == "" {
		return errors.New("the answer of the authorization server has no code")
	}
	return nil
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
	form := url.Values{"grant_type": {"refresh_token"}, "refresh_token": {used.refresh}}
	if resource := a.client.part.auth.resource(atRefresh, from); resource != "" {
		form.Set("resource", resource)
	}
	config := a.config(from, used.as)
	if config.Endpoint.AuthStyle == oauth2.AuthStyleInParams {
		form.Set("client_id", used.as.ID)
		if used.as.Secret != "" {
			form.Set("client_secret", used.as.Secret)
		}
	}
	var who *registration
	if config.Endpoint.AuthStyle == oauth2.AuthStyleInHeader {
		who = used.as
	}
	var issued struct {
		Access  string `json:"access_token"`
		Refresh string `json:"refresh_token"`
		Type    string `json:"token_type"`
	}
	if err := a.post(ctx, from.metadata.Token, form, who, &issued); err != nil {
		return nil, err
	}
	if issued.Access == "" || !a.client.part.auth.knowsTokenType(issued.Type) {
		return nil, errors.New("the answer has no token that the client understands")
	}
	renewed := &token{access: issued.Access, refresh: issued.Refresh, from: from, as: used.as}
	if renewed.refresh == "" {
		renewed.refresh = used.refresh
	}
	return a.client.part.auth.tokenRefreshed(used, renewed), nil
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
	if err := a.client.part.auth.opensBrowser(ctx, a.client.options.Authorization.Open, address); err != nil {
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
