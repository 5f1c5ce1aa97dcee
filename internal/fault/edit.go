package fault

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"unicode/utf16"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/spelling"
)

// edit is a message while it is being changed: first as a value, then, once its
// text was touched, as bytes.
type edit struct {
	object any    // nil when the message is no object
	raw    []byte // its text, when current
	stale  bool   // object has changed since raw was written
	asked  any
}

func newEdit(s *said) *edit {
	e := &edit{raw: s.Raw}
	if s.message.Object != nil {
		e.object = s.message.Object
	}
	if s.asked != nil {
		e.asked = s.asked.Object
	}
	return e
}

// text returns the message as it is now.
func (e *edit) text() []byte {
	if e.stale {
		e.raw, e.stale = write(e.object), false
	}
	return e.raw
}

// setText changes the bytes; later edits of members see what they say.
func (e *edit) setText(text []byte) {
	e.raw, e.stale = text, false
	e.object = nil
	if value, _ := jsonrpc.Decode(text); value != nil {
		e.object = value
	}
}

// write writes a value as JSON without escapes for HTML.
func write(value any) []byte {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		panic("fault: " + err.Error()) // values are of JSON, or {$json}, which is checked when it is read
	}
	return bytes.TrimSuffix(text.Bytes(), []byte("\n"))
}

// errNothing says that there was nothing to change.
var errNothing = errors.New("there is nothing to change")

// ofMembers tells whether an action changes members.
func (a *Action) ofMembers() bool {
	return a.Replace != nil || a.Add != nil || a.Remove != nil || a.Rename != nil
}

// members applies an action that changes members, to the part of the message at a
// place.
func (e *edit) members(action *Action, place []string) error {
	var pointer *string
	var change func(container any, part string) (any, bool)
	switch {
	case action.Replace != nil:
		pointer, change = action.Replace, e.replace(action, place)
	case action.Add != nil:
		pointer, change = action.Add, e.add(action, place)
	case action.Remove != nil:
		pointer, change = action.Remove, remove
	default:
		pointer, change = action.Rename, rename(action.To)
	}
	path := slices.Concat(place, jsonrpc.Path(*pointer))
	if len(path) == 0 { // the whole message
		value, err := action.With.resolve(e.object, e.asked)
		if err == nil {
			e.object, e.stale = value, true
		}
		return err
	}
	// What other parts of the wire refer to must not change with this one.
	altered, changed := alter(clone(e.object), path, action.Add != nil, change)
	if !changed {
		return errNothing
	}
	e.object, e.stale = altered, true
	return nil
}

// value is what an action puts into the part of the message at a place.
func (e *edit) value(action *Action, place []string) (any, error) {
	parts := lookup(e.object, place)
	if len(parts) == 0 {
		return nil, errAbsent
	}
	return action.With.resolve(parts[0], e.asked)
}

func clone(value any) any {
	switch value := value.(type) {
	case map[string]any:
		object := make(map[string]any, len(value))
		for name, member := range value {
			object[name] = clone(member)
		}
		return object
	case []any:
		list := make([]any, len(value))
		for i, element := range value {
			list[i] = clone(element)
		}
		return list
	}
	return value
}

func (e *edit) replace(action *Action, place []string) func(any, string) (any, bool) {
	return func(container any, part string) (any, bool) {
		value, err := e.value(action, place)
		if err != nil {
			return container, false
		}
		return put(container, part, func(any) any { return clone(value) })
	}
}

// put changes the members or elements that a part of a pointer names.
func put(container any, part string, change func(any) any) (any, bool) {
	changed := false
	switch container := container.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(container)) {
			if _, exact := container[part]; name == part || part == anyPart && !exact {
				container[name] = change(container[name])
				changed = true
			}
		}
	case []any:
		for index := range container {
			if at, ok := position(part, len(container)); part == anyPart || ok && at == index {
				container[index] = change(container[index])
				changed = true
			}
		}
	}
	return container, changed
}

// appended is the part of a pointer that stands for a new last element.
const appended = "-"

func (e *edit) add(action *Action, place []string) func(any, string) (any, bool) {
	return func(container any, part string) (any, bool) {
		value, err := e.value(action, place)
		if err != nil {
			return container, false
		}
		switch container := container.(type) {
		case map[string]any:
			container[part] = clone(value)
			return container, true
		case []any:
			if part == appended {
				return append(container, clone(value)), true
			}
			if index, ok := position(part, len(container)+1); ok {
				return slices.Insert(container, index, clone(value)), true
			}
		}
		return container, false
	}
}

func remove(container any, part string) (any, bool) {
	switch container := container.(type) {
	case map[string]any:
		before := len(container)
		if _, exact := container[part]; exact || part != anyPart {
			delete(container, part)
		} else {
			clear(container)
		}
		return container, len(container) != before
	case []any:
		if part == anyPart {
			return []any{}, len(container) > 0
		}
		if index, ok := position(part, len(container)); ok {
			return slices.Delete(container, index, index+1), true
		}
	}
	return container, false
}

func rename(to string) func(any, string) (any, bool) {
	return func(container any, part string) (any, bool) {
		object, isObject := container.(map[string]any)
		if !isObject {
			return container, false
		}
		value, present := object[part]
		if present {
			delete(object, part)
			object[to] = value
		}
		return object, present
	}
}

// bytes applies an action that changes the text of a message. It reports whether
// the action is one of those.
func (e *edit) bytes(action *Action) bool {
	switch {
	case action.Substitute != nil:
		e.setText(action.Substitute.ReplaceAll(e.text(), []byte(action.By)))
	case action.Raw != nil:
		e.setText([]byte(*action.Raw))
	case action.Hex != nil:
		text, _ := hex.DecodeString(*action.Hex) // checked when it is read
		e.setText(text)
	case action.Encode != "":
		e.setText(encode(e.text(), action.Encode))
	case len(action.Form) > 0:
		e.setText(withParameters(e.text(), action.Form))
	case len(action.Rewrite) > 0:
		for _, name := range action.Rewrite {
			e.setText(spelling.Rewrite(name, e.text()))
		}
	default:
		return false
	}
	return true
}

// encodings are those that Encode knows.
var encodings = []string{"utf-16", "latin-1", "bom"}

func encode(text []byte, encoding string) []byte {
	switch encoding {
	case "utf-16":
		encoded := []byte{0xff, 0xfe}
		for _, unit := range utf16.Encode([]rune(string(text))) {
			encoded = binary.LittleEndian.AppendUint16(encoded, unit)
		}
		return encoded
	case "latin-1":
		var encoded []byte
		for _, character := range string(text) {
			encoded = append(encoded, byte(min(character, 0xff))) //nolint:gosec // bounded
		}
		return encoded
	}
	return append([]byte("\xef\xbb\xbf"), text...)
}
