package catalogue

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// WriteText writes the coverage as tables, one per revision, then what is not
// catalogued, then where catalogue and specification disagree. Pages, when
// given, limit it to these.
func (c *Coverage) WriteText(w io.Writer, pages ...string) error {
	out := &textWriter{w: w}
	for _, revision := range c.Revisions {
		out.revision(revision, pages)
	}
	out.uncatalogued(c.Revisions, pages)
	out.problems(c.Problems, pages)
	return out.err
}

// textWriter keeps the first error, so that writing reads plainly.
type textWriter struct {
	w   io.Writer
	err error
}

func (t *textWriter) printf(format string, args ...any) {
	if t.err == nil {
		_, t.err = fmt.Fprintf(t.w, format, args...)
	}
}

func (t *textWriter) revision(revision RevisionCoverage, pages []string) {
	t.printf("%s (of each role: checked/visible)\n", revision.Revision)
	table := tabwriter.NewWriter(t.w, 0, 0, 2, ' ', tabwriter.AlignRight)
	row := func(name string, c Count) {
		if t.err == nil {
			_, t.err = fmt.Fprintf(
				table,
				"%d\t%d\t%s\t%s\t%s\t  %s\n",
				c.Normative,
				c.Catalogued,
				c.Server,
				c.Client,
				c.Authority,
				name,
			)
		}
	}
	if t.err == nil {
		_, t.err = fmt.Fprintln(table, "sentences\tcatalogued\tserver\tclient\tauthorization server\t  page")
	}
	var total Count
	for _, page := range revision.Pages {
		if chosen(page.Page, pages) && !page.Guide {
			row(page.Page, page.Count)
			total.add(page.Count)
		}
	}
	row("in all", total)
	if t.err == nil {
		t.err = table.Flush()
	}
	for _, page := range revision.Pages {
		if chosen(page.Page, pages) && page.Guide {
			t.printf("%s advises, not counted: %d of its %d sentences are catalogued (server %s, client %s)\n",
				page.Page, page.Catalogued, page.Normative, page.Server, page.Client)
		}
	}
	t.printf("\n")
}

// String returns how many of the visible sentences are checked: 12/14.
func (s Seen) String() string { return fmt.Sprintf("%d/%d", s.Checked, s.Visible) }

// uncatalogued lists each sentence once, with the revisions that have it.
func (t *textWriter) uncatalogued(revisions []RevisionCoverage, pages []string) {
	type missing struct {
		Sentence
		revisions []string
	}
	var all []*missing
	for _, revision := range revisions {
		for _, page := range revision.Pages {
			if !chosen(page.Page, pages) {
				continue
			}
			for _, sentence := range page.Uncatalogued {
				at := slices.IndexFunc(all, func(m *missing) bool {
					return m.Page == sentence.Page && m.Fingerprint == sentence.Fingerprint
				})
				if at < 0 {
					all = append(all, &missing{Sentence: sentence, revisions: []string{revision.Revision}})
					continue
				}
				all[at].Sentence = sentence
				if !slices.Contains(all[at].revisions, revision.Revision) {
					all[at].revisions = append(all[at].revisions, revision.Revision)
				}
			}
		}
	}
	if len(all) == 0 {
		return
	}
	slices.SortStableFunc(all, func(a, b *missing) int {
		return cmp.Or(
			cmp.Compare(slices.Index(Pages, a.Page), slices.Index(Pages, b.Page)),
			cmp.Compare(a.Line, b.Line),
		)
	})
	t.printf("Not catalogued (lines of the last revision named):\n")
	for _, m := range all {
		t.printf("  %s  %s:%d  %s  %s\n", strings.Join(m.revisions, " "), m.Page, m.Line, m.Fingerprint, m.Text)
	}
	t.printf("\n")
}

func (t *textWriter) problems(problems []Problem, pages []string) {
	for _, problem := range problems {
		about := len(pages) == 0
		for _, place := range problem.Requirement.places {
			about = about || chosen(place.Value.Page, pages)
		}
		if about {
			t.printf("%s\n", problem.String())
		}
	}
}

// chosen tells whether a page is among those asked for: by its name, or the
// last words of it.
func chosen(page string, pages []string) bool {
	for _, wanted := range pages {
		if page == wanted || strings.HasSuffix(page, "/"+wanted) {
			return true
		}
	}
	return len(pages) == 0
}
