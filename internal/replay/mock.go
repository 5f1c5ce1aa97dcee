package replay

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcpconform/mcpconform/internal/excerpt"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/mcp"
	"github.com/mcpconform/mcpconform/internal/nearest"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/reports"
)

// Mock is the server of recordings, which answers live clients by what it answered then. It is
// safe for concurrent use.
type Mock struct {
	turns []*turn
	tell  func(text string)
	opens bool // over HTTP: a stream for what the server says unasked

	mu        sync.Mutex
	played    map[*turn]bool
	unmatched []string
	lastAsk   int64
	told      map[string]bool
}

// turn is what the client said, and what the server said to it.
type turn struct {
	*rules.Message

	tape   int            // the connection in which it was recorded
	params map[string]any // without _meta
	before []*rules.Message
	answer *rules.Message // nil where none was recorded
	after  []*rules.Message
	status int         // of the answer over HTTP; 0 where none was recorded
	header http.Header // of it
}

// maxUnmatched bounds how many unmatched requests are kept.
const maxUnmatched = 1000

// patience is how long the mock waits for what a client answers to a request of the server,
// which may be a person.
const patience = 2 * time.Minute

// NewMock makes one. It tells what does not match when it happens; tell is called for one text
// at a time.
func NewMock(tapes []*Tape, tell func(text string)) *Mock {
	m := &Mock{played: map[*turn]bool{}, told: map[string]bool{}, tell: tell}
	for position, tape := range tapes {
		for _, one := range turnsOf(tape) {
			one.tape = position
			m.turns = append(m.turns, one)
		}
		for stream, head := range tape.heads {
			if head.HTTP.Method == http.MethodGet && tape.statuses[stream] == http.StatusOK {
				m.opens = true
			}
		}
		m.opens = m.opens || !protocol.Over(tape.Transport).Exchanges()
	}
	m.turns = slices.DeleteFunc(slices.Clone(m.turns), m.cameAgain)
	return m
}

// cameAgain tells whether a request was turned away for want of a token, and came again with one:
// a mock answers it at once, since it asks for no token.
func (m *Mock) cameAgain(away *turn) bool {
	return away.turnedAway() && slices.ContainsFunc(m.turns, func(one *turn) bool {
		return one.Method == away.Method && one.Kind == away.Kind && !one.turnedAway() && alike(one, away.params, false)
	})
}

func (t *turn) turnedAway() bool {
	return t.status == http.StatusUnauthorized || t.status == http.StatusForbidden
}

// turnsOf shares out what the recorded server said among what the client said.
func turnsOf(tape *Tape) (turns []*turn) {
	var open []*turn
	byRequest := map[*rules.Message]*turn{}
	for _, message := range tape.talk.Messages {
		switch {
		case fromClient(message) && message.Kind == jsonrpc.Response, message.Kind == jsonrpc.Batch:
		case fromClient(message):
			one := &turn{
				Message: message, params: paramsOf(message.Message),
				status: tape.statuses[message.Event.Stream], header: tape.replies[message.Event.Stream],
			}
			turns = append(turns, one)
			if message.Kind == jsonrpc.Request {
				byRequest[message] = one
				open = append(open, one)
			}
		case message.Request != nil && byRequest[message.Request] != nil:
			one := byRequest[message.Request]
			switch {
			case len(one.Answers) == 0:
				continue // it was forgotten
			case one.answer != nil:
				one.after = append(one.after, message)
				continue
			}
			one.answer = message
			open = slices.DeleteFunc(open, func(other *turn) bool { return other == one })
		case len(turns) > 0:
			if one := belongs(message, open, tape.Transport); one != nil {
				one.before = append(one.before, message)
			} else {
				last := turns[len(turns)-1]
				last.after = append(last.after, message)
			}
		}
	}
	return turns
}

// belongs finds the request to which something that the server said belongs; nil for none.
func belongs(message *rules.Message, open []*turn, transport string) *turn {
	if token, there := message.ParamsObject()["progressToken"]; there {
		for _, one := range open {
			if own, has := rules.ProgressToken(one.Message); has && jsonrpc.Equal(own, token) {
				return one
			}
		}
	}
	if id, there := message.Meta()[mcp.MetaSubscription]; there {
		for _, one := range open {
			if one.ID == jsonrpc.IDOf(id) {
				return one
			}
		}
	}
	for _, one := range open {
		if one.Event.Stream == message.Event.Stream && protocol.Over(transport).Exchanges() {
			return one
		}
	}
	if len(open) == 1 && !protocol.Over(transport).Exchanges() {
		return open[0] // nothing else ties it to one, over a stream that all share
	}
	return nil
}

// paramsOf are the params of a message without _meta.
func paramsOf(message jsonrpc.Message) map[string]any {
	params := maps.Clone(mcp.Object(message.Params()))
	delete(params, "_meta")
	return params
}

// Unmatched tells of the requests of clients that the recording does not have.
func (m *Mock) Unmatched() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.unmatched)
}

// Played counts the recorded requests that clients have made, and names the others.
func (m *Mock) Played() (played int, missing []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, one := range m.turns {
		switch {
		case one.Kind != jsonrpc.Request:
		case m.played[one]:
			played++
		default:
			missing = append(missing, step(one.Message))
		}
	}
	return played, missing
}

// Steps are the recorded requests that clients have made.
func (m *Mock) Steps() (steps []reports.ReplayStep) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, one := range m.turns {
		if one.Kind == jsonrpc.Request && m.played[one] {
			was := outcomeOf(one.Message).String()
			steps = append(steps, reports.ReplayStep{
				Name: fmt.Sprintf("%d %s", len(steps)+1, step(one.Message)), Recorded: was, Live: was,
			})
		}
	}
	return steps
}

// say tells something once.
func (m *Mock) say(format string, values ...any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	text := fmt.Sprintf(format, values...)
	if !m.told[text] && len(m.told) < maxUnmatched {
		m.told[text] = true
		m.tell(text)
	}
}

// visit is one client of the mock.
type visit struct {
	mock *Mock
	left chan struct{} // closed when the client says nothing more

	used map[*turn]bool // by mock.mu, like tape
	tape int            // the connection whose handshake answered this client's

	mu      sync.Mutex
	waiting map[jsonrpc.ID]chan jsonrpc.Message
}

func (m *Mock) visit() *visit {
	waiting := map[jsonrpc.ID]chan jsonrpc.Message{}
	return &visit{mock: m, left: make(chan struct{}), used: map[*turn]bool{}, waiting: waiting}
}

// answering is what the mock says to one request.
type answering struct {
	*turn

	live jsonrpc.Message
	raw  []byte // in the place of all else, where nothing matches
}

// take takes a message of the client. It returns what answers it; nil for a response.
func (v *visit) take(message jsonrpc.Message) *answering {
	switch message.Kind {
	case jsonrpc.Response:
		v.mu.Lock()
		waiting := v.waiting[message.ID]
		delete(v.waiting, message.ID)
		v.mu.Unlock()
		if waiting != nil {
			waiting <- message
		}
		return nil
	case jsonrpc.Notification:
		return &answering{turn: v.match(message), live: message}
	case jsonrpc.Request:
		found := v.match(message)
		switch {
		case found != nil:
			return &answering{turn: found, live: message}
		case message.Method == "ping":
			return &answering{live: message, raw: jsonrpc.NewResult(message.ID, nil)}
		}
		return &answering{live: message, raw: v.mock.refuse(message)}
	}
	return &answering{live: message, raw: notMessage(message)}
}

// notMessage refuses what is no message.
func notMessage(message jsonrpc.Message) []byte {
	code := int64(jsonrpc.InvalidRequest)
	if _, broken := message.Broken(); broken {
		code = jsonrpc.ParseError
	}
	return jsonrpc.NewError(jsonrpc.NullID, code, "not a message")
}

// match finds what was recorded of such a message, and tells of what is not quite as recorded.
func (v *visit) match(message jsonrpc.Message) *turn {
	params := paramsOf(message)
	for _, loosely := range []bool{false, true} {
		one, again := v.pick(message, params, loosely)
		switch {
		case one == nil:
			continue
		case !again:
			v.tellLoose(one, params)
		case message.Kind == jsonrpc.Request && message.Method != "ping":
			v.mock.say("%s came once more than recorded, and is answered as the last time", step(one.Message))
		}
		return one
	}
	return nil
}

// pick takes what this client has not had yet: in the connection that it plays, in another one
// that no client has had, in any. Handshakes begin with those that no client has had. When there
// is nothing new, it is what came last.
func (v *visit) pick(message jsonrpc.Message, params map[string]any, loosely bool) (found *turn, again bool) {
	v.mock.mu.Lock()
	defer v.mock.mu.Unlock()
	begins := message.Method == "initialize"
	rank := func(one *turn) int {
		own := one.tape == v.tape && !begins
		ranks := []bool{!v.used[one] && own, !v.used[one] && !v.mock.played[one], !v.used[one], own, true}
		return slices.Index(ranks, true)
	}
	const had = 3
	for _, one := range v.mock.turns {
		if one.Method != message.Method || one.Kind != message.Kind || !alike(one, params, loosely) {
			continue
		}
		if found == nil || rank(one) < rank(found) || rank(one) == rank(found) && rank(one) >= had {
			found = one
		}
	}
	if found == nil {
		return nil, false
	}
	again = rank(found) >= had
	v.used[found], v.mock.played[found] = true, true
	if begins {
		v.tape = found.tape
	}
	return found, again
}

// tellLoose tells of a handshake for another revision.
func (v *visit) tellLoose(one *turn, params map[string]any) {
	if was, is := one.params["protocolVersion"], params["protocolVersion"]; one.Method == "initialize" && was != is {
		v.mock.say("initialize asks for the revision %v, and was recorded with %v", is, was)
	}
}

// alike tells whether params are those of a recorded message. What a client says of itself, and
// what a person answered, may be other than recorded.
func alike(one *turn, params map[string]any, loosely bool) bool {
	if one.Method == "initialize" || one.Kind == jsonrpc.Notification && one.Method != "notifications/cancelled" {
		return true
	}
	if one.Kind == jsonrpc.Notification || !loosely {
		return jsonrpc.Equal(one.params, params)
	}
	if one.params["inputResponses"] == nil || params["inputResponses"] == nil {
		return false
	}
	recorded, live := maps.Clone(one.params), maps.Clone(params)
	delete(recorded, "inputResponses")
	delete(live, "inputResponses")
	return jsonrpc.Equal(recorded, live)
}

// refuse tells that the recording has no such request, with the nearest.
func (m *Mock) refuse(message jsonrpc.Message) []byte {
	text := "the recording has no " + described(message) + "; " + m.nearest(message)
	m.mu.Lock()
	if len(m.unmatched) < maxUnmatched {
		m.unmatched = append(m.unmatched, text)
	}
	m.mu.Unlock()
	m.say("%s", text)
	return jsonrpc.NewError(message.ID, jsonrpc.InternalError, "mcpconform replay: "+text)
}

func described(message jsonrpc.Message) string {
	params := paramsOf(message)
	if len(params) == 0 {
		return message.Method
	}
	return message.Method + " " + excerpt.Short([]byte(jsonrpc.Text(params)))
}

// nearest names the recorded request that is most like one, and where they differ first.
func (m *Mock) nearest(message jsonrpc.Message) string {
	var best *turn
	var at, names []string
	method, params := message.Method, paramsOf(message)
	for _, one := range m.turns {
		if one.Kind != jsonrpc.Request {
			continue
		}
		names = append(names, one.Method)
		if one.Method != method {
			continue
		}
		if found := differences(nil, one.params, params); best == nil || len(found) < len(at) {
			best, at = one, found
		}
	}
	switch {
	case best != nil && len(at) > 0:
		return fmt.Sprintf("the nearest, %s, differs at %s", described(best.Message.Message), strings.Join(at, ", "))
	case len(names) == 0:
		return "it has no request"
	}
	return "it has no request of this method" + nearest.Hint(method, names)
}

// differences are where two values differ, as JSON pointers.
func differences(path []string, a, b any) (places []string) {
	was, isObject := a.(map[string]any)
	is, both := b.(map[string]any)
	if !isObject || !both {
		if jsonrpc.Equal(a, b) {
			return nil
		}
		return []string{jsonrpc.Pointer(append([]string{"params"}, path...)...)}
	}
	names := maps.Clone(was)
	maps.Copy(names, is)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		places = append(places, differences(append(slices.Clip(path), name), was[name], is[name])...)
	}
	return places
}

// say says what was recorded up to the answer of a request. When the context is over, nothing is
// waited for that the client says.
func (v *visit) say(ctx context.Context, one *answering, send func([]byte)) {
	switch {
	case one.raw != nil:
		send(one.raw)
		return
	case one.turn == nil:
		return
	}
	v.each(ctx, one, one.before, send)
	if one.answer != nil {
		send(one.dressed(one.answer))
	}
}

// follow says what was recorded behind the answer, and belongs to no request.
func (v *visit) follow(ctx context.Context, one *answering, send func([]byte)) {
	if one.turn != nil {
		v.each(ctx, one, one.after, send)
	}
}

func (v *visit) each(ctx context.Context, one *answering, messages []*rules.Message, send func([]byte)) {
	for _, message := range messages {
		if message.Kind == jsonrpc.Request {
			v.ask(ctx, message, send)
		} else {
			send(one.dressed(message))
		}
	}
}

// dressed is what the server said, with the ids of the live client. All else keeps its bytes.
func (a *answering) dressed(message *rules.Message) []byte {
	raw := message.Raw
	swap := func(is any, path ...string) {
		if text, err := json.Marshal(is); err == nil {
			raw = jsonrpc.Replace(raw, text, path...)
		}
	}
	if message.Request == a.Message && message.ID != a.live.ID {
		swap(a.live.ID, "id")
	}
	own, live := tokenOf(a.Message.Message), tokenOf(a.live)
	if own != nil && live != nil && jsonrpc.Equal(mcp.Value(message.Object, "params", "progressToken"), own) {
		swap(live, "params", "progressToken")
	}
	for _, member := range []string{"params", "result"} {
		of := mcp.Value(message.Object, member, "_meta", mcp.MetaSubscription)
		if of != nil && jsonrpc.IDOf(of) == a.Message.ID {
			swap(a.live.ID, member, "_meta", mcp.MetaSubscription)
		}
	}
	return raw
}

// tokenOf is the progress token of a request; nil for none.
func tokenOf(message jsonrpc.Message) any {
	return mcp.Value(message.Params(), "_meta", "progressToken")
}

// ask asks the client what the recorded server asked, and waits for what it answers.
func (v *visit) ask(ctx context.Context, message *rules.Message, send func([]byte)) {
	v.mock.mu.Lock()
	v.mock.lastAsk++
	id := jsonrpc.StringID(fmt.Sprintf("replay-%d", v.mock.lastAsk))
	v.mock.mu.Unlock()
	text, _ := json.Marshal(id) // a string
	raw := jsonrpc.Replace(message.Raw, text, "id")
	answered := make(chan jsonrpc.Message, 1)
	v.mu.Lock()
	v.waiting[id] = answered
	v.mu.Unlock()
	send(raw)
	if len(message.Answers) == 0 {
		return // nor was it answered then
	}
	select {
	case answer := <-answered:
		_, refused := answer.Error()
		if _, was := message.Answers[0].Error(); was != refused {
			v.mock.say("the client answers %s with %s, and was recorded with %s",
				message.Method, resultOrError(refused), resultOrError(was))
		}
	case <-time.After(patience):
		v.mock.say("the client does not answer %s", message.Method)
	case <-v.left:
	case <-ctx.Done():
	}
}

func resultOrError(refused bool) string {
	if refused {
		return "an error"
	}
	return "a result"
}

// streams tells whether the answer was recorded as an event stream.
func (a *answering) streams() bool {
	if a.turn == nil || a.raw != nil {
		return false
	}
	return len(a.before) > 0 || a.answer == nil || a.answer.Event.SSE != nil
}
