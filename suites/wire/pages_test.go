package wire

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// talk makes a conversation of lines: ">" is said by the client, "<" by the
// server, which is the target. A stream may stand in front, as in "post-2<". A handshake
// ends at the revision, if that has one.
func talk(revision string, lines ...string) *rules.Conversation {
	transport := protocol.Stdio
	negotiated := revision
	if !protocol.Has(revision, protocol.Handshake) {
		negotiated = protocol.Last(protocol.Handshake)
	}
	var events []transcript.Event
	for i, line := range lines {
		at := strings.IndexAny(line, "<>")
		from, stream := protocol.Client, "stdio"
		if line[at] == '<' {
			from = protocol.Server
		}
		if at > 0 {
			transport, stream = protocol.HTTP, line[:at]
		}
		events = append(events, transcript.Event{
			Sequence: i, Kind: transcript.Message, From: from, Stream: stream,
			Raw: []byte(strings.ReplaceAll(line[at+1:], `"protocolVersion":"2025-11-25"`, `"protocolVersion":"`+negotiated+`"`)),
		})
	}
	leg := rules.Leg{Role: protocol.ServerRole, Revision: revision, Transport: transport}
	return rules.NewConversation(leg, events, true)
}

// asked makes a request and its result of each pair of method (with params
// after a space, if any) and result.
func asked(pairs ...string) []string {
	lines := handshake(`{"tools":{},"logging":{}}`)
	for i := 0; i < len(pairs); i += 2 {
		method, params, some := strings.Cut(pairs[i], " ")
		if !some {
			params = "{}"
		}
		lines = append(lines,
			fmt.Sprintf(`>{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, i, method, params),
			fmt.Sprintf(`<{"jsonrpc":"2.0","id":%d,"result":%s}`, i, pairs[i+1]))
	}
	return lines
}

func handshake(capabilities string) []string {
	return []string{
		`>{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"capabilities":{}}}`,
		`<{"jsonrpc":"2.0","id":"init","result":{"protocolVersion":"2025-11-25","capabilities":` + capabilities + `,"serverInfo":{"name":"a","version":"1"}}}`,
	}
}

// findings applies rules and returns, by requirement, how often each was broken; -1 says that it saw nothing.
func findings(judging []rules.Rule, conversation *rules.Conversation) map[string]int {
	counts := map[string]int{}
	for _, finding := range rules.Apply(judging, conversation) {
		broken := 0
		for _, breach := range finding.Breaks {
			broken += breach.Count
		}
		counts[finding.Rule] = broken
	}
	return counts
}

const weather = `{"name":"weather","inputSchema":{"type":"object"},"outputSchema":{"type":"object","properties":{"t":{"type":"number"}},"required":["t"]}}`

func tools(definitions ...string) string { return `{"tools":[` + strings.Join(definitions, ",") + `]}` }

func tool(name string) string {
	return fmt.Sprintf(`{"name":%q,"inputSchema":{"type":"object"}}`, name)
}

func TestRulesOfServerPages(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		lines []string
		broke map[string]int // 0: seen and kept
	}{
		"tools with good names": {
			asked("tools/list", tools(tool("getUser"), tool("DATA_EXPORT_v2"), tool("admin.tools.list"))),
			map[string]int{"tools.name.unique": 0, "tools.name.length": 0, "tools.name.characters": 0, "tools.input-schema.valid": 0},
		},
		"a name with a space": {
			asked("tools/list", tools(tool("get user"))),
			map[string]int{"tools.name.length": 0, "tools.name.characters": 1, "tools.input-schema.valid": 0},
		},
		"an empty name and a long one": {
			asked("tools/list", tools(tool(""), tool(strings.Repeat("a", 129)))),
			map[string]int{"tools.name.length": 2, "tools.name.characters": 0, "tools.input-schema.valid": 0},
		},
		"a name twice on one page": {
			asked("tools/list", tools(tool("a"), tool("a"))),
			map[string]int{"tools.name.unique": 1, "tools.name.length": 0, "tools.name.characters": 0, "tools.input-schema.valid": 0},
		},
		"a name twice on two pages": {
			asked("tools/list", `{"nextCursor":"2","tools":[`+tool("a")+`]}`,
				`tools/list {"cursor":"2"}`, tools(tool("b"), tool("a"))),
			map[string]int{"tools.name.unique": 1, "tools.name.length": 0, "tools.name.characters": 0, "tools.input-schema.valid": 0},
		},
		"the same list twice, and the same page twice": {
			asked("tools/list", `{"nextCursor":"2","tools":[`+tool("a")+`]}`,
				`tools/list {"cursor":"2"}`, tools(tool("b")),
				"tools/list", `{"nextCursor":"2","tools":[`+tool("a")+`]}`,
				`tools/list {"cursor":"2"}`, tools(tool("b")),
				`tools/list {"cursor":"2"}`, tools(tool("b"))),
			map[string]int{"tools.name.unique": 0, "tools.name.length": 0, "tools.name.characters": 0, "tools.input-schema.valid": 0},
		},
		"a list that never moves on": {
			asked("tools/list", `{"nextCursor":"2","tools":[`+tool("a")+`]}`,
				`tools/list {"cursor":"2"}`, `{"nextCursor":"2","tools":[`+tool("a")+`]}`,
				`tools/list {"cursor":"2"}`, `{"nextCursor":"2","tools":[`+tool("a")+`]}`),
			map[string]int{"tools.name.length": 0, "tools.name.characters": 0, "tools.input-schema.valid": 0},
		},
		"an input schema of no JSON Schema": {
			asked("tools/list", tools(`{"name":"a","inputSchema":{"type":"object","properties":{"x":{"type":"text"}}}}`)),
			map[string]int{"tools.name.length": 0, "tools.name.characters": 0, "tools.input-schema.valid": 1},
		},
		"an input schema that the schema judges": {
			asked("tools/list", tools(`{"name":"a","inputSchema":{"type":"string"}}`)),
			map[string]int{"tools.name.length": 0, "tools.name.characters": 0},
		},
		"an output schema with a wrong keyword": {
			asked("tools/list", tools(`{"name":"a","inputSchema":{"type":"object"},"outputSchema":{"type":"object","minProperties":-1}}`)),
			map[string]int{
				"tools.name.length": 0, "tools.name.characters": 0, "tools.input-schema.valid": 0,
				"tools.output-schema.valid": 1,
			},
		},
		"a schema of a dialect that is not known": {
			asked("tools/list", tools(`{"name":"a","inputSchema":{"$schema":"https://example.com/own","type":"object","minProperties":-1}}`)),
			map[string]int{"tools.name.length": 0, "tools.name.characters": 0},
		},
		"structured content as promised": {
			asked("tools/list", tools(weather), `tools/call {"name":"weather"}`,
				`{"content":[{"type":"text","text":"{\"t\": 20.0}"}],"structuredContent":{"t":20}}`),
			map[string]int{
				"tools.name.length": 0, "tools.name.characters": 0, "tools.input-schema.valid": 0,
				"tools.output-schema.valid": 0, "tools.structured.conforms": 0, "tools.structured.text-copy": 0,
			},
		},
		"structured content against its schema, and no copy": {
			asked("tools/list", tools(weather), `tools/call {"name":"weather"}`,
				`{"content":[{"type":"text","text":"cold"}],"structuredContent":{"t":"cold"}}`),
			map[string]int{
				"tools.name.length": 0, "tools.name.characters": 0, "tools.input-schema.valid": 0,
				"tools.output-schema.valid": 0, "tools.structured.conforms": 1, "tools.structured.text-copy": 1,
			},
		},
		"no structured content": {
			asked("tools/list", tools(weather), `tools/call {"name":"weather"}`, `{"content":[]}`),
			map[string]int{
				"tools.name.length": 0, "tools.name.characters": 0, "tools.input-schema.valid": 0,
				"tools.output-schema.valid": 0, "tools.structured.conforms": 1,
			},
		},
		"no structured content in an error, or in a task": {
			asked("tools/list", tools(weather), `tools/call {"name":"weather"}`, `{"content":[],"isError":true}`,
				`tools/call {"name":"weather","task":{}}`, `{"task":{"taskId":"1"}}`),
			map[string]int{
				"tools.name.length": 0, "tools.name.characters": 0, "tools.input-schema.valid": 0,
				"tools.output-schema.valid": 0,
			},
		},
		"structured content of a task against its schema": {
			asked("tools/list", tools(weather), `tools/call {"name":"weather","task":{}}`, `{"task":{"taskId":"1"}}`,
				`tasks/result {"taskId":"1"}`, `{"content":[{"type":"text","text":"{}"}],"structuredContent":{}}`),
			map[string]int{
				"tools.name.length": 0, "tools.name.characters": 0, "tools.input-schema.valid": 0,
				"tools.output-schema.valid": 0, "tools.structured.conforms": 1, "tools.structured.text-copy": 0,
			},
		},
		"content of every kind": {
			asked(`tools/call {"name":"a"}`, `{"content":[
				{"type":"image","data":"aGk=","mimeType":"image/png","annotations":{"audience":["user"],"priority":1,"lastModified":"2025-01-12T15:00:58Z"}},
				{"type":"resource_link","uri":"test://a","name":"a"}]}`),
			map[string]int{
				"tools.content.encoded": 0, "tools.content.mime-type": 0, "resources.uri.valid": 0,
				"resources.annotations.audience": 0, "resources.annotations.priority": 0, "resources.annotations.last-modified": 0,
			},
		},
		"content of every kind, spoiled": {
			asked(`tools/call {"name":"a"}`, `{"content":[
				{"type":"audio","data":"not base64","mimeType":"wav","annotations":{"audience":["model"],"priority":2,"lastModified":"yesterday"}},
				{"type":"resource","resource":{"uri":"no uri","mimeType":"","blob":"???"}}]}`),
			map[string]int{
				"tools.content.encoded": 1, "tools.content.mime-type": 1, "tools.embedded-resource.capability": 1,
				"resources.uri.valid": 1, "resources.mime-type.valid": 1, "resources.blob.encoded": 1,
				"resources.annotations.audience": 1, "resources.annotations.priority": 1, "resources.annotations.last-modified": 1,
			},
		},
		"resources, listed and read": {
			asked("resources/list", `{"resources":[{"uri":"test://a","name":"a","mimeType":"text/plain; charset=utf-8"},{"uri":"test://a","name":"b"}]}`,
				"resources/templates/list", `{"resourceTemplates":[{"uriTemplate":"test://{a","name":"t"}]}`,
				`resources/read {"uri":"test://a"}`, `{"contents":[{"uri":"test://a","blob":"aGk="}]}`),
			map[string]int{
				"resources.uri.unique": 1, "resources.uri.valid": 0, "resources.templates.valid": 1,
				"resources.mime-type.valid": 0, "resources.blob.encoded": 0,
			},
		},
		"an update without a subscription": {
			append(asked(), `<{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"test://a"}}`),
			map[string]int{"resources.uri.valid": 0, "resources.updated.subscribed": 1},
		},
		"an update after a subscription": {
			append(asked(`resources/subscribe {"uri":"test://a"}`, `{}`),
				`<{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"test://a/b"}}`),
			map[string]int{"resources.uri.valid": 0, "resources.updated.subscribed": 0},
		},
		"a prompt with everything": {
			asked(`prompts/get {"name":"a"}`, `{"messages":[
				{"role":"user","content":{"type":"image","data":"aGk=","mimeType":"image/png"}},
				{"role":"user","content":{"type":"audio","data":"aGk=","mimeType":"audio/wav"}},
				{"role":"user","content":{"type":"resource","resource":{"uri":"test://a","mimeType":"text/plain","text":""}}}]}`),
			map[string]int{
				"prompts.image.encoded": 0, "prompts.image.mime-type": 0, "prompts.audio.encoded": 0, "prompts.audio.mime-type": 0,
				"prompts.embedded-resource.uri": 0, "prompts.embedded-resource.mime-type": 0, "prompts.embedded-resource.contents": 0,
			},
		},
		"a prompt with everything, spoiled": {
			asked(`prompts/get {"name":"a"}`, `{"messages":[
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
			asked(`prompts/get {"name":"a"}`, `{"messages":[
				{"role":"user","content":{"type":"image"}},
				{"role":"user","content":{"type":"audio"}},
				{"role":"user","content":{"type":"resource","resource":{}}}]}`),
			map[string]int{
				"prompts.image.encoded": 1, "prompts.image.mime-type": 1, "prompts.audio.encoded": 1, "prompts.audio.mime-type": 1,
				"prompts.embedded-resource.uri": 1, "prompts.embedded-resource.mime-type": 1, "prompts.embedded-resource.contents": 1,
			},
		},
		"a prompt with members of other types": {
			asked(`prompts/get {"name":"a"}`, `{"messages":[
				{"role":"user","content":{"type":"image","data":1,"mimeType":1}},
				{"role":"user","content":{"type":"audio","data":null,"mimeType":""}},
				{"role":"user","content":{"type":"resource","resource":{"uri":1,"mimeType":"","text":1}}}]}`),
			map[string]int{
				"prompts.image.encoded": 1, "prompts.image.mime-type": 1, "prompts.audio.encoded": 1, "prompts.audio.mime-type": 1,
				"prompts.embedded-resource.uri": 1, "prompts.embedded-resource.mime-type": 1, "prompts.embedded-resource.contents": 1,
			},
		},
		"completions": {
			asked("completion/complete", `{"completion":{"values":["a"],"total":3,"hasMore":true}}`,
				"completion/complete", `{"completion":{"values":["a"],"total":1,"hasMore":false}}`),
			map[string]int{"completion.values.limit": 0, "completion.total.consistent": 0, "completion.has-more.consistent": 0},
		},
		"too many completions": {
			asked("completion/complete", `{"completion":{"values":["a"`+strings.Repeat(`,"a"`, 100)+`]}}`),
			map[string]int{"completion.values.limit": 1},
		},
		"completions that are counted wrongly": {
			asked("completion/complete", `{"completion":{"values":["a","b"],"total":1,"hasMore":false}}`,
				"completion/complete", `{"completion":{"values":["a"],"total":5,"hasMore":false}}`,
				"completion/complete", `{"completion":{"values":["a"],"total":1,"hasMore":true}}`),
			map[string]int{"completion.values.limit": 0, "completion.total.consistent": 1, "completion.has-more.consistent": 2},
		},
		"log messages before and after a level is set": {
			append(append(asked(), logged("debug")), append(setLevel("warning"), logged("warning"), logged("emergency"))...),
			map[string]int{"logging.capability.declared": 0, "logging.message.level": 0, "logging.level.respected": 0},
		},
		"a log message below the level": {
			append(append(asked(), setLevel("warning")...), logged("notice")),
			map[string]int{"logging.capability.declared": 0, "logging.message.level": 0, "logging.level.respected": 1},
		},
		"a log message while the level is being lowered": {
			append(append(asked(), setLevel("warning")...), setLevel("debug")[0], logged("notice")),
			map[string]int{"logging.capability.declared": 0, "logging.message.level": 0, "logging.level.respected": 0},
		},
		"a log message of no level, undeclared": {
			append(handshake(`{}`), logged("warn")),
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
			got := findings(ofPages("tools.", "resources.", "prompts.", "completion.", "logging."), talk("2025-11-25", test.lines...))
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

func TestSchemaWithoutDialect(t *testing.T) {
	t.Parallel()
	// The array form of items is of drafts before 2020-12.
	older := asked("tools/list", tools(`{"name":"a","inputSchema":{"type":"object","properties":{"x":{"type":"array","items":[{"type":"string"}]}}}}`))
	for revision, broken := range map[string]int{"2025-06-18": 0, "2025-11-25": 1} {
		if got := findings(ToolRules(), talk(revision, older...))["tools.input-schema.valid"]; got != broken {
			t.Errorf("at %s it was broken %d times, wanted %d", revision, got, broken)
		}
	}
}

func TestSchemaThatIsNoObject(t *testing.T) {
	t.Parallel()
	listing := asked("tools/list", tools(`{"name":"a","inputSchema":null,"outputSchema":true}`))
	for revision, wanted := range map[string]map[string]int{
		"2025-06-18": {"tools.name.length": 0, "tools.name.characters": 0},
		"2025-11-25": {
			"tools.name.length": 0, "tools.name.characters": 0,
			"tools.input-schema.valid": 1, "tools.output-schema.valid": 1,
		},
	} {
		if got := findings(ToolRules(), talk(revision, listing...)); fmt.Sprint(got) != fmt.Sprint(wanted) {
			t.Errorf("at %s found  %v\nwanted %v", revision, got, wanted)
		}
	}
}

func TestClaimed(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		method, pointer string
		claimed         bool
	}{
		{"tools/call", "/result/content/0/data", true},
		{"tools/call", "/result/content/12/resource/blob", true},
		{"tools/call", "/result/content/0/annotations/audience/1", true},
		{"tools/call", "/result/content/0/resource", false},
		{"tools/call", "/result/content/0/text", false},
		{"prompts/get", "/result/messages/0/content/resource", true},
		{"prompts/get", "/result/messages/0/role", false},
		{"completion/complete", "/result/completion/values", true},
		{"completion/complete", "/result/completion/values/0", false},
		{"notifications/message", "/params/level", true},
		{"logging/setLevel", "/params/level", false},
		{"tools/list", "/result/nextCursor", true},
		{"resources/list", "/result/nextCursor", true},
		{"resources/list", "/result/resources/3/uri", true},
		{"resources/list", "/result/resources/3/name", false},
		{"tasks/list", "/result/nextCursor", false},
	} {
		if got := claimed(test.method, test.pointer); got != test.claimed {
			t.Errorf("%s %s: claimed is %t", test.method, test.pointer, got)
		}
	}
}

func TestIsMediaType(t *testing.T) {
	t.Parallel()
	for text, good := range map[string]bool{
		"image/png": true, "text/plain; charset=utf-8": true, "inode/directory": true, "application/vnd.api+json": true,
		"TEXT/HTML": true, "text/html;profile=mcp-app": true, "text/plain; charset": true,
		"": false, "png": false, "image/": false, "/png": false, "image png": false, "a/b/c": false, "*": false,
	} {
		if isMediaType(text) != good {
			t.Errorf("%q: wanted %t", text, good)
		}
	}
}

func TestIsISO8601(t *testing.T) {
	t.Parallel()
	for text, good := range map[string]bool{
		"2025-01-12T15:00:58Z": true, "2025-01-12T15:00:58.123+01:00": true, "2025-01-12T15:00:58,5": true,
		"2025-01-12": true, "20250112T150058Z": true, "2025-01-12T15:00": true, "2025-W02-7": true, "2025-012": true,
		"2025-01": true, "2024-02-29": true, "2016-12-31T23:59:60Z": true, "2025-01-12T24:00:00Z": true,
		"": false, "yesterday": false, "2025-13-01": false, "2025-02-29": false, "2025-01-12 15:00:58": false,
		"12/01/2025": false, "1736694058": false, "2025-01-12T25:00:00Z": false, "2025-01-12T15:61:00Z": false,
		"Sun, 12 Jan 2025 15:00:58 GMT": false, "2025-01-12Z": false,
	} {
		if isISO8601(text) != good {
			t.Errorf("%q: wanted %t", text, good)
		}
	}
}

func TestSameJSON(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		a, b string
		same bool
	}{
		{`{"a":1,"b":[true,null]}`, `{"b":[true,null],"a":1.0}`, true},
		{`1e2`, `100`, true},
		{`9007199254740993`, `9007199254740992`, false},
		{`"1"`, `1`, false},
		{`{"a":1}`, `{"a":1,"b":2}`, false},
		{`[1,2]`, `[2,1]`, false},
		{`1e999999999`, `1e999999998`, false},
	} {
		if got := sameJSON(decoded(t, test.a), decoded(t, test.b)); got != test.same {
			t.Errorf("%s and %s: wanted %t", test.a, test.b, test.same)
		}
	}
}

func decoded(t *testing.T, text string) any {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		t.Fatal(err)
	}
	return value
}

func FuzzForms(f *testing.F) {
	for _, seed := range []string{"image/png", "2025-01-12T15:00:58Z", "", "text/plain; a=\"", "2025-W02-7"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if isMediaType(text) && !strings.Contains(text, "/") {
			t.Errorf("%q is no media type", text)
		}
		if isISO8601(text) && len(text) < len("2006") {
			t.Errorf("%q is no date", text)
		}
	})
}

// Which connection a call shares with a list is chance: the list at first contact will do
// where there is no other, until the server says that it has changed.
func TestStructureByTheListOfFirstContact(t *testing.T) {
	t.Parallel()
	listed, _ := jsonrpc.Decode([]byte(weather))
	call := asked(`tools/call {"name":"weather"}`, `{"content":[],"structuredContent":{}}`)
	change := `<{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`
	none := asked("tools/list", tools(tool("weather")))
	for name, one := range map[string]struct {
		lines []string
		want  int
	}{
		"no list":        {call, 1},
		"another list":   {slices.Concat(none, call), -1},
		"a changed list": {slices.Concat([]string{change}, call), -1},
	} {
		conversation := talk("2025-11-25", one.lines...)
		conversation.Tools = []rules.Object{listed.(rules.Object)}
		broken, seen := findings(ToolRules(), conversation)["tools.structured.conforms"]
		if !seen {
			broken = -1
		}
		if broken != one.want {
			t.Errorf("%s: broken %d times, wanted %d", name, broken, one.want)
		}
	}
}
