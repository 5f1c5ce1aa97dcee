package reports

import (
	"cmp"
	"slices"
	"strings"

	"github.com/mcpconform/mcpconform/internal/oauth"
)

// secretPlace is a name behind which secrets stand in any message.
type secretPlace struct {
	names  []string
	exact  bool // only as the names are written; otherwise in letters of either case
	before func(text string) bool
	// secret tells where a secret stands in what is behind the name. Where there is none,
	// it comes to no place that is behind another name like this, so that a text is read
	// once and not again from each name.
	secret reading
}

// reading finds a secret in what stands behind a name.
type reading func(text string) (from, to int, there bool)

// placeIndex finds the places of secrets in a text in one pass.
type placeIndex struct {
	places []secretPlace
	names  [256][]named // by their first byte, in both cases of it
}

// named is a name with the places that it leads to.
type named struct {
	name   string
	places []int
}

func (x *placeIndex) add(places ...secretPlace) {
	for _, one := range places {
		for _, name := range one.names {
			for _, first := range bothCases(name[0]) {
				x.names[first] = withPlace(x.names[first], name, len(x.places))
			}
		}
		x.places = append(x.places, one)
	}
}

// bothCases are a letter as it is and in the other case; another byte alone.
func bothCases(letter byte) []byte {
	both := []byte(strings.ToLower(string(rune(letter))) + strings.ToUpper(string(rune(letter))))
	if letter >= 0x80 {
		both = []byte{letter}
	}
	slices.Sort(both)
	return slices.Compact(both)
}

func withPlace(all []named, name string, place int) []named {
	for i := range all {
		if strings.EqualFold(all[i].name, name) {
			all[i].places = append(all[i].places, place)
			return all
		}
	}
	return append(all, named{name, []int{place}})
}

// hide replaces what stands at the places.
func (x *placeIndex) hide(text string) string {
	found := x.find(text)
	if len(found) == 0 {
		return text
	}
	slices.SortFunc(found, func(a, b span) int { return cmp.Or(a.from-b.from, a.to-b.to) })
	var hidden spans
	for _, one := range found {
		hidden.add(one.from, one.to)
	}
	return hidden.hide(text)
}

// find returns what stands at the places, by the names that lead there.
func (x *placeIndex) find(text string) (found []span) {
	done := make([]int, len(x.places)) // of each place, to where it was read
	for at := range len(text) {
		for _, one := range x.names[text[at]] {
			end := at + len(one.name)
			if end > len(text) || !strings.EqualFold(text[at:end], one.name) {
				continue
			}
			for _, number := range one.places {
				place := &x.places[number]
				if at < done[number] || place.exact && !slices.Contains(place.names, text[at:end]) ||
					!place.before(text[:at]) {
					continue
				}
				from, to, there := place.secret(text[end:])
				if !there {
					continue
				}
				done[number] = end + to
				if one := (span{end + from, end + to}); one.hides(text) {
					found = append(found, one)
				}
			}
		}
	}
	return found
}

// hides tells whether what stands there is to be hidden: it is more than what stands
// where something was hidden already.
func (s span) hides(text string) bool {
	secret := text[s.from:s.to]
	return secret != "" && secret != Redacted && len(secret) > len(oauth.SecretName(text[s.from:]))
}

// shortestToken is the length in bytes from which a word where tokens and codes stand is
// taken for one.
const shortestToken = 8

// longToken is that from which one without a digit is none of a sentence.
const longToken = 24

// wellKnown are the places that everybody has.
func wellKnown() []secretPlace {
	return slices.Concat(
		headers(
			"authorization", "proxy-authorization", "cookie", "cookie2", "set-cookie", "set-cookie2",
			"x-api-key", "api-key", "x-auth-token", "x-csrf-token",
		),
		keyed(
			"access_token",
			"refresh_token",
			"id_token",
			"registration_access_token",
			"client_secret",
			"client_assertion",
			"subject_token",
			"private_key_pem",
			"code_verifier",
			"password",
			"passwd",
			"api_key",
			"apikey",
		),
		[]secretPlace{
			{names: []string{"bearer"}, before: beginsWord, secret: bearerToken},
			{names: []string{"code=", "assertion="}, exact: true, before: beginsParameter, secret: code},
			{names: []string{"-----BEGIN "}, exact: true, before: anywhere, secret: privateKey},
			{names: []string{"://"}, before: endsScheme, secret: userInfo},
		},
	)
}

// headers are those with these names: as a JSON member with one value or a list, in
// quotes on a command line, and as a line. The whole value is hidden but for the name of
// the scheme.
func headers(names ...string) []secretPlace {
	behind := func(end func(string) int, forms ...string) reading {
		return func(text string) (int, int, bool) {
			from, is := follow(text, forms...)
			if !is {
				return 0, 0, false
			}
			from += scheme(text[from:])
			return from, from + end(text[from:]), true
		}
	}
	return []secretPlace{
		{names: names, before: ends(`"`), secret: behind(inString, `" : "`)},
		{names: names, before: ends(`"`), secret: list},
		{names: names, before: ends(`\"`), secret: behind(inEscapedString, `\" : [ \"`, `\" : \"`)},
		{names: names, before: ends(`"`), secret: behind(until("\"\r\n"), ` : `, ` = `)},
		{names: names, before: ends(`'`), secret: behind(until("'\r\n"), ` : `, ` = `)},
		{names: names, before: beginsHeader, secret: behind(until("\r\n"), `:_`)},
	}
}

// keyed are those behind a key: as a JSON member with a string, number or word, as
// key=value and as "key: value".
func keyed(keys ...string) []secretPlace {
	behind := func(end func(string) int, form string) reading {
		return func(text string) (int, int, bool) {
			from, is := follow(text, form)
			if !is {
				return 0, 0, false
			}
			return from, from + end(text[from:]), true
		}
	}
	return []secretPlace{
		{names: keys, before: ends(`"`), secret: behind(inString, `" : "`)},
		{names: keys, before: ends(`\"`), secret: behind(inEscapedString, `\" : \"`)},
		{names: keys, before: ends(`"`), secret: behind(while(isNumber), `" : `)},
		{names: keys, before: beginsWord, secret: behind(until(" \t\n\f\r&;\"',}\\"), `=`)},
		{names: keys, before: beginsWord, secret: behind(until(" \t\n\f\r\"',}\\"), `:~`)},
	}
}

// parameter is one in the query of a URL.
func parameter(name, value string) secretPlace {
	return secretPlace{
		names:  []string{name + "=" + value},
		exact:  true,
		before: endsWith("?&"),
		secret: func(text string) (int, int, bool) {
			return -len(value), 0, while(isUnreserved)(text) == 0
		},
	}
}

// What may stand before a name.

func anywhere(string) bool { return true }

func ends(with string) func(string) bool {
	return func(text string) bool { return strings.HasSuffix(text, with) }
}

func endsWith(chars string) func(string) bool {
	return func(text string) bool { return text != "" && strings.IndexByte(chars, text[len(text)-1]) >= 0 }
}

func beginsWord(text string) bool { return text == "" || !isWord(text[len(text)-1]) }

func beginsHeader(text string) bool { return beginsWord(text) && !endsWith(`"'`)(text) }

func beginsParameter(text string) bool { return text == "" || endsWith("?& \t\n\f\r\"'(")(text) }

func endsScheme(text string) bool {
	for at := len(text) - 1; at >= 0 && (isNumber(text[at])); at-- {
		if isLetter(text[at]) {
			return true
		}
	}
	return false
}

// What stands between a name and its secret.

// follow passes over one of several forms that a text may begin with: ' ' is white space,
// '_' blanks, either may be missing, and '~' is at least one blank.
func follow(text string, forms ...string) (end int, is bool) {
	for _, form := range forms {
		rest := text
		is = true
		for _, one := range []byte(form) {
			before := len(rest)
			switch one {
			case ' ':
				rest = strings.TrimLeft(rest, " \t\n\f\r")
			case '_', '~':
				rest = strings.TrimLeft(rest, " \t")
				is = is && (one == '_' || len(rest) < before)
			default:
				is = is && rest != "" && rest[0] == one
				rest = rest[min(1, len(rest)):]
			}
			if !is {
				break
			}
		}
		if is {
			return len(text) - len(rest), true
		}
	}
	return 0, false
}

// schemes are names before the secret of a header.
var schemes = []string{"bearer", "basic", "digest", "dpop", "negotiate", "token", "apikey"}

func isScheme(word string) bool {
	return slices.ContainsFunc(schemes, func(known string) bool { return strings.EqualFold(known, word) })
}

// scheme is the length of a scheme that a text begins with, with the white space behind it.
func scheme(text string) int {
	name := while(isLetter)(text)
	blank := len(text[name:]) - len(strings.TrimLeft(text[name:], " \t\n\f\r"))
	if blank == 0 || !isScheme(text[:name]) {
		return 0
	}
	return name + blank
}

// Where a secret ends.

func until(chars string) func(string) int {
	return func(text string) int {
		if end := strings.IndexAny(text, chars); end >= 0 {
			return end
		}
		return len(text)
	}
}

func while(is func(byte) bool) func(string) int {
	return func(text string) int {
		end := 0
		for end < len(text) && is(text[end]) {
			end++
		}
		return end
	}
}

// inString is what is left of a JSON string.
func inString(text string) int {
	for at := 0; at < len(text); at++ {
		switch text[at] {
		case '"':
			return at
		case '\\':
			if at+1 == len(text) {
				return at
			}
			at++
		}
	}
	return len(text)
}

// inEscapedString is what is left of a JSON string that stands in a JSON string.
func inEscapedString(text string) int {
	for at := 0; at < len(text); at++ {
		switch {
		case text[at] == '"':
			return at
		case strings.HasPrefix(text[at:], `\\\"`):
			at += len(`\\"`)
		case text[at] == '\\':
			if at+1 == len(text) || text[at+1] == '"' {
				return at
			}
			at++
		}
	}
	return len(text)
}

// list finds the values of a JSON list of strings.
func list(text string) (from, to int, there bool) {
	from, there = follow(text, `" : [ "`)
	if !there {
		return 0, 0, false
	}
	for to = from; ; {
		to += inString(text[to:])
		if _, over := follow(text[to:], `" ]`); over {
			return from, to, true
		}
		next, more := follow(text[to:], `" , "`)
		if !more {
			return 0, 0, false
		}
		to += next
	}
}

// Places of their own.

// bearerToken finds a bearer token anywhere. The words of a sentence and of a challenge
// (Bearer resource_metadata="...") are none: a token has a digit or is long.
func bearerToken(text string) (from, to int, there bool) {
	for {
		switch {
		case strings.HasPrefix(text[from:], "%20"):
			from += len("%20")
			continue
		case from < len(text) && strings.IndexByte(" \t\n\f\r+", text[from]) >= 0:
			from++
			continue
		}
		break
	}
	to = from + while(isToken)(text[from:])
	for from > 1 && to-from < shortestToken && text[from-1] == '+' { // which a token may have as well
		from--
	}
	if from == 0 || to-from < shortestToken {
		return 0, 0, false
	}
	to += while(func(b byte) bool { return b == '=' })(text[to:])
	return from, to, to-from >= longToken || strings.ContainsAny(text[from:to], "0123456789")
}

// code finds an authorization code, or the assertion of a grant, in a query or a form.
func code(text string) (from, to int, there bool) {
	end := while(func(b byte) bool { return isToken(b) || b == '%' })(text)
	return 0, end, end >= shortestToken
}

func privateKey(text string) (from, to int, there bool) {
	kind := while(func(b byte) bool { return 'A' <= b && b <= 'Z' })(text)
	for _, label := range []string{text[:kind] + " PRIVATE KEY-----", "PRIVATE KEY-----"} {
		if strings.HasPrefix(text, label) {
			return len(label), len(label) + until("-\"")(text[len(label):]), true
		}
	}
	return 0, 0, false
}

// userInfo finds the user and password of a URL.
func userInfo(text string) (from, to int, there bool) {
	end := strings.IndexAny(text, " \t\n\f\r/?#@\"'<>")
	return 0, end, end > 0 && text[end] == '@'
}

// Bytes of which something consists.

func isLetter(b byte) bool { return 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' }

func isDigit(b byte) bool { return '0' <= b && b <= '9' }

func isWord(b byte) bool { return isLetter(b) || isDigit(b) || b == '_' }

// isNumber is true for what a number or a plain word of JSON has, and the scheme of a URL.
func isNumber(b byte) bool { return isLetter(b) || isDigit(b) || strings.IndexByte("+.-", b) >= 0 }

func isToken(b byte) bool { return isLetter(b) || isDigit(b) || strings.IndexByte("._~+/-", b) >= 0 }

func isUnreserved(b byte) bool {
	return isLetter(b) || isDigit(b) || strings.IndexByte("%+._~-", b) >= 0
}
