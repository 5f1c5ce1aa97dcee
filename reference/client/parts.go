// The seams of the client: where one of the deliberate mistakes of defects*.go takes the place
// of what is right. Read c.part.NAME as the function that goodParts names below, and go on.

package client

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"time"

	"golang.org/x/oauth2"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/oauth"
)

// parts are the places where a deliberate mistake can stand, each named after what happens
// there. A good client has what goodParts says in each.
type parts struct {
	newID                 func(c *client, q question) jsonrpc.ID // the caller holds c.mu
	fallsBack             func(err error, modern bool) bool
	beforeConnecting      func(ctx context.Context, c *client) error
	discovers             func(ctx context.Context, c *client) (supported []string, modern bool, err error)
	remembersEras         func() bool
	reopens               func(ctx context.Context, h *streamableHTTP, revision string) error // a session that is over
	resumesBy             func() string                                                       // the HTTP method
	neverCancelled        func(method string) bool
	stopAnswering         func(c *client, id jsonrpc.ID, stop context.CancelFunc)
	requestCancelled      func(c *client, id jsonrpc.ID) // at the cancellation of a request of the server
	unhandled             func(capability string) *rpcError
	declares              func(capabilities object) // beside what is answered
	refuses               func(c *client, method string, params, capability object) *rpcError
	nextCursor            func(page object) (string, bool)
	expand                func(template string, arguments object) (string, error)
	listsAgain            func(of string) bool
	listGiven             func(of string) error // to its caller
	hasAPI                func(s step) error
	answersInputAgain     func() bool // a question of a task that was answered
	cacheKey              func(method string, params object) cacheKey
	cachesRetries         func() bool
	resultCached          func(c *client, key cacheKey, ttl time.Duration)
	restartsList          func() bool // a list whose cursor is not good any more
	endpoint              func(h *streamableHTTP, reference string) (string, error)
	dropsChangedLists     func() bool             // when they have changed; the caller holds c.mu
	dropsUpdatedResources func() bool             // which were read
	address               func(url string) string // of a POST
	redirected            func(next *http.Request, before []*http.Request) error
	headersOfInitialize   func(h *streamableHTTP) http.Header
	mediaRead             func(method, media string) string
	mediaOf               func(header string) string
	bodyRead              func(body []byte) []byte // of an answer in JSON
	framing               framing
	answeredBy            func(c *client, id jsonrpc.ID) *request // the caller holds c.mu
	kindOf                func(c *client, m jsonrpc.Message) jsonrpc.Kind
	elements              func(batch []json.RawMessage) []json.RawMessage // those that are read
	refusedPost           func(h *streamableHTTP, r *request, response *http.Response)
	checksSessionID       func(id string) error
	nextSessionID         func(before, id string) string
	acceptedHTTPSSE       func(response *http.Response) error
	acceptedPost          func(h *streamableHTTP, response *http.Response)  // what is no request
	streamRefused         func(c *client)                                   // by GET
	readsStream           func(stream *events) (next func() (event, error)) // of a request
	readLines             func(p *pipes, receive func([]byte), logf func(string, ...any)) error
	inputs                func(ctx context.Context, c *client, requests any) (object, error)
	subscribesAgain       func() bool
	renewedFilter         func(to object) object
	unknownAnswer         func(c *client) // the answer to no request
	unknownNotification   func(c *client, notification string)
	checkOutput           func(t *tool, result object) error
	mirroredOf            func(schema any) ([]mirrored, error)
	pollAfter             func(t task) time.Duration
	restarts              func() bool
	shutDown              func(s *stdio, p *pipes)
	renews                func(method string) bool
	waitsToReconnect      func(ctx context.Context, d time.Duration) error
	endSession            func(h *streamableHTTP)
	closesHTTPSSE         func() bool               // its stream, when it is done
	staysOnHTTPSSE        func(older *httpSSE) bool // for the next request
	knowsHTTPSSE          func() bool               // what it is told of the transport
	auth                  authParts
}

func goodParts() parts {
	return parts{
		newID:                 nextID,
		resultCached:          func(*client, cacheKey, time.Duration) {},
		restartsList:          always,
		endpoint:              (*streamableHTTP).endpoint,
		fallsBack:             fallsBack,
		neverCancelled:        neverCancelled,
		stopAnswering:         func(_ *client, _ jsonrpc.ID, stop context.CancelFunc) { stop() },
		requestCancelled:      func(*client, jsonrpc.ID) {},
		unhandled:             unhandled,
		declares:              func(object) {},
		refuses:               refusal,
		nextCursor:            nextCursor,
		expand:                expand,
		listsAgain:            func(string) bool { return true },
		listGiven:             func(string) error { return nil },
		hasAPI:                func(step) error { return nil },
		beforeConnecting:      func(context.Context, *client) error { return nil },
		discovers:             func(ctx context.Context, c *client) ([]string, bool, error) { return c.discover(ctx) },
		remembersEras:         always,
		reopens:               reopens,
		resumesBy:             func() string { return http.MethodGet },
		answersInputAgain:     never,
		cacheKey:              keyOf,
		cachesRetries:         never,
		dropsChangedLists:     always,
		dropsUpdatedResources: always,
		address:               func(url string) string { return url },
		redirected:            stays,
		headersOfInitialize:   func(*streamableHTTP) http.Header { return http.Header{} },
		mediaRead:             func(_, media string) string { return media },
		mediaOf:               mediaOf,
		bodyRead:              bytes.TrimSpace,
		framing:               goodFraming(),
		answeredBy:            func(c *client, id jsonrpc.ID) *request { return c.open[id] },
		kindOf:                func(_ *client, m jsonrpc.Message) jsonrpc.Kind { return m.Kind },
		elements:              func(batch []json.RawMessage) []json.RawMessage { return batch },
		refusedPost:           func(*streamableHTTP, *request, *http.Response) {},
		checksSessionID:       func(string) error { return nil },
		nextSessionID:         func(_, id string) string { return id },
		acceptedHTTPSSE:       func(*http.Response) error { return nil },
		acceptedPost:          func(*streamableHTTP, *http.Response) {},
		streamRefused:         func(*client) {},
		readsStream:           func(stream *events) func() (event, error) { return stream.next },
		readLines:             (*pipes).read,
		inputs:                inputs,
		subscribesAgain:       always,
		renewedFilter:         func(to object) object { return to },
		unknownAnswer:         func(*client) {},
		unknownNotification:   func(*client, string) {},
		checkOutput:           checkOutput,
		mirroredOf:            mirroredOf,
		pollAfter:             task.interval,
		restarts:              always,
		shutDown:              (*stdio).end,
		renews:                func(string) bool { return true },
		waitsToReconnect:      pause,
		endSession:            endSession,
		closesHTTPSSE:         always,
		staysOnHTTPSSE:        hasStream,
		knowsHTTPSSE:          always,
		auth:                  goodAuthParts(),
	}
}

func always() bool { return true }
func never() bool  { return false }

// authParts are the same in authorization.
type authParts struct {
	guessesIssuer              func(server string) *source                            // without asking; nil for nothing
	discoversOwn               func(ctx context.Context, a *carrier) (*source, error) // at 2025-03-26
	baseURL                    func(server string) (string, error)
	ownEndpoints               func(base string) (serverMetadata, error)
	namesRevision              func(revision string) http.Header
	endpoints                  func(ctx context.Context, a *carrier, from *source, said *resourceMetadata)
	tokenIssued                func(old, issued *token) *token
	needsRefresh               bool // no token without a refresh token
	needsExpiry                bool // no token that says not when it expires
	challenge                  func(http.Header) (oauth.Challenge, bool)
	resourcePlaces             func(server string, challenge oauth.Challenge) ([]string, error)
	serverPlaces               func(issuer string) ([]string, error)
	fitsResource               func(resource, server string) bool
	fitsIssuer                 func(text, issuer string) bool
	provesPKCE                 func(*serverMetadata) error
	checksURL                  func(address string) error
	opensBrowser               func(ctx context.Context, open func(context.Context, string) error, address string) error
	register                   func(context.Context, *carrier, *source) (*registration, error)
	bindsTo                    func(issuer string) string
	tokenForNewIssuer          func(used *token, to *source) *token // the server names another issuer
	challengeOf                func(verifier string, from *source) []oauth2.AuthCodeOption
	fitsState                  func(given, sent string) bool
	fitsIss                    func(given []string, from *source) error
	readsErrorsFirst           bool // before iss is compared
	resource                   func(at string, from *source) string
	scopes                     func(challenge oauth.Challenge, from *source, granted []string) []string
	authorizationURL           func(address string) string // of an authorization URL
	stepsUp                    func(attempt int) bool
	stepsUpByRefresh           bool                   // for more scopes, where there is a refresh token
	refreshesTwice             bool                   // as two requests do that are refused at once
	retriesRefused             func(attempt int) bool // a request that was refused
	reusesRefusedRefreshToken  bool                   // on a refresh token that was refused
	reportsRefusedRefreshToken bool                   // that one was refused, and does no more for the request
	knowsTokenType             func(tokenType string) bool
	tokenRefreshed             func(old, renewed *token) *token
	carries                    func(r *http.Request, access string)
	style                      func(*source, *registration) oauth2.AuthStyle
	roundTripper               func(http.RoundTripper) http.RoundTripper // all but requests to the server
	grant                      func(*carrier) grantType
	asserts                    func(*assertion)
	identifies                 func(form url.Values, as *registration) (basic bool)
	writesAssertion            func(form url.Values, signed string)
	readsRegistration          func(as *registration) *registration // of what a registration brought
}

func goodAuthParts() authParts {
	return authParts{
		discoversOwn: discoverOwn, baseURL: baseURL, ownEndpoints: ownEndpoints, namesRevision: namesRevision,
		challenge:      bearer,
		resourcePlaces: resourcePlaces,
		serverPlaces:   oauth.IssuerPlaces,
		fitsResource:   fitsResource,
		fitsIssuer:     func(text, issuer string) bool { return text == issuer },
		provesPKCE:     provesPKCE,
		checksURL:      opens,
		opensBrowser: func(ctx context.Context, open func(context.Context, string) error, address string) error {
			return open(ctx, address)
		},
		register:          register,
		bindsTo:           func(issuer string) string { return issuer },
		tokenForNewIssuer: func(*token, *source) *token { return nil },
		challengeOf: func(v string, _ *source) []oauth2.AuthCodeOption {
			return []oauth2.AuthCodeOption{oauth2.S256ChallengeOption(v)}
		},
		endpoints:         func(context.Context, *carrier, *source, *resourceMetadata) {},
		tokenIssued:       func(_, issued *token) *token { return issued },
		fitsState:         func(given, sent string) bool { return given == sent },
		fitsIss:           fitsIss,
		resource:          func(_ string, from *source) string { return from.resource },
		scopes:            scopesFor,
		authorizationURL:  func(address string) string { return address },
		stepsUp:           func(attempt int) bool { return attempt <= maxRaised },
		retriesRefused:    func(attempt int) bool { return attempt < maxRefusals },
		knowsTokenType:    bearerType,
		tokenRefreshed:    func(_, renewed *token) *token { return renewed },
		carries:           carry,
		style:             styleOf,
		roundTripper:      func(base http.RoundTripper) http.RoundTripper { return base },
		grant:             grantOf,
		asserts:           func(*assertion) {},
		identifies:        identify,
		writesAssertion:   present,
		readsRegistration: func(as *registration) *registration { return as },
	}
}
