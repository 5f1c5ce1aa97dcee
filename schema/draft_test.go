package schema

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpconform/mcpconform/internal/protocol"
)

var update = flag.Bool("update", false, "write published.txt anew, of the schemas that MCP_SCHEMA_DIR names")

// TestPublishedFingerprints holds what a draft is compared with against the schema that was published.
func TestPublishedFingerprints(t *testing.T) {
	t.Parallel()
	definitions := publishedDefinitions(t)
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(definitions)) {
		fmt.Fprintf(&text, "%s %s\n", name, fingerprint(definitions[name]))
	}
	if *update {
		if err := os.WriteFile("published.txt", []byte(text.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(text.String(), publishedText); diff != "" && !*update {
		t.Errorf("published.txt is not of %s; go test ./schema -run TestPublishedFingerprints -update writes it (-want +got):\n%s", protocol.Newest(), diff)
	}
}

// publishedDefinitions are those of the newest release.
func publishedDefinitions(t *testing.T) map[string]any {
	t.Helper()
	if os.Getenv("MCP_SCHEMA_DIR") == "" {
		t.Skip("MCP_SCHEMA_DIR is not set: no published schemas to compare with")
	}
	return readPublished(t, protocol.Newest()).document.(map[string]any)["$defs"].(map[string]any)
}

// draftOf is the published schema of the newest release after some changes.
func draftOf(t *testing.T, changes map[string]string) []byte {
	t.Helper()
	definitions := publishedDefinitions(t)
	for name, text := range changes {
		if text == "" {
			delete(definitions, name)
			continue
		}
		definitions[name] = decode(t, text)
	}
	text, err := json.Marshal(map[string]any{"$schema": "https://json-schema.org/draft/2020-12/schema", "$defs": definitions})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func readDraft(t *testing.T, changes map[string]string) *Draft {
	t.Helper()
	draft, err := ReadDraft(bytes.NewReader(draftOf(t, changes)))
	if err != nil {
		t.Fatal(err)
	}
	return draft
}

// A draft that differs in nothing judges as ours does, also where ours mends what was published.
func TestDraftWithoutChanges(t *testing.T) {
	t.Parallel()
	draft, ours := readDraft(t, nil), schemaOf(t, protocol.Newest())
	if draft.Changed != nil || draft.Gone != nil || !cmp.Equal(draft.schema.definitions, ours.definitions) {
		t.Errorf("changed: %v, gone: %v", draft.Changed, draft.Gone)
	}
	if diff := cmp.Diff(ours.Methods(), draft.schema.Methods()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// What the draft changes is judged by the draft, and everything else by ours.
func TestDraftWithChanges(t *testing.T) {
	t.Parallel()
	draft := readDraft(t, map[string]string{
		"Root":           "",
		"Annotations":    `{"description": "Other words.", "type": "object", "properties": {"title": {"type": "string"}}}`,
		"CompleteResult": `{"type": "object", "properties": {"hurry": {"type": "boolean"}}, "required": ["hurry"]}`,
		"ElicitResult":   `{"type": "object", "properties": {"content": {"type": "object", "additionalProperties": {"type": ["string", "integer", "boolean"]}}}}`,
		"BarkRequest":    `{"type": "object", "properties": {"method": {"const": "dogs/bark"}, "params": {"type": "object", "required": ["volume"]}}, "required": ["params"]}`,
		"BarkResult":     `{"type": "object", "required": ["heard"]}`,
		"ClientRequest":  `{"anyOf": [{"$ref": "#/$defs/DiscoverRequest"}, {"$ref": "#/$defs/CompleteRequest"}, {"$ref": "#/$defs/BarkRequest"}]}`,
	})
	s := draft.schema
	if diff := cmp.Diff([]string{"Annotations", "BarkRequest", "BarkResult", "ClientRequest", "CompleteResult", "ElicitResult"}, draft.Changed); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"Root"}, draft.Gone); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for name, one := range map[string]struct {
		found []Violation
		says  string
	}{
		"as the draft has it":   {s.ValidateResult("completion/complete", decode(t, `{}`)), `member "hurry"`},
		"what it leaves free":   {s.ValidateResult("completion/complete", decode(t, `{"hurry": true}`)), ""},
		"as published":          {s.Validate("ElicitResult", decode(t, `{"content": {"a": null}}`)), "at /content/a"},
		"decimals":              {s.Validate("ElicitResult", decode(t, `{"content": {"a": 1.5}}`)), ""},
		"what ours mends":       {s.Validate("JSONValue", decode(t, `null`)), ""},
		"what is gone":          {s.Validate("ElicitResult/properties/action", decode(t, `1`)), ""},
		"what others refer to":  {s.Validate("ListRootsResult", decode(t, `{"roots": [{"uri": 1}]}`)), "at /roots/0/uri"},
		"the params of a new":   {s.ValidateRequest("dogs/bark", decode(t, `{"jsonrpc": "2.0", "id": 1, "method": "dogs/bark", "params": {}}`)), `member "volume"`},
		"the result of a new":   {s.ValidateResult("dogs/bark", decode(t, `{}`)), `member "heard"`},
		"a method that is gone": {s.ValidateRequest("tools/list", decode(t, `{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}`)), ""},
	} {
		if text := fmt.Sprint(one.found); one.says == "" && len(one.found) > 0 || !strings.Contains(text, one.says) {
			t.Errorf("%s: %v, want %q", name, one.found, one.says)
		}
	}
	if m, known := s.Method("dogs/bark"); !known || m.Params != "BarkRequest/properties/params" || !m.SentBy(protocol.Client) {
		t.Errorf("%+v, %t", m, known)
	}
}

func TestDraftThatIsNoSchema(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]struct {
		text string
		says string
	}{
		"nothing":        {"", "it is not JSON: EOF"},
		"no JSON":        {"{\n  \"a\": 1,\n  b\n}", "line 3 is not JSON: invalid character 'b'"},
		"the end":        {`{"$defs": {`, "it is not JSON: unexpected EOF"},
		"no definitions": {`{"definitions": {}}`, `it has no object "$defs"`},
		"a dialect":      {`{"$schema": "http://json-schema.org/draft-07/schema#"}`, `at /$schema: expected "https://json-schema.org/draft/2020-12/schema"; found "http://json-schema.org/draft-07/schema#"`},
		"no schema":      {`{"$defs": {"Tool": {"type": "thing"}}}`, `at /$defs/Tool/type: expected `},
		"a number":       {`{"$defs": {"Tool": 1}}`, `at /$defs/Tool: expected a boolean or an object; found 1`},
		"no reference":   {`{"$defs": {"Tool": {"$ref": "#/$defs/Nothing"}}}`, `references and identifiers that can be resolved; found `},
		"another file":   {`{"$defs": {"Tool": {"$ref": "file:///etc/passwd"}}}`, `nothing is fetched`},
		"no messages":    {`{"$defs": {"ClientRequest": {"type": "object"}}}`, `at /$defs/ClientRequest: expected "anyOf" with references to messages; found none`},
	} {
		_, err := ReadDraft(strings.NewReader(one.text))
		if err == nil || !strings.Contains(err.Error(), one.says) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %q", name, err, one.says)
		}
	}
	if _, err := ReadDraft(bytes.NewReader(make([]byte, maxDraft+1))); err == nil {
		t.Error("takes any number of bytes")
	}
}

// Neither words for people nor an order make a change.
func TestFingerprint(t *testing.T) {
	t.Parallel()
	const one = `{"description": "a", "required": ["a", "b"], "properties": {"title": {"title": "x", "type": ["string", "null"]}}}`
	for text, same := range map[string]bool{
		`{"required": ["b", "a"], "properties": {"title": {"type": ["null", "string"], "description": "b"}}}`: true,
		`{"required": ["b", "a"], "properties": {}}`:                                                          false,
		`{"required": ["a"], "properties": {"title": {"type": ["null", "string"]}}}`:                          false,
	} {
		if (fingerprint(decode(t, text)) == fingerprint(decode(t, one))) != same {
			t.Errorf("%s: want %t", text, same)
		}
	}
}
