package replay

import (
	"context"
	"encoding/json"
	"errors"
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
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/internal/transport"
	"github.com/mcpconform/mcpconform/internal/wait"
	"github.com/mcpconform/mcpconform/reports"
)

// Options say how recorded clients are played.
type Options struct {
	// Target is the live server.
	Target scripted.Target
	// Replace are texts that stand in what clients say, each with what is said instead.
	Replace [][2]string
	// NoFlow keeps the values that the recorded server chose, beside those that the
	// specification says are taken back.
	NoFlow bool
	// Exact fails where a value is another than the recorded one. Rules say so, or the
	// opposite, for a part of the answers.
	Exact bool
	Rules []Rule
	// Begin makes the record of a connection.
	Begin func(name string) *transcript.Log
}

// Played is what came of it.
type Played struct {
	Steps   []reports.ReplayStep
	Carried []reports.ReplayValue
	Changes []reports.Difference
	Notes   []string
	// Connections are the live ones, a recording each.
	Connections []Connection

	silent int            // waits in a row that ended without what was recorded
	told   map[string]int // other values, by the item that they are of
}

// maxSilent is how many waits in a row may end without what was recorded before the rest is not
// played: each costs a timeout, and a server that is only slow answers one of so many.
const maxSilent = 8

// Connection is the record of a live one.
type Connection struct {
	Name   string
	Header transcript.Header
	Events []transcript.Event
}

// Play plays the clients of recordings to the server, one after the other. An error says that
// the server could not be started or reached.
func Play(ctx context.Context, tapes []*Tape, options Options) (*Played, error) {
	played := &Played{}
	known := newValues(options)
	for at := 0; at < len(tapes) && ctx.Err() == nil; at++ {
		tape := tapes[at]
		if played.silent >= maxSilent {
			played.Notes = append(played.Notes, tape.Name+" is not played: the server answers nothing")
			continue
		}
		ofHidden := func(pair [2]string) bool { return strings.Contains(Hidden, pair[0]) }
		if slices.ContainsFunc(options.Replace, ofHidden) {
			tape.reveal()
		}
		p := &player{Played: played, options: options, tape: tape, values: known}
		if err := p.play(ctx); err != nil {
			return played, err
		}
	}
	played.Carried = known.carried
	return played, nil
}

// player plays one recorded client.
type player struct {
	*Played

	options Options
	tape    *Tape
	values  *values
	client  *scripted.Connection
	started map[*rules.Message]*begun
	order   []*begun
	lost    bool            // nothing more can come of the connection
	closed  bool            // by the client: then it is a race what is answered still
	vain    map[string]bool // what was waited for and did not come: it is not waited for again

	cancelled map[jsonrpc.ID]bool // by the client: then it is a race whether there is an answer

	unasked []string        // methods by which only the live server asks
	heard   map[string]bool // methods of the recorded server: whether they came

	mu       sync.Mutex
	asked    map[*rules.Message]jsonrpc.ID // requests of the recorded server, and under which id the live one has made them
	due      map[*rules.Message]bool       // those that the recorded client has answered by now
	progress chan struct{}                 // closed and replaced when one more is answered
}

// begun is a request that was sent.
type begun struct {
	*rules.Message

	name    string
	at      int // of its step
	pending *scripted.Pending
	sent    time.Time
	settled bool
}

func (p *player) play(ctx context.Context) error {
	to := p.options.Target
	log := p.options.Begin(p.tape.Name)
	client, err := scripted.Dial(to, log)
	if err != nil {
		return err
	}
	p.client, p.started = client, map[*rules.Message]*begun{}
	p.heard, p.vain = map[string]bool{}, map[string]bool{}
	p.readCancelled()
	p.values.expect(p.tape.talk.Messages)
	p.asked, p.due, p.progress = map[*rules.Message]jsonrpc.ID{}, map[*rules.Message]bool{}, make(chan struct{})
	defer func() {
		client.Close(ctx)
		p.Connections = append(p.Connections, p.record(log))
		log.Release()
	}()
	if protocol.Has(p.tape.Revision, protocol.Statelessness) {
		client.Speak(p.tape.Revision, scripted.Nothing())
		p.setVersion(p.tape.Revision)
	}
	p.answerAsRecorded()
	messages := map[int][]*rules.Message{}
	for _, message := range p.tape.talk.Messages {
		messages[message.Event.Sequence] = append(messages[message.Event.Sequence], message)
	}
	for _, event := range p.tape.talk.Events {
		if ctx.Err() != nil {
			return nil
		}
		if p.lost {
			break
		}
		p.event(ctx, event)
		for _, message := range messages[event.Sequence] {
			if err := p.turn(ctx, message); err != nil {
				return err
			}
		}
	}
	for _, one := range p.order {
		if ctx.Err() != nil {
			return nil
		}
		p.settle(ctx, one)
	}
	p.compareMethods(ctx)
	return nil
}

// record is that of the live connection.
func (p *player) record(log *transcript.Log) Connection {
	events := log.Events()
	for position := range events { // the log's room is given back
		events[position].Raw = slices.Clone(events[position].Raw)
	}
	return Connection{
		Name: p.tape.Name, Events: events,
		Header: transcript.Header{
			Transport: p.options.Target.Transport, Grade: transcript.Messages, Dropped: log.OverBudget(),
			Agreement: transcript.Agreement{Revision: p.stateless()},
		},
	}
}

// stateless is the revision where it is agreed on in no handshake.
func (p *player) stateless() string {
	if protocol.Has(p.tape.Revision, protocol.Statelessness) {
		return p.tape.Revision
	}
	return ""
}

func (p *player) setVersion(version string) {
	if protocol.Has(version, protocol.VersionHeader) {
		p.client.SetVersion(version)
	}
}

// event does what the client did beside sending messages.
func (p *player) event(ctx context.Context, event transcript.Event) {
	switch {
	case p.tape.apart[event.Sequence] && p.client.Transport().Exchanges():
		p.exchange(ctx, event)
	case event.Kind == transcript.Signal && event.From == protocol.Client:
		p.client.Close(ctx) // what is answered to that, is received
		p.closed = true
	case event.Kind == transcript.Head && event.From != protocol.Client:
		for _, one := range p.of(event.Stream) {
			p.comes(ctx, one.name, one.pending.Delivery.Head())
		}
	case event.IsClientLeaving():
		for _, one := range p.of(event.Stream) {
			if len(one.Answers) == 0 && !one.settled {
				p.hear(ctx, one)
				one.pending.Delivery.Cut()
				one.settled = true
			}
		}
	}
}

// hear waits until the stream of a request has brought what the recorded one did, of each method
// one message.
func (p *player) hear(ctx context.Context, one *begun) {
	for _, message := range p.tape.talk.Messages {
		if fromClient(message) || message.Event.Stream != one.Event.Stream || message.Kind != jsonrpc.Notification {
			continue
		}
		if p.vain[message.Method] {
			continue
		}
		_, err := p.client.Await(ctx, one.pending.Mark, func(received scripted.Received) bool {
			return received.Method == message.Method && received.Stream == one.pending.Delivery.Stream
		})
		p.waited(one.name, err)
		if err != nil {
			p.vain[message.Method] = true
			return // it is told in the end if it comes nowhere
		}
	}
}

// of are the requests that a stream carries.
func (p *player) of(stream string) []*begun {
	return slices.DeleteFunc(slices.Clone(p.order), func(one *begun) bool { return one.Event.Stream != stream })
}

// exchange plays a request over HTTP that has no message.
func (p *player) exchange(ctx context.Context, event transcript.Event) {
	method := event.HTTP.Method
	header := p.client.HTTP.Header(method)
	p.overlay(header, event.HTTP.Header, method)
	delivery := p.client.HTTP.Exchange(transport.Request{Method: method, Header: header})
	if p.comes(ctx, method, delivery.Head()) {
		p.compareStatus(method, event.Stream, delivery.Status)
	}
}

// comes waits for something of the server.
func (p *player) comes(ctx context.Context, name string, done <-chan struct{}) bool {
	waiting, stop := wait.WithTimeout(ctx, p.client.Patience())
	defer stop()
	select {
	case <-done:
		p.silent = 0
		return true
	case <-waiting.Done():
		if ctx.Err() == nil {
			p.late(name)
		}
		return false
	}
}

// waited tells how a wait for a message ended.
func (p *player) waited(name string, err error) {
	if err == nil {
		p.silent = 0
	} else if _, isLate := errors.AsType[*scripted.LateError](err); isLate {
		p.late(name)
	}
}

// late counts waits in a row that took all their time, and gives up when there were too many, or
// when the server has said nothing in the time that it has to start.
func (p *player) late(name string) {
	p.silent++
	switch {
	case len(p.order) > 0 && p.client.Mark() == 0:
		p.lose(name, "the rest is not played: the server says nothing")
	case p.silent >= maxSilent:
		const text = "the rest is not played: the server left %d waits in a row without an answer"
		p.lose(name, fmt.Sprintf(text, maxSilent))
	}
}

// listen opens a stream for what the server says unasked, where the recorded transport needs none.
// It does so before the server hears that it may begin.
func (p *player) listen(ctx context.Context) {
	if !p.client.Transport().Exchanges() || protocol.Over(p.tape.Transport).Exchanges() {
		return
	}
	_, _ = p.client.Listen(ctx) // a server may have none
}

// turn plays a message. What the server said is waited for where it is the answer to a request.
func (p *player) turn(ctx context.Context, message *rules.Message) error {
	switch {
	case !fromClient(message):
		if request := p.started[message.Request]; message.Request != nil && request != nil && len(request.Answers) > 0 {
			p.settle(ctx, request)
		}
		if message.Kind == jsonrpc.Notification {
			p.hears(ctx, message.Method)
		}
		return nil
	case message.Batch != nil, p.tape.excluded[message.Index].Why != "":
		return nil
	case message.Kind == jsonrpc.Response:
		p.answer(ctx, message)
		return nil
	}
	if message.Method == "notifications/initialized" {
		p.listen(ctx)
	}
	if cursor, unknown := p.values.ungiven(message); unknown {
		p.Notes = append(
			p.Notes,
			fmt.Sprintf("%s: %s with the cursor %s is not played: the live server did not give one",
				p.tape.Name, step(message), shown(cursor)),
		)
		return nil
	}
	raw, isOther := p.values.apply(step(message), message.Raw, p.decoded(ctx, message))
	outgoing := scripted.Outgoing{Raw: raw, Header: p.header(message)}
	if isOther {
		message.Raw = raw
	}
	p.values.sent(message.ParamsObject())
	if message.Kind != jsonrpc.Request || message.ID == jsonrpc.NullID {
		p.deliver(ctx, message, outgoing)
		return nil
	}
	one := p.begin(message)
	one.pending = p.client.StartRaw(ctx, message.ID, message.Method, outgoing, nil)
	return p.unreachable(one)
}

// begin notes a request that is sent now.
func (p *player) begin(message *rules.Message) *begun {
	one := &begun{Message: message, at: len(p.Steps), sent: time.Now()}
	one.name = fmt.Sprintf("%d %s", one.at+1, orWhat(message))
	p.Steps = append(p.Steps, reports.ReplayStep{
		Name: one.name, Recorded: outcomeOf(message).String(), Live: unanswered,
	})
	p.started[message] = one
	p.order = append(p.order, one)
	return one
}

// decoded is a message as a value, also a batch, in which answers have the ids of the live
// server's requests.
func (p *player) decoded(ctx context.Context, message *rules.Message) any {
	if message.Kind != jsonrpc.Batch {
		return message.Object
	}
	value, _ := jsonrpc.Decode(message.Raw)
	elements, _ := value.([]any)
	for _, element := range p.tape.talk.Messages {
		if element.Batch != message || element.Kind != jsonrpc.Response || element.Request == nil {
			continue
		}
		id, asked := p.awaitAsked(ctx, element.Request)
		if !asked || element.Element >= len(elements) {
			continue
		}
		if object, isObject := elements[element.Element].(map[string]any); isObject {
			object["id"] = id
		}
	}
	return value
}

// unreachable tells that the first request of all could not even be sent.
func (p *player) unreachable(one *begun) error {
	if len(p.Steps) > 1 || p.client.Transport().Processes() {
		return nil
	}
	delivery := one.pending.Delivery
	for _, came := range []<-chan struct{}{delivery.Head(), delivery.Done()} { // without a head both at once
		select {
		case <-came:
		case <-time.After(p.options.Target.Reply):
			return nil
		}
		if delivery.Status != 0 {
			return nil
		}
	}
	if failure, is := errors.AsType[*transport.Error](delivery.Err); is && failure.Unconnected() {
		return failure
	}
	return nil
}

// deliver sends what is no request. Of a batch the requests in it are waited for later.
func (p *player) deliver(ctx context.Context, message *rules.Message, outgoing scripted.Outgoing) {
	mark := p.client.Mark()
	delivery := p.client.Deliver(ctx, outgoing)
	if message.Kind == jsonrpc.Batch {
		for _, element := range p.tape.talk.Messages {
			if element.Batch != message || element.Kind != jsonrpc.Request {
				continue
			}
			p.begin(element).pending = p.client.Expect(element.ID, element.Method, mark, delivery)
		}
		return
	}
	switch {
	case !p.comes(ctx, orWhat(message), delivery.Done()):
	case delivery.Err != nil:
		p.lose(orWhat(message), "the connection ended: "+excerpt.OneLine(delivery.Err.Error()))
	default:
		p.compareStatus(orWhat(message), message.Event.Stream, delivery.Status)
	}
}

// statusOf is the status that has come by now; 0 for none.
func statusOf(delivery *scripted.Delivery) int {
	select {
	case <-delivery.Head():
		return delivery.Status
	default:
		return 0
	}
}

// lose tells that the connection is over.
func (p *player) lose(name, why string) {
	if !p.lost && !p.closed {
		p.change(reports.Failing, name, "", why, nil, nil)
	}
	p.lost = true
}

// own are the headers that a replay has of its own.
var own = []string{
	"Host", "Content-Length", "Transfer-Encoding", "Connection", "Authorization", "Cookie", "Accept-Encoding",
	"Proxy-Authorization", "Te", "Trailer", "Upgrade", "Expect", "Keep-Alive", scripted.LastEventID,
}

// header gives a POST the head that it had, where that was recorded.
func (p *player) header(message *rules.Message) func(http.Header) {
	head, there := p.tape.heads[message.Event.Stream]
	if !there || head.HTTP.Method != http.MethodPost || p.tape.Transport != p.options.Target.Transport {
		return nil
	}
	return func(header http.Header) { p.overlay(header, head.HTTP.Header, step(message)) }
}

// overlay makes a head that which was recorded, but for what the live server chose.
func (p *player) overlay(header, recorded http.Header, to string) {
	session, version := header.Get(scripted.SessionHeader), header.Get(scripted.VersionHeader)
	for name := range header {
		if !slices.Contains(own, name) {
			header.Del(name)
		}
	}
	for name, values := range recorded {
		name = http.CanonicalHeaderKey(name)
		if slices.Contains(own, name) {
			continue
		}
		for _, value := range values {
			switch isHidden := strings.Contains(value, Hidden); {
			case name == scripted.SessionHeader && (isHidden || p.tape.sessions[value]):
				value = session
			case name == scripted.VersionHeader && value == p.tape.Revision && version != "":
				value = version
			case isHidden:
				continue
			case strings.HasPrefix(name, "Mcp-"):
				value = p.mirrored(to, value)
			}
			if value != "" || name != scripted.SessionHeader {
				header.Add(name, value)
			}
		}
	}
}

// mirrored is the value of a header, which may repeat a value of the body.
func (p *player) mirrored(to, value string) string {
	text, encoded := transport.DecodedHeaderValue(value)
	if !encoded {
		text = value
	}
	if now := p.values.text(to, true, text); now != text {
		return transport.HeaderValue(now)
	}
	return value
}

// answerAsRecorded has the requests of the server answered by what the client answered.
func (p *player) answerAsRecorded() {
	recorded := map[string][]*rules.Message{}
	for _, message := range p.tape.talk.Messages {
		if !fromClient(message) && message.Kind == jsonrpc.Request {
			recorded[message.Method] = append(recorded[message.Method], message)
		}
	}
	for method, requests := range recorded {
		p.client.Answer(method, func(request scripted.Received) []byte { return p.answerNow(requests, request) })
	}
}

// answerNow finds the request of the recorded server that is like one of the live server: the
// next one with its params, or else the next one, or else the last. It returns what answers it
// if the recorded client had answered by now.
func (p *player) answerNow(requests []*rules.Message, request scripted.Received) []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	left := slices.DeleteFunc(slices.Clone(requests), func(one *rules.Message) bool {
		_, asked := p.asked[one]
		return asked
	})
	if len(left) == 0 {
		return p.answerTo(requests[len(requests)-1], request.ID)
	}
	params := paramsOf(request.Message)
	at := slices.IndexFunc(left, func(one *rules.Message) bool {
		return jsonrpc.Equal(paramsOf(one.Message), params)
	})
	found := left[max(at, 0)]
	p.asked[found] = request.ID
	close(p.progress)
	p.progress = make(chan struct{})
	if !p.due[found] {
		return nil
	}
	return p.answerTo(found, request.ID)
}

// answerTo is what the recorded client answered to a request, for one with another id; nil for
// nothing.
func (p *player) answerTo(request *rules.Message, id jsonrpc.ID) []byte {
	if len(request.Answers) == 0 || request.Answers[0].Object == nil {
		return nil
	}
	answer := maps.Clone(request.Answers[0].Object)
	answer["id"] = id
	if result, there := answer["result"]; there {
		answer["result"] = p.replaced(result)
	}
	raw, err := json.Marshal(answer)
	if err != nil {
		return nil
	}
	return raw
}

// answer answers a request of the live server when the recorded client did.
func (p *player) answer(ctx context.Context, message *rules.Message) {
	request := message.Request
	if request == nil || request.Answers[0] != message {
		p.client.Deliver(ctx, scripted.Outgoing{Raw: message.Raw, Header: p.header(message)})
		return
	}
	if id, asked := p.awaitAsked(ctx, request); asked {
		p.reply(ctx, message, id)
	}
}

// awaitAsked waits until the live server has asked what the recorded one did, and returns under
// which id. When it has not, it is answered at once later.
func (p *player) awaitAsked(ctx context.Context, request *rules.Message) (id jsonrpc.ID, asked bool) {
	waiting, stop := wait.WithTimeout(ctx, p.client.Patience())
	defer stop()
	for {
		p.mu.Lock()
		id, asked = p.asked[request]
		over := asked || waiting.Err() != nil || !p.client.Alive() || p.vain[request.Method]
		p.due[request] = over
		progress := p.progress
		p.mu.Unlock()
		if over {
			p.vain[request.Method] = !asked
			return id, asked
		}
		select {
		case <-progress:
		case <-waiting.Done():
		}
	}
}

// reply answers a request of the live server.
func (p *player) reply(ctx context.Context, message *rules.Message, id jsonrpc.ID) {
	answer := maps.Clone(message.Object)
	answer["id"] = id
	raw, _ := p.values.apply("the answer to "+message.Request.Method, nil, answer)
	if raw == nil {
		raw, _ = json.Marshal(answer) // it was read as JSON
	}
	p.client.Deliver(ctx, scripted.Outgoing{Raw: raw, Header: p.header(message)})
}

// replaced is a result of the client with what the user wants in it. Answers may go out beside
// everything else, so that only what never changes is looked at.
func (p *player) replaced(result any) any {
	fixed := &values{replace: p.options.Replace}
	return fixed.applied("", []string{"result"}, result)
}

// readCancelled reads which requests the client cancels.
func (p *player) readCancelled() {
	p.cancelled = map[jsonrpc.ID]bool{}
	for _, message := range p.tape.talk.Messages {
		if fromClient(message) && message.Method == "notifications/cancelled" {
			p.cancelled[jsonrpc.IDOf(message.ParamsObject()["requestId"])] = true
		}
	}
}

// settle waits for the answer to a request that the recorded one had, and compares it.
func (p *player) settle(ctx context.Context, one *begun) {
	if one.settled {
		return
	}
	one.settled = true
	recorded := outcomeOf(one.Message)
	live := outcome{kind: unanswered}
	if len(one.Answers) > 0 && !p.lost {
		waiting, stop := context.WithCancel(ctx)
		if p.cancelled[one.ID] {
			waiting, stop = wait.WithTimeout(ctx, p.client.Patience())
		}
		answer, err := one.pending.Wait(waiting)
		stop()
		if ctx.Err() != nil {
			return // what would have come is unknown
		}
		live = liveOutcome(answer, err)
		p.Steps[one.at].Took = reports.SecondsOf(time.Since(one.sent))
		if !slices.Contains(p.tape.header.Lacks, transcript.Times) {
			p.Steps[one.at].TookRecorded = reports.SecondsOf(one.Answers[0].Event.At.Sub(one.Event.At))
		}
		switch {
		case errors.Is(err, scripted.ErrConnection), scripted.TooMuch(err):
			p.lose(one.name, "the connection ended: "+excerpt.OneLine(err.Error()))
		case !p.cancelled[one.ID]:
			p.waited(one.name, err)
		}
	} else {
		for _, received := range p.client.Received(one.pending.Mark) {
			if received.Kind == jsonrpc.Response && received.ID == one.ID {
				live = liveOutcome(received, nil)
			}
		}
	}
	p.Steps[one.at].Live = live.String()
	p.compareStatus(one.name, one.Event.Stream, statusOf(one.pending.Delivery))
	p.compare(one, recorded, live)
	if recorded.result != nil && live.result != nil {
		p.values.learn(one.name, recorded.result, live.result)
		p.values.learnPage(one.name, one.Method, recorded.result, live.result)
	}
	if one.Method == "initialize" && live.result != nil {
		p.setVersion(mcp.Text(live.result, "protocolVersion"))
	}
}
