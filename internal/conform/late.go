package conform

import (
	"errors"
	"fmt"
	"slices"
	"time"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/internal/transport"
)

// No page of the specification gives anybody a time. That something did not come in time
// shows that it does not come where the target does the same far faster, and where the
// machine was not too busy for the harness itself.

// Pace is how long the slowest took of what a target did in time, by kind: the method of
// a request, or one of those below.
type Pace map[string]time.Duration

const (
	// Starting is the first answer of a process: it must start before.
	Starting = "start"
	// goingOn is what a client sends after a message of the server.
	goingOn = "going on"
	// toolCall is what the kinds of calls begin with, before the name of the tool.
	toolCall = "tools/call "
)

const (
	// FarFaster is how many times as long as the slowest of a kind a wait for the same has
	// to be before it shows anything.
	FarFaster = 10
	// timely is the part of a wait by which it may take longer by the clock.
	timely = 2
)

// Shows tells whether a wait that was over shows that what was waited for does not come.
func (p Pace) Shows(late Late) bool {
	slowest := p.Slowest(late.For)
	return slowest > 0 && late.Waited >= FarFaster*slowest && late.Behind <= late.Waited/timely
}

// Slowest is how long the slowest of a kind took. Of a kind that never came in time it is
// that of all requests for which a server need not work; zero where nothing is known.
func (p Pace) Slowest(kind string) time.Duration {
	if slowest, there := p[kind]; there {
		return slowest
	}
	var slowest time.Duration
	for other, took := range p {
		if other != Starting && other != goingOn && !slices.Contains(unhurried, other) && !isToolCall(other) {
			slowest = max(slowest, took)
		}
	}
	if slowest == 0 {
		return max(p[Starting], p[goingOn])
	}
	return slowest
}

// Add takes what is known of another connection.
func (p Pace) Add(other Pace) {
	for kind, took := range other {
		p[kind] = max(p[kind], took)
	}
}

// unhurried are the requests that are answered when something else is done.
var unhurried = []string{
	"prompts/get", "resources/read", "completion/complete", "tasks/result", "subscriptions/listen",
}

func isToolCall(kind string) bool {
	return len(kind) >= len(toolCall) && kind[:len(toolCall)] == toolCall
}

// paceOf is that of a connection to the target.
func paceOf(conversation *Conversation) Pace {
	pace := Pace{}
	var gaps []time.Duration
	var heard *Message // the last message of the harness that a client has not gone on after
	for _, said := range conversation.Messages {
		switch {
		case !said.FromTarget(conversation.Leg):
			heard = said
			continue
		case heard != nil && conversation.Role == protocol.ClientRole:
			gaps = append(gaps, said.Event.At.Sub(heard.Event.At))
			heard = nil
		}
		if request := said.Request; request != nil && request.Answers[0] == said {
			kind := kindOf(request.Message)
			if conversation.Transport == protocol.Stdio && conversation.Role == protocol.ServerRole && len(pace) == 0 {
				kind = Starting
			}
			pace[kind] = max(pace[kind], said.Event.At.Sub(request.Event.At))
		}
	}
	if len(gaps) > 0 {
		slices.Sort(gaps)
		pace[goingOn] = gaps[len(gaps)/2] // one may be a pause on purpose
	}
	return pace
}

func kindOf(request jsonrpc.Message) string {
	if request.Method == "tools/call" {
		params, _ := request.Params().(map[string]any)
		name, _ := params["name"].(string)
		return toolCall + name
	}
	return request.Method
}

// DemandInTime fails the check unless something has happened for which it has waited as long
// as for a reply. That it has not is in doubt as all that is late.
func (s *Server) DemandInTime(happened bool, wanted, still string) {
	waited := s.ReplyTime()
	if !happened {
		s.t.Outcome.Doubtful, s.t.Outcome.Late = true, &Late{Waited: waited}
	}
	s.t.Demand(happened, wanted, fmt.Sprintf("%s %s later", still, waited))
}

// tooLate notes that the outcome rests on a wait for the answer to a request, or for what
// no request brings, that was over.
func (s *Server) tooLate(method string, id jsonrpc.ID, err error) {
	late, is := errors.AsType[*scripted.LateError](err)
	if !is {
		if !errors.Is(err, transport.ErrTimeout) {
			return
		}
		late = &scripted.LateError{Waited: s.ReplyTime()}
	}
	events := s.Log().Events()
	kind := method
	if tool := calledBy(events, id); tool != "" {
		kind = toolCall + tool
	}
	silent := !slices.ContainsFunc(events, func(event transcript.Event) bool {
		return event.From == protocol.Server && event.IsContent()
	})
	if s.Stdio != nil && silent {
		kind = Starting
	}
	s.t.Outcome.Late = &Late{For: kind, Waited: late.Waited, Behind: late.Behind}
}
