package contact

import (
	"slices"

	"github.com/mcpconform/mcpconform/internal/excerpt"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/transcript"
)

// ofVisits is the first of the ids that no request of another visit has.
const ofVisits = 9001

// ownID is the id of a request that no other visit makes.
func (v *visit) ownID() jsonrpc.ID {
	return jsonrpc.IntID(ofVisits + int64(slices.Index(protocol.Released(), v.asked)))
}

// follow looks for the answer to the ping of a visit over HTTP with SSE on the streams of others.
// A server of one client at a time sends it there.
func (v *visit) follow(visits []*visit, o Options) {
	if v.connection == nil || !v.connection.Transport().SharesStream() || v.unresponsive == "" {
		return
	}
	for _, other := range visits {
		if other == v || other.connection == nil {
			continue
		}
		at, there := answerIn(other.connection.Log().Events(), v.ownID())
		if !there {
			continue
		}
		v.unresponsive = "the server answers a client on the stream of another one"
		v.astray = &Denial{
			ID: "transports.sse.clients", Text: "answers each of several clients on its own stream",
			Wanted: "the response to ping on the stream of the client that sent it",
			Found:  "it on the stream of a client that connected later: " + excerpt.Short(at.Raw),
			Events: o.shown(append(v.requestOf(v.ownID()), at)),
		}
		return
	}
}

// requestOf are the head and the message of a request of a visit.
func (v *visit) requestOf(id jsonrpc.ID) []transcript.Event {
	events := v.connection.Log().Events()
	at := slices.IndexFunc(events, func(event transcript.Event) bool {
		return event.From == protocol.Client && event.Kind == transcript.Message && jsonrpc.Parse(event.Raw).ID == id
	})
	return slices.DeleteFunc(slices.Clone(events), func(event transcript.Event) bool {
		return at < 0 || event.From != protocol.Client || event.Stream != events[at].Stream
	})
}

// answerIn finds the response to a request among events.
func answerIn(events []transcript.Event, id jsonrpc.ID) (transcript.Event, bool) {
	at := slices.IndexFunc(events, func(event transcript.Event) bool {
		if event.From != protocol.Server || event.Kind != transcript.Message {
			return false
		}
		message := jsonrpc.Parse(event.Raw)
		return message.Kind == jsonrpc.Response && message.ID == id
	})
	if at < 0 {
		return transcript.Event{}, false
	}
	return events[at], true
}
