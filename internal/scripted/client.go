// Package scripted is the harness's own end of the wire. A scripted client
// says to a target server exactly what a check tells it to say, legal or not,
// and keeps everything that comes back. It judges nothing.
package scripted

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpconform/mcpconform/internal/excerpt"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/mcp"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/internal/wait"
)

// Client is a scripted client on one connection. Nothing is said on it until
// a method says it, save the answers to the server's requests.
type Client struct {
	log   *transcript.Log
	wire  wire
	inbox *inbox
	reply time.Duration
	start time.Duration // of the first answer, if longer
	work  time.Duration // of the answer to a working request, if longer

	lastID  atomic.Int64
	mu      sync.Mutex
	answers map[string]Answer
	pending map[jsonrpc.ID]asked
	tempo   *Tempo // nil for none
	batches bool   // the server has agreed to a revision with batches

	// Of a client of the stateless era:
	revision     string // that it speaks; "" in the handshake era
	capabilities Capabilities
	mirrored     map[string][]mcp.Mirror // by tool: the arguments that headers repeat
}

// asked is a request that has no answer yet.
type asked struct {
	method string
	at     time.Time
	first  bool // nothing had come before: the target may have been starting
}

// Answer makes the message that answers a request of the server. A nil answer
// leaves the request unanswered.
type Answer func(request Received) []byte

// wire is a transport as the client uses it.
type wire interface {
	transport() protocol.Transport
	// setVersion has what is sent from now on name a version in a header, where there is one.
	setVersion(version string)
	// sessionID is what the server has assigned; "" for nothing.
	sessionID() string
	// send puts one message on the wire. id is that of a request whose answer
	// is to come, else zero.
	send(ctx context.Context, message Outgoing, id jsonrpc.ID) *Delivery
	// answer puts the answer to a request of the server on the wire. It holds up
	// a server that asks and does not take the answers.
	answer(ctx context.Context, message Outgoing)
	// listen opens a stream for what the server sends unasked.
	listen(ctx context.Context) *Delivery
	// quiet is closed when nothing is open any more on which something could come; nil
	// where something always can.
	quiet() <-chan struct{}
	close(ctx context.Context)
}

// Outgoing is a message to send.
type Outgoing struct {
	Raw        []byte
	Deliberate string            // why it is illegal on purpose, if it is
	Piece      int               // written in pieces of so many bytes, over HTTP as chunks; 0: whole
	Header     func(http.Header) // over HTTP: changes the head; nil for not at all
}

// Delivery is what became of a message on the wire. Over stdio that is nothing
// but the write; over HTTP it is the exchange that carried it.
type Delivery struct {
	head chan struct{}
	done chan struct{}
	last <-chan struct{} // closed when it can bring no answer any more; nil over stdio
	cut  context.CancelFunc
	came func() string // how far the answer has come, while it is not there

	carried func() string // what it carries; see Carried

	// Valid when Head is closed.
	Stream      string           // of the transcript
	At          transcript.Place // of the HTTP response
	Status      int              // of the HTTP response; 0 over stdio
	Header      header           // of the HTTP response
	ContentType string           // media type, lower case, without parameters

	// Valid when Done is closed.
	Body   []byte           // of a response that is no event stream
	OfBody transcript.Place // where it stands
	Err    error            // why the exchange or the write failed
}

type header = map[string][]string

func newDelivery() *Delivery {
	done := make(chan struct{})
	nothing := func() string { return "" }
	return &Delivery{head: make(chan struct{}), done: done, last: done, came: nothing, carried: nothing}
}

// Carried names what an HTTP exchange carries: the method of its message, or else that
// of HTTP; "" over stdio.
func (d *Delivery) Carried() string { return d.carried() }

// Head is closed when the response's head is there, or will never be.
func (d *Delivery) Head() <-chan struct{} { return d.head }

// Done is closed when the exchange is over.
func (d *Delivery) Done() <-chan struct{} { return d.done }

// Refused tells, when the exchange is over, whether it was refused: by the
// transport or by an HTTP status.
func (d *Delivery) Refused() error {
	if d.Err != nil {
		return d.Err
	}
	if d.Status != 0 && !d.Accepted() {
		return d.Refusal()
	}
	return nil
}

// Refusal is the HTTP response as an error.
func (d *Delivery) Refusal() *StatusError {
	return &StatusError{At: d.At, Status: d.Status, Header: d.Header, Body: d.Body, OfBody: d.OfBody}
}

// unanswered tells, when the exchange is over, why it brought no answer.
func (d *Delivery) unanswered() error {
	if refused := d.Refused(); refused != nil {
		return refused
	}
	if len(d.Body) > 0 {
		return &InsteadError{At: d.OfBody, text: fmt.Sprintf(
			"%s: HTTP %d with content type %q and the body %s",
			ErrNoAnswer, d.Status, d.ContentType, excerpt.Short(d.Body),
		)}
	}
	return fmt.Errorf("%w: %s, of the content type %q", ErrNoAnswer, d.came(), d.ContentType)
}

// InsteadError is an ErrNoAnswer that knows what came in the place of the answer.
type InsteadError struct {
	At   transcript.Place
	text string
}

func (e *InsteadError) Error() string { return e.text }

// Unwrap is ErrNoAnswer.
func (e *InsteadError) Unwrap() error { return ErrNoAnswer }

// PlaceOf is where what came instead stands in the transcript; zero where nothing came.
func PlaceOf(err error) transcript.Place {
	if status, refused := errors.AsType[*StatusError](err); refused {
		return status.At
	}
	if instead, came := errors.AsType[*InsteadError](err); came {
		return instead.At
	}
	return transcript.Place{}
}

// late says that something did not come in a wait that is over, and what did.
func (d *Delivery) late(over context.Context, patience time.Duration, format string, arguments ...any) error {
	return Late(over, patience, fmt.Sprintf("%s: %s", ErrTimeout, d.Telling(fmt.Sprintf(format, arguments...))))
}

// Late says in words what did not come in a wait that is over, of package wait.
func Late(over context.Context, patience time.Duration, text string) error {
	return &LateError{Waited: patience, Behind: wait.Behind(over), text: text}
}

// LateError is an ErrTimeout that knows of its wait.
type LateError struct {
	Waited time.Duration // as the wait counts
	Behind time.Duration // by which it took longer by the clock: the machine was busy
	text   string
}

func (e *LateError) Error() string { return e.text }

// Unwrap is ErrTimeout.
func (e *LateError) Unwrap() error { return ErrTimeout }

// Telling adds to a sentence what has come so far, when something has.
func (d *Delivery) Telling(sentence string) string {
	if came := d.came(); came != "" {
		return sentence + "; " + came
	}
	return sentence
}

// StatusError is an HTTP response that refuses a message.
type StatusError struct {
	At     transcript.Place
	Status int
	Header header
	Body   []byte
	OfBody transcript.Place
}

func (e *StatusError) Error() string {
	if len(e.Body) == 0 {
		return fmt.Sprintf("HTTP %d without a body", e.Status)
	}
	return fmt.Sprintf("HTTP %d with the body %s", e.Status, excerpt.Short(e.Body))
}

// ErrorInBody reads the JSON-RPC error in the body of a StatusError. It is about the request with the id, or names none.
func ErrorInBody(err error, id jsonrpc.ID) (refusal Received, there bool) {
	status, refused := errors.AsType[*StatusError](err)
	if !refused || transcript.KindOfBody(http.MethodPost, status.Status, status.Body) != transcript.Message {
		return refusal, false
	}
	refusal = Received{Message: jsonrpc.Parse(status.Body), At: status.OfBody}
	_, there = refusal.Error()
	return refusal, there && (refusal.ID == id || refusal.ID == jsonrpc.NoID || refusal.ID == jsonrpc.NullID)
}

// Reasons why no answer came. They are wrapped with what is known beside.
var (
	ErrTimeout    = errors.New("no answer in time")
	ErrNoAnswer   = errors.New("the exchange ended without the answer")
	ErrConnection = errors.New("the connection ended")
	// ErrNoStream is one of time, too: what did not come until then comes no more.
	ErrNoStream = fmt.Errorf("%w: no such message came, and no stream is open for one", ErrTimeout)
)

// newClient wires a client; run starts to fill its inbox.
func newClient(log *transcript.Log, reply time.Duration) *Client {
	return &Client{
		log: log, inbox: newInbox(log), reply: reply,
		answers: map[string]Answer{"ping": Empty},
		pending: map[jsonrpc.ID]asked{},
	}
}

// Empty answers a request with an empty result.
func Empty(request Received) []byte { return jsonrpc.NewResult(request.ID, nil) }

// Result returns an Answer that gives the same result to every request.
func Result(result any) Answer {
	return func(request Received) []byte { return jsonrpc.NewResult(request.ID, result) }
}

// Refusal returns an Answer that refuses every request.
func Refusal(code int64, message string) Answer {
	return func(request Received) []byte { return jsonrpc.NewError(request.ID, code, message) }
}

// Silence leaves requests unanswered.
func Silence(Received) []byte { return nil }

// Log is the record of the connection.
func (c *Client) Log() *transcript.Log { return c.log }

// ReplyTime is how long one answer may take once the target is there.
func (c *Client) ReplyTime() time.Duration { return c.reply }

// Patience is how long the client waits for what is to come next: as long as nothing
// has come on the connection, the target may still be starting.
func (c *Client) Patience() time.Duration { return c.orStart(c.reply) }

func (c *Client) orStart(reply time.Duration) time.Duration {
	if c.inbox.len() == 0 {
		return max(reply, c.start)
	}
	return reply
}

// Answer sets how requests of a method are answered from now on. Requests of a
// method that has no answer are refused as unknown.
func (c *Client) Answer(method string, answer Answer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answers[method] = answer
}

// NextID returns an id that was not used on this connection. Where there are no
// connections, over HTTP in the stateless era, it was used on none.
func (c *Client) NextID() jsonrpc.ID {
	if c.Transport().Exchanges() && c.has(protocol.Statelessness) {
		return jsonrpc.IntID(lastShared.Add(1))
	}
	return jsonrpc.IntID(c.lastID.Add(1))
}

// Pending is a request whose answer has not come yet.
type Pending struct {
	ID       jsonrpc.ID
	Method   string
	Params   any  // as the caller gave them
	Raw      bool // it was sent as bytes of the caller's choice
	Delivery *Delivery
	Mark     int // the messages received before it was sent
	client   *Client
	patience time.Duration // how long the answer may take, as the target may still be starting
	reply    time.Duration // and once it is there
}

// Start sends a request and does not wait.
func (c *Client) Start(ctx context.Context, method string, params any) *Pending {
	return c.StartRaw(ctx, c.NextID(), method, Outgoing{}, params)
}

// StartRaw sends a request with an id of the caller's choice. When message has
// bytes they are sent as they are, otherwise the request is written from
// method and params, dressed as the era wants it.
func (c *Client) StartRaw(ctx context.Context, id jsonrpc.ID, method string, message Outgoing, params any) *Pending {
	isRaw := message.Raw != nil
	if !isRaw {
		message.Raw = jsonrpc.NewRequest(id, method, c.WithMeta(params))
	}
	mark := c.inbox.len()
	pending := c.expect(id, method, mark)
	pending.Params, pending.Raw, pending.Delivery = params, isRaw, c.wire.send(ctx, message, id)
	return pending
}

// Expect has a request waited for that was sent in a batch, when so much had been received.
func (c *Client) Expect(id jsonrpc.ID, method string, mark int, delivery *Delivery) *Pending {
	pending := c.expect(id, method, mark)
	pending.Raw, pending.Delivery = true, delivery
	return pending
}

func (c *Client) expect(id jsonrpc.ID, method string, mark int) *Pending {
	reply := c.tempo.patience(method, c.reply)
	c.mu.Lock()
	c.pending[id] = asked{method: method, at: time.Now(), first: mark == 0}
	c.mu.Unlock()
	patience := c.orStart(reply)
	if slices.Contains(working, method) {
		patience = max(patience, c.work)
	}
	return &Pending{ID: id, Method: method, Mark: mark, client: c, patience: patience, reply: reply}
}

// working are the requests that have a server run code of its author, which may take any time: a
// search, a build, a request to another service.
var working = []string{"tools/call", "prompts/get", "resources/read", "completion/complete", "tasks/result"}

// IsUnhurried tells whether a method is one of those, or is answered when something else is
// done: how long one answer took says nothing of another.
func IsUnhurried(method string) bool {
	return slices.Contains(working, method) || method == "subscriptions/listen"
}

// Wait waits for the answer: a result or an error, both are answers. The error
// tells why there is none.
func (p *Pending) Wait(ctx context.Context) (Received, error) {
	return p.WaitOr(ctx, func(Received) bool { return false })
}

// WaitOr waits for the answer, or for another message since the request that matches.
func (p *Pending) WaitOr(ctx context.Context, match func(Received) bool) (Received, error) {
	comes := func(received Received) bool {
		return received.Kind == jsonrpc.Response && received.ID == p.ID || match(received)
	}
	if p.patience > p.reply {
		isThere := func(received Received) bool { return comes(received) || received.Resembles() }
		received, err := p.within(ctx, p.patience, isThere)
		if err != nil || comes(received) {
			return received, err
		} // or else it has started, and answers in a way of its own
	}
	if p.client.Transport().Exchanges() {
		return p.within(ctx, p.reply, comes) // of which the end tells that no answer comes
	}
	orStray := func(received Received) bool { return comes(received) || p.client.isStray(received, p.ID) }
	received, err := p.within(ctx, p.reply, orStray)
	if err != nil || comes(received) {
		return received, err
	}
	stray := received
	if received, err = p.within(ctx, min(p.reply, behindStray), comes); !errors.Is(err, ErrTimeout) {
		return received, err
	}
	return received, &InsteadError{At: stray.At, text: fmt.Sprintf(
		"what came in place of the answer has the id %s, not %s", stray.ID, p.ID,
	)}
}

// behindStray is how long an answer may take that comes behind a response to nothing.
const behindStray = time.Second

// isStray tells whether what came is a response that has the id of no request, while one request
// alone waits for its answer, and nothing but legal requests was sent.
func (c *Client) isStray(received Received, id jsonrpc.ID) bool {
	c.mu.Lock()
	_, open := c.pending[id]
	alone := open && len(c.pending) == 1
	c.mu.Unlock()
	return alone && answersNothing(received, c.log, protocol.Client, func(sent jsonrpc.Message, legal bool) bool {
		return sent.Kind == jsonrpc.Notification || !legal
	})
}

// answersNothing tells whether what came is a response that has the id of no request that a party
// has sent, and cannot be about anything else that it sent either: a batch, what is no message, or
// what is told by a function.
func answersNothing(
	received Received, log *transcript.Log, party protocol.Party, about func(sent jsonrpc.Message, legal bool) bool,
) bool {
	return received.Kind == jsonrpc.Response && log.Dropped() == 0 &&
		!slices.ContainsFunc(log.Events(), func(event transcript.Event) bool {
			if event.From != party || event.Kind != transcript.Message {
				return false
			}
			sent := jsonrpc.Parse(event.Raw)
			switch sent.Kind {
			case jsonrpc.Batch, jsonrpc.Invalid:
				return true
			case jsonrpc.Request:
				if sent.ID == received.ID {
					return true
				}
			}
			return about(sent, event.Deliberate == "")
		})
}

// within waits so long for a message that matches.
func (p *Pending) within(ctx context.Context, patience time.Duration, match func(Received) bool) (Received, error) {
	ctx, cancel := wait.WithTimeout(ctx, patience)
	defer cancel()
	received, err := p.client.inbox.await(ctx, p.Mark, match, p.Delivery.last)
	switch {
	case err == nil:
		return received, nil
	case errors.Is(err, errOtherwise):
		return Received{}, p.Delivery.unanswered()
	case errors.Is(err, context.DeadlineExceeded):
		return Received{}, p.Delivery.late(ctx, patience, "%s was not answered within %s", p.Method, patience)
	}
	return Received{}, err
}

// Resembles tells whether what came was meant for an answer to something: it is a
// response, or bytes that look like a piece of one. A line for people is none.
func (r Received) Resembles() bool {
	switch r.Kind {
	case jsonrpc.Response:
		return true
	case jsonrpc.Request, jsonrpc.Notification:
		return false
	}
	return bytes.Contains(r.Raw, []byte(`"result"`)) || bytes.Contains(r.Raw, []byte(`"error"`))
}

// Call sends a request and waits until it is settled: for its answer, and for that
// to the next attempt as long as the server asks for input.
func (c *Client) Call(ctx context.Context, method string, params any) (Received, error) {
	return c.Start(ctx, method, params).Settle(ctx)
}

// Once sends a request and waits for its answer, also when that asks for input.
func (c *Client) Once(ctx context.Context, method string, params any) (Received, error) {
	return c.Start(ctx, method, params).Wait(ctx)
}

// Notify sends a notification and waits until it is delivered.
func (c *Client) Notify(ctx context.Context, method string, params any) error {
	return c.Send(ctx, Outgoing{Raw: jsonrpc.NewNotification(method, params)})
}

// Send sends anything that no answer is expected to, and waits until it is
// delivered: written, over stdio; accepted, over HTTP.
func (c *Client) Send(ctx context.Context, message Outgoing) error {
	patience := c.Patience()
	delivery := c.Deliver(ctx, message)
	ctx, cancel := wait.WithTimeout(ctx, patience)
	defer cancel()
	select {
	case <-delivery.done:
		return delivery.Refused()
	case <-ctx.Done():
		return delivery.late(ctx, patience, "the message was not accepted within %s", patience)
	}
}

// Deliver sends anything and does not wait.
func (c *Client) Deliver(ctx context.Context, message Outgoing) *Delivery {
	return c.wire.send(ctx, message, jsonrpc.NoID)
}

// Listen opens the stream on which the server may send unasked, where the
// transport has one: the GET stream of Streamable HTTP. It waits for the
// response's head; a server that offers none answers 405.
func (c *Client) Listen(ctx context.Context) (*Delivery, error) {
	patience := c.Patience()
	delivery := c.StartListening(ctx)
	ctx, cancel := wait.WithTimeout(ctx, patience)
	defer cancel()
	select {
	case <-delivery.head:
		return delivery, delivery.headRefused(ctx, patience)
	case <-ctx.Done():
		return delivery, delivery.late(ctx, patience, "GET was not answered within %s", patience)
	}
}

// headRefused tells whether the head refuses; the body may still be coming.
func (d *Delivery) headRefused(ctx context.Context, patience time.Duration) error {
	if d.Status != 0 && d.Status <= 299 {
		return nil
	}
	select {
	case <-d.done:
		return d.Refused()
	case <-ctx.Done():
		return d.late(ctx, patience, "HTTP %d has no end", d.Status)
	}
}

// StartListening opens the stream as Listen does, and does not wait.
func (c *Client) StartListening(ctx context.Context) *Delivery { return c.wire.listen(ctx) }

// Mark returns a position in what was received, for Await.
func (c *Client) Mark() int { return c.inbox.len() }

// Await waits for a message that matches, from a mark on, for as long as one can come. Over
// HTTP who calls it has sent everything before that is to bring the message.
func (c *Client) Await(ctx context.Context, mark int, match func(Received) bool) (Received, error) {
	patience := c.Patience()
	ctx, cancel := wait.WithTimeout(ctx, patience)
	defer cancel()
	for {
		received, err := c.inbox.await(ctx, mark, match, c.wire.quiet())
		switch {
		case errors.Is(err, context.DeadlineExceeded):
			return received, Late(
				ctx,
				patience,
				fmt.Sprintf("%s: no such message within %s", ErrTimeout, patience),
			)
		case !errors.Is(err, errOtherwise):
			return received, err
		case closed(c.wire.quiet()): // nor was anything opened meanwhile
			return received, ErrNoStream
		}
	}
}

// Received returns what was received from a mark on.
func (c *Client) Received(mark int) []Received { return c.inbox.since(mark) }

// Transport is that of the connection.
func (c *Client) Transport() protocol.Transport { return c.wire.transport() }

// Session returns the session id that the server assigned, or "".
func (c *Client) Session() string { return c.wire.sessionID() }

// SetVersion has what is sent from now on name a version in the header MCP-Protocol-Version;
// "" has it name none. Over HTTP with SSE only those versions are named that have the header;
// over stdio there is none.
func (c *Client) SetVersion(version string) { c.wire.setVersion(version) }

// Alive tells whether the connection can still bring something.
func (c *Client) Alive() bool { return c.inbox.ended() == nil }

// Weight is how many bytes of memory what was received takes.
func (c *Client) Weight() int { return c.inbox.weighs() }

// Forget lets go of what was received. The record of the connection has it.
func (c *Client) Forget() { c.inbox.forget() }

// Idle tells whether no request of the client is unanswered.
func (c *Client) Idle() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.pending) == 0
}

// Close ends the connection in the way that the specification asks for and
// stops everything that it started.
func (c *Client) Close(ctx context.Context) {
	c.wire.close(ctx)
}

// read reads a message, as far as there is room for what it holds.
func (c *Client) read(raw []byte) jsonrpc.Message { return jsonrpc.ParseWithin(raw, c.log.Left()) }

// take keeps what came and answers it if it is a request. Behind a batch come the messages
// in it, where the revision has batches.
func (c *Client) take(ctx context.Context, received Received) {
	c.takeOne(ctx, received)
	c.mu.Lock()
	unpacked := received.Kind == jsonrpc.Batch && c.batches
	c.mu.Unlock()
	if !unpacked {
		return
	}
	for _, raw := range jsonrpc.Elements(received.Raw, maxReceived) {
		element := received
		element.Message = c.read(raw)
		c.takeOne(ctx, element)
	}
}

func (c *Client) takeOne(ctx context.Context, received Received) {
	if flaw, beyond := received.Beyond(); beyond {
		c.log.Crowd()
		c.inbox.finish(fmt.Errorf("%w: it %s", ErrUnreadable, flaw))
		return
	}
	if received.Kind == jsonrpc.Response { // first: who gets the answer finds the client idle
		c.mu.Lock()
		request, there := c.pending[received.ID]
		if there && !request.first {
			c.tempo.note(request.method, time.Since(request.at))
		}
		if request.method == "initialize" {
			if result, agreed := received.Result(); agreed {
				c.batches = protocol.Has(mcp.Text(result, "protocolVersion"), protocol.Batches)
			}
		}
		delete(c.pending, received.ID)
		c.mu.Unlock()
	}
	if !c.inbox.add(received) {
		return // a flood is not answered
	}
	if received.Kind != jsonrpc.Request || received.ID == jsonrpc.NullID || !c.has(protocol.ServerRequests) {
		return // a client of the stateless era sends no responses
	}
	c.mu.Lock()
	answer, known := c.answers[received.Method]
	c.mu.Unlock()
	if !known {
		answer = Refusal(jsonrpc.MethodNotFound, "this client does not offer "+received.Method)
	}
	if raw := answer(received); raw != nil {
		c.wire.answer(ctx, Outgoing{Raw: raw})
	}
}
