package oauth_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpconform/mcpconform/internal/oauth"
)

func TestResourcePlaces(t *testing.T) {
	t.Parallel()
	for resource, want := range map[string][]string{
		"https://a.example/public/mcp": {"https://a.example/.well-known/oauth-protected-resource/public/mcp", "https://a.example/.well-known/oauth-protected-resource"},
		"https://a.example/mcp/":       {"https://a.example/.well-known/oauth-protected-resource/mcp", "https://a.example/.well-known/oauth-protected-resource"},
		"http://localhost:1/m%2Fcp?q":  {"http://localhost:1/.well-known/oauth-protected-resource/m%2Fcp", "http://localhost:1/.well-known/oauth-protected-resource"},
		"https://a.example":            {"https://a.example/.well-known/oauth-protected-resource"},
		"https://a.example/":           {"https://a.example/.well-known/oauth-protected-resource"},
		"/mcp":                         nil,
		"mailto:a":                     nil,
	} {
		if found, _ := oauth.ResourcePlaces(resource); cmp.Diff(want, found) != "" {
			t.Errorf("%s: %s", resource, cmp.Diff(want, found))
		}
	}
}

func TestIssuerPlaces(t *testing.T) {
	t.Parallel()
	for issuer, want := range map[string][]string{
		"https://auth.example.com/tenant1": {
			"https://auth.example.com/.well-known/oauth-authorization-server/tenant1",
			"https://auth.example.com/.well-known/openid-configuration/tenant1",
			"https://auth.example.com/tenant1/.well-known/openid-configuration",
		},
		"https://auth.example.com/": {
			"https://auth.example.com/.well-known/oauth-authorization-server",
			"https://auth.example.com/.well-known/openid-configuration",
		},
		"auth.example.com": nil,
	} {
		if found, _ := oauth.IssuerPlaces(issuer); cmp.Diff(want, found) != "" {
			t.Errorf("%s: %s", issuer, cmp.Diff(want, found))
		}
	}
}

func TestCanonical(t *testing.T) {
	t.Parallel()
	for resource, want := range map[string]string{
		"HTTPS://MCP.Example.com/MCP":  "https://mcp.example.com/MCP",
		"https://mcp.example.com/":     "https://mcp.example.com",
		"https://mcp.example.com:8443": "https://mcp.example.com:8443",
		"https://mcp.example.com/a/":   "https://mcp.example.com/a/",
		"https://mcp.example.com/a#b":  "https://mcp.example.com/a",
		"mcp.example.com":              "",
	} {
		if found, _ := oauth.Canonical(resource); found != want {
			t.Errorf("%s: %q, want %q", resource, found, want)
		}
	}
	if !oauth.SameResource("http://LOCALHOST:1/", "http://localhost:1") || oauth.SameResource("x", "x") {
		t.Error("SameResource does not compare canonical forms")
	}
}

func TestFlaws(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ what, flaw, want string }{
		{"resource", oauth.ResourceFlaw("https://a/b?c"), ""},
		{"resource with fragment", oauth.ResourceFlaw("https://a/b#"), "has a fragment"},
		{"resource without scheme", oauth.ResourceFlaw("a.example/b"), "is not an absolute URL"},
		{"issuer", oauth.IssuerFlaw("https://a/b"), ""},
		{"issuer with query", oauth.IssuerFlaw("https://a/b?"), "has a query"},
		{"issuer with user", oauth.IssuerFlaw("https://u@a/b"), "has a user name"},
		{"scopes", oauth.ScopeFlaw("a b:c/d"), ""},
		{"scopes with two spaces", oauth.ScopeFlaw("a  b"), "expected scopes with one space between"},
		{"scopes with quotes", oauth.ScopeFlaw(`a"b`), `the scope "a\"b" has the character '"'`},
		{"no scope", oauth.ScopeFlaw(""), "expected scopes with one space between"},
		{"verifier", oauth.VerifierFlaw(strings.Repeat("a-._~Z9", 7)), ""},
		{"short verifier", oauth.VerifierFlaw("abc"), "has 3 characters, not 43 to 128"},
		{"padded verifier", oauth.VerifierFlaw(strings.Repeat("a", 43) + "="), "has the character '='"},
	} {
		if test.flaw != test.want {
			t.Errorf("%s: %q, want %q", test.what, test.flaw, test.want)
		}
	}
}

func TestInsecure(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]bool{
		"http://localhost:1/a": false, "http://LOCALHOST.": false, "http://127.1.2.3": false, "http://[::1]:2": false,
		"http://[::ffff:127.0.0.1]": false, "https://a.example": false, "http://a.example": true, "http://10.0.0.1": true,
		"http://localhost.evil.example": true,
	} {
		if oauth.Insecure(address) != want {
			t.Errorf("%s: want %v", address, want)
		}
	}
}

func TestSameOrigin(t *testing.T) {
	t.Parallel()
	if !oauth.SameOrigin("http://A:80/x", "HTTP://a/y") || oauth.SameOrigin("http://a", "https://a") ||
		oauth.SameOrigin("http://a:1", "http://a:2") {
		t.Error("SameOrigin does not compare scheme, host and port")
	}
}

// TestProvesChallenge uses the example of RFC 7636, appendix B.
func TestProvesChallenge(t *testing.T) {
	t.Parallel()
	const verifier, challenge = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk", "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
	if !oauth.ProvesChallenge(challenge, "S256", verifier) || oauth.ProvesChallenge(verifier, "S256", verifier) ||
		!oauth.ProvesChallenge(verifier, "", verifier) || oauth.ProvesChallenge(verifier, "other", verifier) {
		t.Error("ProvesChallenge does not go by the method")
	}
}

// FuzzPlaces: every place is an absolute URL at the origin of what it was made of, and the
// canonical form of a canonical form is itself.
func FuzzPlaces(f *testing.F) {
	for _, seed := range []string{"https://a.example/b/", "HTTP://A:1/%2F?x#y", "a", "https://[::1]/", "https://u@h//x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, address string) {
		resource, _ := oauth.ResourcePlaces(address)
		issuer, _ := oauth.IssuerPlaces(address)
		for _, place := range append(resource, issuer...) {
			if _, err := url.Parse(place); err != nil {
				continue // a host that only net/url takes once
			}
			if !oauth.SameOrigin(place, address) || !strings.Contains(place, "/.well-known/") {
				t.Errorf("%q: place %q", address, place)
			}
		}
		if canonical, err := oauth.Canonical(address); err == nil {
			if again, err := oauth.Canonical(canonical); err == nil && again != canonical {
				t.Errorf("%q: canonical %q, then %q", address, canonical, again)
			}
		}
	})
}
