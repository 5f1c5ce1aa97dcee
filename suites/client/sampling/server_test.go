package sampling

import (
	"encoding/json"
	"testing"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/scripted"
)

func TestAnswerUses(t *testing.T) {
	t.Parallel()
	for content, wanted := range map[string]bool{
		`[{"type":"tool_result","toolUseId":"a"},{"type":"tool_result","toolUseId":"b"}]`:                               true,
		`[{"type":"tool_result","toolUseId":"b"},{"type":"tool_result","toolUseId":"a"}]`:                               true,
		`[{"type":"tool_result","toolUseId":"a"}]`:                                                                      false,
		`[{"type":"tool_result","toolUseId":"a"},{"type":"tool_result","toolUseId":"a"}]`:                               false,
		`[{"type":"tool_result","toolUseId":"a"},{"type":"tool_result","toolUseId":"b"},{"type":"text","text":"also"}]`: false,
		`{"type":"text"}`: false,
		`[7]`:             false,
		`null`:            false,
	} {
		var value any
		if err := json.Unmarshal([]byte(content), &value); err != nil {
			t.Fatal(err)
		}
		if got, err := answerUses("a", "b").Match(value); got != wanted || err != nil {
			t.Errorf("%s: %t, %v", content, got, err)
		}
	}
}

// The model uses tools for some rounds, if there are tools, and then speaks.
func TestUsingTools(t *testing.T) {
	t.Parallel()
	const lent = `{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{"tools":[{"name":"n","inputSchema":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}}]}}`
	reason := func(answer scripted.Answer, request string) any {
		result, _ := jsonrpc.Parse(answer(scripted.Received{Message: jsonrpc.Parse([]byte(request))})).Result()
		object, _ := result.(map[string]any)
		return object["stopReason"]
	}

	model := usingTools(2)

	for round, wanted := range []string{"toolUse", "toolUse", "endTurn"} {
		if got := reason(model, lent); got != wanted {
			t.Errorf("round %d: %v, not %s", round+1, got, wanted)
		}
	}
	if got := reason(usingTools(2), `{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{}}`); got != "endTurn" {
		t.Errorf("without tools: %v", got)
	}
}
