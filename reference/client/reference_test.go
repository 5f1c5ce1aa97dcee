package client_test

import (
	"testing"

	"github.com/mcpconform/mcpconform/reference/client"
	"github.com/mcpconform/mcpconform/reference/server"
)

// everywhere runs a test over both transports, at the revisions given.
func everywhere(t *testing.T, revisions []string, test func(t *testing.T, options client.Options, revision string)) {
	t.Helper()
	for _, revision := range revisions {
		for name, reach := range map[string]func(*testing.T, server.Options) client.Options{"http": overHTTP, "stdio": overStdio} {
			t.Run(revision+"/"+name, func(t *testing.T) {
				t.Parallel()
				options := reach(t, server.Options{Revisions: []string{revision}})
				options.Revision = revision
				test(t, options, revision)
			})
		}
	}
}

var handshake = []string{client.Revision20250618, client.Revision20251125}

func TestEverythingIsFound(t *testing.T) {
	t.Parallel()
	everywhere(t, client.Revisions(), func(t *testing.T, options client.Options, revision string) {
		outcomes := run(t, options, "")
		outcomes[0].says(t, `"revision":"`+revision+`"`)
		outcomes[0].says(t, "reference")
		outcomes[1].says(t, "test_simple_text")
		outcomes[2].says(t, "test://static-text")
		outcomes[3].says(t, "uriTemplate")
		outcomes[4].says(t, "test_simple_prompt")
		outcomes[5].done(t)
	})
}

func TestFeatures(t *testing.T) {
	t.Parallel()
	everywhere(t, client.Revisions(), func(t *testing.T, options client.Options, revision string) {
		outcomes := run(t, options, `[
			{"do":"connect"},
			{"do":"call","tool":"test_simple_text"},
			{"do":"call","tool":"test_structured_content","arguments":{}},
			{"do":"call","tool":"test_error_handling"},
			{"do":"read","uri":"test://static-text"},
			{"do":"get","prompt":"test_prompt_with_arguments","arguments":{"arg1":"one","arg2":"two"}},
			{"do":"complete","ref":{"type":"ref/prompt","name":"test_prompt_with_arguments"},"argument":{"name":"arg1","value":"a"}},
			{"do":"set-level","level":"debug"},
			{"do":"call","tool":"test_tool_with_progress","progress":true},
			{"do":"wait-for","method":"notifications/progress"},
			{"do":"call","tool":"test_tool_with_logging"},
			{"do":"wait-for","method":"notifications/message"},
			{"do":"read","uri":"test://no-such-thing"},
			{"do":"read","template":"test://template/{id}/data","arguments":{"id":"7"}},
			{"do":"close"}]`)
		outcomes[1].says(t, "content")
		if revision >= client.Revision20250618 { // the first with structured content
			outcomes[2].done(t)
		}
		outcomes[3].says(t, `"isError":true`)
		outcomes[4].says(t, "contents")
		outcomes[5].says(t, "arg1='one'")
		outcomes[6].says(t, "completion")
		for step := 7; step <= 11; step++ {
			outcomes[step].done(t)
		}
		outcomes[12].failed(t, "-32")
		outcomes[13].says(t, "test://template/7/data")
		outcomes[14].done(t)
	})
}

const answering = `
	{"do":"answer-with","method":"sampling/createMessage","capability":{"tools":{}},
		"result":{"role":"assistant","model":"m","content":{"type":"text","text":"from the model"}}},
	{"do":"answer-with","method":"elicitation/create","capability":{"form":{},"url":{}}},
	{"do":"answer-with","method":"roots/list","capability":{"listChanged":true},"result":{"roots":[{"uri":"file:///a/root"}]}},
	{"do":"connect"},`

func TestServersAsk(t *testing.T) {
	t.Parallel()
	everywhere(t, handshake, func(t *testing.T, options client.Options, revision string) {
		outcomes := run(t, options, `[`+answering+`
			{"do":"call","tool":"test_sampling","arguments":{"prompt":"hello"}},
			{"do":"call","tool":"test_elicitation","arguments":{"message":"hello"}},
			{"do":"call","tool":"test_elicitation_sep1034_defaults"},
			{"do":"call","tool":"test_elicitation_sep1330_enums"},
			{"do":"call","tool":"test_list_roots"},
			{"do":"change-roots","roots":[{"uri":"file:///another/root"}]},
			{"do":"call","tool":"test_list_roots"},
			{"do":"call","tool":"test_ping"},
			{"do":"ping"}]`)
		outcomes[4].says(t, "from the model")
		outcomes[5].says(t, "accept")
		outcomes[8].says(t, "file:///a/root")
		outcomes[10].says(t, "file:///another/root")
		outcomes[11].done(t)
		outcomes[12].done(t)
		if revision == client.Revision20251125 {
			outcomes[6].says(t, "accept")
			outcomes[7].says(t, "accept")
		}
	})
}

func TestTasks(t *testing.T) {
	t.Parallel()
	everywhere(t, []string{client.Revision20251125}, func(t *testing.T, options client.Options, _ string) {
		outcomes := run(t, options, `[`+answering+`
			{"do":"call","tool":"test_task_required"},
			{"do":"call","tool":"test_task_required","task":{"ttl":60000}},
			{"do":"call","tool":"test_task_forbidden","task":{}},
			{"do":"call","tool":"test_sampling_as_task","arguments":{"prompt":"hello"}},
			{"do":"call","tool":"test_elicitation_as_task","arguments":{"message":"hello"}},
			{"do":"list","of":"tasks"},
			{"do":"call","tool":"test_elicitation_url"},
			{"do":"call","tool":"test_elicitation_url_required"},
			{"do":"get-task","task":"no-such-task"}]`)
		outcomes[4].says(t, "content")
		outcomes[5].says(t, "content")
		outcomes[6].failed(t, "cannot be called as a task")
		outcomes[7].says(t, "from the model")
		outcomes[8].says(t, "accept")
		outcomes[9].says(t, "taskId")
		outcomes[10].done(t)
		outcomes[11].done(t)
		outcomes[12].failed(t, "-32602")
	})
}

func TestResourcesAreSubscribedTo(t *testing.T) {
	t.Parallel()
	everywhere(t, handshake, func(t *testing.T, options client.Options, _ string) {
		outcomes := run(t, options, `[
			{"do":"connect"},
			{"do":"list","of":"tools"},
			{"do":"subscribe","uri":"test://watched-resource"},
			{"do":"call","tool":"test_touch_resource"},
			{"do":"wait-for","method":"notifications/resources/updated"},
			{"do":"unsubscribe","uri":"test://watched-resource"},
			{"do":"call","tool":"test_trigger_tool_change"},
			{"do":"wait-for","method":"notifications/tools/list_changed"},
			{"do":"listen","to":{"toolsListChanged":true}}]`)
		for step := range 8 {
			outcomes[step].done(t)
		}
		outcomes[8].failed(t, "subscribe")
	})
}

func TestStatelessServersAsk(t *testing.T) {
	t.Parallel()
	everywhere(t, []string{client.Revision20260728}, func(t *testing.T, options client.Options, _ string) {
		outcomes := run(t, options, `[`+answering+`
			{"do":"call","tool":"test_input_required_result_sampling"},
			{"do":"call","tool":"test_input_required_result_elicitation"},
			{"do":"call","tool":"test_input_required_result_list_roots"},
			{"do":"call","tool":"test_input_required_result_request_state"},
			{"do":"call","tool":"test_input_required_result_state_only"},
			{"do":"call","tool":"test_input_required_result_multiple_inputs"},
			{"do":"call","tool":"test_input_required_result_multi_round"},
			{"do":"get","prompt":"test_input_required_result_prompt"},
			{"do":"read","uri":"test://input-required"},
			{"do":"call","tool":"test_header_parameters","arguments":{"text":" Häuser ","count":42,"flag":true,"place":{"city":"=?base64?x?="}}},
			{"do":"call","tool":"sep_2106_array_output_tool"},
			{"do":"call","tool":"test_structured_null"}]`)
		for step := 4; step <= 15; step++ {
			outcomes[step].done(t)
		}
		outcomes[4].says(t, "from the model")
		outcomes[6].says(t, "file:///a/root")
	})
}

func TestAsyncTasks(t *testing.T) {
	t.Parallel()
	everywhere(t, []string{client.Revision20260728}, func(t *testing.T, options client.Options, _ string) {
		outcomes := run(t, options, `[`+answering+`
			{"do":"call","tool":"slow_compute"},
			{"do":"call","tool":"slow_compute","arguments":{"seconds":60},"as":"long"},
			{"do":"cancel","what":"long"},
			{"do":"call","tool":"confirm_delete","arguments":{"filename":"x"}}]`)
		outcomes[4].says(t, "content")
		outcomes[5].failed(t, "cancelled by the user")
		outcomes[7].done(t)
	})
}

func TestSubscriptions(t *testing.T) {
	t.Parallel()
	everywhere(t, []string{client.Revision20260728}, func(t *testing.T, options client.Options, _ string) {
		outcomes := run(t, options, `[
			{"do":"connect"},
			{"do":"list","of":"tools"},
			{"do":"listen","to":{"toolsListChanged":true,"resourceSubscriptions":["test://watched-resource"]},"as":"news"},
			{"do":"await","what":"news"},
			{"do":"call","tool":"test_trigger_tool_change"},
			{"do":"wait-for","method":"notifications/tools/list_changed"},
			{"do":"call","tool":"test_touch_resource"},
			{"do":"wait-for","method":"notifications/resources/updated"},
			{"do":"cancel","what":"news"},
			{"do":"ping"},
			{"do":"subscribe","uri":"test://watched-resource"},
			{"do":"close"}]`)
		outcomes[2].says(t, "toolsListChanged")
		for step := 3; step <= 8; step++ {
			outcomes[step].done(t)
		}
		outcomes[9].failed(t, "no ping")
		outcomes[10].failed(t, "listen")
	})
}

func TestCancellation(t *testing.T) {
	t.Parallel()
	everywhere(t, client.Revisions(), func(t *testing.T, options client.Options, _ string) {
		outcomes := run(t, options, `[
			{"do":"connect"},
			{"do":"list","of":"tools"},
			{"do":"call","tool":"test_slow","arguments":{"seconds":10},"as":"slow"},
			{"do":"cancel","what":"slow"},
			{"do":"await","what":"slow"},
			{"do":"call","tool":"test_slow","arguments":{"seconds":10},"timeout":20},
			{"do":"call","tool":"test_simple_text"}]`)
		outcomes[2].failed(t, "cancelled by the user")
		outcomes[3].done(t)
		outcomes[4].done(t)
		outcomes[5].failed(t, "no answer came within 20ms")
		outcomes[6].done(t)
	})
}

// A client of both eras finds out what a server speaks.
func TestErasAreFound(t *testing.T) {
	t.Parallel()
	for _, revision := range client.Revisions() {
		for name, reach := range map[string]func(*testing.T, server.Options) client.Options{"http": overHTTP, "stdio": overStdio} {
			t.Run(revision+"/"+name, func(t *testing.T) {
				t.Parallel()
				outcomes := run(t, reach(t, server.Options{Revisions: []string{revision}}), `[
					{"do":"connect"},{"do":"call","tool":"test_simple_text"},{"do":"close"},
					{"do":"connect"},{"do":"call","tool":"test_simple_text"}]`)
				for _, step := range []int{0, 3} {
					outcomes[step].says(t, revision)
					outcomes[step+1].done(t)
				}
			})
		}
	}
}
