package base

import (
	"maps"
	"slices"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/rules/formats"
	"github.com/mcpconform/mcpconform/internal/rules/places"
)

// metaRules are about the names of the keys in _meta.
func metaRules() []rules.Rule {
	return []rules.Rule{
		{
			Text:     "separates the labels of a _meta prefix with dots and ends the prefix with a slash",
			Verifies: rules.Verifies("base.meta.prefix"),
			Judge:    metaKeys(formats.HasPrefix, "labels separated by dots before the slash", formats.PrefixIsSeries),
		},
		{
			Text:     "starts each label of a _meta key with a letter and ends it with a letter or digit",
			Verifies: rules.Verifies("base.meta.labels"),
			Judge:    metaKeys(formats.HasLabels, "labels that begin with a letter and end with a letter or digit", formats.LabelsAreValid),
		},
		{
			Text:     "starts and ends the name of each _meta key with a letter or digit",
			Verifies: rules.Verifies("base.meta.name"),
			Judge:    metaKeys(formats.AnyKey, "a name that is empty or begins and ends with a letter or digit", formats.NameIsEnclosed),
		},
		{
			Text:     "uses only letters, digits, hyphens, underscores and dots in the names of _meta keys",
			Verifies: rules.Verifies("base.meta.characters"),
			Judge:    metaKeys(formats.AnyKey, "a name of letters, digits, hyphens, underscores and dots", formats.NameIsPlain),
		},
	}
}

// metaKeys judges the keys of every _meta in the target's messages that
// concern a rule.
func metaKeys(concerned func(key string) bool, wanted string, holds func(key string) bool) rules.Judge {
	return func(conversation *rules.Conversation, reporter *rules.Reporter) {
		for _, message := range conversation.ByTarget() {
			for _, meta := range places.Named(message, "_meta") {
				for _, key := range slices.Sorted(maps.Keys(meta.Object())) {
					if !concerned(key) {
						continue
					}
					reporter.Observe()
					if !holds(key) {
						reporter.Violation(message, rules.Mismatch{
							Wanted: wanted, Found: rules.Show(key), Where: meta.Pointer + jsonrpc.Pointer(key),
						})
					}
				}
			}
		}
	}
}
