package scripted

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/internal/transport"
)

// countingWire counts the answers that a client gives.
type countingWire struct{ answers int }

func (w *countingWire) send(context.Context, Outgoing, jsonrpc.ID) *Delivery { return newDelivery() }
func (w *countingWire) answer(context.Context, Outgoing)                     { w.answers++ }
func (w *countingWire) listen(context.Context) *Delivery                     { return newDelivery() }
func (w *countingWire) close(context.Context)                                {}

func TestFloodEndsTheConnection(t *testing.T) {
	t.Parallel()
	long := make([]byte, 1<<20)
	ping := jsonrpc.Parse(jsonrpc.NewRequest(jsonrpc.IntID(1), "ping", nil))
	big := ping
	big.Raw = long
	for name, test := range map[string]struct {
		received Received
		kept     int
	}{
		"of messages":        {Received{Message: ping}, maxReceived + 1},
		"of bytes":           {Received{Message: big}, maxReceivedBytes>>20 + 1},
		"of bytes of blocks": {Received{Message: ping, Event: &transport.Event{Raw: long}}, maxReceivedBytes>>20 + 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wire := &countingWire{}
			client := newClient(transcript.NewLog("c1"), time.Minute)
			client.wire = wire
			for range test.kept {
				if !client.Alive() {
					t.Fatal("ended early")
				}
				client.take(t.Context(), test.received)
			}
			client.take(t.Context(), test.received)
			if client.Alive() || client.Mark() != test.kept || wire.answers != test.kept {
				t.Errorf("alive %t; %d messages are kept and %d answered, wanted %d", client.Alive(), client.Mark(), wire.answers, test.kept)
			}
			_, err := client.Await(t.Context(), test.kept, func(Received) bool { return true })
			if !errors.Is(err, ErrFlood) {
				t.Errorf("told %v", err)
			}
			if _, err := client.Await(t.Context(), 0, func(Received) bool { return true }); err != nil {
				t.Errorf("what came before is lost: %v", err)
			}
		})
	}
}

// The first reason for the end of a connection stays.
func TestFirstReasonStays(t *testing.T) {
	t.Parallel()
	inbox := newInbox()
	first := errors.New("first")
	inbox.finish(first)
	inbox.finish(errors.New("second"))
	if inbox.add(Received{}) || inbox.len() != 0 {
		t.Error("something was received after the end")
	}
	if _, err := inbox.await(t.Context(), 0, func(Received) bool { return true }, nil); !errors.Is(err, first) {
		t.Errorf("told %v", err)
	}
}

// An answer that came is found even when the exchange that brought it is over.
func TestAwaitLooksBeforeItGivesUp(t *testing.T) {
	t.Parallel()
	inbox := newInbox()
	over := make(chan struct{})
	close(over)
	all := func(Received) bool { return true }
	if _, err := inbox.await(t.Context(), 0, all, over); !errors.Is(err, errOtherwise) {
		t.Errorf("told %v", err)
	}
	inbox.add(Received{Stream: "post-1"})
	if received, err := inbox.await(t.Context(), 0, all, over); err != nil || received.Stream != "post-1" {
		t.Errorf("received %v, %v", received, err)
	}
	if _, err := inbox.await(t.Context(), 1, all, over); !errors.Is(err, errOtherwise) {
		t.Errorf("told %v", err)
	}
}
