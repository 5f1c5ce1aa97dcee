package clientrun

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/mcp"
	"github.com/mcpconform/mcpconform/internal/nearest"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/scenario"
	"github.com/mcpconform/mcpconform/internal/scope"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// Client is the target client, as one scenario found it: all that it sent and did.
type Client struct {
	*scenario.Recording
	// Conversations are its connections to the server, in order: processes that it
	// spawned, or sessions over HTTP.
	Conversations []*Conversation
	// Visits are what it did about authorization, in order.
	Visits []*Visit

	t        *T // the check that looks at it; nil where none does
	scenario *scenario.Scenario
	byHand   bool // no command starts it
	outcomes map[string]scenario.StepOutcome
	doubtful string // id of a step that makes what is told doubtful; "" for none
	messages []*Message
}

// RunScenario runs the client through the scenario in which the check looks, unless it was
// run already, and returns what was recorded. A client that did not come makes
// the check inconclusive.
func RunScenario(t *T) *Client {
	runner := runnerOf(t)
	client, err := runner.run(t, t.Declared.Scenario)
	client = client.seenBy(t)
	if err != nil {
		t.Inconclusive(
			"the client could not be started: "+err.Error(),
			"make sure that the command starts the client, then run again",
		)
	}
	lookingOf(t).client = client
	lookingOf(t).looks(client, t.Declared.Scenario)
	seesStreams(t)
	switch {
	case !client.Connected() && runner.recorded():
		t.Inconclusive(
			"its scenario was not run",
			"connect the client to the URL of the scenario, and do what the scenario says",
		)
	case !client.Connected():
		client.undecided(
			"the client never connected",
			"make sure that the command ends with the URL of the server, or has {url} or {server} in its place",
		)
	}
	return client
}

// AlsoRun has the client play another scenario, to compare; nil when it cannot be played
// now, or the client did not come.
func AlsoRun(t *T, scenario *scenario.Scenario) *Client {
	runner := runnerOf(t)
	if runner.Launch == nil && runner.Recordings[scenario.Name] == nil {
		return nil // it is played by hand, and was not
	}
	client, err := runner.run(t, scenario)
	if err != nil {
		return nil
	}
	lookingOf(t).looks(client, scenario)
	if !client.Connected() {
		return nil
	}
	return client.seenBy(t)
}

// seenBy is the client for one check: what came of a scenario is for several.
func (c *Client) seenBy(t *T) *Client {
	if c == nil {
		return nil
	}
	seen := *c
	seen.t = t
	return &seen
}

func newClient(
	runner *Runner,
	scenario *scenario.Scenario,
	recording *scenario.Recording,
	logs []*transcript.Log,
) *Client {
	client := &Client{Recording: recording, scenario: scenario, byHand: runner.recorded()}
	for i, connection := range recording.Connections {
		log := transcript.NewLog(connection.Name)
		if i < len(logs) {
			log = logs[i] // which holds the room for what is decoded
		}
		conversation := rules.ReadConversation(
			cellIn(scenario, runner.Cell),
			connection.Events,
			connection.Complete,
			log,
		)
		client.Conversations = append(client.Conversations, conversation)
		client.messages = append(client.messages, conversation.Messages...)
	}
	if recording.Authorization != nil {
		client.Visits = scripted.ReadVisits(recording.Authorization.Events)
	}
	slices.SortStableFunc(client.messages, func(a, b *Message) int { return a.Event.At.Compare(b.Event.At) })
	client.outcomes, client.doubtful = client.trusted(recording.Outcomes(scenario.Steps))
	return client
}

// ByHand tells that no command started the client, so that how it ended is unknown.
func (c *Client) ByHand() bool { return c.byHand }

// Idle tells that the client did nothing but connect, and had to be ended.
func (c *Client) Idle() bool {
	return c.Exit.Ended && !slices.ContainsFunc(c.Requests(), func(message *Message) bool {
		return message.Method != "initialize" && message.Method != "server/discover"
	})
}

// All returns the messages of both sides, over all connections, in order.
func (c *Client) All() []*Message { return c.messages }

func (c *Client) where(keep func(*Message) bool) []*Message {
	var kept []*Message
	for _, message := range c.messages {
		if keep(message) {
			kept = append(kept, message)
		}
	}
	return kept
}

func fromClient(message *Message) bool { return message.Event.From == protocol.Client }

// Sent returns the messages of the client.
func (c *Client) Sent() []*Message { return c.where(fromClient) }

// Requests returns the client's requests of some methods; all, when none is given.
func (c *Client) Requests(methods ...string) []*Message {
	return c.where(func(message *Message) bool {
		return fromClient(message) && message.Kind == jsonrpc.Request &&
			(len(methods) == 0 || slices.Contains(methods, message.Method))
	})
}

// Notifications returns the client's notifications of a method.
func (c *Client) Notifications(method string) []*Message {
	return c.where(func(message *Message) bool {
		return fromClient(message) && message.Kind == jsonrpc.Notification && message.Method == method
	})
}

// Responses returns the client's answers to the server's requests of a method.
func (c *Client) Responses(method string) []*Message {
	return c.where(func(message *Message) bool {
		return fromClient(message) && message.Kind == jsonrpc.Response && message.Request != nil &&
			message.Request.Method == method
	})
}

// FromServer returns the messages of the scripted server of a method.
func (c *Client) FromServer(method string) []*Message {
	return c.where(func(message *Message) bool { return !fromClient(message) && message.Method == method })
}

// Calls returns the client's calls of a tool.
func (c *Client) Calls(tool string) []*Message {
	return slices.DeleteFunc(
		c.Requests("tools/call"),
		func(message *Message) bool { return message.ParamsObject()["name"] != tool },
	)
}

// Events returns the events of all connections, in order.
func (c *Client) Events() []transcript.Event {
	var all []transcript.Event
	for _, connection := range c.Connections {
		all = append(all, connection.Events...)
	}
	slices.SortStableFunc(all, func(a, b transcript.Event) int { return a.At.Compare(b.At) })
	return all
}

// CancellationOf returns the client's notification that cancels one of its requests; nil
// for none.
func (c *Client) CancellationOf(request *Message) *Message {
	for _, message := range c.Notifications("notifications/cancelled") {
		if message.Event.Connection == request.Event.Connection &&
			jsonrpc.IDOf(message.ParamsObject()["requestId"]) == request.ID {
			return message
		}
	}
	return nil
}

// Heads returns the heads of the client's HTTP requests with a method, such as
// POST; of all when it is "".
func (c *Client) Heads(method string) []transcript.Event {
	return slices.DeleteFunc(c.Events(), func(event transcript.Event) bool {
		return !event.IsRequestHead() || method != "" && event.HTTP.Method != method
	})
}

// HeadOf returns the head of the HTTP request that carried a message, and whether
// there is one.
func (c *Client) HeadOf(message *Message) (transcript.Event, bool) {
	for _, event := range c.Heads("") {
		if event.Connection == message.Event.Connection && event.Stream == message.Event.Stream {
			return event, true
		}
	}
	return transcript.Event{}, false
}

// Fetched returns the notes of what the client looked up at a decoy of the server.
func (c *Client) Fetched() []transcript.Event {
	return slices.DeleteFunc(c.Events(), func(event transcript.Event) bool {
		return event.Incident != transcript.DecoyFetched
	})
}

// NeedRequests returns the client's requests of a method, of which the check needs
// one at least: else it is inconclusive, with the step that would show it.
func (c *Client) NeedRequests(method string) []*Message {
	requests := c.Requests(method)
	if len(requests) == 0 {
		c.InconclusiveWithout(method)
	}
	return requests
}

// NeedCalls does so for calls of a tool.
func (c *Client) NeedCalls(tool string) []*Message {
	calls := c.Calls(tool)
	switch {
	case len(calls) > 0:
	case len(c.Requests("tools/call")) > 0:
		c.undecided("the client never called "+tool, c.hintAt(c.scenario.Steps.Calling(tool)))
	default:
		c.InconclusiveWithout("tools/call")
	}
	return calls
}

// NeedResponses does so for answers to the server's requests of a method: a client
// that was not asked, or did not answer, shows nothing.
func (c *Client) NeedResponses(method string) []*Message {
	responses := c.Responses(method)
	if len(responses) == 0 {
		c.InconclusiveWithout(method)
	}
	return responses
}

// InconclusiveWithout ends a check as inconclusive, since the client has never sent a message of
// the method, or answered one.
func (c *Client) InconclusiveWithout(method string) {
	c.undecided("the client never sent "+method, c.hint(method))
}

// Inconclusive does so with a reason of one's own.
func (c *Client) Inconclusive(reason, method string) { c.undecided(reason, c.hint(method)) }

func (c *Client) hint(method string) string { return c.hintAt(c.scenario.Steps.Bringing(method)) }

// hintAt says which step would help, by its id.
func (c *Client) hintAt(id string) string {
	switch {
	case id != "" && c.byHand:
		return "let the client " + c.step(id).Describe()
	case c.byHand:
		return "let the client do what the scenario says"
	case id != "":
		return "let the client do the step " + c.step(id).Text()
	}
	return "let the client do the steps of MCPCONFORM_STEPS"
}

// undecided adds what the process has to tell.
func (c *Client) undecided(reason, hint string) {
	if c.Exit.Failed {
		reason += "; it " + c.Exit.Status
		if last := lastLine(c.Exit.Stderr); last != "" {
			reason += fmt.Sprintf(", and its standard error ends with %q", last)
		}
	}
	c.t.Inconclusive(reason, hint)
}

func lastLine(text []byte) string {
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return lines[len(lines)-1]
}

// unreported ends a check as inconclusive: where a person lets the client do a step, no
// driver reports how it went.
func (c *Client) unreported(id string) {
	c.t.Inconclusive("the client does not report the outcome of the step "+c.step(id).Describe(),
		"a client that a command starts can report it: see mcpconform client --help")
}

// position returns that of a step of the scenario, by its id. One that the scenario does not
// have is a mistake in the check.
func (c *Client) position(id string) int {
	at := c.scenario.Steps.Position(id)
	if at < 0 {
		panic(fmt.Sprintf("%s: the check %q refers to the step %q, which the scenario %q does not have%s",
			c.t.Declared.Place, c.t.Declared.Text, id, c.scenario.Name, nearest.Hint(id, c.scenario.Steps.IDs())))
	}
	return at
}

func (c *Client) step(id string) scenario.Step { return c.scenario.Steps[c.position(id)] }

// NeedOutcome returns how a step went, by its id. When the driver of the client does
// not tell, the check is inconclusive.
func (c *Client) NeedOutcome(id string) scenario.StepOutcome {
	outcome, there := c.Outcome(id)
	switch {
	case !there && c.byHand:
		c.unreported(id)
	case !there && c.doubtful != "":
		c.undecided(
			"the client reports that it did the step "+c.step(c.doubtful).Text()+
				", but never sent "+c.step(c.doubtful).Method(),
			"let the client report a step as done only after it did it",
		)
	case !there:
		c.undecided(
			"the client does not report how the step "+c.step(id).Text()+" went",
			fmt.Sprintf(
				`let the client write {"step":%d,"outcome":"done" or "failed"} to standard output`,
				c.position(id),
			),
		)
	}
	return outcome
}

// StepOf returns the id of the first step that brings about messages of a method; "" when
// there is none.
func (c *Client) StepOf(method string) string { return c.scenario.Steps.Bringing(method) }

// CallOf returns the id of the first step that calls a tool; "" when there is none.
func (c *Client) CallOf(tool string) string { return c.scenario.Steps.Calling(tool) }

// Reports reports whether the driver of the client tells how steps go: one that does
// not may do other things than it is told.
func (c *Client) Reports() bool { return len(c.outcomes) > 0 }

// Outcome returns how a step went, by its id, if the driver tells; "" is a step that is not there.
func (c *Client) Outcome(id string) (scenario.StepOutcome, bool) {
	if id != "" {
		c.position(id)
	}
	outcome, there := c.outcomes[id]
	return outcome, there
}

// Declares tells whether the client declares a capability, such as "sampling.tools":
// in a handshake, or with a request.
func (c *Client) Declares(path string) bool {
	return slices.ContainsFunc(c.Conversations, func(conversation *Conversation) bool {
		return slices.ContainsFunc(conversation.Messages, func(message *Message) bool {
			return fromClient(message) && mcp.Declares(conversation.ClientDeclared(message), path)
		})
	})
}

// Fail fails the check for a message, which the report marks.
func (c *Client) Fail(message *Message, mismatch Mismatch) {
	if message != nil { // nil where the client left before it came
		c.t.Outcome.Judged = message.Event.Place()
	}
	c.t.Judge(mismatch)
}

// FailEvent does so for an event that is no message.
func (c *Client) FailEvent(event transcript.Event, mismatch Mismatch) {
	c.t.Outcome.Judged = event.Place()
	c.t.Judge(mismatch)
}

// Missing fails the check for what the client did not send after a message. The harness
// has waited for it, and does so again with more patience before that counts: but not
// where the client cannot be started again.
func (c *Client) Missing(after *Message, mismatch Mismatch) {
	c.needStreams()
	c.tooLate()
	c.Fail(after, mismatch)
}

// MissingAfter does so for what it did not send after an event that is no message.
func (c *Client) MissingAfter(event transcript.Event, mismatch Mismatch) {
	c.needStreams()
	c.tooLate()
	c.FailEvent(event, mismatch)
}

// tooLate puts in doubt what rests on what the client did not do until the harness ended it,
// or until it left.
func (c *Client) tooLate() {
	c.t.Outcome.Doubtful = !c.byHand
	if c.Exit.Ended && !c.byHand {
		c.t.Outcome.Late = &Late{For: scope.GoingOn, Waited: runnerOf(c.t).Target.Reply}
	}
}

// ShowOutcome writes the result that a driver tells for people.
func ShowOutcome(outcome scenario.StepOutcome) string {
	text, err := json.Marshal(outcome)
	if err != nil {
		return outcome.Outcome
	}
	return Show(json.RawMessage(text))
}
