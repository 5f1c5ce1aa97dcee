package authorization

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/oauth2"

	. "github.com/mcpconform/mcpconform/internal/check"
	. "github.com/mcpconform/mcpconform/internal/issuer"
	"github.com/mcpconform/mcpconform/internal/oauth"
)

func issuerCodes() {
	It("issues tokens for an authorization code as JSON that is not cached", Verifies("authorization.oauth.token-response"), func(t *T) {
		issuer := NeedIssuer(t)
		grant := issuer.NeedGrant(t, issuer.Request(issuer.NeedClient(AnyClient)))

		answer := issuer.Redeem(grant)

		if answer.Status != http.StatusOK {
			t.Inconclusive("the token request with the code failed: "+answer.Describe(), hintToken)
		}
		t.Expect(answer.Response).To(HaveContentType("application/json"))
		t.DemandOf(answer, answer.Issued(), "an access_token")
		t.Demand(answer.Text("token_type") != "", "a token_type", Show(answer.Members["token_type"]))
		t.Demand(strings.Contains(strings.ToLower(http.Header(answer.Header).Get("Cache-Control")), "no-store"),
			"Cache-Control: no-store", Show(http.Header(answer.Header).Get("Cache-Control")))
	})

	boundCodes()

	redeemingOnce()

	tokenErrors()

	It("issues access tokens that expire within a day", Verifies("authorization.token.short-lived"), func(t *T) {
		issuer := NeedIssuer(t)
		answer := issuer.NeedTokens(t, issuer.NeedClient(AnyClient))

		life, known := lifeOf(answer)
		if !known {
			t.Inconclusive("the token response has no expires_in", "return expires_in with the access token")
		}
		t.Demand(life <= longestLife, "at most "+longestLife.String(), life.String())
	})
}

func boundCodes() {
	It("issues no code without a code_challenge to a public client", Verifies("authorization.oauth.pkce-demanded"), func(t *T) {
		issuer := NeedIssuer(t)
		client := issuer.NeedClient(PublicClient)
		issuer.NeedGrant(t, issuer.Request(client))

		landing := issuer.Login(t, issuer.Request(client).Without("code_challenge", "code_challenge_method").Deliberately("has no code_challenge"))
		t.DemandOf(landing, landing.Code() == "", "an error for a request without code_challenge")
	})

	It("redeems a code only with the code_verifier of its code_challenge", Verifies("authorization.oauth.pkce-verified"), func(t *T) {
		issuer := NeedIssuer(t)
		client := issuer.NeedClient(AnyClient)
		needRedeemable(t, issuer, client)

		for _, wrong := range []struct{ says, verifier string }{
			{"without code_verifier", ""},
			{"with another code_verifier", oauth2.GenerateVerifier()},
		} {
			grant := issuer.NeedGrant(t, issuer.Request(client))
			form := grant.Form()
			form.Del("code_verifier")
			if wrong.verifier != "" {
				form.Set("code_verifier", wrong.verifier)
			}
			issuer.Token(client, form, "is "+wrong.says).DemandRefused(t, "a token request "+wrong.says)
		}
	})
}

func redeemingOnce() {
	It("redeems a code only once", Verifies("authorization.oauth.code-once"), func(t *T) {
		redeemedAgain(t).DemandRefused(t, "a code that was redeemed before")
	})

	It("rejects a redeemed code with invalid_grant", Verifies("authorization.oauth.token-error"), func(t *T) {
		demandInvalidGrant(t, redeemedAgain(t), "a code that was redeemed before")
	})

	It("redeems no code for another client", Verifies("authorization.oauth.code-bound"), func(t *T) {
		issuer := NeedIssuer(t)
		client := issuer.NeedClient(PublicClient)
		other := issuer.NeedClient(OtherClient)
		needRedeemable(t, issuer, client)
		grant := issuer.NeedGrant(t, issuer.Request(client))

		answer := issuer.Token(other, grant.Form(), "redeems the code of another client")
		answer.DemandRefused(t, "the code of another client")
	})
}

// redeemedAgain is the answer to a code that was redeemed before.
func redeemedAgain(t *T) *TokenAnswer {
	issuer := NeedIssuer(t)
	grant := issuer.NeedGrant(t, issuer.Request(issuer.NeedClient(AnyClient)))
	if first := issuer.Redeem(grant); !first.Issued() {
		t.Inconclusive("the token request with the code failed: "+first.Describe(), hintToken)
	}
	return issuer.Token(grant.Request.Client, grant.Form(), "redeems the code again")
}

func tokenErrors() {
	It("rejects a token request with 400 or 401 and an error as JSON", Verifies("authorization.oauth.token-error"), func(t *T) {
		issuer := NeedIssuer(t)
		client := issuer.NeedClient(AnyClient)

		for _, wrong := range []struct {
			says string
			form url.Values
		}{
			{"an unknown code", url.Values{
				"grant_type": {"authorization_code"}, "code": {"mcpconform-unknown-code"},
				"redirect_uri": {client.RedirectURI}, "code_verifier": {oauth2.GenerateVerifier()},
			}},
			{"an unknown grant_type", url.Values{"grant_type": {"urn:mcpconform:unknown"}}},
		} {
			answer := issuer.Token(client, wrong.form, "has "+wrong.says)
			t.DemandOf(
				answer,
				slices.Contains([]int{http.StatusBadRequest, http.StatusUnauthorized}, answer.Status),
				"HTTP 400 or 401 for "+wrong.says,
			)
			t.DemandOf(answer, answer.Text("error") != "", "a JSON object with error for "+wrong.says)
		}
	})

	It("redeems a code for a client that authenticates as registered", Verifies("authorization.oauth.client-authenticated"), func(t *T) {
		issuer := NeedIssuer(t)
		needRedeemable(t, issuer, issuer.NeedClient(PublicClient))
		client := issuer.NeedClient(ConfidentialClient)
		grant := issuer.NeedGrant(t, issuer.Request(client))

		answer := issuer.Redeem(grant)

		t.DemandOf(answer, answer.Issued(), "an access_token for a client that uses "+client.Method)
	})

	It("rejects a client that authenticates with a wrong secret", Verifies("authorization.oauth.client-authentication"), func(t *T) {
		issuer := NeedIssuer(t)
		client := issuer.NeedClient(ConfidentialClient)
		needRedeemable(t, issuer, client)
		grant := issuer.NeedGrant(t, issuer.Request(client))

		impostor := *client
		impostor.Secret = "mcpconform-wrong-secret"
		answer := issuer.Token(&impostor, grant.Form(), "has a wrong client secret")
		answer.DemandRefused(t, "a wrong client secret")
	})
}

const (
	// longestLife is the longest that may pass for short; the page names no number.
	longestLife = 24 * time.Hour
	hintToken   = "check what the token endpoint requires, and the id and secret of the client"
)

// demandInvalidGrant judges by which error a grant is refused that the authorization server
// has issued, and that is spent: clients give it up at invalid_grant, and try again at others.
func demandInvalidGrant(t *T, answer *TokenAnswer, what string) {
	code := answer.Text("error")
	if answer.Issued() || code == "" {
		t.NotApplicable("the authorization server does not reject " + what + " with an error: " + answer.Describe())
	}
	t.DemandOf(answer, code == "invalid_grant", "the error invalid_grant for "+what)
}

// needRedeemable makes sure that codes of a client are redeemed where nothing is wrong.
func needRedeemable(t *T, issuer *Issuer, client *RegisteredClient) {
	issuer.NeedTokens(t, client)
}

// lifeOf is how long an access token is good: as the answer says, or the token itself.
func lifeOf(answer *TokenAnswer) (life time.Duration, known bool) {
	if seconds, isNumber := answer.Members["expires_in"].(float64); isNumber {
		return time.Duration(seconds) * time.Second, true
	}
	token, isJWT := oauth.Decode(answer.Text("access_token"))
	if !isJWT {
		return 0, false
	}
	expires, hasEnd := token.Claims["exp"].(float64)
	issued, hasBeginning := token.Claims["iat"].(float64)
	return time.Duration(expires-issued) * time.Second, hasEnd && hasBeginning
}

// usedAgain is the answer to a refresh token of a public client that was rotated before.
func usedAgain(t *T) *TokenAnswer {
	issuer := NeedIssuer(t)
	client := issuer.NeedClient(PublicClient)
	token, _ := issuer.NeedRefreshToken(t, client)
	first := issuer.Refresh(client, token, nil, "")
	if next := first.Text("refresh_token"); !first.Issued() || next == "" || next == token {
		t.Inconclusive("the refresh token is not rotated", "see the result of authorization.refresh.rotated")
	}
	return issuer.Refresh(client, token, nil, "uses the refresh token again")
}

func issuerRefresh() {
	It("issues a new refresh token with each refresh to a public client", Verifies("authorization.refresh.rotated"), func(t *T) {
		issuer := NeedIssuer(t)
		client := issuer.NeedClient(PublicClient)
		token, _ := issuer.NeedRefreshToken(t, client)

		answer := issuer.Refresh(client, token, nil, "")
		if !answer.Issued() {
			t.Inconclusive("the refresh token is refused: "+answer.Describe(), hintToken)
		}
		next := answer.Text("refresh_token")
		t.Demand(next != "" && next != token, "another refresh token than the one before",
			map[bool]string{true: "no refresh token", false: "the same refresh token"}[next == ""])
	})

	It("rejects a rotated refresh token of a public client", Verifies("authorization.refresh.replayed"), func(t *T) {
		again := usedAgain(t)

		again.DemandRefused(t, "a refresh token that was rotated")
	})

	It("rejects a rotated refresh token with invalid_grant", Verifies("authorization.oauth.token-error"), func(t *T) {
		again := usedAgain(t)

		demandInvalidGrant(t, again, "a refresh token that was rotated")
	})

	It("refreshes no token for another client", Verifies("authorization.oauth.refresh-bound"), func(t *T) {
		issuer := NeedIssuer(t)
		client := issuer.NeedClient(PublicClient)
		other := issuer.NeedClient(OtherClient)
		token, _ := issuer.NeedRefreshToken(t, client)

		answer := issuer.Refresh(other, token, nil, "uses the refresh token of another client")
		answer.DemandRefused(t, "the refresh token of another client")
	})

	It("grants no new scope for a refresh token", Verifies("authorization.oauth.refresh-scope"), func(t *T) {
		issuer := NeedIssuer(t)
		client := issuer.NeedClient(AnyClient)
		token, first := issuer.NeedRefreshToken(t, client)

		const more = "mcpconform:unknown"
		granted := oauth.Scopes(first.Text("scope"))
		wanted := strings.Join(append(slices.Clone(granted), more), " ")
		answer := issuer.Refresh(client, token, url.Values{"scope": {wanted}}, "requests a scope that was not granted")
		has := oauth.Scopes(answer.Text("scope"))
		if answer.Issued() && len(has) == 0 {
			has = oauth.Scopes(wanted) // what is not said is as it was asked for
		}
		t.DemandOf(answer, !answer.Issued() || !slices.Contains(has, more), "invalid_scope, or no scope "+more)
	})
}
