package streamablehttp

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/agext/levenshtein"
	"github.com/onsi/gomega/types"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	. "github.com/mcpconform/mcpconform/internal/offer"
	. "github.com/mcpconform/mcpconform/internal/requests"
	. "github.com/mcpconform/mcpconform/internal/session"
	"github.com/mcpconform/mcpconform/internal/transport"
)

const (
	inEnded      = "names an ended session"
	lacksSession = "lacks the session id"
)

// comparedSessions is how many sessions are opened to compare their ids: a
// counter shows between any two.
const comparedSessions = 4

// sessions checks the heading Session Management.
func sessions() {
	It("assigns a different Mcp-Session-Id to each session", Verifies("transports.http.session.unique"), func(t *T) {
		ids := sessionIDs(t)

		slices.Sort(ids)
		t.Demand(len(slices.Compact(slices.Clone(ids))) == len(ids), "different session ids", fmt.Sprintf("%q", ids))
	})

	It("assigns Mcp-Session-Ids that cannot be guessed from each other", Verifies("transports.http.session.secure"), func(t *T) {
		ids := sessionIDs(t)

		one, other, found := guessable(ids)
		t.Demand(!found, "session ids that have little in common", fmt.Sprintf("%q and %q", one, other))
	})

	It("rejects a request without Mcp-Session-Id with HTTP 400, if it requires one",
		Verifies("transports.http.session.missing"), ByBarrier(), func(t *T) {
			server := FreshSession(t)
			mustHaveSession(t, server)

			first := server.Post(anyRequest(t, server), lacksSession, WithoutHeader("Mcp-Session-Id"))
			if first.Status < 300 {
				t.NotApplicable("the server does not require its session id")
			}
			InEachMethod(t, beUnserved(), func(request Harmless) any {
				return postRequest(t, server, request, lacksSession, WithoutHeader("Mcp-Session-Id"))
			})
		})

	It("rejects a DELETE without Mcp-Session-Id with HTTP 400, if it requires one",
		Verifies("transports.http.session.missing"), ByBarrier(), func(t *T) {
			ended, server := FreshSession(t), UnusedSession(t)
			mustBeGone(t, ended)

			judgeSessionMissed(t, server, http.MethodDelete)
		})

	It("rejects a GET without Mcp-Session-Id with HTTP 400, if it requires one",
		Verifies("transports.http.session.missing"), ByBarrier(), func(t *T) {
			server := FreshSession(t)
			mustListen(t, server)

			judgeSessionMissed(t, server, http.MethodGet)
		})

	endedSessions()
}

func endedSessions() {
	It("rejects a request with the Mcp-Session-Id of an ended session with HTTP 404",
		Verifies("transports.http.session.gone"), ByBarrier(), func(t *T) {
			server := FreshSession(t)
			mustEnd(t, server)

			InEachMethod(t, HaveStatus(404), func(request Harmless) any {
				return server.Post(server.Body(request.Method, request.With(nil)), inEnded)
			})
		})

	It("rejects a notification with the Mcp-Session-Id of an ended session with HTTP 404",
		Verifies("transports.http.session.gone"), ByBarrier(), func(t *T) {
			server := FreshSession(t)
			mustEnd(t, server)

			response := server.Post(jsonrpc.NewNotification("notifications/roots/list_changed", nil), inEnded)

			t.Expect(response).To(HaveStatus(404))
		})

	It("rejects a DELETE with the Mcp-Session-Id of an ended session with HTTP 404", Verifies("transports.http.session.gone"), func(t *T) {
		server := FreshSession(t)
		mustEnd(t, server)

		response := server.Delete(inEnded)

		t.Expect(response).To(HaveStatus(404))
	})

	It("rejects a request with the Mcp-Session-Id of a session that was ended during a call with HTTP 404",
		Verifies("transports.http.session.gone"), NeedsProvocation("slow"), ByBarrier(), func(t *T) {
			server := FreshSession(t)
			mustHaveSession(t, server)
			server.Call("tools/call", Provoking(t, "slow").Call())
			server.Barrier() // the call is under way
			mustEnd(t, server)

			response := server.Post(anyRequest(t, server), inEnded)

			t.Expect(response).To(HaveStatus(404))
		})

	It("rejects a GET with the Mcp-Session-Id of an ended session with HTTP 404", Verifies("transports.http.session.gone"), func(t *T) {
		server := FreshSession(t)
		mustListen(t, server).Cut()
		mustEnd(t, server)

		response := server.Get(inEnded)

		t.Expect(response).To(HaveStatus(404))
	})
}

// judgeSessionMissed sends a request without a body and without the session id, which a
// server that misses it with POST misses as well.
func judgeSessionMissed(t *T, server *Server, method string) {
	mustHaveSession(t, server)
	without := WithoutHeader("Mcp-Session-Id")
	if server.Post(anyRequest(t, server), lacksSession, without).Status != http.StatusBadRequest {
		t.NotApplicable("the server does not require its session id, see the result for POST")
	}

	response := server.Exchange(transport.Request{
		Method: method, Header: Edited(server.HTTP.HeaderOf(method, nil), without), Deliberate: lacksSession,
	})

	t.Expect(response).To(HaveStatus(400))
}

// mustBeGone ends a session of which the server then knows nothing more.
func mustBeGone(t *T, server *Server) {
	mustEnd(t, server)
	if server.Post(anyRequest(t, server), inEnded).Status != http.StatusNotFound {
		t.NotApplicable("the server does not end a session with DELETE, see the results of transports.http.session.gone")
	}
}

// beUnserved matches HTTP 400, or an error in a body: to a server that knows no session the
// client may be one that has not said notifications/initialized yet.
func beUnserved() types.GomegaMatcher {
	return Be("HTTP 400 (Bad Request)", func(actual any) bool {
		given, isAnswer := actual.(answer)
		if !isAnswer {
			return false
		}
		_, refused := given.refusal()
		return given.Status == http.StatusBadRequest || given.Status < 300 && refused
	})
}

func mustHaveSession(t *T, server *Server) {
	if server.HTTP.Session() == "" {
		t.NotApplicable("the server assigns no session id")
	}
}

// mustEnd ends a session. A server that does not let clients do so makes the
// check inapplicable: it may, and need not.
func mustEnd(t *T, server *Server) {
	mustHaveSession(t, server)
	response := server.Delete("")
	if response.Status < 200 || response.Status > 299 {
		t.NotApplicable("the server does not allow clients to end sessions: DELETE was answered with " + response.Describe())
	}
}

// sessionIDs opens some sessions of clients that say the same of themselves, and
// returns their ids.
func sessionIDs(t *T) []string {
	var ids []string
	for range comparedSessions {
		server := Connect(t)
		// The id is there with the answer. What is said on it may meet the end of an earlier
		// session, where a server gives the same id twice.
		server.Call("initialize", helloBy(t, "mcpconform-compared")).Need().Result()
		mustHaveSession(t, server)
		ids = append(ids, server.HTTP.Session())
	}
	return ids
}

// leastDistance is the least number of characters in which two secure ids
// differ. Random ones of 16 hexadecimal digits, shorter than any that is
// recommended, differ in fewer about once in a million times; those of a
// counter or a clock in fewer nearly always.
const leastDistance = 6

// guessable finds two ids of which one can be guessed from the other.
func guessable(ids []string) (one, other string, found bool) {
	for i, one := range ids {
		for _, other := range ids[i+1:] {
			if levenshtein.Distance(one, other, nil) < leastDistance {
				return one, other, true
			}
		}
	}
	return "", "", false
}
