package fault_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/mcpconform/mcpconform/internal/fault"
	"github.com/mcpconform/mcpconform/internal/record"
)

// Something more stands wherever the schema allows it, and nowhere else.
func TestExtend(t *testing.T) {
	t.Parallel()
	const list = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	for name, test := range map[string]struct {
		asked, text string
		want        []string // members that have one more
		not         []string // members that stay
	}{
		"a list of tools": {
			list, `{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a","inputSchema":{"type":"object","properties":{"x":{"type":"string","default":{"y":1}}}},"_meta":{"com.example/a":{}}}]}}`,
			[]string{"/result", "/result/tools/0", "/result/tools/0/inputSchema", "/result/tools/0/inputSchema/properties/x"},
			[]string{"", "/result/tools/0/inputSchema/properties", "/result/tools/0/inputSchema/properties/x/default", "/result/tools/0/_meta"},
		},
		"an empty response": {`{"jsonrpc":"2.0","id":1,"method":"ping"}`, `{"jsonrpc":"2.0","id":1,"result":{}}`, nil, []string{"", "/result"}},
		"an error":          {list, `{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x","data":{}}}`, nil, []string{"", "/error", "/error/data"}},
		"what is invalid":   {list, `{"jsonrpc":"2.0","id":1,"result":{"tools":[{"title":"a"}]}}`, nil, []string{"", "/result", "/result/tools/0"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			faults, err := fault.Parse("f.yaml", []byte("- id: a\n  says: x\n  when: {direction: out}\n  do: [{extend: members}]\n"))
			if err != nil {
				t.Fatal(err)
			}
			wire := fault.NewWire(fault.Injection{Faults: faults})
			wire.Message(record.Passage{Direction: record.In, Raw: []byte(test.asked)})
			steps := wire.Message(record.Passage{Direction: record.Out, Raw: []byte(test.text)})
			before, after := sizes(t, test.text), sizes(t, string(steps[0].Message))
			for _, place := range test.want {
				if after[place] != before[place]+1 {
					t.Errorf("%q has %d members, not %d: %s", place, after[place], before[place]+1, steps[0].Message)
				}
			}
			for _, place := range test.not {
				if after[place] != before[place] {
					t.Errorf("%q has %d members, not %d: %s", place, after[place], before[place], steps[0].Message)
				}
			}
		})
	}
}

// sizes are the numbers of members of all objects, by place.
func sizes(t *testing.T, text string) map[string]int {
	t.Helper()
	var value any
	if err := json.NewDecoder(strings.NewReader(text)).Decode(&value); err != nil {
		t.Fatal(err)
	}
	all := map[string]int{}
	var walk func(at string, value any)
	walk = func(at string, value any) {
		switch value := value.(type) {
		case map[string]any:
			all[at] = len(value)
			for name, member := range value {
				walk(at+"/"+name, member)
			}
		case []any:
			for index, element := range value {
				walk(at+"/"+string(rune('0'+index)), element)
			}
		}
	}
	walk("", value)
	return all
}
