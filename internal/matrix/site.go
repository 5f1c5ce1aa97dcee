package matrix

import (
	"cmp"
	"context"
	"crypto/sha256"
	_ "embed" // the pages
	"encoding/base64"
	"errors"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/mcpconform/mcpconform/internal/files"
	"github.com/mcpconform/mcpconform/reports"
)

var (
	//go:embed site/site.html
	siteHTML string
	//go:embed site/site.css
	siteCSS string
	//go:embed site/site.js
	siteJS string
)

// pages of the site, by their file; a template of the same name is the main part of each.
var sitePages = []sitePage{
	{File: "index.html", Title: "Targets"},
	{File: "pages.html", Title: "Pages of the specification"},
	{File: "requirements.html", Title: "What breaks most"},
	{File: "changes.html", Title: "Changes"},
}

type sitePage struct{ File, Title string }

// Summary counts targets by their state.
type Summary struct {
	Targets int
	Of      map[State]int
}

// Good tells whether nothing failed in any of the targets.
func (s Summary) Good() bool { return s.Of[Conforms]+s.Of[InPart] == s.Targets }

// Site writes the site of all targets into the folder that holds theirs, and the report of
// each run that has none yet. A target without an attempt, or with one that cannot be read,
// is shown as such.
func Site(ctx context.Context, entries []Entry, out, version string) (Summary, error) {
	if err := os.MkdirAll(out, 0o755); err != nil { //nolint:gosec // it is for everyone
		return Summary{}, fmt.Errorf("cannot create %s: %w", out, files.Reason(err))
	}
	rows := make([]*row, len(entries))
	problems := make([]error, len(entries))
	var workers sync.WaitGroup
	next := make(chan int)
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for i := range next {
				rows[i], problems[i] = newRow(&entries[i], out)
			}
		})
	}
	for i := range entries {
		if ctx.Err() != nil {
			problems = append(problems, context.Cause(ctx))
			break
		}
		next <- i
	}
	close(next)
	workers.Wait()
	if err := errors.Join(problems...); err != nil {
		return Summary{}, err
	}
	view := newView(rows, version)
	for _, page := range sitePages {
		if err := view.write(out, page); err != nil {
			return Summary{}, err
		}
	}
	return view.Summary, nil
}

// row is what the site tells of one target.
type row struct {
	Name     string
	Role     string
	Says     string // what the target calls itself
	Attempt  *Attempt
	Report   string // the page of the run, seen from the site; "" for none
	Earlier  *earlier
	Cells    []rowCell
	Contents []string // the pages of the specification, in its order
	Broken   map[string]*broken
	Judged   map[string]bool // requirements that were tested
	Changes  *changes
}

// earlier is the last run that was whole, of a target whose latest attempt is not.
type earlier struct{ Date, Conclusion, Report string }

// rowCell is a part of a run.
type rowCell struct {
	Name, Revision, Transport string
	Spoken                    bool
	Counts                    []count
	Pages                     map[string]reports.Counts
}

type count struct {
	Verdict reports.Verdict
	Count   int
}

// broken is a requirement that a target breaks.
type broken struct {
	Requirement reports.Requirement
	Failed      bool // else it warned
	Cells       []string
}

// changes are those of a target since the run before.
type changes struct {
	Since, Was, Is string // states, where they differ
	Conclusion     string
	Notes          []string
	Lists          []changeList
}

type changeList struct {
	Title string
	All   []reports.Change
	More  int
}

// date is when an attempt began, for people.
func (a *Attempt) date() string { return a.Started.UTC().Format("2006-01-02 15:04") }

// newRow reads what was found of a target, and writes the page of its run where there is
// none. The error is one of this machine; what is wrong with a file of the target is its
// state.
func newRow(entry *Entry, out string) (*row, error) {
	folder := folderOf(out, entry.Name)
	one := &row{Name: entry.Name, Role: entry.Role, Broken: map[string]*broken{}, Judged: map[string]bool{}}
	unread := func(err error) (*row, error) {
		one.Attempt = &Attempt{Target: entry.Name, State: Harness, Reason: clip(err.Error())}
		return one, nil
	}
	ids, err := folder.ids()
	switch {
	case err != nil:
		return unread(err)
	case len(ids) == 0:
		one.Attempt = &Attempt{Target: entry.Name, State: NotRun, Reason: "there is no result"}
		return one, nil
	}
	if err := folder.prune(); err != nil {
		return nil, err
	}
	if one.Attempt, err = folder.read(ids[0]); err != nil {
		return unread(err)
	}
	before := folder.before(ids[1:])
	if one.Attempt.Run != nil {
		one.look(one.Attempt.Run)
	}
	if one.Report, err = folder.report(one.Attempt, before); err != nil {
		return unread(err)
	}
	if before != nil {
		one.compare(before)
		if !one.Attempt.whole() {
			one.Earlier = &earlier{Date: before.date(), Conclusion: before.Conclusion}
			if one.Earlier.Report, err = folder.report(before, nil); err != nil {
				return unread(err)
			}
		}
	}
	one.Attempt.Run = nil // there are many targets, and all is told of it
	return one, nil
}

// gravity orders states: what to look at first comes first.
var gravity = []State{Broken, EndedEarly, Unreachable, Harness, NotRun, InPart, Conforms}

// compareTo puts what is broken first: by state, then by how much failed and warned.
func (r *row) compareTo(other *row) int {
	return cmp.Or(
		slices.Index(gravity, r.Attempt.State)-slices.Index(gravity, other.Attempt.State),
		other.count(reports.Failed)-r.count(reports.Failed),
		other.count(reports.Warned)-r.count(reports.Warned),
		strings.Compare(r.Name, other.Name),
	)
}

// count is how many results of all cells have a verdict.
func (r *row) count(verdict reports.Verdict) int {
	n := 0
	for _, cell := range r.Cells {
		for _, one := range cell.Counts {
			if one.Verdict == verdict {
				n += one.Count
			}
		}
	}
	return n
}

// before is the latest whole attempt of some; nil for none.
func (f folder) before(ids []string) *Attempt {
	for _, id := range ids {
		if attempt, err := f.read(id); err == nil && attempt.whole() {
			return attempt
		}
	}
	return nil
}

// report returns the page of a run, seen from the site, and writes it where it is not there;
// "" for an attempt without one. It tells what has changed since an older run.
func (f folder) report(attempt, since *Attempt) (string, error) {
	if attempt.Run == nil {
		return "", nil
	}
	link := path.Join(filepath.Base(string(f)), attempt.ID+pageSuffix)
	name := f.file(attempt.ID, pageSuffix)
	if _, err := os.Stat(name); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return link, err
	}
	run, err := readRun(f.file(attempt.ID, runSuffix))
	if err != nil {
		return "", fmt.Errorf("%s: %w", f.file(attempt.ID, runSuffix), files.Reason(err))
	}
	options := reports.HTMLOptions{}
	if since != nil {
		options.Since = since.Run
	}
	return link, reports.WriteFile(name, func(w io.Writer) error { return run.HTML(w, options) })
}

// look takes from a run what the site tells of it.
func (r *row) look(run *reports.Run) {
	r.Says = clip(strings.TrimSpace(run.Target.Name + " " + run.Target.Version))
	for i := range run.Cells {
		cell := &run.Cells[i]
		one := rowCell{
			Name: cell.Name(), Revision: cell.Revision, Transport: cell.Transport, Spoken: cell.Spoken,
			Pages: map[string]reports.Counts{},
		}
		counts := cell.Counts()
		for _, v := range reports.Verdicts() {
			if n := counts.Of(v); n > 0 {
				one.Counts = append(one.Counts, count{v, n})
			}
		}
		for j := range cell.Results {
			result := &cell.Results[j]
			of := one.Pages[result.Page]
			of.Add(result.Verdict)
			one.Pages[result.Page] = of
			r.take(cell, result)
		}
		r.Cells = append(r.Cells, one)
		for _, page := range cell.Pages {
			if !slices.Contains(r.Contents, page) {
				r.Contents = append(r.Contents, page)
			}
		}
	}
}

// take notes the requirement of a result, if it was tested, and if it is broken. What a
// baseline names is broken like others: the target is shown, not the list.
func (r *row) take(cell *reports.Cell, result *reports.Result) {
	verdict := result.Verdict
	if result.Known != nil {
		verdict = result.Known.Was
	}
	switch verdict {
	case reports.Passed:
		r.Judged[result.ID] = true
	case reports.Failed, reports.Warned:
		r.Judged[result.ID] = true
		one := r.Broken[result.ID]
		if one == nil {
			one = &broken{Requirement: requirementOf(result)}
			r.Broken[result.ID] = one
		}
		one.Failed = one.Failed || verdict == reports.Failed
		if name := cell.Name(); !slices.Contains(one.Cells, name) {
			one.Cells = append(one.Cells, name)
		}
	}
}

// requirementOf is the first requirement of a result, by which it is counted.
func requirementOf(result *reports.Result) reports.Requirement {
	for _, one := range result.Requirements {
		if one.ID == result.ID {
			if !strings.HasPrefix(one.Link, "https://") {
				one.Link = ""
			}
			return one
		}
	}
	return reports.Requirement{ID: result.ID, Says: result.Text}
}

// changesShown bounds each list of changes of one target: its report has all.
const changesShown = 20

// compare finds what has changed since an earlier run.
func (r *row) compare(before *Attempt) {
	found := &changes{Since: before.date()}
	if was, is := before.State, r.Attempt.State; was != is {
		found.Was, found.Is = string(was), string(is)
	}
	if before.Run != nil && r.Attempt.whole() && r.Attempt.Run != nil {
		diff := reports.Compare(before.Run, r.Attempt.Run)
		found.Conclusion, found.Notes = diff.Conclusion(), diff.Notes
		for _, list := range []struct {
			title string
			all   []reports.Change
		}{
			{"Regressions", diff.Regressed},
			{"Mended", diff.Mended},
			{"New", diff.Added},
			{"Gone", diff.Gone},
			{"Otherwise changed", diff.Other},
		} {
			if shown := min(len(list.all), changesShown); shown > 0 {
				more := len(list.all) - shown
				found.Lists = append(found.Lists, changeList{list.title, apart(list.all[:shown]), more})
			}
		}
	}
	if found.Was != "" || len(found.Lists) > 0 {
		r.Changes = found
	}
}

// apart copies changes, so that they do not keep the runs of all targets in memory.
func apart(all []reports.Change) []reports.Change {
	all = slices.Clone(all)
	for i := range all {
		result := *all[i].Result
		all[i].Result = &result
	}
	return all
}

// view is what the pages of the site are made of.
type view struct {
	Summary
	Rows      []*row
	Revisions []string // the newest first
	Pages     []string
	Table     []tableRow
	Broken    []brokenBy
	Changed   []*row
	Compared  int // targets that have an earlier run
	Dates     string
	Version   string
}

// tableRow is a target at a revision, with a cell for each page.
type tableRow struct {
	Row      *row
	Revision string
	Verdicts []pageVerdict
}

// pageVerdict is what was found of one page: the gravest verdict, and how many have it.
type pageVerdict struct {
	Verdict reports.Verdict // "" where there is nothing of the page
	Count   int
}

// Sign is a verdict at a glance, for those who do not go by colours.
func (c pageVerdict) Sign() string {
	return map[reports.Verdict]string{
		reports.Passed: "✓", reports.Failed: "✗", reports.Known: "≈", reports.Warned: "!",
		reports.Inconclusive: "?", reports.Skipped: "–",
	}[c.Verdict]
}

// Shown tells whether the number is worth a reader's time.
func (c pageVerdict) Shown() bool { return c.Verdict != reports.Passed && c.Verdict != reports.Skipped }

// Linked tells whether the cell leads to the report.
func (c pageVerdict) Linked() bool { return c.Verdict == reports.Failed || c.Verdict == reports.Warned }

// brokenBy is a requirement, with the targets that break it.
type brokenBy struct {
	reports.Requirement
	Failed, Warned, Judged int
	By                     []brokenRow
	More                   int
}

type brokenRow struct {
	Row   *row
	Cells string
}

// targetsShown bounds the targets that are listed of one requirement.
const targetsShown = 50

func newView(rows []*row, version string) *view {
	slices.SortStableFunc(rows, (*row).compareTo)
	v := &view{Rows: rows, Version: version, Summary: Summary{len(rows), map[State]int{}}}
	var dates []string
	for _, one := range rows {
		v.Of[one.Attempt.State]++
		for _, cell := range one.Cells {
			if !slices.Contains(v.Revisions, cell.Revision) {
				v.Revisions = append(v.Revisions, cell.Revision)
			}
		}
		if one.Changes != nil {
			v.Changed = append(v.Changed, one)
		}
		if !one.Attempt.Started.IsZero() {
			dates = append(dates, one.Attempt.date())
		}
	}
	slices.Sort(v.Revisions)
	slices.Reverse(v.Revisions)
	if len(dates) > 0 {
		v.Dates = slices.Min(dates)
		if last := slices.Max(dates); last != v.Dates {
			v.Dates += " to " + last
		}
	}
	v.table()
	v.broken()
	return v
}

// table fills the cells of targets × pages.
func (v *view) table() {
	v.Pages = pagesOf(v.Rows)
	for _, one := range v.Rows {
		for _, revision := range v.Revisions {
			of := one.pagesAt(revision)
			if len(of) == 0 {
				continue
			}
			line := tableRow{Row: one, Revision: revision}
			for _, page := range v.Pages {
				line.Verdicts = append(line.Verdicts, newPageVerdict(of[page]))
			}
			v.Table = append(v.Table, line)
		}
	}
}

// pagesOf are the pages of which anything was looked at, in the order of the specification.
func pagesOf(rows []*row) []string {
	used := map[string]bool{}
	var contents []string
	for _, one := range rows {
		for _, cell := range one.Cells {
			for page := range cell.Pages {
				used[page] = true
			}
		}
		for _, page := range one.Contents {
			if !slices.Contains(contents, page) {
				contents = append(contents, page)
			}
		}
	}
	var pages []string
	for _, page := range slices.Concat(contents, slices.Sorted(maps.Keys(used))) {
		if used[page] && !slices.Contains(pages, page) {
			pages = append(pages, page)
		}
	}
	return pages
}

// pagesAt counts what was found at a revision, by page, over all transports.
func (r *row) pagesAt(revision string) map[string]reports.Counts {
	of := map[string]reports.Counts{}
	for _, cell := range r.At(revision) {
		for page, counts := range cell.Pages {
			of[page] = of[page].Plus(counts)
		}
	}
	return of
}

func newPageVerdict(counts reports.Counts) pageVerdict {
	for _, verdict := range []reports.Verdict{
		reports.Failed, reports.Known, reports.Warned, reports.Inconclusive, reports.Passed, reports.Skipped,
	} {
		if n := counts.Of(verdict); n > 0 {
			return pageVerdict{verdict, n}
		}
	}
	return pageVerdict{}
}

// broken counts the targets that break each requirement.
func (v *view) broken() {
	all := map[string]*brokenBy{}
	for _, one := range v.Rows {
		for id, found := range one.Broken {
			by := all[id]
			if by == nil {
				by = &brokenBy{Requirement: found.Requirement}
				all[id] = by
			}
			if found.Failed {
				by.Failed++
			} else {
				by.Warned++
			}
			by.By = append(by.By, brokenRow{one, strings.Join(found.Cells, ", ")})
		}
	}
	for _, one := range v.Rows {
		for id := range one.Judged {
			if by := all[id]; by != nil {
				by.Judged++
			}
		}
	}
	for _, by := range all {
		if len(by.By) > targetsShown {
			by.By, by.More = by.By[:targetsShown], len(by.By)-targetsShown
		}
		v.Broken = append(v.Broken, *by)
	}
	slices.SortFunc(v.Broken, func(a, b brokenBy) int {
		return cmp.Or(b.Failed-a.Failed, b.Warned-a.Warned, strings.Compare(a.ID, b.ID))
	})
}

// Share is how many of the targets that were tested break the requirement, in percent.
func (b brokenBy) Share() int { return 100 * (b.Failed + b.Warned) / max(b.Judged, 1) }

// States are the counts of the summary, in their order.
func (v *view) States() []stateCount {
	var all []stateCount
	for _, state := range States() {
		if n := v.Of[state]; n > 0 || state == Conforms {
			all = append(all, stateCount{state, n})
		}
	}
	return all
}

type stateCount struct {
	State State
	Count int
}

// Class is the verdict whose colour a state has.
func (s State) Class() reports.Verdict {
	switch s {
	case Conforms:
		return reports.Passed
	case InPart:
		return reports.Inconclusive
	case Broken, Harness:
		return reports.Failed
	case EndedEarly, Unreachable:
		return reports.Warned
	}
	return reports.Skipped
}

// At returns the cells of a target at a revision.
func (r *row) At(revision string) []rowCell {
	var cells []rowCell
	for _, cell := range r.Cells {
		if cell.Revision == revision {
			cells = append(cells, cell)
		}
	}
	return cells
}

// Date is when the latest attempt was made; "" for none.
func (r *row) Date() string {
	if r.Attempt.Started.IsZero() {
		return ""
	}
	return r.Attempt.date()
}

// siteTemplate is parsed when it is first wanted.
var siteTemplate = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("site").Funcs(template.FuncMap{
		"join": strings.Join, "visible": reports.Visible,
	}).Parse(siteHTML))
})

// write writes one page.
func (v *view) write(out string, page sitePage) error {
	style := reports.PageStyle() + siteCSS
	data := map[string]any{
		"View":   v,
		"Page":   page,
		"Pages":  sitePages,
		"Style":  template.CSS(style), //nolint:gosec // it is ours
		"Script": template.JS(siteJS), //nolint:gosec // it is ours
		"Policy": "default-src 'none'; base-uri 'none'; form-action 'none'; style-src " + hashOf(style) +
			"; script-src " + hashOf(siteJS),
	}
	return reports.WriteFile(filepath.Join(out, page.File), func(w io.Writer) error {
		return siteTemplate().ExecuteTemplate(w, "site", data)
	})
}

// hashOf names a script or style for the policy of a page.
func hashOf(source string) string {
	sum := sha256.Sum256([]byte(source))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}
