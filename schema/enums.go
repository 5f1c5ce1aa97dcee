package schema

import (
	"encoding/json"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
)

// strictEnums are the dialects whose text only recommends that "enum" has values, and none twice (JSON Schema
// Validation, draft-06, section 6.23, and draft-07, section 6.1.2), and whose meta-schemas demand it in the library.
var strictEnums = []*jsonschema.Draft{jsonschema.Draft6, jsonschema.Draft7}

// schemasByName are the keywords whose members are named by the author of a schema.
var schemasByName = []string{"properties", "patternProperties", "definitions", "$defs", "dependencies"}

// withStrictEnums returns a schema that means the same and has no enum that is empty or has a value twice.
func withStrictEnums(schema any) any {
	switch schema := schema.(type) {
	case []any:
		strict := make([]any, len(schema))
		for i, one := range schema {
			strict[i] = withStrictEnums(one)
		}
		return strict
	case map[string]any:
		strict := make(map[string]any, len(schema))
		for keyword, value := range schema {
			strict[keyword] = strictValue(keyword, value)
		}
		if values, isList := schema["enum"].([]any); isList && len(values) == 0 {
			delete(strict, "enum")
			strict["not"] = true // nothing is allowed
		}
		return strict
	}
	return schema
}

func strictValue(keyword string, value any) any {
	byName, isObject := value.(map[string]any)
	switch {
	case keyword == "const" || keyword == "default" || keyword == "examples":
		return value
	case keyword == "enum":
		return unlike(value)
	case isObject && slices.Contains(schemasByName, keyword):
		strict := make(map[string]any, len(byName))
		for name, schema := range byName {
			strict[name] = withStrictEnums(schema)
		}
		return strict
	}
	return withStrictEnums(value)
}

// unlike drops what is there twice, by its value: 1.0 is 1.
func unlike(value any) any {
	values, isList := value.([]any)
	if !isList {
		return value
	}
	plain := map[jsonrpc.ID]bool{} // there may be thousands of texts and numbers
	var other []any
	return slices.DeleteFunc(slices.Clone(values), func(one any) bool {
		switch one.(type) {
		case string, json.Number:
			id := jsonrpc.IDOf(one)
			defer func() { plain[id] = true }()
			return plain[id]
		}
		if slices.ContainsFunc(other, func(before any) bool { return jsonrpc.Equal(before, one) }) {
			return true
		}
		other = append(other, one)
		return false
	})
}
