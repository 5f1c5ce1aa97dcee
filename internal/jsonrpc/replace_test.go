package jsonrpc

import "testing"

// Replace changes the values at a path, and no other byte.
func TestReplace(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		raw, want string
		path      []string
	}{
		{`{"b" : 1.0, "id":7 , "a":"\u0041"}`, `{"b" : 1.0, "id":"x" , "a":"\u0041"}`, []string{"id"}},
		{`{"params":{"id":1,"_meta":{"id": 2}},"id":3}`, `{"params":{"id":1,"_meta":{"id": "x"}},"id":3}`, []string{"params", "_meta", "id"}},
		{`{"id":1,"id":2}`, `{"id":"x","id":"x"}`, []string{"id"}},
		{"\xef\xbb\xbf" + `{"id":1}`, "\xef\xbb\xbf" + `{"id":"x"}`, []string{"id"}},
		{`{"a":1}`, `{"a":1}`, []string{"id"}},
		{`{"params":[1]}`, `{"params":[1]}`, []string{"params", "id"}},
		{`nothing`, `nothing`, []string{"id"}},
	} {
		if got := string(Replace([]byte(test.raw), []byte(`"x"`), test.path...)); got != test.want {
			t.Errorf("%s: %s, not %s", test.raw, got, test.want)
		}
	}
}
