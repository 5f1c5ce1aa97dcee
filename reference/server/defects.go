// Deliberate mistakes, to test that checks find them. Most are injected into the traffic;
// these are mistakes in the state of the server, which no change of messages can express.

package server

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
)

// defects make a good server bad in one way each, by putting something else in
// the place of one of its parts. The parts know nothing of it.
var defects = map[string]func(*Server){
	"asks-on-the-get-stream":   asksOnTheGetStream,
	"counts-sessions":          countsSessions,
	"forgets-sessions":         forgetsSessions,
	"lends-tools-without-end":  lendsToolsWithoutEnd,
	"listens-on-all-addresses": listensOnAllAddresses,
	"tells-all-of-demands":     tellsAllOfVisits("test_elicitation_url_required"),
	"tells-all-of-updates":     tellsAllOfUpdates,
	"tells-all-of-visits":      tellsAllOfVisits("test_elicitation_url"),
	"trusts-its-own-name":      trustsItsOwnName,

	"announces-to-one-only":     announcesToOneOnly,
	"answers-batches-apart":     func(s *Server) { s.apart = true },
	"remembers-capabilities":    remembersCapabilities,
	"remembers-fields":          remembersFields,
	"remembers-log-level":       remembersLogLevel,
	"sends-on-after-disconnect": sendsOnAfterDisconnect,
	"shares-filters":            sharesFilters,
	"takes-states-of-others":    takesStatesOfOthers,
	"tells-of-tasks-too-early":  tellsOfTasksTooEarly,
	"ties-cursors-to-processes": tiesCursorsToProcesses,
	"trusts-states":             trustsStates,
}

// Defects lists what Options.Defect may be.
func Defects() []string {
	all := slices.Collect(maps.Keys(defects))
	all = slices.AppendSeq(all, maps.Keys(authorizationDefects))
	return slices.Sorted(slices.Values(slices.AppendSeq(all, maps.Keys(sseDefects))))
}

func (s *Server) spoil(defect string) error {
	switch {
	case defect == "":
	case defects[defect] != nil:
		defects[defect](s)
	case sseDefects[defect] != nil:
		sseDefects[defect](s.sse)
	case authorizationDefects[defect] == nil:
		return fmt.Errorf("the reference server has no defect %q, only %s", defect, strings.Join(Defects(), ", "))
	case s.guard != nil:
		authorizationDefects[defect](s.guard)
	}
	return nil
}

// asksOnTheGetStream asks the client there, also for a call, and waits until there is one:
// that is no mistake, and some servers have no other way to ask.
func asksOnTheGetStream(s *Server) {
	s.asksBy = func(session *session, _ *call) sender { return session.unrelated.send }
}

// countsSessions gives HTTP sessions the numbers of a counter for ids.
func countsSessions(s *Server) {
	var last atomic.Int64
	s.http.newID = func() string { return fmt.Sprintf("session-%d", 1000+last.Add(1)) }
}

// trustsItsOwnName takes a web page for its own when it is of the host that the request
// names, which by DNS rebinding may be any.
func trustsItsOwnName(s *Server) {
	s.http.refuseSender = func(r *http.Request) *refusal {
		origin, err := url.Parse(r.Header.Get("Origin"))
		if err == nil && origin.Host != "" && origin.Host == r.Host {
			return nil
		}
		return s.http.checkSender(r)
	}
}

// forgetsSessions forgets each HTTP session as soon as it is ready for use, as a
// server does that runs on several machines without a common memory.
func forgetsSessions(s *Server) {
	initialized := s.notifications["notifications/initialized"]
	s.notifications["notifications/initialized"] = func(one *session, params json.RawMessage) {
		initialized(one, params)
		s.http.mu.Lock()
		defer s.http.mu.Unlock()
		maps.DeleteFunc(s.http.sessions, func(_ string, known *httpSession) bool { return known.session == one })
	}
}

// lendsToolsWithoutEnd lets the client's model use tools for as long as it likes.
func lendsToolsWithoutEnd(s *Server) { s.toolRounds = math.MaxInt }

// listensOnAllAddresses listens on all interfaces in place of the given host.
func listensOnAllAddresses(s *Server) { s.bindTo = func(string) string { return "" } }

// tellsAllOfUpdates sends what a session has subscribed to to all that are open over HTTP.
func tellsAllOfUpdates(s *Server) {
	wrap(s.methods, "tools/call", func(callTool handler, c *call, params json.RawMessage) (any, error) {
		before := c.features.touched.Load()
		result, err := callTool(c, params)
		if c.features.touched.Load() != before {
			s.tellOthers(c.session, "notifications/resources/updated", object{"uri": watchedURI})
		}
		return result, err
	})
}

// wrap puts something around the handler of a method.
func wrap(methods map[string]method, name string, around func(handler, *call, json.RawMessage) (any, error)) {
	known := methods[name]
	handle := known.handle
	known.handle = func(c *call, params json.RawMessage) (any, error) { return around(handle, c, params) }
	methods[name] = known
}

// tellOthers notifies the sessions of all clients over HTTP but one.
func (s *Server) tellOthers(but *session, method string, params object) {
	s.http.mu.Lock()
	defer s.http.mu.Unlock()
	var all []*session
	for _, other := range s.http.sessions {
		all = append(all, other.session)
	}
	for _, other := range s.sse.all() {
		all = append(all, other.session)
	}
	for _, other := range all {
		if other != but {
			other.notify(method, params)
		}
	}
}

// tellsAllOfVisits announces to every client over HTTP that a visit to a URL is
// complete, whichever of them a tool had asked for it.
func tellsAllOfVisits(tool string) func(*Server) {
	return func(s *Server) {
		wrap(s.methods, "tools/call", func(callTool handler, c *call, params json.RawMessage) (any, error) {
			result, err := callTool(c, params)
			var called struct{ Name string }
			if json.Unmarshal(params, &called) == nil && called.Name == tool {
				method, of := elicitationComplete("a-visit-of-another")
				s.tellOthers(c.session, method, of)
			}
			return result, err
		})
	}
}
