package scenario

import (
	"context"
	"net/http"
	"time"
)

// Playing is a scenario that is played over HTTP to any client that connects. The harness
// does not start the client, and cannot tell when it is done.
type Playing struct{ run *run }

// budgetOfPlaying bounds the records of one scenario, to which any client may connect, so
// that there is memory left for the others.
const budgetOfPlaying = 8 << 20

// Open begins to play a scenario. Close must be called.
func (d Driver) Open(scenario *Scenario) *Playing {
	d.Budget = d.Budget.Part(budgetOfPlaying)
	return &Playing{d.begin(scenario)}
}

// ServeHTTP is the endpoint of the scripted server.
func (p *Playing) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.run.server.ServeHTTP(w, r)
}

// Rest waits until something has come or gone since a moment, and then nothing more
// for a while. It returns when the last was; false when the context ended before.
func (p *Playing) Rest(ctx context.Context, since time.Time, while time.Duration) (time.Time, bool) {
	return p.run.server.Rest(ctx, since, while)
}

// Recording is what came so far, of a client that was not seen to end by itself.
func (p *Playing) Recording() *Recording { return p.run.recording(Exit{Ended: true}) }

// Close ends what is open.
func (p *Playing) Close() { p.run.server.Close() }

// Forget gives back the room of what came, after Close.
func (p *Playing) Forget() {
	for _, log := range p.run.allLogs() {
		log.Release()
	}
}
