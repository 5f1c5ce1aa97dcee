package client_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpconform/mcpconform/reference/client"
	"github.com/mcpconform/mcpconform/reference/server"
)

type object = map[string]any

// An outcome is one line of what the client reports.
type outcome struct {
	Step    int
	Outcome string
	Result  json.RawMessage
	Error   string
}

// lines collects what is written, from several sides at once.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(text)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// run lets a client do its steps, and returns the outcomes by step.
func run(t *testing.T, options client.Options, steps string) map[int]outcome {
	t.Helper()
	outcomes, err := tryRun(t, options, steps)
	if err != nil {
		t.Fatalf("%v; the outcomes are %v", err, outcomes)
	}
	return outcomes
}

func tryRun(t *testing.T, options client.Options, steps string) (map[int]outcome, error) {
	t.Helper()
	var told, log lines
	options.Steps, options.Report = []byte(steps), &told
	if options.Log == nil {
		options.Log = &log
	}
	if options.Timeouts.Request == 0 {
		options.Timeouts.Request = 10 * time.Second
	}
	if options.Timeouts.Probe == 0 {
		options.Timeouts.Probe = 10 * time.Second
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	err := client.Run(ctx, options)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("outcomes:\n%s\nlog:\n%s", told.String(), log.String())
		}
	})
	outcomes := map[int]outcome{}
	for line := range strings.Lines(told.String()) {
		var one outcome
		if err := json.Unmarshal([]byte(line), &one); err != nil {
			t.Fatalf("the outcome %q: %v", line, err)
		}
		outcomes[one.Step] = one
	}
	return outcomes, err
}

// done wants a step to have succeeded, and returns its result as text.
func (o outcome) done(t *testing.T) string {
	t.Helper()
	if o.Outcome != "done" {
		t.Errorf("step %d: %q: %s", o.Step, o.Outcome, o.Error)
	}
	return string(o.Result)
}

// says wants the result of a step to contain a text.
func (o outcome) says(t *testing.T, text string) {
	t.Helper()
	if result := o.done(t); !strings.Contains(result, text) {
		t.Errorf("step %d: %s does not contain %s", o.Step, result, text)
	}
}

// failed wants a step to have failed with a text in its error.
func (o outcome) failed(t *testing.T, text string) {
	t.Helper()
	if o.Outcome != "failed" || !strings.Contains(o.Error, text) {
		t.Errorf("step %d: %q %s, with the error %q, which should contain %q", o.Step, o.Outcome, o.Result, o.Error, text)
	}
}

func newServer(t *testing.T, options server.Options) *server.Server {
	t.Helper()
	s, err := server.New(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// overHTTP is the way to the reference server over HTTP.
func overHTTP(t *testing.T, options server.Options) client.Options {
	t.Helper()
	s := httptest.NewServer(newServer(t, options).Handler())
	t.Cleanup(s.Close)
	return client.Options{URL: s.URL + "/mcp"}
}

// overStdio is the way to the reference server over pipes.
func overStdio(t *testing.T, options server.Options) client.Options {
	t.Helper()
	s := newServer(t, options)
	return client.Options{Dial: dial(s.ServeStdio)}
}

// A pipe is a process that is none: a function at the other end of two pipes.
type pipe struct {
	io.Reader
	io.WriteCloser
	output *io.PipeReader
	exited chan struct{}
	cancel context.CancelFunc

	mu    sync.Mutex
	asked []string // in which order it was asked to end
}

func dial(serve func(ctx context.Context, in io.Reader, out io.Writer) error) func(context.Context) (client.Process, error) {
	return func(context.Context) (client.Process, error) { return start(serve), nil }
}

func start(serve func(ctx context.Context, in io.Reader, out io.Writer) error) *pipe {
	in, input := io.Pipe()
	output, out := io.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	p := &pipe{Reader: output, WriteCloser: input, output: output, exited: make(chan struct{}), cancel: cancel}
	go func() {
		err := serve(ctx, in, out)
		_ = in.CloseWithError(errors.New("the process has exited"))
		_ = out.CloseWithError(errors.Join(err, io.EOF))
		close(p.exited)
	}()
	return p
}

func (p *pipe) note(what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = append(p.asked, what)
}

func (p *pipe) Close() error {
	p.note("close")
	return p.WriteCloser.Close()
}

func (p *pipe) Terminate() error {
	p.note("terminate")
	return nil
}

func (p *pipe) Kill() error {
	p.note("kill")
	p.cancel()
	return p.output.Close()
}

func (p *pipe) Wait() error {
	<-p.exited
	return nil
}

// A visit is one HTTP request of the client, and what answers it.
type visit struct {
	*http.Request
	http.ResponseWriter
	message object // of a POST
}

func (v visit) is(method string) bool { return v.message["method"] == method }

// answer answers the request with a result.
func (v visit) answer(result any) {
	v.Header().Set("Content-Type", "application/json")
	_, _ = v.Write(encode(object{"jsonrpc": "2.0", "id": v.message["id"], "result": result}))
}

func (v visit) fail(status int, failure any) {
	v.Header().Set("Content-Type", "application/json")
	v.WriteHeader(status)
	_, _ = v.Write(encode(object{"jsonrpc": "2.0", "id": v.message["id"], "error": failure}))
}

// stream begins a stream; each text is written to it as it is.
func (v visit) stream(texts ...string) {
	v.Header().Set("Content-Type", "text/event-stream")
	for _, text := range texts {
		_, _ = io.WriteString(v, text)
		_ = http.NewResponseController(v.ResponseWriter).Flush()
	}
}

func (v visit) Header() http.Header { return v.ResponseWriter.Header() }

func (v visit) Write(text []byte) (int, error) { return v.ResponseWriter.Write(text) }

// event is a message as an event of a stream.
func event(message any) string { return "data: " + string(encode(message)) + "\n\n" }

func encode(value any) []byte {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return text
}

// A script is a server over HTTP that a test writes, and the record of what came.
type script struct {
	url string

	mu     sync.Mutex
	visits []visit
}

// scripted serves the visits with a function.
func scripted(t *testing.T, serve func(v visit)) *script {
	t.Helper()
	s := &script{}
	listener := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v := visit{Request: r, ResponseWriter: w}
		body, _ := io.ReadAll(r.Body)
		if r.Method == http.MethodPost {
			if err := json.Unmarshal(body, &v.message); err != nil {
				t.Errorf("the body %q: %v", body, err)
			}
		}
		s.mu.Lock()
		s.visits = append(s.visits, v)
		s.mu.Unlock()
		serve(v)
	}))
	t.Cleanup(func() {
		listener.CloseClientConnections()
		listener.Close()
	})
	s.url = listener.URL
	return s
}

// all are the visits so far.
func (s *script) all() []visit {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]visit{}, s.visits...)
}

// of are the messages of a method so far.
func (s *script) of(method string) []visit {
	var some []visit
	for _, v := range s.all() {
		if v.is(method) {
			some = append(some, v)
		}
	}
	return some
}

// methods are the methods of HTTP and of messages, in order.
func (s *script) methods() []string {
	var all []string
	for _, v := range s.all() {
		method, isText := v.message["method"].(string)
		switch {
		case isText:
			all = append(all, method)
		case v.message != nil:
			all = append(all, "response")
		default:
			all = append(all, v.Method)
		}
	}
	return all
}

// A talker is a server over stdio that a test writes, and the record of what
// came, from all of its processes.
type talker struct {
	mu        sync.Mutex
	messages  []object
	processes []*pipe
}

// errExit makes a process of a talker exit.
var errExit = errors.New("the process exits")

// talking serves each message of the client with a function, which says what to
// answer.
func talking(t *testing.T, serve func(m object, say func(any)) error) (*talker, client.Options) {
	t.Helper()
	s := &talker{}
	one := func(_ context.Context, in io.Reader, out io.Writer) error {
		say := func(message any) { _, _ = out.Write(append(encode(message), '\n')) }
		take := func(m object) error {
			s.mu.Lock()
			s.messages = append(s.messages, m)
			s.mu.Unlock()
			return serve(m, say)
		}
		decoder := json.NewDecoder(in)
		for going := true; going; {
			var m object
			going = decoder.Decode(&m) == nil && take(m) == nil
		}
		return nil
	}
	return s, client.Options{Dial: func(context.Context) (client.Process, error) {
		p := start(one)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.processes = append(s.processes, p)
		return p, nil
	}}
}

// of are the messages of a method so far; "" are the responses.
func (s *talker) of(method string) []object {
	s.mu.Lock()
	defer s.mu.Unlock()
	var some []object
	for _, m := range s.messages {
		if named, _ := m["method"].(string); named == method {
			some = append(some, m)
		}
	}
	return some
}

func (s *talker) methods() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []string
	for _, m := range s.messages {
		method, _ := m["method"].(string)
		all = append(all, method)
	}
	return all
}

// to answers a message with a result.
func to(m object, result any) object {
	return object{"jsonrpc": "2.0", "id": m["id"], "result": result}
}

// no answers a message with an error.
func no(m object, code int, message string) object {
	return object{"jsonrpc": "2.0", "id": m["id"], "error": object{"code": code, "message": message}}
}

// ask is a request of the server.
func ask(id any, method string, params object) object {
	m := notice(method, params)
	m["id"] = id
	return m
}

func notice(method string, params object) object {
	m := object{"jsonrpc": "2.0", "method": method}
	if params != nil {
		m["params"] = params
	}
	return m
}

// everything is what a server may declare.
var everything = object{
	"tools": object{"listChanged": true}, "prompts": object{}, "resources": object{"subscribe": true},
	"completions": object{}, "logging": object{}, "extensions": object{"io.modelcontextprotocol/tasks": object{}},
	"tasks": object{"list": object{}, "cancel": object{}, "requests": object{"tools": object{"call": object{}}}},
}

// hello answers what opens a connection, of whichever era, at one revision.
func hello(m object, revision string) (object, bool) {
	switch {
	case m["method"] == "initialize" && revision < client.Revision20260728:
		return to(m, object{"protocolVersion": revision, "capabilities": everything, "serverInfo": object{"name": "script", "version": "1"}}), true
	case m["method"] == "server/discover" && revision >= client.Revision20260728:
		return to(m, object{"resultType": "complete", "supportedVersions": []string{revision}, "capabilities": everything, "ttlMs": 0, "cacheScope": "public"}), true
	case m["method"] == "server/discover" || m["method"] == "initialize":
		return no(m, -32601, "Method not found"), true
	}
	return nil, false
}

// text is the result of a tool.
func text(words string) object {
	return object{"content": []object{{"type": "text", "text": words}}}
}

// param is a member of the params of a message.
func param(m object, path ...string) any {
	at := m["params"]
	for _, name := range path {
		members, _ := at.(object)
		at = members[name]
	}
	return at
}

// raw is JSON as it is.
func raw(text string) json.RawMessage { return json.RawMessage(text) }
