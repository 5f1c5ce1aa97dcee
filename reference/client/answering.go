// Page basic: requests of the server, which come as messages in the handshake
// era, and as input requests in the stateless one.

package client

import (
	"context"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
)

// maxAnswering bounds how many requests of the server are worked on at a time.
const maxAnswering = 64

// asked takes a request of the server.
func (c *client) asked(m jsonrpc.Message) {
	if c.stateless() {
		c.count(m.Method)
		c.log.Printf("ignored: a server sends no requests at %s, but %s came", c.speaks(), m.Method)
		return
	}
	if !m.ID.IsString() && !m.ID.IsInteger() {
		c.log.Printf("ignored: a request with the id %s", m.ID)
		return
	}
	ctx, stop := context.WithCancel(c.ctx)
	ctx = context.WithValue(ctx, considered{}, sync.OnceFunc(func() { c.count(m.Method) }))
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.answering) >= maxAnswering {
		stop()
		c.log.Printf("ignored: %s, since %d requests are being worked on", m.Method, maxAnswering)
		return
	}
	c.answering[m.ID] = stop
	c.beside(func() {
		defer stop()
		c.reply(ctx, m)
	})
}

// considered is the context key of the function that counts a request of the server once
// it is answered, delayed or left unanswered. Only then may a step that waits for the
// request continue: the next steps could change the answer.
type considered struct{}

func consider(ctx context.Context) {
	if count, isRequest := ctx.Value(considered{}).(func()); isRequest {
		count()
	}
}

// reply answers a request, unless that is cancelled or to be left unanswered.
func (c *client) reply(ctx context.Context, m jsonrpc.Message) {
	defer consider(ctx)
	message := c.answerTo(ctx, m)
	c.mu.Lock()
	delete(c.answering, m.ID)
	c.mu.Unlock()
	if message == nil || ctx.Err() != nil {
		return
	}
	if err := c.send(c.ctx, message); err != nil {
		c.log.Printf("cannot answer %s: %v", m.Method, err)
	}
}

// answerTo returns the response to a request, or nil when there is to be none.
func (c *client) answerTo(ctx context.Context, m jsonrpc.Message) []byte {
	if _, named := m.Object["method"].(string); !named {
		return jsonrpc.NewError(m.ID, jsonrpc.InvalidRequest, "Invalid request: the method is not a string")
	}
	params, isObject := m.Params().(object)
	if _, given := m.Object["params"]; given && !isObject {
		return writeError(m.ID, invalidParams("params must be an object"))
	}
	result, err := c.answer(ctx, m.Method, params)
	meta, _ := params["_meta"].(object)
	if related := meta[relatedTask]; related != nil && result != nil && !strings.HasPrefix(m.Method, "tasks/") {
		result = relate(result, related)
	}
	switch {
	case err != nil:
		return writeError(m.ID, err)
	case result == nil:
		return nil
	default:
		return jsonrpc.NewResult(m.ID, result)
	}
}

func writeError(id jsonrpc.ID, err *rpcError) []byte {
	return encode(object{"jsonrpc": "2.0", "id": id, "error": err})
}

// answer works on a request of the server. The result is nil when it is to be
// left unanswered.
func (c *client) answer(ctx context.Context, method string, params object) (object, *rpcError) {
	switch method {
	case "ping":
		return object{}, nil
	case "sampling/createMessage", "elicitation/create":
		if c.answersWithTasks(params) {
			return c.createTask(ctx, method, params)
		}
		return c.input(ctx, method, params)
	case "roots/list":
		return c.input(ctx, method, params)
	case "tasks/get", "tasks/result", "tasks/list", "tasks/cancel":
		if c.declaresTasks() {
			return c.aboutTasks(ctx, method, params)
		}
	}
	return nil, refuse(jsonrpc.MethodNotFound, "Method not found: this client has no %s", method)
}

// unhandled refuses what the client has not declared.
func unhandled(capability string) *rpcError {
	return refuse(jsonrpc.MethodNotFound, "Method not found: this client has not declared %s", capability)
}

// input answers as the steps say.
func (c *client) input(ctx context.Context, method string, params object) (object, *rpcError) {
	capability, declared := c.declaredFor(method)
	if !declared {
		return nil, c.part.unhandled(capabilityOf[method])
	}
	if err := c.part.refuses(c, method, params, capability); err != nil {
		return nil, err
	}
	next := c.nextAnswer(method)
	c.tellProgress(params, 1)
	if !c.decides(ctx, next) {
		return nil, nil
	}
	c.tellProgress(params, 2)
	if next.Error != nil {
		failed := &rpcError{}
		decode(next.Error, failed)
		return nil, failed
	}
	switch method {
	case "sampling/createMessage":
		return message(params, next.Result)
	case "elicitation/create":
		return c.entered(params, next.Result)
	default:
		return c.listRoots(next.Result), nil
	}
}

// tellProgress tells the server, if it wants to know, how far the answer is: it is
// begun, and it is about to be sent.
func (c *client) tellProgress(params object, progress int) {
	meta, _ := params["_meta"].(object)
	token, wanted := meta["progressToken"]
	if !wanted || c.stateless() {
		return
	}
	said := object{"progressToken": token, "progress": progress, "total": 2}
	if related := meta[relatedTask]; related != nil {
		said["_meta"] = object{relatedTask: related}
	}
	if err := c.notify(c.ctx, "notifications/progress", said); err != nil {
		c.log.Printf("cannot tell of progress: %v", err)
	}
}

// decides waits for the delay that a step gives an answer. It reports false if the request
// is to be left unanswered, was cancelled, or the session has ended.
func (c *client) decides(ctx context.Context, answer step) bool {
	var decided <-chan time.Time // never, when it is nil
	switch {
	case !answer.Silent && answer.Delay == 0:
		return true
	case !answer.Silent:
		decided = time.After(time.Duration(answer.Delay) * time.Millisecond)
	}
	consider(ctx)
	select {
	case <-decided:
		return true
	case <-ctx.Done():
	case <-c.end():
	}
	return false
}

// refusal returns the error for a request that the client must reject, regardless of
// what the steps answer.
func refusal(c *client, method string, params, capability object) *rpcError {
	switch method {
	case "sampling/createMessage":
		return c.refuseMessages(params, capability)
	case "elicitation/create":
		return c.refuseForm(params, capability)
	}
	return nil
}

// Answers are what to answer the requests of one method with, in turn; the last
// one serves again and again.
type answers struct {
	capability object
	steps      []step
}

// capabilityOf says which capability belongs to a method.
var capabilityOf = map[string]string{
	"sampling/createMessage": "sampling",
	"elicitation/create":     "elicitation",
	"roots/list":             "roots",
}

func (c *client) declaredFor(method string) (object, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	found := c.answers[method]
	if found == nil {
		return nil, false
	}
	return found.capability, true
}

func (c *client) nextAnswer(method string) step {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := c.answers[method]
	next := all.steps[0]
	if len(all.steps) > 1 {
		all.steps = all.steps[1:]
	}
	return next
}

// answerWith notes how to answer, and declares what belongs to it.
func (c *client) answerWith(_ context.Context, s step) (any, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	known := c.answers[s.Method]
	if known == nil {
		known = &answers{capability: object{}}
		c.answers[s.Method] = known
	}
	maps.Copy(known.capability, s.Capability)
	known.steps = append(known.steps, s)
	return nil, nil
}

// capabilities are what this client declares. The caller holds c.mu.
func (c *client) capabilities(revision string) object {
	all := object{}
	for method, known := range c.answers {
		all[capabilityOf[method]] = known.capability
	}
	c.part.declares(all)
	switch {
	case revision >= Revision20260728:
		all["extensions"] = c.extensions()
	case revision >= Revision20251125 && len(c.taskCapability()) > 0:
		all["tasks"] = c.taskCapability()
	}
	return all
}
