package reports

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/mcpconform/mcpconform/internal/protocol"
)

// sampleSelftest has everything that may be wrong, and what may be well.
func sampleSelftest() *Selftest {
	failed := func(check, allowed string, requirements ...string) Effect {
		return Effect{
			Check: check, Kind: KindCheck, Requirements: requirements, Was: Passed, Verdict: Failed, Allowed: allowed,
			Failures: []Failure{{Wanted: "an empty result", Found: "the result {\"status\":\"\x1b[2Jok\"}", Where: "/result"}},
		}
	}
	accused := failed("Tasks · answers a ping as usual that asks for a task", "", "tasks.undeclared.ignored")
	accused.Exchange = []Step{{From: string(protocol.Server), To: string(protocol.Client), Kind: StepMessage, Text: `{"jsonrpc":"2.0","id":2,"result":{"status":"ok"}}`, Marked: true}}
	trial := func(id, kind string, problems []Problem, effects ...Effect) Trial {
		return Trial{
			ID: id, Kind: kind, Says: "Does this and that.", Place: "fixtures/faults/ping.yaml:3", Breaks: []string{"ping.answered"},
			Revision: "2025-11-25", Transport: "http", Touched: 70, Matched: true, Effects: effects, Problems: problems,
			Rerun: "mcpconform selftest --filter " + id + " -v", Duration: 1.25,
		}
	}
	caught := trial("ping-unknown", KindFault, nil, failed("Ping · answers ping with an empty result", ByBreaks, "ping.answered"),
		failed("Rules · sends results that are valid by the schema", ByAlsoBreaks, "base.schema.results"))
	caught.Caught = true
	caught.AlsoBreaks = []AlsoBroken{{ID: "base.schema.results", Reason: "Every result is an object."}}
	caught.Repeated = true
	caught.Drifted = []Problem{{Accused, "\"Tools · lists\" (tools.list.answered) is failed, which is not among what it breaks"}}
	ofClient := trial("client-ping-unanswered", KindFault, nil, failed("Rules · answers every ping with an empty result", ByBreaks, "ping.answered"))
	ofClient.Role, ofClient.Caught = protocol.ClientRole, true
	elsewhere := trial("ping-flood", KindFault, nil)
	elsewhere.Matched = false
	return &Selftest{
		Format: SelftestFormat, Tool: Tool{Name: "mcpconform", Version: "v1"}, Started: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		Duration: 12.5, Target: Target{Role: protocol.ServerRole}, Workers: 6, Pages: []string{"basic/utilities/ping", "server/tools"},
		Cells: []SelftestCell{{Role: protocol.ServerRole, Revision: "2025-11-25", Transport: "http", Passed: 328}, {Role: protocol.ClientRole, Revision: "2025-11-25", Transport: "http", Passed: 140}},
		Proofs: []Proof{
			{ID: "ping.answered", Kind: KindCheck, Page: "basic/utilities/ping", Check: "Ping · answers ping with an empty result", Requirements: []string{"ping.answered"}, Revisions: []string{"2025-11-25"}, Faults: []string{"ping-unknown"}},
			{ID: "ping.not-excessive", Kind: KindRule, Page: "basic/utilities/ping", Check: "Rules · does not flood its peer with pings", Requirements: []string{"ping.not-excessive"}, Revisions: []string{"2025-11-25"}, Problem: "no fault that breaks ping.not-excessive makes it fail"},
			{ID: "ping.answered", Kind: KindRule, Role: protocol.ClientRole, Page: "basic/utilities/ping", Check: "Rules · answers every ping with an empty result", Requirements: []string{"ping.answered"}, Revisions: []string{"2025-11-25"}, Faults: []string{"client-ping-unanswered"}},
			{ID: "tools.list.answered", Kind: KindCheck, Page: "server/tools", Check: "Tools · answers tools/list with its tools", Requirements: []string{"tools.list.answered"}, Revisions: []string{"2025-11-25"}, Accepted: "the reference cannot show it"},
		},
		Trials: []Trial{
			caught, elsewhere, ofClient,
			trial("ping-answered-with-status", KindFault, []Problem{{Accused, "another check failed"}}, failed("Ping · answers ping with an empty result", ByBreaks, "ping.answered"), accused),
			trial("ping-late", KindFault, []Problem{{NotCaught, `"Ping · answers ping with an empty result" is passed`}, {Stale, "base.schema.results did not fail: take it out of also-breaks"}}),
			trial("members-reversed", KindVariation, []Problem{{Changed, "a check is inconclusive"}}, Effect{Check: "Ping · answers", Kind: KindCheck, Requirements: []string{"ping.answered"}, Was: Passed, Verdict: Inconclusive, Reason: "no session"}),
			trial("spaces", KindVariation, nil, Effect{Check: "Ping · answers", Kind: KindCheck, Requirements: []string{"ping.answered"}, Was: Passed, Verdict: Skipped, Reason: "not declared"}),
		},
	}
}

func textOfSelftest(t *testing.T, one *Selftest, o TerminalOptions) string {
	t.Helper()
	var out bytes.Buffer
	if err := one.Terminal(&out, o); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestSelftestGolden(t *testing.T) {
	t.Parallel()
	broken := sampleSelftest()
	broken.Cells[0].Red = []Effect{{Check: "Ping · answers", Kind: KindCheck, Requirements: []string{"ping.answered"}, Verdict: Inconclusive, Reason: "no session"}}
	broken.Trials, broken.Proofs = nil, nil
	ended := sampleSelftest()
	ended.Trials, ended.Interrupted, ended.Errors = ended.Trials[:2], "interrupt", []string{"starting a worker: too many open files"}
	for name, one := range map[string]struct {
		selftest *Selftest
		options  TerminalOptions
	}{
		"selftest.txt":         {sampleSelftest(), TerminalOptions{}},
		"selftest.verbose.txt": {sampleSelftest(), TerminalOptions{Verbose: true}},
		"selftest.quiet.txt":   {sampleSelftest(), TerminalOptions{Quiet: true, Color: true}},
		"selftest.broken.txt":  {broken, TerminalOptions{Quiet: true}},
		"selftest.ended.txt":   {ended, TerminalOptions{Quiet: true}},
	} {
		text := textOfSelftest(t, one.selftest, one.options)
		for line := range strings.Lines(text) {
			if columns.StringWidth(strings.TrimSpace(line)) > defaultWidth && !one.options.Color {
				t.Errorf("%s: longer than %d columns: %q", name, defaultWidth, line)
			}
		}
		golden(t, name, []byte(text))
	}
}

func TestSelftestHolds(t *testing.T) {
	t.Parallel()
	good := func() *Selftest {
		one := sampleSelftest()
		one.Trials, one.Proofs = one.Trials[:1], one.Proofs[:1]
		return one
	}
	if !good().Holds() {
		t.Error("what is as it should be does not hold")
	}
	if text := textOfSelftest(t, good(), TerminalOptions{}); !strings.Contains(text, "Proven: 1 of 1 fault caught") {
		t.Errorf("the conclusion is another:\n%s", text)
	}
	for name, spoil := range map[string]func(*Selftest){
		"a problem":     func(s *Selftest) { s.Trials[0].Problems = []Problem{{NotCaught, ""}} },
		"an unproven":   func(s *Selftest) { s.Proofs[0].Problem = "no fault" },
		"an error":      func(s *Selftest) { s.Errors = []string{"x"} },
		"an interrupt":  func(s *Selftest) { s.Interrupted = "interrupt" },
		"the reference": func(s *Selftest) { s.Cells[0].Red = []Effect{{Verdict: Failed}} },
	} {
		one := good()
		if spoil(one); one.Holds() {
			t.Errorf("%s: holds all the same", name)
		}
	}
	peer := good()
	peer.Target.URL, peer.Cells[0].Red = "http://127.0.0.1:1/mcp", []Effect{{Verdict: Failed}}
	if !peer.Holds() {
		t.Error("what a peer fails by itself is held against the harness")
	}
}

func TestSelftestDocumentIsValid(t *testing.T) {
	t.Parallel()
	compiler := jsonschema.NewCompiler()
	for name, text := range map[string][]byte{"run": Schema(), "selftest": SelftestSchema()} {
		document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err == nil {
			err = compiler.AddResource("https://github.com/mcpconform/mcpconform/reports/"+name+".schema.json", document)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	schema, err := compiler.Compile("https://github.com/mcpconform/mcpconform/reports/selftest.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range []*Selftest{sampleSelftest(), {Tool: Tool{Name: "x"}, Target: Target{Role: protocol.ServerRole}, Workers: 1}} {
		var out bytes.Buffer
		if err := one.Write(&out); err != nil {
			t.Fatal(err)
		}
		var document any
		if err := json.Unmarshal(out.Bytes(), &document); err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(document); err != nil {
			t.Error(err)
		}
	}
}

func TestSelftestSchemaNamesEveryField(t *testing.T) {
	t.Parallel()
	namesEveryField(t, SelftestSchema(), []string{"Tool", "Target", "Failure", "Step", "Shard"}, reflect.TypeFor[Selftest]())
}
