// Package discover checks the page server/discover.
package discover

import (
	"slices"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/mcp"
	. "github.com/mcpconform/mcpconform/internal/offer"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/scripted"
	. "github.com/mcpconform/mcpconform/internal/session"
)

// ServerChecks registers the checks of a target server.
func ServerChecks() {
	Describe("Discovery", func() {
		inForms()
		It("answers server/discover before any other request", Verifies("discover.implemented"), func(t *T) {
			server := UnusedSession(t)
			server.Speak(t.Revision(), scripted.Nothing())

			reply := server.Call("server/discover", nil).Must(BeAnswered)

			t.Expect(reply).To(BeResult())
		})

		It("answers server/discover after other requests and beside an open subscription", Verifies("discover.implemented"), func(t *T) {
			server := FreshSession(t)
			for _, request := range HarmlessRequests(t) {
				server.Call(request.Method, request.Params).May()
			}
			server.ListenForChanges()

			reply := server.Call("server/discover", nil).Must(BeAnswered)

			t.Expect(reply).To(BeResult())
		})

		discoveredRevisions()
	})
}

func discoveredRevisions() {
	It("lists the revision of the request in supportedVersions of server/discover", Verifies("discover.versions"), func(t *T) {
		server := Session(t)

		result := server.Call("server/discover", nil).Need().Result()

		t.Demand(
			slices.Contains(mcp.List(result, "supportedVersions"), any(t.Revision())),
			"supportedVersions with "+t.Revision(),
			Show(result["supportedVersions"]),
		)
	})

	It("accepts server/discover at each supportedVersions entry from 2026-07-28 on", Verifies("discover.versions"), func(t *T) {
		server := Session(t)
		listed := mcp.List(server.Call("server/discover", nil).Need().Result(), "supportedVersions")

		modern := slices.DeleteFunc(listed, func(revision any) bool { return slices.Contains(withHandshake(), revision) })
		for _, revision := range modern[:min(len(modern), mostAsked)] {
			judgeAccepted(t, server, revision)
		}
	})

	It("includes io.modelcontextprotocol/serverInfo in the _meta of server/discover", Verifies("discover.server-info"), func(t *T) {
		server := Session(t)

		for _, params := range []Object{nil, {"_meta": Object{mcp.MetaClientInfo: scripted.Omitted}}} {
			result := server.Call("server/discover", params).Need().Result()

			t.Expect(result).To(HaveMember("_meta"))
			t.Expect(result["_meta"]).To(HaveMember(mcp.MetaServerInfo))
		}
	})

	It("uses -32601 when it rejects the list method of an undeclared capability", Verifies("discover.capabilities.undeclared"), func(t *T) {
		server := Session(t)
		method := undeclared(t)

		reply := server.Call(method, nil).Must()

		if _, refused := reply.Error(); !refused {
			t.NotApplicable("the server answers " + method + " nevertheless")
		}
		t.Expect(reply).To(BeJSONRPCError(jsonrpc.MethodNotFound))
	})
}

// mostAsked bounds how many of the revisions that a server lists are asked for: more
// than there are.
const mostAsked = 8

// withHandshake are the revisions that are asked for by initialize.
func withHandshake() []any {
	var all []any
	for _, revision := range protocol.Released() {
		if protocol.Has(revision, protocol.Handshake) {
			all = append(all, revision)
		}
	}
	return all
}

// judgeAccepted judges that a revision is not refused; what the answer has to look
// like, that revision says.
func judgeAccepted(t *T, server *Server, revision any) {
	params := Object{"_meta": Object{mcp.MetaVersion: revision}}
	reply := server.Call("server/discover", params, ToBeRefused("")).Must()
	refusal, refused := reply.Error()
	if refused && refusal.Code != jsonrpc.UnsupportedRevision {
		return // for a reason of its own
	}
	t.DemandOf(reply, !refused, "no rejection of "+Show(revision)+", which it lists")
}

// undeclared returns the method of a list that the server does not declare.
func undeclared(t *T) string {
	for _, feature := range []string{"tools", "prompts", "resources"} {
		if !Declares(t, feature) {
			return feature + "/list"
		}
	}
	t.NotApplicable("the server declares tools, prompts and resources")
	return ""
}
