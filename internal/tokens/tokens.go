// Package tokens mints access tokens of every kind for a server that trusts a test
// authorization server: good ones, and each of those that the server must not take.
package tokens

import (
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/mcpconform/mcpconform/internal/oauth"
	"github.com/mcpconform/mcpconform/reference/authserver"
)

// Order says what the tokens are for.
type Order struct {
	Resource string   // the URL of the server
	Scopes   []string // of a good token
	Limited  []string // of one that lacks what a tool needs
	Needs    []string // exactly what that tool needs
	Broader  []string // what implies it; none for no such token
}

// How far off the times of a token are.
const (
	longAgo   = -5 * time.Minute
	justNow   = -5 * time.Second
	notForNow = 10 * time.Minute
	later     = time.Hour
)

// Mint issues a token of each kind that the authorization server can make.
func Mint(server *authserver.Server, order Order) (map[oauth.Kind]string, error) {
	m := &mint{server: server, order: order, tokens: map[oauth.Kind]string{}}
	m.good()
	m.foreign()
	m.untimely()
	m.forged()
	m.scoped()
	return m.tokens, m.err
}

type mint struct {
	server *authserver.Server
	order  Order
	tokens map[oauth.Kind]string
	err    error
}

// claims are those of a good token, changed; nil removes.
func (m *mint) claims(change map[string]any) map[string]any {
	claims := m.server.Claims(m.order.Resource, strings.Join(m.order.Scopes, " "))
	for name, value := range change {
		if value == nil {
			delete(claims, name)
		} else {
			claims[name] = value
		}
	}
	return claims
}

// add keeps a token, unless one before it could not be made.
func (m *mint) add(kind oauth.Kind, token string, err error) {
	if m.err == nil {
		m.tokens[kind], m.err = token, err
	}
}

// sign adds a token signed by the server's key.
func (m *mint) sign(kind oauth.Kind, change map[string]any) {
	token, err := m.server.Key().Sign(oauth.AccessTokenHeader(), m.claims(change))
	m.add(kind, token, err)
}

func (m *mint) good() {
	m.sign(oauth.Good, nil)
	m.sign(oauth.Rotated, nil)
	m.sign(oauth.ManyAudiences, map[string]any{"aud": []string{"https://another.example/mcp", m.order.Resource}})
	m.sign(oauth.CapitalAudience, map[string]any{"aud": inCapitals(m.order.Resource)})
	m.sign(oauth.UnknownClaims, map[string]any{"https://mcpconform.example/claim": map[string]any{"a": 1}})
	m.sign(oauth.OtherUser, map[string]any{"sub": "user-2"})
	m.add(oauth.Opaque, m.server.Opaque(m.claims(nil)), nil)
	if rsa := m.server.RSAKey(); rsa != nil {
		token, err := rsa.Sign(oauth.AccessTokenHeader(), m.claims(nil))
		m.add(oauth.SignedByRSA, token, err)
	}
}

// inCapitals writes the scheme and host of a URL in capitals.
func inCapitals(address string) string {
	parsed, err := url.Parse(address)
	if err != nil {
		return address
	}
	origin := parsed.Scheme + "://" + parsed.Host
	return strings.ToUpper(origin) + strings.TrimPrefix(address, origin)
}

func (m *mint) foreign() {
	m.sign(oauth.OtherAudience, map[string]any{"aud": "https://another.example/mcp"})
	m.sign(oauth.ClientAudience, map[string]any{"aud": "client"})
	m.sign(oauth.NoAudience, map[string]any{"aud": nil})
	m.sign(oauth.LongerAudience, map[string]any{"aud": m.order.Resource + "x"})
	m.sign(
		oauth.OtherAudiences,
		map[string]any{"aud": []any{"https://another.example/mcp", "https://a.third.example/mcp"}},
	)
	m.sign(oauth.OtherIssuer, map[string]any{"iss": "https://another.example"})
	m.sign(oauth.IssuerSlash, map[string]any{"iss": m.server.Issuer() + "/"})
	id, err := m.server.Key().
		Sign(map[string]any{"typ": "JWT"}, m.claims(map[string]any{"aud": "client", "nonce": "n"}))
	m.add(oauth.IDToken, id, err)
	refresh := m.server.Opaque(m.claims(nil))
	m.server.Revoke(refresh) // as far as introspection knows of it
	m.add(oauth.RefreshToken, refresh, nil)
	revoked := m.server.Opaque(m.claims(nil))
	m.server.Revoke(revoked)
	m.add(oauth.Revoked, revoked, nil)
}

func (m *mint) untimely() {
	at := func(offset time.Duration) int64 { return time.Now().Add(offset).Unix() }
	m.sign(oauth.Expired, map[string]any{"iat": at(longAgo - later), "exp": at(longAgo)})
	m.sign(oauth.ExpiredNoScope, map[string]any{"iat": at(longAgo - later), "exp": at(longAgo), "scope": nil})
	m.sign(oauth.JustExpired, map[string]any{"iat": at(longAgo), "exp": at(justNow)})
	m.sign(oauth.NotYet, map[string]any{"nbf": at(notForNow), "exp": at(notForNow + later)})
	m.sign(oauth.IssuedLater, map[string]any{"iat": at(later), "exp": at(later + later)})
}

func (m *mint) forged() {
	key := m.server.Key()
	forged, err := oauth.Forge(m.claims(nil), key.ID, key.PublicPEM())
	if err != nil {
		m.add("", "", err)
		return
	}
	for _, kind := range slices.Sorted(maps.Keys(forged)) {
		m.add(kind, forged[kind], nil)
	}
}

func (m *mint) scoped() {
	m.sign(oauth.NoScope, map[string]any{"scope": nil})
	scoped := func(kind oauth.Kind, scopes []string) {
		if len(scopes) > 0 {
			m.sign(kind, map[string]any{"scope": strings.Join(scopes, " ")})
		}
	}
	scoped(oauth.Limited, m.order.Limited)
	scoped(oauth.Full, m.order.Needs)
	scoped(oauth.Broader, m.order.Broader)
}
