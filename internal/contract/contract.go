// Package contract has what a server offers as a file, and finds what has changed in it for
// the server's clients.
//
// It never speaks to a server: others survey it, or read what was recorded of one.
package contract

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// Contract is what a server offers.
type Contract struct {
	Revision  string   // at which it was read
	Revisions []string // that the server speaks, oldest first
	// Recorded says that it has only what was seen in recordings: the server may speak more
	// revisions.
	Recorded bool
	// Unlisted are the methods of the lists that are not here, or not to their end.
	Unlisted                             []string
	Server                               string // its name
	Capabilities                         map[string]any
	Tools, Prompts, Resources, Templates []map[string]any
}

// list is a kind of what a server lists.
type list struct {
	member, method, one, key string
	of                       func(*Contract) *[]map[string]any
	schemas                  []string // its members that are JSON Schemas
	volatile                 []string // paths of members that tell of contents, and change with them
}

// lists are all kinds, in the order of the file.
func lists() []list {
	changing := []string{"size", "annotations.lastModified"}
	return []list{
		{
			"tools", "tools/list", "tool", "name", func(c *Contract) *[]map[string]any { return &c.Tools },
			[]string{"inputSchema", "outputSchema"}, nil,
		},
		{
			"prompts", "prompts/list", "prompt", "name",
			func(c *Contract) *[]map[string]any { return &c.Prompts }, nil, nil,
		},
		{
			"resources", "resources/list", "resource", "uri",
			func(c *Contract) *[]map[string]any { return &c.Resources }, nil, changing,
		},
		{
			"templates", "resources/templates/list", "template", "uriTemplate",
			func(c *Contract) *[]map[string]any { return &c.Templates }, nil, changing,
		},
	}
}

// Normal returns the contract in a form that does not depend on the order in which a server
// lists things: sorted, and without what tells of contents rather than of what is offered.
func (c Contract) Normal() *Contract {
	c.Revisions, c.Unlisted = sorted(c.Revisions), sorted(c.Unlisted)
	c.Capabilities, _ = plain(c.Capabilities).(map[string]any)
	for _, kind := range lists() {
		items := make([]map[string]any, 0, len(*kind.of(&c)))
		for _, item := range *kind.of(&c) {
			copied, _ := plain(item).(map[string]any)
			for _, path := range kind.volatile {
				remove(copied, path)
			}
			for _, member := range kind.schemas {
				sortSets(copied[member])
			}
			if arguments, isList := copied["arguments"].([]any); isList && kind.member == "prompts" {
				slices.SortStableFunc(arguments, byName)
			}
			items = append(items, copied)
		}
		slices.SortFunc(items, func(a, b map[string]any) int {
			return cmp.Or(cmp.Compare(text(a[kind.key]), text(b[kind.key])), cmp.Compare(compact(a), compact(b)))
		})
		*kind.of(&c) = items
	}
	return &c
}

func sorted(texts []string) []string { return slices.Compact(slices.Sorted(slices.Values(texts))) }

func byName(a, b any) int {
	first, _ := a.(map[string]any)
	second, _ := b.(map[string]any)
	return cmp.Compare(text(first["name"]), text(second["name"]))
}

// text is a value that should be a text.
func text(value any) string {
	if text, is := value.(string); is {
		return text
	}
	return compact(value)
}

// plain copies a value as JSON has it, with numbers as they are written.
func plain(value any) any {
	encoded, err := json.Marshal(value)
	if err != nil {
		return nil // it came as JSON
	}
	decoder := json.NewDecoder(bytes.NewReader(encoded))
	decoder.UseNumber()
	var copied any
	_ = decoder.Decode(&copied) // it was just written
	return copied
}

// compact writes a value as JSON with sorted members.
func compact(value any) string {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(value) // it came as JSON
	return string(bytes.TrimSpace(text.Bytes()))
}

// remove removes the member at a path with a dot between names, and what it leaves empty.
func remove(object map[string]any, path string) {
	before, after, deeper := strings.Cut(path, ".")
	if !deeper {
		delete(object, path)
		return
	}
	if inner, isObject := object[before].(map[string]any); isObject {
		if remove(inner, after); len(inner) == 0 {
			delete(object, before)
		}
	}
}

// Keywords of JSON Schema, by what their values are.
var (
	setKeywords    = []string{"required", "enum", "type"}
	schemaKeywords = []string{
		"additionalProperties", "items", "not", "if", "then", "else", "contains", "propertyNames",
		"unevaluatedItems", "unevaluatedProperties",
	}
	listKeywords = []string{"anyOf", "oneOf", "allOf", "prefixItems"}
	mapKeywords  = []string{"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"}
)

// sortSets sorts the lists of a schema that are sets.
func sortSets(schema any) {
	object, isObject := schema.(map[string]any)
	if !isObject {
		return
	}
	for _, keyword := range setKeywords {
		if set, isList := object[keyword].([]any); isList {
			slices.SortFunc(set, func(a, b any) int { return cmp.Compare(compact(a), compact(b)) })
		}
	}
	for _, keyword := range schemaKeywords {
		sortSets(object[keyword])
	}
	for _, keyword := range listKeywords {
		all, _ := object[keyword].([]any)
		for _, one := range all {
			sortSets(one)
		}
	}
	for _, keyword := range mapKeywords {
		all, _ := object[keyword].(map[string]any)
		for _, one := range all {
			sortSets(one)
		}
	}
}

// keysOf are the keys of several maps, each once, sorted.
func keysOf(all ...map[string]any) []string {
	keys := map[string]bool{}
	for _, one := range all {
		for key := range one {
			keys[key] = true
		}
	}
	return slices.Sorted(maps.Keys(keys))
}
