// Page extensions/tasks (SEP-2663), from 2026-07-28: tools that answer with a
// task, whose state the client asks for.

package server

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"time"
)

// tasksExtension is the name under which client and server declare tasks.
const tasksExtension = "io.modelcontextprotocol/tasks"

// maxAsyncTasks bounds the tasks of the whole server: they do not belong to a session.
const maxAsyncTasks = 1024

// tasksOfClient refuses a client that does not know tasks.
func tasksOfClient(client clientCapabilities) error {
	if client.Extensions == nil || client.Extensions.Tasks == nil {
		return missingCapability("the extension "+tasksExtension,
			object{"extensions": object{tasksExtension: object{}}})
	}
	return nil
}

// withTasks makes a handler refuse clients that do not know tasks.
func withTasks(handle handler) handler {
	return func(c *call, params json.RawMessage) (any, error) {
		if err := tasksOfClient(c.client); err != nil {
			return nil, err
		}
		return handle(c, params)
	}
}

// createdTask is the state of a task that has just been made, as the result of the request
// that made it.
type createdTask object

// An asyncTask is a call of a tool that goes on after its request was answered.
// It is the era and the outlet of that call.
type asyncTask struct {
	*taskRecord // its mu guards what follows

	exchange *exchange                  // of the request that made it
	answers  map[string]json.RawMessage // to what was asked, by key
	asked    int                        // questions so far
	news     chan struct{}              // closed, and replaced, with each answer
}

// startAsyncTask answers a request with a task, which starts once that is sent.
// It outlives the connection.
func (c *call) startAsyncTask(run func(*call) (toolResult, error)) (any, error) {
	all := c.server.stateless
	t := &asyncTask{
		taskRecord: newTaskRecord("ttlMs", defaultTaskTTL, "pollIntervalMs"),
		exchange:   c.era.(*exchange),
		answers:    map[string]json.RawMessage{},
		news:       make(chan struct{}),
	}
	t.tell = func(state object) { all.subscriptions.announce("notifications/tasks", state) }
	inner := newCall(all.life, c.server, t, "", t)
	inner.revision, inner.client, inner.features = c.revision, c.client, c.features
	t.cancel = inner.cancel
	if err := all.tasks.add(t); err != nil {
		inner.cancel(nil)
		return nil, err
	}
	created := createdTask(t.snapshot())
	c.afterwards = append(c.afterwards, func() {
		time.AfterFunc(defaultTaskTTL, func() {
			all.tasks.remove(t.id)
			t.cancel(errTaskExpired)
		})
		go func() { t.finish(run(inner)) }()
	})
	return created, nil
}

// finish ends the task with what the tool has returned. What a tool reports as
// its failure is a result as well.
func (t *asyncTask) finish(result toolResult, err error) {
	t.update(func(state object) {
		delete(state, "inputRequests")
		if err != nil {
			failed := t.exchange.errorOf(err)
			become(taskFailed, "The tool failed: "+failed.Message)(state)
			state["error"] = failed
			return
		}
		become(taskCompleted, "The tool is done.")(state)
		state["result"] = t.exchange.finished(result, resultComplete)
	})
	t.cancel(nil)
}

// ask puts questions into the state and waits until all are answered. No key is
// used twice in the life of a task.
func (t *asyncTask) ask(c *call, questions []question) (map[string]json.RawMessage, error) {
	keys := map[string]string{} // in the state, by those of the questions
	t.update(func(state object) {
		become(taskInputRequired, "The tool has a question.")(state)
		open := map[string]object{}
		for _, q := range questions {
			t.asked++
			keys[q.key] = fmt.Sprintf("%s_%d", q.key, t.asked)
			open[keys[q.key]] = q.request()
		}
		state["inputRequests"] = open
	})
	for {
		answers, open, news := t.given(keys)
		if !open {
			return answers, nil
		}
		select {
		case <-news:
		case <-c.ctx.Done():
			return nil, context.Cause(c.ctx)
		}
	}
}

// given returns the answers so far, whether some are open, and what tells of
// the next.
func (t *asyncTask) given(keys map[string]string) (answers map[string]json.RawMessage, open bool, news chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	answers = map[string]json.RawMessage{}
	for own, key := range keys {
		answer, given := t.answers[key]
		answers[own], open = answer, open || !given
	}
	return answers, open, t.news
}

// take takes answers. Those to no open question are ignored. When none is open
// any more, the tool goes on.
func (t *asyncTask) take(answers map[string]json.RawMessage) {
	t.update(func(state object) {
		open, asks := state["inputRequests"].(map[string]object)
		if !asks {
			return
		}
		open = maps.Clone(open) // others may be looking at it
		for key, answer := range answers {
			if open[key] != nil {
				delete(open, key)
				t.answers[key] = answer
			}
		}
		state["inputRequests"] = open
		if len(open) == 0 {
			delete(state, "inputRequests")
			become(taskWorking, "The tool is running.")(state)
		}
		close(t.news)
		t.news = make(chan struct{})
	})
}

// The rest of what an era and an outlet do is nothing here: a task has no log
// messages, no progress, and no response of its own.

func (t *asyncTask) logsFrom() int                    { return len(logLevels) }
func (t *asyncTask) respond(*call, any, error) []byte { return nil }
func (t *asyncTask) forget(*call)                     {}
func (t *asyncTask) send([]byte) bool                 { return false }
func (t *asyncTask) close()                           {}

func (c *call) getAsyncTask(params taskIDParams) (any, error) {
	t, err := c.server.stateless.tasks.find(params.TaskID)
	if err != nil {
		return nil, err
	}
	return t.snapshot(), nil
}

type updateTaskParams struct {
	TaskID  string                     `json:"taskId"`
	Answers map[string]json.RawMessage `json:"inputResponses"`
}

func (c *call) updateAsyncTask(params updateTaskParams) (any, error) {
	t, err := c.server.stateless.tasks.find(params.TaskID)
	if err != nil {
		return nil, err
	}
	for key, answer := range params.Answers {
		if !strings.HasPrefix(string(answer), "{") {
			return nil, invalidParams("params.inputResponses.%s must be an object", key)
		}
	}
	t.take(params.Answers)
	return object{}, nil
}

// cancelAsyncTask stops a task. One that is over stays what it is.
func (c *call) cancelAsyncTask(params taskIDParams) (any, error) {
	t, err := c.server.stateless.tasks.find(params.TaskID)
	if err != nil {
		return nil, err
	}
	t.update(func(state object) {
		become(taskCancelled, "The task was cancelled by request.")(state)
		delete(state, "inputRequests")
	})
	t.cancel(errTaskCancelled)
	return object{}, nil
}
