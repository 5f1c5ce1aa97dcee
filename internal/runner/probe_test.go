package runner

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/internal/transport"
)

// object is a JSON object.
type object = map[string]any

// answerTo makes the answer of a server to a request, over HTTP.
type answerTo func(w http.ResponseWriter, request jsonrpc.Message)

func result(value object) answerTo {
	return func(w http.ResponseWriter, request jsonrpc.Message) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(jsonrpc.NewResult(request.ID, value))
	}
}

func refusal(status int, code int64, data object) answerTo {
	return func(w http.ResponseWriter, request jsonrpc.Message) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":"no","data":%s}}`, request.ID, code, quoted(data))
	}
}

func quoted(data object) []byte {
	whole := string(jsonrpc.NewNotification("x", data))
	return []byte(strings.TrimSuffix(whole[strings.Index(whole, `"params":`)+len(`"params":`):], "}"))
}

func text(status int, media, body string) answerTo {
	return func(w http.ResponseWriter, _ jsonrpc.Message) {
		w.Header().Set("Content-Type", media)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func never(http.ResponseWriter, jsonrpc.Message) { panic(http.ErrAbortHandler) }

// shakes answers initialize with the revision that was asked for, or else with the
// newest that it speaks.
func shakes(revisions ...string) answerTo {
	return func(w http.ResponseWriter, request jsonrpc.Message) {
		asked, _ := request.Params().(object)["protocolVersion"].(string)
		if !slices.Contains(revisions, asked) {
			asked = revisions[len(revisions)-1]
		}
		result(object{"protocolVersion": asked, "capabilities": object{}, "serverInfo": object{"name": "s", "version": "1"}})(w, request)
	}
}

func discovers(revisions ...string) answerTo {
	return result(object{"resultType": "complete", "supportedVersions": revisions, "capabilities": object{}})
}

// probed makes first contact with a server over HTTP.
func probed(t *testing.T, discover, initialize answerTo, policy Revise) ([]*visit, error) {
	t.Helper()
	gone := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		request := jsonrpc.Parse(body)
		switch {
		case request.Method == "server/discover" && discover == nil: // is silent
			select {
			case <-r.Context().Done():
			case <-gone:
			}
		case request.Method == "server/discover":
			discover(w, request)
		case request.Method == "initialize":
			initialize(w, request)
		case request.Kind == jsonrpc.Request:
			result(object{})(w, request)
		case r.Method == http.MethodPost:
			w.WriteHeader(http.StatusAccepted)
		default:
			w.WriteHeader(http.StatusMethodNotAllowed)
		}
	}))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(gone) })
	to := scripted.Target{Transport: scripted.OnHTTP, URL: server.URL, Reply: time.Minute, Limits: transport.Limits{Message: 1 << 20}}
	visits, err := probe(t.Context(), transcript.NewRoom(1<<30), to, policy, func(*visit) string { return "" })
	t.Cleanup(func() { closeAll(context.Background(), visits...) })
	return visits, err
}

// A server of the handshake era answers server/discover in whatever way it likes, and
// is recognised.
func TestEras(t *testing.T) {
	t.Parallel()
	old, both := shakes("2025-06-18", "2025-11-25"), "2025-06-18 2025-11-25"
	unsupported := refusal(http.StatusBadRequest, jsonrpc.UnsupportedRevision, object{"supported": []string{"2026-07-28"}, "requested": "2025-11-25"})
	for name, one := range map[string]struct {
		discover, initialize answerTo
		speaks               string
	}{
		"method not found":         {refusal(http.StatusOK, jsonrpc.MethodNotFound, nil), old, both},
		"method not found, 404":    {refusal(http.StatusNotFound, jsonrpc.MethodNotFound, nil), old, both},
		"invalid params":           {refusal(http.StatusOK, jsonrpc.InvalidParams, nil), old, both},
		"bad request of JSON-RPC":  {refusal(http.StatusBadRequest, -32000, nil), old, both},
		"a bad request":            {text(http.StatusBadRequest, "text/plain", "Bad Request: no session"), old, both},
		"an empty bad request":     {text(http.StatusBadRequest, "", ""), old, both},
		"a page":                   {text(http.StatusNotFound, "text/html", "<html>"), old, both},
		"not acceptable":           {text(http.StatusNotAcceptable, "application/json", `{"error":"x"}`), old, both},
		"an error of the server":   {text(http.StatusInternalServerError, "text/plain", "panic"), old, both},
		"accepted":                 {text(http.StatusAccepted, "", ""), old, both},
		"an empty stream":          {text(http.StatusOK, "text/event-stream", ""), old, both},
		"no JSON":                  {text(http.StatusOK, "application/json", "ok"), old, both},
		"an empty result":          {result(object{}), old, both},
		"a broken connection":      {never, old, both},
		"silence":                  {nil, old, both},
		"both eras":                {discovers("2025-11-25", "2026-07-28"), old, both + " 2026-07-28"},
		"a later one, too":         {discovers("2026-07-28", "2027-01-01"), unsupported, "2026-07-28 2027-01-01"},
		"stateless alone":          {discovers("2026-07-28"), unsupported, "2026-07-28"},
		"stateless, other refusal": {discovers("2026-07-28"), text(http.StatusBadRequest, "text/plain", "no"), "2026-07-28"},
		"stateless, does not know": {discovers("2026-07-28"), refusal(http.StatusNotFound, jsonrpc.MethodNotFound, nil), "2026-07-28"},
		"discovers later ones":     {discovers("2027-01-01"), old, both + " 2027-01-01"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			visits, err := probed(t, one.discover, one.initialize, Revise{Auto: true})
			speaks := spoken(visits)
			if err != nil || strings.Join(speaks, " ") != one.speaks || len(broken(visits)) > 0 {
				t.Fatalf("speaks %q, %v; wanted %s; broken is %q", speaks, err, one.speaks, broken(visits))
			}
			chosen := Revise{Auto: true}.choose(speaks, nil)
			for _, visit := range visits {
				if len(chosen) == 1 && visit.asked == chosen[0] && visit.survey == nil {
					t.Errorf("no survey of %s", visit.asked)
				}
			}
		})
	}
}

func TestSurveysOfAllRevisions(t *testing.T) {
	t.Parallel()
	for name, policy := range map[string]Revise{
		"all":    {All: true},
		"listed": {Listed: Revisions},
	} {
		visits, err := probed(t, discovers("2025-06-18", "2025-11-25", "2026-07-28"), shakes("2025-06-18", "2025-11-25"), policy)
		if speaks := spoken(visits); err != nil || !slices.Equal(policy.choose(speaks, nil), Revisions) {
			t.Fatalf("%s: %q, %v", name, speaks, err)
		}
		for _, visit := range visits {
			if slices.Contains(Revisions, visit.asked) != (visit.survey != nil) {
				t.Errorf("%s: at %s the survey is %v", name, visit.asked, visit.survey)
			}
		}
	}
}

func TestNobodySpeaks(t *testing.T) {
	t.Parallel()
	unsupported := refusal(http.StatusBadRequest, jsonrpc.UnsupportedRevision, object{"supported": []string{"2027-01-01"}})
	for name, one := range map[string]struct {
		discover, initialize answerTo
		says                 string
	}{
		"nothing that is known": {unsupported, unsupported, "speaks no revision that is known: server/discover was refused with error -32022: no; it says that it supports 2027-01-01; what can be checked is"},
		"older ones":            {text(http.StatusNotFound, "", ""), shakes("2024-11-05"), "speaks 2024-11-05; what can be checked is 2025-06-18"},
		"later ones":            {discovers("2027-01-01"), text(http.StatusBadRequest, "", ""), "speaks 2027-01-01; what can be checked is"},
		"neither":               {text(http.StatusNotFound, "text/html", "<p>"), text(http.StatusNotFound, "text/html", "<p>"), "answers HTTP 404; give the URL of the MCP endpoint itself"},
		"a login":               {text(http.StatusUnauthorized, "", ""), text(http.StatusUnauthorized, "", ""), "needs a login (HTTP 401)"},
	} {
		_, err := probed(t, one.discover, one.initialize, Revise{Auto: true})
		if err == nil || !strings.Contains(err.Error(), one.says) {
			t.Errorf("%s: %v, wanted %s", name, err, one.says)
		}
	}
}
