package conform

import (
	"context"
	"errors"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/scripted"
)

// Provoke sends a request that is to be refused, for the reason, and returns its
// answer with the HTTP status (0 over stdio). Over HTTP the error may stand in the
// body of the refusal without the request's id. No answer at all fails the check.
func (s *Server) Provoke(ctx context.Context, method string, params any, reason string) (reply Reply, status int) {
	id := s.NextID()
	raw := jsonrpc.NewRequest(id, method, s.Dress(params))
	request := s.StartRaw(ctx, id, method, scripted.Outgoing{Raw: raw, Deliberate: reason}, nil)
	received, err := request.Wait(ctx)
	if err != nil {
		message, inBody := errorInBody(err)
		if !inBody {
			missing("a JSON-RPC error in answer to "+method, err)
		}
		received.Message = message
	}
	return Reply{received}, request.Delivery.Status
}

// errorInBody reads the JSON-RPC error in a response that has a status of refusal.
func errorInBody(err error) (jsonrpc.Message, bool) {
	status, refused := errors.AsType[*scripted.StatusError](err)
	if !refused {
		return jsonrpc.Message{}, false
	}
	message := jsonrpc.Parse(status.Body)
	_, isError := message.Error()
	return message, isError
}
