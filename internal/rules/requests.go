package rules

import (
	"maps"
	"slices"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
)

// Ask is something that the target, a server, wants from the client: a request in the
// handshake era, an input request in a result of the stateless era.
type Ask struct {
	*Message        // the message that carries it
	Method   string // such as sampling/createMessage
	Params   Object
	Where    string // JSON pointer of the params in the message
}

// Asks returns what the target wants by one of the methods from the client; any,
// when none is given.
func (c *Conversation) Asks(methods ...string) []Ask {
	all := Shared(c, "asks", readAsks)
	if len(methods) == 0 {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(ask Ask) bool { return !slices.Contains(methods, ask.Method) })
}

func readAsks(c *Conversation) []Ask {
	var all []Ask
	for _, message := range c.ByTarget() {
		for _, request := range ServerRequests(message.Message) {
			all = append(
				all,
				Ask{Message: message, Method: request.Method, Params: request.Params, Where: request.Pointer},
			)
		}
	}
	return all
}

// ServerRequest is what a message of the server asks of the client: a request up to
// 2025-11-25, an input request from 2026-07-28.
type ServerRequest struct {
	Key     string // of an input request
	Pointer string // of its params
	Method  string
	Params  Object
}

// ServerRequests finds what a message asks of the other side: it is a request, or a
// result with input requests, in the order of their keys.
func ServerRequests(message jsonrpc.Message) []ServerRequest {
	if message.Kind == jsonrpc.Request {
		params, _ := message.Params().(map[string]any)
		return []ServerRequest{{Pointer: "/params", Method: message.Method, Params: params}}
	}
	where := "/result/inputRequests"
	member, _ := message.Result()
	result, _ := member.(map[string]any)
	requests, there := result["inputRequests"].(map[string]any)
	if message.Kind == jsonrpc.Notification { // notifications/tasks have the whole task
		params, _ := message.Params().(map[string]any)
		requests, there = params["inputRequests"].(map[string]any)
		where = "/params/inputRequests"
	}
	if !there {
		return nil
	}
	var all []ServerRequest
	for _, key := range slices.Sorted(maps.Keys(requests)) {
		request, _ := requests[key].(map[string]any)
		method, _ := request["method"].(string)
		params, _ := request["params"].(map[string]any)
		all = append(all, ServerRequest{key, where + jsonrpc.Pointer(key, "params"), method, params})
	}
	return all
}
