package authorization

import (
	"net/http"
	"net/url"
	"slices"

	. "github.com/mcpconform/mcpconform/internal/check"
	. "github.com/mcpconform/mcpconform/internal/clientrun"
	"github.com/mcpconform/mcpconform/internal/mcp"
	"github.com/mcpconform/mcpconform/internal/scripted"
)

func authenticating() {
	for _, one := range []struct {
		text     string
		scenario Option
		method   string
	}{
		{"sends its secret in the Authorization header if it was registered so", In(basicSecret), methodBasic},
		{"sends its secret in the body if it was registered so", In(postedSecret), methodPost},
		{"sends its client_id alone if it was registered without a secret", In(noSecret), methodNone},
	} {
		It(one.text, Verifies("authorization.registration.authentication"), one.scenario, func(t *T) {
			client := play(t)
			client.NeedAt(scripted.AtRegister)

			for request := range ObserveEach(t, client.NeedAt(scripted.AtToken)) {
				if method := methodOf(request); method != one.method {
					client.FailVisit(request, "token_endpoint_auth_method "+one.method, method)
				}
				if one.method == methodNone && request.Form.Get("client_id") == "" {
					client.FailVisit(request, "its client_id, its only identification", ShowVisit(request))
				}
			}
		})
	}

	It("sends its client secret if token_endpoint_auth_method is not given",
		Verifies("authorization.registration.authentication"), In(anySecret), func(t *T) {
			client := play(t)
			client.NeedAt(scripted.AtRegister)

			for request := range ObserveEach(t, client.NeedAt(scripted.AtToken)) {
				if methodOf(request) == methodNone {
					client.FailVisit(request, "the secret in the header or the body", "a client_id alone")
				}
			}
		})

	It("encodes its client_id and secret as a form in the Authorization header",
		Verifies("authorization.registration.secret-encoded"), In(basicSecret), func(t *T) {
			client := play(t)
			client.NeedAt(scripted.AtRegister)
			inHeader := slices.DeleteFunc(client.NeedAt(scripted.AtToken), func(v *Visit) bool { return methodOf(v) != methodBasic })

			for request := range ObserveEach(t, client.Need(inHeader, "sent its secret in the Authorization header")) {
				_, secret, _ := basicOf(request)
				if decoded, err := url.QueryUnescape(secret); err != nil || decoded != registeredSecret {
					client.FailVisit(request, "the secret with its : + % / and & percent-encoded", "another text")
				}
			}
		})
}

// basicOf are the credentials of the Authorization header, as they were written.
func basicOf(v *Visit) (id, secret string, is bool) {
	return (&http.Request{Header: v.Header}).BasicAuth()
}

// methodOf is the token_endpoint_auth_method that a token request is of.
func methodOf(v *Visit) string {
	_, _, basic := basicOf(v)
	switch {
	case basic && v.Form.Has("client_secret"):
		return "both " + methodBasic + " and " + methodPost
	case basic:
		return methodBasic
	case v.Form.Get("client_secret") != "":
		return methodPost
	}
	return methodNone
}

func takingTokens() {
	It("does not use an access token with an unknown token_type", Verifies("authorization.token.type"), In(unknownType), func(t *T) {
		client := refusing(t)
		client.Need(issuedBy(client, 1), "got a token")

		t.Observe()
		for _, one := range client.AdmittedWith(1, 0) {
			client.FailEvent(one, Mismatch{Wanted: "no request with a token whose token_type is N_A", Found: authorizationOf(one)})
		}
	})

	It("accepts a token response with only access_token and the token_type bearer",
		Verifies("authorization.token.response"), In(tersely), func(t *T) {
			client := refusing(t)
			issued := client.Need(issuedBy(client, 1), "got a token")

			if !t.Observed(len(client.AdmittedWith(1, 0)) > 0) {
				client.MissingAfter(first(issued).Event, Mismatch{Wanted: "a request with the access token", Found: "none"})
			}
		})

	It("does not use a refresh token again that was refused with invalid_grant",
		Verifies("authorization.refresh.refused"), In(refusedRefresh), func(t *T) { reusesRefused(t) })

	It("replaces its refresh token when it gets a new one", Verifies("authorization.refresh.replaced"), In(expiring), func(t *T) {
		client := play(t)
		requests := client.Need(client.Tokens(grantRefresh), "used a refresh token")

		judged := false
		for i, one := range requests {
			given := one.Form.Get("refresh_token")
			for _, earlier := range requests[:i] {
				next := mcp.Text(earlier.Reply, "refresh_token")
				was := earlier.Form.Get("refresh_token")
				if next == "" || next == was || !refusedTokenOf(client, earlier, one) {
					continue
				}
				judged = true
				client.DemandOf(one, given != was, "the latest refresh token", "one that was replaced")
			}
		}
		if !judged {
			t.Inconclusive("the client refreshed its token once", "let the client refresh its token each time that the server rejects it as expired")
		}
	})
}

// reusesRefused wants a client whose refresh token was refused in one step not to use it again
// in the next one. What it does meanwhile may have begun before it knew.
func reusesRefused(t *T) {
	client := play(t)
	uses := client.Need(client.Tokens(grantRefresh), "used a refresh token")
	later := slices.DeleteFunc(client.At(scripted.AtEndpoint), func(v *Visit) bool { return v.JSON["method"] != "tools/call" })
	authorized := slices.DeleteFunc(client.At(scripted.AtAuthorize), func(v *Visit) bool { return !v.Event.At.After(first(uses).Event.At) })
	if !t.Observed(len(authorized) > 0 || len(later) > 0) {
		t.Inconclusive("the client sent no further request after its refresh token was rejected",
			"let the client continue with its next step after one that failed")
	}
	for _, use := range uses {
		if len(later) == 0 || !use.Event.At.After(first(later).Event.At) {
			continue
		}
		for _, earlier := range Before(uses, first(later).Event) {
			if earlier.Reply["error"] == "invalid_grant" &&
				earlier.Form.Get("refresh_token") == use.Form.Get("refresh_token") {
				client.FailVisit(use, "no refresh token that was refused with invalid_grant", ShowVisit(use))
			}
		}
	}
}

// refusedTokenOf tells whether the access token of one answer was refused before a client
// sent another request: it had long got the answer by then. Two requests that are under way
// at once know nothing of each other.
func refusedTokenOf(client *Client, answered, later *Visit) bool {
	token := mcp.Text(answered.Reply, "access_token")
	return slices.ContainsFunc(Before(client.At(scripted.AtEndpoint), later.Event), func(v *Visit) bool {
		return token != "" && scripted.BearerToken(v.Header) == token
	})
}
