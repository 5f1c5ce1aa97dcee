package filter

import (
	"strings"

	"github.com/mcpconform/mcpconform/internal/nearest"
	"github.com/mcpconform/mcpconform/internal/protocol"
)

// UnknownRevision is what an error says of a revision that is none of those that may be
// chosen. For "draft", which is not a misspelling, it says where that can be used.
func UnknownRevision(revision string, known []string) string {
	if revision == "draft" {
		return "is for mcpconform server and client alone, with --spec and --schema; revisions are " +
			strings.Join(protocol.Released(), ", ")
	}
	return "is unknown" + nearest.Hint(revision, known)
}
