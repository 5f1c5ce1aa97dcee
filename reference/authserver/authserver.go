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
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
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
	parts

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
	if options.Life == 0 {
		options.Life = defaultLife
	}
	if len(options.Scopes) == 0 {
		options.Scopes = DefaultScopes()
	}
	if options.Fetch == nil {
		options.Fetch = fetchDocument
	}
	s := &Server{
		options:   options,
		base:      base,
		parts:     good(),
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
	return s, s.spoil(options.Defect)
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

// parts are what a defect replaces.
type parts struct {
	redirectFits  func(registered []string, asked string) bool
	redirectsAll  bool // errors go to any redirect URI
	codeOnce      bool
	provesPKCE    func(challenge, method, verifier string) bool
	demandsPKCE   bool
	rotates       bool
	issuerOf      func(issuer string) string // in answers; "" for none
	saysIss       bool
	named         func(issuer string) string // in metadata
	challenges    []string                   // code_challenge_methods_supported; nil for none
	documentFits  func(document, address string) bool
	demandsAuth   bool // of confidential clients
	takesResource func(wanted, registered string) bool
	bindsClient   bool // codes and refresh tokens are good for one client alone
	endsRotated   bool // refresh tokens that were rotated are refused
	narrowsScope  bool // a refresh grants no scope that was not granted before
	stateOf       func(asked string) string
	caches        bool                                         // client id metadata documents
	publicOnly    bool                                         // is where such documents are fetched from
	wholeOnly     bool                                         // documents that lack a member are refused
	bindsURIs     bool                                         // to those of the document
	registersURI  func(address, applicationType string) string // what is wrong with a redirect URI, or ""
}

func good() parts {
	same := func(issuer string) string { return issuer }
	return parts{
		redirectFits:  redirectFits,
		codeOnce:      true,
		provesPKCE:    oauth.ProvesChallenge,
		demandsPKCE:   true,
		rotates:       true,
		issuerOf:      same,
		saysIss:       true,
		named:         same,
		challenges:    []string{"S256"},
		documentFits:  func(document, address string) bool { return document == address },
		demandsAuth:   true,
		takesResource: func(wanted, granted string) bool { return granted == "" || oauth.SameResource(wanted, granted) },
		bindsClient:   true,
		endsRotated:   true,
		narrowsScope:  true,
		stateOf:       same,
		caches:        true,
		publicOnly:    true,
		wholeOnly:     true,
		bindsURIs:     true,
		registersURI:  redirectFlaw,
	}
}

// defects make a good server bad in one way each.
var defects = map[string]func(*parts){
	"answers-issuer-of-another": func(p *parts) {
		p.issuerOf = func(string) string { return "https://another.example" }
	},
	"does-not-advertise-iss":  func(p *parts) { p.saysIss = false },
	"does-not-advertise-s256": func(p *parts) { p.challenges = nil },
	"does-not-compare-documents": func(p *parts) {
		p.documentFits = func(string, string) bool { return true }
	},
	"does-not-enforce-pkce": func(p *parts) {
		p.demandsPKCE = false
		p.provesPKCE = func(string, string, string) bool { return true }
	},
	"does-not-rotate": func(p *parts) { p.rotates = false },
	"names-another-issuer": func(p *parts) {
		p.named = func(string) string { return "https://another.example" }
	},
	"redirects-to-prefixes": func(p *parts) {
		p.redirectFits = func(registered []string, asked string) bool {
			return slices.ContainsFunc(registered, func(one string) bool { return strings.HasPrefix(asked, one) })
		}
	},
	"redirects-anywhere": func(p *parts) {
		p.redirectFits = func([]string, string) bool { return true }
	},
	"redirects-errors-anywhere": func(p *parts) { p.redirectsAll = true },
	"redeems-codes-twice":       func(p *parts) { p.codeOnce = false },
	"sends-no-iss":              func(p *parts) { p.issuerOf = func(string) string { return "" } },
	"does-not-authenticate":     func(p *parts) { p.demandsAuth = false },
	"redeems-for-other-clients": func(p *parts) { p.bindsClient = false },
	"takes-rotated-tokens":      func(p *parts) { p.endsRotated = false },
	"takes-no-verifier": func(p *parts) {
		p.provesPKCE = func(method, challenge, verifier string) bool {
			return verifier == "" || oauth.ProvesChallenge(method, challenge, verifier)
		}
	},
	"widens-scopes": func(p *parts) { p.narrowsScope = false },
	"cuts-states": func(p *parts) {
		p.stateOf = func(asked string) string { return asked[:min(len(asked), longestState)] }
	},
	"does-not-cache-documents":       func(p *parts) { p.caches = false },
	"fetches-from-anywhere":          func(p *parts) { p.publicOnly = false },
	"takes-documents-without-a-name": func(p *parts) { p.wholeOnly = false },
	"redirects-beside-documents":     func(p *parts) { p.bindsURIs = false },
	"registers-any-redirect-uri":     func(p *parts) { p.registersURI = func(string, string) string { return "" } },
	"issues-for-other-resources":     func(p *parts) { p.takesResource = func(string, string) bool { return true } },
}

// longestState is where one defect ends states.
const longestState = 64

// Defects lists what Options.Defect may be.
func Defects() []string { return slices.Sorted(maps.Keys(defects)) }

func (s *Server) spoil(defect string) error {
	if defect == "" {
		return nil
	}
	spoil, known := defects[defect]
	if !known {
		return fmt.Errorf(
			"the reference authorization server has no defect %q, only %s",
			defect,
			strings.Join(Defects(), ", "),
		)
	}
	spoil(&s.parts)
	return nil
}

// secret makes a code, token or secret that cannot be guessed.
func secret(kind string) string { return kind + "-" + rand.Text() }
