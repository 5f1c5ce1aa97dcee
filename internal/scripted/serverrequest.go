package scripted

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/mcp"
	"github.com/mcpconform/mcpconform/internal/protocol"
)

// ServerRequest is what a server wants from the client before it answers a call.
type ServerRequest struct {
	Method string // sampling/createMessage, elicitation/create or roots/list
	Params Object
	// Deliberate says why it is illegal on purpose; "" when it is legal, and then it is
	// asked only of a client that has declared what it takes.
	Deliberate string
}

// SendRequests sends one request after the other before the call is answered: in the
// handshake era by requests on the stream of the call, in the stateless era by
// results that ask for input. It reports true when all of them are asked, so that the
// call can be answered, and false when the client has to make the call again.
func (c *Call) SendRequests(requests ...ServerRequest) bool {
	var legal []ServerRequest
	for _, request := range requests {
		if request.Deliberate != "" || c.MayAsk(request) {
			legal = append(legal, request)
		}
	}
	if c.Has(protocol.InputRequests) {
		return c.requestByResult(legal)
	}
	for _, request := range legal {
		c.SendRequest(request)
	}
	return true
}

// SendRequest sends one on the stream of the call, and waits for
// its answer. It reports false when there was none in time.
func (c *Call) SendRequest(request ServerRequest) (Received, bool) {
	id := c.Session.NextID()
	mark := c.Session.Mark()
	if !c.Say(jsonrpc.NewRequest(id, request.Method, nilIfEmpty(request.Params)), request.Deliberate) {
		return Received{}, false
	}
	return c.Session.AwaitAnswer(request, id, mark)
}

// statePrefix is what the requestState of SendRequests begins with; the number of the
// request follows.
const statePrefix = "question "

// requestByResult keeps in the requestState which request was asked last.
func (c *Call) requestByResult(requests []ServerRequest) bool {
	asked := 0
	if state, there := c.Params()["requestState"].(string); there {
		number, isOurs := strings.CutPrefix(state, statePrefix)
		var err error
		if asked, err = strconv.Atoi(number); err != nil || !isOurs || asked < 1 || asked > len(requests) {
			c.RefuseWith(http.StatusOK, jsonrpc.InvalidParams, "this requestState was never issued", nil)
			return false
		}
	} else if c.Responses() != nil {
		c.RefuseWith(http.StatusOK, jsonrpc.InvalidParams, "the requestState is missing", nil)
		return false
	}
	if asked == len(requests) {
		return true
	}
	next := requests[asked]
	request := Object{"method": next.Method}
	if next.Params != nil {
		request["params"] = next.Params
	}
	key := fmt.Sprintf("input-%d", asked+1)
	c.Finally(jsonrpc.NewResult(c.Message.ID, Object{
		"resultType": "input_required", "inputRequests": Object{key: request},
		"requestState": statePrefix + strconv.Itoa(asked+1),
	}), next.Deliberate)
	return false
}

// MayAsk tells whether the client has declared what it takes to answer a request.
func (c *Call) MayAsk(request ServerRequest) bool {
	switch request.Method {
	case "roots/list":
		return c.Declares("roots")
	case "sampling/createMessage":
		_, lends := request.Params["tools"]
		return c.Declares("sampling") && (!lends || c.Declares("sampling", "tools"))
	case "elicitation/create":
		modes, _ := c.Declared()["elicitation"].(Object)
		mode, named := request.Params["mode"].(string)
		if !named {
			mode = mcp.FormMode
		}
		return mcp.OffersMode(modes, mode)
	}
	return false
}
