package reports

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/mcpconform/mcpconform/internal/protocol"
)

const specification = "https://modelcontextprotocol.io/specification/"

// requirement makes one for the sample run.
func requirement(revision, id, level, at, says string) Requirement {
	return Requirement{ID: id, Level: level, Says: says, At: at, Link: specification + revision + "/" + at}
}

// passed makes an unremarkable result.
func passed(revision, id, page, text string, group ...string) Result {
	return Result{
		ID: id, Kind: KindCheck, Page: page, Group: group, Text: text, Verdict: Passed, Duration: 0.0042,
		Requirements: []Requirement{requirement(revision, id, Must, page, "It is so.")},
	}
}

// sampleRun has each verdict, and every kind of text that a target could send to
// break a report.
func sampleRun() *Run {
	const revision = "2025-11-25"
	refused := Result{
		ID: "transports.http.version-refused", Kind: KindCheck, Page: "basic/transports", Group: []string{"Protocol version header"},
		Text:         "refuses a protocol version that was never negotiated",
		Requirements: []Requirement{requirement(revision, "transports.http.version-refused", Must, "basic/transports#protocol-version-header", "An invalid or unsupported MCP-Protocol-Version header is answered with 400.")},
		Verdict:      Failed,
		Failures:     []Failure{{Wanted: "HTTP 400", Found: `HTTP 200, {"jsonrpc":"2.0","id":2,"result":{}}`, Where: "HTTP status", Hint: "compare the header with the revision that the session negotiated"}},
		Exchange: []Step{
			{At: 0, From: string(protocol.Client), To: string(protocol.Server), Kind: StepRequest, Text: "POST /mcp"},
			{At: 0.0001, From: string(protocol.Client), To: string(protocol.Server), Kind: StepMessage, Text: `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"mcpconform","version":"0.1.0"}}}`},
			{At: 0.0013, From: string(protocol.Server), To: string(protocol.Client), Kind: StepResponse, Text: "HTTP 200, Content-Type: application/json"},
			{At: 0.0014, From: string(protocol.Server), To: string(protocol.Client), Kind: StepMessage, Text: `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25"}}`},
			{At: 0.0020, From: string(protocol.Client), To: string(protocol.Server), Kind: StepRequest, Text: "POST /mcp, MCP-Protocol-Version: 1900-01-01 (illegal on purpose: names no revision)", Deliberate: true},
			{At: 0.0021, From: string(protocol.Client), To: string(protocol.Server), Kind: StepMessage, Text: `{"jsonrpc":"2.0","id":2,"method":"ping"}`},
			{At: 0.0031, From: string(protocol.Server), To: string(protocol.Client), Kind: StepResponse, Text: "HTTP 200, Content-Type: application/json", Marked: true},
			{At: 0.0032, From: string(protocol.Server), To: string(protocol.Client), Kind: StepMessage, Text: `{"jsonrpc":"2.0","id":2,"result":{}}`},
			{At: 0.0040, From: string(protocol.Server), Kind: StepStderr, Text: "\x1b[31mping\x1b[0m handled"},
			{At: 0.0050, From: Harness, Kind: StepNote, Text: "the connection is closed here"},
		},
		Rerun:      "mcpconform server --revision 2025-11-25 --filter transports.http.version-refused -v --url http://127.0.0.1:3001/mcp",
		Transcript: "transcripts/2025-11-25-http/worker1-3.jsonl",
		Output:     "listening on 3001\n\x1b]0;owned\x07ping handled\n",
		Duration:   0.0051,
	}
	hostile := Result{
		ID: "base.ids.answered", Kind: KindRule, Page: "basic", Text: "answers each request once, with the id it came with",
		Requirements: []Requirement{
			requirement(revision, "base.ids.answered", Must, "basic#responses", "A response carries the id of the request that it answers."),
			requirement(revision, "base.results.either", MustNot, "basic#responses", "A response has a result or an error, never both."),
		},
		Verdict: Failed,
		Failures: []Failure{
			{Wanted: "the id \"\u65e5\u672c\u8a9e-\U0001f469\u200d\U0001f680\"", Found: "the id \"\x1b[2J\x00\xff\u202egnp.exe\ufffe\"\r\n]]>&<failure/>", Where: "/id"},
			{About: "tools/call with id 7", Wanted: "one answer", Found: "ids " + strings.Repeat(`{"jsonrpc":"2.0","id":7,"result":{"content":[]}},`, 300), Where: "message 7"},
		},
		Occurrences: 12, Connections: 5, Follows: []string{"base.responses.id", "base.schema.results"},
		Exchange: longExchange(),
		Rerun:    "mcpconform server --filter base.ids.answered -v --url http://127.0.0.1:3001/mcp",
		Duration: 0.0001,
	}
	warned := Result{
		ID: "tools.annotations.titled", Kind: KindCheck, Page: "server/tools", Text: "gives every tool a title that people can read",
		Requirements: []Requirement{requirement(revision, "tools.annotations.titled", Should, "server/tools#tool", "A tool has a title for display.")},
		Verdict:      Warned,
		Failures:     []Failure{{Wanted: "a title", Found: "none", Where: "/result/tools/3"}},
		Exchange:     []Step{{At: 0.1, From: string(protocol.Server), To: string(protocol.Client), Kind: StepMessage, Text: `{"jsonrpc":"2.0","id":2,"result":{"tools":[]}}`, Marked: true}},
		Rerun:        "mcpconform server --filter tools.annotations.titled -v --url http://127.0.0.1:3001/mcp",
		Duration:     0.0123,
	}
	restless := Result{
		ID: "tools.list.paged", Kind: KindRule, Page: "server/tools", Text: "gives each tool a schema of the newest dialect",
		Requirements: []Requirement{requirement(revision, "tools.list.paged", MustNot, "server/tools#listing", "A tool's schema names no older dialect.")},
		Verdict:      Warned,
		Failures:     []Failure{{Wanted: "no $schema", Found: `the schema "http://json-schema.org/draft-07/schema#"`, Where: "/result/tools/37/inputSchema/$schema"}},
		Exchange: []Step{
			{At: 0.1, From: string(protocol.Client), To: string(protocol.Server), Kind: StepMessage, Text: `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`},
			{At: 0.2, From: string(protocol.Server), To: string(protocol.Client), Kind: StepMessage, Text: longList(50), Marked: true},
		},
		Rerun:    "mcpconform server --filter tools.list.paged -v --url http://127.0.0.1:3001/mcp",
		Duration: 0.001,
	}
	restless.Requirements[0].RestsOn = "an example"
	known := warned
	known.ID, known.Text, known.Verdict = "tools.unknown.refused", "rejects tools/call of an unknown tool with -32602", Known
	known.Requirements = []Requirement{requirement(revision, "tools.unknown.refused", Should, "server/tools#error-handling", "An unknown tool is a protocol error.")}
	known.Failures = []Failure{{Wanted: "the error -32602", Found: "a result with isError", Where: "/result"}}
	known.Known = &Excuse{Was: Warned, Reason: "The SDK \x1b[2J returns isError.", Issue: "https://example.com/issues/7", At: "baseline.yaml:12"}
	unseen := func(id, text string) Result {
		r := passed(revision, id, "client/sampling", text)
		r.Verdict = Inconclusive
		r.Reason = "no known tool asks the client for sampling"
		r.Hint = "name one in mcpconform.yaml: provocations: {sampling: {tool: NAME, arguments: {…}}}"
		r.Provocation = "sampling"
		return r
	}
	unseenURL := unseen("elicitation.url.modes", "sends elicitation/create only in modes that the client declares")
	unseenURL.Provocation, unseenURL.Reason = "elicitation-url", "no known tool sends a URL elicitation"
	uncalled := unseen("tools.call.answered", "returns a tool result from tools/call of its listed tools")
	uncalled.Provocation, uncalled.Reason, uncalled.Hint = "", "no tool may be called", "annotate tools readOnlyHint, or use --call-tools all"
	skipped := func(id, page, text, reason string) Result {
		r := passed(revision, id, page, text)
		r.Verdict, r.Reason, r.Duration = Skipped, reason, 0
		return r
	}
	pages := []string{"basic", "basic/lifecycle", "basic/transports", "basic/utilities/ping", "client/sampling", "server/resources", "server/tools"}
	older := refused
	older.Requirements = []Requirement{requirement("2025-06-18", "transports.http.version-refused", Must, "basic/transports#protocol-version-header", "An invalid or unsupported MCP-Protocol-Version header is answered with 400.")}

	run := &Run{
		Format:   Format,
		Tool:     Tool{Name: "mcpconform", Version: "0.1.0", Go: "go1.26.0"},
		Started:  time.Date(2026, 1, 2, 3, 4, 5, 678000000, time.UTC),
		Duration: 0.8431,
		Host:     "build-7",
		Command:  []string{"mcpconform", "server", "--header", "Authorization: ***", "--url", "http://127.0.0.1:3001/mcp"},
		Target:   Target{Role: protocol.ServerRole, URL: "http://127.0.0.1:3001/mcp", Identity: Identity{Name: "everything-server", Title: "Everything Server \x1b[5m", Version: "2.1.0"}},
		Baseline: &Baseline{
			Entries: []Deviation{
				{Requirement: "tools.unknown.refused", Reason: "The SDK \x1b[2J returns isError.", Issue: "https://example.com/issues/7", Revisions: []string{revision}, File: "baseline.yaml", Line: 12, Source: "- requirement: tools.unknown.refused"},
				{Requirement: "ping.answered", Reason: "It did not.", File: "baseline.yaml", Line: 17, Source: "- requirement: ping.answered"},
			},
			Outdated: []Outdated{{Why: EntryStale, File: "baseline.yaml", Line: 17, Says: "ping.answered passes now", Mend: "remove the entry: - requirement: ping.answered"}},
		},
		Cells: []Cell{
			{
				Role: protocol.ServerRole, Revision: revision, Transport: "http", Spoken: true, AlsoSpeaks: []string{"2025-06-18"},
				Target:       Identity{Name: "everything-server", Title: "Everything Server", Version: "2.1.0"},
				Capabilities: json.RawMessage(`{"tools":{"listChanged":true}}`),
				Duration:     0.5, Pages: pages,
				Declared: 21, Notices: []string{"none of the 12 tools was called: annotate read-only tools, or use --call-tools all"},
				Results: []Result{
					warned, known, restless, unseenURL, uncalled,
					skipped("resources.list.valid", "server/resources", "lists its resources", "resources are not declared"),
					skipped("resources.read.valid", "server/resources", "reads every resource that it lists", "resources are not declared"),
					skipped("transports.stdio.newlines", "basic/transports", "writes one message to a line", "not over this transport"),
					unseen("sampling.request.messages", "asks with messages that have a role and content"),
					unseen("sampling.request.tokens", "asks with a limit of tokens"),
					unseen("sampling.request.declared", "asks only a client that declared sampling"),
					unseen("sampling.request.initialized", "asks nothing before initialized"),
					unseen("sampling.request.tools", "sends tools only to a client that declared sampling.tools, and balances every use with a result in the next message"),
					passed(revision, "lifecycle.version.echoed", "basic/lifecycle", "answers with the requested protocolVersion if it supports it", "Version negotiation"),
					passed(revision, "lifecycle.version.countered", "basic/lifecycle", "answers an unknown protocolVersion with one that it supports", "Version negotiation"),
					passed(revision, "lifecycle.initialize.info", "basic/lifecycle", "introduces itself with a name and a version", "Initialization"),
					passed(revision, "ping.answered", "basic/utilities/ping", "answers ping with an empty result"),
					passed(revision, "ping.answered", "basic/utilities/ping", "answers ping with an empty result"),
					refused,
					hostile,
				},
			},
			{
				Role: protocol.ServerRole, Revision: "2025-06-18", Transport: "http", Spoken: true, AlsoSpeaks: []string{"2025-11-25"},
				Target:   Identity{Name: "everything-server", Version: "2.1.0"},
				Duration: 0.3, Pages: pages,
				Results: []Result{
					passed("2025-06-18", "lifecycle.version.echoed", "basic/lifecycle", "answers with the requested protocolVersion if it supports it", "Version negotiation"),
					older,
				},
			},
			{
				Role: protocol.ServerRole, Revision: "2025-03-26", Transport: "http",
				Note: "not spoken: initialize was answered with 2025-11-25", Results: []Result{},
			},
		},
	}
	run.Sort()
	return run
}

// longList is the answer to tools/list with many tools.
func longList(count int) string {
	var tools []string
	for i := range count {
		tools = append(tools, fmt.Sprintf(`{"name":"tool_%d","description":"%s","inputSchema":{"$schema":"http://json-schema.org/draft-07/schema#","type":"object"}}`,
			i, strings.Repeat("It does this and that. ", 8)))
	}
	return `{"jsonrpc":"2.0","id":2,"result":{"tools":[` + strings.Join(tools, ",") + `]}}`
}

// longExchange has more steps than are shown.
func longExchange() []Step {
	steps := make([]Step, 0, 30)
	for i := range 15 {
		steps = append(steps,
			Step{At: Seconds(i) / 100, From: string(protocol.Client), To: string(protocol.Server), Kind: StepMessage, Text: `{"jsonrpc":"2.0","id":7,"method":"tools/list"}`},
			Step{At: Seconds(i)/100 + 0.001, From: string(protocol.Server), To: string(protocol.Client), Kind: StepEvent, Text: "data: " + strings.Repeat(`{"name":"x"},`, 200), Marked: i == 7})
	}
	return append(steps, Step{At: 1, From: string(protocol.Server), Kind: StepExit, Text: "killed by signal 9"})
}

// conformingRun has nothing to complain about.
func conformingRun() *Run {
	run := sampleRun()
	cell := run.Cells[0]
	cell.AlsoSpeaks = nil
	var results []Result
	for _, r := range cell.Results {
		if r.Verdict == Passed || r.Verdict == Skipped {
			results = append(results, r)
		}
	}
	cell.Results = results
	run.Cells, run.Baseline = []Cell{cell}, nil
	return run
}
