// Package discover checks the page server/discover.
package discover

import (
	"slices"

	. "github.com/mcpconform/mcpconform/internal/check"
	. "github.com/mcpconform/mcpconform/internal/conform"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/mcp"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/scripted"
)

// ServerChecks registers the checks of a target server.
func ServerChecks() {
	Describe("Discovery", func() {
		inForms()
		It("answers server/discover before any other request", Verifies("discover.implemented"),
			func(ctx SpecContext) {
				server := UnusedSession(ctx)
				server.Speak(Revision(), scripted.Nothing())

				reply := server.MustAsk(ctx, "server/discover", nil)

				Expect(reply).To(BeResult())
			})

		It(
			"answers server/discover after other requests and beside an open subscription",
			Verifies("discover.implemented"),
			func(ctx SpecContext) {
				server := FreshSession(ctx)
				for _, request := range HarmlessRequests() {
					server.Try(ctx, request.Method, request.Params)
				}
				server.Hear(ctx)

				reply := server.MustAsk(ctx, "server/discover", nil)

				Expect(reply).To(BeResult())
			},
		)

		It("lists the revision of the request in supportedVersions of server/discover", Verifies("discover.versions"),
			func(ctx SpecContext) {
				server := Session(ctx)

				result := server.Need(ctx, "server/discover", nil)

				listed, _ := result["supportedVersions"].([]any)
				Demand(
					slices.Contains(listed, any(Revision())),
					"supportedVersions with "+Revision(),
					Show(result["supportedVersions"]),
				)
			})

		It("accepts server/discover at each supportedVersions entry from 2026-07-28 on", Verifies("discover.versions"),
			func(ctx SpecContext) {
				server := Session(ctx)
				listed, _ := server.Need(ctx, "server/discover", nil)["supportedVersions"].([]any)

				modern := slices.DeleteFunc(
					listed,
					func(revision any) bool { return slices.Contains(withHandshake(), revision) },
				)
				for _, revision := range modern[:min(len(modern), mostAsked)] {
					judgeAccepted(ctx, server, revision)
				}
			})

		It(
			"includes io.modelcontextprotocol/serverInfo in the _meta of server/discover",
			Verifies("discover.server-info"),
			func(ctx SpecContext) {
				server := Session(ctx)

				for _, params := range []Object{nil, {"_meta": Object{mcp.MetaClientInfo: scripted.Omitted}}} {
					result := server.Need(ctx, "server/discover", params)

					Expect(result).To(HaveMember("_meta"))
					Expect(result["_meta"]).To(HaveMember(mcp.MetaServerInfo))
				}
			},
		)

		It(
			"uses -32601 when it rejects the list method of an undeclared capability",
			Verifies("discover.capabilities.undeclared"),
			func(ctx SpecContext) {
				server := Session(ctx)
				method := undeclared()

				reply := server.Ask(ctx, method, nil)

				if _, refused := reply.Error(); !refused {
					NotApplicable("the server answers " + method + " nevertheless")
				}
				Expect(reply).To(BeJSONRPCError(jsonrpc.MethodNotFound))
			},
		)
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
func judgeAccepted(ctx SpecContext, server *Server, revision any) {
	params := Object{"_meta": Object{mcp.MetaVersion: revision}}
	reply, _ := server.Provoke(ctx, "server/discover", params, "")
	refusal, refused := reply.Error()
	if refused && refusal.Code != jsonrpc.UnsupportedRevision {
		return // for a reason of its own
	}
	DemandOf(reply, !refused, "no rejection of "+Show(revision)+", which it lists")
}

// undeclared returns the method of a list that the server does not declare.
func undeclared() string {
	for _, feature := range []string{"tools", "prompts", "resources"} {
		if !Declares(feature) {
			return feature + "/list"
		}
	}
	NotApplicable("the server declares tools, prompts and resources")
	return ""
}
