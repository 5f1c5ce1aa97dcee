package spelling

import (
	"strings"
	"testing"
)

func TestRewritingsSayTheSame(t *testing.T) {
	t.Parallel()
	const message = `{"a":[1,2.5,true,null],"b":{"c":"x/y"},"id":7}`
	const lines = "{\n  \"a\": [\n    1,\n    2.5,\n    true,\n    null\n  ],\n  \"b\": {\n    \"c\": \"x/y\"\n  },\n  \"id\": 7\n}"
	for name, wanted := range map[string]string{
		"reverse-members": `{"id":7,"b":{"c":"x/y"},"a":[1,2.5,true,null]}`,
		"spaces":          `{ "a" : [ 1 , 2.5 , true , null ] , "b" : { "c" : "x/y" } , "id" : 7 }`,
		"tabs":            strings.ReplaceAll(`{ "a" : [ 1 , 2.5 , true , null ] , "b" : { "c" : "x/y" } , "id" : 7 }`, " ", "\t"),
		"escape-all":      `{"\u0061":[1,2.5,true,null],"\u0062":{"\u0063":"\u0078\u002f\u0079"},"\u0069\u0064":7}`,
		"separators":      message,
		"escape-slashes":  `{"a":[1,2.5,true,null],"b":{"c":"x\/y"},"id":7}`,
		"exponents":       `{"a":[1e0,2.5e0,true,null],"b":{"c":"x/y"},"id":7e0}`,
		"lines":           lines,
		"crlf-lines":      strings.ReplaceAll(lines, "\n", "\r\n"),
		"fractions":       `{"a":[1.0,2.5,true,null],"b":{"c":"x/y"},"id":7.0}`,
	} {
		if found := string(Rewrite(name, []byte(message))); found != wanted {
			t.Errorf("%s: wanted %s, found %s", name, wanted, found)
		}
	}
	if found := string(Rewrite("separators", []byte(`["a\u2028b"]`))); found != "[\"a\u2028b\"]" {
		t.Errorf("separators: found %q", found)
	}
	if len(Names()) != 10 {
		t.Errorf("%d rewritings are known, 10 are tested", len(Names()))
	}
}
