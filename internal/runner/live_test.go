package runner

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/reports"
)

// conversing is a connection over stdio whose messages are given one after the other: a line
// that begins with > is the client's, one that begins with < the server's.
type conversing struct {
	header transcript.Header
	log    *transcript.Log
}

func converse(lines ...string) *conversing {
	c := &conversing{
		transcript.Header{Transport: protocol.Stdio, Grade: transcript.Bytes}, transcript.NewLog("one"),
	}
	c.say(
		`>{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`,
		`<{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}`,
		`>{"jsonrpc":"2.0","method":"notifications/initialized"}`,
	)
	c.say(lines...)
	return c
}

func (c *conversing) say(lines ...string) {
	for _, line := range lines {
		from := protocol.Client
		if line[0] == '<' {
			from = protocol.Server
		}
		c.log.Append(transcript.Event{Kind: transcript.Message, Stream: "stdio", From: from, Raw: []byte(line[1:])})
	}
}

func (c *conversing) connection() (transcript.Header, []transcript.Event, string) {
	header := c.header
	header.Dropped = c.log.Dropped() > 0
	return header, c.log.Events(), "one"
}

func live(t *testing.T, filter string) *Live {
	t.Helper()
	all, err := NewLive(Options{Filter: filter})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// brokenNow is what the reports say of each role: the requirement, and how often.
func brokenNow(t *testing.T, all *Live) (broken, notices []string) {
	t.Helper()
	runs := all.Reports()
	if len(runs) != 2 || runs[0].Recorded.All != 1 || runs[0].Recorded.Judged != 1 {
		t.Fatalf("%d reports: %+v", len(runs), runs)
	}
	for _, run := range runs {
		for _, cell := range run.Cells {
			notices = append(notices, cell.Notices...)
			for _, result := range cell.Results {
				if result.Verdict != reports.Failed && result.Verdict != reports.Warned {
					continue
				}
				broken = append(broken, fmt.Sprintf("%s %s %d", run.Target.Role, result.ID, max(1, result.Occurrences)))
			}
		}
	}
	return broken, notices
}

// What a peer breaks is told when it is first seen, and counted once, however often the
// connection is looked at before it is over.
func TestLive(t *testing.T) {
	t.Parallel()
	const ping, wrong = `>{"jsonrpc":"2.0","id":%d,"method":"ping"}`, `<{"jsonrpc":"2.0","id":%d,"result":[]}`
	all, one := live(t, "ping.answered"), converse()
	look := func(round int, news int) {
		t.Helper()
		if told := all.Look(one.connection()); len(told) != news || news > 0 && told[0].Role != protocol.ServerRole {
			t.Errorf("round %d: told %+v", round, told)
		}
	}
	look(0, 0)
	for round := range 3 {
		one.say(fmt.Sprintf(ping, round+1), fmt.Sprintf(wrong, round+1))
		look(round, max(0, 1-round))
		look(round, 0)
		if broken, _ := brokenNow(t, all); len(broken) != 1 || !strings.HasSuffix(broken[0], fmt.Sprint(" ", round+1)) {
			t.Errorf("round %d: broken is %v", round, broken)
		}
	}
	if told := all.Take(one.connection()); len(told) > 0 {
		t.Errorf("told again %+v", told)
	}
	if broken, notices := brokenNow(t, all); len(broken) != 1 || !strings.HasSuffix(broken[0], " 3") || len(notices) > 0 {
		t.Errorf("broken is %v, with notices %q", broken, notices)
	}
}

// What is beyond the bounds of one connection is held against nobody, and told.
func TestLiveBeyondTheBounds(t *testing.T) {
	t.Parallel()
	all, one := live(t, ""), converse()
	for id := range transcript.MaxEvents {
		one.say(fmt.Sprintf(`>{"jsonrpc":"2.0","id":%d,"method":"tools/list"}`, id+1))
	}
	for id := range transcript.MaxEvents {
		one.say(fmt.Sprintf(`<{"jsonrpc":"2.0","id":%d,"result":{"tools":[]}}`, id+1))
	}
	if told := all.Take(one.connection()); len(told) > 0 {
		t.Errorf("told %+v", told)
	}
	if broken, notices := brokenNow(t, all); len(broken) > 0 || len(notices) != 2 || !strings.HasPrefix(notices[0], "judged in part: 1 ") {
		t.Errorf("broken is %v, with notices %q", broken, notices)
	}
}
