// Page basic/authorization: the server as the protected resource of an authorization
// server. It trusts the keys of that one alone, and takes only tokens that are for it.

package server

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/mcpconform/mcpconform/internal/oauth"
)

// Authorization makes the server ask for access tokens over HTTP.
type Authorization struct {
	// Issuer is the authorization server that it trusts.
	Issuer string
	// Scope is what every request takes. Empty: no scope.
	Scope string
	// Needs are the scopes that a tool takes beside it, by the name of the tool.
	Needs map[string][]string
	// Implies are the scopes that a broader one includes.
	Implies map[string][]string
	// Client fetches the keys and asks for opaque tokens. Nil: http.DefaultClient.
	Client *http.Client
}

// The scopes of a server that is Scoped.
const (
	ReadScope   = "mcpconform:read"
	WriteScope  = "mcpconform:write"
	DeleteScope = "mcpconform:delete"
	AdminScope  = "mcpconform:admin" // implies the others but ReadScope
	// ScopedTool is the tool that takes WriteScope and DeleteScope beside ReadScope.
	ScopedTool = "test_error_handling"
)

// Scoped is authorization by an issuer, of which one tool takes more than others.
func Scoped(issuer string) *Authorization {
	more := []string{WriteScope, DeleteScope}
	return &Authorization{
		Issuer: issuer, Scope: ReadScope,
		Needs: map[string][]string{ScopedTool: more}, Implies: map[string][]string{AdminScope: more},
	}
}

const (
	// keysTimeout bounds one question to the authorization server.
	keysTimeout = 5 * time.Second
	// clockSkew is how much clocks may differ.
	clockSkew = 30 * time.Second
	// maxAnswer bounds what the authorization server says, in bytes.
	maxAnswer = 256 << 10
)

// guard lets in who has a token.
type guard struct {
	*Authorization
	server *Server
	checks

	mu   sync.Mutex
	keys *jose.JSONWebKeySet // of the issuer; nil until they are asked for
	ask  string              // introspection endpoint
}

// checks are the parts that a defect replaces.
type checks struct {
	forged       func(ctx context.Context, g *guard, token string) bool // taken without any look at who signed it
	trusts       func(ctx context.Context, g *guard, signed *jose.JSONWebSignature, claims object) bool
	issuerFits   func(found, wanted string) bool
	audienceFits func(audience []string, resource string) bool
	inTime       func(claims object, now time.Time) string
	tokenOf      func(r *http.Request) (token string, given bool)
	exempt       func(r *http.Request) bool // needs no token
	allows       func(g *guard, granted, needed []string) bool
	challenged   func(needed, granted []string) []string // the scopes that a 403 names
	ownedBy      func(r *http.Request, user string) bool // a session
	scopesFirst  bool                                    // a token is asked for its scopes before it is judged
}

func newGuard(s *Server) *guard {
	if s.options.Authorization == nil {
		return nil
	}
	return &guard{Authorization: s.options.Authorization, server: s, checks: checks{
		forged:       func(context.Context, *guard, string) bool { return false },
		trusts:       trusts,
		issuerFits:   func(found, wanted string) bool { return found == wanted },
		audienceFits: audienceFits,
		inTime:       inTime,
		tokenOf:      tokenOf,
		exempt:       func(*http.Request) bool { return false },
		allows:       allows,
		challenged:   func(needed, _ []string) []string { return needed },
		ownedBy:      func(r *http.Request, user string) bool { return userOf(r) == user },
	}}
}

// access is what a token allows.
type access struct {
	user   string
	scopes []string
}

type accessKey struct{}

// userOf is the user whose access token a request has; "" without authorization.
func userOf(r *http.Request) string {
	allowed, _ := r.Context().Value(accessKey{}).(access)
	return allowed.user
}

// owns tells whether a request is of the user to whom a session belongs.
func (g *guard) owns(r *http.Request, user string) bool {
	_, identified := r.Context().Value(accessKey{}).(access)
	return !identified || g.ownedBy(r, user)
}

// originOf is the origin of the server as this client knows it.
func originOf(r *http.Request) string {
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	return scheme + "://" + strings.ToLower(r.Host)
}

// resource is the server as this client knows it.
func (g *guard) resource(r *http.Request) string { return originOf(r) + g.server.options.Path }

// metadataPath is where the metadata of the resource stands (RFC 9728, section 3.1).
func (g *guard) metadataPath() string { return oauth.ResourcePath + g.server.options.Path }

// serveMetadata serves the protected resource metadata, without a token.
func (g *guard) serveMetadata(w http.ResponseWriter, r *http.Request) {
	document := object{
		"resource": g.resource(r), "authorization_servers": []string{g.Issuer},
		"bearer_methods_supported": []string{"header"},
	}
	if g.Scope != "" {
		document["scopes_supported"] = g.allScopes()
	}
	writeJSON(w, http.StatusOK, encode(document))
}

// serveIssuer tells clients of 2025-03-26, for which the server is its own authorization
// server, of the one that it trusts.
func (g *guard) serveIssuer(w http.ResponseWriter, r *http.Request) {
	places, err := oauth.IssuerPlaces(g.Issuer)
	var document object
	if err == nil {
		err = g.get(r.Context(), places[0], nil, &document)
	}
	if err != nil {
		http.Error(w, "the authorization server does not answer", http.StatusBadGateway)
		return
	}
	document["issuer"] = originOf(r)
	writeJSON(w, http.StatusOK, encode(document))
}

// allScopes are those of every request, and of all tools.
func (g *guard) allScopes() []string {
	all := []string{g.Scope}
	for _, needed := range g.Needs {
		all = append(all, needed...)
	}
	return slices.Compact(slices.Sorted(slices.Values(all)))
}

// enter lets a request in, or says why not; the request that it returns knows who it is of.
func (g *guard) enter(w http.ResponseWriter, r *http.Request) (*http.Request, *refusal) {
	if g == nil || g.exempt(r) {
		return r, nil
	}
	fields := r.Header.Values("Authorization")
	if len(fields) > 1 {
		return nil, refuse(http.StatusBadRequest, "there are several Authorization headers")
	}
	token, given := g.tokenOf(r)
	if !given {
		g.challenge(w, r, "", "")
		return nil, refuse(http.StatusUnauthorized, "an access token is needed")
	}
	claims, err := g.claims(r.Context(), token)
	if err == nil && g.scopesFirst {
		if refused := g.permit(w, r, access{scopes: scopesOf(claims)}, nil); refused != nil {
			return nil, refused
		}
	}
	if err == nil {
		err = g.valid(claims, g.resource(r))
	}
	if err != nil {
		g.challenge(w, r, "invalid_token", err.Error())
		return nil, refuse(http.StatusUnauthorized, "the access token is not good: %s", err)
	}
	user, _ := claims["sub"].(string)
	allowed := access{user: user, scopes: scopesOf(claims)}
	r = r.WithContext(context.WithValue(r.Context(), accessKey{}, allowed))
	return r, g.permit(w, r, allowed, nil)
}

// tokenOf takes the token out of the Authorization header.
func tokenOf(r *http.Request) (token string, given bool) {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	token = strings.Trim(token, " ")
	return token, strings.EqualFold(scheme, "Bearer") && token != ""
}

// challenge writes the WWW-Authenticate header of a refusal.
func (g *guard) challenge(w http.ResponseWriter, r *http.Request, code, description string, scopes ...string) {
	if len(scopes) == 0 {
		scopes = []string{g.Scope}
	}
	challenge := oauth.Challenge{Scheme: "Bearer"}
	for _, param := range []oauth.Param{
		{Name: "error", Value: code},
		{Name: "error_description", Value: description},
		{Name: "scope", Value: strings.Join(scopes, " ")},
		{Name: "resource_metadata", Value: originOf(r) + g.metadataPath()},
	} {
		if param.Value != "" {
			challenge.Params = append(challenge.Params, param)
		}
	}
	w.Header().Set("WWW-Authenticate", challenge.String())
}

// permitted tells whether a message may be sent with the token of its request.
func (g *guard) permitted(w http.ResponseWriter, r *http.Request, m message) *refusal {
	if g == nil || m.kind != request || m.method != "tools/call" {
		return nil
	}
	allowed, _ := r.Context().Value(accessKey{}).(access)
	var called struct{ Name string }
	if json.Unmarshal(m.params, &called) != nil {
		return nil // which the handler refuses
	}
	return g.permit(w, r, allowed, g.Needs[called.Name])
}

// permit asks for the scopes of every request, and more.
func (g *guard) permit(w http.ResponseWriter, r *http.Request, allowed access, more []string) *refusal {
	var needed []string
	if g.Scope != "" {
		needed = append(needed, g.Scope)
	}
	needed = append(needed, more...)
	if g.allows(g, allowed.scopes, needed) {
		return nil
	}
	named := g.challenged(needed, allowed.scopes)
	g.challenge(w, r, "insufficient_scope", "", named...)
	return refuse(http.StatusForbidden, "it takes the scopes %s", strings.Join(named, " "))
}

func allows(g *guard, granted, needed []string) bool {
	return !slices.ContainsFunc(needed, func(one string) bool {
		return !slices.ContainsFunc(granted, func(has string) bool {
			return has == one || slices.Contains(g.Implies[has], one)
		})
	})
}

func scopesOf(claims object) []string {
	list, _ := claims["scope"].(string)
	return oauth.Scopes(list)
}

// claims are what a token says, if the authorization server has issued it.
func (g *guard) claims(ctx context.Context, token string) (object, error) {
	jwt, isJWT := oauth.Decode(token)
	if !isJWT {
		return g.introspected(ctx, token)
	}
	if g.forged(ctx, g, token) {
		return jwt.Claims, nil
	}
	signed, err := jose.ParseSignedCompact(token, []jose.SignatureAlgorithm{jose.ES256, jose.RS256})
	if err != nil {
		return nil, errors.New("it is not signed by an algorithm that is accepted")
	}
	if kind, _ := jwt.Header["typ"].(string); !strings.EqualFold(strings.TrimPrefix(kind, "application/"), "at+jwt") {
		return nil, errors.New("it is not an access token")
	}
	if !g.trusts(ctx, g, signed, jwt.Claims) {
		return nil, errors.New("the signature is not of a trusted key")
	}
	return jwt.Claims, nil
}

// trusts tells whether a key of the issuer has signed it.
func trusts(ctx context.Context, g *guard, signed *jose.JSONWebSignature, _ object) bool {
	id := signed.Signatures[0].Header.KeyID
	for _, again := range []bool{false, true} { // the issuer may have a new key
		keys, err := g.trusted(ctx, again)
		if err != nil {
			return false
		}
		for _, key := range keys.Key(id) {
			if _, err := signed.Verify(key); err == nil {
				return true
			}
		}
		if len(keys.Key(id)) > 0 {
			return false
		}
	}
	return false
}

// trusted are the keys of the issuer.
func (g *guard) trusted(ctx context.Context, again bool) (*jose.JSONWebKeySet, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.keys != nil && !again {
		return g.keys, nil
	}
	var metadata struct {
		Issuer        string `json:"issuer"`
		Keys          string `json:"jwks_uri"`
		Introspection string `json:"introspection_endpoint"`
	}
	places, err := oauth.IssuerPlaces(g.Issuer)
	for _, place := range places {
		if err = g.get(ctx, place, nil, &metadata); err == nil && metadata.Issuer != g.Issuer {
			err = fmt.Errorf("%s is metadata of %q", place, metadata.Issuer)
		}
		if err == nil {
			break
		}
	}
	if err != nil {
		return nil, err
	}
	g.ask = metadata.Introspection
	keys := &jose.JSONWebKeySet{}
	if err := g.get(ctx, metadata.Keys, nil, keys); err != nil {
		return nil, err
	}
	g.keys = keys
	return keys, nil
}

// introspected asks the issuer what an opaque token is (RFC 7662).
func (g *guard) introspected(ctx context.Context, token string) (object, error) {
	if _, err := g.trusted(ctx, false); err != nil {
		return nil, err
	}
	var claims object
	if err := g.get(ctx, g.ask, url.Values{"token": {token}}, &claims); err != nil {
		return nil, err
	}
	if claims["active"] != true {
		return nil, errors.New("it is not active")
	}
	return claims, nil
}

// get fetches JSON: by POST, when there is a form.
func (g *guard) get(ctx context.Context, address string, form url.Values, into any) error {
	ctx, cancel := context.WithTimeout(ctx, keysTimeout)
	defer cancel()
	method := http.MethodGet
	if form != nil {
		method = http.MethodPost
	}
	question, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(form.Encode()))
	if err != nil {
		return err
	}
	if form != nil {
		question.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	answer, err := cmp.Or(g.Client, http.DefaultClient).Do(question)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }() // it was read
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers HTTP %d", address, answer.StatusCode)
	}
	return json.NewDecoder(io.LimitReader(answer.Body, maxAnswer)).Decode(into)
}

// valid says what is wrong with the claims of a token for a resource.
func (g *guard) valid(claims object, resource string) error {
	issuer, _ := claims["iss"].(string)
	switch wrong := g.inTime(claims, time.Now()); {
	case wrong != "":
		return errors.New(wrong)
	case !g.issuerFits(issuer, g.Issuer):
		return errors.New("another issuer has issued it")
	case !g.audienceFits(oauth.Audiences(claims), resource):
		return errors.New("it is not for this server")
	}
	return nil
}

// inTime says why a token is not valid now; "" when it is.
func inTime(claims object, now time.Time) string {
	expires, limited := claims["exp"].(float64)
	begins, waits := claims["nbf"].(float64)
	switch {
	case !limited:
		return "it has no end"
	case now.Add(-clockSkew).After(time.Unix(int64(expires), 0)):
		return "it has expired"
	case waits && now.Add(clockSkew).Before(time.Unix(int64(begins), 0)):
		return "it is not valid yet"
	}
	return ""
}

func audienceFits(audience []string, resource string) bool {
	return slices.ContainsFunc(audience, func(one string) bool { return oauth.SameResource(one, resource) })
}
