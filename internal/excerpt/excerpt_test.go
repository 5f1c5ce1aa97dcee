package excerpt

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

func within(most int) func(string) bool {
	return func(text string) bool { return utf8.RuneCountInString(text) <= most }
}

// tools is a result with many tools, each with a long description and a schema.
func tools(count int) string {
	var all []map[string]any
	for i := range count {
		all = append(all, map[string]any{
			"name": fmt.Sprintf("tool_%d", i), "description": strings.Repeat("It does this and that. ", 20),
			"inputSchema": map[string]any{"type": "object", "properties": map[string]any{"text": map[string]any{"type": "string"}}, "$schema": "urn:x"},
		})
	}
	text, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 7, "result": map[string]any{"tools": all}})
	return string(text)
}

// A pointer keeps no more than there is room for, however many members have its name.
func TestManyOfOneNameAreShort(t *testing.T) {
	t.Parallel()
	text := `{"result":{"_meta":{` + strings.Repeat(`"a b":1,`, 200_000) + `"c":1}}}`
	short, whole := Bytes(text, 2000, "/result/_meta/a b")
	if !whole || len(short) > 16<<10 {
		t.Errorf("%v, %d bytes", whole, len(short))
	}
}

func TestWhatIsNamedStays(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 5000)
	for name, one := range map[string]struct {
		text string
		keep []string
		most int
		want []string
	}{
		"deep in a list":            {tools(50), []string{"/result/tools/37/inputSchema/$schema"}, 200, []string{`"id":7`, `"tool_37"`, `"$schema":"urn:x"`}},
		"beyond what is remembered": {tools(500), []string{"/result/tools/499/inputSchema/type"}, 200, []string{`"id":7`, `"tool_499"`, `"type":"object"`}},
		"several":                   {tools(50), []string{"/result/tools/3/name", "/result/tools/41/inputSchema"}, 300, []string{`"tool_3"`, `"tool_41"`, `"inputSchema":{`}},
		"behind much": {
			`{"jsonrpc":"2.0","method":"notifications/message","params":{"data":{"a":"` + long + `"},"level":"loud"}}`,
			[]string{"/params/level"}, 120, []string{`"method":"notifications/message"`, `"level":"loud"`},
		},
		"a member that is missing": {
			`{"id":1,"method":"elicitation/create","params":{"message":"` + long + `","requestedSchema":{"type":"object"}}}`,
			[]string{"/params/mode"}, 150, []string{`"id":1`, `"method":"elicitation/create"`, `"params":{`},
		},
		"escaped": {`{"a":"` + long + `","params":{"_meta":{"a/b~c":"this"}}}`, []string{"/params/_meta/a~1b~0c"}, 100, []string{`"a/b~c":"this"`}},
		"no pointer": {
			`{"jsonrpc":"2.0","id":"abc","method":"tools/call","params":{"_meta":{"x":"` + long + `"},"arguments":{"text":"` + long + `"},"name":"search"}}`,
			[]string{"HTTP status"}, 110, []string{`"id":"abc"`, `"method":"tools/call"`, `"name":"search"`},
		},
		"an error": {`{"id":3,"error":{"data":"` + long + `","code":-32602,"message":"` + long + `"}}`, nil, 90, []string{`"id":3`, `"code":-32602`}},
		"an event": {"event: message\ndata: " + tools(9), nil, 120, []string{"event: message\ndata: {", `"id":7`}},
		"a remark": {tools(9) + " [deliberately illegal: so]", nil, 120, []string{`"id":7`, "} [deliberately illegal: so]"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			short, whole := JSON(one.text, within(one.most), one.keep...)
			if !whole || !within(one.most)(short) {
				t.Errorf("%d characters, wanted %d: %s", utf8.RuneCountInString(short), one.most, short)
			}
			for _, want := range one.want {
				if !strings.Contains(short, want) {
					t.Errorf("%q is not in %s", want, short)
				}
			}
			// An excerpt of an excerpt keeps the same.
			first, _ := JSON(one.text, within(4*one.most), one.keep...)
			second, whole := JSON(first, within(one.most), one.keep...)
			if !whole || !within(one.most)(second) {
				t.Errorf("cannot be shortened once more: %s", second)
			}
			for _, want := range one.want {
				if !strings.Contains(second, want) {
					t.Errorf("%q is not in the second excerpt, %s, of %s", want, second, first)
				}
			}
		})
	}
}

func TestWhatFitsIsLeftAsItIs(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"{ \"id\" : 1 }", `[1, 2]`, `{"a":"\u00e9\"]"}`, `{"n":1e400}`, `data: {"id":1}` + "\n\n"} {
		if short, whole := JSON(text, within(1000)); short != text || !whole {
			t.Errorf("%q became %q, %v", text, short, whole)
		}
	}
}

func TestWhatIsNoJSONIsLeftAsItIs(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "HTTP 404", `{"a":`, `{"a" 1}`, `[1 2]`, `{"a":"b`, `{"a":"b\`, "{,}", `{"a":}`, strings.Repeat(" ", 300) + "{}"} {
		if short, whole := JSON(text, within(1)); short != text || whole {
			t.Errorf("%q became %q, %v", text, short, whole)
		}
	}
}

// What hides secrets later must find them whole, or not at all.
func TestBytesCutsNoWord(t *testing.T) {
	t.Parallel()
	const secret = "s3cr3t-t0k3n-th4t-g03s-0n-4nd-0n"
	for at := range 600 {
		text := `{"id":1,"result":{"content":[{"type":"text","text":"` + strings.Repeat("a word ", at)[:at] + " " + secret + strings.Repeat(" and more", 300) + `"}]}}`
		short, _ := Bytes(text, 700)
		if strings.Contains(strings.ReplaceAll(short, secret, ""), secret[:4]) {
			t.Fatalf("half of the secret stands in %s", short)
		}
	}
}

func TestWhatIsHostileIsBounded(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"deep":        strings.Repeat(`{"a":[`, 1<<17) + strings.Repeat("]}", 1<<17),
		"long":        "[" + strings.Repeat("0,", 1<<20) + "0]",
		"long name":   `{"` + strings.Repeat("n", 1<<20) + `":1}`,
		"long number": `{"id":` + strings.Repeat("9", 1<<20) + `}`,
		"wide":        "[" + strings.Repeat(`{"a":{"b":{"c":[1,2,3]}}},`, 1<<15) + "1]",
	} {
		if short, whole := JSON(text, within(300)); !whole || !within(300)(short) {
			t.Errorf("%s: %v, %d characters", name, whole, len(short))
		}
	}
}

func FuzzJSON(f *testing.F) {
	f.Add(tools(3), "/result/tools/1/name", 80)
	f.Add(`{"a":…,"b":["x"…,…]}`, "/b/0", 8)
	f.Add(`{"\u0061":"\ud800`, "/a", 3)
	f.Fuzz(func(t *testing.T, text, pointer string, most int) {
		short, whole := JSON(text, within(most), pointer)
		if !whole {
			if short != text {
				t.Errorf("%q became %q", text, short)
			}
			return
		}
		if again, still := JSON(short, within(most), pointer); !still {
			t.Errorf("%q is no excerpt of %q: %q", short, text, again)
		}
		if valid := utf8.ValidString(text); valid && !utf8.ValidString(short) {
			t.Errorf("%q was cut within a character: %q", text, short)
		}
	})
}
