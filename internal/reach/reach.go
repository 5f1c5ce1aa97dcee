// Package reach opens connections to a target server, and tells whether it is still there: does
// it answer on a fresh one, and has it ended one by itself?
package reach

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/excerpt"
	"github.com/mcpconform/mcpconform/internal/offer"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/scope"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/internal/wait"
)

// Open opens a connection of a client that offers everything; in the stateless era it is
// ready for requests.
func Open(target *offer.Offer, to scripted.Target, log *transcript.Log) (*scripted.Connection, error) {
	connection, err := scripted.Dial(to, log)
	if err != nil {
		return nil, err
	}
	connection.AnswerAll()
	if target.Has(protocol.PerRequestMeta) {
		connection.Speak(target.Revision, scripted.Everything(target.Revision))
		connection.Learn(target.Survey.Tools)
		connection.SetVersion(target.Revision)
	}
	return connection, nil
}

const (
	// contactReplies is how many times as long as others the reply may take by which a
	// target shows that it is still there: other checks and other processes of the machine
	// may keep it busy.
	contactReplies = 6
	// comebackReplies is for as many times of a reply a target may refuse connections, or
	// end them: it may be starting anew.
	comebackReplies = 2
	// contactPause is how long it is left in peace then.
	contactPause = 250 * time.Millisecond
)

// Unreachable says what the target server no longer answers on a fresh connection, and why,
// as "initialize: connection refused", with the wait that was over, if one was; "" when the
// server answers.
func Unreachable(target *offer.Offer) (why string, waited *check.Late) {
	patience := max(contactReplies*target.Target.Reply, target.Target.Start)
	ctx, cancel := wait.WithTimeout(context.Background(), patience)
	defer cancel()
	comeback := wait.After(ctx, max(comebackReplies*target.Target.Reply, target.Target.Start))
	for {
		err := contact(ctx, target, patience)
		if err == nil {
			return "", nil
		}
		select {
		case <-time.After(contactPause):
			continue
		case <-comeback:
		case <-ctx.Done():
		}
		if late, is := errors.AsType[*scripted.LateError](err); is {
			waited = &check.Late{For: beginning(target), Waited: late.Waited, Behind: late.Behind}
		}
		return excerpt.OneLine(err.Error()), waited
	}
}

// beginning is the kind of the first answer on a connection.
func beginning(target *offer.Offer) string {
	if protocol.Over(target.Transport).Processes() {
		return scope.Starting
	}
	return opening(target)
}

// opening is the method of the first request on a connection.
func opening(target *offer.Offer) string {
	if target.Has(protocol.Discovery) {
		return "server/discover"
	}
	return "initialize"
}

// contact opens a connection as first contact did, and asks for what was answered then. If
// the opening failed already then, any content or response head from the server shows that
// it is there. The error names the method that was called.
func contact(
	ctx context.Context,
	target *offer.Offer,
	patience time.Duration,
) error {
	to := target.Target
	to.Reply, to.Start = patience, patience
	log := transcript.NewLogIn(target.Budget, "contact")
	defer log.Release()
	connection, err := Open(target, to, log)
	if err != nil {
		return fmt.Errorf("%s: %w", opening(target), err)
	}
	defer connection.Close(ctx)
	switch {
	case target.Survey.Inferred: // its barrier is answered where the opening is not
	case target.Has(protocol.Discovery):
		_, err = connection.Discover(ctx, target.Revision, scripted.Everything(target.Revision))
	default:
		_, err = connection.Initialize(ctx, scripted.Hello(target.Revision, scripted.Everything(target.Revision)))
	}
	if _, refused := errors.AsType[*scripted.RefusedError](err); refused {
		return nil // that is an answer, too
	}
	if err == nil && target.Survey.NoBarrier == "" {
		if _, err = connection.Once(ctx, target.Barrier(), nil); err != nil {
			err = fmt.Errorf("%s: %w", target.Barrier(), err)
		}
	}
	status, answered := errors.AsType[*scripted.StatusError](err)
	if answered && status.Status == http.StatusTooManyRequests {
		return nil // it is there, and busy
	}
	if target.Survey.Closed != "" && slices.ContainsFunc(log.Events(), isSaid) {
		return nil
	}
	return err
}

// isSaid tells whether an event is something that the server said.
func isSaid(event transcript.Event) bool {
	return event.From == protocol.Server && (event.IsContent() || event.Kind == transcript.Head)
}
