// Package authserver is a small, complete authorization server for MCP: the
// authorization code grant of OAuth 2.1 with PKCE, dynamic registration, client id
// metadata documents, resource indicators, refresh with rotation, iss in its answers,
// and metadata as RFC 8414 and OpenID Connect Discovery have it.
//
// It is for tests on one machine: who asks for authorization is given it at once, by a
// redirect, without a page in between. It is written to be read:
//
//	metadata.go   what it says of itself: metadata, JWKS
//	register.go   clients: registered, or documents of their own
//	authorize.go  the authorization request
//	token.go      the token request: codes, refresh tokens, client authentication
//	tokens.go     access tokens, and introspection
package authserver

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcpconform/mcpconform/internal/oauth"
)

// Options adjust a Server. The zero value of each member is that of a good server.
type Options struct {
	// Issuer is its URL, such as http://localhost:7788 or one with a path.
	Issuer string
	// Seed makes the same key each time. Empty: a new key.
	Seed string
	// Scopes that it grants. Empty: mcpconform:read and mcpconform:write.
	Scopes []string
	// Opaque access tokens have no meaning but by introspection; others are JWTs.
	Opaque bool
	// RSA gives it a second key, for RS256, which takes a moment to make.
	RSA bool
	// Life of an access token. Zero: ten minutes.
	Life time.Duration
	// Fetch gets client id metadata documents. Nil: over HTTPS, from public addresses.
	Fetch func(ctx context.Context, address string) (Document, error)
	// Defect makes it a bad server in one way, which is one of Defects(). Empty: none.
	Defect string
}

const (
	defaultLife = 10 * time.Minute
	codeLife    = time.Minute // ample for a redirect
	// most is how many clients, codes and tokens are kept, each: a test has a few.
	most = 10_000
)

// DefaultScopes are those of a server that was told no others.
func DefaultScopes() []string { return []string{"mcpconform:read", "mcpconform:write"} }

// Server is the authorization server. It is safe for concurrent use.
type Server struct {
	options Options
	base    *url.URL
	key     *oauth.Key // signs access tokens
	rsa     *oauth.Key // nil for none

	mu        sync.Mutex
	clients   map[string]*client
	documents map[string]Document // that are fresh, by their URL
	codes     map[string]*grant
	refresh   map[string]*grant
	opaque    map[string]map[string]any // what introspection says, by token
	revoked   map[string]bool
}

// New makes a server. It fails when the options ask for the impossible.
func New(options Options) (*Server, error) {
	if flaw := oauth.IssuerFlaw(options.Issuer); flaw != "" {
		return nil, fmt.Errorf("the issuer %q %s", options.Issuer, flaw)
	}
	base, err := url.Parse(options.Issuer)
	if err != nil {
		return nil, err
	}
	if options.Defect != "" && !slices.Contains(Defects(), options.Defect) {
		return nil, fmt.Errorf("the reference authorization server has no defect %q, only %s",
			options.Defect, strings.Join(Defects(), ", "))
	}
	options.Life = cmp.Or(options.Life, defaultLife)
	if len(options.Scopes) == 0 {
		options.Scopes = DefaultScopes()
	}
	if options.Fetch == nil {
		options.Fetch = fetchDocument
	}
	s := &Server{
		options:   options,
		base:      base,
		clients:   map[string]*client{},
		documents: map[string]Document{},
		codes:     map[string]*grant{},
		refresh:   map[string]*grant{},
		opaque:    map[string]map[string]any{},
		revoked:   map[string]bool{},
	}
	if options.Seed == "" {
		s.key, err = oauth.NewKey("es256", oauth.ES256)
	} else {
		s.key, err = oauth.KeyFromSeed("es256", options.Seed)
	}
	if err == nil && options.RSA {
		s.rsa, err = oauth.NewKey("rs256", oauth.RS256)
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Issuer is the URL by which the server is known.
func (s *Server) Issuer() string { return s.options.Issuer }

// Key signs its access tokens, by ES256.
func (s *Server) Key() *oauth.Key { return s.key }

// RSAKey is its other key, for RS256; nil where it has none.
func (s *Server) RSAKey() *oauth.Key { return s.rsa }

// at is the address of an endpoint.
func (s *Server) at(endpoint string) string {
	return strings.TrimSuffix(s.options.Issuer, "/") + "/" + endpoint
}

// Handler serves all endpoints.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	places, _ := oauth.IssuerPlaces(s.options.Issuer) // New has seen that it is a URL
	for _, place := range places {
		parsed, _ := url.Parse(place)
		mux.HandleFunc("GET "+parsed.EscapedPath(), s.metadata)
	}
	path := strings.TrimSuffix(s.base.EscapedPath(), "/")
	mux.HandleFunc("GET "+path+"/jwks", s.jwks)
	mux.HandleFunc("GET "+path+"/authorize", s.authorize)
	mux.HandleFunc("POST "+path+"/token", s.token)
	mux.HandleFunc("POST "+path+"/register", s.register)
	mux.HandleFunc("POST "+path+"/introspect", s.introspect)
	return mux
}

const (
	headerTimeout = 10 * time.Second
	maxHeader     = 64 << 10
	maxBody       = 64 << 10
)

// Serve serves on a listener, which it closes, until the context ends.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	server := &http.Server{Handler: s.Handler(), ReadHeaderTimeout: headerTimeout, MaxHeaderBytes: maxHeader}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() }) // nothing here takes long
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// an oauthError is an answer of the token or registration endpoint.
type oauthError struct {
	status      int
	code        string
	description string
}

func wrong(code, format string, args ...any) *oauthError {
	return &oauthError{http.StatusBadRequest, code, fmt.Sprintf(format, args...)}
}

func (e *oauthError) write(w http.ResponseWriter) {
	if e.status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Basic realm="token"`)
	}
	writeJSON(w, e.status, map[string]any{"error": e.code, "error_description": e.description})
}

func writeJSON(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(value) // a client that has left needs no answer
}

// keep adds something, or forgets all that is there when it is too much.
func keep[T any](in map[string]T, key string, value T) {
	if len(in) >= most {
		clear(in)
	}
	in[key] = value
}

// Defects lists what Options.Defect may be. What each does stands where it is done.
func Defects() []string {
	return []string{
		"answers-issuer-of-another", "cuts-states", "does-not-advertise-iss", "does-not-advertise-s256",
		"does-not-authenticate", "does-not-cache-documents", "does-not-compare-documents", "does-not-enforce-pkce",
		"does-not-rotate", "fetches-from-anywhere", "issues-for-other-resources", "names-another-issuer",
		"redeems-codes-twice", "redeems-for-other-clients", "redirects-anywhere", "redirects-beside-documents",
		"redirects-errors-anywhere", "redirects-to-prefixes", "registers-any-redirect-uri", "sends-no-iss",
		"takes-documents-without-a-name", "takes-no-verifier", "takes-rotated-tokens", "widens-scopes",
	}
}

// has tells whether the server has a defect.
func (s *Server) has(defect string) bool { return s.options.Defect == defect }

// secret makes a code, token or secret that cannot be guessed.
func secret(kind string) string { return kind + "-" + rand.Text() }
