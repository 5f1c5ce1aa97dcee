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

// Question is what a server wants from the client before it answers a call.
type Question struct {
	Method string // sampling/createMessage, elicitation/create or roots/list
	Params Object
	// Deliberate says why it is illegal on purpose; "" when it is legal, and then it is
	// asked only of a client that has declared what it takes.
	Deliberate string
}

// Inquire asks one question after the other before the call is answered: in the
// handshake era by requests on the stream of the call, in the stateless era by
// results that ask for input. It reports true when all of them are asked, so that the
// call can be answered, and false when the client has to make the call again.
func (c *Call) Inquire(questions ...Question) bool {
	var legal []Question
	for _, question := range questions {
		if question.Deliberate != "" || c.MayAsk(question) {
			legal = append(legal, question)
		}
	}
	if c.Has(protocol.InputRequests) {
		return c.inquireByResult(legal)
	}
	for _, question := range legal {
		c.Question(question)
	}
	return true
}

// Question asks one question by a request on the stream of the call, and waits for
// its answer. It reports false when there was none in time.
func (c *Call) Question(question Question) (Received, bool) {
	id := c.Session.NextID()
	mark := c.Session.Mark()
	if !c.Say(jsonrpc.NewRequest(id, question.Method, nilIfEmpty(question.Params)), question.Deliberate) {
		return Received{}, false
	}
	return c.Session.Until(mark, AnswerTo(id))
}

// statePrefix is what the requestState of Inquire begins with; the number of the
// question follows.
const statePrefix = "question "

// inquireByResult keeps in the requestState which question was asked last.
func (c *Call) inquireByResult(questions []Question) bool {
	asked := 0
	if state, there := c.Params()["requestState"].(string); there {
		number, isOurs := strings.CutPrefix(state, statePrefix)
		var err error
		if asked, err = strconv.Atoi(number); err != nil || !isOurs || asked < 1 || asked > len(questions) {
			c.refuse(http.StatusOK, jsonrpc.InvalidParams, "this requestState was never given", nil)
			return false
		}
	} else if c.Responses() != nil {
		c.refuse(http.StatusOK, jsonrpc.InvalidParams, "the requestState is missing", nil)
		return false
	}
	if asked == len(questions) {
		return true
	}
	next := questions[asked]
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

// MayAsk tells whether the client has declared what it takes to answer a question.
func (c *Call) MayAsk(question Question) bool {
	switch question.Method {
	case "roots/list":
		return c.Declares("roots")
	case "sampling/createMessage":
		_, lends := question.Params["tools"]
		return c.Declares("sampling") && (!lends || c.Declares("sampling", "tools"))
	case "elicitation/create":
		modes, _ := c.Declared()["elicitation"].(Object)
		mode, named := question.Params["mode"].(string)
		if !named {
			mode = mcp.FormMode
		}
		return mcp.OffersMode(modes, mode)
	}
	return false
}
