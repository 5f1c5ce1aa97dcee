package offer

import (
	"cmp"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/survey"
)

// BarrierMethod is a request without params that every server must answer at any
// time: ping (basic/utilities/ping), in the stateless era server/discover, or a list
// where the server answers that without a result.
func BarrierMethod(t *T) string { return of(t).Barrier() }

// Barrier is the method that BarrierMethod tells a check.
func (o *Offer) Barrier() string {
	return cmp.Or(lookUp[string](o, survey.BarrierBy), o.AlwaysServed())
}

// AlwaysServed is the request that every server serves at any time.
func (o *Offer) AlwaysServed() string {
	if !o.Has(protocol.Ping) {
		return "server/discover"
	}
	return "ping"
}

// NoBarrier says why the target does not answer what every server must; "" when it does.
func (o *Offer) NoBarrier() string { return lookUp[string](o, survey.WhyNoBarrier) }

// NeedBarrier makes a check inconclusive that waits for a barrier, of a server that answers
// none.
func NeedBarrier(t *T) {
	if offered := of(t); offered.NoBarrier() != "" {
		t.Inconclusive(offered.noBarrierReason(), offered.barrierHint())
	}
}

func (o *Offer) barrierHint() string {
	return "fix the failures of " + o.Barrier() + " first"
}

// noBarrierReason says why nothing is to be learned from a server by such requests.
func (o *Offer) noBarrierReason() string {
	return "the check needs a " + o.Barrier() + ", which this server does not answer with a result: " + o.NoBarrier()
}
