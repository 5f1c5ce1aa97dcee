package contact

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/excerpt"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/rules"
	"github.com/mcpconform/mcpconform/internal/scripted"
	"github.com/mcpconform/mcpconform/internal/transcript"
	"github.com/mcpconform/mcpconform/internal/wait"
)

// diagnose finds the revisions that the target means to speak and whose opening it
// gets wrong: there are signs of the revision, and first contact did not go as it
// wants. A server that does not support a revision answers with another one, or
// refuses, and shows no sign of it.
func diagnose(visits []*visit, policy Revise, flaw func(*visit) string) {
	for _, one := range visits {
		if slices.Contains(protocol.Released(), one.asked) && !one.spoken() {
			one.broken = one.unlike(visits)
		}
	}
	if len(spoken(visits)) == 0 && len(broken(visits)) == 0 {
		lawless(visits)
	}
	if policy.Auto {
		misspoken(visits, flaw)
	}
}

// unlike says how the opening that did not go well shows that the target means to
// speak the revision; "" when it does not.
func (v *visit) unlike(visits []*visit) string {
	listed := listedBy(visits, v.asked)
	switch {
	case v.handshake.Agreed && protocol.Has(v.asked, protocol.Discovery):
		return v.undiscovered()
	case v.handshake.Agreed:
		return v.misanswered(visits, listed)
	}
	if v.streams() {
		return v.err.Error()
	}
	if found := v.resembling(); found != "" {
		return fmt.Sprintf("what came is no answer to %s: %s", ask(v.asked), found)
	}
	if refusal, refused := v.refused(); refused && refusal.Modern() && protocol.Has(v.asked, protocol.Discovery) {
		supported := refusal.Supported()
		if refusal.Refusal.Code != jsonrpc.UnsupportedRevision || len(supported) == 0 ||
			slices.Contains(supported, v.asked) {
			return v.err.Error()
		}
		return ""
	}
	switch {
	case v.modern:
		return fmt.Sprintf("%s is answered as %s specifies, and %s", v.list, v.asked, v.err)
	case listed != "":
		return fmt.Sprintf("%s lists %s, and %s", listed, v.asked, v.err)
	}
	return ""
}

// streamPatience bounds the wait for the endpoint event of a URL that may be no stream at all.
const streamPatience = 2 * time.Second

// Streams tells whether a URL is that of a stream of HTTP with SSE, which names an endpoint.
func Streams(ctx context.Context, to scripted.Target, budget *transcript.MemoryBudget) bool {
	to.Transport = protocol.SSE
	connection, err := scripted.Dial(to, transcript.NewLogIn(budget, "fallback"))
	if err != nil {
		return false
	}
	defer connection.Log().Release()
	defer connection.Close(ctx)
	ctx, stop := wait.WithTimeout(ctx, streamPatience)
	defer stop()
	_, err = connection.SSE.Open(ctx)
	return err == nil
}

// streams tells whether an opening failed on the stream of HTTP with SSE. A server that opens
// such a stream means to speak MCP over it, unless it then sends nothing.
func (v *visit) streams() bool {
	return v.err != nil && v.connection != nil && v.connection.Transport().SharesStream() &&
		v.connection.SSE.Streams() &&
		!scripted.TooMuch(v.err) && !v.mute()
}

// mute tells whether a server has taken what was posted, or has not even answered the POST, and
// has said nothing in time.
func (v *visit) mute() bool {
	_, unposted := errors.AsType[*scripted.UnpostedError](v.err)
	return !unposted && errors.Is(v.err, scripted.ErrTimeout) &&
		!slices.ContainsFunc(v.connection.Log().Events(), func(event transcript.Event) bool {
			return event.From == protocol.Server && event.Kind == transcript.Message
		})
}

// hasDiscovery tells whether a revision has server/discover.
func hasDiscovery(revision string) bool { return protocol.Has(revision, protocol.Discovery) }

// undiscovered says what is missing in an answer to server/discover; "" when it names a
// later revision, of which nothing is known, or older ones, and what is asked for at this
// one is not served.
func (v *visit) undiscovered() string {
	if slices.ContainsFunc(v.handshake.Supported, hasDiscovery) || v.elsewhere() && !v.modern {
		return ""
	}
	return fmt.Sprintf(
		"server/discover at %s is answered without it in supportedVersions: %s",
		v.asked,
		excerpt.Short(v.handshake.Answer.Raw),
	)
}

// misanswered says what is wrong with the revision that initialize is answered with; ""
// when it is one that the target stands by.
func (v *visit) misanswered(visits []*visit, listed string) string {
	answered := v.handshake.Revision
	text := fmt.Sprintf("asked for %s, the server answered with %s", v.asked, answered)
	at := slices.IndexFunc(visits, func(other *visit) bool { return other.asked == answered })
	switch {
	case answered == "":
		return "initialize was answered without a protocolVersion that is a string: " + excerpt.Short(
			v.handshake.Answer.Raw,
		)
	case !slices.Contains(protocol.Released(), answered):
		return text + ", which is not a revision of the protocol"
	case listed != "":
		return text + ", and " + listed + " lists " + v.asked
	case at < 0 || visits[at].spoken():
		return ""
	case !protocol.Has(answered, protocol.Handshake):
		return text + ", which has no initialize"
	case visits[at].handshake.Agreed:
		return text + ", and asked for that with " + cmp.Or(visits[at].handshake.Revision, "none")
	}
	return "" // it may have had enough of openings
}

// listedBy returns the request in whose answer the target says that it supports a
// revision; "" when it does not.
func listedBy(visits []*visit, revision string) string {
	for _, one := range visits {
		supported := one.handshake.Supported
		if refusal, refused := one.refused(); refused {
			supported = refusal.Supported()
		}
		if slices.Contains(supported, revision) {
			return ask(one.asked)
		}
	}
	return ""
}

// lawless finds a target that speaks no revision, and serves requests that no opening
// came before, or does not know initialize: that is one of the handshake era without a
// handshake.
func lawless(visits []*visit) {
	at := slices.IndexFunc(visits, func(one *visit) bool { return one.asked == protocol.Last(protocol.Handshake) })
	last := visits[at]
	refusal, refused := last.refused()
	if !refused {
		return
	}
	for _, one := range visits {
		if one.list != "" {
			last.broken = fmt.Sprintf("%s is answered without a handshake, and %s", one.list, last.err)
			return
		}
	}
	if refusal.Refusal.Code == jsonrpc.MethodNotFound {
		last.broken = last.err.Error()
	}
}

// misspoken looks at the other era than that of the newest revision that the target
// speaks: whether its newest there has an opening that breaks a rule.
func misspoken(visits []*visit, flaw func(*visit) string) {
	other := newestOf(ofOtherEra(spoken(visits)))
	for _, one := range visits {
		if other != "" && one.asked == other {
			one.broken = flaw(one)
		}
	}
}

// ofOtherEra returns those of some revisions that are of another era than the newest
// that can be checked.
func ofOtherEra(revisions []string) []string {
	handshake := protocol.Has(newestOf(revisions), protocol.Handshake)
	return slices.DeleteFunc(
		slices.Clone(revisions),
		func(revision string) bool { return protocol.Has(revision, protocol.Handshake) == handshake },
	)
}

// newestOf returns the newest of some revisions that can be checked; "" when none can.
func newestOf(revisions []string) string {
	for _, revision := range slices.Backward(protocol.Released()) {
		if slices.Contains(revisions, revision) {
			return revision
		}
	}
	return ""
}

// resembling returns what the target sent that was meant as an answer to the opening, and
// could not be read as one: under another id, in a batch, or not as a message at all; ""
// when there is nothing of the kind. An error does not count, since servers of the other
// era may refuse the opening with any error.
func (v *visit) resembling() string {
	if v.err == nil || v.connection == nil || scripted.TooMuch(v.err) {
		return ""
	}
	wanted := []string{`"protocolVersion"`, `"serverInfo"`}
	if protocol.Has(v.asked, protocol.Discovery) {
		wanted = []string{`"supportedVersions"`}
	}
	for _, event := range v.connection.Log().Events() {
		page := bytes.HasPrefix(bytes.TrimSpace(event.Raw), []byte("<"))
		if event.From != protocol.Server || !event.IsContent() || page {
			continue
		}
		message := jsonrpc.Parse(event.Raw)
		_, refused := message.Error()
		called := message.Kind == jsonrpc.Request || message.Kind == jsonrpc.Notification
		names := func(member string) bool { return bytes.Contains(event.Raw, []byte(member)) }
		if !refused && !called && slices.ContainsFunc(wanted, names) {
			return excerpt.Short(bytes.TrimSpace(event.Raw))
		}
	}
	return ""
}

// flawOf says what the opening of a visit breaks of the rules that fail a run; "" for
// nothing. The connection may still be open.
func (o Options) flawOf(to scripted.Target) func(*visit) string {
	return func(visit *visit) string {
		log := visit.connection.Log()
		cell := check.Cell{Role: protocol.ServerRole, Revision: visit.asked, Transport: to.Transport}
		return o.flaw(rules.NewConversation(cell, log.Events(), log.Dropped() == 0), math.MaxInt)
	}
}
