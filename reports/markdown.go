package reports

import (
	"fmt"
	"html"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpconform/mcpconform/internal/excerpt"
)

const (
	// markdownText bounds one text in Markdown: a summary of GitHub may have 1 MiB, and
	// is to be read.
	markdownText = 600
	// markdownShown bounds each list of results.
	markdownShown = 40
	// markdownFailures bounds the mismatches of a result.
	markdownFailures = 6
	// markdownSteps bounds the exchange of a failure.
	markdownSteps = 12
)

// markdown is Markdown being written. What a target sent stands in code alone, where no
// viewer reads links, mentions or HTML.
type markdown struct{ strings.Builder }

func (m *markdown) line(format string, values ...any) {
	fmt.Fprintf(&m.Builder, format+"\n", values...)
}

// code writes a text in one line as it is, between backticks that do not stand in it.
func (m *markdown) code(text string) string {
	text = excerpt.Middle(oneLine(text), markdownText)
	if text == "" {
		return ""
	}
	fence := strings.Repeat("`", longestRun(text, '`')+1)
	if strings.HasPrefix(text, "`") || strings.HasSuffix(text, "`") {
		text = " " + text + " "
	}
	return fence + text + fence
}

// cell is code for a table, where a bar ends it.
func (m *markdown) cell(text string) string { return strings.ReplaceAll(m.code(text), "|", `\|`) }

// words writes words of the harness: nothing in them is Markdown. What a viewer would
// make a link or a mention of becomes code.
func (m *markdown) words(text string) string {
	if strings.Contains(text, "://") || strings.Contains(text, "www.") || strings.Contains(text, "@") {
		return m.cell(text)
	}
	return markdownWords.Replace(excerpt.Middle(oneLine(text), markdownText))
}

var markdownWords = strings.NewReplacer(
	`\`,
	`\\`,
	"`",
	"\\`",
	"*",
	`\*`,
	"_",
	`\_`,
	"[",
	`\[`,
	"]",
	`\]`,
	"<",
	"&lt;",
	">",
	"&gt;",
	"&",
	"&amp;",
	"|",
	`\|`,
	"~",
	`\~`,
	"#",
	`\#`,
)

// block writes lines as they are.
func (m *markdown) block(lines []string) {
	text := strings.Join(lines, "\n")
	fence := strings.Repeat("`", max(3, longestRun(text, '`')+1))
	m.line("%stext\n%s\n%s", fence, text, fence)
}

// longestRun is the number of times that a character stands in a row.
func longestRun(text string, character rune) int {
	longest, run := 0, 0
	for _, r := range text {
		if run++; r != character {
			run = 0
		}
		longest = max(longest, run)
	}
	return longest
}

// Markdown writes the changes for a summary or a comment.
func (d *Diff) Markdown(w io.Writer) error {
	m := &markdown{}
	mark := "✅"
	if d.Worse() {
		mark = "❌"
	}
	m.line("## %s %s\n", mark, m.words(d.Conclusion()))
	m.line(
		"| | target | passed | failed | known | warned | skipped | inconclusive |\n| --- | --- | --- | --- | --- | --- | --- | --- |",
	)
	for _, one := range []struct {
		name string
		run  *Run
	}{{"old", d.Old}, {"new", d.New}} {
		c := one.run.Counts()
		m.line(
			"| %s, %s | %s | %d | %d | %d | %d | %d | %d |",
			one.name,
			one.run.Started.UTC().Format("2006-01-02 15:04"),
			m.cell(strings.TrimSpace(one.run.Target.Name+" "+one.run.Target.Version)),
			c.Passed,
			c.Failed,
			c.Known,
			c.Warned,
			c.Skipped,
			c.Inconclusive,
		)
	}
	for _, note := range d.Notes {
		m.line("\n- %s", m.code(note))
	}
	for _, list := range []struct {
		title string
		all   []Change
	}{{"Regressions", d.Regressed}, {"Mended", d.Mended}, {"New", d.Added}, {"Gone", d.Gone}, {"Otherwise changed", d.Other}} {
		m.changes(list.title, list.all)
	}
	_, err := io.WriteString(w, m.String())
	return err
}

func (m *markdown) changes(title string, all []Change) {
	if len(all) == 0 {
		return
	}
	m.line("\n### %s\n\n| check or rule | requirement | change | at |\n| --- | --- | --- | --- |", title)
	for i := range all {
		c := &all[i]
		if i == markdownShown {
			m.line("| and %d more | | | |", len(all)-i)
			break
		}
		m.line(
			"| %s | %s %s | %s | %s |",
			m.words(c.Text),
			m.cell(c.ID),
			c.level(),
			c.String(),
			m.words(strings.Join(c.Cells, ", ")),
		)
	}
	if title != "Regressions" {
		return
	}
	for i := range all[:min(len(all), markdownShown)] {
		m.result(all[i].Result, all[i].Cells, "")
	}
}

// result writes what stands behind a verdict, folded.
func (m *markdown) result(r *Result, cells []string, word string) {
	level := ""
	if len(r.Requirements) > 0 {
		level = " · " + r.Requirements[0].PlainLevel()
	}
	m.line("\n<details><summary>%s%s%s</summary>\n", word, html.EscapeString(oneLine(r.Text)), level)
	for _, f := range r.Failures[:min(len(r.Failures), markdownFailures)] {
		for _, field := range []struct{ name, text string }{
			{"about", f.About}, {"wanted", f.Wanted}, {"found", f.Found}, {"where", f.Where}, {"hint", f.Hint},
		} {
			if field.text != "" {
				m.line("- %s: %s", field.name, m.code(field.text))
			}
		}
	}
	for _, requirement := range r.Requirements {
		m.line("- breaks %s: %s%s", m.code(requirement.ID), m.words(requirement.Says), m.link(requirement))
	}
	m.line("- at %s", m.words(strings.Join(cells, ", ")))
	if r.Known != nil {
		m.line("- known: %s, %s", m.code(r.Known.Reason), m.code(r.Known.At))
		if r.Known.Issue != "" {
			m.line("- issue: %s", m.code(r.Known.Issue))
		}
	}
	if len(r.Exchange) > 0 {
		m.line("")
		s := &sheet{width: junitWidth}
		d := detail{sheet: s}
		d.steps(r.Exchange, pointers(r.Failures), budget{steps: markdownSteps, step: 3})
		m.block(strings.Split(strings.TrimRight(s.String(), "\n"), "\n"))
	}
	if r.Rerun != "" {
		m.line("")
		m.block([]string{strings.ReplaceAll(r.Rerun, "\n", `\n`)})
	}
	m.line("\n</details>")
}

// link leads to the sentence of a requirement; only one of the specification is made.
func (m *markdown) link(requirement Requirement) string {
	if !strings.HasPrefix(requirement.Link, specificationHost) ||
		strings.ContainsAny(requirement.Link, " ()<>\n\"'`\\") {
		return ""
	}
	return " ([" + m.words(requirement.At) + "](" + requirement.Link + "))"
}

// specificationHost is where the links of requirements lead.
const specificationHost = "https://modelcontextprotocol.io/"

// maxMarkdown bounds a run in Markdown: GitHub shows no summary of more than 1 MiB.
const maxMarkdown = 900 << 10

// Markdown writes the run for a summary of a build or a comment: the conclusion, a table
// of verdicts, and what is broken, folded, with its exchange. It has at most 900 KiB.
func (r *Run) Markdown(w io.Writer) error {
	run := presentable(r)
	m := &markdown{}
	mark := "❌"
	if run.Conforms(run.Strict) {
		mark = "✅"
	}
	m.line("## %s %s\n", mark, m.words(run.Conclusion()))
	m.line("%s · %s · %s\n", m.code(run.targetName()), m.code(run.reached()), duration(run.Duration))
	for _, line := range run.Draft.says() {
		m.line("- %s", m.words(line))
	}
	if run.Draft != nil {
		m.line("")
	}
	m.cells(run)
	for _, line := range run.Advice() {
		m.line("\n%s", m.words(line))
	}
	for _, one := range run.Baseline.outdated() {
		m.line(
			"\n- **%s** %s %s: %s",
			one.Why,
			m.code(fmt.Sprintf("%s:%d", one.File, one.Line)),
			m.code(one.Says),
			m.code(one.Mend),
		)
	}
	for _, text := range append([]string{run.Interrupted}, run.Errors...) {
		if text != "" {
			m.line("\n- %s", m.code(text))
		}
	}
	t := &terminal{run: run}
	for _, v := range []Verdict{Failed, Warned, Known} {
		m.findings(v, t.findings(v))
	}
	m.flaky(run.flakyFindings())
	m.reasons(t.reasons(Inconclusive))
	_, err := io.WriteString(w, m.String())
	return err
}

// cells writes a table of verdicts, and what is to be known of each part of the run.
func (m *markdown) cells(run *Run) {
	head, rule := []string{""}, []string{"---"}
	for _, one := range countsOf(run.Counts()) {
		head, rule = append(head, string(one.Verdict)), append(rule, "---:")
	}
	m.line("| %s |\n| %s |", strings.Join(head, " | "), strings.Join(rule, " | "))
	var notes []string
	for i := range run.Cells {
		cell := &run.Cells[i]
		row := []string{m.words(cell.Name())}
		for _, one := range countsOf(run.Counts()) {
			row = append(row, strconv.Itoa(cell.Counts().Of(one.Verdict)))
		}
		m.line("| %s |", strings.Join(row, " | "))
		texts := append([]string{cell.Note}, cell.Notices...)
		if cell.Ended != nil {
			texts = append(texts, cell.Name()+" ended early: "+cell.Ended.Reason)
		}
		for _, text := range texts {
			if note := m.code(text); note != "" && !slices.Contains(notes, note) {
				notes = append(notes, note)
			}
		}
	}
	for _, note := range notes {
		m.line("\n- %s", note)
	}
}

// findings writes what is broken, as long as there is room.
func (m *markdown) findings(v Verdict, all []*finding) {
	if len(all) == 0 {
		return
	}
	m.line("\n### %s %s", strings.ToUpper(string(v[:1]))+string(v[1:]), fmt.Sprintf("(%d)", len(all)))
	for i, f := range all {
		if i == markdownShown || m.Len() > maxMarkdown*3/4 {
			m.line("\nand %d more", len(all)-i)
			return
		}
		m.result(f.Result, f.cells, "")
	}
}

// flaky lists what had another verdict in another run.
func (m *markdown) flaky(all []*finding) {
	if len(all) == 0 {
		return
	}
	m.line("\n### Flaky (%d)\n", len(all))
	for i, one := range all {
		if i == markdownShown || m.Len() > maxMarkdown*3/4 {
			m.line("- and %d more", len(all)-i)
			return
		}
		m.line("- %s %s: %s, at %s", m.words(one.Text), m.code(one.ID), one.flaky(), m.words(one.cells[0]))
	}
}

// reasons writes why results are inconclusive, the most frequent reason first.
func (m *markdown) reasons(all []*reason) {
	if len(all) == 0 {
		return
	}
	m.line("\n### Inconclusive\n")
	for i, one := range all {
		if i == markdownShown || m.Len() > maxMarkdown*3/4 {
			m.line("- and %d other reasons", len(all)-i)
			return
		}
		why, hint := one.describe()
		if hint != "" {
			hint = ": " + m.code(hint)
		}
		m.line("- %d × %s%s", one.count, m.code(why), hint)
	}
}
