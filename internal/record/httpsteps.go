package record

import (
	"context"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/sessions"
	"github.com/mcpconform/mcpconform/internal/transport"
)

// How messages are carried: see Match.Carried, Action.As and Step.Stream.
const (
	onStdio  = "stdio"
	inBody   = "body"
	onPost   = "post"
	OnGet    = "get"
	OnOthers = "others"
	asJSON   = "json"
	asEvents = "events"
)

const (
	// postTime bounds what is posted beside the client's own requests. Its answer
	// is read for so long and never looked at.
	postTime = 30 * time.Second
	// listenTime is how long a message for a GET stream waits until one is open.
	listenTime = 10 * time.Second
)

// none tells that there is nothing to wait for.
func (w Wait) none() bool { return w.Time <= 0 && w.Until == nil }

// done waits. The error is the cause of the context's end.
func (w Wait) done(ctx context.Context) error {
	if w.Time > 0 {
		timer := time.NewTimer(w.Time)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	if w.Until != nil {
		select {
		case <-w.Until:
		case <-ctx.Done():
		}
	}
	return context.Cause(ctx)
}

// here tells whether a step says something on the response at hand.
func (s Step) here() bool { return s.Message != nil && s.Direction == Out && s.Stream == "" }

// inTurn lets one message pass at a time.
func (e *exchange) inTurn(pass func() error) error {
	e.turn.Lock()
	defer e.turn.Unlock()
	return pass()
}

// held is a step that waits, and the event that it is about.
type held struct {
	step  Step
	event *transport.Event
	done  bool
}

// say does steps on an event stream that is open; event carried the message that
// they are about, if one did. It must be called in turn.
func (e *exchange) say(steps []Step, event *transport.Event) error {
	for _, step := range steps {
		if step.here() && !step.Wait.none() {
			e.hold(&held{step: step, event: event})
		} else if err := e.do(step, event); err != nil {
			return err
		}
	}
	for _, one := range e.held { // those that waited for this come next
		if one.step.Wait.Time <= 0 && one.step.Wait.Until != nil && isClosed(one.step.Wait.Until) {
			if err := e.release(one); err != nil {
				return err
			}
		}
	}
	e.held = slices.DeleteFunc(e.held, func(one *held) bool { return one.done })
	return nil
}

func isClosed(channel <-chan struct{}) bool {
	select {
	case <-channel:
		return true
	default:
		return false
	}
}

// hold does a step when its time has come.
func (e *exchange) hold(one *held) {
	e.held = append(e.held, one)
	e.waiting.Go(func() {
		err := one.step.Wait.done(e.ctx)
		if err == nil {
			err = e.inTurn(func() error { return e.release(one) })
		}
		if err != nil {
			e.end(err)
		}
	})
}

func (e *exchange) release(one *held) error {
	if one.done {
		return nil
	}
	one.done = true
	return e.do(one.step, one.event)
}

// do does a step on an event stream that is open.
func (e *exchange) do(step Step, event *transport.Event) error {
	if step.here() {
		if err := e.reply.write(eventText(step, event), step.Chunk); err != nil {
			return err
		}
	} else {
		e.aside(step)
	}
	return e.ends(step)
}

// ends does what a step says of the end of the exchange.
func (e *exchange) ends(step Step) error {
	if step.KeepOpen {
		e.keepOpen.Store(true)
	}
	switch {
	case step.Exit != nil:
		e.http.stop()
		if e.http.options.Exit != nil {
			e.http.options.Exit(*step.Exit)
		}
		return errCut
	case step.Hang:
		e.connection.hang()
		return errHeld
	case step.Cut:
		return errCut
	case step.Close:
		return errClosed
	}
	return nil
}

// aside does a step that says something elsewhere: to the target, or to the
// client on a GET stream.
func (e *exchange) aside(step Step) {
	if step.Message == nil && step.Request == nil {
		return
	}
	do := func() {
		if step.Direction == In {
			e.send(step)
		} else {
			e.tellListener(step)
		}
	}
	if step.Wait.none() {
		do()
		return
	}
	e.http.beside(func() {
		if step.Wait.done(e.http.life) == nil {
			do()
		}
	})
}

// tellListener says something on the GET stream of the session, when there is
// one, or on all but the one at hand.
func (e *exchange) tellListener(step Step) {
	toOthers := step.Stream == OnOthers
	step.Wait, step.Stream = Wait{}, ""
	tell := func(listener *exchange) {
		if err := listener.do(step, nil); err != nil {
			listener.end(err)
		}
	}
	if toOthers {
		for _, listener := range e.connection.listeners() {
			if listener != e {
				tell(listener)
			}
		}
		return
	}
	listener, opened := e.connection.listener()
	if listener != nil {
		tell(listener)
		return
	}
	e.http.beside(func() {
		ctx, cancel := context.WithTimeout(e.http.life, listenTime)
		defer cancel()
		for listener == nil && ctx.Err() == nil {
			select {
			case <-opened:
			case <-ctx.Done():
			}
			listener, opened = e.connection.listener()
		}
		if listener != nil {
			tell(listener)
		}
	})
}

// send says something to the target beside what the client says itself, with the
// headers of the exchange, and returns when it is written. answered is closed when an
// answer begins, or none will come.
func (e *exchange) send(step Step) (answered <-chan struct{}) {
	method, out := http.MethodPost, e.letter(step.Message)
	if step.Request != nil {
		method, out = step.Request.Method, e.letter(nil)
		HeadPlan{Header: step.Request.Header}.changeHeader(out.header)
	}
	came := e.http.send()
	written, done := make(chan struct{}), make(chan struct{})
	isWritten := sync.OnceFunc(func() { close(written) })
	begun := e.http.beside(func() {
		ctx, cancel := context.WithTimeout(e.http.life, postTime)
		defer cancel()
		response, err := e.http.transport.RoundTrip(e.toTarget(onWritten(ctx, isWritten), method, out))
		isWritten()
		close(done)
		came()
		if err == nil {
			_, _ = io.Copy(io.Discard, response.Body) // the client did not send the request
			_ = response.Body.Close()
		}
	})
	if !begun {
		came()
		close(done)
		return done
	}
	<-written
	return done
}

// sendInOrder waits until the target answers.
func (e *exchange) sendInOrder(step Step) {
	select {
	case <-e.send(step):
	case <-e.ctx.Done():
	}
}

// letter is a message, or none, as it is sent with the headers of the exchange.
func (e *exchange) letter(message []byte) *outgoing {
	out := &outgoing{header: e.request.Header.Clone(), host: e.request.Host}
	out.carry(message)
	out.header.Del("Last-Event-Id")
	out.header.Set("Content-Type", jsonMedia)
	out.header.Set("Accept", jsonMedia+", "+eventStreamMedia)
	if message == nil {
		out.header.Del("Content-Type")
	}
	if id := e.connection.sessionID(); id != "" {
		out.header.Set(sessions.Header, id)
	}
	if out.header.Get(transport.MethodHeader) != "" {
		mirrored := transport.Mirrored(jsonrpc.Parse(message))
		mirror(out.header, transport.MethodHeader, mirrored)
		mirror(out.header, transport.NameHeader, mirrored)
	}
	return out
}
