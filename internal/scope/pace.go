package scope

import (
	"slices"
	"strings"
	"time"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/scripted"
)

// No page of the specification sets a time limit. That something did not come in time shows
// that it does not come only where the target does the same far faster, and where the
// machine was not too busy for the harness itself.

// Pace is how long the slowest took of what a target did in time, by kind: the method of
// a request, or one of those below.
type Pace map[string]time.Duration

const (
	// Starting is the first answer of a process: it must start before.
	Starting = "start"
	// GoingOn is what a client sends after a message of the server.
	GoingOn = "going on"
	// ToolCall is what the kinds of calls begin with, before the name of the tool.
	ToolCall = "tools/call "
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
		if other != Starting && other != GoingOn && !IsUnhurried(other) {
			slowest = max(slowest, took)
		}
	}
	if slowest == 0 {
		return max(p[Starting], p[GoingOn])
	}
	return slowest
}

// Add takes what is known of another connection.
func (p Pace) Add(other Pace) {
	for kind, took := range other {
		p[kind] = max(p[kind], took)
	}
}

// IsUnhurried tells whether a kind is that of requests which may take as long as they like.
func IsUnhurried(kind string) bool {
	return strings.HasPrefix(kind, ToolCall) || scripted.IsUnhurried(kind)
}

// PaceOf is that of a connection to the target.
func PaceOf(conversation *Conversation) Pace {
	pace := Pace{}
	var gaps []time.Duration
	var heard *Message // the last message of the harness that a client has not gone on after
	for _, message := range conversation.Messages {
		switch {
		case !message.FromTarget(conversation.Cell):
			heard = message
			continue
		case heard != nil && conversation.Role == protocol.ClientRole:
			gaps = append(gaps, message.Event.At.Sub(heard.Event.At))
			heard = nil
		}
		if request := message.Request; request != nil && request.Answers[0] == message {
			kind := kindOf(request.Message)
			if protocol.Over(conversation.Transport).Processes() && conversation.Role == protocol.ServerRole &&
				len(pace) == 0 {
				kind = Starting
			}
			pace[kind] = max(pace[kind], message.Event.At.Sub(request.Event.At))
		}
	}
	if len(gaps) > 0 {
		slices.Sort(gaps)
		pace[GoingOn] = gaps[len(gaps)/2] // one may be a pause on purpose
	}
	return pace
}

func kindOf(request jsonrpc.Message) string {
	if request.Method == "tools/call" {
		params, _ := request.Params().(map[string]any)
		name, _ := params["name"].(string)
		return ToolCall + name
	}
	return request.Method
}
