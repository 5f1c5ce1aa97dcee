package proxy

import (
	"bytes"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// agreements are what the messages of one connection have made known.
type agreements struct {
	asked  map[jsonrpc.ID]jsonrpc.Message // requests of the client whose results say what is agreed
	listed map[string]bool                // tools that the connection has listed, or that were told
}

// telling are the methods whose results say what is agreed.
var telling = [][]byte{
	[]byte(`"initialize"`),
	[]byte(`"server/discover"`),
	[]byte(`"tools/list"`),
	[]byte(`"tools/call"`),
}

// maxAsked bounds the requests that wait for a result, and maxTools the tools that are remembered.
const (
	maxAsked = 100
	maxTools = 10_000
)

// see returns what an event makes known.
func (a *agreements) see(event transcript.Event, recorder *Recorder) (known transcript.Agreement) {
	if event.Kind != transcript.Message || event.Size > 0 {
		return known
	}
	if event.From == protocol.Client {
		tells := false
		for _, method := range telling {
			tells = tells || bytes.Contains(event.Raw, method)
		}
		if !tells {
			return known
		}
		message := jsonrpc.Parse(event.Raw)
		if message.Kind != jsonrpc.Request {
			return known
		}
		if message.Method == "tools/call" {
			return a.called(message, recorder)
		}
		if a.asked == nil {
			a.asked = map[jsonrpc.ID]jsonrpc.Message{}
		}
		if len(a.asked) < maxAsked {
			a.asked[message.ID] = message
		}
		return known
	}
	if len(a.asked) == 0 {
		return known
	}
	message := jsonrpc.Parse(event.Raw)
	request, waited := a.asked[message.ID]
	if message.Kind != jsonrpc.Response || !waited {
		return known
	}
	delete(a.asked, message.ID)
	result, _ := message.Result()
	object, _ := result.(map[string]any)
	switch request.Method {
	case "initialize":
		known.Revision, _ = object["protocolVersion"].(string)
		params, _ := request.Params().(map[string]any)
		known.Capabilities.Client, _ = params["capabilities"].(map[string]any)
		known.Capabilities.Server, _ = object["capabilities"].(map[string]any)
	case "server/discover":
		known.Capabilities.Server, _ = object["capabilities"].(map[string]any)
		recorder.discover(known)
	case "tools/list":
		a.list(object, recorder)
	}
	return known
}

// list remembers the tools of a list, for connections that call them and do not list them.
func (a *agreements) list(result map[string]any, recorder *Recorder) {
	if a.listed == nil {
		a.listed = map[string]bool{}
	}
	tools, _ := result["tools"].([]any)
	recorder.mu.Lock()
	defer recorder.mu.Unlock()
	for _, one := range tools {
		tool, _ := one.(map[string]any)
		name, named := tool["name"].(string)
		if named && (len(recorder.tools) < maxTools || recorder.tools[name] != nil) {
			a.listed[name], recorder.tools[name] = true, tool
		}
	}
}

// called tells of a tool that was listed elsewhere.
func (a *agreements) called(call jsonrpc.Message, recorder *Recorder) (known transcript.Agreement) {
	params, _ := call.Params().(map[string]any)
	name, _ := params["name"].(string)
	if a.listed[name] {
		return known
	}
	recorder.mu.Lock()
	defer recorder.mu.Unlock()
	if recorder.tools[name] == nil {
		return known
	}
	if a.listed == nil {
		a.listed = map[string]bool{}
	}
	a.listed[name] = true
	for told := range a.listed {
		if tool := recorder.tools[told]; tool != nil {
			known.Tools = append(known.Tools, tool)
		}
	}
	return known
}

// discover remembers what the server says of itself where there are no sessions.
func (r *Recorder) discover(known transcript.Agreement) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.offers = known
}

// discovered is what the server has said of itself to any client.
func (r *Recorder) discovered() transcript.Agreement {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.offers
}
