package fault

import (
	"maps"

	"github.com/mcpconform/mcpconform/internal/mcp"
)

// serverInfoKey is where a result says who gave it.
const serverInfoKey = "io.modelcontextprotocol/serverInfo"

// middleman is who answers in the target's place.
var middleman = map[string]any{"name": "mcpconform-middleman", "version": "1.0.0"}

// completed returns a result that is given instead of the target's with what every
// result must have in the era of its request, unless the result says otherwise: in
// the stateless era what it is, who gave it, and how long it is good.
func completed(result, message any) any {
	request, _ := message.(map[string]any)
	params, _ := request["params"].(map[string]any)
	asked, _ := params["_meta"].(map[string]any)
	object, isObject := result.(map[string]any)
	if _, stateless := asked[mcp.MetaVersion]; !stateless || !isObject {
		return result
	}
	whole := map[string]any{"resultType": "complete"}
	switch request["method"] {
	case "tools/list",
		"prompts/list",
		"resources/list",
		"resources/templates/list",
		"resources/read",
		"server/discover":
		whole["ttlMs"], whole["cacheScope"] = 0, "public" // as the reference says: pages of a list say the same
	}
	maps.Copy(whole, object)
	meta := map[string]any{serverInfoKey: middleman}
	own, _ := object["_meta"].(map[string]any)
	maps.Copy(meta, own)
	whole["_meta"] = meta
	return whole
}
