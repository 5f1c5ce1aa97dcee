package authserver

import (
	"maps"
	"net/http"
	"time"

	"github.com/mcpconform/mcpconform/internal/oauth"
)

// access issues an access token for a grant: a JWT as RFC 9068 has it, or an opaque one.
func (s *Server) access(granted *grant) (string, error) {
	claims := s.Claims(granted.resource, granted.scope)
	claims["client_id"], claims["sub"] = granted.client, granted.subject
	if s.options.Opaque {
		return s.Opaque(claims), nil
	}
	return s.key.Sign(map[string]any{"typ": "at+jwt"}, claims)
}

// Claims are those of a good access token for a resource, issued now.
func (s *Server) Claims(resource, scope string) map[string]any {
	now := time.Now()
	claims := map[string]any{
		"iss": s.options.Issuer, "sub": subject, "client_id": "client", "jti": secret("jti"),
		"iat": now.Unix(), "exp": now.Add(s.options.Life).Unix(),
	}
	if resource != "" {
		claims["aud"] = resource
	}
	if scope != "" {
		claims["scope"] = scope
	}
	return claims
}

// Opaque issues a token that has no meaning but by introspection, which will give these
// claims.
func (s *Server) Opaque(claims map[string]any) string {
	token := secret("at")
	s.mu.Lock()
	defer s.mu.Unlock()
	keep(s.opaque, token, claims)
	return token
}

// Revoke makes introspection say that a token is not active.
func (s *Server) Revoke(token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	keep(s.revoked, token, true)
}

// introspect is the introspection endpoint (RFC 7662). It is open: only who has the token
// learns something, and all here is for tests.
func (s *Server) introspect(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	if err := r.ParseForm(); err != nil {
		wrong("invalid_request", "the body is not a form: %s", err).write(w)
		return
	}
	claims, known := s.claimsOf(r.PostForm.Get("token"))
	if !known || !s.current(claims) {
		writeJSON(w, http.StatusOK, map[string]any{"active": false})
		return
	}
	answer := maps.Clone(claims)
	answer["active"], answer["token_type"] = true, "Bearer"
	writeJSON(w, http.StatusOK, answer)
}

// claimsOf are those of a token that this server has issued, and has not revoked.
func (s *Server) claimsOf(token string) (map[string]any, bool) {
	s.mu.Lock()
	opaque, known := s.opaque[token]
	revoked := s.revoked[token]
	s.mu.Unlock()
	switch {
	case revoked:
		return nil, false
	case known:
		return opaque, true
	}
	jwt, isJWT := oauth.Decode(token)
	if !isJWT {
		return nil, false
	}
	return jwt.Claims, s.key.Verifies(token) || s.rsa != nil && s.rsa.Verifies(token)
}

// current tells whether a token holds now, and is an access token of this issuer.
func (s *Server) current(claims map[string]any) bool {
	now := float64(time.Now().Unix())
	number := func(name string, otherwise float64) float64 {
		switch value := claims[name].(type) {
		case float64:
			return value
		case int64:
			return float64(value)
		}
		return otherwise
	}
	return claims["iss"] == s.options.Issuer && claims["nonce"] == nil &&
		number("exp", 0) > now && number("nbf", now) <= now
}
