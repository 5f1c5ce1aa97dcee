package jsonschema_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/mcpconform/mcpconform/reference/jsonschema"
)

// What is wrong is said with its place.
func TestValidate(t *testing.T) {
	t.Parallel()
	for _, one := range [][3]string{
		{`{}`, `7`, ""},
		{`{"type":"integer"}`, `7.0`, ""},
		{`{"pattern":"(?=x)"}`, `"y"`, ""}, // which only ECMAScript knows
		{`{"required":["a"]}`, `{}`, "at '': missing property 'a'"},
		{`{"properties":{"a":{"items":{"type":"string"}}}}`, `{"a":["x",1]}`, "at '/a/1': got number, want string"},
		{`{"$ref":"#/$defs/a","$defs":{"a":{"items":{"$ref":"#"}}}}`, `[[],[[]]]`, ""},
	} {
		err := jsonschema.Validate([]byte(one[0]), []byte(one[1]))
		if one[2] == "" && err != nil || one[2] != "" && (err == nil || !strings.Contains(err.Error(), one[2])) {
			t.Errorf("%s and %s: found %v, wanted %q", one[0], one[1], err, one[2])
		}
	}
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
		`{"$ref":"#/$defs/none"}`:                       "not found",
		`{"$ref":"#none"}`:                              "not found",
		`{"$ref":"#/%"}`:                                "cannot be used",
		`{"$ref":"#"}`:                                  "cycle",
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
