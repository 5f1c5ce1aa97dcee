package fault

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"

	"github.com/mcpconform/mcpconform/internal/jsonrpc"
	"github.com/mcpconform/mcpconform/internal/record"
)

// said is a message as a Match sees it.
type said struct {
	record.Passage
	message jsonrpc.Message
	asked   *jsonrpc.Message  // the request that it answers
	inputs  map[string]string // methods of the requests for input that the server has made, by key
}

// Kinds that a match knows beside those of JSON-RPC: responses with a result,
// and with an error.
const (
	kindResult = "result"
	kindError  = "error"
)

// aboutMessage tells whether a match is for messages, not for heads or events of
// a process.
func (m *Match) aboutMessage() bool { return !m.aboutProcess() && !m.aboutHead() }

func (m *Match) aboutProcess() bool { return m.Process != "" }

func (m *Match) aboutHead() bool {
	return m.HTTP != nil && m.Kind == "" && len(m.Method) == 0 && len(m.ResponseTo) == 0 &&
		len(
			m.Asks,
		) == 0 && len(m.Answers) == 0 && len(m.Where) == 0 && len(m.Asked) == 0 && len(m.Carried) == 0 && m.Text == nil
}

func (m *Match) direction() record.Direction {
	if m.Direction == "" {
		return record.Out
	}
	return m.Direction
}

// fits tells whether a message is what the match describes, without regard to the
// messages before it.
func (m *Match) fits(s *said) bool {
	return m.direction() == s.Direction && m.fitsKind(s.message) &&
		(len(m.Method) == 0 || slices.Contains(m.Method, s.message.Method)) &&
		(len(m.ResponseTo) == 0 || s.asked != nil && (slices.Contains(m.ResponseTo, s.asked.Method) || slices.Contains(m.ResponseTo, anyPart))) &&
		len(m.places(s)) > 0 &&
		(len(m.Asked) == 0 || s.asked != nil && holdAll(m.Asked, s.asked.Object)) &&
		(m.Text == nil || m.Text.Match(s.Raw)) &&
		(len(m.Carried) == 0 || slices.Contains(m.Carried, s.Carried)) &&
		(m.HTTP == nil || s.Head != nil && m.HTTP.fits(*s.Head))
}

// places returns where in a message the objects are that Where is about and holds
// for: the message itself, or the requests for input in it, or their results.
func (m *Match) places(s *said) [][]string {
	all := [][]string{nil}
	switch {
	case len(m.Answers) > 0:
		all = m.answers(s)
	case len(m.Asks) > 0 && s.message.Kind != jsonrpc.Request:
		all = membersOf(s.message, inputRequests)
	}
	return slices.DeleteFunc(all, func(place []string) bool {
		for _, found := range lookup(s.message.Object, place) {
			object, _ := found.(map[string]any)
			method, _ := object["method"].(string)
			if (len(m.Asks) == 0 || slices.Contains(m.Asks, method)) && holdAll(m.Where, object) {
				return false
			}
		}
		return true
	})
}

// answers returns where in a message of a client the results are that the server has
// asked for.
func (m *Match) answers(s *said) [][]string {
	if s.message.Kind == jsonrpc.Response {
		if s.asked == nil || !slices.Contains(m.Answers, s.asked.Method) {
			return nil
		}
		return [][]string{{"result"}}
	}
	return slices.DeleteFunc(membersOf(s.message, inputResponses), func(place []string) bool {
		return !slices.Contains(m.Answers, s.inputs[place[len(place)-1]])
	})
}

// membersOf returns where the members are of an object in a message.
func membersOf(message jsonrpc.Message, place []string) (all [][]string) {
	for _, found := range lookup(message.Object, place) {
		object, _ := found.(map[string]any)
		for _, key := range slices.Sorted(maps.Keys(object)) {
			all = append(all, append(slices.Clone(place), key))
		}
	}
	return all
}

var (
	// inputRequests is where a result has what it asks of the client.
	inputRequests = []string{"result", "inputRequests"}
	// inputResponses is where a request has what it was asked for.
	inputResponses = []string{"params", "inputResponses"}
)

func (m *Match) fitsKind(message jsonrpc.Message) bool {
	switch m.Kind {
	case "":
		return true
	case kindResult:
		_, has := message.Result()
		return has && message.Kind == jsonrpc.Response
	case kindError:
		_, has := message.Error()
		return has && message.Kind == jsonrpc.Response
	}
	return string(message.Kind) == m.Kind
}

func (e *Exchange) fits(head record.Head) bool {
	return (len(e.Method) == 0 || slices.Contains(e.Method, head.Method)) &&
		(e.Status == 0 || e.Status == head.Status) &&
		holdHeader(e.Header, head.Header) && holdHeader(e.Request, head.Request) && e.fitsURL(head)
}

// fitsURL judges the URL of a request; where it is not known, only what wants nothing of
// it fits.
func (e *Exchange) fitsURL(head record.Head) bool {
	if e.Path == nil && len(e.Query) == 0 {
		return true
	}
	if head.URL == nil {
		return false
	}
	query := http.Header{} // as it is judged: by name, the first value
	for name, values := range head.URL.Query() {
		query[http.CanonicalHeaderKey(name)] = values
	}
	return (e.Path == nil || e.Path.holds([]any{head.URL.Path})) && holdHeader(e.Query, query)
}

func holdHeader(conditions map[string]Condition, header http.Header) bool {
	for name, condition := range conditions {
		var found []any
		if values := header.Values(name); len(values) > 0 {
			found = []any{values[0]}
		}
		if !condition.holds(found) {
			return false
		}
	}
	return true
}

func holdAll(conditions map[string]Condition, object map[string]any) bool {
	for pointer, condition := range conditions {
		if !condition.holds(lookup(object, jsonrpc.Path(pointer))) {
			return false
		}
	}
	return true
}

// holds judges the values at a pointer: of several, one must do.
func (c Condition) holds(found []any) bool {
	if c.Present != nil && *c.Present != (len(found) > 0) {
		return false
	}
	if c.Not != nil && slices.ContainsFunc(found, func(value any) bool { return jsonrpc.Equal(c.Not.value, value) }) {
		return false
	}
	if c.Is == nil && c.Type == "" && c.Matches.Regexp == nil {
		return true
	}
	return slices.ContainsFunc(found, func(value any) bool {
		text, isText := value.(string)
		return (c.Is == nil || jsonrpc.Equal(c.Is.value, value)) &&
			(c.Type == "" || c.Type == typeOf(value)) &&
			(c.Matches.Regexp == nil || isText && c.Matches.MatchString(text))
	})
}

func typeOf(value any) string {
	switch value.(type) {
	case string:
		return "string"
	case json.Number:
		return "number"
	case bool:
		return "boolean"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	}
	return "null"
}

// found counts what a match has seen on one connection.
type found struct {
	match  *Match
	count  int
	after  *found
	before *found
}

func newFound(match *Match) *found {
	if match == nil {
		return nil
	}
	return &found{match: match, after: newFound(match.After), before: newFound(match.Before)}
}

// see tells whether a passing thing is matched, which fits judges by itself, and
// remembers it.
func (f *found) see(fits func(*Match) bool) bool {
	if f == nil {
		return false
	}
	allowed := (f.after == nil || f.after.count > 0) && (f.before == nil || f.before.count == 0)
	for _, other := range []*found{f.after, f.before} {
		if other != nil {
			other.see(fits)
		}
	}
	if !allowed || !fits(f.match) {
		return false
	}
	f.count++
	return f.match.Nth == 0 || f.count == f.match.Nth
}
