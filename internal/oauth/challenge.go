// Package oauth reads and writes what authorization in MCP is made of: the challenges of
// a 401 (RFC 9110), the places of metadata documents (RFC 9728, RFC 8414, OpenID Connect
// Discovery), resource indicators (RFC 8707), scopes, PKCE and JSON Web Tokens.
//
// It does no I/O and knows nothing of the harness. What it reads comes from peers that may
// be wrong: it reads what can be read, and says what is wrong with it.
package oauth

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/mcpconform/mcpconform/internal/excerpt"
)

// maxChallenges bounds what is read of all WWW-Authenticate fields of one response. Ten
// schemes have been registered that are in use.
const maxChallenges = 64

// maxFlaws bounds what is told of what is wrong with them; one more may tell that there are
// too many.
const maxFlaws = 16

// A Challenge is one challenge of a response: Bearer realm="a", scope="b".
type Challenge struct {
	Scheme  string // as it was written; Is compares it
	Token68 string // in place of parameters, as Negotiate has it
	Params  []Param
}

// A Param is one parameter of a challenge.
type Param struct {
	Name   string // in lower case
	Value  string // without quotes and escapes
	Quoted bool   // was a quoted-string, not a token
}

// Is tells whether the challenge is of a scheme; case is ignored.
func (c Challenge) Is(scheme string) bool { return strings.EqualFold(c.Scheme, scheme) }

// Get returns the first parameter of a name, which is in lower case.
func (c Challenge) Get(name string) (value string, has bool) {
	for _, param := range c.Params {
		if param.Name == name {
			return param.Value, true
		}
	}
	return "", false
}

// String writes the challenge with all parameters quoted.
func (c Challenge) String() string {
	written := make([]string, len(c.Params))
	for i, param := range c.Params {
		written[i] = param.Name + "=" + quote(param.Value)
	}
	return strings.TrimRight(c.Scheme+" "+c.Token68+strings.Join(written, ", "), " ")
}

func quote(value string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(value) + `"`
}

// Challenges returns the challenges of a response, in order, and what is wrong with how
// they are written (RFC 9110, section 11.6.1: several in one field, or several fields).
// After a flaw it reads on at the next comma.
func Challenges(header http.Header) (challenges []Challenge, flaws []string) {
	for _, field := range header.Values("WWW-Authenticate") {
		found, wrong := parseField(field, maxChallenges-len(challenges))
		challenges = append(challenges, found...)
		flaws = append(flaws, wrong[:min(len(wrong), maxFlaws-len(flaws))]...)
		if len(challenges) == maxChallenges {
			return challenges, append(flaws, fmt.Sprintf("more than %d challenges", maxChallenges))
		}
	}
	return challenges, flaws
}

// Bearing is the Authorization header of a token.
func Bearing(token string) string { return "Bearer " + token }

// Bearer returns the first challenge of the scheme Bearer, and what is wrong with how the
// challenges are written.
func Bearer(header http.Header) (challenge Challenge, found bool, flaws []string) {
	challenges, flaws := Challenges(header)
	for _, challenge := range challenges {
		if challenge.Is("Bearer") {
			return challenge, true, flaws
		}
	}
	return Challenge{}, false, flaws
}

// A scanner reads one field.
type scanner struct {
	text  string
	at    int
	names map[string]bool // of the parameters of the last challenge
}

func parseField(field string, limit int) (challenges []Challenge, flaws []string) {
	s := &scanner{text: field}
	for len(challenges) < limit {
		s.skip(" \t,")
		if s.over() {
			break
		}
		if wrong := s.element(&challenges); wrong != "" {
			if len(flaws) < maxFlaws {
				flaws = append(
					flaws,
					fmt.Sprintf(
						"%s at character %d of %q",
						excerpt.Within(wrong, maxShown),
						s.at+1,
						excerpt.Within(field, maxShown),
					),
				)
			}
			s.resume()
		}
	}
	return challenges, flaws
}

// maxShown is how much of a field a flaw shows, in bytes.
const maxShown = 200

// element reads what stands between two commas: a parameter of the last challenge, or the
// beginning of a new one. It returns what is wrong.
func (s *scanner) element(challenges *[]Challenge) string {
	start := s.at
	name := s.token()
	if name == "" {
		return "expected an authentication scheme or a parameter"
	}
	afterName := s.at
	spaces := s.skip(" \t")
	if s.peek() == '=' { // a parameter of the challenge before it
		if len(*challenges) == 0 {
			return "expected an authentication scheme before the parameter " + name
		}
		last := &(*challenges)[len(*challenges)-1]
		if last.Token68 != "" {
			return "expected no parameter after " + last.Token68
		}
		s.at = start
		return s.param(last)
	}
	*challenges = append(*challenges, Challenge{Scheme: name})
	challenge := &(*challenges)[len(*challenges)-1]
	s.names = map[string]bool{}
	switch {
	case s.over() || s.peek() == ',':
		return ""
	case spaces == 0:
		return "expected a space after " + s.text[start:afterName]
	}
	if token68, ok := s.token68(); ok {
		challenge.Token68 = token68
		return ""
	}
	return s.param(challenge)
}

// param reads name=value. It returns what is wrong.
func (s *scanner) param(challenge *Challenge) string {
	name := strings.ToLower(s.token())
	if name == "" {
		return "expected a parameter"
	}
	s.skip(" \t")
	if s.peek() != '=' {
		return "expected = after " + name
	}
	s.at++
	s.skip(" \t")
	param := Param{Name: name}
	if s.peek() == '"' {
		value, closed := s.quoted()
		if !closed {
			return "expected a closing quotation mark of " + name
		}
		param.Value, param.Quoted = value, true
	} else if param.Value = s.token(); param.Value == "" {
		return "expected a token or quoted string as the value of " + name
	}
	twice := s.names[name]
	s.names[name] = true
	challenge.Params = append(challenge.Params, param)
	s.skip(" \t")
	switch {
	case !s.over() && s.peek() != ',':
		return "expected a comma after the value of " + name
	case twice:
		return name + " is given twice"
	}
	return ""
}

// resume goes on to the next comma that stands in no quoted string.
func (s *scanner) resume() {
	for !s.over() && s.peek() != ',' {
		if s.peek() == '"' {
			if _, closed := s.quoted(); !closed {
				s.at = len(s.text)
			}
			continue
		}
		s.at++
	}
}

func (s *scanner) over() bool { return s.at >= len(s.text) }

// peek returns the next byte, or 0 at the end.
func (s *scanner) peek() byte {
	if s.over() {
		return 0
	}
	return s.text[s.at]
}

// skip goes over any of these bytes, and counts them.
func (s *scanner) skip(these string) (skipped int) {
	for !s.over() && strings.IndexByte(these, s.peek()) >= 0 {
		s.at++
		skipped++
	}
	return skipped
}

// token reads a token, or nothing.
func (s *scanner) token() string {
	start := s.at
	for !s.over() && tokenByte(s.peek()) {
		s.at++
	}
	return s.text[start:s.at]
}

// token68 reads a token68 up to the end of the element, or nothing.
func (s *scanner) token68() (string, bool) {
	start := s.at
	for !s.over() && token68Byte(s.peek()) {
		s.at++
	}
	end := s.at
	s.skip("=")
	text := s.text[start:s.at]
	s.skip(" \t")
	if end > start && (s.over() || s.peek() == ',') {
		return text, true
	}
	s.at = start
	return "", false
}

// quoted reads a quoted string, without its quotes and escapes; on false it did not end.
func (s *scanner) quoted() (value string, closed bool) {
	var text strings.Builder
	for s.at++; !s.over(); s.at++ {
		switch c := s.peek(); {
		case c == '"':
			s.at++
			return text.String(), true
		case c == '\\' && s.at+1 < len(s.text):
			s.at++
			text.WriteByte(s.peek())
		default:
			text.WriteByte(c)
		}
	}
	return text.String(), false
}

func alphanumeric(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// tokenByte tells whether a byte is part of a token (RFC 9110, section 5.6.2).
func tokenByte(c byte) bool {
	return alphanumeric(c) || strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0
}

// token68Byte tells whether a byte is part of a token68, before the padding (RFC 9110,
// section 11.2).
func token68Byte(c byte) bool {
	return alphanumeric(c) || strings.IndexByte("-._~+/", c) >= 0
}
