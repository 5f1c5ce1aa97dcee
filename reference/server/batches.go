// Page basic, "Batching", at 2025-03-26 alone: several messages in an array.

package server

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"sync"
)

// isBatch tells whether a message is an array.
func isBatch(raw []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(raw, " \t\r\n"), []byte("["))
}

// hasBatches tells whether the client may send batches.
func (s *session) hasBatches() bool { return s.speaks() == Revision20250326 }

// A member is one message of a batch.
type member struct {
	message

	malformed *rpcError
}

// parseBatch reads an array of messages. The error is for the array as a whole.
func parseBatch(raw []byte) ([]member, *rpcError) {
	var texts []json.RawMessage
	if !json.Valid(raw) {
		return nil, &rpcError{Code: codeParseError, Message: "Parse error: the batch is not JSON"}
	}
	if err := json.Unmarshal(raw, &texts); err != nil || len(texts) == 0 {
		return nil, invalidRequest("a batch must be an array with at least one message")
	}
	members := make([]member, len(texts))
	for i, text := range texts {
		members[i].message, members[i].malformed = parseMessage(text)
		if m := members[i]; m.malformed == nil && m.kind == request && m.method == "initialize" {
			members[i].malformed = invalidRequest("initialize must not be part of a batch")
		}
	}
	return members, nil
}

// A batch is being worked on. The responses to its requests go out together, in one array,
// when there are all; what else belongs to the requests goes out as it comes.
type batch struct {
	out   outlet
	apart bool // they go out one by one instead
	calls []*call

	mu        sync.Mutex
	responses []json.RawMessage
	open      int // requests without a response, and one more until all are begun
}

// takeBatch takes the messages of a batch, in their order. The outlet ends with the last response.
func (s *session) takeBatch(members []member, out outlet) *batch {
	b := &batch{out: out, apart: s.server.apart, open: 1}
	for _, m := range members {
		switch {
		case m.malformed != nil && m.kind != request:
			s.logf("ignored: %v", m.malformed)
		case m.malformed != nil:
			(*batchOutlet)(b).send(encodeError(s.speaks(), m.id, m.malformed))
		case m.kind == request:
			b.mu.Lock()
			b.open++
			b.mu.Unlock()
			b.calls = append(b.calls, s.begin(m.message, (*batchOutlet)(b)))
		default:
			s.take(m.message)
		}
	}
	(*batchOutlet)(b).close()
	return b
}

// A batchOutlet carries what belongs to one request of a batch.
type batchOutlet batch

func (b *batchOutlet) send(text []byte) bool {
	if m, _ := parseMessage(text); m.kind != response || b.apart {
		return b.out.send(text)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.responses = append(b.responses, text)
	return true
}

func (b *batchOutlet) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.open--; b.open > 0 {
		return
	}
	if len(b.responses) > 0 {
		b.out.send(encode(b.responses))
	}
	b.out.close()
}

// postBatch takes the batch of a client that may send some, and reports whether it is one.
func (h *streamableHTTP) postBatch(w http.ResponseWriter, r *http.Request, body []byte) (taken bool, refused *refusal) {
	if !isBatch(body) {
		return false, nil
	}
	s, refused := h.enter(r)
	if refused != nil {
		return false, nil // as any other message there
	}
	defer h.leave(s)
	if !s.hasBatches() {
		return false, nil
	}
	members, malformed := parseBatch(body)
	if malformed != nil {
		return true, notUnderstood(w, s.speaks(), message{}, malformed)
	}
	for _, m := range members {
		if refused := h.server.guard.permitted(w, r, m.message); refused != nil {
			return true, refused
		}
	}
	stream := s.newStream()
	b := s.takeBatch(members, stream)
	answer, only := stream.onlyMessage()
	switch {
	case len(b.calls) == 0 && !only:
		s.discard(stream)
		w.WriteHeader(http.StatusAccepted)
	case len(b.calls) == 0 && !b.apart:
		s.discard(stream)
		writeJSON(w, http.StatusBadRequest, answer)
	case only && !b.apart && !slices.ContainsFunc(b.calls, (*call).tookTime):
		s.discard(stream)
		writeJSON(w, http.StatusOK, answer)
	default:
		stream.serve(r.Context(), w, 0, false)
	}
	return true, nil
}
