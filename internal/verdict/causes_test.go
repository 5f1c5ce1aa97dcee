package verdict

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpconform/mcpconform/internal/catalogue"
	"github.com/mcpconform/mcpconform/reports"
)

// causesOf loads a catalogue in which some requirements follow from others.
func causesOf(t *testing.T) *catalogue.Catalogue {
	t.Helper()
	var text strings.Builder
	for _, one := range [][2]string{
		{"tools.list", ""}, {"tools.schema", "tools.list"}, {"tools.icons", "tools.schema, tools.list"}, {"tools.names", "tools.list"},
		{"tools.origin", ""}, {"tools.token", ""}, {"tools.cursor", "tools.origin"},
	} {
		fmt.Fprintf(&text, "- {id: %s, obliges: server, level: MUST, says: x, since: 2025-06-18, at: server/tools, "+
			"covers: ['00000000'], observed: wire, follows: [%s]}\n", one[0], one[1])
	}
	loaded, err := catalogue.Load(fstest.MapFS{"requirements.yaml": {Data: []byte(text.String())}})
	if err != nil {
		t.Fatal(err)
	}
	return loaded
}

// brokenBy is what a check or rule found broken, at places.
func brokenBy(kind, id, text string, verdict reports.Verdict, failures ...reports.Failure) reports.Result {
	return reports.Result{
		ID: id, Kind: kind, Text: text, Verdict: verdict, Failures: failures, Rerun: "rerun", Transcript: "file",
		Requirements: []reports.Requirement{{ID: id}},
	}
}

func byText(results []reports.Result) map[string]reports.Result {
	all := map[string]reports.Result{}
	for _, result := range results {
		all[result.Text] = result
	}
	return all
}

func TestOneCauseOneFailure(t *testing.T) {
	t.Parallel()
	wanted := func(text string) reports.Failure { return reports.Failure{Wanted: text, About: "ping with id 1"} }
	results := []reports.Result{
		brokenBy(reports.KindCheck, "tools.origin", "refuses a handshake", reports.Failed, reports.Failure{Wanted: "a refusal", About: "ping with id 2"}),
		brokenBy(reports.KindCheck, "tools.origin", "refuses requests", reports.Failed, wanted("a refusal")),
		brokenBy(reports.KindCheck, "tools.token", "reports no progress", reports.Failed, reports.Failure{Wanted: "no progress", About: "tools/call with id 3"}),
		brokenBy(reports.KindRule, "tools.token", "knows its tokens", reports.Failed, wanted("a known token")),
		brokenBy(reports.KindCheck, "tools.cursor", "refuses a cursor", reports.Warned, wanted("an error")),
		{ID: "tools.origin", Kind: reports.KindCheck, Text: "serves its own site", Verdict: reports.Passed},
	}
	results[4].ID = "tools.list" // which follows from nothing
	oneCauseOneFailure(results, causesOf(t))

	found := byText(results)
	for text, verdict := range map[string]reports.Verdict{
		"refuses requests": reports.Failed, "refuses a handshake": reports.Skipped,
		"knows its tokens": reports.Failed, "reports no progress": reports.Skipped,
		"refuses a cursor": reports.Warned, "serves its own site": reports.Passed,
	} {
		if found[text].Verdict != verdict {
			t.Errorf("%q is %s, not %s", text, found[text].Verdict, verdict)
		}
	}
	if told := found["refuses a handshake"]; told.Reason != `"refuses requests" reports the same` || told.Failures != nil || told.Rerun != "" || told.Transcript != "" {
		t.Errorf("%+v", told)
	}
	rule := found["knows its tokens"]
	if rule.Occurrences != 2 {
		t.Errorf("seen %d times", rule.Occurrences)
	}
	// Each says which request it belongs to where there are several, and only there.
	want := []reports.Failure{{Wanted: "a known token", About: "ping with id 1"}, {Wanted: "no progress", About: "tools/call with id 3"}}
	if diff := cmp.Diff(want, rule.Failures); diff != "" {
		t.Errorf("what the check found is not told by the rule (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]reports.Failure{{Wanted: "a refusal"}}, found["refuses requests"].Failures); diff != "" {
		t.Errorf("the same mismatch is told twice, or its request (-want +got):\n%s", diff)
	}
}

// A failure that checks share is told by the most general of them, not the first by name.
func TestTheMostGeneralCheckTellsOfACause(t *testing.T) {
	t.Parallel()
	one, two := reports.Failure{Wanted: "an error", About: "ping with id 1"}, reports.Failure{Wanted: "an error", About: "tools/list with id 2"}
	results := []reports.Result{
		brokenBy(reports.KindCheck, "tools.origin", "rejects a DELETE with a foreign Origin", reports.Failed, one),
		brokenBy(reports.KindCheck, "tools.origin", "rejects a POST with a foreign Origin", reports.Failed, one, two),
		brokenBy(reports.KindCheck, "tools.origin", "rejects a POST whose Origin and Host are foreign, if it is local", reports.Failed, one),
		brokenBy(reports.KindCheck, "tools.origin", "rejects a first POST with a foreign Origin", reports.Failed, one, two, one),
	}
	oneCauseOneFailure(results, causesOf(t))
	for text, result := range byText(results) {
		if reported := text == "rejects a POST with a foreign Origin"; reported != (result.Verdict == reports.Failed) {
			t.Errorf("%q is %s", text, result.Verdict)
		}
	}
}

func TestWhatFollowsIsToldUnderItsCause(t *testing.T) {
	t.Parallel()
	at := func(place string) reports.Failure { return reports.Failure{Wanted: "x", Where: place} }
	for name, test := range map[string]struct {
		results []reports.Result
		follows map[string]string // reason, by text
		told    map[string][]string
	}{
		"one from another": {
			[]reports.Result{
				brokenBy(reports.KindCheck, "tools.list", "list", reports.Failed, at("")),
				brokenBy(reports.KindRule, "tools.schema", "schema", reports.Failed, at("/result/tools")),
			},
			map[string]string{"schema": "follows from tools.list"}, map[string][]string{"list": {"tools.schema"}},
		},
		"in a row, and in any order": {
			[]reports.Result{
				brokenBy(reports.KindRule, "tools.icons", "icons", reports.Failed, at("/result/tools/3/icons/0/src")),
				brokenBy(reports.KindRule, "tools.schema", "schema", reports.Failed, at("/result/tools/1")),
				brokenBy(reports.KindCheck, "tools.list", "list", reports.Failed, at("/result/tools/0")),
			},
			map[string]string{"schema": "follows from tools.list", "icons": "follows from tools.list"},
			map[string][]string{"list": {"tools.icons", "tools.schema"}},
		},
		"a warning from a failure": {
			[]reports.Result{
				brokenBy(reports.KindCheck, "tools.list", "list", reports.Failed, at("")),
				brokenBy(reports.KindCheck, "tools.names", "names", reports.Warned, at("")),
			},
			map[string]string{"names": "follows from tools.list"}, map[string][]string{"list": {"tools.names"}},
		},
		"no failure from a warning": {
			[]reports.Result{
				brokenBy(reports.KindCheck, "tools.list", "list", reports.Warned, at("")),
				brokenBy(reports.KindCheck, "tools.names", "names", reports.Failed, at("")),
			}, nil, nil,
		},
		"nothing from what is kept": {
			[]reports.Result{
				{ID: "tools.list", Text: "list", Verdict: reports.Passed},
				brokenBy(reports.KindCheck, "tools.names", "names", reports.Failed, at("")),
			}, nil, nil,
		},
		"nothing elsewhere": {
			[]reports.Result{
				brokenBy(reports.KindRule, "tools.list", "list", reports.Failed, at("/result/tools/0/name")),
				brokenBy(reports.KindRule, "tools.schema", "schema", reports.Failed, at("/result/tools/0/name"), at("/result/content")),
			}, nil, nil,
		},
		"nothing of another method": {
			[]reports.Result{
				brokenBy(reports.KindRule, "tools.list", "list", reports.Failed, reports.Failure{Where: "/result", Method: "tools/list"}),
				brokenBy(reports.KindRule, "tools.schema", "schema", reports.Failed, reports.Failure{Where: "/result", Method: "prompts/list"}),
			}, nil, nil,
		},
		"not where only the beginning is alike": {
			[]reports.Result{
				brokenBy(reports.KindRule, "tools.list", "list", reports.Failed, at("/result/tool")),
				brokenBy(reports.KindRule, "tools.schema", "schema", reports.Failed, at("/result/tools")),
			}, nil, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			oneCauseOneFailure(test.results, causesOf(t))
			for text, result := range byText(test.results) {
				reason := test.follows[text]
				if result.Reason != reason || (reason != "") != (result.Verdict == reports.Skipped) {
					t.Errorf("%s: %s %q, wanted %q", text, result.Verdict, result.Reason, reason)
				}
				if diff := cmp.Diff(test.told[text], result.Follows); diff != "" {
					t.Errorf("%s tells (-want +got):\n%s", text, diff)
				}
			}
		})
	}
}

// What reads requests reads those of all methods: one that stumbles over a form is told once.
func TestFormsThatNoMethodAcceptsAreToldOnce(t *testing.T) {
	t.Parallel()
	form := func(method string, names ...string) []reports.Failure {
		var failures []reports.Failure
		for _, name := range names {
			failures = append(failures, reports.Failure{Wanted: "a result of " + method, Method: method, Form: name})
		}
		return failures
	}
	results := []reports.Result{
		brokenBy(reports.KindCheck, "ping.answered", "answers ping", reports.Failed, form("ping", "escaped", "indented")...),
		brokenBy(reports.KindCheck, "prompts.list", "lists prompts", reports.Failed, form("prompts/list", "escaped")...),
		brokenBy(reports.KindCheck, "tools.call", "calls tools", reports.Failed, form("tools/call", "with null")...),
		brokenBy(reports.KindCheck, "tools.list", "lists tools", reports.Failed,
			append(form("tools/list", "escaped"), reports.Failure{Wanted: "tools"})...),
		brokenBy(reports.KindCheck, "tools.read", "reads", reports.Warned, form("resources/read", "escaped")...),
	}
	oneCauseOneFailure(results, causesOf(t))

	found := byText(results)
	for text, verdict := range map[string]reports.Verdict{
		"answers ping": reports.Failed, "lists prompts": reports.Skipped, "calls tools": reports.Failed,
		"lists tools": reports.Failed, "reads": reports.Warned,
	} {
		if found[text].Verdict != verdict {
			t.Errorf("%q is %s, not %s", text, found[text].Verdict, verdict)
		}
	}
	if diff := cmp.Diff([]string{"prompts.list"}, found["answers ping"].Follows); diff != "" {
		t.Errorf("answering ping tells (-want +got):\n%s", diff)
	}
}
