package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/reports"
)

// passing is what passes between two peers, by name of the connection.
type passing struct {
	*Traffic
	sequence map[string]int
}

func pass() *passing { return &passing{NewTraffic(), map[string]int{}} }

var began = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func (p *passing) event(name string, event transcript.Event) {
	event.Connection, event.Sequence = name, p.sequence[name]
	event.At = began.Add(time.Duration(p.sequence[name]) * time.Second)
	p.sequence[name]++
	p.See(transcript.Header{Transport: protocol.Stdio, Agreement: transcript.Agreement{Revision: revision}}, event)
}

// say lets messages pass: a line that begins with > is the client's, one with < the server's.
func (p *passing) say(name string, lines ...string) {
	for _, line := range lines {
		from := protocol.Client
		if line[0] == '<' {
			from = protocol.Server
		}
		p.event(name, transcript.Event{Kind: transcript.Message, From: from, Raw: []byte(line[1:])})
	}
}

// told are the steps of a connection, in short.
func (p *passing) told(name string, from int) (told []string, left int) {
	steps, left := p.steps(name, from)
	for _, one := range steps {
		told = append(told, strings.TrimSpace(fmt.Sprintf("%d %s %s %s", one.Number, one.From, one.Kind, one.Title)))
	}
	return told, left
}

const answersInitialize = `<{"id":1,"result":{"serverInfo":{"name":"a-server","version":"9"}}}`

func TestTrafficIsTold(t *testing.T) {
	t.Parallel()
	p := pass()
	p.event("one", transcript.Event{Kind: transcript.Open, From: protocol.Client, Note: "to x"})
	p.say("one", ">"+saysInitialize, answersInitialize, ">"+saysInitialized,
		`<{"id":1,"method":"roots/list"}`, `>{"id":1,"error":{"code":-32601}}`, `<{"id":"none","result":{}}`, `>[{}]`, `>nonsense`)
	for _, event := range []transcript.Event{
		{Kind: transcript.Head, From: protocol.Client, HTTP: &transcript.HTTP{Method: "POST"}},
		{Kind: transcript.Head, From: protocol.Server, HTTP: &transcript.HTTP{Status: 200}},
		{Kind: transcript.Head, From: protocol.Server, HTTP: &transcript.HTTP{Status: 404}},
		{Kind: transcript.End, From: protocol.Server, Note: transcript.Complete},
		{Kind: transcript.End, From: protocol.Server, Note: "cut"},
		{Kind: transcript.Body, From: protocol.Server, Raw: []byte("<html>")},
		{Kind: transcript.Stderr, From: protocol.Server, Raw: []byte("warn")},
		{Kind: transcript.Gap, Note: "lost"}, {Kind: transcript.Close, From: protocol.Client},
	} {
		p.event("one", event)
	}
	told, left := p.told("one", 0)
	want := []string{
		"0 client open to x", "1 client message initialize", "2 server message answer to initialize",
		"3 client message notifications/initialized", "4 server message roots/list", "5 client message error for roots/list",
		`6 server message answer to id "none"`, "7 client message a batch", "8 client message not read as a message",
		"9 server head HTTP 404", "10 server end cut", "11 server body no message", "12 server stderr", "13  gap lost",
	}
	if strings.Join(told, "\n") != strings.Join(want, "\n") || left != 0 {
		t.Errorf("told\n%s\nwanted\n%s", strings.Join(told, "\n"), strings.Join(want, "\n"))
	}
	if later, _ := p.told("one", 13); len(later) != 1 {
		t.Errorf("from 13 on: %v", later)
	}
	rows, _ := p.rows()
	if len(rows) != 1 || rows[0].Client != "a-client 7" || rows[0].Server != "a-server 9" || rows[0].Messages != 8 ||
		!rows[0].Over || !rows[0].Judged || rows[0].Speaks != revision+" stdio" {
		t.Errorf("%+v", rows)
	}
	if text, there := p.text("one", 4); !there || text != "{\n  \"id\": 1,\n  \"method\": \"roots/list\"\n}" {
		t.Errorf("%t %q", there, text)
	}
	if text, there := p.text("one", 12); !there || text != "warn" {
		t.Errorf("%t %q", there, text)
	}
}

// A bounded part of what passes is kept, and what is not is counted.
func TestTrafficIsBounded(t *testing.T) {
	t.Parallel()
	p := pass()
	p.say("first", ">"+saysInitialize)
	for number := range 3 * maxShown {
		p.say("many", fmt.Sprintf(`>{"id":%d,"method":%q}`, number, strings.Repeat("m", 500)))
	}
	if told, left := p.told("many", 0); len(told) != maxShown || left != 2*maxShown || !strings.HasPrefix(told[0], "2000 ") {
		t.Errorf("%d are kept, %d left out, first %.20s", len(told), left, told[0])
	}
	if _, there := p.text("many", 0); there {
		t.Error("what is left out is there")
	}
	if one := p.byOne["many"]; len(one.waiting) > maxWaiting {
		t.Errorf("%d requests wait", len(one.waiting))
	}
	for range 2 * maxKept / maxText {
		p.say("large", "<"+strings.Repeat("x", 2*maxText))
	}
	if told, left := p.told("large", 0); p.kept > maxKept || left == 0 || left+len(told) != 2*maxKept/maxText {
		t.Errorf("%d bytes are kept, %d messages, and %d left out", p.kept, len(told), left)
	}
	if told, left := p.told("first", 0); len(told) != 1 || left != 0 {
		t.Errorf("a large connection takes the room of a small one: %v", told)
	}
	if text, _ := p.text("large", 2*maxKept/maxText-1); !strings.HasSuffix(text, fmt.Sprintf("… of %d bytes", 2*maxText)) {
		t.Errorf("%.100q", text[len(text)-50:])
	}
	p.event("large", transcript.Event{Kind: transcript.Close})
	for number := range 2 * maxListed {
		p.say(strconv.Itoa(number), ">"+saysInitialized)
	}
	rows, gone := p.rows()
	if len(rows) != maxListed || len(p.byOne) != maxListed || gone != maxListed+3 {
		t.Errorf("%d are listed, and %d not", len(rows), gone)
	}
	size := 0
	for _, one := range p.all {
		size += one.kept
	}
	if size != p.kept {
		t.Errorf("%d bytes are kept, and %d counted", size, p.kept)
	}
}

// What peers write deceives no reader, and is no HTML: the page writes it as text.
func TestTrafficOfHostilePeers(t *testing.T) {
	t.Parallel()
	p := pass()
	p.say("one", ">"+strings.Replace(saysInitialize, "a-client", `<img src=x>\u202e\u0000`+strings.Repeat("n", 1000), 1),
		`<{"method":"</script>\u001b[31m\n\u202e"}`, "<\x00\xff\u202e", `>{"id":`+strings.Repeat("[", 100000))
	rows, _ := p.rows()
	told, _ := p.told("one", 0)
	text, _ := p.text("one", 2)
	for _, one := range append(told, text, rows[0].Client) {
		if strings.ContainsAny(one, "\x00\x1b\u202e\n") || len(one) > 2*maxTitle {
			t.Errorf("%q", one)
		}
	}
	for _, forbidden := range []string{"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "DOMParser", "eval("} {
		if strings.Contains(trafficScript, forbidden) {
			t.Errorf("the script has %s", forbidden)
		}
	}
}

// shownTraffic is the page of a traffic.
func shownTraffic(t *testing.T, traffic *Traffic, found ...*reports.Run) (*TrafficPage, *served) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	page := NewTrafficPage(traffic, "", func() []*reports.Run { return found })
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- page.Serve(ctx, listener) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return page, &served{t: t, base: "http://" + listener.Addr().String()}
}

func TestTrafficPage(t *testing.T) {
	t.Parallel()
	p := pass()
	page, s := shownTraffic(t, p.Traffic, &reports.Run{
		Target: reports.Target{Role: protocol.ServerRole}, Recorded: &reports.Recorded{Judged: 3},
		Cells: []reports.Cell{{Revision: revision, Transport: "http", Notices: []string{"a notice"}, Results: []reports.Result{
			{Verdict: reports.Passed, Text: "good"},
			{
				Verdict: reports.Failed, Text: "bad", Occurrences: 5, Connections: 2,
				Requirements: []reports.Requirement{{ID: "a.b", Level: reports.Must, Link: "https://x"}},
				Failures:     []reports.Failure{{Wanted: "w", Found: "f\u202e", Where: "/x"}},
			},
		}}},
	})
	ask := func(path string, fields url.Values) (value map[string]any) {
		t.Helper()
		got := s.do(http.MethodGet, page.Path()+path+"?"+fields.Encode(), "", nil)
		if got.status != http.StatusOK || json.Unmarshal([]byte(got.text), &value) != nil ||
			got.header.Get("Content-Type") != "application/json" || got.header.Get("Cache-Control") != "no-store" ||
			got.header.Get("Cross-Origin-Resource-Policy") != "same-origin" {
			t.Fatalf("%s: %+v", path, got)
		}
		return value
	}
	if now := ask("now", nil); fmt.Sprint(now["connections"], now["steps"]) != "[] []" {
		t.Errorf("%v", now)
	}
	p.say("a b", ">"+saysInitialize)
	p.say("a b", answersInitialize)
	now := ask("now", url.Values{"of": {"a b"}, "from": {"1"}})
	if steps := now["steps"].([]any); len(steps) != 1 || steps[0].(map[string]any)["title"] != "answer to initialize" {
		t.Errorf("%v", steps)
	}
	found := now["findings"].(map[string]any)
	of := fmt.Sprint(found[protocol.ServerRole])
	want := "map[broken:[map[cell:2025-11-25 http connections:2 found:f\\u202e link:https://x requirement:a.b MUST text:bad times:5 verdict:failed wanted:w where:/x]] judged:3 notices:[a notice]]"
	if of != want || found[protocol.ClientRole] == nil {
		t.Errorf("found %s", of)
	}
	if got := s.do(http.MethodGet, page.Path()+"text?of=a+b&number=0", "", nil); !strings.Contains(got.text, `\"clientInfo\": {`) {
		t.Errorf("%+v", got)
	}
	shown := s.do(http.MethodGet, page.Path(), "", nil)
	for _, text := range []string{styleText + trafficStyle, trafficScript} {
		if !strings.Contains(shown.text, ">"+text+"</") || !strings.Contains(shown.header.Get("Content-Security-Policy"), digest(text)) {
			t.Errorf("the policy does not allow what stands in the page: %.40q", text)
		}
	}
	for name, one := range map[string]struct {
		method, path, host string
		status             int
	}{
		"a name that leads here":  {http.MethodGet, page.Path(), "evil.example", http.StatusForbidden},
		"what passes, by it":      {http.MethodGet, page.Path() + "now", "evil.example:80", http.StatusForbidden},
		"localhost":               {http.MethodGet, page.Path(), "localhost:1", http.StatusOK},
		"without the key":         {http.MethodGet, "/", "", http.StatusNotFound},
		"with another key":        {http.MethodGet, "/abc/", "", http.StatusNotFound},
		"what passes, without it": {http.MethodGet, "/abc/now", "", http.StatusNotFound},
		"no such message":         {http.MethodGet, page.Path() + "text?of=a+b&number=7", "", http.StatusNotFound},
		"no number":               {http.MethodGet, page.Path() + "text?of=a+b", "", http.StatusNotFound},
		"no such connection":      {http.MethodGet, page.Path() + "text?of=c&number=0", "", http.StatusNotFound},
		"a negative number":       {http.MethodGet, page.Path() + "now?of=a+b&from=-5", "", http.StatusOK},
		"another method":          {http.MethodPost, page.Path(), "", http.StatusMethodNotAllowed},
	} {
		header := map[string]string{}
		if one.host != "" {
			header["Host"] = one.host
		}
		if got := s.do(one.method, one.path, "", header); got.status != one.status {
			t.Errorf("%s: HTTP %d, want %d", name, got.status, one.status)
		}
	}
}
