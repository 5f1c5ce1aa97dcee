// Page basic/patterns/mrtr, from 2026-07-28: results that ask for input, with
// which the request is sent once more.

package client

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// maxRounds bounds how often a server may ask for input before it answers.
const maxRounds = 16

// The types of results. A result without one is complete, as those of earlier
// revisions are.
const (
	complete      = "complete"
	inputRequired = "input_required"
	taskCreated   = "task" // by the extension for tasks
)

// askingMethods are those whose results may ask for input.
var askingMethods = []string{"tools/call", "prompts/get", "resources/read"}

// ask sends a request, and sends it again with the input that results ask for,
// until there is a complete one. It tells whether there was a retry.
func (c *client) ask(ctx context.Context, q question) (result object, retried bool, err error) {
	original := q.params
	for range maxRounds {
		result, err := c.request(ctx, q)
		if err != nil || !c.stateless() {
			return result, retried, err
		}
		switch kind := resultType(result); {
		case kind == complete:
			return result, retried, nil
		case kind == taskCreated && q.method == "tools/call":
			return result, retried, nil
		case kind == inputRequired && slices.Contains(askingMethods, q.method):
			q.params = maps.Clone(original)
			if err := c.addInput(ctx, q.params, result); err != nil {
				return nil, retried, err
			}
			retried = true
		default:
			return nil, retried, fmt.Errorf("the result of %s is of the type %q, which this client does not know there",
				q.method, kind)
		}
	}
	return nil, retried, fmt.Errorf("the server has asked for input more than %d times, and still does not answer %s",
		maxRounds, q.method)
}

func resultType(result object) string {
	kind, given := result["resultType"]
	text, isText := kind.(string)
	switch {
	case !given:
		return complete
	case !isText:
		return string(encode(kind))
	default:
		return text
	}
}

// addInput adds to the parameters of a request what its result asks for.
func (c *client) addInput(ctx context.Context, params, result object) error {
	requests, asks := result["inputRequests"]
	state, hasState := result["requestState"]
	if !asks && !hasState {
		return errors.New("the result asks for input, but has neither inputRequests nor requestState")
	}
	if asks {
		responses, err := c.part.inputs(ctx, c, requests)
		if err != nil {
			return err
		}
		params["inputResponses"] = responses
	}
	if hasState {
		params["requestState"] = state
	}
	return nil
}

// inputs answers all that is asked for, in the order of the keys.
func inputs(ctx context.Context, c *client, requests any) (object, error) {
	asked, isObject := requests.(object)
	if !isObject {
		return nil, errors.New("inputRequests is not an object")
	}
	responses := object{}
	for _, key := range slices.Sorted(maps.Keys(asked)) {
		request, _ := asked[key].(object)
		method, _ := request["method"].(string)
		params, _ := request["params"].(object)
		if capabilityOf[method] == "" {
			return nil, fmt.Errorf("the server asks for the input %q by %q, which is no request for input", key, method)
		}
		c.count(method)
		response, refused := c.input(ctx, method, params)
		switch {
		case refused != nil:
			return nil, fmt.Errorf("the input %q cannot be given: %w", key, refused)
		case response == nil:
			return nil, fmt.Errorf("the input %q is not given", key)
		}
		responses[key] = response
	}
	return responses, nil
}
