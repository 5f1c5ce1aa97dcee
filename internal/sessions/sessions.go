// Package sessions tells which exchanges over HTTP belong to one connection of the protocol, as far
// as they name it: by a session id, or by the endpoint of a stream of HTTP with SSE. What names none
// is told apart by those who know more of it.
package sessions

import (
	"net/http"
	"slices"
)

// Header is the field with the id of a session.
const Header = "Mcp-Session-Id"

// Connections are the connections of one server, by their names.
type Connections[C comparable] struct {
	// Most bounds the names that are remembered: beyond it the oldest is forgotten. 0 is no bound.
	Most int
	// Sessionless were begun by a handshake whose answer has brought no session id.
	Sessionless []C

	known map[string]C
	order []string // of known, oldest first
}

// Of returns the connection that a request to a place names, if it is known, and the session id
// that it names, if any.
func (c *Connections[C]) Of(method, place string, header http.Header) (one C, id string, known bool) {
	if id = header.Get(Header); id != "" {
		one, known = c.known[id]
	} else if method == http.MethodPost {
		one, known = c.known[postedTo(place)]
	}
	return one, id, known
}

// postedTo is the name of the stream whose messages are posted to a place. No session id has a space.
func postedTo(place string) string { return http.MethodPost + " " + place }

// Name lets a connection be known by a session id; "" names none.
func (c *Connections[C]) Name(id string, one C) {
	if id == "" {
		return
	}
	if c.known == nil {
		c.known = map[string]C{}
	}
	if _, there := c.known[id]; !there {
		c.order = append(c.order, id)
	}
	c.known[id] = one
	if c.Most > 0 && len(c.order) > c.Most {
		delete(c.known, c.order[0])
		c.order = c.order[1:]
	}
}

// Endpoint lets a connection be known by where its messages are posted.
func (c *Connections[C]) Endpoint(place string, one C) { c.Name(postedTo(place), one) }

// Answered takes the head of an answer, and tells whether it brings a session id.
func (c *Connections[C]) Answered(header http.Header, one C) bool {
	id := header.Get(Header)
	if id == "" {
		return false
	}
	c.Name(id, one)
	c.Sessionless = slices.DeleteFunc(c.Sessionless, func(other C) bool { return other == one })
	return true
}

// IsNamed tells whether a connection has a name.
func (c *Connections[C]) IsNamed(one C) bool {
	return slices.ContainsFunc(c.order, func(name string) bool { return c.known[name] == one })
}

// Forget forgets a connection and its names.
func (c *Connections[C]) Forget(one C) {
	c.Sessionless = slices.DeleteFunc(c.Sessionless, func(other C) bool { return other == one })
	c.order = slices.DeleteFunc(c.order, func(name string) bool {
		gone := c.known[name] == one
		if gone {
			delete(c.known, name)
		}
		return gone
	})
}
