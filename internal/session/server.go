package session

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/excerpt"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/mcp"
	"github.com/mcpconform/mcpconform/internal/oauth"
	. "github.com/mcpconform/mcpconform/internal/offer"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/internal/survey"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/internal/transport"
	"github.com/mcpconform/mcpconform/internal/wait"
)

// Server is the target server, as a check talks to it: a connection whose
// verbs fail the check when the target does not play its part.
type Server struct {
	*scripted.Connection
	env  *Environment
	t    *T  // the check that uses it
	from int // of the transcript, where the check began
	mark int // of what was received, likewise

	aside         bool     // it fetches documents that are none of the protocol: no rule judges them
	openedByCheck bool     // a check opens it in its own way
	opened        opened   // how, when others may use it
	looksBack     bool     // the check looks at how another one has opened it
	declared      string   // capabilities of its client, in the handshake
	leftBehind    leftover // of the checks until now
	mayLeave      leftover // that this check may leave to others
}

// Began is the mark of what was received when the check began to use the connection.
func (s *Server) Began() int { return s.mark }

// Received returns what was received from a mark on, and never what an earlier check on
// the same connection has brought.
func (s *Server) Received(mark int) []scripted.Received {
	return s.Connection.Received(max(mark, s.mark))
}

// URL is where the target is reached over HTTP.
func URL(t *T) string { return environmentOf(t).Target.URL }

// Contactable tells whether the harness may send something to an address that the target
// named.
func Contactable(t *T, address string) bool { return environmentOf(t).Contactable(address) }

// Hello is the params of an initialize request of a client that offers
// everything.
func Hello(t *T, revision string) Object {
	return scripted.Hello(revision, scripted.Everything(t.Revision()))
}

// Adopt goes on with the revision that the server has answered initialize with.
func (s *Server) Adopt(result Object) {
	if answered, isText := result["protocolVersion"].(string); isText {
		s.SetVersion(answered)
	}
}

// Barrier sends a request that every server answers, and waits for the answer: what
// the server sent because of earlier messages is there by then, save on slower
// streams. A server that does not answer makes the check inconclusive.
func (s *Server) Barrier() {
	NeedBarrier(s.t)
	s.Call(s.env.Barrier(), nil, Once).Must()
}

// slowerStreams is how many round trips what comes on another stream may take longer, and
// the bounds of that.
const (
	slowerStreams = 5
	atLeastSlower = 50 * time.Millisecond
	atMostSlower  = time.Second
)

// BarrierOnAllStreams is a barrier for what comes on any stream: where there may be
// several, it waits a little longer, and the longer the slower the server is. A check that
// demands that nothing came calls it first.
func (s *Server) BarrierOnAllStreams() {
	began := time.Now()
	s.Barrier()
	if s.Transport().Exchanges() {
		s.linger(slowerStreams * time.Since(began))
	}
}

// linger waits for what comes a little later.
func (s *Server) linger(longer time.Duration) {
	select {
	case <-s.t.Done():
	case <-wait.After(s.t, min(max(longer, atLeastSlower), atMostSlower)):
	}
}

// StaysUsable judges that the server still answers, as far as it does at all, and
// returns that answer.
func (s *Server) StaysUsable() Reply {
	NeedBarrier(s.t)
	wanted := "that the server continues to answer (a " + s.env.Barrier() + ")"
	request := s.Call(s.env.Barrier(), nil, Once)
	if err := request.Wait(); err != nil {
		// reported if the server is gone
		_, s.t.Outcome.NoReply = s.unreplied(request.Method, request.ID, err)
		s.t.Outcome.Awaited = s.barrierAwaited()
		s.tooLate(request.Method, request.ID, err)
		Missing(s.t, wanted, err)
	}
	reply := Reply{Received: request.received}
	s.t.DemandOf(reply, isResult(reply), wanted)
	return reply
}

// Survives judges that the server goes on after a request that must not stop it. Whether it
// replies to the request itself, with a result or an error, is looked at afterwards.
func (s *Server) Survives(request *Answer) {
	_ = request.Wait()
	s.StaysUsable()
	request.May()
}

// NeedUsable makes a check inconclusive unless the server still answers, after something
// illegal: whether it has to, other checks judge.
func (s *Server) NeedUsable(hint string) Reply {
	NeedBarrier(s.t)
	received, err := s.Connection.Once(s.t, s.env.Barrier(), nil)
	if err != nil {
		s.t.Outcome.Doubtful, s.t.Outcome.Awaited = true, s.barrierAwaited()
		s.tooLate(s.env.Barrier(), jsonrpc.NoID, err)
		s.t.Inconclusive("the server did not continue: "+err.Error(), hint)
	}
	return Reply{Received: received}
}

// barrierAwaited names what a check has waited for that sent something illegal and then
// waits for the barrier: the same as others after the same.
func (s *Server) barrierAwaited() string {
	var after []string
	for _, event := range s.Log().Since(s.from) {
		if event.Deliberate != "" && !slices.Contains(after, event.Deliberate) {
			after = append(after, event.Deliberate)
		}
	}
	if len(after) == 0 {
		return ""
	}
	return s.env.Barrier() + " after " + strings.Join(after, ", ")
}

func isResult(reply Reply) bool {
	_, refused := reply.Error()
	_, there := reply.Received.Result()
	return there && !refused
}

// CompleteSlow makes the slow call with a progress token, waits for its answer, and a little
// longer: for what was sent before it on another stream, and for the end of a call that began just
// before, which may come just after. A tool of which only the name of an
// argument says that it takes its time has to take it, as one that is over before it can be
// cancelled shows nothing: a delay may be one between retries.
//
// It returns what such a call takes at least: half of what the tool was told to take, or has
// taken, as the machine may have been busy.
func (s *Server) CompleteSlow(token string) (least time.Duration) {
	slowly := Provoking(s.t, "slow")
	begun := time.Now()
	s.Call("tools/call", slowly.Reporting(token)).Need().Result()
	took := time.Since(begun)
	if took < slowly.Told/2 {
		s.t.Inconclusive(
			fmt.Sprintf("%s was told to take %s, and took %s", slowly.Tool, slowly.Told, took.Round(time.Millisecond)),
			ProvocationHint("slow"),
		)
	}
	late := took - cmp.Or(slowly.Told, took) // as the other call may be
	begun = time.Now()
	s.Barrier()
	s.linger(max(slowerStreams*time.Since(begun), late))
	return cmp.Or(slowly.Told, took) / 2
}

// Say sends bytes as they are: the reason says why they are illegal on purpose,
// and is "" for legal ones.
func (s *Server) Say(raw, reason string) *scripted.Delivery {
	return s.Deliver(s.t, scripted.Outgoing{Raw: []byte(raw), Deliberate: reason})
}

// Until waits for a message of the server that matches, from a mark on. Its
// absence is told with the description and fails the check.
func (s *Server) Until(
	mark int,
	description string,
	match func(scripted.Received) bool,
) scripted.Received {
	received, err := s.Connection.Await(s.t, mark, match)
	if err != nil {
		Missing(s.t, description, err)
	}
	s.t.Observe()
	return taken(s.t, received).Received
}

// Notification matches notifications of a method.
func Notification(method string) func(scripted.Received) bool {
	return func(received scripted.Received) bool {
		return received.Kind == jsonrpc.Notification && received.Method == method
	}
}

// ProgressOf matches the progress of a request by its token.
func ProgressOf(token any) func(scripted.Received) bool {
	return func(received scripted.Received) bool {
		params, _ := received.Params().(map[string]any)
		return received.Kind == jsonrpc.Notification && received.Method == "notifications/progress" &&
			params["progressToken"] == token
	}
}

// RequestOf matches requests of a method.
func RequestOf(method string) func(scripted.Received) bool {
	return func(received scripted.Received) bool {
		return received.Kind == jsonrpc.Request && received.Method == method
	}
}

// Sent returns the messages of the server from a mark on that match.
func (s *Server) Sent(mark int, match func(scripted.Received) bool) []scripted.Received {
	var found []scripted.Received
	for _, received := range s.Received(mark) {
		if match(received) {
			found = append(found, received)
		}
	}
	return found
}

// All follows a list to its end and returns its items. A list that cannot be
// had makes the check inconclusive.
func (s *Server) All(method string) []Object {
	items, err := survey.List(s.t, s.Client, method, mcp.ListMember(method))
	if scripted.Lost(err) {
		s.Unanswered(method, jsonrpc.NoID, err)
	}
	if err != nil {
		s.t.Inconclusive(err.Error(), "fix the failures of "+method+" first")
	}
	return items
}

// Response is the answer to an HTTP exchange.
type Response struct{ *scripted.Delivery }

// Describe says in words what the response is.
func (r *Response) Describe() string {
	text := StatusName(r.Status)
	if r.ContentType != "" {
		text += ", " + r.ContentType
	}
	if len(r.Body) > 0 {
		text += ", " + excerpt.Short(r.Body)
	}
	return text
}

// Place is where the response stands in the transcript.
func (r *Response) Place() transcript.Place { return r.At }

// HTTPStatus is that of the response.
func (r *Response) HTTPStatus() int { return r.Status }

// MediaType is that of the body, without parameters.
func (r *Response) MediaType() string { return r.ContentType }

// Challenge is that of the scheme Bearer in a response; a response without one has none.
func (r *Response) Challenge() (challenge oauth.Challenge, found bool, flaws []string) {
	return oauth.Bearer(http.Header(r.Header))
}

// Parameter is a parameter of the Bearer challenge; "" where there is none.
func (r *Response) Parameter(name string) string {
	challenge, _, _ := r.Challenge()
	value, _ := challenge.Get(name)
	return value
}

// DescribeChallenge says in words what challenges a response has.
func (r *Response) DescribeChallenge() string {
	return cmp.Or(strings.Join(http.Header(r.Header).Values("WWW-Authenticate"), ", "), "no WWW-Authenticate header")
}

// Object is the body of a response as a JSON object; nil when it is none.
func (r *Response) Object() Object {
	var object Object
	if json.Unmarshal(r.Body, &object) != nil {
		return nil
	}
	return object
}

// Exchange carries out an HTTP request and waits for its response: for the
// whole of it, or, when it is an event stream, for its head. No response at
// all fails the check. Messages in it are received like all others.
func (s *Server) Exchange(request transport.Request) *Response {
	if s.Transport().SharesStream() {
		return s.Response(s.SSE.Exchange(request))
	}
	return s.Response(s.HTTP.Exchange(request))
}

// Response waits for the response to an exchange that was begun before.
func (s *Server) Response(delivery *scripted.Delivery) *Response {
	patience := s.Patience()
	ctx, cancel := wait.WithTimeout(s.t, patience)
	defer cancel()
	waitFor := delivery.Head()
	for {
		select {
		case <-waitFor:
		case <-ctx.Done():
			s.Unanswered(
				delivery.Carried(),
				jsonrpc.NoID,
				scripted.Late(ctx, patience, delivery.Telling(fmt.Sprintf("no HTTP response within %s", patience))),
			)
		}
		if delivery.ContentType == "text/event-stream" || waitFor == delivery.Done() {
			break
		}
		waitFor = delivery.Done()
	}
	if delivery.ContentType != "text/event-stream" && delivery.Err != nil {
		s.Unanswered(delivery.Carried(), jsonrpc.NoID, delivery.Err)
	}
	if overloaded(delivery.Status) {
		s.turnedAway(delivery.Carried(), delivery.Refusal())
	}
	response := &Response{delivery}
	s.t.Judging(response)
	return response
}

// Body writes a request that a well-behaved client could send now.
func (s *Server) Body(method string, params any) []byte {
	return jsonrpc.NewRequest(s.NextID(), method, s.WithMeta(params))
}

// Post carries out a POST of a body with the headers of a well-behaved client,
// changed by edit.
func (s *Server) Post(body []byte, deliberate string, edit ...HeaderEdit) *Response {
	return s.request("POST", body, deliberate, edit)
}

// Get carries out a GET with the headers of a well-behaved client, changed by
// edit.
func (s *Server) Get(deliberate string, edit ...HeaderEdit) *Response {
	return s.request("GET", nil, deliberate, edit)
}

// Delete carries out a DELETE with the headers of a well-behaved client,
// changed by edit.
func (s *Server) Delete(deliberate string, edit ...HeaderEdit) *Response {
	return s.request("DELETE", nil, deliberate, edit)
}

func (s *Server) request(
	method string,
	body []byte,
	deliberate string,
	edits []HeaderEdit,
) *Response {
	request := transport.Request{Method: method, Body: body, Deliberate: deliberate}
	if s.Transport().SharesStream() {
		request.URL, request.Header = s.SSE.At(method), s.SSE.Header(method)
	} else {
		request.Header = s.HTTP.HeaderOf(method, body)
	}
	request.Header = Edited(request.Header, edits...)
	return s.Exchange(request)
}

// Edited returns a header after some edits, which it changes.
func Edited(header http.Header, edits ...HeaderEdit) http.Header {
	for _, edit := range edits {
		if edit.value == "" {
			header.Del(edit.name)
		} else {
			header.Set(edit.name, edit.value)
		}
	}
	return header
}

// HeaderEdit changes one header of a request.
type HeaderEdit struct{ name, value string }

// WithHeader sets a header.
func WithHeader(name, value string) HeaderEdit { return HeaderEdit{name, value} }

// WithoutHeader leaves a header out.
func WithoutHeader(name string) HeaderEdit { return HeaderEdit{name: name} }

// Handshake begins a session by a client's hello: initialize and
// notifications/initialized. The error tells why there is none although the server
// replied; without a reply the check ends.
func (s *Server) Handshake(hello Object) (scripted.Handshake, error) {
	handshake, err := s.Initialize(s.t, hello)
	status, refused := errors.AsType[*scripted.StatusError](err)
	switch {
	case scripted.Lost(err):
		s.Unanswered("initialize", jsonrpc.NoID, err)
	case refused && unavailable(status.Status):
		s.turnedAway("initialize", err)
	}
	return handshake, err
}

// IsTimeout tells whether an error means that nothing came in time.
func IsTimeout(err error) bool { return errors.Is(err, scripted.ErrTimeout) }
