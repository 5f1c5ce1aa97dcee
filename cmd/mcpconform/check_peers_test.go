package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// said is what two peers said over stdio, a message a line, "<" for the server: as it
// was recorded by who stood between them.
func said(header transcript.Header, from int, lines ...string) string {
	header.Transport, header.Grade, header.Harness.Name = protocol.Stdio, transcript.Bytes, "mcpconform"
	var text bytes.Buffer
	writer, err := transcript.NewWriter(&text, header)
	for position, line := range lines {
		event := transcript.Event{
			Connection: "c", Sequence: from + position, Stream: "stdio", From: protocol.Client, Kind: transcript.Message,
			At: time.Date(2026, 1, 2, 3, 4, from+position, 0, time.UTC), Raw: []byte(line[1:]),
		}
		switch line[0] {
		case '<':
			event.From = protocol.Server
		case '!':
			event = transcript.Event{Connection: "c", Sequence: event.Sequence, Kind: transcript.Gap, Note: line[1:]}
		}
		if err == nil {
			err = writer.Event(event)
		}
	}
	if err != nil {
		panic(err)
	}
	return text.String()
}

var (
	opening = []string{
		`>{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`,
		`<{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"s","version":"2"}}}`,
		`>{"jsonrpc":"2.0","method":"notifications/initialized"}`,
	}
	pinged       = []string{`>{"jsonrpc":"2.0","id":2,"method":"ping"}`, `<{"jsonrpc":"2.0","id":2,"result":{}}`}
	pingedAgain  = []string{`>{"jsonrpc":"2.0","id":2,"method":"ping"}`, `<{"jsonrpc":"2.0","id":2,"result":{}}`} // one id twice
	answeredBack = []string{`>{"jsonrpc":"2.0","id":3,"method":"ping"}`, `<{"jsonrpc":"2.0","id":3,"result":7}`}
)

// Of what was recorded between two peers both are judged, each for what it did itself.
func TestCheckJudgesBothPeers(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		lines          []string
		server, client string // what the report of each ends with
		status         int
	}{
		"good":            {args(opening[0], opening[1:], pinged), "No failure found", "No failure found", exitConforms},
		"a client breaks": {args(opening[0], opening[1:], pinged, pingedAgain), "No failure found", "base.requests.id", exitDoesNot},
		"a server breaks": {args(opening[0], opening[1:], answeredBack), "base.schema.results", "No failure found", exitDoesNot},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			directory := t.TempDir()
			writeFile(t, directory, "r.jsonl", said(transcript.Header{}, 0, test.lines...))
			found := mcpconformIn(t, directory, "check", "r.jsonl")
			found.demand(t, test.status, "server in 1 transcript", "client in 1 transcript")
			server, client, _ := strings.Cut(found.stdout, "client in 1 transcript")
			for role, told := range map[string][2]string{"server": {server, test.server}, "client": {client, test.client}} {
				if !strings.Contains(told[0], told[1]) || told[1] == "No failure found" && strings.Contains(told[0], "FAILED") {
					t.Errorf("of the %s, wanted %s:\n%s", role, told[1], told[0])
				}
				one := mcpconformIn(t, directory, "check", "--role", role, "--json", role+".json", "r.jsonl")
				if run := readRun(t, filepath.Join(directory, role+".json")); run.Target.Role != role || len(run.Cells) != 1 || run.Cells[0].Revision != "2025-06-18" {
					t.Errorf("%s: %+v\n%v", role, run.Target, one)
				}
			}
		})
	}
}

// The files of one connection are judged together, in any order of the arguments. A recording
// without its beginning is not judged.
func TestCheckPutsPartsTogether(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	part := func(number int) transcript.Header { return transcript.Header{Part: number, Recording: "r"} }
	writeFile(t, directory, "2.jsonl", said(part(2), 3, args(pinged[0], pinged[1:], pingedAgain)...))
	writeFile(t, directory, "1.jsonl", said(part(1), 0, opening...))
	writeFile(t, directory, "3.jsonl", said(part(3), 7, answeredBack...))
	writeFile(t, directory, "joined.jsonl", said(transcript.Header{Joined: true}, 0, pinged...))
	writeFile(t, directory, "gap.jsonl", said(transcript.Header{}, 0, args(opening[0], opening[1:], []string{pinged[0], "!the disk was full"})...))

	both := mcpconformIn(t, directory, "check", "--role", "server", "3.jsonl", "2.jsonl", "1.jsonl")
	both.demand(t, exitDoesNot, "base.schema.results", "in 3 transcripts")
	client := mcpconformIn(t, directory, "check", "--role", "client", "2.jsonl", "1.jsonl")
	client.demand(t, exitDoesNot, "base.requests.id-unused")
	mcpconformIn(t, directory, "check", "2.jsonl").demand(t, exitUsage, "", "had begun before they were recorded, or their first parts are missing")
	mcpconformIn(t, directory, "check", "--role", "server", "joined.jsonl", "1.jsonl").demand(t, exitConforms, "not judged: 1 that had begun before", "1 of 2 transcripts")
	mcpconformIn(t, directory, "check", "--role", "server", "gap.jsonl").demand(t, exitConforms, "in 1 transcript") // the answer may stand in the gap
	mcpconformIn(t, directory, "check", "--json", "x.json", "1.jsonl").demand(t, exitUsage, "", "--json x.json: both peers are judged, and a file has the report of one: write {role} into its name")
}
