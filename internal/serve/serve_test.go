package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/mcpconform/mcpconform/internal/contact"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/runner"
	"github.com/mcpconform/mcpconform/internal/scenario"
	"github.com/mcpconform/mcpconform/internal/worker"
	"github.com/mcpconform/mcpconform/reference/client"
	"github.com/mcpconform/mcpconform/reports"
)

// TestMain lets this test binary take the place of mcpconform as a worker.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == worker.Command {
		if err := worker.Work(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

const revision = "2025-11-25"

// served is a serving that is under way.
type served struct {
	t       *testing.T
	judging *runner.Judging
	base    string
	lines   chan string
	stop    context.CancelFunc
	ended   chan struct{}
	found   *reports.Run
	err     error
}

// begin serves on a free port until the test ends, or it is told to stop.
func begin(t *testing.T, options runner.Options) *served {
	t.Helper()
	options.Tool = reports.Tool{Name: "test", Version: "1"}
	judging, err := runner.NewJudging(options, revision)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &served{
		t: t, judging: judging, base: "http://" + listener.Addr().String(), lines: make(chan string, 100), ended: make(chan struct{}),
	}
	ctx, stop := context.WithCancel(t.Context())
	s.stop = stop
	go func() {
		defer close(s.ended)
		s.found, s.err = Serve(ctx, Options{Judging: judging, Listener: listener, Tell: func(scenario, found string) { s.lines <- scenario + ": " + found }})
	}()
	t.Cleanup(func() {
		stop()
		<-s.ended
	})
	return s
}

// end stops the serving and returns what was found.
func (s *served) end() (*reports.Run, error) {
	s.stop()
	<-s.ended
	return s.found, s.err
}

// answer is what came back of a request.
type answer struct {
	status int
	header http.Header
	text   string
}

func (s *served) do(method, path, body string, header map[string]string) answer {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), method, s.base+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	for name, value := range header {
		if name == "Host" {
			request.Host = value
		}
		request.Header.Set(name, value)
	}
	response, err := http.DefaultTransport.RoundTrip(request) // which follows nothing
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return answer{status: response.StatusCode, header: response.Header, text: string(text)}
}

func (s *served) page() string {
	s.t.Helper()
	return s.do(http.MethodGet, "/", "", nil).text
}

// say sends messages as a client does, on one session.
func (s *served) say(path string, messages ...string) {
	s.t.Helper()
	header := map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
	for _, message := range messages {
		answered := s.do(http.MethodPost, path, message, header)
		if session := answered.header.Get("Mcp-Session-Id"); session != "" {
			header["Mcp-Session-Id"], header["Mcp-Protocol-Version"] = session, revision
		}
	}
}

// judged waits until something is told of a scenario in which a text stands: before
// that, the client may have been caught in the middle of it.
func (s *served) judged(scenario, text string) {
	s.t.Helper()
	for {
		select {
		case line := <-s.lines:
			if strings.HasPrefix(line, scenario+": ") && strings.Contains(line, text) {
				return
			}
		case <-s.ended:
			s.t.Fatalf("it has ended, and told nothing of %s with %q: %v", scenario, text, s.err)
		}
	}
}

func (s *served) shows(page string, parts ...string) {
	s.t.Helper()
	for _, part := range parts {
		if !strings.Contains(page, part) {
			s.t.Errorf("the page does not show %q", part)
		}
	}
	if s.t.Failed() {
		s.t.Log(page)
	}
}

const (
	saysInitialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",` +
		`"capabilities":{},"clientInfo":{"name":"a-client","version":"7"}}}`
	saysInitialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	saysList        = `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`
)

// meeting are options by which little is served.
var meeting = runner.Options{Filter: "base.components.required||lifecycle.initialized.sent"}

func TestThePageSaysWhatToDo(t *testing.T) {
	t.Parallel()
	s := begin(t, runner.Options{})
	s.shows(s.page(), "revision <strong>2025-11-25</strong>", s.base+"/mcp",
		scenario.Meeting.Says, s.base+"/scenarios/meeting/mcp", "<li>list the tools, to the end</li>",
		s.judging.Scenes()[0].Checks[0].Text, "not played yet")
}

func TestThePageGroupsTheScenarios(t *testing.T) {
	t.Parallel()
	s := begin(t, runner.Options{})
	page := s.page()
	in := map[string]string{} // the group of each scenario
	var order []string
	for _, part := range strings.Split(page, `<details class="group" id="group-`)[1:] {
		group, rest, _ := strings.Cut(part, `"`)
		for _, scenario := range strings.Split(rest, `id="scenario-`)[1:] {
			name, text, _ := strings.Cut(scenario, `"`)
			if in[name] != "" {
				t.Errorf("%s stands on the page twice", name)
			}
			in[name] = group
			order = append(order, name)
			steps := strings.Count(text[:max(0, strings.Index(text, "</ol>"))], "<li>")
			if open := strings.Contains(text, `id="steps-`+name+`" open>`); open != (steps > 0 && steps <= longest) {
				t.Errorf("%s: %d steps, open %t", name, steps, open)
			}
			s.shows(text, `data-copy="address-`+name+`"`)
		}
	}
	if len(in) != len(s.judging.Scenes()) || order[0] != scenario.Meeting.Name {
		t.Errorf("%d of %d scenarios, first %s", len(in), len(s.judging.Scenes()), order[0])
	}
	for name, group := range map[string]string{
		"meeting": "connect", "sampling-with-tools": "answers", "elicitation-forms": "answers", "cancelled-calls": "cancel",
		"structured-results": "tools", "resource-templates": "resources", "completions": "prompts", "lists-in-pages": "lists",
	} {
		if in[name] != group {
			t.Errorf("%s stands in the group %q, wanted %q", name, in[name], group)
		}
	}
	s.shows(page, `id="group-connect" open>`, `id="group-tools">`, `<input type="search" id="search"`)
}

func TestThePageShowsWhatWasFound(t *testing.T) {
	t.Parallel()
	s := begin(t, meeting)

	s.say("/scenarios/meeting/mcp", saysInitialize, saysInitialized, saysList)

	s.judged("meeting", " 0 failed")
	s.shows(s.page(), "1 of 1 scenarios played so far", "✓ 1 passed", "Seen: 3 messages of the client in 1 session.")

	found, err := s.end()
	if err != nil {
		t.Fatal(err)
	}
	if !found.Conforms(false) || found.Cells[0].Target.Name != "a-client" || found.Interrupted != "" {
		t.Errorf("%+v", found)
	}
}

func TestTheOrdinaryServerIsTheMeeting(t *testing.T) {
	t.Parallel()
	s := begin(t, meeting)
	s.say("/mcp", saysInitialize, saysInitialized, saysList)
	s.judged("meeting", " 0 failed")
	s.shows(s.page(), "✓ 1 passed")
}

func TestAFailureIsExplained(t *testing.T) {
	t.Parallel()
	s := begin(t, meeting)
	s.say("/mcp", saysInitialize, saysList)
	s.judged("meeting", " 1 failed")
	s.shows(s.page(), "✗ 1 failed", "<dd>notifications/initialized after the answer to initialize</dd>",
		"lifecycle.initialized.sent, MUST", "this is it")
	if found, err := s.end(); err != nil || found.Conforms(false) {
		t.Errorf("%v", err)
	}
}

func TestAHostileClientWritesNoHTML(t *testing.T) {
	t.Parallel()
	s := begin(t, runner.Options{})
	s.say("/mcp", strings.ReplaceAll(saysInitialize, "a-client", `<img src=x onerror=alert(1)>`), saysInitialized,
		`{"jsonrpc":"2.0","id":null,"method":"</script><script>alert(2)</script>\u202e\u001b[31m"}`,
		`{"jsonrpc":"<b>","id":"\"><svg onload=alert(3)>","method":"tools/list"}`)
	page := ""
	for !strings.Contains(page, "&lt;script") {
		s.judged("meeting", "failed")
		page = s.page()
	}
	for _, raw := range []string{"<img", "<svg", "<b>", "<script>alert", "\x1b", "\u202e"} {
		if strings.Contains(page, raw) {
			t.Errorf("%q stands in the page", raw)
		}
	}
	if count := strings.Count(page, "<script"); count != 1 {
		t.Errorf("%d scripts", count)
	}
}

func TestAClientThatDoesNotSpeakTheRevisionIsNotJudged(t *testing.T) {
	t.Parallel()
	s := begin(t, meeting)
	s.say("/mcp", `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{}}}`)
	s.judged("meeting", "not spoken: the client did not send initialize, but server/discover; serve another revision")
	s.shows(s.page(), "? not judged", "serve another revision with --revision")
	if found, err := s.end(); err != nil || found.Conforms(false) || found.Cells[0].Spoken {
		t.Errorf("%v %+v", err, found)
	}
}

func TestStartOverForgetsWhatCame(t *testing.T) {
	t.Parallel()
	s := begin(t, meeting)
	s.say("/mcp", saysInitialize, saysList)
	s.judged("meeting", " 1 failed")

	again := s.do(http.MethodPost, "/scenarios/meeting/again", "", nil)

	if again.status != http.StatusSeeOther || again.header.Get("Location") != "/#scenario-meeting" {
		t.Errorf("%+v", again)
	}
	s.shows(s.page(), "not played yet", "0 of 1 scenarios")
	s.say("/mcp", saysInitialize, saysInitialized, saysList)
	s.judged("meeting", " 0 failed")
	if found, err := s.end(); err != nil || !found.Conforms(false) {
		t.Errorf("%v", err)
	}
}

func TestFinishOnThePageEndsIt(t *testing.T) {
	t.Parallel()
	s := begin(t, meeting)
	s.say("/mcp", saysInitialize, saysInitialized, saysList)

	finished := s.do(http.MethodPost, "/finish", "", nil)

	s.shows(finished.text, "<strong>Finished.</strong>")
	<-s.ended
	if s.err != nil || !s.found.Conforms(false) {
		t.Errorf("%v %+v", s.err, s.found)
	}
	if _, err := net.Dial("tcp", strings.TrimPrefix(s.base, "http://")); err == nil {
		t.Error("somebody listens still")
	}
}

func TestOpenStreamsDoNotHoldTheEnd(t *testing.T) {
	t.Parallel()
	s := begin(t, meeting)
	s.say("/mcp", saysInitialize, saysInitialized, saysList)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.base+"/mcp", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Accept", "text/event-stream")
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("%+v", response)
	}
	if _, err := s.end(); err != nil {
		t.Error(err)
	}
}

func TestNobodyCame(t *testing.T) {
	t.Parallel()
	_, err := begin(t, meeting).end()
	if _, expected := errors.AsType[*contact.TargetError](err); !expected {
		t.Errorf("%T %v", err, err)
	}
}

func TestWhoIsLetIn(t *testing.T) {
	t.Parallel()
	s := begin(t, meeting)
	for name, one := range map[string]struct {
		method, path string
		header       map[string]string
		status       int
	}{
		"the page":                             {http.MethodGet, "/", nil, http.StatusOK},
		"the page by name":                     {http.MethodGet, "/", map[string]string{"Host": "localhost:80"}, http.StatusOK},
		"the page by an address":               {http.MethodGet, "/", map[string]string{"Host": "[::1]:80"}, http.StatusOK},
		"the page by a name that leads here":   {http.MethodGet, "/", map[string]string{"Host": "evil.example"}, http.StatusForbidden},
		"a scenario by a name that leads here": {http.MethodPost, "/mcp", map[string]string{"Host": "evil.example:7777"}, http.StatusForbidden},
		"a scenario from a web site":           {http.MethodPost, "/mcp", map[string]string{"Origin": "https://evil.example"}, http.StatusForbidden},
		"a scenario from nowhere":              {http.MethodPost, "/mcp", map[string]string{"Origin": "null"}, http.StatusForbidden},
		"a scenario from an empty Origin":      {http.MethodPost, "/mcp", map[string]string{"Origin": ""}, http.StatusForbidden},
		"a scenario from a foreign address":    {http.MethodPost, "/mcp", map[string]string{"Origin": "http://203.0.113.7"}, http.StatusForbidden},
		"a scenario from the address 0.0.0.0":  {http.MethodPost, "/mcp", map[string]string{"Origin": "http://0.0.0.0:8000"}, http.StatusForbidden},
		"a scenario from a foreign network":    {http.MethodPost, "/scenarios/meeting/mcp", map[string]string{"Origin": "http://[2001:db8::7]:7777"}, http.StatusForbidden},
		"a scenario from a name like ours":     {http.MethodPost, "/mcp", map[string]string{"Origin": "http://localhost.evil.example"}, http.StatusForbidden},
		"a scenario from its own address":      {http.MethodDelete, "/mcp", map[string]string{"Origin": "http://192.0.2.9:7777", "Host": "192.0.2.9:7777"}, http.StatusMethodNotAllowed},
		"a scenario from loopback":             {http.MethodDelete, "/mcp", map[string]string{"Origin": "http://[::1]:6274"}, http.StatusMethodNotAllowed},
		"a scenario from an editor":            {http.MethodDelete, "/mcp", map[string]string{"Origin": "vscode-file://vscode-app"}, http.StatusMethodNotAllowed},
		"a scenario from a local page":         {http.MethodDelete, "/mcp", map[string]string{"Origin": "http://localhost:6274"}, http.StatusMethodNotAllowed},
		"the end from a web site":              {http.MethodPost, "/finish", map[string]string{"Sec-Fetch-Site": "cross-site"}, http.StatusForbidden},
		"starting over from a web site":        {http.MethodPost, "/scenarios/meeting/again", map[string]string{"Origin": "https://evil.example"}, http.StatusForbidden},
		"the end by a link":                    {http.MethodGet, "/finish", nil, http.StatusMethodNotAllowed},
		"no such scenario":                     {http.MethodPost, "/scenarios/none/mcp", nil, http.StatusNotFound},
		"no such scenario to start over":       {http.MethodPost, "/scenarios/none/again", nil, http.StatusNotFound},
		"what is not there":                    {http.MethodGet, "/.well-known/oauth-protected-resource", nil, http.StatusNotFound},
	} {
		if answered := s.do(one.method, one.path, "", one.header); answered.status != one.status {
			t.Errorf("%s: HTTP %d, want %d", name, answered.status, one.status)
		}
	}
}

func TestThePageLoadsNothingAndIsCached(t *testing.T) {
	t.Parallel()
	s := begin(t, meeting)
	first := s.do(http.MethodGet, "/", "", nil)
	for _, text := range []string{styleText, scriptText} {
		if !strings.Contains(first.text, ">"+text+"</") || !strings.Contains(first.header.Get("Content-Security-Policy"), digest(text)) {
			t.Errorf("the policy does not allow what stands in the page: %.40q", text)
		}
	}
	for _, loading := range []string{" src=", "@import", "url("} {
		if strings.Contains(first.text, loading) {
			t.Errorf("the page has %q", loading)
		}
	}
	again := s.do(http.MethodGet, "/", "", map[string]string{"If-None-Match": first.header.Get("ETag")})
	if again.status != http.StatusNotModified || again.text != "" {
		t.Errorf("HTTP %d", again.status)
	}
}

func TestBodiesAreBoundedTogether(t *testing.T) {
	t.Parallel()
	all := &bodies{}
	all.left.Store(10)
	read := func(text string) (*body, error) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		one := all.of(request)
		_, err = io.ReadAll(one)
		return one, err
	}
	first, err := read("seven b")
	if err != nil {
		t.Error(err)
	}
	second, err := read("four")
	if !errors.Is(err, errBodies) {
		t.Error(err)
	}
	second.release()
	if third, err := read("one"); err != nil {
		t.Error(err)
	} else {
		third.release()
	}
	first.release()
	if left := all.left.Load(); left != 10 {
		t.Errorf("%d are left", left)
	}
}

func TestAFloodIsBounded(t *testing.T) {
	t.Parallel()
	s := begin(t, meeting)
	s.say("/mcp", saysInitialize, saysInitialized, saysList)
	s.judged("meeting", " 0 failed")
	long := `{"jsonrpc":"2.0","method":"notifications/x","params":{"text":"` + strings.Repeat("x", 1<<20) + `"}}`
	for range 12 { // more than one scenario has room for
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.base+"/mcp", strings.NewReader(long))
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultTransport.RoundTrip(request)
		if err == nil { // else the flood was cut off
			_ = response.Body.Close()
		}
	}
	found, err := s.end()
	if err != nil || len(found.Errors) > 0 {
		t.Errorf("%v %+v", err, found)
	}
}

// Over HTTP with SSE a scenario has a stream, and an endpoint beside it.
func TestServesOverHTTPWithSSE(t *testing.T) {
	t.Parallel()
	s := begin(t, runner.Options{Filter: "lifecycle", Transports: []string{protocol.SSE}})
	if page := s.page(); !strings.Contains(page, s.base+"/scenarios/meeting/sse") {
		t.Errorf("the page does not name the stream: %s", page)
	}
	err := client.Run(t.Context(), client.Options{
		URL: s.base + "/scenarios/lifecycle-granting-server/sse", SSE: true, Revision: revision, Steps: scenario.Meeting.Steps.JSON(),
	})
	if err != nil {
		t.Fatal(err)
	}
	s.judged("lifecycle-granting-server", " 0 failed")
	if answered := s.do(http.MethodPost, "/scenarios/lifecycle-granting-server/mcp", "{}", nil); answered.status != http.StatusNotFound {
		t.Errorf("Streamable HTTP is answered with %d", answered.status)
	}
}
