package authorization

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	. "github.com/mcpconform/mcpconform/internal/check"
	. "github.com/mcpconform/mcpconform/internal/clientrun"
	"github.com/mcpconform/mcpconform/internal/mcp"
	"github.com/mcpconform/mcpconform/internal/oauth"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// ClientChecks registers the checks of a target client.
func ClientChecks() {
	Describe("Finding the authorization server", finding)
	Describe("Servers that authorize by themselves", findingOwn)
	Describe("Places of its metadata", placesOfMetadata)
	Describe("Validating its metadata", validatingMetadata)
	Describe("Registering", registering)
	Describe("PKCE", provingKeys)
	Describe("The resource", naming)
	Describe("Redirects", redirecting)
	Describe("Authorizing again", authorizingAgain)
	Describe("The authorization response", validatingAnswers)
	Describe("Scopes", choosingScopes)
	Describe("Authenticating", authenticating)
	Describe("Token responses", takingTokens)
	Describe("Tokens", usingTokens)
	Describe("Opening a browser", openingBrowsers)
}

// play runs the client through the scenario of the check.
func play(t *T) *Client { return RunProtected(t, protected) }

// refusing runs a client through a scenario in which it is to refuse something. That it
// does not go on shows nothing of a client that does not where all is good.
func refusing(t *T) *Client {
	client := play(t)
	if plain := AlsoRun(t, protected); plain == nil || len(plain.Admitted()) == 0 {
		t.Inconclusive("the client does not get access in the scenario protected, where nothing is wrong",
			"let the client follow the redirect of the authorization URL")
	}
	return client
}

// first returns the first of some visits; there is one.
func first(visits []*Visit) *Visit { return visits[0] }

// refused is the last request that the server refused before the client can have known
// better: what the client missed to do, it missed to do after it.
func refused(client *Client) transcript.Event { return first(client.NeedAt(scripted.AtEndpoint)).Event }

// used are the visits to endpoints of authorization servers that a client goes to when it
// has chosen one.
func used(client *Client, issuer int) []*Visit {
	return slices.Concat(
		client.AtIssuer(issuer, scripted.AtRegister),
		client.AtIssuer(issuer, scripted.AtAuthorize),
		client.AtIssuer(issuer, scripted.AtToken),
	)
}

func finding() {
	It("asks for protected resource metadata before it authorizes", Verifies("authorization.metadata.use"), In(protected), func(t *T) {
		client := play(t)
		authorizing := slices.Concat(used(client, 0), used(client, 1))
		client.Need(authorizing, "used an authorization server")

		for one := range ObserveEach(t, authorizing) {
			if len(Before(client.At(scripted.AtResourceMetadata), one.Event)) == 0 {
				client.FailVisit(one, "a request for protected resource metadata before", ShowVisit(one))
			}
		}
	})

	It("uses no protected resource metadata of another resource", Verifies("authorization.metadata.use"), In(foreignResource), func(t *T) {
		client := refusing(t)
		client.NeedAt(scripted.AtResourceMetadata)

		client.DemandNone(used(client, 1), "no use of the authorization server that the metadata names")
	})

	It("uses the metadata that the challenge names",
		Verifies("authorization.discovery.resource-order", "authorization.challenge.parsed"), In(namedMetadata), func(t *T) {
			client := play(t)

			client.DemandNone(used(client, trapIssuer), "the authorization server of the metadata that the challenge names")
			finds(t, client, named)
		})

	findingWellKnown()

	for _, one := range []struct {
		text     string
		scenario Option
	}{
		{"finds the Bearer challenge among others in one field", In(severalChallenges)},
		{"finds the Bearer challenge among others in fields of their own", In(severalFields)},
	} {
		It(one.text, Verifies("authorization.challenge.parsed"), one.scenario, func(t *T) { finds(t, play(t), named) })
	}

	It("accepts the URL of a server with its host in upper case", Verifies("authorization.resource.capitals"), In(capitals), func(t *T) {
		client := play(t)
		after := refused(client)

		if !t.Observed(len(client.Admitted()) > 0) {
			client.MissingAfter(after, Mismatch{Wanted: "a request with an access token", Found: "none"})
		}
	})
}

func findingWellKnown() {
	It("asks for metadata at the well-known URI of the path before that of the root",
		Verifies("authorization.discovery.resource-order"), In(metadataAtThePath), func(t *T) {
			client := play(t)
			asked := client.NeedAt(scripted.AtResourceMetadata)

			t.Observe()
			if first(asked).URL.Path != oauth.ResourcePath+scripted.Endpoint {
				client.FailVisit(first(asked), "GET "+oauth.ResourcePath+scripted.Endpoint+" first", ShowVisit(first(asked)))
			}
		})

	It("asks for metadata at the well-known URI of the root when there is none at that of the path",
		Verifies("authorization.discovery.resource-order"), In(metadataAtTheRoot), func(t *T) { finds(t, play(t), oauth.ResourcePath) })

	It("asks for metadata at the well-known URIs when a 401 has no challenge",
		Verifies("authorization.discovery.resource-order"), In(bareRefusal), func(t *T) { finds(t, play(t), oauth.ResourcePath+scripted.Endpoint) })
}

// finds wants a client to have asked for metadata of the server at a path.
func finds(t *T, client *Client, path string) {
	after := refused(client)
	found := slices.ContainsFunc(client.At(scripted.AtResourceMetadata), at(path)) ||
		slices.ContainsFunc(client.AtIssuer(0, scripted.AtElsewhere), at(path))
	if !t.Observed(found) {
		client.MissingAfter(after, Mismatch{Wanted: "GET " + path, Found: metadataAsked(client)})
	}
}

func at(path string) func(*Visit) bool {
	return func(v *Visit) bool { return v.URL.Path == path }
}

// metadataAsked tells what metadata the client has asked for.
func metadataAsked(client *Client) string {
	var all []string
	for _, v := range slices.Concat(client.At(scripted.AtResourceMetadata), client.At(scripted.AtServerMetadata)) {
		all = append(all, v.Method+" "+v.URL.Path)
	}
	if len(all) == 0 {
		return "no request for metadata"
	}
	return strings.Join(all, ", ")
}

func placesOfMetadata() {
	It("asks for OAuth metadata at the root for an issuer without a path",
		Verifies("authorization.discovery.root.oauth"), In(protected), func(t *T) { asksSometime(t, play(t), oauth.ServerPath) })

	It("asks for the OpenID configuration when there is no OAuth metadata",
		Verifies("authorization.discovery.root.openid", "authorization.discovery.places"), In(issuerOpenID), func(t *T) {
			asksSometime(t, play(t), oauth.OpenIDPath)
		})

	It(
		"asks first for OAuth metadata with the path of the issuer inserted",
		Verifies("authorization.discovery.path.oauth"),
		In(issuerWithPath),
		func(t *T) { asks(t, play(t), tenantIssuer, ofTenant[:1]...) },
	)

	It("asks second for the OpenID configuration with the path of the issuer inserted",
		Verifies("authorization.discovery.path.openid"), In(issuerWithPathOpenID), func(t *T) { asks(t, play(t), tenantIssuer, ofTenant[:2]...) })

	It("asks third for the OpenID configuration below the path of the issuer",
		Verifies("authorization.discovery.path.appended"), In(issuerWithPathAppended), func(t *T) { asks(t, play(t), tenantIssuer, ofTenant...) })

	It("uses the endpoints in the metadata of the authorization server", Verifies("authorization.discovery.metadata"), In(protected), func(t *T) {
		client := play(t)
		authorizing := slices.Concat(used(client, 0), used(client, 1))
		client.Need(authorizing, "used an authorization server")

		for one := range ObserveEach(t, authorizing) {
			if one.Issuer != 1 || !strings.HasPrefix(one.URL.Path, scripted.Endpoints+"/") {
				client.FailVisit(one, "an endpoint that the metadata names", ShowVisit(one))
			}
		}
	})
}

// ofTenant are the places of the metadata of an issuer with a path, in their order.
var ofTenant = []string{oauth.ServerPath + tenant, oauth.OpenIDPath + tenant, tenant + oauth.OpenIDPath}

// asksForMetadata are the requests of a client for the metadata of an authorization server,
// of which the check needs one.
func asksForMetadata(client *Client, issuer int) []*Visit {
	return client.Need(client.AtIssuer(issuer, scripted.AtServerMetadata), "requested the metadata of the authorization server")
}

// asksSometime wants a client to have asked the first authorization server for its metadata
// at a path.
func asksSometime(t *T, client *Client, path string) {
	asked := asksForMetadata(client, 1)
	if !t.Observed(slices.ContainsFunc(asked, at(path))) {
		client.MissingAfter(first(asked).Event, Mismatch{Wanted: "GET " + path, Found: ShowVisit(first(asked))})
	}
}

// asks wants a client to have asked an authorization server for its metadata at some of these
// places, each first in this order. Nothing comes before the first of them; what else is
// asked for between them, no sentence says.
func asks(t *T, client *Client, issuer int, paths ...string) {
	asked := asksForMetadata(client, issuer)
	var all, order []string
	for _, v := range asked {
		if v.Method != http.MethodGet || slices.Contains(all, v.URL.Path) {
			continue
		}
		all = append(all, v.URL.Path)
		if len(all) == 1 || slices.Contains(ofTenant, v.URL.Path) {
			order = append(order, v.URL.Path)
		}
	}
	t.Observe()
	if len(order) < len(paths) || !slices.Equal(order[:len(paths)], paths) {
		client.MissingAfter(first(asked).Event, Mismatch{
			Wanted: "GET " + strings.Join(paths, ", then GET "), Found: "GET " + strings.Join(all, ", then GET "),
		})
	}
}

func validatingMetadata() {
	for _, one := range otherIssuers {
		It("rejects "+one.wrong, Verifies("authorization.discovery.issuer.foreign"), In(one.scenario), func(t *T) { rejectsForbidden(refusing(t)) })
	}

	It("rejects metadata of an authorization server whose issuer has an extra slash",
		Verifies("authorization.discovery.issuer.exact"), In(nearlyTheIssuer), func(t *T) { rejectsForbidden(refusing(t)) })

	It("rejects metadata of an authorization server whose issuer has the host in upper case",
		Verifies("authorization.discovery.issuer.exact"), In(issuerInCapitals), func(t *T) { rejectsForbidden(refusing(t)) })

	for _, one := range []struct {
		text, place string
		issuer      int
		scenario    Option
	}{
		{"accepts an issuer that is an origin with a slash", oauth.ServerPath, 1, In(slashIssuer)},
		{"accepts an issuer whose path ends with a slash", oauth.ServerPath + tenant, tenantIssuer, In(slashTenant)},
	} {
		It(one.text, Verifies("authorization.discovery.issuer.exact"), one.scenario, func(t *T) {
			client := refusing(t)
			read := slices.DeleteFunc(asksForMetadata(client, one.issuer), func(v *Visit) bool {
				return strings.TrimSuffix(v.URL.Path, "/") != one.place
			})
			client.Need(read, "read the metadata of the authorization server")

			if !t.Observed(len(used(client, one.issuer)) > 0) {
				client.MissingAfter(read[len(read)-1].Event, Mismatch{
					Wanted: "a use of the authorization server, whose metadata names the issuer that the server names",
					Found:  "none",
				})
			}
		})
	}

	It("does not authorize if the OAuth metadata has no "+methods,
		Verifies("authorization.pkce.required"), In(noPKCE), func(t *T) { staysAway(refusing(t)) })

	It("does not authorize if the OpenID configuration has no "+methods,
		Verifies("authorization.pkce.required-of-openid"), In(noPKCEOpenID), func(t *T) { staysAway(refusing(t)) })

	It("keeps the registrations with two authorization servers apart", Verifies("authorization.discovery.separate"), In(twoServers), func(t *T) {
		client := play(t)
		client.NeedAt(scripted.AtAuthorize)

		keepsApart(t, client)
	})
}

// rejectsForbidden wants a client that has read metadata to use no endpoint of it.
func rejectsForbidden(client *Client) {
	client.NeedAt(scripted.AtServerMetadata)
	var forbidden []*Visit
	for _, v := range used(client, 1) {
		if strings.HasPrefix(v.URL.Path, scripted.ForbiddenPath) {
			forbidden = append(forbidden, v)
		}
	}
	client.DemandNone(forbidden, "no use of the metadata")
}

// staysAway wants a client that has read metadata not to go on to authorize.
func staysAway(client *Client) {
	read := slices.DeleteFunc(client.NeedAt(scripted.AtServerMetadata), func(v *Visit) bool { return v.Reply == nil })
	client.Need(read, "read the metadata of the authorization server")
	client.DemandNone(client.At(scripted.AtAuthorize), "no authorization request")
}

// keepsApart wants nothing that one authorization server gave to come to another.
func keepsApart(t *T, client *Client) {
	for _, v := range client.Visits {
		if v.Issuer == 0 {
			continue
		}
		t.Observe()
		for _, secret := range v.Secrets() {
			if secret.Issuer != v.Issuer {
				client.FailVisit(v, fmt.Sprintf("nothing of an issuer other than issuer %d", v.Issuer), secret.Name())
			}
		}
		if id := clientID(v); id != "" && ofAnother(id, v.Issuer) {
			client.FailVisit(v, fmt.Sprintf("a client_id of issuer %d", v.Issuer), "client_id "+id)
		}
	}
}

func clientID(v *Visit) string {
	if id := v.Form.Get("client_id"); id != "" {
		return id
	}
	return v.URL.Query().Get("client_id")
}

// ofAnother tells whether a client_id was given by another of our authorization servers.
func ofAnother(id string, issuer int) bool {
	for nth := 1; nth < 20; nth++ {
		for other := 1; other <= nextIssuer; other++ {
			if other != issuer && id == scripted.ClientID(other, nth) {
				return true
			}
		}
	}
	return false
}

func registering() {
	It("registers dynamically if the authorization server supports nothing else",
		Verifies("authorization.registration.dynamic"), In(protected), func(t *T) {
			client := play(t)
			read := client.NeedAt(scripted.AtServerMetadata)

			if !t.Observed(len(client.At(scripted.AtRegister)) > 0) {
				client.MissingAfter(first(read).Event, Mismatch{Wanted: "a registration", Found: "none"})
			}
		})

	It("has a client_id before it authorizes", Verifies("authorization.registration.before"), In(noRegistration),
		func(t *T) { hasNoID(refusing(t), scripted.AtServerMetadata) })

	It("does not authorize after its registration was refused", Verifies("authorization.registration.before"),
		In(refusedRegistration), func(t *T) { hasNoID(refusing(t), scripted.AtRegister) })

	It("stops after its registration was refused a few times", Verifies("authorization.registration.refused"), In(refusedRegistration), func(t *T) {
		client := play(t)
		registrations := client.NeedAt(scripted.AtRegister)

		t.Observe()
		if len(registrations) > manyRegistrations {
			client.FailVisit(registrations[manyRegistrations],
				fmt.Sprintf("at most %d registrations", manyRegistrations), strconv.Itoa(len(registrations)))
		}
	})

	It("reports an error when its registration is refused", Verifies("authorization.registration.error-told"), In(refusedRegistration), func(t *T) {
		client := play(t)
		registration := first(client.NeedAt(scripted.AtRegister))

		tellsFailure(t, client, registration)
	})

	identifyingItself()

	describingItself()

	changingServers()
}

func identifyingItself() {
	It("uses its pre-registered client credentials", Verifies("authorization.registration.preregistered"), In(preregistered), func(t *T) {
		client := play(t)
		logins := client.NeedAt(scripted.AtAuthorize)
		if !readsContext(client, logins) {
			t.Inconclusive(
				"it is unknown whether the client reads the credentials of MCP_CONFORMANCE_CONTEXT",
				"let the client use client_id and client_secret of MCP_CONFORMANCE_CONTEXT, and report its steps",
			)
		}

		for one := range ObserveEach(t, logins) {
			if id, _ := one.Query("client_id"); id != givenID {
				client.FailVisit(one, "client_id "+givenID, "client_id "+id)
			}
		}
	})

	It("uses its client ID metadata document if the authorization server supports it",
		Verifies("authorization.registration.document"), In(clientDocument), func(t *T) {
			client := play(t)

			for one := range ObserveEach(t, client.NeedAt(scripted.AtAuthorize)) {
				if id, _ := one.Query("client_id"); !isURL(id) {
					client.FailVisit(one, "a client_id that is a URL", "client_id "+id)
				}
			}
		})

	It("has a client_id with https and a path if it is a URL", Verifies("authorization.document.url"), In(clientDocument), func(t *T) {
		client := play(t)
		logins := slices.DeleteFunc(client.NeedAt(scripted.AtAuthorize), func(v *Visit) bool {
			id, _ := v.Query("client_id")
			return !isURL(id)
		})
		if len(logins) == 0 {
			t.NotApplicable("the client uses no metadata document")
		}

		for _, one := range logins {
			id, _ := one.Query("client_id")
			parsed, err := url.Parse(id)
			client.DemandOf(one, err == nil && parsed.Scheme == "https" && strings.Trim(parsed.Path, "/") != "",
				"a client_id with the scheme https and a path", "client_id "+id)
		}
	})
}

func describingItself() {
	It("uses no client ID metadata document if the authorization server does not support it",
		Verifies("authorization.registration.document-support"), In(noClientDocument), func(t *T) {
			client := play(t)

			for one := range ObserveEach(t, client.NeedAt(scripted.AtAuthorize)) {
				if id, _ := one.Query("client_id"); isURL(id) {
					client.FailVisit(one, "a client_id that was registered", "client_id "+id)
				}
			}
		})

	It("sends application_type when it registers", Verifies("authorization.registration.application-type"), In(protected), func(t *T) {
		client := play(t)
		saysApplicationType(t, client, client.NeedAt(scripted.AtRegister))
	})

	It("sends application_type when it registers with another authorization server",
		Verifies("authorization.registration.application-type"), In(serverMoves), func(t *T) {
			client := play(t)
			saysApplicationType(t, client, client.Need(client.AtIssuer(nextIssuer, scripted.AtRegister), "registered with the second one"))
		})

	It(
		"registers as native with a redirect URI on this machine",
		Verifies("authorization.registration.native"),
		In(protected),
		func(t *T) { registersAs(t, play(t), "native", oauth.Loopback) },
	)

	It("registers as web with a redirect URI on another host", Verifies("authorization.registration.web"), In(protected), func(t *T) {
		registersAs(t, play(t), "web", func(host string) bool { return host != "" && !oauth.Loopback(host) })
	})

	It("registers the grant type refresh_token if it uses refresh tokens", Verifies("authorization.refresh.grant"), In(expiring), func(t *T) {
		client := play(t)
		client.Need(client.Tokens("refresh_token"), "used a refresh token")

		for one := range ObserveEach(t, client.NeedAt(scripted.AtRegister)) {
			if grants, _ := one.JSON["grant_types"].([]any); !slices.Contains(grants, any("refresh_token")) {
				client.FailVisit(one, "grant_types with refresh_token", "grant_types "+Show(one.JSON["grant_types"]))
			}
		}
	})
}

func changingServers() {
	It(
		"uses no client_id or token of the old authorization server when the server names another",
		Verifies("authorization.registration.renewed", "authorization.registration.bound", "authorization.discovery.separate"),
		In(serverMoves),
		func(t *T) {
			client := play(t)
			client.Need(used(client, nextIssuer), "used the second authorization server")

			keepsApart(t, client)
		},
	)

	It("reports an error if its credentials belong to another issuer than the server names",
		Verifies("authorization.registration.mismatch-told"), In(foreignCredentials), func(t *T) {
			client := refusing(t)
			read := client.NeedAt(scripted.AtServerMetadata)
			if !client.Reports() {
				t.Inconclusive("it is unknown whether the client knows the issuer of its credentials",
					"let the client bind client_id to the issuer in MCP_CONFORMANCE_CONTEXT, and report its steps")
			}

			client.DemandNone(withID(client, givenID), "no request with the credentials")
			tellsFailure(t, client, first(read))
		})
}

// readsContext tells whether a client is one that knows of the context of scenarios: it
// uses what that has, or does as drivers do. A client that a user installs reads none.
func readsContext(client *Client, logins []*Visit) bool {
	return client.Driven() || slices.ContainsFunc(logins, func(v *Visit) bool {
		id, _ := v.Query("client_id")
		return id == givenID
	})
}

// manyRegistrations is how often a client may try to register in one scenario: it may try
// with other redirect URIs and another application_type.
const manyRegistrations = 5

func isURL(id string) bool { return strings.Contains(id, "://") }

// hasNoID wants a client that got to a place not to authorize without a client_id.
func hasNoID(client *Client, place scripted.Place) {
	client.NeedAt(place)
	client.DemandNone(slices.DeleteFunc(client.At(scripted.AtAuthorize), func(v *Visit) bool {
		id, _ := v.Query("client_id")
		return isURL(id) // its document needs no registration
	}), "no authorization request without a client_id")
}

// tellsFailure demands that the client exits with an error, or that its driver reports one.
// The check is inconclusive if neither shows how the step ended.
func tellsFailure(t *T, client *Client, after *Visit) {
	outcome, reported := client.Outcome("connect")
	switch {
	case client.Exit.Failed, reported && outcome.Failed():
		t.Observe()
	case reported, client.Exit.Well():
		t.Observe()
		client.FailVisit(after, "an error for the user", "the client exited without an error")
	default:
		client.NeedOutcome("connect")
	}
}

// withID are the visits to authorization servers with a client_id, or with its secret.
func withID(client *Client, id string) []*Visit {
	return slices.DeleteFunc(used(client, 1), func(v *Visit) bool { return clientID(v) != id })
}

// registersAs wants an application_type of registrations with redirect URIs on some hosts.
func registersAs(t *T, client *Client, kind string, applies func(host string) bool) {
	found := false
	for _, one := range client.NeedAt(scripted.AtRegister) {
		is := slices.ContainsFunc(mcp.List(one.JSON, "redirect_uris"), func(uri any) bool {
			parsed, err := url.Parse(mcp.Text(uri))
			return err == nil && applies(parsed.Hostname())
		})
		if !is {
			continue
		}
		found = true
		client.DemandOf(one, one.JSON["application_type"] == kind, "application_type "+kind, "application_type "+Show(one.JSON["application_type"]))
	}
	if !found {
		t.NotApplicable("the client registers no redirect URI that makes it " + kind)
	}
}

func saysApplicationType(t *T, client *Client, registrations []*Visit) {
	for one := range ObserveEach(t, registrations) {
		if kind := one.JSON["application_type"]; kind != "native" && kind != "web" {
			client.FailVisit(one, "application_type native or web", "application_type "+Show(kind))
		}
	}
}
