package fault

import (
	"testing"

	"github.com/mcpconform/mcpconform/internal/record"
)

func TestAliasesHoldBothWays(t *testing.T) {
	t.Parallel()
	wire := injected(t, "  when: {response-to: make}\n  do: [{alias: {at: /result/thing, names: [a, a, b]}}]")
	became := pass(wire,
		`>{"id":1,"method":"make"}`, `<{"id":1,"result":{"thing":"x1"}}`,
		`>{"id":2,"method":"make"}`, `<{"id":2,"result":{"thing":"x2"}}`,
		`>{"id":3,"method":"make"}`, `<{"id":3,"result":{"thing":"x1"}}`,
		`>{"id":4,"method":"make"}`, `<{"id":4,"result":{"thing":"x3"}}`,
		`>{"id":5,"method":"make"}`, `<{"id":5,"result":{"thing":"x4"}}`,
		`>{"id":6,"method":"use","params":{"thing":"a","and":{"thing":"b"},"not":"ab"}}`,
		`<{"method":"about","params":{"things":["x1","x2","x3","x4","x11"]}}`,
	)
	wanted := `>{"id":1,"method":"make"}
<{"id":1,"result":{"thing":"a"}}
>{"id":2,"method":"make"}
<{"id":2,"result":{"thing":"a"}}
>{"id":3,"method":"make"}
<{"id":3,"result":{"thing":"a"}}
>{"id":4,"method":"make"}
<{"id":4,"result":{"thing":"b"}}
>{"id":5,"method":"make"}
<{"id":5,"result":{"thing":"x4"}}
>{"id":6,"method":"use","params":{"thing":"x1","and":{"thing":"x3"},"not":"ab"}}
<{"method":"about","params":{"things":["a","a","b","x4","x11"]}}`
	if became != wanted {
		t.Errorf("wanted\n%s\nfound\n%s", wanted, became)
	}
}

func TestAliasesLeaveEmptyMessagesAsTheyAre(t *testing.T) {
	t.Parallel()
	wire := injected(t, "  when: {response-to: make}\n  do: [{alias: {at: /result/thing, names: [a]}}]")
	pass(wire, `>{"id":1,"method":"make"}`, `<{"id":1,"result":{"thing":"x1"}}`)
	if steps := wire.Message(record.Passage{Direction: record.Out, Raw: []byte{}, Carried: "post"}); len(steps) != 1 || steps[0].Message == nil {
		t.Errorf("found %+v", steps)
	}
}
