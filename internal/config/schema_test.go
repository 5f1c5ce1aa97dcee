package config_test

import (
	"encoding/json"
	"maps"
	"os"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpconform/mcpconform/internal/config"
	"github.com/mcpconform/mcpconform/internal/provoke"
	"github.com/mcpconform/mcpconform/internal/yamlnode/schematest"
)

// schemaFile is what editors check a config by.
const schemaFile = "../../docs/config.schema.json"

// object is a schema of an object, as far as the names of its members go.
type object struct {
	Properties map[string]object
	Items      struct {
		Enum       []string
		Properties map[string]object
	}
	Defs        map[string]object `json:"$defs"`
	Description string
}

// keysOf are those that YAML fills a struct from.
func keysOf(value any) []string {
	var keys []string
	kind := reflect.TypeOf(value)
	for field := range kind.Fields() {
		if key := field.Tag.Get("yaml"); key != "-" {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// Editors know what the program knows, key by key.
func TestSchemaKnowsTheKeys(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	var schema object
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	for name, one := range map[string]struct {
		shown  map[string]object
		wanted []string
	}{
		"mcpconform.yaml":      {schema.Properties, keysOf(config.File{})},
		"auth":                 {schema.Properties["auth"].Properties, keysOf(config.Auth{})},
		"auth.tokens":          {schema.Properties["auth"].Properties["tokens"].Properties, slices.Sorted(slices.Values(config.TokenNames()))},
		"auth.scopes":          {schema.Properties["auth"].Properties["scopes"].Items.Properties, keysOf(config.Scoped{})},
		"authorization-server": {schema.Properties["authorization-server"].Properties, keysOf(config.AuthorizationServer{})},
		"provocations":         {schema.Properties["provocations"].Properties, provoke.Kinds()},
		"a provocation":        {schema.Defs["call"].Properties, keysOf(provoke.Provocation{})},
	} {
		if diff := cmp.Diff(one.wanted, slices.Sorted(maps.Keys(one.shown))); diff != "" {
			t.Errorf("%s: wanted - found +\n%s", name, diff)
		}
	}
	for kind, shown := range schema.Properties["provocations"].Properties {
		if want := "A tool that " + provoke.Does(kind) + "."; shown.Description != want {
			t.Errorf("%s: %q, wanted %q", kind, shown.Description, want)
		}
	}
	wanted := slices.Sorted(slices.Values(provoke.NeverNames()))
	if diff := cmp.Diff(wanted, schema.Properties["never"].Items.Enum); diff != "" {
		t.Errorf("never: wanted - found +\n%s", diff)
	}
}

// What the program takes editors take, and what it does not they do not, as far as a
// schema can tell.
func TestSchemaAgrees(t *testing.T) {
	t.Parallel()
	schematest.Agree(t, schemaFile, map[string]bool{
		"":                             true,
		"command: [./my-server]\n":     true,
		"timeout: 1m30s\nworkers: 2\n": true,
		"provocations:\n  slow: {tool: import, arguments: {rows: 10}}\nnever: [sampling]\n": true,
		"arguments: {search: {query: hello}}\nprovocations:\n":                              true,
		"auth: {tokens: {valid: x}, scopes: [{tool: a, needs: [b]}]}\n":                     true,
		"commando: [x]\n":                     false,
		"timeout: soon\n":                     false,
		"provocations: {slaw: {tool: x}}\n":   false,
		"provocations: {slow: {took: x}}\n":   false,
		"auth: {tokens: {invalid: x}}\n":      false,
		"strict: 1\n":                         false,
		"arguments: {search: hello}\n":        false,
		"header: {A: [b]}\n":                  false,
		"command: {a: b}\n":                   false,
		"authorization-server: {logn: [a]}\n": false,
	}, func(text []byte) error {
		_, err := config.Parse("f", text)
		return err
	})
}
