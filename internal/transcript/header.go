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
	Version = 2
	// oldest is the version from which on files are read. Version 1 knew everything on its
	// first line: it has a role, a revision, and no Agreement.
	oldest = 1
)

// Header is the first line of a transcript file: with it, and with the agreements that
// follow, the file is enough to judge the connection by. One file has one connection, or
// one part of it.
type Header struct {
	Format  string  `json:"format"`
	Version int     `json:"version"`
	Harness Harness `json:"harness"`
	// Role is the one that the target plays; "" where both peers are judged. Transport is
	// "stdio", "http" or "sse".
	Role      string `json:"role,omitempty"`
	Transport string `json:"transport"`
	// Grade says what the recorder changed of what it passed on; "" for a connection that
	// the harness had itself.
	Grade Grade `json:"grade,omitempty"`
	// Part counts the files of one connection, from 1; 0 where it has one. Recording names
	// the connection in all of them.
	Part      int    `json:"part,omitempty"`
	Recording string `json:"recording,omitempty"`
	// Joined tells that the connection had begun before the recording did, or its earlier
	// parts are gone: what came before is unknown.
	Joined bool `json:"joined,omitempty"`
	// Lacks names what the source of an imported recording did not keep.
	Lacks []Lack `json:"lacks,omitempty"`
	Agreement
	// Events counts those that follow; 0 when that was not known.
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

// Agreement is what the peers have agreed on, as far as it is known: on the first line, and
// on lines of their own where it became known later.
type Agreement struct {
	// Revision is the one that the connection is judged by.
	Revision string `json:"revision,omitempty"`
	// Capabilities are those agreed, by the party that declared them.
	Capabilities Capabilities `json:"capabilities,omitzero"`
	// Tools are those that the connection called and listed elsewhere, as the server
	// listed them.
	Tools []map[string]any `json:"tools,omitempty"`
}

// With is the agreement, and what became known later.
func (a Agreement) With(later Agreement) Agreement {
	if later.Revision != "" {
		a.Revision = later.Revision
	}
	if later.Capabilities.Client != nil {
		a.Capabilities.Client = later.Capabilities.Client
	}
	if later.Capabilities.Server != nil {
		a.Capabilities.Server = later.Capabilities.Server
	}
	if later.Tools != nil {
		a.Tools = later.Tools
	}
	return a
}

// Grade says how much a recorder between two peers changed of what it passed on.
type Grade string

// The grades, the most transparent first.
const (
	Bytes    Grade = "bytes"   // nothing
	Heads    Grade = "head"    // names of hosts in the heads of HTTP, for another server than the client knows
	Messages Grade = "message" // what is written around the messages, such as the frames of HTTP/2
)

// Lack is something that a recording does not have: checks that need it do not judge the
// recording.
type Lack string

// What a recording may lack.
const (
	RawBytes Lack = "bytes"    // messages were parsed, and written again
	Encoding Lack = "encoding" // what came was decoded: of bytes that are not UTF-8 nothing is left
	HTTPHead Lack = "heads"    // of requests and answers over HTTP
	Times    Lack = "times"    // when a message was sent
	Whole    Lack = "whole"    // something is missing in the middle; it is seen in the events, and not written
)

// Reason says why checks do not judge the recording where this is lacking.
func (l Lack) Reason() string {
	switch l {
	case RawBytes:
		return "the recording has no bytes: its messages were parsed, and written again"
	case Encoding:
		return "the recording has text in the place of bytes"
	case HTTPHead:
		return "the recording has no heads of HTTP requests and responses"
	case Times:
		return "the recording does not say when messages were sent"
	case Whole:
		return "something is missing in the recording that may be to blame"
	}
	return "the recording has no " + string(l)
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
	case told.Version != float64(Version) && told.Version != float64(oldest):
		return Header{}, fmt.Errorf(
			"version %v of the format is unknown, only %d and %d are read; %s of this version",
			excerpt.Characters(excerpt.OneLine(fmt.Sprint(told.Version)), maxShown),
			oldest, Version,
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
