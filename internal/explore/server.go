package explore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/excerpt"
	"github.com/mcpconform/mcpconform/internal/forms"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/mcp"
	"github.com/mcpconform/mcpconform/internal/offer"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/reach"
	"github.com/mcpconform/mcpconform/internal/requests"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/internal/session"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/internal/transport"
	"github.com/mcpconform/mcpconform/internal/wait"
)

// server explores a target server: each draw is a conversation of a client with it.
type server struct {
	ctx     context.Context
	env     *session.Environment
	asks    []offer.Harmless
	plain   []answer // what the plain form of each brings
	causes  map[string]bool
	forms   []forms.Form
	hello   []forms.Form
	moves   []move
	slowest time.Duration // of the plain forms
}

// move is something that a client may do between any of its requests. Its own outcome is not
// judged, only that the server goes on.
type move struct {
	name  string // completes "after …"
	where func(*session.Environment) bool
	do    func(*talk)
}

// act is one step of a conversation: a request in some forms, or a move.
type act struct {
	move    *move // nil for a request
	asked   int   // of the harmless requests
	forms   []forms.Form
	waits   bool // for the answer, before the next act
	another bool // on a second connection
}

// conversation is one draw.
type conversation struct {
	hello []forms.Form
	acts  []act
}

const (
	// maxActs bounds a conversation: what takes more acts to show is not found by chance.
	maxActs = 6
	// maxForms bounds the forms of one message.
	maxForms = 4
	// plainTimes is how many times as long as the slowest plain answer one may take until
	// a finding is confirmed, and leastPatience the least of that.
	plainTimes    = 20
	leastPatience = 300 * time.Millisecond
)

// moves are those that are legal wherever they are possible.
var moves = []move{
	{
		"an unknown notification",
		nil,
		func(t *talk) { t.tell("notifications/mcpconform/unknown", check.Object{"a": 1}) },
	},
	{
		"a request that is cancelled at once",
		nil,
		func(t *talk) {
			asked := t.start(t.server.asks[0].Method, nil)
			if t.server.env.Has(protocol.ClosingCancels) && t.on.Transport().Exchanges() {
				asked.Delivery.Cut()
			} else {
				t.tell("notifications/cancelled", check.Object{"requestId": asked.ID})
			}
		},
	},
	{
		"20 requests at once",
		nil,
		func(t *talk) {
			for range 20 {
				t.ask(0, nil)
			}
		},
	},
	{
		"a cancellation of what is answered already",
		func(e *session.Environment) bool {
			return !e.Has(protocol.ClosingCancels) || !protocol.Over(e.Transport).Exchanges()
		},
		func(t *talk) {
			if t.waitForAll(); len(t.requests) > 0 && t.broken == nil {
				t.tell("notifications/cancelled", check.Object{"requestId": t.requests[len(t.requests)-1].pending.ID})
			}
		},
	},
	{
		"streams that are cut before their answers",
		func(e *session.Environment) bool {
			return protocol.Over(e.Transport).Exchanges() && !e.Has(protocol.ClosingCancels)
		},
		func(t *talk) {
			for range 3 {
				t.start(t.server.asks[0].Method, nil).Delivery.Cut()
			}
		},
	},
	{
		"a resource that is unsubscribed from twice",
		func(e *session.Environment) bool {
			return !e.Has(protocol.Subscriptions) && len(e.Survey.Resources) > 0 &&
				e.Survey.Declares("resources.subscribe")
		},
		func(t *talk) {
			resource := check.Object{"uri": t.server.env.Survey.Resources[0]["uri"]}
			for _, verb := range []string{"subscribe", "unsubscribe", "unsubscribe", "subscribe", "unsubscribe"} {
				t.start("resources/"+verb, resource)
			}
		},
	},
	{
		"notifications/roots/list_changed",
		func(e *session.Environment) bool { return e.Has(protocol.RootsListChanged) },
		func(t *talk) { t.tell("notifications/roots/list_changed", nil) },
	},
	{
		"a GET stream that is opened and closed",
		func(e *session.Environment) bool {
			return protocol.Over(e.Transport).Exchanges() && e.Has(protocol.GETStream)
		},
		func(t *talk) {
			if stream, _ := t.on.Listen(t.ctx); stream != nil {
				stream.Cut()
			}
		},
	},
	{
		"a subscription that is ended",
		func(e *session.Environment) bool { return e.Has(protocol.Subscriptions) },
		func(t *talk) {
			asked := t.start("subscriptions/listen", check.Object{
				"notifications": check.Object{"toolsListChanged": true},
			})
			if t.on.Transport().Exchanges() {
				asked.Delivery.Cut()
			} else {
				t.tell("notifications/cancelled", check.Object{"requestId": asked.ID})
			}
		},
	},
	{
		"a session that is ended twice by DELETE",
		func(e *session.Environment) bool {
			return protocol.Over(e.Transport).Sessions() && e.Has(protocol.Sessions)
		},
		func(t *talk) { t.again() },
	},
}

// newServer asks for the plain forms, to compare with.
func newServer(ctx context.Context, environment *session.Environment) (*server, error) {
	s := &server{
		ctx: ctx, env: environment, asks: environment.Harmless(), causes: map[string]bool{},
		forms: forms.Of(environment.Revision, environment.Transport,
			forms.ID, forms.Token, forms.Meta, forms.Params, forms.Spelling, forms.Head, forms.Framing),
		hello: forms.HelloAt(environment.Revision, environment.Transport),
	}
	for _, one := range moves {
		if one.where == nil || one.where(environment) {
			s.moves = append(s.moves, one)
		}
	}
	s.slowest = environment.Target.Reply
	before, err := s.answers()
	if err != nil {
		return nil, err
	}
	after, err := s.answers()
	if err != nil {
		return nil, err
	}
	// What brings another answer each time, or an error, shows nothing.
	var steady []offer.Harmless
	for i, asked := range s.asks {
		if before[i] == after[i] && before[i].isResult {
			steady, s.plain = append(steady, asked), append(s.plain, before[i])
		}
	}
	if s.asks = steady; len(steady) == 0 {
		return nil, errUnready
	}
	return s, nil
}

// answer is what a request brings, in words.
type answer struct {
	text     string
	isResult bool
}

// answers are what all harmless requests bring in their plain form, on one connection.
func (s *server) answers() ([]answer, error) {
	talk := s.begin(s.env.Target.Reply)
	defer talk.release()
	if talk.open(nil); talk.broken != nil {
		return nil, fmt.Errorf("%w: %s", errUnready, talk.broken.Mismatch.Found)
	}
	answers := make([]answer, len(s.asks))
	s.slowest = 0
	for i, asked := range s.asks {
		began := time.Now()
		received, err := talk.on.Once(s.ctx, asked.Method, asked.With(nil))
		s.slowest = max(s.slowest, time.Since(began))
		if err != nil {
			answers[i].text = "no result: " + err.Error()
			continue
		}
		reply := session.Reply{Received: received}
		answers[i] = answer{requests.Essence(asked.Method, reply), reply.Object() != nil}
	}
	talk.close()
	noteBreaches(talk.findings, s.causes)
	return answers, nil
}

func (s *server) patience() (shortWait, whole time.Duration) {
	whole = s.env.Target.Reply
	return min(whole, max(leastPatience, plainTimes*s.slowest)), whole
}

func (s *server) gone(found *Finding) string {
	if protocol.Over(s.env.Transport).Processes() || !found.lost {
		return ""
	}
	why, _ := reach.Unreachable(&s.env.Offer)
	return why
}

func (s *server) draw(t *rapid.T) (parts []string, try trial) {
	drawn := conversation{acts: rapid.SliceOfN(rapid.Custom(s.drawAct), 1, maxActs).Draw(t, "acts")}
	if rapid.IntRange(0, 3).Draw(t, "hello") > 0 {
		drawn.hello = drawForms(t, s.hello, "introduction")
	}
	return drawn.parts(s), func(patience time.Duration) *Finding { return s.try(drawn, patience) }
}

func (s *server) drawAct(t *rapid.T) act {
	one := act{
		forms:   drawForms(t, s.forms, "forms"),
		waits:   rapid.Bool().Draw(t, "waits"),
		another: evenly(8).Draw(t, "another") == 7,
	}
	if evenly(4).Draw(t, "the plainest") > 0 {
		one.asked = evenly(len(s.asks)).Draw(t, "asked")
	}
	// One act in four is a move.
	if evenly(4).Draw(t, "whether a move") == 3 {
		one = act{move: &s.moves[evenly(len(s.moves)).Draw(t, "move")]}
	}
	return one
}

// drawForms draws forms of different classes, in their order.
func drawForms(t *rapid.T, from []forms.Form, label string) []forms.Form {
	return drawOfClasses(t, from, func(one forms.Form) forms.Class { return one.Class }, 0, maxForms, label)
}

// parts are what a conversation is made of, in words.
func (c conversation) parts(s *server) []string {
	var parts []string
	for _, one := range c.acts {
		if one.move != nil {
			parts = append(parts, "after "+one.move.name)
			continue
		}
		parts = append(parts, s.asks[one.asked].Describe())
		parts = append(parts, names(one.forms)...)
		if one.another {
			parts = append(parts, "on a second connection")
		}
		if one.waits {
			parts = append(parts, "answered before the next")
		}
	}
	return append(parts, names(c.hello)...)
}

func names(of []forms.Form) []string {
	all := make([]string, len(of))
	for i, form := range of {
		all[i] = form.Name
	}
	return all
}

// try carries a conversation out and returns what is wrong with it first.
func (s *server) try(drawn conversation, patience time.Duration) *Finding {
	t := s.begin(patience)
	defer t.release()
	t.open(drawn.hello)
	t.main = t.on
	for _, one := range drawn.acts {
		switch {
		case t.broken != nil:
		case one.move != nil:
			t.after = append(t.after, one.move.name)
			one.move.do(t)
		default:
			t.onAnother(one.another)
			asked := t.ask(one.asked, one.forms)
			if one.waits {
				t.wait(asked)
			}
		}
	}
	t.waitForAll()
	t.close()
	if t.broken == nil {
		t.judge()
	}
	if _, whole := s.patience(); t.compared && patience == whole && !s.steady() {
		return nil // what it was compared with has changed meanwhile
	}
	return t.broken
}

// steady tells whether the plain forms still bring what they brought. What they bring now
// is what others are compared with from then on.
func (s *server) steady() bool {
	answers, err := s.answers()
	same := err == nil && slices.Equal(answers, s.plain)
	if err == nil {
		s.plain = answers
	}
	return same
}

// talk is a conversation under way.
type talk struct {
	server   *server
	ctx      context.Context
	patience time.Duration
	on       *scripted.Connection // the one in use
	main     *scripted.Connection
	other    *scripted.Connection   // nil for none
	all      []*scripted.Connection // every one
	meta     check.Object           // of each request in the stateless era: what the client says of itself
	used     map[jsonrpc.ID]bool    // ids of requests
	once     map[string]bool        // forms that a conversation may have once: of ids and tokens
	requests []asked
	after    []string // the moves until now
	broken   *Finding
	compared bool // it is broken since the plain form brings something else
	findings []rules.Finding
}

// asked is a request that is under way.
type asked struct {
	pending *scripted.Pending
	what    offer.Harmless
	plain   string
	forms   []forms.Form
	done    bool
}

func (s *server) begin(patience time.Duration) *talk {
	return &talk{server: s, ctx: s.ctx, patience: patience, used: map[jsonrpc.ID]bool{}, once: map[string]bool{}}
}

func (t *talk) release() {
	for _, connection := range t.all {
		connection.Log().Release()
	}
}

// open opens a connection of a client that introduces itself in some forms.
func (t *talk) open(hello []forms.Form) {
	environment := t.server.env
	connection, err := environment.Dial()
	if err != nil {
		t.loses(openingOf(environment), "opens a connection", "a connection", err)
		return
	}
	t.on, t.all = connection, append(t.all, connection)
	introduced := forms.Write(forms.Message{Method: "initialize", Params: check.Object{
		"protocolVersion": environment.Revision,
		"capabilities":    check.Object(scripted.Everything(environment.Revision)),
		"clientInfo":      scripted.ClientInfo(environment.Revision),
	}}, hello)
	if environment.Has(protocol.PerRequestMeta) {
		t.meta = nil
		if len(hello) > 0 {
			t.meta = check.Object{
				mcp.MetaCapabilities: introduced.Params["capabilities"],
				mcp.MetaClientInfo:   introduced.Params["clientInfo"],
			}
		}
		t.after = append(t.after, names(hello)...)
		return
	}
	if _, err := connection.Initialize(t.ctx, introduced.Params); err != nil {
		text := "answers initialize"
		if len(hello) > 0 {
			text += " " + forms.Names(hello)
		}
		t.loses(openingOf(environment), text, "a result of initialize", err)
	}
	t.after = append(t.after, names(hello)...)
}

func openingOf(environment *session.Environment) string {
	if environment.Has(protocol.Handshake) {
		return "lifecycle.initialize.answered"
	}
	return "discover.implemented"
}

// onAnother goes on, on the second connection or on the first.
func (t *talk) onAnother(second bool) {
	switch {
	case !second:
		t.on = t.main
	case t.other == nil:
		t.open(nil)
		t.other = t.on
	default:
		t.on = t.other
	}
}

// again ends the session twice, and begins another.
func (t *talk) again() {
	t.waitForAll()
	t.on = t.main
	if t.broken != nil || t.on.Session() == "" {
		return
	}
	for range 2 {
		bye := t.on.HTTP.Exchange(deleting(t.on.HTTP))
		select {
		case <-bye.Done():
		case <-wait.After(t.ctx, t.patience):
		case <-t.ctx.Done():
		}
	}
	t.on.HTTP.SetSession("") // it is gone
	t.open(nil)
	t.main = t.on
}

// start sends a request, and does not wait for the answer.
func (t *talk) start(method string, params any) *scripted.Pending {
	asked := t.on.Start(t.ctx, method, params)
	t.used[asked.ID] = true
	return asked
}

func (t *talk) tell(method string, params any) {
	ctx, cancel := wait.WithTimeout(t.ctx, t.patience)
	defer cancel()
	_ = t.on.Notify(ctx, method, params) // over HTTP it may be refused
}

// ask sends a request in some forms.
func (t *talk) ask(at int, in []forms.Form) int {
	s := t.server
	plain := s.asks[at].Message(t.on.NextID())
	if t.meta != nil {
		params := check.Object{"_meta": t.meta}
		maps.Copy(params, plain.Params)
		plain.Params = params
	}
	in = slices.DeleteFunc(slices.Clone(in), func(form forms.Form) bool {
		used := t.once[form.Name]
		t.once[form.Name] = form.Class == forms.ID || form.Class == forms.Token
		return used
	})
	message := forms.Write(plain, in)
	t.used[message.ID] = true
	t.requests = append(t.requests, asked{
		pending: message.Start(t.ctx, t.on.Client), what: s.asks[at], plain: s.plain[at].text, forms: in,
	})
	return len(t.requests) - 1
}

func (t *talk) waitForAll() {
	for at := range t.requests {
		if t.broken == nil {
			t.wait(at)
		}
	}
}

// wait waits for the answer to a request and compares it with that to the plain form.
func (t *talk) wait(at int) {
	one := &t.requests[at]
	if one.done {
		return
	}
	one.done = true
	ctx, cancel := wait.WithTimeout(t.ctx, t.patience)
	defer cancel()
	received, err := one.pending.WaitOr(ctx, t.stray)
	text := strings.TrimSpace("answers " + one.what.Describe() + " " + forms.Names(one.forms))
	if len(t.after) > 0 {
		text += ", after " + strings.Join(t.after, ", ")
	}
	status, refused := errors.AsType[*scripted.StatusError](err)
	switch {
	case t.ctx.Err() != nil:
	case refused:
		t.compared = true
		t.breaks(status.At, one.what.Requirement, text, one.plain, status.Error())
	case err != nil:
		t.loses(session.AnsweredRequirement, text, "an answer", err)
	case received.ID != one.pending.ID:
		t.breaks(
			received.At,
			"base.responses.id",
			text,
			"the id "+one.pending.ID.String(),
			"the id "+received.ID.String(),
		)
	default:
		if found := requests.Essence(one.what.Method, session.Reply{Received: received}); found != one.plain {
			t.compared = true
			t.breaks(received.At, one.what.Requirement, text, one.plain, found)
		}
	}
}

// stray matches a response to no request.
func (t *talk) stray(received scripted.Received) bool {
	return received.Kind == jsonrpc.Response && received.ID != jsonrpc.NullID && !t.used[received.ID]
}

func (t *talk) breaks(judged transcript.Place, requirement, text, wanted, found string) {
	if t.broken == nil {
		t.broken = &Finding{
			Requirement: requirement, Text: text, Judged: judged,
			Mismatch: rules.Mismatch{Wanted: wanted, Found: excerpt.OneLine(found)},
		}
	}
}

// loses notes that nothing came.
func (t *talk) loses(requirement, text, wanted string, err error) {
	if t.broken == nil {
		t.breaks(transcript.Place{}, requirement, text, wanted, "no answer: "+err.Error())
		t.broken.lost = true
	}
}

// close ends all connections, and has the rules judge them.
func (t *talk) close() {
	for _, connection := range t.all {
		connection.Close(t.ctx)
		connection.Forget()
		t.findings = append(t.findings, t.server.env.Judged(connection.Log()).Findings...)
		if t.broken != nil {
			t.broken.Events = append(t.broken.Events, connection.Log().Events()...)
		}
	}
}

// judge looks for a rule that is broken, and is not with the plain forms.
func (t *talk) judge() {
	rule, breach, there := newBreach(t.findings, t.server.causes)
	if !there {
		return
	}
	at := slices.IndexFunc(t.server.env.Rules, func(one rules.Rule) bool { return one.ID() == rule })
	texts := []string{t.server.env.Rules[at].Text}
	if len(t.after) > 0 {
		texts = append(texts, "after "+strings.Join(t.after, ", "))
	}
	for _, one := range t.requests {
		texts = append(texts, "asked for "+strings.TrimSpace(one.what.Describe()+" "+forms.Names(one.forms)))
	}
	t.broken = &Finding{
		Requirement: cmp.Or(t.server.env.Applicable(t.server.env.Rules[at].Verifies.IDs)[0], rule),
		Text: strings.Join(
			texts,
			", ",
		),
		Mismatch: breach.Mismatch,
		Judged:   breach.Place(),
		Events:   breach.Exchange,
	}
}

// deleting is the request by which a client ends its session.
func deleting(client *scripted.HTTP) transport.Request {
	return transport.Request{Method: http.MethodDelete, Header: client.Header(http.MethodDelete)}
}
