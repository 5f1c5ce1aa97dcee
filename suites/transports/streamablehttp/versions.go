package streamablehttp

import (
	"fmt"
	"net/http"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/mcp"
	. "github.com/mcpconform/mcpconform/internal/offer"
	"github.com/mcpconform/mcpconform/internal/protocol"
	. "github.com/mcpconform/mcpconform/internal/requests"
	. "github.com/mcpconform/mcpconform/internal/session"
	"github.com/mcpconform/mcpconform/internal/transport"
)

// assumed is the revision of clients that send no version header.
const assumed = "2025-03-26"

// versions checks the heading Protocol Version Header.
func versions() {
	It("rejects a POST with an unsupported MCP-Protocol-Version with HTTP 400", Verifies("transports.http.version.refused"), ByBarrier(), func(t *T) {
		server := Session(t)

		InEachMethod(t, HaveStatus(400), func(request Harmless) any {
			return server.Post(
				server.Body(request.Method, request.With(nil)),
				"names an unknown protocol version",
				WithHeader("MCP-Protocol-Version", "1900-01-01"),
			)
		})
	})

	It("rejects a POST with an invalid MCP-Protocol-Version with HTTP 400", Verifies("transports.http.version.refused"), ByBarrier(), func(t *T) {
		server := Session(t)

		response := server.Post(anyRequest(t, server), "names an invalid protocol version", WithHeader("MCP-Protocol-Version", "the latest one"))

		t.Expect(response).To(HaveStatus(400))
	})

	It("rejects a GET with an unsupported MCP-Protocol-Version with HTTP 400", Verifies("transports.http.version.refused"), func(t *T) {
		listener, server := FreshSession(t), FreshSession(t)
		mustListen(t, listener)

		response := server.Get("names an unknown protocol version", WithHeader("MCP-Protocol-Version", "1900-01-01"))

		t.Expect(response).To(HaveStatus(400))
	})

	It("rejects a DELETE with an unsupported MCP-Protocol-Version with HTTP 400", Verifies("transports.http.version.refused"), func(t *T) {
		ended, server := FreshSession(t), UnusedSession(t)
		mustBeGone(t, ended)

		response := server.Delete("names an unknown protocol version", WithHeader("MCP-Protocol-Version", "1900-01-01"))

		t.Expect(response).To(HaveStatus(400))
	})

	negotiatedVersions()

	unsupportedVersions()

	differingVersions()

	unknownMethods()
}

func negotiatedVersions() {
	It("rejects a notification with an unsupported MCP-Protocol-Version with HTTP 400", Verifies("transports.http.version.refused"), func(t *T) {
		server := Session(t)
		control := server.Post(harmless(t), "")
		if control.Status != http.StatusAccepted || len(control.Body) > 0 {
			t.NotApplicable("the server does not accept the notification in the negotiated version either")
		}

		response := server.Post(harmless(t), "names an unknown protocol version", WithHeader("MCP-Protocol-Version", "1900-01-01"))

		t.Expect(response).To(HaveStatus(400))
	})

	It("accepts requests without MCP-Protocol-Version from a client that negotiated "+assumed,
		Verifies("transports.http.version.assumed"), ByBarrier(), func(t *T) {
			server := Connect(t)
			hello := server.Call("initialize", Hello(t, assumed)).Need().Result()
			if hello["protocolVersion"] != assumed {
				t.NotApplicable(fmt.Sprintf("the server does not speak %s: it answers with %s", assumed, Show(hello["protocolVersion"])))
			}

			server.Notify("notifications/initialized", nil).Must()
			reply := server.Call(BarrierMethod(t), nil).Must()

			t.Expect(reply).To(BeResult())
		})
}

func unsupportedVersions() {
	It("returns HTTP 400 and -32022 for an unsupported protocol version", Verifies("transports.http.version.unsupported"), ByBarrier(), func(t *T) {
		server := Session(t)

		InEachMethod(t, beTheError(http.StatusBadRequest, jsonrpc.UnsupportedRevision), func(request Harmless) any {
			body := server.Body(request.Method, request.With(Object{mcp.MetaVersion: "1900-01-01"}))
			return post(t, server, body, "names an unknown protocol version")
		})
	})

	It("returns HTTP 400 and -32022 for each kind of unsupported protocol version",
		Verifies("transports.http.version.unsupported"), ByBarrier(), func(t *T) {
			server := Session(t)

			// Those of the future, such as are no date, and such as were released before.
			for _, revision := range append(Unimplemented(t, supported(server)), "2999-12-31", "v999.0.0") {
				body := server.Body(BarrierMethod(t), Object{"_meta": Object{mcp.MetaVersion: revision}})
				given := post(t, server, body, "has the version "+revision)

				t.Expect(given).To(beTheError(http.StatusBadRequest, jsonrpc.UnsupportedRevision))
			}
		})
}

func differingVersions() {
	It("rejects a request whose MCP-Protocol-Version differs from the version in _meta",
		Verifies("transports.http.version.mismatch"), ByBarrier(), func(t *T) {
			server := Session(t)

			InEachMethod(t, beTurnedDown(), func(request Harmless) any {
				return postRequest(t, server, request, otherVersion, WithHeader(transport.VersionHeader, protocol.Last(protocol.Handshake)))
			})
		})

	It("returns HTTP 400 and -32020 if MCP-Protocol-Version differs from the version in _meta",
		Verifies("transports.http.headers.error"), ByBarrier(), func(t *T) {
			server := Session(t)

			given := post(t, server, anyRequest(t, server), otherVersion, WithHeader(transport.VersionHeader, protocol.Last(protocol.Handshake)))

			if given.refused() && given.code() == jsonrpc.UnsupportedRevision {
				t.NotApplicable("the server checks the version in the header first, which it does not implement")
			}
			judgeRefusal(t, given, "transports.http.version.mismatch")
		})

	It("rejects a request without MCP-Protocol-Version", Verifies("transports.http.version.missing"), ByBarrier(), func(t *T) {
		server := Session(t)
		needVersionHeader(t, server)

		InEachMethod(t, beTurnedDown(), func(request Harmless) any {
			return postRequest(t, server, request, "lacks the version header", WithoutHeader(transport.VersionHeader))
		})
	})

	It("returns HTTP 400 and -32020 if MCP-Protocol-Version is missing", Verifies("transports.http.headers.error"), ByBarrier(), func(t *T) {
		server := Session(t)
		needVersionHeader(t, server)

		given := post(t, server, anyRequest(t, server), "lacks the version header", WithoutHeader(transport.VersionHeader))

		judgeRefusal(t, given, "transports.http.version.missing")
	})
}

func unknownMethods() {
	It("returns HTTP 404 and -32601 for an unknown method", Verifies("transports.http.method.unknown"), ByBarrier(), func(t *T) {
		server := Session(t)

		given := post(t, server, server.Body(unknownMethod, nil), "has an undefined method")

		t.Expect(given).To(beTheError(http.StatusNotFound, jsonrpc.MethodNotFound))
	})

	It("returns HTTP 404 and -32601 together, or neither, for methods of earlier revisions",
		Verifies("transports.http.method.unknown"), ByBarrier(), func(t *T) {
			server := Session(t)

			for _, former := range formerRequests {
				given := post(t, server, server.Body(former.method, former.params), "has a method of earlier revisions")

				// A server of both eras may have the method, and say otherwise why it is not for this one.
				t.DemandOf(
					given,
					(given.Status == http.StatusNotFound) == (given.code() == jsonrpc.MethodNotFound),
					"HTTP 404 and the error -32601 to "+former.method+", or another refusal",
				)
			}
		})
}

// formerRequests are requests that 2026-07-28 does not have any more.
var formerRequests = []struct {
	method string
	params Object
}{
	{"ping", nil},
	{"logging/setLevel", Object{"level": "info"}},
	{"resources/subscribe", Object{"uri": "mcpconform://nothing"}},
	{"resources/unsubscribe", Object{"uri": "mcpconform://nothing"}},
}

const otherVersion = "names different versions in the header and the body"

// needVersionHeader skips a check of what a server does without MCP-Protocol-Version when
// the server speaks a revision whose clients send none.
func needVersionHeader(t *T, server *Server) {
	for _, revision := range append(supported(server), handshakeAt(t, assumed)) {
		if revision != "" && !protocol.Has(revision, protocol.VersionHeader) {
			t.NotApplicable("the server speaks " + revision + ", at which clients do not send this header")
		}
	}
}
