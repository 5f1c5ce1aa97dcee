package oauth

import (
	"crypto/rand"
	"fmt"
	"regexp"
	"strconv"
)

// The kinds of secrets that the authorization servers of the harness give out.
const (
	IssuedAccessToken  = "access-token"
	IssuedRefreshToken = "refresh-token"
	IssuedCode         = "code"
	IssuedSecret       = "client-secret"
)

// A Secret is one that an authorization server of the harness gave out. It says itself what
// it is, so that reports can show it by its name wherever it stands.
type Secret struct {
	Kind   string
	Number int // among those of its kind, from 1
	Issuer int // from 1
	Text   string
}

// NewSecret makes one that cannot be guessed.
func NewSecret(kind string, number, issuer int) Secret {
	text := fmt.Sprintf("mcpconform.%s-%d.issuer-%d.%s", kind, number, issuer, rand.Text())
	return Secret{Kind: kind, Number: number, Issuer: issuer, Text: text}
}

// Name is what stands in reports in its place.
func (s Secret) Name() string {
	return fmt.Sprintf("‹%s %d of issuer %d›", map[string]string{
		IssuedAccessToken: "access token", IssuedRefreshToken: "refresh token", IssuedCode: "code", IssuedSecret: "client secret",
	}[s.Kind], s.Number, s.Issuer)
}

// secrets matches what NewSecret makes.
var secrets = regexp.MustCompile(
	`mcpconform\.(access-token|refresh-token|code|client-secret)-(\d{1,6})\.issuer-(\d{1,6})\.[A-Z2-7]{26}`,
)

// SecretsIn returns the secrets that stand in a text, in order.
func SecretsIn(text string) []Secret {
	var found []Secret
	for _, parts := range secrets.FindAllStringSubmatch(text, -1) {
		number, _ := strconv.Atoi(parts[2])
		issuer, _ := strconv.Atoi(parts[3])
		found = append(found, Secret{Kind: parts[1], Number: number, Issuer: issuer, Text: parts[0]})
	}
	return found
}

// ReadSecret returns the secret that a text is.
func ReadSecret(text string) (Secret, bool) {
	if found := SecretsIn(text); len(found) == 1 && found[0].Text == text {
		return found[0], true
	}
	return Secret{}, false
}

// NameSecrets returns a text with the names of secrets in their place.
func NameSecrets(text string) string {
	return secrets.ReplaceAllStringFunc(text, func(text string) string {
		secret, _ := ReadSecret(text)
		return secret.Name()
	})
}

// names matches what Name makes, at the beginning of a text.
var names = regexp.MustCompile(
	`^(?:Bearer )?‹(?:access token|refresh token|code|client secret) \d{1,6} of issuer \d{1,6}›`,
)

// SecretName returns the name of a secret that a text begins with, or "".
func SecretName(text string) string { return names.FindString(text) }
