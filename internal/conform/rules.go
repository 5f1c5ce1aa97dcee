package conform

import (
	"bytes"
	"context"
	"crypto/sha256"
	"net/http"
	"regexp"
	"slices"
	"sync"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/schema"
)

// Rule is a check on any transcript, whatever provoked it. It judges what the
// target sent; what the harness sent is only there to be answered.
type Rule struct {
	// Text is the behaviour, in the present tense: "answers each request once".
	Text string
	// Requirements are those that the rule verifies; the first names it.
	Requirements []string
	// Role is that of the only targets that the rule is for; "" for both.
	Role string
	// Judge looks at one conversation. It calls Saw for every message that
	// could have broken the rule, and Break for each that did: a rule that saw
	// nothing in any conversation is skipped, not passed.
	Judge func(conversation *Conversation, sight *Sight)
}

// For tells whether the rule is for targets of a role.
func (r Rule) For(role string) bool { return r.Role == "" || r.Role == role }

// Conversation is the transcript of one closed connection, as rules read it.
type Conversation struct {
	// Leg is the one whose rules judge it: of the revision that was negotiated.
	Leg
	// Negotiated tells that a handshake has ended at a revision that was released.
	Negotiated bool
	Events     []transcript.Event
	Messages   []*Said // of both sides, in the order of the transcript
	// Complete is false when something was too much to keep: then the absence
	// of a message shows nothing.
	Complete bool
	Schema   *schema.Schema
	// ClientCapabilities and ServerCapabilities are what both declared in the
	// handshake; nil when it did not take place. In the stateless era the client
	// declares anew with each request (ClientDeclared), and the server in answer
	// to server/discover, here or when it was first met.
	ClientCapabilities, ServerCapabilities Object
	// Tools are those that the target server listed when it was first met.
	Tools []Object
}

// Said is one message of a conversation.
type Said struct {
	jsonrpc.Message
	Event   transcript.Event
	Index   int     // in Messages
	Request *Said   // of a response: the request that it answers, if there is one
	Answers []*Said // of a request: its answers, in order
}

// FromTarget tells whether the target sent the message.
func (s *Said) FromTarget(leg Leg) bool {
	return string(s.Event.From) == leg.Role
}

// ResultObject returns the result of a response as an object, or nil.
func (s *Said) ResultObject() Object {
	result, _ := s.Result()
	object, _ := result.(map[string]any)
	return object
}

// ParamsObject returns the params of a request or notification, or nil.
func (s *Said) ParamsObject() Object {
	object, _ := s.Params().(map[string]any)
	return object
}

// Meta returns the _meta of the params, or of the result of a response; nil when
// there is none.
func (s *Said) Meta() Object {
	carrier := s.ParamsObject()
	if s.Kind == jsonrpc.Response {
		carrier = s.ResultObject()
	}
	meta, _ := carrier["_meta"].(map[string]any)
	return meta
}

// ByTarget returns the messages that the target sent.
func (c *Conversation) ByTarget() []*Said {
	return c.where(func(said *Said) bool { return said.FromTarget(c.Leg) })
}

// Results returns the target's successful responses to requests of a method.
func (c *Conversation) Results(method string) []*Said {
	return c.where(func(said *Said) bool {
		if !said.FromTarget(c.Leg) || said.Kind != jsonrpc.Response || said.Request == nil {
			return false
		}
		_, refused := said.Error()
		return !refused && said.Request.Method == method
	})
}

// Notifications returns those of a method that the target sent.
func (c *Conversation) Notifications(method string) []*Said {
	return c.where(func(said *Said) bool {
		return said.FromTarget(c.Leg) && said.Kind == jsonrpc.Notification && said.Method == method
	})
}

// Requests returns those of a method that the target sent.
func (c *Conversation) Requests(method string) []*Said {
	return c.where(func(said *Said) bool {
		return said.FromTarget(c.Leg) && said.Kind == jsonrpc.Request && said.Method == method
	})
}

// Ask is something that the target, a server, wants from the client: a request in the
// handshake era, an input request in a result of the stateless era.
type Ask struct {
	*Said         // the message that carries it
	Method string // such as sampling/createMessage
	Params Object
	Where  string // JSON pointer of the params in the message
}

// Asks returns what the target wants by one of the methods from the client; any,
// when none is given.
func (c *Conversation) Asks(methods ...string) []Ask {
	var all []Ask
	for _, said := range c.ByTarget() {
		for _, request := range requestsIn(said.Message) {
			if len(methods) == 0 || slices.Contains(methods, request.method) {
				all = append(all, Ask{Said: said, Method: request.method, Params: request.params, Where: request.pointer})
			}
		}
	}
	return all
}

// ClientDeclared returns the capabilities of the client that a message of the server
// is bound to: those of the handshake, or, in the stateless era, those of the
// request that it answers. Nil when there are none to be found.
func (c *Conversation) ClientDeclared(said *Said) Object {
	request := said
	if said.Request != nil {
		request = said.Request
	}
	if declared, there := request.Meta()[scripted.MetaCapabilities].(map[string]any); there && request.Kind == jsonrpc.Request {
		return declared
	}
	return c.ClientCapabilities
}

func (c *Conversation) where(keep func(*Said) bool) []*Said {
	var kept []*Said
	for _, said := range c.Messages {
		if keep(said) {
			kept = append(kept, said)
		}
	}
	return kept
}

// maxDecoded bounds the memory in bytes that the messages of a conversation
// take, beside their text. One more of any size passes.
const maxDecoded = 112 << 20

// NewConversation reads a transcript of one connection, as far as memory goes.
func NewConversation(leg Leg, events []transcript.Event, complete bool) *Conversation {
	return newConversation(leg, events, complete, transcript.NewLog(""))
}

// newConversation reads as long as the log has room for what is decoded.
func newConversation(leg Leg, events []transcript.Event, complete bool, log *transcript.Log) *Conversation {
	c := &Conversation{Leg: leg, Events: events, Complete: complete}
	if known, err := schema.For(leg.Revision); err == nil {
		c.Schema = known
	}
	decoded := 0
	bodies := bodies{}
	for _, event := range events {
		bodies.see(event)
		if event.Kind != transcript.Message || bodies.foreign(event) {
			continue
		}
		if event.Size > 0 {
			c.Complete = false // its beginning is no message
			continue
		}
		if decoded > maxDecoded {
			c.Complete = false
			break // what is judged is a beginning without gaps
		}
		message := jsonrpc.ParseWithin(event.Raw, log.Left())
		weight := message.Weight - len(message.Raw)
		if decoded += weight; !log.Take(weight) {
			c.Complete = false
			break
		}
		if _, beyond := message.Beyond(); beyond {
			c.Complete = false // it may be any message
		}
		c.Messages = append(c.Messages, &Said{Message: message, Event: event, Index: len(c.Messages)})
	}
	c.correlate()
	c.settle()
	c.handshake()
	return c
}

// longMessage is how long a message is in bytes that the rules judge but once: a list
// of thousands of tools, which most checks of tools are given.
const longMessage = 1 << 20

// judged are the long messages of a target that the rules have judged.
type judged struct {
	mu   sync.Mutex
	seen map[[sha256.Size]byte]bool
}

// leaveOut returns events without the messages that are judged already: there, they
// are known to have been more, as where there was no room.
func (j *judged) leaveOut(events []transcript.Event) []transcript.Event {
	fewer := events
	for i, event := range events {
		if event.Kind != transcript.Message || len(event.Raw) < longMessage || !j.has(event.Raw) {
			continue
		}
		if &fewer[0] == &events[0] {
			fewer = slices.Clone(events)
		}
		fewer[i] = event.Cut(maxShown)
	}
	return fewer
}

func (j *judged) has(raw []byte) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.seen) > 0 && j.seen[jsonrpc.Fingerprint(raw)]
}

func (j *judged) add(conversation *Conversation) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, said := range conversation.Messages {
		if _, beyond := said.Beyond(); len(said.Raw) < longMessage || beyond {
			continue
		}
		if j.seen == nil {
			j.seen = map[[sha256.Size]byte]bool{}
		}
		j.seen[jsonrpc.Fingerprint(said.Raw)] = true
	}
}

// settle finds the revision at which the handshake has ended: that is the one by which
// the conversation is judged, and no other. Where each request names a revision of its
// own, or a handshake names none that was released, it is that of the leg.
func (c *Conversation) settle() {
	var negotiated string
	for _, said := range c.Messages {
		if _, named := said.Meta()[scripted.MetaVersion]; named && said.Kind == jsonrpc.Request && said.served() {
			return
		}
		if said.Kind != jsonrpc.Response || said.Request == nil || said.Request.Method != "initialize" {
			continue
		}
		answered, named := said.ResultObject()["protocolVersion"].(string)
		switch {
		case !named:
		case negotiated != "" && negotiated != answered:
			return
		default:
			negotiated = answered
		}
	}
	if !slices.Contains(protocol.Released(), negotiated) || !protocol.Has(negotiated, protocol.Handshake) {
		return
	}
	c.Negotiated = true
	if negotiated != c.Revision {
		c.Revision = negotiated
		c.Schema, _ = schema.For(negotiated) // nil for one that is older than what is checked
	}
}

// served tells whether a request was answered with a result.
func (s *Said) served() bool {
	return slices.ContainsFunc(s.Answers, func(answer *Said) bool {
		_, there := answer.Result()
		return there
	})
}

// bodies tells the HTTP exchanges, by stream, whose answer may have a body that is
// no message: those that end a session, and those that are refused.
type bodies map[string]bool

func (b bodies) see(event transcript.Event) {
	if head := event.HTTP; event.Kind == transcript.Head && head != nil {
		b[event.Stream] = b[event.Stream] || head.Method == http.MethodDelete || head.Status >= http.StatusBadRequest
	}
}

// foreign tells whether a body is such a one, in the words of a gateway perhaps.
func (b bodies) foreign(event transcript.Event) bool {
	return b[event.Stream] && event.From == protocol.Server && !bytes.Contains(event.Raw, []byte(`"jsonrpc"`))
}

// correlate finds for each response the request that it answers: the latest
// one before it, from the other side, with the same id.
func (c *Conversation) correlate() {
	type asked struct {
		by protocol.Party
		id jsonrpc.ID
	}
	requests := map[asked]*Said{}
	for _, said := range c.Messages {
		switch said.Kind {
		case jsonrpc.Request:
			requests[asked{said.Event.From, said.ID}] = said
		case jsonrpc.Response:
			if request := requests[asked{said.Event.From.Other(), said.ID}]; request != nil {
				said.Request = request
				request.Answers = append(request.Answers, said)
			}
		}
	}
}

func (c *Conversation) handshake() {
	for _, said := range c.Messages {
		result := said.ResultObject()
		if said.Kind != jsonrpc.Response || said.Request == nil || result == nil {
			continue
		}
		declared, _ := result["capabilities"].(map[string]any)
		switch said.Request.Method {
		case "initialize":
			c.ClientCapabilities, _ = said.Request.ParamsObject()["capabilities"].(map[string]any)
			c.ServerCapabilities = declared
			return
		case "server/discover":
			if c.ServerCapabilities == nil && c.Has(protocol.Discovery) {
				c.ServerCapabilities = declared
			}
		}
	}
}

// Finding is what one rule found in one conversation.
type Finding struct {
	Rule   int // position among the rules that stand on the leg of the conversation
	Saw    int // messages that could have broken it
	Breaks []Breach
}

// Breach is one way in which a rule was broken, however often.
type Breach struct {
	Cause    string // breaches of the same cause are one
	Mismatch Mismatch
	Count    int
	Exchange []transcript.Event // the messages that show it first
	Judged   int                // sequence of the message that was judged
	About    Subject            // that it belongs to; zero when it belongs to none
}

// maxBreaches bounds the different causes that are kept of one rule and one
// conversation; one is enough to fail, some more help.
const maxBreaches = 8

// Sight collects what a rule sees.
type Sight struct {
	conversation *Conversation
	finding      Finding
}

// Saw counts a message that could break the rule.
func (s *Sight) Saw() { s.finding.Saw++ }

// Break says that a message breaks the rule. Mismatches that want the same at
// the same place (list positions aside) in answers to the same method are one
// cause, counted.
func (s *Sight) Break(said *Said, mismatch Mismatch) {
	method := said.Method
	if said.Request != nil {
		method = said.Request.Method
	}
	s.add(method, mismatch, said.Event.Sequence, said.subject(), func() []transcript.Event { return s.conversation.excerpt(said) })
}

// BreakAt says that something other than a message breaks the rule, such as
// the head of a response or the end of a stream. The events that explain it
// come before it.
func (s *Sight) BreakAt(event transcript.Event, mismatch Mismatch, before ...transcript.Event) {
	s.add(string(event.Kind), mismatch, event.Sequence, Subject{}, func() []transcript.Event { return append(slices.Clip(before), event) })
}

func (s *Sight) add(of string, mismatch Mismatch, judged int, about Subject, excerpt func() []transcript.Event) {
	cause := of + " " + mismatch.Wanted + " " + positions.ReplaceAllString(mismatch.Where, "/*")
	at := slices.IndexFunc(s.finding.Breaks, func(known Breach) bool { return known.Cause == cause })
	if at >= 0 {
		s.finding.Breaks[at].Count++
		return
	}
	if len(s.finding.Breaks) == maxBreaches {
		return
	}
	shown := excerpt()
	for index := range shown {
		shown[index] = Excerpt(shown[index], maxShown, mismatch.Where)
	}
	s.finding.Breaks = append(s.finding.Breaks, Breach{
		Cause: cause, Mismatch: mismatch, Count: 1,
		Exchange: shown, Judged: judged, About: about,
	})
}

// maxShown bounds the bytes of a message that explains a breach: more than a
// report shows of it.
const maxShown = 4 << 10

var positions = regexp.MustCompile(`/\d+`)

// leadingMessages is how many messages before the judged one are shown when no
// request of its own explains it.
const leadingMessages = 4

// excerpt returns the messages that explain one: the request that it answers,
// or else what was said just before.
func (c *Conversation) excerpt(said *Said) []transcript.Event {
	if said.Request != nil {
		return []transcript.Event{said.Request.Event, said.Event}
	}
	var shown []transcript.Event
	for _, earlier := range c.Messages[max(0, said.Index-leadingMessages) : said.Index+1] {
		shown = append(shown, earlier.Event)
	}
	return shown
}

// ApplyRules judges a conversation by the rules; findings without anything
// seen are left out.
func ApplyRules(rules []Rule, conversation *Conversation) []Finding {
	var findings []Finding
	for index, rule := range rules {
		sight := &Sight{conversation: conversation, finding: Finding{Rule: index}}
		rule.Judge(conversation, sight)
		if sight.finding.Saw > 0 || len(sight.finding.Breaks) > 0 {
			findings = append(findings, sight.finding)
		}
	}
	return findings
}

// StandingRules returns the rules whose requirements stand at the revision and apply
// to the transport, and for those that do not apply to it the reason, by text.
func (e *Environment) StandingRules() (standing []Rule, elsewhere map[string]string) {
	elsewhere = map[string]string{}
	for _, rule := range e.Rules {
		if !e.stands(rule.Requirements) || !rule.For(e.Role) {
			continue
		}
		if reason := e.elsewhere(rule.Requirements); reason != "" {
			elsewhere[rule.Text] = reason
		} else {
			standing = append(standing, rule)
		}
	}
	return standing, elsewhere
}

// judge applies the rules to a connection that is closed and hands both on. A
// record that is incomplete for lack of room is not judged in company: the check
// is run again.
func (e *Environment) judge(log *transcript.Log) {
	defer log.Release()
	if e.Record == nil || e.Company && log.Crowded() {
		return
	}
	events := log.Events()
	conversation := newConversation(e.Leg, e.judged.leaveOut(events), log.Dropped() == 0, log)
	defer e.judged.add(conversation)
	if conversation.ServerCapabilities == nil && conversation.Leg == e.Leg && e.Has(protocol.Discovery) && e.Survey.Declared() {
		conversation.ServerCapabilities = e.Survey.Capabilities
	}
	if conversation.Leg == e.Leg && e.Survey != nil {
		conversation.Tools = e.Survey.Tools
	}
	e.Record(Connection{
		Leg: conversation.Leg, Name: log.Connection(), Events: events,
		Findings: ApplyRules(e.rulesAt(conversation.Leg), conversation),
	})
}

// rulesAt are the rules that stand on a leg, which may be another one than that of the
// environment.
func (e *Environment) rulesAt(leg Leg) []Rule {
	there := e
	if leg != e.Leg {
		there = &Environment{Leg: leg, Catalogue: e.Catalogue, Rules: e.Rules}
	}
	rules, _ := there.StandingRules()
	return rules
}

// JudgeConnection closes a connection that no check used, such as the one that
// the survey was taken on, and judges it like all others.
func (e *Environment) JudgeConnection(ctx context.Context, connection *scripted.Connection) {
	connection.Close(ctx)
	connection.Forget()
	e.judge(connection.Log())
}
