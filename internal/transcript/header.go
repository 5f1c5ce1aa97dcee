package transcript

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/mcpconform/mcpconform/internal/excerpt"
)

// Format and Version are how a transcript file names itself, on its first line.
const (
	Format  = "mcpconform-transcript"
	Version = 1
)

// Header is the first line of a transcript file: with it, the file is enough to judge
// the connection by. One file has one connection.
type Header struct {
	Format  string  `json:"format"`
	Version int     `json:"version"`
	Harness Harness `json:"harness"`
	// Role is the one that the target plays, Revision the one that the connection is
	// judged by, Transport "stdio" or "http".
	Role      string `json:"role"`
	Revision  string `json:"revision"`
	Transport string `json:"transport"`
	// Capabilities are those agreed, by the party that declared them.
	Capabilities Capabilities `json:"capabilities"`
	// Tools are those that the connection called and listed elsewhere, as the server
	// listed them.
	Tools []map[string]any `json:"tools,omitempty"`
	// Events counts the lines that follow; 0 when that was not known.
	Events int `json:"events,omitempty"`
	// Dropped tells that there were more events than could be kept.
	Dropped bool `json:"dropped,omitempty"`
	// Unjudged tells that no rule applies to the connection: it was opened at a revision
	// that the target did not agree to.
	Unjudged bool `json:"unjudged,omitempty"`
	// Draft tells that the connection was judged by the schema of a draft in the place of that of
	// the revision.
	Draft bool `json:"draft,omitempty"`
}

// Harness is the program that wrote a transcript.
type Harness struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// Capabilities are those of both parties; nil when a party declared none.
type Capabilities struct {
	Client map[string]any `json:"client,omitzero"`
	Server map[string]any `json:"server,omitzero"`
}

// maxHeader bounds the header, in bytes: read, it takes many times as much memory.
const maxHeader = 1 << 20

// record is how to get what is missing.
const record = "record one with --transcripts"

// maxShown is how many characters an error shows of a text that comes from anywhere.
const maxShown = 40

// readHeader reads the first line that is not empty.
func readHeader(line []byte) (Header, error) {
	if len(line) > maxHeader {
		return Header{}, fmt.Errorf("the header is longer than %d MiB; %s", maxHeader>>20, record)
	}
	var told struct {
		Format  any    `json:"format"`
		Version any    `json:"version"`
		Kind    string `json:"kind"`
	}
	err := json.Unmarshal(line, &told)
	format, named := told.Format.(string)
	switch {
	case err == nil && !named && told.Kind != "":
		return Header{}, fmt.Errorf("an event where the header belongs; %s of this version", record)
	case err != nil || !named:
		return Header{}, fmt.Errorf("not the header of a transcript; %s", record)
	case format != Format:
		format = excerpt.Characters(excerpt.OneLine(format), maxShown)
		return Header{}, fmt.Errorf("the format is %q, not %q; %s", format, Format, record)
	case told.Version == nil:
		return Header{}, fmt.Errorf("the header has no version; %s", record)
	case told.Version != float64(Version):
		return Header{}, fmt.Errorf(
			"version %v of the format is unknown, only %d is read; %s of this version",
			excerpt.Characters(excerpt.OneLine(fmt.Sprint(told.Version)), maxShown),
			Version,
			record,
		)
	}
	reader := json.NewDecoder(bytes.NewReader(line))
	reader.UseNumber() // as messages are read
	var header Header
	if err := reader.Decode(&header); err != nil {
		return Header{}, fmt.Errorf("not the header of a transcript: %w; %s", err, record)
	}
	return header, nil
}
