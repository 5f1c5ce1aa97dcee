// Pages extensions/auth: a client that authorizes without its user, by its own credentials,
// or by what an identity provider grants for its user.

package client

import (
	"context"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/mcpconform/mcpconform/internal/oauth"
)

// The names under which a client declares that it has the extensions.
const (
	credentialsExtension = "io.modelcontextprotocol/oauth-client-credentials"
	managedExtension     = "io.modelcontextprotocol/enterprise-managed-authorization"
)

// extensions are those that the client declares: of authorization, over HTTP alone.
func (c *client) extensions() object {
	all := object{tasksExtension: object{}}
	if c.options.URL != "" {
		all[credentialsExtension], all[managedExtension] = object{}, object{}
	}
	return all
}

// A grantType gets a token from an authorization server.
type grantType = func(context.Context, *source, *registration, []string) (*token, error)

// forMachines begins the names of credentials that are for no user.
const forMachines = "auth/client-credentials"

// grantOf chooses by the credentials that the client was given.
func grantOf(a *carrier) grantType {
	switch given := a.client.options.Authorization.Credentials; {
	case given.IdentityToken != "":
		return a.byExchange
	case strings.HasPrefix(given.Name, forMachines):
		return a.byCredentials
	}
	return a.authorize
}

// byCredentials gets a token for the client itself.
func (a *carrier) byCredentials(ctx context.Context, from *source, as *registration, scopes []string) (*token, error) {
	form := url.Values{"grant_type": {oauth.GrantClientCredentials}}
	if resource := a.client.part.auth.resource(atToken, from); resource != "" {
		form.Set("resource", resource)
	}
	if len(scopes) > 0 {
		form.Set("scope", strings.Join(scopes, " "))
	}
	if a.client.options.Authorization.Credentials.Key == "" {
		return a.request(ctx, from, as, form, a.client.part.auth.identifies(form, as))
	}
	signed, err := a.assertion(from, as)
	if err != nil {
		return nil, err
	}
	if signed != "" {
		a.client.part.auth.writesAssertion(form, signed)
	} else {
		form.Set("client_id", as.ID)
	}
	return a.request(ctx, from, as, form, false)
}

// identify says who the client is, in the header.
func identify(url.Values, *registration) (basic bool) { return true }

// present says so by an assertion.
func present(form url.Values, signed string) {
	form.Set("client_assertion_type", oauth.ClientAssertionJWT)
	form.Set("client_assertion", signed)
}

// byExchange has the identity provider issue a grant, and gets a token for it.
func (a *carrier) byExchange(ctx context.Context, from *source, as *registration, scopes []string) (*token, error) {
	given := a.client.options.Authorization.Credentials
	form := url.Values{
		"grant_type":           {oauth.GrantTokenExchange},
		"requested_token_type": {oauth.TokenTypeIDJAG},
		"audience":             {from.issuer},
		"resource":             {from.resource},
		"subject_token":        {given.IdentityToken},
		"subject_token_type":   {oauth.TokenTypeIDToken},
		"client_id":            {given.IdentityID},
	}
	if len(scopes) > 0 {
		form.Set("scope", strings.Join(scopes, " "))
	}
	var granted struct {
		Token string `json:"access_token"`
	}
	if err := a.post(ctx, given.Exchange, form, nil, &granted); err != nil {
		return nil, fmt.Errorf("the identity provider issues no grant: %w", err)
	}
	return a.byGrant(ctx, from, as, granted.Token)
}

// byIdentityToken takes what the identity provider said of the user for a grant.
func (a *carrier) byIdentityToken(ctx context.Context, from *source, as *registration, _ []string) (*token, error) {
	return a.byGrant(ctx, from, as, a.client.options.Authorization.Credentials.IdentityToken)
}

// byGrant gets a token for a grant of an identity provider.
func (a *carrier) byGrant(ctx context.Context, from *source, as *registration, grant string) (*token, error) {
	form := url.Values{"grant_type": {oauth.GrantJWTBearer}, "assertion": {grant}}
	return a.request(ctx, from, as, form, a.client.part.auth.identifies(form, as))
}

// request sends a token request.
func (a *carrier) request(
	ctx context.Context, from *source, as *registration, form url.Values, basic bool,
) (*token, error) {
	var issued struct {
		Access string `json:"access_token"`
		Type   string `json:"token_type"`
	}
	var who *registration
	if basic {
		who = as
	}
	if err := a.post(ctx, from.metadata.Token, form, who, &issued); err != nil {
		return nil, err
	}
	if issued.Access == "" || !a.client.part.auth.knowsTokenType(issued.Type) {
		return nil, errors.New("the answer has no token that the client understands")
	}
	return &token{access: issued.Access, from: from, as: as}, nil
}

// post sends a form, with the credentials of a registration in the header unless it is nil.
func (a *carrier) post(ctx context.Context, to string, form url.Values, who *registration, into any) error {
	if err := a.client.part.auth.checksURL(to); err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, to, strings.NewReader(form.Encode()))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if who != nil {
		request.SetBasicAuth(url.QueryEscape(who.ID), url.QueryEscape(who.Secret))
	}
	return a.call(request, into)
}

// An assertion is how a client says who it is, signed (RFC 7523, section 3).
type assertion struct {
	claims   object
	key      any
	endpoint string // that it is sent to
	withheld bool
}

// assertionTime is how long an assertion is good.
const assertionTime = time.Minute

// assertion signs one for an authorization server; "" for none.
func (a *carrier) assertion(from *source, as *registration) (string, error) {
	given := a.client.options.Authorization.Credentials
	block, _ := pem.Decode([]byte(given.Key))
	if block == nil {
		return "", errors.New("the private key is no PEM block")
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return "", fmt.Errorf("the private key cannot be read: %w", err)
	}
	now := time.Now()
	made := &assertion{key: key, endpoint: from.metadata.Token, claims: object{
		"iss": as.ID, "sub": as.ID, "aud": from.metadata.Issuer, "jti": rand.Text(),
		"iat": now.Unix(), "exp": now.Add(assertionTime).Unix(),
	}}
	a.client.part.auth.asserts(made)
	if made.withheld {
		return "", nil
	}
	return made.sign(given.Algorithm)
}

func (a *assertion) sign(algorithm string) (string, error) {
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.SignatureAlgorithm(algorithm), Key: a.key}, nil)
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(a.claims)
	if err != nil {
		return "", err
	}
	signed, err := signer.Sign(text)
	if err != nil {
		return "", err
	}
	return signed.CompactSerialize()
}
