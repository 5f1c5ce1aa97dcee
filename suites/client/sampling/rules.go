package sampling

import (
	"fmt"
	"slices"

	"github.com/mcpconform/mcpconform/internal/mcp"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/rules/claims"
	"github.com/mcpconform/mcpconform/internal/rules/facts"
	"github.com/mcpconform/mcpconform/internal/rules/places"
)

// Rules are the rules of the page client/sampling.
func Rules() []rules.Rule {
	return slices.Concat([]rules.Rule{
		{
			Text:     "includes tools in sampling requests only if the client declares sampling.tools",
			Verifies: rules.Verifies("sampling.request.tools"),
			Judge:    toolsLent,
		},
		{
			Text:     "sets includeContext to thisServer or allServers only if the client declares sampling.context",
			Verifies: rules.Verifies("sampling.request.context"),
			Judge:    contextIncluded(false),
		},
		{
			Text:     "does not use includeContext thisServer or allServers even if sampling.context is declared",
			Verifies: rules.Verifies("sampling.request.no-context"),
			Judge:    contextIncluded(true),
		},
		{
			Text:     "sets the priorities in modelPreferences to numbers from 0 to 1",
			Verifies: rules.Verifies("sampling.request.priorities"),
			Judge: func(conversation *rules.Conversation, reporter *rules.Reporter) {
				for _, ask := range conversation.Asks(facts.SamplingMethod) {
					if preferences, there := places.OfAsk(ask).Member("modelPreferences"); there {
						claims.JudgeMembers(
							conversation,
							reporter,
							places.Found{Place: preferences, Said: ask.Message},
							"ModelPreferences",
							claims.SamplingPriorities,
						)
					}
				}
			},
		},
	}, messageRules(), samplingAnswerRules())
}

func messageRules() []rules.Rule {
	return []rules.Rule{
		{
			Text:     "sends sampling messages whose content is valid by the schema",
			Verifies: rules.Verifies("sampling.request.content"),
			Judge: func(conversation *rules.Conversation, reporter *rules.Reporter) {
				for _, ask := range conversation.Asks(facts.SamplingMethod) {
					for _, message := range places.OfAsk(ask).Items("messages") {
						claims.JudgeMembers(
							conversation,
							reporter,
							places.Found{Place: message, Said: ask.Message},
							"SamplingMessage",
							claims.SamplingContent,
						)
					}
				}
			},
		},
		{
			Text:     "sends no other content in a sampling message with tool_result",
			Verifies: rules.Verifies("sampling.results.unmixed"),
			Judge:    mixedResults,
		},
		{
			Text:     "sends tool_result with the role user and tool_use with the role assistant",
			Verifies: rules.Verifies("sampling.results.role"),
			Judge:    resultRoles,
		},
		{
			Text:     "follows sampling messages with tool_use by one with a tool_result for each, and nothing else",
			Verifies: rules.Verifies("sampling.results.balanced"),
			Judge:    unansweredUses,
		},
	}
}

// samplingAnswerRules are about what a client gives to sampling/createMessage.
func samplingAnswerRules() []rules.Rule {
	return []rules.Rule{
		{
			Text:     "declares sampling if it returns a message for sampling/createMessage",
			Verifies: rules.Verifies("sampling.capability.declared"),
			Judge:    facts.Unannounced(facts.SamplingMethod, "sampling", facts.AnyAnswer),
		},
		{
			Text:     "declares sampling.tools if it returns a message for a sampling request with tools",
			Verifies: rules.Verifies("sampling.tools.declared"),
			Judge: facts.Unannounced(facts.SamplingMethod, "sampling.tools", func(one facts.Answer) bool {
				_, lent := one.Asked["tools"]
				return lent && mcp.Declares(one.Declared, "sampling")
			}),
		},
		{
			Text:     "returns at least one tool_use when toolChoice of sampling/createMessage is required",
			Verifies: rules.Verifies("sampling.tool-choice.required"),
			Judge:    toolChoices("required"),
		},
		{
			Text:     "returns no tool_use when toolChoice of sampling/createMessage is none",
			Verifies: rules.Verifies("sampling.tool-choice.none"),
			Judge:    toolChoices("none"),
		},
	}
}

// toolChoices judges answers to requests with a toolChoice. A tool may have been
// used in a round before, and an answer that was cut off has no end to judge.
func toolChoices(mode string) rules.Judge {
	return rules.OfClient(func(conversation *rules.Conversation, reporter *rules.Reporter) {
		for _, one := range facts.Answers(conversation, facts.SamplingMethod) {
			asked := places.Place{Pointer: "", Value: one.Asked}
			choice, _ := asked.Member("toolChoice")
			used := facts.TurnAt(one.Place).Of("tool_use")
			before := slices.ContainsFunc(asked.Items("messages"), func(message places.Place) bool {
				return len(facts.TurnAt(message).Of("tool_use")) > 0
			})
			stop, _ := one.Member("stopReason")
			if choice.Object()["mode"] != mode ||
				mode == "required" && (before || stop.Text() == "maxTokens" || len(asked.Items("tools")) == 0) {
				continue
			}
			reporter.Observe()
			switch {
			case mode == "required" && len(used) == 0:
				reporter.Violation(one.Said, rules.Mismatch{
					Wanted: "the use of a tool, as toolChoice requires it",
					Found:  "none",
					Where:  one.Pointer + "/content",
				})
			case mode == "none" && len(used) > 0:
				reporter.Violation(one.Said, rules.Mismatch{
					Wanted: "no use of a tool, as toolChoice says",
					Found:  rules.Show(used[0].Value),
					Where:  used[0].Pointer,
				})
			}
		}
	})
}

func toolsLent(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, ask := range conversation.Asks(facts.SamplingMethod) {
		reporter.Observe()
		declared := mcp.Declares(conversation.ClientDeclared(ask.Message), "sampling.tools")
		for _, name := range []string{"tools", "toolChoice"} {
			if member, there := places.OfAsk(ask).Member(name); there && !declared {
				reporter.Violation(ask.Message, rules.Mismatch{
					Wanted: fmt.Sprintf("no member %q, since the client did not declare sampling.tools", name),
					Found:  rules.Show(member.Value), Where: member.Pointer,
				})
			}
		}
	}
}

// contextIncluded judges requests to clients that declared sampling.context,
// or to those that did not: one use of the context breaks one rule.
func contextIncluded(declared bool) rules.Judge {
	wanted := `no includeContext, or "none", since the client did not declare sampling.context`
	if declared {
		wanted = `no includeContext, or "none"`
	}
	return func(conversation *rules.Conversation, reporter *rules.Reporter) {
		for _, ask := range conversation.Asks(facts.SamplingMethod) {
			if mcp.Declares(conversation.ClientDeclared(ask.Message), "sampling.context") != declared {
				continue
			}
			reporter.Observe()
			member, _ := places.OfAsk(ask).Member("includeContext")
			if context := member.Text(); context == "thisServer" || context == "allServers" {
				reporter.Violation(ask.Message, rules.Mismatch{Wanted: wanted, Found: rules.Show(context), Where: member.Pointer})
			}
		}
	}
}

func mixedResults(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, ask := range conversation.Asks(facts.SamplingMethod) {
		for _, turn := range facts.Turns(ask) {
			results := turn.Of("tool_result")
			if len(results) == 0 {
				continue
			}
			reporter.Observe()
			for _, block := range turn.Blocks {
				if kind, _ := block.Member("type"); kind.Text() != "tool_result" {
					reporter.Violation(ask.Message, rules.Mismatch{
						Wanted: "nothing but tool results in this message",
						Found:  rules.Show(kind.Value),
						Where:  block.Pointer,
					})
				}
			}
		}
	}
}

func resultRoles(conversation *rules.Conversation, reporter *rules.Reporter) {
	roles := map[string]string{"tool_result": "user", "tool_use": "assistant"}
	for _, ask := range conversation.Asks(facts.SamplingMethod) {
		for _, turn := range facts.Turns(ask) {
			for _, kind := range []string{"tool_result", "tool_use"} {
				if len(turn.Of(kind)) == 0 {
					continue
				}
				reporter.Observe()
				if turn.Role != roles[kind] {
					reporter.Violation(ask.Message, rules.Mismatch{
						Wanted: fmt.Sprintf("the role %q for content of type %s", roles[kind], kind),
						Found:  rules.Show(turn.Role), Where: turn.Pointer + "/role",
					})
				}
			}
		}
	}
}

func unansweredUses(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, ask := range conversation.Asks(facts.SamplingMethod) {
		all := facts.Turns(ask)
		for i, one := range all {
			uses := one.Of("tool_use")
			if len(uses) == 0 {
				continue
			}
			reporter.Observe()
			var next facts.Turn
			if i+1 < len(all) {
				next = all[i+1]
			}
			answered := map[string]bool{}
			for _, result := range next.Of("tool_result") {
				id, _ := result.Member("toolUseId")
				answered[id.Text()] = true
			}
			for _, use := range uses {
				id, _ := use.Member("id")
				if !answered[id.Text()] {
					reporter.Violation(ask.Message, rules.Mismatch{
						Wanted: "a result of every use of a tool in the next message",
						Found:  "none of " + rules.Show(id.Value), Where: use.Pointer,
					})
				}
			}
			if len(next.Of("tool_result")) < len(next.Blocks) {
				reporter.Violation(ask.Message, rules.Mismatch{
					Wanted: "nothing but tool results after uses of tools",
					Found:  "other content", Where: next.Pointer + "/content",
				})
			}
		}
	}
}
