package base

import (
	"net/http"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/mcp"
	. "github.com/mcpconform/mcpconform/internal/offer"
	. "github.com/mcpconform/mcpconform/internal/session"
)

// clientCapabilities checks what becomes of requests that need a capability which
// their client does not declare.
func clientCapabilities() {
	It("rejects a call that needs an undeclared capability with -32021, naming the capability", Verifies("base.capabilities.required"), func(t *T) {
		asking, capability := askingTool(t, Session(t))
		server := Connect(t) // where no earlier request can stand in

		reply := server.Call("tools/call", callBy(asking, Object{}), ToBeRefused("")).Must()

		exceptWithout(t, reply, capability)
		t.Expect(reply).To(BeJSONRPCError(jsonrpc.MissingCapability))
		refusal, _ := reply.Error()
		t.Expect(mcp.Value(refusal.Data, "requiredCapabilities")).To(HaveMember(capability))
	})

	It("rejects a request that needs an undeclared capability with HTTP 400", Verifies("base.capabilities.required-status"), func(t *T) {
		asking, _ := askingTool(t, Session(t))
		server := Connect(t) // where no earlier request can stand in

		reply := server.Call("tools/call", callBy(asking, Object{}), ToBeRefused("")).Must()

		if !lacks(reply) {
			t.NotApplicable("the request is not refused with -32021: reported by another check")
		}
		t.Demand(reply.Status == http.StatusBadRequest, "HTTP 400", "HTTP "+Show(reply.Status))
	})
}

// askingTool finds a tool that asks this client for input, and the capability that
// the client must declare for that.
func askingTool(t *T, server *Server) (asking Provocation, capability string) {
	found := ""
	capabilities := []string{"sampling", "elicitation", "roots"}
	for _, capability := range capabilities {
		asking, there := Provocable(t, capability)
		if !there {
			continue
		}
		reply := server.Call("tools/call", asking.Call(), Once).Need()
		if reply.Object()["resultType"] == inputRequired {
			return asking, capability
		}
		found = "the tool " + asking.Tool + " did not ask the client for input: " + reply.Describe()
	}
	if found == "" {
		Unprovoked(t, capabilities...)
	}
	t.Inconclusive(found, "name one that does in mcpconform.yaml: provocations: {elicitation: {tool: NAME, arguments: {…}}}")
	return asking, ""
}

// callBy is the call of a tool by a client that declares the capabilities.
func callBy(tool Provocation, capabilities Object) Object {
	call := tool.Call()
	call["_meta"] = Object{mcp.MetaCapabilities: capabilities}
	return call
}

// exceptWithout ends a check when a tool does without what it asks others for, or
// asks all the same.
func exceptWithout(t *T, reply Reply, capability string) {
	switch result := reply.Object(); {
	case result["resultType"] == inputRequired:
		t.NotApplicable("the tool asks for " + capability + " nevertheless: reported by another check")
	case result != nil && result["isError"] != true:
		t.NotApplicable("the tool does not need " + capability)
	}
}
