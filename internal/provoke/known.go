package provoke

import (
	"io/fs"
	"slices"
	"sync"

	"github.com/mcpconform/mcpconform/fixtures"
	"github.com/mcpconform/mcpconform/internal/protocol"
)

// Server is a known server, with the tools of it that provoke something.
type Server struct {
	Name  string
	Tools []Tool // in the order of preference
}

// Tool is one of a known server, recognised by its name.
type Tool struct {
	Provocation
	Provokes []string         // kinds; none where it is only known to be harmless
	Needs    protocol.Feature // of no use at revisions without it; "" for none
	Line     int              // of the file
}

// WellKnown returns the servers of fixtures/provocations, in the order of preference. The
// slice is shared: callers must not change it. It panics where the embedded data are
// broken, which the tests exclude.
func WellKnown() []Server { return wellKnown() }

var wellKnown = sync.OnceValue(func() []Server {
	folder, err := fs.Sub(fixtures.Provocations, "provocations")
	if err != nil {
		panic(err)
	}
	servers, err := Load(folder)
	if err != nil {
		panic(err)
	}
	return servers
})

// Known are the tools of well-known servers that provoke a kind, by name.
func Known(kind string) []string {
	var names []string
	for known := range tools {
		if slices.Contains(known.Provokes, kind) && !slices.Contains(names, known.Tool) {
			names = append(names, known.Tool)
		}
	}
	return names
}

// tools yields those of all known servers, in the order of preference.
func tools(yield func(Tool) bool) {
	for _, server := range WellKnown() {
		for _, tool := range server.Tools {
			if !yield(tool) {
				return
			}
		}
	}
}
