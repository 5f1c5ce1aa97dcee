package record

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/transport"
)

// answer passes the response of the target on.
func (e *exchange) answer(out *outgoing, response *http.Response) error {
	e.reply.is(response.StatusCode, response.Header)
	if e.connection.changes == nil {
		return e.passUnread(response, response.Body)
	}
	a := &answer{exchange: e, response: response, said: out.said, asked: out.method, as: out.as}
	a.head = Head{
		Direction: Out, Method: e.request.Method, URL: e.request.URL, Status: response.StatusCode,
		Header: response.Header, Request: e.request.Header,
	}
	plan := e.connection.changes.Head(a.head)
	e.reply.change(plan)
	a.as = cmp.Or(a.as, plan.As)
	if err := (Wait{Time: plan.Wait}).done(e.ctx); err != nil {
		return err
	}
	switch {
	case plan.Cut:
		return errCut
	case plan.Body != nil:
		return e.reply.whole([]byte(*plan.Body), 0)
	}
	return a.pass()
}

// answer is a response of the target, seen by one who changes messages.
type answer struct {
	*exchange
	response *http.Response
	head     Head
	asked    string // method of the JSON-RPC request that it answers
	said     []Step // to be said first
	as       string // how it is to be carried
}

func (a *answer) pass() error {
	media := transport.MediaType(a.response.Header.Get("Content-Type"))
	encoding := a.response.Header.Get("Content-Encoding")
	readable := a.request.Method != http.MethodHead && (encoding == "" || encoding == "identity")
	switch {
	case readable && media == eventStreamMedia:
		return a.passEvents()
	case readable && media == jsonMedia:
		return a.inTurn(a.passBody)
	case len(a.said) > 0:
		a.reply.status = http.StatusOK
		return a.inTurn(func() error { return a.sayAll(a.said, asEvents) })
	}
	return a.passUnread(a.response, a.response.Body)
}

// readSize is how much of a body is passed on at once, at most.
const readSize = 32 << 10

// passUnread passes on a body as it comes.
func (e *exchange) passUnread(response *http.Response, body io.Reader) error {
	return e.passPieces(response, body, e.tapOf(response))
}

// passPieces passes on a body as it comes, each piece after the tap was told of it.
func (e *exchange) passPieces(response *http.Response, body io.Reader, tap tapping) error {
	trailer := response.Trailer
	for name := range trailer {
		e.reply.header.Add("Trailer", name)
	}
	defer tap.End(io.ErrUnexpectedEOF)
	if response.Body == http.NoBody {
		e.recordEnd(nil) // before the client can go on
	}
	if err := e.reply.begin(); err != nil {
		return err
	}
	buffer := make([]byte, readSize)
	for {
		n, err := body.Read(buffer)
		if tap.Take(buffer[:n]); errors.Is(err, io.EOF) {
			tap.End(nil)
			e.recordEnd(nil)
		}
		if err := e.reply.write(buffer[:n], 0); err != nil {
			return err
		}
		switch {
		case errors.Is(err, io.EOF):
			maps.Copy(e.reply.writer.Header(), response.Trailer)
			return nil
		case err != nil:
			return err
		}
	}
}

// passBody passes on an answer that is one JSON body.
func (a *answer) passBody() error {
	body, whole, err := readBody(a.response.Body, a.http.options.Limits.Message)
	switch {
	case err != nil: // what came of it is passed on, and the break
		a.recordBody(protocol.Server, body, true)
		_ = a.reply.write(body, 0)
		return err
	case !whole:
		return a.passUnread(a.response, io.MultiReader(bytes.NewReader(body), a.response.Body))
	case len(body) == 0:
		return a.passUnread(a.response, bytes.NewReader(nil))
	}
	a.recordBody(protocol.Server, body, false)
	a.recordEnd(nil)
	steps := a.connection.changes.Message(
		Passage{Direction: Out, Raw: body, Carried: inBody, Head: &a.head, Exchange: a.stream},
	)
	return a.sayAll(slices.Concat(a.said, steps), a.as)
}

// sayAll answers with messages that are all known: one is the body, more are
// events of a stream.
func (e *exchange) sayAll(steps []Step, as string) error {
	spoken := 0
	for _, step := range steps {
		e.reply.change(step.Head)
		e.reply.change(HeadPlan{KeepOpen: step.KeepOpen})
		as = cmp.Or(step.As, as)
		if step.here() {
			spoken++
		}
	}
	switch {
	case spoken == 1 && as != asEvents:
		return e.sayOne(steps)
	case spoken > 0 && as == asJSON:
		return e.sayOne(onlyResponse(steps))
	case spoken > 0:
		e.reply.stream()
		if err := e.reply.begin(); err != nil {
			return err
		}
		return e.say(steps, nil)
	}
	if err := e.say(steps, nil); err != nil {
		return err
	}
	if plan := e.reply.plan; plan.Body != nil || plan.Status != 0 {
		return e.sayPlanned()
	}
	return errHeld
}

// sayPlanned answers with no message, but as the plan of the head says.
func (e *exchange) sayPlanned() error {
	body := ""
	if e.reply.plan.Body != nil {
		body = *e.reply.plan.Body
	}
	return e.reply.whole([]byte(body), 0)
}

// sayOne answers with the one message for the client in the body; a step with it
// that waits is overtaken by all others.
func (e *exchange) sayOne(steps []Step) error {
	slices.SortStableFunc(steps, compareWaits)
	for _, step := range steps {
		if !step.here() {
			e.aside(step)
		} else if err := e.sayBody(step); err != nil {
			return err
		}
		if err := e.ends(step); err != nil {
			return err
		}
	}
	return nil
}

func compareWaits(one, other Step) int {
	waits := func(step Step) int {
		if step.here() && !step.Wait.none() {
			return 1
		}
		return 0
	}
	return waits(one) - waits(other)
}

func (e *exchange) sayBody(step Step) error {
	if err := step.Wait.done(e.ctx); err != nil {
		return err
	}
	if e.reply.plan.Body != nil {
		return e.sayPlanned()
	}
	if transport.MediaType(e.reply.header.Get("Content-Type")) != jsonMedia { // it was an event stream
		e.reply.header.Set("Content-Type", jsonMedia)
	}
	return e.reply.whole(step.Message, step.Chunk)
}

// onlyResponse leaves out what a JSON answer has no room for.
func onlyResponse(steps []Step) []Step {
	found := false
	return slices.DeleteFunc(slices.Clone(steps), func(step Step) bool {
		if !step.here() {
			return false
		}
		first := !found && jsonrpc.Parse(step.Message).Kind == jsonrpc.Response
		found = found || first
		return !first
	})
}
