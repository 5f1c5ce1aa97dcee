// Page basic/utilities/tasks, at 2025-11-25: requests whose result is fetched
// later.

package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"
)

// The statuses of a task, in either era.
const (
	taskWorking   = "working"
	taskInput     = "input_required"
	taskCompleted = "completed"
	taskFailed    = "failed"
	taskCancelled = "cancelled"
)

// pollInterval is how long to wait between two looks at a task where the server
// suggests nothing.
const pollInterval = 500 * time.Millisecond

// A task is what the server says of one.
type task struct {
	TaskID         string      `json:"taskId"`
	Status         string      `json:"status"`
	StatusMessage  string      `json:"statusMessage"`
	PollInterval   json.Number `json:"pollInterval"`
	PollIntervalMS json.Number `json:"pollIntervalMs"` // from 2026-07-28
	InputRequests  object      `json:"inputRequests"`  // from 2026-07-28
	Result         object      `json:"result"`         // from 2026-07-28
	Error          object      `json:"error"`          // from 2026-07-28
}

// interval is how long to wait until the next look.
func (t task) interval() time.Duration {
	suggested := t.PollInterval
	if suggested == "" {
		suggested = t.PollIntervalMS
	}
	milliseconds, err := suggested.Float64()
	if err != nil || milliseconds < 0 || milliseconds > math.MaxInt32 {
		return pollInterval
	}
	return time.Duration(milliseconds) * time.Millisecond
}

func readTask(value any) (task, error) {
	members, _ := value.(object)
	known := task{}
	known.TaskID, _ = members["taskId"].(string)
	known.Status, _ = members["status"].(string)
	known.StatusMessage, _ = members["statusMessage"].(string)
	known.PollInterval, _ = members["pollInterval"].(json.Number)
	known.PollIntervalMS, _ = members["pollIntervalMs"].(json.Number)
	known.InputRequests, _ = members["inputRequests"].(object)
	known.Result, _ = members["result"].(object)
	known.Error, _ = members["error"].(object)
	if known.TaskID == "" || known.Status == "" {
		return known, errors.New("the server has answered with no task: taskId or status are missing")
	}
	return known, nil
}

// followTask waits for a task and fetches its result. It cancels the task if ctx ends
// first.
func (c *client) followTask(ctx context.Context, created any) (object, error) {
	known, err := readTask(created)
	if err != nil {
		return nil, err
	}
	var result object
	if c.stateless() {
		result, err = c.watchAsyncTask(ctx, known.TaskID, c.part.pollAfter(known))
	} else {
		result, err = c.watchTask(ctx, known)
	}
	if ctx.Err() != nil {
		c.abandonTask(known.TaskID)
	}
	return result, err
}

// watchTask looks at a task from time to time until its result can be asked for:
// when it is over, or when it needs what comes along with that question.
func (c *client) watchTask(ctx context.Context, known task) (object, error) {
	for known.Status == taskWorking {
		if err := pause(ctx, c.part.pollAfter(known)); err != nil {
			return nil, err
		}
		var err error
		if known, err = c.lookAtTask(ctx, known.TaskID); err != nil {
			return nil, err
		}
	}
	if known.Status == taskCancelled {
		return nil, fmt.Errorf("the task was cancelled: %s", known.StatusMessage)
	}
	return c.request(ctx, question{method: "tasks/result", params: object{"taskId": known.TaskID}})
}

// lookAtTask asks how a task is. That is answered soon: it is not cancelled with ctx.
func (c *client) lookAtTask(ctx context.Context, id string) (task, error) {
	result, _, err := c.ask(lasting(c.ctx, ctx), question{method: "tasks/get", params: object{"taskId": id}})
	if err != nil {
		return task{}, err
	}
	return readTask(result)
}

// abandonTask cancels a task after its call was given up.
func (c *client) abandonTask(id string) {
	if !c.stateless() && !c.declares("tasks", "cancel") {
		return
	}
	ctx, stop := context.WithTimeout(c.ctx, farewell)
	defer stop()
	if _, err := c.request(ctx, question{method: "tasks/cancel", params: object{"taskId": id}}); err != nil {
		c.log.Printf("cannot cancel the task %s: %v", id, err)
	}
}

// pause waits.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// needsTasks is the error of a step about tasks that the server does not have.
func (c *client) needsTasks(path ...string) error {
	switch {
	case c.stateless():
		return c.needs("extensions", tasksExtension)
	case c.speaks() < Revision20251125:
		return fmt.Errorf("%s has no tasks", c.speaks())
	default:
		return c.needs(append([]string{"tasks"}, path...)...)
	}
}

// taskResult waits for the result of a task: the server does so or, from
// 2026-07-28, the client looks from time to time.
func (c *client) taskResult(ctx context.Context, s step) (any, error) {
	if !c.stateless() {
		return taskStep("tasks/result")(c, ctx, s)
	}
	if err := c.needsTasks(); err != nil {
		return nil, err
	}
	id, _ := s.Task.(string)
	return c.watchAsyncTask(ctx, id, 0)
}

// taskStep asks the server about a task, which may need a capability.
func taskStep(method string, path ...string) doing {
	return func(c *client, ctx context.Context, s step) (any, error) {
		if err := c.needsTasks(path...); err != nil {
			return nil, err
		}
		result, _, err := c.ask(ctx, question{method: method, params: object{"taskId": s.Task}})
		return result, err
	}
}
