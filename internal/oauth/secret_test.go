package oauth_test

import (
	"strings"
	"testing"

	"github.com/mcpconform/mcpconform/internal/oauth"
)

func TestSecrets(t *testing.T) {
	t.Parallel()
	token := oauth.NewSecret(oauth.IssuedAccessToken, 2, 1)
	code := oauth.NewSecret(oauth.IssuedCode, 1, 3)

	named := oauth.NameSecrets("Bearer " + token.Text + ", code=" + code.Text + "&x")

	if named != "Bearer ‹access token 2 of issuer 1›, code=‹code 1 of issuer 3›&x" {
		t.Errorf("shown as %q", named)
	}
	if read, is := oauth.ReadSecret(code.Text); !is || read != code {
		t.Errorf("read as %+v, %t", read, is)
	}
	for _, other := range []string{"", code.Text + "x", token.Text + token.Text, strings.ToLower(token.Text)} {
		if _, is := oauth.ReadSecret(other); is {
			t.Errorf("%q is taken for a secret", other)
		}
	}
	if name := oauth.SecretName(token.Name() + ", and more"); name != token.Name() {
		t.Errorf("the name is %q", name)
	}
	if other := oauth.NewSecret(oauth.IssuedAccessToken, 2, 1); other == token {
		t.Error("two secrets are the same")
	}
}
