package proxy

import (
	"bytes"
	"slices"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/mcp"
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
		if !slices.ContainsFunc(telling, func(method []byte) bool { return bytes.Contains(event.Raw, method) }) {
			return known
		}
		message := jsonrpc.Parse(event.Raw)
		switch {
		case message.Kind != jsonrpc.Request:
		case message.Method == "tools/call":
			return a.called(message, recorder)
		case len(a.asked) < maxAsked:
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
	switch request.Method {
	case "initialize":
		known.Revision = mcp.Text(result, "protocolVersion")
		known.Capabilities.Client = mcp.Object(request.Params(), "capabilities")
		known.Capabilities.Server = mcp.Object(result, "capabilities")
	case "server/discover":
		known.Capabilities.Server = mcp.Object(result, "capabilities")
		recorder.discover(known)
	case "tools/list":
		a.list(result, recorder)
	}
	return known
}

// list remembers the tools of a list, for connections that call them and do not list them.
func (a *agreements) list(result any, recorder *Recorder) {
	recorder.mu.Lock()
	defer recorder.mu.Unlock()
	for _, tool := range mcp.Objects(result, "tools") {
		name, named := tool["name"].(string)
		if named && (len(recorder.tools) < maxTools || recorder.tools[name] != nil) {
			a.listed[name], recorder.tools[name] = true, tool
		}
	}
}

// called tells of a tool that was listed elsewhere.
func (a *agreements) called(call jsonrpc.Message, recorder *Recorder) (known transcript.Agreement) {
	name := mcp.Text(call.Params(), "name")
	recorder.mu.Lock()
	defer recorder.mu.Unlock()
	if a.listed[name] || recorder.tools[name] == nil {
		return known
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
