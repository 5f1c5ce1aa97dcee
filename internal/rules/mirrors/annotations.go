package mirrors

import (
	"bytes"
	"slices"
	"strings"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/rules/places"
)

// HeaderKeyword is the keyword of a schema that names the header which repeats an
// argument (2026-07-28, basic/transports/streamable-http#schema-extension).
const HeaderKeyword = "x-mcp-header"

// An Annotation is one x-mcp-header in the input schema of a tool.
type Annotation struct {
	places.Place
	Schema rules.Object // that has it
	path   []string     // keywords and names from the root of the input schema to the schema
}

// Reachable tells whether properties alone lead to the schema, and at least one
// does.
func (a Annotation) Reachable() bool {
	for index, step := range a.path {
		if index%2 == 0 && step != "properties" {
			return false
		}
	}
	return len(a.path) > 0
}

// Barred returns the keyword on the way to the schema that the specification names
// as one which may not be there, or "".
func (a Annotation) Barred() string {
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
// by name. What other keywords hold is not a schema, even if it looks like one.
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

// AnnotatedTool is a tool that was listed, with the annotations in its input schema.
type AnnotatedTool struct {
	places.Found
	Annotations []Annotation
}

// AnnotatedTools are those of the target that have some.
func AnnotatedTools(conversation *rules.Conversation) []AnnotatedTool {
	return rules.Shared(conversation, "annotated tools", func(conversation *rules.Conversation) (all []AnnotatedTool) {
		for _, tool := range places.Listed(conversation, "tools/list") {
			if raw := tool.Said.Raw; !bytes.Contains(raw, []byte(HeaderKeyword)) && !bytes.Contains(raw, []byte(`\u`)) {
				continue // it does not hide behind escapes either, so the tool needs no long look
			}
			if annotations := AnnotationsOf(tool.Place); len(annotations) > 0 {
				all = append(all, AnnotatedTool{tool, annotations})
			}
		}
		return all
	})
}

// AnnotationsOf finds the annotations in the input schema of a tool, in the order of
// their places.
func AnnotationsOf(tool places.Place) []Annotation {
	schema, _ := tool.Member("inputSchema")
	var all []Annotation
	collectAnnotations(&all, schema, nil)
	slices.SortFunc(all, func(a, b Annotation) int { return strings.Compare(a.Pointer, b.Pointer) })
	return all
}

func collectAnnotations(all *[]Annotation, schema places.Place, path []string) {
	object := schema.Object()
	if object == nil || len(path) > maxSchemaDepth {
		return
	}
	if value, there := schema.Member(HeaderKeyword); there {
		*all = append(*all, Annotation{value, object, path})
	}
	follow := func(to places.Place, steps ...string) {
		collectAnnotations(all, to, append(slices.Clip(path), steps...))
	}
	for _, keyword := range schemaKeywords {
		if inner, there := schema.Member(keyword); there {
			follow(inner, keyword)
		}
	}
	for _, keyword := range listsOfSchemas {
		for _, inner := range schema.Items(keyword) {
			follow(inner, keyword)
		}
	}
	for _, keyword := range mapsOfSchemas {
		named, _ := schema.Member(keyword)
		for name, inner := range named.Object() {
			follow(places.Place{Pointer: named.Pointer + jsonrpc.Pointer(name), Value: inner}, keyword, name)
		}
	}
}

// MayBeHeader tells whether the type of a schema allows no values but those that a
// header can repeat. A schema that says none may say it otherwise; null repeats
// nothing.
func MayBeHeader(value any) bool {
	primitive := func(name any) bool { return name == "string" || name == "integer" || name == "boolean" }
	switch value := value.(type) {
	case nil:
		return true
	case []any:
		return !slices.ContainsFunc(value, func(name any) bool { return name != "null" && !primitive(name) })
	}
	return primitive(value)
}

// IsToken tells whether a text is a token (RFC 9110, section 5.6.2).
func IsToken(text string) bool {
	for _, char := range []byte(text) {
		letter, digit := 'a' <= char|0x20 && char|0x20 <= 'z', '0' <= char && char <= '9'
		if !letter && !digit && !strings.ContainsRune("!#$%&'*+-.^_`|~", rune(char)) {
			return false
		}
	}
	return text != ""
}
