package importer_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcpconform/mcpconform/internal/importer"
	"github.com/mcpconform/mcpconform/internal/protocol"
)

// posts is an entry of a HAR, in the second of a minute in which it began: what is sent, with
// which headers, and what comes as which type.
func posts(second int, url, headers, sent, kind, came string) string {
	method := "POST"
	if sent == "" {
		method = "GET"
	}
	return fmt.Sprintf(`{"startedDateTime":"2026-01-02T03:04:%02dZ","time":100,"timings":{"send":0,"wait":50,"receive":50},
		"request":{"method":%q,"url":%q,"headers":[%s],"postData":{"text":%q}},
		"response":{"status":200,"headers":[{"name":"content-type","value":%q}],"content":{"text":%q}}}`,
		second, method, url, headers, sent, kind, came)
}

// How the exchanges of a HAR are told apart.
func TestReadConnectionsOfHAR(t *testing.T) {
	t.Parallel()
	const url, json, stream = "https://h.example/mcp", "application/json", "text/event-stream"
	const modern = `{"name":"MCP-Protocol-Version","value":"2026-07-28"}`
	session := func(id string) string { return `{"name":"Mcp-Session-Id","value":"` + id + `"}` }
	ping, pong := `{"jsonrpc":"2.0","id":1,"method":"ping"}`, `{"jsonrpc":"2.0","id":1,"result":{}}`
	for name, test := range map[string]struct {
		entries []string
		want    string // what was said in each, and its transport
	}{
		"a handshake without a session": {
			[]string{posts(1, url, "", hello, json, reply), posts(2, url, "", ping, json, pong)}, "http ><><?",
		},
		"two handshakes":                    {[]string{posts(1, url, "", hello, json, reply), posts(2, url, "", hello, json, reply)}, "http ><? http ><?"},
		"two sessions, joined":              {[]string{posts(1, url, session("a"), ping, json, pong), posts(2, url, session("b"), ping, json, pong)}, "joined http ><? joined http ><?"},
		"stateless, one id twice":           {[]string{posts(1, url, modern, ping, json, pong), posts(2, url, modern, ping, json, pong)}, "http ><? http ><?"},
		"HTTP with SSE, without times":      {[]string{posts(1, url, "", "", stream, "event: endpoint\ndata: /say\n\ndata: "+reply+"\n\n"), posts(2, "https://h.example/say", "", hello, "", "")}, "sse ?>?"},
		"a stream of a POST, without times": {[]string{posts(1, url, "", hello, stream, "id: 1\ndata:\n\ndata: "+reply+"\n\n")}, "http ><?"},
		"messages of stdio": {
			[]string{strings.Replace(posts(1, "stdio://a", "", hello, json, reply), `"request":{`, `"request":{"httpVersion":"JSON-RPC/2.0",`, 1)}, "stdio ><?",
		},
		"a page beside": {[]string{posts(1, "https://h.example/", "", "", "text/html", "<p>"), posts(2, url, "", hello, json, reply)}, "http ><?"},
		"no body":       {[]string{strings.Replace(posts(1, url, session("a"), hello, json, reply), `"postData"`, `"bodySize":9,"x"`, 1)}, "joined http ?<?"},
	} {
		found, err := importer.Read(strings.NewReader(`{"log":{"version":"1.2","creator":{"name":"a"},"entries":[` + strings.Join(test.entries, ",\n") + `]}}`))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var got []string
		for _, one := range found.Connections {
			if one.Header.Joined {
				got = append(got, "joined")
			}
			got = append(got, one.Header.Transport, said(one))
			if one.Header.Role != "" || len(one.Header.Lacks) == 0 || one.Header.Transport == protocol.HTTP && one.Events[0].Stream == "" {
				t.Errorf("%s: %+v", name, one.Header)
			}
		}
		if strings.Join(got, " ") != test.want {
			t.Errorf("%s: %s, wanted %s", name, strings.Join(got, " "), test.want)
		}
	}
}
