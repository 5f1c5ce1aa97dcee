package fault

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/record"
)

// Injection says what is injected into traffic.
type Injection struct {
	// Faults are what is done, in their order. All of an injection are of one role.
	Faults []*Fault
	// Watched are only looked for: what they would have matched is told.
	Watched []*Fault
	// Matched is called for each match, injected or watched; it may be nil. It may be called
	// from several goroutines.
	Matched func(*Fault)
	// Chance says of each match whether it is acted on; nil for always. It may be called from
	// several goroutines.
	Chance func() bool
}

// None tells that nothing is injected into the traffic and nothing watched: everything
// can be passed on unread.
func (l Injection) None() bool { return len(l.Faults) == 0 && len(l.Watched) == 0 }

func (l Injection) ofClient() bool {
	return slices.ContainsFunc(slices.Concat(l.Faults, l.Watched), (*Fault).ofClient)
}

// Changes are what a middleman asks about each connection; nil where it has nothing to
// ask.
func (l Injection) Changes() func() record.Changes {
	if l.None() {
		return nil
	}
	return func() record.Changes { return NewWire(l) }
}

// Wire is one connection between a peer and a target, as its middleman sees it:
// it decides what becomes of each message and event. Over HTTP a connection is a
// session, or one exchange that belongs to none. It is safe for concurrent use.
type Wire struct {
	injection Injection
	from      record.Direction // the way of what the target says

	mu       sync.Mutex
	open     map[asking]*jsonrpc.Message // requests that passed, by who sent them
	order    []asking                    // of open, oldest first
	injected []*change
	gates    []*gate

	inputs  map[string]string // methods of requests for input, by key
	aliases aliases
}

// maxOpen bounds the requests of a connection whose answers are waited for: beyond
// it the oldest is forgotten.
const maxOpen = 10_000

// asking names a request: by its exchange, too, as several at once may have one id, or
// by none, for what is answered elsewhere.
type asking struct {
	by       record.Direction
	id       jsonrpc.ID
	exchange string
}

// change is one change on one connection.
type change struct {
	fault *Fault
	acts  bool
	found *found
	do    []Action
}

// gate opens when a message that matches has passed.
type gate struct {
	found *found
	open  chan struct{}
}

// NewWire begins a connection.
func NewWire(injection Injection) *Wire {
	w := &Wire{injection: injection, from: record.Out, open: map[asking]*jsonrpc.Message{}, inputs: map[string]string{}}
	if injection.ofClient() {
		w.from = record.In
	}
	for _, fault := range injection.Faults {
		w.inject(fault, true)
	}
	for _, fault := range injection.Watched {
		w.inject(fault, false)
	}
	return w
}

func (w *Wire) inject(fault *Fault, acts bool) {
	for _, one := range fault.AllChanges() {
		w.injected = append(w.injected, &change{fault: fault, acts: acts, found: newFound(one.When), do: one.Do})
	}
}

// AllChanges are When and Do, and all of Changes.
func (f *Fault) AllChanges() []Change {
	if f.When == nil {
		return f.Changes
	}
	return append([]Change{f.Change}, f.Changes...)
}

// matching returns the changes that act on what passes.
func (w *Wire) matching(fits func(*Match) bool) []*change {
	var acting []*change
	for _, one := range w.injected {
		if !one.found.see(fits) || w.injection.Chance != nil && !w.injection.Chance() {
			continue
		}
		if w.injection.Matched != nil {
			w.injection.Matched(one.fault)
		}
		if one.acts {
			acting = append(acting, one)
		}
	}
	return acting
}

// Changed is the way of what the target says.
func (w *Wire) Changed() record.Direction { return w.from }

// Message says what becomes of a message: the steps that take its place. Without
// a change that is one step, with the message as it came.
func (w *Wire) Message(p record.Passage) []record.Step {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.injection.None() {
		return []record.Step{{Direction: p.Direction, Message: p.Raw}}
	}
	if p.Direction != w.from {
		p.Raw = w.aliases.inward(p.Raw)
	}
	s := &said{Passage: p, message: jsonrpc.Parse(p.Raw), inputs: w.inputs}
	w.correlate(s)
	acting := w.matching(func(match *Match) bool { return match.aboutMessage() && match.fits(s) })
	steps := w.perform(s, acting)
	w.pass(s)
	for i := range steps {
		if steps[i].Direction == w.from {
			steps[i].Message = w.aliases.outward(steps[i].Message)
		}
	}
	return steps
}

func (w *Wire) correlate(s *said) {
	switch s.message.Kind {
	case jsonrpc.Request:
		w.asks(asking{by: s.Direction, id: s.message.ID}, &s.message)
		if s.Exchange != "" {
			w.asks(asking{s.Direction, s.message.ID, s.Exchange}, &s.message)
		}
	case jsonrpc.Response:
		by := s.Direction.Opposite()
		s.asked = cmp.Or(w.open[asking{by, s.message.ID, s.Exchange}], w.open[asking{by: by, id: s.message.ID}])
		for _, place := range membersOf(s.message, inputRequests) {
			w.remember(place[len(place)-1], lookup(s.message.Object, append(place, "method")))
		}
	}
}

// asks keeps a request until it is answered, or too many others came.
func (w *Wire) asks(key asking, request *jsonrpc.Message) {
	if _, known := w.open[key]; !known {
		w.order = append(w.order, key)
	}
	w.open[key] = request
	if len(w.order) > maxOpen {
		delete(w.open, w.order[0])
		w.order = w.order[1:]
	}
}

// remember keeps by which method input is asked for.
func (w *Wire) remember(key string, method []any) {
	if len(w.inputs) >= maxOpen {
		clear(w.inputs)
	}
	for _, one := range method {
		w.inputs[key], _ = one.(string)
	}
}

// pass opens the gates that waited for a message.
func (w *Wire) pass(s *said) {
	w.gates = slices.DeleteFunc(w.gates, func(one *gate) bool {
		passed := one.found.see(func(match *Match) bool { return match.fits(s) })
		if passed {
			close(one.open)
		}
		return passed
	})
}

func (w *Wire) gate(match *Match) <-chan struct{} {
	one := &gate{found: newFound(match), open: make(chan struct{})}
	w.gates = append(w.gates, one)
	return one.open
}

// perform does what the changes say with a message.
func (w *Wire) perform(s *said, acting []*change) []record.Step {
	work := &work{wire: w, said: s, edit: newEdit(s), own: record.Step{Direction: s.Direction}}
	for _, one := range acting {
		work.places = one.found.match.places(s)
		for i := range one.do {
			work.act(&one.do[i])
		}
	}
	return work.steps()
}

// work is one message while its changes are done.
type work struct {
	wire    *Wire
	said    *said
	edit    *edit
	places  [][]string  // of what a change is about in the message
	own     record.Step // of the message itself
	dropped bool
	repeat  int
	before  []record.Step
	after   []record.Step
}

func (k *work) act(action *Action) {
	if action.ofMembers() {
		for _, place := range k.places {
			_ = k.edit.members(action, place) // a message that has no such part stays as it is
		}
		return
	}
	if k.edit.bytes(action) {
		return
	}
	switch {
	case len(action.Extend) > 0:
		k.extend(action)
	case action.Drop:
		k.dropped = true
	case action.Repeat > 0:
		k.repeat += action.Repeat
	case action.Delay > 0:
		k.own.Wait.Time = action.Delay
	case action.Hold != nil:
		k.own.Wait.Until = k.wire.gate(action.Hold)
	case action.Answer != nil:
		k.answer("result", action.Answer)
	case action.Refuse != nil:
		k.answer("error", action.Refuse)
	case action.Send != nil:
		k.send(action)
	case action.Request != nil:
		k.after = append(k.after, record.Step{Direction: record.In, Request: action.Request})
	case action.Alias != nil:
		k.wire.aliases.add(action.Alias, k.edit.object)
	case action.Write != nil:
		k.beside(
			action,
			record.Step{Direction: k.wire.from, Text: []byte(*action.Write), Stderr: action.To == toStderr},
		)
	case action.Split > 0:
		text := k.edit.text()
		at := min(action.Split, len(text))
		k.edit.raw = slices.Concat(text[:at], []byte("\n"), text[at:])
	default:
		k.carry(action)
	}
}

// extend adds what the schema allows. A message that was changed before is taken as it
// is now.
func (k *work) extend(action *Action) {
	message := jsonrpc.Parse(k.edit.text())
	if changed := extended(&message, k.said.asked, action.Extend, action.Seed); changed != nil {
		k.edit.object, k.edit.stale = changed, true
	}
}

// toStderr is what To says of text for standard error.
const toStderr = "stderr"

// placeBefore is what Place says of what comes before the message.
const placeBefore = "before"

func (k *work) beside(action *Action, step record.Step) {
	if action.Place == placeBefore {
		k.before = append(k.before, step)
	} else {
		k.after = append(k.after, step)
	}
}

// answer answers a request instead of its receiver. A message without an id is not a
// request, even if its method is that of one, and is passed on.
func (k *work) answer(member string, value *Value) {
	id, is := k.said.message.Object["id"]
	if !is {
		return
	}
	resolved, err := value.resolve(k.edit.object, k.edit.asked)
	if err != nil {
		return
	}
	k.dropped = true
	if member == "result" {
		resolved = completed(resolved, k.edit.object)
	}
	answer := map[string]any{"jsonrpc": "2.0", "id": id, member: resolved}
	k.after = append(
		k.after,
		record.Step{Direction: k.said.Direction.Opposite(), Message: write(answer), Answers: true},
	)
}

func (k *work) send(action *Action) {
	message, err := action.Send.resolve(k.edit.object, k.edit.asked)
	if err != nil {
		return
	}
	direction := action.Direction
	if direction == "" {
		direction = k.said.Direction
	}
	text := write(message)
	if words, isText := message.(string); isText {
		text = []byte(words) // not JSON, on purpose
	}
	k.beside(action, record.Step{Direction: direction, Message: text, Beside: true, Stream: action.Stream})
}

// carry is what changes how the message travels.
func (k *work) carry(action *Action) {
	step := &k.own
	if action.Place == placeBefore { // an end that comes before the message
		k.before = append(k.before, record.Step{Direction: k.said.Direction})
		step = &k.before[len(k.before)-1]
	}
	if (action.Exit != nil || action.Hang) && k.said.Direction != k.wire.from {
		k.dropped = true // else the target might answer it before it ends
	}
	switch {
	case action.End != nil:
		step.End = action.End
	case action.Chunk > 0:
		step.Chunk = action.Chunk
	case action.Event != nil:
		step.Event = action.Event
	case action.EventText != nil:
		step.EventText = action.EventText
	case action.Cut:
		step.Cut = true
	case action.Close:
		step.Close = true
	case action.KeepOpen:
		step.KeepOpen = true
	case action.Exit != nil:
		step.Exit = action.Exit
	case action.Hang:
		step.Hang = true
	default:
		action.change(&step.Head)
		if action.As != "" {
			step.As = action.As
		}
	}
}

// steps are what is done in place of the message. An end (a cut, an exit) that
// belongs to a message that is dropped is done all the same.
func (k *work) steps() []record.Step {
	steps := k.before
	if !k.dropped {
		k.own.Message = k.edit.text()
		for range 1 + k.repeat {
			steps = append(steps, k.own)
		}
	} else if ends(k.own) {
		steps = append(steps, k.own)
	}
	return append(steps, k.after...)
}

// ends tells whether a step does something without a message.
func ends(s record.Step) bool {
	return s.Cut || s.Close || s.KeepOpen || s.Exit != nil || s.Hang || !none(s.Head)
}

func none(p record.HeadPlan) bool {
	return p.Respond == nil && p.Status == 0 && len(p.Header) == 0 && p.Body == nil && p.As == "" &&
		p.Wait == 0 && p.Chunk == 0 && !p.Drop && !p.Cut && !p.KeepOpen
}

// Head says what becomes of an exchange by its head alone: of a request before
// it is passed on, of a response before its body is read.
func (w *Wire) Head(head record.Head) record.HeadPlan {
	w.mu.Lock()
	defer w.mu.Unlock()
	var plan record.HeadPlan
	acting := w.matching(func(match *Match) bool {
		return match.aboutHead() && match.direction() == head.Direction && match.HTTP.fits(head)
	})
	for _, one := range acting {
		for i := range one.do {
			one.do[i].change(&plan)
		}
	}
	return plan
}

// change writes what an action says of a head into the plan.
func (a *Action) change(plan *record.HeadPlan) {
	switch {
	case a.Status != 0:
		plan.Status = a.Status
	case a.Body != nil:
		plan.Body = a.Body
	case a.Respond != nil:
		plan.Respond = a.Respond
	case a.As != "":
		plan.As = a.As
	case a.Delay > 0:
		plan.Wait = a.Delay
	case a.Chunk > 0:
		plan.Chunk = a.Chunk
	case len(a.Header) > 0:
		if plan.Header == nil {
			plan.Header = map[string]*string{}
		}
		maps.Copy(plan.Header, a.Header)
	case len(a.Query) > 0:
		plan.Query = a.Query
	case len(a.Challenge) > 0:
		if plan.Challenge == nil {
			plan.Challenge = map[string]*string{}
		}
		maps.Copy(plan.Challenge, a.Challenge)
	}
	plan.Drop = plan.Drop || a.Drop
	plan.Cut = plan.Cut || a.Cut
	plan.KeepOpen = plan.KeepOpen || a.KeepOpen
}

// Process says what is done at an event of the target's process, and whether the
// event is kept from it.
func (w *Wire) Process(event string) (steps []record.Step, ignored bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	acting := w.matching(func(match *Match) bool { return match.Process == event })
	for _, one := range acting {
		for i := range one.do {
			action := &one.do[i]
			switch {
			case action.Ignore:
				ignored = true
			case action.Write != nil:
				steps = append(
					steps,
					record.Step{Direction: record.Out, Text: []byte(*action.Write), Stderr: action.To == toStderr},
				)
			case action.Send != nil:
				if message, err := action.Send.resolve(nil, nil); err == nil {
					steps = append(steps, record.Step{Direction: record.Out, Message: write(message)})
				}
			case action.Exit != nil:
				steps = append(steps, record.Step{Direction: record.Out, Exit: action.Exit})
			case action.Hang:
				steps = append(steps, record.Step{Direction: record.Out, Hang: true})
			case action.Delay > 0:
				steps = append(steps, record.Step{Direction: record.Out, Wait: record.Wait{Time: action.Delay}})
			}
		}
	}
	return steps, ignored
}

// OnlyLooks tells whether nothing is done with what matches.
func (w *Wire) OnlyLooks() bool {
	return !slices.ContainsFunc(w.injected, func(one *change) bool { return one.acts && len(one.do) > 0 })
}

// ChangesHeads tells whether a change of a message that an event stream brings, in
// answer to a request of some method, may change the head of that stream, which
// must then wait for the first message.
func (w *Wire) ChangesHeads(carried, asked string) bool {
	return slices.ContainsFunc(w.injected, func(one *change) bool {
		match := one.found.match
		if !one.acts || !match.aboutMessage() || match.direction() != record.Out {
			return false
		}
		if len(match.Carried) > 0 && !slices.Contains(match.Carried, carried) ||
			len(match.Carried) == 0 && carried == record.OnGet {
			return false
		}
		if len(match.ResponseTo) > 0 && !slices.Contains(match.ResponseTo, asked) &&
			!slices.Contains(match.ResponseTo, anyPart) {
			return false
		}
		return slices.ContainsFunc(one.do, func(action Action) bool {
			return action.Status != 0 || len(action.Header) > 0 || action.Body != nil || action.As != ""
		})
	})
}
