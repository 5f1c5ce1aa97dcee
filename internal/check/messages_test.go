package check

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/onsi/gomega/types"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// response is an HTTP answer that is told in a few words.
type response struct {
	status      int
	contentType string
}

func (r response) Describe() string {
	return strings.TrimSuffix(StatusName(r.status)+", "+r.contentType, ", ")
}

func (response) Place() transcript.Place { return transcript.Place{} }

func (r response) HTTPStatus() int { return r.status }

func (r response) MediaType() string { return r.contentType }

// reply reads an answer as it stands on the wire.
func reply(raw string) Sent { return Sent{Message: jsonrpc.Parse([]byte(raw))} }

// Each matcher says what it wanted, what it found, and where; "" when it matches.
func TestMatchers(t *testing.T) {
	t.Parallel()
	result, refusal := reply(`{"id":1,"result":{"a":"x","n":3.0}}`), reply(`{"id":1,"error":{"code":-32601,"message":"no"}}`)
	for name, test := range map[string]struct {
		matcher types.GomegaMatcher
		actual  any
		message string
	}{
		"a member":                  {HaveMember("a"), result, ""},
		"a member of an object":     {HaveMember("a", "x"), Object{"a": "x"}, ""},
		"a member that matches":     {HaveMember("a", BeText()), result, ""},
		"an equal number":           {HaveMember("n", 3), result, ""},
		"a member that is missing":  {HaveMember("b"), Object{"a": 1}, "wanted a member \"b\"\nfound  an object without it: {\"a\":1}"},
		"another value":             {HaveMember("a", "y"), result, "wanted a member \"a\" that is \"y\"\nfound  \"x\"\nat     /a"},
		"what does not match":       {HaveMember("n", BeText()), result, "wanted a member \"n\" that is a non-empty string\nfound  3.0\nat     /n"},
		"a member of an error":      {HaveMember("a"), refusal, "wanted a member \"a\"\nfound  error -32601 (Method not found) \"no\""},
		"a member of no object":     {HaveMember("a"), []any{1}, "wanted a member \"a\"\nfound  [1]"},
		"a member of nothing":       {HaveMember("a"), nil, "wanted a member \"a\"\nfound  null"},
		"an error":                  {BeJSONRPCError(), refusal, ""},
		"one of the codes":          {BeJSONRPCError(-32602, -32601), refusal, ""},
		"another code":              {BeJSONRPCError(-32602, -1), refusal, "wanted a JSON-RPC error -32602 (Invalid params) or -1\nfound  error -32601 (Method not found) \"no\"\nat     /error/code"},
		"an error that is a result": {BeJSONRPCError(), result, "wanted a JSON-RPC error\nfound  the result {\"a\":\"x\",\"n\":3.0}"},
		"an error that is no reply": {BeJSONRPCError(), "x", "wanted a JSON-RPC error\nfound  \"x\""},
		"a result":                  {BeResult(), result, ""},
		"a result that is an error": {BeResult(), refusal, "wanted a result\nfound  error -32601 (Method not found) \"no\""},
		"neither":                   {BeResult(), reply(`{"id":1}`), "wanted a result\nfound  {\"id\":1}"},
		"both":                      {BeResult(), reply(`{"result":{},"error":{"code":7,"message":"m"}}`), "wanted a result\nfound  error 7 \"m\""},
		"a status":                  {HaveStatus(200, 202), response{202, ""}, ""},
		"another status":            {HaveStatus(400, 404), response{200, "text/html"}, "wanted HTTP 400 (Bad Request) or HTTP 404 (Not Found)\nfound  HTTP 200 (OK), text/html\nat     HTTP status"},
		"a status without a name":   {HaveStatus(400), response{799, ""}, "wanted HTTP 400 (Bad Request)\nfound  HTTP 799\nat     HTTP status"},
		"a status of no response":   {HaveStatus(400), 400, "wanted HTTP 400 (Bad Request)\nfound  400"},
		"a content type":            {HaveContentType("a/b", "c/d"), response{200, "c/d"}, ""},
		"another content type":      {HaveContentType("a/b", "c/d"), response{200, "text/html"}, "wanted the content type a/b or c/d\nfound  HTTP 200 (OK), text/html\nat     header Content-Type"},
		"empty":                     {BeEmptyObject(), reply(`{"result":{}}`), ""},
		"empty but for _meta":       {BeEmptyObject(), Object{"_meta": Object{}}, ""},
		"not empty":                 {BeEmptyObject(), Object{"_meta": 1, "a": 2}, "wanted an empty object\nfound  {\"_meta\":1,\"a\":2}"},
		"text":                      {BeText(), "x", ""},
		"no text":                   {BeText(), "", "wanted a non-empty string\nfound  \"\""},
		"one of them":               {BeOneOf("a", 2), json.Number("2.0"), ""},
		"none of them":              {BeOneOf("a", 2), "b", "wanted one of \"a\", 2\nfound  \"b\""},
		"a list":                    {BeAList(), []any{}, ""},
		"no list":                   {BeAList(), Object{}, "wanted an array\nfound  {}"},
		"a revision":                {BeARevision(), "2025-06-18", ""},
		"no revision":               {BeARevision(), "1900-01-01", "wanted a released revision (" + strings.Join(protocol.Released(), ", ") + ")\nfound  \"1900-01-01\""},
		"markup stays as it is":     {BeText(), []any{"<&>"}, "wanted a non-empty string\nfound  [\"<&>\"]"},
		"a long value is shortened": {BeAList(), strings.Repeat("x", 1000), "wanted an array\nfound  \"" + strings.Repeat("x", 299) + "… (1002 bytes)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			matches, err := test.matcher.Match(test.actual)
			if err != nil || matches != (test.message == "") {
				t.Fatalf("matches: %t, %v", matches, err)
			}
			if !matches {
				if difference := cmp.Diff(test.message, test.matcher.FailureMessage(test.actual)); difference != "" {
					t.Error(difference)
				}
			}
		})
	}
}

func TestNegatedMatcher(t *testing.T) {
	t.Parallel()
	message := BeText().NegatedFailureMessage("x")
	if message != "wanted anything but a non-empty string\nfound  \"x\"" {
		t.Errorf("says %q", message)
	}
}

func TestSameValue(t *testing.T) {
	t.Parallel()
	same := [][]string{
		{"1", "1.0", "1e0"}, {"-0", "0"}, {`"1"`}, {"true"}, {"null"}, {"[]"}, {"[1,2]", "[1.0,2]"}, {"[2,1]"},
		{`{"a":1,"b":[{"c":2}]}`, `{"b":[{"c":2.0}],"a":1}`}, {`{"a":1}`}, {`{"a":null}`}, {"{}"},
	}
	for row, group := range same {
		for column, other := range same {
			for _, one := range group {
				for _, another := range other {
					a, _ := reply(`{"result":` + one + `}`).Result()
					b, _ := reply(`{"result":` + another + `}`).Result()
					if Same(a, b) != (row == column) {
						t.Errorf("%s and %s are the same: %t", one, another, row != column)
					}
				}
			}
		}
	}
	if !Same([]string{"a"}, []any{"a"}) || !Same(3, json.Number("3")) || Same(3, "3") {
		t.Error("Go types change what is the same")
	}
}
