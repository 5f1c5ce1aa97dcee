// Page basic/utilities/tasks, at 2025-11-25, where the server asks: requests
// that this client answers with a task of its own.

package client

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
)

// Bounds of the tasks of this client.
const (
	maxOwnTasks  = 64
	maxOwnTTL    = 10 * time.Minute
	ownTTL       = time.Minute // where the server wishes none
	ownPollAfter = 100         // milliseconds, which is suggested to the server
)

const relatedTask = "io.modelcontextprotocol/related-task"

// ownTasks are the tasks of this client.
type ownTasks struct {
	mu    sync.Mutex
	known map[string]*ownTask
}

// An ownTask is a request of the server that is answered later.
type ownTask struct {
	id      string
	created time.Time
	ttl     time.Duration
	cancel  context.CancelFunc
	over    chan struct{} // closed with the end

	updated time.Time
	status  string
	result  object
	err     *rpcError
}

// taskCapability says for what this client has tasks. The caller holds c.mu.
func (c *client) taskCapability() object {
	requests := object{}
	if c.answers["sampling/createMessage"] != nil {
		requests["sampling"] = object{"createMessage": object{}}
	}
	if c.answers["elicitation/create"] != nil {
		requests["elicitation"] = object{"create": object{}}
	}
	if len(requests) == 0 {
		return nil
	}
	return object{"list": object{}, "cancel": object{}, "requests": requests}
}

func (c *client) declaresTasks() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.revision == Revision20251125 && len(c.taskCapability()) > 0
}

// answersWithTasks tells whether a request asks for a task and may have one.
func (c *client) answersWithTasks(params object) bool {
	_, wanted := params["task"].(object)
	return wanted && c.declaresTasks()
}

// createTask answers at once, and works on the request when that is said.
func (c *client) createTask(asked context.Context, method string, params object) (object, *rpcError) {
	capability, declared := c.declaredFor(method)
	if !declared {
		return nil, refuse(jsonrpc.MethodNotFound, "Method not found: this client has not declared %s",
			capabilityOf[method])
	}
	if err := c.part.refuses(c, method, params, capability); err != nil {
		return nil, err
	}
	wishes, _ := params["task"].(object)
	ctx, cancel := context.WithCancel(c.ctx)
	now := time.Now()
	t := &ownTask{
		id:      rand.Text(),
		created: now,
		updated: now,
		ttl:     ownTTL,
		cancel:  cancel,
		over:    make(chan struct{}),
		status:  taskWorking,
	}
	if wished, isNumber := wishes["ttl"].(json.Number); isNumber {
		milliseconds, _ := wished.Float64()
		t.ttl = time.Duration(min(max(0, milliseconds), float64(maxOwnTTL.Milliseconds()))) * time.Millisecond
	}
	if !c.tasks.keep(t) {
		cancel()
		return nil, refuse(jsonrpc.InternalError, "Internal error: more than %d tasks are kept", maxOwnTasks)
	}
	created := t.state()
	go func() {
		<-asked.Done() // it is answered
		quietly := maps.Clone(params)
		delete(quietly, "_meta")
		result, err := c.input(ctx, method, quietly)
		if result == nil && err == nil {
			return // it was cancelled
		}
		c.tasks.finish(t, result, err, func() { c.tellProgress(relate(params, object{"taskId": t.id}), 2) })
		c.tellStatus(t)
	}()
	return object{"task": created}, nil
}

func (o *ownTasks) keep(t *ownTask) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	maps.DeleteFunc(o.known, func(_ string, old *ownTask) bool { return time.Since(old.created) > old.ttl })
	if len(o.known) >= maxOwnTasks {
		return false
	}
	o.known[t.id] = t
	return true
}

// finish ends a task, unless it is over. The lock is held while tell sends the last progress:
// tasks/get shows a final status only after it.
func (o *ownTasks) finish(t *ownTask, result object, err *rpcError, tell func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if t.status != taskWorking {
		return
	}
	tell()
	t.status, t.result, t.err, t.updated = taskCompleted, result, err, time.Now()
	if err != nil {
		t.status = taskFailed
	}
	close(t.over)
}

// tellStatus sends notifications/tasks/status. It is optional: servers poll with tasks/get.
func (c *client) tellStatus(t *ownTask) {
	c.tasks.mu.Lock()
	state := t.state()
	c.tasks.mu.Unlock()
	if err := c.notify(c.ctx, "notifications/tasks/status", state); err != nil {
		c.log.Printf("cannot tell how the task %s goes on: %v", t.id, err)
	}
}

// state is a task as the server sees it. The caller holds the lock, once others
// know the task.
func (t *ownTask) state() object {
	state := object{
		"taskId":       t.id,
		"status":       t.status,
		"ttl":          t.ttl.Milliseconds(),
		"pollInterval": ownPollAfter,
		"createdAt": t.created.UTC().
			Format(time.RFC3339Nano),
		"lastUpdatedAt": t.updated.UTC().Format(time.RFC3339Nano),
	}
	if t.err != nil {
		state["statusMessage"] = t.err.Message
	}
	return state
}

// aboutTasks answers what the server asks about tasks.
func (c *client) aboutTasks(ctx context.Context, method string, params object) (object, *rpcError) {
	o := c.tasks
	if method == "tasks/list" {
		return o.list(params)
	}
	id, _ := params["taskId"].(string)
	o.mu.Lock()
	t := o.known[id]
	o.mu.Unlock()
	if t == nil {
		return nil, invalidParams("no task has the id %q", id)
	}
	if method == "tasks/result" {
		return o.result(ctx, t, c.end())
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if method == "tasks/cancel" {
		if t.status != taskWorking {
			return nil, invalidParams("the task %q is over, with the status %s", id, t.status)
		}
		t.status, t.updated = taskCancelled, time.Now()
		t.err = &rpcError{Code: jsonrpc.InvalidRequest, Message: "The task was cancelled"}
		t.cancel()
		close(t.over)
	}
	return t.state(), nil
}

func (o *ownTasks) list(params object) (object, *rpcError) {
	if cursor, given := params["cursor"]; given {
		return nil, invalidParams("there is no page at the cursor %s", encode(cursor))
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	all := []any{}
	for _, id := range slices.Sorted(maps.Keys(o.known)) {
		all = append(all, o.known[id].state())
	}
	return object{"tasks": all}, nil
}

// result waits for the end of a task, and answers as the request would have been.
func (o *ownTasks) result(ctx context.Context, t *ownTask, closing <-chan struct{}) (object, *rpcError) {
	select {
	case <-t.over:
	case <-closing:
		return nil, nil
	case <-ctx.Done():
		return nil, nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if t.err != nil {
		return nil, t.err
	}
	return relate(t.result, object{"taskId": t.id}), nil
}

// relate says to which task a result, or what was asked, belongs.
func relate(what object, task any) object {
	related, meta := maps.Clone(what), object{}
	given, _ := what["_meta"].(object)
	maps.Copy(meta, given)
	meta[relatedTask] = task
	related["_meta"] = meta
	return related
}
