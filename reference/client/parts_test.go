package client

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
)

func TestHeadersAreEncoded(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		"us-west1":           "us-west1",
		"":                   "",
		"a b\tc":             "a b\tc",
		"Hello, 世界":          "=?base64?SGVsbG8sIOS4lueVjA==?=",
		" padded ":           "=?base64?IHBhZGRlZCA=?=",
		"\tx":                "=?base64?CXg=?=",
		"line1\nline2":       "=?base64?bGluZTEKbGluZTI=?=",
		"del\x7f":            "=?base64?ZGVsfw==?=",
		"=?base64?literal?=": "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=",
		"=?base64?":          "=?base64?",
		"=?BASE64?x?=":       "=?BASE64?x?=",
	} {
		if found := encodeHeader(value); found != want {
			t.Errorf("%q is written %q, wanted %q", value, found, want)
		}
	}
}

func TestParametersThatAreMirrored(t *testing.T) {
	t.Parallel()
	property := func(rest string) string { return `{"properties":{"a":{` + rest + `}}}` }
	for schema, want := range map[string]string{
		property(`"type":"string","x-mcp-header":"Region"`):                   "Mcp-Param-Region=a",
		property(`"properties":{"b":{"type":"boolean","x-mcp-header":"B"}}`):  "Mcp-Param-B=a.b",
		`{"properties":{"x-mcp-header":{"type":"string"}}}`:                   "",
		`{"properties":{"a":{"type":"string","default":{"x-mcp-header":7}}}}`: "",
		`{}`: "",
		`7`:  "",
		property(`"type":"string","x-mcp-header":""`):                                                        "no name",
		property(`"type":"string","x-mcp-header":7`):                                                         "no name",
		property(`"type":"string","x-mcp-header":"a b"`):                                                     "no name",
		property(`"type":"string","x-mcp-header":"a\r\nb"`):                                                  "no name",
		property(`"type":"string","x-mcp-header":"ä"`):                                                       "no name",
		property(`"type":"number","x-mcp-header":"A"`):                                                       "neither",
		property(`"type":["string","null"],"x-mcp-header":"A"`):                                              "neither",
		property(`"x-mcp-header":"A"`):                                                                       "neither",
		property(`"type":"array","items":{"type":"string","x-mcp-header":"A"}`):                              "sure to be",
		property(`"anyOf":[{"type":"string","x-mcp-header":"A"}]`):                                           "sure to be",
		property(`"items":{"properties":{"b":{"type":"string","x-mcp-header":"A"}}}`):                        "sure to be",
		`{"$defs":{"d":{"type":"string","x-mcp-header":"A"}}}`:                                               "sure to be",
		`{"type":"string","x-mcp-header":"A"}`:                                                               "sure to be",
		`{"if":{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}}`:                                   "sure to be",
		`{"properties":{"a":{"type":"string","x-mcp-header":"A"},"b":{"type":"string","x-mcp-header":"a"}}}`: "twice",
		strings.Repeat(`{"not":`, 70) + `{}` + strings.Repeat(`}`, 70):                                       "too deep",
	} {
		value, _ := jsonrpc.Decode([]byte(schema))
		all, err := mirroredOf(value)
		var found []string
		for _, one := range all {
			found = append(found, one.header+"="+strings.Join(one.path, "."))
		}
		if err != nil {
			found = []string{err.Error()}
		}
		if text := strings.Join(found, " "); !strings.Contains(text, want) || want == "" && text != "" {
			t.Errorf("%s: found %q, wanted %q", schema, text, want)
		}
	}
}

func TestHeaderTexts(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`"x"`: "x", "true": "true", "false": "false", "42": "42", "-7": "-7", "42.0": "42", "4e1": "40",
		"9007199254740991": "9007199254740991", "-9007199254740991": "-9007199254740991",
		"9007199254740992": "no integer", "-9007199254740992": "no integer", "1e300": "no integer", "1.5": "no integer",
		"1e999": "no integer", "{}": "neither", "[]": "neither",
	} {
		value, _ := jsonrpc.Decode([]byte(text))
		found, err := headerText(value)
		if err != nil {
			found = err.Error()
		}
		if !strings.Contains(found, want) {
			t.Errorf("%s is written %q, wanted %q", text, found, want)
		}
	}
}

func TestEvents(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"data: a\n\n":                             "a",
		"\xef\xbb\xbfdata: a\r\n\r\n":             "a",
		"data: a\r\rdata:b\r\r":                   "a|b",
		"data: a\rdata: b\n\ndata: c\r\n\r\n":     "a\nb|c",
		": comment\nevent: x\ndata:  a\ndata\n\n": "x: a\n",
		"id: 7\nretry: 20\n\ndata: a\n\n":         "a#7~20ms",
		"id: 7\ndata: a\n\nid\ndata: b\n\n":       "a#7|b",
		"id: 7\x00\nretry: 1s\ndata: a\n\n":       "a",
		"data: a\n\nid: 8\ndata: cut":             "a",
		"event: x\n\ndata: a\n\n":                 "a",
		"data:\n\n":                               "",
	} {
		stream := newEvents(goodFraming(), strings.NewReader(text), nil)
		var found []string
		for {
			one, err := stream.next()
			if err != nil {
				break
			}
			words := string(one.data)
			if one.name != "" {
				words = one.name + ":" + words
			}
			if stream.lastID != "" {
				words += "#" + stream.lastID
			}
			if stream.retry >= 0 {
				words += "~" + stream.retry.String()
			}
			found = append(found, words)
		}
		if text2 := strings.Join(found, "|"); text2 != want {
			t.Errorf("%q: found %q, wanted %q", text, text2, want)
		}
	}
}

func FuzzEvents(f *testing.F) {
	f.Add([]byte("id: 1\nretry: 5\ndata: {}\n\n: x\r\r\ndata: a\rdata: b\r\n\r\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		stream := newEvents(goodFraming(), bytes.NewReader(text), nil)
		size := 0
		for {
			one, err := stream.next()
			if err != nil {
				break
			}
			size += len(one.data)
			if strings.ContainsRune(stream.lastID, 0) || bytes.ContainsRune(one.data, '\r') {
				t.Errorf("%q has the event %q, with the id %q", text, one.data, stream.lastID)
			}
		}
		if size > len(text) || stream.retry < -1 || stream.retry > 1<<31*time.Millisecond {
			t.Errorf("%q: %d bytes of data, and %s to wait", text, size, stream.retry)
		}
	})
}

// The client accepts or rejects each message of a server, and continues.
func FuzzReceive(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"},"result":7}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`,
		`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":1}}}`,
		`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":7}`,
		`{"jsonrpc":"2.0","id":"a","method":"sampling/createMessage","params":{"messages":[{"role":"user","content":[{"type":"tool_use"}]}]}}`,
		`{"jsonrpc":"2.0","id":"a","method":"elicitation/create","params":{"requestedSchema":{"properties":{"a":{"default":1}}},"task":{"ttl":-1}}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := newClient(t.Context(), Options{URL: "http://example.com", Steps: []byte(
			`[{"do":"answer-with","method":"sampling/createMessage","capability":{"tools":{}}},{"do":"answer-with","method":"elicitation/create"}]`)})
		if err != nil {
			t.Fatal(err)
		}
		defer c.cancel()
		c.revision = Revision20251125
		for _, s := range c.steps {
			if _, err := c.answerWith(t.Context(), s); err != nil {
				t.Fatal(err)
			}
		}
		c.receive(text)
		m := jsonrpc.Parse(text)
		if params, isObject := m.Params().(object); isObject && m.Kind == jsonrpc.Request && m.Method != "tasks/result" {
			result, refused := c.answer(c.ctx, m.Method, params)
			if (result == nil) == (refused == nil) || !json.Valid(encode(result)) {
				t.Errorf("%s is answered with %v and %v", text, result, refused)
			}
		}
	})
}

func TestResultTypes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{}`: complete, `{"resultType":"complete"}`: complete, `{"resultType":"x"}`: "x", `{"resultType":null}`: "null", `{"resultType":{}}`: "{}",
	} {
		value, _ := jsonrpc.Decode([]byte(text))
		if found := resultType(value.(object)); found != want {
			t.Errorf("%s is of the type %q", text, found)
		}
	}
}

// What goes on beside the steps may come after the end of the session.
func TestNothingIsSentAfterTheEnd(t *testing.T) {
	t.Parallel()
	c, err := newClient(t.Context(), Options{URL: "http://127.0.0.1:1/mcp"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.cancel()
	c.disconnect()
	_, adopting := c.adopt(Revision20260728, peer{})
	for what, found := range map[string]error{
		"a message":      c.send(t.Context(), []byte(`{}`)),
		"a notification": c.notify(t.Context(), "notifications/initialized", nil),
		"a revision":     adopting,
	} {
		if !errors.Is(found, errNotConnected) {
			t.Errorf("%s after the end: %v", what, found)
		}
	}
	answersAfterCancellation(c, jsonrpc.IDOf("late"), func() {})
}
