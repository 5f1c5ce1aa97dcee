package authorization

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/mcp"
	"github.com/mcpconform/mcpconform/internal/oauth"
	. "github.com/mcpconform/mcpconform/internal/offer"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/scripted"
	. "github.com/mcpconform/mcpconform/internal/session"
)

func tokens() {
	It("answers an invalid access token with 401", Verifies("authorization.token.invalid"), Guarded(), func(t *T) {
		for _, token := range []string{"garbage", "aaaa.bbbb.cccc", "mcpconform-" + strings.Repeat("x", longToken)} {
			demandUnauthorized(t, token, "has a token that no authorization server issued")
		}
	})

	It("sends error=\"invalid_token\" in the challenge for an unknown access token",
		Verifies("authorization.challenge.error-for-token"), Guarded(), func(t *T) {
			demandReason(t, "mcpconform-nobody-issued-this", "has a token that no authorization server issued")
		})

	It("sends error=\"invalid_token\" in the challenge for an expired access token, and for one with another audience",
		Verifies("authorization.challenge.error-for-token"), NeedsToken(oauth.Expired, oauth.OtherAudience), func(t *T) {
			needAccepted(t)
			for _, kind := range []oauth.Kind{oauth.Expired, oauth.OtherAudience} {
				demandReason(t, Token(t, kind), "has "+kind.Says())
			}
		})

	It("answers an expired access token with 401", Verifies("authorization.token.invalid"), NeedsToken(oauth.Expired), func(t *T) {
		needAccepted(t)
		demandUnauthorized(t, Token(t, oauth.Expired), "has "+oauth.Expired.Says())
	})

	It("answers an expired access token without scopes with 401",
		Verifies("authorization.token.invalid"), NeedsToken(oauth.ExpiredNoScope), func(t *T) {
			needAccepted(t)
			demandUnauthorized(t, Token(t, oauth.ExpiredNoScope), "has "+oauth.ExpiredNoScope.Says())
		})

	It("answers a revoked access token with 401", Verifies("authorization.token.invalid"), NeedsToken(oauth.Revoked), func(t *T) {
		needAccepted(t)
		demandUnauthorized(t, Token(t, oauth.Revoked), "has "+oauth.Revoked.Says())
	})

	It("rejects forged access tokens", Verifies("authorization.token.validated"), Guarded(), func(t *T) {
		forged, err := oauth.Forge(guessed(t), "", nil)
		if err != nil {
			t.Inconclusive("a forged token could not be made: "+err.Error(), "run again")
		}
		for _, kind := range slices.Sorted(maps.Keys(forged)) {
			demandRefused(t, forged[kind], "has "+kind.Says())
		}
	})

	It("rejects forged access tokens that name its authorization server", Verifies("authorization.token.validated"),
		NeedsToken(oauth.WrongSignature, oauth.Unsigned, oauth.ConfusedAlgorithm, oauth.UnknownKey, oauth.OwnKey),
		func(t *T) {
			refuses(t, oauth.WrongSignature, oauth.Unsigned, oauth.ConfusedAlgorithm, oauth.UnknownKey, oauth.OwnKey)
		})

	foreignTokens()

	presentedTokens()
}

func foreignTokens() {
	It("rejects access tokens of another issuer",
		Verifies("authorization.token.validated"), NeedsToken(oauth.OtherIssuer), func(t *T) { refuses(t, oauth.OtherIssuer) })

	It("rejects access tokens that are not valid yet",
		Verifies("authorization.token.validated"), NeedsToken(oauth.NotYet), func(t *T) { refuses(t, oauth.NotYet) })

	It("rejects modified access tokens", Verifies("authorization.token.validated"), NeedsToken(oauth.Good), func(t *T) {
		needAccepted(t)
		for _, token := range changed(Token(t, oauth.Good)) {
			demandRefused(t, token, "has a token that was changed")
		}
	})

	It("rejects access tokens that were issued for another server",
		Verifies("authorization.token.audience"), NeedsToken(oauth.OtherAudience), func(t *T) { refuses(t, oauth.OtherAudience) })

	It("accepts no access token that was not issued for it",
		Verifies("security-best-practices.tokens.foreign"), NeedsToken(oauth.OtherAudience),
		func(t *T) { refuses(t, oauth.OtherAudience) })

	It("rejects access tokens that do not name it in the audience", Verifies("authorization.token.audience"),
		NeedsToken(oauth.ClientAudience, oauth.NoAudience, oauth.LongerAudience, oauth.IDToken),
		func(t *T) { refuses(t, oauth.ClientAudience, oauth.NoAudience, oauth.LongerAudience, oauth.IDToken) })

	It(
		"rejects access tokens whose list of audiences does not name it",
		Verifies("authorization.token.audience"),
		NeedsToken(oauth.OtherAudiences),
		func(t *T) { refuses(t, oauth.OtherAudiences) },
	)
}

func presentedTokens() {
	It("accepts an access token whose audience has scheme and host in upper case",
		Verifies("authorization.resource.capitals-accepted"), NeedsToken(oauth.CapitalAudience), func(t *T) {
			needAccepted(t)
			response := tryGuarded(t, attempt{Authorization: []string{oauth.Bearing(Token(t, oauth.CapitalAudience))}})

			t.DemandOf(response, accepted(response), "the same response as with the resource in lower case")
		})

	It("accepts the scheme Bearer in any case", Verifies("authorization.token.scheme"), NeedsToken(oauth.Good), func(t *T) {
		needAccepted(t)
		for _, scheme := range []string{"bearer", "BEARER"} {
			response := tryGuarded(t, attempt{Authorization: []string{scheme + " " + Token(t, oauth.Good)}})
			t.Demand(accepted(response), "the same response as with the scheme Bearer", scheme+": "+response.Describe())
		}
	})

	It("rejects an access token in the query of the URL", Verifies("authorization.token.query-refused"), NeedsToken(oauth.Good), func(t *T) {
		needAccepted(t)
		response := tryGuarded(t, attempt{Query: "access_token=" + url.QueryEscape(Token(t, oauth.Good)), Deliberate: "has its token in the URL"})

		t.DemandOf(response, !accepted(response), "a refusal, such as HTTP 401")
	})
}

// longToken is as long as tokens with many claims, and shorter than what proxies take for
// a header.
const longToken = 1 << 10

// accepted tells whether a request was let in.
func accepted(response *Response) bool { return response.Status >= 200 && response.Status < 300 }

// demandUnauthorized makes a request with a token that the server must answer with 401.
func demandUnauthorized(t *T, token, deliberate string) {
	response := tryGuarded(t, attempt{Authorization: []string{oauth.Bearing(token)}, Deliberate: deliberate})
	t.Observe()
	if response.Status != http.StatusUnauthorized {
		t.Judge(Mismatch{Wanted: "HTTP 401 to a request that " + deliberate, Found: response.Describe(), Where: "HTTP status"})
	}
}

// demandReason makes a request with a token that the server refuses by a challenge, and
// wants that to say that the token is why.
func demandReason(t *T, token, deliberate string) {
	response := tryGuarded(t, attempt{Authorization: []string{oauth.Bearing(token)}, Deliberate: deliberate})
	challenge, found, _ := response.Challenge()
	if response.Status != http.StatusUnauthorized || !found {
		t.NotApplicable("the token is not refused with HTTP 401 and a Bearer challenge")
	}
	reason, _ := challenge.Get("error")
	t.Demand(reason == "invalid_token", `error="invalid_token" for what `+deliberate, response.DescribeChallenge())
}

// demandRefused makes a request with a token that the server must reject, with any error
// status: which one has a requirement of its own.
func demandRefused(t *T, token, deliberate string) {
	response := tryGuarded(t, attempt{Authorization: []string{oauth.Bearing(token)}, Deliberate: deliberate})
	t.Observe()
	if accepted(response) {
		t.Judge(Mismatch{Wanted: "a rejection of a request that " + deliberate, Found: response.Describe(), Where: "HTTP status"})
	}
}

// needAccepted makes a check inconclusive unless the server takes the good token: what it
// says of others would show nothing.
func needAccepted(t *T) {
	response := tryGuarded(t, attempt{Authorization: []string{oauth.Bearing(Token(t, oauth.Good))}})
	if !accepted(response) {
		t.Inconclusive(
			"the valid access token is refused, too: "+response.Describe()+", "+response.DescribeChallenge(),
			"make sure that the server trusts the authorization server that issued it, and accepts tokens for "+URL(t),
		)
	}
}

// refuses demands that the server takes the good token, and none of the kinds.
func refuses(t *T, kinds ...oauth.Kind) {
	needAccepted(t)
	for _, kind := range kinds {
		demandRefused(t, Token(t, kind), "has "+kind.Says())
	}
}

// guessed are the claims of a token that is forged from the public metadata.
func guessed(t *T) map[string]any {
	response := unauthorized(t)
	claims := map[string]any{
		"sub": "user-1", "client_id": "mcpconform", "jti": "mcpconform", "aud": URL(t),
		"iat": time.Now().Unix(), "exp": time.Now().Add(time.Hour).Unix(),
	}
	for _, found := range documents(t, response) {
		servers := mcp.List(found.members, "authorization_servers")
		if len(servers) > 0 {
			claims["iss"] = servers[0]
		}
		if resource, named := found.members["resource"].(string); named {
			claims["aud"] = resource
		}
		if scopes, _ := found.members["scopes_supported"].([]any); len(scopes) > 0 {
			texts := make([]string, 0, len(scopes))
			for _, one := range scopes {
				texts = append(texts, mcp.Text(one))
			}
			claims["scope"] = strings.Join(texts, " ")
		}
	}
	return claims
}

// changed are tokens made of a good one: a JWT with another signature, none, and other
// claims; of an opaque one another character.
func changed(token string) []string {
	jwt, isJWT := oauth.Decode(token)
	if !isJWT {
		return []string{withOtherCharacter(token)}
	}
	all := []string{strings.TrimSuffix(token, jwt.Signature) + withOtherCharacter(jwt.Signature), strings.TrimSuffix(token, jwt.Signature)}
	longer := jwt
	longer.Claims = maps.Clone(jwt.Claims)
	longer.Claims["exp"], longer.Claims["sub"] = time.Now().Add(365*24*time.Hour).Unix(), "another-user"
	if text, err := longer.Encode(); err == nil {
		all = append(all, text)
	}
	if unsigned, err := oauth.WithoutSignature(map[string]any{"typ": jwt.Header["typ"]}, jwt.Claims); err == nil {
		all = append(all, unsigned)
	}
	return all
}

// withOtherCharacter changes a character in the middle.
func withOtherCharacter(text string) string {
	middle := len(text) / 2
	other := "A"
	if text[middle] == 'A' {
		other = "B"
	}
	return text[:middle] + other + text[middle+1:]
}

func sessions() {
	It("processes no request without an access token, even in a session",
		Verifies("authorization.token.before-processing"), NeedsToken(oauth.Good), func(t *T) {
			server, method := within(t)

			response := anonymous(server, http.MethodPost, server.Body(method, nil), "has no access token")

			t.DemandOf(response, !accepted(response), "HTTP 401 to "+method+" without a token")
		})

	It("accepts no notification without an access token, even in a session",
		Verifies("authorization.token.before-processing"), NeedsToken(oauth.Good), func(t *T) {
			server, _ := within(t)
			notification := jsonrpc.NewNotification("notifications/mcpconform/unknown", nil)
			if !accepted(server.Post(notification, "")) {
				t.NotApplicable("the server refuses the notification with an access token, too")
			}

			response := anonymous(server, http.MethodPost, notification, "has no access token")

			t.DemandOf(response, !accepted(response), "HTTP 401 to a notification without a token")
		})

	It("sends a Bearer challenge in WWW-Authenticate with a 401 to a GET or DELETE",
		Verifies("authorization.challenge.present"), NeedsToken(oauth.Good), AtRevisionsWith(protocol.Sessions), func(t *T) {
			server, _ := within(t)

			judged := false
			for _, method := range []string{http.MethodGet, http.MethodDelete} {
				response := anonymous(server, method, nil, "has no access token")
				if response.Status != http.StatusUnauthorized {
					continue // another check judges that
				}
				judged = true
				_, found, _ := response.Challenge()
				t.Demand(found, "a WWW-Authenticate header with a Bearer challenge, as to a POST", response.DescribeChallenge())
			}
			if !judged {
				t.NotApplicable("the server answers neither GET nor DELETE with HTTP 401")
			}
		})

	It("does not accept a session id in place of an access token",
		Verifies("security-best-practices.sessions.authentication"), NeedsToken(oauth.Good), func(t *T) {
			server, method := within(t)
			if server.HTTP.Session() == "" {
				t.NotApplicable("the server assigns no session ids")
			}

			response := anonymous(server, http.MethodPost, server.Body(method, nil), "has a session id and no access token")

			t.DemandOf(response, !accepted(response), "HTTP 401 to "+method+" without a token")
		})

	eachHTTPMethod()
}

func eachHTTPMethod() {
	It("verifies the access token for each HTTP method", Verifies("security-best-practices.requests.verified"), NeedsToken(oauth.Good), func(t *T) {
		server, method := within(t)

		response := anonymous(server, http.MethodPost, server.Body(method, nil), "has no access token")
		t.DemandOf(response, !accepted(response), "HTTP 401 to a POST without a token")
		if !t.Has(protocol.Sessions) {
			return
		}
		response = anonymous(server, http.MethodGet, nil, "has no access token", WithHeader(scripted.LastEventID, "mcpconform-1"))
		t.DemandOf(response, !accepted(response), "HTTP 401 to a GET that resumes, without a token")
		response = anonymous(server, http.MethodDelete, nil, "has no access token")
		t.DemandOf(response, !accepted(response), "HTTP 401 to a DELETE without a token")
	})

	It("rejects the session id of another user",
		Verifies("security-best-practices.sessions.bound"), NeedsToken(oauth.Good, oauth.OtherUser), func(t *T) {
			server, method := within(t)
			if server.HTTP.Session() == "" {
				t.NotApplicable("the server assigns no session ids")
			}
			needOtherUser(t)

			other := WithHeader("Authorization", oauth.Bearing(Token(t, oauth.OtherUser)))
			response := server.Post(server.Body(method, nil), "has a token of another user", other)
			t.DemandOf(response, !accepted(response), "a refusal, such as HTTP 404")
			response = server.Get("has a token of another user", other)
			t.DemandOf(response, !accepted(response), "a rejection of a GET, such as HTTP 404")
			response = server.Delete("has a token of another user", other)
			t.DemandOf(response, !accepted(response), "a rejection of a DELETE, such as HTTP 404")
		})
}

// within returns a session with a token, and a request that is made in it.
func within(t *T) (*Server, string) {
	server := UnusedSession(t)
	method := BarrierMethod(t)
	if Declares(t, "tools") {
		method = "tools/list"
	}
	return server, method
}

// needOtherUser makes a check inconclusive unless the server lets the other user in at all.
func needOtherUser(t *T) {
	response := tryGuarded(t, attempt{Authorization: []string{oauth.Bearing(Token(t, oauth.OtherUser))}})
	if !accepted(response) {
		t.Inconclusive("the token of another user is refused: "+response.Describe(), "give one that the server accepts")
	}
}
