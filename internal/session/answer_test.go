package session

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/scripted"
)

// answering answers a request as its method says.
func answering(w http.ResponseWriter, request *http.Request) {
	body, _ := io.ReadAll(request.Body) // a body that is cut off is no message
	message := jsonrpc.Parse(body)
	switch message.Method {
	case "result":
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(jsonrpc.NewResult(message.ID, nil))
	case "status":
		w.WriteHeader(http.StatusBadRequest)
	case "error without id":
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write(jsonrpc.NewError(jsonrpc.NullID, jsonrpc.InvalidParams, "no"))
	case "busy":
		w.WriteHeader(http.StatusServiceUnavailable)
	case "nothing", "tools/call":
		<-request.Context().Done()
	default:
		request.Body = io.NopCloser(bytes.NewReader(body))
		minimal(w, request)
	}
}

// What comes of a request ends a check as the judgement of its answer says.
func TestAnswer(t *testing.T) {
	t.Parallel()
	web := httptest.NewServer(http.HandlerFunc(answering))
	defer web.Close()

	judgements := []func(*Answer){
		func(answer *Answer) { answer.Must() },
		func(answer *Answer) { answer.Need() },
		func(answer *Answer) { answer.May() },
		func(answer *Answer) { answer.Must(BeAnswered) },
		func(answer *Answer) { answer.Must().Result() },
		func(answer *Answer) { answer.Need().Result() },
		func(answer *Answer) { answer.May().Result() },
	}
	const passed, failed, unproven = Passed, Failed, Inconclusion
	var judging sync.WaitGroup
	for method, want := range map[string][]Ending{
		"result":           {passed, passed, passed, passed, passed, passed, passed},
		"an error":         {passed, passed, passed, passed, failed, unproven, passed},
		"error without id": {failed, unproven, passed, failed, failed, unproven, passed},
		"status":           {failed, unproven, passed, failed, failed, unproven, passed},
		"busy":             {unproven, unproven, unproven, failed, unproven, unproven, unproven},
		"nothing":          {unproven, unproven, unproven, failed, unproven, unproven, unproven},
		"tools/call":       {unproven, unproven, unproven, unproven, unproven, unproven, unproven},
	} {
		for at, judge := range judgements {
			environment := environment(t, protocol.HTTP)
			judging.Go(func() { // at once: most of it is waiting
				environment.Target = scripted.Target{Transport: protocol.HTTP, URL: web.URL, Reply: 2 * time.Second}
				outcomes := perform(environment, func() {
					It("judges", Verifies("ping.answered"), func(t *T) {
						judge(Session(t).Call(method, Object{"name": "slow"}))
					})
				})
				if outcome := outcomes["judges"]; outcome.Ending != want[at] ||
					at != 3 && (outcome.NoReply != nil) != (method == "nothing") ||
					outcome.Ending == Passed && (outcome.Observed > 0) != (at == 3 || at == 4) {
					t.Errorf("%s, judgement %d: %+v", method, at, outcome)
				}
			})
		}
	}
	judging.Wait()
}

// A request is sent, and waited for, as its options say.
func TestCallOptions(t *testing.T) {
	t.Parallel()
	web := httptest.NewServer(http.HandlerFunc(answering))
	defer web.Close()
	environment := environment(t, protocol.HTTP)
	environment.Target = scripted.Target{Transport: protocol.HTTP, URL: web.URL, Reply: time.Second}

	for name, outcome := range perform(environment, func() {
		It("refuses", Verifies("ping.answered"), func(t *T) {
			server := Session(t)
			reply := server.Call("error without id", nil, ToBeRefused("why")).Must()
			t.Expect(reply).To(BeJSONRPCError(jsonrpc.InvalidParams))
			t.Demand(reply.Status == http.StatusBadRequest && reply.Answered(), "the status", Show(reply.Status))
			reply = server.Call("status", nil, ToBeRefused("why")).May()
			_, isStatus := reply.OrStatus().(Status)
			t.Demand(isStatus && !reply.Answered() && reply.Result() == nil, "a status in its place", reply.Describe())
		})
		It("sends", Verifies("ping.answered"), func(t *T) {
			server := Session(t)
			id := jsonrpc.StringID("own")
			t.Demand(server.Call("result", nil, WithID(id), Illegal("why")).Must().ID == id, "its id", "another")
			raw := []byte(`{"jsonrpc":"2.0","id":"raw","method":"result"}`)
			server.Call("any", nil, WithID(jsonrpc.StringID("raw")), Raw(raw, "")).Must().Result()
			events := server.Log().Events()
			t.Demand(events[len(events)-1].Deliberate == "" && server.Call("result", nil).OrUntil(
				func(scripted.Received) bool { return false }).Need().Answered(), "an answer", "none")
		})
		It("cancels", Verifies("ping.answered"), func(t *T) {
			reply := Session(t).Call("tools/call", Object{"name": "slow"}).May(BeLate)
			t.Demand(reply.Late && !reply.Answered(), "nothing", reply.Describe())
		})
		It("notifies", Verifies("ping.answered"), func(t *T) {
			server := Session(t)
			t.Demand(server.Notify("notifications/x", nil).May() && !server.Notify("status", nil).May(), "one of two", "another")
			server.Notify("notifications/x", nil).Must()
		})
	}) {
		if outcome.Ending != Passed {
			t.Errorf("%s: %+v", name, outcome)
		}
	}
	refused := perform(environment, func() {
		It("notifies", Verifies("ping.answered"), func(t *T) { Session(t).Notify("status", nil).Must() })
	})["notifies"]
	if refused.Ending != Failed || refused.Mismatches[0].Wanted != "status to be accepted" {
		t.Errorf("a notification that was refused: %+v", refused)
	}
}

func TestMessagePredicates(t *testing.T) {
	t.Parallel()
	request, notification := reply(`{"id":1,"method":"m"}`).Received, reply(`{"method":"m"}`).Received
	if !RequestOf("m")(request) || RequestOf("m")(notification) || RequestOf("n")(request) {
		t.Error("requests are taken for others")
	}
	if !Notification("m")(notification) || Notification("m")(request) || Notification("n")(notification) {
		t.Error("notifications are taken for others")
	}
	if !IsTimeout(scripted.ErrTimeout) || IsTimeout(scripted.ErrNoAnswer) {
		t.Error("timeouts are taken for others")
	}
}
