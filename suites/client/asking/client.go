package asking

import (
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
