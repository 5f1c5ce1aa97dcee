// Package nearest finds the known word that a mistyped one most likely means.
package nearest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agext/levenshtein"
)

// likeness below which a word is no help, from 0 (nothing in common) to 1.
const likeness = 0.5

// Word returns the known word that is most like another, or "" when none is.
func Word(word string, known []string) string {
	best, found := likeness, ""
	for _, candidate := range slices.Sorted(slices.Values(known)) {
		if match := levenshtein.Match(strings.ToLower(word), strings.ToLower(candidate), nil); match > best {
			best, found = match, candidate
		}
	}
	return found
}

// Hint is the end of an error about an unknown word: the nearest known one, or,
// when none is near, all of them.
func Hint(word string, known []string) string {
	if found := Word(word, known); found != "" {
		return fmt.Sprintf(", did you mean %q?", found)
	}
	return "; known are " + strings.Join(slices.Compact(slices.Sorted(slices.Values(known))), ", ")
}
