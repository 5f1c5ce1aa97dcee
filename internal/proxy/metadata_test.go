package proxy_test

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/mcpconform/mcpconform/internal/proxy"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

const (
	forMetadata  = "GET /.well-known/oauth-protected-resource/mcp?x HTTP/1.1\r\n\r\n"
	forMessage   = "POST /mcp HTTP/1.1\r\n\r\n"
	metadataHead = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nX:  1\r\n"
)

// withBody is metadata with the length of its body.
func withBody(body string) string {
	return fmt.Sprintf("%sContent-Length: %d\r\n\r\n%s", metadataHead, len(body), body)
}

// Where a client of OAuth learns what its tokens are for, it learns the relay's origin; of
// all else nothing is changed.
func TestMetadataIsRewritten(t *testing.T) {
	t.Parallel()
	const named = `{ "x":{"resource":"http://SERVER/"}, "resource":"http://SERVER/mcp?a", "authorization_servers":["http://SERVER"]}`
	const moved = `{ "x":{"resource":"http://SERVER/"}, "resource":"http://RELAY/mcp?a", "authorization_servers":["http://SERVER"]}`
	const challenge = "HTTP/1.1 401 No\r\nContent-Length: 2\r\nwww-authenticate: Bearer realm=\"http://SERVER/\", resource_metadata=\"http://%s/.well-known/x\"\r\n\r\nhi"
	for name, test := range map[string]struct{ asked, sent, hears string }{
		"metadata":                    {forMetadata, withBody(named), withBody(moved)},
		"of the whole server":         {strings.Replace(forMetadata, "/mcp?x", "", 1), withBody(named), withBody(moved)},
		"asked for by a URL":          {strings.Replace(forMetadata, "GET ", "GET http://SERVER", 1), withBody(named), withBody(moved)},
		"behind interim answers":      {forMetadata, "HTTP/1.1 103 Early\r\n\r\n" + withBody(named), "HTTP/1.1 103 Early\r\n\r\n" + withBody(moved)},
		"with more behind it":         {forMetadata, withBody(named) + "HTTP/1.1 408 Late\r\n\r\n", withBody(moved) + "HTTP/1.1 408 Late\r\n\r\n"},
		"until the end":               {forMetadata, metadataHead + "\r\n" + named, withBody(moved)},
		"in chunks":                   {forMetadata, fmt.Sprintf("%sTransfer-Encoding: chunked\r\n\r\n4;x\r\n%s\r\n%x\r\n%s\r\n0\r\n\r\n", metadataHead, named[:4], len(named)-4, named[4:]), withBody(moved)},
		"the origin alone":            {forMetadata, withBody(`{"resource":"http:\/\/server"}`), withBody(`{"resource":"http://RELAY"}`)},
		"a challenge":                 {forMessage, fmt.Sprintf(challenge, "SERVER"), fmt.Sprintf(challenge, "RELAY")},
		"a challenge of another":      {forMessage, fmt.Sprintf(challenge, "SERVER.example"), fmt.Sprintf(challenge, "SERVER.example")},
		"a resource elsewhere":        {forMetadata, withBody(`{"resource":"http://SERVER.example/mcp"}`), withBody(`{"resource":"http://SERVER.example/mcp"}`)},
		"a resource that is no text":  {forMetadata, withBody(`{"resource":["http://SERVER/"]}`), withBody(`{"resource":["http://SERVER/"]}`)},
		"no JSON":                     {forMetadata, withBody(`{"resource":"http://SERVER/`), withBody(`{"resource":"http://SERVER/`)},
		"no object":                   {forMetadata, withBody(`["resource","http://SERVER/"]`), withBody(`["resource","http://SERVER/"]`)},
		"cut off":                     {forMetadata, withBody(named)[:150], withBody(named)[:150]},
		"in a coding":                 {forMetadata, strings.Replace(withBody(named), "X:", "Content-Encoding: gzip\r\nX:", 1), strings.Replace(withBody(named), "X:", "Content-Encoding: gzip\r\nX:", 1)},
		"too long":                    {forMetadata, withBody(strings.Repeat(" ", 80<<10) + named), withBody(strings.Repeat(" ", 80<<10) + named)},
		"the same from another place": {forMessage, withBody(named), withBody(named)},
		"not asked for":               {"", withBody(named), withBody(named)},
		"no HTTP":                     {forMetadata, "HTTX " + named, "HTTX " + named},
		"a head without end":          {forMetadata, metadataHead + named, metadataHead + named},
		"a bad chunk":                 {forMetadata, metadataHead + "Transfer-Encoding: chunked\r\n\r\nzz\r\n", metadataHead + "Transfer-Encoding: chunked\r\n\r\nzz\r\n"},
	} {
		for _, size := range []int{1, 7, 10 << 10, 1 << 14} {
			if long := len(test.sent) > 10<<10; long != (size == 10<<10) {
				continue
			}
			var heard bytes.Buffer
			to, request, flush := proxy.NewMover(&heard, "http://SERVER", "RELAY")
			if test.asked != "" {
				request(test.asked)
			}
			for piece := range slices.Chunk([]byte(test.sent), size) {
				if n, err := to.Write(piece); err != nil || n != len(piece) {
					t.Errorf("%s: wrote %d of %d, %v", name, n, len(piece), err)
				}
			}
			flush()
			if heard.String() != test.hears {
				t.Errorf("%s, in pieces of %d: heard\n%.500q, wanted\n%.500q", name, size, heard.String(), test.hears)
			}
		}
	}
}

// One answer after another is rewritten, and none is held back once its head has come; the
// recording has what the server said, with a note.
func TestMetadataIsNoted(t *testing.T) {
	t.Parallel()
	var at string
	server := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+at+`/.well-known/oauth-protected-resource/mcp"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"resource":%q}`, at+"/mcp")
	})
	url := serve(t, server)
	at = strings.TrimSuffix(url, "/mcp")
	for _, rewrites := range []bool{true, false} {
		relayed := relay(t, proxy.RelayOptions{RewriteMetadata: rewrites, ServerHost: true}, url)
		here := at
		if rewrites {
			here = "http://" + relayed.address
		}
		for range 2 {
			answer, err := http.Post("http://"+relayed.address+"/mcp", "application/json", strings.NewReader("{}"))
			if err != nil {
				t.Fatal(err)
			}
			_ = answer.Body.Close()
			if found, want := answer.Header.Get("WWW-Authenticate"), `Bearer resource_metadata="`+here+`/.well-known/oauth-protected-resource/mcp"`; found != want {
				t.Errorf("the challenge is %s, wanted %s", found, want)
			}
			if text, _ := ask(t, http.DefaultClient, http.MethodGet, "http://"+relayed.address+"/.well-known/oauth-protected-resource/mcp", ""); text != fmt.Sprintf(`{"resource":%q}`, here+"/mcp") {
				t.Errorf("metadata is %s", text)
			}
		}
		http.DefaultClient.CloseIdleConnections()
		noted := 0
		for _, one := range relayed.stop() {
			for _, event := range one.events {
				if event.Note == "passed on with the origin of the proxy" {
					noted++
				}
				if said := fmt.Sprintf("%+v %s", event.HTTP, event.Raw); strings.Contains(said, `resource":"http`) && !strings.Contains(said, at) {
					t.Errorf("recorded %s", said)
				}
			}
			if want := map[bool]transcript.Grade{true: transcript.Messages, false: transcript.Heads}[rewrites && one.header.Unjudged]; one.header.Grade != want {
				t.Errorf("%+v is of the grade %s, wanted %s", one.header, one.header.Grade, want)
			}
		}
		if want := map[bool]int{true: 4, false: 0}[rewrites]; noted != want {
			t.Errorf("noted %d times, wanted %d", noted, want)
		}
	}
}
