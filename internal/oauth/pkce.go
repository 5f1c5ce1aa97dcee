package oauth

import (
	"strconv"

	"golang.org/x/oauth2"
)

// The lengths of a code verifier, in characters (RFC 7636, section 4.1).
const (
	minVerifier = 43
	maxVerifier = 128
)

// VerifierFlaw says what is wrong with a PKCE code verifier, or "".
func VerifierFlaw(verifier string) string {
	if n := len(verifier); n < minVerifier || n > maxVerifier {
		return "has " + strconv.Itoa(n) + " characters, not 43 to 128"
	}
	for i := range len(verifier) {
		if c := verifier[i]; !alphanumeric(c) && c != '-' && c != '.' && c != '_' && c != '~' {
			return "has the character " + strconv.QuoteRune(rune(c))
		}
	}
	return ""
}

// ProvesChallenge tells whether a code verifier fits a code challenge by a method: S256, or
// plain, which is meant where there is none.
func ProvesChallenge(challenge, method, verifier string) bool {
	switch method {
	case "S256":
		return challenge == oauth2.S256ChallengeFromVerifier(verifier)
	case "plain", "":
		return challenge == verifier
	}
	return false
}
