package fault

import (
	"testing"

	"github.com/mcpconform/mcpconform/internal/record"
)

// Of a client everything is seen from the client: what is out is on its way to the
// server.
func TestMessagesOfClients(t *testing.T) {
	t.Parallel()
	const asked, answered = `<{"id":1,"method":"roots/list"}`, `>{"id":1,"result":{"roots":["r"]}}`
	for name, one := range map[string]struct {
		change   string
		messages []string
		become   string
	}{
		"from the client, unless told": {"  when: {method: n}\n  do: [{drop: true}]", []string{`>{"method":"n"}`, `<{"method":"n"}`}, `<{"method":"n"}`},
		"to the client":                {"  when: {direction: in, method: n}\n  do: [{drop: true}]", []string{`>{"method":"n"}`, `<{"method":"n"}`}, `>{"method":"n"}`},
		"after one of its own": {"  when: {method: n, after: {method: m}}\n  do: [{drop: true}]",
			[]string{`<{"method":"m"}`, `>{"method":"n"}`, `>{"method":"m"}`, `>{"method":"n"}`}, `<{"method":"m"}` + "\n" + `>{"method":"n"}` + "\n" + `>{"method":"m"}`},
		"one more to the client": {"  when: {method: n}\n  do: [{send: {method: x}, direction: in}]", []string{`>{"method":"n"}`}, `>{"method":"n"}` + "\n" + `<{"method":"x"}`},
		"an answer":              {"  when: {response-to: roots/list}\n  do: [{replace: /result, with: 1}]", []string{asked, answered}, asked + "\n" + `>{"id":1,"result":1}`},
		"the result of a response": {"  when: {answers: roots/list, where: {/roots/0: r}}\n  do: [{replace: /roots, with: 1}]",
			[]string{asked, answered}, asked + "\n" + `>{"id":1,"result":{"roots":1}}`},
		"the result in a request": {"  when: {answers: roots/list, where: {/roots/0: r}}\n  do: [{replace: /roots, with: 1}]",
			[]string{`<{"id":1,"result":{"inputRequests":{"a":{"method":"roots/list"},"b":{"method":"other"}}}}`, `>{"id":2,"method":"tools/call","params":{"inputResponses":{"a":{"roots":["r"]},"b":{"roots":["r"]}}}}`},
			`<{"id":1,"result":{"inputRequests":{"a":{"method":"roots/list"},"b":{"method":"other"}}}}` + "\n" +
				`>{"id":2,"method":"tools/call","params":{"inputResponses":{"a":{"roots":1},"b":{"roots":["r"]}}}}`},
		"no result of an error": {"  when: {answers: roots/list}\n  do: [{drop: true}]", []string{asked, `>{"id":1,"error":{"code":1}}`}, asked + "\n" + `>{"id":1,"error":{"code":1}}`},
		"another name": {"  when: {method: n}\n  do: [{alias: {at: /params/token, names: [b]}}]",
			[]string{`>{"method":"n","params":{"token":"a"}}`, `<{"method":"p","params":{"token":"b"}}`}, `>{"method":"n","params":{"token":"b"}}` + "\n" + `<{"method":"p","params":{"token":"a"}}`},
		"text": {"  when: {method: n}\n  do: [{write: hello, place: before}]", []string{`>{"method":"n"}`}, "text hello\n" + `>{"method":"n"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if became := pass(injected(t, "  role: client\n"+one.change), one.messages...); became != one.become {
				t.Errorf("wanted\n%s\nfound\n%s", one.become, became)
			}
		})
	}
}

func TestHeadsOfClients(t *testing.T) {
	t.Parallel()
	wire := injected(t, "  role: client\n  when: {http: {method: POST}}\n  do: [{header: {Accept: null}}]")
	if plan := wire.Head(record.Head{Direction: record.In, Method: "POST"}); len(plan.Header) != 1 {
		t.Errorf("found %+v", plan)
	}
	if plan := wire.Head(record.Head{Direction: record.Out, Method: "POST"}); !none(plan) {
		t.Errorf("found %+v", plan)
	}
}
