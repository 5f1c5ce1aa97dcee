package client

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

const schemaFile = "../../docs/steps.schema.json"

func stepsSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	schema, err := jsonschema.NewCompiler().Compile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

func valid(t *testing.T, schema *jsonschema.Schema, text string) error {
	t.Helper()
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return schema.Validate(value)
}

// samples has a step of each verb, with all its members.
const samples = `[
	{"do":"answer-with","method":"sampling/createMessage","capability":{"tools":{}},"result":{"role":"assistant"},"silent":false,"delay":100},
	{"do":"answer-with","method":"elicitation/create","error":{"code":-1,"message":"no"}},
	{"do":"connect","revision":"2025-11-25"},
	{"do":"list","of":"templates","as":"a"},
	{"do":"call","tool":"t","arguments":{"x":1},"progress":true,"task":{"ttl":1000},"timeout":10,"as":"b"},
	{"do":"read","uri":"test://x","as":"c"},
	{"do":"read","template":"test://{x}","arguments":{"x":"y"}},
	{"do":"get","prompt":"p","arguments":{"x":"y"},"as":"d"},
	{"do":"complete","ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"x","value":"y"},"context":{"arguments":{}},"as":"e"},
	{"do":"subscribe","uri":"test://x","as":"f"},
	{"do":"unsubscribe","uri":"test://x","as":"g"},
	{"do":"listen","to":{"toolsListChanged":true},"as":"h"},
	{"do":"set-level","level":"debug","as":"i"},
	{"do":"ping","as":"j"},
	{"do":"get-task","task":"t","as":"k"},
	{"do":"task-result","task":"t","as":"l"},
	{"do":"cancel-task","task":"t","as":"m"},
	{"do":"change-roots","roots":[{"uri":"file:///x"}]},
	{"do":"wait-for","method":"notifications/message"},
	{"do":"await","what":"a"},
	{"do":"cancel","what":"h"},
	{"do":"close"}]`

func TestSamplesAreSteps(t *testing.T) {
	t.Parallel()
	if err := valid(t, stepsSchema(t), samples); err != nil {
		t.Error(err)
	}
	steps, err := readSteps([]byte(samples))
	if err != nil {
		t.Fatal(err)
	}
	missing := verbs()
	for _, s := range steps {
		delete(missing, s.Do)
	}
	if len(missing) > 0 {
		t.Errorf("there is no sample of %v", slices.Sorted(maps.Keys(missing)))
	}
}

// The schema and the client know the same verbs, with the same members.
func TestSchemaOfSteps(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Defs map[string]struct {
			Properties map[string]struct {
				Enum []string
			}
			Required []string
		} `json:"$defs"`
	}
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	known := verbs()
	if found, want := slices.Sorted(maps.Keys(schema.Defs)), slices.Sorted(maps.Keys(known)); !slices.Equal(found, want) {
		t.Fatalf("the schema has %v, the client %v", found, want)
	}
	for name, v := range known {
		members := append([]string{"do", "id"}, append(slices.Collect(maps.Keys(v.needs)), slices.Collect(maps.Keys(v.takes))...)...)
		if v.request {
			members = append(members, "as")
		}
		slices.Sort(members)
		if found := slices.Sorted(maps.Keys(schema.Defs[name].Properties)); !slices.Equal(found, members) {
			t.Errorf("%s has %v in the schema, but %v here", name, found, members)
		}
		needs := slices.Sorted(slices.Values(append([]string{"do"}, slices.Collect(maps.Keys(v.needs))...)))
		if found := slices.Sorted(slices.Values(schema.Defs[name].Required)); !slices.Equal(found, needs) {
			t.Errorf("%s needs %v by the schema, but %v here", name, found, needs)
		}
		for member, choices := range v.oneOf {
			if found := slices.Sorted(slices.Values(schema.Defs[name].Properties[member].Enum)); !slices.Equal(found, choices) {
				t.Errorf("%s of %s is one of %v by the schema, but of %v here", member, name, found, choices)
			}
		}
	}
}

func TestWrongSteps(t *testing.T) {
	t.Parallel()
	schema := stepsSchema(t)
	for text, want := range map[string]string{
		`{"do":"connect"}`:                   "not a JSON array of objects",
		`[7]`:                                "not a JSON array of objects",
		`[{}]`:                               `step 0: "do" is missing`,
		`[{"do":"connect"},{"do":"conect"}]`: `step 1: there is nothing like "do": "conect"`,
		`[{"do":"list"}]`:                    `needs "of", a string`,
		`[{"do":"list","of":"things"}]`:      "must be one of prompts, resources, tasks, templates, tools",
		`[{"do":"call","tool":""}]`:          `"tool" of a step "call" must be a string`,
		`[{"do":"call","tool":"t","arguments":[]}]`:    "must be an object",
		`[{"do":"call","tool":"t","arguments":null}]`:  "must be an object",
		`[{"do":"call","tool":"t","timeout":-1}]`:      "must be a whole number",
		`[{"do":"call","tool":"t","progress":"yes"}]`:  "must be true or false",
		`[{"do":"change-roots","roots":["file:///"]}]`: "must be an array of objects",
		`[{"do":"read"}]`: "needs one of uri and template",
		`[{"do":"read","uri":"test://x","template":"test://{x}"}]`: "needs one of uri and template",
		`[{"do":"ping","timeout":1}]`:                              `"timeout" is no member of a step "ping"`,
		`[{"do":"close","as":"x"}]`:                                `"as" is no member of a step "close"`,
		`[{"do":"connect","revision":"2024-10-07"}]`:               "2024-10-07",
		`[{"do":"answer-with","method":"ping"}]`:                   "must be one of elicitation/create",
		`[{"do":"answer-with","method":"roots/list","result":7}]`:  "must be an object",
		`[{"do":"get-task","task":{}}]`:                            "must be a string",
		`[{"do":"call","tool":"t","task":"x"}]`:                    "must be an object",
	} {
		_, err := readSteps([]byte(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: found %v, wanted %s", text, err, want)
		}
		if valid(t, schema, text) == nil {
			t.Errorf("%s is valid by the schema", text)
		}
	}
	for text, want := range map[string]string{ // which no schema can tell
		`[{"do":"await","what":"x"}]`:                     `no step before has "as": "x"`,
		`[{"do":"ping","as":"x"},{"do":"ping","as":"x"}]`: "the name of an earlier step",
		`[`: "not a JSON array",
	} {
		if _, err := readSteps([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: found %v, wanted %s", text, err, want)
		}
	}
}

func FuzzSteps(f *testing.F) {
	f.Add([]byte(samples))
	f.Add([]byte(`[{"do":"call","tool":"t","arguments":{"x":1e999}}]`))
	f.Fuzz(func(t *testing.T, text []byte) {
		steps, err := readSteps(text)
		if err != nil || len(bytes.TrimSpace(text)) == 0 {
			return
		}
		for _, s := range steps {
			if _, known := verbs()[s.Do]; !known {
				t.Errorf("the unknown verb %q is taken", s.Do)
			}
		}
	})
}
