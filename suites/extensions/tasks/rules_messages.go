package tasks

import (
	"maps"
	"slices"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/mcp"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/rules/exchanges"
	"github.com/mcpconform/mcpconform/internal/rules/facts"
	"github.com/mcpconform/mcpconform/internal/rules/mirrors"
	"github.com/mcpconform/mcpconform/internal/rules/places"
	"github.com/mcpconform/mcpconform/internal/rules/tasks"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// extensionMessageRules are about notifications.
func extensionMessageRules() []rules.Rule {
	return []rules.Rule{
		{
			Text:     "sends notifications/tasks only on subscriptions whose acknowledged taskIds contain the task",
			Verifies: rules.Verifies("tasks-extension.notifications.subscribed"),
			Judge:    unsubscribedTasks,
		},
		{
			Text:     "includes the inputRequests, result or error of a task in notifications/tasks, by its status",
			Verifies: rules.Verifies("tasks-extension.notifications.complete"),
			Judge:    judgeTasks(notifiedTasks, func(_ *rules.Conversation, task places.Found) rules.Mismatch { return wrongPayload(task.Place) }),
		},
		{
			Text:     "sends no notifications/progress or notifications/message on subscriptions with taskIds",
			Verifies: rules.Verifies("tasks-extension.notifications.others"),
			Needs:    []transcript.Lack{transcript.HTTPHead},
			Judge:    strangersOnTasks,
		},
	}
}

// notifiedTasks returns the tasks that the target told of by notifications.
func notifiedTasks(conversation *rules.Conversation) []places.Found {
	var all []places.Found
	for _, message := range conversation.Notifications(taskNotification) {
		all = append(all, places.Found{Place: places.ParamsOf(message), Said: message})
	}
	return all
}

// subscriptionOf returns the request that opened the subscription which a notification
// belongs to, as far as it says so.
func subscriptionOf(message *rules.Message, subscriptions map[jsonrpc.ID]*rules.Message) *rules.Message {
	id, there := facts.SubscriptionID(message)
	if !there {
		return nil
	}
	return subscriptions[id]
}

// subscriptionsTo returns the subscriptions of the client, by id.
func subscriptionsTo(conversation *rules.Conversation) map[jsonrpc.ID]*rules.Message {
	all := map[jsonrpc.ID]*rules.Message{}
	for _, message := range conversation.ByPeer() {
		if rules.IsRequest(message) && message.Method == facts.ListenMethod {
			all[message.ID] = message
		}
	}
	return all
}

// subscribedTasks are the ids of the tasks that a subscription, or its acknowledgement, names.
func subscribedTasks(subscription *rules.Message) []any {
	filter, _ := places.ParamsOf(subscription).Member("notifications")
	return mcp.List(filter.Object(), "taskIds")
}

// agreedOn tells whether the server agreed to tell of a task on the subscription that a
// notification belongs to. An acknowledgement that did not come is judged elsewhere.
func agreedOn(conversation *rules.Conversation, told *rules.Message, task any) bool {
	agreed := true
	subscription, _ := facts.SubscriptionID(told)
	for _, message := range conversation.Notifications(facts.AcknowledgedMethod) {
		if id, there := facts.SubscriptionID(message); there && id == subscription && message.Index < told.Index {
			agreed = slices.Contains(subscribedTasks(message), task)
		}
	}
	return agreed
}

func unsubscribedTasks(conversation *rules.Conversation, reporter *rules.Reporter) {
	subscriptions := subscriptionsTo(conversation)
	for _, task := range notifiedTasks(conversation) {
		reporter.Observe()
		subscription, id := subscriptionOf(task.Said, subscriptions), any(tasks.ID(task.Object()))
		if subscription == nil || !slices.Contains(subscribedTasks(subscription), id) ||
			!agreedOn(conversation, task.Said, id) {
			reporter.Violation(task.Said, rules.Mismatch{
				Wanted: "notifications/tasks only on a subscription whose acknowledged taskIds have the task",
				Found:  "one for the task " + rules.Show(task.Object()["taskId"]),
				Where:  "/params",
			})
		}
	}
}

// strangersOnTasks judges what comes on subscriptions to tasks: over HTTP by the stream,
// elsewhere by what the notification says.
func strangersOnTasks(conversation *rules.Conversation, reporter *rules.Reporter) {
	subscriptions := subscriptionsTo(conversation)
	opened := map[string]*rules.Message{}
	for _, one := range exchanges.Of(conversation) {
		if one.Sent != nil && one.Sent.Method == facts.ListenMethod {
			opened[one.Request.Stream] = one.Sent
		}
	}
	for _, message := range conversation.ByTarget() {
		if message.Kind != jsonrpc.Notification {
			continue
		}
		subscription := opened[message.Event.Stream]
		if subscription == nil {
			subscription = subscriptionOf(message, subscriptions)
		}
		if subscription == nil || len(subscribedTasks(subscription)) == 0 {
			continue
		}
		reporter.Observe()
		if message.Method == "notifications/progress" || message.Method == "notifications/message" {
			reporter.Violation(message, rules.Mismatch{
				Wanted: "neither progress nor log messages on a subscription to tasks",
				Found:  message.Method,
				Where:  "/method",
			})
		}
	}
}

// extensionClientRules are about what a client does with tasks.
func extensionClientRules() []rules.Rule {
	return []rules.Rule{
		{
			Text:     "sends tasks/get no more often than pollIntervalMs allows",
			Verifies: rules.Verifies("tasks-extension.poll.interval-respected"),
			Needs:    []transcript.Lack{transcript.Times},
			Judge: rules.OfClient(func(conversation *rules.Conversation, reporter *rules.Reporter) {
				tasks.JudgePolls(conversation, reporter, "pollIntervalMs")
			}),
		},
		{
			Text:     "answers each key of a task's inputRequests only once",
			Verifies: rules.Verifies("tasks-extension.input.answered-once"),
			Needs:    []transcript.Lack{transcript.HTTPHead},
			Judge:    rules.OfClient(repeatedInputs),
		},
		{
			Text:     "cancels extension tasks with tasks/cancel, not with notifications/cancelled",
			Verifies: rules.Verifies("tasks-extension.cancel.by-request"),
			Needs:    []transcript.Lack{transcript.HTTPHead},
			Judge:    rules.OfClient(cancelledTasks),
		},
		{
			Text:     "repeats the taskId of tasks/get, tasks/update and tasks/cancel in the header Mcp-Name",
			Verifies: rules.Verifies("tasks-extension.routing.name"),
			Needs:    []transcript.Lack{transcript.HTTPHead},
			Judge:    mirrors.Every(mirrors.Task, mirrors.Missing, mirrors.Other),
		},
	}
}

func repeatedInputs(conversation *rules.Conversation, reporter *rules.Reporter) {
	type input struct{ task, key string }
	given := map[input]bool{}
	refused := rules.RefusedStreams(conversation)
	for _, message := range conversation.Messages {
		if !message.FromTarget(conversation.Cell) && message.Request != nil && tasks.IsOfExtension(message) {
			clear(given) // a new task may have the name of an old one
		}
		if !message.FromTarget(conversation.Cell) || message.Method != "tasks/update" {
			continue
		}
		if refused[message.Event.Stream] || len(message.Answers) > 0 && rules.IsRefusal(message.Answers[0]) {
			continue // what was refused may be given again
		}
		responses, _ := places.ParamsOf(message).Member(facts.InputResponses)
		for _, key := range slices.Sorted(maps.Keys(responses.Object())) {
			reporter.Observe()
			one := input{tasks.ID(message.ParamsObject()), key}
			if given[one] {
				reporter.Violation(message, rules.Mismatch{
					Wanted: "one answer to each input request",
					Found:  "another one to " + rules.Show(key),
					Where:  responses.Pointer + jsonrpc.Pointer(key),
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
	for _, message := range conversation.ByTarget() {
		id := tasks.ID(message.ParamsObject())
		if _, known := asked[id]; rules.IsRequest(message) && id != "" && !known {
			asked[id] = message.Index
		}
	}
	for range conversation.Requests("tasks/cancel") {
		reporter.Observe()
	}
	for _, cancelled := range facts.Withdrawals(conversation) {
		reporter.Observe()
		if cancelled.Request == nil || len(cancelled.Request.Answers) == 0 ||
			!tasks.IsOfExtension(cancelled.Request.Answers[0]) {
			continue
		}
		first, known := asked[tasks.ID(cancelled.Request.Answers[0].ResultObject())]
		if known && first < cancelled.Index {
			reporter.Violation(cancelled.Message, rules.Mismatch{
				Wanted: "tasks/cancel for a request that became a task", Found: facts.CancelledMethod, Where: "/method",
			})
		}
	}
}
