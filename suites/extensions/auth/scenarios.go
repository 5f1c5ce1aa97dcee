// Package auth is about the extensions for authorization: OAuth client credentials, and
// enterprise-managed authorization.
package auth

import (
	"net/http"
	"slices"
	"sync"
	"time"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/oauth"
	"github.com/mcpconform/mcpconform/internal/protocol"
	. "github.com/mcpconform/mcpconform/internal/scenario"
	"github.com/mcpconform/mcpconform/internal/scripted"
)

// since is the revision that has extensions.
const since = "2026-07-28"

// guarded makes a scenario whose server asks for authorization.
func guarded(name, official, says string, twist func(*scripted.Guard)) *Scenario {
	return &Scenario{
		Name: name, Says: says, Since: since, Official: official, Over: protocol.HTTP, Protected: twist,
		Steps: Steps{ToConnect(), ToList("tools"), ToCall(scripted.TestTool, nil), ToClose()},
	}
}

// Credentials that the client is given.
const (
	givenID     = "mcpconform-machine"
	givenSecret = "secret-of-the-machine-of-the-scenario"
	identityID  = "mcpconform-client-of-the-identity-provider"
)

// keys are the same in each process: what one has recorded another judges. They open nothing
// but scripted servers.
var (
	clientKey   = seeded("client")
	identityKey = seeded("identity provider")
)

func seeded(id string) func() *oauth.Key {
	return sync.OnceValue(func() *oauth.Key {
		key, err := oauth.KeyFromSeed(id, "scenarios of extensions")
		if err != nil {
			panic("auth: " + err.Error())
		}
		return key
	})
}

// grants has an authorization server issue tokens by some grants, without validation of
// the requests.
func grants(issuer *scripted.AuthServer, types ...any) {
	issuer.Unrefreshed = true
	issuer.Metadata["grant_types_supported"] = types
	issuer.OnToken = func(r *scripted.TokenRequest) {
		if slices.Contains(types, any(r.Grant)) {
			r.Status, r.Answer = http.StatusOK, issuer.Issue(r.Form.Get("scope"))
		}
	}
}

// Members of the metadata of authorization servers.
const (
	authMethods  = "token_endpoint_auth_methods_supported"
	signingAlgs  = "token_endpoint_auth_signing_alg_values_supported"
	serverSecret = "client_secret_basic"
)

var withSecret = guarded("client-credentials-secret", "auth/client-credentials-basic",
	"The client has a client_id and a secret, for the client credentials grant.",
	func(g *scripted.Guard) {
		g.Context = Object{"client_id": givenID, "client_secret": givenSecret, "issuer": g.Issuer().Issuer}
		grants(g.Issuer(), oauth.GrantClientCredentials)
		g.Issuer().Metadata[authMethods] = []any{serverSecret, "client_secret_post"}
	})

var withKey = guarded("client-credentials-jwt", "auth/client-credentials-jwt",
	"The client has a client_id and a private key, for the client credentials grant.",
	func(g *scripted.Guard) {
		g.Context = Object{
			"client_id": givenID, "private_key_pem": string(clientKey().PrivatePEM()), "signing_algorithm": oauth.ES256,
			"issuer": g.Issuer().Issuer,
		}
		grants(g.Issuer(), oauth.GrantClientCredentials, oauth.GrantJWTBearer)
		g.Issuer().Metadata[authMethods] = []any{"private_key_jwt"}
		g.Issuer().Metadata[signingAlgs] = []any{oauth.ES256}
	})

// identityProvider is the number of the identity provider.
const identityProvider = 2

var managed = guarded(
	"enterprise-managed",
	"auth/enterprise-managed-authorization",
	"The client has an ID token of an identity provider, which exchanges it for a grant of the authorization server.",
	func(g *scripted.Guard) {
		provider := g.NewIssuer("")
		exchanges(provider)
		grants(g.Issuer(), oauth.GrantJWTBearer)
		g.Issuer().Metadata[authMethods] = []any{serverSecret, "client_secret_post"}
		g.Context = Object{
			"client_id": givenID, "client_secret": givenSecret, "issuer": g.Issuer().Issuer,
			"idp_client_id": identityID, "idp_issuer": provider.Issuer, "idp_id_token": identity(provider.Issuer),
			"idp_token_endpoint": provider.Metadata["token_endpoint"],
		}
	},
)

// exchanges has an identity provider issue grants for other authorization servers.
func exchanges(provider *scripted.AuthServer) {
	provider.Metadata["grant_types_supported"] = []any{oauth.GrantTokenExchange}
	provider.OnToken = func(r *scripted.TokenRequest) {
		if r.Grant != oauth.GrantTokenExchange {
			return
		}
		grant := sign(Object{"typ": "oauth-id-jag+jwt"}, Object{
			"iss": provider.Issuer, "sub": subject, "aud": r.Form.Get("audience"), "client_id": givenID,
			"resource": r.Form.Get("resource"), "jti": r.Form.Get("audience") + " " + r.Form.Get("resource"),
		})
		r.Status, r.Answer = http.StatusOK, Object{
			"access_token":      grant,
			"issued_token_type": oauth.TokenTypeIDJAG,
			"token_type":        "N_A",
			"expires_in":        lifetime,
		}
	}
}

const (
	subject  = "ada@mcpconform.example"
	lifetime = 300 // seconds: longer than a scenario takes
)

// identity is what the identity provider said of the user.
func identity(issuer string) string {
	return sign(Object{"typ": "JWT"}, Object{"iss": issuer, "sub": subject, "email": subject, "aud": identityID})
}

// sign signs claims as the identity provider, for a while.
func sign(header, claims Object) string {
	now := time.Now().Unix()
	claims["iat"], claims["exp"] = now, now+lifetime
	token, err := identityKey().Sign(header, claims)
	if err != nil {
		panic("auth: " + err.Error())
	}
	return token
}
