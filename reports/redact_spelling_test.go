package reports

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/mcpconform/mcpconform/internal/slowtest"
)

// each writes each character of a text in a way of its own.
func each(write func(char rune) string) func(string) string {
	return func(text string) string {
		var b strings.Builder
		for _, char := range text {
			b.WriteString(write(char))
		}
		return b.String()
	}
}

// units writes a character by its units of UTF-16.
func units(format string) func(rune) string {
	return func(char rune) string {
		var text strings.Builder
		for _, unit := range utf16.Encode([]rune{char}) {
			_, _ = fmt.Fprintf(&text, format, unit)
		}
		return text.String()
	}
}

// unless writes those characters as they are that an encoder leaves.
func unless(left string, write func(rune) string) func(rune) string {
	return func(char rune) string {
		if char < 0x80 && (isLetter(byte(char)) || isDigit(byte(char))) || strings.ContainsRune(left, char) {
			return string(char)
		}
		return write(char)
	}
}

func bytesOf(format string) func(rune) string {
	return func(char rune) string {
		var text strings.Builder
		for _, one := range []byte(string(char)) {
			_, _ = fmt.Fprintf(&text, format, one)
		}
		return text.String()
	}
}

func inJSON(text string) string {
	quoted, _ := json.Marshal(text)
	return string(quoted[1 : len(quoted)-1])
}

// wrapped breaks lines as encoders of Base64 do.
func wrapped(width int, with string) func(string) string {
	return func(text string) string {
		encoded, lines := base64.StdEncoding.EncodeToString([]byte(text)), []string{}
		for len(encoded) > width {
			lines, encoded = append(lines, encoded[:width]), encoded[width:]
		}
		return strings.Join(append(lines, encoded), with)
	}
}

// encoders are how programs in many languages write a text.
var encoders = map[string]func(string) string{
	"as it is":                            func(text string) string { return text },
	"JSON of Go":                          inJSON,
	"JSON of .NET":                        each(unless(" -_.", units(`\u%04X`))),
	"JSON in small letters":               each(unless(" -_.", units(`\u%04x`))),
	"JSON of PHP":                         func(text string) string { return strings.ReplaceAll(inJSON(text), "/", `\/`) },
	"JSON of .NET in JSON":                func(text string) string { return inJSON(each(unless(" -_.", units(`\u%04X`)))(text)) },
	"JSON of .NET, all of it":             each(units(`\u%04X`)),
	"a string of Python":                  each(unless(" +=/-_.!\"", bytesOf(`\x%02x`))),
	"a string of Go":                      func(text string) string { return strings.Trim(fmt.Sprintf("%+q", text), `"`) },
	"a string of C":                       each(unless(" +=/-_.!", bytesOf(`\%03o`))),
	"bytes in hexadecimal":                each(bytesOf(`\x%02X`)),
	"encodeURIComponent":                  each(unless("-_.!~*'()", bytesOf("%%%02X"))),
	"encodeURIComponent in small letters": each(unless("-_.!~*'()", bytesOf("%%%02x"))),
	"all of it in a URL":                  each(bytesOf("%%%02X")),
	"a form":                              url.QueryEscape,
	"a form of Python":                    func(text string) string { return strings.ReplaceAll(url.QueryEscape(text), "%2F", "/") },
	"a URL in a URL":                      func(text string) string { return url.QueryEscape(url.PathEscape(text)) },
	"JSON in a URL":                       func(text string) string { return url.PathEscape(inJSON(text)) },
	"HTML of Go":                          html.EscapeString,
	"HTML of Python": strings.NewReplacer(
		"&",
		"&amp;",
		"<",
		"&lt;",
		">",
		"&gt;",
		`"`,
		"&quot;",
		"'",
		"&#x27;",
	).Replace,
	"HTML with names": strings.NewReplacer(
		"&",
		"&amp;",
		"<",
		"&lt;",
		"+",
		"&plus;",
		`"`,
		"&quot;",
		"=",
		"&equals;",
		"/",
		"&sol;",
	).Replace,
	"HTML by numbers": each(
		unless("", func(char rune) string { return fmt.Sprintf("&#%d;", char) }),
	),
	"all of it in HTML by numbers": each(func(char rune) string { return fmt.Sprintf("&#x%X;", char) }),
	"HTML in JSON of .NET": func(text string) string {
		return each(unless(" -_.", units(`\u%04X`)))(html.EscapeString(text))
	},
	"JSON in HTML":               func(text string) string { return html.EscapeString(inJSON(text)) },
	"small hexadecimal":          func(text string) string { return hex.EncodeToString([]byte(text)) },
	"large hexadecimal":          func(text string) string { return strings.ToUpper(hex.EncodeToString([]byte(text))) },
	"Base64":                     func(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) },
	"Base64 for URLs":            func(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) },
	"Base64 of mail":             wrapped(76, "\r\n"),
	"Base64 of a key":            wrapped(64, "\n"),
	"Base64 in short lines":      wrapped(5, "\n"),
	"Base64 in YAML":             wrapped(20, "\n    "),
	"Base64 of a key in JSON":    func(text string) string { return inJSON(wrapped(64, "\n")(text)) },
	"Base64 of mail in JSON":     func(text string) string { return inJSON(wrapped(11, "\r\n")(text)) },
	"Base64 in JSON of .NET":     func(text string) string { return each(unless("-_.", units(`\u%04X`)))(wrapped(90, "\n")(text)) },
	"Base64 in JSON of PHP":      func(text string) string { return strings.ReplaceAll(wrapped(76, `\n`)(text), "/", `\/`) },
	"Base64 in short lines, URL": func(text string) string { return url.QueryEscape(wrapped(20, "\n")(text)) },
}

// spelledSecrets are what encoders write in their own ways.
var spelledSecrets = []string{
	`kT9+/x=Qz"7é🚀'<b>wG==`,
	"+/=+/=+/=+/=abc'",
	"Zm9vYmFy+cXV1eA==",
	strings.Repeat("k3y+/=", 30),
	`kT9+/x=Qz"7é'&<b>\ wG==`,
}

// A secret is hidden as a whole in every encoding that a target may use.
func TestRedactEncoders(t *testing.T) {
	t.Parallel()
	for _, secret := range spelledSecrets {
		r := NewRedactor(Secret{"TOKEN", secret})
		for name, encode := range encoders {
			form := encode(secret)
			for _, around := range [][2]string{{"it said ", " here"}, {`{"a":"`, `"}`}, {"\n", "\n"}, {"…", "…"}} {
				if got, want := r.Redact(around[0]+form+around[1]), around[0]+Redacted+around[1]; got != want {
					t.Errorf("%s: %q became %q", name, around[0]+form+around[1], got)
				}
			}
		}
	}
}

// Where a text was cut in the middle of a secret, at either end and wherever, the rest is hidden
// if it is long enough to tell.
func TestRedactEncodersWhereTextsWereCut(t *testing.T) {
	t.Parallel()
	breaks := strings.NewReplacer(
		"***\n…",
		"***…",
		"…\n***",
		"…***",
		`***\r\n…`,
		"***…",
		`***\r…`,
		"***…",
		`…\r\n***`,
		"…***",
		`…\n***`,
		"…***",
	) // which tell nothing
	for _, secret := range spelledSecrets[:3] {
		r := NewRedactor(Secret{"TOKEN", secret})
		for name, encode := range encoders {
			form := encode(secret)
			least := shortestPart * max(1, (len(form)+len(secret)-1)/len(secret)) // bytes that eight letters may take
			for at := least + longestEscape; at < len(form); at++ {
				if got, want := breaks.Replace(
					r.Redact("it said "+form[:at]+"…"),
				), "it said "+Redacted+"…"; got != want {
					t.Errorf("%s: %q became %q", name, form[:at], got)
				}
			}
			for at := 1; at <= len(form)-least-longestEscape; at++ {
				if form[at]&0xc0 == 0x80 { // in the middle of a character
					continue
				}
				if got, want := breaks.Replace(r.Redact("…"+form[at:]+" here")), "…"+Redacted+" here"; got != want {
					t.Errorf("%s: …%q became %q", name, form[at:], got)
				}
			}
		}
	}
}

// A long text is read in parts: what stands where one begins is hidden as elsewhere.
func TestRedactLongTexts(t *testing.T) {
	t.Parallel()
	secret := spelledSecrets[0]
	r := NewRedactor(Secret{"TOKEN", secret})
	every := 71
	if slowtest.All() {
		every = 7
	}
	for _, name := range []string{"as it is", "JSON of .NET in JSON", "Base64 of mail in JSON", "HTML by numbers"} {
		form := encoders[name](secret)
		for before := partLength - 2*r.values.longest - 3*longestEscape; before < partLength+3*r.values.longest; before += every {
			text := `\n` + strings.Repeat(
				"x",
				before,
			) + " " + form + " " + strings.Repeat(
				"y",
				3*partLength,
			) + form[:len(form)-1]
			got := r.Redact(text)
			if want := `\n` + strings.Repeat(
				"x",
				before,
			) + " *** " + strings.Repeat(
				"y",
				3*partLength,
			) + "***"; got != want {
				t.Fatalf(
					"%s behind %d: %q…%q",
					name,
					before,
					strings.Trim(got, "xy")[:min(200, len(strings.Trim(got, "xy")))],
					got[max(0, len(got)-100):],
				)
			}
		}
	}
}

// Words stay that are only like a secret, or part of one.
func TestRedactLeavesWords(t *testing.T) {
	t.Parallel()
	r := NewRedactor(Secret{"TOKEN", "hunter2-is-a-long-token"}, Secret{"OTHER", "Bearer hunter2-token"})
	for _, text := range []string{
		"a long token, and hunter2", "token hunter, token", `{"a":"b\u002Bc","d":"%41&amp;","e":"\\n"}`, "hunter2-is-a fine name\nlong-token",
		`\u`, `\u00`, `\ud83d`, `\ud83dx`, "%", "%4", "&", "&#;", "&#x110000;", `\U00110000`, "&nosuchname;", `\\\\\\`, strings.Repeat("&amp;", 30), strings.Repeat(`\u005c`, 30),
	} {
		if got := r.Redact(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

func BenchmarkRedactEscapes(b *testing.B) {
	r := NewRedactor(Secret{"TOKEN", spelledSecrets[0]}, Secret{"OTHER", "hunter2-is-a-long-token"})
	for name, part := range map[string]string{
		"words": "It does this and that. ", "JSON": `{"jsonrpc":"2.0","id":7,"result":{"text":"a\nb"}} `, "quoted JSON": `{\"jsonrpc\":\"2.0\",\"id\":7}`,
		"backslashes": `\`, "units": `\u005cu005c`, "references": "&amp;#x5c;", "entities": "&aaaaaaaaaa", "percent": "%2525", "breaks": "\n",
		"beginnings": "kT9+/x=Qz", "cuts": "…",
	} {
		text := strings.Repeat(part, (1<<20)/len(part))
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				r.Redact(text)
			}
		})
	}
}
