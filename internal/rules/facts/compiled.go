package facts

import (
	"encoding/json"
	"fmt"
	"maps"
	"sync"

	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/schema"
)

// draft07 is the dialect that most schemas without one are meant in, where the
// specification does not say.
const draft07 = "http://json-schema.org/draft-07/schema#"

// Compile compiles a tool's schema. Earlier revisions name no dialect for a
// schema that names none: then it only has to be valid in one of two.
func Compile(revision string, document any) (*schema.Compiled, error) {
	text, err := json.Marshal(document)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", schema.ErrCannotJudge, err)
	}
	compile := func() (*schema.Compiled, error) {
		found, err := schema.Compile(document)
		object, isObject := document.(map[string]any)
		if err == nil || protocol.Has(revision, protocol.SchemaDialect) || !isObject || object["$schema"] != nil {
			return found, err
		}
		older := maps.Clone(object)
		older["$schema"] = draft07
		if second, err := schema.Compile(older); err == nil {
			return second, nil
		}
		return found, err
	}
	return compilations.get(revision+" "+string(text), compile)
}

// compilations keeps compiled schemas: the same tools are listed on every
// connection, and compiling takes a millisecond.
var compilations = memory{entries: map[string]compilation{}}

type memory struct {
	mutex   sync.Mutex
	entries map[string]compilation
	bytes   int
}

type compilation struct {
	schema *schema.Compiled
	err    error
}

// maxCompilations bounds what is kept, in bytes of the schemas' text; the tools
// of a large server have some hundred thousand.
const maxCompilations = 4 << 20

func (m *memory) get(key string, compile func() (*schema.Compiled, error)) (*schema.Compiled, error) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if known, there := m.entries[key]; there {
		return known.schema, known.err
	}
	made, err := compile()
	if m.bytes += len(key); m.bytes > maxCompilations {
		clear(m.entries)
		m.bytes = len(key)
	}
	m.entries[key] = compilation{made, err}
	return made, err
}
