package schema

import (
	"encoding/json"
	"strconv"
	"sync"
)

const (
	// maxRemembered bounds the target's schemas that are kept compiled: those of a
	// server with many tools.
	maxRemembered = 64
	// maxRememberedText bounds the bytes of each.
	maxRememberedText = 8 << 10
)

// memory keeps schemas compiled: the checks of a run compile those of the same tools
// again and again, which takes longer than anything else that they do.
type memory struct {
	mutex sync.Mutex
	known map[string]*Compiled
}

var compiledBefore memory

// key is the text of a schema; "" when it is not to be remembered.
func (m *memory) key(document any, assertFormat bool) string {
	text, err := json.Marshal(document)
	if err != nil || len(text) > maxRememberedText {
		return ""
	}
	return strconv.FormatBool(assertFormat) + string(text)
}

func (m *memory) recall(key string) *Compiled {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return m.known[key]
}

func (m *memory) keep(key string, compiled *Compiled) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if len(m.known) >= maxRemembered || m.known == nil {
		m.known = map[string]*Compiled{} // what is asked for again comes again
	}
	m.known[key] = compiled
}
