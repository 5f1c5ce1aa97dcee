package session

import (
	"errors"
	"fmt"
	"net/http"
	"slices"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/excerpt"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	. "github.com/mcpconform/mcpconform/internal/offer"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/internal/transport"
)

// AnsweredRequirement is the requirement that a NoReply breaks, and no other.
const AnsweredRequirement = "base.requests.answered"

// Unanswered ends a check that waited in vain for the reply to what it sent: inconclusive,
// since another requirement says that there is one.
func (s *Server) Unanswered(to string, id jsonrpc.ID, err error) {
	if scripted.TooMuch(err) {
		s.t.Inconclusive(
			"no reply to "+to+" could be read: "+err.Error(),
			"let the server send less, or only one message of that size",
		)
	}
	s.needPosted(to, err)
	awaited, reply := s.unreplied(to, id, err)
	s.t.Outcome = Outcome{
		Ending: Inconclusion, Doubtful: awaited != "", Awaited: awaited, NoReply: reply,
		Reason: excerpt.OneLine(fmt.Sprintf("%s got no reply: %s", to, err)),
		Hint:   "fix the failures of " + to + ", or of the message that came instead, first",
	}
	s.tooLate(to, id, err)
	switch {
	case reply != nil:
		s.t.Outcome.Hint = "fix the failure of " + AnsweredRequirement + " first"
	case s.mayTakeLonger(id, err):
		s.t.Outcome.Hint = "if the tool takes longer, raise --timeout (30s allows a call six minutes); " +
			"--call-tools listed calls only what mcpconform.yaml names"
	case to == http.MethodGet:
		s.t.Outcome.Hint = "let the server send the headers of the stream at once, not with its first event"
	}
	s.t.End()
}

// needPosted makes a check inconclusive whose message could not be sent, for want of an endpoint.
func (s *Server) needPosted(what string, err error) {
	if unposted, is := errors.AsType[*scripted.UnpostedError](
		err,
	); is &&
		!errors.Is(err, transport.ErrRefused) { // a server that is gone refuses connections
		s.t.Inconclusive(what+" could not be posted: "+unposted.Error(), UnpostedHint(err))
	}
}

// UnpostedHint says what helps where a stream brought no endpoint to post to.
func UnpostedHint(err error) string {
	if errors.Is(err, scripted.ErrOtherHost) {
		return "let the endpoint event name a path, or the host at which the stream is opened"
	}
	return "fix the failures of transports.sse.stream and transports.sse.endpoint-event first"
}

// unreplied says what was waited for in vain, in the same words for all checks; "" where
// something came in its place, which rules judge, so that time has no part in it.
// There is no finding where something else judges that a reply comes.
func (s *Server) unreplied(to string, id jsonrpc.ID, err error) (awaited string, reply *NoReply) {
	switch {
	case s.env.Role == protocol.AuthorizationServerRole:
		return to, nil // no requirement says that it answers
	case errors.Is(err, scripted.ErrNoAnswer) || hasStray(s.Log().Events()):
		return "", nil
	case to == http.MethodGet:
		return to, nil // a stream that has nothing to say may not have sent its head
	}
	exchange, judged := s.since(id)
	at := slices.IndexFunc(exchange, func(event transcript.Event) bool { return event.Sequence == judged })
	switch {
	case at >= 0 && exchange[at].Deliberate != "":
		return to + " that " + exchange[at].Deliberate, nil // what becomes of what is illegal is for the check
	case s.mayTakeLonger(id, err):
		return to, nil
	case to == s.env.AlwaysServed() && (s.env.NoBarrier() != "" || s.env.Barrier() != to):
		return to, nil // there is a requirement that it is answered, too
	}
	return to, &NoReply{
		To:          to,
		Found:       excerpt.OneLine(err.Error()),
		Exchange:    exchange,
		Judged:      judged,
		Undelivered: errors.Is(err, transport.ErrRefused),
	}
}

// mayTakeLonger tells whether the request is the call of a tool that may take longer than the
// wait, on a connection that goes on: no page says by when a tool has to be done. A tool that
// was named, or has answered before, is expected to answer in time.
func (s *Server) mayTakeLonger(id jsonrpc.ID, err error) bool {
	tool := calledBy(s.Log().Events(), id)
	return errors.Is(err, scripted.ErrTimeout) && tool != "" &&
		!s.env.Named(Provocation{Tool: tool}) && !slices.Contains(s.env.Answering, tool)
}

// calledBy is the tool that the request with an id calls; "" where it calls none.
func calledBy(events []transcript.Event, id jsonrpc.ID) string {
	for _, event := range slices.Backward(events) {
		if event.Kind != transcript.Message || event.From != protocol.Client {
			continue
		}
		if sent := jsonrpc.Parse(event.Raw); sent.ID == id {
			params, _ := sent.Params().(map[string]any)
			name, _ := params["name"].(string)
			if sent.Method != "tools/call" || event.Deliberate != "" {
				return ""
			}
			return name
		}
	}
	return ""
}

// hasStray tells whether the server sent something in the place of a response: no message,
// a batch, or a response without an outcome, or with an id that no request has.
func hasStray(events []transcript.Event) bool {
	asked := map[jsonrpc.ID]bool{}
	for _, event := range events {
		if !event.IsContent() {
			continue
		}
		switch message := jsonrpc.Parse(event.Raw); {
		case event.From == protocol.Client:
			asked[message.ID] = true
		case message.Kind == jsonrpc.Invalid,
			message.Kind == jsonrpc.Batch,
			message.Kind == jsonrpc.Response && (message.ID == jsonrpc.NullID || !asked[message.ID]):
			return true
		}
	}
	return false
}

// since returns what happened on the connection from a request on, or at the end of it
// when the request is not known, as much as a report shows; and where the request is.
func (s *Server) since(id jsonrpc.ID) (shown []transcript.Event, judged int) {
	const most = 12 // two screens of a terminal at the worst
	events := s.Log().Events()
	at := len(events) - 1
	for position, event := range slices.Backward(events) {
		if event.Kind == transcript.Message && event.From == protocol.Client && jsonrpc.Parse(event.Raw).ID == id {
			at = position
			break
		}
	}
	if at < 0 {
		return nil, -1
	}
	from := max(0, at-rules.LeadingMessages)
	if to := from + most; to < len(events) {
		shown = slices.Concat(events[from:min(at+most/2, to)], events[max(at+most/2, len(events)-most/3):])
	} else {
		shown = slices.Clone(events[from:])
	}
	for index := range shown {
		shown[index] = shown[index].Cut(rules.MaxShown)
	}
	return shown, events[at].Sequence
}

// taken is a reply as the check takes it: it is about this one, until it takes another.
func taken(t *T, received scripted.Received) Reply {
	reply := Reply{Received: received}
	t.Judging(reply)
	return reply
}

// judgeError fails the check by an error that came in the place of what was wanted.
func judgeError(t *T, wanted string, err error) {
	t.Outcome.Judged = scripted.PlaceOf(err)
	t.Observe()
	t.Judge(Mismatch{Wanted: wanted, Found: err.Error()})
}

// Status is an HTTP response that came in the place of a message.
type Status struct{ Response *scripted.StatusError }

// Describe says in words what the response is.
func (s Status) Describe() string { return s.Response.Error() }

// Place is where the response stands in the transcript.
func (s Status) Place() transcript.Place { return s.Response.At }

// NeedMessage waits for a message of the server, from a mark on, that the check needs
// and is not about: another one judges that it does not come.
func (s *Server) NeedMessage(
	mark int,
	match func(scripted.Received) bool,
	missing, hint string,
) scripted.Received {
	received, err := s.Connection.Await(s.t, mark, match)
	if err != nil {
		s.t.Outcome.Doubtful = true
		s.tooLate("", jsonrpc.NoID, err)
		s.t.Inconclusive(missing+": "+err.Error(), hint)
	}
	return taken(s.t, received).Received
}

// unavailable tells the statuses by which a server, or a proxy in front of it, turns a client
// away independent of the request (RFC 9110, section 15; RFC 6585, section 4).
func unavailable(status int) bool {
	return overloaded(status) || status == http.StatusUnauthorized || status == http.StatusProxyAuthRequired
}

// overloaded tells those by which it does so for a while.
func overloaded(status int) bool {
	return slices.Contains([]int{
		http.StatusRequestTimeout, http.StatusTooManyRequests,
		http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout,
	}, status)
}

// turnedAway ends a check whose request was not looked at.
func (s *Server) turnedAway(method string, err error) {
	s.t.Outcome = turnedAway(method, err.Error())
	s.t.End()
}

func turnedAway(what, found string) Outcome {
	return Outcome{
		Ending:   Inconclusion,
		Doubtful: true,
		Reason:   excerpt.OneLine(fmt.Sprintf("%s was rejected: %s", what, found)),
		Hint:     "check whether the server limits the rate of requests or requires a token; --workers 1 sends fewer requests at once",
	}
}

// limited tells whether a target said that it was asked too often: what it did then shows
// nothing else of it.
func limited(exchanges [][]transcript.Event) bool {
	return slices.ContainsFunc(slices.Concat(exchanges...), func(event transcript.Event) bool {
		return event.Kind == transcript.Head && event.From != protocol.Client && event.HTTP != nil &&
			event.HTTP.Status == http.StatusTooManyRequests
	})
}

// Missing judges that something did not come that the server had to send by itself.
func Missing(t *T, wanted string, err error) {
	if len(runningOf(t).servers) > 0 && t.Outcome.Late == nil {
		runningOf(t).servers[len(runningOf(t).servers)-1].tooLate("", jsonrpc.NoID, err)
	}
	missing(t, wanted, err, true)
}

// missing does so. What came in its place shows that time had no part in it: that is no
// doubt.
func missing(t *T, wanted string, err error, doubtful bool) {
	if scripted.TooMuch(err) {
		t.Inconclusive("wanted "+wanted+": "+err.Error(), "let the server send less, or only one message of that size")
	}
	t.Outcome.Doubtful = doubtful
	judgeError(t, wanted, err)
}
