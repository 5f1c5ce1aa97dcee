package survey

import "strings"

// Declares tells whether capabilities contain a path such as
// "resources.subscribe". A member that is false or null is not declared.
func Declares(capabilities map[string]any, path string) bool {
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
