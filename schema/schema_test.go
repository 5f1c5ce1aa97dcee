package schema

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/protocol"
)

func decode(t testing.TB, text string) any {
	t.Helper()
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return value
}

func schemaOf(t testing.TB, revision string) *Schema {
	t.Helper()
	s, err := For(revision)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func lines(found []Violation) []string {
	var all []string
	for _, v := range found {
		all = append(all, v.String())
	}
	return all
}

func TestForNamesTheRevisionsThatExist(t *testing.T) {
	t.Parallel()
	_, err := For("2025-06-19")
	if want := `no schema for revision "2025-06-19": expected one of ` + strings.Join(protocol.Released(), ", "); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestEveryCheckedRevisionHasASchema(t *testing.T) {
	t.Parallel()
	if found := Revisions(); !slices.Equal(found, protocol.Released()) {
		t.Errorf("schemas of %v, checked are %v", found, protocol.Released())
	}
}

// Each document is a schema, every definition compiles, and so does every one that the table of methods names.
func TestDefinitionsCompile(t *testing.T) {
	t.Parallel()
	for _, revision := range Revisions() {
		s := schemaOf(t, revision)
		held, err := newSchema("urn:mcpconform:test", revision, s.document) // against the metaschema
		if err != nil {
			t.Fatal(err)
		}
		if err := held.sound(); err != nil {
			t.Error(err)
		}
		for _, m := range s.Methods() {
			for _, name := range []string{m.Message, m.Params, m.Result, m.TaskResult, m.InputResult} {
				if name == "" {
					continue
				}
				if _, err := s.compile(name); err != nil {
					t.Error(err)
				}
			}
			if m.Params == "" || (m.Kind == Notification) != (m.Result == "") || len(m.Senders) == 0 {
				t.Errorf("%s: incomplete: %+v", revision, m)
			}
			if (m.TaskResult != "") != (m.TaskCapability != Capability{}) {
				t.Errorf("%s: a task's result without its capability: %+v", revision, m)
			}
		}
	}
}

// The table has every message of the documents, under its name.
func TestMethodsAgreeWithTheDocuments(t *testing.T) {
	t.Parallel()
	for _, revision := range Revisions() {
		s := schemaOf(t, revision)
		want, got := map[string]any{}, map[string]any{}
		for name, definition := range s.definitions {
			if method := at(definition, []string{"properties", "method", "const"}); method != nil {
				want[name] = method
			}
		}
		for _, m := range s.Methods() {
			got[m.Message] = m.Name
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-document +table):\n%s", revision, diff)
		}
	}
}

// Every capability of the table is one that the capabilities object of its declarer has.
func TestCapabilitiesExist(t *testing.T) {
	t.Parallel()
	definitions := map[protocol.Party]string{protocol.Client: "ClientCapabilities", protocol.Server: "ServerCapabilities"}
	for _, revision := range Revisions() {
		s := schemaOf(t, revision)
		for _, m := range s.Methods() {
			for _, capability := range []Capability{m.Capability, m.TaskCapability} {
				if capability.Path == "" {
					continue
				}
				for _, sender := range m.Senders {
					declarer := capability.Declarer(sender)
					node := s.definitions[definitions[declarer]]
					for member := range strings.SplitSeq(capability.Path, ".") {
						node = at(node, []string{"properties", member})
					}
					if node == nil {
						t.Errorf("%s %s: a %s has no capability %s", revision, m.Name, declarer, capability.Path)
					}
				}
			}
		}
	}
}

func TestMethod(t *testing.T) {
	t.Parallel()
	got, ok := schemaOf(t, "2025-11-25").Method("tools/call")
	want := Method{
		Name: "tools/call", Kind: Request, Senders: []protocol.Party{protocol.Client}, Message: "CallToolRequest", Params: "CallToolRequestParams",
		Result: "CallToolResult", TaskResult: "CreateTaskResult", Capability: Capability{Receiver, "tools"},
		TaskCapability: Capability{Receiver, "tasks.requests.tools.call"},
	}
	if diff := cmp.Diff(want, got); !ok || diff != "" {
		t.Errorf("2025-11-25 (-want +got):\n%s", diff)
	}
	got, ok = schemaOf(t, "2025-06-18").Method("tools/call")
	want.Params, want.TaskResult, want.TaskCapability = "CallToolRequest/properties/params", "", Capability{}
	if diff := cmp.Diff(want, got); !ok || diff != "" {
		t.Errorf("2025-06-18 (-want +got):\n%s", diff)
	}
	if _, ok := schemaOf(t, "2025-06-18").Method("tasks/get"); ok {
		t.Error("2025-06-18 knows tasks/get")
	}
}

// Methods that occur only in inputRequests are not requests.
func TestMethodsWithoutServerRequests(t *testing.T) {
	t.Parallel()
	var got []string
	for _, m := range schemaOf(t, "2026-07-28").Methods() {
		got = append(got, fmt.Sprintf("%s %v: %s %s %s", m.Name, m.Senders, m.Kind, m.Result, m.InputResult))
	}
	want := []string{
		"notifications/cancelled [client server]: notification  ",
		"notifications/progress [server]: notification  ",
		"server/discover [client]: request DiscoverResult ",
		"subscriptions/listen [client]: request SubscriptionsListenResult ",
		"notifications/subscriptions/acknowledged [server]: notification  ",
		"resources/list [client]: request ListResourcesResult ",
		"resources/templates/list [client]: request ListResourceTemplatesResult ",
		"resources/read [client]: request ReadResourceResult InputRequiredResult",
		"notifications/resources/updated [server]: notification  ",
		"notifications/resources/list_changed [server]: notification  ",
		"prompts/list [client]: request ListPromptsResult ",
		"prompts/get [client]: request GetPromptResult InputRequiredResult",
		"notifications/prompts/list_changed [server]: notification  ",
		"tools/list [client]: request ListToolsResult ",
		"tools/call [client]: request CallToolResult InputRequiredResult",
		"notifications/tools/list_changed [server]: notification  ",
		"completion/complete [client]: request CompleteResult ",
		"notifications/message [server]: notification  ",
		"roots/list [server]: request for input ListRootsResult ",
		"sampling/createMessage [server]: request for input CreateMessageResult ",
		"elicitation/create [server]: request for input ElicitResult ",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestErrorCodes(t *testing.T) {
	t.Parallel()
	for revision, want := range map[string]string{
		"2025-06-18": "",
		"2025-11-25": "-32042 URLElicitationRequiredError",
		"2026-07-28": "-32020 HeaderMismatchError, -32603 InternalError, -32602 InvalidParamsError, -32600 InvalidRequestError, " +
			"-32601 MethodNotFoundError, -32021 MissingRequiredClientCapabilityError, -32700 ParseError, " +
			"-32022 UnsupportedProtocolVersionError",
	} {
		var got []string
		for _, known := range schemaOf(t, revision).ErrorCodes() {
			got = append(got, known.Code+" "+known.Definition)
		}
		if diff := cmp.Diff(want, strings.Join(got, ", ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", revision, diff)
		}
	}
}

func TestCapabilityDeclaredIn(t *testing.T) {
	t.Parallel()
	capabilities := decode(t, `{"tools": {"listChanged": true}, "resources": {"subscribe": false}, "logging": {}, "prompts": null}`)
	for path, want := range map[string]bool{
		"": true, "tools": true, "tools.listChanged": true, "resources": true, "resources.subscribe": false, "logging": true,
		"prompts": false, "completions": false, "tasks.requests.tools.call": false, "tools.listChanged.deeper": false,
	} {
		if got := (Capability{Receiver, path}).DeclaredIn(capabilities); got != want {
			t.Errorf("%q: got %v, want %v", path, got, want)
		}
	}
}

// What people read. Each case is a value and the lines that are said about it.
func TestViolations(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, revision, definition, value string
		want                              []string
	}{
		{"valid", "2025-11-25", "CallToolResult", `{"content": [{"type": "text", "text": ""}]}`, nil},
		{"unknown alternative", "2025-11-25", "CallToolResult", `{"content": [{"type": "txt", "text": ""}]}`, []string{
			`at /content/0/type: expected one of "text", "image", "audio", "resource_link", "resource"; found "txt" (ContentBlock)`,
		}},
		{"no alternative named", "2025-11-25", "CallToolResult", `{"content": [{}]}`, []string{
			`at /content/0: expected member "type", one of "text", "image", "audio", "resource_link", "resource"; found an empty object (ContentBlock)`,
		}},
		{"not even an object", "2025-06-18", "CallToolResult", `{"content": ["hello"]}`, []string{
			`at /content/0: expected an object; found "hello" (ContentBlock)`,
		}},
		{"the alternative that was meant", "2025-06-18", "CallToolResult", `{"content": [{"type": "image", "data": "?", "mimeType": 3}]}`, []string{
			`at /content/0/data: expected base64 (RFC 4648, section 4); found "?" (not standard base64 with padding) (ImageContent)`,
			`at /content/0/mimeType: expected a string; found 3 (ImageContent)`,
		}},
		{"alternatives that nothing tells apart", "2025-06-18", "EmbeddedResource", `{"type": "resource", "resource": {"uri": "x:y"}}`, []string{
			`at /resource: expected one of TextResourceContents (with member "text"), BlobResourceContents (with member "blob"); found an object with only the member uri (EmbeddedResource)`,
		}},
		{"the nearest alternative", "2025-11-25", "PrimitiveSchemaDefinition", `{"type": "string", "minLength": "3"}`, []string{
			`at /minLength: expected an integer; found "3" (StringSchema)`,
		}},
		{"alternatives within alternatives", "2025-11-25", "EnumSchema", `{"type": "string"}`, []string{
			`expected one of UntitledSingleSelectEnumSchema (with member "enum"), TitledSingleSelectEnumSchema (with member "oneOf"), LegacyTitledEnumSchema (with member "enum"); found an object with only the member type (EnumSchema)`,
		}},
		{"alternatives of all types", "2025-11-25", "SamplingMessage", `{"role": "system", "content": 7}`, []string{
			`at /content: expected an array or an object; found 7 (SamplingMessage)`,
			`at /role: expected one of "user", "assistant"; found "system" (Role)`,
		}},
		{"missing members", "2025-11-25", "ListToolsResult", `{"tools": [{"title": "x", "uri": 3}]}`, []string{
			`at /tools/0: expected member "inputSchema"; found an object with members title, uri (Tool)`,
			`at /tools/0: expected member "name"; found an object with members title, uri (Tool)`,
		}},
		{"a result and an error", "2025-06-18", "JSONRPCResponse", `{"jsonrpc": "2.0", "id": null, "result": {}, "error": {}}`, []string{
			`at /error: expected no member "error"; found an empty object (JSONRPCResponse)`,
			`at /id: expected an integer or a string; found null (RequestId)`,
		}},
		{"bounds", "2025-11-25", "Annotations", `{"priority": 1.5, "audience": "user"}`, []string{
			`at /audience: expected an array; found "user" (Annotations)`,
			`at /priority: expected a number of at most 1; found 1.5 (Annotations)`,
		}},
		{"a URI with a space", "2025-11-25", "ReadResourceRequestParams", `{"uri": "file:///a b"}`, []string{
			`at /uri: expected a URI (RFC 3986); found "file:///a b" (the character at byte 9 must be percent-encoded) (ReadResourceRequestParams)`,
		}},
		{"a root elsewhere", "2025-06-18", "Root", `{"uri": "https://example.com"}`, []string{
			`at /uri: expected a string that matches ^file://; found "https://example.com" (Root)`,
		}},
		{"wrong mode", "2025-11-25", "ElicitRequestParams", `{"mode": "voice", "message": ""}`, []string{
			`at /mode: expected one of "form", "url"; found "voice" (ElicitRequestParams)`,
		}},
		{"members of the chosen mode", "2025-11-25", "ElicitRequestParams", `{"mode": "url", "message": ""}`, []string{
			`expected member "elicitationId"; found an object with members message, mode (ElicitRequestURLParams)`,
			`expected member "url"; found an object with members message, mode (ElicitRequestURLParams)`,
		}},
		{"pointers are escaped", "2025-06-18", "GetPromptRequest", `{"method": "prompts/get", "params": {"name": "", "arguments": {"a/b~c": 1}}}`, []string{
			`at /params/arguments/a~1b~0c: expected a string; found 1 (GetPromptRequest)`,
		}},
		{"long values are shortened", "2025-06-18", "Role", `"` + strings.Repeat("ü", 200) + `"`, []string{
			`expected one of "user", "assistant"; found "` + strings.Repeat("ü", 80) + `… (400 bytes)" (Role)`,
		}},
		{"wild numbers", "2025-06-18", "Annotations", `{"priority": 1e999999999999}`, []string{
			`at /priority: expected a number of at most 1; found 1e400 (Annotations)`,
		}},
		{"a request without its metadata", "2026-07-28", "ListToolsRequest", `{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}`, []string{
			`expected member "params"; found an object with members id, jsonrpc, method (ListToolsRequest)`,
		}},
		{"metadata without what is required", "2026-07-28", "RequestParams", `{"_meta": {"io.modelcontextprotocol/protocolVersion": 2026}}`, []string{
			`at /_meta: expected member "io.modelcontextprotocol/clientCapabilities"; found an object with only the member io.modelcontextprotocol/protocolVersion (RequestMetaObject)`,
			`at /_meta/io.modelcontextprotocol~1protocolVersion: expected a string; found 2026 (RequestMetaObject)`,
		}},
		{"a request for input that nobody knows", "2026-07-28", "InputRequiredResult", `{"resultType": "input_required", "inputRequests": {"a": {"method": "ping"}}}`, []string{
			`at /inputRequests/a/method: expected one of "elicitation/create", "sampling/createMessage", "roots/list"; found "ping" (InputRequest)`,
		}},
		{"a result that says what it is", "2026-07-28", "ReadResourceResultResponse", `{"jsonrpc": "2.0", "id": 1, "result": {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}}`, []string{
			`at /result: expected member "contents"; found an object with members cacheScope, resultType, ttlMs (ReadResourceResult)`,
		}},
		{"an error beside a result", "2026-07-28", "JSONRPCResultResponse", `{"jsonrpc": "2.0", "id": 1, "result": {"resultType": "complete"}, "error": {}}`, []string{
			`at /error: expected no member "error"; found an empty object (JSONRPCResultResponse)`,
		}},
		{"a result beside an error", "2026-07-28", "JSONRPCErrorResponse", `{"jsonrpc": "2.0", "result": {}, "error": {"code": 0, "message": ""}}`, []string{
			`at /result: expected no member "result"; found an empty object (JSONRPCErrorResponse)`,
		}},
		{"no value at all", "2026-07-28", "JSONValue", `null`, nil},
		{"any JSON in a capability", "2026-07-28", "ServerCapabilities", `{"extensions": {"a.b/c": {"d": null, "e": 0.5, "f": [{}]}}}`, nil},
		{"too many items", "2025-06-18", "CompleteResult", `{"completion": {"values": [` + strings.Repeat(`"",`, 100) + `""]}}`, []string{
			`at /completion/values: expected at most 100 items; found an array of 101 items (CompleteResult)`,
		}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := lines(schemaOf(t, c.revision).Validate(c.definition, decode(t, c.value)))
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Where a result is one of two, either will do.
func TestEitherResult(t *testing.T) {
	t.Parallel()
	s := schemaOf(t, "2026-07-28")
	for definition, complete := range map[string]string{
		"CallToolResult":     `{"resultType": "complete", "content": []}`,
		"GetPromptResult":    `{"resultType": "complete", "messages": []}`,
		"ReadResourceResult": `{"resultType": "complete", "contents": [], "ttlMs": 0, "cacheScope": "public"}`,
	} {
		for _, result := range []string{complete, `{"resultType": "input_required", "requestState": ""}`} {
			response := decode(t, `{"jsonrpc": "2.0", "id": 1, "result": `+result+`}`)
			if found := s.Validate(definition+"Response", response); len(found) > 0 {
				t.Errorf("%s, %s: %v", definition, result, found)
			}
		}
	}
}

func TestViolationsAreBounded(t *testing.T) {
	t.Parallel()
	for _, size := range []int{10_000, 100_000} {
		boundedViolations(t, size)
	}
}

func boundedViolations(t *testing.T, size int) {
	t.Helper()
	items := make([]any, size)
	found := schemaOf(t, "2025-06-18").Validate("CallToolResult", map[string]any{"content": items})
	if len(found) != maxViolations+1 {
		t.Fatalf("got %d violations, want %d", len(found), maxViolations+1)
	}
	if last := found[maxViolations].String(); last != "expected no violation; found more that are not listed" {
		t.Errorf("the last says %q", last)
	}
	if first, hundredth := found[0].Pointer, found[maxViolations-1].Pointer; first != "/content/0" || hundredth != "/content/99" {
		t.Errorf("listed from %s to %s, not the first ones", first, hundredth)
	}
}

// A message too large to be judged at once is judged in pieces, with the same words.
func TestLargeMessages(t *testing.T) {
	t.Parallel()
	block := func() any {
		return map[string]any{"type": "text", "text": "x", "_meta": map[string]any{"tags": []any{"a", "b"}}}
	}
	many := func(n int) []any {
		items := make([]any, n)
		for i := range items {
			items[i] = block()
		}
		return items
	}
	content := many(9000)
	inner := many(9000)
	inner[8500].(map[string]any)["text"] = 1
	content[4000].(map[string]any)["type"] = "txt"
	values := make([]any, 50_000)
	for i := range values {
		values[i] = "x"
	}
	values[49_999] = json.Number("1")
	for _, c := range []struct {
		name, definition string
		value            any
		want             []string
	}{
		{"valid", "CallToolResult", map[string]any{"content": many(9000), "isError": false}, nil},
		{"an item", "CallToolResult", map[string]any{"content": content, "isError": 1, "other": many(5000)}, []string{
			`at /content/4000/type: expected one of "text", "image", "audio", "resource_link", "resource"; found "txt" (ContentBlock)`,
			`at /isError: expected a boolean; found 1 (CallToolResult)`,
		}},
		{"an array in an array", "SamplingMessage", map[string]any{"content": append(many(3), map[string]any{
			"type": "tool_result", "content": inner, "toolUseId": json.Number("3"),
		})}, []string{
			`expected member "role"; found an object with only the member content (SamplingMessage)`,
			`at /content/3/content/8500/text: expected a string; found 1 (TextContent)`,
			`at /content/3/toolUseId: expected a string; found 3 (ToolResultContent)`,
		}},
		{"too many items", "CompleteResult", map[string]any{"completion": map[string]any{"values": values}}, []string{
			`at /completion/values: expected at most 100 items; found an array of 50000 items (CompleteResult)`,
			`at /completion/values/49999: expected a string; found 1 (CompleteResult)`,
		}},
		{"the array itself", "CallToolResult", values, []string{`expected an object; found an array of 50000 items (CallToolResult)`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if pieces(c.value) == nil {
				t.Error("the value is not large")
			}
			got := lines(schemaOf(t, "2025-11-25").Validate(c.definition, c.value))
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestUnknownDefinitionPanics(t *testing.T) {
	t.Parallel()
	defer func() {
		if reason := recover(); reason == nil {
			t.Error("no panic: a mistyped definition goes unnoticed")
		}
	}()
	schemaOf(t, "2025-06-18").Validate("CallToolsResult", nil)
}

func TestWholeMessages(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, revision string
		judge          func(*Schema, any) []Violation
		message        string
		want           []string
	}{
		{"request", "2025-06-18", request("tools/call"), `{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "x"}}`, nil},
		{"request of 2025-06-18 has its envelope judged too", "2025-06-18", request("tools/call"),
			`{"id": 1.5, "method": "tools/call", "params": {"name": "x", "_meta": {"progressToken": null}}}`, []string{
				`expected member "jsonrpc"; found an object with members id, method, params (JSONRPCRequest)`,
				`at /id: expected an integer or a string; found 1.5 (RequestId)`,
				`at /params/_meta/progressToken: expected an integer or a string; found null (ProgressToken)`,
			}},
		{"request is said wrong once", "2025-11-25", request("tools/call"), `{"jsonrpc": "2.0", "method": "tools/call", "params": {}}`, []string{
			`expected member "id"; found an object with members jsonrpc, method, params (CallToolRequest)`,
			`at /params: expected member "name"; found an empty object (CallToolRequestParams)`,
		}},
		{"unknown method", "2025-11-25", request("x/y"), `{"jsonrpc": "2.0", "id": "", "method": "x/y"}`, nil},
		{"array of params", "2025-11-25", request("x/y"), `{"jsonrpc": "2.0", "id": "", "method": "x/y", "params": []}`, []string{
			`at /params: expected an object; found an empty array (JSONRPCRequest)`,
		}},
		{"notification", "2025-11-25", notification("notifications/initialized"), `{"jsonrpc": "2.0", "method": "notifications/initialized"}`, nil},
		{"notification with an id", "2025-06-18", notification("notifications/initialized"),
			`{"jsonrpc": "2.0", "id": 1, "method": "notifications/initialized"}`, []string{
				`at /id: expected no member "id"; found 1 (JSONRPCNotification)`,
			}},
		{"notification with an id, later", "2026-07-28", notification("notifications/progress"),
			`{"jsonrpc": "2.0", "id": 1, "method": "notifications/progress", "params": {"progressToken": 1, "progress": 1}}`, []string{
				`at /id: expected no member "id"; found 1 (JSONRPCNotification)`,
			}},
		{"request without an id", "2025-11-25", notification("ping"), `{"jsonrpc": "2.0", "method": "ping"}`, []string{
			`at /method: expected the method of a notification; found "ping", the method of a request (JSONRPCNotification)`,
		}},
		{"response", "2025-11-25", (*Schema).ValidateResponse, `{"jsonrpc": "2.0", "id": 1, "result": {}}`, nil},
		{"response in another version", "2025-06-18", (*Schema).ValidateResponse, `{"jsonrpc": "1.0", "id": 1, "result": []}`, []string{
			`at /jsonrpc: expected "2.0"; found "1.0" (JSONRPCResponse)`,
			`at /result: expected an object; found an empty array (Result)`,
		}},
		{"error", "2025-06-18", (*Schema).ValidateError, `{"jsonrpc": "2.0", "id": 1, "error": {"code": -32601, "message": ""}}`, nil},
		{"error without an id", "2025-06-18", (*Schema).ValidateError, `{"jsonrpc": "2.0", "error": {"code": -32601, "message": ""}}`, []string{
			`expected member "id"; found an object with members error, jsonrpc (JSONRPCError)`,
		}},
		{"error without an id, later", "2025-11-25", (*Schema).ValidateError, `{"jsonrpc": "2.0", "error": {"code": -32700, "message": ""}}`, nil},
		{"error with a fraction", "2025-11-25", (*Schema).ValidateError, `{"jsonrpc": "2.0", "id": 1, "error": {"code": 0.5}}`, []string{
			`at /error: expected member "message"; found an object with only the member code (Error)`,
			`at /error/code: expected an integer; found 0.5 (Error)`,
		}},
		{"error that asks for a visit", "2025-11-25", (*Schema).ValidateError,
			`{"jsonrpc": "2.0", "id": 1, "error": {"code": -32042, "message": "", "data": {}}}`, []string{
				`at /error/data: expected member "elicitations"; found an empty object (URLElicitationRequiredError)`,
			}},
		{"the same code before it meant anything", "2025-06-18", (*Schema).ValidateError,
			`{"jsonrpc": "2.0", "id": 1, "error": {"code": -32042, "message": "", "data": {}}}`, nil},
		{"result", "2025-06-18", result("tools/list"), `{"tools": {}}`, []string{
			`at /tools: expected an array; found an empty object (ListToolsResult)`,
		}},
		{"version that is refused", "2026-07-28", (*Schema).ValidateError,
			`{"jsonrpc": "2.0", "id": 1, "error": {"code": -32022, "message": "", "data": {"supported": "2026-07-28"}}}`, []string{
				`at /error/data: expected member "requested"; found an object with only the member supported (UnsupportedProtocolVersionError)`,
				`at /error/data/supported: expected an array; found "2026-07-28" (UnsupportedProtocolVersionError)`,
			}},
		{"error of JSON-RPC", "2026-07-28", (*Schema).ValidateError, `{"jsonrpc": "2.0", "id": 1, "error": {"code": -32602}}`, []string{
			`at /error: expected member "message"; found an object with only the member code (Error)`,
		}},
		{"request of a server", "2026-07-28", request("roots/list"), `{"jsonrpc": "2.0", "id": 1, "method": "roots/list"}`, []string{
			`at /method: expected the method of a request; found "roots/list", the method of a request for input (JSONRPCRequest)`,
		}},
		{"result without a type", "2026-07-28", result("tools/call"), `{"content": []}`, []string{
			`expected member "resultType"; found an object with only the member content (CallToolResult)`,
		}},
		{"result that is complete", "2026-07-28", result("tools/call"), `{"resultType": "complete", "requestState": "x"}`, []string{
			`expected member "content"; found an object with members requestState, resultType (CallToolResult)`,
		}},
		{"result that needs input", "2026-07-28", result("tools/call"), `{"resultType": "input_required", "requestState": "x"}`, nil},
		{"result that does not say which input", "2026-07-28", result("tools/call"), `{"resultType": "input_required", "content": []}`, []string{
			`expected one of member "inputRequests", member "requestState"; found an object with members content, resultType (InputRequiredResult)`,
		}},
		{"result that may not need input", "2026-07-28", result("tools/list"), `{"resultType": "input_required", "requestState": "x", "_meta": 1}`, []string{
			`at /_meta: expected an object; found 1 (ResultMetaObject)`,
			`at /resultType: expected "complete"; found "input_required", which no answer to tools/list may be (ListToolsResult)`,
		}},
		{"result of an extension", "2026-07-28", result("tools/call"), `{"resultType": "task", "taskId": "x"}`, nil},
		{"answer to a request for input", "2026-07-28", result("elicitation/create"), `{"action": "accept", "resultType": "input_required"}`, nil},
		{"result before there were types", "2025-11-25", result("tools/call"), `{"resultType": "input_required", "requestState": "x"}`, []string{
			`expected member "content"; found an object with members requestState, resultType (CallToolResult)`,
		}},
		{"result of an unknown method", "2025-06-18", result("x/y"), `3`, []string{`expected an object; found 3 (Result)`}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := lines(c.judge(schemaOf(t, c.revision), decode(t, c.message)))
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func request(method string) func(*Schema, any) []Violation {
	return func(s *Schema, message any) []Violation { return s.ValidateRequest(method, message) }
}

func notification(method string) func(*Schema, any) []Violation {
	return func(s *Schema, message any) []Violation { return s.ValidateNotification(method, message) }
}

func result(method string) func(*Schema, any) []Violation {
	return func(s *Schema, value any) []Violation { return s.ValidateResult(method, value) }
}

func TestValidateIsSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	s := open("2025-11-25") // nothing is compiled yet
	value := decode(t, `{"content": [{"type": "txt"}]}`)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			if found := s.Validate("CallToolResult", value); len(found) != 1 {
				t.Errorf("got %v", found)
			}
		})
	}
	group.Wait()
}

func TestFormats(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		check     func(string) error
		good, bad []string
	}{
		"uri": {checkURI,
			[]string{
				"http://example.com", "file:///a%20b", "urn:isbn:0451450523", "x:", "mailto:a@b", "ftp://u:p@h:21/p;x?q#f", "http://[::1]:80/",
				"test://a%20b/c", "custom+scheme-1.0://", "data:text/plain,a%2Cb", "a://b?c=/?d#e/?f",
			},
			[]string{
				"", "a", "/a", "//a/b", "1a:b", "http://a b", "http://é", "a:%zz", "a:%4", "a:#b#c", "http://[::1", "http://a:b:c", "http://h:x/",
				"a:b[c]", "x:{y}", "a:\\b", "a:\"b\"", "a:b\n",
			}},
		"uri-template": {checkURITemplate,
			[]string{"file:///{path}", "{+a}{?b,c*}", "", "plain", "x://{a:3}/ü"},
			[]string{"{", "}", "{a", "a b{", "{a{b}}", "{}"}},
		"byte": {checkBase64,
			[]string{"", "YQ==", "YWI=", "YWJj", "++//", "YW\nJj"},
			[]string{"Y", "YQ", "YQ=", "YW-_", "YQ== x", "=", "ü"}},
	}
	for name, c := range cases {
		for _, text := range c.good {
			if err := c.check(text); err != nil {
				t.Errorf("%s refuses %q: %v", name, text, err)
			}
		}
		for _, text := range c.bad {
			if err := c.check(text); err == nil {
				t.Errorf("%s accepts %q", name, text)
			}
		}
	}
}

func TestTameNumbers(t *testing.T) {
	t.Parallel()
	zeros, nines := strings.Repeat("0", 2000), strings.Repeat("9", 2000)
	for number, want := range map[string]string{
		"0": "0", "-1.50": "-1.50", "1e400": "1e400", "1e401": "1e400", "-3E+99999999999999999999": "-3e400",
		"5e-500": "1e-400", "-5e-500": "-1e-400", "0e999": "0", "0." + zeros: "0", "1." + zeros: "1e0", "25." + nines: "25.5",
		nines: "9e400", nines[:1001] + "e-1000": "9.5", "1" + zeros + "e-2000": "1e0", "0." + zeros + "1e2001": "1e0",
	} {
		if got := tameNumber(number); got != want {
			t.Errorf("%.20s…: got %s, want %s", number, got, want)
		}
	}
	original := decode(t, `{"a": [1, {"b": 1e9999}], "c": [2]}`)
	if diff := cmp.Diff(decode(t, `{"a": [1, {"b": 1e400}], "c": [2]}`), tameNumbers(original)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(decode(t, `{"a": [1, {"b": 1e9999}], "c": [2]}`), original); diff != "" {
		t.Errorf("the original was changed (-want +got):\n%s", diff)
	}
}

func FuzzValidate(f *testing.F) {
	for _, seed := range []string{
		`null`, `{}`, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":{}}}`,
		`{"jsonrpc":"2.0","id":1,"error":{"code":-32042,"message":"x","data":{"elicitations":[{}]}}}`,
		`{"jsonrpc":"2.0","method":"elicitation/create","id":"","params":{"mode":"form","message":"","requestedSchema":{"type":"object","properties":{"a":{"type":"string"}}}}}`,
		`{"jsonrpc":"2.0","method":"sampling/createMessage","id":"","params":{"maxTokens":1e99999999,"messages":[{"role":"user","content":[{"type":"tool_result"}]}]}}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
		if err != nil {
			return
		}
		for _, revision := range Revisions() {
			s := schemaOf(t, revision)
			object, _ := value.(map[string]any)
			method, _ := object["method"].(string)
			for _, found := range [][]Violation{
				s.ValidateRequest(method, value), s.ValidateNotification(method, value), s.ValidateResponse(value), s.ValidateError(value),
				s.ValidateResult("tools/call", value), s.Validate("JSONRPCMessage", value), s.Validate("ServerResult", value),
			} {
				for _, v := range found {
					if v.Expected == "" || v.Found == "" || v.Definition == "" && len(found) <= maxViolations {
						t.Errorf("%s: incomplete violation %+v", text, v)
					}
					if at(value, jsonrpc.Path(v.Pointer)) == nil && strings.HasPrefix(v.Expected, "member ") {
						t.Errorf("%s: violation at a place that is not there: %v", text, v)
					}
				}
			}
		}
	})
}

var sink []Violation

func BenchmarkValidate(b *testing.B) {
	for _, c := range []struct{ name, definition, value string }{
		{"request", "CallToolRequest", `{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "x", "arguments": {"a": [1, 2, 3]}}}`},
		{"result", "CallToolResult", `{"content": [{"type": "text", "text": "hello"}, {"type": "resource_link", "name": "x", "uri": "x:y"}]}`},
		{"violation", "CallToolResult", `{"content": [{"type": "txt", "text": "hello"}]}`},
	} {
		b.Run(c.name, func(b *testing.B) {
			s, value := schemaOf(b, "2025-11-25"), decode(b, c.value)
			sink = s.Validate(c.definition, value) // compiles it
			for b.Loop() {
				sink = s.Validate(c.definition, value)
			}
		})
	}
}

func BenchmarkOpen(b *testing.B) {
	for b.Loop() {
		sink = open("2025-11-25").Validate("CallToolResult", nil)
	}
}

func TestViolationIsJSON(t *testing.T) {
	t.Parallel()
	text, err := json.Marshal(Violation{Pointer: "/a", Expected: "b", Found: "c", Definition: "D"})
	if want := `{"pointer":"/a","expected":"b","found":"c","definition":"D"}`; err != nil || string(text) != want {
		t.Errorf("got %s, %v; want %s", text, err, want)
	}
}
