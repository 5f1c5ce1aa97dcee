package tasks

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
	"github.com/mcpconform/mcpconform/internal/rules/places"
	"github.com/mcpconform/mcpconform/internal/rules/tasks"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// extensionStateRules are about tasks as the target tells of them.
func extensionStateRules() []rules.Rule {
	return slices.Concat([]rules.Rule{
		{
			Text:     "returns extension tasks with taskId, status, createdAt, lastUpdatedAt and ttlMs",
			Verifies: rules.Verifies("tasks-extension.task.shape"),
			Judge:    misshapenTasks,
		},
		{
			Text:     "returns extension tasks with one of the five defined statuses",
			Verifies: rules.Verifies("tasks-extension.task.status"),
			Judge: judgeTasks(extensionStates, func(_ *rules.Conversation, task places.Found) rules.Mismatch {
				status, isText := task.Object()["status"].(string)
				if !isText || slices.Contains(extensionStatuses, status) {
					return rules.Mismatch{} // of one that is no text the rule about members tells
				}
				return rules.Mismatch{Wanted: strings.Join(extensionStatuses, ", "), Found: rules.Show(status), Where: task.Pointer + "/status"}
			}),
		},
		{
			Text:     "gives extension tasks createdAt and a lastUpdatedAt not before it, both in ISO 8601",
			Verifies: rules.Verifies("tasks-extension.task.timestamps"),
			Judge:    misdatedTasks,
		},
		{
			Text:     "keeps the createdAt of each extension task unchanged",
			Verifies: rules.Verifies("tasks-extension.task.created-once"),
			Judge:    recreatedTasks,
		},
		{
			Text:     "gives extension tasks an integer or null as ttlMs and an integer as pollIntervalMs, if any",
			Verifies: rules.Verifies("tasks-extension.task.ttl"),
			Judge:    mistimedTasks,
		},
		{
			Text:     "does not change the status of extension tasks that are completed, failed or cancelled",
			Verifies: rules.Verifies("tasks-extension.task.terminal"),
			Judge: func(conversation *rules.Conversation, reporter *rules.Reporter) {
				tasks.JudgeEndings(createdByExtension(conversation), extensionStates(conversation), reporter)
			},
		},
		{
			Text:     "gives no two extension tasks the same taskId",
			Verifies: rules.Verifies("tasks-extension.task.unique"),
			Judge: func(conversation *rules.Conversation, reporter *rules.Reporter) {
				tasks.JudgeSharedIDs(createdByExtension(conversation), reporter)
			},
		},
		{
			Text:     "gives extension tasks a taskId that cannot be guessed",
			Verifies: rules.Verifies("tasks-extension.security.entropy"),
			Needs:    []transcript.Lack{transcript.HTTPHead},
			Judge: func(conversation *rules.Conversation, reporter *rules.Reporter) {
				tasks.JudgeGuessableIDs(conversation, createdByExtension(conversation), reporter)
			},
		},
	}, extensionChangeRules())
}

func extensionChangeRules() []rules.Rule {
	return []rules.Rule{
		{
			Text:     "includes a statusMessage in extension tasks with the status failed",
			Verifies: rules.Verifies("tasks-extension.task.failed-message"),
			Judge:    tasks.UnexplainedFailures,
		},
		{
			Text:     "returns no extension task with the status failed for a tool result with isError",
			Verifies: rules.Verifies("tasks-extension.task.failed-errors"),
			Judge: judgeTasks(inStatus("failed"), func(_ *rules.Conversation, task places.Found) rules.Mismatch {
				if mcp.Value(task.Object(), "result", "isError") != true {
					return rules.Mismatch{}
				}
				return rules.Mismatch{
					Wanted: `the status "completed" of a task whose result is an error of the tool`,
					Found:  `"failed"`,
					Where:  task.Pointer + "/status",
				}
			}),
		},
		{
			Text:     "includes inputRequests in extension tasks with the status input_required",
			Verifies: rules.Verifies("tasks-extension.get.input-required"),
			Judge:    judgePayloads("input_required"),
		},
		{
			Text:     "includes result in extension tasks with the status completed",
			Verifies: rules.Verifies("tasks-extension.get.completed"),
			Judge:    judgePayloads("completed"),
		},
		{
			Text:     "includes error in extension tasks with the status failed",
			Verifies: rules.Verifies("tasks-extension.get.failed"),
			Judge:    judgePayloads("failed"),
		},
		{
			Text:     "uses each key of a task's inputRequests for one request only",
			Verifies: rules.Verifies("tasks-extension.input.keys"),
			Judge:    reusedKeys,
		},
	}
}

// extensionStatuses are those that a task can have.
var extensionStatuses = []string{"working", "input_required", "completed", "failed", "cancelled"}

// askedStates returns the tasks that the target told of in answer to tasks/get.
func askedStates(conversation *rules.Conversation) []places.Found {
	var all []places.Found
	for _, message := range conversation.Results("tasks/get") {
		all = append(all, places.Found{Place: places.ResultOf(message), Said: message})
	}
	return all
}

// extensionStates returns everything that the target told of tasks, in its order.
func extensionStates(conversation *rules.Conversation) []places.Found {
	all := slices.Concat(createdByExtension(conversation), askedStates(conversation), notifiedTasks(conversation))
	slices.SortStableFunc(all, func(a, b places.Found) int { return a.Said.Index - b.Said.Index })
	return all
}

// inStatus returns the answers to tasks/get about tasks in a status.
func inStatus(status string) func(*rules.Conversation) []places.Found {
	return func(conversation *rules.Conversation) []places.Found {
		return slices.DeleteFunc(askedStates(conversation), func(task places.Found) bool { return task.Object()["status"] != status })
	}
}

func misshapenTasks(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, task := range extensionStates(conversation) {
		reporter.Observe()
		for _, name := range []string{"taskId", "status", "createdAt", "lastUpdatedAt"} {
			if _, isText := task.Object()[name].(string); !isText {
				reporter.Violation(task.Said, rules.Mismatch{
					Wanted: fmt.Sprintf("a %s that is a string", name),
					Found:  rules.ShowMember(task.Object(), name),
					Where:  task.Pointer + "/" + name,
				})
			}
		}
		if _, there := task.Member("ttlMs"); !there {
			reporter.Violation(task.Said, rules.Mismatch{Wanted: "a ttlMs: an integer, or null for no limit", Found: "none", Where: task.Pointer})
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
			text, isText := task.Object()[name].(string)
			if isText && !tasks.IsTimestamp(text) {
				reporter.Violation(task.Said, rules.Mismatch{
					Wanted: "an ISO 8601 timestamp, such as 2025-11-25T10:30:00Z",
					Found:  rules.Show(text),
					Where:  task.Pointer + "/" + name,
				})
			}
			if moment, err := time.Parse(time.RFC3339, text); err == nil {
				moments = append(moments, moment)
			}
		}
		if len(moments) == 2 && moments[1].Add(skew).Before(moments[0]) {
			reporter.Violation(task.Said, rules.Mismatch{
				Wanted: "a lastUpdatedAt that is not before createdAt, " + rules.Show(task.Object()["createdAt"]),
				Found:  rules.Show(task.Object()["lastUpdatedAt"]), Where: task.Pointer + "/lastUpdatedAt",
			})
		}
	}
}

// recreatedTasks judges that the time of a task's creation stays. The same moment may
// be written in several ways, and more or less exactly.
func recreatedTasks(conversation *rules.Conversation, reporter *rules.Reporter) {
	first := map[string]time.Time{}
	for _, task := range extensionStates(conversation) {
		id := tasks.ID(task.Object())
		text := mcp.Text(task.Object(), "createdAt")
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
			reporter.Violation(task.Said, rules.Mismatch{
				Wanted: "the earlier createdAt of the task, " + before.Format(time.RFC3339Nano),
				Found:  rules.Show(text),
				Where:  task.Pointer + "/createdAt",
			})
		}
	}
}

func mistimedTasks(conversation *rules.Conversation, reporter *rules.Reporter) {
	for _, task := range extensionStates(conversation) {
		reporter.Observe()
		if ttl, there := task.Member("ttlMs"); there && ttl.Value != nil && !isMilliseconds(ttl.Value) {
			reporter.Violation(
				task.Said,
				rules.Mismatch{Wanted: "an integer of milliseconds, or null", Found: rules.Show(ttl.Value), Where: ttl.Pointer},
			)
		}
		if interval, there := task.Member("pollIntervalMs"); there && !isMilliseconds(interval.Value) {
			reporter.Violation(task.Said, rules.Mismatch{
				Wanted: "an integer of milliseconds",
				Found:  rules.Show(interval.Value),
				Where:  interval.Pointer,
			})
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

func judgePayloads(status string) rules.Judge {
	return judgeTasks(inStatus(status), func(_ *rules.Conversation, task places.Found) rules.Mismatch { return wrongPayload(task.Place) })
}

// wrongPayload says what is wrong with that which a task has because of its status.
func wrongPayload(task places.Place) rules.Mismatch {
	status := mcp.Text(task.Object(), "status")
	name, has := payloads[status]
	if !has {
		return rules.Mismatch{}
	}
	payload, there := task.Member(name)
	wanted := fmt.Sprintf("%s of a task with the status %q", name, status)
	switch {
	case !there:
		return rules.Mismatch{Wanted: wanted, Found: "none", Where: task.Pointer}
	case payload.Object() == nil:
		return rules.Mismatch{Wanted: wanted + ": an object", Found: rules.Show(payload.Value), Where: payload.Pointer}
	case name == "inputRequests" && len(payload.Object()) == 0:
		return rules.Mismatch{Wanted: wanted + ": at least one that is outstanding", Found: "none", Where: payload.Pointer}
	case name == "error" && !jsonrpc.IDOf(payload.Object()["code"]).IsInteger():
		return rules.Mismatch{Wanted: wanted + ": a JSON-RPC error with its code", Found: rules.Show(payload.Value), Where: payload.Pointer}
	}
	return rules.Mismatch{}
}

// reusedKeys judges that a key of a task's inputRequests stands for one request.
func reusedKeys(conversation *rules.Conversation, reporter *rules.Reporter) {
	type key struct{ task, name string }
	known := map[key]any{}
	for _, task := range extensionStates(conversation) {
		requests, _ := task.Member("inputRequests")
		for _, name := range slices.Sorted(maps.Keys(requests.Object())) {
			one := key{tasks.ID(task.Object()), name}
			request := requests.Object()[name]
			reporter.Observe()
			if before, used := known[one]; used && !jsonrpc.Equal(wish(before), wish(request)) {
				reporter.Violation(task.Said, rules.Mismatch{
					Wanted: "the earlier request with this key: " + rules.Show(before),
					Found:  rules.Show(request),
					Where:  requests.Pointer + jsonrpc.Pointer(name),
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
	object := mcp.Object(request)
	params := mcp.Object(object, "params")
	params = maps.Clone(params)
	delete(params, "_meta")
	return []any{object["method"], params}
}
