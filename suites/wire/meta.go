package wire

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/mcpconform/mcpconform/internal/rules"
)

// metaRules are about the names of the keys in _meta.
func metaRules() []rules.Rule {
	return []rules.Rule{
		{
			Text:         "separates the labels of a _meta prefix with dots and ends the prefix with a slash",
			Requirements: []string{"base.meta.prefix"},
			Judge:        metaKeys(hasPrefix, "labels separated by dots before the slash", prefixIsSeries),
		},
		{
			Text:         "starts each label of a _meta key with a letter and ends it with a letter or digit",
			Requirements: []string{"base.meta.labels"},
			Judge:        metaKeys(hasLabels, "labels that begin with a letter and end with a letter or digit", labelsAreValid),
		},
		{
			Text:         "starts and ends the name of each _meta key with a letter or digit",
			Requirements: []string{"base.meta.name"},
			Judge:        metaKeys(anyKey, "a name that is empty or begins and ends with a letter or digit", nameIsEnclosed),
		},
		{
			Text:         "uses only letters, digits, hyphens, underscores and dots in the names of _meta keys",
			Requirements: []string{"base.meta.characters"},
			Judge:        metaKeys(anyKey, "a name of letters, digits, hyphens, underscores and dots", nameIsPlain),
		},
	}
}

// metaKeys judges the keys of every _meta in the target's messages that
// concern a rule.
func metaKeys(concerned func(key string) bool, wanted string, holds func(key string) bool) judge {
	return func(conversation *rules.Conversation, reporter *rules.Reporter) {
		for _, said := range conversation.ByTarget() {
			for _, meta := range membersNamed(said, "_meta") {
				for _, key := range slices.Sorted(maps.Keys(meta.object())) {
					if !concerned(key) {
						continue
					}
					reporter.Observe()
					if !holds(key) {
						reporter.Violation(said, rules.Mismatch{
							Wanted: wanted, Found: rules.Show(key), Where: meta.pointer + "/" + escape(key),
						})
					}
				}
			}
		}
	}
}

// splitKey splits a _meta key: the prefix, without its slash, and the name.
// The name has no slash, so the last one ends the prefix.
func splitKey(key string) (prefix, name string) {
	slash := strings.LastIndexByte(key, '/')
	if slash < 0 {
		return "", key
	}
	return key[:slash], key[slash+1:]
}

func anyKey(string) bool { return true }

func hasPrefix(key string) bool { return strings.Contains(key, "/") }

// hasLabels is true of a prefix that is a series of labels, good or bad.
func hasLabels(key string) bool { return hasPrefix(key) && prefixIsSeries(key) }

// prefixIsSeries tells whether the prefix consists of labels that are not
// empty and contain no further slash.
func prefixIsSeries(key string) bool {
	prefix, _ := splitKey(key)
	return !strings.Contains(prefix, "/") && !slices.Contains(strings.Split(prefix, "."), "")
}

var label = regexp.MustCompile(`^[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?$`)

func labelsAreValid(key string) bool {
	prefix, _ := splitKey(key)
	return !slices.ContainsFunc(strings.Split(prefix, "."), func(one string) bool { return !label.MatchString(one) })
}

func nameIsEnclosed(key string) bool {
	_, name := splitKey(key)
	return name == "" || isAlphanumeric(name[0]) && isAlphanumeric(name[len(name)-1])
}

func isAlphanumeric(character byte) bool {
	return 'a' <= character && character <= 'z' || 'A' <= character && character <= 'Z' || '0' <= character && character <= '9'
}

var plainName = regexp.MustCompile(`^[A-Za-z0-9._-]*$`)

func nameIsPlain(key string) bool {
	_, name := splitKey(key)
	return plainName.MatchString(name)
}
