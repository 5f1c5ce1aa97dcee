package server_test

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mcpconform/mcpconform/reference/server"
)

// everything is a client that can do all that there is at its revision.
func everything() object {
	return object{
		"roots":       object{"listChanged": true},
		"sampling":    object{"tools": object{}},
		"elicitation": object{"form": object{}, "url": object{}},
		"tasks": object{"cancel": object{}, "requests": object{
			"sampling":    object{"createMessage": object{}},
			"elicitation": object{"create": object{}},
		}},
	}
}

func TestPublishedSchemasAreAtHand(t *testing.T) {
	if os.Getenv("MCP_SCHEMA_DIR") == "" {
		t.Skip("MCP_SCHEMA_DIR is not set: messages are not checked against the published schemas")
	}
	for _, revision := range server.Revisions() {
		if _, err := definition(os.Getenv("MCP_SCHEMA_DIR"), revision, "EmptyResult"); err != nil {
			t.Error(err)
		}
	}
}

func TestUnknownRevisionIsRefused(t *testing.T) {
	if _, err := server.New(server.Options{Revisions: []string{"1900-01-01"}}); err == nil {
		t.Error("no error")
	}
}

func TestPing(t *testing.T) {
	everywhere(t, func(t *testing.T, connect func(object) *client) {
		if result := connect(object{}).call("ping", nil); len(result) != 0 {
			t.Errorf("result is %v", result)
		}
	})
}

func TestInitializeTwiceIsRefused(t *testing.T) {
	everywhere(t, func(_ *testing.T, connect func(object) *client) {
		c := connect(object{})
		c.fails(-32600, "initialize", object{"protocolVersion": c.revision, "capabilities": object{},
			"clientInfo": object{"name": "test", "version": "1"}})
	})
}

func TestErrors(t *testing.T) {
	everywhere(t, func(t *testing.T, connect func(object) *client) {
		c := connect(object{})
		c.fails(-32601, "no/such/method", nil)
		c.fails(-32602, "tools/call", nil)
		c.fails(-32602, "tools/call", object{"Name": "test_simple_text"})
		c.fails(-32602, "tools/call", object{"name": 1})
		c.fails(-32602, "tools/call", object{"name": "no_such_tool"})
		c.fails(-32602, "tools/call", object{"name": "test_simple_text", "arguments": []int{1}})
		c.fails(-32602, "tools/call", object{"name": "test_simple_text", "_meta": object{"progressToken": object{}}})
		c.fails(-32602, "tools/list", object{"cursor": "nonsense"})
		c.fails(-32602, "tools/list", object{"cursor": 1})
		c.fails(-32602, "resources/read", nil)
		c.fails(-32602, "resources/read", object{"uri": "not a uri"})
		c.fails(-32602, "prompts/get", object{"name": "no_such_prompt"})
		c.fails(-32602, "prompts/get", object{"name": "test_prompt_with_arguments", "arguments": object{"arg1": "a"}})
		c.fails(-32602, "prompts/get", object{"name": "test_prompt_with_arguments", "arguments": object{"arg1": "a", "arg2": 2}})
		c.fails(-32602, "logging/setLevel", object{"level": "loud"})
		c.fails(-32602, "completion/complete", object{"ref": object{"type": "ref/prompt", "name": "no_such_prompt"},
			"argument": object{"name": "a", "value": ""}})
		c.fails(-32602, "completion/complete", object{"ref": object{"type": "ref/resource", "uri": "test://no/{such}"},
			"argument": object{"name": "such", "value": ""}})
		c.fails(-32602, "completion/complete", object{"ref": object{"type": "ref/nothing"},
			"argument": object{"name": "a", "value": ""}})
		for _, method := range []string{"resources/read", "resources/subscribe", "resources/unsubscribe"} {
			failure := c.fails(-32002, method, object{"uri": "test://no-such-resource"})
			if data, _ := failure["data"].(object); data["uri"] != "test://no-such-resource" {
				t.Errorf("%s: data is %v", method, failure["data"])
			}
		}
	})
}

// names lists everything, page by page.
func names(c *client, method, list, key string) (all []string, pages int) {
	c.t.Helper()
	params := object{}
	for {
		result := c.call(method, params)
		pages++
		for _, item := range result[list].([]any) {
			all = append(all, item.(object)[key].(string))
		}
		next, more := result["nextCursor"]
		if !more {
			return all, pages
		}
		params["cursor"] = next
	}
}

func TestListsHavePages(t *testing.T) {
	inBothEras(t, func(t *testing.T, connect func(object) *client) {
		c := connect(object{})
		for method, list := range map[string][2]string{
			"tools/list":               {"tools", "name"},
			"resources/list":           {"resources", "uri"},
			"resources/templates/list": {"resourceTemplates", "uriTemplate"},
			"prompts/list":             {"prompts", "name"},
		} {
			all, pages := names(c, method, list[0], list[1])
			if pages < 2 {
				t.Errorf("%s has %d pages", method, pages)
			}
			if slices.Sort(all); len(slices.Compact(slices.Clone(all))) != len(all) {
				t.Errorf("%s repeats itself: %v", method, all)
			}
		}
		first := c.call("tools/list", nil)
		again := c.call("tools/list", nil)
		if first["nextCursor"] != again["nextCursor"] {
			t.Error("cursors are not stable")
		}
		c.fails(-32602, "prompts/list", object{"cursor": first["nextCursor"]}) // of another list
	})
}

func TestEveryToolThatNeedsNothingAnswers(t *testing.T) {
	everywhere(t, func(t *testing.T, connect func(object) *client) {
		c := connect(object{}) // declares nothing, so that it must not be asked anything
		tools, _ := names(c, "tools/list", "tools", "name")
		for _, name := range tools {
			if name == "test_task_required" || name == "test_slow" || name == "test_ping" {
				continue
			}
			m := c.response(c.start("tools/call", object{"name": name, "arguments": object{}}))
			failure, _ := m["error"].(object)
			if failure != nil && (c.revision != server.Revision20250618 || fmt.Sprint(failure["code"]) != "-32602") {
				t.Errorf("%s: %v", name, failure)
			}
		}
	})
}

func TestContent(t *testing.T) {
	inBothEras(t, func(t *testing.T, connect func(object) *client) {
		c := connect(object{})
		for name, types := range map[string]string{
			"test_simple_text":            "text",
			"test_image_content":          "image",
			"test_audio_content":          "audio",
			"test_embedded_resource":      "resource",
			"test_resource_link":          "resource_link",
			"test_multiple_content_types": "text image resource",
			"test_structured_content":     "text",
		} {
			var got []string
			result := c.tool(name, nil)
			for _, block := range result["content"].([]any) {
				got = append(got, block.(object)["type"].(string))
			}
			if strings.Join(got, " ") != types || result["isError"] != nil {
				t.Errorf("%s: %v", name, result)
			}
		}
		result := c.tool("test_structured_content", object{"location": "<Rome> & \u2028"})
		data, _ := result["structuredContent"].(object)
		if data["location"] != "<Rome> & \u2028" || !strings.Contains(firstText(result), `"humidity":65`) {
			t.Errorf("structured: %v", result)
		}
		if result := c.tool("test_error_handling", nil); result["isError"] != true {
			t.Errorf("error: %v", result)
		}
	})
}

func TestInvalidArguments(t *testing.T) {
	inBothEras(t, func(t *testing.T, connect func(object) *client) {
		c := connect(object{})
		for _, arguments := range []object{{}, {"word": 1, "times": 1}, {"word": "a", "times": 0}, {"word": "a", "times": 1.5},
			{"word": "", "times": 1}, {"word": "a", "times": 1, "more": 1}} {
			if c.revision < server.Revision20251125 {
				c.fails(-32602, "tools/call", object{"name": "test_input_validation", "arguments": arguments})
			} else if result := c.tool("test_input_validation", arguments); result["isError"] != true {
				t.Errorf("%v: %v", arguments, result)
			}
		}
		if result := c.tool("test_input_validation", object{"word": "a", "times": 3}); len(result["content"].([]any)) != 3 {
			t.Errorf("%v", result)
		}
	})
}

func TestSchemaVocabulary(t *testing.T) {
	at(t, server.Revision20251125, func(t *testing.T, connect func(object) *client) {
		c := connect(object{})
		for _, accepted := range []object{{"email": "a"}, {"contactMethod": "phone", "phone": "1"}, {"email": "a", "address": object{"city": "b"}}} {
			if result := c.tool("json_schema_2020_12_tool", accepted); result["isError"] != nil {
				t.Errorf("%v: %v", accepted, result)
			}
		}
		for _, refused := range []object{{}, {"phone": "1"}, {"contactMethod": "phone", "email": "a"}, {"contactMethod": "fax", "email": "a"},
			{"email": "a", "address": object{"city": 1}}, {"email": "a", "other": 1}} {
			if result := c.tool("json_schema_2020_12_tool", refused); result["isError"] != true {
				t.Errorf("%v: %v", refused, result)
			}
		}
	})
}

func TestLogging(t *testing.T) {
	everywhere(t, func(t *testing.T, connect func(object) *client) {
		c := connect(object{})
		levels := func() (levels []any) {
			c.heard = nil
			c.tool("test_log_levels", nil)
			for _, m := range c.heard {
				levels = append(levels, m["params"].(object)["level"])
			}
			return levels
		}
		if got := levels(); len(got) != 7 || got[0] != "info" {
			t.Errorf("at the start: %v", got)
		}
		c.call("logging/setLevel", object{"level": "critical"})
		if got := levels(); !slices.Equal(got, []any{"critical", "alert", "emergency"}) {
			t.Errorf("from critical: %v", got)
		}
		c.call("logging/setLevel", object{"level": "debug"})
		if got := levels(); len(got) != 8 {
			t.Errorf("from debug: %v", got)
		}
	})
}

func TestProgress(t *testing.T) {
	inBothEras(t, func(t *testing.T, connect func(object) *client) {
		c := connect(object{})
		for token, written := range map[any]string{`a"b`: `"a\"b"`, 7: "7"} {
			c.heard = nil
			result := c.call("tools/call", object{"name": "test_tool_with_progress", "_meta": object{"progressToken": token}})
			var got []string
			for _, m := range c.heard {
				params := m["params"].(object)
				got = append(got, fmt.Sprint(params["progressToken"], " ", params["progress"]))
			}
			want := []string{fmt.Sprint(token, " 0"), fmt.Sprint(token, " 50"), fmt.Sprint(token, " 100")}
			if !slices.Equal(got, want) || firstText(result) != written {
				t.Errorf("%v: %v %v", token, got, result)
			}
		}
		c.heard = nil
		if c.tool("test_tool_with_progress", nil); len(c.heard) != 0 {
			t.Errorf("without token: %v", c.methods())
		}
	})
}

func TestCancellation(t *testing.T) {
	everywhere(t, func(t *testing.T, connect func(object) *client) {
		c := connect(object{})
		c.notify("notifications/cancelled", object{"requestId": 12345})
		c.notify("notifications/cancelled", object{"requestId": object{}})
		c.notify("notifications/cancelled", nil)
		id := c.start("tools/call", object{"name": "test_slow", "arguments": object{"seconds": 10}})
		c.notify("notifications/cancelled", object{"requestId": id, "reason": "a test"})
		for barrier := c.start("tools/call", object{"name": "test_tool_with_progress"}); ; {
			m := c.next()
			if fmt.Sprint(m["id"]) == strconv.Itoa(id) {
				t.Fatalf("the cancelled request is answered: %v", m)
			}
			if fmt.Sprint(m["id"]) == strconv.Itoa(barrier) {
				return
			}
		}
	})
}

func TestCancellationReachesTheQuestion(t *testing.T) {
	everywhere(t, func(t *testing.T, connect func(object) *client) {
		c := connect(everything())
		c.answers["sampling/createMessage"] = nil
		id := c.start("tools/call", object{"name": "test_sampling", "arguments": object{"prompt": "hello"}})
		asked := c.hears("sampling/createMessage")
		c.notify("notifications/cancelled", object{"requestId": id})
		cancelled := c.hears("notifications/cancelled")
		if got := cancelled["params"].(object)["requestId"]; got != asked["id"] {
			t.Errorf("cancelled %v, not %v", got, asked["id"])
		}
	})
}

func TestResources(t *testing.T) {
	everywhere(t, func(t *testing.T, connect func(object) *client) {
		c := connect(object{})
		read := func(uri string) object {
			contents := c.call("resources/read", object{"uri": uri})["contents"].([]any)
			return contents[0].(object)
		}
		if got := read("test://static-text"); got["uri"] != "test://static-text" || got["text"] == "" || got["mimeType"] != "text/plain" {
			t.Errorf("text: %v", got)
		}
		if got := read("test://static-binary"); got["blob"] == nil || got["text"] != nil {
			t.Errorf("binary: %v", got)
		}
		if got := read("test://empty"); got["text"] != "" {
			t.Errorf("empty: %v", got)
		}
		if got := read("test://template/a%20b/data"); !strings.Contains(got["text"].(string), `"id":"a b"`) {
			t.Errorf("template: %v", got)
		}
		if got := read("test://greeting/French/Am%C3%A9lie"); got["text"] != "Bonjour, Amélie!" {
			t.Errorf("two variables: %v", got)
		}
		for _, uri := range []string{"test://template//data", "test://template/a/b/data", "test://template/a/data/"} {
			c.fails(-32002, "resources/read", object{"uri": uri})
		}

		before := read("test://watched-resource")["text"]
		c.tool("test_touch_resource", nil) // without a subscription: no notification
		c.call("resources/subscribe", object{"uri": "test://watched-resource"})
		c.tool("test_touch_resource", nil)
		if got := c.hears("notifications/resources/updated"); got["params"].(object)["uri"] != "test://watched-resource" {
			t.Errorf("updated: %v", got)
		}
		if after := read("test://watched-resource")["text"]; after == before {
			t.Errorf("still %v", after)
		}
		c.call("resources/unsubscribe", object{"uri": "test://watched-resource"})
		c.tool("test_touch_resource", nil)
		c.tool("test_trigger_tool_change", nil)
		c.hears("notifications/tools/list_changed") // comes after anything that was sent before
		if slices.Contains(c.methods(), "notifications/resources/updated") {
			t.Error("updated without subscription")
		}
	})
}

func TestListChanges(t *testing.T) {
	everywhere(t, func(t *testing.T, connect func(object) *client) {
		c, other := connect(object{}), connect(object{})
		for tool, what := range map[string][4]string{
			"test_trigger_tool_change":     {"tools", "tools", "name", "test_transient_tool"},
			"test_trigger_resource_change": {"resources", "resources", "uri", "test://transient"},
			"test_trigger_prompt_change":   {"prompts", "prompts", "name", "test_transient_prompt"},
		} {
			for _, there := range []bool{true, false} {
				c.tool(tool, nil)
				c.hears("notifications/" + what[0] + "/list_changed")
				if all, _ := names(c, what[0]+"/list", what[1], what[2]); slices.Contains(all, what[3]) != there {
					t.Errorf("%s: %v", tool, all)
				}
				if all, _ := names(other, what[0]+"/list", what[1], what[2]); slices.Contains(all, what[3]) {
					t.Errorf("%s reaches another session", tool)
				}
			}
		}
	})
}

func TestPrompts(t *testing.T) {
	inBothEras(t, func(t *testing.T, connect func(object) *client) {
		c := connect(object{})
		get := func(name string, arguments object) string {
			return fmt.Sprint(c.call("prompts/get", object{"name": name, "arguments": arguments})["messages"])
		}
		for want, got := range map[string]string{
			"This is a simple prompt for testing.":           get("test_simple_prompt", nil),
			"Prompt with arguments: arg1='hello', arg2='42'": get("test_prompt_with_arguments", object{"arg1": "hello", "arg2": "42"}),
			"uri:test://example-resource":                    get("test_prompt_with_embedded_resource", object{"resourceUri": "test://example-resource"}),
			"type:image":                                     get("test_prompt_with_image", nil),
			"type:audio":                                     get("test_prompt_with_audio", nil),
			"type:resource_link":                             get("test_prompt_with_resource_link", nil),
			"Greet everybody in German":                      get("test_prompt_with_completion", object{"language": "German"}),
		} {
			if !strings.Contains(got, want) {
				t.Errorf("%q is not in %s", want, got)
			}
		}
		c.fails(-32602, "prompts/get", object{"name": "test_prompt_with_embedded_resource", "arguments": object{"resourceUri": "nowhere"}})
	})
}

func TestCompletion(t *testing.T) {
	inBothEras(t, func(t *testing.T, connect func(object) *client) {
		c := connect(object{})
		complete := func(ref object, name, value string, filledIn object) object {
			return c.call("completion/complete", object{"ref": ref, "argument": object{"name": name, "value": value},
				"context": object{"arguments": filledIn}})["completion"].(object)
		}
		greeting := object{"type": "ref/prompt", "name": "test_prompt_with_completion"}
		if got := complete(greeting, "language", "g", nil); fmt.Sprint(got) != "map[hasMore:false total:1 values:[German]]" {
			t.Errorf("prefix: %v", got)
		}
		if got := complete(greeting, "name", "", object{"language": "German"}); fmt.Sprint(got["values"]) != "[Anja Bernd Cäcilie]" {
			t.Errorf("context: %v", got)
		}
		many := complete(object{"type": "ref/resource", "uri": "test://template/{id}/data"}, "id", "", nil)
		if len(many["values"].([]any)) != 100 || fmt.Sprint(many["total"]) != "250" || many["hasMore"] != true {
			t.Errorf("many: %v", many)
		}
		if got := complete(object{"type": "ref/resource", "uri": "test://echo/{text}"}, "text", "a", nil); fmt.Sprint(got["values"]) != "[]" {
			t.Errorf("nothing to suggest: %v", got)
		}
		c.fails(-32602, "completion/complete", object{"ref": greeting, "argument": object{"name": "nothing", "value": ""}})
		c.fails(-32602, "completion/complete", object{"ref": greeting})
	})
}

func TestFeaturesOfTheNewerRevision(t *testing.T) {
	everywhere(t, func(t *testing.T, connect func(object) *client) {
		c := connect(object{})
		newer := c.revision == server.Revision20251125
		tools := fmt.Sprint(c.call("tools/list", nil)["tools"])
		for _, member := range []string{"icons:", "execution:"} {
			if strings.Contains(tools, member) != newer {
				t.Errorf("%s in the list of tools: %v", member, !newer)
			}
		}
		if !newer {
			for _, method := range []string{"tasks/list", "tasks/get", "tasks/result", "tasks/cancel"} {
				c.fails(-32601, method, object{"taskId": "a"})
			}
			c.fails(-32602, "tools/call", object{"name": "test_elicitation_url"})
			result := c.call("tools/call", object{"name": "test_simple_text", "task": "not even an object"})
			if firstText(result) == "" {
				t.Errorf("the member task is not ignored: %v", result)
			}
		}
	})
}

func TestConcurrentCalls(t *testing.T) {
	everywhere(t, func(t *testing.T, connect func(object) *client) {
		c := connect(everything())
		c.answers["sampling/createMessage"] = func(params object) (object, object) {
			said := params["messages"].([]any)[0].(object)["content"].(object)["text"]
			return object{"role": "assistant", "model": "m", "content": object{"type": "text", "text": said}}, nil
		}
		want := map[string]string{}
		for i := range 20 {
			id := c.start("tools/call", object{"name": "test_sampling", "arguments": object{"prompt": fmt.Sprint("p", i)}})
			want[strconv.Itoa(id)] = fmt.Sprint("LLM response: p", i)
		}
		for len(want) > 0 {
			if m := c.next(); m["method"] == nil {
				id := fmt.Sprint(m["id"])
				if got := firstText(m["result"].(object)); got != want[id] {
					t.Errorf("%s: %q, not %q", id, got, want[id])
				}
				delete(want, id)
			}
		}
	})
}
