package authserver

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/mcpconform/mcpconform/internal/oauth"
)

// grant is what the user has allowed a client.
type grant struct {
	client      string
	redirectURI string // "" in a refresh token
	challenge   string
	method      string
	resource    string
	scope       string
	subject     string
	expires     time.Time
	family      string // of refresh tokens that came of each other
}

// subject is the one user that there is.
const subject = "user-1"

// What a defect has in its answers: the longest state, and an issuer that it is not.
const (
	longestState  = 64
	anotherIssuer = "https://another.example"
)

// authorize is the authorization endpoint: it redirects at once.
func (s *Server) authorize(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	asked, redirect, refused := s.authorizationRequest(r)
	if redirect == "" { // never redirect to a URI that was not registered
		http.Error(w, refused.description, http.StatusBadRequest)
		return
	}
	answer := url.Values{}
	if state, sent := query["state"]; sent {
		answer.Set("state", state[0])
		if s.has("cuts-states") {
			answer.Set("state", state[0][:min(len(state[0]), longestState)])
		}
	}
	switch {
	case s.has("answers-issuer-of-another"):
		answer.Set("iss", anotherIssuer)
	case !s.has("sends-no-iss"):
		answer.Set("iss", s.options.Issuer)
	}
	if refused != nil {
		answer.Set("error", refused.code)
		answer.Set("error_description", refused.description)
	} else {
		code := secret("code")
		s.mu.Lock()
		keep(s.codes, code, asked)
		s.mu.Unlock()
		answer.Set("code", code)
	}
	separator := "?"
	if strings.Contains(redirect, "?") {
		separator = "&"
	}
	w.Header().Set("Location", redirect+separator+answer.Encode())
	w.WriteHeader(http.StatusFound)
}

// authorizationRequest reads one, and says what is wrong with it. Without a redirect URI,
// that is told to the user alone.
func (s *Server) authorizationRequest(r *http.Request) (asked *grant, redirect string, refused *oauthError) {
	query := r.URL.Query()
	for name, values := range query {
		if len(values) > 1 && name != "resource" { // RFC 8707 allows several
			return nil, "", wrong("invalid_request", "%s is given twice", name)
		}
	}
	redirect = query.Get("redirect_uri")
	redirectsAll := s.has("redirects-errors-anywhere")
	client, err := s.clientOf(r.Context(), query.Get("client_id"))
	switch {
	case err != nil && redirectsAll && redirect != "":
		return nil, redirect, wrong("unauthorized_client", "%s", err)
	case err != nil:
		return nil, "", wrong("invalid_client", "%s", err)
	case redirect == "" && len(client.RedirectURIs) == 1:
		redirect = client.RedirectURIs[0]
	case s.has("redirects-beside-documents") && strings.Contains(client.ID, "://"):
	case !s.redirectFits(client.RedirectURIs, redirect):
		if !redirectsAll {
			redirect = ""
		}
		return nil, redirect, wrong("invalid_request", "the redirect URI is not registered")
	}
	asked = &grant{
		client: client.ID, redirectURI: query.Get("redirect_uri"), challenge: query.Get("code_challenge"),
		method: query.Get("code_challenge_method"), resource: query.Get("resource"), scope: query.Get("scope"),
		subject: subject, expires: time.Now().Add(codeLife),
	}
	return asked, redirect, s.allowed(asked, query)
}

// allowed says why an authorization request is refused, or nil.
func (s *Server) allowed(asked *grant, query url.Values) *oauthError {
	demandsPKCE := !s.has("does-not-enforce-pkce")
	switch {
	case query.Get("response_type") != "code":
		return wrong("unsupported_response_type", "response_type must be code")
	case demandsPKCE && asked.challenge == "":
		return wrong("invalid_request", "code_challenge is missing")
	case demandsPKCE && asked.method != "S256":
		return wrong("invalid_request", "code_challenge_method must be S256")
	case len(query["resource"]) > 1:
		return wrong("invalid_target", "one resource at a time")
	case asked.resource != "" && oauth.ResourceFlaw(asked.resource) != "":
		return wrong("invalid_target", "the resource %s", oauth.ResourceFlaw(asked.resource))
	}
	asked.scope = s.grantable(asked.scope)
	return nil
}

// grantable are the scopes of a list that the server knows; all, when none is asked for.
func (s *Server) grantable(list string) string {
	wanted := oauth.Scopes(list)
	if len(wanted) == 0 {
		return strings.Join(s.options.Scopes, " ")
	}
	unknown := func(one string) bool { return !slices.Contains(s.options.Scopes, one) }
	return strings.Join(slices.DeleteFunc(wanted, unknown), " ")
}

func (g *grant) over() bool { return time.Now().After(g.expires) }
