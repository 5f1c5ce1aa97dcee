package jsonrpc_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math/big"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
)

// FuzzParse shows that nothing makes Parse panic or change the bytes, that
// other readers of JSON come to the same value and the same flaws, and that
// what is told about a message agrees with what it is.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"b":[1,2.50,-0,1e400]}}}`,
		`{"id":null,"result":{},"error":{"code":-32601,"message":"no"}}`,
		`[{"id":1,"method":7},{}]`, `{"a":1,"a":2}`, `"\ud83d\ude00\ud83d"`, `"\\ud83d"`, "\xef\xbb\xbf{}",
		"\"\xff\"", `{}{}`, `{"id":1.0}`, `{"id":1e999999999}`, ``, `nul`, strings.Repeat("[", 6000),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		before := bytes.Clone(raw)
		message := jsonrpc.Parse(raw)
		if !bytes.Equal(before, message.Raw) {
			t.Fatal("the raw bytes were changed")
		}
		if _, beyond := message.Beyond(); beyond {
			if message.Kind != jsonrpc.Invalid || message.Object != nil {
				t.Errorf("was not read to its end, and is a %s", message.Kind)
			}
			return
		}
		value, flaws := jsonrpc.Decode(raw)
		agrees(t, raw, value, flaws)
		if _, broken := message.Broken(); broken && message.Kind != jsonrpc.Invalid {
			t.Errorf("is broken and a %s", message.Kind)
		}
		if message.Weight < len(raw) {
			t.Errorf("%d bytes weigh %d", len(raw), message.Weight)
		}
		if _, broken := message.Broken(); !broken && jsonrpc.MethodOf(raw) != message.Method {
			t.Errorf("the method is %q, and %q to who asks for nothing else", message.Method, jsonrpc.MethodOf(raw))
		}
		message.Error()
		if again := jsonrpc.Parse(raw); again.ID != message.ID {
			t.Errorf("the id %s differs from itself: %s", message.ID, again.ID)
		}
		id, hasID := message.Object["id"]
		if hasID != (message.ID != jsonrpc.NoID) {
			t.Errorf("has an id: %t, and the id is %s", hasID, message.ID)
		}
		if _, isText := id.(string); isText != message.ID.IsString() {
			t.Errorf("the id %v is a string: %t", id, message.ID.IsString())
		}
		if hasID {
			if answer := jsonrpc.Parse(jsonrpc.NewResult(message.ID, nil)); answer.ID != message.ID {
				t.Errorf("the id %s comes back as %s", message.ID, answer.ID)
			}
		}
	})
}

// agrees compares what was read with what others make of the bytes.
func agrees(t *testing.T, raw []byte, value any, flaws []jsonrpc.Flaw) {
	t.Helper()
	kinds := map[jsonrpc.FlawKind]bool{}
	for _, flaw := range flaws {
		kinds[flaw.Kind] = true
		if flaw.String() == "" || !utf8.ValidString(flaw.Detail) && utf8.Valid(raw) {
			t.Errorf("a flaw is told as %q", flaw)
		}
	}
	if strict := jsontext.Value(raw).IsValid(); strict != (len(flaws) == 0) {
		t.Fatalf("a strict reader takes it: %t; the flaws are %v", strict, flaws)
	}
	if kinds[jsonrpc.NotUTF8] == utf8.Valid(raw) {
		t.Fatalf("the bytes are UTF-8: %t; the flaws are %v", utf8.Valid(raw), flaws)
	}
	if kinds[jsonrpc.ByteOrderMark] {
		return
	}
	lenient, err := leniently(raw)
	if refused := kinds[jsonrpc.Syntax] || kinds[jsonrpc.Trailing]; (err != nil) != refused {
		t.Fatalf("encoding/json says %v, the flaws are %v", err, flaws)
	}
	// Each replaces what is not UTF-8 in its own way, and names may then be equal.
	if err == nil && !kinds[jsonrpc.NotUTF8] && !kinds[jsonrpc.LoneSurrogate] && !kinds[jsonrpc.Duplicate] && !reflect.DeepEqual(lenient, value) {
		t.Fatalf("decoded otherwise:\n%s", cmp.Diff(lenient, value))
	}
}

// leniently decodes with encoding/json, as many a peer does.
func leniently(raw []byte) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("trailing data")
	}
	return value, nil
}

// FuzzNumbers shows that numbers are the same id exactly when they are equal.
func FuzzNumbers(f *testing.F) {
	for _, pair := range [][2]string{
		{"1", "1.0"}, {"1", "10e-1"}, {"0", "-0.0e5"}, {"1e400", "10e399"}, {"1e-400", "1e-401"},
		{"9007199254740993", "9007199254740992"}, {"1e999999999", "1e999999999"}, {"-1", "1"},
	} {
		f.Add(pair[0], pair[1])
	}
	f.Fuzz(func(t *testing.T, one, other string) {
		first, ok := numberID(t, one)
		second, alsoOK := numberID(t, other)
		if !ok || !alsoOK {
			return
		}
		if (first == second) != equal(one, other) {
			t.Errorf("%s and %s are the ids %s and %s", one, other, first, second)
		}
	})
}

func numberID(t *testing.T, text string) (jsonrpc.ID, bool) {
	t.Helper()
	value, flaws := jsonrpc.Decode([]byte(text))
	number, isNumber := value.(json.Number)
	if !isNumber || len(flaws) > 0 || strings.TrimSpace(text) != text {
		return jsonrpc.NoID, false
	}
	id := jsonrpc.IDOf(number)
	if again := jsonrpc.IDOf(json.Number(id.String())); again != id {
		t.Errorf("%s is the id %s, which is the id %s", text, id, again)
	}
	return id, true
}

// equal compares two JSON numbers: by value, and by their spelling when one is
// so long that its value is beyond reason.
func equal(one, other string) bool {
	if beyondReason(one) || beyondReason(other) {
		return one == other
	}
	first, _ := new(big.Rat).SetString(one)
	second, _ := new(big.Rat).SetString(other)
	return first.Cmp(second) == 0
}

func beyondReason(number string) bool {
	_, exponent, _ := strings.Cut(strings.ToLower(number), "e")
	return len(number) > 64 || len(strings.TrimLeft(exponent, "+-0")) > 3
}
