package wire

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpconform/mcpconform/internal/rules"
)

// headerKeyword is the keyword of a schema that names the header which repeats an
// argument (2026-07-28, basic/transports/streamable-http#schema-extension).
const headerKeyword = "x-mcp-header"

// headers are the rules about the annotations x-mcp-header of the tools that are
// listed, which two pages state.
func headers() []rules.Rule {
	return []rules.Rule{
		{
			Text:         "sets no empty x-mcp-header",
			Requirements: []string{"tools.header.named", "transports.http.params.named"},
			Judge: judgeAnnotations(func(one annotation) string {
				if one.value == "" {
					return "an empty name"
				}
				return ""
			}, "a name for the header"),
		},
		{
			Text:         "sets x-mcp-header to a token that is valid as a header name",
			Requirements: []string{"tools.header.token", "transports.http.params.token"},
			Judge: judgeAnnotations(func(one annotation) string {
				text, isText := one.value.(string)
				if !isText || text != "" && !hasControl(text) && !isToken(text) {
					return rules.Show(one.value)
				}
				return ""
			}, "a token, as the name of a header is: letters, digits and some signs, without spaces"),
		},
		{
			Text:         "sets x-mcp-header without control characters",
			Requirements: []string{"tools.header.printable", "transports.http.params.control"},
			Judge: judgeAnnotations(func(one annotation) string {
				if hasControl(one.text()) {
					return rules.Show(one.value)
				}
				return ""
			}, "a name without control characters"),
		},
		{
			Text:         "sets a different x-mcp-header on each parameter of a tool, whatever its case",
			Requirements: []string{"tools.header.unique", "transports.http.params.unique"},
			Judge:        sharedHeaders,
		},
		{
			Text:         "sets x-mcp-header only on integer, string and boolean parameters",
			Requirements: []string{"tools.header.primitive", "transports.http.params.primitive"},
			Judge: judgeAnnotations(func(one annotation) string {
				if mayBeHeader(one.schema["type"]) {
					return ""
				}
				return "a parameter of the type " + rules.Show(one.schema["type"])
			}, "a parameter of the type integer, string or boolean"),
		},
		{
			Text:         "sets x-mcp-header only on parameters that are reached by properties alone",
			Requirements: []string{"tools.header.reachable", "transports.http.params.reachable"},
			Judge: judgeAnnotations(func(one annotation) string {
				if one.reachable() || one.barred() != "" {
					return "" // what is barred has a rule of its own
				}
				return "one that is reached otherwise"
			}, "the annotation of a parameter that is reached from the root by properties alone"),
		},
		{
			Text:         "sets no x-mcp-header inside an array, composition, condition or reference of inputSchema",
			Requirements: []string{"transports.http.params.chain", "tools.header.reachable"},
			Judge: judgeAnnotations(func(one annotation) string {
				if keyword := one.barred(); keyword != "" {
					return "one that is reached through " + keyword
				}
				return ""
			}, "the annotation of a parameter that is reached from the root by properties alone"),
		},
	}
}

// An annotation is one x-mcp-header in the input schema of a tool.
type annotation struct {
	place
	schema rules.Object // that has it
	path   []string     // keywords and names from the root of the input schema to the schema
}

// judgeAnnotations makes the judge of a rule about single annotations: what is wrong with
// one, "" when nothing is.
func judgeAnnotations(wrong func(annotation) string, wanted string) judge {
	return func(conversation *rules.Conversation, reporter *rules.Reporter) {
		for _, tool := range withAnnotations(conversation) {
			for _, one := range annotationsOf(tool.place) {
				reporter.Observe()
				if found := wrong(one); found != "" {
					reporter.Violation(tool.said, rules.Mismatch{Wanted: wanted, Found: found, Where: one.pointer})
				}
			}
		}
	}
}

func sharedHeaders(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, tool := range withAnnotations(conversation) {
		known := map[string]annotation{}
		for _, one := range annotationsOf(tool.place) {
			if len(known) > 0 { // one alone is always unique
				reporter.Observe()
			}
			name := strings.ToLower(one.text())
			first, taken := known[name]
			if taken && name != "" {
				reporter.Violation(tool.said, rules.Mismatch{
					Wanted: "a name that no other parameter of the tool has, in whatever case",
					Found:  fmt.Sprintf("%s, as at %s", rules.Show(one.value), first.pointer),
					Where:  one.pointer,
				})
			}
			known[name] = one
		}
	}
}

// reachable tells whether properties alone lead to the schema, and at least one
// does.
func (a annotation) reachable() bool {
	for index, step := range a.path {
		if index%2 == 0 && step != "properties" {
			return false
		}
	}
	return len(a.path) > 0
}

// barred returns the keyword on the way to the schema that the specification names
// as one which may not be there, or "".
func (a annotation) barred() string {
	// Names of properties stand behind keywords that have them, and are none.
	for index := 0; index < len(a.path); index++ {
		keyword := a.path[index]
		if slices.Contains(barring, keyword) {
			return keyword
		}
		if slices.Contains(mapsOfSchemas, keyword) {
			index++
		}
	}
	return ""
}

// barring are the keywords of arrays, compositions and conditions, and those whose
// schemas only a $ref leads to.
var barring = []string{
	"items", "prefixItems", "contains", "additionalItems", "unevaluatedItems",
	"oneOf", "anyOf", "allOf", "not", "if", "then", "else", "$defs", "definitions",
}

// Keywords of JSON Schema whose value is a schema, a list of some, or a map of some
// by name. What other keywords hold is no schema, whatever it looks like.
var (
	schemaKeywords = []string{
		"items", "contains", "additionalItems", "unevaluatedItems", "not", "if", "then", "else",
		"additionalProperties", "unevaluatedProperties", "propertyNames", "contentSchema",
	}
	listsOfSchemas = []string{"prefixItems", "items", "oneOf", "anyOf", "allOf"}
	mapsOfSchemas  = []string{"properties", "patternProperties", "dependentSchemas", "$defs", "definitions"}
)

// maxSchemaDepth bounds the schemas in one another that are looked through.
const maxSchemaDepth = 64

// withAnnotations returns the listed tools of messages that have the keyword, or hide it
// behind escapes: the others need no long look.
func withAnnotations(conversation *rules.Conversation) []found {
	return slices.DeleteFunc(listed(conversation, "tools/list"), func(tool found) bool {
		return !bytes.Contains(tool.said.Raw, []byte(headerKeyword)) && !bytes.Contains(tool.said.Raw, []byte(`\u`))
	})
}

// annotationsOf finds the annotations in the input schema of a tool, in the order of
// their places.
func annotationsOf(tool place) []annotation {
	schema, _ := tool.member("inputSchema")
	var all []annotation
	collectAnnotations(&all, schema, nil)
	slices.SortFunc(all, func(a, b annotation) int { return strings.Compare(a.pointer, b.pointer) })
	return all
}

func collectAnnotations(all *[]annotation, schema place, path []string) {
	object := schema.object()
	if object == nil || len(path) > maxSchemaDepth {
		return
	}
	if value, there := schema.member(headerKeyword); there {
		*all = append(*all, annotation{value, object, path})
	}
	follow := func(to place, steps ...string) {
		collectAnnotations(all, to, append(slices.Clip(path), steps...))
	}
	for _, keyword := range schemaKeywords {
		if inner, there := schema.member(keyword); there {
			follow(inner, keyword)
		}
	}
	for _, keyword := range listsOfSchemas {
		for _, inner := range schema.items(keyword) {
			follow(inner, keyword)
		}
	}
	for _, keyword := range mapsOfSchemas {
		named, _ := schema.member(keyword)
		for name, inner := range named.object() {
			follow(place{named.pointer + "/" + escape(name), inner}, keyword, name)
		}
	}
}

// mayBeHeader tells whether the type of a schema allows no values but those that a
// header can repeat. A schema that says none may say it otherwise; null repeats
// nothing.
func mayBeHeader(value any) bool {
	primitive := func(name any) bool { return name == "string" || name == "integer" || name == "boolean" }
	switch value := value.(type) {
	case nil:
		return true
	case []any:
		return !slices.ContainsFunc(value, func(name any) bool { return name != "null" && !primitive(name) })
	}
	return primitive(value)
}

// isToken tells whether a text is a token (RFC 9110, section 5.6.2).
func isToken(text string) bool {
	for _, char := range []byte(text) {
		letter, digit := 'a' <= char|0x20 && char|0x20 <= 'z', '0' <= char && char <= '9'
		if !letter && !digit && !strings.ContainsRune("!#$%&'*+-.^_`|~", rune(char)) {
			return false
		}
	}
	return text != ""
}

func hasControl(text string) bool {
	return strings.ContainsFunc(text, func(char rune) bool { return char < 0x20 || char == 0x7F })
}
