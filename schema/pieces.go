package schema

import (
	"maps"
	"slices"
	"strconv"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
)

// maxAtOnce is how many values of a message are judged in one go. The library keeps several kilobytes for each value
// that is wrong in a union, so that a hostile message of a few megabytes would fill the memory. Real messages are
// seldom this large.
const maxAtOnce = 20_000

// piece is a part of a value that can be judged alone: the value with most of one long array left out.
type piece struct {
	value any
	array []string // where the array is, in the whole value; nil if the piece's places are those of the whole
	start int      // the index in the whole of the array's first item in the piece
}

// pieces splits a value that is too large at once, or returns nil. It relies on what holds in our documents: no array
// must have items, or items that differ, so that leaving items out makes nothing invalid.
func pieces(value any) []piece {
	total := size(value)
	if total <= maxAtOnce {
		return nil
	}
	path := heaviestArray(value)
	items, _ := at(value, path).([]any)
	if len(items) < 2 || size(items) < total/8 {
		return nil
	}
	all := []piece{{value: replaced(value, path, []any{})}}
	focused := focus(value, path)
	for start := 0; start < len(items); {
		end, weight := start, 0
		for end < len(items) && (end == start || weight < maxAtOnce/2) {
			weight += size(items[end])
			end++
		}
		// The array's ancestors hold nothing else, so it is found by its path with all indexes 0.
		all = append(
			all,
			piece{value: replaced(focused, zeroed(value, path), items[start:end]), array: path, start: start},
		)
		start = end
	}
	return all
}

// restore makes a violation of a piece one of the whole.
func (p piece) restore(v Violation, whole any) Violation {
	steps := jsonrpc.Path(v.Pointer)
	isWhole := v.Found == describe(at(p.value, steps))
	if p.array != nil {
		p.relocate(steps, whole)
		v.Pointer = jsonrpc.Pointer(steps...)
	}
	if array, isArray := at(whole, steps).([]any); isArray && isWhole {
		v.Found = describe(array)
	}
	return v
}

// relocate gives the indexes on the way to the array, and in it, their numbers in the whole.
func (p piece) relocate(steps []string, whole any) {
	for i := range steps[:min(len(steps), len(p.array))] {
		if _, isArray := whole.([]any); isArray {
			steps[i] = p.array[i]
		}
		if steps[i] != p.array[i] {
			return // beside the way, where there are no items
		}
		whole = at(whole, steps[i:i+1])
	}
	if len(steps) > len(p.array) {
		if index, err := strconv.Atoi(steps[len(p.array)]); err == nil {
			steps[len(p.array)] = strconv.Itoa(p.start + index)
		}
	}
}

// size counts the values in a value.
func size(value any) int {
	n := 1
	switch value := value.(type) {
	case []any:
		for _, item := range value {
			n += size(item)
		}
	case map[string]any:
		for _, item := range value {
			n += size(item)
		}
	}
	return n
}

// heaviestArray is the path to the array in which most of a value is, and in which no single item is most.
func heaviestArray(value any) []string {
	path := []string{}
	for {
		total, most, step := size(value), 0, ""
		var next any
		weigh := func(name string, item any) {
			if n := size(item); n > most || n == most && name < step {
				most, step, next = n, name, item
			}
		}
		switch container := value.(type) {
		case []any:
			for i, item := range container {
				weigh(strconv.Itoa(i), item)
			}
			if most <= total/2 {
				return path
			}
		case map[string]any:
			for name, item := range container {
				weigh(name, item)
			}
		}
		if next == nil {
			return path
		}
		path, value = append(path, step), next
	}
}

// replaced is a copy of a value, as deep as it must be, with another value at a path.
func replaced(value any, path []string, by any) any {
	if len(path) == 0 {
		return by
	}
	inner := replaced(at(value, path[:1]), path[1:], by)
	switch container := value.(type) {
	case []any:
		index, err := strconv.Atoi(path[0])
		if err != nil || index >= len(container) {
			return value
		}
		changed := slices.Clone(container)
		changed[index] = inner
		return changed
	case map[string]any:
		changed := maps.Clone(container)
		changed[path[0]] = inner
		return changed
	default:
		return value
	}
}

// focus is a value in which the arrays on a path hold only the item on the path, and all others none.
func focus(value any, path []string) any {
	switch container := value.(type) {
	case []any:
		if len(path) == 0 {
			return []any{}
		}
		return []any{focus(at(value, path[:1]), path[1:])}
	case map[string]any:
		changed := make(map[string]any, len(container))
		for name, item := range container {
			if len(path) > 0 && name == path[0] {
				changed[name] = focus(item, path[1:])
			} else {
				changed[name] = focus(item, nil)
			}
		}
		return changed
	default:
		return value
	}
}

// zeroed is a path of a value in its focus: every index is 0 there.
func zeroed(value any, path []string) []string {
	steps := slices.Clone(path)
	for i, step := range path {
		if _, isArray := value.([]any); isArray {
			steps[i] = "0"
		}
		value = at(value, []string{step})
	}
	return steps
}
