package catalogue

import (
	"slices"
	"testing"
	"testing/fstest"
)

func TestExtensionIsReadFromItsProposal(t *testing.T) {
	t.Parallel()
	proposal := page("## Motivation\n\nOne MUST wait.\n\n" +
		"## Specification\n\n### Tasks\n\nServers MUST answer.\n\n```\n## Rationale\n```\n\nClients SHOULD ask.\n\n" +
		"## Rationale\n\nIt MUST be so.\n\n## Security Implications\n\nIds MUST NOT be guessed.\n")
	for _, root := range []string{"", "specification/"} {
		spec, err := ReadSpecification(fstest.MapFS{
			root + "2025-11-25/server/index.mdx": page("x"),
			root + "2026-07-28/server/index.mdx": page("x"),
			"seps/2663-tasks-extension.mdx":      proposal,
		})
		if err != nil {
			t.Fatal(err)
		}
		if spec.Page("2025-11-25", "extensions/tasks") != nil {
			t.Error("an earlier revision has the extension")
		}
		extension := spec.Page("2026-07-28", "extensions/tasks")
		if extension == nil {
			t.Fatal("the revision does not have the extension")
		}
		var texts []string
		for _, sentence := range extension.Sentences {
			texts = append(texts, sentence.Text)
		}
		wanted := []string{"Servers MUST answer.", "Clients SHOULD ask.", "Ids MUST NOT be guessed."}
		if !slices.Equal(texts, wanted) {
			t.Errorf("wanted %q, found %q", wanted, texts)
		}
		if line := extension.Sentences[0].Line; line != 13 {
			t.Errorf("wanted line 13, found %d", line)
		}
	}
}

func TestExtensionLinksToItsProposal(t *testing.T) {
	t.Parallel()
	requirement := &Requirement{Since: "2026-07-28", places: perRevision[place]{{"2026-07-28", place{"extensions/tasks", "tasks"}}}}
	wanted := "https://modelcontextprotocol.io/seps/2663-tasks-extension#tasks"
	if found := requirement.Link("2026-07-28"); found != wanted {
		t.Errorf("wanted %s, found %s", wanted, found)
	}
}
