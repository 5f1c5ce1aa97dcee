package reports

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func written(t testing.TB, write func(io.Writer) error) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := write(&out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// In Markdown, too, everything that is broken is told, and what a target sent is text.
func TestMarkdown(t *testing.T) {
	t.Parallel()
	judgeMarkdown(t, written(t, hostileRun().Markdown))
	text := string(written(t, sampleRun().Markdown))
	for _, want := range []string{
		"## ❌ Does not conform to 2025-11-25 and 2025-06-18; the baseline has 1 entry to correct",
		"|  | passed | failed | known | warned | skipped | inconclusive |", "| 2025-11-25 · http | 5 | 2 | 1 | 2 | 3 | 7 |",
		"- **stale** `baseline.yaml:17` `ping.answered passes now`", "### Failed (2)", "- wanted: `HTTP 400`", "### Known (1)", "`baseline.yaml:12`",
		"### Inconclusive", "2025-11-25 · http, 2025-06-18 · http", "mcpconform server --revision 2025-11-25 --filter transports.http.version-refused",
		"`not spoken: initialize was answered with 2025-11-25`",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("does not say %q\n%.4000s", want, text)
		}
	}
	if text := string(written(t, conformingRun().Markdown)); !strings.HasPrefix(text, "## ✅ Conforms to 2025-11-25\n") || strings.Contains(text, "###") {
		t.Errorf("%s", text)
	}
	for name, run := range map[string]*Run{"20 MB": largeRun(200, 20<<20), "2,000 failures": largeRun(2000, 4<<20)} {
		if document := written(t, run.Markdown); len(document) > maxMarkdown || !bytes.Contains(document, []byte(" more\n")) {
			t.Errorf("%s: %d bytes", name, len(document))
		}
	}
}

// Each line of the annotations is a command of GitHub, and has no other in it.
func TestAnnotations(t *testing.T) {
	t.Parallel()
	command := regexp.MustCompile(`^::(error|warning) (?:file=[^,:]+,line=\d+,)?title=[^,:]+::[^\r\n]+$`)
	for name, run := range map[string]*Run{"sample": sampleRun(), "hostile": hostileRun(), "large": largeRun(100, 1<<20)} {
		count := map[string]int{}
		for line := range strings.Lines(string(written(t, run.Annotations))) {
			found := command.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
			if found == nil {
				t.Errorf("%s: %.400q", name, line)
				continue
			}
			count[found[1]]++
		}
		if count["error"] == 0 || count["error"] > annotationsShown+1 || count["warning"] > annotationsShown {
			t.Errorf("%s: %v", name, count)
		}
	}
	text := string(written(t, sampleRun().Annotations))
	for _, want := range []string{
		"::error file=baseline.yaml,line=17,title=baseline%3A stale::ping.answered passes now; remove the entry: - requirement: ping.answered\n",
		"::error title=transports.http.version-refused MUST::refuses a protocol version that was never negotiated: wanted HTTP 400, found HTTP 200",
		"%0Arerun: mcpconform server", "::warning title=tools.annotations.titled SHOULD::",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("does not say %q\n%s", want, text)
		}
	}
}

// The fingerprint of an issue does not depend on what the target answers, and no two are equal.
func TestCodeQuality(t *testing.T) {
	t.Parallel()
	issues := func(run *Run) []codeQuality {
		var all []codeQuality
		document := written(t, func(w io.Writer) error { return run.CodeQuality(w, "") })
		if err := json.Unmarshal(document, &all); err != nil {
			t.Fatal(err)
		}
		if Visible(string(document)) != string(document) {
			t.Error("writes what is not visible")
		}
		return all
	}
	prints := func(all []codeQuality) []string {
		var prints []string
		for _, one := range all {
			if one.CheckName == "" || one.Description == "" || one.Location.Path == "" || one.Location.Lines.Begin < 1 ||
				!slices.Contains([]string{"info", "minor", "major"}, one.Severity) {
				t.Errorf("%+v", one)
			}
			prints = append(prints, one.Fingerprint)
		}
		return prints
	}
	run := sampleRun()
	run.Cells[0].Results = append(run.Cells[0].Results, run.Cells[0].Results[0])
	before := issues(run)
	run.Cells[0].Results[0].Failures = []Failure{{Found: "something else"}}
	after := issues(run)
	if !slices.Equal(prints(before), prints(after)) {
		t.Error("the fingerprints change with what the target answers")
	}
	unique := prints(before)
	slices.Sort(unique)
	if len(slices.Compact(unique)) != len(before) || len(before) < 7 {
		t.Errorf("%d issues have %d fingerprints", len(before), len(unique))
	}
	prints(issues(hostileRun()))
	if document := written(t, func(w io.Writer) error { return conformingRun().CodeQuality(w, "") }); string(document) != "[]\n" {
		t.Errorf("nothing is broken: %s", document)
	}
}

func TestBadge(t *testing.T) {
	t.Parallel()
	partly := verdicts(Passed)
	partly.Filter = "ping"
	outdated := verdicts(Passed)
	outdated.Baseline = &Baseline{Outdated: []Outdated{{Why: EntryStale}}}
	hostile := verdicts(Passed)
	hostile.Cells[0].Revision = `"><script>alert(1)</script>` + "\x1b" + strings.Repeat("long", 100)
	for name, one := range map[string]struct {
		run  *Run
		says string
	}{
		"conforms": {verdicts(Passed, Skipped), "MCP 2025-11-25: conforms"}, "failed": {verdicts(Passed, Failed, Failed), "MCP 2025-11-25: 2 failed"},
		"known": {verdicts(Passed, Known), "MCP 2025-11-25: conforms except for 1"}, "part": {partly, "MCP 2025-11-25: 1 passed, in part"},
		"outdated": {outdated, "MCP 2025-11-25: baseline outdated"}, "nothing": {&Run{}, "MCP: not judged"},
		"inconclusive": {verdicts(Inconclusive), "MCP 2025-11-25: not judged"}, "hostile": {hostile, ""}, "sample": {sampleRun(), "MCP 2025-11-25 and 2025-06-18: 3 failed"},
	} {
		document := written(t, one.run.Badge)
		decoder := xml.NewDecoder(bytes.NewReader(document))
		title, inTitle := "", false
		for {
			token, err := decoder.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v\n%s", name, err, document)
			}
			switch token := token.(type) {
			case xml.StartElement:
				inTitle = token.Name.Local == "title"
				if !slices.Contains([]string{"svg", "title", "clipPath", "rect", "g", "text"}, token.Name.Local) {
					t.Errorf("%s: <%s>", name, token.Name.Local)
				}
			case xml.EndElement:
				inTitle = false
			case xml.CharData:
				if inTitle {
					title += string(token)
				}
			}
		}
		if one.says != "" && title != one.says || len(document) > 2000 {
			t.Errorf("%s: %q in %d bytes, want %q", name, title, len(document), one.says)
		}
	}
}
