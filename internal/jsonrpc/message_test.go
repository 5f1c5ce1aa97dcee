package jsonrpc_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
)

func TestParseClassifies(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		raw    string
		kind   jsonrpc.Kind
		id     jsonrpc.ID
		method string
	}{
		"a request":                  {`{"jsonrpc":"2.0","id":1,"method":"ping"}`, jsonrpc.Request, jsonrpc.IntID(1), "ping"},
		"a notification":             {`{"jsonrpc":"2.0","method":"n"}`, jsonrpc.Notification, jsonrpc.NoID, "n"},
		"a result":                   {`{"jsonrpc":"2.0","id":"a","result":{}}`, jsonrpc.Response, jsonrpc.StringID("a"), ""},
		"a result that is null":      {`{"id":1,"result":null}`, jsonrpc.Response, jsonrpc.IntID(1), ""},
		"an error":                   {`{"id":1,"error":{}}`, jsonrpc.Response, jsonrpc.IntID(1), ""},
		"an error without an id":     {`{"error":{}}`, jsonrpc.Response, jsonrpc.NoID, ""},
		"result and error":           {`{"id":1,"result":{},"error":{}}`, jsonrpc.Response, jsonrpc.IntID(1), ""},
		"method and result":          {`{"id":1,"method":"m","result":{}}`, jsonrpc.Request, jsonrpc.IntID(1), "m"},
		"a method that is no string": {`{"id":1,"method":7}`, jsonrpc.Request, jsonrpc.IntID(1), ""},
		"a method that is null":      {`{"method":null}`, jsonrpc.Notification, jsonrpc.NoID, ""},
		"an id that is null":         {`{"id":null,"method":"m"}`, jsonrpc.Request, jsonrpc.NullID, "m"},
		"an id that is a boolean":    {`{"id":true,"method":"m"}`, jsonrpc.Request, jsonrpc.IDOf(true), "m"},
		"an id that is an object":    {`{"id":{"a":1},"method":"m"}`, jsonrpc.Request, jsonrpc.IDOf(map[string]any{"a": json.Number("1")}), "m"},
		"an id and nothing more":     {`{"jsonrpc":"2.0","id":1}`, jsonrpc.Invalid, jsonrpc.IntID(1), ""},
		"names in another case":      {`{"ID":1,"Method":"m"}`, jsonrpc.Invalid, jsonrpc.NoID, ""},
		"an empty object":            {`{}`, jsonrpc.Invalid, jsonrpc.NoID, ""},
		"a batch":                    {`[{"id":1,"method":"m"}]`, jsonrpc.Batch, jsonrpc.NoID, ""},
		"an empty batch":             {`[]`, jsonrpc.Batch, jsonrpc.NoID, ""},
		"a string":                   {`"ping"`, jsonrpc.Invalid, jsonrpc.NoID, ""},
		"null":                       {`null`, jsonrpc.Invalid, jsonrpc.NoID, ""},
		"no JSON":                    {`hello`, jsonrpc.Invalid, jsonrpc.NoID, ""},
		"nothing":                    {``, jsonrpc.Invalid, jsonrpc.NoID, ""},
		"the last of two methods":    {`{"method":"a","method":"b"}`, jsonrpc.Notification, jsonrpc.NoID, "b"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			message := jsonrpc.Parse([]byte(test.raw))
			if message.Kind != test.kind || message.ID != test.id || message.Method != test.method {
				t.Errorf("is a %s with the id %s and the method %q, wanted a %s, %s, %q",
					message.Kind, message.ID, message.Method, test.kind, test.id, test.method)
			}
			if string(message.Raw) != test.raw {
				t.Errorf("raw bytes are %q", message.Raw)
			}
		})
	}
}

func TestMembers(t *testing.T) {
	t.Parallel()
	message := jsonrpc.Parse([]byte(`{"id":1,"params":[1],"result":null,"error":{"code":-32601.0,"message":"no","data":{"a":true}}}`))
	if difference := cmp.Diff([]any{json.Number("1")}, message.Params()); difference != "" {
		t.Error(difference)
	}
	if result, there := message.Result(); result != nil || !there {
		t.Errorf("result %v, %t", result, there)
	}
	found, there := message.Error()
	want := jsonrpc.Error{Code: jsonrpc.MethodNotFound, Message: "no", Data: map[string]any{"a": true}}
	if difference := cmp.Diff(want, found); difference != "" || !there {
		t.Errorf("error %t:\n%s", there, difference)
	}
	if _, broken := message.Broken(); broken {
		t.Error("a whole message is broken")
	}

	empty := jsonrpc.Parse([]byte(`[]`))
	if empty.Params() != nil {
		t.Errorf("a batch has params %v", empty.Params())
	}
	if _, there := empty.Result(); there {
		t.Error("a batch has a result")
	}
	if _, there := empty.Error(); there {
		t.Error("a batch has an error")
	}
}

func TestErrorsOfTheWrongType(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{
		`{"error":null}`, `{"error":"no"}`, `{"error":[]}`, `{"error":{}}`,
		`{"error":{"code":"-32601","message":7}}`, `{"error":{"code":1.5}}`,
		`{"error":{"code":1e400}}`, `{"error":{"code":99999999999999999999}}`,
	} {
		found, there := jsonrpc.Parse([]byte(raw)).Error()
		if !there || found.Message != "" || found.Data != nil {
			t.Errorf("%s has the error %v, %t", raw, found, there)
		}
	}
	if found, there := jsonrpc.Parse([]byte(`{"result":{},"error":null}`)).Error(); there {
		t.Errorf("null beside a result is the error %v", found)
	}
}

func TestIDsCompareByValue(t *testing.T) {
	t.Parallel()
	of := func(raw string) jsonrpc.ID {
		value, flaws := jsonrpc.Decode([]byte(raw))
		if len(flaws) > 0 {
			t.Fatalf("%s: %v", raw, flaws)
		}
		return jsonrpc.IDOf(value)
	}
	same := [][]string{
		{"1", "1.0", "1e0", "10e-1", "1.000000e+00", "0.1E1", "1e+000"},
		{"0", "-0", "0.0", "-0.0", "0e5", "-0e-9"},
		{"-7", "-7.0", "-70e-1"},
		{"1.5", "1.50", "15e-1"},
		{"0.001", "1e-3"},
		{"100", "1e2"},
		{"1e400", "10e399"},
		{"1e1000"},
		{"1e999999999"},
		{"-1e-999999999"},
		{"123456789012345678901234567890", "123456789012345678901234567890.0"},
		{"9223372036854775808", "9223372036854775808.0"},
		{strings.Repeat("9", 1000)},
		{`"1"`, `"\u0031"`},
		{`"1.0"`}, {`""`}, {`"null"`}, {`"a"`, `"\u0061"`}, {`"<&>"`},
		{"null"}, {"true"}, {"false"}, {"{}"}, {"[]"}, {"[1]"}, {`{"a":1,"b":2}`, `{"b":2,"a":1}`},
	}
	seen := map[jsonrpc.ID]int{}
	for group, spellings := range same {
		for _, spelling := range spellings {
			id := of(spelling)
			if id == jsonrpc.NoID {
				t.Errorf("%.40s has no id", spelling)
			}
			if other, known := seen[id]; known && other != group {
				t.Errorf("%.40s equals %.40s", spelling, same[other][0])
			}
			if id != of(spellings[0]) {
				t.Errorf("%.40s differs from %.40s: %.40s", spelling, spellings[0], id)
			}
			seen[id] = group
		}
	}
}

func TestIDs(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		id                jsonrpc.ID
		isString, integer bool
		text, written     string
	}{
		"none":             {jsonrpc.NoID, false, false, "none", "null"},
		"null":             {jsonrpc.NullID, false, false, "null", "null"},
		"an integer":       {jsonrpc.IntID(-3), false, true, "-3", "-3"},
		"a whole number":   {jsonrpc.IDOf(json.Number("2.0")), false, true, "2", "2"},
		"a big one":        {jsonrpc.IDOf(json.Number("1e30")), false, true, "1" + strings.Repeat("0", 30), "1" + strings.Repeat("0", 30)},
		"a fraction":       {jsonrpc.IDOf(json.Number("2.50")), false, false, "2.5", "2.5"},
		"a hostile number": {jsonrpc.IDOf(json.Number("1e999999999")), false, false, "1e999999999", "1e999999999"},
		"a string":         {jsonrpc.StringID("a<b>"), true, false, `"a<b>"`, `"a<b>"`},
		"an empty string":  {jsonrpc.StringID(""), true, false, `""`, `""`},
		"a numeric string": {jsonrpc.StringID("1"), true, false, `"1"`, `"1"`},
		"a boolean":        {jsonrpc.IDOf(true), false, false, "true", "true"},
		"an array":         {jsonrpc.IDOf([]any{"x"}), false, false, `["x"]`, `["x"]`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if test.id.IsString() != test.isString || test.id.IsInteger() != test.integer || test.id.String() != test.text {
				t.Errorf("string %t, integer %t, %s", test.id.IsString(), test.id.IsInteger(), test.id)
			}
			if written, err := test.id.MarshalJSON(); err != nil || string(written) != test.written {
				t.Errorf("written as %s, %v", written, err)
			}
		})
	}
}

func TestWriters(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		written []byte
		want    string
	}{
		"request":             {jsonrpc.NewRequest(jsonrpc.IntID(1), "ping", nil), `{"jsonrpc":"2.0","id":1,"method":"ping"}`},
		"request with params": {jsonrpc.NewRequest(jsonrpc.StringID("<a>"), "m", map[string]any{"x": "<&>\n"}), `{"jsonrpc":"2.0","id":"<a>","method":"m","params":{"x":"<&>\n"}}`},
		"request, id null":    {jsonrpc.NewRequest(jsonrpc.NullID, "m", nil), `{"jsonrpc":"2.0","id":null,"method":"m"}`},
		"params over lines":   {jsonrpc.NewRequest(jsonrpc.IntID(1), "m", json.RawMessage("{\n}")), `{"jsonrpc":"2.0","id":1,"method":"m","params":{}}`},
		"notification":        {jsonrpc.NewNotification("n", map[string]any{}), `{"jsonrpc":"2.0","method":"n","params":{}}`},
		"result":              {jsonrpc.NewResult(jsonrpc.IntID(1), []int{1}), `{"jsonrpc":"2.0","id":1,"result":[1]}`},
		"empty result":        {jsonrpc.NewResult(jsonrpc.IntID(1), nil), `{"jsonrpc":"2.0","id":1,"result":{}}`},
		"error":               {jsonrpc.NewError(jsonrpc.NoID, jsonrpc.ParseError, "no"), `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no"}}`},
		"id of any type":      {jsonrpc.NewResult(jsonrpc.IDOf([]any{true}), nil), `{"jsonrpc":"2.0","id":[true],"result":{}}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if string(test.written) != test.want {
				t.Errorf("written %s\nwanted  %s", test.written, test.want)
			}
		})
	}
}

func TestWritersRefuseWhatIsNoJSON(t *testing.T) {
	t.Parallel()
	defer func() {
		if text, _ := recover().(string); !strings.HasPrefix(text, "jsonrpc: ") {
			t.Errorf("panicked with %q", text)
		}
	}()
	jsonrpc.NewRequest(jsonrpc.IntID(1), "m", func() {})
	t.Error("a function was written")
}

func BenchmarkParse(b *testing.B) {
	raw := []byte(`{"jsonrpc":"2.0","id":42,"result":{"tools":[{"name":"weather","title":"Weather","description":"Tells the weather of a city.",` +
		`"inputSchema":{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer","minimum":1,"maximum":14}},"required":["city"]},` +
		`"annotations":{"readOnlyHint":true,"openWorldHint":true}}],"nextCursor":"cGFnZS0y"}}`)
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		if message := jsonrpc.Parse(raw); message.Kind != jsonrpc.Response {
			b.Fatal("is no response")
		}
	}
}

// Of a batch nothing is kept, however large it is.
func TestBatches(t *testing.T) {
	t.Parallel()
	const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	large := []byte("[" + strings.Repeat(ping+",", (12<<20)/len(ping)) + ping + "]")
	if message := jsonrpc.Parse(large); message.Kind != jsonrpc.Batch || message.Weight > len(large)+1000 || len(message.Flaws) > 0 {
		t.Errorf("a %s of weight %d: %v", message.Kind, message.Weight, message.Flaws)
	}
	for raw, want := range map[string]string{
		`[]`: "batch []", " \n[1, {}] ": "batch []", `[{"a":1,"b":[{"c":1,"c":2}]}]`: `batch [names the member "c" twice at /0/b/0/c]`,
		`[{"a":"\ud800"}]`: "batch [contains a lone surrogate escape at byte 6 at /0]", `[{}] x`: "batch [something follows the JSON value at byte 5]",
		`[{},`: "invalid [is not JSON: unexpected EOF at byte 4]", "[\"\xff\"]": "batch [contains bytes that are not UTF-8]",
		strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000): "invalid [is nested more than 5000 deep]",
	} {
		message := jsonrpc.Parse([]byte(raw))
		if got := fmt.Sprint(message.Kind, " ", message.Flaws); got != want {
			t.Errorf("%.40s: %s, wanted %s", raw, got, want)
		}
	}
}

func TestMethodOf(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"method":"no"}}`: "initialize",
		`{"method":"a","method":"b"}`: "b", `{"method":"a","method":1}`: "", "\xef\xbb\xbf" + `{"method":"a"} x`: "a",
		`{"method":"a"`: "", `[{"method":"a"}]`: "", ``: "", `{"method":["a"],"x":1}`: "", `{"params":{"a":[1,2]},"m\u0065thod":"a"}`: "a",
	} {
		if got := jsonrpc.MethodOf([]byte(raw)); got != want || got != jsonrpc.Parse([]byte(raw)).Method {
			t.Errorf("%s: %q, wanted %q", raw, got, want)
		}
	}
}
