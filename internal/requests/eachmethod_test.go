package requests

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/offer"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/scope/scopetest"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/internal/session"
	"github.com/mcpconform/mcpconform/internal/survey"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// What a check is about is what a request brought, and not its plain form.
func TestWhatAFailureIsAbout(t *testing.T) {
	t.Parallel()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		body, _ := io.ReadAll(request.Body) // a body that is cut off is no message
		message := jsonrpc.Parse(body)
		if message.Kind != jsonrpc.Request {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(jsonrpc.NewResult(message.ID, Object{"protocolVersion": "2025-06-18"}))
	}))
	defer web.Close()
	shared := scopetest.New(t, protocol.ServerRole, protocol.HTTP)
	shared.Survey = &survey.Survey{}
	shared.Target = scripted.Target{Transport: protocol.HTTP, URL: web.URL, Reply: 20 * time.Second}
	environment := &session.Environment{Offer: offer.Offer{Scope: shared}}
	running := environment.Begin(t.Context(), &Declaration{})
	var wanted transcript.Place

	running.Run(func() {
		server := session.Session(running)
		InEachMethod(running, Be("HTTP 400", func(any) bool { return false }), func(request offer.Harmless) any {
			reply := server.Call(request.Method, request.With(nil)).Must()
			wanted = reply.At
			return http.StatusOK
		})
	})

	outcome, _ := session.End(running, false)
	session.Finish(environment)
	if outcome.Ending != Failed || outcome.Judged != wanted || wanted == (transcript.Place{}) {
		t.Errorf("%v, wanted %v: %+v", outcome.Judged, wanted, outcome)
	}
}
