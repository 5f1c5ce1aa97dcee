// Deliberate mistakes of a server that asks for authorization.

package server

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/mcpconform/mcpconform/internal/oauth"
)

// authorizationDefects make a guard bad in one way each. Without a guard they do nothing.
var authorizationDefects = map[string]func(*guard){
	"accepts-any-audience": func(g *guard) {
		g.audienceFits = func([]string, string) bool { return true }
	},
	"accepts-audience-prefixes": func(g *guard) {
		g.audienceFits = func(audience []string, resource string) bool {
			begins := func(one string) bool { return strings.HasPrefix(strings.ToLower(one), resource) }
			return slices.ContainsFunc(audience, begins)
		}
	},
	"accepts-no-audience": func(g *guard) {
		g.audienceFits = func(audience []string, resource string) bool {
			return len(audience) == 0 || audienceFits(audience, resource)
		}
	},
	"accepts-any-issuer": func(g *guard) { g.issuerFits = func(string, string) bool { return true } },
	"accepts-any-signature": func(g *guard) {
		g.trusts = func(context.Context, *guard, *jose.JSONWebSignature, map[string]any) bool { return true }
	},
	"accepts-unsigned-tokens": func(g *guard) {
		g.forged = func(_ context.Context, _ *guard, token string) bool {
			jwt, isJWT := oauth.Decode(token)
			return isJWT && jwt.Header["alg"] == "none"
		}
	},
	"confuses-algorithms":       func(g *guard) { g.forged = signedWithPublicKey },
	"accepts-keys-of-the-token": func(g *guard) { g.trusts = trustsOwnKey },
	"accepts-expired-tokens":    func(g *guard) { g.inTime = neverOver },
	"accepts-early-tokens": func(g *guard) {
		g.inTime = func(claims map[string]any, now time.Time) string {
			claims = maps.Clone(claims)
			delete(claims, "nbf")
			return inTime(claims, now)
		}
	},
	"accepts-capitals-not-in-audiences": func(g *guard) { g.audienceFits = slices.Contains[[]string] },
	"accepts-tokens-in-the-query": func(g *guard) {
		g.tokenOf = func(r *http.Request) (string, bool) {
			if token := r.URL.Query().Get("access_token"); token != "" {
				return token, true
			}
			return tokenOf(r)
		}
	},
	"accepts-opaque-tokens": func(g *guard) { // without introspection
		g.exempt = func(r *http.Request) bool {
			token, given := tokenOf(r)
			return given && !strings.Contains(token, ".")
		}
	},
	"compares-the-scheme": func(g *guard) {
		g.tokenOf = func(r *http.Request) (string, bool) {
			return strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		}
	},
	"looks-at-scopes-first": func(g *guard) { g.scopesFirst = true },
	"lets-sessions-in": func(g *guard) {
		g.exempt = func(r *http.Request) bool {
			return r.Header.Get(sessionHeader) != "" && r.Header.Get("Authorization") == ""
		}
	},
	"accepts-audience-lists": func(g *guard) {
		fits := g.audienceFits
		g.audienceFits = func(audience []string, resource string) bool {
			return len(audience) > 1 || fits(audience, resource)
		}
	},
	"lets-streams-in": func(g *guard) {
		g.exempt = func(r *http.Request) bool { return r.Method == http.MethodGet && r.Header.Get("Authorization") == "" }
	},
	"shares-sessions":         func(g *guard) { g.ownedBy = sharedAt(http.MethodPost, http.MethodGet, http.MethodDelete) },
	"shares-ends-of-sessions": func(g *guard) { g.ownedBy = sharedAt(http.MethodDelete) },
	"shares-streams":          func(g *guard) { g.ownedBy = sharedAt(http.MethodGet) },
	"ignores-scopes":          func(g *guard) { g.allows = func(*guard, []string, []string) bool { return true } },
	"ignores-broader-scopes":  func(g *guard) { g.Implies = nil },
	"names-one-scope-at-a-time": func(g *guard) {
		g.challenged = func(needed, granted []string) []string {
			has := func(one string) bool { return slices.Contains(granted, one) }
			missing := slices.DeleteFunc(slices.Clone(needed), has)
			return missing[:min(1, len(missing))]
		}
	},
	"names-scopes-by-chance": func(g *guard) {
		turn := 0
		g.challenged = func(needed, _ []string) []string {
			g.mu.Lock()
			defer g.mu.Unlock()
			if turn++; turn%2 == 0 {
				return append(slices.Clone(needed), "extra")
			}
			return needed
		}
	},
	"names-no-missing-scopes": func(g *guard) {
		g.challenged = func(_, granted []string) []string { return granted }
	},
}

// signedWithPublicKey takes a public key of the issuer, as text, for the secret of a HMAC.
func signedWithPublicKey(ctx context.Context, g *guard, token string) bool {
	signed, err := jose.ParseSignedCompact(token, []jose.SignatureAlgorithm{jose.HS256})
	if err != nil {
		return false
	}
	keys, err := g.trusted(ctx, false)
	return err == nil && slices.ContainsFunc(keys.Keys, func(key jose.JSONWebKey) bool {
		der, err := x509.MarshalPKIXPublicKey(key.Key)
		if err != nil {
			return false
		}
		_, err = signed.Verify(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
		return err == nil
	})
}

// neverOver takes tokens whose time is over.
func neverOver(claims map[string]any, now time.Time) string {
	claims = maps.Clone(claims)
	claims["exp"] = float64(now.Add(time.Hour).Unix())
	return inTime(claims, now)
}

// trustsOwnKey takes the key that the token itself brings for one of the issuer's.
func trustsOwnKey(ctx context.Context, g *guard, signed *jose.JSONWebSignature, claims map[string]any) bool {
	if key := signed.Signatures[0].Header.JSONWebKey; key != nil {
		_, err := signed.Verify(key)
		return err == nil
	}
	return trusts(ctx, g, signed, claims)
}

// sharedAt lets everybody use a session by some HTTP methods.
func sharedAt(methods ...string) func(*http.Request, string) bool {
	return func(r *http.Request, user string) bool {
		return slices.Contains(methods, r.Method) || userOf(r) == user
	}
}
