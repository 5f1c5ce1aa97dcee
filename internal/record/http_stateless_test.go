package record_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/record"
)

// Headers of a client of the stateless era.
const (
	stateless = "Mcp-Protocol-Version: 2026-07-28"
	method    = "Mcp-Method: "
)

// In an era without sessions a change counts what passes on all exchanges.
func TestHTTPCountsWithoutSessions(t *testing.T) {
	t.Parallel()
	_, address := faulty(t, one("response-to: ping, nth: 2", "{replace: /result, with: 1}"))
	for i, want := range []string{`{}`, `1`, `{}`} {
		asked := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"ping"}`, i)
		answer := ask(t, address, post(asked, stateless))
		if result, _ := jsonrpc.Parse([]byte(answer.Body)).Result(); fmt.Sprint(result) != strings.ReplaceAll(want, "{}", "map[]") {
			t.Errorf("answer %d is %s, wanted the result %s", i, answer.Body, want)
		}
	}
}

// listening is a server whose streams of subscriptions stay open.
func listening(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	message := jsonrpc.Parse(body)
	if message.Method != "subscriptions/listen" {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{}}`, message.ID)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, ": welcome\n\n")
	_ = http.NewResponseController(w).Flush()
	<-r.Context().Done()
}

func TestHTTPSaysOnSubscriptions(t *testing.T) {
	t.Parallel()
	served := httptest.NewServer(http.HandlerFunc(listening))
	t.Cleanup(served.CloseClientConnections)
	address := before(t, served.Listener.Addr().String(), record.HTTPOptions{
		Changes: injection(t, one("direction: in, method: ping", "{send: {x: 1}, direction: out, stream: get}")).Changes(),
	})
	stream := open(t.Context(), t, http.MethodPost, address,
		`{"jsonrpc":"2.0","id":7,"method":"subscriptions/listen"}`, strings.SplitN(stateless, ": ", 2)...)
	piece(t, stream, ": welcome\n\n")
	ask(t, address, post(ping, stateless))
	piece(t, stream, "data: {\"x\":1}\n\n")
}

// Headers that mirror a body follow it; those that did not, and those of an era
// without, stay.
func TestHTTPMirrorsWhatItChanges(t *testing.T) {
	t.Parallel()
	const asked = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}`
	for name, test := range map[string]struct {
		change string
		sent   []string
		got    []string // method, name
	}{
		"follow":         {one("direction: in, method: tools/call", "{replace: /params/name, with: ä}"), []string{method + "tools/call", "Mcp-Name: a"}, []string{"tools/call", "=?base64?w6Q=?="}},
		"go":             {one("direction: in, method: tools/call", "{replace: /method, with: tools/list}"), []string{method + "tools/call", "Mcp-Name: a"}, []string{"tools/list", ""}},
		"stay wrong":     {one("direction: in, method: tools/call", "{replace: /params/name, with: b}"), []string{method + "tools/call", "Mcp-Name: z"}, []string{"tools/call", "z"}},
		"stay away":      {one("direction: in, method: tools/call", "{replace: /params/name, with: b}"), []string{method + "tools/call"}, []string{"tools/call", ""}},
		"not without":    {one("direction: in, method: tools/call", "{replace: /params/name, with: b}"), nil, []string{"", ""}},
		"of what is new": {one("direction: in, method: tools/call", "{drop: true}, {answer: {}}, {send: {jsonrpc: '2.0', id: 9, method: prompts/get, params: {name: p}}}"), []string{method + "tools/call", "Mcp-Name: a"}, []string{"prompts/get", "p"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := make(chan []string, 1)
			served := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				got <- []string{r.Header.Get("Mcp-Method"), r.Header.Get("Mcp-Name")}
			}))
			t.Cleanup(served.Close)
			address := before(t, served.Listener.Addr().String(), record.HTTPOptions{Changes: injection(t, test.change).Changes()})
			ask(t, address, post(asked, append([]string{stateless}, test.sent...)...))
			if found := <-got; !slices.Equal(found, test.got) {
				t.Errorf("the target gets %q, wanted %q", found, test.got)
			}
		})
	}
}
