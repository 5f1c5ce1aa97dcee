package conform

import (
	"context"
	"net/http"
	"time"

	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// Playing is a scenario that is played over HTTP to whoever comes: nobody starts the
// client, and nobody knows when it is done.
type Playing struct{ performing *performing }

// budgetOfPlaying bounds the records of one scenario that anybody may come to, so that
// it leaves room for others.
const budgetOfPlaying = 8 << 20

// Open begins to play a scenario. Close must be called.
func (e *Environment) Open(scenario *Scenario) *Playing {
	return &Playing{e.prepare(scenario, e.Budget.Part(budgetOfPlaying))}
}

// ServeHTTP is the endpoint of the scripted server.
func (p *Playing) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.performing.server.ServeHTTP(w, r)
}

// Rest waits until something has come or gone since a moment, and then nothing more
// for a while. It returns when the last was; false when the context ended before.
func (p *Playing) Rest(ctx context.Context, since time.Time, while time.Duration) (time.Time, bool) {
	return p.performing.server.Rest(ctx, since, while)
}

// Performance is what came so far. Nobody has seen the client end by itself.
func (p *Playing) Performance() *Performance { return p.performing.performance(Departure{Ended: true}) }

// Close ends what is open.
func (p *Playing) Close() { p.performing.server.Close() }

// Forget gives back the room of what came, after Close.
func (p *Playing) Forget() {
	p.performing.mu.Lock()
	defer p.performing.mu.Unlock()
	for _, log := range p.performing.logs {
		log.Release()
	}
}

// Messages returns how many messages of the client there are.
func (p *Performance) Messages() int {
	count := 0
	for _, connection := range p.Connections {
		for _, event := range connection.Events {
			if event.Kind == transcript.Message && event.From == protocol.Client {
				count++
			}
		}
	}
	return count
}
