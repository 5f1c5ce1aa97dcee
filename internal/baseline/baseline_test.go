package baseline

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/reports"
	"github.com/mcpconform/mcpconform/suites"
)

// known has the requirements a, b and c, each verified by as many checks as it says.
type known map[string]int

func (k known) Requirement(id string) bool { return k[id] > 0 }

func (k known) Count(entry *reports.Deviation, _ *reports.Cell) int { return k[entry.Requirement] }

var abc = known{"a": 1, "b": 1, "c": 1}

// result is what one check found of a requirement.
func result(id string, verdict reports.Verdict) reports.Result {
	return reports.Result{
		ID: id, Kind: reports.KindCheck, Page: "p", Text: "does " + id, Verdict: verdict,
		Requirements: []reports.Requirement{{ID: id, Level: reports.Must}},
	}
}

// found is what one check found of a requirement that is broken.
func found(id string, failures ...reports.Failure) reports.Result {
	broken := result(id, reports.Failed)
	broken.Failures = failures
	return broken
}

func schemaOf(tool int) reports.Failure {
	return reports.Failure{
		Found: `"http://json-schema.org/draft-07/schema#"`, Method: "tools/list",
		Where: fmt.Sprintf("/result/tools/%d/inputSchema/$schema", tool),
	}
}

func refusal(code int64) reports.Failure {
	return reports.Failure{Found: fmt.Sprintf("error %d", code), Code: code}
}

func cell(revision, transport string, results ...reports.Result) reports.Cell {
	return reports.Cell{Role: protocol.ServerRole, Revision: revision, Transport: transport, Spoken: true, Results: results}
}

func runOf(cells ...reports.Cell) *reports.Run {
	return &reports.Run{
		Started: time.Date(2026, 5, 6, 23, 0, 0, 0, time.UTC), Target: reports.Target{Role: protocol.ServerRole}, Cells: cells,
	}
}

func write(t *testing.T, directory, name, text string) string {
	t.Helper()
	file := filepath.Join(directory, name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

const (
	newer = "2025-11-25"
	older = "2025-06-18"
)

// What an entry excuses, and when it no longer holds.
func TestApply(t *testing.T) {
	t.Parallel()
	both := reports.Deviation{Requirement: "a", Revisions: []string{newer, older}}
	included := reports.Deviation{Requirement: "a", Included: &reports.Inclusion{Name: "sdk:x@1", File: "f", Line: 1}}
	ended := cell(newer, "stdio", result("a", reports.Passed))
	ended.Ended = &reports.Ended{Reason: "gone"}
	follows := result("b", reports.Failed)
	follows.Follows = []string{"a"}
	rule := result("a", reports.Passed)
	rule.Kind = reports.KindRule
	named := result("a.b", reports.Passed)
	named.Kind = reports.KindRule
	filtered := func(run *reports.Run) *reports.Run { run.Filter = "page"; return run }
	for name, one := range map[string]struct {
		run      *reports.Run
		entry    reports.Deviation
		known    int
		outdated string // why, and what its mend has
		declared known
	}{
		"failed":              {run: runOf(cell(newer, "stdio", result("a", reports.Failed))), entry: reports.Deviation{Requirement: "a"}, known: 1},
		"warned":              {run: runOf(cell(newer, "stdio", result("a", reports.Warned))), entry: reports.Deviation{Requirement: "a"}, known: 1},
		"by its text":         {run: runOf(cell(newer, "stdio", result("a", reports.Failed))), entry: reports.Deviation{Check: "does a"}, known: 1},
		"by another text":     {run: runOf(cell(newer, "stdio", result("a", reports.Failed))), entry: reports.Deviation{Check: "does b"}, outdated: "unmatched remove the entry"},
		"another requirement": {run: runOf(cell(newer, "stdio", result("a", reports.Failed), result("b", reports.Failed))), entry: reports.Deviation{Requirement: "b"}, known: 1},
		"second requirement": {run: runOf(cell(newer, "stdio", reports.Result{
			ID: "b", Verdict: reports.Failed, Requirements: []reports.Requirement{{ID: "b"}, {ID: "a"}},
		})), entry: reports.Deviation{Requirement: "a"}, known: 1},
		"at one revision":     {run: runOf(cell(newer, "stdio", result("a", reports.Failed)), cell(older, "stdio", result("a", reports.Failed))), entry: reports.Deviation{Requirement: "a", Revisions: []string{newer}}, known: 1},
		"over one transport":  {run: runOf(cell(newer, "stdio", result("a", reports.Failed)), cell(newer, "http", result("a", reports.Failed))), entry: reports.Deviation{Requirement: "a", Transports: []string{"http"}}, known: 1},
		"passes":              {run: runOf(cell(newer, "stdio", result("a", reports.Passed))), entry: reports.Deviation{Requirement: "a"}, outdated: "stale remove the entry"},
		"passes at one":       {run: runOf(cell(newer, "stdio", result("a", reports.Failed)), cell(older, "stdio", result("a", reports.Passed))), entry: both, known: 1, outdated: "stale remove " + older + " from revisions"},
		"passes at any":       {run: runOf(cell(newer, "stdio", result("a", reports.Failed)), cell(older, "stdio", result("a", reports.Passed))), entry: reports.Deviation{Requirement: "a"}, known: 1},
		"one check of two":    {run: runOf(cell(newer, "stdio", result("a", reports.Failed), result("a", reports.Passed))), entry: reports.Deviation{Requirement: "a"}, known: 1},
		"skipped":             {run: runOf(cell(newer, "stdio", result("a", reports.Skipped))), entry: reports.Deviation{Requirement: "a"}},
		"skipped, passes":     {run: runOf(cell(newer, "stdio", result("a", reports.Passed)), cell(newer, "http", result("a", reports.Skipped))), entry: reports.Deviation{Requirement: "a"}, outdated: "stale"},
		"inconclusive":        {run: runOf(cell(newer, "stdio", result("a", reports.Inconclusive))), entry: reports.Deviation{Requirement: "a"}},
		"inconclusive beside": {run: runOf(cell(newer, "stdio", result("a", reports.Passed), result("a", reports.Inconclusive))), entry: reports.Deviation{Requirement: "a"}},
		"told with its cause": {run: runOf(cell(newer, "stdio", follows, result("a", reports.Skipped), result("a", reports.Passed))), entry: reports.Deviation{Requirement: "a"}},
		"no such requirement": {run: runOf(cell(newer, "stdio", result("a", reports.Passed))), entry: reports.Deviation{Requirement: "x"}, outdated: "unmatched remove the entry"},
		"no such check":       {run: runOf(cell(newer, "stdio", result("a", reports.Passed))), entry: reports.Deviation{Requirement: "c"}, outdated: "unmatched remove the entry"},
		"of the other role":   {run: runOf(cell(newer, "stdio", result("a", reports.Failed))), entry: reports.Deviation{Requirement: "a", Role: protocol.ClientRole}},
		"another revision":    {run: runOf(cell(newer, "stdio", result("a", reports.Passed))), entry: reports.Deviation{Requirement: "a", Revisions: []string{older}}},
		"not chosen":          {run: filtered(runOf(cell(newer, "stdio", result("b", reports.Passed)))), entry: reports.Deviation{Requirement: "a"}},
		"chosen, passes":      {run: filtered(runOf(cell(newer, "stdio", result("a", reports.Passed)))), entry: reports.Deviation{Requirement: "a"}, outdated: "stale"},
		"chosen in part":      {run: filtered(runOf(cell(newer, "stdio", result("a", reports.Passed)))), entry: reports.Deviation{Requirement: "a"}, declared: known{"a": 2}},
		"rule, in part":       {run: filtered(runOf(cell(newer, "stdio", rule))), entry: reports.Deviation{Requirement: "a"}},
		"rule, by its id": {run: func() *reports.Run {
			run := runOf(cell(newer, "stdio", named))
			run.Filter = "a.b"
			return run
		}(), entry: reports.Deviation{Requirement: "a.b"}, declared: known{"a.b": 1}, outdated: "stale"},
		"chosen, no such": {run: filtered(runOf(cell(newer, "stdio", result("a", reports.Passed)))), entry: reports.Deviation{Requirement: "x"}, outdated: "unmatched"},
		"in a shard": {run: func() *reports.Run {
			run := runOf(cell(newer, "stdio", result("a", reports.Passed)))
			run.Shard = &reports.Shard{Index: 1, Count: 2}
			return run
		}(), entry: reports.Deviation{Requirement: "a"}},
		"interrupted": {run: func() *reports.Run {
			run := runOf(cell(newer, "stdio", result("a", reports.Passed)))
			run.Interrupted = "interrupt"
			return run
		}(), entry: reports.Deviation{Requirement: "a"}},
		"ended":     {run: runOf(ended), entry: reports.Deviation{Requirement: "a"}},
		"today":     {run: runOf(cell(newer, "stdio", result("a", reports.Failed))), entry: reports.Deviation{Requirement: "a", Until: "2026-05-06"}, known: 1},
		"yesterday": {run: runOf(cell(newer, "stdio", result("a", reports.Failed))), entry: reports.Deviation{Requirement: "a", Until: "2026-05-05"}, outdated: "expired another date"},
		"included":  {run: runOf(cell(newer, "stdio", result("a", reports.Failed))), entry: included, known: 1},
		"what it names": {run: runOf(cell(newer, "stdio", found("a", schemaOf(0), schemaOf(7)))), entry: reports.Deviation{Requirement: "a", Only: []reports.Found{
			{Where: "/result/tools/*/*/$schema", Found: `"http*"`, Method: "tools/list"},
		}}, known: 1},
		"one of two that it names": {run: runOf(cell(newer, "stdio", found("a", schemaOf(0), refusal(-32603)))), entry: reports.Deviation{Requirement: "a", Only: []reports.Found{
			{Where: "/result/tools/*/*/$schema"}, {Code: -32602},
		}}},
		"another code":      {run: runOf(cell(newer, "stdio", found("a", refusal(-32603)))), entry: reports.Deviation{Requirement: "a", Only: []reports.Found{{Code: -32602}}}},
		"another step":      {run: runOf(cell(newer, "stdio", found("a", schemaOf(0)))), entry: reports.Deviation{Requirement: "a", Only: []reports.Found{{Where: "/result/*/$schema"}}}},
		"another place":     {run: runOf(cell(newer, "stdio", found("a", schemaOf(0)))), entry: reports.Deviation{Requirement: "a", Only: []reports.Found{{Where: "/result/tools/*/inputSchema"}}}},
		"named, and passes": {run: runOf(cell(newer, "stdio", result("a", reports.Passed))), entry: reports.Deviation{Requirement: "a", Only: []reports.Found{{Code: -32602}}}, outdated: "stale"},
		"included, idle":    {run: runOf(cell(newer, "stdio", result("a", reports.Passed))), entry: included, outdated: "stale remove it from include"},
		"included, other":   {run: runOf(cell(newer, "stdio", result("a", reports.Skipped))), entry: included},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			one.entry.File, one.entry.Line, one.entry.Source = "f", 1, "- entry"
			declared := abc
			if one.declared != nil {
				declared = one.declared
			}
			before := one.run.Counts()
			Apply(one.run, []reports.Deviation{one.entry}, declared)
			if got := one.run.Counts().Known; got != one.known {
				t.Errorf("%d known, want %d", got, one.known)
			}
			var outdated []string
			for _, found := range one.run.Baseline.Outdated {
				outdated = append(outdated, found.Why+" "+found.Mend)
				if found.File != "f" || found.Line != 1 || found.Says == "" {
					t.Errorf("%+v", found)
				}
			}
			why, mend, _ := strings.Cut(one.outdated, " ")
			if got := strings.Join(outdated, "; "); (one.outdated == "") != (got == "") || !strings.HasPrefix(got, why) || !strings.Contains(got, mend) || len(outdated) > 1 {
				t.Errorf("outdated: %q, want %q", got, one.outdated)
			}
			if conforms := one.run.Conforms(false); conforms && one.outdated != "" {
				t.Error("conforms in spite of what is outdated")
			}
			Apply(one.run, []reports.Deviation{one.entry}, declared)
			if got := one.run.Counts().Known; got != one.known {
				t.Errorf("applied again: %d known, want %d", got, one.known)
			}
			Lift(one.run)
			if got := one.run.Counts(); got != before {
				t.Errorf("lifted: %+v, was %+v", got, before)
			}
		})
	}
}

// Entries share the mismatches of a result; the rest says which entry does not name it,
// until the baseline is lifted.
func TestEachMismatchIsNamed(t *testing.T) {
	t.Parallel()
	ofSDK := reports.Deviation{Requirement: "a", File: "sdk:x@1", Line: 3, Only: []reports.Found{{Code: -32602}}}
	own := reports.Deviation{Requirement: "a", File: "own.yaml", Line: 7, Only: []reports.Found{{Code: -32603}}}
	run := runOf(cell(newer, "stdio", found("a", refusal(-32602), refusal(-32603))))
	failures := run.Cells[0].Results[0].Failures

	Apply(run, []reports.Deviation{ofSDK}, abc)
	if run.Counts().Failed != 1 || failures[0].Hint != "" || !strings.HasPrefix(failures[1].Hint, "sdk:x@1:3 names other") {
		t.Errorf("one named: %+v", run.Cells[0].Results)
	}
	Apply(run, []reports.Deviation{ofSDK, own}, abc)
	if known := run.Cells[0].Results[0].Known; known == nil || known.At != "sdk:x@1:3" || failures[1].Hint != "" {
		t.Errorf("both named: %+v", run.Cells[0].Results)
	}
}

// A new entry has the codes and places of what was found.
func TestUpdatedHasWhatWasFound(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "baseline.yaml")
	run := runOf(cell(newer, "stdio", found("a", schemaOf(0), schemaOf(7), refusal(-32603)), found("b", refusal(-32603), reports.Failure{Found: "no answer"})))
	updated, err := Updated(file, run, abc)
	if err != nil {
		t.Fatal(err)
	}
	const only = `    only:
      - {where: /result/tools/*/inputSchema/$schema}
      - {code: -32603}
    revisions:`
	if text := string(updated.Text); !strings.Contains(text, only) || strings.Count(text, "only:") != 1 {
		t.Errorf("%s", text)
	}
	write(t, filepath.Dir(file), "baseline.yaml", strings.ReplaceAll(string(updated.Text), `reason: ""`, "reason: known"))
	entries, err := Load(file)
	if err != nil {
		t.Fatal(err)
	}
	if Apply(run, entries, abc); run.Counts().Known != 2 {
		t.Errorf("%+v", run.Counts())
	}
}

func TestLoadSaysWhere(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]struct{ text, says string }{
		"no reason":          {"deviations:\n  - requirement: a\n    revisions: [2025-11-25]\n", ":2: a has no reason"},
		"only, empty":        {"deviations:\n  - requirement: a\n    reason: x\n    only: []\n", ":4: only: expected a list of mismatches"},
		"only, of nothing":   {"deviations:\n  - requirement: a\n    reason: x\n    only: [{}]\n", ":4: only: expected code, where, found or method"},
		"only, unknown":      {"deviations:\n  - requirement: a\n    reason: x\n    only:\n      - wher: /x\n", `:5: unknown key "wher", did you mean "where"?`},
		"an empty reason":    {"deviations:\n  - requirement: a\n    reason: \"\"\n", ":3: a has no reason"},
		"a blank reason":     {"deviations:\n  - requirement: a\n    reason: ' '\n", ":3: a has no reason"},
		"nothing named":      {"deviations:\n  - reason: x\n", ":2: this names neither a requirement nor a check"},
		"unknown key":        {"deviations:\n  - requirement: a\n    raeson: x\n", `:3: unknown key "raeson", did you mean "reason"?`},
		"unknown list":       {"deviation: []\n", `:1: unknown key "deviation", did you mean "deviations"?`},
		"a list at the top":  {"- requirement: a\n", ":1: expected a mapping with the keys include, deviations"},
		"unknown revision":   {"deviations:\n  - requirement: a\n    reason: x\n    revisions: [2025-11-26]\n", `:4: revisions: "2025-11-26" is unknown, did you mean "2025-11-25"?`},
		"no revision":        {"deviations:\n  - requirement: a\n    reason: x\n    revisions: []\n", ":4: revisions: the list is empty"},
		"unknown transport":  {"deviations:\n  - requirement: a\n    reason: x\n    transports: [stdoi]\n", `did you mean "stdio"?`},
		"unknown role":       {"deviations:\n  - requirement: a\n    reason: x\n    role: sever\n", `:4: role: "sever" is unknown, did you mean "server"?`},
		"no date":            {"deviations:\n  - requirement: a\n    reason: x\n    until: next year\n", `:4: until: "next year" is not a date such as 2027-06-30`},
		"no such day":        {"deviations:\n  - requirement: a\n    reason: x\n    until: 2027-02-30\n", ":4: until:"},
		"no YAML":            {"deviations: [\n", ":"},
		"an alias":           {"deviations: &a\n  - *a\n", ":"},
		"a key twice":        {"deviations: []\ndeviations: []\n", ":2:"},
		"missing file":       {"include: [none.yaml]\n", "none.yaml: no such file"},
		"missing SDK":        {"include: ['sdk:typescript@1.23']\n", `did you mean "sdk:typescript@1.32"?`},
		"itself":             {"include: [baseline.yaml]\n", "includes itself"},
		"a text for a list":  {"deviations: all\n", ":1:"},
		"a text for entries": {"deviations: [all]\n", ":1: expected a mapping with the keys requirement"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			directory := t.TempDir()
			file := write(t, directory, "baseline.yaml", one.text)
			_, err := Load(file)
			if err == nil || !strings.HasPrefix(err.Error(), file+":") || !strings.Contains(err.Error(), one.says) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%v", err)
			}
		})
	}
}

// An entry of the baseline itself comes before those that it includes, each with its
// place.
func TestLoadIncludes(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	if err := os.Mkdir(filepath.Join(directory, "shared"), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, directory, "shared/b.yaml", "include: [c.yaml]\ndeviations:\n  - {requirement: b, reason: x}\n")
	write(t, directory, "shared/c.yaml", "deviations:\n  - {requirement: c, reason: x, until: 2027-06-30}\n")
	file := write(t, directory, "baseline.yaml", "\ufeff# known\ninclude:\n  - shared/b.yaml\n  - sdk:go@1.8\ndeviations:\n  - requirement: a\n    reason: x\n")

	entries, err := Load(file)
	if err != nil {
		t.Fatal(err)
	}
	var own []string
	for _, one := range entries {
		if one.File == "sdk:go@1.8" {
			if *one.Included != (reports.Inclusion{Name: "sdk:go@1.8", File: file, Line: 4}) {
				t.Errorf("%+v", one.Included)
			}
			continue
		}
		own = append(own, fmt.Sprint(one.Requirement, " ", strings.TrimPrefix(one.Place(), directory), " ", one.Source))
		if one.Included != nil && *one.Included != (reports.Inclusion{Name: "shared/b.yaml", File: file, Line: 3}) {
			t.Errorf("%+v", one.Included)
		}
	}
	want := []string{
		"a /baseline.yaml:6 - requirement: a",
		"b /shared/b.yaml:3 - {requirement: b, reason: x}",
		"c /shared/c.yaml:2 - {requirement: c, reason: x, until: 2027-06-30}",
	}
	if !slices.Equal(own, want) || len(entries) < 10 {
		t.Errorf("%d entries\n%s", len(entries), strings.Join(own, "\n"))
	}
}

// An update adds what fails and removes what no longer does. All else is as it was.
func TestUpdated(t *testing.T) {
	t.Parallel()
	const before = `# What we know.
include: [shared.yaml]
deviations:
  # The first.
  - requirement: a
    reason: It is so. # really
    revisions: [2025-11-25, 2025-06-18]
  - requirement: b
    reason: It was so.
  - requirement: other
    reason: Another revision.
    revisions: [2026-07-28]
  - requirement: late
    reason: Until then.
    until: 2020-01-01
`
	const want = `# What we know.
include: [shared.yaml]
deviations:
  # The first.
  - requirement: a
    reason: It is so. # really
    revisions: [2025-11-25]
  - requirement: other
    reason: Another revision.
    revisions: [2026-07-28]
  - requirement: late
    reason: Until then.
    until: 2020-01-01
  - requirement: c
    reason: ""
    revisions: [2025-06-18, 2025-11-25]
    transports: [http]
  - requirement: c
    reason: ""
    revisions: [2025-06-18]
    transports: [stdio]
`
	directory := t.TempDir()
	write(t, directory, "shared.yaml", "deviations:\n  - {requirement: shared, reason: x}\n")
	file := write(t, directory, "baseline.yaml", before)
	run := runOf(
		cell(newer, "stdio", result("a", reports.Failed), result("b", reports.Passed), result("c", reports.Passed), result("shared", reports.Failed)),
		cell(older, "stdio", result("a", reports.Passed), result("b", reports.Passed), result("c", reports.Failed), result("late", reports.Failed)),
		cell(older, "http", result("c", reports.Failed), result("w", reports.Warned), result("i", reports.Inconclusive)),
		cell(newer, "http", result("c", reports.Failed)),
	)
	run.Cells[1].Results = slices.DeleteFunc(run.Cells[1].Results, func(one reports.Result) bool { return one.ID == "late" })
	declared := known{"a": 1, "b": 1, "c": 1, "other": 1, "late": 1, "shared": 1}

	updated, err := Updated(file, run, declared)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(updated.Text); got != want {
		t.Errorf("%s\nwanted\n%s", got, want)
	}
	if len(updated.Added) != 2 || len(updated.Removed) != 1 || updated.Removed[0].Requirement != "b" || updated.Kept != 3 || len(updated.Expired) != 1 {
		t.Errorf("%+v", updated)
	}
	write(t, directory, "baseline.yaml", string(updated.Text))
	if _, err := Load(file); err == nil || !strings.Contains(err.Error(), "baseline.yaml:15: c has no reason") {
		t.Errorf("%v", err)
	}
	if places, err := Unexplained(file); err != nil || len(places) != 2 {
		t.Errorf("%v %v", places, err)
	}
	again, err := Updated(file, run, declared)
	if err != nil || string(again.Text) != want || len(again.Added)+len(again.Removed) != 0 {
		t.Errorf("a second time: %v\n%s", err, again.Text)
	}
	write(t, directory, "baseline.yaml", strings.ReplaceAll(want, `reason: ""`, "reason: known"))
	entries, err := Load(file)
	if err != nil {
		t.Fatal(err)
	}
	Apply(run, entries, declared)
	if run.Counts().Failed > 0 || len(run.Baseline.Outdated) != 1 {
		t.Errorf("%+v, %+v", run.Counts(), run.Baseline.Outdated)
	}
}

// A baseline may be new, empty, or hold nothing yet. What a strict run fails for is added
// as well, save what no entry can excuse.
func TestUpdatedFromNothing(t *testing.T) {
	t.Parallel()
	run := runOf(cell(newer, "stdio", result("a", reports.Failed), result("b", reports.Warned), result("c", reports.Inconclusive)))
	run.Strict = true
	for name, before := range map[string]string{"new": "", "empty": " ", "null": "deviations:\n", "no entry": "deviations: []\n", "comment": "# soon\n"} {
		file := filepath.Join(t.TempDir(), "baseline.yaml")
		if name != "new" {
			write(t, filepath.Dir(file), "baseline.yaml", before)
		}
		updated, err := Updated(file, run, abc)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if text := string(updated.Text); len(updated.Added) != 2 || !strings.Contains(text, "deviations:\n  - requirement: a\n    reason: \"\"\n") {
			t.Errorf("%s:\n%s", name, text)
		}
	}
}

// What is shipped is known of the catalogue, and of the records of peers: of a client by
// its record, of servers by two, at each revision and over each transport that it names.
func TestSDKs(t *testing.T) {
	t.Parallel()
	requirements, err := suites.Catalogue()
	if err != nil {
		t.Fatal(err)
	}
	peers := map[string][]string{
		"sdk:typescript@1.32": {"typescript-client", "server-everything", "server-filesystem", "server-memory"},
		"sdk:go@1.8":          {"go-client"},
	}
	if len(SDKs()) != len(peers) {
		t.Errorf("%v are built in", SDKs())
	}
	for name, records := range peers {
		entries, err := Load(name)
		if err != nil || len(entries) == 0 {
			t.Errorf("%s: %d entries, %v", name, len(entries), err)
		}
		for _, one := range entries {
			if _, known := requirements.Get(one.Requirement); !known || one.Says == "" || one.Revisions == nil || one.Role == "" ||
				one.Role == protocol.ServerRole && one.Only == nil {
				t.Errorf("%s: %+v", one.Place(), one)
			}
			proofs := 0
			for _, record := range records {
				if recorded(t, record, one) {
					proofs++
				}
			}
			if proofs == 0 || proofs < 2 && one.Role == protocol.ServerRole {
				t.Errorf("%s: %s is in %d records of a %s", one.Place(), one.Requirement, proofs, one.Role)
			}
		}
	}
}

// A server on an SDK that fails at the same requirement in a way of its own is told.
func TestSDKHidesNoOtherDefect(t *testing.T) {
	t.Parallel()
	entries, err := Load("sdk:typescript@1.32")
	if err != nil {
		t.Fatal(err)
	}
	ofSDK := reports.Failure{
		Code: -32602, Where: "/error/code",
		Found: `error -32602 (Invalid params) "MCP error -32602: Resource a://b not found"`,
	}
	for name, one := range map[string]struct {
		failure reports.Failure
		verdict reports.Verdict
	}{
		"of the SDK": {ofSDK, reports.Known},
		"its own":    {reports.Failure{Code: -32603, Where: "/error/code", Found: `error -32603 (Internal error) "boom"`}, reports.Warned},
		"its text":   {reports.Failure{Code: -32602, Where: "/error/code", Found: `error -32602 (Invalid params) "no"`}, reports.Warned},
	} {
		broken := found("resources.unknown.code", one.failure)
		broken.Verdict = reports.Warned
		run := runOf(cell(newer, "stdio", broken))
		if Apply(run, entries, known{"resources.unknown.code": 1}); run.Cells[0].Results[0].Verdict != one.verdict {
			t.Errorf("%s: %+v", name, run.Cells[0].Results[0])
		}
	}
}

// An SDK is suggested for what its baseline names of at least two requirements, unless it
// is in use.
func TestSuggest(t *testing.T) {
	t.Parallel()
	const name = "sdk:typescript@1.32"
	known, err := Load(name)
	if err != nil {
		t.Fatal(err)
	}
	unknownTool := found("tools.unknown.refused", reports.Failure{
		Found: `the result {"content":[{"text":"MCP error -32602: Tool x not found","type":"text"}],"isError":true}`,
	})
	dialect := found("base.dialects.recommended", schemaOf(0))
	own := found("tools.unknown.refused", refusal(-32603))
	for label, one := range map[string]struct {
		results []reports.Result
		inUse   []reports.Deviation
		want    []string
	}{
		"two":    {[]reports.Result{unknownTool, dialect}, nil, []string{"base.dialects.recommended", "tools.unknown.refused"}},
		"one":    {[]reports.Result{unknownTool}, nil, nil},
		"own":    {[]reports.Result{own, dialect}, nil, nil},
		"in use": {[]reports.Result{unknownTool, dialect}, known, nil},
		"included": {[]reports.Result{unknownTool, dialect}, []reports.Deviation{
			{Requirement: "a", Included: &reports.Inclusion{Name: name}},
		}, nil},
	} {
		run := runOf(cell(newer, "stdio", one.results...))
		Suggest(run, one.inUse)
		var got []string
		for _, sdk := range run.SDKs {
			got = append(got, sdk.Requirements...)
		}
		if !slices.Equal(got, one.want) {
			t.Errorf("%s: %v, wanted %v", label, got, one.want)
		}
	}
}

// recorded tells whether the record of a peer of the role has the deviation.
func recorded(t *testing.T, name string, one reports.Deviation) bool {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../fixtures/peers", name+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var record struct {
		Role       string
		Deviations []struct {
			Requirement           string
			Revisions, Transports []string
		}
	}
	if err := yaml.Unmarshal(text, &record); err != nil {
		t.Fatal(err)
	}
	if record.Role == "" {
		record.Role = protocol.ServerRole
	}
	for _, deviation := range record.Deviations {
		missing := func(from []string) func(string) bool {
			return func(value string) bool { return !slices.Contains(from, value) }
		}
		if record.Role == one.Role && deviation.Requirement == one.Requirement &&
			!slices.ContainsFunc(one.Revisions, missing(deviation.Revisions)) && slices.Equal(one.Transports, deviation.Transports) {
			return true
		}
	}
	return false
}
