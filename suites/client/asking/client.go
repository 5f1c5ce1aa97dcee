package asking

import (
	"context"
	"slices"

	"github.com/mcpconform/mcpconform/internal/conform"
	"github.com/mcpconform/mcpconform/internal/scripted"
)

// Numbers are arguments of the tool that every scripted server has.
var Numbers = conform.Object{"a": 5, "b": 3}

// Tool adds a tool to a scripted server that asks the client some questions before it
// ends.
func Tool(server *scripted.Server, name string, questions ...scripted.Question) {
	server.AddTool(name, nil, func(call *scripted.Call) {
		if call.Inquire(questions...) {
			call.Answer(scripted.Text("done"))
		}
	})
}

// DuringCalls makes a scripted server ask some questions before it answers any call of
// a tool.
func DuringCalls(server *scripted.Server, questions ...scripted.Question) {
	server.On("tools/call", func(call *scripted.Call) {
		if call.Inquire(questions...) {
			call.Good()
		}
	})
}

// JudgeGoingOn judges that the client goes on after a message of the server, not only
// with what it may have been about to ask when that came.
func JudgeGoingOn(ctx context.Context, client *conform.Client, after *conform.Said, despite string) {
	next := client.AskedAfter(after)
	if len(next) > 0 {
		if client.Breakdown(ctx) == "" {
			return
		}
		after = next[0]
		if answer := conform.AnswerTo(next[0]); answer != nil {
			after = answer
		}
	}
	client.GoesOn(ctx, after, despite)
}

// On returns the inquiries whose question is illegal for a reason on purpose.
func On(inquiries []conform.Inquiry, deliberate string) []conform.Inquiry {
	var all []conform.Inquiry
	for _, inquiry := range inquiries {
		if inquiry.Question.Event.Deliberate == deliberate {
			all = append(all, inquiry)
		}
	}
	return all
}

// Undeclared is a client that is asked for everything that it has not declared.
var Undeclared = &conform.Story{
	Name: "undeclared-questions", Says: "During a call the server asks for roots, for sampling and for a form, which the client has not declared.",
	Until: "2025-11-25",
	Told: conform.Steps{
		conform.ToConnect(), conform.ToList("tools"), conform.ToCall(scripted.AddNumbers, Numbers),
		conform.ToList("prompts"), conform.ToClose(),
	},
	Server: func(server *scripted.Server) {
		const reason = "the client has not declared that it answers this"
		DuringCalls(server,
			scripted.Question{Method: "roots/list", Deliberate: reason},
			scripted.Question{Method: "sampling/createMessage", Deliberate: reason, Params: conform.Object{
				"messages":  []any{conform.Object{"role": "user", "content": conform.Object{"type": "text", "text": "Say hello."}}},
				"maxTokens": 100,
			}},
			scripted.Question{Method: "elicitation/create", Deliberate: reason, Params: conform.Object{
				"message":         "Who are you?",
				"requestedSchema": conform.Object{"type": "object", "properties": conform.Object{"name": conform.Object{"type": "string"}}},
			}},
		)
	},
}

// NeedUndeclared returns what came of a question of Undeclared, of which the check needs
// an answer. Of a client that declares the capability nothing is shown.
func NeedUndeclared(client *conform.Client, method, capability string) conform.Inquiry {
	client.NeedRequests("tools/call")
	if client.Declares(capability) {
		conform.NotApplicable("the client declares " + capability + ", whatever it is told")
	}
	inquiry := client.NeedInquiries(method)[0]
	if inquiry.Answer == nil {
		client.NeverBut("the client did not answer "+method, "tools/call")
	}
	return inquiry
}

// JudgeDeclaration judges that the client has declared a capability of which it makes
// use: in the handshake, or with the very request that brings its answer.
func JudgeDeclaration(client *conform.Client, inquiry conform.Inquiry, capability string) {
	for _, conversation := range client.Conversations {
		if !slices.Contains(conversation.Messages, inquiry.Answer) {
			continue
		}
		declared := conversation.ClientDeclared(inquiry.Answer)
		if _, there := declared[capability]; !there {
			client.Blame(inquiry.Answer, conform.Mismatch{
				Wanted: "the capability " + capability + " declared for what it answers", Found: conform.Show(declared),
			})
		}
	}
}
