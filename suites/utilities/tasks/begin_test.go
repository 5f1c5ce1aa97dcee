package tasks

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/internal/session"
)

func TestInterval(t *testing.T) {
	t.Parallel()
	for given, wanted := range map[string]time.Duration{
		`{"pollInterval":20}`:    20 * time.Millisecond,
		`{"pollInterval":0.5}`:   500 * time.Microsecond,
		`{"pollInterval":60000}`: latest,
		`{"pollInterval":-1}`:    latest,
		`{"pollInterval":"20"}`:  latest,
		`{}`:                     latest,
	} {
		if got := interval(decoded(t, given)); got != wanted {
			t.Errorf("%s: %s, not %s", given, got, wanted)
		}
	}
}

func TestLessThan(t *testing.T) {
	t.Parallel()
	for given, wanted := range map[string]bool{
		`{"ttl":3600000}`: true, `{"ttl":1e3}`: true, `{"ttl":315360000000}`: false, `{"ttl":null}`: false, `{"ttl":"1"}`: false, `{}`: false,
	} {
		if got, err := lessThan(tenYears).Match(decoded(t, given)["ttl"]); got != wanted || err != nil {
			t.Errorf("%s: %t, %v", given, got, err)
		}
	}
}

// A result without content is the same again without content.
func TestHaveContentOf(t *testing.T) {
	t.Parallel()
	const none, one, other = `{}`, `{"content":[{"type":"text","text":"1"}]}`, `{"content":[{"type":"text","text":"2"}]}`
	for _, c := range []struct {
		earlier, now string
		wanted       bool
	}{{one, one, true}, {one, other, false}, {one, none, false}, {none, none, true}, {none, one, false}} {
		raw := []byte(`{"jsonrpc":"2.0","id":1,"result":` + c.now + `}`)
		reply := session.Reply{Received: scripted.Received{Message: jsonrpc.Parse(raw)}}
		if got, err := haveContentOf(decoded(t, c.earlier)).Match(reply); got != c.wanted || err != nil {
			t.Errorf("%s after %s: %t, %v", c.now, c.earlier, got, err)
		}
	}
}

func TestIncludeTask(t *testing.T) {
	t.Parallel()
	tasks := []map[string]any{{"taskId": "a"}, {"taskId": "b"}}
	for id, wanted := range map[string]bool{"a": true, "b": true, "c": false, "": false} {
		if got, err := includeTask(id).Match(tasks); got != wanted || err != nil {
			t.Errorf("%q: %t, %v", id, got, err)
		}
	}
}

func TestIDOf(t *testing.T) {
	t.Parallel()
	for _, nothing := range []any{nil, 7, "a", map[string]any{}, map[string]any{"taskId": 7}} {
		if got := idOf(nothing); got != "" {
			t.Errorf("%v: %q", nothing, got)
		}
	}
	if got := idOf(map[string]any{"taskId": "a"}); got != "a" {
		t.Errorf("%q", got)
	}
}

// The scripted client's task tells its statuses one after the other and is
// over when its result was fetched.
func TestClientTask(t *testing.T) {
	t.Parallel()
	about := check.Object{"taskId": "a"}
	status := func(task *clientTask) any { return task.get(about)["status"] }
	task := &clientTask{statuses: []string{"working", "completed"}, result: map[string]any{"action": "accept"}}
	if first, second, third := status(task), status(task), status(task); first != "working" || second != "completed" || third != "completed" || !task.followed() {
		t.Errorf("%s, %s, %s", first, second, third)
	}
	early := &clientTask{statuses: []string{"input_required"}, result: map[string]any{"action": "accept"}}
	if early.fetched() || status(early) != "input_required" || early.followed() {
		t.Error("over before it was fetched")
	}
	if result := early.fetch(about); result["action"] != "accept" || result["_meta"] == nil {
		t.Errorf("%v", result)
	}
	if !early.fetched() || status(early) != "completed" || !early.followed() {
		t.Error("not over after it was fetched")
	}
}

// Tasks of one client have different ids: what is said of one is nothing about another.
func TestIDsOfClientTasks(t *testing.T) {
	t.Parallel()
	task := &clientTask{statuses: []string{"working"}}
	if listed := task.list(nil)["tasks"].([]any); len(listed) != 0 {
		t.Errorf("before any was made: %v", listed)
	}
	create := task.create(func(check.Object) check.Object { return check.Object{} })
	seen := map[any]bool{}
	for range 3 {
		seen[create(check.Object{"task": check.Object{}})["task"].(check.Object)["taskId"]] = true
	}
	listed := task.list(nil)["tasks"].([]any)
	if len(seen) != 3 || len(listed) != 3 || !seen[listed[0].(check.Object)["taskId"]] {
		t.Errorf("%v; listed: %v", seen, listed)
	}
	if answer := task.cancel(check.Object{"taskId": "a"}); answer["taskId"] != "a" || answer["status"] != "cancelled" {
		t.Errorf("cancelled: %v", answer)
	}
}

func decoded(t *testing.T, text string) map[string]any {
	t.Helper()
	var value map[string]any
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&value); err != nil {
		t.Fatal(err)
	}
	return value
}
