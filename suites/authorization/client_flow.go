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

// The grant types of clients of MCP.
const (
	grantCode    = "authorization_code"
	grantRefresh = "refresh_token"
)

func provingKeys() {
	It("sends a code_challenge, and the code_verifier that matches it", Verifies("authorization.pkce.used"), In(protected), func(t *T) {
		client := play(t)
		logins := client.NeedAt(scripted.AtAuthorize)
		for one := range ObserveEach(t, logins) {
			if challenge, _ := one.Query("code_challenge"); challenge == "" {
				client.FailVisit(one, "a code_challenge", ShowVisit(one))
			}
		}

		for one := range ObserveEach(t, client.Tokens(grantCode)) {
			provesKey(client, logins, one)
		}
	})

	It("generates a new code_verifier for each authorization request", Verifies("authorization.pkce.used"), In(stepUp), func(t *T) {
		client := play(t)
		logins := client.NeedAt(scripted.AtAuthorize)
		if len(logins) < 2 {
			t.Inconclusive("the client authorized once", "let the client authorize again when the server asks for more scopes")
		}

		known := map[string]bool{}
		for one := range ObserveEach(t, logins) {
			challenge, _ := one.Query("code_challenge")
			if challenge != "" && known[challenge] {
				client.FailVisit(one, "another code_challenge than before", "code_challenge "+challenge)
			}
			known[challenge] = true
		}
	})

	choosingMethods()
}

func choosingMethods() {
	for _, one := range []struct {
		text     string
		scenario Option
	}{
		{"uses the code challenge method S256", In(protected)},
		{"uses the code challenge method S256 where plain is listed first", In(plainFirst)},
	} {
		It(one.text, Verifies("authorization.pkce.s256"), one.scenario, func(t *T) {
			client := play(t)

			for one := range ObserveEach(t, client.NeedAt(scripted.AtAuthorize)) {
				if method, _ := one.Query("code_challenge_method"); method != "S256" {
					client.FailVisit(one, "code_challenge_method S256", Given("code_challenge_method", one.URL.Query()["code_challenge_method"]))
				}
			}
		})
	}

	It("does not use the code challenge method plain even if the authorization server supports nothing else",
		Verifies("authorization.pkce.s256"), In(plainOnly), func(t *T) {
			client := play(t)
			client.NeedAt(scripted.AtServerMetadata)

			t.Observe()
			for _, one := range client.At(scripted.AtAuthorize) {
				if method, _ := one.Query("code_challenge_method"); method != "S256" {
					client.FailVisit(one, "code_challenge_method S256, or no authorization request", ShowVisit(one))
				}
			}
		})
}

// provesKey wants the verifier of a token request to fit the challenge of the login that
// brought the code.
func provesKey(client *Client, logins []*Visit, request *Visit) {
	verifier := request.Form.Get("code_verifier")
	if verifier == "" {
		client.FailVisit(request, "a code_verifier", "none")
	}
	if flaw := oauth.VerifierFlaw(verifier); flaw != "" {
		client.FailVisit(request, "a code_verifier of 43 to 128 unreserved characters", "one that "+flaw)
	}
	fits := slices.ContainsFunc(logins, func(login *Visit) bool {
		challenge, _ := login.Query("code_challenge")
		method, _ := login.Query("code_challenge_method")
		return codeOf(login) == request.Form.Get("code") && oauth.ProvesChallenge(challenge, method, verifier)
	})
	if !fits {
		client.FailVisit(request, "the code_verifier of the code_challenge", "another")
	}
}

// codeOf is the code that a login brought.
func codeOf(login *Visit) string {
	location, err := url.Parse(login.Answer.Get("Location"))
	if err != nil {
		return ""
	}
	return location.Query().Get("code")
}

func naming() {
	It("sends resource in authorization and token requests", Verifies("authorization.resource.sent"), In(protected), func(t *T) {
		client := play(t)

		for one := range ObserveEach(t, client.NeedAt(scripted.AtAuthorize)) {
			if _, count := one.Query("resource"); count == 0 {
				client.FailVisit(one, "a resource", ShowVisit(one))
			}
		}
		for one := range ObserveEach(t, client.Tokens(grantCode)) {
			client.DemandOf(one, one.Form.Get("resource") != "", "a resource", ShowVisit(one))
		}
	})

	It("sends resource when it refreshes a token", Verifies("authorization.resource.sent"), In(expiring), func(t *T) {
		client := play(t)

		for one := range ObserveEach(t, client.Need(client.Tokens(grantRefresh), "used a refresh token")) {
			if one.Form.Get("resource") == "" {
				client.FailVisit(one, "a resource", ShowVisit(one))
			}
		}
	})

	namingAgain()

	identifyingResources()
}

func namingAgain() {
	for _, one := range []struct {
		text     string
		scenario Option
		asks     func(*Client) []*Visit
		did      string
	}{
		{"sends resource again after its authorization request was refused", In(loginOfResourceRefused),
			func(c *Client) []*Visit { return c.At(scripted.AtAuthorize) }, "sent an authorization request that was refused"},
		{"sends resource again after its code was refused", In(tokenOfResourceRefused),
			func(c *Client) []*Visit { return c.Tokens(grantCode) }, "redeemed a code that was refused"},
		{"sends resource again after its token refresh was refused", In(refreshOfResourceRefused),
			func(c *Client) []*Visit { return c.Tokens(grantRefresh) }, "used a refresh token that was refused"},
		{"sends resource again after its refresh token was refused", In(refusedRefresh),
			func(c *Client) []*Visit { return c.Tokens(grantRefresh) }, "used a refresh token that was refused"},
	} {
		It(one.text, Verifies("authorization.resource.sent"), one.scenario, func(t *T) {
			client := play(t)
			asked := client.Need(one.asks(client), one.did)
			again := slices.DeleteFunc(
				slices.Concat(client.At(scripted.AtAuthorize), client.At(scripted.AtToken)),
				func(v *Visit) bool { return !v.Event.At.After(first(asked).Event.At) },
			)

			if len(again) == 0 {
				t.NotApplicable("the client does not retry after the refusal")
			}
			for v := range ObserveEach(t, again) {
				if len(resourcesOf(v)) == 0 {
					client.FailVisit(v, "a resource, as before", ShowVisit(v))
				}
			}
		})
	}
}

func identifyingResources() {
	resources := func(id, text string, wanted string, holds func(resource, server string) bool) {
		It(text, Verifies(id), In(protected), func(t *T) {
			client := play(t)
			server := serverOf(client)
			named := slices.Concat(client.At(scripted.AtAuthorize), client.Tokens(grantCode))

			for _, one := range client.Need(named, wants[scripted.AtAuthorize]) {
				for _, resource := range resourcesOf(one) {
					client.DemandOf(one, holds(resource, server), strings.ReplaceAll(wanted, "{server}", server), "resource "+resource)
				}
			}
		})
	}
	resources("authorization.resource.identifies", "sends the server as resource", "resource {server}", func(resource, server string) bool {
		return oauth.SameOrigin(resource, server) &&
			strings.HasPrefix(server+"/", strings.TrimRight(stripped(resource), "/")+"/")
	})
	resources(
		"authorization.resource.canonical",
		"sends an absolute URI without a fragment as resource",
		"an absolute URI without a fragment",
		func(resource, _ string) bool { return oauth.ResourceFlaw(resource) == "" },
	)
	resources("authorization.resource.specific", "sends the path of the server in resource", "resource {server}", func(resource, server string) bool {
		return !oauth.SameOrigin(resource, server) || strings.HasPrefix(strings.ToLower(resource), server)
	})
	resources("authorization.resource.slash", "adds no slash to resource", "resource {server}",
		func(resource, server string) bool { return !strings.EqualFold(resource, server+"/") })
}

var wants = map[scripted.Place]string{scripted.AtAuthorize: "sent an authorization request"}

// resourcesOf are the resources of an authorization or token request.
func resourcesOf(v *Visit) []string {
	return slices.Concat(v.URL.Query()["resource"], v.Form["resource"])
}

// stripped is a URI without its fragment and query.
func stripped(uri string) string {
	uri, _, _ = strings.Cut(uri, "#")
	uri, _, _ = strings.Cut(uri, "?")
	return strings.ToLower(uri)
}

// serverOf is the URL of the server, as its metadata has it.
func serverOf(client *Client) string {
	for _, v := range client.At(scripted.AtResourceMetadata) {
		if resource, is := v.Reply["resource"].(string); is {
			return resource
		}
	}
	return "http://" + strings.ToLower(first(client.NeedAt(scripted.AtEndpoint)).URL.Host) + scripted.Endpoint
}

func redirecting() {
	It("uses a redirect URI that it registered", Verifies("authorization.redirect.registered"), In(protected), func(t *T) {
		client := play(t)

		for _, one := range client.NeedAt(scripted.AtAuthorize) {
			usesRegistered(client, one)
		}
	})

	It("uses a redirect URI on this machine or with https", Verifies("authorization.redirect.secure"), In(protected), func(t *T) {
		client := play(t)

		for one := range ObserveEach(t, client.NeedAt(scripted.AtAuthorize)) {
			if uri, _ := one.Query("redirect_uri"); oauth.Insecure(uri) {
				client.FailVisit(one, "a redirect_uri on this machine or with https", "redirect_uri "+uri)
			}
		}
	})
}

// registers tells whether a registration has a redirect URI. The port of one on this
// machine may be another (RFC 8252, section 7.3).
func registers(v *Visit, uri string) bool {
	return slices.ContainsFunc(mcp.List(v.JSON, "redirect_uris"), func(registered any) bool {
		text := mcp.Text(registered)
		return text == uri || withoutLoopbackPort(text) == withoutLoopbackPort(uri)
	})
}

func withoutLoopbackPort(uri string) string {
	parsed, err := url.Parse(uri)
	if err != nil || !oauth.Loopback(parsed.Hostname()) {
		return uri
	}
	parsed.Host = parsed.Hostname()
	return parsed.String()
}

func validatingAnswers() {
	for _, one := range []struct {
		text     string
		scenario Option
	}{
		{"accepts an authorization response with the iss of the authorization server", In(issNamed)},
		{"accepts an authorization response with an iss that the authorization server does not advertise", In(issUnnamed)},
	} {
		It(one.text, Verifies("authorization.issuer.validated"), one.scenario, func(t *T) {
			client := play(t)
			login := first(client.NeedAt(scripted.AtAuthorize))

			if !t.Observed(len(client.Tokens(grantCode)) > 0) {
				client.MissingAfter(login.Event, Mismatch{Wanted: "a token request with the code", Found: "none"})
			}
		})
	}

	for _, one := range []struct {
		text, id string
		scenario Option
	}{
		{"rejects an authorization response without the advertised iss", "authorization.issuer.validated", In(issMissing)},
		{"rejects an authorization response with the iss of another authorization server", "authorization.issuer.validated", In(issForeign)},
		{"rejects an authorization response with another iss, also if iss is not advertised", "authorization.issuer.validated", In(issUnexpected)},
		{"rejects an authorization response whose iss has an extra slash", "authorization.issuer.literal", In(issSlash)},
		{"rejects an authorization response whose iss has the host in upper case", "authorization.issuer.literal", In(issCapitals)},
		{"rejects an authorization response whose iss is percent-encoded", "authorization.issuer.literal", In(issEncoded)},
	} {
		It(one.text, Verifies(one.id), one.scenario, func(t *T) { rejectsAnswer(refusing(t)) })
	}

	It("shows no error from a response with the iss of another authorization server",
		Verifies("authorization.issuer.errors"), In(issForeignError), func(t *T) {
			client := refusing(t)
			login := first(client.NeedAt(scripted.AtAuthorize))

			client.DemandOf(login, !strings.Contains(client.Output(), canary), "nothing of the error in its output", canary)
		})

	verifyingState()
}

func verifyingState() {
	It("sends a state in the authorization request", Verifies("authorization.state.verified"), In(protected), func(t *T) {
		client := play(t)

		for one := range ObserveEach(t, client.NeedAt(scripted.AtAuthorize)) {
			if state, _ := one.Query("state"); state == "" {
				client.FailVisit(one, "a state", ShowVisit(one))
			}
		}
	})

	for _, one := range []struct {
		text     string
		scenario Option
	}{
		{"rejects an authorization response without state", In(stateMissing)},
		{"rejects an authorization response with the state of another request", In(stateWrong)},
	} {
		It(one.text, Verifies("authorization.state.verified"), one.scenario, func(t *T) {
			client := refusing(t)
			if state, _ := first(client.NeedAt(scripted.AtAuthorize)).Query("state"); state == "" {
				t.NotApplicable("the client sends no state: see authorization.oauth.state")
			}

			rejectsAnswer(client)
		})
	}
}

// authorizingAgain checks of a second authorization what the others check of the first.
func authorizingAgain() {
	for _, one := range []struct {
		id, text string
		judge    func(client *Client, login *Visit)
	}{
		{"authorization.state.verified", "sends a state", needsParameter("state")},
		{"authorization.pkce.used", "sends a code challenge", needsParameter("code_challenge")},
		{"authorization.resource.sent", "sends resource", needsParameter("resource")},
		{"authorization.redirect.registered", "uses a redirect URI that it registered", usesRegistered},
	} {
		It(one.text+" when it authorizes again", Verifies(one.id), In(stepUp), func(t *T) {
			client := play(t)
			logins := client.NeedAt(scripted.AtAuthorize)
			if len(logins) < 2 {
				t.Inconclusive("the client authorized once", "let the client authorize again when the server asks for more scopes")
			}

			for login := range ObserveEach(t, logins[1:]) {
				one.judge(client, login)
			}
		})
	}
}

// needsParameter judges that an authorization request has a parameter.
func needsParameter(name string) func(client *Client, login *Visit) {
	return func(client *Client, login *Visit) {
		if value, _ := login.Query(name); value == "" {
			client.FailVisit(login, "a "+name, ShowVisit(login))
		}
	}
}

// usesRegistered judges that an authorization request has a redirect URI that the client
// registered.
func usesRegistered(client *Client, login *Visit) {
	uri, _ := login.Query("redirect_uri")
	known := slices.ContainsFunc(client.NeedAt(scripted.AtRegister), func(v *Visit) bool { return registers(v, uri) })
	client.DemandOf(login, known, "a redirect_uri that was registered", "redirect_uri "+uri)
}

// rejectsAnswer wants a client to do without the code of an answer that it got.
func rejectsAnswer(client *Client) {
	client.NeedAt(scripted.AtAuthorize)
	client.DemandNone(client.Tokens(grantCode), "no token request with the code")
}

func choosingScopes() {
	It("requests the scopes of the challenge",
		Verifies("authorization.scope.challenge"), In(scopeByChallenge), func(t *T) { requests(play(t), "mcp:read") })

	It("requests the scopes of the challenge even if the metadata does not list them",
		Verifies("authorization.scope.unrelated"), In(scopeOutsideTheList), func(t *T) { requests(play(t), "mcp:special") })

	It("requests all scopes of scopes_supported when the challenge has none",
		Verifies("authorization.scope.list"), In(scopeByList), func(t *T) { requests(play(t), "mcp:read", "mcp:write") })

	It("sends no scope when neither the challenge nor scopes_supported has one", Verifies("authorization.scope.list"), In(noScope), func(t *T) {
		client := play(t)

		for one := range ObserveEach(t, client.NeedAt(scripted.AtAuthorize)) {
			scope, count := one.Query("scope")
			if count > 0 && len(beyond(scope)) > 0 || count > 0 && scope == "" {
				client.FailVisit(one, "no scope", fmt.Sprintf("scope %q", scope))
			}
		}
	})

	It("requests no scopes except those of the challenge", Verifies("authorization.scope.least"), In(scopeByChallenge), func(t *T) {
		client := play(t)

		one := first(client.NeedAt(scripted.AtAuthorize))
		scope, _ := one.Query("scope")
		client.DemandOf(one, len(beyond(scope, "mcp:read")) == 0, "scope mcp:read", "scope "+scope)
	})

	steppingUp()

	steppingUpAgain()
}

func steppingUp() {
	It("requests the scope of an insufficient_scope challenge", Verifies("authorization.scope.step-up"), In(stepUp), func(t *T) {
		client := play(t)
		again, refusal := steppedUp(client)

		if !t.Observed(slices.ContainsFunc(again, func(v *Visit) bool { return hasScopes(v, moreScope) })) {
			client.MissingAfter(refusal.Event, Mismatch{Wanted: "an authorization request with scope " + moreScope, Found: "none"})
		}
	})

	It("requests its previous scopes together with those of an insufficient_scope challenge",
		Verifies("authorization.scope.union", "security-best-practices.clients.scope-union"), In(stepUp), func(t *T) {
			client := play(t)
			again, _ := steppedUp(client)
			if !hasScopes(first(client.NeedAt(scripted.AtAuthorize)), firstScope) {
				t.Inconclusive("the client did not request "+firstScope+" before", "let the client request the scopes of the challenge")
			}

			for one := range ObserveEach(t, client.Need(again, "authorized again")) {
				if scope, _ := one.Query("scope"); !hasScopes(one, firstScope) {
					client.FailVisit(one, "scope "+firstScope+" "+moreScope, "scope "+scope)
				}
			}
		})
}

func steppingUpAgain() {
	It("requests the scope of an insufficient_scope challenge for another operation",
		Verifies("authorization.scope.step-up"), In(stepUpTwice), func(t *T) {
			client := play(t)
			_, again, refusal := steppedUpTwice(client)

			if !t.Observed(slices.ContainsFunc(again, func(v *Visit) bool { return hasScopes(v, moreScope) })) {
				client.MissingAfter(refusal.Event, Mismatch{Wanted: "an authorization request with scope " + moreScope, Found: "none"})
			}
		})

	It("requests its previous scopes together with those of a second insufficient_scope challenge",
		Verifies("authorization.scope.union", "security-best-practices.clients.scope-union"), In(stepUpTwice), func(t *T) {
			client := play(t)
			before, again, _ := steppedUpTwice(client)
			had, _ := before.Query("scope")

			for one := range ObserveEach(t, client.Need(again, "authorized again")) {
				if scope, _ := one.Query("scope"); !hasScopes(one, oauth.Scopes(had)...) {
					client.FailVisit(one, "scope "+had+" "+moreScope, "scope "+scope)
				}
			}
		})

	It("authorizes at most a few times for one call", Verifies("authorization.scope.limit"), In(neverEnough), func(t *T) {
		client := play(t)
		again, _ := steppedUp(client)

		t.Observe()
		if len(again) > fewTimes {
			client.FailVisit(again[fewTimes], fmt.Sprintf("at most %d authorization requests after the refusal", fewTimes), strconv.Itoa(len(again)))
		}
	})
}

// fewTimes is how often a client may authorize again for one call: "no more than a few
// times" has no number.
const fewTimes = 3

// steppedUp returns the logins after the first refusal with 403, and that.
func steppedUp(client *Client) (again []*Visit, refusal *Visit) {
	refusals := slices.DeleteFunc(client.AtIssuer(0, scripted.AtEndpoint), func(v *Visit) bool { return v.Status != http.StatusForbidden })
	refusal = first(client.Need(refusals, "made a call that needs more scopes"))
	return After(client.At(scripted.AtAuthorize), refusal.Event), refusal
}

// steppedUpTwice returns the last login before the refusal of a call, for which an earlier
// refusal had raised the scopes already, the logins after it, and the refusal.
func steppedUpTwice(client *Client) (before *Visit, again []*Visit, refusal *Visit) {
	raised, _ := steppedUp(client)
	refusals := slices.DeleteFunc(client.AtIssuer(0, scripted.AtEndpoint), func(v *Visit) bool {
		return v.Status != http.StatusForbidden || v.JSON["method"] != "tools/call"
	})
	refusal = first(client.Need(refusals, "made a second call that needs more scopes"))
	again = After(raised, refusal.Event)
	earlier := raised[:len(raised)-len(again)]
	return client.Need(earlier, "authorized again for the list of tools")[len(earlier)-1], again, refusal
}

// requests wants the first login to ask for some scopes.
func requests(client *Client, scopes ...string) {
	one := first(client.NeedAt(scripted.AtAuthorize))
	client.DemandOf(one, hasScopes(one, scopes...), "scope "+strings.Join(scopes, " "), Given("scope", one.URL.Query()["scope"]))
}

func hasScopes(v *Visit, scopes ...string) bool {
	given, _ := v.Query("scope")
	asked := oauth.Scopes(given)
	return !slices.ContainsFunc(scopes, func(scope string) bool { return !slices.Contains(asked, scope) })
}

// beyond are the scopes of a list beside some, and beside those that tell an authorization
// server which tokens to issue and not what for. profile and email are no such: they ask for
// what it knows of its user.
func beyond(list string, scopes ...string) []string {
	return slices.DeleteFunc(oauth.Scopes(list), func(scope string) bool {
		return slices.Contains(scopes, scope) ||
			slices.Contains([]string{"openid", "offline_access"}, scope)
	})
}

func usingTokens() {
	It("sends its access token in the Authorization header", Verifies("authorization.token.header"), In(protected), func(t *T) {
		client := play(t)

		for one := range ObserveEach(t, carrying(client)) {
			if one.HTTP.Header.Get("Authorization") == "" && one.HTTP.Method != http.MethodPost {
				continue // the checks of authorization.token.every-request judge that
			}
			if scripted.BearerToken(one.HTTP.Header) == "" {
				client.FailEvent(one, Mismatch{Wanted: "Authorization: Bearer and the access token", Found: authorizationOf(one)})
			}
		}
	})

	It("sends its access token in every HTTP request", Verifies("authorization.token.every-request"), In(protected), func(t *T) {
		client := play(t)

		for one := range ObserveEach(t, carrying(client)) {
			if one.HTTP.Header.Get("Authorization") == "" {
				client.FailEvent(one, Mismatch{Wanted: "the access token in " + one.HTTP.Method, Found: "no Authorization header"})
			}
		}
	})

	It("sends no access token to another host when its server redirects", Verifies("authorization.token.redirected"), In(redirected), func(t *T) {
		client := refusing(t)
		client.Need(slices.DeleteFunc(client.At(scripted.AtEndpoint), func(v *Visit) bool {
			return v.Answer.Get("Location") == ""
		}), "was redirected")

		leaked := slices.DeleteFunc(client.At(scripted.AtDecoy), func(v *Visit) bool { return scripted.BearerToken(v.Header) == "" })
		client.DemandNone(leaked, "no request to another host with the access token")
	})

	carryingTokens()

	keepingTokensApart()
}

func carryingTokens() {
	It("sends its access token when it resumes a stream", Verifies("authorization.token.every-request"), In(resumed), func(t *T) {
		client := play(t)
		resuming := slices.DeleteFunc(carrying(client), func(event transcript.Event) bool {
			return event.HTTP.Header.Get(scripted.LastEventID) == ""
		})
		if len(resuming) == 0 {
			t.Inconclusive("the client never resumed a stream",
				"let the client resume a stream that ends before the response, by GET with Last-Event-ID")
		}

		for one := range ObserveEach(t, resuming) {
			if one.HTTP.Header.Get("Authorization") == "" {
				client.FailEvent(one, Mismatch{Wanted: "the access token in GET with Last-Event-ID", Found: "no Authorization header"})
			}
		}
	})

	It("sends no access token in a URL", Verifies("authorization.token.not-in-query"), In(protected), func(t *T) {
		client := play(t)

		for one := range ObserveEach(t, carrying(client)) {
			if found := oauth.SecretsIn(one.HTTP.URL); len(found) > 0 {
				client.FailEvent(one, Mismatch{Wanted: "no token in the URL", Found: oauth.NameSecrets(one.HTTP.URL)})
			}
		}
	})
}

func keepingTokensApart() {
	It("sends the server only access tokens that its authorization server issued",
		Verifies("authorization.token.foreign"), In(protected), func(t *T) {
			client := play(t)

			for one := range ObserveEach(t, carrying(client)) {
				token := scripted.BearerToken(one.HTTP.Header)
				if token == "" {
					continue
				}
				const wanted = "an access token that the authorization server issued"
				if secret, is := oauth.ReadSecret(token); !is {
					client.FailEvent(one, Mismatch{Wanted: wanted, Found: "a token that it did not issue"})
				} else if secret.Kind != oauth.IssuedAccessToken {
					client.FailEvent(one, Mismatch{Wanted: wanted, Found: secret.Name()})
				}
			}
		})

	It("sends the server no token of an authorization server that it no longer names",
		Verifies("authorization.token.foreign"), In(serverMoves), func(t *T) {
			client := play(t)
			issued := issuedBy(client, nextIssuer)
			client.Need(issued, "got a token of the second authorization server")

			for one := range ObserveEach(t, requestsAfter(client, first(issued))) {
				secret, is := oauth.ReadSecret(scripted.BearerToken(one.HTTP.Header))
				if is && secret.Issuer != nextIssuer {
					client.FailEvent(one, Mismatch{Wanted: "a token of issuer 2", Found: secret.Name()})
				}
			}
		})

	It("sends refresh tokens to the token endpoint of their authorization server only",
		Verifies("authorization.refresh.confidential"), In(serverMoves), func(t *T) {
			client := play(t)
			client.Need(issuedBy(client, 1), "got a refresh token")

			t.Observe()
			for _, v := range client.Visits {
				for _, secret := range v.Secrets() {
					if secret.Kind == oauth.IssuedRefreshToken &&
						(v.Issuer != secret.Issuer || v.Place != scripted.AtToken) {
						client.FailVisit(v, "no refresh token of another authorization server", secret.Name())
					}
				}
			}
		})

	It("works without a refresh token", Verifies("authorization.refresh.optional"), In(noRefreshToken), func(t *T) {
		client := play(t)
		issued := client.Need(issuedBy(client, 1), "got a token")

		if !t.Observed(len(client.Admitted()) > 0) {
			client.MissingAfter(first(issued).Event, Mismatch{Wanted: "a request with the access token", Found: "none"})
		}
	})
}

// issuedBy are the token requests that brought a token of an authorization server.
func issuedBy(client *Client, issuer int) []*Visit {
	return slices.DeleteFunc(client.AtIssuer(issuer, scripted.AtToken), func(v *Visit) bool { return v.Status != http.StatusOK })
}

// carrying are the requests to the server after the client was given its first token: those
// that were let in, and those that were refused.
func carrying(client *Client) []transcript.Event {
	issued := client.Need(issuedBy(client, 1), "got a token")
	all := requestsAfter(client, first(issued))
	if len(all) == 0 {
		client.NeedAdmitted()
	}
	return all
}

func requestsAfter(client *Client, issued *Visit) []transcript.Event {
	var all []transcript.Event
	for _, event := range client.Admitted() {
		if event.At.After(issued.Event.At) {
			all = append(all, event)
		}
	}
	for _, v := range After(client.AtIssuer(0, scripted.AtEndpoint), issued.Event) {
		all = append(all, v.Event)
	}
	slices.SortStableFunc(all, func(a, b transcript.Event) int { return a.At.Compare(b.At) })
	return all
}

func authorizationOf(event transcript.Event) string {
	given := event.HTTP.Header.Get("Authorization")
	if given == "" {
		return "no Authorization header"
	}
	scheme, _, _ := strings.Cut(given, " ")
	return "Authorization: " + scheme + " …"
}
