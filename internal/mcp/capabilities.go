package mcp

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

// FormMode is the mode of elicitation that is offered where none is named.
const FormMode = "form"

// OffersMode tells whether what a client declares of elicitation offers a mode: forms
// also where it names no mode at all. Modes are objects; what else is there, and _meta,
// says nothing of them.
func OffersMode(elicitation map[string]any, mode string) bool {
	if elicitation[mode] != nil {
		return true
	}
	for name, value := range elicitation {
		if _, isMode := value.(map[string]any); isMode && name != "_meta" {
			return false
		}
	}
	return elicitation != nil && mode == FormMode
}
