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

// Impact is what a change of what a server offers means to its clients.
type Impact string

// The impacts, the worst first.
const (
	Breaking   Impact = "breaking"   // a client that went by the old contract may fail
	Unclear    Impact = "unclear"    // nothing in the change tells whether one may
	Compatible Impact = "compatible" // none does
	Wording    Impact = "text"       // only what people and models read has changed
)

// Impacts lists them, the worst first.
func Impacts() []Impact { return []Impact{Breaking, Unclear, Compatible, Wording} }

// ContractFormat is the version of the format of a ContractDiff as JSON.
const ContractFormat = 1

// ContractDiff is what has changed in what a server offers.
type ContractDiff struct {
	Format  int              `json:"format"`
	Old     string           `json:"old"` // what was compared: a file
	New     string           `json:"new"` // a file, or the server
	Strict  bool             `json:"strict,omitempty"`
	Notes   []string         `json:"notes,omitempty"` // a line each: what limits the comparison
	Items   []string         `json:"items"`           // what was compared: "tool echo"
	Changes []ContractChange `json:"changes"`
	Accept  string           `json:"accept,omitempty"` // the command that makes the new contract the old one
}

// ContractChange is one change.
type ContractChange struct {
	Impact Impact `json:"impact"`
	Item   string `json:"item"`            // one of the items
	Where  string `json:"where,omitempty"` // JSON pointer into it
	Says   string `json:"says"`
	Was    string `json:"was,omitempty"` // as JSON, shortened
	Is     string `json:"is,omitempty"`
}

// Breaks tells whether a change fails a comparison.
func (d *ContractDiff) Breaks(one ContractChange) bool {
	return one.Impact == Breaking || d.Strict && one.Impact == Unclear
}

// Broken tells whether any does.
func (d *ContractDiff) Broken() bool { return slices.ContainsFunc(d.Changes, d.Breaks) }

// of are the changes of an impact.
func (d *ContractDiff) of(impact Impact) []ContractChange {
	return slices.DeleteFunc(slices.Clone(d.Changes), func(one ContractChange) bool { return one.Impact != impact })
}

// Conclusion counts the changes in one line.
func (d *ContractDiff) Conclusion() string {
	if len(d.Changes) == 0 {
		return "Nothing has changed in what the server offers"
	}
	words := map[Impact]string{
		Breaking: "breaking", Unclear: "unclear whether breaking", Compatible: "compatible", Wording: "of text",
	}
	var counts []string
	for _, impact := range Impacts() {
		if number := len(d.of(impact)); number > 0 || impact == Breaking {
			counts = append(counts, fmt.Sprintf("%d %s", number, words[impact]))
		}
	}
	return plural(len(d.Changes), "change") + ": " + strings.Join(counts, ", ")
}

// presentable returns a copy whose every text is Visible.
func (d *ContractDiff) presentable() *ContractDiff {
	return mapStrings(reflect.ValueOf(d), Visible).Interface().(*ContractDiff)
}

// Write writes the comparison as JSON.
func (d *ContractDiff) Write(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(d.presentable())
}

// Terminal writes the changes as text for people, the worst first.
func (d *ContractDiff) Terminal(w io.Writer, o TerminalOptions) error {
	shown := d.presentable()
	t := &detail{
		sheet:  &sheet{width: max(cmp.Or(o.Width, defaultWidth), leastWidth), color: o.Color},
		indent: changeWidth + 1,
	}
	how := map[Impact]style{Breaking: boldRed, Unclear: boldYellow, Compatible: boldGreen, Wording: bold}
	if !o.Quiet {
		for _, note := range shown.Notes {
			t.block(padRight("NOTE", changeWidth+1), boldYellow, oneLine(note), plainStyle, fieldLines)
		}
		for _, impact := range Impacts() {
			for position, one := range shown.of(impact) {
				if position == changesShown && !o.Verbose {
					t.block(strings.Repeat(" ", t.indent), plainStyle,
						fmt.Sprintf("and %d more; -v shows all", len(shown.of(impact))-position), dim, 1)
					break
				}
				t.gap()
				t.block(padRight(strings.ToUpper(string(impact)), changeWidth+1), how[impact],
					oneLine(one.Item+": "+one.Says), bold, fieldLines)
				t.field("where", oneLine(one.Where), fieldLines)
				t.field("was", oneLine(one.Was), fieldLines)
				t.field("is", oneLine(one.Is), fieldLines)
			}
		}
		if len(shown.Changes) > 0 && shown.Accept != "" {
			t.gap()
			t.copied("accept", shown.Accept)
		}
		t.gap()
	}
	conclusion := boldGreen
	if shown.Broken() {
		conclusion = boldRed
	}
	t.block("", plainStyle, shown.Conclusion(), conclusion, fieldLines)
	_, err := io.WriteString(w, t.String())
	return err
}

// Markdown writes the changes for a pull request.
func (d *ContractDiff) Markdown(w io.Writer) error {
	m := &markdown{}
	mark := "✅"
	if d.Broken() {
		mark = "❌"
	}
	m.line("## %s %s", mark, m.words(d.Conclusion()))
	for _, note := range d.Notes {
		m.line("\n- %s", m.code(note))
	}
	titles := map[Impact]string{
		Breaking: "Breaking", Unclear: "Unclear whether breaking", Compatible: "Compatible", Wording: "Text",
	}
	for _, impact := range Impacts() {
		all := d.of(impact)
		if len(all) == 0 {
			continue
		}
		m.line("\n### %s\n\n| | change | where | was | is |\n| --- | --- | --- | --- | --- |", titles[impact])
		for position, one := range all {
			if position == markdownShown {
				m.line("\n%d more are left out here.", len(all)-position)
				break
			}
			m.line("| %s | %s | %s | %s | %s |",
				m.cell(one.Item), m.words(one.Says), m.cell(one.Where), m.cell(one.Was), m.cell(one.Is))
		}
	}
	if len(d.Changes) > 0 && d.Accept != "" {
		m.line("\nTo accept this: %s", m.code(d.Accept))
	}
	_, err := io.WriteString(w, m.String())
	return err
}

// JUnit writes the comparison as JUnit XML: a test case for each item, which fails where a
// change breaks the contract, and is skipped where one may.
func (d *ContractDiff) JUnit(w io.Writer) error {
	shown := d.presentable()
	suite := junitSuite{
		Name: "contract", Package: "mcpconform.contract", Time: "0", Timestamp: junitEpoch, Hostname: "localhost",
		Properties: junitProperties("old", oneLine(shown.Old), "new", oneLine(shown.New)),
	}
	used := map[string]int{}
	for _, item := range shown.Items {
		one := junitCase{ClassName: suite.Package, Name: oneLine(item), Time: "0"}
		if used[one.Name]++; used[one.Name] > 1 {
			one.Name = fmt.Sprintf("%s (%d)", one.Name, used[one.Name])
		}
		var breaking, unclear []string
		for _, change := range shown.Changes {
			if change.Item != item {
				continue
			}
			told := change.block()
			switch {
			case shown.Breaks(change):
				breaking = append(breaking, told)
			case change.Impact == Unclear:
				unclear = append(unclear, told)
			}
		}
		outcome := func(all []string) *junitOutcome {
			message, _, _ := strings.Cut(all[0], "\n")
			text := strings.Join(all, "\n")
			if shown.Accept != "" {
				text += "\nto accept: " + shown.Accept
			}
			return &junitOutcome{Message: message, Text: text}
		}
		switch {
		case len(breaking) > 0:
			one.Failure = outcome(breaking)
			one.Failure.Type = string(Breaking)
		case len(unclear) > 0:
			one.Skipped = &junitOutcome{Message: outcome(unclear).Message}
		}
		suite.Cases = append(suite.Cases, one)
	}
	suite.SystemOut.Text = shown.Conclusion()
	suite.count()
	return writeJUnit(w, junitSuites{Suites: []junitSuite{suite}})
}

// block writes a change in lines.
func (c ContractChange) block() string {
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
