package record

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"net/http"
	"sync"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/sessions"
	"github.com/mcpconform/mcpconform/internal/transport"
)

// outgoing is a request as it is passed on.
type outgoing struct {
	header http.Header
	host   string
	body   io.Reader
	length int64  // of the body; -1 when it is not known
	after  []Step // to be said to the target once the request is written
	said   []Step // messages for the client, before those of the target
	as     string // how the answer is carried
	method string // of the JSON-RPC request in it
	cut    bool   // the connection breaks instead of an answer
}

// carry gives the request another body.
func (o *outgoing) carry(body []byte) {
	o.body = bytes.NewReader(body)
	if o.length >= 0 {
		o.length = int64(len(body))
	}
}

// remirror lets the headers that mirror a body follow when it becomes another: they
// are the transport's, as lengths are. What was wrong before stays.
func remirror(header http.Header, before, after []byte) {
	if bytes.Equal(before, after) || header.Get(transport.MethodHeader) == "" {
		return // nothing has changed, or it is of an era without such headers
	}
	was, is := transport.Mirrored(jsonrpc.Parse(before)), transport.Mirrored(jsonrpc.Parse(after))
	for _, name := range []string{transport.VersionHeader, transport.MethodHeader, transport.NameHeader} {
		if header.Get(name) == was.Get(name) {
			mirror(header, name, is)
		}
	}
}

func mirror(header http.Header, name string, from http.Header) {
	if value := from.Get(name); value != "" {
		header.Set(name, value)
	} else {
		header.Del(name)
	}
}

// receive reads the request and does what is injected into it. It returns nil when
// the request is answered already.
func (e *exchange) receive() (*outgoing, error) {
	r := e.request
	out := &outgoing{header: r.Header.Clone(), host: r.Host, body: r.Body, length: r.ContentLength}
	if given, id := out.header.Get(sessions.Header), e.connection.sessionID(); given != "" && given != id {
		out.header.Set(sessions.Header, id) // the client was told another
	}
	if e.connection.changes == nil {
		if e.connection.log != nil && r.Method == http.MethodPost {
			out.body = &tapped{r.Body, e.bodyTap(protocol.Client, r.ContentLength)}
		}
		return out, nil
	}
	in := &inbox{
		exchange: e,
		out:      out,
		plan:     e.connection.changes.Head(e.head),
		passed:   true,
		ofClient: e.connection.changes.Changed() == In,
	}
	if r.Method == http.MethodPost {
		body, whole, err := readBody(r.Body, e.http.options.Limits.Message)
		if e.recordBody(protocol.Client, body, err != nil); err != nil {
			return nil, err
		}
		if !whole {
			out.body = io.MultiReader(bytes.NewReader(body), r.Body)
		} else if err := in.take(body); err != nil {
			return nil, err
		}
	}
	return in.settle()
}

// readBody reads a body, or its beginning when it is longer than a limit.
func readBody(body io.Reader, limit int) (read []byte, whole bool, err error) {
	read, err = io.ReadAll(io.LimitReader(body, int64(limit)+1))
	return read, len(read) <= limit, err
}

// inbox is a request while its steps are done.
type inbox struct {
	*exchange
	out      *outgoing
	plan     HeadPlan
	ofClient bool   // what is injected is of a client
	body     []byte // as it came
	kind     jsonrpc.Kind
	passed   bool // the request goes to the target
	wait     Wait // first
	answers  bool // a step answers in the place of the target
}

// take does the steps of the message in a POST.
func (i *inbox) take(body []byte) error {
	message := jsonrpc.Parse(body)
	i.body, i.kind, i.out.method, i.passed = body, message.Kind, message.Method, false
	for _, step := range i.connection.changes.Message(Passage{Direction: In, Raw: body, Carried: inBody, Head: &i.head, Exchange: i.stream}) {
		i.plan = i.plan.over(step.Head)
		i.out.as = cmp.Or(step.As, i.out.as)
		i.place(step)
		if step.Cut && i.passed {
			i.out.cut = true // the target gets it
		} else if err := i.ends(step); err != nil {
			return err
		}
	}
	return nil
}

// place puts the message of a step where it belongs.
func (i *inbox) place(step Step) {
	switch {
	case step.Request != nil && i.passed:
		i.out.after = append(i.out.after, step)
	case step.Request != nil:
		i.aside(step)
	case step.Message == nil:
	case step.Direction == Out && step.Stream == "":
		i.answers = i.answers || step.Answers
		i.out.said = append(i.out.said, step)
	case step.Direction == In && !step.Wait.none() && i.ofClient && i.kind != jsonrpc.Request:
		i.aside(step) // the client does not wait for what it says late
	case step.Direction == In && !step.Beside && !i.passed:
		i.passed, i.wait = true, step.Wait
		i.out.carry(step.Message)
		remirror(i.out.header, i.body, step.Message)
	case step.Direction == In && i.passed && i.wait.none() && step.Wait.none():
		i.out.after = append(i.out.after, step)
	case step.Direction == In && step.Wait.none():
		i.sendInOrder(step)
	default:
		i.aside(step)
	}
}

// settle does what is left to do before the request goes out.
func (i *inbox) settle() (*outgoing, error) {
	for _, wait := range []Wait{i.wait, {Time: i.plan.Wait}} {
		if wait.none() {
			continue // what is said is said, even if who said it has left
		}
		if err := wait.done(i.ctx); err != nil {
			return nil, err
		}
	}
	i.reply.change(HeadPlan{Status: i.plan.Status})
	switch {
	case i.plan.Cut:
		return nil, errCut
	case i.plan.Respond != nil:
		return nil, i.reply.respond(i.plan.Respond)
	case i.plan.Drop:
		return nil, errHeld
	case !i.passed:
		return nil, i.unanswered()
	}
	i.out.as = cmp.Or(i.out.as, i.plan.As)
	if i.plan.Body != nil {
		i.out.carry([]byte(*i.plan.Body))
	}
	i.plan.changeHeader(i.out.header)
	i.out.host = cmp.Or(i.out.header.Get("Host"), i.out.host)
	return i.out, nil
}

// unanswered answers, if need be, what the target never sees.
func (i *inbox) unanswered() error {
	request := i.kind == jsonrpc.Request || i.kind == jsonrpc.Batch
	switch {
	case len(i.out.said) > 0:
	case i.plan.Status != 0 || i.plan.Body != nil:
		i.reply.change(i.plan)
		return i.sayPlanned()
	case request:
		return errHeld
	default:
		return i.reply.respond(&Respond{Status: http.StatusAccepted})
	}
	i.reply.is(http.StatusOK, http.Header{"Content-Type": {jsonMedia}})
	err := i.inTurn(func() error { return i.sayAll(i.out.said, i.out.as) })
	if err == nil && request && !i.answers {
		return errHeld
	}
	return err
}

// forward sends the request to the target and returns the head of the answer. The
// target gets the whole request, even if the client leaves meanwhile.
func (e *exchange) forward(out *outgoing) (*http.Response, error) {
	written := make(chan struct{})
	isWritten := sync.OnceFunc(func() { close(written) })
	defer isWritten()
	ctx, leave := context.WithCancelCause(context.WithoutCancel(e.ctx))
	context.AfterFunc(e.ctx, func() {
		select {
		case <-written:
		case <-e.http.life.Done():
		}
		leave(context.Cause(e.ctx))
	})
	came, postAll := func() {}, func() {}
	if len(out.after) > 0 {
		came = e.http.send()
		postAll = sync.OnceFunc(func() {
			begun := e.http.beside(func() {
				defer came()
				for _, step := range out.after {
					e.sendInOrder(step)
				}
			})
			if !begun {
				came()
			}
		})
	}
	ctx = onWritten(ctx, func() {
		isWritten()
		postAll()
	})
	response, err := e.http.transport.RoundTrip(e.toTarget(ctx, e.request.Method, out))
	if err != nil {
		came() // what comes after may never be sent
	}
	return response, err
}

// toTarget makes a request to the target.
func (e *exchange) toTarget(ctx context.Context, method string, out *outgoing) *http.Request {
	address := *e.request.URL
	address.Scheme, address.Host = e.http.upstream.Scheme, e.http.upstream.Host
	out.header.Del("Host")
	if out.header.Get("Upgrade") != "" { // to a protocol that is not supported here
		out.header.Del("Upgrade")
		out.header.Del("Connection")
	}
	if _, sent := out.header["User-Agent"]; !sent {
		out.header["User-Agent"] = nil // else net/http adds its own
	}
	request := (&http.Request{
		Method: method, URL: &address, Host: out.host, Header: out.header,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}).WithContext(ctx)
	if out.length != 0 {
		request.Body, request.ContentLength = io.NopCloser(out.body), out.length
	}
	return request
}
