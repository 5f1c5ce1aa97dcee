package jsonrpc_test

import (
	"slices"
	"testing"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
)

func TestEqual(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		a, b  string
		equal bool
	}{
		{`{"a":1,"b":[2]}`, `{"b":[2.0],"a":1e0}`, true},
		{`{"a":1}`, `{"b":1}`, false},
		{`{"a":1}`, `{"a":1,"b":null}`, false},
		{`[1,2]`, `[2,1]`, false},
		{`[1]`, `[1,1]`, false},
		{`1`, `"1"`, false},
		{`"1"`, `1`, false},
		{`1`, `[1]`, false},
		{`null`, `{}`, false},
		{`null`, `null`, true},
		{`"a"`, `"\u0061"`, true},
		{`true`, `false`, false},
		{`9007199254740993`, `9007199254740992`, false},
		{`0.10`, `1e-1`, true},
		{`1e999999999`, `1e999999999`, true},
		{`1e999999999`, `10e999999998`, false}, // not worked out: it would take all memory
	} {
		a, errA := jsonrpc.Decode([]byte(test.a))
		b, errB := jsonrpc.Decode([]byte(test.b))
		if errA != nil || errB != nil {
			t.Fatal(errA, errB)
		}
		if jsonrpc.Equal(a, b) != test.equal || jsonrpc.Equal(b, a) != test.equal {
			t.Errorf("%s and %s: wanted %t", test.a, test.b, test.equal)
		}
	}
}

func TestPointer(t *testing.T) {
	t.Parallel()
	for pointer, path := range map[string][]string{
		"":           nil,
		"/":          {""},
		"/a/0":       {"a", "0"},
		"/a~1b/c~0d": {"a/b", "c~d"},
		"/~01":       {"~1"},
		"//":         {"", ""},
	} {
		if found := jsonrpc.Path(pointer); !slices.Equal(found, path) {
			t.Errorf("the path of %q is %q, wanted %q", pointer, found, path)
		}
		if found := jsonrpc.Pointer(path...); found != pointer {
			t.Errorf("the pointer to %q is %q, wanted %q", path, found, pointer)
		}
	}
}
