package runner

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
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

// What the recorder lost is missed nowhere, wherever that was.
func TestLiveWithGaps(t *testing.T) {
	t.Parallel()
	one := converse(
		`<{"jsonrpc":"2.0","id":"r","method":"roots/list"}`, `>{"jsonrpc":"2.0","id":"r","error":{"code":-32601,"message":"no"}}`,
		`>{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, `<{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a","inputSchema":{"type":"object"}}],"nextCursor":"c"}}`,
		`>{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"cursor":"c"}}`, `<{"jsonrpc":"2.0","id":2,"result":{"tools":[]}}`,
		`>{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"a","arguments":{},"_meta":{"progressToken":"p"}}}`,
		`<{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p","progress":1}}`,
		`>{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}`,
		`>[`, `<{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no"}}`,
	)
	header, events, name := one.connection()
	header.Revision = "2025-06-18" // is kept in a line of its own
	broken := func(events []transcript.Event) (all []string) {
		for _, told := range live(t, "").Take(header, events, name) {
			all = append(all, told.Role+" "+told.Requirement)
		}
		return all
	}
	whole := broken(events)
	for from := range events {
		for to := from + 1; to <= len(events); to++ {
			part := slices.Concat(events[:from], []transcript.Event{{Kind: transcript.Gap, Sequence: from, At: events[from].At}}, events[to:])
			for _, told := range broken(part) {
				if !slices.Contains(whole, told) {
					t.Errorf("without the events from %d to %d: %s", from, to, told)
				}
			}
		}
	}
}

// A rule that has a defect leaves the proxy alone, and is told.
func TestLiveWithADefect(t *testing.T) {
	t.Parallel()
	all, one := live(t, ""), converse()
	for _, judging := range all.roles {
		judging.rules = []rules.Rule{{
			Text: "panics", Verifies: rules.Verifies("base.schema.requests"),
			Judge: func(*rules.Conversation, *rules.Reporter) { panic("a defect") },
		}}
	}
	if told := append(all.Look(one.connection()), all.Take(one.connection())...); len(told) > 0 {
		t.Errorf("told %+v", told)
	}
	runs := all.Reports()
	for _, run := range runs {
		if len(run.Errors) != 1 || !strings.Contains(run.Errors[0], "one could not be judged: a defect; this is a defect of mcpconform") {
			t.Errorf("%+v", run.Errors)
		}
	}
	if len(runs) != 2 {
		t.Errorf("%d reports", len(runs))
	}
}

// A clock that is set while a connection goes on is no failure of a peer.
func TestLiveWhenTheClockJumps(t *testing.T) {
	t.Parallel()
	const ask, answer = `>{"jsonrpc":"2.0","id":%d,"method":"tools/list"}`, `<{"jsonrpc":"2.0","id":%d,"result":{"tools":[]}}`
	for _, jump := range []time.Duration{-10 * 365 * 24 * time.Hour, 10 * 365 * 24 * time.Hour} {
		all, one := live(t, ""), converse()
		for id := range 10 {
			one.say(fmt.Sprintf(ask, id+1), fmt.Sprintf(answer, id+1))
		}
		header, events, name := one.connection()
		for position := range events {
			events[position].At = events[position].At.Round(0) // as of a clock that is set
			if position%3 == 1 {
				events[position].At = events[position].At.Add(jump)
			}
		}
		if told := all.Take(header, events, name); len(told) > 0 {
			t.Errorf("after %s: told %+v", jump, told)
		}
	}
}

// What is beyond the bounds of one connection is no failure of a peer, and is reported.
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
