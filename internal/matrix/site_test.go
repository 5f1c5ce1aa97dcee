package matrix_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/mcpconform/mcpconform/internal/matrix"
	"github.com/mcpconform/mcpconform/reports"
)

var (
	references = regexp.MustCompile(`(?:href|src)="([^"]*)"`)
	tags       = regexp.MustCompile(`<[^>]*>`)
)

// site writes the site of targets, makes sure that its links lead somewhere, and returns
// the text of a page.
func site(t *testing.T, out string, entries ...matrix.Entry) (found matrix.Summary, page func(name string) string) {
	t.Helper()
	found, err := matrix.Site(t.Context(), entries, out, "1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"index.html", "pages.html", "requirements.html", "changes.html"} {
		text := read(t, filepath.Join(out, name))
		for _, link := range references.FindAllStringSubmatch(text, -1) {
			to, err := url.Parse(link[1])
			switch {
			case err != nil:
				t.Errorf("%s: %v", name, err)
			case to.Scheme != "":
				if !strings.HasPrefix(link[1], "https://modelcontextprotocol.io/specification/") {
					t.Errorf("%s leads to %s", name, link[1])
				}
			case to.Path == "": // of the page itself
			case !exists(filepath.Join(out, filepath.FromSlash(to.Path))):
				t.Errorf("%s leads to %s, which is not there", name, link[1])
			}
			if to != nil && to.Fragment != "" && to.Scheme == "" {
				if in := read(t, filepath.Join(out, filepath.Base(or(to.Path, name)))); !strings.Contains(in, fmt.Sprintf("id=%q", to.Fragment)) {
					t.Errorf("%s leads to %s, and there is no such place", name, link[1])
				}
			}
		}
		for _, hostile := range []string{"<b>", "sample<", "<i>", "<of", "\x1b"} {
			if strings.Contains(regexp.MustCompile(`<b>\d+</b>`).ReplaceAllString(text, ""), hostile) {
				t.Errorf("%s has %q of a target as it is", name, hostile)
			}
		}
	}
	return found, func(name string) string {
		text := tags.ReplaceAllString(read(t, filepath.Join(out, name)), " ")
		return strings.Join(strings.Fields(text), " ")
	}
}

func or(one, other string) string {
	if one == "" {
		return other
	}
	return one
}

func shows(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("lacks %q\n%s", part, text)
		}
	}
}

// Every target is there, including those that could not be checked.
func TestSite(t *testing.T) {
	t.Parallel()
	out := t.TempDir()
	entries := []matrix.Entry{
		entry("good", "good"), entry("bad", "bad"), entry("worse", "bad"), entry("cut", "cut"), entry("gone", "gone"),
		entry("unreachable", "unreachable"), entry("misused", "misused"),
	}
	check(t, matrix.Options{Out: out}, entries...)
	spoilt := entry("spoilt", "good")
	check(t, matrix.Options{Out: out}, spoilt)
	names, _ := filepath.Glob(filepath.Join(out, "spoilt", "*.attempt.json")) // the pattern is right
	write(t, names[0], "{")

	found, page := site(t, out, append(entries, spoilt, entry("later", "good"))...)
	want := map[matrix.State]int{
		matrix.Conforms: 1, matrix.Broken: 2, matrix.EndedEarly: 2, matrix.Unreachable: 1, matrix.NotRun: 2, matrix.Harness: 1,
	}
	for _, state := range matrix.States() {
		if found.Of[state] != want[state] {
			t.Errorf("%d %s, wanted %d", found.Of[state], state, want[state])
		}
	}
	shows(t, page("index.html"),
		"9 targets", "1 conforms", "2 do not conform", "mcpconform 1.2.3",
		"good sample&lt;b&gt; 1.0 conforms Conforms to 2025-11-25 stdio 2 passed", "bad sample&lt;b&gt; 1.0 does not conform Does not conform to 2025-11-25 stdio 1 passed 1 failed",
		"ended early deadline of 1s reached", "ended early 2025-11-25 · stdio: the server exited with status 7",
		"unreachable not reached cannot connect: connection refused", `misused not run m.yaml:3: unknown key \x1b[2J`,
		"spoilt harness failed", "later not run there is no result")
	shows(t, page("pages.html"), "basic/utilities/ping server/tools", "good 2025-11-25 ✓ passed ✓ passed", "bad 2025-11-25 ✓ passed ✗ 1 failed")
	shows(t, page("requirements.html"),
		"2 0 5 (40 %) tools.call.answered MUST It is so &lt;of tools.call.answered&gt;. server/tools#it 2 targets that break it bad 2025-11-25 · stdio worse")
	shows(t, page("changes.html"), "Nothing has changed")
}

// The site tells what has changed since the run before, and what was found before a target
// could not be checked.
func TestSiteChanges(t *testing.T) {
	t.Parallel()
	out, state := t.TempDir(), filepath.Join(t.TempDir(), "state")
	one, steady := entry("one", "turning", state), entry("steady", "good")
	for _, verdict := range []string{"passed", "failed"} {
		write(t, state, verdict)
		check(t, matrix.Options{Out: out, Force: true}, one, steady)
	}
	_, page := site(t, out, one, steady)
	text := page("changes.html")
	shows(t, text, "one conforms → does not conform 1 regression, 0 fixed", "Regressions does what tools.call.answered says tools.call.answered passed → failed at 2025-11-25 · stdio")
	if strings.Contains(text, "steady") {
		t.Errorf("tells of what stayed\n%s", text)
	}
	shows(t, page("index.html"), "one sample&lt;b&gt; 1.0 does not conform Does not conform to 2025-11-25 changed")

	one.Command = []string{"unreachable"}
	check(t, matrix.Options{Out: out}, one)
	_, page = site(t, out, one, steady)
	shows(t, page("changes.html"), "one does not conform → not reached cannot connect: connection refused")
	shows(t, page("index.html"), "Does not conform to 2025-11-25")
	report := regexp.MustCompile(`before, [^:]*:\d\d: <a href="(one/[^"]*)"`).FindStringSubmatch(read(t, filepath.Join(out, "index.html")))
	if report == nil {
		t.Fatal("no link to the run before")
	}
	shows(t, read(t, filepath.Join(out, report[1])), "Changes", "Regressions")
}

// A requirement that a baseline names is broken nonetheless.
func TestSiteCountsKnownDeviations(t *testing.T) {
	t.Parallel()
	out := t.TempDir()
	run := found(reports.Failed)
	run.Cells[0].Results[0].Verdict = reports.Known
	run.Cells[0].Results[0].Known = &reports.Excuse{Was: reports.Failed, Reason: "It is known.", At: "b.yaml:1"}
	file := filepath.Join(t.TempDir(), "run.json")
	if err := reports.WriteFile(file, func(w io.Writer) error { return run.Write(w) }); err != nil {
		t.Fatal(err)
	}
	one := entry("one", "copied", file)
	check(t, matrix.Options{Out: out}, one)
	_, page := site(t, out, one)
	shows(t, page("index.html"), "one sample&lt;b&gt; 1.0 conforms Conforms to 2025-11-25 except for 1 known deviation stdio 1 passed 1 known")
	shows(t, page("pages.html"), "≈ 1 known")
	shows(t, page("requirements.html"), "1 0 1 (100 %) tools.call.answered")
}

func TestSiteInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := matrix.Site(ctx, []matrix.Entry{entry("one", "good")}, t.TempDir(), ""); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// large is about what a run of all checks on the reference is: 440 results with exchanges.
func large(failing int) *reports.Run {
	run := found(reports.Passed)
	cell := &run.Cells[0]
	cell.Pages, cell.Results = nil, nil
	for page := range 22 {
		cell.Pages = append(cell.Pages, fmt.Sprintf("server/page-%d", page))
		for i := range 20 {
			one := result(fmt.Sprintf("page-%d.requirement-%d", page, i), cell.Pages[page], reports.Passed)
			if number := page*20 + i; number%97 == failing%97 {
				one.Verdict, one.Failures = reports.Failed, []reports.Failure{{Wanted: "an answer", Found: "nothing"}}
			}
			for step := range 6 {
				one.Exchange = append(one.Exchange, reports.Step{
					At: reports.Seconds(step), From: "client", To: "server", Kind: reports.StepMessage,
					Text: fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"tool-%d","arguments":{"text":%q}}}`, step, i, strings.Repeat("x", 40)),
				})
			}
			cell.Results = append(cell.Results, one)
		}
	}
	return run
}

// BenchmarkSite writes the site of many targets that were checked twice, with their reports,
// or where these are written.
func BenchmarkSite(b *testing.B) {
	for _, targets := range []int{10, 100, 1000} {
		for _, reportsToo := range []bool{true, false} {
			b.Run(fmt.Sprintf("targets=%d/reports=%t", targets, reportsToo), func(b *testing.B) {
				out := b.TempDir()
				entries := simulate(b, out, targets)
				if !reportsToo {
					if _, err := matrix.Site(b.Context(), entries, out, "1"); err != nil {
						b.Fatal(err)
					}
				}
				for b.Loop() {
					if reportsToo {
						b.StopTimer()
						removeReports(b, out)
						b.StartTimer()
					}
					if _, err := matrix.Site(b.Context(), entries, out, "1"); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(size(b, out, 1))/1e6, "MB-pages")
				b.ReportMetric(float64(size(b, out, 2))/1e6, "MB-all")
			})
		}
	}
}

// simulate makes results of many targets of those of a few.
func simulate(b *testing.B, out string, targets int) []matrix.Entry {
	b.Helper()
	const kinds = 5
	var entries []matrix.Entry
	for kind := range kinds {
		for turn := range 2 {
			file := filepath.Join(b.TempDir(), "run.json")
			if err := reports.WriteFile(file, func(w io.Writer) error { return large(kind + turn).Write(w) }); err != nil {
				b.Fatal(err)
			}
			if err := matrix.Run(b.Context(), []matrix.Entry{entry(fmt.Sprint("t", kind), "copied", file)}, matrix.Options{
				Out: out, Program: program(b), Jobs: 1, Deadline: 1 << 40, Force: true, Done: func(*matrix.Attempt, bool) {},
			}); err != nil {
				b.Fatal(err)
			}
		}
	}
	for i := range targets {
		entries = append(entries, entry(fmt.Sprint("t", i), "copied"))
		if i >= kinds {
			if err := os.CopyFS(filepath.Join(out, entries[i].Name), os.DirFS(filepath.Join(out, fmt.Sprint("t", i%kinds)))); err != nil {
				b.Fatal(err)
			}
		}
	}
	return entries
}

func removeReports(b *testing.B, out string) {
	b.Helper()
	names, err := filepath.Glob(filepath.Join(out, "*", "*.html"))
	if err != nil {
		b.Fatal(err)
	}
	for _, name := range names {
		if err := os.Remove(name); err != nil {
			b.Fatal(err)
		}
	}
}

// size is that of all files down to a depth, in bytes.
func size(b *testing.B, folder string, depth int) (total int64) {
	b.Helper()
	err := filepath.WalkDir(folder, func(name string, file fs.DirEntry, err error) error {
		if err != nil || file.IsDir() {
			return err
		}
		info, err := file.Info()
		if inside, _ := filepath.Rel(folder, name); err == nil && strings.Count(inside, string(filepath.Separator)) < depth {
			total += info.Size()
		}
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	return total
}
