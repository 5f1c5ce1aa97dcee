package places

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/rules"
)

// opaque are the members whose value belongs to the implementations and not
// to the protocol: what is in them only looks like parts of messages.
var opaque = map[string]bool{
	"_meta": true, "arguments": true, "structuredContent": true, "data": true,
	"inputSchema": true, "outputSchema": true, "requestedSchema": true,
	"experimental": true, "input": true, "metadata": true,
}

// Named returns every member of a name in the objects of a message that
// belong to the protocol, sorted by place.
func Named(message *rules.Message, name string) []Place {
	// Most messages have none, and walking through a long list takes its time.
	if message.Object == nil || !bytes.Contains(message.Raw, []byte(`"`+name+`"`)) {
		return nil
	}
	var members []Place
	collect(&members, nil, message.Object, name)
	slices.SortFunc(members, func(a, b Place) int { return cmp.Compare(a.Pointer, b.Pointer) })
	return members
}

func collect(members *[]Place, path []string, value any, name string) {
	switch value := value.(type) {
	case map[string]any:
		if member, there := value[name]; there {
			*members = append(*members, Place{jsonrpc.Pointer(append(path, name)...), member})
		}
		for inner, member := range value {
			if !opaque[inner] {
				collect(members, append(path, inner), member, name)
			}
		}
	case []any:
		for index, element := range value {
			collect(members, append(path, strconv.Itoa(index)), element, name)
		}
	}
}
