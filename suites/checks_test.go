package suites_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/clientrun"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/offer"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/scenario"
	"github.com/mcpconform/mcpconform/internal/scope"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/internal/session"
	"github.com/mcpconform/mcpconform/internal/survey"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/suites"
)

// checkOf is the check of a role whose text begins so.
func checkOf(t *testing.T, role, text string) *check.Declaration {
	t.Helper()
	checks := suites.Checks(role)
	at := slices.IndexFunc(checks, func(one *check.Declaration) bool { return strings.HasPrefix(one.Text, text) })
	if at < 0 {
		t.Fatalf("no check of a %s is called %q", role, text)
	}
	return checks[at]
}

// judge runs one check in an environment, without a run.
func judge(t *testing.T, environment *session.Environment, declared *check.Declaration) check.Outcome {
	t.Helper()
	requirements, err := suites.Catalogue()
	if err != nil {
		t.Fatal(err)
	}
	environment.Catalogue, environment.Process = requirements, scope.NewProcess("")
	running := environment.Begin(t.Context(), declared)
	running.Run(func() {
		offer.PassGates(running)
		declared.Body(running)
	})
	outcome, _ := session.End(running, false)
	session.Finish(environment)
	return outcome
}

// answers are the results, or errors, of a small server, by method.
type answers map[string]string

func (a answers) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, _ := io.ReadAll(request.Body) // a body that is cut off is no message
	sent := jsonrpc.Parse(body)
	switch {
	case request.Method != http.MethodPost:
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	case sent.Kind != jsonrpc.Request:
		w.WriteHeader(http.StatusAccepted)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	answer, known := a[sent.Method]
	switch {
	case !known && sent.Method == "initialize":
		answer = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"prompts":{},"resources":{},"completions":{},"logging":{}},"serverInfo":{"name":"s","version":"1"}}`
	case !known && sent.Method == "ping":
		answer = `{}`
	case !known:
		_, _ = w.Write(jsonrpc.NewError(sent.ID, jsonrpc.MethodNotFound, "no "+sent.Method))
		return
	}
	if code, message, isError := strings.Cut(answer, " "); isError && strings.HasPrefix(code, "-") {
		number, _ := json.Number(code).Int64()
		_, _ = w.Write(jsonrpc.NewError(sent.ID, number, message))
		return
	}
	_, _ = w.Write([]byte(`{"jsonrpc":"2.0","id":` + sent.ID.String() + `,"result":` + answer + `}`))
}

// Checks of servers, each on a server of a few answers: good ones, and one that breaks it.
func TestChecksOfServers(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		text   string
		server answers
		ending check.Ending
		found  string
	}{
		{"answers ping with an empty result", nil, check.Passed, ""},
		{"answers ping with an empty result", answers{"ping": `{"pong":true}`}, check.Failed, `{"pong":true}`},
		{"answers ping with an empty result", answers{"ping": `-32601 no`}, check.Failed, `error -32601 (Method not found) "no"`},
		{"answers initialize with capabilities and serverInfo", nil, check.Passed, ""},
		{"answers initialize with capabilities and serverInfo", answers{"initialize": `{"protocolVersion":"2025-11-25","capabilities":{}}`}, check.Failed, "an object without it"},
		{"answers initialize with capabilities and serverInfo", answers{"initialize": `{"protocolVersion":"2025-11-25","capabilities":[],"serverInfo":{}}`}, check.Failed, "[]"},
		{"returns its tools from tools/list", answers{"tools/list": `{"tools":[]}`}, check.Passed, ""},
		{"returns its tools from tools/list", answers{"tools/list": `{"tools":null}`}, check.Failed, "null"},
		{"returns its prompts from prompts/list", answers{"prompts/list": `{"prompts":[]}`}, check.Passed, ""},
		{"returns its prompts from prompts/list", nil, check.Failed, "Method not found"},
		{"declares tools if tools/list returns any", answers{"initialize": `{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}`, "tools/list": `{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}`}, check.Failed, "t"},
		{"rejects completion/complete with -32601 if it does not support completions", nil, check.Skipped, ""},
		{"answers ping during a call", nil, check.Inconclusion, ""},
	} {
		t.Run(test.text, func(t *testing.T) {
			t.Parallel()
			web := httptest.NewServer(test.server)
			defer web.Close()
			var capabilities map[string]any
			_ = json.Unmarshal([]byte(`{"tools":{},"prompts":{},"resources":{},"completions":{},"logging":{}}`), &capabilities)
			if strings.HasPrefix(test.text, "declares") {
				capabilities = map[string]any{}
			}
			outcome := judge(t, &session.Environment{Offer: offer.Offer{Scope: &scope.Scope{
				Cell:   check.Cell{Role: protocol.ServerRole, Revision: "2025-11-25", Transport: protocol.HTTP},
				Target: scripted.Target{Transport: protocol.HTTP, URL: web.URL, Reply: 20 * time.Second},
				Survey: &survey.Survey{Revision: "2025-11-25", Capabilities: capabilities},
			}}}, checkOf(t, protocol.ServerRole, test.text))
			if outcome.Ending != test.ending {
				t.Errorf("ended as %q, wanted %q: %+v", outcome.Ending, test.ending, outcome)
			}
			if test.found != "" && (len(outcome.Mismatches) == 0 || !strings.Contains(outcome.Mismatches[0].Found, test.found)) {
				t.Errorf("found %v, wanted %q", outcome.Mismatches, test.found)
			}
		})
	}
}

// recorded is what a client said (>) and its server (<), in a scenario over stdio.
func recorded(name string, lines ...string) *scenario.Recording {
	at := time.Now()
	events := make([]transcript.Event, len(lines))
	for i, line := range lines {
		from := protocol.Client
		if line[0] == '<' {
			from = protocol.Server
		}
		events[i] = transcript.Event{
			Connection: name, Sequence: i, At: at.Add(time.Duration(i) * time.Millisecond),
			Kind: transcript.Message, From: from, Raw: []byte(line[1:]),
		}
	}
	return &scenario.Recording{Scenario: name, Connections: []scenario.Recorded{{Name: name, Events: events, Complete: true}}}
}

// Checks of clients judge what was recorded, with no client to start.
func TestChecksOfClients(t *testing.T) {
	t.Parallel()
	const (
		hello   = `>{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`
		welcome = `<{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}`
		ready   = `>{"jsonrpc":"2.0","method":"notifications/initialized"}`
		call    = `>{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"add_numbers","arguments":{"a":5,"b":3}}}`
		ping    = `<{"jsonrpc":"2.0","id":7,"method":"ping"}`
		pong    = `>{"jsonrpc":"2.0","id":7,"result":{}}`
		called  = `<{"jsonrpc":"2.0","id":2,"result":{"content":[]}}`
		list    = `>{"jsonrpc":"2.0","id":3,"method":"tools/list"}`
	)
	pings := checkOf(t, protocol.ClientRole, "responds to every ping")
	for name, test := range map[string]struct {
		declared *check.Declaration
		lines    []string
		ending   check.Ending
	}{
		"answers":                   {pings, []string{hello, welcome, ready, call, ping, pong, called, list}, check.Passed},
		"goes on without an answer": {pings, []string{hello, welcome, ready, call, ping, called, list}, check.Failed},
		"leaves":                    {pings, []string{hello, welcome, ready, call, ping, called}, check.Inconclusion},
		"calls nothing":             {pings, []string{hello, welcome, ready, list}, check.Inconclusion},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shared := &scope.Scope{
				Cell:   check.Cell{Role: protocol.ClientRole, Revision: "2025-11-25", Transport: protocol.Stdio},
				Target: scripted.Target{Reply: 20 * time.Second},
			}
			environment := &session.Environment{Offer: offer.Offer{Scope: shared}, Client: &clientrun.Runner{
				Scope: shared, Recordings: map[string]*scenario.Recording{
					test.declared.Scenario.Name: recorded(test.declared.Scenario.Name, test.lines...),
				},
			}}
			environment.Know(suites.Checks(protocol.ClientRole))
			if outcome := judge(t, environment, test.declared); outcome.Ending != test.ending {
				t.Errorf("ended as %q, wanted %q: %+v", outcome.Ending, test.ending, outcome)
			}
		})
	}
}

// A stream that ends in a call: who begins anew, who goes on, and who does neither. One that
// waits for ever is not blamed: no sentence says for how long.
func TestClientsOfAStreamThatEnds(t *testing.T) {
	t.Parallel()
	const (
		hello   = `>{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2024-11-05","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`
		welcome = `<{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2024-11-05","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}`
		ready   = `>{"jsonrpc":"2.0","method":"notifications/initialized"}`
		call    = `>{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"add_numbers","arguments":{"a":5,"b":3}}}`
		list    = `>{"jsonrpc":"2.0","id":3,"method":"tools/list"}`
	)
	declared := checkOf(t, protocol.ClientRole, "sends initialize first on a stream")
	for name, test := range map[string]struct {
		again  []string // on another stream
		exit   scenario.Exit
		ending check.Ending
	}{
		"begins anew": {[]string{hello, welcome, ready, list}, scenario.Exit{}, check.Passed},
		"goes on":     {[]string{list}, scenario.Exit{}, check.Failed},
		"gives up":    {nil, scenario.Exit{Failed: true}, check.Skipped},
		"only looks":  {[]string{}, scenario.Exit{}, check.Skipped},
		"waits":       {nil, scenario.Exit{Ended: true}, check.Inconclusion},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			played := recorded(declared.Scenario.Name, hello, welcome, ready, call)
			played.Exit = test.exit
			if test.again != nil {
				played.Connections = append(played.Connections, recorded("another", test.again...).Connections...)
			}
			shared := &scope.Scope{
				Cell:   check.Cell{Role: protocol.ClientRole, Revision: "2024-11-05", Transport: protocol.SSE},
				Target: scripted.Target{Reply: 20 * time.Second},
			}
			environment := &session.Environment{Offer: offer.Offer{Scope: shared}, Client: &clientrun.Runner{
				Scope: shared, Recordings: map[string]*scenario.Recording{declared.Scenario.Name: played},
			}}
			environment.Know(suites.Checks(protocol.ClientRole))
			if outcome := judge(t, environment, declared); outcome.Ending != test.ending {
				t.Errorf("ended as %q, wanted %q: %+v", outcome.Ending, test.ending, outcome)
			}
		})
	}
}
