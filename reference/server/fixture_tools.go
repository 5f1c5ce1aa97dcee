// What this server serves: tools. Each shows one thing.

package server

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
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
var noArguments = schema(`{"type":"object","additionalProperties":false}`)

var (
	readsOnly = &toolAnnotations{ReadOnlyHint: true, IdempotentHint: true}
	changes   = &toolAnnotations{}
)

// newTool is a tool without parameters that only reads, at all revisions, and never runs as a
// task; the functions below say otherwise.
func newTool(name, title, description string) tool {
	return tool{
		Name: name, Title: title, Description: description,
		InputSchema: noArguments, Annotations: readsOnly,
	}
}

func (t tool) takes(arguments json.RawMessage) tool { t.InputSchema = arguments; return t }
func (t tool) gives(content json.RawMessage) tool   { t.OutputSchema = content; return t }
func (t tool) during(revisions span) tool           { t.span = revisions; return t }
func (t tool) changing() tool                       { t.Annotations = changes; return t }
func (t tool) decorated() tool                      { t.Icons, t.Meta = icons, exampleMeta; return t }
func (t tool) asTask(support string) tool           { t.Execution = &toolExecution{support}; return t }
func (t tool) asExtensionTask(support string) tool  { t.async = support; return t }

func (t tool) does(run func(*call, json.RawMessage) (toolResult, error)) tool { t.run = run; return t }

// schema is a JSON Schema as it is written.
func schema(text string) json.RawMessage { return json.RawMessage(text) }

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
	from20250326 = span{since: Revision20250326}
	from20250618 = span{since: Revision20250618}
	from20251125 = span{since: Revision20251125}
	at20251125   = span{since: Revision20251125, until: Revision20251125}
	until2025    = span{until: Revision20251125}
	from20260728 = span{since: Revision20260728}
)

func fixtureTools() []tool {
	return slices.Concat(
		contentTools(), utilityTools(), clientTools(), changeTools(), taskTools(), statelessTools(),
	)
}

// moreOf makes tools that are alike but for their names: a long list.
func moreOf(count int) []tool {
	all := make([]tool, count)
	for i := range all {
		all[i] = newTool(fmt.Sprint("test_one_of_many_", i+1), "One of many", "Answers with a text, as many others do").
			takes(schema(`{"type":"object","properties":{
				"word":{"type":"string","maxLength":100},
				"times":{"type":"integer","minimum":1,"maximum":10}},
				"additionalProperties":false}`)).
			does(always(contents(text("One of many."))))
	}
	return all
}

// contentTools show what a result can be.
func contentTools() []tool {
	embeddedText := embedded(textAt("test://embedded-resource", "text/plain", "This is an embedded resource content."))
	return []tool{
		newTool("test_simple_text", "Simple text", "Answers with a text").decorated().
			does(always(contents(text("This is a simple text response for testing.")))),
		newTool("test_image_content", "Picture", "Answers with a picture").does(always(contents(image(pixelPNG)))),
		newTool("test_audio_content", "Sound", "Answers with a sound").during(from20250326).
			does(always(contents(audio(silenceWAV)))),
		newTool("test_embedded_resource", "Embedded resource", "Answers with a resource in full").
			does(always(contents(embeddedText))),
		newTool("test_resource_link", "Link to a resource", "Answers with a resource to be read").during(from20250618).
			does(always(contents(link(&resource{
				URI: "test://static-text", Name: "static-text", Title: "Static text", MIMEType: "text/plain",
				Annotations: exampleAnnotations,
			})))),
		newTool("test_multiple_content_types", "Several things",
			"Answers with a text, a picture and a resource").
			does(always(contents(text("Multiple content types test:"), image(pixelPNG),
				embedded(textAt("test://mixed-content-resource", "application/json", `{"test":"data","value":123}`))))),
		newTool("test_annotated_content", "Annotated content", "Answers with content for certain readers").
			does(always(contents(
				textContent{Type: "text", Text: "For everybody", Annotations: exampleAnnotations},
				mediaContent{Type: "image", Data: pixelPNG, MIMEType: "image/png", Annotations: exampleAnnotations},
			))),
		newTool(
			"test_structured_content",
			"Structured result",
			"Answers with the weather, as data and as text",
		).during(from20250618).
			takes(schema(`{"type":"object","properties":{"location":{"type":"string"}}}`)).
			gives(schema(`{"type":"object","properties":{
				"location":{"type":"string"},"temperature":{"type":"number"},
				"conditions":{"type":"string"},"humidity":{"type":"integer","minimum":0,"maximum":100}},
				"required":["location","temperature","conditions","humidity"]}`)).
			does(runs(func(_ *call, arguments struct {
				Location string `json:"location,omitempty"`
			}) (toolResult, error) {
				return structured(object{
					"location":    orElse(arguments.Location, "Nowhere"),
					"temperature": 22.5,
					"conditions":  "partly cloudy",
					"humidity":    65,
				}), nil
			})),
		newTool("test_error_handling", "Error", "Always fails").
			does(always(failure("This tool intentionally returns an error for testing"))),
		newTool("test_input_validation", "Validation", "Repeats a word from one to ten times").
			takes(schema(`{"type":"object","properties":{
				"word":{"type":"string","minLength":1,"maxLength":100},
				"times":{"type":"integer","minimum":1,"maximum":10}},
				"required":["word","times"],"additionalProperties":false}`)).
			does(runs(func(_ *call, arguments struct {
				Word  string  `json:"word"`
				Times float64 `json:"times"`
			}) (toolResult, error) {
				var blocks []any
				for range int(arguments.Times) {
					blocks = append(blocks, text(arguments.Word))
				}
				return contents(blocks...), nil
			})),
		newTool("test_echo", "Echo", "Answers with the text that it is given").
			takes(schema(`{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`)).
			does(runs(func(_ *call, arguments struct {
				Text string `json:"text"`
			}) (toolResult, error) {
				return contents(text(arguments.Text)), nil
			})),
		newTool("json_schema_2020_12_tool", "JSON Schema 2020-12",
			"Takes arguments that need the vocabulary of JSON Schema 2020-12 to describe").takes(schema(`{
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
				"additionalProperties":false}`)).during(from20251125).
			does(func(_ *call, arguments json.RawMessage) (toolResult, error) {
				return contents(text("Called with " + string(arguments))), nil
			}),
	}
}

// utilityTools show what can be said while a request is handled, and how it
// ends.
func utilityTools() []tool {
	return []tool{
		newTool("test_tool_with_logging", "Logging", "Logs three messages").
			does(just(func(c *call) (toolResult, error) {
				c.log("info", "Tool execution started")
				c.log("info", "Tool processing data")
				c.log("info", "Tool execution completed")
				return contents(text("Tool with logging executed successfully")), nil
			})),
		newTool("test_log_levels", "Log levels", "Logs one message of every level").
			does(just(func(c *call) (toolResult, error) {
				for _, level := range logLevels {
					c.log(level, object{"message": "A message of level " + level})
				}
				return contents(text("Logged at every level")), nil
			})),
		newTool("test_tool_with_progress", "Progress", "Reports progress three times, if asked to").
			asTask(taskOptional).
			does(just(func(c *call) (toolResult, error) {
				for _, done := range []float64{0, 50, 100} {
					c.progress(done, 100, fmt.Sprintf("Completed step %v of 100", done))
					if err := c.wait(step); err != nil {
						return toolResult{}, err
					}
				}
				return contents(text(orElse(string(c.progressToken), "no progress was asked for"))), nil
			})),
		newTool("test_slow", "Slow", "Does nothing for some seconds and reports that, unless it is cancelled").
			takes(schema(`{"type":"object","properties":{
				"seconds":{"type":"number","minimum":0,"maximum":10,"default":2}}}`)).asTask(taskOptional).
			does(runs(func(c *call, arguments struct {
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
			})),
		newTool("test_reconnection", "Reconnection",
			"Ends the connection before the answer, which waits for the client to come back").during(until2025).
			does(just(func(c *call) (toolResult, error) {
				if !c.disconnect(reconnectGap) {
					return contents(text("This connection cannot be taken up again, so it was not ended.")), nil
				}
				return contents(
					text(
						"Reconnection test completed successfully. If you received this, the client properly reconnected after stream closure.",
					),
				), nil
			})),
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
		newTool("test_sampling", "Sampling", "Asks the client's model").takes(promptSchema).asTask(taskOptional).
			does(runs(func(c *call, arguments promptArguments) (toolResult, error) {
				return saidByModel(c.sample("sampling", arguments.Prompt))
			})),
		newTool("test_sampling_with_tools", "Sampling with a tool",
			"Asks the client's model, and lends it a tool that knows the weather").takes(promptSchema).
			during(from20251125).
			does(runs(func(c *call, arguments promptArguments) (toolResult, error) {
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
			})),
		newTool("test_sampling_as_task", "Sampling as a task", "Asks the client's model by way of a task").
			takes(promptSchema).during(at20251125).
			does(runs(func(c *call, arguments promptArguments) (toolResult, error) {
				return saidByModel(c.sampleAsTask(arguments.Prompt))
			})),
		newTool("test_elicitation", "Elicitation", "Asks the user for a name").takes(messageSchema).
			during(from20250618).asTask(taskOptional).
			does(runs(func(c *call, arguments messageArguments) (toolResult, error) {
				return saidByUser(c.elicitForm("elicitation", arguments.Message, usernameForm))
			})),
		newTool("test_elicitation_as_task", "Elicitation as a task", "Asks the user by way of a task").
			takes(messageSchema).during(at20251125).
			does(runs(func(c *call, arguments messageArguments) (toolResult, error) {
				return saidByUser(c.elicitFormAsTask(arguments.Message, usernameForm))
			})),
		newTool("test_elicitation_sep1034_defaults", "Form with defaults",
			"Asks the user, and suggests a value for every type of field").during(from20251125).
			does(just(func(c *call) (toolResult, error) {
				return saidByUser(c.elicitForm("elicitation", "Please review the suggested values.", json.RawMessage(`{
					"type":"object","properties":{
					"name":{"type":"string","description":"User name","default":"John Doe"},
					"age":{"type":"integer","description":"User age","default":30},
					"score":{"type":"number","description":"User score","default":95.5},
					"status":{"type":"string","description":"User status","enum":["active","inactive","pending"],"default":"active"},
					"verified":{"type":"boolean","description":"Verification status","default":true}}}`)))
			})),
		newTool("test_elicitation_sep1330_enums", "Form with choices",
			"Asks the user to choose, in every way that there is").during(from20251125).
			does(just(func(c *call) (toolResult, error) {
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
			})),
		newTool("test_elicitation_url", "Visit to a URL",
			"Asks the user to visit a URL, and pretends that it was done").during(from20251125).
			does(just(func(c *call) (toolResult, error) {
				id := rand.Text()
				result, err := c.elicitURL("visit", id, "Please visit this page.")
				if err == nil && result.Action == "accept" && c.session != nil {
					c.notify(elicitationComplete(id))
				}
				return saidByUser(result, err)
			})),
		newTool("test_elicitation_url_required", "Visit to a URL first",
			"Fails the first time, since a URL must be visited before; the second time pretends that it was done").
			during(at20251125).asTask(taskOptional).
			does(just(func(c *call) (toolResult, error) {
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
			})),
		newTool("test_list_roots", "Roots", "Asks the client for its roots").
			does(just(func(c *call) (toolResult, error) {
				roots, err := c.listRoots("roots")
				if err != nil {
					return toolResult{}, err
				}
				return contents(text(string(encode(roots)))), nil
			})),
		newTool("test_ping", "Ping", "Pings the client").during(until2025).
			does(just(func(c *call) (toolResult, error) {
				if err := c.pingClient(); err != nil {
					return toolResult{}, err
				}
				return contents(text("The client has answered the ping")), nil
			})),
	}
}

func saidByModel(result samplingResult, err error) (toolResult, error) {
	if err != nil {
		return toolResult{}, err
	}
	words, err := result.text()
	if err != nil {
		return toolResult{}, err
	}
	return contents(text("LLM response: " + words)), nil
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
		newTool("test_trigger_tool_change", "Change of tools", "Adds a tool, or removes it again").changing().
			does(just(func(c *call) (toolResult, error) {
				c.features.changeTools(transientTool)
				return contents(text("The list of tools has changed")), nil
			})),
		newTool("test_trigger_resource_change", "Change of resources", "Adds a resource, or removes it again").
			changing().
			does(just(func(c *call) (toolResult, error) {
				c.features.changeResources(transientResource)
				return contents(text("The list of resources has changed")), nil
			})),
		newTool("test_trigger_prompt_change", "Change of prompts", "Adds a prompt, or removes it again").changing().
			does(just(func(c *call) (toolResult, error) {
				c.features.changePrompts(transientPrompt)
				return contents(text("The list of prompts has changed")), nil
			})),
		newTool("test_touch_resource", "Change of a resource", "Changes "+watchedURI).changing().
			does(just(func(c *call) (toolResult, error) {
				c.features.touch()
				return contents(text(watchedURI + " has changed")), nil
			})),
	}
}

// transientTool is there or not, as test_trigger_tool_change decides.
var transientTool = new(newTool("test_transient_tool", "Transient tool", "Comes and goes").
	does(always(contents(text("Here today, gone tomorrow.")))))

// taskTools show tasks.
func taskTools() []tool {
	return []tool{
		newTool("test_task_required", "Only as a task", "Can be called only as a task").during(from20251125).
			asTask(taskRequired).asExtensionTask(taskRequired).
			does(just(func(c *call) (toolResult, error) {
				for _, done := range []float64{1, 2} {
					c.progress(done, 2, fmt.Sprintf("Completed step %v of 2", done))
					c.log("info", fmt.Sprintf("Step %v", done))
					if err := c.wait(taskStep); err != nil {
						return toolResult{}, err
					}
				}
				return contents(text("The task is done")), nil
			})),
		newTool("test_task_forbidden", "Never as a task", "Cannot be called as a task").during(at20251125).
			asTask(taskForbidden).does(always(contents(text("This was not a task")))),
		newTool("test_task_failing", "Failing task", "Fails, as a task or not").during(from20251125).
			asTask(taskOptional).asExtensionTask(taskOptional).
			does(just(func(c *call) (toolResult, error) {
				if err := c.wait(step); err != nil {
					return toolResult{}, err
				}
				return toolResult{}, errors.New("this tool intentionally fails for testing")
			})),
	}
}
