package oauth

import (
	"fmt"
	"slices"
	"strings"
)

// Scopes returns the scopes of a space-delimited list, sorted, each once.
func Scopes(list string) []string {
	return slices.Compact(slices.Sorted(slices.Values(strings.Fields(list))))
}

// ScopeFlaw says what is wrong with a space-delimited list of scopes (OAuth 2.1, section
// 1.4.1), or "".
func ScopeFlaw(list string) string {
	for token := range strings.SplitSeq(list, " ") {
		if token == "" {
			return "expected scopes with one space between"
		}
		if flaw := ScopeTokenFlaw(token); flaw != "" {
			return flaw
		}
	}
	return ""
}

// ScopeTokenFlaw says what is wrong with one scope, or "".
func ScopeTokenFlaw(token string) string {
	for i := range len(token) {
		if c := token[i]; c < 0x21 || c > 0x7e || c == '"' || c == '\\' {
			return fmt.Sprintf("the scope %q has the character %q", token, c)
		}
	}
	if token == "" {
		return "a scope is empty"
	}
	return ""
}
