package proxy_test

import (
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpconform/mcpconform/internal/proxy"
)

// BenchmarkRelay compares an exchange through the relay with a direct one, in the same run:
// the median and the slowest of a hundred.
func BenchmarkRelay(b *testing.B) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":{}}`)
	})}
	go func() { _ = server.Serve(listener) }()
	defer func() { _ = server.Close() }()
	direct := "http://" + listener.Addr().String() + "/mcp"

	recorder, err := proxy.NewRecorder(proxy.RecorderOptions{Directory: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	relay, err := proxy.NewRelay(direct, proxy.RelayOptions{Recorder: recorder})
	if err != nil {
		b.Fatal(err)
	}
	front, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	go func() { _ = relay.Serve(front) }()
	defer relay.Close()
	defer func() { _ = front.Close() }()

	for name, url := range map[string]string{"direct": direct, "relayed": "http://" + front.Addr().String() + "/mcp"} {
		b.Run(name, func(b *testing.B) {
			var took []time.Duration
			for b.Loop() {
				begun := time.Now()
				request, err := http.NewRequestWithContext(b.Context(), http.MethodPost, url, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
				if err != nil {
					b.Fatal(err)
				}
				request.Header.Set("Mcp-Session-Id", "s")
				answer, err := http.DefaultClient.Do(request)
				if err != nil {
					b.Fatal(err)
				}
				_, _ = io.Copy(io.Discard, answer.Body)
				_ = answer.Body.Close()
				took = append(took, time.Since(begun))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds()), "µs-median")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "µs-p99")
		})
	}
}
