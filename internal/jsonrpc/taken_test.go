//go:build !race

// The race detector takes memory of its own, which is not what is weighed here.

package jsonrpc_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
)

func TestWeight(t *testing.T) { //nolint:paralleltest // measures memory
	const size = 256 << 10
	for name, raw := range map[string][]byte{
		"digits":         list(`1`, size),
		"numbers":        list(`12`, size),
		"long numbers":   list(`12345678901234567890`, size),
		"words":          list(`null`, size),
		"empty strings":  list(`""`, size),
		"strings":        list(`"abc"`, size),
		"escapes":        list(`"\u0041\n\ud83d\ude00"`, size),
		"not UTF-8":      list("\"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\"", size),
		"arrays":         list(`[]`, size),
		"filled arrays":  list(`[1]`, size),
		"objects":        list(`{}`, size),
		"filled objects": list(`{"a":0}`, size),
		"nested objects": list(`{"a":{"b":{}}}`, size),
		"full objects":   list(`{"a":0,"b":0,"c":0,"d":0,"e":0,"f":0,"g":0,"h":0}`, size),
		"larger objects": list(`{"a":0,"b":0,"c":0,"d":0,"e":0,"f":0,"g":0,"h":0,"i":0}`, size),
		"long names":     list(`{"`+strings.Repeat("a", 1000)+`":0}`, size),
		"tools":          list(`{"name":"some tool","inputSchema":{"type":"object","properties":{}}}`, size),
		"deep":           list(strings.Repeat("[", 1000)+strings.Repeat("]", 1000), size),
		"many members":   []byte(numbered(`"%d":0`, size/10)),
		"members":        []byte(numbered(`"member %d":"value"`, 100)),
		"one string":     list(`"`+strings.Repeat("a", size)+`"`, size),
		"an id":          []byte(`{"id":"` + strings.Repeat("a", 60_000) + `"}`),
	} {
		before := inUse()
		kept = jsonrpc.Parse(raw)
		taken := inUse() - before + len(raw)
		if _, beyond := kept.Beyond(); beyond || kept.Object == nil {
			t.Errorf("%s: was not read: %v", name, kept.Flaws)
		}
		const aside = 128 << 10 // that libraries keep for another time
		if taken > kept.Weight+aside || kept.Weight > 4*taken+aside {
			t.Errorf("%s: takes %d bytes and weighs %d", name, taken, kept.Weight)
		}
		kept = jsonrpc.Message{}
	}
}

func inUse() int {
	runtime.GC()
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	return int(memory.HeapAlloc)
}
