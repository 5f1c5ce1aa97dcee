// Pages server/resources, server/prompts, server/utilities/completion,
// server/utilities/logging and basic/utilities/ping: requests that are one
// question and its answer.

package client

import (
	"context"
	"errors"
	"fmt"

	stduritemplate "github.com/std-uritemplate/std-uritemplate/go/v2"
)

func (c *client) readResource(ctx context.Context, s step) (any, error) {
	if err := c.needs("resources"); err != nil {
		return nil, err
	}
	uri := s.URI
	if s.Template != "" {
		var err error
		if uri, err = c.part.expand(s.Template, s.Arguments); err != nil {
			return nil, err
		}
	}
	return c.fetch(ctx, question{method: "resources/read", params: object{"uri": uri}})
}

// expand makes a URI of a template by RFC 6570.
func expand(template string, arguments object) (string, error) {
	for name, value := range arguments {
		if _, isText := value.(string); !isText {
			return "", fmt.Errorf("the argument %q of the URI template %q is not a string", name, template)
		}
	}
	uri, err := stduritemplate.Expand(template, arguments)
	if err != nil {
		return "", fmt.Errorf("the URI template %q cannot be expanded: %w", template, err)
	}
	return uri, nil
}

func (c *client) getPrompt(ctx context.Context, s step) (any, error) {
	if err := c.needs("prompts"); err != nil {
		return nil, err
	}
	params := object{"name": s.Prompt}
	if s.Arguments != nil {
		params["arguments"] = s.Arguments
	}
	result, _, err := c.ask(ctx, question{method: "prompts/get", params: params})
	return result, err
}

func (c *client) complete(ctx context.Context, s step) (any, error) {
	if err := c.needs("completions"); err != nil && c.speaks() >= Revision20250326 { // before, it was not declared
		return nil, err
	}
	params := object{"ref": s.Ref, "argument": s.Argument}
	if s.Context != nil {
		params["context"] = s.Context
	}
	result, _, err := c.ask(ctx, question{method: "completion/complete", params: params})
	return result, err
}

// uriStep subscribes to a resource, or ends that.
func uriStep(method string) doing {
	return func(c *client, ctx context.Context, s step) (any, error) {
		if c.stateless() {
			return nil, fmt.Errorf("%s has no %s: tell this client to listen", c.speaks(), method)
		}
		if err := c.needs("resources", "subscribe"); err != nil {
			return nil, err
		}
		return c.request(ctx, question{method: method, params: object{"uri": s.URI}})
	}
}

// setLevel says which log messages are wanted: once for a session, or with each
// request from now on.
func (c *client) setLevel(ctx context.Context, s step) (any, error) {
	if err := c.needs("logging"); err != nil {
		return nil, err
	}
	if c.stateless() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.logLevel = s.Level
		return nil, nil
	}
	return c.request(ctx, question{method: "logging/setLevel", params: object{"level": s.Level}})
}

func (c *client) ping(ctx context.Context, _ step) (any, error) {
	if c.stateless() {
		return nil, errors.New(c.speaks() + " has no ping")
	}
	return c.request(ctx, question{method: "ping"})
}
