package schema

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	_ "embed" // of what was published
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/protocol"
)

// maxDraft bounds the bytes of a draft: the largest published schema has less than 200 kilobytes.
const maxDraft = 4 << 20

// publishedText has the fingerprint of each definition of the newest release as it was published, one a line.
//
//go:embed published.txt
var publishedText string

// fingerprints are those by the names of the definitions.
var fingerprints = sync.OnceValue(func() map[string]string {
	found := map[string]string{}
	for lines := bufio.NewScanner(strings.NewReader(publishedText)); lines.Scan(); {
		name, mark, _ := strings.Cut(lines.Text(), " ")
		found[name] = mark
	}
	return found
})

// Draft is the schema of what is to become the next revision. Messages are judged by those of its definitions that
// differ from what was published for the newest release, and by ours of that release elsewhere: ours mend what the
// published ones have wrong.
type Draft struct {
	Document []byte   // as it was read
	Changed  []string // the definitions that differ from those of the newest release, or are new, sorted
	Gone     []string // those of the newest release that the draft has not, sorted

	schema *Schema
}

// ReadDraft reads a draft in the form in which schemas of the specification are published. An error is one line.
func ReadDraft(from io.Reader) (draft *Draft, err error) {
	defer recovered("the schema", &err)
	text, err := io.ReadAll(io.LimitReader(from, maxDraft+1))
	if err != nil {
		return nil, err
	}
	definitions, err := readDefinitions(text)
	if err != nil {
		return nil, err
	}
	ours, err := For(protocol.Newest())
	if err != nil {
		return nil, err
	}
	draft = &Draft{Document: text}
	judging := maps.Clone(ours.definitions) // what is gone may still be what others of ours refer to
	for _, name := range slices.Sorted(maps.Keys(definitions)) {
		if fingerprint(definitions[name]) != fingerprints()[name] {
			draft.Changed = append(draft.Changed, name)
			judging[name] = withDecimals(definitions[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(fingerprints())) {
		if _, there := definitions[name]; !there {
			draft.Gone = append(draft.Gone, name)
		}
	}
	draft.schema, err = newSchema(
		"urn:mcpconform:draft", ours.revision,
		map[string]any{"$schema": jsonschema.Draft2020.String(), "$defs": judging},
	)
	if err != nil {
		return nil, err
	}
	draft.schema.draft = true
	draft.schema.whole = slices.ContainsFunc(
		draft.Changed,
		func(name string) bool { return demandsItems(definitions[name]) },
	)
	return draft, draft.schema.sound()
}

// readDefinitions reads the definitions of a schema.
func readDefinitions(text []byte) (map[string]any, error) {
	if len(text) > maxDraft {
		return nil, fmt.Errorf("it is larger than %d bytes", maxDraft)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if wrong, is := errors.AsType[*json.SyntaxError](err); is {
		return nil, fmt.Errorf(
			"line %d is not JSON: %w",
			1+bytes.Count(text[:min(int(wrong.Offset), len(text))], []byte("\n")),
			err,
		)
	}
	if err != nil {
		return nil, fmt.Errorf("it is not JSON: %w", err)
	}
	document, _ := value.(map[string]any)
	if named, is := document["$schema"].(string); is && named != jsonschema.Draft2020.String() {
		return nil, fmt.Errorf(
			"at /$schema: expected %s; found %s",
			quote(jsonschema.Draft2020.String()),
			describe(named),
		)
	}
	definitions, is := document["$defs"].(map[string]any)
	if !is {
		return nil, errors.New(`it has no object "$defs", where the definitions of the specification are`)
	}
	return definitions, nil
}

// sound makes sure that all definitions can be compiled, and that messages are found.
func (s *Schema) sound() error {
	for _, union := range messageUnions {
		if s.definitions[union.name] != nil && len(alternatives(s.definitions[union.name])) == 0 {
			return fmt.Errorf(`at /$defs/%s: expected "anyOf" with references to messages; found none`, union.name)
		}
	}
	for _, name := range s.Definitions() {
		if _, err := s.compile(jsonrpc.Pointer(name)[1:]); err != nil {
			return errors.New(invalid(err, s.document, s.address)[0].String())
		}
	}
	return nil
}

// Use judges by the draft in the place of the newest release, in this process and from now on. Nothing may have asked
// for that schema before.
func (d *Draft) Use() {
	load[d.schema.revision] = func() *Schema { return d.schema }
}

// unlisted are the methods that no revision had when methodTable was written, by the names that all go by: a
// FooRequest is answered with a FooResult.
func (s *Schema) unlisted() []Method {
	var methods []Method
	for _, union := range messageUnions {
		for _, message := range alternatives(s.definitions[union.name]) {
			name, _ := at(s.definitions[message], []string{"properties", "method", "const"}).(string)
			known := slices.ContainsFunc(slices.Concat(methodTable, methods), func(m Method) bool {
				return m.Message == message || m.Name == name
			})
			if name == "" || known {
				continue
			}
			method := Method{Name: name, Message: message}
			if request, is := strings.CutSuffix(message, "Request"); is {
				if method.Result = request + "Result"; s.definitions[method.Result] == nil {
					method.Result = "Result"
				}
			}
			methods = append(methods, method)
		}
	}
	return methods
}

// fingerprint is the same for definitions that differ only in what they say to people, or in the order of what has
// none.
func fingerprint(definition any) string {
	text, err := json.Marshal(meaning(definition))
	if err != nil {
		panic(err) // it was decoded from JSON
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// The keywords of a schema that judge nothing, and those whose values have no order.
var (
	remarksOf = []string{"$comment", "default", "deprecated", "description", "examples", "title"}
	setsOf    = []string{"allOf", "anyOf", "enum", "oneOf", "required", "type"}
)

// meaning is what of a schema judges.
func meaning(schema any) any {
	switch schema := schema.(type) {
	case []any:
		return mapped(schema, meaning)
	case map[string]any:
		meant := make(map[string]any, len(schema))
		for keyword, value := range schema {
			switch byName, isObject := value.(map[string]any); {
			case slices.Contains(remarksOf, keyword):
			case keyword == "const":
				meant[keyword] = value
			case isObject && slices.Contains(schemasByName, keyword):
				named := make(map[string]any, len(byName))
				for name, one := range byName {
					named[name] = meaning(one)
				}
				meant[keyword] = named
			default:
				meant[keyword] = meaning(value)
			}
			if list, isList := meant[keyword].([]any); isList && slices.Contains(setsOf, keyword) {
				meant[keyword] = sorted(list)
			}
		}
		return meant
	}
	return schema
}

// sorted is a list in the order of its texts.
func sorted(list []any) []any {
	texts := map[string]any{}
	for _, one := range list {
		text, _ := json.Marshal(one)
		texts[string(text)] = one
	}
	var all []any
	for _, text := range slices.Sorted(maps.Keys(texts)) {
		all = append(all, texts[text])
	}
	return all
}

func mapped(list []any, by func(any) any) []any {
	all := make([]any, len(list))
	for i, one := range list {
		all[i] = by(one)
	}
	return all
}

// demandsItems tells whether a schema can hold for an array and not for one with fewer items.
func demandsItems(schema any) bool {
	switch schema := schema.(type) {
	case []any:
		return slices.ContainsFunc(schema, demandsItems)
	case map[string]any:
		for keyword, value := range schema {
			_, counts := value.(json.Number) // a property may have the name
			if keyword == "minItems" && counts || keyword == "contains" || demandsItems(value) {
				return true
			}
		}
	}
	return false
}

// decimals are the types that published schemas name where the specification has string | number | boolean.
var decimals = []any{"boolean", "integer", "string"}

// withDecimals mends that in a definition.
func withDecimals(definition any) any {
	switch definition := definition.(type) {
	case []any:
		return mapped(definition, withDecimals)
	case map[string]any:
		mended := make(map[string]any, len(definition))
		for keyword, value := range definition {
			mended[keyword] = withDecimals(value)
			if list, isList := value.([]any); isList && keyword == "type" && slices.Equal(sorted(list), decimals) {
				mended[keyword] = []any{"boolean", "number", "string"}
			}
		}
		return mended
	}
	return definition
}
