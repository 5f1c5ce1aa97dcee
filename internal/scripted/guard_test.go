package scripted_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"golang.org/x/oauth2"

	"github.com/mcpconform/mcpconform/internal/oauth"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// guarded is a scripted server that asks for authorization, and what is recorded of that.
type guarded struct {
	t     *testing.T
	guard *scripted.Guard
	url   string
	log   *transcript.Log
}

func newGuarded(t *testing.T, twist func(*scripted.Guard)) *guarded {
	t.Helper()
	log := transcript.NewLog("authorization")
	server := scripted.NewServer(scripted.ServerOptions{
		Revision: "2025-11-25", Reply: patient,
		Log:           func() *transcript.Log { return transcript.NewLog("session") },
		Authorization: func() *transcript.Log { return log },
	})
	guard := server.Protect()
	if twist != nil {
		twist(guard)
	}
	listening := httptest.NewServer(server)
	t.Cleanup(func() {
		server.Close()
		listening.Close()
	})
	return &guarded{t: t, guard: guard, url: listening.URL, log: log}
}

// do carries out a request, and follows no redirect.
func (g *guarded) do(method, address, body string, header ...string) (answer, string) {
	g.t.Helper()
	request, err := http.NewRequestWithContext(g.t.Context(), method, address, strings.NewReader(body))
	if err != nil {
		g.t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		g.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, _ := io.ReadAll(response.Body)
	return answer{response.StatusCode, response.Header}, string(text)
}

// answer is what came of a request, beside the body.
type answer struct {
	status int
	header http.Header
}

// document gets a JSON object.
func (g *guarded) document(address string) map[string]any {
	g.t.Helper()
	response, text := g.do(http.MethodGet, address, "")
	var object map[string]any
	if err := json.Unmarshal([]byte(text), &object); response.status != http.StatusOK || err != nil {
		g.t.Fatalf("%s brings %d, %s", address, response.status, text)
	}
	return object
}

// enter sends a call with a token, and returns the status and the challenge.
func (g *guarded) enter(token string) (int, oauth.Challenge) {
	g.t.Helper()
	header := []string{"Content-Type", "application/json", "Accept", "application/json, text/event-stream"}
	if token != "" {
		header = append(header, "Authorization", "bearer "+token)
	}
	response, _ := g.do(http.MethodPost, g.url+scripted.Endpoint, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, header...)
	challenge, _, _ := oauth.Bearer(response.header)
	return response.status, challenge
}

// authorize goes through the flow and returns what the token endpoint answers.
func (g *guarded) authorize(scope string) map[string]any {
	g.t.Helper()
	metadata := g.document(g.guard.Issuer().Origin + oauth.ServerPath)
	_, text := g.do(http.MethodPost, metadata["registration_endpoint"].(string), `{"redirect_uris":["http://localhost:3000/callback"]}`,
		"Content-Type", "application/json")
	if !strings.Contains(text, `"client_id":"client-1-of-issuer-1"`) {
		g.t.Fatalf("registered as %s", text)
	}
	verifier := oauth2.GenerateVerifier()
	login, _ := g.do(http.MethodGet, metadata["authorization_endpoint"].(string)+"?"+url.Values{
		"client_id": {scripted.ClientID(1, 1)}, "redirect_uri": {"http://localhost:3000/callback?a=b"}, "state": {"s"},
		"code_challenge": {oauth2.S256ChallengeFromVerifier(verifier)}, "code_challenge_method": {"S256"}, "scope": {scope},
	}.Encode(), "")
	back, err := url.Parse(login.header.Get("Location"))
	if err != nil || login.status != http.StatusFound || back.Query().Get("state") != "s" || back.Query().Get("a") != "b" {
		g.t.Fatalf("the login brings %d, to %s", login.status, back)
	}
	return g.redeem(url.Values{
		"grant_type": {"authorization_code"}, "code": {back.Query().Get("code")}, "code_verifier": {verifier},
	})
}

func (g *guarded) redeem(form url.Values) map[string]any {
	g.t.Helper()
	endpoint, _ := g.guard.Issuer().Metadata["token_endpoint"].(string)
	_, text := g.do(http.MethodPost, endpoint, form.Encode(), "Content-Type", "application/x-www-form-urlencoded")
	var answer map[string]any
	if err := json.Unmarshal([]byte(text), &answer); err != nil {
		g.t.Fatal(text)
	}
	return answer
}

func TestGuard(t *testing.T) {
	t.Parallel()
	g := newGuarded(t, func(g *scripted.Guard) {
		g.OnRequest = func(a *scripted.Admission) {
			if a.Nth > 3 {
				a.Needs = []string{"mcp:write"}
			}
		}
	})

	status, challenge := g.enter("")
	named, _ := challenge.Get("resource_metadata")
	if _, erred := challenge.Get("error"); status != http.StatusUnauthorized || erred || named != g.url+oauth.ResourcePath+scripted.Endpoint {
		t.Errorf("without a token %d, %s", status, challenge)
	}
	metadata := g.document(named)
	if metadata["resource"] != g.url+scripted.Endpoint || metadata["authorization_servers"].([]any)[0] != g.guard.Issuer().Issuer {
		t.Errorf("the metadata is %v", metadata)
	}
	answer := g.authorize("mcp:basic")
	token, _ := answer["access_token"].(string)
	if status, _ := g.enter(token); status != http.StatusOK {
		t.Errorf("with a token %d", status)
	}
	if status, challenge := g.enter("mcpconform.access-token-1.issuer-1.AAAAAAAAAAAAAAAAAAAAAAAAAA"); status != http.StatusUnauthorized || !strings.Contains(challenge.String(), "invalid_token") {
		t.Errorf("with a token that was not issued %d, %s", status, challenge)
	}
	if status, challenge := g.enter(token); status != http.StatusForbidden || !strings.Contains(challenge.String(), `scope="mcp:write", error="insufficient_scope"`) {
		t.Errorf("with too few scopes %d, %s", status, challenge)
	}
	g.guard.Issuer().Tokens()[0].Expire()
	if status, _ := g.enter(token); status != http.StatusUnauthorized {
		t.Errorf("with a token that has expired %d", status)
	}
	refresh, _ := answer["refresh_token"].(string)
	form := url.Values{"grant_type": {"refresh_token"}, "refresh_token": {refresh}}
	if renewed := g.redeem(form); renewed["access_token"] == token || renewed["refresh_token"] == refresh {
		t.Errorf("refreshed to %v", renewed)
	}
	if again := g.redeem(form); again["error"] != "invalid_grant" {
		t.Errorf("refreshed again to %v", again)
	}
	g.guard.Trust(g.guard.NewIssuer(""))
	if named := g.document(named)["authorization_servers"].([]any); named[0] != g.guard.Issuers[1].Issuer {
		t.Errorf("the metadata names %v", named)
	}
}

// What comes about authorization is recorded apart, by who said it, and read as visits.
func TestVisits(t *testing.T) {
	t.Parallel()
	g := newGuarded(t, nil)
	token, _ := g.authorize("")["access_token"].(string)
	g.enter(token) // which is let in, and no visit
	g.enter("")
	decoy := g.guard.Decoy()
	g.do(http.MethodGet, decoy+"/x", "", "Authorization", "Bearer "+token)
	g.guard.Opened([]string{"--new", "http://localhost"})

	visits := scripted.ReadVisits(g.log.Events())

	var places []scripted.Place
	for _, v := range visits {
		places = append(places, v.Place)
	}
	want := []scripted.Place{
		scripted.AtServerMetadata, scripted.AtRegister, scripted.AtAuthorize, scripted.AtToken, scripted.AtEndpoint,
		scripted.AtDecoy, scripted.AtOpening,
	}
	if len(places) != len(want) {
		t.Fatalf("visits %v, wanted %v", places, want)
	}
	for i := range want {
		if places[i] != want[i] {
			t.Errorf("visit %d is %s, wanted %s", i, places[i], want[i])
		}
	}
	registration, redeemed, refused, lured, opened := visits[1], visits[3], visits[4], visits[5], visits[6]
	if registration.Status != http.StatusCreated || registration.JSON["redirect_uris"] == nil || registration.Issuer != 1 {
		t.Errorf("the registration is read as %+v", registration)
	}
	if redeemed.Form.Get("grant_type") != "authorization_code" || redeemed.Reply["access_token"] != token || len(redeemed.Secrets()) != 1 {
		t.Errorf("the token request is read as %+v", redeemed)
	}
	if refused.Status != http.StatusUnauthorized || refused.Issuer != 0 || refused.Token() != "" {
		t.Errorf("the refusal is read as %+v", refused)
	}
	if lured.Token() != token || lured.Secrets()[0].Kind != oauth.IssuedAccessToken {
		t.Errorf("the lure is read as %+v", lured)
	}
	if got := opened.Arguments(); len(got) != 2 || got[0] != "--new" || opened.Event.From != protocol.Browser {
		t.Errorf("the opening is read as %+v", opened)
	}
	if redeemed.Event.From != protocol.Client || !redeemed.Event.At.Before(time.Now()) {
		t.Errorf("the token request is of %s", redeemed.Event.From)
	}
}

// A client that asks without end is cut off, and the record stays small.
func TestAFloodOfVisits(t *testing.T) {
	t.Parallel()
	g := newGuarded(t, nil)
	for range 500 {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, g.url+"/anything", nil)
		if err != nil {
			t.Fatal(err)
		}
		if response, err := http.DefaultTransport.RoundTrip(request); err == nil {
			_ = response.Body.Close()
		}
	}
	if visits := scripted.ReadVisits(g.log.Events()); len(visits) != 400 {
		t.Errorf("%d visits are recorded", len(visits))
	}
}
