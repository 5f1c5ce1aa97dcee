package reports

import (
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/mcpconform/mcpconform/internal/lazy"
	"github.com/mcpconform/mcpconform/internal/oauth"
	"github.com/mcpconform/mcpconform/internal/protocol"
)

// Redacted stands where a secret stood.
const Redacted = "***"

const (
	// shortest is the length in bytes from which a secret is searched for by its
	// value. Anything shorter would blank out ordinary words and numbers.
	shortest = 4
	// shortestPart is that of a part of one, where a text was cut, and of one in
	// Base64, of which the ends depend on what stands beside it.
	shortestPart = 8
	// shortestLine is that of a line of a secret that has several, such as a key.
	shortestLine = 16
)

// plain are values that settings commonly have and that are no secrets: searched
// for by value they would blank out half of every message.
var plain = slices.Concat([]string{
	"true", "false", "null", "none", "auto", "info", "debug", "warn", "warning", "error", "trace",
	"test", "development", "production", "localhost", "127.0.0.1", "application/json", "text/event-stream",
	"https", "tools", "prompts", "resources", "draft",
}, protocol.Roles(), protocol.Transports(), protocol.Released())

// Secret is one value that must not be shown, with the name it was given under:
// a header, an environment variable, a parameter.
type Secret struct {
	Key, Value string // the key of a parameter of a URL begins with "?"
}

// URLSecrets are those of a URL: its user, and the values of its query.
func URLSecrets(text string) []Secret {
	parsed, err := url.Parse(text)
	if err != nil {
		_, query, _ := strings.Cut(text, "?")
		return []Secret{{Value: query}} // the whole, as its parts are unknown
	}
	var secrets []Secret
	if user := parsed.User; user != nil {
		password, _ := user.Password()
		secrets = append(
			secrets,
			Secret{Value: user.Username()},
			Secret{Value: password},
			Secret{Value: user.Username() + ":" + password},
		)
	}
	for pair := range strings.SplitSeq(parsed.RawQuery, "&") {
		name, written, _ := strings.Cut(pair, "=")
		secrets = append(secrets, Secret{Key: "?" + name, Value: written})
		if value, err := url.QueryUnescape(written); err == nil && value != written {
			secrets = append(secrets, Secret{Key: "?" + name, Value: value})
		}
	}
	return secrets
}

// Redactor hides secrets. Those of the authorization servers of the harness are shown by
// their names. It knows some by value, and others by the place where
// secrets stand: Authorization, cookie and key headers, bearer tokens, the token
// members of OAuth, passwords in URLs. It is safe for concurrent use; a nil one hides
// nothing.
//
// Its time is linear in the length of any text, and hardly grows with the number of
// secrets.
type Redactor struct {
	values *valueIndex
	wraps  *valueIndex // those of the values in which lines may be broken
	places *placeIndex
	named  *strings.Replacer // of secrets that are shown by a name; nil for none
}

// NewRedactor returns a Redactor for these secrets. One whose value is shorter
// than four bytes, or a common word such as "true", is hidden only behind its
// key ("KEY=on", "Key: on").
func NewRedactor(secrets ...Secret) *Redactor {
	r := &Redactor{values: &valueIndex{}, wraps: &valueIndex{}, places: &placeIndex{}}
	r.places.add(wellKnown()...)
	for _, s := range secrets {
		r.addValue(s.Value)
		// "Bearer x" and "Basic x" are headers whose second word is the secret.
		if scheme, rest, found := strings.Cut(s.Value, " "); found && isScheme(scheme) {
			r.addValue(strings.TrimSpace(rest))
			if login, err := base64.StdEncoding.DecodeString(
				strings.TrimSpace(rest),
			); err == nil &&
				strings.EqualFold(scheme, "basic") {
				_, password, _ := strings.Cut(string(login), ":")
				r.addValue(password)
			}
		}
		for line := range strings.Lines(s.Value) {
			if line = strings.TrimSpace(line); len(line) >= shortestLine && line != s.Value {
				r.addValue(line)
			}
		}
		name, isParameter := strings.CutPrefix(s.Key, "?")
		switch {
		case s.Key == "" || s.Value == "" || searchable(s.Value):
		case isParameter:
			r.places.add(parameter(name, s.Value))
		default:
			r.places.add(keyed(name)...)
		}
	}
	return r
}

// Naming returns a Redactor that hides the same, and shows each of these secrets, by value,
// by its name instead: they were made for a test, and which of them was sent matters.
func (r *Redactor) Naming(names map[string]string) *Redactor {
	if r == nil {
		r = NewRedactor()
	}
	var pairs []string
	for _, secret := range slices.Sorted(maps.Keys(names)) {
		if searchable(secret) {
			pairs = append(pairs, secret, "‹"+names[secret]+"›")
		}
	}
	return &Redactor{values: r.values, wraps: r.wraps, places: r.places, named: strings.NewReplacer(pairs...)}
}

func searchable(value string) bool {
	return len(value) >= shortest && !slices.Contains(plain, strings.ToLower(value))
}

// addValue takes the value and the other spellings that it has on a wire.
func (r *Redactor) addValue(value string) {
	if !searchable(value) {
		return
	}
	digits := hex.EncodeToString([]byte(value))
	r.values.add(value, html.EscapeString(value), digits, strings.ToUpper(digits), strings.ReplaceAll(value, " ", "+"))
	r.values.add(escapedInURL(value)...)
	r.values.add(inBase64(value)...)
	r.wraps.add(inBase64(value)...)
	for _, quoted := range quotedAs(value) {
		r.values.add(quoted)
		r.values.add(quotedAs(quoted)...) // JSON in JSON, or in a text
	}
}

// escapedInURL are the forms that a value has in a URL.
func escapedInURL(value string) []string {
	var all []string
	for _, escaped := range []string{url.QueryEscape(value), url.PathEscape(value), strings.ReplaceAll(url.QueryEscape(value), "+", "%20")} {
		all = append(all, escaped, lowerEscapes.ReplaceAllStringFunc(escaped, strings.ToLower))
	}
	return all
}

var lowerEscapes = lazy.MustCompile(`%[0-9A-F]{2}`)

// inBase64 are the forms that a value has in Base64: alone, and wherever it stands in
// a longer text, where the letters at its ends depend on what is beside it.
func inBase64(value string) []string {
	var all []string
	for _, alphabet := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
		all = append(
			all,
			alphabet.EncodeToString([]byte(value)),
			alphabet.WithPadding(base64.NoPadding).EncodeToString([]byte(value)),
		)
		for before := range 3 {
			encoded := alphabet.WithPadding(base64.NoPadding).
				EncodeToString([]byte(strings.Repeat("\x00", before) + value))
			begin := (before*8 + 5) / 6 // letters that hold a bit of what is before
			end := (before + len(value)) * 8 / 6
			if end-begin >= shortestPart {
				all = append(all, encoded[begin:end])
			}
		}
	}
	return all
}

// quotedAs are the insides of strings that hold a text: of JSON, as several
// encoders write it, and of Go.
func quotedAs(value string) []string {
	var all []string
	for _, escapeHTML := range []bool{true, false} {
		var b strings.Builder
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(escapeHTML)
		if enc.Encode(value) == nil {
			quoted := strings.TrimSuffix(b.String(), "\n")
			quoted = quoted[1 : len(quoted)-1]
			for _, one := range []string{quoted, strings.ReplaceAll(quoted, "/", `\/`)} {
				all = append(all, one, inASCII(one, `\u%04x`), inASCII(one, `\u%04X`))
			}
		}
	}
	for _, quoted := range []string{strconv.Quote(value), strconv.QuoteToASCII(value)} {
		all = append(all, quoted[1:len(quoted)-1])
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// inASCII writes all other characters by their numbers.
func inASCII(text, format string) string {
	var b strings.Builder
	for _, char := range text {
		if char < 0x80 {
			b.WriteRune(char)
			continue
		}
		for _, unit := range utf16.Encode([]rune{char}) {
			fmt.Fprintf(&b, format, unit)
		}
	}
	return b.String()
}

// Redact returns s with every secret replaced by [Redacted].
func (r *Redactor) Redact(s string) string {
	if r == nil {
		return s
	}
	if r.named != nil {
		s = r.named.Replace(s)
	}
	return r.places.hide(oauth.NameSecrets(r.hideValues(s)))
}

// hideValues hides the values however their characters are written. Places that overlap are hidden
// as one, so that no end of a secret remains beside the beginning of another.
func (r *Redactor) hideValues(text string) string {
	if r.values.longest == 0 {
		return text
	}
	var found spans
	r.values.find(readPart{text: text, first: true, last: true}, found.add)
	for _, as := range spellings {
		if as.joined {
			found = append(found, r.wraps.read(text, as)...)
		} else {
			found = append(found, r.values.read(text, as)...)
		}
	}
	slices.SortFunc(found, func(a, b span) int { return cmp.Or(a.from-b.from, a.to-b.to) })
	var hidden spans
	for _, one := range found {
		hidden.add(one.from, one.to)
	}
	return hidden.hide(text)
}

// All redacts each string of a list, into a new one.
func (r *Redactor) All(list []string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = r.Redact(s)
	}
	return out
}
