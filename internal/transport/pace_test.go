package transport_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/internal/transport"
)

// A request that is turned away with HTTP 429 is sent again, and the record shows one
// request with one answer; a server that wants longer, or takes nothing at all, is believed.
func TestPace(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]struct {
		refused      int32 // of the requests, the first
		after        string
		paced        bool
		status, came int
	}{
		"turned away once":    {1, "1", true, http.StatusOK, 2},
		"without Retry-After": {1, "", true, http.StatusOK, 2},
		"turned away always":  {9, "0", true, http.StatusTooManyRequests, 3},
		"asks for longer":     {1, "60", true, http.StatusTooManyRequests, 1},
		"until a date":        {1, time.Now().Add(time.Hour).UTC().Format(http.TimeFormat), true, http.StatusTooManyRequests, 1},
		"nobody heeds it":     {1, "1", false, http.StatusTooManyRequests, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var came atomic.Int32
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if came.Add(1) <= one.refused {
					w.Header().Set("Retry-After", one.after)
					w.WriteHeader(http.StatusTooManyRequests)
				}
			}))
			t.Cleanup(server.Close)
			options := transport.HTTPOptions{URL: server.URL}
			if one.paced {
				options.Pace = &transport.Pace{}
			}
			log := transcript.NewLog("one")
			client, err := transport.NewHTTP(options, log)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(client.Close)
			exchange, err := client.Do(context.Background(), transport.Request{Method: "POST", Body: []byte("{}")})
			if err != nil {
				t.Fatal(err)
			}
			if exchange.Status != one.status || int(came.Load()) != one.came {
				t.Errorf("HTTP %d after %d requests, want %d after %d", exchange.Status, came.Load(), one.status, one.came)
			}
			kinds := map[transcript.Kind]int{}
			for _, event := range log.Events() {
				kinds[event.Kind]++
			}
			if kinds[transcript.Head] != 2 || kinds[transcript.Message] != 1 || kinds[transcript.Remark] != one.came-1 {
				t.Errorf("the record has %v", kinds)
			}
		})
	}
}
