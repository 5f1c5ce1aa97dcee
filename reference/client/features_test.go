package client_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpconform/mcpconform/reference/client"
)

// A list that was asked for is fetched anew when it has changed; another is not.
func TestListsAreFetchedAnew(t *testing.T) {
	t.Parallel()
	s, options := talking(t, func(m object, say func(any)) error {
		if answer, opens := hello(m, client.Revision20251125); opens {
			say(answer)
		}
		switch m["method"] {
		case "tools/list":
			say(to(m, object{"tools": []object{}}))
		case "ping":
			say(notice("notifications/tools/list_changed", nil))
			say(notice("notifications/prompts/list_changed", nil))
			say(to(m, object{}))
		}
		return nil
	})
	options.Revision = client.Revision20251125
	run(t, options, `[{"do":"connect"},{"do":"list","of":"tools"},{"do":"ping"},{"do":"close"}]`)
	if len(s.of("tools/list")) != 2 || len(s.of("prompts/list")) > 0 {
		t.Errorf("found %v", s.methods())
	}
}

// However often a list changes, it is fetched only once at a time.
func TestFloodOfChanges(t *testing.T) {
	t.Parallel()
	const flood = 500
	s, options := talking(t, func(m object, say func(any)) error {
		if answer, opens := hello(m, client.Revision20251125); opens {
			say(answer)
		}
		switch m["method"] {
		case "tools/list":
			go say(to(m, object{"tools": []object{}}))
		case "ping":
			for range flood {
				say(notice("notifications/tools/list_changed", nil))
			}
			say(to(m, object{}))
		}
		return nil
	})
	options.Revision = client.Revision20251125
	run(t, options, `[{"do":"connect"},{"do":"list","of":"tools"},{"do":"ping"},{"do":"close"}]`)
	if found := len(s.of("tools/list")); found < 2 || found > flood {
		t.Errorf("it was listed %d times", found)
	}
}

func TestOutputIsChecked(t *testing.T) {
	t.Parallel()
	const tuple = `{"type":"object","properties":{"p":{"prefixItems":[{"type":"number"},{"type":"string"}],"items":false}}}`
	var fetched atomic.Int64
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fetched.Add(1)
		_, _ = w.Write([]byte(`{"type":"object"}`))
	}))
	t.Cleanup(site.Close)
	for name, one := range map[string]struct {
		schema string
		result object
		defect string
		fails  string
		visits int64
	}{
		"conforms":   {schema: `{"type":"object","required":["a"]}`, result: object{"structuredContent": object{"a": 1}}},
		"does not":   {schema: `{"type":"object","required":["a"]}`, result: object{"structuredContent": object{}}, fails: "missing property 'a'"},
		"absent":     {schema: `{"type":"object"}`, result: object{}, fails: "no structuredContent"},
		"an error":   {schema: `{"type":"object"}`, result: object{"isError": true}},
		"dialect":    {schema: `{"$schema":"https://example.com/other","type":"object"}`, result: object{"structuredContent": object{}}, fails: "dialect"},
		"on the net": {schema: `{"$ref":"` + site.URL + `"}`, result: object{"structuredContent": object{}}, fails: "not fetched"},
		"fetched":    {schema: `{"$ref":"` + site.URL + `"}`, result: object{"structuredContent": object{}}, defect: "fetches-network-refs", fails: "not fetched", visits: 1},
		"tuple":      {schema: tuple, result: object{"structuredContent": object{"p": []any{1, "x"}}}},
	} {
		_, options := talking(t, func(m object, say func(any)) error {
			if answer, opens := hello(m, client.Revision20251125); opens {
				say(answer)
			}
			switch m["method"] {
			case "tools/list":
				say(to(m, object{"tools": []object{{"name": "t", "inputSchema": object{"type": "object"}, "outputSchema": raw(one.schema)}}}))
			case "tools/call":
				one.result["content"] = []object{}
				say(to(m, one.result))
			}
			return nil
		})
		options.Revision, options.Defect = client.Revision20251125, one.defect
		before := fetched.Load()
		outcome := run(t, options, `[{"do":"connect"},{"do":"call","tool":"t"},{"do":"close"}]`)[1]
		if one.fails != "" {
			outcome.failed(t, one.fails)
		} else {
			outcome.done(t)
		}
		if found := fetched.Load() - before; found != one.visits {
			t.Errorf("%s: the schema was fetched %d times", name, found)
		}
	}
}

// What the server does not declare is not asked for.
func TestUndeclaredFeatures(t *testing.T) {
	t.Parallel()
	const completing = 9
	for _, revision := range client.Revisions() {
		s, options := talking(t, func(m object, say func(any)) error {
			answer, opens := hello(m, revision)
			if !opens {
				return nil
			}
			if result, isResult := answer["result"].(object); isResult {
				result["capabilities"] = object{"tasks": object{}}
			}
			say(answer)
			return nil
		})
		options.Revision = revision
		if revision == client.Revision20241105 {
			options.Timeouts.Request = 50 * time.Millisecond // the server answers initialize only
		}
		outcomes := run(t, options, `[{"do":"connect"},
			{"do":"list","of":"tools"},{"do":"list","of":"resources"},{"do":"list","of":"templates"},{"do":"list","of":"prompts"},{"do":"list","of":"tasks"},
			{"do":"call","tool":"t"},{"do":"read","uri":"test://x"},{"do":"get","prompt":"p"},{"do":"complete","ref":{},"argument":{}},
			{"do":"subscribe","uri":"test://x"},{"do":"set-level","level":"info"},{"do":"cancel-task","task":"t"},{"do":"close"}]`)
		for step := 1; step <= 12; step++ {
			if step == completing && revision == client.Revision20241105 {
				continue // which has no capability for it
			}
			if found := outcomes[step]; found.Outcome != "failed" || !strings.Contains(found.Error, "not declared") && !strings.Contains(found.Error, revision) {
				t.Errorf("%s: step %d: %v", revision, step, found)
			}
		}
		for _, method := range s.methods() {
			if !slices.Contains([]string{"initialize", "server/discover", "notifications/initialized"}, method) &&
				(revision != client.Revision20241105 || method != "completion/complete" && method != "notifications/cancelled") {
				t.Errorf("%s: the client has sent %s", revision, method)
			}
		}
	}
}

// A task is looked at no more often than the server suggests, and is cancelled by
// a request of its own.
func TestTasksOfServers(t *testing.T) {
	t.Parallel()
	const interval = 30
	for defect, waits := range map[string]bool{"": true, "polls-without-pause": false} {
		var before time.Time
		shortest := time.Hour
		looks := 0
		s, options := talking(t, func(m object, say func(any)) error {
			if answer, opens := hello(m, client.Revision20251125); opens {
				say(answer)
			}
			task := object{
				"taskId": "t-1", "status": "working", "ttl": nil, "pollInterval": interval,
				"createdAt": "2025-11-25T00:00:00Z", "lastUpdatedAt": "2025-11-25T00:00:00Z",
			}
			switch m["method"] {
			case "tools/list":
				say(to(m, object{"tools": []object{{"name": "t", "inputSchema": object{}, "execution": object{"taskSupport": "required"}}}}))
			case "tools/call":
				before = time.Now()
				say(to(m, object{"task": task}))
			case "tasks/get":
				shortest, before = min(shortest, time.Since(before)), time.Now()
				if looks++; looks == 3 {
					task["status"] = "input_required"
				}
				say(to(m, task))
			case "tasks/result":
				say(to(m, text("the result")))
			case "tasks/cancel":
				say(to(m, task))
			}
			return nil
		})
		options.Revision, options.Defect = client.Revision20251125, defect
		outcomes := run(t, options, `[{"do":"connect"},{"do":"call","tool":"t"},{"do":"call","tool":"t","as":"c"},{"do":"cancel","what":"c"},{"do":"close"}]`)
		outcomes[1].says(t, "the result")
		outcomes[2].failed(t, "cancelled by the user")
		if waited := shortest >= interval*time.Millisecond; waits && !waited || !waits && looks < 3 {
			t.Errorf("%q: it looked %d times, once after %s", defect, looks, shortest)
		}
		if len(s.of("tasks/cancel")) != 1 || len(s.of("notifications/cancelled")) > 0 {
			t.Errorf("%q: found %v", defect, s.methods())
		}
	}
}

func TestCancellationIsTold(t *testing.T) {
	t.Parallel()
	type key struct{ revision, defect string }
	wants := map[key]int{}
	for _, revision := range client.Revisions() {
		wants[key{revision, ""}], wants[key{revision, "never-cancels"}] = 2, 0
	}
	for of, want := range wants {
		t.Run(of.revision+"/"+of.defect, func(t *testing.T) {
			t.Parallel()
			revision, defect := of.revision, of.defect
			s, options := talking(t, func(m object, say func(any)) error {
				if answer, opens := hello(m, revision); opens {
					say(answer)
				}
				if m["method"] == "tools/list" {
					say(to(m, object{"tools": []object{}}))
				}
				if m["method"] == "notifications/cancelled" { // and the answer after all
					say(object{"jsonrpc": "2.0", "id": param(m, "requestId"), "result": text("late")})
				}
				return nil
			})
			options.Revision, options.Defect = revision, defect
			outcomes := run(t, options, `[{"do":"connect"},{"do":"call","tool":"t","as":"c"},{"do":"cancel","what":"c"},
				{"do":"call","tool":"t","timeout":1000},{"do":"list","of":"tools"},{"do":"close"}]`)
			outcomes[1].failed(t, "cancelled by the user")
			outcomes[3].failed(t, "no answer came")
			outcomes[4].done(t)
			cancelled := s.of("notifications/cancelled")
			if len(cancelled) != want {
				t.Fatalf("%q at %s: found %v", defect, revision, s.methods())
			}
			for i, call := range s.of("tools/call") {
				if want > 0 && (param(cancelled[i], "requestId") != call["id"] || param(cancelled[i], "reason") == nil) {
					t.Errorf("%v was cancelled by %v", call, cancelled[i])
				}
			}
		})
	}
}

func TestAnswersOverHTTP(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]struct {
		serve func(v visit)
		fails string
	}{
		"json": {func(v visit) { v.answer(object{"prompts": []object{}}) }, ""},
		"stream": {func(v visit) {
			v.stream(": hello\n\nid: 1\n\nevent: message\nretry: 5\n" + event(to(v.message, object{"prompts": []object{}})))
		}, ""},
		"other case": {func(v visit) {
			v.Header()["cOnTeNt-tYpE"] = []string{"APPLICATION/JSON; charset=utf-8"}
			_, _ = v.Write(encode(to(v.message, object{"prompts": []object{}})))
		}, ""},
		"other id": {func(v visit) { v.message["id"] = 99; v.answer(object{"prompts": []object{}}) }, "does not answer"},
		"both": {func(v visit) {
			m := to(v.message, object{})
			m["error"] = object{"code": 1, "message": "x"}
			v.stream(event(m))
		}, "both"},
		"no object":    {func(v visit) { v.answer(7) }, "not an object"},
		"no list":      {func(v visit) { v.answer(object{"prompts": 7}) }, "no array"},
		"accepted":     {func(v visit) { v.WriteHeader(http.StatusAccepted) }, "202"},
		"web page":     {func(v visit) { v.Header().Set("Content-Type", "text/html"); _, _ = v.Write([]byte("<p>")) }, "text/html"},
		"redirected":   {func(v visit) { http.Redirect(v.ResponseWriter, v.Request, "/elsewhere", http.StatusTemporaryRedirect) }, "307"},
		"error":        {func(v visit) { v.fail(http.StatusBadRequest, object{"code": -32602, "message": "no"}) }, "-32602"},
		"unauthorized": {func(v visit) { v.WriteHeader(http.StatusUnauthorized) }, "401"},
		"broken":       {func(v visit) { v.stream(": hello\n\n", "data: {") }, "without an answer"},
		"too long":     {func(v visit) { v.stream("data: " + strings.Repeat("x", 17<<20) + "\n\n") }, "longer"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := scripted(t, func(v visit) {
				if !begins(v, "s-1") {
					one.serve(v)
				}
			})
			outcome := run(t, in(s), `[{"do":"connect"},{"do":"list","of":"prompts"},{"do":"close"}]`)[1]
			if one.fails == "" {
				outcome.done(t)
			} else {
				outcome.failed(t, one.fails)
			}
		})
	}
}

func TestProgressHasTokens(t *testing.T) {
	t.Parallel()
	s, options := talking(t, func(m object, say func(any)) error {
		if answer, opens := hello(m, client.Revision20250618); opens {
			say(answer)
		}
		switch m["method"] {
		case "tools/list":
			say(to(m, object{"tools": []object{}}))
		case "tools/call":
			say(notice("notifications/progress", object{"progressToken": param(m, "_meta", "progressToken"), "progress": 1}))
			say(to(m, text("done")))
		}
		return nil
	})
	options.Revision = client.Revision20250618
	run(t, options, `[{"do":"connect"},{"do":"call","tool":"t","progress":true},{"do":"call","tool":"t","progress":true},{"do":"call","tool":"t"},
		{"do":"wait-for","method":"notifications/progress"},{"do":"close"}]`)
	calls := s.of("tools/call")
	one, two, none := param(calls[0], "_meta", "progressToken"), param(calls[1], "_meta", "progressToken"), param(calls[2], "_meta")
	if one == nil || one == two || none != nil {
		t.Errorf("the tokens are %v, %v and %v", one, two, none)
	}
}
