package reports

import (
	"bytes"
	"strings"
	"testing"
)

func sampleDraft() *Draft {
	return &Draft{
		As: "2026-07-28", Schema: "schema.json", Spec: "specification", Changed: []string{"Tool", "ToolResult"}, Gone: []string{"Root"},
		Uncatalogued: []string{"a: A MUST.", "b: B MUST.", "c: C MUST.", "d: D MUST.", "e: E MUST.", "f: F MUST\n<b>."},
	}
}

// Each report says that the target was judged by a draft, by what of it, and by what not.
func TestDraftIsTold(t *testing.T) {
	t.Parallel()
	run := verdicts(Passed, Failed)
	run.Draft = sampleDraft()
	said := []string{
		"judged as 2026-07-28 with the schema of the draft, schema.json", "changed or new in the schema: Tool and ToolResult",
		"gone in the schema: Root", "6 sentences of the draft without a requirement, so without a check:", "e: E MUST.", "1 more",
	}
	for name, write := range map[string]func(*bytes.Buffer) error{
		"terminal": func(w *bytes.Buffer) error { return run.Terminal(w, TerminalOptions{Width: 120}) },
		"HTML":     func(w *bytes.Buffer) error { return run.HTML(w, HTMLOptions{}) },
		"Markdown": func(w *bytes.Buffer) error { return run.Markdown(w) },
		"JUnit":    func(w *bytes.Buffer) error { return run.JUnit(w, JUnitOptions{}) },
	} {
		var out bytes.Buffer
		if err := write(&out); err != nil {
			t.Fatal(err)
		}
		for _, text := range said {
			if !strings.Contains(strings.ReplaceAll(out.String(), "\\", ""), text) {
				t.Errorf("%s does not say %q:\n%.2000s", name, text, out.String())
			}
		}
		if strings.Contains(out.String(), "F MUST") {
			t.Errorf("%s says it all", name)
		}
	}
	run.Draft.Changed, run.Draft.Gone = nil, nil
	if line := run.Draft.says()[0]; !strings.HasSuffix(line, "schema.json, which is the same") {
		t.Error(line)
	}
	if text := run.Conclusion(); text != "Does not conform to the draft after 2026-07-28" {
		t.Error(text)
	}
}
