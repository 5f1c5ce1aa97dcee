package scripted

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"reflect"
	"sync/atomic"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/mcp"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/transport"
)

// Omitted is the value of a member of _meta that a client of the stateless era
// would write, and is not to. As the whole _meta it leaves all of it out.
var Omitted any = omitted{}

type omitted struct{}

// Speak makes the client one of the stateless era, which says with each request
// that it writes at which revision it is and what the client offers.
func (c *Client) Speak(revision string, capabilities Capabilities) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.revision, c.capabilities = revision, capabilities
}

// Learn tells the client the tools of the server: their schemas say which
// arguments of a call are mirrored in headers.
func (c *Client) Learn(tools []map[string]any) {
	mirrored := map[string][]mcp.Mirror{}
	for _, tool := range tools {
		name, _ := tool["name"].(string)
		if found := mcp.Mirrors(tool["inputSchema"]); len(found) > 0 {
			mirrored[name] = found
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mirrored = mirrored
}

// has tells whether the revision that the client speaks has a feature: one with a
// handshake, until Speak names another.
func (c *Client) has(feature protocol.Feature) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return protocol.Has(cmp.Or(c.revision, protocol.Last(protocol.Handshake)), feature)
}

// WithMeta returns the params of a request as the client writes them: in the
// stateless era with what each request says of itself. What the caller gives
// itself stands. Params that are no object stay as they are.
func (c *Client) WithMeta(params any) any {
	c.mu.Lock()
	revision, capabilities := c.revision, c.capabilities
	c.mu.Unlock()
	given, isObject := params.(map[string]any)
	if revision == "" || params != nil && !isObject {
		return params
	}
	own, hasOwn := given["_meta"]
	meta, isMeta := own.(map[string]any)
	if hasOwn && !isMeta && own != Omitted {
		return params
	}
	dressed := map[string]any{}
	maps.Copy(dressed, given)
	delete(dressed, "_meta")
	if own != Omitted {
		all := map[string]any{
			mcp.MetaVersion:      revision,
			mcp.MetaClientInfo:   ClientInfo(revision),
			mcp.MetaCapabilities: capabilities,
		}
		maps.Copy(all, meta)
		maps.DeleteFunc(all, func(_ string, value any) bool { return value == Omitted })
		dressed["_meta"] = all
	}
	return dressed
}

// lastShared numbers the requests of all clients of the stateless era over HTTP:
// where there is no session, this process is one client.
var lastShared atomic.Int64

// Mirror sets the headers that repeat what the body of a POST says, as a client of
// the stateless era must. A client of the other era sets none.
func (h *HTTP) Mirror(header http.Header, body []byte) {
	if !h.has(protocol.MirroredHeaders) {
		return
	}
	message := h.read(body)
	maps.Copy(header, transport.Mirrored(message))
	if message.Method != "tools/call" {
		return
	}
	params, _ := message.Params().(map[string]any)
	tool, _ := params["name"].(string)
	h.Client.mu.Lock()
	mirrored := h.mirrored[tool]
	h.Client.mu.Unlock()
	for _, one := range mirrored {
		if text, there := one.ValueIn(params["arguments"]); there {
			header.Set(mcp.ParameterHeader+one.Header, transport.HeaderValue(text))
		}
	}
}

// maxRounds bounds how often a request is made again because the server wants to
// know more.
const maxRounds = 8

// maxRepeats bounds how often it is made again with the same input: a server that is not
// content with that now will not be later.
const maxRepeats = 2

// Settle waits for the answer to a request as Wait does. As long as it asks for
// input, the client gives it, as its answers say, and makes the request again
// (2026-07-28, basic/patterns/mrtr). An input that the client has no answer to,
// or an end without one, leaves the last result as it is.
func (p *Pending) Settle(ctx context.Context) (Received, error) {
	return p.SettleWithin(ctx, maxRounds)
}

// SettleWithin does so with so many attempts at most, the first included.
func (p *Pending) SettleWithin(ctx context.Context, rounds int) (Received, error) {
	var before map[string]any
	repeats := 0
	for round := 1; ; round++ {
		received, err := p.Wait(ctx)
		if err != nil || !p.client.has(protocol.InputRequests) || p.Raw || round == rounds {
			return received, err
		}
		more, asked := p.client.Fulfil(received)
		if !asked {
			return received, nil
		}
		if repeats++; more["inputResponses"] == nil || !reflect.DeepEqual(more, before) {
			repeats = 0
		}
		if repeats == maxRepeats {
			return received, nil
		}
		before = more
		given, _ := p.Params.(map[string]any)
		params := maps.Clone(given)
		if params == nil {
			params = map[string]any{}
		}
		delete(params, "inputResponses")
		delete(params, "requestState")
		maps.Copy(params, more)
		again := p.client.Start(ctx, p.Method, params)
		again.Params = p.Params // what one round adds is not for the next
		p = again
	}
}

// Fulfil returns what the params of the next attempt have beside those of the
// first when an answer asks for input. Nothing is to be done when it does not, or
// when the client has no answer to something.
func (c *Client) Fulfil(answer Received) (more map[string]any, asked bool) {
	member, _ := answer.Result()
	result, _ := member.(map[string]any)
	if result["resultType"] != "input_required" {
		return nil, false
	}
	more = map[string]any{}
	if state, there := result["requestState"]; there {
		more["requestState"] = state
	}
	requests, _ := result["inputRequests"].(map[string]any)
	responses := c.Responses(requests)
	if len(responses) < len(requests) {
		return nil, false
	}
	if len(requests) > 0 {
		more["inputResponses"] = responses
	}
	return more, len(more) > 0
}

// Responses are those of the client to input requests, by key, as far as it has an
// answer to them.
func (c *Client) Responses(requests map[string]any) map[string]any {
	responses := map[string]any{}
	for key, value := range requests {
		request, _ := value.(map[string]any)
		method, _ := request["method"].(string)
		if response, known := c.respond(method, request["params"]); known {
			responses[key] = response
		}
	}
	return responses
}

// respond makes the client's answer to an input request, as it would answer a
// request of the server.
func (c *Client) respond(method string, params any) (any, bool) {
	c.mu.Lock()
	answer, known := c.answers[method]
	c.mu.Unlock()
	if !known {
		return nil, false
	}
	raw := answer(Received{Message: jsonrpc.Parse(jsonrpc.NewRequest(jsonrpc.IntID(0), method, params))})
	if raw == nil {
		return nil, false
	}
	return jsonrpc.Parse(raw).Result()
}
