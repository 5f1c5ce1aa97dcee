// What this server serves: tools. Each shows one thing.

package server

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Pace of the tools that take time.
const (
	step         = 2 * time.Millisecond  // between the parts of a tool that works in parts
	taskStep     = 30 * time.Millisecond // of one that runs as a task: a client without a stream for it asks for its result first
	defaultSlow  = 2.0                   // seconds that test_slow takes when not told
	slowParts    = 8                     // between which test_slow reports progress
	reconnectGap = 20 * time.Millisecond // that test_reconnection sends the client away for
)

// noArguments is the schema of tools without parameters.
var noArguments = json.RawMessage(`{"type":"object","additionalProperties":false}`)

var (
	readsOnly = &toolAnnotations{ReadOnlyHint: true, IdempotentHint: true}
	changes   = &toolAnnotations{}
)

// runs makes the run function of a tool with parameters. The arguments have
// been checked against the schema already.
func runs[A any](f func(*call, A) (toolResult, error)) func(*call, json.RawMessage) (toolResult, error) {
	return func(c *call, raw json.RawMessage) (toolResult, error) {
		var arguments A
		if err := decode(raw, &arguments, "arguments"); err != nil {
			return toolResult{}, err
		}
		return f(c, arguments)
	}
}

// just makes the run function of a tool without parameters.
func just(f func(*call) (toolResult, error)) func(*call, json.RawMessage) (toolResult, error) {
	return func(c *call, _ json.RawMessage) (toolResult, error) { return f(c) }
}

// always makes the run function of a tool that always answers the same.
func always(result toolResult) func(*call, json.RawMessage) (toolResult, error) {
	return func(*call, json.RawMessage) (toolResult, error) { return result, nil }
}

// from20251125 and the others are the revisions that have what a tool shows.
var (
	from20251125 = span{since: Revision20251125}
	at20251125   = span{since: Revision20251125, until: Revision20251125}
	until2025    = span{until: Revision20251125}
	from20260728 = span{since: Revision20260728}
)

func fixtureTools() []tool {
	var tools []tool
	tools = append(tools, contentTools()...)
	tools = append(tools, utilityTools()...)
	tools = append(tools, clientTools()...)
	tools = append(tools, changeTools()...)
	tools = append(tools, taskTools()...)
	return append(tools, statelessTools()...)
}

// contentTools show what a result can be.
func contentTools() []tool {
	embeddedText := embedded(textAt("test://embedded-resource", "text/plain", "This is an embedded resource content."))
	return []tool{
		{
			Name: "test_simple_text", Title: "Simple text", Description: "Answers with a text",
			InputSchema: noArguments, Annotations: readsOnly, Icons: icons, Meta: exampleMeta,
			run: always(contents(text("This is a simple text response for testing."))),
		},
		{
			Name: "test_image_content", Title: "Picture", Description: "Answers with a picture",
			InputSchema: noArguments, Annotations: readsOnly,
			run: always(contents(image(pixelPNG))),
		},
		{
			Name: "test_audio_content", Title: "Sound", Description: "Answers with a sound",
			InputSchema: noArguments, Annotations: readsOnly,
			run: always(contents(audio(silenceWAV))),
		},
		{
			Name: "test_embedded_resource", Title: "Embedded resource", Description: "Answers with a resource in full",
			InputSchema: noArguments, Annotations: readsOnly,
			run: always(contents(embeddedText)),
		},
		{
			Name: "test_resource_link", Title: "Link to a resource", Description: "Answers with a resource to be read",
			InputSchema: noArguments, Annotations: readsOnly,
			run: always(contents(link(&resource{
				URI: "test://static-text", Name: "static-text", Title: "Static text", MIMEType: "text/plain",
				Annotations: exampleAnnotations,
			}))),
		},
		{
			Name:        "test_multiple_content_types",
			Title:       "Several things",
			Description: "Answers with a text, a picture and a resource",
			InputSchema: noArguments,
			Annotations: readsOnly,
			run: always(contents(text("Multiple content types test:"), image(pixelPNG),
				embedded(textAt("test://mixed-content-resource", "application/json", `{"test":"data","value":123}`)))),
		},
		{
			Name:        "test_annotated_content",
			Title:       "Annotated content",
			Description: "Answers with content for certain readers",
			InputSchema: noArguments,
			Annotations: readsOnly,
			run: always(contents(
				textContent{Type: "text", Text: "For everybody", Annotations: exampleAnnotations},
				mediaContent{Type: "image", Data: pixelPNG, MIMEType: "image/png", Annotations: exampleAnnotations},
			)),
		},
		{
			Name:        "test_structured_content",
			Title:       "Structured result",
			Description: "Answers with the weather, as data and as text",
			InputSchema: json.RawMessage(`{"type":"object","properties":{"location":{"type":"string"}}}`),
			OutputSchema: json.RawMessage(`{"type":"object","properties":{
				"location":{"type":"string"},"temperature":{"type":"number"},
				"conditions":{"type":"string"},"humidity":{"type":"integer","minimum":0,"maximum":100}},
				"required":["location","temperature","conditions","humidity"]}`),
			Annotations: readsOnly,
			run: runs(func(_ *call, arguments struct {
				Location string `json:"location,omitempty"`
			}) (toolResult, error) {
				return structured(object{
					"location":    orElse(arguments.Location, "Nowhere"),
					"temperature": 22.5,
					"conditions":  "partly cloudy",
					"humidity":    65,
				}), nil
			}),
		},
		{
			Name: "test_error_handling", Title: "Error", Description: "Always fails",
			InputSchema: noArguments, Annotations: readsOnly,
			run: always(failure("This tool intentionally returns an error for testing")),
		},
		{
			Name: "test_input_validation", Title: "Validation", Description: "Repeats a word from one to ten times",
			InputSchema: json.RawMessage(`{"type":"object","properties":{
				"word":{"type":"string","minLength":1,"maxLength":100},
				"times":{"type":"integer","minimum":1,"maximum":10}},
				"required":["word","times"],"additionalProperties":false}`),
			Annotations: readsOnly,
			run: runs(func(_ *call, arguments struct {
				Word  string  `json:"word"`
				Times float64 `json:"times"`
			}) (toolResult, error) {
				var blocks []any
				for range int(arguments.Times) {
					blocks = append(blocks, text(arguments.Word))
				}
				return contents(blocks...), nil
			}),
		},
		{
			Name:        "test_echo",
			Title:       "Echo",
			Description: "Answers with the text that it is given",
			InputSchema: json.RawMessage(
				`{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`,
			),
			Annotations: readsOnly,
			run: runs(func(_ *call, arguments struct {
				Text string `json:"text"`
			}) (toolResult, error) {
				return contents(text(arguments.Text)), nil
			}),
		},
		{
			Name: "json_schema_2020_12_tool", Title: "JSON Schema 2020-12",
			Description: "Takes arguments that need the vocabulary of JSON Schema 2020-12 to describe",
			InputSchema: json.RawMessage(`{
				"$schema":"https://json-schema.org/draft/2020-12/schema",
				"type":"object",
				"$defs":{"address":{"$anchor":"addressDef","type":"object","properties":{
					"street":{"type":"string"},"city":{"type":"string"}}}},
				"properties":{
					"name":{"type":"string"},
					"address":{"$ref":"#/$defs/address"},
					"contactMethod":{"type":"string","enum":["phone","email"]},
					"phone":{"type":"string"},
					"email":{"type":"string"}},
				"allOf":[{"anyOf":[{"required":["phone"]},{"required":["email"]}]}],
				"if":{"properties":{"contactMethod":{"const":"phone"}},"required":["contactMethod"]},
				"then":{"required":["phone"]},
				"else":{"required":["email"]},
				"additionalProperties":false}`),
			Annotations: readsOnly, span: from20251125,
			run: func(_ *call, arguments json.RawMessage) (toolResult, error) {
				return contents(text("Called with " + string(arguments))), nil
			},
		},
	}
}

// utilityTools show what can be said while a request is handled, and how it
// ends.
func utilityTools() []tool {
	return []tool{
		{
			Name: "test_tool_with_logging", Title: "Logging", Description: "Logs three messages",
			InputSchema: noArguments, Annotations: readsOnly,
			run: just(func(c *call) (toolResult, error) {
				c.log("info", "Tool execution started")
				c.log("info", "Tool processing data")
				c.log("info", "Tool execution completed")
				return contents(text("Tool with logging executed successfully")), nil
			}),
		},
		{
			Name: "test_log_levels", Title: "Log levels", Description: "Logs one message of every level",
			InputSchema: noArguments, Annotations: readsOnly,
			run: just(func(c *call) (toolResult, error) {
				for _, level := range logLevels {
					c.log(level, object{"message": "A message of level " + level})
				}
				return contents(text("Logged at every level")), nil
			}),
		},
		{
			Name:        "test_tool_with_progress",
			Title:       "Progress",
			Description: "Reports progress three times, if asked to",
			InputSchema: noArguments,
			Annotations: readsOnly,
			Execution:   &toolExecution{taskOptional},
			run: just(func(c *call) (toolResult, error) {
				for _, done := range []float64{0, 50, 100} {
					c.progress(done, 100, fmt.Sprintf("Completed step %v of 100", done))
					if err := c.wait(step); err != nil {
						return toolResult{}, err
					}
				}
				return contents(text(orElse(string(c.progressToken), "no progress was asked for"))), nil
			}),
		},
		{
			Name:        "test_slow",
			Title:       "Slow",
			Description: "Does nothing for some seconds and reports that, unless it is cancelled",
			InputSchema: json.RawMessage(`{"type":"object","properties":{
				"seconds":{"type":"number","minimum":0,"maximum":10,"default":2}}}`),
			Annotations: readsOnly,
			Execution:   &toolExecution{taskOptional},
			run: runs(func(c *call, arguments struct {
				Seconds *float64 `json:"seconds,omitempty"`
			}) (toolResult, error) {
				seconds := defaultSlow
				if arguments.Seconds != nil {
					seconds = *arguments.Seconds
				}
				for part := range slowParts {
					if err := c.wait(time.Duration(seconds * float64(time.Second) / slowParts)); err != nil {
						return toolResult{}, err
					}
					c.progress(float64(part+1), slowParts, "Still busy with nothing")
				}
				return contents(text("Done at last")), nil
			}),
		},
		{
			Name: "test_reconnection", Title: "Reconnection",
			Description: "Ends the connection before the answer, which waits for the client to come back",
			InputSchema: noArguments, Annotations: readsOnly, span: until2025,
			run: just(func(c *call) (toolResult, error) {
				if !c.disconnect(reconnectGap) {
					return contents(text("This connection cannot be taken up again, so it was not ended.")), nil
				}
				return contents(
					text(
						"Reconnection test completed successfully. If you received this, the client properly reconnected after stream closure.",
					),
				), nil
			}),
		},
	}
}

// usernameForm is a form with one field.
var usernameForm = json.RawMessage(`{"type":"object","properties":{
	"username":{"type":"string","description":"Your preferred username"}},"required":["username"]}`)

// clientTools ask the client. Each fails when it has not declared what it
// would need.
func clientTools() []tool {
	promptSchema := json.RawMessage(`{"type":"object","properties":{
		"prompt":{"type":"string","description":"What to ask the model"}},"required":["prompt"]}`)
	messageSchema := json.RawMessage(`{"type":"object","properties":{
		"message":{"type":"string","description":"What to ask the user"}},"required":["message"]}`)
	type promptArguments struct {
		Prompt string `json:"prompt"`
	}
	type messageArguments struct {
		Message string `json:"message"`
	}
	return []tool{
		{
			Name: "test_sampling", Title: "Sampling", Description: "Asks the client's model",
			InputSchema: promptSchema, Annotations: readsOnly, Execution: &toolExecution{taskOptional},
			run: runs(func(c *call, arguments promptArguments) (toolResult, error) {
				return saidByModel(c.sample("sampling", arguments.Prompt))
			}),
		},
		{
			Name: "test_sampling_with_tools", Title: "Sampling with a tool",
			Description: "Asks the client's model, and lends it a tool that knows the weather",
			InputSchema: promptSchema, Annotations: readsOnly, span: from20251125,
			run: runs(func(c *call, arguments promptArguments) (toolResult, error) {
				weather := &tool{
					Name:        "get_weather",
					Description: "Tells the weather in a city",
					InputSchema: json.RawMessage(
						`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`,
					),
				}
				return saidByModel(c.sampleWithTool(arguments.Prompt, weather, func(json.RawMessage) string {
					return "Partly cloudy, 22.5 degrees"
				}))
			}),
		},
		{
			Name:        "test_sampling_as_task",
			Title:       "Sampling as a task",
			Description: "Asks the client's model by way of a task",
			InputSchema: promptSchema,
			Annotations: readsOnly,
			span:        at20251125,
			run: runs(func(c *call, arguments promptArguments) (toolResult, error) {
				return saidByModel(c.sampleAsTask(arguments.Prompt))
			}),
		},
		{
			Name: "test_elicitation", Title: "Elicitation", Description: "Asks the user for a name",
			InputSchema: messageSchema, Annotations: readsOnly, Execution: &toolExecution{taskOptional},
			run: runs(func(c *call, arguments messageArguments) (toolResult, error) {
				return saidByUser(c.elicitForm("elicitation", arguments.Message, usernameForm))
			}),
		},
		{
			Name:        "test_elicitation_as_task",
			Title:       "Elicitation as a task",
			Description: "Asks the user by way of a task",
			InputSchema: messageSchema,
			Annotations: readsOnly,
			span:        at20251125,
			run: runs(func(c *call, arguments messageArguments) (toolResult, error) {
				return saidByUser(c.elicitFormAsTask(arguments.Message, usernameForm))
			}),
		},
		{
			Name: "test_elicitation_sep1034_defaults", Title: "Form with defaults",
			Description: "Asks the user, and suggests a value for every type of field",
			InputSchema: noArguments, Annotations: readsOnly, span: from20251125,
			run: just(func(c *call) (toolResult, error) {
				return saidByUser(c.elicitForm("elicitation", "Please review the suggested values.", json.RawMessage(`{
					"type":"object","properties":{
					"name":{"type":"string","description":"User name","default":"John Doe"},
					"age":{"type":"integer","description":"User age","default":30},
					"score":{"type":"number","description":"User score","default":95.5},
					"status":{"type":"string","description":"User status","enum":["active","inactive","pending"],"default":"active"},
					"verified":{"type":"boolean","description":"Verification status","default":true}}}`)))
			}),
		},
		{
			Name: "test_elicitation_sep1330_enums", Title: "Form with choices",
			Description: "Asks the user to choose, in every way that there is",
			InputSchema: noArguments, Annotations: readsOnly, span: from20251125,
			run: just(func(c *call) (toolResult, error) {
				return saidByUser(c.elicitForm("elicitation", "Please choose.", json.RawMessage(`{
					"type":"object","properties":{
					"untitledSingle":{"type":"string","enum":["option1","option2","option3"]},
					"titledSingle":{"type":"string","oneOf":[
						{"const":"value1","title":"First Option"},
						{"const":"value2","title":"Second Option"},
						{"const":"value3","title":"Third Option"}]},
					"legacyEnum":{"type":"string","enum":["opt1","opt2","opt3"],"enumNames":["Option One","Option Two","Option Three"]},
					"untitledMulti":{"type":"array","minItems":1,"maxItems":3,"items":{"type":"string","enum":["option1","option2","option3"]}},
					"titledMulti":{"type":"array","minItems":1,"maxItems":3,"items":{"anyOf":[
						{"const":"value1","title":"First Choice"},
						{"const":"value2","title":"Second Choice"},
						{"const":"value3","title":"Third Choice"}]}}}}`)))
			}),
		},
		{
			Name:        "test_elicitation_url",
			Title:       "Visit to a URL",
			Description: "Asks the user to visit a URL, and pretends that it was done",
			InputSchema: noArguments,
			Annotations: readsOnly,
			span:        from20251125,
			run: just(func(c *call) (toolResult, error) {
				id := rand.Text()
				result, err := c.elicitURL("visit", id, "Please visit this page.")
				if err == nil && result.Action == "accept" && c.session != nil {
					c.notify(elicitationComplete(id))
				}
				return saidByUser(result, err)
			}),
		},
		{
			Name:        "test_elicitation_url_required",
			Title:       "Visit to a URL first",
			Description: "Fails the first time, since a URL must be visited before; the second time pretends that it was done",
			InputSchema: noArguments,
			Annotations: readsOnly,
			span:        at20251125,
			Execution:   &toolExecution{taskOptional},
			run: just(func(c *call) (toolResult, error) {
				if !c.canElicitURL() {
					return toolResult{}, errNoURL
				}
				s := c.session
				s.mu.Lock()
				visited := s.urlVisited
				s.urlVisited = true
				s.mu.Unlock()
				if visited {
					return contents(text("The page has been visited.")), nil
				}
				id := rand.Text()
				c.afterwards = append(c.afterwards, func() { s.notify(elicitationComplete(id)) })
				return toolResult{}, c.urlRequired(id, "Please visit this page first.")
			}),
		},
		{
			Name: "test_list_roots", Title: "Roots", Description: "Asks the client for its roots",
			InputSchema: noArguments, Annotations: readsOnly,
			run: just(func(c *call) (toolResult, error) {
				roots, err := c.listRoots("roots")
				if err != nil {
					return toolResult{}, err
				}
				return contents(text(string(encode(roots)))), nil
			}),
		},
		{
			Name: "test_ping", Title: "Ping", Description: "Pings the client",
			InputSchema: noArguments, Annotations: readsOnly, span: until2025,
			run: just(func(c *call) (toolResult, error) {
				if err := c.pingClient(); err != nil {
					return toolResult{}, err
				}
				return contents(text("The client has answered the ping")), nil
			}),
		},
	}
}

func saidByModel(result samplingResult, err error) (toolResult, error) {
	if err != nil {
		return toolResult{}, err
	}
	said, err := result.text()
	if err != nil {
		return toolResult{}, err
	}
	return contents(text("LLM response: " + said)), nil
}

func saidByUser(result elicitResult, err error) (toolResult, error) {
	if err != nil {
		return toolResult{}, err
	}
	return contents(text(fmt.Sprintf("User response: action=%s, content=%s",
		result.Action, orElse(string(result.Content), "none")))), nil
}

// changeTools change what the session has, and cause notifications.
func changeTools() []tool {
	return []tool{
		{
			Name: "test_trigger_tool_change", Title: "Change of tools", Description: "Adds a tool, or removes it again",
			InputSchema: noArguments, Annotations: changes,
			run: just(func(c *call) (toolResult, error) {
				c.features.changeTools(transientTool)
				return contents(text("The list of tools has changed")), nil
			}),
		},
		{
			Name:        "test_trigger_resource_change",
			Title:       "Change of resources",
			Description: "Adds a resource, or removes it again",
			InputSchema: noArguments,
			Annotations: changes,
			run: just(func(c *call) (toolResult, error) {
				c.features.changeResources(transientResource)
				return contents(text("The list of resources has changed")), nil
			}),
		},
		{
			Name:        "test_trigger_prompt_change",
			Title:       "Change of prompts",
			Description: "Adds a prompt, or removes it again",
			InputSchema: noArguments,
			Annotations: changes,
			run: just(func(c *call) (toolResult, error) {
				c.features.changePrompts(transientPrompt)
				return contents(text("The list of prompts has changed")), nil
			}),
		},
		{
			Name: "test_touch_resource", Title: "Change of a resource", Description: "Changes " + watchedURI,
			InputSchema: noArguments, Annotations: changes,
			run: just(func(c *call) (toolResult, error) {
				c.features.touch()
				return contents(text(watchedURI + " has changed")), nil
			}),
		},
	}
}

// transientTool is there or not, as test_trigger_tool_change decides.
var transientTool = &tool{
	Name: "test_transient_tool", Title: "Transient tool", Description: "Comes and goes",
	InputSchema: noArguments, Annotations: readsOnly,
	run: always(contents(text("Here today, gone tomorrow."))),
}

// taskTools show tasks.
func taskTools() []tool {
	return []tool{
		{
			Name:        "test_task_required",
			Title:       "Only as a task",
			Description: "Can be called only as a task",
			InputSchema: noArguments,
			Annotations: readsOnly,
			span:        from20251125,
			Execution:   &toolExecution{taskRequired},
			async:       taskRequired,
			run: just(func(c *call) (toolResult, error) {
				for _, done := range []float64{1, 2} {
					c.progress(done, 2, fmt.Sprintf("Completed step %v of 2", done))
					c.log("info", fmt.Sprintf("Step %v", done))
					if err := c.wait(taskStep); err != nil {
						return toolResult{}, err
					}
				}
				return contents(text("The task is done")), nil
			}),
		},
		{
			Name:        "test_task_forbidden",
			Title:       "Never as a task",
			Description: "Cannot be called as a task",
			InputSchema: noArguments,
			Annotations: readsOnly,
			span:        at20251125,
			Execution:   &toolExecution{taskForbidden},
			run:         always(contents(text("This was not a task"))),
		},
		{
			Name:        "test_task_failing",
			Title:       "Failing task",
			Description: "Fails, as a task or not",
			InputSchema: noArguments,
			Annotations: readsOnly,
			span:        from20251125,
			Execution:   &toolExecution{taskOptional},
			async:       taskOptional,
			run: just(func(c *call) (toolResult, error) {
				if err := c.wait(step); err != nil {
					return toolResult{}, err
				}
				return toolResult{}, errors.New("this tool intentionally fails for testing")
			}),
		},
	}
}
