package forms_test

import (
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/mcpconform/mcpconform/internal/forms"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/internal/transport"
	"github.com/mcpconform/mcpconform/schema"
)

func TestNamesAreUnique(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	once := func(name string) {
		if seen[name] || strings.TrimSpace(name) == "" {
			t.Errorf("the name %q stands twice, or is empty", name)
		}
		seen[name] = true
	}
	for _, form := range append(append([]forms.Form{}, forms.Requests...), forms.Hello...) {
		once(form.Name)
	}
	seen = map[string]bool{}
	for _, form := range forms.Answers {
		once(form.Name)
	}
}

// client is one that is never connected.
func client(t *testing.T) *scripted.Client {
	t.Helper()
	connection, err := scripted.Dial(
		scripted.Target{Transport: protocol.HTTP, URL: "http://127.0.0.1:1/"}, transcript.NewLog("forms"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { connection.Close(t.Context()) })
	return connection.Client
}

// TestRequestsAreValid makes sure that no form of a request breaks the schema of a
// revision at which it is used.
func TestRequestsAreValid(t *testing.T) {
	t.Parallel()
	for _, revision := range protocol.Released() {
		known, err := schema.For(revision)
		if err != nil {
			t.Fatal(err)
		}
		for _, transportName := range protocol.Transports() {
			all := forms.Of(revision, transportName, forms.ID, forms.Token, forms.Meta, forms.Params)
			for _, form := range all {
				client := client(t)
				if protocol.Has(revision, protocol.PerRequestMeta) {
					client.Speak(revision, scripted.Everything(revision))
				}
				for _, plain := range []forms.Message{
					{ID: jsonrpc.IntID(1), Method: "tools/list"},
					{ID: jsonrpc.IntID(1), Method: "tools/call", Params: forms.Object{"name": "a", "arguments": forms.Object{}}},
				} {
					raw := forms.Write(plain, []forms.Form{form}).Bytes(client)
					message := jsonrpc.Parse(raw)
					if message.Kind != jsonrpc.Request {
						t.Errorf("%s, %s: %s is no request", revision, form.Name, raw)
					}
					if found := known.ValidateRequest(plain.Method, message.Object); len(found) > 0 {
						t.Errorf("%s, %s: %v", revision, form.Name, found)
					}
				}
			}
		}
	}
}

// TestHellosAreValid does so for what a client says of itself.
func TestHellosAreValid(t *testing.T) {
	t.Parallel()
	for _, revision := range protocol.Released() {
		if !protocol.Has(revision, protocol.Handshake) {
			continue
		}
		known, err := schema.For(revision)
		if err != nil {
			t.Fatal(err)
		}
		for _, form := range forms.HelloAt(revision, protocol.HTTP) {
			hello := scripted.Hello(revision, scripted.Everything(revision))
			hello["capabilities"] = forms.Object(scripted.Everything(revision))
			plain := forms.Message{ID: jsonrpc.IntID(1), Method: "initialize", Params: hello}
			raw := forms.Write(plain, []forms.Form{form}).Bytes(client(t))
			if found := known.ValidateRequest("initialize", jsonrpc.Parse(raw).Object); len(found) > 0 {
				t.Errorf("%s, %s: %v", revision, form.Name, found)
			}
		}
	}
}

// TestFormsLeaveThePlainOneAlone makes sure that a form changes a copy.
func TestFormsLeaveThePlainOneAlone(t *testing.T) {
	t.Parallel()
	params := forms.Object{"capabilities": forms.Object{}, "clientInfo": forms.Object{"name": "a"}, "_meta": forms.Object{}}
	before := jsonrpc.Text(params)
	for _, form := range append(append([]forms.Form{}, forms.Requests...), forms.Hello...) {
		forms.Write(forms.Message{ID: jsonrpc.IntID(1), Method: "m", Params: params}, []forms.Form{form})
	}
	if after := jsonrpc.Text(params); after != before {
		t.Errorf("wanted %s, found %s", before, after)
	}
}

func TestFanHasEachFormOnce(t *testing.T) {
	t.Parallel()
	all := forms.Of(protocol.Released()[0], protocol.HTTP, forms.ID, forms.Meta, forms.Params, forms.Spelling, forms.Head)
	count := map[string]int{}
	for _, together := range forms.Fan(all) {
		classes := map[forms.Class]bool{}
		for _, form := range together {
			count[form.Name]++
			if classes[form.Class] || form.Alone && len(together) > 1 {
				t.Errorf("%s stands beside another one of its class, or not alone", form.Name)
			}
			classes[form.Class] = true
		}
	}
	for _, form := range all {
		if count[form.Name] != 1 {
			t.Errorf("%s stands in %d messages", form.Name, count[form.Name])
		}
	}
}

// TestEventsSayTheSame reads each form of event streams as any client should.
func TestEventsSayTheSame(t *testing.T) {
	t.Parallel()
	const message = `{"jsonrpc":"2.0","id":1,"result":{"a":"b c"}}`
	for _, form := range forms.Answers {
		style := forms.Style([]forms.ServerForm{form}, "2025-11-25")
		if style.Event == nil && style.Begin == nil {
			continue
		}
		text := transport.EventText(nil, "", []byte(message))
		if style.Event != nil {
			text = style.Event([]byte(message))
		}
		reader := transport.NewEventReader(strings.NewReader(string(style.Begin)+string(text)), 1<<20)
		var found []string
		for {
			event, err := reader.Next()
			if err != nil {
				break
			}
			if event.Dispatched() && (event.Name == "" || event.Name == "message") {
				found = append(found, jsonrpc.Text(jsonrpc.Parse(event.Data).Object))
			}
		}
		if len(found) != 1 || found[0] != jsonrpc.Text(jsonrpc.Parse([]byte(message)).Object) {
			t.Errorf("%s: found %q", form.Name, found)
		}
	}
}

// TestHeadsNameTheSame makes sure that each head has what a client must send.
func TestHeadsNameTheSame(t *testing.T) {
	t.Parallel()
	for _, form := range forms.Of(protocol.Released()[0], protocol.HTTP, forms.Head) {
		plain := http.Header{"Content-Type": {"application/json"}, "Accept": {scripted.AcceptBoth}}
		found := http.Header{}
		for name, values := range forms.Write(forms.Message{}, []forms.Form{form}).Head(plain) {
			found.Set(name, strings.ToLower(strings.Join(values, ",")))
		}
		for _, media := range []string{"application/json", "text/event-stream"} {
			if !strings.Contains(found.Get("Accept"), media) {
				t.Errorf("%s: Accept has no %s", form.Name, media)
			}
		}
		if transport.MediaType(found.Get("Content-Type")) != "application/json" {
			t.Errorf("%s: Content-Type is %q", form.Name, found.Get("Content-Type"))
		}
	}
}

// TestResultsAreValid makes sure that no form of a result breaks the schema of a revision
// at which it is used.
func TestResultsAreValid(t *testing.T) {
	t.Parallel()
	plain := map[string]forms.Object{
		"tools/list":     {"tools": []any{forms.Object{"name": "a", "inputSchema": forms.Object{"type": "object"}}}},
		"resources/list": {"resources": []any{forms.Object{"name": "a", "uri": "test://a"}}},
		"prompts/list":   {"prompts": []any{forms.Object{"name": "a"}}},
		"tools/call":     {"content": []any{}},
		"initialize":     {"capabilities": forms.Object{}, "serverInfo": forms.Object{"name": "a", "version": "1"}},
	}
	for _, revision := range protocol.Released() {
		known, err := schema.For(revision)
		if err != nil {
			t.Fatal(err)
		}
		for _, form := range forms.AnswersAt(revision, protocol.HTTP) {
			style := forms.Style([]forms.ServerForm{form}, revision)
			if style.Result == nil {
				continue
			}
			for method, result := range plain {
				if method == "initialize" && !protocol.Has(revision, protocol.Handshake) {
					continue
				}
				result["protocolVersion"] = revision
				if protocol.Has(revision, protocol.ResultTypes) {
					result["resultType"], result["ttlMs"], result["cacheScope"] = "complete", 0, "private"
				}
				given := forms.Object{}
				maps.Copy(given, result)
				style.Result(method, given)
				decoded, _ := jsonrpc.Decode([]byte(jsonrpc.Text(given)))
				if found := known.ValidateResult(method, decoded); len(found) > 0 {
					t.Errorf("%s, %s, %s: %v", revision, form.Name, method, found)
				}
			}
		}
	}
}

// What fails a client in the forms of event streams is what its page obliges it to take: a byte
// order mark, which another standard allows, is for a requirement of its own.
func TestUsualStreamsAreThoseOfTheirPage(t *testing.T) {
	t.Parallel()
	usual := forms.Usual(true)
	for _, form := range usual {
		if form.Requirement != "transports.http.request.both-answers" {
			t.Errorf("%s: %s", form.Name, form.Requirement)
		}
	}
	if len(usual) < 3 {
		t.Errorf("there are %d: %s", len(usual), forms.ServerNames(usual))
	}
}
