// Page server/resources: data for an application to read.

package server

import (
	"net/url"
	"strings"
)

type resource struct {
	described

	URI         string `json:"uri"`
	MIMEType    string `json:"mimeType,omitempty"`
	Size        int    `json:"size,omitempty"` // in bytes
	Annotations object `json:"annotations,omitempty"`

	read func(*call, *resource) (contents []object, err error)
}

func (r *resource) key() string { return r.URI }

type template struct {
	described

	URITemplate string `json:"uriTemplate"`
	MIMEType    string `json:"mimeType,omitempty"`
	Annotations object `json:"annotations,omitempty"`

	read     func(variables map[string]string) (content string)
	complete map[string]completer // by variable
}

func (t *template) key() string { return t.URITemplate }

// textAt is what a resource holds, as text.
func textAt(uri, mimeType, content string) object {
	return object{"uri": uri, "mimeType": mimeType, "text": content}
}

// pictureAt is what a resource holds, as base64.
func pictureAt(uri string) object {
	return object{"uri": uri, "mimeType": "image/png", "blob": pixelPNG}
}

type resourceParams struct {
	URI string `json:"uri"`
}

func (c *call) readResource(params resourceParams) (any, error) {
	read, err := c.reader(params.URI)
	if err != nil {
		return nil, err
	}
	contents, err := read()
	return object{"contents": contents}, err
}

// reader finds what reads the resource with the URI, or the one that a template
// makes of it.
func (c *call) reader(uri string) (read func() ([]object, error), err error) {
	if parsed, err := url.Parse(uri); err != nil || parsed.Scheme == "" {
		return nil, invalidParams("params.uri must be an absolute URI, but is %q", uri)
	}
	if r, err := c.features.resources.find(uri); err == nil {
		return func() ([]object, error) { return r.read(c, r) }, nil
	}
	for _, e := range c.features.templates.entries { // which never change
		if variables, matches := matchTemplate(e.item.URITemplate, uri); matches {
			contents := []object{textAt(uri, e.item.MIMEType, e.item.read(variables))}
			return func() ([]object, error) { return contents, nil }, nil
		}
	}
	code := codeResourceNotFound
	if c.atLeast(Revision20260728) {
		code = codeInvalidParams
	}
	return nil, &rpcError{Code: code, Message: "Resource not found", Data: object{"uri": uri}}
}

// matchTemplate finds the variables of a URI template of simple expressions,
// such as a://{b}/c. A variable is one segment of a path, percent-decoded.
func matchTemplate(template, uri string) (variables map[string]string, matches bool) {
	variables = map[string]string{}
	for {
		literal, rest, more := strings.Cut(template, "{")
		uri, matches = strings.CutPrefix(uri, literal)
		if !matches || !more {
			return variables, matches && uri == ""
		}
		var name string
		name, template, _ = strings.Cut(rest, "}")
		end := strings.IndexByte(uri+"/", '/')
		value, err := url.PathUnescape(uri[:end])
		if err != nil || value == "" {
			return nil, false
		}
		variables[name] = value
		uri = uri[end:]
	}
}

// maxSubscriptions bounds the subscriptions of one client: templates make the
// number of possible URIs infinite.
const maxSubscriptions = 1000

func (c *call) subscribe(params resourceParams) (any, error) {
	return object{}, c.setSubscribed(params.URI, true)
}

func (c *call) unsubscribe(params resourceParams) (any, error) {
	return object{}, c.setSubscribed(params.URI, false)
}

func (c *call) setSubscribed(uri string, subscribed bool) error {
	if _, err := c.reader(uri); err != nil {
		return err
	}
	c.session.mu.Lock()
	defer c.session.mu.Unlock()
	if subscribed && len(c.session.subscriptions) >= maxSubscriptions {
		return internalError("more than %d subscriptions", maxSubscriptions)
	}
	if subscribed {
		c.session.subscriptions[uri] = true
	} else {
		delete(c.session.subscriptions, uri)
	}
	return nil
}

// announce tells the client of a change. Of those of one resource it hears only
// if it has subscribed to that.
func (s *session) announce(method string, params object) {
	if uri, ofOne := params["uri"].(string); ofOne {
		s.mu.Lock()
		subscribed := s.subscriptions[uri]
		s.mu.Unlock()
		if !subscribed {
			return
		}
	}
	s.notify(method, params)
}
