package scripted

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/mcpconform/mcpconform/internal/oauth"
)

// AuthServer is a scripted authorization server, on a port of its own. It behaves well
// unless a scenario changes it, and judges nothing. Each client is authorized at once, by a
// redirect at the first hop. PKCE, redirect URIs and client authentication are recorded and
// not refused, so that each mistake shows by itself.
type AuthServer struct {
	Number int    // from 1
	Origin string // http://localhost:PORT; "" of one that is the server itself
	Issuer string // Origin, and a path where it has one

	path    string        // of the issuer
	tenants []*AuthServer // at the same origin
	// Metadata is what it says of itself; a member that is nil is left out.
	Metadata Object
	// Places are the paths at which the metadata stands.
	Places []string
	// Documents stand in the place of the metadata, by path.
	Documents map[string]Object
	// SendsIssuer is the iss of its answers; "" for none.
	SendsIssuer string
	// Confidential gives clients that register a secret.
	Confidential bool
	// Unrefreshed issues no refresh tokens.
	Unrefreshed bool
	// OnVisit is shown each request first; it returns true when it has answered.
	OnVisit func(v *Visit) bool
	// OnAuthorize changes what an authorization is answered with.
	OnAuthorize func(*Login)
	// OnToken changes what a token request is answered with.
	OnToken func(*TokenRequest)
	// OnRegister changes what a registration is answered with.
	OnRegister func(*Registration)

	guard *Guard

	mu      sync.Mutex
	grants  map[string]*grant // by code, and by refresh token
	tokens  map[string]*Token
	numbers map[string]int // secrets, and requests, by kind
}

// Token is an access token that was issued.
type Token struct {
	oauth.Secret
	Issuer *AuthServer
	Scopes []string

	mu      sync.Mutex
	expired bool
}

// Expire ends the life of the token.
func (t *Token) Expire() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.expired = true
}

// Expired tells whether the life of the token is over.
func (t *Token) Expired() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.expired
}

// grant is what a code or a refresh token stands for.
type grant struct{ scope string }

// Login is an authorization request.
type Login struct {
	*Visit
	Nth    int        // from 1
	Answer url.Values // in the query of the redirect
}

// TokenRequest is a request for tokens.
type TokenRequest struct {
	*Visit
	Grant  string // grant_type
	Nth    int    // of this grant type, from 1
	Status int
	Answer Object
}

// Registration is a request of a client to be registered.
type Registration struct {
	*Visit
	Nth    int // from 1
	Status int
	Answer Object
}

// NewIssuer opens an authorization server. Its issuer has the path, such as "/tenant1".
func (g *Guard) NewIssuer(issuerPath string) *AuthServer {
	a := g.newIssuer()
	return a.at(g.listen(a.serve), issuerPath)
}

// NewTenant opens another authorization server at the same origin. Its issuer has the path.
func (a *AuthServer) NewTenant(issuerPath string) *AuthServer {
	tenant := a.guard.newIssuer().at(a.Origin, issuerPath)
	a.tenants = append(a.tenants, tenant)
	return tenant
}

func (g *Guard) newIssuer() *AuthServer {
	a := &AuthServer{
		guard: g, Number: len(g.Issuers) + 1, Documents: map[string]Object{},
		grants: map[string]*grant{}, tokens: map[string]*Token{}, numbers: map[string]int{},
	}
	g.Issuers = append(g.Issuers, a)
	return a
}

// at tells where the authorization server is.
func (a *AuthServer) at(origin, issuerPath string) *AuthServer {
	a.Origin, a.Issuer, a.path = origin, origin+issuerPath, issuerPath
	a.Metadata = Object{
		"issuer":                                a.Issuer,
		"authorization_endpoint":                a.Issuer + Endpoints + "/authorize",
		"token_endpoint":                        a.Issuer + Endpoints + "/token",
		"registration_endpoint":                 a.Issuer + Endpoints + "/register",
		"response_types_supported":              []any{"code"},
		"grant_types_supported":                 []any{"authorization_code", "refresh_token"},
		"code_challenge_methods_supported":      []any{"S256"},
		"token_endpoint_auth_methods_supported": []any{"none", "client_secret_basic", "client_secret_post"},
	}
	a.Places = []string{oauth.ServerPath + issuerPath}
	return a
}

// OpenID lets the metadata stand at a path as that of OpenID Connect Discovery, and
// nowhere else.
func (a *AuthServer) OpenID(at string) {
	a.Places = []string{at}
	a.Metadata["jwks_uri"] = a.Issuer + "/jwks"
	a.Metadata["subject_types_supported"] = []any{"public"}
	a.Metadata["id_token_signing_alg_values_supported"] = []any{"RS256"}
}

// ForbidEndpoints puts all endpoints that the metadata names below a path that a client can
// know from the metadata alone.
func (a *AuthServer) ForbidEndpoints() {
	for _, name := range []string{"authorization_endpoint", "token_endpoint", "registration_endpoint"} {
		endpoint, _ := a.Metadata[name].(string)
		a.Metadata[name] = a.Origin + ForbiddenPath + "/" + path.Base(endpoint)
	}
}

// Endpoints begins the paths of endpoints below the path of the issuer, so that a client
// finds them by the metadata alone.
const Endpoints = "/oauth2"

// ForbiddenPath begins the paths of endpoints that clients must not use.
const ForbiddenPath = "/poisoned"

// Token returns one that the server issued; nil for others.
func (a *AuthServer) Token(text string) *Token {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.tokens[text]
}

// Tokens are all that the server issued.
func (a *AuthServer) Tokens() []*Token {
	a.mu.Lock()
	defer a.mu.Unlock()
	var all []*Token
	for _, token := range a.tokens {
		all = append(all, token)
	}
	slices.SortFunc(all, func(a, b *Token) int { return a.Number - b.Number })
	return all
}

// Secret mints one of a kind.
func (a *AuthServer) Secret(kind string) oauth.Secret {
	return oauth.NewSecret(kind, a.count(kind), a.Number)
}

func (a *AuthServer) count(kind string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.numbers[kind]++
	return a.numbers[kind]
}

// serve answers each request that comes to the port.
func (a *AuthServer) serve(w http.ResponseWriter, r *http.Request) {
	for _, tenant := range a.tenants {
		if strings.Contains(r.URL.Path+"/", tenant.path+"/") {
			tenant.serve(w, r)
			return
		}
	}
	a.answer(w, r, readVisit(r))
}

// answer answers a request with its body.
func (a *AuthServer) answer(w http.ResponseWriter, r *http.Request, body []byte) {
	v := a.guard.visit(w, r, body, a.Number, placeOf(r))
	switch {
	case v == nil:
		panic(http.ErrAbortHandler) // which is a flood
	case a.OnVisit != nil && a.OnVisit(v):
		return
	case a.Origin == "" && placeOf(r) != AtServerMetadata && !a.isEndpoint(r.URL.Path):
		v.Answer(http.StatusNotFound, nil, nil)
		return
	}
	switch place := placeOf(r); {
	case place == AtServerMetadata:
		a.describe(v)
	case place == AtAuthorize && (r.Method == http.MethodGet || r.Method == http.MethodPost):
		a.authorize(v)
	case place == AtToken && r.Method == http.MethodPost:
		a.token(v)
	case place == AtRegister && r.Method == http.MethodPost && a.Metadata["registration_endpoint"] != nil:
		a.register(v)
	}
	v.Answer(http.StatusNotFound, nil, nil)
}

// isEndpoint tells whether a path is that of an endpoint in the metadata.
func (a *AuthServer) isEndpoint(path string) bool {
	return path == a.Metadata["authorization_endpoint"] || path == a.Metadata["token_endpoint"] ||
		path == a.Metadata["registration_endpoint"]
}

// DefaultEndpoints takes the metadata away, so that only the endpoints are left which each
// server has without (2025-03-26, basic/authorization).
func (a *AuthServer) DefaultEndpoints() {
	a.Places = nil
	for _, name := range []string{"authorization_endpoint", "token_endpoint", "registration_endpoint"} {
		endpoint, _ := a.Metadata[name].(string)
		a.Metadata[name] = "/" + path.Base(endpoint)
	}
}

func placeOf(r *http.Request) Place {
	switch path.Base(r.URL.Path) {
	case "authorize":
		return AtAuthorize
	case "token":
		return AtToken
	case "register":
		return AtRegister
	}
	switch {
	case strings.Contains(r.URL.Path, oauth.ResourcePath):
		return AtResourceMetadata
	case strings.Contains(r.URL.Path, oauth.ServerPath), strings.Contains(r.URL.Path, oauth.OpenIDPath):
		return AtServerMetadata
	}
	return AtElsewhere
}

func (a *AuthServer) describe(v *Visit) {
	document, other := a.Documents[v.Request.URL.Path]
	if !other && slices.Contains(a.Places, v.Request.URL.Path) {
		document = a.Metadata
	}
	if document == nil || v.Request.Method != http.MethodGet {
		return
	}
	said := maps.Clone(document)
	if a.Origin == "" { // it is the server, which does not know where it is reached
		said["issuer"] = Origin(v.Request)
		for name, value := range said {
			if path, _ := value.(string); strings.HasPrefix(path, "/") {
				said[name] = Origin(v.Request) + path
			}
		}
	}
	maps.DeleteFunc(said, func(_ string, value any) bool { return value == nil })
	v.AnswerJSON(http.StatusOK, said)
}

func (a *AuthServer) authorize(v *Visit) {
	back, err := url.Parse(v.Query.Get("redirect_uri"))
	if err != nil || !back.IsAbs() {
		v.AnswerJSON(http.StatusBadRequest, Object{"error": "invalid_request", "error_description": "no redirect_uri"})
		return
	}
	code := a.Secret(oauth.IssuedCode)
	a.keep(code.Text, &grant{scope: v.Query.Get("scope")})
	login := &Login{Visit: v, Nth: code.Number, Answer: url.Values{"code": {code.Text}}}
	if state := v.Query.Get("state"); state != "" {
		login.Answer.Set("state", state)
	}
	if a.SendsIssuer != "" {
		login.Answer.Set("iss", a.SendsIssuer)
	}
	if a.OnAuthorize != nil {
		a.OnAuthorize(login)
	}
	query := back.Query()
	maps.Copy(query, login.Answer)
	back.RawQuery = query.Encode()
	v.Redirect(back.String())
}

func (a *AuthServer) keep(secret string, granted *grant) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.grants[secret] = granted
}

// redeem takes a code, or a refresh token, which is good once.
func (a *AuthServer) redeem(secret string) *grant {
	a.mu.Lock()
	defer a.mu.Unlock()
	granted := a.grants[secret]
	delete(a.grants, secret)
	return granted
}

func (a *AuthServer) token(v *Visit) {
	request := &TokenRequest{Visit: v, Grant: v.Form.Get("grant_type"), Status: http.StatusOK}
	request.Nth = a.count("grant " + request.Grant)
	given := v.Form.Get("code")
	if request.Grant == "refresh_token" {
		given = v.Form.Get("refresh_token")
	}
	if granted := a.redeem(given); granted != nil {
		request.Answer = a.issue(granted)
	} else {
		request.Status, request.Answer = http.StatusBadRequest, Object{"error": "invalid_grant"}
	}
	if a.OnToken != nil {
		a.OnToken(request)
	}
	v.AnswerJSON(request.Status, request.Answer)
}

// Issue makes the tokens of a grant that the scenario judges by itself.
func (a *AuthServer) Issue(scope string) Object { return a.issue(&grant{scope: scope}) }

// issue makes the tokens that are granted.
func (a *AuthServer) issue(granted *grant) Object {
	token := &Token{Secret: a.Secret(oauth.IssuedAccessToken), Issuer: a, Scopes: oauth.Scopes(granted.scope)}
	a.mu.Lock()
	a.tokens[token.Text] = token
	a.mu.Unlock()
	answer := Object{"access_token": token.Text, "token_type": "Bearer", "expires_in": hour}
	if granted.scope != "" {
		answer["scope"] = granted.scope
	}
	if !a.Unrefreshed {
		refresh := a.Secret(oauth.IssuedRefreshToken)
		a.keep(refresh.Text, granted)
		answer["refresh_token"] = refresh.Text
	}
	return answer
}

// hour is how long a token is good, in seconds: longer than any scenario.
const hour = 3600

func (a *AuthServer) register(v *Visit) {
	answer := Object{}
	maps.Copy(answer, v.JSON)
	registration := &Registration{Visit: v, Nth: a.count("registration"), Status: http.StatusCreated, Answer: answer}
	answer["client_id"] = ClientID(a.Number, registration.Nth)
	answer["token_endpoint_auth_method"] = "none"
	if a.Confidential {
		answer["token_endpoint_auth_method"] = "client_secret_basic"
		answer["client_secret"] = a.Secret(oauth.IssuedSecret).Text
		answer["client_secret_expires_at"] = 0
	}
	if a.OnRegister != nil {
		a.OnRegister(registration)
	}
	v.AnswerJSON(registration.Status, registration.Answer)
}

// ClientID is what a client gets that registers with an authorization server.
func ClientID(issuer, nth int) string {
	return fmt.Sprintf("client-%d-of-issuer-%d", nth, issuer)
}
