// Page basic/transports, "Session Management", until 2025-11-25: what ties HTTP
// requests together.

package server

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Bounds of sessions over HTTP.
const (
	maxSessions  = 1024 // then the one that is idle for longest gives way
	maxListeners = 16   // GET streams of one session that are open at the same time
	maxRetired   = 32   // closed streams of one session that can still be resumed
	maxBacklog   = 256  // messages of one session that wait for a GET stream
)

// inSession takes one message of a session, or the one that begins it.
func (h *streamableHTTP) inSession(w http.ResponseWriter, r *http.Request, m message, malformed *rpcError) *refusal {
	if refused := h.checkVersion(r); refused != nil {
		return refused
	}
	starts := malformed == nil && m.kind == request && m.method == "initialize" && r.Header.Get(sessionHeader) == ""
	if starts {
		return h.initialize(w, r, m)
	}
	if malformed != nil && r.Header.Get(sessionHeader) == "" {
		return notUnderstood(w, h.revisionOf(r), m, malformed)
	}

	s, refused := h.enter(r)
	if refused != nil {
		return refused
	}
	defer h.leave(s)
	switch {
	case malformed != nil:
		return notUnderstood(w, s.speaks(), m, malformed)
	case m.kind == request:
		s.answer(w, r, m)
	default:
		s.take(m)
		w.WriteHeader(http.StatusAccepted)
	}
	return nil
}

// checkVersion refuses a version that this server does not speak.
func (h *streamableHTTP) checkVersion(r *http.Request) *refusal {
	if version, sent := header(r, versionHeader); sent && !h.server.supports(version) {
		return refuse(http.StatusBadRequest, "the MCP-Protocol-Version %q is not supported, only %s",
			version, strings.Join(h.server.handshake, " and "))
	}
	return nil
}

// revisionOf is the revision of a request outside any session.
func (h *streamableHTTP) revisionOf(r *http.Request) string {
	if version, sent := header(r, versionHeader); sent {
		return version
	}
	return h.server.newest()
}

// initialize starts a session, unless the request fails.
func (h *streamableHTTP) initialize(w http.ResponseWriter, r *http.Request, m message) *refusal {
	s := h.newHTTPSession()
	s.user = userOf(r)
	stream := s.newStream()
	s.begin(m, stream)
	answer, _ := stream.onlyMessage() // initialize sends nothing else
	if s.agreed() == "" {
		s.end()
	} else if refused := h.keep(s); refused != nil {
		s.end()
		return refused
	} else {
		w.Header().Set(sessionHeader, s.id)
	}
	writeJSON(w, http.StatusOK, answer)
	return nil
}

// get lets the client listen: anew, or where it was interrupted.
func (h *streamableHTTP) get(w http.ResponseWriter, r *http.Request) *refusal {
	if !accepts(r, eventStreamMedia) {
		return refuse(http.StatusNotAcceptable, "the Accept header of a GET must list %s", eventStreamMedia)
	}
	s, refused := h.enter(r)
	if refused != nil {
		return refused
	}
	defer h.leave(s)
	lastEventID, resumes := header(r, "Last-Event-Id")
	if !resumes {
		return s.listen(w, r, s.newStream(), 0, s.atLeast(Revision20251125))
	}
	name, after, valid := readEventID(lastEventID)
	s.streams.Lock()
	stream, known := s.open[name]
	listens := known && stream.listens
	s.streams.Unlock()
	if !valid || !known || !stream.remembers(after) {
		return refuse(http.StatusBadRequest, "the Last-Event-ID %q is not, or no longer, known in this session",
			lastEventID)
	}
	if listens {
		return s.listen(w, r, stream, after, false)
	}
	stream.serve(r.Context(), w, after, false)
	return nil
}

// delete ends the session.
func (h *streamableHTTP) delete(w http.ResponseWriter, r *http.Request) *refusal {
	s, refused := h.enter(r)
	if refused != nil {
		return refused
	}
	h.mu.Lock()
	delete(h.sessions, s.id)
	h.mu.Unlock()
	s.end()
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// An httpSession is a session with the event streams over which it is read.
type httpSession struct {
	*session
	id     string
	user   string      // whose it is; "" without authorization
	idle   *time.Timer // ends the session; stopped while it is in use
	users  int         // HTTP requests under way; guarded by streamableHTTP.mu
	unused time.Time   // since when there are none; guarded likewise

	streams    sync.Mutex
	ended      bool
	lastStream int
	open       map[string]*eventStream // all that can be read or resumed, by id
	listeners  []*eventStream          // those that a GET is reading, newest last
	retired    []*eventStream          // those that are kept only to be resumed, oldest first
	backlog    [][]byte                // unrelated messages that wait for a listener
}

func (h *streamableHTTP) newHTTPSession() *httpSession {
	s := &httpSession{id: h.newID(), open: map[string]*eventStream{}}
	s.session = h.server.newSession((*unrelatedOutlet)(s), s.hasListener)
	h.mu.Lock()
	defer h.mu.Unlock()
	s.idle = time.AfterFunc(h.server.options.SessionIdle, func() { h.expire(s) })
	return s
}

// expire ends a session that was idle for too long, unless it is in use again.
func (h *streamableHTTP) expire(s *httpSession) {
	h.mu.Lock()
	unused := h.sessions[s.id] == s && s.users == 0
	if unused {
		delete(h.sessions, s.id)
	}
	h.mu.Unlock()
	if unused {
		s.logf("nobody uses it any more")
		s.end()
	}
}

// end stops everything that runs in the session, and closes its streams.
func (s *httpSession) end() {
	s.idle.Stop()
	s.stop()
	s.running.Wait()
	s.streams.Lock()
	s.ended = true // streams that are opened from now on are closed at once
	streams := slices.Collect(maps.Values(s.open))
	s.streams.Unlock()
	for _, stream := range streams {
		stream.close()
	}
	s.logf("ended")
}

// keep makes the session known. When there are too many, the one that is
// unused for longest must go.
func (h *streamableHTTP) keep(s *httpSession) *refusal {
	h.mu.Lock()
	var oldest *httpSession
	full := h.closed || len(h.sessions) >= maxSessions
	if full && !h.closed {
		for _, other := range h.sessions {
			if other.users == 0 && (oldest == nil || other.unused.Before(oldest.unused)) {
				oldest = other
			}
		}
	}
	if oldest != nil {
		delete(h.sessions, oldest.id)
		full = false
	}
	if !full {
		h.sessions[s.id] = s
		s.unused = time.Now()
		s.idle.Reset(h.server.options.SessionIdle)
	}
	h.mu.Unlock()
	if full {
		return refuse(http.StatusServiceUnavailable, "there are too many sessions: try again later")
	}
	if oldest != nil {
		oldest.end()
	}
	return nil
}

func (h *streamableHTTP) close() {
	h.mu.Lock()
	h.closed = true
	sessions := h.sessions
	h.sessions = map[string]*httpSession{}
	h.mu.Unlock()
	for _, s := range sessions {
		s.end()
	}
}

// enter finds the session of a request, and keeps it from being idle until
// leave is called.
func (h *streamableHTTP) enter(r *http.Request) (*httpSession, *refusal) {
	if refused := h.checkVersion(r); refused != nil {
		return nil, refused
	}
	id, sent := header(r, sessionHeader)
	if !sent {
		return nil, refuse(http.StatusBadRequest, "the header MCP-Session-Id is missing: only initialize goes without")
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	s, known := h.sessions[id]
	if !known || !h.server.guard.owns(r, s.user) { // 404 as well: it does not confirm the id
		return nil, refuse(http.StatusNotFound, "the session has ended, or never was: begin a new one with initialize")
	}
	if version, sent := header(r, versionHeader); sent && version != s.speaks() {
		return nil, refuse(http.StatusBadRequest, "the MCP-Protocol-Version %q is not the negotiated one, which is %s",
			version, s.speaks())
	}
	s.users++
	s.idle.Stop()
	return s, nil
}

func (h *streamableHTTP) leave(s *httpSession) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s.users--
	if s.users == 0 && h.sessions[s.id] == s {
		s.unused = time.Now()
		s.idle.Reset(h.server.options.SessionIdle)
	}
}

// answer handles a request: with JSON when the answer is at hand and nothing
// else is to be said, or else with an event stream.
func (s *httpSession) answer(w http.ResponseWriter, r *http.Request, m message) {
	stream := s.newStream()
	c := s.begin(m, stream)
	if answer, only := stream.onlyMessage(); only && !c.tookTime() {
		s.discard(stream)
		writeJSON(w, http.StatusOK, answer)
		return
	}
	stream.serve(r.Context(), w, 0, s.atLeast(Revision20251125))
}

// newStream opens an event stream.
func (s *httpSession) newStream() *eventStream {
	s.streams.Lock()
	defer s.streams.Unlock()
	s.lastStream++
	var stream *eventStream
	stream = newEventStream(strconv.Itoa(s.lastStream), func() { s.retire(stream) })
	s.open[stream.id] = stream
	stream.closed = s.ended
	return stream
}

// retire keeps a stream that is not in use any more for clients that come
// back to it, and forgets the oldest of these.
func (s *httpSession) retire(stream *eventStream) {
	s.streams.Lock()
	defer s.streams.Unlock()
	if _, open := s.open[stream.id]; !open {
		return
	}
	s.retired = append(without(s.retired, stream), stream)
	if len(s.retired) > maxRetired {
		delete(s.open, s.retired[0].id)
		s.retired = s.retired[1:]
	}
}

// discard forgets a stream that was never read.
func (s *httpSession) discard(stream *eventStream) {
	s.streams.Lock()
	defer s.streams.Unlock()
	delete(s.open, stream.id)
	s.retired = without(s.retired, stream)
}

func without(streams []*eventStream, stream *eventStream) []*eventStream {
	return slices.DeleteFunc(streams, func(other *eventStream) bool { return other == stream })
}

// listen serves a stream of unrelated messages for as long as the client
// listens. It begins with the backlog.
func (s *httpSession) listen(w http.ResponseWriter, r *http.Request, to *eventStream, after int, prime bool) *refusal {
	s.streams.Lock()
	if len(s.listeners) >= maxListeners {
		s.streams.Unlock()
		s.retire(to)
		return refuse(http.StatusTooManyRequests, "the session has %d listening streams already", maxListeners)
	}
	to.listens = true
	s.listeners = append(without(s.listeners, to), to)
	s.retired = without(s.retired, to)
	for _, message := range s.backlog {
		to.send(message)
	}
	s.backlog = nil
	s.streams.Unlock()

	if replaced := to.serve(r.Context(), w, after, prime); replaced {
		return nil
	}
	s.streams.Lock()
	s.listeners = without(s.listeners, to)
	s.streams.Unlock()
	s.retire(to)
	return nil
}

func (s *httpSession) hasListener() bool {
	s.streams.Lock()
	defer s.streams.Unlock()
	return len(s.listeners) > 0
}

// An unrelatedOutlet carries what belongs to no request: over one of the
// streams that a GET is reading. When there is none, it waits for the next.
type unrelatedOutlet httpSession

func (o *unrelatedOutlet) send(message []byte) bool {
	o.streams.Lock()
	defer o.streams.Unlock()
	if n := len(o.listeners); n > 0 {
		return o.listeners[n-1].send(message)
	}
	o.backlog = append(o.backlog, message)
	if len(o.backlog) > maxBacklog {
		o.backlog = o.backlog[1:]
	}
	return true
}

// close does nothing: the streams are closed with the session.
func (o *unrelatedOutlet) close() {}

// disconnect ends the connection over which the call is answered, if it can
// be taken up again: from 2025-11-25 a server may send a client away, once it
// has told it where to resume.
func (c *call) disconnect(retry time.Duration) bool {
	stream, resumable := c.out.(*eventStream)
	if !resumable || !c.atLeast(Revision20251125) {
		return false
	}
	c.takesTime()
	stream.disconnect(retry)
	return true
}
