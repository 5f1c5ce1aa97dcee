// What this server serves from 2026-07-28: what shows structured content of any
// kind, headers from parameters, questions in results, and tasks.

package server

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// defaultCompute is how many seconds slow_compute takes when not told.
const defaultCompute = 0.1

func statelessTools() []tool {
	tools := slices.Concat(headerTools(), structuredTools(), requestTools(), inputTools(), asyncTools())
	for i := range tools {
		tools[i].span = from20260728
	}
	return tools
}

// headerTools have parameters that HTTP headers repeat.
func headerTools() []tool {
	repeats := func(_ *call, arguments json.RawMessage) (toolResult, error) {
		return contents(text(string(arguments))), nil
	}
	return []tool{
		newTool("test_x_mcp_header", "Header", "Repeats its arguments, one of which is in a header, too").
			takes(schema(`{"type":"object","properties":{
				"region":{"type":"string","x-mcp-header":"Region"},
				"level":{"type":"integer"}}}`)).does(repeats),
		newTool("test_header_parameters", "Headers",
			"Repeats its arguments, which are in headers of every type, too").
			takes(schema(`{"type":"object","properties":{
				"text":{"type":"string","x-mcp-header":"Text"},
				"count":{"type":"integer","minimum":-1000,"maximum":1000,"x-mcp-header":"Count"},
				"total":{"type":"integer","x-mcp-header":"Total"},
				"flag":{"type":"boolean","x-mcp-header":"Flag"},
				"place":{"type":"object","properties":{
					"city":{"type":"string","x-mcp-header":"City"}}}}}`)).does(repeats),
	}
}

// structuredTools have structured content that is not an object.
func structuredTools() []tool {
	return []tool{
		newTool("sep_2106_array_output_tool", "Array", "Answers with an array").
			gives(schema(`{"type":"array","items":{"type":"string"}}`)).
			does(always(structured([]string{"one", "two"}))),
		newTool("sep_2106_primitive_output_tool", "Number", "Answers with a number").
			gives(schema(`{"type":"number"}`)).does(always(structured(42))),
		newTool("test_structured_string", "String", "Answers with a string").gives(schema(`{"type":"string"}`)).
			does(always(structured("a string"))),
		newTool("test_structured_null", "Null", "Answers with null").gives(schema(`{"type":"null"}`)).
			does(always(structured(json.RawMessage("null")))),
	}
}

// requestTools show what a request says of itself.
func requestTools() []tool {
	return []tool{
		newTool("test_missing_capability", "Capability", "Works only for clients that declare sampling").
			does(just(func(c *call) (toolResult, error) {
				if c.client.Sampling == nil {
					return toolResult{}, errNoSampling
				}
				return contents(text("The client declares sampling")), nil
			})),
		newTool("test_logging_tool", "Logging once", "Logs one message, if the request asks for any").
			does(just(func(c *call) (toolResult, error) {
				c.log("info", "test_logging_tool executed")
				return contents(text("Logged once")), nil
			})),
		newTool("test_streaming_elicitation", "Stream",
			"Reports progress over the stream of its response, if asked to").
			does(just(func(c *call) (toolResult, error) {
				for done := range 3 {
					c.progress(float64(done+1), 3, fmt.Sprintf("Step %d of 3", done+1))
					if err := c.wait(step); err != nil {
						return toolResult{}, err
					}
				}
				return contents(text("There was nothing else on the stream")), nil
			})),
	}
}

// Forms that the tools here ask the user to fill in.
var (
	nameForm    = json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`)
	colorForm   = json.RawMessage(`{"type":"object","properties":{"color":{"type":"string"}},"required":["color"]}`)
	okForm      = json.RawMessage(`{"type":"object","properties":{"ok":{"type":"boolean"}},"required":["ok"]}`)
	contextForm = json.RawMessage(`{"type":"object","properties":{"context":{"type":"string"}},"required":["context"]}`)
	confirmForm = json.RawMessage(
		`{"type":"object","properties":{"confirm":{"type":"boolean"}},"required":["confirm"]}`,
	)
)

// inputTools ask the client, by their results.
func inputTools() []tool {
	return []tool{
		newTool("test_input_required_result_elicitation", "One question", "Asks the user for a name").
			does(just(func(c *call) (toolResult, error) {
				return saidByUser(c.elicitForm("user_name", "What is your name?", nameForm))
			})),
		newTool("test_input_required_result_sampling", "Question to the model", "Asks the client's model").
			does(just(func(c *call) (toolResult, error) {
				return saidByModel(c.sample("capital_question", "What is the capital of France?"))
			})),
		newTool("test_input_required_result_list_roots", "Question for roots", "Asks the client for its roots").
			does(just(func(c *call) (toolResult, error) {
				roots, err := c.listRoots("client_roots")
				return contents(text(string(encode(roots)))), err
			})),
		newTool("test_input_required_result_request_state", "Question with a state",
			"Asks the user to confirm, and gives the client something to bring along").does(just(confirmWithState)),
		newTool("test_input_required_result_tampered_state", "State that must not change",
			"Asks the user to confirm, and takes the answer only with the state that it gave").
			does(just(confirmWithState)),
		newTool("test_input_required_result_state_only", "State without a question",
			"Sends the client away with a state, and answers when it is back").
			does(just(func(c *call) (toolResult, error) {
				if c.note() == "" {
					c.remember("was here")
					return toolResult{}, c.again()
				}
				return contents(text("You are back")), nil
			})),
		newTool("test_input_required_result_multiple_inputs", "Three questions at once",
			"Asks the user, the model and for roots, all at once").does(just(askEverything)),
		newTool("test_input_required_result_multi_round", "Two questions in turn",
			"Asks the user for a name, and then for a color").
			does(just(func(c *call) (toolResult, error) {
				name, err := c.elicitForm("step1", "Step 1: What is your name?", nameForm)
				if err != nil {
					return toolResult{}, err
				}
				color, err := c.elicitForm("step2", "Step 2: What is your favorite color?", colorForm)
				if err != nil {
					return toolResult{}, err
				}
				return contents(text(fmt.Sprintf("Multi-round complete: %s, %s",
					orElse(string(name.Content), name.Action), orElse(string(color.Content), color.Action)))), nil
			})),
		newTool("test_input_required_result_capabilities", "Questions that fit",
			"Asks only what the client declares that it can answer").does(just(askWhatFits)),
		newTool("test_elicitation_url_required", "Visit to a URL first",
			"Asks the user to visit a URL, and knows by its state which visit it was").
			does(just(func(c *call) (toolResult, error) {
				if c.note() == "" {
					c.remember(timestamp())
				}
				return saidByUser(c.elicitURL("visit", "required", "Please visit this page first."))
			})),
	}
}

// confirmWithState asks the user to confirm. It asks again if the answer comes without the
// requestState of this question.
func confirmWithState(c *call) (toolResult, error) {
	if c.note() == "" {
		c.forgetAnswers()
		c.remember("asked to confirm")
	}
	result, err := c.elicitForm("confirm", "Please confirm", okForm)
	if err != nil {
		return toolResult{}, err
	}
	return contents(text("state-ok: the user says " + result.Action)), nil
}

// askEverything puts three questions at once.
func askEverything(c *call) (toolResult, error) {
	missing := object{}
	if !c.canElicitForm() {
		missing["elicitation"] = object{"form": object{}}
	}
	if c.client.Sampling == nil {
		missing["sampling"] = object{}
	}
	if c.client.Roots == nil {
		missing["roots"] = object{}
	}
	if len(missing) > 0 {
		return toolResult{}, lacks("the client has not declared all of elicitation, sampling and roots", missing)
	}
	return c.askThese(
		question{"user_name", "elicitation/create", c.formRequest("What is your name?", nameForm)},
		question{"greeting", "sampling/createMessage", samplingRequest("Generate a greeting")},
		question{"client_roots", "roots/list", nil},
	)
}

// askWhatFits puts as many of the same questions as the client can answer.
func askWhatFits(c *call) (toolResult, error) {
	var questions []question
	if c.canElicitForm() {
		questions = append(
			questions,
			question{"user_name", "elicitation/create", c.formRequest("What is your name?", nameForm)},
		)
	}
	if c.client.Sampling != nil {
		questions = append(
			questions,
			question{"greeting", "sampling/createMessage", samplingRequest("Generate a greeting")},
		)
	}
	if c.client.Roots != nil {
		questions = append(questions, question{"client_roots", "roots/list", nil})
	}
	return c.askThese(questions...)
}

// askThese puts questions at once, checks the answers, and repeats them.
func (c *call) askThese(questions ...question) (toolResult, error) {
	answers, err := c.askAll(questions...)
	if err != nil {
		return toolResult{}, err
	}
	texts := []string{fmt.Sprintf("%d answers", len(answers))}
	for _, q := range questions {
		answer := answers[q.key]
		switch q.method {
		case "elicitation/create":
			_, err = readElicitResult(answer, q.params["requestedSchema"].(json.RawMessage))
		case "sampling/createMessage":
			_, err = readSamplingResult(answer)
		default:
			_, err = readRoots(answer)
		}
		if err != nil {
			return toolResult{}, err
		}
		texts = append(texts, q.key+": "+string(answer))
	}
	return contents(text(strings.Join(texts, ", "))), nil
}

// asyncTools run as tasks for clients that know these. They bear the names that
// the scenarios of the official suite for the extension expect.
func asyncTools() []tool {
	return []tool{
		newTool("greet", "Greeting", "Greets somebody, and is never a task").
			takes(schema(`{"type":"object","properties":{"name":{"type":"string"}}}`)).
			does(runs(func(_ *call, arguments struct {
				Name string `json:"name,omitempty"`
			}) (toolResult, error) {
				return contents(text("Hello, " + orElse(arguments.Name, "World") + "!")), nil
			})),
		newTool("slow_compute", "Slow task", "Takes some seconds, and can be cancelled").
			takes(schema(`{"type":"object","properties":{
				"seconds":{"type":"number","minimum":0,"maximum":60,"default":0.1},
				"label":{"type":"string"}}}`)).asExtensionTask(taskOptional).
			does(runs(func(c *call, arguments struct {
				Seconds *float64 `json:"seconds,omitempty"`
				Label   string   `json:"label,omitempty"`
			}) (toolResult, error) {
				seconds := defaultCompute
				if arguments.Seconds != nil {
					seconds = *arguments.Seconds
				}
				if err := c.wait(time.Duration(seconds * float64(time.Second))); err != nil {
					return toolResult{}, err
				}
				return contents(text("Computed " + orElse(arguments.Label, "something"))), nil
			})),
		newTool("confirm_delete", "Task with a question", "Asks the user to confirm, and pretends to delete").
			takes(schema(`{"type":"object","properties":{"filename":{"type":"string"}}}`)).
			asExtensionTask(taskOptional).
			does(just(func(c *call) (toolResult, error) {
				return saidByUser(c.elicitForm("confirm", "Delete it?", confirmForm))
			})),
		newTool("multi_input", "Task with two questions", "Asks the user for a name and to confirm, at once").
			asExtensionTask(taskOptional).
			does(just(func(c *call) (toolResult, error) {
				if !c.canElicitForm() {
					return toolResult{}, errNoForm
				}
				return c.askThese(
					question{"name", "elicitation/create", c.formRequest("What is your name?", nameForm)},
					question{"confirm", "elicitation/create", c.formRequest("Are you sure?", confirmForm)},
				)
			})),
		newTool("failing_job", "Task that fails", "Always reports a failure").asExtensionTask(taskOptional).
			does(just(func(c *call) (toolResult, error) {
				err := c.wait(step)
				return failure("This job fails on purpose"), err
			})),
		newTool("protocol_error_job", "Task that breaks", "Always ends with an error of the protocol").changing().
			asExtensionTask(taskOptional).
			does(just(func(c *call) (toolResult, error) {
				if err := c.wait(step); err != nil {
					return toolResult{}, err
				}
				return toolResult{}, internalError("this job breaks on purpose")
			})),
	}
}

// inputPrompt asks the user before it has messages.
func inputPrompt() prompt {
	return prompt{
		Name: "test_input_required_result_prompt", Title: "Prompt with a question",
		Description: "Asks the user for a context, and repeats it", span: from20260728,
		get: func(c *call, _ map[string]string) ([]promptMessage, error) {
			c.remember("asked for a context") // so that the client has a state to bring along
			result, err := c.elicitForm("user_context", "Please provide context for the prompt", contextForm)
			if err != nil {
				return nil, err
			}
			return []promptMessage{user(text("Context: " + orElse(string(result.Content), result.Action)))}, nil
		},
	}
}

// inputResource asks the user before it can be read.
func inputResource() resource {
	return resource{
		URI: "test://input-required", Name: "test_input_required_result_resource", Title: "Text with a question",
		Description: "Asks the user for a name, and repeats it", MIMEType: "text/plain", span: from20260728,
		read: func(c *call, r *resource) ([]resourceContents, error) {
			result, err := c.elicitForm("user_name", "Who wants to read this?", nameForm)
			if err != nil {
				return nil, err
			}
			return []resourceContents{
				textAt(r.URI, r.MIMEType, "Read by "+orElse(string(result.Content), result.Action)),
			}, nil
		},
	}
}
