//go:build linux

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// draftCheckout is a checkout with a draft that demands something new, in a page and in its
// schema.
func draftCheckout(t *testing.T) (directory, schema string) {
	t.Helper()
	directory = t.TempDir()
	for name, text := range map[string]string{
		"2026-07-28": "The receiver MUST respond promptly with an empty response:\n",
		"draft":      "The receiver MUST respond promptly with an empty response:\n\nA ping MUST <b>not</b> bark.\n",
	} {
		if err := os.MkdirAll(filepath.Join(directory, name, "server"), 0o755); err != nil {
			t.Fatal(err)
		}
		writeFile(t, filepath.Join(directory, name, "server"), "discover.mdx", "# Ping\n\n"+text)
	}
	return directory, writeFile(t, directory, "schema.json", `{"$defs": {"DiscoverResult": {"type": "object", "required": ["mood"]}}}`)
}

// TestDraft judges a good server by a draft that demands more, and by the release.
func TestDraft(t *testing.T) {
	t.Parallel()
	directory, schema := draftCheckout(t)
	page, document, transcripts := filepath.Join(directory, "run.html"), filepath.Join(directory, "run.json"), filepath.Join(directory, "transcripts")
	filter := []string{"--transport", "stdio", "--filter", "server/discover || base.schema.results"}

	found := mcpconform(t, args("server", "--revision", "draft", "--spec", directory, "--schema", schema, "--html", page, "--json", document, "--transcripts", transcripts, filter)...)

	found.demand(t, exitDoesNot, "judged as 2026-07-28 with the schema of the draft, "+schema, "changed or new in the schema: DiscoverResult",
		"1 sentence of the draft without a requirement", "server/discover#ping: A ping MUST not bark.", `wanted member "mood" (DiscoverResult)`,
		"rerun mcpconform server --revision draft --spec "+directory+" --schema "+schema+" --filter base.schema.results",
		"Does not conform to the draft after 2026-07-28")
	run := readRun(t, document)
	if draft := run.Draft; draft == nil || draft.As != "2026-07-28" || len(draft.Changed) != 1 || len(draft.Uncatalogued) != 1 || run.Cells[0].Revision != "2026-07-28" {
		t.Errorf("%+v", draft)
	}
	if text, err := os.ReadFile(page); err != nil || !strings.Contains(string(text), "the draft after 2026-07-28") {
		t.Errorf("the page does not name the draft: %v", err)
	}
	mcpconform(t, args("server", "--revision", "2026-07-28", filter)...).demand(t, exitConforms, "at 2026-07-28")

	mcpconform(t, "check", "--filter", "base.schema.results", transcripts).demand(t, exitConforms,
		"of these transcripts are of a target that was judged by a draft, and are judged by 2026-07-28 here")
	again := []string{"check", "--revision", "draft", "--spec", directory, "--schema", schema, "--filter", "base.schema.results"}
	judged := mcpconform(t, append(again, transcripts)...)
	judged.demand(t, exitDoesNot, "judged as 2026-07-28 with the schema of the draft, "+schema, `wanted member "mood" (DiscoverResult)`,
		"rerun mcpconform check --revision draft --spec "+directory+" --schema "+schema+" --filter base.schema.results -v "+transcripts)
	if strings.Contains(judged.stdout, "are judged by 2026-07-28 here") {
		t.Error("transcripts of a draft that are judged by it are told as if they were not")
	}

	writeFile(t, directory, "schema.json", `{"$defs": {"Tool": {"$ref": 1}}}`)
	wrong := mcpconform(t, "client", "--revision", "draft", "--spec", directory, "--schema", schema)
	wrong.demand(t, exitUsage, "--schema "+schema+": at /$defs/Tool/$ref: expected a string; found 1")
	wrong.oneLine(t)
	wrong = mcpconform(t, "client", "--revision", "draft", "--spec", filepath.Join(directory, "draft"), "--schema", "/dev/null")
	wrong.demand(t, exitUsage)
	wrong.oneLine(t)
}

// TestDraftAsPublished judges by a copy of the schema that was published, before and after it demands more.
func TestDraftAsPublished(t *testing.T) {
	t.Parallel()
	specification, published := os.Getenv("MCP_SPEC_DIR"), os.Getenv("MCP_SCHEMA_DIR")
	if specification == "" || published == "" {
		t.Skip("MCP_SPEC_DIR and MCP_SCHEMA_DIR name no checkout of the specification and its schemas")
	}
	source, err := os.ReadFile(filepath.Join(published, "2026-07-28", "schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	var document map[string]any
	if err := json.Unmarshal(source, &document); err != nil {
		t.Fatal(err)
	}
	tools := document["$defs"].(map[string]any)["ListToolsResult"].(map[string]any)
	tools["required"] = append(tools["required"].([]any), "total")
	changed, err := json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	directory := t.TempDir()
	for text, one := range map[string]struct {
		status int
		says   string
	}{
		string(source):  {exitConforms, "schema.json, which is the same"},
		string(changed): {exitDoesNot, `wanted member "total" (ListToolsResult)`},
	} {
		schema := writeFile(t, directory, "schema.json", text)
		mcpconform(t, "server", "--revision", "draft", "--spec", specification, "--schema", schema, "--transport", "stdio", "--filter", "server/tools || base").
			demand(t, one.status, one.says, "the draft after 2026-07-28")
	}
}
