package reports

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcpconform/mcpconform/internal/slowtest"

	"golang.org/x/net/html"
)

func htmlText(t testing.TB, run *Run, o HTMLOptions) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := run.HTML(&out, o); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// elements of a page, with their attributes and their own text.
func elements(t testing.TB, document []byte) []*html.Node {
	t.Helper()
	root, err := html.Parse(bytes.NewReader(document))
	if err != nil {
		t.Fatal(err)
	}
	var all []*html.Node
	for node := range root.Descendants() {
		if node.Type == html.ElementNode {
			all = append(all, node)
		}
	}
	return all
}

func attribute(node *html.Node, name string) string {
	for _, one := range node.Attr {
		if one.Key == name {
			return one.Val
		}
	}
	return ""
}

func contentOf(node *html.Node) string {
	var text strings.Builder
	for one := range node.Descendants() {
		if one.Type == html.TextNode {
			text.WriteString(one.Data)
		}
	}
	return text.String()
}

// dataOf is what the page shows on demand.
func dataOf(t testing.TB, document []byte) pageData {
	t.Helper()
	for _, node := range elements(t, document) {
		if attribute(node, "id") == "data" {
			var data pageData
			if err := json.Unmarshal([]byte(contentOf(node)), &data); err != nil {
				t.Fatal(err)
			}
			return data
		}
	}
	t.Fatal("the page has no data")
	return pageData{}
}

// Nothing that a target says is more than text, and the page loads nothing.
func TestHTMLIsText(t *testing.T) {
	t.Parallel()
	evil := hostileRun()
	for i := range evil.Cells[0].Results {
		for j := range evil.Cells[0].Results[i].Requirements {
			evil.Cells[0].Results[i].Requirements[j].Link = "javascript:alert(1)"
		}
	}
	document := htmlText(t, evil, HTMLOptions{Since: hostileRun()})
	if Visible(string(document)) != string(document) {
		t.Error("writes what is not visible")
	}
	known := strings.Fields(`html head meta title style body a header h1 h2 h3 h4 p ul li b dl dt dd code main section
		article span br form fieldset legend label input select option output noscript div details summary script`)
	policy, styles, scripts := "", 0, 0
	for _, node := range elements(t, document) {
		if !slices.Contains(known, node.Data) {
			t.Errorf("the page has the element %s", node.Data)
		}
		for _, one := range node.Attr {
			if strings.HasPrefix(one.Key, "on") || one.Key == "src" || one.Key == "style" || one.Key == "srcdoc" {
				t.Errorf("%s has %s=%q", node.Data, one.Key, one.Val)
			}
			if one.Key == "href" && !strings.HasPrefix(one.Val, "#") && !strings.HasPrefix(one.Val, specificationHost) {
				t.Errorf("a link to %s", one.Val)
			}
		}
		switch {
		case attribute(node, "http-equiv") != "":
			policy = attribute(node, "content")
		case node.Data == "style":
			styles++
			if !strings.Contains(policy, "style-src "+hashOf(contentOf(node))) {
				t.Error("the policy forbids the style of the page")
			}
		case node.Data == "script" && attribute(node, "type") == "":
			scripts++
			if !strings.Contains(policy, "script-src "+hashOf(contentOf(node))) {
				t.Error("the policy forbids the script of the page")
			}
		}
	}
	if styles != 1 || scripts != 1 || !strings.HasPrefix(policy, "default-src 'none'") {
		t.Errorf("%d styles, %d scripts, policy %q", styles, scripts, policy)
	}
	for _, one := range dataOf(t, document).Requirements {
		if one.Link != "" && !strings.HasPrefix(one.Link, specificationHost) {
			t.Errorf("a link to %s", one.Link)
		}
	}
	for _, never := range []string{"innerHTML", "insertAdjacentHTML", "document.write", "eval(", "fetch(", "import("} {
		if strings.Contains(pageJS, never) {
			t.Errorf("the script has %s", never)
		}
	}
}

// Everything that a run says of a result is in the page.
func TestHTMLHasAll(t *testing.T) {
	t.Parallel()
	run := sampleRun()
	older := sampleRun()
	for i := range older.Cells[0].Results {
		if older.Cells[0].Results[i].Verdict == Failed {
			older.Cells[0].Results[i].Verdict = Passed
		}
	}
	document := htmlText(t, run, HTMLOptions{Since: older})
	data := dataOf(t, document)
	var lines []*html.Node
	text := ""
	for _, node := range elements(t, document) {
		if node.Data == "details" {
			lines = append(lines, node)
		}
		if node.Data == "body" {
			text = contentOf(node)
		}
	}
	var results []*Result
	shown := presentable(run)
	for i := range shown.Cells {
		for j := range shown.Cells[i].Results {
			results = append(results, &shown.Cells[i].Results[j])
		}
	}
	if len(lines) != len(results) || len(data.Results) != len(results) {
		t.Fatalf("%d lines and details of %d for %d results", len(lines), len(data.Results), len(results))
	}
	for i, result := range results {
		line := contentOf(lines[i])
		for _, want := range []string{oneLine(result.Text), result.ID, string(result.Verdict), oneLine(result.Reason)} {
			if !strings.Contains(line, want) {
				t.Errorf("the line of %s is %q, without %q", result.ID, line, want)
			}
		}
		details := data.Results[i]
		if attribute(lines[i], "data-v") != string(result.Verdict) || attribute(lines[i], "data-l") != result.strictest() ||
			len(details.Requirements) != len(result.Requirements) || data.Texts[details.Rerun] != result.Rerun ||
			len(details.Steps)+details.Left != len(result.Exchange) {
			t.Errorf("%s: %+v", result.ID, details)
		}
		for j, one := range result.Requirements {
			says := data.Requirements[details.Requirements[j]]
			if data.Texts[says.ID] != one.ID || data.Texts[says.Says] != one.Says || says.Link != one.Link || says.Level != one.PlainLevel() {
				t.Errorf("%s: %+v", one.ID, says)
			}
		}
		var fields []string
		for _, field := range details.Fields {
			fields = append(fields, fmt.Sprint(field[0]))
		}
		if len(result.Failures) > 0 && !slices.Contains(fields, "wanted") {
			t.Errorf("%s: fields %q", result.ID, fields)
		}
	}
	for _, want := range []string{
		run.Conclusion(), "Outdated entries of the baseline", "baseline.yaml:17", "Changes", "2 regressions", "was passed", "Failures and warnings",
		"HTTP 400", "no known tool triggers these: sampling 5", "none of the 12 tools was called",
		"not spoken: initialize was answered with 2025-11-25", "2025-11-25 · http, 2025-06-18 · http",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}

// largeRun has so many checks with so much traffic between them.
func largeRun(checks, traffic int) *Run {
	run := sampleRun()
	cell := &run.Cells[0]
	cell.Results = nil
	for i := range checks {
		result := passed(cell.Revision, fmt.Sprintf("page.requirement.number-%d", i), "server/tools", fmt.Sprintf("is the check number %d, as its text says it is", i))
		result.Verdict = Verdicts()[i%2]
		result.Rerun = fmt.Sprintf("mcpconform server --filter page.requirement.number-%d -v -- ./my-server", i)
		if result.Verdict == Failed {
			result.Failures = []Failure{{Wanted: strings.Repeat("w", 500), Found: strings.Repeat("<f>", 500), Where: "/result"}}
		}
		for step := range 10 {
			result.Exchange = append(result.Exchange, Step{
				At: Seconds(step), From: "client", To: "server", Kind: StepMessage, Marked: step == 5,
				Text: fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"%s"}}`, i, strings.Repeat(fmt.Sprintf("<&%d\"", i*step), traffic/checks/10/6)),
			})
		}
		cell.Results = append(cell.Results, result)
	}
	return run
}

// What passed is shown with its exchange as far as there is room beside what did not.
func TestHTMLShowsWhatPassed(t *testing.T) {
	t.Parallel()
	steps := func(checks, traffic int) (passing, broken int) {
		run := largeRun(checks, traffic)
		run.Cells = run.Cells[:1]
		for _, details := range dataOf(t, htmlText(t, run, HTMLOptions{})).Results {
			if len(details.Fields) > 0 { // what was wanted and found
				broken += len(details.Steps)
			} else {
				passing += len(details.Steps)
			}
		}
		return passing, broken
	}
	if passing, broken := steps(100, 100<<10); passing != 500 || broken != 500 {
		t.Errorf("of a small run %d and %d steps are shown of 500 each", passing, broken)
	}
	if passing, broken := steps(1000, 1<<19); passing == 0 || passing >= broken || broken != 5000 {
		t.Errorf("of a large run %d steps of what passed and %d of 5000 of what did not", passing, broken)
	}
}

// However much a run has, the page is one that browsers show.
func TestHTMLIsBounded(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	for name, run := range map[string]*Run{"2,000 checks, 20 MB": largeRun(2000, 20<<20), "200 checks, 20 MB": largeRun(200, 20<<20), "6,000 checks": largeRun(6000, 1<<20)} {
		document := htmlText(t, run, HTMLOptions{})
		if len(document) > maxHTML {
			t.Errorf("%s: %d bytes", name, len(document))
		}
		if data := dataOf(t, document); len(data.Results) < len(run.Cells[0].Results) {
			t.Errorf("%s: %d results", name, len(data.Results))
		} else if strings.HasPrefix(name, "2") && len(data.Results[1].Steps) < 3 {
			t.Errorf("%s: %d steps are left of an exchange", name, len(data.Results[1].Steps))
		}
		t.Logf("%s: %d bytes", name, len(document))
	}
	several := largeRun(40_000, 0)
	if err := several.HTML(&bytes.Buffer{}, HTMLOptions{}); err == nil || !strings.Contains(err.Error(), "too many results") {
		t.Errorf("40,000 checks: %v", err)
	}
}
