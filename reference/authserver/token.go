package authserver

import (
	"crypto/subtle"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/mcpconform/mcpconform/internal/oauth"
)

// refreshLife is how long a refresh token is good.
const refreshLife = 24 * time.Hour

// token is the token endpoint.
func (s *Server) token(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	if err := r.ParseForm(); err != nil {
		wrong("invalid_request", "the body is not a form: %s", err).write(w)
		return
	}
	client, refused := s.authenticate(r)
	if refused != nil {
		refused.write(w)
		return
	}
	var granted *grant
	switch r.PostForm.Get("grant_type") {
	case "authorization_code":
		granted, refused = s.redeem(client, r.PostForm)
	case "refresh_token":
		granted, refused = s.renew(client, r.PostForm)
	default:
		refused = wrong("unsupported_grant_type", "grant_type must be authorization_code or refresh_token")
	}
	if refused == nil {
		refused = s.resource(granted, r.PostForm)
	}
	if refused != nil {
		refused.write(w)
		return
	}
	s.answer(w, client, granted, r.PostForm.Get("refresh_token"))
}

// answer issues the tokens.
func (s *Server) answer(w http.ResponseWriter, client *client, granted *grant, refreshed string) {
	access, err := s.access(granted)
	if err != nil {
		(&oauthError{http.StatusInternalServerError, "server_error", err.Error()}).write(w)
		return
	}
	answer := map[string]any{
		"access_token": access, "token_type": "Bearer",
		"expires_in": int(s.options.Life.Seconds()), "scope": granted.scope,
	}
	if len(client.GrantTypes) == 0 || slices.Contains(client.GrantTypes, "refresh_token") {
		answer["refresh_token"] = s.refreshToken(granted, refreshed)
	}
	writeJSON(w, http.StatusOK, answer)
}

// authenticate finds the client that asks. A confidential one proves itself in one way.
func (s *Server) authenticate(r *http.Request) (*client, *oauthError) {
	id, given := r.PostForm.Get("client_id"), r.PostForm.Get("client_secret")
	if name, password, basic := r.BasicAuth(); basic {
		if given != "" {
			return nil, wrong("invalid_request", "the client authenticates in two ways")
		}
		var errs [2]error
		name, errs[0] = url.QueryUnescape(name) // OAuth 2.1, section 2.4.1
		given, errs[1] = url.QueryUnescape(password)
		if errs[0] != nil || errs[1] != nil || id != "" && id != name {
			return nil, unauthenticated("the Authorization header does not name the client")
		}
		id = name
	}
	client, err := s.clientOf(r.Context(), id)
	if err != nil {
		return nil, unauthenticated(err.Error())
	}
	right := subtle.ConstantTimeCompare([]byte(client.Secret), []byte(given)) == 1
	if !right && !s.has("does-not-authenticate") {
		return nil, unauthenticated("the client secret is wrong")
	}
	return client, nil
}

func unauthenticated(description string) *oauthError {
	return &oauthError{http.StatusUnauthorized, "invalid_client", description}
}

// redeem takes a code.
func (s *Server) redeem(client *client, form url.Values) (*grant, *oauthError) {
	s.mu.Lock()
	defer s.mu.Unlock()
	granted, verifier := s.codes[form.Get("code")], form.Get("code_verifier")
	if granted != nil && granted.client == client.ID && !s.has("redeems-codes-twice") {
		delete(s.codes, form.Get("code"))
	}
	switch {
	case granted == nil, granted.over(), granted.client != client.ID && !s.has("redeems-for-other-clients"):
		return nil, wrong("invalid_grant", "the code is not good")
	case form.Has("redirect_uri") && form.Get("redirect_uri") != granted.redirectURI:
		return nil, wrong("invalid_grant", "the redirect URI is not that of the code")
	case granted.challenge != "" && !s.proves(verifier, granted):
		return nil, wrong("invalid_grant", "the code verifier does not fit the challenge")
	case granted.challenge == "" && verifier != "" && !s.has("does-not-enforce-pkce"):
		return nil, wrong("invalid_grant", "there is a code verifier, and there was no challenge")
	}
	renewed := *granted
	renewed.family = secret("family")
	return &renewed, nil
}

// proves tells whether a code verifier fits the challenge of a code.
func (s *Server) proves(verifier string, granted *grant) bool {
	return s.has("does-not-enforce-pkce") || s.has("takes-no-verifier") && verifier == "" ||
		oauth.ProvesChallenge(granted.challenge, granted.method, verifier)
}

// renew takes a refresh token. One that was used before ends all that came of it.
func (s *Server) renew(client *client, form url.Values) (*grant, *oauthError) {
	s.mu.Lock()
	defer s.mu.Unlock()
	granted := s.refresh[form.Get("refresh_token")]
	switch {
	case granted == nil, granted.client != client.ID && !s.has("redeems-for-other-clients"):
		return nil, wrong("invalid_grant", "the refresh token is not good")
	case granted.expires.IsZero(): // rotated and used again: one of the two was stolen
		keep(s.revoked, granted.family, true)
		return nil, wrong("invalid_grant", "the refresh token was used before")
	case granted.over(), s.revoked[granted.family]:
		return nil, wrong("invalid_grant", "the refresh token is not good any more")
	}
	renewed := *granted
	if wanted := form.Get("scope"); wanted != "" {
		for _, one := range oauth.Scopes(wanted) {
			if !s.has("widens-scopes") && !slices.Contains(oauth.Scopes(granted.scope), one) {
				return nil, wrong("invalid_scope", "the scope %q was not granted", one)
			}
		}
		renewed.scope = wanted
	}
	return &renewed, nil
}

// resource holds the resource of a token request against that of the authorization.
func (s *Server) resource(granted *grant, form url.Values) *oauthError {
	wanted := form.Get("resource")
	switch {
	case wanted == "":
		return nil
	case oauth.ResourceFlaw(wanted) != "":
		return wrong("invalid_target", "the resource %s", oauth.ResourceFlaw(wanted))
	case granted.resource != "" && !oauth.SameResource(wanted, granted.resource) && !s.has("issues-for-other-resources"):
		return wrong("invalid_target", "the resource is not that of the authorization")
	}
	granted.resource = wanted
	return nil
}

// refreshToken issues a refresh token, and uses up the one that was redeemed.
func (s *Server) refreshToken(granted *grant, used string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if used != "" {
		if s.has("does-not-rotate") {
			return used
		}
		if s.has("takes-rotated-tokens") {
			used = secret("unused")
		}
		s.refresh[used] = &grant{client: granted.client, family: granted.family, expires: time.Time{}}
	}
	next := *granted
	next.expires, next.redirectURI, next.challenge = time.Now().Add(refreshLife), "", ""
	token := secret("refresh")
	keep(s.refresh, token, &next)
	return token
}
