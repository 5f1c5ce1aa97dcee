package session

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/mcp"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/scope/scopetest"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/internal/transport"
)

// stateless serves a small server of the stateless era over HTTP: it has one tool,
// which wants a name, and tells subscribers at once that a resource has changed.
func stateless(w http.ResponseWriter, request *http.Request) {
	body, _ := io.ReadAll(request.Body) // a body that is cut off is no message
	message := jsonrpc.Parse(body)
	params, _ := message.Params().(Object)
	meta, _ := params["_meta"].(Object)
	w.Header().Set("Content-Type", "application/json")
	switch {
	case meta[mcp.MetaVersion] != "2026-07-28" || request.Header.Get("Mcp-Method") != message.Method:
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write(jsonrpc.NewError(message.ID, jsonrpc.InvalidParams, "no"))
	case message.Method == "server/discover":
		_, _ = w.Write(jsonrpc.NewResult(message.ID, Object{"resultType": "complete", "supportedVersions": []string{"2026-07-28"}, "capabilities": Object{"prompts": Object{}}}))
	case message.Method == "tools/call" && params["inputResponses"] == nil:
		_, _ = w.Write(jsonrpc.NewResult(message.ID, Object{"resultType": "input_required", "inputRequests": Object{
			"a/b": Object{"method": "elicitation/create", "params": Object{"message": "Who?"}},
		}}))
	case message.Method == "tools/call":
		_, _ = w.Write(jsonrpc.NewResult(message.ID, Object{"resultType": "complete", "content": []any{}}))
	case message.Method == "subscriptions/listen" && params["notifications"].(Object)["promptsListChanged"] != true:
		w.Header().Set("Content-Type", "text/event-stream")
		related := Object{mcp.MetaSubscription: message.ID}
		_, _ = fmt.Fprintf(w, "data: %s\n\n", jsonrpc.NewNotification("notifications/subscriptions/acknowledged", Object{"_meta": related, "notifications": params["notifications"]}))
		_, _ = fmt.Fprintf(w, "data: %s\n\n", jsonrpc.NewNotification("notifications/resources/updated", Object{"_meta": Object{mcp.MetaSubscription: "another"}, "uri": "a:c"}))
		_, _ = fmt.Fprintf(w, "data: %s\n\n", jsonrpc.NewNotification("notifications/resources/updated", Object{"_meta": related, "uri": "a:b"}))
		_ = http.NewResponseController(w).Flush()
		<-request.Context().Done()
	default:
		_, _ = w.Write(jsonrpc.NewError(message.ID, jsonrpc.MethodNotFound, "no"))
	}
}

func TestChecksOfTheStatelessEra(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(stateless))
	defer server.Close()
	environment := environment(t, protocol.HTTP)
	environment.Revision = "2026-07-28"
	environment.Target = scripted.Target{Transport: protocol.HTTP, URL: server.URL, Reply: 20 * time.Second}
	outcomes := perform(environment, func() {
		It("needs no handshake", Verifies("ping.answered"), func(t *T) {
			t.Demand(t.Has(protocol.Statelessness), "the era", "the other")
			server := Session(t)
			server.Barrier()
			server.StaysUsable()
			server.ListenForChanges() // which is refused
		})
		It("gives what the server asks for", Verifies("ping.answered"), func(t *T) {
			server := Session(t)
			mark := server.Mark()
			result := server.Call("tools/call", Object{"name": "greet"}).Must().Result()
			t.Expect(result).To(HaveMember("resultType", "complete"))
			asked := server.ServerRequests(mark, "elicitation/create")
			t.Demand(len(asked) == 1 && asked[0].Key == "a/b" && asked[0].Parameters["message"] == "Who?", "one question", fmt.Sprint(asked))
			t.Expect(server.Call("tools/call", Object{"name": "greet"}, Once).Must()).To(HaveMember("resultType", "input_required"))
		})
		It("says all of it in a body", Verifies("ping.answered"), func(t *T) {
			server := DeclaringSession(t, scripted.Nothing())
			good := server.Post(server.Body("server/discover", nil), "")
			bad := server.Post(server.Body("server/discover", nil), "another method in the header", WithHeader(transport.MethodHeader, "tools/list"))
			t.Demand(good.Status == http.StatusOK && bad.Status == http.StatusBadRequest, "200 and 400", fmt.Sprint(good.Status, bad.Status))
		})
		It("subscribes", Verifies("ping.answered"), func(t *T) {
			server := FreshSession(t)
			subscription := server.Subscribe(Object{"resourceSubscriptions": []any{"a:b"}})
			changed := subscription.Until("notifications/resources/updated")
			t.Expect(changed.Params()).To(HaveMember("uri", "a:b"))
			t.Demand(len(subscription.Notifications()) == 2 && subscription.Acknowledged["resourceSubscriptions"] != nil, "two notifications", "others")
			subscription.Cancel()
			server.SubscribeToResource("a:b")
		})
		It("cannot subscribe", Verifies("ping.answered"), func(t *T) {
			FreshSession(t).Subscribe(Object{"promptsListChanged": true})
		})
	})
	for text, outcome := range outcomes {
		if text == "cannot subscribe" {
			if outcome.Ending != Inconclusion || !strings.Contains(outcome.Reason, "no subscription: subscriptions/listen was not acknowledged first; what came is") {
				t.Errorf("%s: %+v", text, outcome)
			}
			continue
		}
		if outcome.Ending != Passed || outcome.Reason != "" {
			t.Errorf("%s: %+v", text, outcome)
		}
	}
}

// What a check sees on a connection that another has used before is what came since.
func TestChecksOnOneConnectionSeeWhatIsTheirs(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(stateless))
	defer server.Close()
	environment := environment(t, protocol.HTTP)
	environment.Revision = "2026-07-28"
	environment.Target = scripted.Target{Transport: protocol.HTTP, URL: server.URL, Reply: 20 * time.Second}
	var used []*scripted.Connection
	asks := func(t *T) {
		server := Session(t)
		used = append(used, server.Connection)
		server.Call("tools/call", Object{"name": "greet"}, Once).Must()
		asked, answers := server.ServerRequests(0, "elicitation/create"), server.Sent(0, func(scripted.Received) bool { return true })
		t.Demand(len(asked) == 1 && len(answers) == 1, "one answer with one question", fmt.Sprint(asked, answers))
	}
	outcomes := perform(environment, func() {
		It("is asked", Verifies("ping.answered"), asks)
		It("is asked once more", Verifies("ping.answered"), asks)
	})
	for text, outcome := range outcomes {
		if outcome.Ending != Passed {
			t.Errorf("%s: %+v", text, outcome)
		}
	}
	if len(used) != 2 || used[0] != used[1] {
		t.Errorf("the checks did not share a connection: %v", used)
	}
}

// What servers want of clients is read where the era has it, with what the client
// declared for it.
func TestAsks(t *testing.T) {
	t.Parallel()
	const declaring = `"_meta":{"io.modelcontextprotocol/clientCapabilities":{"roots":{}}}`
	stateless := rules.NewConversation(Cell{Role: protocol.ServerRole, Revision: "2026-07-28", Transport: protocol.Stdio}, scopetest.Said(
		`>{"id":1,"method":"server/discover","params":{`+declaring+`}}`,
		`<{"id":1,"result":{"capabilities":{"tools":{}}}}`,
		`>{"id":2,"method":"tools/call","params":{}}`,
		`<{"id":2,"result":{"inputRequests":{"b":{"method":"roots/list"},"a~":{"method":"elicitation/create","params":{"x":1}}}}}`,
		`<{"method":"notifications/tasks","params":{"inputRequests":{"c":{"method":"roots/list","params":{}}}}}`,
	), true)
	handshake := conversation(
		`>{"id":1,"method":"initialize","params":{"capabilities":{"sampling":{}}}}`,
		`<{"id":1,"result":{"capabilities":{"prompts":{}}}}`,
		`<{"id":1,"method":"roots/list","params":{"y":2}}`,
	)
	for name, test := range map[string]struct {
		conversation *Conversation
		methods      []string
		asks         string
	}{
		"all":           {stateless, nil, "3 elicitation/create /result/inputRequests/a~0/params map[x:1]; 3 roots/list /result/inputRequests/b/params map[]; 4 roots/list /params/inputRequests/c/params map[]"},
		"one":           {stateless, []string{"elicitation/create"}, "3 elicitation/create /result/inputRequests/a~0/params map[x:1]"},
		"by a request":  {handshake, []string{"roots/list", "ping"}, "2 roots/list /params map[y:2]"},
		"none by a few": {handshake, []string{"ping"}, ""},
	} {
		var asks []string
		for _, one := range test.conversation.Asks(test.methods...) {
			asks = append(asks, fmt.Sprint(one.Index, " ", one.Method, " ", one.Where, " ", one.Params))
		}
		if diff := cmp.Diff(test.asks, strings.Join(asks, "; ")); diff != "" {
			t.Errorf("%s: wanted - found +\n%s", name, diff)
		}
	}
	for name, test := range map[string]struct {
		conversation *Conversation
		message      int
		client       Object
		server       string
	}{
		"with the request":   {stateless, 1, Object{"roots": Object{}}, "tools"},
		"with no request":    {stateless, 3, nil, "tools"},
		"in the handshake":   {handshake, 2, Object{"sampling": Object{}}, "prompts"},
		"with a foreign one": {handshake, 0, Object{"sampling": Object{}}, "prompts"},
	} {
		found := test.conversation.ClientDeclared(test.conversation.Messages[test.message])
		if diff := cmp.Diff(test.client, found); diff != "" || test.conversation.ServerCapabilities[test.server] == nil {
			t.Errorf("%s: wanted - found +\n%s; the server declares %v", name, diff, test.conversation.ServerCapabilities)
		}
	}
}
