package catalogue

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpconform/mcpconform/internal/protocol"
)

// TestSince tells what became of each sentence of a small specification.
func TestSince(t *testing.T) {
	t.Parallel()
	const old = "## Behavior\n\nThe receiver MUST respond promptly to each request.\n\n" +
		"The sender SHOULD wait for a while before it asks again.\n\n" +
		"Peers MAY send pings at any time.\n\n" +
		"A stale connection MUST be closed by whoever notices it.\n\n" +
		"Nobody SHOULD flood its peer. It is rude.\n"
	const list = "Tools MUST NOT:\n\n- bark at night\n- come in pairs\n"
	for name, one := range map[string]struct {
		pages map[string]string // of the draft, beside the page of pings
		text  string
		want  []string
	}{
		"nothing":      {nil, old, nil},
		"layout alone": {nil, strings.ReplaceAll(old, "any time", "any\n  time") + "\n[A link](/specification/draft/basic) to nowhere.\n", nil},
		"a stronger level": {nil, strings.ReplaceAll(old, "SHOULD wait", "MUST wait"),
			[]string{"changed SHOULD → MUST: The sender MUST wait for a while before it asks again."}},
		"a negation": {nil, strings.ReplaceAll(old, "MUST be closed", "MUST NOT be closed"),
			[]string{"changed MUST → MUST NOT: A stale connection MUST NOT be closed by whoever notices it."}},
		"a sentence split in two": {nil, strings.ReplaceAll(old, "MUST respond promptly to each request.", "MUST respond to each request. It MUST do so within a minute of the arrival."),
			[]string{"changed MUST: The receiver MUST respond to each request.", "new MUST: It MUST do so within a minute of the arrival."}},
		"a new heading": {nil, strings.ReplaceAll(old, "Peers MAY", "## Timing\n\nPeers MAY"),
			[]string{
				"moved MAY: Peers MAY send pings at any time.", "moved MUST: A stale connection MUST be closed by whoever notices it.",
				"moved SHOULD: Nobody SHOULD flood its peer.",
			}},
		"another page": {
			map[string]string{"basic/utilities/manners": "Nobody SHOULD flood its peer."}, strings.ReplaceAll(old, "Nobody SHOULD flood its peer. It is rude.\n", ""),
			[]string{"moved SHOULD: Nobody SHOULD flood its peer."},
		},
		"a new page":        {map[string]string{"basic/utilities/manners": "All MUST be polite."}, old, []string{"new MUST: All MUST be polite."}},
		"one in lower case": {nil, strings.ReplaceAll(old, "Nobody SHOULD", "Nobody should"), []string{"gone SHOULD: Nobody SHOULD flood its peer."}},
		"two sentences merged": {nil, strings.ReplaceAll(old, "A stale connection MUST be closed by whoever notices it.\n\nNobody SHOULD flood its peer. It is rude.",
			"A stale connection MUST be closed by whoever notices it, and nobody SHOULD flood its peer."),
			[]string{"changed MUST → MUST,SHOULD: A stale connection MUST be closed by whoever notices it, and nobody SHOULD flood its peer.", "gone SHOULD: Nobody SHOULD flood its peer."}},
		"a heading renamed": {nil, strings.ReplaceAll(old, "## Behavior", "## Conduct"),
			[]string{
				"moved MUST: The receiver MUST respond promptly to each request.", "moved SHOULD: The sender SHOULD wait for a while before it asks again.",
				"moved MAY: Peers MAY send pings at any time.", "moved MUST: A stale connection MUST be closed by whoever notices it.",
				"moved SHOULD: Nobody SHOULD flood its peer.",
			}},
		"an item of a list": {map[string]string{"server/tools": list + "- sleep at noon\n"}, old, []string{"new MUST NOT: Tools MUST NOT: sleep at noon"}},
		"a weaker lead-in of a list": {map[string]string{"server/tools": strings.ReplaceAll(list, "MUST NOT", "SHOULD NOT")}, old,
			[]string{"changed MUST NOT → SHOULD NOT: Tools SHOULD NOT: (2 items)"}},
		"a weaker lead-in of another item": {map[string]string{"server/tools": strings.ReplaceAll(strings.ReplaceAll(list, "MUST NOT", "SHOULD NOT"), "in pairs", "in large groups")}, old,
			[]string{"changed MUST NOT → SHOULD NOT: Tools SHOULD NOT: (1 items)", "changed MUST NOT → SHOULD NOT: Tools SHOULD NOT: come in large groups"}},
		"a page that is gone": {map[string]string{"server/tools": ""}, old, []string{"gone MUST NOT: Tools MUST NOT: bark at night", "gone MUST NOT: Tools MUST NOT: come in pairs"}},
		"other words":         {nil, strings.ReplaceAll(old, "by whoever notices it", "by the peer that notices it"), []string{"changed MUST: A stale connection MUST be closed by the peer that notices it."}},
		"nothing normative":   {nil, old + "\nPings are small.\n", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := fstest.MapFS{
				"2026-07-28/basic/utilities/ping.mdx":                       page(old),
				"2026-07-28/tutorials/security/security_best_practices.mdx": page("All MUST be careful."),
				"2026-07-28/changelog.mdx":                                  page("Old news MUST be told."),
				"2026-07-28/server/tools.mdx":                               page(list),
				"draft/basic/utilities/ping.mdx":                            page(one.text),
				"draft/server/tools.mdx":                                    page(list),
				"draft/changelog.mdx":                                       page("News MUST be told."),
			}
			for name, text := range one.pages {
				files["draft/"+name+".mdx"] = page(text)
				if text == "" {
					delete(files, "draft/"+name+".mdx")
				}
			}
			spec, err := ReadSpecification(files)
			if err != nil {
				t.Fatal(err)
			}

			changes, err := spec.Since(&Catalogue{}, "2026-07-28", Draft)

			var found []string
			for _, change := range changes {
				found = append(found, inALine(change))
			}
			if diff := cmp.Diff(one.want, found); diff != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}

// inALine is a change in a line.
func inALine(change Change) string {
	levels := func(s *Sentence) string {
		var words []string
		for _, level := range s.Levels() {
			words = append(words, string(level))
		}
		return strings.Join(words, ",")
	}
	binds := levels(change.Sentence())
	if change.Before != nil && levels(change.Before) != binds {
		binds = levels(change.Before) + " → " + binds
	}
	text := fmt.Sprintf("%s %s: %s", change.Kind, binds, change.Sentence().Text)
	if len(change.Items) > 0 {
		text += fmt.Sprintf(" (%d items)", len(change.Items))
	}
	return text
}

func TestSinceWithoutAFolder(t *testing.T) {
	t.Parallel()
	spec, err := ReadSpecification(fstest.MapFS{"2026-07-28/basic/index.mdx": page("All MUST be well.")})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := spec.Since(&Catalogue{}, "2026-07-28", Draft); err == nil || !strings.Contains(err.Error(), "there is no folder draft") {
		t.Error(err)
	}
}

// TestSinceOfTheReleases compares with what is known of the releases: how many normative
// sentences each brought, and how many it left out.
func TestSinceOfTheReleases(t *testing.T) {
	t.Parallel()
	directory := os.Getenv("MCP_SPEC_DIR")
	if directory == "" {
		t.Skip("MCP_SPEC_DIR names no checkout of the specification")
	}
	spec, err := ReadSpecification(os.DirFS(directory))
	if err != nil {
		t.Fatal(err)
	}
	all := append(protocol.Released(), Draft)
	var found []string
	for i := range all[1:] {
		changes, err := spec.Since(&Catalogue{}, all[i], all[i+1])
		if err != nil {
			t.Fatal(err)
		}
		count := map[string]int{}
		for _, change := range changes {
			count[change.Kind] += len(change.Sentences())
		}
		found = append(found, fmt.Sprintf("%s: %d new, %d gone, %d of both changed",
			all[i+1], count[New]+count[Changed], count[Absent]+count[Changed], count[Changed]))
	}
	if diff := cmp.Diff([]string{
		"2025-03-26: 114 new, 9 gone, 3 of both changed",
		"2025-06-18: 91 new, 54 gone, 24 of both changed",
		"2025-11-25: 385 new, 31 gone, 25 of both changed",
		"2026-07-28: 357 new, 269 gone, 61 of both changed",
		"draft: 0 new, 0 gone, 0 of both changed",
	}, found); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
