package reports

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
)

func contractDiff() *ContractDiff {
	return &ContractDiff{
		Format: ContractFormat, Old: "old.yaml", New: "the server", Accept: "mcpconform contract write -- ./my-server",
		Notes: []string{"prompts/list failed"},
		Items: []string{"revisions", "tool \x1b[31m|`a`", "tool b", "tool c"},
		Changes: []Difference{
			{Impact: Wording, Item: "tool b", Where: "/description", Says: "description changed", Was: `"a"`, Is: "\"]]>\u202e<b>alert(1)\""},
			{Impact: Unclear, Item: "tool c", Where: "/_meta", Says: "_meta changed"},
			{Impact: Breaking, Item: "tool \x1b[31m|`a`", Says: "the tool is gone"},
		},
	}
}

func TestContractTerminal(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	if err := contractDiff().Terminal(&text, TerminalOptions{}); err != nil {
		t.Fatal(err)
	}
	const want = "NOTE        prompts/list failed\n" + `
BREAKING    tool \x1b[31m|` + "`a`" + `: the tool is gone

UNCLEAR     tool c: _meta changed
            where   /_meta

TEXT        tool b: description changed
            where   /description
            was     "a"
            is      "]]>\u202e<b>alert(1)"

            accept  mcpconform contract write -- ./my-server

3 changes: 1 breaking, 1 unclear whether breaking, 1 of text
`
	if text.String() != want {
		t.Errorf("found:\n%s\nwanted:\n%s", &text, want)
	}
	var quiet strings.Builder
	if err := (&ContractDiff{}).Terminal(&quiet, TerminalOptions{Quiet: true}); err != nil ||
		quiet.String() != "Nothing has changed in what the server offers\n" {
		t.Errorf("found %q: %v", quiet.String(), err)
	}
}

func TestContractMarkdown(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	if err := contractDiff().Markdown(&text); err != nil {
		t.Fatal(err)
	}
	judgeMarkdown(t, []byte(text.String()))
	for _, want := range []string{"## ❌ 3 changes: 1 breaking", "| `` tool \\x1b[31m\\|`a` `` | the tool is gone |", "### Text"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("lacks %q:\n%s", want, &text)
		}
	}
}

func TestContractJUnit(t *testing.T) {
	t.Parallel()
	for strict, counts := range map[bool][2]int{false: {1, 1}, true: {2, 0}} {
		diff := contractDiff()
		diff.Strict = strict
		var text bytes.Buffer
		if err := diff.JUnit(&text); err != nil {
			t.Fatal(err)
		}
		document := parse(t, text.Bytes())
		for _, shapes := range []map[string]shape{jenkins, ant} {
			for _, fault := range document.faults(shapes) {
				t.Error(fault)
			}
		}
		want := fmt.Sprintf(`tests="4" failures="%d" errors="0" skipped="%d"`, counts[0], counts[1])
		if !strings.Contains(text.String(), want) {
			t.Errorf("strict is %v: lacks %s:\n%s", strict, want, &text)
		}
	}
}

func TestContractJSON(t *testing.T) {
	t.Parallel()
	var text bytes.Buffer
	if err := contractDiff().Write(&text); err != nil {
		t.Fatal(err)
	}
	var again ContractDiff
	decoder := json.NewDecoder(&text)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&again); err != nil || len(again.Changes) != 3 || again.Changes[2].Impact != Breaking {
		t.Errorf("%v: %+v", err, again)
	}
	if _, err := decoder.Token(); err != io.EOF {
		t.Error("more than one document")
	}
}
