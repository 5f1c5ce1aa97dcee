// Package spelling writes the same JSON in other ways: other white space, another order
// of members, escapes, numbers in another notation.
package spelling

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf16"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
)

// rewritings spell the same JSON otherwise, by name.
var rewritings = map[string]func([]byte) []byte{
	"reverse-members": reverseMembers,
	"spaces":          spaced(" "),
	"tabs":            spaced("\t"),
	"lines":           indented("\n"),
	"crlf-lines":      indented("\r\n"),
	"escape-all":      escapeAll,
	"escape-slashes":  func(text []byte) []byte { return bytes.ReplaceAll(text, []byte("/"), []byte(`\/`)) },
	"separators":      func(text []byte) []byte { return []byte(separators.Replace(string(text))) },
	"exponents":       exponents,
	"fractions":       fractions,
}

// Names are those that Rewrite knows.
func Names() []string { return slices.Sorted(maps.Keys(rewritings)) }

// Rewrite spells a JSON text otherwise. What is no JSON, or has flaws, stays as it is.
func Rewrite(name string, text []byte) []byte { return rewritings[name](text) }

// separators are what some readers take for the end of a line.
var separators = strings.NewReplacer(`\u2028`, "\u2028", `\u2029`, "\u2029")

func format(text []byte, f func(*strings.Builder, any)) []byte {
	value, flaws := jsonrpc.Decode(text)
	if value == nil || len(flaws) > 0 {
		return text
	}
	var out strings.Builder
	f(&out, value)
	return []byte(out.String())
}

// writer writes JSON in an odd spelling.
type writer struct {
	names  func(map[string]any) []string
	space  string
	text   func(string) string
	number func(json.Number) string
}

func (w writer) write(out *strings.Builder, value any) {
	list := func(open, end string, length int, element func(int)) {
		out.WriteString(open + w.space)
		for i := range length {
			if i > 0 {
				out.WriteString(w.space + "," + w.space)
			}
			element(i)
		}
		out.WriteString(w.space + end)
	}
	switch value := value.(type) {
	case map[string]any:
		names := slices.Sorted(maps.Keys(value))
		if w.names != nil {
			names = w.names(value)
		}
		list("{", "}", len(names), func(i int) {
			w.write(out, names[i])
			out.WriteString(w.space + ":" + w.space)
			w.write(out, value[names[i]])
		})
	case []any:
		list("[", "]", len(value), func(i int) { w.write(out, value[i]) })
	case string:
		if w.text != nil {
			out.WriteString(w.text(value))
			return
		}
		out.WriteString(jsonrpc.Text(value))
	case json.Number:
		if w.number != nil {
			out.WriteString(w.number(value))
			return
		}
		out.WriteString(string(value))
	default:
		out.WriteString(jsonrpc.Text(value))
	}
}

func reverseMembers(text []byte) []byte {
	return format(text, writer{names: func(object map[string]any) []string {
		names := slices.Sorted(maps.Keys(object))
		slices.Reverse(names)
		return names
	}}.write)
}

func spaced(space string) func([]byte) []byte {
	return func(text []byte) []byte { return format(text, writer{space: space}.write) }
}

// indented spreads JSON over several lines, which not every transport allows.
func indented(end string) func([]byte) []byte {
	return func(text []byte) []byte {
		var lines bytes.Buffer
		if json.Indent(&lines, text, "", "  ") != nil {
			return text
		}
		return bytes.ReplaceAll(lines.Bytes(), []byte("\n"), []byte(end))
	}
}

func escapeAll(text []byte) []byte {
	return format(text, writer{text: func(value string) string {
		var out strings.Builder
		out.WriteByte('"')
		for _, unit := range utf16.Encode([]rune(value)) {
			fmt.Fprintf(&out, `\u%04x`, unit)
		}
		out.WriteByte('"')
		return out.String()
	}}.write)
}

func exponents(text []byte) []byte {
	return format(text, writer{number: func(number json.Number) string {
		if strings.ContainsAny(string(number), "eE") {
			return string(number)
		}
		return string(number) + "e0"
	}}.write)
}

func fractions(text []byte) []byte {
	return format(text, writer{number: func(number json.Number) string {
		if strings.ContainsAny(string(number), ".eE") {
			return string(number)
		}
		return string(number) + ".0"
	}}.write)
}
