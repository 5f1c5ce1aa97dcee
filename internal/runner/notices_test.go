package runner

import (
	"bytes"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/contact"
	"github.com/mcpconform/mcpconform/internal/offer"
	"github.com/mcpconform/mcpconform/internal/plan"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/provoke"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/scope"
	"github.com/mcpconform/mcpconform/internal/session"
	"github.com/mcpconform/mcpconform/internal/survey"
	"github.com/mcpconform/mcpconform/reports"
)

// tooling is a server that lists tools: so many, none annotated, and one that is.
func tooling(calls provoke.Calls, tools int, annotated bool) *session.Environment {
	found := &survey.Survey{Capabilities: check.Object{"tools": check.Object{}}}
	for i := range tools {
		found.Tools = append(found.Tools, check.Object{"name": fmt.Sprintf("tool_%d", i)})
	}
	if annotated {
		found.Tools[0]["annotations"] = check.Object{"readOnlyHint": true}
	}
	return &session.Environment{Offer: offer.Offer{Scope: &scope.Scope{Cell: check.Cell{Role: protocol.ServerRole, Revision: "2025-11-25", Transport: protocol.Stdio}, Survey: found}, Policy: provoke.Policy{Calls: calls}}}
}

func TestToolsThatMayNotBeCalledAreCounted(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		environment *session.Environment
		want        *reports.Tools
	}{
		"none may be called":  {tooling(provoke.CallReadOnly, 12, false), &reports.Tools{Listed: 12, Uncalled: 12}},
		"one may be called":   {tooling(provoke.CallReadOnly, 12, true), &reports.Tools{Listed: 12, Uncalled: 11}},
		"all may be called":   {tooling(provoke.CallAll, 12, false), &reports.Tools{Listed: 12}},
		"only what is listed": {tooling(provoke.CallListed, 2, true), &reports.Tools{Listed: 2, Uncalled: 2}},
		"the user wants none": {tooling(provoke.CallNone, 12, false), nil},
		"there is no tool":    {tooling(provoke.CallReadOnly, 0, false), nil},
		"it is a client":      {&session.Environment{Offer: offer.Offer{Scope: &scope.Scope{}}}, nil},
	} {
		if got := toolsOf(test.environment); !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: %+v, wanted %+v", name, got, test.want)
		}
	}
}

// A server of which the config says what it never does can pass strictly: nothing is
// provoked for that, and each result says who said so. What it does all the same is
// judged, and told.
func TestWhatAServerNeverDoesIsSkipped(t *testing.T) {
	if testing.Short() {
		t.Skip("whole runs are for tests that are not short")
	}
	options := onReference(protocol.Stdio)
	options.Revisions = contact.Revise{Listed: []string{"2025-11-25"}}
	options.Never = provoke.Never{Names: []string{"elicitation", "sampling", "roots", "progress"}, By: "mcpconform.yaml"}
	found := mustRun(t, options)
	cell := found.Cells[0]
	if !found.Conforms(true) {
		for _, result := range cell.Results {
			if result.Verdict.Fails(true) {
				t.Errorf("%s %s: %s", result.Verdict, result.Text, result.Reason)
			}
		}
	}
	never := map[string]int{}
	for _, result := range cell.Results {
		if name, by, is := strings.Cut(strings.TrimPrefix(result.Reason, "never "), ", by "); is && by == "mcpconform.yaml" {
			never[name]++
		}
		asked := slices.Contains([]string{"client/elicitation", "client/sampling", "client/roots"}, result.Page)
		elsewhere := strings.HasPrefix(result.Reason, "applies to the http ")
		if asked && result.Kind == reports.KindCheck && !elsewhere && !strings.HasPrefix(result.Reason, "never ") {
			t.Errorf("%s, %s: %s %s", result.Page, result.Text, result.Verdict, result.Reason)
		}
	}
	for _, name := range options.Never.Names {
		if never[name] == 0 {
			t.Errorf("nothing is skipped by %s: %v", name, never)
		}
	}
	// Tools of the reference that are called for other reasons ask for these.
	want := []string{
		"the server requested elicitation, which mcpconform.yaml lists under never: remove it there",
		"the server requested sampling, which mcpconform.yaml lists under never: remove it there",
	}
	if !slices.Equal(cell.Notices, want) {
		t.Errorf("%q, wanted %q", cell.Notices, want)
	}
}

// A target that does what the config says it never does is reported.
func TestNeverThatIsNotSoIsTold(t *testing.T) {
	t.Parallel()
	environment := tooling(provoke.CallNone, 0, false)
	all, requirements, err := plan.All(protocol.ServerRole, []string{"2025-11-25"})
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(all["2025-11-25"], func(one plan.Declared) bool { return one.Rule && one.Requirements[0] == "elicitation.request.mode" })
	if at < 0 {
		t.Fatal("no rule is about elicitation")
	}
	environment.Catalogue = requirements
	environment.Never = provoke.Never{Names: []string{"sampling", "elicitation"}, By: "mcpconform.yaml"}
	rule := rules.Rule{Text: all["2025-11-25"][at].Text, Verifies: rules.Verifies("elicitation.request.mode")}
	for saw, want := range map[int][]string{
		0: nil, 2: {"the server requested elicitation, which mcpconform.yaml lists under never: remove it there"},
	} {
		state := &cellState{environment: environment, rules: []rules.Rule{rule}, findings: map[string]*found{rule.ID(): {saw: saw}}}
		(&collector{}).notice(state)
		if !slices.Equal(state.report.Notices, want) {
			t.Errorf("%q, wanted %q", state.report.Notices, want)
		}
	}
}

// The total is known from the beginning, rules and all: what a log has is one line with
// the number of results, also where other checks are run to provoke.
func TestProgressBeginsWithTheNumberOfResults(t *testing.T) {
	options := onReference(protocol.HTTP)
	options.Filter = "server/tools || base || base.json.names-unique"
	var out bytes.Buffer
	options.Progress = reports.NewProgress(&out, reports.ProgressOptions{})
	cell := mustRun(t, options).Cells[0]
	want := fmt.Sprintf("%s: %d checks and rules\n", cell.Name(), len(cell.Results))
	if out.String() != want {
		t.Errorf("shows %q, wanted %q", out.String(), want)
	}
}

// A failure names the transcript that shows it, which is there.
func TestFailuresNameTheirTranscripts(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	options := onReference(protocol.Stdio)
	options.Command.Args = []string{self, "reference", "--stdio", "--defect", "remembers-fields"}
	options.Filter = "base.stateless.context || base.fields.missing"
	options.Transcripts = t.TempDir()
	named := 0
	for _, result := range mustRun(t, options).Cells[0].Results {
		if result.Verdict != reports.Failed && result.Verdict != reports.Warned {
			continue
		}
		named++
		if _, err := os.Stat(result.Transcript); err != nil {
			t.Errorf("%s: %v", result.ID, err)
		}
	}
	if named == 0 {
		t.Error("nothing is broken")
	}
}
