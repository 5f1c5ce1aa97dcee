package survey

import "strings"

// Declares tells whether capabilities contain a path such as
// "resources.subscribe". A member that is false or null is not declared. The
// identifier of an extension, in "extensions.io.modelcontextprotocol/tasks", is one
// name, with dots of its own.
func Declares(capabilities map[string]any, path string) bool {
	if identifier, isExtension := strings.CutPrefix(path, "extensions."); isExtension {
		extensions, _ := capabilities["extensions"].(map[string]any)
		declared := extensions[identifier]
		return declared != nil && declared != false
	}
	var member any = capabilities
	for name := range strings.SplitSeq(path, ".") {
		object, isObject := member.(map[string]any)
		if !isObject {
			return false
		}
		member = object[name]
	}
	return member != nil && member != false
}
