//go:build linux

package main

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// triedColumns are the requests, by their methods, for which docs/tried.md says what was
// wrong with them; what else was sent wrongly stands in the last column.
var triedColumns = []string{
	"ping", "server/discover", "tools/list", "tools/call", "resources/list", "resources/templates/list",
	"resources/read", "prompts/list", "prompts/get",
}

// TestDocsTried compares docs/tried.md with what runs on the reference send on purpose that
// must be refused.
func TestDocsTried(t *testing.T) {
	wholePrograms(t)
	if !*everyTarget && !*update {
		t.Skip("whole runs at two revisions: with -all")
	}
	t.Parallel()
	directory := t.TempDir()
	for _, target := range [][]any{nil, {"--", "mcpconform", "reference", "server", "--stdio"}} {
		mcpconformIn(t, directory, args(append([]any{
			"server", "-q", "--transcripts", "transcripts", "--revision",
			protocol.Last(protocol.Handshake) + "," + protocol.Last(protocol.PerRequestMeta),
		}, target...)...)...).demand(t, 0)
	}
	want := triedTable(triedIn(t, filepath.Join(directory, "transcripts")))
	page := filepath.Join(repository, "docs", "tried.md")
	source, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, found, there := strings.Cut(string(source), "\n| wrong with it")
	if !there {
		t.Fatalf("%s has no table that begins with \"| wrong with it\"", page)
	}
	switch found = "| wrong with it" + found; {
	case found == want:
	case *update:
		if err := os.WriteFile(page, []byte(before+"\n"+want), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("docs/tried.md has\n%s\nand runs show\n%s\n(go test ./cmd/mcpconform -run TestDocs -update writes that)", found, want)
	}
}

// triedIn collects, by what was wrong, in which requests it was.
func triedIn(t *testing.T, directory string) map[string]map[string]bool {
	t.Helper()
	tried := map[string]map[string]bool{}
	eachTranscript(t, directory, func(_ string, _ transcript.Header, events []transcript.Event) {
		for _, event := range events {
			if name := triedBy(event); event.Deliberate != "" && name != "" {
				if tried[event.Deliberate] == nil {
					tried[event.Deliberate] = map[string]bool{}
				}
				tried[event.Deliberate][name] = true
			}
		}
	})
	return tried
}

// eachTranscript reads all transcripts below a directory.
func eachTranscript(t *testing.T, directory string, read func(name string, header transcript.Header, events []transcript.Event)) {
	t.Helper()
	err := filepath.WalkDir(directory, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		file, err := os.Open(path)
		if err != nil {
			return err
		}
		defer func() { _ = file.Close() }() // it was only read
		header, events, err := transcript.Read(file)
		read(entry.Name(), header, events)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// triedBy names what was sent: a message by its method, an HTTP request without a body by
// its verb.
func triedBy(event transcript.Event) string {
	switch {
	case event.Kind == transcript.Message:
		message := jsonrpc.Parse(event.Raw)
		if message.Kind == jsonrpc.Response {
			return "a response"
		}
		return cmp.Or(message.Method, "other bytes")
	case event.HTTP != nil && event.HTTP.Method != http.MethodPost:
		return event.HTTP.Method
	}
	return ""
}

func triedTable(tried map[string]map[string]bool) string {
	var table strings.Builder
	fmt.Fprintf(&table, "| wrong with it | %s | other |\n|%s\n",
		strings.Join(triedColumns, " | "), strings.Repeat(" --- |", len(triedColumns)+2))
	for _, reason := range slices.Sorted(maps.Keys(tried)) {
		fmt.Fprintf(&table, "| %s |", reason)
		for _, method := range triedColumns {
			fmt.Fprintf(&table, " %s |", map[bool]string{true: "×", false: "·"}[tried[reason][method]])
			delete(tried[reason], method)
		}
		fmt.Fprintf(&table, " %s |\n", strings.Join(slices.Sorted(maps.Keys(tried[reason])), ", "))
	}
	return table.String()
}
