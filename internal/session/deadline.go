package session

import (
	"errors"
	"fmt"
	"slices"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/scope"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/internal/transport"
)

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
		kind = scope.ToolCall + tool
	}
	silent := !slices.ContainsFunc(events, func(event transcript.Event) bool {
		return event.From == protocol.Server && event.IsContent()
	})
	if s.Transport().Processes() && silent {
		kind = scope.Starting
	}
	s.t.Outcome.Late = &Late{For: kind, Waited: late.Waited, Behind: late.Behind}
}
