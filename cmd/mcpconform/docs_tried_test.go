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
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/slowtest"
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
	if !slowtest.All() && !*update {
		t.Skip("whole runs at two revisions: with -all")
	}
	t.Parallel()
	directory := t.TempDir()
	// A server that speaks revisions without a version header may do without it.
	revisions := protocol.Last(protocol.Handshake) + "," + protocol.Last(protocol.PerRequestMeta)
	reference := []string{"reference", "server", "--revision", revisions}
	for _, target := range [][]string{
		{"--url", listening(t, reference...)},
		slices.Concat([]string{"--", "mcpconform"}, reference, []string{"--stdio"}),
	} {
		mcpconformIn(t, directory, slices.Concat([]string{
			"server", "-q", "--transcripts", "transcripts", "--revision", revisions,
		}, target)...).demand(t, 0)
	}
	want := triedTable(t, triedIn(t, filepath.Join(directory, "transcripts")))
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

// tries are the requests in which something was wrong, and where those were sent.
type tries struct {
	requests map[string]bool
	cells    map[string]bool // "2025-11-25 stdio"
}

// triedIn collects, by what was wrong, in which requests it was, and where.
func triedIn(t *testing.T, directory string) map[string]tries {
	t.Helper()
	tried := map[string]tries{}
	eachTranscript(t, directory, func(_ string, header transcript.Header, events []transcript.Event) {
		for _, event := range events {
			name := triedBy(event)
			if event.Deliberate == "" || name == "" {
				continue
			}
			if _, known := tried[event.Deliberate]; !known {
				tried[event.Deliberate] = tries{map[string]bool{}, map[string]bool{}}
			}
			tried[event.Deliberate].requests[name] = true
			tried[event.Deliberate].cells[header.Revision+" "+header.Transport] = true
		}
	})
	return tried
}

// hole is why what is wrong is tried in no other requests.
type hole struct {
	wrong *regexp.Regexp
	why   string
}

// triedNotElsewhere has the holes of docs/tried.md: the first that matches counts.
var triedNotElsewhere = []hole{
	{regexp.MustCompile(`Mcp-Name`), "only these have a name, and the header for it"},
	{regexp.MustCompile(`Mcp-Method in a different case`), "another method is tried with each request, how letters compare with one"},
	{regexp.MustCompile(`Mcp-Method|version header|versions in the header`), "only 2026-07-28 has the header in each request; which has no ping"},
	{regexp.MustCompile(`header of an? |argument in the body|header with (broken|char)|beyond 2\^53`), "only arguments of tools have headers"},
	{regexp.MustCompile(`cursor`), "only lists have cursors"},
	{regexp.MustCompile(`^(a batch|an empty batch|a method that|a string where|not JSON|bytes that|has (the number|an extra comma|a comment|single|a name without))`), "what cannot be parsed has no method"},
	{regexp.MustCompile(`^a response to|^answers no request`), "it is a response, not a request"},
	{regexp.MustCompile(`^a response has|responses are|inputResponses`), "only requests that need input take inputResponses; each wrong value is tried with a tool, a list and null with resources and prompts, too"},
	{regexp.MustCompile(`content is not of the form`), "a task takes its input by this request alone"},
	{regexp.MustCompile(`arguments`), "only tools and prompts have arguments"},
	{regexp.MustCompile(`number as taskId`), "tasks/result waits, and tasks/cancel changes something"},
	{regexp.MustCompile(`names? .*task|as a task|requires a task`), "only these are about tasks"},
	{regexp.MustCompile(`^requests a task`), "calls may be tasks; only 2025-11-25 has the member"},
	{regexp.MustCompile(`^cancels|names no request|id is an object|params that are an array|method of a notification`), "it is about a notification"},
	{regexp.MustCompile(`session`), "only HTTP at 2025-11-25 has sessions; initialize begins one"},
	{regexp.MustCompile(`clientCapabilities`), "only 2026-07-28 has the member; which has no ping"},
	{regexp.MustCompile(`_meta|protocolVersion`), "2026-07-28 has no ping; over stdio the reference speaks both eras, so that such a request may be one of the other"},
	{regexp.MustCompile(`^has the version|^names an invalid protocol version`), "an unknown protocol version is tried with each request, each further value with one"},
	{regexp.MustCompile(`names an unknown protocol version`), "only HTTP has the header"},
	{regexp.MustCompile(`earlier revisions`), "only these were removed in 2026-07-28"},
	{regexp.MustCompile(`web page`), "a server that accepts them would keep subscriptions and tasks"},
	{regexp.MustCompile(`no initialize before`), "only the first message of a session can come before initialize"},
	{regexp.MustCompile(`has no id`), "the others have side effects, or may have"},
	{regexp.MustCompile(`clientInfo|unknown level|undefined method`), "it is about this request"},
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

func triedTable(t *testing.T, tried map[string]tries) string {
	t.Helper()
	var table strings.Builder
	fmt.Fprintf(&table, "| wrong with it | %s | other | at | why not in others |\n|%s\n",
		strings.Join(triedColumns, " | "), strings.Repeat(" --- |", len(triedColumns)+4))
	used := map[int]bool{}
	for _, reason := range slices.Sorted(maps.Keys(tried)) {
		at := slices.IndexFunc(triedNotElsewhere, func(one hole) bool { return one.wrong.MatchString(reason) })
		if at < 0 {
			t.Errorf("nothing says why %q is tried in no other requests: see triedNotElsewhere", reason)
			continue
		}
		used[at] = true
		fmt.Fprintf(&table, "| %s |", reason)
		requests := tried[reason].requests
		for _, method := range triedColumns {
			fmt.Fprintf(&table, " %s |", map[bool]string{true: "×", false: "·"}[requests[method]])
			delete(requests, method)
		}
		fmt.Fprintf(&table, " %s | %s | %s |\n", strings.Join(slices.Sorted(maps.Keys(requests)), ", "),
			triedAt(tried[reason].cells), triedNotElsewhere[at].why)
	}
	for i, one := range triedNotElsewhere {
		if !used[i] {
			t.Errorf("triedNotElsewhere: nothing that was wrong is left for %q", one.wrong)
		}
	}
	return table.String()
}

// triedAt names cells: by its revision where it was both transports, nothing where it was all.
func triedAt(cells map[string]bool) string {
	var all []string
	for _, revision := range []string{protocol.Last(protocol.Handshake), protocol.Last(protocol.PerRequestMeta)} {
		stdio, http := cells[revision+" stdio"], cells[revision+" http"]
		switch {
		case stdio && http:
			all = append(all, revision)
		case http:
			all = append(all, revision+" HTTP")
		case stdio:
			all = append(all, revision+" stdio")
		}
	}
	if len(all) == 2 && !strings.Contains(strings.Join(all, ""), " ") {
		return ""
	}
	return strings.Join(all, ", ")
}
