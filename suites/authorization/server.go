// Package authorization checks the pages about authorization: what a server that asks
// for access tokens says to those who have none, which tokens it takes, and what they
// allow.
//
// The checks need more and more of the user: the URL of the server alone; an access
// token; a test authorization server that the server trusts, or tokens of every kind from
// a config.
package authorization

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/mcp"
	"github.com/mcpconform/mcpconform/internal/oauth"
	. "github.com/mcpconform/mcpconform/internal/offer"
	"github.com/mcpconform/mcpconform/internal/protocol"
	. "github.com/mcpconform/mcpconform/internal/session"
)

// ServerChecks registers the checks of a target server.
func ServerChecks() {
	Describe("Authorization", func() {
		challenges()
		metadata()
		ownAuthorization()
		tokens()
		sessions()
		scopes()
	})
}

// unauthorized makes a request without a token, which the server has refused before.
func unauthorized(t *T) *Response {
	response := tryGuarded(t, attempt{})
	if response.Status != http.StatusUnauthorized {
		t.Inconclusive(
			"a request without a token is no longer answered with HTTP 401: "+response.Describe(),
			"see the result of authorization.unauthorized.status",
		)
	}
	return response
}

// challenged makes such a request that is answered with a Bearer challenge.
func challenged(t *T) (*Response, oauth.Challenge) {
	response := unauthorized(t)
	challenge, found, _ := response.Challenge()
	if !found {
		t.Inconclusive("there is no Bearer challenge: "+response.DescribeChallenge(), "see the result of authorization.challenge.present")
	}
	return response, challenge
}

func challenges() {
	It("answers a request without an access token with 401", Verifies("authorization.unauthorized.status"), Guarded(), func(t *T) {
		response := tryGuarded(t, attempt{})
		t.Expect(response).To(HaveStatus(http.StatusUnauthorized))

		for _, header := range []string{"Basic dXNlcjpwYXNz", `Digest username="a"`} {
			response := tryGuarded(t, attempt{Authorization: []string{header}, Deliberate: "has a scheme other than Bearer"})
			t.Expect(response).To(HaveStatus(http.StatusUnauthorized))
		}
	})

	It("answers a request of each method without an access token with 401, unless it needs none",
		Verifies("authorization.unauthorized.status"), Guarded(), AtRevisionsWith(protocol.PerRequestMeta), func(t *T) {
			server := Connect(t)
			refused := false
			for _, request := range HarmlessRequests(t) {
				body := server.Body(request.Method, request.With(nil))
				response := anonymous(server, http.MethodPost, body, "")
				if !accepted(response) {
					refused = true
					t.Expect(response).To(HaveStatus(http.StatusUnauthorized))
				}
			}
			if !refused {
				t.NotApplicable("the server answers each of these methods without an access token")
			}
		})

	It("sends a Bearer challenge in WWW-Authenticate with a 401", Verifies("authorization.challenge.present"), Guarded(), func(t *T) {
		response := unauthorized(t)

		_, found, flaws := response.Challenge()
		t.Demand(found, "a WWW-Authenticate header with a Bearer challenge", response.DescribeChallenge())
		t.Demand(len(flaws) == 0, "a WWW-Authenticate header by RFC 9110, section 11.6.1", strings.Join(flaws, "; "))
	})

	challengeMembers()
}

func challengeMembers() {
	It("names the protected resource metadata in the WWW-Authenticate header of a 401",
		Verifies("authorization.challenge.metadata"), Guarded(), func(t *T) {
			response, challenge := challenged(t)

			address, named := challenge.Get("resource_metadata")
			t.Demand(named, "a resource_metadata parameter", response.DescribeChallenge())
			t.Demand(isAbsolute(address), "an absolute URL in resource_metadata", address)
			demandMetadataAt(t, response, address)
		})

	It("names the protected resource metadata by an absolute URL if the challenge names it",
		Verifies("authorization.challenge.metadata-url"), Guarded(), func(t *T) {
			response, challenge := challenged(t)

			if _, _, flaws := response.Challenge(); len(flaws) > 0 {
				t.Inconclusive("the challenge is malformed", "see the result of authorization.challenge.present")
			}
			address, named := challenge.Get("resource_metadata")
			if !named {
				t.NotApplicable("the challenge does not name the metadata")
			}
			t.Demand(isAbsolute(address), "an absolute URL in resource_metadata", response.DescribeChallenge())
			demandMetadataAt(t, response, address)
		})

	It("names the required scopes in the challenge of a 401", Verifies("authorization.challenge.scope"), Guarded(), func(t *T) {
		response, challenge := challenged(t)

		scope, named := challenge.Get("scope")
		t.Demand(named, "a scope parameter", response.DescribeChallenge())
		t.Demand(oauth.ScopeFlaw(scope) == "", "scopes by OAuth 2.1, section 1.4.1", fmt.Sprintf("%q: %s", scope, oauth.ScopeFlaw(scope)))
	})

	It("does not ask for the scope offline_access", Verifies("authorization.challenge.offline-access"), Guarded(), func(t *T) {
		response := unauthorized(t)

		scope := oauth.Scopes(response.Parameter("scope"))
		t.Demand(!slices.Contains(scope, offlineAccess), "no offline_access in the challenge", response.DescribeChallenge())
		for _, found := range documents(t, response) {
			listed := mcp.List(found.members, "scopes_supported")
			t.Demand(!slices.Contains(listed, any(offlineAccess)), "no offline_access in scopes_supported", Show(listed))
		}
	})

	It("sends no error in the challenge if the request had no access token",
		Verifies("authorization.challenge.error-without-token"), Guarded(), func(t *T) {
			response, challenge := challenged(t)

			_, reported := challenge.Get("error")
			t.Demand(!reported, "a challenge without error", response.DescribeChallenge())
		})
}

// demandMetadataAt wants metadata where the challenge says that it is, if the server has some
// anywhere. What is of another host is looked at if the user lets it be.
func demandMetadataAt(t *T, response *Response, address string) {
	if !Contactable(t, address) || len(documents(t, response)) == 0 {
		return
	}
	answer := fetch(t, address)
	t.DemandOf(answer, read(answer).members != nil, "the metadata at "+address+", which the challenge names")

}

const offlineAccess = "offline_access"

func isAbsolute(address string) bool {
	parsed, err := url.Parse(address)
	return err == nil && parsed.Host != "" && (parsed.Scheme == "http" || parsed.Scheme == "https")
}

func metadata() {
	It("serves protected resource metadata as JSON without an access token", Verifies("authorization.metadata.served"), Guarded(), func(t *T) {
		response := unauthorized(t)
		places := places(t, response)

		var answers []string
		for _, place := range places {
			answer := fetch(t, place)
			found := read(answer)
			if found.members != nil {
				t.Expect(answer).To(HaveStatus(http.StatusOK))
				t.Expect(answer).To(HaveContentType("application/json"))
				return
			}
			answers = append(answers, place+": "+answer.Describe())
		}
		t.Demand(false, "a JSON object at one of these places", strings.Join(answers, "; "))
	})

	It("locates its protected resource metadata by a header or a well-known URI", Verifies("authorization.metadata.located"), Guarded(), func(t *T) {
		response := unauthorized(t)

		found := documents(t, response)

		t.Demand(len(found) > 0,
			"metadata at resource_metadata of the challenge, or at "+strings.Join(wellKnown(t), " or "),
			"none at "+strings.Join(places(t, response), ", "))
	})

	It("names at least one authorization server in its metadata", Verifies("authorization.metadata.servers"), Guarded(), func(t *T) {
		for found := range ObserveEach(t, needDocuments(t)) {
			servers, isList := found.members["authorization_servers"].([]any)
			t.Demand(isList && len(servers) > 0, "a list with at least one authorization server", Show(found.members["authorization_servers"]))
			for _, one := range servers {
				issuer, isText := one.(string)
				t.Demand(isText && oauth.IssuerFlaw(issuer) == "", "a URL without query and fragment", Show(one))
			}
		}
	})

	namingTheResource()
}

func namingTheResource() {
	It("names the URL that its metadata belongs to as resource", Verifies("authorization.metadata.resource"), Guarded(), func(t *T) {
		for found := range ObserveEach(t, needDocuments(t)) {
			resource := mcp.Text(found.members, "resource")
			t.Demand(oauth.ResourceFlaw(resource) == "", "an absolute URI without a fragment as resource", Show(found.members["resource"]))
			fits := slices.ContainsFunc(found.resources, func(one string) bool { return isOf(resource, one) })
			if alias := !fits && isAlias(t, resource); alias {
				t.Inconclusive("the metadata names the resource "+resource+", another name of this machine", "give that URL")
			}
			t.Demand(fits, "the resource "+strings.Join(found.resources, " or "), resource)
		}
	})

	It("names its resource without a slash at the end", Verifies("authorization.resource.slash-named"), Guarded(), func(t *T) {
		for found := range ObserveEach(t, needDocuments(t)) {
			resource := mcp.Text(found.members, "resource")
			significant := strings.HasSuffix(strings.SplitN(URL(t), "?", 2)[0], "/") && pathOf(URL(t)) != "/"
			t.Demand(significant || !strings.HasSuffix(resource, "/"), "a resource without a slash at the end", resource)
		}
	})

	It("names only authorization servers and key sets with TLS", Verifies("authorization.security.https"), Guarded(), func(t *T) {
		for found := range ObserveEach(t, needDocuments(t)) {
			servers := mcp.List(found.members, "authorization_servers")
			for _, one := range append(servers, found.members["jwks_uri"]) {
				address := mcp.Text(one)
				t.Demand(!oauth.Insecure(address), "https, since it is not on this machine", address)
			}
		}
	})
}

// document is protected resource metadata.
type document struct {
	place     string
	members   map[string]any // nil when it is none
	resources []string       // that it can be about, by where it was found
}

func pathOf(address string) string {
	parsed, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return parsed.Path
}

// wellKnown are the well-known places of metadata of the server.
func wellKnown(t *T) []string {
	places, err := oauth.ResourcePlaces(URL(t))
	if err != nil {
		t.Inconclusive("the URL of the server has no well-known URI: "+err.Error(), "give an absolute URL")
	}
	return places
}

// places are those where metadata of the server may stand: where the challenge says, else
// the well-known ones. What is of another host is fetched if the user lets it be.
func places(t *T, response *Response) []string {
	var all []string
	if named := response.Parameter("resource_metadata"); named != "" && Contactable(t, named) {
		all = append(all, named)
	}
	for _, place := range wellKnown(t) {
		if !slices.Contains(all, place) {
			all = append(all, place)
		}
	}
	return all
}

func read(answer *Response) document {
	found := document{}
	if answer.Status == http.StatusOK {
		found.members = answer.Object()
	}
	return found
}

// documents are all metadata that the server has.
func documents(t *T, response *Response) []document {
	var all []document
	for _, place := range places(t, response) {
		found := read(fetch(t, place))
		if found.members == nil {
			continue
		}
		found.place = place
		found.resources = resourcesAt(t, place, response)
		all = append(all, found)
	}
	return all
}

// resourcesAt are the resources that metadata at a place may name: found by the challenge,
// the URL that was asked; at a well-known place, the one that leads there (RFC 9728,
// section 3.3).
func resourcesAt(t *T, place string, response *Response) []string {
	resources := []string{}
	if place == response.Parameter("resource_metadata") {
		resources = append(resources, asked(t))
	}
	parsed, err := url.Parse(place)
	if err != nil {
		return resources
	}
	path, isWellKnown := strings.CutPrefix(parsed.EscapedPath(), oauth.ResourcePath)
	if isWellKnown {
		resources = append(resources, parsed.Scheme+"://"+parsed.Host+path)
	}
	if isWellKnown && path == "" { // where MCP also looks for the metadata of a path
		resources = append(resources, asked(t))
	}
	return resources
}

// isAlias tells whether a resource is the server by another name of this machine.
func isAlias(t *T, resource string) bool {
	named, err := url.Parse(resource)
	if err != nil {
		return false
	}
	given, err := url.Parse(URL(t))
	return err == nil && oauth.Loopback(named.Hostname()) && oauth.Loopback(given.Hostname()) &&
		named.Port() == given.Port() && named.Hostname() != given.Hostname()
}

// asked is the URL of the server as it was given.
func asked(t *T) string { return strings.SplitN(URL(t), "#", 2)[0] }

// isOf tells whether a resource is the one that metadata was found for, or one above it: RFC
// 9728 wants the same, but the page lets clients choose how specific a resource is, and
// they take such a one. A slash at the end has a check of its own.
func isOf(resource, found string) bool {
	resource, found = strings.TrimSuffix(resource, "/"), strings.TrimSuffix(found, "/")
	above := strings.TrimSuffix(pathOf(resource), "/") + "/"
	return oauth.SameResource(resource, found) ||
		oauth.SameOrigin(resource, found) && strings.HasPrefix(pathOf(found)+"/", above)
}

// needDocuments are the metadata of a server that has some.
func needDocuments(t *T) []document {
	response := unauthorized(t)
	found := documents(t, response)
	if len(found) == 0 {
		t.Inconclusive("the server has no protected resource metadata", "see the result of authorization.metadata.served")
	}
	return found
}
