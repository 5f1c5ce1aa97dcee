package transcript_test

import (
	"bytes"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

func message(raw []byte) transcript.Event {
	return transcript.Event{From: protocol.Server, Kind: transcript.Message, Raw: raw}
}

func TestLogKeepsOrder(t *testing.T) {
	t.Parallel()
	log := transcript.NewLog("c1")
	if log.Connection() != "c1" || log.Len() != 0 || len(log.Events()) != 0 {
		t.Fatal("a new log is not empty")
	}
	raw := []byte("one")
	when := time.Date(2025, 11, 25, 1, 2, 3, 0, time.UTC)
	for number, event := range []transcript.Event{message(raw), {Kind: transcript.Remark, At: when, Connection: "another", Sequence: 99}} {
		if sequence := log.Append(event); sequence != number {
			t.Errorf("event %d has the number %d", number, sequence)
		}
	}
	copy(raw, "two")

	events := log.Events()
	if string(events[0].Raw) != "one" {
		t.Errorf("raw is shared with the caller: %q", events[0].Raw)
	}
	if events[0].At.IsZero() || !events[1].At.Equal(when) {
		t.Errorf("times are %v and %v", events[0].At, events[1].At)
	}
	for number, event := range events {
		if event.Sequence != number || event.Connection != "c1" {
			t.Errorf("event %d is %d of %q", number, event.Sequence, event.Connection)
		}
	}
	events[0].Note = "changed"
	if log.Events()[0].Note != "" {
		t.Error("the events are the log's own")
	}
}

func TestLogSince(t *testing.T) {
	t.Parallel()
	log := transcript.NewLog("c1")
	for range 3 {
		log.Append(transcript.Event{Kind: transcript.Remark})
	}
	for from, want := range map[int]int{0: 3, 2: 1, 3: 0, 10: 0} {
		events := log.Since(from)
		if len(events) != want || want > 0 && events[0].Sequence != from {
			t.Errorf("since %d there are %v", from, events)
		}
	}
}

func TestLogBoundsEvents(t *testing.T) {
	t.Parallel()
	log := transcript.NewLog("c1")
	const beyond = 7
	for number := range transcript.MaxEvents + beyond {
		if sequence := log.Append(transcript.Event{Kind: transcript.Remark}); sequence != number {
			t.Fatalf("event %d has the number %d", number, sequence)
		}
	}
	if len(log.Events()) != transcript.MaxEvents || log.Dropped() != beyond || log.Len() != transcript.MaxEvents+beyond {
		t.Errorf("%d are kept, %d dropped, %d in all", len(log.Events()), log.Dropped(), log.Len())
	}
	if rest := log.Since(transcript.MaxEvents + 1); len(rest) != 0 {
		t.Errorf("%d events are kept beyond the bound", len(rest))
	}
}

func TestLogCutsWhatDoesNotFit(t *testing.T) {
	t.Parallel()
	log := transcript.NewLog("c1")
	big := bytes.Repeat([]byte("x"), 10<<20)
	for range 4 {
		log.Append(message(big))
	}
	log.Append(message([]byte(`{"small":true}`)))
	log.Append(transcript.Event{Kind: transcript.Message, Raw: big[:1<<20], Size: 99 << 20})

	events := log.Events()
	for number, want := range []struct{ kept, size int }{
		{10 << 20, 0}, {10 << 20, 0}, {4 << 10, 10 << 20}, {4 << 10, 10 << 20}, {14, 0}, {1 << 20, 99 << 20},
	} {
		if kept, size := len(events[number].Raw), events[number].Size; kept != want.kept || size != want.size {
			t.Errorf("of event %d %d bytes are kept of %d, wanted %d of %d", number, kept, size, want.kept, want.size)
		}
	}
	if log.Dropped() != 0 {
		t.Errorf("%d events were dropped", log.Dropped())
	}

	log.Append(message(big[:4<<20]))
	log.Append(transcript.Event{Kind: transcript.Message, Raw: big, Size: 99 << 20})
	if cut := log.Events()[7]; len(cut.Raw) != 4<<10 || cut.Size != 99<<20 {
		t.Errorf("what was cut before is now %d bytes of %d", len(cut.Raw), cut.Size)
	}
}

// A flood is bounded in bytes, in each field that a peer can make long.
func TestLogBoundsBytes(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 4<<10)
	for name, event := range map[string]transcript.Event{
		"messages":    message([]byte(long)),
		"event ids":   {Kind: transcript.Block, SSE: &transcript.SSE{ID: &long}},
		"event names": {Kind: transcript.Block, SSE: &transcript.SSE{Name: long}},
		"comments":    {Kind: transcript.Block, SSE: &transcript.SSE{Comments: []string{long}}},
		"flaws":       {Kind: transcript.Block, SSE: &transcript.SSE{Flaws: []string{long}}},
		"headers":     {Kind: transcript.Head, HTTP: &transcript.HTTP{Header: http.Header{"X": {long}}}},
		"URLs":        {Kind: transcript.Head, HTTP: &transcript.HTTP{URL: long}},
		"notes":       {Kind: transcript.Failure, Note: long},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log := transcript.NewLog("c1")
			const appended = 10_000 // 40 MiB
			for range appended {
				log.Append(event)
			}
			log.Append(transcript.Event{Kind: transcript.Close})
			kept := len(log.Events())
			if kept*len(long) < transcript.MaxBytes || kept*len(long) > transcript.MaxBytes+8<<20 {
				t.Errorf("%d MiB are kept", kept*len(long)>>20)
			}
			if log.Len() != appended+1 || log.Dropped() != appended+1-kept {
				t.Errorf("of %d events %d are dropped, %d kept", log.Len(), log.Dropped(), kept)
			}
			for number, event := range log.Events() {
				if event.Sequence != number {
					t.Fatalf("event %d has the number %d", number, event.Sequence)
				}
			}
		})
	}
}

func TestLogIsSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	log := transcript.NewLog("c1")
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 100 {
				sequence := log.Append(message([]byte("x")))
				if since := log.Since(sequence); len(since) == 0 || since[0].Sequence != sequence {
					t.Errorf("event %d is not found", sequence)
				}
			}
		})
	}
	all.Wait()
	for number, event := range log.Events() {
		if event.Sequence != number {
			t.Fatalf("event %d has the number %d", number, event.Sequence)
		}
	}
	if log.Len() != 800 {
		t.Errorf("%d events", log.Len())
	}
}
