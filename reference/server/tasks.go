// Page basic/utilities/tasks, from 2025-11-25: requests whose result is
// fetched later. Here the server is the receiver, for tools/call, and at the
// end of the file the requestor, for requests to the client.

package server

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Bounds of the tasks of one session.
const (
	maxTasks       = 64              // kept at the same time, running or done
	defaultTaskTTL = 5 * time.Minute // when the client names none
	maxTaskTTL     = time.Hour       // however much the client asks for
)

// courtesyTimeout is how long an answer is awaited that changes nothing.
const courtesyTimeout = time.Second

// taskPollInterval is how often a client should look. The tools are quick.
const taskPollInterval = 20 * time.Millisecond

// Statuses. The last three are terminal.
const (
	taskWorking       = "working"
	taskInputRequired = "input_required"
	taskCompleted     = "completed"
	taskFailed        = "failed"
	taskCancelled     = "cancelled"
)

var (
	errTaskCancelled = errors.New("the task was cancelled")
	errTaskExpired   = invalidParams("the task has expired")
)

// A taskState is a task as the client sees it.
type taskState struct {
	TaskID        string `json:"taskId"`
	Status        string `json:"status"`
	StatusMessage string `json:"statusMessage,omitempty"`
	CreatedAt     string `json:"createdAt"`
	LastUpdatedAt string `json:"lastUpdatedAt"`
	TTL           int64  `json:"ttl"`          // in milliseconds
	PollInterval  int64  `json:"pollInterval"` // in milliseconds
}

// A task is a call of a tool that goes on after its request was answered. It
// belongs to its session: no other can find it. It is the outlet of the call.
type task struct {
	id      string
	session *session
	cancel  context.CancelCauseFunc
	expiry  *time.Timer   // calls expire
	done    chan struct{} // closed when the status is terminal

	mu        sync.Mutex
	state     taskState
	result    toolResult    // once done
	err       error         // once done, in place of the result
	listeners []*call       // requests tasks/result that wait, oldest first
	joined    chan struct{} // closed, and replaced, when one begins to wait
}

type taskParams struct {
	TTL *int64 `json:"ttl,omitempty"` // in milliseconds
}

type createTaskResult struct {
	Task taskState `json:"task"`
	Meta object    `json:"_meta"`
}

// startTask answers a request with a task, which starts once that is sent.
func (c *call) startTask(raw json.RawMessage, run func(*call) (toolResult, error)) (createTaskResult, error) {
	var params taskParams
	if err := decode(raw, &params, "params.task"); err != nil {
		return createTaskResult{}, invalidParams("%v", err)
	}
	ttl := defaultTaskTTL
	if params.TTL != nil {
		if *params.TTL < 0 {
			return createTaskResult{}, invalidParams("params.task.ttl must not be negative")
		}
		ttl = time.Duration(min(*params.TTL, maxTaskTTL.Milliseconds())) * time.Millisecond
	}

	now := timestamp()
	t := &task{
		id:      rand.Text(),
		session: c.session,
		done:    make(chan struct{}),
		joined:  make(chan struct{}),
	}
	t.state = taskState{
		TaskID:        t.id,
		Status:        taskWorking,
		StatusMessage: "The tool is running.",
		CreatedAt:     now,
		LastUpdatedAt: now,
		TTL:           ttl.Milliseconds(),
		PollInterval:  taskPollInterval.Milliseconds(),
	}
	inner := c.session.newCall("", t)
	inner.task, inner.progressToken = t, c.progressToken
	t.cancel = inner.cancel
	created := createTaskResult{Task: t.state, Meta: relatedTask(t.id)}
	created.Meta["io.modelcontextprotocol/model-immediate-response"] = "The tool is running; its result will follow."
	if err := c.session.keepTask(t, ttl); err != nil {
		inner.cancel(nil)
		return createTaskResult{}, err
	}
	c.afterwards = append(c.afterwards, func() {
		c.session.spawn(func() {
			result, err := run(inner)
			if c.session.ctx.Err() == nil {
				t.finish(result, err)
				inner.conclude()
			}
		})
	})

	c.session.logf("task %s is created", t.id[:6])
	return created, nil
}

// relatedTask is the _meta of a message that belongs to a task.
func relatedTask(id string) object {
	return object{"io.modelcontextprotocol/related-task": object{"taskId": id}}
}

func timestamp() string { return time.Now().UTC().Format("2006-01-02T15:04:05.000Z") }

// keepTask makes the task known until it expires.
func (s *session) keepTask(t *task, ttl time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx.Err() != nil {
		return errSessionEnded
	}
	if len(s.tasks.entries) >= maxTasks {
		return internalError("more than %d tasks are kept: wait until some have expired", maxTasks)
	}
	s.tasks.add(t)
	t.expiry = time.AfterFunc(ttl, t.expire)
	return nil
}

func (s *session) findTask(id string) (*task, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, known := s.tasks.find(func(t *task) bool { return t.id == id })
	if !known {
		return nil, invalidParams("no task has the id %q", id)
	}
	return t, nil
}

// expire ends the life of the task, and forgets it.
func (t *task) expire() {
	t.session.mu.Lock()
	t.session.tasks.remove(func(other *task) bool { return other == t })
	t.session.mu.Unlock()
	t.end(taskFailed, "The task has expired.", toolResult{}, errTaskExpired)
	t.cancel(errTaskExpired)
}

// finish ends the task with what the tool has returned.
func (t *task) finish(result toolResult, err error) {
	switch {
	case err != nil:
		t.end(taskFailed, "The tool failed: "+err.Error(), toolResult{}, err)
	case result.IsError:
		t.end(taskFailed, "The tool reported an error.", result, nil)
	default:
		t.end(taskCompleted, "The tool is done.", result, nil)
	}
	t.cancel(nil)
}

func (s taskState) terminal() bool {
	return slices.Contains([]string{taskCompleted, taskFailed, taskCancelled}, s.Status)
}

// end moves the task to a terminal status, unless it has one already.
func (t *task) end(status, message string, result toolResult, err error) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.move(status, message) {
		return false
	}
	result.Meta = relatedTask(t.id)
	t.result, t.err = result, err
	close(t.done)
	t.session.logf("task %s is %s", t.id[:6], status)
	return true
}

// setStatus moves the task to a status, unless it is over.
func (t *task) setStatus(status, message string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.move(status, message)
}

// move changes the status and tells the client. It reports false, and changes
// nothing, when the status is terminal. The caller holds t.mu.
func (t *task) move(status, message string) bool {
	if t.state.terminal() {
		return false
	}
	t.state.Status, t.state.StatusMessage = status, message
	t.state.LastUpdatedAt = timestamp()
	var params object
	_ = json.Unmarshal(encode(t.state), &params) // the notification is the state itself
	t.pass(encodeNotification("notifications/tasks/status", params))
	return true
}

// send carries what belongs to the task, until it is over.
func (t *task) send(message []byte) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !t.state.terminal() && t.pass(message)
}

// close does nothing: a task ends otherwise.
func (t *task) close() {}

// pass gives a message to a client that waits for the result, or else sends it
// as unrelated to any request. The caller holds t.mu.
func (t *task) pass(message []byte) bool {
	for _, listener := range t.listeners {
		if listener.send(message) {
			return true
		}
	}
	return t.session.unrelated.send(message)
}

// ask asks the client on behalf of the task, which needs input meanwhile. The
// client hears of that by the status, and calls tasks/result for the question.
func (t *task) ask(ctx context.Context, method string, params object) (json.RawMessage, error) {
	t.setStatus(taskInputRequired, "The tool has a question: call tasks/result to receive it.")
	defer t.setStatus(taskWorking, "The tool is running.")
	for {
		t.mu.Lock()
		waiting, joined := len(t.listeners) > 0, t.joined
		t.mu.Unlock()
		if waiting {
			return t.session.request(ctx, t.sendAny, method, params)
		}
		select {
		case <-joined:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// sendAny is send, even when the task is over: a question that was put must
// still be taken back.
func (t *task) sendAny(message []byte) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.pass(message)
}

type taskIDParams struct {
	TaskID string `json:"taskId"`
}

type listTasksResult struct {
	Tasks      []taskState `json:"tasks"`
	NextCursor string      `json:"nextCursor,omitempty"`
}

func (t *task) snapshot() taskState {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.state
}

func (c *call) getTask(params taskIDParams) (taskState, error) {
	t, err := c.session.findTask(params.TaskID)
	if err != nil {
		return taskState{}, err
	}
	return t.snapshot(), nil
}

func (c *call) listTasks(params listParams) (listTasksResult, error) {
	c.session.mu.Lock()
	tasks, next, err := c.session.tasks.page("tasks", params.Cursor, tasksPage)
	c.session.mu.Unlock()
	result := listTasksResult{Tasks: []taskState{}, NextCursor: next}
	for _, t := range tasks {
		result.Tasks = append(result.Tasks, t.snapshot())
	}
	return result, err
}

// taskResult waits until the task is over, and answers what the tool would
// have answered. Meanwhile the messages of the task come this way.
func (c *call) taskResult(params taskIDParams) (toolResult, error) {
	t, err := c.session.findTask(params.TaskID)
	if err != nil {
		return toolResult{}, err
	}
	if !t.snapshot().terminal() {
		c.takesTime()
		t.listen(c)
		defer t.unlisten(c)
		select {
		case <-t.done:
		case <-c.ctx.Done():
			return toolResult{}, context.Cause(c.ctx)
		}
	}
	c.session.logf("the result of task %s is fetched", t.id[:6])
	return t.result, t.err
}

func (t *task) listen(c *call) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.listeners = append(t.listeners, c)
	close(t.joined)
	t.joined = make(chan struct{})
}

func (t *task) unlisten(c *call) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.listeners = slices.DeleteFunc(t.listeners, func(other *call) bool { return other == c })
}

func (c *call) cancelTask(params taskIDParams) (taskState, error) {
	t, err := c.session.findTask(params.TaskID)
	if err != nil {
		return taskState{}, err
	}
	if !t.end(taskCancelled, "The task was cancelled by request.", failure("The task was cancelled."), nil) {
		return taskState{}, invalidParams("the task is already %s", t.snapshot().Status)
	}
	t.cancel(errTaskCancelled)
	return t.snapshot(), nil
}

// askAsTask sends a request to the client as a task, and fetches the result.
// The client must have declared that it takes such tasks.
func (c *call) askAsTask(method string, params object) (json.RawMessage, error) {
	params["task"] = object{"ttl": c.server.options.RequestTimeout.Milliseconds()}
	raw, err := c.session.askFor(c, method, params)
	if err != nil {
		return nil, err
	}
	var created struct {
		Task struct {
			TaskID string `json:"taskId"`
			Status string `json:"status"`
		} `json:"task"`
	}
	if err := decode(raw, &created, "result"); err != nil {
		return nil, fmt.Errorf("the client's answer to %s as a task is wrong: %w", method, err)
	}
	id := created.Task.TaskID
	if err := c.followTask(id); err != nil {
		return nil, c.abandonTask(id, err)
	}
	result, err := c.session.askFor(c, "tasks/result", object{"taskId": id})
	if err != nil {
		return nil, c.abandonTask(id, err)
	}
	return result, nil
}

// Bounds of the pollInterval that a client suggests for its tasks.
const (
	minClientPoll = 5 * time.Millisecond
	maxClientPoll = 5 * time.Second
)

// followTask asks after a task of the client, as often as the client suggests,
// until it is over or needs input, which tasks/result would bring.
func (c *call) followTask(id string) error {
	deadline := time.Now().Add(c.server.options.RequestTimeout)
	for {
		raw, err := c.session.askFor(c, "tasks/get", object{"taskId": id})
		if err != nil {
			return err
		}
		var state struct {
			Status       string  `json:"status"`
			PollInterval float64 `json:"pollInterval,omitempty"` // in milliseconds
		}
		if err := decode(raw, &state, "result"); err != nil {
			return fmt.Errorf("the client's answer to tasks/get is wrong: %w", err)
		}
		if state.Status != taskWorking {
			return nil
		}
		if time.Now().After(deadline) {
			return errors.New("the client's task takes too long")
		}
		interval := time.Duration(min(state.PollInterval, float64(maxClientPoll.Milliseconds()))) * time.Millisecond
		if err := c.wait(max(interval, minClientPoll)); err != nil {
			return err
		}
	}
}

// abandonTask cancels a task of the client, if it can be cancelled, when this
// call is itself cancelled. It returns the reason, err.
func (c *call) abandonTask(id string, err error) error {
	if tasks := c.client.Tasks; c.ctx.Err() != nil && tasks.Cancel != nil {
		ctx, cancel := context.WithTimeout(c.session.ctx, courtesyTimeout)
		defer cancel()
		if _, failed := c.session.request(ctx, c.send, "tasks/cancel", object{"taskId": id}); failed != nil {
			c.session.logf("the client's task cannot be cancelled: %v", failed)
		}
	}
	return err
}
