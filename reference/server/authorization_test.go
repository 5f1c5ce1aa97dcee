package server_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/mcpconform/mcpconform/internal/oauth"
	"github.com/mcpconform/mcpconform/internal/tokens"
	"github.com/mcpconform/mcpconform/reference/authserver"
	"github.com/mcpconform/mcpconform/reference/server"
)

// protected is a reference server with authorization, and tokens for it.
type protected struct {
	*testing.T
	url    string
	tokens map[oauth.Kind]string
}

var guarded = []string{"read", "write", "delete"}

func startProtected(t *testing.T, defect string) *protected {
	t.Helper()
	mux := http.NewServeMux()
	front := httptest.NewServer(mux)
	t.Cleanup(front.Close)
	issuer, err := authserver.New(authserver.Options{Issuer: front.URL, RSA: defect == "", Scopes: guarded})
	if err != nil {
		t.Fatal(err)
	}
	mux.Handle("/", issuer.Handler())
	reference, err := server.New(server.Options{Defect: defect, Authorization: &server.Authorization{
		Issuer: front.URL, Scope: "read", Needs: map[string][]string{"test_error_handling": {"write", "delete"}},
		Implies: map[string][]string{"admin": {"write", "delete"}}, Client: front.Client(),
	}})
	if err != nil {
		t.Fatal(err)
	}
	target := httptest.NewServer(reference.Handler())
	t.Cleanup(func() {
		reference.Close()
		target.Close()
	})
	url := "http://localhost:" + target.URL[strings.LastIndexByte(target.URL, ':')+1:] + "/mcp"
	minted, err := tokens.Mint(issuer, tokens.Order{
		Resource: url, Scopes: append(slices.Clone(guarded), "admin"), Limited: []string{"read"}, Needs: guarded,
		Broader: []string{"read", "admin"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return &protected{t, url, minted}
}

// send makes a request with a token; "" for none.
func (p *protected) send(method, address, token, body string, headers ...string) response {
	p.Helper()
	request, err := http.NewRequestWithContext(p.Context(), method, address, strings.NewReader(body))
	if err != nil {
		p.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, text/event-stream")
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	answer, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: (&net.Dialer{}).DialContext}}).Do(request)
	if err != nil {
		p.Fatal(err)
	}
	_ = answer.Body.Close()
	return response{answer.StatusCode, answer.Header}
}

// response is what these tests look at.
type response struct {
	StatusCode int
	Header     http.Header
}

const initializing = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"a","version":"1"}}}`

func (p *protected) enters(kind oauth.Kind) int {
	return p.send(http.MethodPost, p.url, p.tokens[kind], initializing).StatusCode
}

// calls a tool that needs more than others, in a session of the token.
func (p *protected) calls(kind oauth.Kind) response {
	session := p.send(http.MethodPost, p.url, p.tokens[kind], initializing).Header.Get("Mcp-Session-Id")
	return p.send(http.MethodPost, p.url, p.tokens[kind],
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"test_error_handling","arguments":{}}}`, "Mcp-Session-Id", session)
}

func (p *protected) challenged(response response, name string) string {
	p.Helper()
	challenge, _, flaws := oauth.Bearer(response.Header)
	if len(flaws) > 0 {
		p.Errorf("flaws of the challenge: %q", flaws)
	}
	value, _ := challenge.Get(name)
	return value
}

var (
	taken = []oauth.Kind{
		oauth.Good, oauth.ManyAudiences, oauth.CapitalAudience, oauth.Opaque, oauth.SignedByRSA, oauth.UnknownClaims,
		oauth.Rotated, oauth.Limited, oauth.Full, oauth.Broader, oauth.OtherUser, oauth.JustExpired, oauth.IssuedLater,
	}
	unscoped = []oauth.Kind{oauth.NoScope}
)

func TestAuthorization(t *testing.T) {
	t.Parallel()
	p := startProtected(t, "")

	without := p.send(http.MethodPost, p.url, "", initializing)
	if without.StatusCode != http.StatusUnauthorized || p.challenged(without, "error") != "" || p.challenged(without, "scope") != "read" {
		t.Errorf("without a token: %d, %v", without.StatusCode, without.Header)
	}
	metadata := p.send(http.MethodGet, p.challenged(without, "resource_metadata"), "", "")
	if metadata.StatusCode != http.StatusOK || metadata.Header.Get("Content-Type") != "application/json" {
		t.Errorf("metadata: %d, %v", metadata.StatusCode, metadata.Header)
	}
	for _, kind := range oauth.Kinds() {
		want := http.StatusUnauthorized
		switch {
		case slices.Contains(taken, kind):
			want = http.StatusOK
		case slices.Contains(unscoped, kind):
			want = http.StatusForbidden
		}
		if status := p.enters(kind); status != want {
			t.Errorf("%s: %d, want %d", kind.Says(), status, want)
		}
	}
	refused := p.calls(oauth.Limited)
	if refused.StatusCode != http.StatusForbidden || p.challenged(refused, "error") != "insufficient_scope" ||
		p.challenged(refused, "scope") != "read write delete" || p.challenged(refused, "resource_metadata") == "" {
		t.Errorf("a tool that needs more: %d, %v", refused.StatusCode, refused.Header)
	}
	for _, kind := range []oauth.Kind{oauth.Full, oauth.Broader} {
		if status := p.calls(kind).StatusCode; status != http.StatusOK {
			t.Errorf("a tool that needs more, with %s: %d", kind.Says(), status)
		}
	}
	session := p.send(http.MethodPost, p.url, p.tokens[oauth.Good], initializing).Header.Get("Mcp-Session-Id")
	for token, want := range map[string]int{
		"": http.StatusUnauthorized, p.tokens[oauth.OtherUser]: http.StatusNotFound, p.tokens[oauth.Rotated]: http.StatusOK,
	} {
		if status := p.send(http.MethodPost, p.url, token, `{"jsonrpc":"2.0","id":3,"method":"ping"}`, "Mcp-Session-Id", session).StatusCode; status != want {
			t.Errorf("in a session with another token: %d, want %d", status, want)
		}
	}
	if status := p.send(http.MethodPost, p.url+"?access_token="+p.tokens[oauth.Good], "", initializing).StatusCode; status != http.StatusUnauthorized {
		t.Errorf("a token in the query: %d", status)
	}
	if status := p.send(http.MethodPost, p.url, "", initializing, "Authorization", "bEaReR  "+p.tokens[oauth.Good]).StatusCode; status != http.StatusOK {
		t.Errorf("the scheme in another case: %d", status)
	}
}

// TestAuthorizationDefects: each defect lets in what a good server does not, or the
// other way round.
func TestAuthorizationDefects(t *testing.T) {
	t.Parallel()
	shown := map[string]func(p *protected) (good bool){}
	takes := func(defect string, kind oauth.Kind) {
		shown[defect] = func(p *protected) bool { return p.enters(kind) == http.StatusUnauthorized }
	}
	takes("accepts-any-audience", oauth.OtherAudience)
	takes("accepts-audience-prefixes", oauth.LongerAudience)
	takes("accepts-audience-lists", oauth.OtherAudiences)
	takes("accepts-no-audience", oauth.NoAudience)
	takes("accepts-any-issuer", oauth.OtherIssuer)
	takes("accepts-any-signature", oauth.WrongSignature)
	takes("accepts-unsigned-tokens", oauth.Unsigned)
	takes("confuses-algorithms", oauth.ConfusedAlgorithm)
	takes("accepts-keys-of-the-token", oauth.OwnKey)
	takes("accepts-expired-tokens", oauth.Expired)
	takes("accepts-opaque-tokens", oauth.Revoked)
	takes("accepts-early-tokens", oauth.NotYet)
	shown["accepts-capitals-not-in-audiences"] = func(p *protected) bool { return p.enters(oauth.CapitalAudience) == http.StatusOK }
	shown["accepts-tokens-in-the-query"] = func(p *protected) bool {
		return p.send(http.MethodPost, p.url+"?access_token="+p.tokens[oauth.Good], "", initializing).StatusCode == http.StatusUnauthorized
	}
	shown["compares-the-scheme"] = func(p *protected) bool {
		return p.send(http.MethodPost, p.url, "", initializing, "Authorization", "bearer "+p.tokens[oauth.Good]).StatusCode == http.StatusOK
	}
	inSession := func(token oauth.Kind, method string) func(p *protected) bool {
		return func(p *protected) bool {
			session := p.send(http.MethodPost, p.url, p.tokens[oauth.Good], initializing).Header.Get("Mcp-Session-Id")
			status := p.send(method, p.url, p.tokens[token], `{"jsonrpc":"2.0","id":3,"method":"ping"}`,
				"Mcp-Session-Id", session, "Last-Event-Id", "nonsense").StatusCode
			return status == http.StatusUnauthorized || status == http.StatusNotFound
		}
	}
	shown["lets-sessions-in"] = inSession("", http.MethodPost)
	shown["lets-streams-in"] = inSession("", http.MethodGet)
	shown["shares-sessions"] = inSession(oauth.OtherUser, http.MethodPost)
	shown["ignores-scopes"] = func(p *protected) bool { return p.calls(oauth.Limited).StatusCode == http.StatusForbidden }
	shown["ignores-broader-scopes"] = func(p *protected) bool { return p.calls(oauth.Broader).StatusCode == http.StatusOK }
	named := func(p *protected) string { return p.challenged(p.calls(oauth.Limited), "scope") }
	shown["names-one-scope-at-a-time"] = func(p *protected) bool { return named(p) == "read write delete" }
	shown["names-no-missing-scopes"] = func(p *protected) bool { return named(p) == "read write delete" }
	shown["names-scopes-by-chance"] = func(p *protected) bool {
		first, second := named(p), named(p)
		return first == second
	}
	good := startProtected(t, "")
	for defect, show := range shown {
		t.Run(defect, func(t *testing.T) {
			t.Parallel()
			if !slices.Contains(server.Defects(), defect) {
				t.Error("there is no such defect")
			}
			if show(startProtected(t, defect)) {
				t.Error("does not show")
			}
			if defect != "names-scopes-by-chance" && !show(good) {
				t.Error("a good server shows it")
			}
		})
	}
}
