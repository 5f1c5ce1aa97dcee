// Package filter is the language of --filter: which checks and rules to run, in
// the names that reports print.
//
// A filter is an expression of Ginkgo for labels: words, joined by && (and),
// || or a comma (or), ! (not) and parentheses. && binds more tightly than ||. Case
// does not matter. A word is
//
//   - a page of the specification, server/utilities/pagination, its last part, or
//     the folders that it is in: server/utilities, server;
//   - the id of a requirement, tools.list.valid, or the beginning of several ids, up
//     to a dot: tools.list;
//   - a level. MUST has those of MUST NOT, too, and SHOULD those of SHOULD NOT;
//   - a revision, 2025-11-25, or a transport, stdio;
//   - a part of the text of checks and rules, "foreign Origin", that begins where one of its
//     words does: in quotation marks, or without when it is none of the above and has no operator.
//
// /REGEXP/ stands for every word that it matches somewhere.
package filter

import (
	"errors"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/onsi/ginkgo/v2/types"

	"github.com/mcpconform/mcpconform/internal/excerpt"
	"github.com/mcpconform/mcpconform/internal/nearest"
)

// A Filter chooses checks and rules by their labels.
type Filter struct {
	text       string
	expression string
	words      []string
	places     []place // of the words in the expression
	matches    types.LabelFilter
}

// place is where a word stands in the expression.
type place struct {
	word     string
	from, to int
	quoted   bool
}

// Parse reads a filter. The error says in one line what is wrong with it, without
// the filter itself.
func Parse(text string) (*Filter, error) {
	if strings.TrimSpace(text) == "" {
		return nil, errors.New("it is empty")
	}
	f := &Filter{text: text}
	err := f.translate()
	if err != nil {
		return nil, err
	}
	if f.matches, err = types.ParseLabelFilter(f.expression); err != nil {
		return nil, problem(err)
	}
	return f, nil
}

// Resolve puts the requirements of the checks and rules that have a text in the place of
// each word that is quoted, or not known. find returns their ids; a word for which it returns none stays as it is.
func (f *Filter) Resolve(known func(word string) bool, find func(text string) []string) error {
	var out strings.Builder
	var words []string
	at := 0
	for _, one := range f.places {
		var ids []string
		if one.quoted || !known(one.word) {
			ids = find(one.word)
		}
		if len(ids) == 0 {
			words = append(words, one.word)
			continue
		}
		words = append(words, ids...)
		out.WriteString(f.expression[at:one.from] + "(" + strings.Join(ids, " || ") + ")")
		at = one.to
	}
	f.expression, f.words, f.places = out.String()+f.expression[at:], words, nil
	var err error
	f.matches, err = types.ParseLabelFilter(f.expression)
	return err
}

// problem is what Ginkgo finds wrong: the last line, below the expression.
func problem(err error) error {
	ginkgo, ok := errors.AsType[types.GinkgoError](err)
	if !ok {
		return err
	}
	return errors.New(excerpt.OneLine(excerpt.LastLine(ginkgo.Message)))
}

// String is the filter as it was written.
func (f *Filter) String() string { return f.text }

// Expression is the filter as Ginkgo takes it.
func (f *Filter) Expression() string { return f.expression }

// Matches tells whether a check or rule with these labels is chosen.
func (f *Filter) Matches(labels []string) bool { return f.matches(labels) }

// Names tells whether a word of the filter is just this one.
func (f *Filter) Names(word string) bool {
	return slices.ContainsFunc(f.words, func(one string) bool { return strings.EqualFold(one, word) })
}

// Unknown returns the first word of the filter that is none of those that are known,
// with the one that was probably meant, or "". A word is "" when all are known.
func (f *Filter) Unknown(known []string) (word, meant string) {
	var lower []string
	for _, label := range known {
		lower = append(lower, strings.ToLower(label))
	}
	for _, word := range f.words {
		if !slices.Contains(lower, strings.ToLower(Label(word))) {
			return word, Word(nearest.Word(Label(word), known))
		}
	}
	return "", ""
}

// slash stands for a slash, which labels of Ginkgo may not have.
const slash = "∕"

// Label is the label of a word.
func Label(word string) string { return strings.ReplaceAll(word, "/", slash) }

// Word is the word of a label.
func Word(label string) string { return strings.ReplaceAll(label, slash, "/") }

// Page returns the labels of a page of the specification: its path, and those of the
// folders that it is in.
func Page(path string) []string {
	var labels []string
	for at, r := range path {
		if r == '/' {
			labels = append(labels, Label(path[:at]))
		}
	}
	return append(labels, Label(path))
}

// Beginnings returns the labels of the beginnings of an id.
func Beginnings(id string) []string {
	var labels []string
	for at, r := range id {
		if r == '.' {
			labels = append(labels, id[:at])
		}
	}
	return labels
}

// Level returns the labels of a level, as it is written.
func Level(level string) []string {
	if plain, negative := strings.CutSuffix(level, " NOT"); negative {
		return []string{plain, level}
	}
	return []string{level}
}

// HasText tells whether a text of a check or rule has a part that begins where one of the
// text's words does. Case does not matter.
func HasText(text, part string) bool {
	text, part = strings.ToLower(text), strings.ToLower(part)
	for at := 0; part != ""; {
		found := strings.Index(text[at:], part)
		if found < 0 {
			return false
		}
		at += found
		before, _ := utf8.DecodeLastRuneInString(text[:at])
		if at == 0 || !unicode.IsLetter(before) && !unicode.IsDigit(before) {
			return true
		}
		at++
	}
	return false
}

// operators of an expression, each a character or a pair of one.
const operators = "&|!,()"

// translate finds the words and writes the expression. Regular expressions and what
// Ginkgo has for labels with a colon stay as they are.
func (f *Filter) translate() error {
	var out strings.Builder
	for rest := f.text; rest != ""; {
		size := strings.IndexFunc(rest, func(r rune) bool { return r != ' ' })
		switch {
		case size < 0:
			size = len(rest)
		case size > 0:
		case strings.ContainsRune(operators, rune(rest[0])):
			size = 1
		case rest[0] == '"':
			end := strings.IndexByte(rest[1:], '"')
			if end < 0 {
				return errors.New(`the closing " is missing`)
			}
			if strings.TrimSpace(rest[1:1+end]) == "" {
				return errors.New("nothing stands between the quotation marks")
			}
			f.quoted(rest[1:1+end], &out)
			rest = rest[end+2:]
			continue
		case rest[0] == '/':
			if size = 1 + strings.IndexByte(rest[1:], '/') + 1; size == 1 {
				size = len(rest)
			}
		default:
			size = f.word(rest, &out)
			rest = rest[size:]
			continue
		}
		out.WriteString(rest[:size])
		rest = rest[size:]
	}
	f.expression = out.String()
	return nil
}

// quoted takes a quoted text. Until it is resolved, a label stands for it that no check has.
func (f *Filter) quoted(text string, out *strings.Builder) {
	text = strings.TrimSpace(text)
	from := out.Len()
	out.WriteString("a quoted text")
	f.words = append(f.words, text)
	f.places = append(f.places, place{word: text, from: from, to: out.Len(), quoted: true})
}

// word takes the word that a text begins with, or a set with its argument, and
// returns its length.
func (f *Filter) word(rest string, out *strings.Builder) int {
	size := strings.IndexAny(rest, operators)
	if size < 0 {
		size = len(rest)
	}
	from, isWord := out.Len(), false
	if strings.Contains(rest[:size], ": ") { // a set, and what is asked of it
		if open := strings.IndexByte(rest[:size], '{'); open >= 0 {
			if end := strings.IndexByte(rest[open:], '}'); end >= 0 {
				size = open + end + 1
			}
		}
	} else {
		isWord = true
	}
	out.WriteString(Label(rest[:size]))
	if isWord {
		word := strings.TrimSpace(rest[:size])
		f.words = append(f.words, word)
		f.places = append(f.places, place{word: word, from: from, to: out.Len()})
	}
	return size
}
