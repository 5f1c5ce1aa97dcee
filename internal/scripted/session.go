package scripted

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/mcp"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/internal/transport"
	"github.com/mcpconform/mcpconform/internal/wait"
)

// Session is one connection of a target client: a process over stdio, a session
// over HTTP, a stream over HTTP+SSE, or in the stateless era all exchanges over HTTP.
type Session struct {
	Server *Server
	Number int // from 1

	begun bool // over HTTP: what begins a session begins another; the server's mu guards it

	log     *transcript.Log
	inbox   *inbox
	spawned *transport.Spawned // nil over HTTP

	mu        sync.Mutex
	id        string   // of the session over HTTP; "" for none
	endpoint  *url.URL // over HTTP+SSE, once the client is told
	streams   transcript.Streams
	listening []*Exchange  // streams of what comes unasked: GET
	filters   []subscribed // subscriptions/listen
	expired   bool
	lastAsk   int64
	lingering *time.Timer       // nil for nothing
	declared  Object            // in the handshake
	waiting   map[string][]byte // answers, by the event id by which a client comes back for them
}

// subscribed is a stream of changes that the client has asked for.
type subscribed struct {
	call   *Call
	filter Object
}

// ID is the session id that the client was given over HTTP; "" for none.
func (s *Session) ID() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.id
}

// Assign gives the session an id, which goes out with the answer to initialize.
func (s *Session) Assign(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.id = id
}

// Transport is that of the session.
func (s *Session) Transport() protocol.Transport {
	switch {
	case s.spawned != nil:
		return protocol.Over(protocol.Stdio)
	case s.Server.httpSSE:
		return protocol.Over(protocol.SSE)
	}
	return protocol.Over(protocol.HTTP)
}

// Log is the record of the session.
func (s *Session) Log() *transcript.Log { return s.log }

// Spawned is the process over stdio, for scenarios that need its bytes; nil over
// HTTP.
func (s *Session) Spawned() *transport.Spawned { return s.spawned }

// Expire forgets the session: from now on its id is unknown.
func (s *Session) Expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expired = true
}

// Expired tells whether the session is forgotten.
func (s *Session) Expired() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.expired
}

// name is the next stream of a method in the record.
func (s *Session) name(method string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.streams.Next(method)
}

// listen opens a stream for what the server says unasked.
func (s *Session) listen(exchange *Exchange) {
	exchange.Head(
		http.StatusOK,
		map[string]string{"Content-Type": "text/event-stream", "Cache-Control": "no-store"},
		"",
	)
	s.mu.Lock()
	s.listening = append(s.listening, exchange)
	s.mu.Unlock()
	s.Server.touch(0)
}

// Hears tells whether the server can say something unasked now.
func (s *Session) Hears() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.spawned != nil || slices.ContainsFunc(s.listening, func(one *Exchange) bool { return one.Streaming() })
}

// Stream waits for a stream on which the server may say something unasked; nil
// over stdio, and when the client opens none in time.
func (s *Session) Stream() *Exchange {
	ctx, cancel := wait.WithTimeout(s.Server.life, s.Server.options.Reply)
	defer cancel()
	for {
		s.Server.mu.Lock()
		changed := s.Server.changed
		s.Server.mu.Unlock()
		s.mu.Lock()
		at := slices.IndexFunc(s.listening, func(one *Exchange) bool { return one.Streaming() })
		var found *Exchange
		if at >= 0 {
			found = s.listening[at]
		}
		s.mu.Unlock()
		if found != nil || s.spawned != nil {
			return found
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil
		}
	}
}

// Say sends a message unasked: over stdio at once, over HTTP on a stream that the
// client has opened for that. It reports false when there is none. The reason says
// why it is illegal on purpose, and is "" for legal ones.
func (s *Session) Say(message []byte, deliberate string) bool {
	defer s.Server.touch(0)
	if s.spawned != nil {
		return s.spawned.Write(s.Server.Style.spell(message, deliberate), deliberate) == nil
	}
	stream := s.Stream()
	return stream != nil && stream.Event(nil, message, deliberate)
}

// Notify sends a notification unasked. In the stateless era it goes to the
// subscriptions that want it.
func (s *Session) Notify(method string, params Object) bool {
	if s.Server.Has(protocol.Subscriptions) {
		return s.publish(method, params)
	}
	return s.Say(jsonrpc.NewNotification(method, nilIfEmpty(params)), "")
}

func nilIfEmpty(params Object) any {
	if params == nil {
		return nil
	}
	return params
}

// publish sends a notification to the subscriptions that want it.
func (s *Session) publish(method string, params Object) (sent bool) {
	s.mu.Lock()
	open := slices.Clone(s.filters)
	s.mu.Unlock()
	for _, one := range open {
		if wants(one.filter, method, params) {
			sent = one.call.Notify(method, about(one.call, params)) || sent
		}
	}
	return sent
}

// about says which subscription a notification belongs to.
func about(call *Call, params Object) Object {
	said := Object{"_meta": Object{mcp.MetaSubscription: call.Message.ID}}
	maps.Copy(said, params)
	return said
}

// wants tells whether a notification passes a filter (basic/patterns/subscriptions).
func wants(filter Object, method string, params Object) bool {
	switch method {
	case "notifications/tools/list_changed":
		return filter["toolsListChanged"] == true
	case "notifications/prompts/list_changed":
		return filter["promptsListChanged"] == true
	case "notifications/resources/list_changed":
		return filter["resourcesListChanged"] == true
	case "notifications/resources/updated":
		return contains(filter["resourceSubscriptions"], params["uri"])
	case "notifications/tasks":
		return contains(filter["taskIds"], params["taskId"])
	}
	return false
}

func contains(list, wanted any) bool {
	all, _ := list.([]any)
	text, isText := wanted.(string)
	return isText && slices.ContainsFunc(all, func(one any) bool { return one == text })
}

// Ask sends a request unasked and waits for its answer. It reports false when
// there was none in time, or no way to ask.
func (s *Session) Ask(method string, params any) (Received, bool) {
	id := s.NextID()
	mark := s.Mark()
	if !s.Say(jsonrpc.NewRequest(id, method, params), "") {
		return Received{}, false
	}
	return s.AwaitAnswer(ServerRequest{Method: method}, id, mark)
}

// AwaitAnswer waits for the answer to a request that was sent under an id, at a mark. A response
// that has the id of no request comes in its place, unless the answer is close behind.
func (s *Session) AwaitAnswer(request ServerRequest, id jsonrpc.ID, mark int) (received Received, came bool) {
	most := s.Server.options.Unanswered.patience(request.Method, s.Server.options.Reply)
	if request.Deliberate == "" {
		defer func() { s.Server.options.Unanswered.note(request.Method, came) }()
	}
	answers := AnswerTo(id)
	received, came = s.Within(
		most,
		mark,
		func(received Received) bool { return answers(received) || s.isStray(received) },
	)
	if !came || answers(received) {
		return received, came
	}
	return s.Within(min(most, behindStray), mark, answers)
}

// isStray tells whether what came is a response that has the id of no request, and nothing was
// sent that this could be about.
func (s *Session) isStray(received Received) bool {
	return answersNothing(received, s.log, protocol.Server, func(sent jsonrpc.Message, legal bool) bool {
		return sent.Kind == jsonrpc.Notification &&
			(!legal || received.ID == jsonrpc.NoID || received.ID == jsonrpc.NullID)
	})
}

// NextID returns an id that the server has not used on this session.
func (s *Session) NextID() jsonrpc.ID {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastAsk++
	if id := s.Server.Style.ID; id != nil {
		return id(s.lastAsk)
	}
	return jsonrpc.StringID(fmt.Sprintf("server-%d", s.lastAsk))
}

// AnswerTo matches the answer to a request.
func AnswerTo(id jsonrpc.ID) func(Received) bool {
	return func(received Received) bool { return received.Kind == jsonrpc.Response && received.ID == id }
}

// Mark is a position in what the client has sent, for Until.
func (s *Session) Mark() int { return s.inbox.len() }

// Until waits until the client has sent a message that matches, from a mark on.
func (s *Session) Until(mark int, match func(Received) bool) (Received, bool) {
	return s.Within(s.Server.options.Reply, mark, match)
}

// Within does so for a time of one's own.
func (s *Session) Within(most time.Duration, mark int, match func(Received) bool) (Received, bool) {
	ctx, cancel := wait.WithTimeout(s.Server.life, most)
	defer cancel()
	received, err := s.inbox.await(ctx, mark, match, nil)
	return received, err == nil
}

// Leaves waits until the client has closed the connection, for a limited time.
func (s *Session) Leaves(most time.Duration) {
	s.Within(most, s.Mark(), func(Received) bool { return false })
}

// Linger says that something may still come, though nothing does for a while: the
// client may be waiting. It holds until the process is gone, and not longer than so.
func (s *Session) Linger(most time.Duration) {
	s.Server.touch(1)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lingering = time.AfterFunc(most, func() { s.Server.touch(-1) })
}

// gone ends what was to be waited for.
func (s *Session) gone() {
	s.mu.Lock()
	lingering := s.lingering
	s.mu.Unlock()
	if lingering != nil && lingering.Stop() {
		s.Server.touch(-1)
	}
}

// greeted tells whether the client has said what it can do, by initialize.
func (s *Session) greeted() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.declared != nil
}

// end breaks what is open.
func (s *Session) end() {
	if s.spawned != nil {
		_ = s.spawned.Close() // it may be closed already
	}
}

// readLine takes the next thing that the client does over stdio; it reports false
// when there will be nothing more.
func (s *Session) readLine() bool {
	line, err := s.spawned.Read()
	var signal *transport.SignalError
	exit := func(*Session) { _ = s.spawned.Exit(0) } // or it is gone
	switch {
	case err == nil:
		s.Server.dispatch(s, line, nil)
	case errors.Is(err, transport.ErrInputEnd):
		s.inbox.finish(ErrConnection)
		s.react(s.Server.onInputEnd, exit)
	case errors.As(err, &signal):
		s.react(s.Server.onSignal, exit)
	default:
		return false
	}
	return s.inbox.ended() == nil || !TooMuch(s.inbox.ended())
}

func (s *Session) react(told, otherwise func(*Session)) {
	if told == nil {
		told = otherwise
	}
	told(s)
}
