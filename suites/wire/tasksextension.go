package wire

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/mcp"
	"github.com/mcpconform/mcpconform/internal/rules"
)

const (
	// tasksExtension is what the extension is declared as.
	tasksExtension = "io.modelcontextprotocol/tasks"
	// taskType is the resultType of a task that is created.
	taskType = "task"
	// taskNotification tells of a task.
	taskNotification = "notifications/tasks"
)

// TasksExtensionRules are the rules of the tasks extension (SEP-2663).
func TasksExtensionRules() []rules.Rule {
	return slices.Concat(extensionCreationRules(), extensionStateRules(), extensionMessageRules(), extensionClientRules())
}

// extensionCreationRules are about which results are tasks.
func extensionCreationRules() []rules.Rule {
	return []rules.Rule{
		{
			Text:         "returns tasks only for requests that declare the tasks extension",
			Requirements: []string{"tasks-extension.created.negotiated"},
			Judge: judgeTasks(createdByExtension, func(conversation *rules.Conversation, task found) rules.Mismatch {
				if declaresExtension(conversation.ClientDeclared(task.said)) {
					return rules.Mismatch{}
				}
				return rules.Mismatch{
					Wanted: "no task for a request that does not declare " + tasksExtension, Found: "a task", Where: "/result/resultType",
				}
			}),
		},
		{
			Text:         "returns extension tasks only in answer to tools/call",
			Requirements: []string{"tasks-extension.methods.supported"},
			Judge: judgeTasks(createdByExtension, func(_ *rules.Conversation, task found) rules.Mismatch {
				if task.said.Request.Method == "tools/call" {
					return rules.Mismatch{}
				}
				return rules.Mismatch{Wanted: "a task in answer to tools/call only", Found: "one in answer to " + task.said.Request.Method, Where: "/result"}
			}),
		},
		{
			Text:         "sets resultType task in each tools/call result that creates a task",
			Requirements: []string{"tasks-extension.result-type.task"},
			Judge:        unnamedTasks,
		},
		{
			Text:         "sets resultType task only in results that create a task",
			Requirements: []string{"tasks-extension.result-type.reserved"},
			Judge:        namedTasks,
		},
		{
			Text:         "returns resultType complete from tasks/get",
			Requirements: []string{"tasks-extension.result-type.get"},
			Judge:        completeResults("tasks/get"),
		},
		{
			Text:         "returns resultType complete from tasks/update",
			Requirements: []string{"tasks-extension.result-type.update"},
			Judge:        completeResults("tasks/update"),
		},
		{
			Text:         "returns resultType complete from tasks/cancel",
			Requirements: []string{"tasks-extension.result-type.cancel"},
			Judge:        completeResults("tasks/cancel"),
		},
		{
			Text:         "returns an empty result from tasks/update",
			Requirements: []string{"tasks-extension.update.acknowledged"},
			Judge:        emptyResults("tasks/update"),
		},
		{
			Text:         "returns an empty result from tasks/cancel",
			Requirements: []string{"tasks-extension.cancel.acknowledged"},
			Judge:        emptyResults("tasks/cancel"),
		},
		{
			Text:         "does not declare the tasks capability of 2025-11-25 beside the tasks extension",
			Requirements: []string{"tasks-extension.former.capability"},
			Judge:        formerCapability,
		},
	}
}

// extensionStateRules are about tasks as the target tells of them.
func extensionStateRules() []rules.Rule {
	return []rules.Rule{
		{
			Text:         "returns extension tasks with taskId, status, createdAt, lastUpdatedAt and ttlMs",
			Requirements: []string{"tasks-extension.task.shape"},
			Judge:        misshapenTasks,
		},
		{
			Text:         "returns extension tasks with one of the five defined statuses",
			Requirements: []string{"tasks-extension.task.status"},
			Judge: judgeTasks(extensionStates, func(_ *rules.Conversation, task found) rules.Mismatch {
				status, isText := task.object()["status"].(string)
				if !isText || slices.Contains(extensionStatuses, status) {
					return rules.Mismatch{} // of one that is no text the rule about members tells
				}
				return rules.Mismatch{Wanted: strings.Join(extensionStatuses, ", "), Found: rules.Show(status), Where: task.pointer + "/status"}
			}),
		},
		{
			Text:         "gives extension tasks createdAt and a lastUpdatedAt not before it, both in ISO 8601",
			Requirements: []string{"tasks-extension.task.timestamps"},
			Judge:        misdatedTasks,
		},
		{
			Text:         "keeps the createdAt of each extension task unchanged",
			Requirements: []string{"tasks-extension.task.created-once"},
			Judge:        recreatedTasks,
		},
		{
			Text:         "gives extension tasks an integer or null as ttlMs and an integer as pollIntervalMs, if any",
			Requirements: []string{"tasks-extension.task.ttl"},
			Judge:        mistimedTasks,
		},
		{
			Text:         "does not change the status of extension tasks that are completed, failed or cancelled",
			Requirements: []string{"tasks-extension.task.terminal"},
			Judge: func(conversation *rules.Conversation, reporter *rules.Reporter) {
				judgeEndings(createdByExtension(conversation), extensionStates(conversation), reporter)
			},
		},
		{
			Text:         "gives no two extension tasks the same taskId",
			Requirements: []string{"tasks-extension.task.unique"},
			Judge: func(conversation *rules.Conversation, reporter *rules.Reporter) {
				judgeSharedIDs(createdByExtension(conversation), reporter)
			},
		},
		{
			Text:         "gives extension tasks a taskId that cannot be guessed",
			Requirements: []string{"tasks-extension.security.entropy"},
			Judge: func(conversation *rules.Conversation, reporter *rules.Reporter) {
				judgeGuessableIDs(conversation, createdByExtension(conversation), reporter)
			},
		},
		{
			Text:         "includes a statusMessage in extension tasks with the status failed",
			Requirements: []string{"tasks-extension.task.failed-message"},
			Judge:        unexplainedFailures,
		},
		{
			Text:         "returns no extension task with the status failed for a tool result with isError",
			Requirements: []string{"tasks-extension.task.failed-errors"},
			Judge: judgeTasks(inStatus("failed"), func(_ *rules.Conversation, task found) rules.Mismatch {
				result, _ := task.object()["result"].(map[string]any)
				if result["isError"] != true {
					return rules.Mismatch{}
				}
				return rules.Mismatch{
					Wanted: `the status "completed" of a task whose result is an error of the tool`, Found: `"failed"`, Where: task.pointer + "/status",
				}
			}),
		},
		{
			Text:         "includes inputRequests in extension tasks with the status input_required",
			Requirements: []string{"tasks-extension.get.input-required"},
			Judge:        judgePayloads("input_required"),
		},
		{
			Text:         "includes result in extension tasks with the status completed",
			Requirements: []string{"tasks-extension.get.completed"},
			Judge:        judgePayloads("completed"),
		},
		{
			Text:         "includes error in extension tasks with the status failed",
			Requirements: []string{"tasks-extension.get.failed"},
			Judge:        judgePayloads("failed"),
		},
		{
			Text:         "uses each key of a task's inputRequests for one request only",
			Requirements: []string{"tasks-extension.input.keys"},
			Judge:        reusedKeys,
		},
	}
}

// extensionMessageRules are about notifications.
func extensionMessageRules() []rules.Rule {
	return []rules.Rule{
		{
			Text:         "sends notifications/tasks only on subscriptions whose taskIds contain the task",
			Requirements: []string{"tasks-extension.notifications.subscribed"},
			Judge:        unsubscribedTasks,
		},
		{
			Text:         "includes the inputRequests, result or error of a task in notifications/tasks, by its status",
			Requirements: []string{"tasks-extension.notifications.complete"},
			Judge: judgeTasks(notifiedTasks, func(_ *rules.Conversation, task found) rules.Mismatch {
				return wrongPayload(task.place)
			}),
		},
		{
			Text:         "sends no notifications/progress or notifications/message on subscriptions with taskIds",
			Requirements: []string{"tasks-extension.notifications.others"},
			Judge:        strangersOnTasks,
		},
	}
}

// extensionStatuses are those that a task can have.
var extensionStatuses = []string{"working", "input_required", "completed", "failed", "cancelled"}

// declaresExtension tells whether capabilities have the extension.
func declaresExtension(capabilities rules.Object) bool {
	return mcp.Declares(capabilities, "extensions."+tasksExtension)
}

// isExtensionTask tells whether a response says that it creates a task.
func isExtensionTask(said *rules.Message) bool {
	return said.ResultObject()["resultType"] == taskType && !isAboutTask(said.Request)
}

// isAboutTask tells whether a request asks for something about a task, and so makes
// none.
func isAboutTask(request *rules.Message) bool {
	return slices.Contains([]string{"tasks/get", "tasks/update", "tasks/cancel"}, request.Method)
}

// createdByExtension returns the tasks that the target announced.
func createdByExtension(conversation *rules.Conversation) []found {
	var all []found
	for _, said := range conversation.ByTarget() {
		if isResponse(said) && said.Request != nil && isExtensionTask(said) && isTask(said.ResultObject()) {
			all = append(all, found{resultOf(said), said})
		}
	}
	return all
}

// isTask tells whether an object has what makes it a task, however little else.
func isTask(object rules.Object) bool {
	_, hasID := object["taskId"]
	_, hasStatus := object["status"]
	return hasID && hasStatus
}

// notifiedTasks returns the tasks that the target told of by notifications.
func notifiedTasks(conversation *rules.Conversation) []found {
	var all []found
	for _, said := range conversation.Notifications(taskNotification) {
		all = append(all, found{paramsOf(said), said})
	}
	return all
}

// askedStates returns the tasks that the target told of in answer to tasks/get.
func askedStates(conversation *rules.Conversation) []found {
	var all []found
	for _, said := range conversation.Results("tasks/get") {
		all = append(all, found{resultOf(said), said})
	}
	return all
}

// extensionStates returns everything that the target told of tasks, in its order.
func extensionStates(conversation *rules.Conversation) []found {
	all := slices.Concat(createdByExtension(conversation), askedStates(conversation), notifiedTasks(conversation))
	slices.SortStableFunc(all, func(a, b found) int { return a.said.Index - b.said.Index })
	return all
}

// inStatus returns the answers to tasks/get about tasks in a status.
func inStatus(status string) func(*rules.Conversation) []found {
	return func(conversation *rules.Conversation) []found {
		return slices.DeleteFunc(askedStates(conversation), func(task found) bool { return task.object()["status"] != status })
	}
}

// judgeTasks makes the judge of a rule about single tasks: what is wrong with one.
func judgeTasks(
	tasks func(*rules.Conversation) []found, wrong func(*rules.Conversation, found) rules.Mismatch,
) judge {
	return func(conversation *rules.Conversation, reporter *rules.Reporter) {
		for _, task := range tasks(conversation) {
			reporter.Observe()
			if mismatch := wrong(conversation, task); mismatch != (rules.Mismatch{}) {
				reporter.Violation(task.said, mismatch)
			}
		}
	}
}

// unnamedTasks judges results of tools that are tasks, whatever they say: they have
// what a task must have, and nothing of a result.
func unnamedTasks(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, said := range conversation.Results("tools/call") {
		result := said.ResultObject()
		_, hasContent := result["content"]
		if !isTask(result) || hasContent {
			continue
		}
		reporter.Observe()
		if kind, there := result["resultType"]; kind != taskType {
			wrong := rules.Mismatch{Wanted: `the resultType "task" of a task`, Found: "none", Where: "/result"}
			if there {
				wrong.Found, wrong.Where = rules.Show(kind), "/result/resultType"
			}
			reporter.Violation(said, wrong)
		}
	}
}

func namedTasks(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, said := range conversation.ByTarget() {
		if !isResponse(said) || said.Request == nil || said.ResultObject()["resultType"] != taskType {
			continue
		}
		reporter.Observe()
		switch {
		case isAboutTask(said.Request):
			reporter.Violation(said, rules.Mismatch{
				Wanted: `the resultType "task" of none but a task that is created`, Found: "that of an answer to " + said.Request.Method, Where: "/result/resultType",
			})
		case !isTask(said.ResultObject()):
			reporter.Violation(said, rules.Mismatch{
				Wanted: `the resultType "task" of none but a task that is created`, Found: "that of a result without taskId or status", Where: "/result/resultType",
			})
		}
	}
}

// completeResults judges the resultType of answers that have one; a rule about all
// results tells of those that have none.
func completeResults(method string) judge {
	return func(conversation *rules.Conversation, reporter *rules.Reporter) {
		for _, said := range conversation.Results(method) {
			kind, there := said.ResultObject()["resultType"]
			if !there {
				continue
			}
			reporter.Observe()
			if kind != "complete" {
				reporter.Violation(said, rules.Mismatch{Wanted: `the resultType "complete"`, Found: rules.Show(kind), Where: "/result/resultType"})
			}
		}
	}
}

// emptyResults judges that answers have no member but those of every result.
func emptyResults(method string) judge {
	return func(conversation *rules.Conversation, reporter *rules.Reporter) {
		for _, said := range conversation.Results(method) {
			reporter.Observe()
			for _, name := range slices.Sorted(maps.Keys(said.ResultObject())) {
				if name != "resultType" && name != "_meta" {
					reporter.Violation(said, rules.Mismatch{
						Wanted: "an empty result", Found: fmt.Sprintf("one with a member %q", name), Where: "/result/" + escape(name),
					})
				}
			}
		}
	}
}

func formerCapability(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, said := range conversation.Results("server/discover") {
		capabilities, _ := resultOf(said).member("capabilities")
		if !declaresExtension(capabilities.object()) {
			continue
		}
		reporter.Observe()
		if former, there := capabilities.member("tasks"); there {
			reporter.Violation(said, rules.Mismatch{
				Wanted: "the extension alone", Found: "the capability tasks of 2025-11-25, too: " + rules.Show(former.value), Where: former.pointer,
			})
		}
	}
}

func misshapenTasks(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, task := range extensionStates(conversation) {
		reporter.Observe()
		for _, name := range []string{"taskId", "status", "createdAt", "lastUpdatedAt"} {
			if _, isText := task.object()[name].(string); !isText {
				reporter.Violation(task.said, rules.Mismatch{
					Wanted: fmt.Sprintf("a %s that is a string", name), Found: shown(task.object(), name), Where: task.pointer + "/" + name,
				})
			}
		}
		if _, there := task.member("ttlMs"); !there {
			reporter.Violation(task.said, rules.Mismatch{
				Wanted: "a ttlMs: an integer, or null for no limit", Found: "none", Where: task.pointer,
			})
		}
	}
}

// skew is how much the clocks of those who work on a task may differ, or be rounded.
const skew = time.Second

func misdatedTasks(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, task := range extensionStates(conversation) {
		reporter.Observe()
		var moments []time.Time
		for _, name := range []string{"createdAt", "lastUpdatedAt"} {
			text, isText := task.object()[name].(string)
			if isText && !isTimestamp(text) {
				reporter.Violation(task.said, rules.Mismatch{
					Wanted: "a time of ISO 8601, such as 2025-11-25T10:30:00Z", Found: rules.Show(text), Where: task.pointer + "/" + name,
				})
			}
			if moment, err := time.Parse(time.RFC3339, text); err == nil {
				moments = append(moments, moment)
			}
		}
		if len(moments) == 2 && moments[1].Add(skew).Before(moments[0]) {
			reporter.Violation(task.said, rules.Mismatch{
				Wanted: "a lastUpdatedAt that is not before createdAt, " + rules.Show(task.object()["createdAt"]),
				Found:  rules.Show(task.object()["lastUpdatedAt"]), Where: task.pointer + "/lastUpdatedAt",
			})
		}
	}
}

// recreatedTasks judges that the time of a task's creation stays. The same moment may
// be written in several ways, and more or less exactly.
func recreatedTasks(conversation *rules.Conversation, reporter *rules.Reporter) {
	first := map[string]time.Time{}
	for _, task := range extensionStates(conversation) {
		id := taskID(task.object())
		text, _ := task.object()["createdAt"].(string)
		moment, err := time.Parse(time.RFC3339, text)
		if id == "" || err != nil {
			continue
		}
		before, known := first[id]
		if !known {
			first[id] = moment
			continue
		}
		reporter.Observe()
		if moment.Sub(before).Abs() >= skew {
			reporter.Violation(task.said, rules.Mismatch{
				Wanted: "the createdAt that the task had before, " + before.Format(time.RFC3339Nano), Found: rules.Show(text), Where: task.pointer + "/createdAt",
			})
		}
	}
}

func mistimedTasks(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, task := range extensionStates(conversation) {
		reporter.Observe()
		if ttl, there := task.member("ttlMs"); there && ttl.value != nil && !isMilliseconds(ttl.value) {
			reporter.Violation(task.said, rules.Mismatch{Wanted: "an integer of milliseconds, or null", Found: rules.Show(ttl.value), Where: ttl.pointer})
		}
		if interval, there := task.member("pollIntervalMs"); there && !isMilliseconds(interval.value) {
			reporter.Violation(task.said, rules.Mismatch{Wanted: "an integer of milliseconds", Found: rules.Show(interval.value), Where: interval.pointer})
		}
	}
}

// isMilliseconds tells whether a value is an integer that a time can have.
func isMilliseconds(value any) bool {
	number, isNumber := value.(json.Number)
	return isNumber && jsonrpc.IDOf(value).IsInteger() && !strings.HasPrefix(number.String(), "-")
}

// payloads are what tasks have because of their status.
var payloads = map[string]string{"input_required": "inputRequests", "completed": "result", "failed": "error"}

func judgePayloads(status string) judge {
	return judgeTasks(inStatus(status), func(_ *rules.Conversation, task found) rules.Mismatch { return wrongPayload(task.place) })
}

// wrongPayload says what is wrong with that which a task has because of its status.
func wrongPayload(task place) rules.Mismatch {
	status, _ := task.object()["status"].(string)
	name, has := payloads[status]
	if !has {
		return rules.Mismatch{}
	}
	payload, there := task.member(name)
	wanted := fmt.Sprintf("%s of a task with the status %q", name, status)
	switch {
	case !there:
		return rules.Mismatch{Wanted: wanted, Found: "none", Where: task.pointer}
	case payload.object() == nil:
		return rules.Mismatch{Wanted: wanted + ": an object", Found: rules.Show(payload.value), Where: payload.pointer}
	case name == "inputRequests" && len(payload.object()) == 0:
		return rules.Mismatch{Wanted: wanted + ": at least one that is outstanding", Found: "none", Where: payload.pointer}
	case name == "error" && !jsonrpc.IDOf(payload.object()["code"]).IsInteger():
		return rules.Mismatch{Wanted: wanted + ": a JSON-RPC error with its code", Found: rules.Show(payload.value), Where: payload.pointer}
	}
	return rules.Mismatch{}
}

// reusedKeys judges that a key of a task's inputRequests stands for one request.
func reusedKeys(conversation *rules.Conversation, reporter *rules.Reporter) {
	type key struct{ task, name string }
	known := map[key]any{}
	for _, task := range extensionStates(conversation) {
		requests, _ := task.member("inputRequests")
		for _, name := range slices.Sorted(maps.Keys(requests.object())) {
			one := key{taskID(task.object()), name}
			request := requests.object()[name]
			reporter.Observe()
			if before, used := known[one]; used && !sameJSON(wish(before), wish(request)) {
				reporter.Violation(task.said, rules.Mismatch{
					Wanted: "the request that this key stood for before: " + rules.Show(before), Found: rules.Show(request),
					Where: requests.pointer + "/" + escape(name),
				})
			} else if !used {
				known[one] = request
			}
		}
	}
}

// wish is what an input request is about: its method, and its params without what is
// said beside them.
func wish(request any) any {
	object, _ := request.(map[string]any)
	params, _ := object["params"].(map[string]any)
	params = maps.Clone(params)
	delete(params, "_meta")
	return []any{object["method"], params}
}

// subscriptionOf returns the request that opened the subscription which a notification
// belongs to, as far as it says so.
func subscriptionOf(said *rules.Message, subscriptions map[jsonrpc.ID]*rules.Message) *rules.Message {
	id, there := subscriptionID(said)
	if !there {
		return nil
	}
	return subscriptions[id]
}

// subscriptionsTo returns the subscriptions of the client, by id.
func subscriptionsTo(conversation *rules.Conversation) map[jsonrpc.ID]*rules.Message {
	all := map[jsonrpc.ID]*rules.Message{}
	for _, said := range conversation.ByPeer() {
		if isRequest(said) && said.Method == listenMethod {
			all[said.ID] = said
		}
	}
	return all
}

// subscribedTasks are the ids of the tasks that a subscription asks for.
func subscribedTasks(subscription *rules.Message) []any {
	filter, _ := paramsOf(subscription).member("notifications")
	ids, _ := filter.object()["taskIds"].([]any)
	return ids
}

func unsubscribedTasks(conversation *rules.Conversation, reporter *rules.Reporter) {
	subscriptions := subscriptionsTo(conversation)
	for _, task := range notifiedTasks(conversation) {
		reporter.Observe()
		subscription := subscriptionOf(task.said, subscriptions)
		if subscription == nil || !slices.Contains(subscribedTasks(subscription), any(taskID(task.object()))) {
			reporter.Violation(task.said, rules.Mismatch{
				Wanted: "notifications of tasks only on a subscription that asks for them", Found: "one of the task " + rules.Show(task.object()["taskId"]),
				Where: "/params",
			})
		}
	}
}

// strangersOnTasks judges what comes on subscriptions to tasks: over HTTP by the stream,
// elsewhere by what the notification says.
func strangersOnTasks(conversation *rules.Conversation, reporter *rules.Reporter) {
	subscriptions := subscriptionsTo(conversation)
	opened := map[string]*rules.Message{}
	for _, one := range exchanges(conversation) {
		if one.sent != nil && one.sent.Method == listenMethod {
			opened[one.request.Stream] = one.sent
		}
	}
	for _, said := range conversation.ByTarget() {
		if said.Kind != jsonrpc.Notification {
			continue
		}
		subscription := opened[said.Event.Stream]
		if subscription == nil {
			subscription = subscriptionOf(said, subscriptions)
		}
		if subscription == nil || len(subscribedTasks(subscription)) == 0 {
			continue
		}
		reporter.Observe()
		if said.Method == "notifications/progress" || said.Method == "notifications/message" {
			reporter.Violation(said, rules.Mismatch{
				Wanted: "neither progress nor log messages on a subscription to tasks", Found: said.Method, Where: "/method",
			})
		}
	}
}

// extensionClientRules are about what a client does with tasks.
func extensionClientRules() []rules.Rule {
	return []rules.Rule{
		{
			Text:         "sends tasks/get no more often than pollIntervalMs allows",
			Requirements: []string{"tasks-extension.poll.interval-respected"},
			Judge: ofClient(func(conversation *rules.Conversation, reporter *rules.Reporter) {
				judgePolls(conversation, reporter, "pollIntervalMs")
			}),
		},
		{
			Text:         "answers each key of a task's inputRequests only once",
			Requirements: []string{"tasks-extension.input.answered-once"},
			Judge:        ofClient(repeatedInputs),
		},
		{
			Text:         "cancels extension tasks with tasks/cancel, not with notifications/cancelled",
			Requirements: []string{"tasks-extension.cancel.by-request"},
			Judge:        ofClient(cancelledTasks),
		},
		{
			Text:         "repeats the taskId of tasks/get, tasks/update and tasks/cancel in the header Mcp-Name",
			Requirements: []string{"tasks-extension.routing.name"},
			Judge:        everyMirror(taskMirror, missingMirror, otherMirror),
		},
	}
}

func repeatedInputs(conversation *rules.Conversation, reporter *rules.Reporter) {
	type input struct{ task, key string }
	given := map[input]bool{}
	refused := refusedStreams(conversation)
	for _, said := range conversation.Messages {
		if !said.FromTarget(conversation.Leg) && said.Request != nil && isExtensionTask(said) {
			clear(given) // a new task may have the name of an old one
		}
		if !said.FromTarget(conversation.Leg) || said.Method != "tasks/update" {
			continue
		}
		if refused[said.Event.Stream] || len(said.Answers) > 0 && isRefusal(said.Answers[0]) {
			continue // what was refused may be given again
		}
		responses, _ := paramsOf(said).member(inputResponses)
		for _, key := range slices.Sorted(maps.Keys(responses.object())) {
			reporter.Observe()
			one := input{taskID(said.ParamsObject()), key}
			if given[one] {
				reporter.Violation(said, rules.Mismatch{
					Wanted: "one answer to each input request", Found: "another one to " + rules.Show(key), Where: responses.pointer + "/" + escape(key),
				})
			}
			given[one] = true
		}
	}
}

// cancelledTasks judges cancellations that come when the client knows of the task,
// as it has asked after it.
func cancelledTasks(conversation *rules.Conversation, reporter *rules.Reporter) {
	asked := map[string]int{} // by task: index of the first request about it
	for _, said := range conversation.ByTarget() {
		id := taskID(said.ParamsObject())
		if _, known := asked[id]; isRequest(said) && id != "" && !known {
			asked[id] = said.Index
		}
	}
	for range conversation.Requests("tasks/cancel") {
		reporter.Observe()
	}
	for _, cancelled := range withdrawals(conversation) {
		reporter.Observe()
		if cancelled.request == nil || len(cancelled.request.Answers) == 0 || !isExtensionTask(cancelled.request.Answers[0]) {
			continue
		}
		first, known := asked[taskID(cancelled.request.Answers[0].ResultObject())]
		if known && first < cancelled.Index {
			reporter.Violation(cancelled.Message, rules.Mismatch{
				Wanted: "tasks/cancel for a request that became a task", Found: cancelledMethod, Where: "/method",
			})
		}
	}
}
