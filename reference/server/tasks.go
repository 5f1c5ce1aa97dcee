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
	"maps"
	"slices"
	"strings"
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

// A taskRecord is a task as the client sees it, in either era.
type taskRecord struct {
	id     string
	tell   func(state object) // of a change
	cancel context.CancelCauseFunc

	mu    sync.Mutex
	state object
}

// newTaskRecord is a task that begins. The eras call the members that are times differently.
func newTaskRecord(ttlMember string, ttl time.Duration, pollMember string) *taskRecord {
	id, now := rand.Text(), timestamp()
	return &taskRecord{id: id, state: object{
		"taskId": id, "status": taskWorking, "statusMessage": "The tool is running.",
		"createdAt": now, "lastUpdatedAt": now,
		ttlMember: ttl.Milliseconds(), pollMember: taskPollInterval.Milliseconds(),
	}}
}

func timestamp() string { return time.Now().UTC().Format("2006-01-02T15:04:05.000Z") }

func (r *taskRecord) key() string { return r.id }

func (r *taskRecord) snapshot() object {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.state)
}

// over tells whether a task has ended.
func over(state object) bool {
	return slices.Contains([]any{taskCompleted, taskFailed, taskCancelled}, state["status"])
}

// update changes the state and tells of that. It reports false, and changes nothing, when the
// task has ended.
func (r *taskRecord) update(change func(state object)) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if over(r.state) {
		return false
	}
	change(r.state)
	r.state["lastUpdatedAt"] = timestamp()
	r.tell(maps.Clone(r.state))
	return true
}

// become changes a state to a status.
func become(status, message string) func(state object) {
	return func(state object) { state["status"], state["statusMessage"] = status, message }
}

// A task is a call of a tool that goes on after its request was answered. It
// belongs to its session: no other can find it. It is the outlet of the call.
type task struct {
	*taskRecord // its mu guards what follows

	session   *session
	done      chan struct{} // closed when the task has ended
	result    toolResult    // once done
	err       error         // once done, in place of the result
	listeners []*call       // requests tasks/result that wait, oldest first
	joined    chan struct{} // closed, and replaced, when one begins to wait
}

type taskParams struct {
	TTL *int64 `json:"ttl,omitempty"` // in milliseconds
}

// startTask answers a request with a task, which starts once that is sent.
func (c *call) startTask(raw json.RawMessage, run func(*call) (toolResult, error)) (any, error) {
	var params taskParams
	if err := decode(raw, &params, "params.task"); err != nil {
		return nil, invalidParams("%v", err)
	}
	ttl := defaultTaskTTL
	if params.TTL != nil {
		if *params.TTL < 0 {
			return nil, invalidParams("params.task.ttl must not be negative")
		}
		ttl = time.Duration(min(*params.TTL, maxTaskTTL.Milliseconds())) * time.Millisecond
	}

	t := &task{
		taskRecord: newTaskRecord("ttl", ttl, "pollInterval"),
		session:    c.session, done: make(chan struct{}), joined: make(chan struct{}),
	}
	t.tell = func(state object) { t.pass(encodeNotification("notifications/tasks/status", state)) }
	inner := c.session.newCall("", t)
	inner.task, inner.progressToken = t, c.progressToken
	t.cancel = inner.cancel
	meta := relatedTask(t.id)
	meta["io.modelcontextprotocol/model-immediate-response"] = "The tool is running; its result will follow."
	created := object{"task": t.snapshot(), "_meta": meta}
	if err := c.session.tasks.add(t); err != nil {
		inner.cancel(nil)
		return nil, err
	}
	c.session.spawn(func() { t.expireAfter(ttl) })
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

// expireAfter ends the life of the task after a time, and forgets it.
func (t *task) expireAfter(ttl time.Duration) {
	select {
	case <-time.After(ttl):
		t.session.tasks.remove(t.id)
		t.end(taskFailed, "The task has expired.", toolResult{}, errTaskExpired)
		t.cancel(errTaskExpired)
	case <-t.session.ctx.Done():
	}
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

// end moves the task to its last status, unless it has ended already.
func (t *task) end(status, message string, result toolResult, err error) bool {
	ended := t.update(func(state object) {
		become(status, message)(state)
		result.Meta = relatedTask(t.id)
		t.result, t.err = result, err
	})
	if ended {
		close(t.done)
		t.session.logf("task %s is %s", t.id[:6], status)
	}
	return ended
}

// send carries what belongs to the task, until it is over.
func (t *task) send(message []byte) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !over(t.state) && t.pass(message)
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
	t.update(become(taskInputRequired, "The tool has a question: call tasks/result to receive it."))
	defer t.update(become(taskWorking, "The tool is running."))
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

func (c *call) getTask(params taskIDParams) (any, error) {
	t, err := c.session.tasks.find(params.TaskID)
	if err != nil {
		return nil, err
	}
	return t.snapshot(), nil
}

func (c *call) listTasks(params listParams) (any, error) {
	tasks, next, err := c.session.tasks.page("", params.Cursor)
	states := make([]object, len(tasks))
	for i, t := range tasks {
		states[i] = t.snapshot()
	}
	return pageResult("tasks", states, next), err
}

// taskResult waits until the task is over, and answers what the tool would
// have answered. Meanwhile the messages of the task come this way.
func (c *call) taskResult(params taskIDParams) (any, error) {
	t, err := c.session.tasks.find(params.TaskID)
	if err != nil {
		return nil, err
	}
	if !over(t.snapshot()) {
		c.takesTime()
		t.listen(c)
		defer t.unlisten(c)
		select {
		case <-t.done:
		case <-c.ctx.Done():
			return nil, context.Cause(c.ctx)
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

func (c *call) cancelTask(params taskIDParams) (any, error) {
	t, err := c.session.tasks.find(params.TaskID)
	if err != nil {
		return nil, err
	}
	if !t.end(taskCancelled, "The task was cancelled by request.", failure("The task was cancelled."), nil) {
		return nil, invalidParams("the task is already %s", t.snapshot()["status"])
	}
	t.cancel(errTaskCancelled)
	return t.snapshot(), nil
}

// askAsTask sends a request to the client as a task, and fetches the result.
func (c *call) askAsTask(method string, params object) (json.RawMessage, error) {
	area, verb, _ := strings.Cut(method, "/")
	if tasks := c.client.Tasks; tasks == nil || tasks.Requests[area][verb] == nil {
		return nil, fmt.Errorf("the client has not declared the capability tasks.requests.%s.%s", area, verb)
	}
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
	err = c.followTask(id)
	if err == nil {
		raw, err = c.session.askFor(c, "tasks/result", object{"taskId": id})
	}
	if err != nil {
		c.abandonTask(id)
	}
	return raw, err
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
// call is itself cancelled.
func (c *call) abandonTask(id string) {
	if c.ctx.Err() == nil || c.client.Tasks.Cancel == nil {
		return
	}
	ctx, cancel := context.WithTimeout(c.session.ctx, courtesyTimeout)
	defer cancel()
	if _, err := c.session.request(ctx, c.send, "tasks/cancel", object{"taskId": id}); err != nil {
		c.session.logf("the client's task cannot be cancelled: %v", err)
	}
}
