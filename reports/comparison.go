package reports

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
)

// Difference is one change between what was and what is.
type Difference struct {
	Impact Impact `json:"impact"`
	Item   string `json:"item"`            // what was compared, one of the items
	Where  string `json:"where,omitempty"` // JSON pointer into it
	Says   string `json:"says"`
	Was    string `json:"was,omitempty"` // as JSON, shortened
	Is     string `json:"is,omitempty"`
}

// comparison is what was found by comparing items, as the faces of reports show it.
type comparison struct {
	name     string // of the suite in JUnit
	old, new string // what was compared
	notes    []string
	items    []string
	changes  []Difference
	accept   string // the command that makes the new the old
	impacts  []shownImpact
	broken   bool
	breaks   func(Difference) bool
}

// shownImpact is how changes of an impact are shown.
type shownImpact struct {
	Impact

	title, counted string
	style          style
	skips          bool // its item in JUnit, where it does not fail it
}

// of are the changes of an impact.
func (c *comparison) of(impact Impact) []Difference {
	return slices.DeleteFunc(slices.Clone(c.changes), func(one Difference) bool { return one.Impact != impact })
}

// counted counts the changes in one line.
func (c *comparison) counted() string {
	var counts []string
	for position, impact := range c.impacts {
		if number := len(c.of(impact.Impact)); number > 0 || position == 0 {
			counts = append(counts, fmt.Sprintf("%d %s", number, impact.counted))
		}
	}
	return plural(len(c.changes), "change") + ": " + strings.Join(counts, ", ")
}

// presentable returns a copy whose every text is Visible.
func (c *comparison) presentable() *comparison {
	shown := *c
	shown.old, shown.new, shown.accept = Visible(c.old), Visible(c.new), Visible(c.accept)
	shown.notes, shown.items, shown.changes = visible(c.notes), visible(c.items), visible(c.changes)
	return &shown
}

// visible returns a copy whose every text is Visible.
func visible[T any](of T) T { return mapStrings(reflect.ValueOf(of), Visible).Interface().(T) }

// writeVisible writes a document as JSON.
func writeVisible[T any](w io.Writer, document T) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(visible(document))
}

// terminal writes the changes as text for people, the worst first.
func (c *comparison) terminal(w io.Writer, o TerminalOptions, conclusion string) error {
	shown := c.presentable()
	t := &detail{
		sheet:  &sheet{width: max(cmp.Or(o.Width, defaultWidth), leastWidth), color: o.Color},
		indent: changeWidth + 1,
	}
	if !o.Quiet {
		for _, note := range shown.notes {
			t.block(padRight("NOTE", changeWidth+1), boldYellow, oneLine(note), plainStyle, fieldLines)
		}
		for _, impact := range shown.impacts {
			shown.changesOf(t, impact, o.Verbose)
		}
		if len(shown.changes) > 0 && shown.accept != "" {
			t.gap()
			t.copied("accept", shown.accept)
		}
		t.gap()
	}
	how := boldGreen
	if shown.broken {
		how = boldRed
	}
	t.block("", plainStyle, Visible(conclusion), how, fieldLines)
	_, err := io.WriteString(w, t.String())
	return err
}

// changesOf writes the changes of an impact.
func (c *comparison) changesOf(t *detail, impact shownImpact, verbose bool) {
	all := c.of(impact.Impact)
	for position, one := range all {
		if position == changesShown && !verbose {
			t.block(strings.Repeat(" ", t.indent), plainStyle,
				fmt.Sprintf("and %d more; -v shows all", len(all)-position), dim, 1)
			return
		}
		t.gap()
		t.block(padRight(strings.ToUpper(string(impact.Impact)), changeWidth+1), impact.style,
			oneLine(one.Item+": "+one.Says), bold, fieldLines)
		t.field("where", oneLine(one.Where), fieldLines)
		t.field("was", oneLine(one.Was), fieldLines)
		t.field("is", oneLine(one.Is), fieldLines)
	}
}

// markdown writes the changes for a pull request.
func (c *comparison) markdown(w io.Writer, conclusion string) error {
	m := &markdown{}
	mark := "✅"
	if c.broken {
		mark = "❌"
	}
	m.line("## %s %s", mark, m.words(conclusion))
	for _, note := range c.notes {
		m.line("\n- %s", m.code(note))
	}
	for _, impact := range c.impacts {
		all := c.of(impact.Impact)
		if len(all) == 0 {
			continue
		}
		m.line("\n### %s\n\n| | change | where | was | is |\n| --- | --- | --- | --- | --- |", impact.title)
		for position, one := range all {
			if position == markdownShown {
				m.line("\n%d more are left out here.", len(all)-position)
				break
			}
			m.line("| %s | %s | %s | %s | %s |",
				m.cell(one.Item), m.words(one.Says), m.cell(one.Where), m.cell(one.Was), m.cell(one.Is))
		}
	}
	if len(c.changes) > 0 && c.accept != "" {
		m.line("\nTo accept this: %s", m.code(c.accept))
	}
	_, err := io.WriteString(w, m.String())
	return err
}

// junit writes the comparison as JUnit XML: a test case for each item.
func (c *comparison) junit(w io.Writer, conclusion string) error {
	shown := c.presentable()
	suite := junitSuite{
		Name: shown.name, Package: "mcpconform." + shown.name, Time: "0", Timestamp: junitEpoch, Hostname: "localhost",
		Properties: junitProperties("old", oneLine(shown.old), "new", oneLine(shown.new)),
	}
	used := map[string]int{}
	for _, item := range shown.items {
		one := shown.junitCase(item)
		one.ClassName = suite.Package
		if used[one.Name]++; used[one.Name] > 1 {
			one.Name = fmt.Sprintf("%s (%d)", one.Name, used[one.Name])
		}
		suite.Cases = append(suite.Cases, one)
	}
	suite.SystemOut.Text = Visible(conclusion)
	suite.count()
	return writeJUnit(w, junitSuites{Suites: []junitSuite{suite}})
}

// junitCase is that of an item.
func (c *comparison) junitCase(item string) junitCase {
	one := junitCase{Name: oneLine(item), Time: "0"}
	var failing, skipping []string
	for _, change := range c.changes {
		at := slices.IndexFunc(c.impacts, func(one shownImpact) bool { return one.Impact == change.Impact })
		switch {
		case change.Item != item:
		case c.breaks(change):
			failing = append(failing, change.block())
		case at >= 0 && c.impacts[at].skips:
			skipping = append(skipping, change.block())
		}
	}
	outcome := func(all []string) *junitOutcome {
		message, _, _ := strings.Cut(all[0], "\n")
		text := strings.Join(all, "\n")
		if c.accept != "" {
			text += "\nto accept: " + c.accept
		}
		return &junitOutcome{Message: message, Text: text}
	}
	switch {
	case len(failing) > 0:
		one.Failure = outcome(failing)
		one.Failure.Type = string(c.impacts[0].Impact)
	case len(skipping) > 0:
		one.Skipped = &junitOutcome{Message: outcome(skipping).Message}
	}
	return one
}

// block writes a change in lines.
func (c Difference) block() string {
	lines := []string{fmt.Sprintf("%s: %s", c.Impact, c.Says)}
	for _, field := range [][2]string{{"where", c.Where}, {"was", c.Was}, {"is", c.Is}} {
		if field[1] != "" {
			lines = append(lines, padRight(field[0], labelWidth)+field[1])
		}
	}
	return strings.Join(lines, "\n") + "\n"
}

// junitEpoch is the time of what has none: the same comparison gives the same bytes.
const junitEpoch = "1970-01-01T00:00:00"
