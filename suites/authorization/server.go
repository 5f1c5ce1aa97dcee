// Package authorization checks the pages about authorization: what a server that asks
// for access tokens says to those who have none, which tokens it takes, and what they
// allow.
//
// The checks need more and more of the user: the URL of the server alone; an access
// token; a test authorization server that the server trusts, or tokens of every kind from
// a config.
package authorization

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/mcpconform/mcpconform/internal/oauth"
	"github.com/mcpconform/mcpconform/internal/protocol"

	. "github.com/mcpconform/mcpconform/internal/check"
	. "github.com/mcpconform/mcpconform/internal/conform"
)

// ServerChecks registers the checks of a target server.
func ServerChecks() {
	Describe("Authorization", func() {
		challenges()
		metadata()
		tokens()
		sessions()
		scopes()
	})
}

// unauthorized makes a request without a token, which the server has refused before.
func unauthorized(ctx context.Context) *Response {
	_, response := Knock(ctx, Attempt{})
	if response.Status != http.StatusUnauthorized {
		Inconclusive(
			"a request without a token is no longer answered with HTTP 401: "+response.Describe(),
			"see the result of authorization.unauthorized.status",
		)
	}
	return response
}

// challenged makes such a request that is answered with a Bearer challenge.
func challenged(ctx context.Context) (*Response, oauth.Challenge) {
	response := unauthorized(ctx)
	challenge, found, _ := response.Challenge()
	if !found {
		Inconclusive(
			"there is no Bearer challenge: "+response.DescribeChallenge(),
			"see the result of authorization.challenge.present",
		)
	}
	return response, challenge
}

func challenges() {
	It("answers a request without an access token with 401", Verifies("authorization.unauthorized.status"), Guarded(),
		func(ctx SpecContext) {
			_, response := Knock(ctx, Attempt{})
			Expect(response).To(HaveStatus(http.StatusUnauthorized))

			for _, header := range []string{"Basic dXNlcjpwYXNz", `Digest username="a"`} {
				_, response := Knock(
					ctx,
					Attempt{Authorization: []string{header}, Deliberate: "has a scheme other than Bearer"},
				)
				Expect(response).To(HaveStatus(http.StatusUnauthorized))
			}
		})

	It(
		"answers a request of each method without an access token with 401, unless it needs none",
		Verifies("authorization.unauthorized.status"),
		Guarded(),
		AtRevisionsWith(protocol.PerRequestMeta),
		func(ctx SpecContext) {
			server := Connect(ctx)
			refused := false
			for _, request := range HarmlessRequests() {
				body := server.Body(request.Method, request.With(nil))
				response := server.Anonymous(ctx, http.MethodPost, body, "")
				if !accepted(response) {
					refused = true
					Expect(response).To(HaveStatus(http.StatusUnauthorized))
				}
			}
			if !refused {
				NotApplicable("the server answers each of these methods without an access token")
			}
		},
	)

	It(
		"sends a Bearer challenge in WWW-Authenticate with a 401",
		Verifies("authorization.challenge.present"),
		Guarded(),
		func(ctx SpecContext) {
			response := unauthorized(ctx)

			_, found, flaws := response.Challenge()
			Demand(found, "a WWW-Authenticate header with a Bearer challenge", response.DescribeChallenge())
			Demand(
				len(flaws) == 0,
				"a WWW-Authenticate header by RFC 9110, section 11.6.1",
				strings.Join(flaws, "; "),
			)
		},
	)

	It("names the protected resource metadata in the WWW-Authenticate header of a 401",
		Verifies("authorization.challenge.metadata"), Guarded(),
		func(ctx SpecContext) {
			response, challenge := challenged(ctx)

			address, named := challenge.Get("resource_metadata")
			Demand(named, "a resource_metadata parameter", response.DescribeChallenge())
			Demand(isAbsolute(address), "an absolute URL in resource_metadata", address)
			demandMetadataAt(ctx, response, address)
		})

	It("names the protected resource metadata by an absolute URL if the challenge names it",
		Verifies("authorization.challenge.metadata-url"), Guarded(),
		func(ctx SpecContext) {
			response, challenge := challenged(ctx)

			if _, _, flaws := response.Challenge(); len(flaws) > 0 {
				Inconclusive("the challenge is malformed", "see the result of authorization.challenge.present")
			}
			address, named := challenge.Get("resource_metadata")
			if !named {
				NotApplicable("the challenge does not name the metadata")
			}
			Demand(isAbsolute(address), "an absolute URL in resource_metadata", response.DescribeChallenge())
			demandMetadataAt(ctx, response, address)
		})

	It(
		"names the scopes that access takes in the challenge of a 401",
		Verifies("authorization.challenge.scope"),
		Guarded(),
		func(ctx SpecContext) {
			response, challenge := challenged(ctx)

			scope, named := challenge.Get("scope")
			Demand(named, "a scope parameter", response.DescribeChallenge())
			Demand(
				oauth.ScopeFlaw(scope) == "",
				"scopes by OAuth 2.1, section 1.4.1",
				fmt.Sprintf("%q: %s", scope, oauth.ScopeFlaw(scope)),
			)
		},
	)

	It("does not ask for the scope offline_access", Verifies("authorization.challenge.offline-access"), Guarded(),
		func(ctx SpecContext) {
			response := unauthorized(ctx)

			scope := oauth.Scopes(response.Parameter("scope"))
			Demand(
				!slices.Contains(scope, offlineAccess),
				"no offline_access in the challenge",
				response.DescribeChallenge(),
			)
			for _, found := range documents(ctx, response) {
				listed, _ := found.members["scopes_supported"].([]any)
				Demand(
					!slices.Contains(listed, any(offlineAccess)),
					"no offline_access in scopes_supported",
					Show(listed),
				)
			}
		})

	It("sends no error in the challenge if the request had no access token",
		Verifies("authorization.challenge.error-without-token"), Guarded(),
		func(ctx SpecContext) {
			response, challenge := challenged(ctx)

			_, told := challenge.Get("error")
			Demand(!told, "a challenge without error", response.DescribeChallenge())
		})
}

// demandMetadataAt wants metadata where the challenge says that it is, if the server has some
// anywhere. What is of another host is looked at if the user lets it be.
func demandMetadataAt(ctx context.Context, response *Response, address string) {
	if !Contactable(address) || len(documents(ctx, response)) == 0 {
		return
	}
	answer := Fetch(ctx, address)
	DemandOf(answer, read(answer).members != nil, "the metadata at "+address+", which the challenge names")

}

const offlineAccess = "offline_access"

func isAbsolute(address string) bool {
	parsed, err := url.Parse(address)
	return err == nil && parsed.Host != "" && (parsed.Scheme == "http" || parsed.Scheme == "https")
}

func metadata() {
	It(
		"serves protected resource metadata as JSON without an access token",
		Verifies("authorization.metadata.served"),
		Guarded(),
		func(ctx SpecContext) {
			response := unauthorized(ctx)
			places := places(response)

			var answers []string
			for _, place := range places {
				answer := Fetch(ctx, place)
				found := read(answer)
				if found.members != nil {
					Expect(answer).To(HaveStatus(http.StatusOK))
					Expect(answer).To(HaveContentType("application/json"))
					return
				}
				answers = append(answers, place+": "+answer.Describe())
			}
			Demand(false, "a JSON object at one of these places", strings.Join(answers, "; "))
		},
	)

	It(
		"locates its protected resource metadata by a header or a well-known URI",
		Verifies("authorization.metadata.located"),
		Guarded(),
		func(ctx SpecContext) {
			response := unauthorized(ctx)

			found := documents(ctx, response)

			Demand(len(found) > 0,
				"metadata at resource_metadata of the challenge, or at "+strings.Join(wellKnown(), " or "),
				"none at "+strings.Join(places(response), ", "))
		},
	)

	It("names at least one authorization server in its metadata", Verifies("authorization.metadata.servers"), Guarded(),
		func(ctx SpecContext) {
			for found := range ObserveEach(needDocuments(ctx)) {
				servers, isList := found.members["authorization_servers"].([]any)
				Demand(
					isList && len(servers) > 0,
					"a list with at least one authorization server",
					Show(found.members["authorization_servers"]),
				)
				for _, one := range servers {
					issuer, isText := one.(string)
					Demand(isText && oauth.IssuerFlaw(issuer) == "", "a URL without query and fragment", Show(one))
				}
			}
		})

	It(
		"names in its metadata the resource that the metadata was found for",
		Verifies("authorization.metadata.resource"),
		Guarded(),
		func(ctx SpecContext) {
			for found := range ObserveEach(needDocuments(ctx)) {
				resource, _ := found.members["resource"].(string)
				Demand(
					oauth.ResourceFlaw(resource) == "",
					"an absolute URI without a fragment as resource",
					Show(found.members["resource"]),
				)
				fits := slices.ContainsFunc(
					found.resources,
					func(one string) bool { return isOf(resource, one) },
				)
				if alias := !fits && isAlias(resource); alias {
					Inconclusive(
						"the metadata names the resource "+resource+", another name of this machine",
						"give that URL",
					)
				}
				Demand(fits, "the resource "+strings.Join(found.resources, " or "), resource)
			}
		},
	)

	It("names its resource without a slash at the end", Verifies("authorization.resource.slash-named"), Guarded(),
		func(ctx SpecContext) {
			for found := range ObserveEach(needDocuments(ctx)) {
				resource, _ := found.members["resource"].(string)
				significant := strings.HasSuffix(strings.SplitN(URL(), "?", 2)[0], "/") && pathOf(URL()) != "/"
				Demand(
					significant || !strings.HasSuffix(resource, "/"),
					"a resource without a slash at the end",
					resource,
				)
			}
		})

	It(
		"names no authorization server or key set that is reached without TLS",
		Verifies("authorization.security.https"),
		Guarded(),
		func(ctx SpecContext) {
			for found := range ObserveEach(needDocuments(ctx)) {
				servers, _ := found.members["authorization_servers"].([]any)
				for _, one := range append(servers, found.members["jwks_uri"]) {
					address, _ := one.(string)
					Demand(!oauth.Insecure(address), "https, since it is not on this machine", address)
				}
			}
		},
	)
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
func wellKnown() []string {
	places, err := oauth.ResourcePlaces(URL())
	if err != nil {
		Inconclusive("the URL of the server has no well-known URI: "+err.Error(), "give an absolute URL")
	}
	return places
}

// places are those where metadata of the server may stand: where the challenge says, else
// the well-known ones. What is of another host is fetched if the user lets it be.
func places(response *Response) []string {
	var all []string
	if named := response.Parameter("resource_metadata"); named != "" && Contactable(named) {
		all = append(all, named)
	}
	for _, place := range wellKnown() {
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
func documents(ctx context.Context, response *Response) []document {
	var all []document
	for _, place := range places(response) {
		found := read(Fetch(ctx, place))
		if found.members == nil {
			continue
		}
		found.place = place
		found.resources = resourcesAt(place, response)
		all = append(all, found)
	}
	return all
}

// resourcesAt are the resources that metadata at a place may name: found by the challenge,
// the URL that was asked; at a well-known place, the one that leads there (RFC 9728,
// section 3.3).
func resourcesAt(place string, response *Response) []string {
	resources := []string{}
	if place == response.Parameter("resource_metadata") {
		resources = append(resources, asked())
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
		resources = append(resources, asked())
	}
	return resources
}

// isAlias tells whether a resource is the server by another name of this machine.
func isAlias(resource string) bool {
	named, err := url.Parse(resource)
	if err != nil {
		return false
	}
	given, err := url.Parse(URL())
	return err == nil && oauth.Loopback(named.Hostname()) && oauth.Loopback(given.Hostname()) &&
		named.Port() == given.Port() && named.Hostname() != given.Hostname()
}

// asked is the URL of the server as it was given.
func asked() string { return strings.SplitN(URL(), "#", 2)[0] }

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
func needDocuments(ctx context.Context) []document {
	response := unauthorized(ctx)
	found := documents(ctx, response)
	if len(found) == 0 {
		Inconclusive("the server has no protected resource metadata", "see the result of authorization.metadata.served")
	}
	return found
}
