package fault

import (
	"maps"
	"slices"
	"strconv"
)

// anyPart stands for all members of an object and all elements of an array.
const anyPart = "*"

// lookup returns the values at a pointer; without * there is one at most.
func lookup(value any, parts []string) []any {
	if len(parts) == 0 {
		return []any{value}
	}
	var found []any
	for _, child := range children(value, parts[0]) {
		found = append(found, lookup(child, parts[1:])...)
	}
	return found
}

func children(value any, part string) []any {
	switch value := value.(type) {
	case map[string]any:
		if child, present := value[part]; present {
			return []any{child}
		}
		if part == anyPart {
			all := make([]any, 0, len(value))
			for _, name := range slices.Sorted(maps.Keys(value)) {
				all = append(all, value[name])
			}
			return all
		}
	case []any:
		if part == anyPart {
			return value
		}
		if index, ok := position(part, len(value)); ok {
			return value[index : index+1]
		}
	}
	return nil
}

// position reads an index into a list. A negative one counts from the end.
func position(part string, length int) (int, bool) {
	index, err := strconv.Atoi(part)
	if err == nil && index < 0 {
		index += length
	}
	return index, err == nil && index >= 0 && index < length
}

// alter changes what stands at a pointer: change is called with the container
// and the last part, and returns the container as it is to be. It reports
// whether there was anything. With make, members on the way that are missing are
// made.
func alter(value any, parts []string, create bool, change func(container any, part string) (any, bool)) (any, bool) {
	if len(parts) == 1 {
		return change(value, parts[0])
	}
	switch container := value.(type) {
	case map[string]any:
		return value, alterMembers(container, parts, create, change)
	case []any:
		return value, alterElements(container, parts, create, change)
	}
	return value, false
}

func alterMembers(
	container map[string]any,
	parts []string,
	create bool,
	change func(any, string) (any, bool),
) (changed bool) {
	names := []string{parts[0]}
	if _, present := container[parts[0]]; !present && parts[0] == anyPart {
		names = slices.Sorted(maps.Keys(container))
	}
	for _, name := range names {
		child, present := container[name]
		if !present {
			if !create {
				continue
			}
			child = map[string]any{}
		}
		if altered, did := alter(child, parts[1:], create, change); did {
			container[name] = altered
			changed = true
		}
	}
	return changed
}

func alterElements(container []any, parts []string, create bool, change func(any, string) (any, bool)) (changed bool) {
	for index := range container {
		if at, ok := position(parts[0], len(container)); parts[0] != anyPart && (!ok || at != index) {
			continue
		}
		if altered, did := alter(container[index], parts[1:], create, change); did {
			container[index] = altered
			changed = true
		}
	}
	return changed
}
