// Package forms lets a scripted server answer in many forms, all of them legal, one
// after the other: a client that fails at one is seen to take the others.
package forms

import (
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/clientrun"
	"github.com/mcpconform/mcpconform/internal/mcp"
	"github.com/mcpconform/mcpconform/internal/scenario"
	"github.com/mcpconform/mcpconform/internal/scripted"
)

// A Form is one way in which the server answers one step of the client.
type Form struct {
	// Has says what the answer has, for the report: "an audio block in the result".
	Has string
	// Step is what the client is told to do. Without one it calls scripted.AddNumbers.
	Step scenario.Step
	// Answer gives the answer; nil for that of a good server.
	Answer func(call *scripted.Call)
	// Progress says that the call asks for progress.
	Progress bool
	// Before is the method of a notification that has to come before the answer; "" for
	// none. Some come only where the client has asked for them.
	Before string
	// Shows is a text that the API of the client gives to its caller; "" for any.
	Shows string
	// Reports says that a tool reports an error of its own, whose text is Told: some APIs
	// give it to their caller as an error, and that text with it.
	Reports bool
	// Fails says that the answer is an error, which the HTTP status may be.
	Fails bool
}

// Told is the message of the errors that forms tell.
const Told = "mcpconform told an error"

// A Table is what the client does step by step, each answered in a form of its own. A
// form that is like any other stands before those that it is compared with.
type Table struct{ forms []*Form }

// NewTable makes a table of forms. Each step has its id from what the form has. The calls of
// scripted.AddNumbers are told apart by their first argument, which counts on from a number:
// no two tables have one, so that a fault can mean the call of one form.
func NewTable(from int, all ...*Form) *Table {
	for i, form := range all {
		if form.Step == nil {
			form.Step = scenario.ToCall(scripted.AddNumbers, scripted.Object{"a": from + i, "b": 3})
		}
		form.Step = form.Step.ID(form.id())
		if form.Progress {
			form.Step = form.Step.WithProgress()
		}
	}
	return &Table{all}
}

// id is that of the step.
func (f *Form) id() string { return scenario.Hyphenated(f.Has) }

// Steps are those of the forms, in order.
func (table *Table) Steps() scenario.Steps {
	var steps scenario.Steps
	for _, form := range table.forms {
		steps = append(steps, form.Step)
	}
	return steps
}

// Refused are the ids of the steps that are answered with an error.
func (table *Table) Refused() []string {
	var refused []string
	for _, form := range table.forms {
		if form.Fails {
			refused = append(refused, form.id())
		}
	}
	return refused
}

// Bind lets a server answer in the forms, and returns what tells whether the client has
// come to the last one.
func (table *Table) Bind(server *scripted.Server) (isThrough func() bool) {
	var through atomic.Bool
	for _, method := range []string{"tools/call", "resources/read", "prompts/get"} {
		server.On(method, func(call *scripted.Call) {
			form := table.answering(call)
			if form == table.last() {
				through.Store(true)
			}
			if form != nil && form.Answer != nil {
				form.Answer(call)
				return
			}
			call.Good()
		})
	}
	return through.Load
}

func (table *Table) last() *Form { return table.forms[len(table.forms)-1] }

// Afterwards returns the requests of a method with which the client comes when it has come
// to the last form.
func (table *Table) Afterwards(client *clientrun.Client, method string) []*check.Message {
	last := table.request(client, table.last())
	return slices.DeleteFunc(client.Requests(method), func(request *check.Message) bool { return !request.Event.At.After(last.Event.At) })
}

// answering returns the form in which a call is answered; nil for none.
func (table *Table) answering(call *scripted.Call) *Form {
	for _, form := range table.forms {
		if form.Step.Method() == call.Message.Method && form.asksFor(call.Params()) {
			return form
		}
	}
	return nil
}

// asksFor tells whether params are those of the request to which the step leads.
func (f *Form) asksFor(params scripted.Object) bool {
	switch f.Step.Method() {
	case "tools/call":
		if params["name"] != f.Step["tool"] {
			return false
		}
		wanted := mcp.Object(f.Step["arguments"])
		return wanted["a"] == nil || check.Same(wanted["a"], mcp.Value(params, "arguments", "a"))
	case "resources/read":
		return params["uri"] == f.Step["uri"]
	case "prompts/get":
		return params["name"] == f.Step["prompt"]
	}
	return false
}

// Accepts demands that the client takes what the server answers in a form, as it takes
// another, and continues.
func (table *Table) Accepts(t *check.T, form, like *Form) {
	client := clientrun.RunScenario(t)

	request := table.request(client, form)
	answer := clientrun.AnswerTo(request)
	if form.Before != "" && !precedes(client, form.Before, request, answer) {
		client.Inconclusive("the client did not request "+form.Before, form.Step.Method())
	}
	if form.Fails {
		if answer == nil {
			answer = request
		}
		client.Continues(answer, form.Has)
		table.tellsError(client, form)
		return
	}
	outcome, _ := client.Outcome(form.id())
	if form.Reports && outcome.Failed() && t.Observed(strings.Contains(outcome.Error, Told)) {
		client.Continues(answer, form.Has)
		return
	}
	client.DemandStep(form.id(), like.id(), form.Has)
	if !table.doesTheRest(t, client, form, request) {
		client.Continues(answer, form.Has)
	}
	given := client.ResultOf(form.id())
	if given == nil {
		client.Inconclusive("the driver reports no result of the step with "+form.Has, form.Step.Method())
	}
	if form.Shows == "" || shows(given, form.Shows) {
		return
	}
	if like.Shows == "" || !shows(client.ResultOf(like.id()), like.Shows) {
		client.Inconclusive("the client does not report the text that it received", form.Step.Method())
	}
	client.Fail(answer, check.Mismatch{Wanted: "the text as it was sent: " + check.Show(form.Shows), Found: check.Show(given)})
}

// doesTheRest tells whether the client is known to have done the step of a form and all that
// follow, and to have ended well, on no other connection: with requests or, as from a cache,
// without.
func (table *Table) doesTheRest(t *check.T, client *clientrun.Client, form *Form, request *check.Message) bool {
	for _, later := range table.forms[slices.Index(table.forms, form):] {
		outcome, there := client.Outcome(later.id())
		if !there || outcome.Failed() != later.Fails {
			return false
		}
	}
	leaves := slices.ContainsFunc(client.Requests(), func(later *check.Message) bool {
		return later.Event.Connection != request.Event.Connection && later.Event.At.After(request.Event.At)
	})
	return t.Observed(client.Exit.Well() && !leaves)
}

// precedes tells whether the server said a notification between a request and its answer.
func precedes(client *clientrun.Client, method string, request, answer *check.Message) bool {
	return slices.ContainsFunc(client.FromServer(method), func(message *check.Message) bool {
		return message.Event.Connection == request.Event.Connection && message.Event.Sequence > request.Event.Sequence &&
			(answer == nil || message.Event.Sequence < answer.Event.Sequence)
	})
}

// tellsError demands that the API of the client gives its caller an error.
func (table *Table) tellsError(client *clientrun.Client, form *Form) {
	outcome := client.NeedOutcome(form.id())
	if outcome.Failed() || shows(outcome.Result, Told) {
		return
	}
	client.NeedResult(form.id())
	client.Fail(table.request(client, form), check.Mismatch{Wanted: "a failure of the step, with " + form.Has, Found: clientrun.ShowOutcome(outcome)})
}

// request returns the request of the client that is answered in a form. Without one the
// check is inconclusive.
func (table *Table) request(client *clientrun.Client, form *Form) *check.Message {
	for _, request := range client.Requests(form.Step.Method()) {
		if form.asksFor(request.ParamsObject()) {
			return request
		}
	}
	client.Inconclusive("the client did not reach "+form.Has, form.Step.Method())
	return nil
}

// shows tells whether a text stands anywhere in a value.
func shows(value any, text string) bool {
	switch value := value.(type) {
	case string:
		return strings.Contains(value, text)
	case []any:
		for _, one := range value {
			if shows(one, text) {
				return true
			}
		}
	case map[string]any:
		for _, one := range value {
			if shows(one, text) {
				return true
			}
		}
	}
	return false
}

// Result answers with a result of its own.
func Result(result scripted.Object) func(*scripted.Call) {
	return func(call *scripted.Call) {
		fresh := maps.Clone(result) // what is added belongs to one answer
		if call.Message.Method == "resources/read" {
			call.AnswerFresh(fresh, 0)
			return
		}
		call.Answer(fresh)
	}
}

// Error answers with an error, over HTTP with the status 200.
func Error(code int64, data any) func(*scripted.Call) {
	return func(call *scripted.Call) { call.Refuse(code, Told, data) }
}

// After says notifications before the usual answer.
func After(say func(call *scripted.Call)) func(*scripted.Call) {
	return func(call *scripted.Call) {
		say(call)
		call.Good()
	}
}

// Opens demands that the client goes on when its first request was answered in a form of
// its own, as it does when the answer is that of a good server.
func Opens(t *check.T, what string) {
	client := clientrun.RunScenario(t)

	requests := client.Requests()
	if len(requests) == 0 || clientrun.AnswerTo(requests[0]) == nil {
		client.Inconclusive("the client did not wait for the answer to its first request", "initialize")
	}
	opened := clientrun.AnswerTo(requests[0])
	goesOn := func(request *check.Message) bool { // perhaps on another connection, after a look
		return isOpening(request) && clientrun.AnswerTo(request) != nil && slices.ContainsFunc(
			client.RequestsAfter(clientrun.AnswerTo(request)),
			func(next *check.Message) bool { return !isOpening(next) },
		)
	}
	if t.Observed(slices.ContainsFunc(requests, goesOn) || len(client.Notifications("notifications/initialized")) > 0) {
		return
	}
	failed, met := client.ConnectFailure(), clientrun.AlsoRun(t, scenario.Meeting)
	if failed == "" || met == nil || met.ConnectFailure() != "" {
		client.Inconclusive("the client sent no further request after its first was answered", "tools/list")
	}
	client.Missing(opened, check.Mismatch{Wanted: "that the client continues after " + what + ", as it does without", Found: failed})
}

func isOpening(request *check.Message) bool {
	return request.Method == "initialize" || request.Method == "server/discover"
}
