package scripted_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/internal/transport"
)

func lines(raw ...[]byte) []string {
	texts := make([]string, len(raw))
	for i, line := range raw {
		texts[i] = string(line)
	}
	return texts
}

func TestStdioCalls(t *testing.T) {
	t.Parallel()
	server := overStdio(t, patient, func(request jsonrpc.Message) []string {
		if request.Kind != jsonrpc.Request {
			return nil
		}
		if request.Method == "refuse" {
			return lines(jsonrpc.NewError(request.ID, jsonrpc.InvalidParams, "no"))
		}
		return append([]string{"", "Server started", `[]`}, lines(jsonrpc.NewNotification("n", nil), echo(request))...)
	})
	if err := server.Notify(t.Context(), "notifications/initialized", nil); err != nil {
		t.Error(err)
	}
	answer, err := server.Call(t.Context(), "m", []int{1})
	if err != nil || string(answer.Raw) != `{"jsonrpc":"2.0","id":1,"result":{"method":"m","params":[1]}}` || answer.Index != 4 || answer.Stream != "stdio" {
		t.Errorf("answered %s, %v", answer.Raw, err)
	}
	var kinds []jsonrpc.Kind
	for _, received := range server.Received(0) {
		kinds = append(kinds, received.Kind)
	}
	want := []jsonrpc.Kind{jsonrpc.Invalid, jsonrpc.Invalid, jsonrpc.Batch, jsonrpc.Notification, jsonrpc.Response}
	if difference := cmp.Diff(want, kinds); difference != "" {
		t.Error(difference)
	}
	refused, err := server.Call(t.Context(), "refuse", nil)
	if refusal, isRefusal := refused.Error(); err != nil || !isRefusal || refusal.Code != jsonrpc.InvalidParams {
		t.Errorf("answered %s, %v", refused.Raw, err)
	}
	if !server.Idle() || !server.Alive() || server.Mark() != 6 || len(server.Received(99)) != 0 {
		t.Errorf("idle %t, alive %t, %d messages", server.Idle(), server.Alive(), server.Mark())
	}
	if server.ReplyTime() != patient {
		t.Errorf("replies may take %s", server.ReplyTime())
	}
}

func TestStdioAnswersInAnyOrder(t *testing.T) {
	t.Parallel()
	const calls = 20
	var held []string
	server := overStdio(t, patient, func(request jsonrpc.Message) []string {
		if held = append(lines(echo(request)), held...); len(held) < calls {
			return nil
		}
		return held // the last first
	})
	var all sync.WaitGroup
	for number := range calls {
		all.Go(func() {
			answer, err := server.Call(t.Context(), "m", number)
			result, _ := answer.Result()
			object, _ := result.(map[string]any)
			if err != nil || object["params"] != json.Number(strconv.Itoa(number)) {
				t.Errorf("call %d brought %s, %v", number, answer.Raw, err)
			}
		})
	}
	all.Wait()
}

func TestStdioAnswersTheServer(t *testing.T) {
	t.Parallel()
	var texts []string
	server := overStdio(t, patient, func(sent jsonrpc.Message) []string {
		if sent.Kind == jsonrpc.Request {
			return lines(jsonrpc.NewRequest(jsonrpc.StringID("a"), "ping", nil),
				jsonrpc.NewRequest(jsonrpc.StringID("b"), "roots/list", nil), jsonrpc.NewRequest(jsonrpc.StringID("c"), "other", nil))
		}
		if texts = append(texts, string(sent.Raw)); len(texts) == 3 {
			return lines(jsonrpc.NewResult(jsonrpc.IntID(1), map[string]any{"told": texts}))
		}
		return nil
	})
	server.Answer("roots/list", scripted.Result(map[string]any{"roots": []any{}}))
	answer, err := server.Call(t.Context(), "m", nil)
	if err != nil {
		t.Fatal(err)
	}
	result, _ := answer.Result()
	want := map[string]any{"told": []any{
		`{"jsonrpc":"2.0","id":"a","result":{}}`,
		`{"jsonrpc":"2.0","id":"b","result":{"roots":[]}}`,
		`{"jsonrpc":"2.0","id":"c","error":{"code":-32601,"message":"this client does not offer other"}}`,
	}}
	if difference := cmp.Diff(want, result); difference != "" {
		t.Error(difference)
	}
}

func TestStdioSaysExactlyWhatItIsTold(t *testing.T) {
	t.Parallel()
	client, input, output, _ := overPipes(t, patient)
	said := make(chan string, 4)
	go func() {
		for input.Scan() {
			said <- input.Text()
		}
	}()
	raw := []byte("{not JSON,extra")[:9] // what follows in memory must stay as it is
	pending := client.StartRaw(t.Context(), jsonrpc.StringID("x"), "m", scripted.Outgoing{Raw: raw, Deliberate: "no JSON at all"}, nil)
	if line := <-said; line != "{not JSON" || string(raw[:10]) != "{not JSON," {
		t.Errorf("said %q, and the bytes are now %q", line, raw[:10])
	}
	go func() { _, _ = fmt.Fprintln(output, `{"id":"x","result":1}`) }()
	if answer, err := pending.Wait(t.Context()); err != nil || answer.ID != jsonrpc.StringID("x") {
		t.Errorf("answered %s, %v", answer.Raw, err)
	}
	if event := client.Log().Events()[1]; event.Deliberate != "no JSON at all" || event.From != protocol.Client {
		t.Errorf("the log has %+v", event)
	}
	delivery := client.Deliver(t.Context(), scripted.Outgoing{Raw: []byte("{}")})
	<-delivery.Head()
	<-delivery.Done()
	delivery.Cut() // nothing to cut
	if line := <-said; line != "{}" || delivery.Stream != "stdio" || delivery.Refused() != nil {
		t.Errorf("said %q: %+v", line, delivery)
	}
	if stream, err := client.Listen(t.Context()); err != nil || stream.Status != 0 {
		t.Errorf("listening told %v", err)
	}
	if first, next := client.NextID(), client.NextID(); first == next || first == jsonrpc.NoID {
		t.Errorf("ids are %s and %s", first, next)
	}
}

// A response that has the id of no request is what came in place of the answer, unless the
// answer comes behind it, or something was sent that such a response could be about.
func TestStdioStrayResponse(t *testing.T) {
	t.Parallel()
	under := func(ids ...string) []string {
		texts := make([]string, len(ids))
		for i, id := range ids {
			texts[i] = `{"jsonrpc":"2.0","id":` + id + `,"result":{}}`
		}
		return texts
	}
	for name, test := range map[string]struct {
		before func(context.Context, *scripted.Stdio)
		answer []string // to the request 1 or, behind what comes before, 2
		waited time.Duration
		want   string // the error
	}{
		"a string for a number": {nil, under(`"1"`), time.Second, `what came in place of the answer has the id "1", not 1`},
		"null":                  {nil, under(`null`), time.Second, `what came in place of the answer has the id null, not 1`},
		"no id": {
			nil, []string{`{"jsonrpc":"2.0","result":{}}`}, time.Second,
			`what came in place of the answer has the id none, not 1`,
		},
		"the answer behind it": {nil, under(`"1"`, `1`), 0, ""},
		"a line of a log":      {nil, []string{`{"result":`}, patient, "no answer in time: m was not answered within 1m0s"},
		"an earlier answer once more": {
			func(ctx context.Context, client *scripted.Stdio) { _, _ = client.Call(ctx, "first", nil) },
			under(`1`), patient, "no answer in time: m was not answered within 1m0s",
		},
		"behind a notification": {
			func(ctx context.Context, client *scripted.Stdio) { _ = client.Notify(ctx, "n", nil) },
			under(`null`), patient, "no answer in time: m was not answered within 1m0s",
		},
		"behind another request": {
			func(ctx context.Context, client *scripted.Stdio) { client.Start(ctx, "slow", nil) },
			under(`null`), patient, "no answer in time: m was not answered within 1m0s",
		},
		"behind what is illegal": {
			func(ctx context.Context, client *scripted.Stdio) {
				message := scripted.Outgoing{Raw: []byte(`{"id":7,"method":"first"}`), Deliberate: "names no version"}
				client.StartRaw(ctx, jsonrpc.IntID(7), "first", message, nil)
				_, _ = client.Await(ctx, 0, func(scripted.Received) bool { return true })
			},
			under(`null`), patient, "no answer in time: m was not answered within 1m0s",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				client := overStdio(t, patient, func(request jsonrpc.Message) []string {
					switch request.Method {
					case "first":
						return lines(echo(request))
					case "m":
						return test.answer
					}
					return nil
				})
				defer client.Close(t.Context())
				if test.before != nil {
					test.before(t.Context(), client)
				}
				began := time.Now()
				_, err := client.Call(t.Context(), "m", nil)
				if waited := time.Since(began); waited != test.waited || err == nil != (test.want == "") {
					t.Errorf("waited %s and told %v", waited, err)
				}
				if err == nil {
					return
				}
				if _, instead := errors.AsType[*scripted.InsteadError](err); err.Error() != test.want || instead != (test.waited < patient) {
					t.Errorf("told %v", err)
				}
			})
		})
	}
}

func TestStdioTimeouts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // without a clock, which could run out before anything was sent
		silent := overStdio(t, soon, func(jsonrpc.Message) []string { return nil })
		_, err := silent.Call(t.Context(), "m", nil)
		if !errors.Is(err, scripted.ErrTimeout) || err.Error() != "no answer in time: m was not answered within 20ms" {
			t.Errorf("told %v", err)
		}
		if silent.Idle() {
			t.Error("a request is unanswered, and the client idle")
		}
		_, err = silent.Await(t.Context(), 0, func(scripted.Received) bool { return true })
		if !errors.Is(err, scripted.ErrTimeout) {
			t.Errorf("told %v", err)
		}
		silent.Close(t.Context())

		deaf, _, _, _ := overPipes(t, soon)
		if err := deaf.Notify(t.Context(), "n", nil); !errors.Is(err, scripted.ErrConnection) || !errors.Is(err, transport.ErrTimeout) {
			t.Errorf("writing to a server that does not read told %v", err)
		}
		if _, err := deaf.Call(t.Context(), "m", nil); !errors.Is(err, scripted.ErrConnection) {
			t.Errorf("calling a server that does not read told %v", err)
		}
		deaf.Close(t.Context())
	})
}

func TestStdioServerThatGoes(t *testing.T) {
	t.Parallel()
	client, input, output, _ := overPipes(t, patient)
	go func() {
		input.Scan()
		_ = output.Close()
	}()
	_, err := client.Call(t.Context(), "m", nil)
	if !errors.Is(err, scripted.ErrConnection) || err.Error() != "the connection ended: the server closed its standard output" {
		t.Errorf("told %v", err)
	}
	if client.Alive() {
		t.Error("the connection is alive")
	}
	if _, err := client.Await(t.Context(), 0, func(scripted.Received) bool { return true }); !errors.Is(err, scripted.ErrConnection) {
		t.Errorf("told %v", err)
	}
}

func TestStdioServerThatClosesItsInput(t *testing.T) {
	t.Parallel()
	client, _, _, input := overPipes(t, patient)
	_ = input.Close()
	_, err := client.Call(t.Context(), "m", nil)
	if !errors.Is(err, scripted.ErrConnection) || !strings.Contains(err.Error(), "writing to the server's standard input") {
		t.Errorf("told %v", err)
	}
}

func TestStdioLineThatIsTooLong(t *testing.T) {
	t.Parallel()
	fromServer, toClient := io.Pipe()
	_, toServer := io.Pipe()
	log := transcript.NewLog("c1")
	client := scripted.OverStdio(transport.NewStdioPipes(toServer, fromServer, log, transport.Limits{Message: 100}), log, patient)
	defer client.Close(context.Background())
	go func() { _, _ = fmt.Fprintln(toClient, strings.Repeat("x", 200)) }()
	_, err := client.Await(t.Context(), 0, func(scripted.Received) bool { return true })
	if !errors.Is(err, transport.ErrTooLarge) || !errors.Is(err, scripted.ErrConnection) || !strings.Contains(err.Error(), "--max-message") {
		t.Errorf("told %v", err)
	}
}

func TestStdioCloseLeavesNothing(t *testing.T) {
	leavesNothing(t)
	client, input, output, fromClient := overPipes(t, patient)
	served := make(chan struct{})
	go func() {
		defer close(served)
		for input.Scan() {
			_, _ = fmt.Fprintf(output, "%s\n", jsonrpc.NewRequest(jsonrpc.IntID(1), "slow", nil))
		}
		_ = output.Close()
	}()
	client.Answer("slow", scripted.Silence)
	pending := client.Start(t.Context(), "m", nil)
	if _, err := client.Await(t.Context(), 0, func(received scripted.Received) bool { return received.Method == "slow" }); err != nil {
		t.Fatal(err)
	}
	client.Close(t.Context())
	<-served
	_ = fromClient.Close()
	if _, err := pending.Wait(t.Context()); !errors.Is(err, scripted.ErrConnection) {
		t.Errorf("told %v", err)
	}
	client.Close(t.Context()) // does nothing more
}

func TestDialUnknownTransport(t *testing.T) {
	t.Parallel()
	for text, to := range map[string]scripted.Target{
		`unknown transport "pigeon"`:                           {Transport: "pigeon"},
		`URL "localhost": must begin with http:// or https://`: {Transport: protocol.HTTP, URL: "localhost"},
	} {
		if _, err := scripted.Dial(to, transcript.NewLog("c1")); err == nil || err.Error() != text {
			t.Errorf("told %v, wanted %s", err, text)
		}
	}
	if _, err := scripted.Dial(scripted.Target{Transport: protocol.Stdio}, transcript.NewLog("c1")); err == nil {
		t.Error("a command of nothing was started")
	}
}

func TestReadHandshake(t *testing.T) {
	t.Parallel()
	for raw, test := range map[string]struct{ revision, text string }{
		`{"id":1,"result":{"protocolVersion":"2025-06-18","capabilities":[],"serverInfo":7}}`: {"2025-06-18", ""},
		`{"id":1,"result":{}}`:                            {"", ""},
		`{"id":1,"result":{"protocolVersion":20250618}}`:  {"", ""},
		`{"id":1,"error":{"code":-32602,"message":"no"}}`: {"", "initialize failed: error -32602: no"},
		`{"id":1,"result":[]}`:                            {"", "initialize was answered without a result object: "},
	} {
		handshake, err := scripted.ReadHandshake(scripted.Received{Message: jsonrpc.Parse([]byte(raw))})
		if handshake.Revision != test.revision || handshake.Capabilities != nil || handshake.ServerInfo != nil || handshake.Agreed != (test.text == "") ||
			test.text == "" && err != nil || test.text != "" && (err == nil || !strings.HasPrefix(err.Error(), test.text)) {
			t.Errorf("%s told %v, %+v", raw, err, handshake)
		}
	}
}

func TestRefusedHandshakeNamesRevisions(t *testing.T) {
	t.Parallel()
	for data, want := range map[string][]string{
		`{"supported":["2025-06-18",7,"2024-11-05"]}`: {"2025-06-18", "2024-11-05"},
		`{"supported":"2025-06-18"}`:                  nil,
		`[]`:                                          nil,
		`null`:                                        nil,
	} {
		raw := `{"id":1,"error":{"code":-32602,"message":"no","data":` + data + `}}`
		_, err := scripted.ReadHandshake(scripted.Received{Message: jsonrpc.Parse([]byte(raw))})
		refused, isRefused := errors.AsType[*scripted.RefusedError](err)
		if !isRefused || !cmp.Equal(want, refused.Supported()) {
			t.Errorf("%s told %v", data, err)
		}
	}
}

func TestCapabilities(t *testing.T) {
	t.Parallel()
	everything := scripted.Everything("2025-11-25")
	form, _ := everything["elicitation"].(map[string]any)
	if form["url"] == nil || len(everything) != 3 {
		t.Errorf("everything is %v", everything)
	}
	if older, _ := scripted.Everything("2025-06-18")["elicitation"].(map[string]any); len(older) != 0 {
		t.Errorf("elicitation of an older revision is %v", older)
	}
	fewer, more := everything.Without("roots"), everything.With("sampling", 1)
	if fewer["roots"] != nil || len(fewer) != 2 || more["sampling"] != 1 || len(everything) != 3 || everything["sampling"] == 1 {
		t.Errorf("fewer %v, more %v, of %v", fewer, more, everything)
	}
	hello := scripted.Hello("2025-06-18", scripted.Nothing())
	if hello["protocolVersion"] != "2025-06-18" || !cmp.Equal(hello["capabilities"], scripted.Capabilities{}) || hello["clientInfo"] == nil {
		t.Errorf("hello is %v", hello)
	}
}
