package scripted_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/mcp"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/relay"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/internal/transport"
)

// newServer makes a scripted server, which edit changes before a client comes.
func newServer(t *testing.T, revision string, edit func(*scripted.Server)) *scripted.Server {
	t.Helper()
	server := scripted.NewServer(scripted.ServerOptions{
		Revision: revision, Reply: patient, Log: func() *transcript.Log { return transcript.NewLog("s") },
	})
	if edit != nil {
		edit(server)
	}
	t.Cleanup(server.Close)
	return server
}

// meet connects a scripted client to a scripted server over HTTP.
func meet(t *testing.T, revision string, edit func(*scripted.Server)) (*scripted.Connection, *scripted.Server) {
	t.Helper()
	server := newServer(t, revision, edit)
	return overHTTP(t, patient, server.ServeHTTP), server
}

func shake(t *testing.T, client *scripted.Connection, revision string) {
	t.Helper()
	shakeAs(t, client, revision, scripted.Everything(revision))
}

// shakeAs declares capabilities of its own.
func shakeAs(t *testing.T, client *scripted.Connection, revision string, capabilities scripted.Capabilities) {
	t.Helper()
	if protocol.Has(revision, protocol.PerRequestMeta) {
		client.Speak(revision, capabilities)
		client.HTTP.SetVersion(revision)
		return
	}
	if _, err := client.Initialize(t.Context(), scripted.Hello(revision, capabilities)); err != nil {
		t.Fatal(err)
	}
}

// result of a request that must succeed.
func result(t *testing.T, client *scripted.Connection, method string, params scripted.Object) scripted.Object {
	t.Helper()
	answer, err := client.Call(t.Context(), method, params)
	if err != nil {
		t.Fatalf("%s: %v", method, err)
	}
	given, _ := answer.Result()
	object, isObject := given.(map[string]any)
	if !isObject {
		t.Fatalf("%s: %s", method, answer.Raw)
	}
	return object
}

func TestScriptedServerIsAGoodOne(t *testing.T) {
	t.Parallel()
	for _, revision := range []string{"2025-06-18", "2025-11-25", "2026-07-28"} {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			client, server := meet(t, revision, func(server *scripted.Server) { server.Instructions = "Be kind." })
			shake(t, client, revision)
			for method, member := range map[string]string{
				"tools/list": "tools", "resources/list": "resources", "prompts/list": "prompts",
				"resources/templates/list": "resourceTemplates",
			} {
				if items, _ := result(t, client, method, nil)[member].([]any); len(items) != 1 {
					t.Errorf("%s has %d items", method, len(items))
				}
			}
			sum := result(t, client, "tools/call", scripted.Object{"name": scripted.AddNumbers, "arguments": scripted.Object{"a": 5, "b": 3}})
			if text := fmt.Sprint(sum["content"]); !strings.Contains(text, "text:8") {
				t.Errorf("5 and 3 are %s", text)
			}
			result(t, client, "resources/read", scripted.Object{"uri": scripted.ResourceURI})
			result(t, client, "prompts/get", scripted.Object{"name": scripted.PromptName, "arguments": scripted.Object{"name": "you"}})
			result(t, client, "completion/complete", scripted.Object{"ref": scripted.Object{}, "argument": scripted.Object{}})
			for _, unknown := range []string{"nonsense", "server/initialize"} {
				if answer, err := client.Call(t.Context(), unknown, nil); err == nil {
					if refusal, refused := answer.Error(); !refused || refusal.Code != jsonrpc.MethodNotFound {
						t.Errorf("%s: %s", unknown, answer.Raw)
					}
				}
			}
			if sessions := server.Sessions(); len(sessions) != 1 || protocol.Has(revision, protocol.Sessions) == (sessions[0].ID() == "") {
				t.Errorf("%d sessions", len(sessions))
			}
		})
	}
}

func TestScriptedServerHasPages(t *testing.T) {
	t.Parallel()
	items := []any{"a", "b", "c"}
	var all []any
	cursor, pages := "", 0
	for {
		page, next, known := scripted.Page(items, cursor, 2)
		if !known {
			t.Fatalf("the cursor %q is unknown", cursor)
		}
		pages++
		all = append(all, page...)
		if cursor = next; next == "" {
			break
		}
	}
	if !slices.Equal(all, items) || pages != 2 {
		t.Errorf("%v on %d pages", all, pages)
	}
	for _, odd := range []string{"x", "MA==", "OQ=="} {
		if _, _, known := scripted.Page(items, odd, 2); known {
			t.Errorf("the cursor %q is known", odd)
		}
	}
}

func TestScriptedServerAsksOnTheStreamOfACall(t *testing.T) {
	t.Parallel()
	answered := make(chan string, 1)
	client, _ := meet(t, "2025-11-25", func(server *scripted.Server) {
		server.On("tools/call", func(call *scripted.Call) {
			call.Progress(1, 2)
			answer, came := call.Ask("roots/list", nil)
			answered <- fmt.Sprint(came, " ", string(answer.Raw))
			call.Good()
		})
	})
	shake(t, client, "2025-11-25")
	client.Answer("roots/list", scripted.Result(map[string]any{"roots": []any{}}))
	mark := client.Mark()
	result(t, client, "tools/call", scripted.Object{"name": scripted.AddNumbers, "_meta": scripted.Object{"progressToken": "t"}})
	if got := <-answered; !strings.Contains(got, `true {"jsonrpc":"2.0","id":"server-1","result":{"roots":[]}}`) {
		t.Error(got)
	}
	if !slices.ContainsFunc(client.Received(mark), func(one scripted.Received) bool { return one.Method == "notifications/progress" }) {
		t.Error("no progress")
	}
}

func TestScriptedServerTellsUnasked(t *testing.T) {
	t.Parallel()
	told := make(chan bool, 1)
	client, server := meet(t, "2025-11-25", nil)
	shake(t, client, "2025-11-25")
	go func() { told <- server.Sessions()[0].Notify("notifications/tools/list_changed", nil) }()
	if _, err := client.Listen(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, err := client.Await(t.Context(), 0, func(one scripted.Received) bool { return one.Method == "notifications/tools/list_changed" })
	if err != nil || !<-told {
		t.Error(err)
	}
}

func TestScriptedServerForgetsSessions(t *testing.T) {
	t.Parallel()
	client, server := meet(t, "2025-11-25", nil)
	shake(t, client, "2025-11-25")
	server.Sessions()[0].Expire()
	_, err := client.Call(t.Context(), "tools/list", nil)
	if err == nil || !strings.Contains(err.Error(), "404") {
		t.Errorf("%v", err)
	}
	client.HTTP.SetSession("")
	shake(t, client, "2025-11-25")
	if sessions := server.Sessions(); len(sessions) != 2 || sessions[1].ID() == sessions[0].ID() {
		t.Errorf("%d sessions", len(sessions))
	}
}

// A client of both eras probes before it initializes: that is refused, and no session.
func TestScriptedServerTakesNoProbeForASession(t *testing.T) {
	t.Parallel()
	client, server := meet(t, "2025-11-25", nil)
	if _, err := client.Discover(t.Context(), "2026-07-28", scripted.Nothing()); err == nil {
		t.Fatal("the probe is not refused")
	}
	client.Speak("", nil)
	client.HTTP.SetVersion("")
	shake(t, client, "2025-11-25")
	if sessions := server.Sessions(); len(sessions) != 1 || sessions[0].Number != 1 || sessions[0].ID() != client.HTTP.Session() {
		t.Errorf("%d sessions", len(sessions))
	}
	client.HTTP.SetSession("")
	shake(t, client, "2025-11-25")
	if sessions := server.Sessions(); len(sessions) != 2 || sessions[1].ID() != client.HTTP.Session() {
		t.Errorf("%d sessions after another initialize", len(sessions))
	}
}

func TestScriptedServerNeedsInput(t *testing.T) {
	t.Parallel()
	client, _ := meet(t, "2026-07-28", func(server *scripted.Server) {
		server.On("tools/call", func(call *scripted.Call) {
			if call.Responses() == nil {
				call.Need(scripted.Object{"who": scripted.Object{"method": "roots/list"}}, "s1")
				return
			}
			call.Answer(scripted.Text(call.Text("requestState")))
		})
	})
	shake(t, client, "2026-07-28")
	client.Answer("roots/list", scripted.Result(map[string]any{"roots": []any{}}))
	done := result(t, client, "tools/call", scripted.Object{"name": scripted.AddNumbers})
	if text := fmt.Sprint(done["content"]); !strings.Contains(text, "s1") {
		t.Error(text)
	}
}

func TestScriptedServerPublishes(t *testing.T) {
	t.Parallel()
	client, server := meet(t, "2026-07-28", nil)
	shake(t, client, "2026-07-28")
	request := client.Start(t.Context(), "subscriptions/listen", scripted.Object{
		"notifications": scripted.Object{"toolsListChanged": true, "resourceSubscriptions": []any{"a"}}})
	named := func(method string) func(scripted.Received) bool {
		return func(one scripted.Received) bool { return one.Method == method }
	}
	acknowledged, err := client.Await(t.Context(), 0, named("notifications/subscriptions/acknowledged"))
	if err != nil {
		t.Fatal(err)
	}
	params, _ := acknowledged.Params().(map[string]any)
	if meta, _ := params["_meta"].(map[string]any); jsonrpc.IDOf(meta[mcp.MetaSubscription]) != request.ID {
		t.Errorf("%s", acknowledged.Raw)
	}
	session := server.Sessions()[0]
	published := func(method string, params scripted.Object) bool {
		for !session.Notify("notifications/tools/list_changed", nil) {
			select { // the stream is noted right after it is acknowledged
			case <-t.Context().Done():
				return false
			default:
			}
		}
		return session.Notify(method, params)
	}
	for _, one := range []struct {
		method string
		params scripted.Object
		wanted bool
	}{
		{"notifications/resources/updated", scripted.Object{"uri": "a"}, true},
		{"notifications/resources/updated", scripted.Object{"uri": "b"}, false},
		{"notifications/prompts/list_changed", nil, false},
	} {
		if published(one.method, one.params) != one.wanted {
			t.Errorf("%s %v: %t", one.method, one.params, !one.wanted)
		}
	}
}

func TestScriptedServerRefusesOtherVersions(t *testing.T) {
	t.Parallel()
	client, _ := meet(t, "2026-07-28", nil)
	client.Speak("2027-01-01", scripted.Nothing())
	client.HTTP.SetVersion("2027-01-01")
	delivery := client.Start(t.Context(), "server/discover", nil)
	answer, err := delivery.Wait(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	refusal, _ := answer.Error()
	if text, _ := json.Marshal(refusal.Data); refusal.Code != jsonrpc.UnsupportedRevision ||
		string(text) != `{"requested":"2027-01-01","supported":["2026-07-28"]}` {
		t.Errorf("%d %s", refusal.Code, text)
	}
}

func TestScriptedServerIsQuietAfterTheClient(t *testing.T) {
	t.Parallel()
	server := newServer(t, "2025-11-25", nil)
	if server.Quiet(t.Context(), soon, patient) {
		t.Error("nobody came")
	}
	front := httptest.NewServer(server)
	defer front.Close()
	response, err := http.Post(front.URL+scripted.Endpoint, "application/json", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	if body, _ := io.ReadAll(response.Body); string(body) != `{"jsonrpc":"2.0","id":1,"result":{}}` {
		t.Errorf("%s", body)
	}
	if !server.Quiet(t.Context(), patient, soon) {
		t.Error("somebody came")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if !server.Quiet(ctx, patient, patient) {
		t.Error("somebody came")
	}
}

func TestScriptedServerChangesItsResults(t *testing.T) {
	t.Parallel()
	client, _ := meet(t, "2026-07-28", func(server *scripted.Server) {
		server.OnResult(func(call *scripted.Call, result scripted.Object) {
			if call.Message.Method == "tools/list" {
				delete(result, "resultType")
				result["_meta"] = scripted.Object{"example.com/n": call.Nth}
			}
		})
	})
	shake(t, client, "2026-07-28")
	result(t, client, "prompts/list", nil)
	changed := result(t, client, "tools/list", nil)
	if _, typed := changed["resultType"]; typed || fmt.Sprint(changed["_meta"]) != "map[example.com/n:1]" {
		t.Errorf("%v", changed)
	}
}

func TestScriptedServerWaitsForASessionThatLingers(t *testing.T) {
	t.Parallel()
	server := newServer(t, "2025-11-25", nil)
	conn, relay := net.Pipe()
	lingers, gone := make(chan struct{}), make(chan struct{})
	server.OnStart(func(session *scripted.Session) {
		session.Linger(patient)
		close(lingers)
	})
	go func() {
		server.ServeSpawned(conn)
		close(gone)
	}()
	<-lingers
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	if server.Quiet(ctx, soon/10, soon/10); ctx.Err() == nil {
		t.Error("it is quiet while the session lingers")
	}
	_ = relay.Close()
	<-gone
	if !server.Quiet(t.Context(), soon, soon) {
		t.Error("somebody came")
	}
}

func TestScriptedServerTakesNoFloodOfSessions(t *testing.T) {
	t.Parallel()
	server := newServer(t, "2025-11-25", nil)
	front := httptest.NewServer(server)
	defer front.Close()
	hello := string(jsonrpc.NewRequest(jsonrpc.IntID(1), "initialize", scripted.Hello("2025-11-25", scripted.Nothing())))
	for range 100 {
		response, err := http.Post(front.URL+scripted.Endpoint, "application/json", strings.NewReader(hello))
		if err != nil {
			return // it has had enough
		}
		_ = response.Body.Close()
	}
	t.Errorf("%d sessions", len(server.Sessions()))
}

func TestScriptedServerOverStdio(t *testing.T) {
	t.Parallel()
	relays, err := transport.ListenRelays(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = relays.Close() }()
	server := newServer(t, "2025-11-25", nil)
	input, in := io.Pipe()
	out, output := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		status, _ := relay.Run(context.Background(), relays.Socket(), input, output, io.Discard, nil)
		_ = output.Close()
		ended <- status
	}()
	conn, err := relays.Accept()
	if err != nil {
		t.Fatal(err)
	}
	go server.ServeSpawned(conn)
	client := scripted.OverStdio(transport.NewStdioPipes(in, out, transcript.NewLog("c"), transport.Limits{}), transcript.NewLog("c"), patient)
	connection := &scripted.Connection{Client: client.Client, Stdio: client}
	shake(t, connection, "2025-11-25")
	result(t, connection, "tools/list", nil)
	client.Close(t.Context())
	if status := <-ended; status != 0 {
		t.Errorf("status %d", status)
	}
	server.Settle(patient)
	var told strings.Builder
	for _, event := range server.Sessions()[0].Log().Events() {
		if event.Kind != transcript.Message {
			told.WriteString(string(event.From) + " " + event.Note + "\n")
		}
	}
	want := "client the client started the server\nclient closed the standard input of the server\nserver exited with status 0\n"
	if told.String() != want {
		t.Error(told.String())
	}
}

// A server that pauses goes on when there is no client any more.
func TestPauseEndsWithTheClient(t *testing.T) {
	t.Parallel()
	pausing, over := make(chan bool), make(chan bool)
	client, server := meet(t, "2025-11-25", func(server *scripted.Server) {
		server.On("tools/call", func(call *scripted.Call) {
			close(pausing)
			call.Pause(time.Hour)
			close(over)
		})
	})
	shake(t, client, "2025-11-25")
	go func() { _, _ = client.Call(t.Context(), "tools/call", scripted.Object{"name": scripted.AddNumbers}) }()
	<-pausing
	server.Settle(patient)
	<-over
}

func TestScriptedServerKnowsWhatTheClientDeclares(t *testing.T) {
	t.Parallel()
	for _, revision := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			declared := make(chan bool, 2)
			client, _ := meet(t, revision, func(server *scripted.Server) {
				server.On("tools/list", func(call *scripted.Call) {
					declared <- call.Declares("sampling")
					declared <- call.Declares("sampling", "nothing", "such")
					call.Good()
				})
			})
			shake(t, client, revision)
			result(t, client, "tools/list", nil)
			if !<-declared || <-declared {
				t.Error("it does not know that its client declares sampling, and no more")
			}
		})
	}
}

func TestDecoyNotesWhoFetchesIt(t *testing.T) {
	t.Parallel()
	decoy := ""
	client, server := meet(t, "2026-07-28", func(server *scripted.Server) { decoy = server.Decoy() })
	if err := server.Unready(); err != nil {
		t.Fatal(err)
	}
	shake(t, client, "2026-07-28")
	result(t, client, "tools/list", nil)
	log := server.Sessions()[0].Log()
	if slices.ContainsFunc(log.Events(), isFetched) {
		t.Error("nobody has fetched the lure yet")
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, decoy+"/schema.json", nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if at := slices.IndexFunc(log.Events(), isFetched); at < 0 || !strings.Contains(log.Events()[at].Note, "GET /schema.json") {
		t.Error("the record does not note that the lure was fetched")
	}
}

// A client may look for metadata before it says anything: there is none, and no rule of
// the protocol is to read that it looked.
func TestScriptedServerHasNoAuthorization(t *testing.T) {
	t.Parallel()
	server := scripted.NewServer(scripted.ServerOptions{Revision: "2025-11-25", Log: func() *transcript.Log {
		t.Error("it is recorded")
		return transcript.NewLog("s1")
	}})
	defer server.Close()
	front := httptest.NewServer(server)
	defer front.Close()
	for _, path := range []string{
		"/.well-known/oauth-protected-resource" + scripted.Endpoint, "/.well-known/oauth-authorization-server", "/register",
	} {
		response, err := http.Get(front.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != http.StatusNotFound {
			t.Errorf("GET %s is answered with %s", path, response.Status)
		}
	}
}

func isFetched(event transcript.Event) bool { return event.Incident == transcript.DecoyFetched }
