package scripted

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/internal/transport"
)

// countingWire counts the answers that a client gives.
type countingWire struct{ answers int }

func (w *countingWire) send(context.Context, Outgoing, jsonrpc.ID) *Delivery { return newDelivery() }
func (w *countingWire) answer(context.Context, Outgoing)                     { w.answers++ }
func (w *countingWire) listen(context.Context) *Delivery                     { return newDelivery() }
func (w *countingWire) quiet() <-chan struct{}                               { return nil }
func (w *countingWire) transport() protocol.Transport                        { return protocol.Over(protocol.Stdio) }
func (w *countingWire) sessionID() string                                    { return "" }
func (w *countingWire) setVersion(string)                                    {}
func (w *countingWire) close(context.Context)                                {}

func TestFloodEndsTheConnection(t *testing.T) {
	t.Parallel()
	ping := jsonrpc.Parse(jsonrpc.NewRequest(jsonrpc.IntID(1), "ping", nil))
	big := ping
	big.Weight = 1 << 20
	block := &transport.Event{Raw: make([]byte, 1<<20-ping.Weight)}
	for name, test := range map[string]struct {
		received Received
		kept     int
	}{
		"of messages":        {Received{Message: ping}, maxReceived},
		"of bytes":           {Received{Message: big}, maxWeight>>20 + 1},
		"of bytes of blocks": {Received{Message: ping, Event: block}, maxWeight>>20 + 1},
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

// One message may weigh more than all others together.
func TestOneMessageMayBeLong(t *testing.T) {
	t.Parallel()
	inbox := newInbox(transcript.NewLog("c1"))
	inbox.add(Received{Message: jsonrpc.Message{Weight: 1 << 20}})
	long := Received{Message: jsonrpc.Message{Weight: 2 * maxWeight}}
	if !inbox.add(long) || inbox.ended() != nil {
		t.Errorf("a long message ended the connection: %v", inbox.ended())
	}
	if inbox.add(long) || !errors.Is(inbox.ended(), ErrFlood) || inbox.len() != 2 {
		t.Errorf("%d long messages are kept, the end is %v", inbox.len(), inbox.ended())
	}
}

// Messages take room that connections share, until they are forgotten.
func TestNoRoomEndsTheConnection(t *testing.T) {
	t.Parallel()
	budget := transcript.NewMemoryBudget(10 << 10)
	inbox := newInbox(transcript.NewLogIn(budget, "c1"))
	ping := Received{Message: jsonrpc.Parse(jsonrpc.NewRequest(jsonrpc.IntID(1), "ping", nil))}
	for inbox.add(ping) {
		continue
	}
	count := inbox.len()
	if !errors.Is(inbox.ended(), ErrFlood) || count != 10<<10/ping.Weight || !inbox.log.OverBudget() {
		t.Errorf("%d messages of %d bytes are kept, the end is %v", count, ping.Weight, inbox.ended())
	}
	inbox.forget()
	if inbox.len() != count || inbox.weighs() != 0 || budget.Left() != 10<<10 {
		t.Errorf("forgotten, %d messages weigh %d, and %d bytes are left", inbox.len(), inbox.weighs(), budget.Left())
	}
}

// What cannot be read to its end may be the answer: nothing waits for it.
func TestUnreadableEndsTheConnection(t *testing.T) {
	t.Parallel()
	client := newClient(transcript.NewLog("c1"), time.Minute)
	client.wire = &countingWire{}
	pending := client.Start(t.Context(), "tools/list", nil)
	pending.Delivery.last = nil // as over stdio
	client.take(t.Context(), Received{Message: jsonrpc.Parse([]byte(strings.Repeat("[", 100_000)))})
	_, err := pending.Wait(t.Context())
	const told = "the target sent a message that is too long for the harness: it is nested more than 5000 deep"
	if !errors.Is(err, ErrUnreadable) || err.Error() != told {
		t.Errorf("told %v", err)
	}
}

// The first reason for the end of a connection stays.
func TestFirstReasonStays(t *testing.T) {
	t.Parallel()
	inbox := newInbox(transcript.NewLog("c1"))
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
	inbox := newInbox(transcript.NewLog("c1"))
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
