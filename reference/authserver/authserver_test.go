package authserver_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"golang.org/x/oauth2"

	"github.com/mcpconform/mcpconform/internal/oauth"
	"github.com/mcpconform/mcpconform/reference/authserver"
)

const (
	callback = "http://127.0.0.1:3000/callback"
	resource = "http://localhost:1/mcp"
	document = "https://client.example/client.json"
)

// bench is a server at the beginning of a test, with a client "web" that has the secret
// "s: cret", and a public one, "cli".
type bench struct {
	*testing.T
	server *authserver.Server
	http   *http.Client
	// fetched counts the documents that were got, where a test counts them.
	fetched *atomic.Int64
}

func start(t *testing.T, options authserver.Options) *bench {
	t.Helper()
	mux := http.NewServeMux()
	front := httptest.NewServer(mux)
	t.Cleanup(front.Close)
	options.Issuer = front.URL + options.Issuer
	server, err := authserver.New(options)
	if err != nil {
		t.Fatal(err)
	}
	mux.Handle("/", server.Handler())
	server.Add("web", "s: cret", callback)
	server.Add("cli", "", callback)
	client := front.Client()
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &bench{T: t, server: server, http: client}
}

func (b *bench) do(method, address string, form url.Values, user ...string) (response, map[string]any) {
	b.Helper()
	var body io.Reader
	if form != nil {
		body = strings.NewReader(form.Encode())
	}
	request, err := http.NewRequestWithContext(b.Context(), method, address, body)
	if err != nil {
		b.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if len(user) == 2 {
		request.SetBasicAuth(url.QueryEscape(user[0]), url.QueryEscape(user[1]))
	}
	came, err := b.http.Do(request)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = came.Body.Close() }() // it was read
	var answer map[string]any
	_ = json.NewDecoder(came.Body).Decode(&answer) // some answers are texts
	return response{came.StatusCode, came.Header}, answer
}

// response is what these tests look at.
type response struct {
	StatusCode int
	Header     http.Header
}

func values(pairs ...string) url.Values {
	all := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] == "-" {
			all.Del(pairs[i])
		} else {
			all.Set(pairs[i], pairs[i+1])
		}
	}
	return all
}

const verifier = "verifier-verifier-verifier-verifier-verifier-0"

// authorize asks for a code, with the request changed: a value "-" removes.
func (b *bench) authorize(changes ...string) (status int, location url.Values, target string) {
	b.Helper()
	query := values(append([]string{
		"response_type", "code", "client_id", "cli", "redirect_uri", callback, "state", "a b&c", "resource", resource,
		"code_challenge", oauth2.S256ChallengeFromVerifier(verifier), "code_challenge_method", "S256",
	}, changes...)...)
	response, _ := b.do(http.MethodGet, b.server.Issuer()+"/authorize?"+query.Encode(), nil)
	parsed, err := url.Parse(response.Header.Get("Location"))
	if err != nil {
		b.Fatal(err)
	}
	target, _, _ = strings.Cut(parsed.String(), "?")
	return response.StatusCode, parsed.Query(), target
}

// redeem asks for a token with a code.
func (b *bench) redeem(code string, changes ...string) (int, map[string]any) {
	b.Helper()
	response, answer := b.do(http.MethodPost, b.server.Issuer()+"/token", values(append([]string{
		"grant_type", "authorization_code", "code", code, "client_id", "cli", "redirect_uri", callback,
		"code_verifier", verifier, "resource", resource,
	}, changes...)...))
	return response.StatusCode, answer
}

func (b *bench) refresh(token string, changes ...string) (int, map[string]any) {
	b.Helper()
	response, answer := b.do(http.MethodPost, b.server.Issuer()+"/token", values(append([]string{
		"grant_type", "refresh_token", "refresh_token", token, "client_id", "cli",
	}, changes...)...))
	return response.StatusCode, answer
}

func text(value any) string {
	text, _ := value.(string)
	return text
}

func TestMetadata(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"", "/tenant1"} {
		b := start(t, authserver.Options{Issuer: path, RSA: true})
		places, err := oauth.IssuerPlaces(b.server.Issuer())
		if err != nil {
			t.Fatal(err)
		}
		for _, place := range places {
			response, found := b.do(http.MethodGet, place, nil)
			if response.StatusCode != http.StatusOK || found["issuer"] != b.server.Issuer() ||
				found["authorization_response_iss_parameter_supported"] != true || found["code_challenge_methods_supported"] == nil {
				t.Errorf("%s: %d, %v", place, response.StatusCode, found)
			}
		}
		if _, keys := b.do(http.MethodGet, b.server.Issuer()+"/jwks", nil); len(keys["keys"].([]any)) != 2 {
			t.Errorf("keys: %v", keys)
		}
	}
}

// TestFlow goes the whole way, and looks at the token with other code than made it.
func TestFlow(t *testing.T) {
	t.Parallel()
	b := start(t, authserver.Options{Seed: "x"})

	status, location, target := b.authorize("scope", "mcpconform:read unknown")
	if status != http.StatusFound || target != callback || location.Get("state") != "a b&c" || location.Get("iss") != b.server.Issuer() {
		t.Fatalf("%d, %s, %v", status, target, location)
	}
	status, answer := b.redeem(location.Get("code"))
	if status != http.StatusOK || answer["token_type"] != "Bearer" || answer["scope"] != "mcpconform:read" {
		t.Fatalf("%d, %v", status, answer)
	}
	signed, err := jose.ParseSignedCompact(text(answer["access_token"]), []jose.SignatureAlgorithm{jose.ES256})
	if err != nil {
		t.Fatal(err)
	}
	key, err := json.Marshal(b.server.Key().JWK())
	if err != nil {
		t.Fatal(err)
	}
	var jwk jose.JSONWebKey
	if err := json.Unmarshal(key, &jwk); err != nil {
		t.Fatal(err)
	}
	payload, err := signed.Verify(jwk)
	if err != nil || !strings.Contains(string(payload), `"aud":"`+resource+`"`) {
		t.Errorf("%s, %v", payload, err)
	}
	for token, active := range map[string]bool{text(answer["access_token"]): true, "garbage": false} {
		if _, found := b.do(http.MethodPost, b.server.Issuer()+"/introspect", values("token", token)); found["active"] != active {
			t.Errorf("introspection of %q: %v", token, found)
		}
	}
	b.server.Revoke(text(answer["access_token"]))
	if _, found := b.do(http.MethodPost, b.server.Issuer()+"/introspect", values("token", text(answer["access_token"]))); found["active"] != false {
		t.Errorf("introspection of what was revoked: %v", found)
	}
}

func TestOpaque(t *testing.T) {
	t.Parallel()
	b := start(t, authserver.Options{Opaque: true})
	_, location, _ := b.authorize()
	_, answer := b.redeem(location.Get("code"))
	_, found := b.do(http.MethodPost, b.server.Issuer()+"/introspect", values("token", text(answer["access_token"])))
	if strings.Contains(text(answer["access_token"]), ".") || found["active"] != true || found["aud"] != resource {
		t.Errorf("%v, %v", answer, found)
	}
}

func TestRegistration(t *testing.T) {
	t.Parallel()
	b := start(t, authserver.Options{})
	register := func(metadata string) (int, map[string]any) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, b.server.Issuer()+"/register", strings.NewReader(metadata))
		if err != nil {
			t.Fatal(err)
		}
		response, err := b.http.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = response.Body.Close() }() // it was read
		var answer map[string]any
		if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
			t.Fatal(err)
		}
		return response.StatusCode, answer
	}
	if status, answer := register(`{"redirect_uris":["` + callback + `"],"token_endpoint_auth_method":"none"}`); status != http.StatusCreated ||
		answer["client_id"] == nil || answer["client_secret"] != nil {
		t.Errorf("public: %d, %v", status, answer)
	}
	status, answer := register(`{"redirect_uris":["https://app.example/cb"],"grant_types":["authorization_code","refresh_token"]}`)
	if status != http.StatusCreated || answer["client_secret"] == nil {
		t.Errorf("confidential: %d, %v", status, answer)
	}
	for _, bad := range []string{
		`{}`, `nonsense`, `{"redirect_uris":["http://evil.example/cb"]}`, `{"redirect_uris":["javascript:alert(1)"]}`,
		`{"redirect_uris":["https://a/b#c"]}`, `{"redirect_uris":["https://a/b"],"token_endpoint_auth_method":"tls"}`,
	} {
		if status, answer := register(bad); status != http.StatusBadRequest || answer["error"] == nil {
			t.Errorf("%s: %d, %v", bad, status, answer)
		}
	}
}

// TestDefects: what a good server refuses, the one with the defect does not, or says
// otherwise; no other defect does.
func TestDefects(t *testing.T) {
	t.Parallel()
	probes := map[string]func(b *bench) (good bool){
		"redirects-to-prefixes": func(b *bench) bool {
			_, longer, _ := b.authorize("redirect_uri", callback+"/evil")
			_, other, _ := b.authorize("redirect_uri", "https://evil.example/cb")
			return !longer.Has("code") || other.Has("code")
		},
		"redirects-anywhere": func(b *bench) bool {
			_, location, _ := b.authorize("redirect_uri", "https://evil.example/cb")
			return !location.Has("code")
		},
		"redirects-errors-anywhere": func(b *bench) bool {
			status, _, _ := b.authorize("client_id", "nobody", "redirect_uri", "https://evil.example/cb")
			return status == http.StatusBadRequest
		},
		"redeems-codes-twice": func(b *bench) bool {
			_, location, _ := b.authorize()
			b.redeem(location.Get("code"))
			status, answer := b.redeem(location.Get("code"))
			return status == http.StatusBadRequest && answer["error"] == "invalid_grant"
		},
		"does-not-enforce-pkce": func(b *bench) bool {
			_, location, _ := b.authorize()
			status, _ := b.redeem(location.Get("code"), "code_verifier", verifier+"x")
			return status == http.StatusBadRequest
		},
		"takes-no-verifier": func(b *bench) bool {
			_, location, _ := b.authorize()
			none, _ := b.redeem(location.Get("code"), "code_verifier", "-")
			_, location, _ = b.authorize()
			wrong, _ := b.redeem(location.Get("code"), "code_verifier", verifier+"x")
			return none == http.StatusBadRequest || wrong != http.StatusBadRequest
		},
		"does-not-rotate": func(b *bench) bool {
			_, location, _ := b.authorize()
			_, first := b.redeem(location.Get("code"))
			_, second := b.refresh(text(first["refresh_token"]))
			return second["refresh_token"] != first["refresh_token"]
		},
		"takes-rotated-tokens": func(b *bench) bool {
			_, location, _ := b.authorize()
			_, first := b.redeem(location.Get("code"))
			_, second := b.refresh(text(first["refresh_token"]))
			if second["refresh_token"] == first["refresh_token"] {
				return true // it was not rotated
			}
			status, _ := b.refresh(text(first["refresh_token"]))
			family, _ := b.refresh(text(second["refresh_token"]))
			return status == http.StatusBadRequest && family == http.StatusBadRequest && second["access_token"] != nil
		},
		"redeems-for-other-clients": func(b *bench) bool {
			b.server.Add("other", "", callback)
			_, location, _ := b.authorize()
			status, _ := b.redeem(location.Get("code"), "client_id", "other")
			_, location, _ = b.authorize()
			_, answer := b.redeem(location.Get("code"))
			refreshed, _ := b.refresh(text(answer["refresh_token"]), "client_id", "other")
			return status == http.StatusBadRequest && refreshed == http.StatusBadRequest
		},
		"widens-scopes": func(b *bench) bool {
			_, location, _ := b.authorize("scope", "mcpconform:read")
			_, answer := b.redeem(location.Get("code"))
			status, _ := b.refresh(text(answer["refresh_token"]), "scope", "mcpconform:write")
			return status == http.StatusBadRequest
		},
		"cuts-states": func(b *bench) bool {
			state := strings.Repeat("s", 200)
			_, location, _ := b.authorize("state", state)
			return location.Get("state") == state
		},
		"does-not-cache-documents": func(b *bench) bool {
			b.authorize("client_id", document)
			b.authorize("client_id", document)
			return b.fetched.Load() == 1
		},
		"takes-documents-without-a-name": func(b *bench) bool {
			_, location, _ := b.authorize("client_id", document+"?nameless")
			return !location.Has("code")
		},
		"redirects-beside-documents": func(b *bench) bool {
			_, location, _ := b.authorize("client_id", document, "redirect_uri", "https://evil.example/cb")
			_, registered, _ := b.authorize("redirect_uri", "https://evil.example/cb")
			return !location.Has("code") || registered.Has("code")
		},
		"fetches-from-anywhere": func(b *bench) bool {
			decoy, err := (&net.ListenConfig{}).Listen(b.Context(), "tcp", "127.0.0.1:0")
			if err != nil {
				b.Fatal(err)
			}
			came := make(chan string, 2)
			go func() {
				for range 2 {
					connection, err := decoy.Accept()
					if err != nil {
						return
					}
					_ = connection.Close() // only the connection counts
					came <- connection.RemoteAddr().String()
				}
			}()
			b.authorize("client_id", "https://"+decoy.Addr().String()+"/client.json")
			barrier, err := (&net.Dialer{}).DialContext(b.Context(), "tcp", decoy.Addr().String())
			if err != nil {
				b.Fatal(err)
			}
			first := <-came
			_, _ = barrier.Close(), decoy.Close()
			return first == barrier.LocalAddr().String()
		},
		"registers-any-redirect-uri": func(b *bench) bool {
			body := strings.NewReader(`{"redirect_uris":["http://evil.example/cb"]}`)
			answer, err := b.http.Post(b.server.Issuer()+"/register", "application/json", body)
			if err != nil {
				b.Fatal(err)
			}
			_ = answer.Body.Close()
			return answer.StatusCode == http.StatusBadRequest
		},
		"does-not-advertise-iss": func(b *bench) bool {
			_, found := b.do(http.MethodGet, b.server.Issuer()+oauth.ServerPath, nil)
			return found["authorization_response_iss_parameter_supported"] == true
		},
		"does-not-advertise-s256": func(b *bench) bool {
			_, found := b.do(http.MethodGet, b.server.Issuer()+oauth.OpenIDPath, nil)
			return found["code_challenge_methods_supported"] != nil
		},
		"names-another-issuer": func(b *bench) bool {
			_, found := b.do(http.MethodGet, b.server.Issuer()+oauth.ServerPath, nil)
			return found["issuer"] == b.server.Issuer()
		},
		"answers-issuer-of-another": func(b *bench) bool {
			_, location, _ := b.authorize("response_type", "token")
			return location.Get("error") != "" && !strings.Contains(location.Get("iss"), "another")
		},
		"sends-no-iss": func(b *bench) bool {
			_, location, _ := b.authorize()
			return location.Has("iss")
		},
		"does-not-compare-documents": func(b *bench) bool {
			_, location, _ := b.authorize("client_id", document+"?other")
			return !location.Has("code")
		},
		"does-not-authenticate": func(b *bench) bool {
			_, location, _ := b.authorize("client_id", "web")
			status, answer := b.redeem(location.Get("code"), "client_id", "web", "client_secret", "wrong")
			return status == http.StatusUnauthorized && answer["error"] == "invalid_client"
		},
		"issues-for-other-resources": func(b *bench) bool {
			_, location, _ := b.authorize()
			status, answer := b.redeem(location.Get("code"), "resource", "https://other.example/mcp")
			return status == http.StatusBadRequest && answer["error"] == "invalid_target"
		},
	}
	fetch := func(fetched *atomic.Int64) func(_ context.Context, address string) (authserver.Document, error) {
		return func(_ context.Context, address string) (authserver.Document, error) {
			if !strings.HasPrefix(address, document) {
				return authserver.Document{}, errors.New("not found")
			}
			fetched.Add(1)
			name := `"client_name":"a",`
			if strings.HasSuffix(address, "?nameless") {
				name = ""
			}
			id := strings.TrimSuffix(address, "?other")
			text := `{"client_id":"` + id + `",` + name + `"redirect_uris":["` + callback + `"]}`
			return authserver.Document{Text: []byte(text), Fresh: time.Now().Add(time.Hour)}, nil
		}
	}
	for _, defect := range append([]string{""}, authserver.Defects()...) {
		t.Run(defect, func(t *testing.T) {
			t.Parallel()
			if defect != "" && probes[defect] == nil {
				t.Fatal("nothing shows this defect")
			}
			for shows, probe := range probes {
				var fetched atomic.Int64
				b := start(t, authserver.Options{Defect: defect, Fetch: fetch(&fetched)})
				b.fetched = &fetched
				if good := probe(b); good != (shows != defect) {
					t.Errorf("%s shows %v", shows, good)
				}
			}
		})
	}
	if _, err := authserver.New(authserver.Options{Issuer: "https://a", Defect: "unknown"}); err == nil {
		t.Error("takes an unknown defect")
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	b := start(t, authserver.Options{Fetch: func(context.Context, string) (authserver.Document, error) {
		return authserver.Document{Text: []byte("<html>")}, nil
	}})
	for name, change := range map[string][]string{
		"no challenge": {"code_challenge", "-"}, "plain": {"code_challenge_method", "plain"},
		"fragment": {"resource", "https://a/b#c"}, "implicit": {"response_type", "token"},
	} {
		if status, location, _ := b.authorize(change...); status != http.StatusFound || location.Get("error") == "" || location.Get("code") != "" {
			t.Errorf("%s: %d, %v", name, status, location)
		}
	}
	for name, change := range map[string][]string{
		"http document": {"client_id", "http://client.example/c.json"}, "no path": {"client_id", "https://client.example"},
		"not JSON": {"client_id", document},
	} {
		if status, _, target := b.authorize(change...); status != http.StatusBadRequest || target != "" {
			t.Errorf("%s: %d, %s", name, status, target)
		}
	}
	if status, _, target := b.authorize("redirect_uri", "http://127.0.0.1:4711/callback"); status != http.StatusFound || !strings.Contains(target, "4711") {
		t.Errorf("another loopback port: %d, %s", status, target)
	}
	_, location, _ := b.authorize("client_id", "web")
	response, answer := b.do(http.MethodPost, b.server.Issuer()+"/token", values("grant_type", "authorization_code",
		"code", location.Get("code"), "code_verifier", verifier), "web", "s: cret")
	if response.StatusCode != http.StatusOK {
		t.Errorf("basic: %d, %v", response.StatusCode, answer)
	}
	if status, _ := b.refresh(text(answer["refresh_token"])); status != http.StatusBadRequest {
		t.Errorf("a refresh token of another client: %d", status)
	}
	if status, _ := b.redeem("x", "grant_type", "password"); status != http.StatusBadRequest {
		t.Errorf("password: %d", status)
	}
}
