package elicitation

import (
	"maps"
	"slices"
	"strings"

	. "github.com/mcpconform/mcpconform/internal/check"
	. "github.com/mcpconform/mcpconform/internal/clientrun"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/mcp"
	"github.com/mcpconform/mcpconform/internal/protocol"
	. "github.com/mcpconform/mcpconform/internal/scenario"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/suites/client/asking"
)

// ClientChecks registers the checks of a target client.
func ClientChecks() {
	Describe("Elicitation", func() {
		forms()
		modes()
		visiting()
	})
}

const (
	formMode = "form"
	urlMode  = "url"
	// modeSince is the first revision with modes, and with defaults of any type.
	modeSince = "2025-11-25"
)

// form is a request for a form with fields of all types. It names its mode where it is
// told to, and the revision has any.
func form(revision, mode string) scripted.ServerRequest {
	properties := map[string]Object{
		"name":     {"type": "string", "title": "Name", "description": "Your name", "minLength": 1, "maxLength": 50},
		"mail":     {"type": "string", "format": "email"},
		"born":     {"type": "string", "format": "date"},
		"age":      {"type": "integer", "minimum": 18, "maximum": 120},
		"score":    {"type": "number", "minimum": 0, "maximum": 100},
		"status":   {"type": "string", "enum": statuses},
		"verified": {"type": "boolean", "default": true},
	}
	schema := Object{"type": "object", "properties": properties}
	params := Object{"message": "Who are you?", "requestedSchema": schema}
	if revision >= modeSince {
		for name, suggested := range suggestions {
			properties[name]["default"] = suggested
		}
		schema["required"] = []any{"name", "status"}
		if mode != "" {
			params["mode"] = mode
		}
	}
	return scripted.ServerRequest{Method: method, Params: params}
}

// choices is a request for a form with each kind of choice.
var choices = scripted.ServerRequest{Method: method, Params: Object{
	"mode": formMode, "message": "What do you want?",
	"requestedSchema": Object{"type": "object", "properties": Object{
		several: Object{
			"type":     "array",
			"title":    "Several",
			"items":    Object{"type": "string", "enum": []any{"a", "b"}},
			"minItems": 0,
			"maxItems": 2,
		},
		"several_titled": Object{"type": "array", "items": Object{"anyOf": titled}, "default": []any{"x"}},
		"one_titled":     Object{"type": "string", "oneOf": titled},
		"one_named":      Object{"type": "string", "enum": []any{"m", "n"}, "enumNames": []any{"M", "N"}},
	}},
}}

// several is a property of that form.
const several = "several"

var titled = []any{Object{"const": "x", "title": "X"}, Object{"const": "y", "title": "Y"}}

// statuses are what can be chosen in the form.
var statuses = []any{"active", "inactive", "pending"}

// suggestions are the defaults of the form.
var suggestions = Object{"name": "John Doe", "age": 30, "score": 95.5, "status": "active"}

// entered is what a user enters into the form.
var entered = Object{
	"name":     "Ada",
	"mail":     "ada@example.com",
	"born":     "1990-12-10",
	"age":      36,
	"score":    1.5,
	"status":   "inactive",
	"verified": false,
}

func accepting(content Object) Object { return Object{"action": "accept", "content": content} }

// defaults is the tool of the scenario of the official suite.
const defaults = "test_client_elicitation_defaults"

// filled is a client whose user fills in forms, leaves them as they are, declines and
// cancels them.
var filled = &Scenario{
	Name:     "elicitation-forms",
	Says:     "During calls the server sends form elicitations, which the user fills in, accepts unchanged, declines and cancels.",
	Official: "elicitation-sep1034-client-defaults",
	Steps: Steps{
		ToAnswer(method, accepting(entered)),
		ToAnswer(method, accepting(Object{})),
		ToAnswer(method, accepting(entered)),
		ToAnswer(method, Object{"action": "decline"}),
		ToAnswer(method, Object{"action": "cancel"}),
		ToConnect(),
		ToList("tools"),
		ToCall(defaults, nil),
		ToCall(defaults, nil),
		ToCall("ask_by_mode", nil),
		ToCall(defaults, nil),
		ToCall(defaults, nil),
		ToCall("ask_for_choices", nil),
		ToList("prompts"),
		ToClose(),
	},
	Server: func(server *scripted.Server) {
		if server.Revision() >= modeSince {
			asking.Tool(server, "ask_for_choices", choices)
		} else {
			asking.Tool(server, "ask_for_choices", form(server.Revision(), ""))
		}
		asking.Tool(server, defaults, form(server.Revision(), ""))
		asking.Tool(server, "ask_by_mode", form(server.Revision(), formMode))
	},
}

// missingDefaults are the fields of the form with a default that content does not have.
// Their values are not compared: the user may have changed them.
func missingDefaults(content Object) []string {
	var missing []string
	for _, name := range slices.Sorted(maps.Keys(suggestions)) {
		if _, there := content[name]; !there {
			missing = append(missing, name)
		}
	}
	if _, there := content["verified"]; !there {
		missing = append(missing, "verified")
	}
	return missing
}

func forms() {
	declaringForms()

	fillingForms()

	It("treats elicitation/create without mode as form mode", Verifies("elicitation.mode.default"), In(filled), func(t *T) {
		client := RunScenario(t)

		accepted := needAccepted(client)
		if t.Observed(slices.ContainsFunc(accepted, withoutMode)) {
			return
		}
		for _, request := range client.ServerRequests(method) {
			if withoutMode(request) && !request.Answered() {
				client.Missing(request.Message, Mismatch{Wanted: "an answer, as to the same form with mode", Found: request.Describe()})
			}
		}
	})

	It("answers elicitation/create with a choice of several values", Verifies("elicitation.capability.fulfilled"), In(filled), func(t *T) {
		client := RunScenario(t)

		if t.Revision() < modeSince {
			t.NotApplicable("forms of this revision have no multi-select")
		}
		needAccepted(client)
		for _, request := range client.ServerRequests(method) {
			if mcp.Value(request.Params, "requestedSchema", "properties", several) == nil {
				continue
			}
			if !t.Observed(request.Answered()) {
				client.Missing(request.Message, Mismatch{Wanted: "an answer, as to other forms", Found: request.Describe()})
			}
			return
		}
		client.Inconclusive("the client received no form with a multi-select", "tools/call")
	})
}

func declaringForms() {
	It("accepts no elicitation/create if it does not declare elicitation",
		Verifies("elicitation.capability.declared"), In(asking.Undeclared), func(t *T) {
			client := RunScenario(t)

			request := asking.NeedUndeclared(t, client, method, "elicitation")
			if request.Result["action"] == "accept" {
				client.Fail(request.Answer, Mismatch{Wanted: "no content, as the client does not declare elicitation", Found: request.Describe()})
			}
			asking.Abstained(t, client, request)
		})

	It("implements elicitation/create if it declares elicitation", Verifies("elicitation.capability.mode"), In(asking.Declared), func(t *T) {
		client := RunScenario(t)

		_, request := asking.NeedDeclared(client, asking.ElicitationTool, method, "elicitation")
		switch {
		case t.Observed(request.Answered()):
		case request.Answer == nil:
			client.Inconclusive("the client did not answer "+method, method)
		case request.Refusal.Code == jsonrpc.MethodNotFound:
			client.Fail(request.Answer, Mismatch{Wanted: "an answer in form mode, which the client declares", Found: request.Describe()})
		default:
			client.Inconclusive("the client rejected "+method, method)
		}
	})

	It("answers elicitation/create if it declares elicitation", Verifies("elicitation.capability.fulfilled"), In(asking.Declared), func(t *T) {
		client := RunScenario(t)

		call, request := asking.NeedDeclared(client, asking.ElicitationTool, method, "elicitation")
		if t.Revision() >= modeSince && request.Refused {
			client.Inconclusive("the client rejected "+method, method) // which breaks a requirement of its own
		}
		asking.JudgeFulfilment(t, client, call, request)
	})

	It(
		"implements elicitation/create or does not declare elicitation",
		Verifies("elicitation.capability.fulfilled"),
		In(asking.Undeclared),
		func(t *T) { asking.JudgeUntold(t, RunScenario(t), method, "elicitation") },
	)

	It("declares elicitation in the request that returns accepted elicitation content",
		Verifies("elicitation.capability.declared"), In(filled), AtRevisionsWith(protocol.PerRequestMeta), func(t *T) {
			client := RunScenario(t)

			for _, request := range needAccepted(client) {
				asking.JudgeDeclaration(t, client, request, "elicitation")
			}
		})
}

func fillingForms() {
	It("fills in the defaults of all fields if it fills in any", Verifies("elicitation.defaults.filled-in"), In(filled), func(t *T) {
		client := RunScenario(t)

		seen := false
		for _, request := range needAccepted(client) {
			content := mcp.Object(request.Result, "content")
			if content["name"] == entered["name"] {
				continue // what the user has entered
			}
			missing := missingDefaults(content)
			if len(missing) == len(suggestions)+1 {
				continue // a client need not support defaults
			}
			seen = true
			if !t.Observed(len(missing) == 0) {
				client.Fail(request.Answer, Mismatch{
					Wanted: "the defaults of all fields, as it fills in some: also of " + strings.Join(missing, ", "),
					Found:  Show(content),
					Where:  request.Where + "/content",
				})
			}
		}
		if !seen {
			t.NotApplicable("the client fills in no defaults, which are optional")
		}
	})

	It("returns the required fields and a listed enum value in elicitation content", Verifies("elicitation.content.matches"), In(filled), func(t *T) {
		client := RunScenario(t)

		for _, request := range needAccepted(client) {
			content := mcp.Object(request.Result, "content")
			for _, name := range mcp.List(request.Params, "requestedSchema", "required") {
				if _, there := content[name.(string)]; !t.Observed(there) {
					client.Fail(request.Answer, Mismatch{
						Wanted: "the member " + Show(name) + ", which the form requires",
						Found:  Show(content),
						Where:  request.Where + "/content",
					})
				}
			}
			if status, there := content["status"]; t.Observed(there) && !slices.Contains(statuses, status) {
				client.Fail(request.Answer, Mismatch{
					Wanted: "one of " + Show(statuses),
					Found:  Show(status),
					Where:  request.Where + "/content/status",
				})
			}
		}
	})
}

func withoutMode(request AnsweredRequest) bool {
	_, named := request.Params["mode"]
	return !named
}

// needAccepted returns the requests that the user accepted, of which the check needs
// one at least.
func needAccepted(client *Client) []AnsweredRequest {
	var all []AnsweredRequest
	for _, request := range client.NeedServerRequests(method) {
		if request.Result["action"] == "accept" {
			all = append(all, request)
		}
	}
	if len(all) == 0 {
		client.Inconclusive("the client accepted no elicitation", method)
	}
	return all
}

// visit is a request to open a URL.
func visit(revision, address, id, deliberate string) scripted.ServerRequest {
	params := Object{"mode": urlMode, "message": "Please sign in.", "url": address}
	if protocol.Has(revision, protocol.ElicitationIDs) {
		params["elicitationId"] = id
	}
	return scripted.ServerRequest{Method: method, Params: params, Deliberate: deliberate}
}

const notDeclared = "the client declares only form mode"

// formsOnly is a client that shows forms, and opens no URLs.
var formsOnly = &Scenario{
	Name:  "elicitation-mode-undeclared",
	Says:  "The server sends a form elicitation, and then a URL elicitation, to a client that declares only form mode.",
	Since: "2025-11-25",
	Until: "2025-11-25",
	Steps: Steps{
		ToAnswer(method, accepting(entered)).Declaring(Object{formMode: Object{}}),
		ToAnswer(method, Object{"action": "accept"}),
		ToConnect(),
		ToList("tools"),
		ToCall(scripted.AddNumbers, asking.Numbers),
		ToList("prompts"),
		ToClose(),
	},
	Server: func(server *scripted.Server) {
		asking.DuringCalls(server, form(server.Revision(), formMode), visit(server.Revision(), "https://example.com/visit", "visit-1", notDeclared))
	},
}

func modes() {
	It("rejects URL elicitation with -32602 if it declares only elicitation.form", Verifies("elicitation.mode.refused"), In(formsOnly), func(t *T) {
		client := RunScenario(t)

		client.NeedRequests("tools/call")
		switch {
		case !client.Declares("elicitation"):
			client.Inconclusive("the client does not declare elicitation", method)
		case client.Declares("elicitation.url"):
			t.NotApplicable("the client declares URL mode regardless of the steps")
		}
		if !slices.ContainsFunc(client.NeedServerRequests(method), AnsweredRequest.Answered) {
			client.Inconclusive("the client accepts no forms either", method)
		}
		for _, request := range asking.On(client.ServerRequests(method), notDeclared) {
			switch {
			case request.Answer == nil:
				client.Inconclusive("the client did not answer "+method, method)
			case !t.Observed(request.Refusal.Code == jsonrpc.InvalidParams):
				client.Fail(request.Answer, Mismatch{Wanted: "error -32602 (Invalid params), since " + notDeclared, Found: request.Describe()})
			}
		}
	})
}

// Why announcements of a completion are to be ignored.
const (
	unknownID = "sends notifications/elicitation/complete for an unknown elicitation"
	completed = "sends notifications/elicitation/complete a second time"
)

// visited is a client whose user agrees to open a URL, and then declines.
var visited = &Scenario{
	Name: "elicitation-visits", Says: "During calls the server sends URL elicitations.",
	Since: "2025-11-25",
	Steps: Steps{
		ToAnswer(method, Object{"action": "accept"}).Declaring(Object{formMode: Object{}, urlMode: Object{}}),
		ToAnswer(method, Object{"action": "decline"}),
		ToConnect(),
		ToList("tools"),
		ToCall(scripted.AddNumbers, asking.Numbers),
		ToCall(scripted.AddNumbers, asking.Numbers),
		ToList("tools"),
		ToList("prompts"),
		ToClose(),
	},
	Server: func(server *scripted.Server) {
		address := server.Decoy() + "/visit"
		server.On("tools/call", func(call *scripted.Call) {
			asked := visit(server.Revision(), address, "visit-1", "")
			if !call.SendRequests(asked) {
				return
			}
			if call.Has(protocol.ElicitationIDs) {
				call.Say(announcing("visit-never"), unknownID)
				if call.MayAsk(asked) {
					call.Say(announcing("visit-1"), "")
				}
				call.Say(announcing("visit-1"), completed)
			}
			call.Good()
		})
	},
}

func announcing(id string) []byte {
	return jsonrpc.NewNotification(completion, Object{"elicitationId": id})
}

func visiting() {
	It("does not fetch the url of a URL elicitation itself", Verifies("elicitation.url.not-fetched"), In(visited), func(t *T) {
		client := RunScenario(t)

		visits := client.NeedServerRequests(method)
		for _, fetched := range client.Fetched() {
			client.FailEvent(fetched, Mismatch{Wanted: "no request for the URL", Found: fetched.Note})
		}
		handled := func(request AnsweredRequest) bool {
			return request.Answered() && len(client.RequestsAfter(request.Answer)) > 0
		}
		if !t.Observed(slices.ContainsFunc(visits, handled)) {
			client.Inconclusive("the client did not answer a URL elicitation and continue", method)
		}
	})

	It("ignores notifications/elicitation/complete for an unknown or completed elicitationId",
		Verifies("elicitation.completion.ignored"), In(visited), func(t *T) {
			client := RunScenario(t)

			client.NeedRequests("tools/call")
			announced := client.FromServer(completion)
			if len(announced) == 0 {
				client.Inconclusive("the client received no notifications/elicitation/complete", "tools/call")
			}
			client.DemandNoResponse(announced[0])
			client.StaysUsable(announced[0], "notifications/elicitation/complete for no open elicitation")
		})
}
