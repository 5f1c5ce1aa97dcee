package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

func mustCompile(t testing.TB, text string) *Compiled {
	t.Helper()
	compiled, err := Compile(decode(t, text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return compiled
}

func TestCompileKnowsDialects(t *testing.T) {
	t.Parallel()
	for uri, want := range map[string]string{
		"": "https://json-schema.org/draft/2020-12/schema",
		"https://json-schema.org/draft/2020-12/schema":  "https://json-schema.org/draft/2020-12/schema",
		"https://json-schema.org/draft/2019-09/schema#": "https://json-schema.org/draft/2019-09/schema",
		"http://json-schema.org/draft-07/schema#":       "http://json-schema.org/draft-07/schema",
		"https://json-schema.org/draft-07/schema":       "http://json-schema.org/draft-07/schema",
		"http://json-schema.org/draft-06/schema#":       "http://json-schema.org/draft-06/schema",
		"http://json-schema.org/draft-04/schema":        "http://json-schema.org/draft-04/schema",
	} {
		document := map[string]any{"type": "object"}
		if uri != "" {
			document["$schema"] = uri
		}
		compiled, err := Compile(document)
		if err != nil {
			t.Errorf("%s: %v", uri, err)
		} else if compiled.Dialect != want {
			t.Errorf("%s: got %s, want %s", uri, compiled.Dialect, want)
		}
	}
}

// The dialect decides what a keyword means.
func TestCompileHonoursTheDialect(t *testing.T) {
	t.Parallel()
	const schema = `{"$schema": %q, "$ref": "#/definitions/a", "maxLength": 1, "definitions": {"a": {"type": "string"}}}`
	for uri, want := range map[string]int{
		"http://json-schema.org/draft-07/schema#":      0, // all beside $ref is ignored
		"https://json-schema.org/draft/2020-12/schema": 1,
	} {
		found, err := mustCompile(t, fmt.Sprintf(schema, uri)).Validate("long")
		if err != nil || len(found) != want {
			t.Errorf("%s: got %v, %v; want %d violations", uri, found, err, want)
		}
	}
}

func TestCompileRefuses(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, schema string
		kind         error // nil: an *InvalidError
		want         string
	}{
		{"an unknown dialect", `{"$schema": "https://example.com/schema"}`, ErrUnknownDialect,
			`unknown JSON Schema dialect "https://example.com/schema": expected one of https://json-schema.org/draft/2020-12/schema, https://json-schema.org/draft/2019-09/schema, http://json-schema.org/draft-07/schema, http://json-schema.org/draft-06/schema, http://json-schema.org/draft-04/schema`},
		{"a file", `{"$ref": "file:///etc/passwd"}`, ErrExternalReference, `the schema refers to a document outside of itself: "file:///etc/passwd"`},
		{"a page", `{"properties": {"a": {"$ref": "https://example.com/a.json#/b"}}}`, ErrExternalReference,
			`the schema refers to a document outside of itself: "https://example.com/a.json"`},
		{"a neighbour", `{"$id": "http://example.com/x/", "$ref": "y"}`, ErrExternalReference,
			`the schema refers to a document outside of itself: "http://example.com/x/y"`},
		{"a relative file", `{"properties": {"a": {"$ref": "types.json#/$defs/a"}}}`, ErrExternalReference,
			`the schema refers to a document outside of itself: "types.json"`},
		{"a relative file as a whole", `{"properties": {"a": {"$ref": "../types.json"}}}`, ErrExternalReference,
			`the schema refers to a document outside of itself: "types.json"`},
		{"a lookahead", `{"type": "string", "pattern": "^(?=a)"}`, ErrCannotJudge,
			"cannot judge: the regular expression \"^(?=a)\": error parsing regexp: invalid or unsupported Perl syntax: `(?=`"},
		{"a lookahead in names", `{"patternProperties": {"(?!a)": true}}`, ErrCannotJudge,
			"cannot judge: the regular expression \"(?!a)\": error parsing regexp: invalid or unsupported Perl syntax: `(?!`"},
		{"endless patterns", `{"pattern": "` + strings.Repeat("a", maxPatterns+1) + `"}`, ErrCannotJudge,
			`cannot judge: the regular expressions are longer than 32768 bytes`},
		{"many states", `{"allOf": [` + strings.TrimSuffix(numbered(`{"pattern": "(a{1,500}){1,2}b%d"},`, 200), ",") + `]}`, ErrCannotJudge,
			`cannot judge: the regular expressions have more than 100000 states`},
		{"too deep a schema", strings.Repeat(`{"not":`, maxSchemaDepth) + `{}` + strings.Repeat(`}`, maxSchemaDepth), ErrCannotJudge,
			"cannot judge: the schema is nested more than 256 deep"},
		{"too large a schema", `{"enum": [0` + strings.Repeat(`,0`, maxSchemaNodes) + `]}`, ErrCannotJudge,
			"cannot judge: the schema holds more than 10000 values"},
		{"a wrong type", `{"type": "strin"}`, nil,
			"not a valid schema of https://json-schema.org/draft/2020-12/schema\n\tat /type: expected one of \"array\", \"boolean\", \"integer\", \"null\", \"number\", \"object\", \"string\"; found \"strin\""},
		{"a wrong place", `{"properties": {"a": {"minLength": -1, "title": 3, "required": "a"}}}`, nil,
			"not a valid schema of https://json-schema.org/draft/2020-12/schema\n\tat /properties/a/minLength: expected a number of at least 0; found -1\n\tat /properties/a/required: expected an array; found \"a\"\n\tat /properties/a/title: expected a string; found 3"},
		{"no schema at all", `[1]`, nil,
			"not a valid schema of https://json-schema.org/draft/2020-12/schema\n\texpected a boolean or an object; found an array of 1 item"},
		{"null", `null`, nil,
			"not a valid schema of https://json-schema.org/draft/2020-12/schema\n\texpected a boolean or an object; found null"},
		{"a tuple of an older draft", `{"items": [{}]}`, nil,
			"not a valid schema of https://json-schema.org/draft/2020-12/schema\n\tat /items: expected a boolean or an object; found an array of 1 item"},
		{"a reference to nowhere", `{"$ref": "#/$defs/a"}`, nil,
			"not a valid schema of https://json-schema.org/draft/2020-12/schema\n\texpected references and identifiers that can be resolved; found json-pointer in \"#/$defs/a\" not found"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := Compile(decode(t, c.schema))
			if err == nil {
				t.Fatal("compiled")
			}
			var invalid *InvalidError
			if errors.As(err, &invalid) != (c.kind == nil) || c.kind != nil && !errors.Is(err, c.kind) {
				t.Errorf("a %T", err)
			}
			if diff := cmp.Diff(c.want, err.Error()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Until 2019-09 the text of JSON Schema recommends what meta-schemas in use demand of enum; only draft-04 demands it.
func TestEnumsThatAreEmptyOrRepeat(t *testing.T) {
	t.Parallel()
	const empty, twice = `{"properties":{"default":{"enum":[]}}}`, `{"properties":{"default":{"enum":["a",1,"a",1.0]}}}`
	for _, dialect := range dialects {
		for _, c := range []struct {
			schema, instance string
			conforms         bool
		}{
			{empty, `{}`, true}, {empty, `{"default":"a"}`, false},
			{twice, `{"default":"a"}`, true}, {twice, `{"default":1}`, true}, {twice, `{"default":"b"}`, false},
		} {
			document := decode(t, c.schema).(map[string]any)
			document["$schema"] = dialect.String()
			compiled, err := Compile(document)
			if dialect == jsonschema.Draft4 {
				if _, invalid := errors.AsType[*InvalidError](err); !invalid {
					t.Errorf("%s of %s: %v", c.schema, dialect, err)
				}
				continue
			}
			if err != nil {
				t.Errorf("%s of %s: %v", c.schema, dialect, err)
				continue
			}
			found, err := compiled.Validate(decode(t, c.instance))
			if err != nil || (len(found) == 0) != c.conforms {
				t.Errorf("%s by %s of %s: %v, %v", c.instance, c.schema, dialect, found, err)
			}
		}
	}
}

func TestCompileReadsECMAScript(t *testing.T) {
	t.Parallel()
	for pattern, matches := range map[string]string{
		`^\u0041\cA[^]\/\d$`: "A\x01\n/7", `^\u{1F600}$`: "\U0001F600", `^\\u0041$`: `\u0041`, `^(?<year>\d{4})-\d\d$`: "2025-11",
	} {
		compiled, err := Compile(map[string]any{"pattern": pattern})
		if err != nil {
			t.Errorf("%s: %v", pattern, err)
			continue
		}
		if found, err := compiled.Validate(matches); err != nil || len(found) > 0 {
			t.Errorf("%s does not match %q: %v, %v", pattern, matches, found, err)
		}
	}
}

func TestCompiledValidate(t *testing.T) {
	t.Parallel()
	compiled := mustCompile(t, `{
		"type": "object",
		"properties": {
			"city": {"type": "string", "minLength": 2},
			"unit": {"enum": ["C", "F"]},
			"when": {"type": "string", "format": "date"},
			"place": {"$ref": "#/$defs/Place"}
		},
		"required": ["city"],
		"additionalProperties": false,
		"$defs": {"Place": {"type": "object", "required": ["lat"], "not": {"required": ["x"]}, "properties": {"lat": {"exclusiveMaximum": 90.5}}}}
	}`)
	for value, want := range map[string][]string{
		`{"city": "Rome", "unit": "C", "when": "tomorrow"}`: nil, // a format is a remark
		`{"unit": "K", "x": 1}`: {
			`expected member "city"; found an object with members unit, x`,
			`at /unit: expected one of "C", "F"; found "K"`,
			`at /x: expected no member "x"; found 1`,
		},
		`{"city": "é", "place": {"lat": 90.5, "x": 0}}`: {
			`at /city: expected at least 2 characters; found "é" (1 character)`,
			`at /place: expected a value that "not" does not describe; found an object with members lat, x (Place)`,
			`at /place/lat: expected a number below 90.5; found 90.5 (Place)`,
		},
	} {
		found, err := compiled.Validate(decode(t, value))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, lines(found)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", value, diff)
		}
	}
}

// Every keyword has its words.
func TestKeywordsInWords(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ schema, value, want string }{
		{`{"minItems": 2}`, `[1]`, `expected at least 2 items; found an array of 1 item`},
		{`{"maxItems": 1}`, `[1, 2]`, `expected at most 1 item; found an array of 2 items`},
		{`{"uniqueItems": true}`, `[1, 2, 1]`, `expected items that differ; found equal items 0 and 2`},
		{`{"contains": {"const": 1}}`, `[]`, `expected an item as "contains" describes it; found an empty array`},
		{`{"contains": {"const": 1}, "minContains": 2}`, `[1]`, `expected at least 2 items as "contains" describes them; found an array of 1 item`},
		{`{"contains": {"const": 1}, "maxContains": 1}`, `[1, 1]`, `expected at most 1 item as "contains" describes them; found an array of 2 items`},
		{`{"prefixItems": [{}], "items": false}`, `[1, 2]`, `at /1: expected no item here; found 2`},
		{`{"$schema": "http://json-schema.org/draft-07/schema", "items": [{}], "additionalItems": false}`, `[1, 2]`, `expected no further items; found an array of 2 items, 1 too many`},
		{`{"minProperties": 1}`, `{}`, `expected at least 1 member; found an empty object`},
		{`{"maxProperties": 1}`, `{"a": 1, "b": 2}`, `expected at most 1 member; found an object with members a, b`},
		{`{"propertyNames": {"maxLength": 1}}`, `{"long": 1}`, `expected members named as "propertyNames" says; found member "long"`},
		{`{"dependentRequired": {"a": ["b"]}}`, `{"a": 1}`, `expected member "b", because "a" is there; found an object with only the member a`},
		{`{"$schema": "http://json-schema.org/draft-07/schema", "dependencies": {"a": ["b"]}}`, `{"a": 1}`, `expected member "b", because "a" is there; found an object with only the member a`},
		{`{"unevaluatedProperties": false}`, `{"a": 1}`, `at /a: expected no member "a"; found 1`},
		{`{"minimum": 0.5}`, `0`, `expected a number of at least 0.5; found 0`},
		{`{"exclusiveMinimum": 5}`, `5`, `expected a number above 5; found 5`},
		{`{"multipleOf": 5}`, `6`, `expected a multiple of 5; found 6`},
		{`{"maxLength": 2}`, `"abc"`, `expected at most 2 characters; found "abc" (3 characters)`},
		{`{"oneOf": [{"type": "integer"}, {"type": "number"}]}`, `1`, `expected a value that exactly one alternative describes; found 1, which alternatives 0 and 1 describe`},
		{`{"oneOf": [{"type": "integer"}, {"type": "string"}]}`, `null`, `expected an integer or a string; found null`},
		{`{"const": {"a": 1}}`, `3`, `expected {"a":1}; found 3`},
		{`{"enum": ["a", [1], null]}`, `3`, `expected one of "a", [1], null; found 3`},
		{`{"enum": []}`, `3`, `expected no value, as the enum is empty; found 3`},
		{`{"enum": ["a"], "type": "string"}`, `"b"`, `expected "a"; found "b"`},
		{`false`, `3`, `expected nothing; found 3`},
	} {
		found, err := mustCompile(t, c.schema).Validate(decode(t, c.value))
		if err != nil {
			t.Errorf("%s: %v", c.schema, err)
			continue
		}
		if diff := cmp.Diff(c.want, strings.Join(lines(found), "\n")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.schema, diff)
		}
	}
}

// numbered repeats a text with a number in it.
func numbered(text string, count int) string {
	var all strings.Builder
	for number := range count {
		_, _ = fmt.Fprintf(&all, text, number)
	}
	return all.String()
}

// Schemas that would keep a validator busy, or end it, are told from those that can be judged.
func TestCompiledValidateIsBounded(t *testing.T) {
	t.Parallel()
	doubling := map[string]any{}
	for i := range 60 {
		next := map[string]any{"$ref": fmt.Sprintf("#/$defs/d%d", i+1)}
		doubling[fmt.Sprintf("d%d", i)] = map[string]any{"allOf": []any{next, next}}
	}
	doubling["d60"] = map[string]any{"type": []any{"object", "array"}}
	chain := map[string]any{}
	for i := range 3000 {
		chain[fmt.Sprintf("d%d", i)] = map[string]any{"$ref": fmt.Sprintf("#/$defs/d%d", i+1)}
	}
	chain["d3000"] = map[string]any{"items": map[string]any{"$ref": "#/$defs/d0"}}
	nested := any([]any{})
	for range 2000 {
		nested = []any{nested}
	}
	for _, c := range []struct {
		name     string
		document any
		instance any
		want     string
	}{
		{"doubling", map[string]any{"$defs": doubling, "$ref": "#/$defs/d0"}, []any{}, "it takes more than 262144 steps to validate"},
		{"doubling in draft 7", map[string]any{
			"$schema": "http://json-schema.org/draft-07/schema#", "$defs": doubling, "$ref": "#/$defs/d0",
		}, "x", "it takes more than 262144 steps to validate"},
		{"a long chain", map[string]any{"$defs": chain, "$ref": "#/$defs/d0"}, nested, "nested more than 21 deep"},
		{"itself", map[string]any{"$ref": "#"}, nested, "refers to itself without end"},
		{"a slow expression", map[string]any{"pattern": "((a{0,30}){0,30})b"}, strings.Repeat("a", 1<<20), "it takes more than 262144 steps to validate"},
		{"a slow expression for names", map[string]any{"patternProperties": map[string]any{"((a{0,30}){0,30})b": true}},
			map[string]any{strings.Repeat("a", 1<<20): 1}, "it takes more than 262144 steps to validate"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			compiled, err := Compile(c.document)
			if err != nil {
				t.Fatal(err)
			}
			found, err := compiled.Validate(c.instance)
			if !errors.Is(err, ErrCannotJudge) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, %v; want an error with %q", found, err, c.want)
			}
		})
	}
	// An expression of the usual kind for a long text is no reason for alarm, nor is a schema that holds itself.
	if found, err := mustCompile(t, `{"pattern": "^[A-Za-z0-9+/]*={0,2}$"}`).Validate(strings.Repeat("A", 1<<20)); err != nil || len(found) > 0 {
		t.Errorf("got %v, %v", found, err)
	}
	if found, err := mustCompile(t, `{"type": "array", "items": {"$ref": "#"}}`).Validate(nested); err != nil || len(found) > 0 {
		t.Errorf("got %v, %v", found, err)
	}
}

func TestExample(t *testing.T) {
	t.Parallel()
	cases := []struct{ name, schema, smallest string }{
		{"nothing asked", `{}`, `"example"`},
		{"no arguments", `{"type": "object"}`, `{}`},
		{"required members only", `{"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "integer"}}, "required": ["b"]}`, `{"b": 0}`},
		{"its own default", `{"properties": {"a": {"type": "string", "default": "x"}}, "required": ["a"]}`, `{"a": "x"}`},
		{"its own example", `{"properties": {"a": {"type": "string", "examples": ["y"], "default": "x"}}, "required": ["a"]}`, `{"a": "y"}`},
		{"a default that is wrong", `{"properties": {"a": {"type": "string", "default": 3}}, "required": ["a"]}`, `{"a": "example"}`},
		{"const", `{"const": null}`, `null`},
		{"enum", `{"type": "string", "enum": ["a", "b"]}`, `"a"`},
		{"a required member without a schema", `{"type": "object", "required": ["a"]}`, `{"a": "example"}`},
		{"bounds", `{"type": "integer", "minimum": 3, "maximum": 10}`, `3`},
		{"exclusive bounds", `{"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 0.5}`, `0.25`},
		{"exclusive bounds of draft 4", `{"$schema": "http://json-schema.org/draft-04/schema#", "type": "integer", "minimum": 3, "exclusiveMinimum": true}`, `4`},
		{"negative", `{"type": "integer", "maximum": -5}`, `-5`},
		{"multiples", `{"type": "integer", "multipleOf": 7, "minimum": 10}`, `14`},
		{"multiples of a fraction", `{"type": "number", "multipleOf": 0.1, "minimum": 0.25}`, `0.3`},
		{"length", `{"type": "string", "minLength": 9}`, `"exampleaa"`},
		{"short", `{"type": "string", "maxLength": 3}`, `"exa"`},
		{"pattern", `{"type": "string", "pattern": "^[A-Z]{2}-\\d+$"}`, `"AA-0"`},
		{"pattern and length", `{"type": "string", "pattern": "^(ab)+$", "minLength": 7}`, `"abababab"`},
		{"format", `{"type": "string", "format": "date-time"}`, `"2025-06-18T12:00:00Z"`},
		{"email", `{"type": "string", "format": "email"}`, `"user@example.com"`},
		{"items", `{"type": "array", "items": {"type": "boolean"}, "minItems": 2}`, `[false, false]`},
		{"items that differ", `{"type": "array", "items": {"type": "integer"}, "minItems": 3, "uniqueItems": true}`, `[0, 1, 2]`},
		{"different choices", `{"type": "array", "items": {"enum": ["a", "b", "c"]}, "minItems": 3, "uniqueItems": true}`, `["a", "b", "c"]`},
		{"tuple", `{"type": "array", "prefixItems": [{"const": 1}, {"const": "x"}], "items": false, "minItems": 2}`, `[1, "x"]`},
		{"contains", `{"type": "array", "contains": {"const": 4}}`, `[4]`},
		{"anyOf", `{"anyOf": [{"type": "integer"}, {"type": "string"}]}`, `0`},
		{"oneOf where the first also fits the second", `{"oneOf": [{"type": "integer"}, {"type": "number"}]}`, `0.25`},
		{"allOf", `{"allOf": [{"required": ["a"]}, {"properties": {"a": {"type": "integer"}}}], "properties": {"a": {"minimum": 2}}}`, `{"a": 2}`},
		{"reference", `{"$ref": "#/$defs/a", "$defs": {"a": {"type": "array", "items": {"$ref": "#/$defs/a"}}}}`, `[]`},
		{"minProperties", `{"type": "object", "minProperties": 2, "additionalProperties": {"type": "integer"}}`, `{"member1": 0, "member2": 0}`},
		{"names", `{"type": "object", "minProperties": 1, "propertyNames": {"pattern": "^x-"}}`, `{"x-": "example"}`},
		{"dependents", `{"properties": {"a": {"const": 1}}, "required": ["a"], "dependentRequired": {"a": ["b"]}}`, `{"a": 1, "b": "example"}`},
		{"if and then", `{"properties": {"a": {"const": 1}}, "required": ["a"], "if": {"required": ["a"]}, "then": {"required": ["b"]}}`, `{"a": 1, "b": "example"}`},
		{"one of several types", `{"type": ["null", "string"]}`, `null`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := Example(decode(t, c.schema), 0)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(decode(t, c.smallest), asDecoded(t, got)); diff != "" {
				t.Errorf("smallest (-want +got):\n%s", diff)
			}
			for seed := 1; seed < 8; seed++ {
				if _, err := Example(decode(t, c.schema), seed); err != nil {
					t.Errorf("seed %d: %v", seed, err)
				}
			}
		})
	}
}

func asDecoded(t testing.TB, value any) any {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return decode(t, string(text))
}

func TestExampleHasAllMembersWithSeedOne(t *testing.T) {
	t.Parallel()
	got, err := Example(decode(t, `{"type": "object", "properties": {
		"a": {"type": "string"}, "b": {"type": "array", "items": {"type": "object", "properties": {"c": {"type": "null"}}}}
	}}`), 1)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(decode(t, `{"a": "example", "b": [{"c": null}]}`), asDecoded(t, got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestExampleIsTheSameAgain(t *testing.T) {
	t.Parallel()
	schema := decode(t, `{"type": "object", "additionalProperties": {"type": "number"}, "properties": {"a": {"type": "string"}, "b": {}, "c": {"enum": [1, 2, 3]}}}`)
	for seed := range 20 {
		first, err := Example(schema, seed)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Example(schema, seed)
		if diff := cmp.Diff(first, again); err != nil || diff != "" {
			t.Errorf("seed %d: %v (-first +again):\n%s", seed, err, diff)
		}
	}
}

func TestExampleGivesUp(t *testing.T) {
	t.Parallel()
	for schema, want := range map[string]string{
		`false`: "no example found for the schema: the schema allows no value",
		`{"type": "integer", "minimum": 3, "maximum": 2}`:     "no example found for the schema: no number lies between the bounds",
		`{"allOf": [{"type": "string"}, {"type": "object"}]}`: "no example found for the schema: no value is of the types [string] and [object]",
		`{"not": {}}`: `no example found for the schema: expected a value that "not" does not describe; found `,
		`{"type": "object", "required": ["a"], "properties": {"a": {"$ref": "#"}}}`:                                       "an example would be nested more than 48 deep",
		`{"type": "string", "minLength": 100000000}`:                                                                      "an example would hold a string of more than 65536 characters",
		`{"type": "string", "pattern": "^((((((a{999})+)+)+)+)+)+$", "minLength": 9999999}`:                               "an example would hold a string of more than 65536 characters",
		`{"type": "array", "minItems": 1000000000, "items": {"type": "array", "minItems": 1000000000}}`:                   "an example would hold more than 2000 values",
		`{"type": "object", "minProperties": 1000000000}`:                                                                 "an example would hold more than 2000 values",
		`{"type": "array", "minItems": 3, "uniqueItems": true, "items": {"type": "boolean"}}`:                             "no 3 different items found",
		`{"type": "array", "minItems": 5, "prefixItems": [{}], "items": {"allOf": [{"type": "null"}, {"type":"array"}]}}`: "no value is of the types [null] and [array]",
		`{"$schema": "urn:x"}`: `unknown JSON Schema dialect "urn:x"`,
	} {
		instance, err := Example(decode(t, schema), 0)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, %v; want an error with %q", schema, instance, err, want)
		}
	}
}

// Many ways through a schema that has exponentially many.
func TestExampleIsBounded(t *testing.T) {
	t.Parallel()
	definitions := map[string]any{}
	for i := range 60 {
		next := map[string]any{"$ref": fmt.Sprintf("#/$defs/d%d", i+1)}
		definitions[fmt.Sprintf("d%d", i)] = map[string]any{"allOf": []any{next, next}, "anyOf": []any{next, next}}
	}
	definitions["d60"] = map[string]any{"type": "string"}
	for seed := range 3 {
		if instance, err := Example(map[string]any{"$defs": definitions, "$ref": "#/$defs/d0"}, seed); err == nil {
			t.Errorf("seed %d: made %v", seed, instance)
		}
	}
}

func FuzzCompile(f *testing.F) {
	for _, seed := range []string{
		`true`, `{"type":"object","properties":{"a":{"type":"string","pattern":"^a+$"}},"required":["a"]}`,
		`{"$schema":"http://json-schema.org/draft-07/schema#","definitions":{"a":{"$ref":"#/definitions/a"}},"$ref":"#/definitions/a"}`,
		`{"oneOf":[{"const":1},{"enum":[1e99999,"x"]}],"multipleOf":1e-9999}`, `{"$id":"x","$anchor":"y","$ref":"#y"}`,
		`{"unevaluatedProperties":false,"if":{"$dynamicRef":"#m"},"then":{"$dynamicAnchor":"m"},"else":{"minContains":2,"contains":{}}}`,
		`{"type":"array","prefixItems":[{"format":"uri"}],"minItems":3,"uniqueItems":true}`, `{"pattern":"(?=a)\\u00e9"}`,
	} {
		f.Add(seed, `{"a": [1, "x", null]}`)
	}
	f.Fuzz(func(t *testing.T, schema, instance string) {
		document, err := jsonschema.UnmarshalJSON(strings.NewReader(schema))
		if err != nil {
			return
		}
		compiled, err := Compile(document)
		if err != nil {
			var invalid *InvalidError
			known := errors.As(err, &invalid) || errors.Is(err, ErrUnknownDialect) || errors.Is(err, ErrExternalReference) || errors.Is(err, ErrCannotJudge)
			if !known {
				t.Fatalf("%s: an error of no kind: %v", schema, err)
			}
			return
		}
		if value, err := jsonschema.UnmarshalJSON(strings.NewReader(instance)); err == nil {
			if _, err := compiled.Validate(value); err != nil && !errors.Is(err, ErrCannotJudge) {
				t.Fatalf("%s: an error of no kind: %v", schema, err)
			}
		}
		for seed := range 2 {
			example, err := Example(document, seed)
			if err != nil {
				continue
			}
			if found, err := compiled.Validate(example); err != nil || len(found) > 0 {
				t.Fatalf("%s: the example %v is not valid: %v, %v", schema, example, found, err)
			}
		}
	})
}

func BenchmarkCompile(b *testing.B) {
	document := decode(b, `{"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "integer", "minimum": 0}}, "required": ["a"]}`)
	for b.Loop() {
		if _, err := Compile(document); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkExample(b *testing.B) {
	document := decode(b, `{"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "integer", "minimum": 0}}, "required": ["a"]}`)
	for b.Loop() {
		if _, err := Example(document, 0); err != nil {
			b.Fatal(err)
		}
	}
}

// A schema is compiled once; another, or the same with formats as a demand, is
// another one.
func TestCompileRemembers(t *testing.T) {
	t.Parallel()
	document := func() any { return map[string]any{"title": "TestCompileRemembers", "format": "ipv4"} }
	first, err := Compile(document())
	if err != nil {
		t.Fatal(err)
	}
	if again, err := Compile(document()); err != nil || again != first {
		t.Errorf("compiled again: %v", err)
	}
	if strict, err := compile(document(), true); err != nil || strict == first {
		t.Errorf("a demand is taken for a remark: %v", err)
	}
	long := map[string]any{"title": strings.Repeat("x", maxRememberedText)}
	one, err := Compile(long)
	if err != nil {
		t.Fatal(err)
	}
	if other, err := Compile(long); err != nil || other == one {
		t.Errorf("a long one was kept: %v", err)
	}
	forgetful := &memory{}
	for i := range maxRemembered + 1 {
		forgetful.keep(strconv.Itoa(i), first)
	}
	if len(forgetful.known) != 1 || forgetful.recall("0") != nil || forgetful.recall(strconv.Itoa(maxRemembered)) != first {
		t.Errorf("%d are known", len(forgetful.known))
	}
}
