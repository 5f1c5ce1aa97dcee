package reports

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpconform/mcpconform/internal/excerpt"
)

// junitWidth is the line length of texts in JUnit XML: viewers show them in a
// wide box that scrolls.
const junitWidth = 120

// JUnitOptions choose how a run is shown as JUnit XML.
type JUnitOptions struct {
	Warnings string // what a warned result is there: one of JUnitWarnings; "" means skip
}

// The values of JUnitOptions.Warnings. JUnit XML knows nothing between passed and
// failed.
const (
	warningsPass = "pass"
	warningsSkip = "skip"
	warningsFail = "fail"
)

// JUnitWarnings lists what a warned result may be in JUnit XML.
func JUnitWarnings() []string { return []string{warningsPass, warningsSkip, warningsFail} }

// The elements of JUnit XML, as far as both common schemas have them: junit-10.xsd,
// by which Jenkins refuses a file, and JUnit.xsd of Windy Road, which is that of
// Ant. So a test case has a name, a class and a time, and one outcome; what more there
// is to say of it stands in the texts of failures, and, for all cases, in the output
// of the suite. Neither schema has the attribute file of a test case, which would name
// a file in the repository of the reader: no check stands in one.
type (
	junitSuites struct {
		XMLName xml.Name     `xml:"testsuites"`
		Suites  []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name       string            `xml:"name,attr"`
		Package    string            `xml:"package,attr"`
		ID         int               `xml:"id,attr"`
		Tests      int               `xml:"tests,attr"`
		Failures   int               `xml:"failures,attr"`
		Errors     int               `xml:"errors,attr"`
		Skipped    int               `xml:"skipped,attr"`
		Time       string            `xml:"time,attr"`
		Timestamp  string            `xml:"timestamp,attr"`
		Hostname   string            `xml:"hostname,attr"`
		Properties junitPropertyList `xml:"properties"`
		Cases      []junitCase       `xml:"testcase"`
		SystemOut  junitBlock        `xml:"system-out"`
		SystemErr  junitBlock        `xml:"system-err"`
	}
	junitPropertyList struct {
		Properties []junitProperty `xml:"property"`
	}
	junitProperty struct {
		Name  string `xml:"name,attr"`
		Value string `xml:"value,attr"`
	}
	junitCase struct {
		ClassName string        `xml:"classname,attr"`
		Name      string        `xml:"name,attr"`
		Time      string        `xml:"time,attr"`
		Skipped   *junitOutcome `xml:"skipped"`
		Error     *junitOutcome `xml:"error"`
		Failure   *junitOutcome `xml:"failure"`
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

// JUnit writes the run as JUnit XML: a test suite for each cell and page, a test
// case for each result, failures of the harness as errors. What is inconclusive is
// skipped. What is warned is skipped, too, unless the options say otherwise: then no
// viewer hides it, nothing turns red, and the cases that pass and fail are as many as
// in every other report. Where the run is strict, both fail. The same run gives the
// same bytes.
func (r *Run) JUnit(w io.Writer, options JUnitOptions) error {
	run := presentable(r)
	j := junit{run: run, warnings: cmp.Or(options.Warnings, warningsSkip)}
	if run.Strict {
		j.warnings = warningsFail
	}
	top := junitSuites{Suites: []junitSuite{}}
	for i := range run.Cells {
		top.Suites = append(top.Suites, j.cell(&run.Cells[i])...)
	}
	for _, suite := range []junitSuite{j.baseline(), j.harness()} {
		if len(suite.Cases) > 0 {
			top.Suites = append(top.Suites, suite)
		}
	}
	for i := range top.Suites {
		top.Suites[i].ID = i
		top.Suites[i].Timestamp = run.Started.UTC().Format("2006-01-02T15:04:05")
		top.Suites[i].Hostname = cmp.Or(oneLine(run.Host), "localhost")
		top.Suites[i].count()
	}
	return writeJUnit(w, top)
}

// writeJUnit writes suites as a document.
func writeJUnit(w io.Writer, top junitSuites) error {
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return fmt.Errorf("write JUnit XML: %w", err)
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	if err := enc.Encode(top); err != nil {
		return fmt.Errorf("write JUnit XML: %w", err)
	}
	if _, err := io.WriteString(w, "\n"); err != nil {
		return fmt.Errorf("write JUnit XML: %w", err)
	}
	return nil
}

// strictest returns the most binding level of the requirements. What has none was
// asked for by the user.
func (r *Result) strictest() string {
	levels := []string{Must, Should, May}
	strictest := len(levels)
	for _, requirement := range r.Requirements {
		if at := slices.Index(levels, requirement.PlainLevel()); at >= 0 {
			strictest = min(strictest, at)
		}
	}
	return levels[strictest%len(levels)]
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

// junit makes the suites of one run.
type junit struct {
	run      *Run
	warnings string
}

// cell makes the suites of one cell: one for what concerns all of it, where there is
// anything, and one for each page.
func (j *junit) cell(cell *Cell) []junitSuite {
	title := strings.Join([]string{cell.Role, cell.Revision, cell.Transport}, " · ")
	class := strings.Join([]string{j.run.Tool.Name, cell.Role, cell.Revision, cell.Transport}, ".")
	properties := junitProperties(
		"role", cell.Role, "revision", cell.Revision, "transport", cell.Transport,
		"target", oneLine(cell.Target.Name+" "+cell.Target.Version),
		"requirements", oneLine(j.run.Requirements),
		"draft", strings.Join(j.run.Draft.says(), "; "),
		"runs", runsOf(j.run),
		"notice", oneLine(strings.Join(cell.Notices, "; ")))
	var suites []junitSuite
	if whole := j.whole(cell, class); len(whole.Cases) > 0 {
		whole.Name, whole.Package, whole.Properties = title, class, properties
		suites = append(suites, whole)
	}
	for page, results := range cell.byPage() {
		suite := junitSuite{
			Name:       title + " · " + page,
			Package:    class + "." + strings.ReplaceAll(page, "/", "."),
			Properties: properties,
		}
		var spent Seconds
		var facts, stderr strings.Builder
		used := make(map[string]int)
		for i := range results {
			c := j.result(cell, &results[i])
			c.ClassName = suite.Package
			// Viewers take two cases of one name for one.
			used[c.Name]++
			if n := used[c.Name]; n > 1 {
				c.Name = fmt.Sprintf("%s (%d)", c.Name, n)
			}
			suite.Cases = append(suite.Cases, c)
			spent += results[i].Duration
			facts.WriteString(j.facts(cell, &results[i], c.Name))
			if output := results[i].Output; output != "" {
				stderr.WriteString("\n" + c.Name + ":\n" + output + "\n")
			}
		}
		suite.Time = junitTime(spent)
		suite.SystemOut.Text, suite.SystemErr.Text = "\n"+facts.String(), stderr.String()
		suites = append(suites, suite)
	}
	return suites
}

// whole has a case for what concerns a cell as a whole: that its revision is not
// spoken, or that it came to an early end. A dashboard then shows that it was asked
// for.
func (j *junit) whole(cell *Cell, class string) junitSuite {
	suite := junitSuite{Time: junitTime(cell.Duration)}
	if !cell.Spoken && len(cell.Results) == 0 {
		suite.Cases = append(suite.Cases, junitCase{
			ClassName: class,
			Name:      "speaks " + cell.Revision + " over " + cell.Transport,
			Time:      junitTime(cell.Duration),
			Skipped:   &junitOutcome{Message: cmp.Or(oneLine(cell.Note), "not spoken")},
		})
	}
	if cell.Ended != nil {
		s := sheet{width: junitWidth}
		s.line()
		(&detail{sheet: &s, verbose: true}).ended(cell.Ended)
		suite.Cases = append(suite.Cases, junitCase{
			ClassName: class, Name: "runs until the last check", Time: junitTime(cell.Duration),
			Error: &junitOutcome{Type: "ended", Message: oneLine(cell.Ended.Reason), Text: s.String()},
		})
	}
	return suite
}

func (j *junit) result(cell *Cell, r *Result) junitCase {
	c := junitCase{Name: oneLine(r.Text), Time: junitTime(r.Duration)}
	switch r.Verdict {
	case Failed:
		c.Failure = junitFailure(cell, r)
	case Warned:
		switch {
		case j.warnings == warningsFail && !r.lenient():
			c.Failure = junitFailure(cell, r)
		case j.warnings != warningsPass:
			c.Skipped = &junitOutcome{Message: "warned: " + junitMessage(r), Text: junitDetail(cell, r)}
		}
	case Known:
		c.Skipped = &junitOutcome{Message: "known: " + junitKnown(r), Text: junitDetail(cell, r)}
	case Skipped:
		c.Skipped = &junitOutcome{Message: cmp.Or(oneLine(r.Reason), "does not apply")}
	case Inconclusive:
		message := "inconclusive: " + cmp.Or(oneLine(r.Reason), "could not be tested")
		if r.Hint != "" {
			message += " (" + oneLine(r.Hint) + ")"
		}
		if r.Fails(j.run.Strict) {
			c.Failure = &junitOutcome{Type: r.strictest(), Message: message, Text: junitDetail(cell, r)}
			break
		}
		c.Skipped = &junitOutcome{Message: message}
	}
	if flaky := r.flaky(); flaky != "" {
		for _, outcome := range []*junitOutcome{c.Failure, c.Skipped} {
			if outcome != nil {
				outcome.Message = "flaky, " + flaky + ": " + outcome.Message
			}
		}
	}
	return c
}

// runsOf is how many runs it was; "" for one.
func runsOf(run *Run) string {
	if run.Repeats < 2 {
		return ""
	}
	return strconv.Itoa(run.Repeats)
}

// facts are what a test case has no place for: a line for each case, and the warning
// of one that passes in spite of it.
func (j *junit) facts(cell *Cell, r *Result, name string) string {
	words := []string{padRight(string(r.Verdict), len(Inconclusive)), padRight(r.Kind, len(KindCheck)), r.strictest()}
	var links []string
	for _, requirement := range r.Requirements {
		words = append(words, requirement.ID)
		if requirement.RestsOn != "" {
			words = append(words, "(rests on "+oneLine(requirement.RestsOn)+")")
		}
		if requirement.Link != "" && !slices.Contains(links, requirement.Link) {
			links = append(links, requirement.Link)
		}
	}
	text := strings.Join(append(append(words, links...), name), "  ") + "\n"
	if flaky := r.flaky(); flaky != "" {
		text += "FLAKY " + flaky + "\n"
	}
	if r.Verdict == Warned && j.warnings == warningsPass {
		text += "WARNED " + r.strictest() + ": " + junitMessage(r) + "\n" + junitDetail(cell, r)
	}
	return text
}

func junitFailure(cell *Cell, r *Result) *junitOutcome {
	return &junitOutcome{Type: r.strictest(), Message: junitMessage(r), Text: junitDetail(cell, r)}
}

// junitKnown is why a deviation is known, and where that is written.
func junitKnown(r *Result) string {
	if r.Known == nil {
		return junitMessage(r)
	}
	return strings.TrimSpace(oneLine(r.Known.Reason)+" "+oneLine(r.Known.Issue)) + " (" + oneLine(r.Known.At) + ")"
}

// baseline is the suite of what no longer holds in the baseline.
func (j *junit) baseline() junitSuite {
	class := j.run.Tool.Name + ".baseline"
	suite := junitSuite{Name: "baseline", Package: class, Time: junitTime(0)}
	for _, one := range j.run.Baseline.outdated() {
		at := fmt.Sprintf("%s:%d", oneLine(one.File), one.Line)
		suite.Cases = append(suite.Cases, junitCase{
			ClassName: class,
			Name:      at + " holds",
			Time:      junitTime(0),
			Error: &junitOutcome{
				Type:    one.Why,
				Message: oneLine(one.Says),
				Text:    "\n" + at + "  " + one.Says + "\n" + one.Mend + "\n",
			},
		})
	}
	return suite
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
		parts = append(parts, "wanted "+excerpt.Middle(oneLine(f.Wanted), longest))
	}
	if f.Found != "" {
		parts = append(parts, "found "+excerpt.Middle(oneLine(f.Found), longest))
	}
	if len(parts) == 0 {
		parts = append(parts, cmp.Or(oneLine(f.Hint), oneLine(r.Text)))
	}
	message := strings.Join(parts, ", ")
	if f.Where != "" {
		message += " at " + excerpt.Middle(oneLine(f.Where), longest)
	}
	if more := len(r.Failures) - 1; more > 0 {
		message += fmt.Sprintf(" (and %s more)", plural(more, "mismatch"))
	}
	return message
}

// junitDetail is the text of a failure as a terminal shows it.
func junitDetail(cell *Cell, r *Result) string {
	s := sheet{width: junitWidth}
	s.line()
	(&detail{sheet: &s, verbose: true, named: true}).write(r, cell.Revision)
	return s.String()
}

// harness is the suite of what went wrong in the harness itself.
func (j *junit) harness() junitSuite {
	class := j.run.Tool.Name + ".harness"
	suite := junitSuite{Name: "harness", Package: class, Time: junitTime(0)}
	if j.run.Interrupted != "" {
		suite.Cases = append(suite.Cases, junitCase{
			ClassName: class, Name: "runs to the end", Time: junitTime(0),
			Error: &junitOutcome{Type: "interrupted", Message: oneLine(j.run.Interrupted)},
		})
	}
	for i, text := range j.run.Errors {
		suite.Cases = append(suite.Cases, junitCase{
			ClassName: class, Name: fmt.Sprintf("has no error %d", i+1), Time: junitTime(0),
			Error: &junitOutcome{Type: "harness", Message: excerpt.Middle(oneLine(text), junitWidth), Text: text},
		})
	}
	return suite
}

// junitProperties takes names and values in turn; empty values are left out.
func junitProperties(namesAndValues ...string) junitPropertyList {
	list := junitPropertyList{}
	for i := 0; i+1 < len(namesAndValues); i += 2 {
		if value := namesAndValues[i+1]; value != "" {
			list.Properties = append(list.Properties, junitProperty{namesAndValues[i], value})
		}
	}
	return list
}

// junitTime writes seconds without an exponent, to the millisecond: more decimals are
// refused by older schemas of Surefire.
func junitTime(s Seconds) string {
	return strconv.FormatFloat(float64(s), 'f', 3, 64)
}
