package oauth_test

import (
	"crypto/x509"
	"encoding/pem"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/mcpconform/mcpconform/internal/oauth"
)

func TestAssertionFlaw(t *testing.T) {
	t.Parallel()
	key, now := newKey(t, oauth.ES256), time.Now()
	good := map[string]any{"iss": "c", "sub": "c", "aud": []string{"x", "https://as.example"}, "exp": now.Unix() + 60}
	for _, test := range []struct {
		changed map[string]any
		flaw    string
	}{
		{nil, ""},
		{map[string]any{"aud": "https://as.example/token"}, ""},
		{map[string]any{"exp": now.Unix() - 60}, ""}, // clocks differ
		{map[string]any{"exp": now.Unix() - 3600}, "expired"},
		{map[string]any{"exp": nil}, "without exp"},
		{map[string]any{"iss": "d"}, "iss"},
		{map[string]any{"sub": nil}, "sub"},
		{map[string]any{"aud": "https://rs.example"}, "aud"},
	} {
		claims := maps.Clone(good)
		maps.Copy(claims, test.changed)
		token, err := key.Sign(nil, claims)
		if err != nil {
			t.Fatal(err)
		}
		audiences := []string{"https://as.example", "https://as.example/token"}

		flaw := key.AssertionFlaw(token, "c", audiences, now)

		if test.flaw == "" && flaw != "" || !strings.Contains(flaw, test.flaw) {
			t.Errorf("%v: %q, wanted %q", test.changed, flaw, test.flaw)
		}
		if flaw := newKey(t, oauth.ES256).AssertionFlaw(token, "c", audiences, now); !strings.Contains(flaw, "not signed") {
			t.Errorf("another key: %q", flaw)
		}
	}
	if flaw := key.AssertionFlaw("opaque", "c", nil, now); !strings.Contains(flaw, "JWT") {
		t.Errorf("an opaque token: %q", flaw)
	}
}

func TestPrivatePEM(t *testing.T) {
	t.Parallel()
	key := newKey(t, oauth.ES256)

	block, rest := pem.Decode(key.PrivatePEM())

	if block == nil || len(rest) > 0 {
		t.Fatalf("%s: not one PEM block", key.PrivatePEM())
	}
	if _, err := x509.ParsePKCS8PrivateKey(block.Bytes); err != nil {
		t.Error(err)
	}
}
