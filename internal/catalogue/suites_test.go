package catalogue_test

import (
	"os"
	"strings"
	"testing"

	"github.com/mcpconform/mcpconform/internal/catalogue"
	"github.com/mcpconform/mcpconform/internal/protocol"
)

// TestSuites holds the real catalogue against the specification.
func TestSuites(t *testing.T) {
	t.Parallel()
	all, err := catalogue.Load(os.DirFS("../../suites"))
	if err != nil {
		t.Fatal(err)
	}
	if len(all.All()) == 0 {
		t.Skip("no requirements.yaml in suites")
	}
	dir := os.Getenv("MCP_SPEC_DIR")
	if dir == "" {
		t.Skip("MCP_SPEC_DIR is not set: no specification to compare with")
	}
	coverage, err := catalogue.Trace(os.DirFS(dir), all, nil)
	if err != nil {
		t.Fatal(err)
	}
	if coverage.Complete() {
		return
	}
	text := &strings.Builder{}
	if err := coverage.WriteText(text); err != nil {
		t.Fatal(err)
	}
	t.Errorf("the catalogue and the specification differ:\n%s", text)
}

// BenchmarkLoad reads the real catalogue, which every run does first.
func BenchmarkLoad(b *testing.B) {
	suites := os.DirFS("../../suites")
	for b.Loop() {
		if _, err := catalogue.Load(suites); err != nil {
			b.Fatal(err)
		}
	}
}

// What a process knows that checks one role is, for that role, what the whole catalogue says.
func TestWhatAProcessKnowsThatChecksOneRole(t *testing.T) {
	t.Parallel()
	all, err := catalogue.Load(os.DirFS("../../suites"))
	if err != nil {
		t.Fatal(err)
	}
	for _, role := range protocol.Roles() {
		text, err := all.For(role).MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		known := &catalogue.Catalogue{}
		if err := known.UnmarshalJSON(text); err != nil {
			t.Fatal(err)
		}
		for _, one := range all.All() {
			other, there := known.Get(one.ID)
			if !there {
				t.Errorf("%s: %s is not known", role, one.ID)
				continue
			}
			for _, revision := range protocol.Released() {
				for _, transport := range protocol.Transports() {
					applies := one.Applies(revision, transport, role)
					if applies != other.Applies(revision, transport, role) ||
						applies && (one.Level(revision) != other.Level(revision) || one.Page(revision) != other.Page(revision)) {
						t.Errorf("%s: %s is another at %s over %s", role, one.ID, revision, transport)
					}
				}
			}
		}
	}
}
