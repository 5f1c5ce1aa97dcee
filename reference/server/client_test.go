package server_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/mcpconform/mcpconform/reference/server"
)

// patience is how long a test waits for what must come: long enough for a
// loaded machine, and never used up by a test that passes.
const patience = 10 * time.Second

// sessionRevisions are those of the handshake era.
var sessionRevisions = []string{server.Revision20250618, server.Revision20251125}

type object = map[string]any

// A client is the other end of one session. It answers requests of the server
// as its answers say, and keeps what else it hears.
type client struct {
	t        *testing.T
	revision string
	wire     wire
	answers  map[string]func(params object) (result object, err object)
	lastID   int
	heard    []object          // notifications and requests, in order
	asked    map[string]string // methods of requests, by id as JSON
	early    []object          // responses that came before the test waits for them

	capabilities object // what each request declares, from 2026-07-28
}

// A wire carries raw messages over one of the transports.
type wire interface {
	send(message string)
	inbox() <-chan []byte
	close()
}

// newServer makes a server that logs nothing and never pings by itself.
func newServer(t *testing.T, options server.Options) *server.Server {
	t.Helper()
	options.PingInterval = -1
	s, err := server.New(options)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// inBothEras runs a test at every revision over every transport.
func inBothEras(t *testing.T, test func(t *testing.T, connect func(capabilities object) *client)) {
	everywhere(t, test)
	at(t, server.Revision20260728, test)
}

// everywhere runs a test at every revision of the handshake era over every
// transport.
func everywhere(t *testing.T, test func(t *testing.T, connect func(capabilities object) *client)) {
	for _, revision := range sessionRevisions {
		at(t, revision, test)
	}
}

// at runs a test at one revision over every transport.
func at(t *testing.T, revision string, test func(t *testing.T, connect func(capabilities object) *client)) {
	for transport, dial := range map[string]func(*testing.T, *server.Server, string) wire{"stdio": dialStdio, "http": dialHTTP} {
		t.Run(revision+"/"+transport, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, server.Options{})
			test(t, func(capabilities object) *client {
				t.Helper()
				c := &client{t: t, revision: revision, wire: dial(t, s, revision), asked: map[string]string{},
					answers: map[string]func(object) (object, object){}}
				t.Cleanup(c.wire.close)
				c.initialize(capabilities)
				return c
			})
		})
	}
}

func (c *client) initialize(capabilities object) {
	c.t.Helper()
	if c.stateless() {
		c.capabilities = capabilities
		return
	}
	result := c.call("initialize", object{
		"protocolVersion": c.revision,
		"capabilities":    capabilities,
		"clientInfo":      object{"name": "test", "version": "1"},
	})
	if got := result["protocolVersion"]; got != c.revision {
		c.t.Fatalf("protocolVersion is %v, not %s", got, c.revision)
	}
	c.notify("notifications/initialized", nil)
	if h, ok := c.wire.(*httpWire); ok {
		h.listen("")
	}
}

func (c *client) stateless() bool { return c.revision >= server.Revision20260728 }

// described adds to params what each request says of itself.
func (c *client) described(params object) object {
	meta := object{
		"io.modelcontextprotocol/protocolVersion":    c.revision,
		"io.modelcontextprotocol/clientInfo":         object{"name": "test", "version": "1"},
		"io.modelcontextprotocol/clientCapabilities": c.capabilities,
	}
	given, _ := params["_meta"].(object)
	maps.Copy(meta, given)
	described := object{"_meta": meta}
	for name, value := range params {
		if name != "_meta" {
			described[name] = value
		}
	}
	return described
}

func encode(t *testing.T, value any) string {
	t.Helper()
	raw, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func (c *client) notify(method string, params object) {
	c.t.Helper()
	message := object{"jsonrpc": "2.0", "method": method}
	if params != nil {
		message["params"] = params
	}
	c.wire.send(encode(c.t, message))
}

// start sends a request and returns its id.
func (c *client) start(method string, params object) int {
	c.t.Helper()
	c.lastID++
	message := object{"jsonrpc": "2.0", "id": c.lastID, "method": method}
	if c.stateless() {
		params = c.described(params)
	}
	if params != nil {
		message["params"] = params
	}
	c.asked[strconv.Itoa(c.lastID)] = method
	c.wire.send(encode(c.t, message))
	return c.lastID
}

// next receives one message, and answers it if it is a request.
func (c *client) next() object {
	c.t.Helper()
	select {
	case raw, ok := <-c.wire.inbox():
		if !ok {
			c.t.Fatal("the server has ended the connection")
		}
		c.checkSchema(raw)
		var m object
		decoder := json.NewDecoder(bytes.NewReader(raw))
		decoder.UseNumber()
		if err := decoder.Decode(&m); err != nil {
			c.t.Fatalf("not a JSON object: %s", raw)
		}
		if method, _ := m["method"].(string); method != "" {
			c.heard = append(c.heard, m)
			if id, isRequest := m["id"]; isRequest {
				c.reply(method, id, m)
			}
		}
		return m
	case <-time.After(patience):
		c.t.Fatalf("nothing came; heard so far: %v", c.methods())
		return nil
	}
}

func (c *client) reply(method string, id any, m object) {
	answer, known := c.answers[method]
	if !known {
		c.t.Errorf("the server asks %s, which was not expected", method)
		return
	}
	if answer == nil {
		return // a client that keeps silent
	}
	params, _ := m["params"].(object)
	result, failure := answer(params)
	response := object{"jsonrpc": "2.0", "id": id, "result": result}
	if failure != nil {
		response = object{"jsonrpc": "2.0", "id": id, "error": failure}
	}
	c.wire.send(encode(c.t, response))
}

// response receives until the response with the id.
func (c *client) response(id any) object {
	c.t.Helper()
	for i, m := range c.early {
		if fmt.Sprint(m["id"]) == fmt.Sprint(id) {
			c.early = append(c.early[:i:i], c.early[i+1:]...)
			return m
		}
	}
	for {
		m := c.next()
		if m["method"] == nil {
			if fmt.Sprint(m["id"]) == fmt.Sprint(id) {
				return m
			}
			c.early = append(c.early, m)
		}
	}
}

// call sends a request and returns its result. What a result asks for is
// answered, and the request sent again.
func (c *client) call(method string, params object) object {
	c.t.Helper()
	for {
		result := c.once(method, params)
		if result["resultType"] != "input_required" {
			return result
		}
		params = c.retry(params, result)
	}
}

// once sends a request and returns its result of any resultType, without a retry.
func (c *client) once(method string, params object) object {
	c.t.Helper()
	m := c.response(c.start(method, params))
	if m["error"] != nil {
		c.t.Fatalf("%s is answered with the error %v", method, m["error"])
	}
	return m["result"].(object)
}

// retry answers what a result asks for, and returns the params to come again with.
func (c *client) retry(params, result object) object {
	c.t.Helper()
	again := maps.Clone(params)
	delete(again, "requestState")
	if state, given := result["requestState"]; given {
		again["requestState"] = state
	}
	answers := object{}
	questions, _ := result["inputRequests"].(object)
	for key, q := range questions {
		q := q.(object)
		answer, known := c.answers[q["method"].(string)]
		if !known {
			c.t.Fatalf("the server asks %v, which was not expected", q)
		}
		asked, _ := q["params"].(object)
		answers[key], _ = answer(asked)
	}
	again["inputResponses"] = answers
	return again
}

// cancel gives up a request: by a notification or, from 2026-07-28 over HTTP, by
// closing the stream of the response.
func (c *client) cancel(id int) {
	c.t.Helper()
	if h, ok := c.wire.(*httpWire); ok && c.stateless() {
		h.abandon(id)
		return
	}
	c.notify("notifications/cancelled", object{"requestId": id, "reason": "a test"})
}

// fails sends a request that must be answered with an error of the code.
func (c *client) fails(code int, method string, params object) object {
	c.t.Helper()
	m := c.response(c.start(method, params))
	failure, _ := m["error"].(object)
	if fmt.Sprint(failure["code"]) != strconv.Itoa(code) {
		c.t.Errorf("%s %v is answered with %v, not the error %d", method, params, m, code)
	}
	return failure
}

// tool calls a tool and returns its result.
func (c *client) tool(name string, arguments object) object {
	c.t.Helper()
	params := object{"name": name}
	if arguments != nil {
		params["arguments"] = arguments
	}
	return c.call("tools/call", params)
}

// hears receives until it has heard the method, and returns the message.
func (c *client) hears(method string) object {
	c.t.Helper()
	for {
		for i, m := range c.heard {
			if m["method"] == method {
				c.heard = append(c.heard[:i:i], c.heard[i+1:]...)
				return m
			}
		}
		if m := c.next(); m["method"] == nil {
			c.early = append(c.early, m)
		}
	}
}

func (c *client) methods() []string {
	var methods []string
	for _, m := range c.heard {
		methods = append(methods, m["method"].(string))
	}
	return methods
}

// firstText is the text of the first content block of a tool result.
func firstText(result object) string {
	content, _ := result["content"].([]any)
	if len(content) == 0 {
		return ""
	}
	text, _ := content[0].(object)["text"].(string)
	return text
}

// The wire of stdio.
type stdioWire struct {
	t     *testing.T
	in    *io.PipeWriter
	lines chan []byte
	done  chan error
}

func dialStdio(t *testing.T, s *server.Server, _ string) wire {
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	w := &stdioWire{t: t, in: toServer, lines: make(chan []byte, 1000), done: make(chan error, 1)}
	go func() {
		w.done <- s.ServeStdio(context.Background(), in, out)
		_ = out.Close()
	}()
	go func() {
		defer close(w.lines)
		scanner := bufio.NewScanner(fromServer)
		scanner.Buffer(nil, 16<<20)
		for scanner.Scan() {
			w.lines <- bytes.Clone(scanner.Bytes())
		}
	}()
	return w
}

func (w *stdioWire) send(message string) {
	if _, err := io.WriteString(w.in, message+"\n"); err != nil {
		w.t.Errorf("cannot write: %v", err)
	}
}

func (w *stdioWire) inbox() <-chan []byte { return w.lines }

func (w *stdioWire) close() {
	_ = w.in.Close()
	select {
	case err := <-w.done:
		if err != nil {
			w.t.Errorf("ServeStdio: %v", err)
		}
	case <-time.After(patience):
		w.t.Error("the server does not end when its input does")
	}
}

// The wire of HTTP. What comes over any stream goes to one inbox.
type httpWire struct {
	t        *testing.T
	url      string
	revision string
	messages chan []byte
	ctx      context.Context
	stop     func()
	readers  sync.WaitGroup

	mu       sync.Mutex
	session  string
	inFlight map[int]func() // ends requests, by their id
}

func dialHTTP(t *testing.T, s *server.Server, revision string) wire {
	web := httptest.NewServer(s.Handler())
	ctx, cancel := context.WithCancel(context.Background())
	w := &httpWire{t: t, url: web.URL + "/mcp", revision: revision, messages: make(chan []byte, 1000), ctx: ctx,
		inFlight: map[int]func(){}}
	w.stop = func() {
		cancel()
		w.readers.Wait()
		s.Close()
		web.Close()
	}
	return w
}

func (w *httpWire) inbox() <-chan []byte { return w.messages }

func (w *httpWire) close() { w.stop() }

// do sends one HTTP request with the headers that a good client sends. A
// header that is given replaces it; an empty one removes it.
func (w *httpWire) do(method, body string, headers ...string) *http.Response {
	w.t.Helper()
	r, err := http.NewRequestWithContext(w.ctx, method, w.url, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	if w.revision >= server.Revision20260728 {
		r = w.describe(r, body)
	}
	w.mu.Lock()
	if w.session != "" {
		r.Header.Set("Mcp-Session-Id", w.session)
		r.Header.Set("Mcp-Protocol-Version", w.revision)
	}
	w.mu.Unlock()
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i < len(headers); i += 2 {
		switch {
		case headers[i] == "Host":
			r.Host = headers[i+1]
		case headers[i+1] == "":
			r.Header.Del(headers[i])
		default:
			r.Header.Set(headers[i], headers[i+1])
		}
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		if !errors.Is(err, context.Canceled) {
			w.t.Errorf("%s: %v", method, err)
		}
		return nil
	}
	return response
}

// describe gives a request the headers that repeat its body, and a way to end it.
func (w *httpWire) describe(r *http.Request, body string) *http.Request {
	var m struct {
		ID     int
		Method string
		Params struct{ Name, URI, TaskID string }
	}
	_ = json.Unmarshal([]byte(body), &m) // tests send anything
	r.Header.Set("Mcp-Protocol-Version", w.revision)
	r.Header.Set("Mcp-Method", m.Method)
	if name := m.Params.Name + m.Params.URI + m.Params.TaskID; name != "" && m.Method != "completion/complete" {
		r.Header.Set("Mcp-Name", name)
	}
	ctx, end := context.WithCancel(r.Context())
	w.mu.Lock()
	defer w.mu.Unlock()
	w.inFlight[m.ID] = end
	return r.WithContext(ctx)
}

func (w *httpWire) abandon(id int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.inFlight[id]()
}

// send posts a message. An answer in JSON is read at once, a stream beside.
func (w *httpWire) send(message string) {
	response := w.do(http.MethodPost, message)
	if response == nil {
		return
	}
	if id := response.Header.Get("Mcp-Session-Id"); id != "" {
		w.mu.Lock()
		w.session = id
		w.mu.Unlock()
	}
	w.read(response)
}

// listen opens a GET stream, from the event id if there is one.
func (w *httpWire) listen(lastEventID string) {
	response := w.do(http.MethodGet, "", "Last-Event-ID", lastEventID) //nolint:bodyclose // read closes it
	if response == nil {
		return
	}
	w.read(response)
}

func (w *httpWire) read(response *http.Response) {
	switch response.Header.Get("Content-Type") {
	case "text/event-stream":
		w.readers.Go(func() { w.readStream(response.Body) })
	case "application/json":
		raw, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if err != nil {
			w.t.Errorf("cannot read: %v", err)
		}
		w.messages <- raw
	default:
		_ = response.Body.Close()
		if response.StatusCode != http.StatusAccepted {
			w.t.Errorf("status %s", response.Status)
		}
	}
}

// readStream passes on messages. When the server sends it away it comes back.
func (w *httpWire) readStream(body io.ReadCloser) {
	var last sseEvent
	for e := range sseEvents(body) {
		last = e
		if e.data != "" {
			w.messages <- []byte(e.data)
		}
	}
	_ = body.Close()
	if last.retry != "" && w.ctx.Err() == nil {
		w.listen(last.id)
	}
}

type sseEvent struct{ id, data, retry string }

// sseEvents reads an event stream to its end.
func sseEvents(body io.Reader) func(yield func(sseEvent) bool) {
	return func(yield func(sseEvent) bool) {
		scanner := bufio.NewScanner(body)
		scanner.Buffer(nil, 16<<20)
		var e sseEvent
		for scanner.Scan() {
			name, value, _ := strings.Cut(scanner.Text(), ": ")
			switch name {
			case "":
				if !yield(e) {
					return
				}
				e = sseEvent{}
			case "id":
				e.id = value
			case "data":
				e.data = value
			case "retry":
				e.retry = value
			}
		}
	}
}

// checkSchema checks a message of the server against the published schema,
// when that is at hand.
func (c *client) checkSchema(raw []byte) {
	c.t.Helper()
	directory := os.Getenv("MCP_SCHEMA_DIR")
	if directory == "" {
		return
	}
	message, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		c.t.Fatalf("not JSON: %s", raw)
	}
	m := message.(object)
	name, part := "JSONRPCErrorResponse", message
	if c.revision < server.Revision20251125 {
		name = "JSONRPCError"
		if id, ok := m["id"]; ok && id == nil {
			return // JSON-RPC wants null here, the schema does not know it
		}
	}
	if method, ok := m["method"].(string); ok {
		if method == "notifications/tasks" {
			return // the extension has no schema
		}
		name = definitionOf(method)
	} else if result, ok := m["result"]; ok {
		name, part = resultOf(c.asked[fmt.Sprint(m["id"])], result.(object)), result
	}
	schema, err := definition(directory, c.revision, name)
	if err != nil {
		c.t.Fatalf("schema of %s: %v", name, err)
	}
	if err := schema.Validate(part); err != nil {
		c.t.Errorf("not a valid %s: %s\n%v", name, raw, err)
	}
}

func definitionOf(method string) string {
	return map[string]string{
		"notifications/message":                    "LoggingMessageNotification",
		"notifications/progress":                   "ProgressNotification",
		"notifications/cancelled":                  "CancelledNotification",
		"notifications/tools/list_changed":         "ToolListChangedNotification",
		"notifications/resources/list_changed":     "ResourceListChangedNotification",
		"notifications/prompts/list_changed":       "PromptListChangedNotification",
		"notifications/resources/updated":          "ResourceUpdatedNotification",
		"notifications/tasks/status":               "TaskStatusNotification",
		"notifications/elicitation/complete":       "ElicitationCompleteNotification",
		"sampling/createMessage":                   "CreateMessageRequest",
		"elicitation/create":                       "ElicitRequest",
		"roots/list":                               "ListRootsRequest",
		"ping":                                     "PingRequest",
		"notifications/subscriptions/acknowledged": "SubscriptionsAcknowledgedNotification",
		"tasks/get":                                "GetTaskRequest",
		"tasks/result":                             "GetTaskPayloadRequest",
		"tasks/cancel":                             "CancelTaskRequest",
	}[method]
}

func resultOf(method string, result object) string {
	if _, isTask := result["task"]; isTask {
		return "CreateTaskResult"
	}
	switch kind, _ := result["resultType"].(string); {
	case kind == "input_required":
		return "InputRequiredResult"
	case kind == "task", kind != "" && strings.HasPrefix(method, "tasks/"):
		return "Result" // the extension has no schema
	}
	if name, known := map[string]string{
		"initialize":               "InitializeResult",
		"server/discover":          "DiscoverResult",
		"subscriptions/listen":     "SubscriptionsListenResult",
		"tools/list":               "ListToolsResult",
		"tools/call":               "CallToolResult",
		"resources/list":           "ListResourcesResult",
		"resources/templates/list": "ListResourceTemplatesResult",
		"resources/read":           "ReadResourceResult",
		"prompts/list":             "ListPromptsResult",
		"prompts/get":              "GetPromptResult",
		"completion/complete":      "CompleteResult",
		"tasks/get":                "GetTaskResult",
		"tasks/list":               "ListTasksResult",
		"tasks/result":             "CallToolResult",
		"tasks/cancel":             "CancelTaskResult",
	}[method]; known {
		return name
	}
	return "EmptyResult"
}

var compiled sync.Map // from revision and name to func() (*jsonschema.Schema, error)

func definition(directory, revision, name string) (*jsonschema.Schema, error) {
	compile, _ := compiled.LoadOrStore(revision+" "+name, sync.OnceValues(func() (*jsonschema.Schema, error) {
		place := "#/$defs/"
		if revision < server.Revision20251125 {
			place = "#/definitions/"
		}
		return jsonschema.NewCompiler().Compile(filepath.Join(directory, revision, "schema.json") + place + name)
	}))
	return compile.(func() (*jsonschema.Schema, error))()
}
