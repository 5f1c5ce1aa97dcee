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

// A client that answers no request of a method is waited for less, until it answers one.
func TestUnanswered(t *testing.T) {
	t.Parallel()
	unanswered := &Unanswered{}
	for i, step := range []struct {
		came bool
		want time.Duration // behind it
	}{
		{false, time.Minute}, {true, time.Minute}, {false, time.Minute}, {false, time.Second}, {false, time.Second}, {true, time.Minute},
	} {
		unanswered.note("sampling/createMessage", step.came)
		if got := unanswered.patience("sampling/createMessage", time.Minute); got != step.want {
			t.Errorf("behind the request %d, %s", i+1, got)
		}
	}
	unanswered.note("ping", false)
	unanswered.note("ping", false)
	if got := unanswered.patience("roots/list", time.Minute); got != time.Minute {
		t.Errorf("another method waits %s", got)
	}
	if got := unanswered.patience("ping", time.Millisecond); got != time.Millisecond {
		t.Errorf("a wait of a millisecond became %s", got)
	}
	(*Unanswered)(nil).note("ping", false)
	if got := (*Unanswered)(nil).patience("ping", time.Minute); got != time.Minute {
		t.Errorf("nothing known, %s", got)
	}
}
