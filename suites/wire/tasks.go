package wire

import (
	"fmt"
	"maps"
	"math"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/mcpconform/mcpconform/internal/excerpt"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/mcp"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// TaskRules are the rules of the page basic/utilities/tasks.
func TaskRules() []rules.Rule {
	return slices.Concat(taskRules(), taskMessageRules(), taskRequestorRules())
}

// taskRules are about tasks as the target tells of them.
func taskRules() []rules.Rule {
	return []rules.Rule{
		{
			Text:         "returns tasks only for requests that it declares in tasks.requests",
			Requirements: []string{"tasks.capability.declared"},
			Judge:        undeclaredTasks,
		},
		{
			Text:         "returns execution.taskSupport, if any, as required, optional or forbidden",
			Requirements: []string{"tasks.tool.support"},
			Judge: func(conversation *rules.Conversation, reporter *rules.Reporter) {
				for _, tool := range listed(conversation, "tools/list") {
					if execution, _ := tool.member("execution"); execution.object()["taskSupport"] != nil {
						judgeMembers(conversation, reporter, tool, "Tool", toolTaskSupport)
					}
				}
			},
		},
		{
			Text:         "returns CreateTaskResult without the result of the operation",
			Requirements: []string{"tasks.create.result-apart"},
			Judge:        resultTooEarly,
		},
		{
			Text:         "returns a string as taskId",
			Requirements: []string{"tasks.id.string"},
			Judge:        judgeStates(taskMember("taskId")),
		},
		{
			Text:         "never returns the same taskId for two tasks",
			Requirements: []string{"tasks.id.unique"},
			Judge:        sharedTaskIDs,
		},
		{
			Text:         "generates taskIds that cannot be guessed, if the client sends no authorization",
			Requirements: []string{"tasks.id.unguessable"},
			Judge:        guessableTaskIDs,
		},
		{
			Text:         "creates tasks with the status working",
			Requirements: []string{"tasks.status.begins-working"},
			Judge:        otherBeginnings,
		},
		{
			Text:         "never changes a terminal task status",
			Requirements: []string{"tasks.status.transitions"},
			Judge:        resurrections,
		},
		{
			Text:         "returns createdAt as an ISO 8601 timestamp in each task",
			Requirements: []string{"tasks.created-at.given"},
			Judge:        judgeStates(taskTimestamp("createdAt")),
		},
		{
			Text:         "returns lastUpdatedAt as an ISO 8601 timestamp in each task",
			Requirements: []string{"tasks.updated-at.given"},
			Judge:        judgeStates(taskTimestamp("lastUpdatedAt")),
		},
		{
			Text:         "returns ttl in tasks/get, as a number or null",
			Requirements: []string{"tasks.ttl.given"},
			Judge: func(conversation *rules.Conversation, reporter *rules.Reporter) {
				for _, said := range conversation.Results("tasks/get") {
					judgeMembers(conversation, reporter, found{resultOf(said), said}, "GetTaskResult", taskTTL)
				}
			},
		},
		{
			Text:         "returns a statusMessage in tasks/get for failed tasks",
			Requirements: []string{"tasks.failure.message"},
			Judge:        unexplainedFailures,
		},
		{
			Text:         "returns a non-empty message in the errors of tasks/* requests",
			Requirements: []string{"tasks.error.informative"},
			Judge: every(func(said *rules.Message) bool {
				return isRefusal(said) && said.Request != nil && strings.HasPrefix(said.Request.Method, "tasks/")
			}, func(said *rules.Message) rules.Mismatch {
				if refusal, _ := said.Error(); strings.TrimSpace(refusal.Message) != "" {
					return rules.Mismatch{}
				}
				return rules.Mismatch{Wanted: "a message that says what was wrong", Found: "an empty one", Where: "/error/message"}
			}),
		},
		{
			Text:         "declares tasks.list only if it can identify its clients",
			Requirements: []string{"tasks.list.undeclared"},
			Judge:        listsForAnybody,
		},
		{
			Text:         "answers tasks/* requests with application/json or text/event-stream",
			Requirements: []string{"tasks.transport.kept"},
			Judge:        taskExchanges,
		},
		{
			Text:         "answers tasks/get with JSON, not with an event stream",
			Requirements: []string{"tasks.get.no-stream"},
			Judge:        streamedPolls,
		},
	}
}

// taskMessageRules are about the metadata that tie messages to tasks.
func taskMessageRules() []rules.Rule {
	return []rules.Rule{
		{
			Text:         "sends related-task metadata in requests that belong to a task",
			Requirements: []string{"tasks.related.request"},
			Judge:        anonymousRequests,
		},
		{
			Text:         "sends related-task metadata in notifications that belong to a task",
			Requirements: []string{"tasks.related.notification"},
			Judge:        anonymousProgress,
		},
		{
			Text:         "returns related-task metadata in the results of requests that belong to a task",
			Requirements: []string{"tasks.related.response"},
			Judge:        anonymousResults,
		},
		{
			Text:         "returns results of tasks/get, tasks/list and tasks/cancel without related-task metadata",
			Requirements: []string{"tasks.related.absent"},
			Judge: every(func(said *rules.Message) bool {
				return isResponse(said) && said.ResultObject() != nil && said.Request != nil &&
					slices.Contains([]string{"tasks/get", "tasks/list", "tasks/cancel"}, said.Request.Method)
			}, noRelatedTask("/result")),
		},
		{
			Text:         "sends all fields of the task in notifications/tasks/status",
			Requirements: []string{"tasks.notification.full"},
			Judge: func(conversation *rules.Conversation, reporter *rules.Reporter) {
				for _, said := range conversation.Notifications(statusMethod) {
					judgeMembers(conversation, reporter, found{place{"", said.Object}, said}, "TaskStatusNotification", wholeParams)
				}
			},
		},
		{
			Text:         "sends no related-task metadata in notifications/tasks/status",
			Requirements: []string{"tasks.notification.no-metadata"},
			Judge: every(func(said *rules.Message) bool {
				return said.Kind == jsonrpc.Notification && said.Method == statusMethod
			}, noRelatedTask("/params")),
		},
	}
}

// taskRequestorRules are about a target that asks for tasks itself.
func taskRequestorRules() []rules.Rule {
	return []rules.Rule{
		{
			Text:         "waits for the pollInterval between two tasks/get of a task",
			Requirements: []string{"tasks.poll-interval.respected"},
			Judge:        hastyPolls,
		},
		{
			Text:         "sends tasks/* requests without related-task metadata",
			Requirements: []string{"tasks.target.no-metadata"},
			Judge: every(func(said *rules.Message) bool {
				return isRequest(said) && strings.HasPrefix(said.Method, "tasks/")
			}, noRelatedTask("/params")),
		},
		{
			Text:         "sends the nextCursor of tasks/list back unchanged",
			Requirements: []string{"tasks.list.cursor-opaque"},
			Judge:        inventedCursors("tasks/list"),
		},
		{
			Text:         "calls tools as tasks only if the server declares tasks.requests.tools.call",
			Requirements: []string{"tasks.tool.undeclared"},
			Judge:        ofClient(undeclaredTaskCalls),
		},
		{
			Text:         "calls tools as tasks only if execution.taskSupport allows it",
			Requirements: []string{"tasks.tool.forbidden"},
			Judge:        ofClient(forbiddenTaskCalls),
		},
		{
			Text:         "calls tools as tasks if execution.taskSupport is required",
			Requirements: []string{"tasks.tool.required"},
			Judge:        ofClient(requiredTaskCalls),
		},
	}
}

const statusMethod = "notifications/tasks/status"

var taskTTL = regexp.MustCompile(`^/result/ttl$`)

// created returns the answers of the target that announce a task.
func created(conversation *rules.Conversation) []*rules.Message {
	var all []*rules.Message
	for _, said := range originals(conversation) {
		result, _ := said.Result()
		if isResponse(said) && said.Request != nil && asksForTask(said.Request) && isCreatedTask(result) {
			all = append(all, said)
		}
	}
	return all
}

// states returns every task that the target told of in an answer.
func states(conversation *rules.Conversation) []found {
	var all []found
	for _, said := range created(conversation) {
		task, _ := resultOf(said).member("task")
		all = append(all, found{task, said})
	}
	for _, method := range []string{"tasks/get", "tasks/cancel"} {
		for _, said := range conversation.Results(method) {
			all = append(all, found{resultOf(said), said})
		}
	}
	return append(all, listed(conversation, "tasks/list")...)
}

// judgeStates judges a member of every task.
func judgeStates(wrong func(task place) rules.Mismatch) judge {
	return func(conversation *rules.Conversation, reporter *rules.Reporter) {
		for _, state := range states(conversation) {
			reporter.Observe()
			if mismatch := wrong(state.place); mismatch != (rules.Mismatch{}) {
				reporter.Violation(state.said, mismatch)
			}
		}
	}
}

func taskMember(name string) func(place) rules.Mismatch {
	return func(task place) rules.Mismatch {
		if _, isText := task.object()[name].(string); isText {
			return rules.Mismatch{}
		}
		return rules.Mismatch{
			Wanted: fmt.Sprintf("a %s that is a string", name), Found: shown(task.object(), name), Where: task.pointer + "/" + name,
		}
	}
}

func taskTimestamp(name string) func(place) rules.Mismatch {
	return func(task place) rules.Mismatch {
		if text, _ := task.object()[name].(string); isTimestamp(text) {
			return rules.Mismatch{}
		}
		return rules.Mismatch{
			Wanted: fmt.Sprintf("a %s that is an ISO 8601 timestamp, such as 2025-11-25T10:30:00Z", name),
			Found:  shown(task.object(), name), Where: task.pointer + "/" + name,
		}
	}
}

// isTimestamp tells whether a text is a date and a time of ISO 8601.
func isTimestamp(text string) bool { return strings.ContainsRune(text, 'T') && isISO8601(text) }

func undeclaredTasks(conversation *rules.Conversation, reporter *rules.Reporter) {
	judging := schemas(conversation)
	for _, said := range created(conversation) {
		known := judging[said.Index]
		if known == nil {
			continue
		}
		method, _ := known.Method(said.Request.Method)
		if method.TaskCapability.Path == "" {
			continue
		}
		reporter.Observe()
		declarer := method.TaskCapability.Declarer(conversation.Party().Other())
		if !method.TaskCapability.DeclaredIn(declaredBy(conversation, declarer)) {
			reporter.Violation(said, rules.Mismatch{
				Wanted: "a task only if " + method.TaskCapability.Path + " is declared", Found: "a task without that", Where: "/result/task",
			})
		}
	}
}

// resultMembers are those of the results that tasks may have.
var resultMembers = []string{"content", "structuredContent", "isError", "action", "role", "model"}

func resultTooEarly(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, said := range created(conversation) {
		reporter.Observe()
		for _, name := range resultMembers {
			if member, there := resultOf(said).member(name); there {
				reporter.Violation(said, rules.Mismatch{
					Wanted: "the task alone", Found: fmt.Sprintf("a member %q of the operation's result: %s", name, rules.Show(member.value)),
					Where: member.pointer,
				})
			}
		}
	}
}

// createdID returns the id of the task that an answer announces.
func createdID(said *rules.Message) string {
	task, _ := resultOf(said).member("task")
	return taskID(task.object())
}

func sharedTaskIDs(conversation *rules.Conversation, reporter *rules.Reporter) {
	judgeSharedIDs(createdTasks(conversation), reporter)
}

// createdTasks returns the tasks that the target announced.
func createdTasks(conversation *rules.Conversation) []found {
	var all []found
	for _, said := range created(conversation) {
		task, _ := resultOf(said).member("task")
		all = append(all, found{task, said})
	}
	return all
}

// judgeSharedIDs judges that no two of the tasks that were announced have the same id.
func judgeSharedIDs(announced []found, reporter *rules.Reporter) {
	given := map[string]*rules.Message{}
	for _, task := range announced {
		id := taskID(task.object())
		if id == "" {
			continue
		}
		if len(given) > 0 { // one alone is always unique
			reporter.Observe()
		}
		if first := given[id]; first != nil && first.Request != task.said.Request {
			reporter.Violation(task.said, rules.Mismatch{
				Wanted: "an id that no other task has", Found: rules.Show(id) + " again", Where: task.pointer + "/taskId",
			})
		}
		given[id] = task.said
	}
}

func guessableTaskIDs(conversation *rules.Conversation, reporter *rules.Reporter) {
	judgeGuessableIDs(conversation, createdTasks(conversation), reporter)
}

// judgeGuessableIDs judges the ids of tasks that were announced, where the client shows no
// authorization to which tasks could be bound.
func judgeGuessableIDs(conversation *rules.Conversation, announced []found, reporter *rules.Reporter) {
	if authorized(conversation) {
		return
	}
	last := ""
	for _, task := range announced {
		id := taskID(task.object())
		if id == "" {
			continue
		}
		reporter.Observe()
		switch {
		case entropyAtMost(id) < leastEntropy:
			reporter.Violation(task.said, rules.Mismatch{
				Wanted: fmt.Sprintf("a random id of %d bits at the very least", leastEntropy),
				Found:  fmt.Sprintf("%s, which has no more than %.0f", rules.Show(id), entropyAtMost(id)), Where: task.pointer + "/taskId",
			})
		case follows(last, id):
			reporter.Violation(task.said, rules.Mismatch{
				Wanted: "an id that cannot be told from another one",
				Found:  fmt.Sprintf("%s after %s", rules.Show(id), rules.Show(last)), Where: task.pointer + "/taskId",
			})
		}
		last = id
	}
}

// authorized tells whether the client sent credentials.
func authorized(conversation *rules.Conversation) bool {
	return slices.ContainsFunc(conversation.Events, func(event transcript.Event) bool {
		return event.Kind == transcript.Head && event.From == protocol.Client && event.HTTP != nil &&
			event.HTTP.Header.Get("Authorization") != ""
	})
}

// leastEntropy is far below what is called secure, in bits: ids are judged only
// when they are beyond doubt too short.
const leastEntropy = 32

// entropyAtMost is how many bits an id holds if every character was chosen at
// random among those of its kind.
func entropyAtMost(id string) float64 {
	alphabet := 64.0
	switch {
	case onlyOf(id, "0123456789"):
		alphabet = 10
	case onlyOf(strings.ToLower(id), "0123456789abcdef-"):
		alphabet = 16
	}
	return float64(len(id)) * math.Log2(alphabet)
}

func onlyOf(text, characters string) bool { return strings.Trim(text, characters) == "" }

var digits = regexp.MustCompile(`[0-9]+`)

// nearby is how far a counter moves between two tasks of one client, when
// others count, too.
const nearby = 1000

// follows tells whether two ids are the same but for one number that grew a
// little: a counter.
func follows(earlier, later string) bool {
	if earlier == later || digits.ReplaceAllString(earlier, "0") != digits.ReplaceAllString(later, "0") {
		return false
	}
	was, is := digits.FindAllString(earlier, -1), digits.FindAllString(later, -1)
	changed := 0
	for i := range was {
		if was[i] == is[i] {
			continue
		}
		before, okBefore := new(big.Int).SetString(was[i], 10)
		after, okAfter := new(big.Int).SetString(is[i], 10)
		if !okBefore || !okAfter {
			return false
		}
		if step := new(big.Int).Sub(after, before); step.Sign() <= 0 || step.Cmp(big.NewInt(nearby)) > 0 {
			return false
		}
		changed++
	}
	return changed == 1
}

func otherBeginnings(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, said := range created(conversation) {
		reporter.Observe()
		task, _ := resultOf(said).member("task")
		if status, _ := task.member("status"); status.value != "working" {
			reporter.Violation(said, rules.Mismatch{Wanted: `the status "working"`, Found: shown(task.object(), "status"), Where: status.pointer})
		}
	}
}

func resurrections(conversation *rules.Conversation, reporter *rules.Reporter) {
	all := states(conversation)
	for _, said := range conversation.Notifications(statusMethod) {
		all = append(all, found{paramsOf(said), said})
	}
	judgeEndings(createdTasks(conversation), all, reporter)
}

// judgeEndings judges what was asked after a task was known to be over: what was said
// at the same time may have come in another order. Of an id that several tasks have
// nobody knows which is meant.
func judgeEndings(created, states []found, reporter *rules.Reporter) {
	type ending struct {
		status string
		known  int // position among the messages
	}
	over := map[string]ending{}
	announced := map[string]int{}
	for _, task := range created {
		announced[taskID(task.object())]++
	}
	slices.SortStableFunc(states, func(a, b found) int { return a.said.Index - b.said.Index })
	for _, state := range states {
		id, status := taskID(state.object()), state.object()["status"]
		text, isText := status.(string)
		if id == "" || !isText || announced[id] > 1 {
			continue
		}
		reporter.Observe()
		end, known := over[id]
		switch {
		case !known && slices.Contains(terminal, status):
			over[id] = ending{text, state.said.Index}
		case known && text != end.status && state.said.Request != nil && state.said.Request.Index > end.known:
			reporter.Violation(state.said, rules.Mismatch{
				Wanted: fmt.Sprintf("the status %q, which the task had before", end.status),
				Found:  rules.Show(text), Where: state.pointer + "/status",
			})
		}
	}
}

func unexplainedFailures(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, said := range conversation.Results("tasks/get") {
		result := resultOf(said)
		if status, _ := result.member("status"); status.value != "failed" {
			continue
		}
		reporter.Observe()
		if message, _ := result.member("statusMessage"); strings.TrimSpace(message.text()) == "" {
			reporter.Violation(said, rules.Mismatch{
				Wanted: "a statusMessage that says why", Found: shown(result.object(), "statusMessage"), Where: message.pointer,
			})
		}
	}
}

// listsForAnybody looks at a server over HTTP that has neither sessions nor
// authorization nor cookies to know its clients by.
func listsForAnybody(conversation *rules.Conversation, reporter *rules.Reporter) {
	hello := handshakeOf(conversation)
	if hello == nil || !mcp.Declares(conversation.ServerCapabilities, "tasks.list") || authorized(conversation) {
		return
	}
	reporter.Observe()
	for _, event := range conversation.Events {
		if event.Kind == transcript.Head && event.From == protocol.Server && event.HTTP != nil &&
			(event.HTTP.Header.Get(sessionHeader) != "" || event.HTTP.Header.Get("Set-Cookie") != "") {
			return
		}
	}
	reporter.Violation(hello, rules.Mismatch{
		Wanted: "tasks.list only with sessions or authorization", Found: "tasks.list with neither", Where: "/result/capabilities/tasks/list",
	})
}

// taskRequests returns the exchanges that carry requests about tasks and were
// accepted.
func taskRequests(conversation *rules.Conversation) []*exchange {
	return slices.DeleteFunc(slices.Clone(exchanges(conversation)), func(one *exchange) bool {
		return !one.asks() || !one.accepted() || !strings.HasPrefix(one.sent.Method, "tasks/")
	})
}

func taskExchanges(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, one := range taskRequests(conversation) {
		reporter.Observe()
		if kind := one.mediaType(); kind != "application/json" && kind != eventStreamType {
			reporter.Violation(one.sent, rules.Mismatch{
				Wanted: "application/json or text/event-stream", Found: fmt.Sprintf("%q", kind), Where: "header Content-Type",
			})
		}
	}
}

func streamedPolls(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, one := range taskRequests(conversation) {
		if one.sent.Method != "tasks/get" {
			continue
		}
		reporter.Observe()
		if one.streams() {
			reporter.Violation(one.sent, rules.Mismatch{
				Wanted: "tasks/get to be answered with application/json", Found: eventStreamType, Where: "header Content-Type",
			})
		}
	}
}

func noRelatedTask(carrier string) func(*rules.Message) rules.Mismatch {
	return func(said *rules.Message) rules.Mismatch {
		if id, there := relatedTask(said); there {
			return rules.Mismatch{
				Wanted: "no " + mcp.RelatedTask, Found: "that of " + rules.Show(id), Where: carrier + "/_meta/" + escape(mcp.RelatedTask),
			}
		}
		return rules.Mismatch{}
	}
}

// knownTasks are the ids of the tasks that either side announced, or answered
// for: they may have been made on an earlier connection.
func knownTasks(conversation *rules.Conversation) map[string]bool {
	known := map[string]bool{}
	for _, said := range conversation.Messages {
		if !isResponse(said) || said.Request == nil || said.ResultObject() == nil {
			continue
		}
		if task, _ := resultOf(said).member("task"); asksForTask(said.Request) && taskID(task.object()) != "" {
			known[taskID(task.object())] = true
		}
		if id := taskID(said.Request.ParamsObject()); id != "" && strings.HasPrefix(said.Request.Method, "tasks/") {
			known[id] = true
		}
	}
	return known
}

// anonymousRequests judges requests that name a task, and those that come on
// the stream of tasks/result: what is asked there belongs to a task. Requests
// about tasks of the client have a rule of their own.
func anonymousRequests(conversation *rules.Conversation, reporter *rules.Reporter) {
	known := knownTasks(conversation)
	awaiting := map[string]bool{} // streams that answer tasks/result
	for _, one := range exchanges(conversation) {
		if one.root().asks() && one.root().sent.Method == "tasks/result" {
			awaiting[one.request.Stream] = true
		}
	}
	for _, said := range conversation.ByTarget() {
		if !isRequest(said) || said.Method == "ping" || strings.HasPrefix(said.Method, "tasks/") {
			continue
		}
		id, names := relatedTask(said)
		if !names && !awaiting[said.Event.Stream] {
			continue
		}
		reporter.Observe()
		if !known[id] {
			found := "none"
			if names {
				found = rules.Show(id)
			}
			reporter.Violation(said, rules.Mismatch{
				Wanted: fmt.Sprintf("the taskId of a task (%s) in %s", strings.Join(slices.Sorted(maps.Keys(known)), ", "), mcp.RelatedTask),
				Found:  found, Where: "/params/_meta",
			})
		}
	}
}

// anonymousProgress judges progress of requests that became tasks, after they
// were announced.
func anonymousProgress(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, report := range progressReports(conversation) {
		if len(report.requests) == 0 {
			continue
		}
		request := report.requests[len(report.requests)-1]
		if !asksForTask(request) || len(request.Answers) == 0 {
			continue
		}
		id := createdID(request.Answers[0])
		named, there := relatedTask(report.Message)
		// On another stream, progress may overtake the answer that begins the task:
		// then it shows only what is kept.
		early := request.Answers[0].Index > report.Index
		if id == "" || early && named != id {
			continue
		}
		reporter.Observe()
		if named != id {
			found := "none"
			if there {
				found = rules.Show(named)
			}
			reporter.Violation(report.Message, rules.Mismatch{
				Wanted: fmt.Sprintf("the taskId %s in %s", rules.Show(id), mcp.RelatedTask), Found: found, Where: "/params/_meta",
			})
		}
	}
}

// anonymousResults judges the results of tasks/result, and of other requests
// that name a task.
func anonymousResults(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, said := range conversation.ByTarget() {
		if !isResponse(said) || said.ResultObject() == nil || said.Request == nil {
			continue
		}
		wanted, belongs := relatedTask(said.Request)
		switch method := said.Request.Method; {
		case method == "tasks/result":
			wanted = taskID(said.Request.ParamsObject())
		case !belongs || strings.HasPrefix(method, "tasks/"):
			continue
		}
		reporter.Observe()
		if named, there := relatedTask(said); named != wanted {
			found := "none"
			if there {
				found = rules.Show(named)
			}
			reporter.Violation(said, rules.Mismatch{
				Wanted: fmt.Sprintf("the taskId %s in %s", rules.Show(wanted), mcp.RelatedTask), Found: found, Where: "/result/_meta",
			})
		}
	}
}

// hastyPolls judges how soon tasks/get comes again. Half of what was asked for
// is enough: clocks and wires differ.
func hastyPolls(conversation *rules.Conversation, reporter *rules.Reporter) {
	judgePolls(conversation, reporter, "pollInterval")
}

// judgePolls judges them by what the answer before says.
func judgePolls(conversation *rules.Conversation, reporter *rules.Reporter, interval string) {
	answered := map[string]*rules.Message{} // by task: the last answer that had an interval
	for _, said := range conversation.Messages {
		switch {
		case said.FromTarget(conversation.Leg) && isRequest(said) && said.Method == "tasks/get":
			before := answered[taskID(said.ParamsObject())]
			if before == nil {
				continue
			}
			reporter.Observe()
			asked := pollInterval(before, interval)
			if waited := said.Event.At.Sub(before.Event.At); waited < asked/2 {
				reporter.Violation(said, rules.Mismatch{
					Wanted: fmt.Sprintf("tasks/get again after %s", asked),
					Found:  fmt.Sprintf("after %s", waited.Round(time.Millisecond)),
				})
			}
		case !said.FromTarget(conversation.Leg) && isResponse(said) && said.Request != nil && said.Request.Method == "tasks/get":
			switch id := taskID(said.ResultObject()); {
			case slices.Contains(terminal, said.ResultObject()["status"]):
				delete(answered, id) // nobody polls what is over: who asks wants to know
			case pollInterval(said, interval) > 0:
				answered[id] = said
			}
		}
	}
}

func pollInterval(said *rules.Message, member string) time.Duration {
	milliseconds, isNumber := said.ResultObject()[member].(interface{ Float64() (float64, error) })
	if !isNumber {
		return 0
	}
	value, err := milliseconds.Float64()
	if err != nil || value <= 0 || value > float64(time.Hour.Milliseconds()) {
		return 0
	}
	return time.Duration(value * float64(time.Millisecond))
}

// toolTasks is the capability of a server that takes calls of tools as tasks.
const toolTasks = "tasks.requests.tools.call"

// A toolCall is one of a client, with what the server last said of the tool.
type toolCall struct {
	*rules.Message
	tool place // without a value when it was not listed
}

func toolCalls(conversation *rules.Conversation) []toolCall {
	var all []toolCall
	known := map[string]place{}
	for _, said := range conversation.Messages {
		switch {
		case !said.FromTarget(conversation.Leg):
			if isResponse(said) && said.Request != nil && said.Request.Method == "tools/list" {
				for _, tool := range resultOf(said).items("tools") {
					name, _ := tool.member("name")
					known[name.text()] = tool
				}
			}
		case isRequest(said) && said.Method == "tools/call":
			name, _ := said.ParamsObject()["name"].(string)
			all = append(all, toolCall{said, known[name]})
		}
	}
	return all
}

// support is what a tool says of tasks; "forbidden" when it says nothing.
func (c toolCall) support() string {
	execution, _ := c.tool.member("execution")
	if support, _ := execution.member("taskSupport"); support.text() != "" {
		return support.text()
	}
	return "forbidden"
}

func undeclaredTaskCalls(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, call := range toolCalls(conversation) {
		if conversation.ServerCapabilities == nil || mcp.Declares(conversation.ServerCapabilities, toolTasks) {
			continue
		}
		reporter.Observe()
		if asksForTask(call.Message) {
			reporter.Violation(call.Message, rules.Mismatch{
				Wanted: "no task, as the server does not declare " + toolTasks, Found: rules.Show(call.ParamsObject()["task"]), Where: "/params/task",
			})
		}
	}
}

func forbiddenTaskCalls(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, call := range toolCalls(conversation) {
		if call.tool.object() == nil || call.support() != "forbidden" || !mcp.Declares(conversation.ServerCapabilities, toolTasks) {
			continue
		}
		reporter.Observe()
		if asksForTask(call.Message) {
			reporter.Violation(call.Message, rules.Mismatch{
				Wanted: "no task of a tool that does not support it", Found: rules.Show(call.ParamsObject()["task"]), Where: "/params/task",
			})
		}
	}
}

func requiredTaskCalls(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, call := range toolCalls(conversation) {
		if call.support() != "required" || !mcp.Declares(conversation.ServerCapabilities, toolTasks) {
			continue
		}
		reporter.Observe()
		if !asksForTask(call.Message) {
			reporter.Violation(call.Message, rules.Mismatch{
				Wanted: "a task, as the tool requires one", Found: "a call without a task: " + excerpt.Short(call.Raw), Where: "/params",
			})
		}
	}
}
