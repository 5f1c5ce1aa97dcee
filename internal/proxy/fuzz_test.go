package proxy_test

import (
	"bytes"
	"slices"
	"testing"

	"github.com/mcpconform/mcpconform/internal/proxy"
)

// FuzzStayer shows that nothing is lost, added or moved in what a server sends, in pieces of
// any size: a relay of the server's own name passes on what came.
func FuzzStayer(f *testing.F) {
	for _, text := range []string{
		"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\nevent: endpoint\ndata: http://a/m\n\n: x\n\ndata: y\n\n",
		"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n: hi\n\nid: 1\r\rretry: 5\nevent: endpoint\r\ndata: http://a/\r\n\r\n",
		"HTTP/1.1 202 Accepted\r\n\r\nHTTP/1.1 200 OK\r\n", "\x00", "",
	} {
		for _, size := range []int{1, 3, 100} {
			f.Add([]byte(text), size)
		}
	}
	f.Fuzz(func(t *testing.T, text []byte, size int) {
		if bytes.Contains(bytes.ToLower(text), []byte("chunked")) {
			t.Skip("chunks are written anew")
		}
		var heard bytes.Buffer
		to, flush := proxy.NewStayer(&heard, "http://a", "a")
		for piece := range slices.Chunk(text, max(1, size)) {
			if n, err := to.Write(piece); err != nil || n != len(piece) {
				t.Fatalf("wrote %d of %d, %v", n, len(piece), err)
			}
		}
		if flush(); !bytes.Equal(heard.Bytes(), text) {
			t.Errorf("heard %q", heard.Bytes())
		}
	})
}
