package conform

import (
	"context"
	"errors"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/scripted"
)

// Provoke sends a request that is to be refused, for the reason, and returns its
// answer with the HTTP status (0 over stdio). No answer at all fails the check.
func (s *Server) Provoke(ctx context.Context, method string, params any, reason string) (reply Reply, status int) {
	id, reply, status, err := s.attempt(ctx, method, params, reason)
	if err == nil {
		return reply, status
	}
	refused, there := errors.AsType[*scripted.StatusError](err)
	switch {
	case !there || errors.Is(err, scripted.ErrNoAnswer):
		s.noReply(method, id, err)
	case unavailable(refused.Status):
		s.turnedAway(method, err)
	}
	Observe()
	Judge(Mismatch{Wanted: "a JSON-RPC error in answer to " + method, Found: err.Error()})
	return reply, status
}

// Attempt does the same for a check that goes on without an answer. Over HTTP the
// error may stand in the body of the refusal without the request's id.
func (s *Server) Attempt(ctx context.Context, method string, params any, reason string) (reply Reply, status int, err error) {
	_, reply, status, err = s.attempt(ctx, method, params, reason)
	return reply, status, err
}

func (s *Server) attempt(ctx context.Context, method string, params any, reason string) (id jsonrpc.ID, reply Reply, status int, err error) {
	id = s.NextID()
	raw := jsonrpc.NewRequest(id, method, s.Dress(params))
	request := s.StartRaw(ctx, id, method, scripted.Outgoing{Raw: raw, Deliberate: reason}, nil)
	received, err := request.Wait(ctx)
	if refusal, inBody := errorInBody(err); inBody {
		received.Message, err = refusal, nil
	}
	return id, Reply{received}, request.Delivery.Status, err
}

// errorInBody reads the JSON-RPC error in a response that has a status of refusal.
func errorInBody(err error) (refusal jsonrpc.Message, there bool) {
	status, refused := errors.AsType[*scripted.StatusError](err)
	if !refused {
		return refusal, false
	}
	refusal = jsonrpc.Parse(status.Body)
	_, there = refusal.Error()
	return refusal, there
}
