package fault_test

import (
	"bytes"
	"io/fs"
	"regexp"
	"strings"
	"testing"

	"github.com/mcpconform/mcpconform/fixtures"
	"github.com/mcpconform/mcpconform/internal/fault"
	"github.com/mcpconform/mcpconform/internal/record"
)

// told is how every line of an error begins: with the place.
var told = regexp.MustCompile(`^f\.yaml:[0-9]+: \S`)

// passages are what goes over a connection: a handshake, a call, its answer.
func passages(more ...[]byte) []record.Passage {
	texts := [][]byte{
		[]byte(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`),
		[]byte(`{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}`),
		[]byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`),
		nil, // a block of an event stream without a message
		[]byte(`{"jsonrpc":"2.0","id":"a","method":"tools/list","params":{"_meta":{"progressToken":1}}}`),
		[]byte(`{"jsonrpc":"2.0","id":"a","result":{"tools":[{"name":"echo","inputSchema":{"type":"object"}}],"nextCursor":"b"}}`),
	}
	var all []record.Passage
	for index, text := range append(texts, more...) {
		direction := record.In
		if index%2 == 1 {
			direction = record.Out
		}
		all = append(all, record.Passage{Direction: direction, Raw: text, Carried: []string{"stdio", "body", "post", "get"}[index%4]})
	}
	return all
}

// FuzzParse shows that every error tells its place, and that every fault that can
// be read can be injected into traffic.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"- id: a\n  says: x\n  breaks: [a.b]\n  when: {response-to: initialize}\n  do: [{replace: /result/protocolVersion, with: {$asked: /params/protocolVersion}}]\n",
		"- {id: a, says: x, when: {where: {/a/*: {type: object, not: 1}}, nth: 2}, do: [{add: /a/-, with: {$json: 1e400}}, {rename: /b, to: c}]}\n",
		"- {id: a, says: x, when: {process: start}, do: [{write: x, to: stderr}, {exit: 3}]}\n",
		"- {id: a, says: x, when: {http: {method: POST, header: {Accept: {matches: json}}}}, do: [{status: 500}, {header: {A: null}}]}\n",
		"- {id: a, says: x, changes: [{when: {kind: result}, do: [{hold: {method: ping}}, {rewrite: spaces}, {encode: utf-16}, {hex: ff}]}]}\n",
		"- {id: a, says: x, when: {method: [a, b], after: {kind: error}}, do: [{send: {id: {$message: /id}}, place: before, stream: get}]}\n",
		"- {id: a, says: x, when: {kind: request}, do: [{answer: null}, {refuse: {code: 1}}, {substitute: '(', by: $1}, {delay: 1s}]}\n",
		"- {id: a, says: x, role: client, changes: [{when: {answers: roots/list, after: {method: m}}, do: [{hold: {kind: request}}, {request: {method: GET, header: {Accept: null}}}]}]}\n",
		"", "[]\n---\n[]", "- &a {id: *a}", "{", "- id: \"a\\nb\"\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		faults, err := fault.Parse("f.yaml", []byte(text))
		if err != nil {
			for line := range strings.SplitSeq(err.Error(), "\n") {
				if !told.MatchString(line) {
					t.Errorf("an error does not begin with the place: %q", line)
				}
			}
			return
		}
		wire := fault.NewWire(fault.Injection{Faults: faults})
		for _, passage := range passages() {
			wire.Message(passage)
			wire.Head(record.Head{Direction: passage.Direction, Method: "POST", Status: 200})
		}
		wire.Process("start")
	})
}

// FuzzMessage shows that every message of a peer can pass under each of the
// faults and variations, and that without any it passes as it came.
func FuzzMessage(f *testing.F) {
	var injected []*fault.Fault
	for _, folder := range []string{fixtures.Faults, fixtures.Variations} {
		files, err := fs.Sub(fixtures.Wire, folder)
		if err != nil {
			f.Fatal(err)
		}
		some, err := fault.Load(files)
		if err != nil {
			f.Fatal(err)
		}
		injected = append(injected, some...)
	}
	for index, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"b":[1,2.50,-0,1e400]}}}`,
		`{"id":"a","result":{"tools":[],"a":null},"error":{"code":-32601,"message":"no"}}`,
		`{"jsonrpc":"2.0","id":0,"result":{"contents":[{"uri":7}],"messages":[{"content":[]}],"task":{},"_meta":{}}}`,
		`[{"id":1,"method":7},{}]`, `{"a":1,"a":2}`, "\"\xff\"", ``, `nul`, `{"method":"notifications/progress","params":[]}`,
	} {
		for at := range injected {
			if at%9 == index {
				f.Add([]byte(seed), uint16(at))
			}
		}
	}
	f.Fuzz(func(t *testing.T, message []byte, at uint16) {
		one := []*fault.Fault{injected[int(at)%len(injected)]}
		plain, watched, under := fault.NewWire(fault.Injection{}), fault.NewWire(fault.Injection{Watched: one}), fault.NewWire(fault.Injection{Faults: one})
		for _, passage := range passages(message, message) {
			for _, wire := range []*fault.Wire{plain, watched} {
				steps := wire.Message(passage)
				if len(steps) != 1 || !bytes.Equal(steps[0].Message, passage.Raw) || steps[0].Direction != passage.Direction {
					t.Fatalf("%q does not pass as it came: %+v", passage.Raw, steps)
				}
			}
			under.Message(passage)
		}
	})
}
