package scripted

import (
	"maps"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/transport"
	"github.com/mcpconform/mcpconform/internal/wait"
)

// Exchange is an HTTP exchange of a session, with total control of the response.
type Exchange struct {
	*transport.Incoming
	Session *Session

	told atomic.Bool  // a first event
	owed atomic.Int32 // responses to a batch that are still to come
}

// left notes that the exchange is over: with its stream a session of HTTP+SSE is.
func (x *Exchange) left() {
	if x.Session.Server.httpSSE && opensStream(x.Request) {
		x.Session.gone()
		x.Session.inbox.finish(ErrConnection)
	}
}

// LastEventID is where the client wants to resume; "" when it does not.
func (x *Exchange) LastEventID() string { return x.Request.Header.Get(LastEventID) }

// Call is a request or a notification of the client, as the server answers it.
type Call struct {
	Session  *Session
	Message  jsonrpc.Message
	Nth      int       // among the messages of its method, from 1
	Exchange *Exchange // that carries it; nil over stdio, over HTTP+SSE, and for what needs no answer in a batch

	carrier carrier
	mark    int // what the client had sent before

	mu       sync.Mutex
	answered bool
	left     bool
}

// newCall is a call that an exchange carries, or none.
func newCall(session *Session, message jsonrpc.Message, exchange *Exchange) *Call {
	call := &Call{Session: session, Message: message, Exchange: exchange, carrier: exchange, mark: session.Mark()}
	if exchange == nil {
		call.carrier = channel{session}
	}
	return call
}

// Transport is that of the session.
func (c *Call) Transport() protocol.Transport { return c.Session.Transport() }

// Done is closed when the exchange that carries the call is over, also since the client has
// left it; nil where none carries it.
func (c *Call) Done() <-chan struct{} { return c.carrier.Done() }

// AssignSession gives the session an id, which goes out with the answer to initialize, where
// the transport has sessions and the server is to have them.
func (c *Call) AssignSession() {
	if c.Exchange != nil && c.Transport().Sessions() && c.Session.Server.Features.Sessions {
		c.Session.Assign("session-" + strconv.Itoa(c.Session.Number))
	}
}

// Params returns the params, or nil.
func (c *Call) Params() Object {
	params, _ := c.Message.Params().(Object)
	return params
}

// Text returns a member of the params that is a string; "" when it is none.
func (c *Call) Text(name string) string {
	text, _ := c.Params()[name].(string)
	return text
}

// Meta returns the _meta of the params, or nil.
func (c *Call) Meta() Object {
	meta, _ := c.Params()["_meta"].(Object)
	return meta
}

// Has tells whether the revision of the server has a feature.
func (c *Call) Has(feature protocol.Feature) bool { return c.Session.Server.Has(feature) }

// Answer gives the call a result; in the stateless era it is complete unless it
// says otherwise.
func (c *Call) Answer(result Object) { c.Finally(c.Result(result), "") }

// Result writes the response by which Answer gives a result.
func (c *Call) Result(result Object) []byte {
	dressed := Object{}
	if c.Has(protocol.ResultTypes) {
		dressed["resultType"] = "complete"
	}
	maps.Copy(dressed, result)
	if change := c.Session.Server.onResult; change != nil {
		change(c, dressed)
	}
	if add := c.Session.Server.Style.Result; add != nil {
		add(c.Message.Method, dressed)
	}
	return jsonrpc.NewResult(c.Message.ID, dressed)
}

// Text of a result of a tool.
func Text(text string) Object {
	return Object{"content": []any{Object{"type": "text", "text": text}}}
}

// Refuse gives the call an error; data may be nil.
func (c *Call) Refuse(code int64, message string, data any) {
	c.RefuseWith(http.StatusOK, code, message, data)
}

// RefuseWith does so with an HTTP status, where an exchange carries the call whose head is not
// written yet.
func (c *Call) RefuseWith(status int, code int64, message string, data any) {
	raw := jsonrpc.NewErrorWith(c.Message.ID, code, message, data)
	if c.carrier.choosesStatus() {
		c.conclusion(func() { c.carrier.reply(status, nil, raw, "") })
		return
	}
	c.Finally(raw, "")
}

// Reject refuses what is no message.
func (c *Call) Reject() {
	c.carrier.reject(jsonrpc.NewErrorWith(jsonrpc.NullID, jsonrpc.InvalidRequest, "this is not a message", nil))
}

// Finally sends bytes as the answer, and nothing after them. The reason says why
// they are illegal on purpose.
func (c *Call) Finally(message []byte, deliberate string) {
	c.conclusion(func() {
		if deliberate == "" && c.Session.Server.Style.Stream {
			c.Streaming()
		}
		if deliberate == "" && c.resumeLater(message) {
			return
		}
		c.carrier.reply(http.StatusOK, c.begun(), message, deliberate)
	})
}

// begun is the header of the response by which a session begins.
func (c *Call) begun() map[string]string {
	if c.Message.Method == "initialize" && c.Session.ID() != "" {
		return map[string]string{SessionHeader: c.Session.ID()}
	}
	return nil
}

func (c *Call) conclusion(send func()) {
	c.mu.Lock()
	again := c.answered
	c.answered = true
	c.mu.Unlock()
	if !again {
		send()
	}
}

// Leave leaves the call unanswered: over HTTP the exchange stays open.
func (c *Call) Leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.left = true
}

// conclude ends the exchange of a call that was not answered.
func (c *Call) conclude() {
	c.mu.Lock()
	keep := c.left || c.answered
	c.mu.Unlock()
	if !keep {
		c.carrier.over()
	}
}

// Streaming makes the answer an event stream, even if the response alone comes on it.
func (c *Call) Streaming() *Call {
	header := map[string]string{"Content-Type": "text/event-stream", "Cache-Control": "no-store"}
	maps.Copy(header, c.begun())
	c.carrier.stream(header)
	return c
}

// Say sends a message before the answer, on the stream of the call.
func (c *Call) Say(message []byte, deliberate string) bool {
	return c.Streaming().carrier.say(message, deliberate)
}

// Notify sends a notification before the answer, on the stream of the call.
func (c *Call) Notify(method string, params Object) bool {
	return c.Say(jsonrpc.NewNotification(method, nilIfEmpty(params)), "")
}

// Progress tells of progress, if the client has asked for it.
func (c *Call) Progress(progress, total float64) bool {
	token, asked := c.Meta()["progressToken"]
	return asked &&
		c.Notify("notifications/progress", Object{"progressToken": token, "progress": progress, "total": total})
}

// Ask sends a request to the client on the stream of the call, and waits for its
// answer. It reports false when there was none in time. In the stateless era a
// server asks by a result instead.
func (c *Call) Ask(method string, params any) (Received, bool) {
	id := c.Session.NextID()
	mark := c.Session.Mark()
	if !c.Say(jsonrpc.NewRequest(id, method, params), "") {
		return Received{}, false
	}
	return c.Session.AwaitAnswer(ServerRequest{Method: method}, id, mark)
}

// Need answers a call of the stateless era by asking for input: requests by key,
// and a state when it is not "".
func (c *Call) Need(requests Object, state string) {
	result := Object{"resultType": "input_required"}
	if requests != nil {
		result["inputRequests"] = requests
	}
	if state != "" {
		result["requestState"] = state
	}
	c.Answer(result)
}

// Responses are what the client brings in answer to requests for input; nil when
// it brings none.
func (c *Call) Responses() Object {
	responses, _ := c.Params()["inputResponses"].(Object)
	return responses
}

// Await waits for a message of the client that comes after the call, and tells
// whether it came in time.
func (c *Call) Await(match func(Received) bool) bool {
	_, came := c.Session.Until(c.mark, match)
	return came
}

// Sees waits for what the client is to do, for a limited time, and tells whether it came.
func (c *Call) Sees(done <-chan struct{}, most time.Duration) bool {
	ctx, cancel := wait.WithTimeout(c.Session.Server.life, most)
	defer cancel()
	select {
	case <-done:
		return true
	case <-ctx.Done():
		return false
	}
}

// Pause waits, while there is a client: for a server that takes its time.
func (c *Call) Pause(length time.Duration) {
	timer := time.NewTimer(length)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-c.Session.Server.client.Done():
	}
}
