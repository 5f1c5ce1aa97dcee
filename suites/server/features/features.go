// Package features has servers that declare all features, or some of them, to see what a
// client makes of what is declared and what is not.
package features

import (
	"slices"

	"github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/clientrun"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/scenario"
	"github.com/mcpconform/mcpconform/internal/scripted"
)

// completed is the argument that a client is told to complete.
var completed = scenario.ToComplete(check.Object{"type": "ref/prompt", "name": scripted.PromptName}, check.Object{"name": "name", "value": "A"})

// ofResources and its kin are what a client is told to do with one feature.
var (
	ofResources = scenario.Steps{
		scenario.ToList("resources"), scenario.ToList("templates"), scenario.ToRead(scripted.ResourceURI),
		scenario.ToSubscribe(scripted.ResourceURI), scenario.ToUnsubscribe(scripted.ResourceURI),
	}
	ofPrompts   = scenario.Steps{scenario.ToList("prompts"), scenario.ToGet(scripted.PromptName, check.Object{"name": "Ada"})}
	ofUtilities = scenario.Steps{completed, scenario.ToSetLevel("warning")}
)

// All is a server that declares all features of the handshake era but tasks.
var All = &scenario.Scenario{
	Name: "all-features", Until: protocol.Last(protocol.Handshake),
	Says: "The server declares all features but tasks, and the client uses each.",
	Steps: slices.Concat(
		scenario.Steps{scenario.ToConnect(), scenario.ToList("tools")}, ofResources, ofPrompts, ofUtilities,
		scenario.Steps{scenario.ToPing(), scenario.ToClose()},
	),
}

// ToolsAlone is a server that declares tools, and no other feature.
var ToolsAlone = &scenario.Scenario{
	Name: "tools-alone", Until: protocol.Last(protocol.Handshake),
	Says: "The server declares only tools, and the steps ask the client to use the other features, too.",
	Steps: slices.Concat(
		scenario.Steps{scenario.ToConnect(), scenario.ToList("tools")}, ofResources, ofPrompts, ofUtilities,
		scenario.Steps{scenario.ToList("tools"), scenario.ToClose()},
	),
	Server: func(server *scripted.Server) {
		Lack(
			server,
			check.Object{"tools": check.Object{}},
			"resources/list",
			"resources/templates/list",
			"resources/read",
			"resources/subscribe",
			"resources/unsubscribe",
			"prompts/list",
			"prompts/get",
			"completion/complete",
			"logging/setLevel",
		)
	},
}

// PromptsAlone is a server that declares prompts, and no other feature.
var PromptsAlone = &scenario.Scenario{
	Name: "prompts-alone", Until: protocol.Last(protocol.Handshake),
	Official: "prompts-alone", // in all that the official suite has, clients are to list tools
	Says:     "The server declares only prompts, and the steps ask the client to use them.",
	Steps:    scenario.Steps{scenario.ToConnect(), scenario.ToList("prompts"), scenario.ToList("prompts"), scenario.ToClose()},
	Server: func(server *scripted.Server) {
		Lack(server, check.Object{"prompts": check.Object{}}, "tools/list", "tools/call", "resources/list")
	},
}

// Unsubscribable is a server that has resources and does not support subscriptions.
var Unsubscribable = &scenario.Scenario{
	Name: "resources-without-subscriptions", Until: protocol.Last(protocol.Handshake),
	Says: "The server declares resources without resources.subscribe, and the steps ask the client to subscribe to one.",
	Steps: slices.Concat(
		scenario.Steps{scenario.ToConnect(), scenario.ToList("tools")}, ofResources,
		scenario.Steps{scenario.ToList("tools"), scenario.ToClose()},
	),
	Server: func(server *scripted.Server) {
		Lack(server, check.Object{"tools": check.Object{}, "resources": check.Object{}}, "resources/subscribe", "resources/unsubscribe")
	},
}

// AllStateless is a server that declares all features of the stateless era but
// extensions.
var AllStateless = &scenario.Scenario{
	Name: "all-features-stateless", Since: "2026-07-28",
	Says: "The server declares all features but extensions, and the client uses each.",
	Steps: slices.Concat(
		scenario.Steps{
			scenario.ToConnect(),
			scenario.ToList("tools"),
			scenario.ToList("resources"),
			scenario.ToList("templates"),
			scenario.ToRead(scripted.ResourceURI),
		},
		ofPrompts, ofUtilities,
		scenario.Steps{scenario.ToCall(scripted.AddNumbers, check.Object{"a": 5, "b": 3}), scenario.ToClose()},
	),
}

// Promptless is a server of the stateless era that declares tools, and no other feature.
var Promptless = &scenario.Scenario{
	Name: "prompts-undeclared", Since: "2026-07-28",
	Says: "The server declares only tools, and the steps ask the client to use prompts, too.",
	Steps: slices.Concat(
		scenario.Steps{scenario.ToConnect(), scenario.ToList("tools")}, ofPrompts,
		scenario.Steps{scenario.ToList("tools"), scenario.ToClose()},
	),
	Server: func(server *scripted.Server) {
		Lack(server, check.Object{"tools": check.Object{}}, "prompts/list", "prompts/get")
	},
}

// Lack lets a server declare some capabilities only, and know nothing of the methods of
// others.
func Lack(server *scripted.Server, declared check.Object, unknown ...string) {
	server.Capabilities = declared
	for _, method := range unknown {
		server.On(method, func(call *scripted.Call) { call.Refuse(jsonrpc.MethodNotFound, "Method not found: "+method, nil) })
	}
}

// DemandRestraint demands that a client which sends requests of some methods to a server
// that declares the capability for them sends none to one that does not. The first of
// both is that of another scenario; that the client was to use the feature here, too, its
// driver tells.
func DemandRestraint(t *check.T, client, elsewhere *clientrun.Client, capability string, methods ...string) {
	for _, request := range client.Requests(methods...) {
		client.Fail(request, rules.Mismatch{
			Wanted: request.Method + " only if the server declares " + capability,
			Found:  request.Method + " without that", // as the rules say it
		})
	}
	for _, method := range methods {
		_, reported := client.Outcome(client.StepOf(method))
		if t.Observed(reported && elsewhere != nil && len(elsewhere.Requests(method)) > 0) {
			return
		}
	}
	client.Inconclusive("the client did not use "+capability+" where it is declared, or does not report its steps where it is not", methods[0])
}

// DemandText demands that requests of a method name what they are about by a string, of
// which the check needs one request.
func DemandText(t *check.T, client *clientrun.Client, method, member string) {
	for request := range check.ObserveEach(t, client.NeedRequests(method)) {
		if text, isText := request.ParamsObject()[member].(string); !isText || text == "" {
			client.Fail(request, rules.Mismatch{Wanted: "a string", Found: rules.Show(request.ParamsObject()[member]), Where: "/params/" + member})
		}
	}
}
