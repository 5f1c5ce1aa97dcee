//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/slowtest"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// TestSpokenToInItsOwnRevision demands that what targets have to understand has no member
// that only later revisions define: a target that reads it as a draft did is not wrong.
// One form is about such a member: a resultType that no revision knows.
func TestSpokenToInItsOwnRevision(t *testing.T) {
	wholePrograms(t)
	if !slowtest.All() {
		t.Skip("whole runs at all revisions but the last: with -all")
	}
	t.Parallel()
	revisions := protocol.Released()
	earlier := strings.Join(revisions[:len(revisions)-1], ",")
	for role, reference := range map[string][]any{
		"server": {"--stdio"}, "client": nil,
	} {
		t.Run(role, func(t *testing.T) {
			t.Parallel()
			directory := t.TempDir()
			mcpconformIn(t, directory, args(append([]any{
				role, "-q", "--transcripts", "transcripts", "--revision", earlier,
				"--", "mcpconform", "reference", role,
			}, reference...)...)...).demand(t, 0)
			sent := 0
			later := map[string]map[string]bool{}
			for _, revision := range revisions {
				later[revision] = laterMembers(t, revision)
			}
			eachTranscript(t, directory, func(name string, header transcript.Header, events []transcript.Event) {
				for _, event := range events {
					if !event.IsContent() || string(event.From) == role || event.Deliberate != "" {
						continue
					}
					sent++
					for _, place := range places(jsonrpc.Parse(event.Raw).Object, "", later[header.Revision]) {
						t.Errorf("%s: %s is of a later revision than %s: %s", name, place, header.Revision, event.Raw)
					}
				}
			})
			if sent == 0 {
				t.Error("no message was sent")
			}
		})
	}
}

// laterMembers are the names of members that the schemas of later revisions have and that
// of a revision has not.
func laterMembers(t *testing.T, revision string) map[string]bool {
	t.Helper()
	later := map[string]bool{}
	for _, other := range protocol.Released() {
		if other > revision {
			membersIn(readSchema(t, other), later, true)
		}
	}
	membersIn(readSchema(t, revision), later, false)
	return later
}

func readSchema(t *testing.T, revision string) any {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(repository, "schema", revision+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var document any
	if err := json.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	return document
}

// membersIn notes the names of all properties of a schema.
func membersIn(schema any, names map[string]bool, as bool) {
	switch schema := schema.(type) {
	case map[string]any:
		properties, _ := schema["properties"].(map[string]any)
		for name := range properties {
			names[name] = as
		}
		for _, member := range schema {
			membersIn(member, names, as)
		}
	case []any:
		for _, element := range schema {
			membersIn(element, names, as)
		}
	}
}

// ofAuthors are the members below which the author of a tool or form chooses the names, or
// any name is legal: capabilities are not a closed set.
var ofAuthors = []string{"arguments", "inputSchema", "outputSchema", "requestedSchema", "content", "_meta", "capabilities"}

// places are the pointers of the members of a value that have one of the names.
func places(value any, at string, names map[string]bool) (found []string) {
	switch value := value.(type) {
	case map[string]any:
		for name, member := range value {
			if slices.Contains(ofAuthors, name) {
				continue
			}
			if names[name] && (name != "resultType" || member != "x-unknown") {
				found = append(found, at+"/"+name)
			}
			found = append(found, places(member, at+"/"+name, names)...)
		}
	case []any:
		for index, element := range value {
			found = append(found, places(element, fmt.Sprint(at, "/", index), names)...)
		}
	}
	return found
}
