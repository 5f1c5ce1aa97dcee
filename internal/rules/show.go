package rules

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/mcpconform/mcpconform/internal/excerpt"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
)

// Show writes a value for people: in words if it has some, or as JSON,
// shortened.
func Show(value any) string {
	if described, ok := value.(interface{ Describe() string }); ok {
		return described.Describe()
	}
	length := lengthOf(value)
	if length <= large {
		return excerpt.Short([]byte(jsonrpc.Text(value)))
	}
	budget := large
	return fmt.Sprintf(
		"%s… (some %d KiB)",
		excerpt.Beginning([]byte(jsonrpc.Text(beginning(value, &budget)))),
		length>>10,
	)
}

// large is the length in bytes from which on no JSON text is made of the whole of a value.
const large = 64 << 10

// lengthOf is how long the JSON text of a decoded value is in bytes, about: what is escaped
// takes more.
func lengthOf(value any) int {
	switch value := value.(type) {
	case string:
		return len(`""`) + len(value)
	case json.Number:
		return len(value)
	case []any:
		length := len(`[]`)
		for _, element := range value {
			length += lengthOf(element) + len(`,`)
		}
		return length
	case map[string]any:
		length := len(`{}`)
		for name, member := range value {
			length += len(`"":,`) + len(name) + lengthOf(member)
		}
		return length
	}
	return len("true")
}

// beginning copies what there is room for of a decoded value.
func beginning(value any, budget *int) any {
	*budget -= frame
	switch value := value.(type) {
	case string:
		return cut(value, budget)
	case json.Number:
		if len(value) > *budget {
			return cut(string(value), budget)
		}
		*budget -= len(value)
	case []any:
		var copied []any
		for _, element := range value {
			if *budget <= 0 {
				break
			}
			copied = append(copied, beginning(element, budget))
		}
		return copied
	case map[string]any:
		copied := map[string]any{}
		for _, name := range slices.Sorted(maps.Keys(value)) {
			if *budget <= 0 {
				break
			}
			copied[cut(name, budget)] = beginning(value[name], budget)
		}
		return copied
	}
	return value
}

// frame is what a value takes beside its text, about.
const frame = 16

func cut(text string, budget *int) string {
	text = text[:min(len(text), max(*budget, 0))]
	*budget -= len(text)
	return text
}
