package base

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
	. "github.com/mcpconform/mcpconform/internal/rules/rulestest"
)

func TestIconSources(t *testing.T) {
	t.Parallel()
	good := []string{
		"https://example.com/icon.png", "HTTP://example.com/icon.svg", "data:image/png;base64,iVBORw0KGgo=",
		"data:image/png;base64,iVBORw0KGgo", "data:;base64,iVBORw0KGgo%3D",
	}
	for _, source := range good {
		if !isIconSource(source) {
			t.Errorf("%q is a source for an icon", source)
		}
	}
	bad := []string{"", "icon.png", "https:///icon.png", "file:///icon.png", "javascript:alert(1)", "data:image/svg+xml,<svg/>", "data:image/png;base64,***"}
	for _, source := range bad {
		if isIconSource(source) {
			t.Errorf("%q is no source for an icon", source)
		}
	}
}

func TestTheSchemaLeavesTheirPlacesToStatelessRules(t *testing.T) {
	t.Parallel()
	list := AsksPlain("1", "tools/list", "")
	for name, script := range map[string]string{
		"no type and no hints": list + Gives("1", `,"tools":[]`),
		"wrong hints":          list + Gives("1", Final+`,"ttlMs":"1","cacheScope":1,"tools":[]`),
		"data of an error":     list + Refuses("1", "-32021", ""),
		"data of another":      list + Refuses("1", "-32022", `{"supported":"2026-07-28"}`),
		"another revision":     strings.ReplaceAll(list, "2026-07-28", "DRAFT-2027-v1") + `s {"jsonrpc":"2.0","id":1,"result":{}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if found, _ := BrokenAndSeen(schemaRules(), Converse(t, StatelessCell, script)); len(found) > 0 {
				t.Errorf("the schema finds %v as well", found)
			}
		})
	}
}

func TestTraceContextFormats(t *testing.T) {
	t.Parallel()
	const ids = "0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7"
	for _, test := range []struct {
		holds func(string) bool
		text  string
		good  bool
	}{
		{isTraceParent, "00-" + ids + "-01", true},
		{isTraceParent, "cc-" + ids + "-01-what-comes-later", true},
		{isTraceParent, "00-" + ids + "-01-more", false},
		{isTraceParent, "ff-" + ids + "-01", false},
		{isTraceParent, "00-" + ids, false},
		{isTraceParent, "00-0AF7651916CD43DD8448EB211C80319C-00f067aa0ba902b7-01", false},
		{isTraceParent, "00-00000000000000000000000000000000-00f067aa0ba902b7-01", false},
		{isTraceParent, "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01", false},
		{isTraceState, "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE", true},
		{isTraceState, "fw529a3039@dt=FfP_j20=", false},
		{isTraceState, "a=1, ,b=2,", true},
		{isTraceState, "a=1,a=2", false},
		{isTraceState, "A=1", false},
		{isTraceState, "a", false},
		{isBaggage, "userId=alice,serverNode=DF%2028,isProduction=false", true},
		{isBaggage, "key1=value1;property1;property2, key2 = value2, key3=value3; propertyKey=propertyValue", true},
		{isBaggage, "k=", true},
		{isBaggage, "", false},
		{isBaggage, "userId", false},
		{isBaggage, "user id=alice", false},
		{isBaggage, `k="quoted"`, false},
	} {
		if test.holds(test.text) != test.good {
			t.Errorf("%q: taken for good: %v", test.text, !test.good)
		}
	}
}

func TestRefusalsWithoutID(t *testing.T) {
	t.Parallel()
	const text = "sends responses only with the id of a request that it received"
	for name, test := range map[string]struct {
		request string
		broken  []string
	}{
		"of what was read":            {`{"jsonrpc":"2.0","id":2,"method":"ping"}`, []string{text}},
		"of a method that is no text": {`{"jsonrpc":"2.0","id":2,"method":7}`, nil},
		"of params that are a list":   {`{"jsonrpc":"2.0","id":2,"method":"ping","params":[]}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conversation := Carry(t, "2025-11-25", "> post-1 POST\nc post-1 "+test.request+`
				< post-1 400 Content-Type:application/json
				s post-1 {"jsonrpc":"2.0","id":null,"error":{"code":-32602,"message":"?"}}
				. post-1`)
			judging := slices.DeleteFunc(Rules(), func(rule rules.Rule) bool { return rule.Text != text })
			if diff := cmp.Diff(test.broken, BrokenTexts(judging, conversation)); diff != "" {
				t.Errorf("broken (-wanted +found):\n%s", diff)
			}
		})
	}
}

// Who answers a notification breaks a rule, unless what came may be refused without an id.
func TestAnsweredNotifications(t *testing.T) {
	t.Parallel()
	const text, notification = "sends no response to a notification", `{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`
	for name, test := range map[string]struct {
		sent   string
		broken []string
	}{
		"a notification":           {"c " + notification, []string{text}},
		"notifications in a batch": {"c [" + notification + "," + notification + "]", []string{text}},
		"a batch in a batch":       {"c " + notification + "\nc [[" + notification + "]]", nil},
		"an empty batch":           {"c " + notification + "\nc []", nil},
		"no message":               {"c " + notification + "\nc 7", nil},
		"a request":                {"c " + notification + "\n" + `c {"jsonrpc":"2.0","id":2,"method":"ping"}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cell := rules.Cell{Role: protocol.ServerRole, Revision: "2025-03-26", Transport: protocol.Stdio}
			conversation := Converse(t, cell, test.sent+"\n"+`s {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"?"}}`)
			judging := slices.DeleteFunc(Rules(), func(rule rules.Rule) bool { return rule.Text != text })
			if diff := cmp.Diff(test.broken, BrokenTexts(judging, conversation)); diff != "" {
				t.Errorf("broken (-wanted +found):\n%s", diff)
			}
		})
	}
}
