package contract_test

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpconform/mcpconform/internal/contract"
	"github.com/mcpconform/mcpconform/reports"
)

func write(t *testing.T, one *contract.Contract) string {
	t.Helper()
	var text bytes.Buffer
	if err := one.Write(&text); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

// A contract is read line by line: this is all that there is to know.
func TestWrite(t *testing.T) {
	t.Parallel()
	got := write(t, contract.Contract{
		Revision: "2025-11-25", Revisions: []string{"2025-11-25", "2025-06-18"}, Server: "weather", Recorded: true,
		Unlisted:     []string{"prompts/list"},
		Capabilities: map[string]any{"tools": map[string]any{"listChanged": true}},
		Tools: []map[string]any{object(t, `{
			"inputSchema": {"required": ["b", "a"], "properties": {"a": {"type": ["string", "null"]}, "b": {"maximum": 1.50}}, "type": "object"},
			"description": "Tells the weather 🌦:\n\n  today,\n  tomorrow", "name": "get_forecast", "_meta": {},
			"annotations": {"title": "yes", "audience": ["user", "1"]}}`)},
	}.Normal())
	const want = `# What this server offers to its clients. mcpconform contract check compares the server with
# it; mcpconform contract write writes it again.
contract: 1
recorded: true
revision: 2025-11-25
revisions: [2025-06-18, 2025-11-25]
unlisted: [prompts/list]
server: weather
capabilities:
  tools:
    listChanged: true
tools:
  - name: get_forecast
    description: |-
      Tells the weather 🌦:

        today,
        tomorrow
    _meta: {}
    annotations:
      title: "yes"
      audience: [user, "1"]
    inputSchema:
      type: object
      properties:
        a:
          type: ["null", string]
        b:
          maximum: 1.50
      required: [a, b]
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// The bytes do not depend on the order in which a server lists what it offers.
func TestWriteInAnyOrder(t *testing.T) {
	t.Parallel()
	text := `[{"name":"c"},{"name":"a","inputSchema":{"required":["x","y","z"],"enum":[1,2,3]}},{"name":"b"},{"name":"a"}]`
	argument := `[{"name":"x"},{"name":"y","required":true},{"name":"z"}]`
	var first string
	for seed := range uint64(50) {
		random := rand.New(rand.NewPCG(seed, 1))
		var tools []map[string]any
		var arguments []any
		if json.Unmarshal([]byte(text), &tools) != nil || json.Unmarshal([]byte(argument), &arguments) != nil {
			t.Fatal("cannot be read")
		}
		shuffle := func(all []any) { random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] }) }
		random.Shuffle(len(tools), func(i, j int) { tools[i], tools[j] = tools[j], tools[i] })
		for _, tool := range tools {
			if schema, is := tool["inputSchema"].(map[string]any); is {
				shuffle(schema["required"].([]any))
				shuffle(schema["enum"].([]any))
			}
		}
		shuffle(arguments)
		revisions := []string{"2025-11-25", "2025-06-18"}
		random.Shuffle(2, func(i, j int) { revisions[i], revisions[j] = revisions[j], revisions[i] })
		got := write(t, contract.Contract{
			Revisions: revisions, Tools: tools, Prompts: []map[string]any{{"name": "p", "arguments": arguments}},
		}.Normal())
		if first == "" {
			first = got
		}
		if got != first {
			t.Fatalf("with seed %d:\n%s", seed, cmp.Diff(first, got))
		}
	}
}

// hostile are values that a server may list.
var hostile = []string{
	"", " ", "\n", "a\n", "a\n\n", "\na", " a\nb", "\ta\nb", "a\n\tb", "a\n \nb", "a \nb", "a\r\nb", "a\x00b", "a\u202eb\nc",
	"\u2028", "\ufeff", "true", "NULL", "~", "1", "-0.5e9", "1e999", "0x10", "2025-11-25", "12:30", "- a", "a: b", "a:", "a #b", "#",
	"'", "\"", "\\", "*a", "&a", "!a", "{", "[", "a, b", "? a", "| a", "%", "@", "`", "---", "---\na: 1", "...\n", "😀", "😀\n😀", "é\nü",
	"\U000e0041", strings.Repeat("k", 3000), strings.Repeat("k: ", 3000) + "\nx", "<<", "=", "y", "a\u0085b\nc", "a\\nb\nc",
}

// What is written is read again as it was, and shows what hides.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	for _, text := range hostile {
		roundTrip(t, text)
	}
	deep := any("x")
	for range 1000 {
		deep = map[string]any{"a\nb": []any{deep, json.Number("1")}}
	}
	round(t, &contract.Contract{Tools: []map[string]any{{"name": "deep", "inputSchema": deep}}})
}

func FuzzRoundTrip(f *testing.F) {
	for _, text := range hostile {
		f.Add(text)
	}
	f.Fuzz(roundTrip)
}

func roundTrip(t *testing.T, text string) {
	t.Helper()
	text = strings.ToValidUTF8(text, "?") // as all of JSON is
	round(t, &contract.Contract{
		Revision: "2025-11-25", Revisions: []string{}, Server: text,
		Tools: []map[string]any{{
			"name": text, "description": text, text + "k": text,
			"list": []any{text, []any{text, map[string]any{text: []any{}}}, map[string]any{}},
			"map":  map[string]any{text: map[string]any{text: nil, "b": true, "c": json.Number("-1.0e+7")}},
		}},
	})
}

func round(t *testing.T, one *contract.Contract) {
	t.Helper()
	one = one.Normal()
	text := write(t, one)
	if shown := reports.Visible(text); shown != text {
		t.Errorf("hides something:\n%s", shown)
	}
	again, err := contract.Read("file", strings.NewReader(text))
	if err != nil {
		t.Fatalf("%v\n%.2000s", err, text)
	}
	if got := write(t, again); got != text {
		t.Errorf("another time:\n%s", cmp.Diff(text, got))
	}
	if diff := contract.Compare(one, again); len(diff.Changes) > 0 {
		t.Errorf("changed: %+v", diff.Changes)
	}
	if !reflect.DeepEqual(one.Tools, again.Tools) { // cmp takes forever for what is deep
		t.Errorf("read %.2000v, wanted %.2000v", again.Tools, one.Tools)
	}
}

func TestReadWhatIsNone(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                                     "file is empty; write a contract with mcpconform contract write",
		"a: 1":                                 `file: not a contract: it has no "contract: 1"`,
		"[]":                                   `file: not a contract: it has no "contract: 1"`,
		"contract: 2":                          "file: the format of the contract is 2, not 1",
		"contract: 1\ntols: []":                `file: unknown key "tols"`,
		"contract: 1\ntools: {}":               "file: tools: expected a list",
		"contract: 1\ntools: [a]":              "file: tools: entry 1 is not a map",
		"contract: 1\nrevisions: [1]":          "file: revisions: entry 1 is not a text",
		"contract: 1\ncontract: 1":             `file:2: "contract" is given twice`,
		"contract: 1\nserver: &a b\ntools: *a": "file:3: aliases of YAML are not for contracts",
		"contract: 1\n? [a]\n: b":              "file:2: expected a name before the colon",
		"a: [":                                 "file is not a contract: yaml: ",
		strings.Repeat("#", 33<<20):            "file is longer than 32 MiB: not a contract",
	} {
		_, err := contract.Read("file", strings.NewReader(text))
		if err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%.40q: %v, wanted %s", text, err, want)
		}
	}
}
