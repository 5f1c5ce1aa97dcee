package issuer

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"net/url"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/login"
	"github.com/mcpconform/mcpconform/internal/oauth"
	"github.com/mcpconform/mcpconform/internal/protocol"
	. "github.com/mcpconform/mcpconform/internal/session"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/internal/wait"
)

// Landing is where an authorization request led.
type Landing struct {
	Request  *AuthorizationRequest
	Redirect *url.URL  // away from the authorization server; nil where there was none
	Response *Response // the last one, when there was no redirect; nil for none
	failure  string    // of the login command
	at       transcript.Place
}

// Code is the authorization code that came; "" for none.
func (l *Landing) Code() string { return l.Parameter("code") }

// Parameter is one of the authorization response; "" where there is none.
func (l *Landing) Parameter(name string) string {
	if l.Redirect == nil {
		return ""
	}
	return l.Redirect.Query().Get(name)
}

// Describe says in words where it led.
func (l *Landing) Describe() string {
	switch {
	case l.Redirect != nil && l.Parameter("error") != "":
		return "a redirect with the error " + Show(l.Parameter("error")) + " " + Show(l.Parameter("error_description"))
	case l.Redirect != nil:
		return "a redirect to " + withoutQuery(l.Redirect)
	case l.Response != nil && l.Response.ContentType == "text/html": // what it says is for people
		return "a page, " + StatusName(l.Response.Status)
	case l.Response != nil:
		return l.Response.Describe()
	}
	return l.failure
}

// Place is where the last response stands in the transcript.
func (l *Landing) Place() transcript.Place { return l.at }

func withoutQuery(address *url.URL) string {
	bare := *address
	bare.RawQuery, bare.Fragment = "", ""
	return bare.String()
}

const (
	// hintLogin is what to do about a page that a person would see.
	hintLogin = "let a command log in and consent: --login 'COMMAND {url}'"
	// mostRedirects within an authorization server: browsers follow as many.
	mostRedirects = 20
	// repliesToLogin is how many times longer than one reply a login may take.
	repliesToLogin = 10
)

// Visit makes an authorization request like a browser in which no user has logged in: it
// follows redirects within the authorization server, with cookies.
func (i *Issuer) Visit(request *AuthorizationRequest) *Landing {
	jar, _ := cookiejar.New(nil) // which never fails
	address := request.address(i.Endpoint("authorization_endpoint"))
	for range mostRedirects {
		at, err := url.Parse(address)
		if err != nil {
			break
		}
		header := http.Header{"Accept": {"text/html"}}
		for _, cookie := range jar.Cookies(at) {
			header.Add("Cookie", cookie.String())
		}
		answer := i.get(address, header, request.deliberate)
		jar.SetCookies(at, (&http.Response{Header: http.Header(answer.Header)}).Cookies())
		location := http.Header(answer.Header).Get("Location")
		if answer.Status < 300 || answer.Status > 399 || location == "" {
			return &Landing{Request: request, Response: answer, at: answer.At}
		}
		next, err := at.Parse(location)
		if err != nil {
			return &Landing{Request: request, Response: answer, at: answer.At}
		}
		if !oauth.SameOrigin(next.String(), URL(i.t)) && next.Host != at.Host || leadsTo(next, request) {
			return &Landing{Request: request, Redirect: next, at: answer.At}
		}
		address = next.String()
	}
	return &Landing{Request: request, failure: fmt.Sprintf("more than %d redirects", mostRedirects)}
}

// leadsTo tells whether an address is the redirect URI of a request.
func leadsTo(address *url.URL, request *AuthorizationRequest) bool {
	wanted, err := url.Parse(request.Params.Get("redirect_uri"))
	return err == nil && wanted.Host == address.Host && wanted.Path == address.Path
}

// Login makes an authorization request to which a user consents: the login command, if
// there is one, is started with the URL, makes some browser log in, and leads it to the
// redirect URI, where the harness listens; it may print that URL as a line instead. Without
// a command it is a Visit.
func (i *Issuer) Login(ctx context.Context, request *AuthorizationRequest) *Landing {
	command := harnessOf(i.t).Registration.Login
	if len(command) == 0 {
		return i.Visit(request)
	}
	state := stateOf(i.t)
	if state.hopeless != "" {
		return &Landing{Request: request, failure: state.hopeless}
	}
	address := request.address(i.Endpoint("authorization_endpoint"))
	waiting, cancel := wait.WithTimeout(ctx, repliesToLogin*i.ReplyTime())
	defer cancel()
	redirect, err := login.Run(waiting, command, address, request.Client.RedirectURI, state.callback)
	if _, late := errors.AsType[*login.TimeoutError](err); late && !state.loggedIn {
		state.hopeless = "the login command was not run: it did not reach the redirect URI before"
	}
	if err != nil {
		return &Landing{Request: request, failure: "the login command " + err.Error()}
	}
	state.loggedIn = true
	const stream = "login"
	i.Log().Append(transcript.Event{
		Kind: transcript.Head, Stream: stream, From: protocol.Client,
		HTTP: &transcript.HTTP{Method: http.MethodGet, URL: address}, Note: "given to the login command",
		Deliberate: request.deliberate,
	})
	landed := i.Log().Append(transcript.Event{
		Kind: transcript.Head, Stream: stream, From: protocol.AuthorizationServer,
		HTTP: &transcript.HTTP{Status: http.StatusFound, Header: http.Header{"Location": {redirect.String()}}},
		Note: "the last page that the login command reached",
	})
	return &Landing{Request: request, Redirect: redirect, at: i.Log().Place(landed)}
}

// redirectURI is that of the harness as a client.
func redirectURI(t *T) string {
	state, given := stateOf(t), harnessOf(t).Registration
	switch {
	case given.RedirectURI != "":
		return given.RedirectURI
	case given.ClientID != "" || len(given.Login) == 0: // no browser is led there
		return DefaultRedirect
	}
	if state.callback == nil {
		opened, err := login.Listen("127.0.0.1:0", callbackPath)
		if err != nil {
			t.Inconclusive("cannot listen on this machine: "+err.Error(), "give a redirect URI: --redirect-uri")
		}
		state.callback = opened
	}
	return "http://" + state.callback.Address + callbackPath
}

const callbackPath = "/callback"
