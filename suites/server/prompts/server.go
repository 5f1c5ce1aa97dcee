// Package prompts checks the page server/prompts.
package prompts

import (
	"fmt"
	"maps"
	"strings"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/mcp"
	. "github.com/mcpconform/mcpconform/internal/offer"
	. "github.com/mcpconform/mcpconform/internal/refusal"
	. "github.com/mcpconform/mcpconform/internal/session"
	"github.com/mcpconform/mcpconform/suites/server/arguments"
	"github.com/mcpconform/mcpconform/suites/server/lists"
)

const (
	// unknownPrompt is a name that no server gives a prompt.
	unknownPrompt = "mcpconform_prompt_that_does_not_exist"
	// maxPrompts bounds the prompts that are got: a server may list thousands.
	maxPrompts = 20
	// maxArguments bounds the arguments that are wrong in turn.
	maxArguments = 5
	// maxControls bounds the prompts that are got beside one that is refused.
	maxControls = 2
	// maxLinks bounds the links of prompts that are followed.
	maxLinks = 5
)

// ServerChecks registers the checks of a target server.
func ServerChecks() {
	listingPrompts()

	gettingPrompts()
}

func listingPrompts() {
	Describe("Prompts", func() {
		inForms()

		It("declares prompts if prompts/list returns any",
			Verifies("prompts.capability.declared"), func(t *T) { lists.JudgeDeclaration(t, "prompts", "name") })

		It("declares prompts to a client that declares no capabilities, too, if prompts/list returns any to it",
			Verifies("prompts.capability.declared"), func(t *T) { lists.JudgeDeclarationToAll(t, "prompts", "name") })

		It("returns its prompts from prompts/list", Verifies("prompts.list.answered"), NeedsCapability("prompts"), func(t *T) {
			server := Session(t)

			reply := server.Call("prompts/list", nil).Must()

			t.Expect(reply).To(BeResult())
			t.Expect(reply).To(HaveMember("prompts", BeAList()))
			t.Expect(server.Call("prompts/list", Object{}).Must()).To(BeResult())
		})

		It("returns the same prompts from prompts/list on each connection",
			Verifies("prompts.list.stateless"), NeedsCapability("prompts"), func(t *T) { lists.StayTheSame(t, "prompts/list") })

		It("sends notifications/prompts/list_changed when its prompts change", Verifies("prompts.list-changed.sent"),
			NeedsCapability("prompts.listChanged"), NeedsProvocation("prompts-changed"), Alone(),
			func(t *T) { lists.AnnounceChanges(t, "prompts") })
	})
}

func gettingPrompts() {
	Describe("Getting prompts", func() {

		It("returns messages from prompts/get of its listed prompts", Verifies("prompts.get.answered"), NeedsCapability("prompts"), func(t *T) {
			prompts := listed(t)
			server := Session(t)

			var wrong []Mismatch
			var refusals []string
			judged := 0
			for _, prompt := range prompts {
				params, chosen := filled(t, server, prompt)

				reply := server.Call("prompts/get", params).Must()

				_, refused := reply.Error()
				_, hasMessages := reply.Object()["messages"].([]any)
				switch {
				case reply.WantsCapability(t):
					continue
				case refused && chosen != byServer && !servedWithMore(t, server, prompt, params): // what was made up, or put together, may be wrong
					refusals = append(refusals, fmt.Sprintf("%s with %s: %s", Show(prompt["name"]), Show(params["arguments"]), reply.Describe()))
					continue
				case refused:
					wrong = append(wrong, Wrong(reply, "the messages of the prompt "+Show(prompt["name"])))
				case !hasMessages:
					continue // the schema says what lacks
				}
				judged++
				t.Observe()
			}

			if judged == 0 && len(refusals) > 0 {
				t.Inconclusive("every prompt rejected its generated arguments: "+refusals[0],
					"name arguments for a prompt in mcpconform.yaml: arguments: {NAME: {…}}, or offer completions")
			}
			t.Judge(wrong...)
		})

		linkedResources()

		unknownPrompts()

		promptArguments()
	})
}

func linkedResources() {
	It("answers resources/read of a resource_link in a prompt",
		Verifies("prompts.resource-link.readable"), NeedsCapability("prompts", "resources"), func(t *T) {
			server := Session(t)

			var links []string
			for _, prompt := range listed(t) {
				if params, chosen := filled(t, server, prompt); chosen != byHarness { // made-up arguments may make links to nothing
					links = append(links, readableLinks(server.Call("prompts/get", params).Need().Object())...)
				}
			}
			if len(links) == 0 {
				t.NotApplicable("no prompt has a resource_link to a resource of the server")
			}

			for _, uri := range links[:min(maxLinks, len(links))] {
				t.Expect(server.Call("resources/read", Object{"uri": uri}).Must()).To(HaveMember("contents", BeAList()))
			}
		})
}

func unknownPrompts() {
	It("returns messages from prompts/get after it rejected an unknown prompt",
		Verifies("prompts.get.answered"), NeedsCapability("prompts"), func(t *T) {
			plain := inOrder(t, Session(t), ListedPrompts(t))
			if len(plain) == 0 {
				t.NotApplicable("the server lists no prompts")
			}

			StillServes(t, unknown(), plain[0], Brings("messages"))
		})

	It("returns prompts from prompts/list after it rejected an unknown prompt",
		Verifies("prompts.list.answered"), NeedsCapability("prompts"), func(t *T) {
			StillServes(t, unknown(), Request{Method: "prompts/list"}, Brings("prompts"))
		})

	It("rejects prompts/get of an unknown prompt with -32602", Verifies("prompts.unknown.code"), NeedsCapability("prompts"), func(t *T) {
		server := Session(t)

		reply := CallWrong(t, server, unknown(), inOrder(t, server, ListedPrompts(t))...)

		t.Expect(reply).To(BeJSONRPCError(jsonrpc.InvalidParams))
	})
}

func promptArguments() {
	It("rejects prompts/get without a required argument with -32602",
		Verifies("prompts.missing-argument.code"), NeedsCapability("prompts"), func(t *T) {
			prompt := having(t, "no prompt has a required argument", func(prompt Object) bool {
				return len(arguments.Required(arguments.OfPrompt(prompt))) > 0
			})
			server := Session(t)

			required := arguments.Required(arguments.OfPrompt(prompt))
			for _, missing := range required {
				given := arguments.Made(t, required)
				delete(given, missing.Name)
				reply := CallWrong(t, server,
					Request{Method: "prompts/get", Params: Object{"name": prompt["name"], "arguments": given}, Name: missing.Name},
					inOrder(t, server, []Object{prompt})...)

				t.Expect(reply).To(BeJSONRPCError(jsonrpc.InvalidParams))
			}
		})

	It("rejects prompts/get with an argument that is not a string",
		Verifies("prompts.arguments.validated"), NeedsCapability("prompts"), func(t *T) {
			prompt := having(t, "no prompt has an argument", func(prompt Object) bool { return len(arguments.OfPrompt(prompt)) > 0 })
			server := Session(t)

			all := arguments.OfPrompt(prompt)
			for index, wrong := range all[:min(maxArguments, len(all))] {
				reply := CallWrong(t, server,
					Request{
						Method: "prompts/get",
						Params: Object{"name": prompt["name"], "arguments": withWrong(t, all, index)},
						Name:   wrong.Name,
					},
					inOrder(t, server, []Object{prompt})...)

				t.Expect(reply).To(BeJSONRPCError())
			}
		})

	It("rejects prompts/get whose arguments are not an object", Verifies("prompts.arguments.validated"), NeedsCapability("prompts"), func(t *T) {
		prompt := having(t, "no prompt has an argument", func(prompt Object) bool { return len(arguments.OfPrompt(prompt)) > 0 })
		server := Session(t)

		for _, wrong := range []any{[]any{"mcpconform"}, "mcpconform"} {
			reply := CallWrong(t, server,
				Request{
					Method:     "prompts/get",
					Params:     Object{"name": prompt["name"], "arguments": wrong},
					Name:       "arguments",
					Deliberate: "arguments are not an object",
				},
				inOrder(t, server, []Object{prompt})...)

			t.Expect(reply).To(BeJSONRPCError())
		}
	})
}

// listed returns some of the prompts that the target lists; a check without
// any ends.
func listed(t *T) []Object {
	prompts := ListedPrompts(t)
	if len(prompts) == 0 {
		NoneListed(t, "prompts/list", "the server lists no prompt")
	}
	return prompts[:min(maxPrompts, len(prompts))]
}

// having returns the first listed prompt that satisfies; none ends the check.
func having(t *T, none string, satisfies func(Object) bool) Object {
	for _, prompt := range listed(t) {
		if satisfies(prompt) {
			return prompt
		}
	}
	t.NotApplicable(none)
	return nil
}

// A choice tells who chose the arguments of a prompt.
type choice int

const (
	byServer  choice = iota // it needs none, or the config names those that it takes
	byOffer                 // they are what its completions offer, put together
	byHarness               // they are made up
)

// filled returns the params that get a prompt with its required arguments, and who
// chose these.
func filled(t *T, server *Server, prompt Object) (params Object, chosen choice) {
	params = Object{"name": prompt["name"]}
	if given, there := GivenArguments(t, mcp.Text(prompt, "name")); there {
		params["arguments"] = given
		return params, byServer
	}
	required := arguments.Required(arguments.OfPrompt(prompt))
	if len(required) == 0 {
		return params, byServer
	}
	chosen = byOffer
	values, complete := arguments.Completed(t, server, required)
	if !complete {
		values, chosen = arguments.Made(t, required), byHarness
	}
	params["arguments"] = values
	return params, chosen
}

// servedWithMore tells whether a prompt that refused its required arguments takes them
// together with those that may be left out: then it cannot do without these.
func servedWithMore(t *T, server *Server, prompt, params Object) bool {
	given, _ := params["arguments"].(map[string]string)
	all := arguments.OfPrompt(prompt)
	if len(given) == len(all) {
		return false
	}
	more := map[string]string{}
	for _, argument := range all {
		more[argument.Name] = Plausible(t, argument.Name, argument.Description)
	}
	maps.Copy(more, given)
	reply := server.Call("prompts/get", Object{"name": prompt["name"], "arguments": more}).Must()
	_, hasMessages := reply.Object()["messages"].([]any)
	return hasMessages
}

// inOrder gets prompts with nothing wrong: beside that shows what a refusal is about.
func inOrder(t *T, server *Server, prompts []Object) []Request {
	var requests []Request
	for _, prompt := range prompts[:min(maxControls, len(prompts))] {
		params, _ := filled(t, server, prompt)
		requests = append(requests, Request{Method: "prompts/get", Params: params, Name: mcp.Text(prompt, "name")})
	}
	return requests
}

// withWrong returns the arguments of a prompt, one of which is not a string: the first an
// object, each other a number.
func withWrong(t *T, all []arguments.Argument, wrong int) Object {
	values := Object{}
	for name, value := range arguments.Made(t, all) {
		values[name] = value
	}
	values[all[wrong].Name] = 4711
	if wrong == 0 {
		values[all[wrong].Name] = Object{"not": "a string"}
	}
	return values
}

// readableLinks returns the URIs of the resource links in a prompt's messages, save
// those that a client can follow by itself.
func readableLinks(result Object) []string {
	messages := mcp.List(result, "messages")
	var uris []string
	for _, element := range messages {
		content := mcp.Object(element, "content")
		uri := mcp.Text(content, "uri")
		onTheWeb := strings.HasPrefix(uri, "https:") || strings.HasPrefix(uri, "http:")
		if content["type"] == "resource_link" && uri != "" && !onTheWeb {
			uris = append(uris, uri)
		}
	}
	return uris
}

// unknown asks for a prompt that there is not.
func unknown() Request {
	return Request{Method: "prompts/get", Params: Object{"name": unknownPrompt}, Name: unknownPrompt}
}
