// Page extensions/tasks (SEP-2663), from 2026-07-28: tools that answer with a
// task, whose state the client asks for.

package server

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
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

// callStateless answers with the result of a tool or, for those that take long
// and clients that know tasks, with a task.
func (c *call) callStateless(t *tool, arguments json.RawMessage) (any, error) {
	declared := tasksOfClient(c.client)
	switch {
	case t.async == taskRequired && declared != nil:
		return nil, declared
	case t.async != "" && declared == nil:
		return c.startAsyncTask(func(c *call) (toolResult, error) { return t.call(c, arguments) })
	default:
		return t.call(c, arguments)
	}
}

// An asyncTaskState is a task as the client sees it. The last members are there
// as the status wants it.
type asyncTaskState struct {
	TaskID        string                     `json:"taskId"`
	Status        string                     `json:"status"`
	StatusMessage string                     `json:"statusMessage,omitempty"`
	CreatedAt     string                     `json:"createdAt"`
	LastUpdatedAt string                     `json:"lastUpdatedAt"`
	TTL           int64                      `json:"ttlMs"`
	PollInterval  int64                      `json:"pollIntervalMs"`
	Questions     map[string]object          `json:"inputRequests,omitempty"` // when input is required
	Result        map[string]json.RawMessage `json:"result,omitempty"`        // when completed
	Error         *rpcError                  `json:"error,omitempty"`         // when failed
}

func (s asyncTaskState) over() bool {
	return slices.Contains([]string{taskCompleted, taskFailed, taskCancelled}, s.Status)
}

// createAsyncTaskResult is the state of a task that has just been made, as the
// result of the request that made it.
type createAsyncTaskResult struct{ asyncTaskState }

// An asyncTask is a call of a tool that goes on after its request was answered.
// It is the era and the outlet of that call.
type asyncTask struct {
	tasks    *asyncTasks
	exchange *exchange // of the request that made it
	announce func(method string, params object)
	cancel   context.CancelCauseFunc

	mu      sync.Mutex
	state   asyncTaskState
	answers map[string]json.RawMessage // to what was asked, by key
	asked   int                        // questions so far
	news    chan struct{}              // closed, and replaced, with each answer
}

// asyncTasks is all tasks of a server.
type asyncTasks struct {
	mu    sync.Mutex
	known map[string]*asyncTask
}

func (a *asyncTasks) find(id string) (*asyncTask, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	t, known := a.known[id]
	if !known {
		return nil, invalidParams("no task has the id %q", id)
	}
	return t, nil
}

func (a *asyncTasks) has(id string) bool {
	_, err := a.find(id)
	return err == nil
}

func (a *asyncTasks) keep(t *asyncTask) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.known) >= maxAsyncTasks {
		return internalError("more than %d tasks are kept: wait until some have expired", maxAsyncTasks)
	}
	if a.known == nil {
		a.known = map[string]*asyncTask{}
	}
	a.known[t.state.TaskID] = t
	return nil
}

func (a *asyncTasks) forget(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.known, id)
}

// startAsyncTask answers a request with a task, which starts once that is sent.
// It outlives the connection.
func (c *call) startAsyncTask(run func(*call) (toolResult, error)) (createAsyncTaskResult, error) {
	all, now := c.server.stateless, timestamp()
	t := &asyncTask{
		tasks:    &all.tasks,
		exchange: c.era.(*exchange),
		announce: all.subscriptions.announce,
		answers:  map[string]json.RawMessage{},
		news:     make(chan struct{}),
		state: asyncTaskState{
			TaskID:        rand.Text(),
			Status:        taskWorking,
			StatusMessage: "The tool is running.",
			CreatedAt:     now,
			LastUpdatedAt: now,
			TTL:           defaultTaskTTL.Milliseconds(),
			PollInterval:  taskPollInterval.Milliseconds(),
		},
	}
	inner := newCall(all.ctx, c.server, t, "", t)
	inner.revision, inner.client, inner.features = c.revision, c.client, c.features
	t.cancel = inner.cancel
	if err := all.tasks.keep(t); err != nil {
		inner.cancel(nil)
		return createAsyncTaskResult{}, err
	}
	created := createAsyncTaskResult{t.state}
	c.afterwards = append(c.afterwards, func() {
		time.AfterFunc(defaultTaskTTL, t.expire)
		go func() { t.finish(run(inner)) }()
	})
	return created, nil
}

func (t *asyncTask) expire() {
	t.tasks.forget(t.state.TaskID)
	t.cancel(errTaskExpired)
}

// move changes the state, unless the task is over, and tells all that listen.
func (t *asyncTask) move(change func(state *asyncTaskState)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.state.over() {
		return
	}
	change(&t.state)
	t.state.LastUpdatedAt = timestamp()
	var params object
	_ = json.Unmarshal(encode(t.state), &params) // the notification is the state itself
	t.announce("notifications/tasks", params)
}

// finish ends the task with what the tool has returned. What a tool reports as
// its failure is a result as well.
func (t *asyncTask) finish(result toolResult, err error) {
	t.move(func(state *asyncTaskState) {
		state.Questions = nil
		if err != nil {
			state.Status, state.Error = taskFailed, t.exchange.errorOf(err)
			state.StatusMessage = "The tool failed: " + state.Error.Message
			return
		}
		state.Status, state.StatusMessage = taskCompleted, "The tool is done."
		state.Result = t.exchange.finished(result, resultComplete)
	})
	t.cancel(nil)
}

// snapshot is the state at this moment.
func (t *asyncTask) snapshot() asyncTaskState {
	t.mu.Lock()
	defer t.mu.Unlock()
	state := t.state
	state.Questions = maps.Clone(state.Questions)
	return state
}

// ask puts questions into the state and waits until all are answered. No key is
// used twice in the life of a task.
func (t *asyncTask) ask(c *call, questions []question) (map[string]json.RawMessage, error) {
	keys := map[string]string{} // in the state, by those of the questions
	t.move(func(state *asyncTaskState) {
		state.Status, state.StatusMessage = taskInputRequired, "The tool has a question."
		state.Questions = map[string]object{}
		for _, q := range questions {
			t.asked++
			keys[q.key] = fmt.Sprintf("%s_%d", q.key, t.asked)
			state.Questions[keys[q.key]] = object{"method": q.method}
			if q.params != nil {
				state.Questions[keys[q.key]]["params"] = q.params
			}
		}
	})
	for {
		answers, open, news := t.answered(keys)
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

// answered returns the answers so far, whether some are open, and what tells of
// the next.
func (t *asyncTask) answered(
	keys map[string]string,
) (answers map[string]json.RawMessage, open bool, news <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	answers = map[string]json.RawMessage{}
	for own, key := range keys {
		answer, given := t.answers[key]
		answers[own], open = answer, open || !given
	}
	return answers, open, t.news
}

// update takes answers. Those to no open question are ignored. When none is open
// any more, the tool goes on.
func (t *asyncTask) update(answers map[string]json.RawMessage) {
	t.move(func(state *asyncTaskState) {
		if state.Status != taskInputRequired {
			return
		}
		for key, answer := range answers {
			if _, open := state.Questions[key]; open {
				delete(state.Questions, key)
				t.answers[key] = answer
			}
		}
		if len(state.Questions) == 0 {
			state.Status, state.StatusMessage = taskWorking, "The tool is running."
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

func (c *call) getAsyncTask(params taskIDParams) (asyncTaskState, error) {
	t, err := c.server.stateless.tasks.find(params.TaskID)
	if err != nil {
		return asyncTaskState{}, err
	}
	return t.snapshot(), nil
}

type updateTaskParams struct {
	TaskID  string                     `json:"taskId"`
	Answers map[string]json.RawMessage `json:"inputResponses"`
}

func (c *call) updateAsyncTask(params updateTaskParams) (emptyResult, error) {
	t, err := c.server.stateless.tasks.find(params.TaskID)
	if err != nil {
		return emptyResult{}, err
	}
	for key, answer := range params.Answers {
		if !strings.HasPrefix(string(answer), "{") {
			return emptyResult{}, invalidParams("params.inputResponses.%s must be an object", key)
		}
	}
	t.update(params.Answers)
	return emptyResult{}, nil
}

// cancelAsyncTask stops a task. One that is over stays what it is.
func (c *call) cancelAsyncTask(params taskIDParams) (emptyResult, error) {
	t, err := c.server.stateless.tasks.find(params.TaskID)
	if err != nil {
		return emptyResult{}, err
	}
	t.move(func(state *asyncTaskState) {
		state.Status, state.StatusMessage, state.Questions = taskCancelled, "The task was cancelled by request.", nil
	})
	t.cancel(errTaskCancelled)
	return emptyResult{}, nil
}
