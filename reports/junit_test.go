package reports

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

func junitText(t *testing.T, run *Run) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := run.JUnit(&out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestJUnitGolden(t *testing.T) {
	t.Parallel()
	golden(t, "junit.xml", junitText(t, sampleRun()))

	strict := sampleRun()
	strict.Strict = true
	strict.Interrupted = "interrupt"
	strict.Errors = []string{"worker 3 died\nits last words: \x1b[0m\ufffe]]>"}
	golden(t, "junit.strict.xml", junitText(t, strict))
}

// shape is what junit-10.xsd says of an element, and, for testcase, of its
// properties (see junitCase): attributes (! required), children in the order that
// the older surefire schemas ask for.
type shape struct {
	attributes string
	children   []string
	once       bool // each child at most once
	text       bool
}

var shapes = map[string]shape{
	"testsuites": {attributes: "name tests failures errors time", children: []string{"testsuite"}},
	"testsuite": {
		attributes: "name! tests! failures! errors! skipped time timestamp package",
		children:   []string{"properties", "testcase", "system-out", "system-err"},
	},
	"testcase": {
		attributes: "name! classname time",
		children:   []string{"properties", "skipped", "error", "failure", "system-out", "system-err"}, once: true,
	},
	"properties": {children: []string{"property"}},
	"property":   {attributes: "name! value!"},
	"failure":    {attributes: "type message", text: true},
	"error":      {attributes: "type message", text: true},
	"skipped":    {attributes: "type message", text: true},
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

func checkShape(t *testing.T, e *element) {
	t.Helper()
	s, known := shapes[e.name]
	if !known {
		t.Fatalf("element %s is not in the schema", e.name)
	}
	allowed := make(map[string]bool)
	for name := range strings.FieldsSeq(s.attributes) {
		bare, required := strings.CutSuffix(name, "!")
		allowed[bare] = true
		if _, there := e.attributes[bare]; required && !there {
			t.Errorf("%s lacks %s", e.name, bare)
		}
	}
	for name := range e.attributes {
		if !allowed[name] {
			t.Errorf("%s has an attribute %s", e.name, name)
		}
	}
	if !s.text && strings.TrimSpace(e.text) != "" {
		t.Errorf("%s has text: %q", e.name, e.text)
	}
	at := 0
	for _, child := range e.children {
		place := -1
		for i, name := range s.children {
			if name == child.name {
				place = i
			}
		}
		switch {
		case place < 0:
			t.Errorf("%s has a child %s", e.name, child.name)
		case place < at:
			t.Errorf("%s stands too late in %s", child.name, e.name)
		}
		at = max(at, place)
		if s.once {
			at = place + 1
		}
		checkShape(t, child)
	}
}

func TestJUnitStructure(t *testing.T) {
	t.Parallel()
	strict := sampleRun()
	strict.Strict = true
	strict.Errors = []string{"worker died"}
	for name, run := range map[string]*Run{"sample": sampleRun(), "strict": strict, "conforming": conformingRun(), "empty": {}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			document := junitText(t, run)
			root := parse(t, document)
			checkShape(t, root)

			names := make(map[string]bool)
			total := map[string]int{}
			for _, suite := range root.children {
				count := map[string]int{}
				for _, c := range suite.children {
					if c.name != "testcase" {
						continue
					}
					count["tests"]++
					full := c.attributes["classname"] + "\n" + c.attributes["name"]
					if names[full] {
						t.Errorf("two cases have the name %q", full)
					}
					names[full] = true
					for _, outcome := range c.children {
						switch outcome.name {
						case "failure":
							count["failures"]++
						case "error":
							count["errors"]++
						case "skipped":
							count["skipped"]++
						}
					}
					if !regexp.MustCompile(`^[0-9]+\.[0-9]{6}$`).MatchString(c.attributes["time"]) {
						t.Errorf("time=%q", c.attributes["time"])
					}
				}
				for _, name := range []string{"tests", "failures", "errors", "skipped"} {
					if got := suite.attributes[name]; got != strconv.Itoa(count[name]) {
						t.Errorf("%s: %s=%s, counted %d", suite.attributes["name"], name, got, count[name])
					}
					total[name] += count[name]
				}
				if _, err := time.Parse("2006-01-02T15:04:05", suite.attributes["timestamp"]); err != nil {
					t.Error(err)
				}
			}
			for _, name := range []string{"tests", "failures", "errors"} {
				if got := root.attributes[name]; got != strconv.Itoa(total[name]) {
					t.Errorf("%s=%s, counted %d", name, got, total[name])
				}
			}
			if again := junitText(t, run); !bytes.Equal(document, again) {
				t.Error("the same run gives other bytes the second time")
			}
		})
	}
}

// The outcome of each verdict, and what strict makes of it.
func TestJUnitVerdicts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		verdict Verdict
		strict  bool
		want    string
	}{
		{Passed, false, ""}, {Passed, true, ""},
		{Failed, false, "failure"}, {Failed, true, "failure"},
		{Warned, false, "system-out"}, {Warned, true, "failure"},
		{Skipped, false, "skipped"}, {Skipped, true, "skipped"},
		{Inconclusive, false, "skipped"}, {Inconclusive, true, "failure"},
	} {
		result := passed("2025-11-25", "ping.answered", "basic/utilities/ping", "answers ping")
		result.Verdict = c.verdict
		result.Failures = []Failure{{Wanted: "this", Found: "that"}}
		run := &Run{Strict: c.strict, Legs: []Leg{{Spoken: true, Results: []Result{result}}}}
		testcase := parse(t, junitText(t, run)).children[0].children[1]
		var others []string
		for _, child := range testcase.children {
			if child.name != "properties" {
				others = append(others, child.name)
			}
		}
		if got := strings.Join(others, ""); got != c.want {
			t.Errorf("%s, strict %v: %q, wanted %q", c.verdict, c.strict, got, c.want)
		}
	}
}
