// Page extensions/tasks (SEP-2663), from 2026-07-28: calls that are answered
// with a task, whose state has the result when it is over.

package client

import (
	"context"
	"fmt"
	"time"
)

// tasksExtension is the name under which client and server declare tasks.
const tasksExtension = "io.modelcontextprotocol/tasks"

// watchAsyncTask looks at a task until it is over, and answers each question of
// it once.
func (c *client) watchAsyncTask(ctx context.Context, id string, wait time.Duration) (object, error) {
	given := map[string]bool{}
	for {
		if err := pause(ctx, wait); err != nil {
			return nil, err
		}
		known, err := c.lookAtTask(ctx, id)
		if err != nil {
			return nil, err
		}
		switch known.Status {
		case taskCompleted:
			return known.Result, nil
		case taskFailed:
			failed := &rpcError{Message: known.StatusMessage}
			decode(known.Error, failed)
			return nil, failed
		case taskCancelled:
			return nil, fmt.Errorf("the task was cancelled: %s", known.StatusMessage)
		case taskInput:
			if err := c.giveInput(ctx, known, given); err != nil {
				return nil, err
			}
		}
		wait = c.part.pollAfter(known)
	}
}

// giveInput answers what a task asks for and was not answered yet.
func (c *client) giveInput(ctx context.Context, known task, given map[string]bool) error {
	open := object{}
	for key, request := range known.InputRequests {
		if !given[key] || c.part.answersInputAgain() {
			open[key] = request
		}
	}
	if len(open) == 0 {
		return nil
	}
	responses, err := c.part.inputs(ctx, c, open)
	if err != nil {
		return err
	}
	for key := range open {
		given[key] = true
	}
	_, _, err = c.ask(ctx, question{
		method: "tasks/update",
		params: object{"taskId": known.TaskID, "inputResponses": responses},
	})
	return err
}
