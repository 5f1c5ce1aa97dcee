package reports

import (
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mcpconform/mcpconform/internal/lazy"
)

// Values that no flag gives as secrets are guessed, by their names or by their looks. The bounds
// are stricter than for those that flags give: a guess must not be a word of other messages.
const (
	// shortestGuess is the length in bytes of what a name says is secret.
	shortestGuess = 8
	// shortestWord is that of one that consists of letters alone, as words do.
	shortestWord = 16
	// shortestRandom is that of what is secret by its looks, and shortestRun that of its letters and
	// digits side by side.
	shortestRandom, shortestRun = 20, 16
	// leastTurns is how often letters and digits alternate in such a run: a word with a number
	// behind it has one turn, a token of random characters about one in four.
	leastTurns = 4
)

// EnvironmentSecrets are those of variables, each NAME=VALUE, that a target inherits: whose names
// say so, or whose values are long and random; and what is secret in those that are URLs.
func EnvironmentSecrets(variables []string) []Secret {
	var all []Secret
	for _, variable := range variables {
		name, value, _ := strings.Cut(variable, "=")
		switch {
		case strings.Contains(value, "://"):
			all = append(all, GuessedInURL(value)...)
		case namesSecret(name) && guessable(value):
			all = append(all, Secret{Key: name, Value: value})
		default:
			all = append(all, random(value)...)
		}
	}
	return all
}

// ArgumentSecrets are those of the arguments of a command: what stands behind --NAME or in
// NAME=VALUE where the name says so, what is long and random, and what is secret in URLs.
func ArgumentSecrets(arguments []string) []Secret {
	var all []Secret
	for i, argument := range arguments {
		name, value, pair := strings.Cut(argument, "=")
		if !pair || strings.Contains(name, "://") {
			name, value = "", argument
			if i > 0 && strings.HasPrefix(arguments[i-1], "-") && !strings.HasPrefix(argument, "-") {
				name = arguments[i-1]
			}
		}
		switch {
		case strings.Contains(value, "://"):
			all = append(all, GuessedInURL(value)...)
		case namesSecret(name) && guessable(value):
			all = append(all, Secret{Value: value})
		default:
			all = append(all, random(value)...)
		}
	}
	return all
}

// GuessedInURL are the password of a URL, and those of its segments and parameters that are long
// and random, or that a name says are secret. See [URLSecrets] for a URL that was given.
func GuessedInURL(text string) []Secret {
	parsed, err := url.Parse(text)
	if err != nil {
		return nil
	}
	var all []Secret
	if password, has := parsed.User.Password(); has && guessable(password) {
		all = append(all, Secret{Value: password})
	}
	for segment := range strings.SplitSeq(parsed.EscapedPath(), "/") {
		if plain, err := url.PathUnescape(segment); err == nil {
			all = append(all, random(plain)...)
		}
	}
	for name, values := range parsed.Query() {
		for _, value := range values {
			if namesSecret(name) && guessable(value) {
				all = append(all, Secret{Value: value})
			} else {
				all = append(all, random(value)...)
			}
		}
	}
	return all
}

// secretNames are the words of a name that say that the value is secret, and openNames those that
// say at its end that it is not: it tells where the secret is, or something about it.
var (
	secretNames = []string{
		"token", "tokens", "secret", "secrets", "password", "passwd", "passphrase", "pass", "pwd", "key", "apikey",
		"credential", "credentials", "auth", "authorization", "cookie", "pat", "dsn", "jwt", "bearer", "signature",
		"salt", "private", "webhook",
	}
	openNames = []string{
		"file", "path", "dir", "directory", "sock", "socket", "host", "port", "name", "id", "type", "mode",
		"method", "enabled", "ttl", "timeout", "issuer", "audience", "scope", "scopes", "server", "version",
		"algorithm", "length", "size", "count", "user", "username", "email", "region",
	}
	wordsOfName = lazy.MustCompile(`[A-Z]?[a-z]+|[A-Z]+`)
)

// namesSecret tells whether a name, such as GITHUB_TOKEN, --api-key or apiKey, says that what it
// names is secret.
func namesSecret(name string) bool {
	var words []string
	for _, at := range wordsOfName.FindAllStringSubmatchIndex(name, -1) {
		words = append(words, strings.ToLower(name[at[0]:at[1]]))
	}
	return len(words) > 0 && !slices.Contains(openNames, words[len(words)-1]) && name != "PWD" && name != "OLDPWD" &&
		slices.ContainsFunc(words, func(word string) bool { return slices.Contains(secretNames, word) })
}

// guessable tells whether a value may be a secret, where a name says that it is one: no short one,
// no word or several, no path, and nothing that settings commonly are.
func guessable(value string) bool {
	plain := strings.TrimLeft(value, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_./ ,:") == ""
	isPath := strings.HasPrefix(value, "/") || strings.HasPrefix(value, "./") || strings.HasPrefix(value, "~/")
	return searchable(value) && !isPath && (len(value) >= shortestGuess && !plain || len(value) >= shortestWord)
}

var uuid = lazy.MustCompile(`^(?i)[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// between tells whether a character stands between the runs of a token.
func between(char rune) bool {
	return !isTokenRune(char) || strings.ContainsRune("._~/-", char)
}

// random is a value that is long and random: one word, in some part of which letters and digits
// alternate. Of what is more than one token, such as a name with a version, it is that part alone.
func random(value string) []Secret {
	if len(value) < shortestRandom || strings.ContainsAny(value, " \t\r\n") || strings.HasPrefix(value, "/") {
		return nil
	}
	if uuid.MatchString(value) {
		return []Secret{{Value: value}}
	}
	var all []Secret
	for part := range strings.FieldsFuncSeq(value, between) {
		if len(part) < shortestRun || turns(part) < leastTurns {
			continue
		}
		if strings.TrimFunc(value, isTokenRune) == "" {
			return []Secret{{Value: value}}
		}
		all = append(all, Secret{Value: part})
	}
	return all
}

// turns is how often letters and digits alternate.
func turns(text string) (count int) {
	for i := 1; i < len(text); i++ {
		if isDigit(text[i]) && isLetter(text[i-1]) || isLetter(text[i]) && isDigit(text[i-1]) {
			count++
		}
	}
	return count
}

// isTokenRune tells whether a character is one of a token.
func isTokenRune(char rune) bool {
	return char < utf8.RuneSelf && isToken(byte(char)) //nolint:gosec // it is ASCII
}
