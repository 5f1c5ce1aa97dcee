package rules_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/rules/rulestest"
	"github.com/mcpconform/mcpconform/internal/scope"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/suites"
)

// everywhere judges by a rule at every revision for every role that it is for, as far as
// its requirement has no heads or bytes of its own.
func everywhere(t *testing.T, rule rules.Rule, transport, script string, look func(*rules.Conversation, []rules.Finding)) {
	t.Helper()
	requirements, err := suites.Catalogue()
	if err != nil {
		t.Fatal(err)
	}
	for _, role := range protocol.Roles() {
		for _, revision := range protocol.Released() {
			cell := rules.Cell{Role: role, Revision: revision, Transport: transport}
			of := &scope.Scope{Cell: cell, Catalogue: requirements}
			if !of.AppliesRule(rule) || of.Lacking(rules.Rule{Verifies: rule.Verifies}, []transcript.Lack{transcript.HTTPHead}) != "" {
				continue
			}
			conversation := rulestest.CarryFor(t, cell, script)
			look(conversation, rules.Apply([]rules.Rule{rule}, conversation))
		}
	}
}

// Rules that ask for facts which are read of heads need these.
func TestRulesThatNeedHeads(t *testing.T) {
	t.Parallel()
	const script = `
		> post-1 POST
		c post-1 {"jsonrpc":"2.0","id":1,"method":"tools/list"}
		< post-1 200 Content-Type:application/json
		s post-1 {"jsonrpc":"2.0","id":1,"result":{"tools":[]}}
		. post-1`
	for _, rule := range suites.Rules() {
		everywhere(t, rule, protocol.HTTP, script, func(conversation *rules.Conversation, _ []rules.Finding) {
			for _, fact := range []string{"exchanges", "refusedStreams", "redelivered"} {
				if rules.Asked(conversation, fact) && !slices.Contains(rule.Needs, transcript.HTTPHead) {
					t.Errorf("%s asks for %s, and does not say that it needs heads", rule.ID(), fact)
				}
			}
		})
	}
}

// Rules that find something wrong with the text of a message, and with nothing that is left of
// it when it is written again, need the bytes.
func TestRulesThatNeedBytes(t *testing.T) {
	t.Parallel()
	const good = `{"jsonrpc":"2.0","id":1,"result":{"inputRequests":{"a":{"method":"roots/list"}},"resultType":"input_required"}}`
	for name, flawed := range map[string]string{
		"cut":              strings.TrimSuffix(good, "}"),
		"with more":        good + ` {}`,
		"a mark":           "\ufeff" + good,
		"a name twice":     strings.Replace(good, `"id":1`, `"id":1,"id":1`, 1),
		"a key twice":      strings.Replace(good, `{"a":`, `{"a":{},"a":`, 1),
		"of no character":  strings.Replace(good, `"a"`, "\"a\xff\"", 1),
		"a line of no use": "Server started",
	} {
		for _, rule := range suites.Rules() {
			if slices.Contains(rule.Needs, transcript.RawBytes) || slices.Contains(rule.Needs, transcript.HTTPHead) {
				continue
			}
			whole := map[string]int{}
			everywhere(t, rule, protocol.Stdio, "s stdio "+good, func(c *rules.Conversation, found []rules.Finding) {
				for _, one := range found {
					whole[c.Name()] += len(one.Breaks)
				}
			})
			everywhere(t, rule, protocol.Stdio, "s stdio "+flawed, func(c *rules.Conversation, found []rules.Finding) {
				for _, one := range found {
					if len(one.Breaks) > whole[c.Name()] {
						t.Errorf("%s: %s is broken by text that is %s: it needs bytes", c.Name(), rule.ID(), name)
					}
				}
			})
		}
	}
}

// What the others need is a list: who adds a rule of this kind finds it here.
func TestRulesThatNeedMore(t *testing.T) {
	t.Parallel()
	needing := map[transcript.Lack][]string{}
	for _, rule := range suites.Rules() {
		for _, lack := range rule.Needs {
			needing[lack] = append(needing[lack], rule.ID())
		}
	}
	delete(needing, transcript.HTTPHead)
	want := map[transcript.Lack][]string{
		transcript.RawBytes: {
			"base.json.well-formed", "base.json.no-mark", "base.json.names-unique", "mrtr.requests.keys",
			"transports.utf8", "transports.stdio.newlines", "transports.stdio.stdout",
		},
		transcript.Encoding: {"transports.utf8"},
		transcript.Whole: {
			"base.notifications.unanswered", "base.requests.answered-once", "base.requests.id-unused",
			"lifecycle.initialization.first", "lifecycle.requests.before-answer", "lifecycle.requests.before-initialized",
			"logging.level.respected", "subscriptions.acknowledged.first", "tasks.list.undeclared", "tasks.related.request",
			"transports.http.request.content-type", "transports.http.stream.primed", "transports.http.version.negotiated",
			"transports.http.version.sent",
		},
		transcript.Times: {
			"ping.not-excessive", "progress.not-flooding", "tasks.poll-interval.respected",
			"tasks-extension.poll.interval-respected",
		},
	}
	for _, all := range []map[transcript.Lack][]string{needing, want} {
		for _, ids := range all {
			slices.Sort(ids)
		}
	}
	if difference := cmp.Diff(want, needing); difference != "" {
		t.Error(difference)
	}
}
