package catalogue

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpconform/mcpconform/internal/protocol"
)

// The fingerprints of the sentences below are computed, not written down.
const (
	answer = "The receiver MUST respond."
	prompt = "It SHOULD be prompt."
	listed = "This operation MUST be paginated."
	plain  = "Pings are empty."
)

var smallSpec = fstest.MapFS{
	"docs/specification/2024-11-05/basic/utilities/ping.mdx":          page("## Behavior\n\nOld pings MUST work."),
	"docs/specification/2025-06-18/basic/utilities/ping.mdx":          page("## Behavior\n\n" + answer + " " + prompt + " " + plain),
	"docs/specification/2025-06-18/server/tools.mdx":                  page("## Listing\n\n" + listed),
	"docs/specification/2025-06-18/server/resources.mdx":              page("## Listing\n\n" + listed),
	"docs/specification/2025-06-18/basic/security_best_practices.mdx": page("All MUST be safe. None MUST be sorry."),
	"docs/specification/2025-11-25/basic/utilities/ping.mdx":          page("## Behaviour\n\n" + answer + " It MUST be prompt. " + plain),
	"docs/specification/2025-11-25/notes.txt":                         page("MUST not be read"),
}

func page(text string) *fstest.MapFile {
	return &fstest.MapFile{Data: []byte("---\ntitle: x\n---\n\n" + text + "\n")}
}

// entry writes a requirement; each of the settings replaces or adds a line.
func entry(id string, covers []string, settings ...string) string {
	for i, sentence := range covers {
		if len(sentence) != 8 {
			covers[i] = Fingerprint(sentence)
		}
	}
	lines := []string{
		"- id: " + id, "obliges: both", "level: MUST", "says: Something.", "since: 2025-06-18",
		"at: basic/utilities/ping", "covers: [" + strings.Join(covers, ", ") + "]", "observed: wire",
	}
	for _, setting := range settings {
		key, _, _ := strings.Cut(setting, ":")
		at := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, key+":") })
		if at < 0 {
			lines = append(lines, setting)
			continue
		}
		lines[at] = setting
	}
	return strings.Join(lines, "\n  ") + "\n"
}

func trace(t *testing.T, checked Checked, entries ...string) *Coverage {
	t.Helper()
	catalogue, err := load(t, map[string]string{"requirements.yaml": strings.Join(entries, "")})
	if err != nil {
		t.Fatal(err)
	}
	coverage, err := Trace(smallSpec, catalogue, checked)
	if err != nil {
		t.Fatal(err)
	}
	return coverage
}

func TestTraceCounts(t *testing.T) {
	t.Parallel()
	checked := func(id, revision, role string) bool {
		return id == "ping.prompt" && revision == "2025-06-18" || id == "ping.unseen" ||
			id == "tools.paginated" && role == protocol.ServerRole
	}
	coverage := trace(t, checked,
		entry("ping.prompt", []string{prompt, "It MUST be prompt."}, "level: {2025-06-18: SHOULD, 2025-11-25: MUST}", "obliges: client"),
		entry("ping.unseen", []string{answer}, "observed: unseen", "why: No peer sees it.", "until: 2025-06-18"),
		entry("tools.paginated", []string{listed}, "at: server/tools#listing", "until: 2025-06-18"),
		entry("tools.paged", []string{listed}, "at: server/tools#listing", "until: 2025-06-18", "obliges: server"),
		entry("resources.paginated", []string{listed}, "at: server/resources", "until: 2025-06-18", "level: MAY"),
		entry("security-best-practices.safe", []string{"All MUST be safe."}, "at: basic/security_best_practices", "until: 2025-06-18",
			"level: SHOULD", "rests-on: a guide", "obliges: authorization-server"),
	)
	for _, problem := range coverage.Problems {
		if problem.Requirement.ID == "security-best-practices.safe" {
			t.Errorf("what a guide demands may be catalogued as weaker: %s", problem)
		}
	}
	type row struct {
		revision, page string
		count          Count
		missing        string
	}
	var got []row
	for _, revision := range coverage.Revisions {
		for _, page := range revision.Pages {
			var missing []string
			for _, sentence := range page.Uncatalogued {
				missing = append(missing, sentence.Text)
			}
			got = append(got, row{revision.Revision, page.Page, page.Count, strings.Join(missing, " ")})
		}
		got = append(got, row{revision.Revision, "", revision.Total, ""})
	}
	want := []row{
		{"2024-11-05", "basic/utilities/ping", Count{Normative: 1}, "Old pings MUST work."},
		{"2024-11-05", "", Count{Normative: 1}, ""},
		{"2025-06-18", "basic/utilities/ping", Count{Normative: 2, Catalogued: 2, Client: Seen{1, 1}}, ""},
		// What both are obliged to may be checked of one only.
		{"2025-06-18", "server/tools", Count{Normative: 1, Catalogued: 1, Server: Seen{1, 1}, Client: Seen{1, 0}}, ""},
		// A MAY cannot be broken.
		{"2025-06-18", "server/resources", Count{Normative: 1, Catalogued: 1}, ""},
		// What a guide says need not be catalogued, and is not counted.
		{"2025-06-18", "basic/security_best_practices", Count{Normative: 2, Catalogued: 1, Authority: Seen{1, 0}}, ""},
		{"2025-06-18", "", Count{Normative: 4, Catalogued: 4, Server: Seen{1, 1}, Client: Seen{2, 1}}, ""},
		{"2025-11-25", "basic/utilities/ping", Count{Normative: 2, Catalogued: 1, Client: Seen{1, 0}}, answer},
		{"2025-11-25", "", Count{Normative: 2, Catalogued: 1, Client: Seen{1, 0}}, ""},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(row{})); diff != "" {
		t.Errorf("coverage (-want +got):\n%s", diff)
	}
	if coverage.Complete() {
		t.Error("complete, with sentences that are not catalogued")
	}
}

func TestTraceComplete(t *testing.T) {
	t.Parallel()
	entries := []string{
		entry("ping.all", []string{answer, plain}, "at: {2025-06-18: basic/utilities/ping#behavior, 2025-11-25: basic/utilities/ping#behaviour}"),
		entry("ping.prompt", []string{prompt, "It MUST be prompt."}, "level: {2025-06-18: SHOULD, 2025-11-25: MUST}"),
		entry("ping.old", []string{"Old pings MUST work."}, "since: 2024-11-05", "until: 2024-11-05"),
		entry("tools.paginated", []string{listed}, "at: server/tools#listing", "until: 2025-06-18"),
		entry("resources.paginated", []string{listed}, "at: server/resources", "until: 2025-06-18"),
		"- {id: ping.schema, obliges: both, level: MAY, says: x, since: 2025-06-18, at: basic/utilities/ping, stated: elsewhere, observed: wire}\n",
	}
	if coverage := trace(t, nil, entries...); !coverage.Complete() {
		text := &strings.Builder{}
		if err := coverage.WriteText(text); err != nil {
			t.Fatal(err)
		}
		t.Errorf("not complete:\n%s", text)
	}
	if trace(t, nil, append(entries, entry("ping.gone", []string{"00000000", answer}))...).Complete() {
		t.Error("complete, with an entry whose sentence is gone")
	}
}

func TestTraceProblems(t *testing.T) {
	t.Parallel()
	typo := Fingerprint(answer)
	typo = map[bool]string{true: "0", false: "f"}[typo[0] != '0'] + typo[1:]
	for name, test := range map[string]struct {
		entry string
		want  []string
	}{
		"none":              {entry("ping.x", []string{answer}), nil},
		"gone":              {entry("ping.x", []string{answer, "00000000"}), []string{"gone: no sentence has the fingerprint 00000000"}},
		"gone, mistyped":    {entry("ping.x", []string{answer, typo}), []string{"gone: no sentence has the fingerprint " + typo + `, did you mean "` + Fingerprint(answer) + `"?`}},
		"gone, reworded":    {entry("ping.x", []string{answer, "00000000"}, "says: It is to be prompt."), []string{"gone: no sentence has the fingerprint 00000000; closest is " + Fingerprint("It MUST be prompt.") + ` on line 7, "It MUST be prompt."`}},
		"of another age":    {entry("ping.x", []string{answer, "Old pings MUST work."}), nil},
		"no page":           {entry("ping.x", []string{answer}, "at: basic/utilitys/ping"), []string{`no anchor at 2025-06-18: there is no page basic/utilitys/ping, did you mean "basic/utilities/ping"?`, `no anchor at 2025-11-25: there is no page basic/utilitys/ping, did you mean "basic/utilities/ping"?`}},
		"no heading":        {entry("ping.x", []string{answer}, "at: basic/utilities/ping#behavior"), []string{`no anchor at 2025-11-25: the page basic/utilities/ping has no heading #behavior, did you mean "behaviour"?`}},
		"too strong":        {entry("ping.x", []string{prompt, plain}, "until: 2025-06-18"), []string{"contradicts at 2025-06-18: its level is MUST, but what it covers says SHOULD"}},
		"too weak":          {entry("ping.x", []string{answer}, "level: MAY", "until: 2025-06-18"), []string{"contradicts at 2025-06-18: its level is MAY, but what it covers says MUST"}},
		"one of the levels": {entry("ping.x", []string{prompt, answer}, "level: SHOULD", "until: 2025-06-18"), nil},
		"without a keyword": {entry("ping.x", []string{plain}), nil},
		"not stated":        {entry("ping.x", []string{prompt}, "level: SHOULD"), []string{"not stated at 2025-11-25: none of the sentences that it covers stands there"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			coverage := trace(t, nil, test.entry)
			var got []string
			for _, problem := range coverage.Problems {
				rest, ok := strings.CutPrefix(problem.String(), "requirements.yaml:1: ping.x ")
				if !ok {
					t.Errorf("problem begins otherwise: %s", problem.String())
				}
				got = append(got, rest)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWriteText(t *testing.T) {
	t.Parallel()
	coverage := trace(t, func(_, _, role string) bool { return role == protocol.ServerRole },
		entry("ping.answered", []string{answer}),
		entry("ping.gone", []string{"00000000", plain}),
		entry("tools.paginated", []string{"00000000", listed}, "at: server/tools", "until: 2025-06-18"),
	)
	for _, test := range []struct {
		pages []string
		want  string
	}{
		{nil, `2024-11-05 (of each role: checked/visible)
  sentences  catalogued  server  client  authorization server  page
          1           0     0/0     0/0                   0/0  basic/utilities/ping
          1           0     0/0     0/0                   0/0  in all

2025-06-18 (of each role: checked/visible)
  sentences  catalogued  server  client  authorization server  page
          2           1     1/1     0/1                   0/0  basic/utilities/ping
          1           1     1/1     0/1                   0/0  server/tools
          1           0     0/0     0/0                   0/0  server/resources
          4           2     2/2     0/2                   0/0  in all
basic/security_best_practices advises, not counted: 0 of its 2 sentences are catalogued (server 0/0, client 0/0)

2025-11-25 (of each role: checked/visible)
  sentences  catalogued  server  client  authorization server  page
          2           1     1/1     0/1                   0/0  basic/utilities/ping
          2           1     1/1     0/1                   0/0  in all

Not catalogued (lines of the last revision named):
  2024-11-05  basic/utilities/ping:7  OLD  Old pings MUST work.
  2025-06-18  basic/utilities/ping:7  PROMPT  It SHOULD be prompt.
  2025-11-25  basic/utilities/ping:7  NOW  It MUST be prompt.
  2025-06-18  server/resources:7  LISTED  This operation MUST be paginated.

requirements.yaml:9: ping.gone gone: no sentence has the fingerprint 00000000
requirements.yaml:17: tools.paginated gone: no sentence has the fingerprint 00000000
`},
		{[]string{"server/tools"}, `2024-11-05 (of each role: checked/visible)
  sentences  catalogued  server  client  authorization server  page
          0           0     0/0     0/0                   0/0  in all

2025-06-18 (of each role: checked/visible)
  sentences  catalogued  server  client  authorization server  page
          1           1     1/1     0/1                   0/0  server/tools
          1           1     1/1     0/1                   0/0  in all

2025-11-25 (of each role: checked/visible)
  sentences  catalogued  server  client  authorization server  page
          0           0     0/0     0/0                   0/0  in all

requirements.yaml:17: tools.paginated gone: no sentence has the fingerprint 00000000
`},
	} {
		text := &strings.Builder{}
		if err := coverage.WriteText(text, test.pages...); err != nil {
			t.Fatal(err)
		}
		want := strings.NewReplacer("OLD", Fingerprint("Old pings MUST work."), "PROMPT", Fingerprint(prompt), "NOW", Fingerprint("It MUST be prompt."), "LISTED", Fingerprint(listed)).Replace(test.want)
		if diff := cmp.Diff(want, text.String()); diff != "" {
			t.Errorf("text for pages %v (-want +got):\n%s", test.pages, diff)
		}
	}
	if err := coverage.WriteText(failingWriter{}); !errors.Is(err, errFull) {
		t.Errorf("error is %v, expected %v", err, errFull)
	}
}

var errFull = errors.New("disk full")

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, errFull }

func TestReadSpecification(t *testing.T) {
	t.Parallel()
	for _, root := range []string{"", "specification/", "docs/specification/"} {
		spec, err := ReadSpecification(fstest.MapFS{root + "2025-11-25/server/index.mdx": page("x")})
		if err != nil || spec.Page("2025-11-25", "server/index") == nil {
			t.Errorf("in %q: %v", root, err)
		} else if spec.Page("2025-06-18", "server/index") != nil || spec.Page("2025-11-25", "server") != nil {
			t.Errorf("in %q: there are pages that are not", root)
		}
	}
	_, err := ReadSpecification(fstest.MapFS{"README.md": page("x")})
	if err == nil || !strings.Contains(err.Error(), "expected a checkout of the specification") {
		t.Errorf("error is %v", err)
	}
	_, err = ReadSpecification(fstest.MapFS{"2025-06-18/a.mdx": {Data: make([]byte, maxPage+1)}})
	want := fmt.Sprintf("reading revision 2025-06-18 of the specification: 2025-06-18/a.mdx: larger than %d bytes", maxPage)
	if err == nil || err.Error() != want {
		t.Errorf("error is %v, expected %s", err, want)
	}
	if _, err := Trace(fstest.MapFS{}, &Catalogue{}, nil); err == nil {
		t.Error("no error without a specification")
	}
}

func TestWriteSentences(t *testing.T) {
	t.Parallel()
	spec, err := ReadSpecification(smallSpec)
	if err != nil {
		t.Fatal(err)
	}
	revisions := []string{"2025-06-18", "2025-11-25"}
	text := &strings.Builder{}
	if err := spec.WriteSentences(text, "basic/utilities/ping", revisions); err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf(`
basic/utilities/ping#behaviour
  2025-06-18 2025-11-25  %s  MUST       7  The receiver MUST respond.

basic/utilities/ping#behavior
  2025-06-18             %s  SHOULD     7  It SHOULD be prompt.

basic/utilities/ping#behaviour
  2025-06-18 2025-11-25  %s             7  Pings are empty.
  2025-11-25             %s  MUST       7  It MUST be prompt.
`, Fingerprint(answer), Fingerprint(prompt), Fingerprint(plain), Fingerprint("It MUST be prompt."))
	if diff := cmp.Diff(want, text.String()); diff != "" {
		t.Errorf("sentences (-want +got):\n%s", diff)
	}
	err = spec.WriteSentences(io.Discard, "basic/utilities/pong", revisions)
	if wanted := `no page "basic/utilities/pong" at 2025-06-18, 2025-11-25, did you mean "basic/utilities/ping"?`; err == nil || err.Error() != wanted {
		t.Errorf("error is %v, expected %s", err, wanted)
	}
	if err := spec.WriteSentences(failingWriter{}, "basic/utilities/ping", revisions); !errors.Is(err, errFull) {
		t.Errorf("error is %v, expected %v", err, errFull)
	}
}

func TestShared(t *testing.T) {
	t.Parallel()
	dir := os.Getenv("MCP_SPEC_DIR")
	if dir == "" {
		t.Skip("MCP_SPEC_DIR is not set: no specification to read")
	}
	spec, err := ReadSpecification(os.DirFS(dir))
	if err != nil {
		t.Fatal(err)
	}
	// This sentence is the same in all revisions with the page, although it links to
	// another one.
	for _, sentence := range spec.Shared("basic/lifecycle", protocol.Released()) {
		if sentence.Fingerprint == "0fdb4122" {
			if !slices.Equal(sentence.Revisions, protocol.Released()[:4]) || sentence.Anchor != "initialization" {
				t.Errorf("it is %+v", sentence)
			}
			return
		}
	}
	t.Error("basic/lifecycle has no sentence 0fdb4122")
}
