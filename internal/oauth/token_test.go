package oauth_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/go-jose/go-jose/v4"

	"github.com/mcpconform/mcpconform/internal/oauth"
)

func newKey(t *testing.T, alg string) *oauth.Key {
	t.Helper()
	key, err := oauth.NewKey("k-"+alg, alg)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// verify checks a signature by other code than that which made it.
func verify(t *testing.T, key *oauth.Key, token string, algs ...jose.SignatureAlgorithm) (claims string, err error) {
	t.Helper()
	text, err := json.Marshal(key.JWK())
	if err != nil {
		t.Fatal(err)
	}
	var jwk jose.JSONWebKey
	if err := json.Unmarshal(text, &jwk); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	if !jwk.Valid() || !jwk.IsPublic() {
		t.Fatalf("%s: not a valid public key", text)
	}
	signed, err := jose.ParseSignedCompact(token, algs)
	if err != nil {
		return "", err
	}
	payload, err := signed.Verify(jwk)
	return string(payload), err
}

func TestSign(t *testing.T) {
	t.Parallel()
	for _, alg := range []string{oauth.ES256, oauth.RS256} {
		key := newKey(t, alg)

		token, err := key.Sign(map[string]any{"typ": "at+jwt"}, map[string]any{"iss": "a"})
		if err != nil {
			t.Fatal(err)
		}

		if claims, err := verify(t, key, token, jose.ES256, jose.RS256); err != nil || claims != `{"iss":"a"}` {
			t.Errorf("%s: %s, %v", alg, claims, err)
		}
		if _, err := verify(t, newKey(t, alg), token, jose.ES256, jose.RS256); err == nil {
			t.Errorf("%s: another key verifies it", alg)
		}
		if jwt, ok := oauth.Decode(token); !ok || jwt.Header["typ"] != "at+jwt" || jwt.Header["kid"] != key.ID || jwt.Header["alg"] != alg {
			t.Errorf("%s: header %v, %v", alg, jwt.Header, ok)
		}
	}
}

func TestKeyFromSeed(t *testing.T) {
	t.Parallel()
	first, err := oauth.KeyFromSeed("k", "seed")
	if err != nil {
		t.Fatal(err)
	}
	again, _ := oauth.KeyFromSeed("k", "seed")
	other, _ := oauth.KeyFromSeed("k", "other")
	if first.JWK()["x"] != again.JWK()["x"] || first.JWK()["x"] == other.JWK()["x"] {
		t.Error("the key does not depend on the seed alone")
	}
}

// TestForged: each of these is a token, and no verifier that names its algorithms takes it.
func TestForged(t *testing.T) {
	t.Parallel()
	key := newKey(t, oauth.ES256)
	unsigned, err := oauth.WithoutSignature(nil, map[string]any{"iss": "a"})
	if err != nil || !strings.HasSuffix(unsigned, ".") {
		t.Errorf("%q, %v", unsigned, err)
	}
	confused, err := oauth.HMAC(map[string]any{"kid": key.ID}, map[string]any{"iss": "a"}, key.PublicPEM())
	if err != nil {
		t.Fatal(err)
	}
	for _, token := range []string{unsigned, confused} {
		if jwt, ok := oauth.Decode(token); !ok || jwt.Claims["iss"] != "a" {
			t.Errorf("%s: cannot be taken apart", token)
		}
		if _, err := verify(t, key, token, jose.ES256); err == nil {
			t.Errorf("%s: verified", token)
		}
	}
	signed, err := jose.ParseSignedCompact(confused, []jose.SignatureAlgorithm{jose.HS256})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := signed.Verify(key.PublicPEM()); err != nil {
		t.Errorf("who confuses the algorithms does not take it: %v", err)
	}
}

func TestDecode(t *testing.T) {
	t.Parallel()
	for _, token := range []string{"", "opaque", "a.b", "a.b.c", "bnVsbA.e30.x", "e30.e30.x.y.z", strings.Repeat("a", 1<<17)} {
		if jwt, ok := oauth.Decode(token); ok {
			t.Errorf("%.20q: %v", token, jwt)
		}
	}
}

// FuzzDecode: what can be taken apart can be put together, and taken apart as the same.
func FuzzDecode(f *testing.F) {
	f.Add("eyJhbGciOiJub25lIn0.eyJpc3MiOiJhIn0.")
	f.Add("e30.e30.sig")
	f.Fuzz(func(t *testing.T, token string) {
		jwt, ok := oauth.Decode(token)
		if !ok {
			return
		}
		text, err := jwt.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if again, ok := oauth.Decode(text); len(text) < 1<<16 && (!ok || again.Signature != jwt.Signature) {
			t.Errorf("%q: %q", token, text)
		}
	})
}
