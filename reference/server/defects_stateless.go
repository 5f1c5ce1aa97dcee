// Deliberate mistakes of the stateless era, most of which are that it is not:
// that something is kept from one request for another.

package server

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"time"
)

// rereads puts something between a request and what it says of itself.
func rereads(s *Server, change func(n *connection, meta requestMeta, malformed *rpcError) (requestMeta, *rpcError)) {
	var mu sync.Mutex
	s.stateless.readMeta = func(n *connection, params json.RawMessage) (requestMeta, *rpcError) {
		meta, malformed := readRequestMeta(params)
		mu.Lock()
		defer mu.Unlock()
		return change(n, meta, malformed)
	}
}

// remembersCapabilities holds a request to declare what any other has declared
// before it over the same pipe, but for extensions.
func remembersCapabilities(s *Server) {
	declared := map[*connection]clientCapabilities{}
	rereads(s, func(n *connection, meta requestMeta, malformed *rpcError) (requestMeta, *rpcError) {
		if malformed != nil {
			return meta, malformed
		}
		all := declared[n]
		all.Extensions = nil
		_ = decode(encode(meta.Capabilities), &all, "") // adds what is new
		declared[n], meta.Capabilities = all, all
		return meta, nil
	})
}

// remembersFields takes what a request lacks from the one before it.
func remembersFields(s *Server) {
	var last *requestMeta
	rereads(s, func(_ *connection, meta requestMeta, malformed *rpcError) (requestMeta, *rpcError) {
		if malformed == nil {
			last = &meta
		} else if last != nil && malformed.incomplete {
			filled := *last
			filled.ProgressToken, filled.LogLevel = nil, nil
			return filled, nil
		}
		return meta, malformed
	})
}

// remembersLogLevel logs for all requests once one has asked for it.
func remembersLogLevel(s *Server) {
	var last *string
	rereads(s, func(_ *connection, meta requestMeta, malformed *rpcError) (requestMeta, *rpcError) {
		if meta.LogLevel == nil {
			meta.LogLevel = last
		}
		last = meta.LogLevel
		return meta, malformed
	})
}

// tiesCursorsToProcesses gives cursors that only the process takes that gave them.
func tiesCursorsToProcesses(s *Server) { s.stateless.features.cursors = rand.Text() }

// trustsStates takes any state for its own.
func trustsStates(s *Server) {
	open := s.stateless.states.open
	s.stateless.states.open = func(sealed, request string) (state, error) {
		opened, err := open(sealed, request)
		if !errors.Is(err, errStateForged) {
			return opened, err
		}
		encoded, _, _ := strings.Cut(sealed, ".")
		payload, _ := stateEncoding.DecodeString(encoded)
		if json.Unmarshal(payload, &opened) != nil || opened.Note == "" {
			opened.Note = "whatever it was"
		}
		return opened, nil
	}
}

// takesStatesOfOthers takes the state of one request on another.
func takesStatesOfOthers(s *Server) {
	open := s.stateless.states.open
	s.stateless.states.open = func(sealed, request string) (state, error) {
		opened, err := open(sealed, request)
		if errors.Is(err, errStateOfOther) {
			err = nil
		}
		return opened, err
	}
}

// sharesFilters sends what one subscription asked for to all subscriptions.
func sharesFilters(s *Server) {
	s.stateless.subscriptions.reached = func(open []*subscription, method string, params object) []*subscription {
		if len(wanting(open, method, params)) == 0 {
			return nil
		}
		return open
	}
}

// announcesToOneOnly announces to the newest of those who want to hear.
func announcesToOneOnly(s *Server) {
	s.stateless.subscriptions.reached = func(open []*subscription, method string, params object) []*subscription {
		all := wanting(open, method, params)
		return all[max(0, len(all)-1):]
	}
}

// taskDelay is how long tells-of-tasks-too-early takes to know a task.
const taskDelay = 200 * time.Millisecond

// tellsOfTasksTooEarly finds a task only some time after it has told of it, as a
// server does whose memory is copied from place to place.
func tellsOfTasksTooEarly(s *Server) {
	for _, name := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
		wrap(s.stateless.methods, name, func(handle handler, c *call, raw json.RawMessage) (any, error) {
			var params taskIDParams
			_ = decode(raw, &params, "params")
			if t, err := s.stateless.tasks.find(params.TaskID); err == nil && tasksOfClient(c.client) == nil {
				created, _ := time.Parse(time.RFC3339, t.snapshot()["createdAt"].(string))
				if time.Since(created) < taskDelay {
					return nil, invalidParams("no task has the id %q", params.TaskID)
				}
			}
			return handle(c, raw)
		})
	}
}

// sendsOnAfterDisconnect goes on with a call of a tool whose client has closed the
// stream, and sends what belongs to it over the stream that was opened last.
func sendsOnAfterDisconnect(s *Server) {
	var mu sync.Mutex
	var newest outlet
	elsewhere := redirected{func(message []byte) bool {
		mu.Lock()
		defer mu.Unlock()
		return newest.send(message)
	}}
	wrap(s.stateless.methods, "tools/call", func(handle handler, c *call, params json.RawMessage) (any, error) {
		mu.Lock()
		newest = c.out
		mu.Unlock()
		c.ctx = context.WithoutCancel(c.ctx)
		return handle(c, params)
	})
	abandoned := s.stateless.abandoned
	s.stateless.abandoned = func(c *call) {
		if c.era.(*exchange).method != "tools/call" {
			abandoned(c)
			return
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.out = elsewhere
	}
}

// redirected is an outlet that leads elsewhere.
type redirected struct{ to sender }

func (r redirected) send(message []byte) bool { return r.to(message) }
func (r redirected) close()                   {}
