// Package results has tools of a scripted server that give structured results, good
// ones and bad ones, to see whether a client validates them.
package results

import (
	"github.com/mcpconform/mcpconform/internal/mcp"
	"github.com/mcpconform/mcpconform/internal/scenario"
	"github.com/mcpconform/mcpconform/internal/scripted"
)

// Tools whose results everybody who validates takes, or refuses.
const (
	Right = "count_rightly"
	Wrong = "count_wrongly"
)

// Add gives these tools to a server.
func Add(server *scripted.Server) {
	promise := func() scripted.Object {
		return scripted.Object{
			"type":       "object",
			"properties": scripted.Object{"count": scripted.Object{"type": "integer"}},
			"required":   []any{"count"},
		}
	}
	AddTool(server, Right, promise(), scripted.Object{"count": 1})
	AddTool(server, Wrong, promise(), scripted.Object{"count": "one"})
}

// AddTool gives a server a tool that promises results of a schema, and gives the same
// each time.
func AddTool(server *scripted.Server, name string, promise, content scripted.Object) {
	server.AddTool(name, nil, func(call *scripted.Call) {
		result := scripted.Text("done")
		result["structuredContent"] = content
		call.Answer(result)
	})["outputSchema"] = promise
}

// Refused tells whether a client took no result of a call, or only as an error of the
// tool.
func Refused(outcome scenario.StepOutcome) bool {
	return outcome.Failed() || mcp.Value(outcome.Result, "isError") == true
}
