package suites_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpconform/mcpconform/internal/rules"
	. "github.com/mcpconform/mcpconform/internal/rules/rulestest"
)

// askingRules are those of the pages tasks, sampling and elicitation.
var askingRules = ofPages("tasks.", "sampling.", "elicitation.")

// greeting is a handshake in which the client declares capabilities.
func greeting(capabilities string) string {
	return strings.Replace(Opening, `"capabilities":{"sampling":{}}`, `"capabilities":`+capabilities, 1)
}

const (
	visiting = `{"elicitation":{"form":{},"url":{}}}`
	onlyForm = `{"elicitation":{}}`
	onlyURL  = `{"elicitation":{"url":{}}}`
)

func elicits(id, params string) string {
	return `s {"jsonrpc":"2.0","id":` + id + `,"method":"elicitation/create","params":` + params + "}\n"
}

func form(properties string) string {
	return `{"message":"Who?","requestedSchema":{"type":"object","properties":` + properties + `}}`
}

func visit(id, url string) string {
	return `{"mode":"url","message":"Go","elicitationId":"` + id + `","url":"` + url + `"}`
}

func completed(id string) string {
	return `s {"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":{"elicitationId":"` + id + `"}}` + "\n"
}

func demanded(data string) string {
	return Working + `s {"jsonrpc":"2.0","id":2,"error":{"code":-32042,"message":"First a visit","data":` + data + `}}` + "\n"
}

// messages is a sampling request with these messages.
func messages(list string) string {
	return strings.Replace(Sampling("9", ""), `"messages":[]`, `"messages":[`+list+`]`, 1)
}

const (
	usesTool   = `{"role":"assistant","content":[{"type":"tool_use","id":"u","name":"n","input":{}}]}`
	givesTool  = `{"role":"user","content":[{"type":"tool_result","toolUseId":"u","content":[]}]}`
	plainWords = `{"type":"text","text":"x"}`
)

const related = `"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"` + RandomID + `"}}`

func TestRulesOfAskingPagesFindWhatIsBroken(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		script string
		broken []string
	}{
		{"task without capability", strings.Replace(OneTask, `"tasks":{"requests":{"tools":{"call":{}}}},`, "", 1), []string{"tasks.capability.declared"}},
		{"strange support", Opening + `
			c {"jsonrpc":"2.0","id":2,"method":"tools/list"}
			s {"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"n","inputSchema":{"type":"object"},"execution":{"taskSupport":"maybe"}}]}}`,
			[]string{"tasks.tool.support"}},
		{"task with a result", Opening + AsksAsTask("2") + Made("2", RandomID, `,"content":[]`), []string{"tasks.create.result-apart"}},
		{"number as id", Opening + AsksAsTask("2") + strings.Replace(Made("2", RandomID, ""), `"`+RandomID+`"`, "7", 1), []string{"tasks.id.string"}},
		{"no id", OneTask + About("3", "tasks/get", `{"status":"working",`+Good+`}`), []string{"tasks.id.string"}},
		{"id given twice", OneTask + AsksAsTask("3") + Made("3", RandomID, ""), []string{"tasks.id.unique"}},
		{"id of two tasks, one of which is over", OneTask + AsksAsTask("3") + Made("3", RandomID, "") +
			About("4", "tasks/get", State("completed", "")) + About("5", "tasks/get", State("working", "")), []string{"tasks.id.unique"}},
		{"short id", Opening + AsksAsTask("2") + Made("2", "a1b2", ""), []string{"tasks.id.unguessable"}},
		{"counter", Opening + AsksAsTask("2") + Made("2", "task-of-the-server-0099", "") + AsksAsTask("3") + Made("3", "task-of-the-server-0100", ""),
			[]string{"tasks.id.unguessable"}},
		{"completed at once", Opening + AsksAsTask("2") + strings.Replace(Made("2", RandomID, ""), `"working"`, `"completed"`, 1), []string{"tasks.status.begins-working"}},
		{"back to work", OneTask + About("3", "tasks/get", State("completed", "")) + About("4", "tasks/get", State("working", "")),
			[]string{"tasks.status.transitions"}},
		{"back from the dead", OneTask + About("3", "tasks/cancel", State("cancelled", "")) + About("4", "tasks/get", State("completed", "")),
			[]string{"tasks.status.transitions"}},
		{"no timestamp", OneTask + About("3", "tasks/get", strings.Replace(State("working", ""), "createdAt", "madeAt", 1)), []string{"tasks.created-at.given"}},
		{"date without time", OneTask + About("3", "tasks/get", strings.Replace(State("working", ""), "2026-01-01T00:00:00Z", "2026-01-01", 1)),
			[]string{"tasks.created-at.given"}},
		{"timestamp in words", OneTask + About("3", "tasks/get", strings.Replace(State("working", ""), "2026-01-01T00:00:00.5+01:00", "Thu Jan 1 2026", 1)),
			[]string{"tasks.updated-at.given"}},
		{"no ttl", OneTask + About("3", "tasks/get", strings.Replace(State("working", ""), "ttl", "life", 1)), []string{"tasks.ttl.given"}},
		{"unexplained failure", OneTask + About("3", "tasks/get", State("failed", "")), []string{"tasks.failure.message"}},
		{"error without words", OneTask + `
			c {"jsonrpc":"2.0","id":3,"method":"tasks/get","params":{"taskId":"x"}}
			s {"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":" "}}`, []string{"tasks.error.informative"}},
		{"request of an unknown task", OneTask + Sampling("9", `,"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"other"}}`), []string{"tasks.related.request"}},
		{"progress of no task", OneTask + Progress(`"t"`, "1"), []string{"tasks.related.notification"}},
		{"result of no task", OneTask + About("3", "tasks/result", `{"content":[]}`), []string{"tasks.related.response"}},
		{"result of another task", OneTask + About("3", "tasks/result", `{"content":[],`+strings.Replace(related, RandomID, "other", 1)+`}`),
			[]string{"tasks.related.response"}},
		{"state with metadata", OneTask + About("3", "tasks/get", State("working", ","+related)), []string{"tasks.related.absent"}},
		{"half a status", OneTask + `s {"jsonrpc":"2.0","method":"notifications/tasks/status","params":{"taskId":"` + RandomID + `","status":"working"}}`,
			[]string{"tasks.notification.full"}},
		{"status with metadata", OneTask + `s {"jsonrpc":"2.0","method":"notifications/tasks/status","params":` + State("working", ","+related) + "}",
			[]string{"tasks.notification.no-metadata"}},
		{"hasty", OneTask + `
			s {"jsonrpc":"2.0","id":8,"method":"tasks/get","params":{"taskId":"c"}}
			c {"jsonrpc":"2.0","id":8,"result":{"taskId":"c","status":"working",` + Good + `,"pollInterval":5000}}
			s {"jsonrpc":"2.0","id":9,"method":"tasks/get","params":{"taskId":"c"}}`, []string{"tasks.poll-interval.respected"}},
		{"metadata beside a taskId", OneTask + `s {"jsonrpc":"2.0","id":8,"method":"tasks/result","params":{"taskId":"c",` + related + "}}",
			[]string{"tasks.target.no-metadata"}},
		{"invented cursor", Opening + `s {"jsonrpc":"2.0","id":8,"method":"tasks/list","params":{"cursor":"2"}}`, []string{"tasks.list.cursor-opaque"}},

		{"tools for a client without", Opening + Sampling("9", `,"tools":[]`), []string{"sampling.request.tools"}},
		{"context for a client without", Opening + Sampling("9", `,"includeContext":"thisServer"`), []string{"sampling.request.context"}},
		{"context for a client with", greeting(`{"sampling":{"context":{}}}`) + Sampling("9", `,"includeContext":"allServers"`), []string{"sampling.request.no-context"}},
		{"priority of two", Opening + Sampling("9", `,"modelPreferences":{"costPriority":2}`), []string{"sampling.request.priorities"}},
		{"strange content", Opening + messages(`{"role":"user","content":{"type":"video","data":""}}`), []string{"sampling.request.content"}},
		{"no content", Opening + messages(`{"role":"user"}`), []string{"sampling.request.content"}},
		{"a second message without its text", Opening + messages(`{"role":"user","content":`+plainWords+`},{"role":"assistant","content":{"type":"text"}}`),
			[]string{"sampling.request.content"}},
		{"words beside results", Opening + messages(usesTool+`,`+strings.Replace(givesTool, "[{", "["+plainWords+",{", 1)),
			[]string{"sampling.results.balanced", "sampling.results.unmixed"}},
		{"results of the assistant", Opening + messages(usesTool+`,`+strings.Replace(givesTool, "user", "assistant", 1)), []string{"sampling.results.role"}},
		{"use without result", Opening + messages(usesTool+`,{"role":"user","content":`+plainWords+`}`), []string{"sampling.results.balanced"}},
		{"use at the end", Opening + messages(usesTool), []string{"sampling.results.balanced"}},
		{"result of another use", Opening + messages(usesTool+`,`+strings.Replace(givesTool, `"u"`, `"v"`, 1)), []string{"sampling.results.balanced"}},

		{"no message", greeting(visiting) + elicits("9", `{"requestedSchema":{"type":"object","properties":{}}}`),
			[]string{"elicitation.request.members", "elicitation.request.parameters"}},
		{"strange mode", greeting(visiting) + elicits("9", `{"mode":"voice","message":"x"}`), []string{"elicitation.request.parameters"}},
		{"form for URL mode", greeting(onlyURL) + elicits("9", form(`{}`)), []string{"elicitation.request.mode"}},
		{"visit for form mode", greeting(onlyForm) + elicits("9", visit("e", "https://example.com")), []string{"elicitation.request.mode"}},
		{"no schema", greeting(visiting) + elicits("9", `{"message":"x"}`), []string{"elicitation.form.parameters", "elicitation.request.members"}},
		{"nested form", greeting(visiting) + elicits("9", form(`{"a":{"type":"object"}}`)), []string{"elicitation.form.schema"}},
		{"strange format", greeting(visiting) + elicits("9", form(`{"a":{"type":"string","format":"ipv4"}}`)), []string{"elicitation.form.formats"}},
		{"link in a form", greeting(visiting) + elicits("9", form(`{"a":{"type":"string","description":"See https://example.com/help"}}`)),
			[]string{"elicitation.form.no-urls"}},
		{"password in a form", greeting(visiting) + elicits("9", form(`{"db_password":{"type":"string"}}`)), []string{"elicitation.form.secret-names"}},
		{"visit to nowhere", greeting(visiting) + elicits("9", `{"mode":"url","message":"x","elicitationId":"e"}`), []string{"elicitation.url.parameters"}},
		{"visit without id", greeting(visiting) + elicits("9", `{"mode":"url","message":"x","url":"https://example.com"}`), []string{"elicitation.url.parameters"}},
		{"path as URL", greeting(visiting) + elicits("9", visit("e", "/connect")), []string{"elicitation.url.valid"}},
		{"URL without host", greeting(visiting) + elicits("9", visit("e", "https:///connect")), []string{"elicitation.url.valid"}},
		{"URL in the clear", greeting(visiting) + elicits("9", visit("e", "http://example.com")), []string{"elicitation.url.https"}},
		{"id of two visits", greeting(visiting) + elicits("8", visit("e", "https://example.com")) + elicits("9", visit("e", "https://example.com")),
			[]string{"elicitation.url.id-unique"}},
		{"completion of another visit", greeting(visiting) + elicits("9", visit("e", "https://example.com")) + completed("f"), []string{"elicitation.completion.id"}},
		{"completion without a visit", greeting(visiting) + completed("e"), []string{"elicitation.completion.client"}},
		{"demand of nothing", Opening + demanded(`{"elicitations":[]}`), []string{"elicitation.required.url-mode"}},
		{"demand without a list", Opening + demanded(`{}`), []string{"elicitation.required.listed"}},
		{"demand of a form", Opening + demanded(`{"elicitations":[`+form(`{}`)+`]}`), []string{"elicitation.required.elicitations"}},
	}
	covered := map[string]bool{}
	for _, test := range tests {
		for _, requirement := range test.broken {
			covered[requirement] = true
		}
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			conversation := Converse(t, Stdio, test.script)
			found, _ := BrokenAndSeen(askingRules, conversation)
			if difference := cmp.Diff(test.broken, found); difference != "" {
				t.Errorf("broken requirements (-wanted +found):\n%s", difference)
			}
			bySchema := func(id string) bool { return strings.HasPrefix(id, "base.schema.") }
			if twice := slices.DeleteFunc(broken(conversation), func(id string) bool { return !bySchema(id) }); len(twice) > 0 {
				t.Errorf("one cause is blamed twice, also by %v", twice)
			}
		})
	}
	elsewhere := []string{"tasks.list.undeclared", "tasks.transport.kept", "tasks.get.no-stream"} // over HTTP: see below
	for _, rule := range askingRules {
		if id := rule.Verifies.IDs[0]; !covered[id] && !brokenByClients[id] && !slices.Contains(elsewhere, id) {
			t.Errorf("no test breaks the rule %q (%s)", rule.Text, id)
		}
	}
}

func TestRulesOfAskingPagesTolerateWhatIsFree(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		script string
		seen   []string // must have been judged
	}{
		{"a task from its beginning to its end", OneTask +
			strings.Replace(Progress(`"t"`, "1"), `"progress":1`, `"progress":1,`+related, 1) +
			About("3", "tasks/get", State("input_required", `,"pollInterval":5`)) +
			Sampling("9", ","+related) + sampled("9") +
			About("4", "tasks/get", State("working", "")) +
			About("5", "tasks/result", `{"content":[],`+related+`}`) +
			About("6", "tasks/get", State("completed", "")) +
			About("7", "tasks/list", `{"tasks":[`+State("completed", "")+`]}`),
			[]string{
				"tasks.capability.declared", "tasks.id.unguessable", "tasks.status.transitions", "tasks.ttl.given",
				"tasks.related.request", "tasks.related.notification", "tasks.related.response", "tasks.related.absent",
			}},
		{"an answer that crosses the end", OneTask + `
			c {"jsonrpc":"2.0","id":3,"method":"tasks/get","params":{"taskId":"` + RandomID + `"}}
			s {"jsonrpc":"2.0","method":"notifications/tasks/status","params":` + State("completed", "") + `}
			s {"jsonrpc":"2.0","id":3,"result":` + State("working", "") + `}`, []string{"tasks.status.transitions"}},
		{"requests about a task of the client, and for it", OneTask + `
			s {"jsonrpc":"2.0","id":8,"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1,"task":{}}}
			c {"jsonrpc":"2.0","id":8,"result":{"task":{"taskId":"c","status":"working",` + Good + `}}}` + "\n" +
			Sampling("9", `,"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"c"}}`), []string{"tasks.related.request"}},
		{"a request for a task of an earlier connection", Opening + About("3", "tasks/get", State("working", "")) + Sampling("9", ","+related),
			[]string{"tasks.related.request"}},
		{"a task that lasts for ever", OneTask + About("3", "tasks/get", strings.Replace(State("working", ""), "60000", "null", 1)), []string{"tasks.ttl.given"}},
		{"ids of time and chance", Opening + AsksAsTask("2") + Made("2", "019b76da-a800-7f5c-9a3e-0d3b1a2c4e5f", "") +
			AsksAsTask("3") + Made("3", "019b76da-a801-7b1d-8c2f-5e6d7c8b9a01", ""), []string{"tasks.id.unguessable"}},
		{"a refusal to make a task", Opening + AsksAsTask("2") + `s {"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"no tasks"}}`, nil},
		{"polls in their time", OneTask + `
			s {"jsonrpc":"2.0","id":8,"method":"tasks/get","params":{"taskId":"c"}}
			c {"jsonrpc":"2.0","id":8,"result":{"taskId":"c","status":"working",` + Good + `,"pollInterval":120}}
			s {"jsonrpc":"2.0","id":9,"method":"tasks/get","params":{"taskId":"c"}}`, []string{"tasks.poll-interval.respected"}},
		{"polls of two tasks of one id", OneTask + `
			s {"jsonrpc":"2.0","id":8,"method":"tasks/get","params":{"taskId":"c"}}
			c {"jsonrpc":"2.0","id":8,"result":{"taskId":"c","status":"working",` + Good + `,"pollInterval":5000}}
			s {"jsonrpc":"2.0","id":9,"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1,"task":{}}}
			c {"jsonrpc":"2.0","id":9,"result":{"task":{"taskId":"c","status":"working",` + Good + `,"pollInterval":5000}}}
			s {"jsonrpc":"2.0","id":10,"method":"tasks/get","params":{"taskId":"c"}}`, nil},
		{"sampling as it should be", greeting(`{"sampling":{"tools":{}}}`) + messages(`{"role":"user","content":`+plainWords+`},`+usesTool+`,`+givesTool) +
			Sampling("10", `,"tools":[],"includeContext":"none","modelPreferences":{"costPriority":1,"speedPriority":0}`),
			[]string{"sampling.request.tools", "sampling.request.priorities", "sampling.results.balanced", "sampling.results.role"}},
		{"a form without a mode for an empty capability", greeting(onlyForm) + elicits("9", form(`{"a":{"type":"string","format":"uri","default":"https://example.com"}}`)),
			[]string{"elicitation.request.mode", "elicitation.form.schema", "elicitation.form.formats", "elicitation.form.no-urls"}},
		{"every kind of choice", greeting(visiting) + elicits("9", form(`{
			"a":{"type":"string","enum":["x"],"enumNames":["X"]},"b":{"type":"string","oneOf":[{"const":"x","title":"X"}]},
			"c":{"type":"array","items":{"type":"string","enum":["x"]}},"d":{"type":"array","items":{"anyOf":[{"const":"x","title":"X"}]}},
			"e":{"type":"boolean","default":true},"f":{"type":"integer","minimum":1}}`)), []string{"elicitation.form.schema"}},
		{"a visit and its completion", greeting(visiting) + elicits("9", visit("e", "https://example.com/?elicitationId=e")) + completed("e"),
			[]string{"elicitation.url.valid", "elicitation.url.https", "elicitation.completion.id", "elicitation.completion.client"}},
		{"a visit to the machine itself", greeting(visiting) + elicits("9", visit("e", "http://127.0.0.1:8080/connect")), []string{"elicitation.url.https"}},
		{"a demand and the completion", greeting(visiting) + demanded(`{"elicitations":[`+visit("e", "https://example.com")+`]}`) + completed("e"),
			[]string{"elicitation.required.listed", "elicitation.required.elicitations", "elicitation.completion.id"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			script := strings.Join(strings.Fields(strings.ReplaceAll(test.script, "\n", " \x00 ")), " ")
			conversation := Converse(t, Stdio, unfolded(script))
			found, seen := BrokenAndSeen(askingRules, conversation)
			if len(found) > 0 {
				t.Errorf("found broken: %v", found)
			}
			for _, id := range test.seen {
				if !slices.Contains(seen, id) {
					t.Errorf("%s saw nothing", id)
				}
			}
		})
	}
}

// unfolded puts every line of a script that goes on in the next one together.
func unfolded(script string) string {
	var lines []string
	for line := range strings.SplitSeq(script, "\x00") {
		line = strings.TrimSpace(line)
		if begins := strings.HasPrefix(line, "c ") || strings.HasPrefix(line, "s "); !begins && len(lines) > 0 {
			lines[len(lines)-1] += " " + line
			continue
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// The rules terminate on any message of a target, and each mismatch has Wanted and Found.
func FuzzAskingRules(f *testing.F) {
	for _, text := range []string{
		`{"jsonrpc":"2.0","id":2,"result":{"task":{"taskId":"1","status":7,"createdAt":[],"ttl":"x"},"_meta":{"io.modelcontextprotocol/related-task":3}}}`,
		`{"jsonrpc":"2.0","id":2,"error":{"code":-32042,"message":"?","data":{"elicitations":[1,{"url":"%"}]}}}`,
		`{"jsonrpc":"2.0","id":7,"method":"sampling/createMessage","params":{"messages":[{"content":[1,{"type":"tool_use"}]}],"modelPreferences":[]}}`,
		`{"jsonrpc":"2.0","id":7,"method":"elicitation/create","params":{"mode":"url","url":":","elicitationId":{}}}`,
		`{"jsonrpc":"2.0","id":7,"method":"elicitation/create","params":{"message":1,"requestedSchema":{"title":2,"properties":{"a/b":{"enumNames":[1]}}}}}`,
		`{"jsonrpc":"2.0","method":"notifications/tasks/status","params":7}`,
		`{"jsonrpc":"2.0","method":"notifications/elicitation/complete"}`,
		`{"jsonrpc":"2.0","id":8,"method":"tasks/list","params":{"cursor":"99999999999999999999"}}`,
	} {
		f.Add([]byte(text), true)
		f.Add([]byte(text), false)
	}
	f.Fuzz(func(t *testing.T, raw []byte, http bool) {
		cell, stream := Stdio, "stdio"
		if http {
			cell, stream = OverHTTP, "post-1"
		}
		events := Converse(t, cell, greeting(visiting)+AsksAsTask("2")).Events
		saysEnough(t, askingRules, rules.NewConversation(cell, saidTwice(events, stream, raw), true))
	})
}
