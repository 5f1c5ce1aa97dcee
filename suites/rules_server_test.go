package suites_test

import (
	"fmt"
	"strings"
	"testing"

	. "github.com/mcpconform/mcpconform/internal/rules/rulestest"
)

func TestRulesOfServerPages(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		lines []string
		broke map[string]int // 0: seen and kept
	}{
		"tools with good names": {
			Asked("tools/list", Tools(Tool("getUser"), Tool("DATA_EXPORT_v2"), Tool("admin.tools.list"))),
			map[string]int{"tools.name.unique": 0, "tools.name.length": 0, "tools.name.characters": 0, "tools.input-schema.valid": 0},
		},
		"a name with a space": {
			Asked("tools/list", Tools(Tool("get user"))),
			map[string]int{"tools.name.length": 0, "tools.name.characters": 1, "tools.input-schema.valid": 0},
		},
		"an empty name and a long one": {
			Asked("tools/list", Tools(Tool(""), Tool(strings.Repeat("a", 129)))),
			map[string]int{"tools.name.length": 2, "tools.name.characters": 0, "tools.input-schema.valid": 0},
		},
		"a name twice on one page": {
			Asked("tools/list", Tools(Tool("a"), Tool("a"))),
			map[string]int{"tools.name.unique": 1, "tools.name.length": 0, "tools.name.characters": 0, "tools.input-schema.valid": 0},
		},
		"a name twice on two pages": {
			Asked("tools/list", `{"nextCursor":"2","tools":[`+Tool("a")+`]}`,
				`tools/list {"cursor":"2"}`, Tools(Tool("b"), Tool("a"))),
			map[string]int{"tools.name.unique": 1, "tools.name.length": 0, "tools.name.characters": 0, "tools.input-schema.valid": 0},
		},
		"the same list twice, and the same page twice": {
			Asked("tools/list", `{"nextCursor":"2","tools":[`+Tool("a")+`]}`,
				`tools/list {"cursor":"2"}`, Tools(Tool("b")),
				"tools/list", `{"nextCursor":"2","tools":[`+Tool("a")+`]}`,
				`tools/list {"cursor":"2"}`, Tools(Tool("b")),
				`tools/list {"cursor":"2"}`, Tools(Tool("b"))),
			map[string]int{"tools.name.unique": 0, "tools.name.length": 0, "tools.name.characters": 0, "tools.input-schema.valid": 0},
		},
		"a list that never moves on": {
			Asked("tools/list", `{"nextCursor":"2","tools":[`+Tool("a")+`]}`,
				`tools/list {"cursor":"2"}`, `{"nextCursor":"2","tools":[`+Tool("a")+`]}`,
				`tools/list {"cursor":"2"}`, `{"nextCursor":"2","tools":[`+Tool("a")+`]}`),
			map[string]int{"tools.name.length": 0, "tools.name.characters": 0, "tools.input-schema.valid": 0},
		},
		"an input schema of no JSON Schema": {
			Asked("tools/list", Tools(`{"name":"a","inputSchema":{"type":"object","properties":{"x":{"type":"text"}}}}`)),
			map[string]int{"tools.name.length": 0, "tools.name.characters": 0, "tools.input-schema.valid": 1},
		},
		"an input schema that the schema judges": {
			Asked("tools/list", Tools(`{"name":"a","inputSchema":{"type":"string"}}`)),
			map[string]int{"tools.name.length": 0, "tools.name.characters": 0},
		},
		"an output schema with a wrong keyword": {
			Asked("tools/list", Tools(`{"name":"a","inputSchema":{"type":"object"},"outputSchema":{"type":"object","minProperties":-1}}`)),
			map[string]int{
				"tools.name.length": 0, "tools.name.characters": 0, "tools.input-schema.valid": 0,
				"tools.output-schema.valid": 1,
			},
		},
		"a schema of a dialect that is not known": {
			Asked("tools/list", Tools(`{"name":"a","inputSchema":{"$schema":"https://example.com/own","type":"object","minProperties":-1}}`)),
			map[string]int{"tools.name.length": 0, "tools.name.characters": 0},
		},
		"structured content as promised": {
			Asked("tools/list", Tools(Weather), `tools/call {"name":"weather"}`,
				`{"content":[{"type":"text","text":"{\"t\": 20.0}"}],"structuredContent":{"t":20}}`),
			map[string]int{
				"tools.name.length": 0, "tools.name.characters": 0, "tools.input-schema.valid": 0,
				"tools.output-schema.valid": 0, "tools.structured.conforms": 0, "tools.structured.text-copy": 0,
			},
		},
		"structured content against its schema, and no copy": {
			Asked("tools/list", Tools(Weather), `tools/call {"name":"weather"}`,
				`{"content":[{"type":"text","text":"cold"}],"structuredContent":{"t":"cold"}}`),
			map[string]int{
				"tools.name.length": 0, "tools.name.characters": 0, "tools.input-schema.valid": 0,
				"tools.output-schema.valid": 0, "tools.structured.conforms": 1, "tools.structured.text-copy": 1,
			},
		},
		"no structured content": {
			Asked("tools/list", Tools(Weather), `tools/call {"name":"weather"}`, `{"content":[]}`),
			map[string]int{
				"tools.name.length": 0, "tools.name.characters": 0, "tools.input-schema.valid": 0,
				"tools.output-schema.valid": 0, "tools.structured.conforms": 1,
			},
		},
		"no structured content in an error, or in a task": {
			Asked("tools/list", Tools(Weather), `tools/call {"name":"weather"}`, `{"content":[],"isError":true}`,
				`tools/call {"name":"weather","task":{}}`, `{"task":{"taskId":"1"}}`),
			map[string]int{
				"tools.name.length": 0, "tools.name.characters": 0, "tools.input-schema.valid": 0,
				"tools.output-schema.valid": 0,
			},
		},
		"structured content of a task against its schema": {
			Asked("tools/list", Tools(Weather), `tools/call {"name":"weather","task":{}}`, `{"task":{"taskId":"1"}}`,
				`tasks/result {"taskId":"1"}`, `{"content":[{"type":"text","text":"{}"}],"structuredContent":{}}`),
			map[string]int{
				"tools.name.length": 0, "tools.name.characters": 0, "tools.input-schema.valid": 0,
				"tools.output-schema.valid": 0, "tools.structured.conforms": 1, "tools.structured.text-copy": 0,
			},
		},
		"content of every kind": {
			Asked(`tools/call {"name":"a"}`, `{"content":[
				{"type":"image","data":"aGk=","mimeType":"image/png","annotations":{"audience":["user"],"priority":1,"lastModified":"2025-01-12T15:00:58Z"}},
				{"type":"resource_link","uri":"test://a","name":"a"}]}`),
			map[string]int{
				"tools.content.encoded": 0, "tools.content.mime-type": 0, "resources.uri.valid": 0,
				"resources.annotations.audience": 0, "resources.annotations.priority": 0, "resources.annotations.last-modified": 0,
			},
		},
		"content of every kind, spoiled": {
			Asked(`tools/call {"name":"a"}`, `{"content":[
				{"type":"audio","data":"not base64","mimeType":"wav","annotations":{"audience":["model"],"priority":2,"lastModified":"yesterday"}},
				{"type":"resource","resource":{"uri":"no uri","mimeType":"","blob":"???"}}]}`),
			map[string]int{
				"tools.content.encoded": 1, "tools.content.mime-type": 1, "tools.embedded-resource.capability": 1,
				"resources.uri.valid": 1, "resources.mime-type.valid": 1, "resources.blob.encoded": 1,
				"resources.annotations.audience": 1, "resources.annotations.priority": 1, "resources.annotations.last-modified": 1,
			},
		},
		"resources, listed and read": {
			Asked("resources/list", `{"resources":[{"uri":"test://a","name":"a","mimeType":"text/plain; charset=utf-8"},{"uri":"test://a","name":"b"}]}`,
				"resources/templates/list", `{"resourceTemplates":[{"uriTemplate":"test://{a","name":"t"}]}`,
				`resources/read {"uri":"test://a"}`, `{"contents":[{"uri":"test://a","blob":"aGk="}]}`),
			map[string]int{
				"resources.uri.unique": 1, "resources.uri.valid": 0, "resources.templates.valid": 1,
				"resources.mime-type.valid": 0, "resources.blob.encoded": 0,
			},
		},
		"an update without a subscription": {
			append(Asked(), `<{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"test://a"}}`),
			map[string]int{"resources.uri.valid": 0, "resources.updated.subscribed": 1},
		},
		"an update after a subscription": {
			append(Asked(`resources/subscribe {"uri":"test://a"}`, `{}`),
				`<{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"test://a/b"}}`),
			map[string]int{"resources.uri.valid": 0, "resources.updated.subscribed": 0},
		},
		"a prompt with everything": {
			Asked(`prompts/get {"name":"a"}`, `{"messages":[
				{"role":"user","content":{"type":"image","data":"aGk=","mimeType":"image/png"}},
				{"role":"user","content":{"type":"audio","data":"aGk=","mimeType":"audio/wav"}},
				{"role":"user","content":{"type":"resource","resource":{"uri":"test://a","mimeType":"text/plain","text":""}}}]}`),
			map[string]int{
				"prompts.image.encoded": 0, "prompts.image.mime-type": 0, "prompts.audio.encoded": 0, "prompts.audio.mime-type": 0,
				"prompts.embedded-resource.uri": 0, "prompts.embedded-resource.mime-type": 0, "prompts.embedded-resource.contents": 0,
			},
		},
		"a prompt with everything, spoiled": {
			Asked(`prompts/get {"name":"a"}`, `{"messages":[
				{"role":"user","content":{"type":"image","data":"!","mimeType":"png"}},
				{"role":"user","content":{"type":"audio","data":"!","mimeType":"wav"}},
				{"role":"user","content":{"type":"resource","resource":{"uri":"no uri","blob":"!"}}},
				{"role":"user","content":{"type":"resource","resource":{"uri":"test://a","mimeType":"text/plain"}}}]}`),
			map[string]int{
				"prompts.image.encoded": 1, "prompts.image.mime-type": 1, "prompts.audio.encoded": 1, "prompts.audio.mime-type": 1,
				"prompts.embedded-resource.uri": 1, "prompts.embedded-resource.mime-type": 1, "prompts.embedded-resource.contents": 2,
			},
		},
		"a prompt that lacks everything": {
			Asked(`prompts/get {"name":"a"}`, `{"messages":[
				{"role":"user","content":{"type":"image"}},
				{"role":"user","content":{"type":"audio"}},
				{"role":"user","content":{"type":"resource","resource":{}}}]}`),
			map[string]int{
				"prompts.image.encoded": 1, "prompts.image.mime-type": 1, "prompts.audio.encoded": 1, "prompts.audio.mime-type": 1,
				"prompts.embedded-resource.uri": 1, "prompts.embedded-resource.mime-type": 1, "prompts.embedded-resource.contents": 1,
			},
		},
		"a prompt with members of other types": {
			Asked(`prompts/get {"name":"a"}`, `{"messages":[
				{"role":"user","content":{"type":"image","data":1,"mimeType":1}},
				{"role":"user","content":{"type":"audio","data":null,"mimeType":""}},
				{"role":"user","content":{"type":"resource","resource":{"uri":1,"mimeType":"","text":1}}}]}`),
			map[string]int{
				"prompts.image.encoded": 1, "prompts.image.mime-type": 1, "prompts.audio.encoded": 1, "prompts.audio.mime-type": 1,
				"prompts.embedded-resource.uri": 1, "prompts.embedded-resource.mime-type": 1, "prompts.embedded-resource.contents": 1,
			},
		},
		"completions": {
			Asked("completion/complete", `{"completion":{"values":["a"],"total":3,"hasMore":true}}`,
				"completion/complete", `{"completion":{"values":["a"],"total":1,"hasMore":false}}`),
			map[string]int{"completion.values.limit": 0, "completion.total.consistent": 0, "completion.has-more.consistent": 0},
		},
		"too many completions": {
			Asked("completion/complete", `{"completion":{"values":["a"`+strings.Repeat(`,"a"`, 100)+`]}}`),
			map[string]int{"completion.values.limit": 1},
		},
		"completions that are counted wrongly": {
			Asked("completion/complete", `{"completion":{"values":["a","b"],"total":1,"hasMore":false}}`,
				"completion/complete", `{"completion":{"values":["a"],"total":5,"hasMore":false}}`,
				"completion/complete", `{"completion":{"values":["a"],"total":1,"hasMore":true}}`),
			map[string]int{"completion.values.limit": 0, "completion.total.consistent": 1, "completion.has-more.consistent": 2},
		},
		"log messages before and after a level is set": {
			append(append(Asked(), logged("debug")), append(setLevel("warning"), logged("warning"), logged("emergency"))...),
			map[string]int{"logging.capability.declared": 0, "logging.message.level": 0, "logging.level.respected": 0},
		},
		"a log message below the level": {
			append(append(Asked(), setLevel("warning")...), logged("notice")),
			map[string]int{"logging.capability.declared": 0, "logging.message.level": 0, "logging.level.respected": 1},
		},
		"a log message while the level is being lowered": {
			append(append(Asked(), setLevel("warning")...), setLevel("debug")[0], logged("notice")),
			map[string]int{"logging.capability.declared": 0, "logging.message.level": 0, "logging.level.respected": 0},
		},
		"a log message of no level, undeclared": {
			append(Handshake(`{}`), logged("warn")),
			map[string]int{"logging.capability.declared": 1, "logging.message.level": 1},
		},
		"a log message on a stream that is older than the level": {
			append(append([]string{"get-1>{}"}, onStream("post-1", setLevel("error"))...), "get-1"+logged("info")),
			map[string]int{"logging.message.level": 0},
		},
		"a log message on a stream that is younger than the level": {
			append(onStream("post-1", setLevel("error")), `post-2>{"jsonrpc":"2.0","id":9,"method":"ping"}`, "post-2"+logged("info")),
			map[string]int{"logging.message.level": 0, "logging.level.respected": 1},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := Findings(ofPages("tools.", "resources.", "prompts.", "completion.", "logging."), Talk("2025-11-25", test.lines...))
			if fmt.Sprint(got) != fmt.Sprint(test.broke) {
				t.Errorf("found  %v\nwanted %v", got, test.broke)
			}
		})
	}
}

func logged(level string) string {
	return fmt.Sprintf(`<{"jsonrpc":"2.0","method":"notifications/message","params":{"level":%q,"data":1}}`, level)
}

func setLevel(level string) []string {
	return []string{
		fmt.Sprintf(`>{"jsonrpc":"2.0","id":%q,"method":"logging/setLevel","params":{"level":%q}}`, level, level),
		fmt.Sprintf(`<{"jsonrpc":"2.0","id":%q,"result":{}}`, level),
	}
}

func onStream(stream string, lines []string) []string {
	var all []string
	for _, line := range lines {
		all = append(all, stream+line)
	}
	return all
}
