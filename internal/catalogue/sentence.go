package catalogue

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"sort"
	"strings"
	"unicode"
)

// A Sentence is one sentence, list item or table row of the specification.
type Sentence struct {
	Page        string   // basic/lifecycle
	Anchor      string   // of the heading above it; empty above the first one
	Line        int      // in the .mdx file, from 1
	Text        string   // markup stripped, white space folded
	Normative   bool     // whether it carries a keyword
	Keywords    []string // in their order: MUST, NOT RECOMMENDED, …
	Fingerprint string   // of the text
	LeadIn      string   // what the text begins with, where it is an item of a list that the lead-in obliges

	leadLine int      // of the lead-in
	under    []string // keywords of the lead-in that it stands under without needing it
}

// Levels returns the levels that the keywords of the sentence, and of the
// lead-in above it, stand for.
func (s Sentence) Levels() []Level {
	var levels []Level
	for _, keyword := range append(slices.Clone(s.Keywords), s.under...) {
		if level := keywordLevels[keyword]; !slices.Contains(levels, level) {
			levels = append(levels, level)
		}
	}
	return levels
}

// keywordLevels are the keywords of BCP 14, with the level that each means.
var keywordLevels = map[string]Level{
	"MUST":            Must,
	"MUST NOT":        MustNot,
	"SHALL":           Must,
	"SHALL NOT":       MustNot,
	"SHOULD":          Should,
	"SHOULD NOT":      ShouldNot,
	"REQUIRED":        Must,
	"RECOMMENDED":     Should,
	"NOT RECOMMENDED": ShouldNot,
	"MAY":             May,
	"OPTIONAL":        May,
}

// Fingerprint returns the first 8 hex digits of the SHA-256 of the sentence,
// with white space folded and typographic quotes, dashes and ellipses as in
// ASCII: setting a page differently does not change what it says.
func Fingerprint(sentence string) string {
	sentence = typography.Replace(strings.Join(strings.Fields(sentence), " "))
	sum := sha256.Sum256([]byte(sentence))
	return hex.EncodeToString(sum[:4])
}

var typography = strings.NewReplacer(
	"‘", "'", "’", "'", "“", `"`, "”", `"`,
	"–", "-", "—", "-", "‑", "-", "…", "...", "\u200b", "",
)

// A char is one character of flattened text.
type char struct {
	rune   rune
	code   bool // stands in inline code
	offset int  // in the source: of it, or of something before it on the same line
}

// A run is flattened text.
type run []char

func (r run) String() string {
	var s strings.Builder
	for _, c := range r {
		s.WriteRune(c.rune)
	}
	return s.String()
}

func (r run) trim() run {
	for len(r) > 0 && r[0].rune == ' ' {
		r = r[1:]
	}
	for len(r) > 0 && r[len(r)-1].rune == ' ' {
		r = r[:len(r)-1]
	}
	return r
}

// join returns a new run: r, the separator, more.
func (r run) join(separator string, more ...char) run {
	out := slices.Clone(r)
	for _, c := range separator {
		out = append(out, char{rune: c})
	}
	return append(out, more...)
}

func (r run) endsWith(end rune) bool {
	r = r.trim()
	return len(r) > 0 && r[len(r)-1].rune == end && !r[len(r)-1].code
}

// says tells whether there is any letter or digit in it.
func (r run) says() bool {
	return slices.ContainsFunc(r, func(c char) bool { return unicode.IsLetter(c.rune) || unicode.IsDigit(c.rune) })
}

// sentences splits a paragraph. A sentence ends with ".", "!" or "?" and white
// space, outside code and parentheses, unless an abbreviation ends there or
// the next word begins in lower case.
func (r run) sentences() []run {
	var out []run
	start, depth := 0, 0
	for i, c := range r {
		if c.code {
			continue
		}
		switch c.rune {
		case '(':
			depth++
		case ')':
			depth = max(depth-1, 0)
		case '.', '!', '?':
			end := i + 1
			for end < len(r) && !r[end].code && strings.ContainsRune(`"'”’)`, r[end].rune) {
				end++
			}
			// A parenthesis may hold whole sentences; it ends one only with them.
			inside := depth > 0 &&
				!(depth == 1 && slices.ContainsFunc(r[i:end], func(c char) bool { return c.rune == ')' }) && r.wholeParenthesis(start))
			if inside || end+1 >= len(r) || r[end].rune != ' ' || r.abbreviation(start, i) {
				continue
			}
			if next := r[end+1]; unicode.IsLower(next.rune) && !next.code {
				continue
			}
			out = append(out, r[start:end].trim())
			start, depth = end+1, 0
		}
	}
	if rest := r[start:].trim(); len(rest) > 0 {
		out = append(out, rest)
	}
	return out
}

// wholeParenthesis tells whether the sentence begins with a parenthesis.
func (r run) wholeParenthesis(start int) bool {
	rest := r[start:].trim()
	return len(rest) > 0 && rest[0].rune == '('
}

// abbreviation tells whether the full stop at i belongs to the word before it.
func (r run) abbreviation(start, i int) bool {
	word := i
	for word > start && r[word-1].rune != ' ' && r[word-1].rune != '(' && !r[word-1].code {
		word--
	}
	switch strings.ToLower(r[word:i].String()) {
	case "e.g", "i.e", "etc", "vs", "cf", "approx", "no", "fig":
		// "etc." may end a sentence, but then reads as one with the next.
		return r[i].rune == '.'
	}
	return false
}

// keywords returns the keywords of BCP 14 in the text: whole upper-case words
// outside code, and not quoted as names.
func (r run) keywords() []string {
	var found []string
	words := r.words()
	for i := 0; i < len(words); i++ {
		word := words[i]
		if word.quoted {
			continue
		}
		if i+1 < len(words) && words[i+1].follows {
			if two := word.text + " " + words[i+1].text; keywordLevels[two] != "" {
				found = append(found, two)
				i++
				continue
			}
		}
		if keywordLevels[word.text] != "" {
			found = append(found, word.text)
		}
	}
	return found
}

func (r run) beginsWithKeyword() bool {
	words := r.words()
	return len(words) > 0 && !words[0].quoted && keywordLevels[words[0].text] != "" &&
		r[0].rune == rune(words[0].text[0])
}

type word struct {
	text    string
	follows bool // only a space stands between it and the word before
	quoted  bool
}

func (r run) words() []word {
	part := func(c char) bool {
		return !c.code && (unicode.IsLetter(c.rune) || unicode.IsDigit(c.rune) || c.rune == '_' || c.rune == '-')
	}
	quote := func(i int) bool {
		return i >= 0 && i < len(r) && strings.ContainsRune(`"'“”‘’`, r[i].rune)
	}
	var words []word
	last := -1
	for i := 0; i < len(r); i++ {
		if !part(r[i]) {
			continue
		}
		start := i
		for i < len(r) && part(r[i]) {
			i++
		}
		words = append(words, word{
			text:    r[start:i].String(),
			follows: last >= 0 && start == last+1 && r[last].rune == ' ',
			quoted:  quote(start-1) && quote(i),
		})
		last = i
	}
	return words
}

// A lineIndex knows where lines begin.
type lineIndex []int

func (l *lineIndex) index(source []byte) {
	*l = append(*l, 0)
	for i, c := range source {
		if c == '\n' {
			*l = append(*l, i+1)
		}
	}
}

// line returns the number, from 1, of the line that an offset stands in.
func (l lineIndex) line(offset int) int {
	return sort.Search(len(l), func(i int) bool { return l[i] > offset })
}
