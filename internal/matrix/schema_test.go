package matrix_test

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpconform/mcpconform/internal/matrix"
	"github.com/mcpconform/mcpconform/internal/yamlnode/schematest"
)

// schemaFile is what editors check targets by.
const schemaFile = "../../docs/targets.schema.json"

// Editors know what the program knows, key by key.
func TestSchemaKnowsTheKeys(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Items struct{ Properties map[string]any }
	}
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(matrix.Keys(), slices.Sorted(maps.Keys(schema.Items.Properties))); diff != "" {
		t.Errorf("wanted - found +\n%s", diff)
	}
}

// What the program takes editors take, and what it does not they do not, as far as a
// schema can tell.
func TestSchemaAgrees(t *testing.T) {
	t.Parallel()
	ours, err := os.ReadFile("../../fixtures/peers/matrix/targets.yaml")
	if err != nil {
		t.Fatal(err)
	}
	schematest.Agree(t, schemaFile, map[string]bool{
		string(ours): true,
		"- {target: a, command: [node, server.js, 1], timeout: 1m30s, deadline: 5m, strict: true}":          true,
		"- {target: a, image: example/server, command: [--quick], transport: stdio, call-tools: all}":       true,
		"- {target: a.1, role: client, command: [./client]}\n- {target: b, url: \"http://127.0.0.1:3000\"}": true,
		"- {target: a, role: authorization-server, url: \"https://auth.example.com\"}":                      true,
		"[]":                                             false,
		"target: a":                                      false,
		"- {command: [a]}":                               false,
		"- {target: a b, command: [a]}":                  false,
		"- {target: a, commando: [a]}":                   false,
		"- {target: a, command: a}":                      false,
		"- {target: a, command: []}":                     false,
		"- {target: a, url: \"ftp://a\"}":                false,
		"- {target: a, role: peer, url: \"http://a\"}":   false,
		"- {target: a, role: client, url: \"http://a\"}": false,
		"- {target: a, role: client, command: [a], call-tools: all}": false,
		"- {target: a, role: authorization-server, command: [a]}":    false,
		"- {target: a, url: \"http://a\", command: [a]}":             false,
		"- {target: a, url: \"http://a\", image: a}":                 false,
		"- {target: a, command: [a], transport: ssh}":                false,
		"- {target: a, command: [a], call-tools: some}":              false,
		"- {target: a, command: [a], timeout: soon}":                 false,
		"- {target: a, command: [a], strict: 1}":                     false,
	}, func(text []byte) error {
		_, err := matrix.Parse("targets.yaml", text)
		return err
	})
}
