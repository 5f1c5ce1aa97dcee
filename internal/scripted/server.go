package scripted

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/internal/transport"
	"github.com/mcpconform/mcpconform/internal/wait"
)

// Object is a JSON object.
type Object = map[string]any

// Server is a scripted server: what a target client finds at the other end. Unless a scenario
// changes it, it is a good server of one revision that offers a little of everything (Features).
// It keeps everything that the client sends, and judges nothing.
//
// How it behaves is said before the client comes.
type Server struct {
	*Features
	Style   Style
	options ServerOptions

	life    context.Context // ends with Close
	stop    context.CancelFunc
	client  context.Context // ends with Settle
	left    context.CancelFunc
	working sync.WaitGroup
	slots   chan struct{} // holds a token for each handler that is at work

	onMessage  map[string]func(*Call)
	onResult   func(*Call, Object)
	onExchange func(*Exchange) bool
	onStart    func(*Session)
	onInputEnd func(*Session)
	onSignal   func(*Session)
	httpSSE    bool // it speaks HTTP+SSE instead of Streamable HTTP
	guard      *Guard
	unready    error

	mu       sync.Mutex
	counts   map[string]int // messages by method
	sessions []*Session
	busy     int       // handlers that are at work
	open     int       // exchanges and processes that are not over
	last     time.Time // when anything came or went
	met      bool      // a client came, if only to be refused
	changed  chan struct{}
	closed   bool
}

// ServerOptions say what a scripted server is made for.
type ServerOptions struct {
	Revision   string        // the only one that it speaks
	Reply      time.Duration // how long one answer of the client may take
	Unanswered *Unanswered   // by which answers are waited for, as far as Reply allows; nil for none
	Limits     transport.Limits
	// Log makes the record of a session that begins.
	Log func() *transcript.Log
	// Authorization makes the record of what is said about authorization, once; nil where
	// the server is open to all.
	Authorization func() *transcript.Log
}

// NewServer makes a good server. Close must be called.
func NewServer(options ServerOptions) *Server {
	s := &Server{
		Features: NewFeatures(options.Revision), options: options, onMessage: map[string]func(*Call){},
		counts: map[string]int{}, last: time.Now(), changed: make(chan struct{}),
		slots: make(chan struct{}, maxHandlers),
	}
	s.life, s.stop = context.WithCancel(context.Background())
	s.client, s.left = context.WithCancel(s.life)
	return s
}

// Revision is the one that the server speaks.
func (s *Server) Revision() string { return s.options.Revision }

// Has tells whether the revision of the server has a feature.
func (s *Server) Has(feature protocol.Feature) bool { return protocol.Has(s.options.Revision, feature) }

// On says what becomes of requests, or notifications, of a method. The function
// runs beside others, and may take its time.
func (s *Server) On(method string, do func(*Call)) { s.onMessage[method] = do }

// OnResult is given every result before it goes out, to change it.
func (s *Server) OnResult(do func(call *Call, result Object)) { s.onResult = do }

// OnExchange is shown every HTTP request before its message is read. It returns
// true when it has seen to the response, now or later. What is told later is asked first.
func (s *Server) OnExchange(do func(*Exchange) bool) {
	next := s.onExchange
	s.onExchange = func(exchange *Exchange) bool { return do(exchange) || next != nil && next(exchange) }
}

// OnStart is told when the client has started the server over stdio, before
// anything is read.
func (s *Server) OnStart(do func(*Session)) { s.onStart = do }

// OnInputEnd is told when the client closes standard input, and says what becomes
// of that; a good server exits.
func (s *Server) OnInputEnd(do func(*Session)) { s.onInputEnd = do }

// OnSignal is told when the client asks the process to end by a signal; a good
// server exits.
func (s *Server) OnSignal(do func(*Session)) { s.onSignal = do }

// Sessions are those that have begun, in order: processes over stdio, over HTTP
// sessions, or in the stateless era the one of all exchanges.
func (s *Server) Sessions() []*Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.sessions)
}

// Quiet waits until nothing has come or gone for a while, with nothing under way, or the context
// ends. It tells whether a client came in the meantime or before.
func (s *Server) Quiet(ctx context.Context, first, while time.Duration) (came bool) {
	for {
		s.mu.Lock()
		came = len(s.sessions) > 0 || s.met
		patience := first
		if came {
			patience = while
		}
		left := patience - time.Since(s.last)
		if s.busy > 0 {
			left = max(left, while)
		}
		changed := s.changed
		s.mu.Unlock()
		if left <= 0 {
			return came
		}
		waiting, stop := wait.WithTimeout(ctx, left)
		await(waiting, changed)
		stop()
		if ctx.Err() != nil {
			return came
		}
	}
}

// Rest waits until something has come or gone since a moment, and then nothing more
// for a while, with nothing under way. It returns when the last was; false when the
// context ended before.
func (s *Server) Rest(ctx context.Context, since time.Time, while time.Duration) (time.Time, bool) {
	for {
		s.mu.Lock()
		last, changed := s.last, s.changed
		resting := last.After(since) && s.busy == 0
		s.mu.Unlock()
		left := while - time.Since(last)
		if resting && left <= 0 {
			return last, true
		}
		if resting {
			waiting, stop := wait.WithTimeout(ctx, left)
			await(waiting, changed)
			stop()
		} else {
			await(ctx, changed)
		}
		if ctx.Err() != nil {
			return last, false
		}
	}
}

// await waits until something changes, or the context ends.
func await(ctx context.Context, changed <-chan struct{}) {
	select {
	case <-changed:
	case <-ctx.Done():
	}
}

// Settle notes that the client has ended, and waits until nothing is under way and nothing is
// open, at most for a while.
func (s *Server) Settle(most time.Duration) {
	s.left()
	ctx, cancel := wait.WithTimeout(s.life, most)
	defer cancel()
	for ctx.Err() == nil {
		s.mu.Lock()
		over, changed := s.busy == 0 && s.open == 0, s.changed
		s.mu.Unlock()
		if over {
			return
		}
		await(ctx, changed)
	}
}

// Detach notes that the client has ended, and what it has left running is none of
// its doing any more.
func (s *Server) Detach() {
	for _, session := range s.Sessions() {
		if session.spawned != nil {
			session.spawned.Detach()
		}
	}
}

// opened notes that one more, or one less, is open.
func (s *Server) opened(more int) {
	s.mu.Lock()
	s.open += more
	s.mu.Unlock()
	s.touch(0)
}

// came notes that a client came, if only to be refused.
func (s *Server) came() {
	s.mu.Lock()
	s.met = true
	s.mu.Unlock()
	s.touch(0)
}

// touch notes that something came or went.
func (s *Server) touch(busy int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy += busy
	s.last = time.Now()
	close(s.changed)
	s.changed = make(chan struct{})
}

// Close ends everything that is open, as a server that stops does, and waits until
// nothing is at work any more.
func (s *Server) Close() {
	s.stop() // first: who waits for a client that does not read may hold the lock
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	for _, session := range s.Sessions() {
		session.end()
	}
	s.working.Wait()
	for _, session := range s.Sessions() {
		session.inbox.forget() // the record tells it
		session.log.Append(transcript.Event{Kind: transcript.Close, From: protocol.Server})
	}
}

// work runs something that Close waits for; it reports false when it is too late.
func (s *Server) work(do func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.working.Go(do)
	return true
}

const (
	// maxSessions bounds the sessions of one server: many more than a scenario needs.
	// Over stdio each is a process.
	maxSessions = 24
	// maxHandlers bounds what is at work at the same time: a client that asks more at
	// once is held up.
	maxHandlers = 64
)

// begin begins a session, with what begins one or with something else; nil when there are too
// many.
func (s *Server) begin(begun bool) *Session {
	s.mu.Lock()
	full := len(s.sessions) >= maxSessions
	s.mu.Unlock()
	if full {
		return nil
	}
	session := &Session{Server: s, begun: begun, log: s.options.Log(), streams: transcript.Streams{}}
	session.inbox = newInbox(session.log)
	s.mu.Lock()
	session.Number = len(s.sessions) + 1
	if s.httpSSE {
		session.id = strconv.Itoa(session.Number)
	}
	s.sessions = append(s.sessions, session)
	s.mu.Unlock()
	s.touch(0)
	return session
}

// dispatch takes a message of the client. Its answer, if it has one, goes out
// through the exchange, or over stdio when that is nil.
func (s *Server) dispatch(session *Session, raw []byte, exchange *Exchange) {
	message := jsonrpc.ParseWithin(raw, session.log.Left())
	if flaw, beyond := message.Beyond(); beyond {
		session.log.Crowd()
		session.inbox.finish(fmt.Errorf("%w: it %s", ErrUnreadable, flaw))
	}
	if message.Kind == jsonrpc.Batch && s.Has(protocol.Batches) {
		s.dispatchBatch(session, message, exchange)
		return
	}
	s.take(session, message, exchange)
}

// dispatchBatch takes the messages of a batch. Over HTTP the responses come as events of
// one stream.
func (s *Server) dispatchBatch(session *Session, batch jsonrpc.Message, exchange *Exchange) {
	var messages []jsonrpc.Message
	requests := int32(0)
	for _, raw := range jsonrpc.Elements(batch.Raw, maxReceived) {
		message := jsonrpc.ParseWithin(raw, session.log.Left())
		messages = append(messages, message)
		if message.Kind == jsonrpc.Request {
			requests++
		}
	}
	switch {
	case len(messages) == 0:
		newCall(session, jsonrpc.Message{}, exchange).Reject()
		return
	case exchange != nil && requests == 0:
		exchange.Answer(http.StatusAccepted, nil, nil, "")
	case exchange != nil:
		exchange.owed.Store(requests)
		newCall(session, jsonrpc.Message{}, exchange).Streaming()
	}
	for _, message := range messages {
		carrying := exchange
		if exchange != nil && message.Kind == jsonrpc.Invalid {
			continue // its refusal would belong to no request
		}
		if message.Kind != jsonrpc.Request {
			carrying = nil // no answer needs one
		}
		s.take(session, message, carrying)
	}
}

// take takes a message, alone or of a batch.
func (s *Server) take(session *Session, message jsonrpc.Message, exchange *Exchange) {
	session.learn(message)
	call := newCall(session, message, exchange)
	if !session.inbox.add(Received{Message: message}) {
		if exchange != nil {
			exchange.Cut()
		}
		return // a flood is not answered
	}
	s.mu.Lock()
	s.counts[message.Method]++
	call.Nth = s.counts[message.Method]
	s.mu.Unlock()
	s.touch(1)
	select {
	case s.slots <- struct{}{}:
	case <-s.life.Done():
		s.touch(-1)
		return
	}
	done := func() {
		<-s.slots
		s.touch(-1)
	}
	working := s.work(func() {
		defer done()
		s.handle(call)
		call.conclude()
	})
	if !working {
		done()
	}
}

func (s *Server) handle(call *Call) {
	switch call.Message.Kind {
	case jsonrpc.Request, jsonrpc.Notification:
	case jsonrpc.Response:
		return
	default:
		call.Reject()
		return
	}
	if before := s.Style.Before; before != nil && call.Message.Kind == jsonrpc.Request {
		before(call)
	}
	if do := s.onMessage[call.Message.Method]; do != nil {
		do(call)
		return
	}
	s.Features.handle(call)
}

// ServeHTTP is the endpoint of the server over Streamable HTTP, and both of those over HTTP+SSE.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.guard == nil && isOfAuthorization(r.URL.Path) {
		http.NotFound(w, r)
		return
	}
	incoming, err := transport.NewIncoming(w, r, s.options.Limits)
	if err != nil {
		return // the client has left
	}
	if s.guard != nil && s.guard.serve(w, incoming) {
		return
	}
	session := s.sessionOf(incoming)
	if session == nil {
		panic(http.ErrAbortHandler) // which is a flood
	}
	exchange := &Exchange{Incoming: incoming, Session: session}
	incoming.Piece = s.Style.Piece
	// Before it has an endpoint, a client may try another transport.
	incoming.Aside = s.httpSSE && !session.hadStream()
	incoming.Record(session.log, session.name(r.Method))
	s.opened(1)
	defer s.opened(-1)
	defer context.AfterFunc(s.life, incoming.Cut)()
	if s.onExchange == nil || !s.onExchange(exchange) {
		s.exchange(exchange)
	}
	defer exchange.left()
	incoming.Serve()
}

// isOfAuthorization tells the paths where a client may look for authorization before it says
// anything: no business of a server that has none, nor of the rules.
func isOfAuthorization(path string) bool {
	return strings.HasPrefix(path, "/.well-known/") ||
		slices.Contains([]string{"/authorize", "/token", "/register"}, path)
}

// exchange does what a good server does with an HTTP request.
func (s *Server) exchange(exchange *Exchange) {
	session := exchange.Session
	asked := exchange.Request.Header.Get(SessionHeader)
	switch {
	case exchange.TooLong:
		session.log.Crowd() // there is more room when the scenario runs alone
		exchange.Answer(http.StatusRequestEntityTooLarge, nil, nil, "")
	case s.httpSSE:
		s.exchangeOverHTTPSSE(exchange)
	case asked != "" && (asked != session.ID() || session.Expired()):
		exchange.Answer(
			http.StatusNotFound,
			nil,
			jsonrpc.NewErrorWith(jsonrpc.NullID, sessionUnknown, "Session not found", nil),
			"",
		)
	case exchange.Request.Method == http.MethodPost:
		s.dispatch(session, exchange.Body, exchange)
	case exchange.Request.Method == http.MethodGet && s.Has(protocol.GETStream) && s.Features.Stream:
		if !session.resume(exchange) {
			session.listen(exchange)
		}
	case exchange.Request.Method == http.MethodDelete && s.Has(protocol.Sessions) && session.ID() != "":
		session.Expire()
		exchange.Answer(http.StatusOK, nil, nil, "")
	default:
		exchange.Answer(http.StatusMethodNotAllowed, map[string]string{"Allow": http.MethodPost}, nil, "")
	}
}

// sessionUnknown is a code that servers use beside the status 404, which is what
// counts.
const sessionUnknown = -32001

// sessionOf finds the session that an HTTP request belongs to: that of its session
// id, a new one when it begins one, or else the latest. What comes before the first one
// begins, such as a probe for the stateless era, begins none: it belongs to the
// session that follows. It is nil when there are too many.
func (s *Server) sessionOf(incoming *transport.Incoming) *Session {
	begins, id := s.startOf(incoming)
	s.mu.Lock()
	var latest, named *Session
	for _, session := range s.sessions {
		latest = session
		if id != "" && session.ID() == id {
			named = session
		}
	}
	taken := begins && latest != nil && latest.begun
	if begins && latest != nil {
		latest.begun = true
	}
	s.mu.Unlock()
	switch {
	case named != nil:
		return named
	case latest == nil, taken:
		return s.begin(begins)
	case s.httpSSE && latest.greeted() && jsonrpc.MethodOf(incoming.Body) == "initialize":
		return s.begin(false) // a client that comes back, and tries another transport first
	}
	return latest
}

// startOf tells whether an HTTP request begins a session, by initialize or over HTTP+SSE by the
// stream that it asks for, and otherwise the id of the session that it names.
func (s *Server) startOf(incoming *transport.Incoming) (begins bool, id string) {
	if s.httpSSE {
		return opensStream(incoming.Request), incoming.Request.URL.Query().Get(sessionParameter)
	}
	begins = s.Has(protocol.Handshake) && incoming.Request.Method == http.MethodPost &&
		jsonrpc.MethodOf(incoming.Body) == "initialize"
	return begins, incoming.Request.Header.Get(SessionHeader)
}

// ServeSpawned is the life of the server as a process that the client started.
func (s *Server) ServeSpawned(conn net.Conn) {
	session := s.begin(true) // it is a process
	if session == nil {
		_ = conn.Close() // which is a flood
		return
	}
	s.opened(1)
	defer s.opened(-1)
	session.spawned = transport.NewSpawned(conn, session.log, s.options.Limits)
	session.spawned.Piece = s.Style.Piece
	stop := context.AfterFunc(s.life, func() { _ = session.spawned.Close() })
	defer stop()
	defer func() { _ = session.spawned.Close() }() // it may be closed already
	if s.onStart != nil {
		s.onStart(session)
	}
	for session.readLine() {
		s.touch(0)
	}
	session.gone()
	session.inbox.finish(ErrConnection)
}
