package streamablehttp

import (
	. "github.com/mcpconform/mcpconform/internal/check"
	. "github.com/mcpconform/mcpconform/internal/clientrun"
	"github.com/mcpconform/mcpconform/internal/protocol"
	. "github.com/mcpconform/mcpconform/internal/scenario"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// forgettingTool is one by whose call a session is over.
const forgettingTool = "forget"

// meetsForgotten are the steps that come when a session is over, by what they send.
var meetsForgotten = []struct {
	method string
	step   Step
}{
	{"resources/read", ToRead(scripted.ResourceURI)},
	{"prompts/get", ToGet(scripted.PromptName, Object{"name": "Ada"})},
	{"completion/complete", ToComplete(Object{"type": "ref/prompt", "name": scripted.PromptName}, Object{"name": "name", "value": "A"})},
	{"resources/list", ToList("resources")},
}

// forgettingSteps has a call of the tool before each of them, and after the last one.
func forgettingSteps() Steps {
	steps := Steps{ToConnect(), ToList("tools"), ToCall(forgettingTool, nil)}
	for _, one := range meetsForgotten {
		steps = append(steps, one.step, ToCall(forgettingTool, nil).ID(stepAfter(one.method)))
	}
	return append(steps, ToClose())
}

// forgottenAtEach is a server that ends a session whenever it is asked to.
var forgottenAtEach = &Scenario{
	Name:  "session-that-is-forgotten-at-each-request",
	Until: protocol.Last(protocol.Sessions),
	Over:  protocol.HTTP,
	Says:  "The server has a tool that ends the session: the next requests, of several methods, are answered with 404.",
	Steps: forgettingSteps(),
	Server: func(server *scripted.Server) {
		server.AddTool(forgettingTool, nil, func(call *scripted.Call) {
			call.Session.Expire()
			call.Answer(scripted.Text("forgotten"))
		})
	},
}

func losingSessions() {
	It("sends initialize without Mcp-Session-Id after HTTP 404 for a request of any method",
		Verifies("transports.http.session.renewed"), In(forgottenAtEach), func(t *T) {
			client := RunScenario(t)

			met := false
			for _, one := range meetsForgotten {
				lost, id, there := lostBy(client, one.method)
				if !there {
					continue
				}
				met = true
				for _, call := range client.Calls(forgettingTool) { // the step after the one that failed
					head, there := client.HeadOf(call)
					if there && head.At.After(lost.At) && !t.Observed(sessionOf(head) != id) {
						client.FailEvent(head, Mismatch{
							Wanted: "another session, as " + one.method + " was answered with 404 in the step before",
							Found:  Show(id),
							Where:  "header Mcp-Session-Id",
						})
					}
				}
				renewsAfter(t, client, lost, stepAfter(one.method))
			}
			if !met {
				client.Inconclusive("the client made none of these requests in an ended session", "resources/read")
			}
		})
}

// stepAfter is the step in which a client asks for more when it has met, by a request of a
// method, a session that is over.
func stepAfter(method string) string { return Hyphenated("after " + method) }

// lostBy returns the first 404 for a session that a request of a method met, and the id of
// the session.
func lostBy(client *Client, method string) (lost transcript.Event, id string, there bool) {
	for _, lost := range lostSessions(client) {
		for _, message := range client.Requests(method) {
			if message.Event.Connection != lost.Connection || message.Event.Stream != lost.Stream {
				continue
			}
			if head, there := client.HeadOf(message); there {
				return lost, sessionOf(head), true
			}
		}
	}
	return transcript.Event{}, "", false
}
