package tools

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"unicode/utf8"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/mcp"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/rules/claims"
	"github.com/mcpconform/mcpconform/internal/rules/facts"
	"github.com/mcpconform/mcpconform/internal/rules/formats"
	"github.com/mcpconform/mcpconform/internal/rules/places"
	"github.com/mcpconform/mcpconform/internal/rules/tasks"
	"github.com/mcpconform/mcpconform/schema"
)

// Rules are the rules of the page server/tools.
func Rules() []rules.Rule { return append(toolRules(), headerRules()...) }

// toolRules are about lists of tools, and results of calls.
func toolRules() []rules.Rule {
	return slices.Concat([]rules.Rule{
		{
			Text:     "lists no two tools with the same name",
			Verifies: rules.Verifies("tools.name.unique"),
			Judge:    places.UniqueNames("tools/list", "name", "notifications/tools/list_changed"),
		},
		{
			Text:     "lists tools whose name has 1 to 128 characters",
			Verifies: rules.Verifies("tools.name.length"),
			Judge: places.JudgeText(toolNames, "a name of 1 to 128 characters", func(name string) bool {
				length := utf8.RuneCountInString(name)
				return 1 <= length && length <= 128
			}),
		},
		{
			Text:     "lists tools whose name contains only ASCII letters, digits, dots, hyphens and underscores",
			Verifies: rules.Verifies("tools.name.characters"),
			Judge: places.JudgeText(toolNames, "a name of the characters A-Z, a-z, 0-9, _, - and .", func(name string) bool {
				return !strangeInName.MatchString(name)
			}),
		},
		{
			Text:     "lists tools with a valid JSON Schema as inputSchema",
			Verifies: rules.Verifies("tools.input-schema.valid", "base.dialects.valid"),
			Judge:    validSchemas("inputSchema"),
		},
		{
			Text:     "lists tools with a valid JSON Schema as outputSchema, if any",
			Verifies: rules.Verifies("tools.output-schema.valid", "base.dialects.valid"),
			Judge:    validSchemas("outputSchema"),
		},
		{
			Text:     "returns structuredContent that conforms to the tool's outputSchema",
			Verifies: rules.Verifies("tools.structured.conforms"),
			Judge:    conformingStructure,
		},
	}, resultRules())
}

func resultRules() []rules.Rule {
	return []rules.Rule{
		{
			Text:     "returns structuredContent also as serialized JSON in a text block",
			Verifies: rules.Verifies("tools.structured.text-copy"),
			Judge:    structureAsText,
		},
		{
			Text:     "declares resources if its tools return embedded resources",
			Verifies: rules.Verifies("tools.embedded-resource.capability"),
			Judge:    embeddedResourcesDeclared,
		},
		{
			Text:     "returns images and audio from tools with base64 data",
			Verifies: rules.Verifies("tools.content.encoded"),
			Judge: func(conversation *rules.Conversation, reporter *rules.Reporter) {
				claims.JudgeBy(
					conversation,
					reporter,
					places.Within(places.OfType(places.ToolContent(conversation), "image", "audio"), "data"),
					"ImageContent/properties/data",
				)
			},
		},
		{
			Text:     "returns images and audio from tools with a valid mimeType",
			Verifies: rules.Verifies("tools.content.mime-type"),
			Judge: places.JudgeText(func(conversation *rules.Conversation) []places.Found {
				return places.Within(places.OfType(places.ToolContent(conversation), "image", "audio"), "mimeType")
			}, formats.AMediaType, formats.IsMediaType),
		},
	}
}

var strangeInName = regexp.MustCompile(`[^A-Za-z0-9_.-]`)

func toolNames(conversation *rules.Conversation) []places.Found {
	return places.Within(places.Listed(conversation, "tools/list"), "name")
}

// validSchemas judges a schema that tools have. An object that already breaks the
// protocol's own definition of a tool is left to the rule about that.
func validSchemas(member string) func(*rules.Conversation, *rules.Reporter) {
	return func(conversation *rules.Conversation, reporter *rules.Reporter) {
		if conversation.Schema == nil {
			return
		}
		for _, tool := range places.Listed(conversation, "tools/list") {
			document, there := tool.Member(member)
			if there && document.Object() == nil && conversation.Has(protocol.SchemaDialect) {
				reporter.Observe()
				reporter.Violation(tool.Said, rules.Mismatch{
					Wanted: "a JSON Schema that is an object",
					Found:  rules.Show(document.Value),
					Where:  document.Pointer,
				})
				continue
			}
			if !there || len(conversation.Schema.Validate("Tool/properties/"+member, document.Value)) > 0 {
				continue
			}
			_, err := facts.Compile(conversation.Revision, document.Value)
			invalid, isInvalid := errors.AsType[*schema.InvalidError](err)
			if err != nil && !isInvalid {
				continue // a dialect that is not known here, a reference elsewhere: it may be right
			}
			reporter.Observe()
			if isInvalid {
				reporter.Violation(tool.Said, rules.Mismatch{
					Wanted: "a JSON Schema that is valid by " + invalid.Dialect,
					Found:  fmt.Sprintf("in the %s of the tool %s: %s", member, rules.Show(tool.Object()["name"]), invalid.Violations[0]),
					Where:  document.Pointer,
				})
			}
		}
	}
}

// conformingStructure judges the results of tools by the output schemas that the latest
// list before the call had: on the connection or, where that has none, at first contact.
func conformingStructure(conversation *rules.Conversation, reporter *rules.Reporter) {
	promised := promises{tools: map[string]*schema.Compiled{}, calls: map[*rules.Message]*schema.Compiled{}, tasks: map[string]*schema.Compiled{}}
	promised.earlier = conversation.Tools
	for _, message := range conversation.Messages {
		switch {
		case !message.FromTarget(conversation.Cell):
			promised.ask(conversation.Revision, message)
		case message.Method == "notifications/tools/list_changed":
			promised.earlier = nil
		case message.Request == nil || message.ResultObject() == nil:
		case message.Request.Method == "tools/list":
			promised.list(conversation.Revision, message)
		case promised.calls[message.Request] == nil:
		case tasks.IsCreated(message.ResultObject()):
			task, _ := places.ResultOf(message).Member("task")
			promised.tasks[tasks.ID(task.Object())] = promised.calls[message.Request]
		case tasks.IsOfExtension(message):
			promised.tasks[tasks.ID(message.ResultObject())] = promised.calls[message.Request]
		default:
			if result, there := places.ToolResult(message); there {
				judgeStructure(conversation, result, promised.calls[message.Request], reporter)
			}
		}
	}
}

// promises are the output schemas by which results are to be judged.
type promises struct {
	earlier []rules.Object                      // tools of the list at first contact
	tools   map[string]*schema.Compiled         // by name
	calls   map[*rules.Message]*schema.Compiled // by the request that gets the result
	tasks   map[string]*schema.Compiled         // by id
}

// ask notes which schema the result of a request is promised by.
func (p promises) ask(revision string, message *rules.Message) {
	params := message.ParamsObject()
	switch name, _ := params["name"].(string); {
	case message.Kind != jsonrpc.Request:
	case message.Method == "tools/call":
		if _, listed := p.tools[name]; !listed {
			p.listed(revision, p.earlier, name)
		}
		p.calls[message] = p.tools[name]
	case message.Method == "tasks/result", message.Method == "tasks/get":
		p.calls[message] = p.tasks[tasks.ID(params)]
	}
}

// list notes the schemas of a page of tools.
func (p promises) list(revision string, message *rules.Message) {
	for _, tool := range places.ResultOf(message).Items("tools") {
		p.note(revision, tool.Object())
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
	name := mcp.Text(tool, "name")
	p.tools[name] = nil
	if document, there := tool["outputSchema"]; there {
		if output, err := facts.Compile(revision, document); err == nil {
			p.tools[name] = output
		}
	}
}

func judgeStructure(conversation *rules.Conversation, result places.Found, output *schema.Compiled, reporter *rules.Reporter) {
	if result.Object() == nil || result.Object()["isError"] == true {
		return
	}
	wanted := "structured content that conforms to the outputSchema of the tool"
	content, there := result.Member("structuredContent")
	if !there {
		reporter.Observe()
		reporter.Violation(result.Said, rules.Mismatch{Wanted: wanted, Found: "a result without structuredContent", Where: result.Pointer})
		return
	}
	if content.Object() == nil && !conversation.Has(protocol.StructuredValues) {
		return // the rule about the schema has it
	}
	violations, err := output.Validate(content.Value)
	if err != nil {
		return // it cannot be judged here
	}
	reporter.Observe()
	for _, violation := range violations {
		reporter.Violation(result.Said, rules.Mismatch{
			Wanted: wanted + ": " + violation.Expected, Found: violation.Found,
			Where: content.Pointer + violation.Pointer,
		})
	}
}

// structureAsText judges that structured content stands in a text block, too.
// What is no object, as it may be in the stateless era, may be told in other words
// there: the page itself shows a list so.
func structureAsText(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, result := range places.ToolResults(conversation) {
		structured, there := result.Member("structuredContent")
		isObject := structured.Object() != nil
		if !there || !isObject && !conversation.Has(protocol.StructuredValues) {
			continue
		}
		reporter.Observe()
		if !hasText(result, func(text string) bool {
			value, _ := jsonrpc.Decode([]byte(text))
			return !isObject || jsonrpc.Equal(structured.Value, value)
		}) {
			reporter.Violation(result.Said, rules.Mismatch{
				Wanted: "a text block with the structured content as JSON",
				Found:  "no text block with the same content",
				Where:  result.Pointer + "/content",
			})
		}
	}
}

func hasText(result places.Found, holds func(string) bool) bool {
	for _, block := range result.Items("content") {
		if text, isText := block.Object()["text"].(string); isText && block.Object()["type"] == "text" && holds(text) {
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
	for _, block := range places.OfType(places.ToolContent(conversation), "resource") {
		reporter.Observe()
		if _, declared := conversation.ServerCapabilities["resources"].(map[string]any); !declared {
			reporter.Violation(block.Said, rules.Mismatch{
				Wanted: "a server that declares the capability resources",
				Found:  "an embedded resource from one that does not", Where: block.Pointer,
			})
		}
	}
}
