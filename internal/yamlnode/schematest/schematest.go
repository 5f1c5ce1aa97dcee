// Package schematest compares what a program takes of a YAML file with the JSON Schema that
// editors check the file by.
package schematest

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"
)

// Agree makes sure that the program and the schema in a file both take the texts that are
// good, and no other. The error of parse is that of the program.
func Agree(t *testing.T, schemaFile string, texts map[string]bool, parse func(text []byte) error) {
	t.Helper()
	schema, err := jsonschema.NewCompiler().Compile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	for text, good := range texts {
		var value any
		if err := yaml.Unmarshal([]byte(text), &value); err != nil {
			t.Fatal(err)
		}
		encoded, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		read, err := jsonschema.UnmarshalJSON(strings.NewReader(string(encoded)))
		if err != nil {
			t.Fatal(err)
		}
		taken := parse([]byte(text))
		if valid := schema.Validate(read); (valid == nil) != good || (taken == nil) != good {
			t.Errorf("%.80q is to be taken: %v; by the program: %v; by the schema: %v", text, good, taken, valid)
		}
	}
}
