package scripted

import (
	"testing"
	"time"
)

func TestTempo(t *testing.T) {
	t.Parallel()
	const most = 5 * time.Second
	tempo := &Tempo{}
	tempo.note("ping", 3*time.Millisecond)
	tempo.note("ping", time.Millisecond)
	tempo.note("tools/list", 100*time.Millisecond)
	tempo.note("initialize", time.Second)
	tempo.note("tools/call", time.Millisecond)
	tempo.note("subscriptions/listen", time.Millisecond)
	for method, wanted := range map[string]time.Duration{
		"ping":       leastWait,
		"tools/list": 2 * time.Second,
		"initialize": most,
		"tools/call": most, // a tool may take longer than another

		"subscriptions/listen": most, // until it is over
		"prompts/list":         most, // nothing is known of it
	} {
		if got := tempo.patience(method, most); got != wanted {
			t.Errorf("%s: %s, wanted %s", method, got, wanted)
		}
	}
	if got := (*Tempo)(nil).patience("ping", most); got != most {
		t.Errorf("without a tempo: %s, wanted %s", got, most)
	}
	if got := tempo.patience("ping", time.Millisecond); got != time.Millisecond {
		t.Errorf("where less is allowed: %s", got)
	}
}
