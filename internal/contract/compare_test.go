package contract_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcpconform/mcpconform/internal/contract"
	"github.com/mcpconform/mcpconform/reports"
)

// object reads JSON as messages are read.
func object(t *testing.T, text string) map[string]any {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var found map[string]any
	if err := decoder.Decode(&found); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return found
}

func offering(t *testing.T, member, item string) *contract.Contract {
	t.Helper()
	one := contract.Contract{Revision: "2025-11-25", Revisions: []string{"2025-11-25"}}
	if item == "" {
		return one.Normal()
	}
	items := []map[string]any{object(t, item)}
	switch member {
	case "tools":
		one.Tools = items
	case "prompts":
		one.Prompts = items
	case "resources":
		one.Resources = items
	case "templates":
		one.Templates = items
	case "capabilities":
		one.Capabilities = items[0]
	}
	return one.Normal()
}

// found are the changes, each as IMPACT WHERE.
func found(diff *reports.ContractDiff) string {
	all := make([]string, 0, len(diff.Changes))
	for _, one := range diff.Changes {
		all = append(all, strings.TrimSpace(string(one.Impact)+" "+one.Where))
	}
	return strings.Join(all, ", ")
}

const (
	none = ""
)

func TestCompare(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, member, old, new string
		there, back            string // what is found from old to new, and from new to old
	}{
		{"a tool", "tools", `{"name":"a"}`, ``, "breaking", "compatible"},
		{"a prompt", "prompts", `{"name":"a"}`, ``, "breaking", "compatible"},
		{"a template", "templates", `{"uriTemplate":"a{b}"}`, ``, "breaking", "compatible"},
		{"a resource", "resources", `{"uri":"a:b"}`, ``, "unclear", "compatible"},
		{"a description", "tools", `{"name":"a","description":"x"}`, `{"name":"a"}`, "text /description", "text /description"},
		{"an icon", "tools", `{"name":"a"}`, `{"name":"a","icons":[]}`, "text /icons", "text /icons"},
		{"an unknown member", "tools", `{"name":"a"}`, `{"name":"a","_meta":{"b":1}}`, "unclear /_meta", "unclear /_meta"},
		{"the type of a resource", "resources", `{"uri":"a:b","mimeType":"text/plain"}`, `{"uri":"a:b","mimeType":"text/html"}`, "breaking /mimeType", "breaking /mimeType"},
		{"no type of a template", "templates", `{"uriTemplate":"a","mimeType":"text/plain"}`, `{"uriTemplate":"a"}`, "breaking /mimeType", "compatible /mimeType"},
		{"contents of a resource", "resources", `{"uri":"a:b","size":1,"annotations":{"lastModified":"2025"}}`, `{"uri":"a:b","size":2}`, none, none},

		{"a hint that is the default", "tools", `{"name":"a"}`, `{"name":"a","annotations":{"readOnlyHint":false,"destructiveHint":true,"idempotentHint":false,"openWorldHint":true}}`, none, none},
		{"readOnlyHint", "tools", `{"name":"a","annotations":{"readOnlyHint":true}}`, `{"name":"a"}`, "breaking /annotations/readOnlyHint", "compatible /annotations/readOnlyHint"},
		{"destructiveHint", "tools", `{"name":"a","annotations":{"destructiveHint":false}}`, `{"name":"a"}`, "breaking /annotations/destructiveHint", "compatible /annotations/destructiveHint"},
		{"idempotentHint", "tools", `{"name":"a","annotations":{"idempotentHint":true}}`, `{"name":"a"}`, "breaking /annotations/idempotentHint", "compatible /annotations/idempotentHint"},
		{"openWorldHint", "tools", `{"name":"a","annotations":{"openWorldHint":false}}`, `{"name":"a"}`, "breaking /annotations/openWorldHint", "compatible /annotations/openWorldHint"},
		{"hints of what is read-only", "tools", `{"name":"a","annotations":{"readOnlyHint":true,"idempotentHint":true}}`, `{"name":"a","annotations":{"readOnlyHint":true}}`, none, none},
		{"the title among the annotations", "tools", `{"name":"a","annotations":{"title":"x"}}`, `{"name":"a"}`, "text /annotations/title", "text /annotations/title"},
		{"a task", "tools", `{"name":"a"}`, `{"name":"a","execution":{"taskSupport":"optional"}}`, "compatible /execution/taskSupport", "breaking /execution/taskSupport"},
		{"a task that is required", "tools", `{"name":"a","execution":{"taskSupport":"required"}}`, `{"name":"a","execution":{"taskSupport":"optional"}}`, "compatible /execution/taskSupport", "breaking /execution/taskSupport"},

		{"an optional argument of a prompt", "prompts", `{"name":"a"}`, `{"name":"a","arguments":[{"name":"b"}]}`, "compatible /arguments/b", "unclear /arguments/b"},
		{"a required argument of a prompt", "prompts", `{"name":"a"}`, `{"name":"a","arguments":[{"name":"b","required":true}]}`, "breaking /arguments/b", "unclear /arguments/b"},
		{"a prompt's argument newly required", "prompts", `{"name":"a","arguments":[{"name":"b"}]}`, `{"name":"a","arguments":[{"name":"b","required":true}]}`, "breaking /arguments/b", "compatible /arguments/b"},
		{"what a prompt's argument is for", "prompts", `{"name":"a","arguments":[{"name":"b"}]}`, `{"name":"a","arguments":[{"name":"b","description":"c"}]}`, "text /arguments/b/description", "text /arguments/b/description"},

		{"a capability", "capabilities", `{"tools":{}}`, `{}`, "breaking /tools", "compatible /tools"},
		{"a part of one", "capabilities", `{"tools":{"listChanged":true}}`, `{"tools":{"listChanged":false}}`, "breaking /tools/listChanged", "compatible /tools/listChanged"},
		{"a capability with a dot", "capabilities", `{"extensions":{"a.b/c":{}}}`, `{"extensions":{}}`, "breaking /extensions/a.b~1c", "compatible /extensions/a.b~1c"},
		{"the value of one", "capabilities", `{"experimental":{"a":{"b":1}}}`, `{"experimental":{"a":{"b":2}}}`, "unclear /experimental/a/b", "unclear /experimental/a/b"},

		{"an output", "tools", `{"name":"a"}`, `{"name":"a","outputSchema":{"type":"object"}}`, "compatible /outputSchema", "breaking /outputSchema"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			older, newer := offering(t, test.member, test.old), offering(t, test.member, test.new)
			if got := found(contract.Compare(older, newer)); got != test.there {
				t.Errorf("there: %q, wanted %q", got, test.there)
			}
			if got := found(contract.Compare(newer, older)); got != test.back {
				t.Errorf("back: %q, wanted %q", got, test.back)
			}
			if got := found(contract.Compare(older, older)); got != none {
				t.Errorf("to itself: %q", got)
			}
		})
	}
}

// What narrows an input breaks who sends it; what widens an output breaks who reads it.
func TestCompareSchemas(t *testing.T) {
	t.Parallel()
	const (
		narrower, wider, either, unclear, text = "narrower", "wider", "either", "unclear", "text"
	)
	impacts := map[string][2]string{ // of an input, of an output
		narrower: {"breaking", "compatible"}, wider: {"compatible", "breaking"},
		either: {"breaking", "breaking"}, unclear: {"unclear", "unclear"}, text: {"text", "text"},
	}
	for _, test := range []struct{ name, old, new, there, back, where string }{
		{"the same in another order", `{"type":["string","null"],"enum":["a","b"]}`, `{"enum":["b","a"],"type":["null","string"]}`, none, none, ""},
		{"another type", `{"type":"string"}`, `{"type":"integer"}`, either, either, "/type"},
		{"a type more", `{"type":"string"}`, `{"type":["string","null"]}`, wider, narrower, "/type"},
		{"integer and number", `{"type":"integer"}`, `{"type":"number"}`, wider, narrower, "/type"},
		{"no type", `{"type":"string"}`, `{}`, wider, narrower, "/type"},
		{"a value more", `{"enum":["a"]}`, `{"enum":["a","b"]}`, wider, narrower, "/enum"},
		{"other values", `{"enum":["a"]}`, `{"enum":["b"]}`, either, either, "/enum"},
		{"one value for some", `{"enum":["a","b"]}`, `{"const":"a"}`, narrower, wider, ""},
		{"the same number", `{"enum":[1]}`, `{"const":1.0}`, none, none, ""},
		{"values of a type", `{"type":"string"}`, `{"type":"string","enum":["a"]}`, narrower, wider, "/enum"},
		{"everything and nothing", `true`, `false`, narrower, wider, ""},
		{"everything", `true`, `{}`, none, none, ""},
		{"a higher minimum", `{"minimum":1}`, `{"minimum":2}`, narrower, wider, "/minimum"},
		{"a maximum", `{}`, `{"maximum":2}`, narrower, wider, "/maximum"},
		{"a longer length", `{"maxLength":1}`, `{"maxLength":10}`, wider, narrower, "/maxLength"},
		{"the same bound", `{"minItems":1}`, `{"minItems":1.0}`, none, none, ""},
		{"a bound of draft 4", `{"exclusiveMinimum":true}`, `{"exclusiveMinimum":1}`, unclear, unclear, "/exclusiveMinimum"},
		{"a pattern", `{}`, `{"pattern":"a"}`, narrower, wider, "/pattern"},
		{"another pattern", `{"pattern":"b"}`, `{"pattern":"a"}`, unclear, unclear, "/pattern"},
		{"another format", `{"format":"date"}`, `{"format":"uri"}`, unclear, unclear, "/format"},
		{"unique items", `{"uniqueItems":false}`, `{"uniqueItems":true}`, narrower, wider, "/uniqueItems"},
		{"items", `{"type":"array"}`, `{"type":"array","items":{"type":"string"}}`, narrower, wider, "/items"},
		{"items of anything", `{"type":"array"}`, `{"type":"array","items":{}}`, none, none, ""},
		{"other items", `{"items":{"type":"string"}}`, `{"items":{"type":["string","null"]}}`, wider, narrower, "/items/type"},
		{"a tuple", `{"prefixItems":[{"type":"string"}]}`, `{"prefixItems":[{"type":"number"}]}`, either, either, "/prefixItems/0/type"},
		{"another condition", `{"if":{"const":1}}`, `{"if":{"const":2}}`, unclear, unclear, "/if"},
		{"a keyword of somebody", `{}`, `{"x-mcp-header":"A"}`, unclear, unclear, "/x-mcp-header"},
		{"a description", `{"description":"a"}`, `{"description":"b"}`, text, text, "/description"},
		{"an alternative more", `{"anyOf":[{"type":"string"}]}`, `{"anyOf":[{"type":"null"},{"type":"string"}]}`, wider, narrower, ""},
		{"a type and an alternative", `{"type":"string","minLength":2}`, `{"anyOf":[{"type":"string","minLength":2},{"type":"null"}]}`, wider, narrower, ""},
		{"types as alternatives", `{"type":["string","null"],"minLength":1}`, `{"anyOf":[{"type":"null"},{"type":"string","minLength":1}]}`, none, none, ""},
		{"a changed alternative", `{"anyOf":[{"type":"string"},{"type":"null"}]}`, `{"anyOf":[{"type":"string","minLength":1},{"type":"null"}]}`, narrower, wider, ""},
		{"titled values", `{"oneOf":[{"const":"a","title":"A"}]}`, `{"oneOf":[{"const":"a","title":"A"},{"const":"b","title":"B"}]}`, wider, narrower, ""},
		{"alternatives that overlap", `{"oneOf":[{"minimum":1}]}`, `{"oneOf":[{"minimum":1},{"minimum":5}]}`, unclear, unclear, "/oneOf"},
		{"many other alternatives", `{"anyOf":[{"minimum":1},{"minimum":2}]}`, `{"anyOf":[{"maximum":1},{"maximum":2}]}`, unclear, unclear, ""},
		{"all of more", `{}`, `{"allOf":[{"minimum":1}]}`, narrower, wider, "/allOf"},
		{"a definition", `{"$ref":"#/$defs/a","$defs":{"a":{"type":"string"}}}`, `{"$ref":"#/$defs/a","$defs":{"a":{"type":["string","null"]}}}`, wider, narrower, "/$defs/a/type"},
		{"a definition written out", `{"type":"object","properties":{"b":{"$ref":"#/$defs/a"}},"$defs":{"a":{"type":"string"}}}`, `{"type":"object","properties":{"b":{"type":"string"}}}`, none, none, ""},
		{"a definition in a condition", `{"not":{"$ref":"#/$defs/a"},"$defs":{"a":{"type":"string"}}}`, `{"not":{"$ref":"#/$defs/a"},"$defs":{"a":{"type":"null"}}}`, unclear, unclear, "/not"},
		{"a reference to elsewhere", `{"$ref":"https://example.com/a","$defs":{"a":{}}}`, `{"$ref":"https://example.com/a"}`, unclear, unclear, "/$ref"},
		{"a list of itself", `{"$ref":"#/$defs/a","$defs":{"a":{"items":{"$ref":"#/$defs/a"},"minItems":1}}}`, `{"$ref":"#/$defs/a","$defs":{"a":{"items":{"$ref":"#/$defs/a"},"minItems":2}}}`, narrower, wider, "/$defs/a/minItems"},
		{"a reference to itself", `{"$ref":"#"}`, `{"$ref":"#","minimum":1}`, narrower, wider, "/minimum"},
		{"a list in the place of a schema", `{"items":[{}]}`, `{"items":[{},{}]}`, unclear, unclear, "/items"},
		{"a number in the place of a schema", `{"items":1}`, `{"items":2}`, unclear, unclear, "/items"},
		{"fewer other members", `{"additionalProperties":true}`, `{"additionalProperties":{"type":"string"}}`, narrower, unclearOutput, "/additionalProperties"},
	} {
		for side, role := range []string{"inputSchema", "outputSchema"} {
			for direction, want := range []string{test.there, test.back} {
				t.Run(fmt.Sprint(test.name, " ", role, " ", direction), func(t *testing.T) {
					t.Parallel()
					item := func(schema string) *contract.Contract {
						return offering(t, "tools", fmt.Sprintf(`{"name":"a",%q:%s}`, role, schema))
					}
					both := []*contract.Contract{item(test.old), item(test.new)}
					got := contract.Compare(both[direction], both[1-direction])
					switch want {
					case none:
						if len(got.Changes) > 0 {
							t.Errorf("found %q", found(got))
						}
						return
					case unclearOutput: // an output may have other members, and who reads it pass them over
						want = []string{wider, unclear}[side]
					}
					if len(got.Changes) != 1 || string(got.Changes[0].Impact) != impacts[want][side] ||
						test.where != "" && got.Changes[0].Where != "/"+role+test.where {
						t.Errorf("found %q, wanted %s at %s", found(got), impacts[want][side], test.where)
					}
				})
			}
		}
	}
}

const unclearOutput = "unclear of an output"

func TestCompareMembers(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, old, new, input, output string }{
		{"a new one", `{}`, `{"properties":{"a":{}}}`, "compatible /properties/a", "compatible /properties/a"},
		{"a new one where no other was allowed", `{"additionalProperties":false}`, `{"additionalProperties":false,"properties":{"a":{}}}`, "compatible /properties/a", "unclear /properties/a"},
		{"a new required one", `{}`, `{"properties":{"a":{}},"required":["a"]}`, "breaking /properties/a", "compatible /properties/a"},
		{"newly required", `{"properties":{"a":{}}}`, `{"properties":{"a":{}},"required":["a"]}`, "breaking /properties/a", "compatible /properties/a"},
		{"no longer required", `{"properties":{"a":{}},"required":["a"]}`, `{"properties":{"a":{}}}`, "compatible /properties/a", "breaking /properties/a"},
		{"gone", `{"properties":{"a":{}}}`, `{}`, "unclear /properties/a", "unclear /properties/a"},
		{"gone where no other is allowed", `{"properties":{"a":{}},"additionalProperties":false}`, `{"additionalProperties":false}`, "breaking /properties/a", "compatible /properties/a"},
		{"gone and was promised", `{"properties":{"a":{}},"required":["a"]}`, `{}`, "compatible /properties/a, unclear /properties/a", "breaking /properties/a"},
		{"further in", `{"properties":{"a":{"properties":{"b/c":{"type":"string"}}}}}`, `{"properties":{"a":{"properties":{"b/c":{"type":"number"}}}}}`, "breaking /properties/a/properties/b~1c/type", "breaking /properties/a/properties/b~1c/type"},
		{"another default", `{"default":1}`, `{"default":2}`, "unclear /default", "text /default"},
		{"others no longer allowed", `{}`, `{"additionalProperties":false}`, "breaking /additionalProperties", "compatible /additionalProperties"},
		{"others allowed", `{"additionalProperties":false}`, `{}`, "compatible /additionalProperties", "unclear /additionalProperties"},
	} {
		for role, want := range map[string]string{"inputSchema": test.input, "outputSchema": test.output} {
			t.Run(test.name+" "+role, func(t *testing.T) {
				t.Parallel()
				item := func(schema string) *contract.Contract {
					return offering(t, "tools", fmt.Sprintf(`{"name":"a",%q:%s}`, role, schema))
				}
				got := strings.ReplaceAll(found(contract.Compare(item(test.old), item(test.new))), "/"+role, "")
				if got != want {
					t.Errorf("found %q, wanted %q", got, want)
				}
			})
		}
	}
}

func TestCompareRevisionsAndLists(t *testing.T) {
	t.Parallel()
	tools := []map[string]any{{"name": "a"}}
	whole := contract.Contract{Revision: "2025-06-18", Revisions: []string{"2025-03-26", "2025-06-18"}, Tools: tools}
	recorded := contract.Contract{Revision: "2025-06-18", Revisions: []string{"2025-06-18"}, Recorded: true, Unlisted: []string{"tools/list"}}
	unlisted := whole
	unlisted.Tools, unlisted.Unlisted = nil, []string{"tools/list"}
	fewer := whole
	fewer.Revisions = fewer.Revisions[1:]
	for name, test := range map[string]struct {
		old, new contract.Contract
		want     string
		note     string
	}{
		"a revision gone":           {whole, fewer, "breaking", ""},
		"a revision more":           {fewer, whole, "compatible", ""},
		"of a recording":            {recorded, whole, "", "tools/list is not in the old contract"},
		"to a recording":            {whole, recorded, "", "tools/list was not recorded to its end"},
		"a list that fails":         {whole, unlisted, "breaking", ""},
		"a list that fails as ever": {unlisted, unlisted, "", "tools/list is not in the old contract"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := contract.Compare(test.old.Normal(), test.new.Normal())
			if found(got) != test.want || test.note != "" && !strings.Contains(strings.Join(got.Notes, "\n"), test.note) {
				t.Errorf("found %q and %q", found(got), got.Notes)
			}
		})
	}
}

func TestCompareStrictly(t *testing.T) {
	t.Parallel()
	got := contract.Compare(offering(t, "resources", `{"uri":"a:b"}`), offering(t, "resources", ""))
	if got.Broken() {
		t.Error("what is unclear breaks")
	}
	if got.Strict = true; !got.Broken() {
		t.Error("what is unclear does not break, strictly")
	}
}

// Two tools of one name are compared in the order of what they are.
func TestCompareOneName(t *testing.T) {
	t.Parallel()
	one, two := map[string]any{"name": "a", "title": "1"}, map[string]any{"name": "a", "title": "2"}
	both := contract.Contract{Tools: []map[string]any{two, one}}.Normal()
	got := contract.Compare(both, contract.Contract{Tools: []map[string]any{one}}.Normal())
	if found(got) != "breaking" || got.Changes[0].Item != "tool a (2)" || !slices.Contains(got.Items, "tool a") {
		t.Errorf("found %+v", got)
	}
}

// Schemas that lead into each other, or are made of very much, come to an end.
func TestCompareEnds(t *testing.T) {
	t.Parallel()
	deep := func(inner string) string {
		return strings.Repeat(`{"items":`, 4000) + inner + strings.Repeat(`}`, 4000)
	}
	wide := func(kind string) string {
		var members []string
		for number := range 40_000 {
			members = append(members, fmt.Sprintf(`"p%d":{"type":%q}`, number, kind))
		}
		return `{"properties":{` + strings.Join(members, ",") + `}}`
	}
	alternatives := func(first int) string {
		var all []string
		for number := range 20_000 {
			all = append(all, fmt.Sprintf(`{"const":%d}`, first+number))
		}
		return `{"anyOf":[` + strings.Join(all, ",") + `]}`
	}
	for name, test := range map[string][2]string{
		"deep":         {deep(`{"type":"string"}`), deep(`{"type":"number"}`)},
		"wide":         {wide("string"), wide("number")},
		"alternatives": {alternatives(0), alternatives(7)},
		"of each other": {
			`{"$ref":"#/$defs/a","$defs":{"a":{"items":{"$ref":"#/$defs/b"}},"b":{"$ref":"#/$defs/a"}}}`,
			`{"$ref":"#/$defs/a","$defs":{"a":{"items":{"items":{"$ref":"#/$defs/a"}}}}}`,
		},
		"a circle":         {`{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/a"}}}`, `{"$ref":"#/$defs/b","$defs":{"b":{"$ref":"#/$defs/b"}}}`},
		"through branches": {`{"anyOf":[{"type":"null"},{"items":{"$ref":"#"}}]}`, `{"type":["null","array"],"items":{"$ref":"#"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			item := func(schema string) *contract.Contract {
				return offering(t, "tools", `{"name":"a","inputSchema":`+schema+`}`)
			}
			contract.Compare(item(test[0]), item(test[1]))
		})
	}
}
