// Package prompts checks the page server/prompts.
package prompts

import (
	"context"
	"fmt"
	"maps"
	"strings"

	. "github.com/mcpconform/mcpconform/internal/check"
	. "github.com/mcpconform/mcpconform/internal/conform"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
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
	Describe("Prompts", func() {
		inForms()

		It("declares prompts if prompts/list returns any", Verifies("prompts.capability.declared"),
			func(ctx SpecContext) { lists.JudgeDeclaration(ctx, "prompts", "name") })

		It("declares prompts to a client that declares no capabilities, too, if prompts/list returns any to it",
			Verifies("prompts.capability.declared"),
			func(ctx SpecContext) { lists.JudgeDeclarationToAll(ctx, "prompts", "name") })

		It("returns its prompts from prompts/list", Verifies("prompts.list.answered"), NeedsCapability("prompts"),
			func(ctx SpecContext) {
				server := Session(ctx)

				reply := server.Ask(ctx, "prompts/list", nil)

				Expect(reply).To(BeResult())
				Expect(reply).To(HaveMember("prompts", BeAList()))
				Expect(server.Ask(ctx, "prompts/list", Object{})).To(BeResult())
			})

		It(
			"returns the same prompts from prompts/list on each connection",
			Verifies("prompts.list.stateless"),
			NeedsCapability("prompts"),
			func(ctx SpecContext) { lists.StayTheSame(ctx, "prompts/list") },
		)

		It("sends notifications/prompts/list_changed when its prompts change", Verifies("prompts.list-changed.sent"),
			NeedsCapability("prompts.listChanged"), NeedsProvocation("prompts-changed"), Alone(),
			func(ctx SpecContext) { lists.AnnounceChanges(ctx, "prompts") })
	})

	Describe("Getting prompts", func() {

		It(
			"returns messages from prompts/get of its listed prompts",
			Verifies("prompts.get.answered"),
			NeedsCapability("prompts"),
			func(ctx SpecContext) {
				prompts := listed()
				server := Session(ctx)

				var wrong []Mismatch
				var refusals []string
				judged := 0
				for _, prompt := range prompts {
					params, chosen := filled(ctx, server, prompt)

					reply := server.Ask(ctx, "prompts/get", params)

					_, refused := reply.Error()
					_, hasMessages := reply.Object()["messages"].([]any)
					switch {
					case reply.WantsCapability():
						continue
					case refused && chosen != byServer && !servedWithMore(ctx, server, prompt, params): // what was made up, or put together, may be wrong
						refusals = append(
							refusals,
							fmt.Sprintf(
								"%s with %s: %s",
								Show(prompt["name"]),
								Show(params["arguments"]),
								reply.Describe(),
							),
						)
						continue
					case refused:
						wrong = append(wrong, Wrong(reply, "the messages of the prompt "+Show(prompt["name"])))
					case !hasMessages:
						continue // the schema says what lacks
					}
					judged++
					Observe()
				}

				if judged == 0 && len(refusals) > 0 {
					Inconclusive("every prompt rejected its generated arguments: "+refusals[0],
						"name arguments for a prompt in mcpconform.yaml: arguments: {NAME: {…}}, or offer completions")
				}
				Judge(wrong...)
			},
		)

		It(
			"answers resources/read of a resource_link in a prompt",
			Verifies("prompts.resource-link.readable"),
			NeedsCapability("prompts", "resources"),
			func(ctx SpecContext) {
				server := Session(ctx)

				var links []string
				for _, prompt := range listed() {
					if params, chosen := filled(
						ctx,
						server,
						prompt,
					); chosen != byHarness { // made-up arguments may make links to nothing
						links = append(links, readableLinks(server.NeedReply(ctx, "prompts/get", params).Object())...)
					}
				}
				if len(links) == 0 {
					NotApplicable("no prompt has a resource_link to a resource of the server")
				}

				for _, uri := range links[:min(maxLinks, len(links))] {
					Expect(server.Ask(ctx, "resources/read", Object{"uri": uri})).To(HaveMember("contents", BeAList()))
				}
			},
		)

		It("returns messages from prompts/get after it rejected an unknown prompt", Verifies("prompts.get.answered"),
			NeedsCapability("prompts"),
			func(ctx SpecContext) {
				plain := inOrder(ctx, Session(ctx), ListedPrompts())
				if len(plain) == 0 {
					NotApplicable("the server lists no prompts")
				}

				StillServes(ctx, unknown(), plain[0], Brings("messages"))
			})

		It("returns prompts from prompts/list after it rejected an unknown prompt", Verifies("prompts.list.answered"),
			NeedsCapability("prompts"),
			func(ctx SpecContext) {
				StillServes(ctx, unknown(), Request{Method: "prompts/list"}, Brings("prompts"))
			})

		It("rejects prompts/get of an unknown prompt with -32602", Verifies("prompts.unknown.code"),
			NeedsCapability("prompts"),
			func(ctx SpecContext) {
				server := Session(ctx)

				reply := server.AskWrong(ctx, unknown(), inOrder(ctx, server, ListedPrompts())...)

				Expect(reply).To(BeJSONRPCError(jsonrpc.InvalidParams))
			})

		It("rejects prompts/get without a required argument with -32602", Verifies("prompts.missing-argument.code"),
			NeedsCapability("prompts"),
			func(ctx SpecContext) {
				prompt := having("no prompt has a required argument", func(prompt Object) bool {
					return len(arguments.Required(arguments.OfPrompt(prompt))) > 0
				})
				server := Session(ctx)

				required := arguments.Required(arguments.OfPrompt(prompt))
				for _, missing := range required {
					given := arguments.Made(required)
					delete(given, missing.Name)
					reply := server.AskWrong(
						ctx,
						Request{
							Method: "prompts/get",
							Params: Object{"name": prompt["name"], "arguments": given},
							Name:   missing.Name,
						},
						inOrder(ctx, server, []Object{prompt})...)

					Expect(reply).To(BeJSONRPCError(jsonrpc.InvalidParams))
				}
			})

		It(
			"rejects prompts/get with an argument that is not a string",
			Verifies("prompts.arguments.validated"),
			NeedsCapability("prompts"),
			func(ctx SpecContext) {
				prompt := having("no prompt has an argument", func(prompt Object) bool {
					return len(arguments.OfPrompt(prompt)) > 0
				})
				server := Session(ctx)

				all := arguments.OfPrompt(prompt)
				for index, wrong := range all[:min(maxArguments, len(all))] {
					reply := server.AskWrong(
						ctx,
						Request{
							Method: "prompts/get",
							Params: Object{"name": prompt["name"], "arguments": withWrong(all, index)},
							Name:   wrong.Name,
						},
						inOrder(ctx, server, []Object{prompt})...)

					Expect(reply).To(BeJSONRPCError())
				}
			},
		)

		It(
			"rejects prompts/get whose arguments are not an object",
			Verifies("prompts.arguments.validated"),
			NeedsCapability("prompts"),
			func(ctx SpecContext) {
				prompt := having("no prompt has an argument", func(prompt Object) bool {
					return len(arguments.OfPrompt(prompt)) > 0
				})
				server := Session(ctx)

				for _, wrong := range []any{[]any{"mcpconform"}, "mcpconform"} {
					reply := server.AskWrong(
						ctx,
						Request{
							Method:     "prompts/get",
							Params:     Object{"name": prompt["name"], "arguments": wrong},
							Name:       "arguments",
							Deliberate: "arguments are not an object",
						},
						inOrder(ctx, server, []Object{prompt})...)

					Expect(reply).To(BeJSONRPCError())
				}
			},
		)
	})
}

// listed returns some of the prompts that the target lists; a check without
// any ends.
func listed() []Object {
	prompts := ListedPrompts()
	if len(prompts) == 0 {
		NoneListed("prompts/list", "the server lists no prompt")
	}
	return prompts[:min(maxPrompts, len(prompts))]
}

// having returns the first listed prompt that satisfies; none ends the check.
func having(none string, satisfies func(Object) bool) Object {
	for _, prompt := range listed() {
		if satisfies(prompt) {
			return prompt
		}
	}
	NotApplicable(none)
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
func filled(ctx context.Context, server *Server, prompt Object) (params Object, chosen choice) {
	params = Object{"name": prompt["name"]}
	name, _ := prompt["name"].(string)
	if given, there := GivenArguments(name); there {
		params["arguments"] = given
		return params, byServer
	}
	required := arguments.Required(arguments.OfPrompt(prompt))
	if len(required) == 0 {
		return params, byServer
	}
	chosen = byOffer
	values, complete := arguments.Completed(ctx, server, required)
	if !complete {
		values, chosen = arguments.Made(required), byHarness
	}
	params["arguments"] = values
	return params, chosen
}

// servedWithMore tells whether a prompt that refused its required arguments takes them
// together with those that may be left out: then it cannot do without these.
func servedWithMore(ctx context.Context, server *Server, prompt, params Object) bool {
	given, _ := params["arguments"].(map[string]string)
	all := arguments.OfPrompt(prompt)
	if len(given) == len(all) {
		return false
	}
	more := map[string]string{}
	for _, argument := range all {
		more[argument.Name] = Plausible(argument.Name, argument.Description)
	}
	maps.Copy(more, given)
	reply := server.Ask(ctx, "prompts/get", Object{"name": prompt["name"], "arguments": more})
	_, hasMessages := reply.Object()["messages"].([]any)
	return hasMessages
}

// inOrder gets prompts with nothing wrong: beside that shows what a refusal is about.
func inOrder(ctx context.Context, server *Server, prompts []Object) []Request {
	var requests []Request
	for _, prompt := range prompts[:min(maxControls, len(prompts))] {
		params, _ := filled(ctx, server, prompt)
		name, _ := prompt["name"].(string)
		requests = append(requests, Request{Method: "prompts/get", Params: params, Name: name})
	}
	return requests
}

// withWrong returns the arguments of a prompt, one of which is not a string: the first an
// object, each other a number.
func withWrong(all []arguments.Argument, wrong int) Object {
	values := Object{}
	for name, value := range arguments.Made(all) {
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
	messages, _ := result["messages"].([]any)
	var uris []string
	for _, element := range messages {
		message, _ := element.(map[string]any)
		content, _ := message["content"].(map[string]any)
		uri, _ := content["uri"].(string)
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
