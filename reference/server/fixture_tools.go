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
const noArguments = `{"type":"object","additionalProperties":false}`

// Hints about tools. All are given, since the defaults are the opposite of harmless.
var (
	readsOnly = object{"readOnlyHint": true, "destructiveHint": false, "idempotentHint": true, "openWorldHint": false}
	changes   = object{"readOnlyHint": false, "destructiveHint": false, "idempotentHint": false, "openWorldHint": false}
)

// newTool is a tool without parameters that only reads, at all revisions, and never runs as a
// task; the functions below say otherwise.
func newTool(name, title, description string) *tool {
	t := &tool{described: about(name, title, description), Annotations: readsOnly}
	return t.takes(noArguments)
}

func (t *tool) takes(schema string) *tool { t.InputSchema = json.RawMessage(schema); return t }
func (t *tool) gives(schema string) *tool { t.OutputSchema = json.RawMessage(schema); return t }

func (t *tool) during(revisions span) *tool          { t.span = revisions; return t }
func (t *tool) changing() *tool                      { t.Annotations = changes; return t }
func (t *tool) asTask(support string) *tool          { t.Execution = object{"taskSupport": support}; return t }
func (t *tool) asExtensionTask(support string) *tool { t.async = support; return t }

func (t *tool) does(run func(*call, arguments) (toolResult, error)) *tool { t.run = run; return t }

// answers makes a tool that always has the same result.
func (t *tool) answers(result toolResult) *tool {
	return t.does(func(*call, arguments) (toolResult, error) { return result, nil })
}

// changesList makes a tool that changes a list, and announces that.
func (t *tool) changesList(of string, change func(*features)) *tool {
	return t.changing().does(func(c *call, _ arguments) (toolResult, error) {
		change(c.features)
		c.features.announce("notifications/"+of+"/list_changed", nil)
		return said("The list of " + of + " has changed")
	})
}

// asksUser makes a tool that has the user fill in a form.
func (t *tool) asksUser(key, message string, form json.RawMessage) *tool {
	return t.does(func(c *call, _ arguments) (toolResult, error) {
		return saidByUser(c.elicitForm(c.asks(key), message, form))
	})
}

// asksForRoots makes a tool that asks the client for its roots.
func (t *tool) asksForRoots(key string) *tool {
	return t.does(func(c *call, _ arguments) (toolResult, error) {
		roots, err := c.listRoots(key)
		return contents(text(string(encode(roots)))), err
	})
}

// said is the result of a tool that has only something to say.
func said(words string) (toolResult, error) { return contents(text(words)), nil }

// works does nothing, in steps, and reports progress at each.
func (c *call) works(pace time.Duration, total float64, steps ...float64) error {
	for _, done := range steps {
		c.progress(done, total, fmt.Sprintf("Completed step %v of %v", done, total))
		if err := c.wait(pace); err != nil {
			return err
		}
	}
	return nil
}

// seconds is a time that an argument says.
func seconds(count float64) time.Duration { return time.Duration(count * float64(time.Second)) }

func fixtureTools() []*tool {
	return slices.Concat(contentTools(), utilityTools(), clientTools(), changeTools(), taskTools(), statelessTools())
}

// moreOf makes tools that are alike but for their names: a long list.
func moreOf(count int) []*tool {
	all := make([]*tool, count)
	for i := range all {
		all[i] = newTool(fmt.Sprint("test_one_of_many_", i+1), "One of many", "Answers with a text, as many others do").
			takes(`{"type":"object","properties":{
				"word":{"type":"string","maxLength":100},
				"times":{"type":"integer","minimum":1,"maximum":10}},
				"additionalProperties":false}`).
			answers(contents(text("One of many.")))
	}
	return all
}

// contentTools show what a result can be.
func contentTools() []*tool {
	simple := newTool("test_simple_text", "Simple text", "Answers with a text").
		answers(contents(text("This is a simple text response for testing.")))
	simple.described = simple.decorated()
	linked := annotated(link("static-text", "text/plain"))
	linked["title"] = "Static text"
	return []*tool{
		simple,
		newTool("test_image_content", "Picture", "Answers with a picture").answers(contents(image())),
		newTool("test_audio_content", "Sound", "Answers with a sound").during(from20250326).
			answers(contents(audio())),
		newTool("test_embedded_resource", "Embedded resource", "Answers with a resource in full").
			answers(contents(embedded(
				textAt("test://embedded-resource", "text/plain", "This is an embedded resource content.")))),
		newTool("test_resource_link", "Link to a resource", "Answers with a resource to be read").during(from20250618).
			answers(contents(linked)),
		newTool("test_multiple_content_types", "Several things", "Answers with a text, a picture and a resource").
			answers(contents(text("Multiple content types test:"), image(),
				embedded(textAt("test://mixed-content-resource", "application/json", `{"test":"data","value":123}`)))),
		newTool("test_annotated_content", "Annotated content", "Answers with content for certain readers").
			answers(contents(annotated(text("For everybody")), annotated(image()))),
		newTool("test_structured_content", "Structured result", "Answers with the weather, as data and as text").
			during(from20250618).
			takes(`{"type":"object","properties":{"location":{"type":"string"}}}`).
			gives(`{"type":"object","properties":{
				"location":{"type":"string"},"temperature":{"type":"number"},
				"conditions":{"type":"string"},"humidity":{"type":"integer","minimum":0,"maximum":100}},
				"required":["location","temperature","conditions","humidity"]}`).
			does(func(_ *call, given arguments) (toolResult, error) {
				return structured(object{
					"location":    orElse(argument(given, "location", ""), "Nowhere"),
					"temperature": 22.5,
					"conditions":  "partly cloudy",
					"humidity":    65,
				}), nil
			}),
		newTool("test_error_handling", "Error", "Always fails").
			answers(failure("This tool intentionally returns an error for testing")),
		newTool("test_input_validation", "Validation", "Repeats a word from one to ten times").
			takes(`{"type":"object","properties":{
				"word":{"type":"string","minLength":1,"maxLength":100},
				"times":{"type":"integer","minimum":1,"maximum":10}},
				"required":["word","times"],"additionalProperties":false}`).
			does(func(_ *call, given arguments) (toolResult, error) {
				var blocks []any
				for range int(argument(given, "times", 1.0)) {
					blocks = append(blocks, text(argument(given, "word", "")))
				}
				return contents(blocks...), nil
			}),
		newTool("test_echo", "Echo", "Answers with the text that it is given").
			takes(`{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`).
			does(func(_ *call, given arguments) (toolResult, error) { return said(argument(given, "text", "")) }),
		newTool("json_schema_2020_12_tool", "JSON Schema 2020-12",
			"Takes arguments that need the vocabulary of JSON Schema 2020-12 to describe").during(from20251125).
			takes(`{
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
				"additionalProperties":false}`).
			does(func(_ *call, given arguments) (toolResult, error) { return said("Called with " + string(given)) }),
	}
}

// utilityTools show what can be said while a request is handled, and how it
// ends.
func utilityTools() []*tool {
	return []*tool{
		newTool("test_tool_with_logging", "Logging", "Logs three messages").
			does(func(c *call, _ arguments) (toolResult, error) {
				c.log("info", "Tool execution started")
				c.log("info", "Tool processing data")
				c.log("info", "Tool execution completed")
				return said("Tool with logging executed successfully")
			}),
		newTool("test_log_levels", "Log levels", "Logs one message of every level").
			does(func(c *call, _ arguments) (toolResult, error) {
				for _, level := range logLevels {
					c.log(level, object{"message": "A message of level " + level})
				}
				return said("Logged at every level")
			}),
		newTool("test_tool_with_progress", "Progress", "Reports progress three times, if asked to").
			asTask(taskOptional).
			does(func(c *call, _ arguments) (toolResult, error) {
				err := c.works(step, 100, 0, 50, 100)
				return contents(text(orElse(string(c.progressToken), "no progress was asked for"))), err
			}),
		newTool("test_slow", "Slow", "Does nothing for some seconds and reports that, unless it is cancelled").
			takes(`{"type":"object","properties":{
				"seconds":{"type":"number","minimum":0,"maximum":10,"default":2}}}`).asTask(taskOptional).
			does(func(c *call, given arguments) (toolResult, error) {
				for part := range slowParts {
					if err := c.wait(seconds(argument(given, "seconds", defaultSlow) / slowParts)); err != nil {
						return toolResult{}, err
					}
					c.progress(float64(part+1), slowParts, "Still busy with nothing")
				}
				return said("Done at last")
			}),
		newTool("test_reconnection", "Reconnection",
			"Ends the connection before the answer, which waits for the client to come back").during(until2025).
			does(func(c *call, _ arguments) (toolResult, error) {
				if !c.disconnect(reconnectGap) {
					return said("This connection cannot be taken up again, so it was not ended.")
				}
				return said("Reconnection test completed successfully. " +
					"If you received this, the client properly reconnected after stream closure.")
			}),
	}
}

// usernameForm is a form with one field.
var usernameForm = json.RawMessage(`{"type":"object","properties":{
	"username":{"type":"string","description":"Your preferred username"}},"required":["username"]}`)

// clientTools ask the client. Each fails when it has not declared what it
// would need.
func clientTools() []*tool {
	const (
		promptSchema = `{"type":"object","properties":{
			"prompt":{"type":"string","description":"What to ask the model"}},"required":["prompt"]}`
		messageSchema = `{"type":"object","properties":{
			"message":{"type":"string","description":"What to ask the user"}},"required":["message"]}`
	)
	return []*tool{
		newTool("test_sampling", "Sampling", "Asks the client's model").takes(promptSchema).asTask(taskOptional).
			does(func(c *call, given arguments) (toolResult, error) {
				return saidByModel(c.sample(c.asks("sampling"), argument(given, "prompt", "")))
			}),
		newTool("test_sampling_with_tools", "Sampling with a tool",
			"Asks the client's model, and lends it a tool that knows the weather").takes(promptSchema).
			during(from20251125).
			does(func(c *call, given arguments) (toolResult, error) {
				return saidByModel(c.sampleWithTool(argument(given, "prompt", ""), object{
					"name":        "get_weather",
					"description": "Tells the weather in a city",
					"inputSchema": json.RawMessage(
						`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`),
				}, "Partly cloudy, 22.5 degrees"))
			}),
		newTool("test_sampling_as_task", "Sampling as a task", "Asks the client's model by way of a task").
			takes(promptSchema).during(at20251125).
			does(func(c *call, given arguments) (toolResult, error) {
				return saidByModel(c.sample(c.askAsTask, argument(given, "prompt", "")))
			}),
		newTool("test_elicitation", "Elicitation", "Asks the user for a name").takes(messageSchema).
			during(from20250618).asTask(taskOptional).
			does(func(c *call, given arguments) (toolResult, error) {
				return saidByUser(c.elicitForm(c.asks("elicitation"), argument(given, "message", ""), usernameForm))
			}),
		newTool("test_elicitation_as_task", "Elicitation as a task", "Asks the user by way of a task").
			takes(messageSchema).during(at20251125).
			does(func(c *call, given arguments) (toolResult, error) {
				return saidByUser(c.elicitForm(c.askAsTask, argument(given, "message", ""), usernameForm))
			}),
		newTool("test_elicitation_sep1034_defaults", "Form with defaults",
			"Asks the user, and suggests a value for every type of field").during(from20251125).
			asksUser("elicitation", "Please review the suggested values.", json.RawMessage(`{
				"type":"object","properties":{
				"name":{"type":"string","description":"User name","default":"John Doe"},
				"age":{"type":"integer","description":"User age","default":30},
				"score":{"type":"number","description":"User score","default":95.5},
				"status":{"type":"string","description":"User status","enum":["active","inactive","pending"],"default":"active"},
				"verified":{"type":"boolean","description":"Verification status","default":true}}}`)),
		newTool("test_elicitation_sep1330_enums", "Form with choices",
			"Asks the user to choose, in every way that there is").during(from20251125).
			asksUser("elicitation", "Please choose.", json.RawMessage(`{
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
					{"const":"value3","title":"Third Choice"}]}}}}`)),
		newTool("test_elicitation_url", "Visit to a URL",
			"Asks the user to visit a URL, and pretends that it was done").during(from20251125).
			does(func(c *call, _ arguments) (toolResult, error) {
				id := rand.Text()
				result, err := c.elicitURL(id, "Please visit this page.")
				if err == nil && result.Action == "accept" && c.session != nil {
					c.notify(elicitationComplete(id))
				}
				return saidByUser(result, err)
			}),
		newTool("test_elicitation_url_required", "Visit to a URL first",
			"Fails the first time, since a URL must be visited before; the second time pretends that it was done").
			during(at20251125).asTask(taskOptional).
			does(func(c *call, _ arguments) (toolResult, error) {
				if !c.canElicitURL() {
					return toolResult{}, errNoURL
				}
				if c.session.urlVisited.Swap(true) {
					return said("The page has been visited.")
				}
				id := rand.Text()
				c.afterwards = append(c.afterwards, func() { c.session.notify(elicitationComplete(id)) })
				return toolResult{}, c.urlRequired(id, "Please visit this page first.")
			}),
		newTool("test_list_roots", "Roots", "Asks the client for its roots").
			asksForRoots("roots"),
		newTool("test_ping", "Ping", "Pings the client").during(until2025).
			does(func(c *call, _ arguments) (toolResult, error) {
				_, err := c.session.askFor(c, "ping", nil)
				return contents(text("The client has answered the ping")), err
			}),
	}
}

func saidByModel(words string, err error) (toolResult, error) {
	return contents(text("LLM response: " + words)), err
}

func saidByUser(result elicitResult, err error) (toolResult, error) {
	return contents(text(fmt.Sprintf("User response: action=%s, content=%s",
		result.Action, orElse(string(result.Content), "none")))), err
}

// changeTools change what the session has, and cause notifications.
func changeTools() []*tool {
	return []*tool{
		newTool("test_trigger_tool_change", "Change of tools", "Adds a tool, or removes it again").
			changesList("tools", func(f *features) { f.tools.toggle(transientTool) }),
		newTool("test_trigger_resource_change", "Change of resources", "Adds a resource, or removes it again").
			changesList("resources", func(f *features) { f.resources.toggle(transientResource) }),
		newTool("test_trigger_prompt_change", "Change of prompts", "Adds a prompt, or removes it again").
			changesList("prompts", func(f *features) { f.prompts.toggle(transientPrompt) }),
		newTool("test_touch_resource", "Change of a resource", "Changes "+watchedURI).changing().
			does(func(c *call, _ arguments) (toolResult, error) {
				c.features.touched.Add(1)
				c.features.announce("notifications/resources/updated", object{"uri": watchedURI})
				return said(watchedURI + " has changed")
			}),
	}
}

// transientTool is there or not, as test_trigger_tool_change decides.
var transientTool = newTool("test_transient_tool", "Transient tool", "Comes and goes").
	answers(contents(text("Here today, gone tomorrow.")))

// taskTools show tasks.
func taskTools() []*tool {
	return []*tool{
		newTool("test_task_required", "Only as a task", "Can be called only as a task").during(from20251125).
			asTask(taskRequired).asExtensionTask(taskRequired).
			does(func(c *call, _ arguments) (toolResult, error) {
				for _, done := range []float64{1, 2} {
					c.log("info", fmt.Sprintf("Step %v", done))
					if err := c.works(taskStep, 2, done); err != nil {
						return toolResult{}, err
					}
				}
				return said("The task is done")
			}),
		newTool("test_task_forbidden", "Never as a task", "Cannot be called as a task").during(at20251125).
			asTask(taskForbidden).answers(contents(text("This was not a task"))),
		newTool("test_task_failing", "Failing task", "Fails, as a task or not").during(from20251125).
			asTask(taskOptional).asExtensionTask(taskOptional).
			does(func(c *call, _ arguments) (toolResult, error) {
				if err := c.wait(step); err != nil {
					return toolResult{}, err
				}
				return toolResult{}, errors.New("this tool intentionally fails for testing")
			}),
	}
}
