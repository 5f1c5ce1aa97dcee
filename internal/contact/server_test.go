package contact

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/protocol"
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

// withoutHandshake are the revisions that have none.
func withoutHandshake() []string {
	return slices.DeleteFunc(protocol.Released(), func(one string) bool { return protocol.Has(one, protocol.Handshake) })
}

// probed makes first contact with a server over HTTP.
func probed(t *testing.T, discover, initialize answerTo, policy Revise) ([]*visit, error) {
	t.Helper()
	return probedWith(t, discover, initialize, nil, policy)
}

// probedWith does so with one that answers other methods in ways of its own.
func probedWith(t *testing.T, discover, initialize answerTo, others map[string]answerTo, policy Revise) ([]*visit, error) {
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
		case others[request.Method] != nil:
			others[request.Method](w, request)
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
	to := scripted.Target{Transport: protocol.HTTP, URL: server.URL, Reply: time.Minute, Limits: transport.Limits{Message: 1 << 20}}
	visits, err := probe(t.Context(), to, Options{Revisions: policy, Budget: transcript.NewMemoryBudget(1 << 30)})
	t.Cleanup(func() { closeAll(context.Background(), visits...) })
	return visits, err
}

// A server of the handshake era is recognised even if it answers server/discover with an
// HTTP error or something illegal, or not at all.
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
			chosen := Revise{Auto: true}.Choose(speaks, nil)
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
		"listed": {Listed: protocol.Released()},
	} {
		visits, err := probed(t, discovers(append(withoutHandshake(), "2025-06-18", "2025-11-25")...), shakes("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"), policy)
		if speaks := spoken(visits); err != nil || !slices.Equal(policy.Choose(speaks, nil), protocol.Released()) {
			t.Fatalf("%s: %q, %v", name, speaks, err)
		}
		for _, visit := range visits {
			if slices.Contains(protocol.Released(), visit.asked) != (visit.survey != nil) {
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
		"nothing that is known": {unsupported, unsupported, "speaks no known revision: server/discover failed: error -32022: no; it lists as supported 2027-01-01; mcpconform checks"},
		"later ones":            {discovers("2027-01-01"), text(http.StatusBadRequest, "", ""), "speaks 2027-01-01; mcpconform checks"},
		"neither":               {text(http.StatusNotFound, "text/html", "<p>"), text(http.StatusNotFound, "text/html", "<p>"), "answers HTTP 404; give the URL of the MCP endpoint itself"},
	} {
		_, err := probed(t, one.discover, one.initialize, Revise{Auto: true})
		if err == nil || !strings.Contains(err.Error(), one.says) {
			t.Errorf("%s: %v, wanted %s", name, err, one.says)
		}
	}
}

// A server that asks for authorization is one of which nothing else is known.
func TestLocked(t *testing.T) {
	t.Parallel()
	refused := text(http.StatusUnauthorized, "", "")
	for name, one := range map[string]struct {
		policy Revise
		want   []string
	}{
		"auto":   {Revise{Auto: true}, []string{protocol.Newest()}},
		"all":    {Revise{All: true}, protocol.Released()},
		"listed": {Revise{Listed: []string{"2025-06-18", "2025-11-25"}}, []string{"2025-06-18", "2025-11-25"}},
	} {
		visits, err := probed(t, refused, refused, one.policy)
		if speaks := spoken(visits); err != nil || !slices.Equal(speaks, one.want) {
			t.Fatalf("%s: %q, %v", name, speaks, err)
		}
		for _, visit := range visits {
			if slices.Contains(one.want, visit.asked) &&
				(visit.survey == nil || visit.survey.Guarded != ask(visit.asked) || visit.survey.Locked == "") {
				t.Errorf("%s: at %s the survey is %+v", name, visit.asked, visit.survey)
			}
		}
	}
}

// What a server refuses to those without a token is found out by one request without.
func TestGuarded(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]struct {
		refuse  []string // methods, without a token
		token   bool
		guarded string
	}{
		"open":                     {nil, true, ""},
		"open, without a token":    {nil, false, ""},
		"all":                      {[]string{"initialize", "tools/list"}, true, "initialize"},
		"lists":                    {[]string{"tools/list"}, true, "tools/list"},
		"lists, without a token":   {[]string{"tools/list"}, false, "tools/list"},
		"prompts, without a token": {[]string{"prompts/list"}, false, "prompts/list"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				request := jsonrpc.Parse(body)
				switch {
				case slices.Contains(one.refuse, request.Method) && r.Header.Get("Authorization") == "":
					w.WriteHeader(http.StatusUnauthorized)
				case request.Method == "initialize":
					result(object{
						"protocolVersion": "2025-11-25", "serverInfo": object{"name": "s", "version": "1"},
						"capabilities": object{"tools": object{}, "prompts": object{}},
					})(w, request)
				case request.Kind == jsonrpc.Request:
					result(object{"tools": []any{}, "prompts": []any{}})(w, request)
				default:
					w.WriteHeader(http.StatusAccepted)
				}
			}))
			t.Cleanup(server.Close)
			to := scripted.Target{Transport: protocol.HTTP, URL: server.URL, Reply: 10 * time.Second, Start: 10 * time.Second}
			if one.token {
				to.Header = http.Header{"Authorization": {"Bearer secret"}}
			}
			visit := &visit{asked: "2025-11-25"}
			visit.open(t.Context(), nil, to, nil)
			t.Cleanup(func() { closeAll(context.Background(), visit) })
			visit.look(t.Context(), to)

			visit.guarded(t.Context(), nil, to)

			if visit.survey.Guarded != one.guarded {
				t.Errorf("guards %q, want %q", visit.survey.Guarded, one.guarded)
			}
		})
	}
}

// answers is the result of initialize with a revision, or anything else in its place.
func answers(version any) answerTo {
	return result(object{"protocolVersion": version, "capabilities": object{}, "serverInfo": object{"name": "s", "version": "1"}})
}

// relabelled sends an answer under another id.
func relabelled(answer string) answerTo {
	return func(w http.ResponseWriter, request jsonrpc.Message) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, answer, strings.Trim(request.ID.String(), `"`))
	}
}

// A server that shows signs of a revision and gets its opening wrong is told so, and one
// that speaks another is not.
func TestSigns(t *testing.T) {
	t.Parallel()
	unknown, old := refusal(http.StatusOK, jsonrpc.MethodNotFound, nil), shakes("2025-06-18", "2025-11-25")
	stateless := strings.Join(withoutHandshake(), " ")
	tools := func(members object) map[string]answerTo {
		members["tools"] = []object{}
		return map[string]answerTo{"tools/list": result(members)}
	}
	swapped := func(w http.ResponseWriter, request jsonrpc.Message) {
		asked, _ := request.Params().(object)["protocolVersion"].(string)
		answers(map[string]string{"2025-11-25": "2025-06-18", "2025-06-18": "2025-11-25"}[asked])(w, request)
	}
	for name, one := range map[string]struct {
		discover, initialize answerTo
		others               map[string]answerTo
		broken               string // revisions
		says                 string // of the newest of them
	}{
		"another revision":              {unknown, shakes("2025-06-18"), nil, "", ""},
		"another one that is listed":    {discovers("2025-11-25", "2026-07-28"), shakes("2025-06-18"), nil, "2025-11-25", "and server/discover lists 2025-11-25"},
		"one that it does not stand by": {unknown, swapped, nil, "2024-11-05 2025-03-26 2025-06-18 2025-11-25", "asked for 2025-11-25, the server answered with 2025-06-18, and asked for that with 2025-11-25"},
		"no released revision":          {unknown, answers("2024-10-07"), nil, "2024-11-05 2025-03-26 2025-06-18 2025-11-25", "which is not a revision of the protocol"},
		"one without initialize":        {unknown, answers("2026-07-28"), nil, "2024-11-05 2025-03-26 2025-06-18 2025-11-25", "which has no initialize"},
		"no revision":                   {unknown, result(object{"capabilities": object{}}), nil, "2024-11-05 2025-03-26 2025-06-18 2025-11-25", "without a protocolVersion that is a string"},
		"a number":                      {unknown, answers(20251125), nil, "2024-11-05 2025-03-26 2025-06-18 2025-11-25", "without a protocolVersion that is a string"},
		"an id as text": {unknown, relabelled(`{"jsonrpc":"2.0","id":"%s","result":{"protocolVersion":"2025-11-25"}}`), nil,
			"2024-11-05 2025-03-26 2025-06-18 2025-11-25", "what came is no answer to initialize"},
		"a list": {unknown, relabelled(`[{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25"}}]`), nil,
			"2024-11-05 2025-03-26 2025-06-18 2025-11-25", "what came is no answer to initialize"},
		"listed, and unknown": {discovers("2025-11-25", "2026-07-28"), unknown, nil, "2025-11-25", "server/discover lists 2025-11-25, and initialize failed"},
		"supported, and refused": {unknown, refusal(http.StatusOK, jsonrpc.InvalidParams, object{"supported": []string{"2025-11-25"}}), nil,
			"2025-11-25", "initialize lists 2025-11-25, and initialize failed"},
		"lists without a handshake": {unknown, unknown, tools(object{}), "2025-11-25", "tools/list is answered without a handshake"},
		"no method at all":          {unknown, unknown, map[string]answerTo{"tools/list": unknown, "resources/list": unknown, "resources/templates/list": unknown, "prompts/list": unknown}, "2025-11-25", "initialize failed"},

		"no versions":         {result(object{"resultType": "complete", "capabilities": object{}}), old, nil, stateless, "without it in supportedVersions"},
		"former versions":     {discovers("2025-06-18", "2025-11-25"), old, nil, "", ""},
		"served but unlisted": {discovers("2025-06-18", "2025-11-25"), old, tools(object{"resultType": "complete"}), stateless, "without it in supportedVersions"},
		"later versions":      {discovers("2027-01-01"), old, nil, "", ""},
		"not discovered":      {unknown, old, tools(object{"resultType": "complete"}), stateless, "tools/list is answered as " + protocol.Newest() + " specifies, and server/discover failed"},
		"legacy lists":        {unknown, old, tools(object{}), "", ""},
		"discovered as 1":     {relabelled(`{"jsonrpc":"2.0","id":"%s","result":{"supportedVersions":["2026-07-28"]}}`), old, nil, stateless, "what came is no answer to server/discover"},
		"unsupported":         {refusal(http.StatusBadRequest, jsonrpc.UnsupportedRevision, object{"supported": []string{"2027-01-01"}}), old, nil, "", ""},
		"refused, and named":  {refusal(http.StatusBadRequest, jsonrpc.UnsupportedRevision, object{"supported": []string{"2026-07-28"}}), old, nil, "2026-07-28", "-32022"},
		"refused for headers": {refusal(http.StatusBadRequest, jsonrpc.HeaderMismatch, nil), old, nil, stateless, "-32020"},
		"a page":              {text(http.StatusNotFound, "text/html", `<p>"supportedVersions"`), old, nil, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			visits, err := probedWith(t, one.discover, one.initialize, one.others, Revise{Auto: true})
			if err != nil {
				t.Fatal(err)
			}
			if found := strings.Join(broken(visits), " "); found != one.broken {
				t.Fatalf("broken is %q", found)
			}
			newest := newestOf(broken(visits))
			for _, visit := range visits {
				if visit.asked == newest && (!strings.Contains(visit.broken, one.says) || visit.survey == nil) {
					t.Errorf("says %q; survey %v", visit.broken, visit.survey)
				}
			}
		})
	}
}

// A server of the stateless era whose discovery came late has its lists read in its own
// time.
func TestLateDiscoveryLeavesTimeForLists(t *testing.T) {
	t.Parallel()
	shaken, listed := make(chan struct{}), make(chan struct{})
	var once sync.Once
	discover := func(w http.ResponseWriter, request jsonrpc.Message) {
		<-shaken
		result(object{"resultType": "complete", "supportedVersions": []string{"2026-07-28"}, "capabilities": object{"tools": object{}}})(w, request)
	}
	initialize := func(w http.ResponseWriter, request jsonrpc.Message) {
		refusal(http.StatusBadRequest, jsonrpc.UnsupportedRevision, object{"supported": []string{"2026-07-28"}})(w, request)
		once.Do(func() {
			close(shaken)
			time.AfterFunc(2*discoverPatience, func() { close(listed) }) // when a server that is silent would be given up
		})
	}
	list := func(w http.ResponseWriter, request jsonrpc.Message) {
		<-listed
		result(object{"resultType": "complete", "tools": []object{{"name": "a"}}})(w, request)
	}
	visits, err := probedWith(t, discover, initialize, map[string]answerTo{"tools/list": list}, Revise{Auto: true})
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(visits, func(one *visit) bool { return one.asked == "2026-07-28" })
	if found := visits[at].survey; found == nil || len(found.Tools) != 1 || len(found.Failed) > 0 {
		t.Errorf("survey %+v", found)
	}
}

// Where the newest revision is wanted, the old ones are asked for only where no other is
// spoken.
func TestOldRevisionsAreAskedForLast(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]struct {
		initialize answerTo
		policy     Revise
		asked      int
		speaks     []string
	}{
		"the newest":   {shakes("2024-11-05", "2025-06-18", "2025-11-25"), Revise{Auto: true}, len(withoutHandshake()) + 2, []string{"2025-06-18", "2025-11-25"}},
		"the oldest":   {shakes("2024-11-05"), Revise{Auto: true}, len(protocol.Released()), []string{"2024-11-05"}},
		"all":          {shakes("2024-11-05", "2025-11-25"), Revise{All: true}, len(protocol.Released()), []string{"2024-11-05", "2025-11-25"}},
		"of the older": {shakes("2025-03-26", "2025-11-25"), Revise{Auto: true, Among: []string{"2025-03-26"}}, len(protocol.Released()), []string{"2025-03-26", "2025-11-25"}},
	} {
		visits, err := probed(t, refusal(http.StatusOK, jsonrpc.MethodNotFound, nil), one.initialize, one.policy)
		if err != nil || len(visits) != one.asked || !slices.Equal(spoken(visits), one.speaks) {
			t.Errorf("%s: asked for %d revisions, which shows %v, %v; wanted %d, %v", name, len(visits), spoken(visits), err, one.asked, one.speaks)
		}
	}
}

// Those that are asked for first are the ones without a handshake, and the last two with one,
// wherever they are spoken.
func TestStages(t *testing.T) {
	t.Parallel()
	for transport, first := range map[string][]string{
		protocol.HTTP: append([]string{"2025-06-18", "2025-11-25"}, withoutHandshake()...),
		protocol.SSE:  {"2025-06-18", "2025-11-25"},
	} {
		stages := Revise{Auto: true}.Over(transport).stages()
		if !slices.Equal(stages[0], first) || !slices.Equal(stages[1], []string{"2024-11-05", "2025-03-26"}) {
			t.Errorf("%s: %v", transport, stages)
		}
	}
}
