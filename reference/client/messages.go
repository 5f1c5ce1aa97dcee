// Page basic: the messages, which are JSON-RPC 2.0, at 2025-03-26 also in batches.

package client

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
)

// maxMessage bounds one message of the server, in bytes, on every transport.
const maxMessage = 16 << 20

// maxWeight bounds the memory that a message takes once it is read.
const maxWeight = 128 << 20

// An rpcError is the error of an error response.
type rpcError struct {
	Code    int64  `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

func (e *rpcError) Error() string { return fmt.Sprintf("%s (%d)", e.Message, e.Code) }

// refuse is an error with which a request of the server is answered.
func refuse(code int64, format string, args ...any) *rpcError {
	return &rpcError{Code: code, Message: fmt.Sprintf(format, args...)}
}

func invalidParams(format string, args ...any) *rpcError {
	return refuse(jsonrpc.InvalidParams, "Invalid params: "+format, args...)
}

// asRPCError tells whether a request failed by the answer of the server.
func asRPCError(err error) (*rpcError, bool) { return errors.AsType[*rpcError](err) }

// encode writes a value as JSON on one line. What is encoded was decoded
// before, or is made of the like.
func encode(value any) []byte {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		panic("reference/client: " + err.Error())
	}
	return bytes.TrimRight(text.Bytes(), "\n")
}

// decode reads a value that was decoded before into a type, leaving out what
// does not fit.
func decode(value, into any) { _ = json.Unmarshal(encode(value), into) }

// maxBatch bounds the messages of one batch.
const maxBatch = 1024

// receive takes a message of the server, whichever way it came.
func (c *client) receive(raw []byte) {
	m := jsonrpc.ParseWithin(raw, maxWeight)
	if m.Kind == jsonrpc.Batch && c.speaks() == Revision20250326 {
		for _, element := range c.part.elements(jsonrpc.Elements(raw, maxBatch)) {
			c.receiveOne(jsonrpc.ParseWithin(element, maxWeight))
		}
		return
	}
	c.receiveOne(m)
}

// receiveOne takes a message that is no batch, or is part of one.
func (c *client) receiveOne(m jsonrpc.Message) {
	switch c.part.kindOf(c, m) {
	case jsonrpc.Response:
		c.answered(m)
	case jsonrpc.Notification:
		c.notified(m)
	case jsonrpc.Request:
		c.asked(m)
	default:
		c.log.Printf("ignored: no message of MCP: %.200q", m.Raw)
	}
	if m.Kind == jsonrpc.Notification {
		c.count(m.Method) // a request counts when it is considered
	}
}

// answered takes a response.
func (c *client) answered(m jsonrpc.Message) {
	c.mu.Lock()
	r := c.part.answeredBy(c, m.ID)
	c.mu.Unlock()
	if r == nil {
		c.log.Printf("ignored: a response to no open request, with the id %s", m.ID)
		c.part.unknownAnswer(c)
		return
	}
	result, hasResult := m.Result()
	failed, hasError := m.Error()
	fields, isObject := result.(object)
	switch {
	case hasError && hasResult:
		r.finish(nil, errors.New("the response has both a result and an error"))
	case hasError:
		r.finish(nil, &rpcError{Code: failed.Code, Message: failed.Message, Data: failed.Data})
	case !isObject:
		r.finish(nil, errors.New("the result is not an object"))
	default:
		r.finish(fields, nil)
	}
}

// count notes that the server has sent something, for those that wait for it.
func (c *client) count(method string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := c.received[method]; !known && len(c.received) >= maxMethods {
		return
	}
	c.received[method]++
	close(c.news)
	c.news = make(chan struct{})
}

// maxMethods bounds how many methods are counted: no revision has so many.
const maxMethods = 256

// notified takes a notification. Those that mean nothing here are ignored.
func (c *client) notified(m jsonrpc.Message) {
	params, _ := m.Params().(object)
	switch m.Method {
	case cancelledMethod:
		c.cancelledByServer(params)
	case "notifications/tools/list_changed":
		c.changed("tools")
	case "notifications/prompts/list_changed":
		c.changed("prompts")
	case "notifications/resources/list_changed":
		c.changed("resources")
		c.changed("templates")
	case "notifications/resources/updated":
		c.resourceUpdated(params)
	case completeMethod:
		c.visitComplete(params)
	case "notifications/subscriptions/acknowledged":
		c.acknowledged(params)
	}
}
