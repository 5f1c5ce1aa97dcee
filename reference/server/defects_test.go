package server_test

import (
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/mcpconform/mcpconform/reference/server"
)

func TestSessionsAreCounted(t *testing.T) {
	t.Parallel()
	good := dialSession(t, server.Revision20251125, server.Options{})
	if strings.HasPrefix(good.session, "session-") {
		t.Errorf("a good server has the session id %q", good.session)
	}
	bad := dialSession(t, server.Revision20251125, server.Options{Defect: "counts-sessions"})
	if bad.session != "session-1001" {
		t.Errorf("the first session has the id %q", bad.session)
	}
}

func TestSessionsAreForgotten(t *testing.T) {
	t.Parallel()
	for defect, status := range map[string]int{"": http.StatusOK, "forgets-sessions": http.StatusNotFound} {
		session := dialSession(t, server.Revision20251125, server.Options{Defect: defect})
		session.status(status, http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	}
}

func TestAddressesToListenAt(t *testing.T) {
	t.Parallel()
	for defect, everywhere := range map[string]bool{"": false, "listens-on-all-addresses": true} {
		listener, err := newServer(t, server.Options{Defect: defect}).Listen(t.Context(), "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		if address := listener.Addr().(*net.TCPAddr); address.IP.IsUnspecified() != everywhere {
			t.Errorf("with the defect %q it listens at %s", defect, address)
		}
		_ = listener.Close()
	}
}

func TestUnknownDefect(t *testing.T) {
	t.Parallel()
	if _, err := server.New(server.Options{Defect: "forgets-session"}); err == nil || !strings.Contains(err.Error(), "forgets-sessions") {
		t.Errorf("found %v", err)
	}
}

// spoiled connects to a server of the stateless era that has a defect.
func spoiled(t *testing.T, dial func(*testing.T, *server.Server, string) wire, defect string) *client {
	t.Helper()
	c := &client{t: t, revision: server.Revision20260728, wire: dial(t, newServer(t, server.Options{Defect: defect}), server.Revision20260728),
		asked: map[string]string{}, answers: map[string]func(object) (object, object){}, capabilities: withTasks()}
	t.Cleanup(c.wire.close)
	return c.agrees()
}

func TestWhatIsRememberedOfEarlierRequests(t *testing.T) {
	t.Parallel()
	question := object{"name": "test_input_required_result_elicitation"}
	c := spoiled(t, dialStdio, "remembers-capabilities")
	c.tool("greet", nil)
	c.capabilities = object{}
	if result := c.once("tools/call", question); result["resultType"] != "input_required" {
		t.Errorf("remembers-capabilities: %v", result)
	}

	c = spoiled(t, dialStdio, "remembers-fields")
	missing := object{"_meta": object{"io.modelcontextprotocol/clientCapabilities": nil}}
	c.fails(-32602, "tools/list", missing)
	c.call("tools/list", nil)
	c.call("tools/list", missing)

	c = spoiled(t, dialHTTP, "remembers-log-level")
	c.call("tools/call", object{"name": "test_logging_tool", "_meta": object{"io.modelcontextprotocol/logLevel": "info"}})
	c.hears("notifications/message")
	c.tool("test_logging_tool", nil)
	c.hears("notifications/message")
}

func TestCursorsOfAnotherProcess(t *testing.T) {
	t.Parallel()
	one, other := spoiled(t, dialStdio, "ties-cursors-to-processes"), spoiled(t, dialStdio, "ties-cursors-to-processes")
	cursor := one.call("tools/list", nil)["nextCursor"]
	one.call("tools/list", object{"cursor": cursor})
	other.fails(-32602, "tools/list", object{"cursor": cursor})
}

func TestStatesThatAreTrusted(t *testing.T) {
	t.Parallel()
	params := object{"name": "test_input_required_result_request_state"}
	c := spoiled(t, dialStdio, "trusts-states")
	retry := c.retry(params, c.once("tools/call", params))
	retry["requestState"] = "nonsense"
	if got := firstText(c.once("tools/call", retry)); !strings.Contains(got, "state-ok") {
		t.Errorf("trusts-states: %q", got)
	}

	c = spoiled(t, dialStdio, "takes-states-of-others")
	retry = c.retry(params, c.once("tools/call", params))
	retry["name"] = "test_input_required_result_tampered_state"
	if got := firstText(c.once("tools/call", retry)); !strings.Contains(got, "state-ok") {
		t.Errorf("takes-states-of-others: %q", got)
	}
}

func TestSubscriptionsThatAreMixedUp(t *testing.T) {
	t.Parallel()
	for defect, want := range map[string]int{"": 2, "shares-filters": 3, "announces-to-one-only": 1} {
		c := spoiled(t, dialStdio, defect)
		c.listen(object{"promptsListChanged": true})
		c.listen(object{"toolsListChanged": true})
		last, _ := c.listen(object{"toolsListChanged": true})
		c.tool("test_trigger_tool_change", nil)
		if len(c.heard) != want || subscriptionOf(c.heard[want-1]) != strconv.Itoa(last) {
			t.Errorf("%q: heard %v", defect, c.heard)
		}
	}
}

func TestTaskThatIsNotYetThere(t *testing.T) {
	t.Parallel()
	c := spoiled(t, dialHTTP, "tells-of-tasks-too-early")
	c.fails(-32602, "tasks/get", object{"taskId": c.runTask("slow_compute", nil)})
}

func TestCallThatGoesOnWithoutItsClient(t *testing.T) {
	t.Parallel()
	c := spoiled(t, dialHTTP, "sends-on-after-disconnect")
	id := c.start("tools/call", object{"name": "test_slow", "arguments": object{"seconds": 0.2}, "_meta": object{"progressToken": "given up"}})
	c.hears("notifications/progress")
	c.cancel(id)
	c.tool("test_slow", object{"seconds": 0.3})
	if len(c.heard) == 0 {
		t.Error("heard nothing")
	}
}
