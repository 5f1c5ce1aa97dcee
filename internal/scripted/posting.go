package scripted

import (
	"context"
	"sync"

	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/internal/transport"
)

// posting is what a client has open whose messages are requests of their own.
type posting struct {
	life context.Context // of everything that is open
	stop context.CancelFunc
	open sync.WaitGroup
	asks chan struct{} // holds a token for each answer that is under way
}

// answersAtOnce bounds the exchanges that a server can make the client begin:
// more than any server asks at once, fewer than what a process may have open.
const answersAtOnce = 64

// ready makes it fit for use.
func (p *posting) ready() {
	p.life, p.stop = context.WithCancel(context.Background())
	p.asks = make(chan struct{}, answersAtOnce)
}

// answerBy sends an answer when there is room for one more, unless the context ends before.
func (p *posting) answerBy(ctx context.Context, send func() *Delivery) {
	select {
	case p.asks <- struct{}{}:
	case <-ctx.Done():
		return
	}
	delivery := send()
	p.open.Go(func() {
		<-delivery.done
		<-p.asks
	})
}

// headed notes the head of the response that came.
func (d *Delivery) headed(exchange *transport.Exchange, log *transcript.Log) {
	d.Stream, d.At = exchange.Stream, log.Place(exchange.Sequence)
	d.Status, d.Header, d.ContentType = exchange.Status, exchange.Header, exchange.ContentType
}

// Accepted tells, when there is a head, whether its status is one of success.
func (d *Delivery) Accepted() bool { return d.Status >= 200 && d.Status <= 299 }
