package streamablehttp

import (
	"net/http"

	. "github.com/mcpconform/mcpconform/internal/check"
	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	. "github.com/mcpconform/mcpconform/internal/offer"
	"github.com/mcpconform/mcpconform/internal/protocol"
	"github.com/mcpconform/mcpconform/internal/scripted"
	. "github.com/mcpconform/mcpconform/internal/session"
)

const eventStream = "text/event-stream"

// mustListen opens the stream for what the server sends unasked. A server that
// offers none makes the check inapplicable.
func mustListen(t *T, server *Server) *scripted.Delivery {
	delivery, err := server.Listen(t)
	switch {
	case delivery.Status == 405:
		t.NotApplicable("the server offers no event stream for GET")
	case delivery.Status == 0:
		server.Unanswered("GET", jsonrpc.NoID, err)
	case err != nil:
		t.Inconclusive("no stream for GET: "+err.Error(), "fix the failures of GET first")
	case delivery.ContentType != eventStream:
		t.Inconclusive("GET was answered with "+(&Response{Delivery: delivery}).Describe(), "fix the failures of GET first")
	}
	return delivery
}

// streamed asks until a request is answered with an event stream, and returns
// it when it is answered. A server that answers all with JSON makes the check
// inapplicable.
func streamed(t *T, server *Server) *Answer {
	if request := asked(server, BarrierMethod(t), nil); request != nil {
		return request
	}
	for _, kind := range []string{"progress", "logging", "text"} {
		provocation, there := Provocable(t, kind)
		if !there {
			continue
		}
		if request := asked(server, "tools/call", provocation.Reporting(newToken(server))); request != nil {
			return request
		}
	}
	t.NotApplicable("no request was answered with an event stream")
	return nil
}

// asked asks and returns the request if it was answered with an event stream.
func asked(server *Server, method string, params any) *Answer {
	request := server.Call(method, params)
	request.Need()
	if request.Delivery.ContentType != eventStream {
		return nil
	}
	return request
}

// streamedBatch sends batches of two requests until one is answered with an event stream, and
// returns its first request when both are answered. A server that answers no batch, which
// other checks tell, or all of them with JSON, makes the check inapplicable.
func streamedBatch(t *T, server *Server) *Answer {
	batches := []Harmless{{Method: BarrierMethod(t)}}
	if progress, there := Provocable(t, "progress"); there { // of which servers tell on a stream
		batches = append(batches, Harmless{Method: "tools/call", Params: progress.Reporting(newToken(server))})
	}
	for _, asked := range batches {
		first, second := server.NextID(), server.NextID()
		mark := server.Mark()
		batch := "[" + string(jsonrpc.NewRequest(first, asked.Method, server.WithMeta(asked.Params))) + "," +
			string(jsonrpc.NewRequest(second, BarrierMethod(t), server.WithMeta(nil))) + "]"
		request := server.Call(asked.Method, nil, WithID(first), Raw([]byte(batch), ""))
		err := request.Wait()
		if err == nil {
			_, err = server.Connection.Await(t, mark, scripted.AnswerTo(second))
		}
		if err != nil {
			t.NotApplicable("the server does not answer batches, see the results of base.batches.received")
		}
		if request.Delivery.ContentType == eventStream {
			return request
		}
	}
	t.NotApplicable("no batch was answered with an event stream")
	return nil
}

// newToken is a progress token that no request on the connection has.
func newToken(server *Server) string { return "transports-" + server.NextID().String() }

// eventIDs returns the ids of the events on a stream, in order.
func eventIDs(server *Server, stream string) []string {
	var ids []string
	for _, event := range server.Log().Events() {
		if event.Stream == stream && event.From == protocol.Server && event.SSE != nil && event.SSE.ID != nil &&
			*event.SSE.ID != "" {
			ids = append(ids, *event.SSE.ID)
		}
	}
	return ids
}

// patience is how often a stream is asked for whose last reader the server
// takes to be connected still: a ping goes by each time.
const patience = 20

// mustResume resumes a stream after an event. A server that does not resume
// makes the check inapplicable: it may, and need not.
func mustResume(t *T, server *Server, eventID string) *scripted.Delivery {
	response := server.Response(server.HTTP.Resume(eventID))
	for range patience {
		if response.Status != http.StatusConflict {
			break
		}
		server.Barrier()
		response = server.Response(server.HTTP.Resume(eventID))
	}
	if response.Status != http.StatusOK || response.ContentType != eventStream {
		t.NotApplicable("the server does not resume streams: it answered Last-Event-ID with " + response.Describe())
	}
	return response.Delivery
}

// mustBeResumable returns the id of the first event on the stream of an
// answered request, after which the stream can be resumed to get the rest.
func mustBeResumable(t *T, server *Server, request *Answer) string {
	ids := eventIDs(server, request.Delivery.Stream)
	switch len(ids) {
	case 0:
		t.NotApplicable("the server sends no event ids")
	case 1:
		t.NotApplicable("only the last event has an id, so there is nothing to resume")
	}
	return ids[0]
}
