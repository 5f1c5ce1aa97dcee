package reports

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Visible returns s with everything that could deceive or disturb a reader, a
// terminal or an XML parser escaped: bytes that are not UTF-8 and control
// characters as \x1b, other invisible format characters (bidirectional
// overrides, byte order marks, tags) as \u202e. Line feeds and tabs stay.
// A text that was made visible once is not changed by a second time.
func Visible(s string) string {
	return escape(s, func(r rune, valid bool) bool { return !valid || r != '\n' && r != '\t' && hidden(r) })
}

// valid escapes only the bytes of s that are not UTF-8: JSON can carry the rest.
func valid(s string) string {
	return escape(s, func(_ rune, valid bool) bool { return !valid })
}

// oneLine is Visible for a place that has but one line: runs of white space
// become one space.
func oneLine(s string) string { return strings.Join(strings.Fields(Visible(s)), " ") }

// escape writes the runes that must not stand in s as escapes. A byte that is
// not UTF-8 is asked about with valid = false.
func escape(s string, must func(r rune, valid bool) bool) string {
	var b strings.Builder
	copied := 0 // s[:copied] is in b
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		invalid := r == utf8.RuneError && size == 1
		if must(r, !invalid) {
			b.WriteString(s[copied:i])
			switch {
			case invalid:
				fmt.Fprintf(&b, `\x%02x`, s[i])
			case r < 0x80:
				fmt.Fprintf(&b, `\x%02x`, r)
			case r <= 0xffff:
				fmt.Fprintf(&b, `\u%04x`, r)
			default:
				fmt.Fprintf(&b, `\U%08x`, r)
			}
			copied = i + size
		}
		i += size
	}
	if copied == 0 {
		return s
	}
	b.WriteString(s[copied:])
	return b.String()
}

// hidden tells whether r shows nothing by itself: controls (C0, DEL, C1), format
// characters, line and paragraph separators, and what Unicode never assigns, of
// which XML forbids U+FFFE and U+FFFF. The joiners that scripts and emoji are
// written with are not hidden.
func hidden(r rune) bool {
	switch {
	case r == '\u200c' || r == '\u200d':
		return false
	case r == '\u2028' || r == '\u2029':
		return true
	case r&0xfffe == 0xfffe || r >= 0xfdd0 && r <= 0xfdef:
		return true
	}
	return unicode.Is(unicode.Cc, r) || unicode.Is(unicode.Cf, r)
}

// presentable returns a sorted copy of the run whose every text is Visible, so
// that no face can forget one.
func presentable(run *Run) *Run {
	shown := mapStrings(reflect.ValueOf(run), Visible).Interface().(*Run)
	shown.Sort()
	return shown
}

var rawMessage = reflect.TypeFor[json.RawMessage]()

// mapStrings copies v deeply, with f applied to each string in it. Structs with
// unexported fields (a time.Time) and raw JSON are taken over as they are.
func mapStrings(v reflect.Value, f func(string) string) reflect.Value {
	switch v.Kind() {
	case reflect.String:
		return reflect.ValueOf(f(v.String())).Convert(v.Type())
	case reflect.Pointer:
		if v.IsNil() {
			return v
		}
		out := reflect.New(v.Type().Elem())
		out.Elem().Set(mapStrings(v.Elem(), f))
		return out
	case reflect.Slice:
		if v.IsNil() || v.Type() == rawMessage {
			return v
		}
		out := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		for i := range v.Len() {
			out.Index(i).Set(mapStrings(v.Index(i), f))
		}
		return out
	case reflect.Struct:
		out := reflect.New(v.Type()).Elem()
		out.Set(v)
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				out.Field(i).Set(mapStrings(v.Field(i), f))
			}
		}
		return out
	}
	return v
}
