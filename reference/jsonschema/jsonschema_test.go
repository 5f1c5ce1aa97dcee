package jsonschema_test

import (
	"strconv"
	"strings"
	"testing"

	official "github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/mcpconform/mcpconform/reference/jsonschema"
)

// schemas, and values that fit or do not. Another validator agrees on them all.
var schemas = map[string][]struct {
	value string
	wrong string // what the error says; "" when it fits
}{
	`{}`:    {{`7`, ""}, {`null`, ""}},
	`true`:  {{`7`, ""}},
	`false`: {{`7`, "not allowed"}},
	`{"type":"integer"}`: {
		{`7`, ""}, {`7.0`, ""}, {`7.5`, "must be of type integer"}, {`"7"`, "must be of type integer"},
	},
	`{"type":["string","null"]}`: {{`"x"`, ""}, {`null`, ""}, {`1`, "must be of type"}},
	`{"const":{"a":[1]}}`:        {{`{"a":[1]}`, ""}, {`{"a":[2]}`, "must be"}},
	`{"enum":["a",1]}`:           {{`1`, ""}, {`"b"`, "must be one of"}},
	`{"minimum":1,"exclusiveMaximum":3,"multipleOf":0.5}`: {
		{`1`, ""}, {`2.5`, ""}, {`0.5`, "at least 1"}, {`3`, "less than 3"}, {`1.2`, "multiple of 0.5"}, {`"x"`, ""},
	},
	`{"exclusiveMinimum":1,"maximum":3}`: {{`1`, "greater than 1"}, {`4`, "at most 3"}, {`3`, ""}},
	`{"minLength":2,"maxLength":3,"pattern":"^ü"}`: {
		{`"üx"`, ""}, {`"ü"`, "at least 2"}, {`"üxyz"`, "at most 3"}, {`"xü"`, "must match"},
	},
	`{"items":{"type":"number"},"minItems":1,"maxItems":2,"uniqueItems":true}`: {
		{`[1,2]`, ""}, {`[]`, "at least 1"}, {`[1,2,3]`, "at most 2"}, {`[1,"x"]`, "/1 must be of type number"}, {`[1,1.0]`, "twice"},
	},
	`{"prefixItems":[{"type":"number"},{"type":"string"}],"items":false}`: {
		{`[1,"x"]`, ""}, {`[1]`, ""}, {`["x"]`, "/0 must be"}, {`[1,"x",2]`, "/2 is not allowed"},
	},
	`{"contains":{"const":1},"minContains":2,"maxContains":3}`: {
		{`[1,1]`, ""}, {`[1,2]`, "at least 2"}, {`[1,1,1,1]`, "at most 3"},
	},
	`{"contains":{"const":1}}`: {{`[1]`, ""}, {`[2]`, "at least 1"}},
	`{"properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}`: {
		{`{"a":"x"}`, ""}, {`{}`, "/a is missing"}, {`{"a":1}`, "/a must be"}, {`{"a":"x","b":1}`, "/b is not allowed"},
	},
	`{"patternProperties":{"^x-":{"type":"number"}},"additionalProperties":{"type":"string"},"propertyNames":{"maxLength":4},"minProperties":1,"maxProperties":2}`: {
		{`{"x-a":1}`, ""}, {`{"x-a":"1"}`, "/x-a must be"}, {`{"a":1}`, "/a must be"}, {`{"abcde":"x"}`, "at most 4"}, {`{}`, "at least 1"}, {`{"a":"","b":"","c":""}`, "at most 2"},
	},
	`{"dependentRequired":{"a":["b"]},"dependentSchemas":{"c":{"required":["d"]}}}`: {
		{`{"b":1}`, ""}, {`{"a":1,"b":1}`, ""}, {`{"a":1}`, "/b is missing"}, {`{"c":1}`, "/d is missing"},
	},
	`{"allOf":[{"minimum":1},{"maximum":2}]}`: {{`1`, ""}, {`3`, "at most 2"}},
	`{"anyOf":[{"type":"string"},{"minimum":5}]}`: {
		{`"x"`, ""}, {`7`, ""}, {`3`, "none of the alternatives"},
	},
	`{"oneOf":[{"type":"integer"},{"minimum":5}]}`: {{`3`, ""}, {`5.5`, ""}, {`7`, "exactly one"}, {`1.5`, "exactly one"}},
	`{"not":{"type":"string"}}`:                    {{`1`, ""}, {`"x"`, "must not"}},
	`{"if":{"type":"string"},"then":{"minLength":2},"else":{"minimum":2}}`: {
		{`"xy"`, ""}, {`3`, ""}, {`"x"`, "at least 2"}, {`1`, "at least 2"},
	},
	`{"$ref":"#/$defs/a~1b","$defs":{"a/b":{"type":"array","items":{"$ref":"#"}}}}`:       {{`[[],[[]]]`, ""}, {`[1]`, "/0 must be"}},
	`{"$ref":"#/allOf/0","allOf":[{"type":"string"}]}`:                                    {{`"x"`, ""}, {`1`, "must be of type"}},
	`{"$ref":"#name","$defs":{"x":{"$anchor":"name","type":"string"}}}`:                   {{`"x"`, ""}, {`1`, "must be of type"}},
	`{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object"}`:          {{`{}`, ""}, {`[]`, "must be of type object"}},
	`{"required":["a"],"properties":{"a":{"$ref":"#/$defs/%C3%BC"}},"$defs":{"ü":false}}`: {{`{"a":1}`, "/a is not allowed"}},
}

func TestValidate(t *testing.T) {
	t.Parallel()
	for schema, values := range schemas {
		other := compile(t, schema)
		for _, one := range values {
			err := jsonschema.Validate([]byte(schema), []byte(one.value))
			if one.wrong == "" && err != nil || one.wrong != "" && (err == nil || !strings.Contains(err.Error(), one.wrong)) {
				t.Errorf("%s and %s: found %v, wanted %q", schema, one.value, err, one.wrong)
			}
			instance, parseErr := official.UnmarshalJSON(strings.NewReader(one.value))
			if parseErr != nil {
				t.Fatal(parseErr)
			}
			if agrees := (other.Validate(instance) == nil) == (one.wrong == ""); !agrees {
				t.Errorf("%s and %s: another validator says %v", schema, one.value, other.Validate(instance))
			}
		}
	}
}

func compile(t *testing.T, schema string) *official.Schema {
	t.Helper()
	text, err := official.UnmarshalJSON(strings.NewReader(schema))
	if err != nil {
		t.Fatal(err)
	}
	compiler := official.NewCompiler()
	if err := compiler.AddResource("schema.json", text); err != nil {
		t.Fatal(err)
	}
	compiled, err := compiler.Compile("schema.json")
	if err != nil {
		t.Fatalf("%s: %v", schema, err)
	}
	return compiled
}

// A schema that cannot be read, or costs too much, fits nothing; nothing makes up
// for it.
func TestSchemasThatFitNothing(t *testing.T) {
	t.Parallel()
	for schema, wrong := range map[string]string{
		`{`: "not JSON",
		`{"$schema":"http://json-schema.org/draft-07/schema#"}`: "dialect",
		`{"$schema":7}`:                                 "dialect",
		`{"$ref":"https://example.com/schema"}`:         "not fetched",
		`{"not":{"$ref":"https://example.com/schema"}}`: "not fetched",
		`{"anyOf":[{"$ref":"other.json"},true]}`:        "not fetched",
		`{"$ref":"#/$defs/none"}`:                       "not fetched",
		`{"$ref":"#none"}`:                              "not fetched",
		`{"$ref":"#/%"}`:                                "not fetched",
		`{"$ref":"#/allOf/7","allOf":[true]}`:           "not fetched",
		`{"$ref":"#"}`:                                  "too complex",
		`{"not":{"$ref":"#"}}`:                          "too complex",
		`{"allOf":[{"$ref":"#/$defs/a"}],"$defs":{` + explosion(40) + `"a40":{}}}`: "too complex",
	} {
		if err := jsonschema.Validate([]byte(schema), []byte(`{"a":[1]}`)); err == nil || !strings.Contains(err.Error(), wrong) {
			t.Errorf("%.100s: found %v, wanted %q", schema, err, wrong)
		}
	}
	if err := jsonschema.Validate([]byte(`{}`), []byte(`{`)); err == nil {
		t.Error("what is not JSON fits")
	}
}

// explosion is schemas each of which checks the next one twice.
func explosion(steps int) string {
	var text strings.Builder
	text.WriteString(`"a":{"allOf":[{"$ref":"#/$defs/a0"}]},`)
	for i := range steps {
		name, next := "a"+strconv.Itoa(i), "a"+strconv.Itoa(i+1)
		text.WriteString(`"` + name + `":{"allOf":[{"$ref":"#/$defs/` + next + `"},{"$ref":"#/$defs/` + next + `"}]},`)
	}
	return text.String()
}

func TestCheckDialect(t *testing.T) {
	t.Parallel()
	for schema, known := range map[string]bool{
		`{}`: true, `true`: true, `{"$schema":"` + jsonschema.Dialect + `"}`: true, `{"$schema":"` + jsonschema.Dialect + `#"}`: true,
		`{"$schema":"https://example.com/other"}`: false, `{`: false,
	} {
		if err := jsonschema.CheckDialect([]byte(schema)); (err == nil) != known {
			t.Errorf("%s: %v", schema, err)
		}
	}
}

func FuzzValidate(f *testing.F) {
	for schema, values := range schemas {
		f.Add([]byte(schema), []byte(values[0].value))
	}
	f.Fuzz(func(_ *testing.T, schema, value []byte) {
		_ = jsonschema.Validate(schema, value)
	})
}
