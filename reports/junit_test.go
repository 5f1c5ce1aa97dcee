package reports

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mcpconform/mcpconform/internal/protocol"
)

func junitText(t *testing.T, run *Run, options JUnitOptions) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := run.JUnit(&out, options); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestJUnitGolden(t *testing.T) {
	t.Parallel()
	golden(t, "junit.xml", junitText(t, sampleRun(), JUnitOptions{}))
	golden(t, "junit.pass.xml", junitText(t, sampleRun(), JUnitOptions{Warnings: "pass"}))

	strict := sampleRun()
	strict.Strict = true
	strict.Interrupted = "interrupt"
	strict.Errors = []string{"worker 3 died\nits last output: \x1b[0m\ufffe]]>"}
	golden(t, "junit.strict.xml", junitText(t, strict, JUnitOptions{}))
}

// shape is what a schema says of an element.
type shape struct {
	attributes map[string]*regexp.Regexp // a name with ! is required
	children   []string                  // with how often: ! once, ? at most once, otherwise as often as one likes
	ordered    bool
	oneOf      bool // one child at most, whichever it is
	text       bool
}

var (
	anyText   = regexp.MustCompile(`(?s).*`)
	something = regexp.MustCompile(`\S`)
	number    = regexp.MustCompile(`^-?\d+$`)
	decimal   = regexp.MustCompile(`^-?\d*\.?\d+$`)
	surefire  = regexp.MustCompile(`^(([0-9]{0,3},)*[0-9]{3}|[0-9]{0,3})*(\.[0-9]{0,3})?$`)
	moment    = regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}$`)
)

// attributes takes names, and for all of them what their values look like.
func attributes(value *regexp.Regexp, names string) map[string]*regexp.Regexp {
	all := map[string]*regexp.Regexp{}
	for name := range strings.FieldsSeq(names) {
		all[name] = value
	}
	return all
}

func joined(all ...map[string]*regexp.Regexp) map[string]*regexp.Regexp {
	joined := map[string]*regexp.Regexp{}
	for _, one := range all {
		maps.Copy(joined, one)
	}
	return joined
}

// jenkins is junit-10.xsd of the xUnit plugin of Jenkins: what breaks it is refused. Its
// pattern for times is that of Surefire.
var jenkins = map[string]shape{
	"testsuites": {attributes: joined(attributes(anyText, "name tests failures errors"), attributes(surefire, "time")), children: []string{"testsuite"}},
	"testsuite": {
		attributes: joined(attributes(anyText, "name! tests! failures! errors! group skipped timestamp hostname id package file log url"), attributes(surefire, "time")),
		children:   []string{"testsuite", "properties", "testcase", "system-out", "system-err"},
	},
	"testcase": {
		attributes: joined(attributes(anyText, "name! classname group"), attributes(surefire, "time")),
		children:   []string{"skipped", "error", "failure", "system-out", "system-err"},
	},
	"properties": {children: []string{"property"}},
	"property":   {attributes: attributes(anyText, "name! value!")},
	"failure":    {attributes: attributes(anyText, "type message"), text: true},
	"error":      {attributes: attributes(anyText, "type message"), text: true},
	"skipped":    {attributes: attributes(anyText, "type message"), text: true},
	"system-out": {text: true},
	"system-err": {text: true},
}

// ant is JUnit.xsd of Windy Road, which describes what Ant writes.
var ant = map[string]shape{
	"testsuites": {children: []string{"testsuite"}},
	"testsuite": {
		attributes: joined(attributes(something, "name! hostname! package!"), attributes(number, "id! tests! failures! errors! skipped"),
			attributes(decimal, "time!"), attributes(moment, "timestamp!")),
		children: []string{"properties!", "testcase", "system-out!", "system-err!"}, ordered: true,
	},
	"testcase": {
		attributes: joined(attributes(something, "name! classname!"), attributes(decimal, "time!")),
		children:   []string{"skipped?", "error?", "failure?"}, oneOf: true,
	},
	"properties": {children: []string{"property"}},
	"property":   {attributes: joined(attributes(something, "name!"), attributes(anyText, "value!"))},
	"failure":    {attributes: attributes(anyText, "type! message"), text: true},
	"error":      {attributes: attributes(anyText, "type! message"), text: true},
	"skipped":    {attributes: attributes(anyText, "type message"), text: true}, // it says nothing of it
	"system-out": {text: true},
	"system-err": {text: true},
}

type element struct {
	name       string
	attributes map[string]string
	children   []*element
	text       string
}

func parse(t *testing.T, document []byte) *element {
	t.Helper()
	root := &element{}
	stack := []*element{root}
	dec := xml.NewDecoder(bytes.NewReader(document))
	for {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return root.children[0]
		}
		if err != nil {
			t.Fatalf("not well-formed: %v", err)
		}
		top := stack[len(stack)-1]
		switch token := token.(type) {
		case xml.StartElement:
			e := &element{name: token.Name.Local, attributes: make(map[string]string)}
			for _, a := range token.Attr {
				e.attributes[a.Name.Local] = a.Value
			}
			top.children = append(top.children, e)
			stack = append(stack, e)
		case xml.EndElement:
			stack = stack[:len(stack)-1]
		case xml.CharData:
			top.text += string(token)
		}
	}
}

// faults says where an element breaks a schema.
func (e *element) faults(schema map[string]shape) []string {
	s, known := schema[e.name]
	if !known {
		return []string{"there is no element " + e.name}
	}
	var wrong []string
	say := func(format string, values ...any) { wrong = append(wrong, e.name+": "+fmt.Sprintf(format, values...)) }
	for name, value := range s.attributes {
		bare, required := strings.CutSuffix(name, "!")
		switch found, there := e.attributes[bare]; {
		case !there && required:
			say("lacks %s", bare)
		case there && !value.MatchString(found):
			say("%s=%q", bare, found)
		}
	}
	for name := range e.attributes {
		if s.attributes[name] == nil && s.attributes[name+"!"] == nil {
			say("has an attribute %s", name)
		}
	}
	if !s.text && strings.TrimSpace(e.text) != "" {
		say("has text: %q", e.text)
	}
	count := map[string]int{}
	at := 0
	for _, child := range e.children {
		place := slices.IndexFunc(s.children, func(name string) bool { return strings.TrimRight(name, "!?") == child.name })
		switch {
		case place < 0:
			say("has a child %s", child.name)
		case s.ordered && place < at:
			say("%s stands too late", child.name)
		}
		at = max(at, place)
		count[child.name]++
		wrong = append(wrong, child.faults(schema)...)
	}
	for _, name := range s.children {
		bare := strings.TrimRight(name, "!?")
		if once := strings.HasSuffix(name, "!"); once && count[bare] == 0 || bare != name && count[bare] > 1 {
			say("has %d of %s", count[bare], bare)
		}
	}
	if s.oneOf && len(e.children) > 1 {
		say("has %d children", len(e.children))
	}
	return wrong
}

// junitRuns are runs of every kind.
func junitRuns() map[string]*Run {
	strict := sampleRun()
	strict.Strict = true
	strict.Errors = []string{"worker died"}
	strict.Interrupted = "interrupt"
	nameless := sampleRun()
	nameless.Host, nameless.Cells[0].Target = "", Identity{}
	nameless.Cells[1].Ended = &Ended{Reason: "connection refused"}
	return map[string]*Run{"sample": sampleRun(), "strict": strict, "nameless": nameless, "conforming": conformingRun(), "empty": {}}
}

// What one of the common schemas does not know, some viewer refuses.
func TestJUnitKeepsTheSchemas(t *testing.T) {
	t.Parallel()
	for name, run := range junitRuns() {
		for _, warnings := range append(JUnitWarnings(), "") {
			document := parse(t, junitText(t, run, JUnitOptions{Warnings: warnings}))
			for schema, shapes := range map[string]map[string]shape{"junit-10.xsd": jenkins, "JUnit.xsd": ant} {
				for _, fault := range document.faults(shapes) {
					t.Errorf("%s, warnings %q, %s: %s", name, warnings, schema, fault)
				}
			}
		}
	}
}

// The schemas are held against what they refuse.
func TestSchemasRefuse(t *testing.T) {
	t.Parallel()
	const good = `<testsuites><testsuite name="n" package="p" id="0" hostname="h" tests="1" failures="0" errors="0" time="0.1" timestamp="2026-01-02T03:04:05">` +
		`<properties></properties><testcase classname="c" name="n" time="0.1"></testcase><system-out></system-out><system-err></system-err></testsuite></testsuites>`
	if faults := parse(t, []byte(good)).faults(ant); len(faults) > 0 {
		t.Fatal(faults)
	}
	for old, replaced := range map[string]string{
		` hostname="h"`: "", ` id="0"`: ` id="first"`, `time="0.1">` + "</testcase>": `time="0.1"><properties></properties></testcase>`,
		"<system-out></system-out>": "", "<testsuites>": `<testsuites skipped="1">`, ` classname="c"`: ` classname="c" file="server.go"`,
		"05\">": "05Z\">", "<properties></properties><testcase": "<testcase", "</testcase>": "<error></error></testcase>",
	} {
		if faults := parse(t, []byte(strings.Replace(good, old, replaced, 1))).faults(ant); len(faults) != 1 {
			t.Errorf("%s for %s: %q", replaced, old, faults)
		}
	}
}

// The numbers of a suite are those of its cases, and no two cases have one name.
func TestJUnitCounts(t *testing.T) {
	t.Parallel()
	for name, run := range junitRuns() {
		names := make(map[string]bool)
		document := junitText(t, run, JUnitOptions{})
		total := map[string]int{}
		for at, suite := range parse(t, document).children {
			count := map[string]int{}
			for _, c := range suite.children {
				if c.name != "testcase" {
					continue
				}
				count["tests"]++
				full := c.attributes["classname"] + "\n" + c.attributes["name"]
				if names[full] {
					t.Errorf("%s: two cases have the name %q", name, full)
				}
				names[full] = true
				for _, outcome := range c.children {
					count[map[string]string{"failure": "failures", "error": "errors", "skipped": "skipped"}[outcome.name]]++
				}
			}
			for _, attribute := range []string{"tests", "failures", "errors", "skipped"} {
				if got := suite.attributes[attribute]; got != strconv.Itoa(count[attribute]) {
					t.Errorf("%s: %s: %s=%s, counted %d", name, suite.attributes["name"], attribute, got, count[attribute])
				}
				total[attribute] += count[attribute]
			}
			if suite.attributes["id"] != strconv.Itoa(at) {
				t.Errorf("%s: the suite %d has the id %s", name, at, suite.attributes["id"])
			}
		}
		// As many pass and fail as in every other report.
		if counts := run.Counts(); !run.Strict && (total["failures"] != counts.Failed || total["tests"]-total["failures"]-total["errors"]-total["skipped"] != counts.Passed) {
			t.Errorf("%s: %v, wanted %+v", name, total, counts)
		}
		if again := junitText(t, run, JUnitOptions{}); !bytes.Equal(document, again) {
			t.Errorf("%s: the same run gives other bytes the second time", name)
		}
	}
}

// The outcome of each verdict, and what strict and the choice for warnings make of it.
func TestJUnitVerdicts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		verdict  Verdict
		strict   bool
		warnings string
		want     string
	}{
		{Passed, false, "", ""}, {Passed, true, "", ""},
		{Known, false, "", "skipped"}, {Known, true, "", "skipped"}, {Known, false, "fail", "skipped"},
		{Failed, false, "", "failure"}, {Failed, true, "", "failure"}, {Failed, false, "pass", "failure"},
		{Warned, false, "", "skipped"}, {Warned, false, "skip", "skipped"}, {Warned, false, "pass", ""}, {Warned, false, "fail", "failure"},
		{Warned, true, "", "failure"}, {Warned, true, "pass", "failure"}, {Warned, true, "skip", "failure"},
		{Skipped, false, "", "skipped"}, {Skipped, true, "", "skipped"},
		{Inconclusive, false, "", "skipped"}, {Inconclusive, true, "", "failure"}, {Inconclusive, false, "fail", "skipped"},
	} {
		result := passed("2025-11-25", "ping.answered", "basic/utilities/ping", "answers ping")
		result.Verdict = c.verdict
		result.Failures = []Failure{{Wanted: "this", Found: "that"}}
		if c.verdict == Known {
			result.Known = &Excuse{Was: Failed, Reason: "It is so: wanted this, found that.", At: "baseline.yaml:1"}
		}
		run := &Run{Strict: c.strict, Cells: []Cell{{Spoken: true, Results: []Result{result}}}}
		suite := parse(t, junitText(t, run, JUnitOptions{Warnings: c.warnings})).children[0]
		var outcomes []string
		texts := []string{suite.children[2].text}
		for _, child := range suite.children[1].children {
			outcomes = append(outcomes, child.name)
			texts = append(texts, child.attributes["message"])
		}
		words := strings.Join(texts, "\n")
		if got := strings.Join(outcomes, ""); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
		if reported := strings.Contains(words, "wanted this, found that"); reported != (c.verdict == Failed || c.verdict == Known || c.verdict == Warned) {
			t.Errorf("%+v: told %v: %s", c, reported, words)
		}
		if !strings.Contains(suite.children[2].text, string(c.verdict)) || !strings.Contains(suite.children[2].text, "ping.answered") {
			t.Errorf("%+v: the output of the suite does not say so: %s", c, suite.children[2].text)
		}
	}
}

// What concerns a cell as a whole has a case of its own.
func TestJUnitOfWholeCells(t *testing.T) {
	t.Parallel()
	unspoken := Cell{Role: protocol.ServerRole, Revision: "2025-06-18", Transport: "http", Note: "not spoken: so"}
	asked := unspoken
	asked.Results = []Result{{ID: "revision", Kind: KindCheck, Page: "basic/lifecycle", Text: "speaks 2025-06-18 over http", Verdict: Failed, Failures: []Failure{{Found: "not spoken: so"}}}}
	ended := Cell{Role: protocol.ServerRole, Revision: "2025-11-25", Transport: "http", Spoken: true, Ended: &Ended{Reason: "it is gone", After: "tools/call search", Output: "panic: no"}}
	for name, c := range map[string]struct {
		cell           Cell
		kind, contains string
	}{
		"not spoken":               {unspoken, "skipped", "not spoken: so"},
		"not spoken and asked for": {asked, "failure", "not spoken: so"},
		"ended early":              {ended, "error", "tools/call search"},
	} {
		document := parse(t, junitText(t, &Run{Cells: []Cell{c.cell}}, JUnitOptions{}))
		if len(document.children) != 1 || len(document.children[0].children) != 4 {
			t.Fatalf("%s: %+v", name, document)
		}
		outcome := document.children[0].children[1].children[0]
		if outcome.name != c.kind || !strings.Contains(outcome.attributes["message"]+outcome.text, c.contains) {
			t.Errorf("%s: %s %v %s", name, outcome.name, outcome.attributes, outcome.text)
		}
	}
}
