// What this server serves from 2026-07-28: what shows structured content of any
// kind, headers from parameters, questions in results, and tasks.

package server

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// defaultCompute is how many seconds slow_compute takes when not told.
const defaultCompute = 0.1

func statelessTools() []*tool {
	tools := slices.Concat(headerTools(), structuredTools(), requestTools(), inputTools(), asyncTools())
	for _, each := range tools {
		each.span = from20260728
	}
	return tools
}

// headerTools have parameters that HTTP headers repeat.
func headerTools() []*tool {
	repeats := func(_ *call, given arguments) (toolResult, error) { return said(string(given)) }
	return []*tool{
		newTool("test_x_mcp_header", "Header", "Repeats its arguments, one of which is in a header, too").
			takes(`{"type":"object","properties":{
				"region":{"type":"string","x-mcp-header":"Region"},
				"level":{"type":"integer"}}}`).does(repeats),
		newTool("test_header_parameters", "Headers",
			"Repeats its arguments, which are in headers of every type, too").
			takes(`{"type":"object","properties":{
				"text":{"type":"string","x-mcp-header":"Text"},
				"count":{"type":"integer","minimum":-1000,"maximum":1000,"x-mcp-header":"Count"},
				"total":{"type":"integer","x-mcp-header":"Total"},
				"flag":{"type":"boolean","x-mcp-header":"Flag"},
				"place":{"type":"object","properties":{
					"city":{"type":"string","x-mcp-header":"City"}}}}}`).does(repeats),
	}
}

// structuredTools have structured content that is not an object.
func structuredTools() []*tool {
	return []*tool{
		newTool("sep_2106_array_output_tool", "Array", "Answers with an array").
			gives(`{"type":"array","items":{"type":"string"}}`).answers(structured([]string{"one", "two"})),
		newTool("sep_2106_primitive_output_tool", "Number", "Answers with a number").
			gives(`{"type":"number"}`).answers(structured(42)),
		newTool("test_structured_string", "String", "Answers with a string").
			gives(`{"type":"string"}`).answers(structured("a string")),
		newTool("test_structured_null", "Null", "Answers with null").
			gives(`{"type":"null"}`).answers(structured(json.RawMessage("null"))),
	}
}

// requestTools show what a request says of itself.
func requestTools() []*tool {
	return []*tool{
		newTool("test_missing_capability", "Capability", "Works only for clients that declare sampling").
			does(func(c *call, _ arguments) (toolResult, error) {
				if c.client.Sampling == nil {
					return toolResult{}, errNoSampling
				}
				return said("The client declares sampling")
			}),
		newTool("test_logging_tool", "Logging once", "Logs one message, if the request asks for any").
			does(func(c *call, _ arguments) (toolResult, error) {
				c.log("info", "test_logging_tool executed")
				return said("Logged once")
			}),
		newTool("test_streaming_elicitation", "Stream",
			"Reports progress over the stream of its response, if asked to").
			does(func(c *call, _ arguments) (toolResult, error) {
				err := c.works(step, 3, 1, 2, 3)
				return contents(text("There was nothing else on the stream")), err
			}),
	}
}

// Forms that the tools here ask the user to fill in.
var (
	nameForm    = formOf("name", "string")
	colorForm   = formOf("color", "string")
	okForm      = formOf("ok", "boolean")
	contextForm = formOf("context", "string")
	confirmForm = formOf("confirm", "boolean")
)

// formOf is a form with one field.
func formOf(field, kind string) json.RawMessage {
	return fmt.Appendf(nil, `{"type":"object","properties":{%q:{"type":%q}},"required":[%q]}`, field, kind, field)
}

// inputTools ask the client, by their results.
func inputTools() []*tool {
	return []*tool{
		newTool("test_input_required_result_elicitation", "One question", "Asks the user for a name").
			asksUser("user_name", "What is your name?", nameForm),
		newTool("test_input_required_result_sampling", "Question to the model", "Asks the client's model").
			does(func(c *call, _ arguments) (toolResult, error) {
				return saidByModel(c.sample(c.asks("capital_question"), "What is the capital of France?"))
			}),
		newTool("test_input_required_result_list_roots", "Question for roots", "Asks the client for its roots").
			asksForRoots("client_roots"),
		newTool("test_input_required_result_request_state", "Question with a state",
			"Asks the user to confirm, and gives the client something to bring along").does(confirmWithState),
		newTool("test_input_required_result_tampered_state", "State that must not change",
			"Asks the user to confirm, and takes the answer only with the state that it gave").
			does(confirmWithState),
		newTool("test_input_required_result_state_only", "State without a question",
			"Sends the client away with a state, and answers when it is back").
			does(func(c *call, _ arguments) (toolResult, error) {
				if c.retry.note == "" {
					c.retry.note = "was here"
					return toolResult{}, c.again()
				}
				return said("You are back")
			}),
		newTool("test_input_required_result_multiple_inputs", "Three questions at once",
			"Asks the user, the model and for roots, all at once").
			does(func(c *call, _ arguments) (toolResult, error) {
				questions, lacking := c.threeQuestions()
				if len(lacking) > 0 {
					return toolResult{}, lacks("the client has not declared all that is to be asked", lacking)
				}
				return c.askThese(questions...)
			}),
		newTool("test_input_required_result_multi_round", "Two questions in turn",
			"Asks the user for a name, and then for a color").
			does(func(c *call, _ arguments) (toolResult, error) {
				name, err := c.elicitForm(c.asks("step1"), "Step 1: What is your name?", nameForm)
				if err != nil {
					return toolResult{}, err
				}
				color, err := c.elicitForm(c.asks("step2"), "Step 2: What is your favorite color?", colorForm)
				return contents(text("Multi-round complete: " + name.entered() + ", " + color.entered())), err
			}),
		newTool("test_input_required_result_capabilities", "Questions that fit",
			"Asks only what the client declares that it can answer").
			does(func(c *call, _ arguments) (toolResult, error) {
				questions, _ := c.threeQuestions()
				return c.askThese(questions...)
			}),
		newTool("test_elicitation_url_required", "Visit to a URL first",
			"Asks the user to visit a URL, and knows by its state which visit it was").
			does(func(c *call, _ arguments) (toolResult, error) {
				c.retry.note = orElse(c.retry.note, timestamp())
				return saidByUser(c.elicitURL("required", "Please visit this page first."))
			}),
	}
}

// confirmWithState asks the user to confirm. It asks again if the answer comes without the
// requestState of this question.
func confirmWithState(c *call, _ arguments) (toolResult, error) {
	if c.retry.note == "" {
		clear(c.retry.answers)
		c.retry.note = "asked to confirm"
	}
	result, err := c.elicitForm(c.asks("confirm"), "Please confirm", okForm)
	return contents(text("state-ok: the user says " + result.Action)), err
}

// threeQuestions are those of three that the client declares that it can answer, and what it
// would have to declare for the others.
func (c *call) threeQuestions() (can []question, lacking object) {
	lacking = object{}
	for _, one := range []struct {
		can        bool
		capability string
		needed     object
		question   question
	}{
		{c.canElicitForm(), "elicitation", object{"form": object{}},
			question{"user_name", "elicitation/create", c.formRequest("What is your name?", nameForm)}},
		{c.client.Sampling != nil, "sampling", object{},
			question{"greeting", "sampling/createMessage", samplingRequest("Generate a greeting")}},
		{c.client.Roots != nil, "roots", object{}, question{"client_roots", "roots/list", nil}},
	} {
		if one.can {
			can = append(can, one.question)
		} else {
			lacking[one.capability] = one.needed
		}
	}
	return can, lacking
}

// askThese puts questions at once, checks the answers, and repeats them.
func (c *call) askThese(questions ...question) (toolResult, error) {
	answers, err := c.era.ask(c, questions)
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
			_, err = readSamplingResult(answer, nil)
		default:
			_, err = readRoots(answer, nil)
		}
		if err != nil {
			return toolResult{}, err
		}
		texts = append(texts, q.key+": "+string(answer))
	}
	return said(strings.Join(texts, ", "))
}

// asyncTools run as tasks for clients that know these. They bear the names that
// the scenarios of the official suite for the extension expect.
func asyncTools() []*tool {
	return []*tool{
		newTool("greet", "Greeting", "Greets somebody, and is never a task").
			takes(`{"type":"object","properties":{"name":{"type":"string"}}}`).
			does(func(_ *call, given arguments) (toolResult, error) {
				return said("Hello, " + orElse(argument(given, "name", ""), "World") + "!")
			}),
		newTool("slow_compute", "Slow task", "Takes some seconds, and can be cancelled").
			takes(`{"type":"object","properties":{
				"seconds":{"type":"number","minimum":0,"maximum":60,"default":0.1},
				"label":{"type":"string"}}}`).asExtensionTask(taskOptional).
			does(func(c *call, given arguments) (toolResult, error) {
				err := c.wait(seconds(argument(given, "seconds", defaultCompute)))
				return contents(text("Computed " + orElse(argument(given, "label", ""), "something"))), err
			}),
		newTool("confirm_delete", "Task with a question", "Asks the user to confirm, and pretends to delete").
			takes(`{"type":"object","properties":{"filename":{"type":"string"}}}`).
			asExtensionTask(taskOptional).asksUser("confirm", "Delete it?", confirmForm),
		newTool("multi_input", "Task with two questions", "Asks the user for a name and to confirm, at once").
			asExtensionTask(taskOptional).
			does(func(c *call, _ arguments) (toolResult, error) {
				if !c.canElicitForm() {
					return toolResult{}, errNoForm
				}
				return c.askThese(
					question{"name", "elicitation/create", c.formRequest("What is your name?", nameForm)},
					question{"confirm", "elicitation/create", c.formRequest("Are you sure?", confirmForm)},
				)
			}),
		newTool("failing_job", "Task that fails", "Always reports a failure").asExtensionTask(taskOptional).
			does(func(c *call, _ arguments) (toolResult, error) {
				err := c.wait(step)
				return failure("This job fails on purpose"), err
			}),
		newTool("protocol_error_job", "Task that breaks", "Always ends with an error of the protocol").changing().
			asExtensionTask(taskOptional).
			does(func(c *call, _ arguments) (toolResult, error) {
				if err := c.wait(step); err != nil {
					return toolResult{}, err
				}
				return toolResult{}, internalError("this job breaks on purpose")
			}),
	}
}
