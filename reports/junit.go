package reports

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
)

// junitWidth is the line length of texts in JUnit XML: viewers show them in a
// wide box that scrolls.
const junitWidth = 120

// The elements of JUnit XML, as Jenkins and Maven Surefire describe them
// (junit-10.xsd), with one difference: properties of a test case. No schema of
// Jenkins has them, but its viewer, pytest and most who read the format do, and
// those who do not pass over them. Attributes that only some viewers know
// (assertions, file, skipped of the whole) are left out.
type (
	junitSuites struct {
		XMLName  xml.Name     `xml:"testsuites"`
		Name     string       `xml:"name,attr"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Errors   int          `xml:"errors,attr"`
		Time     string       `xml:"time,attr"`
		Suites   []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name       string             `xml:"name,attr"`
		Package    string             `xml:"package,attr"`
		Tests      int                `xml:"tests,attr"`
		Failures   int                `xml:"failures,attr"`
		Errors     int                `xml:"errors,attr"`
		Skipped    int                `xml:"skipped,attr"`
		Time       string             `xml:"time,attr"`
		Timestamp  string             `xml:"timestamp,attr"`
		Properties *junitPropertyList `xml:"properties"`
		Cases      []junitCase        `xml:"testcase"`
	}
	junitPropertyList struct {
		Properties []junitProperty `xml:"property"`
	}
	junitProperty struct {
		Name  string `xml:"name,attr"`
		Value string `xml:"value,attr"`
	}
	junitCase struct {
		ClassName  string             `xml:"classname,attr"`
		Name       string             `xml:"name,attr"`
		Time       string             `xml:"time,attr"`
		Properties *junitPropertyList `xml:"properties"`
		Skipped    *junitOutcome      `xml:"skipped"`
		Error      *junitOutcome      `xml:"error"`
		Failure    *junitOutcome      `xml:"failure"`
		SystemOut  *junitBlock        `xml:"system-out"`
		SystemErr  *junitBlock        `xml:"system-err"`
	}
	junitOutcome struct {
		Type    string `xml:"type,attr,omitempty"`
		Message string `xml:"message,attr"`
		Text    string `xml:",cdata"` // CDATA keeps JSON readable in the file
	}
	junitBlock struct {
		Text string `xml:",cdata"`
	}
)

// JUnit writes the run as JUnit XML: a test suite for each leg and page, a test
// case for each result, failures of the harness as errors. A warning passes,
// with its text as output, and what is inconclusive is skipped, unless the run
// is strict: then both fail. The same run gives the same bytes.
func (r *Run) JUnit(w io.Writer) error {
	run := presentable(r)
	started := run.Started.UTC().Format("2006-01-02T15:04:05")
	top := junitSuites{Name: run.Tool.Name, Time: junitTime(run.Duration), Suites: []junitSuite{}}
	for i := range run.Legs {
		top.Suites = append(top.Suites, junitLeg(run, &run.Legs[i])...)
	}
	if harness := junitHarness(run); len(harness.Cases) > 0 {
		top.Suites = append(top.Suites, harness)
	}
	for i := range top.Suites {
		suite := &top.Suites[i]
		suite.Timestamp = started
		suite.count()
		top.Tests += suite.Tests
		top.Failures += suite.Failures
		top.Errors += suite.Errors
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return fmt.Errorf("write the run as JUnit XML: %w", err)
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	if err := enc.Encode(top); err != nil {
		return fmt.Errorf("write the run as JUnit XML: %w", err)
	}
	if _, err := io.WriteString(w, "\n"); err != nil {
		return fmt.Errorf("write the run as JUnit XML: %w", err)
	}
	return nil
}

func (s *junitSuite) count() {
	s.Tests = len(s.Cases)
	for i := range s.Cases {
		switch c := &s.Cases[i]; {
		case c.Failure != nil:
			s.Failures++
		case c.Error != nil:
			s.Errors++
		case c.Skipped != nil:
			s.Skipped++
		}
	}
}

// junitLeg makes the suites of one leg. A leg that is not spoken, and need not be, has
// one, with one skipped case: a dashboard then shows that it was asked for.
func junitLeg(run *Run, leg *Leg) []junitSuite {
	title := strings.Join([]string{leg.Role, leg.Revision, leg.Transport}, " · ")
	class := strings.Join([]string{run.Tool.Name, leg.Role, leg.Revision, leg.Transport}, ".")
	properties := junitProperties(
		"role", leg.Role, "revision", leg.Revision, "transport", leg.Transport,
		"target", oneLine(leg.Target.Name+" "+leg.Target.Version))
	if !leg.Spoken && len(leg.Results) == 0 {
		return []junitSuite{{
			Name: title, Package: class, Time: junitTime(leg.Duration), Properties: properties,
			Cases: []junitCase{{
				ClassName: class, Name: "speaks " + leg.Revision + " over " + leg.Transport, Time: junitTime(leg.Duration),
				Skipped: &junitOutcome{Message: cmp.Or(oneLine(leg.Note), "not spoken")},
			}},
		}}
	}
	var suites []junitSuite
	for page, results := range leg.byPage() {
		suite := junitSuite{
			Name:       title + " · " + page,
			Package:    class + "." + strings.ReplaceAll(page, "/", "."),
			Properties: properties,
		}
		var spent Seconds
		used := make(map[string]int)
		for i := range results {
			c := junitResult(run, leg, &results[i])
			c.ClassName = suite.Package
			// Viewers take two cases of one name for one.
			used[c.Name]++
			if n := used[c.Name]; n > 1 {
				c.Name = fmt.Sprintf("%s (%d)", c.Name, n)
			}
			suite.Cases = append(suite.Cases, c)
			spent += results[i].Duration
		}
		suite.Time = junitTime(spent)
		suites = append(suites, suite)
	}
	return suites
}

func junitResult(run *Run, leg *Leg, r *Result) junitCase {
	c := junitCase{Name: oneLine(r.Text), Time: junitTime(r.Duration)}
	facts := []string{"id", r.ID, "kind", r.Kind, "verdict", string(r.Verdict)}
	// One property for each name: many readers keep them in a map.
	var ids, links []string
	for _, requirement := range r.Requirements {
		ids = append(ids, requirement.ID)
		if requirement.Link != "" && !slices.Contains(links, requirement.Link) {
			links = append(links, requirement.Link)
		}
	}
	facts = append(facts, "requirement", strings.Join(ids, " "), "level", r.strictest(), "link", strings.Join(links, " "))
	c.Properties = junitProperties(facts...)
	switch r.Verdict {
	case Failed:
		c.Failure = junitFailure(leg, r)
	case Warned:
		if run.Strict {
			c.Failure = junitFailure(leg, r)
			break
		}
		c.SystemOut = &junitBlock{"\nWARNED " + r.strictest() + ": " + junitMessage(r) + "\n" + junitDetail(leg, r)}
	case Skipped:
		c.Skipped = &junitOutcome{Message: cmp.Or(oneLine(r.Reason), "does not apply")}
	case Inconclusive:
		message := "inconclusive: " + cmp.Or(oneLine(r.Reason), "the target gave no way to see it")
		if r.Hint != "" {
			message += " (" + oneLine(r.Hint) + ")"
		}
		if run.Strict {
			c.Failure = &junitOutcome{Type: r.strictest(), Message: message, Text: junitDetail(leg, r)}
			break
		}
		c.Skipped = &junitOutcome{Message: message}
	}
	if r.Output != "" && (c.Failure != nil || c.SystemOut != nil) {
		c.SystemErr = &junitBlock{"\n" + r.Output}
	}
	return c
}

func junitFailure(leg *Leg, r *Result) *junitOutcome {
	return &junitOutcome{Type: r.strictest(), Message: junitMessage(r), Text: junitDetail(leg, r)}
}

// strictest returns the most binding level of the requirements.
func (r *Result) strictest() string {
	levels := []string{Must, MustNot, Should, ShouldNot, May}
	first := len(levels) - 1
	for _, requirement := range r.Requirements {
		if at := slices.Index(levels, requirement.Level); at >= 0 {
			first = min(first, at)
		}
	}
	return levels[first]
}

// junitMessage is the failure in one line: what lists of failures show.
func junitMessage(r *Result) string {
	const longest = 160 // of each part; the text below has them whole
	if len(r.Failures) == 0 {
		return oneLine(r.Text)
	}
	f := r.Failures[0]
	var parts []string
	if f.Wanted != "" {
		parts = append(parts, "wanted "+shorten(oneLine(f.Wanted), longest))
	}
	if f.Found != "" {
		parts = append(parts, "found "+shorten(oneLine(f.Found), longest))
	}
	if len(parts) == 0 {
		parts = append(parts, cmp.Or(oneLine(f.Hint), oneLine(r.Text)))
	}
	message := strings.Join(parts, ", ")
	if f.Where != "" {
		message += " at " + shorten(oneLine(f.Where), longest)
	}
	if more := len(r.Failures) - 1; more > 0 {
		message += fmt.Sprintf(" (and %s more)", plural(more, "mismatch"))
	}
	return message
}

// junitDetail is the text of a failure as a terminal shows it.
func junitDetail(leg *Leg, r *Result) string {
	s := sheet{width: junitWidth}
	s.line()
	plainer := *r
	plainer.Output = "" // stands in system-err
	(&detail{sheet: &s, verbose: true, named: true}).write(&plainer, leg.Revision)
	return s.String()
}

// junitHarness is the suite of what went wrong in the harness itself.
func junitHarness(run *Run) junitSuite {
	class := run.Tool.Name + ".harness"
	suite := junitSuite{Name: "harness", Package: class, Time: junitTime(0)}
	if run.Interrupted != "" {
		suite.Cases = append(suite.Cases, junitCase{
			ClassName: class, Name: "runs to the end", Time: junitTime(0),
			Error: &junitOutcome{Type: "interrupted", Message: oneLine(run.Interrupted)},
		})
	}
	for i, text := range run.Errors {
		suite.Cases = append(suite.Cases, junitCase{
			ClassName: class, Name: fmt.Sprintf("has no error %d", i+1), Time: junitTime(0),
			Error: &junitOutcome{Type: "harness", Message: shorten(oneLine(text), junitWidth), Text: text},
		})
	}
	return suite
}

// junitProperties takes names and values in turn; empty values are left out.
func junitProperties(namesAndValues ...string) *junitPropertyList {
	list := &junitPropertyList{}
	for i := 0; i+1 < len(namesAndValues); i += 2 {
		if value := namesAndValues[i+1]; value != "" {
			list.Properties = append(list.Properties, junitProperty{namesAndValues[i], value})
		}
	}
	return list
}

// junitTime writes seconds without an exponent, to the microsecond.
func junitTime(s Seconds) string {
	return strconv.FormatFloat(s.Duration().Round(time.Microsecond).Seconds(), 'f', 6, 64)
}
