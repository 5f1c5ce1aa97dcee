package tools

import (
	"slices"
	"strings"
	"testing"

	"github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/internal/session"
)

func object(t *testing.T, text string) check.Object {
	t.Helper()
	value, flaws := jsonrpc.Decode([]byte(text))
	decoded, isObject := value.(map[string]any)
	if !isObject || len(flaws) > 0 {
		t.Fatalf("%s is no object: %v", text, flaws)
	}
	return decoded
}

func TestSwapCase(t *testing.T) {
	t.Parallel()
	for name, swapped := range map[string]string{"getUser": "GETuSER", "a-1": "A-1", "123": "123"} {
		if got := strings.Map(swapCase, name); got != swapped {
			t.Errorf("%s became %s, wanted %s", name, got, swapped)
		}
	}
}

func TestSucceeded(t *testing.T) {
	t.Parallel()
	for answer, success := range map[string]bool{
		`{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`:                 true,
		`{"jsonrpc":"2.0","id":1,"result":{"content":[],"isError":false}}`: true,
		`{"jsonrpc":"2.0","id":1,"result":{"content":[],"isError":true}}`:  false,
		`{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"no"}}`:  false,
	} {
		reply := session.Reply{Received: scripted.Received{Message: jsonrpc.Parse([]byte(answer))}}
		if succeeded(reply) != success {
			t.Errorf("%s: wanted %t", answer, success)
		}
	}
}

func TestReadableLinks(t *testing.T) {
	t.Parallel()
	result := object(t, `{"content":[
		{"type":"resource_link","uri":"test://a","name":"a"},
		{"type":"resource_link","uri":"https://example.com/","name":"b"},
		{"type":"resource_link","name":"c"},
		{"type":"text","text":"d","uri":"test://d"}, 5]}`)
	if got := readableLinks(result); !slices.Equal(got, []string{"test://a"}) {
		t.Errorf("found %v", got)
	}
}
