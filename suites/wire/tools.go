package wire

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"sync"
	"unicode/utf8"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/mcp"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/schema"
)

// ToolRules are the rules of the page server/tools.
func ToolRules() []rules.Rule { return append(toolRules(), headers()...) }

// toolRules are about lists of tools, and results of calls.
func toolRules() []rules.Rule {
	return []rules.Rule{
		{
			Text:         "lists no two tools with the same name",
			Requirements: []string{"tools.name.unique"},
			Judge:        unique("tools/list", "name", "notifications/tools/list_changed"),
		},
		{
			Text:         "lists tools whose name has 1 to 128 characters",
			Requirements: []string{"tools.name.length"},
			Judge: judgeText(toolNames, "a name of 1 to 128 characters", func(name string) bool {
				length := utf8.RuneCountInString(name)
				return 1 <= length && length <= 128
			}),
		},
		{
			Text:         "lists tools whose name contains only ASCII letters, digits, dots, hyphens and underscores",
			Requirements: []string{"tools.name.characters"},
			Judge: judgeText(toolNames, "a name of the characters A-Z, a-z, 0-9, _, - and .", func(name string) bool {
				return !strangeInName.MatchString(name)
			}),
		},
		{
			Text:         "lists tools with a valid JSON Schema as inputSchema",
			Requirements: []string{"tools.input-schema.valid", "base.dialects.valid"},
			Judge:        validSchemas("inputSchema"),
		},
		{
			Text:         "lists tools with a valid JSON Schema as outputSchema, if any",
			Requirements: []string{"tools.output-schema.valid", "base.dialects.valid"},
			Judge:        validSchemas("outputSchema"),
		},
		{
			Text:         "returns structuredContent that conforms to the tool's outputSchema",
			Requirements: []string{"tools.structured.conforms"},
			Judge:        conformingStructure,
		},
		{
			Text:         "returns structuredContent also as serialized JSON in a text block",
			Requirements: []string{"tools.structured.text-copy"},
			Judge:        structureAsText,
		},
		{
			Text:         "declares resources if its tools return embedded resources",
			Requirements: []string{"tools.embedded-resource.capability"},
			Judge:        embeddedResourcesDeclared,
		},
		{
			Text:         "returns images and audio from tools with base64 data",
			Requirements: []string{"tools.content.encoded"},
			Judge: func(conversation *rules.Conversation, reporter *rules.Reporter) {
				judgeBy(conversation, reporter, within(ofType(toolContent(conversation), "image", "audio"), "data"),
					"ImageContent/properties/data")
			},
		},
		{
			Text:         "returns images and audio from tools with a valid mimeType",
			Requirements: []string{"tools.content.mime-type"},
			Judge: judgeText(func(conversation *rules.Conversation) []found {
				return within(ofType(toolContent(conversation), "image", "audio"), "mimeType")
			}, aMediaType, isMediaType),
		},
	}
}

// aMediaType is what a mimeType should be, in words.
const aMediaType = "a media type, such as image/png"

var strangeInName = regexp.MustCompile(`[^A-Za-z0-9_.-]`)

func toolNames(conversation *rules.Conversation) []found {
	return within(listed(conversation, "tools/list"), "name")
}

// judgeText judges strings by a predicate; values of other types are left to
// the rule about the schema.
func judgeText(
	places func(*rules.Conversation) []found, wanted string, holds func(string) bool,
) func(*rules.Conversation, *rules.Reporter) {
	return func(conversation *rules.Conversation, reporter *rules.Reporter) {
		for _, one := range places(conversation) {
			text, isString := one.value.(string)
			if !isString {
				continue
			}
			reporter.Observe()
			if !holds(text) {
				reporter.Violation(one.said, rules.Mismatch{Wanted: wanted, Found: rules.Show(text), Where: one.pointer})
			}
		}
	}
}

// unique judges that no two items of a list have the same key, on all its
// pages. changed is the notification after which a list is another one.
func unique(method, key, changed string) func(*rules.Conversation, *rules.Reporter) {
	return func(conversation *rules.Conversation, reporter *rules.Reporter) {
		listings := map[string]*listing{} // by the cursor of the page that comes next
		for _, said := range conversation.ByTarget() {
			if said.Kind == jsonrpc.Notification && said.Method == changed {
				clear(listings)
			}
			if said.Request == nil || said.Request.Method != method || said.ResultObject() == nil {
				continue
			}
			cursor, isLater := said.Request.ParamsObject()["cursor"].(string)
			list := listings[cursor]
			if !isLater || list == nil {
				list = &listing{seen: map[string]bool{}, pages: map[[sha256.Size]byte]bool{}}
			}
			delete(listings, cursor)
			list.judge(said, method, key, reporter)
			if next, more := said.ResultObject()["nextCursor"].(string); more {
				listings[next] = list
			}
		}
	}
}

// listing is a list as far as its pages have been followed.
type listing struct {
	seen  map[string]bool            // keys of all items so far
	pages map[[sha256.Size]byte]bool // the pages so far, by their keys
}

// fingerprint tells lists of names apart.
func fingerprint(names []string) (sum [sha256.Size]byte) {
	hash := sha256.New()
	for _, name := range names {
		_, _ = fmt.Fprintf(hash, "%d:%s", len(name), name) // a hash does not fail
	}
	hash.Sum(sum[:0])
	return sum
}

func (l *listing) judge(said *rules.Message, method, key string, reporter *rules.Reporter) {
	var keys []place
	var names []string
	for _, item := range resultOf(said).items(mcp.ListMember(method)) {
		if name, _ := item.member(key); name.text() != "" {
			keys = append(keys, name)
			names = append(names, name.text())
		}
	}
	page := fingerprint(names)
	if len(names) > 0 && l.pages[page] {
		return // the same page again is not the fault of its items: the pagination checks judge it
	}
	l.pages[page] = true
	for _, name := range keys {
		if len(l.seen) > 0 { // one alone is always unique
			reporter.Observe()
		}
		if l.seen[name.text()] {
			reporter.Violation(said, rules.Mismatch{
				Wanted: fmt.Sprintf("a %s that no other item of the list has", key),
				Found:  rules.Show(name.text()) + " a second time", Where: name.pointer,
			})
		}
		l.seen[name.text()] = true
	}
}

// validSchemas judges a schema that tools have. An object that already breaks the
// protocol's own definition of a tool is left to the rule about that.
func validSchemas(member string) func(*rules.Conversation, *rules.Reporter) {
	return func(conversation *rules.Conversation, reporter *rules.Reporter) {
		if conversation.Schema == nil {
			return
		}
		for _, tool := range listed(conversation, "tools/list") {
			document, there := tool.member(member)
			if there && document.object() == nil && conversation.Has(protocol.SchemaDialect) {
				reporter.Observe()
				reporter.Violation(tool.said, rules.Mismatch{
					Wanted: "a JSON Schema that is an object", Found: rules.Show(document.value), Where: document.pointer,
				})
				continue
			}
			if !there || len(conversation.Schema.Validate("Tool/properties/"+member, document.value)) > 0 {
				continue
			}
			_, err := compiled(conversation.Revision, document.value)
			invalid, isInvalid := errors.AsType[*schema.InvalidError](err)
			if err != nil && !isInvalid {
				continue // a dialect that is not known here, a reference elsewhere: it may be right
			}
			reporter.Observe()
			if isInvalid {
				reporter.Violation(tool.said, rules.Mismatch{
					Wanted: "a JSON Schema that is valid by " + invalid.Dialect,
					Found:  fmt.Sprintf("in the %s of the tool %s: %s", member, rules.Show(tool.object()["name"]), invalid.Violations[0]),
					Where:  document.pointer,
				})
			}
		}
	}
}

// draft07 is the dialect that most schemas without one are meant in, where the
// specification does not say.
const draft07 = "http://json-schema.org/draft-07/schema#"

// compiled compiles a tool's schema. Earlier revisions name no dialect for a
// schema that names none: then it only has to be valid in one of two.
func compiled(revision string, document any) (*schema.Compiled, error) {
	text, err := json.Marshal(document)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", schema.ErrCannotJudge, err)
	}
	compile := func() (*schema.Compiled, error) {
		found, err := schema.Compile(document)
		object, isObject := document.(map[string]any)
		if err == nil || protocol.Has(revision, protocol.SchemaDialect) || !isObject || object["$schema"] != nil {
			return found, err
		}
		older := maps.Clone(object)
		older["$schema"] = draft07
		if second, err := schema.Compile(older); err == nil {
			return second, nil
		}
		return found, err
	}
	return compilations.get(revision+" "+string(text), compile)
}

// compilations keeps compiled schemas: the same tools are listed on every
// connection, and compiling takes a millisecond.
var compilations = memory{entries: map[string]compilation{}}

type memory struct {
	mutex   sync.Mutex
	entries map[string]compilation
	bytes   int
}

type compilation struct {
	schema *schema.Compiled
	err    error
}

// maxCompilations bounds what is kept, in bytes of the schemas' text; the tools
// of a large server have some hundred thousand.
const maxCompilations = 4 << 20

func (m *memory) get(key string, compile func() (*schema.Compiled, error)) (*schema.Compiled, error) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if known, there := m.entries[key]; there {
		return known.schema, known.err
	}
	made, err := compile()
	if m.bytes += len(key); m.bytes > maxCompilations {
		clear(m.entries)
		m.bytes = len(key)
	}
	m.entries[key] = compilation{made, err}
	return made, err
}

// conformingStructure judges the results of tools by the output schemas that the latest
// list before the call had: on the connection or, where that has none, at first contact.
func conformingStructure(conversation *rules.Conversation, reporter *rules.Reporter) {
	promised := promises{tools: map[string]*schema.Compiled{}, calls: map[*rules.Message]*schema.Compiled{}, tasks: map[string]*schema.Compiled{}}
	promised.earlier = conversation.Tools
	for _, said := range conversation.Messages {
		switch {
		case !said.FromTarget(conversation.Leg):
			promised.ask(conversation.Revision, said)
		case said.Method == "notifications/tools/list_changed":
			promised.earlier = nil
		case said.Request == nil || said.ResultObject() == nil:
		case said.Request.Method == "tools/list":
			promised.list(conversation.Revision, said)
		case promised.calls[said.Request] == nil:
		case isCreatedTask(said.ResultObject()):
			task, _ := resultOf(said).member("task")
			promised.tasks[taskID(task.object())] = promised.calls[said.Request]
		case isExtensionTask(said):
			promised.tasks[taskID(said.ResultObject())] = promised.calls[said.Request]
		default:
			if result, there := toolResult(said); there {
				judgeStructure(conversation, result, promised.calls[said.Request], reporter)
			}
		}
	}
}

// toolResult returns the result of a tool in a response: to the call itself, to
// tasks/result, or to tasks/get of the tasks extension when the task is done. There
// is false when the response has none, but says what comes first.
func toolResult(said *rules.Message) (result found, there bool) {
	whole := resultOf(said)
	if said.Request.Method == "tasks/get" {
		inner, there := whole.member("result")
		return found{inner, said}, there && whole.object()["status"] == "completed"
	}
	kind, typed := whole.object()["resultType"].(string)
	return found{whole, said}, !typed || kind == "complete"
}

// toolResults returns the results of all tools.
func toolResults(conversation *rules.Conversation) []found {
	return rules.Shared(conversation, "toolResults", readToolResults)
}

func readToolResults(conversation *rules.Conversation) []found {
	var all []found
	for _, method := range []string{"tools/call", "tasks/result", "tasks/get"} {
		for _, said := range conversation.Results(method) {
			if result, there := toolResult(said); there && result.object() != nil {
				all = append(all, result)
			}
		}
	}
	return all
}

// promises are the output schemas by which results are to be judged.
type promises struct {
	earlier []rules.Object                      // tools of the list at first contact
	tools   map[string]*schema.Compiled         // by name
	calls   map[*rules.Message]*schema.Compiled // by the request that gets the result
	tasks   map[string]*schema.Compiled         // by id
}

// ask notes which schema the result of a request is promised by.
func (p promises) ask(revision string, said *rules.Message) {
	params := said.ParamsObject()
	switch name, _ := params["name"].(string); {
	case said.Kind != jsonrpc.Request:
	case said.Method == "tools/call":
		if _, listed := p.tools[name]; !listed {
			p.listed(revision, p.earlier, name)
		}
		p.calls[said] = p.tools[name]
	case said.Method == "tasks/result", said.Method == "tasks/get":
		p.calls[said] = p.tasks[taskID(params)]
	}
}

// list notes the schemas of a page of tools.
func (p promises) list(revision string, said *rules.Message) {
	for _, tool := range resultOf(said).items("tools") {
		p.note(revision, tool.object())
	}
}

// listed notes the schema of one of some tools.
func (p promises) listed(revision string, tools []rules.Object, name string) {
	for _, tool := range tools {
		if tool["name"] == name {
			p.note(revision, tool)
		}
	}
}

// note notes the schema of a tool; nil for one that has none.
func (p promises) note(revision string, tool rules.Object) {
	name, _ := tool["name"].(string)
	p.tools[name] = nil
	if document, there := tool["outputSchema"]; there {
		if output, err := compiled(revision, document); err == nil {
			p.tools[name] = output
		}
	}
}

func judgeStructure(conversation *rules.Conversation, result found, output *schema.Compiled, reporter *rules.Reporter) {
	if result.object() == nil || result.object()["isError"] == true {
		return
	}
	wanted := "structured content that conforms to the outputSchema of the tool"
	content, there := result.member("structuredContent")
	if !there {
		reporter.Observe()
		reporter.Violation(result.said, rules.Mismatch{Wanted: wanted, Found: "a result without structuredContent", Where: result.pointer})
		return
	}
	if content.object() == nil && !conversation.Has(protocol.StructuredValues) {
		return // the rule about the schema has it
	}
	violations, err := output.Validate(content.value)
	if err != nil {
		return // it cannot be judged here
	}
	reporter.Observe()
	for _, violation := range violations {
		reporter.Violation(result.said, rules.Mismatch{
			Wanted: wanted + ": " + violation.Expected, Found: violation.Found,
			Where: content.pointer + violation.Pointer,
		})
	}
}

// structureAsText judges that structured content stands in a text block, too.
// What is no object, as it may be in the stateless era, may be told in other words
// there: the page itself shows a list so.
func structureAsText(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, result := range toolResults(conversation) {
		structured, there := result.member("structuredContent")
		isObject := structured.object() != nil
		if !there || !isObject && !conversation.Has(protocol.StructuredValues) {
			continue
		}
		reporter.Observe()
		if !hasText(result, func(text string) bool {
			value, _ := jsonrpc.Decode([]byte(text))
			return !isObject || sameJSON(structured.value, value)
		}) {
			reporter.Violation(result.said, rules.Mismatch{
				Wanted: "a text block with the structured content as JSON", Found: "none that says the same", Where: result.pointer + "/content",
			})
		}
	}
}

func hasText(result found, holds func(string) bool) bool {
	for _, block := range result.items("content") {
		if text, isText := block.object()["text"].(string); isText && block.object()["type"] == "text" && holds(text) {
			return true
		}
	}
	return false
}

// embeddedResourcesDeclared judges a server whose tools embed resources.
func embeddedResourcesDeclared(conversation *rules.Conversation, reporter *rules.Reporter) {
	if conversation.ServerCapabilities == nil {
		return
	}
	for _, block := range ofType(toolContent(conversation), "resource") {
		reporter.Observe()
		if _, declared := conversation.ServerCapabilities["resources"].(map[string]any); !declared {
			reporter.Violation(block.said, rules.Mismatch{
				Wanted: "a server that declares the capability resources",
				Found:  "an embedded resource of one that does not", Where: block.pointer,
			})
		}
	}
}
