package rulestest

import (
	"slices"
	"strings"

	"github.com/mcpconform/mcpconform/internal/rules"
)

// BrokenAndSeen returns the requirements of rules that are broken, and of
// those that had something to judge.
func BrokenAndSeen(judging []rules.Rule, conversation *rules.Conversation) (broken, seen []string) {
	for _, finding := range rules.Apply(judging, conversation) {
		id := finding.Rule
		seen = append(seen, id)
		if len(finding.Breaks) > 0 {
			broken = append(broken, id)
		}
	}
	slices.Sort(broken)
	return broken, seen
}

// BrokenTexts returns the texts of the rules that are broken.
func BrokenTexts(judging []rules.Rule, conversation *rules.Conversation) []string {
	var broken []string
	for _, finding := range rules.Apply(judging, conversation) {
		if len(finding.Breaks) > 0 {
			at := slices.IndexFunc(judging, func(rule rules.Rule) bool { return rule.ID() == finding.Rule })
			broken = append(broken, judging[at].Text)
		}
	}
	return broken
}

// Findings applies rules and returns, by requirement, how often each was broken; those
// that saw nothing are left out.
func Findings(judging []rules.Rule, conversation *rules.Conversation) map[string]int {
	counts := map[string]int{}
	for _, finding := range rules.Apply(judging, conversation) {
		broken := 0
		for _, breach := range finding.Breaks {
			broken += breach.Count
		}
		counts[finding.Rule] = broken
	}
	return counts
}

// Judged returns the requirements of the transports that a conversation broke,
// and those for which it had something to see.
func Judged(judging []rules.Rule, conversation *rules.Conversation) (broken, seen []string) {
	broken, seen = []string{}, []string{}
	for _, finding := range rules.Apply(judging, conversation) {
		name := strings.TrimPrefix(finding.Rule, "transports.")
		seen = append(seen, name)
		if len(finding.Breaks) > 0 {
			broken = append(broken, name)
		}
	}
	return broken, seen
}
