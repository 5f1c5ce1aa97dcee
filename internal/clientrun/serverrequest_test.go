package clientrun

import (
	"testing"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/scenario"
	"github.com/mcpconform/mcpconform/internal/scope"
	"github.com/mcpconform/mcpconform/internal/scope/scopetest"
)

// clientOf is a target client that has said, and was told, messages over stdio.
func clientOf(revision string, messages ...string) *Client {
	runner := &Runner{Scope: &scope.Scope{Cell: Cell{Role: protocol.ClientRole, Revision: revision, Transport: protocol.Stdio}}}
	recording := &scenario.Recording{Scenario: "test", Connections: []scenario.Recorded{{Name: "c", Events: scopetest.Said(messages...), Complete: true}}}
	return newClient(runner, &scenario.Scenario{Name: "test"}, recording, nil)
}

func TestServerRequestsOfTheHandshakeEra(t *testing.T) {
	t.Parallel()
	client := clientOf("2025-11-25",
		`>{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}}`,
		`<{"jsonrpc":"2.0","id":"a","method":"roots/list"}`,
		`<{"jsonrpc":"2.0","id":"b","method":"sampling/createMessage","params":{"maxTokens":1}}`,
		`>{"jsonrpc":"2.0","id":"b","result":{"role":"assistant"}}`,
		`<{"jsonrpc":"2.0","id":"c","method":"sampling/createMessage"}`,
		`>{"jsonrpc":"2.0","id":"c","error":{"code":-1,"message":"no","data":{}}}`,
	)

	roots, sampling := client.ServerRequests("roots/list"), client.ServerRequests("sampling/createMessage")

	if len(roots) != 1 || roots[0].Answer != nil || roots[0].Answered() || roots[0].Describe() != "no answer" {
		t.Errorf("roots/list: %+v", roots)
	}
	if len(sampling) != 2 {
		t.Fatalf("%d requests for sampling", len(sampling))
	}
	if first := sampling[0]; !first.Answered() || first.Refused || first.Where != "/result" || first.Result["role"] != "assistant" || first.Params["maxTokens"] == nil {
		t.Errorf("a result: %+v", first)
	}
	if second := sampling[1]; second.Answered() || !second.Refused || second.Refusal.Code != -1 {
		t.Errorf("a refusal: %+v", second)
	}
}

func TestServerRequestsOfTheStatelessEra(t *testing.T) {
	t.Parallel()
	client := clientOf("2026-07-28",
		`>{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","_meta":{"x":1}}}`,
		`<{"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","requestState":"s1","inputRequests":{"k":{"method":"roots/list"}}}}`,
		`>{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"other","inputResponses":{"k":{"roots":[1]}},"requestState":"s1"}}`,
		`>{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"t","inputResponses":{"k":{"roots":[2]}},"requestState":"s2"}}`,
		`>{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"t","inputResponses":{"k":{"roots":[3]}},"requestState":"s1"}}`,
		`<{"jsonrpc":"2.0","id":4,"result":{"resultType":"input_required","inputRequests":{"m":{"method":"roots/list"}}}}`,
		`>{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"t"}}`,
	)

	roots := client.ServerRequests("roots/list")

	if len(roots) != 2 {
		t.Fatalf("%d requests for roots", len(roots))
	}
	if first := roots[0]; !first.Answered() || first.Where != "/params/inputResponses/k" || Show(first.Result["roots"]) != "[3]" {
		t.Errorf("the first: %+v", first)
	}
	if second := roots[1]; second.Answered() || second.Answer != nil {
		t.Errorf("the second, without a retry: %+v", second)
	}
}

func TestWhatAClientDeclaresAndIsGiven(t *testing.T) {
	t.Parallel()
	client := clientOf("2026-07-28",
		`>{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/clientCapabilities":{"sampling":{"tools":{}}}}}}`,
		`<{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}`,
		`>{"jsonrpc":"2.0","id":2,"method":"prompts/list"}`,
		`<{"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"?"}}`,
		`>{"jsonrpc":"2.0","id":3,"method":"tools/list"}`,
	)

	if !client.Declares("sampling.tools") || client.Declares("elicitation") {
		t.Error("it is not known what the client declares")
	}
	lists := client.Requests("tools/list", "prompts/list")
	if ResultTo(lists[0])["tools"] == nil || ResultTo(lists[1]) != nil || ResultTo(lists[2]) != nil {
		t.Error("of a result, an error and no answer only the first is a result")
	}
	if asked := client.RequestsAfter(AnswerTo(lists[0])); len(asked) != 2 {
		t.Errorf("%d requests after the first answer", len(asked))
	}
	if len(client.Fetched()) != 0 {
		t.Error("the client fetched nothing")
	}
}
