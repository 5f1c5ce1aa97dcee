package record_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpconform/mcpconform/internal/fault"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/record"
)

// script is a server that answers by method, in a session if it is asked for one:
// ping with JSON, tools/call with events, GET with a stream that stays open.
type script struct {
	mu  sync.Mutex
	got []string // bodies of POSTs, with the session that they name
	new chan struct{}
}

func newScript() *script { return &script{new: make(chan struct{})} }

func (s *script) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	session := r.Header.Get("Mcp-Session-Id")
	if r.Method == http.MethodPost {
		s.mu.Lock()
		s.got = append(s.got, strings.TrimSpace(session+" "+string(body)))
		close(s.new)
		s.new = make(chan struct{})
		s.mu.Unlock()
	}
	message := jsonrpc.Parse(body)
	w.Header().Set("Date", "")
	switch {
	case r.Method == http.MethodGet:
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, ": welcome\n\n")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	case message.Kind != jsonrpc.Request:
		w.WriteHeader(http.StatusAccepted)
	case message.Method == "initialize":
		w.Header().Set("Mcp-Session-Id", "real")
		fallthrough
	case message.Method == "ping":
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{}}`, message.ID)
	default:
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = fmt.Fprintf(w, "id: 1\ndata:\n\nid: 2\ndata: %s\n\nid: 3\ndata: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{}}\n\n", progress, message.ID)
	}
}

const progress = `{"jsonrpc":"2.0","method":"notifications/progress"}`

// received waits until so many POSTs have come, and returns them all.
func (s *script) received(count int) []string {
	for {
		s.mu.Lock()
		got, more := slices.Clone(s.got), s.new
		s.mu.Unlock()
		if len(got) >= count {
			return got
		}
		<-more
	}
}

// injection makes one of changes.
func injection(t *testing.T, changes string) fault.Injection {
	t.Helper()
	faults, err := fault.Parse("test.yaml", []byte("- id: test\n  says: x\n"+changes))
	if err != nil {
		t.Fatal(err)
	}
	return fault.Injection{Faults: faults}
}

// faulty stands a middleman with changes before a script.
func faulty(t *testing.T, changes string) (*script, string) {
	t.Helper()
	target := newScript()
	served := httptest.NewServer(target)
	t.Cleanup(served.CloseClientConnections)
	return target, before(t, served.Listener.Addr().String(), record.HTTPOptions{Changes: injection(t, changes).Changes()})
}

const (
	call   = `{"jsonrpc":"2.0","id":1,"method":"tools/call"}`
	answer = `{"jsonrpc":"2.0","id":1,"result":{}}`
	ready  = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	extra  = `{"jsonrpc":"2.0","method":"x"}`
	events = "id: 1\ndata:\n\nid: 2\ndata: " + progress + "\n\nid: 3\ndata: " + answer + "\n\n"
)

// one is a change as a file has it.
func one(when, do string) string { return "  when: {" + when + "}\n  do: [" + do + "]\n" }

func TestHTTPChanges(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change  string
		request string
		want    string // status, media type, body
		got     []string
	}{
		"edited JSON": {one("response-to: ping", "{replace: /result, with: 1}"), ping,
			`200 application/json {"id":1,"jsonrpc":"2.0","result":1}`, []string{ping}},
		"edited event": {one("response-to: tools/call", "{replace: /result, with: 1}"), call,
			"200 text/event-stream " + strings.Replace(events, answer, `{"id":1,"jsonrpc":"2.0","result":1}`, 1), []string{call}},
		"edited request": {one("direction: in, method: ping", "{replace: /method, with: initialize}"), ping,
			"200 application/json " + answer, []string{`{"id":1,"jsonrpc":"2.0","method":"initialize"}`}},
		"event dropped":         {one("method: notifications/progress", "{drop: true}"), call, "200 text/event-stream " + strings.Replace(events, "id: 2\ndata: "+progress+"\n\n", "", 1), []string{call}},
		"block dropped":         {one("direction: out, kind: invalid, carried: post", "{drop: true}"), call, "200 text/event-stream " + strings.Replace(events, "id: 1\ndata:\n\n", "", 1), []string{call}},
		"answered":              {one("direction: in, method: ping", "{answer: {a: 1}}"), ping, `200 application/json {"id":1,"jsonrpc":"2.0","result":{"a":1}}`, nil},
		"refused":               {one("direction: in, method: ping", "{refuse: {code: 1}}"), ping, `200 application/json {"error":{"code":1},"id":1,"jsonrpc":"2.0"}`, nil},
		"refused with status":   {one("direction: in, method: ping", "{refuse: {code: 1}}, {status: 400}"), ping, `400 application/json {"error":{"code":1},"id":1,"jsonrpc":"2.0"}`, nil},
		"answered as events":    {one("direction: in, method: ping", "{answer: {}}, {as: events}"), ping, "200 text/event-stream data: {\"id\":1,\"jsonrpc\":\"2.0\",\"result\":{}}\n\n", nil},
		"notification dropped":  {one("direction: in, kind: notification", "{drop: true}"), ready, "202  ", nil},
		"dropped with a status": {one("direction: in, kind: notification", "{drop: true}, {status: 400}, {body: no}"), ready, "400  no", nil},
		"one more after":        {one("response-to: ping", "{send: {x: 1}}"), ping, "200 text/event-stream data: " + answer + "\n\ndata: {\"x\":1}\n\n", []string{ping}},
		"one more before":       {one("response-to: ping", "{send: {x: 1}, place: before}"), ping, "200 text/event-stream data: {\"x\":1}\n\ndata: " + answer + "\n\n", []string{ping}},
		"one more event": {one("response-to: tools/call", "{send: {x: 1}, place: before}"), call,
			"200 text/event-stream " + strings.Replace(events, "id: 3", "data: {\"x\":1}\n\nid: 3", 1), []string{call}},
		"one more at the request":      {one("direction: in, method: ping", "{send: {x: 1}, direction: out}"), ping, "200 text/event-stream data: {\"x\":1}\n\ndata: " + answer + "\n\n", []string{ping}},
		"one more at a notification":   {one("direction: in, kind: notification", "{send: {x: 1}, direction: out}"), ready, "200 text/event-stream data: {\"x\":1}\n\n", []string{ready}},
		"repeated":                     {one("response-to: ping", "{repeat: 1}"), ping, "200 text/event-stream data: " + answer + "\n\ndata: " + answer + "\n\n", []string{ping}},
		"event repeated":               {one("method: notifications/progress", "{repeat: 1}"), call, "200 text/event-stream " + strings.Replace(events, "id: 2\ndata: "+progress+"\n\n", strings.Repeat("id: 2\ndata: "+progress+"\n\n", 2), 1), []string{call}},
		"request repeated":             {one("direction: in, method: ping", "{repeat: 1}"), ping, "200 application/json " + answer, []string{ping, ping}},
		"another before the request":   {one("direction: in, method: ping", "{send: {jsonrpc: '2.0', method: x}, place: before}"), ping, "200 application/json " + answer, []string{extra, ping}},
		"another after the request":    {one("direction: in, method: ping", "{send: {jsonrpc: '2.0', method: x}}"), ping, "200 application/json " + answer, []string{ping, extra}},
		"another in the request's way": {one("direction: in, method: ping", "{drop: true}, {answer: {}}, {send: {jsonrpc: '2.0', method: x}}"), ping, `200 application/json {"id":1,"jsonrpc":"2.0","result":{}}`, []string{extra}},
		"answered by the middleman":    {one("method: notifications/progress", "{send: {jsonrpc: '2.0', method: x}, direction: in}"), call, "200 text/event-stream " + events, []string{call, extra}},
		"status":                       {one("response-to: ping", "{status: 418}"), ping, "418 application/json " + answer, []string{ping}},
		"status of a head":             {one("direction: out, http: {method: POST}", "{status: 418}"), call, "418 text/event-stream " + events, []string{call}},
		"status of events":             {one("method: notifications/progress", "{status: 418}"), call, "200 text/event-stream " + events, []string{call}}, // the head was written
		"status by the first event":    {one("direction: out, kind: invalid, carried: post", "{status: 418}"), call, "418 text/event-stream " + events, []string{call}},
		"media type":                   {one("response-to: ping", "{header: {Content-Type: text/plain}}"), ping, "200 text/plain " + answer, []string{ping}},
		"no media type":                {one("direction: out, http: {}", "{header: {Content-Type: null}}"), call, "200  " + events, []string{call}},
		"body":                         {one("response-to: ping", "{body: oh}"), ping, "200 application/json oh", []string{ping}},
		"body of events":               {one("direction: out, http: {}", "{body: oh}"), call, "200 text/event-stream oh", []string{call}},
		"answer dropped for a status":  {one("response-to: ping", "{drop: true}, {status: 202}"), ping, "202 application/json ", []string{ping}},
		"made up":                      {one("direction: in, http: {method: POST}", "{respond: {status: 404, header: {X: y}, body: gone}}"), ping, "404  gone", nil},
		"made up for a message":        {one("direction: in, method: ping", "{respond: {status: 404}}"), ping, "404  ", nil},
		"as JSON":                      {one("direction: out, http: {}", "{as: json}"), call, "200 application/json " + answer, []string{call}},
		"as events":                    {one("response-to: ping", "{as: events}"), ping, "200 text/event-stream data: " + answer + "\n\n", []string{ping}},
		"fields of an event": {one("method: notifications/progress", "{event: {id: '', name: x, retry: '5', comment: hi}}"), call,
			"200 text/event-stream " + strings.Replace(events, "id: 2\n", ": hi\nid: \nevent: x\nretry: 5\n", 1), []string{call}},
		"no id":               {one("method: notifications/progress", "{event: {no-id: true}}"), call, "200 text/event-stream " + strings.Replace(events, "id: 2\n", "", 1), []string{call}},
		"bare fields":         {one("method: notifications/progress", `{event: {comment: ": x", bare: true}}`), call, "200 text/event-stream " + strings.Replace(events, "id: 2\ndata: "+progress, ":: x\nid:2\ndata:"+progress, 1), []string{call}},
		"other line ends":     {one("method: notifications/progress", `{rewrite: lines}, {event: {end: "\r"}}`), call, "200 text/event-stream " + strings.Replace(events, "id: 2\ndata: "+progress+"\n\n", strings.ReplaceAll("id: 2\ndata: {\ndata:   \"jsonrpc\": \"2.0\",\ndata:   \"method\": \"notifications/progress\"\ndata: }\n\n", "\n", "\r"), 1), []string{call}},
		"a header longer":     {one("response-to: ping", "{header: {content-type: '%s; charset=utf-8'}}"), ping, "200 application/json; charset=utf-8 " + answer, []string{ping}},
		"text of an event":    {one("method: notifications/progress", `{event-text: "data:%s\r\r"}`), call, "200 text/event-stream " + strings.Replace(events, "id: 2\ndata: "+progress+"\n\n", "data:"+progress+"\r\r", 1), []string{call}},
		"several lines":       {one("method: notifications/progress", `{substitute: ',', by: "\n,"}`), call, "200 text/event-stream " + strings.Replace(events, `"2.0",`, "\"2.0\"\ndata: ,", 1), []string{call}},
		"cut":                 {one("response-to: ping", "{cut: true, place: before}"), ping, "silence", []string{ping}},
		"cut after":           {one("response-to: ping", "{cut: true}"), ping, "200 application/json " + answer, []string{ping}},
		"request cut":         {one("direction: in, method: ping", "{cut: true, place: before}"), ping, "silence", nil},
		"request passed, cut": {one("direction: in, method: ping", "{cut: true}"), ping, "silence", []string{ping}},
		"events cut":          {one("method: notifications/progress", "{cut: true}"), call, "200 text/event-stream " + strings.SplitAfter(events, progress)[0] + "\n\n and cut", []string{call}},
		"head cut":            {one("direction: in, http: {}", "{cut: true}"), ping, "silence", nil},
		"events closed":       {one("method: notifications/progress", "{close: true}"), call, "200 text/event-stream " + strings.SplitAfter(events, progress)[0] + "\n\n", []string{call}},
		"in pieces":           {one("response-to: ping", "{chunk: 1}"), ping, "200 application/json " + answer, []string{ping}},
		"events in pieces":    {one("direction: out, http: {}", "{chunk: 1}"), call, "200 text/event-stream " + events, []string{call}},
		"delayed":             {one("method: notifications/progress", "{delay: 1ms}"), call, "200 text/event-stream " + events, []string{call}},
		"held until another": {one("method: notifications/progress", "{hold: {response-to: tools/call}}"), call,
			"200 text/event-stream id: 1\ndata:\n\nid: 3\ndata: " + answer + "\n\nid: 2\ndata: " + progress + "\n\n", []string{call}},
		"exit": {one("direction: in, method: ping", "{exit: 3}"), ping, "silence", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			target, address := faulty(t, test.change)
			found := ask(t, address, post(test.request))
			text := fmt.Sprintf("%d %s %s", found.Status, found.Header.Get("Content-Type"), found.Body)
			switch {
			case found.Silent:
				text = "silence"
			case found.Cut:
				text += " and cut"
			}
			if name == "delayed" { // that others overtake it depends on the time
				text, test.want = sorted(text), sorted(test.want)
			}
			if diff := cmp.Diff(test.want, text); diff != "" {
				t.Errorf("wanted - found +\n%s", diff)
			}
			got := target.received(len(test.got))
			if name == "another after the request" || name == "request repeated" { // each on a connection of its own
				slices.Sort(got)
				slices.Sort(test.got)
			}
			if diff := cmp.Diff(test.got, got); diff != "" {
				t.Errorf("of what the target gets: wanted - found +\n%s", diff)
			}
		})
	}
}

func sorted(text string) string {
	lines := strings.Split(text, "\n\n")
	slices.Sort(lines)
	return strings.Join(lines, "\n\n")
}
