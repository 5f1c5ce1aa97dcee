package base

import (
	"slices"

	. "github.com/mcpconform/mcpconform/internal/check"
	. "github.com/mcpconform/mcpconform/internal/clientrun"
	"github.com/mcpconform/mcpconform/internal/mcp"
	"github.com/mcpconform/mcpconform/suites/server/features"
)

// logLevels are the levels of log messages in every revision (server/utilities/logging).
var logLevels = []any{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

// validRequests registers the checks that requests of each kind have what the schema
// wants first of all. The rules judge the rest of them.
func validRequests() {
	It("sends resources/read with a non-empty string as uri", Verifies("base.schema.requests"), In(features.All),
		func(t *T) { features.DemandText(t, RunScenario(t), "resources/read", "uri") })

	It("sends resources/subscribe with a non-empty string as uri", Verifies("base.schema.requests"), In(features.All),
		func(t *T) { features.DemandText(t, RunScenario(t), "resources/subscribe", "uri") })

	It("sends resources/unsubscribe with a non-empty string as uri", Verifies("base.schema.requests"), In(features.All),
		func(t *T) { features.DemandText(t, RunScenario(t), "resources/unsubscribe", "uri") })

	It("sends prompts/get with a non-empty string as name", Verifies("base.schema.requests"), In(features.All),
		func(t *T) { features.DemandText(t, RunScenario(t), "prompts/get", "name") })

	It("sends completion/complete with a ref of type ref/prompt or ref/resource", Verifies("base.schema.requests"), In(features.All), func(t *T) {
		client := RunScenario(t)

		for request := range ObserveEach(t, client.NeedRequests("completion/complete")) {
			if kind := mcp.Value(request.ParamsObject(), "ref", "type"); kind != "ref/prompt" && kind != "ref/resource" {
				client.Fail(request, Mismatch{Wanted: `"ref/prompt" or "ref/resource"`, Found: Show(kind), Where: "/params/ref/type"})
			}
		}
	})

	It("sends logging/setLevel with one of the eight log levels", Verifies("base.schema.requests"), In(features.All), func(t *T) {
		client := RunScenario(t)

		for request := range ObserveEach(t, client.NeedRequests("logging/setLevel")) {
			demandLevel(client, request, request.ParamsObject()["level"], "/params/level")
		}
	})

	It("sends one of the eight log levels as logLevel in _meta", Verifies("base.schema.requests"), In(features.AllStateless), func(t *T) {
		client := RunScenario(t)

		asking := slices.DeleteFunc(client.Requests(), func(request *Message) bool { return request.Meta()[mcp.MetaLogLevel] == nil })
		if len(asking) == 0 {
			client.Inconclusive("the client requested no log messages", "logging/setLevel")
		}
		for request := range ObserveEach(t, asking) {
			demandLevel(client, request, request.Meta()[mcp.MetaLogLevel], "/params/_meta/io.modelcontextprotocol~1logLevel")
		}
	})
}

func demandLevel(client *Client, request *Message, level any, where string) {
	if !slices.Contains(logLevels, level) {
		client.Fail(request, Mismatch{Wanted: "one of " + Show(logLevels), Found: Show(level), Where: where})
	}
}
