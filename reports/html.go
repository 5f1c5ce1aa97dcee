package reports

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // the page
	"encoding/base64"
	"errors"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/mcpconform/mcpconform/internal/excerpt"
)

// maxHTML bounds a report that a browser shows: more is not read, and slow.
const maxHTML = 3 << 20

// measure is how much of what a run has a page shows.
type measure struct {
	text   int // characters of a text
	steps  int // of an exchange
	passed int // of the exchange of what passed, or was skipped
}

// of is how many steps of a result are shown.
func (m measure) of(r *Result) int {
	if r.Verdict == Passed || r.Verdict == Skipped {
		return m.passed
	}
	return m.steps
}

// measures are tried until the page fits, the largest first. With the last one several
// thousand results fit, however long their texts are.
var measures = []measure{
	{2000, 60, 60},
	{1000, 60, 30},
	{600, 60, 12},
	{600, 60, 4},
	{600, 30, 0},
	{300, 20, 0},
	{160, 12, 0},
	{120, 8, 0},
	{120, 5, 0},
	{80, 4, 0},
	{60, 3, 0},
	{60, 1, 0},
	{40, 0, 0},
	{16, 0, 0},
}

var (
	//go:embed html/page.html
	pageHTML string
	//go:embed html/page.css
	pageCSS string
	//go:embed html/page.js
	pageJS string
)

// page is parsed when it is first wanted: workers, of which each run starts many, write none.
var page = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("page").Funcs(template.FuncMap{
		"duration": duration, "plural": plural, "join": strings.Join, "checksAndRules": checksAndRules,
	}).Parse(pageHTML))
})

// HTMLOptions choose what a page shows beside the run.
type HTMLOptions struct {
	Since *Run // an older run to compare with; nil for none
}

// HTML writes the run as one page for browsers, of at most 3 MiB, that loads nothing. What
// the run says of each result stands there, with its exchange as a sequence diagram; texts
// that many results share are there once, and are cut as far as the page needs it. The
// policy of the page lets no other script run than its own.
func (r *Run) HTML(w io.Writer, o HTMLOptions) error {
	run := presentable(r)
	var changes *Diff
	if o.Since != nil {
		changes = Compare(o.Since, r)
	}
	for _, measure := range measures {
		if run.traffic(measure) > pageTexts {
			continue
		}
		view, fits := newPage(run, changes, measure)
		if !fits {
			continue
		}
		var out bytes.Buffer
		if err := page().Execute(&out, view); err != nil {
			return fmt.Errorf("write the run as HTML: %w", err)
		}
		if out.Len() <= maxHTML {
			_, err := w.Write(out.Bytes())
			return err
		}
	}
	return errors.New("write the run as HTML: it has too many results for a page of 3 MiB")
}

// traffic is about how much room the exchanges of a run take at a measure: a text that
// is there several times, once.
func (r *Run) traffic(m measure) int {
	size := 0
	seen := map[string]bool{}
	for i := range r.Cells {
		for j := range r.Cells[i].Results {
			result := &r.Cells[i].Results[j]
			exchange := result.Exchange
			for _, at := range shownSteps(exchange, m.of(result)) {
				size += stepSize
				if text := exchange[at].Text; !seen[text] {
					seen[text] = true
					size += min(len(text), m.text)
				}
			}
		}
	}
	return size
}

// pageView is what the page is made of.
type pageView struct {
	Title      string
	Run        *Run
	Conforms   bool
	Conclusion string
	Advice     []string
	Target     string
	Reached    string
	Command    string
	Date       string
	Counts     []pageCount
	Notices    []string
	Draft      []string
	Cells      []pageCell
	Broken     []pageCause // failed, then warned, then known
	BrokenMore int
	Flaky      []pageFlaky
	FlakyMore  int
	Reasons    []pageReasons
	Outdated   []Outdated
	Changes    *pageChanges
	Pages      []string
	Revisions  []string
	Transports []string
	Levels     []string
	Cut        bool // texts are shorter than the run has them
	Data       pageData
	Style      template.CSS
	Script     template.JS
	Policy     string
}

type pageCount struct {
	Verdict Verdict
	Count   int
}

// pageCell is a part of the run, with its results by page.
type pageCell struct {
	Index  int
	Name   string
	Note   string
	Ended  *Ended
	Counts []pageCount
	Groups []pageGroup
}

type pageGroup struct {
	Page    string
	Results []pageResult
}

// pageResult is one line; what stands behind it is in pageData, by the number.
type pageResult struct {
	Number                    int
	Verdict                   Verdict
	Text, ID, Level, Was      string
	Rule                      bool
	Revision, Transport, Page string
	Reason                    string
}

// pageCause is something that is broken, wherever it showed.
type pageCause struct {
	Number  int
	Result  *Result
	Level   string
	Cells   string
	Links   []Requirement
	Follows string
	Flaky   string
}

// pageFlaky had another verdict in another run.
type pageFlaky struct {
	Number               int
	Text, ID, Cell, Rate string
}

type pageReasons struct {
	Word Verdict
	All  []pageReason
}

type pageReason struct {
	Count     int
	Why, Hint string
}

type pageChanges struct {
	Conclusion string
	Old        string
	Notes      []string
	Lists      []pageChange
}

type pageChange struct {
	Title string
	All   []Change
	More  int
}

// pageData is what the page shows on demand. Texts are numbers of lines in Texts.
type pageData struct {
	Texts        []string      `json:"texts"`
	Requirements []pageSays    `json:"requirements"`
	Results      []pageDetails `json:"results"`
}

type pageSays struct {
	ID      int    `json:"id"`
	Level   string `json:"level"`
	Says    int    `json:"says"`
	RestsOn int    `json:"rests,omitempty"`
	At      int    `json:"at"`
	Link    string `json:"link,omitempty"`
}

// pageDetails is what stands behind a result. Numbers count from 1 where 0 means nothing.
type pageDetails struct {
	Requirements []int    `json:"q,omitempty"`
	Fields       [][2]any `json:"f,omitempty"` // a word and the number of a text
	Steps        [][]any  `json:"s,omitempty"` // seconds, from, to, kind, text, 1 deliberate | 2 marked
	Left         int      `json:"l,omitempty"` // steps left out
	Rerun        int      `json:"r,omitempty"`
}

const (
	// pageTexts bounds the texts that a page has: the rest of it is its lines.
	pageTexts = maxHTML * 2 / 3
	// stepSize is about what a step takes beside its text.
	stepSize = 48
	// causesInPage bounds what is told of at the top.
	causesInPage = 60
)

// builder makes a page.
type builder struct {
	run          *Run
	measure      measure
	data         pageData
	texts        map[string]int
	requirements map[Requirement]int
	shortened    map[string]string
	size         int
	cut          bool
	was          map[string]string // by cell and result
	numbers      map[*Result]int
}

// newPage makes a page of a measure; it reports false where its texts are too many.
func newPage(run *Run, changes *Diff, size measure) (*pageView, bool) {
	b := &builder{
		run: run, measure: size, texts: map[string]int{}, requirements: map[Requirement]int{},
		shortened: map[string]string{}, was: map[string]string{}, numbers: map[*Result]int{},
	}
	b.data = pageData{Texts: []string{""}, Requirements: []pageSays{}, Results: []pageDetails{}}
	view := &pageView{
		Run:        run,
		Conforms:   run.Conforms(run.Strict),
		Conclusion: b.short(run.Conclusion()),
		Advice:     run.Advice(),
		Target: b.short(
			run.targetName(),
		),
		Reached:  b.short(run.reached()),
		Date:     run.Started.UTC().Format("2006-01-02 15:04 MST"),
		Command:  b.short(strings.Join(run.Command, " ")),
		Counts:   countsOf(run.Counts()),
		Style:    template.CSS(pageCSS), //nolint:gosec // it is ours
		Script:   template.JS(pageJS),   //nolint:gosec // it is ours
		Outdated: run.Baseline.outdated(),
	}
	for _, line := range run.Draft.says() {
		view.Draft = append(view.Draft, b.short(line))
	}
	view.Title = view.Target + ": " + view.Conclusion
	view.Policy = "default-src 'none'; base-uri 'none'; form-action 'none'; style-src " + hashOf(
		pageCSS,
	) + "; script-src " + hashOf(
		pageJS,
	)
	if changes != nil {
		view.Changes = b.changes(changes)
	}
	for i := range run.Cells {
		cell := &run.Cells[i]
		for _, notice := range cell.Notices {
			if notice = b.short(notice); !slices.Contains(view.Notices, notice) {
				view.Notices = append(view.Notices, notice)
			}
		}
		view.Cells = append(view.Cells, b.cell(i, cell))
		if b.size > pageTexts {
			return nil, false
		}
		add(&view.Revisions, cell.Revision)
		add(&view.Transports, cell.Transport)
		for _, group := range view.Cells[i].Groups {
			add(&view.Pages, group.Page)
		}
	}
	b.causes(view)
	for _, level := range []string{Must, Should, May} {
		if slices.ContainsFunc(b.data.Requirements, func(one pageSays) bool { return one.Level == level }) {
			view.Levels = append(view.Levels, level)
		}
	}
	view.Data, view.Cut = b.data, b.cut
	return view, true
}

func add(list *[]string, value string) {
	if !slices.Contains(*list, value) {
		*list = append(*list, value)
	}
}

// hashOf names a script or style for the policy of a page.
func hashOf(source string) string {
	sum := sha256.Sum256([]byte(source))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

func countsOf(c Counts) []pageCount {
	var all []pageCount
	for _, v := range Verdicts() {
		if n := c.Of(v); n > 0 || v == Passed || v == Failed {
			all = append(all, pageCount{v, n})
		}
	}
	return all
}

// short cuts a text to the measure; JSON around what is to be kept.
func (b *builder) short(text string, keep ...string) string {
	limit := b.measure.text
	if len(text) <= limit {
		return text
	}
	key := text + "\n" + strings.Join(keep, "\n")
	if known, is := b.shortened[key]; is {
		return known
	}
	b.cut = true
	cut, _ := excerpt.JSON(text, func(short string) bool { return len(short) <= limit }, keep...)
	if len(cut) > limit {
		cut = excerpt.Middle(cut, limit)
	}
	b.shortened[key] = cut
	return cut
}

// text is the number of a text, which is there once.
func (b *builder) text(text string, keep ...string) int {
	if text == "" {
		return 0
	}
	text = b.short(text, keep...)
	number, known := b.texts[text]
	if !known {
		number = len(b.data.Texts)
		b.texts[text] = number
		b.data.Texts = append(b.data.Texts, text)
		b.size += len(text) + len(text)/8 // quotes are escaped
	}
	return number
}

func (b *builder) requirement(one Requirement) int {
	number, known := b.requirements[one]
	if !known {
		number = len(b.data.Requirements)
		b.requirements[one] = number
		b.data.Requirements = append(b.data.Requirements, pageSays{
			ID: b.text(
				one.ID,
			),
			Level:   one.PlainLevel(),
			Says:    b.text(one.Says),
			RestsOn: b.text(one.RestsOn),
			At:      b.text(one.At),
			Link:    safeLink(one.Link),
		})
		b.size += 100
	}
	return number
}

// safeLink is a link to the specification; "" for any other.
func safeLink(link string) string {
	if !strings.HasPrefix(link, specificationHost) {
		return ""
	}
	return link
}

func (b *builder) cell(index int, cell *Cell) pageCell {
	view := pageCell{
		Index:  index,
		Name:   cell.Name(),
		Note:   b.short(cell.Note),
		Ended:  cell.Ended,
		Counts: countsOf(cell.Counts()),
	}
	for name, results := range cell.byPage() {
		group := pageGroup{Page: name}
		for i := range results {
			group.Results = append(group.Results, b.result(cell, &results[i]))
		}
		view.Groups = append(view.Groups, group)
	}
	return view
}

func (b *builder) result(cell *Cell, r *Result) pageResult {
	line := pageResult{
		Number: len(
			b.data.Results,
		),
		Verdict:   r.Verdict,
		Text:      b.short(oneLine(r.Text)),
		ID:        b.short(r.ID),
		Level:     r.strictest(),
		Revision:  cell.Revision,
		Transport: cell.Transport,
		Page:      r.Page,
		Reason:    b.short(oneLine(r.Reason)),
		Was:       b.was[cell.Name()+"\n"+r.ID+"\n"+r.Text],
		Rule:      r.Kind == KindRule,
	}
	b.numbers[r] = line.Number
	b.data.Results = append(b.data.Results, b.details(r))
	return line
}

// details is what stands behind a result.
func (b *builder) details(r *Result) pageDetails {
	var d pageDetails
	field := func(word, text string) {
		if text != "" {
			d.Fields = append(d.Fields, [2]any{word, b.text(text)})
			b.size += 16
		}
	}
	field("flaky", r.flaky())
	if r.Known != nil {
		field("known", r.Known.Reason)
		field("issue", r.Known.Issue)
		field("named", r.Known.At)
	}
	for _, f := range r.Failures {
		field("about", f.About)
		field("wanted", f.Wanted)
		field("found", f.Found)
		field("where", f.Where)
		field("hint", f.Hint)
	}
	field("hint", r.Hint)
	if len(r.Follows) > 0 {
		field("also", "breaks "+strings.Join(r.Follows, ", "))
	}
	if r.Occurrences > 1 {
		field("seen", plural(r.Occurrences, "time")+" in "+plural(r.Connections, "connection"))
	}
	field("stderr", r.Output)
	field("file", r.Transcript)
	for _, one := range r.Requirements {
		d.Requirements = append(d.Requirements, b.requirement(one))
	}
	shown := shownSteps(r.Exchange, b.measure.of(r))
	d.Left = len(r.Exchange) - len(shown)
	for _, i := range shown {
		d.Steps = append(d.Steps, b.step(&r.Exchange[i], pointers(r.Failures)))
	}
	b.cut = b.cut || d.Left > 0
	d.Rerun = b.text(r.Rerun)
	return d
}

const (
	deliberateStep = 1
	markedStep     = 2
)

func (b *builder) step(step *Step, keep []string) []any {
	flags := 0
	if step.Deliberate {
		flags |= deliberateStep
	}
	if step.Marked {
		flags |= markedStep
	} else {
		keep = nil
	}
	b.size += stepSize
	return []any{float64(step.At), step.From, step.To, step.Kind, b.text(step.Text, keep...), flags}
}

// causes tells of everything that is broken once, and why the rest has no verdict.
func (b *builder) causes(view *pageView) {
	t := &terminal{run: b.run}
	for _, v := range []Verdict{Failed, Warned, Known} {
		for _, f := range t.findings(v) {
			if len(view.Broken) == causesInPage {
				view.BrokenMore++
				continue
			}
			view.Broken = append(view.Broken, b.cause(f))
		}
	}
	for _, f := range b.run.flakyFindings() {
		if len(view.Flaky) == causesInPage {
			view.FlakyMore++
			continue
		}
		view.Flaky = append(view.Flaky, pageFlaky{
			b.numbers[f.Result], b.short(oneLine(f.Text)), f.ID, f.cells[0], f.flaky(),
		})
	}
	for _, v := range []Verdict{Inconclusive, Skipped} {
		list := pageReasons{Word: v}
		for _, reason := range t.reasons(v) {
			if len(list.All) == causesInPage {
				break
			}
			why, hint := reason.describe()
			if v == Skipped {
				hint = ""
			}
			list.All = append(list.All, pageReason{reason.count, b.short(why), b.short(hint)})
		}
		if len(list.All) > 0 {
			view.Reasons = append(view.Reasons, list)
		}
	}
}

func (b *builder) cause(f *finding) pageCause {
	cause := pageCause{
		Number:  b.numbers[f.Result],
		Result:  f.Result,
		Level:   f.strictest(),
		Cells:   strings.Join(f.cells, ", "),
		Follows: strings.Join(f.Follows, ", "),
	}
	shown := *f.Result
	shown.Text, shown.Rerun = b.short(oneLine(f.Text)), b.short(f.Rerun)
	shown.Failures = slices.Clone(f.Failures)
	if most := 6; len(shown.Failures) > most {
		shown.Failures = shown.Failures[:most]
	}
	for i := range shown.Failures {
		failure := &shown.Failures[i]
		failure.Wanted, failure.Found, failure.Where = b.short(
			failure.Wanted,
		), b.short(
			failure.Found,
		), b.short(
			failure.Where,
		)
		failure.About, failure.Hint = b.short(failure.About), b.short(failure.Hint)
	}
	if f.Known != nil {
		known := *f.Known
		known.Reason, known.Issue = b.short(known.Reason), b.short(known.Issue)
		shown.Known = &known
	}
	for _, one := range f.Requirements {
		one.Says, one.Link = b.short(one.Says), safeLink(one.Link)
		cause.Links = append(cause.Links, one)
	}
	cause.Result, cause.Flaky = &shown, f.flaky()
	return cause
}

// changes tells what has changed since another run.
func (b *builder) changes(d *Diff) *pageChanges {
	view := &pageChanges{Conclusion: d.Conclusion(), Old: b.short(d.Old.title())}
	for _, note := range d.Notes {
		view.Notes = append(view.Notes, b.short(note))
	}
	for _, list := range []struct {
		title string
		all   []Change
	}{{"Regressions", d.Regressed}, {"Mended", d.Mended}, {"New", d.Added}, {"Gone", d.Gone}, {"Otherwise changed", d.Other}} {
		for i := range list.all {
			for _, cell := range list.all[i].Cells {
				if was := list.all[i].Was; was != "" {
					b.was[cell+"\n"+list.all[i].ID+"\n"+list.all[i].Text] = string(was)
				}
			}
		}
		if shown := min(len(list.all), changesShown); shown > 0 {
			view.Lists = append(view.Lists, pageChange{list.title, list.all[:shown], len(list.all) - shown})
		}
	}
	return view
}

// PageStyle is the style of the page that HTML writes, for pages that lead to it.
func PageStyle() string { return pageCSS }
