package selftest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/mcpconform/mcpconform/fixtures"
	"github.com/mcpconform/mcpconform/internal/fault"
)

// Flags of a middleman that is a process of its own: what it only looks for, and
// where it tells what matched.
const (
	WatchFlag   = "watch"
	MatchedFlag = "matched"
)

// watch collects what matched on the wire: what it is told, and what processes
// have told in a file.
type watch struct {
	mu   sync.Mutex
	met  []string
	file string // "" for none
	read int    // bytes of the file
}

// matched is told of a match.
func (w *watch) matched(one *fault.Fault) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.add(one.ID)
}

func (w *watch) add(id string) {
	if !slices.Contains(w.met, id) {
		w.met = append(w.met, id)
	}
}

// take returns what matched since the last time.
func (w *watch) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.catchUp()
	met := w.met
	w.met = nil
	return met
}

// catchUp reads on in the file. A file that cannot be read tells of no match,
// which is told in turn.
func (w *watch) catchUp() {
	if w.file == "" {
		return
	}
	text, _ := os.ReadFile(w.file)
	text = text[min(w.read, len(text)):]
	text = text[:bytes.LastIndexByte(text, '\n')+1]
	w.read += len(text)
	for id := range strings.Lines(string(text)) {
		w.add(strings.TrimSuffix(id, "\n"))
	}
}

// Tell returns what appends the ids of faults to a file, each once.
func Tell(file string) func(*fault.Fault) {
	var mu sync.Mutex
	reported := map[string]bool{}
	return func(one *fault.Fault) {
		mu.Lock()
		defer mu.Unlock()
		if reported[one.ID] {
			return
		}
		reported[one.ID] = true
		out, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return // the match is not counted
		}
		_, _ = out.WriteString(one.ID + "\n")
		_ = out.Close()
	}
}

// writeFaults writes faults into a file, as they stand in the fixtures, so that a
// process need not read all of these.
func writeFaults(directory, name string, all []*fault.Fault) (string, error) {
	var text []byte
	for _, one := range all {
		whole, err := fixtures.Wire.ReadFile(one.File)
		if err != nil {
			return "", err
		}
		text = append(append(text, itemAt(whole, one.Line)...), '\n')
	}
	file := filepath.Join(directory, name)
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return "", fmt.Errorf("telling a process what to inject into the traffic: %w", err)
	}
	return file, nil
}

// itemAt returns the item of a list in YAML that begins on a line, from 1.
func itemAt(whole []byte, line int) []byte {
	var item []byte
	for i, text := range bytes.SplitAfter(whole, []byte("\n")) {
		if i < line-1 {
			continue
		}
		if i >= line && bytes.HasPrefix(text, []byte("-")) {
			break
		}
		item = append(item, text...)
	}
	return item
}
