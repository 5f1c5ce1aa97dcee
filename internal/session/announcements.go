package session

import (
	"fmt"
	"net/http"
	"slices"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/excerpt"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/mcp"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// ListenForChanges opens what the server announces changes on: in the handshake era the GET
// stream of Streamable HTTP, in the stateless era a subscription to all lists.
// Where the server has no such thing, announcements come beside answers, or not.
func (s *Server) ListenForChanges() {
	if !s.t.Has(protocol.Subscriptions) {
		_, _ = s.Listen(s.t)
		return
	}
	_, _ = s.subscribe(Object{"toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true})
}

// KeepListening opens the GET stream of Streamable HTTP in the handshake era, unless the
// connection has one: a server may wait for it to ask its client there, in the middle of a
// call. One without such a stream says so, and asks beside its answers.
func (s *Server) KeepListening() {
	listens := func(event transcript.Event) bool { return event.HTTP != nil && event.HTTP.Method == http.MethodGet }
	if s.t.Has(protocol.ServerRequests) && !slices.ContainsFunc(s.Log().Events(), listens) {
		_, _ = s.Listen(s.t)
	}
}

// SubscribeToResource subscribes to a resource. A server that refuses makes the check
// inconclusive.
func (s *Server) SubscribeToResource(uri string) {
	if s.t.Has(protocol.Subscriptions) {
		s.Subscribe(Object{"resourceSubscriptions": []any{uri}})
		return
	}
	s.ListenForChanges()
	s.Call("resources/subscribe", Object{"uri": uri}).Need().Result()
}

// Subscription is a subscriptions/listen request that the server has acknowledged
// (2026-07-28, basic/patterns/subscriptions).
type Subscription struct {
	*Answer
	Acknowledged Object // the filter that the server honours
}

// Subscribe opens a subscription with a filter and waits for its acknowledgement. A
// server that does not acknowledge makes the check inconclusive.
func (s *Server) Subscribe(filter Object) *Subscription {
	subscription, err := s.subscribe(filter)
	if err != nil {
		s.t.Outcome.Doubtful = scripted.Lost(err)
		s.tooLate("", jsonrpc.NoID, err)
		s.t.Inconclusive("no subscription: "+err.Error(), "fix the failures of subscriptions/listen first")
	}
	return subscription
}

func (s *Server) subscribe(filter Object) (*Subscription, error) {
	request := s.Call("subscriptions/listen", Object{"notifications": filter})
	subscription := &Subscription{Answer: request}
	first, err := request.WaitOr(s.t, subscription.has)
	switch {
	case err != nil:
		return nil, fmt.Errorf("subscriptions/listen was not acknowledged: %w", err)
	case first.Method != "notifications/subscriptions/acknowledged":
		return nil, fmt.Errorf(
			"subscriptions/listen was not acknowledged first; what came is %s",
			excerpt.Short(first.Raw),
		)
	}
	params, _ := first.Params().(map[string]any)
	subscription.Acknowledged, _ = params["notifications"].(map[string]any)
	return subscription, nil
}

// has tells whether a notification belongs to the subscription.
func (s *Subscription) has(received scripted.Received) bool { return SubscriptionOf(received) == s.ID }

// SubscriptionOf returns the id of the subscription that a notification names in its
// _meta; jsonrpc.NoID when it names none.
func SubscriptionOf(received scripted.Received) jsonrpc.ID {
	params, _ := received.Params().(map[string]any)
	meta, _ := params["_meta"].(map[string]any)
	if id, there := meta[mcp.MetaSubscription]; there && received.Kind == jsonrpc.Notification {
		return jsonrpc.IDOf(id)
	}
	return jsonrpc.NoID
}

// Notifications returns what came on the subscription since it was asked for, the
// acknowledgement first.
func (s *Subscription) Notifications() []scripted.Received { return s.server.Sent(s.Mark, s.has) }

// Until waits for a notification of a method on the subscription. Its absence fails
// the check.
func (s *Subscription) Until(method string) scripted.Received {
	return s.server.Until(s.Mark, method+" on the subscription", func(received scripted.Received) bool {
		return received.Method == method && s.has(received)
	})
}

// Cancel ends the subscription from the client's side: over HTTP by closing its
// stream, over stdio by notifications/cancelled.
func (s *Subscription) Cancel() { s.server.Cancel(s.Answer) }

// Cancel cancels a request in the way of the era and transport (2026-07-28,
// basic/patterns/cancellation#transport-specific-cancellation): by
// notifications/cancelled, or, in the stateless era over HTTP, by closing the
// stream of its answer.
func (s *Server) Cancel(request *Answer) {
	if s.t.Has(protocol.ClosingCancels) && s.Transport().Exchanges() {
		request.Delivery.Cut()
		return
	}
	params := Object{"requestId": request.ID, "reason": "no longer needed by this check"}
	s.Notify("notifications/cancelled", params).Must()
}

// ServerRequest is something that the server wants from the client: a request in the
// handshake era, an input request in a result of the stateless era.
type ServerRequest struct {
	scripted.Received        // the message that carries it
	Key               string // of an input request
	Method            string // such as sampling/createMessage
	Parameters        Object // its params
}

// ServerRequests returns what the server has asked for by a method since a mark.
func (s *Server) ServerRequests(mark int, method string) []ServerRequest {
	var all []ServerRequest
	for _, received := range s.Received(mark) {
		for _, request := range rules.ServerRequests(received.Message) {
			if request.Method == method {
				all = append(
					all,
					ServerRequest{Received: received, Key: request.Key, Method: method, Parameters: request.Params},
				)
			}
		}
	}
	return all
}
