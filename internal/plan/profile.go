package plan

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpconform/mcpconform/internal/filter"
)

// FullProfile is everything, which is the default.
const FullProfile = "full"

// profile is a choice of checks and rules that many want.
type profile struct {
	name, says string
	level      string // the only one; "" for all
	words      []word // of a filter, of which one has to match; none for everything
}

// word is a word of a filter, and why it belongs to the profile.
type word struct{ filter, reason string }

var profiles = []profile{
	{name: "core", says: "what a target must do at all", level: "MUST", words: []word{
		{"basic", "messages, lifecycle, transports and utilities"},
		{"server/discover", "opens a connection where there is no handshake"},
	}},
	{name: FullProfile, says: "everything, which is the default"},
	{name: "security", says: "what protects users and data", words: []word{
		{"basic/authorization", "tokens, and who gets them"},
		{"security-best-practices", "sessions and tokens of others, SSRF, commands in URLs"},
		{"transports.http.origin", "DNS rebinding"},
		{"transports.sse.origin", "DNS rebinding"},
		{"transports.http.loopback", "servers that the network reaches unasked"},
		{"transports.http.session", "sessions that others guess or take over"},
		{"transports.http.sessions", "sessions that others guess or take over"},
		{"transports.http.headers", "headers that tell a gateway something else than the body"},
		{"tasks-extension.security", "tasks that others guess"},
		{"tasks.id", "tasks that others guess"},
		{"tasks.ttl", "tasks that are kept without end"},
		{"mrtr.state", "state that the client has changed"},
		{"tools.inputs", "input that nobody validated"},
		{"completion.inputs", "input that nobody validated"},
		{"resources.uri", "input that nobody validated"},
		{"resources.blob", "binary data that is taken for text"},
		{"roots.uri", "files outside of the roots"},
		{"roots.unavailable", "roots that have gone"},
		{"sampling.content", "content that nobody validated"},
		{"sampling.tool-loop", "loops that cost without end"},
		{"elicitation.answer", "input that nobody validated"},
		{"elicitation.content", "input that nobody validated"},
		{"elicitation.form.no-urls", "phishing"},
		{"elicitation.form.secret-names", "secrets that a form asks for"},
		{"elicitation.url", "phishing and SSRF"},
		{"base.references", "SSRF by schemas"},
		{"tools.schemas.references", "SSRF by schemas"},
		{"base.icons.source", "scripts in place of pictures"},
	}},
}

// Profiles returns the names of the profiles, and what each is for.
func Profiles() (names, says []string) {
	for _, one := range profiles {
		names, says = append(names, one.name), append(says, one.says)
	}
	return names, says
}

// ProfileFilter is the filter of a profile for the checks and rules of some roles; ""
// for everything.
func ProfileFilter(name string, roles ...string) (string, error) {
	at := slices.IndexFunc(profiles, func(one profile) bool { return one.name == name })
	if at < 0 || len(profiles[at].words) == 0 {
		return "", nil
	}
	known, err := Words(roles...)
	if err != nil {
		return "", err
	}
	var words []string
	for _, one := range profiles[at].words {
		if slices.Contains(known, one.filter) {
			words = append(words, one.filter)
		}
	}
	text := strings.Join(words, " || ")
	if level := profiles[at].level; level != "" {
		text = level + " && (" + text + ")"
	}
	return text, nil
}

// ParseChoice reads a profile and a filter, of which either may be "", as ParseFilter
// reads the filter. The filter is nil when they choose everything.
func ParseChoice(role, profile, text string) (chosen *filter.Filter, revisions []string, err error) {
	if text != "" {
		if chosen, revisions, err = ParseFilter(role, text); err != nil {
			return nil, nil, err
		}
	}
	kept, err := ProfileFilter(profile, role)
	switch {
	case err != nil:
		return nil, nil, err
	case kept == "":
		return chosen, revisions, nil
	}
	chosen, revisions, err = ParseFilter(role, Both(kept, text))
	if _, nothing := errors.AsType[*FilterError](err); nothing {
		return nil, nil, &FilterError{Reason: fmt.Sprintf("--filter %q matches nothing of --profile %s", text, profile)}
	}
	return chosen, revisions, err
}

// Both is the filter for what two filters choose; "" chooses everything.
func Both(one, other string) string {
	if one == "" || other == "" {
		return one + other
	}
	return "(" + one + ") && (" + other + ")"
}
