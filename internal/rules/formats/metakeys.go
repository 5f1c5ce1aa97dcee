package formats

import (
	"slices"
	"strings"

	"github.com/mcpconform/mcpconform/internal/lazy"
)

// splitKey splits a _meta key: the prefix, without its slash, and the name.
// The name has no slash, so the last one ends the prefix.
func splitKey(key string) (prefix, name string) {
	slash := strings.LastIndexByte(key, '/')
	if slash < 0 {
		return "", key
	}
	return key[:slash], key[slash+1:]
}

// AnyKey is true: the rule is about every key of _meta.
func AnyKey(string) bool { return true }

// HasPrefix tells whether a key of _meta has a prefix.
func HasPrefix(key string) bool { return strings.Contains(key, "/") }

// HasLabels is true of a prefix that is a series of labels, good or bad.
func HasLabels(key string) bool { return HasPrefix(key) && PrefixIsSeries(key) }

// PrefixIsSeries tells whether the prefix consists of labels that are not
// empty and contain no further slash.
func PrefixIsSeries(key string) bool {
	prefix, _ := splitKey(key)
	return !strings.Contains(prefix, "/") && !slices.Contains(strings.Split(prefix, "."), "")
}

var label = lazy.MustCompile(`^[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?$`)

// LabelsAreValid tells whether each label of the prefix begins with a letter and ends with a letter or digit.
func LabelsAreValid(key string) bool {
	prefix, _ := splitKey(key)
	return !slices.ContainsFunc(strings.Split(prefix, "."), func(one string) bool { return !label.MatchString(one) })
}

// NameIsEnclosed tells whether the name begins and ends with a letter or digit.
func NameIsEnclosed(key string) bool {
	_, name := splitKey(key)
	return name == "" || isAlphanumeric(name[0]) && isAlphanumeric(name[len(name)-1])
}

func isAlphanumeric(character byte) bool {
	return 'a' <= character && character <= 'z' || 'A' <= character && character <= 'Z' ||
		'0' <= character && character <= '9'
}

var plainName = lazy.MustCompile(`^[A-Za-z0-9._-]*$`)

// NameIsPlain tells whether the name has no other characters than those that it may have.
func NameIsPlain(key string) bool {
	_, name := splitKey(key)
	return plainName.MatchString(name)
}
