// Package versioning checks the page basic/versioning.
package versioning

import (
	"slices"
	"strings"

	"github.com/onsi/gomega/types"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/excerpt"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/mcp"
	. "github.com/mcpconform/mcpconform/internal/offer"
	"github.com/mcpconform/mcpconform/internal/protocol"
	. "github.com/mcpconform/mcpconform/internal/requests"
	"github.com/mcpconform/mcpconform/internal/scripted"
	. "github.com/mcpconform/mcpconform/internal/session"
)

// ServerChecks registers the checks of a target server.
func ServerChecks() {
	Describe("Versioning", func() {
		unsupported()
		independence()
		eras()
	})
}

// Revisions that do not exist: before all others, and after.
const (
	ancient = "1900-01-01"
	distant = "2999-12-31"
)

// undated is none either: revisions are dates.
const undated = "v999.0.0"

func unsupported() {
	It("rejects the unknown protocol version 1900-01-01 with -32022", Verifies("versioning.unsupported.refused"), ByBarrier(), func(t *T) {
		server := Connect(t)

		InEachMethod(t, BeJSONRPCError(jsonrpc.UnsupportedRevision), func(request Harmless) any {
			return server.Call(request.Method, request.With(Object{mcp.MetaVersion: ancient}), ToBeRefused("")).May().OrStatus()
		})
	})

	It("rejects the future protocol version 2999-12-31 with -32022", Verifies("versioning.unsupported.refused"), ByBarrier(), func(t *T) {
		server := Connect(t)

		reply := askAt(t, server, distant)

		t.Expect(reply).To(BeJSONRPCError(jsonrpc.UnsupportedRevision))
	})

	It("rejects a protocol version that is not a date with -32022", Verifies("versioning.unsupported.refused"), ByBarrier(), func(t *T) {
		server := Connect(t)

		reply := askAt(t, server, undated)

		t.Expect(reply).To(BeJSONRPCError(jsonrpc.UnsupportedRevision))
	})

	It("rejects released protocol versions that it does not implement with -32022",
		Verifies("versioning.unsupported.refused"), ByBarrier(), func(t *T) {
			unlisted := Unimplemented(t, texts(listedVersions(t, Session(t))))
			if len(unlisted) == 0 {
				t.NotApplicable("the server implements all released revisions")
			}
			server, last := Connect(t), len(unlisted)-1

			for _, revision := range unlisted[:last] {
				t.Expect(askAt(t, server, revision)).To(BeJSONRPCError(jsonrpc.UnsupportedRevision))
			}
			InEachMethod(t, BeJSONRPCError(jsonrpc.UnsupportedRevision), func(request Harmless) any {
				return server.Call(request.Method, request.With(Object{mcp.MetaVersion: unlisted[last]}), ToBeRefused("")).May().OrStatus()
			})
		})

	listingSupported()
}

func listingSupported() {
	It("lists the protocol version under test in data.supported of the error -32022", Verifies("versioning.unsupported.listed"), func(t *T) {
		server := Connect(t)
		refusalOf(t, server)

		InEachMethod(t, beListed(t), func(request Harmless) any {
			return server.Call(request.Method, request.With(Object{mcp.MetaVersion: distant}), ToBeRefused("")).May().OrStatus()
		})
	})

	It("lists only protocol versions that it serves in data.supported of the error -32022", Verifies("versioning.unsupported.listed"), func(t *T) {
		refusal := refusalOf(t, Connect(t))

		judgeSupported(t, mcp.Value(refusal.Data, "supported"))
	})
}

// judgeSupported judges what the error for a revision lists as supported: the server does
// not refuse it. Revisions that begin with initialize are served in another way.
func judgeSupported(t *T, supported any) {
	const most = 5
	discovered := listedVersions(t, Session(t))
	named := mcp.List(supported)
	asked := 0
	for _, one := range named {
		revision, isText := one.(string)
		if !isText || beginsWithInitialize(one) || slices.Contains(discovered, one) || asked == most {
			t.Observe()
			continue
		}
		asked++
		refusal, refused := askAt(t, Connect(t), revision).Error()
		t.Demand(!refused || refusal.Code != jsonrpc.UnsupportedRevision,
			"only revisions that the server supports in data.supported", Show(one)+", which it refuses with -32022")
	}
}

func independence() {
	It("serves a supported protocol version after it rejected an unsupported one",
		Verifies("versioning.requests.independent"), ByBarrier(), func(t *T) {
			server := FreshSession(t)

			refusalOf(t, server)

			t.Expect(server.Call(BarrierMethod(t), nil).Must()).To(BeResult())
		})

	It("rejects an unsupported protocol version after it served a supported one", Verifies("versioning.requests.independent"), func(t *T) {
		refusalOf(t, Connect(t)) // or else nothing shows what it remembers
		server := Connect(t)

		server.Call(BarrierMethod(t), nil).Need().Result()
		reply := askAt(t, server, distant)

		t.Expect(reply).To(BeJSONRPCError())
	})
}

func eras() {
	It("names the protocol version under test in the error if it rejects initialize", Verifies("versioning.eras.refusal-helps"), func(t *T) {
		server := handshakeClient(t)

		reply := server.Call("initialize", oldHello(), ToBeRefused("")).May()

		raw := reply.Raw
		if !reply.Answered() {
			raw = reply.Instead.Body
			t.Judging(Status{Response: reply.Instead})
		} else if _, refused := reply.Error(); !refused {
			t.NotApplicable("the server does not reject initialize")
		}
		t.Demand(strings.Contains(string(raw), t.Revision()), "an error that names "+t.Revision(), excerpt.Short(raw))
	})

	It("negotiates and serves a protocol version that has initialize if it accepts initialize",
		Verifies("versioning.eras.handshake-served"), func(t *T) {
			server := handshakeClient(t)

			reply := server.Call("initialize", oldHello()).May()

			if _, refused := reply.Error(); !reply.Answered() || refused {
				t.NotApplicable("the server does not accept initialize")
			}
			revision := mcp.Text(reply.Object(), "protocolVersion")
			t.Demand(protocol.Has(revision, protocol.Handshake), "a revision that has initialize", Show(revision))
			goOn(server, revision)
			t.Expect(server.Call("ping", nil).Must()).To(BeResult())
		})

	It("negotiates a protocol version with initialize even if initialize requests one without it",
		Verifies("versioning.eras.handshake-served"), func(t *T) {
			plain := handshakeClient(t).Call("initialize", oldHello()).May()
			if _, refused := plain.Error(); !plain.Answered() || refused {
				t.NotApplicable("the server does not accept initialize")
			}

			hello := oldHello()
			hello["protocolVersion"] = t.Revision()
			server := handshakeClient(t)
			reply := server.Call("initialize", hello).May()

			t.Demand(reply.Answered(), "a response to initialize", "none")
			refusal, refused := reply.Error()
			if refused && (refusal.Code == jsonrpc.InvalidParams || refusal.Code == jsonrpc.UnsupportedRevision) {
				t.NotApplicable("the server rejects the version")
			}
			revision := mcp.Text(reply.Object(), "protocolVersion")
			t.DemandOf(
				reply,
				slices.Contains(protocol.Released(), revision) && protocol.Has(revision, protocol.Handshake),
				"a revision that has initialize",
			)
			goOn(server, revision)
			t.Expect(server.Call("ping", nil).Must()).To(BeResult())
		})
}

// goOn ends the handshake.
func goOn(server *Server, revision string) {
	server.SetVersion(revision)
	server.Notify("notifications/initialized", nil).Must()
}

func oldHello() Object {
	return scripted.Hello(protocol.Last(protocol.Handshake), scripted.Everything(protocol.Last(protocol.Handshake)))
}

// handshakeClient opens a connection of a client that knows no other era than that
// of the handshake.
func handshakeClient(t *T) *Server {
	server := Connect(t)
	server.Speak("", nil)
	server.SetVersion("")
	return server
}

// beListed matches an error -32022 that lists the revision under test as supported. It matches
// all other replies, too, which other checks judge.
func beListed(t *T) types.GomegaMatcher {
	return Be("error -32022 with "+Show(t.Revision())+" in data.supported", func(value any) bool {
		reply, _ := value.(Reply)
		refusal, refused := reply.Error()
		if !refused || refusal.Code != jsonrpc.UnsupportedRevision {
			return true
		}
		return slices.Contains(mcp.List(refusal.Data, "supported"), any(t.Revision()))
	})
}

// askAt asks for something harmless at a revision.
func askAt(t *T, server *Server, revision string) Reply {
	params := Object{"_meta": Object{mcp.MetaVersion: revision}}
	return server.Call(BarrierMethod(t), params, ToBeRefused("")).Must()
}

// refusalOf returns the error for a revision that no server supports. A
// server that does not refuse it in the right way ends the check: another judges it.
func refusalOf(t *T, server *Server) jsonrpc.Error {
	params := Object{"_meta": Object{mcp.MetaVersion: distant}}
	reply := server.Call(BarrierMethod(t), params, ToBeRefused("")).May()
	refusal, refused := reply.Error()
	if !refused || refusal.Code != jsonrpc.UnsupportedRevision {
		t.NotApplicable("the server does not reject " + distant + " as a revision that it does not support")
	}
	return refusal
}

// texts are those of a list that are texts.
func texts(list []any) []string {
	var all []string
	for _, one := range list {
		if text, isText := one.(string); isText {
			all = append(all, text)
		}
	}
	return all
}

func beginsWithInitialize(revision any) bool {
	name, isText := revision.(string)
	return isText && protocol.Has(name, protocol.Handshake)
}

// listedVersions are the revisions that the server says it supports.
func listedVersions(t *T, server *Server) []any {
	listed, isList := server.Call("server/discover", nil).Need().Result()["supportedVersions"].([]any)
	if !isList {
		t.Inconclusive("server/discover lists no revisions", "fix the failures of server/discover first")
	}
	return listed
}
