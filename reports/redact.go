package reports

import (
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"iter"
	"maps"
	"net/url"
	"regexp"
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
		return []Secret{{Value: query}} // nobody can tell its parts
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
type Redactor struct {
	values   []string // longest first
	patterns []pattern
	named    *strings.Replacer // of secrets that are shown by a name; nil for none
}

// NewRedactor returns a Redactor for these secrets. One whose value is shorter
// than four bytes, or a common word such as "true", is hidden only behind its
// key ("KEY=on", "Key: on").
func NewRedactor(secrets ...Secret) *Redactor {
	r := &Redactor{patterns: slices.Clone(wellKnown)}
	for _, s := range secrets {
		r.addValue(s.Value)
		// "Bearer x" and "Basic x" are headers whose second word is the secret.
		if scheme, rest, found := strings.Cut(s.Value, " "); found && schemes.MatchString(scheme) {
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
			r.patterns = append(r.patterns, parameter(name, s.Value))
		default:
			r.patterns = append(r.patterns, keyed(regexp.QuoteMeta(name))...)
		}
	}
	slices.SortFunc(r.values, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	r.values = slices.Compact(r.values)
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
	return &Redactor{values: r.values, patterns: r.patterns, named: strings.NewReplacer(pairs...)}
}

func searchable(value string) bool {
	return len(value) >= shortest && !slices.Contains(plain, strings.ToLower(value))
}

// addValue takes the value and the other spellings that it has on a wire.
func (r *Redactor) addValue(value string) {
	if !searchable(value) {
		return
	}
	r.values = append(r.values, value, html.EscapeString(value), hex.EncodeToString([]byte(value)))
	r.values = append(r.values, escapedInURL(value)...)
	r.values = append(r.values, inBase64(value)...)
	for _, quoted := range quotedAs(value) {
		r.values = append(r.values, quoted)
		r.values = append(r.values, quotedAs(quoted)...) // JSON in JSON, or in a text
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
	s = oauth.NameSecrets(r.hideValues(s))
	for _, p := range r.patterns {
		s = p.hide(s)
	}
	return s
}

// All redacts each string of a list, into a new one.
func (r *Redactor) All(list []string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = r.Redact(s)
	}
	return out
}

// hideValues replaces all places where a value stands. Places that overlap are
// hidden as one, so that no end of a secret remains beside the beginning of
// another.
func (r *Redactor) hideValues(s string) string {
	var spans []span
	for _, value := range r.values {
		for at := range occurrences(s, value) {
			spans = append(spans, span{at, at + len(value)})
		}
		spans = append(spans, cutParts(s, value)...)
	}
	if len(spans) == 0 {
		return s
	}
	slices.SortFunc(spans, func(a, b span) int { return cmp.Or(a.from-b.from, a.to-b.to) })
	var b strings.Builder
	done := 0
	for i := 0; i < len(spans); {
		from, to := spans[i].from, spans[i].to
		for i++; i < len(spans) && spans[i].from < to; i++ {
			to = max(to, spans[i].to)
		}
		b.WriteString(s[done:from])
		b.WriteString(Redacted)
		done = to
	}
	b.WriteString(s[done:])
	return b.String()
}

// span is a part of a text.
type span struct{ from, to int }

// occurrences are the places where a part stands in a text.
func occurrences(text, part string) iter.Seq[int] {
	return func(yield func(int) bool) {
		for from := 0; ; {
			at := strings.Index(text[from:], part)
			if at < 0 || !yield(from+at) {
				return
			}
			from += at + 1
		}
	}
}

// ellipsis stands where a text was cut.
const ellipsis = "…"

// cutParts are the places where a text was cut in the middle of a value: its beginning
// before the cut, or its end behind it.
func cutParts(text, value string) []span {
	if len(value) <= shortestPart {
		return nil
	}
	var spans []span
	for at := range occurrences(text, value[:shortestPart]) {
		end := at + shortestPart
		for end < len(text) && end-at < len(value) && text[end] == value[end-at] {
			end++
		}
		if rest := text[end:]; end-at < len(value) &&
			(rest == "" || strings.HasPrefix(rest, ellipsis) || rest[0] == '"') {
			spans = append(spans, span{at, end})
		}
	}
	for at := range occurrences(text, value[len(value)-shortestPart:]) {
		begin, end := at, at+shortestPart
		for begin > 0 && end-begin < len(value) && text[begin-1] == value[len(value)-(end-begin)-1] {
			begin--
		}
		if before := text[:begin]; end-begin < len(value) && (before == "" || strings.HasSuffix(before, ellipsis)) {
			spans = append(spans, span{begin, end})
		}
	}
	return spans
}

// pattern finds a secret by its place: what its expression matches behind group
// 1, and before group 2 if there is one, is hidden.
type pattern struct {
	expression *lazy.Regexp
	is         func(hidden string) bool // nil: always a secret
}

func (p pattern) hide(s string) string {
	var b strings.Builder
	done := 0
	for _, m := range p.expression.FindAllStringSubmatchIndex(s, -1) {
		from, to := m[3], m[1]
		if len(m) > 4 {
			to = m[4]
		}
		hide := s[from:to]
		named := oauth.SecretName(s[from:])
		if hide == "" || hide == Redacted || len(hide) <= len(named) || p.is != nil && !p.is(hide) {
			continue
		}
		b.WriteString(s[done:from])
		b.WriteString(Redacted)
		done = to
	}
	if done == 0 {
		return s
	}
	b.WriteString(s[done:])
	return b.String()
}

// Parts of the expressions below.
const (
	schemeNames = `bearer|basic|digest|dpop|negotiate|token|apikey`
	scheme      = `(?:(?:` + schemeNames + `)\s+)?`
	inString    = `(?:[^"\\]|\\.)*`            // the inside of a JSON string
	inEscaped   = `(?:[^"\\]|\\\\\\"|\\[^"])*` // the inside of a JSON string that stands in a JSON string
)

var schemes = lazy.MustCompile(`(?i)^(?:` + schemeNames + `)$`)

// wellKnown are the places where secrets stand whoever wrote the message.
var wellKnown = slices.Concat(
	headers(`(?:proxy-)?authorization|(?:set-)?cookie2?|x-api-key|api-key|x-auth-token|x-csrf-token`),
	keyed(
		`access_token|refresh_token|id_token|registration_access_token|client_secret|client_assertion|subject_token|private_key_pem|code_verifier|password|passwd|api_?key`,
	),
	[]pattern{
		{
			// A bearer token anywhere. The words of a sentence and of a challenge
			// (Bearer resource_metadata="...") are none: a token has a digit or
			// is long.
			expression: lazy.MustCompile(`(?i)(\bbearer(?:\s|%20|\+)+)[a-z0-9._~+/-]{8,}=*`),
			is: func(token string) bool {
				return strings.ContainsAny(token, "0123456789") || len(token) >= 24
			},
		},
		{
			// An authorization code, or the assertion of a grant, in a query or a form.
			expression: lazy.MustCompile(`((?:^|[?&\s"'(])(?:code|assertion)=)[a-zA-Z0-9._~+/%-]{8,}`),
		},
		{
			// A private key.
			expression: lazy.MustCompile(`(-----BEGIN (?:[A-Z]+ )?PRIVATE KEY-----)[^-]+`),
		},
		{
			// The user and password of a URL.
			expression: lazy.MustCompile(`(\b[a-zA-Z][a-zA-Z0-9+.-]*://)[^\s/?#@"'<>]+(@)`),
		},
	},
)

// headers matches headers by their names (alternatives of an expression): as a
// JSON member with one value or a list, in quotes on a command line, and as a
// line. The whole value is hidden but for the name of the scheme.
func headers(names string) []pattern {
	return []pattern{
		{expression: lazy.MustCompile(`(?is)("(?:` + names + `)"\s*:\s*"` + scheme + `)` + inString)},
		{
			expression: lazy.MustCompile(
				`(?is)("(?:` + names + `)"\s*:\s*\[\s*")` + inString + `(?:"\s*,\s*"` + inString + `)*("\s*\])`,
			),
		},
		{
			expression: lazy.MustCompile(
				`(?is)(\\"(?:` + names + `)\\"\s*:\s*(?:\[\s*)?\\"` + scheme + `)` + inEscaped,
			),
		},
		{expression: lazy.MustCompile(`(?i)("(?:` + names + `)\s*[:=]\s*` + scheme + `)[^"\r\n]*`)},
		{expression: lazy.MustCompile(`(?i)('(?:` + names + `)\s*[:=]\s*` + scheme + `)[^'\r\n]*`)},
		{expression: lazy.MustCompile(`(?im)((?:^|[^"'a-z0-9_])(?:` + names + `):[ \t]*` + scheme + `)[^\r\n]*`)},
	}
}

// parameter matches one in the query of a URL.
func parameter(name, value string) pattern {
	return pattern{
		expression: lazy.MustCompile(
			`([?&]` + regexp.QuoteMeta(name) + `=)` + regexp.QuoteMeta(value) + `([^a-zA-Z0-9%+._~-]|$)`,
		),
	}
}

// keyed matches what stands behind a key: as a JSON member with a string, number
// or word, as key=value and as "key: value".
func keyed(keys string) []pattern {
	return []pattern{
		{expression: lazy.MustCompile(`(?is)("(?:` + keys + `)"\s*:\s*")` + inString)},
		{expression: lazy.MustCompile(`(?is)(\\"(?:` + keys + `)\\"\s*:\s*\\")` + inEscaped)},
		{expression: lazy.MustCompile(`(?i)("(?:` + keys + `)"\s*:\s*)[a-z0-9.+-]+`)},
		{expression: lazy.MustCompile(`(?i)(\b(?:` + keys + `)=)[^\s&;"',}\\]+`)},
		{expression: lazy.MustCompile(`(?i)(\b(?:` + keys + `):[ \t]+)[^\s"',}\\]+`)},
	}
}
