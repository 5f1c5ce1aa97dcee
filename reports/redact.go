package reports

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// Redacted stands where a secret stood.
const Redacted = "***"

// shortest is the length in bytes from which a secret is searched for by its
// value. Anything shorter would blank out ordinary words and numbers.
const shortest = 4

// plain are values that settings commonly have and that are no secrets: searched
// for by value they would blank out half of every message.
var plain = []string{
	"true", "false", "null", "none", "auto", "info", "debug", "warn", "warning", "error", "trace",
	"test", "development", "production", "localhost", "127.0.0.1", "application/json", "text/event-stream",
}

// Secret is one value that must not be shown, with the name it was given under:
// a header, an environment variable, a parameter.
type Secret struct {
	Key, Value string
}

// Redactor hides secrets. It knows some by value, and others by the place where
// secrets stand: Authorization, cookie and key headers, bearer tokens, the token
// members of OAuth, passwords in URLs. It is safe for concurrent use.
type Redactor struct {
	values   []string // longest first
	patterns []pattern
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
			if login, err := base64.StdEncoding.DecodeString(strings.TrimSpace(rest)); err == nil && strings.EqualFold(scheme, "basic") {
				_, password, _ := strings.Cut(string(login), ":")
				r.addValue(password)
			}
		}
		if s.Key != "" && s.Value != "" && !searchable(s.Value) {
			r.patterns = append(r.patterns, keyed(regexp.QuoteMeta(s.Key))...)
		}
	}
	slices.SortFunc(r.values, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	r.values = slices.Compact(r.values)
	return r
}

func searchable(value string) bool {
	return len(value) >= shortest && !slices.Contains(plain, strings.ToLower(value))
}

// addValue takes the value and the other spellings that it has on a wire.
func (r *Redactor) addValue(value string) {
	if !searchable(value) {
		return
	}
	r.values = append(r.values, value, url.QueryEscape(value), url.PathEscape(value))
	for _, html := range []bool{true, false} {
		var b strings.Builder
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(html)
		if enc.Encode(value) == nil {
			quoted := strings.TrimSuffix(b.String(), "\n")
			r.values = append(r.values, quoted[1:len(quoted)-1])
		}
	}
}

// Redact returns s with every secret replaced by [Redacted].
func (r *Redactor) Redact(s string) string {
	s = r.hideValues(s)
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
	type span struct{ from, to int }
	var spans []span
	for _, value := range r.values {
		for from := 0; ; {
			at := strings.Index(s[from:], value)
			if at < 0 {
				break
			}
			spans = append(spans, span{from + at, from + at + len(value)})
			from += at + 1
		}
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

// pattern finds a secret by its place: what its expression matches behind group
// 1, and before group 2 if there is one, is hidden.
type pattern struct {
	expression *regexp.Regexp
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
		if hide == "" || hide == Redacted || p.is != nil && !p.is(hide) {
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

var schemes = regexp.MustCompile(`(?i)^(?:` + schemeNames + `)$`)

// wellKnown are the places where secrets stand whoever wrote the message.
var wellKnown = slices.Concat(
	headers(`(?:proxy-)?authorization|(?:set-)?cookie2?|x-api-key|api-key|x-auth-token|x-csrf-token`),
	keyed(`access_token|refresh_token|id_token|client_secret|client_assertion|code_verifier|password|passwd|api_?key`),
	[]pattern{
		{
			// A bearer token anywhere. The words of a sentence and of a challenge
			// (Bearer resource_metadata="...") are none: a token has a digit or
			// is long.
			expression: regexp.MustCompile(`(?i)(\bbearer(?:\s|%20|\+)+)[a-z0-9._~+/-]{8,}=*`),
			is: func(token string) bool {
				return strings.ContainsAny(token, "0123456789") || len(token) >= 24
			},
		},
		{
			// The user and password of a URL.
			expression: regexp.MustCompile(`(\b[a-zA-Z][a-zA-Z0-9+.-]*://)[^\s/?#@"'<>]+(@)`),
		},
	},
)

// headers matches headers by their names (alternatives of an expression): as a
// JSON member with one value or a list, in quotes on a command line, and as a
// line. The whole value is hidden but for the name of the scheme.
func headers(names string) []pattern {
	return []pattern{
		{expression: regexp.MustCompile(`(?is)("(?:` + names + `)"\s*:\s*"` + scheme + `)` + inString)},
		{expression: regexp.MustCompile(`(?is)("(?:` + names + `)"\s*:\s*\[\s*")` + inString + `(?:"\s*,\s*"` + inString + `)*("\s*\])`)},
		{expression: regexp.MustCompile(`(?is)(\\"(?:` + names + `)\\"\s*:\s*(?:\[\s*)?\\"` + scheme + `)` + inEscaped)},
		{expression: regexp.MustCompile(`(?i)("(?:` + names + `)\s*[:=]\s*` + scheme + `)[^"\r\n]*`)},
		{expression: regexp.MustCompile(`(?i)('(?:` + names + `)\s*[:=]\s*` + scheme + `)[^'\r\n]*`)},
		{expression: regexp.MustCompile(`(?im)((?:^|[^"'a-z0-9_])(?:` + names + `):[ \t]*` + scheme + `)[^\r\n]*`)},
	}
}

// keyed matches what stands behind a key: as a JSON member with a string, number
// or word, as key=value and as "key: value".
func keyed(keys string) []pattern {
	return []pattern{
		{expression: regexp.MustCompile(`(?is)("(?:` + keys + `)"\s*:\s*")` + inString)},
		{expression: regexp.MustCompile(`(?is)(\\"(?:` + keys + `)\\"\s*:\s*\\")` + inEscaped)},
		{expression: regexp.MustCompile(`(?i)("(?:` + keys + `)"\s*:\s*)[a-z0-9.+-]+`)},
		{expression: regexp.MustCompile(`(?i)(\b(?:` + keys + `)=)[^\s&;"',}\\]+`)},
		{expression: regexp.MustCompile(`(?i)(\b(?:` + keys + `):[ \t]+)[^\s"',}\\]+`)},
	}
}
