package auth

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"

	. "github.com/mcpconform/mcpconform/internal/check"
	. "github.com/mcpconform/mcpconform/internal/clientrun"
	"github.com/mcpconform/mcpconform/internal/mcp"
	"github.com/mcpconform/mcpconform/internal/oauth"
	. "github.com/mcpconform/mcpconform/internal/scenario"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/suites/authorization"
)

// What the extensions are called.
//
//nolint:gosec // they are names
const (
	clientCredentials = "oauth-client-credentials"
	enterpriseManaged = "enterprise-managed-authorization"
)

// ClientChecks registers the checks of a target client.
func ClientChecks() {
	Describe("OAuth client credentials", func() {
		requesting()
		for _, one := range []struct {
			with     string
			scenario *Scenario
			grants   []string
		}{
			{"its secret", withSecret, []string{oauth.GrantClientCredentials}},
			{"its key", withKey, []string{oauth.GrantClientCredentials, oauth.GrantJWTBearer}},
		} {
			granting(one.with, one.scenario, one.grants)
		}
		authenticating()
	})
	Describe("Enterprise-managed authorization", func() {
		exchanging()
		redeeming()
	})
}

// play runs a client that has an extension, and reads the credentials that it is given.
func play(t *T, extension string, types ...string) *Client {
	requests := func(client *Client) []*Visit {
		return slices.DeleteFunc(client.At(scripted.AtToken), func(v *Visit) bool { return !slices.Contains(types, v.Form.Get("grant_type")) })
	}
	client := RunExtended(t, authorization.Plain(), extension, func(client *Client) bool { return len(requests(client)) > 0 })
	knows := func(v *Visit) bool { return v.Issuer == identityProvider || clientOf(v) == givenID }
	if !slices.ContainsFunc(client.Visits, knows) {
		t.Inconclusive("the client does not use the given credentials", "let the client use the credentials of MCP_CONFORMANCE_CONTEXT")
	}
	return client
}

// clientOf is the client_id that a request to an authorization server names; "" for none.
func clientOf(v *Visit) string {
	if v.Issuer == 0 {
		return ""
	}
	if id, _, basic := basicOf(v); basic {
		return id
	}
	if jwt, is := oauth.Decode(assertionOf(v)); is && v.Form.Get("client_id") == "" {
		subject := mcp.Text(jwt.Claims, "sub")
		return cmp.Or(subject, mcp.Text(jwt.Claims, "iss"))
	}
	id, _ := v.Query("client_id")
	return id + v.Form.Get("client_id")
}

// basicOf are the credentials of the Authorization header, which are encoded as a form
// (OAuth 2.1, section 2.4.1). Those that are not are understood, too.
func basicOf(v *Visit) (id, secret string, is bool) {
	id, secret, is = (&http.Request{Header: v.Header}).BasicAuth()
	return decoded(id), decoded(secret), is
}

func decoded(text string) string {
	if plain, err := url.QueryUnescape(text); err == nil {
		return plain
	}
	return text
}

// assertionOf is the JWT by which a request authenticates.
func assertionOf(v *Visit) string {
	if assertion := v.Form.Get("client_assertion"); assertion != "" {
		return assertion
	}
	return v.Form.Get("assertion")
}

// tokensOf are the token requests to an authorization server.
func tokensOf(client *Client, issuer int, types ...string) []*Visit {
	return slices.DeleteFunc(client.AtIssuer(issuer, scripted.AtToken), func(v *Visit) bool {
		return len(types) > 0 && !slices.Contains(types, v.Form.Get("grant_type"))
	})
}

// unattended demands that a client gets its token without an authorization request.
func unattended(client *Client) {
	client.DemandNone(client.AtIssuer(1, scripted.AtAuthorize), "no authorization request")
}

// declares wants a client that uses an extension to say so, where it declares anything.
func declares(t *T, client *Client, extension string, use *Visit) {
	if !client.DeclaresAnything() {
		t.Inconclusive("no request of the client has capabilities", "fix the failures under base first")
	}
	client.DemandOf(
		use,
		client.DeclaresExtension(extension),
		"the extension io.modelcontextprotocol/"+extension+" among the capabilities of requests",
		"none of its requests declares it",
	)
}

// requesting is about a client with a secret: one that is given a key may know secrets alone.
func requesting() {
	It("requests a token by the client credentials grant", Verifies("oauth-client-credentials.token.grant"), In(withSecret), func(t *T) {
		client := play(t, clientCredentials, oauth.GrantClientCredentials)

		if t.Observed(len(tokensOf(client, 1, oauth.GrantClientCredentials)) > 0) {
			return
		}
		client.MissingAfter(client.NeedAt(scripted.AtEndpoint)[0].Event, Mismatch{
			Wanted: "a token request with grant_type " + oauth.GrantClientCredentials, Found: grantTypes(client),
		})
	})

	It("opens no login page if it has credentials", Verifies("oauth-client-credentials.token.grant"),
		In(withSecret),
		func(t *T) { unattended(play(t, clientCredentials, oauth.GrantClientCredentials)) })
}

// granting is about what clients with either kind of credentials do alike.
func granting(with string, scenario *Scenario, types []string) {
	granted := func(t *T) (*Client, []*Visit) {
		client := play(t, clientCredentials, types...)
		return client, needTokens(client, types...)
	}

	It("sends resource when it requests a token with "+with, Verifies("oauth-client-credentials.resource.sent"), In(scenario), func(t *T) {
		client, requests := granted(t)

		for _, one := range requests {
			given := one.Form["resource"]
			client.DemandOf(one, slices.ContainsFunc(given, func(r string) bool { return ofServer(client, r) }),
				"the server as resource", Given("resource", given))
		}
	})

	It("sends the access token of "+with+" in the Authorization header", Verifies("oauth-client-credentials.token.header"), In(scenario), func(t *T) {
		client, requests := granted(t)

		if !t.Observed(len(client.AdmittedWith(1, 0)) > 0) {
			client.MissingAfter(requests[0].Event, Mismatch{Wanted: "Authorization: Bearer and the token", Found: "none"})
		}
	})

	It("declares that it authorizes with "+with, Verifies("oauth-client-credentials.capability.declared"), In(scenario), func(t *T) {
		client, requests := granted(t)

		declares(t, client, clientCredentials, requests[0])
	})
}

// ofServer tells whether a resource is on the server that the client was sent to.
func ofServer(client *Client, resource string) bool {
	return slices.ContainsFunc(client.At(scripted.AtResourceMetadata), func(v *Visit) bool {
		named := mcp.Text(v.Reply, "resource")
		return named != "" && oauth.SameOrigin(resource, named)
	})
}

// grantTypes tells what token requests a client sent instead.
func grantTypes(client *Client) string {
	var all []string
	for _, one := range client.At(scripted.AtToken) {
		all = append(all, one.Form.Get("grant_type"))
	}
	if len(all) == 0 {
		return "no token request"
	}
	return "grant_type " + strings.Join(all, ", then ")
}

func authenticating() {
	It("authenticates with its secret", Verifies("oauth-client-credentials.authentication.method"), In(withSecret), func(t *T) {
		client := play(t, clientCredentials, oauth.GrantClientCredentials)

		for _, one := range needTokens(client, oauth.GrantClientCredentials) {
			client.DemandOf(one, provesSecret(one), "client_id and secret in the header or the body", "other values, or none")
		}
	})

	types := []string{oauth.GrantClientCredentials, oauth.GrantJWTBearer}
	It("authenticates with a JWT assertion", Verifies("oauth-client-credentials.authentication.method"), In(withKey), func(t *T) {
		client := play(t, clientCredentials, types...)

		for _, one := range needTokens(client, types...) {
			client.DemandOf(one, assertionOf(one) != "", "client_assertion", "none")
			if one.Form.Has("client_assertion") {
				kind := one.Form["client_assertion_type"]
				client.DemandOf(one, slices.Equal(kind, []string{oauth.ClientAssertionJWT}),
					"client_assertion_type "+oauth.ClientAssertionJWT, Given("client_assertion_type", kind))
			}
		}
	})

	It("signs JWT assertions with its key, the authorization server as audience and an expiry",
		Verifies("oauth-client-credentials.authentication.assertion"), In(withKey), func(t *T) {
			client := play(t, clientCredentials, types...)
			asserting := slices.DeleteFunc(needTokens(client, types...), func(v *Visit) bool { return assertionOf(v) == "" })

			for _, one := range client.Need(asserting, "sent a JWT assertion") {
				issuer := "http://" + strings.ToLower(one.URL.Host)
				flaw := clientKey().AssertionFlaw(assertionOf(one), givenID, []string{issuer, issuer + "/", issuer + one.URL.Path}, one.Event.At)
				client.DemandOf(one, flaw == "", "an assertion as in RFC 7523, section 3", "one "+flaw)
			}
		})
}

// needTokens are the token requests with a grant of the extension, of which the check needs one.
func needTokens(client *Client, types ...string) []*Visit {
	return client.Need(tokensOf(client, 1, types...), "sent a token request with the grant of the extension")
}

// provesSecret tells whether a request has the client_id and the secret, in either place.
func provesSecret(v *Visit) bool {
	if id, secret, basic := basicOf(v); basic {
		return id == givenID && secret == givenSecret
	}
	return v.Form.Get("client_id") == givenID && v.Form.Get("client_secret") == givenSecret
}

// playManaged runs a client that has enterprise-managed authorization.
func playManaged(t *T) *Client {
	return play(t, enterpriseManaged, oauth.GrantTokenExchange, oauth.GrantJWTBearer)
}

func exchanging() {
	It("exchanges its ID token at the identity provider", Verifies("enterprise-managed-authorization.exchange.sent"), In(managed), func(t *T) {
		client := playManaged(t)

		if !t.Observed(len(tokensOf(client, identityProvider, oauth.GrantTokenExchange)) > 0) {
			client.MissingAfter(client.NeedAt(scripted.AtEndpoint)[0].Event, Mismatch{
				Wanted: "a request to the identity provider with grant_type " + oauth.GrantTokenExchange,
				Found:  grantTypes(client),
			})
		}
	})

	It("names grant, audience, resource and ID token in the token exchange",
		Verifies("enterprise-managed-authorization.exchange.parameters"), In(managed), func(t *T) {
			client := playManaged(t)
			exchanges := client.Need(tokensOf(client, identityProvider, oauth.GrantTokenExchange), "exchanged its ID token")

			for _, one := range exchanges {
				for _, parameter := range parametersOf(client) {
					given := one.Form[parameter.name]
					client.DemandOf(one, slices.ContainsFunc(given, parameter.fits), parameter.wanted, parameter.found(given))
				}
			}
		})

	It("declares that it exchanges ID tokens", Verifies("enterprise-managed-authorization.capability.declared"), In(managed), func(t *T) {
		client := playManaged(t)
		exchanges := client.Need(tokensOf(client, identityProvider, oauth.GrantTokenExchange), "exchanged its ID token")

		declares(t, client, enterpriseManaged, exchanges[0])
	})
}

// A parameter of the token exchange.
type parameter struct {
	name, wanted string
	fits         func(value string) bool
}

// found says what came in its place; tokens are not shown.
func (p parameter) found(given []string) string {
	if p.name == "subject_token" {
		return "another, or none"
	}
	return Given(p.name, given)
}

func parametersOf(client *Client) []parameter {
	is := func(wanted string) func(string) bool { return func(value string) bool { return value == wanted } }
	return []parameter{
		{"requested_token_type", "requested_token_type " + oauth.TokenTypeIDJAG, is(oauth.TokenTypeIDJAG)},
		{"audience", "the issuer of the authorization server as audience", func(value string) bool {
			return strings.TrimSuffix(value, "/") == issuerOf(client)
		}},
		{"resource", "the server as resource", func(value string) bool { return ofServer(client, value) }},
		{"subject_token", "the ID token as subject_token", func(value string) bool { return identityKey().Verifies(value) }},
		{"subject_token_type", "subject_token_type " + oauth.TokenTypeIDToken, is(oauth.TokenTypeIDToken)},
	}
}

// issuerOf is the issuer of the authorization server, as the metadata of the server names it.
func issuerOf(client *Client) string {
	for _, v := range client.At(scripted.AtResourceMetadata) {
		if named, _ := v.Reply["authorization_servers"].([]any); len(named) == 1 {
			return mcp.Text(named[0])
		}
	}
	return ""
}

func redeeming() {
	It("requests a token with the grant of the identity provider", Verifies("enterprise-managed-authorization.grant.used"), In(managed), func(t *T) {
		client := playManaged(t)
		issued := issuedGrants(client)

		requests := tokensOf(client, 1)
		for _, one := range requests {
			kind := one.Form["grant_type"]
			client.DemandOf(one, slices.Equal(kind, []string{oauth.GrantJWTBearer}), "grant_type "+oauth.GrantJWTBearer, Given("grant_type", kind))
			client.DemandOf(one, slices.Contains(issued, one.Form.Get("assertion")),
				"the assertion that the identity provider issued", "another, or none")
		}
		if !t.Observed(len(requests) > 0) {
			client.MissingAfter(client.NeedAt(scripted.AtEndpoint)[0].Event, Mismatch{
				Wanted: "a token request with grant_type " + oauth.GrantJWTBearer, Found: grantTypes(client),
			})
		}
	})

	It("authenticates when it uses the grant of the identity provider",
		Verifies("enterprise-managed-authorization.grant.authenticated"), In(managed), func(t *T) {
			client := playManaged(t)

			for _, one := range needTokens(client, oauth.GrantJWTBearer) {
				client.DemandOf(one, provesSecret(one), "client_id and secret in the header or the body", "other values, or none")
			}
		})

	It("opens no login page of the authorization server",
		Verifies("enterprise-managed-authorization.login.none"), In(managed), func(t *T) { unattended(playManaged(t)) })
}

// issuedGrants are what the identity provider has issued.
func issuedGrants(client *Client) []string {
	var all []string
	for _, one := range tokensOf(client, identityProvider, oauth.GrantTokenExchange) {
		all = append(all, mcp.Text(one.Reply, "access_token"))
	}
	return all
}
