package tasks

import (
	"maps"
	"sync"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/scripted"
)

// A taskStore is what a scripted server does about tasks that calls have become.
type taskStore struct {
	told    []Object // what tasks/get tells of each, one after the other; the last one stays
	updated []Object // what it tells after tasks/update
	silent  bool     // it suggests no time between two looks

	mu   sync.Mutex
	left map[string][]Object // what is still to be told, by task
}

const (
	keptFor = 60_000 // milliseconds
	// pollEvery is how long the scripted server asks its client to wait between two
	// looks, in milliseconds.
	pollEvery = 60
)

// storeTasks gives a server tasks. What is told begins with the status.
func storeTasks(server *scripted.Server, told ...Object) *taskStore {
	k := &taskStore{told: told, left: map[string][]Object{}}
	server.Declare(Object{"extensions": Object{identifier: Object{}}})
	server.On("tasks/get", k.get)
	server.On("tasks/update", k.update)
	server.On("tasks/cancel", k.cancel)
	return k
}

// completed is the state of a task that has its result.
func completed() Object {
	result := scripted.Text("8")
	result["resultType"] = "complete"
	return Object{"status": "completed", "result": result}
}

// declaredBy tells whether the client declares the extension with a request.
func declaredBy(call *scripted.Call) bool { return call.Declares("extensions", identifier) }

// begin answers a call with a task.
func (k *taskStore) begin(call *scripted.Call, id string) { call.Answer(k.created(id)) }

// created makes a task, and is the result that says so.
func (k *taskStore) created(id string) Object {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.left[id] = k.told
	made := k.state(id, Object{"status": "working"})
	made["resultType"] = "task"
	return made
}

// ended makes a task that has its result already, is kept without limit and may be asked for
// at any time, and is the result that says so.
func (k *taskStore) ended(id string) Object {
	made := k.created(id)
	k.mu.Lock()
	defer k.mu.Unlock()
	told := completed()
	told["ttlMs"] = nil
	k.left[id] = []Object{told}
	made["status"], made["ttlMs"] = "completed", nil
	delete(made, "pollIntervalMs")
	return made
}

func (k *taskStore) state(id string, told Object) Object {
	const at = "2026-07-28T10:30:00Z"
	task := Object{"taskId": id, "createdAt": at, "lastUpdatedAt": at, "ttlMs": keptFor, "pollIntervalMs": pollEvery}
	if k.silent {
		delete(task, "pollIntervalMs")
	}
	maps.Copy(task, told)
	return task
}

// find returns the id of the task that a request is about, or refuses the request.
// The caller holds the lock.
func (k *taskStore) find(call *scripted.Call) (string, bool) {
	id := call.Text("taskId")
	if _, known := k.left[id]; known {
		return id, true
	}
	call.Refuse(jsonrpc.InvalidParams, "No such task", nil)
	return "", false
}

func (k *taskStore) get(call *scripted.Call) {
	k.mu.Lock()
	defer k.mu.Unlock()
	id, known := k.find(call)
	if !known {
		return
	}
	next := k.left[id][0]
	if len(k.left[id]) > 1 {
		k.left[id] = k.left[id][1:]
	}
	call.Answer(k.state(id, next))
}

func (k *taskStore) update(call *scripted.Call) {
	k.mu.Lock()
	defer k.mu.Unlock()
	id, known := k.find(call)
	if !known {
		return
	}
	if k.updated != nil {
		k.left[id], k.updated = k.updated, nil
	}
	call.Answer(nil)
}

func (k *taskStore) cancel(call *scripted.Call) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if id, known := k.find(call); known {
		k.left[id] = []Object{{"status": "cancelled"}}
		call.Answer(nil)
	}
}
