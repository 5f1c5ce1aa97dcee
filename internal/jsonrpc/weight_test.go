package jsonrpc_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
)

// list is a message whose result is a list of about a number of bytes.
func list(element string, size int) []byte {
	elements := strings.Repeat(element+",", max(1, size/(len(element)+1)))
	return []byte(`{"jsonrpc":"2.0","id":1,"result":[` + elements + `0]}`)
}

// numbered is an object with members that are numbered.
func numbered(format string, members int) string {
	var text strings.Builder
	text.WriteString(`{"jsonrpc":"2.0"`)
	for number := range members {
		fmt.Fprintf(&text, ","+format, number)
	}
	return text.String() + "}"
}

var kept jsonrpc.Message

// The weight of a value is within the bound, or there is no value.
func TestDecodeWithin(t *testing.T) {
	t.Parallel()
	for raw, kinds := range map[string]string{
		`[0,0,0,0]`:                   "", // 56, and 16 each
		`[0,0,0,0,0]`:                 "too-complex",
		`"` + repeated(70) + `"`:      "",
		`"` + repeated(120) + `"`:     "too-complex",
		"\"\xff" + repeated(20) + `"`: "not-utf8",
		"\"\xff" + repeated(40) + `"`: "not-utf8 too-complex",
		"\"\xff" + repeated(70):       "not-utf8 syntax",
		`{}`:                          "",
		`{"":0}`:                      "too-complex",
		`[{`:                          "syntax",
		`[{},{`:                       "too-complex",
	} {
		value, weight, flaws := jsonrpc.DecodeWithin([]byte(raw), 130)
		if got := flawKinds(flaws); got != kinds || (value == nil) != (weight == 0) || weight > 130 {
			t.Errorf("%s has the flaws %q, the weight %d and the value %v, wanted the flaws %q", raw, got, weight, value, kinds)
		}
	}
}

func repeated(count int) string { return strings.Repeat("a", count) }

func TestDecodeTellsWhatIsTooHeavy(t *testing.T) {
	t.Parallel()
	message := jsonrpc.Parse(list(`{"a":0}`, 4<<20))
	flaw, beyond := message.Beyond()
	const told = "is too much: reading it takes more than 107 MiB of memory"
	if !beyond || flaw.String() != told || message.Kind != jsonrpc.Invalid || message.Object != nil {
		t.Errorf("told %q of %s", flaw, message.Kind)
	}
}

// A text may be as long as the transport lets it be.
func TestDecodeLongText(t *testing.T) {
	t.Parallel()
	const size = 40 << 20
	message := jsonrpc.Parse([]byte(`{"id":1,"result":{"content":[{"type":"text","text":"` + strings.Repeat("a", size) + `"}]}}`))
	if _, beyond := message.Beyond(); beyond || message.Kind != jsonrpc.Response || message.Weight < 2*size {
		t.Errorf("a %s of %d bytes: %v", message.Kind, message.Weight, message.Flaws)
	}
}

func TestIDsAreBounded(t *testing.T) {
	t.Parallel()
	long := repeated(64 << 10)
	for name, id := range map[string]string{
		"a string": `"` + long + `"`, "a number": strings.Repeat("9", 64<<10),
		"an array": "[" + strings.Repeat(`0,`, 64<<10) + "0]", "an object": `{"` + long + `":null}`,
	} {
		message := jsonrpc.Parse([]byte(`{"id":` + id + `,"method":"ping"}`))
		flaw, beyond := message.Beyond()
		if !beyond || flaw.String() != "has an id of more than 64 KiB at /id" || message.ID != jsonrpc.NoID || message.Kind != jsonrpc.Invalid {
			t.Errorf("%s: %q, a %s", name, flaw, message.Kind)
		}
	}
	if message := jsonrpc.Parse([]byte(`{"id":"` + long[:60<<10] + `","method":"ping"}`)); message.Kind != jsonrpc.Request {
		t.Errorf("a long id makes it a %s: %v", message.Kind, message.Flaws)
	}
}
