// Package logging checks the page server/utilities/logging.
package logging

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	. "github.com/mcpconform/mcpconform/internal/conform"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
)

// levels are those of RFC 5424, the least severe first.
var levels = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

// ServerChecks registers the checks of a target server.
func ServerChecks() {
	Describe("Logging", func() {

		It("takes each log level with an empty result", Verifies("logging.set-level.answered"), NeedsCapability("logging"),
			func(ctx SpecContext) {
				server := FreshSession(ctx)

				for _, level := range levels {
					result := server.Call(ctx, "logging/setLevel", Object{"level": level})

					Expect(result).To(BeEmptyObject())
				}
			})

		It("answers an unknown log level with invalid params", Verifies("logging.invalid-level.code"), NeedsCapability("logging"),
			func(ctx SpecContext) {
				server := FreshSession(ctx)

				reply := server.Ask(ctx, "logging/setLevel", Object{"level": "loudest"})

				Expect(reply).To(BeJSONRPCError(jsonrpc.InvalidParams))
			})

		// The rule about log messages below the level judges both calls.
		It("sends log messages once the level allows them", Verifies("logging.message.sent"),
			NeedsCapability("logging"), NeedsProvocation("logging"),
			func(ctx SpecContext) {
				server := FreshSession(ctx)
				_, _ = server.Listen(ctx) // where there is no such stream messages come beside the answer
				server.Need(ctx, "logging/setLevel", Object{"level": "emergency"})
				provoke(ctx, server)
				server.Need(ctx, "logging/setLevel", Object{"level": "info"})
				mark := server.Mark()

				provoke(ctx, server)

				server.Until(ctx, mark, "notifications/message", Notification("notifications/message"))
			})
	})
}

// provoke calls the tool that logs.
func provoke(ctx context.Context, server *Server) {
	if server.Need(ctx, "tools/call", Provoking("logging").Call())["isError"] == true {
		Inconclusive("the tool for logging ended in an error", "see that it logs a message at the level info or above")
	}
}
