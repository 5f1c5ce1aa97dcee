// Page server/tools: calling tools, and checking what they give.

package client

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mcpconform/mcpconform/reference/jsonschema"
)

// A tool is what the client has learned of one from the list.
type tool struct {
	inputSchema  any
	outputSchema any
	taskSupport  string
	mirrored     []mirrored // parameters that go into headers
	invalid      error      // why the tool is left out
}

// learnTools keeps what calls need to know, and returns the tools that can be
// used.
func (c *client) learnTools(items []any) []any {
	learned := map[string]*tool{}
	usable := []any{}
	for _, item := range items {
		members, _ := item.(object)
		name, isText := members["name"].(string)
		if !isText {
			usable = append(usable, item)
			continue
		}
		execution, _ := members["execution"].(object)
		support, _ := execution["taskSupport"].(string)
		t := &tool{inputSchema: members["inputSchema"], outputSchema: members["outputSchema"], taskSupport: support}
		if c.mirrorsParameters() {
			t.mirrored, t.invalid = c.part.mirroredOf(t.inputSchema)
		}
		learned[name] = t
		if t.invalid != nil {
			c.log.Printf("warning: the tool %q is left out: %v", name, t.invalid)
			continue
		}
		usable = append(usable, item)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tools = learned
	return usable
}

// knownTool returns what is known of a tool. The tools are listed first if they
// never were: their definitions say how to call them.
func (c *client) knownTool(ctx context.Context, name string) *tool {
	c.mu.Lock()
	listed := c.tools != nil
	c.mu.Unlock()
	if !listed {
		if _, err := c.list(preparing(ctx), "tools"); err != nil {
			c.log.Printf("cannot list the tools before a call: %v", err)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if known := c.tools[name]; known != nil {
		return known
	}
	return &tool{}
}

// callTool calls a tool and waits for the task that it may become. It repeats the call after
// a header mismatch and after the visit to a URL that the server requires.
func (c *client) callTool(ctx context.Context, s step) (any, error) {
	if err := c.needs("tools"); err != nil {
		return nil, err
	}
	t := c.knownTool(ctx, s.Tool)
	if t.invalid != nil {
		return nil, fmt.Errorf("the tool %q cannot be used: %w", s.Tool, t.invalid)
	}
	result, err := c.callOnce(ctx, s, t)
	if mismatch, refused := asRPCError(err); refused && c.stateless() && mismatch.Code == headerMismatch &&
		c.mirrorsParameters() {
		c.forgetPages("tools/list") // its definition may be another by now
		if _, listErr := c.list(ctx, "tools"); listErr != nil {
			return nil, errors.Join(err, listErr)
		}
		t = c.knownTool(ctx, s.Tool)
		result, err = c.callOnce(ctx, s, t)
	}
	if refused, isRefused := asRPCError(err); isRefused && refused.Code == urlRequired &&
		c.speaks() == Revision20251125 {
		if err := c.visitAll(ctx, refused); err != nil {
			return nil, err
		}
		result, err = c.callOnce(ctx, s, t)
	}
	if err != nil {
		return nil, err
	}
	if err := c.part.checkOutput(t, result); err != nil {
		return nil, err
	}
	return result, nil
}

// callOnce sends the call, as a task where that is wanted or demanded.
func (c *client) callOnce(ctx context.Context, s step, t *tool) (object, error) {
	params := object{"name": s.Tool}
	if s.Arguments != nil {
		params["arguments"] = s.Arguments
	}
	asTask, wanted := s.Task.(object)
	if support := t.taskSupport; c.speaks() == Revision20251125 {
		switch {
		case wanted && c.needs("tasks", "requests", "tools", "call") != nil:
			return nil, c.needs("tasks", "requests", "tools", "call")
		case wanted && support != "optional" && support != "required":
			return nil, fmt.Errorf("the tool %q cannot be called as a task", s.Tool)
		case !wanted && support == "required" && c.declares("tasks", "requests", "tools", "call"):
			asTask, wanted = object{}, true
		}
		if wanted {
			params["task"] = asTask
		}
	} else if wanted && c.speaks() < Revision20251125 {
		return nil, fmt.Errorf("%s has no tasks", c.speaks())
	}
	headers, err := c.mirror(t, s.Arguments)
	if err != nil {
		return nil, err
	}
	asking := ctx
	if wanted {
		asking = lasting(c.ctx, ctx) // what is to be cancelled must be known first
	}
	result, _, err := c.ask(asking, question{
		method:   "tools/call",
		params:   params,
		progress: s.Progress,
		timeout:  time.Duration(s.Timeout) * time.Millisecond,
		headers:  headers,
	})
	switch {
	case err != nil:
		return nil, err
	case params["task"] != nil:
		return c.followTask(ctx, result["task"])
	case c.stateless() && resultType(result) == taskCreated:
		return c.followTask(ctx, result)
	default:
		return result, nil
	}
}

// checkOutput compares structured content with the schema that the tool has
// promised. A tool that tells of an error need not keep it.
func checkOutput(t *tool, result object) error {
	if t.outputSchema == nil || result["isError"] == true {
		return nil
	}
	content, given := result["structuredContent"]
	if !given {
		return errors.New("the tool has an outputSchema, but its result has no structuredContent")
	}
	if err := jsonschema.Validate(encode(t.outputSchema), encode(content)); err != nil {
		return fmt.Errorf("structuredContent does not conform to the tool's outputSchema: %w", err)
	}
	return nil
}
