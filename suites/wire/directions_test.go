package wire

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpconform/mcpconform/internal/rules"
)

const (
	listensOn2 = `{"jsonrpc":"2.0","id":2,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true}}}`
	changedOf2 = `{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":2}}}`
)

// TestDirections judges what messages have to do with at 2026-07-28, over stdio.
func TestDirections(t *testing.T) {
	t.Parallel()
	const (
		loose = "sends notifications only while a request or a subscription is open"
	)
	tests := map[string]struct {
		said   []string
		broken []string
	}{
		"an answer":                        {[]string{`>{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, `<{"jsonrpc":"2.0","id":1,"result":{}}`}, nil},
		"progress of a request":            {[]string{`>{"jsonrpc":"2.0","id":1,"method":"tools/call"}`, `<` + progressOf("a"), `<{"jsonrpc":"2.0","id":1,"result":{}}`}, nil},
		"progress of a cancelled request":  {[]string{`>{"jsonrpc":"2.0","id":1,"method":"tools/call"}`, `>{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, `<` + progressOf("a")}, nil},
		"a change for a subscription":      {[]string{`>` + listensOn2, `<` + changedOf2}, nil},
		"the end of a subscription":        {[]string{`>` + listensOn2, `<{"jsonrpc":"2.0","id":2,"result":{}}`, `<{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`}, nil},
		"a change that nobody asked for":   {[]string{`>{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, `<{"jsonrpc":"2.0","id":1,"result":{}}`, `<` + changedOf2}, []string{loose}},
		"a log before any request":         {[]string{`<{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"hello"}}`}, []string{loose}},
		"a change in the handshake era":    {append(handshake("{}"), `<{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`), nil},
		"an answer where there is no call": {[]string{`<{"jsonrpc":"2.0","id":1,"result":{}}`}, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.broken, brokenTexts(directions(), talk("2026-07-28", test.said...))); diff != "" {
				t.Errorf("broken (-wanted +found):\n%s", diff)
			}
		})
	}
}

// TestStreamsOfTheStatelessEra judges event streams at 2026-07-28.
func TestStreamsOfTheStatelessEra(t *testing.T) {
	t.Parallel()
	const (
		related    = "sends notifications of a subscription only on the SSE stream of that subscription"
		unbuffered = "sends the header X-Accel-Buffering: no with event streams"
		answered   = "eventually sends the response on the SSE stream of its request"
		flows      = "< post-1 200 Content-Type:text/event-stream X-Accel-Buffering:no\n"
		listens    = "> post-1 POST\nc post-1 " + listensOn2 + "\n"
	)
	tests := map[string]struct {
		script string
		broken []string
	}{
		"a stream with the response":          {post("post-1", "1") + flows + "e post-1 " + result("1") + ". post-1", nil},
		"a stream without the header":         {post("post-1", "1") + opened("post-1") + "e post-1 " + result("1") + ". post-1", []string{unbuffered}},
		"a stream that proxies may keep back": {post("post-1", "1") + "< post-1 200 Content-Type:text/event-stream X-Accel-Buffering:yes\n" + "e post-1 " + result("1") + ". post-1", []string{unbuffered}},
		"JSON":                                {post("post-1", "1") + "< post-1 200 Content-Type:application/json\ns post-1 " + result("1") + ". post-1", nil},
		"a stream that ends early":            {post("post-1", "1") + flows + ". post-1", []string{answered}},
		"one with an id that ends early":      {post("post-1", "1") + flows + "e post-1 #a1 data\n. post-1", []string{answered}},
		"a subscription":                      {listens + flows + "e post-1 " + changedOf2 + "\n", nil},
		"a subscription that the server ends": {listens + flows + ". post-1", nil},
		"a change of another subscription":    {post("post-1", "1") + flows + "e post-1 " + changedOf2 + "\ne post-1 " + result("1") + ". post-1", []string{related}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			judging := slices.DeleteFunc(streams(), func(rule rules.Rule) bool {
				return !slices.Contains([]string{related, unbuffered, answered}, rule.Text)
			})
			if diff := cmp.Diff(test.broken, brokenTexts(judging, carry(t, "2026-07-28", test.script))); diff != "" {
				t.Errorf("broken (-wanted +found):\n%s", diff)
			}
		})
	}
}

// brokenTexts returns the texts of the rules that are broken.
func brokenTexts(judging []rules.Rule, conversation *rules.Conversation) []string {
	var broken []string
	for _, finding := range rules.Apply(judging, conversation) {
		if len(finding.Breaks) > 0 {
			at := slices.IndexFunc(judging, func(rule rules.Rule) bool { return rule.ID() == finding.Rule })
			broken = append(broken, judging[at].Text)
		}
	}
	return broken
}
