//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"html"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/reference/server"
)

// A growth is something of which there is more and more, and what a run takes then.
type growth struct {
	name  string
	row   string // of the table in the docs; the number stands for #
	at    []int
	run   func(b *testing.B, binary string, count int) *exec.Cmd
	file  string // the picture of it, in docs/pictures; "" for none
	title string // of the picture
	axis  string // what there is more of
}

var growths = []growth{
	{
		name: "tools", row: "server with # more tools", at: []int{10, 100, 1000}, run: onMoreTools,
		file: "growth-tools.svg", title: "A run on a server with more and more tools", axis: "tools more than the reference server has",
	},
	{name: "workers", row: "checks at once: #", at: []int{1, 4, 16}, run: withWorkers},
	{
		name: "targets", row: "matrix of # targets", at: []int{1, 10, 50}, run: onTargets,
		file: "growth-targets.svg", title: "A matrix of more and more targets", axis: "targets",
	},
}

// A size is what a run took at one size.
type size struct{ count, seconds, processor, megabytes float64 }

// BenchmarkGrowth runs mcpconform on more and more, and tells what it takes: time by the clock,
// processor time with that of all processes that it starts, and the memory of them together when
// it was most. With -update it writes the table and the pictures of docs/performance.md.
func BenchmarkGrowth(b *testing.B) {
	if !canMeasure() {
		b.Skip("memory cannot be measured here")
	}
	binary := buildProgram(b)
	var rows []string
	for _, growing := range growths {
		for _, count := range growing.at {
			var took costs
			b.Run(fmt.Sprintf("%s=%d", growing.name, count), func(b *testing.B) {
				took = costs{}
				for b.Loop() {
					b.StopTimer()
					command := growing.run(b, binary, count)
					b.StartTimer()
					took.watch(b, command)
				}
				took.report(b, "")
				b.ReportMetric(float64(took.memory)/1024, "MB-together")
			})
			if len(took.clock) > 0 {
				rows = append(rows, fmt.Sprintf("| %s | %.1f s | %.1f s | %d MB |\n",
					growing.rowOf(count), median(took.clock).Seconds(), median(took.processor).Seconds(), took.memory>>10))
			}
		}
	}
	if *update {
		writeGrowth(b, rows)
	}
}

func (g growth) rowOf(count int) string {
	row := strings.ReplaceAll(g.row, "#", numbered(count))
	if count == 1 {
		return strings.TrimSuffix(row, "s")
	}
	return row
}

func numbered(count int) string {
	if count < 1000 {
		return strconv.Itoa(count)
	}
	return fmt.Sprintf("%d,%03d", count/1000, count%1000)
}

// onMoreTools runs on a reference server with more tools.
func onMoreTools(b *testing.B, binary string, count int) *exec.Cmd {
	b.Helper()
	return exec.Command(binary, protocol.ServerRole, "--quiet", "--url", serveTools(b, count))
}

func withWorkers(b *testing.B, binary string, count int) *exec.Cmd {
	b.Helper()
	return exec.Command(binary, protocol.ServerRole, "--quiet", "--workers", strconv.Itoa(count), "--url", serveTools(b, 0))
}

// onTargets checks a little of many targets: how a run grows others show.
func onTargets(b *testing.B, binary string, count int) *exec.Cmd {
	b.Helper()
	url, folder := serveTools(b, 0), b.TempDir()
	var targets strings.Builder
	for i := range count {
		fmt.Fprintf(&targets, "- target: t%d\n  url: %s\n  filter: ping\n  revision: \"2025-11-25\"\n", i+1, url)
	}
	file := filepath.Join(folder, "targets.yaml")
	if err := os.WriteFile(file, []byte(targets.String()), 0o600); err != nil {
		b.Fatal(err)
	}
	return exec.Command(binary, "matrix", "--quiet", "--out", filepath.Join(folder, "matrix"), file)
}

// serveTools serves a reference server with more tools until the benchmark ends.
func serveTools(b *testing.B, more int) (url string) {
	b.Helper()
	reference, err := server.New(server.Options{MoreTools: more})
	if err != nil {
		b.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	listener, err := reference.Listen(ctx, "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- reference.Serve(ctx, listener) }()
	b.Cleanup(func() {
		stop()
		if err := <-served; err != nil {
			b.Error(err)
		}
	})
	return "http://" + listener.Addr().String() + "/mcp"
}

// growthTable is the one of docs/performance.md, of which the pictures are made.
var growthTable = regexp.MustCompile(`(?m)(^\| \| time \| processor \| memory \|\n\|[ |-]+\n)((?:^\|.*\n)+)`)

const growthPage = "performance.md"

func writeGrowth(b *testing.B, rows []string) {
	b.Helper()
	file := filepath.Join(repository, "docs", growthPage)
	source, err := os.ReadFile(file)
	if err != nil {
		b.Fatal(err)
	}
	source = growthTable.ReplaceAll(source, []byte("${1}"+strings.Join(rows, "")))
	if err := os.WriteFile(file, source, 0o600); err != nil {
		b.Fatal(err)
	}
	for name, picture := range growthPictures(b) {
		if err := os.WriteFile(filepath.Join(repository, "docs", "pictures", name), picture, 0o600); err != nil {
			b.Fatal(err)
		}
	}
}

// growthPictures draws what the table says.
func growthPictures(t testing.TB) map[string][]byte {
	t.Helper()
	source, err := os.ReadFile(filepath.Join(repository, "docs", growthPage))
	if err != nil {
		t.Fatal(err)
	}
	table := growthTable.FindSubmatch(source)
	if table == nil {
		t.Fatalf("docs/%s has no table of how it grows", growthPage)
	}
	rows := strings.Split(strings.TrimSpace(string(table[2])), "\n")
	pictures := map[string][]byte{}
	for _, growing := range growths {
		var sizes []size
		for _, count := range growing.at {
			if len(rows) == 0 {
				t.Fatalf("the table of docs/%s has no row of %s", growthPage, growing.rowOf(count))
			}
			one := size{count: float64(count)}
			if _, err := fmt.Sscanf(strings.TrimPrefix(rows[0], "| "+growing.rowOf(count)+" "), "| %f s | %f s | %f MB |",
				&one.seconds, &one.processor, &one.megabytes); err != nil {
				t.Fatalf("docs/%s: %q is no row of %s: %v", growthPage, rows[0], growing.rowOf(count), err)
			}
			rows, sizes = rows[1:], append(sizes, one)
		}
		if growing.file != "" {
			pictures[growing.file] = growing.draw(sizes)
		}
	}
	if len(rows) > 0 {
		t.Fatalf("docs/%s: nothing measures the row %q", growthPage, rows[0])
	}
	return pictures
}

// The page of how it grows shows the pictures of its own table, and they are well-formed and
// have a title and a description. With -update they are drawn anew; only BenchmarkGrowth
// measures.
func TestDocsGrowth(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join(repository, "docs", growthPage))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range growthPictures(t) {
		file := filepath.Join(repository, "docs", "pictures", name)
		if *update {
			if err := os.WriteFile(file, want, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if found, err := os.ReadFile(filepath.Clean(file)); err != nil || !bytes.Equal(found, want) {
			t.Errorf("%s is not what the table of docs/%s says; -update draws it (%v)", file, growthPage, err)
		}
		if !bytes.Contains(page, []byte("](pictures/"+name+")")) {
			t.Errorf("docs/%s does not show pictures/%s", growthPage, name)
		}
		elements := map[string]int{}
		for decoder := xml.NewDecoder(bytes.NewReader(want)); ; {
			token, err := decoder.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if start, is := token.(xml.StartElement); is {
				elements[start.Name.Local]++
			}
		}
		if elements["svg"] != 1 || elements["title"] != 1 || elements["desc"] != 1 || elements["polyline"] != 3 {
			t.Errorf("%s has %v", name, elements)
		}
	}
}

// A chart is one of the two of a picture: what it draws, over the same axis.
type chart struct {
	title string
	lines []series
}

type series struct {
	name, class string
	of          func(size) float64
}

var charts = []chart{
	{"seconds", []series{
		{"time", "a", func(s size) float64 { return s.seconds }},
		{"processor", "b", func(s size) float64 { return s.processor }},
	}},
	{"MB", []series{{"all processes together", "c", func(s size) float64 { return s.megabytes }}}},
}

// Measures of a picture, in pixels: of each chart, and around it.
const (
	chartWidth, chartHeight     = 280, 180
	marginLeft, marginTop       = 50, 70
	marginBetween, marginBottom = 90, 60
	pictureWide                 = marginLeft + 2*chartWidth + marginBetween + 30
	pictureHigh                 = marginTop + chartHeight + marginBottom
)

// draw draws the sizes over axes that both begin at zero and are linear: what grows in
// proportion is a straight line.
func (g growth) draw(sizes []size) []byte {
	var out bytes.Buffer
	var told []string
	for _, one := range sizes {
		told = append(told, fmt.Sprintf("%s: %.1f s by the clock, %.1f s of processor time, %.0f MB", g.rowOf(int(one.count)), one.seconds, one.processor, one.megabytes))
	}
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %[1]d %[2]d" width="%[1]d" height="%[2]d" role="img" aria-labelledby="title desc" font-family="system-ui,Verdana,DejaVu Sans,sans-serif" font-size="12">
<title id="title">%[3]s</title>
<desc id="desc">%[4]s.</desc>
<style>
.ground{fill:#fff}.ink{fill:#1f2328}.soft{fill:#59636e}.grid{stroke:#d1d9e0}.line{fill:none;stroke-width:2}
.a{stroke:#0969da}.b{stroke:#bc4c00;stroke-dasharray:5 3}.c{stroke:#1a7f37}.dot{stroke-dasharray:none;fill:#fff;stroke-width:2}
@media (prefers-color-scheme:dark){.ground,.dot{fill:#0d1117}.ink{fill:#f0f6fc}.soft{fill:#9198a1}.grid{stroke:#3d444d}.a{stroke:#4493f8}.b{stroke:#f0883e}.c{stroke:#3fb950}}
</style>
<rect class="ground" width="%[1]d" height="%[2]d"/>
<text class="ink" x="20" y="26" font-size="15" font-weight="600">%[3]s</text>
`, pictureWide, pictureHigh, html.EscapeString(g.title), html.EscapeString(strings.Join(told, "; ")))
	for index, one := range charts {
		fmt.Fprintf(&out, "<g transform=\"translate(%d %d)\">\n", marginLeft+index*(chartWidth+marginBetween), marginTop)
		one.draw(&out, sizes, g.axis)
		out.WriteString("</g>\n")
	}
	out.WriteString("</svg>\n")
	return out.Bytes()
}

func (c chart) draw(out io.Writer, sizes []size, axis string) {
	most := 0.0
	for _, one := range c.lines {
		for _, size := range sizes {
			most = max(most, one.of(size))
		}
	}
	step := stepOf(most)
	top := math.Ceil(most/step) * step
	x := func(s size) float64 { return s.count / sizes[len(sizes)-1].count * chartWidth }
	y := func(value float64) float64 { return chartHeight - value/top*chartHeight }

	_, _ = fmt.Fprintf(out, "<text class=\"soft\" x=\"-30\" y=\"-16\">%s</text>\n", html.EscapeString(c.title))
	for value := 0.0; value <= top; value += step {
		_, _ = fmt.Fprintf(out, "<path class=\"grid\" d=\"M0 %.1fH%d\"/><text class=\"soft\" x=\"-6\" y=\"%.1f\" text-anchor=\"end\">%g</text>\n", y(value), chartWidth, y(value)+4, value)
	}
	for _, one := range sizes {
		_, _ = fmt.Fprintf(out, "<text class=\"soft\" x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%s</text>\n", x(one), chartHeight+18, numbered(int(one.count)))
	}
	_, _ = fmt.Fprintf(out, "<text class=\"soft\" x=\"%d\" y=\"%d\" text-anchor=\"middle\">%s</text>\n", chartWidth/2, chartHeight+40, html.EscapeString(axis))
	for index, one := range c.lines {
		var points []string
		for _, size := range sizes {
			points = append(points, fmt.Sprintf("%.1f,%.1f", x(size), y(one.of(size))))
		}
		_, _ = fmt.Fprintf(out, "<polyline class=\"line %s\" points=\"%s\"/>\n", one.class, strings.Join(points, " "))
		for _, size := range sizes {
			_, _ = fmt.Fprintf(out, "<circle class=\"dot %s\" cx=\"%.1f\" cy=\"%.1f\" r=\"3\"/>\n", one.class, x(size), y(one.of(size)))
		}
		left := 90 + 80*index
		_, _ = fmt.Fprintf(out, "<path class=\"line %s\" d=\"M%d -20h22\"/><text class=\"ink\" x=\"%d\" y=\"-16\">%s</text>\n", one.class, left+40, left+66, html.EscapeString(one.name))
	}
}

// stepOf is between the lines of a grid of about five up to a value: 1, 2 or 5 at some power
// of ten.
func stepOf(most float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(most/5)))
	return power * []float64{1, 2, 5, 10}[slices.IndexFunc([]float64{1, 2, 5, 10}, func(one float64) bool { return most/power/5 <= one })]
}
