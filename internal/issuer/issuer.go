// Package issuer is the vocabulary that checks of an authorization server are written in: the
// harness as a client of it, which registers, logs in and redeems codes.
package issuer

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/oauth2"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/login"
	"github.com/mcpconform/mcpconform/internal/oauth"
	. "github.com/mcpconform/mcpconform/internal/session"
	"github.com/mcpconform/mcpconform/internal/transport"
)

// Registration is what the harness needs to be a client of a target authorization server. It
// tries to do without the fields that are empty: by registering dynamically, and by following
// redirects.
type Registration struct {
	ClientID     string
	ClientSecret string `json:",omitempty"` // of a confidential client
	RedirectURI  string `json:",omitempty"` // DefaultRedirect when it is empty, or any port where one is registered
	Resource     string `json:",omitempty"` // that access tokens are to be for
	Scope        string `json:",omitempty"`
	// Documents is the https URL under which the authorization server finds what the
	// harness serves at DocumentsListen; "" for none.
	Documents       string   `json:",omitempty"`
	DocumentsListen string   `json:",omitempty"`
	Login           []string `json:",omitempty"` // command that logs in and consents: see Issuer.Login
}

// DefaultRedirect is the redirect URI of clients that are not registered by the harness:
// that of the official suite.
const DefaultRedirect = "http://127.0.0.1:3000/callback"

// Issuer is the target authorization server, as a check talks to it: a fresh connection,
// which no rule judges. It contacts nothing but the origin of the issuer, and this machine.
type Issuer struct {
	*Server
	Metadata Object // what it says of itself; nil before NeedIssuer

	t *T
}

// MetadataDocument is the answer at one place of metadata.
type MetadataDocument struct {
	Place    string
	Response *Response
	Members  Object // nil where there is no document
}

// IsOpenID tells whether the document is an OpenID configuration.
func (d MetadataDocument) IsOpenID() bool { return strings.Contains(d.Place, oauth.OpenIDPath) }

// Harness is the harness as a client of the authorization server: what each check begins with.
type Harness struct {
	Registration
	State *State // shared with others of the process
	Fresh bool   // each check begins anew
}

type harnessKey struct{}

// Begin lets a check be such a client.
func (h *Harness) Begin(t *T) { t.Keep(harnessKey{}, h) }

// Leave ends what checks share.
func (h *Harness) Leave() { h.State.Leave() }

func harnessOf(t *T) *Harness {
	of, _ := t.Value(harnessKey{}).(*Harness)
	return of
}

func stateOf(t *T) *State { return harnessOf(t).State }

// State is what the checks of one process share of an authorization server, where
// they need not be apart: registrations are rare, and often limited.
type State struct {
	metadata  Object
	clients   map[ClientKind]*RegisteredClient
	documents *documentHost   // nil for none yet
	loggedIn  bool            // the login command has led to the redirect URI
	hopeless  string          // why it is not tried any more
	callback  *login.Callback // that the redirect URI of registered clients names; nil for none
}

func (s *State) keep(kind ClientKind, client *RegisteredClient) {
	if s.clients == nil {
		s.clients = map[ClientKind]*RegisteredClient{}
	}
	s.clients[kind] = client
}

// Leave ends what listens, and forgets the rest.
func (s *State) Leave() {
	if s.callback != nil {
		s.callback.Close()
	}
	if s.documents != nil {
		s.documents.close()
	}
	*s = State{}
}

// ConnectIssuer opens a fresh connection to the authorization server.
func ConnectIssuer(t *T) *Issuer {
	return &Issuer{Server: ConnectAside(t), t: t}
}

// NeedIssuer does so, and reads the metadata: without any there is nothing to ask.
func NeedIssuer(t *T) *Issuer {
	issuer := ConnectIssuer(t)
	state := stateOf(t)
	if known := state.metadata; known != nil && !harnessOf(t).Fresh {
		issuer.Metadata = known
		return issuer
	}
	for _, document := range issuer.Documents() {
		if document.Members != nil {
			issuer.Metadata = document.Members
			state.metadata = document.Members
			return issuer
		}
	}
	t.Inconclusive("the authorization server has no metadata", "see the result of authorization.server.metadata")
	return nil
}

// Documents asks for metadata at each place where clients look for it.
func (i *Issuer) Documents() []MetadataDocument {
	places, err := oauth.IssuerPlaces(URL(i.t))
	if err != nil {
		i.t.Inconclusive("the issuer "+err.Error(), "give an absolute URL")
	}
	found := make([]MetadataDocument, len(places))
	for at, place := range places {
		answer := i.get(place, nil, "")
		found[at] = MetadataDocument{Place: place, Response: answer}
		if answer.Status == http.StatusOK {
			found[at].Members = answer.Object()
		}
	}
	return found
}

// Endpoint is the address of one of the endpoints in the metadata.
func (i *Issuer) Endpoint(name string) string {
	address, _ := i.Metadata[name].(string)
	if address == "" {
		i.t.Inconclusive("the metadata names no "+name, "see the result of authorization.server.metadata")
	}
	return address
}

// Lists tells whether a list in the metadata has a value. A list that is not there has
// none, and is not known to lack any.
func (i *Issuer) Lists(name, value string) (has, known bool) {
	list, known := i.Metadata[name].([]any)
	return slices.Contains(list, any(value)), known
}

// send carries out a request to an address that the target may have named.
func (i *Issuer) send(request transport.Request) *Response {
	if !Contactable(i.t, request.URL) {
		i.t.Inconclusive(
			request.URL+" has another origin than the issuer, and was not contacted",
			"allow it with --network, or test the authorization server at the origin of its endpoints",
		)
	}
	return i.Exchange(request)
}

func (i *Issuer) get(address string, header http.Header, deliberate string) *Response {
	all := http.Header{"Accept": {"*/*"}}
	maps.Copy(all, header)
	return i.send(transport.Request{Method: http.MethodGet, URL: address, Header: all, Deliberate: deliberate})
}

func (i *Issuer) post(address, contentType string, body []byte, deliberate string) *Response {
	return i.send(transport.Request{
		Method: http.MethodPost, URL: address, Body: body, Deliberate: deliberate,
		Header: http.Header{"Content-Type": {contentType}, "Accept": {"application/json"}},
	})
}

// ClientKind is one of the clients that checks need.
type ClientKind string

// The kinds of clients. A given client is of the first kinds that it can be.
const (
	AnyClient          ClientKind = ""
	PublicClient       ClientKind = "public"
	ConfidentialClient ClientKind = "confidential"
	OtherClient        ClientKind = "other" // a second public one
)

// RegisteredClient is a client that the authorization server knows.
type RegisteredClient struct {
	ID, Secret  string
	Method      string // by which it authenticates at the token endpoint
	RedirectURI string
}

// Public tells whether the client has no secret.
func (c *RegisteredClient) Public() bool { return c.Secret == "" }

// How clients authenticate.
const (
	authNone  = "none"
	authBasic = "client_secret_basic"
	authPost  = "client_secret_post"
)

const (
	hintClient   = "give a client: --client-id, with --redirect-uri and, if it has one, --client-secret"
	hintRegister = "see why the registration is refused, or " + hintClient
)

// NeedClient returns a client of a kind: the one that was given, or one that registers
// itself.
func (i *Issuer) NeedClient(kind ClientKind) *RegisteredClient {
	state := stateOf(i.t)
	if given := i.given(); given != nil &&
		(kind == AnyClient || kind == PublicClient && given.Public() || kind == ConfidentialClient && !given.Public()) {
		return given
	}
	if kind == AnyClient {
		kind = PublicClient
	}
	if known := state.clients[kind]; known != nil && !harnessOf(i.t).Fresh {
		return known
	}
	if _, offered := i.Metadata[registrationEndpoint]; !offered {
		i.t.Inconclusive("this needs a "+string(kind)+" client, and none can be registered", hintClient)
	}
	client, answer := i.Register(kind, nil, "")
	if client == nil {
		i.t.Inconclusive("the registration of a "+string(kind)+" client is refused: "+answer.Describe(), hintRegister)
	}
	if kind == ConfidentialClient && client.Public() {
		i.t.Inconclusive("the authorization server registers public clients only", hintClient)
	}
	if kind != ConfidentialClient && !client.Public() {
		i.t.Inconclusive("the authorization server registers confidential clients only", hintClient)
	}
	state.keep(kind, client)
	return client
}

const registrationEndpoint = "registration_endpoint"

// given is the client that the user gave; nil for none.
func (i *Issuer) given() *RegisteredClient {
	given := harnessOf(i.t).Registration
	if given.ClientID == "" {
		return nil
	}
	client := &RegisteredClient{
		ID:          given.ClientID,
		Secret:      given.ClientSecret,
		Method:      authNone,
		RedirectURI: redirectURI(i.t),
	}
	if client.Secret != "" {
		client.Method = i.secretMethod()
	}
	return client
}

// secretMethod is how a client with a secret authenticates here.
func (i *Issuer) secretMethod() string {
	const name = "token_endpoint_auth_methods_supported"
	basic, known := i.Lists(name, authBasic)
	if post, _ := i.Lists(name, authPost); known && !basic && post {
		return authPost
	}
	return authBasic // what RFC 8414 has where nothing is said
}

// Register registers a client of a kind, with other members of its metadata where they
// are given. The client is nil when it was refused.
func (i *Issuer) Register(
	kind ClientKind,
	members Object,
	deliberate string,
) (*RegisteredClient, *Response) {
	grants := []string{"authorization_code", grantRefresh}
	if has, known := i.Lists("grant_types_supported", grantRefresh); known && !has {
		grants = grants[:1]
	}
	metadata := Object{
		"client_name": "mcpconform", "redirect_uris": []string{redirectURI(i.t)}, "grant_types": grants,
		"response_types": []string{"code"}, "token_endpoint_auth_method": authNone, "application_type": "native",
	}
	if kind == ConfidentialClient {
		metadata["token_endpoint_auth_method"] = i.secretMethod()
	}
	maps.Copy(metadata, members)
	body, _ := json.Marshal(metadata) // of texts
	answer := i.post(i.Endpoint(registrationEndpoint), "application/json", body, deliberate)
	said := answer.Object()
	id, _ := said["client_id"].(string)
	if answer.Status < http.StatusOK || answer.Status >= http.StatusMultipleChoices || id == "" {
		return nil, answer
	}
	client := &RegisteredClient{ID: id, RedirectURI: redirectURI(i.t)}
	client.Secret, _ = said["client_secret"].(string)
	client.Method, _ = said["token_endpoint_auth_method"].(string)
	asked, _ := metadata["token_endpoint_auth_method"].(string)
	client.Method = cmp.Or(client.Method, asked)
	if client.Method == authNone {
		client.Secret = ""
	}
	return client, answer
}

// AuthorizationRequest is what a client sends a browser with to the authorization server.
type AuthorizationRequest struct {
	Client   *RegisteredClient
	Params   url.Values
	Verifier string // of its PKCE challenge

	deliberate string // what is wrong with it, where something is
}

// Request is a good authorization request of a client.
func (i *Issuer) Request(client *RegisteredClient) *AuthorizationRequest {
	asked := &AuthorizationRequest{Client: client, Verifier: oauth2.GenerateVerifier(), Params: url.Values{
		"response_type": {"code"}, "client_id": {client.ID}, "redirect_uri": {client.RedirectURI},
		"state": {rand.Text()}, "code_challenge_method": {"S256"},
	}}
	asked.Params.Set("code_challenge", oauth2.S256ChallengeFromVerifier(asked.Verifier))
	scope := harnessOf(i.t).Registration.Scope
	if offline, _ := i.Lists("scopes_supported", offlineAccess); scope == "" && offline {
		scope = offlineAccess // without it many issue no refresh token
		if openid, _ := i.Lists("scopes_supported", openID); openid {
			scope = openID + " " + offlineAccess // of which it is a part
		}
	}
	if scope != "" {
		asked.Params.Set("scope", scope)
	}
	if slices.Contains(oauth.Scopes(scope), offlineAccess) {
		asked.Params.Set("prompt", "consent") // OpenID Connect Core, section 11
	}
	if resource := harnessOf(i.t).Registration.Resource; resource != "" {
		asked.Params.Set("resource", resource)
	}
	return asked
}

const (
	offlineAccess = "offline_access"
	openID        = "openid"
)

// Without is the request without some parameters.
func (r *AuthorizationRequest) Without(names ...string) *AuthorizationRequest {
	for _, name := range names {
		r.Params.Del(name)
	}
	return r
}

// With is the request with another value of a parameter.
func (r *AuthorizationRequest) With(name, value string) *AuthorizationRequest {
	r.Params.Set(name, value)
	return r
}

// Deliberately says what is wrong with the request on purpose.
func (r *AuthorizationRequest) Deliberately(wrong string) *AuthorizationRequest {
	r.deliberate = wrong
	return r
}

// address is the URL that a browser is sent to.
func (r *AuthorizationRequest) address(endpoint string) string {
	separator := "?"
	if strings.Contains(endpoint, "?") {
		separator = "&"
	}
	return endpoint + separator + r.Params.Encode()
}

// The grants of the token endpoint.
const (
	grantCode    = "authorization_code"
	grantRefresh = "refresh_token"
)

// Grant is a code that was issued, with what it takes to redeem it.
type Grant struct {
	Request *AuthorizationRequest
	Code    string
}

// NeedGrant has an authorization request answered with a code.
func (i *Issuer) NeedGrant(ctx context.Context, request *AuthorizationRequest) *Grant {
	landing := i.Login(ctx, request)
	if landing.Code() == "" {
		i.t.Inconclusive("no authorization code is issued: "+landing.Describe(), hintLogin)
	}
	return &Grant{Request: request, Code: landing.Code()}
}

// Form is the token request that redeems the code.
func (g *Grant) Form() url.Values {
	form := url.Values{
		"grant_type": {grantCode}, "code": {g.Code}, "redirect_uri": {g.Request.Client.RedirectURI},
	}
	if g.Request.Params.Has("code_challenge") {
		form.Set("code_verifier", g.Request.Verifier)
	}
	if resource := g.Request.Params.Get("resource"); resource != "" {
		form.Set("resource", resource)
	}
	return form
}

// TokenAnswer is the answer of the token endpoint.
type TokenAnswer struct {
	*Response
	Members Object // nil when it is no JSON object
}

// Text is a member that is a text; "" for others.
func (a *TokenAnswer) Text(name string) string {
	text, _ := a.Members[name].(string)
	return text
}

// Issued tells whether there is an access token in it.
func (a *TokenAnswer) Issued() bool { return a.Text("access_token") != "" }

// Token makes a token request as a client does that authenticates by its method.
func (i *Issuer) Token(
	client *RegisteredClient,
	form url.Values,
	deliberate string,
) *TokenAnswer {
	header := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}, "Accept": {"application/json"}}
	switch client.Method {
	case authBasic:
		basic := &http.Request{Header: header}
		basic.SetBasicAuth(url.QueryEscape(client.ID), url.QueryEscape(client.Secret)) // OAuth 2.1, section 2.4.1
	case authPost:
		form.Set("client_secret", client.Secret)
		form.Set("client_id", client.ID)
	default:
		form.Set("client_id", client.ID)
	}
	answer := i.send(transport.Request{
		Method: http.MethodPost, URL: i.Endpoint("token_endpoint"), Body: []byte(form.Encode()),
		Deliberate: deliberate, Header: header,
	})
	return &TokenAnswer{answer, answer.Object()}
}

// Redeem redeems a code as its client does.
func (i *Issuer) Redeem(grant *Grant) *TokenAnswer {
	return i.Token(grant.Request.Client, grant.Form(), "")
}

// NeedTokens has a client log in, and its code redeemed.
func (i *Issuer) NeedTokens(ctx context.Context, client *RegisteredClient) *TokenAnswer {
	answer := i.Redeem(i.NeedGrant(ctx, i.Request(client)))
	if !answer.Issued() {
		i.t.Inconclusive(
			"the token request with the code failed: "+answer.Describe(),
			"find out what the token endpoint requires",
		)
	}
	return answer
}

// NeedRefreshToken does so where the authorization server issues refresh tokens.
func (i *Issuer) NeedRefreshToken(ctx context.Context, client *RegisteredClient) (token string, first *TokenAnswer) {
	first = i.NeedTokens(ctx, client)
	if token = first.Text(grantRefresh); token == "" {
		i.t.NotApplicable("the authorization server issues no refresh token")
	}
	return token, first
}

// Refresh makes a token request with a refresh token.
func (i *Issuer) Refresh(
	client *RegisteredClient,
	token string,
	more url.Values,
	deliberate string,
) *TokenAnswer {
	form := url.Values{"grant_type": {grantRefresh}, grantRefresh: {token}}
	if resource := harnessOf(i.t).Registration.Resource; resource != "" {
		form.Set("resource", resource)
	}
	maps.Copy(form, more)
	return i.Token(client, form, deliberate)
}

// DemandRefused judges that a token request brought no access token.
func (a *TokenAnswer) DemandRefused(t *T, what string) {
	t.Demand(!a.Issued(), "an error for "+what, StatusName(a.Status)+" with an access token")
}
