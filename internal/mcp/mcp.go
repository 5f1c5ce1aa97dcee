// Package mcp is a leaf: the names of the protocol that several packages use, and how
// its plainest values are read. It knows nothing of the harness.
package mcp

import "strings"

// OfficialExtensions is what the identifiers of the extensions of the protocol's own begin with.
const OfficialExtensions = "io.modelcontextprotocol/"

// Keys in the _meta of a request of the stateless era (basic/index#meta), of its
// results, and of what belongs to a subscription.
const (
	MetaVersion      = "io.modelcontextprotocol/protocolVersion"
	MetaClientInfo   = "io.modelcontextprotocol/clientInfo"
	MetaCapabilities = "io.modelcontextprotocol/clientCapabilities"
	MetaLogLevel     = "io.modelcontextprotocol/logLevel"
	MetaServerInfo   = "io.modelcontextprotocol/serverInfo"
	MetaSubscription = "io.modelcontextprotocol/subscriptionId"
)

// RelatedTask is the key in _meta that ties a message to a task
// (basic/utilities/tasks#related-task-metadata).
const RelatedTask = "io.modelcontextprotocol/related-task"

// ListMember is the member of a list's result that holds its items.
func ListMember(method string) string {
	if method == "resources/templates/list" {
		return "resourceTemplates"
	}
	return strings.TrimSuffix(method, "/list")
}
