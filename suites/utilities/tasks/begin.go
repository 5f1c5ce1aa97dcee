package tasks

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/onsi/gomega/types"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/mcp"
	. "github.com/mcpconform/mcpconform/internal/offer"
	. "github.com/mcpconform/mcpconform/internal/refusal"
	"github.com/mcpconform/mcpconform/internal/scripted"
	. "github.com/mcpconform/mcpconform/internal/session"
	"github.com/mcpconform/mcpconform/internal/wait"
)

const (
	// keptFor is how long the tasks of checks should be kept, in milliseconds:
	// longer than any check takes.
	keptFor = 60_000
	// tenYears is a ttl that no receiver should grant, in milliseconds.
	tenYears = 10 * 365 * 24 * 3_600_000
	// listed is how many tasks a list is made of: small pages show, and no
	// bound on the tasks of one client should be that low.
	listed = 5
	// unknownTask is an id that no receiver makes.
	unknownTask = "mcpconform-no-such-task"
	// unknownCursor is one that no list gives.
	unknownCursor = "mcpconform-no-such-cursor"
)

// over are the statuses of tasks that are over.
var over = []any{"completed", "failed", "cancelled"}

// asTask returns the params that call a tool as a task.
func asTask(tool Provocation) Object {
	call := tool.Call()
	call["task"] = Object{"ttl": keptFor}
	return call
}

// supportOf returns what a tool that the target lists says in taskSupport; ""
// when it says nothing.
func supportOf(t *T, name string) string {
	return mcp.Text(ListedTool(t, name), "execution", "taskSupport")
}

func takesTasks(t *T, tool Provocation) bool {
	return slices.Contains([]string{"optional", "required"}, supportOf(t, tool.Tool))
}

// tool returns the provocation of a kind, which must be a tool that supports
// tasks.
func tool(t *T, kind string) Provocation {
	found := Provoking(t, kind)
	if !takesTasks(t, found) {
		t.Inconclusive(fmt.Sprintf("the tool %s does not support tasks in execution.taskSupport", found.Tool),
			"name one that does under provocations."+kind+" in mcpconform.yaml")
	}
	return found
}

// optionally returns the provocation of a kind, which must be a tool that can be
// called as a task or not, so that one can be compared with the other.
func optionally(t *T, kind string) Provocation {
	found := tool(t, kind)
	if supportOf(t, found.Tool) != "optional" {
		t.Inconclusive(fmt.Sprintf("the tool %s can only be called as a task", found.Tool),
			"name one that can under provocations."+kind+" in mcpconform.yaml")
	}
	return found
}

// aTool returns any tool that supports tasks and may be called: the one known
// for it, or the first that says so.
func aTool(t *T) Provocation {
	if found, there := anyTool(t); there {
		return found
	}
	return toolWith(t, "that supports tasks", "optional", "required")
}

// anyTool does the same for a check that goes on without.
func anyTool(t *T) (found Provocation, there bool) {
	if known, there := Provocable(t, "task"); there && takesTasks(t, known) {
		return known, true
	}
	return callableWith(t, "optional", "required")
}

// callableWith finds a tool that may be called and has one of the values of taskSupport.
func callableWith(t *T, supports ...string) (found Provocation, there bool) {
	calls, _ := CallableTools(t)
	at := slices.IndexFunc(calls, func(call Provocation) bool { return slices.Contains(supports, supportOf(t, call.Tool)) })
	if at < 0 {
		return Provocation{}, false
	}
	return calls[at], true
}

// toolWith does the same and ends the check when there is none.
func toolWith(t *T, description string, supports ...string) Provocation {
	if found, there := callableWith(t, supports...); there {
		return found
	}
	has := func(name string) bool { return slices.Contains(supports, supportOf(t, name)) }
	_, reason := CallableTools(t)
	for _, listed := range ListedTools(t) {
		if name, _ := listed["name"].(string); has(name) {
			t.Inconclusive(
				"no tool may be called "+description+" (there is "+name+")",
				"name it under arguments in mcpconform.yaml, or allow more tools with --call-tools",
			)
		}
	}
	if len(ListedTools(t)) == 0 {
		NoneListed(t, "tools/list", reason)
	}
	NoneListed(t, "tools/list", "the server lists no tool "+description)
	return Provocation{}
}

// workingTool returns a tool whose call succeeds: one that could be a task, if
// there is any, since that is the one that may become one.
func workingTool(t *T, server *Server) Provocation {
	calls, reason := CallableTools(t)
	rank := map[string]int{"optional": -1}
	slices.SortStableFunc(calls, func(a, b Provocation) int { return rank[supportOf(t, a.Tool)] - rank[supportOf(t, b.Tool)] })
	for _, call := range calls[:min(len(calls), triedTools)] {
		reply := server.Call("tools/call", call.Call()).May(BeLate)
		if result := reply.Object(); result != nil && result["isError"] != true {
			return call
		}
	}
	if reason == "" {
		reason = "no callable tool succeeds with arguments generated from its schema"
	}
	t.Inconclusive(reason, "give arguments for one in mcpconform.yaml, or allow more tools with --call-tools")
	return Provocation{}
}

// triedTools bounds how many tools are called in search of one that works.
const triedTools = 5

// begin calls a tool as a task and returns the task's id. A call that makes no
// task makes the check inconclusive: another one judges that.
func begin(t *T, server *Server, tool Provocation) string {
	return beginBy(t, server, tool, asTask(tool))
}

// beginBy is begin with a call of one's own.
func beginBy(t *T, server *Server, tool Provocation, call Object) string {
	result := server.Call("tools/call", call).Need().Result()
	id := idOf(result["task"])
	if id == "" {
		t.Inconclusive("the call of "+tool.Tool+" created no task: "+Show(result), "fix the failures under tasks first")
	}
	return id
}

// beginTwo begins two tasks, and needs two ids.
func beginTwo(t *T, server *Server, tool Provocation) (one, other string) {
	one, other = begin(t, server, tool), begin(t, server, tool)
	if one == other {
		t.Inconclusive("the server returned two tasks with the taskId "+Show(one), "fix the failures under tasks first")
	}
	return one, other
}

func idOf(task any) string {
	return mcp.Text(task, "taskId")
}

// knownTask asks for a task that is there, where one can be made, and returns how: beside
// it shows what the refusal of another is about.
func knownTask(t *T, server *Server) []Request {
	if !Declares(t, callable) {
		return nil
	}
	tool, there := anyTool(t)
	if !there {
		return nil
	}
	reply := server.Call("tools/call", asTask(tool)).May(BeLate)
	id := idOf(reply.Object()["task"])
	if id == "" {
		return nil
	}
	server.Call("tasks/get", Object{"taskId": id}).May() // which another must not be taken for
	return []Request{{Method: "tasks/get", Params: Object{"taskId": id}, Name: id}}
}

// working cancels a task that goes on, where one can be made; or else it asks for one
// that is over.
func working(t *T, server *Server, done string) Request {
	if slow, there := Provocable(t, "task-slow"); there && takesTasks(t, slow) {
		id := begin(t, server, slow)
		return Request{Method: "tasks/cancel", Params: Object{"taskId": id}, Name: id, Passing: true}
	}
	return Request{Method: "tasks/get", Params: Object{"taskId": done}, Name: done}
}

// beTheOutcomeOfACall matches what tools/call can be answered with that makes no task.
var beTheOutcomeOfACall = Be("a tool result or an error", func(actual any) bool {
	reply, isReply := actual.(Reply)
	_, refused := reply.Error()
	_, hasContent := reply.Object()["content"].([]any)
	return isReply && (refused || hasContent)
})

// haveContentOf matches a result with the content of an earlier one, or without any as that.
func haveContentOf(earlier Object) types.GomegaMatcher {
	if content, has := earlier["content"]; has {
		return HaveMember("content", content)
	}
	return Be("a result without content, as before", func(actual any) bool {
		reply, _ := actual.(Reply)
		_, has := reply.Object()["content"]
		return reply.Object() != nil && !has
	})
}

// leave cancels tasks that the check has no more use for, if the server lets
// it. Others end by themselves.
func leave(t *T, server *Server, ids ...string) {
	if !Declares(t, cancelable) {
		return
	}
	for _, id := range ids {
		server.Call("tasks/cancel", Object{"taskId": id}).May() // it may be over already
	}
}

// result waits for the result of a task, which comes when the task is over and
// not before. One that goes on for too long makes the check inconclusive.
func result(t *T, server *Server, id string) Reply {
	return await(t, server, id, server.Call("tasks/result", Object{"taskId": id}))
}

// await waits for the answer to tasks/result, as long as the task goes on.
func await(t *T, server *Server, id string, request *Answer) Reply {
	for range patience {
		_, err := request.Pending.Wait(t)
		if !IsTimeout(err) || isOver(server.Call("tasks/get", Object{"taskId": id}).Need().Result()["status"]) {
			return request.Must()
		}
	}
	tooSlow(t, server)
	return Reply{}
}

// patience is how many times the time of one answer a task may take. It keeps
// within the time of a check.
const patience = 6

func tooSlow(t *T, server *Server) {
	t.Inconclusive("the task continues after "+(patience*server.ReplyTime()).String(), "name a quicker tool in mcpconform.yaml, or raise --timeout")
}

func isOver(status any) bool { return slices.Contains(over, status) }

// cancel cancels a task. One that is over before, or that the server knows nothing of, makes
// the check inconclusive.
func cancel(t *T, server *Server, id string) Reply {
	reply := server.Call("tasks/cancel", Object{"taskId": id}).Must()
	if _, refused := reply.Error(); refused {
		if status := server.Call("tasks/get", Object{"taskId": id}).Need().Result()["status"]; isOver(status) &&
			status != "cancelled" {
			t.TooLate("the task ended before it could be cancelled",
				"name a tool that takes longer under provocations.task-slow in mcpconform.yaml")
		}
	}
	return reply
}

// cancelled cancels a task for a check that is about what comes after.
func cancelled(t *T, server *Server, id string) {
	if reply := cancel(t, server, id); reply.Object() == nil {
		t.Inconclusive("tasks/cancel did not succeed: "+reply.Describe(), "fix the failures of tasks/cancel first")
	}
}

// listedAfterCancel cancels a task that the server then still finds, and returns its id and
// all tasks that the server lists.
func listedAfterCancel(t *T) (id string, all []Object) {
	server := TaskSession(t)
	id = begin(t, server, tool(t, "task-slow"))
	cancelled(t, server, id)

	all = server.All("tasks/list")

	if server.Call("tasks/get", Object{"taskId": id}).Must().Object() == nil {
		t.NotApplicable("the server does not keep a cancelled task")
	}
	return id, all
}

// lookedAt is how many tasks are looked at before one is said to be announced
// late: a machine that is busy may lose some time between two messages.
const lookedAt = 3

// Bounds of the time between two looks at a task.
const (
	soonest = 10 * time.Millisecond  // no server is troubled by that
	latest  = 500 * time.Millisecond // a check has only so much time
)

// awaitQuestion waits until a task asks the client, as long as the task goes
// on. One that ends without a question makes the check inconclusive.
func awaitQuestion(t *T, server *Server, id, method string) {
	for range patience {
		_, err := server.Connection.Await(t, server.Began(), RequestOf(method))
		switch {
		case err == nil:
			return
		case !IsTimeout(err):
			server.Unanswered("tasks/result", jsonrpc.NoID, err)
		}
		if isOver(server.Call("tasks/get", Object{"taskId": id}).Need().Result()["status"]) {
			t.Inconclusive("the task ended without requesting input", inputHint)
		}
	}
	tooSlow(t, server)
}

const inputHint = "name a tool that requests it under provocations.task-input in mcpconform.yaml"

// settled returns the state of a task that waits for its client, looked at
// until it is not working any more: the question may come just before the
// status changes. It gives up after some looks.
func settled(ctx context.Context, server *Server, id string) (state Object) {
	for range looks {
		state = server.Call("tasks/get", Object{"taskId": id}).Need().Result()
		if state["status"] != "working" {
			return state
		}
		select {
		case <-time.After(min(max(interval(state), soonest), latest)):
		case <-ctx.Done():
			return state
		}
	}
	return state
}

// looks is how often a status that should have changed is looked at.
const looks = 4

func interval(state Object) time.Duration {
	number, _ := state["pollInterval"].(json.Number)
	milliseconds, err := number.Float64()
	if err != nil || milliseconds < 0 || milliseconds > float64(latest.Milliseconds()) {
		return latest
	}
	return time.Duration(milliseconds * float64(time.Millisecond))
}

// give answers what a task asked or asks from now on, so that it can end.
func give(t *T, server *Server, id string) {
	accept := scripted.Answering(scripted.Acceptance)
	server.Answer("elicitation/create", accept)
	for _, request := range server.Sent(server.Began(), RequestOf("elicitation/create")) {
		select {
		case <-server.Deliver(t, scripted.Outgoing{Raw: accept(request)}).Done():
		case <-wait.After(t, server.ReplyTime()): // what the task does will tell
		case <-t.Done():
		}
	}
	leave(t, server, id)
}

// demandQuestions returns what a task asked its client; a task that was over
// without makes the check inconclusive.
func demandQuestions(t *T, server *Server, method string) []scripted.Received {
	requests := server.Sent(server.Began(), RequestOf(method))
	if len(requests) == 0 {
		t.Inconclusive("tasks/result was answered without a request for input", inputHint)
	}
	return requests
}

// What answers lack that a check looks at, but is not about, is judged by
// others.
const fixOthers = "fix the other failures under tasks first"

func demandResult(t *T, reply Reply) {
	if reply.Object() == nil {
		t.Inconclusive("tasks/result was answered with "+reply.Describe(), fixOthers)
	}
}

// demandNamed wants a result that names its task.
func demandNamed(t *T, reply Reply, id string) {
	demandResult(t, reply)
	if idOf(mcp.Value(reply.Object(), "_meta", mcp.RelatedTask)) != id {
		t.Inconclusive("the result does not name its task: "+reply.Describe(), fixOthers)
	}
}

// demandID wants an answer that says which task it is about.
func demandID(t *T, answer interface {
	Object() Object
	Describe() string
}) {
	if idOf(answer.Object()) == "" {
		t.Inconclusive("the answer to tasks/get has no taskId: "+answer.Describe(), fixOthers)
	}
}

// demandStatus wants an answer that says how the task is.
func demandStatus(t *T, state Object) {
	if status, _ := state["status"].(string); status == "" {
		t.Inconclusive("the answer to tasks/get has no status: "+Show(state), fixOthers)
	}
}

// demandTTL wants a number, or null for ever.
func demandTTL(t *T, state Object) {
	ttl, reported := state["ttl"]
	if _, isNumber := ttl.(json.Number); !reported || ttl != nil && !isNumber {
		t.Inconclusive("the answer to tasks/get has no valid ttl: "+Show(state), fixOthers)
	}
}

// misleading names one task in the parameter and another in the metadata.
func misleading(named, other string) Object {
	return Object{"taskId": named, "_meta": Object{mcp.RelatedTask: Object{"taskId": other}}}
}

// lessThan matches a number below a bound.
func lessThan(bound float64) types.GomegaMatcher {
	return Be(fmt.Sprintf("less than %.0f", bound), func(value any) bool {
		number, isNumber := value.(json.Number)
		if !isNumber {
			return false
		}
		given, err := number.Float64()
		return err == nil && given < bound
	})
}

// includeTask matches a list of tasks in which one is.
func includeTask(id string) types.GomegaMatcher {
	return Be("a list with the task "+id, func(list any) bool {
		tasks, _ := list.([]Object)
		return slices.ContainsFunc(tasks, func(task Object) bool { return task["taskId"] == id })
	})
}
