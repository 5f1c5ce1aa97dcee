package filter

import (
	"slices"
	"strings"

	"github.com/mcpconform/mcpconform/internal/nearest"
	"github.com/mcpconform/mcpconform/internal/protocol"
)

// UnknownRevision is what an error says of a revision that is none of those that may be
// chosen. A release that cannot be checked is nobody's slip of the pen.
func UnknownRevision(revision string, known []string) string {
	if revision == "draft" || slices.Contains(protocol.Released(), revision) {
		return "is a revision that mcpconform does not check; it checks " + strings.Join(protocol.Checked(), ", ")
	}
	return "is unknown" + nearest.Hint(revision, known)
}
