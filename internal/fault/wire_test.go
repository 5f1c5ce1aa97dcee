package fault

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/mcpconform/mcpconform/internal/record"
)

// injected begins a connection into which one fault is injected, given as when and do.
func injected(t *testing.T, text string) *Wire {
	t.Helper()
	faults, err := Parse("f.yaml", []byte("- id: a\n  says: x\n"+text))
	if err != nil {
		t.Fatal(err)
	}
	return NewWire(Injection{Faults: faults})
}

// pass sends messages over a wire; each begins with > (in) or < (out). What
// comes of them is written in the same way.
func pass(wire *Wire, messages ...string) string {
	var all []string
	for _, text := range messages {
		direction := record.In
		if text[0] == '<' {
			direction = record.Out
		}
		for _, step := range wire.Message(record.Passage{Direction: direction, Raw: []byte(text[1:]), Carried: "body"}) {
			all = append(all, shownStep(step))
		}
	}
	return strings.Join(all, "\n")
}

func shownStep(step record.Step) string {
	var text strings.Builder
	if step.Message != nil {
		text.WriteString(map[record.Direction]string{record.In: ">", record.Out: "<"}[step.Direction] + string(step.Message))
	}
	if step.Text != nil {
		fmt.Fprintf(&text, "text %s", step.Text)
	}
	for name, there := range map[string]bool{
		" cut": step.Cut, " hang": step.Hang, " waits": step.Wait.Time > 0, " held": step.Wait.Until != nil,
		" exits": step.Exit != nil, " in pieces": step.Chunk > 0,
	} {
		if there {
			text.WriteString(name)
		}
	}
	return text.String()
}

// Over HTTP several clients may use one id at the same time: an answer belongs to the
// request of its own exchange.
func TestAnswersBelongToTheirExchange(t *testing.T) {
	t.Parallel()
	wire := injected(t, "  when: {response-to: m}\n  do: [{replace: /result, with: 1}]\n")
	pass := func(direction record.Direction, exchange, text string) string {
		steps := wire.Message(record.Passage{Direction: direction, Raw: []byte(text), Carried: "body", Exchange: exchange})
		return string(steps[0].Message)
	}
	pass(record.In, "post-1", `{"id":1,"jsonrpc":"2.0","method":"m"}`)
	pass(record.In, "post-2", `{"id":1,"jsonrpc":"2.0","method":"other"}`)
	for exchange, want := range map[string]string{
		"post-1": `{"id":1,"jsonrpc":"2.0","result":1}`,
		"post-2": `{"id":1,"jsonrpc":"2.0","result":0}`,
		"get-1":  `{"id":1,"jsonrpc":"2.0","result":0}`, // the latest
	} {
		if got := pass(record.Out, exchange, `{"id":1,"jsonrpc":"2.0","result":0}`); got != want {
			t.Errorf("on %s: %s, wanted %s", exchange, got, want)
		}
	}
}

func TestMessages(t *testing.T) {
	t.Parallel()
	const ask, answer = `>{"id":1,"jsonrpc":"2.0","method":"m","params":{"a":"x","token":7}}`, `<{"id":1,"jsonrpc":"2.0","result":{"list":[{"n":1},{"n":2}]}}`
	const response = "  when: {response-to: m}\n  do:\n"
	for name, one := range map[string]struct {
		change   string
		messages []string
		become   string
	}{
		"answered in the stateless era": {"  when: {direction: in, method: tools/list}\n  do: [{answer: {tools: [], ttlMs: 5}}]",
			[]string{`>{"id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`},
			`<{"id":1,"jsonrpc":"2.0","result":{"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"mcpconform-middleman","version":"1.0.0"}},` +
				`"cacheScope":"public","resultType":"complete","tools":[],"ttlMs":5}}`},
		"replaced": {response + `  - {replace: /result/list/*/n, with: 3}`, []string{ask, answer},
			ask + "\n" + `<{"id":1,"jsonrpc":"2.0","result":{"list":[{"n":3},{"n":3}]}}`},
		"added, with parents": {response + `  - {add: /result/_meta/k, with: {$asked: /params/token}}`, []string{ask, answer},
			ask + "\n" + `<{"id":1,"jsonrpc":"2.0","result":{"_meta":{"k":7},"list":[{"n":1},{"n":2}]}}`},
		"appended": {response + `  - {add: /result/list/-, with: {$message: /result/list/0}}`, []string{ask, answer},
			ask + "\n" + `<{"id":1,"jsonrpc":"2.0","result":{"list":[{"n":1},{"n":2},{"n":1}]}}`},
		"removed from the end": {response + `  - {remove: /result/list/-1}`, []string{ask, answer},
			ask + "\n" + `<{"id":1,"jsonrpc":"2.0","result":{"list":[{"n":1}]}}`},
		"renamed": {response + `  - {rename: /result/list, to: items}`, []string{ask, answer},
			ask + "\n" + `<{"id":1,"jsonrpc":"2.0","result":{"items":[{"n":1},{"n":2}]}}`},
		"replaced by what it was asked with, whole": {response + `  - {replace: "", with: {$asked: ""}}`, []string{ask, answer}, ask + "\n<" + ask[1:]},
		"a number as it is spelled":                 {response + `  - {replace: /id, with: {$json: "1.0"}}`, []string{ask, `<{"id":1,"result":{}}`}, ask + "\n" + `<{"id":1.0,"result":{}}`},
		"substituted":                               {response + `  - {substitute: '"n":(\d)', by: '"n":"$1"'}`, []string{ask, answer}, ask + "\n" + strings.NewReplacer(`"n":1`, `"n":"1"`, `"n":2`, `"n":"2"`).Replace(answer)},
		"bytes":                                     {response + `  - {hex: fffe}`, []string{ask, answer}, ask + "\n<\xff\xfe"},
		"text, then a member":                       {response + `  - {raw: '{"a":1}'}` + "\n" + `  - {add: /b, with: 2}`, []string{ask, answer}, ask + "\n" + `<{"a":1,"b":2}`},
		"dropped":                                   {response + `  - {drop: true}`, []string{ask, answer}, ask},
		"repeated":                                  {response + `  - {repeat: 2}`, []string{ask, `<{"id":1,"result":{}}`}, strings.Join([]string{ask, `<{"id":1,"result":{}}`, `<{"id":1,"result":{}}`, `<{"id":1,"result":{}}`}, "\n")},
		"cut instead of sent":                       {response + "  - {drop: true}\n  - {cut: true}", []string{ask, answer}, ask + "\n cut"},
		"delayed":                                   {response + "  - {delay: 1s}", []string{ask, answer}, ask + "\n" + answer + " waits"},
		"answered by the middleman": {"  when: {direction: in, method: m}\n  do: [{answer: {echo: {$message: /params/a}}}]", []string{ask},
			`<{"id":1,"jsonrpc":"2.0","result":{"echo":"x"}}`},
		"refused by the middleman": {"  when: {direction: in, method: m}\n  do: [{refuse: {code: -32601, message: no}}]", []string{ask},
			`<{"error":{"code":-32601,"message":"no"},"id":1,"jsonrpc":"2.0"}`},
		"something else before": {response + `  - {send: {method: n}, place: before}`, []string{ask, answer}, ask + "\n" + `<{"method":"n"}` + "\n" + answer},
		"something else the other way": {response + `  - {send: {method: n}, direction: in}`, []string{ask, answer},
			ask + "\n" + answer + "\n" + `>{"method":"n"}`},
		"the second alone":    {"  when: {method: n, nth: 2}\n  do: [{drop: true}]", []string{`<{"method":"n","params":1}`, `<{"method":"n","params":2}`, `<{"method":"n","params":3}`}, `<{"method":"n","params":1}` + "\n" + `<{"method":"n","params":3}`},
		"only after another":  {"  when: {method: n, after: {direction: in, method: m}}\n  do: [{drop: true}]", []string{`<{"method":"n"}`, ask, `<{"method":"n"}`}, `<{"method":"n"}` + "\n" + ask},
		"only before another": {"  when: {method: n, before: {direction: in, method: m}}\n  do: [{drop: true}]", []string{`<{"method":"n"}`, ask, `<{"method":"n"}`}, ask + "\n" + `<{"method":"n"}`},
		"under a condition": {"  when: {direction: in, method: m, where: {/params/a: x, /params/b: {present: false}, /params/token: {type: number}}}\n  do: [{drop: true}]",
			[]string{ask, `>{"id":2,"method":"m","params":{"a":"y","token":7}}`}, `>{"id":2,"method":"m","params":{"a":"y","token":7}}`},
		"by what was asked": {"  when: {response-to: m, asked: {/params/a: {matches: ^x}}}\n  do: [{drop: true}]", []string{ask, answer}, ask},
		"what does not match stays, to the byte": {response + `  - {drop: true}`, []string{`>{"id": 1 , "method":"other"}`, `<{"id":1.0, "result":{} }`},
			`>{"id": 1 , "method":"other"}` + "\n" + `<{"id":1.0, "result":{} }`},
		"null":          {response + `  - {replace: /result/list, with: null}`, []string{ask, answer}, ask + "\n" + `<{"id":1,"jsonrpc":"2.0","result":{"list":null}}`},
		"only for null": {"  when: {method: n, where: {/params: null}}\n  do: [{drop: true}]", []string{`<{"method":"n","params":null}`, `<{"method":"n","params":1}`}, `<{"method":"n","params":1}`},
		"what is asked by a request": {"  when: {asks: elicitation/create, where: {/params/mode: form}}\n  do: [{replace: /params/message, with: {$message: /params/mode}}]",
			[]string{`<{"id":1,"method":"elicitation/create","params":{"message":"x","mode":"form"}}`, `<{"id":2,"method":"roots/list","params":{"mode":"form"}}`},
			`<{"id":1,"method":"elicitation/create","params":{"message":"form","mode":"form"}}` + "\n" + `<{"id":2,"method":"roots/list","params":{"mode":"form"}}`},
		"what is asked by a result": {"  when: {asks: elicitation/create, where: {/params/mode: form}}\n  do: [{replace: /params/message, with: {$message: /params/mode}}, {remove: /params/mode}]",
			[]string{`<{"id":1,"result":{"inputRequests":{"a/b":{"method":"elicitation/create","params":{"mode":"form"}},"b":{"method":"elicitation/create","params":{"message":"x","mode":"form"}},"c":{"method":"elicitation/create","params":{"mode":"url"}},"d":{"method":"roots/list"}}}}`},
			`<{"id":1,"result":{"inputRequests":{"a/b":{"method":"elicitation/create","params":{}},"b":{"method":"elicitation/create","params":{"message":"form"}},"c":{"method":"elicitation/create","params":{"mode":"url"}},"d":{"method":"roots/list"}}}}`},
		"an error is no result": {"  when: {response-to: m, kind: result}\n  do: [{drop: true}]", []string{ask, `<{"id":1,"error":{"code":1,"message":"x"}}`}, ask + "\n" + `<{"id":1,"error":{"code":1,"message":"x"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if became := pass(injected(t, one.change), one.messages...); became != one.become {
				t.Errorf("wanted\n%s\nfound\n%s", one.become, became)
			}
		})
	}
}

func TestHoldOpensWhenTheOtherHasPassed(t *testing.T) {
	t.Parallel()
	wire := injected(t, "  when: {response-to: m}\n  do: [{hold: {response-to: n}}]")
	pass(wire, `>{"id":1,"method":"m"}`, `>{"id":2,"method":"n"}`)
	steps := wire.Message(record.Passage{Direction: record.Out, Raw: []byte(`{"id":1,"result":{}}`)})
	held := steps[0].Wait.Until
	select {
	case <-held:
		t.Fatal("it does not wait")
	default:
	}
	pass(wire, `<{"id":2,"result":{}}`)
	select {
	case <-held:
	default:
		t.Error("it still waits")
	}
}

func TestHeads(t *testing.T) {
	t.Parallel()
	wire := injected(t, "  when: {http: {method: POST, status: 202, request: {X: {present: true}}}}\n  do: [{status: 200}, {header: {Y: null, Z: a}}]")
	head := record.Head{Direction: record.Out, Method: "POST", Status: 202, Request: http.Header{"X": {"1"}}}
	if plan := wire.Head(head); plan.Status != 200 || len(plan.Header) != 2 || plan.Header["Y"] != nil || *plan.Header["Z"] != "a" {
		t.Errorf("found %+v", plan)
	}
	head.Status = 404
	if plan := wire.Head(head); !none(plan) {
		t.Errorf("found %+v", plan)
	}
}

func TestProcessEvents(t *testing.T) {
	t.Parallel()
	wire := injected(t, "  when: {process: terminate}\n  do: [{ignore: true}, {write: bye, to: stderr}]")
	if steps, ignored := wire.Process("terminate"); !ignored || len(steps) != 1 || string(steps[0].Text) != "bye" || !steps[0].Stderr {
		t.Errorf("found %v, %v", steps, ignored)
	}
	if steps, ignored := wire.Process("start"); ignored || len(steps) != 0 {
		t.Errorf("found %v, %v", steps, ignored)
	}
}

func TestWatchedFaultsAreToldAndDoNothing(t *testing.T) {
	t.Parallel()
	faults, err := Parse("f.yaml", []byte("- {id: a, says: x, when: {method: n}, do: [{drop: true}]}"))
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	wire := NewWire(Injection{Watched: faults, Matched: func(fault *Fault) { texts = append(texts, fault.ID) }})
	if became := pass(wire, `<{"method":"n"}`, `<{"method":"o"}`); became != `<{"method":"n"}`+"\n"+`<{"method":"o"}` || len(texts) != 1 {
		t.Errorf("found %s, told %v", became, texts)
	}
}
